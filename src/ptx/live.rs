//! How many registers does a kernel need? Those whose values are wanted later, at the place where
//! they are most.

use super::{Base, Body, Function, Instruction, Module, Operand, Register};

/// The most 32-bit registers that are live at once; predicates have registers of their own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Live {
    pub all: u32,
    /// Without what follows from parameters, constants and the number of the block alone: the
    /// threads of a warp share it.
    pub of_threads: u32,
}

/// More bits of state than this are not looked at.
const MOST: usize = 1 << 31;

/// Of a kernel, with the function beside it that needs most. None: it has no body, or is too large.
pub fn live(module: &Module, entry: &str) -> Option<Live> {
    let kernel = of_function(module.function(entry)?)?;
    let mut most = Live::default();
    for function in module.functions.iter().filter(|f| !f.is_entry && f.body.is_some()) {
        let found = of_function(function)?;
        most = Live { all: most.all.max(found.all), of_threads: most.of_threads.max(found.of_threads) };
    }
    Some(Live { all: kernel.all + most.all, of_threads: kernel.of_threads + most.of_threads })
}

fn of_function(function: &Function) -> Option<Live> {
    let body = function.body.as_ref()?;
    let blocks = blocks(&body.instructions);
    let words = body.registers.len().div_ceil(64);
    if blocks.len().checked_mul(words * 64)? > MOST {
        return None;
    }
    let mut starts = vec![vec![0u64; words]; blocks.len()];
    let at_end = |starts: &[Vec<u64>], block: &Block| {
        let mut set = vec![0u64; words];
        block.next.iter().for_each(|&n| set.iter_mut().zip(&starts[n]).for_each(|(a, b)| *a |= b));
        set
    };
    let shared = shared(body);
    let mut walk = Walk { body, shared: &shared, set: Vec::new(), now: Live::default(), most: Live::default() };
    let mut changed = true;
    while changed {
        changed = false;
        for (n, block) in blocks.iter().enumerate().rev() {
            walk.begin(at_end(&starts, block));
            body.instructions[block.start..block.end].iter().rev().for_each(|i| walk.back(i));
            changed |= walk.set != starts[n];
            starts[n].clone_from(&walk.set);
        }
    }
    Some(walk.most)
}

/// Goes through a block from its end. Sets only grow from round to round, so that the most of all
/// rounds is that of the last.
struct Walk<'a, 't> {
    body: &'a Body<'t>,
    /// Whether the threads of a warp share a register.
    shared: &'a [bool],
    set: Vec<u64>,
    now: Live,
    most: Live,
}

impl Walk<'_, '_> {
    fn begin(&mut self, set: Vec<u64>) {
        self.set = vec![0; set.len()];
        self.now = Live::default();
        for (word, bits) in (0..).zip(set) {
            (0..64).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| self.change(64 * word + bit, true));
        }
        self.note();
    }

    fn back(&mut self, instruction: &Instruction) {
        // A result that nobody reads has a register for a moment, too.
        registers(instruction, &mut |register, writes| {
            if writes {
                self.change(register, true);
            }
        });
        self.note();
        if instruction.guard.is_none() {
            registers(instruction, &mut |register, writes| {
                if writes {
                    self.change(register, false);
                }
            });
        }
        registers(instruction, &mut |register, writes| {
            if !writes {
                self.change(register, true);
            }
        });
        self.note();
    }

    fn note(&mut self) {
        self.most.all = self.most.all.max(self.now.all);
        self.most.of_threads = self.most.of_threads.max(self.now.of_threads);
    }

    fn change(&mut self, register: Register, live: bool) {
        let at = register as usize;
        let Some(ty) = self.body.registers.get(at) else { return };
        let bit = 1 << (at % 64);
        if (self.set[at / 64] & bit != 0) == live {
            return;
        }
        self.set[at / 64] ^= bit;
        let weight = if ty.bits == 1 { 0 } else { ty.bits.div_ceil(32) };
        for (count, counts) in [(&mut self.now.all, true), (&mut self.now.of_threads, !self.shared[at])] {
            *count = if live { *count + weight * u32::from(counts) } else { *count - weight * u32::from(counts) };
        }
    }
}

/// For each register of a function, whether one instruction at most names it. Then nothing reads
/// its value.
pub fn stand_alone(body: &Body) -> Vec<bool> {
    let mut counts = vec![0u32; body.registers.len()];
    for instruction in &body.instructions {
        registers(instruction, &mut |register, _| {
            if let Some(count) = counts.get_mut(register as usize) {
                *count += 1;
            }
        });
    }
    counts.into_iter().map(|count| count <= 1).collect()
}

/// The registers of an instruction, and whether it writes them.
fn registers(instruction: &Instruction, see: &mut dyn FnMut(Register, bool)) {
    if let Some((guard, _)) = instruction.guard {
        see(guard, false);
    }
    let writes = match instruction.opcode {
        "st" | "red" | "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "membar" | "fence" | "prefetch" | "cp"
        | "prefetchu" | "nanosleep" | "setmaxnreg" | "griddepcontrol" | "stmatrix" | "tensormap" => false,
        "mbarrier" => {
            const RESULTS: [&str; 5] = ["arrive", "arrive_drop", "test_wait", "try_wait", "pending_count"];
            instruction.modifiers.first().is_some_and(|name| RESULTS.contains(name))
        }
        "bar" | "barrier" => instruction.modifiers.contains(&"red"),
        // Results come through variables, if not before the name of the function.
        "call" => matches!(instruction.operands.get(1), Some(Operand::Function(_))),
        _ => true,
    };
    for (n, operand) in instruction.operands.iter().enumerate() {
        // Products of warpgroups add to their results.
        if n == 0 && instruction.opcode == "wgmma" {
            of_operand(operand, false, see);
        }
        of_operand(operand, writes && n == 0, see);
    }
}

fn of_operand(operand: &Operand, writes: bool, see: &mut dyn FnMut(Register, bool)) {
    match operand {
        Operand::Register(register) | Operand::Not(register) | Operand::Second(register) => see(*register, writes),
        Operand::Pair(first, second) => {
            see(*first, writes);
            see(*second, writes);
        }
        // An address is read, whoever asks for it.
        Operand::Address(Base::Register(register), _) => see(*register, false),
        Operand::InTensor { base, coordinates, .. } => {
            if let Base::Register(register) = base {
                see(*register, false);
            }
            coordinates.iter().for_each(|one| of_operand(one, false, see));
        }
        Operand::Vector(list) | Operand::List(list) => list.iter().for_each(|one| of_operand(one, writes, see)),
        Operand::Address(Base::Variable(_) | Base::Zero, _)
        | Operand::Int(_)
        | Operand::F32(_)
        | Operand::F64(_)
        | Operand::Special(_)
        | Operand::Variable { .. }
        | Operand::Function(_)
        | Operand::Label(_)
        | Operand::Targets(_)
        | Operand::Sink => {}
    }
}

/// The registers whose values follow from parameters, constants and the number of the block alone.
fn shared(body: &Body) -> Vec<bool> {
    let mut shared = vec![true; body.registers.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for instruction in &body.instructions {
            let from_params = instruction.modifiers.iter().any(|m| m.starts_with("param") || *m == "const");
            let mut differs = match instruction.opcode {
                "ld" => !from_params,
                "atom" | "shfl" | "match" | "activemask" | "call" | "redux" | "vote" => true,
                _ => instruction.guard.is_some_and(|(guard, _)| !shared[guard as usize]),
            };
            let is_own = |special: &str| special.starts_with("tid") || special.starts_with("laneid");
            differs |= instruction.operands.iter().any(|o| matches!(o, Operand::Special(special) if is_own(special)));
            registers(instruction, &mut |register, writes| {
                differs |= !writes && !shared.get(register as usize).copied().unwrap_or(false);
            });
            if differs {
                registers(instruction, &mut |register, writes| {
                    if writes && let Some(known) = shared.get_mut(register as usize) {
                        changed |= std::mem::replace(known, false);
                    }
                });
            }
        }
    }
    shared
}

/// Instructions that run one after the other.
struct Block {
    start: usize,
    end: usize,
    next: Vec<usize>,
}

fn targets(instruction: &Instruction) -> Vec<usize> {
    let of = |operand: &Operand| match operand {
        Operand::Label(target) => vec![*target],
        Operand::Targets(list) => list.clone(),
        _ => Vec::new(),
    };
    instruction.operands.iter().flat_map(of).collect()
}

fn blocks(instructions: &[Instruction]) -> Vec<Block> {
    let count = instructions.len();
    let mut firsts = vec![false; count + 1];
    firsts[0] = true;
    let leaves = |i: &Instruction| matches!(i.opcode, "bra" | "brx" | "ret" | "exit" | "trap");
    for (n, instruction) in instructions.iter().enumerate() {
        targets(instruction).into_iter().for_each(|target| firsts[target.min(count)] = true);
        firsts[n + 1] |= leaves(instruction);
    }
    let starts: Vec<usize> = (0..count).filter(|&n| firsts[n]).collect();
    let of_instruction = |at: usize| starts.binary_search(&at).ok();
    let block = |(k, &start): (usize, &usize)| {
        let end = starts.get(k + 1).copied().unwrap_or(count);
        let last = &instructions[end - 1];
        let mut next: Vec<usize> = targets(last).into_iter().filter_map(of_instruction).collect();
        if !leaves(last) || last.guard.is_some() {
            next.extend(of_instruction(end));
        }
        Block { start, end, next }
    };
    starts.iter().enumerate().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Live {
        let text = format!(
            ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;\n{body}\n}}\n"
        );
        let module = crate::ptx::parse(&text).expect("PTX");
        live(&module, "k").expect("a body")
    }

    #[test]
    fn values_live_from_their_write_to_their_last_read() {
        // The address and the thread; then two numbers beside the address.
        let straight = "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; add.s32 %r1, %r0, 1; mul.lo.s32 %r2, %r0, %r1; \
                        st.global.u32 [%rd0], %r2; ret;";
        assert_eq!(of(straight), Live { all: 4, of_threads: 2 });
        // Nobody reads it, and it has a register for a moment.
        assert_eq!(of("mov.u32 %r0, %tid.x; ret;"), Live { all: 1, of_threads: 1 });
        assert_eq!(of("ret;"), Live { all: 0, of_threads: 0 });
    }

    #[test]
    fn loops_and_guards_keep_values() {
        // %r1 is wanted again in the next round, while %r2 is counted: with the address, two and
        // two.
        let rounds = "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid;\n\
                      L: add.s32 %r0, %r0, %r1; setp.lt.s32 %p0, %r0, 99; @%p0 bra L;\n\
                      st.global.u32 [%rd0], %r0; ret;";
        assert_eq!(of(rounds), Live { all: 4, of_threads: 2 });
        // What stood in %r1 before may stay.
        let guarded = "mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; mov.u32 %r2, %tid.y; setp.eq.s32 %p0, %r0, 3;\n\
                       @%p0 mov.u32 %r1, %r2; ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], %r1; ret;";
        assert_eq!(of(guarded), Live { all: 3, of_threads: 3 });
    }
}
