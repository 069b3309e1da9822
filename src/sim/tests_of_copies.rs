//! Do copies in bulk, their mbarrier objects and products of warpgroups do what the PTX ISA manual
//! says, and is it found where nobody waits for them? The numbers were worked out by hand.

use super::tests::run_on;
use super::*;

/// The kernel `k` with a parameter `out`, 1024 bytes of shared memory and an mbarrier object.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 out) {{\n.reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<19>;\n\
         .reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n.shared .align 128 .b8 tile[4096];\n.shared .align 8 .b64 bar;\n\
         ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\nmov.u32 %r2, bar;\n\
         setp.eq.u32 %p0, %r0, 0;\nmul.wide.u32 %rd1, %r0, 8;\nadd.s64 %rd1, %rd0, %rd1;\n\
         shl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r1, %r3;\n{body}\nret;\n}}\n"
    )
}

fn run_as(body: &str, threads: u32, words: usize) -> (Vec<u64>, Outcome) {
    run_on(&kernel(body), threads, words, &How::default())
}

fn is_race(outcome: &Outcome) -> bool {
    outcome.findings.iter().any(|finding| matches!(finding.what, What::Race(..)))
}

const WAIT: &str = "AGAIN: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;\n@!%p1 bra AGAIN;";

/// Each of 64 threads leaves its number, arrives, waits for all, and reads that of a thread of the
/// other warp.
fn exchanged(wait: &str) -> (Vec<u64>, Outcome) {
    let body = format!(
        "@%p0 mbarrier.init.shared.b64 [%r2], 64;\nbar.sync 0;\nst.shared.u32 [%r3], %r0;\n\
         mbarrier.arrive.shared.b64 %rd2, [%r2];\n{wait}\nxor.b32 %r4, %r3, 128;\nld.shared.u32 %r5, [%r4];\n\
         cvt.u64.u32 %rd3, %r5;\nst.global.u64 [%rd1], %rd3;"
    );
    run_as(&body, 64, 64)
}

#[test]
fn threads_meet_at_an_mbarrier() {
    let (words, outcome) = exchanged(WAIT);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(words, (0..64).map(|n| n ^ 32).collect::<Vec<u64>>());
    let by_state = WAIT.replace(".parity", "").replace(", 0;", ", %rd2;");
    assert!(exchanged(&by_state).1.findings.is_empty());
    assert!(is_race(&exchanged("").1), "nobody waits");
}

#[test]
fn an_mbarrier_that_is_none_is_told() {
    let (_, outcome) = run_as("st.shared.u64 [%r2], 5;\nmbarrier.arrive.shared.b64 _, [%r2];", 1, 1);
    assert!(matches!(&outcome.findings[0].what, What::Mbarrier(why) if why.contains("mbarrier.init")));
    let many = "@%p0 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;\nmbarrier.arrive.shared.b64 _, [%r2], 2;";
    let (_, outcome) = run_as(many, 1, 1);
    assert!(matches!(&outcome.findings[0].what, What::Mbarrier(why) if why.contains("2 threads arrive")));
}

/// 64 numbers of `out` come to shared memory; all threads read the next one.
fn copied(wait: &str) -> (Vec<u64>, Outcome) {
    let body = format!(
        "cvt.u64.u32 %rd3, %r0;\nst.global.u64 [%rd1], %rd3;\n@%p0 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;\n\
         @!%p0 bra GO;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r2], 512;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 512, [%r2];\n\
         GO: {wait}\nadd.u32 %r4, %r0, 1;\nand.b32 %r4, %r4, 63;\nshl.b32 %r4, %r4, 3;\nadd.u32 %r4, %r1, %r4;\n\
         ld.shared.u64 %rd4, [%r4];\nst.global.u64 [%rd1+512], %rd4;"
    );
    run_as(&body, 64, 128)
}

#[test]
fn a_copy_in_bulk_comes_when_it_is_waited_for() {
    let (words, outcome) = copied(WAIT);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(words[64..], (1..65).map(|n| n % 64).collect::<Vec<u64>>());
    assert!(is_race(&copied("").1), "nobody waits");
}

/// Shared memory is stored in bulk and overwritten by the same thread.
fn stored(wait: &str) -> Vec<u64> {
    let body = format!(
        "st.shared.u64 [%r1], 7;\nst.shared.u64 [%r1+8], 8;\nfence.proxy.async.shared::cta;\n\
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;\ncp.async.bulk.commit_group;\n{wait}\n\
         st.shared.u64 [%r1], 9;"
    );
    let (words, outcome) = run_as(&body, 1, 2);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    words
}

#[test]
fn a_store_in_bulk_reads_until_it_is_waited_for() {
    assert_eq!(stored("cp.async.bulk.wait_group.read 0;"), [7, 8]);
    assert_eq!(stored(""), [9, 8]);
    let reduced = "st.shared.u64 [%r1], 7;\nst.shared.u64 [%r1+8], 8;\nst.global.u64 [%rd0], 30;\nst.global.u64 [%rd0+8], 1;\n\
                   cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%rd0], [%r1], 16;\n\
                   cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    assert_eq!(run_as(reduced, 1, 2).0, [37, 9]);
    let (_, outcome) = run_as("cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 8;", 1, 2);
    assert!(matches!(&outcome.findings[0].what, What::BadBulk(why) if why.contains("multiples of 16")));
}

/// Fields of a map of 3 x 4 numbers of 32 bits in `out`, whose rows are 16 bytes apart.
const MAP: &str = "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %rd0;\n\
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r1], 1;\n\
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 0, 4;\n\
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 1, 2;\n\
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 0, 4;\n\
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 1, 3;\n\
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], 0, 16;\n\
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 0, 1;\n\
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 1, 1;\n\
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r1], 2;\n\
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r1], 0;\n\
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r1], 0;\n\
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r1], 0;";

#[test]
fn a_box_of_a_tensor_comes_with_zeros_beyond_its_border() {
    // Thread n < 12 leaves n + 1 as a number of 32 bits; the map goes to `out + 128`.
    let body = format!(
        "st.shared.u32 [%r3], 0;\nadd.u32 %r4, %r0, 1;\nmul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd2, %rd0, %rd2;\n\
         setp.lt.u32 %p2, %r0, 12;\n@%p2 st.global.u32 [%rd2], %r4;\nbar.warp.sync -1;\n@!%p0 bra MADE;\n{MAP}\n\
         mbarrier.init.shared.b64 [%r2], 1;\nMADE: bar.sync 0;\nadd.s64 %rd3, %rd0, 128;\n\
         tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd3], [%r1], 128;\n\
         fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;\n@!%p0 bra GO;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 32;\nmov.u32 %r5, 2;\nmov.u32 %r6, 1;\n\
         cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1+256], [%rd3, {{%r5, %r6}}], [%r2];\n\
         GO: {WAIT}\nsetp.lt.u32 %p2, %r0, 8;\n@!%p2 ret;\nld.shared.u32 %r7, [%r3+256];\n\
         cvt.u64.u32 %rd4, %r7;\nst.global.u64 [%rd1+256], %rd4;\nbar.warp.sync 255;\n@!%p0 ret;\n\
         mov.u32 %r8, -1;\ncp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {{%r8, %r5}}], [%r1+256];\n\
         cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
    );
    let (words, outcome) = run_as(&body, 32, 40);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    // Rows 1 and 2 from column 2 on.
    assert_eq!(words[32..], [7, 8, 0, 0, 11, 12, 0, 0]);
    // Stored one to the left in the last row; what does not fit is left out.
    assert_eq!(words[4..6], [8, 12 << 32]);
}

/// A row of 16 halves of the factors: 8 r + k. With the second factor a unit matrix, the result is
/// the left half of the first. `setup` moves chunk %r5 of row %r4 to %r6.
fn multiplied(setup: &str, mode: u64, leading: u64, stride: u64, wait: bool) -> Outcome {
    let descriptor = |start: u64| start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
    let mut text = format!(
        "shr.u32 %r4, %r0, 1;\nand.b32 %r5, %r0, 1;\n{setup}\nadd.u32 %r6, %r6, %r1;\nmad.lo.u32 %r7, %r5, 8, %r4;\n"
    );
    for k in 0..8 {
        text += &format!("add.u32 %r8, %r7, {k};\ncvt.rn.f16.u32 %rs0, %r8;\nst.shared.b16 [%r6+{}], %rs0;\n", 2 * k);
    }
    // Rows 0 to 7 of the second factor: one in element k = row.
    text += "setp.lt.u32 %p3, %r0, 16;\n@!%p3 bra READY;\n";
    for k in 0..8 {
        text += &format!(
            "mad.lo.u32 %r8, %r5, 8, {k};\nsetp.eq.u32 %p4, %r8, %r4;\nselp.b16 %rs0, 15360, 0, %p4;\nst.shared.b16 [%r6+{}], %rs0;\n",
            2048 + 2 * k
        );
    }
    text += &format!(
        "READY: fence.proxy.async;\nbar.sync 0;\nmov.u64 %rd2, {};\nmov.u64 %rd3, {};\nmov.f32 %f0, 0f3F800000;\nmov.f32 %f1, 0f00000000;\n\
         mov.f32 %f2, 0f00000000;\nmov.f32 %f3, 0f00000000;\n\
         wgmma.fence.sync.aligned;\nmov.pred %p5, -1;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd2, %rd3, %p5, 1, -1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\n{}\nst.shared.u32 [%r3], 0;\n",
        descriptor(0),
        descriptor(2048),
        if wait { "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;" } else { "" },
    );
    for n in 0..4 {
        text +=
            &format!("cvt.rni.s32.f32 %r8, %f{n};\ncvt.s64.s32 %rd4, %r8;\nst.global.u64 [%rd1+{}], %rd4;\n", 1024 * n);
    }
    if !wait {
        text += "wgmma.wait_group.sync.aligned 0;\n";
    }
    let (words, outcome) = run_as(&text, 128, 512);
    for lane in 0..128 {
        let (g, t) = (lane / 4 % 8 + lane / 32 * 16, lane % 4);
        for n in 0..4 {
            let (row, column) = (g + n / 2 * 8, 2 * t + n % 2);
            let expected = i64::from(n == 0) - (row as i64 + column as i64);
            assert_eq!(words[128 * n + lane] as i64, expected, "lane {lane}, register {n}");
        }
    }
    outcome
}

#[test]
fn warpgroups_multiply_matrices_in_shared_memory() {
    let plain = "and.b32 %r6, %r4, 7;\nshl.b32 %r6, %r6, 4;\nshr.u32 %r8, %r4, 3;\nmad.lo.u32 %r6, %r8, 256, %r6;\nmad.lo.u32 %r6, %r5, 128, %r6;";
    let outcome = multiplied(plain, 0, 128, 256, true);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    // Rows of 32 bytes, whose halves are exchanged in every second group of four.
    let swizzled = "shr.u32 %r8, %r4, 2;\nand.b32 %r8, %r8, 1;\nxor.b32 %r8, %r8, %r5;\nshl.b32 %r8, %r8, 4;\nmad.lo.u32 %r6, %r4, 32, %r8;";
    let outcome = multiplied(swizzled, 3, 0, 256, true);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    let outcome = multiplied(plain, 0, 128, 256, false);
    assert!(is_race(&outcome), "factors are overwritten before the product is waited for");
}
