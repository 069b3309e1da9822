//! Do queries of meshes, trees of boxes, hash grids and textures find what a search through
//! everything finds?
//!
//! Random scenes, with faces that share edges, that are doubled, on a lattice, and far away. The
//! search works in float64 and shares nothing with the library. Host, interpreter and simulated GPU
//! give the same bits, whatever the tree.
//!
//! `KC_ENGINE_SCENES=N` makes N scenes of each kind instead of a few; `KC_ENGINE_SEED` the first.

use std::fs;
use std::path::Path;
use std::process::Command;

use kc::run::files::npz::Npz;
use search::{Scene, V3};
use serde_json::{Value, json};

mod refused;
mod search;
mod steps;
mod textures;
mod together;
mod volumes;

/// Queries of a scene.
const QUERIES: usize = 64;

const DEVICES: [&str; 3] = ["host", "interp", "sim"];

fn scenes() -> impl Iterator<Item = u64> {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let first = number("KC_ENGINE_SEED", 1);
    first..first + number("KC_ENGINE_SCENES", 3)
}

/// Numbers of splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> usize {
        (self.bits() % n) as usize
    }

    /// From -1 to 1.
    pub fn signed(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub fn vec(&mut self) -> V3 {
        [self.signed(), self.signed(), self.signed()]
    }
}

/// A launch of a kernel of `kernels.py`; the arrays that each device gives.
struct Outputs(Vec<Npz>);

impl Outputs {
    fn of(kernel: &str, args: &[Value]) -> Outputs {
        Outputs::launched(kernel, &json!({"dim": [QUERIES], "args": args}))
    }

    /// Of a kernel in which each query is that of a block of threads.
    fn in_blocks(kernel: &str, threads: usize, args: &[Value]) -> Outputs {
        Outputs::launched(kernel, &json!({"dim": [QUERIES, threads], "block_dim": threads, "args": args}))
    }

    /// Of many launches, each with arguments of its own: the kernel is compiled once for each
    /// device.
    fn all(kernel: &str, launches: &[Vec<Value>]) -> Vec<Outputs> {
        let launches: Vec<Value> = launches.iter().map(|args| json!({"dim": [QUERIES], "args": args})).collect();
        Outputs::launches(kernel, &launches)
    }

    fn launched(kernel: &str, more: &Value) -> Outputs {
        Outputs::launches(kernel, std::slice::from_ref(more)).remove(0)
    }

    fn launches(kernel: &str, launches: &[Value]) -> Vec<Outputs> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines/kernels.py");
        fs::copy(source, folder.path().join("kernels.py")).expect("a copy");
        let mut names = Vec::new();
        for (n, more) in launches.iter().enumerate() {
            let mut launch = json!({"format": 1, "id": n.to_string(), "source": "kernels.py", "kernel": kernel});
            let (all, more) = (launch.as_object_mut().expect("an object"), more.as_object().expect("an object"));
            all.extend(more.clone());
            names.push(format!("{n}.json"));
            fs::write(folder.path().join(&names[n]), launch.to_string()).expect("a file");
        }
        for device in DEVICES {
            let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
            command.args(["run", "--device", device, "--out-dir", device]).args(&names);
            let output = command.current_dir(folder.path()).output().expect("kc starts");
            assert!(output.status.success(), "{kernel} on {device}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let of = |n: usize| {
            let open = |device: &&str| folder.path().join(device).join(format!("{n}.npz"));
            Outputs(DEVICES.iter().map(|device| Npz::open(&open(device), None).expect("results")).collect())
        };
        // Open files stay readable when the folder is gone.
        (0..launches.len()).map(of).collect()
    }

    /// The bytes of an array, which all devices give alike.
    fn bytes(&mut self, name: &str) -> Vec<u8> {
        let mut all = self.0.iter_mut().map(|npz| npz.read(name, |_| Ok(())).expect("an array").bytes);
        let first = all.next().expect("a device");
        for (other, device) in all.zip(&DEVICES[1..]) {
            assert!(first == other, "`{name}` differs on {device}");
        }
        first
    }

    fn ints(&mut self, name: &str) -> Vec<i32> {
        self.bytes(name).chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
    }

    fn floats(&mut self, name: &str) -> Vec<f32> {
        self.bytes(name).chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
    }
}

fn array(name: &str, scalar: &str, shape: &[usize], fill: Value) -> Value {
    let dtype = json!({"class": "scalar", "scalar": scalar});
    let fill = if fill == json!([]) { json!(0) } else { fill };
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": shape.len(), "shape": shape, "fill": fill})
}

fn vectors(name: &str, list: &[V3]) -> Value {
    let dtype = json!({"class": "vec", "scalar": "float32", "shape": [3]});
    let fill = if list.is_empty() { json!(0) } else { json!(list.as_flattened()) };
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [list.len()], "fill": fill})
}

fn value(name: &str, scalar: &str, value: Value) -> Value {
    json!({"name": name, "kind": "value", "dtype": {"class": "scalar", "scalar": scalar}, "value": value})
}

fn mesh(scene: &Scene, leaf_size: u32, constructor: u32) -> Value {
    let faces: Vec<i32> = scene.faces.as_flattened().to_vec();
    json!({"name": "mesh", "kind": "mesh", "fields": [
        vectors("points", &scene.points),
        array("indices", "int32", &[faces.len()], json!(faces)),
        value("leaf_size", "int32", json!(leaf_size)),
        value("constructor", "int32", json!(constructor)),
        value("support_winding_number", "bool", json!(true)),
    ]})
}

fn zeros(name: &str, scalar: &str) -> Value {
    array(name, scalar, &[QUERIES], json!(0))
}

#[test]
fn closest_points_are_the_closest() {
    let (mut made, mut launches) = (Vec::new(), Vec::new());
    for seed in scenes() {
        let mut random = Random(seed);
        let scene = Scene::any(&mut random);
        let x: Vec<V3> = (0..QUERIES).map(|_| scene.query(&mut random)).collect();
        for (leaf_size, constructor) in [(1, 0), (4, 1)] {
            let near = json!({"name": "near", "kind": "array", "dtype": {"class": "vec", "scalar": "float32", "shape": [3]},
                "ndim": 1, "shape": [QUERIES], "fill": 0});
            launches.push(vec![
                mesh(&scene, leaf_size, constructor),
                vectors("x", &x),
                value("rule", "int32", json!(0)),
                zeros("face", "int32"),
                zeros("sign", "float32"),
                near,
            ]);
        }
        made.push((seed, scene, x));
    }
    let mut outputs = Outputs::all("closest", &launches).into_iter();
    for (seed, scene, x) in made {
        let mut before: Option<Vec<i32>> = None;
        for mut out in outputs.by_ref().take(2) {
            let (faces, near) = (out.ints("face"), out.floats("near"));
            for (k, (&face, near)) in faces.iter().zip(near.chunks_exact(3)).enumerate() {
                let (_, exact) = scene.closest(x[k]);
                let found = search::distance(x[k], [near[0], near[1], near[2]]);
                let size = 1.0 + exact + search::length(x[k]);
                assert!(
                    face >= 0 && (found - exact).abs() <= 2e-6 * size,
                    "seed {seed}, query {k}: {found}, not {exact}"
                );
            }
            // Ties go to the lowest face, whatever the tree.
            if let Some(before) = &before {
                assert_eq!(*before, faces, "seed {seed}");
            }
            before = Some(faces);
        }
    }
}

/// Areas of thin triangles are small differences of large numbers.
#[test]
fn thin_triangles_have_closest_points() {
    let (mut made, mut launches) = (Vec::new(), Vec::new());
    for seed in scenes() {
        let mut random = Random(seed ^ 0x7e41);
        let scene = Scene::needles(&mut random);
        let x: Vec<V3> = (0..QUERIES).map(|_| scene.query(&mut random)).collect();
        launches.push(vec![
            mesh(&scene, 2, 0),
            vectors("x", &x),
            value("rule", "int32", json!(0)),
            zeros("face", "int32"),
            zeros("sign", "float32"),
            vectors("near", &[[0.0; 3]; QUERIES]),
        ]);
        made.push((seed, scene, x));
    }
    for ((seed, scene, x), mut out) in made.into_iter().zip(Outputs::all("closest", &launches)) {
        for (k, near) in out.floats("near").chunks_exact(3).enumerate() {
            let (_, exact) = scene.closest(x[k]);
            let found = search::distance(x[k], [near[0], near[1], near[2]]);
            let size = 1.0 + exact + search::length(x[k]);
            assert!((found - exact).abs() <= 2e-6 * size, "seed {seed}, query {k}: {found}, not {exact}");
        }
    }
}

#[test]
fn signs_tell_the_inside() {
    let (mut made, mut launches) = (Vec::new(), Vec::new());
    for seed in scenes() {
        let mut random = Random(seed ^ 0x5151);
        let scene = Scene::closed(&mut random);
        let x: Vec<V3> = (0..QUERIES).map(|_| random.vec().map(|c| 1.5 * c)).collect();
        for rule in 1..=4 {
            let near = vectors("near", &vec![[0.0; 3]; QUERIES]);
            launches.push(vec![
                mesh(&scene, 2, 0),
                vectors("x", &x),
                value("rule", "int32", json!(rule)),
                zeros("face", "int32"),
                zeros("sign", "float32"),
                near,
            ]);
        }
        made.push((seed, scene, x));
    }
    let mut outputs = Outputs::all("closest", &launches).into_iter();
    for (seed, scene, x) in made {
        for (rule, mut out) in (1..=4).zip(outputs.by_ref()) {
            for (k, sign) in out.floats("sign").into_iter().enumerate() {
                let (_, distance) = scene.closest(x[k]);
                if distance > 1e-3 {
                    let inside = scene.winds_around(x[k]);
                    assert_eq!(sign < 0.0, inside, "seed {seed}, rule {rule}, query {k} at {:?}", x[k]);
                }
            }
        }
    }
}

#[test]
fn rays_meet_the_first_face() {
    let (mut made, mut launches) = (Vec::new(), Vec::new());
    for seed in scenes() {
        let mut random = Random(seed ^ 0x7a75);
        let scene = if seed % 2 == 0 { Scene::any(&mut random) } else { Scene::closed(&mut random) };
        let x: Vec<V3> = (0..QUERIES).map(|_| scene.query(&mut random)).collect();
        let d: Vec<V3> = (0..QUERIES).map(|k| scene.direction(x[k], &mut random)).collect();
        launches.push(vec![
            mesh(&scene, 1 + (seed % 4) as u32, (seed % 2) as u32),
            vectors("x", &x),
            vectors("d", &d),
            zeros("face", "int32"),
            zeros("t", "float32"),
            zeros("sign", "float32"),
            zeros("any", "int32"),
            zeros("count", "int32"),
        ]);
        made.push((seed, scene, x, d));
    }
    for ((seed, scene, x, d), mut out) in made.into_iter().zip(Outputs::all("rays", &launches)) {
        let (faces, t, sign) = (out.ints("face"), out.floats("t"), out.floats("sign"));
        let (any, count) = (out.ints("any"), out.ints("count"));
        for k in 0..QUERIES {
            let at = format!("seed {seed}, ray {k} from {:?} along {:?}", x[k], d[k]);
            assert_eq!(faces[k] >= 0, any[k] != 0, "{at}");
            assert_eq!(faces[k] >= 0, count[k] > 0, "{at}");
            let Some(hits) = scene.hits(x[k], d[k]) else { continue };
            assert_eq!(count[k] as usize, hits.len(), "{at}");
            if let Some(&(exact, front)) = hits.first() {
                assert!((f64::from(t[k]) - exact).abs() <= 2e-5 * (1.0 + exact), "{at}: {}, not {exact}", t[k]);
                let alone = hits.get(1).is_none_or(|(other, _)| other - exact > 1e-4 * (1.0 + exact));
                assert!(!alone || (sign[k] > 0.0) == front, "{at}: the side");
            }
        }
    }
}

/// Along the sides of all boxes of the tree, where each ray meets an edge or a corner of the cube.
#[test]
fn rays_along_the_sides_of_boxes_meet_faces() {
    let corners: Vec<V3> = (0..8).map(|n| [n & 1, n >> 1 & 1, n >> 2].map(|c| c as f32)).collect();
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let faces = sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let scene = Scene { points: corners, faces, closed: true };
    let (mut x, mut d) = (Vec::new(), Vec::new());
    for (axis, sign, across, along) in (0..QUERIES).map(|n| (n % 3, n / 3 % 2, n / 6 % 3, n / 18 % 3)) {
        let of = |k: usize, value: f32, one: f32, other: f32| match (k + 3 - axis) % 3 {
            0 => value,
            1 => one,
            _ => other,
        };
        let (start, step) = if sign == 0 { (-1.0, 1.0) } else { (2.0, -1.0) };
        let (across, along) = (across as f32 * 0.5, along as f32 * 0.5);
        x.push(std::array::from_fn(|k| of(k, start, across, along)));
        d.push(std::array::from_fn(|k| of(k, step, 0.0, 0.0)));
    }
    for leaf_size in [1, 4] {
        let outputs = ["face", "t", "sign", "any", "count"];
        let mut args = vec![mesh(&scene, leaf_size, 0), vectors("x", &x), vectors("d", &d)];
        args.extend(outputs.map(|name| zeros(name, if ["t", "sign"].contains(&name) { "float32" } else { "int32" })));
        let mut out = Outputs::of("rays", &args);
        assert_eq!(out.floats("t"), [1.0; QUERIES], "leaves of {leaf_size}");
        assert!(out.ints("any").into_iter().all(|any| any != 0));
    }
}

#[test]
fn trees_find_all_boxes_and_no_others() {
    let (mut made, mut launches) = (Vec::new(), Vec::new());
    for seed in scenes() {
        let mut random = Random(seed ^ 0xb0b0);
        let count = [0, 1, 7, 150][(seed % 4) as usize];
        let lattice = seed % 3 == 0;
        let corner = |random: &mut Random| match lattice {
            true => [0; 3].map(|_: i32| random.below(5) as f32 * 0.5 - 1.0),
            false => random.vec(),
        };
        let lowers: Vec<V3> = (0..count).map(|_| corner(&mut random)).collect();
        let size =
            |random: &mut Random| if lattice { random.below(3) as f32 * 0.5 } else { random.signed().abs() * 0.4 };
        let uppers: Vec<V3> = lowers.iter().map(|low| low.map(|c| c + size(&mut random))).collect();
        let groups: Vec<i32> = (0..count).map(|_| random.below(4) as i32 * 7 - 3).collect();
        let x: Vec<V3> = (0..QUERIES).map(|_| corner(&mut random)).collect();
        let d: Vec<V3> = (0..QUERIES).map(|_| random.vec()).collect();
        for group in [-1, 4] {
            let mut fields = vec![
                vectors("lowers", &lowers),
                vectors("uppers", &uppers),
                value("leaf_size", "int32", json!(1 + seed % 5)),
            ];
            if group >= 0 {
                fields.push(array("groups", "int32", &[count], json!(groups)));
            }
            launches.push(vec![
                json!({"name": "tree", "kind": "bvh", "fields": fields}),
                vectors("x", &x),
                vectors("d", &d),
                value("radius", "float32", json!(0.5)),
                value("group", "int32", json!(group)),
                array("found", "int32", &[QUERIES, 8], json!(0)),
            ]);
        }
        made.push((seed, lowers, uppers, groups, x, d));
    }
    let mut outputs = Outputs::all("boxes", &launches).into_iter();
    for (seed, lowers, uppers, groups, x, d) in made {
        let count = lowers.len();
        for (group, mut out) in [-1, 4].into_iter().zip(outputs.by_ref()) {
            for (k, found) in out.ints("found").chunks_exact(8).enumerate() {
                let all = (0..count).filter(|&b| group < 0 || groups[b] == group);
                let mut expected = [0; 8];
                for b in all {
                    let kinds = search::box_kinds(lowers[b], uppers[b], x[k], d[k], 0.5);
                    for (n, holds) in kinds.into_iter().enumerate() {
                        // A box at the border of what is asked for may go either way by rounding.
                        let holds = holds.unwrap_or(false);
                        expected[2 * n] += i32::from(holds);
                        expected[2 * n + 1] += if holds { (b * b) as i32 } else { 0 };
                    }
                }
                let sure = search::sure(&lowers, &uppers, x[k], d[k], 0.5);
                for n in 0..4 {
                    let (a, b) = (&found[2 * n..2 * n + 2], &expected[2 * n..2 * n + 2]);
                    assert!(!sure[n] || a == b, "seed {seed}, group {group}, query {k}, kind {n}: {a:?}, not {b:?}");
                }
            }
        }
    }
}

#[test]
fn hash_grids_give_their_points_in_order() {
    const MOST: usize = 512;
    let (mut made, mut launches) = (Vec::new(), Vec::new());
    for seed in scenes() {
        let mut random = Random(seed ^ 0xce11);
        let count = [0, 1, 40, 300][(seed % 4) as usize];
        let points: Vec<V3> = (0..count).map(|_| random.vec().map(|c| 3.0 * c)).collect();
        let x: Vec<V3> = (0..QUERIES).map(|_| random.vec().map(|c| 4.0 * c)).collect();
        let dims = [1 + random.below(6) as i32, 1 + random.below(6) as i32, 1 + random.below(6) as i32];
        let (width, radius) = (0.25 + random.signed().abs(), 0.5 * random.signed());
        let dim = json!({"name": "dim", "kind": "value", "dtype": {"class": "vec", "scalar": "int32", "shape": [3]}, "value": dims});
        let fields = json!([vectors("points", &points), dim, value("width", "float32", json!(width))]);
        launches.push(vec![
            json!({"name": "grid", "kind": "hash_grid", "fields": fields}),
            vectors("x", &x),
            value("radius", "float32", json!(radius)),
            array("order", "int32", &[QUERIES, MOST], json!(0)),
        ]);
        made.push((seed, points, dims, width, x, radius));
    }
    let outputs = Outputs::all("cells", &launches);
    for ((seed, points, dims, width, x, radius), mut out) in made.into_iter().zip(outputs) {
        for (k, found) in out.ints("order").chunks_exact(MOST).enumerate() {
            let expected = search::cell_order(&points, dims, width, x[k], radius);
            assert_eq!(found[0] as usize, expected.len(), "seed {seed}, query {k}");
            assert_eq!(&found[1..=expected.len()], &expected[..], "seed {seed}, query {k}");
        }
    }
}
