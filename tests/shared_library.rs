//! Does a program come out the same whatever its thread has compiled before? Threads keep functions of the library from one
//! program to the next ([`kc::check::shared`]), and with them their adjoints (`src/autodiff/memo.rs`) and texts.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use kc::autodiff;
use kc::dataset::sample::{self, category::Category};
use kc::driver::{Compiler, Request};

/// A program, and how it is compiled.
#[derive(Clone)]
struct Program {
    name: String,
    text: String,
    request: Request,
}

/// What came of it, in all detail: the modules of good compilations are compared with every place and unused value.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    ir: String,
    diagnostics: String,
    everything: u64,
}

fn outcome(program: &Program) -> Outcome {
    let mut made = Compiler::new().load_text(Path::new("program.py"), program.text.clone(), &program.request);
    let diagnostics = format!("{:?}", made.diagnostics);
    let ir = kc::ir::print::print(&made.module);
    // Known or not, it is the same: debug builds compare wherever it is used.
    made.module.functions.values_mut().for_each(|function| (function.content, function.calls) = (None, None));
    let mut hasher = DefaultHasher::new();
    format!("{:?}", made.module).hash(&mut hasher);
    Outcome { ir, diagnostics, everything: hasher.finish() }
}

/// Programs whose function names meet those of the library, that have errors, structs, gradients in forward code, and the
/// like.
const CURIOUS: &[&str] = &[
    "import warp as wp\n@wp.func\ndef dot_vec3f(a: wp.vec3, b: wp.vec3):\n    return wp.dot(a, b) + wp.length(a)\n@wp.kernel\ndef k(x: \
     wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = dot_vec3f(x[i], x[0]) + wp.dot(x[i], x[1]) + \
     wp.length(x[i])\n",
    "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = wp.dot(x[i], \
     x[0]) + wp.nothing(x[i])\n@wp.kernel\ndef good(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n    i = wp.tid()\n    \
     y[i] = wp.length(wp.normalize(x[i]))\n",
    "import warp as wp\n@wp.struct\nclass P:\n    x: wp.vec3\n    m: float\n@wp.func\ndef sub(a: P, b: P):\n    return a.x - b.x\n\
     @wp.kernel\ndef k(p: wp.array(dtype=P), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = wp.length(p[i] - p[0]) + \
     wp.sin(p[i].m)\n",
    "import warp as wp\n@wp.func\ndef f(x: float):\n    return wp.sin(x) * wp.exp(x)\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: \
     wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = wp.grad(f)(x[i]) + wp.grad(wp.cos)(x[i]) + wp.sin(x[i])\n",
    "import warp as wp\n@wp.func\ndef sin(x: float):\n    return x\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: \
     wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = sin(x[i]) + wp.sin(x[i]) + wp.tan(x[i])\n",
    "import warp as wp\n@wp.func\ndef adj_length_vec3f(x: wp.vec3, d: float):\n    return x * d\n@wp.kernel\ndef k(x: \
     wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.quat), y: wp.array(dtype=float)):\n    i = wp.tid()\n    turned = \
     wp.quat_rotate(wp.normalize(q[i]), wp.normalize(x[i]))\n    y[i] = wp.length(adj_length_vec3f(turned, 2.0)) + \
     wp.smoothstep(0.0, 1.0, y[0])\n",
    "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.quat), y: wp.array(dtype=float)):\n    \
     i = wp.tid()\n    axis = wp.normalize(wp.vec3(1.0, 2.0, 3.0))\n    y[i] = wp.quat_rotate(wp.normalize(q[i]), axis)[0] + \
     wp.dot(axis, wp.normalize(x[i])) + wp.smoothstep(y[1], y[2], 0.5)\n",
    "import warp as wp\n@wp.kernel(enable_backward=False)\ndef k(x: wp.array(dtype=wp.mat33), y: wp.array(dtype=float)):\n    i = \
     wp.tid()\n    q, r = wp.qr3(x[i])\n    y[i] = wp.determinant(q) + wp.trace(r) + wp.noise(wp.rand_init(3), y[i])\n",
];

fn programs() -> Vec<Program> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for folder in ["examples", "tests/run"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "py")) {
            texts.push((file.display().to_string(), std::fs::read_to_string(file).unwrap()));
        }
    }
    for (n, text) in CURIOUS.iter().enumerate() {
        texts.push((format!("curious {n}"), text.to_string()));
    }
    for n in 0..200 {
        texts.push((format!("sample {n}"), sample::sample(7, n, Category::ALL).program.python()));
    }
    let forward = autodiff::Options { backward: false, ..autodiff::Options::default() };
    let request = |n: usize| match n % 7 {
        0 => Request { double: true, ..Request::default() },
        1 => Request { gradients: forward, ..Request::default() },
        _ => Request::default(),
    };
    let program = |(n, (name, text))| Program { name, text, request: request(n) };
    texts.into_iter().enumerate().map(program).collect()
}

/// The outcomes of some programs compiled one after the other in one new thread.
fn in_one_thread(programs: Vec<Program>) -> Vec<Outcome> {
    let work = move || programs.iter().map(outcome).collect();
    std::thread::Builder::new().stack_size(64 << 20).spawn(work).unwrap().join().unwrap()
}

#[test]
fn a_program_does_not_depend_on_those_before_it() {
    let programs = programs();
    let alone: Vec<Outcome> = programs.iter().flat_map(|program| in_one_thread(vec![program.clone()])).collect();
    assert!(alone.iter().filter(|outcome| outcome.ir.contains("kernel")).count() > 200, "too few programs are good");
    let turned = |programs: &[Program]| programs.iter().rev().cloned().collect::<Vec<_>>();
    // Twice each, so that what the first compilation kept meets the program again.
    let forwards = in_one_thread([&programs[..], &programs[..]].concat());
    let mut backwards = in_one_thread([turned(&programs), turned(&programs)].concat());
    backwards.reverse();
    for (way, outcomes) in [("forwards", forwards), ("backwards", backwards)] {
        for (n, outcome) in outcomes.iter().enumerate() {
            let at = n % programs.len();
            assert!(*outcome == alone[at], "{} differs {way}:\n{outcome:#?}\n\n{:#?}", programs[at].name, alone[at]);
        }
    }
}
