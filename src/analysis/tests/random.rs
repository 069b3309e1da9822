//! Random kernels on integers, run by the interpreter: every value stays inside its bounds, and
//! values that are called equal for several threads are.

use std::collections::BTreeMap;

use super::*;
use crate::abi::LaunchBounds;
use crate::analysis::ranges::LaunchFacts;
use crate::ids::Id;
use crate::ir::build::Builder;
use crate::ir::interp::{Outcome, run_kernel};
use crate::source::{FileId, Span};
use crate::types::{BOOL, Element, I32, LocalArrayType, Type};

const I64: Type = Type::Scalar(Scalar::I64);

const SCALARS: [Scalar; 6] = [Scalar::I8, Scalar::U8, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64];

/// A small generator of numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// Writes kernels of rank 2: `k(x: int32, y: int32, u: uint8, w: int64)`.
struct Writer {
    random: Random,
    b: Builder,
    /// The integers in scope.
    numbers: Vec<ValueId>,
    local: Option<ValueId>,
    /// What the loops around carry.
    loops: Vec<Vec<Type>>,
}

impl Writer {
    fn kernel(seed: u64) -> Function {
        let params = [("x", I32), ("y", I32), ("u", Type::Scalar(Scalar::U8)), ("w", I64)];
        let params = params.map(|(name, ty)| (name.to_string(), ty));
        let b = Builder::new("k", FunctionKind::Kernel { rank: 2 }, &params, Span::new(FileId(0), 0, 0));
        let numbers = b.function.params().to_vec();
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut this = Writer { random, b, numbers, local: None, loops: Vec::new() };
        for op in [Op::ThreadIndex(0), Op::ThreadIndex(1), Op::ThreadNumber, Op::BlockDim] {
            let value = this.b.one(op, I32);
            this.numbers.push(value);
        }
        let local =
            LocalArrayType { element: Element::Scalar(Scalar::I32), shape: [4, 1, 1, 1], ndim: 1, block: false };
        this.local = Some(this.b.one(Op::LocalArray, Type::Local(local)));
        this.statements(3);
        this.statements(3);
        this.b.effect(Op::Return(Values::new()));
        this.b.finish()
    }

    fn any(&mut self) -> ValueId {
        // Rather a recent one.
        let (a, b) = (self.random.below(self.numbers.len()), self.random.below(self.numbers.len()));
        self.numbers[a.max(b)]
    }

    fn scalar(&self, value: ValueId) -> Scalar {
        self.b.ty(value).as_scalar().expect("an integer")
    }

    fn constant(&mut self, scalar: Scalar) -> ValueId {
        let full = Interval::full(scalar).expect("an integer type");
        let n = match self.random.below(10) {
            0 => full.low,
            1 => full.high,
            2 => full.low + 1,
            3 => full.high - 1,
            _ => self.random.below(9) as i128 - 4,
        };
        self.b.int(scalar, n)
    }

    fn of_type(&mut self, scalar: Scalar) -> ValueId {
        if self.random.below(3) == 0 {
            return self.constant(scalar);
        }
        for _ in 0..4 {
            let value = self.any();
            if self.scalar(value) == scalar {
                return value;
            }
        }
        let value = self.any();
        self.b.one(Op::Cast(value), Type::Scalar(scalar))
    }

    fn number(&mut self) -> ValueId {
        let a = self.any();
        let scalar = self.scalar(a);
        let ty = Type::Scalar(scalar);
        const BINARY: [BinaryOp; 13] = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::FloorDiv,
            BinaryOp::Rem,
            BinaryOp::Min,
            BinaryOp::Max,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Shl,
            BinaryOp::Shr,
        ];
        match self.random.below(16) {
            0 => {
                let to = SCALARS[self.random.below(SCALARS.len())];
                self.b.one(Op::Cast(a), Type::Scalar(to))
            }
            1 => {
                let op = [UnaryOp::Neg, UnaryOp::BitNot, UnaryOp::Abs, UnaryOp::PopCount][self.random.below(4)];
                self.b.one(Op::Unary(op, a), ty)
            }
            2 => {
                let (condition, other) = (self.test(1), self.of_type(scalar));
                self.b.select(condition, a, other)
            }
            3 => {
                // Inside the local array: a read, perhaps after a write.
                let Some(array) = self.local else { return a };
                let (at, three) = (self.of_type(Scalar::I32), self.b.int(Scalar::I32, 3));
                let at = self.b.binary(BinaryOp::And, at, three);
                let value = self.of_type(Scalar::I32);
                self.b.effect(Op::Store {
                    access: Access { array, indices: Values::from_slice(&[at]), path: Path::new() },
                    value,
                });
                let at = self.of_type(Scalar::I32);
                let at = self.b.binary(BinaryOp::And, at, three);
                self.b.one(Op::Load(Access { array, indices: Values::from_slice(&[at]), path: Path::new() }), I32)
            }
            4..=9 => {
                let (op, b) = (BINARY[self.random.below(2)], self.of_type(scalar));
                self.b.one(Op::Binary(op, a, b), ty)
            }
            _ => {
                let (op, b) = (BINARY[self.random.below(BINARY.len())], self.of_type(scalar));
                self.b.one(Op::Binary(op, a, b), ty)
            }
        }
    }

    fn test(&mut self, depth: usize) -> ValueId {
        if depth > 0 && self.random.below(3) == 0 {
            let (a, b) = (self.test(depth - 1), self.test(depth - 1));
            return match self.random.below(4) {
                0 => self.b.one(Op::Binary(BinaryOp::And, a, b), BOOL),
                1 => self.b.one(Op::Binary(BinaryOp::Or, a, b), BOOL),
                2 => self.b.one(Op::Unary(UnaryOp::Not, a), BOOL),
                _ => {
                    // `a and b`, or `not a or b`, as a choice.
                    let constant = self.b.constant(Const::bool(self.random.below(2) == 0));
                    let (then, otherwise) = if self.random.below(2) == 0 { (b, constant) } else { (constant, b) };
                    self.b.select(a, then, otherwise)
                }
            };
        }
        let a = self.any();
        let b = self.of_type(self.scalar(a));
        let op = CompareOp::ALL[self.random.below(CompareOp::ALL.len())];
        self.b.one(Op::Compare(op, a, b), BOOL)
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..self.random.below(4) + 1 {
            match self.random.below(if depth == 0 { 3 } else { 8 }) {
                0..=3 => {
                    let value = self.number();
                    self.numbers.push(value);
                }
                4 | 5 => self.branch(depth),
                6 => self.for_loop(depth),
                _ => self.while_loop(depth),
            }
        }
    }

    /// Writes a block; `end` its terminator.
    fn block(&mut self, params: &[Type], write: impl FnOnce(&mut Self, &[ValueId])) -> BlockId {
        let block = self.b.new_block(params);
        let params = self.b.params(block).to_vec();
        let before = self.b.switch_to(block);
        let scope = self.numbers.len();
        self.numbers.extend(&params);
        write(self, &params);
        self.numbers.truncate(scope);
        self.b.switch_to(before);
        block
    }

    fn values(&mut self, types: &[Type]) -> Values {
        types.iter().map(|ty| self.of_type(ty.as_scalar().expect("an integer"))).collect()
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.test(2);
        let types: Vec<Type> = (0..self.random.below(3)).map(|_| self.any_type()).collect();
        let leaves = self.random.below(6);
        let then = self.block(&[], |this, _| {
            this.statements(depth - 1);
            let carried = this.loops.last().cloned();
            match (leaves, carried) {
                (0, Some(types)) => {
                    let values = this.values(&types);
                    this.b.effect(Op::Break(values));
                }
                (1, Some(types)) => {
                    let values = this.values(&types);
                    this.b.effect(Op::Continue(values));
                }
                (2, _) if this.random.below(3) == 0 => this.b.effect(Op::Return(Values::new())),
                _ => {
                    let values = this.values(&types);
                    this.b.effect(Op::Yield(values));
                }
            }
        });
        let otherwise = self.block(&[], |this, _| {
            if this.random.below(2) == 0 {
                this.statements(depth - 1);
            }
            let values = this.values(&types);
            this.b.effect(Op::Yield(values));
        });
        let results = self.b.push(Op::If { condition, then, otherwise }, &types);
        self.numbers.extend(results);
    }

    fn any_type(&mut self) -> Type {
        Type::Scalar(SCALARS[self.random.below(SCALARS.len())])
    }

    /// The body of a loop that carries values of these types.
    fn iteration(&mut self, depth: usize, types: &[Type], params: &[Type]) -> BlockId {
        self.loops.push(types.to_vec());
        let body = self.block(params, |this, _| {
            this.statements(depth - 1);
            let values = this.values(types);
            this.b.effect(Op::Yield(values));
        });
        self.loops.pop();
        body
    }

    fn for_loop(&mut self, depth: usize) {
        let types: Vec<Type> = (0..self.random.below(3)).map(|_| self.any_type()).collect();
        let init = self.values(&types);
        // A short one, also at the ends of the type.
        let scalar = [Scalar::I32, Scalar::I32, Scalar::I8, Scalar::U8, Scalar::I64][self.random.below(5)];
        let start = self.of_type(scalar);
        let by = [-3, -1, 1, 1, 2, 5][self.random.below(6)];
        let step = self.b.int(scalar, if scalar.is_signed_int() { by } else { by.abs() });
        let end = if self.random.below(2) == 0 {
            self.of_type(scalar)
        } else {
            let few = self.b.int(scalar, by * 3);
            self.b.binary(BinaryOp::Add, start, few)
        };
        let params: Vec<Type> = [Type::Scalar(scalar)].into_iter().chain(types.iter().copied()).collect();
        let body = self.iteration(depth, &types, &params);
        let results = self.b.push(Op::For { start, end, step, init, body }, &types);
        self.numbers.extend(results);
    }

    fn while_loop(&mut self, depth: usize) {
        let types: Vec<Type> = (0..self.random.below(3) + 1).map(|_| self.any_type()).collect();
        let init = self.values(&types);
        let condition = self.block(&types, |this, _| {
            let condition = this.test(2);
            this.b.effect(Op::Yield(Values::from_slice(&[condition])));
        });
        let body = self.iteration(depth, &types, &types);
        let results = self.b.push(Op::While { init, condition, body }, &types);
        self.numbers.extend(results);
    }
}

/// What a run saw: the value as the instruction that reads it, or as it is defined (None).
pub struct Seen {
    pub thread: usize,
    pub reader: Option<InstId>,
    pub value: ValueId,
    pub number: i128,
}

/// The kernel with a print of every integer where it is defined and where somebody asks for it.
fn watched(original: &Function) -> Function {
    let mut function = original.clone();
    let thread = original.values.ids().find(|&v| matches!(original.op(v), Some(Op::ThreadNumber)));
    let thread = thread.expect("a thread number");
    for block in original.blocks.ids() {
        let old = std::mem::take(&mut function.blocks[block].insts);
        let mut b = Builder::resume(function, block);
        let show = |b: &mut Builder, reader: Option<InstId>, value: ValueId| {
            if original.ty(value).is_int() && value != thread {
                let wide = b.one(Op::Cast(value), I64);
                let reader = reader.map_or(-1, |id| id.index() as i64);
                let format = format!("%d {reader} {} %lld\n", value.index());
                b.effect(Op::Print { format, args: Values::from_slice(&[thread, wide]) });
            }
        };
        if block != original.entry {
            original.blocks[block].params.iter().for_each(|&p| show(&mut b, None, p));
        }
        for id in old {
            let inst = &original.insts[id];
            if matches!(inst.op, Op::Load(_) | Op::Store { .. } | Op::Binary(..)) && block != original.entry {
                inst.op.for_each_operand(|v| show(&mut b, Some(id), v));
            }
            b.append(id);
            let behind_thread = block != original.entry || id > defined_by(original, thread);
            inst.results.iter().filter(|_| behind_thread).for_each(|&r| show(&mut b, None, r));
        }
        function = b.finish();
    }
    function
}

fn defined_by(function: &Function, value: ValueId) -> InstId {
    match function.values[value].def {
        ValueDef::Result(id, _) => id,
        ValueDef::Param(..) => unreachable!("a result"),
    }
}

/// Runs a random kernel over 2 x 3 threads; gives it and what its threads saw.
pub fn run(seed: u64) -> (Function, Vec<Seen>) {
    let (function, seen, _) = launched(seed);
    (function, seen)
}

/// The same, with what the launch says.
pub fn launched(seed: u64) -> (Function, Vec<Seen>, LaunchFacts) {
    #[repr(C)]
    struct Arguments(i32, i32, u8, i64);
    let function = Writer::kernel(seed);
    let mut module = Module::default();
    let id = module.functions.push(watched(&function));
    assert_eq!(verify::verify(&module), Ok(()), "seed {seed}");
    let mut random = Random(seed | 1);
    let mut ends = |low: i64, high: i64| match random.below(6) {
        0 => low,
        1 => high,
        2 => low + 1,
        _ => random.below(9) as i64 - 4,
    };
    let args = Arguments(
        ends(i32::MIN.into(), i32::MAX.into()) as i32,
        ends(i32::MIN.into(), i32::MAX.into()) as i32,
        ends(0, 255) as u8,
        ends(i64::MIN, i64::MAX),
    );
    let mut seen = Vec::new();
    let mut outcome = Outcome::new(|text| {
        let mut parts = text.split_whitespace().map(|part| part.parse::<i128>().expect("a number"));
        let mut next = || parts.next().expect("four numbers");
        let (thread, reader, value, number) = (next() as usize, next(), ValueId(next() as u32), next());
        let number = match function.ty(value).as_scalar() {
            Some(Scalar::U64) => i128::from(number as i64 as u64),
            _ => number,
        };
        let reader = (reader >= 0).then_some(InstId(reader as u32));
        seen.push(Seen { thread, reader, value, number });
    });
    let launch = LaunchBounds::new(&[2, 3]).expect("a launch");
    for thread in 0..6 {
        outcome.steps = Some(2_000);
        // SAFETY: the arguments are those of the kernel; it uses no arrays but its own.
        unsafe {
            run_kernel(&module, id, &launch, std::ptr::from_ref(&args).cast(), thread, thread + 1, &mut outcome);
        }
    }
    drop(outcome);
    let Arguments(x, y, u, w) = args;
    let integers = [x.into(), y.into(), u.into(), w.into()].into_iter().enumerate();
    let integers = integers.map(|(n, value): (usize, i128)| (Root::Param(n as u32, Vec::new()), value)).collect();
    let facts = LaunchFacts { threads: launch.shape, integers, extents: BTreeMap::new() };
    (function, seen, facts)
}

#[test]
fn values_stay_inside_their_bounds() {
    let (mut narrow, mut here) = (0, 0);
    for seed in 1..=300u64 {
        let (function, seen) = run(seed);
        let ranges = Ranges::of(&function);
        for Seen { reader, value, number, .. } in seen {
            let everywhere = ranges.interval(value).expect("the bounds of an integer");
            let bounds = reader.map_or(everywhere, |at| ranges.bounds_at(at, value).expect("bounds").interval);
            let holds = |interval: Interval| interval.low <= number && number <= interval.high;
            if !holds(bounds) {
                let mut module = Module::default();
                module.functions.push(function);
                let text = print::print(&module);
                panic!("seed {seed}: {value} is {number}, not in {bounds:?}, read by {reader:?}\n{text}");
            }
            let full = function.ty(value).as_scalar().and_then(Interval::full);
            narrow += usize::from(Some(everywhere) != full);
            here += usize::from(bounds != everywhere);
        }
    }
    // Bounds that say nothing would hold as well.
    assert!(narrow > 10_000 && here > 200, "{narrow} values with bounds, {here} with closer ones where they are read");
}
