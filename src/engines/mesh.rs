//! What does the id of a mesh point to, and who owns it? Triangles with a tree over them: what
//! `wp.Mesh` is.

use std::mem::offset_of;

use rayon::prelude::*;

use crate::abi::ArrayDescriptor;

use super::bvh::{check_groups, leaf_size, tree_pieces};
use super::device::{Engine, Kind, Piece, Pieces};
use super::error::EngineError;
use super::layout::{ARRAY_DATA, ARRAY_GRAD, BvhHeader, Constructor, MeshHeader, NO_ARRAY, SolidAngle};
use super::memory::{Source, address_of, address_of_value, bytes_of, bytes_of_slice};
use super::registry::{Range, Registration, ranges_of};
use super::solid_angle;
use super::tree::bounds::Bounds;
use super::tree::{CHUNK, Items, Tree, same_length};

/// What a mesh is made of.
#[derive(Debug)]
pub struct MeshInput {
    /// Of any unit of length. Points that no face uses may be anything.
    pub points: Source<[f32; 3]>,
    /// Three points for each face. There may be no faces: then queries find nothing.
    pub indices: Source<i32>,
    /// One for each point.
    pub velocities: Option<Source<[f32; 3]>>,
    /// One for each face. Faces of a group are a subtree.
    pub groups: Option<Source<i32>>,
    /// Whether winding numbers will be asked for: 144 bytes more for each node.
    pub support_winding_number: bool,
    pub constructor: Constructor,
    /// The most faces in a leaf.
    pub leaf_size: i32,
}

impl MeshInput {
    /// Without velocities, groups and winding numbers, by "sah", four faces in a leaf.
    pub fn new(points: Source<[f32; 3]>, indices: Source<i32>) -> MeshInput {
        MeshInput {
            points,
            indices,
            velocities: None,
            groups: None,
            support_winding_number: false,
            constructor: Constructor::Sah,
            leaf_size: 4,
        }
    }
}

/// A triangle mesh. Its id is the address of a [`MeshHeader`].
#[derive(Debug)]
pub struct Mesh {
    registration: Registration,
    header: Box<MeshHeader>,
    tree: Tree,
    faces: Faces,
    /// One for each node, if winding numbers are supported.
    solid_angles: Vec<SolidAngle>,
    input: MeshInput,
}

/// A header that names other arrays than those of the mesh whose tree it has.
#[derive(Debug)]
pub struct MeshView {
    registration: Registration,
    header: Box<MeshHeader>,
}

impl MeshView {
    pub fn id(&self) -> u64 {
        address_of_value(&*self.header)
    }
}

/// What is measured of faces.
#[derive(Clone, Debug, Default)]
struct Faces {
    lowers: Vec<[f32; 3]>,
    uppers: Vec<[f32; 3]>,
    /// 0 without faces.
    average_edge: f32,
}

impl Mesh {
    /// Builds the mesh. Faces must name points that exist and are finite.
    pub fn new(input: MeshInput) -> Result<Mesh, EngineError> {
        let leaf_size = leaf_size(input.leaf_size)?;
        check_groups(input.constructor, input.groups.is_some())?;
        check_counts(&input)?;
        let count = input.indices.len() / 3;
        let mut faces = Faces { lowers: vec![[0.0; 3]; count], uppers: vec![[0.0; 3]; count], average_edge: 0.0 };
        faces.measure(&input)?;
        let tree = Tree::build(faces.items(&input), input.constructor.into(), leaf_size);
        let header = Box::new(MeshHeader::default());
        let mut mesh =
            Mesh { registration: Registration::default(), header, tree, faces, solid_angles: Vec::new(), input };
        mesh.refit_solid_angles();
        mesh.publish();
        mesh.follow();
        Ok(mesh)
    }

    /// A mesh by "sah" that owns its points and faces.
    pub fn owned(points: Vec<[f32; 3]>, indices: Vec<i32>) -> Result<Mesh, EngineError> {
        Mesh::new(MeshInput::new(Source::owned(points, "points")?, Source::owned(indices, "indices")?))
    }

    /// Fits the tree to points that moved. On an error the tree is as it was; boxes of faces may be
    /// new already.
    pub fn refit(&mut self) -> Result<(), EngineError> {
        self.faces.measure(&self.input)?;
        self.tree.refit(self.faces.items(&self.input));
        self.refit_solid_angles();
        self.header.average_edge_length = self.faces.average_edge;
        self.follow();
        Ok(())
    }

    /// The boxes are those of the points as they are.
    fn follow(&self) {
        self.registration.built_of(&[self.input.points.range()]);
    }

    /// Takes as many other points, and fits the tree to them. On an error the mesh keeps those it
    /// has.
    pub fn set_points(&mut self, points: Source<[f32; 3]>) -> Result<(), EngineError> {
        same_length("points", self.input.points.len(), "new points", points.len())?;
        let old = std::mem::replace(&mut self.input.points, points);
        if let Err(error) = self.refit() {
            self.input.points = old;
            return Err(error);
        }
        self.publish();
        Ok(())
    }

    /// Takes a velocity for each point, or none.
    pub fn set_velocities(&mut self, velocities: Option<Source<[f32; 3]>>) -> Result<(), EngineError> {
        if let Some(velocities) = &velocities {
            same_length("points", self.input.points.len(), "velocities", velocities.len())?;
        }
        self.input.velocities = velocities;
        self.publish();
        Ok(())
    }

    /// Says where gradients of points and of velocities are; 0: there are none.
    ///
    /// # Safety
    ///
    /// As [`Source::set_gradient`].
    pub unsafe fn set_gradients(&mut self, points: u64, velocities: u64) {
        // SAFETY: the caller's promise.
        let mut changed = unsafe { self.input.points.set_gradient(points) };
        if let Some(of) = &mut self.input.velocities {
            // SAFETY: as above.
            changed |= unsafe { of.set_gradient(velocities) };
        }
        if changed {
            self.publish();
        }
    }

    /// The mesh as it is now, at an id of its own; its points may change later.
    ///
    /// # Safety
    ///
    /// The arrays of the mesh live as long as what is made.
    pub unsafe fn frozen(&self) -> Mesh {
        let of = &self.input;
        // SAFETY: the caller's promise.
        let input = unsafe {
            MeshInput {
                points: of.points.again(),
                indices: of.indices.again(),
                velocities: of.velocities.as_ref().map(|velocities| velocities.again()),
                groups: of.groups.as_ref().map(|groups| groups.again()),
                ..*of
            }
        };
        let (tree, faces, solid_angles) = (self.tree.clone(), self.faces.clone(), self.solid_angles.clone());
        let (registration, header) = Default::default();
        let mut mesh = Mesh { registration, header, tree, faces, solid_angles, input };
        mesh.publish();
        mesh
    }

    /// The mesh with other points and velocities, without a refit, at an id of its own: a header
    /// over the same tree.
    ///
    /// # Safety
    ///
    /// The arrays have as many elements as those of the mesh. They, their gradients and the mesh
    /// live as long as the view; the tree is neither refitted nor built again meanwhile.
    pub unsafe fn view(&self, points: ArrayDescriptor, velocities: Option<ArrayDescriptor>) -> MeshView {
        let mut view = MeshView { registration: Registration::default(), header: Box::new(*self.header) };
        (view.header.points, view.header.velocities) = (points, velocities.unwrap_or(NO_ARRAY));
        let id = view.id();
        let moved = |place: usize| [place + ARRAY_DATA as usize, place + ARRAY_GRAD as usize];
        let own = [moved(offset_of!(MeshHeader, points)), moved(offset_of!(MeshHeader, velocities))];
        let is_own = |slot: u32| own.as_flattened().contains(&(slot as usize));
        let mut ranges = vec![Range { piece: None, start: id, bytes: size_of::<MeshHeader>() as u64 }];
        let kept = self.pieces().into_iter().filter(|piece| !is_own(piece.slot));
        ranges.extend(kept.map(|piece| Range::of(&piece)));
        for (array, [data, grad]) in [Some(points), velocities].into_iter().zip(own) {
            let Some(array) = array.filter(|array| array.shape[0] > 0) else { continue };
            let bytes = 12 * array.shape[0] as u64;
            ranges.push(Range { piece: Some(data as u32), start: array.data, bytes });
            if array.grad != 0 {
                ranges.push(Range { piece: Some(grad as u32), start: array.grad, bytes });
            }
        }
        view.registration.publish(id, Kind::Mesh, ranges);
        view
    }

    /// The points, if the mesh owns them: [`Mesh::refit`] after writing.
    pub fn points_mut(&mut self) -> Option<&mut [[f32; 3]]> {
        self.input.points.owned_mut()
    }

    pub fn input(&self) -> &MeshInput {
        &self.input
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The id of the tree over the faces, whose boxes are theirs.
    pub fn bvh_id(&self) -> u64 {
        address_of_value(&self.header.bvh)
    }

    pub fn average_edge_length(&self) -> f32 {
        self.faces.average_edge
    }

    fn refit_solid_angles(&mut self) {
        if !self.input.support_winding_number {
            return;
        }
        let (points, indices) = (self.input.points.as_slice(), self.input.indices.as_slice());
        let tree = &self.tree;
        let of_leaf = |node| {
            let items = tree.items_of_leaf(node).unwrap_or_default();
            solid_angle::of_triangles(items.iter().filter_map(|&face| corners(points, indices, face as usize).ok()))
        };
        (0..tree.lowers.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(of_leaf)
            .collect_into_vec(&mut self.solid_angles);
        let angles = &mut self.solid_angles;
        self.tree
            .for_inner_upwards(|_, node, left, right| angles[node] = solid_angle::union(&angles[left], &angles[right]));
    }

    fn publish(&mut self) {
        let (header, input) = (&mut *self.header, &self.input);
        header.points = input.points.descriptor();
        header.velocities = input.velocities.as_ref().map_or(NO_ARRAY, Source::descriptor);
        header.indices = input.indices.descriptor();
        header.lowers = address_of(&self.faces.lowers);
        header.uppers = address_of(&self.faces.uppers);
        header.solid_angle = address_of(&self.solid_angles);
        header.num_points = input.points.len() as i32;
        header.num_tris = self.faces.lowers.len() as i32;
        header.average_edge_length = self.faces.average_edge;
        self.tree.describe(&mut header.bvh);
        header.bvh.item_lowers = header.lowers;
        header.bvh.item_uppers = header.uppers;
        header.bvh.item_groups = input.groups.as_ref().map_or(0, Source::address);
        header.bvh.leaf_size = input.leaf_size;
        header.bvh.constructor = input.constructor.number();
        let ranges = ranges_of(self);
        self.registration.publish(self.id(), Kind::Mesh, ranges);
    }
}

impl Engine for Mesh {
    fn id(&self) -> u64 {
        address_of_value(&*self.header)
    }

    fn kind(&self) -> Kind {
        Kind::Mesh
    }

    fn header(&self) -> &[u8] {
        bytes_of(&*self.header)
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        const BVH: usize = offset_of!(MeshHeader, bvh);
        let (input, faces) = (&self.input, &self.faces);
        let mut pieces = Pieces::default();
        pieces.array(offset_of!(MeshHeader, points), &input.points);
        if let Some(velocities) = &input.velocities {
            pieces.array(offset_of!(MeshHeader, velocities), velocities);
        }
        pieces.array(offset_of!(MeshHeader, indices), &input.indices);
        pieces.read(offset_of!(MeshHeader, lowers), bytes_of_slice(&faces.lowers));
        pieces.read(offset_of!(MeshHeader, uppers), bytes_of_slice(&faces.uppers));
        pieces.read(offset_of!(MeshHeader, solid_angle), bytes_of_slice(&self.solid_angles));
        tree_pieces(&mut pieces, BVH, &self.tree);
        pieces.read(BVH + offset_of!(BvhHeader, item_lowers), bytes_of_slice(&faces.lowers));
        pieces.read(BVH + offset_of!(BvhHeader, item_uppers), bytes_of_slice(&faces.uppers));
        if let Some(groups) = &input.groups {
            pieces.read(BVH + offset_of!(BvhHeader, item_groups), groups.bytes());
        }
        pieces.finish()
    }
}

impl Faces {
    fn items<'a>(&'a self, input: &'a MeshInput) -> Items<'a> {
        Items { lowers: &self.lowers, uppers: &self.uppers, groups: input.groups.as_ref().map(Source::as_slice) }
    }

    /// Boxes, and the mean of all edges; an edge of two faces counts twice.
    fn measure(&mut self, input: &MeshInput) -> Result<(), EngineError> {
        let (points, indices) = (input.points.as_slice(), input.indices.as_slice());
        let boxes = self.lowers.par_chunks_mut(CHUNK).zip(self.uppers.par_chunks_mut(CHUNK));
        let sums: Vec<Result<f64, EngineError>> = boxes
            .enumerate()
            .map(|(chunk, (lowers, uppers))| measure_faces(points, indices, chunk * CHUNK, lowers, uppers))
            .collect();
        let sum = sums.into_iter().sum::<Result<f64, EngineError>>()?;
        self.average_edge = if indices.is_empty() { 0.0 } else { (sum / indices.len() as f64) as f32 };
        Ok(())
    }
}

/// Writes boxes of the faces from `first` on; the sum of the lengths of their edges.
fn measure_faces(
    points: &[[f32; 3]],
    indices: &[i32],
    first: usize,
    lowers: &mut [[f32; 3]],
    uppers: &mut [[f32; 3]],
) -> Result<f64, EngineError> {
    let mut sum = 0.0;
    for (k, (lower, upper)) in lowers.iter_mut().zip(uppers).enumerate() {
        let corners = corners(points, indices, first + k)?;
        // Not finite where a corner is not, or where corners are too far apart.
        let perimeter = perimeter(corners);
        if !perimeter.is_finite() && !corners.as_flattened().iter().all(|x| x.is_finite()) {
            return Err(not_finite(points, indices, first + k));
        }
        let around = corners.iter().fold(Bounds::NOTHING, |all, &[x, y, z]| all.with([x, y, z, 0.0]));
        (*lower, *upper) = (around.lower(), around.upper());
        sum += f64::from(perimeter);
    }
    Ok(sum)
}

/// The corners of a face of the mesh.
fn corners(points: &[[f32; 3]], indices: &[i32], face: usize) -> Result<[[f32; 3]; 3], EngineError> {
    let mut corners = [[0.0; 3]; 3];
    for (corner, out) in corners.iter_mut().enumerate() {
        let index = indices[3 * face + corner];
        let point = usize::try_from(index).ok().and_then(|index| points.get(index));
        *out = *point.ok_or(EngineError::IndexOutOfRange { face, corner, index, points: points.len() })?;
    }
    Ok(corners)
}

fn not_finite(points: &[[f32; 3]], indices: &[i32], face: usize) -> EngineError {
    let of_face = indices[3 * face..3 * face + 3].iter().map(|&index| index as usize);
    let point = of_face.into_iter().find(|&point| !points[point].iter().all(|x| x.is_finite()));
    EngineError::PointNotFinite { point: point.unwrap_or_default(), face }
}

fn perimeter([a, b, c]: [[f32; 3]; 3]) -> f32 {
    distance(a, b) + distance(b, c) + distance(c, a)
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [x, y, z] = std::array::from_fn(|k| a[k] - b[k]);
    (x * x + y * y + z * z).sqrt()
}

fn check_counts(input: &MeshInput) -> Result<(), EngineError> {
    let count = input.indices.len();
    if !count.is_multiple_of(3) {
        return Err(EngineError::IndexCount { count });
    }
    if let Some(groups) = &input.groups {
        same_length("faces", count / 3, "groups", groups.len())?;
    }
    if let Some(velocities) = &input.velocities {
        same_length("points", input.points.len(), "velocities", velocities.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
