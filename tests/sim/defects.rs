//! Defects and their twins: each kernel is right, and wrong after one change (`@` is what changes).
//! The simulator has to name the defect in the order of the threads, and to find nothing in the
//! twin, in that order and in others.

use kc::sim::{self, Checks, Form, How, What};

/// 128 words, as many as the launch has threads: 2 blocks of 64.
const WORDS: usize = 128;

/// `%r0` to `%r3`: the thread, its block, the threads of a block, its number; `%r4` its lane.
/// `%rd0` and `%rd1`: what it writes and what it only reads; `%rd2` and `%rd3` its own element
/// there. Of the first, `%rd5`, `%rd6` and `%rd7` are those of the neighbour in the warp, in the
/// other warp and in the other block. `%rd4`: its own element of `tile`, `%rd8` and `%rd9` those of
/// the neighbours. `%rd15`: the first of the block. Bodies take `%r5` and `%rd10` and more.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.const .align 4 .b32 fixed = 7;\n.global .align 4 .b32 cell = 7;
         .visible .entry k(.param .u64 out, .param .u64 in) {{
         .reg .pred %p<8>; .reg .b16 %rs<4>; .reg .b32 %r<16>; .reg .f32 %f<4>; .reg .b64 %rd<16>;
         .local .align 16 .b8 own[64]; .shared .align 16 .b8 tile[512];
         ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
         mad.lo.u32 %r3, %r1, %r2, %r0; mov.u32 %r4, %laneid;
         mul.wide.u32 %rd10, %r3, 4; add.s64 %rd2, %rd0, %rd10; add.s64 %rd3, %rd1, %rd10;
         xor.b32 %r5, %r3, 1; mul.wide.u32 %rd10, %r5, 4; add.s64 %rd5, %rd0, %rd10;
         xor.b32 %r5, %r3, 32; mul.wide.u32 %rd10, %r5, 4; add.s64 %rd6, %rd0, %rd10;
         xor.b32 %r5, %r3, 64; mul.wide.u32 %rd10, %r5, 4; add.s64 %rd7, %rd0, %rd10;
         mov.u64 %rd11, tile; mul.wide.u32 %rd10, %r0, 4; add.s64 %rd4, %rd11, %rd10;
         xor.b32 %r5, %r0, 1; mul.wide.u32 %rd10, %r5, 4; add.s64 %rd8, %rd11, %rd10;
         xor.b32 %r5, %r0, 32; mul.wide.u32 %rd10, %r5, 4; add.s64 %rd9, %rd11, %rd10;
         mul.lo.u32 %r5, %r1, %r2; mul.wide.u32 %rd10, %r5, 4; add.s64 %rd15, %rd0, %rd10;
         {body}
         ret; }}\n"
    )
}

/// The findings of a launch.
fn findings(text: &str, blocks: u32, seed: Option<u64>) -> Vec<What> {
    let parsed = kc::ptx::parse(text).unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let code = sim::decode(&parsed, "k").unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let mut memory = sim::memory(&code);
    let mut params = Vec::new();
    for fill in [0, 3] {
        params.extend_from_slice(&memory.give(&[fill, 0, 0, 0].repeat(WORDS), 0).to_le_bytes());
    }
    let form = Form::new([blocks, 1, 1], [64, 1, 1], 0);
    let how = How { checks: Checks { races: true, uninitialised: true }, seed, limit: 20_000, ..How::default() };
    let outcome = sim::run(&code, &form, params, memory, &how, &mut || true);
    outcome.findings.into_iter().map(|finding| finding.what).collect()
}

/// What is to be found.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Race,
    Outside,
    Misaligned,
    ReadOnly,
    Unset,
    Barrier,
    Lanes,
    Endless,
    Trap,
}
use Kind::*;

fn kind(what: &What) -> Kind {
    match what {
        What::Race(..) | What::NotBegun(..) => Race,
        What::Outside(_) | What::BadImage(_) | What::Ended(..) | What::NoFunction(_) => Outside,
        What::Misaligned(_) | What::BadBulk(_) => Misaligned,
        What::ReadOnly(_) => ReadOnly,
        What::Uninitialised(_) => Unset,
        What::DivergentBarrier(_) | What::EndlessBarrier { .. } | What::BadBarrier(_) => Barrier,
        What::Mbarrier(_) | What::Cluster(_) => Barrier,
        What::MissingLanes { .. } | What::Unnamed(_) => Lanes,
        What::Endless | What::RacesEnd(_) => Endless,
        What::NotAllocated(_) | What::NoComponent { .. } | What::NoElement { .. } | What::Unknown(_) => Trap,
        What::Assert(_) | What::Degenerate(_) | What::Visit | What::Trap => Trap,
    }
}

/// A name, what is found, the body with its gap, what is there rightly, and wrongly.
type Case = (&'static str, Kind, &'static str, &'static str, &'static str);

const BAR: &str = "bar.sync 0;";
const WARP: &str = "bar.warp.sync -1;";

#[rustfmt::skip]
const CASES: &[Case] = &[
    // mbarrier objects and copies in bulk.
    ("arrival without a wait", Race, "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [tile+256], 64; bar.sync 0; st.shared.u32 [%rd4], %r3; mbarrier.arrive.shared.b64 %rd12, [tile+256]; @ ld.shared.u32 %r5, [%rd9];", "AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [tile+256], 0; @!%p2 bra AGAIN;", ""),
    ("arrival that orders nothing", Race, "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [tile+256], 64; bar.sync 0; st.shared.u32 [%rd4], %r3; mbarrier.arrive.@.shared.b64 %rd12, [tile+256]; AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [tile+256], 0; @!%p2 bra AGAIN; ld.shared.u32 %r5, [%rd9];", "release.cta", "relaxed.cta"),
    ("object that nobody made", Barrier, "setp.eq.u32 %p1, %r0, 0; @%p1 @ bar.sync 0; mbarrier.arrive.shared.b64 %rd12, [tile+256];", "mbarrier.init.shared.b64 [tile+256], 64;", "st.shared.u64 [tile+256], 1;"),
    ("more arrivals than threads", Barrier, "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [tile+256], @; bar.sync 0; mbarrier.arrive.noComplete.shared.b64 %rd12, [tile+256], 2;", "128", "1"),
    ("copy in bulk without a wait", Race, "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [tile+256], 1; bar.sync 0; @!%p1 bra GO; mbarrier.arrive.expect_tx.shared.b64 %rd12, [tile+256], 256; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [tile+256]; GO: @ ld.shared.u32 %r5, [%rd4];", "AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [tile+256], 0; @!%p2 bra AGAIN;", ""),
    ("copy in bulk over what is read", Race, "st.shared.u32 [%rd4], %r3; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [tile+256], 1; bar.sync 0; ld.shared.u32 %r5, [%rd9]; @ @!%p1 bra GO; mbarrier.arrive.expect_tx.shared.b64 %rd12, [tile+256], 256; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [tile+256]; GO:", BAR, ""),
    ("bytes of a copy in bulk", Misaligned, "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [tile+256], 1; bar.sync 0; @!%p1 bra GO; mbarrier.arrive.expect_tx.shared.b64 %rd12, [tile+256], 16; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], @, [tile+256]; GO:", "16", "8"),
    // Global memory.
    ("one word for all", Race, "st.global.u32 [@], %r3;", "%rd2", "%rd0"),
    ("other warp, no barrier", Race, "st.global.u32 [%rd2], %r3; @ ld.global.u32 %r5, [%rd6];", BAR, ""),
    ("other block, barrier of the block", Race, "st.global.u32 [%rd2], %r3; bar.sync 0; ld.global.u32 %r5, [@];", "%rd6", "%rd7"),
    ("other lane, no barrier of the warp", Race, "st.global.u32 [%rd2], %r3; @ ld.global.u32 %r5, [%rd5];", WARP, ""),
    ("count by load and store", Race, "@", "red.global.add.u32 [%rd0], 1;", "ld.global.u32 %r5, [%rd0]; add.u32 %r5, %r5, 1; st.global.u32 [%rd0], %r5;"),
    ("sum of floats by load and store", Race, "mov.f32 %f1, 0f3f800000; @", "red.global.add.f32 [%rd0], %f1;", "ld.global.f32 %f2, [%rd0]; add.f32 %f2, %f2, %f1; st.global.f32 [%rd0], %f2;"),
    ("atomic and plain store", Race, "red.global.add.u32 [%rd0], 1; @", "red.global.max.u32 [%rd0], 5000;", "st.global.u32 [%rd0], 5000;"),
    ("atomic and plain load", Race, "red.global.add.u32 [%rd0], 1; @ %r5, [%rd0];", "ld.relaxed.gpu.global.u32", "ld.global.u32"),
    ("bytes of one word", Race, "shr.u32 %r5, %r3, @; cvt.u64.u32 %rd10, %r5; add.s64 %rd10, %rd0, %rd10; cvt.u16.u32 %rs1, %r3; st.global.u8 [%rd10], %rs1;", "0", "1"),
    ("halves of one word", Race, "shr.u32 %r5, %r3, @; mul.wide.u32 %rd10, %r5, 2; add.s64 %rd10, %rd0, %rd10; cvt.u16.u32 %rs1, %r3; st.global.u16 [%rd10], %rs1;", "0", "1"),
    ("pairs", Race, "shr.u32 %r5, %r0, @; mul.wide.u32 %rd10, %r5, 8; add.s64 %rd10, %rd0, %rd10; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.v2.u32 [%rd10], {%r0, %r3};", "0", "1"),
    ("in place stencil", Race, "ld.global.u32 %r5, [@]; add.u32 %r5, %r5, %r3; add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5;", "%rd3", "%rd7"),
    ("index without the block", Race, "mul.wide.u32 %rd10, @, 4; add.s64 %rd10, %rd0, %rd10; add.u32 %r5, %r3, 1; st.global.u32 [%rd10], %r5;", "%r3", "%r0"),
    ("read, then written by another", Race, "ld.global.u32 %r5, [%rd6]; @ add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5;", BAR, ""),
    ("written twice", Race, "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 33; @%p1 st.global.u32 [%rd15], 1; @ @%p2 st.global.u32 [%rd15], 2;", BAR, ""),
    ("atomic of the block, from two blocks", Race, "atom.global.@.add.u32 %r5, [%rd0], 1;", "gpu", "cta"),
    ("exchange of the block, from two blocks", Race, "atom.global.@.exch.b32 %r5, [%rd0], %r3;", "sys", "cta"),
    ("atomic of the block on its own word", Race, "atom.global.cta.add.u32 %r5, [@], 1;", "%rd15", "%rd0"),
    ("flag without a fence", Race, "setp.ne.u32 %p1, %r3, 64; @%p1 bra READS; st.global.u32 [%rd0], 9; @ st.relaxed.gpu.global.u32 [%rd0+4], 1; bra.uni END; READS: setp.ne.u32 %p2, %r3, 0; @%p2 bra END; WAIT: ld.relaxed.gpu.global.u32 %r5, [%rd0+4]; setp.eq.u32 %p3, %r5, 0; @%p3 bra WAIT; fence.acq_rel.gpu; ld.global.u32 %r6, [%rd0]; END:", "fence.acq_rel.gpu;", ""),
    ("release as relaxed", Race, "setp.ne.u32 %p1, %r3, 64; @%p1 bra READS; st.global.u32 [%rd0], 9; st.@.gpu.global.u32 [%rd0+4], 1; bra.uni END; READS: setp.ne.u32 %p2, %r3, 0; @%p2 bra END; WAIT: ld.acquire.gpu.global.u32 %r5, [%rd0+4]; setp.eq.u32 %p3, %r5, 0; @%p3 bra WAIT; ld.global.u32 %r6, [%rd0]; END:", "release", "relaxed"),
    ("lock without a fence", Race, "TRY: atom.global.cas.b32 %r5, [%rd0+4], 0, 1; setp.ne.s32 %p1, %r5, 0; @%p1 bra TRY; membar.gl; ld.global.u32 %r6, [%rd0]; add.s32 %r6, %r6, 1; st.global.u32 [%rd0], %r6; @ atom.global.exch.b32 %r5, [%rd0+4], 0;", "membar.gl;", ""),
    ("lock that is not taken", Race, "TRY: atom.global.cas.b32 %r5, [%rd0+4], 0, 1; setp.ne.s32 %p1, %r5, @; @%p1 bra TRY; membar.gl; ld.global.u32 %r6, [%rd0]; add.s32 %r6, %r6, 1; st.global.u32 [%rd0], %r6; membar.gl; atom.global.exch.b32 %r5, [%rd0+4], 0;", "0", "%r5"),
    ("last block without a fence", Race, "st.global.u32 [%rd2], 5; bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 bra END; mov.u64 %rd10, cell; @ atom.global.add.u32 %r5, [%rd10], 1; setp.ne.u32 %p2, %r5, 8; @%p2 bra END; membar.gl; ld.global.u32 %r6, [%rd7]; END:", "membar.gl;", ""),
    ("barrier of the grid without a fence", Race, "setp.eq.u32 %p2, %r0, 5; @%p2 st.global.u32 [%rd2], 5; bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 bra MET; @ red.global.add.u32 [%rd0], 1; LOOK: ld.volatile.global.u32 %r5, [%rd0]; setp.lt.u32 %p3, %r5, 2; @%p3 bra LOOK; membar.gl; MET: bar.sync 0; @%p2 ld.global.u32 %r6, [%rd7];", "membar.gl;", ""),
    // Each thread fences, then the block meets, then one tells: as libraries write it.
    ("last block, fences before the barrier", Race, "st.global.u32 [%rd2], 5; @ bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 bra END; mov.u64 %rd10, cell; atom.global.add.u32 %r5, [%rd10], 1; setp.ne.u32 %p2, %r5, 8; @%p2 bra END; membar.gl; xor.b32 %r6, %r3, 96; mul.wide.u32 %rd11, %r6, 4; add.s64 %rd11, %rd0, %rd11; ld.global.u32 %r7, [%rd11]; END:", "membar.gl;", ""),
    ("barrier of the grid, fences before the block's", Race, "st.global.u32 [%rd2], 5; @ bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 bra MET; mov.u64 %rd10, cell; red.global.add.u32 [%rd10], 1; LOOK: ld.volatile.global.u32 %r5, [%rd10]; setp.lt.u32 %p3, %r5, 9; @%p3 bra LOOK; membar.gl; MET: bar.sync 0; xor.b32 %r6, %r3, 96; mul.wide.u32 %rd11, %r6, 4; add.s64 %rd11, %rd0, %rd11; ld.global.u32 %r7, [%rd11];", "membar.gl;", ""),
    // Shared memory.
    ("cleared by one, counted by all", Race, "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [tile], 0; @ red.shared.add.u32 [tile], 1;", BAR, ""),
    ("tile of the other warp", Race, "st.shared.u32 [%rd4], %r3; @ ld.shared.u32 %r5, [%rd9];", BAR, ""),
    ("tile of the other lane", Race, "st.shared.u32 [%rd4], %r3; @ ld.shared.u32 %r5, [%rd8];", WARP, ""),
    ("tile written again", Race, "st.shared.u32 [%rd4], %r3; bar.sync 0; ld.shared.u32 %r5, [%rd9]; @ add.u32 %r5, %r5, 9; st.shared.u32 [%rd4], %r5;", BAR, ""),
    ("double buffer", Race, "mov.u32 %r5, 0; AGAIN: and.b32 %r6, %r5, @; mul.wide.u32 %rd10, %r6, 256; add.s64 %rd11, %rd4, %rd10; mad.lo.u32 %r7, %r5, 1000, %r3; st.shared.u32 [%rd11], %r7; bar.sync 0; add.s64 %rd12, %rd9, %rd10; ld.shared.u32 %r8, [%rd12]; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4; @%p1 bra AGAIN;", "1", "0"),
    ("steps of a tree without a barrier", Race, "add.u32 %r5, %r3, 1; st.shared.u32 [%rd4], %r5; mov.u32 %r5, 32; bar.sync 0; AGAIN: setp.lt.u32 %p1, %r0, %r5; mul.wide.u32 %rd10, %r5, 4; add.s64 %rd10, %rd4, %rd10; @%p1 ld.shared.u32 %r6, [%rd10]; @%p1 ld.shared.u32 %r7, [%rd4]; add.u32 %r6, %r6, %r7; @%p1 st.shared.u32 [%rd4], %r6; @ shr.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra AGAIN;", BAR, ""),
    ("sum of a warp without its barrier", Race, "st.shared.u32 [%rd4], %r3; bar.warp.sync -1; setp.lt.u32 %p1, %r4, 16; @%p1 ld.shared.u32 %r5, [%rd4+64]; add.u32 %r5, %r5, 1; @%p1 st.shared.u32 [%rd4], %r5; @ setp.lt.u32 %p1, %r4, 8; @%p1 ld.shared.u32 %r5, [%rd4+32];", WARP, ""),
    ("shared count by load and store", Race, "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [tile], 0; bar.sync 0; @", "red.shared.add.u32 [tile], 1;", "ld.shared.u32 %r5, [tile]; add.u32 %r5, %r5, 1; st.shared.u32 [tile], %r5;"),
    ("flag by every thread", Race, "setp.eq.u32 %p1, %r0, @; @%p1 st.shared.u32 [tile], %r3;", "0", "%r0"),
    ("arrives before it writes", Race, "setp.lt.u32 %p1, %r0, 32; @%p1 bra GIVES; bar.sync 1, 64; ld.shared.u32 %r5, [%rd9]; bra.uni END; GIVES: @ END:", "st.shared.u32 [%rd4], %r3; bar.arrive 1, 64;", "bar.arrive 1, 64; st.shared.u32 [%rd4], %r3;"),
    ("barrier of one warp only", Race, "st.shared.u32 [%rd4], %r3; mov.u32 %r5, @; shr.u32 %r6, %r0, 5; add.u32 %r6, %r6, 1; bar.sync %r6, %r5; ld.shared.u32 %r5, [%rd8];", "32", "32; st.shared.u32 [%rd9], %r3"),
    ("readers that nobody waits for", Race, "st.shared.u32 [%rd4], %r3; bar.sync 0; setp.lt.u32 %p1, %r0, 32; @%p1 bra READS; @ st.shared.u32 [%rd9], 7; bra.uni END; READS: ld.shared.u32 %r5, [%rd4]; bar.arrive 1, 64; END:", "bar.sync 1, 64;", ""),
    ("generic address of shared memory", Race, "cvta.shared.u64 %rd10, %rd9; st.shared.u32 [%rd4], %r3; @ ld.u32 %r5, [%rd10];", BAR, ""),
    ("transposed tile", Race, "st.shared.u32 [%rd4], %r3; @ sub.u32 %r5, 63, %r0; mul.wide.u32 %rd10, %r5, 4; mov.u64 %rd11, tile; add.s64 %rd10, %rd11, %rd10; ld.shared.u32 %r6, [%rd10];", BAR, ""),
    // Barriers.
    ("barrier in a branch", Barrier, "setp.lt.u32 %p1, %r0, @; @%p1 bra FEW; bar.sync 0; FEW: st.global.u32 [%rd2], 1;", "0", "7"),
    ("barrier of one side only", Barrier, "setp.lt.u32 %p1, %r0, @; @%p1 bra FEW; bar.sync 0; FEW: mov.u32 %r5, 1; bar.sync 1;", "64", "32"),
    ("barriers of two numbers", Barrier, "shr.u32 %r6, %r0, 5; mov.u32 %r5, 1; @ bar.sync %r5;", "", "add.u32 %r5, %r5, %r6;"),
    ("barrier for more than there are", Barrier, "bar.sync 1, @;", "64", "96"),
    ("barrier 16", Barrier, "mov.u32 %r5, @; bar.sync %r5;", "15", "16"),
    ("barrier for part of a warp", Barrier, "mov.u32 %r5, @; bar.sync 1, %r5;", "64", "40"),
    ("barrier in a loop of unlike lengths", Barrier, "and.b32 %r5, %r0, @; AGAIN: bar.sync 0; sub.u32 %r5, %r5, 1; setp.gt.s32 %p1, %r5, 0; @%p1 bra AGAIN; st.global.u32 [%rd2], 1;", "0", "3"),
    // Memory that nobody has written.
    ("tile beyond what was written", Unset, "st.shared.u32 [%rd4], %r3; bar.sync 0; ld.shared.u32 %r5, [%rd9+@];", "0", "256"),
    ("half of the threads write", Unset, "setp.lt.u32 %p1, %r0, @; @%p1 st.shared.u32 [%rd4], %r3; bar.sync 0; ld.shared.u32 %r5, [%rd9];", "64", "32"),
    ("tile without its halo", Unset, "st.shared.u32 [%rd4], %r3; setp.eq.u32 %p1, %r0, 0; @ bar.sync 0; ld.shared.u32 %r5, [%rd4+4];", "@%p1 st.shared.u32 [tile+256], 1;", ""),
    ("local word", Unset, "st.local.u32 [own], %r3; ld.local.u32 %r5, [own+@];", "0", "4"),
    ("loop over one local word too many", Unset, "st.local.v4.u32 [own], {%r0, %r1, %r2, %r3}; mov.u64 %rd10, own; mov.u32 %r5, 0; AGAIN: ld.local.u32 %r6, [%rd10]; add.s64 %rd10, %rd10, 4; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, @; @%p1 bra AGAIN;", "4", "5"),
    ("shared word by a generic address", Unset, "st.shared.u32 [%rd4], %r3; cvta.shared.u64 %rd10, %rd4; ld.u32 %r5, [%rd10+@];", "0", "256"),
    ("another thread's local memory", Unset, "setp.eq.u32 %p1, %r0, @; @%p1 st.local.u32 [own], 7; mov.u64 %rd10, own; cvta.local.u64 %rd10, %rd10; ld.u32 %r5, [%rd10];", "%r0", "0"),
    ("atomic on an unset word", Race, "setp.eq.u32 %p1, %r0, 40; @%p1 st.shared.u32 [tile], 1; @ red.shared.add.u32 [tile], 1;", BAR, ""),
    // Places that do not exist.
    ("one after the end", Outside, "st.global.u32 [%rd2+@], %r3;", "0", "4"),
    ("one before the beginning", Outside, "setp.gt.s32 %p1, %r3, @; @%p1 ld.global.u32 %r5, [%rd2+-4];", "0", "-1"),
    ("read after the end", Outside, "ld.global.u32 %r5, [%rd3+@];", "0", "4"),
    ("read before the beginning", Outside, "ld.global.u32 %r5, [%rd3+@];", "0", "-4"),
    ("four after the end", Outside, "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+@];", "496", "512"),
    ("byte after the end", Outside, "ld.global.u8 %rs1, [%rd1+@];", "511", "512"),
    ("atomic after the end", Outside, "red.global.add.u32 [%rd0+@], 1;", "508", "512"),
    ("index of another sign", Outside, "@.s32 %rd10, %r3, 4; add.s64 %rd10, %rd1, %rd10; ld.global.u32 %r5, [%rd10];", "mul.wide", "neg.s32 %r3, %r3; mul.wide"),
    ("tile after its end", Outside, "st.shared.u32 [%rd4+@], %r3;", "256", "260"),
    ("tile before its beginning", Outside, "st.shared.u32 [%rd4+@], %r3;", "0", "-4"),
    ("local after its end", Outside, "st.local.u32 [own+@], %r3;", "60", "64"),
    ("local before its beginning", Outside, "mov.u64 %rd10, own; st.local.u32 [%rd10+@], %r3;", "0", "-4"),
    ("no array", Outside, "@ ld.global.u32 %r5, [%rd1];", "", "mov.u64 %rd1, 0;"),
    ("tile as a global address", Outside, "st.shared.u32 [%rd4], %r3; ld.@.u32 %r5, [%rd4];", "shared", "global"),
    ("what is constant is written", ReadOnly, "mov.u64 %rd10, @; setp.eq.u32 %p1, %r3, 0; @%p1 ld.global.u32 %r5, [%rd10]; @%p1 st.global.u32 [%rd10], 7;", "cell", "fixed"),
    // Alignment.
    ("word at half a word", Misaligned, "ld.global.u32 %r5, [%rd1+@];", "4", "2"),
    ("long at a word", Misaligned, "ld.global.u64 %rd10, [%rd1+@];", "8", "4"),
    ("four words at two", Misaligned, "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+@];", "16", "8"),
    ("shared long at a word", Misaligned, "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u64 [tile+@], %rd1;", "8", "4"),
    ("local half at a byte", Misaligned, "st.local.u16 [own+@], %rs0;", "2", "1"),
    ("atomic long at a word", Misaligned, "red.global.add.u64 [%rd0+@], %rd1;", "8", "12"),
    // Lanes.
    ("shuffle after an early return", Lanes, "setp.ge.u32 %p1, %r0, @; @%p1 ret; shfl.sync.down.b32 %r5, %r3, 1, 31, -1;", "64", "20"),
    ("shuffle in a branch", Lanes, "setp.lt.u32 %p1, %r4, @; @%p1 bra FEW; shfl.sync.bfly.b32 %r5, %r3, 1, 31, -1; FEW:", "0", "5"),
    ("mask without the lane", Lanes, "shfl.sync.idx.b32 %r5, %r3, 0, 31, @;", "0xffffffff", "0x7fffffff"),
    ("vote after an early return", Lanes, "setp.ge.u32 %p1, %r0, @; @%p1 ret; vote.sync.ballot.b32 %r5, %p1, -1;", "64", "20"),
    ("match after an early return", Lanes, "setp.ge.u32 %p1, %r0, @; @%p1 ret; match.any.sync.b32 %r5, %r3, -1;", "64", "20"),
    ("reduction after an early return", Lanes, "setp.ge.u32 %p1, %r0, @; @%p1 ret; redux.sync.add.s32 %r5, %r3, -1;", "64", "20"),
    // Lanes that have left need not come (CUDA C++ Programming Guide, "__syncwarp"); others must.
    ("barrier of the warp that some lanes do not come to", Lanes, "setp.ge.u32 %p1, %r0, 40; @%p1 ret; setp.lt.u32 %p2, %r4, 4; @!%p2 bra OTHERS; bar.warp.sync @; OTHERS: bar.sync 0;", "15", "-1"),
    ("value of a lane that is not named", Lanes, "setp.lt.u32 %p1, %r4, 16; @!%p1 bra END; shfl.sync.idx.b32 %r5, %r3, @, 31, 0xffff; END:", "3", "20"),
    ("whole mask on one side", Lanes, "setp.lt.u32 %p1, %r4, 16; mov.u32 %r5, @; @!%p1 bra END; shfl.sync.bfly.b32 %r6, %r3, 1, 31, %r5; END:", "0xffff", "-1"),
    // A half of a word in shared memory that is added to by comparing and swapping the word: the
    // other half is its thread's.
    ("half beside an atomic half", Race, "shl.b32 %r5, %r0, 1; cvt.u64.u32 %rd10, %r5; add.s64 %rd12, %rd11, %rd10; mov.b16 %rs0, 1; st.shared.b16 [%rd12], %rs0; bar.sync 0; and.b32 %r6, %r0, 1; setp.eq.s32 %p1, %r6, 1; @%p1 bra ODD; and.b64 %rd13, %rd12, -4; ld.shared.b32 %r7, [%rd13]; AGAIN: add.u32 %r8, %r7, 1; mov.b32 %r9, %r7; atom.shared.cas.b32 %r7, [%rd13], %r9, %r8; setp.ne.s32 %p2, %r7, %r9; @%p2 bra AGAIN; bra.uni END; ODD: mov.b16 %rs1, 5; st.shared.b16 [%rd12+@], %rs1; END:", "0", "-2"),
    ("half read beside an atomic half", Race, "shl.b32 %r5, %r0, 1; cvt.u64.u32 %rd10, %r5; add.s64 %rd12, %rd11, %rd10; mov.b16 %rs0, 1; st.shared.b16 [%rd12], %rs0; bar.sync 0; and.b32 %r6, %r0, 1; setp.eq.s32 %p1, %r6, 1; @%p1 bra ODD; and.b64 %rd13, %rd12, -4; ld.shared.b32 %r7, [%rd13]; AGAIN: add.u32 %r8, %r7, 1; mov.b32 %r9, %r7; atom.shared.cas.b32 %r7, [%rd13], %r9, %r8; setp.ne.s32 %p2, %r7, %r9; @%p2 bra AGAIN; bra.uni END; ODD: ld.shared.b16 %rs1, [%rd12+@]; END:", "0", "-2"),
    // What does not end, or ends badly.
    ("lock that is not given back", Endless, "TRY: atom.global.cas.b32 %r5, [%rd0], 0, 1; setp.ne.s32 %p1, %r5, 0; @%p1 bra TRY; @", "atom.global.exch.b32 %r5, [%rd0], 0;", ""),
    ("flag that nobody sets", Endless, "setp.eq.u32 %p1, %r3, 100; @%p1 st.volatile.global.u32 [%rd0], @; WAIT: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;", "1", "0"),
    ("loop that does not count", Endless, "mov.u32 %r5, 0; AGAIN: add.u32 %r5, %r5, @; setp.lt.u32 %p1, %r5, 10; @%p1 bra AGAIN;", "1", "0"),
    ("trap", Trap, "setp.gt.u32 %p1, %r3, @; @%p1 trap;", "127", "126"),
];

/// The case with what is in its gap. A guard begins with `@%` or `@!`, and is no gap.
fn filled(body: &str, by: &str) -> String {
    let guarded = body.replace("@%", "\u{1}").replace("@!", "\u{2}");
    guarded.replacen('@', by, 1).replace('\u{1}', "@%").replace('\u{2}', "@!")
}

#[test]
fn no_defect_is_missed_and_no_twin_is_blamed() {
    let mut wrong = Vec::new();
    for (name, expected, body, right, defect) in CASES {
        let found = findings(&kernel(&filled(body, defect)), 2, None);
        if !found.iter().any(|what| kind(what) == *expected) {
            wrong.push(format!("{name}: {expected:?} is missed; found {found:?}"));
        }
        let twin = kernel(&filled(body, right));
        for seed in [None, Some(1), Some(2), Some(3)] {
            let found = findings(&twin, 2, seed);
            if !found.is_empty() {
                wrong.push(format!("{name}, right, seed {seed:?}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(CASES.len() >= 60);
}
