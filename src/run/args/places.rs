//! Where does each argument lie? What a launch says about its kernel's parameters, which arrays are
//! one, and whose element an address is.

use super::{Arguments, BoundArray, BufferOffset};
use crate::abi::{LaunchBounds, argument_layout};
use crate::analysis::alias::Root;
use crate::analysis::ranges::LaunchFacts;
use crate::diag::Code;
use crate::ir::{Const, Function, eval};
use crate::run::{Result, fail};
use crate::types::{Layout, MAX_DIMS, StructTable, Type};

/// A parameter of a kernel, or a field inside one.
pub(super) struct ParamPlace {
    pub root: Root,
    pub ty: Type,
    /// In the argument struct.
    pub offset: u32,
}

/// All parameters and their fields, structs aside.
pub(super) fn places(kernel: &Function, structs: &StructTable) -> Vec<ParamPlace> {
    fn add(param: u32, fields: &[u32], ty: Type, offset: u32, structs: &StructTable, out: &mut Vec<ParamPlace>) {
        let Type::Struct(id) = ty else {
            return out.push(ParamPlace { root: Root::Param(param, fields.to_vec()), ty, offset });
        };
        for (k, field) in structs[id].fields.iter().enumerate() {
            let inner = [fields, &[k as u32]].concat();
            add(param, &inner, field.ty, offset + Layout::step_offset(ty, k as u32, structs), structs, out);
        }
    }
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    let mut out = Vec::new();
    for (n, (ty, offset)) in types.iter().zip(argument_layout(&types, structs).0).enumerate() {
        add(n as u32, &[], *ty, offset, structs, &mut out);
    }
    out
}

impl Arguments {
    /// What a launch on these arguments says about the kernel's parameters.
    pub fn launch_facts(&self, kernel: &Function, structs: &StructTable, bounds: &LaunchBounds) -> LaunchFacts {
        let mut facts = LaunchFacts { threads: bounds.shape, ..LaunchFacts::default() };
        for ParamPlace { root, ty, offset } in places(kernel, structs) {
            if let Some(array) = self.arrays.iter().find(|array| array.offset == offset) {
                let mut extents = [0; MAX_DIMS];
                extents.iter_mut().zip(&array.shape).for_each(|(to, &n)| *to = n);
                facts.extents.insert(root, extents);
            } else if let Some(scalar) = ty.as_scalar().filter(|scalar| scalar.is_int())
                && let Some(bytes) = self.bytes_at(offset, scalar.size())
            {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                let bits: Const = eval::from_memory(scalar, u64::from_le_bytes(word));
                facts.integers.extend(bits.as_int().map(|value| (root, value)));
            }
        }
        facts
    }

    /// The pairs of parameters that are one array. With `gradient` wanted, fails where two such
    /// have gradients of their own, or differ in what a store does to them: whose a gradient is
    /// would be open.
    pub fn same_arrays(&self, kernel: &Function, structs: &StructTable, gradient: bool) -> Result<Vec<(Root, Root)>> {
        let roots: Vec<ParamPlace> = places(kernel, structs);
        let root = |array: &BoundArray| roots.iter().find(|p| p.offset == array.offset).map(|p| p.root.clone());
        let mut pairs = Vec::new();
        let own =
            |array: &BoundArray| array.grad.as_ref().map(|grad| (grad.place.buffer, grad.external, array.retain_grad));
        for (n, other) in self.arrays.iter().enumerate() {
            let same = |first: &&BoundArray| first.place.buffer == other.place.buffer;
            let Some(first) = self.arrays[..n].iter().find(same) else {
                let buffer = |array: &BoundArray| array.grad.as_ref().map(|grad| grad.place.buffer);
                let shared = |first: &&BoundArray| buffer(first).is_some() && buffer(first) == buffer(other);
                if let Some(first) = self.arrays[..n].iter().find(shared).filter(|_| gradient) {
                    let message = format!("`{}` and `{}` are two arrays with one gradient", first.key, other.key);
                    return Err(fail(Code::E1010, message));
                }
                continue;
            };
            if gradient && own(other).is_some() && own(first) != own(other) {
                let message = format!(
                    "one array is passed for two parameters (`{}`), with different gradients or settings of them",
                    first.key
                );
                return Err(fail(Code::E1010, message));
            }
            pairs.extend(root(first).zip(root(other)));
        }
        Ok(pairs)
    }

    /// The arrays that one of these parameters is, and those whose elements may overlap among
    /// themselves if they are one of `written`. `roots`: None for all.
    pub fn arrays_of<'a>(
        &'a self,
        kernel: &Function,
        structs: &StructTable,
        roots: impl Fn(&Root) -> bool,
        written: impl Fn(&Root) -> bool,
    ) -> Vec<&'a BoundArray> {
        let places = places(kernel, structs);
        let wanted = |array: &&BoundArray| {
            let place = places.iter().find(|place| place.offset == array.offset);
            place.is_none_or(|p| roots(&p.root) || written(&p.root) && array.may_overlap_itself(structs))
        };
        self.arrays.iter().filter(wanted).collect()
    }

    /// An array with a gradient whose elements may share memory, so that those of its gradient do.
    pub fn gradient_that_overlaps_itself(&self, structs: &StructTable) -> Option<&BoundArray> {
        self.arrays.iter().find(|array| {
            let gradient = array.grad.as_ref().is_some_and(|grad| self.address(grad.place) != 0);
            gradient && array.may_overlap_itself(structs)
        })
    }

    /// The addresses from the first byte of an array to the end of the last, and of its gradient.
    pub fn addresses(&self, array: &BoundArray, structs: &StructTable) -> Vec<(u64, u64)> {
        let (low, high) = array.reach(structs);
        let of = |place: BufferOffset| {
            let start = self.address(place);
            (start != 0).then(|| (start.wrapping_add_signed(low), start.wrapping_add_signed(high)))
        };
        [Some(array.place), array.grad.as_ref().map(|grad| grad.place)].into_iter().flatten().filter_map(of).collect()
    }

    /// What lies at an address, as a person would write it: `x[3]`, or `x.grad[3]`.
    pub fn element_at(&self, address: u64, structs: &StructTable) -> Option<String> {
        for array in &self.arrays {
            let (low, high) = array.reach(structs);
            let grad = array.grad.as_ref().map(|grad| (&grad.key, grad.place));
            for (key, place) in [Some((&array.key, array.place)), grad].into_iter().flatten() {
                let from = address.wrapping_sub(self.address(place)).cast_signed();
                if self.address(place) != 0 && (low..high).contains(&from) {
                    return Some(format!("{key}{}", array.index_of(from - low)));
                }
            }
        }
        None
    }
}

impl BoundArray {
    /// Bytes from the first element down to the lowest, and up to the end of the highest.
    fn reach(&self, structs: &StructTable) -> (i64, i64) {
        let (mut low, mut high) = (0, i64::from(Layout::of_element(self.ty.element, structs).size));
        for (&n, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = i64::from(n.max(1) - 1) * stride;
            if reach < 0 { low += reach } else { high += reach }
        }
        if self.shape.contains(&0) { (0, 0) } else { (low, high) }
    }

    /// The dimensions with more than one element, by growing strides.
    fn by_stride(&self) -> Vec<(usize, i64, i64)> {
        let dims = self.shape.iter().zip(&self.strides).enumerate();
        let mut dims: Vec<_> = dims.map(|(d, (&n, &stride))| (d, i64::from(n), stride)).filter(|d| d.1 > 1).collect();
        dims.sort_by_key(|&(_, _, stride)| stride.abs());
        dims
    }

    /// Whether strides are too small to tell that no two elements share a byte.
    fn may_overlap_itself(&self, structs: &StructTable) -> bool {
        let mut bytes = i64::from(Layout::of_element(self.ty.element, structs).size);
        self.by_stride().into_iter().any(|(_, n, stride)| {
            let overlaps = stride.abs() < bytes;
            bytes += (n - 1) * stride.abs();
            overlaps
        })
    }

    /// `[2, 3]`: the indices of the element so many bytes above the lowest one.
    fn index_of(&self, from: i64) -> String {
        let (mut rest, mut index) = (from, vec![0; self.shape.len()]);
        for (dim, n, stride) in self.by_stride().into_iter().rev() {
            let step = (rest / stride.abs().max(1)).min(n - 1);
            rest -= step * stride.abs();
            index[dim] = if stride < 0 { n - 1 - step } else { step };
        }
        format!("{index:?}")
    }
}
