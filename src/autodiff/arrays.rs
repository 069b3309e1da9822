//! Which parameter does an array come from, and what does the launch write?
//!
//! Different array parameters (and different array fields of struct parameters) are taken to be different memory.

use std::collections::{BTreeSet, HashSet};

use crate::ir::{Derivative, Function, InstId, Module, Op, Step, ValueDef, ValueId};
use crate::types::Type;

/// Where an array comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Root {
    /// A parameter of the function (by number), or a field inside a struct parameter.
    Param(u32, Vec<u32>),
    /// The local array that this value names.
    Local(ValueId),
    /// The array of adjoints of another.
    Gradient(Box<Root>),
    /// Chosen at run time, or read from memory.
    Unknown,
}

pub(super) fn root(function: &Function, array: ValueId) -> Root {
    match function.values[array].def {
        ValueDef::Param(block, n) if block == function.entry => Root::Param(n, Vec::new()),
        ValueDef::Param(..) => Root::Unknown,
        ValueDef::Result(inst, _) => match &function.insts[inst].op {
            Op::View(inner, _) => root(function, *inner),
            Op::Gradient(inner) => Root::Gradient(Box::new(root(function, *inner))),
            Op::LocalArray => Root::Local(array),
            Op::Extract(whole, path) => match root(function, *whole) {
                Root::Param(n, mut fields) => {
                    for step in path {
                        match step {
                            Step::At(k) => fields.push(*k),
                            Step::Dynamic(_) => return Root::Unknown,
                        }
                    }
                    Root::Param(n, fields)
                }
                _ => Root::Unknown,
            },
            _ => Root::Unknown,
        },
    }
}

/// The arrays that the function writes.
pub(super) struct Written {
    roots: BTreeSet<Root>,
    /// The calls that read arrays which are written, and have no replay function.
    pub stale_calls: HashSet<InstId>,
}

impl Written {
    /// `writing` are the calls that write to their arrays.
    pub fn of(module: &Module, function: &Function, writing: &HashSet<InstId>) -> Written {
        let structs = &module.structs;
        let mut roots = BTreeSet::new();
        function.walk(function.entry, &mut |id, inst| {
            if let Op::Call(_, args) = &inst.op
                && writing.contains(&id)
            {
                for &arg in args.iter().filter(|&&arg| function.ty(arg).bears_array(structs)) {
                    let known = !matches!(function.ty(arg), Type::Struct(_));
                    roots.insert(if known { root(function, arg) } else { Root::Unknown });
                }
            }
            if let Op::Store { array, .. } | Op::Atomic { array, .. } | Op::AtomicCas { array, .. } = &inst.op {
                roots.insert(root(function, *array));
            }
        });
        let mut written = Written { roots, stale_calls: HashSet::new() };
        let mut stale = HashSet::new();
        function.walk(function.entry, &mut |id, inst| {
            if let Op::Call(callee, args) = &inst.op
                && !matches!(module.functions[*callee].derivative, Derivative::Rule { replay: Some(_), .. })
            {
                let bears = |&&arg: &&ValueId| function.ty(arg).bears_array(structs);
                if args.iter().filter(bears).any(|&arg| written.overwrites_any(function, arg)) {
                    stale.insert(id);
                }
            }
        });
        written.stale_calls = stale;
        written
    }

    /// Whether a load from this array may give another value after the launch than in it.
    pub fn overwrites(&self, function: &Function, array: ValueId) -> bool {
        // A local array too: what fills it is not computed again.
        match root(function, array) {
            local @ Root::Local(_) => self.roots.contains(&local),
            Root::Unknown => !self.roots.is_empty(),
            known => self.roots.contains(&known) || self.roots.contains(&Root::Unknown),
        }
    }

    /// The same of an array or any array inside a struct.
    pub fn overwrites_any(&self, function: &Function, value: ValueId) -> bool {
        match root(function, value) {
            Root::Param(n, fields) => {
                let inside = |r: &Root| matches!(r, Root::Param(m, path) if *m == n && path.starts_with(&fields));
                self.roots.iter().any(|r| inside(r) || *r == Root::Unknown)
            }
            _ => !self.roots.is_empty(),
        }
    }
}
