//! What does a statement do? All threads of a mask do it before the next one begins.

use kc::syntax::ast::{Expr, ExprKind, Stmt, StmtKind};

use super::expr::{component, component_at, operate, with_component, with_part};
use super::number::Number;
use super::value::Value;
use super::{Lanes, Machine, Mask, Result, STEPS, Stop, threads};

fn fault<T>(text: impl Into<String>) -> Result<T> {
    Err(Stop::Fault(text.into()))
}

impl Machine {
    pub(super) fn block(&mut self, body: &[Stmt], mask: Mask) -> Result<()> {
        for stmt in body {
            let frame = self.frame();
            let active = mask & !(frame.returned | frame.broken | frame.continued);
            if active == 0 {
                return Ok(());
            }
            self.steps += 1;
            if self.steps > STEPS {
                return Err(Stop::Undefined("it runs for too long".to_string()));
            }
            if self.in_lines && active == self.here {
                self.line += 1;
            }
            self.stmt(stmt, active)?;
        }
        Ok(())
    }

    /// A body that only some threads may be in.
    fn apart(&mut self, body: &[Stmt], mask: Mask) -> Result<()> {
        let before = std::mem::replace(&mut self.in_lines, false);
        let done = if mask == 0 { Ok(()) } else { self.block(body, mask) };
        self.in_lines = before;
        done
    }

    fn stmt(&mut self, stmt: &Stmt, mask: Mask) -> Result<()> {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => self.assign_value(targets, value, mask),
            StmtKind::AnnAssign { target, value: Some(value), .. } => {
                self.assign_value(std::slice::from_ref(target), value, mask)
            }
            StmtKind::AnnAssign { .. } | StmtKind::Pass => Ok(()),
            StmtKind::AugAssign { target, op, value } => self.augmented(target, op.symbol(), value, mask),
            StmtKind::If { condition, then, otherwise } => {
                let holds = self.test(condition, mask)?;
                self.apart(then, mask & holds)?;
                self.apart(otherwise, mask & !holds)
            }
            StmtKind::While { condition, body, .. } => {
                let outside = self.enter();
                let mut active = mask;
                loop {
                    let frame = self.frame();
                    frame.continued = 0;
                    active &= !(frame.broken | frame.returned);
                    if active == 0 {
                        break;
                    }
                    active &= self.test(condition, active)?;
                    if active == 0 {
                        break;
                    }
                    self.apart(body, active)?;
                }
                self.leave(outside);
                Ok(())
            }
            StmtKind::For { target, iter, body, .. } => self.counted(target, iter, body, mask),
            StmtKind::Return(value) => {
                let values = match value {
                    Some(value) => {
                        let values = self.eval(value, mask)?;
                        // What a function gives back are tiles of their own.
                        self.copies(values, mask)
                    }
                    None => vec![Value::Unset; self.block_dim],
                };
                let frame = self.frame();
                frame.returned |= mask;
                for lane in threads(mask) {
                    frame.results[lane] = values[lane].clone();
                }
                Ok(())
            }
            StmtKind::Break => {
                self.frame().broken |= mask;
                Ok(())
            }
            StmtKind::Continue => {
                self.frame().continued |= mask;
                Ok(())
            }
            StmtKind::Expr(value) => self.eval(value, mask).map(|_| ()),
            other => fault(format!("a statement that this evaluator does not have: {other:?}")),
        }
    }

    /// Loops inside have their own `break` and `continue`.
    fn enter(&mut self) -> (Mask, Mask) {
        let frame = self.frame();
        (std::mem::take(&mut frame.broken), std::mem::take(&mut frame.continued))
    }

    fn leave(&mut self, outside: (Mask, Mask)) {
        let frame = self.frame();
        (frame.broken, frame.continued) = outside;
    }

    fn counted(&mut self, target: &Expr, iter: &Expr, body: &[Stmt], mask: Mask) -> Result<()> {
        let ExprKind::Call { callee, args } = &iter.kind else { return fault("a loop over something else") };
        if !matches!(&callee.kind, ExprKind::Name(name) if name == "range") {
            return fault("a loop over something else");
        }
        let literal = args.iter().all(|arg| matches!(arg.value.kind, ExprKind::Int(_)));
        let bounds: Vec<Lanes> = args.iter().map(|arg| self.eval(&arg.value, mask)).collect::<Result<_>>()?;
        let mut range = vec![(0, 0, 1); self.block_dim];
        for lane in threads(mask) {
            let at = |n: usize| bounds[n][lane].int();
            range[lane] = match bounds.len() {
                1 => (0, at(0)?, 1),
                2 => (at(0)?, at(1)?, 1),
                _ => (at(0)?, at(1)?, at(2)?),
            };
        }
        let outside = self.enter();
        let lines = self.in_lines;
        for turn in 0.. {
            let frame = self.frame();
            frame.continued = 0;
            let left = mask & !(frame.broken | frame.returned);
            let mut active = 0;
            let mut counter = vec![Value::Unset; self.block_dim];
            for lane in threads(left) {
                let (start, end, step) = range[lane];
                let at = start + turn * step;
                if (step > 0 && at < end) || (step < 0 && at > end) {
                    active |= 1 << lane;
                    counter[lane] = Value::Number(Number::i32(at as i64));
                }
            }
            if active == 0 {
                break;
            }
            self.assign(target, counter, active)?;
            if literal {
                self.block(body, active)?;
            } else {
                self.apart(body, active)?;
            }
        }
        self.in_lines = lines;
        self.leave(outside);
        Ok(())
    }

    /// The threads for which a condition holds.
    pub(super) fn test(&mut self, condition: &Expr, mask: Mask) -> Result<Mask> {
        let values = self.eval(condition, mask)?;
        let mut holds = 0;
        for lane in threads(mask) {
            holds |= u64::from(values[lane].is_true()?) << lane;
        }
        Ok(holds)
    }

    fn assign_value(&mut self, targets: &[Expr], value: &Expr, mask: Mask) -> Result<()> {
        let coordinates = match (&targets[0].kind, &value.kind) {
            (ExprKind::Tuple(names), ExprKind::Call { callee, .. }) => self.is_tid(callee).then_some(names.len()),
            _ => None,
        };
        let mut values = match coordinates {
            Some(count) => self.thread_index(count),
            None => self.eval(value, mask)?,
        };
        // A variable has its own elements; a part of a variable is another name for its elements.
        if matches!(value.kind, ExprKind::Name(_)) {
            values = self.copies(values, mask);
        }
        for target in targets {
            self.assign(target, values.clone(), mask)?;
        }
        Ok(())
    }

    /// Copies of tiles and local arrays. Threads share the copy of a tile as they share the tile.
    fn copies(&self, values: Lanes, mask: Mask) -> Lanes {
        let mut made: Option<Value> = None;
        let mut found = values;
        for lane in threads(mask) {
            found[lane] = match &found[lane] {
                Value::Tile(view) => made.get_or_insert_with(|| Value::Tile(view.copied())).clone(),
                Value::Array(view) if view.local => Value::Array(view.copied()),
                other => other.clone(),
            };
        }
        found
    }

    pub(super) fn assign(&mut self, target: &Expr, values: Lanes, mask: Mask) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let size = self.block_dim;
                let slots = self.frame().names.entry(name.clone()).or_insert_with(|| vec![Value::Unset; size]);
                for lane in threads(mask) {
                    slots[lane] = values[lane].clone();
                }
                Ok(())
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                for (n, target) in targets.iter().enumerate() {
                    let mut part = vec![Value::Unset; self.block_dim];
                    for lane in threads(mask) {
                        part[lane] = component(&values[lane], n)?;
                    }
                    self.assign(target, part, mask)?;
                }
                Ok(())
            }
            ExprKind::Subscript { base, indices } => {
                let bases = self.eval(base, mask)?;
                let index = self.indices(indices, mask)?;
                let mut changed = bases.clone();
                let mut inside = 0;
                for lane in threads(mask) {
                    match &bases[lane] {
                        Value::Array(view) | Value::Tile(view) => {
                            let tile = matches!(bases[lane], Value::Tile(_));
                            self.set_part(view, tile, &index, lane, values[lane].clone())?;
                        }
                        other => {
                            changed[lane] = with_component(other, &index, lane, values[lane].clone())?;
                            inside |= 1 << lane;
                        }
                    }
                }
                if inside != 0 { self.assign(base, changed, inside) } else { Ok(()) }
            }
            ExprKind::Attribute { base, name } => {
                let mut bases = self.eval(base, mask)?;
                for lane in threads(mask) {
                    let value = values[lane].clone();
                    match &mut bases[lane] {
                        Value::Struct(_, fields) => match fields.iter_mut().find(|(field, _)| *field == name.text) {
                            Some(field) => field.1 = value,
                            None => fields.push((name.text.clone(), value)),
                        },
                        Value::Composite(composite) => {
                            let Some(n) = "xyzw".find(name.text.as_str()) else { return fault("a component") };
                            composite.numbers[n] = value.number()?;
                        }
                        other => return fault(format!("a field of {other:?}")),
                    }
                }
                self.assign(base, bases, mask)
            }
            other => fault(format!("a target that this evaluator does not have: {other:?}")),
        }
    }

    fn augmented(&mut self, target: &Expr, op: &str, value: &Expr, mask: Mask) -> Result<()> {
        let values = self.eval(value, mask)?;
        if let ExprKind::Subscript { base, indices } = &target.kind {
            let bases = self.eval(base, mask)?;
            let first = threads(mask).next().map(|lane| bases[lane].clone());
            if matches!(first, Some(Value::Array(_) | Value::Tile(_))) {
                let index = self.indices(indices, mask)?;
                for lane in threads(mask) {
                    let tile = matches!(bases[lane], Value::Tile(_));
                    let view = bases[lane].view()?;
                    let (at, parts) = Self::element_at(view, &index, lane)?;
                    let new = |old: &Value| match &parts[..] {
                        [] => operate(op, old, &values[lane]),
                        parts => {
                            let part = operate(op, &component_at(old, parts)?, &values[lane])?;
                            with_part(old, parts, part)
                        }
                    };
                    if ["+", "-", "&", "|", "^"].contains(&op) {
                        self.update(view, tile, at, lane, new)?;
                    } else {
                        let old = self.load(view, tile, at, lane)?;
                        self.store(view, tile, at, lane, new(&old)?)?;
                    }
                }
                return Ok(());
            }
        }
        let old = self.eval(target, mask)?;
        if let Some(Value::Tile(view)) = threads(mask).next().map(|lane| old[lane].clone()) {
            self.together(op, mask)?;
            let lane = threads(mask).next().unwrap_or_default();
            let Value::Tile(made) = super::tiles::elementwise(op, &old[lane], &values[lane])? else {
                return fault("a tile");
            };
            if ["+", "-", "&", "|", "^"].contains(&op) {
                view.set_elements(&made.elements());
                return Ok(());
            }
            return self.assign(target, vec![Value::Tile(made); self.block_dim], mask);
        }
        let mut new = vec![Value::Unset; self.block_dim];
        for lane in threads(mask) {
            new[lane] = operate(op, &old[lane], &values[lane])?;
        }
        self.assign(target, new, mask)
    }
}
