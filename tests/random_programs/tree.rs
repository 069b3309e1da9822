//! Programs as trees: what can be printed, and made smaller.

use std::fmt::Write;

use kc::types::{Scalar, StructId, Type};

/// An expression: the text around its operands.
#[derive(Clone)]
pub struct Expr {
    pub ty: Type,
    /// One more than operands.
    pub text: Vec<String>,
    pub args: Vec<Expr>,
}

/// A statement, with a block under each of its parts: `if`, `elif`, `else`.
#[derive(Clone)]
pub struct Stmt {
    /// The line that the statement needs before it.
    pub before: Option<String>,
    pub parts: Vec<Part>,
}

#[derive(Clone)]
pub struct Part {
    /// Its type says nothing.
    pub head: Expr,
    pub block: Option<Block>,
}

#[derive(Clone)]
pub struct Block {
    /// A line that must stay, such as the step of a `while`.
    pub first: Option<String>,
    pub body: Vec<Stmt>,
}

#[derive(Clone)]
pub struct Struct {
    pub name: String,
    pub fields: Vec<(String, Type)>,
}

#[derive(Clone)]
pub struct Function {
    /// `def f(...):` with its decorator.
    pub head: String,
    pub body: Vec<Stmt>,
}

/// A kernel with what it needs.
#[derive(Clone)]
pub struct Program {
    pub seed: u64,
    pub structs: Vec<Struct>,
    pub functions: Vec<Function>,
    /// The last one of these is the kernel.
    pub kernel: Function,
    /// Of a launch: one or two extents.
    pub dims: Vec<u32>,
    /// Of all its arrays, by dimension.
    pub extents: [i32; 4],
    /// Threads of a block on the simulator.
    pub block_dim: u32,
    /// For threads of blocks that have values of their own: whether the last coordinate counts
    /// them.
    pub counted: Option<bool>,
    /// What the array `o` must hold in the end, where that is known.
    pub answer: Option<Vec<i32>>,
    /// It works on ordinary numbers alone.
    pub mild: bool,
    /// It does only what every C++ compiler does alike: no function of a mathematics library, no
    /// conversion that overflows.
    pub exact: bool,
    /// Names of the library that it calls.
    pub uses: Vec<&'static str>,
}

impl Expr {
    /// `template` with a `{}` for each operand.
    pub fn new(ty: Type, template: &str, args: Vec<Expr>) -> Expr {
        let text: Vec<String> = template.split("{}").map(str::to_string).collect();
        assert_eq!(text.len(), args.len() + 1, "{template}");
        Expr { ty, text, args }
    }

    pub fn leaf(ty: Type, text: impl Into<String>) -> Expr {
        Expr { ty, text: vec![text.into()], args: Vec::new() }
    }

    pub fn print(&self, out: &mut String) {
        *out += &self.text[0];
        for (arg, after) in self.args.iter().zip(&self.text[1..]) {
            arg.print(out);
            *out += after;
        }
    }
}

impl Stmt {
    /// A line.
    pub fn line(template: &str, args: Vec<Expr>) -> Stmt {
        Stmt { before: None, parts: vec![Part { head: Expr::new(kc::types::BOOL, template, args), block: None }] }
    }

    pub fn block(template: &str, args: Vec<Expr>, body: Vec<Stmt>) -> Stmt {
        Stmt { before: None, parts: vec![Part::new(template, args, body)] }
    }

    fn print(&self, depth: usize, out: &mut String) {
        let indent = "    ".repeat(depth);
        if let Some(line) = &self.before {
            writeln!(out, "{indent}{line}").expect("a string");
        }
        for part in &self.parts {
            *out += &indent;
            part.head.print(out);
            *out += "\n";
            if let Some(block) = &part.block {
                if let Some(line) = &block.first {
                    writeln!(out, "{indent}    {line}").expect("a string");
                } else if block.body.is_empty() {
                    writeln!(out, "{indent}    pass").expect("a string");
                }
                block.body.iter().for_each(|stmt| stmt.print(depth + 1, out));
            }
        }
    }
}

impl Part {
    pub fn new(template: &str, args: Vec<Expr>, body: Vec<Stmt>) -> Part {
        Part { head: Expr::new(kc::types::BOOL, template, args), block: Some(Block { first: None, body }) }
    }
}

impl Program {
    pub fn kernel_name(&self) -> String {
        format!("k{}", self.seed)
    }

    /// The text without the import.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for it in &self.structs {
            writeln!(out, "\n\n@wp.struct\nclass {}:", it.name).expect("a string");
            for (name, ty) in &it.fields {
                writeln!(out, "    {name}: {}", self.python(*ty)).expect("a string");
            }
        }
        for function in self.functions.iter().chain([&self.kernel]) {
            writeln!(out, "\n\n{}", function.head).expect("a string");
            function.body.iter().for_each(|stmt| stmt.print(1, &mut out));
            if function.body.is_empty() {
                out += "    pass\n";
            }
        }
        out
    }

    pub fn python(&self, ty: Type) -> String {
        type_name(ty, &|id| self.structs[id.0 as usize].name.clone())
    }
}

/// The text of a file with programs.
pub fn file(programs: &[&Program]) -> String {
    let mut out = "from typing import Any\n\nimport warp as wp\n\n".to_string();
    let bodies: String = programs.iter().map(|program| program.text()).collect();
    // A name for each composite type that they use, such as `vec3_float16`.
    for (name, definition) in aliases() {
        if bodies.contains(&name) {
            writeln!(out, "{name} = {definition}").expect("a string");
        }
    }
    out + &bodies
}

const LENGTHS: [u16; 5] = [2, 3, 4, 5, 6];

fn aliases() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |ty: Type, definition: String| all.push((type_name(ty, &|_| String::new()), definition));
    for s in Scalar::ALL {
        let dtype = format!("dtype=wp.{}", s.name());
        for n in LENGTHS {
            add(Type::Vec(n, s), format!("wp.types.vector(length={n}, {dtype})"));
            for c in LENGTHS {
                add(Type::Mat(n, c, s), format!("wp.types.matrix(shape=({n}, {c}), {dtype})"));
            }
        }
        if s.is_float() {
            add(Type::Quat(s), format!("wp.types.quaternion({dtype})"));
            add(Type::Transform(s), format!("wp.types.transformation({dtype})"));
        }
    }
    all
}

pub fn type_name(ty: Type, name_of: &dyn Fn(StructId) -> String) -> String {
    match ty {
        Type::Scalar(s) => format!("wp.{}", s.name()),
        Type::Vec(n, s) => format!("vec{n}_{}", s.name()),
        Type::Mat(r, c, s) => format!("mat{r}{c}_{}", s.name()),
        Type::Quat(s) => format!("quat_{}", s.name()),
        Type::Transform(s) => format!("transform_{}", s.name()),
        Type::Struct(id) => name_of(id),
        Type::Array(_) | Type::Local(_) => panic!("{ty:?} is written where it is declared"),
    }
}
