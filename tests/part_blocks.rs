//! The last block of a launch may have fewer threads than the others: what they do together is of
//! these. The right values are worked out by hand; Warp gives the same on its CPU, with
//! `wp.config.enable_cpu_blocks`.

use std::process::{Command, Output};

use tempfile::TempDir;

const KERNELS: &str = r#"import warp as wp


@wp.kernel
def sums(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    s = wp.tile_sum(wp.tile(v))
    y[i] = s[0]


@wp.func
def doubled(v: float):
    return wp.untile(wp.tile(v) * 2.0)


@wp.kernel
def several(x: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    v = x[i]
    t = wp.tile(v)
    y[i, 0] = wp.tile_min(t)[0]
    y[i, 1] = wp.tile_max(t)[0]
    y[i, 2] = float(wp.block_dim())
    y[i, 3] = doubled(v)
    y[i, 4] = wp.untile(wp.tile_scan_inclusive(t))
    y[i, 5] = wp.tile_sum(wp.tile_map(wp.abs, t - t))[0] + float(i // wp.block_dim()) + 0.5 * float(i % wp.block_dim())


@wp.kernel
def shared(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.zeros(shape=4, dtype=float, storage="shared")
    s[wp.lane()] = x[i]
    wp.sync()
    if wp.lane() == 0:
        y[i] = s[0] + s[1] + s[2] + s[3]


@wp.kernel
def loaded(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, offset=i // 4 * 4)
    y[i] = wp.tile_sum(t)[0]


@wp.kernel
def counted(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.tile_stack(capacity=4, dtype=float)
    wp.tile_stack_push(s, x[i], x[i] > 1.5)
    y[i] = float(wp.tile_stack_count(s))


@wp.kernel
def mixed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    t = wp.tile(v) + wp.tile_load(x, shape=4)
    y[i] = wp.untile(t)


@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    v = x[i, j]
    y[i, j] = wp.tile_sum(wp.tile(v))[0]
"#;

const DEVICES: [&str; 3] = ["host", "interp", "sim"];

fn run(folder: &TempDir, kernel: &str, args: &str) -> (Option<i32>, String) {
    std::fs::write(folder.path().join("k.py"), KERNELS).expect("a source");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    command.args(["run", "k.py", "-k", kernel, "--block-dim", "4"]).args(args.split(' ')).current_dir(folder.path());
    let Output { status, stdout, stderr } = command.output().expect("kc starts");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// The numbers of a `.npy` file of `float32`.
fn floats(folder: &TempDir, name: &str) -> Vec<f32> {
    let bytes = std::fs::read(folder.path().join(name)).expect("a file");
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// `x` is 1, 2, 3, ... and `y` is what comes out, with one of each for each thread.
fn result(kernel: &str, threads: usize, device: &str, more: &str) -> Vec<f32> {
    let folder = tempfile::tempdir().expect("a folder");
    let x: Vec<String> = (1..=threads).map(|n| format!("{n}.0")).collect();
    // A list of one is a number.
    let x = if threads == 1 { "ones:1".to_string() } else { x.join(",") };
    let shape = if kernel == "several" { format!("{threads},6") } else { threads.to_string() };
    let args = format!("--dim {threads} --arg x={x} --arg y=zeros:{shape} --device {device} --npy y=y.npy{more}");
    let (code, said) = run(&folder, kernel, &args);
    assert_eq!(code, Some(0), "{kernel} {threads} {device}: {said}");
    floats(&folder, if more.is_empty() { "y.npy" } else { "g.npy" })
}

#[test]
fn sums_are_of_the_threads_that_there_are() {
    for device in DEVICES {
        let ten = [10.0, 10.0, 10.0, 10.0, 26.0, 26.0, 26.0, 26.0, 19.0, 19.0];
        assert_eq!(result("sums", 10, device, ""), ten, "{device}");
        assert_eq!(result("loaded", 10, device, ""), ten, "{device}");
        assert_eq!(result("sums", 9, device, "")[4..], [26.0, 26.0, 26.0, 26.0, 9.0], "{device}");
        assert_eq!(result("sums", 3, device, ""), [6.0; 3], "{device}");
        assert_eq!(result("sums", 1, device, ""), [1.0], "{device}");
        assert_eq!(result("shared", 6, device, ""), [10.0, 0.0, 0.0, 0.0, 11.0, 0.0], "{device}");
        assert_eq!(result("counted", 6, device, ""), [3.0, 3.0, 3.0, 3.0, 2.0, 2.0], "{device}");
    }
}

#[test]
fn all_that_threads_do_together_is_of_these() {
    for device in DEVICES {
        let all = result("several", 6, device, "");
        let rows: Vec<&[f32]> = all.chunks(6).collect();
        assert_eq!(rows[3], [1.0, 4.0, 4.0, 8.0, 10.0, 1.5], "{device}");
        assert_eq!(rows[4], [5.0, 6.0, 4.0, 10.0, 5.0, 1.0], "{device}");
        assert_eq!(rows[5], [5.0, 6.0, 4.0, 12.0, 11.0, 1.5], "{device}");
        let one = result("several", 5, device, "");
        assert_eq!(one[24..], [5.0, 5.0, 4.0, 10.0, 5.0, 1.0], "{device}");
    }
}

#[test]
fn gradients_are_of_these_too() {
    for device in DEVICES {
        let by_x = result("sums", 10, device, " --gradient --npy x.grad=g.npy");
        assert_eq!(by_x, [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 2.0, 2.0], "{device}");
    }
}

#[test]
fn what_makes_no_sense_for_them_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = run(&folder, "mixed", "--dim 6 --arg x=ones:8 --arg y=zeros:8");
    assert!(code == Some(1) && said.contains("E1006") && said.contains("in a block of 2 of 4 threads"), "{said}");
    assert!(said.contains("if i < n: v = x[i]"), "{said}");
    let (code, said) = run(&folder, "mixed", "--dim 8 --arg x=ones:8 --arg y=zeros:8");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&folder, "rows", "--dim 2x6 --arg x=ones:2,6 --arg y=zeros:2,6");
    assert!(code == Some(1) && said.contains("E1006") && said.contains("whole blocks"), "{said}");
}
