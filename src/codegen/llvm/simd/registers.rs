//! How many vectors can be in flight without spilling registers?
//!
//! An instruction on vectors takes some four cycles, and a core begins one or two in each: a thread
//! that needs the result of one instruction for the next leaves it idle. So lanes of several
//! vectors run together in long rows, as far as registers hold what they compute with.

use crate::ids::{IdMap, IdSet};
use crate::ir::{Access, BlockId, Function, Op, ValueId, jumps, straight};
use crate::types::{Element, Scalar, Type};

/// How many vectors stand for a value, where lanes of one need so many registers at most and the
/// kernel has so many instructions: with four there is enough to do while the first waits. Each of
/// them is compiled, which takes its time.
const VECTORS: [(u32, usize, u32); 3] = [(24, 200, 4), (24, 600, 2), (28, 200, 2)];

/// SIMD lanes that leave a loop one before the other wait for the last: where turns are few for
/// most and many for some, those of four vectors take 1.3 times as long as those of one, and where
/// they are spread evenly 0.87 of that.
const MOST_OF_PARTING: u32 = 2;

/// Kernels without loops that are shorter wait for memory, and longer ones have enough to do beside
/// what waits.
const WITHOUT_LOOPS: std::ops::RangeInclusive<usize> = 40..=200;

/// How many vectors stand for a value in long rows.
pub(super) fn vectors_at_once(
    function: &Function,
    varies: impl Fn(ValueId) -> bool,
    insts: usize,
    [lanes, bits]: [u32; 2],
) -> u32 {
    let loops = function.has(|inst| matches!(inst.op, Op::For { .. } | Op::While { .. }));
    // Elements of several components are taken apart by shuffles, and two or three vectors of them
    // are under way as it is.
    let composites = || {
        let composite = |access: &Access| match function.ty(access.array) {
            Type::Array(array) => !matches!(array.element, Element::Scalar(_)),
            _ => false,
        };
        function.has(|inst| inst.op.access().is_some_and(composite))
    };
    if !loops && (!WITHOUT_LOOPS.contains(&insts) || composites()) {
        return 1;
    }
    let size = |value: ValueId| {
        let ty = function.ty(value);
        let vector = |scalar: Scalar| (scalar.size() * 8 * lanes).div_ceil(bits);
        match (ty.scalar_count(), ty.scalar_part()) {
            (Some(count), Some(scalar)) if varies(value) && scalar != Scalar::Bool => count * vector(scalar),
            _ => 0,
        }
    };
    let mut lives = Lives::of(function);
    lives.block(function.entry);
    let needed = lives.most(size);
    let fits = |&(registers, most, _): &(u32, usize, u32)| needed <= registers && insts <= most;
    let vectors = VECTORS.into_iter().find(fits).map_or(1, |(.., vectors)| vectors);
    vectors.min(if part(function, &varies) { MOST_OF_PARTING } else { u32::MAX })
}

/// Whether lanes leave a loop one before the other.
fn part(function: &Function, varies: impl Fn(ValueId) -> bool) -> bool {
    let goes_on = |condition: BlockId| function.yielded(condition).iter().any(|&value| varies(value));
    function.has(|inst| match inst.op {
        Op::For { start, end, .. } => varies(start) || varies(end),
        Op::While { condition, .. } => goes_on(condition),
        straight!() | Op::If { .. } | jumps!() => false,
    })
}

/// From where to where values are needed, in the order of the text.
struct Lives<'a> {
    function: &'a Function,
    at: usize,
    /// First and last.
    spans: IdMap<ValueId, (usize, usize)>,
    /// Where the loops around the cursor began, and what they use of before.
    loops: Vec<(usize, IdSet<ValueId>)>,
}

impl<'a> Lives<'a> {
    fn of(function: &'a Function) -> Lives<'a> {
        Lives { function, at: 0, spans: IdMap::default(), loops: Vec::new() }
    }

    fn define(&mut self, value: ValueId) {
        self.spans.insert(value, (self.at, self.at));
    }

    fn block(&mut self, block: BlockId) {
        let function = self.function;
        function.blocks[block].params.iter().for_each(|&param| self.define(param));
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            self.at += 1;
            inst.op.for_each_operand(|value| self.uses(value));
            let is_loop = matches!(inst.op, Op::For { .. } | Op::While { .. });
            if is_loop {
                self.loops.push((self.at, IdSet::default()));
            }
            inst.op.blocks().iter().for_each(|&nested| self.block(nested));
            if let Some((_, used)) = self.loops.pop_if(|_| is_loop) {
                // Needed again in the next turn.
                used.iter().for_each(|value| self.reach(*value));
            }
            inst.results.iter().for_each(|&result| self.define(result));
        }
    }

    fn uses(&mut self, value: ValueId) {
        let Some(&(first, _)) = self.spans.get(&value) else { return };
        self.reach(value);
        for (start, used) in &mut self.loops {
            if first < *start {
                used.insert(value);
            }
        }
    }

    fn reach(&mut self, value: ValueId) {
        let at = self.at;
        self.spans.entry(value).and_modify(|span| span.1 = at);
    }

    /// The most that is needed at one place.
    fn most(&self, size: impl Fn(ValueId) -> u32) -> u32 {
        let mut changes: Vec<(usize, i64)> = Vec::new();
        for (&value, &(first, last)) in &self.spans {
            let size = i64::from(size(value));
            if size > 0 && last > first {
                changes.extend([(first, size), (last, -size)]);
            }
        }
        // What ends at an instruction leaves its registers to the result.
        changes.sort_unstable();
        let mut now = 0;
        changes.iter().fold(0, |most, (_, change)| {
            now += change;
            most.max(now)
        }) as u32
    }
}
