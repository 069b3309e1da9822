use super::*;

const LICENCE: &str = "# SPDX-License-Identifier: Apache-2.0\n";
const HEAD: &str = "import warp as wp\n\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

fn found(files: &[(&str, &str)], exclude: &[PathBuf]) -> Found {
    let folder = folder(files);
    let grams = Grams::read(exclude).expect("readable");
    read(folder.path(), &grams, &Compilers::default()).expect("a folder")
}

fn causes(found: &Found) -> Vec<(&str, &str)> {
    found.left_out.iter().map(|one| (one.place.as_str(), one.cause.as_str())).collect()
}

const SCALE: &str = "@wp.kernel\ndef scale(x: wp.array[float], a: float, y: wp.array[float]):\n    \"\"\"Scale a vector.\"\"\"\n    \
                     i = wp.tid()\n    y[i] = a * x[i]\n";

#[test]
fn kernels_get_a_launch_and_a_task() {
    let text = format!("{LICENCE}{HEAD}{SCALE}");
    let found = found(&[("a/scale.py", &text)], &[]);
    assert!(causes(&found).is_empty(), "{:?}", found.left_out);
    let [sample] = found.samples.as_slice() else { panic!("one kernel") };
    assert_eq!((sample.meaning.licence, sample.meaning.source.as_str()), ("Apache-2.0", "a/scale.py:4"));
    assert!(sample.meaning.prompt().starts_with("Write the Warp kernel `scale(x, a, y)`.\n\nScale a vector."));
    assert_eq!((sample.plan.steps[0].params.len(), sample.plan.recorded.len()), (3, 2));
    assert_ne!(sample.plan.recorded[0], sample.plan.recorded[1], "two inputs");
}

/// Each file or kernel that is left out has a line, and none ends the run.
#[test]
fn what_is_left_out_is_listed() {
    let key = format!("{LICENCE}{HEAD}TOKEN = \"ghp_{}\"\n{SCALE}", "a1".repeat(18));
    let endless = "@wp.kernel\ndef endless(x: wp.array[float]):\n    i = wp.tid()\n    while x[i] < 1.0e9:\n        x[i] = x[i]\n";
    let mesh = "@wp.kernel\ndef near(mesh: wp.uint64, p: wp.array[wp.vec3], d: wp.array[float]):\n    i = wp.tid()\n    \
                q = wp.mesh_query_point(mesh, p[i], 1.0)\n    if q.result:\n        d[i] = q.u\n";
    let good = format!("{LICENCE}{HEAD}{SCALE}");
    let found = found(
        &[
            ("broken.py", &format!("{LICENCE}{HEAD}@wp.kernel\ndef broken(x: wp.array[float]:\n    x[0] = 1.0\n")),
            ("empty.py", "print(1)\n"),
            ("endless.py", &format!("{LICENCE}{HEAD}{endless}")),
            ("key.py", &key),
            ("mesh.py", &format!("{LICENCE}{HEAD}{mesh}")),
            ("scale.py", &good),
            ("unknown.py", &format!("{HEAD}{SCALE}")),
        ],
        &[],
    );
    let expected = [
        ("broken.py", "does not parse"),
        ("empty.py", "no kernel"),
        ("endless.py:4", "no launch"),
        ("key.py", "secret"),
        ("mesh.py:4", "no launch"),
        ("unknown.py", "licence"),
    ];
    assert_eq!((causes(&found).as_slice(), found.samples.len()), (expected.as_slice(), 1), "{:#?}", found.left_out);
}

#[test]
fn licences_of_folders_count() {
    let apache = "Apache License\nVersion 2.0, January 2004\n";
    let text = format!("{HEAD}{SCALE}");
    let of = |licence: &str| found(&[("LICENSE", licence), ("src/a.py", &text)], &[]);
    assert_eq!(of(apache).samples.len(), 1);
    assert_eq!(causes(&of("All rights reserved.")), [("src/a.py", "licence")]);
}

#[test]
fn text_of_benchmarks_is_left_out() {
    let bench = folder(&[("task.py", SCALE)]);
    let text = format!("{LICENCE}{HEAD}{SCALE}");
    let found = found(&[("a.py", &text)], &[bench.path().to_path_buf()]);
    assert_eq!(causes(&found), [("a.py:4", "contamination")]);
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let gone = read(Path::new("/nowhere/at/all"), &Grams::default(), &Compilers::default());
    assert!(gone.is_err_and(|error| error.message.contains("no such folder")));
}
