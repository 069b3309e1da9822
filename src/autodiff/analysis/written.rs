//! What does the launch write?
//!
//! Different array parameters (and different array fields of struct parameters) are taken to be
//! different memory.

use std::collections::BTreeSet;

use super::fills::Fills;
use crate::analysis::alias::{Root, accessed, root};
use crate::analysis::effects::EffectTable;
use crate::ids::IdSet;
use crate::ir::{
    Access, Derivative, FuncId, Function, Inst, InstId, Module, Op, ValueId, arrays, effects, jumps, nested, values,
};
use crate::types::{StructTable, Type};

/// The arrays that the function writes, and the functions whose reads of memory at an address that
/// may concern.
pub struct Written(BTreeSet<Root>, IdSet<FuncId>);

impl Written {
    pub fn of(structs: &StructTable, effects: &EffectTable, function: &Function) -> Written {
        let (mut roots, mut readers) = (BTreeSet::new(), IdSet::default());
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Call(callee, args) = &inst.op {
                if effects[*callee].reads_addresses() {
                    readers.insert(*callee);
                }
                // Which of its arrays a function writes is not looked into.
                let written = args.iter().filter(|_| effects[*callee].writes_memory());
                for &arg in written.filter(|&&arg| function.ty(arg).bears_array(structs)) {
                    let whole = matches!(function.ty(arg), Type::Array(_) | Type::Local(_));
                    roots.insert(if whole { root(function, arg) } else { Root::Unknown });
                }
            } else if inst.op.properties().writes {
                roots.insert(accessed(function, &inst.op));
            }
        });
        if !roots.iter().any(|root| matches!(root, Root::Memory | Root::Unknown)) {
            readers.clear();
        }
        Written(roots, readers)
    }

    /// Whether a function reads memory at an address that the launch may overwrite.
    pub fn overwrites_for(&self, callee: FuncId) -> bool {
        self.1.contains(&callee)
    }

    /// Whether a load from this array may give another value after the launch than in it.
    pub fn overwrites(&self, function: &Function, array: ValueId) -> bool {
        match root(function, array) {
            local @ Root::Local(_) => self.0.contains(&local),
            Root::Unknown => !self.0.is_empty(),
            Root::Constant => false,
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

/// Whether an instruction's result can't be computed again after the launch, wherever reverse code
/// tries.
pub fn is_stale(module: &Module, function: &Function, written: &Written, fills: &Fills, inst: &Inst) -> bool {
    match &inst.op {
        Op::Call(callee, args) => {
            let reads =
                |&arg: &ValueId| function.ty(arg).bears_array(&module.structs) && written.overwrites_any(function, arg);
            // A replay function says itself where it finds the results.
            !matches!(module.functions[*callee].derivative, Derivative::Rule { replay: Some(_), .. })
                && (args.iter().any(reads) || written.overwrites_for(*callee))
        }
        // A local array too, unless what fills it is done again.
        Op::Load(Access { array, .. }) => !fills.refills(function, *array) && written.overwrites(function, *array),
        // The content of memory, which is another one by then.
        op @ (values!()
        | arrays!()
        | Op::Store { .. }
        | Op::Atomic { .. }
        | Op::AtomicCas { .. }
        | effects!()
        | nested!()
        | jumps!()) => op.properties().reads,
    }
}

/// The stale instructions of a function.
pub fn stale(module: &Module, function: &Function, written: &Written, fills: &Fills) -> IdSet<InstId> {
    let mut found = IdSet::default();
    function.walk(function.entry, &mut |id, inst| {
        if is_stale(module, function, written, fills, inst) {
            found.insert(id);
        }
    });
    found
}
