//! What do the warps of a launch share, and what does a warp do until it has to wait? One
//! instruction after the other for all lanes of a side.

use std::collections::{BTreeMap, HashMap};

use super::chance::Chance;
use super::cluster::Shared;
use super::code::{Code, Inst, NOWHERE, Op, PredIn, Reg};
use super::counters::Counters;
use super::dropped::Dropped;
use super::findings::{Findings, What};
use super::footprint::Footprint;
use super::graph::leaves;
use super::memory::Memory;
use super::print;
use super::races::{Clock, History, Intervals};
#[cfg(target_arch = "x86_64")]
use super::value::is_wide;
use super::value::{LANES, Lanes};
use super::warp::{Entry, KERNEL, Split, State, Warp};

/// What is looked for besides what ends a launch in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    pub races: bool,
    pub uninitialised: bool,
}

/// What the warps of a launch share.
pub struct Machine<'c> {
    pub code: &'c Code,
    pub memory: Memory,
    pub params: Vec<u8>,
    pub checks: Checks,
    pub history: History,
    pub intervals: Option<Intervals>,
    /// Lanes whose loads are no races.
    pub dropped: Dropped,
    /// Clocks released by fences, by address.
    pub released: HashMap<(u32, u64), Clock>,
    pub findings: Findings,
    /// The thread and what it printed.
    pub printed: Vec<(u64, Vec<u8>)>,
    pub printed_bytes: usize,
    /// Conditions of graphs, and what they were set to.
    pub conditions: BTreeMap<u64, u32>,
    pub counters: Option<Counters>,
    pub footprint: Option<Footprint>,
    pub chance: Option<Chance>,
    /// Instructions that a warp may run.
    pub limit: u64,
    /// Instructions so far: the clock.
    pub steps: u64,
    pub hint: usize,
    pub grid: [u32; 3],
    /// Of a block.
    pub warps: u32,
    /// Memory, or a cluster's barrier, can order blocks.
    pub orders_blocks: bool,
}

/// The barriers of a block that instructions number.
pub const BARRIERS: usize = 16;

/// A barrier of a block, and who is there.
#[derive(Default, Debug)]
pub struct Barrier {
    pub arrived: Vec<Arrival>,
    /// The threads that it waits for; None: all.
    pub count: Option<u32>,
    pub pc: u32,
}

#[derive(Debug)]
pub struct Arrival {
    pub warp: u32,
    pub lanes: u32,
    pub votes: u32,
    /// It waits, and does not only tell that it was there.
    pub waits: bool,
    /// What is known of what it did before, where barriers of parts of a block order that.
    pub done: Option<Clock>,
    pub result: Option<(super::code::Vote, super::code::Result)>,
}

/// Why a warp does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// All lanes have left.
    Done,
    /// At a barrier, or where it needs others.
    Waits,
    /// It looks again and again for what others do.
    Polls,
    /// Its turn is over.
    Slice,
    /// Something ends the launch.
    Stopped,
}

/// A lane that polls so often lets others go on.
const MOST_POLLS: u32 = 64;

impl Machine<'_> {
    /// Runs a part of a warp for at most `slice` instructions.
    pub fn run(&mut self, shared: &mut Shared, warp: &mut Warp, split: &mut Split, slice: u64) -> Pause {
        #[cfg(target_arch = "x86_64")]
        if is_wide() {
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn wide(m: &mut Machine, shared: &mut Shared, warp: &mut Warp, split: &mut Split, slice: u64) -> Pause {
                m.go(shared, warp, split, slice)
            }
            // SAFETY: the processor has what it asks for.
            return unsafe { wide(self, shared, warp, split, slice) };
        }
        self.go(shared, warp, split, slice)
    }

    #[inline(always)]
    fn go(&mut self, shared: &mut Shared, warp: &mut Warp, split: &mut Split, slice: u64) -> Pause {
        let code = self.code;
        let end = self.steps + slice;
        loop {
            let Some(&Entry { mask, pc, meet, .. }) = split.stack.last() else { return Pause::Done };
            if pc == meet || mask == 0 {
                split.stack.pop();
                continue;
            }
            if self.steps >= end {
                return Pause::Slice;
            }
            let inst = &code.insts[pc as usize];
            let active = inst.guard.map_or(mask, |guard| mask & predicate(warp, guard));
            self.steps += 1;
            if let Some(counters) = &mut self.counters {
                counters.executed(pc, mask, active);
            }
            if let Some(pause) = self.step(shared, warp, split, inst, pc, mask, active) {
                return if self.findings.stopped { Pause::Stopped } else { pause };
            }
            if self.findings.stopped {
                return Pause::Stopped;
            }
        }
    }

    /// One instruction at `pc` for the lanes `active` of those in `mask`; what to wait for.
    #[inline(always)]
    fn step(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        split: &mut Split,
        inst: &Inst,
        pc: u32,
        mask: u32,
        active: u32,
    ) -> Option<Pause> {
        match &inst.op {
            Op::Alu { f, d, a, b, c } => {
                let mut out = [0; LANES];
                let regs = &warp.regs;
                f.run(&mut out, &regs[*a as usize], &regs[*b as usize], &regs[*c as usize]);
                put(&mut warp.regs[*d as usize], &out, active);
            }
            Op::Alu4 { f, d, a, b, c, e } => {
                let [a, b, c, e] = [a, b, c, e].map(|r| &warp.regs[*r as usize]);
                let out = std::array::from_fn(|l| f(a[l], b[l], c[l] as u32, e[l] as u32));
                put(&mut warp.regs[*d as usize], &out, active);
            }
            Op::Carry { f, d, a, b, c, writes } => {
                for lane in lanes(active) {
                    let [a, b, c] = [a, b, c].map(|r| warp.regs[*r as usize][lane]);
                    let (value, carry) = f(a, b, c, warp.carry >> lane & 1 == 1);
                    warp.regs[*d as usize][lane] = value;
                    if *writes {
                        warp.carry = warp.carry & !(1 << lane) | u32::from(carry) << lane;
                    }
                }
            }
            Op::Test { f, a, b, p, q, with } => {
                let found = f.run(&warp.regs[*a as usize], &warp.regs[*b as usize]);
                let (yes, no) = match with {
                    Some((logic, other)) => {
                        let other = predicate(warp, *other);
                        (logic.of(found, other), logic.of(!found, other))
                    }
                    None => (found, !found),
                };
                for (p, value) in [(p, yes), (q, no)] {
                    if let Some(p) = p {
                        put_mask(&mut warp.preds[*p as usize], value, active);
                    }
                }
            }
            Op::Set { f, d, a, b, yes, with } => {
                let mut found = f.run(&warp.regs[*a as usize], &warp.regs[*b as usize]);
                if let Some((logic, other)) = with {
                    found = logic.of(found, predicate(warp, *other));
                }
                let out = std::array::from_fn(|l| if found >> l & 1 == 1 { *yes } else { 0 });
                put(&mut warp.regs[*d as usize], &out, active);
            }
            Op::Select { d, a, b, p } => {
                let p = predicate(warp, *p);
                let (a, b) = (&warp.regs[*a as usize], &warp.regs[*b as usize]);
                let out = std::array::from_fn(|l| if p >> l & 1 == 1 { a[l] } else { b[l] });
                put(&mut warp.regs[*d as usize], &out, active);
            }
            Op::Logic { f, d, a, b } => {
                let value = f.of(predicate(warp, *a), predicate(warp, *b));
                put_mask(&mut warp.preds[*d as usize], value, active);
            }
            Op::Pack { d, parts, bits } => {
                let keep = u64::MAX >> (64 - bits);
                let mut out = [0; LANES];
                for (n, part) in parts.iter().enumerate() {
                    let part = &warp.regs[*part as usize];
                    for l in 0..LANES {
                        out[l] |= (part[l] & keep) << (n as u32 * bits);
                    }
                }
                put(&mut warp.regs[*d as usize], &out, active);
            }
            Op::Unpack { a, parts, bits } => {
                let keep = u64::MAX >> (64 - bits);
                let whole = warp.regs[*a as usize];
                for (n, part) in parts.iter().enumerate() {
                    let Some(part) = part else { continue };
                    let out = std::array::from_fn(|l| whole[l] >> (n as u32 * bits) & keep);
                    put(&mut warp.regs[*part as usize], &out, active);
                }
            }
            Op::Clock { d } => {
                let now = [self.steps; LANES];
                put(&mut warp.regs[*d as usize], &now, active);
            }
            Op::ActiveMask { d } => {
                let now = [u64::from(active); LANES];
                put(&mut warp.regs[*d as usize], &now, active);
            }
            Op::Load(access) => {
                self.load(shared, warp, split, access, pc, active);
                return self.after_memory(warp, split, pc);
            }
            Op::Store(access) => {
                self.store(shared, warp, split, access, pc, active);
                return self.after_memory(warp, split, pc);
            }
            Op::Atomic(atomic) => {
                self.atomic(shared, warp, split, atomic, pc, active);
                return self.after_memory(warp, split, pc);
            }
            Op::Branch { target, .. } => {
                self.branch(warp, split, inst, &[(active, *target), (mask & !active, pc + 1)]);
                return None;
            }
            Op::Switch { index, targets } => {
                self.switch(warp, split, inst, *index, targets, pc, (mask, active));
                return None;
            }
            Op::Call(call) => {
                self.call(warp, split, call, pc, active);
                return None;
            }
            Op::CallPointer(call) => {
                self.call_pointer(warp, split, call, pc, active);
                return None;
            }
            Op::Return => {
                advance(split, pc);
                let call = split.remove(active, false);
                if call == KERNEL {
                    self.left(shared, warp, active);
                } else {
                    self.returned(warp, call, active);
                }
                return None;
            }
            Op::Exit => {
                advance(split, pc);
                split.remove(active, true);
                self.left(shared, warp, active);
                return None;
            }
            Op::Trap => {
                if active != 0 {
                    self.findings.add(What::Trap, pc, warp.thread(active.trailing_zeros()));
                }
            }
            Op::Assert(at) => {
                if active != 0 {
                    let message = print::text(self, warp, at[0] as u32, active.trailing_zeros() as usize);
                    self.findings.add(What::Assert(message), pc, warp.thread(active.trailing_zeros()));
                }
            }
            Op::Degenerate(at) => {
                if active != 0 {
                    let why = print::text(self, warp, at[0], active.trailing_zeros() as usize);
                    self.findings.add(What::Degenerate(why), pc, warp.thread(active.trailing_zeros()));
                }
            }
            Op::SetCondition(at) => {
                // Of several threads the last one counts.
                for lane in lanes(active) {
                    let given = |at: u32, bytes: u32| print::parameter(self, warp, at, bytes, lane);
                    let (condition, value) = (given(at[0], 8), given(at[1], 4) as u32);
                    self.conditions.insert(condition, value);
                }
            }
            Op::Visit => {
                if active != 0 {
                    self.findings.add(What::Visit, pc, warp.thread(active.trailing_zeros()));
                }
            }
            Op::NoComponent(at) => {
                if active != 0 {
                    let lane = active.trailing_zeros();
                    let name = print::text(self, warp, at[0], lane as usize);
                    let given = |at: u32, bytes: u32| print::parameter(self, warp, at, bytes, lane as usize);
                    let (index, count) = (given(at[1], 8) as i64, given(at[2], 4) as u32);
                    self.findings.add(What::NoComponent { name, index, count }, pc, warp.thread(lane));
                }
            }
            Op::NoElement(at) => {
                if active != 0 {
                    let lane = active.trailing_zeros();
                    let name = print::text(self, warp, at[0], lane as usize);
                    let given = |at: u32, bytes: u32| print::parameter(self, warp, at, bytes, lane as usize);
                    let (dim, index, extent) = (given(at[1], 4) as u32, given(at[2], 8) as i64, given(at[3], 4) as u32);
                    self.findings.add(What::NoElement { name, dim, index, extent }, pc, warp.thread(lane));
                }
            }
            Op::Print(print) => print::print(self, warp, print, active),
            Op::Allocate(at) => self.allocate(warp, **at, active),
            Op::Release(at) => self.give_back(warp, at[0], pc, active),
            Op::CopyAsync(copy) => self.copy_async(shared, warp, copy, pc, active),
            Op::CommitCopies => self.commit_copies(warp, active),
            Op::WaitForCopies { left } => self.wait_for_copies(shared, warp, *left, active),
            Op::LoadMatrix(load) => {
                if let Some(pause) = self.load_matrix(shared, warp, load, pc, active) {
                    return Some(pause);
                }
            }
            Op::StoreMatrix(store) => {
                if let Some(pause) = self.store_matrix(shared, warp, store, pc, active) {
                    return Some(pause);
                }
            }
            Op::Mbarrier(m) => {
                let polls = self.mbarrier(shared, warp, split, m, pc, active);
                advance(split, pc);
                if !polls && split.polls <= MOST_POLLS {
                    return None;
                }
                split.polls = 0;
                self.part_top(warp, split);
                return Some(Pause::Polls);
            }
            Op::Bulk(bulk) => self.bulk(shared, warp, bulk, pc, active),
            Op::Send(send) => self.send(shared, warp, send, pc, active),
            Op::CommitBulk => self.commit_bulk(warp, active),
            Op::WaitForBulk { left } => self.wait_for_bulk(shared, warp, *left, active),
            Op::Texture(fetch) => self.texture(shared, warp, fetch, pc, active),
            Op::Surface(access) => self.surface(shared, warp, access, pc, active),
            Op::TensorMap(change) => self.change_map(shared, warp, change, pc, active),
            Op::CopyTensorMap { to, to_offset, from, from_offset } => {
                if active != 0 {
                    let lane = active.trailing_zeros() as usize;
                    let at = |reg: &Reg, offset: &i64| warp.regs[*reg as usize][lane].wrapping_add(*offset as u64);
                    let (to, from) = (at(to, to_offset), at(from, from_offset));
                    self.copy_map(shared, warp, to, from, lane, pc);
                }
            }
            Op::Warpgroup(product) => {
                if let Some(pause) = self.multiply_warpgroup(shared, warp, product, pc, active) {
                    return Some(pause);
                }
            }
            Op::CommitProducts => self.commit_products(warp),
            Op::WaitForProducts { left } => self.wait_for_products(shared, warp, *left),
            Op::MultiplyMatrices(matrix) => {
                if let Some(pause) = self.multiply_matrices(warp, matrix, pc, active) {
                    return Some(pause);
                }
            }
            Op::Fence { .. } => {
                if active != 0 && self.intervals.is_some() {
                    warp.fenced();
                }
            }
            Op::Nothing => {}
            Op::BlockBarrier(barrier) => return self.barrier(shared, warp, split, barrier, pc, active),
            Op::ClusterArrive { releases, aligned } => {
                match self.together(warp, split, pc, active, *aligned, State::Ready) {
                    Ok(all) => self.arrive(shared, warp, all, *releases, pc),
                    Err(pause) => return Some(pause),
                }
            }
            Op::ClusterWait { acquires, aligned } => {
                return match self.together(warp, split, pc, active, *aligned, State::Cluster) {
                    Ok(all) => self.wait_for_cluster(shared, warp, split, all, *acquires, pc),
                    Err(pause) => Some(pause),
                };
            }
            Op::WarpBarrier { .. }
            | Op::Shuffle(_)
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
            | Op::Elect { .. } => {
                if active != 0 {
                    match self.exchange(warp, split, &inst.op, pc, active) {
                        None => {}
                        Some(pause) => return Some(pause),
                    }
                }
            }
        }
        advance(split, pc);
        None
    }

    /// After an access: who polls in vain lets others go on.
    fn after_memory(&mut self, warp: &mut Warp, split: &mut Split, pc: u32) -> Option<Pause> {
        advance(split, pc);
        if split.polls <= MOST_POLLS {
            return None;
        }
        split.polls = 0;
        self.part_top(warp, split);
        Some(Pause::Polls)
    }

    /// The side that runs and those that wait for it go their own ways from now on.
    pub fn part_top(&mut self, warp: &mut Warp, split: &mut Split) {
        if let Some(top) = split.top()
            && top.mask != split.mask
        {
            let mut others = split.clone();
            *split = others.part(top.mask);
            others.state = State::Ready;
            warp.splits.push(others);
        }
    }

    fn left(&mut self, shared: &mut Shared, warp: &mut Warp, lanes: u32) {
        self.end_bulk(shared, warp, lanes);
        shared.left(warp, lanes);
        // Lanes at a barrier of the warp may have waited for these alone.
        for split in &mut warp.splits {
            if let State::Meeting(pc) = split.state
                && matches!(self.code.insts[pc as usize].op, Op::WarpBarrier { .. })
            {
                split.state = State::Ready;
            }
        }
    }

    /// Goes on at the targets of a branch; a side with nobody on it is left out.
    fn branch(&mut self, warp: &mut Warp, split: &mut Split, inst: &Inst, sides: &[(u32, u32)]) {
        let Some(top) = split.stack.last_mut() else { return };
        let mut taken = sides.iter().filter(|(lanes, _)| *lanes != 0);
        if let (Some(&(_, target)), None) = (taken.next(), taken.next()) {
            top.pc = target;
            return;
        }
        let mut ways: Vec<(u32, u32)> = Vec::new();
        for &(lanes, target) in sides.iter().filter(|(lanes, _)| *lanes != 0) {
            match ways.iter_mut().find(|(_, known)| *known == target) {
                Some((all, _)) => *all |= lanes,
                None => ways.push((lanes, target)),
            }
        }
        if let [(_, target)] = ways.as_slice() {
            top.pc = *target;
            return;
        }
        if let Some(counters) = &mut self.counters {
            counters.divergent(top.pc);
        }
        let meet = inst.meet;
        let is_side = top.call == NOWHERE;
        top.pc = meet;
        // The entry below waits at the same place already; and whoever meets nowhere is not waited
        // for.
        if is_side && (meet == top.meet || meet == NOWHERE) {
            split.stack.pop();
        }
        let chance = self.chance.as_mut();
        let reversed = chance.is_some_and(|chance| chance.below(2) == 1);
        if !reversed {
            // The last one runs first: where code goes on, or leaves.
            ways.sort_by_key(|(_, target)| leaves(&self.code.insts[*target as usize]));
        }
        for (lanes, target) in ways {
            if target != meet {
                split.stack.push(Entry { mask: lanes, pc: target, meet, call: NOWHERE });
            }
        }
        if self.chance.as_mut().is_some_and(|chance| chance.below(8) == 0) {
            self.part_top(warp, split);
        }
    }

    fn switch(
        &mut self,
        warp: &mut Warp,
        split: &mut Split,
        inst: &Inst,
        index: Reg,
        targets: &[u32],
        pc: u32,
        (mask, active): (u32, u32),
    ) {
        let mut sides = vec![(mask & !active, pc + 1)];
        for lane in lanes(active) {
            let index = warp.regs[index as usize][lane] as u32 as usize;
            match targets.get(index) {
                Some(&target) => sides.push((1 << lane, target)),
                // Beyond the list anything may happen.
                None => {
                    self.findings.add(What::Trap, pc, warp.thread(lane as u32));
                    return;
                }
            }
        }
        self.branch(warp, split, inst, &sides);
    }
}

/// The lanes of a mask.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

#[inline]
pub fn predicate(warp: &Warp, p: PredIn) -> u32 {
    let value = warp.preds[p.pred as usize];
    if p.negated { !value } else { value }
}

/// Replaces the values of some lanes.
#[inline(always)]
pub fn put(to: &mut Lanes, from: &Lanes, mask: u32) {
    if mask == u32::MAX {
        *to = *from;
        return;
    }
    // Without a branch a lane, so that several go at once.
    for l in 0..LANES {
        let keep = u64::from(mask >> l & 1).wrapping_sub(1);
        to[l] = to[l] & keep | from[l] & !keep;
    }
}

pub fn put_mask(to: &mut u32, from: u32, mask: u32) {
    *to = *to & !mask | from & mask;
}

/// Goes on with the next instruction.
pub fn advance(split: &mut Split, pc: u32) {
    if let Some(top) = split.stack.last_mut() {
        top.pc = pc + 1;
    }
}
