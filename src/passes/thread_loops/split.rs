//! Puts what differs between threads into loops over the threads.

use super::form::comes_of;
use super::run::{Reach, Run, Threads, same_element};
use super::updates::{Updates, gather};
use super::varying::Varying;
use super::{Block, Cause, Refused, Seeds};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::properties::Cost;
use crate::ir::{
    Access, BinaryOp, BlockId, Check, Const, FuncId, Function, FunctionKind, Inst, InstId, Op, Results, ValueDef,
    ValueId, Values, jumps, straight,
};
use crate::passes::block_threads::accesses::{Count, Touch, counts, upward_loops};
use crate::passes::block_threads::footprint::Iterations;
use crate::passes::copy::Copier;
use crate::source::Span;
use crate::types::{I32, LocalArrayType, Scalar, Type};

/// How far an index is computed again.
const MAX_DEPTH: u32 = 8;

/// How an instruction is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    /// Once.
    Once,
    /// By each thread.
    Each,
    /// A branch or loop that all threads go through, with parts of either kind in it.
    Both,
}

/// Where a block puts what it yields.
#[derive(Clone, Copy)]
enum Sink {
    /// As before.
    Keep,
    Drop,
    /// Each thread its value into its element of an array.
    Array(ValueId),
}

pub(super) fn split(
    function: &mut Function,
    effects: &EffectTable,
    seeds: &Seeds,
    varying: Varying,
    own: &IdSet<FuncId>,
    block: Block,
) -> Result<(), Refused> {
    let uses = crate::analysis::uses(function);
    let (loops, counts) = (upward_loops(function), counts(function));
    let FunctionKind::Kernel { rank } = function.kind else { return Ok(()) };
    let entry = function.entry;
    let mut split = Split {
        b: Builder::take(function, entry),
        effects,
        seeds,
        varying,
        own,
        uses,
        loops,
        counts,
        threads: block.threads,
        first: None,
        homes: IdMap::default(),
        refused: None,
    };
    if seeds.coordinate.is_some() {
        // The block's first coordinate, which is the same for all its threads.
        let rest = std::mem::take(&mut split.b.function.blocks[entry].insts);
        let number = split.b.one(Op::ThreadIndex(rank - 1), I32);
        let size = split.b.int(Scalar::I32, block.size.into());
        split.first = Some(split.b.binary(BinaryOp::Mul, number, size));
        split.b.function.blocks[entry].insts.extend(rest);
    }
    let before = split.b.function.blocks[entry].insts.len();
    let kept = if seeds.coordinate.is_some() { 3 } else { 0 };
    split.block(entry, kept, &[]);
    debug_assert!(before >= kept);
    let Split { b, refused, .. } = split;
    *function = b.finish();
    refused.map_or(Ok(()), Err)
}

struct Split<'a> {
    b: Builder,
    effects: &'a EffectTable,
    seeds: &'a Seeds,
    varying: Varying,
    own: &'a IdSet<FuncId>,
    uses: IdVec<ValueId, u32>,
    /// By their bodies, start and end of the loops that count upward.
    loops: IdMap<BlockId, [ValueId; 2]>,
    /// By their variables, the loops that count by 1 between constants.
    counts: IdMap<ValueId, Count>,
    threads: u32,
    /// Where a block's threads begin in the last coordinate.
    first: Option<ValueId>,
    /// The arrays of values that several loops need.
    homes: IdMap<ValueId, ValueId>,
    refused: Option<Refused>,
}

impl Split<'_> {
    fn f(&self) -> &Function {
        &self.b.function
    }

    fn refuse(&mut self, refused: Refused) {
        self.refused.get_or_insert(refused);
    }

    /// What is done together by all threads and cannot be.
    fn refuse_together(&mut self, cause: Cause, message: &str, labels: Vec<(Span, String)>) {
        let mut labels = labels;
        if let Some(span) = self.seeds.span {
            labels.push((span, "each thread has its own".to_string()));
        }
        let help = "what belongs to the block is the same for all its threads; where the kernel has a coordinate for the \
                    blocks only, launch it with one dimension more (`wp.launch_tiled`)";
        self.refuse(Refused { cause, message: message.to_string(), labels, help });
    }

    fn class(&mut self, id: InstId) -> Class {
        let inst = self.b.function.insts[id].clone();
        if !self.varying.any(self.f(), self.own, &inst) {
            return Class::Once;
        }
        let differs = match inst.op {
            Op::If { condition, .. } => self.varying.value(condition),
            Op::For { start, end, step, .. } => [start, end, step].into_iter().any(|v| self.varying.value(v)),
            Op::While { condition, .. } => self.f().yielded(condition).first().is_some_and(|&v| self.varying.value(v)),
            straight!() | jumps!() => return Class::Each,
        };
        let reach = Reach::of(self.f(), self.effects, id);
        if differs {
            self.expect_no_tiles(id, &inst, &reach);
            return Class::Each;
        }
        let same = inst.results.iter().any(|&result| self.uses[result] > 0 && !self.varying.value(result));
        if same
            || reach.rereads()
            || self.resets(id, &reach)
            || inst.op.blocks().iter().any(|&block| self.does_once(block))
        {
            return Class::Both;
        }
        Class::Each
    }

    /// Whether a block does something once for all threads that is more than computing values.
    fn does_once(&self, block: BlockId) -> bool {
        let function = self.f();
        function.blocks[block].insts.iter().any(|&id| {
            let inst = &function.insts[id];
            let nested = inst.op.blocks();
            if !nested.is_empty() {
                let differs = matches!(inst.op, Op::If { condition, .. } if self.varying.value(condition));
                return !differs && nested.iter().any(|&block| self.does_once(block));
            }
            let own = self.effects.properties(&inst.op);
            let tile = inst.results.first().is_some_and(|&result| function.ty(result).is_tile());
            (tile || own.has_side_effect()) && !self.varying.inst(self.own, inst)
        })
    }

    /// Refuses tile operations under a condition on which threads differ.
    fn expect_no_tiles(&mut self, id: InstId, inst: &Inst, reach: &Reach) {
        let mut found = None;
        for &block in inst.op.blocks().iter() {
            self.f().walk(block, &mut |_, inner| {
                let tile = inner.results.first().is_some_and(|&result| self.f().ty(result).is_tile());
                if tile || matches!(inner.op, Op::Check(Check::Together { begins: true }, _)) {
                    found = found.or(Some(inner.span));
                }
            });
        }
        // `if wp.thread() > 2: return`: what is behind it is what the others do.
        if let Some(at) = found.filter(|at| at.file == inst.span.file && at.start >= inst.span.end) {
            self.refuse(Refused {
                cause: Cause::Way,
                message: "some threads of a block leave before what all of them do together".to_string(),
                labels: vec![
                    (at, "all threads of the block have to come here".to_string()),
                    (inst.span, "some leave here".to_string()),
                ],
                help: "let every thread go on: put what the others do alone under the opposite condition, and leave what all do \
                       together (`wp.sync()`, tile operations) behind it",
            });
        } else if let Some(at) = found {
            let labels = vec![
                (at, "all threads of a block do this together".to_string()),
                (inst.span, "threads differ in whether, or how often, they come to it".to_string()),
            ];
            self.refuse_together(Cause::Way, "a tile operation stands where only some threads of a block come", labels);
        } else if let Some((set, read)) = self.reread_of_others(id, reach) {
            let span = |touch: &Touch| self.f().insts[touch.at].span;
            let mut labels = vec![(span(&read), "a thread reads an element here".to_string())];
            if span(&set) != span(&read) {
                labels.push((span(&set), "another thread may set it here".to_string()));
            }
            labels.push((inst.span, "only some threads come here, and nothing says when they do".to_string()));
            let message = "threads read elements of a tile that others may set in the same place".to_string();
            let help = "read them into a variable before, and set them behind a `wp.sync()`";
            self.refuse(Refused { cause: Cause::Way, message, labels, help });
        }
    }

    /// What threads set and others may read in the same instruction.
    fn reread_of_others(&self, id: InstId, reach: &Reach) -> Option<(Touch, Touch)> {
        let blocks = self.f().insts[id].op.blocks();
        let is_update = |set: &Touch, read: &Touch| {
            same_element(self.f(), set, read)
                && self.f().insts[read.at].results.first().is_some_and(|&value| {
                    let found = comes_of(self.f(), &blocks, value);
                    let mut any = reach.guards(set).iter().any(|guard| found.contains(&guard.condition));
                    self.f().insts[set.at].op.for_each_operand(|v| any |= found.contains(&v));
                    any
                })
        };
        self.with_threads(&[id], &Updates::default(), |threads| {
            let apart =
                |set: &Touch, read: &Touch| threads.are_apart((set, reach.guards(set)), (read, reach.guards(read)));
            let found = reach.reread(&|set, read| !is_update(set, read) && !apart(set, read));
            found.map(|(set, read)| (set.clone(), read.clone()))
        })
    }

    /// Whether threads set elements of a tile here that others set too, in another line or turn:
    /// all of them do a line before the next one.
    fn resets(&self, id: InstId, reach: &Reach) -> bool {
        let function = self.f();
        let mut again: IdSet<InstId> = IdSet::default();
        let mut repeats = |inst: &Inst| {
            for &block in inst.op.blocks().iter().filter(|_| matches!(inst.op, Op::For { .. } | Op::While { .. })) {
                function.walk(block, &mut |inner, _| _ = again.insert(inner));
            }
        };
        let inst = &function.insts[id];
        repeats(inst);
        for &block in inst.op.blocks().iter() {
            function.walk(block, &mut |_, inner| repeats(inner));
        }
        // In the same elements the last thread has the last word, whatever the order.
        let alike = |touch: &Touch| {
            let differs = |&v: &ValueId| self.varying.value(v);
            reach.guards(touch).iter().all(|guard| !differs(&guard.condition))
                && touch.indices.as_ref().is_some_and(|indices| !indices.iter().any(differs))
        };
        self.with_threads(&[id], &Updates::default(), |threads| {
            let apart = |a: &Touch, b: &Touch| threads.are_apart((a, reach.guards(a)), (b, reach.guards(b)));
            reach.resets(&again, &|a, b| !(alike(a) && alike(b) || apart(a, b)))
        })
    }

    /// Asks about elements that threads touch in these instructions.
    fn with_threads<T>(&self, insts: &[InstId], updates: &Updates, ask: impl FnOnce(&Threads<'_>) -> T) -> T {
        let function = self.f();
        let mut inside: IdSet<ValueId> = IdSet::default();
        let blocks = insts.iter().flat_map(|&id| function.insts[id].op.blocks());
        blocks.for_each(|block| inside.extend(function.defined_in(block)));
        let uniform = |v: ValueId| !self.varying.value(v) && !inside.contains(&v);
        let natural = |v: ValueId| {
            self.seeds.thread == Some(v)
                || self.seeds.coordinate == Some(v)
                || self.counts.get(&v).is_some_and(|count| count.least >= 0)
                || matches!(function.op(v), Some(Op::ThreadIndex(_) | Op::Extent(..)))
        };
        // What counts as different in each thread, be it the same, is what it is.
        let plain = |v: ValueId| {
            if let Some(&Op::Select { condition, then, otherwise }) = function.op(v) {
                match self.seeds.tests.get(&condition) {
                    Some(true) => then,
                    Some(false) => otherwise,
                    None => v,
                }
            } else {
                v
            }
        };
        let iterations = Iterations {
            function,
            variable: self.seeds.thread,
            first: 0,
            count: self.threads as usize,
            coordinate: self.seeds.coordinate,
            uniform: &uniform,
            natural: &natural,
            plain: &plain,
            loops: &self.loops,
            counts: &self.counts,
        };
        ask(&Threads { iterations, updates })
    }

    /// The first instructions, `kept`, stay where they are.
    fn block(&mut self, block: BlockId, kept: usize, sinks: &[Sink]) {
        let mut first = std::mem::take(&mut self.b.function.blocks[block].insts);
        let (all, updates) = gather(self.f(), self.effects, first.split_off(kept));
        let outside = self.b.switch_to(block);
        first.into_iter().for_each(|id| self.b.append(id));
        let (mut run, mut together, mut begun) = (Run::default(), 0u32, None);
        for id in all {
            let inst = self.b.function.insts[id].clone();
            self.b.span = inst.span;
            if inst.results.first().is_some_and(|&result| self.seeds.has(result)) {
                continue;
            }
            if let Op::Check(Check::Together { begins }, _) = inst.op {
                if begins && together == 0 {
                    begun = Some(inst.span);
                }
                together = if begins { together + 1 } else { together.saturating_sub(1) };
                run.seal();
                continue;
            }
            if let Op::Yield(values) = &inst.op {
                self.yields(&mut run, values, sinks, id);
                continue;
            }
            if inst.op.is_terminator() {
                self.flush(&mut run, &[]);
                self.b.append(id);
                continue;
            }
            let class = self.class(id);
            if together > 0 && class != Class::Once && !self.effects.properties(&inst.op).is_value() {
                // In the library, it is the call that is meant.
                let own = inst.span.file == self.f().span.file;
                let at = begun.filter(|_| !own).unwrap_or(inst.span);
                let labels = vec![(at, "all threads of a block do this together".to_string())];
                self.refuse_together(
                    Cause::Other,
                    "a tile operation gets what differs between the threads of a block",
                    labels,
                );
            }
            if self.refused.is_some() {
                self.b.append(id);
                continue;
            }
            let reach = Reach::of(self.f(), self.effects, id);
            match class {
                Class::Once => {
                    if run.holds_up(&reach) {
                        self.flush(&mut run, &[]);
                    }
                    self.b.append(id);
                }
                Class::Each => {
                    let whole = match updates.get(&id) {
                        Some(&set) => Reach::of(self.f(), self.effects, id).and(Reach::of(self.f(), self.effects, set)),
                        None => Reach::of(self.f(), self.effects, id),
                    };
                    let mut both = run.insts.clone();
                    both.push(id);
                    if self.with_threads(&both, &updates, |threads| run.ends_before(&whole, threads)) {
                        self.flush(&mut run, &[]);
                    }
                    run.push(id, reach);
                }
                Class::Both => self.both(&mut run, id, inst),
            }
        }
        self.b.switch_to(outside);
    }

    fn yields(&mut self, run: &mut Run, values: &Values, sinks: &[Sink], id: InstId) {
        let mut stores = Vec::new();
        let mut left = Values::new();
        for (n, &value) in values.iter().enumerate() {
            match sinks.get(n) {
                None | Some(Sink::Keep) => left.push(value),
                Some(Sink::Drop) => {}
                Some(Sink::Array(array)) => stores.push((*array, value)),
            }
        }
        self.flush(run, &stores);
        self.b.function.insts[id].op = Op::Yield(left);
        self.b.append(id);
    }

    /// An array with an element for each thread.
    fn array(&mut self, value: ValueId) -> Option<ValueId> {
        let Some(element) = self.b.ty(value).element() else {
            let at = self.b.function.values[value].span;
            self.refuse(Refused {
                cause: Cause::Other,
                message: "an array that differs between threads is needed before and after what they do together"
                    .into(),
                labels: vec![(at, "each thread has its own".to_string())],
                help: "keep its numbers in a vector, or in variables",
            });
            return None;
        };
        let ty = LocalArrayType { element, shape: [self.threads, 1, 1, 1], ndim: 1, block: true };
        let array = self.b.one(Op::LocalArray, Type::Local(ty));
        if let Some(name) = self.b.function.values[value].name.clone() {
            self.b.name(array, &name);
        }
        Some(array)
    }

    /// A branch or loop with parts of either kind. What it passes on for each thread is in arrays.
    fn both(&mut self, run: &mut Run, id: InstId, inst: Inst) {
        let wanted = |this: &Self, values: &[ValueId]| values.iter().any(|&v| this.uses[v] > 0);
        let mut first = Vec::new();
        let mut sinks = Vec::new();
        let carried = |this: &Self, block: BlockId, skip: usize| this.f().blocks[block].params[skip..].to_vec();
        let (init, params, tested): (Values, Vec<ValueId>, Vec<ValueId>) = match &inst.op {
            Op::For { init, body, .. } => (init.clone(), carried(self, *body, 1), Vec::new()),
            Op::While { init, condition, body } => {
                (init.clone(), carried(self, *body, 0), carried(self, *condition, 0))
            }
            straight!() | Op::If { .. } | jumps!() => (Values::new(), Vec::new(), Vec::new()),
        };
        self.flush(run, &[]);
        for (n, &result) in inst.results.iter().enumerate() {
            if !self.varying.value(result) {
                sinks.push(Sink::Keep);
                continue;
            }
            let names: Vec<ValueId> =
                [Some(&result), params.get(n), tested.get(n)].into_iter().flatten().copied().collect();
            let array = if wanted(self, &names) { self.array(result) } else { None };
            sinks.push(array.map_or(Sink::Drop, Sink::Array));
            if let Some(array) = array {
                names.iter().for_each(|&name| _ = self.homes.insert(name, array));
                first.extend(init.get(n).map(|&value| (array, value)));
            }
        }
        self.flush(run, &first);
        let keeps = |n: usize| matches!(sinks.get(n), None | Some(Sink::Keep));
        let left: Values = init.iter().enumerate().filter(|(n, _)| keeps(*n)).map(|(_, &v)| v).collect();
        let mut op = inst.op.clone();
        match &mut op {
            Op::If { then, otherwise, .. } => {
                self.block(*then, 0, &sinks);
                self.block(*otherwise, 0, &sinks);
            }
            Op::For { init, body, .. } => {
                *init = left;
                self.keep_params(*body, 1, &keeps);
                self.block(*body, 0, &sinks);
            }
            Op::While { init, condition, body } => {
                *init = left;
                self.keep_params(*condition, 0, &keeps);
                self.keep_params(*body, 0, &keeps);
                self.block(*condition, 0, &[]);
                self.block(*body, 0, &sinks);
            }
            straight!() | jumps!() => {}
        }
        let results: Results = inst.results.iter().enumerate().filter(|(n, _)| keeps(*n)).map(|(_, &v)| v).collect();
        for (n, &result) in results.iter().enumerate() {
            self.b.function.values[result].def = ValueDef::Result(id, n as u32);
        }
        let slot = &mut self.b.function.insts[id];
        (slot.op, slot.results) = (op, results);
        self.b.append(id);
    }

    fn keep_params(&mut self, block: BlockId, skip: usize, keeps: &dyn Fn(usize) -> bool) {
        let params = std::mem::take(&mut self.b.function.blocks[block].params);
        let left = params.into_iter().enumerate().filter(|(n, _)| *n < skip || keeps(*n - skip));
        let left: Vec<ValueId> = left.map(|(_, param)| param).collect();
        for (n, &param) in left.iter().enumerate() {
            self.b.function.values[param].def = ValueDef::Param(block, n as u32);
        }
        self.b.function.blocks[block].params = left;
    }

    /// Whether a value that differs is an index, or the like, that costs little to compute again.
    fn again(&self, value: ValueId, depth: u32) -> bool {
        if !self.varying.value(value) || self.seeds.has(value) || self.homes.contains_key(&value) {
            return true;
        }
        let ty = self.f().ty(value);
        let small = ty.as_scalar().is_some_and(|s| !s.is_float()) || matches!(ty, Type::Array(_));
        let Some(inst) = self.f().def(value).filter(|_| small && depth > 0) else { return false };
        let own = inst.op.properties();
        // A quotient or rest by a constant is a few instructions.
        let by_constant = if let Op::Binary(BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem, _, by) = inst.op {
            self.f().as_const(by).and_then(|c| c.as_int()).is_some_and(|by| by > 0)
        } else {
            false
        };
        let cheap = by_constant || !own.may_trap && matches!(own.cost, Cost::Free | Cost::Simple);
        let mut all = own.is_value() && cheap || matches!(inst.op, Op::View(..));
        all &= inst.op.blocks().is_empty();
        inst.op.for_each_operand(|v| all = all && self.again(v, depth - 1));
        all
    }

    /// The loop of what was gathered, and of what is to be put into arrays.
    fn flush(&mut self, run: &mut Run, stores: &[(ValueId, ValueId)]) {
        let insts = run.clear();
        if insts.is_empty() && stores.is_empty() || self.refused.is_some() {
            return;
        }
        let function = self.f();
        let mut inside: IdMap<ValueId, u32> = IdMap::default();
        let mut defined: IdSet<ValueId> = IdSet::default();
        let mut needed: Vec<ValueId> = Vec::new();
        let mut effects = !stores.is_empty();
        for &id in &insts {
            let mut use_all = |_: InstId, inst: &Inst| {
                inst.op.for_each_operand(|v| {
                    *inside.entry(v).or_default() += 1;
                    needed.push(v);
                });
                effects |= self.effects.properties(&inst.op).has_side_effect();
            };
            let inst = &function.insts[id];
            use_all(id, inst);
            defined.extend(inst.results.iter().copied());
            for &block in inst.op.blocks().iter() {
                function.walk(block, &mut use_all);
                defined.extend(function.defined_in(block));
            }
        }
        let mut exports: Vec<(ValueId, ValueId)> = Vec::new();
        let results: Vec<ValueId> = insts.iter().flat_map(|&id| function.insts[id].results.iter().copied()).collect();
        for result in results {
            let stored = stores.iter().filter(|(_, value)| *value == result).count() as u32;
            let used = self.uses[result] > inside.get(&result).copied().unwrap_or(0) + stored;
            if used && !self.again(result, MAX_DEPTH) {
                let Some(array) = self.array(result) else { return };
                exports.push((result, array));
                self.homes.insert(result, array);
            }
        }
        if !effects && exports.is_empty() {
            return;
        }
        let body = self.b.new_block(&[I32]);
        let thread = self.b.params(body)[0];
        let outside = self.b.switch_to(body);
        let mut each = Thread { copier: Copier::within(), here: defined, thread };
        for value in needed {
            self.bring(&mut each, value);
        }
        for id in insts {
            each.copier.inst(&mut self.b, id);
        }
        let values: Vec<(ValueId, ValueId)> =
            stores.iter().map(|&(array, v)| (array, self.bring(&mut each, v))).collect();
        let exports = exports.into_iter().map(|(result, array)| (array, each.copier.value(result)));
        for (array, value) in exports.chain(values).collect::<Vec<_>>() {
            self.b.effect(Op::Store { access: Access::element(array, &[thread]), value });
        }
        self.b.yield_(&[]);
        self.b.switch_to(outside);
        let [start, end, step] = [0, self.threads.into(), 1].map(|n| self.b.int(Scalar::I32, n));
        self.b.effect(Op::For { start, end, step, init: Values::new(), body });
    }

    /// Makes a value known in a loop over the threads; gives what it is there.
    fn bring(&mut self, each: &mut Thread, value: ValueId) -> ValueId {
        if !self.varying.value(value) || !each.here.insert(value) {
            return each.copier.value(value);
        }
        let made = if self.seeds.thread == Some(value) {
            each.thread
        } else if self.seeds.coordinate == Some(value) {
            match self.first {
                Some(first) => self.b.binary(BinaryOp::Add, first, each.thread),
                None => each.thread,
            }
        } else if let Some(&holds) = self.seeds.tests.get(&value) {
            self.b.constant(Const::new(Scalar::Bool, holds.into()))
        } else if let Some(&array) = self.homes.get(&value) {
            let ty = self.b.ty(value);
            self.b.one(Op::Load(Access::element(array, &[each.thread])), ty)
        } else if let ValueDef::Result(id, _) = self.b.function.values[value].def {
            let mut operands = Vec::new();
            self.b.function.insts[id].op.for_each_operand(|v| operands.push(v));
            for operand in operands {
                self.bring(each, operand);
            }
            each.copier.inst(&mut self.b, id);
            return each.copier.value(value);
        } else {
            value
        };
        if let Some(name) = self.b.function.values[value].name.clone()
            && made != each.thread
        {
            self.b.name(made, &name);
        }
        each.copier.map(value, made);
        made
    }
}

/// One iteration of a loop over the threads.
struct Thread {
    copier: Copier<'static>,
    /// The values that are known in it.
    here: IdSet<ValueId>,
    thread: ValueId,
}
