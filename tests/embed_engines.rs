//! Do engines that C and C++ programs build, with the header alone, consist of the same bytes as
//! those of the library, and do kernels find the same in them as `kc run` does?

#[path = "common/process.rs"]
mod process;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use half::f16;
use kc::engines::bvh::BvhInput;
use kc::engines::hash_grid::{HashGrid, Points, Real};
use kc::engines::memory::bytes_of_slice;
use kc::engines::mesh::MeshInput;
use kc::engines::texture::form::{Address, Filter, Form, Numbers};
use kc::engines::volume::file::Codec;
use kc::engines::volume::transform::Transform;
use kc::engines::volume::types::grid;
use kc::engines::volume::value::Dense;
use kc::engines::{Bvh, Constructor, Engine, Mesh, Source, Texture, Volume};
use kc::run::files::npz::Npz;
use process::run;
use serde_json::{Value, json};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const QUERIES: usize = 64;
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

type V3 = [f32; 3];

/// Numbers of splitmix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    fn signed(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn vec(&mut self) -> V3 {
        [self.signed(), self.signed(), self.signed()]
    }
}

/// What engines are built of, and what they are asked.
struct Scene {
    points: Vec<V3>,
    faces: Vec<i32>,
    face_groups: Vec<i32>,
    lowers: Vec<V3>,
    uppers: Vec<V3>,
    groups: Vec<i32>,
    x: Vec<V3>,
    d: Vec<V3>,
}

impl Scene {
    /// A part of the corners lies on a lattice, so that centres and distances are equal.
    fn random(seed: u64) -> Scene {
        let mut random = Random(seed);
        let corner = |random: &mut Random| {
            let p = random.vec();
            if random.below(3) == 0 { p.map(|c| (2.0 * c).round()) } else { p }
        };
        let points: Vec<V3> = (0..200).map(|_| corner(&mut random)).collect();
        let faces: Vec<i32> = (0..3 * 700).map(|_| random.below(200) as i32).collect();
        let lowers: Vec<V3> = (0..500).map(|_| corner(&mut random).map(|c| 2.0 * c)).collect();
        Scene {
            face_groups: (0..faces.len() / 3).map(|_| random.below(5) as i32 * 9 - 20).collect(),
            uppers: lowers.iter().map(|low| low.map(|c| c + 0.3 * random.signed().abs())).collect(),
            groups: (0..lowers.len()).map(|_| random.below(4) as i32 * 7 - 3).collect(),
            x: (0..QUERIES).map(|_| corner(&mut random).map(|c| 1.25 * c)).collect(),
            d: (0..QUERIES).map(|_| random.vec()).collect(),
            points,
            faces,
            lowers,
        }
    }

    /// As the programs move them.
    fn moved(&self) -> Vec<V3> {
        self.points.iter().map(|p| [p[0] + 0.5 * p[1], p[1], p[2] * 1.25]).collect()
    }

    fn wide(&self) -> Vec<[f64; 3]> {
        self.lowers.iter().map(|p| p.map(|c| 1.37 * f64::from(c))).collect()
    }

    fn narrow(&self) -> Vec<[f16; 3]> {
        self.lowers.iter().map(|p| p.map(f16::from_f32)).collect()
    }

    fn mesh(&self, points: &[V3], grouped: bool) -> Mesh {
        let owned = |points: &[V3]| Source::owned(points.to_vec(), "points").expect("points");
        let mut input = MeshInput::new(owned(points), Source::owned(self.faces.clone(), "indices").expect("indices"));
        input.support_winding_number = true;
        if grouped {
            input.groups = Some(Source::owned(self.face_groups.clone(), "groups").expect("groups"));
            input.constructor = Constructor::Median;
        } else {
            input.leaf_size = 2;
        }
        Mesh::new(input).expect("a mesh")
    }

    fn tree(&self, grouped: bool) -> Bvh {
        let owned = |corners: &[V3]| Source::owned(corners.to_vec(), "corners").expect("corners");
        let mut input = BvhInput::new(owned(&self.lowers), owned(&self.uppers));
        if grouped {
            input.groups = Some(Source::owned(self.groups.clone(), "groups").expect("groups"));
            input.leaf_size = 3;
        }
        Bvh::new(input).expect("a tree")
    }
}

/// The kernels, their object and their header.
static COMPILED: OnceLock<[(&str, Vec<u8>); 3]> = OnceLock::new();

fn compiled() -> [(&'static str, Vec<u8>); 3] {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernels = Path::new(ROOT).join("tests/engines/kernels.py");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    run(kc.arg("compile").arg(&kernels).args(["--emit", "obj,header", "-q", "-o"]).arg(folder.path()));
    fs::copy(kernels, folder.path().join("kernels.py")).expect("a copy");
    ["kernels.py", "kernels.o", "kernels.h"].map(|name| (name, fs::read(folder.path().join(name)).expect("a file")))
}

/// A folder with the object, header, programs and data of a scene.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(scene: &Scene) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        for (name, data) in COMPILED.get_or_init(compiled) {
            folder.write(name, data);
        }
        for (name, data) in [
            ("points", bytes_of_slice(&scene.points).to_vec()),
            ("indices", bytes_of_slice(&scene.faces).to_vec()),
            ("face_groups", bytes_of_slice(&scene.face_groups).to_vec()),
            ("box_lowers", bytes_of_slice(&scene.lowers).to_vec()),
            ("box_uppers", bytes_of_slice(&scene.uppers).to_vec()),
            ("groups", bytes_of_slice(&scene.groups).to_vec()),
            ("wide", bytes_of_slice(&scene.wide()).to_vec()),
            ("narrow", bytes_of_slice(&scene.narrow()).to_vec()),
            ("x", bytes_of_slice(&scene.x).to_vec()),
            ("d", bytes_of_slice(&scene.d).to_vec()),
            ("smoke.nvdb", volumes([20, 9, 6])),
            ("small.nvdb", small_volume()),
        ] {
            folder.write(name, &data);
        }
        for (name, numbers, channels) in TEXTURES {
            folder.write(name, &texels(numbers, channels));
        }
        folder
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, data: &[u8]) {
        fs::write(self.path(name), data).expect("a writable folder");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn build(&self, compiler: &str, flags: &[&str], source: &str) {
        let mut command = Command::new(compiler);
        command.current_dir(self.0.path()).args(flags).args(WARNINGS).arg("-I.");
        run(command.arg(Path::new(ROOT).join("tests/embed_engines").join(source)).args([
            "kernels.o",
            "-lm",
            "-pthread",
            "-o",
            "program",
        ]));
    }

    fn run(&self) -> String {
        run(Command::new(self.path("program")).current_dir(self.0.path()))
    }

    /// What a program wrote is the same.
    #[track_caller]
    fn same(&self, name: &str, expected: &[u8]) {
        assert!(self.read(name) == expected, "`{name}` differs");
    }
}

fn named(name: &str, dense: Dense, shape: [usize; 3]) -> Volume {
    let transform = Transform::scale([0.125, 0.25, 0.5], [-1.0, -1.0, -1.0]).expect("a transform");
    let mut bytes = Volume::from_dense(dense, shape, transform).expect("a volume").bytes().to_vec();
    bytes[grid::NAME..grid::NAME + name.len()].copy_from_slice(name.as_bytes());
    Volume::open(&bytes).expect("a grid").remove(0)
}

/// A file of the grids `density` and `number`.
fn volumes(shape: [usize; 3]) -> Vec<u8> {
    let count = shape.iter().product::<usize>() as i32;
    let floats: Vec<f32> = (0..count).map(|n| (n * n % 101) as f32 * 0.1).collect();
    let numbers: Vec<i32> = (0..count).collect();
    let density = named("density", Dense::F32(&floats, 0.25), shape);
    let number = named("number", Dense::I32(&numbers, -1), shape);
    Volume::file_bytes(&[&density, &number], Codec::None).expect("a file")
}

/// A file of one grid of two leaves.
fn small_volume() -> Vec<u8> {
    let numbers: Vec<i32> = (0..9).collect();
    Volume::file_bytes(&[&named("small", Dense::I32(&numbers, -1), [9, 1, 1])], Codec::None).expect("a file")
}

/// Files of texels of 13 times 6: numbers, channels.
const TEXTURES: [(&str, Numbers, usize); 5] = [
    ("texels_f32", Numbers::F32, 4),
    ("texels_u8", Numbers::U8, 2),
    ("texels_f16", Numbers::F16, 1),
    ("texels_i16", Numbers::I16, 1),
    ("texels_i32", Numbers::I32, 1),
];

/// Numbers whose halves are often between two others.
fn texels(numbers: Numbers, channels: usize) -> Vec<u8> {
    let mut random = Random(5);
    let of = |random: &mut Random| match numbers {
        Numbers::F32 => random.signed().to_le_bytes().to_vec(),
        Numbers::F16 => f16::from_f32(random.signed()).to_le_bytes().to_vec(),
        Numbers::I32 => (random.bits() as i32).to_le_bytes().to_vec(),
        _ => random.bits().to_le_bytes()[..numbers.size()].to_vec(),
    };
    (0..13 * 6 * channels).flat_map(|_| of(&mut random)).collect()
}

fn form(numbers: Numbers, channels: usize) -> Form {
    let mut form = Form::new(&[13, 6], channels as i64, numbers);
    form.address = [Address::Mirror, Address::Wrap, Address::Clamp];
    form.levels = 0;
    form
}

fn vectors(name: &str, list: &[V3]) -> Value {
    let dtype = json!({"class": "vec", "scalar": "float32", "shape": [3]});
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [list.len()], "fill": list.as_flattened()})
}

fn array(name: &str, scalar: &str, shape: &[usize], fill: Value) -> Value {
    let dtype = json!({"class": "scalar", "scalar": scalar});
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": shape.len(), "shape": shape, "fill": fill})
}

fn value(name: &str, scalar: &str, value: Value) -> Value {
    json!({"name": name, "kind": "value", "dtype": {"class": "scalar", "scalar": scalar}, "value": value})
}

/// What `kc run` gives for launches of a kernel, which is compiled once.
fn launched(folder: &Folder, kernel: &str, launches: &[Vec<Value>]) -> Vec<Npz> {
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    kc.current_dir(folder.0.path()).args(["run", "--device", "host", "--out-dir", "out"]);
    for (n, args) in launches.iter().enumerate() {
        let launch = json!({"format": 1, "id": n.to_string(), "source": "kernels.py", "kernel": kernel, "dim": [QUERIES], "args": args});
        folder.write(&format!("{n}.json"), launch.to_string().as_bytes());
        kc.arg(format!("{n}.json"));
    }
    run(&mut kc);
    (0..launches.len()).map(|n| Npz::open(&folder.path(&format!("out/{n}.npz")), None).expect("results")).collect()
}

fn read(npz: &mut Npz, name: &str) -> Vec<u8> {
    npz.read(name, |_| Ok(())).expect("an array").bytes
}

fn closest(points: &[V3], faces: &[i32], x: &[V3], rule: i32) -> Vec<Value> {
    let indices = match faces {
        [] => array("indices", "int32", &[0], json!(0)),
        _ => array("indices", "int32", &[faces.len()], json!(faces)),
    };
    let fields = json!([vectors("points", points), indices, value("support_winding_number", "bool", json!(true))]);
    vec![
        json!({"name": "mesh", "kind": "mesh", "fields": fields}),
        vectors("x", x),
        value("rule", "int32", json!(rule)),
        array("face", "int32", &[QUERIES], json!(0)),
        array("sign", "float32", &[QUERIES], json!(0)),
        vectors("near", &[[0.0; 3]; QUERIES]),
    ]
}

/// What a struct of C points to is what the library's does.
#[track_caller]
fn same_arrays(folder: &Folder, engine: &dyn Engine, arrays: &[(&str, usize)]) {
    let pieces = engine.pieces();
    for &(name, slot) in arrays {
        let expected = pieces.iter().find(|piece| piece.slot as usize == slot).map_or(&[][..], |piece| piece.bytes);
        folder.same(name, expected);
    }
}

#[track_caller]
fn same_mesh(folder: &Folder, of: &str, mesh: &Mesh) {
    let names = ["lowers", "uppers", "parents", "primitives", "face_lowers", "face_uppers", "angles"];
    let names = names.map(|name| format!("{of}.{name}"));
    let slots = [200, 208, 216, 232, 168, 176, 184];
    let arrays: Vec<(&str, usize)> = names.iter().map(String::as_str).zip(slots).collect();
    same_arrays(folder, mesh, &arrays);
    folder.same(&format!("{of}.edge"), &mesh.header()[320..324]);
    let (header, tree) = (&mesh.header()[200..], mesh.tree());
    folder.same(&format!("{of}.counts"), &[&header[40..56], &tree.root.to_le_bytes(), &header[92..100]].concat());
}

#[test]
fn programs_build_what_the_library_builds() {
    for (seed, flags) in [
        (1, &["-std=c11", "-O2"][..]),
        (2, &["-std=c11", "-O3", "-march=native", "-ffp-contract=fast"]),
        (3, &["-std=c11", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]),
    ] {
        let scene = Scene::random(seed);
        let folder = Folder::new(&scene);
        folder.build("cc", flags, "main.c");
        folder.run();
        for (name, grouped) in [("mesh", false), ("grouped", true)] {
            same_mesh(&folder, name, &scene.mesh(&scene.points, grouped));
        }
        for (name, grouped) in [("moved", false), ("grouped_moved", true)] {
            let mut mesh = scene.mesh(&scene.points, grouped);
            mesh.points_mut().expect("points of its own").copy_from_slice(&scene.moved());
            mesh.refit().expect("a mesh");
            same_mesh(&folder, name, &mesh);
        }
        for (name, grouped) in [("tree", false), ("groups_tree", true)] {
            let arrays = ["lowers", "uppers", "parents", "primitives"].map(|array| format!("{name}.{array}"));
            let arrays: Vec<(&str, usize)> = arrays.iter().map(String::as_str).zip([0, 8, 16, 32]).collect();
            same_arrays(&folder, &scene.tree(grouped), &arrays);
        }
        let (wide, narrow) = (scene.wide(), scene.narrow());
        for (name, points, width, groups, dtype) in [
            ("grid", Points::F32(&scene.lowers), 0.5, None, Real::F32),
            ("grid_groups", Points::F32(&scene.lowers), f64::from(0.3f32), Some(&scene.groups[..]), Real::F32),
            ("grid_wide", Points::F64(&wide), 0.3, None, Real::F64),
            ("grid_narrow", Points::F16(&narrow), 0.3, None, Real::F16),
        ] {
            let mut grid = HashGrid::new([5, 4, 3], dtype).expect("a grid");
            grid.build(points, width, groups).expect("points");
            let arrays = ["cells", "ids", "keys", "starts", "ends"].map(|array| format!("{name}.{array}"));
            let arrays: Vec<(&str, usize)> = arrays.iter().map(String::as_str).zip([0, 8, 16, 24, 32]).collect();
            same_arrays(&folder, &grid, &arrays);
            let header = &grid.header()[80..];
            assert_eq!(folder.read(&format!("{name}.width"))[..header.len()], *header, "{name}");
        }
        for (name, numbers, channels) in TEXTURES {
            let texture = Texture::new(form(numbers, channels), &texels(numbers, channels)).expect("a texture");
            let all = texture.pieces().iter().find(|piece| piece.slot == 0).expect("texels").bytes.to_vec();
            let levels = folder.read(&format!("{name}.levels"));
            assert!(levels.len() > texels(numbers, channels).len() && all.starts_with(&levels), "{name}");
        }
        let mut damaged = small_volume();
        let refused = |file: &[u8]| if Volume::from_file_bytes(file).is_err() { b'1' } else { b'0' };
        let (mut verdicts, mut at) = (Vec::new(), 0);
        while at < damaged.len() {
            for bit in [0, 3, 6] {
                damaged[at] ^= 1 << bit;
                verdicts.push(refused(&damaged));
                damaged[at] ^= 1 << bit;
            }
            at += if at < 1400 { 1 } else { 173 };
        }
        verdicts.extend((0..damaged.len()).step_by(97).map(|end| refused(&damaged[..end])));
        folder.same("damaged", &verdicts);
        assert!(verdicts.contains(&b'0') && verdicts.contains(&b'1'));
    }
}

#[test]
fn kernels_find_what_they_find_in_kc_run() {
    let scene = Scene::random(7);
    let folder = Folder::new(&scene);
    folder.build("cc", &["-std=c11", "-O2"], "main.c");
    folder.run();
    folder.build("c++", &["-std=c++17", "-O1"], "main.cpp");
    assert_eq!(
        folder.run(),
        "kc: a face of the mesh names a point that is not there\n\
         kc: the cells of the hash grid are less than 1 along an axis, or too many\n"
    );
    closest_points(&folder, &scene);
    rays_and_boxes(&folder, &scene);
    cells_and_voxels(&folder, &scene);
    textures(&folder, &scene);
}

fn closest_points(folder: &Folder, scene: &Scene) {
    let moved = scene.moved();
    let meshes = [("mesh", &scene.points, &scene.faces[..]), ("moved", &moved, &scene.faces), ("empty", &moved, &[])];
    // The program's empty mesh has no winding numbers.
    let rules = |of: &str| (0..=5).filter(|&rule| rule != 4 || !of.starts_with("empty")).collect::<Vec<i32>>();
    let launches = meshes.iter().flat_map(|&(of, points, faces)| {
        rules(of).into_iter().map(|rule| closest(points, faces, &scene.x, rule)).collect::<Vec<_>>()
    });
    let mut found = launched(folder, "closest", &launches.collect::<Vec<_>>()).into_iter();
    for (of, ..) in meshes {
        for (rule, mut found) in rules(of).into_iter().zip(found.by_ref()) {
            for name in ["face", "sign", "near"] {
                let expected = read(&mut found, name);
                folder.same(&format!("{of}.{name}{rule}"), &expected);
                match (of, rule) {
                    ("mesh", 4) => folder.same(&format!("cpp.{name}4"), &expected),
                    ("moved", 0) if name == "near" => folder.same("cpp.moved", &expected),
                    _ => {}
                }
            }
        }
    }
}

fn rays_and_boxes(folder: &Folder, scene: &Scene) {
    let fields =
        json!([vectors("points", &scene.points), array("indices", "int32", &[scene.faces.len()], json!(scene.faces))]);
    let mut args =
        vec![json!({"name": "mesh", "kind": "mesh", "fields": fields}), vectors("x", &scene.x), vectors("d", &scene.d)];
    let outputs = [("face", "int32"), ("t", "float32"), ("sign", "float32"), ("any", "int32"), ("count", "int32")];
    args.extend(outputs.map(|(name, scalar)| array(name, scalar, &[QUERIES], json!(0))));
    let mut found = launched(folder, "rays", &[args]).remove(0);
    for name in ["face", "t", "count"] {
        folder.same(&format!("rays.{name}"), &read(&mut found, name));
    }
    folder.same("cpp.rays", &read(&mut found, "t"));
    for (name, group) in [("tree", -1), ("groups_tree", 4)] {
        let mut fields = vec![vectors("lowers", &scene.lowers), vectors("uppers", &scene.uppers)];
        fields.extend((group >= 0).then(|| array("groups", "int32", &[scene.groups.len()], json!(scene.groups))));
        let mut found = launched(
            folder,
            "boxes",
            &[vec![
                json!({"name": "tree", "kind": "bvh", "fields": fields}),
                vectors("x", &scene.x),
                vectors("d", &scene.d),
                value("radius", "float32", json!(0.5)),
                value("group", "int32", json!(group)),
                array("found", "int32", &[QUERIES, 8], json!(0)),
            ]],
        )
        .remove(0);
        let found = read(&mut found, "found");
        assert!(found.iter().any(|&byte| byte > 0));
        folder.same(&format!("{name}.found"), &found);
        if group < 0 {
            folder.same("cpp.found", &found);
        }
    }
}

fn cells_and_voxels(folder: &Folder, scene: &Scene) {
    let dim = json!({"name": "dim", "kind": "value", "dtype": {"class": "vec", "scalar": "int32", "shape": [3]}, "value": [5, 4, 3]});
    let fields = json!([vectors("points", &scene.lowers), dim, value("width", "float32", json!(0.5))]);
    let mut found = launched(
        folder,
        "cells",
        &[vec![
            json!({"name": "grid", "kind": "hash_grid", "fields": fields}),
            vectors("x", &scene.x),
            value("radius", "float32", json!(0.75)),
            array("order", "int32", &[QUERIES, 512], json!(0)),
        ]],
    )
    .remove(0);
    let order = read(&mut found, "order");
    folder.same("grid.order", &order);
    folder.same("cpp.order", &order);
    let mut found = launched(
        folder,
        "voxels",
        &[vec![
            json!({"name": "volume", "kind": "volume", "file": "smoke.nvdb"}),
            json!({"name": "again", "kind": "volume", "file": "smoke.nvdb:number"}),
            vectors("x", &scene.x),
            array("found", "float32", &[QUERIES], json!(0)),
            array("nearest", "int32", &[QUERIES], json!(0)),
        ]],
    )
    .remove(0);
    for (name, cpp) in [("found", "cpp.density"), ("nearest", "cpp.nearest")] {
        let found = read(&mut found, name);
        folder.same(&format!("volume.{name}"), &found);
        folder.same(cpp, &found);
    }
}

fn textures(folder: &Folder, scene: &Scene) {
    let at: Vec<[f32; 4]> =
        (0..).zip(&scene.x).map(|(k, &[x, y, z])| [x, y, z, 3.5 * k as f32 / QUERIES as f32]).collect();
    let vec4 = |name: &str, fill: Value| {
        let dtype = json!({"class": "vec", "scalar": "float32", "shape": [4]});
        json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [QUERIES], "fill": fill})
    };
    let launches = TEXTURES.map(|(_, numbers, channels)| {
        let texels = texels(numbers, channels);
        let fill: Value = match numbers {
            Numbers::F32 => {
                json!(texels.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect::<Vec<_>>())
            }
            Numbers::F16 => {
                json!(texels.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect::<Vec<_>>())
            }
            Numbers::I16 => json!(texels.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect::<Vec<_>>()),
            Numbers::I32 => {
                json!(texels.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect::<Vec<_>>())
            }
            _ => json!(texels),
        };
        let shape = if channels > 1 { vec![6, 13, channels] } else { vec![6, 13] };
        let filter = i32::from(form(numbers, channels).filter == Filter::Linear);
        let modes = json!({"name": "address_mode", "kind": "value", "dtype": {"class": "vec", "scalar": "int32", "shape": [2]}, "value": [2, 0]});
        let fields = json!([
            array("data", numbers.name(), &shape, fill),
            value("filter_mode", "int32", json!(filter)),
            value("mip_filter_mode", "int32", json!(filter)),
            modes,
            value("num_mip_levels", "int32", json!(0)),
        ]);
        let texture = json!({"name": "t", "kind": "texture", "fields": fields});
        vec![texture, vec4("x", json!(at.as_flattened())), vec4("out", json!(0))]
    });
    for ((name, ..), mut found) in TEXTURES.into_iter().zip(launched(folder, "sampled2", &launches)) {
        let out = read(&mut found, "out");
        folder.same(&format!("{name}.sampled"), &out);
        if name == "texels_f32" {
            folder.same("cpp.sampled", &out);
        }
    }
}

#[test]
fn what_cannot_be_built_has_a_code_that_says_why() {
    let folder = Folder::new(&Scene::random(1));
    folder.build("cc", &["-std=c11", "-fsanitize=address,undefined", "-fno-sanitize-recover"], "wrong.c");
    assert_eq!(folder.run(), include_str!("embed_engines/wrong.txt"));
}
