//! Does an index count from the end, if its access is inside the array at all? Then the array is
//! not empty, and what is computed from its extents is computed from numbers above 0:
//! `min(i + 1, n - 1)` is not negative where `n` is an extent of the array.
//!
//! For code that does not check: in a checked run an access to an empty array must still be found.

use super::ranges::{Bounds, Ranges};
use crate::ir::*;

/// How many values are looked at for one index.
const MOST_VALUES: u32 = 64;

/// How many calls are followed into functions.
const MOST_CALLS: u32 = 2;

/// A function with branches and more instructions is not followed.
const MOST_BRANCHING: usize = 64;

/// Whether an index of an access to `array`, which the instruction `at` makes, never counts from
/// the end.
pub fn counts_from_start(
    module: &Module,
    function: &Function,
    ranges: &Ranges,
    at: InstId,
    array: ValueId,
    index: ValueId,
) -> bool {
    let mut inside = Inside { module, like: shaped_like(function, array), left: MOST_VALUES };
    let known = |value| ranges.bounds_at(at, value);
    inside.bounds(function, &known, true, index, MOST_CALLS).is_some_and(|bounds| bounds.from_start)
}

/// The argument whose shape an array has: adjoints have that of what they belong to.
fn shaped_like(function: &Function, array: ValueId) -> ValueId {
    if let Some(Op::Gradient(of)) = function.op(array) {
        return shaped_like(function, *of);
    }
    let param = function.params().iter().position(|&param| param == array);
    match param.map(|n| function.param_role(n)) {
        Some(ParamRole::Adjoint(of)) => function.params().get(of).copied().unwrap_or(array),
        _ => array,
    }
}

struct Inside<'a> {
    module: &'a Module,
    /// The array of the access, or the argument of the same shape.
    like: ValueId,
    /// Values that may still be looked at.
    left: u32,
}

impl Inside<'_> {
    /// The bounds of a value of `function`; `known` are those that hold anyway. Only in the
    /// access's own function is its array known.
    fn bounds(
        &mut self,
        function: &Function,
        known: &dyn Fn(ValueId) -> Option<Bounds>,
        own: bool,
        value: ValueId,
        calls: u32,
    ) -> Option<Bounds> {
        let before = known(value);
        let Some(inst) = function.def(value) else { return before };
        if self.left == 0 || before.is_some_and(|bounds| bounds.interval.low == bounds.interval.high) {
            return before;
        }
        self.left -= 1;
        let more = match &inst.op {
            Op::Extent(array, _) if own && shaped_like(function, *array) == self.like => Some(Bounds::at_least(1)),
            Op::Unary(_, a) | Op::Cast(a) => {
                let a = self.bounds(function, known, own, *a, calls);
                Ranges::of_operation(function, value, &|_| a)
            }
            Op::Binary(_, a, b) => {
                let (x, y) =
                    (self.bounds(function, known, own, *a, calls), self.bounds(function, known, own, *b, calls));
                Ranges::of_operation(function, value, &|v| if v == *a { x } else { y })
            }
            Op::Const(_) => Ranges::of_operation(function, value, &|_| None),
            Op::Call(callee, arguments) if calls > 0 && inst.results.len() == 1 => {
                let given: Vec<Option<Bounds>> =
                    arguments.iter().map(|&argument| self.bounds(function, known, own, argument, calls)).collect();
                self.result(*callee, &given, calls - 1)
            }
            // No bound: the access is checked.
            _ => None,
        };
        match (before, more) {
            (Some(before), Some(more)) => Some(before.both(more)),
            (before, more) => more.or(before),
        }
    }

    /// What a function with one `return` gives for such arguments.
    fn result(&mut self, callee: FuncId, arguments: &[Option<Bounds>], calls: u32) -> Option<Bounds> {
        let function = &self.module.functions[callee];
        let Op::Return(results) = &function.terminator(function.entry)?.op else { return None };
        let &[result] = results.as_slice() else { return None };
        let branches =
            function.blocks[function.entry].insts.iter().any(|&id| !function.insts[id].op.blocks().is_empty());
        if branches {
            let mut returns = 0;
            function.walk(function.entry, &mut |_, inst| returns += usize::from(matches!(inst.op, Op::Return(_))));
            let is_looked_at = returns == 1 && function.insts.len() <= MOST_BRANCHING;
            return is_looked_at.then(|| Ranges::of_call(function, arguments).bounds(result)).flatten();
        }
        let known = |value: ValueId| {
            let n = function.params().iter().position(|&param| param == value)?;
            arguments.get(n).copied().flatten()
        };
        self.bounds(function, &known, false, result, calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the index `%r` of a load from `%a` is known to count from the start.
    fn is_known(body: &str) -> bool {
        let text = format!(
            "func @limit(%x: int32, %most: int32) -> (int32) {{\n%c0: int32 = const 0\n%up: int32 = max %c0, %x\n\
             %down: int32 = min %up, %most\nreturn %down\n}}\n\
             func @cyclic(%x: int32, %least: int32) -> (int32) {{\n%n: int32 = const 8\n%rest: int32 = rem %x, %n\n\
             %below: bool = lt %rest, %least\n%in: int32 = if %below {{\n%up: int32 = add %rest, %n\nyield %up\n\
             }} else {{\nyield %rest\n}}\nreturn %in\n}}\n\
             kernel @k(%a: array2d(dtype=int32), %b: array(dtype=int32), %x: int32) rank 1 {{\n\
             %c0: int32 = const 0\n%c1: int32 = const 1\n%c2: int32 = const 2\n%i: int32 = thread_index 0\n\
             %n: int32 = extent %a, 0\n%m: int32 = extent %b, 0\n%last: int32 = sub %n, %c1\n{body}\n\
             %v: int32 = load %a[%r, %c0]\nreturn\n}}"
        );
        let module = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify::verify(&module), Ok(()), "{text}");
        let function = &module.functions[module.find("k").expect("the kernel")];
        let load = function.insts.iter().find_map(|(id, inst)| matches!(inst.op, Op::Load(_)).then_some((id, inst)));
        let (at, Op::Load(access)) = load.map(|(id, inst)| (id, &inst.op)).expect("the load") else { panic!("{text}") };
        let ranges = Ranges::of(function);
        assert!(!ranges.counts_from_start(at, access.indices[0]), "known without it: {body}");
        counts_from_start(&module, function, &ranges, at, access.array, access.indices[0])
    }

    #[test]
    fn an_extent_of_the_array_is_above_zero_at_its_access() {
        let up = "%up: int32 = add %i, %c1";
        assert!(is_known(&format!("{up}\n%r: int32 = min %up, %last")));
        assert!(is_known("%r: int32 = call @limit(%x, %last)"));
        assert!(is_known("%r: int32 = call @cyclic(%x, %c0)"));
        // The extent of another array; one less than the last; what may be negative anyway.
        assert!(!is_known(&format!("{up}\n%end: int32 = sub %m, %c1\n%r: int32 = min %up, %end")));
        assert!(!is_known(&format!("{up}\n%end: int32 = sub %n, %c2\n%r: int32 = min %up, %end")));
        assert!(!is_known("%r: int32 = min %x, %last"));
        assert!(!is_known("%r: int32 = call @cyclic(%x, %x)"));
        assert!(!is_known("%end: int32 = sub %m, %c1\n%r: int32 = call @limit(%x, %end)"));
    }
}
