//! Which rows of an array does a thread use, of a launch that is cut between rows? Threads whose
//! first coordinates are far enough apart then use different elements, and may add to them at the
//! same time.
//!
//! A *row* of a launch is all threads with one first coordinate `t`. There are two ways to tell its
//! elements from those of others:
//!
//! * *Bands*: there is a dimension in which every access has the index `c * t + u + r`, with one
//!   constant `c > 0`, one `u`, equal for all threads, and `r` between two bounds. A stencil that
//!   adds to its neighbours is of this kind.
//! * *Ranges*: the index is the variable of a loop over `range(bounds[t + k], bounds[t + k + 1])`,
//!   as sparse matrices have it. Rows are apart where the numbers in `bounds` rise, which only the
//!   launch can tell.
//!
//! Assumptions: those of [`ownership`](super::ownership).

use std::collections::BTreeMap;

use super::alias::{Root, accessed, location, root};
use super::ownership::{Form, Forms, IndexFacts};
use crate::ids::IdMap;
use crate::ir::*;
use crate::types::{Scalar, Type};

/// How rows of a launch are apart in an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Apart {
    /// Rows with more than `gap` others between them, except for the first `head` rows, whose
    /// indices may count from the end.
    Bands { gap: u32, head: u32 },
    /// All rows, if the numbers of this array, an int32 one of one dimension, rise from the element
    /// `first` on: up to as many elements behind it as there are rows.
    Ranges { bounds: Root, first: u32 },
}

/// Launches of so many rows are not cut between rows that lie further apart.
const MOST_ROWS: i128 = 1 << 16;

/// An access to an array of the arguments.
struct Use<'a> {
    at: InstId,
    index: Vec<Option<ValueId>>,
    function: &'a Function,
}

/// How rows are apart in each of the arrays, among those that the arguments hold, in which they
/// are; for other functions than kernels: in none. Only arrays for which `counts` holds are looked
/// at, and whatever is done to others.
pub fn apart(function: &Function, known: &IndexFacts, counts: &dyn Fn(&Root) -> bool) -> BTreeMap<Root, Apart> {
    let mut found = BTreeMap::new();
    if !function.is_kernel() {
        return found;
    }
    let mut uses: BTreeMap<Root, Vec<Use>> = BTreeMap::new();
    let mut loops: IdMap<BlockId, InstId> = IdMap::default();
    let mut written = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        if let Op::For { body, .. } = &inst.op {
            loops.insert(*body, id);
        }
        if inst.op.properties().writes {
            written.push(accessed(function, &inst.op));
        }
        if let Some(Access { array, indices, .. }) = inst.op.access()
            && matches!(root(function, *array), Root::Param(..))
        {
            let place = location(function, *array, indices);
            uses.entry(place.root).or_default().push(Use { at: id, index: place.index, function });
        }
    });
    for (root, uses) in uses.into_iter().filter(|(root, _)| counts(root)) {
        let dims = uses.first().map_or(0, |first| first.index.len());
        let way = (0..dims).find_map(|dim| bands(&uses, dim, known)).or_else(|| {
            let unwritten = |bounds: &Root| !written.contains(bounds) && !written.contains(&Root::Unknown);
            (0..dims).find_map(|dim| ranges(&uses, dim, known, &loops)).filter(|way| match way {
                Apart::Ranges { bounds, .. } => unwritten(bounds),
                Apart::Bands { .. } => true,
            })
        });
        if let Some(way) = way {
            found.insert(root, way);
        }
    }
    found
}

/// What a dimension says of the bands of rows.
fn bands(uses: &[Use], dim: usize, known: &IndexFacts) -> Option<Apart> {
    let mut all: Option<(Form, bool)> = None;
    for Use { at, index, function } in uses {
        let value = (*index.get(dim)?)?;
        let from_start = known.ranges.counts_from_start(*at, value);
        // Where an index may count from the end, no sum may have overflowed.
        let form = Forms { function, known, overflows: from_start }.form(value);
        all = Some(match all {
            None => (form, from_start),
            Some((mut sum, before)) => {
                if sum.coordinates != form.coordinates || sum.uniform != form.uniform {
                    return None;
                }
                sum.rest.low = sum.rest.low.min(form.rest.low);
                sum.rest.high = sum.rest.high.max(form.rest.high);
                (sum, before && from_start)
            }
        });
    }
    let (form, from_start) = all?;
    let (Some(&factor), 1) = (form.coordinates.get(&0).filter(|&&c| c > 0), form.coordinates.len()) else {
        return None;
    };
    let gap = (form.rest.high - form.rest.low) / factor;
    let head = if from_start {
        0
    } else if form.uniform.is_empty() {
        (-form.rest.low).max(0).saturating_add(factor - 1) / factor
    } else {
        return None;
    };
    let small = |rows: i128| u32::try_from(rows).ok().filter(|_| rows <= MOST_ROWS);
    Some(Apart::Bands { gap: small(gap)?, head: small(head)? })
}

/// Whether a dimension has the variables of loops over ranges of memory, and whose numbers these
/// are.
fn ranges(uses: &[Use], dim: usize, known: &IndexFacts, loops: &IdMap<BlockId, InstId>) -> Option<Apart> {
    let mut all = None;
    for Use { index, function, .. } in uses {
        let (counter, more) = plus_constant(function, (*index.get(dim)?)?);
        let ValueDef::Param(block, 0) = function.values[counter].def else { return None };
        let Op::For { start, end, step, .. } = &function.insts[*loops.get(&block)?].op else { return None };
        let ((from, before), (to, after)) = (plus_constant(function, *start), plus_constant(function, *end));
        // The lowest index is the number at `low`, and that at `high` the one after the highest;
        // numbers from 0 on, from which 1 can be taken.
        let (low, high) = match (function.as_const(*step)?.as_int()?, before, after, more) {
            (1, 0, 0, 0) => (from, to),
            (-1, 0, 0, -1) | (-1, -1, -1, 0) => (to, from),
            _ => return None,
        };
        let (low, high) = (bound(function, known, low)?, bound(function, known, high)?);
        let way = (low.0, low.1);
        if high != (way.0.clone(), way.1 + 1) || all.as_ref().is_some_and(|all| *all != way) {
            return None;
        }
        all = Some(way);
    }
    let (bounds, first) = all?;
    Some(Apart::Ranges { bounds, first: u32::try_from(first).ok().filter(|&n| i128::from(n) <= MOST_ROWS)? })
}

/// The array and the constant `k` of an int32 that is read at `[t + k]`.
fn bound(function: &Function, known: &IndexFacts, value: ValueId) -> Option<(Root, i128)> {
    let Op::Load(Access { array, indices, path }) = &function.def(value)?.op else { return None };
    let &[index] = indices.as_slice() else { return None };
    let of_int =
        matches!(function.ty(*array), Type::Array(a) if Type::from(a.element).as_scalar() == Some(Scalar::I32));
    let root = location(function, *array, indices);
    if !of_int || !path.is_empty() || root.index != [Some(index)] || !matches!(root.root, Root::Param(..)) {
        return None;
    }
    let form = Forms { function, known, overflows: false }.form(index);
    let follows = form.uniform.is_empty() && form.coordinates.len() == 1 && form.coordinates.get(&0) == Some(&1);
    (follows && form.rest.low == form.rest.high && form.rest.low >= 0).then_some((root.root, form.rest.low))
}

/// A value as another and a constant.
fn plus_constant(function: &Function, value: ValueId) -> (ValueId, i128) {
    let constant = |v: ValueId| function.as_const(v).and_then(Const::as_int);
    match function.op(value) {
        Some(&Op::Binary(BinaryOp::Add, a, b)) => match (constant(a), constant(b)) {
            (_, Some(n)) => (a, n),
            (Some(n), _) => (b, n),
            _ => (value, 0),
        },
        Some(&Op::Binary(BinaryOp::Sub, a, b)) => constant(b).map_or((value, 0), |n| (a, -n)),
        // Any other value is no sum: it is its own base.
        _ => (value, 0),
    }
}
