//! What is left when calls are gone? The code of a callee takes the place of the call.
//!
//! Parameters become the arguments, results (by-reference ones too) the values that the callee returns. A callee is put
//! into single-exit form first, on a copy: the module stays as it is. The caller may have any shape. A local array of the
//! callee is zeroed each time its `local_array` runs (rule 17), inlined as called.

use super::copy::Copier;
use super::rebuild::Rebuild;
use super::single_exit;
use crate::ids::IdMap;
use crate::ir::{BlockId, FuncId, Function, Module, Op};
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

/// Inlines the calls in `function` of those functions of `module` that are `wanted`, and the wanted calls in these. Says
/// whether there were any. `function` need not be in the module. After an error it is half done: drop it.
pub fn run(function: &mut Function, module: &Module, wanted: &dyn Fn(FuncId) -> bool) -> Result<bool, TooLarge> {
    Inliner { module, wanted, callees: IdMap::default() }.function(function)
}

struct Inliner<'a> {
    module: &'a Module,
    wanted: &'a dyn Fn(FuncId) -> bool,
    /// Those met, with their own calls inlined.
    callees: IdMap<FuncId, Function>,
}

impl Inliner<'_> {
    fn function(&mut self, function: &mut Function) -> Result<bool, TooLarge> {
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
                let mut copy = self.module.functions[callee].clone();
                // What the library calls things means nothing in the user's code.
                if copy.library {
                    copy.values.values_mut().for_each(|value| value.name = None);
                }
                self.function(&mut copy)?;
                single_exit::run(&mut copy);
                self.callees.insert(callee, copy);
            }
        }
        if calls.is_empty() {
            return Ok(false);
        }
        let entry = function.entry;
        let mut rebuild = Rebuild::start(function);
        let done = self.block(&mut rebuild, entry);
        rebuild.finish(function);
        done.map(|()| true)
    }

    fn block(&self, rebuild: &mut Rebuild, block: BlockId) -> Result<(), TooLarge> {
        let outside = rebuild.b.switch_to(block);
        for id in rebuild.take(block) {
            let op = rebuild.update(id);
            let nested = op.blocks();
            if let Op::Call(callee, args) = op
                && let Some(body) = self.callees.get(callee)
            {
                let (callee, args) = (*callee, args.clone());
                if rebuild.b.function.insts.len() + body.insts.len() > MAX_INSTS {
                    return Err(TooLarge { callee, span: rebuild.b.span });
                }
                let results = rebuild.b.function.insts[id].results.clone();
                let mut copier = Copier::from(body);
                body.params().iter().zip(args).for_each(|(&param, arg)| copier.map(param, arg));
                if let Op::Return(values) = copier.insts(&mut rebuild.b, body.entry) {
                    results.iter().zip(values).for_each(|(&result, value)| rebuild.replace(result, value));
                }
                continue;
            }
            for nested in nested {
                self.block(rebuild, nested)?;
            }
            rebuild.b.append(id);
        }
        rebuild.b.switch_to(outside);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
