//! How is LLVM IR written for vectors? A value of scalar type beside a vector represents a vector
//! of equal lanes, so that the code that builds scalar operations builds those of lanes too.

use inkwell::types::VectorType;
use inkwell::values::{CallSiteValue, InstructionOpcode};

use super::builder::{Attribute, AttributeLoc, IntPredicate, Llvm, Ty, Val, built};
use super::instructions::UNNAMED;

impl<'ctx> Llvm<'ctx> {
    /// The number of lanes of a vector; None for a scalar.
    pub fn lanes(&self, value: Val<'ctx>) -> Option<u32> {
        self.lanes_of(self.ty(value))
    }

    pub fn lanes_of(&self, ty: Ty<'ctx>) -> Option<u32> {
        match ty {
            Ty::VectorType(ty) => Some(ty.get_size()),
            _ => None,
        }
    }

    pub fn vector_ty(&self, ty: Ty<'ctx>, lanes: u32) -> Ty<'ctx> {
        match ty {
            Ty::IntType(ty) => ty.vec_type(lanes).into(),
            Ty::FloatType(ty) => ty.vec_type(lanes).into(),
            Ty::PointerType(ty) => ty.vec_type(lanes).into(),
            other => unreachable!("lanes are scalars, not {other:?}"),
        }
    }

    /// The type of a lane; a scalar's own type.
    pub fn lane_ty(&self, ty: Ty<'ctx>) -> Ty<'ctx> {
        match ty {
            Ty::VectorType(ty) => ty.get_element_type(),
            scalar => scalar,
        }
    }

    /// `ty`, or a vector of it if the value is one.
    pub fn ty_like(&self, value: Val<'ctx>, ty: Ty<'ctx>) -> Ty<'ctx> {
        match (self.lanes(value), self.lanes_of(ty)) {
            (Some(lanes), None) => self.vector_ty(ty, lanes),
            _ => ty,
        }
    }

    /// A vector of equal lanes.
    pub fn splat(&self, value: Val<'ctx>, lanes: u32) -> Val<'ctx> {
        if self.lanes(value).is_some() {
            return value;
        }
        let ty = self.vector_ty(self.ty(value), lanes);
        let one = self.insert_lane(self.undefined(ty), value, self.const_i32(0));
        self.shuffle(one, self.undefined(ty), &vec![0; lanes as usize])
    }

    /// The value as one of type `ty`, which is its own type or a vector of it.
    pub fn fit(&self, value: Val<'ctx>, ty: Ty<'ctx>) -> Val<'ctx> {
        self.lanes_of(ty).map_or(value, |lanes| self.splat(value, lanes))
    }

    /// Both as vectors if one is.
    pub(super) fn pair(&self, a: Val<'ctx>, b: Val<'ctx>) -> (Val<'ctx>, Val<'ctx>) {
        match (self.lanes(a), self.lanes(b)) {
            (Some(lanes), None) => (a, self.splat(b, lanes)),
            (None, Some(lanes)) => (self.splat(a, lanes), b),
            _ => (a, b),
        }
    }

    /// Types and arguments of an intrinsic that works lane by lane. Its flags (`i1`) stay scalars.
    pub(super) fn intrinsic_on_lanes(
        &self,
        types: &[Ty<'ctx>],
        args: &[Val<'ctx>],
        lanes: u32,
    ) -> (Vec<Ty<'ctx>>, Vec<Val<'ctx>>) {
        let vector = |ty: &Ty<'ctx>| if self.lanes_of(*ty).is_some() { *ty } else { self.vector_ty(*ty, lanes) };
        let is_flag = |value: Val<'ctx>| self.ty(value) == self.i1();
        let args = args.iter().map(|&a| if is_flag(a) { a } else { self.splat(a, lanes) }).collect();
        (types.iter().map(vector).collect(), args)
    }

    /// SIMD lanes of `a`, then of `b`, in the order that `mask` says; -1: any.
    pub fn shuffle(&self, a: Val<'ctx>, b: Val<'ctx>, mask: &[i32]) -> Val<'ctx> {
        let lane = |&n: &i32| if n < 0 { self.undefined(self.i32()) } else { self.const_i32(n) };
        let mask: Vec<Val> = mask.iter().map(lane).collect();
        let (a, b) = (a.into_vector_value(), b.into_vector_value());
        built(self.builder.build_shuffle_vector(a, b, VectorType::const_vector(&mask), UNNAMED)).into()
    }

    pub fn extract_lane(&self, vector: Val<'ctx>, lane: Val<'ctx>) -> Val<'ctx> {
        built(self.builder.build_extract_element(vector.into_vector_value(), lane.into_int_value(), UNNAMED))
    }

    pub fn insert_lane(&self, vector: Val<'ctx>, value: Val<'ctx>, lane: Val<'ctx>) -> Val<'ctx> {
        let (vector, lane) = (vector.into_vector_value(), lane.into_int_value());
        built(self.builder.build_insert_element(vector, value, lane, UNNAMED)).into()
    }

    /// 0, 1, 2, ... of an integer type.
    pub fn sequence(&self, ty: Ty<'ctx>, lanes: u32) -> Val<'ctx> {
        let values: Vec<Val> = (0..lanes).map(|n| self.int(ty, n.into())).collect();
        VectorType::const_vector(&values).into()
    }

    /// A mask as an integer, the first lane in the lowest bit.
    pub fn mask_bits(&self, mask: Val<'ctx>) -> Val<'ctx> {
        let lanes = self.lanes(mask).unwrap_or(1);
        // `bitcast` would keep a vector a vector.
        self.convert(InstructionOpcode::BitCast, mask, self.int_ty(lanes))
    }

    /// Whether a lane of the mask is set.
    pub fn any(&self, mask: Val<'ctx>) -> Val<'ctx> {
        let bits = self.mask_bits(mask);
        self.icmp(IntPredicate::NE, bits, self.zero(self.ty(bits)))
    }

    /// Whether all lanes of the mask are set.
    pub fn all(&self, mask: Val<'ctx>) -> Val<'ctx> {
        let bits = self.mask_bits(mask);
        self.icmp(IntPredicate::EQ, bits, self.not(self.zero(self.ty(bits))))
    }

    /// The number of the first set lane (i64); one must be set.
    pub fn first_lane(&self, mask: Val<'ctx>) -> Val<'ctx> {
        let bits = self.mask_bits(mask);
        let count = self.intrinsic("llvm.cttz", &[self.ty(bits)], &[bits, self.bool(true)]);
        self.to_i64(count)
    }

    /// The number of the last set lane (i64); one must be set.
    pub fn last_lane(&self, mask: Val<'ctx>) -> Val<'ctx> {
        let lanes = self.lanes(mask).unwrap_or(1);
        let bits = self.mask_bits(mask);
        let count = self.intrinsic("llvm.ctlz", &[self.ty(bits)], &[bits, self.bool(true)]);
        self.sub(self.const_i64(i64::from(lanes) - 1), self.to_i64(count))
    }

    fn to_i64(&self, value: Val<'ctx>) -> Val<'ctx> {
        if self.ty(value) == self.i64() { value } else { self.zext(value, self.i64()) }
    }

    // Memory

    fn align_argument(&self, call: CallSiteValue<'ctx>, argument: u32, align: u32) {
        let align = self.attribute(Attribute::Number("align", align.into()));
        call.add_attribute(AttributeLoc::Param(argument), align);
    }

    fn aligned_load(
        &self,
        name: &'static str,
        ty: Ty<'ctx>,
        pointer: Val<'ctx>,
        align: u32,
        mask: Val<'ctx>,
    ) -> Val<'ctx> {
        let call = self.overloaded(name, &[ty, self.ty(pointer)], &[pointer, mask, self.zero(ty)]);
        self.align_argument(call, 0, align);
        call.try_as_basic_value().expect_basic("a load gives a value")
    }

    fn aligned_store(&self, name: &'static str, value: Val<'ctx>, pointer: Val<'ctx>, align: u32, mask: Val<'ctx>) {
        let call = self.overloaded(name, &[self.ty(value), self.ty(pointer)], &[value, pointer, mask]);
        self.align_argument(call, 1, align);
    }

    /// SIMD lanes outside the mask are zero.
    pub fn masked_load(&self, ty: Ty<'ctx>, pointer: Val<'ctx>, align: u32, mask: Val<'ctx>) -> Val<'ctx> {
        self.aligned_load("llvm.masked.load", ty, pointer, align, mask)
    }

    pub fn masked_store(&self, value: Val<'ctx>, pointer: Val<'ctx>, align: u32, mask: Val<'ctx>) {
        self.aligned_store("llvm.masked.store", value, pointer, align, mask);
    }

    /// From one address per lane. SIMD lanes outside the mask are zero.
    pub fn gather(&self, ty: Ty<'ctx>, pointers: Val<'ctx>, align: u32, mask: Val<'ctx>) -> Val<'ctx> {
        self.aligned_load("llvm.masked.gather", ty, pointers, align, mask)
    }

    /// To one address per lane, in the order of the lanes.
    pub fn scatter(&self, value: Val<'ctx>, pointers: Val<'ctx>, align: u32, mask: Val<'ctx>) {
        self.aligned_store("llvm.masked.scatter", value, pointers, align, mask);
    }
}
