//! `kc gpu`: programs of the CUDA driver on a machine without a GPU, kc itself among them. The
//! libraries for Python that are its clients have tests of their own (`python/tests/without_gpu`).

#[path = "common/gpu.rs"]
mod gpu;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const KC: &str = env!("CARGO_BIN_EXE_kc");

fn kc_gpu(folder: &Path, args: &[&str]) -> Output {
    gpu::library();
    Command::new(KC).arg("gpu").args(args).current_dir(folder).output().expect("kc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The example launches, forward and backward, leave the same arrays as on the host; nothing is
/// found in them.
#[test]
fn kernels_of_kc_run_as_on_the_host() {
    let launches = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/launches");
    let names = ["histogram.json", "raymarch.json", "saxpy.json", "spmv.json", "springs.json"];
    let args = [&["--", KC, "verify", "--devices", "host,cuda"][..], &names].concat();
    let output = kc_gpu(&launches, &args);
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert_eq!(said.matches(", cuda\n").count(), names.len(), "{said}");
    assert!(!errors.contains("error["), "{errors}");
}

#[test]
fn devices_are_as_many_and_as_large_as_was_asked() {
    let output = kc_gpu(Path::new("."), &["--devices", "2", "--arch", "sm_80", "--memory", "4G", "--", KC, "devices"]);
    let said = text(&output.stdout);
    let found = said.lines().filter(|line| line.starts_with("cuda:")).collect::<Vec<_>>();
    assert_eq!(found.len(), 2, "{said}");
    assert!(found.iter().all(|line| line.contains("A100") && line.contains("4.0 GiB, 108 multi")), "{said}");
}

#[test]
fn one_gpu_of_several_is_named() {
    let launches = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/launches");
    let run = |args: &[&str]| {
        let output = kc_gpu(&launches, &[&["--devices", "2", "--", KC], args].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, said) = run(&["verify", "--devices", "host,cuda:1,cuda:0", "saxpy.json"]);
    assert!(code == Some(0) && ["saxpy, cuda:1\n", "saxpy, cuda:0\n"].iter().all(|line| said.contains(line)), "{said}");
    for command in [&["run"][..], &["bench", "--repeats", "1"], &["gradcheck"]] {
        let (code, said) = run(&[command, &["saxpy.json", "--device", "cuda:1"]].concat());
        assert_eq!(code, Some(0), "{command:?}: {said}");
        let (code, said) = run(&[command, &["saxpy.json", "--device", "cuda:2"]].concat());
        let words = "E1104]: the device `cuda:2` is not available: the driver knows no GPU 2, and 2 before it";
        assert!(code != Some(0) && said.contains(words), "{command:?}: {said}");
    }
    for name in ["cuda:", "cuda:x", "cuda:-1", "cuda:99999", "gpu:1"] {
        let (code, said) = run(&["run", "saxpy.json", "--device", name]);
        assert!(code == Some(2) && said.contains("possible values"), "{said}");
    }
}

#[test]
fn the_exit_code_is_the_programs() {
    let code = |args: &[&str]| kc_gpu(Path::new("."), args).status.code();
    assert_eq!(code(&["true"]), Some(0));
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(code(&["no-such-program"]), Some(1));
    assert_eq!(code(&["--devices", "99", "true"]), Some(2));
    assert_eq!(code(&["--arch", "sm_1", "true"]), Some(2));
}

/// Calls by ctypes, as a program of Python may make them.
const CALLS: &str = "
import ctypes, sys
cuda = ctypes.CDLL('libcuda.so.1')
u64, size = ctypes.c_uint64, ctypes.c_size_t
status = cuda.cuInit(0)
if status:
    sys.exit(status)
context, x = ctypes.c_void_p(), u64()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(x), size(400))
";

fn program(end: &str, options: &[&str]) -> (Option<i32>, String, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("calls.py"), format!("{CALLS}{end}\n")).expect("a file");
    let output = kc_gpu(folder.path(), &[options, &["--report", "report.json", "calls.py"]].concat());
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap_or_default();
    (output.status.code(), text(&output.stderr), serde_json::from_str(&report).unwrap_or_default())
}

fn codes(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn leaks_are_told_where_they_are_asked_for() {
    let (code, said, report) = program("", &[]);
    assert_eq!((code, codes(&report)), (Some(0), vec![]), "{said}");
    let (code, said, report) = program("", &["--checks", "leaks"]);
    assert_eq!((code, codes(&report)), (Some(1), vec!["E1125"]), "{said}");
    assert!(said.contains("the 400 bytes that `cuMemAlloc_v2` gave"), "{said}");
    let (code, said, report) = program("cuda.cuMemFree_v2(x)", &["--checks", "leaks"]);
    assert_eq!((code, codes(&report)), (Some(0), vec![]), "{said}");
}

/// What a program finds stays, however it ends.
#[test]
fn findings_outlive_the_program() {
    let twice = "cuda.cuMemFree_v2(x)\ncuda.cuMemFree_v2(x)\n";
    let (code, said, report) = program(twice, &[]);
    assert_eq!((code, codes(&report)), (Some(1), vec!["E1124"]), "{said}");
    let (code, _, report) = program(&format!("{twice}import os\nos._exit(0)"), &[]);
    assert_eq!((code, codes(&report)), (Some(1), vec!["E1124"]));
    let (code, _, report) = program(&format!("{twice}import os\nos.abort()"), &[]);
    assert_eq!((code, codes(&report)), (Some(134), vec!["E1124"]));
}

#[test]
fn a_fork_and_wrong_settings_are_told_in_words() {
    let (code, said, _) =
        program("import os\nif os.fork() == 0:\n    os._exit(cuda.cuMemFree_v2(x))\nsys.exit(os.wait()[1] >> 8)", &[]);
    assert!(code == Some(3) && said.contains("forked after `cuInit`"), "{code:?} {said}");
    let (code, said, _) = program("", &["--checks", "racing"]);
    assert!(code == Some(1) && said.contains("`racing` is no check; there are races, uninitialised, leaks"), "{said}");
    let (code, said, _) = program("", &["--memory", "lots"]);
    assert!(code == Some(1) && said.contains("KC_SIM_MEMORY=lots is no number"), "{said}");
}

/// Memory of another device is used after its context lets it be.
#[test]
fn peers_reach_each_other_when_that_is_enabled() {
    let folder = tempfile::tempdir().expect("a folder");
    const COPY: &str = "
two = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(two), 1)
PTX = b'''.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) {
.reg .b32 %r<2>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [x];
mov.u32 %r1, 7;
st.global.u32 [%rd1], %r1;
ret;
}
'''
cuda.cuCtxSetCurrent(two)
if len(sys.argv) > 1:
    assert cuda.cuCtxEnablePeerAccess(context, 0) == 0
    assert cuda.cuCtxEnablePeerAccess(context, 0) == 704
module, k = u64(), u64()
assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(k), module, b'k') == 0
params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(x), ctypes.c_void_p))
sys.exit(cuda.cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, u64(0), params, None) and 5)
";
    std::fs::write(folder.path().join("peers.py"), format!("{CALLS}{COPY}")).expect("a file");
    let output = kc_gpu(folder.path(), &["--devices", "2", "peers.py", "enable"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = kc_gpu(folder.path(), &["--devices", "2", "peers.py"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(5) && said.contains("was not made accessible to device 1"), "{said}");
}

/// Two streams that do not wait for the default one, a copy in the first, and what `{0}` says
/// before a fill of the same bytes in the second.
const STREAMS: &str = "
a, b, event = u64(), u64(), u64()
for stream in (a, b):
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert cuda.cuEventCreate(ctypes.byref(event), 0) == 0
host = ctypes.create_string_buffer(400)
assert cuda.cuMemcpyHtoDAsync_v2(x, host, size(200), a) == 0
{between}
{second}
";

#[test]
fn work_of_streams_has_an_order() {
    let run = |between: &str, second: &str| {
        let text = STREAMS.replace("{between}", between).replace("{second}", second);
        let (code, said, report) = program(&text, &[]);
        let codes: Vec<String> = codes(&report).iter().map(|code| code.to_string()).collect();
        assert_eq!(code == Some(0), codes.is_empty(), "{said}");
        (codes, said)
    };
    let fill = "assert cuda.cuMemsetD32Async(x, 1, size(1), b) == 0";
    let (codes, said) = run("", fill);
    assert_eq!(codes, ["E1126"], "{said}");
    assert!(
        said.contains(
            "`cuMemsetD32Async` (call 9, calls.py:20) writes byte 0 of the 400 bytes that `cuMemAlloc_v2` gave \
             (call 4, calls.py:11), which `cuMemcpyHtoDAsync_v2` (call 8, calls.py:18) writes in another stream"
        ),
        "{said}"
    );
    // The lines of both calls are shown.
    for line in ["cuMemsetD32Async(x, 1, size(1), b) == 0", "cuMemcpyHtoDAsync_v2(x, host, size(200), a) == 0"] {
        assert!(said.contains(&format!("assert cuda.{line}")), "{said}");
    }
    // An event that only one of them knows orders nothing.
    assert_eq!(run("cuda.cuEventRecord(event, b); cuda.cuStreamWaitEvent(a, event, 0)", fill).0, ["E1126"]);
    assert_eq!(run("cuda.cuStreamSynchronize(b)", fill).0, ["E1126"]);
    assert_eq!(run("", "assert cuda.cuMemFreeAsync(x, b) == 0").0, ["E1126"]);
    assert_eq!(run("", "assert cuda.cuMemcpyDtoH_v2(host, x, size(4)) == 0").0, ["E1126"], "the default stream");
    for between in [
        "cuda.cuEventRecord(event, a); cuda.cuStreamWaitEvent(b, event, 0)",
        "cuda.cuEventRecord(event, a); cuda.cuEventSynchronize(event)",
        "cuda.cuStreamSynchronize(a)",
        "cuda.cuCtxSynchronize()",
    ] {
        assert_eq!(run(between, fill).0, [""; 0], "{between}");
        assert_eq!(run(between, "assert cuda.cuMemFreeAsync(x, b) == 0").0, [""; 0], "{between}");
    }
    // Other bytes, the same stream, reads alone.
    assert_eq!(run("", "assert cuda.cuMemsetD32Async(u64(x.value + 200), 1, size(1), b) == 0").0, [""; 0]);
    assert_eq!(run("", "assert cuda.cuMemsetD32Async(x, 1, size(1), a) == 0").0, [""; 0]);
    let reads = "for stream in (a, b): cuda.cuMemcpyDtoHAsync_v2(host, x, size(4), stream)";
    assert_eq!(run("cuda.cuCtxSynchronize()", reads).0, [""; 0]);
}

/// A fill in one stream, a copy of it to pinned memory in another one, and what the host reads.
const DRAWN: &str = "
a, b, event, pinned = u64(), u64(), u64(), u64()
for stream in (a, b):
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert cuda.cuEventCreate(ctypes.byref(event), 0) == 0
assert cuda.cuMemAllocHost_v2(ctypes.byref(pinned), size(400)) == 0
seen = ctypes.cast(pinned.value, ctypes.POINTER(ctypes.c_uint32))
seen[0] = 1
assert cuda.cuMemsetD32_v2(x, 2, size(100)) == 0
cuda.cuCtxSynchronize()
assert cuda.cuMemsetD32Async(x, 3, size(100), a) == 0
{between}
assert cuda.cuMemcpyDtoHAsync_v2(pinned, x, size(400), b) == 0
{before}
print('seen', seen[0])
";

/// With a seed streams run in another order, and when they are waited for.
#[test]
fn a_seed_draws_the_order_of_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = |between: &str, before: &str| -> (u32, Vec<u32>) {
        let rest = DRAWN.replace("{between}", between).replace("{before}", before);
        std::fs::write(folder.path().join("calls.py"), format!("{CALLS}{rest}")).expect("a file");
        let one = |seed: Option<u32>| -> u32 {
            let seed = seed.map(|seed| seed.to_string());
            let options: Vec<&str> = seed.iter().flat_map(|seed| ["--seed", seed]).collect();
            let output = kc_gpu(folder.path(), &[&options[..], &["calls.py"]].concat());
            let said = text(&output.stdout);
            said.trim()
                .strip_prefix("seen ")
                .and_then(|number| number.parse().ok())
                .unwrap_or_else(|| panic!("{output:?}"))
        };
        let mut drawn: Vec<u32> = (0..8).map(|seed| one(Some(seed))).collect();
        drawn.sort_unstable();
        drawn.dedup();
        (one(None), drawn)
    };
    let wait = "cuda.cuEventRecord(event, a); cuda.cuStreamWaitEvent(b, event, 0)";
    let synchronize = "cuda.cuStreamSynchronize(b)";
    // In the order of the calls without a seed; else the copy may come before the fill.
    assert_eq!(seen("", synchronize), (3, vec![2, 3]));
    assert_eq!(seen(wait, synchronize), (3, vec![3]));
    assert_eq!(seen("cuda.cuStreamSynchronize(a)", synchronize), (3, vec![3]));
    // The host reads before it waits.
    assert_eq!(seen(wait, ""), (3, vec![1]));
}

/// A gate by the counters, and a page for people.
#[test]
fn counts_are_a_gate_and_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/launches/saxpy.json");
    let launch = launch.to_string_lossy();
    let run = |options: &[&str]| {
        let output = kc_gpu(folder.path(), &[options, &["--", KC, "run", &launch, "--device", "cuda"]].concat());
        (output.status.code(), text(&output.stderr))
    };
    const SECTORS: &str = "memory_l2_theoretical_sectors_global";
    let (code, said) = run(&["--fail-if", &format!("{SECTORS} > 0")]);
    assert!(code == Some(1) && said.contains("error[E1118]") && said.contains("`saxpy"), "{code:?} {said}");
    let (code, said) = run(&["--fail-if", &format!("{SECTORS} > 1e9"), "--report", "page.html"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&["--fail-if", "no_such_metric > 1"]);
    assert!(code == Some(1) && said.contains("no launch has a metric `no_such_metric`"), "{code:?} {said}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("the page is written");
    for part in ["<h2>Findings</h2>\n<p>None.</p>", "saxpy", "warp instructions", "</html>"] {
        assert!(page.contains(part), "{part} is missing in\n{page}");
    }
    assert!(!page.contains("http"), "the page loads something:\n{page}");
}

/// A kernel that never ends, in a program that handles Ctrl-C as Python does.
#[test]
fn ctrl_c_ends_a_launch() {
    use std::io::{BufRead, BufReader};
    const ENDLESS: &str = "
PTX = b'''.version 7.8
.target sm_80
.address_size 64
.visible .entry k() {
L:
bra L;
}
'''
module, k = u64(), u64()
assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(k), module, b'k') == 0
import os, signal
# Whoever started this may ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
print(os.getpid(), flush=True)
try:
    cuda.cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, 0, u64(0), None, None)
except KeyboardInterrupt:
    sys.exit(9)
sys.exit(8)
";
    gpu::library();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("calls.py"), format!("{CALLS}{ENDLESS}")).expect("a file");
    let mut command = Command::new(KC);
    command.args(["gpu", "--steps", "1000000000000", "calls.py"]).current_dir(folder.path());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("kc starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let process: i32 = line.trim().parse().expect("the number of the process");
    std::thread::sleep(std::time::Duration::from_millis(300));
    // SAFETY: sends a signal to the program that was started.
    assert_eq!(unsafe { libc::kill(process, libc::SIGINT) }, 0);
    let begun = std::time::Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(9));
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}
