//! Which adjoint functions are there already? Most that a program needs are those of library functions, and come out the same
//! in every program. So a thread keeps them, finished but for what depends on their callers, for the programs that it
//! differentiates later.
//!
//! Kept by the [content](crate::ir::content) of the differentiated function, where that is known. An adjoint depends on
//! nothing but that (which covers all that the function calls) and on how each function that it reaches is differentiated,
//! which is compared ([`Way`]). [`Work::recall`](super::Work::recall) uses none where anything else could count: in a
//! program with gradients in forward code, whose made functions may be differentiated again, or with a forced store. What gave
//! rise to a diagnostic, or to a function besides the adjoints, is not kept.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ids::{Id, IdMap};
use crate::ir::content::Contents;
use crate::ir::{Derivative, FuncId, Function, Module, Op};
use crate::memo::Memo;

/// The most that a thread keeps, a few kB each.
const MOST: usize = 1024;

thread_local! {
    static KEPT: RefCell<Memo<u128, Rc<Kept>>> = const { RefCell::new(Memo::new(MOST)) };
}

/// An adjoint function.
pub(super) struct Kept {
    ways: Vec<Way>,
    /// The functions whose adjoints it took, by their places among the reached, in the order in which they were made.
    pub asked: Vec<usize>,
    calls: Vec<Called>,
    /// Its calls name `calls` by their places.
    code: Function,
}

/// How a function is differentiated; rules by their contents.
#[derive(PartialEq, Eq)]
enum Way {
    Body,
    Zero,
    None,
    Rule { adjoint: u128, replay: Option<u128> },
}

/// A function that an adjoint calls.
enum Called {
    /// One of the reached functions.
    Function(usize),
    /// Its rule.
    Rule(usize),
    /// What stands for it in reverse code.
    Replay(usize),
    /// The adjoint that was made of it, with the content that this had, if known.
    Adjoint(usize, Option<u128>),
}

/// The functions that a library function reaches, itself first, in an order that depends on its content alone.
pub(super) struct Reached {
    content: u128,
    pub ids: Vec<FuncId>,
    ways: Vec<Way>,
}

impl Reached {
    /// None if there is one that no table knows.
    pub fn of(module: &Module, id: FuncId) -> Option<Reached> {
        let content = module.functions[id].content?;
        let ids = module.reached_from(id);
        let way = |id: &FuncId| {
            Some(match module.functions[*id].derivative {
                Derivative::Body => Way::Body,
                Derivative::Zero(_) => Way::Zero,
                Derivative::None(_) => Way::None,
                Derivative::Rule { adjoint, replay: None } => {
                    Way::Rule { adjoint: module.functions[adjoint].content?, replay: None }
                }
                Derivative::Rule { adjoint, replay: Some(replay) } => Way::Rule {
                    adjoint: module.functions[adjoint].content?,
                    replay: Some(module.functions[replay].content?),
                },
                Derivative::Replay(_) | Derivative::AdjointOf(_) => return None,
            })
        };
        let ways = ids.iter().map(way).collect::<Option<_>>()?;
        Some(Reached { content, ids, ways })
    }

    /// The kept adjoint of the first one.
    pub fn kept(&self) -> Option<Rc<Kept>> {
        let kept = KEPT.with_borrow(|all| all.get(&self.content).cloned())?;
        (kept.ways == self.ways).then_some(kept)
    }

    /// Keeps the adjoint `made` of the first one, if it calls nothing unknown. `asked` and `adjoints`: the functions whose
    /// adjoints it took, and these.
    pub fn keep(self, module: &Module, made: FuncId, asked: &[FuncId], adjoints: &IdMap<FuncId, Option<FuncId>>) {
        let mut code = module.functions[made].clone();
        let asked: Option<Vec<usize>> = asked.iter().map(|id| self.ids.iter().position(|known| known == id)).collect();
        let Some(asked) = asked else { return };
        let (mut names, mut calls): (Vec<FuncId>, Vec<Called>) = (Vec::new(), Vec::new());
        for inst in code.insts.values_mut() {
            let Op::Call(callee, _) = &mut inst.op else { continue };
            let at = match names.iter().position(|known| known == callee) {
                Some(at) => at,
                None => {
                    let Some(called) = self.called(module, *callee, adjoints) else { return };
                    names.push(*callee);
                    calls.push(called);
                    calls.len() - 1
                }
            };
            *callee = FuncId::new(at);
        }
        code.calls = code.find_calls();
        code.content = Contents::new(module).of(made);
        let kept = Rc::new(Kept { ways: self.ways, asked, calls, code });
        KEPT.with_borrow_mut(|all| _ = all.keep(self.content, kept, 1));
    }

    fn called(&self, module: &Module, callee: FuncId, adjoints: &IdMap<FuncId, Option<FuncId>>) -> Option<Called> {
        self.ids.iter().enumerate().find_map(|(n, &id)| match module.functions[id].derivative {
            _ if id == callee => Some(Called::Function(n)),
            Derivative::Rule { adjoint, .. } if adjoint == callee => Some(Called::Rule(n)),
            Derivative::Rule { replay: Some(replay), .. } if replay == callee => Some(Called::Replay(n)),
            _ if adjoints.get(&id) == Some(&Some(callee)) => Some(Called::Adjoint(n, Contents::new(module).of(callee))),
            _ => None,
        })
    }
}

impl Kept {
    /// The adjoint as a function of a module, under a name that it has not yet. None if an adjoint that it calls is missing.
    pub fn code(
        &self,
        module: &Module,
        reached: &Reached,
        adjoints: &IdMap<FuncId, Option<FuncId>>,
        name: String,
    ) -> Option<Function> {
        let mut same = name == self.code.name;
        let mut callees = Vec::with_capacity(self.calls.len());
        for called in &self.calls {
            callees.push(match *called {
                Called::Function(n) => reached.ids[n],
                Called::Rule(n) | Called::Replay(n) => match (&module.functions[reached.ids[n]].derivative, called) {
                    (Derivative::Rule { adjoint, .. }, Called::Rule(_)) => *adjoint,
                    (Derivative::Rule { replay: Some(replay), .. }, Called::Replay(_)) => *replay,
                    _ => return None,
                },
                Called::Adjoint(n, content) => {
                    let adjoint = adjoints.get(&reached.ids[n]).copied().flatten()?;
                    same &= content.is_some() && module.functions[adjoint].content == content;
                    adjoint
                }
            });
        }
        let mut code = self.code.clone();
        code.name = name;
        code.content = code.content.filter(|_| same);
        code.for_each_callee_mut(|callee| *callee = callees[callee.index()]);
        Some(code)
    }
}
