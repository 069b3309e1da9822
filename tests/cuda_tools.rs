//! The tools that other tests rely on really check: they accept good code and refuse bad code.

mod common;

const GOOD: &str = r#"
extern "C" __global__ void k(float *x) { printf("%d\n", (int)threadIdx.x); assert(x != nullptr); x[threadIdx.x] = 1.0f; }
"#;

#[test]
fn nvrtc_and_ptxas_accept_good_code_and_refuse_bad() {
    for arch in common::ARCHITECTURES {
        let ptx = common::assert_cuda(GOOD, arch);
        common::assert_ptx(&ptx, arch);
    }
    let log = common::compile_cuda("__global__ void k() { undeclared(); }", "sm_75").unwrap_err();
    assert!(log.contains("undeclared"), "{log}");
    let log = common::assemble_ptx(".version 8.0\n.target sm_75\n.address_size 64\nnonsense", "sm_75").unwrap_err();
    assert!(log.contains("yntax error"), "{log}");
}

#[test]
fn nvrtc_has_no_include_path() {
    assert!(common::compile_cuda("#include <cuda_fp16.h>\n", "sm_75").is_err());
}
