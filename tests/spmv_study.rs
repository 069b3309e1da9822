//! The study of sparse products (docs/spmv.md): all kernels are right on all shapes and devices,
//! and the page's table is what the script prints.

use std::path::Path;
use std::process::{Command, Stdio};

fn study(args: &[&str]) -> (String, String, bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("python3");
    command.arg(root.join("examples/spmv_study/study.py")).args(["--kc", env!("CARGO_BIN_EXE_kc")]).args(args);
    let output = command.stdin(Stdio::null()).output().expect("python3 runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr), output.status.success())
}

#[test]
fn the_table_is_what_the_script_prints() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/spmv.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (said, errors, succeeds) = study(&["--rows", "256"]);
    assert!(succeeds, "{errors}");
    let table = said.split("\n\n").next().expect("a table");
    assert_eq!(table.lines().count(), 2 + 12);
    assert!(page.contains(table), "docs/spmv.md has another table:\n{table}");
    assert!(said.contains("12 products compared with ") && said.ends_with(", 0 rows differ\n"), "{said}");
}

#[test]
fn files_are_read_and_other_devices_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a matrix");
        path.to_str().expect("UTF-8").to_string()
    };
    // A row without entries, one entry given in parts, and a lower triangle.
    let head = "%%MatrixMarket matrix coordinate";
    let small =
        file("small.mtx", &format!("{head} real general\n% a comment\n3 3 4\n1 1 2.5\n1 3 -1\n3 2 4e-1\n3 2 1\n"));
    let symmetric = file("half.mtx", &format!("{head} pattern symmetric\n4 4 3\n1 1\n3 1\n4 2\n"));
    for device in ["host", "interp"] {
        let (said, errors, succeeds) = study(&["--rows", "64", "--device", device, &small, &symmetric]);
        assert!(succeeds && said.contains("20 products compared with "), "{device}: {said}{errors}");
        assert!(said.contains("| small | 3, 3 |") && said.contains("| half | 4, 5 |"), "{said}");
    }
    for (name, text) in [
        ("text", "nothing"),
        ("array", "%%MatrixMarket matrix array real general\n1 1\n1.0\n"),
        ("complex", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n"),
        ("outside", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n"),
        ("short", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n"),
        ("wide", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1.0\n"),
    ] {
        let path = file(name, text);
        let (_, errors, succeeds) = study(&[&path]);
        assert!(!succeeds && errors.contains(&path) && !errors.contains("Traceback"), "{name}: {errors}");
    }
}
