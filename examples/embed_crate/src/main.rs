//! Finds the heat of a rod before a step from what was measured after it, by gradients.

#[allow(dead_code)]
mod heat {
    include!(concat!(env!("OUT_DIR"), "/heat.rs"));
}

use heat::kc::{Array, ArrayMut, Error};

const N: usize = 64;
const RATE: f32 = 0.2;

fn step(old: &[f32]) -> Result<Vec<f32>, Error> {
    let mut new = vec![0.0; old.len()];
    let mut args =
        heat::step_args { old: Array::new(old, [N])?, rate: RATE, new: ArrayMut::new(&mut new, [N])? };
    heat::step([N], &mut args, 0)?;
    Ok(new)
}

/// The loss, and its gradient by `old`.
fn gradient(old: &[f32], measured: &[f32]) -> Result<(f32, Vec<f32>), Error> {
    let new = step(old)?;
    let (mut loss, mut adjoint) = ([0.0], vec![0.0; N]);
    {
        let mut args = heat::misfit_args {
            new: Array::new(&new, [N])?,
            measured: Array::new(measured, [N])?,
            loss: ArrayMut::new(&mut loss, [1])?,
        };
        heat::misfit([N], &mut args, 0)?;
    }
    let result = loss;
    let mut of_loss = [1.0];
    // The adjoints of arguments are in their gradients, so that none is given on its own.
    let mut back = heat::misfit_backward_args {
        new: Array::new(&new, [N])?.with_gradient(&mut adjoint)?,
        measured: Array::new(measured, [N])?,
        loss: Array::new(&result, [1])?.with_gradient(&mut of_loss)?,
        adj_new: ArrayMut::none(),
        adj_measured: ArrayMut::none(),
        adj_loss: Array::none(),
    };
    heat::misfit_backward([N], &mut back, 1)?;
    let mut of_old = vec![0.0; N];
    let mut back = heat::step_backward_args {
        old: Array::new(old, [N])?.with_gradient(&mut of_old)?,
        rate: RATE,
        new: Array::new(&new, [N])?.with_gradient(&mut adjoint)?,
        adj_old: ArrayMut::none(),
        adj_rate: 0.0,
        adj_new: ArrayMut::none(),
    };
    heat::step_backward([N], &mut back, 1)?;
    Ok((loss[0], of_old))
}

fn main() -> Result<(), Error> {
    let truth: Vec<f32> = (0..N).map(|n| if n / 8 % 2 == 0 { 1.0 } else { 0.0 }).collect();
    let measured = step(&truth)?;
    let mut guess = vec![0.5; N];
    for turn in 0..=200 {
        let (loss, slope) = gradient(&guess, &measured)?;
        if turn % 100 == 0 {
            println!("turn {turn}: loss {loss:.6}");
        }
        guess.iter_mut().zip(&slope).for_each(|(x, d)| *x -= 0.4 * d);
    }
    // One element too few.
    println!("{}", Array::new(&guess[1..], [N]).map(|_: Array<f32, 1>| ()).unwrap_err());
    Ok(())
}
