//! Indices of later threads, which host code reads to ask for what they name
//! (`src/codegen/llvm/prefetch.rs`): that it asks, and that it reads no index beyond the row's.

use kc::abi::{self, ArrayDescriptor, HostStatus, LaunchBounds};
use kc::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, LlvmTarget, Opt, Parts, emit_llvm_ir};
use kc::types::Type;

use crate::harness::*;

/// What `at[i, 1]` names, doubled `DOUBLED` times, is added to what `at[i, 0]` names.
const SCATTERED: &str =
    "kernel @k(%at: array2d(dtype=int32), %x: array(dtype=vec3f), %sums: array(dtype=float32)) rank 1 {
    %i: int32 = thread_index 0
    %zero: int32 = const 0
    %one: int32 = const 1
    %to: int32 = load %at[%i, %zero]
    %from: int32 = load %at[%i, %one]
    %v0: float32 = load %x[%from][1]
    DOUBLED
    %old: float32 = atomic add %sums[%to], %v20
    return
  }";

/// With a thread that is not short.
fn scattered() -> String {
    let doubled = (0..20).map(|n| format!("%v{}: float32 = add %v{n}, %v{n}\n", n + 1));
    SCATTERED.replace("DOUBLED", &doubled.collect::<String>())
}

/// No multiple of any number of lanes, with more vectors than lie in the caches.
const THREADS: usize = 200_077;

fn options(cpu: Cpu) -> HostOptions {
    HostOptions { checked: true, opt: Opt::Full, cpu, atomics: Atomics::Plain }
}

#[test]
fn elements_of_later_threads_are_asked_for() {
    let asked = |text: &str, cpu: Cpu| {
        let module = parse(text);
        let kernel = module.find("k").expect("the kernel is called k");
        let target = LlvmTarget::Host(options(cpu));
        let ir = emit_llvm_ir(&module, &[kernel], target, &Parts::new(0)).unwrap_or_else(|e| panic!("{e}"));
        ir.matches("call void @llvm.prefetch").count()
    };
    // Two accesses of each lane; `tests/suite.rs` has threads that come one by one.
    assert_eq!((asked(&scattered(), Cpu::V1), asked(&scattered(), Cpu::V3)), (8, 16));
    // Several of short threads are under way at once anyway.
    assert_eq!(asked(&SCATTERED.replace("DOUBLED", "").replace("v20", "v0"), Cpu::V3), 0);
    // What lies side by side the processor finds by itself.
    let dense = scattered().replace("%x[%from][1]", "%x[%i][1]").replace("%sums[%to]", "%sums[%i]");
    assert_eq!(asked(&dense, Cpu::V1), 0);
}

/// Memory whose end is followed by a page that nobody may touch.
struct Fenced {
    pages: *mut libc::c_void,
    length: usize,
    data: *mut i32,
}

impl Fenced {
    fn new(values: &[i32]) -> Fenced {
        // SAFETY: new pages, of which all but the last are written to.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let bytes = size_of_val(values);
            let length = bytes.next_multiple_of(page) + page;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(pages.byte_add(length - page), page, libc::PROT_NONE), 0);
            let data = pages.byte_add(length - page - bytes).cast::<i32>();
            data.copy_from_nonoverlapping(values.as_ptr(), values.len());
            Fenced { pages, length, data }
        }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the pages are those of `new`, and nothing refers to them.
        unsafe { libc::munmap(self.pages, self.length) };
    }
}

#[test]
fn no_index_behind_the_row_is_read() {
    let indices: Vec<i32> = (0..2 * THREADS).map(|n| (n * 7919 % THREADS) as i32).collect();
    let at = Fenced::new(&indices);
    let mut x: Vec<f32> = (0..3 * THREADS).map(|n| n as f32).collect();
    let mut expected = vec![0.0f32; THREADS];
    for pair in indices.chunks_exact(2) {
        expected[pair[0] as usize] += x[3 * pair[1] as usize + 1] * (1 << 20) as f32;
    }
    let module = parse(&scattered());
    let kernel = module.find("k").expect("the kernel is called k");
    let array = |data: u64, shape: &[i32], strides: &[i32]| {
        let (mut extents, mut steps) = ([0; 4], [0; 4]);
        extents[..shape.len()].copy_from_slice(shape);
        steps[..strides.len()].copy_from_slice(strides);
        ArrayDescriptor { data, grad: 0, shape: extents, strides: steps, ndim: shape.len() as i32, flags: 0 }
    };
    let n = THREADS as i32;
    for cpu in [Cpu::Native, Cpu::V1] {
        let mut sums = vec![0.0f32; THREADS];
        let args = [
            array(at.data.expose_provenance() as u64, &[n, 2], &[8, 4]),
            array(x.as_mut_ptr().expose_provenance() as u64, &[n], &[12]),
            array(sums.as_mut_ptr().expose_provenance() as u64, &[n], &[4]),
        ];
        let function = &module.functions[kernel];
        let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
        assert_eq!(abi::argument_layout(&types, &module.structs).1.size as usize, size_of_val(&args));
        let host = HostModule::compile(&module, &[kernel], &options(cpu)).unwrap_or_else(|e| panic!("{e}"));
        let launch = LaunchBounds::new(&[THREADS as u32]).unwrap();
        let mut status = new_status();
        // SAFETY: the arguments have the layout that the entry reads, and name memory that lives.
        unsafe { host.entry(kernel).unwrap()(&launch, args.as_ptr().cast(), 0, launch.size, &mut status) };
        assert_eq!(status.kind, HostStatus::OK);
        assert_eq!(sums, expected, "{cpu:?}");
    }
}
