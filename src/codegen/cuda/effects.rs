//! What an instruction reads and writes beyond its values: which expressions may be evaluated later than they stand.

use crate::ids::IdVec;
use crate::ir::{BlockId, FuncId, Function, Inst, Module, Op, ResultRole, ValueId};
use crate::types::Type;

/// Kinds of memory; a local array never overlaps with an array argument.
const GLOBAL: u8 = 1;
const LOCAL: u8 = 2;

#[derive(Clone, Copy, Default, Debug)]
pub struct Effects {
    /// Kinds of memory.
    pub reads: u8,
    pub writes: u8,
    /// Prints or asserts.
    pub speaks: bool,
}

impl Effects {
    pub fn join(&mut self, other: Effects) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.speaks |= other.speaks;
    }

    /// An expression: it may stand anywhere between its place and the next write to what it reads.
    pub fn is_pure(self) -> bool {
        self.writes == 0 && !self.speaks
    }
}

/// The effects of each function of a module when it is called.
pub struct FunctionEffects {
    known: IdVec<FuncId, Effects>,
}

impl FunctionEffects {
    /// Those of some functions and of all that they call.
    pub fn of(module: &Module, wanted: &[FuncId]) -> FunctionEffects {
        let mut effects = FunctionEffects { known: module.functions.ids().map(|_| Effects::default()).collect() };
        let mut done = module.functions.ids().map(|_| false).collect();
        wanted.iter().for_each(|&id| effects.find(module, id, &mut done));
        effects
    }

    /// Finds the effects of a function, after those of the functions that it calls.
    fn find(&mut self, module: &Module, id: FuncId, done: &mut IdVec<FuncId, bool>) {
        if std::mem::replace(&mut done[id], true) {
            return;
        }
        let function = &module.functions[id];
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Call(callee, _) = inst.op {
                self.find(module, callee, done);
            }
        });
        let mut found = self.block(function, function.entry);
        if !function.params().iter().any(|&p| matches!(function.ty(p), Type::Local(_))) {
            // Local arrays of its own are nobody else's business.
            found.reads &= GLOBAL;
            found.writes &= GLOBAL;
        }
        if function.native.is_some() {
            // What the text does is not known.
            found = Effects { reads: GLOBAL, writes: GLOBAL, speaks: true };
        }
        self.known[id] = found;
    }

    /// The effects of everything in a block.
    pub fn block(&self, function: &Function, block: BlockId) -> Effects {
        let mut all = Effects::default();
        function.walk(block, &mut |_, inst| all.join(self.own(function, inst)));
        all
    }

    /// The effects of an instruction with all that is nested in it.
    pub fn inst(&self, function: &Function, inst: &Inst) -> Effects {
        let mut all = self.own(function, inst);
        for block in inst.op.blocks() {
            all.join(self.block(function, block));
        }
        all
    }

    fn own(&self, function: &Function, inst: &Inst) -> Effects {
        let memory = |array: &ValueId| if matches!(function.ty(*array), Type::Local(_)) { LOCAL } else { GLOBAL };
        match &inst.op {
            Op::Load { array, .. } => Effects { reads: memory(array), ..Effects::default() },
            Op::Store { array, .. } => Effects { writes: memory(array), ..Effects::default() },
            Op::Atomic { array, .. } | Op::AtomicCas { array, .. } => {
                Effects { reads: memory(array), writes: memory(array), speaks: false }
            }
            Op::Print { .. } | Op::Assert { .. } => Effects { speaks: true, ..Effects::default() },
            Op::Call(callee, _) => self.known[*callee],
            _ => Effects::default(),
        }
    }
}

/// Whether a call is an expression: one returned value, nothing changed through a reference.
pub fn gives_one_value(callee: &Function) -> bool {
    callee.results.len() == 1 && callee.results[0].role == ResultRole::Return
}
