//! The adjoints of memory: each array has a *shadow*, the array of its adjoints. A load adds to it,
//! a store takes from it and leaves zero. A null shadow means that no gradient is wanted.

use smallvec::SmallVec;

use super::reverse::Reverse;
use super::rules::scalar_path;
use super::state::Shadow;
use crate::analysis::alias::{Root, root};
use crate::autodiff::analysis::floats::has_tangent;
use crate::ir::{
    Access, AtomicOp, BlockId, CompareOp, Const, InstId, Op, Path, Step, UnaryOp, ValueDef, ValueId, Values, ViewIndex,
};
use crate::types::{BOOL, Type};

/// An element of a shadow: new values.
struct ShadowElement {
    shadow: Shadow,
    /// The views to take of it, outermost first, with their types.
    views: Vec<(SmallVec<[ViewIndex; 4]>, Type)>,
    indices: Values,
}

impl ShadowElement {
    /// A part of the element in `array`, which is the shadow cut by the views.
    fn access(&self, array: ValueId, path: Path) -> Access {
        Access { array, indices: self.indices.clone(), path }
    }
}

impl Reverse<'_> {
    /// The shadow of an array, without the views between the array and its root; None: it has none.
    fn shadow_of(&mut self, array: ValueId) -> Option<Shadow> {
        let found = root(self.old, array);
        if let Some(&shadow) = self.shadows.get(&found) {
            return Some(shadow);
        }
        let old = self.old;
        let ValueDef::Result(inst, _) = old.values[array].def else { return None };
        let inside = found == Root::Unknown && matches!(old.insts[inst].op, Op::Load(_) | Op::Extract(..));
        if !inside && !matches!(found, Root::Memory | Root::Constant) {
            return None;
        }
        // An array inside an element of another, or at an address: its own gradient.
        let copy = self.primal(array);
        let shadow = self.b.one(Op::Gradient(copy), old.ty(array));
        let set = self.b.one(Op::IsSet(shadow), BOOL);
        Some(Shadow { array: shadow, set })
    }

    /// Makes the shadows of the tiles that a block of the program makes, for the reverse of that
    /// block.
    pub fn tile_shadows(&mut self, block: BlockId) {
        let old = self.old;
        for &id in &old.blocks[block].insts {
            let inst = &old.insts[id];
            let (Op::LocalArray, Some(&tile)) = (&inst.op, inst.results.first()) else { continue };
            let ty = old.ty(tile);
            if ty.is_local_array() && has_tangent(ty, &self.world.module.structs) && !self.facts.activity.is_fixed(tile)
            {
                let array = self.b.one(Op::LocalArray, ty);
                self.name_after(array, "adj_", tile);
                let set = self.b.constant(Const::bool(true));
                self.shadows.insert(Root::Local(tile), Shadow { array, set });
            }
        }
    }

    /// Where the adjoint of an element is.
    fn place(&mut self, array: ValueId, indices: &[ValueId]) -> Option<ShadowElement> {
        let old = self.old;
        let mut views = Vec::new();
        let mut at = array;
        while let Some(Op::View(inner, dims)) = old.op(at) {
            let mut dims = dims.clone();
            for dim in &mut dims {
                match dim {
                    ViewIndex::At(v) => *v = self.primal(*v),
                    ViewIndex::Range { start, stop, step } => {
                        [start, stop, step].into_iter().for_each(|v| *v = self.primal(*v));
                    }
                }
            }
            views.push((dims, old.ty(at)));
            at = *inner;
        }
        views.reverse();
        let indices = self.primals(indices);
        let shadow = self.shadow_of(at)?;
        Some(ShadowElement { shadow, views, indices })
    }

    /// The adjoint of an array given to a function: its shadow, cut like the array.
    pub fn shadow_argument(&mut self, array: ValueId) -> ValueId {
        match self.place(array, &[]) {
            Some(place) if place.views.is_empty() => place.shadow.array,
            Some(place) => {
                // A view of a null array would be out of bounds.
                let ty = self.old.ty(array);
                let set = place.shadow.set;
                self.guarded(set, Some(ty), |this| Some(this.cut(&place))).unwrap_or(place.shadow.array)
            }
            None => self.b.zero(self.old.ty(array)),
        }
    }

    fn cut(&mut self, place: &ShadowElement) -> ValueId {
        place.views.iter().fold(place.shadow.array, |array, (dims, ty)| self.b.one(Op::View(array, dims.clone()), *ty))
    }

    /// `if condition { body }`; returns the value of the body, or else zero.
    pub fn guarded(
        &mut self,
        condition: ValueId,
        ty: Option<Type>,
        body: impl FnOnce(&mut Self) -> Option<ValueId>,
    ) -> Option<ValueId> {
        let (then, otherwise) = (self.b.new_block(&[]), self.b.new_block(&[]));
        let outside = self.b.switch_to(then);
        let value = body(self);
        let given: Vec<ValueId> = value.into_iter().filter(|_| ty.is_some()).collect();
        self.b.yield_(&given);
        self.b.switch_to(otherwise);
        let zeros: Vec<ValueId> = given.iter().map(|&v| self.b.zero(self.b.ty(v))).collect();
        self.b.yield_(&zeros);
        self.b.switch_to(outside);
        let types: Vec<Type> = given.iter().map(|&v| self.b.ty(v)).collect();
        let results = self.b.push(Op::If { condition, then, otherwise }, &types);
        results.first().copied()
    }

    /// v = a[i]: the shadow's element gets `d` added.
    pub fn reverse_load(&mut self, result: ValueId, access: &Access, d: ValueId) {
        let path = self.primal_path(&access.path);
        if self.facts.accumulations.is_old(result) {
            return;
        }
        let Some(place) = self.place(access.array, &access.indices) else { return };
        let ty = self.old.ty(result);
        let private = self.facts.private(self.old, access.array);
        self.guarded(place.shadow.set, None, |this| {
            let array = this.cut(&place);
            this.add_to_memory(place.access(array, path), ty, d, private);
            None
        });
    }

    /// memory += d, every float of a value of type `ty`.
    fn add_to_memory(&mut self, access: Access, ty: Type, d: ValueId, private: bool) {
        if let Type::Struct(id) = ty {
            let structs = &self.world.module.structs;
            for (n, field) in structs[id].fields.iter().enumerate() {
                if field.ty.holds_floats(structs) {
                    let part = self.b.extract_at(d, n as u32, field.ty);
                    self.add_to_memory(access.part(Step::At(n as u32)), field.ty, part, private);
                }
            }
            return;
        }
        if private {
            let before = self.b.one(Op::Load(access.clone()), ty);
            let sum = self.sum_of(before, d);
            self.b.effect(Op::Store { access, value: sum });
        } else {
            self.b.one(Op::Atomic { op: AtomicOp::Add, access, value: d }, ty);
        }
    }

    /// a[i] = v: v gets what the shadow's element holds, which becomes zero; or stays, if v is a
    /// sum with the old a[i].
    pub fn reverse_store(&mut self, id: InstId, access: &Access, value: ValueId) {
        let ty = self.old.ty(value);
        if !ty.holds_floats(&self.world.module.structs) {
            return;
        }
        let path = self.primal_path(&access.path);
        let Some(place) = self.place(access.array, &access.indices) else { return };
        let wanted = self.is_active(value).then_some(ty);
        let taken = self.guarded(place.shadow.set, wanted, |this| {
            let array = this.cut(&place);
            let access = place.access(array, path);
            if this.facts.accumulations.is_one(id) {
                return wanted.map(|ty| this.b.one(Op::Load(access), ty));
            }
            this.take_memory(access, ty, wanted.is_some())
        });
        if let Some(taken) = taken {
            self.add(value, taken);
        }
    }

    /// Sets every float of an element to zero; what it was before, if wanted.
    fn take_memory(&mut self, access: Access, ty: Type, wanted: bool) -> Option<ValueId> {
        if let Type::Struct(id) = ty {
            let structs = &self.world.module.structs;
            let mut whole = wanted.then(|| self.b.zero(ty));
            for (n, field) in structs[id].fields.iter().enumerate() {
                if !field.ty.holds_floats(structs) {
                    continue;
                }
                let step = Step::At(n as u32);
                let part = self.take_memory(access.part(step), field.ty, wanted);
                if let (Some(before), Some(part)) = (whole, part) {
                    whole = Some(self.b.one(Op::Insert(before, SmallVec::from_slice(&[step]), part), ty));
                }
            }
            return whole;
        }
        let before = wanted.then(|| self.b.one(Op::Load(access.clone()), ty));
        let value = self.b.zero(ty);
        self.b.effect(Op::Store { access, value });
        before
    }

    /// An atomic whose old value has no adjoint.
    pub fn reverse_atomic(&mut self, result: ValueId, op: AtomicOp, access: &Access, value: ValueId) {
        self.take(result);
        let extreme = matches!(op, AtomicOp::Min | AtomicOp::Max);
        if !(extreme || op == AtomicOp::Exchange || self.is_active(value)) {
            return;
        }
        let ty = self.old.ty(value);
        let path = self.primal_path(&access.path);
        let inputs = extreme.then(|| (self.primal(access.array), self.primal(value)));
        let Some(place) = self.place(access.array, &access.indices) else { return };
        let share = self.guarded(place.shadow.set, Some(ty), |this| {
            let shadow = this.cut(&place);
            let access = place.access(shadow, path);
            Some(match (op, &inputs) {
                (AtomicOp::Min | AtomicOp::Max, Some((content, v))) => this.winners_share(&access, *content, *v),
                // The value has no adjoint (else there is an error), and the content before is
                // gone.
                (AtomicOp::Exchange, _) => {
                    let value = this.b.zero(ty);
                    this.b.one(Op::Atomic { op, access, value }, ty)
                }
                _ => {
                    let d = this.b.one(Op::Load(access), ty);
                    if op == AtomicOp::Sub { this.b.unary(UnaryOp::Neg, d) } else { d }
                }
            })
        });
        if let Some(share) = share {
            self.add(value, share);
        }
    }

    /// Atomic min and max: a value that is the element's final content takes the whole adjoint; the
    /// first of several equal ones does. What nobody takes stays with the content before the
    /// launch.
    fn winners_share(&mut self, shadow: &Access, content: ValueId, value: ValueId) -> ValueId {
        let ty = self.b.ty(value);
        let (Some(count), Some(scalar)) = (ty.scalar_count(), ty.scalar_part()) else { return self.b.zero(ty) };
        let mut shares = Values::new();
        for n in 0..count {
            let steps = if ty.is_composite() { scalar_path(ty, n) } else { Path::new() };
            let mut taken = shadow.clone();
            taken.path.extend(steps.iter().copied());
            let part = Type::Scalar(scalar);
            let v = if steps.is_empty() { value } else { self.b.one(Op::Extract(value, steps), part) };
            let last = self.b.one(Op::Load(Access { array: content, ..taken.clone() }), part);
            let won = self.b.compare(CompareOp::Eq, last, v);
            let share = self.guarded(won, Some(part), |this| {
                let zero = this.b.zero(part);
                Some(this.b.one(Op::Atomic { op: AtomicOp::Exchange, access: taken, value: zero }, part))
            });
            shares.extend(share);
        }
        if ty.is_composite() { self.b.one(Op::Construct(shares), ty) } else { shares[0] }
    }
}
