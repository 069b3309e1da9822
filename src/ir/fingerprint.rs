//! When are two functions the same, in one module or in two? When their *fingerprints* are: a
//! number for everything that a back end can see of a function, so that what was made from one can
//! serve for the other.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use twox_hash::XxHash3_128;

use super::{Block, FuncId, Function, Inst, Module, Op, Value};
use crate::ids::IdVec;
use crate::types::{Element, Field, StructDef, Type};

/// The fingerprints of the functions of a module, each found when it is first asked for.
///
/// Functions of one fingerprint have the same names (their own, in the module and in the source,
/// and those of values), kind, types, instructions, constants, notes and spans, under the same ids,
/// and call functions of the same fingerprints (Merkle, "A digital signature based on a
/// conventional encryption function", 1987). Two things are left out:
///
/// - The ids of the functions that it calls, which differ from module to module.
/// - [`Function::derivative`], which no back end reads. It may lead in a circle (a function names
///   its adjoint, the adjoint names it), and says nothing of what a function does. Who keeps
///   something that depends on derivatives has to compare these beside the fingerprint.
pub struct Fingerprints<'a> {
    module: &'a Module,
    known: IdVec<FuncId, Known>,
}

#[derive(Clone, Copy)]
enum Known {
    NotYet,
    /// Also while it is being found, so that a module with recursion, which is not valid, does no
    /// harm.
    None,
    Fingerprint(u128),
}

impl<'a> Fingerprints<'a> {
    pub fn new(module: &'a Module) -> Fingerprints<'a> {
        Fingerprints { module, known: module.functions.ids().map(|_| Known::NotYet).collect() }
    }

    /// The fingerprint of a function. None if a type in it, or in a function that it calls,
    /// mentions a struct of the user's: such types are numbers that mean something in their module
    /// alone.
    pub fn of(&mut self, id: FuncId) -> Option<u128> {
        if let Known::NotYet = self.known[id] {
            self.known[id] = Known::None;
            let linked = self.module.functions.fingerprint(id);
            // Debug builds see that both ways give the same.
            if let Some(found) = linked.filter(|_| !cfg!(debug_assertions)).or_else(|| self.find(id)) {
                debug_assert!(linked.is_none_or(|linked| linked == found), "@{}", self.module.functions[id].name);
                self.known[id] = Known::Fingerprint(found);
            }
        }
        match self.known[id] {
            Known::Fingerprint(found) => Some(found),
            Known::NotYet | Known::None => None,
        }
    }

    fn find(&mut self, id: FuncId) -> Option<u128> {
        let function = &self.module.functions[id];
        let Own { fingerprint, callees } = own(function)?;
        let callees = callees.into_iter().map(|callee| self.of(callee)).collect::<Option<Vec<_>>>()?;
        Some(whole(&function.name, fingerprint, &callees))
    }
}

/// What a fingerprint is made from, beside the function's name in its module.
pub(super) struct Own {
    /// Of everything else; calls name `callees` by their positions.
    pub fingerprint: u128,
    /// Each once, in the order of the instructions.
    pub callees: Vec<FuncId>,
}

/// The fingerprint of a function, from its own part and the fingerprints of those that it calls.
pub(super) fn whole(name: &str, own: u128, callees: &[u128]) -> u128 {
    let mut out = Parts::default();
    (name, own, callees).hash(&mut out);
    out.fingerprint()
}

/// None if a type mentions a struct of the user's.
pub(super) fn own(function: &Function) -> Option<Own> {
    let results = function.results.iter().map(|result| result.ty);
    if results.chain(function.values.values().map(|value| value.ty)).any(mentions_struct) {
        return None;
    }
    let (mut out, mut callees) = (Parts::default(), Vec::new());
    describe(function, &mut out, |callee| {
        callees.iter().position(|known| *known == callee).unwrap_or_else(|| {
            callees.push(callee);
            callees.len() - 1
        })
    });
    Some(Own { fingerprint: out.fingerprint(), callees })
}

/// Everything that a back end can see of a module, as bytes: modules of the same bytes get the same
/// code, by the same build of kc.
pub fn contents(module: &Module) -> Vec<u8> {
    let mut out = Parts::default();
    module.structs.len().hash(&mut out);
    for StructDef { name, fields } in module.structs.values() {
        (name, fields.len()).hash(&mut out);
        fields.iter().for_each(|Field { name, ty }| (name, ty).hash(&mut out));
    }
    for function in module.functions.values() {
        function.name.hash(&mut out);
        describe(function, &mut out, |callee| callee.0 as usize);
    }
    out.0
}

/// Writes all of a function but its name and derivative; `number` gives what represents a function
/// that it calls.
fn describe(function: &Function, out: &mut Parts, mut number: impl FnMut(FuncId) -> usize) {
    // Named one by one, so that nobody adds a field without asking whether it belongs here.
    let Function {
        name: _,
        source_name,
        kind,
        results,
        cuda_name,
        native,
        gives,
        library,
        by_block,
        fast_math,
        block_threads,
        phase,
        derivative: _,
        tape,
        assumed_disjoint,
        kept,
        notes,
        entry,
        values,
        insts,
        blocks,
        span,
    } = function;
    (source_name, kind, results, cuda_name, native, gives, library, by_block, fast_math, block_threads, phase)
        .hash(out);
    (tape, assumed_disjoint, kept, notes, entry, span).hash(out);
    (values.len(), insts.len(), blocks.len()).hash(out);
    for Value { ty, def, name, span } in values.values() {
        (ty, def, name, span).hash(out);
    }
    for Inst { op, results, span } in insts.values() {
        if let Op::Call(callee, args) = op {
            (discriminant(op), number(*callee), args).hash(out)
        } else {
            op.hash(out)
        }
        (results, span).hash(out);
    }
    for Block { params, insts } in blocks.values() {
        (params, insts).hash(out);
    }
}

fn mentions_struct(ty: Type) -> bool {
    match ty {
        Type::Struct(_) => true,
        Type::Array(array) => matches!(array.element, Element::Struct(_)),
        Type::Local(local) => matches!(local.element, Element::Struct(_)),
        _ => false,
    }
}

/// What is hashed, one after the other. `derive(Hash)` writes it so that no two functions give the
/// same bytes.
#[derive(Default)]
struct Parts(Vec<u8>);

impl Parts {
    /// XXH3 (Yann Collet's "xxHash"), whose 128 bits two functions share by chance with a
    /// probability of 2^-128. Somebody who constructs such functions deceives nobody but himself.
    fn fingerprint(&self) -> u128 {
        XxHash3_128::oneshot(&self.0)
    }
}

impl Hasher for Parts {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.fingerprint() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    /// The fingerprint of `@f`.
    fn fingerprint(text: &str) -> Option<u128> {
        let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        Fingerprints::new(&module).of(module.find("f").expect("a function f"))
    }

    const CALLEE: &str = "func @g(%x: float32) -> (float32) {\n  %y: float32 = mul %x, %x\n  return %y\n}\n";
    const CALLER: &str = "func @f(%x: float32) -> (float32) {\n  %k: float32 = const 2.0\n  \
         %y: float32 = call @g(%x)\n  %z: float32 = add %y, %k\n  return %z\n}\n";

    #[test]
    fn the_place_in_the_module_does_not_count() {
        let other = "func @h() {\n  return\n}\n";
        let expected = fingerprint(&format!("{CALLEE}{CALLER}"));
        assert!(expected.is_some());
        // Spans of IR text count its lines: the function has to stand where it stood.
        let module = |first: &str, last: &str| {
            let mut module = parse(&format!("{first}{last}")).expect("it parses");
            for function in module.functions.values_mut() {
                function.span.start = 0;
                function.span.end = 0;
                function.values.values_mut().for_each(|value| (value.span.start, value.span.end) = (0, 0));
                function.insts.values_mut().for_each(|inst| (inst.span.start, inst.span.end) = (0, 0));
            }
            Fingerprints::new(&module).of(module.find("f").expect("a function f"))
        };
        assert_eq!(module(CALLEE, CALLER), module(&format!("{other}{CALLEE}"), CALLER));
        assert_eq!(module(CALLEE, CALLER), module(CALLER, &format!("{other}{CALLEE}")));
    }

    #[test]
    fn whatever_a_back_end_sees_counts() {
        let text = format!("{CALLER}{CALLEE}");
        let mut seen = vec![fingerprint(&text)];
        for (from, to) in [
            ("2.0", "2.5"),
            ("2.0", "-2.0"),
            ("add %y, %k", "add %k, %y"),
            ("add %y, %k", "sub %y, %k"),
            ("%z", "%sum"),
            ("mul %x, %x", "add %x, %x"),
            ("@g", "@h"),
            ("%x: float32) -> (float32) {\n  %k", "%x: float32) -> (float32) library {\n  %k"),
            ("%x: float32) -> (float32) {\n  %k", "%x: float32) -> (float32) source \"k\" {\n  %k"),
            ("%x: float32) -> (float32) {\n  %k", "%x: float32) -> (float32) cuda \"k\" {\n  %k"),
        ] {
            let changed = fingerprint(&text.replace(from, to));
            assert!(!seen.contains(&changed), "{from} -> {to}");
            seen.push(changed);
        }
    }

    #[test]
    fn the_contents_of_a_module_have_everything() {
        let contents = |text: &str| contents(&parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")));
        let text = format!("struct S {{\n  a: float32\n}}\n\n{CALLEE}{CALLER}");
        assert_eq!(contents(&text), contents(&text));
        for (from, to) in [
            ("2.0", "2.5"),
            ("a: float32", "a: int32"),
            ("a: float32", "b: float32"),
            ("@g(%x", "@h(%x"),
            ("mul", "add"),
        ] {
            assert_ne!(contents(&text), contents(&text.replace(from, to)), "{from} -> {to}");
        }
        // Who is called counts by its place.
        let other = "func @h(%x: float32) -> (float32) {\n  return %x\n}\n";
        let calls = |callee: &str| contents(&format!("{CALLEE}{other}{}", CALLER.replace("@g", callee)));
        assert_ne!(calls("@g"), calls("@h"));
    }

    #[test]
    fn structs_have_no_fingerprint() {
        let with = |ty: &str| {
            fingerprint(&format!(
                "struct S {{\n  a: float32\n}}\n\nfunc @g(%s: {ty}) {{\n  return\n}}\nfunc @f() {{\n  \
                 %s: {ty} = zero\n  call @g(%s)\n  return\n}}\n"
            ))
        };
        assert!(with("vec3f").is_some());
        assert_eq!(with("S"), None);
        assert_eq!(with("array2d(dtype=S)"), None);
    }
}
