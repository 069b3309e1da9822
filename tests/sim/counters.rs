//! Are counters what the addresses say? Kernels of a few instructions, whose figures are worked out
//! by hand in the comments, from the rules that docs/simulator.md states: a sector is 32 bytes, a
//! bank of shared memory has 4 and there are 32 of them, accesses of 8 and 16 bytes go by half and
//! quarter warps, lanes keep words of local memory side by side. `lines` is the launch's array,
//! which begins at a multiple of 256.

use kc::profile::{Limits, Profile, Registers, find};
use kc::sim::{self, Checks, Form, How};

/// Short for the names of Nsight Compute.
const NAMES: &[(&str, &str)] = &[
    ("requests ld", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("sectors ld", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("ratio ld", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
    ("% ld", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"),
    ("requests st", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    ("sectors st", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("ratio st", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
    ("% st", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"),
    ("requests atom", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"),
    ("sectors atom", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"),
    ("requests red", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
    ("sectors red", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"),
    ("sectors", "memory_l2_theoretical_sectors_global"),
    ("ideal", "memory_l2_theoretical_sectors_global_ideal"),
    ("excess", "derived__memory_l2_theoretical_sectors_global_excessive"),
    ("waves", "memory_l1_wavefronts_shared"),
    ("waves ideal", "memory_l1_wavefronts_shared_ideal"),
    ("waves excess", "derived__memory_l1_wavefronts_shared_excessive"),
    ("ways", "derived__memory_l1_conflicts_shared_nway"),
    ("% waves", "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct"),
    ("waves ld", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    ("waves st", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    ("conflicts ld", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    ("conflicts st", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
    ("local ld", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"),
    ("local st", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"),
    ("dram read", "dram__bytes_read.sum"),
    ("dram write", "dram__bytes_write.sum"),
    ("warp insts", "smsp__inst_executed.sum"),
    ("thread insts", "smsp__thread_inst_executed.sum"),
    ("thread insts on", "smsp__thread_inst_executed_pred_on.sum"),
    ("lanes", "smsp__thread_inst_executed_per_inst_executed.ratio"),
    ("% uniform", "smsp__sass_average_branch_targets_threads_uniform.pct"),
    ("fadd", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"),
    ("fmul", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"),
    ("ffma", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"),
    ("dadd", "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"),
    ("dfma", "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"),
    ("hmul", "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum"),
    ("integer", "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"),
    ("conversion", "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum"),
];

/// It is not told, as nothing of its kind happened.
const NONE: f64 = -1.0;

struct Case {
    name: &'static str,
    /// Blocks, and threads of each.
    form: (u32, u32),
    body: String,
    expected: &'static [(&'static str, f64)],
}

fn case(name: &'static str, body: impl Into<String>, expected: &'static [(&'static str, f64)]) -> Case {
    Case { name, form: (1, 32), body: body.into(), expected }
}

/// The address `%rd2` in `lines`: so many bytes from the start, and so many for each lane.
fn at(start: u32, stride: u32) -> String {
    format!("mul.wide.u32 %rd2, %r1, {stride}; add.s64 %rd2, %rd2, %rd0; add.s64 %rd2, %rd2, {start};")
}

/// The address `%r2` in shared memory.
fn tile(stride: u32) -> String {
    format!("mov.u32 %r3, tile; mad.lo.u32 %r2, %r1, {stride}, %r3;")
}

fn load(start: u32, stride: u32) -> String {
    at(start, stride) + "ld.global.u32 %r4, [%rd2];"
}

fn shared(stride: u32) -> String {
    tile(stride) + "ld.shared.u32 %r4, [%r2];"
}

/// `%r0` is the thread in its block, `%r1` its lane, `%rd0` the address of `lines`.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 lines) {{
         .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %rd<8>; .reg .f64 %fd<4>;
         .local .align 16 .b8 own[64]; .shared .align 16 .b8 tile[8704];
         ld.param.u64 %rd0, [lines]; mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid;
         {body}
         ret; }}\n"
    )
}

/// Instructions of each warp around a body: the three before it, and `ret`.
const AROUND: f64 = 4.0;

fn measured(text: &str, (blocks, threads): (u32, u32)) -> Profile {
    let parsed = kc::ptx::parse(text).unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let code = sim::decode(&parsed, "k").unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let mut memory = sim::memory(&code);
    let params = memory.give(&vec![0; 1 << 16], 0).to_le_bytes().to_vec();
    let form = Form::new([blocks, 1, 1], [threads, 1, 1], 0);
    let checks = Checks { races: false, uninitialised: false };
    let how = How { checks, counts: true, ..How::default() };
    let outcome = sim::run(&code, &form, params, memory, &how, &mut || true);
    assert!(outcome.findings.is_empty(), "{:?}\n{text}", outcome.findings);
    Profile::of(outcome.measured.expect("counts"), Limits::of("sm_90").expect("it is listed"), Registers::Unknown)
}

#[rustfmt::skip]
fn global() -> Vec<Case> {
    vec![
        // 32 lanes x 4 bytes are 128 bytes from a multiple of 32: 4 sectors, all of whose bytes are
        // asked for.
        case("neighbours", load(0, 4),
            &[("requests ld", 1.0), ("sectors ld", 4.0), ("ratio ld", 4.0), ("% ld", 100.0), ("ideal", 4.0), ("excess", 0.0), ("dram read", 128.0), ("requests st", NONE)]),
        // Bytes 4 to 131 lie in sectors 0 to 4; 128 of 160 bytes.
        case("one word off", load(4, 4), &[("sectors ld", 5.0), ("% ld", 80.0), ("ideal", 4.0), ("excess", 1.0)]),
        // Bytes 0 to 251: 8 sectors, half of each asked for.
        case("every other word", load(0, 8), &[("sectors ld", 8.0), ("ratio ld", 8.0), ("% ld", 50.0), ("excess", 4.0)]),
        // Bytes 0 to 375: sectors 0 to 11, as no gap of 8 bytes skips one; 128 of 384 bytes.
        case("fields of structs of three", load(0, 12), &[("sectors ld", 12.0), ("% ld", 100.0 / 3.0), ("excess", 8.0)]),
        // Rows of 256 bytes: a sector for each lane, 4 bytes of 32.
        case("a column", load(0, 256), &[("sectors ld", 32.0), ("ratio ld", 32.0), ("% ld", 12.5), ("excess", 28.0), ("dram read", 1024.0)]),
        // All at one word: 1 sector, of which 32 x 4 bytes are asked for; nothing beyond the ideal
        // of 128 / 32.
        case("one word for all", load(0, 0), &[("sectors ld", 1.0), ("ratio ld", 1.0), ("% ld", 400.0), ("ideal", 4.0), ("excess", 0.0)]),
        // 32 bytes.
        case("bytes", at(0, 1) + "ld.global.u8 %rs1, [%rd2];", &[("sectors ld", 1.0), ("ideal", 1.0), ("% ld", 100.0)]),
        // Bytes 0 to 125 in 4 sectors; 64 are asked for.
        case("halves, every other one", at(0, 4) + "ld.global.u16 %rs1, [%rd2];", &[("sectors ld", 4.0), ("ideal", 2.0), ("excess", 2.0), ("% ld", 50.0)]),
        // 256 bytes.
        case("doubles", at(0, 8) + "ld.global.f64 %fd1, [%rd2];", &[("requests ld", 1.0), ("sectors ld", 8.0), ("ratio ld", 8.0), ("ideal", 8.0), ("% ld", 100.0)]),
        // 512 bytes in one request.
        case("vectors of four", at(0, 16) + "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd2];", &[("requests ld", 1.0), ("sectors ld", 16.0), ("ideal", 16.0), ("% ld", 100.0)]),
        // 8 of each 16 bytes up to byte 503: 16 sectors, 256 bytes of 512.
        case("vectors of two with gaps", at(0, 16) + "ld.global.v2.u32 {%r4, %r5}, [%rd2];", &[("sectors ld", 16.0), ("ideal", 8.0), ("excess", 8.0), ("% ld", 50.0)]),
        // 16 bytes from byte 16 on: to byte 527, sectors 0 to 16.
        case("vectors of four, half a sector off", at(16, 16) + "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd2];", &[("sectors ld", 17.0), ("ideal", 16.0), ("excess", 1.0)]),
        // A sector for each lane's line of 128 bytes.
        case("a column is stored", at(0, 128) + "st.global.u32 [%rd2], %r1;", &[("requests st", 1.0), ("sectors st", 32.0), ("ratio st", 32.0), ("% st", 12.5), ("dram write", 1024.0), ("dram read", 0.0), ("requests ld", NONE)]),
        // 4 bytes: 1 sector, ideal ceil(4 / 32).
        case("one lane stores", at(0, 4) + "setp.eq.u32 %p1, %r1, 7; @%p1 st.global.u32 [%rd2], %r1;", &[("requests st", 1.0), ("sectors st", 1.0), ("ideal", 1.0), ("% st", 12.5)]),
        // 16 lanes x 4 bytes.
        case("half a warp", at(0, 4) + "setp.lt.u32 %p1, %r1, 16; @%p1 ld.global.u32 %r4, [%rd2];", &[("sectors ld", 2.0), ("ideal", 2.0), ("% ld", 100.0)]),
        // Odd lanes ask for 64 bytes, spread over all 4 sectors.
        case("odd lanes", at(0, 4) + "and.b32 %r4, %r1, 1; setp.ne.u32 %p1, %r4, 0; @%p1 ld.global.u32 %r4, [%rd2];", &[("sectors ld", 4.0), ("ideal", 2.0), ("excess", 2.0), ("% ld", 50.0)]),
        // An access that no lane makes is none.
        case("nobody", at(0, 4) + "setp.gt.u32 %p1, %r1, 40; @%p1 ld.global.u32 %r4, [%rd2];", &[("requests ld", NONE), ("sectors", NONE), ("dram read", 0.0)]),
        // 4 + 32 sectors in 2 requests; 256 of 36 x 32 bytes; the first 4 sectors are 4 of the
        // columns' rows 0, of which sector 0 is shared: 35.
        case("rows and columns", load(0, 4) + &load(0, 256), &[("requests ld", 2.0), ("sectors ld", 36.0), ("ratio ld", 18.0), ("% ld", 25600.0 / 1152.0), ("ideal", 8.0), ("excess", 28.0), ("dram read", 35.0 * 32.0)]),
        // A warp of 32 lanes and one of 8, both at the start: 4 sectors and 1; ideal 4 and ceil(32
        // / 32).
        Case { form: (1, 40), ..case("a short warp", load(0, 4), &[("requests ld", 2.0), ("sectors ld", 5.0), ("ratio ld", 2.5), ("ideal", 5.0), ("dram read", 128.0)]) },
        // 2 blocks x 2 warps, each with 128 bytes of its own: 16 sectors.
        Case { form: (2, 64), ..case("blocks side by side", "mov.u32 %r4, %ctaid.x; mad.lo.u32 %r1, %r4, 64, %r0;".to_string() + &load(0, 4), &[("requests ld", 4.0), ("sectors ld", 16.0), ("ratio ld", 4.0), ("dram read", 512.0)]) },
        // 3 blocks ask for the same 4 sectors: DRAM gives them once.
        Case { form: (3, 32), ..case("blocks at one place", load(0, 4), &[("requests ld", 3.0), ("sectors ld", 12.0), ("dram read", 128.0)]) },
        // A generic address of global memory, and a load through the read-only cache.
        case("generic and read-only", at(0, 4) + "ld.u32 %r4, [%rd2]; ld.global.nc.u32 %r5, [%rd2+128];", &[("requests ld", 2.0), ("sectors ld", 8.0), ("dram read", 256.0)]),
        // 1 sector for all 32 sums at one word; 4 sectors for those of neighbours.
        case("sums", at(0, 4) + "red.global.add.u32 [%rd0], 1; red.global.add.u32 [%rd2], 1;", &[("requests red", 2.0), ("sectors red", 5.0), ("requests atom", NONE), ("requests st", NONE), ("requests ld", NONE)]),
        // Doubles, whose old values are asked for: 256 bytes.
        case("atomics", at(0, 8) + "mov.u64 %rd3, 1; atom.global.add.u64 %rd4, [%rd2], %rd3;", &[("requests atom", 1.0), ("sectors atom", 8.0), ("sectors", 8.0), ("ideal", 8.0), ("requests red", NONE)]),
    ]
}

#[rustfmt::skip]
fn shared_and_local() -> Vec<Case> {
    vec![
        // A word in each of the 32 banks.
        case("shared neighbours", shared(4), &[("waves", 1.0), ("waves ideal", 1.0), ("ways", 1.0), ("conflicts ld", 0.0), ("% waves", 100.0), ("sectors", NONE)]),
        // Words 0, 2, .. 62: two of each even bank.
        case("shared, every other word", shared(8), &[("waves", 2.0), ("waves ideal", 1.0), ("waves excess", 1.0), ("ways", 2.0), ("conflicts ld", 1.0), ("% waves", 50.0)]),
        // Words 0, 32, 64, ..: all of bank 0. 128 of 32 x 128 bytes.
        case("a shared column", shared(128), &[("waves", 32.0), ("conflicts ld", 31.0), ("% waves", 3.125), ("waves ld", 32.0)]),
        // Words 0, 33, 66, ..: bank l for lane l.
        case("a padded column", shared(132), &[("waves", 1.0), ("conflicts ld", 0.0), ("% waves", 100.0)]),
        // One word goes to all.
        case("a shared word for all", shared(0), &[("waves", 1.0), ("waves ideal", 1.0), ("% waves", 100.0)]),
        // Words 0, 4, .., 124: four of each fourth bank.
        case("shared stores", tile(16) + "st.shared.u32 [%r2], %r1;", &[("waves", 4.0), ("waves st", 4.0), ("conflicts st", 3.0), ("waves ld", NONE)]),
        // 16 doubles of a half warp take the 32 banks: a pass for each half.
        case("shared doubles", tile(8) + "ld.shared.f64 %fd1, [%r2];", &[("waves", 2.0), ("waves ideal", 2.0), ("ways", 2.0), ("conflicts ld", 0.0), ("% waves", 100.0)]),
        // Rows of 32 doubles are 64 words: all in banks 0 and 1, 16 passes for each half. 256 of 32
        // x 128 bytes.
        case("a column of doubles", tile(256) + "ld.shared.f64 %fd1, [%r2];", &[("waves", 32.0), ("waves ideal", 2.0), ("conflicts ld", 30.0), ("% waves", 6.25)]),
        // Rows of 33: banks 2 l and 2 l + 1 modulo 32, without conflict in a half.
        case("a padded column of doubles", tile(264) + "ld.shared.f64 %fd1, [%r2];", &[("waves", 2.0), ("conflicts ld", 0.0), ("% waves", 100.0)]),
        // 8 vectors of a quarter warp take the 32 banks.
        case("shared vectors", tile(16) + "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];", &[("waves", 4.0), ("waves ideal", 4.0), ("% waves", 100.0)]),
        // 32 bytes are 8 words: one pass that gives 32 of 128 bytes.
        case("shared bytes", tile(1) + "ld.shared.u8 %rs1, [%r2];", &[("waves", 1.0), ("% waves", 25.0)]),
        // A row is stored in 1 pass, a column read in 32.
        case("a transposition", tile(4) + "st.shared.u32 [%r2], %r1;" + &shared(128), &[("waves", 33.0), ("waves ideal", 2.0), ("waves excess", 31.0), ("ways", 16.5), ("conflicts ld", 31.0), ("conflicts st", 0.0)]),
        // The same words by generic addresses.
        case("generic and shared", tile(8) + "cvt.u64.u32 %rd3, %r2; cvta.shared.u64 %rd3, %rd3; ld.u32 %r4, [%rd3];", &[("waves", 2.0), ("conflicts ld", 1.0), ("sectors", NONE)]),
        // Atomics of shared memory touch no sector of global memory: words 0, 2, .. in 2 passes.
        case("shared atomics", tile(8) + "atom.shared.add.u32 %r4, [%r2], 1; red.shared.add.u32 [%r2], 1;", &[("waves", 4.0), ("waves ideal", 2.0), ("sectors", NONE), ("requests atom", NONE), ("requests red", NONE), ("dram write", 0.0)]),
        // Two warps of a block, each in one pass.
        Case { form: (1, 64), ..case("shared memory of two warps", "mov.u32 %r1, %r0;".to_string() + &shared(4), &[("waves", 2.0), ("waves ideal", 2.0), ("ways", 1.0)]) },
        // The word of 32 lanes: 128 bytes; a vector of four: four times that.
        case("local memory", "st.local.u32 [own], %r1; ld.local.v4.u32 {%r4, %r5, %r6, %r7}, [own];", &[("local st", 4.0), ("local ld", 16.0), ("sectors", NONE), ("requests st", NONE)]),
        // Lanes 0, 8, 16 and 24: each in a sector of its own, which has words of 8 lanes.
        case("local memory of every eighth lane", "and.b32 %r4, %r1, 7; setp.eq.u32 %p1, %r4, 0; @%p1 st.local.u32 [own], %r1;", &[("local st", 4.0)]),
        // Lane l at word l % 4: a sector holds one word of 8 lanes, so 4 words x 4 groups.
        case("local memory at indices of lanes", "and.b32 %r4, %r1, 3; shl.b32 %r4, %r4, 2; mov.u32 %r5, own; add.u32 %r4, %r4, %r5; st.local.u32 [%r4], %r1;", &[("local st", 16.0)]),
    ]
}

#[rustfmt::skip]
fn control_and_arithmetic() -> Vec<Case> {
    vec![
        // `setp`, the branch, `add` of 27 lanes, `add` of 32. The guard leaves 5 lanes of the
        // branch on. The one branch parts lanes.
        case("lanes part", "setp.lt.u32 %p1, %r1, 5; @%p1 bra FEW; add.u32 %r4, %r1, 1; FEW: add.u32 %r5, %r1, 1;",
            &[("warp insts", AROUND + 4.0), ("thread insts", 32.0 * (AROUND + 3.0) + 27.0), ("thread insts on", 32.0 * (AROUND + 2.0) + 5.0 + 27.0), ("lanes", (32.0 * 7.0 + 27.0) / 8.0), ("% uniform", 0.0)]),
        // All lanes go one way: no `add`.
        case("lanes stay together", "setp.lt.u32 %p1, %r1, 50; @%p1 bra ALL; add.u32 %r4, %r1, 1; ALL: add.u32 %r5, %r1, 1;",
            &[("warp insts", AROUND + 3.0), ("lanes", 32.0), ("% uniform", 100.0)]),
        // Lane l goes round l + 1 times: 32 rounds of 3 instructions with 32, 31, .. 1 lanes, 528
        // in all. The branch keeps lanes together in the last round alone. Before it `mov`. Lanes
        // that have only to leave do so at once: `ret` 32 times, of a lane each.
        case("loops of different length", "mov.u32 %r4, 0; AGAIN: add.u32 %r4, %r4, 1; setp.le.u32 %p1, %r4, %r1; @%p1 bra AGAIN;",
            &[("warp insts", AROUND + 1.0 + 96.0 + 31.0), ("thread insts", 32.0 * (AROUND + 1.0) + 3.0 * 528.0), ("% uniform", 100.0 / 32.0)]),
        // Ten rounds of all lanes: of 10 branches none parts them.
        case("a loop of all", "mov.u32 %r4, 0; AGAIN: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 10; @%p1 bra AGAIN;",
            &[("warp insts", AROUND + 1.0 + 30.0), ("lanes", 32.0), ("% uniform", 100.0)]),
        // `and`, `setp`, the branch; `add`, `bra.uni` of 16 lanes; `sub` of 16. One branch of two
        // parts lanes, and each side leaves for itself.
        case("both sides", "and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra EVEN; add.u32 %r5, %r1, 1; bra.uni MEET; EVEN: sub.u32 %r5, %r1, 1; MEET:",
            &[("warp insts", AROUND + 6.0 + 1.0), ("thread insts", 32.0 * (AROUND + 3.0) + 48.0), ("% uniform", 50.0)]),
        // `and`, `setp` and a branch, where 8 lanes go; three targets for the others, 8 lanes each:
        // `add`, and `bra.uni` for two of them. Of the first branch, the switch and two `bra.uni`,
        // two part lanes. Four sides leave.
        case("a switch", "and.b32 %r4, %r1, 3; T: .branchtargets A, B, C; setp.eq.u32 %p1, %r4, 3; @%p1 bra END; brx.idx %r4, T; A: add.u32 %r5, %r1, 1; bra.uni END; B: add.u32 %r5, %r1, 2; bra.uni END; C: add.u32 %r5, %r1, 3; END:",
            &[("warp insts", AROUND + 4.0 + 5.0 + 3.0), ("thread insts", 32.0 * (AROUND + 3.0) + 24.0 + 5.0 * 8.0), ("% uniform", 50.0)]),
        // 2 fused products, a sum, a product of float32; a sum and a fused one of float64; a pair
        // of halves. Each for 32 lanes.
        case("arithmetic of floats", "fma.rn.f32 %f1, %f2, %f3, %f1; mad.rn.f32 %f1, %f2, %f3, %f1; sub.f32 %f1, %f1, %f2; mul.f32 %f1, %f1, %f2; add.f64 %fd1, %fd1, %fd2; fma.rn.f64 %fd1, %fd1, %fd2, %fd1; mul.f16x2 %r4, %r5, %r6;",
            &[("ffma", 64.0), ("fadd", 32.0), ("fmul", 32.0), ("dadd", 32.0), ("dfma", 32.0), ("hmul", 32.0), ("integer", NONE)]),
        // Of 3 integer operations one is for 4 lanes; two conversions.
        case("integers and conversions", "setp.lt.u32 %p1, %r1, 4; add.u32 %r4, %r1, %r1; @%p1 shl.b32 %r4, %r4, 2; cvt.rn.f32.u32 %f1, %r4; cvt.u64.u32 %rd3, %r4;",
            &[("integer", 32.0 + 32.0 + 4.0), ("conversion", 64.0), ("warp insts", AROUND + 5.0), ("thread insts on", 32.0 * (AROUND + 4.0) + 4.0)]),
    ]
}

#[test]
fn counters_of_fifty_kernels_are_those_of_their_addresses() {
    let all: Vec<Case> = global().into_iter().chain(shared_and_local()).chain(control_and_arithmetic()).collect();
    assert_eq!(all.len(), 50);
    let mut wrong = Vec::new();
    for case in &all {
        let profile = measured(&kernel(&case.body), case.form);
        for &(short, expected) in case.expected {
            let name = NAMES.iter().find(|(key, _)| *key == short).unwrap_or_else(|| panic!("{short}")).1;
            let found = find(&profile.metrics, name).map_or(NONE, |metric| metric.value);
            if (found - expected).abs() > 1e-9 * expected.abs() {
                wrong.push(format!("{}: {name} is {found}, and {expected} by hand", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
