//! What does a call give? Functions and types are values, so threads of a block may call different
//! ones: each in turn, under the mask of its threads.

use std::sync::Arc;

use kc::syntax::ast::{self, Arg, Expr, ExprKind};

use super::expr::operate;
use super::number::{Kind, Number};
use super::value::{Composite, Form, Type, Value, View};
use super::{Frame, Lanes, Machine, Mask, Result, Stop, builtins, threads};

fn fault<T>(text: impl Into<String>) -> Result<T> {
    Err(Stop::Fault(text.into()))
}

/// The arguments of a call, by position and by name.
pub struct Arguments {
    pub plain: Vec<Lanes>,
    pub named: Vec<(String, Lanes)>,
}

impl Arguments {
    /// The argument at a position, or of a name.
    pub fn get(&self, position: usize, name: &str) -> Option<&Lanes> {
        self.plain.get(position).or_else(|| self.named.iter().find(|(n, _)| n == name).map(|(_, values)| values))
    }

    pub fn one(&self, position: usize, name: &str, lane: usize) -> Result<&Value> {
        match self.get(position, name) {
            Some(values) => Ok(&values[lane]),
            None => fault(format!("the argument `{name}` is missing")),
        }
    }
}

impl Machine {
    pub(super) fn is_tid(&self, callee: &Expr) -> bool {
        matches!(&callee.kind, ExprKind::Attribute { base, name }
            if name.text == "tid" && matches!(&base.kind, ExprKind::Name(module) if module == "wp"))
    }

    /// So many coordinates of each thread.
    pub(super) fn thread_index(&self, count: usize) -> Lanes {
        let number = |n: &i64| Value::Number(Number::i32(*n));
        let all = self.coordinates.iter().map(|c| Value::Tuple(c.iter().take(count).map(number).collect()));
        all.collect()
    }

    pub(super) fn call(&mut self, callee: &Expr, args: &[Arg], mask: Mask) -> Result<Lanes> {
        if self.is_tid(callee) {
            let index = self.thread_index(1);
            return self.each(mask, |lane| super::expr::component(&index[lane], 0));
        }
        let callees = self.eval(callee, mask)?;
        let mut arguments = Arguments { plain: Vec::new(), named: Vec::new() };
        for arg in args {
            let values = match &arg.value.kind {
                // A literal keeps its digits in a constructor.
                ExprKind::Float(x) if threads(mask).all(|lane| matches!(callees[lane], Value::Type(_))) => {
                    self.all(Value::Number(Number::float(Kind::F64, *x, 0.0)))
                }
                _ => self.eval(&arg.value, mask)?,
            };
            match &arg.name {
                Some(name) => arguments.named.push((name.text.clone(), values)),
                None => arguments.plain.push(values),
            }
        }
        let mut left = mask;
        let mut results = vec![Value::Unset; self.block_dim];
        while let Some(first) = threads(left).next() {
            let mut same = 0;
            for lane in threads(left) {
                same |= u64::from(is_same(&callees[first], &callees[lane])) << lane;
            }
            let found = self.apply(&callees[first].clone(), &arguments, same)?;
            threads(same).for_each(|lane| results[lane] = found[lane].clone());
            left &= !same;
        }
        Ok(results)
    }

    pub(super) fn apply(&mut self, callee: &Value, args: &Arguments, mask: Mask) -> Result<Lanes> {
        match callee {
            Value::Function(function) => self.function(function, args, mask),
            Value::Type(ty) => self.each(mask, |lane| {
                let plain: Vec<Value> = args.plain.iter().map(|values| values[lane].clone()).collect();
                let named = args.named.iter().map(|(name, values)| (name.clone(), values[lane].clone())).collect();
                construct(ty, &plain, named)
            }),
            Value::Builtin(name) => self.builtin_call(name, args, mask),
            other => fault(format!("a call of {other:?}")),
        }
    }

    fn function(&mut self, function: &Arc<ast::Function>, args: &Arguments, mask: Mask) -> Result<Lanes> {
        if self.frames.len() > 20 {
            return fault("functions nest too deep");
        }
        let mut frame = Frame { results: vec![Value::Unset; self.block_dim], ..Frame::default() };
        for (n, param) in function.params.iter().enumerate() {
            let values = match (args.get(n, &param.name.text), &param.default) {
                (Some(values), _) => values.clone(),
                (None, Some(default)) => self.eval(default, mask)?,
                (None, None) => return fault(format!("`{}` is missing", param.name.text)),
            };
            frame.names.insert(param.name.text.clone(), values);
        }
        self.frames.push(frame);
        let lines = std::mem::replace(&mut self.in_lines, false);
        let done = self.block(&function.body, mask);
        self.in_lines = lines;
        let frame = self.frames.pop();
        done?;
        Ok(frame.map(|frame| frame.results).unwrap_or_default())
    }

    fn builtin_call(&mut self, name: &str, args: &Arguments, mask: Mask) -> Result<Lanes> {
        match name {
            "static" | "constant" => return Ok(args.plain[0].clone()),
            "lane" => return self.each(mask, |lane| Ok(Value::Number(Number::i32(lane as i64)))),
            "block_dim" => return Ok(self.all(Value::Number(Number::i32(self.block_dim as i64)))),
            "print" | "printf" => return Ok(self.all(Value::Unset)),
            _ => {}
        }
        if let Some(op) = name.strip_prefix("atomic_") {
            return self.atomic(op, args, mask);
        }
        if name == "zeros" && args.get(usize::MAX, "storage").is_none() {
            return self.each(mask, |lane| {
                let ty = args.get(1, "dtype").map_or(Ok(Type::Number(Kind::F32)), |dtype| dtype[lane].ty())?;
                let view = View::filled(args.one(0, "shape", lane)?.extents()?, ty.zero())?;
                Ok(Value::Array(View { local: true, ..view }))
            });
        }
        if self.is_collective(name) {
            return self.collective(name, args, mask);
        }
        self.each(mask, |lane| {
            let values: Vec<Value> = args.plain.iter().map(|values| values[lane].clone()).collect();
            builtins::pure(name, &values)
        })
    }

    /// One thread after the other: the old values.
    fn atomic(&mut self, op: &str, args: &Arguments, mask: Mask) -> Result<Lanes> {
        let (Some((values, before)), true) = (args.plain.split_last(), args.named.is_empty()) else {
            return fault("arguments of an atomic");
        };
        self.each(mask, |lane| {
            let tile = matches!(before[0][lane], Value::Tile(_));
            let view = before[0][lane].view()?;
            let index: Vec<i128> = before[1..].iter().map(|i| i[lane].int()).collect::<Result<_>>()?;
            let at = view.place(&index)?;
            self.update(view, tile, at, lane, |old| match op {
                "add" => operate("+", old, &values[lane]),
                "sub" => operate("-", old, &values[lane]),
                "min" | "max" => builtins::pure(op, &[old.clone(), values[lane].clone()]),
                _ => fault(format!("atomic_{op}")),
            })
        })
    }
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Function(a), Value::Function(b)) => Arc::ptr_eq(a, b),
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (Value::Type(Type::Struct(a)), Value::Type(Type::Struct(b))) => Arc::ptr_eq(a, b),
        (Value::Type(Type::Number(a)), Value::Type(Type::Number(b))) => a == b,
        (Value::Type(Type::Composite(a, k)), Value::Type(Type::Composite(b, l))) => a == b && k == l,
        _ => false,
    }
}

fn construct(ty: &Type, plain: &[Value], named: Vec<(String, Value)>) -> Result<Value> {
    match ty {
        Type::Number(kind) => match plain {
            [] => Ok(ty.zero()),
            [Value::Unset] => Ok(ty.zero()),
            [value] => Ok(Value::Number(value.number()?.cast(*kind))),
            _ => fault("a conversion takes one number"),
        },
        Type::Composite(form, kind) => {
            let mut numbers: Vec<Number> = Vec::new();
            for value in plain {
                match value {
                    Value::Composite(part) => numbers.extend(&part.numbers),
                    Value::Unset => numbers.push(Number::zero(*kind)),
                    value => numbers.push(value.number()?),
                }
            }
            if numbers.len() == 1 && *form != Form::Quaternion {
                numbers = vec![numbers[0]; form.len()];
            }
            if numbers.is_empty() {
                return Ok(ty.zero());
            }
            if numbers.len() != form.len() {
                return fault(format!("{} numbers for {form:?}", numbers.len()));
            }
            Ok(Value::Composite(Composite { form: *form, numbers: numbers.iter().map(|n| n.cast(*kind)).collect() }))
        }
        Type::Struct(class) => {
            let fields = class.members.iter().map(|member| member.name.text.clone());
            let mut fields: Vec<(String, Value)> = fields.map(|name| (name, Value::Unset)).collect();
            for (field, value) in fields.iter_mut().zip(plain) {
                field.1 = value.clone();
            }
            for (name, value) in named {
                if let Some(field) = fields.iter_mut().find(|(field, _)| *field == name) {
                    field.1 = value;
                }
            }
            Ok(Value::Struct(class.clone(), fields))
        }
    }
}
