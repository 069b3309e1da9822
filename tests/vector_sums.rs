//! Sums of vectors in memory by one instruction: where arrays are dense, from sm_90 on; and what
//! the simulator makes of such an instruction.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

fn kc(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).current_dir(folder).output().expect("kc starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

/// PTX of a kernel that adds elements of a type to places from memory.
fn emit(dtype: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let source = format!(
        "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype={dtype}), at: wp.array(dtype=int), y: wp.array(dtype={dtype})):\n    i = wp.tid()\n    wp.atomic_add(y, at[i], x[i])\n"
    );
    std::fs::write(folder.path().join("k.py"), source).expect("a source");
    let args =
        [&["compile", "k.py", "--no-backward", "--grid", "covering", "--emit", "ptx", "-o", "-"], flags].concat();
    let (text, code) = kc(folder.path(), &args);
    assert_eq!(code, Some(0), "{text}");
    text
}

#[test]
fn dense_vectors_are_added_by_one_instruction_from_sm_90_on() {
    const DENSE: &[&str] = &["--layout", "contiguous", "--arch", "sm_90"];
    for (dtype, instruction) in [
        ("wp.vec2", "red.relaxed.gpu.global.add.v2.f32"),
        ("wp.vec4", "red.relaxed.gpu.global.add.v4.f32"),
        ("wp.quat", "red.relaxed.gpu.global.add.v4.f32"),
        ("wp.vec2h", "red.relaxed.gpu.global.add.noftz.v2.f16"),
        ("wp.vec4h", "red.relaxed.gpu.global.add.noftz.v4.f16"),
    ] {
        let text = emit(dtype, DENSE);
        assert_eq!(text.matches(instruction).count(), 1, "{dtype}:\n{text}");
        assert_eq!(text.matches("red.").count() + text.matches("atom.").count(), 1, "{dtype}:\n{text}");
        assert!(text.contains(".version 8.1"), "{text}");
        // Nothing is known of where elements lie, or there is no such instruction.
        for flags in [&["--arch", "sm_90"][..], &["--layout", "contiguous", "--arch", "sm_89"]] {
            let text = emit(dtype, flags);
            assert!(!text.contains(".add.v") && !text.contains("noftz.v"), "{dtype} {flags:?}:\n{text}");
            assert!(text.contains(".version 7.8"), "{text}");
        }
    }
    // Three numbers are no vector.
    assert!(!emit("wp.vec3", DENSE).contains(".add.v"));
    assert!(!emit("wp.vec2d", DENSE).contains(".add.v"));
}

const ADDS: &str = ".version 8.1
.target sm_90
.address_size 64
.visible .entry adds(.param .u64 out, .param .u64 at) {
    .reg .b64 %rd<6>; .reg .b32 %r<3>; .reg .f32 %f<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [at];
    cvta.to.global.u64 %rd2, %rd2;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd3, %rd2, %rd3;
    ld.global.u32 %r2, [%rd3];
    mul.wide.u32 %rd4, %r2, 4;
    add.u64 %rd4, %rd1, %rd4;
    mov.f32 %f1, 0f3f800000;
    mov.f32 %f2, 0f40000000;
    mov.f32 %f3, 0f40400000;
    mov.f32 %f4, 0f40800000;
    red.global.add.v4.f32 [%rd4], {%f1, %f2, %f3, %f4};
    ret;
}
";

/// 32 threads that add to these elements.
fn adds(places: &[u32], verb: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let pointer = |name: &str, scalar: &str, fill: Value, size: usize| {
        let dtype = json!({"class": "scalar", "scalar": scalar, "shape": []});
        json!({"name": name, "kind": "pointer", "dtype": dtype, "shape": [size], "fill": fill})
    };
    let args = [pointer("out", "float32", json!(0.5), 16), pointer("at", "int32", json!(places), places.len())];
    let launch = json!({"format": 1, "id": "case", "source": "k.ptx", "entry": "adds", "grid": [1], "block": [places.len()], "args": args});
    std::fs::write(folder.path().join("k.ptx"), ADDS).expect("a text");
    std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
    kc(folder.path(), &[verb, &["case.json"]].concat())
}

#[test]
fn the_simulator_adds_each_number_and_counts_one_instruction() {
    let places: Vec<u32> = (0..32).map(|lane| lane % 4 * 4).collect();
    let (text, code) = adds(&places, &["run", "--device", "sim", "--print", "out:16"]);
    assert_eq!(code, Some(0), "{text}");
    for number in ["8.5", "16.5", "24.5", "32.5"] {
        let rows =
            text.lines().filter(|line| line.trim_start().starts_with('[') && line.ends_with(&format!(" {number}")));
        assert_eq!(rows.count(), 4, "{text}");
    }
    let (text, code) = adds(&places, &["profile", "--json", "--all", "--registers", "32"]);
    assert_eq!(code, Some(0), "{text}");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let metrics = &profile["kernels"][0]["metrics"];
    let of = |name: &str| metrics[name]["value"].as_f64();
    let requests = of("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum");
    // Four elements of 16 bytes: two sectors.
    assert_eq!((requests, of("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum")), (Some(1.0), Some(2.0)), "{text}");
}

#[test]
fn a_vector_beside_its_alignment_is_a_fault() {
    let (text, code) = adds(&[2], &["run", "--device", "sim"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("E1111") && text.contains("16 bytes"), "{text}");
    let (text, code) = adds(&[16], &["run", "--device", "sim"]);
    assert!(code == Some(1) && text.contains("E1101"), "{text}");
}
