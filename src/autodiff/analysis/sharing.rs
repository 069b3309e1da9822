//! Where does a gradient take it for granted that the threads of a launch do not meet in memory?
//!
//! A store that two threads make to one element has no gradient (the last one wins, whichever that is), and neither has a
//! value that another thread of the same launch has stored. Where the indices prove that neither happens, nothing is said;
//! elsewhere the assumption is named.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::ForwardFacts;
use super::world::World;
use crate::analysis::alias::{Root, root};
use crate::analysis::privatization::{Sharing, private_arrays_among};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, AtomicOp, Function, Op, ValueId};
use crate::source::Span;
use crate::types::Type;

/// What is done to one array.
#[derive(Default)]
struct Uses {
    /// The first of each kind.
    active_load: Option<(Span, ValueId)>,
    store: Option<(Span, ValueId)>,
    stores: Vec<Span>,
    sum: Option<Span>,
    extreme: Option<Span>,
    /// The elements of sums and of extremes, where all are constants.
    sums: Elements,
    extremes: Elements,
}

/// Indices that are constants.
#[derive(Default)]
struct Elements {
    known: BTreeSet<Vec<i128>>,
    others: bool,
}

impl Elements {
    fn add(&mut self, function: &Function, array: ValueId, index: &[ValueId]) {
        let whole = !matches!(function.def(array).map(|inst| &inst.op), Some(Op::View(..)));
        let constants: Option<Vec<i128>> =
            index.iter().map(|&i| function.as_const(i)?.as_int().filter(|&i| i >= 0)).collect();
        match constants.filter(|_| whole) {
            Some(element) => _ = self.known.insert(element),
            None => self.others = true,
        }
    }

    fn may_meet(&self, other: &Elements) -> bool {
        self.others || other.others || self.known.intersection(&other.known).next().is_some()
    }
}

/// The findings about a kernel in normal form: warnings that name an assumption, and errors; and the stores that are taken to
/// be made by different threads to different elements.
pub fn findings(world: &World<'_>, function: &Function, facts: &ForwardFacts) -> (Vec<Diagnostic>, Vec<Span>) {
    if !function.is_kernel() || function.library {
        return (Vec::new(), Vec::new());
    }
    let structs = &world.module.structs;
    let mut arrays: BTreeMap<Root, (ValueId, Uses)> = BTreeMap::new();
    function.walk(function.entry, &mut |_, inst| {
        let (array, kind) = match &inst.op {
            Op::Load(Access { array, .. }) if facts.activity.any_result(inst) => (*array, None),
            Op::Store { access: Access { array, .. }, value } if function.ty(*value).holds_floats(structs) => {
                (*array, None)
            }
            Op::Atomic { op, access: Access { array, .. }, value } if facts.activity.is_active(*value) => {
                (*array, Some(*op))
            }
            _ => return,
        };
        if !matches!(function.ty(array), Type::Array(_)) {
            return;
        }
        let uses = &mut arrays.entry(root(function, array)).or_insert_with(|| (array, Uses::default())).1;
        match (kind, &inst.op) {
            (Some(kind), Op::Atomic { access: Access { indices, .. }, .. }) => {
                let extreme = matches!(kind, AtomicOp::Min | AtomicOp::Max);
                let (span, elements) = match extreme {
                    true => (&mut uses.extreme, &mut uses.extremes),
                    false => (&mut uses.sum, &mut uses.sums),
                };
                span.get_or_insert(inst.span);
                elements.add(function, array, indices);
            }
            (_, Op::Load(_)) => _ = uses.active_load.get_or_insert((inst.span, array)),
            _ => {
                uses.store.get_or_insert((inst.span, array));
                uses.stores.push(inst.span);
            }
        }
    });
    // A kernel that never asks which thread it is runs on one.
    let mut asks = false;
    function.walk(function.entry, &mut |_, inst| asks |= matches!(inst.op, Op::ThreadIndex(_) | Op::ThreadNumber));
    let mut all = None;
    let mut stores = None;
    let mut found = Vec::new();
    let mut assumed_disjoint = Vec::new();
    for (array, uses) in arrays.values() {
        let name = name(function, *array);
        if let (Some(sum), Some(extreme)) = (uses.sum, uses.extreme)
            && uses.sums.may_meet(&uses.extremes)
        {
            let message = format!(
                "AD-ORDER: {name} gets sums and extremes in one launch, which depends on the order of the threads"
            );
            found.push(
                Diagnostic::new(Code::E0601, message)
                    .label(sum, "a sum")
                    .label(extreme, "an extreme")
                    .help("use two launches, or mark the kernel `enable_backward=False`"),
            );
            continue;
        }
        let written = uses.store.map(|(span, _)| span).or(uses.sum).or(uses.extreme);
        if let (Some((load, array)), Some(written)) = (uses.active_load, written) {
            let private = all.get_or_insert_with(|| {
                private_arrays_among(function, structs, Sharing::Never, &facts.known, &|op| !matches!(op, Op::Call(..)))
            });
            if asks && !private.contains(function, array) {
                let message = format!(
                    "AD-RACE: the gradient assumes that no thread reads an element of {name} that another one writes"
                );
                found.push(
                    Diagnostic::new(Code::W0602, message)
                        .label(load, "read here, with a gradient")
                        .label(written, "written here")
                        .note("`kc run` checks it in gradient runs")
                        .help("read from one array and write to another, or use two launches"),
                );
                continue;
            }
        }
        if let Some((store, array)) = uses.store {
            let private = stores.get_or_insert_with(|| {
                private_arrays_among(function, structs, Sharing::Never, &facts.known, &|op| {
                    matches!(op, Op::Store { .. })
                })
            });
            if !private.contains(function, array) {
                assumed_disjoint.extend(uses.stores.iter().copied());
                if !asks {
                    continue;
                }
                let message =
                    format!("AD-OVERWRITE: the gradient assumes that no two threads store to one element of {name}");
                found.push(
                    Diagnostic::new(Code::W0606, message)
                        .label(store, "the index does not show which thread this is")
                        .note("`kc run` checks it in gradient runs")
                        .help("where threads may meet, use `wp.atomic_add`"),
                );
            }
        }
    }
    (found, assumed_disjoint)
}

fn name(function: &Function, array: ValueId) -> String {
    let mut at = array;
    loop {
        if let Some(name) = &function.values[at].name {
            return format!("`{name}`");
        }
        match function.def(at).map(|inst| &inst.op) {
            Some(Op::View(inner, _) | Op::Extract(inner, _)) => at = *inner,
            _ => return "an array".to_string(),
        }
    }
}
