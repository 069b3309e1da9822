//! What Python's own functions compute, where Python computes: comprehensions, `range`, `tuple` and
//! the like, and the functions of `math` and `numpy`, which work in double precision.

use crate::check::body::python_math::{in_double, in_math, in_numpy, keeps_integers};
use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::names::member::{builtin_word, is_warp};
use crate::check::state::globals::{Global, Unknown, Why};
use crate::check::types::value::{Constant, Number, Operand, Reported, Res, TypeWord};
use crate::limits::{MAX_CONSTANT_PARTS, MAX_PYTHON_CLAUSES};
use crate::source::Span;
use crate::syntax::{ast, visit};

impl Body<'_, '_> {
    /// `[element for target in iter if condition]`
    pub fn comprehension(&mut self, comprehension: &ast::Comprehension, span: Span) -> Res<Operand> {
        if comprehension.clauses.len() > MAX_PYTHON_CLAUSES {
            return Err(self.report(messages::values::too_many_clauses(span)));
        }
        let mut items = Vec::new();
        self.clauses(&comprehension.clauses, &comprehension.element, &mut items)?;
        Ok(Operand::Tuple(items))
    }

    fn clauses(&mut self, clauses: &[ast::Clause], element: &ast::Expr, items: &mut Vec<Operand>) -> Res<()> {
        let Some((clause, inner)) = clauses.split_first() else {
            let item = self.expr(element)?;
            self.c.charge(&item, element.span)?;
            items.push(item);
            return if items.len() > MAX_CONSTANT_PARTS {
                Err(self.c.constant_too_large(element.span))
            } else {
                Ok(())
            };
        };
        let values = self.star_items(&clause.iter)?;
        let mut names = Vec::new();
        visit::bound_names(&clause.target, &mut |_, name| names.push(name.to_string()));
        let outer: Vec<Option<Binding>> = names.iter().map(|name| self.scope.remove(name)).collect();
        let mut result = Ok(());
        for value in values {
            // Turns without an element count, too.
            result = self.c.charge(&Operand::Tuple(Vec::new()), clause.iter.span);
            result = result.and_then(|()| self.bind_item(&clause.target, value));
            result = result.and_then(|()| {
                for condition in &clause.conditions {
                    if !self.condition(condition)? {
                        return Ok(());
                    }
                }
                self.clauses(inner, element, items)
            });
            if result.is_err() {
                break;
            }
        }
        for (name, binding) in names.into_iter().zip(outer) {
            match binding {
                Some(binding) => self.scope.insert(name, binding),
                None => self.scope.remove(&name),
            };
        }
        result
    }

    /// Binds the target of a `for` to one item.
    fn bind_item(&mut self, target: &ast::Expr, value: Operand) -> Res<()> {
        match (&target.kind, value) {
            (ast::ExprKind::Name(name), value) => {
                self.scope.insert(name.clone(), Binding::Alias(value));
                Ok(())
            }
            (ast::ExprKind::Tuple(targets) | ast::ExprKind::List(targets), Operand::Tuple(items))
                if targets.len() == items.len() =>
            {
                targets.iter().zip(items).try_for_each(|(target, item)| self.bind_item(target, item))
            }
            _ => Err(self.report(messages::values::not_unpackable(target.span))),
        }
    }

    /// The condition of a comprehension.
    fn condition(&mut self, condition: &ast::Expr) -> Res<bool> {
        let value = self.expr(condition)?;
        match self.python_truth(&value) {
            Some(holds) => Ok(holds),
            None => Err(self.report(messages::values::unknown_condition(condition.span))),
        }
    }

    /// A call of one of Python's functions, where Python computes. None: it does not, or this is
    /// none that is known.
    pub fn python_call(&mut self, callee: &ast::Expr, args: &[ast::Arg], span: Span) -> Option<Res<Operand>> {
        if !self.is_python() {
            return None;
        }
        let (module, name) = self.python_name(callee)?;
        if module == Module::Ctypes {
            let [arg] = args else { return None };
            return (name == "sizeof").then(|| self.size_of_type(&arg.value));
        }
        if module == Module::Warp {
            return makes_array(&name).then(|| Err(self.array_of_host(span)));
        }
        let plain = args.iter().all(|arg| arg.name.is_none() && !matches!(arg.value.kind, ast::ExprKind::Starred(_)));
        // What is a built-in, too, would be computed as kernels compute it.
        let known = is_known(module, &name, args.len());
        let is_builtin = self.c.knows_builtin(&name) && builtin_word("numpy", &name).is_none();
        let other = module != Module::Builtins && is_builtin && !makes_array(&name);
        if !plain || !known && !other {
            return None;
        }
        let values: Res<Vec<Operand>> = args.iter().map(|arg| self.expr(&arg.value)).collect();
        let values = match values {
            Ok(values) => values,
            Err(reported) => return Some(Err(reported)),
        };
        if let Err(reported) = self.c.charge(&Operand::Tuple(values.clone()), span) {
            return Some(Err(reported));
        }
        if module == Module::Builtins {
            return self.python_builtin(&name, &values, args, span);
        }
        let mut constants = Vec::new();
        for value in &values {
            let Operand::Const(constant) = value else { return None };
            constants.push(*constant);
        }
        let computed = match module {
            Module::Numpy => in_numpy(&name, &constants),
            _ => in_math(&name, &constants),
        };
        if let Some(number) = computed {
            return Some(Ok(Operand::Const(Constant::untyped(number))));
        }
        // NumPy computes with numbers that have a type in that type, as kernels do; `math` takes
        // any as a double.
        if module == Module::Numpy && constants.iter().any(|constant| constant.scalar.is_some()) {
            return None;
        }
        let numbers: Vec<f64> = constants.iter().map(|constant| constant.number.as_f64()).collect();
        let wraps = module == Module::Numpy && keeps_integers(&name, &constants);
        match self.python_math(module, &name, &numbers, span) {
            Some(result) if !wraps => Some(result),
            _ => {
                let text = self.c.sources.text(callee.span).to_string();
                Some(Err(self.report(messages::values::not_computed(&text, span))))
            }
        }
    }

    /// Which function of Python a callee names: one of no module, of `math`, or of `numpy`.
    fn python_name(&self, callee: &ast::Expr) -> Option<(Module, String)> {
        let module = |path: &str| match path {
            "math" => Some(Module::Math),
            "numpy" => Some(Module::Numpy),
            "ctypes" => Some(Module::Ctypes),
            path if is_warp(path) => Some(Module::Warp),
            _ => None,
        };
        match &callee.kind {
            ast::ExprKind::Name(name) if !self.scope.contains_key(name) => match self.c.lookup(name) {
                None => Some((Module::Builtins, name.clone())),
                Some((_, Global::Member { module: path, name })) => Some((module(path)?, name.clone())),
                Some(_) => None,
            },
            ast::ExprKind::Attribute { base, name } => match &base.kind {
                ast::ExprKind::Name(base) if !self.scope.contains_key(base) => match self.c.lookup(base)?.1 {
                    Global::Module(path) => Some((module(path)?, name.text.clone())),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn python_builtin(
        &mut self,
        name: &str,
        values: &[Operand],
        args: &[ast::Arg],
        span: Span,
    ) -> Option<Res<Operand>> {
        if name == "range" {
            let bounds: Option<Vec<i128>> = values.iter().map(whole).collect();
            return Some(self.python_range(&bounds?, span));
        }
        if let Some(result) = self.python_number(name, values, span) {
            return Some(result);
        }
        // All others take sequences.
        let mut sequences = Vec::new();
        for (value, arg) in values.iter().zip(args) {
            match value {
                Operand::Tuple(items) => sequences.push(items.clone()),
                // The length is part of the type.
                Operand::Value(_) if name == "len" => return None,
                Operand::Value(expr) if expr.ty.is_composite() => match self.star_items(&arg.value) {
                    Ok(items) => sequences.push(items),
                    Err(reported) => return Some(Err(reported)),
                },
                _ => return None,
            }
        }
        let first = sequences.first().cloned().unwrap_or_default();
        let number = |n: usize| Operand::Const(Constant::untyped(Number::Int(n as i128)));
        let truth = |holds: bool| Operand::Const(Constant::untyped(Number::Bool(holds)));
        let is_true = |item: &Operand| match item {
            Operand::Const(constant) => Some(constant.number.is_true()),
            _ => None,
        };
        let all_known = || first.iter().map(is_true).collect::<Option<Vec<bool>>>();
        Some(Ok(match name {
            "tuple" | "list" => Operand::Tuple(first),
            "reversed" => Operand::Tuple(first.into_iter().rev().collect()),
            "enumerate" => {
                let pairs = first.into_iter().enumerate().map(|(at, item)| Operand::Tuple(vec![number(at), item]));
                Operand::Tuple(pairs.collect())
            }
            "zip" => {
                let count = sequences.iter().map(Vec::len).min().unwrap_or(0);
                let row = |at: usize| Operand::Tuple(sequences.iter().map(|items| items[at].clone()).collect());
                Operand::Tuple((0..count).map(row).collect())
            }
            "any" => truth(all_known()?.contains(&true)),
            "all" => truth(!all_known()?.contains(&false)),
            "len" => number(first.len()),
            "sorted" => Operand::Tuple(sorted(first)?),
            "min" | "max" => {
                let ordered = sorted(first)?;
                match if name == "min" { ordered.first() } else { ordered.last() } {
                    Some(item) => item.clone(),
                    None => {
                        return Some(Err(self.report(messages::values::extreme_of_nothing(name, span))));
                    }
                }
            }
            "sum" => {
                let mut total = number(0);
                for item in first {
                    match self.binary(ast::BinaryOp::Add, total, item, span, span, span) {
                        Ok(sum) => total = sum,
                        Err(reported) => return Some(Err(reported)),
                    }
                }
                total
            }
            _ => return None,
        }))
    }

    /// `min(a, b)`, `round(x, 2)` and the like of numbers, `len("abc")`.
    fn python_number(&mut self, name: &str, values: &[Operand], span: Span) -> Option<Res<Operand>> {
        Some(match (name, values) {
            ("min", [_, _, ..]) => Ok(extreme(values, |a, b| a < b)?),
            ("max", [_, _, ..]) => Ok(extreme(values, |a, b| a > b)?),
            ("pow", [base, exponent]) => {
                self.binary(ast::BinaryOp::Pow, base.clone(), exponent.clone(), span, span, span)
            }
            ("abs", [x]) => match whole(x) {
                Some(value) => Ok(Operand::Const(Constant::untyped(Number::Int(value.checked_abs()?)))),
                None => Ok(Operand::Const(Constant::untyped(Number::Float(untyped(x)?.abs())))),
            },
            // To even where two are as near, unlike `wp.round`.
            ("round", [x]) => self.integer(untyped(x)?.round_ties_even(), span),
            ("int", [x @ Operand::Const(Constant { scalar: None, .. })]) => match whole(x) {
                Some(value) => Ok(Operand::Const(Constant::untyped(Number::Int(value)))),
                None => self.integer(untyped(x)?.trunc(), span),
            },
            ("float", [x]) => Ok(Operand::Const(Constant::untyped(Number::Float(untyped(x)?)))),
            ("round", [x, digits]) => {
                // Python rounds the decimal digits of the number, as its text shows them.
                let (x, digits) = (untyped(x)?, usize::try_from(whole(digits)?).ok().filter(|&n| n <= 300)?);
                let rounded = format!("{x:.digits$}").parse().ok()?;
                Ok(Operand::Const(Constant::untyped(Number::Float(rounded))))
            }
            ("hasattr", [Operand::Module(module), Operand::Str(word)]) => {
                let found = self.c.has_member(module, word);
                match found {
                    Some(found) => Ok(Operand::Const(Constant::untyped(Number::Bool(found)))),
                    None => Err(self.member_unknown(module, word, span)),
                }
            }
            ("getattr", [Operand::Module(module), Operand::Str(word), default @ ..]) => {
                match (self.c.has_member(module, word), default) {
                    (Some(false), [default]) => Ok(default.clone()),
                    (Some(_), _) => self.c.member(module, word, span),
                    (None, _) => Err(self.member_unknown(module, word, span)),
                }
            }
            ("len", [Operand::Str(text)]) => {
                Ok(Operand::Const(Constant::untyped(Number::Int(text.chars().count() as i128))))
            }
            _ => return None,
        })
    }

    fn python_range(&mut self, bounds: &[i128], span: Span) -> Res<Operand> {
        let (start, stop, step) = match *bounds {
            [stop] => (0, stop, 1),
            [start, stop] => (start, stop, 1),
            [start, stop, step] => (start, stop, step),
            _ => return Err(self.report(messages::values::arguments_of_range(span))),
        };
        if step == 0 {
            return Err(self.report(messages::values::step_of_range_is_zero(span)));
        }
        let mut items = Vec::new();
        let mut at = start;
        while if step > 0 { at < stop } else { at > stop } {
            items.push(Operand::Const(Constant::untyped(Number::Int(at))));
            if items.len() > MAX_CONSTANT_PARTS {
                return Err(self.c.constant_too_large(span));
            }
            at = at.saturating_add(step);
        }
        let items = Operand::Tuple(items);
        self.c.charge(&items, span)?;
        Ok(items)
    }

    /// `ctypes.sizeof(T)` of a number, or of several in a row.
    fn size_of_type(&mut self, ty: &ast::Expr) -> Res<Operand> {
        let size = match self.expr(ty)? {
            Operand::Type(TypeWord::Type(ty)) => {
                let scalar = ty.scalar_part().map(|scalar| i128::from(scalar.size()));
                scalar.zip(ty.scalar_count()).map(|(size, count)| size * i128::from(count))
            }
            _ => None,
        };
        match size {
            Some(size) => Ok(Operand::Const(Constant::untyped(Number::Int(size)))),
            None => Err(self.report(messages::values::not_computed("ctypes.sizeof", ty.span))),
        }
    }

    /// A name of a module that no file is of: whether it has it, only Python knows.
    fn member_unknown(&mut self, module: &str, name: &str, span: Span) -> Reported {
        let why = Why::Computed(Some(format!("no file of `{module}` says whether it has the name")));
        self.c.need_unknown(&Unknown { name: format!("{module}.{name}"), place: span, why })
    }

    /// A float that is a whole number, as Python's integer.
    fn integer(&mut self, value: f64, span: Span) -> Res<Operand> {
        match value.abs() < 1e38 {
            true => Ok(Operand::Const(Constant::untyped(Number::Int(value as i128)))),
            false => self.beyond_constants(span),
        }
    }

    /// A function of `math` or `numpy` of numbers, in double precision.
    fn python_math(&mut self, module: Module, name: &str, numbers: &[f64], span: Span) -> Option<Res<Operand>> {
        let result = in_double(name, numbers)?;
        if module == Module::Math {
            // Where `numpy` gives infinity or NaN, `math` stops.
            let finite = numbers.iter().all(|x| x.is_finite());
            if finite && !result.is_finite() {
                return Some(Err(self.report(messages::values::no_value_of_math(name, span))));
            }
            if matches!(name, "floor" | "ceil" | "trunc") {
                return Some(self.integer(result, span));
            }
        }
        Some(Ok(Operand::Const(Constant::untyped(Number::Float(result)))))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Module {
    Builtins,
    Math,
    Numpy,
    Ctypes,
    Warp,
}

/// Whether a function of Warp or NumPy makes an array.
fn makes_array(name: &str) -> bool {
    let name = name.strip_suffix("_like").unwrap_or(name);
    matches!(name, "zeros" | "ones" | "full" | "empty" | "from_numpy" | "clone")
}

/// Whether a function of Python is computed here for so many arguments, if they are known.
fn is_known(module: Module, name: &str, count: usize) -> bool {
    match module {
        Module::Builtins => match name {
            "range" => (1..=3).contains(&count),
            "zip" => count > 0,
            "tuple" | "list" | "reversed" | "enumerate" | "any" | "all" | "sum" | "sorted" | "len" => count == 1,
            "min" | "max" => count > 0,
            "round" => (1..=2).contains(&count),
            "abs" | "int" | "float" => count == 1,
            "pow" | "hasattr" => count == 2,
            "getattr" => (2..=3).contains(&count),
            _ => false,
        },
        Module::Math | Module::Numpy => {
            let half = Constant::untyped(Number::Float(0.5));
            in_double(name, &vec![0.5; count]).is_some()
                || if module == Module::Math {
                    in_math(name, &vec![half; count])
                } else {
                    in_numpy(name, &vec![half; count])
                }
                .is_some()
        }
        Module::Ctypes | Module::Warp => false,
    }
}

/// The number of a constant that has no type of its own.
fn untyped(operand: &Operand) -> Option<f64> {
    match operand {
        Operand::Const(Constant { number, scalar: None }) => Some(number.as_f64()),
        _ => None,
    }
}

fn whole(operand: &Operand) -> Option<i128> {
    match operand {
        Operand::Const(constant) => constant.as_int(),
        _ => None,
    }
}

/// The first number that no later one goes `before`, as Python's `min` and `max` find it. None: not
/// all are numbers.
fn extreme(items: &[Operand], before: fn(f64, f64) -> bool) -> Option<Operand> {
    let mut best = items.first()?;
    for item in items {
        let goes = match (whole(item), whole(best)) {
            (Some(a), Some(b)) if a == b => false,
            // Integers have no NaN, and may have more digits than a double.
            (Some(a), Some(b)) => before((a > b) as u8 as f64, (b > a) as u8 as f64),
            _ => before(untyped(item)?, untyped(best)?),
        };
        if goes {
            best = item;
        }
    }
    Some(best.clone())
}

/// Numbers in order, equal ones as they came. None: not all are numbers.
fn sorted(mut items: Vec<Operand>) -> Option<Vec<Operand>> {
    let number = |item: &Operand| untyped(item).filter(|x| !x.is_nan());
    if !items.iter().all(|item| number(item).is_some()) {
        return None;
    }
    items.sort_by(|a, b| match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal),
    });
    Some(items)
}
