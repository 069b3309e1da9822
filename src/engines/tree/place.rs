//! In which order are nodes kept? From parts of a tree to the arrays that kernels read.

use super::Tree;
use super::bounds::Bounds;
use super::grow::{Node, Part};
use crate::engines::layout::NodeHalf;

impl Tree {
    /// Puts all nodes in preorder.
    pub(super) fn place(&mut self, part: &Part) {
        let (count, depth) = part.size();
        for halves in [&mut self.lowers, &mut self.uppers] {
            halves.clear();
            halves.reserve_exact(count);
        }
        self.parents.clear();
        self.parents.reserve_exact(count);
        self.append(part, -1);
        *self.root = 0;
        self.depth = depth;
        self.leaves = self.lowers.iter().filter(|lower| lower.is_leaf()).count();
    }

    /// The index of the part's root.
    fn append(&mut self, part: &Part, parent: i32) -> u32 {
        let root = self.lowers.len() as u32;
        match part {
            Part::Nodes { nodes, .. } => nodes.iter().for_each(|node| self.append_node(node, root, parent)),
            Part::Branch { bounds, children } => {
                self.push(bounds, [0, 0], false, parent);
                let [left, right] = children.each_ref().map(|child| self.append(child, root as i32));
                self.lowers[root as usize] = NodeHalf::new(bounds.lower(), left, false);
                self.uppers[root as usize] = NodeHalf::new(bounds.upper(), right, false);
            }
        }
        root
    }

    fn append_node(&mut self, node: &Node, base: u32, parent_of_root: i32) {
        let parent = if node.parent < 0 { parent_of_root } else { node.parent + base as i32 };
        let shift = if node.leaf { 0 } else { base };
        self.push(&node.bounds, [node.lower + shift, node.upper + shift], node.leaf, parent);
    }

    fn push(&mut self, bounds: &Bounds, [lower, upper]: [u32; 2], leaf: bool, parent: i32) {
        self.lowers.push(NodeHalf::new(bounds.lower(), lower, leaf));
        self.uppers.push(NodeHalf::new(bounds.upper(), upper, false));
        self.parents.push(parent);
    }

    /// Moves leaves before inner nodes, each in their order.
    pub(super) fn leaves_first(&mut self) {
        let (mut leaf, mut inner) = (0, self.leaves as u32);
        let places: Vec<u32> = self
            .lowers
            .iter()
            .map(|lower| {
                let next = if lower.is_leaf() { &mut leaf } else { &mut inner };
                *next += 1;
                *next - 1
            })
            .collect();
        let old = (self.lowers.clone(), self.uppers.clone(), self.parents.clone());
        for (node, &place) in places.iter().enumerate() {
            let (mut lower, mut upper, place) = (old.0[node], old.1[node], place as usize);
            if !lower.is_leaf() {
                lower = lower.with_index(places[lower.index()]);
                upper = upper.with_index(places[upper.index()]);
            }
            let parent = usize::try_from(old.2[node]).map_or(-1, |parent| places[parent] as i32);
            (self.lowers[place], self.uppers[place], self.parents[place]) = (lower, upper, parent);
        }
        *self.root = places[0] as i32;
    }
}
