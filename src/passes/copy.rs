//! How is code repeated? Copies blocks of a function to another place of it, or into another
//! function.

use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{BlockId, Function, InstId, Op, ValueId, jumps, straight};
use crate::types::Type;

/// One copy. Names, spans and notes go over; values that are not defined in the copied code stay
/// what they are, unless [`Copier::map`] says otherwise.
pub struct Copier<'s> {
    /// None: the function under construction itself.
    source: Option<&'s Function>,
    values: IdMap<ValueId, ValueId>,
}

impl<'s> Copier<'s> {
    /// Copies code of another function. All values of it that the code uses must be mapped or
    /// defined in the code.
    pub fn from(source: &'s Function) -> Copier<'s> {
        Copier { source: Some(source), values: IdMap::default() }
    }

    /// Copies code of the function under construction.
    pub fn within() -> Copier<'static> {
        Copier { source: None, values: IdMap::default() }
    }

    /// The copy uses `to` where the source has `from`.
    pub fn map(&mut self, from: ValueId, to: ValueId) {
        self.values.insert(from, to);
    }

    /// What a value of the source is in the copy.
    pub fn value(&self, value: ValueId) -> ValueId {
        self.values.get(&value).copied().unwrap_or(value)
    }

    fn source<'a>(&'a self, b: &'a Builder) -> &'a Function {
        self.source.unwrap_or(&b.function)
    }

    /// Appends copies of a block's instructions to the current block, except for its terminator,
    /// which it returns.
    pub fn insts(&mut self, b: &mut Builder, block: BlockId) -> Op {
        let mut insts = self.source(b).blocks[block].insts.clone();
        let last = insts.pop().expect("a finished block has a terminator");
        for id in insts {
            self.inst(b, id);
        }
        self.op(b, last)
    }

    /// Copies a block with its parameters and all that is in it; it is nowhere yet.
    pub fn block(&mut self, b: &mut Builder, block: BlockId) -> BlockId {
        let source = self.source(b);
        let params = source.blocks[block].params.clone();
        let types: Vec<Type> = params.iter().map(|&p| source.ty(p)).collect();
        let span = b.span;
        let copy = b.new_block(&types);
        for (n, &param) in params.iter().enumerate() {
            self.define(b, param, b.params(copy)[n]);
        }
        let outside = b.switch_to(copy);
        let last = self.insts(b, block);
        b.effect(last);
        b.switch_to(outside);
        b.span = span;
        copy
    }

    /// Appends a copy of one instruction, with all that is in it.
    pub fn inst(&mut self, b: &mut Builder, id: InstId) {
        let op = self.op(b, id);
        let source = self.source(b);
        let inst = &source.insts[id];
        let (results, span) = (inst.results.clone(), inst.span);
        let types: Vec<Type> = results.iter().map(|&r| source.ty(r)).collect();
        let note = source.notes.get(&id).cloned();
        b.span = span;
        if let Some(note) = note {
            b.function.notes.insert(InstId(b.function.insts.len() as u32), note);
        }
        let copies = b.push(op, &types);
        for (&result, copy) in results.iter().zip(copies) {
            self.define(b, result, copy);
        }
    }

    fn define(&mut self, b: &mut Builder, from: ValueId, to: ValueId) {
        let value = &self.source(b).values[from];
        let (name, span) = (value.name.clone(), value.span);
        b.function.values[to].name = name;
        b.function.values[to].span = span;
        self.values.insert(from, to);
    }

    /// The operation with the operands of the copy; blocks in it are copied.
    fn op(&mut self, b: &mut Builder, id: InstId) -> Op {
        let inst = &self.source(b).insts[id];
        let (mut op, span) = (inst.op.clone(), inst.span);
        op.for_each_operand_mut(|v| *v = self.value(*v));
        b.span = span;
        match &mut op {
            Op::If { then, otherwise, .. } => {
                *then = self.block(b, *then);
                *otherwise = self.block(b, *otherwise);
            }
            Op::For { body, .. } => *body = self.block(b, *body),
            Op::While { condition, body, .. } => {
                *condition = self.block(b, *condition);
                *body = self.block(b, *body);
            }
            straight!() | jumps!() => {}
        }
        op
    }
}
