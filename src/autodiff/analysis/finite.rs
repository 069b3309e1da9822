//! Where could a zero adjoint meet a derivative that is not finite, and 0 * inf become NaN?
//!
//! An adjoint of zero says that nothing depends on a value: it was not chosen, or the caller has no
//! use for it. Zero is what must come to its operands then, whatever their derivatives are. Guards
//! (`adj != 0 ? ... : 0`) see to that, and they stand only where they are needed:
//!
//! 1. What only one side of a choice needs is computed under a branch ([`crate::passes::sink`]),
//!    and reversed under it: no guard at all.
//! 2. `sqrt` is guarded: its derivative is infinite at 0, where its value is fine. Not where it is
//!    known to be positive.
//! 3. A custom rule is guarded unless it is *never non-finite*: of finite arguments it computes
//!    nothing that can be infinite.
//! 4. Products, quotients and calls are guarded where what they multiply by *may be non-finite*.
//!
//! A value *may be non-finite* if it can be infinite or NaN though the arguments are finite:
//! quotients, roots, calls of functions that may give such values, and what is computed from these;
//! but not quotients by what is known not to be zero, and roots of sums of squares. What can only
//! overflow, as `exp` does, counts where the result is *chosen*: flows into `min`, `max` or a
//! choice that could not become a branch. Overflow of sums and products is not considered, nor are
//! inputs that are infinite or NaN themselves: outside of 1, their gradients are what IEEE
//! arithmetic makes of the chain rule.

use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::{
    BinaryOp, BlockId, CompareOp, FuncId, Function, Gives, Inst, Module, Op, UnaryOp, ValueId, accesses, arithmetic,
    arrays, effects, jumps, nested, parts, threads, values,
};

/// Which values may meet a zero adjoint, and which are no factors for one.
pub struct Finite {
    chosen: IdSet<ValueId>,
    sizes: IdVec<ValueId, Gives>,
    /// Roots that are not zero.
    positive: IdSet<ValueId>,
}

/// Of functions what they give, as far as asked for: true as long as their bodies stay.
pub type Sizes = IdMap<FuncId, Gives>;

impl Finite {
    pub fn of(module: &Module, function: &Function, known: &mut Sizes) -> Finite {
        let mut search = Search {
            module,
            function,
            known,
            sizes: function.values.ids().map(|_| Gives::Finite).collect(),
            positive: IdSet::default(),
            nonzero: Vec::new(),
            changed: true,
            loops: false,
        };
        while std::mem::take(&mut search.changed) {
            search.block(function.entry);
            if !search.loops {
                break;
            }
        }
        Finite { chosen: chosen(function), sizes: search.sizes, positive: search.positive }
    }

    /// Whether a result may be infinite where it was not chosen.
    pub fn is_dropped(&self, result: ValueId) -> bool {
        self.sizes[result] != Gives::Finite && self.chosen.contains(&result)
    }

    /// Whether a root is known to be positive.
    pub fn is_positive(&self, root: ValueId) -> bool {
        self.positive.contains(&root)
    }

    /// Whether a factor may make more than zero of a zero adjoint of `result`.
    pub fn may_be_non_finite(&self, factor: ValueId, result: ValueId) -> bool {
        match self.sizes[factor] {
            Gives::Finite => false,
            Gives::Overflows => self.chosen.contains(&result),
            Gives::Any => true,
        }
    }
}

/// What a function of finite arguments computes on its way, at most.
pub fn what_gives(module: &Module, id: FuncId, known: &mut Sizes) -> Gives {
    if let Some(&known) = known.get(&id) {
        return known;
    }
    let function = &module.functions[id];
    let mut find = || match function.gives {
        Some(gives) => gives,
        None => Finite::of(module, function, known).sizes.values().copied().max().unwrap_or(Gives::Finite),
    };
    let size = match module.functions.linked(id) {
        Some(linked) => linked.facts.get_or_find(|| Given(find())).0,
        None => find(),
    };
    known.insert(id, size);
    size
}

/// What a linked function gives.
struct Given(Gives);

/// Values that flow into `select`, `min` or `max`.
fn chosen(function: &Function) -> IdSet<ValueId> {
    let mut found = IdSet::default();
    let mut loops = false;
    loop {
        let before = found.len();
        chosen_in(function, function.entry, &mut found, &mut loops);
        if !loops || found.len() == before {
            return found;
        }
    }
}

/// From the end, as it flows: what a branch gives before what computes it.
fn chosen_in(function: &Function, block: BlockId, found: &mut IdSet<ValueId>, loops: &mut bool) {
    for &id in function.blocks[block].insts.iter().rev() {
        let inst = &function.insts[id];
        *loops |= matches!(inst.op, Op::For { .. } | Op::While { .. });
        chosen_operands(function, inst, found);
        for nested in inst.op.blocks() {
            chosen_in(function, nested, found, loops);
        }
    }
}

fn chosen_operands(function: &Function, inst: &Inst, found: &mut IdSet<ValueId>) {
    match &inst.op {
        Op::Select { then, otherwise, .. } => found.extend([*then, *otherwise]),
        Op::Binary(BinaryOp::Min | BinaryOp::Max, a, b) => found.extend([*a, *b]),
        Op::If { then, otherwise, .. } => {
            for block in [then, otherwise] {
                let given = inst.results.iter().zip(function.yielded(*block));
                let flowing: Vec<ValueId> = given.filter(|(r, _)| found.contains(*r)).map(|(_, &v)| v).collect();
                found.extend(flowing);
            }
        }
        Op::For { init, body, .. } | Op::While { init, body, .. } => {
            let first = usize::from(matches!(inst.op, Op::For { .. }));
            for (n, &start) in init.iter().enumerate() {
                let param = function.blocks[*body].params[first + n];
                if found.contains(&inst.results[n]) || found.contains(&param) {
                    found.insert(start);
                    found.extend(function.yielded(*body).get(n));
                }
            }
        }
        op @ (arithmetic!()
        | Op::Zero
        | Op::Construct(_)
        | Op::Extract(..)
        | Op::Insert(..)
        | threads!()
        | Op::Call(..)
        | arrays!()
        | accesses!()
        | effects!()
        | jumps!()) => {
            if inst.results.iter().any(|r| found.contains(r)) {
                found.extend(op.smooth_operands());
            }
        }
    }
}

/// What a float is known not to be below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Bound {
    None,
    /// At least zero, or NaN.
    Zero,
    /// Above zero, or NaN.
    Positive,
}

/// How many operations [`lower_bound`] looks through.
const DEPTH: u32 = 8;

struct Search<'a> {
    module: &'a Module,
    function: &'a Function,
    known: &'a mut Sizes,
    sizes: IdVec<ValueId, Gives>,
    positive: IdSet<ValueId>,
    /// Values that branches around have found not to be zero.
    nonzero: Vec<ValueId>,
    changed: bool,
    /// There is a loop: one walk in program order does not see all.
    loops: bool,
}

impl Search<'_> {
    fn mark(&mut self, value: ValueId, size: Gives) {
        if size > self.sizes[value] && self.function.ty(value).scalar_part().is_none_or(|s| s.is_float()) {
            self.sizes[value] = size;
            self.changed = true;
        }
    }

    fn block(&mut self, block: BlockId) {
        let function = self.function;
        let before = self.nonzero.len();
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            self.inst(inst);
            // Behind `if x == 0 { return }`, x is not zero.
            if let Op::If { condition, then, .. } = inst.op
                && let Some(Op::Return(_) | Op::Break(_) | Op::Continue(_)) =
                    function.terminator(then).map(|end| &end.op)
            {
                let nonzero = self.nonzero_if(condition, false);
                self.nonzero.extend(nonzero);
            }
        }
        self.nonzero.truncate(before);
    }

    fn inst(&mut self, inst: &Inst) {
        let function = self.function;
        let constant = |v: ValueId| function.as_const(v).and_then(|c| c.as_float());
        match &inst.op {
            Op::If { condition, then, otherwise } => {
                for (block, holds) in [(*then, true), (*otherwise, false)] {
                    let nonzero = self.nonzero_if(*condition, holds);
                    let before = self.nonzero.len();
                    self.nonzero.extend(nonzero);
                    self.block(block);
                    self.nonzero.truncate(before);
                    for (&result, &value) in inst.results.iter().zip(function.yielded(block)) {
                        self.mark(result, self.sizes[value]);
                    }
                }
            }
            Op::For { init, body, .. } | Op::While { init, body, .. } => {
                self.loops = true;
                let first = usize::from(matches!(inst.op, Op::For { .. }));
                for (n, &start) in init.iter().enumerate() {
                    let next = function.yielded(*body).get(n).map_or(Gives::Finite, |&v| self.sizes[v]);
                    let size = self.sizes[start].max(next);
                    self.mark(function.blocks[*body].params[first + n], size);
                    self.mark(inst.results[n], size);
                }
                if let Op::While { condition, .. } = inst.op {
                    for (n, &start) in init.iter().enumerate() {
                        let size = self.sizes[start].max(self.sizes[inst.results[n]]);
                        self.mark(function.blocks[condition].params[n], size);
                    }
                    self.block(condition);
                }
                self.block(*body);
            }
            Op::Load(_) => {}
            op @ (values!()
            | Op::Call(..)
            | arrays!()
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | effects!()
            | jumps!()) => {
                let non_finite = match op {
                    Op::Const(_) => inst.results.iter().any(|&r| constant(r).is_some_and(|c| !c.is_finite())),
                    Op::Unary(UnaryOp::Sqrt, a) => {
                        let bound = self.lower_bound(*a, DEPTH);
                        if bound == Bound::Positive {
                            self.positive.extend(inst.results.iter().copied());
                        }
                        bound == Bound::None
                    }
                    Op::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv, _, b) => {
                        !(self.nonzero.contains(b)
                            || constant(*b).is_some_and(|c| c != 0.0)
                            || self.lower_bound(*b, DEPTH) == Bound::Positive)
                    }
                    Op::Call(..) => false,
                    op @ (Op::Unary(..)
                    | Op::Binary(..)
                    | Op::Compare(..)
                    | Op::Fma(..)
                    | Op::Cast(_)
                    | Op::Bitcast(_)
                    | parts!()
                    | threads!()
                    | arrays!()
                    | accesses!()
                    | effects!()
                    | nested!()
                    | jumps!()) => !op.properties().keeps_finite,
                };
                let mut size = if non_finite { Gives::Any } else { Gives::Finite };
                if let Op::Call(callee, _) = op {
                    size = what_gives(self.module, *callee, self.known);
                }
                op.for_each_operand(|v| size = size.max(self.sizes[v]));
                for &result in &inst.results {
                    self.mark(result, size);
                }
            }
        }
    }

    /// Sums of squares and what is like them; a NaN does not count, it may be non-finite anyway.
    fn lower_bound(&self, value: ValueId, depth: u32) -> Bound {
        let function = self.function;
        if let Some(constant) = function.as_const(value).and_then(|c| c.as_float()) {
            return match constant {
                c if c > 0.0 => Bound::Positive,
                0.0 => Bound::Zero,
                _ => Bound::None,
            };
        }
        let Some(inst) = function.def(value).filter(|_| depth > 0) else { return Bound::None };
        let of = |value: ValueId| self.lower_bound(value, depth - 1);
        let bound = match &inst.op {
            Op::Unary(UnaryOp::Abs, _) => Bound::Zero,
            Op::Unary(UnaryOp::Sqrt | UnaryOp::Tf32, a) => of(*a),
            Op::Binary(BinaryOp::Add, a, b) => match (of(*a), of(*b)) {
                (Bound::None, _) | (_, Bound::None) => Bound::None,
                (a, b) => a.max(b),
            },
            Op::Binary(BinaryOp::Max, a, b) => of(*a).max(of(*b)),
            Op::Binary(BinaryOp::Min, a, b) => of(*a).min(of(*b)),
            Op::Binary(BinaryOp::Mul, a, b) if a == b => Bound::Zero,
            // What is positive may be rounded to zero.
            Op::Binary(BinaryOp::Mul | BinaryOp::Div, a, b) => of(*a).min(of(*b)).min(Bound::Zero),
            Op::Call(callee, args) => {
                let callee = &self.module.functions[*callee];
                match (callee.source_name.as_str(), args.as_slice()) {
                    _ if !callee.library => Bound::None,
                    ("exp" | "length" | "length_sq" | "abs", _) => Bound::Zero,
                    ("cosh", _) => Bound::Positive,
                    ("dot", [a, b]) if a == b => Bound::Zero,
                    _ => Bound::None,
                }
            }
            // Of others no bound is known.
            _ => Bound::None,
        };
        if bound == Bound::Zero && self.nonzero.contains(&value) { Bound::Positive } else { bound }
    }

    /// The value that is not zero where a condition holds, or where it does not.
    fn nonzero_if(&self, condition: ValueId, holds: bool) -> Option<ValueId> {
        let constant = |v: ValueId| self.function.as_const(v).and_then(|c| c.as_float());
        let Op::Compare(op, a, b) = self.function.def(condition)?.op else { return None };
        let (value, bound, op) = match (constant(a), constant(b)) {
            (None, Some(bound)) => (a, bound, op),
            (Some(bound), None) => (b, bound, op.mirrored()),
            _ => return None,
        };
        // A NaN is not zero either, and may be non-finite by itself.
        let nonzero = match (op, holds) {
            (CompareOp::Gt, true) | (CompareOp::Le, false) => bound >= 0.0,
            (CompareOp::Ge, true) | (CompareOp::Lt, false) => bound > 0.0,
            (CompareOp::Lt, true) | (CompareOp::Ge, false) => bound <= 0.0,
            (CompareOp::Le, true) | (CompareOp::Gt, false) => bound < 0.0,
            (CompareOp::Ne, true) | (CompareOp::Eq, false) => bound == 0.0,
            _ => false,
        };
        nonzero.then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    /// Which of the values of `@f` with these names may be non-finite.
    fn non_finite_values(body: &str, names: &[&str]) -> Vec<bool> {
        let text = format!("func @f(%x: float64, %y: float64) -> (float64) {{\n{body}\n}}");
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let function = &module.functions[module.find("f").unwrap()];
        let finite = Finite::of(&module, function, &mut Sizes::default());
        let value = |name: &&str| {
            let named = |v: &ValueId| function.values[*v].name.as_deref() == Some(*name);
            function.values.ids().find(named).unwrap()
        };
        names.iter().map(value).map(|v| finite.sizes[v] == Gives::Any).collect()
    }

    #[test]
    fn quotients_may_be_non_finite_and_what_comes_of_them() {
        let body = "%q: float64 = div %x, %y
             %p: float64 = mul %q, %x
             %s: float64 = add %x, %y
             %c: bool = lt %x, %y
             %r: float64 = select %c, %p, %s
             return %r";
        assert_eq!(non_finite_values(body, &["q", "p", "s", "r"]), [true, true, false, true]);
    }

    #[test]
    fn sums_of_squares_have_roots_and_with_one_more_they_divide() {
        let body = "%one: float64 = const 1
             %a: float64 = mul %x, %x
             %b: float64 = mul %y, %y
             %s: float64 = add %a, %b
             %root: float64 = sqrt %s
             %more: float64 = add %one, %s
             %q: float64 = div %x, %more
             %large: float64 = sqrt %more
             %t: float64 = div %x, %large
             %u: float64 = div %x, %root
             %v: float64 = sqrt %y
             %d: float64 = sub %a, %b
             %w: float64 = sqrt %d
             return %q";
        assert_eq!(
            non_finite_values(body, &["root", "q", "t", "u", "v", "w"]),
            [false, false, false, true, true, true]
        );
    }

    #[test]
    fn what_goes_round_a_loop_is_chosen_with_its_end() {
        let body = "%zero: int32 = const 0
             %one: int32 = const 1
             %three: int32 = const 3
             %e: float64 = for %k: int32 = %zero to %three step %one carry %a: float64 = %x {
               %b: float64 = mul %a, %y
               yield %b
             }
             %m: float64 = min %e, %y
             return %m";
        let text = format!("func @f(%x: float64, %y: float64) -> (float64) {{\n{body}\n}}");
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let function = &module.functions[module.find("f").unwrap()];
        let chosen = chosen(function);
        let named = |name: &str| {
            let is = |v: &ValueId| function.values[*v].name.as_deref() == Some(name);
            chosen.contains(&function.values.ids().find(is).unwrap())
        };
        assert_eq!(["x", "b", "e", "m"].map(named), [true, true, true, false]);
    }

    #[test]
    fn what_goes_round_a_loop_is_wild_with_its_next_value() {
        let body = "%zero: int32 = const 0
             %one: int32 = const 1
             %three: int32 = const 3
             %e: float64 = for %k: int32 = %zero to %three step %one carry %a: float64 = %x {
               %b: float64 = div %a, %y
               yield %b
             }
             return %e";
        assert_eq!(non_finite_values(body, &["x", "a", "b", "e"]), [false, true, true, true]);
    }
}
