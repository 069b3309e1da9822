//! How does a launch of XLA run on a GPU? Behind what XLA's stream does, on its memory. Numbers
//! that are given by value are read from there, which waits; what a run cannot do there is done on
//! the host, on copies.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::{Arc, PoisonError};

use kc::Outcome;
use kc::embed::{Bound as Laid, Gradient, Part, Queue};
use kc::run::devices::Resident;
use kc::run::devices::cuda::Card;
use kc::types::Type;

use super::{Leaf, Memory, Mode, Plan, Scratch, What, put_numbers, room, tell};
use crate::device;

/// A GPU, and the stream of it that XLA uses.
pub struct Where {
    card: Arc<Card>,
    stream: u64,
    /// Threads that are in error record it.
    checked: bool,
}

/// Which contents a plan was looked at with, for races: numbers that represent values, where it
/// follows from these that there are none, and values with whole numbers of arrays.
#[derive(Default)]
pub struct Seen {
    free: HashSet<u64>,
    looked: HashSet<u64>,
}

/// So many of each are remembered.
const MOST: usize = 256;

/// Memory of the GPU for one run, which goes back behind what the stream does.
struct Own<'w> {
    at: &'w Where,
    memory: Memory,
}

/// Looks for races of the copies of arguments and results.
type Look<'a> = dyn Fn(&[Memory], &[Memory]) -> Result<kc::embed::Seen, String> + 'a;

impl Drop for Own<'_> {
    fn drop(&mut self) {
        let address = self.memory.data.expose_provenance() as u64;
        // SAFETY: taken in `Where::own`, and what uses it is on the stream already.
        unsafe { self.at.card.release(address, self.at.stream, true) };
    }
}

/// The words of an error.
fn told(error: kc::Error) -> String {
    error.to_string()
}

fn failed(fail: kc::run::Fail) -> String {
    kc::Error::of(fail).to_string()
}

impl Where {
    /// Without a number it is the GPU in whose memory the operands are.
    pub fn new(ordinal: Option<i32>, stream: u64, operands: &[Memory]) -> Result<Where, String> {
        let first = operands.iter().find(|operand| operand.bytes > 0);
        let ordinal = match (ordinal, first) {
            (Some(ordinal), _) => ordinal,
            (None, Some(first)) => Resident::ordinal_of(first.data.expose_provenance() as u64).map_err(failed)?,
            (None, None) => 0,
        };
        Ok(Where { card: Card::open(ordinal).map_err(failed)?, stream, checked: device::are_checked() })
    }

    fn queue(&self) -> Queue {
        let Where { card, stream, checked } = self;
        Queue { ordinal: Some(card.ordinal()), checked: *checked, deterministic: false, stream: *stream }
    }

    /// What threads printed and did wrong, of a run that is checked: that waits.
    fn conclude(&self) -> Result<Outcome, String> {
        if !self.checked {
            return Ok(Outcome::default());
        }
        self.card.wait(self.stream).map_err(failed)?;
        let (error, warnings) = kc::embed::told(self.card.ordinal());
        tell(warnings.iter());
        let mut outcome = Outcome::default();
        outcome.printed = kc::embed::printed(self.card.ordinal());
        error.map_or(Ok(outcome), |error| Err(told(error)))
    }

    /// A copy on the host. Waits.
    fn fetch(&self, memory: Memory) -> Result<Scratch, String> {
        let mut made = Scratch::zeros(memory.bytes);
        if memory.bytes > 0 {
            let from = memory.data.expose_provenance() as u64;
            // SAFETY: an operand of so many bytes.
            unsafe { self.card.download(made.start(), from, memory.bytes, self.stream) }.map_err(failed)?;
        }
        Ok(made)
    }

    fn put(&self, from: &Scratch, to: Memory) -> Result<(), String> {
        if to.bytes == 0 {
            return Ok(());
        }
        let (at, from) = (to.data.expose_provenance() as u64, from.0.as_ptr().cast());
        // SAFETY: a result of so many bytes; `from` has as many.
        unsafe { self.card.upload(at, from, to.bytes, self.stream) }.map_err(failed)
    }

    fn clear(&self, memory: Memory) -> Result<(), String> {
        if memory.bytes == 0 {
            return Ok(());
        }
        let at = memory.data.expose_provenance() as u64;
        // SAFETY: memory of this run, of so many bytes.
        unsafe { self.card.clear(at, memory.bytes, self.stream) }.map_err(failed)
    }

    fn copy(&self, from: Memory, to: Memory) -> Result<(), String> {
        if from.bytes != to.bytes {
            return Err(format!("an output of {} bytes starts with {}", to.bytes, from.bytes));
        }
        if to.bytes == 0 {
            return Ok(());
        }
        let (from, at) = (from.data.expose_provenance() as u64, to.data.expose_provenance() as u64);
        // SAFETY: both have so many bytes until the stream is done.
        unsafe { self.card.copy(at, (&self.card, from), to.bytes, self.stream) }.map_err(failed)
    }

    /// Memory for this run: zeros, or a copy.
    fn own(&self, bytes: usize, from: Option<Memory>) -> Result<Own<'_>, String> {
        let address = self.card.allocate(bytes, self.stream, true).map_err(failed)?;
        let data = std::ptr::with_exposed_provenance_mut(address as usize);
        let made = Own { at: self, memory: Memory { data, bytes } };
        match from {
            Some(from) => self.copy(from, made.memory)?,
            None => self.clear(made.memory)?,
        }
        Ok(made)
    }
}

/// Operands of a run whose values are the host's.
struct Near {
    block: Memory,
    given: Vec<Memory>,
    /// The copies.
    _own: Vec<Scratch>,
    /// A number that represents the values.
    values: u64,
}

impl Near {
    /// Copies a leaf's operand where it is a value.
    fn of(at: &Where, leaf: &Leaf, memory: Memory, own: &mut Vec<Scratch>) -> Result<Memory, String> {
        if matches!(leaf.what, What::Array { .. }) {
            return Ok(memory);
        }
        let mut copy = at.fetch(memory)?;
        let data = copy.start();
        own.push(copy);
        Ok(Memory { data, bytes: memory.bytes })
    }
}

impl Plan {
    /// # Safety
    /// The operands can be read, and the results are written by nobody else, all of them in the
    /// memory of the GPU.
    pub(super) unsafe fn run_far(
        &self,
        at: &Where,
        operands: &[Memory],
        results: &[Memory],
    ) -> Result<Outcome, String> {
        let (block, given, starts, rest) = self.parts(operands, results)?;
        results.iter().try_for_each(|&result| at.clear(result))?;
        let near = self.near(at, block, given)?;
        // SAFETY: the caller's promise.
        let ran = unsafe {
            match &self.mode {
                Mode::Backward(gradient) => self.backward_far(at, gradient, (&near, given, starts), rest, results)?,
                Mode::Forward { .. } => self.forward_far(at, (&near, given, starts), rest, results)?,
                Mode::Second { .. } => self.second_far(at, (&near, given, starts), rest, results)?,
                Mode::Launch => self.launch_far(at, &near, starts, results)?,
            }
        };
        match ran {
            Some(()) => at.conclude(),
            // SAFETY: the caller's promise.
            None => unsafe { self.on_host(at, operands, results) },
        }
    }

    /// The operands with what is given by value on the host.
    fn near(&self, at: &Where, block: Memory, given: &[Memory]) -> Result<Near, String> {
        // A kernel of arrays has nothing in its block.
        let is_empty = self.kernel.signature().params().iter().all(|param| matches!(param.ty, Type::Array(_)));
        let mut copy = if is_empty { Scratch::zeros(block.bytes) } else { at.fetch(block)? };
        let block = Memory { data: copy.start(), bytes: block.bytes };
        let mut own = vec![copy];
        let leaves = self.leaves.iter().zip(given);
        let given = leaves.map(|(leaf, &memory)| Near::of(at, leaf, memory, &mut own)).collect::<Result<_, _>>()?;
        let mut digest = DefaultHasher::new();
        own.iter().flat_map(|scratch| &scratch.0).for_each(|&word| digest.write_u128(word));
        Ok(Near { block, given, _own: own, values: digest.finish() })
    }

    /// # Safety
    /// As for `run_far`.
    unsafe fn launch_far(
        &self,
        at: &Where,
        near: &Near,
        starts: &[Memory],
        results: &[Memory],
    ) -> Result<Option<()>, String> {
        // SAFETY: the block is the host's.
        let mut laid = unsafe { room(self.kernel.signature(), near.block) }?;
        for (leaf, memory) in self.leaves.iter().zip(&near.given) {
            leaf.put(&mut laid, *memory, None, false)?;
        }
        for (&k, &start) in self.starts.iter().zip(starts) {
            at.copy(start, results[k])?;
        }
        for (leaf, memory) in self.outputs.iter().zip(results) {
            leaf.put(&mut laid, *memory, None, true)?;
        }
        // SAFETY: the arguments are laid out for this kernel, which writes to its outputs alone;
        // XLA keeps all memory until its stream is done.
        unsafe { self.kernel.launch_resident(&self.dim, &laid, at.queue()) }.map_err(told)?;
        Ok(Some(()))
    }

    /// None: the host has to run it.
    ///
    /// # Safety
    /// As for `run_far`.
    unsafe fn forward_far(
        &self,
        at: &Where,
        (near, given, starts): (&Near, &[Memory], &[Memory]),
        rest: &[Memory],
        results: &[Memory],
    ) -> Result<Option<()>, String> {
        let Mode::Forward { along, outputs } = &self.mode else { return Ok(None) };
        let signature = self.kernel.tangent_signature().map_err(told)?.0;
        let (tangents, moved) = rest.split_at(along.len());
        let mut own = Vec::new();
        let of_tangents = along.iter().zip(tangents).map(|(leaf, &memory)| Near::of(at, leaf, memory, &mut own));
        let tangents: Vec<Memory> = of_tangents.collect::<Result<_, _>>()?;
        let lay = |given: &[Memory], tangents: &[Memory], made: &[Memory], results: &[Memory]| {
            // SAFETY: the block is the host's.
            let mut laid = unsafe { room(signature, near.block) }?;
            for (leaf, memory) in self.leaves.iter().zip(given).chain(along.iter().zip(tangents)) {
                leaf.put(&mut laid, *memory, None, false)?;
            }
            for (leaf, memory) in self.outputs.iter().zip(made).chain(outputs.iter().zip(results)) {
                leaf.put(&mut laid, *memory, None, true)?;
            }
            Ok::<Laid, String>(laid)
        };
        let look = |given: &[Memory], before: &[Memory]| {
            let mut zeros: Vec<Scratch> =
                along.iter().chain(outputs).map(|leaf| Scratch::zeros(leaf.bytes())).collect();
            let all = along.iter().chain(outputs).zip(&mut zeros);
            let all: Vec<Memory> = all.map(|(leaf, own)| Memory { data: own.start(), bytes: leaf.bytes() }).collect();
            let (tangents, results) = all.split_at(along.len());
            let laid = lay(given, tangents, before, results)?;
            // SAFETY: all of it is the host's.
            unsafe { self.kernel.look_tangents(&self.dim, &laid) }.map_err(told)
        };
        // SAFETY: the caller's promise.
        unsafe { self.look_once(at, near, given, starts, &look) }?;
        let before = self.before(at, starts)?;
        for (result, &start) in self.started_floats(results).zip(moved) {
            at.copy(start, result)?;
        }
        let made: Vec<Memory> = before.iter().map(|own| own.memory).collect();
        let laid = lay(&near.given, &tangents, &made, results)?;
        // SAFETY: the arguments are laid out for the forward mode, which writes to outputs and
        // their tangents alone.
        match unsafe { self.kernel.tangents_resident(&self.dim, &laid, at.queue()) } {
            Err(error) if error.code() == "E1104" => Ok(None),
            ran => ran.map(Some).map_err(told),
        }
    }

    /// None: the host has to run it.
    ///
    /// # Safety
    /// As for `run_far`.
    unsafe fn backward_far(
        &self,
        at: &Where,
        gradient: &Gradient,
        (near, given, starts): (&Near, &[Memory], &[Memory]),
        rest: &[Memory],
        results: &[Memory],
    ) -> Result<Option<()>, String> {
        let (left, seeds) = rest.split_at(self.outputs.len());
        let part = if gradient.records() { Part::Both } else { Part::Backward };
        // SAFETY: the caller's promise.
        unsafe { self.look_at_gradient(at, gradient, near, given, starts) }?;
        // A derivative changes the gradients that it starts from.
        let mut next = seeds.iter();
        let seeds: Vec<Option<Own<'_>>> = (self.outputs.iter())
            .map(|leaf| {
                let seed = if leaf.floats() { next.next() } else { None };
                seed.map(|&seed| at.own(seed.bytes, Some(seed))).transpose()
            })
            .collect::<Result<_, _>>()?;
        let of_seeds: Vec<Option<Memory>> = seeds.iter().map(|seed| seed.as_ref().map(|own| own.memory)).collect();
        let before = if part == Part::Both { self.before(at, starts)? } else { Vec::new() };
        let outputs: Vec<Memory> = match part {
            Part::Both => before.iter().map(|own| own.memory).collect(),
            // It reads what the launch left.
            Part::Backward => left.to_vec(),
        };
        // SAFETY: the caller's promise; the arguments are laid out for this gradient.
        let ran = unsafe {
            let laid = self.laid_backward(gradient, near.block, &near.given, results, &outputs, &of_seeds)?;
            self.kernel.gradient_resident(gradient, &self.dim, &laid, part, at.queue())
        };
        let (outcome, found) = match ran {
            Err(error) if error.code() == "E1104" => return Ok(None),
            ran => ran.map_err(told)?,
        };
        tell(outcome.warnings.iter().filter(|warning| warning.code == "W1122"));
        let floats = self.leaves.iter().filter(|leaf| leaf.floats());
        for (leaf, result) in floats.clone().zip(results) {
            let What::Value { name, scalar, .. } = &leaf.what else { continue };
            let sums = found.iter().find(|found| found.name == *name).map(|found| &found.sums[..]).unwrap_or_default();
            if sums.len() * scalar.size() as usize != result.bytes {
                return Err(format!("the argument `{name}` has no gradient"));
            }
            let mut made = Scratch::zeros(result.bytes);
            // SAFETY: there is room for so many numbers.
            unsafe { put_numbers(*scalar, sums, made.start()) };
            at.put(&made, *result)?;
        }
        // The rest of an output's gradient is the gradient of its old contents.
        let started = self.starts.iter().filter_map(|&k| of_seeds[k]);
        for (seed, &result) in started.zip(&results[floats.count()..]) {
            at.copy(seed, result)?;
        }
        Ok(Some(()))
    }

    /// None: the host has to run it.
    ///
    /// # Safety
    /// As for `run_far`.
    unsafe fn second_far(
        &self,
        at: &Where,
        (near, given, starts): (&Near, &[Memory], &[Memory]),
        rest: &[Memory],
        results: &[Memory],
    ) -> Result<Option<()>, String> {
        let Mode::Second { gradient, leaves, outputs, tangents, output_tangents } = &self.mode else { return Ok(None) };
        let (left, rest) = rest.split_at(outputs.len());
        let (seeds, rest) = rest.split_at(output_tangents.len());
        let (along, rest) = rest.split_at(tangents.len());
        let (outputs_along, seeds_along) = rest.split_at(output_tangents.len());
        // SAFETY: the caller's promise.
        unsafe { self.look_at_gradient(at, gradient, near, given, starts) }?;
        let signature = self.kernel.second_signature().map_err(told)?.0;
        // SAFETY: the block is the host's.
        let mut laid = unsafe { room(signature, near.block) }?;
        let mut own = Vec::new();
        for (leaf, memory) in leaves.iter().zip(&near.given) {
            let gradient = leaf.floats().then(|| at.own(leaf.bytes(), None)).transpose()?;
            leaf.put(&mut laid, *memory, gradient.as_ref().map(|own| own.memory.data), false)?;
            own.extend(gradient);
        }
        let (mut products, mut values) = (results.iter(), Vec::new());
        for (leaf, memory) in tangents.iter().zip(along) {
            let is_array = matches!(leaf.what, What::Array { .. });
            let product = if is_array { products.next().map(|result| result.data) } else { None };
            leaf.put(&mut laid, Near::of(at, leaf, *memory, &mut values)?, product, false)?;
        }
        // A derivative changes the gradients that it starts from.
        let copied = |memory: &Memory| at.own(memory.bytes, Some(*memory));
        let mut next = seeds.iter();
        for (leaf, left) in outputs.iter().zip(left) {
            let seed = if leaf.floats() { next.next().map(copied).transpose()? } else { None };
            leaf.put(&mut laid, *left, seed.as_ref().map(|own| own.memory.data), true)?;
            own.extend(seed);
        }
        let seeds_along: Vec<Own<'_>> = seeds_along.iter().map(copied).collect::<Result<_, _>>()?;
        for ((leaf, memory), seed) in output_tangents.iter().zip(outputs_along).zip(&seeds_along) {
            leaf.put(&mut laid, *memory, Some(seed.memory.data), false)?;
        }
        // SAFETY: the arguments are laid out for this entry, which writes to gradients alone.
        match unsafe { self.kernel.second_resident(&self.dim, &laid, at.queue()) } {
            Err(error) if error.code() == "E1104" => return Ok(None),
            ran => ran.map_err(told)?,
        }
        let place = |k: usize| outputs[..k].iter().filter(|leaf| leaf.floats()).count();
        let started = self.starts.iter().filter(|&&k| outputs[k].floats()).map(|&k| &seeds_along[place(k)]);
        for (seed, &result) in started.zip(products) {
            at.copy(seed.memory, result)?;
        }
        Ok(Some(()))
    }

    /// The outputs before the launch.
    fn before<'w>(&self, at: &'w Where, starts: &[Memory]) -> Result<Vec<Own<'w>>, String> {
        let start = |k: usize| self.starts.iter().position(|&known| known == k).map(|n| starts[n]);
        self.outputs.iter().enumerate().map(|(k, leaf)| at.own(leaf.bytes(), start(k))).collect()
    }

    /// Looks for races of a gradient run, which on a GPU does not look by itself.
    ///
    /// # Safety
    /// As for `run_far`.
    unsafe fn look_at_gradient(
        &self,
        at: &Where,
        gradient: &Gradient,
        near: &Near,
        given: &[Memory],
        starts: &[Memory],
    ) -> Result<(), String> {
        let look = |given: &[Memory], before: &[Memory]| {
            let leaves = self.leaves.iter().filter(|leaf| leaf.floats());
            let mut zeros: Vec<Scratch> = leaves.clone().map(|leaf| Scratch::zeros(leaf.bytes())).collect();
            let of = leaves.zip(&mut zeros);
            let of: Vec<Memory> = of.map(|(leaf, own)| Memory { data: own.start(), bytes: leaf.bytes() }).collect();
            let outputs = self.outputs.iter();
            let mut seeds: Vec<Option<Scratch>> =
                outputs.map(|leaf| leaf.floats().then(|| Scratch::zeros(leaf.bytes()))).collect();
            let seeds = self.seeds_here(&mut seeds);
            // SAFETY: all of it is the host's.
            unsafe {
                let laid = self.laid_backward(gradient, near.block, given, &of, before, &seeds)?;
                self.kernel.look(gradient, &self.dim, &laid).map_err(told)
            }
        };
        // SAFETY: the caller's promise.
        unsafe { self.look_once(at, near, given, starts, &look) }
    }

    /// Looks for races on copies, unless that was done with the same values and whole numbers.
    /// `look` is given the leaves and the outputs before the launch.
    ///
    /// # Safety
    /// As for `run_far`.
    unsafe fn look_once(
        &self,
        at: &Where,
        near: &Near,
        given: &[Memory],
        starts: &[Memory],
        look: &Look<'_>,
    ) -> Result<(), String> {
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen().free.contains(&near.values) {
            return Ok(());
        }
        let mut copies: Vec<Option<Scratch>> = Vec::with_capacity(given.len());
        let mut digest = DefaultHasher::new();
        digest.write_u64(near.values);
        for (leaf, &memory) in self.leaves.iter().zip(given) {
            let whole = matches!(leaf.what, What::Array { .. }) && !leaf.floats();
            let copy = if whole { Some(at.fetch(memory)?) } else { None };
            copy.iter().flat_map(|copy| &copy.0).for_each(|&word| digest.write_u128(word));
            copies.push(copy);
        }
        let contents = digest.finish();
        if seen().looked.contains(&contents) {
            return Ok(());
        }
        let mut leaves = Vec::with_capacity(given.len());
        for (n, (leaf, memory)) in self.leaves.iter().zip(&near.given).enumerate() {
            if matches!(leaf.what, What::Value { .. }) {
                leaves.push(*memory);
                continue;
            }
            let copy = match &mut copies[n] {
                Some(copy) => copy,
                none => none.insert(at.fetch(given[n])?),
            };
            leaves.push(Memory { data: copy.start(), bytes: memory.bytes });
        }
        let mut fetched: Vec<Scratch> = starts.iter().map(|&start| at.fetch(start)).collect::<Result<_, _>>()?;
        let own: Vec<Memory> = fetched
            .iter_mut()
            .zip(starts)
            .map(|(copy, start)| Memory { data: copy.start(), bytes: start.bytes })
            .collect();
        let mut before = self.initial(&own)?;
        let found = look(&leaves, &self.here(&mut before))?;
        tell(found.partly.iter());
        let mut seen = seen();
        let (known, number) = match found.any {
            true => (&mut seen.looked, contents),
            false => (&mut seen.free, near.values),
        };
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(number);
        Ok(())
    }

    /// The run on the host, on copies.
    ///
    /// # Safety
    /// As for `run_far`.
    unsafe fn on_host(&self, at: &Where, operands: &[Memory], results: &[Memory]) -> Result<Outcome, String> {
        let here = |scratch: &mut Scratch, of: &Memory| Memory { data: scratch.start(), bytes: of.bytes };
        let mut copies: Vec<Scratch> = operands.iter().map(|&operand| at.fetch(operand)).collect::<Result<_, _>>()?;
        let given: Vec<Memory> = copies.iter_mut().zip(operands).map(|(copy, of)| here(copy, of)).collect();
        let mut made: Vec<Scratch> = results.iter().map(|result| Scratch::zeros(result.bytes)).collect();
        let found: Vec<Memory> = made.iter_mut().zip(results).map(|(copy, of)| here(copy, of)).collect();
        // SAFETY: copies of the operands, and memory of the form of the results.
        let outcome = unsafe { self.run(&given, &found) }?;
        made.iter().zip(results).try_for_each(|(copy, &result)| at.put(copy, result))?;
        Ok(outcome)
    }
}
