//! Which box of which tensor does a copy take? Tensor maps of clients, as the simulator reads them.

use std::ffi::{c_int, c_uint};

use kc::sim::tensor_map::{BYTES, Field, MOST_RANK, TensorMap};

use crate::pointers::{In, Out};
use crate::status::{Result, Status};

/// The numbers of PTX for elements, by those of the driver API (`CUtensorMapDataType`).
const ELEMENTS: [u64; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12];

/// `cuTensorMapEncodeTiled`.
pub fn encode_tiled(
    map: Out<[u8; BYTES]>,
    element: c_int,
    rank: c_uint,
    address: u64,
    dims: In<u64>,
    strides: In<u64>,
    boxes: In<c_uint>,
    steps: In<c_uint>,
    interleave: c_int,
    swizzle: c_int,
    _: c_int,
    fill: c_int,
) -> Result {
    let rank = rank as usize;
    if !(1..=MOST_RANK).contains(&rank) {
        return invalid(format!("a tensor map of {rank} dimensions; there are 1 to {MOST_RANK}"));
    }
    let Some(&element) = usize::try_from(element).ok().and_then(|element| ELEMENTS.get(element)) else {
        return invalid(format!("a tensor map of elements of kind {element}"));
    };
    let mut bytes = [0; BYTES];
    let mut put = |field: Field, value: u64| field.put(&mut bytes, value);
    put(Field::Address, address);
    put(Field::Rank, rank as u64 - 1);
    put(Field::Element, element);
    put(Field::Interleave, interleave as u64);
    put(Field::Swizzle, swizzle as u64);
    put(Field::Fill, fill as u64);
    for n in 0..rank {
        let dim = dims.at(n)?;
        if dim == 0 || dim > u64::from(u32::MAX) {
            return invalid(format!("a tensor map with {dim} elements in dimension {n}; there are 1 to 2^32 - 1"));
        }
        put(Field::Dim(n), dim);
        put(Field::Box(n), boxes.at(n)?.into());
        put(Field::Step(n), steps.at(n)?.into());
    }
    for n in 0..rank - 1 {
        put(Field::Stride(n), strides.at(n)?);
    }
    TensorMap::read(&bytes).map_err(|why| Status::InvalidValue.because(why))?;
    map.set(bytes)
}

/// `cuTensorMapReplaceAddress`.
pub fn replace_address(map: Out<[u8; BYTES]>, address: u64) -> Result {
    let mut bytes = In::<[u8; BYTES]>::from_address(map.address()).get()?;
    Field::Address.put(&mut bytes, address);
    TensorMap::read(&bytes).map_err(|why| Status::InvalidValue.because(why))?;
    map.set(bytes)
}

fn invalid(why: String) -> Result {
    Err(Status::InvalidValue.because(why))
}
