//! How does a value lie in tape buffers? A buffer is a matrix `[slot][thread]` of one scalar type;
//! a value takes as many slots of each buffer as it has scalars of that type, and all buffers count
//! their slots from the same place.

use std::collections::BTreeMap;

use crate::ir::build::Builder;
use crate::ir::{Access, AtomicOp, BinaryOp, CompareOp, Op, Path, Step, TapeBuffer, TapeRole, ValueId};
use crate::types::{ArrayType, Element, I32, Scalar, StructTable, Type};

/// Numbers of slots per buffer.
pub type Slots = BTreeMap<Scalar, u32>;

/// The scalar that a buffer for scalars of this type holds.
fn stored(scalar: Scalar) -> Scalar {
    if scalar == Scalar::Bool { Scalar::I32 } else { scalar }
}

/// The paths to all scalars of a value, in order. None: it holds an array, which no buffer can
/// keep.
fn parts(ty: Type, structs: &StructTable) -> Option<Vec<(Path, Scalar)>> {
    fn visit(ty: Type, path: &mut Path, structs: &StructTable, out: &mut Vec<(Path, Scalar)>) -> Option<()> {
        match ty {
            Type::Scalar(scalar) => out.push((path.clone(), scalar)),
            Type::Array(_) | Type::Local(_) => return None,
            _ => {
                for n in 0..ty.step_count(structs) {
                    path.push(Step::At(n));
                    visit(ty.step(Some(n), structs)?, path, structs, out)?;
                    path.pop();
                }
            }
        }
        Some(())
    }
    let mut out = Vec::new();
    visit(ty, &mut Path::new(), structs, &mut out)?;
    Some(out)
}

/// The slots that a value of this type takes. None: it can't be kept.
pub fn slots_of(ty: Type, structs: &StructTable) -> Option<Slots> {
    let mut slots = Slots::new();
    for (_, scalar) in parts(ty, structs)? {
        *slots.entry(stored(scalar)).or_insert(0) += 1;
    }
    Some(slots)
}

/// a += b
pub fn add(a: &mut Slots, b: &Slots) {
    for (&scalar, &count) in b {
        *a.entry(scalar).or_insert(0) += count;
    }
}

/// The slots that the longest takes.
pub fn height(slots: &Slots) -> u32 {
    slots.values().copied().max().unwrap_or(0)
}

/// Adds the array for the gradients of parameters to those of a backward entry: see
/// [`TapeRole::Parameters`].
pub fn parameter_gradients(b: &mut Builder, slots: u32, reason: String) -> ValueId {
    let entry = b.function.entry;
    let param = b.params(entry).len() as u32;
    let value = b.add_param(entry, Type::Array(ArrayType { element: Element::Scalar(Scalar::F64), ndim: 1 }));
    b.name(value, "parameter_gradients");
    b.function.tape.push(TapeBuffer { param, role: TapeRole::Parameters, slots: Some(slots), reason });
    value
}

/// The buffers of one role of a function under construction.
#[derive(Clone, Debug)]
pub struct Buffers {
    arrays: BTreeMap<Scalar, ValueId>,
    /// The thread's number in the launch.
    thread: ValueId,
    /// The slots there are (int32).
    pub extent: ValueId,
    needed: Option<ValueId>,
}

/// What [`Buffers::new`] is to make.
pub struct Wanted<'a> {
    pub scalars: &'a [Scalar],
    pub role: TapeRole,
    /// The slots that suffice, where compilation can tell.
    pub slots: Option<u32>,
    /// With a counter for the slots that were wanted and not there.
    pub counted: bool,
    pub reason: &'a str,
}

impl Buffers {
    /// Adds buffers to the parameters of a kernel whose entry block is current. None: no scalar is
    /// to be kept.
    pub fn new(b: &mut Builder, wanted: &Wanted<'_>) -> Option<Buffers> {
        let entry = b.function.entry;
        let param = |b: &mut Builder, name: &str, scalar: Scalar, ndim: u8, role: TapeRole, reason: &str| {
            let n = b.params(entry).len() as u32;
            let value = b.add_param(entry, Type::Array(ArrayType { element: Element::Scalar(scalar), ndim }));
            b.name(value, name);
            let slots = if role == TapeRole::Needed { None } else { wanted.slots };
            b.function.tape.push(TapeBuffer { param: n, role, slots, reason: reason.to_string() });
            value
        };
        let word = wanted.role.name();
        let mut arrays = BTreeMap::new();
        for &scalar in wanted.scalars {
            let name = format!("{word}_{}", scalar.name());
            arrays.insert(scalar, param(b, &name, scalar, 2, wanted.role, wanted.reason));
        }
        let needed = (wanted.counted && !arrays.is_empty()).then(|| {
            param(b, &format!("{word}_needed"), Scalar::I64, 1, TapeRole::Needed, "the slots that were missing")
        });
        let thread = b.one(Op::ThreadNumber, I32);
        b.name(thread, "thread");
        let extent = b.extent(*arrays.values().next()?, 0);
        b.name(extent, &format!("{word}_slots"));
        Some(Buffers { arrays, thread, extent, needed })
    }

    /// `base + offset`
    fn slot(b: &mut Builder, base: Option<ValueId>, offset: u32) -> ValueId {
        let number = b.int(Scalar::I32, i128::from(offset));
        match base {
            Some(base) if offset == 0 => base,
            Some(base) => b.binary(BinaryOp::Add, base, number),
            None => number,
        }
    }

    /// Stores a value from slot `base + offset` of each buffer on.
    pub fn put(&self, b: &mut Builder, structs: &StructTable, value: ValueId, base: Option<ValueId>, offset: &Slots) {
        let mut next = offset.clone();
        for (path, scalar) in parts(b.ty(value), structs).unwrap_or_default() {
            let part = if path.is_empty() { value } else { b.one(Op::Extract(value, path), Type::Scalar(scalar)) };
            let part = b.cast(part, stored(scalar));
            let Some(&array) = self.arrays.get(&stored(scalar)) else { continue };
            let at = next.entry(stored(scalar)).or_insert(0);
            let slot = Buffers::slot(b, base, *at);
            *at += 1;
            b.effect(Op::Store { access: Access::element(array, &[slot, self.thread]), value: part });
        }
    }

    /// What [`Buffers::put`] stored there.
    pub fn get(
        &self,
        b: &mut Builder,
        structs: &StructTable,
        ty: Type,
        base: Option<ValueId>,
        offset: &Slots,
    ) -> ValueId {
        let mut next = offset.clone();
        let mut whole = None;
        for (path, scalar) in parts(ty, structs).unwrap_or_default() {
            let Some(&array) = self.arrays.get(&stored(scalar)) else { continue };
            let at = next.entry(stored(scalar)).or_insert(0);
            let slot = Buffers::slot(b, base, *at);
            *at += 1;
            let access = Access::element(array, &[slot, self.thread]);
            let part = b.one(Op::Load(access), Type::Scalar(stored(scalar)));
            let part = b.cast(part, scalar);
            if path.is_empty() {
                return part;
            }
            let before = whole.unwrap_or_else(|| b.zero(ty));
            whole = Some(b.one(Op::Insert(before, path, part), ty));
        }
        whole.unwrap_or_else(|| b.zero(ty))
    }

    /// bool: there are more than `base + offset` slots. Without a sign, so that a number that
    /// overflowed is too large.
    pub fn has_room(&self, b: &mut Builder, base: Option<ValueId>, offset: u32) -> ValueId {
        let slot = Buffers::slot(b, base, offset);
        if base.is_none() {
            return b.compare(CompareOp::Lt, slot, self.extent);
        }
        let (slot, extent) = (b.cast(slot, Scalar::U32), b.cast(self.extent, Scalar::U32));
        b.compare(CompareOp::Lt, slot, extent)
    }

    /// Reports the slots that the thread wanted and its number, if there are fewer.
    pub fn report(&self, b: &mut Builder, wanted: ValueId) {
        let Some(array) = self.needed else { return };
        let bits = [wanted, self.extent].map(|v| b.cast(v, Scalar::U32));
        let missing = b.compare(CompareOp::Gt, bits[0], bits[1]);
        let then = b.new_block(&[]);
        let otherwise = b.new_block(&[]);
        let outside = b.switch_to(then);
        let zero = b.int(Scalar::I32, 0);
        let most = b.int(Scalar::I32, i128::from(i32::MAX));
        let overflowed = b.compare(CompareOp::Lt, wanted, zero);
        let value = b.select(overflowed, most, wanted);
        let [slots, thread] = [value, self.thread].map(|v| b.cast(v, Scalar::I64));
        let half = b.int(Scalar::I64, 32);
        let slots = b.binary(BinaryOp::Shl, slots, half);
        let value = b.binary(BinaryOp::Or, slots, thread);
        let op = Op::Atomic { op: AtomicOp::Max, access: Access::element(array, &[zero]), value };
        b.one(op, Type::Scalar(Scalar::I64));
        b.yield_(&[]);
        b.switch_to(otherwise);
        b.yield_(&[]);
        b.switch_to(outside);
        b.push(Op::If { condition: missing, then, otherwise }, &[]);
    }
}
