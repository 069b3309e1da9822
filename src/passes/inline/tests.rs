use super::super::tests::{Generator, behaviour};
use super::{MAX_INSTS, run};
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{FuncId, Module, Op};

/// The module with the last function's calls inlined, verified.
fn inlined(module: &Module, wanted: &dyn Fn(FuncId) -> bool) -> Module {
    let mut module = module.clone();
    let id = module.functions.ids().last().expect("a function");
    let mut function = module.functions[id].clone();
    assert!(run(&mut function, &module, wanted).expect("small"));
    module.functions[id] = function;
    assert_eq!(verify(&module), Ok(()), "{}", print(&module));
    module
}

fn calls(module: &Module) -> usize {
    let mut count = 0;
    let function = module.functions.values().last().expect("a function");
    function.walk(function.entry, &mut |_, inst| count += usize::from(matches!(inst.op, Op::Call(..))));
    count
}

#[test]
fn random_callees_behave_the_same() {
    let mut compared = 0;
    for seed in 0..300 {
        // A random kernel's body as a function that a loop calls. It returns early, loops, prints
        // and stores.
        let text = Generator::program(seed * 15_485_863 + 11);
        let callee = text
            .replace("kernel @k(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) rank 1 {", "")
            .replace("\nreturn\n", "\nreturn %n, %f\n");
        let text = format!(
            "func @callee(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) -> (int32, ref 2 float32) {{\n\
             {callee}\n\
             kernel @k(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) rank 1 {{\n\
             %zero: int32 = const 0\n%one: int32 = const 1\n%two: int32 = const 2\n\
             %s: int32, %h: float32 = for %i: int32 = %zero to %two step %one carry %t: int32 = %zero, %g: float32 = %f {{\n\
             %r: int32, %g1: float32 = call @callee(%in, %out, %g)\n%u: int32 = add %t, %r\nyield %u, %g1\n}}\n\
             print \"%d %g\", %s, %h\nstore %out[%zero], %s\nreturn\n}}"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify(&module), Ok(()), "{text}");
        let after = inlined(&module, &|_| true);
        assert_eq!(calls(&after), 0);
        if let Some(before) = behaviour(&module) {
            assert_eq!(behaviour(&after), Some(before), "seed {seed}\n{text}\n{}", print(&after));
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared} compared");
}

const CHAIN: &str = "\
func @inner(%x: int32) -> (int32) {
  %0: int32 = const 0
  %1: int32 = const 1
  %a: local(int32, 2) = local_array
  %old: int32 = load %a[%0]
  %y: int32 = add %old, %x
  store %a[%0], %y
  return %y
}

func @outer(%p: int32) -> (int32, ref 0 int32) {
  %q: int32 = call @inner(%p)
  %0: int32 = call @inner(%q)
  return %0, %q
}

kernel @k(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) rank 1 {
  %i: int32 = thread_index 0
  %r: int32, %s: int32 = call @outer(%i)
  %t: int32, %u: int32 = call @outer(%s)
  print \"%d %d %d %d\", %r, %s, %t, %u
  return
}
";

#[test]
fn calls_in_callees_and_local_arrays() {
    let module = parse(CHAIN).expect("a module");
    let after = inlined(&module, &|_| true);
    assert_eq!(calls(&after), 0);
    assert_eq!(behaviour(&after), behaviour(&module));
    // Only one of the two.
    let inner = module.find("inner").expect("a function");
    let partly = inlined(&module, &|callee| callee != inner);
    assert_eq!((calls(&partly), behaviour(&partly)), (4, behaviour(&module)));
    // Names of the caller and of the callee.
    let printed = print(&partly);
    assert!(
        printed.contains("%q: int32 = call @inner(%i)") && printed.contains("%r: int32 = call @inner(%q)"),
        "{printed}"
    );
}

#[test]
fn what_doubles_at_every_level_is_refused() {
    let mut text = "func @f0(%x: int32) -> (int32) {\n%y: int32 = add %x, %x\nreturn %y\n}\n".to_string();
    for n in 1..40 {
        let below = n - 1;
        text.push_str(&format!(
            "func @f{n}(%x: int32) -> (int32) {{\n%y: int32 = call @f{below}(%x)\n%z: int32 = call @f{below}(%y)\nreturn %z\n}}\n"
        ));
    }
    let module = parse(&text).expect("a module");
    let mut top = module.functions.values().last().expect("a function").clone();
    assert!(run(&mut top, &module, &|_| true).is_err());
    assert!(top.insts.len() <= MAX_INSTS);
}
