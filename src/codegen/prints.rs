//! Which text does the number of a `print` stand for that a device wrote down? The table follows
//! from the module alone, as that of [`Sites`](super::sites::Sites) does.

use crate::ir::interp::format::format;
use crate::ir::{Const, Function, Module, Op, ValueId};
use crate::types::Scalar;

/// A format string, and the types of what it shows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Print {
    pub format: String,
    pub types: Vec<Scalar>,
}

impl Print {
    pub fn of(function: &Function, format: &str, args: &[ValueId]) -> Print {
        let types = args.iter().filter_map(|&arg| function.ty(arg).scalar_part()).collect();
        Print { format: format.to_string(), types }
    }

    /// What it prints, of the bits of its arguments.
    pub fn text(&self, bits: &[u64]) -> String {
        let values: Vec<Const> = self.types.iter().zip(bits).map(|(&scalar, &bits)| value(scalar, bits)).collect();
        format(&self.format, &values)
    }
}

/// The value with these bits, of which only those of the type count.
fn value(scalar: Scalar, bits: u64) -> Const {
    let unused = 64 - scalar.bits();
    let bits = match scalar.is_signed_int() {
        true => ((bits << unused) as i64 >> unused) as u64,
        false => bits,
    };
    Const { scalar, bits, named: None }
}

/// All of a module, each once.
pub fn prints(module: &Module) -> Vec<Print> {
    let mut list: Vec<Print> = Vec::new();
    for function in module.functions.values() {
        for inst in function.insts.values() {
            if let Op::Print { format, args } = &inst.op {
                list.push(Print::of(function, format, args));
            }
        }
    }
    list.sort();
    list.dedup();
    list
}
