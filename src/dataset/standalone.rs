//! How do a row's kernels run by themselves? CUDA C++ with a host `main` that launches each of
//! them, and its gradient behind it, compares what it finds with what is right, and says so by its
//! exit status.
//!
//! The host part has a namespace of its own, so that no name of the kernel meets one of it.

use std::fmt::Write;

use super::artefacts::Compiled;
use super::launch;
use super::plan::{Given, Plan};
use super::verify::Launched;
use crate::abi::{self, LaunchBounds};
use crate::run::args::elements::{Leaf, leaves};
use crate::run::args::{Arguments, BoundArray};
use crate::run::gradients::gradcheck::{self, Sample};
use crate::run::launch::Direction;
use crate::types::{Layout, Scalar, Type};

/// Threads of a block of the launch.
const BLOCK: u64 = 256;

/// The seed of the adjoints that gradients begin with.
const SEED: u64 = 1;

/// The file. `cuda` is the text of all kernels, `launched` holds the arguments of each launch
/// before and after it. None: there is an argument that cannot be written as numbers (16-bit
/// floats, arrays in structs, arrays without elements).
pub fn source(compiled: &Compiled, cuda: &str, plan: &Plan, launched: &[Launched]) -> Option<String> {
    let module = &compiled.program.module;
    let mut out = Parts::default();
    let several = plan.steps.len() > 1;
    // What the last launch of each array leaves is compared.
    let mut arrays: Vec<(&str, usize, &BoundArray, (usize, &BoundArray))> = Vec::new();
    for (n, (step, Launched { before, after, .. })) in plan.steps.iter().zip(launched).enumerate() {
        for (array, changed) in before.arrays.iter().zip(&after.arrays) {
            let name = step.array_of(&array.key);
            match arrays.iter_mut().find(|(other, ..)| *other == name) {
                Some(found) => found.3 = (n, changed),
                None => arrays.push((name, n, array, (n, changed))),
            }
        }
    }
    let mut uploaded: Vec<&str> = Vec::new();
    let mut launches = String::new();
    for (n, (step, Launched { size, before, .. })) in plan.steps.iter().zip(launched).enumerate() {
        let id = compiled.kernels.iter().find(|kernel| kernel.name == step.kernel)?.forward;
        let kernel = &module.functions[id];
        let entry = abi::device_entry(&kernel.source_name, kernel.phase);
        let declared = parameters(cuda, &entry)?;
        let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
        let (offsets, _) = abi::argument_layout(&types, &module.structs);
        let bounds = LaunchBounds::new(&size.threads)?;
        let ((_, dim), declared) = declared.split_first()?;
        if declared.len() != types.len() {
            return None;
        }
        let local = |name: &str| if several { format!("{name}_{n}") } else { name.to_string() };
        let shape: Vec<String> = bounds.shape.iter().map(u32::to_string).collect();
        let dim = local(dim);
        let _ = writeln!(out.setup, "    launch_bounds {dim} = {{{{{}}}, {}}};", shape.join(", "), bounds.size);
        let mut names = vec![dim];
        let mut own = before.arrays.iter();
        for (((&ty, &offset), (declaration, name)), param) in types.iter().zip(&offsets).zip(declared).zip(&step.params)
        {
            let name = local(name);
            if let Given::Engine { .. } = param.given {
                // Its id leads to memory of this process.
                return None;
            }
            if let Type::Array(_) = ty {
                let array = own.next()?;
                let shared = step.array_of(&param.name);
                let (_, from, first, (to, last)) = *arrays.iter().find(|(other, ..)| *other == shared)?;
                if !uploaded.contains(&shared) {
                    uploaded.push(shared);
                    let (first, last) = ((&launched[from].before, first), (&launched[to].after, last));
                    out.upload(shared, first, last, compiled)?;
                }
                out.describe(declaration, &name, shared, array)?;
            } else {
                let bytes = before.bytes_at(offset, Layout::of(ty, &module.structs).size)?;
                out.value(declaration, &name, bytes, &leaves(ty, &module.structs)?)?;
            }
            names.push(name);
        }
        // Each block of a kernel on tiles does what a thread of other kernels does.
        let grid = if kernel.by_block { bounds.size } else { bounds.size.div_ceil(BLOCK).max(1) };
        let _ = writeln!(launches, "    {entry}<<<{grid}, {BLOCK}>>>({});", names.join(", "));
        launches.push_str("    host::check(cudaGetLastError());\n");
        let reversed = Reversed { compiled, cuda, n, local: &local };
        if let Some(call) = reversed.launch(plan, &launched[n], &names, &mut out) {
            let _ = writeln!(launches, "    {}<<<{grid}, {BLOCK}>>>({});", call.0, call.1);
            launches.push_str("    host::check(cudaGetLastError());\n");
        }
    }
    let Parts { data, setup, checks } = out;
    Some(format!(
        "{cuda}{HELPERS}{data}\n}}  // namespace host\n\nint main()\n{{\n{setup}{launches}    \
         host::check(cudaDeviceSynchronize());\n{checks}    \
         std::puts(host::good ? \"PASS\" : \"FAIL\");\n    return host::good ? 0 : 1;\n}}\n#endif\n",
    ))
}

/// The gradient of a launch, on the arrays as it left them.
struct Reversed<'a> {
    compiled: &'a Compiled,
    cuda: &'a str,
    /// Which launch.
    n: usize,
    local: &'a dyn Fn(&str) -> String,
}

impl Reversed<'_> {
    /// The backward entry and what it is given; None: the kernel has none, or one that needs what
    /// only a special forward entry keeps.
    fn launch(&self, plan: &Plan, launched: &Launched, given: &[String], out: &mut Parts) -> Option<(String, String)> {
        let Reversed { compiled, cuda, n, local } = *self;
        let (module, step) = (&compiled.program.module, plan.steps.get(n)?);
        let kernel = compiled.kernels.iter().find(|kernel| kernel.name == step.kernel)?;
        let backward = &module.functions[kernel.backward.filter(|_| kernel.augmented.is_none())?];
        if !backward.tape.is_empty() {
            return None;
        }
        let entry = abi::device_entry(&backward.source_name, backward.phase);
        let declared = parameters(cuda, &entry)?;
        let adjoints = declared.get(given.len()..).filter(|adjoints| adjoints.len() + 1 == given.len())?;
        let launch = launch::launch(step, &launched.size, &launched.contents, Direction::Gradient);
        let samples = gradcheck::sample(&compiled.program, kernel.forward, &launch, "standalone", SEED).ok()?;
        let mut names = given.to_vec();
        for (declaration, name) in adjoints {
            let name = local(name);
            let _ = writeln!(out.setup, "    {declaration} {name} = {{}};");
            names.push(name);
        }
        for (param, (declaration, name)) in step.params.iter().zip(&declared[1..]) {
            if let Some(sample) = samples.iter().find(|sample| sample.argument == param.name) {
                out.gradient(declaration, &local(name), &param.name, sample)?;
            }
        }
        Some((entry, names.join(", ")))
    }
}

/// Types and names of an entry's parameters, as the text declares them.
pub fn parameters<'a>(cuda: &'a str, entry: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let (_, rest) = cuda.split_once(&format!("void {entry}("))?;
    let (list, _) = rest.split_once(")\n{")?;
    list.split(',').map(|one| one.trim().rsplit_once(' ')).collect()
}

/// What every such file has above its data. The compiler for kernels alone knows no host code.
const HELPERS: &str = r#"
#ifndef __CUDACC_RTC__
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>
#include <cuda_runtime.h>

namespace host {

static bool good = true;

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(2);
    }
}

// Sets numbers inside a value, `offset` bytes from its start.
template <typename T> static void set(void *value, size_t offset, std::initializer_list<T> numbers)
{
    std::memcpy((char *)value + offset, numbers.begin(), numbers.size() * sizeof(T));
}

// The same for an array whose elements take `size` bytes: each gets `width` of the numbers.
template <typename T, size_t N> static void fill(std::vector<char> &bytes, size_t size, size_t offset, size_t width, const T (&numbers)[N])
{
    for (size_t n = 0; n < N; ++n)
        std::memcpy(&bytes[n / width * size + offset + n % width * sizeof(T)], &numbers[n], sizeof(T));
}

// A copy on the GPU.
static void *upload(const std::vector<char> &bytes)
{
    void *data = nullptr;
    check(cudaMalloc(&data, bytes.size()));
    check(cudaMemcpy(data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    return data;
}

// A copy of numbers on the GPU.
template <typename T, size_t N> static T *upload(const T (&numbers)[N])
{
    const char *bytes = (const char *)numbers;
    return (T *)upload(std::vector<char>(bytes, bytes + sizeof(numbers)));
}

// Floats may differ a little, because compilers fuse multiplications and additions.
template <typename T, size_t N>
static void compare(const char *name, const void *data, size_t size, size_t offset, size_t width, const T (&expected)[N],
                    double limit = 1e-4)
{
    std::vector<char> bytes(N / width * size);
    check(cudaMemcpy(bytes.data(), data, bytes.size(), cudaMemcpyDeviceToHost));
    double worst = 0.0;
    for (size_t n = 0; n < N; ++n) {
        T found;
        std::memcpy(&found, &bytes[n / width * size + offset + n % width * sizeof(T)], sizeof(T));
        double error = std::fabs((double)found - (double)expected[n]) / (1.0 + std::fabs((double)expected[n]));
        if (!(error <= worst)) worst = error;
    }
    std::printf("%s: largest error %g\n", name, worst);
    good = good && worst <= limit;
}

"#;

#[derive(Default)]
struct Parts {
    data: String,
    setup: String,
    checks: String,
}

impl Parts {
    fn value(&mut self, declaration: &str, name: &str, bytes: &[u8], leaves: &[Leaf]) -> Option<()> {
        if let [leaf @ Leaf { offset: 0, .. }] = leaves
            && leaf.shape.is_empty()
        {
            let _ = writeln!(self.setup, "    {declaration} {name} = {};", numbers(bytes, leaf.scalar)?.1);
            return Some(());
        }
        let _ = writeln!(self.setup, "    {declaration} {name} = {{}};");
        for leaf in leaves {
            let start = leaf.offset as usize;
            let (element, list) = numbers(bytes.get(start..start + leaf.bytes())?, leaf.scalar)?;
            let _ = writeln!(self.setup, "    host::set<{element}>(&{name}, {start}, {{{list}}});");
        }
        Some(())
    }

    /// The contents of an array, on the GPU as `NAME_data`, and how they are compared.
    fn upload(
        &mut self,
        name: &str,
        (before, array): (&Arguments, &BoundArray),
        (after, changed): (&Arguments, &BoundArray),
        compiled: &Compiled,
    ) -> Option<()> {
        let structs = &compiled.program.module.structs;
        let size = Layout::of_element(array.ty.element, structs).size;
        let count: u32 = array.shape.iter().product();
        if count == 0 {
            return None;
        }
        let _ = writeln!(self.setup, "    std::vector<char> {name}_bytes({count} * {size});");
        for leaf in leaves(array.ty.element.into(), structs)? {
            let Leaf { suffix, offset, scalar, .. } = &leaf;
            let width: u64 = leaf.shape.iter().product();
            let label = format!("{name}{}", suffix.replace('.', "_dot_"));
            let (ty, first) = numbers(&before.gather(array, &leaf), *scalar)?;
            let (_, last) = numbers(&after.gather(changed, &leaf), *scalar)?;
            let _ = writeln!(self.data, "static const {ty} {label}_before[] = {{{first}}};");
            let _ =
                writeln!(self.setup, "    host::fill({name}_bytes, {size}, {offset}, {width}, host::{label}_before);");
            if first != last {
                let _ = writeln!(self.data, "static const {ty} {label}_after[] = {{{last}}};");
                let _ = writeln!(
                    self.checks,
                    "    host::compare(\"{name}{suffix}\", {name}_data, {size}, {offset}, {width}, host::{label}_after);"
                );
            }
        }
        let _ = writeln!(self.setup, "    void *{name}_data = host::upload({name}_bytes);");
        Some(())
    }

    /// The adjoints that a gradient begins with, and what they are to be behind it.
    fn gradient(&mut self, declaration: &str, local: &str, name: &str, sample: &Sample) -> Option<()> {
        let element = declaration.split_once('<')?.1.strip_suffix('>')?;
        let is_double = ["double", "vec2d", "vec3d", "vec4d", "mat22d", "mat33d", "mat44d", "quatd", "transformd"]
            .contains(&element);
        let ty = if is_double { "double" } else { "float" };
        let list = |numbers: &[f64]| {
            let one = |x: &f64| match is_double {
                true => float(*x, format!("{x:?}")),
                false => float(*x, format!("{:?}f", *x as f32)),
            };
            numbers.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let (before, after) = (list(&sample.adjoint), list(&sample.gradient));
        let _ = writeln!(self.data, "static const {ty} {local}_adjoint[] = {{{before}}};");
        let _ = writeln!(self.data, "static const {ty} {local}_gradient[] = {{{after}}};");
        let _ = writeln!(self.setup, "    {ty} *{local}_grad = host::upload(host::{local}_adjoint);");
        let _ = writeln!(self.setup, "    {local}.grad = ({element} *){local}_grad;");
        let _ = writeln!(
            self.checks,
            "    host::compare(\"gradient of {name}\", {local}_grad, sizeof({ty}), 0, 1, host::{local}_gradient, 1e-3);"
        );
        Some(())
    }

    /// An argument for an array that is on the GPU.
    fn describe(&mut self, declaration: &str, name: &str, shared: &str, array: &BoundArray) -> Option<()> {
        let element = declaration.split_once('<')?.1.strip_suffix('>')?;
        let list = |numbers: Vec<String>| numbers.join(", ");
        let shape = list(array.shape.iter().map(u32::to_string).collect());
        let strides = list(array.strides.iter().map(i64::to_string).collect());
        let _ = writeln!(
            self.setup,
            "    {declaration} {name} = {{({element} *){shared}_data, nullptr, {{{shape}}}, {{{strides}}}, {}, 0}};",
            array.shape.len()
        );
        Some(())
    }
}

/// Numbers that lie one after the other: their type in C++ and their list. None: C++ has no such
/// numbers.
fn numbers(bytes: &[u8], scalar: Scalar) -> Option<(&'static str, String)> {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    let size = scalar.size() as usize;
    let words = bytes.chunks_exact(size).map(word);
    let (name, print): (&str, fn(u64) -> String) = match scalar {
        Scalar::F32 => {
            ("float", |w| float(f64::from(f32::from_bits(w as u32)), format!("{:?}f", f32::from_bits(w as u32))))
        }
        Scalar::F64 => ("double", |w| float(f64::from_bits(w), format!("{:?}", f64::from_bits(w)))),
        Scalar::I32 => ("int", |w| match w as i32 {
            i32::MIN => "-2147483647 - 1".to_string(),
            n => n.to_string(),
        }),
        Scalar::I8 => ("signed char", |w| (w as i8).to_string()),
        Scalar::U8 => ("unsigned char", |w| w.to_string()),
        Scalar::I16 => ("short", |w| (w as i16).to_string()),
        Scalar::U16 => ("unsigned short", |w| w.to_string()),
        Scalar::U32 => ("unsigned", |w| format!("{w}u")),
        Scalar::U64 => ("unsigned long long", |w| format!("{w}ull")),
        Scalar::Bool => ("bool", |w| (w != 0).to_string()),
        _ => return None,
    };
    Some((name, words.map(print).collect::<Vec<_>>().join(", ")))
}

/// C++ has no literals for what is no number.
fn float(x: f64, literal: String) -> String {
    match x.is_finite() {
        true => literal,
        false if x.is_nan() => "NAN".to_string(),
        false if x > 0.0 => "INFINITY".to_string(),
        false => "-INFINITY".to_string(),
    }
}
