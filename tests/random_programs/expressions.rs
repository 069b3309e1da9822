//! Random expressions of a given type.

use kc::types::{BOOL, F32, I32, Scalar, Type};

use crate::generate::{Array, EXTENTS, Generator, Use};
use crate::table::{Binding, Builtin, INTS, Pattern, builtins};
use crate::tree::Expr;

/// Built-ins that are mostly written as operators.
const OPERATORS: [(&str, &str); 15] = [
    ("add", "({} + {})"),
    ("sub", "({} - {})"),
    ("mul", "({} * {})"),
    ("div", "({} / {})"),
    ("mod", "({} % {})"),
    ("floordiv", "({} // {})"),
    ("bit_and", "({} & {})"),
    ("bit_or", "({} | {})"),
    ("bit_xor", "({} ^ {})"),
    ("lshift", "({} << {})"),
    ("rshift", "({} >> {})"),
    ("neg", "(-{})"),
    ("pos", "(+{})"),
    ("invert", "(~{})"),
    ("unot", "(not {})"),
];

impl Generator {
    /// An expression of at most this depth.
    pub fn expr(&mut self, ty: Type, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf(ty);
        }
        let found = match self.random.below(12) {
            0 => Some(self.leaf(ty)),
            1..=5 => self.builtin_of(ty, depth),
            6 => self.component(ty, depth),
            7 => self.element(ty, depth),
            8 => self.call(ty, depth),
            9 => self.conditional(ty, depth),
            _ => self.own_form(ty, depth),
        };
        found.unwrap_or_else(|| self.leaf(ty))
    }

    fn leaf(&mut self, ty: Type) -> Expr {
        let known: Vec<usize> = (0..self.scope.len()).filter(|&n| self.scope[n].ty == ty).collect();
        if !known.is_empty() && !self.random.one_in(6) {
            let name = self.scope[self.random.pick(&known)].name.clone();
            return Expr::leaf(ty, name);
        }
        if self.random.one_in(3)
            && let Some(element) = self.element(ty, 0)
        {
            return element;
        }
        self.literal(ty)
    }

    fn literal(&mut self, ty: Type) -> Expr {
        let text = match ty {
            Type::Scalar(s) => self.number(s),
            Type::Struct(_) => format!("{}()", self.python(ty)),
            Type::Transform(s) => {
                let args = vec![self.leaf(Type::Vec(3, s)), self.leaf(Type::Quat(s))];
                return Expr::new(ty, &format!("{}({{}}, {{}})", self.python(ty)), args);
            }
            _ => {
                let count = ty.scalar_count().expect("numbers");
                let scalar = ty.scalar_part().expect("numbers");
                let args: Vec<Expr> = (0..count)
                    .map(|_| if count < 5 { self.leaf(scalar.into()) } else { self.literal(scalar.into()) })
                    .collect();
                let places = vec!["{}"; args.len()].join(", ");
                return Expr::new(ty, &format!("{}({places})", self.python(ty)), args);
            }
        };
        Expr::leaf(ty, text)
    }

    fn number(&mut self, s: Scalar) -> String {
        match s {
            Scalar::Bool => self.random.pick(&["True", "False"]).to_string(),
            Scalar::I32 => {
                self.random.pick(&["0", "1", "2", "3", "5", "-1", "-7", "31", "100", "2147483647"]).to_string()
            }
            Scalar::F32 if self.random.one_in(5) => {
                self.random.pick(&["wp.inf", "wp.nan", "3.0e38", "1.0e-40", "-0.0", "16777217.0"]).to_string()
            }
            Scalar::F32 => self.random.pick(&["0.0", "1.0", "0.5", "-1.5", "0.1", "2.0", "3.25", "-100.0"]).to_string(),
            s if s.is_float() => {
                let value = self.random.pick(&["0.0", "1.0", "-0.5", "0.1", "3.0", "-2.75", "1000.0"]);
                format!("wp.{}({value})", s.name())
            }
            s => {
                let value = match (s.is_signed_int(), self.random.below(6)) {
                    (true, 0) => (-(1i128 << (s.bits() - 1))).to_string(),
                    (true, 1) => "-3".to_string(),
                    (false, 0) => ((1i128 << s.bits()) - 1).to_string(),
                    (_, 2) => ((1i128 << (s.bits() - 1)) - 1).to_string(),
                    _ => self.random.below(12).to_string(),
                };
                format!("wp.{}({value})", s.name())
            }
        }
    }

    /// An index below `extent`, a power of two.
    pub fn index(&mut self, extent: i32, depth: usize) -> Expr {
        if depth == 0 || self.random.one_in(2) {
            return Expr::leaf(I32, self.random.below(extent as usize).to_string());
        }
        let e = self.expr(I32, depth - 1);
        Expr::new(I32, &format!("({{}} & {})", extent - 1), vec![e])
    }

    /// The indices of an element that may be used, as a template, and what is in it.
    pub fn place(&mut self, array: &Array, depth: usize) -> (String, Vec<Expr>) {
        let (mut text, mut args) = (array.name.clone(), Vec::new());
        let mut indices = Vec::new();
        for (d, &extent) in EXTENTS.iter().enumerate().take(array.rank) {
            let extent = if array.usage == Use::Local { 4 } else { extent };
            if d == 0
                && self.in_kernel
                && (array.usage == Use::Own || array.usage == Use::Read && self.random.one_in(2))
            {
                indices.push("i".to_string());
            } else {
                indices.push("{}".to_string());
                args.push(self.index(extent, depth));
            }
        }
        // A view of a view is an element too.
        let between = if array.usage != Use::Local && self.random.one_in(5) { "][" } else { ", " };
        text += &format!("[{}]", indices.join(between));
        (text, args)
    }

    fn element(&mut self, ty: Type, depth: usize) -> Option<Expr> {
        let usage = self.random.pick(&[Use::Read, Use::Read, Use::Own, Use::Local]);
        let array = self.array(ty, usage)?;
        let (text, args) = self.place(&array, depth.saturating_sub(1));
        Some(Expr::new(ty, &text, args))
    }

    /// A built-in that gives `ty`.
    fn builtin_of(&mut self, ty: Type, depth: usize) -> Option<Expr> {
        let gives = |b: &&Builtin| {
            b.results.len() == 1
                && (b.exact || !self.exact)
                && !b.params.iter().any(|p| matches!(p, Pattern::Reference(_)))
                && Binding::default().unify(&b.results[0], ty)
        };
        let candidates: Vec<&Builtin> = builtins().iter().filter(gives).collect();
        if candidates.is_empty() {
            return None;
        }
        let builtin = candidates[self.random.below(candidates.len())];
        let mut binding = Binding::default();
        binding.unify(&builtin.results[0], ty);
        let args = self.arguments(builtin, &mut binding, depth)?;
        let name = builtin.name;
        self.note(name);
        let operator = OPERATORS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        Some(match operator {
            Some(text) if !self.random.one_in(4) => Expr::new(ty, text, args),
            _ => {
                let places = vec!["{}"; args.len()].join(", ");
                Expr::new(ty, &format!("wp.{name}({places})"), args)
            }
        })
    }

    /// Arguments for the parameters that are no references.
    pub fn arguments(&mut self, builtin: &Builtin, binding: &mut Binding, depth: usize) -> Option<Vec<Expr>> {
        let optional = builtin.params.len() - builtin.required;
        let count = builtin.required + if optional > 0 { self.random.below(optional + 1) } else { 0 };
        let mut args = Vec::new();
        for param in &builtin.params[..count] {
            let ty = binding.choose(param, &mut self.random);
            args.push(match param {
                Pattern::Array(_) => {
                    let array = self.array(ty, Use::Read).filter(|array| array.rank == 1)?;
                    Expr::leaf(ty, array.name)
                }
                // Bounds of a search are indices.
                Pattern::Scalar(Scalar::I32) if builtin.params.iter().any(|p| matches!(p, Pattern::Array(_))) => {
                    self.index(EXTENTS[0], depth)
                }
                _ if builtin.name == "copysign" && args.len() == 1 => self.ordered(ty.scalar_part()?, depth - 1),
                _ => self.expr(ty, depth - 1),
            });
        }
        Some(args)
    }

    /// A part of a composite or struct.
    fn component(&mut self, ty: Type, depth: usize) -> Option<Expr> {
        let structs: Vec<(Type, String)> = self
            .pool
            .iter()
            .filter_map(|&whole| match whole {
                Type::Struct(id) => {
                    self.fields(id).iter().find(|(_, t)| *t == ty).map(|(name, _)| (whole, name.clone()))
                }
                _ => None,
            })
            .collect();
        if !structs.is_empty() && self.random.one_in(2) {
            let (whole, field) = structs[self.random.below(structs.len())].clone();
            let e = self.leaf(whole);
            return Some(Expr::new(ty, &format!("{{}}.{field}"), vec![e]));
        }
        match ty {
            Type::Scalar(s) if s != Scalar::Bool => {
                let n = self.random.pick(&[2, 3, 4]);
                let whole = match self.random.below(4) {
                    0 => Type::Mat(n, self.random.pick(&[2, 3]), s),
                    1 if s.is_float() => Type::Quat(s),
                    _ => Type::Vec(n, s),
                };
                let e = self.expr(whole, depth - 1);
                let k = self.component_index(n, depth);
                Some(match whole {
                    Type::Mat(..) => {
                        let c = self.component_index(2, depth);
                        Expr::new(ty, "{}[{}, {}]", vec![e, k, c])
                    }
                    _ if self.random.one_in(3) => {
                        Expr::new(ty, &format!("{{}}.{}", self.random.pick(&["x", "y"])), vec![e])
                    }
                    _ => Expr::new(ty, "{}[{}]", vec![e, k]),
                })
            }
            Type::Vec(n, s) => {
                let rows = self.random.pick(&[2, 3, 4]);
                let e = self.expr(Type::Mat(rows, n, s), depth - 1);
                let k = self.component_index(rows, depth);
                Some(Expr::new(ty, "{}[{}]", vec![e, k]))
            }
            _ => None,
        }
    }

    /// An index of `n` components, perhaps from the end.
    pub fn component_index(&mut self, n: u16, depth: usize) -> Expr {
        if self.random.one_in(3) {
            return self.index(if n >= 4 { 4 } else { 2 }, depth);
        }
        let k = self.random.below(usize::from(n)) as i32;
        Expr::leaf(I32, if self.random.one_in(4) { k - i32::from(n) } else { k }.to_string())
    }

    /// A function of the program.
    fn call(&mut self, ty: Type, depth: usize) -> Option<Expr> {
        let gives: Vec<usize> = (0..self.signatures.len()).filter(|&n| self.signatures[n].results == [ty]).collect();
        if gives.is_empty() || self.turns > 30 {
            return None;
        }
        let n = self.random.pick(&gives);
        let (text, args) = self.call_of(n, depth)?;
        Some(Expr::new(ty, &text, args))
    }

    pub fn call_of(&mut self, n: usize, depth: usize) -> Option<(String, Vec<Expr>)> {
        let (params, array) = (self.signatures[n].params.clone(), self.signatures[n].array);
        let mut places = Vec::new();
        if let Some(element) = array {
            places.push(self.array(element, Use::Read).filter(|array| array.rank == 1)?.name);
        }
        let args: Vec<Expr> = params.iter().map(|&ty| self.expr(ty, depth.saturating_sub(1))).collect();
        places.extend(vec!["{}".to_string(); args.len()]);
        Some((format!("{}({})", self.signatures[n].name, places.join(", ")), args))
    }

    fn conditional(&mut self, ty: Type, depth: usize) -> Option<Expr> {
        let (a, c, b) = (self.expr(ty, depth - 1), self.expr(BOOL, depth - 1), self.expr(ty, depth - 1));
        Some(Expr::new(ty, "({} if {} else {})", vec![a, c, b]))
    }

    /// What the language has for this type alone.
    fn own_form(&mut self, ty: Type, depth: usize) -> Option<Expr> {
        match ty {
            Type::Scalar(Scalar::Bool) => Some(self.test(depth)),
            Type::Scalar(s) => Some(self.conversion(s, depth)),
            Type::Struct(id) if self.random.one_in(2) => {
                let types: Vec<Type> = self.fields(id).iter().map(|(_, ty)| *ty).collect();
                let args: Vec<Expr> = types.into_iter().map(|ty| self.expr(ty, depth - 1)).collect();
                let text = format!("{}({})", self.python(ty), vec!["{}"; args.len()].join(", "));
                Some(Expr::new(ty, &text, args))
            }
            Type::Struct(_) => None,
            _ => Some(self.literal(ty)),
        }
    }

    fn test(&mut self, depth: usize) -> Expr {
        let compared = self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
        match self.random.below(8) {
            0 => {
                let (a, b) = (self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1));
                Expr::new(BOOL, &format!("({{}} {} {{}})", self.random.pick(&["and", "or"])), vec![a, b])
            }
            1 => {
                let ty: Type = self.number_type().into();
                let args = (0..3).map(|_| self.expr(ty, depth - 1)).collect();
                Expr::new(BOOL, &format!("({{}} {compared} {{}} <= {{}})"), args)
            }
            2 => {
                let whole = self.pool.iter().copied().find(|ty| matches!(ty, Type::Vec(..) | Type::Mat(..)));
                let ty = whole.unwrap_or(F32);
                let (a, b) = (self.expr(ty, depth - 1), self.expr(ty, depth - 1));
                Expr::new(BOOL, &format!("({{}} {} {{}})", self.random.pick(&["==", "!="])), vec![a, b])
            }
            _ => {
                let ty: Type = self.number_type().into();
                let (a, b) = (self.expr(ty, depth - 1), self.expr(ty, depth - 1));
                Expr::new(BOOL, &format!("({{}} {compared} {{}})"), vec![a, b])
            }
        }
    }

    fn number_type(&mut self) -> Scalar {
        let s = self.scalar();
        if s == Scalar::Bool { Scalar::I32 } else { s }
    }

    /// A number that is never NaN: the bits of those are open, and their sign.
    fn ordered(&mut self, s: Scalar, depth: usize) -> Expr {
        let e = self.expr(s.into(), depth);
        if !s.is_float() {
            return e;
        }
        Expr::new(s.into(), &format!("wp.max({{}}, wp.{}(-wp.inf))", s.name()), vec![e])
    }

    /// `s` made of another number: by value, or by its bits.
    fn conversion(&mut self, s: Scalar, depth: usize) -> Expr {
        let same: Vec<Scalar> = INTS
            .into_iter()
            .chain([Scalar::F16, Scalar::F32, Scalar::F64])
            .filter(|other| other.size() == s.size() && *other != s)
            .collect();
        if self.random.one_in(3) {
            let from = self.random.pick(&same);
            let e = self.ordered(from, depth - 1);
            return Expr::new(s.into(), &format!("wp.cast({{}}, wp.{})", s.name()), vec![e]);
        }
        let from = self.scalar();
        let e = self.expr(from.into(), depth - 1);
        let name = s.name();
        let text = match (from, s) {
            // CUDA's conversion is C++'s, which other compilers leave open outside the range.
            (Scalar::F32, Scalar::I32) if self.exact => "wp.int32(wp.clamp({}, -1.0e9, 1.0e9))".to_string(),
            (Scalar::F32, Scalar::U32) if self.exact => "wp.uint32(wp.clamp({}, 0.0, 1.0e9))".to_string(),
            (Scalar::F16, Scalar::I32) if self.exact => {
                "wp.int32(wp.clamp({}, wp.float16(-1000.0), wp.float16(1000.0)))".to_string()
            }
            (Scalar::F16, Scalar::U32) if self.exact => {
                "wp.uint32(wp.clamp({}, wp.float16(0.0), wp.float16(1000.0)))".to_string()
            }
            (_, Scalar::I32) if self.random.one_in(2) => "int({})".to_string(),
            (_, Scalar::F32) if self.random.one_in(2) => "float({})".to_string(),
            _ => format!("wp.{name}({{}})"),
        };
        Expr::new(s.into(), &text, vec![e])
    }
}
