//! How do the nodes that a volume needs become its bytes? A volume may be given room for more nodes
//! than it has, so that others fit later.

use super::bytes::{put, put_coord, set_bit};
use super::topology::{Capacity, Child, Topology};
use super::transform::Transform;
use super::types::{self, BREADTH_FIRST, GridType, HAS_BOX, Inner, Layout, grid, inner, leaf, root, tree};
use super::value::Value;

/// The least and the greatest index of active voxels.
type IndexBox = [[i32; 3]; 2];

const NO_BOX: IndexBox = [[i32::MAX; 3], [i32::MIN; 3]];

/// Where everything lies.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    ty: GridType,
    layout: Layout,
    root: usize,
    upper: usize,
    lower: usize,
    leaf: usize,
    pub bytes: usize,
}

impl Plan {
    /// None where the bytes are more than `usize` can count.
    pub fn new(ty: GridType, capacity: Capacity) -> Option<Plan> {
        let layout = ty.layout();
        let after = |start: usize, count: usize, bytes: usize| start.checked_add(count.checked_mul(bytes)?);
        let root = grid::SIZE + tree::SIZE;
        let upper = after(root + layout.root_bytes, capacity.uppers, layout.tile_bytes)?;
        let lower = after(upper, capacity.uppers, layout.upper.bytes)?;
        let leaf = after(lower, capacity.lowers, layout.lower.bytes)?;
        let bytes = after(leaf, capacity.leaves, layout.leaf_bytes)?;
        Some(Plan { ty, layout, root, upper, lower, leaf, bytes })
    }

    /// Writes the whole volume into a buffer of [`Plan::bytes`] bytes.
    pub fn write(&self, bytes: &mut [u8], topology: &Topology, transform: &Transform, background: Value) {
        bytes.fill(0);
        let mut writer = Writer { plan: *self, bytes, background: background.bytes() };
        writer.inner_nodes(topology);
        let leaves = writer.leaves(topology);
        let around = writer.boxes(topology, &leaves);
        writer.headers(topology, transform, around);
    }

    fn upper_at(&self, number: usize) -> usize {
        self.upper + number * self.layout.upper.bytes
    }

    fn lower_at(&self, number: usize) -> usize {
        self.lower + number * self.layout.lower.bytes
    }

    fn leaf_at(&self, number: usize) -> usize {
        self.leaf + number * self.layout.leaf_bytes
    }
}

struct Writer<'a> {
    plan: Plan,
    bytes: &'a mut [u8],
    /// Empty for index grids.
    background: Vec<u8>,
}

impl Writer<'_> {
    fn inner_nodes(&mut self, topology: &Topology) {
        let (plan, layout) = (self.plan, self.plan.layout);
        put(self.bytes, plan.root + layout.background, &self.background);
        for (number, &origin) in topology.uppers.iter().enumerate() {
            let tile = plan.root + layout.root_bytes + number * layout.tile_bytes;
            put(self.bytes, tile + root::TILE_KEY, root_key(origin).to_le_bytes());
            put(self.bytes, tile + root::TILE_CHILD, ((plan.upper_at(number) - plan.root) as i64).to_le_bytes());
            self.fill_table(plan.upper_at(number), layout.upper);
        }
        for (number, &lower) in topology.lowers.iter().enumerate() {
            self.fill_table(plan.lower_at(number), layout.lower);
            self.link(plan.upper_at(lower.parent), layout.upper, lower.entry, plan.lower_at(number));
        }
        for (number, &leaf) in topology.leaves.iter().enumerate() {
            self.link(plan.lower_at(leaf.parent), layout.lower, leaf.entry, plan.leaf_at(number));
        }
    }

    fn fill_table(&mut self, node: usize, of: Inner) {
        let table = &mut self.bytes[node + of.table..node + of.bytes];
        for entry in table.chunks_exact_mut(self.plan.layout.entry_bytes) {
            entry[..self.background.len()].copy_from_slice(&self.background);
        }
    }

    fn link(&mut self, node: usize, of: Inner, entry: usize, child: usize) {
        set_bit(self.bytes, node + of.child_mask, entry);
        let slot = node + of.table + entry * self.plan.layout.entry_bytes;
        put(self.bytes, slot, ((child - node) as i64).to_le_bytes());
    }

    /// Masks and values; the box of each leaf's active voxels, from the leaf's origin.
    fn leaves(&mut self, topology: &Topology) -> Vec<IndexBox> {
        let mut first = 1;
        let mut voxels = topology.voxels.chunk_by(|a, b| a.parent == b.parent);
        let write = |number: usize| {
            let at = self.plan.leaf_at(number);
            let around = match voxels.next() {
                Some(voxels) => self.mark(at, voxels),
                None => self.mark_all(at),
            };
            if self.plan.ty.is_index() {
                self.number(at, &mut first);
            } else {
                let values = at + self.plan.layout.leaf_values;
                let values = &mut self.bytes[values..values + leaf::VOXELS * self.background.len()];
                values
                    .chunks_exact_mut(self.background.len())
                    .for_each(|value| value.copy_from_slice(&self.background));
            }
            around
        };
        (0..topology.leaves.len()).map(write).collect()
    }

    fn mark(&mut self, at: usize, voxels: &[Child]) -> IndexBox {
        voxels.iter().for_each(|voxel| set_bit(self.bytes, at + leaf::VALUE_MASK, voxel.entry));
        voxels.iter().fold(NO_BOX, |all, voxel| union(all, [voxel.position(3, 0); 2]))
    }

    fn mark_all(&mut self, at: usize) -> IndexBox {
        self.bytes[at + leaf::VALUE_MASK..at + leaf::BASE].fill(0xff);
        [[0; 3], [7; 3]]
    }

    /// The number of a leaf's first voxel; where active voxels are counted, seven sums of 9 bits
    /// over the words of the mask follow.
    fn number(&mut self, at: usize, first: &mut u64) {
        let mask: Vec<u64> =
            (0..8).map(|word| super::bytes::u64_at(self.bytes, at + leaf::VALUE_MASK + 8 * word)).collect();
        let values = at + self.plan.layout.leaf_values;
        put(self.bytes, values, first.to_le_bytes());
        let (mut sums, mut sum) = (0u64, 0u64);
        for (word, bits) in mask.iter().enumerate() {
            sum += u64::from(bits.count_ones());
            if word < 7 {
                sums |= sum << (9 * word);
            }
        }
        *first += sum;
        if self.plan.ty.counts_active() {
            put(self.bytes, values + 8, sums.to_le_bytes());
        }
    }

    /// Writes the boxes of all nodes; that of the root.
    fn boxes(&mut self, topology: &Topology, leaves: &[IndexBox]) -> IndexBox {
        let plan = self.plan;
        let mut lowers = vec![NO_BOX; topology.lowers.len()];
        let mut uppers = vec![NO_BOX; topology.uppers.len()];
        for (number, (place, &within)) in topology.leaves.iter().zip(leaves).enumerate() {
            let lower = topology.lowers[place.parent];
            let origins = [topology.uppers[lower.parent], lower.position(5, 7), place.position(4, 3)];
            let around = within.map(|corner| origins.iter().fold(corner, |sum, origin| add(sum, *origin)));
            self.leaf_box(plan.leaf_at(number), around);
            lowers[place.parent] = union(lowers[place.parent], around);
        }
        for (number, (place, &around)) in topology.lowers.iter().zip(&lowers).enumerate() {
            self.put_box(plan.lower_at(number) + inner::BOX, around);
            uppers[place.parent] = union(uppers[place.parent], around);
        }
        for (number, &around) in uppers.iter().enumerate() {
            self.put_box(plan.upper_at(number) + inner::BOX, around);
        }
        let around = uppers.into_iter().fold(NO_BOX, union);
        self.put_box(plan.root + root::BOX, around);
        around
    }

    fn leaf_box(&mut self, at: usize, [low, high]: IndexBox) {
        put_coord(self.bytes, at + leaf::MIN, low);
        let [x, y, z] = std::array::from_fn(|k| (high[k] - low[k]) as u8);
        put(self.bytes, at + leaf::EXTENTS, [x, y, z, leaf::HAS_BOX]);
    }

    fn put_box(&mut self, at: usize, [low, high]: IndexBox) {
        put_coord(self.bytes, at, low);
        put_coord(self.bytes, at + 12, high);
    }

    fn headers(&mut self, topology: &Topology, transform: &Transform, around: IndexBox) {
        let (plan, count) = (self.plan, topology.capacity());
        put(self.bytes, plan.root + root::TILE_COUNT, (count.uppers as u32).to_le_bytes());
        let start = grid::SIZE;
        let offsets = [plan.leaf, plan.lower, plan.upper, plan.root];
        for (k, offset) in offsets.into_iter().enumerate() {
            put(self.bytes, start + tree::LEAF_OFFSET + 8 * k, ((offset - start) as u64).to_le_bytes());
        }
        for (k, count) in [count.leaves, count.lowers, count.uppers].into_iter().enumerate() {
            for at in [tree::LEAF_COUNT, tree::TILE_COUNTS] {
                put(self.bytes, start + at + 4 * k, (count as u32).to_le_bytes());
            }
        }
        put(self.bytes, start + tree::VOXEL_COUNT, (count.voxels as u64).to_le_bytes());
        self.grid_header(transform, around, count.voxels as u64);
    }

    fn grid_header(&mut self, transform: &Transform, [low, high]: IndexBox, voxels: u64) {
        let (bytes, ty, size) = (&mut *self.bytes, self.plan.ty, self.plan.bytes as u64);
        put(bytes, grid::MAGIC, types::MAGIC_GRID.to_le_bytes());
        put(bytes, grid::CHECKSUM, u64::MAX.to_le_bytes());
        put(bytes, grid::VERSION, types::VERSION.to_le_bytes());
        put(bytes, grid::FLAGS, (HAS_BOX | BREADTH_FIRST).to_le_bytes());
        put(bytes, grid::COUNT, 1u32.to_le_bytes());
        put(bytes, grid::BYTES, size.to_le_bytes());
        put(bytes, grid::BLIND_OFFSET, size.to_le_bytes());
        put(bytes, grid::TYPE, ty.number().to_le_bytes());
        put(bytes, grid::CLASS, if ty.is_index() { 8u32 } else { 0 }.to_le_bytes());
        put(bytes, grid::VALUE_COUNT, if ty.is_index() { voxels + 1 } else { 0 }.to_le_bytes());
        transform.write(bytes);
        let world = transform.world_box([low.map(f64::from), high.map(|x| f64::from(x) + 1.0)]);
        for (k, x) in world.as_flattened().iter().enumerate() {
            put(bytes, grid::WORLD_BOX + 8 * k, x.to_le_bytes());
        }
    }
}

fn add(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    std::array::from_fn(|k| a[k].wrapping_add(b[k]))
}

fn union(a: IndexBox, b: IndexBox) -> IndexBox {
    [std::array::from_fn(|k| a[0][k].min(b[0][k])), std::array::from_fn(|k| a[1][k].max(b[1][k]))]
}

/// By which the root finds an upper node.
fn root_key(origin: [i32; 3]) -> u64 {
    origin.iter().fold(0, |key, &x| key << 21 | u64::from(x as u32 >> 12))
}
