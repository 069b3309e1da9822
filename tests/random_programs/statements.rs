//! Random statements.

use kc::types::{BOOL, I32, Scalar, Type};

use crate::generate::{Array, Generator, Use, Variable};
use crate::table::{Binding, Builtin, Pattern, builtins};
use crate::tree::{Block, Expr, Part, Stmt};

/// Depth of expressions.
const DEPTH: usize = 3;

/// Most turns of one loop.
const TURNS: usize = 8;

/// Most turns of loops in loops.
const ALL_TURNS: usize = 100;

impl Generator {
    /// One statement, with what it needs before it.
    pub fn statements(&mut self) -> Vec<Stmt> {
        self.left = self.left.saturating_sub(1);
        let nested = self.depth < 3 && self.left > 0;
        match self.random.below(26) {
            0..=4 => vec![self.assign()],
            5 | 6 => vec![self.update()],
            7 | 8 => vec![self.part()],
            9 => {
                let ty = if self.random.one_in(3) { self.scalar().into() } else { self.from_pool() };
                vec![self.fresh(ty, DEPTH)]
            }
            10..=12 => self.several(),
            13..=15 if nested => vec![self.branch()],
            16 | 17 if nested && self.turns * TURNS <= ALL_TURNS => vec![self.for_loop()],
            18 if nested && self.turns * TURNS <= ALL_TURNS => vec![self.while_loop()],
            19 if self.loops > 0 || self.random.one_in(4) => vec![self.leave()],
            20 | 21 if self.in_kernel => vec![self.output()],
            22 | 23 if self.in_kernel => vec![self.atomic()],
            24 => vec![self.local()],
            _ => vec![self.assign()],
        }
    }

    /// A block one level deeper; its names end with it.
    fn body(&mut self) -> Vec<Stmt> {
        let (known, arrays) = (self.scope.len(), self.arrays.len());
        self.depth += 1;
        let count = 1 + self.random.below(3);
        let body = (0..count).flat_map(|_| self.statements()).collect();
        self.depth -= 1;
        self.scope.truncate(known);
        let mut n = 0;
        self.arrays.retain(|array| {
            n += 1;
            n <= arrays || array.usage != Use::Local
        });
        body
    }

    /// A new variable.
    pub fn fresh(&mut self, ty: Type, depth: usize) -> Stmt {
        let e = self.expr(ty, depth);
        let name = self.name("t");
        self.scope.push(Variable { name: name.clone(), ty, assignable: true });
        Stmt::line(&format!("{name} = {{}}"), vec![e])
    }

    pub fn give_back(&mut self) -> Stmt {
        let results = self.results.clone().unwrap_or_default();
        let args: Vec<Expr> = results.iter().map(|&ty| self.expr(ty, 2)).collect();
        Stmt::line(&format!("return {}", vec!["{}"; args.len()].join(", ")), args)
    }

    fn variable(&mut self) -> Variable {
        let known: Vec<usize> = (0..self.scope.len()).filter(|&n| self.scope[n].assignable).collect();
        let n = self.random.pick(&known);
        self.scope[n].clone()
    }

    fn assign(&mut self) -> Stmt {
        let v = self.variable();
        let e = self.expr(v.ty, DEPTH);
        Stmt::line(&format!("{} = {{}}", v.name), vec![e])
    }

    /// `op=`, and what is on its right.
    fn operator_for(&mut self, ty: Type) -> (&'static str, Type) {
        match ty {
            Type::Scalar(Scalar::Bool) | Type::Struct(_) => ("=", ty),
            Type::Scalar(s) if s.is_int() => {
                (self.random.pick(&["+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>="]), ty)
            }
            Type::Scalar(_) => (self.random.pick(&["+=", "-=", "*=", "/=", "//=", "%="]), ty),
            Type::Transform(_) => ("=", ty),
            _ if self.random.one_in(3) => ("*=", ty.scalar_part().expect("numbers").into()),
            _ => (self.random.pick(&["+=", "-="]), ty),
        }
    }

    fn update(&mut self) -> Stmt {
        let v = self.variable();
        let (op, ty) = self.operator_for(v.ty);
        let e = self.expr(ty, DEPTH);
        Stmt::line(&format!("{} {op} {{}}", v.name), vec![e])
    }

    /// A component or field of what `whole` names; the template of the target, its operands, its
    /// type.
    fn part_of(&mut self, whole: String, ty: Type) -> (String, Vec<Expr>, Type) {
        match ty {
            Type::Vec(n, s) => {
                let k = self.component_index(n, 2);
                (format!("{whole}[{{}}]"), vec![k], s.into())
            }
            Type::Quat(s) => (format!("{whole}[{}]", self.random.below(4)), vec![], s.into()),
            Type::Mat(r, c, s) if self.random.one_in(3) => {
                let k = self.component_index(r, 2);
                (format!("{whole}[{{}}]"), vec![k], Type::Vec(c, s))
            }
            Type::Mat(r, c, s) => {
                let (k, j) = (self.component_index(r, 2), self.component_index(c, 2));
                (format!("{whole}[{{}}, {{}}]"), vec![k, j], s.into())
            }
            Type::Struct(id) => {
                let n = self.random.below(self.fields(id).len());
                let (field, ty) = self.fields(id)[n].clone();
                let whole = format!("{whole}.{field}");
                if ty.as_scalar().is_some() || self.random.one_in(2) {
                    (whole, vec![], ty)
                } else {
                    self.part_of(whole, ty)
                }
            }
            _ => (whole, vec![], ty),
        }
    }

    fn part(&mut self) -> Stmt {
        let v = self.variable();
        let (target, mut args, ty) = self.part_of(v.name, v.ty);
        let (op, ty) = if self.random.one_in(3) { self.operator_for(ty) } else { ("=", ty) };
        args.push(self.expr(ty, DEPTH));
        Stmt::line(&format!("{target} {op} {{}}"), args)
    }

    /// A call that gives several values or changes its arguments.
    fn several(&mut self) -> Vec<Stmt> {
        if self.random.one_in(3) {
            let several: Vec<usize> =
                (0..self.signatures.len()).filter(|&n| self.signatures[n].results.len() == 2).collect();
            if !several.is_empty() && self.turns <= 30 {
                let n = self.random.pick(&several);
                if let Some((text, args)) = self.call_of(n, 2) {
                    let results = self.signatures[n].results.clone();
                    return vec![self.bind(&results, &text, args)];
                }
            }
        }
        let changes = |b: &&Builtin| {
            (b.exact || !self.exact)
                && (b.results.len() > 1 || b.params.iter().any(|p| matches!(p, Pattern::Reference(_))))
        };
        let candidates: Vec<&Builtin> = builtins().iter().filter(changes).collect();
        if candidates.is_empty() {
            return vec![self.assign()];
        }
        let builtin = candidates[self.random.below(candidates.len())];
        let mut binding = Binding::default();
        let scope = self.scope.len();
        let (mut before, mut args) = (Vec::new(), Vec::new());
        for param in &builtin.params {
            let ty = binding.choose(param, &mut self.random);
            match param {
                Pattern::Reference(_) => {
                    before.push(self.fresh(ty, 1));
                    let name = self.scope.last().map(|v| v.name.clone()).unwrap_or_default();
                    args.push(Expr::leaf(ty, name));
                }
                Pattern::Array(_) => match self.array(ty, Use::Read).filter(|array| array.rank == 1) {
                    Some(array) => args.push(Expr::leaf(ty, array.name)),
                    None => {
                        self.scope.truncate(scope);
                        return vec![self.assign()];
                    }
                },
                _ => args.push(self.expr(ty, 2)),
            }
        }
        self.note(builtin.name);
        let text = format!("wp.{}({})", builtin.name, vec!["{}"; args.len()].join(", "));
        let results: Vec<Type> =
            builtin.results.iter().map(|result| binding.choose(result, &mut self.random)).collect();
        before.push(self.bind(&results, &text, args));
        before
    }

    /// New variables for several results.
    fn bind(&mut self, results: &[Type], call: &str, args: Vec<Expr>) -> Stmt {
        let names: Vec<String> = results.iter().map(|_| self.name("t")).collect();
        let targets = if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) };
        let made = names.into_iter().zip(results).map(|(name, &ty)| Variable { name, ty, assignable: true });
        self.scope.extend(made);
        Stmt::line(&format!("{targets}{call}"), args)
    }

    fn branch(&mut self) -> Stmt {
        let test = self.expr(BOOL, 2);
        let body = self.body();
        let mut stmt = Stmt::block("if {}:", vec![test], body);
        if self.random.one_in(3) {
            let test = self.expr(BOOL, 2);
            let body = self.body();
            stmt.parts.push(Part::new("elif {}:", vec![test], body));
        }
        if self.random.one_in(2) {
            let body = self.body();
            stmt.parts.push(Part::new("else:", vec![], body));
        }
        stmt
    }

    fn counted(&mut self, name: String) -> Vec<Stmt> {
        let scope = self.scope.len();
        self.scope.push(Variable { name, ty: I32, assignable: false });
        self.turns *= TURNS;
        self.loops += 1;
        let body = self.body();
        self.loops -= 1;
        self.turns /= TURNS;
        self.scope.truncate(scope);
        body
    }

    fn for_loop(&mut self) -> Stmt {
        let k = self.name("n");
        let (a, b) = (self.expr(I32, 1), self.expr(I32, 1));
        let (low, high) = (self.random.below(3), self.random.below(TURNS));
        let (range, args) = match self.random.below(8) {
            0 => (format!("range({high})"), vec![]),
            1 => (format!("range({low}, {high})"), vec![]),
            2 => (format!("range({high}, {low}, -{})", 1 + self.random.below(3)), vec![]),
            3 | 4 => ("range({} & 7)".to_string(), vec![a]),
            5 => ("range({} & 7, {} & 7)".to_string(), vec![a, b]),
            6 => (format!("range({{}} & 7, {{}} & 7, -{})", 1 + self.random.below(3)), vec![a, b]),
            _ => (format!("range({low}, {{}} & 7, ({{}} & 1) + 1)"), vec![a, b]),
        };
        let body = self.counted(k.clone());
        Stmt::block(&format!("for {k} in {range}:"), args, body)
    }

    fn while_loop(&mut self) -> Stmt {
        let k = self.name("n");
        let test = self.expr(BOOL, 2);
        let most = 1 + self.random.below(TURNS);
        let body = self.counted(k.clone());
        let head = Expr::new(BOOL, &format!("while {k} < {most} and {{}}:"), vec![test]);
        let block = Some(Block { first: Some(format!("{k} += 1")), body });
        Stmt { before: Some(format!("{k} = int(0)")), parts: vec![Part { head, block }] }
    }

    fn leave(&mut self) -> Stmt {
        let test = self.expr(BOOL, 2);
        let end = match self.random.below(5) {
            0 | 1 if self.loops > 0 => Stmt::line("break", vec![]),
            2 | 3 if self.loops > 0 => Stmt::line("continue", vec![]),
            _ if self.in_kernel => Stmt::line("return", vec![]),
            _ => self.give_back(),
        };
        Stmt::block("if {}:", vec![test], vec![end])
    }

    fn output(&mut self) -> Stmt {
        let ty = self.from_pool();
        let Some(array) = self.array(ty, Use::Own) else { return self.assign() };
        let (mut target, mut args) = self.place(&array, 1);
        let mut ty = ty;
        if self.random.one_in(4) {
            let (part, more, of) = self.part_of(target, ty);
            (target, ty) = (part, of);
            args.extend(more);
        }
        let (op, ty) = match self.random.one_in(3) {
            true => match self.operator_for(ty) {
                // Atomic, and a GPU then takes subnormal numbers for 0.
                ("+=" | "-=", of) if ty.scalar_part() == Some(Scalar::F32) => ("=", of),
                other => other,
            },
            false => ("=", ty),
        };
        args.push(self.expr(ty, DEPTH));
        Stmt::line(&format!("{target} {op} {{}}"), args)
    }

    fn atomic(&mut self) -> Stmt {
        let word = self.random.pick(&[Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64]);
        if self.random.one_in(2) {
            let names =
                ["atomic_add", "atomic_sub", "atomic_min", "atomic_max", "atomic_and", "atomic_or", "atomic_xor"];
            let name = self.random.pick(&names);
            // Additions and subtractions may come in any order.
            let group = if name == "atomic_sub" { "atomic_add" } else { name };
            let Some(array) = self.array(word.into(), Use::Update(group)) else { return self.assign() };
            let (target, mut args) = self.place(&array, 1);
            args.push(self.expr(word.into(), 2));
            self.note(name);
            return Stmt::line(&call(name, &array, &target, 1), args);
        }
        let float = self.random.pick(&[Scalar::F32, Scalar::F64]);
        let (name, s) = match self.random.below(10) {
            // Of float32 they take subnormal numbers for 0 on a GPU.
            0 => ("atomic_add", Scalar::F64),
            1 => ("atomic_sub", Scalar::F64),
            2 => ("atomic_min", float),
            3 => ("atomic_max", float),
            4 => ("atomic_exch", float),
            5 => ("atomic_cas", float),
            6 => ("atomic_cas", word),
            7 => ("atomic_exch", word),
            8 => ("atomic_xor", word),
            _ => ("atomic_max", word),
        };
        let Some(array) = self.array(s.into(), Use::Own) else { return self.assign() };
        let (target, mut args) = self.place(&array, 1);
        let values = if name == "atomic_cas" { 2 } else { 1 };
        for n in 0..values {
            // It is compared bit by bit, and which NaN an operation gives is open.
            let compared = n == 0 && values == 2 && s.is_float();
            args.push(match compared {
                true => Expr::leaf(
                    s.into(),
                    format!("{}({})", self.python(s.into()), self.random.pick(&["0.0", "-0.0", "1.0"])),
                ),
                false => self.expr(s.into(), 2),
            });
        }
        self.note(name);
        let text = call(name, &array, &target, values);
        self.bind(&[s.into()], &text, args)
    }

    /// An array of the thread, or a store to one.
    fn local(&mut self) -> Stmt {
        let ty = self.from_pool();
        let known = self.array(ty, Use::Local);
        let Some(array) = known.filter(|_| !self.random.one_in(4)) else {
            let name = self.name("local");
            let text = format!("{name} = wp.zeros(shape=4, dtype={})", self.python(ty));
            self.arrays.push(Array { name, element: ty, rank: 1, usage: Use::Local });
            return Stmt::line(&text, vec![]);
        };
        let (target, mut args) = self.place(&array, 2);
        args.push(self.expr(ty, DEPTH));
        Stmt::line(&format!("{target} = {{}}"), args)
    }
}

/// `wp.atomic_add(a, i, j, value)` for the element `a[i, j]`.
fn call(name: &str, array: &Array, target: &str, values: usize) -> String {
    let indices = &target[array.name.len() + 1..target.len() - 1];
    format!("wp.{name}({}, {}, {})", array.name, indices.replace("][", ", "), vec!["{}"; values].join(", "))
}
