//! By how much does an integer grow from a thread to the next one along a coordinate of the launch?
//!
//! Strides are those of arithmetic that wraps: what is added is the same for all pairs of
//! neighbours, modulo the width of the type. They say how the accesses of neighbours lie to each
//! other; what must not wrap is for [`ownership`](super::ownership) to ask.

use super::uniformity::Uniformity;
use crate::ids::IdVec;
use crate::ir::*;

/// The strides of a function's values along one coordinate.
#[derive(Clone, Debug)]
pub struct Strides(IdVec<ValueId, Option<i64>>);

impl Strides {
    /// Along coordinate `n`.
    pub fn along(function: &Function, uniformity: &Uniformity, n: u8) -> Strides {
        Strides::of_call(function, uniformity, n, &[])
    }

    /// Of one call, whose arguments have these strides (those that differ and are missing: none).
    pub fn of_call(function: &Function, uniformity: &Uniformity, n: u8, arguments: &[Option<i64>]) -> Strides {
        let uniform = |v: ValueId| (!uniformity.varies_along(v, n)).then_some(0);
        let mut strides: IdVec<ValueId, Option<i64>> = function.values.ids().map(uniform).collect();
        for (&param, &stride) in function.params().iter().zip(arguments) {
            strides[param] = strides[param].or(stride);
        }
        // Coordinate `n` is the last one, after which threads are numbered.
        let is_last = matches!(function.kind, FunctionKind::Kernel { rank } if n + 1 == rank.max(1));
        function.walk(function.entry, &mut |_, inst| {
            if let Op::For { start, step, body, .. } = &inst.op
                && let Some(&counter) = function.blocks[*body].params.first()
                && strides[*step] == Some(0)
            {
                // Where all take the same steps, neighbours stay as far apart as they started.
                strides[counter] = strides[counter].or(strides[*start]);
            }
            let [result] = inst.results[..] else { return };
            if strides[result].is_some() || !function.ty(result).is_int() {
                return;
            }
            let constant = |v: ValueId| i64::try_from(function.as_const(v)?.as_int()?).ok();
            strides[result] = match inst.op {
                Op::ThreadIndex(k) => (k == n).then_some(1),
                Op::ThreadNumber => is_last.then_some(1),
                Op::Cast(a) if function.ty(a).is_int() => strides[a],
                Op::Unary(UnaryOp::Neg, a) => strides[a].and_then(i64::checked_neg),
                Op::Binary(BinaryOp::Add, a, b) => strides[a].zip(strides[b]).and_then(|(a, b)| a.checked_add(b)),
                Op::Binary(BinaryOp::Sub, a, b) => strides[a].zip(strides[b]).and_then(|(a, b)| a.checked_sub(b)),
                Op::Binary(BinaryOp::Mul, a, b) => {
                    let product = |a: ValueId, b: ValueId| strides[a]?.checked_mul(constant(b)?);
                    product(a, b).or_else(|| product(b, a))
                }
                Op::Binary(BinaryOp::Shl, a, b) => {
                    let count = constant(b).filter(|count| (0..62).contains(count));
                    strides[a].zip(count).and_then(|(a, count)| a.checked_mul(1 << count))
                }
                // Others have no stride that is known.
                _ => None,
            };
        });
        Strides(strides)
    }

    /// The stride of a value; 0: the same for all along the coordinate, None: it differs in any
    /// way.
    pub fn of(&self, value: ValueId) -> Option<i64> {
        self.0.get(value).copied().flatten()
    }
}
