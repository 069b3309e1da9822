//! The simulated CUDA driver as a program calls it: what it gives, and what it says to calls that
//! are wrong. Nothing of a client may end the process.

#[path = "common/gpu.rs"]
mod gpu;

use std::ffi::{CString, c_int, c_uint, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;

/// Adds 1 to each of `n` integers.
const ADD: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .global .align 4 .u32 step = 1;
.visible .entry add(.param .u64 x, .param .u32 n)
{
.reg .pred %p<2>;
.reg .b32 %r<8>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [x];
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
setp.ge.u32 %p1, %r5, %r1;
@%p1 bra DONE;
mul.wide.u32 %rd2, %r5, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r6, [%rd3];
ld.global.u32 %r7, [step];
add.u32 %r6, %r6, %r7;
st.global.u32 [%rd3], %r6;
DONE:
ret;
}
";

struct Cuda(Library);

macro_rules! call {
    ($cuda:expr, $name:literal $(, $arg:expr => $ty:ty)*) => {{
        // SAFETY: the types are those of cuda.h.
        let f: libloading::Symbol<unsafe extern "C" fn($($ty),*) -> c_int> =
            unsafe { $cuda.0.get($name.as_bytes()) }.unwrap_or_else(|error| panic!("{}: {error}", $name));
        // SAFETY: pointers are null or lead to what the function takes.
        unsafe { f($($arg),*) }
    }};
}

const INVALID_VALUE: c_int = 1;
const OUT_OF_MEMORY: c_int = 2;
const INVALID_DEVICE: c_int = 101;
const INVALID_IMAGE: c_int = 200;
const NO_BINARY: c_int = 209;
const INVALID_PTX: c_int = 218;
const INVALID_HANDLE: c_int = 400;
const NOT_FOUND: c_int = 500;
const ILLEGAL_ADDRESS: c_int = 700;

/// The driver, in one context; tests take turns, as an error of a kernel stays.
fn with_cuda(test: impl FnOnce(&Cuda)) {
    static CUDA: OnceLock<Mutex<Cuda>> = OnceLock::new();
    let cuda = CUDA.get_or_init(|| {
        // SAFETY: no test has begun; the driver reads its settings when it starts.
        unsafe { std::env::set_var("KC_SIM_MEMORY", "64M") };
        // SAFETY: the library only prepares its tables.
        let library = unsafe { Library::new(gpu::library()) }.expect("the library loads");
        let cuda = Cuda(library);
        assert_eq!(call!(cuda, "cuInit", 0 => c_uint), 0);
        Mutex::new(cuda)
    });
    let cuda = cuda.lock().unwrap_or_else(PoisonError::into_inner);
    let mut context = 0u64;
    assert_eq!(call!(cuda, "cuDevicePrimaryCtxRetain", &mut context => &mut u64, 0 => c_int), 0);
    assert_eq!(call!(cuda, "cuCtxSetCurrent", context => u64), 0);
    test(&cuda);
    assert_eq!(call!(cuda, "cuDevicePrimaryCtxReset_v2", 0 => c_int), 0);
}

impl Cuda {
    fn allocate(&self, bytes: usize) -> u64 {
        let mut address = 0;
        assert_eq!(call!(self, "cuMemAlloc_v2", &mut address => &mut u64, bytes => usize), 0);
        address
    }

    fn load(&self, ptx: &str) -> (u64, c_int) {
        let (text, mut module) = (CString::new(ptx).expect("a text"), 0);
        let status = call!(self, "cuModuleLoadData", &mut module => &mut u64, text.as_ptr().cast() => *const c_void);
        (module, status)
    }

    fn function(&self, module: u64, name: &str) -> (u64, c_int) {
        let (name, mut function) = (CString::new(name).expect("a name"), 0);
        let status =
            call!(self, "cuModuleGetFunction", &mut function => &mut u64, module => u64, name.as_ptr() => *const i8);
        (function, status)
    }

    /// Launches `add` on some blocks of 32 threads.
    /// One thread, cooperatively.
    fn launch_together(&self, function: u64, x: u64, stream: u64) -> c_int {
        let mut n = 1u32;
        let mut x = x;
        let params: [*mut c_void; 2] = [(&raw mut x).cast(), (&raw mut n).cast()];
        call!(self, "cuLaunchCooperativeKernel", function => u64, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint,
            1 => c_uint, 1 => c_uint, 0 => c_uint, stream => u64, params.as_ptr() => *const *mut c_void)
    }

    fn launch(&self, function: u64, blocks: c_uint, x: u64, n: u32, stream: u64) -> c_int {
        let params: [*const c_void; 2] = [(&raw const x).cast(), (&raw const n).cast()];
        call!(self, "cuLaunchKernel", function => u64, blocks => c_uint, 1 => c_uint, 1 => c_uint, 32 => c_uint, 1 => c_uint,
            1 => c_uint, 0 => c_uint, stream => u64, params.as_ptr() => *const *const c_void, std::ptr::null() => *const c_void)
    }

    fn write(&self, to: u64, values: &[u32]) -> c_int {
        call!(self, "cuMemcpyHtoD_v2", to => u64, values.as_ptr() => *const u32, 4 * values.len() => usize)
    }

    fn read(&self, from: u64, count: usize) -> Vec<u32> {
        let mut values = vec![0; count];
        let status = call!(self, "cuMemcpyDtoH_v2", values.as_mut_ptr() => *mut u32, from => u64, 4 * count => usize);
        assert_eq!(status, 0);
        values
    }
}

#[test]
fn a_kernel_runs() {
    with_cuda(|cuda| {
        let x = cuda.allocate(400);
        let values: Vec<u32> = (0..100).collect();
        assert_eq!(cuda.write(x, &values), 0);
        let (module, status) = cuda.load(ADD);
        assert_eq!(status, 0);
        let (add, status) = cuda.function(module, "add");
        assert_eq!(status, 0);
        assert_eq!(cuda.launch(add, 4, x, 100, 0), 0);
        assert_eq!(cuda.read(x, 100), (1..101).collect::<Vec<u32>>());
        // A variable of the module is there for the host, and for later launches.
        let (mut step, mut bytes) = (0u64, 0usize);
        let status = call!(cuda, "cuModuleGetGlobal_v2", &mut step => &mut u64, &mut bytes => &mut usize, module => u64, c"step".as_ptr() => *const i8);
        assert_eq!((status, bytes), (0, 4));
        assert_eq!(cuda.write(step, &[10]), 0);
        assert_eq!(cuda.launch(add, 4, x, 100, 0), 0);
        assert_eq!(cuda.read(x, 2), [11, 12]);
        // Parameters as one block.
        let mut block = [0u8; 12];
        block[..8].copy_from_slice(&x.to_le_bytes());
        block[8..].copy_from_slice(&1u32.to_le_bytes());
        let size = block.len();
        let extra: [usize; 5] = [1, block.as_ptr().expose_provenance(), 2, (&raw const size).expose_provenance(), 0];
        let status = call!(cuda, "cuLaunchKernel", add => u64, 1 => c_uint, 1 => c_uint, 1 => c_uint, 32 => c_uint, 1 => c_uint, 1 => c_uint,
            0 => c_uint, 0 => u64, std::ptr::null() => *const c_void, extra.as_ptr() => *const usize);
        assert_eq!(status, 0);
        assert_eq!(cuda.read(x, 2), [21, 12]);
    });
}

#[test]
fn devices_are_those_that_were_asked_for() {
    with_cuda(|cuda| {
        let (mut count, mut major, mut multiprocessors) = (0, 0, 0);
        assert_eq!(call!(cuda, "cuDeviceGetCount", &mut count => &mut c_int), 0);
        assert_eq!(count, 1);
        assert_eq!(call!(cuda, "cuDeviceGetAttribute", &mut major => &mut c_int, 75 => c_int, 0 => c_int), 0);
        assert_eq!(call!(cuda, "cuDeviceGetAttribute", &mut multiprocessors => &mut c_int, 16 => c_int, 0 => c_int), 0);
        assert_eq!((major, multiprocessors), (9, 132));
        let mut device = 0;
        assert_eq!(call!(cuda, "cuDeviceGet", &mut device => &mut c_int, 1 => c_int), INVALID_DEVICE);
        assert_eq!(call!(cuda, "cuDeviceGetCount", std::ptr::null_mut() => *mut c_int), INVALID_VALUE);
        let mut bytes = 0usize;
        assert_eq!(call!(cuda, "cuDeviceTotalMem_v2", &mut bytes => &mut usize, 0 => c_int), 0);
        assert_eq!(bytes, 64 << 20);
    });
}

#[test]
fn memory_is_looked_at_by_copies_and_fills() {
    with_cuda(|cuda| {
        let x = cuda.allocate(64);
        let values = [7u32; 17];
        assert_eq!(cuda.write(x, &values[..16]), 0);
        assert_eq!(cuda.write(x, &values), INVALID_VALUE, "beyond the end");
        assert_eq!(cuda.write(x + 64, &values[..1]), INVALID_VALUE, "beside it");
        assert_eq!(call!(cuda, "cuMemsetD32_v2", x => u64, 9 => c_uint, 16 => usize), 0);
        assert_eq!(cuda.read(x, 16), [9; 16]);
        assert_eq!(call!(cuda, "cuMemsetD32_v2", x + 2 => u64, 9 => c_uint, 1 => usize), INVALID_VALUE);
        assert_eq!(call!(cuda, "cuMemFree_v2", x => u64), 0);
        assert_eq!(call!(cuda, "cuMemFree_v2", x => u64), INVALID_VALUE, "a second time");
        assert_eq!(cuda.write(x, &values[..1]), INVALID_VALUE, "after it was given back");
        assert_eq!(call!(cuda, "cuMemFree_v2", 0 => u64), 0);
        assert_eq!(call!(cuda, "cuMemFree_v2", 4096 => u64), INVALID_VALUE);
        let mut address = 0;
        assert_eq!(call!(cuda, "cuMemAlloc_v2", &mut address => &mut u64, 0 => usize), INVALID_VALUE);
        assert_eq!(call!(cuda, "cuMemAlloc_v2", &mut address => &mut u64, 65 << 20 => usize), OUT_OF_MEMORY);
        assert_eq!(call!(cuda, "cuMemAlloc_v2", &mut address => &mut u64, usize::MAX => usize), OUT_OF_MEMORY);
    });
}

#[test]
fn memory_of_the_host_is_reached_by_both() {
    with_cuda(|cuda| {
        let (module, _) = cuda.load(ADD);
        let (add, _) = cuda.function(module, "add");
        let mut pinned = 0u64;
        assert_eq!(call!(cuda, "cuMemHostAlloc", &mut pinned => &mut u64, 128 => usize, 2 => c_uint), 0);
        let host: *mut u32 = std::ptr::with_exposed_provenance_mut(pinned as usize);
        // SAFETY: 128 bytes are there.
        unsafe { std::slice::from_raw_parts_mut(host, 32) }.fill(5);
        let mut device = 0u64;
        assert_eq!(call!(cuda, "cuMemHostGetDevicePointer_v2", &mut device => &mut u64, pinned => u64, 0 => c_uint), 0);
        assert_eq!(cuda.launch(add, 1, device, 32, 0), 0);
        // SAFETY: as above.
        assert_eq!(unsafe { host.add(31).read() }, 6);
        let (mut kind, mut owner, local) = (0, 0, 0u32);
        assert_eq!(call!(cuda, "cuPointerGetAttribute", &mut kind => &mut c_int, 2 => c_int, pinned => u64), 0);
        assert_eq!(kind, 1, "CU_MEMORYTYPE_HOST");
        assert_eq!(
            call!(cuda, "cuPointerGetAttribute", &mut owner => &mut c_int, 9 => c_int, (&raw const local).expose_provenance() as u64 => u64),
            INVALID_VALUE
        );
        assert_eq!(call!(cuda, "cuMemFreeHost", pinned => u64), 0);
        // Memory that the client had already.
        let mut own = vec![1u32; 32];
        let start = own.as_mut_ptr().expose_provenance() as u64;
        assert_eq!(call!(cuda, "cuMemHostRegister_v2", start => u64, 128 => usize, 2 => c_uint), 0);
        assert_eq!(call!(cuda, "cuMemHostRegister_v2", start + 4 => u64, 4 => usize, 2 => c_uint), 712);
        assert_eq!(call!(cuda, "cuMemHostGetDevicePointer_v2", &mut device => &mut u64, start => u64, 0 => c_uint), 0);
        assert_eq!(cuda.launch(add, 1, device, 32, 0), 0);
        assert_eq!(own, [2; 32]);
        assert_eq!(call!(cuda, "cuMemHostUnregister", start => u64), 0);
        assert_eq!(call!(cuda, "cuMemHostUnregister", start => u64), 713);
    });
}

#[test]
fn wrong_handles_and_launches_are_told_apart() {
    with_cuda(|cuda| {
        let (module, _) = cuda.load(ADD);
        let (add, _) = cuda.function(module, "add");
        let x = cuda.allocate(128);
        assert_eq!(cuda.write(x, &[0; 32]), 0);
        assert_eq!(cuda.function(module, "sub").1, NOT_FOUND);
        assert_eq!(cuda.function(17, "add").1, INVALID_HANDLE);
        assert_eq!(cuda.launch(0, 1, x, 32, 0), INVALID_HANDLE);
        assert_eq!(cuda.launch(x, 1, x, 32, 0), INVALID_HANDLE);
        assert_eq!(cuda.launch(add, 0, x, 32, 0), INVALID_VALUE);
        assert_eq!(cuda.launch(add, 1, x, 32, 12345), INVALID_HANDLE);
        let launch = |block: c_uint, shared: c_uint| {
            call!(cuda, "cuLaunchKernel", add => u64, 1 => c_uint, 1 => c_uint, 1 => c_uint, block => c_uint, 1 => c_uint, 1 => c_uint,
                shared => c_uint, 0 => u64, std::ptr::null() => *const c_void, std::ptr::null() => *const c_void)
        };
        assert_eq!(
            (launch(32, 0), launch(2048, 0), launch(32, 100_000)),
            (INVALID_VALUE, INVALID_VALUE, INVALID_VALUE)
        );
        assert_eq!(call!(cuda, "cuModuleUnload", module => u64), 0);
        assert_eq!(call!(cuda, "cuModuleUnload", module => u64), INVALID_HANDLE);
        assert_eq!(cuda.launch(add, 1, x, 32, 0), INVALID_HANDLE, "its module is gone");
        assert_eq!(cuda.load("no PTX").1, INVALID_IMAGE);
        assert_eq!(cuda.load(".version 7.8\n.target sm_80\n.address_size 64\n.entry k( {").1, INVALID_PTX);
        assert_eq!(cuda.load(&ADD.replace("sm_80", "sm_100")).1, NO_BINARY);
        assert_eq!(cuda.load("\u{7f}ELF and so on").1, NO_BINARY);
        assert_eq!(call!(cuda, "cuCtxSetCurrent", 99 => u64), 201);
    });
}

#[test]
fn an_error_of_a_kernel_stays() {
    with_cuda(|cuda| {
        let (module, _) = cuda.load(ADD);
        let (add, _) = cuda.function(module, "add");
        let x = cuda.allocate(128);
        assert_eq!(cuda.write(x, &[0; 32]), 0);
        assert_eq!(cuda.launch(add, 2, x, 64, 0), ILLEGAL_ADDRESS);
        assert_eq!(call!(cuda, "cuCtxSynchronize"), ILLEGAL_ADDRESS);
        assert_eq!(cuda.launch(add, 1, x, 32, 0), ILLEGAL_ADDRESS);
        let mut address = 0;
        assert_eq!(call!(cuda, "cuMemAlloc_v2", &mut address => &mut u64, 4 => usize), ILLEGAL_ADDRESS);
        let mut text = std::ptr::null();
        assert_eq!(call!(cuda, "cuGetErrorName", ILLEGAL_ADDRESS => c_int, &mut text => &mut *const i8), 0);
        // SAFETY: the driver gave a text.
        assert_eq!(unsafe { std::ffi::CStr::from_ptr(text) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    });
    // The context that was reset works.
    with_cuda(|cuda| assert_eq!(call!(cuda, "cuCtxSynchronize"), 0));
}

#[test]
fn a_captured_stream_runs_when_its_graph_is_launched() {
    with_cuda(|cuda| {
        let (module, _) = cuda.load(ADD);
        let (add, _) = cuda.function(module, "add");
        let x = cuda.allocate(128);
        assert_eq!(cuda.write(x, &[0; 32]), 0);
        let (mut stream, mut graph, mut instance, mut count) = (0u64, 0u64, 0u64, 0usize);
        assert_eq!(call!(cuda, "cuStreamCreate", &mut stream => &mut u64, 1 => c_uint), 0);
        assert_eq!(call!(cuda, "cuStreamBeginCapture_v2", stream => u64, 0 => c_int), 0);
        assert_eq!(cuda.launch(add, 1, x, 32, stream), 0);
        assert_eq!(cuda.launch(add, 1, x, 16, stream), 0);
        assert_eq!(call!(cuda, "cuStreamSynchronize", stream => u64), 900);
        assert_eq!(call!(cuda, "cuStreamEndCapture", stream => u64, &mut graph => &mut u64), 0);
        assert_eq!(cuda.read(x, 32), [0; 32], "nothing ran yet");
        assert_eq!(
            call!(cuda, "cuGraphGetNodes", graph => u64, std::ptr::null_mut() => *mut u64, &mut count => &mut usize),
            0
        );
        assert_eq!(count, 2);
        assert_eq!(call!(cuda, "cuGraphInstantiateWithFlags", &mut instance => &mut u64, graph => u64, 0 => u64), 0);
        assert_eq!(call!(cuda, "cuGraphDestroy", graph => u64), 0);
        for _ in 0..3 {
            assert_eq!(call!(cuda, "cuGraphLaunch", instance => u64, stream => u64), 0);
        }
        assert_eq!(cuda.read(x, 32)[14..18], [6, 6, 3, 3]);
        assert_eq!(call!(cuda, "cuGraphExecDestroy", instance => u64), 0);
        assert_eq!(call!(cuda, "cuGraphLaunch", instance => u64, stream => u64), INVALID_VALUE);
    });
}

/// Adds 1 to the first of the words through which blocks of a cooperative launch wait, and 10 times
/// what was there to an integer.
const LEAVES: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry leaves(.param .u64 x, .param .u32 n)
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
mov.u32 %r1, %envreg1;
mov.u32 %r2, %envreg2;
mov.b64 %rd1, {%r2, %r1};
atom.global.add.u32 %r3, [%rd1], 1;
ld.param.u64 %rd2, [x];
mul.lo.u32 %r3, %r3, 10;
add.u32 %r3, %r3, 1;
red.global.add.u32 [%rd2], %r3;
ret;
}
";

#[test]
fn each_cooperative_launch_of_a_graph_finds_its_words_empty() {
    with_cuda(|cuda| {
        let (module, _) = cuda.load(LEAVES);
        let (leaves, _) = cuda.function(module, "leaves");
        let x = cuda.allocate(4);
        assert_eq!(cuda.write(x, &[0]), 0);
        let (mut stream, mut graph, mut instance) = (0u64, 0u64, 0u64);
        assert_eq!(call!(cuda, "cuStreamCreate", &mut stream => &mut u64, 1 => c_uint), 0);
        assert_eq!(call!(cuda, "cuStreamBeginCapture_v2", stream => u64, 0 => c_int), 0);
        for _ in 0..2 {
            assert_eq!(cuda.launch_together(leaves, x, stream), 0);
        }
        assert_eq!(call!(cuda, "cuStreamEndCapture", stream => u64, &mut graph => &mut u64), 0);
        assert_eq!(call!(cuda, "cuGraphInstantiateWithFlags", &mut instance => &mut u64, graph => u64, 0 => u64), 0);
        for _ in 0..3 {
            assert_eq!(call!(cuda, "cuGraphLaunch", instance => u64, stream => u64), 0);
            assert_eq!(cuda.launch_together(leaves, x, stream), 0);
        }
        assert_eq!(call!(cuda, "cuStreamSynchronize", stream => u64), 0);
        assert_eq!(cuda.read(x, 1), [9]);
    });
}

extern "C" fn count_up(data: *mut c_void) {
    // SAFETY: the tests give an integer.
    unsafe { *data.cast::<u32>() += 1 };
}

/// The driver calls the destructor of an object once: when the client, graphs, their copies and
/// their instances have given up all references.
#[test]
fn objects_live_as_long_as_graphs_that_keep_them() {
    extern "C" fn end(count: *mut c_void) {
        // SAFETY: the test gives the place of a number, which outlives the object.
        unsafe { *count.cast::<u32>() += 1 };
    }
    type End = extern "C" fn(*mut c_void);
    with_cuda(|cuda| {
        let mut ended = 0u32;
        let place = &raw mut ended;
        // SAFETY: the number is there.
        let ended = || unsafe { place.read() };
        let (mut object, mut graph, mut copy, mut instance) = (0u64, 0u64, 0u64, 0u64);
        let create = |object: &mut u64, count: c_uint, flags: c_uint| call!(cuda, "cuUserObjectCreate", object => &mut u64, place.cast() => *mut c_void, end => End, count => c_uint, flags => c_uint);
        assert_eq!(create(&mut object, 1, 0), INVALID_VALUE);
        assert_eq!(create(&mut object, 0, 1), INVALID_VALUE);
        assert_eq!(create(&mut object, 2, 1), 0);
        assert_eq!(call!(cuda, "cuGraphCreate", &mut graph => &mut u64, 0 => c_uint), 0);
        let retain = |graph: u64, count: c_uint, flags: c_uint| call!(cuda, "cuGraphRetainUserObject", graph => u64, object => u64, count => c_uint, flags => c_uint);
        // 1 moves references, of which there are two.
        assert_eq!(retain(graph, 3, 1), INVALID_VALUE);
        assert_eq!(retain(graph, 2, 1), 0);
        assert_eq!(call!(cuda, "cuUserObjectRelease", object => u64, 1 => c_uint), INVALID_VALUE);
        assert_eq!(call!(cuda, "cuGraphClone", &mut copy => &mut u64, graph => u64), 0);
        assert_eq!(call!(cuda, "cuGraphInstantiateWithFlags", &mut instance => &mut u64, graph => u64, 0 => u64), 0);
        let release = |graph: u64, count: c_uint| call!(cuda, "cuGraphReleaseUserObject", graph => u64, object => u64, count => c_uint);
        assert_eq!((release(graph, 1), release(graph, 2), release(graph, 1)), (0, INVALID_VALUE, 0));
        assert_eq!(call!(cuda, "cuGraphDestroy", graph => u64), 0);
        assert_eq!(call!(cuda, "cuGraphDestroy", copy => u64), 0);
        assert_eq!(ended(), 0);
        assert_eq!(call!(cuda, "cuGraphExecDestroy", instance => u64), 0);
        assert_eq!(ended(), 1);
        // It has no reference left; the next object was given to no graph.
        assert_eq!(call!(cuda, "cuUserObjectRetain", object => u64, 1 => c_uint), INVALID_VALUE);
        assert_eq!(create(&mut object, 1, 1), 0);
        assert_eq!(call!(cuda, "cuUserObjectRetain", object => u64, 1 => c_uint), 0);
        assert_eq!(call!(cuda, "cuUserObjectRelease", object => u64, 2 => c_uint), 0);
        assert_eq!(ended(), 2);
    });
}

#[test]
fn functions_of_the_host_run_in_their_turn() {
    with_cuda(|cuda| {
        let mut called = 0u32;
        let status = call!(cuda, "cuLaunchHostFunc", 0 => u64, count_up => extern "C" fn(*mut c_void), (&raw mut called).cast() => *mut c_void);
        assert_eq!((status, called), (0, 1));
        let none: Option<extern "C" fn(*mut c_void)> = None;
        assert_eq!(
            call!(cuda, "cuLaunchHostFunc", 0 => u64, none => Option<extern "C" fn(*mut c_void)>, std::ptr::null_mut() => *mut c_void),
            INVALID_VALUE
        );
    });
}

/// `cuGetProcAddress` gives each function in the form of the version that is asked for.
#[test]
fn functions_are_found_by_their_names() {
    with_cuda(|cuda| {
        let find = |name: &std::ffi::CStr, version: c_int| {
            let (mut code, mut status) = (std::ptr::null::<c_void>(), 0);
            let result = call!(cuda, "cuGetProcAddress_v2", name.as_ptr() => *const i8, &mut code => &mut *const c_void, version => c_int,
                0 => u64, &mut status => &mut c_int);
            assert_eq!(result, 0);
            (code, status)
        };
        let symbol = |name: &str| {
            // SAFETY: only the address is taken.
            let found: Result<libloading::Symbol<*const c_void>, _> = unsafe { cuda.0.get(name.as_bytes()) };
            // SAFETY: the library stays.
            found.map(|symbol| unsafe { symbol.into_raw() }.as_raw_ptr())
        };
        for (name, version, form) in [
            (c"cuMemAlloc", 12_000, "cuMemAlloc_v2"),
            (c"cuCtxCreate", 11_000, "cuCtxCreate_v2"),
            (c"cuCtxCreate", 13_000, "cuCtxCreate_v4"),
            (c"cuCtxGetDevice", 13_000, "cuCtxGetDevice"),
            (c"cuLaunchKernel", 13_000, "cuLaunchKernel"),
            (c"cuMemPrefetchAsync", 11_000, "cuMemPrefetchAsync"),
        ] {
            let expected = symbol(form).expect("a symbol");
            assert_eq!(find(name, version).0, expected.cast_const(), "{name:?}");
        }
        assert_eq!(find(c"cuNothing", 13_000), (std::ptr::null(), 1));
    });
}

/// Takes 1 from a number, adds 1 to what is behind it, and gives the number to a condition.
const DOWN: &str = "
.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);
.visible .entry down(.param .u64 x, .param .u64 condition)
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [condition];
ld.global.u32 %r1, [%rd1];
sub.u32 %r1, %r1, 1;
st.global.u32 [%rd1], %r1;
ld.global.u32 %r2, [%rd1+4];
add.u32 %r2, %r2, 1;
st.global.u32 [%rd1+4], %r2;
{
.param .b64 a;
.param .b32 b;
st.param.b64 [a], %rd2;
st.param.b32 [b], %r1;
call.uni cudaGraphSetConditional, (a, b);
}
ret;
}
";

/// `CUgraphNodeParams` of a node with a condition.
#[repr(C)]
#[derive(Default)]
struct ConditionalNode {
    kind: c_int,
    reserved: [c_int; 3],
    condition: u64,
    when: c_int,
    count: c_uint,
    bodies: usize,
    context: u64,
    rest: [u64; 26],
}

#[test]
fn a_body_of_a_graph_runs_as_long_as_a_kernel_says() {
    with_cuda(|cuda| {
        let (module, code) = cuda.load(DOWN);
        assert_eq!(code, 0);
        let (down, _) = cuda.function(module, "down");
        let x = cuda.allocate(8);
        let (mut stream, mut graph, mut condition, mut node) = (0u64, 0u64, 0u64, 0u64);
        assert_eq!(call!(cuda, "cuStreamCreate", &mut stream => &mut u64, 1 => c_uint), 0);
        assert_eq!(call!(cuda, "cuGraphCreate", &mut graph => &mut u64, 0 => c_uint), 0);
        // It begins as 1 each time.
        let create = |condition: &mut u64, flags: c_uint| call!(cuda, "cuGraphConditionalHandleCreate", condition => &mut u64, graph => u64, 0 => u64, 1 => c_uint, flags => c_uint);
        assert_eq!(create(&mut condition, 2), INVALID_VALUE);
        assert_eq!(create(&mut condition, 1), 0);
        let mut add = |given: &mut ConditionalNode| call!(cuda, "cuGraphAddNode", &mut node => &mut u64, graph => u64, 0 => u64, 0 => usize, given => &mut ConditionalNode);
        let of = |condition, when, count| ConditionalNode { kind: 13, condition, when, count, ..Default::default() };
        for mut wrong in [of(condition, 1, 0), of(condition, 1, 2), of(condition, 3, 1), of(condition + 1, 1, 1)] {
            assert_eq!(add(&mut wrong), INVALID_VALUE);
        }
        assert_eq!(add(&mut ConditionalNode { kind: 1, ..of(condition, 1, 1) }), 801);
        let mut given = of(condition, 1, 1);
        assert_eq!(add(&mut given), 0);
        // SAFETY: the driver gives a list of one.
        let body = unsafe { *std::ptr::with_exposed_provenance::<u64>(given.bodies) };
        let begin = |to: u64| call!(cuda, "cuStreamBeginCaptureToGraph", stream => u64, to => u64, 0 => u64, 0 => u64, 0 => usize, 0 => c_int);
        let end = |captured: &mut u64| call!(cuda, "cuStreamEndCapture", stream => u64, captured => &mut u64);
        let mut captured = 0;
        assert_eq!(begin(body), 0);
        let (mut a, mut b) = (x, condition);
        let params: [*mut c_void; 2] = [(&raw mut a).cast(), (&raw mut b).cast()];
        let launched = call!(cuda, "cuLaunchKernel", down => u64, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint,
            1 => c_uint, 1 => c_uint, 0 => c_uint, stream => u64, params.as_ptr() => *const *mut c_void, 0 => u64);
        assert_eq!(launched, 0);
        assert_eq!((end(&mut captured), captured), (0, body));
        let instantiate = |instance: &mut u64| call!(cuda, "cuGraphInstantiateWithFlags", instance => &mut u64, graph => u64, 0 => u64);
        let mut instance = 0;
        assert_eq!(instantiate(&mut instance), 0);
        for n in [4, 1, 7] {
            assert_eq!(cuda.write(x, &[n, 0]), 0);
            assert_eq!(call!(cuda, "cuGraphLaunch", instance => u64, stream => u64), 0);
            assert_eq!(call!(cuda, "cuStreamSynchronize", stream => u64), 0);
            assert_eq!(cuda.read(x, 2), [0, n]);
        }
        // No function of the host is called on a GPU.
        let host = [count_up as *const () as usize, 0];
        let mut other = 0u64;
        let added = call!(cuda, "cuGraphAddHostNode", &mut other => &mut u64, body => u64, 0 => u64, 0 => usize, &host => &[usize; 2]);
        assert_eq!((added, instantiate(&mut instance)), (0, 801));
        assert_eq!(call!(cuda, "cuGraphDestroy", graph => u64), 0);
        assert_eq!(begin(body), INVALID_VALUE, "bodies go with their graph");
    });
}
