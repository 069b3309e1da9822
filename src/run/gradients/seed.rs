//! Of what is a gradient run the gradient, where the launch does not say?

use std::collections::BTreeSet;

use crate::analysis::written::Touched;
use crate::ir::Function;
use crate::run::launch::{Argument, ArgumentKind, ArrayArgument, Fill, Launch, Literal, Number, Source, Stored};
use crate::types::{StructTable, Type};

/// Asks for the gradient of the sum of all floats that the kernel writes: ones as the gradients of
/// these arrays. Where the launch states a gradient of any array, it has said what it wants. Gives
/// the names of the arrays.
pub fn seed(launch: &mut Launch, kernel: &Function, structs: &StructTable, written: &Touched) -> Vec<String> {
    let mut keys = BTreeSet::new();
    let mut stated = false;
    for (n, &param) in kernel.params().iter().enumerate() {
        let name = kernel.param_name(n);
        let Some(argument) = launch.args.iter_mut().find(|argument| argument.name == name) else { continue };
        each_array(argument, kernel.ty(param), structs, &mut Vec::new(), &mut |array, ty, fields| {
            stated |= array.grad.is_some();
            let Some(data) = array.data.as_ref().filter(|_| written.may_be(n as u32, fields)) else { return };
            if ty.holds_floats(structs) {
                keys.insert(match &data.source {
                    Source::Alias(target) => target.clone(),
                    _ => data.key.clone(),
                });
            }
        });
    }
    if stated {
        return Vec::new();
    }
    for (n, &param) in kernel.params().iter().enumerate() {
        let name = kernel.param_name(n);
        let Some(argument) = launch.args.iter_mut().find(|argument| argument.name == name) else { continue };
        each_array(argument, kernel.ty(param), structs, &mut Vec::new(), &mut |array, _, _| {
            let Some(data) = &array.data else { return };
            if keys.contains(&data.key) && !matches!(data.source, Source::Alias(_)) {
                let ones = Source::Fill(Fill::Value(Literal::One(Number::Int(1))));
                array.grad = Some(Stored { key: format!("{}.grad", data.key), source: ones });
            }
        });
    }
    keys.into_iter().collect()
}

/// Calls `f` with each array in an argument, the type of its elements, and the fields that lead to
/// it.
fn each_array(
    argument: &mut Argument,
    ty: Type,
    structs: &StructTable,
    fields: &mut Vec<u32>,
    f: &mut impl FnMut(&mut ArrayArgument, Type, &[u32]),
) {
    match (&mut argument.kind, ty) {
        (ArgumentKind::Array(array), Type::Array(of)) => f(array, of.element.into(), fields),
        (ArgumentKind::Struct { fields: inner, .. }, Type::Struct(id)) => {
            for (k, field) in structs[id].fields.iter().enumerate() {
                if let Some(argument) = inner.iter_mut().find(|argument| argument.name == field.name) {
                    fields.push(k as u32);
                    each_array(argument, field.ty, structs, fields, f);
                    fields.pop();
                }
            }
        }
        _ => {}
    }
}
