//! Faults that are put into right PTX, one at a time: an instruction is left out, a guard dropped
//! or turned round, an operation replaced, operands swapped, a number counted up. Almost all have
//! to show: as an error, a finding, or other bytes in the output.

use kc::sim::{self, Checks, Form, How};

/// Kernels of 64 threads a block, two blocks, with 128 words to write and 128 to read.
const KERNELS: [(&str, &str); 6] = [
    (
        "sum of a block through a tree",
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 6;
         add.u32 %r3, %r3, %r1; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd4, %rd2, %rd3; ld.global.u32 %r4, [%rd4];
         mul.wide.u32 %rd5, %r1, 4; mov.u64 %rd6, tile; add.s64 %rd7, %rd6, %rd5; st.shared.u32 [%rd7], %r4; mov.u32 %r5, 32;
         AGAIN: bar.sync 0; setp.ge.u32 %p1, %r1, %r5; @%p1 bra SKIP; mul.wide.u32 %rd8, %r5, 4; add.s64 %rd9, %rd7, %rd8;
         ld.shared.u32 %r6, [%rd9]; ld.shared.u32 %r7, [%rd7]; add.u32 %r7, %r7, %r6; st.shared.u32 [%rd7], %r7;
         SKIP: shr.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra AGAIN; setp.ne.u32 %p3, %r1, 0; @%p3 bra END;
         ld.shared.u32 %r8, [tile]; mul.wide.u32 %rd10, %r2, 4; add.s64 %rd11, %rd1, %rd10; st.global.u32 [%rd11], %r8; END: ret;",
    ),
    (
        "transposition through a tile",
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 6;
         add.u32 %r4, %r3, %r1; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd2, %rd3; ld.global.u32 %r5, [%rd4];
         mul.wide.u32 %rd5, %r1, 4; mov.u64 %rd6, tile; add.s64 %rd7, %rd6, %rd5; st.shared.u32 [%rd7], %r5; bar.sync 0;
         and.b32 %r6, %r1, 7; shr.u32 %r7, %r1, 3; shl.b32 %r8, %r6, 3; add.u32 %r9, %r8, %r7; mul.wide.u32 %rd8, %r9, 4;
         add.s64 %rd9, %rd6, %rd8; ld.shared.u32 %r10, [%rd9]; add.s64 %rd10, %rd1, %rd3; st.global.u32 [%rd10], %r10; ret;",
    ),
    (
        "stencil with edges",
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 6;
         add.u32 %r4, %r3, %r1; setp.lt.s32 %p1, %r4, 1; @%p1 bra END; setp.gt.s32 %p2, %r4, 126; @%p2 bra END;
         mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd2, %rd3; ld.global.s32 %r5, [%rd4+-4]; ld.global.s32 %r6, [%rd4];
         ld.global.s32 %r7, [%rd4+4]; mul.lo.s32 %r8, %r6, 3; sub.s32 %r8, %r8, %r5; sub.s32 %r8, %r8, %r7; max.s32 %r8, %r8, 0;
         add.s64 %rd5, %rd1, %rd3; st.global.u32 [%rd5], %r8; END: ret;",
    ),
    (
        "rows of unlike lengths",
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 6;
         add.u32 %r4, %r3, %r1; and.b32 %r5, %r4, 7; mov.u32 %r6, 0; mov.f32 %f1, 0f00000000; cvt.rn.f32.u32 %f2, %r4;
         AGAIN: setp.ge.u32 %p1, %r6, %r5; @%p1 bra DONE; xor.b32 %r7, %r4, %r6; mul.wide.u32 %rd3, %r7, 4; add.s64 %rd4, %rd2, %rd3;
         ld.global.u32 %r8, [%rd4]; cvt.rn.f32.u32 %f3, %r8; fma.rn.f32 %f1, %f3, %f2, %f1; add.u32 %r6, %r6, 1; bra.uni AGAIN;
         DONE: mul.wide.u32 %rd5, %r4, 4; add.s64 %rd6, %rd1, %rd5; st.global.f32 [%rd6], %f1; ret;",
    ),
    (
        "scan of a warp",
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 6;
         add.u32 %r4, %r3, %r1; mov.u32 %r5, %laneid; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd2, %rd3; ld.global.u32 %r6, [%rd4];
         mov.u32 %r7, 1; AGAIN: shfl.sync.up.b32 %r8, %r6, %r7, 0, -1; setp.lt.u32 %p1, %r5, %r7; @%p1 bra SKIP; add.u32 %r6, %r6, %r8;
         SKIP: shl.b32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 32; @%p2 bra AGAIN; add.s64 %rd5, %rd1, %rd3; st.global.u32 [%rd5], %r6; ret;",
    ),
    (
        "histogram in shared memory",
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 6;
         add.u32 %r4, %r3, %r1; mov.u64 %rd3, tile; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4; setp.ge.u32 %p1, %r1, 16;
         @%p1 bra READY; st.shared.u32 [%rd5], 0; READY: bar.sync 0; mul.wide.u32 %rd6, %r4, 4; add.s64 %rd7, %rd2, %rd6;
         ld.global.u32 %r5, [%rd7]; and.b32 %r6, %r5, 15; mul.wide.u32 %rd8, %r6, 4; add.s64 %rd9, %rd3, %rd8;
         atom.shared.add.u32 %r7, [%rd9], 1; bar.sync 0; @%p1 bra END; ld.shared.u32 %r8, [%rd5]; add.s64 %rd10, %rd1, %rd4;
         red.global.add.u32 [%rd10], %r8; END: ret;",
    ),
];

/// What represents what else.
const OTHER: [(&str, &str); 17] = [
    ("add.", "sub."),
    ("sub.", "add."),
    ("mul.lo", "add"),
    ("max.", "min."),
    (".lt.", ".le."),
    (".gt.", ".ge."),
    (".ge.", ".gt."),
    (".eq.", ".ne."),
    (".ne.", ".eq."),
    ("shl.b32", "shr.u32"),
    ("shr.u32", "shl.b32"),
    ("and.", "or."),
    ("xor.", "and."),
    (".shared", ".global"),
    (".global", ".shared"),
    ("fma.rn.f32", "fma.rz.f32"),
    ("%ctaid", "%nctaid"),
];

/// The statement with one fault each.
fn faults(instruction: &str) -> Vec<String> {
    let (label, rest) = match instruction.split_once(": ") {
        Some((label, rest)) => (format!("{label}: "), rest),
        None => (String::new(), instruction),
    };
    let mut made = Vec::new();
    if let Some((guard, what)) = rest.strip_prefix('@').and_then(|guarded| guarded.split_once(' ')) {
        made.push(what.to_string());
        made.push(format!("@!{guard} {what}"));
    }
    made.extend(OTHER.iter().filter(|(from, _)| rest.contains(from)).map(|(from, to)| rest.replacen(from, to, 1)));
    let (head, last) = rest.rsplit_once(", ").unwrap_or((rest, ""));
    if let Ok(number) = last.parse::<i64>() {
        made.push(format!("{head}, {}", number + 1));
    }
    if let Some((front, before)) = head.rsplit_once(", ")
        && ["sub.", "setp.l", "setp.g", "shl.", "shr."].iter().any(|name| rest.starts_with(name))
    {
        made.push(format!("{front}, {last}, {before}"));
    }
    made.retain(|fault| fault != rest);
    // Kernels end without a return too.
    let left_out = (rest != "ret").then(|| label.clone());
    made.into_iter().map(|fault| format!("{label}{fault};")).chain(left_out).collect()
}

/// What a kernel leaves; None: it is refused, or something is found.
fn output(body: &str) -> Option<Vec<u8>> {
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in) {{
         .reg .pred %p<4>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %rd<12>; .shared .align 4 .b8 tile[256];\n{body}\n}}\n"
    );
    let parsed = kc::ptx::parse(&text).ok()?;
    let code = sim::decode(&parsed, "k").ok()?;
    let mut memory = sim::memory(&code);
    let values = |n: u32| (n.wrapping_mul(2_654_435_761) >> 12).to_le_bytes();
    let zeros = memory.give(&[0; 512], 0);
    let given = memory.give(&(0..128).flat_map(values).collect::<Vec<u8>>(), 0);
    let params = [zeros, given].map(u64::to_le_bytes).concat();
    let how = How { checks: Checks { races: true, uninitialised: true }, limit: 20_000, ..How::default() };
    let form = Form::new([2, 1, 1], [64, 1, 1], 0);
    let outcome = sim::run(&code, &form, params, memory, &how, &mut || true);
    outcome.findings.is_empty().then(|| outcome.memory.contents(zeros, 512).to_vec())
}

#[test]
fn faults_show() {
    let (mut all, mut unseen) = (0, Vec::new());
    for (name, body) in KERNELS {
        let expected = output(body).unwrap_or_else(|| panic!("{name} is right"));
        let instructions: Vec<&str> = body.split(';').map(str::trim).filter(|text| !text.is_empty()).collect();
        for (n, instruction) in instructions.iter().enumerate() {
            for fault in faults(instruction) {
                let with = |(at, text): (usize, &&str)| if at == n { fault.clone() } else { format!("{text};") };
                let mutant: Vec<String> = instructions.iter().enumerate().map(with).collect();
                all += 1;
                if output(&mutant.join("\n")).is_some_and(|found| found == expected) {
                    unseen.push(format!("{name}: `{instruction}` as `{fault}`"));
                }
            }
        }
    }
    assert!(all >= 200, "{all} faults");
    assert!(20 * unseen.len() <= all, "{} of {all} faults do not show:\n{}", unseen.len(), unseen.join("\n"));
}
