use std::path::Path;

use super::*;
use crate::dataset::expressions::{Category, sample};
use crate::driver::{Compiler, Request};
use crate::ir::print::{print, print_complete};
use crate::ir::text::parse_constant;
use crate::ir::verify::verify;

/// Every operation and form once.
pub(crate) const EVERYTHING: &str = r#"struct Inner {
  a: vec3f
  flags: array2d(dtype=uint8)
}

struct vec2f' {
  inner: Inner
  m: mat22d
  t: transformf
}

func @helper_i(%x: int32, %acc: local(float32, 4, 2)) -> (int32, float64, ref 0 int32) source "helper" library cuda "helper" gives overflows {
  %0: float64 = const -1.5e-300
  %1: int32 = const -2147483648
  %i: int32 = const 1
  %2: float32 = load %acc[%i, %i]
  store %acc[%i, %x], %2
  return %1, %0, %x
}

func @nothing() {
  return
}

func @f(%x: float32) -> (float32) adjoint @adj_f replay @f_again {
  return %x
}

func @f_again(%x: float32) -> (float32) zero_gradient "it is a step" {
  return %x
}

func @adj_f(%x: float32, %adj_ret: float32) -> (float32) no_gradient "second order" {
  return %adj_ret
}

func @grad_f(%x: float32, %adj_ret: float32) -> (float32) adjoint_of @f {
  # Zero until it is written:
  # here.
  return %adj_ret
}

kernel @again(%x: array(dtype=float32), %adj_x: array(dtype=float32), %kept: array2d(dtype=float32), %steps: array2d(dtype=int32), %needed: array(dtype=int64)) rank 1 source "all" by_block block_threads 32 counted backward assumes_disjoint (@helper_i 0, @all 0) tape (2 log 4 "x[i] before \"it\"", 3 state "iterations", 4 needed "") {
  return
}

kernel @all(%n: int32, %s: vec2f', %data: array4d(dtype=float16), %ps: array(dtype=Inner), %b: vec(3, bool)) rank 4 {
  %0: bool = const true
  %1: float32 = const nan(0xffc00001)
  %2: float32 = const 0.1
  %3: float32 = const -inf
  %4: float16 = const 0.099975586
  %5: bfloat16 = const -0.0
  %6: uint64 = const 18446744073709551615
  %7: vec2f' = zero
  %8: array(dtype=int32) = zero
  %9: local(vec2f', 3) = local_array
  %10: int32 = thread_index 3
  %11: int32 = block_dim
  %told: float32 = exchange up 48, %2, %10
  %votes: uint32 = exchange ballot 48, %0
  %12: float32 = sqrt %2
  %13: float32 = add %2, %3
  %14: bool = le %2, %3
  %15: float32 = fma %1, %2, %3
  %16: int32 = cast %2
  %17: uint32 = bitcast %2
  %18: float32 = select %14, %2, %3
  %v: vec3f = construct %2, %3, %2
  %v.1: vec3f = mul %v, %2
  %19: float32 = extract %s.inner.a[%10]
  %20: float32 = extract %s.t[1][3]
  %21: float64 = extract %s.m[0][%n]
  %s.1: vec2f' = insert %s.inner.a[2], %19
  %22: int32 = extent %data, 3
  %23: bool = is_set %8
  %24: uint64 = address %data
  %row: array2d(dtype=float16) = view %data[%n, %10:%22:%11, %n]
  %25: float16 = load %row[%n, %n]
  store %ps[%n].a[1], %2
  %26: Inner = load %ps[%n]
  %27: vec3f = atomic add %ps[%n].a, %v
  %28: float16 = atomic_cas %row[%n, %n], %25, %4
  %29: int32 = const 0
  %30: local(float32, 4, 2) = local_array
  %31: int32, %32: float64, %33: int32 = call @helper_i(%n, %30)
  call @nothing()
  %total: int32, %last: int32 = for %k: int32 = %29 to %n step %11 carry %total.1: int32 = %29, %last.1: int32 = %n {
    if %14 {
      continue %last.1, %total.1
    }
    if %0 {
      break %k, %k
    } else {
      print "k = %d\n\"\u{7}", %k
    }
    yield %total.1, %k
  }
  %w: int32 = while carry %w.1: int32 = %n {
    %34: bool = gt %w.1, %29
    yield %34
  } do carry %w.2: int32 {
    yield %29
  }
  while {
    yield %0
  } do {
    break
  }
  for %35: int32 = %29 to %n step %11 {
  }
  %c: float32 = if %14 {
    yield %2
  } else {
    assert %0, "message"
    check component %n of 3, "v"
    check element %n of 4 in 1, "t"
    check degenerate %0, "equal values"
    check visit %0
    check visit %0, %n
    check degenerate %0, %n, "equal values"
    return
  }
  %thread: int32 = thread_in_block
  %36: tile(float32, 4) = shared_array
  barrier
  grid_sync
  %37: tile(float32, 16, 8) = shared_array
  %38: tile(float16, 16, 16) = shared_array
  %39: tile(float16, 8, 16) = shared_array
  product set f16 16 8 16 right_turned, %37, %38, %39
  %40: vec4f = product take f16 16 8 16, %37
  %41: vec4f = product keep f16 16 8 16 left_turned right_turned, %37, %38, %39, %40
  product put f16 16 8 16, %37, %41
  copy 8 16, %39, %row, %n, %29
  return
}
"#;

#[test]
fn everything_round_trips_and_verifies() {
    let module = parse(EVERYTHING).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(verify(&module), Ok(()));
    let text = print(&module);
    assert_eq!(text, EVERYTHING);
    let again = parse(&text).unwrap();
    assert_eq!(print(&again), text);
    assert_eq!(format!("{again:?}"), format!("{module:?}"));
    assert_eq!(module.functions[FuncId(0)].source_name, "helper");
    let assumed = &module.functions[module.find("again").expect("@again")].assumed_disjoint;
    let lines = assumed.iter().map(|span| &EVERYTHING[span.start as usize..span.end as usize]);
    assert_eq!(lines.collect::<Vec<_>>(), ["store %acc[%i, %x], %2", "store %ps[%n].a[1], %2"]);
    assert_eq!(module.functions[FuncId(0)].results[2].role, ResultRole::ByRef(0));
}

#[test]
fn every_small_float_constant_round_trips() {
    for scalar in [Scalar::F16, Scalar::BF16] {
        for bits in 0..=0xffff {
            let c = Const::new(scalar, bits);
            if !c.as_float().is_some_and(f64::is_nan) {
                let mut text = String::new();
                text::constant(&mut text, c);
                assert_eq!(parse_constant(scalar, &text), Some(c));
            }
        }
    }
}

#[test]
fn faults_have_a_line_and_a_reason() {
    let table = [
        ("kernel @k() rank 1 {\n  return\n", 2, "expected an operation"),
        ("kernel @k() rank 1 {\n  %x: int32 = const 300000000000\n}", 2, "constant of type int32"),
        ("kernel @k() rank 1 {\n  %x: uint8 = const -1\n}", 2, "constant of type uint8"),
        ("kernel @k() rank 1 {\n  %x: int32 = neg %y\n}", 2, "`%y` is not defined"),
        ("kernel @k(%x: int32, %x: int32) rank 1 {\n}", 1, "defined twice"),
        ("kernel @k(%x: vec9q) rank 1 {\n}", 1, "expected a type"),
        ("kernel @k(%x: array(dtype=array(dtype=int32))) rank 1 {\n}", 1, "does not hold arrays"),
        ("kernel @k() rank 1 {\n  call @f()\n  return\n}", 2, "no function `@f`"),
        ("kernel @k() rank 1 {\n  dance\n}", 2, "expected an operation, found `dance`"),
        ("kernel @k() rank 1 {\n  print \"abc\n}", 2, "string"),
        ("kernel @k(%x: local(int32, 70000, 70000)) rank 1 {\n}", 1, "too large"),
        ("kernel @k() rank 300 {\n}", 1, "number in range"),
        ("%", 1, "expected a name"),
        ("struct S {\n  x: S\n}", 2, "expected a type"),
        ("kernel @k() rank 1 assumes_disjoint (@k 0) {\n  return\n}", 1, "`@k` has no store 0"),
        ("kernel @k() rank 1 assumes_disjoint (@f 0) {\n  return\n}", 1, "no function `@f`"),
    ];
    for (text, line, message) in table {
        let error = parse(text).expect_err(text);
        assert!(error.line == line && error.message.contains(message), "{text}: {error}");
    }
}

#[test]
fn damaged_text_never_panics() {
    // Cuts, and swaps of neighbouring words, of a text with everything in it.
    let words: Vec<&str> = EVERYTHING.split_inclusive([' ', '\n', ',', '(', '[', '.']).collect();
    for n in 0..words.len() {
        let _ = parse(&words[..n].concat());
        let mut swapped = words.clone();
        swapped.swap(n, (n * 7 + 1) % words.len());
        if let Ok(module) = parse(&swapped.concat()) {
            let _ = verify(&module);
            let _ = print(&module);
        }
    }
    let _ = parse(&"if ".repeat(1000));
    let deep = format!("kernel @k(%c: bool) rank 1 {{\n{}", "if %c {\n".repeat(5000));
    assert!(parse(&deep).is_err_and(|e| e.message.contains("too deep")));
}

/// Every entry of the examples and of 100 made programs comes back from its text as it was, except
/// for what the text leaves out: places, and what only people read.
#[test]
fn programs_round_trip() {
    let examples = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap().flatten();
    let paths = examples.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "py"));
    let mut programs: Vec<String> = paths.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    programs.push(SCATTER.to_string());
    programs.extend((0..100).map(|n| sample(3, n, Category::ALL).plan.text));
    let (mut rules, mut tapes, mut assumed, mut notes) = (0, 0, 0, 0);
    let (mut kept, mut named) = (0, 0);
    for program in programs {
        let module = Compiler::new().load_text(Path::new("kernel.py"), program, &Request::default()).module;
        for text in [print(&module), print_complete(&module)] {
            let again = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_same(&module, &again);
        }
        assert_complete(&module, &parse(&print_complete(&module)).expect("read above"));
        let count = |has: &dyn Fn(&Function) -> bool| module.functions.values().filter(|f| has(f)).count();
        rules += count(&|f| f.derivative != Derivative::Body);
        tapes += count(&|f| !f.tape.is_empty());
        assumed += count(&|f| !f.assumed_disjoint.is_empty());
        notes += count(&|f| !f.notes.is_empty());
        kept += count(&|f| !f.kept.is_empty());
        named += count(&|f| f.results.iter().any(|result| result.name.is_some()));
    }
    assert!(rules > 100 && tapes > 0 && assumed > 0 && notes > 0, "{rules} {tapes} {assumed} {notes}");
    assert!(kept > 0 && named > 0, "{kept} {named}");
}

/// Stores that nothing proves to be made to different elements, in a kernel and in a function that
/// it calls.
const SCATTER: &str = "import warp as wp

@wp.func
def put(y: wp.array(dtype=float), at: int, v: float):
    if v > 1.0e9:
        return
    y[at] = v

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), to: wp.array(dtype=int)):
    i = wp.tid()
    z[i] = x[i]
    z[to[i]] = x[i] * 2.0
    put(y, to[i], x[i] * x[i])
";

/// What only the complete text has.
fn assert_complete(a: &Module, b: &Module) {
    for (id, f) in a.functions.iter() {
        let g = &b.functions[id];
        assert_eq!(f.kept, g.kept, "{}", f.name);
        let names = |f: &Function| f.results.iter().map(|result| result.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(f), names(g), "{}", f.name);
    }
}

fn assert_same(a: &Module, b: &Module) {
    assert_eq!(format!("{:?}", a.structs), format!("{:?}", b.structs));
    assert_eq!(a.functions.len(), b.functions.len());
    for (id, f) in a.functions.iter() {
        let g = &b.functions[id];
        // Named one by one, so that nobody adds a field without asking whether the text has it.
        let Function {
            name,
            source_name,
            kind,
            results,
            cuda_name,
            native,
            gives,
            library,
            by_block,
            fast_math,
            block_threads,
            phase,
            derivative,
            tape,
            assumed_disjoint: _,
            kept: _,
            notes,
            entry,
            values: _,
            insts: _,
            blocks: _,
            span: _,
        } = f;
        assert_eq!((name, source_name, kind), (&g.name, &g.source_name, &g.kind));
        let typed = |results: &[ResultInfo]| results.iter().map(|r| (r.ty, r.role)).collect::<Vec<_>>();
        assert_eq!(typed(results), typed(&g.results), "{name}");
        assert_eq!((cuda_name, native, library, phase), (&g.cuda_name, &g.native, &g.library, &g.phase), "{name}");
        assert_eq!(gives, &g.gives, "{name}");
        assert_eq!((*by_block, *fast_math, *block_threads), (g.by_block, g.fast_math, g.block_threads), "{name}");
        assert_eq!((derivative, tape), (&g.derivative, &g.tape), "{name}");
        assert_eq!(places(a, f), places(b, g), "{name}");
        let mut same = Same { f, g, values: Default::default(), notes: 0 };
        same.block(*entry, g.entry);
        assert_eq!((same.notes, same.notes), (notes.len(), g.notes.len()), "{name}");
    }
}

/// The stores that an entry assumes disjoint, by function and number.
fn places(module: &Module, entry: &Function) -> Vec<(FuncId, usize)> {
    let Some(forward) = module.entry(&entry.source_name, Phase::Forward) else { return Vec::new() };
    let run = module.needed_by([forward].into_iter());
    let stores = module.functions.iter().filter(|(id, _)| run[*id]).flat_map(|(id, f)| {
        let mut places = Vec::new();
        f.walk(f.entry, &mut |_, inst| places.extend(matches!(inst.op, Op::Store { .. }).then_some(inst.span)));
        places.into_iter().enumerate().map(move |(n, span)| (id, n, span))
    });
    stores.filter(|(_, _, span)| entry.assumed_disjoint.contains(span)).map(|(id, n, _)| (id, n)).collect()
}

/// Two functions that are walked side by side.
struct Same<'a> {
    f: &'a Function,
    g: &'a Function,
    /// Of the values of `f`, those of `g`.
    values: HashMap<ValueId, ValueId>,
    notes: usize,
}

impl Same<'_> {
    fn define(&mut self, of_f: &[ValueId], of_g: &[ValueId]) {
        assert_eq!(of_f.len(), of_g.len());
        for (&v, &w) in of_f.iter().zip(of_g) {
            let (value, again) = (&self.f.values[v], &self.g.values[w]);
            assert_eq!(value.ty, again.ty, "{}", self.f.name);
            assert_eq!(value.name.as_deref().filter(|name| text::is_identifier(name)), again.name.as_deref());
            self.values.insert(v, w);
        }
    }

    fn block(&mut self, b: BlockId, c: BlockId) {
        let (f, g) = (self.f, self.g);
        let (block, again) = (&f.blocks[b], &g.blocks[c]);
        self.define(&block.params, &again.params);
        assert_eq!(block.insts.len(), again.insts.len(), "{}", f.name);
        for (i, j) in block.insts.iter().zip(&again.insts) {
            let (inst, other) = (&f.insts[*i], &g.insts[*j]);
            let mut op = inst.op.clone();
            op.for_each_operand_mut(|value| *value = self.values[value]);
            match (&mut op, &other.op) {
                (Op::If { then, otherwise, .. }, Op::If { then: t, otherwise: o, .. }) => {
                    (*then, *otherwise) = (*t, *o);
                }
                (Op::For { body, .. }, Op::For { body: b, .. }) => *body = *b,
                (Op::While { condition, body, .. }, Op::While { condition: c, body: b, .. }) => {
                    (*condition, *body) = (*c, *b);
                }
                _ => {}
            }
            assert_eq!(format!("{op:?}"), format!("{:?}", other.op), "{}", f.name);
            assert_eq!(f.notes.get(i), g.notes.get(j), "{}", f.name);
            self.notes += usize::from(f.notes.contains_key(i));
            for (nested, again) in inst.op.blocks().into_iter().zip(other.op.blocks()) {
                self.block(nested, again);
            }
            self.define(&inst.results, &other.results);
        }
    }
}
