//! Are second derivatives right? A Hessian-vector product is forward mode applied to the entries of
//! a gradient run: the (augmented) forward entry and the backward entry, each with tangents of
//! arrays, of gradients, and of the values that they keep.
//!
//! With u the adjoints of all final contents, H is the Hessian of u.f with respect to the initial
//! contents of all arrays. [`check`] compares H v with differences of the gradient along v, and
//! w.(H v) with v.(H w), for H is symmetric.

use super::double;
use super::gradcheck::{Check, Floats, Kernels, Random, distance, dot, fill, read, relative};
use super::gradient;
use super::gradient::Entries;
use super::tape::{Tape, bytes_per_slot, most_slots, too_large};
use crate::ir::{FuncId, Function, TapeBuffer, TapeRole};
use crate::run::Result;
use crate::run::args::{Arguments, Described};
use crate::run::launch::Launch;
use crate::run::program::Program;

/// Forward mode of the entries of a gradient run.
#[derive(Clone, Copy, Debug)]
pub struct Tangents {
    /// Of the augmented entry where there is one, else of the forward entry.
    pub first: FuncId,
    pub backward: FuncId,
}

/// What the check found for one array.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    pub argument: String,
    /// The Euclidean length of its part of H v.
    pub norm: f64,
    /// The greatest difference from central differences of the gradient, relative to the greatest
    /// component.
    pub difference: f64,
    /// One-sided differences of the gradient disagree: the gradient has a kink or a step here.
    pub kink: bool,
    pub right: bool,
}

/// What the check found for one launch.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Found {
    pub rows: Vec<Row>,
    /// |w.(H v) - v.(H w)| relative to the sum of the magnitudes of the terms.
    pub symmetry: f64,
    pub right: bool,
}

/// Slots of state that a thread gets at first where the compiler knows no bound.
const FIRST_SLOTS: u32 = 64;

/// Checks the Hessian-vector products of a launch.
pub fn check(
    program: &Program,
    kernels: &Kernels,
    tangents: Tangents,
    launch: &Launch,
    arguments: Arguments,
    origin: &str,
    seed: u64,
) -> Result<Found> {
    let function = &program.module.functions[kernels.forward];
    let Entries { augmented, backward: Some(backward) } = gradient::entries(program, kernels.forward)? else {
        return Ok(Found { rows: Vec::new(), symmetry: 0.0, right: true });
    };
    // The same shapes, for the tangents. What they hold does not matter.
    let structs = &program.module.structs;
    let along = double::arguments(launch, origin, &arguments, structs, function, structs)?;
    let check = Check::new(program, kernels, arguments, launch, origin, seed)?;
    let mut products = Products { check, along, augmented, backward, tangents };
    let (u, _, v) = products.check.gradients()?;
    let w: Floats = {
        let mut numbers = Random::new(seed ^ 0x5eed);
        v.iter().map(|part| part.iter().map(|_| numbers.next()).collect()).collect()
    };
    let (hv, hw) = (products.product(&u, &v)?, products.product(&u, &w)?);
    let ((one, size), (other, terms)) = (dot(&hv, &w), dot(&hw, &v));
    let symmetry = relative(one, other, size.max(terms));
    let precision = products.check.precision();
    let here = products.gradient_at(0.0, &u, &v)?;
    let mut best: Vec<(f64, bool)> = vec![(f64::INFINITY, true); hv.len()];
    for scale in [0.1, 1.0, 10.0] {
        let h = scale * precision.cbrt();
        let (up, down) = (products.gradient_at(h, &u, &v)?, products.gradient_at(-h, &u, &v)?);
        for (k, (far, kink)) in best.iter_mut().enumerate() {
            let slope = |a: &[f64], b: &[f64], h: f64| a.iter().zip(b).map(|(a, b)| (a - b) / h).collect::<Vec<f64>>();
            let central = slope(&up[k], &down[k], 2.0 * h);
            let (left, right) = (slope(&here[k], &down[k], h), slope(&up[k], &here[k], h));
            // Noise of differences, where the product is zero or nearly so.
            let noise = precision.powf(2.0 / 3.0) * size_of(&here[k]) / precision.cbrt();
            let floor = size_of(&hv[k]).max(noise).max(1e-30);
            *far = far.min(largest_gap(&hv[k], &central) / floor);
            *kink &= distance(&left, &right) > 0.05;
        }
    }
    let close = 16.0 * precision.cbrt();
    let rows: Vec<Row> = best
        .into_iter()
        .enumerate()
        .map(|(k, (difference, kink))| {
            let argument = products.check.active[k].key(&products.check.arguments).to_string();
            let norm = hv[k].iter().map(|x| x * x).sum::<f64>().sqrt();
            Row { argument, norm, difference, kink, right: norm.is_finite() && (kink || difference < close) }
        })
        .collect();
    let right = rows.iter().all(|row| row.right) && symmetry < precision.powf(0.58);
    Ok(Found { rows, symmetry, right })
}

fn size_of(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |size: f64, x| size.max(x.abs()))
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    let worse = |far: f64, d: f64| if far.is_nan() || d.is_nan() { f64::NAN } else { far.max(d) };
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, worse)
}

/// Hessian-vector products of one launch.
struct Products<'a> {
    check: Check<'a>,
    /// The tangents of arrays and of gradients.
    along: Arguments,
    augmented: Option<FuncId>,
    backward: FuncId,
    tangents: Tangents,
}

impl Products<'_> {
    /// H v, for the adjoints `u` of the final contents.
    fn product(&mut self, u: &Floats, v: &Floats) -> Result<Floats> {
        let module = &self.check.program.module;
        let structs = &module.structs;
        let first = self.augmented.unwrap_or(self.check.kernels.forward);
        let (first_entry, backward_entry) = (&module.functions[first], &module.functions[self.backward]);
        let threads = self.check.runner.bounds.size;
        let (mut logs, mut state) = (0, FIRST_SLOTS);
        loop {
            let Check { arguments, active, start, runner, .. } = &mut self.check;
            arguments.restore(start);
            fill(arguments, active, true, structs, u);
            let zeros: Floats = v.iter().map(|part| vec![0.0; part.len()]).collect();
            fill(&mut self.along, active, false, structs, v);
            fill(&mut self.along, active, true, structs, &zeros);

            let (kept, kept_along) =
                (tapes(first_entry, threads, logs, state)?, tapes(first_entry, threads, logs, state)?);
            let (own, other) = (placed(first_entry, &kept, &[]), placed(first_entry, &kept_along, &[]));
            let jvp = &module.functions[self.tangents.first];
            let block = arguments.block_of_both(&self.along, first_entry, jvp, structs, &own, &other)?;
            runner.run(self.tangents.first, std::ptr::with_exposed_provenance(block.address() as usize), &[])?;
            if let Some(wanted) = more(first_entry, TapeRole::Log, &kept, logs, threads)? {
                logs = wanted;
                continue;
            }

            let (scratch, scratch_along) =
                (tapes(backward_entry, threads, 0, state)?, tapes(backward_entry, threads, 0, state)?);
            let (filled, filled_along) = (logs_of(first_entry, &kept), logs_of(first_entry, &kept_along));
            let own = placed(backward_entry, &scratch, &filled);
            let other = placed(backward_entry, &scratch_along, &filled_along);
            let jvp = &module.functions[self.tangents.backward];
            let block = arguments.block_of_both(&self.along, backward_entry, jvp, structs, &own, &other)?;
            runner.run(self.tangents.backward, std::ptr::with_exposed_provenance(block.address() as usize), &[])?;
            if let Some(wanted) = more(backward_entry, TapeRole::State, &scratch, state, threads)? {
                state = wanted;
                continue;
            }
            let product = read(&self.along, active, true, structs);
            arguments.restore(start);
            return Ok(product);
        }
    }

    /// The gradient at x + h v.
    fn gradient_at(&mut self, h: f64, u: &Floats, v: &Floats) -> Result<Floats> {
        let structs = &self.check.program.module.structs;
        let Check { program, kernels, arguments, active, start, runner, .. } = &mut self.check;
        arguments.restore(start);
        let x = read(arguments, active, false, structs);
        let moved: Floats = x.iter().zip(v).map(|(x, v)| x.iter().zip(v).map(|(x, v)| x + h * v).collect()).collect();
        fill(arguments, active, false, structs, &moved);
        fill(arguments, active, true, structs, u);
        let threads = runner.bounds.size;
        gradient::gradient(
            program,
            kernels.forward,
            arguments,
            threads,
            &mut |entry: FuncId, args, _: &[(u64, u64)]| runner.run(entry, args, &[]),
        )?;
        let found = read(arguments, active, true, structs);
        arguments.restore(start);
        Ok(found)
    }
}

/// Buffers for an entry, in the order of [`Function::tape`].
fn tapes(entry: &Function, threads: u64, logs: u32, state: u32) -> Result<Vec<Tape>> {
    let slots = |tape: &TapeBuffer| tape.slots.unwrap_or(if tape.role == TapeRole::Log { logs } else { state });
    entry.tape.iter().map(|tape| Tape::new(entry, tape, slots(tape), threads)).collect()
}

/// The logs among the buffers of an entry.
fn logs_of<'t>(entry: &Function, tapes: &'t [Tape]) -> Vec<&'t Tape> {
    entry.tape.iter().zip(tapes).filter(|(tape, _)| tape.role == TapeRole::Log).map(|(_, buffer)| buffer).collect()
}

/// The parameters of an entry with their buffers; filled logs stand for its own.
fn placed<'t>(entry: &Function, own: &'t [Tape], filled: &[&'t Tape]) -> Vec<(u32, Described)> {
    let mut filled = filled.iter().copied();
    let buffer = |tape: &TapeBuffer, own: &'t Tape, filled: &mut dyn Iterator<Item = &'t Tape>| match tape.role {
        TapeRole::Log => filled.next().unwrap_or(own),
        _ => own,
    };
    entry.tape.iter().zip(own).map(|(tape, own)| (tape.param, buffer(tape, own, &mut filled).described())).collect()
}

/// The slots that threads wanted, if there were fewer and the compiler knew no bound.
fn more(entry: &Function, role: TapeRole, tapes: &[Tape], had: u32, threads: u64) -> Result<Option<u32>> {
    let needed = tapes.iter().filter_map(Tape::count).max().unwrap_or_default();
    let wanted = needed.slots;
    if wanted <= had || !entry.tape.iter().any(|tape| tape.role == role && tape.slots.is_none()) {
        return Ok(None);
    }
    if wanted > most_slots(entry, role, threads) {
        return Err(too_large(entry, wanted, Some(needed.thread), threads, bytes_per_slot(entry, role)));
    }
    Ok(Some(wanted))
}
