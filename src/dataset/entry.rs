//! How is the kernel of a row called? Its launch and its arguments, as the column `entry` has them.

use serde_json::{Value, json};

use super::artefacts::Compiled;
use super::diversity::is_type;
use super::identity::Identity;
use super::launch::{self, Scale};
use super::plan::{Given, Param, Plan, Step};
use super::row::{Cell, Row};

use crate::analysis::alias::Root;
use crate::analysis::effects::{EffectTable, Effects};
use crate::codegen::blocks;
use crate::codegen::llvm::{Arch, TensorCores};
use crate::passes::block_threads::Tensor;
use crate::types::Type;

/// Fills the columns `entry`, of the first launch and the arguments of all kernels, and `launches`;
/// the launches are those that rows hold the arrays of.
pub fn fill(row: &mut Row, plan: &Plan, identity: &Identity, compiled: &Compiled) {
    let module = &compiled.program.module;
    let mut uses: Vec<&str> = identity.builtins.iter().map(String::as_str).filter(|name| !is_type(name)).collect();
    uses.sort_unstable();
    uses.dedup();
    let size = |step: &Step| launch::size(plan, step, Scale::Few).threads;
    let step = plan.steps.first();
    row.set("entry.name", compiled.first().name.as_str());
    row.set("entry.launch_dim", Cell::from_iter(step.map(size).unwrap_or_default()));
    row.set("entry.rounded_up", step.is_some_and(|step| step.block.is_some()));
    row.set("entry.block_dim", launch::BLOCK_DIM);
    let first = compiled.first().forward;
    let tensor = Tensor::of_ptx(TensorCores::On, Arch::DEFAULT.number);
    let shared = module.functions[first].by_block.then(|| blocks::memory(module, first, tensor)).flatten();
    row.set("entry.shared_bytes", shared.map_or(0, blocks::Memory::bytes));
    row.set("entry.uses", Cell::from_iter(uses));
    let mut args: Vec<Arg> = Vec::new();
    let sizes = launch::values(plan, Scale::Few);
    for kernel in &compiled.kernels {
        let function = &module.functions[kernel.forward];
        let mut effects = EffectTable::default();
        effects.cover(module, kernel.forward);
        let effects = &effects[kernel.forward];
        let Some(step) = plan.steps.iter().find(|step| step.kernel == kernel.name) else { continue };
        for (n, (param, &value)) in step.params.iter().zip(function.params()).enumerate() {
            let (ty, intent) = (function.ty(value), intent(effects, n as u32));
            args.push(Arg { step, param, ty, intent, graded: kernel.backward.is_some() });
        }
    }
    let mut set = |name: &str, cell: &dyn Fn(&Arg) -> Cell| {
        row.set(&format!("entry.args[].{name}"), Cell::List(args.iter().map(cell).collect()));
    };
    set("kernel", &|arg| arg.step.kernel.as_str().into());
    set("name", &|arg| arg.param.name.as_str().into());
    set("array", &|arg| {
        let array = matches!(arg.param.given, Given::Array { .. }).then(|| arg.step.array_of(&arg.param.name));
        array.into()
    });
    set("kind", &|arg| kind(&arg.param.given).into());
    set("dtype", &|arg| element(arg.ty).0.display(&module.structs).to_string().into());
    set("ndim", &|arg| u32::from(element(arg.ty).1).into());
    set("shape", &|arg| shape(plan, &arg.param.given).into());
    set("value", &|arg| value(&sizes, &arg.param.given).map(|value| value.to_string()).into());
    set("extent", &|arg| extent(plan, &arg.param.given).into());
    set("intent", &|arg| arg.intent.into());
    set("requires_grad", &|arg| (arg.graded && element(arg.ty).0.holds_floats(&module.structs)).into());
    row.set("launches[].kernel", Cell::from_iter(plan.steps.iter().map(|step| step.kernel.as_str())));
    let dim = |step: &Step| size(step).iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    row.set("launches[].dim", Cell::from_iter(plan.steps.iter().map(dim)));
    row.set("launches[].rounded_up", Cell::from_iter(plan.steps.iter().map(|step| step.block.is_some())));
}

/// A parameter of a kernel.
struct Arg<'a> {
    step: &'a Step,
    param: &'a Param,
    ty: Type,
    intent: &'static str,
    graded: bool,
}

fn kind(given: &Given) -> &'static str {
    match given {
        Given::Array { .. } => "array",
        Given::Count(_) => "count",
        Given::Int(_) | Given::Bool(_) | Given::Float(_) => "value",
        Given::Struct(_) => "struct",
        Given::Engine { kind, .. } => kind.word(),
    }
}

/// Of an array in terms of the launch.
fn shape(plan: &Plan, given: &Given) -> Option<String> {
    match given {
        Given::Array { shape, .. } => Some(launch::shape_text(plan, shape)),
        _ => None,
    }
}

/// Of a count in terms of the launch.
fn extent(plan: &Plan, given: &Given) -> Option<String> {
    match given {
        Given::Count(extent) => Some(extent.text(&plan.symbols)),
        _ => None,
    }
}

/// Of what is no array, where the program's symbols have these values; structs as objects.
fn value(sizes: &[u32], given: &Given) -> Option<Value> {
    match given {
        Given::Array { .. } => None,
        Given::Count(extent) => Some(json!(extent.of(sizes))),
        Given::Int(n) => Some(json!(n)),
        Given::Bool(b) => Some(json!(b)),
        Given::Float(list) => match list.as_slice() {
            [x] => Some(json!(x)),
            list => Some(json!(list)),
        },
        Given::Struct(fields) => {
            let field = |(name, given): &(String, Given)| (name.clone(), value(sizes, given).unwrap_or_default());
            Some(Value::Object(fields.iter().map(field).collect()))
        }
        // Arrays by their names.
        Given::Engine { parts, .. } => {
            let part = |part: &Param| value(sizes, &part.given).unwrap_or_else(|| json!(part.name));
            Some(Value::Object(parts.iter().map(|(field, one)| (field.to_string(), part(one))).collect()))
        }
    }
}

/// The type of an array's elements and its dimensions; the type itself of what is no array.
fn element(ty: Type) -> (Type, u8) {
    match ty {
        Type::Array(array) => (Type::from(array.element), array.ndim),
        ty => (ty, 0),
    }
}

/// What the kernel does with its argument number `n`.
fn intent(effects: &Effects, n: u32) -> &'static str {
    let is_own = |root: &Root| matches!(root, Root::Param(m, _) if *m == n);
    let reads = effects.loads.iter().chain(&effects.atomics).any(is_own);
    let writes = effects.writes().any(is_own);
    match (reads, writes) {
        (true, true) => "inout",
        (false, true) => "out",
        // Values, and arrays of which only the extents are asked for.
        _ => "in",
    }
}
