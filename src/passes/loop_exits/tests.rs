use super::super::simplify;
use super::super::tests::{Generator, behaviour};
use super::{is_single_exit, run};
use crate::ir::Module;
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;

/// The module in single-exit form, verified.
fn single_exit(module: &Module) -> Module {
    let mut module = module.clone();
    for id in module.functions.ids() {
        run(&mut module.functions[id]);
        assert!(is_single_exit(&module.functions[id]), "{}", print(&module));
    }
    assert_eq!(verify(&module), Ok(()), "{}", print(&module));
    module
}

/// A device function before and after, simplified.
fn form(text: &str) -> String {
    let mut module = single_exit(&parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")));
    simplify(&mut module);
    print(&module)
}

#[test]
fn random_programs_behave_the_same() {
    let (mut compared, mut changed, mut longest) = (0, 0, 0.0f64);
    for seed in 0..1000 {
        let text = Generator::program(seed * 104_729 + 3);
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut after = single_exit(&module);
        changed += u32::from(print(&after) != print(&module));
        longest = longest.max(print(&after).len() as f64 / text.len() as f64);
        if let Some(before) = behaviour(&module) {
            assert_eq!(behaviour(&after), Some(before.clone()), "seed {seed}\n{text}\n{}", print(&after));
            simplify(&mut after);
            assert_eq!(behaviour(&after), Some(before), "seed {seed}, simplified\n{text}\n{}", print(&after));
            compared += 1;
        }
    }
    assert!(compared > 350 && changed > 300, "{compared} compared, {changed} changed");
    assert!(longest < 6.0, "{longest}");
}

#[test]
fn a_function_without_early_exits_stays() {
    let text = "\
func @f(%a: int32) -> (int32) {
  %0: int32 = const 1
  %s: int32 = for %i: int32 = %0 to %a step %0 carry %s.1: int32 = %0 {
    %s.2: int32 = add %s.1, %i
    yield %s.2
  }
  return %s
}
";
    let mut module = parse(text).expect("a module");
    let id = module.functions.ids().next().expect("a function");
    let values = module.functions[id].values.len();
    assert!(!run(&mut module.functions[id]));
    assert_eq!((print(&module), module.functions[id].values.len()), (text.to_string(), values));
}

#[test]
fn a_guard_becomes_the_other_branch() {
    let text = "\
func @f(%a: int32, %b: int32) -> (int32) {
  %0: bool = lt %a, %b
  if %0 {
    return %a
  }
  %1: int32 = add %a, %b
  return %1
}
";
    let expected = "\
func @f(%a: int32, %b: int32) -> (int32) {
  %0: bool = lt %a, %b
  %1: int32 = if %0 {
    yield %a
  } else {
    %2: int32 = add %a, %b
    yield %2
  }
  return %1
}
";
    assert_eq!(form(text), expected);
}

#[test]
fn a_break_ends_a_long_loop_and_skips_in_a_short_one() {
    let text = |end: &str| {
        format!(
            "func @f(%n: int32, %b: int32) -> (int32) {{
  %0: int32 = const 0
  %1: int32 = const 1
  %k: int32 = {end}
  %s: int32 = for %i: int32 = %0 to %k step %1 carry %s.1: int32 = %0 {{
    %2: bool = eq %i, %b
    if %2 {{
      break %s.1
    }}
    %s.2: int32 = add %s.1, %i
    yield %s.2
  }}
  return %s
}}
"
        )
    };
    let long = form(&text("add %n, %n"));
    assert!(long.contains("while carry %i: int32") && !long.contains(" for "), "{long}");
    let short = form(&text("const 7"));
    assert!(short.contains("for %i: int32") && !short.contains("while"), "{short}");
}

#[test]
fn many_guards_copy_nothing() {
    let mut text = "func @f(%a: int32) -> (int32) {\n%z: int32 = const 0\n".to_string();
    for n in 0..200 {
        text.push_str(&format!(
            "%c{n}: int32 = const {n}\n%b{n}: bool = eq %a, %c{n}\nif %b{n} {{\nreturn %c{n}\n}}\n"
        ));
    }
    text.push_str("return %z\n}\n");
    let module = parse(&text).expect("a module");
    let insts = |m: &Module| m.functions.values().next().map_or(0, |f| f.insts.len());
    let after = single_exit(&module);
    assert!(insts(&after) < 2 * insts(&module), "{}", insts(&after));
}

/// Bounds that lie at the ends of the counter's type.
#[test]
fn counters_stop_at_the_end_of_their_type() {
    for (start, end, step) in
        [(125, 127, 2), (127, -128, -100), (-128, 127, 0), (-128, 127, 127), (100, -100, -128), (3, 9, 4), (9, 3, -1)]
    {
        // The bounds come from memory, so that nothing is known of them; and the step known, too.
        for step_text in ["sub %step0, %zero".to_string(), format!("const {step}")] {
            let text = format!(
                "kernel @k(%in: array(dtype=int32), %out: array(dtype=int32), %f: float32) rank 1 {{
                %t: int32 = thread_index 0\n%c0: int32 = const 0\n%c1: int32 = const 1
                %x: int32 = load %in[%c0]\n%three: int32 = const 3\n%zero32: int32 = sub %x, %three
                %zero: int8 = cast %zero32
                %start0: int8 = const {start}\n%end0: int8 = const {end}\n%step0: int8 = const {step}
                %start: int8 = sub %start0, %zero\n%end: int8 = sub %end0, %zero\n%step: int8 = {step_text}
                %n: int32 = for %i: int8 = %start to %end step %step carry %m: int32 = %c0 {{
                  %stop: bool = eq %m, %t
                  if %stop {{
                    break %m
                  }}
                  %m1: int32 = add %m, %c1
                  print \"%d\", %i
                  yield %m1
                }}
                store %out[%t], %n
                return
                }}"
            );
            let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let after = single_exit(&module);
            let before = behaviour(&module);
            assert!(before.is_some() && print(&after).contains("while"));
            assert_eq!(behaviour(&after), before, "{start} {end} {step}\n{}", print(&after));
        }
    }
}
