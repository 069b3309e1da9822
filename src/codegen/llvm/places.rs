//! Which place of the source does each line of PTX come from? LLVM carries places through its passes as debug locations;
//! a location has a line, and ours counts bytes of the source. The directives and sections that LLVM writes about them
//! become marks ([`crate::source::lined`]).

use std::cell::Cell;

use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use super::builder::{Func, Llvm, c_string};
use crate::source::{FileId, Span, lined};

/// Writes places into a module.
pub struct Places {
    builder: LLVMDIBuilderRef,
    file: LLVMMetadataRef,
    /// The function that is written.
    scope: Cell<LLVMMetadataRef>,
    /// The source file whose places count: what is written for another one belongs to the place before it.
    source: FileId,
}

// SAFETY of the unsafe blocks below: every handle was made for this module, which outlives the `Places` in it, and the
// texts are copied.
impl Places {
    pub fn new(ll: &Llvm, source: FileId) -> Places {
        let (name, maker) = (c_string("source"), c_string("kc"));
        unsafe {
            let version = LLVMValueAsMetadata(ll.const_i32(LLVMDebugMetadataVersion() as i32).0);
            let key = "Debug Info Version";
            let behavior = llvm_sys::LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning;
            LLVMAddModuleFlag(ll.module, behavior, key.as_ptr().cast(), key.len(), version);
            let builder = LLVMCreateDIBuilder(ll.module);
            let file = LLVMDIBuilderCreateFile(builder, name.as_ptr(), name.as_bytes().len(), c"".as_ptr(), 0);
            LLVMDIBuilderCreateCompileUnit(
                builder,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguagePython,
                file,
                maker.as_ptr(),
                maker.as_bytes().len(),
                1,
                c"".as_ptr(),
                0,
                0,
                c"".as_ptr(),
                0,
                LLVMDWARFEmissionKind::LLVMDWARFEmissionKindLineTablesOnly,
                0,
                0,
                0,
                c"".as_ptr(),
                0,
                c"".as_ptr(),
                0,
            );
            Places { builder, file, scope: Cell::new(std::ptr::null_mut()), source }
        }
    }

    /// Goes on with a function, which stands at a place.
    pub fn enter(&self, ll: &Llvm, function: Func, at: Span) {
        let name = c_string("f");
        // A line of another file would be taken for one of ours.
        let line = if at.file == self.source { at.start + 1 } else { 0 };
        unsafe {
            let ty = LLVMDIBuilderCreateSubroutineType(self.builder, self.file, std::ptr::null_mut(), 0, 0);
            let scope = LLVMDIBuilderCreateFunction(
                self.builder,
                self.file,
                name.as_ptr(),
                1,
                name.as_ptr(),
                1,
                self.file,
                line,
                ty,
                0,
                1,
                line,
                0,
                1,
            );
            LLVMSetSubprogram(function.value.0, scope);
            self.scope.set(scope);
        }
        self.locate(ll, 0);
    }

    /// What is written from now on comes from this place.
    pub fn set(&self, ll: &Llvm, span: Span) {
        if span.file == self.source && !self.scope.get().is_null() {
            self.locate(ll, span.start + 1);
        }
    }

    fn locate(&self, ll: &Llvm, line: u32) {
        unsafe {
            let scope = self.scope.get();
            let place = LLVMDIBuilderCreateDebugLocation(ll.context, line, 0, scope, std::ptr::null_mut());
            LLVMSetCurrentDebugLocation2(ll.builder, place);
        }
    }

    /// No more functions come.
    pub fn finish(&self) {
        unsafe { LLVMDIBuilderFinalize(self.builder) }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        unsafe { LLVMDisposeDIBuilder(self.builder) }
    }
}

/// PTX with marks for its lines in place of the directives that LLVM writes about places.
pub fn marked(ptx: &str, source: FileId) -> String {
    let mut out = String::with_capacity(ptx.len());
    let mut at = None;
    for line in ptx.lines() {
        let word = line.trim();
        if let Some(rest) = word.strip_prefix(".loc\t") {
            let offset: u32 = rest.split_whitespace().nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
            at = offset.checked_sub(1).map(|start| Span::new(source, start, start));
        } else if word.starts_with(".section") {
            // The tables about places stand last.
            break;
        } else if word.starts_with(".file") || is_own_label(word) {
        } else {
            if line.starts_with(['.', '}']) {
                at = None;
            }
            let line = line.strip_suffix(", debug").filter(|line| line.starts_with(".target")).unwrap_or(line);
            let is_code = at.is_some() && line.starts_with('\t') && word.ends_with(';');
            match at.filter(|_| is_code) {
                Some(span) => out.extend([&lined::begin(span), line, &lined::END.to_string(), "\n"]),
                None => out.extend([line, "\n"]),
            }
        }
    }
    out
}

/// Labels that only the tables name.
fn is_own_label(word: &str) -> bool {
    word.ends_with(':') && ["$L__tmp", "$L__func_begin", "$L__func_end"].iter().any(|start| word.starts_with(start))
}
