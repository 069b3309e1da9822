use super::pipelines::round;
use super::*;
use crate::abi::{ArrayDescriptor, LaunchBounds};
use crate::analysis::effects::effects;
use crate::ir::Module;
use crate::ir::interp::{Outcome, run_kernel};
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify as verify_ir;

/// Simplifies `kernel @k(%a: array(dtype=int32), %x: int32, %f: float32, %v: vec3f, %c: bool)` with
/// a body.
fn simplified(body: &str) -> String {
    let head = "kernel @k(%a: array(dtype=int32), %x: int32, %f: float32, %v: vec3f, %c: bool) rank 1 {\n";
    let text = format!("{head}{body}\nreturn\n}}");
    let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify_ir(&module), Ok(()));
    simplify(&mut module);
    let printed = print(&module);
    let lines = printed.strip_prefix(head).and_then(|rest| rest.strip_suffix("  return\n}\n")).unwrap_or(&printed);
    lines.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect()
}

/// What is left of `store %a[%x], %r` behind a body that defines `%r`.
fn stored(body: &str) -> String {
    simplified(&format!("{body}\nstore %a[%x], %r"))
}

#[test]
fn constants_fold() {
    let body = "%0: int32 = const 6\n%1: int32 = const 7\n%y: int32 = mul %0, %1\n%z: float32 = cast %y\n%w: int32 = bitcast %z\n\
                %r: int32 = add %w, %y";
    assert_eq!(stored(body), "%r: int32 = const 1109917738\nstore %a[%x], %r\n");
    let body = "%0: bool = const true\n%1: bool = not %0\n%2: int32 = zero\n%r: int32 = select %1, %2, %x";
    assert_eq!(stored(body), "store %a[%x], %x\n");
    let body = "%l: local(int8, 4, 9) = local_array\n%r: int32 = extent %l, 1";
    assert_eq!(stored(body), "%r: int32 = const 9\nstore %a[%x], %r\n");
}

#[test]
fn exact_identities_hold_and_inexact_ones_do_not() {
    for (expression, result) in [
        ("mul %x, %one", "%x"),
        ("mul %one, %x", "%x"),
        ("floor_div %x, %one", "%x"),
        ("add %zero, %x", "%x"),
        ("sub %x, %zero", "%x"),
        ("or %x, %zero", "%x"),
        ("and %x, %ones", "%x"),
        ("shl %x, %zero", "%x"),
        ("min %x, %x", "%x"),
    ] {
        let constants = "%one: int32 = const 1\n%zero: int32 = const 0\n%ones: int32 = const -1\n";
        assert_eq!(stored(&format!("{constants}%r: int32 = {expression}")), format!("store %a[%x], {result}\n"));
    }
    let zero = "%r: int32 = zero\nstore %a[%x], %r\n";
    assert_eq!(stored("%r: int32 = sub %x, %x"), zero);
    assert_eq!(stored("%0: int32 = const 0\n%r: int32 = mul %x, %0"), zero);
    assert_eq!(stored("%r: int32 = abs_diff %x, %x"), zero);
    for distance in ["abs_diff %x, %0", "abs_diff %0, %x"] {
        let body = format!("%0: int32 = const 0\n%r: int32 = {distance}");
        assert_eq!(stored(&body), "%r: int32 = abs %x\nstore %a[%x], %r\n", "{distance}");
    }
    // Floats: only what keeps -0.0 and NaN.
    let float = |expression: &str| {
        let constants = "%0: float32 = const 0.0\n%1: float32 = const -0.0\n%2: float32 = const 1.0\n";
        stored(&format!("{constants}%g: float32 = {expression}\n%r: int32 = bitcast %g"))
    };
    let kept = "%r: int32 = bitcast %f\nstore %a[%x], %r\n";
    for expression in ["mul %f, %2", "div %f, %2", "sub %f, %0", "add %f, %1", "max %f, %f"] {
        assert_eq!(float(expression), kept, "{expression}");
    }
    for expression in ["add %f, %0", "mul %f, %0", "sub %f, %f", "sub %f, %1", "div %f, %f"] {
        assert!(float(expression).contains(" %f, %"), "{expression}");
    }
}

#[test]
fn parts_of_what_was_put_together() {
    let body = "%p: vec3f = construct %f, %g, %f\n%q: vec3f = insert %p[2], %g\n%y: float32 = extract %q[2]\n\
                %z: float32 = extract %q[0]\n%s: float32 = add %y, %z\n%r: int32 = cast %s";
    let expected = "%g: float32 = extract %v[1]\n%s: float32 = add %g, %f\n%r: int32 = cast %s\nstore %a[%x], %r\n";
    assert_eq!(stored(&format!("%g: float32 = extract %v[1]\n{body}")), expected);
    // A run-time step may miss, so it is left alone; a constant one is fixed.
    let body = "%p: vec3f = insert %v[%x], %f\n%g: float32 = extract %p[%x]\n%r: int32 = cast %g";
    assert!(stored(body).contains("insert %v[%x], %f"));
    let body = "%m1: int32 = const -1\n%g: float32 = extract %v[%m1]\n%r: int32 = cast %g";
    assert_eq!(stored(body), "%g: float32 = extract %v[2]\n%r: int32 = cast %g\nstore %a[%x], %r\n");
    let body = "%0: float32 = extract %v[0]\n%1: float32 = extract %v[1]\n%2: float32 = extract %v[2]\n\
                %w: vec3f = construct %0, %1, %2\n%b: bool = eq %w, %v\n%r: int32 = cast %b";
    assert_eq!(stored(body), "%b: bool = eq %v, %v\n%r: int32 = cast %b\nstore %a[%x], %r\n");
    let body = "%m: mat22i = construct %x, %y, %y, %x\n%row: vec2i = extract %m[1]\n%r: int32 = extract %row[1]";
    assert_eq!(stored(&format!("%y: int32 = neg %x\n{body}")), "store %a[%x], %x\n");
    let body = "%t: transformf = construct %f, %f, %f, %f, %f, %f, %g\n%g.1: float32 = extract %t[1][3]\n%r: int32 = cast %g.1";
    let expected = "%g: float32 = neg %f\n%r: int32 = cast %g\nstore %a[%x], %r\n";
    assert_eq!(stored(&format!("%g: float32 = neg %f\n{body}")), expected);
}

#[test]
fn known_branches_are_taken() {
    let body = "%1: int32 = const 1\n%2: int32 = const 2\n%b: bool = lt %1, %2\n\
                %r: int32 = if %b {\n%y: int32 = add %x, %2\nstore %a[%1], %y\nyield %y\n} else {\nstore %a[%2], %x\nyield %x\n}";
    let expected =
        "%0: int32 = const 1\n%1: int32 = const 2\n%y: int32 = add %x, %1\nstore %a[%0], %y\nstore %a[%x], %y\n";
    assert_eq!(stored(body), expected);
    // What follows a branch that surely leaves is never reached.
    let body = "%t: bool = const true\nfor %k: int32 = %x to %x step %x {\nif %t {\nstore %a[%k], %k\nbreak\n}\n\
                store %a[%k], %x\n}";
    assert_eq!(simplified(body), "for %k: int32 = %x to %x step %x {\n  store %a[%k], %k\n  break\n}\n");
    // Both branches give one value.
    let body = "%r: int32 = if %c {\nstore %a[%x], %x\nyield %x\n} else {\nyield %x\n}";
    assert_eq!(stored(body), "if %c {\n  store %a[%x], %x\n}\nstore %a[%x], %x\n");
    // Loops that do not iteration.
    let body = "%0: int32 = const 0\n%r: int32 = for %k: int32 = %0 to %0 step %x carry %y: int32 = %x {\nyield %k\n}";
    assert!(
        stored(body).contains("for"),
        "the step's sign is not known, but both bounds are equal: kept for simplicity"
    );
    let body = "%0: int32 = const 0\n%1: int32 = const 1\n\
                %r: int32 = for %k: int32 = %1 to %0 step %1 carry %y: int32 = %x {\nyield %k\n}";
    assert_eq!(stored(body), "store %a[%x], %x\n");
    let body = "%r: int32 = while carry %y: int32 = %x {\n%no: bool = const false\nyield %no\n} do carry %z: int32 {\nyield %z\n}";
    assert_eq!(stored(body), "store %a[%x], %x\n");
}

#[test]
fn counters_of_a_loop_that_count_alike_are_one() {
    let counters = |second: &str, add: &str| {
        stored(&format!(
            "%0: int32 = const 0\n%1: int32 = const 1\n%2: int32 = const 2\n%n: int32, %r: int32 = while carry %p: int32 = %0, %q: int32 = {second} {{\n\
             %t: bool = lt %p, %x\nyield %t\n}} do carry %p.1: int32, %q.1: int32 {{\n%a1: int32 = add %p.1, %1\n\
             store %a[%p.1], %q.1\n%a2: int32 = add %q.1, {add}\nyield %a1, %a2\n}}"
        ))
    };
    let carried = |text: &str| text.matches("%q").count();
    assert_eq!(carried(&counters("%0", "%1")), 0);
    assert_ne!(carried(&counters("%0", "%2")), 0);
    assert_ne!(carried(&counters("%1", "%1")), 0);
}

#[test]
fn dead_code_goes_and_effects_stay() {
    let body = "%y: int32 = load %a[%x]\n%z: int32 = add %y, %x\nif %c {\n%w: int32 = neg %z\n}\n\
                for %k: int32 = %x to %z step %x {\n%u: int32 = neg %k\n}";
    assert_eq!(simplified(body), "");
    // Carried values that feed only themselves, or never change.
    let body = "%0: int32 = const 0\n%1: int32 = const 1\n\
                %d: int32, %r: int32, %same: int32 = for %k: int32 = %0 to %x step %1 \
                carry %d.1: int32 = %0, %r.1: int32 = %0, %same.1: int32 = %x {\n\
                %d.2: int32 = add %d.1, %k\n%r.2: int32 = add %r.1, %same.1\n\
                if %c {\ncontinue %d.1, %r.2, %same.1\n}\nyield %d.2, %r.2, %same.1\n}";
    let expected = "%0: int32 = const 0\n%1: int32 = const 1\n\
                    %r: int32 = for %k: int32 = %0 to %x step %1 carry %r.1: int32 = %0 {\n\
                    \x20 %r.2: int32 = add %r.1, %x\n  if %c {\n    continue %r.2\n  }\n  yield %r.2\n}\nstore %a[%x], %r\n";
    assert_eq!(stored(body), expected);
    // A dead slot of an `if`, and one of a `while`, whose condition needs the other.
    let body = "%1: int32 = const 1\n%r: int32, %d: int32 = while carry %y: int32 = %x, %z: int32 = %x {\n\
                %more: bool = gt %y, %1\nyield %more\n} do carry %y.1: int32, %z.1: int32 {\n\
                %n: int32, %m: int32 = if %c {\n%p: int32 = sub %y.1, %1\nyield %p, %z.1\n} else {\nbreak %y.1, %1\n}\n\
                yield %n, %m\n}";
    let expected = "%0: int32 = const 1\n%r: int32 = while carry %y: int32 = %x {\n  %more: bool = gt %y, %0\n  yield %more\n\
                    } do carry %y.1: int32 {\n  %n: int32 = if %c {\n    %p: int32 = sub %y.1, %0\n    yield %p\n  } else {\n\
                    \x20   break %y.1\n  }\n  yield %n\n}\nstore %a[%x], %r\n";
    assert_eq!(stored(body), expected);
    // An atomic stays for its effect, a print and an assert too.
    let body = "%old: int32 = atomic add %a[%x], %x\nprint \"%d\", %x\nassert %c, \"m\"";
    assert_eq!(simplified(body).lines().count(), 3);
    // An early return decides what comes after it.
    let body = "if %c {\nreturn\n}\nstore %a[%x], %x";
    assert_eq!(simplified(body), "if %c {\n  return\n}\nstore %a[%x], %x\n");
}

#[test]
fn functions() {
    let text = "func @pure(%x: int32) -> (int32) {\n%y: int32 = neg %x\nreturn %y\n}\n\
                func @calls(%x: int32) -> (int32) {\n%y: int32 = call @pure(%x)\nreturn %y\n}\n\
                func @speaks(%x: int32) -> (int32) {\nprint \"x\"\nreturn %x\n}\n\
                kernel @k(%x: int32) rank 1 {\n%u: int32 = call @calls(%x)\n%v: int32 = call @speaks(%x)\nreturn\n}";
    let mut module = parse(text).unwrap();
    simplify(&mut module);
    let expected = "func @speaks(%x: int32) -> (int32) {\n  print \"x\"\n  return %x\n}\n\n\
                    kernel @k(%x: int32) rank 1 {\n  %v: int32 = call @speaks(%x)\n  return\n}\n";
    assert_eq!(print(&module), expected);
}

/// Writes random programs as IR text.
pub(super) struct Generator {
    state: u64,
    text: String,
    next: u32,
    /// Visible values: int32, float32, bool, vec2i.
    scope: Vec<(String, &'static str)>,
    budget: u32,
}

const TYPES: [&str; 4] = ["int32", "float32", "bool", "vec2i"];

impl Generator {
    fn pick(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        // Some values have source names.
        if self.pick(3) == 0 { format!("%v{}", self.next) } else { format!("%{}", self.next) }
    }

    fn value(&mut self, ty: &str) -> String {
        let fits: Vec<String> = self.scope.iter().filter(|(_, t)| *t == ty).map(|(v, _)| v.clone()).collect();
        let at = self.pick(fits.len());
        fits[at].clone()
    }

    fn define(&mut self, ty: &'static str, expression: &str) {
        let name = self.fresh();
        self.text.push_str(&format!("{name}: {ty} = {expression}\n"));
        self.scope.push((name, ty));
    }

    fn simple(&mut self) {
        let ty = TYPES[self.pick(4)];
        let (a, b) = (self.value(ty), self.value(ty));
        let (i, c) = (self.value("int32"), self.value("bool"));
        let expression = match (ty, self.pick(8)) {
            (_, 0) => format!("select {c}, {a}, {b}"),
            ("int32", 1) => format!("const {}", [0, 1, -1, 2, i32::MIN, 7][self.pick(6)]),
            ("int32", 2) => format!("load %in[{i}]"),
            ("int32", 3) => format!("extract {}[{}]", self.value("vec2i"), self.pick(2)),
            ("int32", 4) => format!("extract {}[{i}]", self.value("vec2i")),
            ("int32", 5) => format!("cast {}", self.value("float32")),
            ("int32", _) => {
                let op = [
                    "add",
                    "sub",
                    "mul",
                    "div",
                    "floor_div",
                    "rem",
                    "and",
                    "or",
                    "xor",
                    "shl",
                    "shr",
                    "min",
                    "max",
                    "abs_diff",
                ][self.pick(14)];
                format!("{op} {a}, {b}")
            }
            ("float32", 1) => format!("const {}", ["0.0", "-0.0", "1.0", "inf", "0.5", "-3.0"][self.pick(6)]),
            ("float32", 2) => format!("cast {i}"),
            ("float32", 3) => format!("neg {a}"),
            ("float32", _) => format!("{} {a}, {b}", ["add", "sub", "mul", "div", "min", "max"][self.pick(6)]),
            ("bool", 1) => format!("const {}", ["true", "false"][self.pick(2)]),
            ("bool", 2) => format!("not {a}"),
            ("bool", 3 | 4) => format!("{} {a}, {b}", ["and", "or", "xor", "eq", "ne"][self.pick(5)]),
            ("bool", 5) => format!("lt {}, {}", self.value("float32"), self.value("float32")),
            ("bool", _) => {
                format!("{} {i}, {}", ["eq", "ne", "lt", "le", "gt", "ge"][self.pick(6)], self.value("int32"))
            }
            (_, 1 | 2) => format!("construct {i}, {}", self.value("int32")),
            (_, 3) => format!("insert {a}[{}], {i}", self.pick(2)),
            (_, 4) => format!("insert {a}[{i}], {i}"),
            (_, 5) => format!("mul {a}, {i}"),
            _ => format!("add {a}, {b}"),
        };
        self.define(ty, &expression);
    }

    fn values(&mut self, types: &[&'static str]) -> String {
        types.iter().map(|ty| self.value(ty)).collect::<Vec<_>>().join(", ")
    }

    /// Statements, then a terminator: usually `yield`, sometimes one that leaves.
    fn block(&mut self, depth: u32, yields: &[&'static str], carried: Option<&[&'static str]>) {
        let visible = self.scope.len();
        for _ in 0..1 + self.pick(4) {
            self.statement(depth, carried);
        }
        let leave = self.pick(8);
        let terminator = match carried {
            Some(types) if leave == 0 => format!("break {}", self.values(types)),
            Some(types) if leave == 1 => format!("continue {}", self.values(types)),
            _ if leave == 2 && self.pick(4) == 0 => "return".to_string(),
            _ => format!("yield {}", self.values(yields)),
        };
        self.text.push_str(&format!("{terminator}\n"));
        self.scope.truncate(visible);
    }

    fn statement(&mut self, depth: u32, carried: Option<&[&'static str]>) {
        self.budget = self.budget.saturating_sub(1);
        let kind = if depth > 3 || self.budget == 0 { 0 } else { self.pick(12) };
        let count = self.pick(3);
        let types: Vec<&'static str> = (0..count).map(|_| TYPES[self.pick(4)]).collect();
        let names: Vec<String> = types.iter().map(|_| self.fresh()).collect();
        let typed = |names: &[String]| {
            names.iter().zip(&types).map(|(n, t)| format!("{n}: {t}")).collect::<Vec<_>>().join(", ")
        };
        let results = if names.is_empty() { String::new() } else { format!("{} = ", typed(&names)) };
        let visible = self.scope.len();
        match kind {
            8 => {
                let (i, v) = (self.value("int32"), self.value("int32"));
                self.text.push_str(&format!("store %out[{i}], {v}\n"));
            }
            9 => {
                let c = self.value("bool");
                self.text.push_str(&format!("{results}if {c} {{\n"));
                self.block(depth + 1, &types, carried);
                self.text.push_str("} else {\n");
                self.block(depth + 1, &types, carried);
                self.text.push_str("}\n");
                self.scope.extend(names.into_iter().zip(types));
            }
            10 => {
                let counter = self.fresh();
                let [start, end, step] = [0, 1, 2].map(|_| self.value("int32"));
                // Small bounds, so that loops end soon.
                let [s, e, t] = [start, end, step].map(|v| {
                    let name = self.fresh();
                    self.text.push_str(&format!("{name}: int32 = rem {v}, %five\n"));
                    name
                });
                let params: Vec<String> = types.iter().map(|_| self.fresh()).collect();
                let carry = self.carry(&params, &types);
                self.text.push_str(&format!("{results}for {counter}: int32 = {s} to {e} step {t} {carry}{{\n"));
                self.scope.push((counter, "int32"));
                self.scope.extend(params.into_iter().zip(types.iter().copied()));
                self.block(depth + 1, &types, Some(&types));
                self.text.push_str("}\n");
                self.scope.truncate(visible);
                self.scope.extend(names.into_iter().zip(types));
            }
            11 => {
                let (before, inside) =
                    types.iter().map(|_| (self.fresh(), self.fresh())).unzip::<_, _, Vec<_>, Vec<_>>();
                let carry = self.carry(&before, &types);
                self.text.push_str(&format!("{results}while {carry}{{\n"));
                self.scope.extend(before.into_iter().zip(types.iter().copied()));
                self.simple();
                let c = self.value("bool");
                self.text.push_str(&format!("yield {c}\n}} do "));
                if !types.is_empty() {
                    self.text.push_str(&format!("carry {} ", typed(&inside)));
                }
                self.text.push_str("{\n");
                self.scope.truncate(visible);
                self.scope.extend(inside.into_iter().zip(types.iter().copied()));
                self.block(depth + 1, &types, Some(&types));
                self.text.push_str("}\n");
                self.scope.truncate(visible);
                self.scope.extend(names.into_iter().zip(types));
            }
            _ => self.simple(),
        }
    }

    fn carry(&mut self, params: &[String], types: &[&'static str]) -> String {
        let pairs: Vec<String> =
            params.iter().zip(types).map(|(p, ty)| format!("{p}: {ty} = {}", self.value(ty))).collect();
        if pairs.is_empty() { String::new() } else { format!("carry {} ", pairs.join(", ")) }
    }

    pub(super) fn program(seed: u64) -> String {
        let scope = [("%n", "int32"), ("%f", "float32"), ("%c", "bool"), ("%w", "vec2i"), ("%five", "int32")];
        let mut g = Generator {
            state: seed,
            text: String::new(),
            next: 0,
            scope: scope.map(|(v, t)| (v.to_string(), t)).to_vec(),
            budget: 60,
        };
        for _ in 0..12 {
            g.statement(0, None);
        }
        let [i, x, y, b] = ["int32", "int32", "float32", "bool"].map(|ty| g.value(ty));
        format!(
            "kernel @k(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) rank 1 {{\n\
             %n: int32 = thread_index 0\n%five: int32 = const 5\n%c: bool = lt %n, %five\n%w: vec2i = construct %n, %five\n\
             {}store %out[{i}], {x}\nprint \"%d %g %d\", {x}, {y}, {b}\nreturn\n}}",
            g.text
        )
    }
}

/// What the kernel writes and prints; None when it needs too many steps.
pub(super) fn behaviour(module: &Module) -> Option<(Vec<i32>, String)> {
    #[repr(C)]
    struct Args {
        arrays: [ArrayDescriptor; 2],
        f: f32,
    }
    let mut data = [vec![3, -1, 4, 1, -5], vec![0; 6]];
    let arrays = [0, 1].map(|n| {
        let extent = data[n].len() as i32;
        let address = data[n].as_mut_ptr().expose_provenance() as u64;
        ArrayDescriptor { data: address, grad: 0, shape: [extent, 0, 0, 0], strides: [4, 0, 0, 0], ndim: 1, flags: 0 }
    });
    let args = Args { arrays, f: -0.75 };
    let mut printed = String::new();
    let mut outcome = Outcome::new(|text| {
        // Which NaN a NaN is does not count.
        printed.push_str(&text.replace("-nan", "nan"));
        printed.push('\n');
    });
    outcome.steps = Some(5_000);
    let launch = LaunchBounds::new(&[8])?;
    let kernel = module.find("k")?;
    // SAFETY: the arrays lie over vectors that live on.
    unsafe { run_kernel(module, kernel, &launch, std::ptr::from_ref(&args).cast(), 0, 8, &mut outcome) };
    let finished = outcome.trap.as_ref().is_none_or(|trap| trap.kind != crate::ir::interp::TrapKind::StepLimit)
        && outcome.steps.is_some_and(|left| left > 0);
    drop(outcome);
    finished.then(|| (data[1].clone(), printed))
}

#[test]
fn random_programs_behave_the_same() {
    let (mut compared, mut smaller) = (0, 0);
    for seed in 0..1000 {
        let text = Generator::program(seed * 7919 + 1);
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify_ir(&module), Ok(()), "{text}");
        let printed = print(&module);
        assert_eq!(print(&parse(&printed).unwrap()), printed);
        let mut simple = module.clone();
        simplify(&mut simple);
        smaller += u32::from(print(&simple).len() < printed.len());
        if let Some(before) = behaviour(&module) {
            assert_eq!(behaviour(&simple), Some(before), "seed {seed}\n{printed}\n{}", print(&simple));
            compared += 1;
        }
    }
    assert!(compared > 350 && smaller > 900, "{compared} compared, {smaller} smaller");
}

#[test]
fn a_round_that_leaves_nothing_says_so() {
    let mut count = 0;
    for seed in 0..3000 {
        let mut module = parse(&Generator::program(seed * 6007 + 5)).unwrap();
        let effects = effects(&module);
        for id in module.functions.ids() {
            let function = &mut module.functions[id];
            while round(function, &module.structs, &effects) {}
            let left = rewrite::run(function, &module.structs) | dce::run(function, &effects);
            assert!(!left, "seed {seed}\n{}", print(&module));
            count += 1;
        }
    }
    assert!(count > 100, "{count} functions");
}

#[test]
fn loops_over_tables_are_written_out_for_processors() {
    let looped = |iterations: u32, table: &str| {
        let text = format!(
            "kernel @k(%a: array(dtype=int32), %v: vec(5, int32)) rank 1 {{\n%i: int32 = thread_index 0\n%c0: int32 = const 0\n\
             %c1: int32 = const 1\n%c9: int32 = const 9\n%n: int32 = const {iterations}\n\
             %t: vec(5, int32) = construct %c9, %c1, %c0, %c9, %c1\n\
             %r: int32 = for %k: int32 = %c0 to %n step %c1 carry %s: int32 = %c0 {{\n\
             %x: int32 = extract {table}[%k]\n%y: int32 = load %a[%x]\n%z: int32 = add %s, %y\nyield %z\n}}\n\
             store %a[%i], %r\nreturn\n}}"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        (print(&module), write_out(&module))
    };
    let (before, written) = looped(5, "%t");
    let written = written.expect("a loop that picks from a table");
    assert_eq!(verify_ir(&written), Ok(()));
    let text = print(&written);
    assert!(before.contains(" for ") && !text.contains(" for ") && !text.contains("extract"), "{text}");
    assert_eq!(text.matches("load %a").count(), 5, "{text}");
    // Too long, and no table.
    assert!(looped(17, "%t").1.is_none());
    assert!(looped(5, "%v").1.is_none());
}
