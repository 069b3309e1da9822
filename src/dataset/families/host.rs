//! How is a program launched and checked from Python? The references, and `main`: data, launches in
//! order, comparison.

use std::collections::HashSet;

use super::facts::Usage;
use super::forms::Form;
use super::library::{Kind, Role};
use super::program::{Built, Draft, Run, Sections};
use super::{code, dialect, engines, facts, forms, print};
use crate::dataset::launch::TILE_THREADS;
use crate::dataset::reference::{LEAST_SCALE, OF_SCALE, RELATIVE};
use crate::run::launch::EngineKind;

/// A function that compares an array with what is expected in it.
const CHECK: [&str; 7] = [
    "def check(name, found, expected):",
    "    \"\"\"Compare with what is expected, by the scale of the array.\"\"\"",
    "    scale = max(np.abs(expected).max(), 1e-6)",
    "    error = np.abs(found - expected)",
    "    worst = (error - 1e-3 * np.abs(expected)).max() / scale",
    "    if not worst <= 1e-4:",
    "        raise AssertionError(f\"{name} is off by {error.max():.3e}, its scale is {scale:.3e}\")",
];

/// The part of the file behind the kernels.
pub fn program(draft: &Draft) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for function in references(draft) {
        out.extend(["", ""].map(str::to_string));
        let mut header = print::broken(&format!("def {}({})", function.name, function.params.join(", ")));
        header.iter_mut().last().into_iter().for_each(|line| line.push(':'));
        out.extend(header);
        if let Some(doc) = &function.doc {
            out.push(format!("    \"\"\"{doc}\"\"\""));
        } else if draft.style.docs {
            out.push("    \"\"\"The same in plain Python.\"\"\"".to_string());
        }
        let plain =
            |line: &String| line.replace("float(0.0)", "0.0").replace("int(0)", "0").replace("float(1.0)", "1.0");
        out.extend(function.body.iter().flat_map(|line| print::broken(&plain(line))));
    }
    if draft.style.checks {
        out.extend(["", ""].map(str::to_string));
        out.extend(CHECK.iter().map(|line| line.to_string()));
    }
    let mut main = Main { draft, lines: Vec::new() };
    main.data();
    let data = std::mem::take(&mut main.lines);
    main.arrays();
    let arrays = std::mem::take(&mut main.lines);
    main.launches();
    let launches = std::mem::take(&mut main.lines);
    main.checks();
    let checks = main.lines;
    let (before, main) = forms::program(draft, Sections { data, arrays, launches, checks });
    out.extend(before.iter().flat_map(|line| print::broken(line)));
    out.extend(["", "", "def main():"].map(str::to_string));
    out.extend(main.iter().flat_map(|line| match line.is_empty() {
        true => vec![String::new()],
        false => print::broken(&format!("    {line}")),
    }));
    out.extend(["", "", "if __name__ == \"__main__\":"].map(str::to_string));
    if draft.style.host == 4 {
        out.push("    wp.init()".to_string());
    }
    out.push("    main()".to_string());
    out
}

fn references(draft: &Draft) -> impl Iterator<Item = &Built> {
    draft.functions.iter().filter(|function| function.kind == Kind::Reference)
}

/// The name of an array in the host's memory.
pub fn host_name(draft: &Draft, name: &str) -> String {
    match draft.style.host {
        0 | 1 => format!("{name}_np"),
        2 => format!("host_{name}"),
        _ => format!("{name}_host"),
    }
}

/// The name of what is expected in an array.
pub fn expected_name(draft: &Draft, name: &str) -> String {
    if draft.style.host.is_multiple_of(2) { format!("{name}_expected") } else { format!("expected_{name}") }
}

struct Main<'a> {
    draft: &'a Draft,
    lines: Vec<String>,
}

impl Main<'_> {
    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    fn host(&self, name: &str) -> String {
        host_name(self.draft, name)
    }

    fn expected(&self, name: &str) -> String {
        expected_name(self.draft, name)
    }

    fn is_passed(&self, name: &str) -> bool {
        let bound = self.draft.runs.iter().flat_map(|run| &run.bound).any(|(_, array)| array == name);
        bound || self.draft.functions.iter().any(|function| function.params.iter().any(|param| param == name))
    }

    fn is_expected(&self, name: &str) -> bool {
        references(self.draft).any(|function| function.written.iter().any(|written| written == name))
    }

    fn data(&mut self) {
        let draft = self.draft;
        let comments = draft.style.group_comments;
        let arrays = || draft.roles.iter().filter(|role| role.is_array() && self.is_passed(&role.name));
        let random = ["uniform", "sorted", "normal", "unit", "rotation", "index", "maybe", "permutation", "tree"];
        if arrays().any(|role| random.contains(&role.content().0)) {
            self.line(format!("rng = np.random.default_rng({})", draft.seed));
        }
        let used = |name: &str| {
            let in_arrays = draft.roles.iter().any(|role| {
                code::mentions(&role.content, name) || role.dims.iter().flatten().any(|dim| code::mentions(dim, name))
            });
            let in_launches = draft.functions.iter().any(|f| f.dims.iter().any(|dim| code::mentions(dim, name)));
            in_arrays || in_launches || self.is_passed(name)
        };
        let sizes: Vec<String> = draft
            .sizes
            .iter()
            .filter(|size| used(&size.name))
            .map(|size| format!("{} = {}", size.name, size.host))
            .collect();
        self.lines.extend(sizes);
        let is_number = |role: &Role| !role.is_array() && role.engine().is_none();
        let numbers = draft.roles.iter().filter(|role| is_number(role) && !draft.constants.contains(&role.name));
        for role in numbers {
            // Launches that say the number themselves need no name for it.
            let is_said = |run: &Run| run.bound.iter().any(|(name, _)| *name == role.name);
            if draft.runs.iter().any(is_said) {
                continue;
            }
            let value = print::number(&role.ty, &role.content);
            if draft.bundled.contains(&role.name) || self.is_passed(&role.name) {
                let about = if draft.style.args && !role.about.is_empty() {
                    format!("  # {}", role.about)
                } else {
                    String::new()
                };
                self.line(format!("{} = {value}{about}", role.name));
            }
        }
        if !draft.bundled.is_empty() {
            self.line(format!("params = {}()", print::class(draft)));
            for name in &draft.bundled {
                self.line(format!("params.{name} = {name}"));
            }
        }
        self.line("");
        if comments {
            self.line("# host data");
        }
        let given: Vec<&Role> = draft
            .roles
            .iter()
            .filter(|role| role.is_array() && self.is_passed(&role.name) && role.content().0 != "zeros")
            .collect();
        for role in given {
            let lines = content(role, &self.host(&role.name));
            self.lines.extend(lines);
        }
    }

    fn arrays(&mut self) {
        self.line("");
        if self.draft.style.group_comments {
            self.line("# device arrays");
        }
        let roles: Vec<&Role> =
            self.draft.roles.iter().filter(|role| role.is_array() && self.is_passed(&role.name)).collect();
        for role in roles {
            let name = &role.name;
            let ty = if ["float", "int", "bool"].contains(&role.ty.as_str()) {
                role.ty.clone()
            } else {
                format!("wp.{}", role.ty)
            };
            let dims = role.dims.clone().unwrap_or_default();
            match role.content().0 {
                "zeros" => self.line(format!("{name} = wp.zeros({}, dtype={ty})", tuple(&dims, false))),
                _ => self.line(format!("{name} = wp.array({}, dtype={ty})", self.host(name))),
            }
        }
        let draft = self.draft;
        for role in draft.roles.iter().filter(|role| role.engine().is_some()) {
            if self.is_passed(&role.name) {
                self.lines.extend(engines::built(role, &|name| host_name(draft, name)));
            }
        }
    }

    fn launches(&mut self) {
        self.line("");
        let draft = self.draft;
        // Arrays that were written since the engines of them were built.
        let mut moved: HashSet<String> = HashSet::new();
        if matches!(draft.form, Form::Steps | Form::Swap) {
            let kernels = draft.functions.iter().filter(|function| function.kind == Kind::Kernel);
            moved.extend(kernels.flat_map(|function| function.written.iter().cloned()));
        }
        for run in &draft.runs {
            let Some(function) = draft.functions.iter().find(|function| function.name == run.kernel) else { continue };
            let value = |name: &String| match draft.role(name).and_then(Role::engine) {
                Some(EngineKind::Texture) | None => {
                    run.bound.iter().find(|(from, _)| from == name).map_or(name, |(_, to)| to).clone()
                }
                Some(_) => format!("{name}.id"),
            };
            let dim = match function.dims.as_slice() {
                [one] => one.clone(),
                list => format!("({})", list.join(", ")),
            };
            let asked =
                draft.roles.iter().filter(|role| role.engine().is_some() && function.params.contains(&role.name));
            let stale: Vec<&Role> = asked.filter(|role| role.parts().any(|part| moved.contains(part))).collect();
            for role in stale {
                self.line(engines::rebuilt(role));
                role.parts().for_each(|part| _ = moved.remove(part));
            }
            moved.extend(function.written.iter().map(value));
            // What a kernel reads is an input, whatever else happens to it.
            let is_output = |name: &&String| facts::usage(draft, function, name) == Usage::Output;
            let outputs = function.params.iter().rev().take_while(is_output).count();
            let inputs = function.params.len() - outputs;
            let ends = function.params[..inputs].iter().all(|name| !is_output(&name));
            let all: Vec<String> = function.params.iter().map(value).collect();
            let args = match draft.style.outputs && ends && inputs > 0 && inputs < all.len() {
                true => format!("inputs=[{}], outputs=[{}]", all[..inputs].join(", "), all[inputs..].join(", ")),
                false => format!("inputs=[{}]", all.join(", ")),
            };
            self.line(match function.body.iter().any(|line| line.contains("wp.tile_")) {
                true => format!(
                    "wp.launch_tiled({}, dim=[{}], {args}, block_dim={TILE_THREADS})",
                    function.name,
                    function.dims.join(", ")
                ),
                false => format!("wp.launch({}, dim={dim}, {args})", function.name),
            });
        }
    }

    /// The line that compares floats, by the scale of the array.
    fn close(&mut self, found: &str, expected: &str, name: &str) {
        if self.draft.style.checks {
            return self.line(format!("check(\"{name}\", {found}, {expected})"));
        }
        let scale = format!("max(np.abs({expected}).max(), {LEAST_SCALE:e})");
        let (relative, of_scale) = (format!("{RELATIVE:e}"), format!("{OF_SCALE:e}"));
        self.line(format!(
            "np.testing.assert_allclose({found}, {expected}, rtol={relative}, atol={of_scale} * {scale})"
        ));
    }

    fn checks(&mut self) {
        let draft = self.draft;
        self.line("");
        if draft.style.group_comments || draft.style.host == 5 {
            self.line("# compare with plain Python");
        }
        let roles: Vec<&Role> =
            draft.roles.iter().filter(|role| role.is_array() && self.is_expected(&role.name)).collect();
        for role in &roles {
            let expected = self.expected(&role.name);
            let line = match role.content().0 {
                "zeros" => format!("{expected} = {}", zeros(role)),
                _ => format!("{expected} = {}.copy()", self.host(&role.name)),
            };
            self.line(line);
        }
        for function in references(draft) {
            let value = |name: &String| match draft.role(name) {
                // Warp's vectors do not compute with NumPy's arrays.
                Some(role) if !role.is_array() && role.ty.starts_with("vec") => format!("np.array({name})"),
                Some(role) if role.is_array() && self.is_expected(&role.name) => self.expected(name),
                Some(role) if role.is_array() && role.content().0 == "zeros" => zeros(role),
                Some(role) if role.is_array() => self.host(name),
                _ => name.clone(),
            };
            let args: Vec<String> = function.params.iter().map(value).collect();
            self.line(format!("{}({})", function.name, args.join(", ")));
        }
        for role in roles {
            let (name, expected) = (&role.name, self.expected(&role.name));
            let (found, expected) = match role.is_unordered() {
                true => (format!("np.sort({name}.numpy())"), format!("np.sort({expected})")),
                false => (format!("{name}.numpy()"), expected),
            };
            match role.ty.as_str() {
                ty if dtype(ty) != "np.float32" && dtype(ty) != "np.float64" => {
                    self.line(format!("np.testing.assert_array_equal({found}, {expected})"))
                }
                _ => self.close(&found, &expected, name),
            }
        }
        match draft.style.host {
            0 | 3 => self.line("print(\"ok\")"),
            1 => self.line(format!("print(\"{} matches the reference\")", draft.name.replace('_', " "))),
            _ => {}
        }
    }
}

/// The scalars of an element.
fn components(ty: &str) -> &'static [usize] {
    match dialect::narrow(ty) {
        "vec2" | "vec2i" => &[2],
        "vec3" | "vec3i" => &[3],
        "vec4" | "vec4i" | "quat" => &[4],
        "mat22" => &[2, 2],
        "mat33" => &[3, 3],
        "mat44" => &[4, 4],
        "transform" => &[7],
        "spatial_vector" => &[6],
        _ => &[],
    }
}

/// Whether numbers of a type have gradients.
pub fn is_float(ty: &str) -> bool {
    dtype(ty).starts_with("np.float")
}

fn dtype(ty: &str) -> &'static str {
    match ty {
        "int" | "vec2i" | "vec3i" | "vec4i" => "np.int32",
        "bool" => "np.bool_",
        "uint8" => "np.uint8",
        "float16" => "np.float16",
        "uint32" => "np.uint32",
        _ if dialect::narrow(ty) != ty => "np.float64",
        _ => "np.float32",
    }
}

/// Extents as Python has them: `n` or `(ny, nx)`.
fn tuple(dims: &[String], always: bool) -> String {
    match dims {
        [one] if !always => one.clone(),
        [one] => format!("({one},)"),
        list => format!("({})", list.join(", ")),
    }
}

fn shape(role: &Role) -> Vec<String> {
    let parts = components(&role.ty).iter().map(usize::to_string);
    role.dims.iter().flatten().cloned().chain(parts).collect()
}

fn zeros(role: &Role) -> String {
    format!("np.zeros({}, dtype={})", tuple(&shape(role), false), dtype(&role.ty))
}

/// The statements that fill an array in the host's memory.
fn content(role: &Role, name: &str) -> Vec<String> {
    let (word, list) = role.content();
    let shape = tuple(&shape(role), false);
    let ty = dtype(&role.ty);
    let at = |n: usize| list.get(n).copied().unwrap_or("0");
    let ints = !ty.starts_with("np.float");
    let whole = |text: &str| text.parse::<f64>().map_or(text.to_string(), |x| (x as i64).to_string());
    let one = |text: String| vec![format!("{name} = {text}")];
    let unit = |target: &str, dims: &str| {
        vec![
            format!("{target} = rng.normal(size={dims}).astype({ty})"),
            format!("{target} /= np.linalg.norm({target}, axis=-1, keepdims=True)"),
        ]
    };
    let rows = role.dims.clone().unwrap_or_default();
    match word {
        "uniform" if ints => {
            one(format!("rng.integers({}, {}, size={shape}).astype({ty})", whole(at(0)), whole(at(1))))
        }
        "uniform" => one(format!("rng.uniform({}, {}, size={shape}).astype({ty})", at(0), at(1))),
        "normal" => one(format!("rng.normal({}, {}, size={shape}).astype({ty})", at(0), at(1))),
        "sorted" => one(format!("np.sort(rng.uniform({}, {}, size={shape})).astype({ty})", at(0), at(1))),
        "full" if ints => one(format!("np.full({shape}, {}, dtype={ty})", whole(at(0)))),
        "full" => one(format!("np.full({shape}, {}, dtype={ty})", at(0))),
        "unit" => unit(name, &shape),
        "rotation" if dialect::narrow(&role.ty) == "transform" => {
            let mut out = unit("rotations", &tuple(&[rows.clone(), vec!["4".to_string()]].concat(), false));
            let offsets = tuple(&[rows, vec!["3".to_string()]].concat(), false);
            out.push(format!("offsets = rng.uniform(-1.0, 1.0, size={offsets})"));
            out.push(format!("{name} = np.concatenate([offsets, rotations], axis=-1).astype({ty})"));
            out
        }
        "rotation" if dialect::narrow(&role.ty) == "mat33" => {
            vec![format!("{name}, _ = np.linalg.qr(rng.normal(size={shape}))"), format!("{name} = {name}.astype({ty})")]
        }
        "rotation" => unit(name, &shape),
        "maybe" => one(format!("rng.integers(-1, {}, size={shape}).astype({ty})", at(0))),
        "index" => one(format!("rng.integers(0, {}, size={shape}).astype({ty})", at(0))),
        "rows" => {
            let count = rows.first().map_or("1".to_string(), |dim| dim.strip_suffix(" + 1").unwrap_or(dim).to_string());
            let last = at(0);
            vec![
                format!("{name} = np.sort(rng.integers(0, {last} + 1, size={count} + 1)).astype({ty})"),
                format!("{name}[0], {name}[-1] = 0, {last}"),
            ]
        }
        "ring" => match [rows, components(&role.ty).iter().map(usize::to_string).collect()].concat().as_slice() {
            [many, few] => one(format!("((np.arange({many})[:, None] + np.arange({few})) % {}).astype({ty})", at(0))),
            _ => one(format!("(np.arange({shape}) % {}).astype({ty})", at(0))),
        },
        "strip" => {
            let count = rows.first().map_or("1", |dim| dim.strip_prefix("3 * ").unwrap_or(dim));
            one(format!("((np.arange({count})[:, None] + np.arange(3)) % {}).astype({ty}).flatten()", at(0)))
        }
        "range" => one(format!("np.arange({shape}, dtype={ty})")),
        "tree" => one(format!("np.maximum(np.arange({shape}) - rng.integers(1, 4, size={shape}), -1).astype({ty})")),
        "permutation" => one(format!("rng.permutation({shape}).astype({ty})")),
        _ => one(zeros(role)),
    }
}

/// The references as kernels of one thread: the words of numpy and `math` as those of the kernel
/// language.
pub fn as_kernels(draft: &Draft) -> String {
    const WORDS: [(&str, &str); 8] = [
        ("math.", "wp."),
        ("np.dot(", "wp.dot("),
        ("np.cross(", "wp.cross("),
        ("np.linalg.norm(", "wp.length("),
        ("np.outer(", "wp.outer("),
        ("np.array([", "vector(["),
        ("np.zeros(3)", "wp.vec3()"),
        ("np.eye(3)", "wp.identity(n=3, dtype=float)"),
    ];
    let mut out = String::new();
    for function in references(draft) {
        let params: Vec<String> =
            function.params.iter().map(|name| format!("{name}: {}", print::annotation(draft, name, true))).collect();
        out += &format!("@wp.kernel\ndef {}_as_kernel({}):\n", function.name, params.join(", "));
        for line in &function.body {
            let line = WORDS.iter().fold(line.clone(), |line, (from, to)| line.replace(from, to));
            out += &format!("{}\n", vectors(line));
        }
        out += "\n\n";
    }
    out
}

/// `vector([a, b, c])` as the type of so many components.
fn vectors(mut line: String) -> String {
    while let Some(at) = line.find("vector([") {
        let Some(close) = code::closing(&line, at + 6) else { return line };
        let inner = line[at + 8..close - 1].to_string();
        let count = code::arguments(&inner).len();
        let ty = match count {
            6 => "spatial_vector".to_string(),
            7 => "transform".to_string(),
            count => format!("vec{count}"),
        };
        line.replace_range(at..=close, &format!("wp.{ty}({inner})"));
    }
    line
}
