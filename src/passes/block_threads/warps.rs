//! What do the threads of a warp tell each other without memory?
//!
//! Where a block's threads have values of their own, the code goes through them in loops, and what
//! one tells the others is in a tile with an element for each
//! ([`thread_loops`](crate::passes::thread_loops)). Where a loop over all threads reads an element
//! of a thread that is surely of the same warp, it can ask that thread: the element is then read by
//! the thread that has it, and the value passed on ([`Op::Exchange`]). So are the elements of a
//! warp that are looked at one after the other for which of them something holds, and sums into
//! elements of the warp, as adjoints of shuffles are: each thread takes what is meant for it, in
//! the order of the threads, so sums have the same bits.
//!
//! This asks that all threads of the warp are there, in the same iteration: the loop is dealt out,
//! one iteration for each thread of the block, and what is asked is in no branch. Where the loop is
//! for one thread, it stays as it was.
//!
//! | file | question |
//! |---|---|
//! | `places` | is an index that of a thread of the same warp, and of which one? |

mod places;

use self::places::{Places, Source};
use super::accesses::{Kind, Memory, all_touches, touches};
use super::plan::{Plan, plan};
use super::tensor::Tensor;
use crate::analysis::effects::EffectTable;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::{
    Access, Ask, BinaryOp, BlockId, CompareOp, Exchange, Function, Inst, InstId, Op, Step, ValueId, Values, arrays,
    effects, jumps, values,
};
use crate::passes::loops::trips;
use crate::passes::pipelines;
use crate::passes::rebuild::replace_each;
use crate::types::{BOOL, I32, Scalar, StructTable, Type};

/// What is done instead of an instruction.
enum Told {
    /// A load: the element's own thread loads it and tells it.
    Load { access: Access, source: Source },
    /// A loop over the threads of the warp, which gives those in which something holds.
    Votes { array: ValueId, ask: Ask },
    /// A store of an element and what is added to it.
    Add { access: Access, value: ValueId, source: Source },
}

/// A loop over the threads of the block.
struct ThreadLoop {
    inst: InstId,
    body: BlockId,
    variable: ValueId,
    /// From the last thread to the first.
    down: bool,
}

/// Lets threads of a warp ask each other, and gives the plans of what comes of that.
pub(super) fn ask(
    function: &mut Function,
    structs: &StructTable,
    effects: &EffectTable,
    tensor: Tensor,
    threads: u32,
) -> IdMap<InstId, Plan> {
    // Loops that turn out to be for one thread.
    let mut left: IdSet<InstId> = IdSet::default();
    loop {
        let mut asking = function.clone();
        let loops = rewrite(&mut asking, effects, threads, &left);
        pipelines::clean(&mut asking, structs, effects);
        let plans = plan(&asking, effects, tensor);
        let dealt = |id: &InstId| match plans.get(id) {
            Some(Plan::Deal(nest)) => nest.loops.len() == 1 && nest.total() == Some(threads.into()),
            _ => false,
        };
        let alone: Vec<InstId> = loops.into_iter().filter(|id| !dealt(id)).collect();
        if alone.is_empty() {
            *function = asking;
            return plans;
        }
        left.extend(alone);
    }
}

/// Returns the loops in which something is asked.
fn rewrite(function: &mut Function, effects: &EffectTable, threads: u32, left: &IdSet<InstId>) -> Vec<InstId> {
    let all = thread_loops(function, threads);
    let (ranges, uses) = (Ranges::of(function), crate::analysis::uses(function));
    let mut found: IdMap<InstId, (Told, ValueId, bool)> = IdMap::default();
    let mut loops = Vec::new();
    for around in all.iter().filter(|around| !left.contains(&around.inst)) {
        let places = Places::new(function, &ranges, around, threads, &all);
        let before = found.len();
        for (id, told) in told(function, effects, &places, around, &uses) {
            found.insert(id, (told, around.variable, around.down));
        }
        if found.len() > before {
            loops.push(around.inst);
        }
    }
    replace_each(function, found, |b, id, (told, thread, down)| emit(b, id, told, Asking { thread, threads, down }));
    loops
}

/// The loops over all threads of the block that carry nothing.
pub(super) fn loops_over_threads(function: &Function, threads: u32) -> impl Iterator<Item = InstId> {
    thread_loops(function, threads).into_iter().map(|around| around.inst)
}

fn thread_loops(function: &Function, threads: u32) -> Vec<ThreadLoop> {
    let mut found = Vec::new();
    let int = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
    function.walk(function.entry, &mut |id, inst| {
        let Op::For { start, end, step, ref init, body } = inst.op else { return };
        let down = match (int(start), int(step)) {
            (Some(0), Some(1)) => false,
            (Some(first), Some(-1)) if first == i128::from(threads) - 1 => true,
            _ => return,
        };
        let whole = init.is_empty() && trips(function, start, end, step) == Some(threads.into());
        if let Some(&variable) = function.blocks[body].params.first().filter(|&&v| whole && function.ty(v) == I32) {
            found.push(ThreadLoop { inst: id, body, variable, down });
        }
    });
    found
}

/// What a loop over threads can ask.
fn told(
    function: &Function,
    effects: &EffectTable,
    places: &Places<'_>,
    around: &ThreadLoop,
    uses: &IdVec<ValueId, u32>,
) -> Vec<(InstId, Told)> {
    let touched = all_touches(function, effects, around.body);
    let of = |array: ValueId| touched.iter().filter(move |t| t.memory == Memory::Block(array));
    let is_read_only = |array: ValueId| of(array).all(|touch| touch.kind == Kind::Read);
    let mut found = Vec::new();
    for &id in &function.blocks[around.body].insts {
        match &function.insts[id].op {
            Op::Load(access) if is_read_only(access.array) => {
                if let Some(source) = source(function, places, id, access) {
                    found.push((id, Told::Load { access: access.clone(), source }));
                }
            }
            Op::Store { access, value } => {
                let Some(Inst { op: Op::Binary(BinaryOp::Add, a, b), .. }) = function.def(*value) else { continue };
                let loads = |v: ValueId| matches!(function.op(v), Some(Op::Load(from)) if from == access);
                // Read once and set once, at this place.
                let alone = of(access.array).count() == 2 && access.path.is_empty();
                let added = match (loads(*a), loads(*b)) {
                    (true, false) => *b,
                    (false, true) => *a,
                    _ => continue,
                };
                let old = if added == *b { *a } else { *b };
                let used_once = uses[old] == 1 && uses[*value] == 1;
                let here = |v: ValueId| {
                    function.blocks[around.body].insts.iter().any(|&id| function.insts[id].results.contains(&v))
                };
                if !alone || !used_once || !here(old) {
                    continue;
                }
                if let Some(source) = source(function, places, id, access) {
                    found.push((id, Told::Add { access: access.clone(), value: added, source }));
                }
            }
            Op::For { .. } => {
                if let Some((array, ask)) = votes(function, effects, places, around, id)
                    && is_read_only(array)
                {
                    found.push((id, Told::Votes { array, ask }));
                }
            }
            values!()
            | Op::Call(..)
            | arrays!()
            | Op::Load(_)
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | effects!()
            | Op::If { .. }
            | Op::While { .. }
            | jumps!() => {}
        }
    }
    found
}

/// Whom a thread asks for an element of a tile that has one for each thread. None: it has it
/// itself, or that is not known.
fn source(function: &Function, places: &Places<'_>, at: InstId, access: &Access) -> Option<Source> {
    let fits = is_of_threads(function, access.array, places.threads);
    let fixed = access.path.iter().all(|step| matches!(step, Step::At(_)));
    let &[index] = &access.indices[..] else { return None };
    (fits && fixed && index != places.thread).then(|| places.source(at, index)).flatten()
}

/// Whether an array is a tile with an element for each thread.
fn is_of_threads(function: &Function, array: ValueId, threads: u32) -> bool {
    let made = function.def(array).is_some_and(|inst| matches!(inst.op, Op::LocalArray));
    made && matches!(function.ty(array), Type::Local(ty) if ty.block && ty.ndim == 1 && ty.shape[0] == threads)
}

/// Whether a loop looks at the elements of the warp one after the other and sets the bits of those
/// for which something holds.
fn votes(
    function: &Function,
    effects: &EffectTable,
    places: &Places<'_>,
    around: &ThreadLoop,
    id: InstId,
) -> Option<(ValueId, Ask)> {
    let Op::For { start, end, step, ref init, body } = function.insts[id].op else { return None };
    let op = |v: ValueId| function.op(v);
    let int = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
    let (&[k, so_far], &[zero]) = (&function.blocks[body].params[..], &init[..]) else { return None };
    let warp = Exchange::WARP.min(places.threads);
    let counts = int(start) == Some(0) && int(step) == Some(1) && int(end) == Some(warp.into());
    if !counts || int(zero) != Some(0) || function.ty(so_far) != Type::Scalar(Scalar::U32) {
        return None;
    }
    let mut read = Vec::new();
    function.walk(body, &mut |id, _| touches(function, effects, id, &mut read));
    let [read] = &read[..] else { return None };
    let yielded = |block: BlockId| if let [value] = function.yielded(block)[..] { Some(value) } else { None };
    // Both ways of saying `c ? a : b`.
    let choice = |v: ValueId| {
        if let Op::Select { condition, then, otherwise } = *op(v)? {
            Some((condition, then, otherwise))
        } else if let Op::If { condition, then, otherwise } = *op(v)? {
            Some((condition, yielded(then)?, yielded(otherwise)?))
        } else {
            None
        }
    };
    let (condition, set, kept) = choice(yielded(body)?)?;
    let Some(&Op::Binary(BinaryOp::Or, old, bit)) = op(set) else { return None };
    let Some(&Op::Binary(BinaryOp::Shl, one, by)) = op(bit) else { return None };
    let counted = by == k || matches!(op(by), Some(&Op::Cast(from)) if from == k);
    if kept != so_far || old != so_far || int(one) != Some(1) || !counted {
        return None;
    }
    // Whether there is such a thread comes first where the last warp has fewer.
    let (there, holds) = match choice(condition) {
        Some((there, holds, no)) if int(no) == Some(0) => (Some(there), holds),
        Some(_) => return None,
        None => {
            if let Some(&Op::Binary(BinaryOp::And, there, holds)) = op(condition) {
                (Some(there), holds)
            } else {
                (None, condition)
            }
        }
    };
    let Some(&Op::Compare(compare, element, with)) = op(holds) else { return None };
    let Some(Op::Load(access)) = op(element) else { return None };
    let &[index] = &access.indices[..] else { return None };
    let Type::Local(ty) = function.ty(access.array) else { return None };
    let fits = is_of_threads(function, access.array, places.threads) && access.path.is_empty();
    if !fits || read.memory != Memory::Block(access.array) || !places.counts_warp(index, k) {
        return None;
    }
    let is_there = if let Some(&Op::Compare(CompareOp::Lt, thread, count)) = there.and_then(op) {
        places.counts_warp(thread, k) && int(count) == Some(places.threads.into())
    } else {
        there.is_none() && places.threads.is_multiple_of(Exchange::WARP)
    };
    let own = |v: ValueId| {
        let here = function.blocks[around.body].insts.iter().any(|&id| function.insts[id].results.contains(&v));
        here && matches!(op(v), Some(Op::Load(own)) if own.array == access.array && own.path.is_empty() && own.indices[..] == [around.variable])
    };
    let ask = match compare {
        CompareOp::Ne if int(with) == Some(0) => Ask::Ballot,
        CompareOp::Eq if own(with) && Type::from(ty.element).as_scalar().is_some_and(|s| !s.is_float()) => Ask::Match,
        _ => return None,
    };
    is_there.then_some((access.array, ask))
}

/// The caller.
#[derive(Clone, Copy)]
struct Asking {
    thread: ValueId,
    threads: u32,
    /// The threads come from the last to the first.
    down: bool,
}

impl Asking {
    fn exchange(self, b: &mut Builder, ask: Ask, operands: &[ValueId]) -> ValueId {
        let ty = if ask.shuffles() { b.ty(operands[0]) } else { Type::Scalar(Scalar::U32) };
        b.one(Op::Exchange(Exchange { ask, threads: self.threads }, Values::from_slice(operands)), ty)
    }
}

fn emit(b: &mut Builder, id: InstId, told: Told, asking: Asking) {
    b.span = b.function.insts[id].span;
    match told {
        Told::Load { access, source } => {
            let result = b.function.insts[id].results[0];
            let ty = b.ty(result);
            let own = Access { indices: Values::from_slice(&[asking.thread]), ..access };
            let value = b.one(Op::Load(own), ty);
            let by = source.named(b);
            // In the place of the load, with its result.
            let exchange = Exchange { ask: source.ask, threads: asking.threads };
            b.function.insts[id].op = Op::Exchange(exchange, Values::from_slice(&[value, by]));
            b.append(id);
        }
        Told::Votes { array, ask } => {
            let Type::Local(ty) = b.ty(array) else { return b.append(id) };
            let own = Access::element(array, &[asking.thread]);
            let mut value = b.one(Op::Load(own), ty.element.into());
            if ask == Ask::Ballot {
                let zero = b.zero(ty.element.into());
                value = b.compare(CompareOp::Ne, value, zero);
            } else if b.ty(value) == BOOL {
                value = b.cast(value, Scalar::U32);
            }
            let exchange = Exchange { ask, threads: asking.threads };
            b.function.insts[id].op = Op::Exchange(exchange, Values::from_slice(&[value]));
            b.append(id);
        }
        Told::Add { access, value, source } => {
            let own = Access { indices: Values::from_slice(&[asking.thread]), ..access };
            let Type::Local(ty) = b.ty(own.array) else { return b.append(id) };
            let old = b.one(Op::Load(own.clone()), ty.element.into());
            let sum = add(b, old, value, source, asking);
            b.effect(Op::Store { access: own, value: sum });
        }
    }
}

/// What threads have for this one, added in their order.
fn add(b: &mut Builder, old: ValueId, value: ValueId, source: Source, asking: Asking) -> ValueId {
    let Asking { thread, threads, down } = asking;
    let mask = b.int(Scalar::I32, (Exchange::WARP - 1).into());
    let own = b.binary(BinaryOp::And, thread, mask);
    let when = |b: &mut Builder, condition: ValueId, sum: ValueId, value: ValueId| {
        let more = b.binary(BinaryOp::Add, sum, value);
        b.select(condition, more, sum)
    };
    if source.ask == Ask::Xor && source.same {
        let by = source.named(b);
        let other = asking.exchange(b, Ask::Xor, &[value, by]);
        return b.binary(BinaryOp::Add, old, other);
    }
    if matches!(source.ask, Ask::Up | Ask::Down) && source.same && threads.is_multiple_of(Exchange::WARP) {
        let by = source.named(b);
        // That of the one thread that asked this one, and its own where it asked nobody.
        let back = if source.ask == Ask::Up { Ask::Down } else { Ask::Up };
        let other = asking.exchange(b, back, &[value, by]);
        let size = b.int(Scalar::I32, Exchange::WARP.into());
        let far = b.binary(BinaryOp::Sub, size, by);
        let (low, high) = match source.ask {
            Ask::Up => (b.compare(CompareOp::Lt, own, far), b.compare(CompareOp::Lt, own, by)),
            _ => (b.compare(CompareOp::Ge, own, by), b.compare(CompareOp::Ge, own, far)),
        };
        // The later thread comes first in loops downward.
        let other_first = (source.ask == Ask::Up) == down;
        let terms = [(low, other), (high, value)];
        let order = if other_first { [0, 1] } else { [1, 0] };
        return order.into_iter().fold(old, |sum, n| when(b, terms[n].0, sum, terms[n].1));
    }
    // One thread of the warp after the other: what it has, and for whom.
    let wanted = source.number(b);
    let (zero, one) = (b.int(Scalar::I32, 0), b.int(Scalar::I32, 1));
    let minus = b.int(Scalar::I32, -1);
    let size = b.int(Scalar::I32, Exchange::WARP.into());
    let (start, end, step) = if down { (mask, minus, minus) } else { (zero, size, one) };
    let ty = b.ty(old);
    let body = b.new_block(&[I32, ty]);
    let outside = b.switch_to(body);
    let (n, sum) = (b.params(body)[0], b.params(body)[1]);
    let exchange = Exchange { ask: Ask::Shuffle, threads };
    let (mut from, mut there) = (n, None);
    if let Some((first, part)) = exchange.part() {
        let first = b.int(Scalar::I32, first.into());
        let is_last = b.compare(CompareOp::Ge, thread, first);
        let rest = b.int(Scalar::I32, part.count_ones().into());
        let members = b.select(is_last, rest, size);
        let is_there = b.compare(CompareOp::Lt, n, members);
        from = b.select(is_there, n, own);
        there = Some(is_there);
    }
    let given = asking.exchange(b, Ask::Shuffle, &[value, from]);
    let target = asking.exchange(b, Ask::Shuffle, &[wanted, from]);
    let mut mine = b.compare(CompareOp::Eq, target, own);
    if let Some(there) = there {
        mine = b.binary(BinaryOp::And, mine, there);
    }
    let next = when(b, mine, sum, given);
    b.yield_(&[next]);
    b.switch_to(outside);
    b.one(Op::For { start, end, step, init: Values::from_slice(&[old]), body }, ty)
}
