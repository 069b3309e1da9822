//! A Rust program that compiles a kernel, calls it on its own slices, and lets the gradient find
//! what it looks for: with which velocity must a ball be thrown to hit its target?

use kc::{Arg, Compiler, Error};

const BALLS: usize = 10_000;
const DRAG: f32 = 0.02;

fn main() -> Result<(), Error> {
    let module = Compiler::new().compile_text("throw.py", include_str!("throw.py"))?;
    let throw = module.kernel("throw")?;

    let target: Vec<f32> = (0..BALLS).map(|n| 5.0 + n as f32 * 1e-3).collect();
    let mut velocity = vec![[1.0f32, 1.0]; BALLS];
    let mut gradient = vec![[0.0f32, 0.0]; BALLS];
    let mut miss = vec![0.0f32; BALLS];
    for step in 0..=60 {
        // The gradient of the objective is 1. The run clears it, and adds to the gradients of what
        // it depends on.
        let mut seed = vec![1.0f32; BALLS];
        gradient.fill([0.0, 0.0]);
        throw.gradient(
            BALLS,
            &mut [
                Arg::read(&velocity).grad(&mut gradient),
                Arg::read(&target),
                Arg::value(DRAG),
                Arg::write(&mut miss).grad(&mut seed),
            ],
        )?;
        let worst = miss.iter().copied().fold(0.0, f32::max).sqrt();
        if step % 20 == 0 {
            println!("step {step:2}: missed by {worst:.6} m at most");
        }
        for (v, g) in velocity.iter_mut().zip(&gradient) {
            v[0] -= 0.4 * g[0];
            v[1] -= 0.4 * g[1];
        }
    }

    // The same kernel on a GPU, if this program is built with the feature `cuda` and the machine
    // has one.
    let on_gpu = throw
        .on("cuda")?
        .launch(BALLS, &mut [Arg::read(&velocity), Arg::read(&target), Arg::value(DRAG), Arg::write(&mut miss)]);
    match on_gpu {
        Ok(_) => println!("on the GPU: missed by {:.6} m at most", miss.iter().copied().fold(0.0, f32::max).sqrt()),
        Err(error) => println!("{}: {}", error.code(), error.message()),
    }

    // Errors are kc's findings, with a code and the line of the kernel that they are about.
    let error = throw
        .launch(BALLS + 1, &mut [Arg::read(&velocity), Arg::read(&target), Arg::value(DRAG), Arg::write(&mut miss)]);
    println!("\none thread too many:\n{}", error.expect_err("an index out of bounds"));
    Ok(())
}
