//! What built-ins are there to call, and which of them gives a value of some type? The library's
//! own table is asked, so that new built-ins are called too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use kc::library::{Entry, Library};
use kc::source::SourceMap;
use kc::syntax::ast::{Expr, ExprKind};
use kc::types::{Scalar, Type};

use crate::random::Random;

/// One overload.
pub struct Builtin {
    pub name: &'static str,
    pub params: Vec<Pattern>,
    /// Those after the first so many may be left out.
    pub required: usize,
    pub results: Vec<Pattern>,
    /// It computes the same bits wherever floats are IEEE 754: no function of a mathematics library
    /// is called.
    pub exact: bool,
}

/// A type with open parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    Scalar(Scalar),
    /// `Float`, `Int`, `Scalar`: one type for the whole signature.
    Class(Class),
    Vec(Length, Box<Pattern>),
    Mat(Length, Length, Box<Pattern>),
    Quat(Box<Pattern>),
    Transform(Box<Pattern>),
    /// `T`: whatever is stored in arrays.
    Anything,
    /// Of any type that is true or false.
    Condition,
    Reference(Box<Pattern>),
    /// A whole array of one dimension.
    Array(Box<Pattern>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    Float,
    Int,
    Number,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Length {
    Fixed(u16),
    Open(String),
}

/// What the open parts stand for.
#[derive(Clone, Default)]
pub struct Binding {
    pub scalar: Option<Scalar>,
    pub anything: Option<Type>,
    pub lengths: BTreeMap<String, u16>,
}

/// Built-ins that are not called by their table entry, and why; the generator writes most of them
/// by hand.
pub const BY_HAND: &[(&str, &str)] = &[
    ("breakpoint", "does nothing that can be compared"),
    ("dense_chol", "works on arrays of stated sizes, in place"),
    ("dense_gemm", "works on arrays of stated sizes, in place"),
    ("dense_solve", "works on arrays of stated sizes, in place"),
    ("dense_subs", "works on arrays of stated sizes, in place"),
    ("expect_eq", "ends the program"),
    ("expect_near", "ends the program"),
    ("expect_neq", "ends the program"),
];

/// Built-ins that begin so read memory at an address, and a random number is none: `tests/engines`
/// calls them.
const OF_ENGINES: [&str; 8] =
    ["mesh_", "bvh_", "hash_grid_", "volume_", "texture_", "tile_bvh_", "tile_mesh_", "tile_query_"];

const FLOATS: [Scalar; 3] = [Scalar::F16, Scalar::F32, Scalar::F64];
pub const INTS: [Scalar; 8] =
    [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64];

impl Class {
    fn holds(self, scalar: Scalar) -> bool {
        match self {
            Class::Float => scalar.is_float(),
            Class::Int => scalar.is_int(),
            Class::Number => scalar != Scalar::Bool,
        }
    }

    fn any(self, random: &mut Random) -> Scalar {
        let float = match self {
            Class::Float => true,
            Class::Int => false,
            Class::Number => random.one_in(2),
        };
        if float { random.pick(&FLOATS) } else { random.pick(&INTS) }
    }
}

/// All overloads that values go into and come out of.
pub fn builtins() -> &'static [Builtin] {
    static ALL: OnceLock<Vec<Builtin>> = OnceLock::new();
    ALL.get_or_init(|| {
        let (library, mut sources) = (Library::default(), SourceMap::default());
        let inexact = inexact_names();
        let mut all = Vec::new();
        let called = |name: &&str| !OF_ENGINES.iter().any(|first| name.starts_with(first));
        for name in Library::public_names().filter(called) {
            let entries = library.entries(name, &mut sources);
            let called = entries.iter().filter(|entry| !entry.intrinsic);
            for entry in called.filter(|_| !BY_HAND.iter().any(|(other, _)| *other == name)) {
                all.extend(builtin(name, entry, !inexact.contains(name)));
            }
        }
        all
    })
}

/// Names whose results depend on more than IEEE 754: functions of CUDA's mathematics library,
/// conversions to integers, and all that calls them.
fn inexact_names() -> BTreeSet<String> {
    const EXACT: [&str; 16] = [
        "_fma",
        "_round_even",
        "mod",
        "abs",
        "copysign",
        "min",
        "max",
        "isnan",
        "isinf",
        "isfinite",
        "floor",
        "ceil",
        "trunc",
        "round",
        "rint",
        "sqrt",
    ];
    // Name and text of every definition; overloads count as one.
    let mut definitions: BTreeMap<String, String> = BTreeMap::new();
    for (_, text) in Library::files() {
        let mut decorators = String::new();
        let mut current = None;
        for line in text.lines() {
            if line.starts_with('@') {
                decorators += line;
                decorators += "\n";
                current = None;
            } else if let Some(rest) = line.strip_prefix("def ") {
                let name = rest.split('(').next().unwrap_or_default().to_string();
                *definitions.entry(name.clone()).or_default() += &std::mem::take(&mut decorators);
                current = Some(name);
            } else if let Some(name) = &current {
                let code = definitions.entry(name.clone()).or_default();
                code.push_str(line);
                code.push('\n');
            }
        }
    }
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_string).collect()
    };
    let starts_inexact = |name: &str, text: &str| {
        !EXACT.contains(&name) && (text.contains("@cuda(") || text.contains("int32(") || text.contains("int("))
    };
    let mut inexact: BTreeSet<String> =
        definitions.iter().filter(|(name, text)| starts_inexact(name, text)).map(|(name, _)| name.clone()).collect();
    loop {
        let more: Vec<String> = definitions
            .iter()
            .filter(|(name, text)| !inexact.contains(*name) && words(text).intersection(&inexact).next().is_some())
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return inexact;
        }
        inexact.extend(more);
    }
}

fn builtin(name: &'static str, entry: &Entry, exact: bool) -> Option<Builtin> {
    let function = &entry.function;
    let params: Option<Vec<Pattern>> =
        function.params.iter().map(|param| pattern(param.annotation.as_ref()?)).collect();
    let results = match function.returns.as_ref().map(|annotation| (&annotation.kind, annotation)) {
        None => Vec::new(),
        Some((ExprKind::Subscript { base, indices }, _)) if matches!(&base.kind, ExprKind::Name(word) if word == "tuple") => {
            indices.iter().map(pattern).collect::<Option<_>>()?
        }
        Some((_, annotation)) => vec![pattern(annotation)?],
    };
    let required = function.params.iter().take_while(|param| param.default.is_none()).count();
    Some(Builtin { name, params: params?, required, results, exact })
}

fn pattern(annotation: &Expr) -> Option<Pattern> {
    match &annotation.kind {
        ExprKind::Name(word) => Some(match word.as_str() {
            "Float" => Pattern::Class(Class::Float),
            "Int" => Pattern::Class(Class::Int),
            "Scalar" => Pattern::Class(Class::Number),
            "T" => Pattern::Anything,
            "Any" => Pattern::Condition,
            word => Pattern::Scalar(Scalar::from_name(word)?),
        }),
        ExprKind::Subscript { base, indices } => {
            let ExprKind::Name(word) = &base.kind else { return None };
            let part = |n: usize| pattern(indices.get(n)?).map(Box::new);
            Some(match (word.as_str(), indices.len()) {
                ("Vec", 2) => Pattern::Vec(length(&indices[0])?, part(1)?),
                ("Mat", 3) => Pattern::Mat(length(&indices[0])?, length(&indices[1])?, part(2)?),
                ("Quat", 1) => Pattern::Quat(part(0)?),
                ("Transform", 1) => Pattern::Transform(part(0)?),
                ("ref", 1) => Pattern::Reference(part(0)?),
                ("Array", _) => Pattern::Array(part(0)?),
                _ => return None,
            })
        }
        _ => None,
    }
}

fn length(expr: &Expr) -> Option<Length> {
    match &expr.kind {
        ExprKind::Int(n) => Some(Length::Fixed((*n)?.try_into().ok()?)),
        ExprKind::Name(name) => Some(Length::Open(name.clone())),
        _ => None,
    }
}

impl Binding {
    /// Makes `pattern` be `ty`, if it can be.
    pub fn unify(&mut self, pattern: &Pattern, ty: Type) -> bool {
        match (pattern, ty) {
            (Pattern::Scalar(a), Type::Scalar(b)) => *a == b,
            (Pattern::Class(class), Type::Scalar(s)) => class.holds(s) && *self.scalar.get_or_insert(s) == s,
            (Pattern::Vec(n, inner), Type::Vec(m, s)) => self.length(n, m) && self.unify(inner, s.into()),
            (Pattern::Mat(r, c, inner), Type::Mat(rows, cols, s)) => {
                self.length(r, rows) && self.length(c, cols) && self.unify(inner, s.into())
            }
            (Pattern::Quat(inner), Type::Quat(s)) | (Pattern::Transform(inner), Type::Transform(s)) => {
                self.unify(inner, s.into())
            }
            (Pattern::Anything, ty) => *self.anything.get_or_insert(ty) == ty,
            _ => false,
        }
    }

    fn length(&mut self, length: &Length, n: u16) -> bool {
        match length {
            Length::Fixed(m) => *m == n,
            Length::Open(name) => *self.lengths.entry(name.clone()).or_insert(n) == n,
        }
    }

    /// A type for `pattern`; open parts are chosen.
    pub fn choose(&mut self, pattern: &Pattern, random: &mut Random) -> Type {
        match pattern {
            Pattern::Scalar(s) => Type::Scalar(*s),
            Pattern::Class(class) => Type::Scalar(*self.scalar.get_or_insert_with(|| class.any(random))),
            Pattern::Vec(n, inner) => Type::Vec(self.any_length(n, random), self.part(inner, random)),
            Pattern::Mat(r, c, inner) => {
                let (rows, cols) = (self.any_length(r, random), self.any_length(c, random));
                Type::Mat(rows, cols, self.part(inner, random))
            }
            Pattern::Quat(inner) => Type::Quat(self.part(inner, random)),
            Pattern::Transform(inner) => Type::Transform(self.part(inner, random)),
            Pattern::Anything => *self.anything.get_or_insert_with(|| Type::Scalar(Class::Number.any(random))),
            Pattern::Condition => kc::types::BOOL,
            Pattern::Reference(inner) | Pattern::Array(inner) => self.choose(inner, random),
        }
    }

    fn part(&mut self, pattern: &Pattern, random: &mut Random) -> Scalar {
        self.choose(pattern, random).as_scalar().expect("composites are of scalars")
    }

    fn any_length(&mut self, length: &Length, random: &mut Random) -> u16 {
        match length {
            Length::Fixed(n) => *n,
            Length::Open(name) => *self.lengths.entry(name.clone()).or_insert_with(|| random.pick(&[2, 3, 3, 4])),
        }
    }
}
