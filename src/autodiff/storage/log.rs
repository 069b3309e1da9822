//! Which values that the launch overwrites does the backward entry need, and in which slots of the
//! log is each?
//!
//! The slots are numbered in the order in which the forward thread reaches them. Within straight
//! code a slot is the one at the start of the block plus a constant; the two branches of an `if`
//! share theirs. Only a loop that logs carries the next slot from iteration to iteration, as a
//! value of the program like any other: where each iteration adds as much, its reverse knows the
//! slot from the number of the iteration.

use std::borrow::Cow;

use super::buffers::{Buffers, Slots, Wanted, add, height, slots_of};
use crate::autodiff::analysis::world::World;
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{
    Access, BinaryOp, BlockId, Function, Inst, InstId, Op, Phase, TapeRole, ValueId, arrays, effects, jumps, nested,
    straight, values,
};
use crate::passes::loops::trips;
use crate::source::Span;
use crate::types::{I32, Scalar, StructTable};

/// More slots than this are not promised: the host asks how many a launch needs.
const MAX_STATIC: u64 = 1 << 16;

/// The slots of one instruction's results: from `base` (a value; None is 0) + an offset per buffer
/// on.
#[derive(Clone, Debug)]
pub struct Logged {
    pub base: Option<ValueId>,
    pub offset: Slots,
}

/// The log of a function: none, if `at` is empty.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub at: IdMap<InstId, Logged>,
    pub scalars: Vec<Scalar>,
    /// The slots that a thread needs at most, where compilation can tell.
    pub slots: Option<u32>,
    pub reason: String,
    /// All slots that the thread takes.
    end: Top,
}

/// The next free slot: of buffer `s` it is `base + offset[s]`.
#[derive(Clone, Debug, Default)]
struct Top {
    base: Option<ValueId>,
    offset: Slots,
    /// The greatest that `base` can be; None: unknown.
    bound: Option<u64>,
}

impl Top {
    fn start() -> Top {
        Top { base: None, offset: Slots::new(), bound: Some(0) }
    }

    fn total(&self) -> Option<u64> {
        Some(self.bound? + u64::from(height(&self.offset)))
    }

    /// As one value.
    fn value(&self, b: &mut Builder) -> ValueId {
        let number = b.int(Scalar::I32, i128::from(height(&self.offset)));
        match self.base {
            None => number,
            Some(base) if height(&self.offset) == 0 => base,
            Some(base) => b.binary(BinaryOp::Add, base, number),
        }
    }
}

/// Why a function's log can't be laid out.
pub struct NoLog {
    pub span: Span,
    pub why: String,
}

/// Assigns slots to the results of the instructions `wanted`, and adds to loops a carried value for
/// the next slot where they need one.
pub fn thread(function: &mut Cow<'_, Function>, structs: &StructTable, wanted: &IdSet<InstId>) -> Result<Log, NoLog> {
    if wanted.is_empty() {
        return Ok(Log::default());
    }
    let function = function.to_mut();
    let entry = function.entry;
    let mut threading = Threading { b: Builder::take(function, entry), structs, wanted, log: Log::default() };
    let end = threading.block(entry, Top::start());
    let Threading { b, mut log, .. } = threading;
    *function = b.finish();
    log.end = end?;
    log.slots = log.end.total().filter(|&n| n <= MAX_STATIC).map(|n| n as u32);
    let mut all = Slots::new();
    let mut names = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        if log.at.contains_key(&id) {
            all.extend(inst.results.iter().filter_map(|&r| slots_of(function.ty(r), structs)).flatten());
            let name = what(function, inst);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    });
    log.scalars = all.into_keys().collect();
    log.reason = format!("{}: overwritten by the launch and needed in reverse", names.join(", "));
    Ok(log)
}

/// What an instruction reads, for people.
fn what(function: &Function, inst: &Inst) -> String {
    let name = |v: ValueId| {
        let mut at = v;
        while let Some(Op::View(inner, _) | Op::Extract(inner, _)) = function.op(at) {
            at = *inner;
        }
        function.values[at].name.clone().unwrap_or_else(|| "an array".to_string())
    };
    match &inst.op {
        Op::Load(Access { array, .. }) => format!("what was read from `{}`", name(*array)),
        Op::Atomic { op, access: Access { array, .. }, .. } => {
            format!("the result of atomic {} on `{}`", op.name(), name(*array))
        }
        Op::AtomicCas { access: Access { array, .. }, .. } => {
            format!("the result of compare-and-swap on `{}`", name(*array))
        }
        Op::Call(..) => "the result of a call".to_string(),
        values!() | arrays!() | Op::Store { .. } | effects!() | nested!() | jumps!() => {
            "which branch was taken".to_string()
        }
    }
}

struct Threading<'a> {
    b: Builder,
    structs: &'a StructTable,
    wanted: &'a IdSet<InstId>,
    log: Log,
}

impl Threading<'_> {
    fn logs(&self, inst: InstId) -> bool {
        let mut found = false;
        for block in self.b.function.insts[inst].op.blocks() {
            self.b.function.walk(block, &mut |id, _| found |= self.wanted.contains(&id));
        }
        found
    }

    fn block(&mut self, block: BlockId, mut top: Top) -> Result<Top, NoLog> {
        let outside = self.b.switch_to(block);
        let insts = std::mem::take(&mut self.b.function.blocks[block].insts);
        let mut result = Ok(());
        for id in insts {
            if result.is_ok() {
                match self.inst(id, &top) {
                    Ok(next) => top = next,
                    Err(no) => result = Err(no),
                }
            } else {
                self.b.append(id);
            }
        }
        self.b.switch_to(outside);
        result.map(|()| top)
    }

    /// Appends an instruction; returns the next slot after it.
    fn inst(&mut self, id: InstId, top: &Top) -> Result<Top, NoLog> {
        let inst = self.b.function.insts[id].clone();
        self.b.span = inst.span;
        if self.wanted.contains(&id) {
            self.b.append(id);
            let mut next = top.clone();
            for &result in &inst.results {
                let Some(slots) = slots_of(self.b.ty(result), self.structs) else {
                    let why = "an array that is read from memory which the launch overwrites".to_string();
                    return Err(NoLog { span: inst.span, why });
                };
                add(&mut next.offset, &slots);
            }
            self.log.at.insert(id, Logged { base: top.base, offset: top.offset.clone() });
            return Ok(next);
        }
        if !self.logs(id) {
            self.b.append(id);
            return Ok(top.clone());
        }
        match inst.op {
            Op::If { then, otherwise, .. } => self.branches(id, [then, otherwise], top),
            Op::For { start, end, step, body, .. } => {
                let iterations = trips(&self.b.function, start, end, step);
                self.repeat(id, None, body, iterations, top)
            }
            Op::While { condition, body, .. } => self.repeat(id, Some(condition), body, None, top),
            straight!() | jumps!() => {
                self.b.append(id);
                Ok(top.clone())
            }
        }
    }

    fn branches(&mut self, id: InstId, blocks: [BlockId; 2], top: &Top) -> Result<Top, NoLog> {
        let ends = [self.block(blocks[0], top.clone())?, self.block(blocks[1], top.clone())?];
        self.b.append(id);
        if ends.iter().all(|end| end.base == top.base) {
            let mut next = top.clone();
            for (&scalar, &n) in ends.iter().flat_map(|end| &end.offset) {
                let slot = next.offset.entry(scalar).or_insert(0);
                *slot = n.max(*slot);
            }
            return Ok(next);
        }
        let bounds = [ends[0].total(), ends[1].total()];
        for (block, end) in blocks.into_iter().zip(&ends) {
            self.give(block, end);
        }
        let result = self.b.add_result(id, I32);
        let bound = bounds[0].zip(bounds[1]).map(|(a, b)| a.max(b));
        Ok(Top { base: Some(result), offset: Slots::new(), bound })
    }

    fn repeat(
        &mut self,
        id: InstId,
        condition: Option<BlockId>,
        body: BlockId,
        iterations: Option<u64>,
        top: &Top,
    ) -> Result<Top, NoLog> {
        let init = top.value(&mut self.b);
        if let Op::For { init: all, .. } | Op::While { init: all, .. } = &mut self.b.function.insts[id].op {
            all.push(init);
        }
        let at = |base: ValueId| Top { base: Some(base), offset: Slots::new(), bound: Some(0) };
        let mut tested = Slots::new();
        if let Some(condition) = condition {
            let param = self.b.add_param(condition, I32);
            let end = self.block(condition, at(param))?;
            if end.base != Some(param) {
                let why = "a loop inside a loop's condition reads what the launch overwrites".to_string();
                return Err(NoLog { span: self.b.span, why });
            }
            tested = end.offset;
        }
        let param = self.b.add_param(body, I32);
        self.b.name(param, "logged");
        let end = self.block(body, Top { offset: tested.clone(), ..at(param) })?;
        self.give(body, &end);
        self.b.append(id);
        let result = self.b.add_result(id, I32);
        let bound = (|| top.total()?.checked_add(iterations?.checked_mul(end.total()?)?))();
        Ok(Top { base: Some(result), offset: tested, bound })
    }

    /// One more value that a block yields: the next slot.
    fn give(&mut self, block: BlockId, top: &Top) {
        let outside = self.b.switch_to(block);
        let Some(last) = self.b.function.blocks[block].insts.pop() else { return };
        let value = top.value(&mut self.b);
        if let Op::Yield(values) = &mut self.b.function.insts[last].op {
            values.push(value);
        }
        self.b.append(last);
        self.b.switch_to(outside);
    }
}

/// The augmented forward entry of a kernel whose slots were laid out.
pub fn augmented(world: &World<'_>, function: &Function, log: &Log) -> Function {
    let mut b = Builder::resume(function.clone(), function.entry);
    b.function.name = world.unique_name(format!("{}_augmented", function.source_name));
    b.function.phase = Phase::Augmented;
    let insts = std::mem::take(&mut b.function.blocks[function.entry].insts);
    let wanted = Wanted {
        scalars: &log.scalars,
        role: TapeRole::Log,
        slots: log.slots,
        counted: log.slots.is_none(),
        reason: &log.reason,
    };
    let Some(buffers) = Buffers::new(&mut b, &wanted) else { return function.clone() };
    let mut recording = Recording { b, structs: &world.module.structs, log, buffers };
    recording.list(insts);
    recording.b.finish()
}

struct Recording<'a> {
    b: Builder,
    structs: &'a StructTable,
    log: &'a Log,
    buffers: Buffers,
}

impl Recording<'_> {
    fn list(&mut self, insts: Vec<InstId>) {
        for id in insts {
            let inst = self.b.function.insts[id].clone();
            if self.b.block() == self.b.function.entry && inst.op.is_terminator() && self.log.slots.is_none() {
                let end = self.log.end.value(&mut self.b);
                self.buffers.report(&mut self.b, end);
            }
            for block in inst.op.blocks() {
                let outside = self.b.switch_to(block);
                let inside = std::mem::take(&mut self.b.function.blocks[block].insts);
                self.list(inside);
                self.b.switch_to(outside);
            }
            self.b.append(id);
            if let Some(logged) = self.log.at.get(&id) {
                self.b.span = inst.span;
                for &result in &inst.results {
                    self.put(result, logged);
                }
            }
        }
    }

    fn put(&mut self, value: ValueId, logged: &Logged) {
        let (then, otherwise) = (self.b.new_block(&[]), self.b.new_block(&[]));
        let last = last_slot(self.b.ty(value), self.structs, &logged.offset);
        let condition = self.buffers.has_room(&mut self.b, logged.base, last);
        let outside = self.b.switch_to(then);
        self.buffers.put(&mut self.b, self.structs, value, logged.base, &logged.offset);
        self.b.yield_(&[]);
        self.b.switch_to(otherwise);
        self.b.yield_(&[]);
        self.b.switch_to(outside);
        self.b.push(Op::If { condition, then, otherwise }, &[]);
    }
}

/// The greatest offset of a slot that a value takes.
pub fn last_slot(ty: crate::types::Type, structs: &StructTable, offset: &Slots) -> u32 {
    let own = slots_of(ty, structs).unwrap_or_default();
    own.iter().map(|(scalar, &n)| offset.get(scalar).copied().unwrap_or(0) + n.max(1) - 1).max().unwrap_or(0)
}
