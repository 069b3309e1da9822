//! Arrays that several launches share: they are bound once, and lent to the arguments of one launch
//! at a time.

use std::collections::{BTreeMap, HashMap};

use super::elements::{Leaf, leaves};
use super::memory::{self, Buffer};
use super::places::places;
use super::{Arguments, Binder, BoundArray, BufferOffset, Grad};
use crate::analysis::alias::Root;
use crate::diag::Code;
use crate::ir::Function;
use crate::run::launch::{ArrayArgument, Launch};
use crate::run::{Result, fail};
use crate::types::{ARRAY_DESCRIPTOR_SIZE, ArrayType, Layout, StructTable, Type};

/// Arrays that belong to no launch, by number. Each has memory of its own.
pub struct Shared {
    arguments: Arguments,
    /// What the elements of each array consist of.
    elements: Vec<(Vec<Leaf>, Layout)>,
}

/// The contents of some arrays at one moment: the buffer of each, and its bytes.
pub type Saved = Vec<(usize, Vec<u8>)>;

impl Shared {
    /// Reads or makes the arrays. `launch` says where the entries of its archive are; `structs` are
    /// those of the types.
    pub fn new(
        launch: &Launch,
        origin: &str,
        arrays: &[(ArrayType, ArrayArgument)],
        structs: &StructTable,
    ) -> Result<Shared> {
        let bytes = ARRAY_DESCRIPTOR_SIZE * arrays.len() as u32;
        let mut binder = Binder {
            launch,
            origin,
            structs,
            inputs: None,
            others: HashMap::new(),
            meshes: HashMap::new(),
            placed: BTreeMap::new(),
            budget: memory::available(),
            next: bytes,
            out: Arguments {
                block: Buffer::zeroed(bytes.into(), "the arrays of a launch program")?,
                buffers: Vec::new(),
                arrays: Vec::new(),
                parameters: Vec::new(),
                engines: Vec::new(),
                end: bytes,
            },
        };
        for (n, (ty, array)) in arrays.iter().enumerate() {
            let name = array.data.as_ref().map_or("", |data| &data.key);
            binder.array(name, array, *ty, ARRAY_DESCRIPTOR_SIZE * n as u32)?;
        }
        let element = |(ty, _): &(ArrayType, ArrayArgument)| {
            let leaves = leaves(ty.element.into(), structs).unwrap_or_default();
            (leaves, Layout::of_element(ty.element, structs))
        };
        Ok(Shared { elements: arrays.iter().map(element).collect(), arguments: binder.out })
    }

    /// Runs `f` with the arguments of a launch, in which the arrays that `given` names by parameter
    /// and fields are the shared ones of these numbers. `values` are the arguments for everything
    /// else, with null arrays.
    pub fn lend<T>(
        &mut self,
        mut values: Arguments,
        kernel: &Function,
        structs: &StructTable,
        given: &BTreeMap<(u32, Vec<u32>), usize>,
        f: impl FnOnce(&mut Arguments) -> T,
    ) -> Result<T> {
        // A buffer is in one place at a time.
        let mut moved: Vec<usize> = Vec::new();
        for place in places(kernel, structs) {
            let (Root::Param(param, fields), Type::Array(ty)) = (&place.root, place.ty) else { continue };
            let Some(&number) = given.get(&(*param, fields.clone())) else { continue };
            let array = self.arguments.arrays[number].clone();
            if !self.fits(number, ty, structs) {
                let message = format!(
                    "array `{}` is no `{}`, as another step takes it",
                    array.key,
                    Type::Array(ty).display(structs)
                );
                return Err(fail(Code::E1005, message));
            }
            let at = (ARRAY_DESCRIPTOR_SIZE * number as u32) as usize;
            let described = &self.arguments.block.bytes()[at..at + ARRAY_DESCRIPTOR_SIZE as usize];
            super::put(values.block.bytes_mut(), place.offset, described);
            let mut take = |from: BufferOffset| {
                let buffer = moved.iter().position(|&n| n == from.buffer).unwrap_or_else(|| {
                    moved.push(from.buffer);
                    moved.len() - 1
                });
                BufferOffset { buffer, origin: from.origin }
            };
            let own = take(array.place);
            let grad = array.grad.map(|grad| Grad { place: take(grad.place), ..grad });
            values.arrays.push(BoundArray { ty, offset: place.offset, place: own, grad, ..array });
        }
        let empty = |_: &usize| Buffer::zeroed(0, "nothing");
        let mut spare = moved.iter().map(empty).collect::<Result<Vec<Buffer>>>()?;
        for (&n, spare) in moved.iter().zip(&mut spare) {
            std::mem::swap(&mut self.arguments.buffers[n], spare);
        }
        // What `values` had of its own comes after.
        debug_assert!(values.buffers.is_empty(), "arrays are shared or null");
        values.buffers = spare;
        let result = f(&mut values);
        for (n, buffer) in moved.into_iter().zip(values.buffers) {
            self.arguments.buffers[n] = buffer;
        }
        Ok(result)
    }

    /// Whether an array can be passed where this type is expected. The types of two compilations
    /// are compared by what is in them.
    fn fits(&self, number: usize, ty: ArrayType, structs: &StructTable) -> bool {
        let (own, leaves_of) = (&self.elements[number], leaves(ty.element.into(), structs));
        let array = &self.arguments.arrays[number];
        array.ty.ndim == ty.ndim
            && leaves_of.as_ref() == Some(&own.0)
            && Layout::of_element(ty.element, structs) == own.1
    }

    fn buffers(&self, arrays: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut list: Vec<usize> = arrays.map(|number| self.arguments.arrays[number].place.buffer).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    /// The bytes that [`Self::save`] takes.
    pub fn bytes(&self, arrays: impl Iterator<Item = usize>) -> u64 {
        self.buffers(arrays).into_iter().map(|n| self.arguments.buffers[n].bytes().len() as u64).sum()
    }

    /// The contents of arrays, without their gradients.
    pub fn save(&self, arrays: impl Iterator<Item = usize>) -> Saved {
        self.buffers(arrays).into_iter().map(|n| (n, self.arguments.buffers[n].bytes().to_vec())).collect()
    }

    /// Puts contents back.
    pub fn restore(&mut self, saved: &Saved) {
        for (n, bytes) in saved {
            self.arguments.buffers[*n].bytes_mut().copy_from_slice(bytes);
        }
    }

    /// Sets all floats of the gradient of an array.
    pub fn set_gradient(&mut self, number: usize, value: f64, structs: &StructTable) {
        let array = self.arguments.arrays[number].clone();
        let count = self.arguments.floats(&array, true, structs).len();
        self.arguments.set_floats(&array, true, structs, &vec![value; count]);
    }

    /// The number of arrays.
    pub fn count(&self) -> usize {
        self.arguments.arrays.len()
    }

    /// As the arguments of one launch, for those who show and write results. Names change places:
    /// the array that is called `names[k].0` has the contents of number `names[k].1` and the
    /// gradient of number `names[k].2`.
    pub fn into_arguments(mut self, names: &[(String, usize, usize)]) -> Arguments {
        let old = std::mem::take(&mut self.arguments.arrays);
        let array = |(name, own, first): &(String, usize, usize)| {
            let grad = old[*first].grad.clone().map(|grad| Grad { key: format!("{name}.grad"), ..grad });
            BoundArray { key: name.clone(), grad, ..old[*own].clone() }
        };
        self.arguments.arrays = names.iter().map(array).collect();
        self.arguments
    }
}
