//! Removes what nothing uses: instructions without effects, results of `if`, values that a loop
//! carries, loops and branches that do nothing. A value that a loop carries without ever changing
//! it becomes the value it starts with.
//!
//! Liveness goes backwards from effects and `return`. Slots (result n of an `if` or loop with
//! everything that feeds it) are live one by one, so a carried value that feeds only itself is
//! dead.

use smallvec::SmallVec;

use crate::analysis::effects::EffectTable;
use crate::ids::IdVec;
use crate::ir::{BlockId, Function, InstId, Op, ValueDef, ValueId, jumps, nested, straight};

/// Cleans a function; the effects say which calls can go. Says whether anything changed.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    let swept = sweep(function, effects);
    swept.removed || swept.replaced
}

/// Takes the names of functions out of instructions that are in no block any more: what they called
/// may go.
pub fn forget_calls(function: &mut Function) {
    let mut placed: IdVec<InstId, bool> = function.insts.ids().map(|_| false).collect();
    function.walk(function.entry, &mut |id, _| placed[id] = true);
    for (inst, placed) in function.insts.values_mut().zip(placed) {
        if !placed && matches!(inst.op, Op::Call(..)) {
            inst.op = Op::Zero;
        }
    }
}

/// What cleaning a function has done.
pub struct Swept {
    pub removed: bool,
    /// Something reads another value than before: what a loop carries without changing it.
    pub replaced: bool,
    /// There is a `while`.
    pub has_while: bool,
}

/// Cleans a function, like [`run`].
pub fn sweep(function: &mut Function, effects: &EffectTable) -> Swept {
    let shape = Shape::of(function);
    let replaced = replace_unchanged(function, &shape);
    let mut liveness = Liveness {
        function,
        shape: &shape,
        live: vec![false; function.insts.len()],
        slots: shape.regions.iter().map(|_| Vec::new()).collect(),
        work: Vec::new(),
    };
    liveness.roots(effects);
    let (live, slots) = (liveness.live, liveness.slots);
    Swept { removed: remove(function, &shape, &live, &slots), replaced, has_while: shape.has_while }
}

/// How the instructions of a function nest.
struct Shape {
    /// The block of each instruction.
    home: Vec<Option<BlockId>>,
    /// The region that a block belongs to.
    holder: Vec<Option<u32>>,
    /// In program order.
    regions: Vec<Region>,
    /// In program order.
    order: Vec<InstId>,
    has_loops: bool,
    has_while: bool,
}

/// An `if` or a loop.
struct Region {
    inst: InstId,
    /// The terminators that give its slots' next values: `yield` and `continue`.
    next: SmallVec<[InstId; 2]>,
    /// The `break`s of a loop.
    out: SmallVec<[InstId; 2]>,
}

impl Region {
    fn ends(&self) -> impl Iterator<Item = InstId> {
        self.next.iter().chain(&self.out).copied()
    }
}

impl Shape {
    fn of(function: &Function) -> Shape {
        let count = function.insts.len();
        let mut shape = Shape {
            home: vec![None; count],
            holder: vec![None; function.blocks.len()],
            regions: Vec::new(),
            order: Vec::with_capacity(count),
            has_loops: false,
            has_while: false,
        };
        shape.block(function, function.entry, None, None);
        shape
    }

    /// `holder` receives the block's `yield`, `inner` (the loop around it) its `break` and
    /// `continue`.
    fn block(&mut self, function: &Function, block: BlockId, holder: Option<u32>, inner: Option<u32>) {
        for &id in &function.blocks[block].insts {
            self.home[id.0 as usize] = Some(block);
            self.order.push(id);
            let op = &function.insts[id].op;
            let receiver = match op {
                Op::Yield(_) => holder,
                Op::Continue(_) | Op::Break(_) => inner,
                straight!() | nested!() | Op::Return(_) => None,
            };
            if let Some(region) = receiver {
                let Region { next, out, .. } = &mut self.regions[region as usize];
                if matches!(op, Op::Break(_)) { out } else { next }.push(id);
            }
            let nested = op.blocks();
            if nested.is_empty() {
                continue;
            }
            let region = self.regions.len() as u32;
            self.regions.push(Region { inst: id, next: SmallVec::new(), out: SmallVec::new() });
            self.has_loops |= !matches!(op, Op::If { .. });
            self.has_while |= matches!(op, Op::While { .. });
            for nested in nested {
                self.holder[nested.0 as usize] = Some(region);
                match *op {
                    // A condition's `yield` is no next value.
                    Op::While { condition, .. } if condition == nested => self.block(function, nested, None, None),
                    Op::If { .. } => self.block(function, nested, Some(region), inner),
                    straight!() | Op::For { .. } | Op::While { .. } | jumps!() => {
                        self.block(function, nested, Some(region), Some(region))
                    }
                }
            }
        }
    }

    /// The number of the `if` or loop `inst`.
    fn region(&self, function: &Function, inst: InstId) -> Option<u32> {
        let block = *function.insts[inst].op.blocks().first()?;
        self.holder[block.0 as usize]
    }
}

/// The values a terminator carries.
fn carried(op: &Op) -> &[ValueId] {
    if let Op::Yield(values) | Op::Break(values) | Op::Continue(values) | Op::Return(values) = op {
        values
    } else {
        &[]
    }
}

struct Liveness<'a> {
    function: &'a Function,
    shape: &'a Shape,
    live: Vec<bool>,
    /// The live slots of each region.
    slots: Vec<Vec<bool>>,
    /// What is to be marked yet: a list, because chains of values are long.
    work: Vec<Need>,
}

impl Liveness<'_> {
    fn roots(&mut self, effects: &EffectTable) {
        for &id in &self.shape.order {
            let op = &self.function.insts[id].op;
            let properties = effects.properties(op);
            if properties.has_side_effect() || properties.may_not_return || matches!(op, Op::Return(_)) {
                self.inst(id);
                self.mark();
            }
        }
    }

    /// Marks everything that some needs lead to.
    fn mark(&mut self) {
        let function = self.function;
        while let Some(need) = self.work.pop() {
            match need {
                Need::Inst(id) => self.inst(id),
                Need::Value(value) => match function.values[value].def {
                    ValueDef::Result(inst, n) => {
                        self.inst(inst);
                        if let Some(region) = self.shape.region(function, inst) {
                            self.slot(region, n as usize);
                        }
                    }
                    ValueDef::Param(block, n) => {
                        if let Some(region) = self.shape.holder[block.0 as usize] {
                            let inst = self.shape.regions[region as usize].inst;
                            // The first parameter of a `for` is its counter.
                            let first = u32::from(matches!(function.insts[inst].op, Op::For { .. }));
                            self.inst(inst);
                            if n >= first {
                                self.slot(region, (n - first) as usize);
                            }
                        }
                    }
                },
            }
        }
    }

    fn inst(&mut self, id: InstId) {
        if std::mem::replace(&mut self.live[id.0 as usize], true) {
            return;
        }
        let (function, shape, live, work) = (self.function, self.shape, &self.live, &mut self.work);
        let around = shape.home[id.0 as usize].and_then(|block| shape.holder[block.0 as usize]);
        let around = around.map(|region| shape.regions[region as usize].inst);
        work.extend(around.filter(|inst| !live[inst.0 as usize]).map(Need::Inst));
        match &function.insts[id].op {
            Op::If { condition, .. } => work.push(Need::Value(*condition)),
            Op::For { start, end, step, .. } => {
                work.extend([start, end, step].map(|&v| Need::Value(v)));
                self.exits(id);
            }
            Op::While { condition, .. } => {
                work.extend(function.yielded(*condition).iter().map(|&v| Need::Value(v)));
                self.exits(id);
            }
            Op::Yield(_) | Op::Break(_) | Op::Continue(_) => {}
            op @ (straight!() | Op::Return(_)) => op.for_each_operand(|v| match function.values[v].def {
                // Without slots, there is nothing to do for what is live.
                ValueDef::Result(inst, _) if live[inst.0 as usize] && function.insts[inst].op.blocks().is_empty() => {}
                _ => work.push(Need::Value(v)),
            }),
        }
    }

    /// Slot `n` of a region.
    fn slot(&mut self, region: u32, n: usize) {
        let (function, region, slots) =
            (self.function, &self.shape.regions[region as usize], &mut self.slots[region as usize]);
        slots.resize(function.insts[region.inst].results.len(), false);
        if std::mem::replace(&mut slots[n], true) {
            return;
        }
        if let Op::For { init, .. } | Op::While { init, .. } = &function.insts[region.inst].op {
            self.work.push(Need::Value(init[n]));
        }
        let feeds = region.ends().filter_map(|end| carried(&function.insts[end].op).get(n));
        self.work.extend(feeds.map(|&v| Need::Value(v)));
    }

    /// What leaves or restarts a live loop decides how often it runs.
    fn exits(&mut self, id: InstId) {
        if let Some(region) = self.shape.region(self.function, id) {
            self.work.extend(self.shape.regions[region as usize].ends().map(Need::Inst));
        }
    }
}

enum Need {
    Inst(InstId),
    Value(ValueId),
}

/// Takes out what is not live; says whether there was anything.
fn remove(function: &mut Function, shape: &Shape, live: &[bool], slots: &[Vec<bool>]) -> bool {
    let mut changed = false;
    for (region, slots) in shape.regions.iter().zip(slots) {
        let count = function.insts[region.inst].results.len();
        if !live[region.inst.0 as usize] || count == 0 {
            continue;
        }
        let keep: Vec<bool> = (0..count).map(|n| slots.get(n) == Some(&true)).collect();
        if keep.iter().all(|&k| k) {
            continue;
        }
        changed = true;
        remove_slots(function, region, &keep);
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
fn remove_slots(function: &mut Function, region: &Region, keep: &[bool]) {
    let id = region.inst;
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
    for terminator in region.ends() {
        if let Op::Yield(values) | Op::Break(values) | Op::Continue(values) = &mut function.insts[terminator].op {
            retain(values, keep);
        }
    }
}

/// Replaces carried values that no iteration changes by what they start with; says whether there
/// were any.
fn replace_unchanged(function: &mut Function, shape: &Shape) -> bool {
    if !shape.has_loops {
        return false;
    }
    let mut same: IdVec<ValueId, ValueId> = function.values.ids().collect();
    let mut changed = false;
    for region in &shape.regions {
        let inst = &function.insts[region.inst];
        let (init, first, blocks) = match &inst.op {
            Op::For { init, body, .. } => (init, 1, vec![*body]),
            Op::While { init, condition, body } => (init, 0, vec![*condition, *body]),
            straight!() | Op::If { .. } | jumps!() => continue,
        };
        for (n, &start) in init.iter().enumerate() {
            let params: Vec<ValueId> = blocks.iter().map(|&b| function.blocks[b].params[first + n]).collect();
            let mut ends = region.ends();
            let kept = |value: ValueId| value == start || params.contains(&value);
            if ends.all(|t| carried(&function.insts[t].op).get(n).is_some_and(|&v| kept(v))) {
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
