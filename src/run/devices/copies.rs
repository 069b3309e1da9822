//! How do the arguments of a launch get to a device that has memory of its own? Arrays are copied,
//! and the descriptors in the arguments point to the copies.

use std::ffi::c_void;

use crate::abi::{LaunchBounds, argument_layout, descriptor};
use crate::diag::Code;
use crate::run::devices::engines::Ids;
use crate::run::{Result, fail};
use crate::types::{Layout, Scalar, StructTable, Type};

/// A piece of the host's memory: its address, its bytes, and the address of its copy.
pub type Piece = (u64, u64, u64);

/// The argument struct at `args`, with the arrays in `pieces` and the engines' ids of the device.
/// Words keep it aligned.
///
/// # Safety
/// `args` points to the argument struct of a kernel with these parameters.
pub unsafe fn arguments(
    args: *const c_void,
    params: &[Type],
    structs: &StructTable,
    pieces: &[Piece],
    ids: &Ids,
) -> Result<Vec<u64>> {
    let (offsets, layout) = argument_layout(params, structs);
    // SAFETY: the caller vouches for the argument struct.
    let source = unsafe { std::slice::from_raw_parts(args.cast::<u8>(), layout.size as usize) };
    let mut words = vec![0u64; source.len().div_ceil(8)];
    let block: &mut [u8] = bytes(&mut words);
    block[..source.len()].copy_from_slice(source);
    for (&ty, &offset) in params.iter().zip(&offsets) {
        translate(ty, offset, block, structs, pieces, ids)?;
    }
    Ok(words)
}

/// Makes the array descriptors in a parameter point to the device's copies.
fn translate(
    ty: Type,
    offset: u32,
    block: &mut [u8],
    structs: &StructTable,
    pieces: &[Piece],
    ids: &Ids,
) -> Result<()> {
    match ty {
        Type::Array(_) => {
            for at in [offset + descriptor::DATA, offset + descriptor::GRAD] {
                let place = &mut block[at as usize..at as usize + 8];
                let mut bytes = [0; 8];
                bytes.copy_from_slice(place);
                let host = u64::from_ne_bytes(bytes);
                if host == 0 {
                    continue;
                }
                let found = device_address(pieces, host);
                let device = found.ok_or_else(|| fail(Code::E0999, "an array lies outside the launch's memory"))?;
                place.copy_from_slice(&device.to_ne_bytes());
            }
        }
        Type::Struct(id) => {
            for (n, field) in structs[id].fields.iter().enumerate() {
                let at = offset + Layout::step_offset(ty, n as u32, structs);
                translate(field.ty, at, block, structs, pieces, ids)?;
            }
        }
        Type::Scalar(Scalar::U64) => {
            let place = &mut block[offset as usize..offset as usize + 8];
            let mut bytes = [0; 8];
            bytes.copy_from_slice(place);
            if let Some(id) = ids.on_device(u64::from_ne_bytes(bytes)) {
                place.copy_from_slice(&id.to_ne_bytes());
            }
        }
        _ => {}
    }
    Ok(())
}

/// The launch without the dimensions that a thread has no coordinate for, and how often it is
/// repeated in their place: device code knows its own dimensions only ([`LaunchBounds`]).
pub fn within_rank(bounds: &LaunchBounds, rank: usize) -> (LaunchBounds, u64) {
    let mut own = *bounds;
    let beyond = own.shape.iter_mut().skip(rank);
    let repeats = beyond.map(|extent| u64::from(std::mem::replace(extent, 1))).product::<u64>();
    // Without threads there is nothing to repeat.
    own.size = bounds.size.checked_div(repeats).unwrap_or(0);
    (own, repeats)
}

/// The bytes of words.
pub fn bytes(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: every byte of an initialised word is initialised, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Where a place of the host's memory lies on the device.
fn device_address(pieces: &[Piece], place: u64) -> Option<u64> {
    let inside = |&&(host, len, _): &&Piece| place.checked_sub(host).is_some_and(|at| at < len);
    // The end of a piece counts, for an empty array may lie there; but if another one begins there,
    // that has the place.
    let ends = |&&(host, len, _): &&Piece| place.checked_sub(host) == Some(len);
    let found = pieces.iter().find(inside).or_else(|| pieces.iter().find(ends));
    found.map(|(host, _, device)| device + (place - host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_between_two_pieces_is_in_the_second() {
        let pieces = [(1000, 64, 50_000), (1064, 32, 90_000), (2000, 0, 70_000)];
        let at = |place| device_address(&pieces, place);
        assert_eq!([at(1000), at(1063), at(1064), at(1095)], [50_000, 50_063, 90_000, 90_031].map(Some));
        assert_eq!([at(1096), at(2000)], [90_032, 70_000].map(Some));
        assert_eq!([at(999), at(1097), at(2001)], [None; 3]);
    }

    #[test]
    fn dimensions_beyond_the_rank_repeat_the_launch() {
        let (own, repeats) = within_rank(&LaunchBounds::new(&[3, 4, 5]).unwrap(), 1);
        assert_eq!((own, repeats), (LaunchBounds::new(&[3]).unwrap(), 20));
        let (own, repeats) = within_rank(&LaunchBounds::new(&[3, 0]).unwrap(), 1);
        assert_eq!((own.size, repeats), (0, 0));
        let whole = LaunchBounds::new(&[2, 3, 4, 5]).unwrap();
        assert_eq!(within_rank(&whole, 4), (whole, 1));
    }
}
