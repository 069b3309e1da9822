//! Are counters what Nsight Compute printed on real GPUs? Transposes and a product of matrices of
//! which people published its output: what follows from addresses is equal, wavefronts of loads
//! from shared memory lie within 3 % (a GPU counts lost arbitration too).
//!
//! The matrices are smaller here, in whole blocks: every block of these kernels does the same.

use kc::profile::{Limits, Profile, Registers, find};
use kc::sim::{self, Checks, Form, How};

/// `%r0`, `%r1` are the thread, `%r2`, `%r3` the block, `%rd0` to `%rd2` the matrices.
fn kernel(tile: u32, body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {{
         .reg .pred %p<4>; .reg .b32 %r<24>; .reg .b64 %rd<12>; .reg .f32 %f<4>; .shared .align 16 .b8 tile[{tile}];
         ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u64 %rd2, [c];
         mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y;
         {body}
         ret; }}\n"
    )
}

fn measured(text: &str, matrix: usize, grid: [u32; 3], block: [u32; 3]) -> Profile {
    let parsed = kc::ptx::parse(text).unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let code = sim::decode(&parsed, "k").unwrap_or_else(|error| panic!("{}: {}\n{text}", error.at, error.message));
    let mut memory = sim::memory(&code);
    let params: Vec<u8> = (0..3).flat_map(|_| memory.give(&vec![0; matrix], 0).to_le_bytes()).collect();
    let how = How { checks: Checks { races: true, uninitialised: true }, counts: true, ..How::default() };
    let outcome = sim::run(&code, &Form::new(grid, block, 0), params, memory, &how, &mut || true);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    Profile::of(outcome.measured.expect("counts"), Limits::of("sm_90").expect("it is listed"), Registers::Unknown)
}

/// Figures of the whole launch, of which `part` ran here: ours and those that were published, and
/// how far they may be apart.
fn compare(what: &str, profile: &Profile, part: f64, figures: &[(&str, f64, f64)]) {
    for &(name, published, apart) in figures {
        let found = find(&profile.metrics, name).unwrap_or_else(|| panic!("{what}: no {name}"));
        let ours = if name.ends_with(".sum") { found.value * part } else { found.value };
        let off = (published - ours) / ours;
        // Never more than a GPU counts.
        assert!((0.0..=apart).contains(&off), "{what}: {name} is {ours}, {published} published");
    }
}

const SECTORS_LD: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const SECTORS_ST: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const REQUESTS_LD: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const RATIO_LD: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
const WAVES_LD: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const WAVES_ST: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
const PER_WAVE: &str = "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct";

/// A word for words: stores lose more arbitration than loads.
const STORES: f64 = 0.27;

/// Integers, 1024 x 1024, blocks of 64 x 8, on compute capability 8.9.
#[test]
fn a_transpose_of_integers() {
    let n = 256u32;
    let (grid, block, matrix) = ([n / 64, n / 8, 1], [64, 8, 1], (n * n * 4) as usize);
    let part = f64::from(1024 / n).powi(2);
    let read = format!(
        "mad.lo.u32 %r4, %r2, 64, %r0; mad.lo.u32 %r5, %r3, 8, %r1; mad.lo.u32 %r6, %r5, {n}, %r4;
         mul.wide.u32 %rd3, %r6, 4; add.s64 %rd3, %rd3, %rd0; ld.global.u32 %r7, [%rd3];"
    );
    let plain = format!(
        "{read} mad.lo.u32 %r8, %r4, {n}, %r5; mul.wide.u32 %rd4, %r8, 4; add.s64 %rd4, %rd4, %rd1; st.global.u32 [%rd4], %r7;"
    );
    let profile = measured(&kernel(16, &plain), matrix, grid, block);
    compare("plain", &profile, part, &[(SECTORS_LD, 131_072.0, 0.0), (SECTORS_ST, 1_048_576.0, 0.0)]);
    // Eight rows of 64 in shared memory, from which each warp takes four columns.
    let by_tile = |row: u32| {
        let body = format!(
            "{read} mov.u32 %r9, tile; mad.lo.u32 %r10, %r1, {row}, %r0; mad.lo.u32 %r10, %r10, 4, %r9; st.shared.u32 [%r10], %r7;
             bar.sync 0; mad.lo.u32 %r11, %r1, 64, %r0; and.b32 %r12, %r11, 7; shr.u32 %r13, %r11, 3;
             mad.lo.u32 %r14, %r12, {row}, %r13; mad.lo.u32 %r14, %r14, 4, %r9; ld.shared.u32 %r15, [%r14];
             mad.lo.u32 %r16, %r2, 64, %r13; mad.lo.u32 %r17, %r3, 8, %r12; mad.lo.u32 %r18, %r16, {n}, %r17;
             mul.wide.u32 %rd4, %r18, 4; add.s64 %rd4, %rd4, %rd1; st.global.u32 [%rd4], %r15;"
        );
        measured(&kernel(8 * row * 4, &body), matrix, grid, block)
    };
    let sectors = [(SECTORS_LD, 131_072.0, 0.0), (SECTORS_ST, 131_072.0, 0.0)];
    let (tile, padded) = (by_tile(64), by_tile(66));
    compare("tile", &tile, part, &sectors);
    compare("tile", &tile, part, &[(WAVES_LD, 266_246.0, 0.03), (WAVES_ST, 33_446.0, STORES)]);
    compare("padded by 2", &padded, part, &sectors);
    compare("padded by 2", &padded, part, &[(WAVES_LD, 66_910.0, 0.03), (WAVES_ST, 33_382.0, STORES)]);
}

/// Doubles, 4096 x 4096, blocks of 32 x 32.
#[test]
fn a_transpose_of_doubles() {
    let n = 128u32;
    let (grid, block, matrix) = ([n / 32, n / 32, 1], [32, 32, 1], (n * n * 8) as usize);
    let part = f64::from(4096 / n).powi(2);
    let by_tile = |row: u32| {
        let body = format!(
            "mad.lo.u32 %r4, %r2, 32, %r0; mad.lo.u32 %r5, %r3, 32, %r1; mad.lo.u32 %r6, %r5, {n}, %r4;
             mul.wide.u32 %rd3, %r6, 8; add.s64 %rd3, %rd3, %rd0; ld.global.b64 %rd5, [%rd3];
             mov.u32 %r9, tile; mad.lo.u32 %r10, %r1, {row}, %r0; mad.lo.u32 %r10, %r10, 8, %r9; st.shared.b64 [%r10], %rd5;
             bar.sync 0; mad.lo.u32 %r11, %r0, {row}, %r1; mad.lo.u32 %r11, %r11, 8, %r9; ld.shared.b64 %rd6, [%r11];
             mad.lo.u32 %r12, %r2, 32, %r1; mad.lo.u32 %r13, %r3, 32, %r0; mad.lo.u32 %r14, %r12, {n}, %r13;
             mul.wide.u32 %rd4, %r14, 8; add.s64 %rd4, %rd4, %rd1; st.global.b64 [%rd4], %rd6;"
        );
        measured(&kernel(32 * row * 8, &body), matrix, grid, block)
    };
    let global = [(RATIO_LD, 8.0, 0.0), (REQUESTS_LD, 524_288.0, 0.0)];
    let (tile, padded) = (by_tile(32), by_tile(33));
    compare("tile", &tile, part, &global);
    compare("tile", &tile, part, &[(WAVES_LD, 16_878_697.0, 0.03), (WAVES_ST, 1_321_322.0, STORES)]);
    compare("padded by 1", &padded, part, &global);
    compare("padded by 1", &padded, part, &[(WAVES_LD, 1_048_576.0, 0.03), (WAVES_ST, 1_290_266.0, STORES)]);
    // The profiler prints two digits after the point.
    for (profile, published) in [(&tile, "11.76"), (&padded, "100.00")] {
        let value = find(&profile.metrics, PER_WAVE).expect("shared memory").value;
        assert_eq!(format!("{value:.2}"), published);
    }
}

/// 1024 x 1024 floats in tiles of 16 x 16, on compute capability 8.9.
#[test]
fn a_product_of_matrices() {
    let n = 64u32;
    let (grid, block, matrix) = ([n / 16, n / 16, 1], [16, 16, 1], (n * n * 4) as usize);
    let body = format!(
        "mad.lo.u32 %r4, %r2, 16, %r0; mad.lo.u32 %r5, %r3, 16, %r1; mov.u32 %r6, 0; mov.f32 %f0, 0f00000000;
         mov.u32 %r9, tile; mad.lo.u32 %r10, %r1, 16, %r0; mad.lo.u32 %r10, %r10, 4, %r9;
         mad.lo.u32 %r11, %r1, 64, %r9; mad.lo.u32 %r12, %r0, 4, %r9; add.u32 %r12, %r12, 1024;
         TILES: add.u32 %r13, %r6, %r0; mad.lo.u32 %r13, %r5, {n}, %r13; mul.wide.u32 %rd3, %r13, 4; add.s64 %rd3, %rd3, %rd0;
         ld.global.f32 %f1, [%rd3]; st.shared.f32 [%r10], %f1;
         add.u32 %r14, %r6, %r1; mad.lo.u32 %r14, %r14, {n}, %r4; mul.wide.u32 %rd4, %r14, 4; add.s64 %rd4, %rd4, %rd1;
         ld.global.f32 %f2, [%rd4]; st.shared.f32 [%r10+1024], %f2; bar.sync 0;
         mov.u32 %r15, 0; mov.u32 %r16, %r11; mov.u32 %r17, %r12;
         TERMS: ld.shared.f32 %f1, [%r16]; ld.shared.f32 %f2, [%r17]; fma.rn.f32 %f0, %f1, %f2, %f0;
         add.u32 %r16, %r16, 4; add.u32 %r17, %r17, 64; add.u32 %r15, %r15, 1; setp.lt.u32 %p1, %r15, 16; @%p1 bra TERMS;
         bar.sync 0; add.u32 %r6, %r6, 16; setp.lt.u32 %p2, %r6, {n}; @%p2 bra TILES;
         mad.lo.u32 %r18, %r5, {n}, %r4; mul.wide.u32 %rd5, %r18, 4; add.s64 %rd5, %rd5, %rd2; st.global.f32 [%rd5], %f0;"
    );
    let profile = measured(&kernel(2048, &body), matrix, grid, block);
    let (tiles, elements) = (f64::from(1024 / n).powi(3), f64::from(1024 / n).powi(2));
    compare("product", &profile, tiles, &[(SECTORS_LD, 16_777_216.0, 0.0)]);
    compare("product", &profile, elements, &[(SECTORS_ST, 131_072.0, 0.0)]);
    // A tile's row and column lie in one wavefront each: as many as instructions that store, of
    // which the profiler counted so many.
    compare("product", &profile, tiles, &[(WAVES_ST, 4_194_304.0, 0.0)]);
    let loads = find(&profile.metrics, WAVES_LD).expect("loads").value * tiles;
    // ptxas makes one load of 16 bytes of four of these, for one of the matrices: 41,943,040 were
    // published.
    assert_eq!(loads, 67_108_864.0);
    assert_eq!(loads / 2.0 + loads / 2.0 / 4.0, 41_943_040.0);
}
