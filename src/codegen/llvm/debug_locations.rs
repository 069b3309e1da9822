//! Which place of the source does each line of PTX come from? LLVM carries such places through its
//! passes as debug locations. A location has a line, and ours counts bytes of the source. The
//! directives and sections that LLVM writes about them become marks ([`crate::source::lined`]).

use std::cell::Cell;

use inkwell::debug_info::{
    AsDIScope, DIFile, DIFlags, DIFlagsConstants, DISubprogram, DWARFEmissionKind, DWARFSourceLanguage,
    DebugInfoBuilder, debug_metadata_version,
};
use inkwell::module::FlagBehavior;

use super::builder::{Func, Llvm};
use crate::source::{FileId, Span, lined};

/// Writes debug locations into a module.
pub struct DebugLocations<'a, 'ctx> {
    ll: &'a Llvm<'ctx>,
    builder: DebugInfoBuilder<'ctx>,
    file: DIFile<'ctx>,
    /// The function that is written.
    scope: Cell<Option<DISubprogram<'ctx>>>,
    /// The source file whose places count: what is written for another one belongs to the place
    /// before it.
    source: FileId,
}

impl<'a, 'ctx> DebugLocations<'a, 'ctx> {
    pub fn new(ll: &'a Llvm<'ctx>, source: FileId) -> DebugLocations<'a, 'ctx> {
        let version = ll.context.i32_type().const_int(debug_metadata_version().into(), false);
        ll.module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let (builder, unit) = ll.module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::Python,
            "source",
            "",
            "kc",
            true,
            "",
            0,
            "",
            DWARFEmissionKind::LineTablesOnly,
            0,
            false,
            false,
            "",
            "",
        );
        DebugLocations { ll, builder, file: unit.get_file(), scope: Cell::new(None), source }
    }

    /// Goes on with a function, which begins at a place.
    pub fn enter(&self, function: Func<'ctx>, at: Span) {
        // A line of another file would be taken for one of ours.
        let line = if at.file == self.source { at.start + 1 } else { 0 };
        let ty = self.builder.create_subroutine_type(self.file, None, &[], DIFlags::ZERO);
        let file = self.file.as_debug_info_scope();
        let flags = DIFlags::ZERO;
        let scope = self.builder.create_function(file, "f", None, self.file, line, ty, false, true, line, flags, true);
        function.set_subprogram(scope);
        self.scope.set(Some(scope));
        self.locate(0);
    }

    /// What is written from now on comes from this place.
    pub fn set(&self, span: Span) {
        if span.file == self.source {
            self.locate(span.start + 1);
        }
    }

    fn locate(&self, line: u32) {
        let Some(scope) = self.scope.get() else { return };
        let scope = scope.as_debug_info_scope();
        let location = self.builder.create_debug_location(self.ll.context, line, 0, scope, None);
        self.ll.builder.set_current_debug_location(location);
    }

    /// No more functions come.
    pub fn finish(&self) {
        self.builder.finalize();
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
