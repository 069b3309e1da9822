//! How much memory do the local arrays of a kernel need?

use std::collections::HashMap;

use super::options::CodegenError;
use crate::diag::Code;
use crate::ir::{self, FuncId};
use crate::limits::MAX_LOCAL_BYTES;
use crate::source::Span;
use crate::types::{Layout, Type};

/// Refuses what LLVM or the machine could not take. Runs before any code is built.
pub(super) fn validate(module: &ir::Module, kernel: FuncId) -> Result<(), CodegenError> {
    let (bytes, first) = local_bytes(module, kernel, &mut HashMap::new());
    if bytes <= MAX_LOCAL_BYTES {
        return Ok(());
    }
    let name = &module.functions[kernel].source_name;
    let message = format!("the local arrays of `{name}` need more than {} KiB", MAX_LOCAL_BYTES >> 10);
    Err(CodegenError { code: Code::E0802, message, span: first })
}

/// The bytes of all local arrays in a function and in its calls, and where the first one is. Every
/// call counts, because calls are inlined.
fn local_bytes(
    module: &ir::Module,
    id: FuncId,
    known: &mut HashMap<FuncId, (u64, Option<Span>)>,
) -> (u64, Option<Span>) {
    if let Some(&found) = known.get(&id) {
        return found;
    }
    let function = &module.functions[id];
    let (mut bytes, mut first) = (0u64, None);
    function.walk(function.entry, &mut |_, inst| {
        let (more, span) = if let ir::Op::LocalArray = &inst.op {
            match inst.results.first().map(|r| function.ty(*r)) {
                Some(Type::Local(local)) => {
                    let element = Layout::of_element(local.element, &module.structs);
                    (local.len().saturating_mul(u64::from(element.size)), Some(inst.span))
                }
                _ => (0, None),
            }
        } else if let ir::Op::Call(callee, _) = &inst.op {
            local_bytes(module, *callee, known)
        } else {
            (0, None)
        };
        bytes = bytes.saturating_add(more);
        first = first.or(span);
    });
    known.insert(id, (bytes, first));
    (bytes, first)
}
