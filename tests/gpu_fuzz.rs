//! Calls of the simulated CUDA driver in any order with any arguments: no call ends the process,
//! and every call gives a status. Pointers to results and to memory of the host are right, as the
//! driver too takes the client's word for them; all else may be anything.

#[path = "common/gpu.rs"]
mod gpu;

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::process::{Command, Stdio};

use libloading::{Library, Symbol};

/// Adds one number to another, and one kernel that goes astray.
const KERNELS: &CStr = c"
.version 7.8
.target sm_80
.address_size 64
.visible .global .align 4 .u32 step = 1;
.visible .entry add(.param .u64 x, .param .u32 n)
{
.reg .b32 %r<3>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [x];
ld.param.u32 %r1, [n];
ld.global.u32 %r2, [%rd1];
add.u32 %r2, %r2, %r1;
st.global.u32 [%rd1], %r2;
ret;
}
.visible .entry trap()
{
trap;
}
";

/// Chance (G. Steele, D. Lea, C. Flood, \"Fast splittable pseudorandom number generators\", 2014).
struct Chance(u64);

impl Chance {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}

/// What clients hold.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Context,
    Module,
    Function,
    Linker,
    Address,
    Pool,
    Stream,
    Event,
    Graph,
    Instance,
    Object,
    Array,
    Image,
}

/// What an argument is.
#[derive(Clone, Copy)]
enum Arg {
    /// What some call gave of a kind, given back or not; now and then something of another kind, or
    /// nothing at all.
    A(Kind),
    Size,
    Small,
    /// Extents of a grid, and of a block.
    Blocks,
    Threads,
    /// A place for a result, 64 bytes; what it becomes is of the kind.
    New(Kind),
    Out,
    /// 64 KiB of the host, to copy from or to.
    Host,
    Name,
    Text,
    Params,
    /// What an array is to be; an array as what a texture or a surface shows; how it is shown.
    Plane,
    Resource,
    Sampling,
    /// A function of the client.
    Code,
    Null,
}

use Arg::{A, Blocks, Code, Host, Name, New, Null, Out, Params, Plane, Resource, Sampling, Size, Small, Text, Threads};
use Kind::{Address, Array, Context, Event, Function, Graph, Image, Instance, Linker, Module, Object, Pool, Stream};

/// Functions with what they take; no more than 11 arguments.
const CALLS: &[(&str, &[Arg])] = &[
    ("cuDeviceGet", &[Out, Small]),
    ("cuDeviceGetCount", &[Out]),
    ("cuDeviceGetName", &[Out, Small, Small]),
    ("cuDeviceGetAttribute", &[Out, Size, Small]),
    ("cuDeviceTotalMem_v2", &[Out, Small]),
    ("cuDeviceGetPCIBusId", &[Out, Small, Small]),
    ("cuDeviceGetByPCIBusId", &[Out, Name]),
    ("cuDevicePrimaryCtxRetain", &[New(Context), Small]),
    ("cuDevicePrimaryCtxRelease_v2", &[Small]),
    ("cuDevicePrimaryCtxReset_v2", &[Small]),
    ("cuDevicePrimaryCtxGetState", &[Small, Out, Out]),
    ("cuCtxCreate_v2", &[New(Context), Small, Small]),
    ("cuCtxDestroy_v2", &[A(Context)]),
    ("cuCtxSetCurrent", &[A(Context)]),
    ("cuCtxPushCurrent_v2", &[A(Context)]),
    ("cuCtxPopCurrent_v2", &[Out]),
    ("cuCtxSynchronize", &[]),
    ("cuCtxGetLimit", &[Out, Small]),
    ("cuCtxSetLimit", &[Small, Size]),
    ("cuCtxEnablePeerAccess", &[A(Context), Small]),
    ("cuCtxDisablePeerAccess", &[A(Context)]),
    ("cuModuleLoadData", &[New(Module), Text]),
    ("cuModuleUnload", &[A(Module)]),
    ("cuModuleGetFunction", &[New(Function), A(Module), Name]),
    ("cuModuleGetGlobal_v2", &[New(Address), Out, A(Module), Name]),
    ("cuModuleGetFunctionCount", &[Out, A(Module)]),
    ("cuLibraryGetKernel", &[New(Function), A(Module), Name]),
    ("cuKernelGetParamInfo", &[A(Function), Size, Out, Out]),
    ("cuFuncGetAttribute", &[Out, Small, A(Function)]),
    ("cuFuncSetAttribute", &[A(Function), Small, Size]),
    ("cuLinkCreate_v2", &[Null, Null, Null, New(Linker)]),
    ("cuLinkComplete", &[A(Linker), Out, Out]),
    ("cuLinkDestroy", &[A(Linker)]),
    ("cuMemAlloc_v2", &[New(Address), Size]),
    ("cuMemAllocPitch_v2", &[New(Address), Out, Size, Small, Small]),
    ("cuMemAllocAsync", &[New(Address), Size, A(Stream)]),
    ("cuMemAllocFromPoolAsync", &[New(Address), Size, A(Pool), A(Stream)]),
    ("cuMemAllocManaged", &[New(Address), Size, Small]),
    ("cuMemHostAlloc", &[New(Address), Size, Small]),
    ("cuMemFree_v2", &[A(Address)]),
    ("cuMemFreeAsync", &[A(Address), A(Stream)]),
    ("cuMemFreeHost", &[A(Address)]),
    ("cuMemHostRegister_v2", &[Host, Small, Small]),
    ("cuMemHostUnregister", &[Host]),
    ("cuMemHostGetDevicePointer_v2", &[New(Address), Host, Null]),
    ("cuMemGetInfo_v2", &[Out, Out]),
    ("cuMemGetAddressRange_v2", &[Out, Out, A(Address)]),
    ("cuPointerGetAttribute", &[Out, Small, A(Address)]),
    ("cuMemcpyHtoD_v2", &[A(Address), Host, Small]),
    ("cuMemcpyDtoH_v2", &[Host, A(Address), Small]),
    ("cuMemcpyDtoD_v2", &[A(Address), A(Address), Size]),
    ("cuMemcpyHtoDAsync_v2", &[A(Address), Host, Small, A(Stream)]),
    ("cuMemsetD8_v2", &[A(Address), Small, Size]),
    ("cuMemsetD32_v2", &[A(Address), Small, Size]),
    ("cuMemsetD2D32_v2", &[A(Address), Size, Small, Size, Size]),
    ("cuDeviceGetDefaultMemPool", &[New(Pool), Small]),
    ("cuMemPoolDestroy", &[A(Pool)]),
    ("cuMemPoolGetAttribute", &[A(Pool), Small, Out]),
    ("cuStreamCreate", &[New(Stream), Small]),
    ("cuStreamDestroy_v2", &[A(Stream)]),
    ("cuStreamSynchronize", &[A(Stream)]),
    ("cuStreamWaitEvent", &[A(Stream), A(Event), Null]),
    ("cuStreamBeginCapture_v2", &[A(Stream), Small]),
    ("cuStreamEndCapture", &[A(Stream), New(Graph)]),
    ("cuStreamIsCapturing", &[A(Stream), Out]),
    ("cuEventCreate", &[New(Event), Small]),
    ("cuEventRecord", &[A(Event), A(Stream)]),
    ("cuEventSynchronize", &[A(Event)]),
    ("cuEventElapsedTime", &[Out, A(Event), A(Event)]),
    ("cuEventDestroy_v2", &[A(Event)]),
    ("cuGraphCreate", &[New(Graph), Null]),
    ("cuGraphDestroy", &[A(Graph)]),
    ("cuGraphInstantiateWithFlags", &[New(Instance), A(Graph), Null]),
    ("cuGraphLaunch", &[A(Instance), A(Stream)]),
    ("cuGraphExecDestroy", &[A(Instance)]),
    ("cuGraphExecUpdate_v2", &[A(Instance), A(Graph), Out]),
    ("cuGraphAddEmptyNode", &[Out, A(Graph), Null, Null]),
    ("cuGraphClone", &[New(Graph), A(Graph)]),
    ("cuUserObjectCreate", &[New(Object), Small, Code, Small, Small]),
    ("cuUserObjectRetain", &[A(Object), Small]),
    ("cuUserObjectRelease", &[A(Object), Small]),
    ("cuGraphRetainUserObject", &[A(Graph), A(Object), Small, Small]),
    ("cuGraphReleaseUserObject", &[A(Graph), A(Object), Small]),
    ("cuLaunchHostFunc", &[A(Stream), Code, Null]),
    (
        "cuLaunchKernel",
        &[A(Function), Blocks, Blocks, Blocks, Threads, Threads, Threads, Threads, A(Stream), Params, Null],
    ),
    ("cuLaunchHostFunc", &[A(Stream), Null, Null]),
    ("cuOccupancyMaxActiveBlocksPerMultiprocessor", &[Out, A(Function), Size, Size]),
    ("cuArrayCreate_v2", &[New(Array), Plane]),
    ("cuArray3DGetDescriptor_v2", &[Out, A(Array)]),
    ("cuArrayDestroy", &[A(Array)]),
    ("cuMemcpyHtoA_v2", &[A(Array), Small, Host, Small]),
    ("cuMemcpyAtoH_v2", &[Host, A(Array), Small, Size]),
    ("cuMemcpyDtoA_v2", &[A(Array), Small, A(Address), Small]),
    ("cuMemcpyAtoA_v2", &[A(Array), Small, A(Array), Size, Small]),
    ("cuTexObjectCreate", &[New(Image), Resource, Sampling, Null]),
    ("cuTexObjectDestroy", &[A(Image)]),
    ("cuSurfObjectCreate", &[New(Image), Resource]),
    ("cuGetErrorName", &[Size, Out]),
    ("cuIpcGetMemHandle", &[Out, A(Address)]),
];

/// What the client has called.
extern "C" fn called(_: *mut c_void) {}

type Any = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> c_int;

/// A handle or an address of the kind, or of any kind, or nothing that was given.
fn pick_of(chance: &mut Chance, known: &[(Kind, u64)], kind: Kind) -> u64 {
    match chance.below(12) {
        0 => [0, 17, u64::MAX][chance.below(3)],
        1 => known[chance.below(known.len())].1,
        _ => {
            let of_kind: Vec<u64> = known.iter().filter(|one| one.0 == kind).map(|one| one.1).collect();
            if of_kind.is_empty() { 0 } else { of_kind[chance.below(of_kind.len())] }
        }
    }
}

/// Runs sequences of 40 calls each.
fn sequences(seed: u64, count: usize) {
    // SAFETY: one thread; the driver reads its settings when it starts.
    unsafe { std::env::set_var("KC_SIM_MEMORY", "16M") };
    // SAFETY: as above.
    unsafe { std::env::set_var("KC_SIM_DEVICES", "2") };
    // SAFETY: the library only prepares its tables.
    let library = unsafe { Library::new(gpu::library()) }.expect("the library loads");
    // SAFETY: the type is that of cuda.h.
    let init: Symbol<unsafe extern "C" fn(c_uint) -> c_int> = unsafe { library.get(b"cuInit") }.expect("a symbol");
    // SAFETY: as above.
    assert_eq!(unsafe { init(0) }, 0);
    let calls: Vec<(Symbol<Any>, &[Arg])> = CALLS
        .iter()
        // SAFETY: integers and pointers are handed over alike (System V ABI); those that a function
        // does not take it does not see.
        .map(|(name, args)| (unsafe { library.get(name.as_bytes()) }.expect(name), *args))
        .collect();
    let names = ["add", "trap", "step", "nothing", "0000:01:00.0"].map(|name| CString::new(name).expect("a name"));
    let mut host = vec![0u8; 64 << 10];
    let mut out = [0u64; 8];
    let mut chance = Chance(seed);
    let mut launches = 0;
    let usual = ["cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemsetD32_v2", "cuLaunchKernel"];
    let usual = usual.map(|wanted| CALLS.iter().position(|(name, _)| *name == wanted).expect(wanted));
    for _ in 0..count {
        // What there is at the beginning, by kind; the default stream among it.
        let mut known: Vec<(Kind, u64)> = vec![(Stream, 0), (Address, 4096)];
        let set = |name: &str, handle: u64| {
            // SAFETY: both take one integer of 64 bits, or a place for one and a device.
            let f: Symbol<unsafe extern "C" fn(u64, c_int) -> c_int> =
                unsafe { library.get(name.as_bytes()) }.expect(name);
            // SAFETY: as above.
            assert_eq!(unsafe { f(handle, 0) }, 0, "{name}");
        };
        let mut context = 0u64;
        set("cuDevicePrimaryCtxRetain", (&raw mut context).expose_provenance() as u64);
        set("cuCtxSetCurrent", context);
        known.push((Context, context));
        for _ in 0..40 {
            // What leads to launches comes more often.
            let n = if chance.below(3) == 0 { usual[chance.below(usual.len())] } else { chance.below(calls.len()) };
            let (f, args) = &calls[n];
            let (address, number) = (pick_of(&mut chance, &known, Address), 4u32);
            let params: [*const c_void; 2] = [(&raw const address).cast(), (&raw const number).cast()];
            // `CUDA_ARRAY_DESCRIPTOR`: float32 or what is no format; `CUDA_RESOURCE_DESC`, of an
            // array mostly; `CUDA_TEXTURE_DESC`.
            let format = [0x20, 0x20, 1, 7][chance.below(4)] | [1, 1, 4, 3][chance.below(4)] << 32;
            let plane = [[8, 0, 100, u64::MAX][chance.below(4)], [4, 0, 1][chance.below(3)], format];
            let mut resource = [0u64; 18];
            (resource[0], resource[1]) = ([0, 0, 2, 3, 1][chance.below(5)], pick_of(&mut chance, &known, Array));
            let mut sampling = [0u64; 16];
            sampling
                .iter_mut()
                .take(3)
                .for_each(|word| *word = chance.below(4) as u64 | (chance.below(3) as u64) << 32);
            let mut given = [0u64; 11];
            for (value, arg) in given.iter_mut().zip(args.iter()) {
                *value = match arg {
                    A(kind) => pick_of(&mut chance, &known, *kind),
                    _ => 0,
                };
            }
            for (value, arg) in given.iter_mut().zip(args.iter()) {
                *value = match arg {
                    A(Address) => value.wrapping_add([0, 0, 0, 0, 4, 1][chance.below(6)]),
                    A(_) => *value,
                    Size => [0, 1, 4, 100, 4096, 1 << 20, 1 << 30, u64::MAX][chance.below(8)],
                    Blocks => [1, 1, 1, 1, 1, 2, 0, 5][chance.below(8)],
                    Threads => [1, 1, 1, 1, 1, 2, 0, 33][chance.below(8)],
                    Small => [0, 1, 1, 2, 4, 5, 32, 64][chance.below(8)],
                    Out | New(_) if chance.below(20) == 0 => 0,
                    Out | New(_) => out.as_mut_ptr().expose_provenance() as u64,
                    Host => host.as_mut_ptr().expose_provenance() as u64,
                    Name => names[[0, 0, 0, 1, 2, 3, 4][chance.below(7)]].as_ptr().expose_provenance() as u64,
                    Text if chance.below(4) == 0 => names[0].as_ptr().expose_provenance() as u64,
                    Text => KERNELS.as_ptr().expose_provenance() as u64,
                    Params if chance.below(8) == 0 => 0,
                    Params => params.as_ptr().expose_provenance() as u64,
                    Plane => plane.as_ptr().expose_provenance() as u64,
                    Resource => resource.as_ptr().expose_provenance() as u64,
                    Sampling => sampling.as_ptr().expose_provenance() as u64,
                    Code => called as *const c_void as u64,
                    Null => 0,
                };
            }
            let [a, b, c, d, e, f2, g, h, i, j, k] = given;
            // SAFETY: pointers lead to what the function takes, or are null; see `Arg`.
            let status = unsafe { f(a, b, c, d, e, f2, g, h, i, j, k) };
            assert!((0..1000).contains(&status) && status != 999, "{}: {status}", CALLS[n].0);
            launches += usize::from(CALLS[n].0 == "cuLaunchKernel" && matches!(status, 0 | 700 | 719));
            let made = args.iter().find_map(|arg| if let New(kind) = arg { Some(*kind) } else { None });
            if let (0, Some(kind)) = (status, made) {
                known.push((kind, out[0]));
            }
        }
        set("cuDevicePrimaryCtxReset_v2", 0);
    }
    assert!(launches > count / 20, "{launches} launches in {count} sequences");
}

/// A process of its own: what it says to wrong calls would fill the screen.
fn sequences_apart(seed: u64, count: usize) {
    gpu::library();
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["--exact", "in_this_process", "--ignored"]).env("GPU_FUZZ", format!("{seed} {count}"));
    let output = child.stderr(Stdio::piped()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = said.lines().rev().take(20).collect();
    assert!(
        output.status.success(),
        "seed {seed}: {:?}\n{}\n{last:#?}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(!said.contains("a fault of kc itself"), "seed {seed}:\n{said}");
}

#[test]
fn any_calls_give_a_status() {
    (1..=4).for_each(|seed| sequences_apart(seed, 250));
}

#[test]
#[ignore = "takes minutes: `cargo test --test gpu_fuzz -- --ignored many`"]
fn many_calls_give_a_status() {
    (1..=40).for_each(|seed| sequences_apart(100 + seed, 500));
}

#[test]
#[ignore = "a part of the others"]
fn in_this_process() {
    let asked = std::env::var("GPU_FUZZ").unwrap_or_else(|_| "1 10".to_string());
    let (seed, count) = asked.split_once(' ').expect("a seed and a count");
    sequences(seed.parse().expect("a number"), count.parse().expect("a number"));
}
