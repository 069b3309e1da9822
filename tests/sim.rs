//! `--device sim`: does it run PTX as a GPU would, and find what is wrong with it?

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

mod common;
#[path = "sim/corpus.rs"]
mod corpus;
#[path = "sim/counters.rs"]
mod counters;
#[path = "sim/defects.rs"]
mod defects;
#[path = "sim/mutants.rs"]
mod mutants;
#[path = "sim/published.rs"]
mod published;
#[path = "sim/tensor.rs"]
mod tensor;

const FAULTS: &str = include_str!("sim/faults.ptx");

fn kc(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).current_dir(folder).output().expect("kc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

fn pointer(name: &str, scalar: &str, shape: &[u32], fill: Value) -> Value {
    let dtype = json!({"class": "scalar", "scalar": scalar, "shape": []});
    json!({"name": name, "kind": "pointer", "dtype": dtype, "shape": shape, "fill": fill})
}

fn value(name: &str, scalar: &str, value: Value) -> Value {
    let dtype = json!({"class": "scalar", "scalar": scalar, "shape": []});
    json!({"name": name, "kind": "value", "dtype": dtype, "value": value})
}

/// A launch of a kernel in `k.ptx`.
fn launch(entry: &str, grid: &[u32], block: &[u32], args: &[Value]) -> Value {
    json!({"format": 1, "id": "case", "source": "k.ptx", "entry": entry, "grid": grid, "block": block, "args": args})
}

/// Runs one launch of a PTX text.
fn run(text: &str, launch: &Value, flags: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.ptx"), text).expect("a text");
    std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
    kc(folder.path(), &[&["run", "--device", "sim", "case.json"], flags].concat())
}

fn fault(entry: &str, block: u32, flags: &[&str]) -> String {
    let (text, status) =
        run(FAULTS, &launch(entry, &[1], &[block], &[pointer("out", "int32", &[64], json!(0))]), flags);
    assert_eq!(status, Some(1), "{text}");
    text
}

/// A head for texts that tests write.
fn ptx(body: &str) -> String {
    format!(".version 7.8\n.target sm_90\n.address_size 64\n{body}")
}

#[test]
fn faults_are_named_with_line_thread_and_element() {
    const STEPS: &[&str] = &["--steps", "10000"];
    for (entry, block, flags, words) in [
        ("outside", 64, &[][..], &["E1101", "thread 63 of block 0 writes 4 bytes", "right after the end of `out`"][..]),
        ("misaligned", 64, &[], &["E1111", "reads 4 bytes"]),
        ("unset", 64, &[], &["E1112", "byte 64 of `tile`"]),
        ("race", 64, &[], &["E1113", "thread 1 of block 0", "thread 0 of block 0", "`out[0]`", "63 times"]),
        ("no_barrier", 64, &[], &["E1113", "of `tile`", "st.shared", "ld.shared", "a barrier of the block"]),
        ("divergent", 64, &[], &["E1114", "bar.sync 0"]),
        ("alone", 32, &[], &["E1115", "lanes 20 to 31", "they have left"]),
        ("endless", 64, STEPS, &["E1116"]),
        ("stops", 64, &[], &["E1117"]),
    ] {
        let text = fault(entry, block, flags);
        for word in words {
            assert!(text.contains(word), "{entry}: no `{word}` in:\n{text}");
        }
    }
}

#[test]
fn what_is_right_is_left_alone() {
    let args = [pointer("out", "int32", &[64], json!(0))];
    for (schedules, seed) in [("1", "0"), ("20", "1"), ("20", "2")] {
        let (text, status) =
            run(FAULTS, &launch("with_barrier", &[1], &[64], &args), &["--schedules", schedules, "--seed", seed]);
        assert_eq!(status, Some(0), "{text}");
        assert!(text.starts_with("case: ok"), "{text}");
    }
    let (text, status) = run(FAULTS, &launch("parted", &[1], &[64], &args), &["--schedules", "20", "--print", "out"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("min 5, max 5"), "{text}");
    // Checks that are off find nothing.
    let (text, status) = run(FAULTS, &launch("race", &[1], &[64], &args), &["--no-check", "races"]);
    assert_eq!(status, Some(0), "{text}");
    let (text, status) = run(FAULTS, &launch("unset", &[1], &[1], &args), &["--no-check", "uninitialised"]);
    assert_eq!(status, Some(0), "{text}");
}

/// A lock that threads of a warp, and of several blocks, wait for; a barrier of the whole grid; and
/// a last block that reads what all have written: fences order them, so that nothing races, and
/// nobody waits for ever.
#[test]
fn threads_that_wait_for_each_other_come_to_an_end() {
    let text = include_str!("sim/waiting.ptx");
    let cells = |n: u32| pointer("cells", "int32", &[n], json!(0));
    for (entry, grid, block, expected) in [
        ("lock", 4, 64, "[0]           256"),
        ("grid_barrier", 5, 96, "ok"),
        ("last_block", 6, 64, "[0]           384"),
    ] {
        for flags in [&[][..], &["--schedules", "3", "--seed", "5"]] {
            let flags = [&["--print", "cells"], flags].concat();
            let (said, status) = run(text, &launch(entry, &[grid], &[block], &[cells(1024)]), &flags);
            assert_eq!(status, Some(0), "{entry}: {said}");
            assert!(said.contains(expected), "{entry}: {said}");
        }
    }
    // Without the fence nothing orders them.
    for (entry, grid, block) in [("lock", 4, 64), ("last_block", 6, 64)] {
        let bare = text.replace("membar.gl;", "");
        let (said, status) = run(&bare, &launch(entry, &[grid], &[block], &[cells(1024)]), &[]);
        assert_eq!(status, Some(1), "{entry}: {said}");
        assert!(said.contains("E1113"), "{entry}: {said}");
    }
}

#[test]
fn launches_have_to_fit() {
    let args = [pointer("out", "int32", &[64], json!(0))];
    let int = value("out", "int32", json!(3));
    for (launch, code) in [
        (launch("nobody", &[1], &[1], &args), "E0905"),
        (launch("race", &[1], &[1], &[]), "E1004"),
        (launch("race", &[1], &[1], std::slice::from_ref(&int)), "E1005"),
        (launch("race", &[0], &[1], &args), "E1006"),
        (launch("race", &[1], &[2048], &args), "E1006"),
        (launch("race", &[1], &[32, 32, 2], &args), "E1006"),
        (launch("race", &[1, 1, 1, 1], &[1], &args), "E1006"),
        (json!({"format": 1, "source": "k.ptx", "entry": "race", "block": [1], "args": args}), "E1001"),
        (
            json!({"format": 1, "source": "k.ptx", "entry": "race", "dim": [1], "grid": [1], "block": [1], "args": args}),
            "E1001",
        ),
        (json!({"format": 1, "source": "k.py", "kernel": "race", "dim": [1], "grid": [1], "args": []}), "E1001"),
        (json!({"format": 1, "source": "absent.ptx", "grid": [1], "block": [1], "args": args}), "E0901"),
        (json!({"format": 1, "source": "k.ptx", "grid": [1], "block": [1], "args": args}), "E1003"),
        (
            json!({"format": 1, "source": "k.ptx", "grid": [1], "block": [1], "direction": "gradient", "args": args}),
            "E1103",
        ),
        (
            json!({"format": 1, "source": "k.ptx", "entry": "race", "grid": [1], "block": [1], "shared_bytes": 999_999, "args": args}),
            "E1006",
        ),
    ] {
        let (text, status) = run(FAULTS, &launch, &[]);
        assert!(text.contains(code), "{launch}: no {code} in:\n{text}");
        assert_eq!(status, Some(1), "{text}");
    }
}

/// Whatever a text is, the answer is an error with its line.
#[test]
fn texts_that_are_no_ptx() {
    let kernel = |body: &str| ptx(&format!(".visible .entry k(.param .u64 out) {{\n{body}\n}}\n"));
    for (text, code, line) in [
        (String::new(), "E0830", 1),
        ("\u{7f}ELF".to_string(), "E0830", 1),
        ("import warp as wp\n".to_string(), "E0830", 1),
        (".version 7.8\n.target gfx90a\n".to_string(), "E0831", 2),
        (".version 12.0\n.target sm_90\n".to_string(), "E0831", 1),
        (".version 7.8\n.target sm_90\n.address_size 32\n".to_string(), "E0831", 3),
        (kernel("add.s32 %r1, 1, 2;"), "E0830", 5),
        (kernel(".reg .b32 %r<2>;\nadd.s32 %r1, %r0;"), "E0830", 6),
        (kernel(".reg .b64 %rd<2>;\nadd.s32 %rd1, %rd0, 1;"), "E0830", 6),
        (kernel(".reg .b32 %r<2>;\nadd.rn.s32 %r1, %r0, 1;"), "E0831", 6),
        (kernel("bra NOWHERE;"), "E0830", 5),
        (kernel(".reg .b32 %r<999999999>;"), "E0830", 5),
        (kernel(".local .b8 big[99999999];"), "E0830", 4),
        (kernel("tcgen05.fence::before_thread_sync;"), "E0831", 5),
        (kernel("call.uni nobody, ();"), "E0831", 5),
        (kernel("ret"), "E0830", 6),
        (kernel(&"{".repeat(100_000)), "E0830", 5),
    ] {
        let args = [pointer("out", "int32", &[4], json!(0))];
        let (said, status) = run(&text, &launch("k", &[1], &[1], &args), &[]);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains(code), "no {code} for {:.200}:\n{said}", text);
        assert!(said.contains(&format!("k.ptx:{line}:")), "not at line {line}:\n{said}");
    }
    // A text that ends anywhere.
    for end in (0..FAULTS.len()).step_by(37) {
        let cut: String = FAULTS.chars().take(end).collect();
        if let Err(error) = kc::ptx::parse(&cut) {
            assert!(!error.message.is_empty());
        }
    }
}

/// A race in Python is reported in Python.
#[test]
fn races_of_kernels_name_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = "import warp as wp\n\n@wp.kernel\ndef smear(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] * 2.0\n    y[i] = x[(i + 1) % 100]\n";
    std::fs::write(folder.path().join("k.py"), source).expect("a source");
    let flags = [
        "run",
        "k.py",
        "--device",
        "sim",
        "--unchecked",
        "--dim",
        "100",
        "--arg",
        "x=random:1:100",
        "--arg",
        "y=zeros:100",
    ];
    let (text, status) = kc(folder.path(), &flags);
    assert_eq!(status, Some(1), "{text}");
    for word in ["E1113", "`x[", "k.py:7", "x[i] = x[i] * 2.0", "thread (", "wp.atomic_add"] {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
    // A checked run says first that the result depends on the order, and then where.
    let mut checked: Vec<&str> = flags.into_iter().filter(|flag| *flag != "--unchecked").collect();
    checked.extend(["--out-dir", "out"]);
    let (text, status) = kc(folder.path(), &checked);
    assert_eq!(status, Some(1), "{text}");
    let order = text.find("E1108").zip(text.find("E1113"));
    assert!(order.is_some_and(|(meets, race)| meets < race), "{text}");
    let written = std::fs::read_to_string(folder.path().join("out/smear.json")).expect("a result file");
    assert!(written.contains("E1108") && written.contains("E1113"), "{written}");
}

/// What is meant so is left out, and counted; what ends a launch is not.
#[test]
fn findings_are_allowed_line_by_line() {
    let source = "import warp as wp\n\n@wp.kernel\ndef smear(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    \
                  x[i] = x[i] * 2.0\n    y[i] = x[(i + 1) % 32]$\n";
    let flags = [
        "run",
        "k.py",
        "--device",
        "sim",
        "--unchecked",
        "--dim",
        "32",
        "--arg",
        "x=random:1:32",
        "--arg",
        "y=zeros:32",
    ];
    for (comment, allowed) in
        [("", false), ("  # kc: allow(E1113) old or new", true), ("  # kc: allow(E1112) wrong one", false)]
    {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.py"), source.replace('$', comment)).expect("a source");
        let (text, status) = kc(folder.path(), &[&flags[..], &["--out-dir", "out"]].concat());
        assert_eq!((status, text.contains("E1113")), (Some(i32::from(!allowed)), !allowed), "{text}");
        assert_eq!(text.contains(", 1 finding allowed"), allowed, "{text}");
        let written = std::fs::read_to_string(folder.path().join("out/smear.json")).expect("a result file");
        assert_eq!(written.contains("\"findings_allowed\""), allowed, "{written}");
        // Compilations say nothing of the comment.
        let (text, status) = kc(folder.path(), &["check", "k.py"]);
        assert!(status == Some(0) && !text.contains("W1304"), "{text}");
    }
    let args = [pointer("out", "int32", &[64], json!(0))];
    let race =
        FAULTS.replace("st.global.u32 [%rd1], %r1;", "st.global.u32 [%rd1], %r1; // kc: allow(data-race) one wins");
    let (text, status) = run(&race, &launch("race", &[1], &[64], &args), &[]);
    assert!(status == Some(0) && text.contains("1 finding allowed"), "{text}");
    let outside: String = FAULTS.lines().map(|line| format!("{line} // kc: allow(E1101)\n")).collect();
    let (text, status) = run(&outside, &launch("outside", &[1], &[64], &args), &[]);
    assert!(status == Some(1) && text.contains("E1101"), "{text}");
}

/// A race with readers names the line of a read only where another thread than the writer read
/// there.
#[test]
fn readers_of_races_are_others() {
    let kernel = |body: &str| {
        format!(
            "import warp as wp\n\nF = wp.array(dtype=float)\n\n@wp.kernel\ndef k(x: F, y: F):\n    i = wp.tid()\n{body}\n"
        )
    };
    // The line that has to be named as that of the readers, and one that must not be.
    for (body, named, never) in [
        ("    x[i] = x[i] * 2.0\n    y[i] = x[(i + 1) % 256]", Some(9), 8),
        ("    a = x[i]\n    b = x[(i + 1) % 256]\n    x[i] = a + b", None, 8),
        ("    b = x[(i + 1) % 256]\n    a = x[i]\n    x[i] = a + b", Some(8), 9),
        ("    y[i] = x[0]\n    if i == 0:\n        x[0] = 7.0", Some(8), 10),
        ("    y[i] = x[0]\n    if i == 31:\n        x[0] = 7.0", Some(8), 10),
        ("    y[i] = x[255]\n    a = x[i]\n    if i == 255:\n        x[i] = a + 1.0", Some(8), 9),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.py"), kernel(body)).expect("a source");
        let flags = ["run", "k.py", "--device", "sim", "--unchecked", "--dim", "256", "--arg", "x=random:1:256"];
        let (text, status) = kc(folder.path(), &[&flags[..], &["--arg", "y=zeros:256"]].concat());
        assert_eq!(status, Some(1), "{text}");
        let writes = text.split("error[").filter(|one| one.contains(") writes `x["));
        let mut met = 0;
        for one in writes {
            met += 1;
            let mut at = 0;
            let mut readers = None;
            for line in one.lines() {
                at = line.trim().split(' ').next().and_then(|start| start.parse().ok()).unwrap_or(at);
                readers = readers.or(line.contains("read here by").then_some(at));
            }
            assert_ne!(readers, Some(never), "{one}");
            assert!(named.is_none() || readers == named, "{named:?}: {one}");
        }
        assert!(met > 0, "{body}: {text}");
    }
}

/// Hardware compares and swaps words: of the halves in one, each belongs to its own threads.
#[test]
fn a_half_is_no_neighbour_of_its_word() {
    let kernel = |then: &str, otherwise: &str| {
        format!(
            "import warp as wp\n\nH = wp.float16\n\n@wp.kernel\ndef k(a: wp.array(dtype=H), b: wp.array(dtype=H), c: wp.array(dtype=H)):\n    \
             i = wp.tid()\n    if i % 2 == 0:\n        {then}\n    else:\n        {otherwise}\n"
        )
    };
    for (then, otherwise, races) in [
        ("wp.atomic_add(b, i, a[i])", "b[i] = a[i]", false),
        ("wp.atomic_max(b, i, a[i] * H(3.0))", "b[i] = a[i]", false),
        ("wp.atomic_sub(b, i, a[i])", "c[i] = b[i]", false),
        ("wp.atomic_add(b, 0, a[i])", "wp.atomic_min(b, 1, a[i] * H(-2.0))", false),
        ("wp.atomic_add(b, 0, a[i])", "b[0] = H(5.0)", true),
        ("wp.atomic_max(b, 1, a[i] * H(3.0))", "b[1] = H(5.0)", true),
        ("wp.atomic_add(b, 0, a[i])", "c[i] = b[0]", true),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.py"), kernel(then, otherwise)).expect("a source");
        for n in ["8", "300"] {
            let ones: Vec<String> = ["a", "b", "c"].iter().map(|name| format!("{name}=ones:{n}")).collect();
            let mut flags = vec!["run", "k.py", "--device", "sim", "--unchecked", "--dim", n];
            ones.iter().for_each(|one| flags.extend(["--arg", one]));
            let (text, status) = kc(folder.path(), &flags);
            assert_eq!(text.contains("E1113"), races, "{then} beside {otherwise}, {n} threads:\n{text}");
            assert_eq!(status, Some(i32::from(races)), "{text}");
        }
    }
}

/// The same of halves in arrays of structs' fields, and in rows of arrays: a name for the address
/// is no other place.
#[test]
fn halves_of_fields_and_of_rows_belong_to_their_threads() {
    let source = "import warp as wp\n\nH = wp.float16\n\n@wp.struct\nclass S:\n    before: wp.array(dtype=wp.int32)\n    b: wp.array(dtype=H)\n\n\
        @wp.kernel\ndef fields(a: wp.array(dtype=H), s: S):\n    i = wp.tid()\n    if i % 2 == 0:\n        wp.atomic_add(s.b, ATOMIC, a[i])\n    \
        else:\n        s.b[STORE] = a[i]\n\n\
        @wp.kernel\ndef rows(a: wp.array(dtype=H), b: wp.array2d(dtype=H)):\n    i = wp.tid()\n    row = b[1]\n    if i % 2 == 0:\n        \
        wp.atomic_add(row, ATOMIC, a[i])\n    else:\n        b[1, STORE] = a[i]\n";
    for (atomic, store, races) in
        [("i", "i", false), ("i", "i - 1", true), ("0", "1", false), ("0", "0", true), ("1", "0", false)]
    {
        // Stores of one value at one place race with each other no more than with themselves.
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.py"), source.replace("ATOMIC", atomic).replace("STORE", store))
            .expect("a source");
        for n in ["8", "301"] {
            let (one, before, b) = (format!("a=ones:{n}"), "s.before=zeros:3", format!("s.b=ones:{n}"));
            let rows = format!("b=ones:2,{n}");
            for (kernel, args) in [("fields", vec!["--arg", before, "--arg", &b]), ("rows", vec!["--arg", &rows])] {
                let flags = ["run", "k.py", "-k", kernel, "--device", "sim", "--unchecked", "--dim", n, "--arg", &one];
                let (text, status) = kc(folder.path(), &[&flags[..], &args].concat());
                assert_eq!(text.contains("E1113"), races, "{kernel}, {atomic} beside {store}, {n} threads:\n{text}");
                assert_eq!(status, Some(i32::from(races)), "{text}");
            }
        }
    }
}

/// The derivative of a maximum finds it by its bits: nothing fuses in one entry and not in the
/// other.
#[test]
fn extremes_are_found_where_operations_fuse() {
    let source = "import warp as wp\n\nF = wp.array(dtype=float)\n\n@wp.kernel\ndef k(a: F, b: F, c: F, x: F):\n    i = wp.tid()\n    \
        s = a[i] * b[i] + c[i]\n    t = float(0.5)\n    for k in range(3):\n        \
        t = t * (t + s) + (0.75 * b[i] + b[i])\n        \
        s = s * 0.5 + ((a[i] + 1.3) * (1.69 + a[(i + 1) % 64]) + (b[i] + a[i]))\n    \
        wp.atomic_max(x, i % 8, (b[i] * a[(i + 1) % 64] + 1.3) * (t * 0.75 + 1.3) + (t * 0.75 + b[i]))\n";
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), source).expect("a source");
    for seed in 1..12 {
        let args =
            [format!("a=random:{seed}:64"), format!("b=random:{}:64", seed + 20), format!("c=random:{}:64", seed + 40)];
        let mut found = Vec::new();
        for device in ["interp", "sim"] {
            let file = format!("{device}.npy");
            let mut flags = vec![
                "run",
                "k.py",
                "--device",
                device,
                "--fmad",
                "on",
                "--gradient",
                "--dim",
                "64",
                "--arg",
                "x=zeros:8",
            ];
            args.iter().for_each(|arg| flags.extend(["--arg", arg]));
            let stored = format!("b.grad={file}");
            flags.extend(["--npy", &stored]);
            let (text, status) = kc(folder.path(), &flags);
            assert_eq!(status, Some(0), "{text}");
            found.push(std::fs::read(folder.path().join(file)).expect("a gradient"));
        }
        assert!(found[0] == found[1], "seed {seed}: the simulator has another gradient");
    }
}
