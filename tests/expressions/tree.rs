//! What is a generated program? Structs, functions, one kernel, and how it is launched; printed as
//! Python.
//!
//! Expressions are texts with their precedence: they are typed when they are made and never looked
//! into again.

use std::fmt::Write;

use crate::dataset::launch::block;
pub use crate::dataset::plan::{Content, Extent, Given, Param};
use crate::dataset::plan::{Plan, Step, Symbol};

/// The kinds of value that the generator tells apart. Floats carry the range that makes functions
/// of them safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A float of moderate size.
    Float,
    /// At least 0.02.
    Positive,
    /// In [0, 1].
    Unit,
    /// In [-1, 1].
    Signed,
    /// A small int32.
    Int,
    Bool,
    Vec(u8),
    /// A vec3 of length 1.
    Direction,
    Mat(u8),
    /// A quaternion of length 1.
    Quat,
    Transform,
    /// Six numbers: rotation, then translation.
    Spatial,
    /// The state of a random sequence.
    State,
}

impl Kind {
    /// The kind that the letters in templates name.
    pub fn of(word: &str) -> Option<Kind> {
        Some(match word {
            "f" => Kind::Float,
            "p" => Kind::Positive,
            "u" => Kind::Unit,
            "s" => Kind::Signed,
            "i" => Kind::Int,
            "b" => Kind::Bool,
            "v2" => Kind::Vec(2),
            "v3" => Kind::Vec(3),
            "v4" => Kind::Vec(4),
            "n3" => Kind::Direction,
            "m2" => Kind::Mat(2),
            "m3" => Kind::Mat(3),
            "m4" => Kind::Mat(4),
            "q" => Kind::Quat,
            "t" => Kind::Transform,
            "w" => Kind::Spatial,
            "r" => Kind::State,
            _ => return None,
        })
    }

    /// Whether a value of this kind may be used where `wanted` is asked for.
    pub fn fits(self, wanted: Kind) -> bool {
        match wanted {
            Kind::Float => matches!(self, Kind::Float | Kind::Positive | Kind::Unit | Kind::Signed),
            Kind::Signed => matches!(self, Kind::Signed | Kind::Unit),
            Kind::Vec(3) => matches!(self, Kind::Vec(3) | Kind::Direction),
            wanted => self == wanted,
        }
    }

    pub fn is_float(self) -> bool {
        self.fits(Kind::Float)
    }

    /// The type as an annotation.
    pub fn python(self) -> &'static str {
        match self {
            Kind::Float | Kind::Positive | Kind::Unit | Kind::Signed => "float",
            Kind::Int => "int",
            Kind::Bool => "bool",
            Kind::Vec(2) => "wp.vec2",
            Kind::Vec(3) | Kind::Direction => "wp.vec3",
            Kind::Vec(_) => "wp.vec4",
            Kind::Mat(2) => "wp.mat22",
            Kind::Mat(3) => "wp.mat33",
            Kind::Mat(_) => "wp.mat44",
            Kind::Quat => "wp.quat",
            Kind::Transform => "wp.transform",
            Kind::Spatial => "wp.spatial_vector",
            Kind::State => "wp.uint32",
        }
    }

    /// The number of scalars.
    pub fn components(self) -> usize {
        match self {
            Kind::Vec(n) => n.into(),
            Kind::Direction => 3,
            Kind::Mat(n) => usize::from(n) * usize::from(n),
            Kind::Quat => 4,
            Kind::Transform => 7,
            Kind::Spatial => 6,
            _ => 1,
        }
    }
}

/// How tightly an expression binds, in Python's order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Binding {
    Conditional,
    Or,
    And,
    Not,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Sign,
    Atom,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub text: String,
    pub binding: Binding,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Line(String),
    /// A header such as `if x > 0.0:` and what it governs.
    Block(String, Vec<Stmt>),
}

#[derive(Clone, Debug)]
pub struct StructDef {
    pub name: String,
    pub doc: Option<String>,
    pub fields: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub doc: Option<String>,
    pub params: Vec<(String, String)>,
    /// The annotation of the result, if it is written down.
    pub returns: Option<String>,
    pub body: Vec<Stmt>,
}

/// A program and the launch that makes sense for it.
#[derive(Clone, Debug)]
pub struct Program {
    pub doc: Option<String>,
    pub constants: Vec<(String, String)>,
    pub structs: Vec<StructDef>,
    pub functions: Vec<Function>,
    pub kernel: Function,
    pub params: Vec<Param>,
    /// Launch dimensions of the kernel.
    pub rank: usize,
    /// The threads above this extent return at once: the launch may be rounded up.
    pub guarded: bool,
}

impl Program {
    /// The text with its only launch.
    pub fn plan(&self) -> Plan {
        let sizes: [&[u32]; 3] = match self.rank {
            1 => [&[1], &[7], &[71]],
            2 => [&[1, 1], &[3, 5], &[7, 11]],
            _ => [&[1, 1, 1], &[2, 3, 3], &[3, 5, 5]],
        };
        let symbol = |axis: usize| Symbol { name: format!("dim{axis}"), values: sizes.map(|list| list[axis]) };
        let step = Step {
            kernel: self.kernel.name.clone(),
            dims: (0..self.rank).map(Extent::axis).collect(),
            block: self.guarded.then(|| block(self.rank)),
            params: self.params.clone(),
            bound: Vec::new(),
        };
        Plan {
            text: self.python(),
            symbols: (0..self.rank.clamp(1, 3)).map(symbol).collect(),
            steps: vec![step],
            ..Plan::default()
        }
    }

    /// The program as a Python file.
    pub fn python(&self) -> String {
        let mut out = String::with_capacity(1024);
        if let Some(doc) = &self.doc {
            let _ = write!(out, "\"\"\"{doc}\"\"\"\n\n");
        }
        out.push_str("import warp as wp\n");
        if !self.constants.is_empty() {
            out.push('\n');
        }
        for (name, value) in &self.constants {
            let _ = writeln!(out, "{name} = wp.constant({value})");
        }
        for def in &self.structs {
            let _ = write!(out, "\n\n@wp.struct\nclass {}:\n", def.name);
            if let Some(doc) = &def.doc {
                let _ = write!(out, "    \"\"\"{doc}\"\"\"\n\n");
            }
            for (name, ty) in &def.fields {
                let _ = writeln!(out, "    {name}: {ty}");
            }
        }
        for function in &self.functions {
            function.print("wp.func", &mut out);
        }
        self.kernel.print("wp.kernel", &mut out);
        out
    }
}

impl Function {
    fn print(&self, decorator: &str, out: &mut String) {
        let params: Vec<String> = self.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        let returns = self.returns.as_ref().map_or(String::new(), |ty| format!(" -> {ty}"));
        let one = format!("def {}({}){returns}:", self.name, params.join(", "));
        let _ = write!(out, "\n\n@{decorator}\n");
        if one.len() <= 100 {
            out.push_str(&one);
        } else {
            let _ = write!(out, "def {}(\n    {},\n){returns}:", self.name, params.join(",\n    "));
        }
        out.push('\n');
        if let Some(doc) = &self.doc {
            let _ = writeln!(out, "    \"\"\"{doc}\"\"\"");
        }
        print_block(&self.body, 1, out);
    }
}

fn print_block(block: &[Stmt], depth: usize, out: &mut String) {
    for stmt in block {
        out.extend(std::iter::repeat_n("    ", depth));
        match stmt {
            Stmt::Line(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Stmt::Block(header, body) => {
                out.push_str(header);
                out.push('\n');
                print_block(body, depth + 1, out);
            }
        }
    }
}
