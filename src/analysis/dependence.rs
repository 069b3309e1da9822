//! May an access to an array touch, after another one, the same element? Where no store does that
//! after a read, the element can be read again in the end; where no read does it after a store,
//! nobody sees what was stored.
//!
//! One comes after the other in the same iteration of all loops around both, or in a later
//! iteration of one of them and any iteration of those inside. In each case the difference of two
//! indices is bounded by the bounds of the loops' counters, the innermost first: the counter of a
//! loop `for k in range(j)` is at most `j - 1`, and that of a later iteration of `for j` at least
//! `j + 1` (dependence testing by Banerjee's inequalities with direction vectors; Allen and
//! Kennedy, *Optimizing Compilers for Modern Architectures*, chapter 3).

use std::collections::BTreeMap;

use super::alias::location;
use super::holders;
use super::ranges::Ranges;
use crate::ids::IdMap;
use crate::ir::*;

/// The positions of the instructions of a function: its block, and its place there.
pub type Positions = IdMap<InstId, (BlockId, usize)>;

/// The positions in a function.
pub fn positions(function: &Function) -> Positions {
    let mut at = Positions::default();
    for block in function.blocks.ids() {
        at.extend(function.blocks[block].insts.iter().enumerate().map(|(n, &id)| (id, (block, n))));
    }
    at
}

/// The question, asked of one function.
pub struct Dependences<'a> {
    function: &'a Function,
    ranges: &'a Ranges,
    /// The instruction that holds each block.
    holders: Vec<Option<InstId>>,
    at: Positions,
}

/// An integer that an index is made of: a value of the function, where the first access is (false)
/// or in the later iteration in which the second does (true).
type Symbol = (ValueId, bool);

/// A sum of constants times integers, exact.
#[derive(Clone, Default)]
struct Sum {
    factors: BTreeMap<Symbol, i128>,
    rest: i128,
}

impl Sum {
    fn constant(rest: i128) -> Sum {
        Sum { factors: BTreeMap::new(), rest }
    }

    fn plus(mut self, other: &Sum, factor: i128) -> Option<Sum> {
        for (&symbol, &n) in &other.factors {
            let sum = self.factors.entry(symbol).or_insert(0);
            *sum = sum.checked_add(n.checked_mul(factor)?)?;
        }
        self.factors.retain(|_, n| *n != 0);
        self.rest = self.rest.checked_add(other.rest.checked_mul(factor)?)?;
        Some(self)
    }
}

/// When the second access comes: in a later iteration of this loop, or of none.
#[derive(Clone, Copy)]
struct Case(Option<InstId>);

impl<'a> Dependences<'a> {
    pub fn of(function: &'a Function, ranges: &'a Ranges) -> Dependences<'a> {
        Dependences { function, ranges, holders: holders(function), at: positions(function) }
    }

    /// Whether `later` may touch, after `first`, the element that `first` touches. Both access one
    /// array, which is made in the block `home`: other iterations of the loops around that have
    /// another array. Where threads of a block have values of their own, nothing is known.
    pub fn may_depend(&self, first: InstId, later: InstId, home: BlockId) -> bool {
        // One value may be another one in another thread of the block.
        if self.function.block_threads.is_some() {
            return true;
        }
        let (Some(ways), Some(other)) = (self.way(first, home), self.way(later, home)) else { return true };
        let shared = ways.iter().zip(&other).take_while(|(a, b)| a == b).count();
        let Some(&(block, _)) = ways.get(shared) else { return true };
        let mut cases = Vec::new();
        // What is the same up to here are loops and branches that hold both.
        for &(_, id) in &ways[..shared] {
            if let Op::For { .. } | Op::While { .. } = self.function.insts[id].op {
                cases.push(Case(Some(id)))
            }
        }
        match (ways.get(shared), other.get(shared)) {
            (Some(&(_, a)), Some(&(there, b))) if block == there => {
                if self.at[&b].1 > self.at[&a].1 {
                    cases.push(Case(None));
                }
            }
            // Two blocks of one instruction: the branches of an `if`, of which one runs, or the
            // parts of a loop by condition.
            _ => {
                let last = shared.checked_sub(1).map(|n| &self.function.insts[ways[n].1].op);
                if !matches!(last, Some(Op::If { .. })) {
                    return true;
                }
            }
        }
        cases.into_iter().any(|case| !self.apart(first, later, case))
    }

    /// The instructions from `home` down to this one, each with its block.
    fn way(&self, id: InstId, home: BlockId) -> Option<Vec<(BlockId, InstId)>> {
        let mut way = Vec::new();
        let mut next = id;
        loop {
            let &(block, _) = self.at.get(&next)?;
            way.push((block, next));
            if block == home {
                way.reverse();
                return Some(way);
            }
            next = self.holders[block.0 as usize]?;
        }
    }

    /// Whether the two elements differ in a dimension.
    fn apart(&self, first: InstId, later: InstId, case: Case) -> bool {
        let element = |id: InstId| {
            let access = self.function.insts[id].op.access()?;
            Some(location(self.function, access.array, &access.indices).index)
        };
        let (Some(a), Some(b)) = (element(first), element(later)) else { return false };
        a.iter().zip(&b).any(|(a, b)| {
            let (Some(a), Some(b)) = (*a, *b) else { return false };
            self.ranges.counts_from_start(first, a)
                && self.ranges.counts_from_start(later, b)
                && self.differ(a, b, case).unwrap_or(false)
        })
    }

    fn differ(&self, first: ValueId, later: ValueId, case: Case) -> Option<bool> {
        let first = self.sum(first, false, case)?;
        let later = self.sum(later, true, case)?;
        let above = |a: &Sum, b: &Sum| Some(self.least(a.clone().plus(b, -1)?, case)? > 0);
        Some(above(&later, &first).unwrap_or(false) || above(&first, &later).unwrap_or(false))
    }

    /// Whether another iteration of the loop of the case has another such value.
    fn varies(&self, value: ValueId, case: Case) -> bool {
        let Case(Some(looped)) = case else { return false };
        let block = match self.function.values[value].def {
            ValueDef::Param(block, _) => block,
            ValueDef::Result(inst, _) => match self.at.get(&inst) {
                Some(&(block, _)) => block,
                None => return true,
            },
        };
        let mut next = Some(block);
        while let Some(block) = next {
            let Some(holder) = self.holders.get(block.0 as usize).copied().flatten() else { return false };
            if holder == looped {
                return true;
            }
            next = self.at.get(&holder).map(|&(block, _)| block);
        }
        false
    }

    /// An index as a sum, where the first access is or (`later`) where the second does.
    fn sum(&self, value: ValueId, later: bool, case: Case) -> Option<Sum> {
        let function = self.function;
        if let Some(constant) = function.as_const(value) {
            return Some(Sum::constant(constant.as_int()?));
        }
        let exact = |op: BinaryOp, a: ValueId, b: ValueId| {
            let scalar = function.ty(value).as_scalar()?;
            let full = super::interval::Interval::full(scalar)?;
            let (a, b) = (self.ranges.interval(a)?, self.ranges.interval(b)?);
            full.contains(a.binary(op, b, scalar)?).then_some(())
        };
        match function.op(value) {
            Some(Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b)) if exact(*op, *a, *b).is_some() => {
                let sign = if *op == BinaryOp::Sub { -1 } else { 1 };
                self.sum(*a, later, case)?.plus(&self.sum(*b, later, case)?, sign)
            }
            Some(Op::Binary(BinaryOp::Mul, a, b)) if exact(BinaryOp::Mul, *a, *b).is_some() => {
                let known = |v: ValueId| function.as_const(v).and_then(Const::as_int);
                let (factor, other) = known(*b).map(|n| (n, *a)).or_else(|| known(*a).map(|n| (n, *b)))?;
                Sum::constant(0).plus(&self.sum(other, later, case)?, factor)
            }
            // Any other value is a symbol.
            _ => {
                let symbol = (value, later && self.varies(value, case));
                Some(Sum { factors: BTreeMap::from([(symbol, 1)]), rest: 0 })
            }
        }
    }

    /// The depth of the block in which a value is defined.
    fn depth(&self, value: ValueId) -> usize {
        let mut block = match self.function.values[value].def {
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Result(inst, _) => self.at.get(&inst).map(|&(block, _)| block),
        };
        let mut depth = 0;
        while let Some(inner) = block {
            depth += 1;
            let holder = self.holders.get(inner.0 as usize).copied().flatten();
            block = holder.and_then(|holder| self.at.get(&holder)).map(|&(block, _)| block);
        }
        depth
    }

    /// A bound below a sum; None if there is none.
    fn least(&self, mut sum: Sum, case: Case) -> Option<i128> {
        // Each bound is made of values from further outside; of a later iteration, of the earlier
        // one.
        while let Some((&symbol, &factor)) =
            sum.factors.iter().max_by_key(|((value, later), _)| (self.depth(*value), *later))
        {
            let bound = self.bound(symbol, factor > 0, case)?;
            let outer = |(value, later): &Symbol| (self.depth(*value), *later) < (self.depth(symbol.0), symbol.1);
            if !bound.factors.keys().all(outer) {
                return None;
            }
            let unit = Sum { factors: BTreeMap::from([(symbol, 1)]), rest: 0 };
            sum = sum.plus(&unit, -factor)?.plus(&bound, factor)?;
        }
        Some(sum.rest)
    }

    /// The least that a value can be, or (not `low`) the greatest.
    fn bound(&self, (value, later): Symbol, low: bool, case: Case) -> Option<Sum> {
        let fixed = |this: &Self| {
            let interval = this.ranges.interval(value)?;
            Some(Sum::constant(if low { interval.low } else { interval.high }))
        };
        let function = self.function;
        let ValueDef::Param(block, 0) = function.values[value].def else { return fixed(self) };
        let Some(holder) = self.holders.get(block.0 as usize).copied().flatten() else { return fixed(self) };
        let Op::For { start, end, step, .. } = &function.insts[holder].op else { return fixed(self) };
        let Some(step) = function.as_const(*step).and_then(Const::as_int).filter(|&step| step != 0) else {
            return fixed(self);
        };
        // It begins at `start`, which is the least of a loop that goes up.
        if low == (step > 0) {
            if later && case.0 == Some(holder) {
                let before = Sum { factors: BTreeMap::from([((value, false), 1)]), rest: 0 };
                return before.plus(&Sum::constant(1), step);
            }
            return self.sum(*start, later, case);
        }
        self.sum(*end, later, case)?.plus(&Sum::constant(1), if step > 0 { -1 } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;

    /// Whether a store may change, later, what the load of `%v` reads from a tile that is made at
    /// the start.
    fn changed(body: &str) -> bool {
        let text = format!(
            "kernel @k(%x: array(dtype=float32), %n: int32) rank 1 by_block {{\n\
             %z: int32 = const 0\n%c1: int32 = const 1\n%c2: int32 = const 2\n%c9: int32 = const 9\n%m1: int32 = const -1\n\
             %w: float32 = zero\n%t: tile(float32, 10, 10) = local_array\n{body}return\n}}"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify(&module), Ok(()), "{text}");
        let function = &module.functions[module.find("k").expect("the kernel")];
        let (mut read, mut writes) = (None, Vec::new());
        function.walk(function.entry, &mut |id, inst| match inst.op {
            Op::Load(_) => read = Some(id),
            Op::Store { .. } => writes.push(id),
            _ => {}
        });
        let ranges = Ranges::of(function);
        let dependences = Dependences::of(function, &ranges);
        let read = read.expect("a load");
        assert!(!writes.is_empty());
        writes.into_iter().any(|write| dependences.may_depend(read, write, function.entry))
    }

    const READ_BEFORE_J: &str = "for %k: int32 = %z to %j step %c1 {\n%v: float32 = load %t[%j, %k]\n}\n";

    #[test]
    fn what_is_filled_in_order_stays() {
        // A factor, column by column: later columns are further right.
        assert!(!changed(&format!("for %j: int32 = %z to %c9 step %c1 {{\n{READ_BEFORE_J}store %t[%j, %j], %w\n}}\n")));
        let below = "%next: int32 = add %j, %c1\nfor %i: int32 = %next to %c9 step %c1 {\nstore %t[%i, %j], %w\n}\n";
        assert!(!changed(&format!("for %j: int32 = %z to %c9 step %c1 {{\n{READ_BEFORE_J}{below}}}\n")));
        // From the end: rows behind are done.
        let row = "%i: int32 = sub %c9, %r\n%next: int32 = add %i, %c1\n";
        let read = "for %k: int32 = %next to %c9 step %c1 {\n%v: float32 = load %t[%k, %z]\n}\n";
        assert!(!changed(&format!("for %r: int32 = %z to %c9 step %c1 {{\n{row}{read}store %t[%i, %z], %w\n}}\n")));
        // A loop that goes down.
        let read = "%next: int32 = add %j, %c1\n%v: float32 = load %t[%next, %z]\n";
        assert!(!changed(&format!("for %j: int32 = %c9 to %m1 step %m1 {{\n{read}store %t[%j, %z], %w\n}}\n")));
        // In other columns, whatever the rows.
        let both = "%v: float32 = load %t[%j, %c1]\nstore %t[%j, %c2], %w\n";
        assert!(!changed(&format!("for %j: int32 = %z to %c9 step %c1 {{\n{both}}}\n")));
        // Two at a time.
        let pairs = "%next: int32 = add %j, %c1\n%v: float32 = load %t[%next, %z]\nstore %t[%j, %z], %w\n";
        assert!(!changed(&format!("for %j: int32 = %z to %c9 step %c2 {{\n{pairs}}}\n")));
    }

    #[test]
    fn what_may_be_changed_later_is_found() {
        let in_loop = |body: &str| changed(&format!("for %j: int32 = %z to %c9 step %c1 {{\n{body}}}\n"));
        // The same element, at once and in the next iteration.
        assert!(in_loop("%v: float32 = load %t[%j, %z]\nstore %t[%j, %z], %w\n"));
        assert!(in_loop("store %t[%j, %z], %w\n%next: int32 = add %j, %c1\n%v: float32 = load %t[%next, %z]\n"));
        assert!(in_loop("store %t[%z, %c1], %w\n%v: float32 = load %t[%z, %c1]\n"));
        // Every iteration fills the row again.
        assert!(in_loop(
            "for %k: int32 = %z to %c9 step %c1 {\nstore %t[%k, %z], %w\n}\n%v: float32 = load %t[%j, %z]\n"
        ));
        // Up to the counter and with it.
        let with =
            "%end: int32 = add %j, %c1\nfor %k: int32 = %z to %end step %c1 {\n%v: float32 = load %t[%j, %k]\n}\n";
        assert!(in_loop(&format!("{with}store %t[%j, %j], %w\n")));
        // Behind the loop.
        assert!(changed(&format!(
            "for %j: int32 = %z to %c9 step %c1 {{\n{READ_BEFORE_J}}}\nstore %t[%c2, %c1], %w\n"
        )));
        // A step and a bound with nothing that is known.
        let read = "%v: float32 = load %t[%j, %z]\n%next: int32 = add %j, %n\nstore %t[%next, %z], %w\n";
        assert!(in_loop(read));
        assert!(changed(&format!("for %j: int32 = %z to %c9 step %n {{\n{READ_BEFORE_J}store %t[%j, %j], %w\n}}\n")));
        // An index that counts from the end names another element than its number says.
        let from_end = "%back: int32 = sub %j, %c9\n%v: float32 = load %t[%j, %z]\nstore %t[%back, %z], %w\n";
        assert!(in_loop(from_end));
    }

    #[test]
    fn branches_run_one_at_a_time() {
        let branches =
            "%b: bool = lt %j, %n\nif %b {\n%v: float32 = load %t[%z, %z]\n} else {\nstore %t[%z, %z], %w\n}\n";
        assert!(changed(&format!("for %j: int32 = %z to %c9 step %c1 {{\n{branches}}}\n")));
        assert!(!changed(&format!("%j: int32 = const 0\n{branches}")));
        assert!(changed(&format!("%j: int32 = const 0\n{branches}store %t[%z, %z], %w\n")));
    }
}
