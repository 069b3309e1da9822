//! What threads of a warp tell each other: by the instructions for it, on every architecture, and
//! without shared memory.

use std::path::Path;
use std::process::Command;

mod common;

const PROGRAM: &str = r#"import warp as wp

@wp.kernel
def asks(x: wp.array(dtype=float), at: wp.array(dtype=int), y: wp.array(dtype=float), masks: wp.array2d(dtype=wp.uint32)):
    i = wp.tid()
    v = x[i]
    v += wp.shuffle_xor(v, 16)
    a = wp.shuffle_up(v, 1) + wp.shuffle_down(v, 2)
    b = wp.shuffle(wp.vec2d(wp.float64(a), wp.float64(v)), at[i])
    h = wp.shuffle_xor(wp.float16(v), 3)
    masks[i, 0] = wp.ballot(v > 0.0)
    masks[i, 1] = wp.match(at[i])
    masks[i, 2] = wp.match(wp.int64(at[i]))
    y[i] = a * float(b[0] + b[1]) + float(h)

@wp.kernel
def sums(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    for k in range(5):
        v += wp.shuffle_xor(v, 16 >> k)
    parts = wp.zeros(shape=32, dtype=float, storage="shared")
    if wp.lane() % 32 == 0:
        parts[wp.lane() // 32] = v
    wp.sync()
    w = parts[wp.lane() % 32]
    for k in range(5):
        w += wp.shuffle_xor(w, 16 >> k)
    if wp.lane() == 0:
        y[i // wp.block_dim()] = w
"#;

fn made(folder: &Path, kernel: &str, threads: &str, ending: &str, more: &[&str]) -> String {
    std::fs::write(folder.join("k.py"), PROGRAM).expect("the folder is writable");
    let file = format!("k.{ending}");
    let output = Command::new(env!("CARGO_BIN_EXE_kc"))
        .args(["compile", "k.py", "--kernel", kernel, "--block-dim", threads, "-o", &file])
        .args(more)
        .current_dir(folder)
        .output()
        .expect("kc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(folder.join(file)).expect("kc wrote it")
}

/// The text of an entry.
fn entry<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(name).expect("the entry is there");
    let rest = &text[start..];
    rest.find("\n}").map_or(rest, |end| &rest[..end])
}

#[test]
fn ptx_has_the_instructions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for threads in ["20", "32", "80", "128"] {
        for arch in common::ARCHITECTURES {
            let text = made(folder.path(), "asks", threads, "ptx", &["--arch", arch]);
            common::assert_ptx(&text, arch);
            assert!(text.contains(&format!(".reqntid {threads}")), "{text}");
            let forward = entry(&text, "asks_cuda_kernel_forward");
            let idx = forward.matches("shfl.sync.idx.b32").count();
            assert!(!text.contains(".shared"), "{text}");
            assert_eq!(forward.matches("shfl.sync.up.b32").count(), 1, "{forward}");
            assert_eq!(forward.matches("vote.sync.ballot.b32").count(), 1, "{forward}");
            assert_eq!(forward.matches("match.any.sync.b32").count(), 1, "{forward}");
            assert_eq!(forward.matches("match.any.sync.b64").count(), 1, "{forward}");
            // Two numbers of 64 bits. Where a warp has fewer threads, whom `down` and `xor` name
            // may not be there.
            let whole = ["32", "128"].contains(&threads);
            assert_eq!(idx, if whole { 4 } else { 7 }, "{forward}");
            assert_eq!(forward.matches("shfl.sync.bfly.b32").count(), if whole { 2 } else { 0 }, "{forward}");
            assert_eq!(forward.matches("shfl.sync.down.b32").count(), if whole { 1 } else { 0 }, "{forward}");
            // So are sums of adjoints: by the way back, and one thread after the other.
            let backward = entry(&text, "asks_cuda_kernel_backward");
            assert!(backward.matches("shfl.sync").count() > forward.matches("shfl.sync").count(), "{backward}");
        }
    }
}

#[test]
fn cuda_text_has_the_functions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for threads in ["20", "80", "128"] {
        let text = made(folder.path(), "asks", threads, "cu", &[]);
        for arch in common::ARCHITECTURES {
            common::assert_cuda(&text, arch);
        }
        assert!(!text.contains("__shared__"), "{text}");
        for name in ["__shfl_up_sync", "warp_shuffle(", "__ballot_sync", "__match_any_sync"] {
            assert!(entry(&text, "asks_cuda_kernel_forward").contains(name), "{name}: {text}");
        }
        assert!(text.contains(&format!("__launch_bounds__({threads})")), "{text}");
    }
}

/// Each thread has its numbers in registers; what some of them set at places of their own, they set
/// themselves.
#[test]
fn sums_of_warps_need_one_array() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = made(folder.path(), "sums", "128", "cu", &[]);
    let forward = entry(&text, "sums_cuda_kernel_forward");
    assert_eq!(forward.matches("__shared__").count(), 1, "{forward}");
    assert_eq!(forward.matches("__shfl_xor_sync").count(), 2, "{forward}");
    assert!(forward.contains("if ((int)threadIdx.x % 32 == 0) parts"), "{forward}");
    common::assert_cuda(&text, "sm_90");
}

/// Transposes, products, histograms and sweeps in shared memory are no work of one thread.
#[test]
fn all_threads_work_in_shared_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/shared_memory.py");
    let text = folder.path().join("k.cu");
    let output = Command::new(env!("CARGO_BIN_EXE_kc"))
        .args(["compile", "--block-dim", "64", "--emit", "cuda", "-o"])
        .args([&text, &program])
        .output()
        .expect("kc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(text).expect("kc wrote it");
    let by_all = [
        "halving",
        "shifted",
        "interleaved",
        "odd",
        "folded",
        "rows_of_two",
        "red_black",
        "red_black_sums",
        "odd_even_sort",
        "transposed",
        "product",
        "reversed",
        "histogram",
        "strided",
        "scan",
    ];
    for kernel in by_all {
        let forward = entry(&text, &format!(" {kernel}_cuda_kernel_forward("));
        assert!(!forward.contains("threadIdx.x == 0"), "{forward}");
    }
    // A histogram of integers adds by atomics, and sums of floats to one element keep their order.
    assert!(entry(&text, " histogram_cuda_kernel_forward(").contains("atomicAdd(&s["));
    assert!(entry(&text, " scatter_behind_read_cuda_kernel_forward(").contains("threadIdx.x == 0"));
}
