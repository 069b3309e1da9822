//! Do the threads of a block find together what one thread finds?

use serde_json::json;

use super::search::{self, Scene, V3};
use super::{Outputs, QUERIES, Random, array, mesh, scenes, value, vectors};

/// The numbers of a row that the kernel makes.
const COLUMNS: usize = 6;

#[test]
fn blocks_find_all_boxes_and_faces_once() {
    for seed in scenes() {
        let mut random = Random(seed ^ 0x71e5);
        let scene = Scene::any(&mut random);
        let count = [90, 0, 1, 33][(seed % 4) as usize];
        let lowers: Vec<V3> = (0..count).map(|_| random.vec()).collect();
        let uppers: Vec<V3> = lowers.iter().map(|low| low.map(|c| c + 0.4 * random.signed().abs())).collect();
        let x: Vec<V3> = (0..QUERIES).map(|_| random.vec()).collect();
        let size = 0.5f32;
        for block in [1, 7, 32] {
            let fields = [vectors("lowers", &lowers), vectors("uppers", &uppers)];
            let args = [
                json!({"name": "tree", "kind": "bvh", "fields": fields}),
                mesh(&scene, 1 + (seed % 4) as u32, 0),
                vectors("x", &x),
                value("size", "float32", json!(size)),
                array("found", "int32", &[QUERIES, COLUMNS], json!(0)),
            ];
            let mut out = Outputs::in_blocks("together", block, &args);
            for (k, found) in out.ints("found").chunks_exact(COLUMNS).enumerate() {
                let at = format!("seed {seed}, blocks of {block}, query {k}");
                let high = x[k].map(|c| c + size);
                let touch = |low: V3, up: V3| (0..3).all(|c| x[k][c] <= up[c] && high[c] >= low[c]);
                let boxes: Vec<usize> = (0..count).filter(|&b| touch(lowers[b], uppers[b])).collect();
                let faces: Vec<usize> = (0..scene.faces.len())
                    .filter(|&f| {
                        let corners = scene.faces[f].map(|corner| scene.points[corner as usize]);
                        let bound = |pick: fn(f32, f32) -> f32| {
                            [0, 1, 2].map(|c| corners.iter().map(|p| p[c]).reduce(pick).unwrap_or(f32::NAN))
                        };
                        touch(bound(f32::min), bound(f32::max))
                    })
                    .collect();
                let squares = |all: &[usize]| all.iter().map(|&n| (n * n) as i32).sum::<i32>();
                assert_eq!(&found[..2], &[boxes.len() as i32, squares(&boxes)], "{at}: boxes");
                assert_eq!(&found[2..4], &[faces.len() as i32, squares(&faces)], "{at}: faces");
                // A step for each full block, one for the rest, and one that finds nothing.
                assert_eq!(found[5], faces.len().div_ceil(block) as i32 + 1, "{at}: steps");
                let d = [1.0, 0.0, 0.0];
                let met = |b: usize| search::box_kinds(lowers[b], uppers[b], x[k], d, size)[2];
                if (0..count).all(|b| met(b).is_some()) {
                    let rays = (0..count).filter(|&b| met(b) == Some(true)).count();
                    assert_eq!(found[4], rays as i32, "{at}: boxes on the ray");
                }
            }
        }
    }
}
