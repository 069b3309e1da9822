//! What is true of a function, whatever its input? Each analysis answers one question for every
//! pass and back end that asks; none changes the function, and none reports findings.
//!
//! | module | question |
//! |---|---|
//! | [`alias`] | which memory does an access touch? |
//! | [`disjoint_rows`] | which rows of a launch use different elements of an array? |
//! | [`barriers`] | which barriers do some threads of a block not come to? |
//! | [`deferrable`] | which atomic updates may wait until their thread is at its end? |
//! | [`dependence`] | may an access touch, after another one, the same element? |
//! | [`effects`] | what does a function do besides giving its results? |
//! | [`filled`] | which arrays does a launch fill? |
//! | [`grain`] | how many threads of a launch are worth handing to a worker? |
//! | [`guards`] | under which conditions is an access made? |
//! | [`idle_axes`] | which coordinates does a kernel not ask for? |
//! | [`independence`] | in which arrays may threads meet so that their order shows? |
//! | [`inside`] | does an index count from the end, if its access is inside the array at all? |
//! | [`interval`] | which integers can an operation give? |
//! | [`order`] | does the order of threads show in what a kernel leaves? |
//! | [`ownership`] | which arrays does each thread use for itself? |
//! | [`ranges`] | between which bounds does an integer lie? |
//! | [`rounding`] | which functions have to round each operation as it is written? |
//! | [`side_by_side`] | may neighbouring threads run at once, operation after operation? |
//! | [`strides`] | by how much does an integer grow from a thread to the next one? |
//! | [`uniformity`] | in which threads do values differ? |
//! | [`value_numbering`] | which values are equal? |
//! | [`written`] | which of its array parameters may a function write, and which may it read? |

pub mod alias;
pub mod barriers;
pub mod deferrable;
pub mod dependence;
pub mod disjoint_rows;
pub mod effects;
pub mod filled;
pub mod grain;
pub mod guards;
pub mod idle_axes;
pub mod independence;
pub mod inside;
pub mod interval;
pub mod order;
pub mod ownership;
pub mod ranges;
pub mod rounding;
pub mod side_by_side;
pub mod strides;
#[cfg(test)]
mod tests;
pub mod uniformity;
pub mod value_numbering;
pub mod written;

use crate::ids::IdVec;
use crate::ir::{Function, InstId, ValueId};

/// The instruction that holds each block.
pub fn holders(function: &Function) -> Vec<Option<InstId>> {
    let mut holders = vec![None; function.blocks.len()];
    function.walk(function.entry, &mut |id, inst| {
        for block in inst.op.blocks() {
            holders[block.0 as usize] = Some(id);
        }
    });
    holders
}

/// How many operands read each value (`yield` and the like included).
pub fn uses(function: &Function) -> IdVec<ValueId, u32> {
    let mut counts: IdVec<ValueId, u32> = function.values.ids().map(|_| 0).collect();
    function.walk(function.entry, &mut |_, inst| inst.op.for_each_operand(|v| counts[v] += 1));
    counts
}
