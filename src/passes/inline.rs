//! What is left when calls are gone? The code of a callee takes the place of the call.
//!
//! Parameters become the arguments, results (by-reference ones too) the values that the callee
//! returns. A callee is put into single-exit form first, on a copy: the module stays as it is. The
//! caller may have any shape. A local array of the callee is zeroed each time its `local_array`
//! runs (rule 17), inlined as called.

use super::copy::Copier;
use super::loop_exits;
use super::rebuild::Rebuild;
use crate::ids::IdMap;
use crate::ir::{BlockId, FuncId, Function, InstId, Module, Op};
use crate::source::Span;

/// A function with more instructions than this takes in no further one.
pub const MAX_INSTS: usize = 200_000;

/// Inlining would make a function larger than [`MAX_INSTS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    pub callee: FuncId,
    /// The call.
    pub span: Span,
}

/// Inlines the calls in `function` of those functions of `module` that are `wanted`, and the wanted
/// calls in these. Says whether there were any. `function` need not be in the module. After an
/// error it is half done: drop it.
pub fn run(function: &mut Function, module: &Module, wanted: &dyn Fn(FuncId) -> bool) -> Result<bool, TooLarge> {
    let mut inliner = Inliner { module, wanted, callees: IdMap::default() };
    if !inliner.find(function) {
        return Ok(false);
    }
    let entry = function.entry;
    let mut rebuild = Rebuild::start(function);
    let done = inliner.block(&mut rebuild, entry);
    rebuild.finish(function);
    done.map(|()| true)
}

/// What takes the place of a call.
struct Callee {
    /// In single-exit form, with the calls that it makes itself: if those were inlined here too,
    /// each function of a chain would hold all that follow, in the square of the chain's length.
    body: Function,
    /// Whether a copy of it has calls to inline.
    calls: bool,
}

struct Inliner<'a> {
    module: &'a Module,
    wanted: &'a dyn Fn(FuncId) -> bool,
    /// Those met.
    callees: IdMap<FuncId, Callee>,
}

impl Inliner<'_> {
    /// Makes ready what a function calls, directly or not; says whether it calls anything that is
    /// wanted.
    fn find(&mut self, function: &Function) -> bool {
        let mut calls = Vec::new();
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Call(callee, _) = inst.op
                && (self.wanted)(callee)
                && self.module.functions[callee].native.is_none()
            {
                calls.push(callee);
            }
        });
        for &callee in &calls {
            if !self.callees.contains_key(&callee) {
                let mut body = self.module.functions[callee].clone();
                // What the library calls things means nothing in the user's code.
                if body.library {
                    body.values.values_mut().for_each(|value| value.name = None);
                }
                let calls = self.find(&body);
                loop_exits::run(&mut body);
                self.callees.insert(callee, Callee { body, calls });
            }
        }
        !calls.is_empty()
    }

    fn block(&self, rebuild: &mut Rebuild, block: BlockId) -> Result<(), TooLarge> {
        let outside = rebuild.b.switch_to(block);
        let insts = rebuild.take(block);
        self.insts(rebuild, insts)?;
        rebuild.b.switch_to(outside);
        Ok(())
    }

    /// Appends instructions to the current block.
    fn insts(&self, rebuild: &mut Rebuild, insts: Vec<InstId>) -> Result<(), TooLarge> {
        for id in insts {
            let op = rebuild.update(id);
            let nested = op.blocks();
            if let Op::Call(callee, args) = op
                && let Some(Callee { body, calls }) = self.callees.get(callee)
            {
                let (callee, args) = (*callee, args.clone());
                if rebuild.b.function.insts.len() + body.insts.len() > MAX_INSTS {
                    return Err(TooLarge { callee, span: rebuild.b.span });
                }
                let results = rebuild.b.function.insts[id].results.clone();
                let mut copier = Copier::from(body);
                body.params().iter().zip(args).for_each(|(&param, arg)| copier.map(param, arg));
                let block = rebuild.b.block();
                let start = rebuild.b.function.blocks[block].insts.len();
                let last = copier.insts(&mut rebuild.b, body.entry);
                if *calls {
                    let copies = rebuild.b.function.blocks[block].insts.split_off(start);
                    self.insts(rebuild, copies)?;
                }
                if let Op::Return(values) = last {
                    for (&result, value) in results.iter().zip(values) {
                        let value = rebuild.current(value);
                        rebuild.replace(result, value);
                    }
                }
                continue;
            }
            for nested in nested {
                self.block(rebuild, nested)?;
            }
            rebuild.b.append(id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
