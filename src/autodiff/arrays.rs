//! Which parameter does an array come from, and what does the launch write?
//!
//! Different array parameters (and different array fields of struct parameters) are taken to be different memory.

use std::collections::BTreeSet;

use crate::ir::facts::effects;
use crate::ir::{Function, Module, Op, Step, ValueDef, ValueId};
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
pub(super) struct Written(BTreeSet<Root>);

impl Written {
    pub fn of(module: &Module, function: &Function) -> Written {
        let mut roots = BTreeSet::new();
        let mut all = None;
        function.walk(function.entry, &mut |_, inst| match &inst.op {
            Op::Store { array, .. } | Op::Atomic { array, .. } | Op::AtomicCas { array, .. } => {
                roots.insert(root(function, *array));
            }
            // Which of its arrays a function writes is not looked into.
            Op::Call(callee, args) if all.get_or_insert_with(|| effects(module))[*callee].writes_memory() => {
                for &arg in args.iter().filter(|&&arg| function.ty(arg).bears_array(&module.structs)) {
                    let whole = matches!(function.ty(arg), Type::Array(_) | Type::Local(_));
                    roots.insert(if whole { root(function, arg) } else { Root::Unknown });
                }
            }
            _ => {}
        });
        Written(roots)
    }

    /// Whether a load from this array may give another value after the launch than in it.
    pub fn overwrites(&self, function: &Function, array: ValueId) -> bool {
        // A local array too: what fills it is not computed again.
        match root(function, array) {
            local @ Root::Local(_) => self.0.contains(&local),
            Root::Unknown => !self.0.is_empty(),
            known => self.0.contains(&known) || self.0.contains(&Root::Unknown),
        }
    }

    /// The same of an array or any array inside a struct.
    pub fn overwrites_any(&self, function: &Function, value: ValueId) -> bool {
        match root(function, value) {
            Root::Param(n, fields) => {
                let inside = |r: &Root| matches!(r, Root::Param(m, path) if *m == n && path.starts_with(&fields));
                self.0.iter().any(|r| inside(r) || *r == Root::Unknown)
            }
            _ => !self.0.is_empty(),
        }
    }
}
