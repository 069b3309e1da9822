//! Does a program come out the same whatever its compiler has compiled before? Compilers keep
//! functions of the library from one program to the next: checked ([`kc::check::Instances`]), as IR
//! ([`kc::link`]), differentiated, and as texts.

// It serves several tests, and none of them needs all of it.
#[allow(dead_code)]
#[path = "expressions/mod.rs"]
mod expressions;

#[path = "common/sample.rs"]
mod sample;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use kc::autodiff;
// The generator of expressions names it `crate::dataset`.
use kc::dataset;
use kc::driver::{Abi, Arch, ArrayLayout, Artefact, Compiler, Cpu, Grid, Opt, Options, Request};

/// A program, and how it is compiled.
#[derive(Clone)]
struct Program {
    name: String,
    text: String,
    request: Request,
    /// PTX takes time.
    ptx: bool,
}

/// What came of it, in all detail: the modules of good compilations are compared with every place
/// and unused value.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    ir: String,
    diagnostics: String,
    everything: u64,
    cuda: Option<String>,
    ptx: Option<u64>,
}

fn hash(text: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn outcome(compiler: &Compiler, program: &Program) -> Outcome {
    let mut made = compiler.load_text(Path::new("program.py"), program.text.clone(), &program.request);
    let options = Options {
        opt: Opt::Lean,
        fmad: true,
        layout: ArrayLayout::Strided,
        grid: Grid::Any,
        abi: Abi::Warp,
        lineinfo: false,
        cpu: Cpu::Native,
        checked: false,
        ptx: Vec::new(),
        ..Options::default()
    };
    let cuda = made.emit(Artefact::Cuda, &options).map(|text| String::from_utf8(text).unwrap());
    let ptx = Some(Artefact::Ptx(Arch::ALL[0])).filter(|_| program.ptx).and_then(|ptx| made.emit(ptx, &options));
    let diagnostics = format!("{:?}", made.diagnostics);
    let ir = String::from_utf8(made.emit(Artefact::Ir, &options).unwrap()).unwrap();
    let outcome = Outcome { ir, diagnostics, everything: hash(format!("{:?}", made.module)), cuda, ptx: ptx.map(hash) };
    // Whoever has a module may do with it what he likes.
    for function in made.module.functions.values_mut() {
        function.name.push_str("_changed");
        function.insts.values_mut().for_each(|inst| inst.op = kc::ir::Op::Zero);
    }
    outcome
}

/// Programs whose function names meet those of the library, that have errors, structs, gradients in
/// forward code, and the like.
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
    // One file in three unless `KC_TESTS=all`, and of what is drawn as few.
    let mut texts = sample::sampled(texts, 3);
    for n in 0..if sample::whole() { 200 } else { 60 } {
        texts.push((format!("sample {n}"), expressions::sample(7, n, expressions::Category::ALL).plan.text));
    }
    let forward = autodiff::Options { backward: false, ..autodiff::Options::default() };
    let request = |n: usize| match n % 7 {
        0 => Request { double: true, ..Request::default() },
        1 => Request { gradients: forward, ..Request::default() },
        _ => Request::default(),
    };
    let program = |(n, (name, text))| Program { name, text, request: request(n), ptx: n % 8 == 0 };
    texts.into_iter().enumerate().map(program).collect()
}

/// The outcomes of some programs compiled one after the other by one compiler.
fn by_one(compiler: &Compiler, programs: &[&Program]) -> Vec<Outcome> {
    let work = || programs.iter().map(|program| outcome(compiler, program)).collect();
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

#[track_caller]
fn assert_same(programs: &[&Program], outcomes: &[Outcome], alone: &[Outcome], way: &str) {
    for (n, outcome) in outcomes.iter().enumerate() {
        let at = n % programs.len();
        assert!(*outcome == alone[at], "{} differs {way}:\n{outcome:#?}\n\n{:#?}", programs[at].name, alone[at]);
    }
}

#[test]
fn a_program_does_not_depend_on_those_before_it() {
    let programs = programs();
    let programs: Vec<&Program> = programs.iter().collect();
    let alone: Vec<Outcome> = programs.iter().flat_map(|program| by_one(&Compiler::new(), &[program])).collect();
    let good = alone.iter().filter(|outcome| outcome.ir.contains("kernel")).count();
    let with_ptx = alone.iter().filter(|outcome| outcome.ptx.is_some()).count();
    // As many as of the whole, by their share.
    let (least_good, least_ptx) = if sample::whole() { (200, 20) } else { (60, 7) };
    assert!(good > least_good, "{good} of {} programs are good", programs.len());
    assert!(with_ptx > least_ptx, "{with_ptx} programs have PTX");
    // Twice each, so that what the first compilation kept meets the program again.
    let compiler = Compiler::new();
    assert_same(&programs, &by_one(&compiler, &[&programs[..], &programs[..]].concat()), &alone, "forwards");
    let turned: Vec<&Program> = programs.iter().rev().copied().collect();
    let mut backwards = by_one(&Compiler::new(), &[&turned[..], &turned[..]].concat());
    backwards.reverse();
    assert_same(&programs, &backwards, &alone, "backwards");
    // Hardly anything is kept for long, and what is left was made for what is forgotten.
    for room in [1, 7, 40] {
        let few: Vec<&Program> = programs.iter().step_by(3).copied().collect();
        let alone: Vec<Outcome> = few.iter().flat_map(|program| by_one(&Compiler::new(), &[program])).collect();
        assert_same(&few, &by_one(&Compiler::with_room_for(room), &few), &alone, "where there is little room");
    }
    // By several threads at once, with one that knows everything and one that knows nothing.
    for compiler in [compiler, Compiler::new()] {
        let halves = [&programs[..programs.len() / 2], &programs[programs.len() / 2..], &turned[..]];
        let found: Vec<Vec<Outcome>> = std::thread::scope(|scope| {
            let threads = halves.map(|half| scope.spawn(|| by_one(&compiler, half)));
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut found = found.into_iter();
        let halves: Vec<Outcome> = found.by_ref().take(2).flatten().collect();
        assert_same(&programs, &halves, &alone, "beside others");
        let mut turned = found.next().unwrap();
        turned.reverse();
        assert_same(&programs, &turned, &alone, "beside others, backwards");
    }
}

#[test]
fn two_compilers_of_one_thread_share_nothing() {
    let programs = programs();
    let (one, other) = (Compiler::new(), Compiler::new());
    let program = programs.iter().find(|program| program.name.starts_with("curious")).unwrap();
    outcome(&one, program);
    assert_eq!(format!("{other:?}"), format!("{:?}", Compiler::new()), "it knows of what the first one has compiled");
    assert_ne!(format!("{one:?}"), format!("{other:?}"));
}
