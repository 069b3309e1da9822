//! Does CUDA text mean what the IR means? The text is built for the host, with a shim for CUDA's built-ins, and every
//! kernel's results are compared bit for bit with those of the reference interpreter.

use std::ffi::c_void;
use std::path::Path;
use std::process::Command;

use kc::abi::{ArrayDescriptor, LaunchBounds, argument_layout, device_entry};
use kc::codegen::cuda::{Argument, Entry};
use kc::ir::interp::{Outcome, run_kernel};
use kc::ir::{FuncId, Function, FunctionKind, Module};
use kc::types::{Element, Layout, Scalar, Type};
use libloading::{Library, Symbol};

/// Extents of launches and arrays, by dimension: small, all different, and none a multiple of another.
const LAUNCH: [u32; 4] = [5, 4, 3, 2];
const EXTENTS: [i32; 4] = [7, 5, 6, 4];

/// Runs every kernel of `text`, which was printed from `module`, on the host, and compares it with the interpreter.
#[track_caller]
pub fn assert_same_results(module: &Module, text: &str) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut wrappers = String::new();
    for (_, kernel) in module.kernels() {
        let entry = device_entry(&kernel.source_name, kernel.phase);
        wrappers.push_str(&format!(
            "extern \"C\" void call_{entry}(const void *launch, void **args) {{ call({entry}, launch, args); }}\n"
        ));
    }
    let library = build(text, &wrappers, folder.path());
    for (id, kernel) in module.kernels() {
        let name = device_entry(&kernel.source_name, kernel.phase);
        let run = |launch: &LaunchBounds, found: &mut Arguments| {
            let mut args = found.addresses();
            run_wrapper(&library, &name, std::ptr::from_ref(launch).cast(), &mut args);
        };
        // Numbers of every kind, or only such as convert to every integer type.
        for numbers in [Numbers::Any, Numbers::Tame] {
            if numbers == Numbers::Tame || !kernel.name.ends_with("_finite") {
                compare(module, id, kernel, numbers, &run, text);
            }
        }
    }
}

/// The same for a text whose kernels take plain parameters: those of `entries`. Each grid has a block too many.
#[track_caller]
pub fn assert_same_plain(module: &Module, text: &str, entries: &[Entry], numbers: &[Numbers]) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut wrappers = String::new();
    for Entry { name, .. } in entries {
        wrappers.push_str(&format!(
            "extern \"C\" void call_{name}(const void *grid, void **args) {{ run_grid({name}, (const unsigned *)grid, args); }}\n"
        ));
    }
    let library = build(text, &wrappers, folder.path());
    for entry in entries {
        let kernel = &module.functions[entry.kernel];
        let run = |launch: &LaunchBounds, found: &mut Arguments| {
            let block = found.block.as_mut_ptr().cast::<u8>();
            let at = |n: u32, more: usize| -> *mut c_void {
                block.wrapping_add(found.offsets[n as usize] as usize + more).cast()
            };
            let launch_extent = |dim: u8| std::ptr::from_ref(&launch.shape[usize::from(dim)]).cast_mut().cast();
            let shape = std::mem::offset_of!(ArrayDescriptor, shape);
            let argument = |argument: &Argument| match *argument {
                Argument::Array(n) => at(n, std::mem::offset_of!(ArrayDescriptor, data)),
                Argument::Extent(n, dim) => at(n, shape + usize::from(dim) * size_of::<i32>()),
                Argument::Value(n) => at(n, 0),
                Argument::Launch(dim) => launch_extent(dim),
            };
            let mut args: Vec<*mut c_void> = entry.arguments.iter().map(argument).collect();
            let FunctionKind::Kernel { rank } = kernel.kind else { return };
            let mut grid = [1; 3];
            match entry.grid {
                1 => grid[0] = launch.shape[..usize::from(rank)].iter().product::<u32>() + 1,
                axes => (0..axes).for_each(|n| grid[usize::from(n)] = launch.shape[usize::from(axes - 1 - n)] + 1),
            }
            run_wrapper(&library, &entry.name, grid.as_ptr().cast(), &mut args);
        };
        for &numbers in numbers {
            if numbers != Numbers::Any || !kernel.name.ends_with("_finite") {
                compare(module, entry.kernel, kernel, numbers, &run, text);
            }
        }
    }
}

/// Which arguments a kernel is given, and how exactly its results must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    /// Any floats, bit for bit.
    Any,
    /// Floats that convert to every integer type, bit for bit.
    Tame,
    /// Floats near one and natural numbers, up to rounding: for what computes the same in another order.
    Near,
}

fn run_wrapper(library: &Library, entry: &str, first: *const c_void, args: &mut [*mut c_void]) {
    // SAFETY: `build` generated an entry of this type; its arguments have the layouts that `abi` states.
    unsafe {
        let entry: Symbol<unsafe extern "C" fn(*const c_void, *mut *mut c_void)> =
            library.get(format!("call_{entry}\0").as_bytes()).expect("an entry for every kernel");
        entry(first, args.as_mut_ptr());
    }
}

/// Compiles the text for the host, with one plain C entry per kernel.
fn build(text: &str, wrappers: &str, folder: &Path) -> Library {
    let asm = [
        ("asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(x));", "half_from_float(bits, x);"),
        ("asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(bits));", "float_from_half(x, bits);"),
    ];
    let mut source = format!("#define __CUDACC_RTC__ 1\n{}\n{text}\n", include_str!("host_shim.h"));
    for (device, host) in asm {
        source = source.replace(device, host);
    }
    assert!(!source.contains("asm("), "inline assembly that the host shim does not know");
    source.push_str(wrappers);
    let (input, output) = (folder.join("kernels.cpp"), folder.join("kernels.so"));
    std::fs::write(&input, source).expect("the temporary folder is writable");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_string());
    let flags = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off"];
    let run = Command::new(&compiler).args(flags).arg("-o").arg(&output).arg(&input).output();
    let run = run.unwrap_or_else(|error| panic!("{compiler} does not start: {error}"));
    assert!(run.status.success(), "{compiler}:\n{}\n{text}", String::from_utf8_lossy(&run.stderr));
    // SAFETY: the library was built from the text just now and has no initialisers.
    unsafe { Library::new(&output) }.expect("what the compiler built can be loaded")
}

#[track_caller]
fn compare(
    module: &Module,
    id: FuncId,
    kernel: &Function,
    numbers: Numbers,
    run: &dyn Fn(&LaunchBounds, &mut Arguments),
    text: &str,
) {
    let FunctionKind::Kernel { rank } = kernel.kind else { return };
    let launch = LaunchBounds::new(&LAUNCH[..usize::from(rank)]).expect("a small launch");
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    let expected = Arguments::new(module, &types, numbers);
    let mut outcome = Outcome::new(|_| {});
    // SAFETY: the argument block describes memory that `expected` owns.
    unsafe { run_kernel(module, id, &launch, expected.block.as_ptr().cast(), 0, u64::MAX, &mut outcome) };
    assert!(outcome.trap.is_none(), "{}: {:?}", kernel.name, outcome.trap);
    let mut found = Arguments::new(module, &types, numbers);
    run(&launch, &mut found);
    for (n, (e, f)) in expected.arrays.iter().zip(&found.arrays).enumerate() {
        let differs = match numbers {
            Numbers::Near => e.first_far(f),
            Numbers::Any | Numbers::Tame => e.first_difference(f),
        };
        assert!(
            differs.is_none(),
            "kernel `{}`, array {n}: the CUDA text differs from the IR at scalar {differs:?}\n{text}",
            kernel.name
        );
    }
}

/// Argument values that are the same for every run: numbers from a fixed sequence.
struct Arguments {
    /// The argument struct, in words for its alignment.
    block: Vec<u64>,
    offsets: Vec<u32>,
    arrays: Vec<Memory>,
}

/// The memory of one array: its scalars one after the other.
struct Memory {
    words: Vec<u64>,
    /// Offset in bytes and type of each scalar.
    scalars: Vec<(usize, Scalar)>,
}

impl Arguments {
    fn new(module: &Module, types: &[Type], numbers: Numbers) -> Arguments {
        let (offsets, layout) = argument_layout(types, &module.structs);
        let mut filler = Filler { module, state: 0x2545_f491_4f6c_dd1d, numbers, arrays: Vec::new() };
        let mut block = vec![0u64; (layout.size as usize).div_ceil(8)];
        for (&ty, &offset) in types.iter().zip(&offsets) {
            filler.fill(ty, bytes(&mut block), offset as usize);
        }
        Arguments { block, offsets, arrays: filler.arrays }
    }

    /// Where each argument lies.
    fn addresses(&mut self) -> Vec<*mut c_void> {
        let base = self.block.as_mut_ptr().cast::<u8>();
        self.offsets.iter().map(|&offset| base.wrapping_add(offset as usize).cast()).collect()
    }
}

impl Memory {
    /// The first scalar that differs by more than rounding does.
    fn first_far(&self, other: &Memory) -> Option<usize> {
        let (a, b) = (words_as_bytes(&self.words), words_as_bytes(&other.words));
        let numbers = |of: &[u8]| -> Vec<Option<f64>> {
            let part = |&(offset, scalar): &(usize, Scalar)| float_in(&of[offset..][..scalar.size() as usize], scalar);
            self.scalars.iter().map(part).collect()
        };
        let (a, b) = (numbers(a), numbers(b));
        let most = a.iter().flatten().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
        let far = |(n, (a, b)): (usize, (&Option<f64>, &Option<f64>))| {
            let (Some(a), Some(b)) = (a, b) else {
                let (offset, scalar) = self.scalars[n];
                let bytes = |words| &words_as_bytes(words)[offset..][..scalar.size() as usize];
                return (bytes(&self.words) != bytes(&other.words)).then_some(n);
            };
            let near = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()) + 1e-6 * most;
            (!near).then_some(n)
        };
        a.iter().zip(&b).enumerate().find_map(far)
    }

    fn first_difference(&self, other: &Memory) -> Option<usize> {
        let (a, b) = (words_as_bytes(&self.words), words_as_bytes(&other.words));
        self.scalars.iter().position(|&(offset, scalar)| {
            let size = scalar.size() as usize;
            let (a, b) = (&a[offset..offset + size], &b[offset..offset + size]);
            // Which NaN it is stays open.
            a != b && !(is_nan(a, scalar) && is_nan(b, scalar))
        })
    }
}

/// The number in these bytes, if they are a float.
fn float_in(bytes: &[u8], scalar: Scalar) -> Option<f64> {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    kc::ir::Const::new(scalar, u64::from_le_bytes(bits)).as_float()
}

fn is_nan(bytes: &[u8], scalar: Scalar) -> bool {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    let constant = kc::ir::Const::new(scalar, u64::from_le_bytes(bits));
    constant.as_float().is_some_and(f64::is_nan)
}

fn bytes(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: every byte of a u64 is initialised, and u8 has no alignment.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len() * 8) }
}

fn words_as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

struct Filler<'a> {
    module: &'a Module,
    state: u64,
    numbers: Numbers,
    arrays: Vec<Memory>,
}

impl Filler<'_> {
    /// Writes a value of a type.
    fn fill(&mut self, ty: Type, out: &mut [u8], offset: usize) {
        match ty {
            Type::Array(array) => {
                let descriptor = self.array(array.element, array.ndim);
                // SAFETY: the descriptor is plain data without padding.
                let raw: [u8; size_of::<ArrayDescriptor>()] = unsafe { std::mem::transmute(descriptor) };
                out[offset..offset + raw.len()].copy_from_slice(&raw);
            }
            Type::Struct(id) => {
                let module = self.module;
                for (n, field) in module.structs[id].fields.iter().enumerate() {
                    let at = Layout::step_offset(ty, n as u32, &module.structs) as usize;
                    self.fill(field.ty, out, offset + at);
                }
            }
            Type::Local(_) => panic!("kernels take no local arrays"),
            _ => {
                let scalar = ty.scalar_part().expect("a scalar or composite");
                let size = scalar.size() as usize;
                for n in 0..ty.scalar_count().expect("a scalar or composite") as usize {
                    let bits = self.number(scalar).to_le_bytes();
                    out[offset + n * size..][..size].copy_from_slice(&bits[..size]);
                }
            }
        }
    }

    fn array(&mut self, element: Element, ndim: u8) -> ArrayDescriptor {
        let structs = &self.module.structs;
        let layout = Layout::of_element(element, structs);
        let (mut shape, mut strides) = ([0; 4], [0; 4]);
        let mut stride = layout.size as i32;
        for d in (0..usize::from(ndim)).rev() {
            shape[d] = EXTENTS[d];
            strides[d] = stride;
            stride *= shape[d];
        }
        let count = stride as usize / layout.size as usize;
        let mut words = vec![0u64; (stride as usize).div_ceil(8)];
        let mut scalars = Vec::new();
        for n in 0..count {
            self.fill(element.into(), bytes(&mut words), n * layout.size as usize);
            self.scalars(element.into(), n * layout.size as usize, &mut scalars);
        }
        let data = words.as_mut_ptr().expose_provenance() as u64;
        self.arrays.push(Memory { words, scalars });
        ArrayDescriptor { data, grad: 0, shape, strides, ndim: ndim.into(), flags: 0 }
    }

    fn scalars(&self, ty: Type, offset: usize, out: &mut Vec<(usize, Scalar)>) {
        match ty {
            Type::Struct(id) => {
                for (n, field) in self.module.structs[id].fields.iter().enumerate() {
                    let at = Layout::step_offset(ty, n as u32, &self.module.structs) as usize;
                    self.scalars(field.ty, offset + at, out);
                }
            }
            Type::Array(_) | Type::Local(_) => {}
            _ => {
                let scalar = ty.scalar_part().expect("a scalar or composite");
                let size = scalar.size() as usize;
                out.extend((0..ty.scalar_count().unwrap_or(0) as usize).map(|n| (offset + n * size, scalar)));
            }
        }
    }

    /// The bits of the next number. Integers are small, so that they can be indices from either end.
    fn number(&mut self, scalar: Scalar) -> u64 {
        // xorshift64 (Marsaglia, "Xorshift RNGs", 2003)
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let draw = self.state >> 20;
        let constant = match scalar {
            Scalar::Bool => kc::ir::Const::bool(draw.is_multiple_of(2)),
            s if s.is_signed_int() && self.numbers == Numbers::Near => kc::ir::Const::int(s, i128::from(draw % 4)),
            s if s.is_signed_int() => kc::ir::Const::int(s, i128::from(draw % 8) - 4),
            s if s.is_int() => kc::ir::Const::int(s, i128::from(draw % 4)),
            s if self.numbers == Numbers::Near => kc::ir::Const::float(s, 0.5 + (draw % 4096) as f64 / 4096.0),
            s => {
                const SPECIAL: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e30, 1e-40];
                let special = SPECIAL.get((draw % 40) as usize).filter(|_| self.numbers == Numbers::Any);
                let ordinary = ((draw >> 8) % 4001) as f64 / 100.0 - 20.0;
                kc::ir::Const::float(s, special.copied().unwrap_or(ordinary))
            }
        };
        constant.bits
    }
}
