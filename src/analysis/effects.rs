//! What does a function do besides giving its results?

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Index;
use std::rc::Rc;
use std::sync::LazyLock;

use super::alias::{Root, in_caller, root};
use crate::ids::{Id, IdVec};
use crate::ir::*;
use crate::memo::Memo;

/// What a function does besides giving its results. Roots are in its own terms; its local arrays are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    pub loads: BTreeSet<Root>,
    pub stores: BTreeSet<Root>,
    pub atomics: BTreeSet<Root>,
    /// `print` or `assert`.
    pub reports: bool,
    /// There is a `while`, which may turn for ever.
    pub may_hang: bool,
    /// It asks for the thread's coordinates or the block's size.
    pub knows_thread: bool,
    /// It stores to an array, be it a local one.
    pub stores_any: bool,
}

impl Effects {
    /// The arrays that it changes.
    pub fn writes(&self) -> impl Iterator<Item = &Root> {
        self.stores.union(&self.atomics)
    }

    pub fn writes_memory(&self) -> bool {
        self.writes().next().is_some()
    }

    /// A call whose results nothing uses can go. A `while` counts as an effect, since it may not end.
    pub fn can_go(&self) -> bool {
        !self.stores_any && !self.reports && !self.may_hang
    }

    /// Its results depend on its arguments alone, and giving them is all it does (if it ends).
    pub fn is_pure(&self) -> bool {
        self.loads.is_empty() && !self.writes_memory() && !self.reports && !self.knows_thread
    }
}

/// The effects of a module's functions, calls included, found once for each. A function that was not looked at may do
/// anything.
#[derive(Clone, Debug, Default)]
pub struct EffectTable(IdVec<FuncId, Option<Rc<Effects>>>);

impl Index<FuncId> for EffectTable {
    type Output = Effects;

    fn index(&self, id: FuncId) -> &Effects {
        static UNKNOWN: LazyLock<Effects> = LazyLock::new(|| Effects {
            loads: BTreeSet::from([Root::Unknown]),
            stores: BTreeSet::from([Root::Unknown]),
            atomics: BTreeSet::from([Root::Unknown]),
            reports: true,
            may_hang: true,
            knows_thread: true,
            stores_any: true,
        });
        self.0.get(id).and_then(Option::as_deref).unwrap_or(&UNKNOWN)
    }
}

/// The most functions whose effects a thread remembers, some hundred bytes each.
const MOST_KNOWN: usize = 1 << 13;

thread_local! {
    /// By the [contents](crate::ir::content) of functions, which decide them. (That a callee's body is written is no part of
    /// its content; those of functions with a known one are.)
    static KNOWN: RefCell<Memo<u128, Rc<Effects>>> = const { RefCell::new(Memo::new(MOST_KNOWN)) };
}

/// The effects of every function.
pub fn effects(module: &Module) -> EffectTable {
    let mut all = EffectTable::default();
    module.functions.ids().for_each(|id| all.cover(module, id));
    all
}

impl EffectTable {
    /// Looks at a function and those that it calls, as far as that was not done. Their bodies must be written by now: an adjoint
    /// ([`Derivative::AdjointOf`]) whose body is not may do anything, and is looked at again when asked for.
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
        function.callees().into_iter().for_each(|callee| self.cover(module, callee));
        let kept = function.content.and_then(|content| KNOWN.with_borrow(|all| all.get(&content).cloned()));
        let found = kept.unwrap_or_else(|| {
            let found = Rc::new(self.find(function));
            if let Some(content) = function.content {
                KNOWN.with_borrow_mut(|all| _ = all.keep(content, found.clone(), 1));
            }
            found
        });
        self.0[id] = Some(found);
    }

    /// The effects of a function; those that it calls are covered.
    fn find(&self, function: &Function) -> Effects {
        let own = function.native.is_some();
        let mut found = Effects { knows_thread: own, reports: own, ..Effects::default() };
        let add = |set: &mut BTreeSet<Root>, root: Root| {
            if !root.is_local() {
                set.insert(root);
            }
        };
        function.walk(function.entry, &mut |_, inst| {
            found.stores_any |= matches!(inst.op, Op::Store { .. } | Op::Atomic { .. } | Op::AtomicCas { .. });
            match &inst.op {
                Op::Load(Access { array, .. }) => add(&mut found.loads, root(function, *array)),
                Op::Store { access: Access { array, .. }, .. } => add(&mut found.stores, root(function, *array)),
                Op::Atomic { access: Access { array, .. }, .. }
                | Op::AtomicCas { access: Access { array, .. }, .. } => {
                    add(&mut found.atomics, root(function, *array));
                }
                Op::Print { .. } | Op::Assert { .. } => found.reports = true,
                Op::While { .. } => found.may_hang = true,
                Op::ThreadIndex(_) | Op::ThreadNumber | Op::BlockDim => found.knows_thread = true,
                Op::Call(callee, args) => {
                    let inner = &self[*callee];
                    for (to, from) in [
                        (&mut found.loads, &inner.loads),
                        (&mut found.stores, &inner.stores),
                        (&mut found.atomics, &inner.atomics),
                    ] {
                        from.iter().for_each(|r| add(to, in_caller(function, args, r)));
                    }
                    found.reports |= inner.reports;
                    found.may_hang |= inner.may_hang;
                    found.knows_thread |= inner.knows_thread;
                    found.stores_any |= inner.stores_any;
                }
                _ => {}
            }
        });
        found
    }
}
