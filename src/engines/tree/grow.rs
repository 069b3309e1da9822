//! How do items become nodes? Ranges are divided again and again, large ones by several threads.
//! What comes out does not depend on their number.

use std::ops::Range;

use super::bounds::Bounds;
use super::split::{Sides, by_median, divide};
use super::work::Work;
use super::{MAX_DEPTH, Strategy};

/// Subtrees of at most this many items are built by one thread.
const ALONE: usize = 4096;

/// How to build.
#[derive(Clone, Copy)]
pub struct Plan {
    pub strategy: Strategy,
    pub leaf_size: usize,
}

/// A node of a part; indices of nodes count from the part's first node.
#[derive(Clone, Copy)]
pub struct Node {
    pub bounds: Bounds,
    pub lower: u32,
    pub upper: u32,
    pub leaf: bool,
    /// -1 at the part's root.
    pub parent: i32,
}

/// A subtree.
pub enum Part {
    /// Nodes in preorder.
    Nodes { nodes: Vec<Node>, depth: u32 },
    /// A node above two parts.
    Branch { bounds: Bounds, children: Box<[Part; 2]> },
}

impl Part {
    pub fn bounds(&self) -> Bounds {
        match self {
            Part::Nodes { nodes, .. } => nodes.first().map_or(Bounds::NOTHING, |root| root.bounds),
            Part::Branch { bounds, .. } => *bounds,
        }
    }

    /// The number of nodes, and the depth of the deepest.
    pub fn size(&self) -> (usize, u32) {
        match self {
            Part::Nodes { nodes, depth } => (nodes.len(), *depth),
            Part::Branch { children, .. } => {
                let [(left, left_depth), (right, right_depth)] = children.each_ref().map(Part::size);
                (1 + left + right, left_depth.max(right_depth))
            }
        }
    }

    fn branch(bounds: Bounds, left: Part, right: Part) -> Part {
        Part::Branch { bounds, children: Box::new([left, right]) }
    }
}

impl Plan {
    /// One subtree for each range of items, which are the groups; ranges are halved above them.
    pub fn groups(self, work: Work, ranges: &[Range<usize>], depth: u32) -> Part {
        if ranges.len() <= 1 {
            let bounds = work.bounds();
            return self.subtree(work, bounds, depth);
        }
        let (left_ranges, right_ranges) = ranges.split_at(ranges.len() / 2);
        let count = right_ranges[0].start - ranges[0].start;
        let parallel = work.count() > ALONE;
        let (left, right) = work.cut(count);
        let grow_left = || self.groups(left, left_ranges, depth + 1);
        let grow_right = || self.groups(right, right_ranges, depth + 1);
        let (left, right) = if parallel { rayon::join(grow_left, grow_right) } else { (grow_left(), grow_right()) };
        Part::branch(left.bounds().union(&right.bounds()), left, right)
    }

    /// The tree over at least one item.
    pub fn subtree(self, work: Work, bounds: Bounds, depth: u32) -> Part {
        if work.count() <= ALONE || self.is_leaf(&work, depth) {
            let mut alone =
                Alone { plan: self, nodes: Vec::with_capacity(2 * work.count() / self.leaf_size + 1), depth };
            alone.grow(work, bounds, depth, -1);
            return Part::Nodes { nodes: alone.nodes, depth: alone.depth };
        }
        let [(left, left_box), (right, right_box)] = self.divide(work, &bounds, depth);
        let (left, right) =
            rayon::join(|| self.subtree(left, left_box, depth + 1), || self.subtree(right, right_box, depth + 1));
        Part::branch(bounds, left, right)
    }

    fn is_leaf(self, work: &Work, depth: u32) -> bool {
        work.count() <= self.leaf_size || depth >= MAX_DEPTH
    }

    /// Divides as planned; in halves where else the depth might not suffice for small leaves.
    fn divide<'a>(self, work: Work<'a>, bounds: &Bounds, depth: u32) -> Sides<'a> {
        let levels = work.count().div_ceil(self.leaf_size).next_power_of_two().trailing_zeros();
        if depth + levels >= MAX_DEPTH {
            by_median(work, bounds.longest_axis())
        } else {
            divide(work, bounds, self.strategy)
        }
    }
}

/// One thread's subtree.
struct Alone {
    plan: Plan,
    nodes: Vec<Node>,
    depth: u32,
}

impl Alone {
    /// The index of the new node.
    fn grow(&mut self, work: Work, bounds: Bounds, depth: u32, parent: i32) -> u32 {
        let node = self.nodes.len() as u32;
        self.depth = self.depth.max(depth);
        let (first, end, leaf) = (work.first, work.end(), self.plan.is_leaf(&work, depth));
        self.nodes.push(Node { bounds, lower: first, upper: end, leaf, parent });
        if leaf {
            work.finish();
            return node;
        }
        let [(left, left_box), (right, right_box)] = self.plan.divide(work, &bounds, depth);
        let left = self.grow(left, left_box, depth + 1, node as i32);
        let right = self.grow(right, right_box, depth + 1, node as i32);
        let inner = &mut self.nodes[node as usize];
        (inner.lower, inner.upper) = (left, right);
        node
    }
}
