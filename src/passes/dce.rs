//! Removes what nothing uses: instructions without effects, results of `if`, values that a loop carries, loops and
//! branches that do nothing. A value that a loop carries without ever changing it becomes the value it starts with.
//!
//! Liveness goes backwards from effects and `return`. Slots (result n of an `if` or loop with everything that feeds it)
//! are live one by one, so a carried value that feeds only itself is dead.

use super::functions::has_effect;
use crate::ids::IdVec;
use crate::ir::facts::EffectTable;
use crate::ir::{BlockId, Function, InstId, Op, ValueDef, ValueId};

/// Cleans a function; the effects say which calls can go. Says whether anything changed.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    let shape = Shape::of(function);
    let unchanged = replace_unchanged(function, &shape);
    let mut liveness = Liveness {
        function,
        shape: &shape,
        live: vec![false; function.insts.len()],
        slots: vec![Vec::new(); function.insts.len()],
    };
    liveness.roots(effects);
    let (live, slots) = (liveness.live, liveness.slots);
    sweep(function, &shape, &live, &slots) | unchanged
}

/// How the instructions of a function nest.
struct Shape {
    /// The block each instruction stands in.
    home: Vec<Option<BlockId>>,
    /// The instruction that holds a block.
    holder: Vec<Option<InstId>>,
    /// For each `if` and loop, the terminators that give its slots' next values: `yield` and `continue`.
    next: Vec<Vec<InstId>>,
    /// For each loop, its `break`s.
    out: Vec<Vec<InstId>>,
    /// In program order.
    order: Vec<InstId>,
    has_loops: bool,
}

impl Shape {
    fn of(function: &Function) -> Shape {
        let count = function.insts.len();
        let mut shape = Shape {
            home: vec![None; count],
            holder: vec![None; function.blocks.len()],
            next: vec![Vec::new(); count],
            out: vec![Vec::new(); count],
            order: Vec::with_capacity(count),
            has_loops: false,
        };
        shape.block(function, function.entry, None, None);
        shape
    }

    /// `holder` receives the block's `yield`, `inner` (the loop around it) its `break` and `continue`.
    fn block(&mut self, function: &Function, block: BlockId, holder: Option<InstId>, inner: Option<InstId>) {
        for &id in &function.blocks[block].insts {
            self.home[id.0 as usize] = Some(block);
            self.order.push(id);
            let add = |list: &mut Vec<Vec<InstId>>, to: Option<InstId>| {
                if let Some(to) = to {
                    list[to.0 as usize].push(id);
                }
            };
            let op = &function.insts[id].op;
            match op {
                Op::Yield(_) => add(&mut self.next, holder),
                Op::Continue(_) => add(&mut self.next, inner),
                Op::Break(_) => add(&mut self.out, inner),
                Op::For { .. } | Op::While { .. } => self.has_loops = true,
                _ => {}
            }
            for nested in op.blocks() {
                self.holder[nested.0 as usize] = Some(id);
                match *op {
                    // A condition's `yield` is no next value.
                    Op::While { condition, .. } if condition == nested => self.block(function, nested, None, None),
                    Op::If { .. } => self.block(function, nested, Some(id), inner),
                    _ => self.block(function, nested, Some(id), Some(id)),
                }
            }
        }
    }
}

/// The values a terminator carries.
fn carried(op: &Op) -> &[ValueId] {
    match op {
        Op::Yield(values) | Op::Break(values) | Op::Continue(values) | Op::Return(values) => values,
        _ => &[],
    }
}

struct Liveness<'a> {
    function: &'a Function,
    shape: &'a Shape,
    live: Vec<bool>,
    /// The live slots of each `if` and loop.
    slots: Vec<Vec<bool>>,
}

impl Liveness<'_> {
    fn roots(&mut self, effects: &EffectTable) {
        let mut work = Vec::new();
        for &id in &self.shape.order {
            let root = match &self.function.insts[id].op {
                Op::Return(_) | Op::While { .. } => true,
                Op::Call(callee, _) => !effects[*callee].can_go(),
                op => has_effect(op),
            };
            if root {
                work.push(Need::Inst(id));
                self.mark(&mut work);
            }
        }
    }

    /// Marks everything that some needs lead to. A work list, because chains of values are long.
    fn mark(&mut self, work: &mut Vec<Need>) {
        let function = self.function;
        while let Some(need) = work.pop() {
            match need {
                Need::Inst(id) => {
                    if std::mem::replace(&mut self.live[id.0 as usize], true) {
                        continue;
                    }
                    let home = self.shape.home[id.0 as usize];
                    work.extend(home.and_then(|block| self.shape.holder[block.0 as usize]).map(Need::Inst));
                    match &function.insts[id].op {
                        Op::If { condition, .. } => work.push(Need::Value(*condition)),
                        Op::For { start, end, step, .. } => {
                            work.extend([start, end, step].map(|&v| Need::Value(v)));
                            self.exits(id, work);
                        }
                        Op::While { condition, .. } => {
                            if let Some(inst) = function.terminator(*condition) {
                                work.extend(carried(&inst.op).iter().map(|&v| Need::Value(v)));
                            }
                            self.exits(id, work);
                        }
                        Op::Yield(_) | Op::Break(_) | Op::Continue(_) => {}
                        op => op.for_each_operand(|v| work.push(Need::Value(v))),
                    }
                }
                Need::Value(value) => match function.values[value].def {
                    ValueDef::Result(inst, n) => {
                        work.push(Need::Inst(inst));
                        if !function.insts[inst].op.blocks().is_empty() {
                            work.push(Need::Slot(inst, n as usize));
                        }
                    }
                    ValueDef::Param(block, n) => {
                        if let Some(inst) = self.shape.holder[block.0 as usize] {
                            // The first parameter of a `for` is its counter.
                            let first = u32::from(matches!(function.insts[inst].op, Op::For { .. }));
                            work.push(Need::Inst(inst));
                            if n >= first {
                                work.push(Need::Slot(inst, (n - first) as usize));
                            }
                        }
                    }
                },
                Need::Slot(inst, n) => {
                    let slots = &mut self.slots[inst.0 as usize];
                    slots.resize(function.insts[inst].results.len(), false);
                    if std::mem::replace(&mut slots[n], true) {
                        continue;
                    }
                    if let Op::For { init, .. } | Op::While { init, .. } = &function.insts[inst].op {
                        work.push(Need::Value(init[n]));
                    }
                    let (next, out) = (&self.shape.next[inst.0 as usize], &self.shape.out[inst.0 as usize]);
                    let feeds = next.iter().chain(out).filter_map(|&t| carried(&function.insts[t].op).get(n));
                    work.extend(feeds.map(|&v| Need::Value(v)));
                }
            }
        }
    }

    /// What leaves or restarts a live loop decides how often it turns.
    fn exits(&self, id: InstId, work: &mut Vec<Need>) {
        let (next, out) = (&self.shape.next[id.0 as usize], &self.shape.out[id.0 as usize]);
        work.extend(next.iter().chain(out).map(|&inst| Need::Inst(inst)));
    }
}

enum Need {
    Inst(InstId),
    Value(ValueId),
    /// Slot `n` of an `if` or loop.
    Slot(InstId, usize),
}

/// Takes out what is not live; says whether there was anything.
fn sweep(function: &mut Function, shape: &Shape, live: &[bool], slots: &[Vec<bool>]) -> bool {
    let mut changed = false;
    for &id in &shape.order {
        let inst = &function.insts[id];
        let count = inst.results.len();
        if inst.op.blocks().is_empty() || !live[id.0 as usize] || count == 0 {
            continue;
        }
        let keep: Vec<bool> = (0..count).map(|n| slots[id.0 as usize].get(n) == Some(&true)).collect();
        if keep.iter().all(|&k| k) {
            continue;
        }
        changed = true;
        remove_slots(function, shape, id, &keep);
    }
    for block in function.blocks.values_mut() {
        let before = block.insts.len();
        let last = block.insts.last().copied();
        block.insts.retain(|&id| live[id.0 as usize] || Some(id) == last);
        changed |= block.insts.len() != before;
    }
    changed
}

/// Removes the slots not kept from an `if` or loop, its blocks and their terminators.
fn remove_slots(function: &mut Function, shape: &Shape, id: InstId, keep: &[bool]) {
    fn retain<A: smallvec::Array<Item = ValueId>>(list: &mut smallvec::SmallVec<A>, keep: &[bool]) {
        let mut at = 0;
        list.retain(|_| {
            at += 1;
            keep.get(at - 1) != Some(&false)
        });
    }
    retain(&mut function.insts[id].results, keep);
    for (n, &result) in function.insts[id].results.iter().enumerate() {
        function.values[result].def = ValueDef::Result(id, n as u32);
    }
    if let Op::For { init, .. } | Op::While { init, .. } = &mut function.insts[id].op {
        retain(init, keep);
    }
    let op = function.insts[id].op.clone();
    if !matches!(op, Op::If { .. }) {
        let first = usize::from(matches!(op, Op::For { .. }));
        for block in op.blocks() {
            let mut at = 0;
            function.blocks[block].params.retain(|_| {
                at += 1;
                at <= first || keep.get(at - 1 - first) != Some(&false)
            });
            for (n, &param) in function.blocks[block].params.iter().enumerate() {
                function.values[param].def = ValueDef::Param(block, n as u32);
            }
        }
    }
    for &terminator in shape.next[id.0 as usize].iter().chain(&shape.out[id.0 as usize]) {
        if let Op::Yield(values) | Op::Break(values) | Op::Continue(values) = &mut function.insts[terminator].op {
            retain(values, keep);
        }
    }
}

/// Replaces carried values that no turn changes by what they start with; says whether there were any.
fn replace_unchanged(function: &mut Function, shape: &Shape) -> bool {
    if !shape.has_loops {
        return false;
    }
    let mut same: IdVec<ValueId, ValueId> = function.values.ids().collect();
    let mut changed = false;
    for &id in &shape.order {
        let inst = &function.insts[id];
        let (init, first, blocks) = match &inst.op {
            Op::For { init, body, .. } => (init, 1, vec![*body]),
            Op::While { init, condition, body } => (init, 0, vec![*condition, *body]),
            _ => continue,
        };
        for (n, &start) in init.iter().enumerate() {
            let params: Vec<ValueId> = blocks.iter().map(|&b| function.blocks[b].params[first + n]).collect();
            let mut ends = shape.next[id.0 as usize].iter().chain(&shape.out[id.0 as usize]);
            let kept = |value: ValueId| value == start || params.contains(&value);
            if ends.all(|&t| carried(&function.insts[t].op).get(n).is_some_and(|&v| kept(v))) {
                // The start is in turn what an outer loop's value was replaced by.
                let start = same[start];
                let used = params.iter().chain(inst.results.get(n));
                for &value in used {
                    same[value] = start;
                    changed = true;
                }
            }
        }
    }
    if changed {
        // Only uses count as a change: the slots themselves are for the sweep.
        changed = false;
        for &id in &shape.order {
            let mut op = std::mem::replace(&mut function.insts[id].op, Op::Zero);
            op.for_each_operand_mut(|v| {
                changed |= same[*v] != *v;
                *v = same[*v];
            });
            function.insts[id].op = op;
        }
    }
    changed
}
