//! The source's names of constants: `grid_width` reads better than 256, and a table is there once
//! in a text, not at each use.
//!
//! A name is given to one value of one type. Where the same name has another one too (a kernel that
//! is made several times, an integer that is also used as a float), or C++ could take it for
//! something else, the number itself is written. What the source computes of such a constant and a
//! number stays so: `grid_width - 1`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::helpers::Helper;
use super::literal::literal;
use super::prelude::Prelude;
use super::tree::{Expr, Infix};
use super::types::{identifier, is_cuda_function, is_reserved, is_type_name, struct_name, type_name};
use crate::ids::IdSet;
use crate::ir::{BinaryOp, Const, ConstantId, Derived, Function, Inst, Module, Op, ValueId};
use crate::types::{Scalar, Type};

/// What a name represents in the texts of a module.
#[derive(Default)]
pub struct Constants {
    /// None: the name has several meanings.
    known: HashMap<ConstantId, Option<(Type, Vec<u64>)>>,
    /// Those whose names C++ gives to something else.
    clashing: IdSet<ConstantId>,
}

impl Constants {
    /// The named constants of a module's functions.
    pub fn of(module: &Module) -> Constants {
        let mut found = Constants::default();
        if module.constants.is_empty() {
            return found;
        }
        let functions = module.functions.values().map(|function| function.source_name.clone());
        let of_source: HashSet<String> =
            functions.chain(module.structs.values().map(|s| struct_name(&s.name))).collect();
        let taken = |name: &str| {
            of_source.contains(name)
                || is_reserved(name)
                || is_type_name(name)
                || is_cuda_function(name)
                || is_macro(name)
                || Helper::is_name(name)
        };
        let mut names: HashSet<String> = HashSet::new();
        for (id, named) in module.constants.iter().filter(|(_, named)| named.derived.is_none()) {
            let name = identifier(&named.name);
            if taken(&name) || !names.insert(name) {
                found.clashing.insert(id);
            }
        }
        for id in module.functions.ids().filter(|&id| !module.functions.is_linked(id)) {
            let function = &module.functions[id];
            function.walk(function.entry, &mut |_, inst| found.add(module, function, inst));
        }
        found
    }

    fn add(&mut self, module: &Module, function: &Function, inst: &Inst) {
        let Some((id, ty, bits)) = meaning(module, function, inst) else { return };
        if let Op::Const(c) = inst.op
            && let Some(Derivation { of, base, .. }) = derivation(module, c)
        {
            self.means(of, (Type::Scalar(base.scalar), vec![base.bits]));
        }
        self.means(id, (ty, bits));
    }

    /// Adds what a name represents at a place.
    fn means(&mut self, id: ConstantId, meaning: (Type, Vec<u64>)) {
        match self.known.entry(id) {
            Entry::Vacant(slot) => _ = slot.insert(Some(meaning)),
            Entry::Occupied(mut slot) => {
                if slot.get().as_ref().is_some_and(|known| *known != meaning) {
                    slot.insert(None);
                }
            }
        }
    }

    /// Whether a name represents this wherever it is used, and nothing else.
    fn is_clear(&self, id: ConstantId, meaning: &(Type, Vec<u64>)) -> bool {
        self.known.get(&id).is_some_and(|known| known.as_ref() == Some(meaning)) && !self.clashing.contains(&id)
    }

    /// The name of a number, which is declared.
    fn declared(&self, module: &Module, id: ConstantId, c: Const, prelude: &mut Prelude) -> Option<Expr> {
        let (name, ty) = (identifier(&module.constants[id].name), Type::Scalar(c.scalar));
        prelude.ty(ty, &module.structs);
        let text = format!("constexpr {} {name} = {};\n", type_name(ty, &module.structs), number(c, prelude)?);
        prelude.constant(id, text);
        Some(Expr::atom(name))
    }

    /// The name of what an instruction gives, if it is a constant with one, which is declared.
    pub fn name(&self, module: &Module, function: &Function, inst: &Inst, prelude: &mut Prelude) -> Option<Expr> {
        let (id, ty, bits) = meaning(module, function, inst)?;
        if !self.is_clear(id, &(ty, bits)) {
            return None;
        }
        if let Op::Const(c) = inst.op
            && let Some(Derivation { of, base, infix, number }) = derivation(module, c)
        {
            let is_clear = self.is_clear(of, &(Type::Scalar(base.scalar), vec![base.bits]));
            let base = is_clear.then(|| self.declared(module, of, base, prelude)).flatten()?;
            return Some(Expr::infix(infix, base, Expr::atom(number.to_string())));
        }
        if let Op::Const(c) = inst.op {
            return self.declared(module, id, c, prelude);
        }
        let name = identifier(&module.constants[id].name);
        prelude.ty(ty, &module.structs);
        let type_name = type_name(ty, &module.structs);
        let text = if let Op::Construct(parts) = &inst.op {
            let numbers = numbers(function, parts)?.into_iter().map(|c| number(c, prelude));
            table(&type_name, &name, &numbers.collect::<Option<Vec<String>>>()?)
        } else {
            return None;
        };
        prelude.constant(id, text);
        Some(Expr::atom(name))
    }
}

/// A constant that is written as another one and a number.
struct Derivation {
    of: ConstantId,
    /// What that represents.
    base: Const,
    infix: Infix,
    number: i32,
}

/// How a constant is written as another one and a number, if C++ computes the same of them.
fn derivation(module: &Module, c: Const) -> Option<Derivation> {
    let Derived { of, value, op, number } = module.constants.get(c.named?)?.derived?;
    let (value, number) = (i32::try_from(value).ok()?, i32::try_from(number).ok()?);
    let (infix, exact) = match op {
        BinaryOp::Add => (Infix::Add, value.checked_add(number)?),
        BinaryOp::Sub => (Infix::Sub, value.checked_sub(number)?),
        BinaryOp::Mul => (Infix::Mul, value.checked_mul(number)?),
        BinaryOp::Div | BinaryOp::FloorDiv if value >= 0 && number > 0 => (Infix::Div, value / number),
        _ => return None,
    };
    let is_same = c.scalar == Scalar::I32 && c.as_int() == Some(i128::from(exact)) && number >= 0;
    is_same.then(|| Derivation { of, base: Const::int(Scalar::I32, i128::from(value)), infix, number })
}

/// Whether an instruction gives a constant composite that the source has a name for.
pub fn is_table(module: &Module, function: &Function, inst: &Inst) -> bool {
    matches!(inst.op, Op::Construct(_)) && meaning(module, function, inst).is_some()
}

/// The named constant that an instruction gives: its name, type and bits.
fn meaning(module: &Module, function: &Function, inst: &Inst) -> Option<(ConstantId, Type, Vec<u64>)> {
    // Halves have no constant expressions, and infinities and NaNs no literals.
    let plain = |c: Const| !matches!(c.scalar, Scalar::F16 | Scalar::BF16) && c.as_float().is_none_or(f64::is_finite);
    if let Op::Const(c) = &inst.op {
        let id = c.named.filter(|&id| plain(*c) && !module.constants[id].composite)?;
        if module.constants[id].derived.is_some() {
            derivation(module, *c)?;
        }
        Some((id, Type::Scalar(c.scalar), vec![c.bits]))
    } else if let Op::Construct(parts) = &inst.op {
        let numbers = numbers(function, parts)?;
        let id = numbers.first()?.named.filter(|&id| module.constants[id].composite)?;
        let all = numbers.iter().all(|&c| c.named == Some(id) && plain(c));
        let ty = function.ty(*inst.results.first()?);
        all.then(|| (id, ty, numbers.iter().map(|c| c.bits).collect()))
    } else {
        None
    }
}

fn numbers(function: &Function, parts: &[ValueId]) -> Option<Vec<Const>> {
    parts.iter().map(|&part| function.as_const(part)).collect()
}

/// None: the least integers are no literals in C++.
fn number(c: Const, prelude: &mut Prelude) -> Option<String> {
    match literal(c, prelude) {
        Expr::Atom(text) => Some(text),
        _ => None,
    }
}

/// A table is picked from by indices that only a run knows, which needs it in memory.
fn table(type_name: &str, name: &str, numbers: &[String]) -> String {
    let head = format!("static __constant__ const {type_name} {name} = {{");
    let flat = format!("{head}{}}};\n", numbers.join(", "));
    if flat.len() <= super::print::WIDTH {
        return flat;
    }
    let mut text = head;
    let mut line = String::new();
    for number in numbers {
        if line.len() + number.len() + 6 > super::print::WIDTH {
            text.push_str(&format!("\n    {}", line.trim_end()));
            line.clear();
        }
        line.push_str(&format!("{number}, "));
    }
    format!("{text}\n    {},\n}};\n", line.trim_end().trim_end_matches(','))
}

/// Macros of the headers that nvcc includes by itself, and of those of `assert` and `printf`.
fn is_macro(name: &str) -> bool {
    #[rustfmt::skip]
    const PREFIXES: &[&str] = &["M_", "FLT_", "DBL_", "LDBL_", "FP_", "MATH_", "CUDART_", "CUDA_", "SEEK_", "EXIT_", "CHAR_", "SCHAR_", "UCHAR_", "SHRT_", "USHRT_", "INT_", "UINT_", "LONG_", "ULONG_", "LLONG_", "ULLONG_", "STDC_"];
    #[rustfmt::skip]
    const NAMES: &[&str] = &["BUFSIZ", "EOF", "FILENAME_MAX", "FOPEN_MAX", "HUGE", "HUGE_VAL", "HUGE_VALF", "L_tmpnam", "MB_CUR_MAX", "MB_LEN_MAX", "NDEBUG", "RAND_MAX", "TMP_MAX", "MAXFLOAT", "DOMAIN", "OVERFLOW", "UNDERFLOW", "SING", "PLOSS", "TLOSS", "stdin", "stdout", "stderr", "errno"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}
