//! How is LLVM IR written for vectors? A value of scalar type beside a vector stands for a vector of equal lanes, so that
//! the code that builds scalar operations builds those of lanes too.

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;

use super::builder::{EMPTY, IntCompare, Llvm, Ty, Val};

// SAFETY of the unsafe blocks below: every handle was made by this `Llvm`, which is alive.
impl Llvm {
    /// The number of lanes of a vector; None for a scalar.
    pub fn lanes(&self, value: Val) -> Option<u32> {
        self.lanes_of(self.ty(value))
    }

    pub fn lanes_of(&self, ty: Ty) -> Option<u32> {
        unsafe { (LLVMGetTypeKind(ty.0) == LLVMTypeKind::LLVMVectorTypeKind).then(|| LLVMGetVectorSize(ty.0)) }
    }

    pub fn vector_ty(&self, ty: Ty, lanes: u32) -> Ty {
        Ty(unsafe { LLVMVectorType(ty.0, lanes) })
    }

    /// The type of a lane; a scalar's own type.
    pub fn lane_ty(&self, ty: Ty) -> Ty {
        if self.lanes_of(ty).is_some() { Ty(unsafe { LLVMGetElementType(ty.0) }) } else { ty }
    }

    /// `ty`, or a vector of it if the value is one.
    pub fn ty_like(&self, value: Val, ty: Ty) -> Ty {
        match (self.lanes(value), self.lanes_of(ty)) {
            (Some(lanes), None) => self.vector_ty(ty, lanes),
            _ => ty,
        }
    }

    /// A vector of equal lanes.
    pub fn splat(&self, value: Val, lanes: u32) -> Val {
        if self.lanes(value).is_some() {
            return value;
        }
        let ty = self.vector_ty(self.ty(value), lanes);
        let one = self.insert_lane(self.undefined(ty), value, self.const_i32(0));
        self.shuffle(one, self.undefined(ty), &vec![0; lanes as usize])
    }

    /// The value as one of type `ty`, which is its own type or a vector of it.
    pub fn fit(&self, value: Val, ty: Ty) -> Val {
        self.lanes_of(ty).map_or(value, |lanes| self.splat(value, lanes))
    }

    /// Both as vectors if one is.
    pub(super) fn pair(&self, a: Val, b: Val) -> (Val, Val) {
        match (self.lanes(a), self.lanes(b)) {
            (Some(lanes), None) => (a, self.splat(b, lanes)),
            (None, Some(lanes)) => (self.splat(a, lanes), b),
            _ => (a, b),
        }
    }

    /// Types and arguments of an intrinsic that works lane by lane. Its flags (`i1`) stay scalars.
    pub(super) fn intrinsic_on_lanes(&self, types: &[Ty], args: &[Val], lanes: u32) -> (Vec<Ty>, Vec<Val>) {
        let vector = |ty: &Ty| if self.lanes_of(*ty).is_some() { *ty } else { self.vector_ty(*ty, lanes) };
        let is_flag = |value: Val| self.ty(value) == self.i1();
        let args = args.iter().map(|&a| if is_flag(a) { a } else { self.splat(a, lanes) }).collect();
        (types.iter().map(vector).collect(), args)
    }

    /// Lanes of `a`, then of `b`, in the order that `mask` says; -1: any.
    pub fn shuffle(&self, a: Val, b: Val, mask: &[i32]) -> Val {
        let lane = |&n: &i32| if n < 0 { self.undefined(self.i32()) } else { self.const_i32(n) };
        let mut mask: Vec<_> = mask.iter().map(|n| lane(n).0).collect();
        Val(unsafe {
            let mask = LLVMConstVector(mask.as_mut_ptr(), mask.len() as u32);
            LLVMBuildShuffleVector(self.builder, a.0, b.0, mask, EMPTY.as_ptr())
        })
    }

    pub fn extract_lane(&self, vector: Val, lane: Val) -> Val {
        Val(unsafe { LLVMBuildExtractElement(self.builder, vector.0, lane.0, EMPTY.as_ptr()) })
    }

    pub fn insert_lane(&self, vector: Val, value: Val, lane: Val) -> Val {
        Val(unsafe { LLVMBuildInsertElement(self.builder, vector.0, value.0, lane.0, EMPTY.as_ptr()) })
    }

    /// 0, 1, 2, ... of an integer type.
    pub fn sequence(&self, ty: Ty, lanes: u32) -> Val {
        let mut values: Vec<_> = (0..lanes).map(|n| self.int(ty, n.into()).0).collect();
        Val(unsafe { LLVMConstVector(values.as_mut_ptr(), lanes) })
    }

    /// A mask as an integer, the first lane in the lowest bit.
    pub fn mask_bits(&self, mask: Val) -> Val {
        let lanes = self.lanes(mask).unwrap_or(1);
        // `bitcast` would keep a vector a vector.
        Val(unsafe { LLVMBuildBitCast(self.builder, mask.0, self.int_ty(lanes).0, EMPTY.as_ptr()) })
    }

    /// Whether a lane of the mask is set.
    pub fn any(&self, mask: Val) -> Val {
        let bits = self.mask_bits(mask);
        self.icmp(IntCompare::Ne, bits, self.zero(self.ty(bits)))
    }

    /// The number of the first set lane (i64); one must be set.
    pub fn first_lane(&self, mask: Val) -> Val {
        let bits = self.mask_bits(mask);
        let count = self.intrinsic("llvm.cttz", &[self.ty(bits)], &[bits, self.bool(true)]);
        self.to_i64(count)
    }

    /// The number of the last set lane (i64); one must be set.
    pub fn last_lane(&self, mask: Val) -> Val {
        let lanes = self.lanes(mask).unwrap_or(1);
        let bits = self.mask_bits(mask);
        let count = self.intrinsic("llvm.ctlz", &[self.ty(bits)], &[bits, self.bool(true)]);
        self.sub(self.const_i64(i64::from(lanes) - 1), self.to_i64(count))
    }

    fn to_i64(&self, value: Val) -> Val {
        if self.ty(value) == self.i64() { value } else { self.zext(value, self.i64()) }
    }

    // Memory

    fn aligned(&self, call: Val, argument: u32, align: u32) -> Val {
        let name = "align";
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateEnumAttribute(self.context, kind, align.into());
            LLVMAddCallSiteAttribute(call.0, argument + 1, attribute);
        }
        call
    }

    /// Lanes outside the mask are zero.
    pub fn masked_load(&self, ty: Ty, pointer: Val, align: u32, mask: Val) -> Val {
        let call = self.overloaded("llvm.masked.load", &[ty, self.ty(pointer)], &[pointer, mask, self.zero(ty)]);
        self.aligned(call, 0, align)
    }

    pub fn masked_store(&self, value: Val, pointer: Val, align: u32, mask: Val) {
        let types = [self.ty(value), self.ty(pointer)];
        let call = self.overloaded("llvm.masked.store", &types, &[value, pointer, mask]);
        self.aligned(call, 1, align);
    }

    /// From one address per lane. Lanes outside the mask are zero.
    pub fn gather(&self, ty: Ty, pointers: Val, align: u32, mask: Val) -> Val {
        let call = self.overloaded("llvm.masked.gather", &[ty, self.ty(pointers)], &[pointers, mask, self.zero(ty)]);
        self.aligned(call, 0, align)
    }

    /// To one address per lane, in the order of the lanes.
    pub fn scatter(&self, value: Val, pointers: Val, align: u32, mask: Val) {
        let types = [self.ty(value), self.ty(pointers)];
        let call = self.overloaded("llvm.masked.scatter", &types, &[value, pointers, mask]);
        self.aligned(call, 1, align);
    }
}
