//! What is executed? Decoded instructions: registers are numbered over all functions of a kernel,
//! constants stand in registers too, and addresses are resolved.

use super::value::{Alu, Lanes, Test};
use crate::ptx::{Location, Place, Space};

/// A register of 64 bits a lane, a predicate.
pub type Reg = u32;
pub type Pred = u32;

/// A predicate as it is read: negated or not.
#[derive(Clone, Copy, Debug)]
pub struct PredIn {
    pub pred: Pred,
    pub negated: bool,
}

/// Addition and the like with the carry flag: result, carry out, of three registers and the carry
/// in.
pub type Carry = fn(u64, u64, u64, bool) -> (u64, bool);

#[derive(Clone, Debug)]
pub enum Op {
    Alu {
        f: Alu,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Alu4 {
        f: fn(u64, u64, u32, u32) -> u64,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
        e: Reg,
    },
    Carry {
        f: Carry,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
        writes: bool,
    },
    /// `p = (a ? b) with r`, and `q` the opposite of the comparison.
    Test {
        f: Test,
        a: Reg,
        b: Reg,
        p: Option<Pred>,
        q: Option<Pred>,
        with: Option<(Logic, PredIn)>,
    },
    /// As a number: `yes` or 0.
    Set {
        f: Test,
        d: Reg,
        a: Reg,
        b: Reg,
        yes: u64,
        with: Option<(Logic, PredIn)>,
    },
    Select {
        d: Reg,
        a: Reg,
        b: Reg,
        p: PredIn,
    },
    Logic {
        f: Logic,
        d: Pred,
        a: PredIn,
        b: PredIn,
    },
    /// The parts of a register, lowest first, of so many bits each.
    Pack {
        d: Reg,
        parts: Box<[Reg]>,
        bits: u32,
    },
    Unpack {
        a: Reg,
        parts: Box<[Option<Reg>]>,
        bits: u32,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    Branch {
        target: u32,
        uniform: bool,
    },
    Switch {
        index: Reg,
        targets: Box<[u32]>,
    },
    Call(Box<Call>),
    /// Each lane calls the function that its register points to.
    CallPointer(Box<PointerCall>),
    Print(Box<Print>),
    /// Memory for each lane: where the size and the result of the call lie.
    Allocate(Box<[u32; 2]>),
    /// Gives memory back: where the address lies.
    Release(Box<[u32; 1]>),
    Assert(Box<[i64]>),
    /// A gradient is near-degenerate: the text that says why.
    Degenerate(Box<[u32; 1]>),
    /// Gives a condition of a graph its number: where both lie.
    SetCondition(Box<[u32; 2]>),
    /// A gradient would be near-degenerate for an adjoint that is not 0.
    Visit,
    /// An index of a component that is not there: the text that names what has components, the
    /// index, their number.
    NoComponent(Box<[u32; 3]>),
    /// An index outside of a tile or a local array: the text that names it, the dimension, the
    /// index, the extent.
    NoElement(Box<[u32; 4]>),
    Return,
    Exit,
    Trap,
    BlockBarrier(Box<Barrier>),
    /// At the barrier of the cluster: what came before is known to who waits then.
    ClusterArrive {
        releases: bool,
        aligned: bool,
    },
    ClusterWait {
        acquires: bool,
        aligned: bool,
    },
    WarpBarrier {
        members: Reg,
    },
    Shuffle(Box<Shuffle>),
    Vote {
        how: Vote,
        d: Option<Reg>,
        p: Option<Pred>,
        of: PredIn,
        members: Option<Reg>,
    },
    Match {
        all: bool,
        wide: bool,
        d: Reg,
        p: Option<Pred>,
        a: Reg,
        members: Reg,
    },
    Reduce {
        f: Alu,
        d: Reg,
        a: Reg,
        members: Reg,
    },
    /// The first of the lanes that are named: which it is, and whether it is this one.
    Elect {
        d: Reg,
        p: Pred,
        members: Reg,
    },
    ActiveMask {
        d: Reg,
    },
    Clock {
        d: Reg,
    },
    CopyAsync(Box<CopyAsync>),
    CommitCopies,
    /// All groups of copies but the last `left`; None: all copies.
    WaitForCopies {
        left: Option<u64>,
    },
    LoadMatrix(Box<LoadMatrix>),
    StoreMatrix(Box<LoadMatrix>),
    MultiplyMatrices(Box<Matrix>),
    Mbarrier(Box<Mbarrier>),
    Bulk(Box<Bulk>),
    Send(Box<Send>),
    CommitBulk,
    /// All groups of bulk copies but the last `left`.
    WaitForBulk {
        left: u64,
    },
    TensorMap(Box<ChangedMap>),
    /// Tensor maps from shared to global memory, by one thread for its warp.
    CopyTensorMap {
        to: Reg,
        to_offset: i64,
        from: Reg,
        from_offset: i64,
    },
    Texture(Box<TextureFetch>),
    Surface(Box<SurfaceAccess>),
    Warpgroup(Box<Warpgroup>),
    CommitProducts,
    WaitForProducts {
        left: u64,
    },
    /// Orders memory; with false for the threads of the block only.
    Fence {
        device: bool,
    },
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logic {
    First,
    And,
    Or,
    Xor,
}

impl Logic {
    pub fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Logic::First => a,
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
        }
    }
}

/// How others may see an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Only after a barrier.
    Weak,
    /// At once: volatile, relaxed.
    Strong,
    /// Strong, and what it brings orders what follows; what came before it is ordered.
    Acquire,
    Release,
    Both,
}

/// A load or a store.
#[derive(Clone, Debug)]
pub struct Access {
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    /// The registers, one for each element.
    pub values: Box<[Option<Reg>]>,
    /// Of an element.
    pub bytes: u32,
    /// Of all elements, up to the last one that something comes of. Compilers load four where three
    /// are wanted: the fourth may lie beyond the array, as the hardware never misses it.
    pub needed: u32,
    /// Extends the sign to so many bits.
    pub sign: Option<u32>,
    pub order: Order,
    /// A load through the read-only cache.
    pub constant: bool,
    /// A load of what a compare-and-swap at the same address looks at again: it may be of any age.
    pub swap: Swap,
}

#[derive(Clone, Debug)]
pub struct Atomic {
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    pub bytes: u32,
    pub d: Option<Reg>,
    /// The new value of the old one and of the operands.
    pub f: Update,
    pub a: Reg,
    pub b: Reg,
    /// The operands for the places behind, of a vector: each is an update of its own.
    pub more: Box<[Reg]>,
    pub order: Order,
    /// Only threads of the block see it as atomic.
    pub of_block: bool,
    /// Flushes subnormals, in global memory.
    pub flushes: bool,
    /// Compares first.
    pub swap: Swap,
    /// Something follows from the old value: all but an exchange, which may be the first to write.
    pub reads: bool,
}

/// What a compare-and-swap is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swap {
    /// It is none.
    No,
    /// The element that it compares.
    Whole,
    /// A half or a byte, where the hardware compares words: of the word around it, what it does not
    /// change belongs to others.
    Part,
}

impl Atomic {
    /// The bytes of all places.
    pub fn all_bytes(&self) -> u32 {
        self.bytes * (1 + self.more.len() as u32)
    }
}

pub type Update = fn(old: u64, a: u64, b: u64) -> u64;

/// Bytes from one offset of a lane's parameters to another.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    pub from: u32,
    pub to: u32,
    pub bytes: u32,
}

/// A call through a pointer: the functions that it may lead to, by their addresses.
#[derive(Clone, Debug)]
pub struct PointerCall {
    pub pointer: Reg,
    pub calls: Box<[(u64, Call)]>,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub target: u32,
    /// One beyond the last instruction of the function.
    pub end: u32,
    /// The number of the function.
    pub function: u32,
    pub given: Box<[Copied]>,
    pub returned: Box<[Copied]>,
}

/// A call of `vprintf`: where its parameters lie, and what it gives.
#[derive(Clone, Debug)]
pub struct Print {
    pub format: u32,
    pub values: u32,
    pub result: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Barrier {
    pub number: Reg,
    /// The threads that it waits for; None: the block.
    pub count: Option<Reg>,
    /// All threads of a warp must come together.
    pub aligned: bool,
    /// Goes on at once.
    pub arrives: bool,
    pub vote: Option<(Vote, PredIn, Result)>,
}

/// Where a vote of the block goes.
#[derive(Clone, Copy, Debug)]
pub enum Result {
    Register(Reg),
    Predicate(Pred),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
    Count,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Debug)]
pub struct Shuffle {
    pub way: Way,
    pub d: Reg,
    pub p: Option<Pred>,
    pub a: Reg,
    pub distance: Reg,
    pub clamp: Reg,
    pub members: Reg,
}

/// A copy from global to shared memory that runs on by itself.
#[derive(Clone, Debug)]
pub struct CopyAsync {
    pub to: Reg,
    pub to_offset: i64,
    pub from: Reg,
    pub from_offset: i64,
    pub bytes: u32,
    /// So many bytes are read, the others become zero.
    pub read: Option<Reg>,
    /// Where it holds, none are.
    pub ignored: Option<PredIn>,
}

/// Matrices of 8 x 8 halves, whose rows lanes name, and the registers of the warp that they go to
/// or come from.
#[derive(Clone, Debug)]
pub struct LoadMatrix {
    pub regs: Box<[Reg]>,
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    pub transposed: bool,
}

/// What the factors of a product of matrices consist of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F64,
}

/// A product of 16 x `depth` and `depth` x 8 elements, summed up in float32; of float64, 8 x 4 and
/// 4 x 8, summed up in that.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub element: Element,
    pub depth: u32,
    pub d: Box<[Reg]>,
    pub a: Box<[Reg]>,
    pub b: Box<[Reg]>,
    pub c: Box<[Reg]>,
}

/// What is done to an mbarrier object in shared memory (PTX ISA, "mbarrier").
#[derive(Clone, Debug)]
pub struct Mbarrier {
    pub does: OnMbarrier,
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    /// Orders what came before an arrival, and what follows a wait.
    pub order: Order,
}

#[derive(Clone, Debug)]
pub enum OnMbarrier {
    Init {
        count: Reg,
    },
    Invalidate,
    /// `count` threads arrive, after `expected` bytes more are waited for; later phases wait for
    /// fewer if it `drops` them. The state before goes to `d`.
    Arrive {
        d: Option<Reg>,
        count: Reg,
        expected: Option<Reg>,
        drops: bool,
    },
    /// So many bytes more are waited for, or have come.
    Expect {
        bytes: Reg,
    },
    Complete {
        bytes: Reg,
    },
    /// Whether the phase of a state is over, or the last one of a parity; whoever `waits` lets
    /// others go on.
    Test {
        p: Pred,
        phase: Reg,
        waits: bool,
    },
    /// The threads that a state waits for: it is a register, and there is no object.
    Pending {
        d: Reg,
        state: Reg,
    },
    /// An arrival after the copies (`cp.async`) of the thread so far; `counted`: the object's count
    /// has it.
    AfterCopies {
        counted: bool,
    },
}

/// A copy in bulk that runs on by itself (PTX ISA, "cp.async.bulk").
#[derive(Clone, Debug)]
pub struct Bulk {
    /// To shared memory, which an mbarrier object is told of; else to global memory.
    pub told: Option<(Reg, i64)>,
    /// In shared memory.
    pub shared: (Reg, i64),
    /// In global memory (in shared memory, of a copy within it), or the tensor map there.
    pub global: (Reg, i64),
    pub from: Space,
    pub extent: BulkExtent,
    /// What is stored joins what is there.
    pub reduces: Option<(Update, u32)>,
    /// A mask of the blocks of the cluster that get a copy each.
    pub blocks: Option<Reg>,
}

/// Numbers that go to shared memory of the cluster by themselves, of so many bytes each; an
/// mbarrier object counts them.
#[derive(Clone, Debug)]
pub struct Send {
    pub to: (Reg, i64),
    pub told: (Reg, i64),
    pub values: Box<[Reg]>,
    pub bytes: u32,
    /// What is sent joins what is there.
    pub reduces: Option<Update>,
}

#[derive(Clone, Debug)]
pub enum BulkExtent {
    Bytes(Reg),
    /// The box of a tensor map at these coordinates, innermost first.
    Box(Box<[Reg]>),
}

/// A fetch from a texture.
#[derive(Clone, Debug)]
pub struct TextureFetch {
    /// The handle: a register and an offset.
    pub texture: (Reg, i64),
    pub coordinates: Box<[Reg]>,
    /// They are indices of elements.
    pub whole: bool,
    /// The channels.
    pub to: Box<[Option<Reg>]>,
}

/// A read or a write of a surface.
#[derive(Clone, Debug)]
pub struct SurfaceAccess {
    pub surface: (Reg, i64),
    /// The first one counts bytes.
    pub coordinates: Box<[Reg]>,
    pub values: Box<[Reg]>,
    /// Of each value.
    pub bytes: u32,
    pub border: Border,
    pub writes: bool,
}

/// What becomes of an access outside of a surface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Border {
    Trap,
    Clamp,
    Zero,
}

/// A field of a tensor map in shared or global memory that is set.
#[derive(Clone, Debug)]
pub struct ChangedMap {
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    pub field: super::tensor_map::Field,
    pub value: Reg,
}

/// What the factors of a product of a warpgroup consist of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Narrow {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    S8,
    U8,
}

/// `wgmma.mma_async`: a product of 64 x k and k x n elements, of which each of four warps computes
/// 16 rows.
#[derive(Clone, Debug)]
pub struct Warpgroup {
    pub d: Box<[Reg]>,
    pub sum: Sum,
    pub columns: u32,
    pub depth: u32,
    pub a: Factor,
    /// A matrix descriptor.
    pub b: Reg,
    pub a_element: Narrow,
    pub b_element: Narrow,
    /// Adds to what is in `d`.
    pub adds: PredIn,
    pub negates: [bool; 2],
    /// Rows (of `b`: columns) lie side by side, not the elements of each.
    pub transposed: [bool; 2],
}

#[derive(Clone, Debug)]
pub enum Factor {
    Registers(Box<[Reg]>),
    /// A matrix descriptor.
    Memory(Reg),
}

/// What products are summed up in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    F32,
    F16,
    S32,
    /// Too large numbers stay the largest.
    SaturatedS32,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    pub op: Op,
    pub guard: Option<PredIn>,
    /// Where the sides of a branch here meet again; [`NOWHERE`]: at no instruction.
    pub meet: u32,
    pub at: Place,
    pub source: Option<Location>,
    /// For counters and messages.
    pub class: Class,
    pub math: Option<Math>,
}

pub const NOWHERE: u32 = u32::MAX;

/// The kinds of instructions that profilers tell apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    Float32,
    Float64,
    Float16,
    Integer,
    Conversion,
    Control,
    Memory,
    Exchange,
    Other,
}

/// What counts as floating-point operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Math {
    Add,
    Multiply,
    /// Both in one: two operations.
    Fused,
}

/// A variable of a kernel with its place.
#[derive(Clone, Debug)]
pub struct Placed {
    pub name: String,
    pub space: Space,
    /// In its space.
    pub address: u64,
    pub bytes: u64,
}

/// A load whose values lead to guarded instructions only.
#[derive(Clone, Debug)]
pub struct GuardedLoad {
    pub pc: u32,
    /// The guards.
    pub guards: Vec<PredIn>,
    /// Other lanes of the warp get its values too.
    pub is_exchanged: bool,
}

/// A kernel, ready to run.
#[derive(Debug)]
pub struct Code {
    pub entry: String,
    pub insts: Vec<Inst>,
    /// Registers, then constants, then special registers.
    pub regs: u32,
    pub preds: u32,
    pub constants: Vec<(Reg, Lanes)>,
    pub specials: Vec<(Reg, Special)>,
    /// The parameters of the kernel: offset and bytes of each, and all bytes.
    pub params: Vec<(u32, u32)>,
    pub param_bytes: u32,
    /// Bytes of a lane for parameters of calls, after those of the kernel.
    pub call_bytes: u32,
    pub local_bytes: u32,
    /// Static bytes; what the launch adds begins there.
    pub shared_bytes: u32,
    pub uses_dynamic_shared: bool,
    /// Global and constant variables with their first contents.
    pub globals: Vec<(Placed, Vec<u8>)>,
    /// Shared and local variables, for messages.
    pub variables: Vec<Placed>,
    pub files: Vec<(u32, String)>,
    pub max_threads: Option<u64>,
    pub required_threads: Option<u64>,
    /// `.reqnctapercluster`
    pub cluster: Option<[u32; 3]>,
    /// Loads that some threads may drop.
    pub guarded_loads: Vec<GuardedLoad>,
    /// Whether memory can order threads of different blocks.
    pub has_fences: bool,
    /// Whether barriers may be for some threads of a block.
    pub has_partial_barriers: bool,
    /// Functions may call themselves by way of pointers, which is refused when they do.
    pub has_pointer_calls: bool,
    /// Kernels ask for memory.
    pub allocates: bool,
}

/// A register that tells where the thread is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Special {
    Tid(usize),
    Ntid(usize),
    Ctaid(usize),
    Nctaid(usize),
    Lane,
    Warp,
    Warps,
    MaskEq,
    MaskLe,
    MaskLt,
    MaskGe,
    MaskGt,
    DynamicShared,
    TotalShared,
    Zero,
    /// 1
    Ones,
    /// What the driver tells a launch: half 1 and 2 of the address of a workspace, from the top.
    Environment(usize),
    /// In a cluster: the rank of the block, and the blocks.
    RankInCluster,
    BlocksOfCluster,
    /// The place of the block in its cluster, that of the cluster, and how many there are of both.
    InCluster(usize),
    Cluster(usize),
    ClusterExtent(usize),
    Clusters(usize),
}
