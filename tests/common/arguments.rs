//! Arguments for any kernel: memory for its arrays, filled with numbers, and the argument struct
//! that describes it.

use kc::abi::{ArrayDescriptor, argument_layout};
use kc::ir::Module;
use kc::types::{Element, Layout, Scalar, Type};

/// Argument values.
pub struct Arguments {
    /// The argument struct, in words for its alignment.
    pub block: Vec<u64>,
    pub offsets: Vec<u32>,
    pub arrays: Vec<Memory>,
}

/// The memory of one array: its scalars one after the other.
pub struct Memory {
    pub words: Vec<u64>,
    /// Offset in bytes and type of each scalar.
    pub scalars: Vec<(usize, Scalar)>,
}

impl Arguments {
    /// Arrays have the first of `extents` that their rank asks for; `number` gives the bits of each
    /// number.
    pub fn new(module: &Module, types: &[Type], extents: [i32; 4], number: &mut dyn FnMut(Scalar) -> u64) -> Arguments {
        let (offsets, layout) = argument_layout(types, &module.structs);
        let mut filler = Filler { module, extents, number, arrays: Vec::new() };
        let mut block = vec![0u64; (layout.size as usize).div_ceil(8)];
        for (&ty, &offset) in types.iter().zip(&offsets) {
            filler.fill(ty, bytes(&mut block), offset as usize);
        }
        Arguments { block, offsets, arrays: filler.arrays }
    }
}

impl Memory {
    /// The first scalar that differs by more than rounding does.
    #[allow(dead_code, reason = "not every test compares what is computed in another order")]
    pub fn first_far(&self, other: &Memory) -> Option<usize> {
        let (a, b) = (words_as_bytes(&self.words), words_as_bytes(&other.words));
        let numbers = |of: &[u8]| -> Vec<Option<f64>> {
            let part = |&(offset, scalar): &(usize, Scalar)| float_in(&of[offset..][..scalar.size() as usize], scalar);
            self.scalars.iter().map(part).collect()
        };
        let (a, b) = (numbers(a), numbers(b));
        let most = a.iter().flatten().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
        let far = |(n, (a, b)): (usize, (&Option<f64>, &Option<f64>))| {
            let (Some(a), Some(b)) = (a, b) else {
                let (offset, scalar) = self.scalars[n];
                let bytes = |words| &words_as_bytes(words)[offset..][..scalar.size() as usize];
                return (bytes(&self.words) != bytes(&other.words)).then_some(n);
            };
            let near = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()) + 1e-6 * most;
            (!near).then_some(n)
        };
        a.iter().zip(&b).enumerate().find_map(far)
    }

    /// The number of the first scalar that differs; NaN are alike.
    pub fn first_difference(&self, other: &Memory) -> Option<usize> {
        let (a, b) = (words_as_bytes(&self.words), words_as_bytes(&other.words));
        self.scalars.iter().position(|&(offset, scalar)| {
            let size = scalar.size() as usize;
            let (a, b) = (&a[offset..offset + size], &b[offset..offset + size]);
            // Which NaN it is stays open.
            a != b && !(is_nan(a, scalar) && is_nan(b, scalar))
        })
    }
}

/// The number in these bytes, if they are a float.
#[allow(dead_code, reason = "as above")]
fn float_in(bytes: &[u8], scalar: Scalar) -> Option<f64> {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    kc::ir::Const::new(scalar, u64::from_le_bytes(bits)).as_float()
}

fn is_nan(bytes: &[u8], scalar: Scalar) -> bool {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    let constant = kc::ir::Const::new(scalar, u64::from_le_bytes(bits));
    constant.as_float().is_some_and(f64::is_nan)
}

fn bytes(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: every byte of a u64 is initialised, and u8 has no alignment.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len() * 8) }
}

fn words_as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

struct Filler<'a> {
    module: &'a Module,
    extents: [i32; 4],
    number: &'a mut dyn FnMut(Scalar) -> u64,
    arrays: Vec<Memory>,
}

impl Filler<'_> {
    /// Writes a value of a type.
    fn fill(&mut self, ty: Type, out: &mut [u8], offset: usize) {
        match ty {
            Type::Array(array) => {
                let descriptor = self.array(array.element, array.ndim);
                // SAFETY: the descriptor is plain data without padding.
                let raw: [u8; size_of::<ArrayDescriptor>()] = unsafe { std::mem::transmute(descriptor) };
                out[offset..offset + raw.len()].copy_from_slice(&raw);
            }
            Type::Struct(id) => {
                let module = self.module;
                for (n, field) in module.structs[id].fields.iter().enumerate() {
                    let at = Layout::step_offset(ty, n as u32, &module.structs) as usize;
                    self.fill(field.ty, out, offset + at);
                }
            }
            Type::Local(_) => panic!("kernels take no local arrays"),
            _ => {
                let scalar = ty.scalar_part().expect("a scalar or composite");
                let size = scalar.size() as usize;
                for n in 0..ty.scalar_count().expect("a scalar or composite") as usize {
                    let bits = (self.number)(scalar).to_le_bytes();
                    out[offset + n * size..][..size].copy_from_slice(&bits[..size]);
                }
            }
        }
    }

    fn array(&mut self, element: Element, ndim: u8) -> ArrayDescriptor {
        let structs = &self.module.structs;
        let layout = Layout::of_element(element, structs);
        let (mut shape, mut strides) = ([0; 4], [0; 4]);
        let mut stride = layout.size as i32;
        for d in (0..usize::from(ndim)).rev() {
            shape[d] = self.extents[d];
            strides[d] = stride;
            stride *= shape[d];
        }
        let count = stride as usize / layout.size as usize;
        let mut words = vec![0u64; (stride as usize).div_ceil(8)];
        let mut scalars = Vec::new();
        for n in 0..count {
            self.fill(element.into(), bytes(&mut words), n * layout.size as usize);
            self.scalars(element.into(), n * layout.size as usize, &mut scalars);
        }
        let data = words.as_mut_ptr().expose_provenance() as u64;
        self.arrays.push(Memory { words, scalars });
        ArrayDescriptor { data, grad: 0, shape, strides, ndim: ndim.into(), flags: 0 }
    }

    fn scalars(&self, ty: Type, offset: usize, out: &mut Vec<(usize, Scalar)>) {
        match ty {
            Type::Struct(id) => {
                for (n, field) in self.module.structs[id].fields.iter().enumerate() {
                    let at = Layout::step_offset(ty, n as u32, &self.module.structs) as usize;
                    self.scalars(field.ty, offset + at, out);
                }
            }
            Type::Array(_) | Type::Local(_) => {}
            _ => {
                let scalar = ty.scalar_part().expect("a scalar or composite");
                let size = scalar.size() as usize;
                out.extend((0..ty.scalar_count().unwrap_or(0) as usize).map(|n| (offset + n * size, scalar)));
            }
        }
    }
}
