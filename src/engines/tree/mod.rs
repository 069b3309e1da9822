//! How is a bounding volume hierarchy built and refitted?
//!
//! - [`bounds`]: how are boxes united quickly?
//! - [`work`]: which items belong to a subtree while it is built?
//! - [`split`]: where is a node divided?
//! - [`grow`]: how do items become nodes?
//! - [`place`]: in which order are nodes kept?
//!
//! A tree has at most [`MAX_DEPTH`] levels below its root, as queries keep a stack of 32 nodes.
//! Near this depth nodes are halved, so that leaves stay small. Items of a leaf are in ascending
//! order of their numbers.

pub mod bounds;
pub mod grow;
pub mod place;
pub mod split;
pub mod work;

use std::ops::Range;

use rayon::prelude::*;

use super::error::EngineError;
use super::layout::{BvhHeader, Constructor, NodeHalf};
use super::memory::{address_of, address_of_value};
use bounds::Bounds;
use grow::Plan;
use work::Work;

/// The largest distance from the root.
pub const MAX_DEPTH: u32 = 31;

/// Loops over fewer elements stay on one thread.
pub const CHUNK: usize = 4096;

/// How nodes are divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    Sah,
    Median,
}

impl From<Constructor> for Strategy {
    fn from(constructor: Constructor) -> Strategy {
        match constructor {
            Constructor::Median => Strategy::Median,
            Constructor::Sah | Constructor::Lbvh | Constructor::Cubql => Strategy::Sah,
        }
    }
}

/// What a tree is built over: corners of boxes, all finite, and the group of each box.
#[derive(Clone, Copy)]
pub struct Items<'a> {
    pub lowers: &'a [[f32; 3]],
    pub uppers: &'a [[f32; 3]],
    pub groups: Option<&'a [i32]>,
}

impl Items<'_> {
    /// Tests lengths and numbers.
    pub fn validate(&self) -> Result<(), EngineError> {
        let count = self.lowers.len();
        same_length("lower bounds", count, "upper bounds", self.uppers.len())?;
        if let Some(groups) = self.groups {
            same_length("boxes", count, "groups", groups.len())?;
        }
        let limit = i32::MAX as usize / 2;
        if count > limit {
            return Err(EngineError::TooMany { what: "boxes", count, limit });
        }
        finite(self.lowers, "lower")?;
        finite(self.uppers, "upper")
    }

    fn bounds(&self, item: usize) -> Bounds {
        Bounds::new(self.lowers[item], self.uppers[item])
    }
}

/// An error where two arrays have different lengths.
pub fn same_length(
    left: &'static str,
    left_count: usize,
    right: &'static str,
    right_count: usize,
) -> Result<(), EngineError> {
    if left_count == right_count { Ok(()) } else { Err(EngineError::Lengths { left, left_count, right, right_count }) }
}

fn finite(corners: &[[f32; 3]], bound: &'static str) -> Result<(), EngineError> {
    let wrong = corners.par_chunks(CHUNK).enumerate().find_map_first(|(chunk, corners)| {
        if corners.iter().flatten().fold(true, |all, x| all & x.is_finite()) {
            return None;
        }
        corners.iter().position(|corner| !corner.iter().all(|x| x.is_finite())).map(|k| chunk * CHUNK + k)
    });
    wrong.map_or(Ok(()), |item| Err(EngineError::BoxNotFinite { item, bound }))
}

/// A tree in the layout that kernels read.
///
/// Without groups nodes are in preorder. With groups leaves come first, in ascending order of
/// groups, then inner nodes in preorder. In both, inner nodes come before their inner children.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub lowers: Vec<NodeHalf>,
    pub uppers: Vec<NodeHalf>,
    /// -1 at the root.
    pub parents: Vec<i32>,
    /// The items in the order of leaves.
    pub primitives: Vec<i32>,
    /// The root's index, -1 without nodes, at an address that stays.
    pub root: Box<i32>,
    pub depth: u32,
    pub leaves: usize,
}

impl Tree {
    /// Builds over items that [`Items::validate`] accepts. `leaf_size` is at least 1.
    pub fn build(items: Items, strategy: Strategy, leaf_size: usize) -> Tree {
        let mut tree = Tree::default();
        tree.rebuild(items, strategy, leaf_size);
        tree
    }

    /// Builds anew; the address of the root's index stays.
    pub fn rebuild(&mut self, items: Items, strategy: Strategy, leaf_size: usize) {
        let count = items.lowers.len();
        *self.root = -1;
        if count == 0 {
            *self = Tree { root: std::mem::take(&mut self.root), ..Tree::default() };
            return;
        }
        let (mut ids, ranges) = order_by_group(items);
        let mut boxes: Vec<Bounds> = ids.par_iter().with_min_len(CHUNK).map(|&id| items.bounds(id as usize)).collect();
        let (mut spare_boxes, mut spare_ids) = (boxes.clone(), ids.clone());
        self.primitives.resize(count, 0);
        let work = Work::new(&mut boxes, &mut ids, &mut spare_boxes, &mut spare_ids, &mut self.primitives);
        let part = Plan { strategy, leaf_size }.groups(work, &ranges, 0);
        self.place(&part);
        if items.groups.is_some() {
            self.leaves_first();
        }
    }

    /// Fits the boxes of all nodes to items that moved; their number is as it was.
    pub fn refit(&mut self, items: Items) {
        let primitives = &self.primitives;
        let halves = (self.lowers.par_iter_mut(), self.uppers.par_iter_mut());
        halves.into_par_iter().with_min_len(CHUNK).for_each(|(lower, upper)| {
            if lower.is_leaf() {
                let around = primitives[lower.index()..upper.index()]
                    .iter()
                    .fold(Bounds::NOTHING, |all, &item| all.union(&items.bounds(item as usize)));
                (lower.corner, upper.corner) = (around.lower(), around.upper());
            }
        });
        self.for_inner_upwards(|tree, node, left, right| {
            let around = tree.bounds(left).union(&tree.bounds(right));
            (tree.lowers[node].corner, tree.uppers[node].corner) = (around.lower(), around.upper());
        });
    }

    /// Calls with each inner node and its children, children first.
    pub fn for_inner_upwards(&mut self, mut visit: impl FnMut(&mut Tree, usize, usize, usize)) {
        for node in (0..self.lowers.len()).rev() {
            let (lower, upper) = (self.lowers[node], self.uppers[node]);
            if !lower.is_leaf() {
                visit(self, node, lower.index(), upper.index());
            }
        }
    }

    /// The box of a node.
    pub fn bounds(&self, node: usize) -> Bounds {
        Bounds::new(self.lowers[node].corner, self.uppers[node].corner)
    }

    /// The items of a leaf; None of an inner node.
    pub fn items_of_leaf(&self, node: usize) -> Option<&[i32]> {
        let (lower, upper) = (self.lowers[node], self.uppers[node]);
        lower.is_leaf().then(|| &self.primitives[lower.index()..upper.index()])
    }

    /// Writes what a header says of the tree itself.
    pub fn describe(&self, header: &mut BvhHeader) {
        header.node_lowers = address_of(&self.lowers);
        header.node_uppers = address_of(&self.uppers);
        header.parents = address_of(&self.parents);
        header.primitive_indices = address_of(&self.primitives);
        header.max_depth = self.depth as i32;
        header.max_nodes = (2 * self.primitives.len()).saturating_sub(1) as i32;
        header.num_nodes = self.lowers.len() as i32;
        header.num_leaf_nodes = self.leaves as i32;
        header.root = address_of_value(&*self.root);
        header.num_items = self.primitives.len() as i32;
    }
}

/// The numbers of the items, ordered by group, then ascending; and the range of each group.
fn order_by_group(items: Items) -> (Vec<i32>, Vec<Range<usize>>) {
    let mut ids: Vec<i32> = (0..items.lowers.len() as i32).collect();
    let Some(groups) = items.groups else { return (ids, Vec::new()) };
    ids.par_sort_by_key(|&id| groups[id as usize]);
    let mut start = 0;
    let ranges = ids.chunk_by(|&a, &b| groups[a as usize] == groups[b as usize]).map(|group| {
        let range = start..start + group.len();
        start = range.end;
        range
    });
    let ranges = ranges.collect();
    (ids, ranges)
}

#[cfg(test)]
mod tests;
