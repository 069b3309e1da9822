//! Does it pay to run threads as lanes?
//!
//! Lanes differ in what varies along the thread's last coordinate ([`uniformity`](crate::analysis::uniformity)). The cost model counts instructions of one core: a lane-wise instruction costs what a scalar
//! one does, for all lanes together, but memory at unrelated addresses is reached lane by lane either way.

use std::collections::{BTreeMap, BTreeSet};

use super::is_in;
use crate::analysis::alias::{Root, root};
use crate::analysis::privatization::{IndexFacts, PrivateArrays, Sharing, private_arrays_among};
use crate::analysis::strides::Strides;
use crate::analysis::uniformity::Uniformity;
use crate::ids::Id;
use crate::ir::{
    Access, AtomicOp, BinaryOp, BlockId, FuncId, Function, FunctionKind, Inst, Module, Op, Phase, Step, UnaryOp,
    ValueId, ViewIndex,
};
use crate::passes::pipelines::flat;
use crate::types::{Element, Layout, Scalar, StructTable, Type};

/// A kernel larger than this (in IR instructions, with its callees) runs thread by thread, to save compile time.
const MAX_INSTS: usize = 5_000;

/// Local arrays of one thread for each byte of a vector: those of all lanes stay in the fast caches.
const MAX_LOCAL_BYTES: u32 = 64 << 10;

/// What is known about a kernel before it is lowered for lanes.
pub struct Plan {
    uniformity: Uniformity,
    /// The coordinate in which lanes differ.
    last: u8,
    /// By value: something reads it.
    used: Vec<bool>,
    private: PrivateArrays,
    /// Of a backward entry, the arrays that it adds to and does not use otherwise.
    sums: BTreeSet<Root>,
    /// The number of instructions.
    pub insts: usize,
}

impl Plan {
    /// A backward entry adds to the array and does not use it otherwise.
    pub fn is_sum(&self, function: &Function, array: ValueId) -> bool {
        self.sums.contains(&root(function, array))
    }

    /// Each lane has a local array of its own; without this, all lanes share one, since they put the same into it.
    pub fn is_of_lane(&self, function: &Function, array: ValueId) -> bool {
        match root(function, array) {
            Root::Local(local) => self.uniformity.elements(local).coordinates.contains(self.last),
            _ => matches!(function.ty(array), Type::Local(_)),
        }
    }

    /// Each element of the array is used by one thread at most.
    pub fn is_private(&self, function: &Function, array: ValueId) -> bool {
        self.private.contains(function, array)
    }

    pub fn varies(&self, value: ValueId) -> bool {
        self.uniformity.varies_along(value, self.last)
    }

    pub fn is_used(&self, value: ValueId) -> bool {
        is_in(&self.used, value)
    }
}

/// The kernel with its calls inlined and with one exit per region, its plan, and the number of lanes for vectors of `bits`.
/// None: it runs thread by thread.
pub fn prepare(module: &Module, kernel: FuncId, bits: u32) -> Option<(Function, Plan, u32)> {
    let function = flat(module, kernel)?;
    let FunctionKind::Kernel { rank } = function.kind else { return None };
    let known = IndexFacts::of(&function);
    let private = |sharing| private_arrays_among(&function, &module.structs, sharing, &known, &|_| true);
    if depends_on_order(&function, &private(Sharing::Never))
        || local_bytes(&function, &module.structs) > MAX_LOCAL_BYTES * 8 / bits
    {
        return None;
    }
    let (last, uniformity) = (rank.max(1) - 1, &known.uniformity);
    let mut survey = Survey {
        function: &function,
        private: &private(Sharing::SameType),
        structs: &module.structs,
        uniformity,
        strides: &Strides::along(&function, uniformity, last),
        last,
        used: vec![false; function.values.len()],
        possible: true,
        insts: 0,
        doubles: 0,
    };
    survey.look();
    if !survey.possible || survey.insts > MAX_INSTS {
        return None;
    }
    let scalar_bits = if survey.doubles * 2 > survey.insts { 64 } else { 32 };
    let count = bits / scalar_bits;
    let cost = survey.cost(function.entry, f64::from(count));
    if cost.lanes * 1.2 > cost.threads {
        return None;
    }
    let Survey { private, used, insts, .. } = survey;
    let (private, sums) = (private.clone(), sums(&function, &used));
    Some((function, Plan { uniformity: known.uniformity, last, used, private, sums, insts }, count))
}

struct Survey<'a> {
    function: &'a Function,
    private: &'a PrivateArrays,
    structs: &'a StructTable,
    uniformity: &'a Uniformity,
    strides: &'a Strides,
    /// The number of the coordinate that differs.
    last: u8,
    used: Vec<bool>,
    possible: bool,
    insts: usize,
    /// Instructions on 64-bit numbers.
    doubles: usize,
}

impl Survey<'_> {
    fn varies(&self, value: ValueId) -> bool {
        self.uniformity.varies_along(value, self.last)
    }

    /// Looks at what runs as lanes, and what for.
    fn look(&mut self) {
        let function = self.function;
        // Lanes share their arrays.
        let shared = |value| !self.varies(value) || !holds_arrays(function.ty(value), self.structs);
        self.possible = function.values.ids().all(shared);
        function.walk(function.entry, &mut |_, inst| {
            self.insts += 1;
            inst.op.for_each_operand(|v| self.used[v.index()] = true);
            let wide = |v: &ValueId| function.ty(*v).scalar_part().is_some_and(|s| s.size() == 8);
            self.doubles += usize::from(inst.results.iter().any(wide));
            self.possible &= self.runs_as_lanes(inst);
        });
    }

    fn runs_as_lanes(&self, inst: &Inst) -> bool {
        match &inst.op {
            Op::Call(..) | Op::Print { .. } | Op::Break(_) | Op::Continue(_) => false,
            // Every lane has its own, of numbers of one size.
            Op::LocalArray => inst.results.iter().all(|&r| match self.function.ty(r) {
                Type::Local(ty) => Type::from(ty.element).scalar_count().is_some(),
                _ => false,
            }),
            Op::Load(access) | Op::Store { access, .. } | Op::Atomic { access, .. } | Op::AtomicCas { access, .. } => {
                is_static(&access.path)
            }
            Op::View(_, dims) => !dims.iter().any(|dim| match *dim {
                ViewIndex::At(index) => self.varies(index),
                ViewIndex::Range { start, stop, step } => [start, stop, step].iter().any(|v| self.varies(*v)),
            }),
            _ => true,
        }
    }

    /// Whether neighbouring lanes take neighbouring elements by this index.
    fn is_unit(&self, index: ValueId) -> bool {
        self.strides.of(index) == Some(1) && self.function.ty(index).as_scalar().is_some_and(|s| s.size() == 4)
    }

    /// Counted for one turn of the enclosing loop.
    fn cost(&self, block: BlockId, lanes: f64) -> Cost {
        let mut sum = Cost::default();
        for &id in &self.function.blocks[block].insts {
            let inst = &self.function.insts[id];
            let mut nested = Cost::default();
            for block in inst.op.blocks() {
                nested.add(self.cost(block, lanes));
            }
            match &inst.op {
                Op::For { .. } | Op::While { .. } => {
                    const TURNS: f64 = 16.0;
                    sum.add(nested.times(TURNS));
                }
                Op::If { condition, .. } => {
                    // Both sides are run where lanes differ; a thread runs one.
                    nested.threads *= 0.7;
                    sum.add(nested);
                    if self.varies(*condition) {
                        sum.add(Cost { lanes: 4.0, threads: lanes });
                    }
                }
                _ => sum.add(self.inst_cost(inst, lanes)),
            }
        }
        sum
    }

    fn inst_cost(&self, inst: &Inst, lanes: f64) -> Cost {
        let function = self.function;
        let width = |v: ValueId| f64::from(function.ty(v).scalar_count().unwrap_or(1));
        let result = inst.results.first().copied();
        let count = result.map_or(1.0, width);
        let (vector, scalar) = match &inst.op {
            Op::Const(_) | Op::Zero | Op::Construct(_) | Op::Extract(..) | Op::Insert(..) => {
                return Cost::default();
            }
            Op::Yield(_) | Op::Return(_) | Op::Extent(..) | Op::BlockDim | Op::ThreadIndex(_) | Op::ThreadNumber => {
                return Cost::default();
            }
            Op::Load(access) => self.memory_cost(access, count, lanes),
            Op::Store { access, value } => self.memory_cost(access, width(*value), lanes),
            Op::Atomic { access, .. } if self.private.contains(function, access.array) => {
                let (vector, scalar) = self.memory_cost(access, count, lanes);
                (2.0 * vector, 2.0 * scalar)
            }
            Op::Atomic { op, access, .. } => {
                let uniform = !access.indices.iter().any(|v| self.varies(*v));
                let unused = result.is_none_or(|r| !is_in(&self.used, r));
                if uniform && unused && *op != AtomicOp::Exchange {
                    (8.0 * count, 4.0 * count * lanes)
                } else {
                    // Beside the read, the addition and the write of each component: the lane is picked; the address.
                    ((3.0 * count + 2.0) * lanes, (3.0 * count + 1.0) * lanes)
                }
            }
            Op::AtomicCas { .. } => (20.0 * lanes, 15.0 * lanes),
            Op::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv, a, _) => {
                let float = function.ty(*a).scalar_part().is_some_and(Scalar::is_float);
                if float { (10.0 * count, 4.0 * count * lanes) } else { (9.0 * lanes, 8.0 * lanes) }
            }
            Op::Unary(UnaryOp::Sqrt, _) => (10.0 * count, 4.0 * count * lanes),
            _ => (count, count * lanes),
        };
        let mut varies = result.is_some_and(|r| self.varies(r));
        inst.op.for_each_operand(|v| varies |= self.varies(v));
        varies |= matches!(inst.op, Op::Atomic { .. } | Op::AtomicCas { .. });
        if varies { Cost { lanes: vector, threads: scalar } } else { Cost { lanes: scalar / lanes, threads: scalar } }
    }

    /// Of lanes together, and of as many threads.
    fn memory_cost(&self, access: &Access, count: f64, lanes: f64) -> (f64, f64) {
        let Some((&last, outer)) = access.indices.split_last() else { return (count, count * lanes) };
        let outer_varies = outer.iter().any(|v| self.varies(*v));
        if matches!(self.function.ty(access.array), Type::Local(_)) && !access.indices.iter().any(|v| self.varies(*v)) {
            return (count, count * lanes);
        }
        let components = match self.function.ty(access.array) {
            Type::Array(ty) => element_scalars(ty.element),
            _ => 1.0,
        };
        let scalar = count * lanes;
        if !outer_varies && !self.varies(last) {
            (count, scalar)
        } else if !outer_varies && self.is_unit(last) && components <= super::access::MAX_INTERLEAVED as f64 {
            (if components == 1.0 { count } else { 3.0 * components }, scalar)
        } else {
            const LANE: f64 = 2.0;
            (LANE * count * lanes, scalar)
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Cost {
    /// Of one turn for all lanes.
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

/// Whether the result may depend on the order in which threads run: an array is stored to, and elements of it are used by
/// several threads. Such a launch has a race; on one core it runs in order all the same. A single store does the same either
/// way, since lanes store in order.
fn depends_on_order(function: &Function, private: &PrivateArrays) -> bool {
    let mut stores: BTreeMap<Root, u32> = BTreeMap::new();
    let mut others: BTreeSet<Root> = BTreeSet::new();
    let mut visit = |inst: &Inst, weight: u32| match &inst.op {
        Op::Store { access: Access { array, .. }, .. } if !private.contains(function, *array) => {
            *stores.entry(root(function, *array)).or_default() += weight;
        }
        Op::Load(Access { array, .. })
        | Op::Atomic { access: Access { array, .. }, .. }
        | Op::AtomicCas { access: Access { array, .. }, .. }
            if !private.contains(function, *array) =>
        {
            others.insert(root(function, *array));
        }
        _ => {}
    };
    walk_loops(function, function.entry, 1, &mut visit);
    stores.iter().any(|(root, &count)| count > 1 || *root == Root::Unknown || others.contains(root))
}

/// The arrays that a backward entry adds to and does not use otherwise; `used`: by value, something reads it.
fn sums(function: &Function, used: &[bool]) -> BTreeSet<Root> {
    let (mut sums, mut others) = (BTreeSet::new(), BTreeSet::new());
    if function.phase != Phase::Backward {
        return sums;
    }
    function.walk(function.entry, &mut |_, inst| match &inst.op {
        Op::Atomic { op: AtomicOp::Add | AtomicOp::Sub, access, .. }
            if !inst.results.iter().any(|&r| is_in(used, r)) =>
        {
            sums.insert(root(function, access.array));
        }
        Op::Load(Access { array, .. })
        | Op::Store { access: Access { array, .. }, .. }
        | Op::Atomic { access: Access { array, .. }, .. }
        | Op::AtomicCas { access: Access { array, .. }, .. }
        | Op::Gradient(array)
        | Op::Address(array) => {
            others.insert(root(function, *array));
        }
        _ => {}
    });
    sums.retain(|root| matches!(root, Root::Param(..)) && !others.contains(root) && !others.contains(&Root::Unknown));
    sums
}

/// Visits the instructions of a block and of those in it; those in loops have weight 2.
fn walk_loops(function: &Function, block: BlockId, weight: u32, visit: &mut impl FnMut(&Inst, u32)) {
    for &id in &function.blocks[block].insts {
        let inst = &function.insts[id];
        visit(inst, weight);
        let weight = if matches!(inst.op, Op::For { .. } | Op::While { .. }) { 2 } else { weight };
        for nested in inst.op.blocks() {
            walk_loops(function, nested, weight, visit);
        }
    }
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
