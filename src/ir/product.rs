//! How is a product of matrices shared among the warps of a block? Each warp has patches of the
//! result, made of fragments, which are what one instruction of the hardware gives.

use crate::types::{Scalar, Type};

/// `c += a b` of tiles, by the instructions for matrices that a GPU's warps have
/// ([`Op::Product`](super::Op::Product)).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    pub part: Part,
    pub unit: Unit,
    /// Rows and columns of `c`, and the length of the sums.
    pub size: [u32; 3],
    /// Which factors are stored the other way: `a[l, i]`, `b[j, l]`.
    pub turned: [bool; 2],
}

/// What of a product is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// `c = a b`
    Set,
    /// `c += a b`
    Add,
    /// Takes the first patch of each warp out of `c`, into registers.
    Take,
    /// `c += a b`, except for the patches that were taken: they are given, and come back with their
    /// products.
    Keep,
    /// Puts the patches back.
    Put,
}

/// Which instruction multiplies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// `float16`, 16 or 8 of the inner index at once.
    F16,
    /// The same, 8 at once: what there was first.
    F16Short,
    Bf16,
    /// Numbers that are rounded to the 11 bits of TensorFloat-32.
    Tf32,
    /// One factor has no more bits than these; the other one is `float32`, and taken in two parts.
    Tf32Pair,
    F64,
}

/// The patches should be enough for so many warps.
const WARPS: u32 = 4;

/// A warp has at most so many fragments of a patch in its registers.
const MOST_FRAGMENTS: u32 = 16;

impl Part {
    pub const ALL: [Part; 5] = [Part::Set, Part::Add, Part::Take, Part::Keep, Part::Put];

    /// The word in IR text.
    pub fn name(self) -> &'static str {
        match self {
            Part::Set => "set",
            Part::Add => "add",
            Part::Take => "take",
            Part::Keep => "keep",
            Part::Put => "put",
        }
    }

    /// Whether it multiplies.
    pub fn has_factors(self) -> bool {
        matches!(self, Part::Set | Part::Add | Part::Keep)
    }

    /// Whether it is given what is in registers.
    pub fn is_given(self) -> bool {
        matches!(self, Part::Keep | Part::Put)
    }

    /// Whether it gives what is in registers.
    pub fn gives(self) -> bool {
        matches!(self, Part::Take | Part::Keep)
    }

    pub fn writes(self) -> bool {
        self != Part::Take
    }
}

impl Unit {
    pub const ALL: [Unit; 6] = [Unit::F16, Unit::F16Short, Unit::Bf16, Unit::Tf32, Unit::Tf32Pair, Unit::F64];

    /// The word in IR text and plans.
    pub fn name(self) -> &'static str {
        match self {
            Unit::F16 => "f16",
            Unit::F16Short => "f16_short",
            Unit::Bf16 => "bf16",
            Unit::Tf32 => "tf32",
            Unit::Tf32Pair => "tf32_pair",
            Unit::F64 => "f64",
        }
    }

    /// What sums are made in.
    pub fn sums(self) -> Scalar {
        if self == Unit::F64 { Scalar::F64 } else { Scalar::F32 }
    }

    /// Rows and columns of a fragment of the result, and how many of the inner index a step takes.
    pub fn fragment(self) -> [u32; 3] {
        match self {
            Unit::F16 | Unit::Bf16 => [16, 8, 16],
            Unit::F16Short | Unit::Tf32 | Unit::Tf32Pair => [16, 8, 8],
            Unit::F64 => [8, 8, 4],
        }
    }

    /// What rows, columns and inner length are multiples of. Of halves, the last step may be half
    /// of one.
    fn parts(self) -> [u32; 3] {
        let [row, column, step] = self.fragment();
        [row, column, if step == 16 { 8 } else { step }]
    }

    /// Whether fragments fill matrices of this size.
    pub fn fits(self, size: [u32; 3]) -> bool {
        size.iter().zip(self.parts()).all(|(&length, part)| length > 0 && length.is_multiple_of(part))
    }

    /// Why they do not.
    pub fn misfit(self, [rows, columns, inner]: [u32; 3]) -> Option<String> {
        let [row, column, step] = self.parts();
        let why = || format!("{rows} x {columns} x {inner} is not made of parts of {row} x {column} x {step}");
        (!self.fits([rows, columns, inner])).then(why)
    }
}

impl Product {
    /// Of four and four of the inner index in a step, thread `t` of four has `t` and `t + 4`; or
    /// `2 t` and `2 t + 1`, where both factors are read down a column: rows of an odd number of 16
    /// bytes then keep threads apart, as they do in the other order where rows are read.
    pub fn in_pairs(&self) -> bool {
        self.turned == [true, false]
    }

    /// The elements of a fragment that each thread of a warp has.
    pub fn elements(&self) -> u32 {
        let [row, column, _] = self.unit.fragment();
        row * column / 32
    }

    /// The fragments of a patch, down and across: as many as there are registers for, if there is a
    /// patch for each warp, and as square as can be, for then each element that is read serves
    /// most.
    pub fn patch(&self) -> [u32; 2] {
        let [row, column, _] = self.unit.fragment();
        let (down, across) = (self.size[0] / row, self.size[1] / column);
        let divisors = |n: u32| (1..=n.min(MOST_FRAGMENTS)).filter(move |part| n.is_multiple_of(*part));
        let enough = WARPS.min(down * across);
        let mut best = [1, 1];
        for part in divisors(down).flat_map(|d| divisors(across).map(move |a| [d, a])) {
            let patches = |[d, a]: [u32; 2]| (down / d) * (across / a);
            let edges = |[d, a]: [u32; 2]| d * row + a * column;
            let count = |[d, a]: [u32; 2]| d * a;
            let fits = count(part) <= MOST_FRAGMENTS && patches(part) >= enough;
            let more = count(part) > count(best) || count(part) == count(best) && edges(part) < edges(best);
            if fits && more {
                best = part;
            }
        }
        best
    }

    /// How many patches the result has, down and across.
    pub fn patches(&self) -> [u32; 2] {
        let ([row, column, _], [down, across]) = (self.unit.fragment(), self.patch());
        [self.size[0] / (row * down), self.size[1] / (column * across)]
    }

    /// Products that say the same give each element to the same thread.
    pub fn owners(&self) -> [u32; 6] {
        let ([rows, columns, _], [row, column, _], [down, across]) = (self.size, self.unit.fragment(), self.patch());
        [rows, columns, row, column, down, across]
    }

    /// What each thread has of a patch in registers.
    pub fn kept(&self) -> Type {
        let [down, across] = self.patch();
        Type::Vec((down * across * self.elements()) as u16, self.unit.sums())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(unit: Unit, size: [u32; 3]) -> Product {
        Product { part: Part::Add, unit, size, turned: [false; 2] }
    }

    #[test]
    fn patches_cover_the_result_and_are_enough_for_the_warps() {
        for unit in Unit::ALL {
            for size in [[16, 8, 16], [32, 32, 16], [64, 64, 32], [48, 40, 8], [128, 64, 16], [96, 24, 64]] {
                assert!(unit.fits(size), "{unit:?} {size:?}");
                let made = product(unit, size);
                let ([row, column, _], [down, across], [rows, columns]) =
                    (unit.fragment(), made.patch(), made.patches());
                assert_eq!([rows * down * row, columns * across * column], [size[0], size[1]], "{unit:?} {size:?}");
                assert!(down * across <= MOST_FRAGMENTS);
                assert!(rows * columns >= WARPS.min((size[0] / row) * (size[1] / column)), "{unit:?} {size:?}");
            }
        }
        assert_eq!(product(Unit::F16, [64, 64, 32]).patch(), [2, 4]);
        assert_eq!(product(Unit::F16, [32, 32, 16]).patch(), [1, 2]);
    }

    #[test]
    fn other_sizes_do_not_fit() {
        for (unit, size) in [
            (Unit::F16, [8, 8, 16]),
            (Unit::F16, [16, 12, 16]),
            (Unit::F16, [16, 8, 4]),
            (Unit::Tf32, [16, 8, 12]),
            (Unit::F64, [8, 8, 2]),
            (Unit::Bf16, [0, 8, 16]),
        ] {
            assert!(!unit.fits(size), "{unit:?} {size:?}");
        }
    }
}
