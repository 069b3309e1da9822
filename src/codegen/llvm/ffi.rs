//! What of LLVM has no wrapper in inkwell? The one file that calls LLVM's C interface itself: each
//! function says what is missing, and takes and gives inkwell's handles, so that no raw pointer
//! leaves the file.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_void};
use std::ptr;

use inkwell::AtomicRMWBinOp;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::debug_info::{DIExpression, DILocalVariable, DILocation, DebugInfoBuilder};
use inkwell::llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMAddAlias2, LLVMBuildAtomicRMWSyncScope, LLVMBuildInBoundsGEP2, LLVMContextSetDiagnosticHandler,
    LLVMContextSetDiscardValueNames, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
    LLVMGetSyncScopeID, LLVMReplaceMDNodeOperandWith, LLVMSetAlignment, LLVMSetAtomicSyncScopeID, LLVMValueAsMetadata,
};
use inkwell::llvm_sys::debuginfo::LLVMDIBuilderInsertDbgValueRecordAtEnd;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcCreateLLJITBuilder, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile,
    LLVMOrcLLJITAddObjectFileWithRT, LLVMOrcLLJITGetGlobalPrefix, LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup,
    LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{
    LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess, LLVMOrcJITDylibAddGenerator,
    LLVMOrcJITDylibCreateResourceTracker, LLVMOrcReleaseResourceTracker, LLVMOrcResourceTrackerRef,
    LLVMOrcResourceTrackerRemove,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::types::AsTypeRef;
use inkwell::values::{
    AsValueRef, FunctionValue, GlobalValue, InstructionOpcode, InstructionValue, MetadataValue, PointerValue,
};

use super::builder::{Ty, Val};

/// Values get no names, only numbers. inkwell's contexts always keep names.
pub fn discard_value_names(context: &Context, discard: bool) {
    // SAFETY: the context is alive.
    unsafe { LLVMContextSetDiscardValueNames(context.raw(), i32::from(discard)) }
}

/// Runs `work`; also what LLVM warns of meanwhile in a context's modules, and the errors that it
/// finds. inkwell has no handler, and LLVM's own ends the process at the first error.
pub fn listen<T>(context: &Context, work: impl FnOnce() -> T) -> (T, Said) {
    extern "C" fn keep(told: LLVMDiagnosticInfoRef, said: *mut c_void) {
        // SAFETY: `said` is the cell below, which no one else borrows meanwhile; LLVM's text is
        // copied and disposed of once.
        unsafe {
            let said: &RefCell<Said> = &*said.cast();
            let mut said = said.borrow_mut();
            let list = match LLVMGetDiagInfoSeverity(told) {
                LLVMDiagnosticSeverity::LLVMDSError => &mut said.errors,
                LLVMDiagnosticSeverity::LLVMDSWarning => &mut said.warnings,
                // How the optimiser got on.
                LLVMDiagnosticSeverity::LLVMDSRemark | LLVMDiagnosticSeverity::LLVMDSNote => return,
            };
            let text = LLVMGetDiagInfoDescription(told);
            list.push(CStr::from_ptr(text).to_string_lossy().into_owned());
            LLVMDisposeMessage(text);
        }
    }
    let said = RefCell::new(Said::default());
    let cell = (&raw const said).cast_mut().cast();
    // SAFETY: the context is alive, and the cell outlives the handler, which is taken back.
    let set = |handler, cell| unsafe { LLVMContextSetDiagnosticHandler(context.raw(), handler, cell) };
    set(Some(keep), cell);
    let made = work();
    set(None, ptr::null_mut());
    (made, said.into_inner())
}

/// What LLVM says of a module.
#[derive(Default)]
pub struct Said {
    pub warnings: Vec<String>,
    pub errors: Vec<String>,
}

/// Which threads an atomic is atomic among. inkwell's atomics are always of the whole system.
#[derive(Clone, Copy)]
pub struct SyncScope(u32);

impl SyncScope {
    /// `""`: the whole system.
    pub fn of(context: &Context, name: &str) -> SyncScope {
        // SAFETY: the context is alive, and LLVM copies the name.
        SyncScope(unsafe { LLVMGetSyncScopeID(context.raw(), name.as_ptr().cast(), name.len()) })
    }

    /// Of an atomic instruction.
    pub fn set(self, atomic: InstructionValue<'_>) {
        // SAFETY: the handle is alive. LLVM casts to the kinds of instruction that have a scope: it
        // is one of them.
        unsafe { LLVMSetAtomicSyncScopeID(checked_atomic(atomic).as_value_ref(), self.0) }
    }
}

fn checked_atomic(inst: InstructionValue<'_>) -> InstructionValue<'_> {
    use InstructionOpcode::{AtomicCmpXchg, AtomicRMW, Load};
    assert!(matches!(inst.get_opcode(), AtomicCmpXchg | AtomicRMW | Load), "an atomic instruction");
    inst
}

/// A second symbol of a function. inkwell has no aliases.
pub fn add_alias<'ctx>(module: &Module<'ctx>, function: FunctionValue<'ctx>, name: &str) -> GlobalValue<'ctx> {
    let name = CString::new(name).unwrap_or_default();
    let (ty, value) = (function.get_type().as_type_ref(), function.as_value_ref());
    // SAFETY: the module and its function are alive, the type is the function's, it is in the
    // address space 0, and LLVM copies the name, which ends with a zero.
    unsafe { GlobalValue::new(LLVMAddAlias2(module.as_mut_ptr(), ty, 0, value, name.as_ptr())) }
}

/// A debug variable has a value from the end of a block on. inkwell places such records before
/// instructions only.
pub fn insert_value_record<'ctx>(
    builder: &DebugInfoBuilder<'ctx>,
    value: Val<'ctx>,
    variable: DILocalVariable<'ctx>,
    expression: DIExpression<'ctx>,
    location: DILocation<'ctx>,
    block: BasicBlock<'ctx>,
) {
    let (variable, expression) = (variable.as_mut_ptr(), expression.as_mut_ptr());
    let (builder, location) = (builder.as_mut_ptr(), location.as_mut_ptr());
    // SAFETY: all handles are of one context, which is alive.
    unsafe {
        let value = value.as_value_ref();
        LLVMDIBuilderInsertDbgValueRecordAtEnd(builder, value, variable, expression, location, block.as_mut_ptr());
    }
}

/// inkwell sets the alignment of loads and stores only.
pub fn set_atomic_alignment(atomic: InstructionValue<'_>, align: u32) {
    assert!(align.is_power_of_two(), "alignments are powers of two");
    // SAFETY: the handle is alive, of a kind of instruction that has an alignment, and the
    // alignment is one.
    unsafe { LLVMSetAlignment(checked_atomic(atomic).as_value_ref(), align) }
}

/// A relaxed read-modify-write; gives the old value. inkwell's takes no floats and no scope.
pub fn atomic_rmw<'ctx>(
    builder: &Builder<'ctx>,
    op: AtomicRMWBinOp,
    pointer: PointerValue<'ctx>,
    value: Val<'ctx>,
    scope: SyncScope,
    align: u32,
) -> Val<'ctx> {
    assert!(builder.get_insert_block().is_some(), "the cursor is in a block");
    let (pointer, operand) = (pointer.as_value_ref(), value.as_value_ref());
    // SAFETY: the handles are alive and of one context, the cursor is in a block, and the result
    // has the operand's type.
    let old = unsafe {
        let order = LLVMAtomicOrderingMonotonic;
        Val::new(LLVMBuildAtomicRMWSyncScope(builder.as_mut_ptr(), op.into(), pointer, operand, order, scope.0))
    };
    // SAFETY: what was just built is an instruction.
    set_atomic_alignment(unsafe { InstructionValue::new(old.as_value_ref()) }, align);
    old
}

/// `pointer + index * size_of(element)`, within one object each, where one of the two is a vector.
/// inkwell's takes and gives single addresses only.
pub fn addresses_in_bounds<'ctx>(
    builder: &Builder<'ctx>,
    element: Ty<'ctx>,
    pointer: Val<'ctx>,
    index: Val<'ctx>,
) -> Val<'ctx> {
    assert!(builder.get_insert_block().is_some(), "the cursor is in a block");
    let mut index = index.as_value_ref();
    let (element, pointer) = (element.as_type_ref(), pointer.as_value_ref());
    // SAFETY: the handles are alive and of one context, the cursor is in a block, and one index is
    // passed as announced.
    unsafe { Val::new(LLVMBuildInBoundsGEP2(builder.as_mut_ptr(), element, pointer, &mut index, 1, c"".as_ptr())) }
}

/// The name of a loop with one property: a node that names itself first, which makes it unlike all
/// others. inkwell's nodes cannot refer to themselves.
pub fn loop_id<'ctx>(context: &'ctx Context, property: MetadataValue<'ctx>) -> MetadataValue<'ctx> {
    let node = context.metadata_node(&[property.into(), property.into()]);
    // SAFETY: the node is alive and has an operand 0.
    unsafe { LLVMReplaceMDNodeOperandWith(node.as_value_ref(), 0, LLVMValueAsMetadata(node.as_value_ref())) };
    node
}

/// LLVM's LLJIT: links objects into this process. inkwell has the older MCJIT only, which compiles
/// whole modules itself.
pub struct Jit {
    raw: LLVMOrcLLJITRef,
}

// SAFETY: an engine has no ties to a thread.
unsafe impl Send for Jit {}
// SAFETY: LLVM's engines may be used by several threads at once: their sessions lock what they
// share.
unsafe impl Sync for Jit {}

/// The code of some objects, which can be removed again.
pub struct JitCode {
    tracker: LLVMOrcResourceTrackerRef,
    engine: LLVMOrcLLJITRef,
}

// SAFETY: a tracker has no ties to a thread, and can only be handed back to its engine.
unsafe impl Send for JitCode {}
// SAFETY: a shared reference offers nothing.
unsafe impl Sync for JitCode {}

impl Jit {
    /// An engine in which code finds the functions of this process (the C library). The host's
    /// target must be registered.
    pub fn new() -> Result<Jit, String> {
        let mut raw = ptr::null_mut();
        // SAFETY: the out parameter is local; the engine takes over the builder.
        check(unsafe { LLVMOrcCreateLLJIT(&mut raw, LLVMOrcCreateLLJITBuilder()) })?;
        let jit = Jit { raw };
        let mut generator = ptr::null_mut();
        // SAFETY: the engine is alive, and the out parameter is local.
        check(unsafe {
            let prefix = LLVMOrcLLJITGetGlobalPrefix(raw);
            LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&mut generator, prefix, None, ptr::null_mut())
        })?;
        // SAFETY: both are alive; the library takes over the generator.
        unsafe { LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(raw), generator) };
        Ok(jit)
    }

    /// Adds an object that stays as long as the engine.
    pub fn add(&self, object: &[u8]) -> Result<(), String> {
        // SAFETY: the engine is alive and takes over the buffer, which owns its bytes.
        check(unsafe { LLVMOrcLLJITAddObjectFile(self.raw, LLVMOrcLLJITGetMainJITDylib(self.raw), buffer(object)) })
    }

    /// Adds an object that can be removed.
    pub fn add_removable(&self, object: &[u8]) -> Result<JitCode, String> {
        // SAFETY: the engine is alive.
        let tracker = unsafe { LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(self.raw)) };
        let code = JitCode { tracker, engine: self.raw };
        // SAFETY: engine and tracker are alive; the engine takes over the buffer, which owns its
        // bytes.
        match check(unsafe { LLVMOrcLLJITAddObjectFileWithRT(self.raw, tracker, buffer(object)) }) {
            Ok(()) => Ok(code),
            Err(message) => self.remove(code).and(Err(message)),
        }
    }

    /// Unlinks code of this engine, which nobody runs any more.
    pub fn remove(&self, code: JitCode) -> Result<(), String> {
        assert!(ptr::eq(code.engine, self.raw), "the code is of this engine");
        // SAFETY: the tracker is of this engine, which is alive; it is released once, as it is
        // moved in.
        unsafe {
            let removed = check(LLVMOrcResourceTrackerRemove(code.tracker));
            LLVMOrcReleaseResourceTracker(code.tracker);
            removed
        }
    }

    /// The address of a function, which is linked now if it was not before.
    pub fn address(&self, name: &str) -> Result<u64, String> {
        let name = CString::new(name).map_err(|_| format!("{name:?} is no name of a function"))?;
        let mut address = 0;
        // SAFETY: the engine is alive, the name outlives the call, and the out parameter is local.
        check(unsafe { LLVMOrcLLJITLookup(self.raw, &mut address, name.as_ptr()) })?;
        Ok(address)
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        // SAFETY: owned, disposed of once. There is nobody to tell about a failure.
        let _ = check(unsafe { LLVMOrcDisposeLLJIT(self.raw) });
    }
}

/// A copy of an object that whoever gets it owns.
fn buffer(object: &[u8]) -> inkwell::llvm_sys::prelude::LLVMMemoryBufferRef {
    let buffer = MemoryBuffer::create_from_memory_range_copy(object, "kernels");
    std::mem::ManuallyDrop::new(buffer).as_mut_ptr()
}

/// An LLVM error as its text.
fn check(error: LLVMErrorRef) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: taking the message consumes the error; the message is copied and disposed of once.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(text)
    }
}
