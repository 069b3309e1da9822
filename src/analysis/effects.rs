//! What does a function do besides giving its results?

use std::collections::BTreeSet;
use std::ops::Index;
use std::sync::{Arc, LazyLock};

use super::alias::{Root, accessed, in_caller};
use crate::ids::{Id, IdVec};
use crate::ir::properties::{Cost, DependsOn, Io, Properties};
use crate::ir::*;

/// What a function does besides giving its results. Roots are in its own terms; its local arrays
/// are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    pub loads: BTreeSet<Root>,
    pub stores: BTreeSet<Root>,
    pub atomics: BTreeSet<Root>,
    pub io: Io,
    /// There is a `while`, which may run for ever.
    pub may_not_return: bool,
    /// What it asks for besides its arguments and memory.
    pub depends_on: DependsOn,
    /// It stores to an array, be it a local one.
    pub stores_any: bool,
    /// See [`Properties`].
    pub may_trap: bool,
    pub convergent: bool,
    pub synchronises: bool,
}

impl Effects {
    /// The arrays that it changes.
    pub fn writes(&self) -> impl Iterator<Item = &Root> {
        self.stores.union(&self.atomics)
    }

    pub fn writes_memory(&self) -> bool {
        self.writes().next().is_some()
    }

    /// It reads memory that no argument names: at an address, as far as is known.
    pub fn reads_addresses(&self) -> bool {
        self.loads.iter().any(|root| matches!(root, Root::Memory | Root::Unknown))
    }

    /// A call whose results nothing uses may be removed. A `while` counts as an effect, since it
    /// may not end.
    pub fn is_removable(&self) -> bool {
        let call = self.properties();
        !call.has_side_effect() && !call.may_not_return
    }

    /// Its results depend on its arguments alone, and giving them is all it does (if it ends).
    pub fn is_pure(&self) -> bool {
        self.loads.is_empty()
            && !self.writes_memory()
            && self.io == Io::None
            && !self.synchronises
            && !self.convergent
            && self.depends_on == DependsOn::Nothing
    }

    /// The row of a call in the [table of operations](crate::ir::properties).
    pub fn properties(&self) -> Properties {
        let atomic = !self.atomics.is_empty();
        Properties {
            reads: atomic || !self.loads.is_empty(),
            writes: self.stores_any,
            atomic,
            io: self.io,
            may_trap: self.may_trap,
            may_not_return: self.may_not_return,
            // Its local arrays are its own business.
            allocates: false,
            convergent: self.convergent,
            synchronises: self.synchronises,
            control: false,
            keeps_finite: false,
            depends_on: self.depends_on,
            cost: Cost::Slow,
        }
    }
}

/// The effects of a module's functions, calls included, found once for each. A function that was
/// not looked at may do anything.
#[derive(Clone, Debug, Default)]
pub struct EffectTable(IdVec<FuncId, Option<Arc<Effects>>>);

impl Index<FuncId> for EffectTable {
    type Output = Effects;

    fn index(&self, id: FuncId) -> &Effects {
        static UNKNOWN: LazyLock<Effects> = LazyLock::new(|| Effects {
            loads: BTreeSet::from([Root::Unknown]),
            stores: BTreeSet::from([Root::Unknown]),
            atomics: BTreeSet::from([Root::Unknown]),
            io: Io::Output,
            may_not_return: true,
            depends_on: DependsOn::Thread,
            stores_any: true,
            may_trap: true,
            convergent: true,
            synchronises: true,
        });
        self.0.get(id).and_then(Option::as_deref).unwrap_or(&UNKNOWN)
    }
}

/// The effects of every function.
pub fn effects(module: &Module) -> EffectTable {
    let mut all = EffectTable::default();
    module.functions.ids().for_each(|id| all.cover(module, id));
    all
}

impl EffectTable {
    /// What an operation does, blocks nested in it left out; a call does what its function does.
    pub fn properties(&self, op: &Op) -> Properties {
        if let Op::Call(callee, _) = op { self[*callee].properties() } else { op.properties() }
    }

    /// Looks at a function and those that it calls, as far as that was not done. Their bodies must
    /// be written by now: an adjoint ([`Derivative::AdjointOf`]) whose body is not may do anything,
    /// and is looked at again when asked for.
    pub fn cover(&mut self, module: &Module, id: FuncId) {
        while self.0.len() <= id.index() {
            self.0.push(None);
        }
        // There is no recursion among functions.
        if self.0[id].is_some() {
            return;
        }
        let function = &module.functions[id];
        let arrays = || function.params().iter().any(|&p| function.ty(p).bears_array(&module.structs));
        if (matches!(function.derivative, Derivative::AdjointOf(_)) || function.native.is_some()) && arrays() {
            // Of CUDA text nobody knows more.
            return;
        }
        module.functions.callees(id).into_iter().for_each(|callee| self.cover(module, callee));
        // (That a callee's body is written is no part of a function; those of linked ones are.)
        let found = match module.functions.linked(id) {
            Some(linked) => linked.facts.get_or_find(|| self.find(function)),
            None => Arc::new(self.find(function)),
        };
        self.0[id] = Some(found);
    }

    /// The effects of a function; those that it calls are covered.
    fn find(&self, function: &Function) -> Effects {
        let mut found = Effects::default();
        if function.native.is_some() {
            // CUDA text may do anything to what it can reach: numbers.
            found.io = Io::Output;
            found.depends_on = DependsOn::Thread;
            found.convergent = true;
            found.synchronises = true;
        }
        let add = |set: &mut BTreeSet<Root>, root: Root| {
            if !root.is_local() {
                set.insert(root);
            }
        };
        function.walk(function.entry, &mut |_, inst| {
            let own = self.properties(&inst.op);
            found.io = found.io.max(own.io);
            found.depends_on = found.depends_on.max(own.depends_on);
            found.may_not_return |= own.may_not_return;
            found.stores_any |= own.writes;
            found.may_trap |= own.may_trap;
            found.convergent |= own.convergent;
            found.synchronises |= own.synchronises;
            if let Op::Call(callee, args) = &inst.op {
                let inner = &self[*callee];
                for (to, from) in [
                    (&mut found.loads, &inner.loads),
                    (&mut found.stores, &inner.stores),
                    (&mut found.atomics, &inner.atomics),
                ] {
                    from.iter().for_each(|r| add(to, in_caller(function, args, r)));
                }
                return;
            }
            let root = || accessed(function, &inst.op);
            if own.atomic {
                add(&mut found.atomics, root());
            } else {
                if own.reads {
                    add(&mut found.loads, root());
                }
                if own.writes {
                    add(&mut found.stores, root());
                }
            }
        });
        // Functions of the library with a derivative of their own end: their loops, as that of
        // `fmod`, are part of a number's definition.
        if function.library && function.derivative != Derivative::Body {
            found.may_not_return = false;
        }
        found
    }
}
