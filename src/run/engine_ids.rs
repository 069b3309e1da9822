//! Of which parameters does a function take the id of an engine, and of what kind is that to be?
//!
//! Built-ins that take an id have the word of its kind before their name (`mesh_query_point`,
//! `tile_bvh_query_ray`), and take the id first. Ids in arrays, and those that a kernel computes,
//! are no parameters.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::analysis::written::{Origin, Touched, origins};
use crate::engines::Kind;
use crate::ir::{FuncId, Function, InstId, Module, Op};
use crate::source::Span;
use crate::types::{Scalar, Type};

/// A call of a built-in with an id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineCall {
    pub kind: Kind,
    /// The built-in.
    pub function: String,
    pub span: Span,
    /// Every thread makes it.
    pub always: bool,
}

impl EngineCall {
    /// Whether it goes by the boxes or cells of the engine, which follow its points by `refit` and
    /// `build` only.
    pub fn searches(&self) -> bool {
        self.kind != Kind::Volume && self.function.contains("_query")
    }
}

/// Where a function has its ids from.
#[derive(Clone, Debug, Default)]
pub struct EngineIds {
    /// The calls that each parameter gives an id to: of each kind the first, the first search, and
    /// the first that every thread makes.
    pub of_params: BTreeMap<Origin, Vec<EngineCall>>,
    /// Some ids are no parameters.
    pub elsewhere: bool,
}

/// The ids that a function and those that it calls take of its parameters.
pub fn engine_ids(module: &Module, id: FuncId) -> EngineIds {
    find(module, id, &mut HashMap::new()).clone()
}

fn find<'k>(module: &Module, id: FuncId, known: &'k mut HashMap<FuncId, EngineIds>) -> &'k EngineIds {
    // There is no recursion among functions.
    if !known.contains_key(&id) {
        let function = &module.functions[id];
        let mut found = EngineIds::default();
        let always = unconditional(function);
        function.walk(function.entry, &mut |at, inst| {
            let always = always.contains(&at);
            let Op::Call(callee, args) = &inst.op else { return };
            let called = &module.functions[*callee];
            if called.library {
                let Some(&id) = args.first().filter(|&&id| function.ty(id) == Type::Scalar(Scalar::U64)) else {
                    return;
                };
                let Some(kind) = kind_of(&called.source_name) else { return };
                let call = EngineCall { kind, function: called.source_name.clone(), span: inst.span, always };
                let mut from = Touched::default();
                origins(function, id, &[], inst.span, &mut from);
                found.elsewhere |= from.any;
                from.arrays.into_keys().for_each(|origin| add(&mut found, origin, &call));
                return;
            }
            let inner = find(module, *callee, known).clone();
            found.elsewhere |= inner.elsewhere;
            for ((n, fields), calls) in inner.of_params {
                let Some(&arg) = args.get(n as usize) else { continue };
                let mut from = Touched::default();
                origins(function, arg, &fields, inst.span, &mut from);
                found.elsewhere |= from.any;
                for origin in from.arrays.into_keys() {
                    for call in &calls {
                        let call = EngineCall { always: call.always && always, ..call.clone() };
                        add(&mut found, origin.clone(), &call);
                    }
                }
            }
        });
        known.insert(id, found);
    }
    &known[&id]
}

fn add(found: &mut EngineIds, origin: Origin, call: &EngineCall) {
    let calls = found.of_params.entry(origin).or_default();
    let says_less = |known: &EngineCall| {
        known.kind == call.kind && known.searches() >= call.searches() && known.always >= call.always
    };
    if !calls.iter().any(says_less) {
        calls.push(call.clone());
    }
}

/// The instructions that every thread executes.
fn unconditional(function: &Function) -> BTreeSet<InstId> {
    let mut found = BTreeSet::new();
    for &id in &function.blocks[function.entry].insts {
        found.insert(id);
        let mut leaves = false;
        for block in function.insts[id].op.blocks() {
            function.walk(block, &mut |_, inst| leaves |= matches!(inst.op, Op::Return(_)));
        }
        if leaves {
            break;
        }
    }
    found
}

/// The kind of engine that a built-in takes the id of. Those of a block's threads together begin
/// with another word.
pub fn kind_of(function: &str) -> Option<Kind> {
    let function = function.strip_prefix("tile_").unwrap_or(function);
    Kind::ALL.into_iter().find(|kind| function.strip_prefix(kind.word()).is_some_and(|rest| rest.starts_with('_')))
}
