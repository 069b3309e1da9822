//! What does the id of a BVH point to, and who owns it? A tree over boxes: what `wp.Bvh` is.

use std::mem::offset_of;

use super::device::{Engine, Kind, Piece, Pieces};
use super::error::EngineError;
use super::layout::{BvhHeader, Constructor};
use super::memory::{Source, address_of_value, bytes_of, bytes_of_slice};
use super::registry::{Registration, ranges_of};
use super::tree::{Items, Tree};

/// What a tree is made of.
#[derive(Debug)]
pub struct BvhInput {
    /// Corners of the boxes, of any unit of length.
    pub lowers: Source<[f32; 3]>,
    pub uppers: Source<[f32; 3]>,
    /// A group for each box. Boxes of a group are a subtree.
    pub groups: Option<Source<i32>>,
    pub constructor: Constructor,
    /// The most boxes in a leaf.
    pub leaf_size: i32,
}

impl BvhInput {
    /// Without groups, by "sah", one box in a leaf.
    pub fn new(lowers: Source<[f32; 3]>, uppers: Source<[f32; 3]>) -> BvhInput {
        BvhInput { lowers, uppers, groups: None, constructor: Constructor::Sah, leaf_size: 1 }
    }
}

/// A tree over boxes. Its id is the address of a [`BvhHeader`].
#[derive(Debug)]
pub struct Bvh {
    registration: Registration,
    header: Box<BvhHeader>,
    tree: Tree,
    input: BvhInput,
}

impl Bvh {
    /// Builds the tree. Boxes must be finite; there may be none.
    pub fn new(input: BvhInput) -> Result<Bvh, EngineError> {
        let leaf_size = leaf_size(input.leaf_size)?;
        items(&input).validate()?;
        check_groups(input.constructor, input.groups.is_some())?;
        let tree = Tree::build(items(&input), input.constructor.into(), leaf_size);
        let (registration, header) = Default::default();
        let mut bvh = Bvh { registration, header, tree, input };
        bvh.publish();
        bvh.follow();
        Ok(bvh)
    }

    /// A tree by "sah" over boxes that it owns.
    pub fn owned(lowers: Vec<[f32; 3]>, uppers: Vec<[f32; 3]>) -> Result<Bvh, EngineError> {
        Bvh::new(BvhInput::new(Source::owned(lowers, "lower bounds")?, Source::owned(uppers, "upper bounds")?))
    }

    /// Fits the nodes to boxes that moved. On an error the tree is as it was.
    pub fn refit(&mut self) -> Result<(), EngineError> {
        items(&self.input).validate()?;
        self.tree.refit(items(&self.input));
        self.follow();
        Ok(())
    }

    /// The nodes are those of the boxes as they are.
    fn follow(&self) {
        self.registration.built_of(&[self.input.lowers.range(), self.input.uppers.range()]);
    }

    /// Builds the tree anew, at the same id; the arrays may move. On an error it is as it was.
    pub fn rebuild(&mut self, constructor: Constructor) -> Result<(), EngineError> {
        items(&self.input).validate()?;
        check_groups(constructor, self.input.groups.is_some())?;
        self.input.constructor = constructor;
        let leaf_size = leaf_size(self.input.leaf_size)?;
        self.tree.rebuild(items(&self.input), constructor.into(), leaf_size);
        self.publish();
        self.follow();
        Ok(())
    }

    /// The tree as it is now, with boxes of its own, at an id of its own.
    pub fn frozen(&self) -> Result<Bvh, EngineError> {
        let of = &self.input;
        let input = BvhInput {
            lowers: Source::owned(of.lowers.as_slice().to_vec(), "lower bounds")?,
            uppers: Source::owned(of.uppers.as_slice().to_vec(), "upper bounds")?,
            groups: of.groups.as_ref().map(|groups| Source::owned(groups.as_slice().to_vec(), "groups")).transpose()?,
            ..*of
        };
        let (registration, header) = Default::default();
        let mut bvh = Bvh { registration, header, tree: self.tree.clone(), input };
        bvh.publish();
        Ok(bvh)
    }

    /// Corners of the boxes, if the tree owns them: [`Bvh::refit`] after writing.
    pub fn boxes_mut(&mut self) -> Option<(&mut [[f32; 3]], &mut [[f32; 3]])> {
        Some((self.input.lowers.owned_mut()?, self.input.uppers.owned_mut()?))
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    fn publish(&mut self) {
        let input = &self.input;
        self.tree.describe(&mut self.header);
        self.header.item_lowers = input.lowers.address();
        self.header.item_uppers = input.uppers.address();
        self.header.item_groups = input.groups.as_ref().map_or(0, Source::address);
        self.header.leaf_size = input.leaf_size;
        self.header.constructor = input.constructor.number();
        let ranges = ranges_of(self);
        self.registration.publish(self.id(), Kind::Bvh, ranges);
    }
}

impl Engine for Bvh {
    fn id(&self) -> u64 {
        address_of_value(&*self.header)
    }

    fn kind(&self) -> Kind {
        Kind::Bvh
    }

    fn header(&self) -> &[u8] {
        bytes_of(&*self.header)
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Pieces::default();
        tree_pieces(&mut pieces, 0, &self.tree);
        pieces.read(offset_of!(BvhHeader, item_lowers), self.input.lowers.bytes());
        pieces.read(offset_of!(BvhHeader, item_uppers), self.input.uppers.bytes());
        if let Some(groups) = &self.input.groups {
            pieces.read(offset_of!(BvhHeader, item_groups), groups.bytes());
        }
        pieces.finish()
    }
}

/// The arrays of a tree whose header is at `offset`.
pub(super) fn tree_pieces<'a>(pieces: &mut Pieces<'a>, offset: usize, tree: &'a Tree) {
    pieces.read(offset + offset_of!(BvhHeader, node_lowers), bytes_of_slice(&tree.lowers));
    pieces.read(offset + offset_of!(BvhHeader, node_uppers), bytes_of_slice(&tree.uppers));
    pieces.read(offset + offset_of!(BvhHeader, parents), bytes_of_slice(&tree.parents));
    pieces.read(offset + offset_of!(BvhHeader, primitive_indices), bytes_of_slice(&tree.primitives));
    pieces.read(offset + offset_of!(BvhHeader, root), bytes_of(&*tree.root));
}

/// The most items in a leaf.
pub(super) fn leaf_size(value: i32) -> Result<usize, EngineError> {
    usize::try_from(value).ok().filter(|&size| size > 0).ok_or(EngineError::LeafSize { value })
}

/// As Warp: "cubql" takes no groups.
pub(super) fn check_groups(constructor: Constructor, groups: bool) -> Result<(), EngineError> {
    if constructor == Constructor::Cubql && groups { Err(EngineError::CubqlGroups) } else { Ok(()) }
}

fn items(input: &BvhInput) -> Items<'_> {
    Items {
        lowers: input.lowers.as_slice(),
        uppers: input.uppers.as_slice(),
        groups: input.groups.as_ref().map(Source::as_slice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::device::relocated;
    use crate::engines::registry::{kind_of, locate};

    fn row(count: usize) -> Bvh {
        let lowers: Vec<[f32; 3]> = (0..count).map(|k| [k as f32, 0.0, 0.0]).collect();
        let uppers = lowers.iter().map(|&[x, _, _]| [x + 0.5, 1.0, 1.0]).collect();
        Bvh::owned(lowers, uppers).unwrap()
    }

    #[test]
    fn headers_name_the_arrays() {
        let bvh = row(8);
        let header = &bvh.header;
        assert_eq!((header.num_items, header.num_nodes, header.num_leaf_nodes, header.max_nodes), (8, 15, 8, 15));
        assert_eq!(header.node_lowers, bvh.tree.lowers.as_ptr() as u64);
        assert_eq!(header.root, &raw const *bvh.tree.root as u64);
        assert_eq!((header.counts, header.item_groups, header.constructor, header.leaf_size), (0, 0, 0, 1));
        assert_eq!(kind_of(bvh.id()), Some(Kind::Bvh));
        assert_eq!(locate(header.node_uppers + 20).unwrap().piece, Some(8));
    }

    #[test]
    fn an_empty_tree_has_no_root() {
        let bvh = row(0);
        assert_eq!((bvh.header.num_items, bvh.header.num_nodes, bvh.header.node_lowers), (0, 0, 0));
        assert_eq!(*bvh.tree.root, -1);
        assert_eq!(bvh.pieces().len(), 1);
    }

    #[test]
    fn refit_follows_boxes_and_rebuild_keeps_the_id() {
        let mut bvh = row(8);
        let (id, root) = (bvh.id(), bvh.header.root);
        let (lowers, uppers) = bvh.boxes_mut().unwrap();
        for corner in lowers.iter_mut().chain(uppers) {
            corner[0] += 100.0;
        }
        bvh.refit().unwrap();
        assert_eq!(bvh.tree.bounds(0).lower(), [100.0, 0.0, 0.0]);
        bvh.rebuild(Constructor::Median).unwrap();
        assert_eq!((bvh.id(), bvh.header.root, bvh.header.constructor), (id, root, 1));
    }

    #[test]
    fn a_frozen_tree_has_boxes_of_its_own() {
        let mut bvh = row(8);
        let frozen = bvh.frozen().unwrap();
        bvh.boxes_mut().unwrap().0[0][0] = -9.0;
        bvh.refit().unwrap();
        assert_eq!((bvh.tree.bounds(0).lower()[0], frozen.tree.bounds(0).lower()[0]), (-9.0, 0.0));
        assert_eq!(frozen.input.lowers.as_slice()[0], [0.0; 3]);
        assert_ne!((frozen.id(), frozen.header.item_lowers), (bvh.id(), bvh.header.item_lowers));
    }

    #[test]
    fn wrong_boxes_are_refused() {
        let error = |lowers, uppers| Bvh::owned(lowers, uppers).unwrap_err().to_string();
        assert_eq!(
            error(vec![[0.0; 3]; 2], vec![[1.0; 3]]),
            "there are 2 lower bounds and 1 upper bounds, which must be as many"
        );
        assert_eq!(
            error(vec![[0.0; 3], [0.0, f32::NAN, 0.0]], vec![[1.0; 3]; 2]),
            "the lower bound of box 1 is not finite"
        );
        assert_eq!(error(vec![[0.0; 3]], vec![[1.0, 1.0, f32::INFINITY]]), "the upper bound of box 0 is not finite");
    }

    #[test]
    fn a_failed_refit_leaves_the_tree() {
        let mut bvh = row(3);
        let before = bvh.tree.lowers.clone();
        bvh.boxes_mut().unwrap().0[2][0] = f32::NAN;
        assert_eq!(bvh.refit().unwrap_err(), EngineError::BoxNotFinite { item: 2, bound: "lower" });
        assert_eq!(bvh.tree.lowers, before);
    }

    #[test]
    fn copies_have_new_addresses_in_their_slots() {
        let bvh = row(2);
        let header = relocated(&bvh, |piece| u64::from(piece.slot) << 8);
        assert_eq!(header[0..8], [0; 8]);
        assert_eq!(header[8..16], (8u64 << 8).to_le_bytes());
        assert_eq!(header[24..32], [0; 8]);
        assert_eq!(header[56..64], (56u64 << 8).to_le_bytes());
    }
}
