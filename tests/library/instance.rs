//! Which kernels call a built-in? One for each overload and each choice of its types.

use std::collections::BTreeMap;

use kc::library::{Decision, Domain, Entry};
use kc::source::SourceMap;
use kc::syntax::ast::{Expr, ExprKind};
use kc::types::{Scalar, Type};

/// A kernel that calls one overload with one choice of types, element by element of its arrays.
pub struct Instance {
    pub kernel: String,
    pub source: String,
    /// The kernel's parameters, all of them arrays, in order.
    pub params: Vec<Param>,
    pub decision: Decision,
    /// Whether the overload takes whole arrays, so that one thread may run only.
    pub whole_arrays: bool,
}

/// A parameter of such a kernel: an array with one element per thread, or an array that the
/// built-in takes whole.
pub struct Param {
    pub element: Type,
    pub role: Role,
    /// The numbers in it are between these.
    pub domain: Option<(f64, f64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Input,
    /// A result, or the new value of an argument by reference.
    Output,
    /// An array that the built-in takes whole, and may change.
    Whole,
}

/// What the open parts of a signature stand for.
#[derive(Clone)]
struct Choice {
    class: Option<Scalar>,
    variable: Type,
    lengths: BTreeMap<&'static str, u16>,
}

enum Argument {
    Value(Type),
    Reference(Type),
    Whole(Type),
}

/// The kernels for the `number`th overload of `name`.
pub fn instances(name: &str, number: usize, entry: &Entry, sources: &SourceMap) -> Vec<Instance> {
    choices(entry, sources)
        .iter()
        .enumerate()
        .map(|(k, choice)| instance(format!("{name}_{number}_{k}"), name, entry, choice))
        .collect()
}

fn choices(entry: &Entry, sources: &SourceMap) -> Vec<Choice> {
    let annotations = entry.function.params.iter().filter_map(|param| param.annotation.as_ref());
    let text: Vec<&str> = annotations.map(|annotation| sources.text(annotation.span)).collect();
    let has =
        |word: &str| text.iter().any(|t| t.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word));
    use Scalar::{F16, F32, F64, I8, I32, U8, U64};
    let classes: &[Scalar] = if has("Float") {
        &[F64, F32, F16]
    } else if has("Scalar") {
        &[F64, F32, I32, U8]
    } else if has("Int") {
        &[I32, U64, I8]
    } else {
        &[]
    };
    let variables: &[Type] = if has("T") { &[Type::Vec(3, F64), Type::Scalar(I32)] } else { &[Type::Scalar(F64)] };
    let lengths = BTreeMap::from([("N", 3), ("R", 2), ("C", 3), ("K", 4)]);
    let classes: Vec<Option<Scalar>> =
        if classes.is_empty() { vec![None] } else { classes.iter().copied().map(Some).collect() };
    let mut all = Vec::new();
    for &class in &classes {
        for &variable in variables {
            all.push(Choice { class, variable, lengths: lengths.clone() });
        }
    }
    all
}

fn instance(kernel: String, name: &str, entry: &Entry, choice: &Choice) -> Instance {
    let function = &entry.function;
    let (mut params, mut signature, mut before, mut after, mut args) = (vec![], vec![], vec![], vec![], vec![]);
    let mut outputs = Vec::new();
    let mut whole_arrays = false;
    for param in &function.params {
        let annotation = param.annotation.as_ref().expect("entries annotate their parameters");
        let x = &param.name.text;
        let domain = entry.domains.iter().find(|d| d.param == *x).map(|d: &Domain| (d.low, d.high));
        let (element, role) = match choice.argument(annotation) {
            Argument::Value(ty) => (ty, Role::Input),
            Argument::Reference(ty) => {
                outputs.push(ty);
                after.push(format!("out_{}[thread] = {x}", outputs.len() - 1));
                (ty, Role::Input)
            }
            Argument::Whole(ty) => (ty, Role::Whole),
        };
        params.push(Param { element, role, domain });
        args.push(x.clone());
        if role == Role::Whole {
            whole_arrays = true;
            signature.push(format!("{x}: wp.array(dtype={})", python(element)));
        } else {
            before.push(format!("{x} = in_{x}[thread]"));
            signature.push(format!("in_{x}: wp.array(dtype={})", python(element)));
        }
    }
    let results = function.returns.as_ref().map(|annotation| choice.results(annotation)).unwrap_or_default();
    let mut names = Vec::new();
    for ty in results {
        names.push(format!("result_{}", names.len()));
        outputs.push(ty);
        after.push(format!("out_{}[thread] = result_{}", outputs.len() - 1, names.len() - 1));
    }
    for (n, &ty) in outputs.iter().enumerate() {
        params.push(Param { element: ty, role: Role::Output, domain: None });
        signature.push(format!("out_{n}: wp.array(dtype={})", python(ty)));
    }
    let assigned = if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) };
    let call = format!("{assigned}wp.{name}({})", args.join(", "));
    let mut source = format!("@wp.kernel\ndef {kernel}({}):\n    thread = wp.tid()\n", signature.join(", "));
    for line in before.iter().chain([&call]).chain(&after) {
        source += &format!("    {line}\n");
    }
    Instance { kernel, source, params, decision: entry.decision.clone(), whole_arrays }
}

impl Choice {
    fn argument(&self, annotation: &Expr) -> Argument {
        if let ExprKind::Subscript { base, indices } = &annotation.kind
            && let ExprKind::Name(word) = &base.kind
        {
            match word.as_str() {
                "ref" => return Argument::Reference(self.ty(&indices[0])),
                "Array" => return Argument::Whole(self.ty(&indices[0])),
                _ => {}
            }
        }
        Argument::Value(self.ty(annotation))
    }

    fn results(&self, annotation: &Expr) -> Vec<Type> {
        match &annotation.kind {
            ExprKind::Subscript { base, indices } if matches!(&base.kind, ExprKind::Name(word) if word == "tuple") => {
                indices.iter().map(|index| self.ty(index)).collect()
            }
            _ => vec![self.ty(annotation)],
        }
    }

    fn ty(&self, annotation: &Expr) -> Type {
        match &annotation.kind {
            ExprKind::Name(word) if word == "T" => self.variable,
            ExprKind::Name(word) if word == "Any" => Type::Scalar(Scalar::Bool),
            ExprKind::Name(_) => Type::Scalar(self.scalar(annotation)),
            ExprKind::Subscript { base, indices } => {
                let ExprKind::Name(word) = &base.kind else { panic!("an annotation of the library: {annotation:?}") };
                match (word.as_str(), indices.as_slice()) {
                    ("Vec", [n, s]) => Type::Vec(self.length(n), self.scalar(s)),
                    ("Mat", [r, c, s]) => Type::Mat(self.length(r), self.length(c), self.scalar(s)),
                    ("Quat", [s]) => Type::Quat(self.scalar(s)),
                    ("Transform", [s]) => Type::Transform(self.scalar(s)),
                    _ => panic!("an annotation of the library: {annotation:?}"),
                }
            }
            _ => panic!("an annotation of the library: {annotation:?}"),
        }
    }

    fn scalar(&self, expr: &Expr) -> Scalar {
        let ExprKind::Name(word) = &expr.kind else { panic!("a scalar: {expr:?}") };
        match word.as_str() {
            "Float" | "Scalar" | "Int" => self.class.expect("the class is chosen"),
            word => Scalar::from_name(word).unwrap_or_else(|| panic!("a scalar: {word}")),
        }
    }

    fn length(&self, expr: &Expr) -> u16 {
        match &expr.kind {
            ExprKind::Int(Some(n)) => *n as u16,
            ExprKind::Name(word) => self.lengths[word.as_str()],
            _ => panic!("a length: {expr:?}"),
        }
    }
}

/// The type as a user writes it.
pub fn python(ty: Type) -> String {
    match ty {
        Type::Scalar(s) => format!("wp.{}", s.name()),
        Type::Vec(n, s) => format!("wp.types.vector(length={n}, dtype=wp.{})", s.name()),
        Type::Mat(r, c, s) => format!("wp.types.matrix(shape=({r}, {c}), dtype=wp.{})", s.name()),
        Type::Quat(s) => format!("wp.types.quaternion(dtype=wp.{})", s.name()),
        Type::Transform(s) => format!("wp.types.transformation(dtype=wp.{})", s.name()),
        other => panic!("{other:?} is no element of these kernels"),
    }
}
