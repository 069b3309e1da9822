//! What do debuggers and profilers see of a kernel in an object? Lines, the functions that were
//! inlined, and variables as far as they live, as DWARF 4 (`kc compile --emit obj -g`).
//!
//! An LLVM function made for a kernel is a subprogram with the kernel's name. Each call that
//! lowering inlines is a subprogram of its own that says where it was inlined. Code of the built-in
//! library belongs to the line that calls it. A variable is described at each value that it gets:
//! by one record a scalar, since lowering flattens composites.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::Path;

use inkwell::debug_info::{
    AsDIScope, DIFile, DIFlags, DIFlagsConstants, DILocalVariable, DILocation, DISubprogram, DIType, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder, debug_metadata_version,
};
use inkwell::module::FlagBehavior;
use inkwell::types::BasicTypeEnum;

use super::builder::{Func, Llvm, Val};
use super::ffi;
use super::flatten;
use crate::ir::{Function, Phase};
use crate::source::{FileId, SourceMap, Span};
use crate::types::{Element, Layout, Scalar, StructTable, Type};

/// Codes of `DW_AT_encoding` (DWARF 4, 7.8).
mod encoding {
    pub const BOOLEAN: u32 = 0x02;
    pub const FLOAT: u32 = 0x04;
    pub const SIGNED: u32 = 0x05;
    pub const UNSIGNED: u32 = 0x07;
}

/// LLVM's `DW_OP_LLVM_fragment`: the value is these bits of the variable.
const FRAGMENT: i64 = 0x1000;

/// LLVM writes tables of names for version 5 that leave types out, and gdb then finds no functions.
const DWARF_VERSION: u64 = 4;

/// What debug information is about.
#[derive(Clone, Copy, Debug)]
pub struct DebugTexts<'a> {
    pub sources: &'a SourceMap,
    /// What the paths of the sources are relative to.
    pub folder: &'a Path,
}

/// Writes debug information into a module.
pub struct DebugInfo<'a, 'ctx> {
    ll: &'a Llvm<'ctx>,
    sources: &'a SourceMap,
    builder: DebugInfoBuilder<'ctx>,
    folder: String,
    files: RefCell<HashMap<FileId, DIFile<'ctx>>>,
    /// Of functions that are inlined, by their names in the IR, which are unique.
    inlined: RefCell<HashMap<String, DISubprogram<'ctx>>>,
    types: RefCell<HashMap<(Type, u32), Described<'ctx>>>,
    variables: RefCell<HashMap<VariableKey, DILocalVariable<'ctx>>>,
    /// Subprogram (by address) and number of the parameters so far: LLVM takes no number twice.
    numbered: RefCell<HashSet<(usize, u32)>>,
    /// The call that the cursor is in.
    place: Cell<Option<Place<'ctx>>>,
}

/// Subprogram (by address), name, type and threads a value has side by side.
type VariableKey = (usize, String, Type, u32);

/// A type and its size.
#[derive(Clone, Copy)]
struct Described<'ctx> {
    ty: DIType<'ctx>,
    bits: u64,
}

/// A function that is being lowered.
#[derive(Clone, Copy)]
pub struct Place<'ctx> {
    subprogram: DISubprogram<'ctx>,
    file: FileId,
    inlined_at: Option<DILocation<'ctx>>,
    location: DILocation<'ctx>,
}

/// What kind of variable a name is.
#[derive(Clone, Copy)]
pub enum Variable {
    /// The parameter of this number, from 1.
    Parameter(u32),
    Local,
}

impl<'a, 'ctx> DebugInfo<'a, 'ctx> {
    /// Of a module whose kernels are in the file `main`.
    pub fn new(ll: &'a Llvm<'ctx>, texts: DebugTexts<'a>, main: FileId, optimised: bool) -> DebugInfo<'a, 'ctx> {
        let DebugTexts { sources, folder } = texts;
        let number = |n: u64| ll.context.i32_type().const_int(n, false);
        let version = u64::from(debug_metadata_version());
        ll.module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, number(version));
        ll.module.add_basic_value_flag("Dwarf Version", FlagBehavior::Warning, number(DWARF_VERSION));
        let folder = folder.display().to_string();
        let path = sources.path(main).display().to_string();
        // No debugger knows types of Python as they are here; what C has all of them print.
        let (builder, unit) = ll.module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::C11,
            &path,
            &folder,
            concat!("kc ", env!("CARGO_PKG_VERSION")),
            optimised,
            "",
            0,
            "",
            DWARFEmissionKind::Full,
            0,
            true,
            false,
            "",
            "",
        );
        DebugInfo {
            ll,
            sources,
            builder,
            folder,
            files: RefCell::new(HashMap::from([(main, unit.get_file())])),
            inlined: RefCell::default(),
            types: RefCell::default(),
            variables: RefCell::default(),
            numbered: RefCell::default(),
            place: Cell::new(None),
        }
    }

    /// Continues with an LLVM function made for `function`. A function of the built-in library has
    /// no file on disk. It gets no lines, and debuggers step over it.
    pub fn enter(&self, made: Func<'ctx>, function: &Function) {
        if is_library(function) {
            return self.exit();
        }
        let subprogram = self.subprogram(function);
        made.set_subprogram(subprogram);
        self.begin(subprogram, function.span, None);
    }

    /// Goes on with a call of `function` that is inlined at the cursor; gives the caller, for
    /// [`DebugInfo::leave`]. None, and nothing changes, for a function of the built-in library.
    pub fn call(&self, function: &Function) -> Option<Place<'ctx>> {
        let caller = self.place.get().filter(|_| !is_library(function))?;
        let known = self.inlined.borrow().get(&function.name).copied();
        let subprogram = known.unwrap_or_else(|| self.subprogram(function));
        self.inlined.borrow_mut().insert(function.name.clone(), subprogram);
        self.begin(subprogram, function.span, Some(caller.location));
        Some(caller)
    }

    /// Goes on in the caller.
    pub fn leave(&self, caller: Place<'ctx>) {
        self.place.set(Some(caller));
        self.ll.builder.set_current_debug_location(caller.location);
    }

    /// What is written from now on comes from this place.
    pub fn set(&self, span: Span) {
        let Some(mut place) = self.place.get().filter(|_| !span.file.is_shared()) else { return };
        place.location = self.location(&place, span);
        self.leave(place);
    }

    /// The instructions from here on belong to no source line.
    pub fn exit(&self) {
        self.place.set(None);
        self.ll.builder.unset_current_debug_location();
    }

    /// A variable has this value from here on, in the block of the cursor.
    pub fn variable(&self, name: &str, kind: Variable, ty: Type, values: &[Val<'ctx>], structs: &StructTable) {
        let (Some(place), Some(block)) = (self.place.get(), self.ll.builder.get_insert_block()) else { return };
        let lanes = values.first().map_or(1, |&value| lanes(value));
        if values.iter().any(|&value| self::lanes(value) != lanes) {
            return;
        }
        let Some(described) = self.described(ty, lanes, structs) else { return };
        let variable = self.declared(&place, name, kind, (ty, lanes), described);
        let record = |value, bits: Option<(u64, u64)>| {
            let expression = bits.map_or_else(Vec::new, |(at, bits)| vec![FRAGMENT, at as i64, bits as i64]);
            let expression = self.builder.create_expression(expression);
            ffi::insert_value_record(&self.builder, value, variable, expression, place.location, block);
        };
        // Debuggers know arrays by their first element.
        if let (Type::Array(_) | Type::Local(_), [data, ..]) = (ty, values) {
            record(*data, None);
            return;
        }
        for (leaf, &value) in flatten::leaves(ty, structs).into_iter().zip(values) {
            let flatten::LeafKind::Scalar(scalar) = leaf.kind else { continue };
            let [at, bits] = [leaf.offset, scalar.size()].map(|bytes| u64::from(bytes) * 8 * u64::from(lanes));
            record(value, (bits < described.bits).then_some((at, bits)));
        }
    }

    /// No more functions come.
    pub fn finish(&self) {
        self.exit();
        self.builder.finalize();
    }

    fn begin(&self, subprogram: DISubprogram<'ctx>, at: Span, inlined_at: Option<DILocation<'ctx>>) {
        let start = self.sources.file(at.file).line_column(at.start);
        let scope = subprogram.as_debug_info_scope();
        let location = self.builder.create_debug_location(self.ll.context, start.line, start.column, scope, inlined_at);
        self.leave(Place { subprogram, file: at.file, inlined_at, location });
    }

    fn location(&self, place: &Place<'ctx>, span: Span) -> DILocation<'ctx> {
        let at = self.sources.file(span.file).line_column(span.start);
        let mut scope = place.subprogram.as_debug_info_scope();
        if span.file != place.file {
            // Passes over the IR inlined a function of another file.
            let file = self.file(span.file);
            scope = self.builder.create_lexical_block(scope, file, at.line, at.column).as_debug_info_scope();
        }
        self.builder.create_debug_location(self.ll.context, at.line, at.column, scope, place.inlined_at)
    }

    fn file(&self, id: FileId) -> DIFile<'ctx> {
        let make = || self.builder.create_file(&self.sources.path(id).display().to_string(), &self.folder);
        *self.files.borrow_mut().entry(id).or_insert_with(make)
    }

    fn subprogram(&self, function: &Function) -> DISubprogram<'ctx> {
        let file = self.file(function.span.file);
        let line = self.sources.file(function.span.file).line_column(function.span.start).line;
        let ty = self.builder.create_subroutine_type(file, None, &[], DIFlags::ZERO);
        let (scope, name) = (file.as_debug_info_scope(), subprogram_name(function));
        self.builder.create_function(scope, &name, None, file, line, ty, true, true, line, DIFlags::ZERO, true)
    }

    fn declared(
        &self,
        place: &Place<'ctx>,
        name: &str,
        kind: Variable,
        (ty, lanes): (Type, u32),
        described: Described<'ctx>,
    ) -> DILocalVariable<'ctx> {
        let subprogram = place.subprogram.as_mut_ptr() as usize;
        let key = (subprogram, name.to_string(), ty, lanes);
        let make = || {
            let (scope, file) = (place.subprogram.as_debug_info_scope(), self.file(place.file));
            let (line, flags) = (place.location.get_line(), DIFlags::ZERO);
            match kind {
                Variable::Parameter(n) if lanes == 1 && self.numbered.borrow_mut().insert((subprogram, n)) => {
                    self.builder.create_parameter_variable(scope, name, n, file, line, described.ty, true, flags)
                }
                _ => self.builder.create_auto_variable(scope, name, file, line, described.ty, false, flags, 0),
            }
        };
        *self.variables.borrow_mut().entry(key).or_insert_with(make)
    }

    /// A type whose numbers have one value for each of `lanes` threads; None where there is none.
    fn described(&self, ty: Type, lanes: u32, structs: &StructTable) -> Option<Described<'ctx>> {
        let known = self.types.borrow().get(&(ty, lanes)).copied();
        if known.is_some() {
            return known;
        }
        let made = self.describe(ty, lanes, structs)?;
        self.types.borrow_mut().insert((ty, lanes), made);
        Some(made)
    }

    fn describe(&self, ty: Type, lanes: u32, structs: &StructTable) -> Option<Described<'ctx>> {
        match ty {
            Type::Scalar(scalar) if lanes == 1 => Some(self.number(scalar)),
            // Threads have their truths in bits of one register.
            Type::Scalar(Scalar::Bool) => None,
            Type::Scalar(scalar) => Some(self.repeated(self.number(scalar), &[lanes])),
            Type::Vec(n, scalar) => {
                let part = self.described(scalar.into(), lanes, structs)?;
                Some(match usize::from(n) {
                    n if n <= AXES.len() => {
                        let name = format!("vec{n}");
                        self.members(&name, AXES[..n].iter().map(|name| (*name, part)))
                    }
                    _ => self.repeated(part, &[n.into()]),
                })
            }
            Type::Mat(rows, columns, scalar) => {
                let part = self.described(scalar.into(), lanes, structs)?;
                Some(self.repeated(part, &[rows.into(), columns.into()]))
            }
            Type::Quat(scalar) => {
                let part = self.described(scalar.into(), lanes, structs)?;
                Some(self.members("quat", AXES.iter().map(|name| (*name, part))))
            }
            Type::Transform(scalar) => {
                let p = self.described(Type::Vec(3, scalar), lanes, structs)?;
                let q = self.described(Type::Quat(scalar), lanes, structs)?;
                Some(self.members("transform", [("p", p), ("q", q)].into_iter()))
            }
            Type::Struct(id) if lanes == 1 => self.structure(id, structs),
            Type::Array(array) if lanes == 1 => self.pointer(array.element, structs),
            Type::Local(array) if lanes == 1 => self.pointer(array.element, structs),
            Type::Struct(_) | Type::Array(_) | Type::Local(_) => None,
        }
    }

    fn number(&self, scalar: Scalar) -> Described<'ctx> {
        let kind = match scalar {
            Scalar::Bool => encoding::BOOLEAN,
            _ if scalar.is_float() => encoding::FLOAT,
            _ if scalar.is_signed_int() => encoding::SIGNED,
            _ => encoding::UNSIGNED,
        };
        let bits = u64::from(scalar.size()) * 8;
        // LLVM refuses only types without a name.
        let made = self.builder.create_basic_type(scalar.name(), bits, kind, DIFlags::ZERO);
        Described { ty: made.expect("a type with a name").as_type(), bits }
    }

    fn repeated(&self, part: Described<'ctx>, extents: &[u32]) -> Described<'ctx> {
        let bits = extents.iter().fold(part.bits, |bits, &n| bits * u64::from(n));
        let ranges: Vec<std::ops::Range<i64>> = extents.iter().map(|&n| 0..i64::from(n)).collect();
        Described { ty: self.builder.create_array_type(part.ty, bits, 0, &ranges).as_type(), bits }
    }

    /// A struct of parts that lie one after the other.
    fn members<'n>(&self, name: &str, parts: impl Iterator<Item = (&'n str, Described<'ctx>)>) -> Described<'ctx> {
        let mut bits = 0;
        let placed: Vec<_> = parts
            .map(|(name, part)| {
                let at = bits;
                bits += part.bits;
                (name, part, at)
            })
            .collect();
        self.record(name, &placed, bits)
    }

    /// A struct of parts at these bits.
    fn record(&self, name: &str, parts: &[(&str, Described<'ctx>, u64)], bits: u64) -> Described<'ctx> {
        let unit = self.unit();
        let (scope, flags) = (unit.as_debug_info_scope(), DIFlags::ZERO);
        let member = |&(name, part, at): &(&str, Described<'ctx>, u64)| {
            self.builder.create_member_type(scope, name, unit, 0, part.bits, 0, at, flags, part.ty).as_type()
        };
        let members: Vec<DIType> = parts.iter().map(member).collect();
        let made = self.builder.create_struct_type(scope, name, unit, 0, bits, 0, flags, None, &members, 0, None, "");
        Described { ty: made.as_type(), bits }
    }

    fn structure(&self, id: crate::types::StructId, structs: &StructTable) -> Option<Described<'ctx>> {
        let mut end = 0u32;
        let mut parts = Vec::new();
        for field in &structs[id].fields {
            let layout = Layout::of(field.ty, structs);
            let start = end.next_multiple_of(layout.align);
            parts.push((&*field.name, self.described(field.ty, 1, structs)?, u64::from(start) * 8));
            end = start + layout.size;
        }
        let bits = u64::from(Layout::of(Type::Struct(id), structs).size) * 8;
        Some(self.record(&structs[id].name, &parts, bits))
    }

    fn pointer(&self, element: Element, structs: &StructTable) -> Option<Described<'ctx>> {
        let element = self.described(element.into(), 1, structs)?;
        let made = self.builder.create_pointer_type("", element.ty, 64, 0, inkwell::AddressSpace::default());
        Some(Described { ty: made.as_type(), bits: 64 })
    }

    /// A file for what is in none.
    fn unit(&self) -> DIFile<'ctx> {
        self.builder.create_file("<kc>", &self.folder)
    }
}

/// The components of vectors with names.
const AXES: [&str; 4] = ["x", "y", "z", "w"];

/// Whether a function belongs to the built-in library, or was made by kc.
pub fn is_library(function: &Function) -> bool {
    function.library || function.span.file.is_shared()
}

/// What a debugger calls a function.
fn subprogram_name(function: &Function) -> String {
    match function.phase {
        Phase::Forward => function.source_name.clone(),
        phase => format!("{}_{}", function.source_name, phase.name()),
    }
}

/// How many threads a value has a number of.
fn lanes(value: Val<'_>) -> u32 {
    match value.get_type() {
        BasicTypeEnum::VectorType(vector) => vector.get_size(),
        _ => 1,
    }
}
