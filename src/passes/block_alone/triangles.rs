//! Small loops over triangles, as those of a factor of a matrix, are written out: one thread has
//! nothing from loops whose inner ones have few iterations, each another number of them, and an
//! element with a fixed place can be a register.

use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{BinaryOp, BlockId, Const, Function, InstId, Op, ValueId, Values};
use crate::passes::copy::Copier;
use crate::passes::rebuild::Rebuild;
use crate::passes::unroll::leaves;

/// The most instructions that a nest becomes: about 1,500 of a factor of 12 x 12 elements. Written
/// out, factors of 4 x 4 elements take 0.44 of the time that loops take, and of 12 x 12 0.64; of 16
/// x 16 they take longer (Intel Xeon, family 6, model 167).
const MOST_INSTRUCTIONS: usize = 2000;

/// Writes out what is small enough; says whether there was anything. A cleaning must follow.
pub(super) fn run(function: &mut Function) -> bool {
    let mut chosen = IdSet::default();
    choose(function, function.entry, &mut chosen);
    if chosen.is_empty() {
        return false;
    }
    let entry = function.entry;
    let mut writer = Writer { rebuild: Rebuild::start(function), chosen };
    writer.block(entry);
    writer.rebuild.finish(function);
    true
}

/// The outermost loops that are small and hold others which begin or end where their own counter
/// is.
fn choose(function: &Function, block: BlockId, chosen: &mut IdSet<InstId>) {
    for &id in &function.blocks[block].insts {
        let op = &function.insts[id].op;
        let mut room = MOST_INSTRUCTIONS;
        if is_triangle(function, op) && count(function, op, &mut IdMap::default(), &mut room).is_some() {
            chosen.insert(id);
            continue;
        }
        op.blocks().iter().for_each(|&nested| choose(function, nested, chosen));
    }
}

fn is_triangle(function: &Function, op: &Op) -> bool {
    let Op::For { body, .. } = *op else { return false };
    let counter = function.blocks[body].params[0];
    let mut found = false;
    function.walk(body, &mut |_, inst| {
        if let Op::For { start, end, .. } = inst.op {
            found |= follows(function, start, counter) || follows(function, end, counter);
        }
    });
    found
}

/// Whether an integer is a counter, or a sum with it.
fn follows(function: &Function, value: ValueId, counter: ValueId) -> bool {
    if let Some(Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b)) = function.op(value) {
        follows(function, *a, counter) || follows(function, *b, counter)
    } else {
        value == counter
    }
}

/// An integer that follows from constants and the counters in `known`.
fn integer(function: &Function, value: ValueId, known: &IdMap<ValueId, i128>) -> Option<i128> {
    if let Some(&number) = known.get(&value) {
        return Some(number);
    }
    if let Some(constant) = function.as_const(value) {
        return constant.as_int();
    }
    let Op::Binary(op, a, b) = function.def(value)?.op else { return None };
    let (a, b) = (integer(function, a, known)?, integer(function, b, known)?);
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        _ => return None,
    };
    // What wraps is left alone.
    Const::int(function.ty(value).as_scalar()?, result).as_int().filter(|&stored| stored == result)
}

/// The counters of a loop's iterations.
fn counters(function: &Function, op: &Op, known: &IdMap<ValueId, i128>) -> Option<Vec<i128>> {
    let Op::For { start, end, step, body, .. } = *op else { return None };
    let [start, end, step] = [start, end, step].map(|bound| integer(function, bound, known));
    let (start, end, step) = (start?, end?, step?);
    let distance = if step < 0 { start - end } else { end - start };
    let count = if step == 0 { 0 } else { (distance.max(0) + step.abs() - 1) / step.abs() };
    (count <= MOST_INSTRUCTIONS as i128 && !leaves(function, body))
        .then(|| (0..count).map(|n| start + n * step).collect())
}

/// Takes from `room` the instructions that a loop becomes, written out with all that have known
/// bounds in it. None: it has no known bounds itself, or there is not enough room.
fn count(function: &Function, op: &Op, known: &mut IdMap<ValueId, i128>, room: &mut usize) -> Option<()> {
    let Op::For { body, .. } = *op else { return None };
    let counter = function.blocks[body].params[0];
    for number in counters(function, op, known)? {
        known.insert(counter, number);
        for &id in &function.blocks[body].insts {
            let inner = &function.insts[id].op;
            let counts = !matches!(inner, Op::Const(_) | Op::Yield(_));
            *room = room.checked_sub(usize::from(counts))?;
            if counters(function, inner, known).is_some() {
                count(function, inner, known, room)?;
            } else {
                let mut size = 0;
                inner.blocks().iter().for_each(|&block| function.walk(block, &mut |_, _| size += 1));
                *room = room.checked_sub(size)?;
            }
        }
    }
    known.remove(&counter);
    Some(())
}

struct Writer {
    rebuild: Rebuild,
    chosen: IdSet<InstId>,
}

impl Writer {
    fn block(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            let op = self.rebuild.visit(id);
            op.blocks().iter().for_each(|&nested| self.block(nested));
            if !self.chosen.contains(&id) {
                self.rebuild.b.append(id);
                continue;
            }
            let results = self.rebuild.b.function.insts[id].results.clone();
            let values = iterations(&mut self.rebuild.b, &mut Copier::within(), &op, &mut IdMap::default());
            results.iter().zip(values).for_each(|(&result, value)| self.rebuild.replace(result, value));
        }
        self.rebuild.b.switch_to(outside);
    }
}

/// Appends the iterations of a loop with known bounds; what it carries in the end.
fn iterations(b: &mut Builder, copier: &mut Copier<'_>, op: &Op, known: &mut IdMap<ValueId, i128>) -> Values {
    let Op::For { start, init, body, .. } = op else { unreachable!("only loops have counters") };
    let numbers = counters(&b.function, op, known).unwrap_or_default();
    let params = b.params(*body).to_vec();
    let insts = b.function.blocks[*body].insts.clone();
    let scalar = b.ty(*start).as_scalar();
    let mut values: Values = init.iter().map(|&value| copier.value(value)).collect();
    for number in numbers {
        known.insert(params[0], number);
        let counter = scalar.map(|scalar| b.int(scalar, number));
        counter.into_iter().for_each(|counter| copier.map(params[0], counter));
        params[1..].iter().zip(&values).for_each(|(&param, &value)| copier.map(param, value));
        for &id in &insts {
            let inst = b.function.insts[id].clone();
            if let Op::Yield(next) = &inst.op {
                values = next.iter().map(|&value| copier.value(value)).collect();
            } else if counters(&b.function, &inst.op, known).is_some() {
                let found = iterations(b, copier, &inst.op, known);
                inst.results.iter().zip(found).for_each(|(&result, value)| copier.map(result, value));
            } else {
                copier.inst(b, id);
            }
        }
    }
    known.remove(&params[0]);
    values
}
