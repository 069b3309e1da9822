//! Which library functions does lean code call instead of holding them, where do their texts come
//! from, and which one does hardware do?
//!
//! `log` is the same in every program that uses it. Code that is to be made quickly
//! ([`super::Opt::Lean`]) calls the larger of the functions that compute and do nothing else. Each
//! is compiled once, for all programs of a compiler, and its text is put beside theirs. Host code
//! that runs once ([`super::Opt::None`]) calls them too, and `jit` keeps their objects.

use std::collections::HashMap;
use std::sync::Arc;

use super::builder::{Attribute, AttributeLoc, Func, Ty, Val};
use super::flatten;
use super::lower::{Lower, ModuleState, Scalars, Target, Thread};
use super::options::CodegenError;
use crate::ir::fingerprint::Fingerprints;
use crate::ir::properties::DependsOn;
use crate::ir::{FuncId, Function, Module, Op, jumps, plain};
use crate::memo::Memo;
use crate::types::Type;

/// Functions of at least this size, in IR instructions with all that they call, are called: a call
/// takes about ten instructions of PTX.
const CALL_FROM: u64 = 24;

/// The most numbers that such a function takes.
const MOST_ARGUMENTS: usize = 16;

/// The most numbers that such a function gives.
const MOST_RESULTS: usize = 9;

/// The same on the host: those that come in registers (`results`).
const MOST_REGISTERS: usize = 4;

/// The library functions that a module calls.
pub struct Library<'a, 'ctx> {
    fingerprints: Fingerprints<'a>,
    /// Whether a function computes and does nothing else.
    pure: HashMap<FuncId, bool>,
    /// Those that are called, in the order of their first calls.
    called: Vec<(FuncId, Func<'ctx>)>,
    /// Whether multiplications and additions may fuse in code of the user's.
    contract: bool,
    target: Target,
}

impl<'a, 'ctx> Library<'a, 'ctx> {
    pub fn new(module: &'a Module, contract: bool, target: Target) -> Library<'a, 'ctx> {
        Library { fingerprints: Fingerprints::new(module), pure: HashMap::new(), called: Vec::new(), contract, target }
    }

    /// The functions that are called, as what they are declared, and their fingerprints.
    pub fn into_called(mut self) -> Vec<(FuncId, Func<'ctx>, u128)> {
        let fingerprints = &mut self.fingerprints;
        self.called.iter().filter_map(|&(id, made)| Some((id, made, fingerprints.of(id)?))).collect()
    }

    /// Whether a function, of so many instructions, is called where it is used.
    fn wants(&mut self, module: &Module, id: FuncId, weight: u64, contract: bool) -> bool {
        let function = &module.functions[id];
        // Where the rules for rounding are others, as in the library's own helpers, the text would
        // be another.
        weight >= CALL_FROM
            && function.library
            && contract == self.contract
            && has_plain_signature(module, function, self.most_results())
            && self.is_pure(module, id)
            && self.fingerprints.of(id).is_some()
    }

    fn most_results(&self) -> usize {
        match self.target {
            Target::Nvptx { .. } => MOST_RESULTS,
            Target::Host { .. } => MOST_REGISTERS,
        }
    }

    fn is_pure(&mut self, module: &Module, id: FuncId) -> bool {
        if let Some(&known) = self.pure.get(&id) {
            return known;
        }
        let function = &module.functions[id];
        let (mut pure, mut callees) = (true, Vec::new());
        function.walk(function.entry, &mut |_, inst| match inst.op {
            Op::Call(callee, _) => callees.push(callee),
            // In a checked run, loops look whether an error is recorded; on a GPU those that load.
            Op::For { .. } | Op::While { .. } => pure &= self.target.is_gpu() || !self.target.is_checked(),
            plain!() | Op::If { .. } | jumps!() => pure &= computes(&inst.op),
        });
        let pure = pure && callees.into_iter().all(|callee| self.is_pure(module, callee));
        self.pure.insert(id, pure);
        pure
    }
}

/// Whether an operation depends on its operands alone, and does nothing but give its results or
/// lead the way.
fn computes(op: &Op) -> bool {
    let own = op.properties();
    (own.is_value() || own.control) && own.depends_on == DependsOn::Nothing
}

/// Numbers in, numbers out, and not too many.
fn has_plain_signature(module: &Module, function: &Function, most_results: usize) -> bool {
    let numbers = |ty: Type| ty.scalar_part().map(|_| flatten::leaf_count(ty, &module.structs));
    let arguments: Option<usize> = function.params().iter().map(|&param| numbers(function.ty(param))).sum();
    let results: Option<usize> = function.results.iter().map(|result| numbers(result.ty)).sum();
    arguments.is_some_and(|n| n <= MOST_ARGUMENTS) && results.is_some_and(|n| (1..=most_results).contains(&n))
}

impl<'ctx> ModuleState<'_, 'ctx> {
    /// The function to call for a library function, if it is not to be inlined.
    pub fn library_call(&mut self, id: FuncId) -> Option<Func<'ctx>> {
        let weight = self.weight(id);
        let (contract, module) = (self.ll.contract.get(), self.ir);
        let library = self.library.as_mut()?;
        if !library.wants(module, id, weight, contract) {
            return None;
        }
        if let Some(&(_, known)) = library.called.iter().find(|(known, _)| *known == id) {
            return Some(known);
        }
        let made = self.declare_plain(id);
        self.library.as_mut()?.called.push((id, made));
        Some(made)
    }

    /// A function of the flattened arguments: the result if there is one number, otherwise a struct
    /// of them.
    fn declare_plain(&self, id: FuncId) -> Func<'ctx> {
        let (ll, function) = (self.ll, &self.ir.functions[id]);
        let flat =
            |types: &mut dyn Iterator<Item = Type>| types.flat_map(|ty| self.leaf_types(ty)).collect::<Vec<Ty<'ctx>>>();
        let params = flat(&mut function.params().iter().map(|&param| function.ty(param)));
        let results = flat(&mut function.results.iter().map(|result| result.ty));
        let result = if let [one] = results[..] { one } else { ll.struct_ty(&results) };
        let made = ll.add_function(&function.name, Some(result), &params, false);
        if !self.target.is_gpu() && results.len() > 1 {
            ll.set_several_results(made);
        }
        for attribute in [Attribute::Flag("nounwind"), Attribute::Flag("willreturn"), Attribute::Number("memory", 0)] {
            ll.add_attribute(made, AttributeLoc::Function, attribute);
        }
        made
    }

    /// Emits a library function that is called.
    pub fn library_function(&mut self, id: FuncId) -> Func<'ctx> {
        let ll = self.ll;
        let made = self.declare_plain(id);
        let entry = ll.block(made, "entry");
        ll.position_at_end(entry);
        // It asks for nothing of its thread.
        let (number, wide) = (ll.undefined(ll.i32()), ll.undefined(ll.i64()));
        let thread =
            Thread { coordinates: [number; 4], block_dim: number, linear: wide, status: ll.undefined(ll.ptr(0)) };
        let function = &self.ir.functions[id];
        let mut next = 0;
        let mut take = |count: usize| -> Scalars<'ctx> {
            next += count as u32;
            (next - count as u32..next).map(|n| ll.param(made, n)).collect()
        };
        let counts = function.params().iter().map(|&param| flatten::leaf_count(function.ty(param), &self.ir.structs));
        let args = counts.map(&mut take).collect();
        let flat: Scalars =
            Lower::new(self, made, entry, thread, None).function(id, args, &[]).into_iter().flatten().collect();
        ll.ret(Some(match flat[..] {
            [one] => one,
            _ => ll.results(made, &flat),
        }));
        made
    }
}

/// The texts of a library function: a module that holds nothing else.
pub(super) struct LibraryText {
    /// If it was asked for.
    pub ir: Option<String>,
    pub ptx: String,
}

/// What the text of a library function depends on, beside its fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TextKey {
    pub arch: &'static str,
    pub fmad: bool,
    /// LLVM IR is asked for too, in which values keep their names.
    pub ir: bool,
}

/// The texts of library functions that were compiled for a device, for later programs.
#[derive(Debug)]
pub struct Parts {
    kept: Memo<(u128, TextKey), Arc<LibraryText>>,
}

impl Parts {
    /// None yet. `most`: the bytes of text that are kept.
    pub fn new(most: usize) -> Parts {
        Parts { kept: Memo::new(most) }
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.kept.size()
    }

    /// The texts of the library functions of this fingerprint.
    pub(super) fn get_or_make(
        &self,
        fingerprint: u128,
        kind: TextKey,
        make: impl FnOnce() -> Result<LibraryText, CodegenError>,
    ) -> Result<Arc<LibraryText>, CodegenError> {
        let key = (fingerprint, kind);
        if let Some(known) = self.kept.get(&key) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        let size = made.ptx.len() + made.ir.as_ref().map_or(0, String::len);
        self.kept.keep(key, made.clone(), size);
        Ok(made)
    }
}

impl<'ctx> Lower<'_, '_, 'ctx> {
    /// What the library's multiplication by a power of two gives, where the target has an
    /// instruction for it. (Its result is the same: of the library's two multiplications only the
    /// second one rounds.)
    pub fn scaled(&self, callee: FuncId, args: &[Scalars<'ctx>]) -> Option<Val<'ctx>> {
        let function = &self.ir.functions[callee];
        let is_scale = function.library && matches!(&*function.source_name, "_scale_f32" | "_scale_f64");
        let (true, [x, n]) = (is_scale && self.ops.floats.scale, args) else { return None };
        let (x, n) = self.ll.pair(*x.first()?, *n.first()?);
        Some(self.ll.intrinsic("llvm.ldexp", &[self.ll.ty(x), self.ll.ty(n)], &[x, n]))
    }
}
