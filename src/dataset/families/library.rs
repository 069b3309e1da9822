//! Which algorithms are there? The entries of the files in `algorithms/`, as they are written
//! there:
//!
//! ```text
//! # === heat_explicit            begins an entry: the name of the family
//! # source: ...                  where the formula comes from
//! # task: Step the heat equation ...     what a person would ask for, without a full stop
//! # about: ...                   more about it, in sentences
//! # domain: physics
//! # weight: 3                    how often it is drawn; 5 where nothing is said
//! # split: test                  the split of its programs; train where nothing is said
//! # sizes: n = 1 7 71 1024       names of numbers: at three scales, and in the host program
//! # - u: float[ny, nx] uniform(0, 1); temperature [K]       an array, its content, and what it is
//! # - dt: float = 0.1; time step [s]                        a number
//! # - grid: hash_grid(x, h); grid of the particles          an engine, of arrays and numbers
//! # run: step, step(u=v, v=u, lag=2)     the launches, where they are not the kernels in order: with another array or number
//!
//! @kernel[ny, nx] stencil        a kernel, its extents, and the kinds of algorithm it belongs to
//! @func                          a function that kernels call
//! def reference():               the same in plain Python: `np.` and `math.` and loops
//! ```
//!
//! In `ladders.py` an entry is an algorithm in several versions, from slow to fast: what comes
//! before the first `#=` is of all of them.
//!
//! ```text
//! # with: tiled_matmul, dense_layer      the families whose programs it goes with
//! #= start                               a version: its arrays, if they are others, and kernels
//! #= half-storage: the reason ...        the next one, and what makes it faster
//! # - x__half: float16[n] ...            takes the place of `x` in this version
//! ```
//!
//! In `translations_*.py` an entry has the texts of a family in other languages, behind
//! `# --- torch`, `# --- triton` and `# --- numba`, with the names that the family has for its
//! arrays and numbers.
//!
//! Parameters are not written down: a kernel or a reference has those arrays and numbers that it
//! names. What can be said in a kernel's body besides Python is reported in [`vary`](super::vary).

use std::sync::OnceLock;

use crate::dataset::plan::{Content, Extent, Symbol};
use crate::dataset::splits::SPLITS;
use crate::run::launch::EngineKind;

/// An algorithm, or a small kernel that goes with others.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    /// The file that it is in: mechanics, sparse, ...
    pub subject: &'static str,
    pub source: &'static str,
    pub task: &'static str,
    pub about: &'static str,
    pub domain: &'static str,
    pub weight: u32,
    /// Of its programs, or of those that a companion goes with.
    pub split: &'static str,
    pub sizes: Vec<Size>,
    pub roles: Vec<Role>,
    /// Kernels in the order of their launches, with the names of parameters that get another array
    /// or number.
    pub run: Vec<(&'static str, Vec<(&'static str, &'static str)>)>,
    pub functions: Vec<Function>,
}

/// An algorithm in several versions, each faster than the one before.
#[derive(Debug)]
pub struct Ladder {
    /// With the kernels of all versions, whose names end in [`VERSION`] and a number.
    pub family: Family,
    /// The families whose programs it goes with.
    pub with: Vec<&'static str>,
    /// What makes each version of the one before, and why it is faster.
    pub changes: Vec<(&'static str, &'static str)>,
}

/// A number that extents are made of.
#[derive(Clone, Debug)]
pub struct Size {
    pub name: String,
    pub values: [u32; 3],
    /// In the host program.
    pub host: u32,
}

/// An array, a number or an engine of a program, and what it means.
#[derive(Clone, Debug)]
pub struct Role {
    pub name: String,
    /// Of an element: float, int, vec3, ...; an engine's kind: mesh, hash_grid, ...
    pub ty: String,
    /// The extents of an array; None: a number.
    pub dims: Option<Vec<String>>,
    /// What an array holds, the number, or what an engine is made of.
    pub content: String,
    /// What it is, with its unit.
    pub about: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Kernel,
    Helper,
    Reference,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub kind: Kind,
    pub name: String,
    /// What is written behind the name.
    pub head: &'static str,
    /// The extents of a kernel's launch.
    pub dims: Vec<&'static str>,
    /// The kinds of algorithm it belongs to.
    pub tags: Vec<&'static str>,
    pub body: Vec<&'static str>,
}

include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// The algorithms, in the order of the files.
pub fn families() -> &'static [Family] {
    &all().0
}

/// Small kernels that go with the arrays of an algorithm.
pub fn companions() -> &'static [Family] {
    &all().1
}

/// The algorithm with this name.
pub fn find(name: &str) -> Option<&'static Family> {
    families().iter().find(|family| family.name == name)
}

/// The ways of programs from slow to fast.
pub fn ladders() -> &'static [Ladder] {
    static ALL: OnceLock<Vec<Ladder>> = OnceLock::new();
    ALL.get_or_init(|| {
        let text = FILES.iter().find(|(subject, _)| *subject == LADDERS).map_or("", |(_, text)| text);
        text.split("# === ").skip(1).map(ladder).collect()
    })
}

/// The texts of an algorithm in PyTorch, Triton and Numba, by the names of its entry; None: it has
/// none.
pub fn translations(name: &str) -> Option<Vec<&'static str>> {
    let files = FILES.iter().filter(|(subject, _)| subject.starts_with(TRANSLATIONS));
    let entry = files.flat_map(|(_, text)| text.split("# === ")).find(|entry| entry.lines().next() == Some(name))?;
    let mut parts = entry.split("\n# --- ");
    parts.next();
    let text_of = |part: &'static str| part.split_once('\n').map_or("", |(_, text)| text);
    Some(parts.map(text_of).collect())
}

/// The files whose entries no program of a set is of.
const LADDERS: &str = "ladders";
const TRANSLATIONS: &str = "translations";

/// What the names of the functions of a version end in, before its number.
pub const VERSION: &str = "__v";

fn ladder(text: &'static str) -> Ladder {
    let mut parts = text.split("\n#= ");
    let common = parts.next().unwrap_or_default();
    let with = common.lines().find_map(|line| after(line, "# with:")).unwrap_or_default();
    let mut out =
        Ladder { family: family(LADDERS, common), with: with.split(',').map(str::trim).collect(), changes: Vec::new() };
    let references = std::mem::take(&mut out.family.functions);
    out.family.run.clear();
    for (n, part) in parts.enumerate() {
        let version = family(LADDERS, part);
        out.changes.push(version.name.split_once(": ").unwrap_or((version.name, "")));
        out.family.roles.extend(version.roles);
        out.family.functions.extend(
            version
                .functions
                .into_iter()
                .map(|function| Function { name: format!("{}{VERSION}{n}", function.name), ..function }),
        );
    }
    out.family.functions.extend(references);
    out
}

fn all() -> &'static (Vec<Family>, Vec<Family>) {
    static ALL: OnceLock<(Vec<Family>, Vec<Family>)> = OnceLock::new();
    ALL.get_or_init(|| {
        let entries = |(subject, text): &(&'static str, &'static str)| {
            let subject = *subject;
            text.split("# === ").skip(1).map(move |entry| family(subject, entry)).collect::<Vec<_>>()
        };
        FILES
            .iter()
            .filter(|(subject, _)| *subject != LADDERS && !subject.starts_with(TRANSLATIONS))
            .flat_map(entries)
            .partition(|family| family.subject != "companions")
    })
}

/// The text behind a mark.
fn after(line: &'static str, mark: &str) -> Option<&'static str> {
    line.strip_prefix(mark).map(str::trim)
}

fn family(subject: &'static str, text: &'static str) -> Family {
    let (name, text) = text.split_once('\n').unwrap_or((text, ""));
    let mut out = Family {
        name: name.trim(),
        subject,
        source: "",
        task: "",
        about: "",
        domain: "generic",
        weight: 5,
        split: SPLITS[0],
        sizes: Vec::new(),
        roles: Vec::new(),
        run: Vec::new(),
        functions: Vec::new(),
    };
    let (mut dims, mut tags): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut kind = Kind::Reference;
    let mut kernels = Vec::new();
    for line in text.lines() {
        if out.functions.is_empty() && line.starts_with('#') {
            let set = |slot: &mut &'static str, mark: &str| {
                if let Some(rest) = after(line, mark) {
                    *slot = rest;
                }
            };
            set(&mut out.source, "# source:");
            set(&mut out.task, "# task:");
            set(&mut out.about, "# about:");
            set(&mut out.domain, "# domain:");
            set(&mut out.split, "# split:");
            if let Some(weight) = after(line, "# weight:") {
                out.weight = weight.parse().unwrap_or(5);
            } else if let Some(sizes) = after(line, "# sizes:") {
                out.sizes = sizes.split(';').map(size).collect();
            } else if let Some(run) = after(line, "# run:") {
                out.run = calls(run);
            } else if let Some(one) = after(line, "# - ") {
                out.roles.extend(role(one));
            }
        } else if let Some(rest) = line.strip_prefix("@kernel[") {
            let (list, rest) = rest.split_once(']').unwrap_or((rest, ""));
            (kind, dims) = (Kind::Kernel, list.split(',').map(str::trim).collect());
            tags = rest.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
        } else if line.starts_with("@func") {
            kind = Kind::Helper;
        } else if let Some(rest) = line.strip_prefix("def ") {
            let (name, head) = rest.split_once('(').unwrap_or((rest, "):"));
            let (dims, tags) = (std::mem::take(&mut dims), std::mem::take(&mut tags));
            if kind == Kind::Kernel {
                kernels.push(name);
            }
            out.functions.push(Function { kind, name: name.to_string(), head, dims, tags, body: Vec::new() });
            kind = Kind::Reference;
        } else if let Some(function) = out.functions.last_mut() {
            function.body.push(line);
        }
    }
    for function in &mut out.functions {
        while function.body.last().is_some_and(|line| line.trim().is_empty() || line.starts_with('#')) {
            function.body.pop();
        }
    }
    if out.run.is_empty() {
        out.run = kernels.into_iter().map(|name| (name, Vec::new())).collect();
    }
    out
}

/// `n = 1 7 71 1024`
fn size(text: &'static str) -> Size {
    let (name, numbers) = text.split_once('=').unwrap_or((text, ""));
    let list: Vec<u32> = numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let at = |n: usize| list.get(n).or(list.last()).copied().unwrap_or(1);
    Size { name: name.trim().to_string(), values: [at(0), at(1), at(2)], host: at(3) }
}

/// `step(a=b, c=d), finish`
fn calls(text: &'static str) -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(['(', ',']).unwrap_or(rest.len());
        let name = rest[..end].trim();
        let mut bound = Vec::new();
        rest = &rest[end..];
        if let Some(inner) = rest.strip_prefix('(') {
            let (list, more) = inner.split_once(')').unwrap_or((inner, ""));
            let pair = |one: &'static str| one.split_once('=').map(|(a, b)| (a.trim(), b.trim()));
            bound = list.split(',').filter_map(pair).collect();
            rest = more;
        }
        rest = rest.trim_start_matches([',', ' ']);
        out.push((name, bound));
    }
    out
}

/// `u: float[ny, nx] uniform(0, 1); temperature [K]`
fn role(text: &'static str) -> Option<Role> {
    let (declared, about) = text.split_once(';').unwrap_or((text, ""));
    let (name, rest) = declared.split_once(':')?;
    let (name, rest, about) = (name.trim().to_string(), rest.trim(), about.trim().to_string());
    if let Some((ty, parts)) = rest.strip_suffix(')').and_then(|rest| rest.split_once('('))
        && EngineKind::ALL.iter().any(|kind| kind.word() == ty)
    {
        return Some(Role { name, ty: ty.to_string(), dims: None, content: parts.to_string(), about });
    }
    if let Some((ty, value)) = rest.split_once('=') {
        let (ty, content) = (ty.trim().to_string(), value.trim().to_string());
        return Some(Role { name, ty, dims: None, content, about });
    }
    let (ty, rest) = rest.split_once('[')?;
    let (dims, content) = rest.split_once(']')?;
    let dims = dims.split(',').map(|dim| dim.trim().to_string()).collect();
    Some(Role { name, ty: ty.trim().to_string(), dims: Some(dims), content: content.trim().to_string(), about })
}

impl Role {
    pub fn is_array(&self) -> bool {
        self.dims.is_some()
    }

    /// Whether it is a mesh, a hash grid or the like.
    pub fn engine(&self) -> Option<EngineKind> {
        EngineKind::ALL.into_iter().find(|kind| kind.word() == self.ty)
    }

    /// The arrays and numbers that an engine is made of, in the order of its fields.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.content.split(',').map(str::trim)
    }

    /// The word of what an array holds, and what is in brackets behind it.
    pub fn content(&self) -> (&str, Vec<&str>) {
        let text = self.content.strip_suffix(" unordered").unwrap_or(&self.content);
        let (word, rest) = text.split_once('(').unwrap_or((text, ""));
        (word, rest.trim_end_matches(')').split(',').map(str::trim).filter(|one| !one.is_empty()).collect())
    }

    /// Whether its elements may come in any order.
    pub fn is_unordered(&self) -> bool {
        self.content.ends_with(" unordered")
    }

    /// What it holds before the launches.
    pub fn filled(&self, symbols: &mut Vec<Symbol>, sizes: &[Size]) -> Content {
        let (word, list) = self.content();
        let number = |n: usize| list.get(n).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        let mut bound = || list.first().map_or(Extent::Fixed(1), |text| extent(text, symbols, sizes));
        match word {
            "uniform" => Content::Between(number(0), number(1)),
            "sorted" => Content::Sorted(number(0), number(1)),
            "full" => Content::Full(number(0)),
            "unit" => Content::Normal,
            "normal" => Content::Gauss(number(0), number(1)),
            "rotation" => Content::Rotation,
            "index" => Content::Below(bound()),
            "maybe" => Content::Maybe(bound()),
            "rows" => Content::Rows(bound()),
            "ring" => Content::Ring(bound()),
            "strip" => Content::Strip(bound()),
            "range" => Content::Range,
            "permutation" => Content::Permutation,
            "tree" => Content::Tree,
            _ => Content::Zero,
        }
    }
}

/// An extent that is written as a number, a size, `size + 1`, `3 * size`, or a product of sizes,
/// which becomes a symbol of its own.
pub fn extent(text: &str, symbols: &mut Vec<Symbol>, sizes: &[Size]) -> Extent {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Extent::Fixed(number);
    }
    let (product, plus) = text.split_once(" + ").map_or((text, 0), |(a, b)| (a, b.trim().parse().unwrap_or(0)));
    let (times, name) = match product.split_once(" * ") {
        Some((number, name)) if number.parse::<u32>().is_ok() => (number.parse().unwrap_or(1), name),
        _ => (1, product),
    };
    let axis = symbols.iter().position(|symbol| symbol.name == name).unwrap_or_else(|| {
        let value = |scale: usize| {
            let of = |one: &str| {
                let known = sizes.iter().find(|size| size.name == one.trim()).map(|size| size.values[scale]);
                known.or(one.trim().parse().ok()).unwrap_or(1)
            };
            name.split('*').map(of).product()
        };
        symbols.push(Symbol { name: name.to_string(), values: [value(0), value(1), value(2)] });
        symbols.len() - 1
    });
    Extent::Axis { axis, times, plus }
}
