//! What an instruction reads and writes beyond its values: which expressions may be evaluated later
//! than they stand.

use super::survey::Summary;
use crate::ids::IdMap;
use crate::ir::properties::Io;
use crate::ir::{FuncId, Function, Inst, Op, ResultRole};
use crate::types::Type;

/// Kinds of memory; a local array never overlaps with an array argument.
const GLOBAL: u8 = 1;
const LOCAL: u8 = 2;
/// What other threads of the block write, whichever arrays that is.
const SHARED: u8 = 4;

#[derive(Clone, Copy, Default, Debug)]
pub struct Effects {
    /// Kinds of memory.
    pub reads: u8,
    pub writes: u8,
    /// Prints or asserts.
    pub io: bool,
}

impl Effects {
    /// Those of an instruction that is no call, without those of what is nested in it.
    pub fn of(function: &Function, inst: &Inst) -> Effects {
        let own = inst.op.properties();
        let memory = match inst.op.access().map(|access| function.ty(access.array)) {
            Some(Type::Local(_)) => LOCAL,
            _ => GLOBAL,
        };
        // Behind a barrier, arrays hold what other threads wrote before it, tiles too.
        let waits = if own.synchronises { GLOBAL | LOCAL | SHARED } else { 0 };
        Effects {
            reads: waits | if own.reads { memory } else { 0 },
            writes: waits | if own.writes { memory } else { 0 },
            io: own.io != Io::None,
        }
    }

    pub fn join(&mut self, other: Effects) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.io |= other.io;
    }

    /// An expression: it may stand anywhere between its place and the next write to what it reads.
    pub fn is_pure(self) -> bool {
        self.writes == 0 && !self.io
    }
}

/// The effects of functions when they are called.
#[derive(Default)]
pub struct FunctionEffects {
    known: IdMap<FuncId, Effects>,
}

impl FunctionEffects {
    /// Adds a function, after those that it calls.
    pub fn add(&mut self, id: FuncId, function: &Function, summary: &Summary) {
        let mut found = summary.effects;
        summary.callees(function).for_each(|callee| found.join(self.of_call(callee)));
        let waits = found.writes & SHARED != 0;
        if !waits && !function.params().iter().any(|&p| matches!(function.ty(p), Type::Local(_))) {
            // Local arrays of its own are nobody else's business.
            found.reads &= GLOBAL;
            found.writes &= GLOBAL;
        }
        if function.native.is_some() {
            // What the text does is not known.
            found = Effects { reads: GLOBAL, writes: GLOBAL, io: true };
        }
        self.known.insert(id, found);
    }

    /// None for CUDA's own functions, which are not added.
    fn of_call(&self, callee: FuncId) -> Effects {
        self.known.get(&callee).copied().unwrap_or_default()
    }

    /// The effects of an instruction without those of what is nested in it.
    pub fn own(&self, function: &Function, inst: &Inst) -> Effects {
        let Op::Call(callee, _) = inst.op else { return Effects::of(function, inst) };
        self.of_call(callee)
    }
}

/// Whether a call is an expression: one returned value, nothing changed through a reference.
pub fn gives_one_value(callee: &Function) -> bool {
    callee.results.len() == 1 && callee.results[0].role == ResultRole::Return
}

#[cfg(test)]
mod tests {
    use crate::codegen::cuda::{CudaOptions, Texts, emit};
    use crate::ir::{parse, verify};

    #[test]
    fn elements_of_tiles_are_read_before_a_barrier() {
        let ir = "kernel @k(%a: array(dtype=float32), %x: float32) rank 1 {\n\
                  %t: tile(float32, 4) = shared_array\n%zero: int32 = const 0\nstore %t[%zero], %x\nbarrier\n\
                  %0: float32 = load %t[%zero]\n%1: bool = gt %0, %x\nbarrier\n\
                  if %1 {\nstore %t[%zero], %x\n}\nreturn\n}";
        let module = parse::parse(ir).unwrap_or_else(|e| panic!("{e}\n{ir}"));
        assert_eq!(verify::verify(&module), Ok(()), "{ir}");
        let kernel = module.find("k").expect("the kernel");
        let text =
            emit(&module, &[kernel], &CudaOptions::default(), &Texts::new(0)).unwrap_or_else(|e| panic!("{e:?}"));
        let (_, behind) = text.rsplit_once("__syncthreads();").expect("a barrier");
        assert!(behind.contains("if (") && !behind.contains("t[0] >"), "{text}");
    }
}
