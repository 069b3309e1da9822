//! How are arrays addressed, loaded, stored and viewed? Rules 13 and 14 of the IR.

use smallvec::{SmallVec, smallvec};

use super::builder::{IntPredicate, Val};
use super::control::Join;
use super::flatten::{self, ARRAY_DATA, ARRAY_GRAD, ARRAY_SHAPE, Leaf, LeafKind, leaf_count, leaf_start, leaves};
use super::indices::{DimCheck, Index};
use super::lower::{Frame, Lower, Scalars};
use crate::abi::descriptor;
use crate::codegen::shadow;
use crate::codegen::sites::SiteKind;
use crate::ir::{Access, FuncId, Inst, Op, Path, Step, ValueId, ViewIndex};
use crate::source::Span;
use crate::types::{ArrayType, Element, Layout, MAX_DIMS, Scalar, Type};

/// An array or a local array, taken apart.
pub struct ArrayParts<'ctx> {
    pub data: Val<'ctx>,
    /// i32.
    pub extents: SmallVec<[Val<'ctx>; 4]>,
    /// i32, in bytes.
    pub strides: SmallVec<[Val<'ctx>; 4]>,
    pub element: Element,
    pub is_local: bool,
}

/// Which element an access names: its indices and the checks that come before it.
#[derive(Clone)]
pub struct ElementPlace<'ctx> {
    data: Val<'ctx>,
    /// The indices, each with its stride in bytes (i32).
    indices: SmallVec<[(Index<'ctx>, Val<'ctx>); 4]>,
    /// The last stride is the size of the element: this many bytes.
    dense: Option<u32>,
    checks: SmallVec<[DimCheck<'ctx>; 2]>,
    site: Option<Val<'ctx>>,
    pub is_local: bool,
    pub element: Type,
    /// What the element's address is a multiple of, in bytes, beyond what its scalars need; 1:
    /// nothing is known.
    align: u32,
    /// How many bytes (i64) further the element is that a later thread names, if its address is to
    /// be asked for.
    later: Option<Val<'ctx>>,
}

impl<'ctx> ElementPlace<'ctx> {
    /// Its index (i64), where it has one.
    pub fn only_index(&self) -> Option<Val<'ctx>> {
        if let [(index, _)] = &self.indices[..] { Some(index.wide) } else { None }
    }
}

/// A part of an element: its address, its type, and whether a run-time component index names it at
/// all.
pub struct AccessedPart<'ctx> {
    pub pointer: Val<'ctx>,
    pub ty: Type,
    /// As in [`ElementPlace`].
    pub align: u32,
    pub exists: Option<Val<'ctx>>,
}

/// The widest access to memory, in bytes.
pub(super) const MAX_ALIGN: u32 = 16;

/// Threads of a warp store elements of so many numbers by rows: caches bring those of three
/// together.
const LEAST_STORED: u32 = 5;

/// The greatest power of two that divides both, where `align` is one.
fn common(align: u32, offset: u32) -> u32 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    pub fn array(&self, frame: &Frame<'a, 'ctx>, array: ValueId) -> ArrayParts<'ctx> {
        let scalars = frame.get(array);
        match frame.ty(array) {
            Type::Array(ty) => {
                let n = usize::from(ty.ndim);
                let strides = flatten::array_strides(ty.ndim);
                ArrayParts {
                    data: scalars[ARRAY_DATA],
                    extents: scalars[ARRAY_SHAPE..ARRAY_SHAPE + n].iter().copied().collect(),
                    strides: scalars[strides..strides + n].iter().copied().collect(),
                    element: ty.element,
                    is_local: false,
                }
            }
            Type::Local(ty) => {
                let n = usize::from(ty.ndim);
                let size = Layout::of_element(ty.element, &self.ir.structs).size;
                let mut strides: SmallVec<[Val; 4]> = smallvec![];
                for dim in 0..n {
                    let below: u64 = ty.shape[dim + 1..n].iter().map(|&e| u64::from(e)).product();
                    strides.push(self.ll.const_i32((below * u64::from(size)) as i32));
                }
                ArrayParts {
                    data: scalars[0],
                    extents: ty.shape[..n].iter().map(|&e| self.ll.const_i32(e as i32)).collect(),
                    strides,
                    element: ty.element,
                    is_local: true,
                }
            }
            other => unreachable!("verified IR: an array, not {other:?}"),
        }
    }

    pub fn is_set(&self, frame: &Frame<'a, 'ctx>, array: ValueId) -> Val<'ctx> {
        let address = self.ll.ptr_to_int(frame.scalar(array), self.ll.i64());
        self.ll.icmp(IntPredicate::NE, address, self.ll.const_i64(0))
    }

    /// The array behind the descriptor's adjoint pointer: without one, nothing is inside its
    /// extents.
    pub fn gradient(&mut self, frame: &Frame<'a, 'ctx>, array: ValueId) -> Scalars<'ctx> {
        let Type::Array(ty) = frame.ty(array) else { return frame.get(array).clone() };
        let gradient = self.gradient_of(frame.get(array), ty);
        self.has_extents_of(&gradient, frame.get(array), ty);
        if self.aligned.contains(&frame.get(array)[ARRAY_DATA]) {
            self.aligned.insert(gradient[ARRAY_DATA]);
        }
        gradient
    }

    /// On a GPU, indices of an array of adjoints are tested as those of the array: with its
    /// extents, of which much is known. Generated code asks before whether there is one.
    fn has_extents_of(&mut self, gradient: &[Val<'ctx>], array: &[Val<'ctx>], ty: ArrayType) {
        if self.target.is_gpu() && self.target.is_checked() {
            for at in ARRAY_SHAPE..ARRAY_SHAPE + usize::from(ty.ndim) {
                self.facts.set_same(gradient[at], array[at]);
            }
        }
    }

    fn gradient_of(&self, scalars: &[Val<'ctx>], ty: ArrayType) -> Scalars<'ctx> {
        let ll = self.ll;
        let grad = scalars[ARRAY_GRAD];
        let exists = ll.icmp(IntPredicate::NE, grad, ll.const_i64(0));
        let mut made = smallvec![ll.int_to_ptr(grad, ll.ptr(self.target.array_space())), ll.const_i64(0)];
        for (n, &scalar) in scalars.iter().enumerate().skip(ARRAY_SHAPE) {
            let is_extent = n < ARRAY_SHAPE + usize::from(ty.ndim);
            made.push(if is_extent { ll.select(exists, scalar, ll.const_i32(0)) } else { scalar });
        }
        made
    }

    /// The array at an address: without one, nothing is inside its extents.
    pub fn array_at(&self, frame: &Frame<'a, 'ctx>, args: &[ValueId], result: ValueId) -> Scalars<'ctx> {
        let ll = self.ll;
        let (Type::Array(ty), [data, grad, extents @ ..]) = (frame.ty(result), args) else { return Scalars::new() };
        let (data, grad, none) = (frame.scalar(*data), frame.scalar(*grad), ll.const_i32(0));
        let exists = ll.icmp(IntPredicate::NE, data, ll.const_i64(0));
        let extents: SmallVec<[Val; 4]> = extents
            .iter()
            .map(|&extent| {
                let extent = frame.scalar(extent);
                let some = ll.and(exists, ll.icmp(IntPredicate::SGT, extent, none));
                ll.select(some, extent, none)
            })
            .collect();
        let mut stride = ll.const_i32(Layout::of_element(ty.element, &self.ir.structs).size as i32);
        let mut strides: SmallVec<[Val; 4]> = smallvec![];
        for &extent in extents.iter().rev() {
            strides.insert(0, stride);
            stride = ll.mul(stride, extent);
        }
        let mut made = smallvec![ll.int_to_ptr(data, ll.ptr(self.target.array_space())), grad];
        made.extend(extents);
        made.extend(strides);
        made
    }

    /// Gives the absent arrays of adjoints among a kernel's arguments what represents them.
    pub fn default_adjoints(&mut self, kernel: FuncId, args: &mut [Scalars<'ctx>]) {
        let (ll, function) = (self.ll, &self.ir.functions[kernel]);
        let structs = &self.ir.structs;
        // The argument's number, the position of the array in it, and its type.
        let find = |place: &shadow::ArrayPath| {
            let n = function.params().iter().position(|&p| p == place.param)?;
            let (mut start, mut ty) = (0, function.ty(place.param));
            for step in &place.path {
                let Step::At(field) = *step else { return None };
                start += leaf_start(ty, field, structs);
                ty = ty.step(Some(field), structs)?;
            }
            if let Type::Array(array) = ty { Some((n, start, array)) } else { None }
        };
        let shadows = self.state.shadows;
        for shadow in shadows.get(&kernel).into_iter().flatten() {
            let (Some((given, at, ty)), Some((n, start, _))) = (find(&shadow.given), find(&shadow.array)) else {
                continue;
            };
            let count = leaf_count(Type::Array(ty), structs);
            let default = self.gradient_of(&args[n][start..start + count], ty);
            let own = &mut args[given][at..at + count];
            let exists = ll.icmp(IntPredicate::NE, ll.ptr_to_int(own[ARRAY_DATA], ll.i64()), ll.const_i64(0));
            own.iter_mut().zip(default).for_each(|(own, other)| *own = ll.select(exists, *own, other));
            let (own, array) = (own.to_vec(), args[n][start..start + count].to_vec());
            self.has_extents_of(&own, &array, ty);
        }
    }

    // Addresses

    /// Looks up the element that `index` names. The address itself is computed by [`Self::part`],
    /// behind the checks.
    pub fn place(&mut self, frame: &Frame<'a, 'ctx>, access: &Access, span: Span) -> ElementPlace<'ctx> {
        let ll = self.ll;
        let parts = self.array(frame, access.array);
        let size = Layout::of_element(parts.element, &self.ir.structs).size;
        let mut place = ElementPlace {
            data: parts.data,
            indices: smallvec![],
            dense: None,
            checks: smallvec![],
            site: None,
            is_local: parts.is_local,
            element: parts.element.into(),
            align: if self.aligned.contains(&parts.data) { common(MAX_ALIGN, size) } else { 1 },
            later: None,
        };
        // Loops over elements that a thread has in registers become straight code, in which LLVM
        // finds what addresses have in common.
        let is_tile = matches!(frame.ty(access.array), Type::Local(array) if array.block);
        for (dim, &i) in access.indices.iter().enumerate() {
            let stride = parts.strides[dim];
            let (mut wide, check) = self.index(frame, i, dim as u32, parts.extents[dim], parts.is_local);
            if is_tile {
                wide.narrow = None;
            }
            place.checks.extend(check);
            let dense = dim + 1 == access.indices.len()
                && (ll.as_int(stride) == Some(i64::from(size))
                    || self.mode.guards_mut().is_some_and(|g| g.require_stride(stride, size, &parts.extents)));
            place.indices.push((wide, stride));
            place.dense = (dense && !self.multiplies_by_hand(wide)).then_some(size);
        }
        if !place.checks.is_empty() {
            let name = frame.function.values[access.array].name.clone().unwrap_or_default();
            let tells = self.target.is_checked() && !(parts.is_local && self.target.is_gpu());
            place.site = tells.then(|| self.site(span, SiteKind::Access, &name));
        }
        place.later = self.later_element(frame, access, &parts);
        place
    }

    /// The address of the part that `path` names inside the element.
    pub fn part(&mut self, frame: &Frame<'a, 'ctx>, place: &ElementPlace<'ctx>, path: &Path) -> AccessedPart<'ctx> {
        let ll = self.ll;
        let mut pointer = place.data;
        for (n, (index, stride)) in place.indices.iter().enumerate() {
            // A constant stride comes last, so that address analysis sees it.
            pointer = match place.dense.filter(|_| n + 1 == place.indices.len()) {
                Some(size) => ll.element(pointer, ll.bytes(u64::from(size)), index.wide),
                None => ll.offset(pointer, self.byte_offset(*index, *stride)),
            };
        }
        if let Some(bytes) = place.later {
            ll.prefetch(ll.outside(pointer, bytes));
        }
        let (mut ty, mut align) = (place.element, place.align);
        let mut exists: Option<Val> = None;
        for step in path {
            match *step {
                Step::At(n) => {
                    let offset = Layout::step_offset(ty, n, &self.ir.structs);
                    pointer = ll.offset_by(pointer, u64::from(offset));
                    align = common(align, offset);
                    ty = self.step_ty(ty, Some(n));
                }
                Step::Dynamic(index) => {
                    let count = ty.step_count(&self.ir.structs);
                    let index = self.component_index(frame, index, count);
                    let within = ll.icmp(IntPredicate::ULT, index, ll.const_i64(i64::from(count)));
                    let safe = ll.select(within, index, ll.const_i64(0));
                    exists = Some(exists.map_or(within, |e| ll.and(e, within)));
                    let size = Layout::step_offset(ty, 1, &self.ir.structs);
                    pointer = ll.offset(pointer, ll.mul(safe, ll.const_i64(i64::from(size))));
                    align = common(align, size);
                    ty = self.step_ty(ty, None);
                }
            }
        }
        AccessedPart { pointer, ty, align, exists }
    }

    /// Runs `access` if the place's checks hold; otherwise reports the first that does not and
    /// gives zeros of `results`. The place that `access` gets is the one to use.
    pub fn checked(
        &mut self,
        place: &ElementPlace<'ctx>,
        results: Type,
        access: impl FnOnce(&mut Self, &ElementPlace<'ctx>) -> Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let types = self.leaf_types(results);
        let ll = self.ll;
        let all = |ok: &dyn Fn(&DimCheck<'ctx>) -> Val<'ctx>| place.checks.iter().map(ok).reduce(|a, b| ll.and(a, b));
        let Some(ok) = all(&|c| c.within) else {
            return access(self, place);
        };
        let (good, bad) = (ll.block(self.into.function, "inside"), ll.block(self.into.function, "outside"));
        let mut join = Join::new(ll, self.into.function, "accessed", &types);
        // Indices are rarely negative: what such a one means is only found out where it does not do
        // as it is.
        let mut indices: SmallVec<[(usize, Val); 2]> = smallvec![];
        if place.checks.iter().any(|c| c.direct.is_some())
            && let Some(direct) = all(&|c| c.direct.map_or(c.within, |direct| direct.0))
        {
            let (here, second) = (ll.current_block(), ll.block(self.into.function, "fromend"));
            ll.likely_br(direct, good, second);
            ll.position_at_end(good);
            for check in &place.checks {
                if let Some((_, wide)) = check.direct {
                    let index = ll.phi(ll.i64());
                    ll.add_incoming(index, wide, here);
                    ll.add_incoming(index, place.indices[check.dim as usize].0.wide, second);
                    indices.push((check.dim as usize, index));
                }
            }
            ll.position_at_end(second);
        }
        ll.likely_br(ok, good, bad);

        ll.position_at_end(bad);
        let mut checks = place.checks.iter().rev();
        if let (Some(last), Some(site)) = (checks.next(), place.site) {
            let dim_of = |c: &DimCheck<'ctx>| ll.const_i32(c.dim as i32);
            let first = checks.fold((dim_of(last), last.index, last.extent), |rest, c| {
                let choose = |later, here| ll.select(c.within, later, here);
                (choose(rest.0, dim_of(c)), choose(rest.1, c.index), choose(rest.2, c.extent))
            });
            self.report_out_of_bounds(site, first.0, first.1, first.2);
        }
        let zeros: Scalars = types.iter().map(|t| ll.zero(*t)).collect();
        join.jump(ll, &zeros);

        ll.position_at_end(good);
        let mut place = place.clone();
        for (dim, index) in indices {
            place.indices[dim].0 = Index { wide: index, narrow: None, step: None };
        }
        let values = access(self, &place);
        join.jump(ll, &values);
        join.enter(ll)
    }

    // Values in memory

    /// Reads a value of type `ty`. `align` as in [`ElementPlace`].
    pub fn load_value(&mut self, pointer: Val<'ctx>, ty: Type, align: u32) -> Scalars<'ctx> {
        let ll = self.ll;
        let mut scalars = self.load_argument(pointer, ty, align);
        if self.target.is_checked() {
            // Indices are compared as if extents were not negative: memory of others may say so.
            for at in flatten::extents(ty, &self.ir.structs) {
                scalars[at] = ll.intrinsic("llvm.smax", &[ll.i32()], &[scalars[at], ll.const_i32(0)]);
            }
        }
        scalars
    }

    /// The same where no extent is negative.
    pub fn load_argument(&mut self, pointer: Val<'ctx>, ty: Type, align: u32) -> Scalars<'ctx> {
        let ll = self.ll;
        let mut scalars = Scalars::new();
        flatten::for_each_leaf(ty, 0, &self.ir.structs, &mut |Leaf { kind, offset }| {
            let at = ll.offset_by(pointer, u64::from(offset));
            scalars.push(match kind {
                LeafKind::Scalar(s) => {
                    let align = common(align, offset).max(s.size());
                    self.ops.decode(s, ll.load(self.ops.memory_ty(s), at, align))
                }
                LeafKind::Pointer => {
                    // Memory holds generic addresses.
                    let generic = ll.load(ll.ptr(0), at, 8);
                    let space = self.target.array_space();
                    if space == 0 { generic } else { ll.addrspacecast(generic, ll.ptr(space)) }
                }
                LeafKind::Local => ll.load(ll.ptr(0), at, 8),
            });
        });
        scalars
    }

    /// Writes a value of type `ty`. `align` as in [`ElementPlace`].
    pub fn store_value(&mut self, pointer: Val<'ctx>, ty: Type, align: u32, scalars: &Scalars<'ctx>) {
        let ll = self.ll;
        let mut values = scalars.iter();
        flatten::for_each_leaf(ty, 0, &self.ir.structs, &mut |Leaf { kind, offset }| {
            let Some(&value) = values.next() else { return };
            let at = ll.offset_by(pointer, u64::from(offset));
            match kind {
                LeafKind::Scalar(s) => ll.store(self.ops.encode(s, value), at, common(align, offset).max(s.size())),
                LeafKind::Pointer => {
                    let space = self.target.array_space();
                    let generic = if space == 0 { value } else { ll.addrspacecast(value, ll.ptr(0)) };
                    ll.store(generic, at, 8);
                }
                LeafKind::Local => ll.store(value, at, 8),
            }
        });
        self.complete_descriptors(pointer, ty);
    }

    /// Writes the fields of array descriptors that are the same for all arrays of the type.
    fn complete_descriptors(&mut self, pointer: Val<'ctx>, ty: Type) {
        let ll = self.ll;
        match ty {
            Type::Array(array) => {
                let store = |offset: u32, value: i32| {
                    ll.store(ll.const_i32(value), ll.offset_by(pointer, u64::from(offset)), 4);
                };
                for dim in u32::from(array.ndim)..MAX_DIMS as u32 {
                    store(descriptor::SHAPE + 4 * dim, 0);
                    store(descriptor::STRIDES + 4 * dim, 0);
                }
                store(descriptor::NDIM, i32::from(array.ndim));
                store(descriptor::FLAGS, 0);
            }
            Type::Struct(id) => {
                for (n, field) in self.ir.structs[id].fields.iter().enumerate() {
                    let offset = Layout::step_offset(ty, n as u32, &self.ir.structs);
                    self.complete_descriptors(ll.offset_by(pointer, u64::from(offset)), field.ty);
                }
            }
            _ => {}
        }
    }

    // Operations

    pub fn load(&mut self, frame: &Frame<'a, 'ctx>, access: &Access, inst: &'a Inst) -> Scalars<'ctx> {
        let Some(&result) = inst.results.first() else { return Scalars::new() };
        let differ = access.indices.iter().any(|&i| self.any_varies(frame.get(i)));
        if differ || self.is_of_lane(frame, access.array) {
            return self.load_lanes(frame, access, inst.span);
        }
        let place = self.place(frame, access, inst.span);
        self.checked(&place, frame.ty(result), |lower, place| {
            let part = lower.part(frame, place, &access.path);
            let ll = lower.ll;
            ll.unchanging.set(lower.unchanging.contains(&place.data));
            let values = lower.load_value(part.pointer, part.ty, part.align);
            ll.unchanging.set(false);
            lower.load_later(place, &part, &values);
            match part.exists {
                None => values,
                Some(exists) => values.iter().map(|v| ll.select(exists, *v, ll.zero(ll.ty(*v)))).collect(),
            }
        })
    }

    /// Reads what a later thread reads where this one read `values`, if those may be indices.
    fn load_later(&mut self, place: &ElementPlace<'ctx>, part: &AccessedPart<'ctx>, values: &Scalars<'ctx>) {
        let ll = self.ll;
        if place.is_local || !place.checks.is_empty() || part.exists.is_some() {
            return;
        }
        let mut bytes = ll.const_i64(0);
        for (index, stride) in &place.indices {
            let Some(step) = index.step else { return };
            bytes = ll.add(bytes, ll.mul(ll.sext(*stride, ll.i64()), ll.const_i64(step)));
        }
        if let Some(further) = self.to_later(part.ty, bytes) {
            let later = self.load_value(ll.outside(part.pointer, further), part.ty, part.align);
            self.note_later(values, &later);
        }
    }

    pub fn store(&mut self, frame: &Frame<'a, 'ctx>, access: &Access, value: ValueId, span: Span) {
        let differ = access.indices.iter().chain([&value]).any(|&i| self.any_varies(frame.get(i)));
        if differ || self.is_of_lane(frame, access.array) {
            return self.store_lanes(frame, access, value, span);
        }
        let place = self.place(frame, access, span);
        // A composite of no components represents "no results".
        self.checked(&place, Type::Vec(0, Scalar::I32), |lower, place| {
            let part = lower.part(frame, place, &access.path);
            lower.when(part.exists, |lower| {
                let differs = lower.is_to_be_cleared(frame, access, value);
                lower.when(differs, |lower| {
                    lower.store_part(frame, access, &part, frame.get(value));
                    Scalars::new()
                });
                Scalars::new()
            });
            Scalars::new()
        });
    }

    fn store_part(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        access: &Access,
        part: &AccessedPart<'ctx>,
        scalars: &Scalars<'ctx>,
    ) {
        match (self.rows(frame, access, part.ty, LEAST_STORED), part.ty.scalar_part()) {
            (Some(rows), Some(s)) => self.by_rows(rows, part.pointer, scalars, |lower, at, number| {
                lower.ll.store(lower.ops.encode(s, number), at, s.size());
            }),
            _ => self.store_value(part.pointer, part.ty, part.align, scalars),
        }
    }

    /// Where a GPU's thread sets to zero what it has just read, as gradients do with what they use
    /// up: whether it is something else than zero. A store that goes out while the load of the same
    /// address is still under way makes both wait for the memory's answer, one warp after the other
    /// (1.82 ms instead of 0.59 for 80 million numbers on an H200); asked like this, it goes out
    /// afterwards.
    fn is_to_be_cleared(&mut self, frame: &Frame<'a, 'ctx>, access: &Access, value: ValueId) -> Option<Val<'ctx>> {
        let function = frame.function;
        let zero = |v| {
            function.as_const(v).is_some_and(|c| c.bits == 0)
                || matches!(function.def(v), Some(Inst { op: Op::Zero, .. }))
        };
        if !self.target.is_gpu() || !matches!(frame.ty(access.array), Type::Array(_)) || !zero(value) {
            return None;
        }
        // Back to what was read, unless something else is stored meanwhile.
        let insts = &function.blocks[frame.block].insts;
        let before = insts.iter().rposition(|&id| id == frame.at).map(|at| &insts[..at])?;
        let mut loaded = None;
        for &id in before.iter().rev() {
            let inst = &function.insts[id];
            if matches!(&inst.op, Op::Load(read) if read == access) {
                loaded = inst.results.first();
                break;
            }
            if !matches!(inst.op, Op::Load(_)) && !inst.op.properties().is_value() {
                break;
            }
        }
        let loaded = *loaded?;
        let (ll, ops) = (self.ll, self.ops);
        let mut any: Option<Val<'ctx>> = None;
        for (leaf, &value) in leaves(frame.ty(loaded), &self.ir.structs).iter().zip(frame.get(loaded)) {
            let LeafKind::Scalar(s) = leaf.kind else { return None };
            let bits = ops.to_bits(s, value);
            let differs = ll.icmp(IntPredicate::NE, bits, ll.zero(ll.ty(bits)));
            any = Some(any.map_or(differs, |any| ll.or(any, differs)));
        }
        any
    }

    /// Runs `body` if the condition holds (or there is none); zeros otherwise.
    pub fn when(
        &mut self,
        condition: Option<Val<'ctx>>,
        body: impl FnOnce(&mut Self) -> Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let Some(condition) = condition else { return body(self) };
        let ll = self.ll;
        let (yes, before) = (ll.block(self.into.function, "when"), ll.current_block());
        ll.position_at_end(yes);
        let values = body(self);
        let types: Vec<_> = values.iter().map(|v| ll.ty(*v)).collect();
        let mut join = Join::new(ll, self.into.function, "endwhen", &types);
        join.jump(ll, &values);
        ll.position_at_end(before);
        let zeros: Scalars = types.iter().map(|t| ll.zero(*t)).collect();
        join.come_from_here(ll, &zeros);
        ll.cond_br(condition, yes, join.block);
        join.enter(ll)
    }

    /// Runs one of two bodies that give nothing.
    pub fn either(&mut self, condition: Val<'ctx>, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let ll = self.ll;
        if ll.as_int(condition).is_some_and(|n| n != 0) {
            return then(self);
        }
        let [yes, no, after] = ["then", "else", "endif"].map(|name| ll.block(self.into.function, name));
        ll.cond_br(condition, yes, no);
        ll.position_at_end(yes);
        then(self);
        ll.br(after);
        ll.position_at_end(no);
        otherwise(self);
        ll.br(after);
        ll.position_at_end(after);
    }

    pub fn view(&mut self, frame: &Frame<'a, 'ctx>, array: ValueId, dims: &[ViewIndex], span: Span) -> Scalars<'ctx> {
        let ll = self.ll;
        let Type::Array(ty) = frame.ty(array) else { return frame.get(array).clone() };
        let parts = self.array(frame, array);
        let mut offset = ll.const_i64(0);
        let (mut extents, mut strides) = (Scalars::new(), Scalars::new());
        let mut checks: SmallVec<[DimCheck; 2]> = smallvec![];
        for dim in 0..usize::from(ty.ndim) {
            let (extent, stride) = (parts.extents[dim], parts.strides[dim]);
            match dims.get(dim) {
                None => {
                    extents.push(extent);
                    strides.push(stride);
                }
                Some(ViewIndex::At(index)) => {
                    let (wide, check) = self.index(frame, *index, dim as u32, extent, false);
                    checks.extend(check);
                    offset = ll.add(offset, self.byte_offset(wide, stride));
                }
                Some(ViewIndex::Range { start, stop, step }) => {
                    let (start, stop, step) = (frame.scalar(*start), frame.scalar(*stop), frame.scalar(*step));
                    let byte = ll.mul(ll.sext(start, ll.i64()), ll.sext(stride, ll.i64()));
                    offset = ll.add(offset, byte);
                    let zero = ll.const_i32(0);
                    let falls = ll.icmp(IntPredicate::SLT, step, zero);
                    let length = ll.select(falls, ll.sub(start, stop), ll.sub(stop, start));
                    let some = ll.icmp(IntPredicate::SGT, length, zero);
                    let pace = ll.select(falls, ll.sub(zero, step), step);
                    // The step is not 0; a wrong one must not trap.
                    let moves = ll.icmp(IntPredicate::NE, pace, zero);
                    let divisor = ll.select(moves, pace, ll.const_i32(1));
                    let count = ll.add(ll.udiv(ll.sub(length, ll.const_i32(1)), divisor), ll.const_i32(1));
                    extents.push(ll.select(some, count, ll.const_i32(0)));
                    strides.push(ll.mul(stride, step));
                }
            }
        }
        if !checks.is_empty() {
            // An index outside gives a view without elements, so that every access to it fails too.
            let name = frame.function.values[array].name.clone().unwrap_or_default();
            checks.iter_mut().for_each(|check| check.direct = None);
            let place = ElementPlace {
                data: parts.data,
                indices: smallvec![],
                dense: None,
                checks,
                site: Some(self.site(span, SiteKind::Access, &name)),
                is_local: false,
                element: ty.element.into(),
                align: 1,
                later: None,
            };
            let inside = self.checked(&place, crate::types::BOOL, |lower, _| smallvec![lower.ll.bool(true)])[0];
            extents.iter_mut().for_each(|e| *e = ll.select(inside, *e, ll.const_i32(0)));
            offset = ll.select(inside, offset, ll.const_i64(0));
        }
        let grad = frame.get(array)[1];
        let has_grad = ll.icmp(IntPredicate::NE, grad, ll.const_i64(0));
        let data = ll.offset(parts.data, offset);
        if self.aligned.contains(&parts.data) {
            // Strides are whole elements wherever the alignment is known.
            self.aligned.insert(data);
        }
        let mut scalars = smallvec![data, ll.select(has_grad, ll.add(grad, offset), grad)];
        scalars.extend(extents);
        scalars.extend(strides);
        scalars
    }
}
