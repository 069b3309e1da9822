//! Can thread order affect the results of a kernel?

use std::collections::{BTreeMap, HashSet};

use super::alias::{Root, accessed};
use crate::ir::properties::Io;
use crate::ir::{Access, AtomicOp, BlockId, FuncId, Function, Inst, Module, Op, ValueId};

/// Does a thread of the kernel print? Such kernels run in order on one thread, so that the output
/// is always the same.
pub fn prints(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |_, inst| inst.op.properties().io == Io::Output)
}

/// Does a thread of the kernel update memory atomically?
pub fn has_atomics(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |_, inst| inst.op.properties().atomic)
}

/// Can the order in which threads reach their atomic updates show in the results? Sums of floats
/// round by their order, and old values tell who came first; sums, minima and the like of integers
/// come out the same in any order.
pub fn order_shows(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |function, inst| {
        if let Op::Atomic { op, value, .. } = &inst.op {
            let rounds =
                matches!(op, AtomicOp::Add | AtomicOp::Sub) && function.ty(*value).holds_floats(&module.structs);
            rounds || *op == AtomicOp::Exchange || inst.results.iter().any(|&old| is_used(function, old))
        } else {
            inst.op.properties().atomic
        }
    }) || module.reached_from(kernel).into_iter().any(|id| updates_meet(&module.functions[id], &|_| false))
}

/// Can it show in the results which thread comes first to one of several atomic updates of an
/// array, sums of floats aside? Not where all of them are sums, say, whose old values nobody uses;
/// nor at a single one, to which threads may come in their order at the same time. Accesses that
/// are `apart` are of elements that no other thread has.
pub fn updates_meet(function: &Function, apart: &dyn Fn(&Access) -> bool) -> bool {
    if !function.has(|inst| inst.op.properties().atomic) {
        return false;
    }
    let uses = super::uses(function);
    // By array, and by element where all are known: a minimum in one and a maximum in another do
    // not meet.
    let mut arrays: BTreeMap<Root, BTreeMap<Option<Vec<i128>>, Updates>> = BTreeMap::new();
    walk_loops(function, function.entry, 1, &mut |inst, times| {
        let Some(access) = inst.op.access().filter(|access| !apart(access)) else { return };
        // Negative ones count from the end.
        let known = |&index: &ValueId| function.as_const(index)?.as_int().filter(|&index| index >= 0);
        let is_view = matches!(function.op(access.array), Some(Op::View(..)));
        let element = if is_view { None } else { access.indices.iter().map(known).collect() };
        let of_element = arrays.entry(accessed(function, &inst.op)).or_default().entry(element).or_default();
        let own = inst.op.properties();
        of_element.is_read |= own.reads && !own.atomic;
        if own.atomic {
            of_element.times += times;
            of_element.kinds.insert(Kind::of(&inst.op));
            of_element.is_used |= inst.results.iter().any(|&old| uses[old] > 0);
        }
    });
    arrays.into_values().any(|elements| match elements.contains_key(&None) {
        true => elements.into_values().reduce(Updates::and).is_some_and(|all| all.meet()),
        false => elements.values().any(Updates::meet),
    })
}

/// What atomic updates of an array there are, in a thread.
#[derive(Default)]
struct Updates {
    /// At least so many; in a loop, two.
    times: u32,
    kinds: HashSet<Kind>,
    is_used: bool,
    /// Elements are read otherwise, too.
    is_read: bool,
}

impl Updates {
    fn and(mut self, other: Updates) -> Updates {
        self.kinds.extend(other.kinds);
        Updates {
            times: self.times + other.times,
            is_used: self.is_used || other.is_used,
            is_read: self.is_read || other.is_read,
            ..self
        }
    }

    fn meet(&self) -> bool {
        let alike = self.kinds.len() < 2 && !self.kinds.contains(&Kind::Replacement);
        self.times > 1 && (self.is_used || !alike) || self.times > 0 && self.is_read
    }
}

/// Updates of one kind leave the same in any order, except for replacements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Sum,
    Same(AtomicOp),
    Replacement,
}

impl Kind {
    fn of(op: &Op) -> Kind {
        let Op::Atomic { op, .. } = op else { return Kind::Replacement };
        match op {
            AtomicOp::Add | AtomicOp::Sub => Kind::Sum,
            AtomicOp::Exchange => Kind::Replacement,
            AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => Kind::Same(*op),
        }
    }
}

/// Visits the instructions of a block and of those in it; those in loops count twice.
pub fn walk_loops(function: &Function, block: BlockId, times: u32, visit: &mut impl FnMut(&Inst, u32)) {
    for &id in &function.blocks[block].insts {
        let inst = &function.insts[id];
        visit(inst, times);
        let times = if matches!(inst.op, Op::For { .. } | Op::While { .. }) { 2 } else { times };
        for nested in inst.op.blocks() {
            walk_loops(function, nested, times, visit);
        }
    }
}

/// Does a thread take or replace floats atomically? In forward mode the tangent follows by a load
/// and a store, which are right only where threads run one after the other.
pub fn moves_floats(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |function, inst| {
        let (Op::Atomic { op: AtomicOp::Min | AtomicOp::Max | AtomicOp::Exchange, value, .. }
        | Op::AtomicCas { new: value, .. }) = &inst.op
        else {
            return false;
        };
        function.ty(*value).holds_floats(&module.structs)
    })
}

fn is_used(function: &Function, value: ValueId) -> bool {
    let mut used = false;
    function.walk(function.entry, &mut |_, inst| inst.op.for_each_operand(|v| used |= v == value));
    used
}

/// Whether some instruction of the kernel, or of what it calls, is such an operation; the calls
/// themselves are none.
fn reaches(module: &Module, kernel: FuncId, test: impl Fn(&Function, &Inst) -> bool) -> bool {
    module.reached_from(kernel).into_iter().any(|id| {
        let function = &module.functions[id];
        let mut found = false;
        function.walk(function.entry, &mut |_, inst| {
            found |= !matches!(inst.op, Op::Call(..)) && test(function, inst);
        });
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    /// Whether updates of `%a` and `%b` meet in a kernel with this body.
    #[track_caller]
    fn meet(body: &str) -> bool {
        let text = format!(
            "kernel @k(%a: array(dtype=int32), %b: array(dtype=int32), %y: array(dtype=int32)) rank 1 {{\n%i: int32 = thread_index 0\n\
             %0: int32 = const 0\n%1: int32 = const 1\n%3: int32 = const 3\n%last: int32 = const -1\n{body}return\n}}\n"
        );
        let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        updates_meet(&module.functions[module.find("k").expect("a kernel")], &|_| false)
    }

    #[test]
    fn several_updates_show_who_came_first() {
        let used = "store %y[%i], %r\n";
        let add = "%r: int32 = atomic add %a[%0], %1\n";
        assert!(!meet(add) && !meet(&format!("{add}{used}")), "a single one");
        assert!(meet(&format!("{add}{used}%s: int32 = atomic add %a[%i], %1\n")), "two");
        assert!(!meet(&format!("{add}%s: int32 = atomic sub %a[%i], %1\n")), "two sums, whose old values nobody uses");
        assert!(!meet(&format!("{add}{used}%s: int32 = atomic add %b[%i], %1\n")), "of two arrays");
        assert!(meet(&format!("for %k: int32 = %0 to %3 step %1 {{\n{add}{used}}}\n")), "in a loop");
        assert!(meet(&format!("{add}%s: int32 = atomic max %a[%i], %3\n")), "a sum and a maximum");
        assert!(meet(&format!("{add}%s: int32 = load %a[%i]\n")), "a sum that is read");
        let cas = "%r: int32 = atomic_cas %a[%0], %1, %3\n";
        assert!(!meet(cas) && meet(&format!("{cas}%s: int32 = atomic_cas %a[%i], %1, %3\n")), "replacements");
    }

    #[test]
    fn elements_that_are_known_do_not_meet() {
        let extremes = "%r: int32 = atomic min %a[%0], %i\n%s: int32 = atomic max %a[%1], %i\n";
        assert!(!meet(extremes));
        assert!(meet(&format!("{extremes}%t: int32 = atomic max %a[%0], %i\n")));
        // From the end, or anywhere.
        assert!(meet(&extremes.replace("%a[%1]", "%a[%last]")) && meet(&extremes.replace("%a[%1]", "%a[%i]")));
    }
}
