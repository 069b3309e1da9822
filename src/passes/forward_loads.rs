//! Store-to-load forwarding and redundant load elimination: loads whose value is known, because
//! this thread has just stored to the element, or loaded from it.
//!
//! A load is replaced if on every way to it the same element was stored or loaded before, with
//! nothing in between that may write it. The same element is the same array value with equal
//! indices ([`numbering`]); a component of a stored vector counts too. Knowledge goes into branches
//! and loops, not out of them.
//!
//! This is right under the following conditions, which hold for the replay of a kernel in its
//! reverse code, and not for code in general:
//! * Other threads: that the element still holds what this thread knows is one of the orders in
//!   which threads may run (rule 15), but code that waits for another thread's write would wait for
//!   ever.
//! * Indices outside the extent: a load after a store yields the stored value instead of zero, and
//!   an error of a checked run goes unreported. The forward run has reported it.
//! * Different array parameters, and different array fields of struct parameters, share no memory.
//!
//! [`run_repeated`] needs none of them: a load takes what an equal one has given, if nothing was
//! written between them.

use super::rebuild::Rebuild;
use crate::analysis::alias::{Root, in_caller, root};
use crate::analysis::effects::EffectTable;
use crate::analysis::ranges::Ranges;
use crate::analysis::value_numbering::numbering;
use crate::ids::IdVec;
use crate::ir::{
    Access, BinaryOp, BlockId, Const, Function, InstId, Op, Path, Step, ValueId, arrays, effects, jumps, values,
};

/// Track at most this many recent elements: every load and store is compared with each.
const MAX_KNOWN: usize = 256;

/// Replaces loads; says whether there were any. `effects` are those of the module's functions.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    replace(function, effects, Loads::All)
}

/// The same for loads that are made again with nothing written in between, wherever to: of any
/// code, as a compiler of plain loads does it. An index outside gives 0 again, and is reported
/// once.
pub fn run_repeated(function: &mut Function, effects: &EffectTable) -> bool {
    replace(function, effects, Loads::Repeated)
}

/// The same for loads of arrays that the function stores to.
pub fn run_stored(function: &mut Function, effects: &EffectTable) -> bool {
    let mut stored = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Store { access, .. } = &inst.op {
            stored.push(root(function, access.array));
        }
    });
    !stored.is_empty() && replace(function, effects, Loads::Of(stored))
}

/// Which loads are replaced.
enum Loads {
    All,
    /// Those of these arrays.
    Of(Vec<Root>),
    Repeated,
}

fn replace(function: &mut Function, effects: &EffectTable, of: Loads) -> bool {
    if !may_repeat(function) {
        return false;
    }
    let (first, ranges) = (numbering(function), Ranges::of(function));
    let entry = function.entry;
    let rebuild = Rebuild::start(function);
    let mut pass = Forward { rebuild, effects, first, ranges, of, known: Vec::new(), changed: false };
    pass.block(entry);
    pass.rebuild.finish(function);
    pass.changed
}

/// Whether there are two accesses to one array: otherwise no load finds anything known.
fn may_repeat(function: &Function) -> bool {
    let (mut roots, mut found): (Vec<Root>, bool) = (Vec::new(), false);
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Load(Access { array, .. }) | Op::Store { access: Access { array, .. }, .. } = &inst.op
            && !found
        {
            let root = root(function, *array);
            found = roots.contains(&root);
            roots.push(root);
        }
    });
    found
}

/// A part of an array's element.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Element {
    root: Root,
    /// Its array and indices are the first of the equal values.
    access: Access,
}

/// An element whose value is known.
#[derive(Clone, Debug)]
struct Known {
    element: Element,
    value: ValueId,
}

struct Forward<'a> {
    rebuild: Rebuild,
    effects: &'a EffectTable,
    first: IdVec<ValueId, ValueId>,
    ranges: Ranges,
    of: Loads,
    known: Vec<Known>,
    changed: bool,
}

impl Forward<'_> {
    fn block(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            self.inst(id);
        }
        self.rebuild.b.switch_to(outside);
    }

    fn inst(&mut self, id: InstId) {
        let op = self.rebuild.visit(id);
        match &op {
            Op::Load(access) => {
                let result = self.rebuild.b.function.insts[id].results[0];
                let element = self.element(access);
                if matches!(&self.of, Loads::Of(of) if !of.contains(&element.root)) {
                    self.rebuild.b.append(id);
                    return;
                }
                if let Some((value, rest)) = self.find(&element.access) {
                    let value = match rest.is_empty() {
                        true => value,
                        false => self.rebuild.b.one(Op::Extract(value, rest), self.rebuild.b.ty(result)),
                    };
                    self.rebuild.replace(result, value);
                    self.changed = true;
                    return;
                }
                self.learn(element, result);
            }
            Op::If { then, otherwise, .. } => {
                let before = self.known.clone();
                self.block(*then);
                self.known.clone_from(&before);
                self.block(*otherwise);
                self.known = before;
                self.forget_written(&[*then, *otherwise]);
            }
            Op::For { .. } | Op::While { .. } => {
                // What one iteration writes, the next one finds.
                self.forget_written(&op.blocks());
                let before = self.known.clone();
                for nested in op.blocks() {
                    self.block(nested);
                    self.known.clone_from(&before);
                }
            }
            op @ (values!()
            | Op::Call(..)
            | arrays!()
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | effects!()
            | jumps!()) => {
                self.forget(op);
                if let Op::Store { access, value } = op
                    && !matches!(self.of, Loads::Repeated)
                {
                    let element = self.element(access);
                    self.learn(element, *value);
                }
            }
        }
        self.rebuild.b.append(id);
    }

    /// The first of the values equal to this one.
    fn first(&self, value: ValueId) -> ValueId {
        self.first.get(value).copied().unwrap_or(value)
    }

    fn element(&self, access: &Access) -> Element {
        let root = root(&self.rebuild.b.function, access.array);
        let access = Access {
            array: self.first(access.array),
            indices: access.indices.iter().map(|&i| self.first(i)).collect(),
            path: access.path.clone(),
        };
        Element { root, access }
    }

    /// A run-time step may lead nowhere: nothing is known of such a part.
    fn learn(&mut self, element: Element, value: ValueId) {
        if element.access.path.iter().all(|step| matches!(step, Step::At(_))) {
            if self.known.len() >= 2 * MAX_KNOWN {
                self.known.drain(..MAX_KNOWN);
            }
            self.known.push(Known { element, value });
        }
    }

    /// A known value that holds the element, and the way from it.
    fn find(&self, wanted: &Access) -> Option<(ValueId, Path)> {
        let holds = |element: &Access| {
            element.array == wanted.array && element.indices == wanted.indices && wanted.path.starts_with(&element.path)
        };
        let known = self.known.iter().rev().find(|known| holds(&known.element.access))?;
        Some((known.value, wanted.path[known.element.access.path.len()..].iter().copied().collect()))
    }

    /// Forgets what an instruction may write.
    fn forget(&mut self, op: &Op) {
        let properties = self.effects.properties(op);
        if properties.synchronises {
            // What other threads wrote before it is seen behind it; nobody else writes this
            // thread's own arrays.
            self.known.retain(|known| known.element.root.is_local());
        }
        if !properties.writes {
            return;
        }
        if matches!(self.of, Loads::Repeated) {
            self.known.clear();
            return;
        }
        if let Some(access) = op.access() {
            let written = self.element(access);
            let mut known = std::mem::take(&mut self.known);
            known.retain(|known| self.apart(&known.element, &written));
            self.known = known;
        } else if let Op::Call(callee, args) = op {
            let function = &self.rebuild.b.function;
            let written: Vec<Root> =
                self.effects[*callee].writes().map(|inner| in_caller(function, args, inner)).collect();
            self.known.retain(|known| written.iter().all(|root| different(root, &known.element.root)));
        } else {
            self.known.clear();
        }
    }

    /// Forgets what some blocks may write, wherever in them.
    fn forget_written(&mut self, blocks: &[BlockId]) {
        for &block in blocks {
            let mut ops = Vec::new();
            self.rebuild.b.function.walk(block, &mut |_, inst| ops.push(inst.op.clone()));
            ops.iter().for_each(|op| self.forget(op));
        }
    }

    /// Whether two elements surely share no memory.
    fn apart(&self, a: &Element, b: &Element) -> bool {
        if different(&a.root, &b.root) {
            return true;
        }
        let (a, b) = (&a.access, &b.access);
        if a.array != b.array {
            return false;
        }
        if a.indices.iter().zip(&b.indices).any(|(&i, &j)| self.unequal(i, j)) {
            return true;
        }
        let fork = a.path.iter().zip(&b.path).find(|(x, y)| x != y);
        a.indices == b.indices && matches!(fork, Some((Step::At(_), Step::At(_))))
    }

    /// Whether two indices surely name different elements. Negative ones count from the end.
    fn unequal(&self, i: ValueId, j: ValueId) -> bool {
        let ((base_i, offset_i), (base_j, offset_j)) = (self.offset(i), self.offset(j));
        let counts_up = |v: ValueId| self.ranges.interval(v).is_some_and(|range| range.low >= 0);
        base_i == base_j && offset_i != offset_j && counts_up(i) && counts_up(j)
    }

    /// A value as another plus a constant; None: the constant alone.
    fn offset(&self, value: ValueId) -> (Option<ValueId>, i128) {
        let function = &self.rebuild.b.function;
        let known = |v: ValueId| function.as_const(v).and_then(Const::as_int);
        if let Some(constant) = known(value) {
            return (None, constant);
        }
        if let Some(Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b)) = function.op(value) {
            match (op, known(*a), known(*b)) {
                (BinaryOp::Add, _, Some(n)) => return (Some(self.first(*a)), n),
                (BinaryOp::Add, Some(n), _) => return (Some(self.first(*b)), n),
                (_, _, Some(n)) => return (Some(self.first(*a)), -n),
                _ => {}
            }
        }
        (Some(self.first(value)), 0)
    }
}

fn different(a: &Root, b: &Root) -> bool {
    // Memory at an address may be that of a parameter.
    let known = |root: &Root| !matches!(root, Root::Unknown | Root::Memory);
    let own = |root: &Root| root.is_local() || *root == Root::Constant;
    a != b && (known(a) && known(b) || own(a) || own(b))
}

#[cfg(test)]
mod tests;
