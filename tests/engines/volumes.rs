//! Do kernels find in a volume of a launch what the array has that it is filled from?

use serde_json::{Value, json};

use super::{Outputs, QUERIES, Random, array, scenes, value, vectors, zeros};

const AROUND: f32 = -2.5;

/// The voxels of a box.
struct Box3 {
    shape: [usize; 3],
    values: Vec<f32>,
}

impl Box3 {
    fn at(&self, voxel: [i64; 3]) -> f64 {
        let inside = (0..3).all(|k| (0..self.shape[k] as i64).contains(&voxel[k]));
        let [x, y, z] = voxel.map(|v| v.max(0) as usize);
        f64::from(if inside { self.values[(x * self.shape[1] + y) * self.shape[2] + z] } else { AROUND })
    }

    /// The mixture of the eight voxels around a place.
    fn mixed(&self, place: [f64; 3]) -> f64 {
        (0..8)
            .map(|corner| {
                let voxel = [0, 1, 2].map(|k| place[k].floor() as i64 + (corner >> k & 1));
                let part = |k: usize| {
                    let t = place[k] - place[k].floor();
                    if corner >> k & 1 == 1 { t } else { 1.0 - t }
                };
                part(0) * part(1) * part(2) * self.at(voxel)
            })
            .sum()
    }
}

fn volume(name: &str, mut data: Value, around: Value, size: [f32; 3], first: [f32; 3]) -> Value {
    let three = |name: &str, numbers: [f32; 3]| {
        let dtype = json!({"class": "vec", "scalar": "float32", "shape": [3]});
        json!({"name": name, "kind": "value", "dtype": dtype, "value": numbers})
    };
    // Each array of a launch has a name of its own.
    data["data"] = json!(format!("{name}.data"));
    let fields = [data, around, three("voxel_size", size), three("min_world", first)];
    json!({"name": name, "kind": "volume", "fields": fields})
}

#[test]
fn samples_are_those_of_the_array() {
    for seed in scenes() {
        let mut random = Random(seed ^ 0x70e1);
        let shape = [1 + random.below(20), 1 + random.below(9), 1 + random.below(6)];
        let count = shape.iter().product();
        let cells = Box3 { shape, values: (0..count).map(|_| random.signed()).collect() };
        let (size, first) = (random.vec().map(|c| 0.5 + c.abs()), random.vec());
        let x: Vec<[f32; 3]> = (0..QUERIES)
            .map(|_| std::array::from_fn(|k| first[k] + size[k] * (random.signed() * 0.6 + 0.5) * shape[k] as f32))
            .collect();
        let numbers: Vec<i32> = (0..count as i32).collect();
        let args = [
            volume(
                "volume",
                array("data", "float32", &shape, json!(cells.values)),
                value("bg_value", "float32", json!(AROUND)),
                size,
                first,
            ),
            volume(
                "again",
                array("data", "int32", &shape, json!(numbers)),
                value("bg_value", "int32", json!(-1)),
                size,
                first,
            ),
            vectors("x", &x),
            zeros("found", "float32"),
            zeros("nearest", "int32"),
        ];
        let mut out = Outputs::of("voxels", &args);
        let (found, nearest) = (out.floats("found"), out.ints("nearest"));
        for k in 0..QUERIES {
            let place: [f64; 3] =
                std::array::from_fn(|c| (f64::from(x[k][c]) - f64::from(first[c])) / f64::from(size[c]));
            let exact = cells.mixed(place);
            assert!((f64::from(found[k]) - exact).abs() < 1e-4, "seed {seed}, query {k}: {}, not {exact}", found[k]);
            let sure = place.iter().all(|c| ((c - c.floor()) - 0.5).abs() > 1e-4);
            let voxel = place.map(|c| c.round() as i64);
            let inside = (0..3).all(|c| (0..shape[c] as i64).contains(&voxel[c]));
            let [i, j, l] = voxel.map(|v| v.max(0) as usize);
            let expected = if inside { ((i * shape[1] + j) * shape[2] + l) as i32 } else { -1 };
            assert!(!sure || nearest[k] == expected, "seed {seed}, query {k}: {}, not {expected}", nearest[k]);
        }
    }
}
