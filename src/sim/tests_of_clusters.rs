//! Do the blocks of a cluster reach each other's shared memory as the PTX ISA manual says, and is
//! it found where they do not wait for each other? The numbers were worked out by hand.

use super::tests::run_as;
use super::*;

/// The kernel `k` with a parameter `out`; `%r0` is the thread, `%r1` and `%r2` the block's rank and
/// that of its partner, `%r3` the thread's word of shared memory, `%r4` that of the partner, `%r5`
/// the mbarrier object of the block, `%r6` that of the partner, and `%rd1` the thread's word of
/// `out`. `before` comes first, and a barrier of the cluster last.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<29>;\n.reg .b64 %rd<9>;\n.reg .b16 %rs<4>;\n\
         .shared .align 16 .b8 tile[512];\n.shared .align 8 .b64 bar;\n\
         ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %cluster_ctarank;\nxor.b32 %r2, %r1, 1;\n\
         mov.u32 %r9, tile;\nshl.b32 %r3, %r0, 3;\nadd.u32 %r3, %r3, %r9;\nmapa.shared::cluster.u32 %r4, %r3, %r2;\n\
         mov.u32 %r5, bar;\nmapa.shared::cluster.u32 %r6, %r5, %r2;\n\
         mov.u32 %r7, %ctaid.x;\nmov.u32 %r8, %ntid.x;\nmad.lo.u32 %r7, %r7, %r8, %r0;\n\
         mul.wide.u32 %rd1, %r7, 8;\nadd.s64 %rd1, %rd0, %rd1;\nsetp.eq.u32 %p0, %r0, 0;\n\
         {body}\nret;\n}}\n"
    )
}

const MEET: &str = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n";

fn in_pairs(grid: u32, threads: u32) -> Form {
    Form { cluster: [2, 1, 1], ..Form::new([grid, 1, 1], [threads, 1, 1], 0) }
}

fn run_pairs(body: &str, how: &How) -> (Vec<u64>, Outcome) {
    run_as(&kernel(body), &in_pairs(4, 64), 256, how)
}

fn is_silent(body: &str) -> Vec<u64> {
    for seed in [None, Some(1), Some(2), Some(3)] {
        let (_, outcome) = run_pairs(body, &How { seed, ..How::default() });
        assert!(outcome.findings.is_empty(), "{seed:?}: {:?}", outcome.findings);
    }
    run_pairs(body, &How::default()).0
}

fn finds(body: &str, wanted: fn(&What) -> bool) {
    let (_, outcome) = run_pairs(body, &How::default());
    assert!(outcome.findings.iter().any(|finding| wanted(&finding.what)), "{body}: {:?}", outcome.findings);
}

/// What thread `n` of the launch has from the thread of the same number in the partner's block.
fn partners() -> Vec<u64> {
    (0..256).map(|n| n ^ 64).collect()
}

const WRITE: &str = "cvt.u64.u32 %rd2, %r7;\nst.shared.u64 [%r3], %rd2;\n";
const READ: &str = "ld.shared::cluster.u64 %rd3, [%r4];\nst.global.u64 [%rd1], %rd3;\n";

#[test]
fn blocks_read_what_others_left() {
    assert_eq!(is_silent(&format!("{WRITE}{MEET}{READ}{MEET}")), partners());
    // By generic addresses, which say whose they are.
    let generic = "cvta.shared.u64 %rd4, %rd5;\nmapa.u64 %rd4, %rd4, %r2;\nld.u64 %rd3, [%rd4];\n\
                   getctarank.u64 %r10, %rd4;\nsetp.ne.u32 %p1, %r10, %r2;\n@%p1 trap;\nst.global.u64 [%rd1], %rd3;\n";
    assert_eq!(is_silent(&format!("cvt.u64.u32 %rd5, %r3;\n{WRITE}{MEET}{generic}{MEET}")), partners());
    // Blocks go on between arriving and waiting.
    let parted = "barrier.cluster.arrive.release;\nbar.sync 0;\nbarrier.cluster.wait.acquire;\n";
    assert_eq!(is_silent(&format!("{WRITE}{parted}{READ}{MEET}")), partners());
}

#[test]
fn atomics_of_other_blocks_are_the_same_places() {
    let body = format!(
        "@%p0 st.shared.u64 [%r9], 0;\n{MEET}mapa.shared::cluster.u32 %r10, %r9, 0;\n\
         atom.shared::cluster.add.u64 %rd2, [%r10], 1;\n{MEET}@%p0 ld.shared.u64 %rd3, [%r9];\n\
         @%p0 st.global.u64 [%rd1], %rd3;\n"
    );
    let words = is_silent(&body);
    assert_eq!([words[0], words[64], words[128], words[192]], [128, 0, 128, 0]);
}

#[test]
fn who_does_not_wait_is_found() {
    finds(&format!("{WRITE}{READ}{MEET}"), |what| matches!(what, What::NotBegun(_, 1)));
    // The barrier of a block orders no other block.
    finds(&format!("{MEET}{WRITE}bar.sync 0;\n{READ}{MEET}"), |what| matches!(what, What::Race(..)));
    finds(&format!("{WRITE}{MEET}{READ}"), |what| matches!(what, What::Ended(_, 0)));
    // Who arrives without releasing hands nothing on.
    let relaxed = MEET.replace("release", "relaxed");
    finds(&format!("{MEET}{WRITE}{relaxed}{READ}{MEET}"), |what| matches!(what, What::Race(..)));
    finds("barrier.cluster.wait.aligned;", |what| matches!(what, What::Cluster(_)));
    finds("barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;", |what| matches!(what, What::Cluster(_)));
}

#[test]
fn blocks_that_never_come_are_missed() {
    let some = format!("setp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nbar.sync 1, 96;\nDONE: {MEET}");
    let (_, outcome) = run_pairs(&some, &How::default());
    let found = &outcome.findings[0].what;
    assert!(matches!(found, What::EndlessBarrier { waiting: 64, expected: 96 }), "{found:?}");
    // Threads that have left are not waited for.
    is_silent(&format!("@%p0 exit;\n{}", MEET.replace(".aligned", "")));
}

#[test]
fn places_outside_are_found_in_all_blocks() {
    let is_outside = |what: &What| matches!(what, What::Outside(_));
    finds(&format!("{MEET}ld.shared::cluster.u64 %rd3, [%r4+512];\n{MEET}"), is_outside);
    finds(
        &format!("{MEET}mapa.shared::cluster.u32 %r4, %r3, 2;\nst.shared::cluster.u64 [%r4], 1;\n{MEET}"),
        is_outside,
    );
    finds(&format!("{MEET}st.shared::cluster.u64 [%r4+4], 1;\n{MEET}"), |what| matches!(what, What::Misaligned(_)));
    finds(&format!("{MEET}{READ}{MEET}"), |what| matches!(what, What::Uninitialised(_)));
}

/// An object of each block waits for one thread, and for 512 bytes.
const MAKE: &str =
    "@%p0 mbarrier.init.shared.b64 [%r5], 1;\n@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 512;\n";
const WAIT: &str = "AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r5], 0;\n@!%p1 bra AGAIN;\n\
                    ld.shared.u64 %rd3, [%r3];\nst.global.u64 [%rd1], %rd3;\n";

#[test]
fn numbers_sent_to_another_block_are_waited_for() {
    let send =
        "cvt.u64.u32 %rd2, %r7;\nst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r4], %rd2, [%r6];\n";
    assert_eq!(is_silent(&format!("{MAKE}{MEET}{send}{WAIT}{MEET}")), partners());
    finds(&format!("{MAKE}{MEET}{send}ld.shared.u64 %rd3, [%r3];\n{MEET}"), |what| matches!(what, What::Race(..)));
    // Both blocks add to the first word of their partner.
    let add = "@%p0 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4], 5, [%r6];\n";
    let make = MAKE.replace("512", "4");
    let body = format!("st.shared.u64 [%r3], 7;\n{make}{MEET}{add}{WAIT}{MEET}");
    let words = is_silent(&body);
    assert_eq!((words[0], words[1], words[64]), (12, 7, 12));
}

#[test]
fn a_copy_goes_to_several_blocks() {
    let copy =
        "cvt.u64.u32 %rd2, %r7;\nst.global.u64 [%rd1], %rd2;\nsetp.eq.and.u32 %p2, %r1, 0, %p0;\nmov.u16 %rs1, 3;\n";
    let ask = "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
               [%r9], [%rd1], 512, [%r5], %rs1;\n";
    let words = is_silent(&format!("{copy}{MAKE}{MEET}{ask}{WAIT}{MEET}"));
    let expected: Vec<u64> = (0..256).map(|n| n / 128 * 128 + n % 64).collect();
    assert_eq!(words, expected);
    // From shared memory to that of another block.
    let ask =
        "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], [%r11], 256, [%r6];\n";
    let make = MAKE.replace("512", "256");
    let body = format!(
        "add.u32 %r11, %r9, 256;\nmapa.shared::cluster.u32 %r10, %r9, %r2;\nst.shared.u64 [%r3], 3;\n\
         {make}{MEET}{ask}AGAIN: mbarrier.try_wait.parity.shared.b64 %p1, [%r5], 0;\n@!%p1 bra AGAIN;\n{MEET}"
    );
    is_silent(&body);
}

#[test]
fn blocks_know_their_clusters() {
    let body = "mov.u32 %r10, %cluster_ctaid.y;\nmov.u32 %r11, %cluster_nctaid.y;\nmov.u32 %r12, %clusterid.x;\n\
                mov.u32 %r13, %nclusterid.x;\nmov.u32 %r14, %cluster_nctarank;\n\
                mad.lo.u32 %r10, %r10, 10, %r11;\nmad.lo.u32 %r10, %r10, 10, %r12;\nmad.lo.u32 %r10, %r10, 10, %r13;\n\
                mad.lo.u32 %r10, %r10, 10, %r14;\nmad.lo.u32 %r10, %r10, 10, %r1;\nmov.u32 %r15, %ctaid.y;\n\
                mad.lo.u32 %r15, %r15, 4, %r7;\nmul.wide.u32 %rd1, %r15, 8;\nadd.s64 %rd1, %rd0, %rd1;\n\
                cvt.u64.u32 %rd2, %r10;\nst.global.u64 [%rd1], %rd2;";
    let form = Form { cluster: [2, 2, 1], ..Form::new([4, 2, 1], [1, 1, 1], 0) };
    let (words, outcome) = run_as(&kernel(body), &form, 8, &How::default());
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    // Place in the cluster, its extent, the cluster, clusters, blocks, rank.
    assert_eq!(words, [20240, 20241, 21240, 21241, 120242, 120243, 121242, 121243]);
}

#[test]
fn a_launch_is_made_of_whole_clusters() {
    let form = Form::new([6, 1, 1], [32, 1, 1], 0);
    assert_eq!(form.for_kernel(Some([2, 1, 1])).map(|form| form.cluster), Ok([2, 1, 1]));
    assert!(form.for_kernel(Some([4, 1, 1])).is_err_and(|why| why.contains("is not made of clusters")));
    assert!(form.for_kernel(Some([6, 6, 1])).is_err_and(|why| why.contains("16")));
    assert!(form.for_kernel(Some([0, 1, 1])).is_err());
    let other = Form { cluster: [3, 1, 1], ..form };
    assert!(other.for_kernel(Some([2, 1, 1])).is_err_and(|why| why.contains("is made for")));
}
