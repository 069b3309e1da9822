//! Determinism, and limits that are refused before LLVM sees them.

use kc::codegen::llvm::{HostModule, Opt, Parts, emit_object, emit_ptx};

use crate::harness::*;

const PRINTING: &str = "kernel @k(%x: array(dtype=float32)) rank 1 {
    %i: int32 = thread_index 0
    %v: float32 = load %x[%i]
    print \"%f\\n\", %v
    return
  }";

#[test]
fn ptx_text_does_not_depend_on_what_was_compiled_before() {
    let module = parse(PRINTING);
    let kernels: Vec<_> = module.kernels().map(|(id, _)| id).collect();
    let emit = || emit_ptx(&module, &kernels, &ptx_options("sm_90", Opt::Full), &Parts::new(0)).unwrap();
    let (first, second) = (emit(), emit());
    assert_eq!(first, second);
    assert!(first.contains("vprintf"));
}

#[test]
fn objects_hold_the_entries() {
    let module = parse(PRINTING);
    let kernels: Vec<_> = module.kernels().map(|(id, _)| id).collect();
    for options in HOST_OPTIONS {
        let object = emit_object(&module, &kernels, &options, &[], true, None).unwrap().bytes;
        assert_eq!(&object[..4], b"\x7fELF");
        let name = b"k_cpu_kernel_forward\0";
        assert!(object.windows(name.len()).any(|w| w == name));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let large = "kernel @k(%o: array(dtype=float32)) rank 1 {
        %i: int32 = thread_index 0
        %l: local(float32, 100000) = local_array
        %v: float32 = load %l[%i]
        store %o[%i], %v
        return
      }";
    let module = parse(large);
    let kernel = module.find("k").unwrap();
    let error = HostModule::compile(&module, &[kernel], &CHECKED).err().unwrap();
    assert_eq!(error.code, kc::diag::Code::E0802);
    // Four calls of a function with 80,000 bytes.
    let calls = "func @f(%i: int32) -> (float32) {
        %l: local(float32, 20000) = local_array
        %v: float32 = load %l[%i]
        return %v
      }
      kernel @k(%o: array(dtype=float32)) rank 1 {
        %i: int32 = thread_index 0
        %a: float32 = call @f(%i)
        %b: float32 = call @f(%i)
        %c: float32 = call @f(%i)
        %d: float32 = call @f(%i)
        return
      }";
    let module = parse(calls);
    let kernel = module.find("k").unwrap();
    assert_eq!(emit_object(&module, &[kernel], &CHECKED, &[], true, None).unwrap_err().code, kc::diag::Code::E0802);
    // 56 bytes for each array, and 24 for the launch.
    let ptx = |arrays: usize, arch: &str| {
        let params: Vec<String> = (0..arrays).map(|n| format!("%a{n}: array(dtype=float32)")).collect();
        let module = parse(&format!("kernel @k({}) rank 1 {{\nreturn\n}}", params.join(", ")));
        let kernel = module.find("k").unwrap();
        emit_ptx(&module, &[kernel], &ptx_options(arch, Opt::Full), &Parts::new(0))
    };
    assert_eq!(ptx(585, "sm_90").unwrap_err().code, kc::diag::Code::E0803);
    // More than 4096 bytes take the version of PTX that has room for them.
    for (arrays, arch, version) in [
        (72, "sm_75", "6.5"),
        (73, "sm_75", "8.1"),
        (72, "sm_90", "7.8"),
        (584, "sm_90", "8.1"),
        (584, "sm_120", "8.7"),
    ] {
        let text = ptx(arrays, arch).unwrap();
        assert!(text.contains(&format!(".version {version}\n")), "{arrays} arrays for {arch}: {text:.200}");
    }
}
