//! Matrices of a warp: copies that run on by themselves, loads of fragments and products, as
//! kernels for tensor cores use them together.

use kc::sim::{self, Checks, Finding, Form, How, What};

/// Runs a kernel of one warp, whose parameters are `in` and `out`; what it leaves there.
fn run(body: &str, input: &[u8], words: usize, threads: u32) -> (Vec<u32>, Vec<Finding>) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{
         .reg .pred %p<4>; .reg .b32 %r<32>; .reg .f32 %f<16>; .reg .b64 %rd<8>; .shared .align 128 .b8 tile[1024];
         ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %r0, %laneid; shr.u32 %r1, %r0, 2; and.b32 %r2, %r0, 3;
         mul.wide.u32 %rd2, %r0, 16; add.s64 %rd2, %rd2, %rd0; mov.u32 %r3, tile; mad.lo.u32 %r4, %r0, 16, %r3;
         {body}
         ret; }}\n"
    );
    let parsed = kc::ptx::parse(&text).unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let code = sim::decode(&parsed, "k").unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let mut memory = sim::memory(&code);
    let mut params = memory.give(input, 0).to_le_bytes().to_vec();
    let out = memory.give(&vec![0; 4 * words], 0);
    params.extend_from_slice(&out.to_le_bytes());
    let form = Form::new([1, 1, 1], [threads, 1, 1], 0);
    let how = How { checks: Checks { races: true, uninitialised: true }, counts: true, ..How::default() };
    let outcome = sim::run(&code, &form, params, memory, &how, &mut || true);
    let bytes = outcome.memory.contents(out, 4 * words as u64).to_vec();
    (bytes.chunks_exact(4).map(|four| sim::word(four, 0, 4) as u32).collect(), outcome.findings)
}

fn a(row: usize, k: usize) -> f32 {
    ((row * 3 + k * 5) % 7) as f32 - 3.0
}

fn b(k: usize, column: usize) -> f32 {
    ((k * 2 + column * 3) % 5) as f32 - 2.0
}

/// `a b + 1` for so deep factors.
fn product(depth: usize) -> Vec<f32> {
    let sum = |n: usize| 1.0 + (0..depth).map(|k| a(n / 8, k) * b(k, n % 8)).sum::<f32>();
    (0..128).map(sum).collect()
}

/// Stores the fragment `%f0` to `%f3` to a matrix of 16 x 8: rows `g` and `g + 8`, columns `2 t`
/// and `2 t + 1`.
const STORE: &str =
    "mad.lo.u32 %r5, %r1, 32, 0; mad.lo.u32 %r5, %r2, 8, %r5; cvt.u64.u32 %rd3, %r5; add.s64 %rd3, %rd3, %rd1;
    st.global.v2.f32 [%rd3], {%f0, %f1}; st.global.v2.f32 [%rd3+256], {%f2, %f3};";

const ONES: &str = "mov.f32 %f0, 0f3f800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;";

/// 512 bytes of the first factor and 256 of the second, 16 bytes a lane.
const COPY: &str = "cp.async.ca.shared.global [%r4], [%rd2], 16; cp.async.commit_group;
    cp.async.cg.shared.global.L2::128B [%r4+512], [%rd2+512], 16; cp.async.commit_group;";

/// The first factor as rows of 16; the second, of 16 rows of 8, is turned.
const FRAGMENTS: &str = "and.b32 %r6, %r0, 15; shr.u32 %r7, %r0, 4; mad.lo.u32 %r6, %r6, 32, %r3; mad.lo.u32 %r6, %r7, 16, %r6;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r6];
    and.b32 %r7, %r0, 15; mad.lo.u32 %r7, %r7, 16, %r3; ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%r14, %r15}, [%r7+512];";

fn factors(bits: impl Fn(f32) -> u16) -> Vec<u8> {
    let first = (0..256).map(|n| a(n / 16, n % 16));
    let second = (0..256).map(|n| if n < 128 { b(n / 8, n % 8) } else { 0.0 });
    first.chain(second).flat_map(|value| bits(value).to_le_bytes()).collect()
}

#[test]
fn products_of_halves_are_those_of_their_matrices() {
    let kinds: [(&str, fn(f32) -> u16); 2] =
        [("f16", |x| half::f16::from_f32(x).to_bits()), ("bf16", |x| half::bf16::from_f32(x).to_bits())];
    for (name, bits) in kinds {
        let multiply = format!(
            "mma.sync.aligned.m16n8k16.row.col.f32.{name}.{name}.f32 {{%f0, %f1, %f2, %f3}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, {{%f0, %f1, %f2, %f3}};"
        );
        let body = [COPY, "cp.async.wait_group 0; bar.warp.sync -1;", FRAGMENTS, ONES, &multiply, STORE].concat();
        let (words, findings) = run(&body, &factors(bits), 128, 32);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(words.into_iter().map(f32::from_bits).collect::<Vec<_>>(), product(16), "{name}");
        // Of the first 8 columns and rows alone.
        let multiply = format!(
            "mma.sync.aligned.m16n8k8.row.col.f32.{name}.{name}.f32 {{%f0, %f1, %f2, %f3}}, {{%r10, %r11}}, {{%r14}}, {{%f0, %f1, %f2, %f3}};"
        );
        let body = [COPY, "cp.async.wait_all; bar.warp.sync -1;", FRAGMENTS, ONES, &multiply, STORE].concat();
        let (words, _) = run(&body, &factors(bits), 128, 32);
        assert_eq!(words.into_iter().map(f32::from_bits).collect::<Vec<_>>(), product(8), "{name}");
    }
}

/// Lane `4 g + t` has elements (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4) of the first, (t, g)
/// and (t + 4, g) of the second factor.
#[test]
fn products_of_tf32_are_those_of_their_matrices() {
    for (depth, registers, turned) in [(8, "{%r10, %r11, %r12, %r13}", "{%r14, %r15}"), (4, "{%r10, %r11}", "{%r14}")] {
        let lanes = |l: usize| {
            let (g, t) = (l / 4, l % 4);
            [a(g, t), a(g + 8, t), a(g, t + 4), a(g + 8, t + 4), b(t, g), b(t + 4, g), 0.0, 0.0]
        };
        // What tf32 has no bits for is cut off.
        let input: Vec<u8> = (0..32).flat_map(lanes).flat_map(|x| (x.to_bits() | 0x1fff).to_le_bytes()).collect();
        let body = format!(
            "mul.wide.u32 %rd2, %r0, 32; add.s64 %rd2, %rd2, %rd0; ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd2];
             ld.global.v2.b32 {{%r14, %r15}}, [%rd2+16]; {ONES}
             mma.sync.aligned.m16n8k{depth}.row.col.f32.tf32.tf32.f32 {{%f0, %f1, %f2, %f3}}, {registers}, {turned}, {{%f0, %f1, %f2, %f3}};
             {STORE}"
        );
        let (words, findings) = run(&body, &input, 128, 32);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(words.into_iter().map(f32::from_bits).collect::<Vec<_>>(), product(depth), "{depth}");
    }
}

/// A group that nobody waits for has not arrived; a part of a source, and none of it, leave zeros.
#[test]
fn copies_arrive_when_they_are_waited_for() {
    let input: Vec<u8> = (0..1024).map(|n| n as u8).collect();
    let load = "bar.warp.sync -1; ld.shared.u32 %r8, [%r4+512]; mul.wide.u32 %rd3, %r0, 4; add.s64 %rd3, %rd3, %rd1; st.global.u32 [%rd3], %r8;";
    let (_, findings) = run(&[COPY, "cp.async.wait_group 1;", load].concat(), &input, 32, 32);
    let what: Vec<&What> = findings.iter().map(|one| &one.what).collect();
    assert!(matches!(what.as_slice(), [What::Uninitialised(_), What::Race(..)]), "{findings:?}");
    let (words, findings) = run(&[COPY, "cp.async.wait_group 0;", load].concat(), &input, 32, 32);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(words[1], u32::from_le_bytes([16, 17, 18, 19]));
    for (operand, expected) in [("6", 0x0000_0504_0302_0100), ("%p1", 0), ("!%p1", 0x0706_0504_0302_0100u64)] {
        let body = format!(
            "setp.eq.u32 %p1, %r0, %r0; setp.eq.u32 %p2, %r0, 0; @%p2 cp.async.ca.shared.global [tile], [%rd0], 8, {operand}; cp.async.wait_all;
             @%p2 ld.shared.v2.u32 {{%r8, %r9}}, [tile]; @%p2 st.global.v2.u32 [%rd1], {{%r8, %r9}};"
        );
        let (words, findings) = run(&body, &input, 2, 32);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(u64::from(words[0]) | u64::from(words[1]) << 32, expected, "{operand}");
    }
}

#[test]
fn what_goes_wrong_is_named() {
    let input = vec![0; 1024];
    let multiply = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f0, %f1, %f2, %f3};";
    let is = |body: &str, threads: u32, wanted: fn(&What) -> bool| {
        let (_, findings) = run(body, &input, 32, threads);
        assert!(matches!(findings.as_slice(), [one] if wanted(&one.what)), "{body}: {findings:?}");
    };
    is(multiply, 24, |what| matches!(what, What::MissingLanes { left: true, .. }));
    is(&format!("setp.lt.u32 %p1, %r0, 5; @%p1 {multiply}"), 32, |what| matches!(what, What::MissingLanes { .. }));
    is("cp.async.ca.shared.global [%r4], [%rd2+4], 8;", 32, |what| matches!(what, What::Misaligned(_)));
    is("cp.async.ca.shared.global [%r4+1000], [%rd2], 8;", 32, |what| matches!(what, What::Outside(_)));
    is("cp.async.ca.shared.global [%r4], [%rd2+4096], 8;", 32, |what| matches!(what, What::Outside(_)));
    let early = format!("{COPY} cp.async.wait_all; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r4+8];");
    is(&early, 32, |what| matches!(what, What::Misaligned(_)));
    // Rows that other lanes copied, with no barrier between.
    let other: Vec<u8> = (0..1024).map(|n| 1 + (n % 100) as u8).collect();
    let (_, findings) = run(&format!("{COPY} cp.async.wait_all; {FRAGMENTS}"), &other, 32, 32);
    assert!(!findings.is_empty() && findings.iter().all(|one| matches!(one.what, What::Race(..))), "{findings:?}");
    let races =
        format!("mov.u32 %r9, 7; st.shared.u32 [%r4], %r9; bar.warp.sync -1; st.shared.u32 [%r4], %r0; {FRAGMENTS}");
    let (_, findings) = run(&races, &input, 32, 32);
    assert!(findings.iter().any(|one| matches!(one.what, What::Race(..))), "{findings:?}");
}

#[test]
fn products_of_float64_are_those_of_their_matrices() {
    let (a, b) = (|row: usize, k: usize| a(row, k) as f64, |k: usize, column: usize| b(k, column) as f64);
    // Each lane reads an element of both factors, and adds to two of the result.
    let body = "mul.wide.u32 %rd3, %r0, 8; add.s64 %rd3, %rd3, %rd0; .reg .f64 %fd<6>;
        ld.global.f64 %fd0, [%rd3]; ld.global.f64 %fd1, [%rd3+256]; mov.f64 %fd2, 0d3ff0000000000000; mov.f64 %fd3, %fd2;
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd2, %fd3}, {%fd0}, {%fd1}, {%fd2, %fd3};
        mul.wide.u32 %rd4, %r0, 16; add.s64 %rd4, %rd4, %rd1; st.global.v2.f64 [%rd4], {%fd2, %fd3};";
    let first = (0..32).map(|n| a(n / 4, n % 4));
    let second = (0..32).map(|n| b(n % 4, n / 4));
    let input: Vec<u8> = first.chain(second).flat_map(f64::to_le_bytes).collect();
    let (words, findings) = run(body, &input, 128, 32);
    assert!(findings.is_empty(), "{findings:?}");
    let sums: Vec<f64> =
        words.chunks_exact(2).map(|w| f64::from_bits(u64::from(w[0]) | u64::from(w[1]) << 32)).collect();
    let wanted = (0..64).map(|n| 1.0 + (0..4).map(|k| a(n / 8, k) * b(k, n % 8)).sum::<f64>());
    assert_eq!(sums, wanted.collect::<Vec<_>>());
}
