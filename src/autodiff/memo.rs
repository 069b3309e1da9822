//! Which adjoint functions are there already? Most that a program needs are those of library
//! functions, and come out the same in every program. So they are kept, finished except for what
//! depends on their callers, for the programs that are differentiated later.
//!
//! Kept by the [fingerprint](crate::ir::fingerprint) of the differentiated function, which is
//! linked. An adjoint depends on nothing but that (which covers all that the function calls) and on
//! how each function that it reaches is differentiated, which is compared ([`Way`]).
//! [`Work::recall`](super::Work::recall) uses none where anything else could count: in a program
//! with gradients in forward code, whose made functions may be differentiated again, or with a
//! forced store. What gave rise to a diagnostic, or to a function besides the adjoints, is not
//! kept.

use std::sync::Arc;

use crate::ids::IdMap;
use crate::ir::{Derivative, FuncId, LinkedFunction, Module};
use crate::memo::Memo;

/// The adjoints of linked functions, as far as programs asked for them.
#[derive(Debug)]
pub struct Adjoints {
    kept: Memo<u128, Arc<Kept>>,
}

impl Adjoints {
    /// None yet. `most`: the most that are kept, a few kB each.
    pub fn new(most: usize) -> Adjoints {
        Adjoints { kept: Memo::new(most) }
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.kept.size()
    }
}

/// An adjoint function.
pub(super) struct Kept {
    ways: Vec<Way>,
    /// The functions whose adjoints it took, by their places among the reached, in the order in
    /// which they were made.
    pub asked: Vec<usize>,
    code: Arc<LinkedFunction>,
    /// What it calls.
    calls: Vec<Called>,
}

/// How a function is differentiated; rules by their fingerprints.
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
    /// What replaces it in reverse code.
    Replay(usize),
    /// The adjoint that was made of it.
    Adjoint(usize),
}

/// The functions that a linked function reaches, itself first, in an order that depends on it
/// alone.
pub(super) struct Reached {
    fingerprint: u128,
    pub ids: Vec<FuncId>,
    ways: Vec<Way>,
}

impl Reached {
    /// None if the function, or a way to differentiate one that it reaches, is not linked.
    pub fn of(module: &Module, id: FuncId) -> Option<Reached> {
        let fingerprint = |id: FuncId| module.functions.fingerprint(id);
        let own = fingerprint(id)?;
        let ids = module.reached_from(id);
        let way = |id: &FuncId| {
            Some(match module.functions[*id].derivative {
                Derivative::Body => Way::Body,
                Derivative::Zero(_) => Way::Zero,
                Derivative::None(_) => Way::None,
                Derivative::Rule { adjoint, replay: None } => {
                    Way::Rule { adjoint: fingerprint(adjoint)?, replay: None }
                }
                Derivative::Rule { adjoint, replay: Some(replay) } => {
                    Way::Rule { adjoint: fingerprint(adjoint)?, replay: Some(fingerprint(replay)?) }
                }
                Derivative::Replay(_) | Derivative::AdjointOf(_) => return None,
            })
        };
        let ways = ids.iter().map(way).collect::<Option<_>>()?;
        Some(Reached { fingerprint: own, ids, ways })
    }

    /// The kept adjoint of the first one.
    pub fn kept(&self, known: &Adjoints) -> Option<Arc<Kept>> {
        known.kept.get(&self.fingerprint).filter(|kept| kept.ways == self.ways)
    }

    /// Keeps the adjoint `made` of the first one, if it calls nothing unknown. `asked` and
    /// `adjoints`: the functions whose adjoints it took, and these.
    pub fn keep(
        self,
        known: &Adjoints,
        module: &mut Module,
        made: FuncId,
        asked: &[FuncId],
        adjoints: &IdMap<FuncId, Option<FuncId>>,
    ) {
        let asked: Option<Vec<usize>> = asked.iter().map(|id| self.ids.iter().position(|known| known == id)).collect();
        let (Some(asked), Some(code)) = (asked, module.seal(made)) else { return };
        let calls = module.functions.linked_callees(made).iter().map(|&callee| self.called(module, callee, adjoints));
        let Some(calls) = calls.collect() else { return };
        known.kept.keep(self.fingerprint, Arc::new(Kept { ways: self.ways, asked, code, calls }), 1);
    }

    fn called(&self, module: &Module, callee: FuncId, adjoints: &IdMap<FuncId, Option<FuncId>>) -> Option<Called> {
        self.ids.iter().enumerate().find_map(|(n, &id)| match module.functions[id].derivative {
            _ if id == callee => Some(Called::Function(n)),
            Derivative::Rule { adjoint, .. } if adjoint == callee => Some(Called::Rule(n)),
            Derivative::Rule { replay: Some(replay), .. } if replay == callee => Some(Called::Replay(n)),
            _ if adjoints.get(&id) == Some(&Some(callee)) => Some(Called::Adjoint(n)),
            _ => None,
        })
    }
}

impl Kept {
    /// Links the adjoint into a module, under a name that it has not yet. None if an adjoint that
    /// it calls is missing, or is not what it was there.
    pub fn link(
        &self,
        module: &mut Module,
        reached: &Reached,
        adjoints: &IdMap<FuncId, Option<FuncId>>,
        name: String,
    ) -> Option<FuncId> {
        let callee = |called: &Called| match *called {
            Called::Function(n) => Some(reached.ids[n]),
            Called::Rule(n) => match module.functions[reached.ids[n]].derivative {
                Derivative::Rule { adjoint, .. } => Some(adjoint),
                _ => None,
            },
            Called::Replay(n) => match module.functions[reached.ids[n]].derivative {
                Derivative::Rule { replay, .. } => replay,
                _ => None,
            },
            Called::Adjoint(n) => adjoints.get(&reached.ids[n]).copied().flatten(),
        };
        let callees = self.calls.iter().map(callee).collect::<Option<_>>()?;
        module.functions.link(&self.code, name, Derivative::Body, callees)
    }
}
