//! How is LLVM IR written? A thin builder over LLVM's C interface in our own types.
//!
//! Nothing here can fail in the normal course: callers keep LLVM's typing rules, and the module is verified before it is
//! compiled. Values, blocks and functions are plain handles that live as long as the [`Llvm`] that made them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::*;
use sha2::{Digest, Sha256};

/// A scalar value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Val(pub(super) LLVMValueRef);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block(LLVMBasicBlockRef);

/// A function with its type, which calls need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Func {
    pub value: Val,
    pub(super) ty: LLVMTypeRef,
}

/// An LLVM type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty(pub(super) LLVMTypeRef);

/// Attributes of functions and parameters.
#[derive(Clone, Copy, Debug)]
pub enum Attribute<'a> {
    /// A flag such as `noinline`.
    Flag(&'a str),
    /// A flag with a number, such as `align`.
    Number(&'a str, u64),
    /// A flag with a type, such as `byval`.
    Typed(&'a str, Ty),
}

/// Where an attribute stands.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Function,
    Param(u32),
}

/// Comparison of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntCompare {
    Eq,
    Ne,
    SignedLt,
    SignedLe,
    SignedGt,
    SignedGe,
    UnsignedLt,
    UnsignedLe,
    UnsignedGt,
    UnsignedGe,
}

/// Comparison of floats: ordered but for `Ne`, which is true when unordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatCompare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Unordered,
}

/// What an atomic read-modify-write does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rmw {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    SignedMin,
    SignedMax,
    UnsignedMin,
    UnsignedMax,
    FloatAdd,
}

/// A context with one module and one cursor in it.
pub struct Llvm {
    pub(super) context: LLVMContextRef,
    pub(super) module: LLVMModuleRef,
    pub(super) builder: LLVMBuilderRef,
    intrinsics: RefCell<HashMap<(&'static str, Vec<Ty>), Func>>,
    /// Set on multiplications and additions, so that the back end may fuse them.
    pub contract: std::cell::Cell<bool>,
    scope: u32,
}

impl Drop for Llvm {
    fn drop(&mut self) {
        // SAFETY: all three are owned and disposed of once, in the order of their dependence.
        unsafe {
            LLVMDisposeBuilder(self.builder);
            LLVMDisposeModule(self.module);
            LLVMContextDispose(self.context);
        }
    }
}

/// `text` without NUL bytes, as C wants it.
pub fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| CString::new(text.replace('\0', "")).unwrap_or_default())
}

/// Instructions with two operands of one type.
macro_rules! binary {
    ($($name:ident $raw:ident;)*) => {
        $(pub fn $name(&self, a: Val, b: Val) -> Val {
            let (a, b) = self.pair(a, b);
            // SAFETY: the operands belong to this context and have equal types.
            Val(unsafe { $raw(self.builder, a.0, b.0, EMPTY.as_ptr()) })
        })*
    };
}

/// Conversions.
macro_rules! convert {
    ($($name:ident $raw:ident;)*) => {
        $(pub fn $name(&self, a: Val, to: Ty) -> Val {
            let to = self.ty_like(a, to);
            // SAFETY: the operand belongs to this context and the conversion is one that LLVM has.
            Val(unsafe { $raw(self.builder, a.0, to.0, EMPTY.as_ptr()) })
        })*
    };
}

/// The name of unnamed values.
pub(super) const EMPTY: &std::ffi::CStr = c"";

// SAFETY of the unsafe blocks below, unless said otherwise: every handle was made by this `Llvm`, which is alive.
impl Llvm {
    /// An empty module. Atomics are of `scope` (`""`: the whole system). Without `names`, values are numbered, which saves time.
    pub fn new(name: &str, scope: &str, names: bool) -> Llvm {
        let name = c_string(name);
        unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiscardValueNames(context, i32::from(!names));
            Llvm {
                context,
                module: LLVMModuleCreateWithNameInContext(name.as_ptr(), context),
                builder: LLVMCreateBuilderInContext(context),
                intrinsics: RefCell::default(),
                contract: std::cell::Cell::new(false),
                scope: LLVMGetSyncScopeID(context, scope.as_ptr().cast(), scope.len()),
            }
        }
    }

    // Types

    pub fn int_ty(&self, bits: u32) -> Ty {
        Ty(unsafe { LLVMIntTypeInContext(self.context, bits) })
    }
    pub fn i1(&self) -> Ty {
        self.int_ty(1)
    }
    pub fn i8(&self) -> Ty {
        self.int_ty(8)
    }
    pub fn i32(&self) -> Ty {
        self.int_ty(32)
    }
    pub fn i64(&self) -> Ty {
        self.int_ty(64)
    }
    pub fn half(&self) -> Ty {
        Ty(unsafe { LLVMHalfTypeInContext(self.context) })
    }
    pub fn f32(&self) -> Ty {
        Ty(unsafe { LLVMFloatTypeInContext(self.context) })
    }
    pub fn f64(&self) -> Ty {
        Ty(unsafe { LLVMDoubleTypeInContext(self.context) })
    }
    pub fn ptr(&self, space: u32) -> Ty {
        Ty(unsafe { LLVMPointerTypeInContext(self.context, space) })
    }
    pub fn void(&self) -> Ty {
        Ty(unsafe { LLVMVoidTypeInContext(self.context) })
    }
    pub fn bytes(&self, count: u64) -> Ty {
        Ty(unsafe { LLVMArrayType2(self.i8().0, count) })
    }
    pub fn struct_ty(&self, fields: &[Ty]) -> Ty {
        let mut fields: Vec<_> = fields.iter().map(|t| t.0).collect();
        Ty(unsafe { LLVMStructTypeInContext(self.context, fields.as_mut_ptr(), fields.len() as u32, 0) })
    }
    pub fn ty(&self, value: Val) -> Ty {
        Ty(unsafe { LLVMTypeOf(value.0) })
    }
    /// Width of an integer type.
    pub fn bits(&self, ty: Ty) -> u32 {
        unsafe { LLVMGetIntTypeWidth(ty.0) }
    }

    // Constants

    /// The low bits of `value`.
    pub fn int(&self, ty: Ty, value: u64) -> Val {
        let bits = self.bits(ty);
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        Val(unsafe { LLVMConstInt(ty.0, value & mask, 0) })
    }
    pub fn bool(&self, value: bool) -> Val {
        self.int(self.i1(), u64::from(value))
    }
    pub fn const_i32(&self, value: i32) -> Val {
        self.int(self.i32(), value as u32 as u64)
    }
    pub fn const_i64(&self, value: i64) -> Val {
        self.int(self.i64(), value as u64)
    }
    /// By bits, so that NaNs keep theirs.
    pub fn const_f32(&self, value: f32) -> Val {
        self.bitcast(self.const_i32(value.to_bits() as i32), self.f32())
    }
    pub fn const_f64(&self, value: f64) -> Val {
        self.bitcast(self.const_i64(value.to_bits() as i64), self.f64())
    }
    pub fn zero(&self, ty: Ty) -> Val {
        Val(unsafe { LLVMConstNull(ty.0) })
    }
    pub fn undefined(&self, ty: Ty) -> Val {
        Val(unsafe { LLVMGetPoison(ty.0) })
    }
    /// The value of an integer constant of at most 64 bits, sign-extended.
    pub fn as_int(&self, value: Val) -> Option<i64> {
        unsafe {
            let constant = LLVMIsAConstantInt(value.0);
            (!constant.is_null()).then(|| LLVMConstIntGetSExtValue(constant))
        }
    }
    pub fn is_constant(&self, value: Val) -> bool {
        unsafe { LLVMIsConstant(value.0) != 0 }
    }
    /// A constant global with these bytes and a final NUL; its address.
    pub fn text(&self, text: &str) -> Val {
        self.global_text(text, 0, LLVMLinkage::LLVMPrivateLinkage)
    }
    /// Like [`Self::text`], in an address space; the address is generic.
    pub fn text_in(&self, text: &str, space: u32) -> Val {
        let global = self.global_text(text, space, LLVMLinkage::LLVMInternalLinkage);
        unsafe { Val(LLVMConstAddrSpaceCast(global.0, self.ptr(0).0)) }
    }
    /// Its name tells its content, so that the code of several modules can stand in one text.
    fn global_text(&self, text: &str, space: u32, linkage: LLVMLinkage) -> Val {
        let digest: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let name = c_string(&format!("text_{digest}"));
        unsafe {
            let known = LLVMGetNamedGlobal(self.module, name.as_ptr());
            if !known.is_null() {
                return Val(known);
            }
            let data = LLVMConstStringInContext2(self.context, text.as_ptr().cast(), text.len(), 0);
            let global = LLVMAddGlobalInAddressSpace(self.module, LLVMTypeOf(data), name.as_ptr(), space);
            LLVMSetInitializer(global, data);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, linkage);
            LLVMSetUnnamedAddress(global, LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
            LLVMSetAlignment(global, 1);
            Val(global)
        }
    }

    // Functions and blocks

    pub fn add_function(&self, name: &str, result: Ty, params: &[Ty], variadic: bool) -> Func {
        let mut params: Vec<_> = params.iter().map(|t| t.0).collect();
        let name = c_string(name);
        unsafe {
            let ty = LLVMFunctionType(result.0, params.as_mut_ptr(), params.len() as u32, i32::from(variadic));
            Func { value: Val(LLVMAddFunction(self.module, name.as_ptr(), ty)), ty }
        }
    }
    /// The function of this name, declared if there is none yet.
    pub fn declare(&self, name: &str, result: Ty, params: &[Ty], variadic: bool) -> Func {
        let c_name = c_string(name);
        unsafe {
            let found = LLVMGetNamedFunction(self.module, c_name.as_ptr());
            if found.is_null() {
                self.add_function(name, result, params, variadic)
            } else {
                Func { value: Val(found), ty: LLVMGlobalGetValueType(found) }
            }
        }
    }
    /// A function of this name exists and is more than a declaration.
    pub fn function_has_body(&self, name: &str) -> bool {
        let name = c_string(name);
        unsafe {
            let found = LLVMGetNamedFunction(self.module, name.as_ptr());
            !found.is_null() && LLVMIsDeclaration(found) == 0
        }
    }
    pub fn rename(&self, function: Func, name: &str) {
        unsafe { LLVMSetValueName2(function.value.0, name.as_ptr().cast(), name.len()) }
    }
    pub fn set_internal(&self, function: Func) {
        unsafe { LLVMSetLinkage(function.value.0, LLVMLinkage::LLVMInternalLinkage) }
    }
    /// Makes a function an entry point of the device: LLVM's calling convention `ptx_kernel`.
    pub fn set_ptx_kernel(&self, function: Func) {
        unsafe { LLVMSetFunctionCallConv(function.value.0, 71) }
    }
    pub fn add_attribute(&self, function: Func, place: Place, attribute: Attribute) {
        let index = match place {
            Place::Function => LLVMAttributeFunctionIndex,
            Place::Param(n) => n + 1,
        };
        let kind = |name: &str| unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
        unsafe {
            let attribute = match attribute {
                Attribute::Flag(name) => LLVMCreateEnumAttribute(self.context, kind(name), 0),
                Attribute::Number(name, value) => LLVMCreateEnumAttribute(self.context, kind(name), value),
                Attribute::Typed(name, ty) => LLVMCreateTypeAttribute(self.context, kind(name), ty.0),
            };
            LLVMAddAttributeAtIndex(function.value.0, index, attribute);
        }
    }
    pub fn param(&self, function: Func, index: u32) -> Val {
        Val(unsafe { LLVMGetParam(function.value.0, index) })
    }
    pub fn block(&self, function: Func, name: &str) -> Block {
        let name = c_string(name);
        Block(unsafe { LLVMAppendBasicBlockInContext(self.context, function.value.0, name.as_ptr()) })
    }
    pub fn position_at_end(&self, block: Block) {
        unsafe { LLVMPositionBuilderAtEnd(self.builder, block.0) }
    }
    /// At the head of a block, before what it holds already.
    pub fn position_at_head(&self, block: Block) {
        unsafe {
            let first = LLVMGetFirstInstruction(block.0);
            if first.is_null() {
                LLVMPositionBuilderAtEnd(self.builder, block.0);
            } else {
                LLVMPositionBuilderBefore(self.builder, first);
            }
        }
    }
    pub fn current_block(&self) -> Block {
        Block(unsafe { LLVMGetInsertBlock(self.builder) })
    }
    /// Deletes the loads and addresses in a block that nothing uses. No handle to one may be used afterwards.
    pub fn delete_unused(&self, block: Block) {
        unsafe {
            let mut next = LLVMGetLastInstruction(block.0);
            while !next.is_null() {
                let inst = next;
                next = LLVMGetPreviousInstruction(inst);
                let opcode = LLVMGetInstructionOpcode(inst);
                let is_read = matches!(opcode, LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMGetElementPtr);
                if is_read && LLVMGetFirstUse(inst).is_null() {
                    LLVMInstructionEraseFromParent(inst);
                }
            }
        }
    }
    pub fn delete_block(&self, block: Block) {
        unsafe { LLVMDeleteBasicBlock(block.0) }
    }
    /// Names a value that has no name yet.
    pub fn name(&self, value: Val, name: &str) {
        unsafe {
            let mut length = 0;
            LLVMGetValueName2(value.0, &mut length);
            if length == 0 && LLVMIsConstant(value.0) == 0 {
                LLVMSetValueName2(value.0, name.as_ptr().cast(), name.len());
            }
        }
    }

    // Arithmetic

    binary! {
        add LLVMBuildAdd; sub LLVMBuildSub; mul LLVMBuildMul; sdiv LLVMBuildSDiv; udiv LLVMBuildUDiv; srem LLVMBuildSRem;
        urem LLVMBuildURem; and LLVMBuildAnd; or LLVMBuildOr; xor LLVMBuildXor; shl LLVMBuildShl; lshr LLVMBuildLShr;
        ashr LLVMBuildAShr; fdiv LLVMBuildFDiv; add_nsw LLVMBuildNSWAdd; sub_nsw LLVMBuildNSWSub; mul_nsw LLVMBuildNSWMul;
        raw_fadd LLVMBuildFAdd; raw_fsub LLVMBuildFSub; raw_fmul LLVMBuildFMul;
    }
    convert! {
        zext LLVMBuildZExt; sext LLVMBuildSExt; trunc LLVMBuildTrunc; fpext LLVMBuildFPExt; fptrunc LLVMBuildFPTrunc;
        sitofp LLVMBuildSIToFP; fptosi LLVMBuildFPToSI; uitofp LLVMBuildUIToFP; bitcast LLVMBuildBitCast;
        ptr_to_int LLVMBuildPtrToInt; int_to_ptr LLVMBuildIntToPtr; addrspacecast LLVMBuildAddrSpaceCast;
    }

    fn contracted(&self, value: Val) -> Val {
        if self.contract.get() {
            unsafe {
                if LLVMCanValueUseFastMathFlags(value.0) != 0 {
                    LLVMSetFastMathFlags(value.0, LLVMFastMathAllowContract);
                }
            }
        }
        value
    }
    pub fn fadd(&self, a: Val, b: Val) -> Val {
        self.contracted(self.raw_fadd(a, b))
    }
    pub fn fsub(&self, a: Val, b: Val) -> Val {
        self.contracted(self.raw_fsub(a, b))
    }
    pub fn fmul(&self, a: Val, b: Val) -> Val {
        self.contracted(self.raw_fmul(a, b))
    }
    pub fn fneg(&self, a: Val) -> Val {
        Val(unsafe { LLVMBuildFNeg(self.builder, a.0, EMPTY.as_ptr()) })
    }
    pub fn not(&self, a: Val) -> Val {
        Val(unsafe { LLVMBuildNot(self.builder, a.0, EMPTY.as_ptr()) })
    }
    pub fn neg(&self, a: Val) -> Val {
        Val(unsafe { LLVMBuildNeg(self.builder, a.0, EMPTY.as_ptr()) })
    }
    pub fn icmp(&self, how: IntCompare, a: Val, b: Val) -> Val {
        use LLVMIntPredicate::*;
        let predicate = match how {
            IntCompare::Eq => LLVMIntEQ,
            IntCompare::Ne => LLVMIntNE,
            IntCompare::SignedLt => LLVMIntSLT,
            IntCompare::SignedLe => LLVMIntSLE,
            IntCompare::SignedGt => LLVMIntSGT,
            IntCompare::SignedGe => LLVMIntSGE,
            IntCompare::UnsignedLt => LLVMIntULT,
            IntCompare::UnsignedLe => LLVMIntULE,
            IntCompare::UnsignedGt => LLVMIntUGT,
            IntCompare::UnsignedGe => LLVMIntUGE,
        };
        let (a, b) = self.pair(a, b);
        Val(unsafe { LLVMBuildICmp(self.builder, predicate, a.0, b.0, EMPTY.as_ptr()) })
    }
    pub fn fcmp(&self, how: FloatCompare, a: Val, b: Val) -> Val {
        use LLVMRealPredicate::*;
        let predicate = match how {
            FloatCompare::Eq => LLVMRealOEQ,
            FloatCompare::Ne => LLVMRealUNE,
            FloatCompare::Lt => LLVMRealOLT,
            FloatCompare::Le => LLVMRealOLE,
            FloatCompare::Gt => LLVMRealOGT,
            FloatCompare::Ge => LLVMRealOGE,
            FloatCompare::Unordered => LLVMRealUNO,
        };
        let (a, b) = self.pair(a, b);
        Val(unsafe { LLVMBuildFCmp(self.builder, predicate, a.0, b.0, EMPTY.as_ptr()) })
    }
    pub fn eq(&self, a: Val, b: Val) -> Val {
        self.icmp(IntCompare::Eq, a, b)
    }
    pub fn select(&self, condition: Val, then: Val, otherwise: Val) -> Val {
        if then == otherwise && self.lanes(condition).is_none() {
            return then;
        }
        let (then, otherwise) = self.pair(then, otherwise);
        let (_, then) = self.pair(condition, then);
        let (_, otherwise) = self.pair(condition, otherwise);
        Val(unsafe { LLVMBuildSelect(self.builder, condition.0, then.0, otherwise.0, EMPTY.as_ptr()) })
    }
    /// A call of `llvm.NAME` overloaded on `types`.
    pub fn intrinsic(&self, name: &'static str, types: &[Ty], args: &[Val]) -> Val {
        let of_types = || types.iter().find_map(|t| self.lanes_of(*t));
        if let Some(lanes) = args.iter().find_map(|a| self.lanes(*a)).or_else(of_types) {
            let (types, args) = self.intrinsic_on_lanes(types, args, lanes);
            return self.overloaded(name, &types, &args);
        }
        self.overloaded(name, types, args)
    }
    /// [`Self::intrinsic`] of these very types.
    pub(super) fn overloaded(&self, name: &'static str, types: &[Ty], args: &[Val]) -> Val {
        let function = *self.intrinsics.borrow_mut().entry((name, types.to_vec())).or_insert_with(|| {
            let mut raw: Vec<_> = types.iter().map(|t| t.0).collect();
            unsafe {
                let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
                assert!(id != 0, "LLVM has no intrinsic {name}");
                let value = LLVMGetIntrinsicDeclaration(self.module, id, raw.as_mut_ptr(), raw.len());
                Func { value: Val(value), ty: LLVMGlobalGetValueType(value) }
            }
        });
        self.call(function, args)
    }
    pub fn call(&self, function: Func, args: &[Val]) -> Val {
        let mut args: Vec<_> = args.iter().map(|a| a.0).collect();
        Val(unsafe {
            LLVMBuildCall2(
                self.builder,
                function.ty,
                function.value.0,
                args.as_mut_ptr(),
                args.len() as u32,
                EMPTY.as_ptr(),
            )
        })
    }
    /// A call through a pointer.
    pub fn call_pointer(&self, pointer: Val, result: Ty, params: &[Ty], args: &[Val]) -> Val {
        let mut params: Vec<_> = params.iter().map(|t| t.0).collect();
        let ty = unsafe { LLVMFunctionType(result.0, params.as_mut_ptr(), params.len() as u32, 0) };
        self.call(Func { value: pointer, ty }, args)
    }
    /// The 64-bit product of two signed i32, as PTX's one instruction for it. LLVM finds that instruction only while both
    /// extensions stand beside the multiplication, and its loop passes move them away.
    pub fn ptx_mul_wide(&self, a: Val, b: Val) -> Val {
        // A constant stands in the instruction itself.
        let constraints = if self.as_int(b).is_some() { "=l,r,n" } else { "=l,r,r" };
        self.ptx("mul.wide.s32 $0, $1, $2;", constraints, self.i64(), &[a, b])
    }
    /// An i64 that LLVM knows nothing about.
    pub fn ptx_opaque(&self, a: Val) -> Val {
        self.ptx("mov.b64 $0, $1;", "=l,l", self.i64(), &[a])
    }
    /// An instruction of PTX without side effects, its operands as LLVM's constraints of inline assembly name them.
    fn ptx(&self, text: &str, constraints: &str, result: Ty, args: &[Val]) -> Val {
        let mut params: Vec<_> = args.iter().map(|a| self.ty(*a).0).collect();
        unsafe {
            let ty = LLVMFunctionType(result.0, params.as_mut_ptr(), params.len() as u32, 0);
            let asm = LLVMGetInlineAsm(
                ty,
                text.as_ptr().cast(),
                text.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                0,
                0,
                LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            );
            let call = self.call(Func { value: Val(asm), ty }, args);
            // It touches no memory, so that equal ones are merged.
            for flag in ["memory", "nounwind", "willreturn"] {
                let kind = LLVMGetEnumAttributeKindForName(flag.as_ptr().cast(), flag.len());
                let attribute = LLVMCreateEnumAttribute(self.context, kind, 0);
                LLVMAddCallSiteAttribute(call.0, LLVMAttributeFunctionIndex, attribute);
            }
            call
        }
    }
    /// Field `index` of a struct value.
    pub fn extract_field(&self, aggregate: Val, index: u32) -> Val {
        Val(unsafe { LLVMBuildExtractValue(self.builder, aggregate.0, index, EMPTY.as_ptr()) })
    }
    pub fn insert_field(&self, aggregate: Val, value: Val, index: u32) -> Val {
        Val(unsafe { LLVMBuildInsertValue(self.builder, aggregate.0, value.0, index, EMPTY.as_ptr()) })
    }

    // Memory

    /// Room for `size` bytes in the frame of the function whose entry block is `entry`.
    pub fn alloca(&self, entry: Block, size: u64, align: u32) -> Val {
        let here = self.current_block();
        self.position_at_head(entry);
        let value = unsafe { LLVMBuildAlloca(self.builder, self.bytes(size.max(1)).0, EMPTY.as_ptr()) };
        unsafe { LLVMSetAlignment(value, align.max(1)) };
        self.position_at_end(here);
        Val(value)
    }
    /// `pointer + offset` bytes, within one object.
    pub fn offset(&self, pointer: Val, offset: Val) -> Val {
        if self.as_int(offset) == Some(0) {
            return pointer;
        }
        let mut index = offset.0;
        Val(unsafe { LLVMBuildInBoundsGEP2(self.builder, self.i8().0, pointer.0, &mut index, 1, EMPTY.as_ptr()) })
    }
    /// `pointer + bytes`, which may lie outside of the object: nothing is read or written there.
    pub fn outside(&self, pointer: Val, bytes: i64) -> Val {
        let mut index = self.const_i64(bytes).0;
        Val(unsafe { LLVMBuildGEP2(self.builder, self.i8().0, pointer.0, &mut index, 1, EMPTY.as_ptr()) })
    }
    pub fn offset_by(&self, pointer: Val, bytes: u64) -> Val {
        self.offset(pointer, self.const_i64(bytes as i64))
    }
    /// `pointer + index * size_of(element)`, within one object.
    pub fn element(&self, pointer: Val, element: Ty, index: Val) -> Val {
        let mut index = index.0;
        Val(unsafe { LLVMBuildInBoundsGEP2(self.builder, element.0, pointer.0, &mut index, 1, EMPTY.as_ptr()) })
    }
    pub fn load(&self, ty: Ty, pointer: Val, align: u32) -> Val {
        unsafe {
            let value = LLVMBuildLoad2(self.builder, ty.0, pointer.0, EMPTY.as_ptr());
            LLVMSetAlignment(value, align);
            Val(value)
        }
    }
    pub fn store(&self, value: Val, pointer: Val, align: u32) {
        unsafe {
            let store = LLVMBuildStore(self.builder, value.0, pointer.0);
            LLVMSetAlignment(store, align);
        }
    }
    /// A relaxed atomic load.
    pub fn load_atomic(&self, ty: Ty, pointer: Val, align: u32) -> Val {
        let value = self.load(ty, pointer, align);
        unsafe {
            LLVMSetOrdering(value.0, LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic);
            LLVMSetAtomicSyncScopeID(value.0, self.scope);
        }
        value
    }
    pub fn memset_zero(&self, pointer: Val, size: u64, align: u32) {
        unsafe {
            LLVMBuildMemSet(self.builder, pointer.0, self.int(self.i8(), 0).0, self.const_i64(size as i64).0, align);
        }
    }
    /// Sets so many bytes (i64) to zero.
    pub fn clear(&self, pointer: Val, bytes: Val, align: u32) {
        unsafe {
            LLVMBuildMemSet(self.builder, pointer.0, self.int(self.i8(), 0).0, bytes.0, align);
        }
    }
    /// Relaxed; gives the old value.
    pub fn atomic_rmw(&self, op: Rmw, pointer: Val, value: Val, align: u32) -> Val {
        use LLVMAtomicRMWBinOp::*;
        let op = match op {
            Rmw::Exchange => LLVMAtomicRMWBinOpXchg,
            Rmw::Add => LLVMAtomicRMWBinOpAdd,
            Rmw::Sub => LLVMAtomicRMWBinOpSub,
            Rmw::And => LLVMAtomicRMWBinOpAnd,
            Rmw::Or => LLVMAtomicRMWBinOpOr,
            Rmw::Xor => LLVMAtomicRMWBinOpXor,
            Rmw::SignedMin => LLVMAtomicRMWBinOpMin,
            Rmw::SignedMax => LLVMAtomicRMWBinOpMax,
            Rmw::UnsignedMin => LLVMAtomicRMWBinOpUMin,
            Rmw::UnsignedMax => LLVMAtomicRMWBinOpUMax,
            Rmw::FloatAdd => LLVMAtomicRMWBinOpFAdd,
        };
        unsafe {
            let order = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
            let value = LLVMBuildAtomicRMWSyncScope(self.builder, op, pointer.0, value.0, order, self.scope);
            LLVMSetAlignment(value, align);
            Val(value)
        }
    }
    /// Relaxed; gives the old value and whether `new` was stored.
    pub fn atomic_cas(&self, pointer: Val, expected: Val, new: Val, align: u32) -> (Val, Val) {
        unsafe {
            let order = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
            let pair =
                LLVMBuildAtomicCmpXchgSyncScope(self.builder, pointer.0, expected.0, new.0, order, order, self.scope);
            LLVMSetAlignment(pair, align);
            (self.extract_field(Val(pair), 0), self.extract_field(Val(pair), 1))
        }
    }

    // Control

    pub fn br(&self, to: Block) {
        unsafe { LLVMBuildBr(self.builder, to.0) };
    }
    /// Asks that the loop which the branch at the end of `latch` closes do `count` turns at once. Only loop passes after
    /// this look at it.
    pub fn unroll(&self, latch: Block, count: u32) {
        self.tell_of_loop(latch, c"llvm.loop.unroll.count", Some(count));
    }
    /// Says that the loop which the branch at the end of `latch` closes ends, so that it goes away if it does nothing.
    pub fn ends(&self, latch: Block) {
        self.tell_of_loop(latch, c"llvm.loop.mustprogress", None);
    }
    fn tell_of_loop(&self, latch: Block, name: &std::ffi::CStr, value: Option<u32>) {
        unsafe {
            let mut parts = vec![LLVMMDStringInContext2(self.context, name.as_ptr(), name.to_bytes().len())];
            parts.extend(value.map(|value| LLVMValueAsMetadata(self.const_i32(value as i32).0)));
            let wish = LLVMMDNodeInContext2(self.context, parts.as_mut_ptr(), parts.len());
            // The name of a loop is a node that names itself first, which makes it unlike all others.
            let itself = debuginfo::LLVMTemporaryMDNode(self.context, std::ptr::null_mut(), 0);
            let node = LLVMMDNodeInContext2(self.context, [itself, wish].as_mut_ptr(), 2);
            debuginfo::LLVMMetadataReplaceAllUsesWith(itself, node);
            let kind = c"llvm.loop";
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr(), kind.to_bytes().len() as u32);
            LLVMSetMetadata(LLVMGetBasicBlockTerminator(latch.0), kind, LLVMMetadataAsValue(self.context, node));
        }
    }
    pub fn cond_br(&self, condition: Val, then: Block, otherwise: Block) {
        unsafe { LLVMBuildCondBr(self.builder, condition.0, then.0, otherwise.0) };
    }
    /// Like [`Self::cond_br`], and says that `then` is the usual way.
    pub fn likely_br(&self, condition: Val, then: Block, otherwise: Block) {
        unsafe {
            let branch = LLVMBuildCondBr(self.builder, condition.0, then.0, otherwise.0);
            let weights = [
                LLVMMDStringInContext2(self.context, c"branch_weights".as_ptr(), 14),
                LLVMValueAsMetadata(self.const_i32(1 << 20).0),
                LLVMValueAsMetadata(self.const_i32(1).0),
            ];
            self.attach(branch, "prof", &weights);
        }
    }
    pub fn ret(&self, value: Option<Val>) {
        unsafe {
            match value {
                Some(value) => LLVMBuildRet(self.builder, value.0),
                None => LLVMBuildRetVoid(self.builder),
            };
        }
    }
    /// At the head of a block that holds only phis so far.
    pub fn phi(&self, ty: Ty) -> Val {
        Val(unsafe { LLVMBuildPhi(self.builder, ty.0, EMPTY.as_ptr()) })
    }
    pub fn add_incoming(&self, phi: Val, value: Val, from: Block) {
        let (mut value, mut from) = (value.0, from.0);
        unsafe { LLVMAddIncoming(phi.0, &mut value, &mut from, 1) };
    }

    unsafe fn attach(&self, inst: LLVMValueRef, kind: &str, parts: &[LLVMMetadataRef]) {
        unsafe {
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr().cast(), kind.len() as u32);
            let node = LLVMMDNodeInContext2(self.context, parts.as_ptr().cast_mut(), parts.len());
            LLVMSetMetadata(inst, kind, LLVMMetadataAsValue(self.context, node));
        }
    }

    /// How many instructions the largest function has.
    pub fn largest_function(&self) -> usize {
        let mut largest = 0;
        unsafe {
            let mut function = LLVMGetFirstFunction(self.module);
            while !function.is_null() {
                let (mut count, mut block) = (0, LLVMGetFirstBasicBlock(function));
                while !block.is_null() {
                    let mut inst = LLVMGetFirstInstruction(block);
                    while !inst.is_null() {
                        count += 1;
                        inst = LLVMGetNextInstruction(inst);
                    }
                    block = LLVMGetNextBasicBlock(block);
                }
                largest = largest.max(count);
                function = LLVMGetNextFunction(function);
            }
        }
        largest
    }

    /// Why the module is malformed, if it is: a fault of kc.
    pub fn verify(&self) -> Option<String> {
        let mut message = std::ptr::null_mut();
        unsafe {
            let action = llvm_sys::analysis::LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let bad = llvm_sys::analysis::LLVMVerifyModule(self.module, action, &mut message) != 0;
            let text = take_message(message);
            bad.then_some(text)
        }
    }

    /// The module as text.
    pub fn print(&self) -> String {
        unsafe { take_message(LLVMPrintModuleToString(self.module)) }
    }
}

/// Copies and frees a text that LLVM allocated.
pub(super) unsafe fn take_message(raw: *mut std::ffi::c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    unsafe {
        let bytes = std::ffi::CStr::from_ptr(raw).to_bytes().to_vec();
        LLVMDisposeMessage(raw);
        // Texts of modules are long, and as good as always UTF-8: checking that takes less than looking for what is not.
        String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}
