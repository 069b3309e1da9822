//! Which indices does a launch prove to be inside, all at once? Checked code of a GPU asks whether
//! the launch has no more threads along a coordinate than the array has elements, which is the same
//! for all of its threads; then those take code that does not test these indices again.
//!
//! ```text
//! if threads <= x.shape[0] and threads <= y.shape[0]:  y[i] = x[i], without tests
//! else:                                                y[i] = x[i], each index tested
//! ```
//!
//! So are indices between 0 and `x.shape[0] - 1` by a `min` and a `max`, if the array is not empty,
//! and the variables of loops to `x.shape[0]`, if their step is not negative.

use std::collections::HashMap;

use super::builder::{IntPredicate, Llvm, Val};
use super::lower::{Lower, Scalars};
use crate::ids::IdSet;
use crate::ir::{BinaryOp, FuncId, Op};

/// Larger kernels are there once: their time goes elsewhere, and the compiler's too.
const MOST_INSTRUCTIONS: usize = 1500;

/// Beyond so many questions a launch asks none.
const MOST_QUESTIONS: usize = 16;

/// What a launch asks costs a thread so many instructions, and one more for each extent.
const QUESTION: u32 = 3;

/// What is the same for all threads of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Question<'ctx> {
    /// All that a coordinate may be, or a number from 0 on, is below an extent.
    Below(Val<'ctx>, Val<'ctx>),
    /// A number is above 0.
    Positive(Val<'ctx>),
}

/// Tests of indices that the launch may answer, while a body is lowered.
#[derive(Default)]
pub struct LaunchTests<'ctx> {
    /// The coordinates of the running thread, and numbers that are the same for all of them.
    coordinates: Vec<Val<'ctx>>,
    fixed: IdSet<Val<'ctx>>,
    /// What was asked for, and how many instructions the answer saves, about.
    found: Vec<(Question<'ctx>, u32)>,
    /// What holds, in the code without tests.
    holds: Option<Vec<Question<'ctx>>>,
    /// Coordinates that the code itself compares with fixed numbers: launches have more threads
    /// than elements there.
    compared: IdSet<Val<'ctx>>,
    /// Numbers that are below an extent, if that is above 0.
    below: HashMap<Val<'ctx>, Val<'ctx>>,
    /// Numbers that are not negative; some if an extent is above 0.
    from_start: HashMap<Val<'ctx>, Option<Val<'ctx>>>,
    /// Variables of loops from 0 or more to a fixed number: this and the step, which is fixed.
    variables: HashMap<Val<'ctx>, (Val<'ctx>, Val<'ctx>)>,
    /// Around the cursor.
    pub branches: u32,
}

impl<'ctx> LaunchTests<'ctx> {
    /// An index is to be tested against an extent. Whether it is known to be inside.
    pub fn test(&mut self, ll: &Llvm<'ctx>, index: Val<'ctx>, extent: Val<'ctx>, in_loop: bool) -> bool {
        let Some(question) = self.question(ll, index, extent) else { return false };
        if let Some(holds) = &self.holds {
            // A thread is there, and the extent is no less than its coordinate and 1.
            let some = |known: &Question<'ctx>| matches!(known, Question::Below(_, more) if *more == extent);
            return holds.contains(&question) || question == Question::Positive(extent) && holds.iter().any(some);
        }
        // A comparison and a branch; one of both for the code under a condition.
        let saves = if self.branches == 0 { 2 } else { 1 } * if in_loop { 8 } else { 1 };
        match self.found.iter_mut().find(|(known, _)| *known == question) {
            Some((_, all)) => *all += saves,
            None => self.found.push((question, saves)),
        }
        false
    }

    /// What makes the index one below the extent.
    fn question(&self, ll: &Llvm<'ctx>, index: Val<'ctx>, extent: Val<'ctx>) -> Option<Question<'ctx>> {
        if !self.fixed.contains(&extent) {
            None
        } else if ll.as_int(index).map_or(self.coordinates.contains(&index), |n| n >= 0) {
            Some(Question::Below(index, extent))
        } else if self.below.get(&index) == Some(&extent)
            && self.from_start.get(&index).is_some_and(|given| given.is_none_or(|given| given == extent))
        {
            Some(Question::Positive(extent))
        } else {
            let &(limit, step) = self.variables.get(&index)?;
            (limit == extent).then_some(Question::Positive(step))
        }
    }

    /// Notes that the code compares two numbers.
    pub fn compares(&mut self, a: Val<'ctx>, b: Val<'ctx>) {
        for (one, other) in [(a, b), (b, a)] {
            if self.coordinates.contains(&one) && self.fixed.contains(&other) {
                self.compared.insert(one);
            }
        }
    }

    /// Learns about `result = x op y` of int32.
    pub fn binary(&mut self, ll: &Llvm<'ctx>, op: BinaryOp, x: Val<'ctx>, y: Val<'ctx>, result: Val<'ctx>) {
        let below = |v: Val<'ctx>| self.below.get(&v).copied();
        let starts = |v: Val<'ctx>| match ll.as_int(v) {
            Some(n) => (n >= 0).then_some(None),
            None => self.from_start.get(&v).copied(),
        };
        let (below, starts) = match op {
            BinaryOp::Sub if ll.as_int(y) == Some(1) && self.fixed.contains(&x) => (Some(x), Some(Some(x))),
            BinaryOp::Min => {
                let both = match (starts(x), starts(y)) {
                    (Some(a), Some(b)) if a.is_none() || b.is_none() || a == b => Some(a.or(b)),
                    _ => None,
                };
                (below(x).or(below(y)), both)
            }
            BinaryOp::Max => {
                let both = below(x).filter(|extent| below(y) == Some(*extent));
                // 0 is below an extent above 0.
                let zero = |zero: Val<'ctx>, other| below(other).filter(|_| ll.as_int(zero) == Some(0));
                let either = [starts(x), starts(y)].into_iter().flatten().min_by_key(Option::is_some);
                (both.or(zero(x, y)).or(zero(y, x)), either)
            }
            _ => return,
        };
        self.below.extend(below.map(|extent| (result, extent)));
        self.from_start.extend(starts.map(|given| (result, given)));
    }

    /// Learns about the variable of a `for` from 0 or more on.
    pub fn variable(&mut self, variable: Val<'ctx>, limit: Val<'ctx>, step: Val<'ctx>) {
        if self.fixed.contains(&limit) && self.fixed.contains(&step) {
            self.variables.insert(variable, (limit, step));
        }
    }

    /// What to ask, if it is worth it.
    fn asked(self) -> Vec<Question<'ctx>> {
        let more = |(question, _): &(Question<'ctx>, u32)| match question {
            Question::Below(index, _) => !self.compared.contains(index),
            Question::Positive(_) => true,
        };
        let found: Vec<_> = self.found.into_iter().filter(more).collect();
        let saved: u32 = found.iter().map(|(_, saves)| saves).sum();
        if saved < found.len() as u32 + QUESTION || found.len() > MOST_QUESTIONS {
            return Vec::new();
        }
        found.into_iter().map(|(question, _)| question).collect()
    }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// The body of a kernel for the running thread, in both forms where that pays. `threads`: the
    /// numbers of threads along the coordinates (i64), if they hold as they are (i1).
    pub fn kernel_for_launch(
        &mut self,
        kernel: FuncId,
        args: Vec<Scalars<'ctx>>,
        threads: &dyn Fn(&Self) -> (Vec<Val<'ctx>>, Val<'ctx>),
    ) {
        if !self.bears_two_forms(kernel) {
            return self.kernel(kernel, args);
        }
        let ll = self.ll;
        let fixed = args.iter().flatten().filter(|&&arg| ll.ty(arg) == ll.i32()).map(|&arg| self.facts.same(arg));
        let fixed: IdSet<Val> = fixed.collect();
        let tests = |lower: &Self, holds| LaunchTests {
            from_start: lower.thread.coordinates.iter().map(|&coordinate| (coordinate, None)).collect(),
            coordinates: lower.thread.coordinates.to_vec(),
            fixed: fixed.clone(),
            holds,
            ..LaunchTests::default()
        };
        let [each, after] = ["tested", "finished"].map(|name| ll.block(self.into.function, name));
        let before = ll.current_block();
        ll.position_at_end(each);
        self.facts.launch_tests = Some(tests(self, None));
        let sums = self.mode.kernel_mut().and_then(|own| Some(own.block_sums.as_ref()?.sums.len()));
        self.kernel(kernel, args.clone());
        ll.br(after);
        let asked = self.facts.launch_tests.take().map(LaunchTests::asked).unwrap_or_default();
        ll.position_at_end(before);
        if asked.is_empty() {
            ll.br(each);
        } else {
            let (threads, hold) = threads(self);
            let coordinates = self.thread.coordinates;
            let inside = asked.iter().map(|&question| match question {
                Question::Below(index, extent) => {
                    let extent = ll.zext(extent, ll.i64());
                    match coordinates.iter().position(|&coordinate| coordinate == index) {
                        Some(n) if ll.as_int(index).is_none() => ll.icmp(IntPredicate::ULE, threads[n], extent),
                        _ => ll.icmp(IntPredicate::ULT, ll.zext(index, ll.i64()), extent),
                    }
                }
                Question::Positive(number) => ll.icmp(IntPredicate::SGT, number, ll.const_i32(0)),
            });
            let inside = inside.fold(hold, |all, one| ll.and(all, one));
            let all = ll.block(self.into.function, "allinside");
            ll.likely_br(inside, all, each);
            ll.position_at_end(all);
            self.facts.launch_tests = Some(tests(self, Some(asked)));
            self.share_sums(sums);
            self.kernel(kernel, args);
            self.share_sums(None);
            self.facts.launch_tests = None;
            ll.br(after);
        }
        ll.position_at_end(after);
    }

    /// Lets what is lowered next add to the sums of blocks from a number on; None: to new ones.
    fn share_sums(&mut self, from: Option<usize>) {
        if let Some(sums) = self.mode.kernel_mut().and_then(|own| own.block_sums.as_mut()) {
            sums.again = from;
        }
    }

    /// Whether a kernel tests indices, and is small enough to be there twice.
    fn bears_two_forms(&self, kernel: FuncId) -> bool {
        if !self.target.is_checked() || self.ir.functions[kernel].by_block {
            return false;
        }
        let reached = self.ir.reached_from(kernel);
        let size: usize = reached.iter().map(|&id| self.ir.functions[id].insts.len()).sum();
        // Local arrays would take their memory twice; what waits must wait at one place.
        let once = |op: &Op| {
            let waits = !matches!(op, Op::Call(..)) && op.properties().synchronises;
            waits || matches!(op, Op::LocalArray | Op::SharedArray | Op::Copy(..) | Op::Product(..))
        };
        size <= MOST_INSTRUCTIONS && !reached.iter().any(|&id| self.ir.functions[id].has(|inst| once(&inst.op)))
    }
}
