//! Leaves SSA form: decides which values share one variable of the text.
//!
//! Values interfere when one is alive where the other is assigned. Values that a loop carries share
//! a variable by construction; further values are joined where that saves a copy and they do not
//! interfere (Chaitin, "Register allocation and spilling via graph coloring", 1982; here only the
//! coalescing part).

use smallvec::SmallVec;

use super::plan::{Form, Plan};
use super::tree::Var;
use crate::ids::{Id, IdList, IdMap, IdSet, IdVec};
use crate::ir::{BlockId, Function, Inst, InstId, Module, Op, ResultRole, ValueId, Values, jumps, straight};
use crate::types::Type;

/// The variable of each value that has one.
pub struct Variables {
    of: IdVec<ValueId, Var>,
    /// The values of all variables, variable by variable, and where those of each begin.
    members: Vec<ValueId>,
    starts: Vec<usize>,
    /// The ends of `for` loops, and their bodies.
    ends: IdSet<ValueId>,
    /// Where the ranges of `for` loops that count down begin.
    firsts: IdSet<ValueId>,
    bodies: IdSet<BlockId>,
}

impl Variables {
    /// Whether a `for` counts up to this value, or down from it.
    pub fn is_loop_end(&self, value: ValueId) -> bool {
        self.ends.contains(&value)
    }

    /// Whether the range begins here of a `for` that counts down.
    pub fn is_loop_start(&self, value: ValueId) -> bool {
        self.firsts.contains(&value)
    }

    /// Whether a block is the body of a `for`, whose first parameter counts.
    pub fn is_loop_body(&self, block: BlockId) -> bool {
        self.bodies.contains(&block)
    }

    pub fn of(&self, value: ValueId) -> Var {
        self.of[value]
    }

    pub fn members(&self) -> impl Iterator<Item = (Var, &[ValueId])> {
        self.starts.windows(2).enumerate().map(|(n, ends)| (Var(n as u32), &self.members[ends[0]..ends[1]]))
    }

    pub fn assign(module: &Module, function: &Function, plan: &Plan) -> Variables {
        let values = function.values.len();
        let mut graph = Graph {
            module,
            function,
            plan,
            edges: Vec::new(),
            parent: (0..values as u32).map(ValueId).collect(),
            names: function.values.values().map(|v| v.name.as_deref()).collect(),
            copies: Vec::new(),
            candidates: Vec::new(),
        };
        graph.join_loops(function.entry);
        // A first walk finds the copies alone; only what occurs in one is worth following.
        graph.block(function.entry, &mut Live::new(), Context::NONE);
        graph.same_names();
        let copies = graph.wanted_copies();
        // More than these would take a time in the square of their number; their copies stay in the
        // text.
        if !copies.is_empty() && graph.candidates.iter().filter(|wanted| **wanted).count() <= MAX_CANDIDATES {
            graph.edges = (0..values).map(|_| IdList::new()).collect();
            graph.block(function.entry, &mut Live::new(), Context::NONE);
            graph.pin_parameters();
            graph.coalesce(copies);
        }
        graph.finish()
    }
}

/// The most values of one function that may be joined beyond what loops need.
const MAX_CANDIDATES: usize = 2_000;

type Live = IdList<ValueId>;

static NOTHING: Live = Live::new();

/// The values that a terminator assigns, and what is alive then.
type Target<'a> = (&'a [ValueId], &'a Live);

/// What the terminators of a block assign.
#[derive(Clone, Copy)]
struct Context<'a> {
    yields: Target<'a>,
    /// `continue` of the innermost loop.
    continues: Target<'a>,
    /// `break` of the innermost loop.
    breaks: Target<'a>,
}

impl Context<'static> {
    /// There is none.
    const NONE: Context<'static> =
        Context { yields: (&[], &NOTHING), continues: (&[], &NOTHING), breaks: (&[], &NOTHING) };
}

struct Graph<'a> {
    module: &'a Module,
    function: &'a Function,
    plan: &'a Plan,
    /// Empty in the first walk. Interference: for the representative of each class, at least one
    /// value of each class it interferes with.
    edges: Vec<IdList<ValueId>>,
    parent: Vec<ValueId>,
    /// The source name of each class.
    names: Vec<Option<&'a str>>,
    /// Pairs that would like to share a variable, the most useful first.
    copies: Vec<(u8, ValueId, ValueId)>,
    /// The values whose class may be joined with another: of these alone it counts where they are
    /// alive. Empty in the first walk, which looks for copies and at nothing else.
    candidates: Vec<bool>,
}

impl Graph<'_> {
    fn find(&mut self, value: ValueId) -> ValueId {
        let parent = self.parent[value.index()];
        if parent == value {
            return value;
        }
        let root = self.find(parent);
        self.parent[value.index()] = root;
        root
    }

    fn interferes(&mut self, a: ValueId, b: ValueId) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        // The parameters of a kernel keep their values from thread to thread of the loop around the
        // body.
        let is_kept = |v: ValueId| self.function.is_kernel() && self.function.params().contains(&v);
        if a != b && (is_kept(a) || is_kept(b)) {
            return true;
        }
        let (small, large) = if self.edges[a.index()].len() <= self.edges[b.index()].len() { (a, b) } else { (b, a) };
        let neighbours = std::mem::take(&mut self.edges[small.index()]);
        let found = neighbours.iter().any(|n| self.find(n) == large);
        self.edges[small.index()] = neighbours;
        found
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        // The lower number stays, so that parameters represent their class.
        let (root, other) = if a < b { (a, b) } else { (b, a) };
        self.parent[other.index()] = root;
        if !self.edges.is_empty() {
            let edges = std::mem::take(&mut self.edges[other.index()]);
            self.edges[root.index()].extend(edges.iter());
        }
        let name = self.names[other.index()].take();
        if self.names[root.index()].is_none() {
            self.names[root.index()] = name;
        }
    }

    fn edge(&mut self, a: ValueId, b: ValueId) {
        if self.candidates.is_empty()
            || !(self.candidates[a.index()] && self.candidates[b.index()])
            || self.function.ty(a) != self.function.ty(b)
        {
            return;
        }
        let (ra, rb) = (self.find(a), self.find(b));
        if ra != rb {
            self.edges[ra.index()].insert(b);
            self.edges[rb.index()].insert(a);
        }
    }

    /// Makes the values that a loop carries share a variable: parameters of its blocks, and
    /// results.
    fn join_loops(&mut self, block: BlockId) {
        let function = self.function;
        function.walk(block, &mut |_, inst| {
            let (groups, first): (SmallVec<[BlockId; 2]>, usize) = match &inst.op {
                Op::For { body, .. } => (SmallVec::from_slice(&[*body]), 1),
                Op::While { condition, body, .. } => (SmallVec::from_slice(&[*condition, *body]), 0),
                straight!() | Op::If { .. } | jumps!() => return,
            };
            for (n, &result) in inst.results.iter().enumerate() {
                for &block in &groups {
                    if let Some(&param) = function.blocks[block].params.get(n + first) {
                        self.join(param, result);
                    }
                }
            }
        });
    }

    /// Adds the variables that evaluating a value reads.
    fn leaves(&self, value: ValueId, out: &mut Live) {
        if self.candidates.is_empty() {
            return;
        }
        match self.plan.form(value) {
            Form::Variable => {
                if self.candidates[value.index()] {
                    out.insert(value);
                }
            }
            Form::Unused => {}
            Form::Inline => {
                if let Some(inst) = self.function.def(value) {
                    self.inst_leaves(inst, out);
                }
            }
        }
    }

    fn inst_leaves(&self, inst: &Inst, out: &mut Live) {
        if self.candidates.is_empty() {
            return;
        }
        inst.op.for_each_operand(|operand| self.leaves(operand, out));
        if let Op::If { then, otherwise, .. } = inst.op {
            for branch in [then, otherwise] {
                self.function.yielded(branch).iter().for_each(|&v| self.leaves(v, out));
            }
        }
    }

    /// Everything that a block reads, of which its own values do no harm.
    fn reads_in(&self, block: BlockId, out: &mut Live) {
        self.function.walk(block, &mut |_, inst| inst.op.for_each_operand(|operand| self.leaves(operand, out)));
    }

    /// The candidates among the values of a block and of those nested in it.
    fn own_candidates(&self, block: BlockId, out: &mut Live) {
        let mut all = self.function.blocks[block].params.clone();
        self.function.for_each_computed(block, &mut |value| all.push(value));
        out.extend(all.into_iter().filter(|v| self.candidates[v.index()]));
    }

    /// `targets = sources` at once; `live` is what is alive after it, and becomes what is alive
    /// before.
    fn parallel_copy(&mut self, targets: &[ValueId], sources: &[ValueId], live: &mut Live) {
        for (n, &target) in targets.iter().enumerate() {
            let source = sources.get(n).copied().filter(|&s| self.plan.form(s) == Form::Variable);
            for other in live.iter() {
                if Some(other) != source {
                    self.edge(target, other);
                }
            }
            for &other in &targets[..n] {
                self.edge(target, other);
            }
            if let Some(source) = source {
                self.copies.push((1, target, source));
            }
        }
        for &target in targets {
            live.remove(target);
        }
        for &source in sources {
            self.leaves(source, live);
        }
    }

    /// Walks a block backwards; `live` is what is alive after it, and becomes what is alive before.
    fn block(&mut self, block: BlockId, live: &mut Live, context: Context<'_>) {
        let function = self.function;
        for &id in function.blocks[block].insts.iter().rev() {
            self.inst(id, &function.insts[id], live, context);
        }
    }

    fn inst(&mut self, id: InstId, inst: &Inst, live: &mut Live, context: Context<'_>) {
        let copy = |graph: &mut Self, (targets, after): Target<'_>, sources: &[ValueId], live: &mut Live| {
            live.clone_from(after);
            if targets.is_empty() {
                sources.iter().for_each(|&s| graph.leaves(s, live));
            } else {
                graph.parallel_copy(targets, sources, live);
            }
        };
        match &inst.op {
            Op::Yield(values) => copy(self, context.yields, values, live),
            Op::Continue(values) => copy(self, context.continues, values, live),
            Op::Break(values) => copy(self, context.breaks, values, live),
            Op::Return(values) => self.function_return(values, live),
            Op::If { then, otherwise, .. } if !self.plan.is_expression(id) => {
                let after = live.clone();
                let inner = Context { yields: (&inst.results, &after), ..context };
                self.block(*then, live, inner);
                let mut before = after.clone();
                self.block(*otherwise, &mut before, inner);
                live.extend(before.iter());
                inst.op.for_each_operand(|operand| self.leaves(operand, live));
            }
            Op::For { init, body, .. } => {
                let params = &self.function.blocks[*body].params;
                let (index, carried) = params.split_first().map_or((None, &[][..]), |(i, c)| (Some(*i), c));
                let mut header = Live::new();
                inst.op.for_each_operand(|operand| {
                    if !init.contains(&operand) {
                        self.leaves(operand, &mut header);
                    }
                });
                let mut around = self.around_loop(inst, &[*body], live);
                around.extend(header.iter());
                let mut head = around.clone();
                head.extend(params.iter().copied());
                let next = (carried, &head);
                let inner = Context { yields: next, continues: next, breaks: (&inst.results, live) };
                let mut body_live = Live::new();
                self.block(*body, &mut body_live, inner);
                body_live.extend(around.iter());
                for &param in params {
                    self.define(param, &body_live, params);
                }
                if let Some(index) = index {
                    body_live.remove(index);
                }
                *live = body_live;
                live.extend(carried.iter().copied());
                self.parallel_copy(carried, init, live);
            }
            Op::While { init, condition, body } => {
                let carried = self.function.blocks[*condition].params.as_slice();
                let inside = self.function.blocks[*body].params.as_slice();
                let around = self.around_loop(inst, &[*condition, *body], live);
                let mut head = around.clone();
                head.extend(carried.iter().copied());
                let next = (carried, &head);
                let inner = Context { yields: next, continues: next, breaks: (&inst.results, live) };
                let mut body_live = Live::new();
                self.block(*body, &mut body_live, inner);
                for &param in inside {
                    self.define(param, &body_live, inside);
                    body_live.remove(param);
                }
                body_live.extend(head.iter());
                let inner = Context { yields: (&[], &body_live), ..Context::NONE };
                let mut condition_live = Live::new();
                self.block(*condition, &mut condition_live, inner);
                condition_live.extend(head.iter());
                for &param in carried {
                    self.define(param, &condition_live, carried);
                }
                *live = condition_live;
                self.parallel_copy(carried, init, live);
            }
            straight!() | Op::If { .. } => self.plain(inst, live),
        }
    }

    /// An instruction without blocks of its own, or an `if` printed as an expression.
    fn plain(&mut self, inst: &Inst, live: &mut Live) {
        let is_variable = |&result: &ValueId| self.plan.form(result) == Form::Variable;
        if !inst.results.is_empty() && !inst.results.iter().any(is_variable) {
            // Printed where it is used, or not at all; its operands count there.
            return;
        }
        if self.candidates.is_empty() {
            return self.assigned_before_reading(inst);
        }
        let variables: Values = inst.results.iter().copied().filter(is_variable).collect();
        for &result in &variables {
            self.define(result, live, &variables);
        }
        for &result in &variables {
            live.remove(result);
        }
        self.assigned_before_reading(inst);
        self.inst_leaves(inst, live);
    }

    /// Some results get a first value before the other operands are read; these may not share their
    /// variable.
    fn assigned_before_reading(&mut self, inst: &Inst) {
        if let Op::Insert(base, ..) = &inst.op {
            let mut others = Live::new();
            inst.op.for_each_operand(|operand| {
                if operand != *base {
                    self.leaves(operand, &mut others);
                }
            });
            others.remove(*base);
            for other in others.iter() {
                self.edge(inst.results[0], other);
            }
            if self.plan.form(*base) == Form::Variable {
                self.copies.push((0, inst.results[0], *base));
            }
        } else if let Op::Call(callee, args) = &inst.op {
            let results = &self.module.functions[*callee].results;
            for (&result, info) in inst.results.iter().zip(results) {
                let ResultRole::ByRef(n) = info.role else { continue };
                let Some(&argument) = args.get(n as usize) else { continue };
                let mut others = Live::new();
                args.iter().filter(|&&a| a != argument).for_each(|&a| self.leaves(a, &mut others));
                for other in others.iter() {
                    self.edge(result, other);
                }
                if self.plan.form(argument) == Form::Variable {
                    self.copies.push((0, result, argument));
                }
            }
        }
    }

    fn define(&mut self, value: ValueId, live: &Live, together: &[ValueId]) {
        for other in live.iter().chain(together.iter().copied()) {
            self.edge(value, other);
        }
    }

    /// What is alive all through a loop: what it reads from outside, and what is read after it.
    fn around_loop(&self, inst: &Inst, blocks: &[BlockId], after: &Live) -> Live {
        let (mut reads, mut own) = (Live::new(), Live::new());
        if self.candidates.is_empty() {
            return reads;
        }
        for &block in blocks {
            self.reads_in(block, &mut reads);
            self.own_candidates(block, &mut own);
        }
        let outside = reads.iter().filter(|&v| !own.contains(v));
        outside.chain(after.iter().filter(|v| !inst.results.contains(v))).collect()
    }

    /// Values for the caller go into the parameters taken by reference.
    fn function_return(&mut self, values: &[ValueId], live: &mut Live) {
        let (mut targets, mut sources) = (Vec::new(), Vec::new());
        *live = Live::new();
        for (&value, info) in values.iter().zip(&self.function.results) {
            if let ResultRole::ByRef(n) = info.role
                && let Some(&param) = self.function.params().get(n as usize)
            {
                targets.push(param);
                sources.push(value);
            } else {
                // The text evaluates what it returns last.
                self.leaves(value, live);
            }
        }
        live.extend(targets.iter().copied());
        self.parallel_copy(&targets, &sources, live);
    }

    /// Parameters taken by reference are alive to the end.
    fn pin_parameters(&mut self) {
        let params = self.function.params();
        for &a in params {
            self.define(a, &Live::new(), params);
        }
    }

    /// The copies found that joining could save, with the classes of their values made candidates.
    fn wanted_copies(&mut self) -> Vec<(u8, ValueId, ValueId)> {
        let function = self.function;
        let mut copies = std::mem::take(&mut self.copies);
        copies.retain(|&(_, a, b)| {
            let can_change = !matches!(function.ty(a), Type::Local(_));
            can_change && function.ty(a) == function.ty(b) && self.find(a) != self.find(b)
        });
        copies.sort_by_key(|&(priority, ..)| priority);
        let mut wanted = vec![false; self.parent.len()];
        for &(_, a, b) in &copies {
            wanted[self.find(a).index()] = true;
            wanted[self.find(b).index()] = true;
        }
        self.candidates = function.values.ids().map(|value| wanted[self.find(value).index()]).collect();
        copies
    }

    fn coalesce(&mut self, copies: Vec<(u8, ValueId, ValueId)>) {
        for (_, a, b) in copies {
            let (a, b) = (self.find(a), self.find(b));
            let (na, nb) = (self.names[a.index()], self.names[b.index()]);
            let names_agree = na.is_none() || nb.is_none() || na == nb;
            if a != b && names_agree && !self.interferes(a, b) {
                self.join(a, b);
            }
        }
    }

    /// `x = ...; x = f(x)` in one block is one variable.
    fn same_names(&mut self) {
        let function = self.function;
        // The last value of each name and type.
        let mut seen: IdMap<&str, SmallVec<[(Type, ValueId); 1]>> = IdMap::default();
        seen.reserve(32);
        for data in function.blocks.values() {
            let results = data.insts.iter().flat_map(|&i| function.insts[i].results.iter());
            seen.clear();
            for &value in data.params.iter().chain(results) {
                let Some(name) = &function.values[value].name else { continue };
                if self.plan.form(value) != Form::Variable {
                    continue;
                }
                let (of_name, ty) = (seen.entry(name.as_str()).or_default(), function.ty(value));
                match of_name.iter_mut().find(|known| known.0 == ty) {
                    Some((_, last)) => self.copies.push((2, std::mem::replace(last, value), value)),
                    None => of_name.push((ty, value)),
                }
            }
        }
    }

    fn finish(mut self) -> Variables {
        let mut numbers = vec![None; self.parent.len()];
        let mut counts: Vec<usize> = Vec::with_capacity(numbers.len());
        let values = self.function.values.ids();
        let number = |value: ValueId| {
            let number = *numbers[self.find(value).index()].get_or_insert_with(|| {
                counts.push(0);
                counts.len() - 1
            });
            counts[number] += 1;
            Var(number as u32)
        };
        let of: IdVec<ValueId, Var> = values.map(number).collect();
        let mut starts = vec![0; counts.len() + 1];
        for (n, count) in counts.iter().enumerate() {
            starts[n + 1] = starts[n] + count;
        }
        // Variable by variable; the values of each in the order of their numbers.
        let mut members = vec![ValueId(0); of.len()];
        let mut next = starts.clone();
        for (value, &Var(n)) in of.iter() {
            members[next[n as usize]] = value;
            next[n as usize] += 1;
        }
        let (mut ends, mut firsts, mut bodies) = (IdSet::default(), IdSet::default(), IdSet::default());
        for inst in self.function.insts.values() {
            let Op::For { start, end, step, body, .. } = inst.op else { continue };
            let down =
                matches!(self.function.op(step), Some(Op::Const(step)) if step.as_int().is_some_and(|step| step < 0));
            // From the last to the first: the range is written the other way round.
            let (first, last) = if down { (end, start) } else { (start, end) };
            ends.insert(last);
            if down {
                firsts.insert(first);
            }
            bodies.insert(body);
        }
        Variables { of, members, starts, ends, firsts, bodies }
    }
}
