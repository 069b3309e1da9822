//! What is reordered, and what stays because the order or the memory would show.

use super::*;
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;

/// The text of a kernel's form for one thread. `body` has arrays `%x` and `%y` and tiles `%t` of 64
/// and `%u` of 32 numbers.
fn form(body: &str) -> String {
    let head = "kernel @k(%x: array(dtype=float32), %y: array(dtype=float32)) rank 1 by_block {\n\
                %0: int32 = const 0\n%1: int32 = const 1\n%2: int32 = const 2\n%32: int32 = const 32\n%64: int32 = const 64\n\
                %zero: float32 = zero\n%t: tile(float32, 64) = local_array\n%u: tile(float32, 32) = local_array\n\
                for %i: int32 = %0 to %64 step %1 {\n%v: float32 = load %x[%i]\nstore %t[%i], %v\n}\n";
    let module = parse(&format!("{head}{body}return\n}}\n")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify(&module), Ok(()));
    let kernel = module.find("k").expect("a kernel");
    let made = alone(&module, &[kernel]).into_owned();
    assert_eq!(verify(&made), Ok(()), "{}", print(&made));
    print(&made)
}

/// A sum of each chain: of the elements at `index` of the numbers `%row` and `%n`, set by `set`.
fn sums(index: &str, set: &str) -> String {
    format!(
        "for %n: int32 = %0 to %32 step %1 {{\n%s: float32 = for %row: int32 = %0 to %2 step %1 carry %c: float32 = %zero {{\n\
         {index}%e: float32 = load %t[%at]\n%d: float32 = add %c, %e\nyield %d\n}}\n{set}}}\n\
         for %o: int32 = %0 to %32 step %1 {{\n%w: float32 = load %u[%o]\nstore %y[%o], %w\n}}\n"
    )
}

const SIDE_BY_SIDE: &str = "%first: int32 = mul %row, %32\n%at: int32 = add %first, %n\n";

#[test]
fn chains_that_lie_side_by_side_are_computed_together() {
    let text = form(&sums(SIDE_BY_SIDE, "store %u[%n], %s\n"));
    assert!(!text.contains("carry"), "{text}");
    // The sums are tiles, and none of the three is cleared first.
    assert_eq!((text.matches("shared_array").count(), text.matches("local_array").count()), (3, 0), "{text}");
}

#[test]
fn chains_that_lie_one_after_the_other_stay() {
    let apart = "%first: int32 = mul %n, %2\n%at: int32 = add %first, %row\n";
    assert!(form(&sums(apart, "store %u[%n], %s\n")).contains("carry"));
}

#[test]
fn chains_that_read_what_others_set_stay() {
    assert!(form(&sums(SIDE_BY_SIDE, "store %u[%n], %s\nstore %t[%n], %s\n")).contains("carry"));
}

#[test]
fn tiles_that_are_read_before_they_are_set_begin_with_zeros() {
    let text = form("%w: float32 = load %u[%1]\nstore %y[%0], %w\nstore %u[%1], %w\n");
    assert_eq!((text.matches("shared_array").count(), text.matches("local_array").count()), (1, 1), "{text}");
}

/// `c = a @ b` of 6 x 5 and 5 x 8; `c` names the tile that is added to, `at` its index.
fn product(c: &str, at: &str) -> String {
    format!(
        "%5: int32 = const 5\n%6: int32 = const 6\n%8: int32 = const 8\n%a: tile(float32, 8, 8) = local_array\n\
         %b: tile(float32, 8, 8) = local_array\n%c: tile(float32, 8, 8) = local_array\n\
         for %p: int32 = %0 to %6 step %1 {{\nfor %q: int32 = %0 to %5 step %1 {{\n%l: float32 = load %a[%p, %q]\n\
         for %h: int32 = %0 to %8 step %1 {{\n%r: float32 = load %b[%q, %h]\n%s: float32 = load %{c}[{at}]\n\
         %f: float32 = fma %l, %r, %s\nstore %{c}[{at}], %f\n}}\n}}\n}}\n\
         %w: float32 = load %{c}[%1, %1]\nstore %y[%0], %w\n"
    )
}

#[test]
fn products_do_four_rows_and_steps_at_once() {
    let text = form(&product("c", "%p, %h"));
    // 4 rows by 4 steps; 4 by 1; of the other rows 1 by 4 and 1 by 1.
    assert_eq!(text.matches("= fma").count(), 16 + 4 + 4 + 1, "{text}");
    let stores = text.lines().filter(|line| line.trim().starts_with("store %c")).count();
    assert_eq!(stores, 4 + 4 + 1 + 1, "{text}");
}

#[test]
fn products_that_read_what_they_set_stay() {
    for (c, at) in [("b", "%p, %h"), ("a", "%p, %h"), ("c", "%q, %h"), ("c", "%p, %q"), ("c", "%p, %0")] {
        assert_eq!(form(&product(c, at)).matches("= fma").count(), 1, "{c}[{at}]");
    }
}

/// A tile of 64 numbers that is copied from `%x` where all is inside, then `more`, then sums of it
/// from `first` on.
fn copied(more: &str, first: u32) -> String {
    let text = format!(
        "kernel @k(%x: array(dtype=float32), %y: array(dtype=float32)) rank 1 by_block {{\n\
         %0: int32 = const 0\n%1: int32 = const 1\n%2: int32 = const 2\n%32: int32 = const 32\n%64: int32 = const 64\n%f: int32 = const {first}\n\
         %zero: float32 = zero\n%n: int32 = extent %x, 0\n%inside: bool = le %64, %n\n%t: tile(float32, 64) = local_array\n\
         %u: tile(float32, 32) = local_array\n\
         if %inside {{\nfor %i: int32 = %0 to %64 step %1 {{\n%v: float32 = load %x[%i]\nstore %t[%i], %v\n}}\n}} else {{\n\
         for %j: int32 = %0 to %64 step %1 {{\nstore %t[%j], %zero\n}}\n}}\n{more}\
         for %k: int32 = %0 to %32 step %1 {{\n%a: float32 = load %t[%k]\n%at: int32 = add %k, %f\n%b: float32 = load %t[%at]\n\
         %c: float32 = add %a, %b\nstore %u[%k], %c\n}}\n\
         for %o: int32 = %0 to %32 step %1 {{\n%w: float32 = load %u[%o]\nstore %y[%o], %w\n}}\nreturn\n}}\n"
    );
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify(&module), Ok(()));
    let made = alone(&module, &[module.find("k").expect("a kernel")]).into_owned();
    assert_eq!(verify(&made), Ok(()), "{}", print(&made));
    print(&made)
}

#[test]
fn what_is_copied_from_an_array_is_read_there() {
    let loads = |text: &str| ["load %x[", "load %t["].map(|load| text.matches(load).count());
    // Twice where all is inside, and twice where not.
    assert_eq!(loads(&copied("", 32)), [2, 2], "{}", copied("", 32));
    // An element outside of the tile, and an array that is written in between, which may be the
    // same one.
    assert_eq!(loads(&copied("", 33)), [1, 2]);
    assert_eq!(loads(&copied("store %y[%0], %zero\n", 32)), [1, 2]);
}

/// What adds to the adjoints of both factors of a product of matrices of `n` rows and columns;
/// `more` is added to each term.
fn reversed(n: u32, more: &str) -> String {
    let tile = |name: &str| {
        format!(
            "%{name}: tile(float32, {n}, {n}) = local_array\nfor %r_{name}: int32 = %0 to %n step %1 {{\n\
             for %c_{name}: int32 = %0 to %n step %1 {{\n%v_{name}: float32 = load %x[%c_{name}]\n\
             store %{name}[%r_{name}, %c_{name}], %v_{name}\n}}\n}}\n"
        )
    };
    let down = "%last to %end step %end";
    form(&format!(
        "%n: int32 = const {n}\n%last: int32 = const {}\n%end: int32 = const -1\n{}{}{}{}{}\
         for %i.1: int32 = {down} {{\nfor %l: int32 = {down} {{\n%p: float32 = load %a[%i.1, %l]\n\
         %s: float32 = for %j: int32 = {down} carry %so_far: float32 = %zero {{\n\
         %g: float32 = load %r[%i.1, %j]\n%q: float32 = load %b[%l, %j]\n%old: float32 = load %db[%l, %j]\n\
         %first: float32 = mul %g, %p\n%with: float32 = add %old, %first\nstore %db[%l, %j], %with\n\
         %second: float32 = mul %g, %q\n%sum: float32 = add %so_far, %second\n{more}yield %sum\n}}\n\
         %o: float32 = load %da[%i.1, %l]\n%w: float32 = add %o, %s\nstore %da[%i.1, %l], %w\n}}\n}}\n\
         %e: float32 = load %da[%1, %2]\n%f: float32 = load %db[%1, %2]\nstore %y[%0], %e\nstore %y[%1], %f\n",
        n - 1,
        tile("r"),
        tile("a"),
        tile("b"),
        tile("da"),
        tile("db"),
    ))
}

#[test]
fn reversed_products_have_a_nest_for_each_factor() {
    let text = reversed(16, "");
    assert!(!text.contains("carry"), "{text}");
    // Four rows and four terms at once, as in any product.
    assert!(text.matches("mul ").count() >= 32, "{text}");
    // Not small ones, none that do something else, and none whose sums would take more of the stack
    // than tiles may.
    assert!(reversed(200, "").contains("carry"));
    assert!(reversed(4, "").contains("carry"));
    assert!(reversed(16, "store %y[%2], %g\n").contains("carry"));
}

#[test]
fn what_goes_to_many_elements_goes_to_neighbours_first() {
    let spread = |index: &str, set: &str| {
        format!(
            "for %n: int32 = %0 to %32 step %1 {{\n%s: float32 = load %u[%n]\nfor %row: int32 = %0 to %2 step %1 {{\n\
             {index}%e: float32 = load %t[%at]\n%d: float32 = add %e, %s\n{set}}}\n}}\n%w: float32 = load %t[%1]\nstore %y[%0], %w\n"
        )
    };
    // The outer loop only reads then, and what it reads is kept.
    let text = form(&spread(SIDE_BY_SIDE, "store %t[%at], %d\n"));
    assert_eq!(text.matches("for ").count(), 4, "{text}");
    for other in [
        // Elements that lie apart, or are of several iterations, or are what was read, or may count
        // from the end.
        spread(
            "%below: int32 = sub %row, %1\n%first: int32 = mul %below, %32\n%at: int32 = add %first, %n\n",
            "store %t[%at], %d\n",
        ),
        spread("%first: int32 = mul %n, %2\n%at: int32 = add %first, %row\n", "store %t[%at], %d\n"),
        spread("%at: int32 = add %n, %row\n", "store %t[%at], %d\n"),
        spread(SIDE_BY_SIDE, "store %t[%at], %d\nstore %u[%n], %d\n"),
        spread(SIDE_BY_SIDE, "store %t[%at], %d\nstore %y[%at], %d\n"),
    ] {
        let text = form(&other);
        assert_eq!(text.matches("for ").count(), 3, "{text}");
    }
}

/// Sums in a tile, whose inner loop goes over `range`.
fn sums_of_rows(rows: u32, range: &str) -> String {
    form(&format!(
        "%rows: int32 = const {rows}\n\
         for %r: int32 = %0 to %rows step %1 {{\n%s: float32 = for %k: int32 = {range} step %1 carry %c: float32 = %zero {{\n\
         %e: float32 = load %u[%k]\n%d: float32 = add %c, %e\nyield %d\n}}\nstore %u[%r], %s\n}}\n\
         for %o: int32 = %0 to %32 step %1 {{\n%w: float32 = load %u[%o]\nstore %y[%o], %w\n}}\n"
    ))
}

#[test]
fn small_triangles_are_written_out() {
    // 0 + 1 + .. + 4 terms, of which those of the first row and the zeros that sums begin with are
    // none.
    let text = sums_of_rows(5, "%0 to %r");
    assert!(!text.contains("carry"), "{text}");
    assert_eq!(text.matches(": float32 = load %u[").count(), 10 + 1, "{text}");
    let upper = sums_of_rows(5, "%r to %rows");
    assert!(!upper.contains("carry"), "{upper}");
    // What has many terms stays, and rectangles.
    assert!(sums_of_rows(64, "%0 to %r").contains("carry"));
    assert!(sums_of_rows(5, "%0 to %32").contains("carry"));
}

/// `c = a @ b` where `at` is the place in `b` that the innermost loop reads.
fn turned(n: u32, at: &str) -> String {
    form(&format!(
        "%n: int32 = const {n}\n%a: tile(float32, {n}, {n}) = local_array\n%b: tile(float32, {n}, {n}) = local_array\n\
         %c: tile(float32, {n}, {n}) = local_array\n\
         for %p: int32 = %0 to %n step %1 {{\nfor %q: int32 = %0 to %n step %1 {{\n%l: float32 = load %a[%p, %q]\n\
         for %h: int32 = %0 to %n step %1 {{\n%r: float32 = load %b[{at}]\n%s: float32 = load %c[%p, %h]\n\
         %f: float32 = fma %l, %r, %s\nstore %c[%p, %h], %f\n}}\n}}\n}}\n\
         %w: float32 = load %c[%1, %1]\nstore %y[%0], %w\n"
    ))
}

#[test]
fn factors_that_are_read_from_row_to_row_are_turned_first() {
    let text = turned(8, "%h, %q");
    // One load fills the copy; the product reads the copy alone.
    assert_eq!(text.matches("load %b[").count(), 1, "{text}");
    assert_eq!(text.matches("= fma").count(), 16, "{text}");
    for same in [turned(8, "%q, %h"), turned(4, "%h, %q")] {
        assert!(same.matches("load %b[").count() > 1, "{same}");
    }
}
