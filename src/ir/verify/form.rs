//! What may a function hold, by the passes that it has been through? The rules of [`crate::ir`]
//! hold for every form; each form leaves some operations out.

use super::Within;
use crate::ir::{Check, Function, InstId, Op, nested, straight};

/// A dialect of the IR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Any operation.
    Any,
    /// As made from source: code of one thread, or of one block (`by_block`). What a block does
    /// together by hardware or in its own memory is not there yet.
    Made,
    /// What differentiation takes: one exit per region. Loops are left at their end alone.
    Reversible,
    /// Code of each thread of a block. Marks of what the block does together are gone.
    ByThread,
}

impl Form {
    /// Why an operation has no place in the form; None: it has one.
    fn refuses(self, op: &Op, outermost: bool) -> Option<&'static str> {
        let leaves = match op {
            Op::Break(_) | Op::Continue(_) => true,
            Op::Return(_) => !outermost,
            straight!() | nested!() | Op::Yield(_) => false, // All others go on to the next instruction.
        };
        let of_threads = matches!(op, Op::SharedArray | Op::Product(..) | Op::Copy(..));
        let marks = matches!(op, Op::Check(Check::Together { .. }, _));
        match self {
            Form::Made if of_threads => Some("only code of each thread of a block has it"),
            Form::Reversible if of_threads => Some("it cannot be differentiated"),
            Form::Reversible if leaves => Some("code that is differentiated has one exit per region"),
            Form::ByThread if marks => Some("code of each thread has no marks of what a block does together"),
            Form::Any | Form::Made | Form::Reversible | Form::ByThread => None,
        }
    }

    /// One message for each instruction that has no place in the form.
    pub(super) fn check(self, within: Within, function: &Function, errors: &mut Vec<String>) {
        let mut found: Vec<(InstId, &'static str)> = Vec::new();
        let outermost = |id: InstId| function.blocks[function.entry].insts.last() == Some(&id);
        function.walk(function.entry, &mut |id, inst| {
            found.extend(self.refuses(&inst.op, outermost(id)).map(|why| (id, why)));
        });
        for (id, why) in found {
            errors.push(format!("@{}: `{}`: {why} ({self:?})", function.name, within.print(function, id)));
        }
    }
}
