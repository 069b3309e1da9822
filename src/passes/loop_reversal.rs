//! Loop reversal: runs a loop that counts down forwards, if its iterations carry no value and only
//! add to adjoints. Readers, processors and index analyses expect loops that count up.
//!
//! ```text
//! for k = n to 0 step -1 { a[k - 1] += .. }   becomes   for k = 0 to n step 1 { a[k] += .. }
//! ```
//!
//! Sums of floats then have another order, as those of threads have.

use smallvec::SmallVec;

use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::analysis::ranges::Ranges;
use crate::analysis::uses;
use crate::ids::IdVec;
use crate::ir::properties::Io;
use crate::ir::*;
use crate::types::{Scalar, Type};

/// Turns what can be turned in a backward entry; says whether there was anything. A cleaning must
/// follow.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    if function.phase != Phase::Backward || !function.is_kernel() {
        return false;
    }
    let mut found: Vec<InstId> = Vec::new();
    let mut uses_of: Option<IdVec<ValueId, u32>> = None;
    function.walk(function.entry, &mut |id, inst| {
        let Op::For { step, init, body, .. } = &inst.op else { return };
        if init.is_empty() && function.as_const(*step).and_then(Const::as_int) == Some(-1) {
            let uses = uses_of.get_or_insert_with(|| uses(function));
            if only_adds(function, effects, uses, *body) {
                found.push(id);
            }
        }
    });
    if found.is_empty() {
        return false;
    }
    let ranges = Ranges::of(function);
    found.into_iter().for_each(|id| turn(function, &ranges, id));
    true
}

/// Whether all that a block does is to compute, to read what it does not write, and to add to
/// adjoints.
pub fn only_adds(function: &Function, effects: &EffectTable, uses: &IdVec<ValueId, u32>, block: BlockId) -> bool {
    let mut good = true;
    function.walk(block, &mut |_, inst| {
        let own = effects.properties(&inst.op);
        good &= own.io == Io::None && !(own.allocates || own.convergent || own.synchronises || own.may_not_return);
        good &= match &inst.op {
            Op::Break(_) | Op::Continue(_) | Op::Return(_) => false,
            Op::Atomic { op: AtomicOp::Add | AtomicOp::Sub, access, .. } => {
                inst.results.iter().all(|&r| uses[r] == 0) && is_adjoint(function, access.array)
            }
            Op::Load(access) => match root(function, access.array) {
                Root::Param(n, _) => !matches!(function.param_role(n as usize), ParamRole::Adjoint(_)),
                Root::Local(_) => true,
                _ => false,
            },
            values!()
            | Op::Call(..)
            | arrays!()
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | effects!()
            | nested!()
            | Op::Yield(_) => !own.accesses_memory(),
        };
    });
    good
}

/// Whether an array is one of adjoints: those that were given, or else those behind the array
/// itself.
fn is_adjoint(function: &Function, array: ValueId) -> bool {
    let given = |array| match root(function, array) {
        Root::Param(n, _) => matches!(function.param_role(n as usize), ParamRole::Adjoint(_)),
        _ => false,
    };
    if let Some(Op::View(whole, _)) = function.op(array) {
        is_adjoint(function, *whole)
    } else if let Some(Op::Select { then, otherwise, .. }) = function.op(array) {
        given(*then) && matches!(root(function, *otherwise), Root::Gradient(_))
    } else {
        given(array)
    }
}

/// From `end` up to `start`, where the counter was one more; or, where both bounds are one less
/// than something, between these.
fn turn(function: &mut Function, ranges: &Ranges, id: InstId) {
    let Op::For { start, end, step, body, .. } = function.insts[id].op else { return };
    let counter = function.blocks[body].params[0];
    let ty = function.ty(counter);
    let Type::Scalar(scalar) = ty else { return };
    let span = function.insts[id].span;
    let shifted = one_more(function, ranges, start, scalar).zip(one_more(function, ranges, end, scalar));
    let up = constant(function, id, Const::int(scalar, 1));
    let (from, to) = match shifted {
        None => (end, start),
        Some((to, from)) => {
            let mut value = |of| match of {
                OneMore::Value(value) => value,
                OneMore::Constant(number) => constant(function, id, Const::int(scalar, number)),
            };
            (value(from), value(to))
        }
    };
    function.insts[id].op = Op::For { start: from, end: to, step: up, init: Values::new(), body };
    if shifted.is_some() {
        return;
    }
    // What was one less than the counter is the counter.
    let mut before: Vec<ValueId> = Vec::new();
    let mut others = false;
    function.walk(body, &mut |_, inst| {
        if matches!(inst.op, Op::Binary(BinaryOp::Add, a, b) if a == counter && b == step) {
            before.extend(&inst.results);
        } else {
            inst.op.for_each_operand(|v| others |= v == counter);
        }
    });
    let mut replaced: Vec<(ValueId, ValueId)> = before.iter().map(|&value| (value, counter)).collect();
    let mut added = None;
    if others {
        let add = function.insts.push(Inst { op: Op::Zero, results: Results::new(), span });
        let value = function.values.push(Value { ty, def: ValueDef::Result(add, 0), name: None, span });
        function.insts[add].results.push(value);
        function.blocks[body].insts.insert(0, add);
        replaced.push((counter, value));
        added = Some(add);
    }
    if let Some(name) = before.iter().find_map(|&value| function.values[value].name.clone()) {
        function.values[counter].name = Some(name);
    }
    let mut inside: SmallVec<[InstId; 16]> = SmallVec::new();
    function.walk(body, &mut |id, _| inside.push(id));
    for inst in inside {
        let new = |v: ValueId| replaced.iter().find(|(old, _)| *old == v).map_or(v, |(_, new)| *new);
        function.insts[inst].op.for_each_operand_mut(|v| *v = new(*v));
    }
    if let Some(add) = added {
        function.insts[add].op = Op::Binary(BinaryOp::Add, counter, up);
    }
}

/// What is one more than a value, without overflow.
#[derive(Clone, Copy, Debug)]
pub(super) enum OneMore {
    Value(ValueId),
    Constant(i128),
}

pub(super) fn one_more(function: &Function, ranges: &Ranges, value: ValueId, scalar: Scalar) -> Option<OneMore> {
    let (least, most) = scalar.int_range();
    if let Some(number) = function.as_const(value).and_then(Const::as_int) {
        return (number < most).then_some(OneMore::Constant(number + 1));
    }
    let Op::Binary(BinaryOp::Sub, whole, one) = function.def(value)?.op else { return None };
    let fits = ranges.interval(whole).is_some_and(|range| range.low > least);
    (fits && function.as_const(one)?.as_int()? == 1).then_some(OneMore::Value(whole))
}

/// A constant in front of an instruction.
fn constant(function: &mut Function, at: InstId, constant: Const) -> ValueId {
    let span = function.insts[at].span;
    let ty = Type::Scalar(constant.scalar);
    let inst = function.insts.push(Inst { op: Op::Const(constant), results: Results::new(), span });
    let value = function.values.push(Value { ty, def: ValueDef::Result(inst, 0), name: None, span });
    function.insts[inst].results.push(value);
    put_before(function, at, inst);
    value
}

/// Puts an instruction in front of another one of the same block.
fn put_before(function: &mut Function, at: InstId, inst: InstId) {
    for block in function.blocks.values_mut() {
        if let Some(place) = block.insts.iter().position(|&other| other == at) {
            block.insts.insert(place, inst);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// What becomes of a loop with these bounds and this body; None: it stays.
    fn turned(range: &str, body: &str) -> Option<String> {
        let text = format!(
            "kernel @k(%x: array(dtype=float32), %n: int32, %adj_x: array(dtype=float32), %adj_n: int32) rank 1 source \"k\" backward {{\n\
             %c0: int32 = const 0\n%c1: int32 = const 1\n%m1: int32 = const -1\n%i: int32 = thread_index 0\n\
             %end: int32 = extent %x, 0\n%last: int32 = sub %end, %c1\n%before: int32 = sub %c0, %c1\n%low: int32 = sub %n, %c1\n\
             %v: float32 = load %x[%i]\nfor %m: int32 = {range} {{\n{body}}}\nreturn\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify(&module), Ok(()), "{text}");
        let id = module.find("k").expect("the kernel");
        let found = run(&mut module.functions[id], &EffectTable::default());
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        let text = print(&module);
        let from = text.find("  for ").expect("a loop");
        found.then(|| text[from..].lines().take(2).map(str::trim).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn loops_that_only_add_to_adjoints_go_up() {
        let add = "%r: float32 = atomic add %adj_x[%m], %v\n";
        let down = "%q: int32 = add %m, %m1\n%r: float32 = atomic add %adj_x[%q], %v\n";
        let step = |text: Option<String>| text.expect("it is turned");
        assert!(step(turned("%end to %c0 step %m1", down)).starts_with("for %q: int32 = %c0 to %end step "));
        // From the last number down to the first, where one less than the bounds fits.
        assert!(step(turned("%last to %before step %m1", add)).starts_with("for %m: int32 = %c0 to %end step "));
        assert!(step(turned("%c1 to %before step %m1", add)).starts_with("for %m: int32 = %c0 to "));
        assert!(!step(turned("%c1 to %m1 step %m1", add)).contains("add %m, "));
        let text = step(turned("%last to %low step %m1", add));
        assert!(text.starts_with("for %m: int32 = %low to %last step ") && text.contains(" = add %m, "), "{text}");
    }

    #[test]
    fn what_depends_on_its_order_stays() {
        let range = "%end to %c0 step %m1";
        for body in [
            "%w: float32 = load %adj_x[%m]\n%r: float32 = atomic add %adj_x[%i], %w\n",
            "%r: float32 = atomic add %adj_x[%m], %v\n%s: float32 = atomic add %x[%m], %v\n",
            "%r: float32 = atomic add %adj_x[%m], %v\n%s: float32 = atomic sub %adj_x[%i], %r\n",
            "%r: float32 = atomic max %adj_x[%m], %v\n",
            "%z: float32 = zero\n%r: float32 = atomic add %adj_x[%m], %v\nstore %adj_x[%i], %z\n",
            "%r: float32 = atomic add %adj_x[%m], %v\nprint \"%d\", %m\n",
        ] {
            assert_eq!(turned(range, body), None, "{body}");
        }
        assert_eq!(turned("%c0 to %end step %c1", "%r: float32 = atomic add %adj_x[%m], %v\n"), None);
    }
}
