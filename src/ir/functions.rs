//! The functions of a module, and which of them are shared with other programs.
//!
//! A [`LinkedFunction`] is the finished code of a library function. It is linked into a module as a
//! copy with the names and numbers of that module, and the module remembers that it is one. Whoever
//! asks a module for a function to change it takes that away, from those that call it too: what the
//! module says of a linked function is true of its code as it is now.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use super::fingerprint::{self, Own};
use super::verify::verify_function;
use super::{Derivative, FuncId, Function, InstId, Module, Op};
use crate::ids::{Id, IdVec};
use crate::memo::Facts;

/// A function that programs share: verified, and never changed.
pub struct LinkedFunction {
    /// Calls name `callees` by their positions.
    code: Function,
    /// The instructions that call, in order.
    calls: Box<[InstId]>,
    callees: Box<[Arc<LinkedFunction>]>,
    /// Of the code, without its name and that of its callees.
    own: u128,
    /// What depends on this alone, not on names in a module.
    pub facts: Facts,
}

/// That a function of a module is a linked one.
#[derive(Clone)]
struct Link {
    function: Arc<LinkedFunction>,
    /// [`LinkedFunction::callees`] in this module.
    callees: Box<[FuncId]>,
    fingerprint: u128,
}

/// The functions of a module by their ids.
#[derive(Clone, Default)]
pub struct Functions {
    list: IdVec<FuncId, Function>,
    /// Those of which all that they call is linked, as their own callees are.
    links: IdVec<FuncId, Option<Link>>,
}

impl Functions {
    pub fn new() -> Functions {
        Functions::default()
    }

    pub fn push(&mut self, function: Function) -> FuncId {
        self.links.push(None);
        self.list.push(function)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn get(&self, id: FuncId) -> Option<&Function> {
        self.list.get(id)
    }

    pub fn ids(&self) -> impl DoubleEndedIterator<Item = FuncId> + ExactSizeIterator + use<> {
        self.list.ids()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (FuncId, &Function)> + ExactSizeIterator {
        self.list.iter()
    }

    pub fn values(&self) -> std::slice::Iter<'_, Function> {
        self.list.values()
    }

    /// All, to change them: none is linked any more.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, Function> {
        self.links.values_mut().for_each(|link| *link = None);
        self.list.values_mut()
    }

    /// Drops all but the first functions; no function that stays calls one that goes.
    pub fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
        self.links.truncate(count);
    }

    /// Keeps some functions, under new numbers in the same order. Those that go are named by none
    /// that stays, but in instructions that nothing reaches.
    pub fn retain(&mut self, wanted: &IdVec<FuncId, bool>) {
        let mut next = 0;
        let mut number = |&wanted: &bool| {
            next += u32::from(wanted);
            FuncId(if wanted { next - 1 } else { 0 })
        };
        let numbers: IdVec<FuncId, FuncId> = wanted.values().map(&mut number).collect();
        let old = std::mem::take(self);
        let stay = old.list.into_iter().zip(old.links).zip(wanted.values()).filter(|(_, wanted)| **wanted);
        for ((mut function, mut link), _) in stay {
            for named in function.derivative.functions_mut() {
                *named = numbers[*named];
            }
            match &mut link {
                Some(link) => {
                    link.callees.iter_mut().for_each(|callee| *callee = numbers[*callee]);
                    link.renumber(&mut function, |callee| numbers[callee]);
                }
                None => function.for_each_callee_mut(|callee| *callee = numbers[*callee]),
            }
            self.list.push(function);
            self.links.push(link);
        }
    }

    /// Adds a copy of a linked function, whose callees are those functions here. None if one of
    /// these is not linked, or is not what it was made with.
    pub fn link(
        &mut self,
        function: &Arc<LinkedFunction>,
        name: String,
        derivative: Derivative,
        callees: Box<[FuncId]>,
    ) -> Option<FuncId> {
        let mut fingerprints = Vec::with_capacity(callees.len());
        if callees.len() != function.callees.len() {
            return None;
        }
        for (known, &here) in function.callees.iter().zip(&callees) {
            let link = self.links.get(here)?.as_ref()?;
            if !Arc::ptr_eq(&link.function, known) {
                return None;
            }
            fingerprints.push(link.fingerprint);
        }
        let fingerprint = fingerprint::whole(&name, function.own, &fingerprints);
        let mut code = Function { name, derivative, ..function.code.clone() };
        let link = Link { function: function.clone(), callees, fingerprint };
        link.renumber(&mut code, |at| link.callees[at.index()]);
        self.links.push(Some(link));
        Some(self.list.push(code))
    }

    /// The linked function that a function is.
    pub fn linked(&self, id: FuncId) -> Option<&Arc<LinkedFunction>> {
        self.links.get(id)?.as_ref().map(|link| &link.function)
    }

    /// Whether a function is a linked one.
    pub fn is_linked(&self, id: FuncId) -> bool {
        self.linked(id).is_some()
    }

    /// The [fingerprint](fingerprint::Fingerprints) of a linked function.
    pub fn fingerprint(&self, id: FuncId) -> Option<u128> {
        self.links.get(id)?.as_ref().map(|link| link.fingerprint)
    }

    /// The functions that a linked function calls, each once, in the order in which
    /// [`Functions::link`] wants them.
    pub fn linked_callees(&self, id: FuncId) -> &[FuncId] {
        self.links.get(id).and_then(Option::as_ref).map_or(&[], |link| &link.callees)
    }

    /// The functions that a function calls, in the order of the calls; one that is called twice is
    /// there twice.
    pub fn callees(&self, id: FuncId) -> Vec<FuncId> {
        let function = &self.list[id];
        let Some(link) = &self.links[id] else { return function.callees() };
        let callee =
            |call: &InstId| if let Op::Call(callee, _) = function.insts[*call].op { Some(callee) } else { None };
        link.function.calls.iter().filter_map(callee).collect()
    }

    /// Takes from a function, and from those that call it, that they are linked.
    fn unlink(&mut self, id: FuncId) {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if self.links[id].take().is_some() {
                let calls = |link: &Option<Link>| link.as_ref().is_some_and(|link| link.callees.contains(&id));
                open.extend(self.links.iter().filter(|(_, link)| calls(link)).map(|(caller, _)| caller));
            }
        }
    }
}

impl Link {
    /// Changes the callees of a copy of the function.
    fn renumber(&self, code: &mut Function, number: impl Fn(FuncId) -> FuncId) {
        for &call in &self.function.calls {
            if let Op::Call(callee, _) = &mut code.insts[call].op {
                *callee = number(*callee);
            }
        }
    }
}

impl Module {
    /// Makes a function one that programs share, which its code must be finished for. None if it
    /// breaks a rule of the IR, calls one that is not linked, or mentions a struct of the user's.
    pub fn seal(&mut self, id: FuncId) -> Option<Arc<LinkedFunction>> {
        if let Some(link) = &self.functions.links[id] {
            return Some(link.function.clone());
        }
        let Own { fingerprint: own, callees } = fingerprint::own(&self.functions[id])?;
        let calls = self.functions[id].standing_calls()?;
        let link = |callee: &FuncId| self.functions.links.get(*callee)?.as_ref();
        let fingerprints = callees.iter().map(|callee| Some(link(callee)?.fingerprint)).collect::<Option<Vec<_>>>()?;
        let linked = callees.iter().map(|callee| Some(link(callee)?.function.clone())).collect::<Option<_>>()?;
        verify_function(self, id).ok()?;
        let mut code = Function { derivative: Derivative::Body, ..self.functions[id].clone() };
        for &call in &calls {
            if let Op::Call(callee, _) = &mut code.insts[call].op {
                *callee = FuncId::new(callees.iter().position(|known| known == callee)?);
            }
        }
        let fingerprint = fingerprint::whole(&code.name, own, &fingerprints);
        code.name = String::new();
        let function = Arc::new(LinkedFunction { code, calls, callees: linked, own, facts: Facts::default() });
        self.functions.links[id] = Some(Link { function: function.clone(), callees: callees.into(), fingerprint });
        Some(function)
    }
}

impl Index<FuncId> for Functions {
    type Output = Function;

    #[inline]
    fn index(&self, id: FuncId) -> &Function {
        &self.list[id]
    }
}

impl IndexMut<FuncId> for Functions {
    /// A function, to change it: it is not linked any more, nor are those that call it.
    #[inline]
    fn index_mut(&mut self, id: FuncId) -> &mut Function {
        if self.links[id].is_some() {
            self.unlink(id);
        }
        &mut self.list[id]
    }
}

impl FromIterator<Function> for Functions {
    fn from_iter<I: IntoIterator<Item = Function>>(functions: I) -> Functions {
        let list: IdVec<FuncId, Function> = functions.into_iter().collect();
        let links = list.ids().map(|_| None).collect();
        Functions { list, links }
    }
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.list.fmt(f)
    }
}

impl std::fmt::Debug for LinkedFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:032x}", self.code.source_name, self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Const;
    use crate::ir::fingerprint::Fingerprints;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::types::Scalar;

    const TEXT: &str = "func @inner(%x: float32) -> (float32) library {\n  %y: float32 = mul %x, %x\n  return %y\n}\n\n\
         func @outer(%x: float32) -> (float32) library {\n  %y: float32 = call @inner(%x)\n  %z: float32 = call @inner(%y)\n  \
         return %z\n}\n\nfunc @user(%x: float32) -> (float32) {\n  %y: float32 = call @outer(%x)\n  return %y\n}\n";

    /// The module of [`TEXT`] with the library functions linked, and their ids.
    fn sealed() -> (Module, [FuncId; 2]) {
        let mut module = parse(TEXT).expect("it parses");
        let ids = ["inner", "outer"].map(|name| module.find(name).expect("a function"));
        ids.iter().for_each(|&id| assert!(module.seal(id).is_some()));
        (module, ids)
    }

    #[test]
    fn who_changes_a_function_unlinks_it_and_its_callers() {
        let (mut module, [inner, outer]) = sealed();
        let _ = &module.functions[inner];
        assert!(module.functions.is_linked(inner) && module.functions.is_linked(outer));
        let mut other = module.clone();
        other.functions[outer].notes.clear();
        assert!(other.functions.is_linked(inner) && !other.functions.is_linked(outer));
        assert_eq!(other.functions.fingerprint(outer), None);
        module.functions[inner].notes.clear();
        assert!(!module.functions.is_linked(inner) && !module.functions.is_linked(outer));
        let (mut module, ids) = sealed();
        module.functions.values_mut().for_each(drop);
        assert!(ids.iter().all(|&id| !module.functions.is_linked(id)));
    }

    #[test]
    fn what_calls_an_unlinked_function_is_not_sealed() {
        let mut module = parse(TEXT).expect("it parses");
        let outer = module.find("outer").expect("a function");
        assert!(module.seal(outer).is_none());
    }

    #[test]
    fn a_copy_has_the_names_and_numbers_of_its_module_and_its_code() {
        let (module, [inner, outer]) = sealed();
        let linked = |id| module.functions.linked(id).expect("a linked function").clone();
        let mut other = parse("func @first() {\n  return\n}\n").expect("it parses");
        let mut link = |id, name: &str, callees: &[FuncId]| {
            other.functions.link(&linked(id), name.to_string(), Derivative::Body, callees.into())
        };
        assert_eq!(link(outer, "far", &[FuncId(0)]), None, "not what it was made with");
        let near = link(inner, "near", &[]).expect("a function");
        let far = link(outer, "far", &[near]).expect("a function");
        assert_eq!(other.functions.callees(far), [near, near]);
        let text = print(&other);
        assert!(text.contains("func @far(") && text.contains("%y: float32 = call @near(%x)\n"), "{text}");
        // The number that a walk over the code finds, which has the names.
        let found = Fingerprints::new(&other).of(far);
        assert_eq!((found, found == module.functions.fingerprint(outer)), (other.functions.fingerprint(far), false));
        let mut plain = other.clone();
        plain.functions.values_mut().for_each(drop);
        assert_eq!(Fingerprints::new(&plain).of(far), found);
        // A change here is none there.
        let one = other.functions[near].insts.ids().next().expect("an instruction");
        other.functions[near].insts[one].op = Op::Const(Const::float(Scalar::F32, 1.0));
        let mut third = Module::default();
        third.functions.link(&linked(inner), "inner".to_string(), Derivative::Body, Box::new([])).expect("a function");
        assert_eq!(print(&third), print(&module).split_inclusive("}\n").next().expect("a function"));
    }

    #[test]
    fn functions_stay_linked_where_others_go() {
        let (mut module, [inner, outer]) = sealed();
        module.functions.push(module.functions[outer].clone());
        let before = module.functions.fingerprint(outer);
        let wanted = module.functions.ids().map(|id| id == inner || id == outer).collect();
        module.functions.retain(&wanted);
        assert_eq!((module.functions.len(), module.functions.fingerprint(FuncId(1))), (2, before));
        let mut wanted: IdVec<FuncId, bool> = IdVec::new();
        wanted.push(true);
        wanted.push(false);
        module.functions.retain(&wanted);
        assert!(module.functions.len() == 1 && module.functions.is_linked(inner));
        module.functions.truncate(0);
        assert!(module.functions.is_empty());
    }
}
