//! Runs the compact form. Recursion follows the nesting of blocks and calls, never the iterations
//! of a loop.

use std::ffi::c_void;
use std::ops::Range;

use super::code::*;
use super::memory::{self, LocalMemory};
use super::together::{self, Waiting};
use super::{Accesses, Note, Outcome, Trap, TrapKind, format};
use crate::abi::LaunchBounds;
use crate::ir::{AtomicOp, Const, eval};
use crate::source::Span;
use crate::types::{MAX_DIMS, Scalar};

/// How a block ended.
enum Flow {
    Next,
    Break,
    Continue,
    Return,
    /// The step budget is used up.
    Stop,
}

/// The state of a run beside the frames.
struct Machine<'p, 'o, 'a> {
    program: &'p Program,
    outcome: &'o mut Outcome<'a>,
    locals: LocalMemory,
    /// How it waits for the other threads of the launch. None: there are none.
    wait: Option<&'p Waiting>,
    thread: u64,
    coordinates: [u64; MAX_DIMS],
}

/// Where a frame's local arrays begin.
type LocalBase = u64;

impl Program {
    /// Runs the threads `begin..end` (linear index, clipped to the launch).
    ///
    /// # Safety
    /// As for [`super::run_kernel`].
    pub unsafe fn run(
        &self,
        launch: &LaunchBounds,
        args: *const c_void,
        begin: u64,
        end: u64,
        outcome: &mut Outcome<'_>,
    ) {
        let (args, end) = (args.expose_provenance() as u64, end.min(launch.size));
        match self.waits && end.saturating_sub(begin) > 1 {
            // SAFETY: the same contract; one thread runs at a time.
            true => together::run(begin..end, outcome, self.span, &|thread, outcome, wait| unsafe {
                self.run_threads(launch, args, thread..thread + 1, outcome, Some(wait));
            }),
            // SAFETY: the same contract.
            false => unsafe { self.run_threads(launch, args, begin..end, outcome, None) },
        }
    }

    /// # Safety
    /// As for [`Program::run`]; `args` is the address of the arguments.
    unsafe fn run_threads(
        &self,
        launch: &LaunchBounds,
        args: u64,
        threads: Range<u64>,
        outcome: &mut Outcome<'_>,
        wait: Option<&Waiting>,
    ) {
        let mut stack = vec![0u64; self.stack_slots];
        for param in &self.params {
            for (n, leaf) in param.leaves.iter().enumerate() {
                let address = args + u64::from(param.offset + leaf.offset);
                // SAFETY: the caller promises an argument struct of this layout.
                stack[param.slot as usize + n] = unsafe { memory::read(address, leaf.scalar) };
            }
        }
        self.functions[0].set_constants(&mut stack);
        let locals = LocalMemory::new(self.local_bytes);
        let base = locals.address();
        let mut machine = Machine { program: self, outcome, locals, wait, thread: 0, coordinates: [0; MAX_DIMS] };
        for thread in threads {
            machine.thread = thread;
            let mut rest = thread;
            for (at, &extent) in machine.coordinates.iter_mut().zip(&launch.shape).rev() {
                *at = rest % u64::from(extent.max(1));
                rest /= u64::from(extent.max(1));
            }
            // Frames need no clearing: every value is defined before it is read.
            let kernel = &self.functions[0];
            if let Flow::Stop = machine.block(kernel, &kernel.body, &mut stack, base) {
                return;
            }
        }
    }
}

impl FunctionCode {
    fn set_constants(&self, frame: &mut [u64]) {
        frame[self.constants_at..self.constants_at + self.constants.len()].copy_from_slice(&self.constants);
    }
}

fn copy(frame: &mut [u64], moves: &Moves) {
    if moves.overlap {
        let sources: smallvec::SmallVec<[u64; 16]> =
            moves.list.iter().flat_map(|m| &frame[m.from as usize..(m.from + m.count) as usize]).copied().collect();
        let targets = moves.list.iter().flat_map(|m| m.to..m.to + m.count);
        for (to, bits) in targets.zip(sources) {
            frame[to as usize] = bits;
        }
    } else {
        for m in &moves.list {
            copy_slots(frame, m.from, m.to, m.count);
        }
    }
}

#[inline]
fn copy_slots(frame: &mut [u64], from: u32, to: u32, count: u32) {
    if count == 1 {
        frame[to as usize] = frame[from as usize];
    } else {
        frame.copy_within(from as usize..(from + count) as usize, to as usize);
    }
}

impl Count {
    #[inline]
    fn read(self, frame: &[u64]) -> i64 {
        let bits = frame[self.slot as usize];
        if self.unsigned { bits.min(i64::MAX as u64) as i64 } else { bits as i64 }
    }
}

impl Steps {
    /// Slots and bytes from the whole to the part; None if a run-time step leads outside.
    #[inline]
    fn offset(&self, frame: &[u64]) -> Option<(u32, u32)> {
        let (mut slot, mut byte) = (self.slot, self.byte);
        for step in &self.dynamic {
            let index = step.index.read(frame);
            let index = if index < 0 { index + i64::from(step.count) } else { index };
            let index = u32::try_from(index).ok().filter(|&i| i < step.count)?;
            slot += index * step.slots;
            byte += index * step.bytes;
        }
        Some((slot, byte))
    }
}

/// An array descriptor: two pointers and ten words of 32 bits.
const DESCRIPTOR_SLOTS: usize = 7;

/// The 32-bit words of a descriptor after its two pointers: extents, strides, rank, flags.
#[inline]
fn descriptor_word(frame: &[u64], array: u32, n: u32) -> i32 {
    (frame[(array + 2 + n / 2) as usize] >> (32 * (n % 2))) as i32
}

/// The descriptor of the adjoints: without any, nothing is inside its extents.
fn gradient(frame: &mut [u64], to: usize, array: usize) {
    let grad = frame[array + 1];
    if grad == 0 {
        frame[to..to + DESCRIPTOR_SLOTS].fill(0);
    } else {
        frame.copy_within(array + 2..array + DESCRIPTOR_SLOTS, to + 2);
        (frame[to], frame[to + 1]) = (grad, 0);
    }
}

/// The descriptor of the array at an address: `args` are the slots of the addresses and extents.
fn array_at(frame: &mut [u64], to: usize, args: &[u32], size: u32) {
    let [data, grad, extents @ ..] = args else { return };
    let (data, grad) = (frame[*data as usize], frame[*grad as usize]);
    let mut words = [0u32; 2 * (DESCRIPTOR_SLOTS - 2)];
    if data != 0 {
        let mut stride = size;
        for (dim, &slot) in extents.iter().enumerate().rev() {
            let extent = (frame[slot as usize] as u32 as i32).max(0) as u32;
            (words[EXTENT as usize + dim], words[STRIDE as usize + dim]) = (extent, stride);
            stride = stride.wrapping_mul(extent);
        }
        words[STRIDE as usize + 4] = extents.len() as u32;
    }
    (frame[to], frame[to + 1]) = (data, if data == 0 { 0 } else { grad });
    for (slot, pair) in frame[to + 2..to + DESCRIPTOR_SLOTS].iter_mut().zip(words.chunks_exact(2)) {
        *slot = u64::from(pair[0]) | u64::from(pair[1]) << 32;
    }
}

/// What an instruction counts as in [`Outcome::operations`].
fn float_operations(code: &Code) -> u64 {
    match code {
        Code::Unary { scalar, count, .. } | Code::Binary { scalar, count, .. } if scalar.is_float() => (*count).into(),
        Code::Fma { scalar, count, .. } if scalar.is_float() => 2 * u64::from(*count),
        _ => 0,
    }
}

const EXTENT: u32 = 0;
const STRIDE: u32 = 4;

impl<'p> Machine<'p, '_, '_> {
    fn trap(&mut self, trap: impl FnOnce() -> Trap) {
        if self.outcome.trap.is_none() {
            self.outcome.trap = Some(trap());
        }
    }

    /// `array`: the address of its first element.
    fn out_of_bounds(&mut self, span: Span, array: u64, dim: usize, index: i64, extent: i64) {
        let thread = self.thread;
        self.trap(|| Trap {
            kind: TrapKind::OutOfBounds,
            span,
            thread,
            dim: dim as u32,
            index,
            extent,
            array,
            message: format!("index {index} is out of bounds for dimension {dim} with extent {extent}"),
        });
    }

    /// The address of an element part; None if it is outside: a failed check of an index is
    /// recorded, a run-time step into a value that leads nowhere is no error.
    #[inline]
    fn address(&mut self, frame: &[u64], place: &ElementRef) -> Option<u64> {
        let mut address = frame[place.array as usize];
        for (dim, count) in place.index.iter().enumerate() {
            let index = count.read(frame);
            let (extent, stride) = match &place.local {
                Some(local) => (i64::from(local.shape[dim]), local.strides[dim] as i64),
                None => {
                    let word = |n: u32| i64::from(descriptor_word(frame, place.array, n + dim as u32));
                    (word(EXTENT), word(STRIDE))
                }
            };
            let mut inside = index;
            if index < 0 {
                inside += extent;
                self.outcome.from_end = true;
            }
            if inside < 0 || inside >= extent {
                self.out_of_bounds(place.span, frame[place.array as usize], dim, index, extent);
                return None;
            }
            address = address.wrapping_add((inside * stride) as u64);
        }
        if frame[place.array as usize] == 0 {
            self.out_of_bounds(place.span, 0, 0, place.index.first().map_or(0, |count| count.read(frame)), 0);
            return None;
        }
        let (_, byte) = place.path.offset(frame)?;
        Some(address.wrapping_add(u64::from(byte)))
    }

    fn block(&mut self, function: &'p FunctionCode, code: &'p [Code], frame: &mut [u64], local: LocalBase) -> Flow {
        if let Some(steps) = &mut self.outcome.steps {
            match steps.checked_sub(code.len() as u64) {
                Some(left) => *steps = left,
                None => {
                    *steps = 0;
                    let (span, thread) = (self.program.span, self.thread);
                    self.trap(|| Trap {
                        kind: TrapKind::StepLimit,
                        span,
                        thread,
                        dim: 0,
                        index: 0,
                        extent: 0,
                        array: 0,
                        message: "the step limit is reached".to_string(),
                    });
                    return Flow::Stop;
                }
            }
        }
        if let Some(operations) = &mut self.outcome.operations {
            *operations += code.iter().map(float_operations).sum::<u64>();
        }
        for inst in code {
            match inst {
                Code::Yield(moves) => {
                    copy(frame, moves);
                    return Flow::Next;
                }
                Code::Break(moves) => {
                    copy(frame, moves);
                    return Flow::Break;
                }
                Code::Continue(moves) => {
                    copy(frame, moves);
                    return Flow::Continue;
                }
                Code::Return(moves) => {
                    copy(frame, moves);
                    return Flow::Return;
                }
                Code::If { condition, then, otherwise } => {
                    let taken = if frame[*condition as usize] != 0 { then } else { otherwise };
                    match self.block(function, taken, frame, local) {
                        Flow::Next => {}
                        flow => return flow,
                    }
                }
                Code::For(data) => match self.for_loop(function, data, frame, local) {
                    Flow::Next => {}
                    flow => return flow,
                },
                Code::While(data) => match self.while_loop(function, data, frame, local) {
                    Flow::Next => {}
                    flow => return flow,
                },
                Code::Call { callee, arguments, results } => {
                    let callee = &self.program.functions[*callee];
                    let base = function.slots as u32;
                    for m in arguments {
                        copy_slots(frame, m.from, base + m.to, m.count);
                    }
                    let below = &mut frame[function.slots..];
                    callee.set_constants(below);
                    let local = local + function.local_bytes as u64;
                    if let Flow::Stop = self.block(callee, &callee.body, below, local) {
                        return Flow::Stop;
                    }
                    for m in results {
                        copy_slots(frame, base + m.from, m.to, m.count);
                    }
                }
                Code::GridSync(span) => {
                    if let Some(wait) = self.wait
                        && !wait.wait(self.outcome, *span)
                    {
                        return Flow::Stop;
                    }
                }
                inst => self.simple(inst, frame, local),
            }
        }
        // A verified block ends in a terminator.
        Flow::Next
    }

    fn for_loop(&mut self, function: &'p FunctionCode, data: &'p For, frame: &mut [u64], local: LocalBase) -> Flow {
        let value = |frame: &[u64], slot: u32| {
            let bits = frame[slot as usize];
            if data.scalar.is_signed_int() { i128::from(bits as i64) } else { i128::from(bits) }
        };
        let (start, end, step) = (value(frame, data.start), value(frame, data.end), value(frame, data.step));
        copy(frame, &data.init);
        // In 128 bits the counter cannot overflow; past the type's range it is past `end` too.
        let mut i = start;
        while (step > 0 && i < end) || (step < 0 && i > end) {
            frame[data.counter as usize] = i as u64;
            match self.block(function, &data.body, frame, local) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Flow::Next,
                flow => return flow,
            }
            i += step;
        }
        copy(frame, &data.results);
        Flow::Next
    }

    fn while_loop(&mut self, function: &'p FunctionCode, data: &'p While, frame: &mut [u64], local: LocalBase) -> Flow {
        copy(frame, &data.init);
        loop {
            if let Flow::Stop = self.block(function, &data.condition, frame, local) {
                return Flow::Stop;
            }
            if frame[data.holds as usize] == 0 {
                copy(frame, &data.results);
                return Flow::Next;
            }
            copy(frame, &data.enter);
            match self.block(function, &data.body, frame, local) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Flow::Next,
                flow => return flow,
            }
        }
    }

    /// Instructions that do not change the flow.
    fn simple(&mut self, inst: &Code, frame: &mut [u64], local: LocalBase) {
        let at = |frame: &[u64], scalar: Scalar, slot: u32| Const::new(scalar, frame[slot as usize]);
        // What a verified operation computes; the type rules leave no None.
        let bits = |c: Option<Const>| c.map_or(0, |c| c.bits);
        match inst {
            Code::Set { to, bits } => frame[*to as usize] = *bits,
            Code::Clear { to, count } => frame[*to as usize..(*to + *count) as usize].fill(0),
            Code::Unary { f, to, a, count, .. } | Code::Cast { f, to, a, count } => {
                for n in 0..*count {
                    frame[(to + n) as usize] = f(frame[(a + n) as usize]);
                }
            }
            Code::Binary { f, to, a, b, count: 1, .. } => {
                frame[*to as usize] = f(frame[*a as usize], frame[*b as usize]);
            }
            Code::Binary { f, to, a, b, stride_a, stride_b, count, .. } => {
                for n in 0..*count {
                    frame[(to + n) as usize] =
                        f(frame[(a + n * stride_a) as usize], frame[(b + n * stride_b) as usize]);
                }
            }
            Code::Compare { f, any, to, a, b, count } => {
                let mut pairs = (0..*count).map(|n| f(frame[(a + n) as usize], frame[(b + n) as usize]) != 0);
                let holds = if *any { pairs.any(|x| x) } else { pairs.all(|x| x) };
                frame[*to as usize] = u64::from(holds);
            }
            Code::Fma { f, to, a, b, c, count, .. } => {
                for n in 0..*count {
                    let of = |slot: u32| frame[(slot + n) as usize];
                    frame[(to + n) as usize] = f(of(*a), of(*b), of(*c));
                }
            }
            Code::Bitcast { from, scalar, to, a } => {
                frame[*to as usize] = bits(eval::bitcast(at(frame, *from, *a), *scalar));
            }
            Code::Select { condition, then, otherwise, to, count } => {
                let from = if frame[*condition as usize] != 0 { *then } else { *otherwise };
                copy_slots(frame, from, *to, *count);
            }
            Code::Move(moves) => copy(frame, moves),
            Code::Extract { to, from, count, path } => match path.offset(frame) {
                Some((slot, _)) => copy_slots(frame, from + slot, *to, *count),
                None => frame[*to as usize..(*to + *count) as usize].fill(0),
            },
            Code::Insert { to, whole, whole_count, part, count, path } => {
                copy_slots(frame, *whole, *to, *whole_count);
                if let Some((slot, _)) = path.offset(frame) {
                    copy_slots(frame, *part, to + slot, *count);
                }
            }
            Code::ThreadNumber { to } => frame[*to as usize] = self.thread as i32 as u64,
            Code::ThreadIndex { to, n } => frame[*to as usize] = self.coordinates[usize::from(*n)] as i32 as u64,
            Code::Extent { to, array, dim } => {
                frame[*to as usize] = descriptor_word(frame, *array, EXTENT + u32::from(*dim)) as u64;
            }
            Code::IsSet { to, array } => frame[*to as usize] = u64::from(frame[*array as usize] != 0),
            Code::Gradient { to, array } => gradient(frame, *to as usize, *array as usize),
            Code::ArrayAt { to, args, size } => array_at(frame, *to as usize, args, *size),
            Code::View { to, array, ndim, dims, span } => self.view(frame, *to, *array, *ndim, dims, *span),
            Code::Copy { size: [rows, columns], first, indices, to, from } => {
                let first = first.map(|slot| frame[slot as usize] as u32 as i32);
                for (row, column) in (0..*rows).flat_map(|row| (0..*columns).map(move |column| (row, column))) {
                    let at = [row as i32, column as i32];
                    let there = [0, 1].map(|n| first[n].wrapping_add(at[n]));
                    for (slot, index) in indices.iter().zip([at[0], at[1], there[0], there[1]]) {
                        frame[*slot as usize] = Const::int(Scalar::I32, index.into()).bits;
                    }
                    let (Some(source), Some(target)) = (self.address(frame, from), self.address(frame, to)) else {
                        continue;
                    };
                    let scalar = from.leaves.first().map_or(Scalar::I32, |leaf| leaf.scalar);
                    if let Some((accesses, thread)) = self.watching(from) {
                        accesses.read(source, thread, from.span);
                    }
                    // SAFETY: `address` checked the indices against the extents; the caller vouches
                    // for the array.
                    unsafe { memory::write(target, scalar, memory::read(source, scalar)) };
                }
            }
            Code::Product(multiply) => {
                // SAFETY: the slots are those of local arrays, which live as long as the frame.
                unsafe { multiply.run(frame) };
                if let Some([from, to, count]) = multiply.kept {
                    copy_slots(frame, from, to, count);
                }
            }
            Code::LocalArray { to, offset, bytes } => {
                let address = local + offset;
                self.locals.clear(address, *bytes);
                frame[*to as usize] = address;
            }
            Code::Load { to, place } => {
                let address = self.address(frame, place);
                if let (Some(base), Some(accesses)) = (address, self.watching(place)) {
                    place
                        .leaves
                        .iter()
                        .for_each(|leaf| accesses.0.read(base + u64::from(leaf.offset), accesses.1, place.span));
                }
                for (n, leaf) in place.leaves.iter().enumerate() {
                    // SAFETY: `address` checked the indices against the extents; the caller vouches
                    // for the array.
                    frame[*to as usize + n] =
                        address.map_or(0, |base| unsafe { memory::read(base + u64::from(leaf.offset), leaf.scalar) });
                }
            }
            Code::Store { from, place } => {
                if let Some(base) = self.address(frame, place) {
                    if let Some((accesses, thread)) = self.watching(place) {
                        for (n, leaf) in place.leaves.iter().enumerate() {
                            let at = base + u64::from(leaf.offset);
                            // SAFETY: as for loads.
                            let old = unsafe { memory::read(at, leaf.scalar) };
                            accesses.write(at, thread, place.span, old != frame[*from as usize + n]);
                        }
                    }
                    for (n, leaf) in place.leaves.iter().enumerate() {
                        // SAFETY: as for loads.
                        unsafe { memory::write(base + u64::from(leaf.offset), leaf.scalar, frame[*from as usize + n]) }
                    }
                }
            }
            Code::Atomic { op, to, value, place, used } => {
                self.update(frame, place, *to, Some(*op), *used, |frame, n, old| {
                    let new = Const::new(old.scalar, frame[*value as usize + n]);
                    op.binary().map_or(new.bits, |op| bits(eval::binary(op, old, new)))
                });
            }
            Code::AtomicCas { to, expected, new, place } => {
                self.update(frame, place, *to, None, true, |frame, n, old| {
                    let equal = old.bits == frame[*expected as usize + n];
                    if equal { frame[*new as usize + n] } else { old.bits }
                });
            }
            Code::Print { format, args } => {
                let args: Vec<Const> = args.iter().map(|&(slot, scalar)| at(frame, scalar, slot)).collect();
                (self.outcome.print)(&format::format(format, &args));
            }
            Code::Assert { condition, message, span } => {
                if frame[*condition as usize] == 0 {
                    let (span, thread, message) = (*span, self.thread, message.clone());
                    self.trap(|| Trap {
                        kind: TrapKind::Assert,
                        span,
                        thread,
                        dim: 0,
                        index: 0,
                        extent: 0,
                        array: 0,
                        message,
                    });
                }
            }
            Code::CheckDegenerate { holds, why, span } => {
                if frame[*holds as usize] != 0 && self.outcome.note.is_none() {
                    self.outcome.note = Some(Note { span: *span, thread: self.thread, why: why.clone() });
                }
            }
            Code::CheckVisit { holds, span } => {
                if frame[*holds as usize] != 0 {
                    self.outcome.visited.get_or_insert(*span);
                }
            }
            Code::CheckComponent { index, count, name, span } => {
                let (at, extent) = (index.read(frame), i64::from(*count));
                if !(-extent..extent).contains(&at) {
                    let (span, thread, message) = (*span, self.thread, name.clone());
                    self.trap(|| Trap {
                        kind: TrapKind::Component,
                        span,
                        thread,
                        dim: 0,
                        index: at,
                        extent,
                        array: 0,
                        message,
                    });
                }
            }
            // `block` has run these.
            Code::If { .. } | Code::For(_) | Code::While(_) | Code::Call { .. } => {}
            Code::GridSync(_) | Code::Yield(_) | Code::Break(_) | Code::Continue(_) | Code::Return(_) => {}
        }
    }

    /// Who watches the accesses to memory that threads share, and the thread that runs.
    #[inline]
    fn watching(&mut self, place: &ElementRef) -> Option<(&mut Accesses, u64)> {
        let accesses = self.outcome.accesses.as_mut()?;
        place.local.is_none().then_some((accesses, self.thread))
    }

    /// Replaces each scalar at a place by `f` of it; the old values go to `to` on, and are `used`
    /// or not.
    fn update(
        &mut self,
        frame: &mut [u64],
        place: &ElementRef,
        to: u32,
        op: Option<AtomicOp>,
        used: bool,
        f: impl Fn(&[u64], usize, Const) -> u64,
    ) {
        let address = self.address(frame, place);
        for (n, leaf) in place.leaves.iter().enumerate() {
            let old = match address {
                Some(base) => {
                    let at = base + u64::from(leaf.offset);
                    // SAFETY: as for loads; threads run one after the other, so this is
                    // indivisible.
                    unsafe {
                        let old = Const::new(leaf.scalar, memory::read(at, leaf.scalar));
                        let new = f(frame, n, old);
                        memory::write(at, leaf.scalar, new);
                        if let Some((accesses, thread)) = self.watching(place) {
                            accesses.update(at, thread, place.span, op, used || new == old.bits);
                        }
                        old.bits
                    }
                }
                None => 0,
            };
            frame[to as usize + n] = old;
        }
    }

    fn view(&mut self, frame: &mut [u64], to: u32, array: u32, ndim: u8, dims: &[ViewDim], span: Span) {
        let word = |n: u32| descriptor_word(frame, array, n);
        let (mut extents, mut strides) = ([0i32; MAX_DIMS], [0i32; MAX_DIMS]);
        let (mut kept, mut offset, mut failed) = (0, 0i64, None);
        for dim in 0..u32::from(ndim) {
            let (extent, stride) = (word(EXTENT + dim), word(STRIDE + dim));
            let keep = match dims.get(dim as usize) {
                None => Some((extent, stride)),
                Some(ViewDim::At(slot)) => {
                    let index = frame[*slot as usize] as i64;
                    let inside = if index < 0 { index + i64::from(extent) } else { index };
                    self.outcome.from_end |= index < 0;
                    if inside < 0 || inside >= i64::from(extent) {
                        failed = failed.or(Some((dim, index, extent)));
                    }
                    offset += inside * i64::from(stride);
                    None
                }
                Some(ViewDim::Range { start, stop, step }) => {
                    let [start, stop, step] = [start, stop, step].map(|&slot| frame[slot as usize] as i64);
                    let low = if step < 0 { -1 } else { 0 };
                    for bound in [start, stop] {
                        if bound < low || bound > i64::from(extent) + low {
                            failed = failed.or(Some((dim, bound, extent)));
                        }
                    }
                    if step == 0 {
                        failed = failed.or(Some((dim, step, extent)));
                    }
                    offset += start * i64::from(stride);
                    let distance = if step < 0 { start - stop } else { stop - start };
                    let pace = step.abs().max(1);
                    let count = (distance.max(0) + pace - 1) / pace;
                    Some((count as i32, (i64::from(stride) * step) as i32))
                }
            };
            if let Some((extent, stride)) = keep {
                extents[kept] = extent;
                strides[kept] = stride;
                kept += 1;
            }
        }
        if let Some((dim, index, extent)) = failed {
            self.out_of_bounds(span, frame[array as usize], dim as usize, index, i64::from(extent));
            frame[to as usize..to as usize + DESCRIPTOR_SLOTS].fill(0);
            return;
        }
        let pointer = |p: u64| if p == 0 { 0 } else { p.wrapping_add(offset as u64) };
        let (data, grad) = (pointer(frame[array as usize]), pointer(frame[array as usize + 1]));
        let flags = word(9);
        let pair = |low: i32, high: i32| u64::from(low as u32) | u64::from(high as u32) << 32;
        let descriptor = [
            data,
            grad,
            pair(extents[0], extents[1]),
            pair(extents[2], extents[3]),
            pair(strides[0], strides[1]),
            pair(strides[2], strides[3]),
            pair(kept as i32, flags),
        ];
        frame[to as usize..to as usize + 7].copy_from_slice(&descriptor);
    }
}
