//! Which calls of the reverse give what an earlier call has given? The derivative of `exp` is its
//! value, and that of `sin` is a `cos` that may be there already: such a call goes.

use crate::analysis::value_numbering::numbering;
use crate::ids::{IdMap, IdVec};
use crate::ir::{BlockId, FuncId, Function, Op, ValueId, Values};

/// Replaces the results of a call of a `pure` function by those of the same call earlier on, where
/// these are visible. The calls stay, unused. Says whether there were any. `numbers`: which values
/// are equal, if that is known.
pub fn run(function: &mut Function, numbers: Option<IdVec<ValueId, ValueId>>, pure: &dyn Fn(FuncId) -> bool) -> bool {
    if !calls_twice(function, pure) {
        return false;
    }
    let mut search = Search {
        same: numbers.unwrap_or_else(|| numbering(function)),
        function,
        pure,
        seen: IdMap::default(),
        visible: Vec::new(),
        found: IdMap::default(),
    };
    search.block(function.entry);
    let found = search.found;
    if found.is_empty() {
        return false;
    }
    for inst in function.insts.values_mut() {
        inst.op.for_each_operand_mut(|v| *v = found.get(v).copied().unwrap_or(*v));
    }
    true
}

/// Whether there are two calls of one pure function.
fn calls_twice(function: &Function, pure: &dyn Fn(FuncId) -> bool) -> bool {
    let mut callees = function.callees();
    callees.sort_unstable();
    callees.windows(2).any(|pair| pair[0] == pair[1] && pure(pair[0]))
}

struct Search<'a> {
    function: &'a Function,
    /// By value: the first one that is equal to it.
    same: IdVec<ValueId, ValueId>,
    pure: &'a dyn Fn(FuncId) -> bool,
    /// The results of the calls that are visible at the cursor.
    seen: IdMap<(FuncId, Values), Vec<ValueId>>,
    /// These calls, in their order.
    visible: Vec<(FuncId, Values)>,
    /// What takes the place of a result.
    found: IdMap<ValueId, ValueId>,
}

impl Search<'_> {
    fn block(&mut self, block: BlockId) {
        let outside = self.visible.len();
        let function = self.function;
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            if let Op::Call(callee, args) = &inst.op
                && (self.pure)(*callee)
            {
                let number = |v: &ValueId| self.found.get(v).copied().unwrap_or(self.same[*v]);
                let args: Values = args.iter().map(number).collect();
                let call = (*callee, args);
                match self.seen.get(&call) {
                    Some(earlier) => {
                        self.found.extend(inst.results.iter().copied().zip(earlier.iter().copied()));
                    }
                    None => {
                        self.visible.push(call.clone());
                        self.seen.insert(call, inst.results.to_vec());
                    }
                }
            }
            for nested in inst.op.blocks() {
                self.block(nested);
            }
        }
        for call in self.visible.drain(outside..) {
            self.seen.remove(&call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::ir::parse::parse;
    use crate::ir::{FuncId, Op};

    /// A call in a branch is visible there only; one with other arguments, or of a function that is
    /// not pure, is another one.
    const CALLS: &str = "func @f(%x: float64) -> (float64) {
  %y: float64 = mul %x, %x
  return %y
}

func @g(%x: float64) -> (float64) {
  %y: float64 = add %x, %x
  return %y
}

func @caller(%a: float64, %b: float64, %c: bool) -> (float64) {
  %s: float64 = add %a, %b
  %t: float64 = add %b, %a
  %1: float64 = if %c {
    %2: float64 = call @f(%b)
    yield %2
  } else {
    %3: float64 = call @f(%b)
    yield %3
  }
  %4: float64 = call @f(%s)
  %5: float64 = if %c {
    %6: float64 = call @f(%t)
    yield %6
  } else {
    %7: float64 = call @g(%a)
    yield %7
  }
  %8: float64 = call @g(%a)
  %9: float64 = call @g(%a)
  %10: float64 = call @f(%b)
  %11: float64 = add %1, %4
  %12: float64 = add %5, %8
  %13: float64 = add %9, %10
  %14: float64 = add %11, %12
  %15: float64 = add %14, %13
  return %15
}
";

    #[test]
    fn only_visible_calls_of_pure_functions_are_shared() {
        let mut module = parse(CALLS).expect("valid IR");
        let named = |name: &str| module.find(name).expect("it is there");
        let (f, caller) = (named("f"), named("caller"));
        let pure = |callee: FuncId| callee == f;
        assert!(run(&mut module.functions[caller], None, &pure));
        assert!(!run(&mut module.functions[caller], None, &|_| false));
        let function = &module.functions[caller];
        let mut unused = Vec::new();
        let uses = crate::analysis::uses(function);
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Call(..) = inst.op {
                unused.push(uses[inst.results[0]] == 0);
            }
        });
        // In program order: b in both branches, the sum, the sum the other way round, g thrice, b
        // behind the branches.
        assert_eq!(unused, [false, false, false, true, false, false, false, false]);
    }
}
