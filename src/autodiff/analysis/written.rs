//! What does the launch write?
//!
//! Different array parameters (and different array fields of struct parameters) are taken to be different memory.

use std::collections::BTreeSet;

use crate::analysis::alias::{Root, accessed, root};
use crate::analysis::effects::EffectTable;
use crate::ir::{Function, Op, ValueId};
use crate::types::{StructTable, Type};

/// The arrays that the function writes.
pub struct Written(BTreeSet<Root>);

impl Written {
    pub fn of(structs: &StructTable, effects: &EffectTable, function: &Function) -> Written {
        let mut roots = BTreeSet::new();
        function.walk(function.entry, &mut |_, inst| match &inst.op {
            // Which of its arrays a function writes is not looked into.
            Op::Call(callee, args) if effects[*callee].writes_memory() => {
                for &arg in args.iter().filter(|&&arg| function.ty(arg).bears_array(structs)) {
                    let whole = matches!(function.ty(arg), Type::Array(_) | Type::Local(_));
                    roots.insert(if whole { root(function, arg) } else { Root::Unknown });
                }
            }
            Op::Call(..) => {}
            op if op.properties().writes => _ = roots.insert(accessed(function, op)),
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
