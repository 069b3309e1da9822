//! Loops that keep state, in all shapes, and the store that serves each.

use super::super::Store;
use super::{check_with, differentiated, numbers};
use crate::ir::{Op, Phase, TapeRole};

fn kernel(params: &str, body: &str) -> String {
    let params: Vec<String> = params.split(' ').map(|p| format!("%{p}: array(dtype=float64)")).collect();
    let rank = if body.contains("thread_index 1") { 2 } else { 1 };
    format!(
        "kernel @k({}) rank {rank} {{
           %zero: int32 = const 0
           %c1: int32 = const 1
           %c2: int32 = const 2
           %c5: int32 = const 5
           %one: float64 = const 1
           %half: float64 = const 0.5
           %tenth: float64 = const 0.1
           %i: int32 = thread_index 0
           {body}
           return
         }}",
        params.join(", ")
    )
}

fn check(params: &str, body: &str) -> String {
    let text = kernel(params, body);
    let arrays: Vec<Vec<f64>> = params.split(' ').enumerate().map(|(n, _)| numbers(6, n)).collect();
    check_with(&text, &[3], &arrays);
    text
}

/// The roles of the buffers of the backward entry.
fn tapes(text: &str, store: Store) -> Vec<TapeRole> {
    let (module, _) = differentiated(text, Some(store));
    let entry = module.entry("k", Phase::Backward).unwrap();
    module.functions[entry].tape.iter().map(|tape| tape.role).collect()
}

const NEWTON: &str = "%a: float64 = load %x[%i]
    %r: float64 = while carry %s: float64 = %one {
      %s2: float64 = mul %s, %s
      %d: float64 = sub %s2, %a
      %e: float64 = abs %d
      %small: float64 = const 1e-12
      %more: bool = gt %e, %small
      yield %more
    } do carry %t: float64 {
      %q: float64 = div %a, %t
      %u: float64 = add %t, %q
      %v: float64 = mul %u, %half
      yield %v
    }
    store %y[%i], %r";

#[test]
fn a_while_loop() {
    let text = check("x y", NEWTON);
    assert_eq!(tapes(&text, Store::Tape), [TapeRole::State, TapeRole::Needed]);
    assert_eq!(tapes(&text, Store::Stack), [TapeRole::State, TapeRole::Needed], "no bound for a local array");
    assert_eq!(tapes(&text, Store::Checkpoint), []);
}

#[test]
fn constant_iterations() {
    let text = check(
        "x y",
        "%a: float64 = load %x[%i]
         %r: float64 = for %k: int32 = %zero to %c5 step %c1 carry %s: float64 = %a {
           %p: float64 = mul %s, %a
           %q: float64 = mul %p, %s
           yield %q
         }
         store %y[%i], %r",
    );
    assert_eq!(tapes(&text, Store::Stack), []);
    let (module, _) = differentiated(&text, Some(Store::Unroll));
    let backward = &module.functions[module.entry("k", Phase::Backward).unwrap()];
    let mut loops = 0;
    backward.walk(backward.entry, &mut |_, inst| loops += usize::from(matches!(inst.op, Op::For { .. })));
    assert_eq!(loops, 0);
}

/// A loop whose unrolled code would be too large has another store, even where unrolling was asked
/// for.
#[test]
fn long_loops_are_not_unrolled() {
    let loops = |iterations: u32| {
        let text = kernel(
            "x y",
            &format!(
                "%a: float64 = load %x[%i]
                 %end: int32 = const {iterations}
                 %r: float64 = for %k: int32 = %zero to %end step %c1 carry %s: float64 = %a {{
                   %p: float64 = mul %s, %a
                   %q: float64 = mul %p, %s
                   yield %q
                 }}
                 store %y[%i], %r"
            ),
        );
        let (module, _) = differentiated(&text, Some(Store::Unroll));
        let backward = &module.functions[module.entry("k", Phase::Backward).unwrap()];
        let mut loops = 0;
        backward.walk(backward.entry, &mut |_, inst| loops += usize::from(matches!(inst.op, Op::For { .. })));
        loops
    };
    // Three instructions of 16,384.
    assert_eq!(loops(5461), 0);
    assert!(loops(5462) > 0);
}

#[test]
fn nested_and_sibling_loops_with_run_time_iterations() {
    check(
        "x y n",
        "%a: float64 = load %x[%i]
         %b: float64 = load %y[%i]
         %f: float64 = load %n[%i]
         %eight: float64 = const 8
         %g: float64 = mul %f, %eight
         %end: int32 = cast %g
         %r: float64, %z: float64 = for %k: int32 = %zero to %end step %c1 carry %s: float64 = %a, %w: float64 = %b {
           %m: int32 = add %k, %i
           %s1: float64 = for %j: int32 = %zero to %m step %c2 carry %t: float64 = %s {
             %t1: float64 = mul %t, %w
             %t2: float64 = mul %t1, %tenth
             %t3: float64 = add %t2, %half
             yield %t3
           }
           %w1: float64 = while carry %u: float64 = %s1 {
             %more: bool = gt %u, %half
             yield %more
           } do carry %u1: float64 {
             %u2: float64 = mul %u1, %u1
             %u3: float64 = mul %u2, %tenth
             %u4: float64 = mul %u3, %a
             yield %u4
           }
           %s2: float64 = mul %s1, %b
           yield %s2, %w1
         }
         %all: float64 = mul %r, %z
         store %y[%i], %all",
    );
}

#[test]
fn composites_integers_and_flags_are_state() {
    check(
        "x y",
        "%a: float64 = load %x[%i]
         %v0: vec3d = construct %a, %one, %half
         %flag0: bool = gt %a, %one
         %r: vec3d, %pick: int32, %flag: bool = for %k: int32 = %zero to %c5 step %c1 carry %v: vec3d = %v0, %at: int32 = %i, %f: bool = %flag0 {
           %b: float64 = load %y[%at]
           %w: vec3d = mul %v, %b
           %c: float64 = extract %w[0]
           %d: vec3d = mul %v, %c
           %chosen: vec3d = select %f, %w, %d
           %twice: int32 = mul %at, %c2
           %step: int32 = add %twice, %k
           %next: int32 = rem %step, %c5
           %not: bool = eq %f, %flag0
           yield %chosen, %next, %not
         }
         %s: float64 = extract %r[0]
         %t: float64 = extract %r[1]
         %p: float64 = mul %s, %t
         store %x[%i], %p",
    );
}

#[test]
fn kernels_of_rank_two() {
    let text = kernel(
        "x y",
        "%j: int32 = thread_index 1
         %three: int32 = const 3
         %row: int32 = mul %i, %three
         %n: int32 = add %row, %j
         %a: float64 = load %x[%n]
         %end: int32 = add %n, %c2
         %r: float64 = for %k: int32 = %zero to %end step %c1 carry %s: float64 = %a {
           %p: float64 = mul %s, %a
           %q: float64 = load %y[%n]
           %t: float64 = mul %p, %q
           store %y[%n], %t
           yield %t
         }
         store %x[%n], %r",
    );
    check_with(&text, &[2, 3], &[numbers(6, 1), numbers(6, 2)]);
}

#[test]
fn an_inner_loop_keeps_only_what_its_own_iterations_read() {
    // What comes of %s is read in the next iteration of the outer loop, and not in the inner one.
    let text = check(
        "x y n",
        "%a0: float64 = load %x[%i]
         %b0: float64 = load %y[%i]
         %f: float64 = load %n[%i]
         %eight: float64 = const 8
         %g: float64 = mul %f, %eight
         %end: int32 = cast %g
         %r: float64, %z: float64 = for %k: int32 = %zero to %c5 step %c1 carry %a: float64 = %a0, %b: float64 = %b0 {
           %s1: float64, %t1: float64 = for %j: int32 = %zero to %end step %c1 carry %s: float64 = %a, %t: float64 = %b {
             %m: float64 = mul %a, %tenth
             %t2: float64 = mul %t, %m
             %s2: float64 = add %s, %m
             yield %s2, %t2
           }
           yield %s1, %t1
         }
         %w: float64 = add %r, %z
         store %y[%i], %w",
    );
    let (module, _) = differentiated(&text, Some(Store::Tape));
    let backward = &module.functions[module.entry("k", Phase::Backward).unwrap()];
    let inner = backward.kept.iter().find(|kept| kept.slots.is_none()).unwrap();
    assert_eq!(inner.what, "`t`", "{:?}", backward.kept);
}
