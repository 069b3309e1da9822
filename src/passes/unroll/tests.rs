use super::super::loop_exits;
use super::super::tests::{Generator, behaviour};
use super::{Counted, run};
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{Function, Module, Op};

fn unrolled(module: &Module, wanted: &dyn Fn(&Function, &Counted) -> bool) -> (Module, bool) {
    let mut module = module.clone();
    let mut changed = false;
    for id in module.functions.ids() {
        changed |= run(&mut module.functions[id], wanted);
    }
    assert_eq!(verify(&module), Ok(()), "{}", print(&module));
    (module, changed)
}

/// A random program whose remainders by five, the bounds of its loops among them, are constants.
fn constant_bounds(text: &str) -> String {
    let mut at = 0;
    let mut line = |line: &str| match line.split_once(" = rem ") {
        Some((result, operands)) if operands.ends_with(", %five") => {
            at += 1;
            format!("{result} = const {}\n", [0, 3, 1, 4, -2, -1, -3, 4, -1][at % 9])
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(&mut line).collect()
}

#[test]
fn random_programs_behave_the_same() {
    let (mut compared, mut changed) = (0, 0);
    for seed in 0..1000 {
        let mut module = parse(&constant_bounds(&Generator::program(seed * 32_452_843 + 5))).expect("a module");
        for id in module.functions.ids() {
            loop_exits::run(&mut module.functions[id]);
        }
        let (after, any) = unrolled(&module, &|_, counted| counted.iterations * (counted.size as u64) < 500);
        if !any {
            continue;
        }
        changed += 1;
        if let Some(before) = behaviour(&module) {
            assert_eq!(behaviour(&after), Some(before), "seed {seed}\n{}\n{}", print(&module), print(&after));
            compared += 1;
        }
    }
    assert!(compared > 100 && changed > 300, "{compared} compared, {changed} changed");
}

#[test]
fn nested_loops_and_the_predicate() {
    let text = "\
kernel @k(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) rank 1 {
  %t: int32 = thread_index 0
  %c0: int32 = const 0
  %c2: int32 = const 2
  %c7: int32 = const 7
  %s: int32 = for %i: int32 = %c0 to %c7 step %c2 carry %a: int32 = %t {
    %u: int32 = for %j: int32 = %c7 to %c0 step %m carry %b: int32 = %a {
      %v: int32 = mul %b, %c7
      %w: int32 = add %v, %j
      %x: int32 = sub %w, %i
      yield %x
    }
    yield %u
  }
  store %out[%t], %s
  return
}
"
    .replace("  %c7: int32 = const 7\n", "  %c7: int32 = const 7\n  %m: int32 = const -3\n");
    let module = parse(&text).expect("a module");
    let loops = |m: &Module| {
        let mut count = 0;
        let f = m.functions.values().next().expect("a kernel");
        f.walk(f.entry, &mut |_, inst| count += u32::from(matches!(inst.op, Op::For { .. })));
        count
    };
    let (all, _) = unrolled(&module, &|_, _| true);
    assert_eq!((loops(&all), behaviour(&all)), (0, behaviour(&module)));
    // 3 iterations inside, 4 outside.
    let (inner, _) = unrolled(&module, &|_, counted| counted.iterations == 3);
    assert_eq!((loops(&inner), behaviour(&inner)), (1, behaviour(&module)));
    // The outer one counts its body as it is by then.
    let (sized, _) = unrolled(&module, &|_, counted| counted.size < 10);
    assert_eq!(loops(&sized), 1);
}

#[test]
fn a_loop_that_breaks_stays() {
    let text = "\
func @f(%a: int32) -> (int32) {
  %0: int32 = const 0
  %1: int32 = const 1
  %3: int32 = const 3
  %s: int32 = for %i: int32 = %0 to %3 step %1 carry %b: int32 = %0 {
    %c: bool = lt %a, %i
    if %c {
      break %i
    }
    yield %b
  }
  return %s
}
";
    let module = parse(text).expect("a module");
    let (after, changed) = unrolled(&module, &|_, _| true);
    assert!(!changed);
    assert_eq!(print(&after), print(&module));
}
