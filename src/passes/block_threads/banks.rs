//! In which banks of shared memory do the threads of a warp meet, and how long rows of a tile would
//! keep them apart? The indices of each access are computed for the threads of a warp, in the first
//! turn of the loops around: what all threads add to an address moves all of them alike.
//!
//! 32 banks have 4 bytes each at a time. Threads that read different words of one bank wait for
//! each other; accesses of 8 and 16 bytes go by halves and quarters of a warp.

use std::collections::BTreeMap;

use super::chunks::registers_by;
use super::distribute::Share;
use crate::ids::IdMap;
use crate::ir::{Access, BinaryOp, BlockId, CompareOp, Function, InstId, Op, UnaryOp, ValueDef, ValueId, Values};
use crate::passes::loops::trips;
use crate::types::{Scalar, Type};

pub(super) const LANES: usize = 32;
const BANKS: i64 = 32;

/// A block is taken to have so many threads, where it may have any number.
const USUAL_THREADS: i64 = 256;

/// The turns that a loop is taken to have where their number is not known, and the most that count.
const UNKNOWN_TURNS: u64 = 8;
const MOST_TURNS: u64 = 1 << 12;

/// A loop that only reads tiles, this small, is done in so many turns at once by the back end.
const UNROLLED_SIZE: usize = 48;
const TURNS_AT_ONCE: i64 = 4;

/// By how many elements rows may become longer; of halves by twice as many. More than these repeat
/// what these do.
const LONGER: [u32; 9] = [0, 1, 2, 3, 4, 8, 12, 16, 20];

/// How many definitions of an index are followed.
const MAX_DEPTH: u32 = 40;

/// A tile whose rows are to be longer.
pub(super) struct Row {
    pub tile: ValueId,
    /// Elements.
    pub longer_by: u32,
    /// What that saves, in passes through memory and instructions.
    pub gain: u64,
}

/// The tiles that fewer threads meet in if their rows are longer; `fits` says by how many elements
/// the rows of a tile may become longer.
pub(super) fn better_rows(
    function: &Function,
    shares: &IdMap<InstId, Share>,
    fits: impl Fn(ValueId, u32) -> bool,
) -> Vec<Row> {
    let mut starts = IdMap::default();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::For { start, body, .. } = inst.op {
            starts.insert(body, start);
        }
    });
    let mut survey = Survey { function, shares, starts, uses: BTreeMap::new() };
    survey.block(function.entry, &Around { weight: 1, group: function.entry, at_once: Vec::new(), dealt: None });
    let mut uses: BTreeMap<ValueId, Vec<Use>> = BTreeMap::new();
    survey.uses.into_iter().for_each(|((tile, ..), one)| uses.entry(tile).or_default().push(one));
    uses.iter().filter_map(|(&tile, uses)| better_row(function, tile, uses, &fits)).collect()
}

fn better_row(function: &Function, tile: ValueId, uses: &[Use], fits: &impl Fn(ValueId, u32) -> bool) -> Option<Row> {
    let Type::Local(ty) = function.ty(tile) else { return None };
    let last = usize::from(ty.ndim).checked_sub(1).filter(|&last| last > 0)?;
    let size = Type::from(ty.element).as_scalar().map(|s| s.size()).filter(|size| [2, 4, 8].contains(size))?;
    let cost = |longer: u32| -> u64 {
        let mut extents = ty.extents().to_vec();
        extents[last] += longer;
        uses.iter().map(|one| one.weight.saturating_mul(one.cost(&extents, size.into()))).sum()
    };
    let now = cost(0);
    let (longer_by, least) = LONGER
        .map(|longer| if size == 2 { 2 * longer } else { longer })
        .into_iter()
        .filter(|&longer| fits(tile, longer))
        .map(|longer| (longer, cost(longer)))
        .min_by_key(|&(longer, cost)| (cost, longer))?;
    (least < now).then_some(Row { tile, longer_by, gain: now - least })
}

/// Accesses of a tile side by side, in the code as the back end writes it: their indices in the
/// lanes of a warp. It makes one access of neighbours.
struct Use {
    turns: Vec<Vec<Lanes>>,
    active: u32,
    weight: u64,
}

/// A number in each lane.
pub(super) type Lanes = [i64; LANES];

impl Use {
    /// Passes through memory and instructions, of a tile of such extents, whose elements take so
    /// many bytes.
    fn cost(&self, extents: &[u32], size: i64) -> u64 {
        let mut addresses: Vec<Lanes> = self
            .turns
            .iter()
            .map(|indices| {
                let mut at = [0i64; LANES];
                for (index, &extent) in indices.iter().zip(extents) {
                    at.iter_mut().zip(index).for_each(|(at, &index)| *at = *at * i64::from(extent) + index);
                }
                at.map(|at| at * size)
            })
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        let row = i64::from(extents.last().copied().unwrap_or(1)) * size;
        let mut cost = 0;
        let mut rest = &addresses[..];
        while let Some(first) = rest.first() {
            let wide = |&count: &usize| {
                let bytes = count as i64 * size;
                let follow = |n: usize| (0..LANES).all(|lane| rest[n][lane] == first[lane] + n as i64 * size);
                let fits = bytes <= 16 && row % bytes == 0 && first.iter().all(|at| at % bytes == 0);
                fits && rest.len() >= count && (1..count).all(follow)
            };
            let count = [8, 4, 2].into_iter().find(wide).unwrap_or(1);
            let words = (count as i64 * size + 3) / 4;
            cost += 1 + passes(&first.map(|at| at / 4), self.active, words);
            rest = &rest[count..];
        }
        cost
    }
}

/// The passes through memory that lanes take for so many words each.
pub(super) fn passes(addresses: &Lanes, active: u32, words: i64) -> u64 {
    let each = LANES / words.clamp(1, 4) as usize;
    let part = |group: usize| {
        let lanes = (group * each..(group + 1) * each).filter(|lane| active >> lane & 1 == 1);
        let mut asked: Vec<i64> = lanes.flat_map(|lane| (0..words).map(move |word| addresses[lane] + word)).collect();
        asked.sort_unstable();
        asked.dedup();
        let mut banks = [0u64; BANKS as usize];
        asked.iter().for_each(|word| banks[word.rem_euclid(BANKS) as usize] += 1);
        banks.into_iter().max().unwrap_or(0)
    };
    (0..LANES / each).map(part).sum()
}

/// What is around an access.
#[derive(Clone)]
struct Around {
    weight: u64,
    /// The block whose code is side by side: loops that are written out are a part of it.
    group: BlockId,
    /// Those loops: their variables, and their turns.
    at_once: Vec<(ValueId, i64)>,
    /// The loop that is dealt out: its variable, and where it ends.
    dealt: Option<(ValueId, ValueId)>,
}

/// A turn of the loops around: by how much the variables of some are further than in the first one.
#[derive(Default)]
struct Turn<'t> {
    at: &'t [(ValueId, i64)],
    known: IdMap<ValueId, Option<Lanes>>,
}

struct Survey<'a> {
    function: &'a Function,
    shares: &'a IdMap<InstId, Share>,
    /// Where loops start, by their bodies.
    starts: IdMap<BlockId, ValueId>,
    /// By tile and block; stores apart.
    uses: BTreeMap<(ValueId, BlockId, bool), Use>,
}

impl Survey<'_> {
    fn block(&mut self, block: BlockId, around: &Around) {
        let function = self.function;
        for &id in &function.blocks[block].insts {
            let op = &function.insts[id].op;
            // One lane meets nobody.
            if matches!(self.shares.get(&id), Some(Share::OneThread)) {
                continue;
            }
            if let (Op::Load(access) | Op::Store { access, .. }, true) = (op, around.dealt.is_some()) {
                self.access(access, matches!(op, Op::Store { .. }), around);
            }
            let Op::For { start, end, step, body, .. } = *op else {
                let mut inside = around.clone();
                // A part of a tile in registers: `if element < end: ...`.
                if let (&Op::If { condition, then, .. }, true) = (op, self.shares.contains_key(&id))
                    && let Some(&Op::Compare(CompareOp::Lt, element, end)) = function.op(condition)
                {
                    (inside.dealt, inside.group) = (Some((element, end)), then);
                }
                op.blocks().iter().for_each(|&nested| self.block(nested, &inside));
                continue;
            };
            let Some(&variable) = function.blocks[body].params.first() else { continue };
            let mut inside = around.clone();
            let turns = if self.shares.contains_key(&id) {
                inside.dealt = Some((variable, end));
                self.turns_of_thread(variable, end)
            } else if let Some(count) = registers_by(function, [start, end, step], body) {
                inside.at_once.push((variable, count.into()));
                1
            } else {
                inside.group = body;
                if self.is_unrolled([start, step], body) {
                    inside.at_once.push((variable, TURNS_AT_ONCE));
                }
                trips(function, start, end, step).unwrap_or(UNKNOWN_TURNS)
            };
            if self.shares.contains_key(&id) {
                inside.group = body;
            }
            inside.weight = around.weight.saturating_mul(turns.clamp(1, MOST_TURNS));
            self.block(body, &inside);
        }
    }

    /// Whether several turns of a loop are done at once, from a multiple of their number on.
    fn is_unrolled(&self, [start, step]: [ValueId; 2], body: BlockId) -> bool {
        let function = self.function;
        let int = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
        let insts = &function.blocks[body].insts;
        let reads = |id: &InstId| {
            let op = &function.insts[*id].op;
            op.properties().is_value() || matches!(op, Op::Load(_) | Op::Yield(_))
        };
        int(step) == Some(1)
            && int(start).is_some_and(|start| start % i128::from(TURNS_AT_ONCE) == 0)
            && insts.len() <= UNROLLED_SIZE
            && insts.iter().all(reads)
    }

    /// The turns of a thread in a loop that is dealt out.
    fn turns_of_thread(&self, variable: ValueId, end: ValueId) -> u64 {
        let end = self.function.as_const(end).and_then(|c| c.as_int()).and_then(|end| u64::try_from(end).ok());
        let lanes = self.lanes(variable, &mut Turn::default(), MAX_DEPTH);
        let each = lanes.map_or(1, |lanes| (lanes[1] - lanes[0]).max(1)) as u64;
        end.map_or(UNKNOWN_TURNS, |end| end.div_ceil(each * USUAL_THREADS as u64))
    }

    fn access(&mut self, access: &Access, stores: bool, around: &Around) {
        let function = self.function;
        let is_tile = matches!(function.ty(access.array), Type::Local(ty) if ty.block && ty.ndim > 1);
        if !is_tile || !access.path.is_empty() {
            return;
        }
        let active = around.dealt.map_or(u32::MAX, |(variable, end)| {
            let ends = |lanes: Lanes| (0..LANES).fold(0, |mask, lane| mask | u32::from(lanes[lane] < 0) << lane);
            let [variable, end] = [variable, end].map(|value| self.lanes(value, &mut Turn::default(), MAX_DEPTH));
            variable.zip(end).map_or(u32::MAX, |(a, b)| ends(std::array::from_fn(|lane| a[lane] - b[lane])))
        });
        let mut turns: Vec<Vec<(ValueId, i64)>> = vec![Vec::new()];
        for &(variable, count) in &around.at_once {
            let more = |turn: Vec<(ValueId, i64)>| {
                (0..count).map(move |n| turn.iter().copied().chain([(variable, n)]).collect::<Vec<_>>())
            };
            turns = turns.into_iter().flat_map(more).collect();
        }
        let at = |turn: &Vec<(ValueId, i64)>| self.indices(&access.indices, turn);
        let Some(turns) = turns.iter().map(at).collect::<Option<Vec<_>>>() else { return };
        let none = Use { turns: Vec::new(), active, weight: around.weight };
        self.uses.entry((access.array, around.group, stores)).or_insert(none).turns.extend(turns);
    }

    fn indices(&self, indices: &Values, turn: &[(ValueId, i64)]) -> Option<Vec<Lanes>> {
        let mut turn = Turn { at: turn, ..Turn::default() };
        indices.iter().map(|&index| self.lanes(index, &mut turn, MAX_DEPTH)).collect()
    }

    /// What an integer is in each lane of the first warp, in a turn of the loops around. None: it
    /// is not known how it differs between lanes.
    fn lanes(&self, value: ValueId, turn: &mut Turn, depth: u32) -> Option<Lanes> {
        if let Some(known) = turn.known.get(&value) {
            return *known;
        }
        let found = self.computed(value, turn, depth);
        turn.known.insert(value, found);
        found
    }

    fn computed(&self, value: ValueId, turn: &mut Turn, depth: u32) -> Option<Lanes> {
        let function = self.function;
        if let Some(&(_, number)) = turn.at.iter().find(|(variable, _)| *variable == value) {
            // Another turn of a loop goes on from where it starts.
            let first = self.first(value, turn, depth)?;
            return Some(first.map(|first| first + number));
        }
        if let Some(number) = function.as_const(value).and_then(|c| c.as_int()) {
            return Some([i64::try_from(number).ok()?; LANES]);
        }
        let depth = depth.checked_sub(1)?;
        function.ty(value).as_scalar().filter(|scalar| !scalar.is_float() && *scalar != Scalar::Bool)?;
        let Some(op) = function.op(value) else { return self.first(value, turn, depth) };
        if let Op::Binary(op, a, b) = op {
            let (a, b) = (self.lanes(*a, turn, depth)?, self.lanes(*b, turn, depth)?);
            let mut both = [0; LANES];
            for (lane, out) in both.iter_mut().enumerate() {
                *out = computed(*op, a[lane], b[lane])?;
            }
            return Some(both);
        }
        if let Op::Cast(of) = op {
            return self.lanes(*of, turn, depth);
        }
        if let Op::Unary(UnaryOp::Neg, of) = op {
            return Some(self.lanes(*of, turn, depth)?.map(|n| -n));
        }
        if matches!(op, Op::ThreadInBlock) {
            return Some(std::array::from_fn(|lane| lane as i64));
        }
        if matches!(op, Op::BlockDim) {
            return Some([USUAL_THREADS; LANES]);
        }
        // The same for all threads of a block.
        matches!(op, Op::ThreadIndex(_) | Op::Extent(..)).then_some([0; LANES])
    }

    /// What the variable of a loop is in its first turn.
    fn first(&self, value: ValueId, turn: &mut Turn, depth: u32) -> Option<Lanes> {
        let function = self.function;
        let ValueDef::Param(block, n) = function.values[value].def else { return None };
        if block == function.entry {
            return Some([0; LANES]);
        }
        let start = self.starts.get(&block).copied();
        self.lanes(start.filter(|_| n == 0)?, turn, depth.checked_sub(1)?)
    }
}

fn computed(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div => a.checked_div(b),
        BinaryOp::Rem => a.checked_rem(b),
        BinaryOp::FloorDiv => a.checked_div_euclid(b),
        BinaryOp::And => Some(a & b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(
        width: u32,
        turns: impl Iterator<Item = i64> + Clone,
        row: fn(i64) -> i64,
        column: fn(i64) -> i64,
    ) -> u64 {
        let lanes = |f: fn(i64) -> i64, by: i64| std::array::from_fn(|lane| f(lane as i64) + by);
        let turns = turns.map(|turn| vec![lanes(row, 0), lanes(column, turn)]).collect();
        Use { turns, active: u32::MAX, weight: 1 }.cost(&[64, width], 4)
    }

    #[test]
    fn lanes_that_go_down_a_column_meet_unless_rows_are_odd() {
        let down = |width, turns: std::ops::Range<i64>| rows_of(width, turns, |lane| lane, |_| 0);
        // An instruction each, and its passes.
        assert_eq!(down(64, 0..1), 1 + 32);
        assert_eq!(down(65, 0..1), 1 + 1);
        // Four numbers of each row are one access of four quarters.
        assert_eq!(down(68, 0..4), 1 + 4);
        assert_eq!(down(65, 0..4), 4 * (1 + 1));
        // Neighbours, and all the same.
        assert_eq!(rows_of(64, 0..1, |_| 0, |lane| lane), 1 + 1);
        assert_eq!(rows_of(64, 0..1, |_| 3, |_| 5), 1 + 1);
        // Every fourth row: no length keeps more than eight of them apart.
        assert_eq!(rows_of(65, 0..1, |lane| 4 * (lane % 16), |_| 0), 1 + 2);
    }

    #[test]
    fn lanes_that_are_elsewhere_meet_nobody() {
        let turns = vec![vec![std::array::from_fn(|lane| lane as i64), [0; LANES]]];
        assert_eq!(Use { turns, active: 0b11, weight: 1 }.cost(&[64, 64], 4), 1 + 2);
    }
}
