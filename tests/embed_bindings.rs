//! Kernels in Rust programs (`--emit rust`) and in C ones: what compiles, what does not, and what
//! memory that says something wrong of itself does to a checked object.

#[path = "common/process.rs"]
mod process;

use std::path::Path;
use std::process::{Command, Output};

use process::run;

const KERNELS: &str = "import warp as wp

@wp.struct
class Body:
    mass: float
    at: wp.vec3

@wp.struct
class Table:
    scale: float
    of: wp.array(dtype=float)

@wp.kernel
def step(bodies: wp.array(dtype=Body), match: wp.array2d(dtype=wp.vec3), table: Table, n: int, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = bodies[i].mass * wp.length(match[i, j]) + table.scale * table.of[j + n]

@wp.kernel
def count(keys: wp.array(dtype=int), bins: wp.array(dtype=int)):
    wp.atomic_add(bins, keys[wp.tid()], 1)
";

const RUST: &str = "mod k;
use k::kc::{Array, ArrayMut, Error};

fn main() -> Result<(), Error> {
    let bodies: Vec<k::Body> = (0..2).map(|n| k::Body { mass: 1.0 + n as f32, at: [0.0; 3] }).collect();
    let points = vec![[3.0f32, 0.0, 4.0]; 6];
    let mut weights = [10.0f32, 20.0, 30.0];
    let mut out = vec![0.0f32; 6];
    let mut gradients = (vec![[0.0f32; 3]; 6], vec![1.0f32; 6]);
    let mut args = k::step_args {
        bodies: Array::new(&bodies, [2])?,
        r#match: Array::new(&points, [2, 3])?.with_gradient(&mut gradients.0)?,
        table: k::Table { scale: 0.5, of: ArrayMut::new(&mut weights, [3])? },
        n: 0,
        out: ArrayMut::new(&mut out, [2, 3])?.with_gradient(&mut gradients.1)?,
    };
    k::step([2, 3], &mut args, 0)?;
    let said = k::step([2, 4], &mut args, 1);
    println!(\"{}\", said.unwrap_err());
    println!(\"{out:?}\");

    let keys: Vec<i32> = (0..100_000).map(|n| n % 7).collect();
    let mut bins = [0i32; 7];
    let mut args = k::count_args { keys: Array::new(&keys, [100_000])?, bins: ArrayMut::new(&mut bins, [7])? };
    k::count([100_000], &mut args, 4)?;
    println!(\"{}\", k::count([usize::MAX], &mut args, 4).unwrap_err());
    println!(\"{bins:?}\");
    println!(\"{}\", Array::new(&keys, [7]).map(|_: Array<i32, 1>| ()).unwrap_err());
    Ok(())
}
";

/// A folder with the kernels, compiled with these options.
fn folder(options: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.py"), KERNELS).expect("a file");
    let compile = ["compile", "k.py", "--emit", "obj,header,rust", "--color", "never"];
    run(Command::new(env!("CARGO_BIN_EXE_kc")).args(compile).args(options).current_dir(folder.path()));
    folder
}

fn rustc(folder: &Path, program: &str) -> Output {
    std::fs::write(folder.join("main.rs"), program).expect("a file");
    let flags =
        ["--edition", "2024", "-D", "warnings", "-C", "link-arg=k.o", "-C", "link-arg=-lm", "main.rs", "-o", "main"];
    Command::new("rustc").args(flags).current_dir(folder).output().expect("rustc")
}

#[test]
fn a_rust_program_calls_kernels_by_slices() {
    let folder = folder(&["--checked"]);
    let built = rustc(folder.path(), RUST);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let said = run(Command::new("./main").current_dir(folder.path()));
    let lines: Vec<&str> = said.lines().collect();
    let [index, out, extents, bins, elements] = lines[..] else { panic!("{said}") };
    assert!(index.starts_with("k.py:16:") && index.contains("which has extent 3, in thread 3"), "{said}");
    assert_eq!(out, "[10.0, 15.0, 20.0, 15.0, 20.0, 25.0]");
    assert_eq!(bins, "[14286, 14286, 14286, 14286, 14286, 14285, 14285]");
    assert_eq!(elements, "the extents are those of 7 elements, and there are 100000");
    assert!(extents.starts_with("extents have at most 31 bits"), "{said}");
}

#[test]
fn rust_refuses_what_does_not_fit() {
    let folder = folder(&["--checked"]);
    assert!(rustc(folder.path(), RUST).status.success());
    const TYPES: &str = "error[E0308]";
    const LAUNCH: &str = "k::step([2, 3], &mut args, 0)?;";
    let misuses: [(&str, &str, &str); 20] = [
        ("Array::new(&bodies, [2])?,\n", "Array::new(&[1.0f64, 2.0], [2])?,\n", TYPES),
        ("Array::new(&points, [2, 3])?", "Array::new(&points, [6])?", TYPES),
        ("k::step([2, 3],", "k::step([6],", TYPES),
        ("ArrayMut::new(&mut out, [2, 3])?", "ArrayMut::new(&out, [2, 3])?", TYPES),
        (
            "ArrayMut::new(&mut weights, [3])?",
            "ArrayMut::new(&mut out, [6])?",
            "cannot borrow `out` as mutable more than once",
        ),
        (
            "ArrayMut::new(&mut weights, [3])?",
            "ArrayMut::new(&mut vec![0.0f32; 3], [3])?",
            "temporary value dropped while borrowed",
        ),
        ("out: ArrayMut::new(&mut out", "out: Array::new(&mut out", TYPES),
        (LAUNCH, "k::count([2], &mut args, 0)?;", TYPES),
        (LAUNCH, "k::step([2i32, 3], &mut args, 0)?;", TYPES),
        (LAUNCH, "k::step([2, 3], &mut args, 0);", "unused `Result` that must be used"),
        (LAUNCH, "out[0] = 1.0; k::step([2, 3], &mut args, 0)?;", "cannot borrow `out` as mutable more than once"),
        (
            LAUNCH,
            "println!(\"{}\", out[0]); k::step([2, 3], &mut args, 0)?;",
            "cannot borrow `out` as immutable because it is also borrowed as mutable",
        ),
        (LAUNCH, "drop(bodies); k::step([2, 3], &mut args, 0)?;", "cannot move out of `bodies` because it is borrowed"),
        (LAUNCH, "let two = args; k::step([2, 3], &mut args, 0)?; drop(two);", "borrow of moved value: `args`"),
        (LAUNCH, "std::thread::spawn(move || k::step([2, 3], &mut args, 0));", "cannot be sent between threads safely"),
        ("n: 0,\n", "", "missing field `n`"),
        ("n: 0,\n", "n: 0, rate: 1.0,\n", "has no field named `rate`"),
        (".with_gradient(&mut gradients.1)?", ".with_gradient(&mut gradients.0)?", TYPES),
        (".with_gradient(&mut gradients.1)?", ".with_gradient(&gradients.1)?", TYPES),
        (
            "keys: Array::new(&keys, [100_000])?",
            "keys: Array::new(&bins, [7])?",
            "cannot borrow `bins` as mutable because it is also borrowed as immutable",
        ),
    ];
    for (right, wrong, words) in misuses {
        assert!(RUST.contains(right), "{right}");
        let built = rustc(folder.path(), &RUST.replacen(right, wrong, 1));
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(!built.status.success() && said.contains(words), "{wrong}: {said}");
    }
}

#[test]
fn without_checks_rust_calls_are_unsafe() {
    let folder = folder(&[]);
    let built = rustc(folder.path(), RUST);
    assert!(!built.status.success());
    assert!(String::from_utf8_lossy(&built.stderr).contains("requires unsafe"));
}

const C: &str = "#include <stdio.h>
#include \"k.h\"
int main(void)
{
    Body bodies[2] = {{1, {0, 0, 0}}, {2, {0, 0, 0}}};
    float match[6][3] = {{3, 0, 4}, {3, 0, 4}, {3, 0, 4}, {3, 0, 4}, {3, 0, 4}, {3, 0, 4}};
    float weights[] = {10, 20, 30}, out[6] = {0};
    const int64_t of_weights[] = {3}, extents[] = {2, 3};
    kc_launch_bounds launch;
    kc_status status = {0};
    step_args args = {0};
    args.bodies = step_bodies((const Body *)bodies, 2);
    args.match = step_match(match, 2, 3);
    args.table.scale = 0.5f;
    kc_array_of(&args.table.of, weights, sizeof *weights, 1, of_weights);
    args.out = step_out(out, 2, 3);
    kc_launch_of(&launch, 2, extents);
    step_cpu_launch(&launch, &args, &status, 1, NULL, NULL);
    printf(\"%g %g %u\\n\", out[0], out[5], status.kind);
    args.table.of.shape[0] = -3; /* memory of others may say anything */
    step_cpu_launch(&launch, &args, &status, 1, NULL, NULL);
    printf(\"%u %d\\n\", status.kind, status.extent);
    return 0;
}
";

fn gcc(folder: &Path, program: &str) -> Output {
    std::fs::write(folder.join("main.c"), program).expect("a file");
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "main.c", "k.o", "-lm", "-o", "main"];
    Command::new("gcc").args(flags).current_dir(folder).output().expect("gcc")
}

#[test]
fn arrays_of_c_have_types_and_negative_extents_hold_nothing() {
    let folder = folder(&["--checked"]);
    let built = gcc(folder.path(), C);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_eq!(run(Command::new("./main").current_dir(folder.path())), "10 25 0\n1 0\n");
    const POINTER: &str = "not compatible with any association";
    const EXTENTS: &str = "another_number_of_extents";
    const ASSIGNED: &str = "incompatible types when assigning";
    const PASSED: &str = "incompatible pointer type";
    const MEMBER: &str = "has no member named";
    const LAUNCH: &str = "step_cpu_launch(&launch, &args, &status, 1, NULL, NULL);";
    let misuses: [(&str, &str, &str); 16] = [
        ("step_out(out, 2, 3)", "step_out(bodies, 2, 3)", POINTER),
        ("step_out(out, 2, 3)", "step_out((double *)0, 2, 3)", POINTER),
        ("step_match(match, 2, 3)", "step_match(match, 6)", EXTENTS),
        ("step_bodies((const Body *)bodies, 2)", "step_bodies(bodies, 2, 1)", EXTENTS),
        ("step_out(out, 2, 3)", "step_out((const float *)out, 2, 3)", POINTER),
        ("step_out(out, 2, 3)", "step_out(match, 2, 3)", POINTER),
        ("step_out(out, 2, 3)", "step_out(0, 2, 3)", POINTER),
        ("step_out(out, 2, 3)", "out", ASSIGNED),
        ("step_out(out, 2, 3)", "step_out(out, out, 3)", "makes integer from pointer without a cast"),
        ("kc_launch_of(&launch, 2, extents);", "launch = kc_launch_of(&launch, 2, extents);", ASSIGNED),
        (LAUNCH, "step_cpu_launch(&launch, &args);", "too few arguments"),
        (LAUNCH, "step_cpu_launch(&args, &launch, &status, 1, NULL, NULL);", PASSED),
        (LAUNCH, "count_cpu_launch(&launch, &args, &status, 1, NULL, NULL);", PASSED),
        (LAUNCH, "step_cpu_launch(&launch, &args, &status, 1, puts, NULL);", PASSED),
        ("args.table.scale", "args.table.size", MEMBER),
        ("args.table.scale", "args.rate", MEMBER),
    ];
    for (right, wrong, words) in misuses {
        assert!(C.contains(right), "{right}");
        let built = gcc(folder.path(), &C.replacen(right, wrong, 1));
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(!built.status.success() && said.contains(words), "{wrong}: {said}");
    }
}

#[test]
fn a_frame_larger_than_the_guard_page_is_probed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "import warp as wp

@wp.kernel
def fill(x: wp.array(dtype=float)):
    i = wp.tid()
    kept = wp.zeros(shape=20000, dtype=float)
    for j in range(20000):
        kept[(j * 7) % 20000] = x[j % 3] * float(j)
    x[i] = kept[i]
";
    std::fs::write(folder.path().join("k.py"), text).expect("a file");
    let compile = ["compile", "k.py", "--emit", "obj", "--no-backward", "--cpu", "x86-64-v3"];
    run(Command::new(env!("CARGO_BIN_EXE_kc")).args(compile).current_dir(folder.path()));
    let code = run(Command::new("objdump").args(["-d", "k.o"]).current_dir(folder.path()));
    let touches = code.lines().any(|line| line.contains("$0x0,(%rsp)"));
    assert!(touches, "no page of the frame is touched in order");
}

/// The crate whose build script calls kc.
#[test]
fn a_crate_with_a_build_script_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/embed_crate");
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    for name in ["Cargo.toml", "build.rs", "src/main.rs", "src/heat.py"] {
        std::fs::copy(from.join(name), folder.path().join(name)).expect("a file");
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline"]).current_dir(folder.path());
    cargo.env("KC", env!("CARGO_BIN_EXE_kc")).env("CARGO_TARGET_DIR", folder.path().join("target"));
    let said = run(&mut cargo);
    let losses: Vec<f32> = said.lines().filter_map(|line| line.split("loss ").nth(1)?.parse().ok()).collect();
    let [first, _, last] = losses[..] else { panic!("{said}") };
    assert!(first > 1.0 && last < first / 100.0, "{said}");
    assert!(said.ends_with("the extents are those of 64 elements, and there are 63\n"), "{said}");
}
