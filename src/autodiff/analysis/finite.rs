//! Where could a zero adjoint meet a derivative that is not finite, and 0 * inf become NaN?
//!
//! A value that was not taken has the adjoint 0, and 0 is what must come to its operands, whatever their derivatives are.
//! Guards (`adj == 0 ? 0 : ...`) see to that, and they stand only where they are needed:
//!
//! 1. What only one side of a choice needs is computed under a branch ([`crate::passes::sink`]), and reversed under it: no
//!    guard at all.
//! 2. `sqrt` is guarded always: its derivative is infinite at 0, where its value is fine, and a zero adjoint may come from
//!    the caller.
//! 3. A custom rule is guarded unless it is *tame*: of finite arguments it computes nothing that can be infinite.
//! 4. Products, quotients and calls are guarded where their result is still *chosen*: flows into `min`, `max` or a
//!    choice that could not become a branch, and where what they multiply by is *wild*.
//!
//! *Wild* is what can be infinite or NaN though the arguments are finite: quotients, roots, calls of wild functions, and
//! what is computed from these. Overflow is not considered, nor are inputs that are infinite or NaN themselves: outside
//! of 1, their gradients are what IEEE arithmetic makes of the chain rule.

use super::activity::{smooth_operands, yields};
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::{BinaryOp, BlockId, CompareOp, FuncId, Function, Inst, Module, Op, UnaryOp, ValueId};

/// Which values may meet a zero adjoint, and which are no factors for one.
pub struct Finite {
    chosen: IdSet<ValueId>,
    wild: IdVec<ValueId, bool>,
}

/// Of functions whether they are tame, as far as asked for: true as long as their bodies stay.
pub type Tame = IdMap<FuncId, bool>;

impl Finite {
    pub fn of(module: &Module, function: &Function, known: &mut Tame) -> Finite {
        Finite { chosen: chosen(function), wild: wild(module, function, known) }
    }

    /// Whether the adjoint of this value can be zero where its operands or itself are not finite.
    pub fn is_chosen(&self, value: ValueId) -> bool {
        self.chosen.contains(&value)
    }

    pub fn is_wild(&self, value: ValueId) -> bool {
        self.wild[value]
    }
}

/// Library functions that are finite wherever their arguments are, although a look at their code does not tell.
const FINITE: [&str; 8] = ["sin", "cos", "tanh", "atan", "atan2", "erf", "erfc", "asinh"];

/// Whether a function of finite arguments computes finite values only.
pub fn is_tame(module: &Module, id: FuncId, known: &mut Tame) -> bool {
    if let Some(&known) = known.get(&id) {
        return known;
    }
    let function = &module.functions[id];
    let mut find = || {
        function.library && FINITE.contains(&function.source_name.as_str())
            || !wild(module, function, known).values().any(|&wild| wild)
    };
    let tame = match module.functions.linked(id) {
        Some(linked) => linked.facts.get_or_find(|| IsTame(find())).0,
        None => find(),
    };
    known.insert(id, tame);
    tame
}

/// Whether a linked function is tame.
struct IsTame(bool);

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
                let given = inst.results.iter().zip(yields(function, *block));
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
                    found.extend(yields(function, *body).get(n));
                }
            }
        }
        op => {
            if inst.results.iter().any(|r| found.contains(r)) {
                found.extend(smooth_operands(op));
            }
        }
    }
}

/// The wild values of a function.
fn wild(module: &Module, function: &Function, known: &mut Tame) -> IdVec<ValueId, bool> {
    let mut search = Search {
        module,
        function,
        known,
        wild: function.values.ids().map(|_| false).collect(),
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
    search.wild
}

struct Search<'a> {
    module: &'a Module,
    function: &'a Function,
    known: &'a mut Tame,
    wild: IdVec<ValueId, bool>,
    /// Values that branches around have found not to be zero.
    nonzero: Vec<ValueId>,
    changed: bool,
    /// There is a loop: one walk in program order does not see all.
    loops: bool,
}

impl Search<'_> {
    fn mark(&mut self, value: ValueId, wild: bool) {
        if wild && !self.wild[value] && self.function.ty(value).scalar_part().is_none_or(|s| s.is_float()) {
            self.wild[value] = true;
            self.changed = true;
        }
    }

    fn block(&mut self, block: BlockId) {
        let function = self.function;
        for &id in &function.blocks[block].insts {
            self.inst(&function.insts[id]);
        }
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
                    for (&result, &value) in inst.results.iter().zip(yields(function, block)) {
                        self.mark(result, self.wild[value]);
                    }
                }
            }
            Op::For { init, body, .. } | Op::While { init, body, .. } => {
                self.loops = true;
                let first = usize::from(matches!(inst.op, Op::For { .. }));
                for (n, &start) in init.iter().enumerate() {
                    let next = yields(function, *body).get(n).is_some_and(|&v| self.wild[v]);
                    let wild = self.wild[start] || next;
                    self.mark(function.blocks[*body].params[first + n], wild);
                    self.mark(inst.results[n], wild);
                }
                if let Op::While { condition, .. } = inst.op {
                    for (n, &start) in init.iter().enumerate() {
                        self.mark(function.blocks[condition].params[n], self.wild[start] || self.wild[inst.results[n]]);
                    }
                    self.block(condition);
                }
                self.block(*body);
            }
            Op::Load(_) => {}
            op => {
                let own = match op {
                    Op::Const(_) => inst.results.iter().any(|&r| constant(r).is_some_and(|c| !c.is_finite())),
                    Op::Unary(UnaryOp::Sqrt, _) => true,
                    Op::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv, _, b) => {
                        !(self.nonzero.contains(b) || constant(*b).is_some_and(|c| c != 0.0))
                    }
                    Op::Bitcast(_) => true,
                    Op::Call(callee, _) => !is_tame(self.module, *callee, self.known),
                    Op::Zero
                    | Op::Unary(..)
                    | Op::Binary(..)
                    | Op::Compare(..)
                    | Op::Fma(..)
                    | Op::Cast(_)
                    | Op::Select { .. }
                    | Op::Construct(_)
                    | Op::Extract(..)
                    | Op::Insert(..)
                    | Op::ThreadIndex(_)
                    | Op::ThreadNumber
                    | Op::BlockDim
                    | Op::Extent(..)
                    | Op::IsSet(_)
                    | Op::Gradient(_)
                    | Op::Address(_)
                    | Op::View(..)
                    | Op::LocalArray
                    | Op::Load(_)
                    | Op::Store { .. }
                    | Op::Atomic { .. }
                    | Op::AtomicCas { .. }
                    | Op::If { .. }
                    | Op::For { .. }
                    | Op::While { .. }
                    | Op::Print { .. }
                    | Op::Assert { .. }
                    | Op::Yield(_)
                    | Op::Break(_)
                    | Op::Continue(_)
                    | Op::Return(_) => false,
                };
                let mut wild = own;
                op.for_each_operand(|v| wild |= self.wild[v]);
                for &result in &inst.results {
                    self.mark(result, wild);
                }
            }
        }
    }

    /// The value that is not zero where a condition holds, or where it does not.
    fn nonzero_if(&self, condition: ValueId, holds: bool) -> Option<ValueId> {
        let constant = |v: ValueId| self.function.as_const(v).and_then(|c| c.as_float());
        let Op::Compare(op, a, b) = self.function.def(condition)?.op else { return None };
        let (value, bound, op) = match (constant(a), constant(b)) {
            (None, Some(bound)) => (a, bound, op),
            (Some(bound), None) => {
                let turned = match op {
                    CompareOp::Lt => CompareOp::Gt,
                    CompareOp::Gt => CompareOp::Lt,
                    CompareOp::Le => CompareOp::Ge,
                    CompareOp::Ge => CompareOp::Le,
                    other => other,
                };
                (b, bound, turned)
            }
            _ => return None,
        };
        // A NaN is not zero either, and wild by itself.
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

    /// The facts about the values of `@f` with these names.
    fn facts(body: &str, names: &[&str]) -> Vec<(bool, bool)> {
        let text = format!("func @f(%x: float64, %y: float64) -> (float64) {{\n{body}\n}}");
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let function = &module.functions[module.find("f").unwrap()];
        let finite = Finite::of(&module, function, &mut Tame::default());
        let value = |name: &&str| {
            let named = |v: &ValueId| function.values[*v].name.as_deref() == Some(*name);
            function.values.ids().find(named).unwrap()
        };
        names.iter().map(value).map(|v| (finite.is_chosen(v), finite.is_wild(v))).collect()
    }

    #[test]
    fn quotients_are_wild_and_what_a_choice_takes_is_chosen() {
        let body = "%q: float64 = div %x, %y
             %p: float64 = mul %q, %x
             %s: float64 = add %x, %y
             %c: bool = lt %x, %y
             %r: float64 = select %c, %p, %s
             return %r";
        let all = facts(body, &["q", "p", "s", "r"]);
        assert_eq!(all, [(true, true), (true, true), (true, false), (false, true)]);
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
        let chosen: Vec<bool> = facts(body, &["x", "b", "e", "m"]).into_iter().map(|(chosen, _)| chosen).collect();
        assert_eq!(chosen, [true, true, true, false]);
    }
}
