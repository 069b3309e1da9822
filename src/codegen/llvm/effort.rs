//! How much work may LLVM put into a module?
//!
//! Several of its passes take a time that grows with the square of a function: scalar evolution,
//! which loop passes throw away and make again for each loop; the scheduler, which compares all
//! accesses of a block; registers. For what people write that is nothing. These budgets keep a
//! function of thousands of lines from taking minutes. Times are those of LLVM 22 on one core of a
//! Zen 5.

use super::options::Opt;

/// With more instructions than this in one function, the costly passes take seconds.
const COSTLY_INSTRUCTIONS: usize = 12_000;

/// Likewise of blocks: loop passes took 16 s for 500 loops one after another (3,500 blocks), and
/// take 0.8 s for as many as this.
const COSTLY_BLOCKS: usize = 800;

/// Likewise of the instructions of one block, in which those passes find little that the others
/// leave: 3,000 took half a second.
const COSTLY_BLOCK: usize = 3_000;

/// With more instructions than this in one function, device code for [`Opt::Full`] is made like the
/// lean one: the search for common parts of addresses (straight-line strength reduction) takes time
/// in the square of their number, seconds from here on.
const DEVICE_INSTRUCTIONS: usize = 8_000;

/// Likewise of blocks: 300 loops one after another (2,100 blocks) took 6 s, and take 0.5 s.
const DEVICE_BLOCKS: usize = 800;

/// Likewise of the instructions of one block: the sum of 1,000 elements (6,000) took 2.2 s, and
/// takes 0.2 s; 500 dependent statements (3,500) took 3 times as long as 250.
const DEVICE_BLOCK: usize = 2_000;

/// With a block of more instructions than this the scheduler takes seconds: 7 of the 8 s that the
/// product of two 12 x 12 matrices with its gradient (9,000 in one block) took. The code of level
/// [`Opt::Lean`] was as fast.
const SCHEDULED: usize = 1_500;

/// With a block of more instructions than this, the passes that compare all accesses of a loop take
/// long: the sum of 2,500 elements (17,500 instructions) took 5 s, that of 1,000 took 0.6 s of 1.9,
/// and found nothing to do.
const ACCESSES_BLOCK: usize = 2_000;

/// With a block of more instructions than this, scalars are not put into vectors, for which the
/// block is gone through again and again. Newton's forces of contacts between bodies (700 in a
/// block) take a quarter less with it.
const VECTORISED_BLOCK: usize = 1_000;

/// With more than this in one function, or in one block, code is made without looking at it as a
/// whole. It runs 1.4 to 4 times as long (MuJoCo's kernel of contacts between primitives 4,
/// Newton's `update_duals_joint` 1.8), so that functions call others before they become so large;
/// with registers and strengths of loops the code of 500 loops took 5 to 13 s, and takes 0.1 to 0.3
/// s.
const CODE_INSTRUCTIONS: usize = 24_000;
const CODE_BLOCKS: usize = 1_200;
const CODE_BLOCK: usize = 12_000;

/// The largest of each over the functions of a module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// Of a function.
    pub instructions: usize,
    /// Of a function.
    pub blocks: usize,
    /// Instructions of a basic block.
    pub block: usize,
}

impl Size {
    /// Whether passes may run that take more than a time linear in the function.
    pub fn bears_costly_passes(self) -> bool {
        self.instructions <= COSTLY_INSTRUCTIONS && self.blocks <= COSTLY_BLOCKS && self.block <= COSTLY_BLOCK
    }

    /// Whether passes may run that compare each access of a loop with all others.
    pub fn bears_passes_on_accesses(self) -> bool {
        self.block <= ACCESSES_BLOCK
    }

    /// Whether scalars of a block may be put into vectors.
    pub fn bears_vectors_of_scalars(self) -> bool {
        self.block <= VECTORISED_BLOCK
    }

    /// Whether device code may be optimised in full.
    pub fn bears_device_passes(self) -> bool {
        self.instructions <= DEVICE_INSTRUCTIONS && self.blocks <= DEVICE_BLOCKS && self.block <= DEVICE_BLOCK
    }

    /// Whether functions have to call what was inlined into them, or code would be made without
    /// looking at them as a whole. The passes leave two thirds of their blocks.
    pub fn wants_parts(self) -> bool {
        self.instructions > CODE_INSTRUCTIONS || self.blocks > CODE_BLOCKS + CODE_BLOCKS / 2
    }

    /// As which level machine code is made of a module optimised in full.
    pub fn code(self) -> Opt {
        if self.instructions > CODE_INSTRUCTIONS || self.blocks > CODE_BLOCKS || self.block > CODE_BLOCK {
            Opt::None
        } else if self.block > SCHEDULED {
            Opt::Lean
        } else {
            Opt::Full
        }
    }
}
