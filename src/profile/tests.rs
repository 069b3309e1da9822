use super::*;
use crate::ptx::Space;
use crate::sim::code::Class;
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
        class: Class::Memory,
        branches: false,
        exchanges: false,
        access,
        counts,
    }
}

fn launch(instructions: Vec<Instruction>) -> Measured {
    let form = Form { grid: [4, 1, 1], block: [256, 1, 1], dynamic_shared: 0 };
    let (entry, shared_bytes) = ("k".to_string(), 0);
    Measured { entry, form, shared_bytes, instructions, sectors_read: 10, sectors_written: 2 }
}

/// Rows of the calculator's rule by hand: warps, blocks, registers and shared memory each limit once.
#[test]
fn each_limit_limits() {
    let sm_90 = Limits::of("sm_90").expect("it is listed");
    let found = |threads, registers, shared| {
        let Occupancy { blocks_per_sm, warps_per_sm, limiter, .. } = sm_90.occupancy(threads, registers, shared);
        (blocks_per_sm, warps_per_sm, limiter)
    };
    assert_eq!(found(256, Some(32), 0), (8, 64, "warps"));
    assert_eq!(found(32, Some(32), 0), (32, 32, "blocks"));
    // 40 x 32 registers a warp are 1,280: 12 of the 16,384 of a part, 48 of all, 6 blocks of 8 warps.
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
    let profile = Profile::of(launch(vec![load(7, 10, 320, 40), load(8, 10, 40, 40)]), &occupancy::ALL[4], None);
    let ratio = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
    let value = |name| find(&profile.metrics, name).map(|m| (m.value, m.kind));
    assert_eq!(value(ratio), Some((18.0, Kind::Exact)));
    assert_eq!(value("derived__memory_l2_theoretical_sectors_global_excessive"), Some((280.0, Kind::Exact)));
    assert_eq!(value("smsp__inst_executed.sum"), Some((20.0, Kind::Estimate)));
    assert_eq!(value("dram__bytes_read.sum"), Some((320.0, Kind::Bound)));
    assert_eq!(value("memory_l1_wavefronts_shared"), None);
    assert_eq!(profile.lines.len(), 2);
    // Only the line that wastes is told of.
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
