//! What would a person ask for? The task in a sentence, in a few, and with all that the program has
//! to keep to: signatures, borders, ties, order and units.

use super::forms::{Form, STEPS};
use super::library::{Kind, Role};
use super::program::{Built, Draft};
use super::{facts, print, words};
use crate::run::launch::EngineKind;

/// In how many ways a task is put.
pub const WORDINGS: usize = 8;

/// The task at three levels. All of them have exact signatures; the last is a specification.
pub fn tasks(draft: &Draft, meanings: &[String]) -> [String; 3] {
    let kernels: Vec<&Built> = draft.functions.iter().filter(|function| function.kind == Kind::Kernel).collect();
    let short = asked(draft, &kernels, &meanings[0]);
    let mut medium = short.clone();
    for more in &meanings[1..] {
        let first = if more.contains(" before ") { "Also" } else { "Then" };
        medium += &format!(" {first} {}{}.", more[..1].to_lowercase(), &more[1..]);
    }
    let runs = draft.runs.chunk_by(|one, next| one.kernel == next.kernel);
    let order = runs.map(|same| match same {
        [one] => format!("`{}`", one.kernel),
        _ => format!("`{}` {} times", same[0].kernel, same.len()),
    });
    let order = order.collect::<Vec<_>>();
    let is_stepped = matches!(draft.form, Form::Steps | Form::Swap);
    let times = if is_stepped { format!(" {STEPS} times") } else { String::new() };
    medium += &match order.as_slice() {
        [one] => format!(" A host program launches {one}{times} and compares with plain Python."),
        _ if order.len() <= 6 => {
            let all = if is_stepped { format!(", all{times}") } else { String::new() };
            format!(" A host program launches {}{all}, and compares with plain Python.", order.join(", then "))
        }
        _ => " A host program launches them and compares with plain Python.".to_string(),
    };
    medium += &format!(" {}", words::sentence(&draft.about));
    let medium = medium.trim_end().to_string();
    let mut long = medium.clone();
    for rule in facts::rules(draft) {
        long += &format!(" {rule}");
    }
    long += "\n\nKernels:\n";
    for kernel in &kernels {
        long += &format!("- `{}`, launched over [{}]", typed(draft, kernel), kernel.dims.join(", "));
        long += &kernel.doc.as_ref().map_or(".\n".to_string(), |doc| format!(". {}\n", words::sentence(doc)));
    }
    long += "\nData:\n";
    for line in data(draft, &kernels) {
        long += &format!("- {line}\n");
    }
    [short, medium, long.trim_end().to_string()]
}

/// A line for each array, number and extent that a kernel has.
fn data(draft: &Draft, kernels: &[&Built]) -> Vec<String> {
    let mut out = Vec::new();
    let is_fixed = |role: &Role| draft.constants.contains(&role.name) || draft.bundled.contains(&role.name);
    let held = draft.held();
    let is_taken =
        |role: &Role| held.contains(&role.name) || kernels.iter().any(|kernel| kernel.params.contains(&role.name));
    for role in draft.roles.iter().filter(|role| is_fixed(role) || is_taken(role)) {
        let ty = element(draft, &role.ty);
        let about = if role.about.is_empty() { String::new() } else { format!(", {}", role.about) };
        out.push(match &role.dims {
            Some(dims) => format!("`{}`: {ty}[{}]{about}", role.name, dims.join(", ")),
            None if draft.constants.contains(&role.name) => {
                format!("`{}`: constant {ty}, {}{about}", role.name, role.content)
            }
            None if let Some(kind) = role.engine() => {
                let arrays = role.parts().filter(|part| draft.role(part).is_some_and(Role::is_array));
                let arrays = arrays.map(|part| format!("`{part}`")).collect::<Vec<_>>().join(" and ");
                let id = if kind == EngineKind::Texture { "" } else { "uint64, id of " };
                format!("`{}`: {id}{} of {arrays}{about}", role.name, kind.name())
            }
            None => format!("`{}`: {ty}{about}", role.name),
        });
    }
    if !draft.bundled.is_empty() {
        let class = print::class(draft);
        let fields = draft.bundled.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        out.push(format!("`params`: struct `{class}` of {fields}"));
    }
    for size in &draft.sizes {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.params.contains(&size.name)) else { continue };
        let what = facts::size(draft, Some(kernel), &size.name).map_or(String::new(), |what| format!(", {what}"));
        out.push(format!("`{}`: int{what}", size.name));
    }
    out
}

fn element(draft: &Draft, ty: &str) -> String {
    match ty {
        "float" if draft.style.sized => "float32".to_string(),
        "int" if draft.style.sized => "int32".to_string(),
        ty => ty.to_string(),
    }
}

/// A kernel with the names of its parameters.
fn plain(kernel: &Built) -> String {
    format!("{}({})", kernel.name, kernel.params.join(", "))
}

/// A kernel with the types of its parameters.
fn typed(draft: &Draft, kernel: &Built) -> String {
    let ty = |name: &String| print::lettered(&print::annotation(draft, name, false), draft.style.lettered);
    let param = |name: &String| format!("{name}: {}", ty(name));
    format!("{}({})", kernel.name, kernel.params.iter().map(param).collect::<Vec<_>>().join(", "))
}

/// The first sentence, in one of the [`WORDINGS`].
fn asked(draft: &Draft, kernels: &[&Built], task: &str) -> String {
    let lower = task.to_string();
    let task = words::sentence(task);
    let bare = task.trim_end_matches('.');
    let list = kernels.iter().map(|kernel| format!("`{}`", plain(kernel))).collect::<Vec<_>>();
    let (names, is_many) = match list.as_slice() {
        [one] => (one.clone(), false),
        [first @ .., last] => (format!("{} and {last}", first.join(", ")), true),
        [] => (String::new(), false),
    };
    let count = if is_many { format!("{} Warp kernels", list.len()) } else { "a Warp kernel".to_string() };
    let (it, noun) = if is_many { ("them", "kernels") } else { ("it", "kernel") };
    match draft.style.wording {
        0 => format!("Write {count}, {names}: {lower}."),
        1 => format!("{bare}, in NVIDIA Warp. The {noun} {} {names}.", if is_many { "are" } else { "is" }),
        2 => format!("I need {names} in Warp to {lower}."),
        3 => format!("{task} Use Warp, and call {it} {names}."),
        4 => format!("With Warp's Python kernels, {lower}. Signature: {names}."),
        5 => format!("Implement {names} with Warp. {task}"),
        6 => format!("How do I {lower} with Warp? The {noun} should be {names}."),
        _ => format!(
            "Please give me {count} that can {lower}, with {}: {names}.",
            if is_many { "these signatures" } else { "this signature" }
        ),
    }
}
