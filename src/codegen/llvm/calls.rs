//! Which functions are called rather than inlined, and how?
//!
//! Inlining costs less than calls do ([`lower`](super::lower)), until a function becomes so large
//! that LLVM takes long for it, or makes worse code ([`effort`](super::effort)).

use std::collections::HashMap;

use super::approximate::flush_subnormals;
use super::builder::{Func, Ty};
use super::debug_locations::DebugLocations;
use super::flatten;
use super::lower::{Lower, ModuleState, Scalars, Target, Thread};
use crate::ir::{FuncId, Op};

/// How large functions may become by what is inlined into them, in IR instructions.
struct CallLimits {
    /// A kernel that is not larger has all inlined.
    inlined: u64,
    /// The same of a function that is called.
    called: u64,
    /// Otherwise the largest callees are called: those from the first of these sizes on with which
    /// no function is larger than `most`, or from the last.
    from: &'static [u64],
    most: u64,
}

impl CallLimits {
    /// A call on a GPU ends what the thread has in registers.
    const DEVICE: CallLimits = CallLimits { inlined: 20_000, called: 0, from: &[200], most: 20_000 };

    /// Calls in a loop cost: MuJoCo's search for contacts of convex bodies takes 1.4 times as long
    /// with calls from 250 as from 1,000.
    const HOST: CallLimits =
        CallLimits { inlined: 20_000, called: 4_000, from: &[2_000, 1_000, 500, 250], most: 4_000 };

    /// Where functions became too large with all inlined. How large they become is known behind
    /// that only: what is known of arguments leaves out branches, nine of ten in walks through
    /// trees of boxes.
    const PARTS: CallLimits = CallLimits { inlined: 4_000, ..CallLimits::HOST };
}

impl<'a, 'ctx> ModuleState<'a, 'ctx> {
    /// The number of instructions of a function with all its callees inlined.
    pub fn weight(&mut self, id: FuncId) -> u64 {
        if let Some(&weight) = self.weights.get(&id) {
            return weight;
        }
        let function = &self.ir.functions[id];
        let mut weight = 0u64;
        let mut callees = Vec::new();
        function.walk(function.entry, &mut |_, inst| {
            weight += 1;
            if let Op::Call(callee, _) = inst.op {
                callees.push(callee);
            }
        });
        for callee in callees {
            weight = weight.saturating_add(self.weight(callee));
        }
        self.weights.insert(id, weight);
        weight
    }

    /// The number of instructions of a function with its callees of less than `from` inlined; and
    /// of the largest one of those that it calls, and these in turn.
    fn parts(&mut self, id: FuncId, from: u64, known: &mut HashMap<FuncId, (u64, u64)>) -> (u64, u64) {
        if let Some(&parts) = known.get(&id) {
            return parts;
        }
        let function = &self.ir.functions[id];
        let (mut own, mut largest) = (0u64, 0);
        let mut callees = Vec::new();
        function.walk(function.entry, &mut |_, inst| {
            own += 1;
            if let Op::Call(callee, _) = inst.op {
                callees.push(callee);
            }
        });
        for callee in callees {
            let (inlined, below) = self.parts(callee, from, known);
            largest = largest.max(below);
            match self.weight(callee) >= from {
                true => largest = largest.max(inlined),
                false => own = own.saturating_add(inlined),
            }
        }
        known.insert(id, (own, largest));
        (own, largest)
    }

    /// From which size on callees of a function, which `is_called` itself, are called rather than
    /// inlined. None: all are inlined.
    pub(super) fn called_from(&mut self, id: FuncId, is_called: bool) -> Option<u64> {
        let limits = match (self.target, self.in_parts) {
            (Target::Nvptx { .. }, _) => CallLimits::DEVICE,
            (Target::Host { .. }, false) => CallLimits::HOST,
            (Target::Host { .. }, true) => CallLimits::PARTS,
        };
        if self.weight(id) <= if is_called { limits.called } else { limits.inlined } {
            return None;
        }
        let fits = |from: &&u64| {
            let (own, largest) = self.parts(id, **from, &mut HashMap::new());
            own.max(largest) <= limits.most
        };
        limits.from.iter().find(fits).or(limits.from.last()).copied()
    }

    /// The LLVM function of a device function that is called: hidden parameters for the thread,
    /// then the flattened arguments; a struct of flattened results.
    fn declare_called(&mut self, id: FuncId) -> Func<'ctx> {
        if let Some(&function) = self.called.get(&id) {
            return function;
        }
        let ll = self.ll;
        let function = &self.ir.functions[id];
        let mut params = vec![ll.i32(), ll.i32(), ll.i32(), ll.i32(), ll.i32(), ll.i64(), ll.ptr(0)];
        for &param in function.params() {
            params.extend(self.leaf_types(function.ty(param)));
        }
        let results: Vec<Ty> = function.results.iter().flat_map(|r| self.leaf_types(r.ty)).collect();
        let result = match self.target {
            _ if results.is_empty() => None,
            Target::Nvptx { .. } => Some(ll.struct_ty(&results)),
            Target::Host { .. } => Some(ll.results_ty(&results)),
        };
        let made = ll.add_function(&format!("{}_func", function.name), result, &params, false);
        ll.set_internal(made);
        if self.target.is_gpu() && function.fast_math {
            flush_subnormals(ll, made);
        }
        if !self.target.is_gpu() {
            ll.set_several_results(made);
        }
        self.called.insert(id, made);
        self.pending.push(id);
        made
    }

    /// Emits the bodies of the device functions that are called. After all kernels.
    pub fn finish(&mut self) {
        while let Some(id) = self.pending.pop() {
            let ll = self.ll;
            let Some(&made) = self.called.get(&id) else { continue };
            let function = &self.ir.functions[id];
            let entry = ll.block(made, "entry");
            ll.position_at_end(entry);
            self.enter(made, id);
            let p = |n| ll.param(made, n);
            let thread = Thread { coordinates: [p(0), p(1), p(2), p(3)], block_dim: p(4), linear: p(5), status: p(6) };
            let mut next = 7;
            let mut args = Vec::new();
            for &param in function.params() {
                let count = flatten::leaf_count(function.ty(param), &self.ir.structs) as u32;
                args.push((next..next + count).map(p).collect::<Scalars<'ctx>>());
                next += count;
            }
            let called_from = self.called_from(id, true);
            let mut lower = Lower::new(self, made, entry, thread, called_from);
            let results = lower.function(id, args, &[]);
            let flat: Scalars = results.into_iter().flatten().collect();
            if flat.is_empty() {
                ll.ret(None);
            } else {
                ll.ret(Some(ll.results(made, &flat)));
            }
        }
        self.locations.iter().for_each(DebugLocations::finish);
        self.debug.iter().for_each(|debug| debug.exit());
    }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// Calls a function that is not inlined.
    pub(super) fn call_function(&mut self, callee: FuncId, args: Vec<Scalars<'ctx>>) -> Vec<Scalars<'ctx>> {
        let made = self.state.declare_called(callee);
        let t = self.thread;
        let mut flat = t.coordinates.to_vec();
        flat.extend([t.block_dim, t.linear, t.status]);
        flat.extend(args.into_iter().flatten());
        self.several_results(callee, made, &flat)
    }
}
