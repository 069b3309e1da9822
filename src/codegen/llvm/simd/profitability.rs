//! Does it pay to run threads as lanes?
//!
//! SIMD lanes differ in what varies along the thread's last coordinate
//! ([`uniformity`](crate::analysis::uniformity)). The cost model counts instructions of one core: a
//! lane-wise instruction costs what a scalar one does, for all lanes together, but memory at
//! unrelated addresses is reached lane by lane either way.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::super::machine::Machine;
use super::super::options::Cpu;
use super::super::processor::Costs;
use super::interleave::{cost, is_interleaved};
use super::is_in;
use super::lane_copies::MIN_GROUPS;
use super::refused::Refused;
use super::registers::vectors_at_once;
use crate::analysis::alias::{Root, accessed, root};
use crate::analysis::ownership::{IndexFacts, PrivateArrays, Sharing, private_arrays_among};
use crate::analysis::side_by_side;
use crate::analysis::strides::Strides;
use crate::analysis::uniformity::Uniformity;
use crate::ids::Id;
use crate::ir::{
    Access, AtomicOp, BlockId, FuncId, Function, FunctionKind, Inst, Module, Op, Phase, Step, ValueId, ViewIndex,
    accesses, arrays, effects, jumps, nested, properties, straight, together, values,
};
use crate::passes::pipelines::flat;
use crate::types::{Element, Layout, Scalar, StructTable, Type};

/// A kernel larger than this (in IR instructions, with its callees) runs thread by thread, to save
/// compile time. Newton's solver of elastic cloth has 5,099 and gains a factor of 4.
const MAX_INSTS: usize = 12_000;

/// Local arrays of one thread for each byte of a vector: those of all lanes stay in the fast
/// caches.
const MAX_LOCAL_BYTES: u32 = 64 << 10;

/// A division of one thread takes as long as so many simple instructions that wait for each other
/// as it does.
const DIVISION: f64 = 4.0;

/// SIMD lanes that update neighbouring elements read what others just wrote, in part: such reads
/// wait, so many times as long as others.
const NEIGHBOURS_WAIT: f64 = 4.0;

/// Threads run the longer side of a branch so often: the other one is mostly a way out. Kernels
/// that return early have branches in branches, of which each takes this share: with 0.7 the model
/// saw a gain of 1.2 in Newton's solver of elastic cloth, and of 0.9 in its bending of edges, which
/// gain 4.0 and 1.6.
const LONGER: f64 = 0.85;

/// The masks of a branch.
const MASKED: f64 = 4.0;

/// What a branch costs a thread: one of ten is foreseen wrongly, and takes 15 cycles.
const FORESEEN_WRONGLY: f64 = 6.0;

/// The keys of all lanes, compared with those of the lanes so far on.
const KEY_COMPARED: f64 = 3.0;

/// SIMD lanes have to be faster than threads by this factor, as the cost model sees it: what they
/// lose at the ends of rows is not in it.
pub const LEAST_GAIN: f64 = 1.15;

/// What is known about a kernel before it is lowered for lanes.
#[derive(Clone)]
pub struct Plan {
    differences: Differences,
    /// By value: something reads it.
    used: Vec<bool>,
    private: PrivateArrays,
    /// Single elements side by side take longer under a mask, on the processor.
    masks_cost: bool,
    /// Of a backward entry, the arrays that it adds to and does not use otherwise.
    sums: BTreeSet<Root>,
    /// The number of instructions.
    pub insts: usize,
    /// In long rows so many vectors run together.
    pub vectors: u32,
    /// Values that have to differ between the lanes, or they run one by one
    /// ([`side_by_side`](crate::analysis::side_by_side)).
    pub keys: Vec<ValueId>,
    /// How many times longer the threads take one by one, as the cost model sees it.
    pub gain: f64,
}

/// Where the elements of an array are that lanes use at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// All lanes use one.
    Same,
    /// Beside each other, in the order of the lanes.
    Neighbours,
    /// Anywhere.
    Apart,
}

impl Plan {
    /// A backward entry adds to the array and does not use it otherwise.
    pub fn is_sum(&self, function: &Function, array: ValueId) -> bool {
        self.sums.contains(&root(function, array))
    }

    /// Each lane has a local array of its own; without this, all lanes share one, since they put
    /// the same into it.
    pub fn is_of_lane(&self, function: &Function, array: ValueId) -> bool {
        match root(function, array) {
            Root::Local(local) => self.differences.elements_vary(local),
            _ => matches!(function.ty(array), Type::Local(_)),
        }
    }

    /// Each element of the array is used by one thread at most.
    pub fn is_private(&self, function: &Function, array: ValueId) -> bool {
        self.private.contains(function, array)
    }

    pub fn varies(&self, value: ValueId) -> bool {
        self.differences.varies(value)
    }

    /// The value is another one in other rows of the launch: it depends on a coordinate before the
    /// last.
    pub fn differs_between_rows(&self, value: ValueId) -> bool {
        (0..self.differences.last).any(|n| self.differences.uniformity.varies_along(value, n))
    }

    /// The threads of a row that so many lanes, in several vectors, run: at its end some have
    /// nothing to do, and only long rows have copies of what they add to.
    pub fn long_row(&self, lanes: u32) -> u32 {
        lanes * if self.sums.is_empty() { 4 } else { MIN_GROUPS as u32 }
    }

    pub fn is_used(&self, value: ValueId) -> bool {
        is_in(&self.used, value)
    }

    /// The access takes longer under a mask.
    pub fn loses_by_masks(&self, function: &Function, access: &Access) -> bool {
        let neighbours = self.reach(function, access) == Reach::Neighbours;
        neighbours && (self.masks_cost || components(function, access.array) > 1.0)
    }

    /// Where the elements are that an access uses.
    pub fn reach(&self, function: &Function, access: &Access) -> Reach {
        self.differences.reach(function, access)
    }
}

/// The kernel with its calls inlined and with one exit per region, its plan, and the number of
/// lanes on the processor.
pub fn prepare(module: &Module, kernel: FuncId, cpu: Cpu) -> Result<(Function, Plan, u32), Refused> {
    let bits = Machine::host_vector_bits(cpu);
    if module.functions[kernel].by_block {
        return Err(Refused::Tiles);
    }
    let function = flat(module, kernel).ok_or(Refused::Inlining)?;
    let FunctionKind::Kernel { rank } = function.kind else { return Err(Refused::Exits) };
    let known = IndexFacts::of(&function);
    let last = rank.max(1) - 1;
    let uniformity = known.uniformity.clone();
    let differences = Differences { strides: Strides::along(&function, &uniformity, last), uniformity, last };
    let private = private_arrays_among(&function, &module.structs, Sharing::SameType, &known, &|_| true);
    let row = known.in_row(&function, last);
    let keys = side_by_side::keys(&function, &module.structs, &row).ok_or(Refused::Order)?;
    if local_bytes(&function, &module.structs) > MAX_LOCAL_BYTES * 8 / bits {
        return Err(Refused::LocalArrays);
    }
    let mut survey = Survey {
        function: &function,
        private: &private,
        structs: &module.structs,
        costs: Machine::host_costs(cpu),
        bits,
        differences: &differences,
        used: vec![false; function.values.len()],
        obstacle: None,
        insts: 0,
        doubles: 0,
    };
    survey.look();
    if let Some(obstacle) = survey.obstacle {
        return Err(obstacle);
    }
    if survey.insts > MAX_INSTS {
        return Err(Refused::Size(survey.insts));
    }
    let scalar_bits = if survey.doubles * 2 > survey.insts { 64 } else { 32 };
    let count = bits / scalar_bits;
    let mut cost = survey.cost(function.entry, f64::from(count));
    cost.lanes += KEY_COMPARED * keys.len() as f64 * f64::from(count / 2);
    let gain = cost.threads / cost.lanes;
    if cost.lanes * LEAST_GAIN > cost.threads {
        return Err(Refused::Cost { lanes: count, gain });
    }
    let Survey { used, insts, .. } = survey;
    let sums = sums(&function, &used);
    let vectors = match keys.is_empty() {
        true => vectors_at_once(&function, |value| differences.varies(value), insts, [count, bits]),
        // Of more lanes, two have one key more often.
        false => 1,
    };
    let masks_cost = Machine::host_costs(cpu).masks;
    Ok((function, Plan { differences, used, private, masks_cost, sums, insts, vectors, keys, gain }, count))
}

struct Survey<'a> {
    function: &'a Function,
    private: &'a PrivateArrays,
    structs: &'a StructTable,
    costs: Costs,
    /// Of vectors.
    bits: u32,
    differences: &'a Differences,
    used: Vec<bool>,
    /// Why there can be no lanes.
    obstacle: Option<Refused>,
    insts: usize,
    /// Instructions on 64-bit numbers.
    doubles: usize,
}

impl Survey<'_> {
    fn varies(&self, value: ValueId) -> bool {
        self.differences.varies(value)
    }

    fn require(&mut self, holds: bool, otherwise: Refused) {
        if !holds {
            self.obstacle.get_or_insert(otherwise);
        }
    }

    /// Looks at what runs as lanes, and what for.
    fn look(&mut self) {
        let function = self.function;
        function.walk(function.entry, &mut |_, inst| {
            self.insts += 1;
            inst.op.for_each_operand(|v| self.used[v.index()] = true);
            let wide = |v: &ValueId| function.ty(*v).scalar_part().is_some_and(|s| s.size() == 8);
            self.doubles += usize::from(inst.results.iter().any(wide));
            self.inst(inst);
        });
        // SIMD lanes share their arrays.
        let shared = |value| !self.varies(value) || !holds_arrays(function.ty(value), self.structs);
        let all_shared = function.values.ids().all(shared);
        self.require(all_shared, Refused::ArrayOfThread);
    }

    /// Whether an instruction can be one of lanes.
    fn inst(&mut self, inst: &Inst) {
        let function = self.function;
        match &inst.op {
            Op::Print { .. } => self.require(false, Refused::Print),
            Op::Call(..) | Op::Break(_) | Op::Continue(_) => self.require(false, Refused::Exits),
            // Every lane has its own, of numbers of one size.
            Op::LocalArray => {
                let numbers = inst.results.iter().all(|&r| match function.ty(r) {
                    Type::Local(ty) => Type::from(ty.element).scalar_count().is_some(),
                    _ => false,
                });
                self.require(numbers, Refused::LocalArrays);
            }
            Op::View(_, dims) => {
                let differ = dims.iter().any(|dim| match *dim {
                    ViewIndex::At(index) => self.varies(index),
                    ViewIndex::Range { start, stop, step } => [start, stop, step].iter().any(|v| self.varies(*v)),
                });
                self.require(!differ, Refused::ArrayOfThread);
            }
            op @ (values!()
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::SharedArray
            | accesses!()
            | together!()
            | Op::Exchange(..)
            | Op::Assert { .. }
            | Op::Check(..)
            | nested!()
            | Op::Yield(_)
            | Op::Return(_)) => {
                if let Some(access) = op.access() {
                    self.require(is_static(&access.path), Refused::Component);
                }
            }
        }
    }

    /// Counted for one iteration of the enclosing loop.
    fn cost(&self, block: BlockId, lanes: f64) -> Cost {
        let mut sum = Cost::default();
        for &id in &self.function.blocks[block].insts {
            let inst = &self.function.insts[id];
            let parts: SmallVec<[Cost; 2]> =
                inst.op.blocks().into_iter().map(|block| self.cost(block, lanes)).collect();
            match &inst.op {
                Op::For { .. } | Op::While { .. } => {
                    const ITERATIONS: f64 = 16.0;
                    parts.into_iter().for_each(|part| sum.add(part.times(ITERATIONS)));
                }
                Op::If { condition, .. } => sum.add(self.branch_cost(*condition, &parts, lanes)),
                straight!() | jumps!() => sum.add(self.inst_cost(inst, lanes)),
            }
        }
        sum
    }

    /// A thread runs one side, the longer one where it differs; lanes run both, unless all go one
    /// way.
    fn branch_cost(&self, condition: ValueId, sides: &[Cost], lanes: f64) -> Cost {
        let [mut long, mut short] = [Cost::default(); 2];
        for &side in sides {
            (long, short) = if side.threads > long.threads { (side, long) } else { (long, side) };
        }
        let [mut one, mut both] = [long.times(LONGER), long];
        one.add(short.times(1.0 - LONGER));
        both.add(short);
        if !self.varies(condition) {
            return one;
        }
        Cost { lanes: both.lanes + MASKED, threads: one.threads + FORESEEN_WRONGLY * lanes }
    }

    fn inst_cost(&self, inst: &Inst, lanes: f64) -> Cost {
        let function = self.function;
        let width = |v: ValueId| f64::from(function.ty(v).scalar_count().unwrap_or(1));
        let result = inst.results.first().copied();
        let count = result.map_or(1.0, width);
        let (vector, scalar) = match &inst.op {
            Op::Load(access) => self.memory_cost(access, self.costs.gathered, count, lanes),
            Op::Store { access, value } => self.memory_cost(access, self.costs.scattered, width(*value), lanes),
            Op::Atomic { access, .. } if self.private.contains(function, access.array) => {
                let both = [self.costs.gathered, self.costs.scattered];
                let both = both.map(|apart| self.memory_cost(access, apart, count, lanes));
                (both[0].0 + both[1].0, both[0].1 + both[1].1)
            }
            // One wide addition, where lanes name different elements and nobody else is there.
            Op::Atomic { access, .. }
                if self.differences.reach(function, access) == Reach::Neighbours
                    && components(function, access.array) == 1.0 =>
            {
                (2.0 * NEIGHBOURS_WAIT * count, 2.0 * count * lanes)
            }
            Op::Atomic { op, access, .. } => {
                let uniform = !access.indices.iter().any(|v| self.varies(*v));
                let unused = result.is_none_or(|r| !is_in(&self.used, r));
                if uniform && unused && *op != AtomicOp::Exchange {
                    (8.0 * count, 4.0 * count * lanes)
                } else {
                    // Beside the read, the addition and the write of each component: the lane is
                    // picked, which vectors do in two instructions on one port; the address.
                    ((5.0 * count + 2.0) * lanes, (3.0 * count + 1.0) * lanes)
                }
            }
            Op::AtomicCas { .. } => (20.0 * lanes, 15.0 * lanes),
            op @ (values!() | Op::Call(..) | arrays!() | effects!() | nested!() | jumps!()) => {
                match op.properties().cost {
                    properties::Cost::Free => return Cost::default(),
                    properties::Cost::Slow => {
                        let float = result.is_some_and(|r| function.ty(r).scalar_part().is_some_and(Scalar::is_float));
                        if float {
                            (DIVISION * count * self.costs.division, DIVISION * count * lanes)
                        } else {
                            (9.0 * lanes, 8.0 * lanes)
                        }
                    }
                    properties::Cost::Simple | properties::Cost::Memory => (count, count * lanes),
                }
            }
        };
        let mut varies = result.is_some_and(|r| self.varies(r));
        inst.op.for_each_operand(|v| varies |= self.varies(v));
        varies |= inst.op.properties().atomic;
        if varies { Cost { lanes: vector, threads: scalar } } else { Cost { lanes: scalar / lanes, threads: scalar } }
    }

    /// Of lanes together, and of as many threads. `apart`: of a lane that reads or writes an
    /// element anywhere.
    fn memory_cost(&self, access: &Access, apart: f64, count: f64, lanes: f64) -> (f64, f64) {
        let components = components(self.function, access.array);
        let scalar = count * lanes;
        match self.differences.reach(self.function, access) {
            Reach::Same => (count, scalar),
            Reach::Neighbours if components == 1.0 => (count, scalar),
            Reach::Neighbours => (cost(components as u32, lanes as u32, self.bits), scalar),
            Reach::Apart => {
                let side_by_side = self.differences.is_side_by_side(self.function, access);
                let lane = if side_by_side { self.costs.wide } else { apart };
                (lane * count * lanes, scalar)
            }
        }
    }
}

/// The numbers in an element.
fn components(function: &Function, array: ValueId) -> f64 {
    match function.ty(array) {
        Type::Array(ty) => element_scalars(ty.element),
        _ => 1.0,
    }
}

/// What lanes differ in: what varies along the thread's last coordinate.
#[derive(Clone)]
struct Differences {
    uniformity: Uniformity,
    strides: Strides,
    last: u8,
}

impl Differences {
    fn varies(&self, value: ValueId) -> bool {
        self.uniformity.varies_along(value, self.last)
    }

    /// Of a local array.
    fn elements_vary(&self, local: ValueId) -> bool {
        self.uniformity.elements(local).coordinates.contains(self.last)
    }

    /// The elements of neighbouring lanes are neighbours.
    fn is_side_by_side(&self, function: &Function, access: &Access) -> bool {
        let Some((&last, outer)) = access.indices.split_last() else { return false };
        let unit = self.strides.of(last) == Some(1) && function.ty(last).as_scalar().is_some_and(|s| s.size() == 4);
        unit && !outer.iter().any(|v| self.varies(*v))
    }

    fn reach(&self, function: &Function, access: &Access) -> Reach {
        if !access.indices.iter().any(|v| self.varies(*v)) {
            Reach::Same
        } else if self.is_side_by_side(function, access) && is_interleaved(components(function, access.array) as u32) {
            Reach::Neighbours
        } else {
            Reach::Apart
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Cost {
    /// Of one iteration for all lanes.
    lanes: f64,
    /// Of as many threads, one after the other.
    threads: f64,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.lanes += other.lanes;
        self.threads += other.threads;
    }

    fn times(self, n: f64) -> Cost {
        Cost { lanes: self.lanes * n, threads: self.threads * n }
    }
}

/// The arrays that a backward entry adds to and does not use otherwise; `used`: by value, something
/// reads it.
fn sums(function: &Function, used: &[bool]) -> BTreeSet<Root> {
    let (mut sums, mut others) = (BTreeSet::new(), BTreeSet::new());
    if function.phase != Phase::Backward {
        return sums;
    }
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Atomic { op: AtomicOp::Add | AtomicOp::Sub, access, .. } = &inst.op
            && !inst.results.iter().any(|&r| is_in(used, r))
        {
            sums.insert(root(function, access.array));
        } else if let Op::Gradient(array) | Op::Address(array) = &inst.op {
            others.insert(root(function, *array));
        } else if inst.op.properties().accesses_memory() {
            others.insert(accessed(function, &inst.op));
        }
    });
    sums.retain(|root| matches!(root, Root::Param(..)) && !others.contains(root) && !others.contains(&Root::Unknown));
    sums
}

/// The bytes of the local arrays of one thread.
fn local_bytes(function: &Function, structs: &StructTable) -> u32 {
    let mut bytes = 0u64;
    function.walk(function.entry, &mut |_, inst| {
        if let (Op::LocalArray, Some(&result)) = (&inst.op, inst.results.first()) {
            bytes = bytes.saturating_add(Layout::of(function.ty(result), structs).size.into());
        }
    });
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn is_static(path: &[Step]) -> bool {
    path.iter().all(|step| matches!(step, Step::At(_)))
}

fn element_scalars(element: Element) -> f64 {
    Type::from(element).scalar_count().map_or(f64::INFINITY, f64::from)
}

fn holds_arrays(ty: Type, structs: &StructTable) -> bool {
    match ty {
        Type::Array(_) | Type::Local(_) => true,
        Type::Struct(id) => structs[id].fields.iter().any(|field| holds_arrays(field.ty, structs)),
        _ => false,
    }
}
