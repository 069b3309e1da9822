//! Is what is no mesh, tree, grid, volume or texture refused with a code and a sentence that names
//! the mistake? Empty ones are fine.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{array, value, vectors};

const KERNELS: &str = "import warp as wp

@wp.kernel
def mesh(id: wp.uint64, y: wp.array(dtype=float)):
    y[0] = wp.mesh_query_point_no_sign(id, wp.vec3(0.1, 0.2, 0.3), 10.0).u

@wp.kernel
def bvh(id: wp.uint64, y: wp.array(dtype=float)):
    for j in wp.bvh_query_aabb(id, wp.vec3(0.0), wp.vec3(1.0)):
        y[0] += 1.0

@wp.kernel
def hash_grid(id: wp.uint64, y: wp.array(dtype=float)):
    for j in wp.hash_grid_query(id, wp.vec3(0.0), 1.0):
        y[0] += 1.0

@wp.kernel
def volume(id: wp.uint64, y: wp.array(dtype=float)):
    y[0] = wp.volume_lookup_f(id, 0, 0, 0)

@wp.kernel
def texture(id: wp.Texture2D, y: wp.array(dtype=float)):
    y[0] = wp.texture_sample(id, wp.vec2(0.5, 0.5), dtype=float)
";

/// What `kc run` says of an engine of these fields, in so much memory.
fn said(folder: &Path, kind: &str, fields: &[Value]) -> (Option<i32>, String) {
    let engine = json!({"name": "id", "kind": kind, "fields": fields});
    let launch = json!({"format": 1, "id": "l", "source": "k.py", "kernel": kind, "dim": [1],
        "args": [engine, array("y", "float32", &[1], json!(0))]});
    fs::write(folder.join("l.json"), launch.to_string()).expect("a launch");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 12000000; exec \"$0\" run l.json", env!("CARGO_BIN_EXE_kc")]);
    let output = command.current_dir(folder).output().expect("a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn triple(name: &str, numbers: [i64; 3]) -> Value {
    json!({"name": name, "kind": "value", "dtype": {"class": "vec", "scalar": "int32", "shape": [3]}, "value": numbers})
}

#[test]
fn what_is_no_engine_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("k.py"), KERNELS).expect("a file");
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let points = || vectors("points", &corners);
    let faces = |numbers: &[i32]| array("indices", "int32", &[numbers.len()], json!(numbers));
    let whole = |name: &str, number: i64| value(name, "int32", json!(number));
    // 1e39 is infinite in float32.
    let far = |name: &str| {
        let mut array = vectors(name, &corners);
        array["fill"] = json!([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1e39, 0.0]);
        array
    };
    let null = json!({"name": "points", "kind": "array", "ndim": 1, "null": true,
        "dtype": {"class": "vec", "scalar": "float32", "shape": [3]}});
    let image = |shape: &[usize]| array("data", "float32", shape, json!(0));
    let cells =
        |dims: [i64; 3], width: f64| vec![points(), triple("dim", dims), value("width", "float32", json!(width))];
    let wide = i64::from(i32::MAX);
    let cases: Vec<(&str, Vec<Value>, &str, &str)> = vec![
        ("mesh", vec![points(), faces(&[0, 1, 3])], "E1011", "face 0 of the mesh names point 3 as its corner 2"),
        ("mesh", vec![points(), faces(&[0, -1, 2])], "E1011", "face 0 of the mesh names point -1 as its corner 1"),
        ("mesh", vec![points(), faces(&[0, 1, 2, 0])], "E1011", "4 indices, which is no multiple of 3"),
        (
            "mesh",
            vec![far("points"), faces(&[0, 1, 2])],
            "E1011",
            "point 2 of the mesh, which face 0 uses, is not finite",
        ),
        ("mesh", vec![vectors("points", &[]), faces(&[0, 1, 2])], "E1011", "there are 0 points"),
        ("mesh", vec![points(), array("indices", "float32", &[3], json!(0))], "E1005", "expected `array(dtype=int32)`"),
        ("mesh", vec![null, faces(&[0, 1, 2])], "E1005", "`id.points`: expected an array, found null"),
        ("mesh", vec![points()], "E1004", "lacks the field `indices`"),
        ("mesh", vec![points(), array("indices", "int32", &[wide as usize], json!(0))], "E1006", "8589934588 bytes"),
        ("mesh", vec![points(), faces(&[0, 1, 2]), whole("leaf_size", 0)], "E1011", "the leaf size is 0"),
        ("mesh", vec![points(), faces(&[0, 1, 2]), whole("constructor", 9)], "E1011", "there is no constructor \"9\""),
        (
            "bvh",
            vec![vectors("lowers", &corners), vectors("uppers", &corners[1..])],
            "E1011",
            "3 lower bounds and 2 upper",
        ),
        ("bvh", vec![vectors("lowers", &corners), far("uppers")], "E1011", "the upper bound of box 2 is not finite"),
        ("hash_grid", cells([0, 1, 1], 1.0), "E1011", "0 x 1 x 1 cells"),
        ("hash_grid", cells([wide; 3], 1.0), "E1011", "at most 2147483647 are supported"),
        ("hash_grid", cells([wide, 1, 1], 1.0), "E1011", "there is no memory for a hash grid of 2147483647 cells"),
        ("hash_grid", cells([4, 4, 4], 0.0), "E1011", "the cell width is 0"),
        ("volume", vec![image(&[0, 2, 2])], "E1011", "a volume can't be made of 0 values"),
        (
            "volume",
            vec![image(&[2, 2, 2]), value("voxel_size", "float32", json!(0))],
            "E1011",
            "the voxel size is (0, 0, 0)",
        ),
        ("texture", vec![image(&[0, 4])], "E1011", "its height is 0"),
        ("texture", vec![image(&[4, 0])], "E1011", "its width is 0"),
        ("texture", vec![image(&[4, 4, 3])], "E1011", "it has 3 channels"),
        ("texture", vec![image(&[4, 4]), whole("num_mip_levels", 99)], "E1011", "99 levels of detail"),
    ];
    for (kind, fields, code, words) in cases {
        let (exit, said) = said(folder.path(), kind, &fields);
        assert!(exit == Some(1) && said.contains(&format!("error[{code}]")), "{words}: {exit:?} {said}");
        assert!(said.contains(words), "{words}: {said}");
    }
    let none = || vectors("points", &[]);
    for (kind, fields) in [
        ("mesh", vec![points(), faces(&[])]),
        ("mesh", vec![none(), faces(&[])]),
        ("bvh", vec![vectors("lowers", &[]), vectors("uppers", &[])]),
        ("hash_grid", vec![none(), triple("dim", [4; 3]), value("width", "float32", json!(1))]),
    ] {
        let (exit, said) = said(folder.path(), kind, &fields);
        assert_eq!(exit, Some(0), "an empty {kind}: {said}");
    }
}
