//! How is LLVM IR written? A façade over inkwell: types, constants, globals, functions and blocks
//! here, instructions in `instructions`.
//!
//! Values, types, blocks and functions are inkwell's own handles, which live as long as the context
//! they were made in. inkwell reports a misuse of its builder as an error of each instruction;
//! [`built`] is the one place that takes the results out of these.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Debug;

use inkwell::attributes;
use inkwell::module::Linkage;
use inkwell::types::{AnyType, BasicMetadataTypeEnum, BasicType, FunctionType};
use inkwell::values::{CallSiteValue, GlobalValue, InstructionOpcode, UnnamedAddress};
use inkwell::{AddressSpace, GlobalVisibility, builder::Builder, module};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

pub use inkwell::attributes::AttributeLoc;
pub use inkwell::context::Context;
pub use inkwell::{AtomicRMWBinOp, FloatPredicate, IntPredicate};

use super::effort::Size;
use super::ffi::{self, SyncScope};

/// The address space of memory that the threads of a block share.
const SHARED_MEMORY: u16 = 3;
const GLOBAL_MEMORY: u16 = 1;

/// A scalar, a vector, or the struct of a function's results.
pub type Val<'ctx> = inkwell::values::BasicValueEnum<'ctx>;

/// A type of values.
pub type Ty<'ctx> = inkwell::types::BasicTypeEnum<'ctx>;

/// A basic block.
pub type Block<'ctx> = inkwell::basic_block::BasicBlock<'ctx>;

/// A function of the module.
pub type Func<'ctx> = inkwell::values::FunctionValue<'ctx>;

/// Attributes of functions and parameters.
#[derive(Clone, Copy, Debug)]
pub enum Attribute<'a, 'ctx> {
    /// A flag such as `noinline`.
    Flag(&'a str),
    /// A flag with a number, such as `align`.
    Number(&'a str, u64),
    /// A flag with a type, such as `byval`.
    Typed(&'a str, Ty<'ctx>),
    /// A name that LLVM's targets know with a text, such as `target-cpu`.
    Text(&'a str, &'a str),
}

/// LLVM's number of the calling convention `ptx_kernel`.
const PTX_KERNEL: u32 = 71;

/// One module, and one cursor in it.
pub struct Llvm<'ctx> {
    pub(super) context: &'ctx Context,
    pub(super) builder: Builder<'ctx>,
    pub(super) module: module::Module<'ctx>,
    /// The overloads of each intrinsic that were declared.
    pub(super) intrinsics: RefCell<HashMap<&'static str, Overloads<'ctx>>>,
    /// Set on multiplications and additions, so that the back end may fuse them.
    pub contract: Cell<bool>,
    /// Set on loads: nothing changes what they read while the function runs.
    pub unchanging: Cell<bool>,
    /// Of atomics.
    pub(super) scope: SyncScope,
}

pub(super) type Overloads<'ctx> = Vec<(SmallVec<[Ty<'ctx>; 2]>, Func<'ctx>)>;

/// What inkwell built. It refuses an instruction when the cursor is in no block, when an alignment
/// is no power of two, or when operands have types that the instruction does not take. Callers keep
/// these rules as they keep LLVM's other typing rules: verified IR is lowered by its types, so that
/// a refusal is a fault of kc, as a malformed module is.
#[track_caller]
pub(super) fn built<T, E: Debug>(result: Result<T, E>) -> T {
    result.expect("the cursor is in a block, and operands have the types that the instruction takes")
}

impl<'ctx> Llvm<'ctx> {
    /// An empty module. Atomics are of `scope` (`""`: the whole system). Without `names`, values
    /// are numbered, which saves time.
    pub fn new(context: &'ctx Context, name: &str, scope: &str, names: bool) -> Llvm<'ctx> {
        ffi::discard_value_names(context, !names);
        Llvm {
            context,
            builder: context.create_builder(),
            module: context.create_module(name),
            intrinsics: RefCell::default(),
            contract: Cell::new(false),
            unchanging: Cell::new(false),
            scope: SyncScope::of(context, scope),
        }
    }

    // Types

    pub fn int_ty(&self, bits: u32) -> Ty<'ctx> {
        let bits = std::num::NonZeroU32::new(bits).expect("integers have at least one bit");
        built(self.context.custom_width_int_type(bits)).into()
    }
    pub fn i1(&self) -> Ty<'ctx> {
        self.context.bool_type().into()
    }
    pub fn i8(&self) -> Ty<'ctx> {
        self.context.i8_type().into()
    }
    pub fn i32(&self) -> Ty<'ctx> {
        self.context.i32_type().into()
    }
    pub fn i64(&self) -> Ty<'ctx> {
        self.context.i64_type().into()
    }
    pub fn half(&self) -> Ty<'ctx> {
        self.context.f16_type().into()
    }
    pub fn f32(&self) -> Ty<'ctx> {
        self.context.f32_type().into()
    }
    pub fn f64(&self) -> Ty<'ctx> {
        self.context.f64_type().into()
    }
    pub fn ptr(&self, space: u16) -> Ty<'ctx> {
        self.context.ptr_type(AddressSpace::from(space)).into()
    }
    pub fn bytes(&self, count: u64) -> Ty<'ctx> {
        let count = u32::try_from(count).expect("elements, parameters and frames are limited to far less than 4 GiB");
        self.context.i8_type().array_type(count).into()
    }
    pub fn struct_ty(&self, fields: &[Ty<'ctx>]) -> Ty<'ctx> {
        self.context.struct_type(fields, false).into()
    }
    pub fn ty(&self, value: Val<'ctx>) -> Ty<'ctx> {
        value.get_type()
    }
    /// Width of an integer type.
    pub fn bits(&self, ty: Ty<'ctx>) -> u32 {
        ty.into_int_type().get_bit_width()
    }
    /// `result` None: the function gives nothing.
    pub(super) fn function_ty(
        &self,
        result: Option<Ty<'ctx>>,
        params: &[Ty<'ctx>],
        variadic: bool,
    ) -> FunctionType<'ctx> {
        let params: SmallVec<[BasicMetadataTypeEnum; 8]> = params.iter().map(|&ty| ty.into()).collect();
        match result {
            Some(ty) => ty.fn_type(&params, variadic),
            None => self.context.void_type().fn_type(&params, variadic),
        }
    }

    // Constants

    /// The low bits of `value`.
    pub fn int(&self, ty: Ty<'ctx>, value: u64) -> Val<'ctx> {
        ty.into_int_type().const_int(value, false).into()
    }
    pub fn bool(&self, value: bool) -> Val<'ctx> {
        self.context.bool_type().const_int(u64::from(value), false).into()
    }
    pub fn const_i32(&self, value: i32) -> Val<'ctx> {
        self.context.i32_type().const_int(value as u32 as u64, false).into()
    }
    pub fn const_i64(&self, value: i64) -> Val<'ctx> {
        self.context.i64_type().const_int(value as u64, false).into()
    }
    /// By bits, so that NaNs keep theirs.
    pub fn const_f32(&self, value: f32) -> Val<'ctx> {
        self.bitcast(self.const_i32(value.to_bits() as i32), self.f32())
    }
    pub fn const_f64(&self, value: f64) -> Val<'ctx> {
        self.bitcast(self.const_i64(value.to_bits() as i64), self.f64())
    }
    pub fn zero(&self, ty: Ty<'ctx>) -> Val<'ctx> {
        ty.const_zero()
    }
    pub fn undefined(&self, ty: Ty<'ctx>) -> Val<'ctx> {
        match ty {
            Ty::ArrayType(ty) => ty.get_poison().into(),
            Ty::FloatType(ty) => ty.get_poison().into(),
            Ty::IntType(ty) => ty.get_poison().into(),
            Ty::PointerType(ty) => ty.get_poison().into(),
            Ty::StructType(ty) => ty.get_poison().into(),
            Ty::VectorType(ty) => ty.get_poison().into(),
            Ty::ScalableVectorType(ty) => ty.get_poison().into(),
        }
    }
    /// The value of an integer constant of at most 64 bits, sign-extended.
    pub fn as_int(&self, value: Val<'ctx>) -> Option<i64> {
        match value {
            Val::IntValue(value) => value.get_sign_extended_constant(),
            _ => None,
        }
    }
    pub fn is_constant(&self, value: Val<'ctx>) -> bool {
        match value {
            Val::ArrayValue(value) => value.is_const(),
            Val::FloatValue(value) => value.is_const(),
            Val::IntValue(value) => value.is_const(),
            Val::PointerValue(value) => value.is_const(),
            Val::StructValue(value) => value.is_const(),
            Val::VectorValue(value) => value.is_const(),
            Val::ScalableVectorValue(value) => value.is_const(),
        }
    }
    /// A constant global with these bytes and a final NUL; its address.
    pub fn text(&self, text: &str) -> Val<'ctx> {
        self.global_text(text, 0, Linkage::Private).as_pointer_value().into()
    }
    /// Like [`Self::text`], in an address space; the address is generic.
    pub fn text_in(&self, text: &str, space: u16) -> Val<'ctx> {
        let global = self.global_text(text, space, Linkage::Internal).as_pointer_value();
        global.const_address_space_cast(self.context.ptr_type(AddressSpace::default())).into()
    }
    /// Its name tells its content, so that the code of several modules can be put in one text.
    fn global_text(&self, text: &str, space: u16, linkage: Linkage) -> GlobalValue<'ctx> {
        let digest: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("text_{digest}");
        if let Some(known) = self.module.get_global(&name) {
            return known;
        }
        let data = self.context.const_string(text.as_bytes(), true);
        let global = self.module.add_global(data.get_type(), Some(AddressSpace::from(space)), &name);
        global.set_initializer(&data);
        global.set_constant(true);
        global.set_linkage(linkage);
        global.set_unnamed_address(UnnamedAddress::Global);
        global.set_alignment(1);
        global
    }

    /// Memory that the threads of a block share; the address is generic. The first that has a name
    /// keeps it, the others get numbers.
    pub fn shared(&self, name: &str, size: u64, align: u32) -> Val<'ctx> {
        let ty = self.context.i8_type().array_type(size.max(1) as u32);
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let free =
            std::iter::once(name.to_string()).chain(numbered).find(|name| self.module.get_global(name).is_none());
        let global =
            self.module.add_global(ty, Some(AddressSpace::from(SHARED_MEMORY)), free.as_deref().unwrap_or(name));
        global.set_initializer(&ty.get_undef());
        global.set_linkage(Linkage::Internal);
        global.set_alignment(align);
        self.generic(global)
    }

    /// The shared memory that launches ask for, by a name; the address is generic.
    pub fn asked_shared(&self, name: &str, align: u32) -> Val<'ctx> {
        let global = self.module.get_global(name).unwrap_or_else(|| {
            let ty = self.context.i8_type().array_type(0);
            let global = self.module.add_global(ty, Some(AddressSpace::from(SHARED_MEMORY)), name);
            global.set_linkage(Linkage::External);
            global.set_alignment(align);
            global
        });
        self.generic(global)
    }

    /// The generic address of memory that is in a space of its own.
    fn generic(&self, global: GlobalValue<'ctx>) -> Val<'ctx> {
        global.as_pointer_value().const_address_space_cast(self.context.ptr_type(AddressSpace::default())).into()
    }

    // Functions and blocks

    /// `result` None: the function gives nothing.
    pub fn add_function(
        &self,
        name: &str,
        result: Option<Ty<'ctx>>,
        params: &[Ty<'ctx>],
        variadic: bool,
    ) -> Func<'ctx> {
        self.module.add_function(name, self.function_ty(result, params, variadic), None)
    }
    /// The function of this name, declared if there is none yet.
    pub fn declare(&self, name: &str, result: Option<Ty<'ctx>>, params: &[Ty<'ctx>], variadic: bool) -> Func<'ctx> {
        self.module.get_function(name).unwrap_or_else(|| self.add_function(name, result, params, variadic))
    }
    /// A function of this name exists and is more than a declaration.
    pub fn function_has_body(&self, name: &str) -> bool {
        self.module.get_function(name).is_some_and(|function| !function.as_global_value().is_declaration())
    }
    pub fn rename(&self, function: Func<'ctx>, name: &str) {
        function.as_global_value().set_name(name);
    }
    pub fn set_internal(&self, function: Func<'ctx>) {
        function.set_linkage(Linkage::Internal);
    }
    /// Other modules may call it.
    pub fn is_external(&self, function: Func<'ctx>) -> bool {
        function.get_linkage() == Linkage::External
    }
    /// Gives a function that is there a second symbol. `exported`: both can be seen from outside of
    /// the library that the object becomes a part of.
    pub fn name_twice(&self, name: &str, second: &str, exported: bool) {
        let Some(function) = self.module.get_function(name) else { return };
        let visibility = if exported { GlobalVisibility::Default } else { GlobalVisibility::Hidden };
        function.as_global_value().set_visibility(visibility);
        ffi::add_alias(&self.module, function, second).set_visibility(visibility);
    }
    /// All modules of a program that define it share one.
    pub fn set_shared(&self, function: Func<'ctx>) {
        function.set_linkage(Linkage::WeakODR);
    }
    /// A number, at first 0, that all modules of a program share by its name; its address.
    pub fn shared_number(&self, name: &str) -> Val<'ctx> {
        let ty = self.context.i32_type();
        let global = self.module.add_global(ty, None, name);
        global.set_initializer(&ty.const_zero());
        global.set_linkage(Linkage::WeakAny);
        global.set_alignment(4);
        global.as_pointer_value().into()
    }
    /// So many bytes of a name in global memory, zero at first. Modules of a program share them,
    /// and it finds them by the name; the address is generic.
    pub fn shared_bytes(&self, name: &str, size: u64) -> Val<'ctx> {
        let global = self.module.get_global(name).unwrap_or_else(|| {
            let ty = self.context.i8_type().array_type(size as u32);
            let global = self.module.add_global(ty, Some(AddressSpace::from(GLOBAL_MEMORY)), name);
            global.set_initializer(&ty.const_zero());
            global.set_linkage(Linkage::WeakAny);
            global.set_alignment(8);
            global
        });
        global.as_pointer_value().const_address_space_cast(self.context.ptr_type(AddressSpace::default())).into()
    }
    /// The functions that have bodies.
    pub fn defined(&self) -> Vec<Func<'ctx>> {
        self.module.get_functions().filter(|function| function.count_basic_blocks() > 0).collect()
    }
    /// The functions of this module that a function calls by their names.
    pub fn callees(&self, function: Func<'ctx>) -> Vec<Func<'ctx>> {
        let instructions = function.get_basic_block_iter().flat_map(|block| block.get_instructions());
        let calls = instructions.filter(|inst| inst.get_opcode() == InstructionOpcode::Call);
        let called = calls.filter_map(|call| CallSiteValue::try_from(call).ok()?.get_called_fn_value());
        called.filter(|callee| callee.count_basic_blocks() > 0).collect()
    }
    pub fn name_of(&self, function: Func<'ctx>) -> String {
        function.get_name().to_string_lossy().into_owned()
    }
    /// Whether a function has the text attribute `name`.
    pub fn has_text(&self, function: Func<'ctx>, name: &str) -> bool {
        function.get_string_attribute(AttributeLoc::Function, name).is_some()
    }
    /// Makes a function an entry point of the device.
    pub fn set_ptx_kernel(&self, function: Func<'ctx>) {
        function.set_call_conventions(PTX_KERNEL);
    }
    pub(super) fn attribute(&self, attribute: Attribute<'_, 'ctx>) -> attributes::Attribute {
        let kind = attributes::Attribute::get_named_enum_kind_id;
        match attribute {
            Attribute::Flag(name) => self.context.create_enum_attribute(kind(name), 0),
            Attribute::Number(name, value) => self.context.create_enum_attribute(kind(name), value),
            Attribute::Typed(name, ty) => self.context.create_type_attribute(kind(name), ty.as_any_type_enum()),
            Attribute::Text(name, text) => self.context.create_string_attribute(name, text),
        }
    }
    pub fn add_attribute(&self, function: Func<'ctx>, place: AttributeLoc, attribute: Attribute<'_, 'ctx>) {
        function.add_attribute(place, self.attribute(attribute));
    }
    pub fn param(&self, function: Func<'ctx>, index: u32) -> Val<'ctx> {
        function.get_nth_param(index).expect("the function was declared with this parameter")
    }
    pub fn block(&self, function: Func<'ctx>, name: &str) -> Block<'ctx> {
        self.context.append_basic_block(function, name)
    }
    pub fn position_at_end(&self, block: Block<'ctx>) {
        self.builder.position_at_end(block);
    }
    /// At the head of a block, before what it holds already.
    pub fn position_at_head(&self, block: Block<'ctx>) {
        match block.get_first_instruction() {
            Some(first) => self.builder.position_before(&first),
            None => self.builder.position_at_end(block),
        }
    }
    pub fn current_block(&self) -> Block<'ctx> {
        self.builder.get_insert_block().expect("the cursor is in a block")
    }
    /// Deletes the loads and addresses in a block that nothing uses. No handle to one may be used
    /// afterwards.
    pub fn delete_unused(&self, block: Block<'ctx>) {
        let mut next = block.get_last_instruction();
        while let Some(inst) = next {
            next = inst.get_previous_instruction();
            let is_read = matches!(inst.get_opcode(), InstructionOpcode::Load | InstructionOpcode::GetElementPtr);
            if is_read && inst.get_first_use().is_none() {
                inst.erase_from_basic_block();
            }
        }
    }
    /// Deletes a block that nothing branches to. No handle to it or to its values may be used
    /// afterwards.
    pub fn delete_block(&self, block: Block<'ctx>) {
        // SAFETY: callers made the block and drop their only handle to it here.
        built(unsafe { block.delete() });
    }
    /// Names a value that has no name yet.
    pub fn name(&self, value: Val<'ctx>, name: &str) {
        if value.get_name().is_empty() && !self.is_constant(value) {
            value.set_name(name);
        }
    }

    // The whole module

    /// Lets no pass change what these functions take and give, as if somebody outside used them.
    pub fn keep_signatures(&self, functions: &[Func<'ctx>]) {
        let used: Vec<_> = functions.iter().map(|function| function.as_global_value().as_pointer_value()).collect();
        let Some(ty) = used.first().map(|first| first.get_type()) else { return };
        let list = self.module.add_global(ty.array_type(used.len() as u32), None, "llvm.compiler.used");
        list.set_linkage(Linkage::Appending);
        list.set_section(Some("llvm.metadata"));
        list.set_initializer(&ty.const_array(&used));
    }

    /// How large the module's functions are.
    pub fn size(&self) -> Size {
        let mut size = Size::default();
        for function in self.module.get_functions() {
            let (mut blocks, mut instructions) = (0, 0);
            for block in function.get_basic_block_iter() {
                let count = block.get_instructions().count();
                blocks += 1;
                instructions += count;
                size.block = size.block.max(count);
            }
            size.blocks = size.blocks.max(blocks);
            size.instructions = size.instructions.max(instructions);
        }
        size
    }

    /// Why the module is malformed, if it is: a fault of kc.
    pub fn verify(&self) -> Option<String> {
        self.module.verify().err().map(|message| message.to_string())
    }

    /// The module as text.
    pub fn print(&self) -> String {
        let bytes = self.module.print_to_string().to_bytes().to_vec();
        // Texts of modules are long, and as good as always UTF-8: checking that takes less than
        // looking for what is not.
        String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}
