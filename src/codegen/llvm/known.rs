//! What do the analyses say of the instances of functions that are lowered? A kernel is lowered
//! more than once, and a callee where it is called, with what is known of its arguments there.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use smallvec::SmallVec;

use crate::analysis::deferrable::deferrable;
use crate::analysis::effects::EffectTable;
use crate::analysis::ranges::{Bounds, Ranges};
use crate::analysis::uniformity::{Dependence, Uniformity};
use crate::ir::{FuncId, InstId, Module, Op, Step, arithmetic, effects, jumps, nested, threads};

/// What is known of one instance of a function.
#[derive(Default)]
pub struct Known {
    pub ranges: Ranges,
    pub uniformity: Uniformity,
    /// Atomic updates that may wait until their thread is at its end; of kernels.
    pub deferrable: HashSet<InstId>,
}

/// What is known of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Argument {
    pub bounds: Option<Bounds>,
    pub dependence: Dependence,
}

/// Which analyses somebody asks for, in a function or in what it calls.
#[derive(Clone, Copy, Default)]
struct Wanted {
    ranges: bool,
    uniformity: bool,
}

/// By function and arguments.
#[derive(Default)]
pub struct KnownTable {
    known: HashMap<(FuncId, SmallVec<[Argument; 4]>), Rc<Known>>,
    wanted: HashMap<FuncId, Wanted>,
    effects: EffectTable,
    nothing: Rc<Known>,
}

impl KnownTable {
    /// Of a call with these arguments; without any: of a kernel's own instance, or of a function
    /// called from anywhere.
    pub fn of_call(&mut self, module: &Module, id: FuncId, arguments: &[Argument]) -> Rc<Known> {
        let wanted = self.wanted(module, id);
        if !wanted.ranges && !wanted.uniformity {
            return self.nothing.clone();
        }
        let key = (id, SmallVec::from_slice(arguments));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let function = &module.functions[id];
        let mut known = Known::default();
        if wanted.ranges {
            let bounds: SmallVec<[_; 4]> = arguments.iter().map(|a| a.bounds).collect();
            known.ranges = Ranges::of_call(function, &bounds);
        }
        if wanted.uniformity {
            function.callees().into_iter().for_each(|callee| self.effects.cover(module, callee));
            let dependences: SmallVec<[_; 4]> = arguments.iter().map(|a| a.dependence).collect();
            known.uniformity = Uniformity::of_call(function, &self.effects, &dependences);
            if function.is_kernel() {
                known.deferrable = deferrable(function, &self.effects);
            }
        }
        self.known.entry(key).or_insert(Rc::new(known)).clone()
    }

    fn wanted(&mut self, module: &Module, id: FuncId) -> Wanted {
        if let Some(&wanted) = self.wanted.get(&id) {
            return wanted;
        }
        let function = &module.functions[id];
        let mut wanted = Wanted::default();
        let mut callees = SmallVec::<[FuncId; 4]>::new();
        function.walk(function.entry, &mut |_, inst| match &inst.op {
            Op::Call(callee, _) => callees.push(*callee),
            Op::Extract(_, path) | Op::Insert(_, path, _) => {
                wanted.ranges |= path.iter().any(|step| matches!(step, Step::Dynamic(_)));
            }
            Op::Load(_) | Op::Store { .. } | Op::AtomicCas { .. } | Op::View(..) => wanted.ranges = true,
            Op::Atomic { .. } => wanted = Wanted { ranges: true, uniformity: true },
            arithmetic!()
            | Op::Zero
            | Op::Select { .. }
            | Op::Construct(_)
            | threads!()
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::LocalArray
            | Op::SharedArray
            | effects!()
            | nested!()
            | jumps!() => {}
        });
        for callee in callees {
            let inner = self.wanted(module, callee);
            wanted.ranges |= inner.ranges;
            wanted.uniformity |= inner.uniformity;
        }
        self.wanted.insert(id, wanted);
        wanted
    }
}
