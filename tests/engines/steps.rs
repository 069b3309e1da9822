//! Do checked runs say where a gradient passed a query of a mesh at a point without a derivative?
//! And nothing where the gradient is the same on both sides?

use std::fs;
use std::path::Path;
use std::process::Command;

use kc::run::files::npz::Npz;
use serde_json::{Value, json};

use crate::{DEVICES, array, value, vectors};

const FAR: f32 = 100.0;

/// A cube from 0 to 1, its sides two faces each.
fn cube() -> Value {
    let corners: Vec<[f32; 3]> = (0..8).map(|n| [(n & 1) as f32, (n >> 1 & 1) as f32, (n >> 2) as f32]).collect();
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let faces: Vec<i32> = sides.iter().flat_map(|&[a, b, c, d]| [a, b, c, a, c, d]).collect();
    mesh(&corners, &faces)
}

/// Two faces that fall off, unlike steep, from an edge along y above the origin.
fn roof() -> Value {
    let corners = [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, -1.0], [-1.0, 0.0, -0.5]];
    mesh(&corners, &[0, 2, 1, 0, 1, 3])
}

/// Two faces in one plane, with an edge along y.
fn plane() -> Value {
    mesh(&[[0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], &[0, 2, 1, 0, 1, 3])
}

fn mesh(points: &[[f32; 3]], faces: &[i32]) -> Value {
    json!({"name": "mesh", "kind": "mesh", "fields": [
        vectors("points", points),
        array("indices", "int32", &[faces.len()], json!(faces)),
        value("support_winding_number", "bool", json!(true)),
    ]})
}

/// A gradient run at a point.
struct Run {
    codes: Vec<String>,
    /// The findings.
    said: String,
    /// By the point.
    gradient: Vec<f32>,
}

/// Gradient runs of a kernel of `steps.py` at some points.
fn found(device: &str, kernel: &str, mesh: &Value, points: &[([f32; 3], f32)]) -> Vec<Run> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines/steps.py");
    fs::copy(source, folder.path().join("steps.py")).expect("a copy");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    command.args(["run", "--device", device, "--out-dir", "out"]).current_dir(folder.path());
    for (n, &(x, bound)) in points.iter().enumerate() {
        let mut y = array("y", "float32", &[1], json!(0));
        y["grad_fill"] = json!(1);
        let mut x = vectors("x", &[x]);
        x["grad_fill"] = json!(0);
        let bound = value("bound", "float32", json!(bound));
        let launch = json!({"format": 1, "id": n.to_string(), "source": "steps.py", "kernel": kernel,
            "direction": "gradient", "dim": [1],
            "args": [mesh, x, bound, y]});
        fs::write(folder.path().join(format!("{n}.json")), launch.to_string()).expect("a launch");
        command.arg(format!("{n}.json"));
    }
    let output = command.output().expect("kc starts");
    assert!(output.status.success(), "{kernel} on {device}: {}", String::from_utf8_lossy(&output.stderr));
    let run = |n: usize| {
        let status = fs::read(folder.path().join(format!("out/{n}.json"))).expect("a result");
        let status: Value = serde_json::from_slice(&status).expect("JSON");
        let findings = status["findings"].as_array().expect("a list");
        let codes = findings.iter().filter_map(|finding| finding["code"].as_str()).map(str::to_string).collect();
        let mut results = Npz::open(&folder.path().join(format!("out/{n}.npz")), None).expect("results");
        let gradient = results.read("x.grad", |_| Ok(())).expect("an array").bytes;
        let gradient = gradient.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        Run { codes, said: status["findings"].to_string(), gradient }
    };
    (0..points.len()).map(run).collect()
}

/// Says of each point whether there is a note.
fn check(device: &str, kernel: &str, mesh: &Value, points: &[([f32; 3], f32, bool)]) {
    let asked: Vec<([f32; 3], f32)> = points.iter().map(|&(x, bound, _)| (x, bound)).collect();
    for (run, (x, bound, noted)) in found(device, kernel, mesh, &asked).iter().zip(points) {
        let expected: &[&str] = if *noted { &["W1120"] } else { &[] };
        assert_eq!(run.codes, expected, "{kernel} at {x:?} within {bound} on {device}");
    }
}

#[test]
fn closest_points_tell_of_ties_borders_and_bounds() {
    // The place jumps or has a kink.
    let places = [
        // As near to two sides, and hardly.
        ([0.6, 0.2, 0.2], FAR, true),
        ([0.6, 0.2, 0.1999], FAR, false),
        // Above an edge of the cube, and beside it on either side.
        ([1.0, 0.25, 1.5], FAR, true),
        ([1.0001, 0.25, 1.5], FAR, false),
        ([0.9999, 0.25, 1.5], FAR, false),
        // Above a corner, and where the corner is closest from all around.
        ([1.0, 1.0, 1.5], FAR, true),
        ([2.0, 2.0, 2.0], FAR, false),
        // An edge is closest from all around.
        ([2.0, 0.3, 3.0], FAR, false),
        // The bound is the distance, and a little more and less.
        ([0.5, 0.25, 1.5], 0.5, true),
        ([0.5, 0.25, 1.5], 0.501, false),
        ([0.5, 0.25, 1.5], 0.499, false),
    ];
    check("host", "place", &cube(), &places);
    for kernel in ["by_rays", "by_parity", "by_normal", "by_winding"] {
        check("host", kernel, &cube(), &places[2..3]);
    }
    // The square of the distance is smooth but where two places are as near, and at the bound.
    let distances = [
        ([0.5, 0.5, 0.5], FAR, true),
        ([1.0, 0.25, 1.5], FAR, false),
        ([0.5, 0.5, 1.5], FAR, false),
        ([0.5, 0.25, 1.5], 0.5, true),
    ];
    check("host", "distance", &cube(), &distances);
    check("host", "masked", &cube(), &[([0.5, 0.5, 0.5], FAR, false)]);
}

/// The place is that in the plane of both, whichever counts; by the corners there is a kink.
#[test]
fn above_an_edge_in_a_plane_the_gradient_is_that_of_the_plane() {
    let points = [([0.5, 0.5, 1.5], FAR), ([0.25, 0.25, -3.0], FAR)];
    for run in found("host", "place", &cube(), &points) {
        let gradient = run.gradient;
        assert!((0..3).all(|k| (gradient[k] - [1.0, 2.0, 0.0][k]).abs() < 1e-5), "{gradient:?}");
        assert!(run.codes == ["W1120"] && run.said.contains("`points`"), "{}", run.said);
    }
}

#[test]
fn rays_tell_of_edges_and_bounds() {
    let roofs = [
        ([0.0, 0.25, 2.0], FAR, true),
        ([0.01, 0.25, 2.0], FAR, false),
        ([-0.01, 0.25, 2.0], FAR, false),
        // The rim, and beside it.
        ([0.25, 0.75, 2.0], FAR, true),
        ([0.25, 0.7499, 2.0], FAR, false),
        ([5.0, 0.75, 2.0], FAR, false),
        // The bound is where the face is, and a little more and less.
        ([0.5, 0.25, 2.5], 3.0, true),
        ([0.5, 0.25, 2.5], 3.001, false),
        ([0.5, 0.25, 2.5], 2.999, false),
        // The start lies on the face.
        ([0.5, 0.25, -0.5], FAR, true),
    ];
    let planes = [([0.0, 0.25, 2.0], FAR, false), ([0.25, 0.75, 2.0], FAR, true)];
    for kernel in ["ray", "place_on_ray"] {
        check("host", kernel, &roof(), &roofs);
        check("host", kernel, &plane(), &planes);
    }
}

#[test]
fn every_device_tells_of_steps() {
    for device in DEVICES {
        let points = [([0.5, 0.5, 0.5], FAR, true), ([1.0, 0.25, 1.5], FAR, true), ([0.9, 0.25, 1.5], FAR, false)];
        check(device, "by_rays", &cube(), &points);
        check(device, "ray", &roof(), &[([0.0, 0.25, 2.0], FAR, true), ([0.01, 0.25, 2.0], FAR, false)]);
    }
}
