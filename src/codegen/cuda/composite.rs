//! Operations on vectors, quaternions, matrices and transforms: each is a small operator or
//! function in the prelude, made from the scalar operation, and a use of it.

use super::helpers::Helper;
use super::prelude::Prelude;
use super::print::{Variables, expression};
use super::scalar;
use super::tree::{Expr, Infix, Stmt, Var};
use super::types::{VarData, component, has_named_components, scalar_name, type_name};
use super::wrapping;
use crate::ir::{AtomicOp, BinaryOp, CompareOp, UnaryOp};
use crate::types::{Scalar, StructTable, Type};

/// For the text of prelude functions, whose expressions hold only names.
struct NoVariables;

impl Variables for NoVariables {
    fn name(&self, _: Var) -> &str {
        ""
    }
    fn declaration(&self, _: Var) -> String {
        String::new()
    }
}

pub fn text(e: &Expr) -> String {
    expression(e, &NoVariables)
}

/// How the parts of a composite are written.
enum Parts {
    /// One after the other: `.x`, `.p.y`.
    Members(Vec<String>),
    /// In a loop over `i < n`: `.c[i]`, or rows of type `part`.
    Loop { n: u32, member: &'static str, part: Type },
}

fn parts(ty: Type) -> Parts {
    match ty {
        Type::Mat(r, c, s) => Parts::Loop { n: r.into(), member: ".row[i]", part: Type::Vec(c, s) },
        Type::Transform(_) => {
            let members = (0..3).map(|k| format!(".p.{}", component(k)));
            Parts::Members(members.chain((0..4).map(|k| format!(".q.{}", component(k)))).collect())
        }
        _ => {
            let n = ty.scalar_count().unwrap_or(1);
            if has_named_components(ty) {
                Parts::Members((0..n).map(|k| format!(".{}", component(k))).collect())
            } else {
                let part = Type::Scalar(ty.scalar_part().unwrap_or(Scalar::F32));
                Parts::Loop { n, member: ".c[i]", part }
            }
        }
    }
}

/// What a function does to each part; it gets the operands' parts.
type PartOp<'a> = &'a mut dyn FnMut(&[Expr], Type, &mut Prelude) -> Expr;

/// The body of a function with parameters `a`, `b`, ... (`is_scalar` says which are no composites)
/// that returns `result`.
fn body(result: Type, params: &[(&str, bool)], op: PartOp<'_>, structs: &StructTable, prelude: &mut Prelude) -> String {
    let name = type_name(result, structs);
    let s = result.scalar_part().unwrap_or(Scalar::F32);
    let operands = |member: &str| -> Vec<Expr> {
        params
            .iter()
            .map(|(name, is_scalar)| Expr::atom(if *is_scalar { name.to_string() } else { format!("{name}{member}") }))
            .collect()
    };
    match parts(result) {
        Parts::Members(members) => {
            let mut value = |member| {
                let e = op(&operands(member), Type::Scalar(s), prelude);
                text(&scalar::typed(s, e, prelude))
            };
            let values: Vec<String> = members.iter().map(|m| value(m)).collect();
            format!("{{ return {name}{{{}}}; }}", values.join(", "))
        }
        Parts::Loop { n, member, part } => {
            let value = text(&op(&operands(member), part, prelude));
            format!(
                "{{\n    {name} result;\n    for (int i = 0; i < {n}; ++i) result{member} = {value};\n    return result;\n}}"
            )
        }
    }
}

/// The operator, or the name of the function, for a binary operation on composites of type `ty`.
enum Spelling {
    Operator(Infix),
    Function(&'static str),
}

fn spelling(op: BinaryOp, ty: Type, by_scalar: bool) -> Spelling {
    // `m * n` and `q * r` would read as products of algebra.
    let componentwise = by_scalar || matches!(ty, Type::Vec(..));
    match op {
        BinaryOp::Add => Spelling::Operator(Infix::Add),
        BinaryOp::Sub => Spelling::Operator(Infix::Sub),
        BinaryOp::Mul if componentwise => Spelling::Operator(Infix::Mul),
        BinaryOp::Div if componentwise => Spelling::Operator(Infix::Div),
        BinaryOp::Mul => Spelling::Function("cw_mul"),
        BinaryOp::Div => Spelling::Function("cw_div"),
        BinaryOp::Rem => Spelling::Operator(Infix::Rem),
        BinaryOp::And => Spelling::Operator(Infix::BitAnd),
        BinaryOp::Or => Spelling::Operator(Infix::BitOr),
        BinaryOp::Xor => Spelling::Operator(Infix::BitXor),
        BinaryOp::Shl => Spelling::Operator(Infix::Shl),
        BinaryOp::Shr => Spelling::Operator(Infix::Shr),
        BinaryOp::FloorDiv
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::CopySign
        | BinaryOp::MulHigh
        | BinaryOp::AbsDiff => Spelling::Function(op.name()),
    }
}

/// `a op b` where one of the two may be a scalar; `a` and `b` have types `ta` and `tb`.
pub fn binary(
    op: BinaryOp,
    (ta, a): (Type, Expr),
    (tb, b): (Type, Expr),
    structs: &StructTable,
    prelude: &mut Prelude,
) -> Expr {
    declare_binary(op, ta, tb, structs, prelude);
    let result = if ta.is_composite() { ta } else { tb };
    match spelling(op, result, ta != tb) {
        Spelling::Operator(infix) => Expr::infix(infix, a, b),
        Spelling::Function(name) => Expr::call(name, [a, b]),
    }
}

fn declare_binary(op: BinaryOp, ta: Type, tb: Type, structs: &StructTable, prelude: &mut Prelude) {
    if !prelude.first_time(op, ta, tb) {
        return;
    }
    let result = if ta.is_composite() { ta } else { tb };
    prelude.ty(result, structs);
    let name = match spelling(op, result, ta != tb) {
        Spelling::Operator(infix) => format!("operator{}", infix.symbol()),
        Spelling::Function(name) => name.to_string(),
    };
    let (ra, rb) = (type_name(ta, structs), type_name(tb, structs));
    prelude.function(format!("{} {name}({ra} a, {rb} b)", type_name(result, structs)), |prelude| {
        let params = [("a", !ta.is_composite()), ("b", !tb.is_composite())];
        let mut each = |operands: &[Expr], part: Type, prelude: &mut Prelude| {
            let (a, b) = (operands[0].clone(), operands[1].clone());
            match part {
                Type::Scalar(s) => wrapping::binary(op, s, a, b, prelude),
                row => {
                    let of = |ty: Type| if ty.is_composite() { row } else { ty };
                    binary(op, (of(ta), a), (of(tb), b), structs, prelude)
                }
            }
        };
        body(result, &params, &mut each, structs, prelude)
    });
}

/// Declares `operator+=` and its like for a type whose plain operator is declared already.
pub fn declare_compound(op: Infix, ty: Type, structs: &StructTable, prelude: &mut Prelude) {
    let (name, symbol) = (type_name(ty, structs), op.symbol());
    prelude.function(format!("template <typename B> {name} &operator{symbol}=({name} &a, B b)"), |_| {
        format!("{{ return a = a {symbol} b; }}")
    });
}

/// Declares what updates of variables need that only came about as statements took their shape.
pub fn declare_updates(stmts: &[Stmt], vars: &[VarData], structs: &StructTable, prelude: &mut Prelude) {
    for stmt in stmts {
        if let Stmt::Assign { var, value: Expr::Infix(op, a, _), .. } = stmt
            && op.has_assignment()
            && **a == Expr::Var(*var)
        {
            match vars[var.0 as usize].ty {
                Type::Scalar(s) if !scalar::is_half(s) => {}
                ty => declare_compound(*op, ty, structs, prelude),
            }
        }
        stmt.bodies().into_iter().for_each(|body| declare_updates(body, vars, structs, prelude));
    }
}

pub fn unary(op: UnaryOp, ty: Type, a: Expr, structs: &StructTable, prelude: &mut Prelude) -> Expr {
    prelude.ty(ty, structs);
    let name = type_name(ty, structs);
    let symbol = match op {
        UnaryOp::Neg => Some("-"),
        UnaryOp::Not => Some("!"),
        UnaryOp::BitNot => Some("~"),
        _ => None,
    };
    let spelled = symbol.map_or(op.name().to_string(), |s| format!("operator{s}"));
    prelude.function(format!("{name} {spelled}({name} a)"), |prelude| {
        let mut each = |operands: &[Expr], part: Type, prelude: &mut Prelude| match part {
            Type::Scalar(s) => scalar::unary(op, s, operands[0].clone(), prelude),
            row => unary(op, row, operands[0].clone(), structs, prelude),
        };
        body(ty, &[("a", false)], &mut each, structs, prelude)
    });
    match symbol {
        Some(symbol) => Expr::prefix(symbol, a),
        None => Expr::call(op.name(), [a]),
    }
}

/// `==` or `!=` over all components.
pub fn compare(op: CompareOp, ty: Type, a: Expr, b: Expr, structs: &StructTable, prelude: &mut Prelude) -> Expr {
    let name = type_name(ty, structs);
    if let (CompareOp::Ne, Parts::Members(members), Some(Scalar::F32 | Scalar::F64)) = (op, parts(ty), ty.scalar_part())
    {
        prelude.ty(ty, structs);
        let tests: Vec<String> = members.iter().map(|m| format!("a{m} != b{m}")).collect();
        prelude.function(format!("bool operator!=({name} a, {name} b)"), |_| {
            format!("{{ return {}; }}", tests.join(" || "))
        });
        return Expr::infix(Infix::Differs, a, b);
    }
    declare_equal(ty, structs, prelude);
    if op == CompareOp::Ne {
        prelude.function(format!("bool operator!=({name} a, {name} b)"), |_| "{ return !(a == b); }".to_string());
        return Expr::infix(Infix::Ne, a, b);
    }
    Expr::infix(Infix::Same, a, b)
}

fn declare_equal(ty: Type, structs: &StructTable, prelude: &mut Prelude) {
    prelude.ty(ty, structs);
    let name = type_name(ty, structs);
    prelude.function(format!("bool operator==({name} a, {name} b)"), |prelude| match parts(ty) {
        Parts::Members(members) => {
            if let Some(s) = ty.scalar_part() {
                // Declares the comparison of 16-bit formats.
                scalar::compare(CompareOp::Eq, s, Expr::atom("a"), Expr::atom("b"), prelude);
            }
            let tests: Vec<String> = members.iter().map(|m| format!("a{m} == b{m}")).collect();
            format!("{{ return {}; }}", tests.join(" && "))
        }
        Parts::Loop { n, member, part } => {
            match part {
                Type::Scalar(s) => {
                    scalar::compare(CompareOp::Eq, s, Expr::atom("a"), Expr::atom("b"), prelude);
                }
                row => declare_equal(row, structs, prelude),
            }
            format!(
                "{{\n    for (int i = 0; i < {n}; ++i) {{\n        if (!(a{member} == b{member})) return false;\n    }}\n    return true;\n}}"
            )
        }
    });
}

/// Converts each component.
pub fn cast(from: Type, to: Type, a: Expr, structs: &StructTable, prelude: &mut Prelude) -> Expr {
    prelude.ty(from, structs);
    prelude.ty(to, structs);
    let (name, source) = (type_name(to, structs), type_name(from, structs));
    let source_scalar = from.scalar_part().unwrap_or(Scalar::F32);
    prelude.function(format!("{name} to_{name}({source} a)"), |prelude| {
        let mut each = |operands: &[Expr], part: Type, prelude: &mut Prelude| match part {
            Type::Scalar(s) => scalar::cast(source_scalar, s, operands[0].clone(), prelude),
            Type::Vec(n, _) => cast(Type::Vec(n, source_scalar), part, operands[0].clone(), structs, prelude),
            _ => operands[0].clone(),
        };
        body(to, &[("a", false)], &mut each, structs, prelude)
    });
    Expr::call(format!("to_{name}"), [a])
}

/// The operator `v[i]` of a vector, quaternion or matrix, for an index inside the range.
/// `assigned`: the component is a place.
pub fn declare_subscript(ty: Type, assigned: bool, prelude: &mut Prelude) {
    let Some(s) = ty.scalar_part() else { return };
    let name = scalar_name(s);
    let body = if has_named_components(ty) {
        let n = ty.scalar_count().unwrap_or(1);
        let mut choice = String::new();
        for k in 0..n - 1 {
            choice.push_str(&format!("i == {k} ? {} : ", component(k)));
        }
        format!("{choice}{}", component(n - 1))
    } else {
        "c[i]".to_string()
    };
    prelude.member(ty, format!("{name} operator[](int i) const {{ return {body}; }}"));
    if assigned {
        prelude.member(ty, format!("{name} &operator[](int i) {{ return {body}; }}"));
    }
}

/// The operator `m(i, j)` of a matrix, for indices inside the range.
pub fn declare_element(ty: Type, assigned: bool, structs: &StructTable, prelude: &mut Prelude) {
    let Type::Mat(_, c, s) = ty else { return };
    let row = Type::Vec(c, s);
    prelude.ty(row, structs);
    declare_subscript(row, assigned, prelude);
    let name = scalar_name(s);
    prelude.member(ty, format!("{name} operator()(int i, int j) const {{ return row[i][j]; }}"));
    if assigned {
        prelude.member(ty, format!("{name} &operator()(int i, int j) {{ return row[i][j]; }}"));
    }
}

/// Declares `component(v, i)`: negative indices count from the end, outside the range it is 0.
/// Returns the type of an index.
pub fn declare_component(ty: Type, index: Scalar, structs: &StructTable, prelude: &mut Prelude) {
    let (n, part, member) = checked_parts(ty);
    prelude.ty(part, structs);
    if !matches!(ty, Type::Mat(..)) {
        declare_subscript(ty, false, prelude);
    }
    let (name, part, at) = (type_name(ty, structs), type_name(part, structs), index_type(index));
    let wrap = wrap_line(n);
    prelude.function(format!("{part} component({name} v, {at} i)"), |_| {
        format!("{{\n{wrap}    return 0 <= i && i < {n} ? v{member} : {part}{{}};\n}}")
    });
}

/// Declares `set_component(v, i, value)`: outside the range it changes nothing.
pub fn declare_set_component(ty: Type, index: Scalar, structs: &StructTable, prelude: &mut Prelude) {
    let (n, part, member) = checked_parts(ty);
    prelude.ty(part, structs);
    if !matches!(ty, Type::Mat(..)) {
        declare_subscript(ty, true, prelude);
    }
    let (name, part, at) = (type_name(ty, structs), type_name(part, structs), index_type(index));
    let wrap = wrap_line(n);
    prelude.function(format!("void set_component({name} &v, {at} i, {part} value)"), |_| {
        format!("{{\n{wrap}    if (0 <= i && i < {n}) v{member} = value;\n}}")
    });
}

/// The number of parts of a composite, their type, and how one is named by a run-time index.
fn checked_parts(ty: Type) -> (u32, Type, &'static str) {
    match ty {
        Type::Mat(r, c, s) => (r.into(), Type::Vec(c, s), ".row[i]"),
        _ => (ty.scalar_count().unwrap_or(1), Type::Scalar(ty.scalar_part().unwrap_or(Scalar::F32)), "[i]"),
    }
}

/// Wide enough for every value of the index's type; a uint64 past the range becomes negative and
/// stays outside.
fn index_type(index: Scalar) -> &'static str {
    if matches!(index, Scalar::U32 | Scalar::I64 | Scalar::U64) { "long long" } else { "int" }
}

fn wrap_line(n: u32) -> String {
    format!("    if (i < 0) i += {n};\n")
}

/// Declares `atomicAdd(v, i, value)`, or `atomicAdd(m, i, j, value)` for an element of a matrix: an
/// atomic on a component chosen at run time. Negative indices count from the end, outside the range
/// nothing changes and the old value is 0.
pub fn atomic_component(
    op: AtomicOp,
    ty: Type,
    indices: &[Scalar],
    structs: &StructTable,
    prelude: &mut Prelude,
) -> &'static str {
    let (n, mut part, mut member) = checked_parts(ty);
    let mut at: Vec<(&str, u32)> = vec![("i", n)];
    if let (Type::Vec(columns, s), [_, _]) = (part, indices) {
        at.push(("j", columns.into()));
        (part, member) = (Type::Scalar(s), "(i, j)");
        declare_element(ty, true, structs, prelude);
    } else if !matches!(ty, Type::Mat(..)) {
        declare_subscript(ty, true, prelude);
    }
    let name = atomic(op, part, structs, prelude);
    let (owner, part) = (type_name(ty, structs), type_name(part, structs));
    let params: Vec<String> =
        at.iter().zip(indices).map(|((i, _), &scalar)| format!("{} {i}", index_type(scalar))).collect();
    let signature = format!("{part} {name}({owner} &v, {}, {part} value)", params.join(", "));
    prelude.function(signature, |_| {
        let wraps: String = at.iter().map(|(i, n)| format!("    if ({i} < 0) {i} += {n};\n")).collect();
        let tests: Vec<String> = at.iter().map(|(i, n)| format!("0 <= {i} && {i} < {n}")).collect();
        format!("{{\n{wraps}    return {} ? {name}(&v{member}, value) : {part}{{}};\n}}", tests.join(" && "))
    });
    name
}

/// `atomicAdd(p, v)` for a type that CUDA has no such function for; returns the name of the
/// function to call.
pub fn atomic(op: AtomicOp, ty: Type, structs: &StructTable, prelude: &mut Prelude) -> &'static str {
    let name = match op {
        AtomicOp::Add => "atomicAdd",
        AtomicOp::Sub => "atomicSub",
        AtomicOp::Min => "atomicMin",
        AtomicOp::Max => "atomicMax",
        AtomicOp::And => "atomicAnd",
        AtomicOp::Or => "atomicOr",
        AtomicOp::Xor => "atomicXor",
        AtomicOp::Exchange => "atomicExch",
    };
    let Type::Scalar(s) = ty else {
        declare_composite_atomic(name, op, ty, structs, prelude);
        return name;
    };
    prelude.scalar(s);
    let has_own = match s {
        Scalar::I32 | Scalar::U32 => true,
        Scalar::U64 => op != AtomicOp::Sub,
        Scalar::I64 => matches!(op, AtomicOp::Min | AtomicOp::Max),
        Scalar::F32 => matches!(op, AtomicOp::Add | AtomicOp::Exchange),
        Scalar::F64 => op == AtomicOp::Add,
        _ => false,
    };
    if has_own {
        return name;
    }
    let ty = scalar_name(s);
    let signature = format!("{ty} {name}({ty} *p, {ty} value)");
    if s == Scalar::I64
        && matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exchange | AtomicOp::Add)
    {
        prelude.scalar(Scalar::U64);
        prelude.function(signature, |_| format!("{{ return (int64){name}((uint64 *)p, (uint64)value); }}"));
        return name;
    }
    if op == AtomicOp::Sub && matches!(s, Scalar::I64 | Scalar::U64 | Scalar::F32 | Scalar::F64) {
        atomic(AtomicOp::Add, Type::Scalar(s), structs, prelude);
        prelude.function(signature, |_| "{ return atomicAdd(p, -value); }".to_string());
        return name;
    }
    let update = prelude.helper(Helper::AtomicUpdate);
    prelude.function(signature, |prelude| {
        let (old, value) = (Expr::atom("old"), Expr::atom("value"));
        let new = match op.binary() {
            Some(op) => wrapping::binary(op, s, old, value, prelude),
            None => value,
        };
        format!(
            "{{\n    return {update}(p, [=]({ty} old) {{ return {}; }});\n}}",
            text(&scalar::typed(s, new, prelude))
        )
    });
    name
}

fn declare_composite_atomic(name: &str, op: AtomicOp, ty: Type, structs: &StructTable, prelude: &mut Prelude) {
    prelude.ty(ty, structs);
    let of = type_name(ty, structs);
    prelude.function(format!("{of} {name}({of} *p, {of} value)"), |prelude| {
        let mut each = |operands: &[Expr], part: Type, prelude: &mut Prelude| {
            atomic(op, part, structs, prelude);
            let place = Expr::prefix("&", Expr::atom(text(&operands[0]).replacen("p.", "p->", 1)));
            Expr::call(name, [place, operands[1].clone()])
        };
        body(ty, &[("p", false), ("value", false)], &mut each, structs, prelude)
    });
}
