//! Where barriers stand, who does what, and what is the same as before.

use super::*;
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;

/// The text of a kernel's form for the threads of a block. `body` has arrays `%x` and `%y` and tiles `%t` and `%u` of 8 numbers.
fn form(body: &str) -> String {
    let head = "kernel @k(%x: array(dtype=float32), %y: array(dtype=float32)) rank 1 by_block {\n\
                %0: int32 = const 0\n%1: int32 = const 1\n%7: int32 = const 7\n%8: int32 = const 8\n\
                %t: tile(float32, 8) = local_array\n%u: tile(float32, 8) = local_array\n";
    let module = parse(&format!("{head}{body}return\n}}\n")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify(&module), Ok(()));
    let kernel = module.find("k").expect("a kernel");
    let made = shared(&module, &[kernel], Tensor::NONE).expect("a form").into_owned();
    assert_eq!(verify(&made), Ok(()), "{}", print(&made));
    print(&made)
}

fn barriers(text: &str) -> usize {
    text.lines().filter(|line| line.trim() == "barrier").count()
}

const LOAD: &str = "for %i: int32 = %0 to %8 step %1 {\n%v: float32 = load %x[%i]\nstore %t[%i], %v\n}\n";

#[test]
fn loops_over_elements_are_dealt_out() {
    let text = form(&format!(
        "{LOAD}for %j: int32 = %0 to %8 step %1 {{\n%w: float32 = load %t[%j]\n%s: float32 = add %w, %w\nstore %y[%j], %s\n}}\n"
    ));
    assert_eq!((text.matches("= lane").count(), text.matches("for ").count()), (1, 2), "{text}");
    assert!(text.contains("shared_array") && !text.contains("local_array"), "{text}");
    // Each thread reads what it has set; that arrays may overlap takes a barrier.
    assert_eq!(barriers(&text), 1, "{text}");
}

#[test]
fn elements_of_other_threads_are_waited_for() {
    let turned =
        "for %j: int32 = %0 to %8 step %1 {\n%k: int32 = sub %7, %j\n%w: float32 = load %t[%k]\nstore %u[%j], %w\n}\n";
    let own = "for %j: int32 = %0 to %8 step %1 {\n%w: float32 = load %t[%j]\nstore %u[%j], %w\n}\n";
    // One before the blocks' next task writes the tile, where another thread may still read it.
    assert_eq!(barriers(&form(&format!("{LOAD}{turned}"))), 2);
    assert_eq!(barriers(&form(&format!("{LOAD}{own}"))), 0);
}

#[test]
fn what_depends_on_the_element_before_is_for_one_thread() {
    let running =
        "for %j: int32 = %1 to %8 step %1 {\n%k: int32 = sub %j, %1\n%w: float32 = load %t[%k]\nstore %t[%j], %w\n}\n";
    let text = form(&format!("{LOAD}{running}"));
    let alone = text.split("barrier").last().expect("text behind the last barrier");
    assert!(alone.contains("if ") && alone.contains("to %"), "{text}");
    assert!(barriers(&text) >= 1, "{text}");
}

#[test]
fn sums_are_those_of_every_thread() {
    let sum = "%z: float32 = zero\n%s: float32 = for %j: int32 = %0 to %8 step %1 carry %a: float32 = %z {\n\
               %w: float32 = load %t[%j]\n%b: float32 = add %a, %w\nyield %b\n}\nstore %y[%0], %s\n";
    let text = form(&format!("{LOAD}{sum}"));
    // One thread stores it.
    assert_eq!((text.matches("carry").count(), text.matches("if ").count()), (1, 1), "{text}");
    // Before the sum is taken, before `%y` is written, which may be `%x`, and before the next task.
    assert!((1..=3).contains(&barriers(&text)), "{text}");
}

#[test]
fn a_kernel_without_tiles_stays() {
    let module = parse("kernel @k(%x: array(dtype=float32)) rank 1 {\nreturn\n}\n").expect("it parses");
    assert!(matches!(shared(&module, &[FuncId(0)], Tensor::NONE), Ok(Cow::Borrowed(_))));
}

/// A product of 16 x 8 x 8 elements with a line of its innermost loop as another one says, by tensor cores of `sm_90`.
fn product(from: &str, to: &str) -> String {
    let body = "%v: float16 = load %a[%i, %l]\n%f: float32 = cast %v\n%w: float16 = load %b[%l, %j]\n%g: float32 = cast %w\n\
                %s: float32 = load %c[%i, %j]\n%t: float32 = fma %f, %g, %s\nstore %c[%i, %j], %t\n";
    assert!(body.contains(from), "{from}");
    let text = format!(
        "kernel @k(%x: array(dtype=float32)) rank 1 by_block {{\n%0: int32 = const 0\n%1: int32 = const 1\n%8: int32 = const 8\n%16: int32 = const 16\n\
         %a: tile(float16, 16, 8) = local_array\n%b: tile(float16, 8, 8) = local_array\n%c: tile(float32, 16, 8) = local_array\n\
         for %i: int32 = %0 to %16 step %1 {{\nfor %l: int32 = %0 to %8 step %1 {{\nfor %j: int32 = %0 to %8 step %1 {{\n{}}}\n}}\n}}\n\
         %z: float32 = load %c[%1, %1]\nstore %x[%0], %z\nreturn\n}}\n",
        body.replacen(from, to, 1)
    );
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(verify(&module), Ok(()));
    let tensor = Tensor { cores: TensorCores::On, arch: 90 };
    let made = shared(&module, &[module.find("k").expect("a kernel")], tensor).expect("a form").into_owned();
    assert_eq!(verify(&made), Ok(()), "{}", print(&made));
    print(&made)
}

#[test]
fn products_of_matrices_are_found() {
    // Nothing is added to before: the zeros of the tile are not needed.
    let whole = product("", "");
    assert!(whole.contains("product set f16 16 8 8, ") && !whole.contains("fma"), "{whole}");
    let swapped = product("fma %f, %g, %s", "fma %g, %f, %s");
    assert!(swapped.contains("product set f16 16 8 8, "), "{swapped}");
    for (from, to) in [
        // Other elements, other tiles, other sums, and more than that.
        ("load %b[%l, %j]", "load %b[%l, %1]"),
        ("load %b[%l, %j]", "load %b[%j, %j]"),
        ("load %b[%l, %j]", "load %a[%i, %j]"),
        ("%s: float32 = load %c[%i, %j]", "%s: float32 = load %c[%i, %l]"),
        ("fma %f, %g, %s", "fma %f, %s, %g"),
        ("fma %f, %g, %s", "fma %f, %f, %s"),
        ("fma %f, %g, %s", "sub %f, %s"),
        ("store %c[%i, %j], %t", "store %c[%i, %j], %t\nstore %x[%j], %t"),
        ("store %c[%i, %j], %t", "store %c[%j, %l], %t"),
    ] {
        let other = product(from, to);
        assert!(!other.contains("product"), "{from} -> {to}: {other}");
    }
}
