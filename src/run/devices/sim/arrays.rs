//! Which array, and which element of it, is at an address?

use crate::abi::{argument_layout, descriptor};
use crate::types::{Layout, StructTable, Type};

/// An array of a launch, where it lies on the device.
#[derive(Clone, Debug)]
pub struct Region {
    pub name: String,
    pub start: u64,
    pub end: u64,
    pub shape: Vec<u64>,
    strides: Vec<i64>,
}

/// Says what lies at an address.
pub trait Places {
    /// `x[3, 4]`; None: nothing has this address.
    fn element(&self, address: u64) -> Option<String>;

    /// Where an address lies that nothing has: `8 bytes after the end of ...`.
    fn beside(&self, address: u64) -> Option<String>;
}

/// The arrays of a launch.
#[derive(Clone, Debug, Default)]
pub struct Arrays {
    pub list: Vec<Region>,
}

impl Arrays {
    /// The arrays that the argument struct in `block` describes.
    pub fn of(params: &[Type], names: &[String], structs: &StructTable, block: &[u8]) -> Arrays {
        let mut arrays = Arrays::default();
        let (offsets, _) = argument_layout(params, structs);
        for ((&ty, name), offset) in params.iter().zip(names).zip(offsets) {
            arrays.add(ty, name, offset, structs, block);
        }
        arrays
    }

    fn add(&mut self, ty: Type, name: &str, offset: u32, structs: &StructTable, block: &[u8]) {
        match ty {
            Type::Array(array) => {
                let at = |field: u32| (offset + field) as usize;
                let long = |field| crate::sim::word(block, at(field), 8);
                let int = |field: u32| crate::sim::word(block, at(field), 4) as i32;
                let dims = u32::from(array.ndim);
                let element = u64::from(Layout::of_element(array.element, structs).size);
                let shape: Vec<u64> = (0..dims).map(|d| int(descriptor::SHAPE + 4 * d).max(0) as u64).collect();
                let strides: Vec<i64> = (0..dims).map(|d| int(descriptor::STRIDES + 4 * d).into()).collect();
                for (field, suffix) in [(descriptor::DATA, ""), (descriptor::GRAD, ".grad")] {
                    let region =
                        Region::new(format!("{name}{suffix}"), long(field), element, shape.clone(), strides.clone());
                    self.list.extend(region);
                }
            }
            Type::Struct(id) => {
                for (n, field) in structs[id].fields.iter().enumerate() {
                    let at = offset + Layout::step_offset(ty, n as u32, structs);
                    self.add(field.ty, &format!("{name}.{}", field.name), at, structs, block);
                }
            }
            _ => {}
        }
    }
}

impl Places for Arrays {
    fn element(&self, address: u64) -> Option<String> {
        self.list.iter().find(|region| (region.start..region.end).contains(&address)).map(|r| r.element_at(address))
    }

    fn beside(&self, address: u64) -> Option<String> {
        let distance = |r: &&Region| if address < r.start { r.start - address } else { address - r.end.min(address) };
        let near = self.list.iter().min_by_key(distance)?;
        let what = format!("`{}`, which has shape {:?}", near.name, near.shape);
        Some(match address.checked_sub(near.end) {
            _ if distance(&near) > 1 << 20 => return None,
            Some(0) => format!("right after the end of {what}"),
            Some(after) => format!("{after} bytes after the end of {what}"),
            None if address < near.start => format!("{} bytes before {what}", near.start - address),
            None => format!("between elements of {what}"),
        })
    }
}

impl Region {
    /// None: it has no memory.
    pub fn new(name: String, start: u64, element: u64, shape: Vec<u64>, strides: Vec<i64>) -> Option<Region> {
        if start == 0 || shape.contains(&0) {
            return None;
        }
        let reach = |&(n, stride): &(&u64, &i64)| (*n as i64 - 1) * stride;
        let ends: Vec<i64> = shape.iter().zip(&strides).map(|pair| reach(&pair)).collect();
        let first: i64 = ends.iter().filter(|&&reach| reach < 0).sum();
        let last: i64 = ends.iter().filter(|&&reach| reach > 0).sum();
        let end = start.wrapping_add_signed(last) + element;
        Some(Region { name, start: start.wrapping_add_signed(first), end, shape, strides })
    }

    fn element_at(&self, address: u64) -> String {
        if self.strides.iter().any(|&stride| stride <= 0) {
            return format!("`{}`", self.name);
        }
        let mut rest = (address - self.start) as i64;
        let index: Vec<String> = self
            .strides
            .iter()
            .zip(&self.shape)
            .map(|(&stride, &extent)| {
                let at = (rest / stride).min(extent as i64 - 1);
                rest -= at * stride;
                at.to_string()
            })
            .collect();
        format!("`{}[{}]`", self.name, index.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_named_by_their_indices() {
        let region = Region::new("m".into(), 1000, 4, vec![3, 5], vec![20, 4]).expect("it has memory");
        let arrays = Arrays { list: vec![region] };
        assert_eq!(arrays.element(1000 + 20 + 8).as_deref(), Some("`m[1, 2]`"));
        assert_eq!(arrays.element(1060), None);
        let beside = arrays.beside(1068).expect("it is near");
        assert!(beside.starts_with("8 bytes after the end of `m`"), "{beside}");
        assert!(arrays.beside(996).expect("it is near").starts_with("4 bytes before `m`"));
        assert!(Region::new("e".into(), 1000, 4, vec![0], vec![4]).is_none());
    }
}
