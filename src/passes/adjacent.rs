//! Neighbouring branches on one condition become one branch.
//!
//! What gradients add to one array is guarded each time by the question whether the array is there.
//! `if c { A } x if c { B }` is `x if c { A B }`: the first branch has no results, and the code
//! between neither reads nor writes memory.

use crate::analysis::effects::EffectTable;
use crate::ir::{BlockId, Function, Inst, InstId, Op, ValueId};

/// Joins what can be joined; says whether there was anything.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    let mut changed = false;
    for block in function.blocks.ids() {
        changed |= join(function, effects, block);
    }
    changed
}

/// The branch that the next one on its condition can be joined with.
struct Open {
    condition: ValueId,
    then: BlockId,
    otherwise: BlockId,
    /// Its place among the instructions that stay.
    at: usize,
}

fn join(function: &mut Function, effects: &EffectTable, block: BlockId) -> bool {
    let branches = |inst: InstId| matches!(function.insts[inst].op, Op::If { .. });
    if function.blocks[block].insts.iter().filter(|inst| branches(**inst)).count() < 2 {
        return false;
    }
    let old = std::mem::take(&mut function.blocks[block].insts);
    let count = old.len();
    let mut kept: Vec<InstId> = Vec::with_capacity(count);
    let mut open: Option<Open> = None;
    for id in old {
        if let Op::If { condition, then, otherwise } = function.insts[id].op {
            if let Some(first) = open.take_if(|open| open.condition == condition) {
                kept.remove(first.at);
                put_before(function, first.then, then);
                put_before(function, first.otherwise, otherwise);
            }
            if function.insts[id].results.is_empty()
                && falls_through(function, then)
                && falls_through(function, otherwise)
            {
                open = Some(Open { condition, then, otherwise, at: kept.len() });
                kept.push(id);
                continue;
            }
        }
        open = open.filter(|_| is_free_of_memory(function, effects, &function.insts[id]));
        kept.push(id);
    }
    let changed = kept.len() < count;
    function.blocks[block].insts = kept;
    changed
}

/// Moves the instructions of `first` in front of those of `second`. The end of `first` passes on
/// nothing.
fn put_before(function: &mut Function, first: BlockId, second: BlockId) {
    let mut insts = std::mem::take(&mut function.blocks[first].insts);
    insts.pop();
    insts.append(&mut function.blocks[second].insts);
    function.blocks[second].insts = insts;
}

/// Whether a branch goes on behind its `if`.
fn falls_through(function: &Function, block: BlockId) -> bool {
    let last = function.blocks[block].insts.last();
    last.is_some_and(|&last| matches!(function.insts[last].op, Op::Yield(_)))
}

/// Whether effects can be moved from before an instruction to behind it.
pub(super) fn is_free_of_memory(function: &Function, effects: &EffectTable, inst: &Inst) -> bool {
    let free = |op: &Op| {
        let properties = effects.properties(op);
        !properties.accesses_memory()
            && !properties.has_side_effect()
            && !properties.allocates
            && !matches!(op, Op::Break(_) | Op::Continue(_) | Op::Return(_))
    };
    let mut all = free(&inst.op);
    for block in inst.op.blocks() {
        function.walk(block, &mut |_, inst| all &= free(&inst.op));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::effects;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// How many branches the outer block of a kernel has after the pass, and its text.
    fn after(body: &str) -> (usize, String) {
        let text = format!(
            "kernel @k(%a: array(dtype=float32), %c: bool, %d: bool) rank 1 {{\n%i: int32 = thread_index 0\n%x: float32 = load %a[%i]\n{body}\nreturn\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (id, effects) = (module.find("k").unwrap(), effects(&module));
        let function = &mut module.functions[id];
        run(function, &effects);
        let outer = &function.blocks[function.entry].insts;
        let count = outer.iter().filter(|&&inst| matches!(function.insts[inst].op, Op::If { .. })).count();
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        (count, print(&module))
    }

    fn add(old: &str, condition: &str, value: &str) -> String {
        format!("if {condition} {{\n{old}: float32 = atomic add %a[%i], {value}\n}}\n")
    }

    #[test]
    fn additions_under_one_condition_share_a_branch() {
        let [one, two, three] = [("%p", "%x"), ("%q", "%y"), ("%r", "%y")].map(|(old, value)| add(old, "%c", value));
        let (count, text) = after(&format!("{one}%y: float32 = mul %x, %x\n{two}{three}"));
        assert_eq!(count, 1, "{text}");
        assert_eq!(text.matches("atomic add").count(), 3, "{text}");
        assert!(text.find("mul") < text.find("if"), "{text}");
    }

    #[test]
    fn nothing_moves_past_memory_or_another_condition() {
        for between in ["%y: float32 = load %a[%i]\n", "store %a[%i], %x\n", &add("%r", "%d", "%x")] {
            let expected = 2 + between.matches("if").count();
            let (count, text) = after(&format!("{}{between}{}", add("%p", "%c", "%x"), add("%q", "%c", "%x")));
            assert_eq!(count, expected, "{text}");
        }
    }

    #[test]
    fn results_of_the_second_branch_stay() {
        let second =
            "%y: float32 = if %c {\n%z: float32 = load %a[%i]\nyield %z\n} else {\nyield %x\n}\nstore %a[%i], %y\n";
        let (count, text) = after(&format!("{}{second}", add("%p", "%c", "%x")));
        assert_eq!(count, 1, "{text}");
        assert!(text.find("atomic") < text.find("%z"), "{text}");
        // The first one's are read by what is between.
        let (count, text) = after(&format!("{second}{}", add("%p", "%c", "%y")));
        assert_eq!(count, 2, "{text}");
    }
}
