//! Which factors of products are turned before they are read?
//!
//! ```text
//! for i: for k:                                for k: for j: turned[k, j] = b[j, k]
//!     for j: c[i, j] += a[i, k] * b[j, k]  =>  for i: for k:
//!                                                  for j: c[i, j] += a[i, k] * turned[k, j]
//! ```
//!
//! The innermost loop went from row to row of `b`, which no vector does: the product of 768 x 768
//! by tiles of 64 x 64 took 62 ms, and 16 ms where neither factor was turned.

use crate::ids::IdMap;
use crate::ir::{Access, Function, InstId, Op, ValueId};
use crate::passes::block_threads::products::{Counted, counted, each, find};
use crate::passes::rebuild::replace_each;
use crate::types::{LocalArrayType, Type};

/// A copy is worth it where so many rows of the result read it, and in vectors.
const LEAST: u32 = 8;

/// What turned copies may add to the stack, on which the tiles of a kernel are.
const MOST_BYTES: u64 = 256 << 10;

/// A factor that is read from row to row, and the load that does it.
struct Turned {
    array: ValueId,
    ty: LocalArrayType,
    load: InstId,
    /// The loops over the rows of the copy and over its columns, which is the innermost one.
    rows: Counted,
    columns: Counted,
}

/// Gives products a turned copy of the factor whose rows their innermost loop goes through.
pub(super) fn run(function: &mut Function) {
    let mut found = IdMap::default();
    let mut left = MOST_BYTES;
    function.walk(function.entry, &mut |id, inst| {
        if matches!(inst.op, Op::For { .. })
            && let Some(turned) = turned(function, id)
            && let Some(rest) = left.checked_sub(turned.bytes())
        {
            left = rest;
            found.insert(id, turned);
        }
    });
    replace_each(function, found, |b, id, turned: Turned| {
        b.span = b.function.insts[id].span;
        let shape = [turned.rows.trips, turned.columns.trips, 1, 1];
        let copy = b.one(Op::SharedArray, Type::Local(LocalArrayType { shape, ..turned.ty }));
        let element = Type::from(turned.ty.element);
        each(b, turned.rows.upward(), &[], |b, row, _| {
            each(b, turned.columns.upward(), &[], |b, column, _| {
                let value = b.one(Op::Load(Access::element(turned.array, &[column, row])), element);
                b.effect(Op::Store { access: Access::element(copy, &[row, column]), value });
                Vec::new()
            });
            Vec::new()
        });
        let read = Access::element(copy, &[turned.rows.variable, turned.columns.variable]);
        b.function.insts[turned.load].op = Op::Load(read);
        b.append(id);
    });
}

impl Turned {
    fn bytes(&self) -> u64 {
        let size = Type::from(self.ty.element).as_scalar().map_or(0, |scalar| u64::from(scalar.size()));
        u64::from(self.rows.trips) * u64::from(self.columns.trips) * size
    }
}

/// The factor of a product that its innermost loop reads from row to row.
fn turned(function: &Function, id: InstId) -> Option<Turned> {
    let product = find(function, id)?;
    let inner = |level: Counted| function.blocks[level.body].insts.iter().find_map(|&id| counted(function, id));
    let outer = counted(function, id)?;
    let middle = inner(outer)?;
    let columns = inner(middle)?;
    let strided = |&load: &InstId| {
        let Op::Load(access) = &function.insts[load].op else { return None };
        let &[first, second] = &access.indices[..] else { return None };
        let rows = [outer, middle].into_iter().find(|level| level.variable == second)?;
        let factor = access.array == product.a || access.array == product.b;
        (factor && first == columns.variable).then_some((load, access.array, rows))
    };
    let mut loads = function.blocks[columns.body].insts.iter().filter_map(strided);
    let ((load, array, rows), None) = (loads.next()?, loads.next()) else { return None };
    let stores = function.blocks[columns.body].insts.iter().any(|&id| {
        matches!(&function.insts[id].op, Op::Store { access, .. } if access.indices.last() == Some(&columns.variable))
    });
    let Type::Local(ty) = function.ty(array) else { return None };
    // The remaining loop is that of the result's rows, each of which reads the copy.
    let readers = if rows.variable == outer.variable { middle } else { outer };
    let worth = readers.trips >= LEAST && columns.trips >= LEAST;
    (stores && worth).then_some(Turned { array, ty, load, rows, columns })
}
