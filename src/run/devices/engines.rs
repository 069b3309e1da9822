//! How do meshes, trees of boxes and hash grids get to a device that has memory of its own? Their
//! arrays and headers are copied, the addresses in the headers changed, and so are the ids in the
//! arguments of the launch and in its arrays of uint64.

use std::collections::BTreeMap;
use std::ffi::c_void;

use super::copies::Piece;
use super::sim::host_bytes as host;
use crate::abi::{argument_layout, descriptor};
use crate::engines::registry;
use crate::run::Result;
use crate::types::{Element, Layout, Scalar, StructTable, Type};

const U64: Type = Type::Scalar(Scalar::U64);

/// Where the arguments of a launch hold ids of engines.
#[derive(Default)]
pub struct Ids {
    found: Vec<u64>,
    /// Address and bytes of the arrays of uint64.
    arrays: Vec<(u64, u64)>,
    /// The id on the device of each that has been copied, and back.
    there: BTreeMap<u64, u64>,
    here: BTreeMap<u64, u64>,
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
            Type::Array(array) if array.element == Element::Scalar(Scalar::U64) => {
                let data = word(block, offset + descriptor::DATA);
                let at = |k: u32| word(block, offset + k) as u32 as i32;
                let dims = 0..u32::from(array.ndim);
                let last: i64 = dims
                    .map(|d| i64::from(at(descriptor::SHAPE + 4 * d) - 1) * i64::from(at(descriptor::STRIDES + 4 * d)))
                    .sum();
                if data == 0 || last < 0 || !data.is_multiple_of(8) {
                    return;
                }
                let bytes = last as u64 + 8;
                self.arrays.push((data, bytes));
                // SAFETY: an array of the launch.
                unsafe { host(data, bytes) }.chunks_exact(8).for_each(|chunk| self.note(word(chunk, 0)));
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
        !self.found.is_empty() && self.arrays.iter().any(|&(start, _)| start >= address && start < address + len)
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
        for &(start, len) in self.arrays.iter().filter(|(start, _)| *start >= address) {
            let first = (start - address) as usize;
            let end = (first + len as usize).min(out.len());
            for chunk in out.get_mut(first..end).unwrap_or_default().chunks_exact_mut(8) {
                if let Some(id) = ids.get(&word(chunk, 0)) {
                    chunk.copy_from_slice(&id.to_ne_bytes());
                }
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
