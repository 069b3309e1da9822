//! Do kernels find in a volume of a launch what the array has that it is filled from?

use std::fs;
use std::path::Path;
use std::process::Command;

use kc::engines::Volume;
use kc::engines::volume::file::Codec;
use kc::engines::volume::transform::Transform;
use kc::engines::volume::types::grid;
use kc::engines::volume::value::Dense;
use serde_json::{Value, json};

use super::{DEVICES, Outputs, QUERIES, Random, array, scenes, value, vectors, zeros};

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

/// A volume with a name.
fn named(name: &str, dense: Dense, shape: [usize; 3]) -> Volume {
    let unit = Transform::scale([1.0; 3], [0.0; 3]).expect("a transform");
    let mut bytes = Volume::from_dense(dense, shape, unit).expect("a volume").bytes().to_vec();
    bytes[grid::NAME..grid::NAME + name.len()].copy_from_slice(name.as_bytes());
    Volume::open(&bytes).expect("a grid").remove(0)
}

const SHAPE: [usize; 3] = [9, 5, 12];

/// A file with the grids `density`, of floats, and `number`, of integers; and their values.
fn two_grids(codec: Codec) -> (Vec<u8>, Vec<f32>, Vec<i32>) {
    let count = SHAPE.iter().product::<usize>() as i32;
    let floats: Vec<f32> = (0..count).map(|n| (n * n % 101) as f32).collect();
    let numbers: Vec<i32> = (0..count).collect();
    let density = named("density", Dense::F32(&floats, AROUND), SHAPE);
    let number = named("number", Dense::I32(&numbers, -1), SHAPE);
    (Volume::file_bytes(&[&density, &number], codec).expect("a file"), floats, numbers)
}

#[test]
fn grids_of_files_are_those_of_arrays() {
    let mut random = Random(7);
    let x: Vec<[f32; 3]> =
        (0..QUERIES).map(|_| [9.0, 5.0, 12.0].map(|extent| extent * (random.signed() * 0.6 + 0.5))).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let with = |density: Value, number: Value| {
        let args = [density, number, vectors("x", &x), zeros("found", "float32"), zeros("nearest", "int32")];
        let mut out = Outputs::of("voxels", &args);
        (out.bytes("found"), out.bytes("nearest"))
    };
    let (_, floats, numbers) = two_grids(Codec::None);
    let of_array = |name: &str, scalar: &str, data: Value, around: Value| {
        volume(name, array("data", scalar, &SHAPE, data), value("bg_value", scalar, around), [1.0; 3], [0.0; 3])
    };
    let expected = with(
        of_array("volume", "float32", json!(floats), json!(AROUND)),
        of_array("again", "int32", json!(numbers), json!(-1)),
    );
    for (name, codec) in [("plain.nvdb", Codec::None), ("zip.nvdb", Codec::Zip)] {
        let path = folder.path().join(name);
        fs::write(&path, two_grids(codec).0).expect("a file");
        let of_file = |name: &str, grid: &str| json!({"name": name, "kind": "volume", "file": format!("{}{grid}", path.display())});
        // Without a name the first one.
        assert!(with(of_file("volume", ""), of_file("again", ":number")) == expected, "{name}");
        assert!(with(of_file("volume", ":density"), of_file("again", ":number")) == expected, "{name}");
    }
}

/// What `kc run` says of a volume that a flag names, and its exit code.
fn run(folder: &Path, volume: &str, more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    command.args(["run", "v.py", "--dim", "2", "--arg", volume, "--arg", "y=zeros:2", "--print", "y"]);
    let output = command.args(more).current_dir(folder).output().expect("kc starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

const ONE_VOXEL: &str = "import warp as wp

@wp.kernel
def voxel(v: wp.uint64, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.volume_lookup_f(v, 0, i + 2, 5)
    wp.volume_store_f(v, 0, i + 2, 5, -1.0)
";

#[test]
fn flags_take_volumes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("v.py"), ONE_VOXEL).expect("a file");
    let (file, floats, _) = two_grids(Codec::Zip);
    fs::write(at("two.nvdb"), &file).expect("a file");
    let expected = [floats[2 * 12 + 5], floats[3 * 12 + 5]];
    for device in DEVICES {
        for volume in ["v=volume:two.nvdb", "v=volume:two.nvdb:density"] {
            let (code, said) = run(folder.path(), volume, &["--device", device]);
            assert_eq!(code, Some(0), "{said}");
            for (n, value) in expected.iter().enumerate() {
                assert!(said.contains(&format!("[{n}]")) && said.contains(&format!("{value:?}")), "{device}: {said}");
            }
        }
    }
    assert!(fs::read(at("two.nvdb")).expect("the file") == file, "a run changes no file");
}

#[test]
fn files_that_are_no_volumes_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("v.py"), ONE_VOXEL).expect("a file");
    let (file, ..) = two_grids(Codec::Zip);
    let (plain, ..) = two_grids(Codec::None);
    let changed = |file: &[u8], at: usize, to: &[u8]| {
        let mut file = file.to_vec();
        file[at..at + to.len()].copy_from_slice(to);
        file
    };
    // The first grid of the plain file: behind the header and two descriptions with names.
    let names = "density".len() + 1 + "number".len() + 1;
    let first = 16 + 2 * 176 + names;
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "the file is cut: it needs 16 bytes, and 0 are there"),
        (file[..100].to_vec(), "the file is cut"),
        (file[..file.len() - 1].to_vec(), "the grid is cut"),
        (plain[..plain.len() - 1].to_vec(), "the grid is cut"),
        (vec![7; 4000], "the bytes are no NanoVDB grid"),
        (changed(&file, 14, &[2]), "the file is compressed by blosc, which is not supported"),
        (changed(&file, 14, &[9]), "the file is compressed by codec 9, which is not known"),
        (changed(&file, 11, &[0]), "the volume is of NanoVDB version 0, and 32 is supported"),
        (changed(&file, 12, &[0, 0]), "a volume can't be made of 0 grids"),
        (changed(&plain, first + grid::TYPE, &[200]), "volumes of NanoVDB grid type 200 are not supported"),
        // More than fits in any memory.
        (changed(&file, 16, &[0, 0, 0, 0, 0, 1]), "more than 268435456"),
    ];
    for (bytes, expected) in cases {
        fs::write(at("bad.nvdb"), bytes).expect("a file");
        let (code, said) = run(folder.path(), "v=volume:bad.nvdb", &[]);
        assert!(code == Some(1) && said.contains("error[E1007]: bad.nvdb") && said.contains(expected), "{said}");
    }
    fs::write(at("good.nvdb"), &file).expect("a file");
    fs::create_dir(at("folder.nvdb")).expect("a folder");
    for (volume, code, expected) in [
        ("v=volume:good.nvdb:smoke", 1, "error[E1008]: good.nvdb has no grid `smoke`; its grids are"),
        ("v=volume:none.nvdb", 1, "error[E1007]: none.nvdb cannot be opened"),
        ("v=volume:folder.nvdb", 1, "error[E1007]: folder.nvdb is not a regular file"),
        ("v=volume:good.vdb", 2, "expected volume:FILE.nvdb or volume:FILE.nvdb:GRID"),
        ("v=volume:good.nvdb:", 2, "expected volume:FILE.nvdb or volume:FILE.nvdb:GRID"),
    ] {
        let (found, said) = run(folder.path(), volume, &[]);
        assert!(found == Some(code) && said.contains(expected), "{volume}: {found:?} {said}");
    }
    let launch = json!({"format": 1, "id": "l", "source": "v.py", "kernel": "voxel", "dim": [2], "args": [
        {"name": "v", "kind": "volume", "file": "good.obj"}, array("y", "float32", &[2], json!(0))]});
    fs::write(at("l.json"), launch.to_string()).expect("a launch");
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(["run", "l.json"]).current_dir(folder.path()).output();
    let said = String::from_utf8_lossy(&output.expect("kc starts").stderr).into_owned();
    assert!(said.contains("error[E1001]") && said.contains("expected FILE.nvdb or FILE.nvdb:GRID"), "{said}");
}
