//! What do the lanes of a warp tell each other, and the warps of a block at a barrier?

use super::access::join;
use super::cluster::{Block, Shared};
use super::code::{Barrier, NOWHERE, Op, Result, Shuffle, Vote, Way};
use super::findings::{Thread, What};
use super::machine::{Arrival, BARRIERS, Machine, Pause, advance, lanes, predicate, put, put_mask};
use super::races::Clock;
use super::value::LANES;
use super::warp::{Split, State, Warp};

impl Machine<'_> {
    /// An instruction that names the lanes which take part; what to wait for.
    pub fn exchange(&mut self, warp: &mut Warp, split: &mut Split, op: &Op, pc: u32, active: u32) -> Option<Pause> {
        let members = match op {
            Op::WarpBarrier { members }
            | Op::Match { members, .. }
            | Op::Reduce { members, .. }
            | Op::Elect { members, .. } => Some(*members),
            Op::Shuffle(shuffle) => Some(shuffle.members),
            Op::Vote { members, .. } => *members,
            _ => None,
        };
        let members = match members {
            Some(members) => &warp.regs[members as usize],
            None => &[u64::from(active); LANES],
        };
        // Lanes that name different ones come in groups of their own.
        let mut groups = Vec::new();
        let mut left = active;
        while left != 0 {
            let named = members[left.trailing_zeros() as usize] as u32;
            let group = lanes(left).filter(|&l| members[l] as u32 == named).fold(0, |mask, l| mask | 1 << l);
            groups.push((named, group));
            left &= !group;
        }
        for &(named, group) in &groups {
            if let Some(pause) = self.gathered(warp, split, pc, named, group) {
                return Some(pause);
            }
        }
        for (_, group) in groups {
            match op {
                Op::WarpBarrier { .. } => {
                    warp.epoch += 1;
                    warp.synchronised();
                }
                Op::Shuffle(shuffle) => self.shuffle(warp, shuffle, pc, group),
                Op::Vote { how, d, p, of, .. } => {
                    let yes = predicate(warp, *of) & group;
                    let (all, any) = (yes == group, yes != 0);
                    if let Some(d) = d {
                        put(&mut warp.regs[*d as usize], &[yes.into(); LANES], group);
                    }
                    if let Some(p) = p {
                        let value = match how {
                            Vote::All => all,
                            Vote::Any => any,
                            _ => all || !any,
                        };
                        put_mask(&mut warp.preds[*p as usize], if value { u32::MAX } else { 0 }, group);
                    }
                }
                Op::Match { all, wide, d, p, a, .. } => {
                    let keep = if *wide { u64::MAX } else { u32::MAX.into() };
                    let values = warp.regs[*a as usize].map(|v| v & keep);
                    let same =
                        |lane: usize| lanes(group).filter(|&l| values[l] == values[lane]).fold(0u32, |m, l| m | 1 << l);
                    let mut out = [0; LANES];
                    let mut agree = true;
                    for lane in lanes(group) {
                        let found = same(lane);
                        agree &= found == group;
                        out[lane] = if *all && found != group { 0 } else { found.into() };
                    }
                    put(&mut warp.regs[*d as usize], &out, group);
                    if let Some(p) = p {
                        put_mask(&mut warp.preds[*p as usize], if agree { u32::MAX } else { 0 }, group);
                    }
                }
                Op::Elect { d, p, .. } => {
                    let first = group.trailing_zeros();
                    put(&mut warp.regs[*d as usize], &[first.into(); LANES], group);
                    put_mask(&mut warp.preds[*p as usize], 1u32.checked_shl(first).unwrap_or(0), group);
                }
                Op::Reduce { f, d, a, .. } => {
                    let values = warp.regs[*a as usize];
                    let mut sum = None;
                    for lane in lanes(group) {
                        sum = Some(match sum {
                            None => values[lane],
                            Some(sum) => {
                                let mut out = [0; LANES];
                                f.run(&mut out, &[sum; LANES], &[values[lane]; LANES], &[0; LANES]);
                                out[0]
                            }
                        });
                    }
                    put(&mut warp.regs[*d as usize], &[sum.unwrap_or(0); LANES], group);
                }
                _ => {}
            }
        }
        None
    }

    /// Whether all lanes that `group` names are here; else what to wait for.
    fn gathered(&mut self, warp: &mut Warp, split: &mut Split, pc: u32, named: u32, group: u32) -> Option<Pause> {
        let first = group.trailing_zeros();
        if group & !named != 0 {
            let lane = (group & !named).trailing_zeros();
            self.findings.add(What::Unnamed(lane), pc, warp.thread(lane));
            return Some(Pause::Stopped);
        }
        // Lanes that the block never had are named as a matter of course: a full mask in a block of
        // 10 threads.
        let mut missing = named & !group & warp.begun;
        if matches!(self.code.insts[pc as usize].op, Op::WarpBarrier { .. }) {
            // The barrier does not wait for lanes that have left the kernel (CUDA C++ Programming
            // Guide, "__syncwarp": all threads that have not exited). Lanes that wait behind the
            // branch go on first: they arrive or leave.
            missing &= warp.live;
            if missing & split.mask != 0 && split.top().is_some_and(|top| missing & top.mask == 0) {
                self.part_top(warp, split);
            }
        }
        if missing == 0 {
            return None;
        }
        // They may come yet, on another way.
        if missing & warp.live & !split.mask == missing {
            split.state = State::Meeting(pc);
            return Some(Pause::Waits);
        }
        let left = missing & warp.live == 0;
        self.findings.add(What::MissingLanes { missing, left }, pc, warp.thread(first));
        Some(Pause::Stopped)
    }

    fn shuffle(&mut self, warp: &mut Warp, s: &Shuffle, pc: u32, group: u32) {
        let (values, distance, clamp) =
            (warp.regs[s.a as usize], warp.regs[s.distance as usize], warp.regs[s.clamp as usize]);
        let (mut out, mut inside) = ([0; LANES], 0u32);
        for lane in lanes(group) {
            let (by, bound, segment) =
                (distance[lane] as i32 & 31, clamp[lane] as i32 & 31, clamp[lane] as i32 >> 8 & 31);
            let l = lane as i32;
            let last = l & segment | bound & !segment;
            let (source, fits) = match s.way {
                Way::Up => (l - by, l - by >= last),
                Way::Down => (l + by, l + by <= last),
                Way::Butterfly => (l ^ by, l ^ by <= last),
                Way::Index => {
                    let source = l & segment | by & !segment;
                    (source, source <= last)
                }
            };
            let source = if fits { source } else { l };
            // A lane that does not take part has nothing to give.
            if fits && group >> source & 1 == 0 {
                let missing = 1 << source;
                let left = missing & warp.live == 0;
                self.findings.add(What::MissingLanes { missing, left }, pc, warp.thread(lane as u32));
                return;
            }
            out[lane] = values[source as usize] & 0xffff_ffff;
            inside |= u32::from(fits) << lane;
        }
        put(&mut warp.regs[s.d as usize], &out, group);
        if let Some(p) = s.p {
            put_mask(&mut warp.preds[p as usize], inside, group);
        }
    }

    /// The lanes at an instruction that, if `aligned`, the whole warp takes part in: with those
    /// that parted before and wait here, which go on as `after`. Else what to wait for.
    pub fn together(
        &mut self,
        warp: &mut Warp,
        split: &mut Split,
        pc: u32,
        active: u32,
        aligned: bool,
        after: State,
    ) -> std::result::Result<u32, Pause> {
        let mut all = active;
        let elsewhere = warp.live & !active;
        if active != 0 && aligned && elsewhere != 0 {
            if split.top().is_some_and(|top| top.mask != active) {
                self.findings.add(What::DivergentBarrier(active), pc, warp.thread(active.trailing_zeros()));
                return Err(Pause::Stopped);
            }
            // Lanes that parted before may come yet. Those that leave the kernel instead are
            // missed: see `stuck`.
            let here = |split: &Split| split.state == State::Meeting(pc);
            let met = warp.splits.iter().filter(|split| here(split)).fold(0, |met, split| met | split.mask);
            if elsewhere & !met != 0 {
                self.part_top(warp, split);
                split.state = State::Meeting(pc);
                return Err(Pause::Waits);
            }
            for other in warp.splits.iter_mut().filter(|split| here(split)) {
                advance(other, pc);
                other.state = after;
            }
            all |= elsewhere;
        }
        if active != 0 && split.top().is_some_and(|top| top.mask != split.mask) {
            self.part_top(warp, split);
        }
        Ok(all)
    }

    /// Comes to a barrier of the block.
    pub fn barrier(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        split: &mut Split,
        barrier: &Barrier,
        pc: u32,
        active: u32,
    ) -> Option<Pause> {
        if active == 0 {
            advance(split, pc);
            return None;
        }
        let first = active.trailing_zeros();
        let number = warp.regs[barrier.number as usize][first as usize] as u32 as u64;
        let count = barrier.count.map(|count| warp.regs[count as usize][first as usize] as u32);
        let bad = |what: u64| What::BadBarrier(what);
        if number >= BARRIERS as u64 {
            self.findings.add(bad(number), pc, warp.thread(first));
            return Some(Pause::Stopped);
        }
        if let Some(count) = count.filter(|count| *count == 0 || !count.is_multiple_of(LANES as u32)) {
            self.findings.add(bad(count.into()), pc, warp.thread(first));
            return Some(Pause::Stopped);
        }
        let waits = !barrier.arrives;
        let after = if waits { State::Barrier(number as usize) } else { State::Ready };
        let active = match self.together(warp, split, pc, active, barrier.aligned, after) {
            Ok(all) => all,
            Err(pause) => return Some(pause),
        };
        advance(split, pc);
        let at = &mut shared.blocks[warp.rank as usize].barriers[number as usize];
        let votes = barrier.vote.map_or(0, |(_, p, _)| predicate(warp, p) & active);
        let result = barrier.vote.map(|(vote, _, result)| (vote, result));
        let done = (self.intervals.is_some() && self.code.has_partial_barriers).then(|| warp.clock());
        at.arrived.push(Arrival { warp: warp.number, lanes: active, votes, waits, done, result });
        at.count = count;
        at.pc = pc;
        split.state = after;
        waits.then_some(Pause::Waits)
    }

    /// Lets the threads of barriers go on where all have come; whether some do.
    pub fn open_barriers(&mut self, shared: &mut Shared, warps: &mut [Warp]) -> bool {
        let mut opened = self.open_meeting(shared, warps);
        for (block, warps) in shared.blocks.iter_mut().zip(warps.chunks_mut(self.warps.max(1) as usize)) {
            opened |= self.open_barriers_of(block, warps);
        }
        opened
    }

    fn open_barriers_of(&mut self, block: &mut Block, warps: &mut [Warp]) -> bool {
        let mut opened = false;
        for number in 0..block.barriers.len() {
            let at = &block.barriers[number];
            if at.arrived.is_empty() {
                continue;
            }
            let threads: u32 = at.arrived.iter().map(|a| a.lanes.count_ones()).sum();
            let done = match at.count {
                // Barriers with a count take whole warps.
                Some(count) => at.arrived.len() as u32 * LANES as u32 >= count,
                None => threads >= block.live,
            };
            if !done {
                continue;
            }
            opened = true;
            let mut arrived = std::mem::take(&mut block.barriers[number].arrived);
            let votes: u32 = arrived.iter().map(|a| a.votes.count_ones()).sum();
            for arrival in &arrived {
                let Some(warp) = warps.get_mut(arrival.warp as usize) else { continue };
                match arrival.result {
                    Some((Vote::Count, Result::Register(d))) => {
                        put(&mut warp.regs[d as usize], &[votes.into(); LANES], arrival.lanes);
                    }
                    Some((vote, Result::Predicate(p))) => {
                        let yes = if vote == Vote::All { votes == threads } else { votes > 0 };
                        put_mask(&mut warp.preds[p as usize], if yes { u32::MAX } else { 0 }, arrival.lanes);
                    }
                    _ => {}
                }
                for split in &mut warp.splits {
                    if split.state == State::Barrier(number) {
                        split.state = State::Ready;
                    }
                }
            }
            if threads == block.live && arrived.iter().all(|a| a.waits) {
                self.ordered(block, warps);
            } else {
                partly_ordered(&arrived, warps);
            }
            // The next to come find its room.
            arrived.clear();
            let at = &mut block.barriers[number];
            (at.arrived, at.count) = (arrived, None);
        }
        opened
    }

    /// The threads of a block know what all did before.
    fn ordered(&mut self, block: &mut Block, warps: &mut [Warp]) {
        block.epoch += 1;
        warps.iter_mut().for_each(Warp::synchronised);
        if self.intervals.is_none() || !self.orders_blocks {
            return;
        }
        let mut clock = std::rc::Rc::default();
        for warp in warps.iter() {
            join(&mut clock, &warp.known);
        }
        std::rc::Rc::make_mut(&mut clock).extend(warps.iter().map(|warp| (warp.id, warp.time)));
        // A fence of each thread, the barrier, and an atomic of one: what all fenced is known to
        // who sees the atomic.
        let mut fenced: Option<Clock> = None;
        for released in warps.iter().filter_map(|warp| warp.released.as_ref()) {
            join(fenced.get_or_insert_default(), released);
        }
        for warp in warps.iter_mut() {
            warp.known = clock.clone();
            warp.released.clone_from(&fenced);
        }
    }

    /// A thread of the launch by its block, warp and lane.
    pub fn thread_of(&self, like: &Warp, block: u32, id: u32, lane: u32) -> Thread {
        let n = id % self.warps * LANES as u32 + lane;
        let ([gx, gy, _], [x, y, _]) = (self.grid, like.ntid);
        Thread { block: [block % gx, block / gx % gy, block / (gx * gy)], thread: [n % x, n / x % y, n / (x * y)] }
    }
}

/// Those who wait know what all did before they came.
fn partly_ordered(arrived: &[Arrival], warps: &mut [Warp]) {
    for waiting in arrived.iter().filter(|a| a.waits) {
        let Some(warp) = warps.get_mut(waiting.warp as usize) else { continue };
        arrived.iter().filter_map(|other| other.done.as_ref()).for_each(|done| join(&mut warp.known, done));
        warp.epoch += 1;
        warp.synchronised();
    }
}

/// Whether splits at the same place can go on as one: joins those that can.
pub fn meet(warp: &mut Warp) -> bool {
    let mut joined = false;
    let mut n = 0;
    while n < warp.splits.len() {
        let mut k = n + 1;
        while k < warp.splits.len() {
            let (before, after) = warp.splits.split_at_mut(k);
            let (one, other) = (&mut before[n], &after[0]);
            let same_place = matches!((one.state, other.state), (State::Meeting(a), State::Meeting(b)) if a == b);
            if same_place && one.fits(other) {
                one.join(other);
                one.state = State::Ready;
                warp.splits.remove(k);
                joined = true;
                // Others may fit too.
                warp.splits[n].state = State::Meeting(warp.splits[n].top().map_or(NOWHERE, |top| top.pc));
            } else {
                k += 1;
            }
        }
        n += 1;
    }
    if joined {
        for split in &mut warp.splits {
            if matches!(split.state, State::Meeting(_)) {
                split.state = State::Ready;
            }
        }
    }
    joined
}
