use super::super::tests::{Generator, behaviour};
use super::super::{loop_exits, simplify};
use super::{Kept, run};
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{Module, Op};

/// The module without local arrays where that can be, verified.
fn promoted(module: &Module) -> (Module, Vec<Kept>) {
    let mut module = module.clone();
    let mut kept = Vec::new();
    for id in module.functions.ids() {
        kept.extend(run(&mut module.functions[id], &module.structs, 100));
    }
    assert_eq!(verify(&module), Ok(()), "{}", print(&module));
    (module, kept)
}

/// Local arrays of every form: type, index of loads, index of stores, with `I` for the index of the
/// program.
const FORMS: [(&str, &str, &str); 8] = [
    ("local(int32, 5)", "[I]", "[I]"),
    ("local(int32, 3, 2)", "[I, %n]", "[%n, I]"),
    ("local(int32, 2, 1, 3)", "[%c1, %z, I]", "[I, %z, %n]"),
    ("local(vec2i, 4)", "[I][1]", "[%n][I]"),
    ("local(mat22i, 3)", "[I][1][0]", "[I][%n][0]"),
    ("local(mat22i, 2, 2)", "[I, %c1][%n][0]", "[%n, %c1][1][I]"),
    ("local(S, 3)", "[I].a", "[I].b[%n]"),
    ("local(S, 3)", "[%n].b[I]", "[I].c.a"),
];

/// A random program in which a local array represents the one that is read and for half of the one
/// that is written.
fn with_local(text: &str, form: (&str, &str, &str)) -> String {
    let (ty, load, store) = form;
    let mut out = "struct T {\n  a: int32\n}\n\nstruct S {\n  a: int32\n  b: vec2i\n  c: T\n}\n\n".to_string();
    let mut stores = 0;
    for line in text.lines() {
        let index = |line: &str| line.split(['[', ']']).nth(1).unwrap_or("").to_string();
        if line.contains(" = load %in[") {
            let (result, _) = line.split_once('=').expect("a load has a result");
            out.push_str(&format!("{result}= load %loc{}\n", load.replace('I', &index(line))));
        } else if line.starts_with("store %out[") && stores % 4 != 3 {
            stores += 1;
            let (_, value) = line.split_once("], ").expect("a store has a value");
            out.push_str(&format!("store %loc{}, {value}\n", store.replace('I', &index(line))));
        } else {
            stores += u32::from(line.starts_with("store"));
            out.push_str(&format!("{line}\n"));
        }
        if line.starts_with("%w: vec2i") {
            out.push_str(&format!("%loc: {ty} = local_array\n%c1: int32 = const -1\n%z: int32 = zero\n"));
        }
    }
    // All of the array goes out at the end.
    let end = out.rfind("return\n").expect("a program returns");
    let five = format!("%q: int32 = load %loc{}\nprint \"%d\", %q\n", load.replace('I', "%z"));
    out.insert_str(end, &five);
    out
}

#[test]
fn random_programs_behave_the_same() {
    let mut compared = 0;
    for seed in 0..800 {
        let text = with_local(&Generator::program(seed * 49_979_687 + 7), FORMS[seed as usize % FORMS.len()]);
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify(&module), Ok(()), "{text}");
        if seed % 2 == 0 {
            for id in module.functions.ids() {
                loop_exits::run(&mut module.functions[id]);
            }
        }
        let (mut after, kept) = promoted(&module);
        assert_eq!(kept, []);
        assert!(!print(&after).contains("local_array"));
        if let Some(before) = behaviour(&module) {
            assert_eq!(behaviour(&after), Some(before.clone()), "seed {seed}\n{text}\n{}", print(&after));
            simplify(&mut after);
            assert_eq!(behaviour(&after), Some(before), "seed {seed}, simplified\n{text}\n{}", print(&after));
            compared += 1;
        }
    }
    assert!(compared > 250, "{compared} compared");
}

fn kernel(body: &str) -> Module {
    let text = format!(
        "struct R {{\n  m: mat22f\n  q: quatf\n  t: transformf\n}}\n\n\
         kernel @k(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) rank 1 {{
         %i: int32 = thread_index 0\n%c0: int32 = const 0\n%c1: int32 = const 1\n%c3: int32 = const 3\n{body}\nreturn\n}}"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&module), Ok(()), "{text}");
    module
}

#[test]
fn whole_elements_are_put_together() {
    let module = kernel(
        "%a: local(R, 3) = local_array
        %m: mat22f = construct %f, %g, %g, %f
        %g: float32 = cast %i
        %q: quatf = construct %g, %f, %f, %g
        %t: transformf = construct %f, %g, %f, %g, %g, %f, %g
        %r: R = construct %m, %q, %t
        store %a[%i], %r
        store %a[%c1].q, %q
        store %a[%c1].m[%i][%c0], %f
        store %a[%c1].m[0], %v
        store %a[%c3], %r
        %b: R = load %a[%c1]
        store %a[%c0], %b
        %n: mat22f = load %a[%c0].m
        %o: transformf = load %a[%c0].t
        %s: quatf = load %a[%i].q
        %x0: float32 = extract %n[0][1]
        %x1: float32 = extract %n[1][0]
        %x2: float32 = extract %o[0][%i]
        %x3: float32 = extract %o[1][3]
        %x4: float32 = extract %s[%i]
        %x5: float32 = load %a[%i].t[1][%i]
        %x6: float32 = atomic max %a[%c0].q[1], %g
        %x7: float32 = atomic exchange %a[%c0].q[1], %f
        %x8: float32 = load %a[%c0].q[1]
        %e: int32 = extent %a, 0
        print \"%g %g %g %g %g %g %g %g %g %d\", %x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %e"
            .replace(
                "%m: mat22f = construct %f, %g, %g, %f\n        %g: float32 = cast %i",
                "%g: float32 = cast %i\n%m: mat22f = construct %f, %g, %g, %f\n%v: vec2f = construct %g, %g",
            )
            .as_str(),
    );
    let (after, kept) = promoted(&module);
    assert_eq!(kept, []);
    assert!(!print(&after).contains("local_array"));
    assert_eq!(behaviour(&after), behaviour(&module), "{}", print(&after));
}

#[test]
fn an_array_of_a_loop_starts_at_zero_each_iteration() {
    let module = kernel(
        "%s: int32 = for %j: int32 = %c0 to %c3 step %c1 carry %t: int32 = %c0 {
          %a: local(int32, 4) = local_array
          %u: int32 = for %k: int32 = %c0 to %c3 step %c1 carry %v: int32 = %t {
            %x: int32 = load %a[%j]
            %y: int32 = add %x, %k
            store %a[%j], %y
            %w: int32 = add %v, %y
            yield %w
          }
          yield %u
        }
        store %out[%i], %s",
    );
    let (after, kept) = promoted(&module);
    assert_eq!(kept, []);
    assert_eq!(behaviour(&after), behaviour(&module), "{}", print(&after));
    // The outer loop does not carry it.
    let mut carried = Vec::new();
    let f = after.functions.values().next().expect("a kernel");
    f.walk(f.entry, &mut |_, inst| {
        if let Op::For { init, .. } = &inst.op {
            carried.push(init.len());
        }
    });
    assert_eq!(carried, [1, 2]);
}

#[test]
fn what_needs_a_place_stays_with_a_reason() {
    let reasons = |body: &str| {
        let (after, kept) = promoted(&kernel(body));
        assert!(print(&after).contains("local_array"));
        kept.into_iter().map(|kept| kept.reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons("%a: local(int32, 101) = local_array"), ["too large to be kept in values"]);
    let chosen = "%a: local(int32, 2) = local_array\n%b: local(int32, 2) = local_array\n%c: bool = lt %i, %c3\n\
                  %d: local(int32, 2) = select %c, %a, %b\n%x: int32 = load %d[%c0]";
    assert_eq!(reasons(chosen), ["one of several that are chosen from at run time"; 2]);
    let condition = "%a: local(int32, 2) = local_array\nwhile {\n%x: int32 = load %a[%c0]\n%y: int32 = add %x, %c1\n\
                     store %a[%c0], %y\n%c: bool = lt %y, %c3\nyield %c\n} do {\nyield\n}";
    assert_eq!(reasons(condition), ["changed in the condition of a loop"]);
    let cas = "%a: local(int32, 2) = local_array\n%x: int32 = atomic_cas %a[%c0], %c1, %c3";
    assert_eq!(reasons(cas), ["changed by an atomic operation"]);
}
