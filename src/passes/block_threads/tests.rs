//! Where barriers stand, who does what, and what is the same as before.

use super::*;
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;

/// The text of a kernel's form for the threads of a block. `body` has arrays `%x` and `%y` and
/// tiles `%t` and `%u` of 8 numbers.
fn form(body: &str) -> String {
    form_of(8, body)
}

/// The same with tiles of other sizes: `%8` is the number of their elements, `%7` the last one.
fn form_of(size: u32, body: &str) -> String {
    let last = size - 1;
    made(&format!(
        "kernel @k(%x: array(dtype=float32), %y: array(dtype=float32)) rank 1 by_block {{\n\
         %0: int32 = const 0\n%1: int32 = const 1\n%7: int32 = const {last}\n%8: int32 = const {size}\n\
         %t: tile(float32, {size}) = local_array\n%u: tile(float32, {size}) = local_array\n{body}return\n}}\n"
    ))
}

fn made(text: &str) -> String {
    form_for(text, Tensor::NONE)
}

fn form_for(text: &str, tensor: Tensor) -> String {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(verify(&module), Ok(()));
    let kernel = module.find("k").expect("a kernel");
    let made = shared(&module, &[kernel], tensor).expect("a form").into_owned();
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
    assert_eq!((text.matches("= thread_in_block").count(), text.matches("for ").count()), (1, 2), "{text}");
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
fn elements_have_other_threads_where_a_loop_begins_elsewhere() {
    // `for i in range(8): for j in range(FROM, 8): t[j] += t[j]`
    let sweep = |before: &str, from: &str| {
        format!(
            "{LOAD}{before}for %n: int32 = %0 to %8 step %1 {{\nfor %j: int32 = {from} to %8 step %1 {{\n\
             %w: float32 = load %t[%j]\n%s: float32 = add %w, %w\nstore %t[%j], %s\n}}\n}}\n"
        )
    };
    let same = barriers(&form(&sweep("", "%0")));
    let later = barriers(&form(&sweep("", "%n")));
    assert_eq!((same, later), (0, 2), "one in front of the loop, one in it");
    // A value that does not change in the loop says the same each time, but tiles of the block's
    // next task may be others.
    let value = "%e: int32 = extent %x, 0\n";
    let text = form(&sweep(value, "%e"));
    let inside = text.split("for %n").nth(1).map_or(0, barriers);
    assert_eq!(inside, 0, "{text}");
}

#[test]
fn views_are_of_the_memory_that_they_are_of() {
    // `p = z[0]; p[j] = ...; ... = z[j, 0]`: what thread `j` reads is of the thread that has it
    // only where it is `z[0, j]`.
    let count = |from: &str| {
        barriers(&made(&format!(
            "kernel @k(%z: array2d(dtype=float32)) rank 1 by_block {{\n%0: int32 = const 0\n%1: int32 = const 1\n%8: int32 = const 8\n\
             %t: tile(float32, 8) = local_array\n%p: array(dtype=float32) = view %z[%0]\n\
             for %i: int32 = %0 to %8 step %1 {{\n%v: float32 = cast %i\nstore %p[%i], %v\n}}\n\
             for %j: int32 = %0 to %8 step %1 {{\n%w: float32 = load {from}\nstore %t[%j], %w\n}}\n\
             for %k: int32 = %0 to %8 step %1 {{\n%q: float32 = load %t[%k]\n%h: float32 = add %q, %q\nstore %t[%k], %h\n}}\nreturn\n}}\n"
        )))
    };
    assert_eq!((count("%z[%0, %j]"), count("%p[%j]"), count("%z[%j, %0]")), (0, 0, 1));
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

/// As in a pass of a Fourier transform, each iteration sets four elements, whose numbers have the
/// counters as digits.
#[test]
fn digits_of_an_index_are_dealt_out() {
    // `u[q + row * p + n * column] = t[..]` for `n` from 0 to 2, and another element `last` behind
    // the first, for so many `q`.
    let text = |row: u32, column: u32, last: u32, counts: u32| {
        form_of(
            64,
            &format!(
                "{LOAD}%4: int32 = const 4\n%row: int32 = const {row}\n%column: int32 = const {column}\n%last: int32 = const {last}\n\
                 %counts: int32 = const {counts}\n\
                 for %p: int32 = %0 to %4 step %1 {{\nfor %q: int32 = %0 to %counts step %1 {{\n\
                 %r: int32 = mul %p, %row\n%a: int32 = add %q, %r\n%b: int32 = add %a, %column\n%c: int32 = add %b, %column\n\
                 %d: int32 = add %a, %last\n%w: float32 = load %t[%a]\n\
                 store %u[%a], %w\nstore %u[%b], %w\nstore %u[%c], %w\nstore %u[%d], %w\n}}\n}}\n{TURNED}"
            ),
        )
    };
    // The counters are found from the number of an iteration: all are shared.
    let shared = |text: &str| text.contains(" = rem ");
    let pass = text(16, 4, 12, 4);
    assert!(shared(&pass), "{pass}");
    // Elements of a neighbour; of the iterations behind; rows, and counters, that reach into the
    // next ones.
    for other in [text(16, 3, 12, 4), text(16, 4, 16, 4), text(15, 4, 12, 4), text(16, 4, 12, 5)] {
        assert!(!shared(&other), "{other}");
    }
    // Rows may be as long as they are wide, and counters fewer than there is room for.
    for other in [text(12, 4, 8, 4), text(12, 4, 8, 3)] {
        assert!(shared(&other), "{other}");
    }
}

/// As the adjoint of the greatest of each column, each iteration updates an element of a row that
/// it finds, or of the first.
#[test]
fn columns_of_rows_that_are_found_are_dealt_out() {
    let text = |row: u32, other: &str| {
        form_of(
            64,
            &format!(
                "{LOAD}%4: int32 = const 4\n%row: int32 = const {row}\n\
                 for %q: int32 = %0 to %row step %1 {{\n\
                 %found: int32 = for %p: int32 = %0 to %4 step %1 carry %at: int32 = %0 {{\n\
                 %r: int32 = mul %p, %row\n%a: int32 = add %q, %r\n%w: float32 = load %t[%a]\n%l: float32 = load %t[%q]\n\
                 %g: bool = gt %w, %l\n%row_of: int32 = select %g, %p, %at\nyield %row_of\n}}\n\
                 %d: int32 = mul %found, %row\n%c: int32 = add %q, %d\n%e: float32 = load %t[%q]\nstore %u[%c], %e\n\
                 store %u[{other}], %e\n}}\n{TURNED}"
            ),
        )
    };
    let alone = |text: &str| text.contains("if ");
    let found = text(16, "%q");
    assert!(!alone(&found), "{found}");
    // Of a column that is not its own.
    assert!(alone(&text(16, "%found")));
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

/// A product of 16 x 8 x 8 elements with a line of its innermost loop as another one says, by
/// tensor cores of `sm_90`.
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
    made_for(&text, 90)
}

/// The text of a kernel's form by tensor cores of an architecture.
fn made_for(text: &str, arch: u32) -> String {
    form_for(text, Tensor::of_ptx(TensorCores::On, arch))
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

fn tiles(text: &str) -> usize {
    text.matches("= shared_array").count()
}

const TURNED: &str =
    "for %m: int32 = %0 to %8 step %1 {\n%n: int32 = sub %7, %m\n%z: float32 = load %u[%n]\nstore %y[%m], %z\n}\n";

#[test]
fn loops_that_hand_over_elements_are_one() {
    let doubled = |of: &str| {
        format!(
            "{LOAD}for %j: int32 = %0 to %8 step %1 {{\n%k: int32 = sub %7, %j\n%w: float32 = load %t[{of}]\n\
             %s: float32 = add %w, %w\nstore %u[%j], %s\n}}\n{TURNED}"
        )
    };
    let text = form(&doubled("%j"));
    assert_eq!((tiles(&text), text.matches("for ").count()), (1, 2), "{text}");
    let text = form(&doubled("%k"));
    assert_eq!((tiles(&text), text.matches("for ").count()), (2, 3), "{text}");
    // What other threads read, too, stays in memory.
    let both = doubled("%j").replace(
        "%z: float32 = load %u[%n]",
        "%z.1: float32 = load %u[%n]\n%z.2: float32 = load %t[%n]\n%z: float32 = add %z.1, %z.2",
    );
    let text = form(&both);
    assert_eq!((tiles(&text), text.matches("for ").count()), (2, 2), "{text}");
}

#[test]
fn a_tile_takes_the_place_of_the_one_it_is_computed_from() {
    let body = "%a: float32 = load %t[%7]\nfor %j: int32 = %0 to %8 step %1 {\n%w: float32 = load %t[%j]\n\
                %s: float32 = sub %w, %a\nstore %u[%j], %s\n}\n";
    let body = format!("{LOAD}{body}{TURNED}");
    assert_eq!(tiles(&form_of(512, &body)), 1);
    // Not where a barrier more is all that comes of it.
    assert_eq!(tiles(&form_of(8, &body)), 2);
    for (from, to) in [
        // It is read again, read elsewhere, or set before it is read.
        ("%z: float32 = load %u[%n]", "%q: float32 = load %u[%n]\n%r: float32 = load %t[%m]\n%z: float32 = add %q, %r"),
        ("%w: float32 = load %t[%j]", "%k: int32 = sub %7, %j\n%w: float32 = load %t[%k]"),
        ("store %u[%j], %s", "store %u[%0], %s\n%r: float32 = load %t[%j]\nstore %u[%j], %r"),
    ] {
        assert!(body.contains(from), "{from}");
        let text = form_of(512, &body.replacen(from, to, 1));
        assert_eq!(tiles(&text), 2, "{to}: {text}");
    }
}

#[test]
fn what_a_loop_adds_up_is_in_registers() {
    let text = "kernel @k(%x: array2d(dtype=float32), %y: array2d(dtype=float32)) rank 1 by_block {\n\
                %0: int32 = const 0\n%1: int32 = const 1\n%32: int32 = const 32\n%e: int32 = extent %x, 0\n\
                %c: tile(float32, 32, 32) = local_array\n\
                for %n: int32 = %0 to %e step %1 {\n\
                for %i: int32 = %0 to %32 step %1 {\nfor %j: int32 = %0 to %32 step %1 {\n\
                %v: float32 = load %x[%n, %j]\n%s: float32 = load %c[%i, %j]\n%t: float32 = add %s, %v\nstore %c[%i, %j], %t\n}\n}\n\
                for %o: int32 = %0 to %32 step %1 {\nfor %p: int32 = %0 to %32 step %1 {\n\
                %s.2: float32 = load %c[%o, %p]\n%t.2: float32 = add %s.2, %s.2\nstore %c[%o, %p], %t.2\n}\n}\n}\n\
                for %k: int32 = %0 to %32 step %1 {\nfor %l: int32 = %0 to %32 step %1 {\n\
                %z: float32 = load %c[%k, %l]\nstore %y[%k, %l], %z\n}\n}\nreturn\n}\n";
    let kept = made(text);
    assert_eq!((tiles(&kept), kept.matches("= local_array").count()), (0, 1), "{kept}");
    for (from, to) in [
        // Elements of others, few of them, something that is stored twice, or read where it is
        // stored.
        ("load %c[%k, %l]", "load %c[%l, %k]"),
        ("store %c[%i, %j], %t", "store %c[%i, %j], %t\nstore %y[%i, %j], %t"),
        ("load %x[%n, %j]", "load %y[%n, %j]"),
        (
            "%e: int32 = extent %x, 0",
            "%e: int32 = extent %x, 0\n%u: tile(float32, 32, 32) = local_array\nstore %x[%0, %0], %h",
        ),
    ] {
        let other = text.replacen(from, to, 1).replace("%32: int32", "%h: float32 = const 1.5\n%32: int32");
        let kept = made(&other);
        let stays = !other.contains("%u: tile");
        assert_eq!(tiles(&kept), usize::from(stays), "{to}: {kept}");
    }
    let small = made(&text.replace("32, 32)", "16, 16)").replace("const 32", "const 16"));
    assert_eq!(tiles(&small), 1, "{small}");
}

#[test]
fn a_product_adds_to_the_registers_that_it_begins_with() {
    let text = "kernel @k(%x: array2d(dtype=float32), %y: array2d(dtype=float32)) rank 1 by_block {\n\
                %0: int32 = const 0\n%1: int32 = const 1\n%32: int32 = const 32\n%e: int32 = extent %x, 0\n\
                %c: tile(float32, 32, 32) = local_array\n%f: tile(float32, 32, 32) = local_array\n\
                for %n: int32 = %0 to %e step %1 {\n\
                for %g: int32 = %0 to %32 step %1 {\nfor %h: int32 = %0 to %32 step %1 {\n\
                %m: float32 = load %x[%n, %h]\nstore %f[%g, %h], %m\n}\n}\n\
                for %i: int32 = %0 to %32 step %1 {\nfor %k: int32 = %0 to %32 step %1 {\n%a: float32 = load %f[%i, %k]\n\
                for %j: int32 = %0 to %32 step %1 {\n%b: float32 = load %f[%k, %j]\n\
                %s: float32 = load %c[%i, %j]\n%t: float32 = fma %a, %b, %s\nstore %c[%i, %j], %t\n}\n}\n}\n}\n\
                for %q: int32 = %0 to %32 step %1 {\nfor %l: int32 = %0 to %32 step %1 {\n\
                %z: float32 = load %c[%q, %l]\nstore %y[%q, %l], %z\n}\n}\nreturn\n}\n";
    let arrays = |text: &str| (tiles(text), text.matches("= local_array").count());
    let kept = made(text);
    assert_eq!(arrays(&kept), (1, 1), "{kept}");
    // One that begins with zeros, and is added then, has others.
    let apart = text
        .replacen("%n: int32 = %0 to %e step %1 {\n", "%n: int32 = %0 to %e step %1 {\n%d: tile(float32, 32, 32) = local_array\n", 1)
        .replacen("load %c[%i, %j]\n", "load %d[%i, %j]\n", 1)
        .replacen(
            "store %c[%i, %j], %t\n}\n}\n}\n",
            "store %d[%i, %j], %t\n}\n}\n}\nfor %o: int32 = %0 to %32 step %1 {\nfor %p: int32 = %0 to %32 step %1 {\n\
             %v: float32 = load %d[%o, %p]\n%w: float32 = load %c[%o, %p]\n%u: float32 = add %v, %w\nstore %c[%o, %p], %u\n}\n}\n",
            1,
        );
    let kept = made(&apart);
    assert_eq!(arrays(&kept), (1, 2), "{kept}");
}

#[test]
fn a_loop_around_elements_goes_inside() {
    // Each column is summed by a thread of its own, in a register.
    let sum = "for %q: int32 = %0 to %8 step %1 {\nfor %j: int32 = %0 to %8 step %1 {\n%v: float32 = load %x[%q]\n\
               %s: float32 = load %t[%j]\n%a: float32 = add %s, %v\nstore %t[%j], %a\n}\n}\n";
    let text = form(&format!("{sum}{TURNED}").replace("%u[", "%t["));
    assert_eq!((text.matches("carry").count(), text.matches("for ").count()), (1, 3), "{text}");
    // Not where one iteration reads what another thread has set in the one before, or is behind all
    // others.
    for (from, to) in [("load %t[%j]", "load %t[%q]"), ("store %t[%j]", "store %t[%q]")] {
        let text = form(&format!("{}{TURNED}", sum.replacen(from, to, 1)).replace("%u[", "%t["));
        assert_eq!(text.matches("carry").count(), 0, "{to}: {text}");
    }
}

#[test]
fn a_copy_that_stays_the_same_is_not_made() {
    let copy = "for %j: int32 = %0 to %8 step %1 {\n%w: float32 = load %t[%j]\nstore %u[%j], %w\n}\n";
    let read = "%first: float32 = load %t[%0]\nstore %y[%0], %first\n";
    let other = "for %o: int32 = %0 to %8 step %1 {\n%b: float32 = load %x[%0]\nstore %t[%o], %b\n}\n";
    assert_eq!(tiles(&form_of(512, &format!("{LOAD}{copy}{TURNED}{read}"))), 1);
    // Not where one of the two is set before the copy is read for the last time, or the copy is of
    // other elements.
    let twice = format!("{LOAD}{copy}{other}{TURNED}{read}");
    assert_eq!(tiles(&form_of(512, &twice)), 2, "{}", form_of(512, &twice));
    let more = copy.replace("store %u[%j], %w", "%k: int32 = sub %7, %j\nstore %u[%k], %w");
    assert_eq!(tiles(&form_of(512, &format!("{LOAD}{more}{TURNED}{read}"))), 2);
    let set = "for %q: int32 = %0 to %8 step %1 {\n%r: float32 = load %x[%q]\nstore %u[%q], %r\n}\n";
    assert_eq!(tiles(&form_of(512, &format!("{LOAD}{copy}{TURNED}{read}{set}"))), 2);
}

#[test]
fn rows_that_threads_go_along_are_longer() {
    let text = |read: &str| {
        format!(
            "kernel @k(%x: array2d(dtype=float32), %y: array(dtype=float32)) rank 1 by_block {{\n\
             %0: int32 = const 0\n%1: int32 = const 1\n%32: int32 = const 32\n%t: tile(float32, 32, 32) = local_array\n\
             for %r: int32 = %0 to %32 step %1 {{\nfor %c: int32 = %0 to %32 step %1 {{\n\
             %v: float32 = load %x[%r, %c]\nstore %t[%r, %c], %v\n}}\n}}\n\
             for %j: int32 = %0 to %32 step %1 {{\n%z: float32 = zero\n\
             %s: float32 = for %k: int32 = %0 to %32 step %1 carry %a: float32 = %z {{\n\
             %w: float32 = load %t[{read}]\n%b: float32 = add %a, %w\nyield %b\n}}\nstore %y[%j], %s\n}}\nreturn\n}}\n"
        )
    };
    assert!(made(&text("%j, %k")).contains("tile(float32, 32, 36)"));
    // Elements that lie side by side are in different banks.
    assert!(made(&text("%k, %j")).contains("tile(float32, 32, 32)"));
}

#[test]
fn parts_are_copied_an_iteration_ahead() {
    let copy = |tile: &str, rows: u32, array: &str| {
        format!(
            "%{tile}: tile(float16, {rows}, 8) = local_array\nfor %i_{tile}: int32 = %0 to %{rows} step %1 {{\n\
             for %j_{tile}: int32 = %0 to %8 step %1 {{\n%v_{tile}: float16 = load %{array}[%i_{tile}, %j_{tile}]\n\
             store %{tile}[%i_{tile}, %j_{tile}], %v_{tile}\n}}\n}}\n"
        )
    };
    let text = format!(
        "kernel @k(%a: array2d(dtype=float16), %b: array2d(dtype=float16), %y: array(dtype=float32)) rank 1 by_block {{\n\
         %0: int32 = const 0\n%1: int32 = const 1\n%8: int32 = const 8\n%16: int32 = const 16\n%o: float32 = const 1\n\
         %e: int32 = extent %a, 0\n%c: tile(float32, 16, 8) = local_array\nfor %n: int32 = %0 to %e step %1 {{\n{}{}\
         for %i: int32 = %0 to %16 step %1 {{\nfor %l: int32 = %0 to %8 step %1 {{\nfor %j: int32 = %0 to %8 step %1 {{\n\
         %v: float16 = load %t[%i, %l]\n%f: float32 = cast %v\n%w: float16 = load %u[%l, %j]\n%g: float32 = cast %w\n\
         %s: float32 = load %c[%i, %j]\n%m: float32 = fma %f, %g, %s\nstore %c[%i, %j], %m\n}}\n}}\n}}\n}}\n\
         %z: float32 = load %c[%1, %1]\nstore %y[%0], %z\nreturn\n}}\n",
        copy("t", 16, "a"),
        copy("u", 8, "b")
    );
    let copies = |text: &str| made_for(text, 90).matches("copy 16 8, ").count();
    // Before the loop, and for the second and the first set of tiles in it.
    assert_eq!(copies(&text), 3);
    for (from, to) in [
        // What is copied may have been stored in the iteration before, a tile is read behind the
        // loop, or the loop makes larger steps.
        ("%m\n}\n}\n}\n}\n", "%m\n}\n}\n}\nstore %y[%n], %o\n}\n"),
        ("store %y[%0], %z", "%q: float16 = load %t[%1, %1]\n%r: float32 = cast %q\nstore %y[%0], %r"),
        ("for %n: int32 = %0 to %e step %1", "for %n: int32 = %0 to %e step %8"),
    ] {
        assert!(text.contains(from), "{from}");
        let mut other = text.replacen(from, to, 1);
        if to.contains("%q") {
            other = other.replace("%t: tile(float16, 16, 8) = local_array\n", "");
            other = other.replace("%e: int32", "%t: tile(float16, 16, 8) = local_array\n%e: int32");
        }
        assert_eq!(copies(&other), 1, "{to}: {}", made_for(&other, 90));
    }
}

#[test]
fn a_factor_is_in_the_place_of_its_matrix() {
    let text = "kernel @k(%x: array2d(dtype=float32), %y: array2d(dtype=float32)) rank 1 by_block {\n\
                %0: int32 = const 0\n%1: int32 = const 1\n%9: int32 = const 9\n\
                %a: tile(float32, 9, 9) = local_array\n\
                for %r: int32 = %0 to %9 step %1 {\nfor %c: int32 = %0 to %9 step %1 {\n\
                %v: float32 = load %x[%r, %c]\nstore %a[%r, %c], %v\n}\n}\n\
                %f: tile(float32, 9, 9) = local_array\n\
                for %j: int32 = %0 to %9 step %1 {\n\
                %s: float32 = load %a[%j, %j]\n%d: float32 = sqrt %s\nstore %f[%j, %j], %d\n%n: int32 = add %j, %1\n\
                for %i: int32 = %n to %9 step %1 {\n%t: float32 = load %a[%i, %j]\n\
                %m: float32 = for %k: int32 = %0 to %j step %1 carry %o: float32 = %t {\n\
                %p: float32 = load %f[%i, %k]\n%q: float32 = sub %o, %p\nyield %q\n}\n\
                %g: float32 = div %m, %d\nstore %f[%i, %j], %g\n}\n}\n\
                for %u: int32 = %0 to %9 step %1 {\nfor %w: int32 = %0 to %9 step %1 {\n\
                %z: float32 = load %f[%w, %u]\nstore %y[%u, %w], %z\n}\n}\nreturn\n}\n";
    let kept = made(text);
    assert_eq!(tiles(&kept), 1, "{kept}");
    for (from, to) in [
        // The matrix is read elsewhere, or later; elements of the factor are read before they are
        // set, or not set.
        ("%s: float32 = load %a[%j, %j]", "%s: float32 = load %a[%0, %j]"),
        ("%z: float32 = load %f[%w, %u]", "%z: float32 = load %a[%w, %u]"),
        ("%n: int32 = add %j, %1", "%n: int32 = add %j, %0"),
        ("to %j step %1 carry", "to %9 step %1 carry"),
        ("store %f[%i, %j], %g", "store %f[%j, %i], %g"),
    ] {
        assert!(text.contains(from), "{from}");
        let other = made(&text.replacen(from, to, 1));
        assert_eq!(tiles(&other), 2, "{to}: {other}");
    }
}

#[test]
fn loops_that_go_down_are_dealt_out_upward() {
    let text = |range: &str| {
        format!(
            "kernel @k(%y: array(dtype=float32), %n: int32) rank 1 by_block {{\n\
             %0: int32 = const 0\n%1: int32 = const 1\n%m1: int32 = const -1\n%m2: int32 = const -2\n%9: int32 = const 9\n\
             %one: float32 = const 1.0\n%a: tile(float32, 9) = local_array\n\
             for %j: int32 = %0 to %9 step %1 {{\n%last: int32 = sub %j, %1\n\
             for %k: int32 = {range} {{\n%v: float32 = load %a[%k]\n%w: float32 = add %v, %one\nstore %a[%k], %w\n}}\n}}\n\
             for %u: int32 = %0 to %9 step %1 {{\n%z: float32 = load %a[%u]\nstore %y[%u], %z\n}}\nreturn\n}}\n"
        )
    };
    let up = made(&text("%last to %m1 step %m1"));
    assert!(up.contains("for %k: int32 = %0 to %j step %1 {"), "{up}");
    // By two at a time, the ends are others.
    let down = made(&text("%last to %m1 step %m2"));
    assert!(down.contains(" = mul %1, ") && !down.contains("to %j step"), "{down}");
}
