//! Which atomics does a warp do together? What a whole warp computes is not run here: only a GPU can.

use kc::codegen::llvm::Opt;

use crate::common;
use crate::harness::*;

/// The PTX of a kernel with this body, in which `%i` is the thread, `%v` its number of type `t`, and `%k` an argument.
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
        %r: float32 = atomic add %o[%j, %n], %v";
    let text = ptx("float32", body);
    assert_eq!(text.matches("activemask").count(), 1, "{text}");
    assert_eq!(text.matches("shfl.sync.down").count(), 5, "{text}");
    assert_eq!(text.matches("atom.global.add.f32").count(), 1, "{text}");
    assert!(text.contains("%laneid"), "{text}");
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
fn where_the_place_or_the_old_value_is_the_threads_own_each_adds_alone() {
    let of_thread = "%r: float32 = atomic add %o[%c0, %i], %v";
    let of_memory = "%m: float32 = load %x[%c0]
        %l: int32 = cast %m
        %r: float32 = atomic add %x[%l], %v";
    let of_turn = "for %j: int32 = %c0 to %c9 step %c1 {
          %r: float32 = atomic add %x[%j], %v
          yield
        }";
    let old = "%r: float32 = atomic add %o[%c0, %c1], %v
        store %x[%i], %r";
    let swap = "%r: float32 = atomic exchange %o[%c0, %c1], %v";
    for body in [of_thread, of_memory, of_turn, old, swap] {
        let text = ptx("float32", body);
        assert!(!text.contains("activemask") && !text.contains("shfl"), "{body}\n{text}");
    }
    // The assembler adds integers up by itself.
    assert!(!ptx("int32", "%r: int32 = atomic add %x[%c0], %v").contains("shfl"));
}
