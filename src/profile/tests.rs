use super::*;
use crate::ptx::Space;
use crate::sim::code::{Class, Math};
use crate::sim::{Access, AccessKind, Counts, Form, Instruction};

fn load(line: u32, requests: u64, sectors: u64, ideal: u64) -> Instruction {
    let counts = Counts {
        executed: requests,
        threads: 32 * requests,
        threads_on: 32 * requests,
        requests,
        sectors,
        ideal_sectors: ideal,
        bytes: 32 * ideal,
        ..Counts::default()
    };
    let access = Some(Access { space: Space::Global, kind: AccessKind::Load, bytes: 4 });
    Instruction {
        ptx_line: line,
        line: Some(line),
        column: 1,
        class: Class::Memory,
        math: None,
        branches: false,
        exchanges: false,
        access,
        counts,
    }
}

fn launch(instructions: Vec<Instruction>) -> Measured {
    let form = Form::new([4, 1, 1], [256, 1, 1], 0);
    let (entry, shared_bytes) = ("k".to_string(), 0);
    Measured {
        entry,
        form,
        text: None,
        shared_bytes,
        instructions,
        sectors_read: 10,
        sectors_written: 2,
        one_address: 0,
        in_step: 0,
    }
}

/// Rows of the calculator's rule by hand: warps, blocks, registers and shared memory each limit
/// once.
#[test]
fn a_block_has_the_shared_memory_that_kernels_may_take() {
    for limits in crate::profile::occupancy::ALL {
        let arch = crate::codegen::llvm::Arch::from_name(limits.arch).expect("an architecture that kc compiles for");
        assert_eq!(u64::from(limits.shared_per_block), arch.shared, "{}", limits.arch);
    }
}

#[test]
fn each_limit_limits() {
    let sm_90 = Limits::of("sm_90").expect("it is listed");
    let found = |threads, registers, shared| {
        let Occupancy { blocks_per_sm, warps_per_sm, limiter, .. } = sm_90.occupancy(threads, registers, shared);
        (blocks_per_sm, warps_per_sm, limiter)
    };
    assert_eq!(found(256, Some(32), 0), (8, 64, "warps"));
    assert_eq!(found(32, Some(32), 0), (32, 32, "blocks"));
    // 40 x 32 registers a warp are 1,280: 12 of the 16,384 of a part, 48 of all, 6 blocks of 8
    // warps.
    assert_eq!(found(256, Some(40), 0), (6, 48, "registers"));
    // 100 KiB and the KiB of its own: two of 228.
    assert_eq!(found(256, None, 100 << 10), (2, 16, "shared memory"));
    assert_eq!(found(1024, Some(128), 0).2, "none fits");
    assert_eq!(found(256, None, 228 << 10), (0, 0, "none fits"));
    assert_eq!(sm_90.occupancy(256, None, 0).free_registers, 32);
    assert_eq!(Limits::of("sm_89").expect("it is listed").occupancy(1024, Some(32), 0).warps_per_sm, 32);
}

#[test]
fn figures_have_the_names_and_the_trust_that_they_deserve() {
    let profile =
        Profile::of(launch(vec![load(7, 10, 320, 40), load(8, 10, 40, 40)]), &occupancy::ALL[4], Registers::Unknown);
    let ratio = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
    let value = |name| find(&profile.metrics, name).map(|m| (m.value, m.kind));
    assert_eq!(value(ratio), Some((18.0, Kind::Exact)));
    assert_eq!(value("derived__memory_l2_theoretical_sectors_global_excessive"), Some((280.0, Kind::Exact)));
    assert_eq!(value("smsp__inst_executed.sum"), Some((20.0, Kind::Estimate)));
    assert_eq!(value("dram__bytes_read.sum"), Some((320.0, Kind::Bound)));
    assert_eq!(value("memory_l1_wavefronts_shared"), None);
    assert_eq!(profile.lines.len(), 2);
    // Only the line that wastes is reported of.
    assert_eq!(profile.advice.len(), 1);
    assert_eq!((profile.advice[0].line, profile.advice[0].metric), (7, ratio));
    assert!(profile.advice[0].message.contains("32.0 sectors per request, ideal 4.0"), "{}", profile.advice[0].message);
}

#[test]
fn gates_hold_or_fail() {
    let metrics = [Metric { name: "a__b.sum", value: 5.0, kind: Kind::Exact }];
    let verdict = |text: &str| Gate::parse(text).map(|gate| gate.check(&metrics));
    assert_eq!(verdict("a__b.sum > 4"), Ok(Verdict::Fails(5.0)));
    assert_eq!(verdict("a__b.sum>=5.5"), Ok(Verdict::Holds));
    assert_eq!(verdict("a__b.sum <= 5"), Ok(Verdict::Fails(5.0)));
    assert_eq!(verdict("a__b.sum == 4"), Ok(Verdict::Holds));
    assert_eq!(verdict("other > 4"), Ok(Verdict::Unknown));
    for wrong in ["", "a__b.sum", "> 3", "a__b.sum > x", "a b > 1", "a__b.sum > nan", "a > 1 > 2"] {
        assert!(verdict(wrong).is_err(), "{wrong}");
    }
}

fn arithmetic(class: Class, math: Math, warps: u64) -> Instruction {
    let counts = Counts { executed: warps, threads: 32 * warps, threads_on: 32 * warps, ..Counts::default() };
    Instruction { class, math: Some(math), access: None, counts, ..load(9, 0, 0, 0) }
}

/// By hand, on an H100 with 132 multiprocessors of 1.98 GHz: what limits, and the figures of a
/// launch that it limits to.
#[test]
fn the_part_that_is_busy_longest_limits() {
    let gpu = Gpu::of("sm_90").expect("it is listed");
    let roof = |list: &[Instruction], blocks, bytes: f64| {
        let mut metrics = metrics::of(list);
        metrics.push(Metric { name: "dram__bytes_read.sum", value: bytes, kind: Kind::Bound });
        Roofline::of(&metrics, blocks, gpu)
    };
    let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a / b - 1.0).abs() < 1e-9);
    // Fused products alone: each cycle 128 threads of each multiprocessor, two operations each; 4
    // warps to issue: as busy.
    let fused = roof(&[arithmetic(Class::Float32, Math::Fused, 1_000_000)], 132, 1.0);
    assert!(near(fused.most_flops, 2.0 * 128.0 * 132.0 * 1.98e9), "{fused:?}");
    assert_eq!(fused.flops, 64e6);
    // Those of float64 take twice as long.
    let double = roof(&[arithmetic(Class::Float64, Math::Fused, 1_000_000)], 132, 1.0);
    assert_eq!(double.limiter(), Some("float64"));
    assert!(near(double.most_flops, 128.0 * 132.0 * 1.98e9) && near(Some(double.demands[1].busy), 0.5), "{double:?}");
    // A block has one multiprocessor.
    let alone = roof(&[arithmetic(Class::Float64, Math::Fused, 1_000_000)], 1, 1.0);
    assert!(near(alone.most_flops, 128.0 * 1.98e9) && alone.words().contains("1 of 132"), "{}", alone.words());
    // Few operations on many bytes: 3.35 TB/s, an operation for each 8 of them.
    let memory = roof(&[arithmetic(Class::Float32, Math::Add, 1000)], 132, 256_000.0);
    assert_eq!((memory.limiter(), memory.intensity()), (Some("DRAM"), Some(0.125)));
    assert!(near(memory.most_bytes, 3.35e12) && near(memory.most_flops, 3.35e12 / 8.0), "{memory:?}");
    // Nothing of nothing.
    let none = Roofline::of(&[], 1, gpu);
    assert_eq!((none.limiter(), none.most_flops, none.most_bytes), (None, None, None));
    assert!(
        Picture::of(&[("none".to_string(), &none)])
            .is_some_and(|p| p.svg(true).contains("nothing ran") && p.png().is_ok())
    );
}

/// By hand: how long parts of an H100 and an H200 (132 multiprocessors of 1.98 GHz) and of a
/// GeForce RTX 4090 (128 of 2.52 GHz) are busy at least.
#[test]
fn parts_are_busy_so_many_milliseconds() {
    let mut metrics = metrics::of(&[arithmetic(Class::Float32, Math::Fused, 1_000_000_000)]);
    let mut add = |name, value| metrics.push(Metric { name, value, kind: Kind::Exact });
    add("dram__bytes_read.sum", 3e9);
    add("dram__bytes_write.sum", 1e9);
    add("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", 170e6);
    metrics.retain(|metric| metric.name != "memory_l1_wavefronts_shared");
    metrics.push(Metric { name: "memory_l1_wavefronts_shared", value: 1_306.8e6, kind: Kind::Exact });
    let measured = Measured { one_address: 5_000_000, in_step: 20_000_000, ..launch(Vec::new()) };
    let times = Times::all(&metrics, 1_000, &measured);
    // Gigabytes over gigabytes a second; wavefronts, one a cycle; 128 of 32 threads' products, and
    // four warps, a cycle; 170 million sectors, 85 in a nanosecond; a queue of 1.8 ns each.
    let cycles = [132.0 * 1.98e6, 132.0 * 1.98e6, 128.0 * 2.52e6];
    for ((times, bandwidth), cycles) in times.iter().zip([3350.0, 4800.0, 1008.0]).zip(cycles) {
        let warps = 1e9 / (4.0 * cycles);
        let by_hand = [
            ("DRAM", 4e3 / bandwidth),
            ("shared memory", 1_306.8e6 / cycles),
            ("instructions", warps),
            ("float32", warps),
            ("atomics", 2.0),
            ("atomics on one address", 9.0),
        ];
        assert_eq!(times.parts.len(), by_hand.len(), "{}", times.words());
        for (name, milliseconds) in by_hand {
            let found = times.parts.iter().find(|part| part.name == name).map(|part| part.milliseconds);
            assert!(found.is_some_and(|found| (found / milliseconds - 1.0).abs() < 1e-9), "{name}: {}", times.words());
        }
        assert!(times.parts.is_sorted_by(|a, b| a.milliseconds >= b.milliseconds), "{}", times.words());
        assert!((times.in_step.milliseconds / 36.0 - 1.0).abs() < 1e-9, "{}", times.words());
    }
    // 1,306.8 million wavefronts at 261.36 a microsecond.
    let words = times[1].words();
    assert!(
        words.starts_with("at least 9.00 ms on H200: atomics on one address 9.00, shared memory 5.00, "),
        "{words}"
    );
    assert!(words.ends_with("; 36.0 if warps add in step"), "{words}");
}

/// Every architecture has a GPU, whose peaks are those of its datasheet, in TFLOP/s of float32 and
/// of float64.
#[test]
fn peaks_are_the_published_ones() {
    let published = [(8.1, 0.25), (19.5, 9.7), (35.6, 0.56), (82.6, 1.29), (67.0, 34.0), (75.0, 37.0), (104.8, 1.64)];
    assert_eq!(known_architectures(), gpus::ALL.iter().map(|gpu| gpu.arch).collect::<Vec<_>>());
    for (gpu, (float32, float64)) in gpus::ALL.iter().zip(published) {
        let near = |a: f64, b: f64| (a / (b * 1e12) - 1.0).abs() < 0.02;
        assert!(near(gpu.flops32(), float32), "{}: {}", gpu.name, gpu.flops32());
        assert!(near(gpu.flops64(), float64), "{}: {}", gpu.name, gpu.flops64());
    }
}
