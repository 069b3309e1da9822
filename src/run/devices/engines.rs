//! How do meshes, trees of boxes, hash grids and textures get to a device that has memory of its
//! own? Their arrays and headers are copied, the addresses in the headers changed, and so are the
//! ids in the arguments of the launch, and in its arrays of uint64 and of structs.

use std::collections::BTreeMap;
use std::ffi::c_void;

use super::copies::Piece;
use super::sim::host_bytes as host;
use crate::abi::{argument_layout, descriptor};
use crate::engines::registry;
use crate::run::Result;
use crate::types::{ArrayType, Layout, Scalar, StructTable, Type};

const U64: Type = Type::Scalar(Scalar::U64);

/// Where the arguments of a launch hold ids of engines.
#[derive(Default)]
pub struct Ids {
    found: Vec<u64>,
    arrays: Vec<Words>,
    /// The id on the device of each that has been copied, and back.
    there: BTreeMap<u64, u64>,
    here: BTreeMap<u64, u64>,
}

/// The words in an array that may be ids.
struct Words {
    data: u64,
    shape: Vec<u64>,
    strides: Vec<i64>,
    /// Where they are in an element.
    offsets: Vec<u32>,
}

impl Words {
    /// Those of an array of this type whose descriptor is in a block. None: it has none.
    fn of(array: ArrayType, block: &[u8], offset: u32, structs: &StructTable) -> Option<Words> {
        let mut offsets = Vec::new();
        words_in(array.element.into(), 0, structs, &mut offsets);
        let data = word(block, offset + descriptor::DATA);
        let at = |k: u32| word(block, offset + k) as u32 as i32;
        let dims = 0..u32::from(array.ndim);
        let shape: Vec<u64> = dims.clone().map(|d| at(descriptor::SHAPE + 4 * d).max(0) as u64).collect();
        let strides = dims.map(|d| i64::from(at(descriptor::STRIDES + 4 * d))).collect();
        let there = data != 0 && data.is_multiple_of(8) && !offsets.is_empty() && !shape.contains(&0);
        there.then_some(Words { data, shape, strides, offsets })
    }

    /// The address of each.
    fn addresses(&self) -> impl Iterator<Item = u64> {
        let count: u64 = self.shape.iter().product();
        (0..count).flat_map(move |n| {
            let (mut rest, mut at) = (n, self.data);
            for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
                at = at.wrapping_add_signed(stride.wrapping_mul((rest % extent) as i64));
                rest /= extent;
            }
            self.offsets.iter().map(move |&offset| at + u64::from(offset))
        })
    }
}

/// Where numbers of 64 bits are in a value.
fn words_in(ty: Type, at: u32, structs: &StructTable, found: &mut Vec<u32>) {
    match ty {
        U64 => found.push(at),
        Type::Struct(id) => {
            for (n, field) in structs[id].fields.iter().enumerate() {
                words_in(field.ty, at + Layout::step_offset(ty, n as u32, structs), structs, found);
            }
        }
        _ => {}
    }
}

impl Ids {
    /// # Safety
    /// `args` points to the argument struct of a kernel with these parameters, whose arrays are
    /// null or describe memory that nobody writes meanwhile.
    pub unsafe fn of(args: *const c_void, params: &[Type], structs: &StructTable) -> Ids {
        let (offsets, layout) = argument_layout(params, structs);
        // SAFETY: the caller vouches for the argument struct.
        let block = unsafe { std::slice::from_raw_parts(args.cast::<u8>(), layout.size as usize) };
        let mut ids = Ids::default();
        if !registry::has_live() {
            return ids;
        }
        for (&ty, &offset) in params.iter().zip(&offsets) {
            // SAFETY: the same contract.
            unsafe { ids.look(ty, offset, block, structs) };
        }
        ids
    }

    /// # Safety
    /// As for [`Ids::of`].
    unsafe fn look(&mut self, ty: Type, offset: u32, block: &[u8], structs: &StructTable) {
        match ty {
            U64 => self.note(word(block, offset)),
            Type::Struct(id) => {
                for (n, field) in structs[id].fields.iter().enumerate() {
                    // SAFETY: the same contract.
                    unsafe { self.look(field.ty, offset + Layout::step_offset(ty, n as u32, structs), block, structs) };
                }
            }
            Type::Array(array) => {
                let Some(words) = Words::of(array, block, offset, structs) else { return };
                // SAFETY: an array of the launch.
                words.addresses().for_each(|at| self.note(word(unsafe { host(at, 8) }, 0)));
                self.arrays.push(words);
            }
            _ => {}
        }
    }

    fn note(&mut self, id: u64) {
        if id != 0 && !self.found.contains(&id) && registry::kind_of(id).is_some() {
            self.found.push(id);
        }
    }

    /// Whether memory holds arrays of ids: it is copied after the engines.
    pub fn lie_in(&self, (address, len): (u64, u64)) -> bool {
        let inside = |words: &Words| words.data >= address && words.data < address + len;
        !self.found.is_empty() && self.arrays.iter().any(inside)
    }

    /// Copies the engines. `give` puts bytes on the device, and returns their address; arrays of
    /// the launch among `pieces` are there already.
    pub fn copy(&mut self, pieces: &mut Vec<Piece>, mut give: impl FnMut(u64, &[u8]) -> Result<u64>) -> Result<()> {
        for id in self.found.clone() {
            let Some(device) = self.copy_one(id, pieces, &mut give)? else { continue };
            self.there.insert(id, device);
            self.here.insert(device, id);
        }
        Ok(())
    }

    fn copy_one(
        &mut self,
        id: u64,
        pieces: &mut Vec<Piece>,
        give: &mut impl FnMut(u64, &[u8]) -> Result<u64>,
    ) -> Result<Option<u64>> {
        if let Some(known) = copy_of(pieces, id, 8) {
            return Ok(Some(known));
        }
        let Some(memory) = registry::memory_of(id) else { return Ok(None) };
        let Some((header, parts)) = memory.split_first() else { return Ok(None) };
        // SAFETY: memory of an engine that lives while it is registered.
        let mut text = unsafe { host(header.start, header.bytes) }.to_vec();
        for part in parts {
            let device = match copy_of(pieces, part.start, part.bytes) {
                Some(known) => known,
                None => {
                    // SAFETY: the same.
                    let made = give(part.start, unsafe { host(part.start, part.bytes) })?;
                    pieces.push((part.start, part.bytes, made));
                    made
                }
            };
            let slot = part.piece.unwrap_or_default() as usize;
            if let Some(place) = text.get_mut(slot..slot + 8) {
                place.copy_from_slice(&device.to_ne_bytes());
            }
        }
        let device = give(header.start, &text)?;
        pieces.push((header.start, header.bytes, device));
        Ok(copy_of(pieces, id, 8))
    }

    /// The id on the device.
    pub fn on_device(&self, id: u64) -> Option<u64> {
        self.there.get(&id).copied()
    }

    /// Memory of the launch as the device is to have it: with its own ids.
    pub fn to_device(&self, address: u64, bytes: &[u8]) -> Vec<u8> {
        self.translated(address, bytes, &self.there)
    }

    /// What the device has made of memory of the launch: with the ids of the host.
    pub fn to_host(&self, address: u64, bytes: &[u8]) -> Vec<u8> {
        self.translated(address, bytes, &self.here)
    }

    fn translated(&self, address: u64, bytes: &[u8], ids: &BTreeMap<u64, u64>) -> Vec<u8> {
        let mut out = bytes.to_vec();
        let end = address + bytes.len() as u64;
        for at in self.arrays.iter().flat_map(Words::addresses).filter(|at| *at >= address && at + 8 <= end) {
            let first = (at - address) as usize;
            if let Some(id) = ids.get(&word(&out[first..], 0)) {
                out[first..first + 8].copy_from_slice(&id.to_ne_bytes());
            }
        }
        out
    }
}

/// Where memory is on the device that lies inside of a piece. The start of one may be the end of
/// another.
fn copy_of(pieces: &[Piece], start: u64, bytes: u64) -> Option<u64> {
    let holds = |&&(host, len, _): &&Piece| host <= start && start + bytes <= host + len && bytes > 0;
    pieces.iter().find(holds).map(|(host, _, device)| device + (start - host))
}

fn word(bytes: &[u8], at: u32) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at as usize..at as usize + 8]);
    u64::from_ne_bytes(word)
}

/// The gradients behind the ids among the arguments of a launch, as they were: what a run adds that
/// only looks is taken back.
pub struct Gradients(Vec<(u64, Vec<u8>)>);

impl Gradients {
    /// # Safety
    /// As for [`Ids::of`].
    pub unsafe fn of(args: *const c_void, params: &[Type], structs: &StructTable) -> Gradients {
        // SAFETY: the same contract.
        let ids = unsafe { Ids::of(args, params, structs) };
        let ranges = ids.found.into_iter().flat_map(registry::gradients_of);
        // SAFETY: memory of an engine that lives while it is registered.
        Gradients(ranges.map(|range| (range.start, unsafe { host(range.start, range.bytes) }.to_vec())).collect())
    }

    /// # Safety
    /// The engines live, and nobody else uses their gradients meanwhile.
    pub unsafe fn put_back(&self) {
        for (address, bytes) in &self.0 {
            let to: *mut u8 = std::ptr::with_exposed_provenance_mut(*address as usize);
            // SAFETY: as many bytes were read from there.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        }
    }
}
