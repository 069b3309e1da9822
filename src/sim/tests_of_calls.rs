//! Calls through pointers (PTX ISA, "call"): each lane comes to the function that it points to. And
//! calls of what the driver has: memory that kernels allocate.

use super::findings::What;
use super::memory::Arena;
use super::store::Store;
use super::tests::run_on;
use super::{Form, How, Outcome, decode, memory, run as run_with};
use crate::ptx;

/// A kernel beside functions of one parameter and one result, and a table of two of them. It calls
/// what `pointer` puts into `%rd1`, with the number of the lane, and stores the result.
fn run(pointer: &str, threads: u32) -> (Vec<u64>, Outcome) {
    let functions = [("twice", "add.u32 %r1, %r1, %r1;"), ("next", "add.u32 %r1, %r1, 1;")];
    let of = |(name, body): (&str, &str)| {
        format!(
            ".func (.param .b32 result) {name}(.param .b32 x)\n{{\n.reg .b32 %r<9>;\nld.param.u32 %r1, [x];\n{body}\n\
             st.param.b32 [result], %r1;\nret;\n}}\n"
        )
    };
    let again = ".func (.param .b32 result) again(.param .b32 x)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
                 mov.u64 %rd1, again;\nld.param.u32 %r1, [x];\n{\n.param .b32 given;\n.param .b32 back;\n\
                 st.param.b32 [given], %r1;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
                 call (back), %rd1, (given), proto;\nld.param.b32 %r1, [back];\n}\nst.param.b32 [result], %r1;\nret;\n}\n";
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n{}{}{again}.func nothing()\n{{\nret;\n}}\n\
         .global .align 8 .u64 table[2] = {{twice, next}};\n\
         .visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
         mov.u32 %r1, %tid.x;\n{pointer}\n{{\n.param .b32 given;\n.param .b32 back;\nst.param.b32 [given], %r1;\n\
         proto: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (back), %rd1, (given), proto;\n\
         ld.param.b32 %r2, [back];\n}}\nld.param.u64 %rd2, [out];\nmul.wide.u32 %rd3, %r1, 8;\nadd.u64 %rd2, %rd2, %rd3;\n\
         cvt.u64.u32 %rd4, %r2;\nst.global.u64 [%rd2], %rd4;\nret;\n}}\n",
        of(functions[0]),
        of(functions[1])
    );
    run_on(&text, threads, threads as usize, &How::default())
}

#[test]
fn each_lane_calls_what_it_points_to() {
    let both = "and.b32 %r3, %r1, 1;\nmul.wide.u32 %rd2, %r3, 8;\nmov.u64 %rd3, table;\nadd.u64 %rd2, %rd2, %rd3;\n\
                ld.global.u64 %rd1, [%rd2];";
    let (words, outcome) = run(both, 70);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    let expected: Vec<u64> = (0..70).map(|n| if n % 2 == 0 { 2 * n } else { n + 1 }).collect();
    assert_eq!(words, expected);
    let (words, outcome) = run("mov.u64 %rd1, next;", 3);
    assert_eq!((words, outcome.findings.len()), (vec![1, 2, 3], 0));
}

/// Lanes whose predicate is off call nothing, and keep what they had.
#[test]
fn lanes_that_do_not_call_wait() {
    let guarded = "setp.eq.u32 %p1, %r1, 1;\nmov.u64 %rd1, twice;\n@%p1 mov.u64 %rd1, next;";
    assert_eq!(run(guarded, 4).0, [0, 2, 4, 6]);
}

#[test]
fn what_is_no_function_of_this_form_ends_the_launch() {
    let fault = |pointer: &str| run(pointer, 2).1.findings.into_iter().map(|finding| finding.what).next();
    assert_eq!(fault("mov.u64 %rd1, 16;"), Some(What::NoFunction(16)));
    // A function without parameters.
    assert!(matches!(fault("mov.u64 %rd1, nothing;"), Some(What::NoFunction(_))));
    assert!(matches!(fault("mov.u64 %rd1, twice;\nadd.u64 %rd1, %rd1, 1;"), Some(What::NoFunction(_))));
    let itself = fault("mov.u64 %rd1, again;");
    assert!(matches!(&itself, Some(What::Unknown(what)) if what.contains("calls itself")), "{itself:?}");
}

/// Runs `body` with an arena of so many bytes. Its lines `malloc` and `free` are calls: the first
/// puts the address of `%rd0` bytes into `%rd1`, and the second gives that back.
fn allocating(body: &str, threads: u32, arena: u64) -> Outcome {
    let allocate = "{\n.param .b64 size;\n.param .b64 given;\nst.param.b64 [size], %rd0;\ncall (given), malloc, (size);\n\
                  ld.param.b64 %rd1, [given];\n}";
    let release = "{\n.param .b64 given;\nst.param.b64 [given], %rd1;\ncall free, (given);\n}";
    let line = |line: &str| match line {
        "malloc" => allocate.to_string(),
        "free" => release.to_string(),
        other => other.to_string(),
    };
    let body: Vec<String> = body.lines().map(line).collect();
    let body = body.join("\n");
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.extern .func (.param .b64 given) malloc(.param .b64 size);\n\
         .extern .func free(.param .b64 given);\n.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<9>;\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nmov.u64 %rd0, 16;\nmov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    );
    let parsed = ptx::parse(&text).unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let code = decode(&parsed, "k").unwrap_or_else(|error| panic!("{}: {}", error.at, error.message));
    assert!(code.allocates);
    let mut memory = memory(&code);
    let out = memory.give(&[0; 8], 0);
    let start = (out + 4096) & !4095;
    memory.bytes.grow((start - memory.base + arena) as usize);
    memory.set = Some(Store::zeroed(memory.bytes.len()));
    memory.arena = Some(Arena { start, end: start + arena, next: start });
    let params = out.to_le_bytes().to_vec();
    run_with(&code, &Form::new([1, 1, 1], [threads, 1, 1], 0), params, memory, &How::default(), &mut || true)
}

#[test]
fn threads_have_memory_of_their_own() {
    let outcome = allocating("malloc\nst.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1+12], %r1;", 40, 1 << 16);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    let pieces = outcome.memory.allocated();
    assert_eq!(pieces.len(), 40);
    assert!(pieces.iter().all(|piece| piece.bytes == 16 && piece.start % 16 == 0));
    let word = |piece: &super::memory::Piece| outcome.memory.contents(piece.start, 4)[0];
    assert_eq!(pieces.iter().map(word).collect::<Vec<_>>(), (0..40).collect::<Vec<u8>>());
    // What was given back is there again: ten times as much as there is room for.
    let again = allocating(&"malloc\nst.global.u32 [%rd1], %r1;\nfree\n".repeat(10), 32, 32 * 544);
    assert!(again.findings.is_empty() && again.memory.allocated().is_empty(), "{:?}", again.findings);
}

#[test]
fn faults_with_memory_of_kernels_are_found() {
    let fault = |body: &str| {
        let found = allocating(body, 1, 1 << 12).findings;
        found.into_iter().map(|finding| finding.what).next()
    };
    assert!(matches!(fault("malloc\nst.global.u32 [%rd1+16], %r1;"), Some(What::Outside(_))));
    assert!(matches!(fault("malloc\nfree\nst.global.u32 [%rd1], %r1;"), Some(What::Outside(_))));
    assert!(matches!(
        fault("malloc\nld.global.u32 %r2, [%rd1];\nst.global.u32 [%rd1], %r2;"),
        Some(What::Uninitialised(_))
    ));
    assert!(matches!(fault("malloc\nfree\nfree"), Some(What::NotAllocated(_))));
    assert!(matches!(fault("malloc\nadd.u64 %rd1, %rd1, 4;\nfree"), Some(What::NotAllocated(_))));
    // There is no room: null, which `free` takes.
    assert_eq!(fault("mov.u64 %rd0, 5000;\nmalloc\nfree"), None);
    assert_eq!(fault("mov.u64 %rd0, -1;\nmalloc\nfree"), None);
}
