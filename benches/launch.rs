//! What does a launch cost? `d[i] = a[i] * b[i] + c[i]` over sizes: on slices of a Rust program by
//! the library, and from a C program that links the object, which the C compiler of this machine
//! builds. `cargo bench --bench launch`. Microseconds per launch: the least of several rounds, and
//! the median.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use kc::driver::{Artefact, Options, Request};
use kc::{Arg, Compiler, Kernel};

const SOURCE: &str = "
import warp as wp

@wp.kernel
def fma(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), d: wp.array(dtype=float)):
    i = wp.tid()
    d[i] = a[i] * b[i] + c[i]
";

const ROUNDS: usize = 25;

/// Most launches of programs of many kernels have fewer than ten thousand threads.
const SMALL: [usize; 5] = [1, 10, 100, 1000, 10_000];

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = Compiler::new().compile_text("fma.py", SOURCE)?.kernel("fma")?;
    println!("{:>9} {:>19} {:>11} {:>11}", "dim", "threads", "least us", "median us");
    for dim in [&SMALL[..], &[16_384, 32_768, 65_536, 262_144, 1 << 20]].concat() {
        for threads in [1, 0] {
            let (least, median) = time(&kernel.threads(threads), dim)?;
            let shown = if threads == 0 { "Rust".to_string() } else { format!("Rust, {threads} thread") };
            println!("{dim:>9} {shown:>19} {least:>11.3} {median:>11.3}");
        }
    }
    from_c()
}

/// Microseconds of one launch.
fn time(kernel: &Kernel, dim: usize) -> Result<(f64, f64), kc::Error> {
    let (a, b, c, mut d) = (vec![2.0f32; dim], vec![3.0f32; dim], vec![1.0f32; dim], vec![0.0f32; dim]);
    let mut args = [Arg::read(&a), Arg::read(&b), Arg::read(&c), Arg::write(&mut d)];
    kernel.launch(dim, &mut args)?;
    let launches = (2_000_000 / dim).clamp(20, 2000);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..launches {
            kernel.launch(dim, &mut args)?;
        }
        rounds.push(start.elapsed().as_secs_f64() * 1e6 / launches as f64);
    }
    rounds.sort_by(f64::total_cmp);
    assert!(d.iter().all(|&d| d == 7.0));
    Ok((rounds[0], rounds[ROUNDS / 2]))
}

/// The same in C: the entry alone, and with arrays and launch described anew for each launch.
fn from_c() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("fma.py"), SOURCE)?;
    let mut compilation = Compiler::new().load(&path("fma.py"), &Request::default());
    for (artefact, name) in [(Artefact::Object, "fma.o"), (Artefact::Header, "fma.h")] {
        let bytes = compilation.emit(artefact, &Options { checked: true, ..Options::default() });
        std::fs::write(path(name), bytes.ok_or("the kernel has no object")?)?;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/launch.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O2", "-o"]).arg(path("launch")).arg("-I").arg(folder.path()).arg(source);
    let built = compiler.arg(path("fma.o")).arg("-lm").status()?;
    let run = built.success().then(|| Command::new(path("launch")).args(SMALL.map(|dim| dim.to_string())).status());
    match run {
        Some(Ok(status)) if status.success() => Ok(()),
        _ => Err("the program in C failed".into()),
    }
}
