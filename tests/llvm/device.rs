//! What only device code has: atomics that a warp does together, wide accesses, unrolled loops.
//! What they compute is not run here: only a GPU can.

use kc::codegen::llvm::{ArrayLayout, Grid, Opt, Parts, PtxOptions, emit_ptx};

use crate::common;
use crate::harness::*;

/// The PTX of a kernel with this body, in which `%i` is the thread, `%v` its number of type `t`,
/// and `%k` an argument.
fn ptx(t: &str, body: &str) -> String {
    let vector = if t == "float64" { "vec3d" } else { "vec3f" };
    let text = format!(
        "kernel @k(%x: array(dtype={t}), %o: array2d(dtype={t}), %p: array(dtype={vector}), %k: int32) rank 1 {{
            %i: int32 = thread_index 0
            %c0: int32 = const 0
            %c1: int32 = const 1
            %c9: int32 = const 9
            %v: {t} = load %x[%i]
            {body}
            return
          }}"
    );
    let module = parse(&text);
    let kernels = [module.find("k").unwrap()];
    for arch in common::ARCHITECTURES {
        assert_ptx(&module, &kernels, arch, Opt::Lean);
    }
    assert_ptx(&module, &kernels, "sm_90", Opt::Full)
}

#[test]
fn floats_for_one_place_are_summed_by_shuffles_first() {
    let body = "%j: int32 = add %k, %c1
        %n: int32 = extent %o, 0
        %r: float32 = atomic add %o[%j, %n], %v
        %w: float32 = load %o[%c0, %c1]
        store %x[%i], %w";
    let text = ptx("float32", body);
    assert_eq!(text.matches("activemask").count(), 1, "{text}");
    assert_eq!(text.matches("shfl.sync.down").count(), 5, "{text}");
    assert_eq!(text.matches("atom.global.add.f32").count(), 1, "{text}");
    assert!(text.contains("%laneid"), "{text}");
}

#[test]
fn a_block_brings_one_sum_to_the_place() {
    let last = "%w: float32 = mul %v, %v
        store %x[%i], %w
        %r: float32 = atomic add %o[%k, %c1], %w";
    let text = ptx("float32", last);
    // Each warp sums by shuffles, the first one sums what they bring, and one thread adds it.
    assert_eq!(text.matches("bar.sync").count(), 1, "{text}");
    assert!(text.matches("shfl.sync").count() >= 10, "{text}");
    assert!(!text.contains("atom.shared") && !text.contains(".cas."), "{text}");
    assert_eq!(text.matches("atom.global.add.f32").count(), 1, "{text}");
    // Its thread may look at what it has added, or change it.
    let looked_at = "%r: float32 = atomic add %o[%k, %c1], %v
        %w: float32 = load %o[%c0, %c1]
        store %x[%i], %w";
    let overwritten = "%r: float32 = atomic add %o[%k, %c1], %v
        store %o[%c0, %c1], %v";
    let in_a_loop = "for %j: int32 = %c0 to %k step %c1 {
          %w: float32 = load %x[%j]
          %r: float32 = atomic add %o[%k, %c1], %w
          yield
        }";
    for body in [looked_at, overwritten, in_a_loop] {
        let text = ptx("float32", body);
        assert!(
            text.contains("activemask") && !text.contains("bar.sync") && !text.contains("shared"),
            "{body}\n{text}"
        );
    }
}

#[test]
fn what_was_read_is_cleared_once_it_has_come() {
    let tests = |between: &str| {
        let body = format!("{between}\n%z: float32 = const 0.0\nstore %x[%i], %z\nstore %o[%c0, %i], %v");
        ptx("float32", &body).matches("setp").count()
    };
    let other = tests("store %x[%i], %v");
    // One question more than where something else was stored meanwhile.
    assert_eq!(tests(""), other + 1);
}

#[test]
fn every_component_and_double_precision_too() {
    let body = "%w: vec3d = construct %v, %v, %v
        %r: vec3d = atomic sub %p[%c0], %w
        %q: float64 = atomic max %x[%c1], %v";
    let text = ptx("float64", body);
    assert_eq!(text.matches("activemask").count(), 2, "{text}");
    // Two halves of 3 components and of 1, over 5 distances: equal components are shuffled once.
    assert!(text.matches("shfl.sync.down").count() >= 20, "{text}");
    assert_eq!(text.matches("atom.global.add.f64").count(), 3, "{text}");
}

#[test]
fn halves_are_summed_before_they_try_to_swap() {
    for t in ["float16", "bfloat16"] {
        let text = ptx(t, &format!("%r: {t} = atomic add %x[%c0], %v"));
        assert_eq!(text.matches("activemask").count(), 1, "{text}");
        assert_eq!(text.matches("shfl.sync.down").count(), 5, "{text}");
    }
}

#[test]
fn threads_ask_whether_the_place_is_the_same_where_that_is_only_likely() {
    let of_memory = "%m: float32 = load %x[%c0]
        %l: int32 = cast %m
        %r: float32 = atomic add %x[%l], %v";
    let of_turn = "for %j: int32 = %c0 to %k step %c1 {
          %u: float32 = load %x[%j]
          %w: float32 = mul %u, %v
          %r: float32 = atomic add %x[%j], %w
          yield
        }";
    for body in [of_memory, of_turn] {
        let text = ptx("float32", body);
        let count = |what: &str| text.matches(what).count();
        assert!(count("activemask") > 0, "{text}");
        assert_eq!(count("vote.sync.ballot"), count("activemask"), "{text}");
        assert_eq!(count("shfl.sync.idx"), 2 * count("activemask"), "{text}");
        assert_eq!(count("shfl.sync.down"), 5 * count("activemask"), "{text}");
    }
}

#[test]
fn where_the_place_or_the_old_value_is_the_threads_own_each_adds_alone() {
    let of_thread = "%r: float32 = atomic add %o[%c0, %i], %v";
    let of_turn_and_thread = "for %j: int32 = %c0 to %c9 step %c1 {
          %l: int32 = add %i, %j
          %r: float32 = atomic add %x[%l], %v
          yield
        }";
    let old = "%r: float32 = atomic add %o[%c0, %c1], %v
        store %x[%i], %r";
    let swap = "%r: float32 = atomic exchange %o[%c0, %c1], %v";
    for body in [of_thread, of_turn_and_thread, old, swap] {
        let text = ptx("float32", body);
        assert!(!text.contains("activemask") && !text.contains("shfl"), "{body}\n{text}");
    }
    // The assembler adds integers up by itself.
    assert!(!ptx("int32", "%r: int32 = atomic add %x[%c0], %v").contains("shfl"));
}

/// The PTX of a kernel for dense arrays and covering grids.
fn dense(text: &str) -> String {
    let module = parse(text);
    let options =
        |arch| PtxOptions { layout: ArrayLayout::Contiguous, grid: Grid::Covering, ..ptx_options(arch, Opt::Full) };
    let emit = |arch| emit_ptx(&module, &[module.find("k").unwrap()], &options(arch), &Parts::new(0)).unwrap();
    for arch in common::ARCHITECTURES {
        common::assert_ptx(&emit(arch), arch);
    }
    emit("sm_90")
}

#[test]
fn composites_of_dense_arrays_move_at_once_where_they_are_aligned() {
    let copy = |t: &str| {
        format!(
            "kernel @k(%x: array2d(dtype={t}), %y: array(dtype={t})) rank 2 {{
                %i: int32 = thread_index 0
                %j: int32 = thread_index 1
                %v: {t} = load %x[%i, %j]
                store %y[%j], %v
                return
              }}"
        )
    };
    for (t, load, store) in [
        ("vec2f", "ld.global.v2.b32", "st.global.v2.b32"),
        ("vec4f", "ld.global.v4.b32", "st.global.v4.b32"),
        ("vec2d", "ld.global.v2.b64", "st.global.v2.b64"),
        ("quatf", "ld.global.v4.b32", "st.global.v4.b32"),
        ("mat44f", "ld.global.v4.b32", "st.global.v4.b32"),
    ] {
        let text = dense(&copy(t));
        assert!(text.contains(load) && text.contains(store), "{t}: {text}");
        // Any alignment will do where any strides do.
        let module = parse(&copy(t));
        let any = assert_ptx(&module, &[module.find("k").unwrap()], "sm_90", Opt::Full);
        assert!(!any.contains("global.v"), "{t}: {any}");
    }
    let text = dense(&copy("vec3f"));
    assert!(!text.contains("global.v"), "{text}");
    // Six scalars: each pair lies at a multiple of 8 bytes, but no four at one of 16.
    let text = dense(&copy("mat(2, 3, float32)"));
    assert!(text.contains("ld.global.v2.b32") && !text.contains("global.v4"), "{text}");
}

#[test]
fn views_and_gradients_of_dense_arrays_are_aligned_and_arrays_from_memory_are_not() {
    let text = dense(
        "kernel @k(%x: array2d(dtype=vec4f), %y: array(dtype=vec4f)) rank 1 {
            %i: int32 = thread_index 0
            %g: array2d(dtype=vec4f) = gradient %x
            %row: array(dtype=vec4f) = view %g[%i]
            %v: vec4f = load %row[%i]
            store %y[%i], %v
            return
          }",
    );
    assert!(text.contains("ld.global.v4.b32") && text.contains("st.global.v4.b32"), "{text}");
    let text = dense(
        "struct S {
            a: array(dtype=vec4f)
          }
         kernel @k(%x: array(dtype=S), %y: array(dtype=vec4f)) rank 1 {
            %i: int32 = thread_index 0
            %s: S = load %x[%i]
            %a: array(dtype=vec4f) = extract %s[0]
            %v: vec4f = load %a[%i]
            store %y[%i], %v
            return
          }",
    );
    assert!(!text.contains("ld.global.v4.b32") && text.contains("st.global.v4.b32"), "{text}");
}

#[test]
fn small_loops_that_only_read_do_four_turns_at_once() {
    let text = dense(
        "kernel @k(%x: array(dtype=float32), %n: int32, %y: array(dtype=float32)) rank 1 {
                %i: int32 = thread_index 0
                %c0: int32 = const 0
                %c1: int32 = const 1
                %z: float32 = const 0.0
                %s: float32 = for %k: int32 = %c0 to %n step %c1 carry %t: float32 = %z {
                  %v: float32 = load %x[%k]
                  %u: float32 = add %t, %v
                  yield %u
                }
                store %y[%i], %s
                return
              }",
    );
    // Four turns and one, for what is left.
    assert_eq!(text.matches("ld.global").count(), 5);
}

#[test]
fn local_arrays_are_zeroed_in_wide_stores() {
    for length in [4, 50, 500] {
        let body = format!(
            "%l: local(float32, {length}) = local_array
            store %l[%k], %v
            %r: float32 = load %l[%c1]
            store %x[%i], %r"
        );
        let text = ptx("float32", &body);
        assert!(text.contains("st.local.b64") && !text.contains(".b8 \t["), "{text}");
        assert!(text.lines().count() < 200, "{text}");
    }
}

#[test]
fn an_index_that_a_condition_bounds_is_not_wrapped() {
    // The extent that a negative index has added: the sign picks it.
    let wraps = |body: &str| {
        let text = ptx("float32", body);
        text.contains("shr.s32") || text.contains("selp")
    };
    let with = |condition: &str, index: &str| {
        format!(
            "%c: bool = {condition}\nif %c {{\n%j: int32 = {index}\n%w: float32 = load %x[%j]\nstore %x[%i], %w\n}}"
        )
    };
    for (condition, index) in
        [("gt %i, %c0", "sub %i, %c1"), ("ne %i, %c0", "sub %i, %c1"), ("ge %k, %c9", "sub %k, %c9")]
    {
        assert!(!wraps(&with(condition, index)), "{condition}, {index}");
    }
    for (condition, index) in
        [("ge %i, %c0", "sub %i, %c1"), ("gt %k, %c0", "sub %k, %c9"), ("lt %k, %c9", "sub %c9, %i")]
    {
        assert!(wraps(&with(condition, index)), "{condition}, {index}");
    }
    // Sums and products that overflow name no element, in a callee as well; what is left of a
    // division by them may.
    let rows = |index: &str| {
        format!("%n: int32 = extent %o, 0\n%m: int32 = mul %i, %n\n%j: int32 = {index}\nstore %x[%j], %v")
    };
    assert!(!wraps(&rows("add %m, %c9")));
    assert!(wraps(&rows("rem %m, %c9")));
}
