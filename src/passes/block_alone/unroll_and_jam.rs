//! Which products of matrices do more with each element that they read?
//!
//! ```text
//! for i in range(m):                           for i in range(0, m, 4):
//!     for k in range(l):                           for k in range(0, l, 4):
//!         x = a[i, k]                                  x00, x01, ... = a[i, k], a[i, k + 1], ...
//!         for j in range(n):               =>          for j in range(n):
//!             c[i, j] = fma(x, b[k, j], c[i, j])           c[i, j] = fma(x03, b[k + 3, j], ... fma(x00, b[k, j], c[i, j]))
//!                                                          c[i + 1, j] = ...
//! ```
//!
//! Each element of `c` takes the same terms in the same order. Between two visits of memory it
//! takes four of them, and each of `b` serves four rows.

use super::dependent;
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{Access, BinaryOp, BlockId, Function, Inst, InstId, Op, ValueId, Values};
use crate::passes::block_threads::accesses::{Kind, Memory, Sum, all_touches};
use crate::passes::block_threads::plan::leaves;
use crate::passes::copy::Copier;
use crate::passes::loops::{counter, trips};
use crate::passes::rebuild::Rebuild;
use crate::types::{I32, Scalar};

/// So many rows at once: with as many steps they take the registers of a processor.
const ROWS: u64 = 4;
const STEPS: u64 = 4;

/// A loop between constants that counts by 1, up or down.
#[derive(Clone)]
struct Counted {
    count: u64,
    first: i128,
    by: i128,
    variable: ValueId,
    body: BlockId,
}

struct Product {
    rows: Counted,
    steps: Counted,
    columns: Counted,
    /// What is beside the inner loops.
    of_row: Vec<InstId>,
    of_step: Vec<InstId>,
    of_column: Vec<InstId>,
    /// The one store.
    store: InstId,
}

pub(super) fn run(function: &mut Function, effects: &EffectTable) {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if let Some(product) = product(function, effects, inst) {
            found.insert(id, product);
        }
    });
    if found.is_empty() {
        return;
    }
    let entry = function.entry;
    let mut pass = Pass { rebuild: Rebuild::start(function), found };
    pass.block(entry);
    pass.rebuild.finish(function);
}

fn counted(function: &Function, inst: &Inst) -> Option<Counted> {
    let Op::For { start, end, step, ref init, body } = inst.op else { return None };
    let count = trips(function, start, end, step)?;
    let [first, second] = [0, 1].map(|n| counter(function, start, step, n));
    let variable = *function.blocks[body].params.first()?;
    let by = first.zip(second).map(|(first, second)| second - first).filter(|by| by.abs() == 1)?;
    let fits = init.is_empty() && function.ty(variable) == I32 && !leaves(function, inst, false);
    Some(Counted { count, first: first.filter(|_| fits)?, by, variable, body })
}

/// What is before the loop that a block ends with, and the loop.
fn around(function: &Function, block: BlockId) -> Option<(&[InstId], &Inst)> {
    let [before @ .., last, _] = &function.blocks[block].insts[..] else { return None };
    Some((before, &function.insts[*last]))
}

fn product(function: &Function, effects: &EffectTable, inst: &Inst) -> Option<Product> {
    let rows = counted(function, inst)?;
    let (of_row, inner) = around(function, rows.body)?;
    let steps = counted(function, inner)?;
    let (of_step, inner) = around(function, steps.body)?;
    let columns = counted(function, inner)?;
    let (_, of_column) = function.blocks[columns.body].insts.split_last()?;
    let all: Vec<InstId> = of_row.iter().chain(of_step).chain(of_column).copied().collect();
    let mut stores = of_column.iter().filter(|&&id| matches!(function.insts[id].op, Op::Store { .. }));
    let (&store, None) = (stores.next()?, stores.next()) else { return None };
    let plain = |&id: &InstId| {
        let op = &function.insts[id].op;
        id == store || matches!(op, Op::Load(_)) || op.blocks().is_empty() && effects.properties(op).is_value()
    };
    if !all.iter().all(plain) || rows.count < 2 || steps.count < 2 {
        return None;
    }
    // What is written is a tile, and it is read nowhere else.
    let Op::Store { access, .. } = &function.insts[store].op else { return None };
    let touches = all_touches(function, effects, rows.body);
    let written = touches.iter().find(|touch| touch.at == store)?;
    let same =
        |id: InstId| matches!(&function.insts[id].op, Op::Load(read) if read == access) && of_column.contains(&id);
    let alone = |touch: &crate::passes::block_threads::accesses::Touch| {
        touch.at == store || touch.kind == Kind::Read && (touch.memory != written.memory || same(touch.at))
    };
    if !matches!(written.memory, Memory::Block(_)) || !access.path.is_empty() || !touches.iter().all(alone) {
        return None;
    }
    // Each row and column has an element of its own, the same in all steps.
    let in_step = dependent(function, rows.body, steps.variable);
    let by = |variable: ValueId| {
        let moves: IdSet<ValueId> = dependent(function, rows.body, variable);
        let mut with = access.indices.iter().filter(|&index| moves.contains(index) || *index == variable);
        let (only, None) = (*with.next()?, with.next()) else { return None };
        let sum = Sum::of(function, only);
        let own =
            |(term, times): (&ValueId, &i128)| if *term == variable { *times == 1 } else { !moves.contains(term) };
        (sum.terms.contains_key(&variable) && sum.terms.iter().all(own)).then_some(only)
    };
    let (row, column) = (by(rows.variable)?, by(columns.variable)?);
    if row == column || access.indices.iter().any(|index| in_step.contains(index) || *index == steps.variable) {
        return None;
    }
    let [of_row, of_step, of_column] = [of_row, of_step, of_column].map(<[InstId]>::to_vec);
    Some(Product { rows, steps, columns, of_row, of_step, of_column, store })
}

struct Pass {
    rebuild: Rebuild,
    found: IdMap<InstId, Product>,
}

impl Pass {
    fn b(&mut self) -> &mut Builder {
        &mut self.rebuild.b
    }

    fn block(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            let op = self.rebuild.visit(id);
            match self.found.remove(&id) {
                Some(product) => self.each(&product.rows, ROWS, &mut |this, rows| {
                    this.each(&product.steps, STEPS, &mut |this, steps| this.terms(&product, rows, steps));
                }),
                None => {
                    op.blocks().iter().for_each(|&nested| self.block(nested));
                    self.rebuild.b.append(id);
                }
            }
        }
        self.rebuild.b.switch_to(outside);
    }

    /// Loops over what a loop counts, `most` at once, and those that are left.
    fn each(&mut self, over: &Counted, most: u64, body: &mut dyn FnMut(&mut Self, &[ValueId])) {
        let many = over.count - over.count % most;
        for (from, to, by) in [(0, many, most), (many, over.count, 1)] {
            if from == to {
                continue;
            }
            let [start, end] = [from, to].map(|n| self.b().int(Scalar::I32, over.first + over.by * i128::from(n)));
            let step = self.b().int(Scalar::I32, over.by * i128::from(by));
            let block = self.b().new_block(&[I32]);
            let outside = self.b().switch_to(block);
            let first = self.b().params(block)[0];
            let mut values = vec![first];
            for n in 1..by {
                let n = self.b().int(Scalar::I32, over.by * i128::from(n));
                values.push(self.b().binary(BinaryOp::Add, first, n));
            }
            body(self, &values);
            self.b().yield_(&[]);
            self.b().switch_to(outside);
            self.b().effect(Op::For { start, end, step, init: Values::new(), body: block });
        }
    }

    /// The loop over the columns for some rows and steps.
    fn terms(&mut self, product: &Product, rows: &[ValueId], steps: &[ValueId]) {
        let mut copies: Vec<Vec<Copier<'static>>> = Vec::new();
        for &row in rows {
            let mut of_row = Vec::new();
            for &step in steps {
                let mut copier = Copier::within();
                copier.map(product.rows.variable, row);
                copier.map(product.steps.variable, step);
                product.of_row.iter().chain(&product.of_step).for_each(|&id| copier.inst(self.b(), id));
                of_row.push(copier);
            }
            copies.push(of_row);
        }
        let Op::Store { access, value } = self.rebuild.b.function.insts[product.store].op.clone() else { return };
        self.each(&product.columns, 1, &mut |this, column| {
            for row in &mut copies {
                // The element, as it is after the steps so far.
                let mut now: Option<ValueId> = None;
                for copier in row.iter_mut() {
                    copier.map(product.columns.variable, column[0]);
                    for &id in product.of_column.iter().filter(|&&id| id != product.store) {
                        let inst = &this.rebuild.b.function.insts[id];
                        let read = matches!(&inst.op, Op::Load(read) if *read == access);
                        match (read, now, inst.results.first().copied()) {
                            (true, Some(now), Some(result)) => copier.map(result, now),
                            _ => copier.inst(this.b(), id),
                        }
                    }
                    now = Some(copier.value(value));
                }
                let Some((value, copier)) = now.zip(row.last()) else { continue };
                let indices: Values = access.indices.iter().map(|&index| copier.value(index)).collect();
                this.b().effect(Op::Store { access: Access::element(access.array, &indices), value });
            }
        });
    }
}
