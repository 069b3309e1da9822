//! Builds functions: a cursor into one block at a time.

use smallvec::{SmallVec, smallvec};

use super::*;
use crate::types::{BOOL, I32, Scalar};

/// Appends to the current block of a function under construction. The caller keeps the typing
/// rules; `verify` checks them.
pub struct Builder {
    pub function: Function,
    block: BlockId,
    /// Given to the instructions built next.
    pub span: Span,
}

impl Builder {
    /// Starts a function whose entry block is current and has one parameter per `(name, type)`.
    pub fn new(name: &str, kind: FunctionKind, params: &[(String, Type)], span: Span) -> Builder {
        let mut blocks = IdVec::new();
        let entry = blocks.push(Block::default());
        let mut builder = Builder {
            function: Function {
                name: name.to_string(),
                source_name: name.to_string(),
                kind,
                results: Vec::new(),
                cuda_name: None,
                fast_math: false,
                native: None,
                gives: None,
                library: false,
                by_block: false,
                block_threads: None,
                phase: Phase::Forward,
                derivative: Derivative::Body,
                tape: Vec::new(),
                assumed_disjoint: Vec::new(),
                kept: Vec::new(),
                notes: Default::default(),
                entry,
                values: IdVec::new(),
                insts: IdVec::new(),
                blocks,
                span,
            },
            block: entry,
            span,
        };
        for (name, ty) in params {
            let value = builder.add_param(entry, *ty);
            builder.function.values[value].name = Some(name.clone());
        }
        builder
    }

    /// Makes room for about so many instructions, which grow into it otherwise by being copied
    /// again and again.
    pub fn reserve(&mut self, insts: usize) {
        self.function.insts.reserve(insts);
        self.function.values.reserve(insts);
    }

    /// Goes on with a function that exists already; `block` is current.
    pub fn resume(function: Function, block: BlockId) -> Builder {
        let span = function.span;
        Builder { function, block, span }
    }

    /// Takes the code out of a function, to build on. Whoever finishes the builder puts it back.
    pub fn take(function: &mut Function, block: BlockId) -> Builder {
        let empty = Builder::new("", function.kind, &[], function.span).finish();
        Builder::resume(std::mem::replace(function, empty), block)
    }

    /// Builds on a function in its place: `build` begins at the end of `block`.
    pub fn edit<T>(function: &mut Function, block: BlockId, build: impl FnOnce(&mut Builder) -> T) -> T {
        let mut builder = Builder::take(function, block);
        let built = build(&mut builder);
        *function = builder.finish();
        built
    }

    pub fn finish(self) -> Function {
        self.function
    }

    pub fn block(&self) -> BlockId {
        self.block
    }

    /// A new block with parameters of these types; it does not become current.
    pub fn new_block(&mut self, params: &[Type]) -> BlockId {
        let block = self.function.blocks.push(Block::default());
        for &ty in params {
            self.add_param(block, ty);
        }
        block
    }

    /// One more parameter of a block, after those it has.
    pub fn add_param(&mut self, block: BlockId, ty: Type) -> ValueId {
        let n = self.function.blocks[block].params.len() as u32;
        let value =
            self.function.values.push(Value { ty, def: ValueDef::Param(block, n), name: None, span: self.span });
        self.function.blocks[block].params.push(value);
        value
    }

    pub fn params(&self, block: BlockId) -> &[ValueId] {
        &self.function.blocks[block].params
    }

    /// Makes `block` current and returns the one that was.
    pub fn switch_to(&mut self, block: BlockId) -> BlockId {
        std::mem::replace(&mut self.block, block)
    }

    /// True once the current block has its terminator: nothing may be added after it.
    pub fn is_terminated(&self) -> bool {
        self.function.terminator(self.block).is_some()
    }

    pub fn ty(&self, value: ValueId) -> Type {
        self.function.ty(value)
    }

    /// Records the source variable that a value was assigned to; the first name stays.
    pub fn name(&mut self, value: ValueId, name: &str) {
        self.function.values[value].name.get_or_insert_with(|| name.to_string());
    }

    /// Appends an instruction that exists already, which is nowhere else.
    pub fn append(&mut self, inst: InstId) {
        self.function.blocks[self.block].insts.push(inst);
    }

    /// One more result of an instruction, after those it has.
    pub fn add_result(&mut self, inst: InstId, ty: Type) -> ValueId {
        let n = self.function.insts[inst].results.len() as u32;
        let value =
            self.function.values.push(Value { ty, def: ValueDef::Result(inst, n), name: None, span: self.span });
        self.function.insts[inst].results.push(value);
        value
    }

    /// Appends an instruction with results of the given types.
    pub fn push(&mut self, op: Op, results: &[Type]) -> Results {
        let inst = InstId(self.function.insts.len() as u32);
        let mut values = Results::new();
        for (n, &ty) in results.iter().enumerate() {
            let def = ValueDef::Result(inst, n as u32);
            values.push(self.function.values.push(Value { ty, def, name: None, span: self.span }));
        }
        self.function.insts.push(Inst { op, results: SmallVec::from_slice(&values), span: self.span });
        self.function.blocks[self.block].insts.push(inst);
        values
    }

    /// Appends an instruction with one result.
    pub fn one(&mut self, op: Op, ty: Type) -> ValueId {
        self.push(op, &[ty])[0]
    }

    /// Appends an instruction without results.
    pub fn effect(&mut self, op: Op) {
        self.push(op, &[]);
    }

    pub fn constant(&mut self, c: Const) -> ValueId {
        self.one(Op::Const(c), Type::Scalar(c.scalar))
    }

    pub fn int(&mut self, scalar: Scalar, value: i128) -> ValueId {
        self.constant(Const::int(scalar, value))
    }

    pub fn zero(&mut self, ty: Type) -> ValueId {
        self.one(Op::Zero, ty)
    }

    pub fn unary(&mut self, op: UnaryOp, a: ValueId) -> ValueId {
        self.one(Op::Unary(op, a), self.ty(a))
    }

    /// The result has the type of the composite operand, where one is a scalar.
    pub fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        let (ta, tb) = (self.ty(a), self.ty(b));
        self.one(Op::Binary(op, a, b), if tb.is_composite() { tb } else { ta })
    }

    pub fn compare(&mut self, op: CompareOp, a: ValueId, b: ValueId) -> ValueId {
        self.one(Op::Compare(op, a, b), BOOL)
    }

    pub fn select(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> ValueId {
        let ty = self.ty(then);
        self.one(Op::Select { condition, then, otherwise }, ty)
    }

    /// Casts unless the value has the type already.
    pub fn cast(&mut self, value: ValueId, to: Scalar) -> ValueId {
        let from = self.ty(value);
        let to = match from {
            Type::Vec(n, _) => Type::Vec(n, to),
            Type::Mat(r, c, _) => Type::Mat(r, c, to),
            Type::Quat(_) => Type::Quat(to),
            Type::Transform(_) => Type::Transform(to),
            _ => Type::Scalar(to),
        };
        if from == to { value } else { self.one(Op::Cast(value), to) }
    }

    pub fn extent(&mut self, array: ValueId, dim: u8) -> ValueId {
        self.one(Op::Extent(array, dim), I32)
    }

    pub fn extract_at(&mut self, value: ValueId, at: u32, ty: Type) -> ValueId {
        self.one(Op::Extract(value, smallvec![Step::At(at)]), ty)
    }

    pub fn yield_(&mut self, values: &[ValueId]) {
        self.effect(Op::Yield(SmallVec::from_slice(values)));
    }
}
