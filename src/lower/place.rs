//! How are variables, array elements and parts of them read and written, and how do slices become
//! views?

use smallvec::SmallVec;

use super::Lowering;
use crate::check::tree::*;
use crate::ids::Id;
use crate::ir::{self, Access, AtomicOp, BinaryOp, Check, CompareOp, Const, Op, ValueId};
use crate::types::{BOOL, I32, Scalar, StructTable, Type};

/// A place whose indices have been evaluated.
pub(super) struct Target {
    root: TargetRoot,
    ty: Type,
}

enum TargetRoot {
    /// A part of a variable.
    Local(LocalId, ir::Path),
    Element(Access),
}

impl<'a> Lowering<'a> {
    /// Evaluates the indices of a place, each once.
    pub(super) fn target(&mut self, place: &'a Place) -> Target {
        let root = match &place.root {
            Root::Local(local) => {
                let Local { ty, name, .. } = &self.function.locals[*local];
                TargetRoot::Local(*local, self.path(*ty, &place.path, || name.clone()))
            }
            Root::Element { array, index } => TargetRoot::Element(self.access(array, index, &place.path)),
        };
        self.b.span = place.span;
        Target { root, ty: place.ty }
    }

    /// A part of an array's element. Evaluates the array, the indices and the steps.
    pub(super) fn access(&mut self, array: &'a Expr, index: &'a [Expr], path: &'a [Step]) -> Access {
        let array = self.expr(array);
        let indices = index.iter().map(|at| self.expr(at)).collect();
        let name = self.b.function.values[array].name.clone();
        let path = self.path(self.element_of(array), path, || name.map_or(String::new(), |name| name + "[...]"));
        Access { array, indices, path }
    }

    /// A path of steps into a value of type `whole`, which the source calls `name` (empty:
    /// nothing). Steps whose index turns out to be a constant become fixed ones; a constant outside
    /// the composite keeps its run-time meaning.
    pub(super) fn path(&mut self, mut whole: Type, steps: &'a [Step], name: impl FnOnce() -> String) -> ir::Path {
        let structs = &self.checked.structs;
        let mut path = ir::Path::new();
        let dynamic = steps.iter().any(|step| matches!(step, Step::Dynamic(_)));
        let mut name = if self.checks && dynamic { name() } else { String::new() };
        for step in steps {
            let lowered = match step {
                Step::At(at) => ir::Step::At(*at),
                Step::Dynamic(index) => {
                    let index = self.expr(index);
                    let count = i128::from(whole.step_count(structs));
                    let known = self.known(index).and_then(Const::as_int);
                    let known = known.map(|at| if at < 0 { at + count } else { at });
                    match known.filter(|at| (0..count).contains(at)) {
                        Some(at) => ir::Step::At(at as u32),
                        None => {
                            if self.checks {
                                let what = Check::Component { count: count as u32, name: name.clone() };
                                self.b.effect(Op::Check(what, ir::Values::from_slice(&[index])));
                            }
                            ir::Step::Dynamic(index)
                        }
                    }
                }
            };
            if !name.is_empty() {
                name.push_str(&step_name(whole, lowered, structs));
            }
            let at = if let ir::Step::At(at) = lowered { Some(at) } else { None };
            whole = whole.step(at, structs).unwrap_or(whole);
            path.push(lowered);
        }
        path
    }

    /// The type of an array's elements.
    pub(super) fn element_of(&self, array: ValueId) -> Type {
        match self.b.ty(array) {
            Type::Array(array) => array.element.into(),
            Type::Local(array) => array.element.into(),
            other => other,
        }
    }

    pub(super) fn load(&mut self, target: &Target) -> ValueId {
        match &target.root {
            TargetRoot::Local(local, path) => {
                let value = self.read(*local);
                self.part(value, path.clone(), target.ty)
            }
            TargetRoot::Element(access) => self.b.one(Op::Load(access.clone()), target.ty),
        }
    }

    pub(super) fn write(&mut self, target: &Target, value: ValueId) {
        match &target.root {
            TargetRoot::Local(local, path) if path.is_empty() => self.assign(*local, value),
            TargetRoot::Local(local, path) => {
                let whole = self.read(*local);
                let ty = self.b.ty(whole);
                let changed = self.b.one(Op::Insert(whole, path.clone(), value), ty);
                self.assign(*local, changed);
            }
            TargetRoot::Element(access) => self.b.effect(Op::Store { access: access.clone(), value }),
        }
    }

    /// A part of a value.
    pub(super) fn part(&mut self, value: ValueId, path: ir::Path, ty: Type) -> ValueId {
        if path.is_empty() { value } else { self.b.one(Op::Extract(value, path), ty) }
    }

    pub(super) fn atomic(&mut self, op: AtomicOp, place: &'a Place, value: &'a Expr) -> ValueId {
        let target = self.target(place);
        let value = self.expr(value);
        // No other thread sees an array of the thread.
        if self.is_local_array(&target) {
            let old = self.load(&target);
            let new = op.binary().map_or(value, |op| self.b.binary(op, old, value));
            self.write(&target, new);
            return old;
        }
        match target.root {
            TargetRoot::Element(access) => self.b.one(Op::Atomic { op, access, value }, target.ty),
            TargetRoot::Local(..) => unreachable!("the checker allows atomics on arrays only"),
        }
    }

    pub(super) fn compare_and_swap(&mut self, place: &'a Place, expected: &'a Expr, new: &'a Expr) -> ValueId {
        let target = self.target(place);
        let expected = self.expr(expected);
        let new = self.expr(new);
        if self.is_local_array(&target) {
            let old = self.load(&target);
            let equal = self.b.compare(CompareOp::Eq, old, expected);
            let new = self.b.select(equal, new, old);
            self.write(&target, new);
            return old;
        }
        match target.root {
            TargetRoot::Element(access) => self.b.one(Op::AtomicCas { access, expected, new }, target.ty),
            TargetRoot::Local(..) => unreachable!("the checker allows atomics on arrays only"),
        }
    }

    fn is_local_array(&self, target: &Target) -> bool {
        matches!(&target.root, TargetRoot::Element(access) if matches!(self.b.ty(access.array), Type::Local(_)))
    }

    /// A call's results, without those that go back to by-reference arguments, which are assigned
    /// here.
    pub(super) fn call(&mut self, call: &'a Call) -> SmallVec<[ValueId; 1]> {
        let id = self.imported.map_or(call.callee, |imported| imported.callee(call.callee));
        let callee = &self.checked.functions[id];
        let by_ref = &callee.by_ref;
        let mut targets: Vec<Option<Target>> = call.by_ref.iter().map(|_| None).collect();
        let mut args = ir::Values::new();
        for (n, arg) in call.args.iter().enumerate() {
            let reference = by_ref.iter().position(|param| param.index() == n);
            match reference.and_then(|at| Some((at, call.by_ref.get(at)?))) {
                // The place is evaluated once: its value goes in, and the new value comes back to
                // it.
                Some((at, place)) => {
                    let target = self.target(place);
                    args.push(self.load(&target));
                    targets[at] = Some(target);
                }
                None => args.push(self.expr(arg)),
            }
        }
        self.b.span = call.span;
        let mut types: Vec<Type> = callee.results.clone();
        types.extend(by_ref.iter().map(|&param| callee.locals[param].ty));
        let mut results = self.b.push(Op::Call(super::func_id(id), args.clone()), &types);
        if let Some(test) = call.test.as_ref().filter(|_| self.checks) {
            if test.adjoints {
                let adjoints: SmallVec<[ValueId; 4]> = types.iter().map(|&ty| self.b.zero(ty)).collect();
                args.extend(adjoints);
            }
            let holds = self.b.one(Op::Call(super::func_id(test.callee), args), BOOL);
            if test.adjoints {
                let operands = ir::Values::from_slice(&[holds, results[0]]);
                self.b.effect(Op::Check(Check::Degenerate { why: test.why.clone() }, operands));
            } else {
                let mut operands = ir::Values::from_slice(&[holds]);
                operands.extend(results.iter().copied());
                self.b.effect(Op::Check(Check::Visit, operands));
            }
        }
        for (target, &value) in targets.iter().zip(&results[callee.results.len()..]) {
            if let Some(target) = target {
                self.write(target, value);
            }
        }
        results.truncate(callee.results.len());
        results
    }

    pub(super) fn view(&mut self, array: &'a Expr, dims: &'a [ViewIndex], ty: Type) -> ValueId {
        let array = self.expr(array);
        let whole = |dim: &ViewIndex| matches!(dim, ViewIndex::Range { start: None, stop: None, step: None });
        let named = dims.iter().rposition(|dim| !whole(dim)).map_or(0, |last| last + 1);
        if named == 0 {
            return array;
        }
        let indices = dims[..named].iter().zip(0u8..).map(|(dim, n)| self.view_index(array, n, dim)).collect();
        self.b.one(Op::View(array, indices), ty)
    }

    fn view_index(&mut self, array: ValueId, dim: u8, index: &'a ViewIndex) -> ir::ViewIndex {
        match index {
            ViewIndex::At(at) => {
                let at = self.expr(at);
                ir::ViewIndex::At(self.to_i32(at))
            }
            ViewIndex::Range { start, stop, step } => {
                let [start, stop, step] = [start, stop, step]
                    .map(|bound| bound.as_ref().map(|bound| self.expr(bound)).map(|v| self.to_i32(v)));
                let extent = self.b.extent(array, dim);
                let Some(step) = step else {
                    let (start, stop) = self.slice_ends(start, stop, extent, false);
                    let step = self.b.constant(Const::int(Scalar::I32, 1));
                    return ir::ViewIndex::Range { start, stop, step };
                };
                if let Some(known) = self.known(step).and_then(Const::as_int) {
                    let (start, stop) = self.slice_ends(start, stop, extent, known < 0);
                    return ir::ViewIndex::Range { start, stop, step };
                }
                // The direction is known at run time only. A step of 0 is an error, and where
                // nothing looks for errors it counts as 1.
                let (up, down) =
                    (self.slice_ends(start, stop, extent, false), self.slice_ends(start, stop, extent, true));
                let [zero, one] = [0, 1].map(|n| self.b.constant(Const::int(Scalar::I32, n)));
                let falls = self.b.compare(CompareOp::Lt, step, zero);
                let start = self.b.select(falls, down.0, up.0);
                let stop = self.b.select(falls, down.1, up.1);
                let moves = self.b.compare(CompareOp::Ne, step, zero);
                self.b.effect(ir::Op::Assert { condition: moves, message: "the step of a slice is 0".into() });
                let step = self.b.select(moves, step, one);
                ir::ViewIndex::Range { start, stop, step }
            }
        }
    }

    /// Where a slice starts and stops by Python's rule: bounds below 0 count from the end, and all
    /// are cut to 0..=extent, or for a slice that falls to -1..extent. Missing ones are the ends.
    fn slice_ends(
        &mut self,
        start: Option<ValueId>,
        stop: Option<ValueId>,
        extent: ValueId,
        falls: bool,
    ) -> (ValueId, ValueId) {
        let mut number = |n: i128| self.b.constant(Const::int(Scalar::I32, n));
        let (low, one) = (number(if falls { -1 } else { 0 }), number(1));
        let high = if falls { self.b.binary(BinaryOp::Sub, extent, one) } else { extent };
        let (first, past) = if falls { (high, low) } else { (low, high) };
        let mut bound = |bound: Option<ValueId>, missing: ValueId| match bound {
            Some(bound) => self.slice_bound(bound, extent, low, high),
            None => missing,
        };
        (bound(start, first), bound(stop, past))
    }

    fn slice_bound(&mut self, bound: ValueId, extent: ValueId, low: ValueId, high: ValueId) -> ValueId {
        let known = self.known(bound).and_then(Const::as_int);
        let from_end = |this: &mut Self| {
            let position = this.b.binary(BinaryOp::Add, bound, extent);
            this.b.binary(BinaryOp::Max, position, low)
        };
        match known {
            Some(0) if self.known(low).and_then(Const::as_int) == Some(0) => bound,
            Some(0..) => self.b.binary(BinaryOp::Min, bound, high),
            Some(_) => from_end(self),
            None => {
                let zero = self.b.constant(Const::int(Scalar::I32, 0));
                let negative = self.b.compare(CompareOp::Lt, bound, zero);
                let below = from_end(self);
                let above = self.b.binary(BinaryOp::Min, bound, high);
                self.b.select(negative, below, above)
            }
        }
    }

    fn to_i32(&mut self, value: ValueId) -> ValueId {
        self.convert(value, I32)
    }
}

/// How a step into a value of type `whole` reads behind the name of the value.
fn step_name(whole: Type, step: ir::Step, structs: &StructTable) -> String {
    match (whole, step) {
        (Type::Struct(id), ir::Step::At(n)) => {
            structs[id].fields.get(n as usize).map_or(String::new(), |field| format!(".{}", field.name))
        }
        (Type::Transform(_), ir::Step::At(n)) => if n == 0 { ".p" } else { ".q" }.to_string(),
        (_, ir::Step::At(n)) => format!("[{n}]"),
        (_, ir::Step::Dynamic(_)) => "[...]".to_string(),
    }
}
