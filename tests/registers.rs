//! Without ptxas, registers are reported as a range: does ptxas' own number lie in it? Is the
//! occupancy that follows that of the vendor's rule? One file in four unless `KC_TESTS=all`.

mod common;
#[path = "common/sample.rs"]
mod sample;

use std::path::Path;
use std::process::Command;

use kc::profile::{Limits, Registers};

/// Of the kernels of the examples and of the run and gradient tests, with their gradients: so many
/// of a hundred.
const INSIDE: usize = 95;

#[test]
fn the_range_holds_what_ptxas_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let (mut inside, mut all, mut wide) = (0, 0, Vec::new());
    for source in ["examples", "tests/run", "tests/gradients"] {
        let files = std::fs::read_dir(root.join(source)).expect("a folder").map(|file| file.expect("a file").path());
        let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "py")).collect();
        files.sort();
        for file in sample::sampled(files, 4) {
            let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
            command.args(["compile", "--emit", "ptx", "--grid", "covering", "-o"]).arg(folder.path()).arg(&file);
            command.output().expect("kc runs");
            let made = folder.path().join(file.file_name().expect("a name")).with_extension("ptx");
            let Ok(text) = std::fs::read_to_string(made) else { continue };
            let parsed = kc::ptx::parse(&text).expect("PTX");
            for (entry, registers) in common::registers(&text, "sm_90") {
                let live = kc::ptx::live(&parsed, &entry).expect("a body");
                let Registers::Between(least, most) = Registers::of(live) else { panic!("a range") };
                all += 1;
                inside += usize::from((least..=most).contains(&registers));
                wide.push(f64::from(most) / f64::from(least));
            }
        }
    }
    wide.sort_by(f64::total_cmp);
    println!("{inside} of {all}; in the middle the most is {:.1} times the least", wide[wide.len() / 2]);
    let least = if sample::whole() { 200 } else { 50 };
    assert!(all > least && inside * 100 >= all * INSIDE, "{inside} of {all}");
}

/// Reads launches (major, minor, threads and KiB of a multiprocessor, KiB of a block, bytes that
/// each reserves; threads, registers, shared bytes), and says of each how many blocks the vendor's
/// header makes resident.
const CALCULATOR: &str = r#"
#include <cstddef>
#include <cstdio>
#include "cuda_occupancy.h"

int main() {
    int major, minor, resident, multiprocessor, block, reserved, threads, registers, shared;
    while (scanf("%d %d %d %d %d %d %d %d %d", &major, &minor, &resident, &multiprocessor, &block, &reserved, &threads, &registers, &shared) == 9) {
        cudaOccDeviceProp device = {};
        device.computeMajor = major; device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024; device.maxThreadsPerMultiprocessor = resident;
        device.regsPerBlock = 65536; device.regsPerMultiprocessor = 65536; device.warpSize = 32;
        device.sharedMemPerBlock = 48 << 10; device.sharedMemPerMultiprocessor = multiprocessor << 10; device.numSms = 1;
        device.sharedMemPerBlockOptin = block << 10; device.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes function = {};
        function.maxThreadsPerBlock = 1024; function.numRegs = registers; function.sharedSizeBytes = 0;
        function.partitionedGCConfig = PARTITIONED_GC_OFF; function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        function.maxDynamicSharedSizeBytes = block << 10; function.numBlockBarriers = 1;
        cudaOccDeviceState state = {};
        state.cacheConfig = CACHE_PREFER_NONE; state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult result = {};
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, shared);
        printf("%d\n", error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1 - (int)error);
    }
}
"#;

/// What the CUDA C++ Programming Guide says of each architecture ("Compute Capabilities"): threads
/// and KiB of shared memory of a multiprocessor, KiB of a block, bytes that each block has
/// reserved.
const PUBLISHED: [(u32, u32, [u32; 4]); 7] = [
    (7, 5, [1024, 64, 64, 0]),
    (8, 0, [2048, 164, 163, 1024]),
    (8, 6, [1536, 100, 99, 1024]),
    (8, 9, [1536, 100, 99, 1024]),
    (9, 0, [2048, 228, 227, 1024]),
    (10, 0, [2048, 228, 227, 1024]),
    (12, 0, [1536, 100, 99, 1024]),
];

#[test]
fn occupancy_is_that_of_the_vendors_header() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("calculator.cpp"), folder.path().join("calculator"));
    std::fs::write(&source, CALCULATOR).expect("a source");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_string());
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-w", "-I"]).arg(common::cuda_include()).arg(&source).arg("-o").arg(&program);
    let built = command.output().expect("a C++ compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let threads = [32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 640, 768, 896, 1024];
    let registers = [16, 17, 24, 31, 32, 33, 40, 48, 56, 63, 64, 72, 80, 96, 104, 128, 129, 160, 168, 200, 224, 255];
    let shared = [0, 1, 1000, 1024, 4096, 10_000, 24 << 10, 32 << 10, 48 << 10];
    let mut launches = Vec::new();
    for (major, minor, device) in PUBLISHED {
        for &threads in &threads {
            for &registers in &registers {
                for shared in shared.iter().copied().chain([device[2] << 10, (device[2] << 10) + 1]) {
                    launches.push((major, minor, device, threads, registers, shared));
                }
            }
        }
    }
    let list = folder.path().join("launches");
    let line = |&(major, minor, [a, b, c, d], threads, registers, shared): &(u32, u32, [u32; 4], u32, u32, u32)| {
        format!("{major} {minor} {a} {b} {c} {d} {threads} {registers} {shared}\n")
    };
    std::fs::write(&list, launches.iter().map(line).collect::<String>()).expect("a list");
    let input = std::fs::File::open(&list).expect("the list");
    let said = Command::new(program).stdin(input).output().expect("the calculator runs");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let blocks: Vec<i64> = said.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(blocks.len(), launches.len());
    let mut differ = Vec::new();
    for (launch, theirs) in launches.iter().zip(blocks) {
        let (major, minor, _, threads, registers, shared) = *launch;
        let limits = Limits::of(&format!("sm_{major}{minor}")).expect("it is listed");
        let ours = limits.occupancy(threads, Some(registers), shared).blocks_per_sm;
        if i64::from(ours) != theirs {
            differ.push(format!("{launch:?}: {ours}, {theirs} there"));
        }
    }
    println!("{} launches", launches.len());
    assert!(
        launches.len() >= 18_576 && differ.is_empty(),
        "{} differ: {:#?}",
        differ.len(),
        &differ[..differ.len().min(20)]
    );
}
