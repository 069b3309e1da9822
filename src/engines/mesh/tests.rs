use std::f32::consts::PI;

use super::*;
use crate::abi::ArrayDescriptor;
use crate::engines::registry::{State, kind_of, locate, state_of};

/// The unit cube, faces outward.
fn cube() -> (Vec<[f32; 3]>, Vec<i32>) {
    let points = (0..8).map(|k| [(k & 1) as f32, (k >> 1 & 1) as f32, (k >> 2) as f32]).collect();
    let indices = [
        [0, 2, 1],
        [1, 2, 3],
        [4, 5, 6],
        [5, 7, 6],
        [0, 1, 4],
        [1, 5, 4],
        [2, 6, 3],
        [3, 6, 7],
        [0, 4, 2],
        [2, 4, 6],
        [1, 3, 5],
        [3, 7, 5],
    ];
    (points, indices.concat())
}

/// A bumpy closed surface around the origin.
fn bumpy(rings: usize) -> (Vec<[f32; 3]>, Vec<i32>) {
    let columns = 2 * rings;
    let mut points = Vec::new();
    for ring in 0..=rings {
        for column in 0..columns {
            let (theta, phi) = (ring as f32 / rings as f32 * PI, column as f32 / columns as f32 * 2.0 * PI);
            let radius = 1.0 + 0.2 * (5.0 * theta).sin() * (4.0 * phi).sin();
            points.push([radius * theta.sin() * phi.cos(), radius * theta.sin() * phi.sin(), radius * theta.cos()]);
        }
    }
    let mut indices = Vec::new();
    for ring in 0..rings {
        for column in 0..columns {
            let at = |ring: usize, column: usize| (ring * columns + column % columns) as i32;
            let [a, b] = [at(ring, column), at(ring, column + 1)];
            let [c, d] = [at(ring + 1, column), at(ring + 1, column + 1)];
            indices.extend([a, c, b, b, c, d]);
        }
    }
    (points, indices)
}

fn mesh(
    (points, indices): (Vec<[f32; 3]>, Vec<i32>),
    change: impl FnOnce(&mut MeshInput),
) -> Result<Mesh, EngineError> {
    let mut input = MeshInput::new(Source::owned(points, "points")?, Source::owned(indices, "indices")?);
    change(&mut input);
    Mesh::new(input)
}

fn groups(count: usize, group: impl FnMut(usize) -> i32) -> Option<Source<i32>> {
    Source::owned((0..count).map(group).collect(), "groups").ok()
}

#[test]
fn headers_name_the_arrays() {
    let mesh = mesh(cube(), |_| ()).unwrap();
    let header = &mesh.header;
    assert_eq!((header.num_points, header.num_tris, header.bvh.num_items, header.bvh.leaf_size), (8, 12, 12, 4));
    assert_eq!((header.points.shape[0], header.points.strides[0], header.points.ndim), (8, 12, 1));
    assert_eq!((header.indices.shape[0], header.indices.strides[0]), (36, 4));
    assert_eq!((header.velocities.data, header.solid_angle, header.bvh.item_groups), (0, 0, 0));
    assert_eq!(header.bvh.item_lowers, header.lowers);
    let diagonal = 2f32.sqrt();
    assert!((mesh.average_edge_length() - (2.0 + diagonal) / 3.0).abs() < 1e-6);
    assert_eq!((kind_of(mesh.id()), kind_of(mesh.bvh_id())), (Some(Kind::Mesh), Some(Kind::Bvh)));
    assert_eq!(mesh.bvh_id() - mesh.id(), 200);
    assert_eq!(locate(header.points.data + 13).map(|place| (place.id, place.piece)), Some((mesh.id(), Some(0))));
}

#[test]
fn an_empty_mesh_is_valid() {
    for winding in [false, true] {
        let empty = (vec![[0.0; 3]; 3], vec![]);
        let mut mesh = mesh(empty, |input| input.support_winding_number = winding).unwrap();
        mesh.refit().unwrap();
        assert_eq!((mesh.header.num_tris, mesh.header.bvh.num_nodes, *mesh.tree.root), (0, 0, -1));
        assert_eq!((mesh.average_edge_length(), mesh.header.solid_angle), (0.0, 0));
    }
}

#[test]
fn wrong_faces_are_refused() {
    let error =
        |points: &[[f32; 3]], indices: &[i32]| Mesh::owned(points.to_vec(), indices.to_vec()).unwrap_err().to_string();
    let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [f32::NAN; 3]];
    assert_eq!(error(&corners, &[0, 1]), "the mesh has 2 indices, which is no multiple of 3");
    assert_eq!(
        error(&corners, &[0, 1, 2, 0, 99, 1]),
        "face 1 of the mesh names point 99 as its corner 1, and there are 4 points"
    );
    assert_eq!(
        error(&corners, &[0, 1, -1]),
        "face 0 of the mesh names point -1 as its corner 2, and there are 4 points"
    );
    assert_eq!(error(&corners, &[0, 1, 2, 1, 2, 3]), "point 3 of the mesh, which face 1 uses, is not finite");
    assert!(Mesh::owned(corners.to_vec(), vec![0, 1, 2]).is_ok());
}

#[test]
fn the_first_wrong_face_is_named() {
    let mut indices: Vec<i32> = (0..30_000).map(|k| k % 3).collect();
    (indices[20_001], indices[25_000]) = (7, 8);
    let error = Mesh::owned(vec![[0.0; 3]; 3], indices).unwrap_err();
    assert_eq!(error, EngineError::IndexOutOfRange { face: 6667, corner: 0, index: 7, points: 3 });
}

#[test]
fn wrong_options_are_refused() {
    let error = |change: fn(&mut MeshInput)| mesh(cube(), change).unwrap_err().to_string();
    assert_eq!(error(|input| input.leaf_size = 0), "the leaf size is 0, and must be at least 1");
    let cubql: fn(&mut MeshInput) = |input| (input.constructor, input.groups) = (Constructor::Cubql, groups(12, |_| 0));
    assert_eq!(error(cubql), "the constructor \"cubql\" takes no groups");
    assert_eq!(
        error(|input| input.groups = groups(3, |_| 0)),
        "there are 12 faces and 3 groups, which must be as many"
    );
    let short: fn(&mut MeshInput) = |input| input.velocities = Source::owned(vec![[0.0; 3]], "velocities").ok();
    assert_eq!(error(short), "there are 8 points and 1 velocities, which must be as many");
}

#[test]
fn refit_follows_the_points() {
    let mut mesh = mesh(cube(), |_| ()).unwrap();
    let id = mesh.id();
    mesh.points_mut().unwrap().iter_mut().for_each(|point| *point = point.map(|x| 2.0 * x + 10.0));
    mesh.refit().unwrap();
    let root = *mesh.tree.root as usize;
    assert_eq!((mesh.tree.bounds(root).lower(), mesh.tree.bounds(root).upper()), ([10.0; 3], [12.0; 3]));
    assert!((mesh.header.average_edge_length - (2.0 + 2f32.sqrt()) / 1.5).abs() < 1e-6);
    mesh.set_points(Source::owned(cube().0, "points").unwrap()).unwrap();
    assert_eq!((mesh.id(), mesh.tree.bounds(root).upper()), (id, [1.0; 3]));
    assert_eq!(mesh.header.points.data, mesh.input.points.address());
}

#[test]
fn points_that_do_not_fit_are_not_taken() {
    let mut mesh = mesh(cube(), |_| ()).unwrap();
    let before = mesh.header.points;
    let error = mesh.set_points(Source::owned(vec![[0.0; 3]; 7], "points").unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "there are 8 points and 7 new points, which must be as many");
    let mut broken = cube().0;
    broken[3][1] = f32::INFINITY;
    let error = mesh.set_points(Source::owned(broken, "points").unwrap()).unwrap_err();
    assert_eq!(error, EngineError::PointNotFinite { point: 3, face: 1 });
    assert_eq!((mesh.header.points, mesh.input.points.as_slice()[3]), (before, [1.0, 1.0, 0.0]));
}

#[test]
fn pieces_of_external_arrays_are_read_in_place() {
    let (points, indices) = cube();
    let gradients = [[0.0f32; 3]; 8];
    let (shape, strides) = ([8, 0, 0, 0], [12, 0, 0, 0]);
    let (data, grad) = (points.as_ptr() as u64, gradients.as_ptr() as u64);
    let array = ArrayDescriptor { data, grad, shape, strides, ndim: 1, flags: 0 };
    // SAFETY: `points` and `gradients` live until the end of the test.
    let source = unsafe { Source::external(&array, "points") }.unwrap();
    let mesh = Mesh::new(MeshInput::new(source, Source::owned(indices, "indices").unwrap())).unwrap();
    let pieces = mesh.pieces();
    let piece = |slot: u32| pieces.iter().find(|piece| piece.slot == slot).unwrap();
    assert_eq!((piece(0).bytes.as_ptr() as u64, piece(0).bytes.len(), piece(0).writable), (data, 96, false));
    assert_eq!((piece(8).bytes.as_ptr() as u64, piece(8).bytes.len(), piece(8).writable), (grad, 96, true));
    assert_eq!(mesh.header.points, array);
}

#[test]
fn a_view_has_other_points_over_the_same_tree() {
    let mesh = mesh(cube(), |_| ()).unwrap();
    let (points, gradients) = ([[2.0f32; 3]; 8], [[0.0f32; 3]; 8]);
    let (shape, strides) = ([8, 0, 0, 0], [12, 0, 0, 0]);
    let (data, grad) = (points.as_ptr() as u64, gradients.as_ptr() as u64);
    let array = ArrayDescriptor { data, grad, shape, strides, ndim: 1, flags: 0 };
    // SAFETY: the arrays live until the end of the test.
    let view = unsafe { mesh.view(array, None) };
    assert_eq!((view.header.points, view.header.velocities), (array, NO_ARRAY));
    assert_eq!(view.header.bvh, mesh.header.bvh);
    assert_eq!(kind_of(view.id()), Some(Kind::Mesh));
    assert_eq!(locate(data + 12).map(|place| (place.id, place.piece)), Some((view.id(), Some(0))));
    assert_eq!(locate(grad + 12).map(|place| (place.id, place.piece)), Some((view.id(), Some(8))));
    let id = view.id();
    drop(view);
    assert!(matches!(state_of(id), State::Freed { .. }) && kind_of(mesh.id()) == Some(Kind::Mesh));
}

#[test]
fn a_frozen_mesh_stays_when_the_mesh_is_refitted() {
    let mut mesh = mesh(cube(), |input| input.support_winding_number = true).unwrap();
    // SAFETY: the mesh owns its arrays, of which this is a copy.
    let frozen = unsafe { mesh.frozen() };
    mesh.points_mut().unwrap().iter_mut().for_each(|point| point[0] += 5.0);
    mesh.refit().unwrap();
    let root = *frozen.tree.root as usize;
    assert_eq!((mesh.tree.bounds(root).lower()[0], frozen.tree.bounds(root).lower()[0]), (5.0, 0.0));
    assert_ne!(frozen.id(), mesh.id());
    assert_ne!(frozen.header.bvh.root, mesh.header.bvh.root);
    assert_ne!(
        (frozen.header.points.data, frozen.header.solid_angle),
        (mesh.header.points.data, mesh.header.solid_angle)
    );
}

#[test]
fn gradients_can_be_told_later() {
    let mut mesh = mesh(cube(), |_| ()).unwrap();
    let gradients = [[0.0f32; 3]; 8];
    let address = gradients.as_ptr() as u64;
    // SAFETY: the gradients live until the end of the test.
    unsafe { mesh.set_gradients(address, 0) };
    assert_eq!((mesh.header.points.grad, locate(address).map(|place| place.piece)), (address, Some(Some(8))));
    // SAFETY: there are none.
    unsafe { mesh.set_gradients(0, 0) };
    assert_eq!((mesh.header.points.grad, locate(address)), (0, None));
}

/// By the solid angle of each triangle (van Oosterom and Strackee, 1983), in f64.
fn exact_winding(mesh: &Mesh, query: [f32; 3]) -> f64 {
    let (points, indices) = (mesh.input.points.as_slice(), mesh.input.indices.as_slice());
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let angle = |face: usize| {
        let [a, b, c] = corners(points, indices, face)
            .unwrap()
            .map(|p| std::array::from_fn(|k| f64::from(p[k]) - f64::from(query[k])));
        let [x, y, z] = [a, b, c].map(|v| dot(v, v).sqrt());
        2.0 * dot(a, cross(b, c)).atan2(x * y * z + dot(a, b) * z + dot(b, c) * x + dot(c, a) * y)
    };
    (0..indices.len() / 3).map(angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}

/// The expansion of one node around its centroid, as kernels evaluate it.
fn expanded(p: &SolidAngle, query: [f32; 3]) -> f64 {
    let q: [f64; 3] = std::array::from_fn(|k| f64::from(query[k]) - f64::from(p.average_p[k]));
    let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]).sqrt();
    let q = q.map(|x| x / length);
    let dot = |a: [f64; 3], b: [f32; 3]| (0..3).map(|k| a[k] * f64::from(b[k])).sum::<f64>();
    let f = f64::from;
    let q2 = q.map(|x| x * x);
    let q3 = [q2[0] * q[0], q2[1] * q[1], q2[2] * q[2]];
    let first = -dot(q, p.normal) / length.powi(2);
    let trace: f64 = p.n_ij_diag.iter().map(|&x| f(x)).sum();
    let off = q[0] * q[1] * f(p.n_xy + p.n_yx) + q[0] * q[2] * f(p.n_zx + p.n_xz) + q[1] * q[2] * f(p.n_yz + p.n_zy);
    let second = (trace - 3.0 * (dot(q2, p.n_ij_diag) + off)) / length.powi(3);
    let diagonal = dot(q, p.n_ijk_diag.map(|x| 3.0 * x));
    let mixed = dot(
        q,
        [
            p.two_n_yyx_n_xyy + p.two_n_zzx_n_xzz,
            p.two_n_zzy_n_yzz + p.two_n_xxy_n_yxx,
            p.two_n_xxz_n_zxx + p.two_n_yyz_n_zyy,
        ],
    );
    let cubic = [
        q[1] * f(p.two_n_xxy_n_yxx) + q[2] * f(p.two_n_xxz_n_zxx),
        q[2] * f(p.two_n_yyz_n_zyy) + q[0] * f(p.two_n_yyx_n_xyy),
        q[0] * f(p.two_n_zzx_n_xzz) + q[1] * f(p.two_n_zzy_n_yzz),
    ];
    let sum = dot(q3, p.n_ijk_diag)
        + q[0] * q[1] * q[2] * f(p.sum_permute_n_xyz)
        + (0..3).map(|k| q2[k] * cubic[k]).sum::<f64>();
    let third = (1.5 * (diagonal + mixed) - 7.5 * sum) / length.powi(4);
    (first + second + third) / (4.0 * std::f64::consts::PI)
}

/// Twice as far, the error of the expansion is 2^5 times smaller: it has all terms up to the third.
#[test]
fn expansions_have_the_order_of_their_terms() {
    let mut half = bumpy(12);
    half.1.truncate(half.1.len() / 2);
    half.0.iter_mut().for_each(|[x, y, z]| *x += 0.8 * *y * *z);
    let mesh = mesh(half, |input| (input.support_winding_number, input.leaf_size) = (true, 2)).unwrap();
    let root = &mesh.solid_angles[0];
    for direction in [[0.6, 0.5, 0.62], [-0.3, 0.8, -0.52], [0.57, -0.58, 0.58]] {
        let error = |far: f32| {
            let query = std::array::from_fn(|k| root.average_p[k] + far * direction[k]);
            (expanded(root, query) - exact_winding(&mesh, query)).abs()
        };
        let (near, far) = (error(5.0), error(10.0));
        assert!(near < 3e-4 && far < near / 24.0, "{near} {far}");
    }
}

#[test]
fn winding_numbers_are_right_with_groups() {
    let shape = bumpy(10);
    let faces = shape.1.len() / 3;
    for group in [None, groups(faces, |face| (face % 3) as i32), groups(faces, |face| (face / 50) as i32)] {
        let mut mesh =
            mesh(shape.clone(), |input| (input.support_winding_number, input.groups) = (true, group)).unwrap();
        for _ in 0..2 {
            assert_eq!(mesh.solid_angles.len(), mesh.tree.lowers.len());
            for (query, expected) in [([0.1, 0.2, -0.1], 1.0), ([1.5, 1.5, 0.5], 0.0), ([0.0, 0.0, 0.8], 1.0)] {
                let found = walk(&mesh, query, 2.0);
                assert!((found - expected).abs() < 0.01, "{found} {expected}");
                assert!((found - exact_winding(&mesh, query)).abs() < 0.01);
            }
            mesh.refit().unwrap();
        }
    }
}

fn walk(mesh: &Mesh, query: [f32; 3], accuracy: f32) -> f64 {
    let mut stack = vec![*mesh.tree.root as usize];
    let mut sum = 0.0;
    while let Some(node) = stack.pop() {
        let angle = &mesh.solid_angles[node];
        let near: f32 = (0..3).map(|k| (query[k] - angle.average_p[k]).powi(2)).sum();
        if near > angle.max_p_dist_sq * accuracy * accuracy {
            sum += expanded(angle, query);
        } else if let Some(items) = mesh.tree.items_of_leaf(node) {
            let faces = items.iter().flat_map(|&face| &mesh.input.indices.as_slice()[3 * face as usize..][..3]);
            let part = Mesh::owned(mesh.input.points.as_slice().to_vec(), faces.copied().collect()).unwrap();
            sum += exact_winding(&part, query);
        } else {
            stack.extend([mesh.tree.lowers[node].index(), mesh.tree.uppers[node].index()]);
        }
    }
    sum
}

#[test]
fn solid_angles_hold_the_sums_of_their_faces() {
    let mesh = mesh(bumpy(20), |input| input.support_winding_number = true).unwrap();
    let root = &mesh.solid_angles[0];
    assert_eq!((root.lower, root.upper), (mesh.tree.bounds(0).lower(), mesh.tree.bounds(0).upper()));
    assert!(root.normal.iter().all(|x| x.abs() < 1e-4), "{:?}", root.normal);
    assert!((root.area - 13.0).abs() < 4.0, "{}", root.area);
}
