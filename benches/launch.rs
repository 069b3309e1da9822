//! What does a launch cost? `d[i] = a[i] * b[i] + c[i]` on slices of a Rust program, over sizes and numbers of threads:
//! `cargo bench --bench launch`. Microseconds per launch: the least of several rounds, and the median.

use std::time::Instant;

use kc::{Arg, Compiler, Error, Kernel};

const SOURCE: &str = "
import warp as wp

@wp.kernel
def fma(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), d: wp.array(dtype=float)):
    i = wp.tid()
    d[i] = a[i] * b[i] + c[i]
";

const ROUNDS: usize = 25;

fn main() -> Result<(), Error> {
    let kernel = Compiler::new().compile_text("fma.py", SOURCE)?.kernel("fma")?;
    println!("{:>9} {:>9} {:>11} {:>11}", "dim", "threads", "least us", "median us");
    for dim in [1, 1000, 2000, 4096, 8192, 16_384, 32_768, 65_536, 262_144, 1 << 20] {
        for threads in [1, 0] {
            let (least, median) = time(&kernel.threads(threads), dim)?;
            let shown = if threads == 0 { "default".to_string() } else { threads.to_string() };
            println!("{dim:>9} {shown:>9} {least:>11.3} {median:>11.3}");
        }
    }
    Ok(())
}

/// Microseconds of one launch.
fn time(kernel: &Kernel, dim: usize) -> Result<(f64, f64), Error> {
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
