//! Which launches may run code for arrays without gaps that share no memory? Nearly all. That code
//! reads no strides, has wide accesses, and adds plainly to elements of one thread each
//! ([`ArrayLayout::Apart`]): on an H200 `sph density` takes 0.65 ms in place of 0.89.
//!
//! [`ArrayLayout::Apart`]: super::ArrayLayout::Apart

use crate::abi::{argument_layout, descriptor};
use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::codegen::shadow;
use crate::ir::{FuncId, Function, Module, Op};
use crate::types::{Layout, Type};

/// Pairs of more arrays than these are not compared at each launch.
const MOST_ARRAYS: usize = 16;

/// The most that an element is aligned to.
const MOST_ALIGN: u64 = 16;

/// The array parameters of a kernel, as its launches are looked at.
pub struct DenseArrays {
    arrays: Vec<Given>,
}

struct Given {
    /// Where its descriptor is in the struct of arguments.
    at: usize,
    /// Bytes of an element.
    element: u64,
    ndim: usize,
    written: bool,
    /// Where the descriptor of its adjoints is. Where they are not given, the gradient behind the
    /// array is written.
    adjoints: Option<usize>,
}

/// Memory from the first byte to the one behind its last.
struct Reach {
    start: u64,
    end: u64,
    written: bool,
}

impl DenseArrays {
    /// None: what arrays the kernel touches is not known from its parameters.
    pub fn of(module: &Module, kernel: FuncId) -> Option<DenseArrays> {
        let (module, shadows) = shadow::extract_all(module, &[kernel]);
        let function = &module.functions[kernel];
        let types: Vec<Type> = function.params().iter().map(|&param| function.ty(param)).collect();
        let written = written(&module, function)?;
        let (offsets, _) = argument_layout(&types, &module.structs);
        let adjoints = |n: usize| {
            let is = |place: &shadow::ArrayPath, n: usize| place.param == function.params()[n] && place.path.is_empty();
            let own = shadows.get(&kernel)?.iter().find(|shadow| is(&shadow.array, n))?;
            (0..types.len()).find(|&other| is(&own.given, other)).map(|other| offsets[other] as usize)
        };
        let mut arrays = Vec::new();
        for (n, (&ty, &at)) in types.iter().zip(&offsets).enumerate() {
            match ty {
                Type::Array(array) => arrays.push(Given {
                    at: at as usize,
                    element: Layout::of_element(array.element, &module.structs).size.into(),
                    ndim: array.ndim.into(),
                    written: written.contains(&(n as u32)),
                    adjoints: adjoints(n),
                }),
                // Structs may have arrays.
                Type::Struct(_) => return None,
                _ => {}
            }
        }
        let fits = !function.by_block && !arrays.is_empty() && arrays.len() <= MOST_ARRAYS;
        fits.then_some(DenseArrays { arrays })
    }

    /// Whether the arrays of these arguments have no gaps, lie at multiples of their elements, and
    /// share no memory with one that is written.
    pub fn fit(&self, args: &[u8]) -> bool {
        let mut found: Vec<Reach> = Vec::with_capacity(2 * self.arrays.len());
        for array in &self.arrays {
            let data = descriptor::number(args, array.at, descriptor::DATA, 8);
            let gradient = match array.adjoints {
                Some(adjoints) if descriptor::number(args, adjoints, descriptor::DATA, 8) == 0 => {
                    descriptor::number(args, array.at, descriptor::GRAD, 8)
                }
                _ => 0,
            };
            if data == 0 && gradient == 0 {
                continue;
            }
            let Some(bytes) = array.dense_bytes(args) else { return false };
            let align = 1 << array.element.trailing_zeros().min(MOST_ALIGN.trailing_zeros());
            if (data | gradient) & (align - 1) != 0 {
                return false;
            }
            for (start, written) in [(data, array.written), (gradient, true)] {
                let reach = Reach { start, end: start.saturating_add(bytes), written };
                let meets = |other: &Reach| (other.written || written) && other.start < reach.end && start < other.end;
                if start != 0 && bytes > 0 {
                    if found.iter().any(meets) {
                        return false;
                    }
                    found.push(reach);
                }
            }
        }
        true
    }
}

impl Given {
    /// The bytes of all elements; None: they have gaps.
    fn dense_bytes(&self, args: &[u8]) -> Option<u64> {
        let extent = |dim: usize| descriptor::number(args, self.at, descriptor::SHAPE + 4 * dim as u32, 4);
        if (0..self.ndim).any(|dim| extent(dim) == 0) {
            return Some(0);
        }
        let mut bytes = self.element;
        for dim in (0..self.ndim).rev() {
            let stride = descriptor::number(args, self.at, descriptor::STRIDES + 4 * dim as u32, 4);
            if extent(dim) > 1 && stride != bytes {
                return None;
            }
            bytes = bytes.checked_mul(extent(dim))?;
        }
        Some(bytes)
    }
}

/// The parameters that a kernel writes to, by number. None: it touches other arrays.
fn written(module: &Module, function: &Function) -> Option<Vec<u32>> {
    let mut effects = EffectTable::default();
    function.callees().into_iter().for_each(|callee| effects.cover(module, callee));
    let (mut known, mut written) = (true, Vec::new());
    function.walk(function.entry, &mut |_, inst| {
        if let Some(access) = inst.op.access() {
            let own = matches!(function.ty(access.array), Type::Local(_));
            match root(function, access.array) {
                _ if own => {}
                Root::Param(n, path) if path.is_empty() => {
                    if !matches!(inst.op, Op::Load(_)) {
                        written.push(n);
                    }
                }
                _ => known = false,
            }
        }
        known &= !matches!(inst.op, Op::ArrayAt { .. } | Op::Address(_) | Op::Gradient(_));
        // A function that is given arrays may write to them.
        known &= !matches!(inst.op, Op::Call(..)) || effects.properties(&inst.op).is_value();
    });
    known.then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of two dimensions of 4-byte numbers at an address, with its gradient.
    fn given(at: u64, gradient: u64, shape: [u32; 2], strides: [u32; 2]) -> Vec<u8> {
        let mut bytes = [at.to_le_bytes(), gradient.to_le_bytes()].concat();
        for four in [[shape[0], shape[1], 0, 0], [strides[0], strides[1], 0, 0], [2, 0, 0, 0]] {
            four.iter().take(4).for_each(|n| bytes.extend(n.to_le_bytes()));
        }
        bytes.truncate(56);
        bytes
    }

    /// `gradients`: the last array is of adjoints, which none has that is given.
    fn fit(arrays: &[Vec<u8>], written: &[usize], gradients: bool) -> bool {
        let adjoints = gradients.then(|| 56 * arrays.len());
        let of = |n: usize| Given { at: 56 * n, element: 4, ndim: 2, written: written.contains(&n), adjoints };
        let dense = DenseArrays { arrays: (0..arrays.len()).map(of).collect() };
        dense.fit(&arrays.concat())
    }

    #[test]
    fn arrays_without_gaps_that_lie_apart_fit() {
        let dense = |at| given(at, 0, [3, 4], [16, 4]);
        assert!(fit(&[dense(64), dense(64 + 48)], &[1], false));
        assert!(fit(&[dense(64), dense(64)], &[], false), "both are only read");
        assert!(!fit(&[dense(64), dense(64 + 44)], &[1], false));
        assert!(!fit(&[dense(64), dense(64)], &[0], false));
        assert!(!fit(&[dense(66)], &[], false), "no multiple of an element");
        assert!(!fit(&[given(64, 0, [3, 4], [20, 4])], &[], false));
        assert!(!fit(&[given(64, 0, [3, 4], [16, 8])], &[], false));
        assert!(!fit(&[given(64, 0, [3, 4], [0, 4])], &[], false), "rows that are one row");
        assert!(fit(&[given(64, 0, [1, 4], [999, 4])], &[], false), "a row has no next one");
        assert!(fit(&[given(64, 0, [0, 4], [1, 1]), dense(64)], &[1], false), "no element");
    }

    #[test]
    fn gradients_lie_apart_too() {
        let dense = |at, gradient| given(at, gradient, [3, 4], [16, 4]);
        assert!(fit(&[dense(64, 640), dense(128, 704)], &[], true));
        assert!(!fit(&[dense(64, 640), dense(128, 640)], &[], true));
        assert!(!fit(&[dense(64, 640), dense(640, 704)], &[], true));
        assert!(fit(&[dense(64, 640), dense(128, 640)], &[], false), "forward code knows none");
        assert!(fit(&[dense(0, 0), dense(128, 640)], &[0], true), "one that is not given");
    }
}
