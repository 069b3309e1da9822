//! How are LLVM's instructions written? Arithmetic, calls, memory and control, at the cursor of an
//! [`Llvm`].

use inkwell::types::FunctionType;
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, CallSiteValue, FastMathFlags, InstructionOpcode, InstructionValue, PhiValue,
    PointerValue,
};
use inkwell::{AtomicOrdering, InlineAsmDialect, intrinsics::Intrinsic};
use smallvec::SmallVec;

use super::builder::{
    AtomicRMWBinOp, Attribute, AttributeLoc, Block, FloatPredicate, Func, IntPredicate, Llvm, Ty, Val, built,
};
use super::ffi;

/// The name of unnamed values.
pub(super) const UNNAMED: &str = "";

/// Instructions with two operands of one type.
macro_rules! binary {
    ($($name:ident $opcode:ident;)*) => {
        $(pub fn $name(&self, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
            self.binary(InstructionOpcode::$opcode, a, b)
        })*
    };
}

/// The same without signed overflow.
macro_rules! binary_nsw {
    ($($name:ident $opcode:ident;)*) => {
        $(pub fn $name(&self, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
            let value = self.binary(InstructionOpcode::$opcode, a, b);
            if let Some(inst) = value.as_instruction_value() {
                built(inst.set_no_signed_wrap_flag(true));
            }
            value
        })*
    };
}

/// Conversions.
macro_rules! convert {
    ($($name:ident $opcode:ident;)*) => {
        $(pub fn $name(&self, a: Val<'ctx>, to: Ty<'ctx>) -> Val<'ctx> {
            self.convert(InstructionOpcode::$opcode, a, self.ty_like(a, to))
        })*
    };
}

/// The instruction that gives a value.
fn instruction<'ctx>(value: Val<'ctx>) -> InstructionValue<'ctx> {
    value.as_instruction_value().expect("an instruction that LLVM does not fold")
}

impl<'ctx> Llvm<'ctx> {
    // Arithmetic

    binary! {
        add Add; sub Sub; mul Mul; sdiv SDiv; udiv UDiv; srem SRem; urem URem; and And; or Or; xor Xor; shl Shl; lshr LShr;
        ashr AShr; fdiv FDiv; raw_fadd FAdd; raw_fsub FSub; raw_fmul FMul;
    }
    binary_nsw! { add_nsw Add; sub_nsw Sub; mul_nsw Mul; }
    convert! {
        zext ZExt; sext SExt; trunc Trunc; fpext FPExt; fptrunc FPTrunc; sitofp SIToFP; fptosi FPToSI; uitofp UIToFP;
        bitcast BitCast; ptr_to_int PtrToInt; int_to_ptr IntToPtr; addrspacecast AddrSpaceCast;
    }

    fn binary(&self, opcode: InstructionOpcode, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        let (a, b) = self.pair(a, b);
        built(self.builder.build_binop(opcode, a, b, UNNAMED))
    }
    /// Into this very type.
    pub(super) fn convert(&self, opcode: InstructionOpcode, a: Val<'ctx>, to: Ty<'ctx>) -> Val<'ctx> {
        built(self.builder.build_cast(opcode, a, to, UNNAMED))
    }
    fn contracted(&self, value: Val<'ctx>) -> Val<'ctx> {
        if self.contract.get()
            && let Some(inst) = value.as_instruction_value()
        {
            built(inst.set_fast_math_flags(FastMathFlags::AllowContract));
        }
        value
    }
    /// An instruction that the back end may approximate.
    pub fn approximate(&self, value: Val<'ctx>) -> Val<'ctx> {
        if let Some(inst) = value.as_instruction_value() {
            built(inst.set_fast_math_flags(FastMathFlags::ApproxFunc));
        }
        value
    }
    pub fn fadd(&self, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        self.contracted(self.raw_fadd(a, b))
    }
    pub fn fsub(&self, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        self.contracted(self.raw_fsub(a, b))
    }
    pub fn fmul(&self, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        self.contracted(self.raw_fmul(a, b))
    }
    pub fn fneg(&self, a: Val<'ctx>) -> Val<'ctx> {
        match a {
            Val::VectorValue(a) => built(self.builder.build_float_neg(a, UNNAMED)).into(),
            _ => built(self.builder.build_float_neg(a.into_float_value(), UNNAMED)).into(),
        }
    }
    pub fn not(&self, a: Val<'ctx>) -> Val<'ctx> {
        match a {
            Val::VectorValue(a) => built(self.builder.build_not(a, UNNAMED)).into(),
            _ => built(self.builder.build_not(a.into_int_value(), UNNAMED)).into(),
        }
    }
    pub fn neg(&self, a: Val<'ctx>) -> Val<'ctx> {
        match a {
            Val::VectorValue(a) => built(self.builder.build_int_neg(a, UNNAMED)).into(),
            _ => built(self.builder.build_int_neg(a.into_int_value(), UNNAMED)).into(),
        }
    }
    pub fn icmp(&self, predicate: IntPredicate, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        match self.pair(a, b) {
            (Val::VectorValue(a), Val::VectorValue(b)) => {
                built(self.builder.build_int_compare(predicate, a, b, UNNAMED)).into()
            }
            (a, b) => {
                let (a, b) = (a.into_int_value(), b.into_int_value());
                built(self.builder.build_int_compare(predicate, a, b, UNNAMED)).into()
            }
        }
    }
    pub fn fcmp(&self, predicate: FloatPredicate, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        match self.pair(a, b) {
            (Val::VectorValue(a), Val::VectorValue(b)) => {
                built(self.builder.build_float_compare(predicate, a, b, UNNAMED)).into()
            }
            (a, b) => {
                let (a, b) = (a.into_float_value(), b.into_float_value());
                built(self.builder.build_float_compare(predicate, a, b, UNNAMED)).into()
            }
        }
    }
    pub fn eq(&self, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        self.icmp(IntPredicate::EQ, a, b)
    }
    pub fn select(&self, condition: Val<'ctx>, then: Val<'ctx>, otherwise: Val<'ctx>) -> Val<'ctx> {
        if then == otherwise && self.lanes(condition).is_none() {
            return then;
        }
        let (then, otherwise) = self.pair(then, otherwise);
        let (_, then) = self.pair(condition, then);
        let (_, otherwise) = self.pair(condition, otherwise);
        built(match condition {
            Val::VectorValue(lanes) => self.builder.build_select(lanes, then, otherwise, UNNAMED),
            _ => self.builder.build_select(condition.into_int_value(), then, otherwise, UNNAMED),
        })
    }

    // Calls

    /// A call of `llvm.NAME` overloaded on `types`.
    pub fn intrinsic(&self, name: &'static str, types: &[Ty<'ctx>], args: &[Val<'ctx>]) -> Val<'ctx> {
        let of_types = || types.iter().find_map(|t| self.lanes_of(*t));
        if let Some(lanes) = args.iter().find_map(|a| self.lanes(*a)).or_else(of_types) {
            let (types, args) = self.intrinsic_on_lanes(types, args, lanes);
            return result(self.overloaded(name, &types, &args));
        }
        result(self.overloaded(name, types, args))
    }
    /// [`Self::intrinsic`] of these very types, whether it has a result or not.
    pub(super) fn overloaded(&self, name: &'static str, types: &[Ty<'ctx>], args: &[Val<'ctx>]) -> CallSiteValue<'ctx> {
        let known = self.intrinsics.borrow().get(name).and_then(|overloads| {
            overloads.iter().find(|(known, _)| known[..] == *types).map(|&(_, function)| function)
        });
        let function = known.unwrap_or_else(|| {
            let declared = Intrinsic::find(name).and_then(|known| known.get_declaration(&self.module, types));
            let function = declared.unwrap_or_else(|| panic!("LLVM has no intrinsic {name} of these types"));
            self.intrinsics.borrow_mut().entry(name).or_default().push((types.into(), function));
            function
        });
        self.call_site(function, args)
    }
    /// An intrinsic on fragments of matrices, whose pairs of halves are no lanes.
    pub fn matrix_intrinsic(&self, name: &'static str, args: &[Val<'ctx>]) -> Val<'ctx> {
        result(self.overloaded(name, &[], args))
    }
    /// An intrinsic that gives nothing.
    pub fn effect_intrinsic(&self, name: &'static str, args: &[Val<'ctx>]) {
        self.overloaded(name, &[], args);
    }
    /// Two halves that are the bits of an i32.
    pub fn half_pair(&self, bits: Val<'ctx>) -> Val<'ctx> {
        self.convert(InstructionOpcode::BitCast, bits, self.context.f16_type().vec_type(2).into())
    }
    /// Waits for all threads of the block (device).
    pub fn block_barrier(&self) {
        self.overloaded("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[self.const_i32(0)]);
    }
    /// The same where threads of a warp may come one after the other: some may be about to leave.
    pub fn block_barrier_unaligned(&self) {
        self.overloaded("llvm.nvvm.barrier.cta.sync.all", &[], &[self.const_i32(0)]);
    }
    /// Asks for the cache line at an address: for reading, to the nearest cache, data.
    pub fn prefetch(&self, pointer: Val<'ctx>) {
        let args = [pointer, self.const_i32(0), self.const_i32(3), self.const_i32(1)];
        self.overloaded("llvm.prefetch", &[self.ptr(0)], &args);
    }
    pub(super) fn call_site(&self, function: Func<'ctx>, args: &[Val<'ctx>]) -> CallSiteValue<'ctx> {
        built(self.builder.build_direct_call(function, &arguments(args), UNNAMED))
    }
    fn call_pointer_site(
        &self,
        pointer: PointerValue<'ctx>,
        ty: FunctionType<'ctx>,
        args: &[Val<'ctx>],
    ) -> CallSiteValue<'ctx> {
        built(self.builder.build_indirect_call(ty, pointer, &arguments(args), UNNAMED))
    }
    /// The result of a call.
    pub fn call(&self, function: Func<'ctx>, args: &[Val<'ctx>]) -> Val<'ctx> {
        result(self.call_site(function, args))
    }
    /// A call for what it does alone.
    pub fn call_void(&self, function: Func<'ctx>, args: &[Val<'ctx>]) {
        self.call_site(function, args);
    }
    /// A call for what it does alone, after which the caller returns: its frame is gone by then.
    pub fn tail_call_void(&self, function: Func<'ctx>, args: &[Val<'ctx>]) {
        self.call_site(function, args).set_tail_call(true);
    }
    /// A call through a pointer to a function that gives nothing.
    pub fn call_pointer_void(&self, pointer: Val<'ctx>, params: &[Ty<'ctx>], args: &[Val<'ctx>]) {
        self.call_pointer_site(pointer.into_pointer_value(), self.function_ty(None, params, false), args);
    }
    /// The 64-bit product of two signed i32, as PTX's one instruction for it. LLVM finds that
    /// instruction only while both extensions stand beside the multiplication, and its loop passes
    /// move them away.
    pub fn ptx_mul_wide(&self, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        // A constant is in the instruction itself.
        let constraints = if self.as_int(b).is_some() { "=l,r,n" } else { "=l,r,r" };
        self.ptx("mul.wide.s32 $0, $1, $2;", constraints, self.i64(), &[a, b])
    }
    /// An i64 that LLVM knows nothing about.
    pub fn ptx_opaque(&self, a: Val<'ctx>) -> Val<'ctx> {
        self.ptx("mov.b64 $0, $1;", "=l,l", self.i64(), &[a])
    }
    /// The bytes of shared memory that the launch asks for (i32).
    pub fn ptx_asked_shared(&self) -> Val<'ctx> {
        self.ptx("mov.u32 $0, %dynamic_smem_size;", "=r", self.i32(), &[])
    }
    /// An instruction of PTX without side effects, its operands as LLVM's constraints of inline
    /// assembly name them.
    fn ptx(&self, text: &str, constraints: &str, to: Ty<'ctx>, args: &[Val<'ctx>]) -> Val<'ctx> {
        let params: SmallVec<[Ty; 2]> = args.iter().map(|a| self.ty(*a)).collect();
        let ty = self.function_ty(Some(to), &params, false);
        let (text, constraints) = (text.to_string(), constraints.to_string());
        let dialect = Some(InlineAsmDialect::ATT);
        let asm = self.context.create_inline_asm(ty, text, constraints, false, false, dialect, false);
        let call = self.call_pointer_site(asm, ty, args);
        // It touches no memory, so that equal ones are merged.
        for flag in ["memory", "nounwind", "willreturn"] {
            call.add_attribute(AttributeLoc::Function, self.attribute(Attribute::Flag(flag)));
        }
        result(call)
    }
    /// Adds to a word, so that who acquires it sees all that came before; gives the old value.
    pub fn ptx_add_release(&self, address: Val<'ctx>, add: Val<'ctx>) -> Val<'ctx> {
        let text = "atom.release.gpu.global.add.u32 $0, [$1], $2;";
        self.assembly(text, "=r,l,r,~{memory}", self.i32(), &[address, add])
    }
    /// Adds numbers to as many side by side, each by itself, from sm_90 and PTX 8.1 on: `f32`, or
    /// the bits of halves.
    pub fn ptx_add_vector(&self, address: Val<'ctx>, numbers: &[Val<'ctx>], halves: bool) {
        let places: Vec<String> = (1..=numbers.len()).map(|n| format!("${n}")).collect();
        let ty = if halves { "noftz.v" } else { "v" }.to_string() + &numbers.len().to_string();
        let ty = ty + if halves { ".f16" } else { ".f32" };
        let text = format!("red.relaxed.gpu.global.add.{ty} [$0], {{{}}};", places.join(", "));
        let constraint = if halves { ",h" } else { ",f" };
        let constraints = format!("l{},~{{memory}}", constraint.repeat(numbers.len()));
        let args: Vec<Val> = std::iter::once(address).chain(numbers.iter().copied()).collect();
        let params: SmallVec<[Ty; 2]> = args.iter().map(|a| self.ty(*a)).collect();
        let (ty, dialect) = (self.function_ty(None, &params, false), Some(InlineAsmDialect::ATT));
        let asm = self.context.create_inline_asm(ty, text, constraints, true, false, dialect, false);
        self.call_pointer_site(asm, ty, &args);
    }
    /// Loads a word, and all that came before it was released.
    pub fn ptx_load_acquire(&self, address: Val<'ctx>) -> Val<'ctx> {
        self.assembly("ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}", self.i32(), &[address])
    }
    /// An instruction of x86 that gives numbers in several registers, as a struct. It stays where
    /// it is, since it may not be one on the processor otherwise.
    pub fn x86(&self, text: &str, constraints: &str, to: Ty<'ctx>, args: &[Val<'ctx>]) -> Val<'ctx> {
        self.assembly(text, constraints, to, args)
    }
    /// An instruction that stays where it is.
    fn assembly(&self, text: &str, constraints: &str, to: Ty<'ctx>, args: &[Val<'ctx>]) -> Val<'ctx> {
        let params: SmallVec<[Ty; 2]> = args.iter().map(|a| self.ty(*a)).collect();
        let ty = self.function_ty(Some(to), &params, false);
        let (text, constraints) = (text.to_string(), constraints.to_string());
        let asm =
            self.context.create_inline_asm(ty, text, constraints, true, false, Some(InlineAsmDialect::ATT), false);
        result(self.call_pointer_site(asm, ty, args))
    }
    /// Field `index` of a struct value.
    pub fn extract_field(&self, aggregate: Val<'ctx>, index: u32) -> Val<'ctx> {
        built(self.builder.build_extract_value(aggregate.into_struct_value(), index, UNNAMED))
    }
    pub fn insert_field(&self, aggregate: Val<'ctx>, value: Val<'ctx>, index: u32) -> Val<'ctx> {
        let aggregate = aggregate.into_struct_value();
        built(self.builder.build_insert_value(aggregate, value, index, UNNAMED)).into_struct_value().into()
    }

    // Memory

    /// Room for `size` bytes in the frame of the function whose entry block is `entry`.
    pub fn alloca(&self, entry: Block<'ctx>, size: u64, align: u32) -> Val<'ctx> {
        let here = self.current_block();
        self.position_at_head(entry);
        let slot = Val::from(built(self.builder.build_alloca(self.bytes(size.max(1)), UNNAMED)));
        built(instruction(slot).set_alignment(align.max(1)));
        self.position_at_end(here);
        slot
    }
    /// `pointer + offset` bytes, within one object; a vector of offsets gives one of addresses.
    pub fn offset(&self, pointer: Val<'ctx>, offset: Val<'ctx>) -> Val<'ctx> {
        if self.as_int(offset) == Some(0) {
            return pointer;
        }
        self.element(pointer, self.i8(), offset)
    }
    /// `pointer + bytes`, which may lie outside of the object: nothing is read or written there.
    pub fn outside(&self, pointer: Val<'ctx>, bytes: Val<'ctx>) -> Val<'ctx> {
        let (pointer, bytes) = (pointer.into_pointer_value(), bytes.into_int_value());
        // SAFETY: one index into the pointee type `i8` is what the instruction takes; an address
        // alone is no access.
        built(unsafe { self.builder.build_gep(self.i8(), pointer, &[bytes], UNNAMED) }).into()
    }
    pub fn offset_by(&self, pointer: Val<'ctx>, bytes: u64) -> Val<'ctx> {
        self.offset(pointer, self.const_i64(bytes as i64))
    }
    /// `pointer + index * size_of(element)`, within one object; a vector of indices gives one of
    /// addresses.
    pub fn element(&self, pointer: Val<'ctx>, element: Ty<'ctx>, index: Val<'ctx>) -> Val<'ctx> {
        match (pointer, index) {
            (Val::PointerValue(pointer), Val::IntValue(index)) => {
                // SAFETY: one index into the pointee type is what the instruction takes. That the
                // address lies within the object is for the program that is compiled: indices are
                // checked, or assumed, in bounds there.
                built(unsafe { self.builder.build_in_bounds_gep(element, pointer, &[index], UNNAMED) }).into()
            }
            _ => ffi::addresses_in_bounds(&self.builder, element, pointer, index),
        }
    }
    pub fn load(&self, ty: Ty<'ctx>, pointer: Val<'ctx>, align: u32) -> Val<'ctx> {
        let value = built(self.builder.build_load(ty, pointer.into_pointer_value(), UNNAMED));
        built(instruction(value).set_alignment(align));
        if self.unchanging.get() {
            let kind = self.context.get_kind_id("invariant.load");
            built(instruction(value).set_metadata(self.context.metadata_node(&[]), kind));
        }
        value
    }
    pub fn store(&self, value: Val<'ctx>, pointer: Val<'ctx>, align: u32) {
        let store = built(self.builder.build_store(pointer.into_pointer_value(), value));
        built(store.set_alignment(align));
    }
    /// A relaxed atomic load.
    pub fn load_atomic(&self, ty: Ty<'ctx>, pointer: Val<'ctx>, align: u32) -> Val<'ctx> {
        let value = self.load(ty, pointer, align);
        built(instruction(value).set_atomic_ordering(AtomicOrdering::Monotonic));
        self.scope.set(instruction(value));
        value
    }
    pub fn memset_zero(&self, pointer: Val<'ctx>, size: u64, align: u32) {
        self.clear(pointer, self.const_i64(size as i64), align);
    }
    /// Sets so many bytes (i64) to zero.
    pub fn clear(&self, pointer: Val<'ctx>, bytes: Val<'ctx>, align: u32) {
        let (pointer, bytes) = (pointer.into_pointer_value(), bytes.into_int_value());
        built(self.builder.build_memset(pointer, align, self.context.i8_type().const_zero(), bytes));
    }
    /// Relaxed; gives the old value.
    pub fn atomic_rmw(&self, op: AtomicRMWBinOp, pointer: Val<'ctx>, value: Val<'ctx>, align: u32) -> Val<'ctx> {
        ffi::atomic_rmw(&self.builder, op, pointer.into_pointer_value(), value, self.scope, align)
    }
    /// Relaxed; gives the old value and whether `new` was stored.
    pub fn atomic_cas(
        &self,
        pointer: Val<'ctx>,
        expected: Val<'ctx>,
        new: Val<'ctx>,
        align: u32,
    ) -> (Val<'ctx>, Val<'ctx>) {
        let order = AtomicOrdering::Monotonic;
        let pair =
            Val::from(built(self.builder.build_cmpxchg(pointer.into_pointer_value(), expected, new, order, order)));
        self.scope.set(instruction(pair));
        ffi::set_atomic_alignment(instruction(pair), align);
        (self.extract_field(pair, 0), self.extract_field(pair, 1))
    }

    // Control

    pub fn br(&self, to: Block<'ctx>) {
        built(self.builder.build_unconditional_branch(to));
    }
    /// Asks that the loop which the branch at the end of `latch` closes do `count` iterations at
    /// once. Only loop passes after this look at it.
    pub fn unroll(&self, latch: Block<'ctx>, count: u32) {
        self.set_loop_property(latch, "llvm.loop.unroll.count", Some(count));
    }
    /// Says that the loop which the branch at the end of `latch` closes stays as it is.
    pub fn keep_rolled(&self, latch: Block<'ctx>) {
        self.set_loop_property(latch, "llvm.loop.unroll.disable", None);
    }
    /// Says that nothing is moved out of the loop which the branch at the end of `latch` closes.
    pub fn keep_inside(&self, latch: Block<'ctx>) {
        self.set_loop_property(latch, "llvm.licm.disable", None);
    }
    /// Says that the loop which the branch at the end of `latch` closes ends, so that it goes away
    /// if it does nothing.
    pub fn ends(&self, latch: Block<'ctx>) {
        self.set_loop_property(latch, "llvm.loop.mustprogress", None);
    }
    fn set_loop_property(&self, latch: Block<'ctx>, name: &str, value: Option<u32>) {
        let mut parts = vec![self.context.metadata_string(name).into()];
        parts.extend(value.map(|value| BasicMetadataValueEnum::from(self.const_i32(value as i32))));
        let node = ffi::loop_id(self.context, self.context.metadata_node(&parts));
        let branch = latch.get_terminator().expect("a latch ends in the branch that closes its loop");
        built(branch.set_metadata(node, self.context.get_kind_id("llvm.loop")));
    }
    pub fn cond_br(&self, condition: Val<'ctx>, then: Block<'ctx>, otherwise: Block<'ctx>) {
        self.branch(condition, then, otherwise);
    }
    fn branch(&self, condition: Val<'ctx>, then: Block<'ctx>, otherwise: Block<'ctx>) -> InstructionValue<'ctx> {
        built(self.builder.build_conditional_branch(condition.into_int_value(), then, otherwise))
    }
    /// Like [`Self::cond_br`], and says that `then` is the usual way.
    pub fn likely_br(&self, condition: Val<'ctx>, then: Block<'ctx>, otherwise: Block<'ctx>) {
        let branch = self.branch(condition, then, otherwise);
        let weights = [
            self.context.metadata_string("branch_weights").into(),
            self.const_i32(1 << 20).into(),
            self.const_i32(1).into(),
        ];
        built(branch.set_metadata(self.context.metadata_node(&weights), self.context.get_kind_id("prof")));
    }
    pub fn ret(&self, value: Option<Val<'ctx>>) {
        built(self.builder.build_return(value.as_ref().map(|value| value as &dyn BasicValue<'ctx>)));
    }
    /// At the head of a block that holds only phis so far.
    pub fn phi(&self, ty: Ty<'ctx>) -> Val<'ctx> {
        built(self.builder.build_phi(ty, UNNAMED)).as_basic_value()
    }
    pub fn add_incoming(&self, phi: Val<'ctx>, value: Val<'ctx>, from: Block<'ctx>) {
        built(PhiValue::try_from(instruction(phi))).add_incoming(&[(&value, from)]);
    }
}

/// Operands of a call.
fn arguments<'ctx>(args: &[Val<'ctx>]) -> SmallVec<[BasicMetadataValueEnum<'ctx>; 8]> {
    args.iter().map(|&value| value.into()).collect()
}

/// What a call gives.
fn result<'ctx>(call: CallSiteValue<'ctx>) -> Val<'ctx> {
    call.try_as_basic_value().expect_basic("the function that is called gives a value")
}
