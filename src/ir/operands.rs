//! Which values does an instruction read?

use super::{Op, Step, ValueId, ViewIndex};

/// The one traversal, for reading and for rewriting: `$f` gets the operands of `$op` by the reference that `$op` is.
macro_rules! operands {
    ($op:expr, $f:ident) => {{
        macro_rules! path {
            ($steps:expr) => {
                for step in $steps {
                    if let Step::Dynamic(value) = step {
                        $f(value);
                    }
                }
            };
        }
        match $op {
            Op::Const(_) | Op::Zero | Op::ThreadIndex(_) | Op::ThreadNumber | Op::BlockDim | Op::LocalArray => {}
            Op::Unary(_, a)
            | Op::Cast(a)
            | Op::Bitcast(a)
            | Op::Extent(a, _)
            | Op::IsSet(a)
            | Op::Gradient(a)
            | Op::Address(a) => $f(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => {
                $f(a);
                $f(b);
            }
            Op::Fma(a, b, c) | Op::Select { condition: a, then: b, otherwise: c } => {
                $f(a);
                $f(b);
                $f(c);
            }
            Op::Construct(args)
            | Op::Call(_, args)
            | Op::Print { args, .. }
            | Op::Yield(args)
            | Op::Break(args)
            | Op::Continue(args)
            | Op::Return(args) => args.into_iter().for_each($f),
            Op::Extract(a, steps) => {
                $f(a);
                path!(steps);
            }
            Op::Insert(a, steps, b) => {
                $f(a);
                path!(steps);
                $f(b);
            }
            Op::View(a, dims) => {
                $f(a);
                for dim in dims {
                    match dim {
                        ViewIndex::At(v) => $f(v),
                        ViewIndex::Range { start, stop, step } => {
                            $f(start);
                            $f(stop);
                            $f(step);
                        }
                    }
                }
            }
            Op::Load { array, index, path: steps } => {
                $f(array);
                index.into_iter().for_each(&mut $f);
                path!(steps);
            }
            Op::Store { array, index, path: steps, value } | Op::Atomic { array, index, path: steps, value, .. } => {
                $f(array);
                index.into_iter().for_each(&mut $f);
                path!(steps);
                $f(value);
            }
            Op::AtomicCas { array, index, path: steps, expected, new } => {
                $f(array);
                index.into_iter().for_each(&mut $f);
                path!(steps);
                $f(expected);
                $f(new);
            }
            Op::If { condition, .. } | Op::Assert { condition, .. } => $f(condition),
            Op::For { start, end, step, init, .. } => {
                $f(start);
                $f(end);
                $f(step);
                init.into_iter().for_each($f);
            }
            Op::While { init, .. } => init.into_iter().for_each($f),
        }
    }};
}

impl Op {
    /// Calls `f` on every value this instruction reads (not those read inside nested blocks).
    pub fn for_each_operand(&self, mut f: impl FnMut(ValueId)) {
        let mut f = |value: &ValueId| f(*value);
        operands!(self, f);
    }

    /// Calls `f` on every operand, in place.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut ValueId)) {
        operands!(self, f);
    }
}
