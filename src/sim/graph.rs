//! Where do the sides of a branch meet again? At the nearest instruction that every way to the end
//! passes: the immediate post-dominator of the block (K. Cooper, T. Harvey and K. Kennedy, "A
//! Simple, Fast Dominance Algorithm", 2001, on the reversed graph).

use super::code::{Inst, NOWHERE, Op};

/// A straight piece of code, by its first instruction and one beyond its last.
struct Block {
    start: usize,
    end: usize,
    next: Vec<usize>,
}

/// Sets where branches of the function `insts[range]` meet.
pub fn find_meetings(insts: &mut [Inst], range: std::ops::Range<usize>) {
    let blocks = blocks(insts, range);
    let meet = post_dominators(&blocks);
    for (block, meet) in blocks.iter().zip(meet) {
        let Some(last) = insts.get_mut(block.end - 1) else { continue };
        if matches!(last.op, Op::Branch { .. } | Op::Switch { .. }) {
            last.meet = meet.map_or(NOWHERE, |m| blocks[m].start as u32);
        }
    }
    // Threads that only have to leave need not wait for the others.
    for n in 0..insts.len() {
        let meet = insts[n].meet;
        if meet != NOWHERE && insts.get(meet as usize).is_some_and(leaves) {
            insts[n].meet = NOWHERE;
        }
    }
}

/// Whether an instruction ends the function for all that reach it.
pub fn leaves(inst: &Inst) -> bool {
    inst.guard.is_none() && matches!(inst.op, Op::Return | Op::Exit)
}

fn targets(inst: &Inst) -> &[u32] {
    match &inst.op {
        Op::Branch { target, .. } => std::slice::from_ref(target),
        Op::Switch { targets, .. } => targets,
        _ => &[],
    }
}

fn blocks(insts: &[Inst], range: std::ops::Range<usize>) -> Vec<Block> {
    let mut starts = vec![false; range.len() + 1];
    starts[0] = true;
    for n in range.clone() {
        for &target in targets(&insts[n]) {
            starts[target as usize - range.start] = true;
        }
        if ends(&insts[n]) {
            starts[n + 1 - range.start] = true;
        }
    }
    let firsts: Vec<usize> = range.clone().filter(|n| starts[n - range.start]).collect();
    let mut number = vec![0; range.len() + 1];
    for (k, &first) in firsts.iter().enumerate() {
        number[first - range.start] = k;
    }
    let end_of = |k: usize| firsts.get(k + 1).copied().unwrap_or(range.end);
    (0..firsts.len())
        .map(|k| {
            let end = end_of(k);
            let last = &insts[end - 1];
            let mut next: Vec<usize> = targets(last).iter().map(|&t| number[t as usize - range.start]).collect();
            let goes_on = match last.op {
                Op::Branch { .. } | Op::Return | Op::Exit | Op::Trap => last.guard.is_some(),
                Op::Switch { .. } => last.guard.is_some(),
                _ => true,
            };
            if goes_on && end < range.end {
                next.push(k + 1);
            }
            Block { start: firsts[k], end, next }
        })
        .collect()
}

fn ends(inst: &Inst) -> bool {
    matches!(inst.op, Op::Branch { .. } | Op::Switch { .. } | Op::Return | Op::Exit | Op::Trap)
}

/// For each block the one that all ways to the end pass next; None: the end itself.
fn post_dominators(blocks: &[Block]) -> Vec<Option<usize>> {
    let exit = blocks.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); blocks.len() + 1];
    for (k, block) in blocks.iter().enumerate() {
        for &next in &block.next {
            before[next].push(k);
        }
        // Threads may leave here.
        if block.next.is_empty() {
            before[exit].push(k);
        }
    }
    // The order of a depth-first walk backwards from the end.
    let mut order = Vec::with_capacity(blocks.len() + 1);
    let mut place = vec![usize::MAX; blocks.len() + 1];
    let mut seen = vec![false; blocks.len() + 1];
    let mut roots = vec![exit];
    // Endless loops have no way to the end: each begins a walk of its own.
    roots.extend((0..blocks.len()).rev());
    let mut reaches_end = 0;
    for root in roots {
        if seen[root] {
            continue;
        }
        let mut stack = vec![(root, 0)];
        seen[root] = true;
        while let Some((node, n)) = stack.pop() {
            match before[node].get(n) {
                Some(&next) => {
                    stack.push((node, n + 1));
                    if !seen[next] {
                        seen[next] = true;
                        stack.push((next, 0));
                    }
                }
                None => {
                    place[node] = order.len();
                    order.push(node);
                }
            }
        }
        if root == exit {
            reaches_end = order.len();
        }
    }
    let is_connected = |node: usize| place[node] < reaches_end;
    let mut nearest = vec![usize::MAX; blocks.len() + 1];
    nearest[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order[..reaches_end].iter().rev().skip(1) {
            let mut found = usize::MAX;
            let ways = &blocks[node].next;
            let after = ways.iter().copied().chain(ways.is_empty().then_some(exit)).filter(|&n| is_connected(n));
            for next in after.filter(|&next| nearest[next] != usize::MAX) {
                found = if found == usize::MAX { next } else { common(found, next, &nearest, &place) };
            }
            if found != nearest[node] {
                nearest[node] = found;
                changed = true;
            }
        }
    }
    (0..blocks.len()).map(|k| Some(nearest[k]).filter(|&n| n < exit)).collect()
}

fn common(mut a: usize, mut b: usize, nearest: &[usize], place: &[usize]) -> usize {
    while a != b {
        while place[a] < place[b] {
            a = nearest[a];
        }
        while place[b] < place[a] {
            b = nearest[b];
        }
    }
    a
}
