//! What has been computed is not computed again, for CUDA text.
//!
//! Where functions are inlined several times, each copy calls the same function for the same row,
//! and reverse code calls again what the forward part of its entry has called. In reverse code two
//! adjoints may be one product: it is said once if it has a variable anyway, as what is used twice
//! has.

use std::collections::HashMap;

use crate::analysis::effects::EffectTable;
use crate::analysis::uses;
use crate::analysis::value_numbering::numbering;
use crate::ids::{IdMap, IdVec};
use crate::ir::{BinaryOp, BlockId, FuncId, Function, Inst, InstId, Op, Phase, ValueId, Values};

/// More rounds than real programs need: what is computed of different values until now is seen in
/// the next one.
const MAX_ROUNDS: usize = 6;

/// Replaces the results of what is computed again; it stays, unused. Says whether there was any.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    (0..MAX_ROUNDS).take_while(|_| round(function, effects)).count() > 0
}

fn round(function: &mut Function, effects: &EffectTable) -> bool {
    let mut merger = Merger {
        function,
        effects,
        uses: uses(function),
        number: numbering(function),
        known: HashMap::new(),
        order: Vec::new(),
        same: IdMap::default(),
    };
    merger.block(function.entry);
    let same = merger.same;
    let mut used = false;
    for inst in function.insts.values_mut().filter(|_| !same.is_empty()) {
        inst.op.for_each_operand_mut(|value| {
            if let Some(&first) = same.get(value) {
                *value = first;
                used = true;
            }
        });
    }
    let repeated: Vec<ValueId> = function.values.ids().filter(|value| used && same.contains_key(value)).collect();
    for value in repeated {
        let name = function.values[value].name.clone();
        let into = &mut function.values[same[&value]].name;
        *into = into.take().or(name);
    }
    used
}

/// What is computed.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Computed {
    /// A function, and its arguments.
    Call(FuncId, Values),
    /// The first value that is computed so, visible or not.
    Value(ValueId),
}

struct Merger<'a> {
    function: &'a Function,
    effects: &'a EffectTable,
    uses: IdVec<ValueId, u32>,
    number: IdVec<ValueId, ValueId>,
    /// What is visible, by what it computes.
    known: HashMap<Computed, InstId>,
    /// The same, in program order.
    order: Vec<Computed>,
    /// Results, by those that they repeat.
    same: IdMap<ValueId, ValueId>,
}

impl Merger<'_> {
    fn block(&mut self, block: BlockId) {
        let outside = self.order.len();
        let function = self.function;
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            if let Some(computed) = self.computed(inst) {
                match self.known.get(&computed) {
                    Some(&first) => self.repeat(inst, &function.insts[first]),
                    None => {
                        self.known.insert(computed.clone(), id);
                        self.order.push(computed);
                    }
                }
            }
            inst.op.blocks().iter().for_each(|&nested| self.block(nested));
        }
        for computed in self.order.drain(outside..) {
            self.known.remove(&computed);
        }
    }

    fn computed(&self, inst: &Inst) -> Option<Computed> {
        if let Op::Call(callee, args) = &inst.op {
            let effects = &self.effects[*callee];
            let args = args.iter().map(|&arg| self.number[arg]).collect();
            return (effects.is_pure() && effects.is_removable()).then_some(Computed::Call(*callee, args));
        }
        let [result] = inst.results[..] else { return None };
        let is_product = matches!(inst.op, Op::Binary(BinaryOp::Mul | BinaryOp::Div, ..));
        let is_adjoint = self.function.phase == Phase::Backward && !self.function.ty(result).is_int();
        (is_product && is_adjoint).then(|| Computed::Value(self.number[result]))
    }

    fn repeat(&mut self, inst: &Inst, first: &Inst) {
        let name = |value: ValueId| &self.function.values[value].name;
        let all = || inst.results.iter().copied().zip(first.results.iter().copied());
        let is_call = matches!(inst.op, Op::Call(..));
        // Another name in the source says another thing, and a term of a sum is read in its place.
        let is_variable = |value: ValueId| self.uses[value] > 1;
        if is_call
            || all().all(|(again, first)| {
                (is_variable(again) || is_variable(first)) && (name(again).is_none() || name(again) == name(first))
            })
        {
            self.same.extend(all());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::effects;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;
    use crate::passes::pipelines::clean;

    /// How many calls a function has after the pass, `main` of a text whose other functions are
    /// `square`, which is pure, and `count`, which adds to an array.
    fn left(body: &str) -> usize {
        let text = format!(
            "func @square(%x: int32) -> (int32) {{\n%r: int32 = mul %x, %x\nreturn %r\n}}\n\
             func @count(%a: array(dtype=int32), %x: int32) -> (int32) {{\n\
             %o: int32 = atomic add %a[%x], %x\nreturn %o\n}}\n\
             func @main(%a: array(dtype=int32), %x: int32, %y: int32, %c: bool) -> (int32) {{\n{body}\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (id, table) = (module.find("main").expect("the function"), effects(&module));
        let structs = module.structs.clone();
        run(&mut module.functions[id], &table);
        clean(&mut module.functions[id], &structs, &table);
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        print(&module).matches("call @").count()
    }

    #[test]
    fn equal_arguments_are_computed_with_once() {
        let twice = |second: &str| {
            let sums = "%s: int32 = add %x, %y\n%t: int32 = add %y, %x";
            format!(
                "{sums}\n%p: int32 = call @square(%s)\n%q: int32 = call @square({second})\n\
                 %r: int32 = mul %p, %q\nreturn %r"
            )
        };
        assert_eq!(left(&twice("%t")), 1);
        assert_eq!(left(&twice("%x")), 2);
    }

    #[test]
    fn calls_of_equal_calls_are_equal() {
        let body = "%p: int32 = call @square(%x)\n%q: int32 = call @square(%x)\n%u: int32 = call @square(%p)\n\
                    %v: int32 = call @square(%q)\n%r: int32 = mul %u, %v\nreturn %r";
        assert_eq!(left(body), 2);
    }

    #[test]
    fn calls_of_another_branch_are_not_seen() {
        let body = "%r: int32 = if %c {\n%p: int32 = call @square(%x)\nyield %p\n} else {\n\
                    %q: int32 = call @square(%x)\n%m: int32 = neg %q\nyield %m\n}\nreturn %r";
        assert_eq!(left(body), 2);
        let around = "%p: int32 = call @square(%x)\n%r: int32 = if %c {\nyield %p\n} else {\n\
                      %q: int32 = call @square(%x)\n%m: int32 = neg %q\nyield %m\n}\nreturn %r";
        assert_eq!(left(around), 1);
    }

    /// How many products a kernel's backward entry has after the pass.
    fn products(body: &str) -> usize {
        let text = format!(
            "kernel @main(%a: array(dtype=float32), %x: float32) rank 1 {{\n%i: int32 = thread_index 0\n\
             %c: float32 = const 0.5\n{body}\nreturn\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (id, table) = (module.find("main").expect("the kernel"), effects(&module));
        module.functions[id].phase = Phase::Backward;
        let structs = module.structs.clone();
        run(&mut module.functions[id], &table);
        clean(&mut module.functions[id], &structs, &table);
        print(&module).matches("= mul").count()
    }

    #[test]
    fn adjoints_that_have_variables_are_one() {
        let uses = |p: &str, q: &str| {
            format!(
                "%0: float32 = mul %x, %c\n%1: float32 = mul %c, %x\n%2: float32 = add {p}, {q}\n\
                 store %a[%i], %2\n%3: float32 = add %0, %1\nstore %a[%i], %3"
            )
        };
        assert_eq!(products(&uses("%0", "%1")), 1);
        // Each is a part of one expression: no variable is made of them.
        assert_eq!(products(&uses("%x", "%x")), 2);
    }

    #[test]
    fn calls_that_do_more_stay() {
        let body =
            "%p: int32 = call @count(%a, %x)\n%q: int32 = call @count(%a, %x)\n%r: int32 = mul %p, %q\nreturn %r";
        assert_eq!(left(body), 2);
    }
}
