//! Which engine does an id or an address belong to, and was what it is built of written since? A
//! table for the whole process, from which launches tell an id of another kind, of an engine that
//! is gone, or of none, and a search by boxes of points that have moved.
//!
//! Addresses are used again. An id of a freed engine is known as such until a new engine gets the
//! address, or [`FREED_KEPT`] engines were freed after it.

use std::collections::{BTreeMap, VecDeque};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{LazyLock, PoisonError, RwLock};

use super::device::{Engine, Kind, Piece};
use super::layout::{ARRAY_GRAD, MESH_BVH, MeshHeader, TextureHeader};

/// Slots of gradients.
const MESH_POINTS_GRAD: u32 = offset_of!(MeshHeader, points) as u32 + ARRAY_GRAD;
const MESH_VELOCITIES_GRAD: u32 = offset_of!(MeshHeader, velocities) as u32 + ARRAY_GRAD;

const TEXTURE_GRAD: u32 = offset_of!(TextureHeader, grad) as u32;

/// How many freed engines are remembered.
pub const FREED_KEPT: usize = 65_536;

/// What is known of an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Never seen, or forgotten.
    Unknown,
    /// Of all engines, `generation` names one.
    Live {
        kind: Kind,
        generation: u64,
    },
    Freed {
        kind: Kind,
        generation: u64,
    },
}

/// Where an address lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub kind: Kind,
    pub id: u64,
    /// The slot of the piece; None for the header.
    pub piece: Option<u32>,
    /// Bytes from the start of the piece.
    pub offset: u64,
}

/// A launch that wrote what an engine is built of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Writer {
    pub kernel: String,
    /// As `scene.py:12`.
    pub place: String,
}

#[derive(Default)]
struct Table {
    engines: BTreeMap<u64, Entry>,
    /// Length by start, id and piece.
    ranges: BTreeMap<(u64, u64, Option<u32>), u64>,
    /// Length of the memory that engines are built of, by start and id.
    sources: BTreeMap<(u64, u64), u64>,
    /// No source was ever longer.
    longest_source: u64,
    /// No range was ever longer.
    longest: u64,
    freed: VecDeque<(u64, u64)>,
    generations: u64,
}

struct Entry {
    kind: Kind,
    generation: u64,
    live: bool,
    /// Keys of `ranges`.
    ranges: Vec<(u64, Option<u32>)>,
    /// Starts of `sources`.
    sources: Vec<u64>,
    /// The first that wrote a source since it was built or refitted.
    writer: Option<Writer>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

/// A panic of another thread leaves the table usable: each change is one call below.
fn change<R>(change: impl FnOnce(&mut Table) -> R) -> R {
    change(&mut TABLE.write().unwrap_or_else(PoisonError::into_inner))
}

fn read<R>(read: impl FnOnce(&Table) -> R) -> R {
    read(&TABLE.read().unwrap_or_else(PoisonError::into_inner))
}

/// The entry of a live engine: dropped, it says that the engine is freed. Engines hold one.
#[derive(Debug, Default)]
pub struct Registration {
    id: Option<u64>,
}

impl Registration {
    /// Enters an engine, or says again where its pieces are.
    pub fn publish(&mut self, id: u64, kind: Kind, ranges: Vec<Range>) {
        change(|table| {
            if self.id.is_none() {
                table.enter(id, kind);
                if kind == Kind::Mesh {
                    table.enter(id + MESH_BVH, Kind::Bvh);
                }
            }
            table.set_ranges(id, ranges);
        });
        self.id = Some(id);
    }

    /// The engine was built of this memory just now, or refitted to it: start and bytes.
    ///
    /// Whoever calls it keeps the memory until the engine is freed or built of other memory.
    pub fn built_of(&self, sources: &[(u64, u64)]) {
        if let Some(id) = self.id {
            change(|table| table.set_sources(id, sources));
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            change(|table| {
                table.free(id);
                if table.engines.get(&id).is_some_and(|entry| entry.kind == Kind::Mesh) {
                    table.free(id + MESH_BVH);
                }
            });
        }
    }
}

/// Memory of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    pub piece: Option<u32>,
    pub start: u64,
    pub bytes: u64,
}

impl Range {
    pub fn of(piece: &Piece) -> Range {
        let (start, bytes) = (super::memory::address_of(piece.bytes), piece.bytes.len() as u64);
        Range { piece: Some(piece.slot), start, bytes }
    }
}

/// The header and the pieces of an engine.
pub fn ranges_of(engine: &dyn Engine) -> Vec<Range> {
    let header = Range { piece: None, start: engine.id(), bytes: engine.header().len() as u64 };
    std::iter::once(header).chain(engine.pieces().iter().map(Range::of)).collect()
}

impl Table {
    fn enter(&mut self, id: u64, kind: Kind) {
        self.generations += 1;
        self.engines.insert(
            id,
            Entry {
                kind,
                generation: self.generations,
                live: true,
                ranges: Vec::new(),
                sources: Vec::new(),
                writer: None,
            },
        );
    }

    fn set_sources(&mut self, id: u64, sources: &[(u64, u64)]) {
        let Some(entry) = self.engines.get_mut(&id) else { return };
        for start in entry.sources.drain(..) {
            self.sources.remove(&(start, id));
        }
        entry.writer = None;
        for &(start, bytes) in sources.iter().filter(|(_, bytes)| *bytes > 0) {
            entry.sources.push(start);
            self.sources.insert((start, id), bytes);
            self.longest_source = self.longest_source.max(bytes);
        }
    }

    fn note_write(&mut self, start: u64, bytes: u64, writer: &Writer) {
        let first = start.saturating_sub(self.longest_source);
        let near = self.sources.range((first, 0)..(start + bytes, 0));
        let met = near.filter(|&(&(source, _), &len)| source + len > start).map(|(&(_, id), _)| id);
        for id in met.collect::<Vec<u64>>() {
            if let Some(entry) = self.engines.get_mut(&id) {
                entry.writer.get_or_insert_with(|| writer.clone());
            }
        }
    }

    fn set_ranges(&mut self, id: u64, ranges: Vec<Range>) {
        let Some(entry) = self.engines.get_mut(&id) else { return };
        for (start, piece) in entry.ranges.drain(..) {
            self.ranges.remove(&(start, id, piece));
        }
        for range in ranges {
            entry.ranges.push((range.start, range.piece));
            self.ranges.insert((range.start, id, range.piece), range.bytes);
            self.longest = self.longest.max(range.bytes);
        }
    }

    fn free(&mut self, id: u64) {
        self.set_ranges(id, Vec::new());
        self.set_sources(id, &[]);
        let Some(entry) = self.engines.get_mut(&id) else { return };
        entry.live = false;
        self.freed.push_back((id, entry.generation));
        if self.freed.len() > FREED_KEPT {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((id, generation)) = self.freed.pop_front() else { return };
        if self.engines.get(&id).is_some_and(|entry| entry.generation == generation) {
            self.engines.remove(&id);
        }
    }

    fn overlaps(&self, start: u64, bytes: u64) -> bool {
        let before = self.ranges.range(..(start.saturating_add(bytes), 0, None)).rev();
        let mut near = before.take_while(|((at, ..), _)| start.saturating_sub(*at) < self.longest);
        near.any(|(&(at, ..), &len)| at.saturating_add(len) > start)
    }

    fn locate(&self, address: u64) -> Option<Place> {
        let before = self.ranges.range(..=(address, u64::MAX, Some(u32::MAX))).rev();
        let mut near = before.take_while(|((start, ..), _)| address - start < self.longest);
        let (&(start, id, piece), _) = near.find(|((start, ..), bytes)| address - start < **bytes)?;
        Some(Place { kind: self.engines.get(&id)?.kind, id, piece, offset: address - start })
    }
}

/// What is known of an id. [`MESH_BVH`] bytes behind a mesh is the id of a BVH.
pub fn state_of(id: u64) -> State {
    read(|table| match table.engines.get(&id) {
        None => State::Unknown,
        Some(&Entry { kind, generation, live: true, .. }) => State::Live { kind, generation },
        Some(&Entry { kind, generation, live: false, .. }) => State::Freed { kind, generation },
    })
}

/// The kind of a live engine.
pub fn kind_of(id: u64) -> Option<Kind> {
    match state_of(id) {
        State::Live { kind, .. } => Some(kind),
        State::Unknown | State::Freed { .. } => None,
    }
}

/// Which live engine's memory an address lies in. Of arrays that overlap, any.
pub fn locate(address: u64) -> Option<Place> {
    read(|table| table.locate(address))
}

/// Whether memory, which is not empty, has a byte of a live engine.
pub fn overlaps(start: u64, bytes: u64) -> bool {
    read(|table| table.overlaps(start, bytes))
}

/// The memory of a live engine: its header first, then its pieces. For the id of the tree inside a
/// mesh, the memory of the mesh, whose header begins [`MESH_BVH`] bytes before.
pub fn memory_of(id: u64) -> Option<Vec<Range>> {
    read(|table| {
        let entry = table.engines.get(&id).filter(|entry| entry.live)?;
        let of_mesh = entry.ranges.is_empty() && entry.kind == Kind::Bvh;
        let (id, entry) = if of_mesh { (id - MESH_BVH, table.engines.get(&(id - MESH_BVH))?) } else { (id, entry) };
        let range = |&(start, piece): &(u64, Option<u32>)| {
            Some(Range { piece, start, bytes: *table.ranges.get(&(start, id, piece))? })
        };
        entry.ranges.iter().map(range).collect()
    })
}

/// A launch has written so many bytes from `start` on.
pub fn note_write(start: u64, bytes: u64, writer: &Writer) {
    let met = read(|table| table.longest_source > 0 && bytes > 0);
    if met {
        change(|table| table.note_write(start, bytes, writer));
    }
}

/// Who wrote what a live engine is built of, after it was built or refitted.
pub fn writer_of(id: u64) -> Option<Writer> {
    read(|table| {
        let entry = table.engines.get(&id)?;
        let of_mesh = entry.ranges.is_empty() && entry.kind == Kind::Bvh;
        let entry = if of_mesh { table.engines.get(&(id - MESH_BVH))? } else { entry };
        entry.writer.clone()
    })
}

/// The gradients of a live mesh, of its points and its velocities, or of a texture.
pub fn gradients_of(id: u64) -> Vec<Range> {
    let slots: &[u32] = match kind_of(id) {
        Some(Kind::Mesh) => &[MESH_POINTS_GRAD, MESH_VELOCITIES_GRAD],
        Some(Kind::Texture) => &[TEXTURE_GRAD],
        _ => return Vec::new(),
    };
    let memory = memory_of(id).unwrap_or_default();
    memory.into_iter().filter(|range| range.piece.is_some_and(|slot| slots.contains(&slot))).collect()
}

/// Ids that are not in the table may be of engines of another library, which may get the memory of
/// engines that are gone.
static FOREIGN: AtomicBool = AtomicBool::new(false);

/// From now on, ids of no live engine may be those of another library.
pub fn expect_foreign() {
    FOREIGN.store(true, Relaxed);
}

/// Whether ids of no live engine may be those of another library.
pub fn has_foreign() -> bool {
    FOREIGN.load(Relaxed)
}

/// Whether any engine lives.
pub fn has_live() -> bool {
    read(|table| !table.ranges.is_empty())
}

/// Ids of all live engines with their kinds, ascending. Trees inside meshes have entries, too.
pub fn live() -> Vec<(u64, Kind)> {
    read(|table| table.engines.iter().filter(|(_, entry)| entry.live).map(|(&id, entry)| (id, entry.kind)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(id: u64, kind: Kind) -> Registration {
        let mut registration = Registration::default();
        let header = Range { piece: None, start: id, bytes: 328 };
        registration.publish(id, kind, vec![header, Range { piece: Some(8), start: id + 4096, bytes: 64 }]);
        registration
    }

    #[test]
    fn ids_are_live_then_freed_then_new() {
        let id = 1 << 60;
        assert_eq!(state_of(id), State::Unknown);
        let registration = publish(id, Kind::Mesh);
        let State::Live { kind: Kind::Mesh, generation } = state_of(id) else { panic!("{:?}", state_of(id)) };
        assert_eq!(kind_of(id + MESH_BVH), Some(Kind::Bvh));
        drop(registration);
        assert_eq!(state_of(id), State::Freed { kind: Kind::Mesh, generation });
        assert_eq!(kind_of(id + MESH_BVH), None);
        let again = publish(id, Kind::HashGrid);
        assert!(matches!(state_of(id), State::Live { kind: Kind::HashGrid, generation: later } if later > generation));
        drop(again);
    }

    #[test]
    fn addresses_are_located() {
        let id = 1 << 61;
        let registration = publish(id, Kind::Bvh);
        let place = |piece, offset| Some(Place { kind: Kind::Bvh, id, piece, offset });
        assert_eq!(locate(id), place(None, 0));
        assert_eq!(locate(id + 327), place(None, 327));
        assert_eq!(locate(id + 328), None);
        assert_eq!(locate(id + 4096 + 63), place(Some(8), 63));
        assert_eq!(locate(id + 4096 + 64), None);
        assert!(overlaps(id - 8, 9) && overlaps(id + 4096 + 63, 100) && overlaps(id - 1, 100_000));
        assert!(!overlaps(id - 8, 8) && !overlaps(id + 328, 4096 - 328) && !overlaps(id + 4096 + 64, 100_000));
        drop(registration);
        assert_eq!(locate(id), None);
    }

    #[test]
    fn pieces_can_move() {
        let id = 1 << 62;
        let mut registration = publish(id, Kind::Bvh);
        registration.publish(id, Kind::Bvh, vec![Range { piece: Some(8), start: id + 9000, bytes: 8 }]);
        assert_eq!(locate(id + 4096), None);
        assert_eq!(locate(id + 9001).map(|place| place.offset), Some(1));
    }

    #[test]
    fn writes_to_what_an_engine_is_built_of_are_noted_until_it_is_built_again() {
        let id = (1 << 61) + (1 << 60);
        let registration = publish(id, Kind::Mesh);
        let writer = |kernel: &str| Writer { kernel: kernel.to_string(), place: "x.py:1".to_string() };
        let sources = [(id + 100_000, 1200), (id + 200_000, 1200)];
        registration.built_of(&sources);
        note_write(id + 98_800, 1200, &writer("before"));
        note_write(id + 101_200, 1200, &writer("behind"));
        assert_eq!(writer_of(id), None);
        note_write(id + 201_199, 1, &writer("last byte"));
        note_write(id + 100_000, 12, &writer("later"));
        assert_eq!(writer_of(id), Some(writer("last byte")));
        assert_eq!(writer_of(id + MESH_BVH), Some(writer("last byte")));
        registration.built_of(&sources);
        assert_eq!(writer_of(id), None);
        drop(registration);
        note_write(id + 100_000, 12, &writer("after its end"));
        assert_eq!(writer_of(id), None);
    }

    #[test]
    fn the_oldest_freed_engines_are_forgotten() {
        let mut table = Table::default();
        for id in 0..FREED_KEPT as u64 + 1 {
            table.enter(id, Kind::Bvh);
            table.free(id);
        }
        assert!(!table.engines.contains_key(&0) && table.engines.contains_key(&1));
    }
}
