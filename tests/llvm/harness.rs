//! Runs a kernel given as IR text in the interpreter and as host code, and compares every byte.

use std::ffi::c_void;

use kc::abi;
use kc::abi::{ArrayDescriptor, HostStatus, LaunchBounds};
use kc::codegen::llvm::{
    Arch, ArrayLayout, Atomics, Checks, Cpu, Grid, HostModule, HostOptions, LlvmTarget, Opt, Parts, Prints, PtxOptions,
    TensorCores, emit_llvm_ir, emit_plan, emit_ptx,
};
use kc::ir::interp::{Outcome, TrapKind, run_kernel};
use kc::ir::{FuncId, Module};
use kc::types::{Scalar, Type};

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub enum Arg {
    Array(Array),
    /// A scalar's bits.
    Value(Scalar, u64),
}

/// An array with its memory, held in words so that it is aligned for any type.
#[derive(Clone, Debug)]
pub struct Array {
    pub scalar: Scalar,
    /// Scalars per element.
    pub width: usize,
    pub shape: Vec<i32>,
    /// In bytes.
    pub strides: Vec<i32>,
    words: Vec<u64>,
    /// Byte offset of the first element.
    pub offset: usize,
    /// The array of adjoints behind it; zeros at first. Null represents an array that is not there.
    pub grad: Option<Box<Array>>,
    pub is_null: bool,
}

impl Array {
    /// A dense array of `scalars` (bits), `width` to an element.
    pub fn new(scalar: Scalar, width: usize, shape: &[i32], scalars: &[u64]) -> Array {
        let size = scalar.size() as usize;
        let mut words = vec![0u64; (scalars.len() * size).div_ceil(8) + 1];
        // SAFETY: the words are plain memory.
        let bytes = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), words.len() * 8) };
        for (n, bits) in scalars.iter().enumerate() {
            bytes[n * size..(n + 1) * size].copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        let mut strides = vec![0; shape.len()];
        let mut stride = (size * width) as i32;
        for n in (0..shape.len()).rev() {
            strides[n] = stride;
            stride *= shape[n];
        }
        Array { scalar, width, shape: shape.to_vec(), strides, words, offset: 0, grad: None, is_null: false }
    }

    pub fn zeros(scalar: Scalar, width: usize, shape: &[i32]) -> Array {
        let count: i32 = shape.iter().product();
        Array::new(scalar, width, shape, &vec![0; count as usize * width])
    }

    fn descriptor(&mut self) -> ArrayDescriptor {
        let (mut shape, mut strides) = ([0; 4], [0; 4]);
        shape[..self.shape.len()].copy_from_slice(&self.shape);
        strides[..self.shape.len()].copy_from_slice(&self.strides);
        if self.is_null {
            return ArrayDescriptor {
                data: 0,
                grad: 0,
                shape: [0; 4],
                strides,
                ndim: self.shape.len() as i32,
                flags: 0,
            };
        }
        let data = self.words.as_mut_ptr().expose_provenance() as u64 + self.offset as u64;
        let grad = self.grad.as_mut().map_or(0, |grad| grad.descriptor().data);
        ArrayDescriptor { data, grad, shape, strides, ndim: self.shape.len() as i32, flags: 0 }
    }

    /// All scalars in memory order, as bits.
    pub fn scalars(&self) -> Vec<u64> {
        let size = self.scalar.size() as usize;
        // SAFETY: the words are plain memory.
        let bytes = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.words.len() * 8) };
        let count: usize = self.shape.iter().map(|&n| n as usize).product::<usize>() * self.width;
        let span = if self.offset == 0 { count } else { (bytes.len() - 8) / size };
        bytes[..span * size]
            .chunks(size)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..size].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            })
            .chain(self.grad.iter().flat_map(|grad| grad.scalars()))
            .collect()
    }

    /// With an array of adjoints behind it, all zero.
    pub fn with_gradient(mut self) -> Array {
        self.grad = Some(Box::new(Array { words: vec![0; self.words.len()], ..self.clone() }));
        self
    }
}

pub fn null(scalar: Scalar) -> Arg {
    Arg::Array(Array { is_null: true, ..Array::zeros(scalar, 1, &[1]) })
}

pub fn f32s(values: &[f32]) -> Arg {
    let bits: Vec<u64> = values.iter().map(|v| u64::from(v.to_bits())).collect();
    Arg::Array(Array::new(Scalar::F32, 1, &[values.len() as i32], &bits))
}

pub fn i32s(values: &[i32]) -> Arg {
    let bits: Vec<u64> = values.iter().map(|v| u64::from(*v as u32)).collect();
    Arg::Array(Array::new(Scalar::I32, 1, &[values.len() as i32], &bits))
}

pub fn zeros(scalar: Scalar, shape: &[i32]) -> Arg {
    Arg::Array(Array::zeros(scalar, 1, shape))
}

pub fn as_f32(arg: &Arg) -> Vec<f32> {
    array(arg).scalars().iter().map(|b| f32::from_bits(*b as u32)).collect()
}

pub fn as_i32(arg: &Arg) -> Vec<i32> {
    array(arg).scalars().iter().map(|b| *b as i32).collect()
}

pub fn array(arg: &Arg) -> &Array {
    match arg {
        Arg::Array(array) => array,
        Arg::Value(..) => panic!("not an array"),
    }
}

/// The first error of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    OutOfBounds { dim: u32, index: i64, extent: i64, thread: u64 },
    Assert { thread: u64 },
}

#[derive(Clone, Debug)]
pub struct Run {
    pub args: Vec<Arg>,
    pub failure: Option<Failure>,
    pub printed: String,
}

pub fn parse(text: &str) -> Module {
    let module = kc::ir::parse::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(kc::ir::verify::verify(&module), Ok(()), "{text}");
    module
}

fn argument_bytes(module: &Module, kernel: FuncId, args: &mut [Arg]) -> Vec<u64> {
    let function = &module.functions[kernel];
    let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
    assert_eq!(types.len(), args.len(), "arguments of {}", function.name);
    let (offsets, layout) = abi::argument_layout(&types, &module.structs);
    let mut words = vec![0u64; layout.size.div_ceil(8) as usize];
    for (offset, arg) in offsets.iter().zip(args) {
        // SAFETY: offsets lie inside the layout.
        unsafe {
            let at = words.as_mut_ptr().cast::<u8>().add(*offset as usize);
            match arg {
                Arg::Array(array) => at.cast::<ArrayDescriptor>().write(array.descriptor()),
                Arg::Value(scalar, bits) => {
                    std::ptr::copy_nonoverlapping(bits.to_le_bytes().as_ptr(), at, scalar.size() as usize)
                }
            }
        }
    }
    words
}

pub fn interpret(module: &Module, kernel: FuncId, dims: &[u32], args: &[Arg]) -> Run {
    let mut args = args.to_vec();
    let words = argument_bytes(module, kernel, &mut args);
    let launch = LaunchBounds::new(dims).unwrap();
    let mut printed = String::new();
    let mut outcome = Outcome::new(|text| printed.push_str(text));
    // SAFETY: the arguments own their memory.
    unsafe { run_kernel(module, kernel, &launch, words.as_ptr().cast(), 0, launch.size, &mut outcome) };
    let failure = outcome.trap.take().map(|t| match t.kind {
        TrapKind::OutOfBounds => {
            Failure::OutOfBounds { dim: t.dim, index: t.index, extent: t.extent, thread: t.thread }
        }
        _ => Failure::Assert { thread: t.thread },
    });
    drop(outcome);
    Run { args, failure, printed }
}

unsafe extern "C" fn append(user: *mut c_void, text: *const u8, len: u64) {
    // SAFETY: `user` is the String that `run_host` passes; the text is what the kernel printed.
    unsafe {
        let bytes = std::slice::from_raw_parts(text, len as usize);
        (*user.cast::<String>()).push_str(&String::from_utf8_lossy(bytes));
    }
}

/// Runs the launch in chunks of `chunk` threads.
pub fn run_host(host: &HostModule, module: &Module, kernel: FuncId, dims: &[u32], args: &[Arg], chunk: u64) -> Run {
    let mut args = args.to_vec();
    let words = argument_bytes(module, kernel, &mut args);
    let launch = LaunchBounds::new(dims).unwrap();
    let entry = host.entry(kernel).unwrap();
    let mut printed = String::new();
    let mut status = new_status();
    status.print = Some(append);
    status.user = (&raw mut printed).cast();
    let mut begin = 0;
    while begin < launch.size {
        let end = launch.size.min(begin.saturating_add(chunk));
        // SAFETY: the arguments own their memory.
        unsafe { entry(&launch, words.as_ptr().cast(), begin, end, &mut status) };
        begin = end;
    }
    let failure = match status.kind {
        HostStatus::OK => None,
        HostStatus::OUT_OF_BOUNDS => Some(Failure::OutOfBounds {
            dim: status.dim,
            index: status.index,
            extent: i64::from(status.extent),
            thread: status.thread,
        }),
        _ => Some(Failure::Assert { thread: status.thread }),
    };
    Run { args, failure, printed }
}

pub fn new_status() -> HostStatus {
    HostStatus {
        kind: 0,
        site: 0,
        dim: 0,
        extent: 0,
        index: 0,
        thread: 0,
        print: None,
        user: std::ptr::null_mut(),
        note: 0,
        visited: 0,
        note_thread: 0,
    }
}

pub const CHECKED: HostOptions =
    HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared };

/// The ways in which every test kernel is compiled for the host.
pub const HOST_OPTIONS: [HostOptions; 7] = [
    CHECKED,
    HostOptions { checked: false, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared },
    HostOptions { checked: true, opt: Opt::Lean, cpu: Cpu::Native, atomics: Atomics::Shared },
    HostOptions { checked: true, opt: Opt::None, cpu: Cpu::Native, atomics: Atomics::Shared },
    // Without FMA and half conversions.
    HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::V1, atomics: Atomics::Shared },
    HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Plain },
    HostOptions { checked: false, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Called },
];

/// All NaNs of a type are one.
fn canonical(scalar: Scalar, bits: u64) -> u64 {
    let nan = match scalar {
        Scalar::F16 => bits & 0x7fff > 0x7c00,
        Scalar::BF16 => bits & 0x7fff > 0x7f80,
        Scalar::F32 => f32::from_bits(bits as u32).is_nan(),
        Scalar::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    };
    if nan { u64::MAX } else { bits }
}

#[track_caller]
pub fn assert_same(name: &str, expected: &[Arg], found: &[Arg]) {
    for (n, (e, f)) in expected.iter().zip(found).enumerate() {
        let (Arg::Array(e), Arg::Array(f)) = (e, f) else { continue };
        for (at, (x, y)) in e.scalars().iter().zip(f.scalars()).enumerate() {
            let (x, y) = (canonical(e.scalar, *x), canonical(e.scalar, y));
            assert!(
                x == y,
                "{name}: argument {n} ({}) of shape {:?}, scalar {at}: expected {x:#x}, found {y:#x}",
                e.scalar.name(),
                e.shape
            );
        }
    }
}

/// Runs kernel `@k` every way, whole and in chunks; all must agree. Gives the interpreter's run.
/// ptxas must take its PTX.
#[track_caller]
pub fn compare(text: &str, dims: &[u32], args: &[Arg]) -> Run {
    let module = parse(text);
    let kernel = module.find("k").expect("the kernel is called k");
    let expected = interpret(&module, kernel, dims, args);
    for options in HOST_OPTIONS {
        if !options.checked && expected.failure.is_some() {
            continue;
        }
        let host = HostModule::compile(&module, &[kernel], &options).unwrap_or_else(|e| panic!("{e}"));
        for chunk in [u64::MAX, 7, 1] {
            let name = format!("{options:?}, chunks of {chunk}");
            let run = run_host(&host, &module, kernel, dims, args, chunk);
            assert_eq!(run.failure, expected.failure, "{name}");
            if expected.failure.is_none() {
                assert_same(&name, &expected.args, &run.args);
                assert_eq!(run.printed, expected.printed, "{name}");
            }
        }
    }
    assert_ptx(&module, &[kernel], "sm_75", Opt::Full);
    expected
}

/// The plan and the LLVM IR of kernel `@k` for a processor with AVX-512, whatever this one has.
pub fn host_code(text: &str, checked: bool, atomics: Atomics) -> (String, String) {
    let module = parse(text);
    let kernel = module.find("k").expect("the kernel is called k");
    let options = HostOptions { checked, opt: Opt::Full, cpu: Cpu::V4, atomics };
    let ir =
        emit_llvm_ir(&module, &[kernel], LlvmTarget::Host(options), &Parts::new(0)).unwrap_or_else(|e| panic!("{e}"));
    (emit_plan(&module, &[kernel], &options, Default::default()), ir)
}

/// Kernel `@k` runs as so many lanes of vectors of 512 bits: by plan, and in the code.
#[track_caller]
pub fn assert_lanes(text: &str, count: u32) {
    let (plan, ir) = host_code(text, true, Atomics::Shared);
    assert!(plan.contains(&format!("\n  lanes: {count}, in vectors of 512 bits;")), "{plan}");
    // The block for the lanes that are left at the end of a row.
    assert!(ir.contains("\nlanes:") && ir.contains(&format!("<{count} x i1>")), "{ir}");
}

/// The part of LLVM IR that defines a function with a name that ends so.
pub fn function_of<'t>(ir: &'t str, name: &str) -> &'t str {
    let mut functions = ir.split("\ndefine ").skip(1);
    let is = |text: &&str| text.split('(').next().is_some_and(|head| head.ends_with(name));
    functions.find(is).unwrap_or_else(|| panic!("no function {name}:\n{ir}"))
}

pub fn ptx_options(arch: &str, opt: Opt) -> PtxOptions {
    PtxOptions {
        arch: Arch::from_name(arch).unwrap(),
        opt,
        fmad: true,
        layout: ArrayLayout::Strided,
        grid: Grid::Any,
        checks: Checks::None,
        prints: Prints::Driver,
        tensor_cores: TensorCores::On,
    }
}

#[track_caller]
pub fn assert_ptx(module: &Module, kernels: &[FuncId], arch: &str, opt: Opt) -> String {
    let text = emit_ptx(module, kernels, &ptx_options(arch, opt), &Parts::new(0)).unwrap_or_else(|e| panic!("{e}"));
    crate::common::assert_ptx(&text, arch);
    text
}
