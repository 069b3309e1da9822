//! What do tests of indices cost on a GPU? Instructions of checked PTX beside those of plain PTX,
//! forward and backward, on the simulated driver.

#[path = "common/gpu.rs"]
mod gpu;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Instructions of checked PTX for each of plain PTX: of any entry, and in geometric mean.
const MOST: (f64, f64) = (1.35, 1.1);

/// Its notes of points without a derivative (W1120) need what the plain code leaves out: which of
/// two distances was the nearer one, at every step of a ray.
const NOTES: &str = "raymarch_cuda_kernel_backward";

fn array(name: &str, shape: &[u32]) -> Value {
    json!({"name": name, "kind": "array", "dtype": "float32", "ndim": shape.len(), "shape": shape,
           "fill": "random:3", "grad_fill": "random:4"})
}

/// Instructions of warps, by entry.
fn counts(folder: &Path, launch: &str, unchecked: bool) -> BTreeMap<String, f64> {
    let kc = env!("CARGO_BIN_EXE_kc");
    let mut command = Command::new(kc);
    command.current_dir(folder).args(["gpu", "--checks", "none", "--report", "report.json"]);
    command.args([kc, "run", "--device", "cuda", launch]).args(unchecked.then_some("--unchecked"));
    let output = command.output().expect("kc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(folder.join("report.json")).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let launches = report["launches"].as_array().expect("launches");
    let count = |launch: &Value| launch["metrics"]["smsp__inst_executed.sum"]["value"].as_f64().expect("a count");
    launches.iter().map(|launch| (launch["entry"].as_str().unwrap_or_default().to_string(), count(launch))).collect()
}

#[test]
fn tests_of_indices_cost_a_tenth_of_the_instructions() {
    gpu::library();
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join("benches/kernels/tiles.py");
    let matrices = ["a", "b", "c"].map(|name| array(name, &[64, 64])).to_vec();
    let rows = |name| array(name, &[2, 1024]);
    let cases = [
        ("gemm", vec![1, 1, 128], matrices),
        ("softmax", vec![2, 128], vec![rows("a"), rows("b")]),
        ("row_sums", vec![2, 128], vec![rows("a"), array("s", &[2])]),
        ("layer_norm", vec![2, 128], vec![rows("a"), array("g", &[1024]), array("h", &[1024]), rows("b")]),
    ];
    let mut launches: Vec<String> = Vec::new();
    for (kernel, dim, args) in cases {
        let text = json!({"format": 1, "id": kernel, "source": source, "kernel": kernel, "direction": "gradient",
                          "dim": dim, "block_dim": 128, "args": args});
        let name = format!("{kernel}.json");
        let path = folder.path().join(&name);
        std::fs::write(&path, text.to_string()).expect("a launch");
        launches.push(path.display().to_string());
    }
    let mut examples: Vec<String> = std::fs::read_dir(root.join("examples/launches"))
        .expect("the examples")
        .map(|entry| entry.expect("a file").path().display().to_string())
        .collect();
    examples.sort();
    assert!(examples.len() > 10, "{examples:?}");
    launches.extend(examples);
    let mut ratios: Vec<(String, f64)> = Vec::new();
    for name in launches {
        let (plain, checked) = (counts(folder.path(), &name, true), counts(folder.path(), &name, false));
        assert!(!plain.is_empty() && plain.len() == checked.len(), "{plain:?}");
        ratios.extend(plain.into_iter().map(|(entry, count)| (entry.clone(), checked[&entry] / count)));
    }
    let mean = (ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("{mean:.3} of {}: {ratios:.3?}", ratios.len());
    let large = |(entry, ratio): &(String, f64)| *ratio > MOST.0 && entry != NOTES;
    assert!(mean <= MOST.1 && !ratios.iter().any(large), "{mean:.3}: {ratios:.3?}");
}
