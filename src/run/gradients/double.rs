//! What is a launch in double precision? The same numbers for the same kernel with float64 in place
//! of every float type: what `driver::Request::double` compiles.

use std::collections::HashMap;

use crate::diag::Code;
use crate::ir::{FuncId, Function, Module, Op};
use crate::run::args::Arguments;
use crate::run::args::elements::leaves;
use crate::run::launch::{Argument, ArgumentKind, ArrayArgument, Fill, Launch, Literal, Number, Source, Stored};
use crate::run::{Result, fail};
use crate::types::{Element, Layout, Scalar, StructTable, Type};

/// Whether double precision would change what a kernel means: it rounds numbers to a narrower type
/// and goes on computing with them in a wider one.
pub fn rounds(module: &Module, kernel: FuncId) -> bool {
    let float = |ty: Type| ty.scalar_part().filter(|s| s.is_float()).map(Scalar::size);
    module.reached_through(kernel, |function| !function.library).into_iter().any(|id| {
        let function = &module.functions[id];
        let mut found = false;
        function.walk(function.entry, &mut |_, inst| {
            let Op::Cast(a) = inst.op else { return };
            let Some(Op::Cast(from)) = function.def(a).map(|inst| &inst.op) else { return };
            let to = inst.results.first().and_then(|&r| float(function.ty(r)));
            let (narrow, first) = (float(function.ty(a)), float(function.ty(*from)));
            found |= narrow.is_some() && narrow < to && narrow < first;
        });
        found
    })
}

/// Whether a kernel reads meshes, trees of boxes or hash grids: their numbers keep their types.
pub fn reads_engines(module: &Module, kernel: FuncId) -> bool {
    module.reached_through(kernel, |_| true).into_iter().any(|id| {
        let function = &module.functions[id];
        let mut found = false;
        function.walk(function.entry, &mut |_, inst| found |= matches!(inst.op, Op::ArrayAt { .. }));
        found
    })
}

/// Binds the numbers that `given` holds for `launch` to the kernel in double precision. Arrays keep
/// shapes, aliases and the order of their elements in memory; the gradients are zero. The error
/// tells why there is no such launch.
pub fn arguments(
    launch: &Launch,
    origin: &str,
    given: &Arguments,
    structs: &StructTable,
    kernel: &Function,
    double_structs: &StructTable,
) -> Result<Arguments> {
    let sizes = |element: Element, structs: &StructTable| i64::from(Layout::of_element(element, structs).size);
    let mut again = launch.clone();
    again.structs.clear();
    // The layouts of elements differ, so bind with dense strides first to learn the types, then
    // with the scaled ones.
    again.args = launch.args.iter().map(|a| plain(a, given)).collect::<Result<_>>()?;
    let dense = Arguments::bind(&again, origin, kernel, double_structs)?;
    let mut strides = HashMap::new();
    for (from, to) in given.arrays.iter().zip(&dense.arrays) {
        let (old, new) = (sizes(from.ty.element, structs), sizes(to.ty.element, double_structs));
        if from.strides.iter().any(|s| s % old.max(1) != 0) {
            let message = format!("{origin}: the strides of `{}` have no counterpart in double precision", from.key);
            return Err(fail(Code::E1010, message));
        }
        strides.insert(from.key.clone(), from.strides.iter().map(|s| s / old.max(1) * new).collect::<Vec<i64>>());
    }
    again.args.iter_mut().for_each(|a| restride(a, &strides));
    let mut out = Arguments::bind(&again, origin, kernel, double_structs)?;
    for n in 0..out.arrays.len().min(given.arrays.len()) {
        let (from, to) = (&given.arrays[n], out.arrays[n].clone());
        out.set_floats(&to, false, double_structs, &given.floats(from, false, structs));
        let ours = leaves(to.ty.element.into(), double_structs).unwrap_or_default();
        let theirs = leaves(from.ty.element.into(), structs).unwrap_or_default();
        for (leaf, same) in ours.iter().zip(&theirs).filter(|(leaf, _)| !leaf.scalar.is_float()) {
            let bytes = given.gather(from, same);
            out.put_leaf(&to, leaf, &bytes);
        }
    }
    let parameters = out.parameters.clone();
    for (to, from) in parameters.iter().zip(&given.parameters) {
        out.set_parameter(to, &given.parameter(from));
    }
    Ok(out)
}

/// An argument with its arrays' shapes as they were bound, dense, and zero for the present.
fn plain(argument: &Argument, given: &Arguments) -> Result<Argument> {
    let kind = match &argument.kind {
        ArgumentKind::Value { literal, .. } => ArgumentKind::Value { dtype: None, literal: literal.clone() },
        ArgumentKind::Struct { fields, .. } => {
            let fields = fields.iter().map(|f| plain(f, given)).collect::<Result<_>>()?;
            ArgumentKind::Struct { name: None, fields }
        }
        ArgumentKind::Engine { kind, fields, file } => {
            let fields = fields.iter().map(|f| plain(f, given)).collect::<Result<_>>()?;
            ArgumentKind::Engine { kind: *kind, fields, file: file.clone() }
        }
        ArgumentKind::Array(array) => ArgumentKind::Array(match &array.data {
            None => ArrayArgument::default(),
            Some(data) => {
                let bound = given.arrays.iter().find(|bound| bound.key == data.key);
                let bound = bound.ok_or_else(|| fail(Code::E0999, format!("`{}` was not bound", data.key)))?;
                ArrayArgument {
                    shape: Some(bound.shape.clone()),
                    data: Some(empty(data)),
                    grad: array.grad.as_ref().map(empty),
                    grad_external: array.grad_external,
                    retain_grad: array.retain_grad,
                    ..ArrayArgument::default()
                }
            }
        }),
    };
    Ok(Argument { name: argument.name.clone(), kind })
}

fn empty(stored: &Stored) -> Stored {
    let source = match &stored.source {
        Source::Alias(target) => Source::Alias(target.clone()),
        _ => Source::Fill(Fill::Value(Literal::One(Number::Int(0)))),
    };
    Stored { key: stored.key.clone(), source }
}

fn restride(argument: &mut Argument, strides: &HashMap<String, Vec<i64>>) {
    match &mut argument.kind {
        ArgumentKind::Value { .. } => {}
        ArgumentKind::Struct { fields, .. } | ArgumentKind::Engine { fields, .. } => {
            fields.iter_mut().for_each(|field| restride(field, strides));
        }
        ArgumentKind::Array(array) => {
            array.strides = array.data.as_ref().and_then(|data| strides.get(&data.key).cloned());
        }
    }
}
