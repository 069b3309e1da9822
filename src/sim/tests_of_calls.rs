//! Calls through pointers (PTX ISA, "call"): each lane comes to the function that it points to.

use super::findings::What;
use super::tests::run_on;
use super::{How, Outcome};

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
