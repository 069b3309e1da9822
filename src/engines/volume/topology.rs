//! Which nodes does a volume need? From the coordinates of tiles or voxels to the nodes of each
//! level, in the order that NanoVDB's builders give them.

use rayon::prelude::*;

/// The nodes of a volume.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Origins of upper nodes, in the order of x, y, z.
    pub uppers: Vec<[i32; 3]>,
    pub lowers: Vec<Child>,
    pub leaves: Vec<Child>,
    /// Active voxels; none where leaves are whole.
    pub voxels: Vec<Child>,
}

/// A node or a voxel by its place in a node of the level above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The number of the node above.
    pub parent: usize,
    /// The entry of that node's table.
    pub entry: usize,
}

impl Child {
    /// Where it starts relative to its node, in a table of `2^log` entries along an axis, each of
    /// `2^child_log` voxels.
    pub fn position(self, log: usize, child_log: usize) -> [i32; 3] {
        std::array::from_fn(|k| ((self.entry >> (log * (2 - k)) & ((1 << log) - 1)) << child_log) as i32)
    }
}

/// How many nodes of each level, and voxels that are counted, there are or may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    pub uppers: usize,
    pub lowers: usize,
    pub leaves: usize,
    pub voxels: usize,
}

impl Topology {
    /// A leaf of 8³ voxels around each coordinate.
    pub fn of_tiles(coordinates: &[[i32; 3]]) -> Topology {
        Topology::of(coordinates.par_iter().map(|&at| key(at) & !0x1ff).collect(), false)
    }

    /// A voxel at each coordinate.
    pub fn of_voxels(coordinates: &[[i32; 3]]) -> Topology {
        Topology::of(coordinates.par_iter().map(|&at| key(at)).collect(), true)
    }

    fn of(mut keys: Vec<u128>, with_voxels: bool) -> Topology {
        keys.par_sort_unstable();
        keys.dedup();
        let mut found = Topology::default();
        let mut last = None;
        for key in keys {
            found.add(key, last, with_voxels);
            last = Some(key);
        }
        found
    }

    /// Adds what a key has that the key before it hasn't.
    fn add(&mut self, key: u128, last: Option<u128>, with_voxels: bool) {
        let is_new = |shift: u32| last.is_none_or(|last| last >> shift != key >> shift);
        let entry = |shift: u32, bits: u32| (key >> shift) as usize & ((1 << bits) - 1);
        if is_new(36) {
            self.uppers.push(upper_origin(key));
        }
        if is_new(21) {
            self.lowers.push(Child { parent: self.uppers.len() - 1, entry: entry(21, 15) });
        }
        if is_new(9) {
            self.leaves.push(Child { parent: self.lowers.len() - 1, entry: entry(9, 12) });
        }
        if with_voxels {
            self.voxels.push(Child { parent: self.leaves.len() - 1, entry: entry(0, 9) });
        }
    }

    /// Just enough for these nodes.
    pub fn capacity(&self) -> Capacity {
        let (uppers, lowers, leaves) = (self.uppers.len(), self.lowers.len(), self.leaves.len());
        let voxels = if self.voxels.is_empty() { 512 * leaves } else { self.voxels.len() };
        Capacity { uppers, lowers, leaves, voxels }
    }
}

/// The upper node, 21 bits an axis, then the entries of the tables below.
fn key(at: [i32; 3]) -> u128 {
    let axes =
        |bits: u32, of: &dyn Fn(u32) -> u32| at.iter().fold(0u128, |all, &x| all << bits | u128::from(of(x as u32)));
    let upper = axes(21, &|x| (x ^ 1 << 31) >> 12);
    let tables = [axes(5, &|x| x >> 7 & 31) << 21, axes(4, &|x| x >> 3 & 15) << 9, axes(3, &|x| x & 7)];
    upper << 36 | tables[0] | tables[1] | tables[2]
}

fn upper_origin(key: u128) -> [i32; 3] {
    std::array::from_fn(|k| {
        let bits = (key >> (36 + 21 * (2 - k))) as u32 & 0xf_ffff;
        (bits << 12 ^ 1 << 31) as i32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_places() {
        for at in [[0; 3], [-1, 5, 4095], [4096, -4096, 77], [i32::MIN, i32::MAX, -8]] {
            let found = Topology::of_voxels(&[at]);
            let parts =
                [found.lowers[0].position(5, 7), found.leaves[0].position(4, 3), found.voxels[0].position(3, 0)];
            let sum: [i32; 3] =
                std::array::from_fn(|k| found.uppers[0][k] + parts.iter().map(|part| part[k]).sum::<i32>());
            assert_eq!(sum, at);
        }
    }

    #[test]
    fn nodes_are_sorted_and_merged() {
        let tiles = [[8, 0, 0], [0; 3], [3, 7, 1], [-1, 0, 0], [0, 0, 5000]];
        let found = Topology::of_tiles(&tiles);
        assert_eq!(found.uppers, [[-4096, 0, 0], [0; 3], [0, 0, 4096]]);
        assert_eq!(found.capacity(), Capacity { uppers: 3, lowers: 3, leaves: 4, voxels: 2048 });
        assert_eq!(found.leaves.iter().map(|leaf| leaf.parent).collect::<Vec<_>>(), [0, 1, 1, 2]);
    }
}
