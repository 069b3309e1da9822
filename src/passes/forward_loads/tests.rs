use super::super::tests::{Generator, behaviour};
use super::run;
use crate::analysis::effects::effects;
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{Module, Op};

fn forwarded(module: &Module) -> Module {
    let mut module = module.clone();
    let effects = effects(&module);
    for id in module.functions.ids() {
        run(&mut module.functions[id], &effects);
    }
    assert_eq!(verify(&module), Ok(()), "{}", print(&module));
    module
}

fn loads(module: &Module) -> usize {
    let mut count = 0;
    for function in module.functions.values() {
        function.walk(function.entry, &mut |_, inst| count += usize::from(matches!(inst.op, Op::Load(_))));
    }
    count
}

/// A random program that often reads what it writes, at indices inside the array: -4 to 4, so that
/// some name one element.
fn reading_what_it_writes(text: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for line in text.lines() {
        let mut index = |out: &mut String, any: &str| {
            at += 1;
            match at % 7 {
                0 | 1 => "%k1".to_string(),
                2 => "%k2".to_string(),
                3 => "%km".to_string(),
                4 => "%kt".to_string(),
                _ => {
                    out.push_str(&format!("%at{at}: int32 = rem {any}, %five\n"));
                    format!("%at{at}")
                }
            }
        };
        let (result, value) = line.split_once(": int32 = ").unwrap_or(("", line));
        if let Some((_, value)) = line.strip_prefix("store %out[").and_then(|rest| rest.split_once("], ")) {
            let at = index(&mut out, value);
            out.push_str(&format!("store %out[{at}], {value}\n"));
        } else if ["load", "sub", "mul", "and", "or", "xor", "shr", "max"].iter().any(|op| value.starts_with(op)) {
            let at = index(&mut out, "%n");
            if line.contains(": int32 = ") {
                out.push_str(&format!("{result}: int32 = load %out[{at}]\n"));
            } else {
                out.push_str(&format!("{line}\n"));
            }
        } else {
            out.push_str(&format!("{line}\n"));
            if ["add", "div", "min", "extract"].iter().any(|op| value.starts_with(op)) && line.contains(": int32 = ") {
                let at = index(&mut out, result);
                out.push_str(&format!("store %out[{at}], {result}\n"));
            }
        }
        if line.starts_with("%w: vec2i") {
            out.push_str("%k1: int32 = const 1\n%k2: int32 = const 2\n%km: int32 = const -4\n");
            out.push_str("%k0: int32 = rem %n, %k2\n%kt: int32 = add %k0, %k1\n");
        }
    }
    out
}

#[test]
fn random_programs_behave_the_same() {
    let (mut compared, mut gone) = (0, 0);
    for seed in 0..1000 {
        let text = reading_what_it_writes(&Generator::program(seed * 86_028_121 + 13));
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify(&module), Ok(()), "{text}");
        let after = forwarded(&module);
        gone += loads(&module) - loads(&after);
        if let Some(before) = behaviour(&module) {
            assert_eq!(behaviour(&after), Some(before), "seed {seed}\n{text}\n{}", print(&after));
            compared += 1;
        }
    }
    assert!(compared > 350 && gone > 60, "{compared} compared, {gone} gone");
}

/// The loads that are left of a kernel's body.
fn left(body: &str) -> usize {
    let text = format!(
        "func @writes(%x: array(dtype=float32), %f: float32) {{\n%0: int32 = const 0\nstore %x[%0], %f\nreturn\n}}\n\n\
         func @reads(%x: array(dtype=float32)) -> (float32) {{\n%0: int32 = const 0\n%1: float32 = load %x[%0]\n\
         return %1\n}}\n\n\
         kernel @k(%a: array(dtype=float32), %b: array(dtype=float32), %v: array(dtype=vec3f), %u: vec3f, %f: float32,
         %w: int32) rank 1 {{\n%i: int32 = thread_index 0\n%c0: int32 = const 0\n%c1: int32 = const 1\n{body}\nreturn\n}}"
    )
    .replace(",\n         %w", ", %w");
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&module), Ok(()), "{text}");
    // One is in @reads.
    loads(&forwarded(&module)) - 1
}

#[test]
fn what_is_known() {
    for (body, count) in [
        ("store %a[%i], %f\n%x: float32 = load %a[%i]", 0),
        ("%x: float32 = load %a[%i]\n%y: float32 = load %a[%i]", 1),
        // Equal indices, computed twice.
        ("%j: int32 = add %i, %c1\n%k: int32 = add %c1, %i\nstore %a[%j], %f\n%x: float32 = load %a[%k]", 0),
        ("%j: int32 = abs_diff %i, %w\n%k: int32 = abs_diff %w, %i\nstore %a[%j], %f\n%x: float32 = load %a[%k]", 0),
        // Another element, another component, another array.
        ("%j: int32 = add %i, %c1\nstore %a[%i], %f\nstore %a[%j], %f\n%x: float32 = load %a[%i]", 0),
        ("store %v[%i], %u\n%x: float32 = load %v[%i][1]\nstore %v[%i][0], %f\n%y: float32 = load %v[%i][1]", 1),
        ("store %a[%i], %f\nstore %b[%w], %f\n%x: float32 = load %a[%i]", 0),
        // Perhaps the same one.
        ("store %a[%i], %f\nstore %a[%w], %f\n%x: float32 = load %a[%i]", 1),
        ("%j: int32 = sub %i, %c1\nstore %a[%i], %f\nstore %a[%j], %f\n%x: float32 = load %a[%i]", 1),
        ("store %v[%i], %u\nstore %v[%i][%w], %f\n%x: float32 = load %v[%i][1]", 1),
        ("store %a[%i], %f\n%o: float32 = atomic add %a[%i], %f\n%x: float32 = load %a[%i]", 1),
        // Calls.
        ("store %a[%i], %f\ncall @writes(%a, %f)\n%x: float32 = load %a[%i]", 1),
        ("store %a[%i], %f\ncall @writes(%b, %f)\n%x: float32 = load %a[%i]", 0),
        ("store %a[%i], %f\n%r: float32 = call @reads(%a)\n%x: float32 = load %a[%i]", 0),
        // Into branches and loops, unless a later iteration writes; not out of them.
        ("store %a[%i], %f\nfor %k: int32 = %c0 to %w step %c1 {\n%x: float32 = load %a[%i]\n}", 0),
        (
            "store %a[%i], %f\nfor %k: int32 = %c0 to %w step %c1 {\n%x: float32 = load %a[%i]\n%y: float32 = add %x, %f\n\
          store %a[%i], %y\n}\n%z: float32 = load %a[%i]",
            2,
        ),
        ("%c: bool = lt %i, %w\nif %c {\nstore %a[%i], %f\n%x: float32 = load %a[%i]\n}\n%z: float32 = load %a[%i]", 1),
    ] {
        assert_eq!(left(body), count, "{body}");
    }
}
