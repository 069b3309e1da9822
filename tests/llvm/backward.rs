//! Backward entries: what they are called, and where the adjoints go.

use kc::codegen::llvm::Opt;
use kc::ir::Phase;
use kc::types::Scalar;

use super::harness::*;

/// y[i] = a * x[i] + y[i]
const SAXPY: &str = "kernel @k(%a: float32, %x: array(dtype=float32), %y: array(dtype=float32), %adj_a: float32, %adj_x: array(dtype=float32), %adj_y: array(dtype=float32)) rank 1 source \"saxpy\" backward {
  %0: bool = is_set %adj_x
  %1: array(dtype=float32) = gradient %x
  %grad_x: array(dtype=float32) = select %0, %adj_x, %1
  %2: bool = is_set %adj_y
  %3: array(dtype=float32) = gradient %y
  %grad_y: array(dtype=float32) = select %2, %adj_y, %3
  %i: int32 = thread_index 0
  %zero: float32 = const 0.0
  %4: bool = is_set %grad_y
  %adj: float32 = if %4 {
    %5: float32 = load %grad_y[%i]
    yield %5
  } else {
    yield %zero
  }
  %6: bool = is_set %grad_x
  if %6 {
    %7: float32 = mul %adj, %a
    %8: float32 = atomic add %grad_x[%i], %7
  }
  return
}";

#[test]
fn absent_adjoints_are_those_behind_the_arrays() {
    let a = || Arg::Value(Scalar::F32, u64::from(3f32.to_bits()));
    let values: Vec<f32> = (0..60).map(|n| n as f32).collect();
    let with_gradient = |arg: Arg| match arg {
        Arg::Array(array) => Arg::Array(array.with_gradient()),
        value => value,
    };
    let zero = || zeros(Scalar::F32, &[60]);
    // Given.
    let run = compare(SAXPY, &[60], &[a(), f32s(&values), zero(), a(), zero(), f32s(&values)]);
    assert_eq!(as_f32(&run.args[4])[59], 3.0 * 59.0);
    // Behind x.
    let x = with_gradient(f32s(&values));
    let run = compare(SAXPY, &[60], &[a(), x.clone(), zero(), a(), null(Scalar::F32), f32s(&values)]);
    let adjoint = array(&run.args[1]).grad.as_ref().map(|grad| grad.scalars()[59]);
    assert_eq!(adjoint, Some(u64::from((3.0f32 * 59.0).to_bits())));
    // Both: the given one counts.
    let run = compare(SAXPY, &[60], &[a(), x, zero(), a(), zero(), f32s(&values)]);
    assert_eq!(as_f32(&run.args[4])[59], 3.0 * 59.0);
    assert_eq!(array(&run.args[1]).grad.as_ref().map(|grad| grad.scalars()[59]), Some(0));
    // Neither: there is nothing to write to.
    compare(SAXPY, &[60], &[a(), f32s(&values), zero(), a(), null(Scalar::F32), null(Scalar::F32)]);
}

#[test]
fn all_entries_of_a_kernel_stand_in_one_module() {
    let forward = "kernel @saxpy(%x: array(dtype=float32)) rank 1 {\n  return\n}\n";
    let module = parse(&format!("{forward}{SAXPY}"));
    let entries: Vec<_> = module.kernels().map(|(id, _)| id).collect();
    let text = assert_ptx(&module, &entries, "sm_90", Opt::Full);
    for phase in [Phase::Forward, Phase::Backward] {
        assert!(text.contains(&format!(".entry saxpy_cuda_kernel_{}(", phase.name())), "{text}");
    }
}
