//! How does a row's kernel run by itself? CUDA text with a host `main` that launches it once, compares what it finds with
//! what is right, and says so.

use std::fmt::Write;

use super::artefacts::Compiled;
use super::launch::Size;
use crate::codegen::abi::{self, LaunchBounds, Phase};
use crate::run::args::{Arguments, BoundArray};
use crate::run::elements::leaves;
use crate::types::{Scalar, Type};

/// The file; None for kernels whose arguments have no plain form in C (arrays of structs). `before` and `after` are the
/// arguments of one launch.
pub fn source(compiled: &Compiled, cuda: &str, size: &Size, before: &Arguments, after: &Arguments) -> Option<String> {
    let module = &compiled.program.module;
    let kernel = &module.functions[compiled.forward];
    let bounds = LaunchBounds::new(&size.threads)?;
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    let (offsets, _) = abi::argument_layout(&types, &module.structs);
    let (mut data, mut setup, mut arguments, mut checks, mut end) =
        (String::new(), String::new(), String::new(), String::new(), String::new());
    for (n, &ty) in types.iter().enumerate() {
        let name = kernel.param_name(n);
        let _ = write!(arguments, ", &{name}_arg");
        if let Type::Array(_) = ty {
            let array = before.arrays.iter().find(|array| array.key == name)?;
            let (element, first, count) = values(before, array, compiled)?;
            let (_, last, _) = values(after, after.arrays.iter().find(|array| array.key == name)?, compiled)?;
            let _ = writeln!(data, "static const {element} {name}_before[] = {{{first}}};");
            let _ = writeln!(
                setup,
                "    {element}* {name}_data = upload({name}_before, {count});\n    array_arg {name}_arg = {{{name}_data, nullptr, {{{}}}, {{{}}}, {}, 0}};",
                four(array.shape.iter().map(|&n| i64::from(n))),
                four(array.strides.iter().copied()),
                array.shape.len()
            );
            if first != last {
                let _ = writeln!(data, "static const {element} {name}_after[] = {{{last}}};");
                let _ = writeln!(checks, "    good &= compare(\"{name}\", {name}_data, {name}_after, {count});");
            }
            let _ = writeln!(end, "    cudaFree({name}_data);");
        } else {
            let bytes = before.bytes_at(offsets[n], crate::types::Layout::of(ty, &module.structs).size)?;
            let _ = writeln!(setup, "    {}", value(name.as_str(), ty, bytes));
        }
    }
    let entry = abi::device_entry(&kernel.source_name, Phase::Forward);
    let block = 256;
    let grid = bounds.size.div_ceil(block).max(1);
    let shape = four(bounds.shape.iter().map(|&n| i64::from(n)));
    Some(format!(
        "{cuda}{HELPERS}\n{data}\nint main()\n{{\n    struct {{ unsigned shape[4]; unsigned long long size; }} dim = {{{{{shape}}}, {size}}};\n{setup}    \
         void* args[] = {{&dim{arguments}}};\n    check(cudaLaunchKernel((const void*){entry}, dim3({grid}), dim3({block}), args, 0, nullptr));\n    \
         check(cudaDeviceSynchronize());\n    bool good = true;\n{checks}{end}    std::puts(good ? \"PASS\" : \"FAIL\");\n    return good ? 0 : 1;\n}}\n",
        size = bounds.size
    ))
}

/// What every such file has above its data.
const HELPERS: &str = "
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

// An array argument: strides in bytes.
struct array_arg {
    void* data;
    void* grad;
    int shape[4];
    int strides[4];
    int ndim;
    int flags;
};

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, \"%s\\n\", cudaGetErrorString(error));
        std::exit(1);
    }
}

template <typename T> static T* upload(const T* values, size_t count)
{
    void* data = nullptr;
    check(cudaMalloc(&data, count * sizeof(T)));
    check(cudaMemcpy(data, values, count * sizeof(T), cudaMemcpyHostToDevice));
    return (T*)data;
}

// Floats may differ a little: compilers fuse multiplications and additions.
template <typename T> static bool compare(const char* name, const T* data, const T* expected, size_t count)
{
    T* found = (T*)std::malloc(count * sizeof(T));
    check(cudaMemcpy(found, data, count * sizeof(T), cudaMemcpyDeviceToHost));
    double worst = 0.0;
    for (size_t n = 0; n < count; ++n) {
        double error = std::fabs((double)found[n] - (double)expected[n]) / (1.0 + std::fabs((double)expected[n]));
        if (!(error <= worst)) worst = error;
    }
    std::free(found);
    std::printf(\"%s: largest error %g\\n\", name, worst);
    return worst <= 1e-4;
}
";

/// C type, initialiser and count of an array's scalars.
fn values(arguments: &Arguments, array: &BoundArray, compiled: &Compiled) -> Option<(&'static str, String, usize)> {
    let structs = &compiled.program.module.structs;
    let all = leaves(array.ty.element.into(), structs)?;
    let [leaf] = all.as_slice() else { return None };
    let bytes = arguments.gather(array, leaf);
    let words = bytes.as_chunks::<4>().0;
    let (element, list): (_, Vec<String>) = match leaf.scalar {
        Scalar::F32 => ("float", words.iter().map(|w| float(f32::from_le_bytes(*w))).collect()),
        Scalar::I32 => ("int", words.iter().map(|w| i32::from_le_bytes(*w).to_string()).collect()),
        _ => return None,
    };
    Some((element, list.join(", "), words.len()))
}

fn float(x: f32) -> String {
    format!("{x:?}f")
}

/// A scalar as such; other values as the bytes that they lie in memory as.
fn value(name: &str, ty: Type, bytes: &[u8]) -> String {
    match (ty, bytes.as_chunks::<4>().0) {
        (Type::Scalar(Scalar::F32), [word]) => format!("float {name}_arg = {};", float(f32::from_le_bytes(*word))),
        (Type::Scalar(Scalar::I32), [word]) => format!("int {name}_arg = {};", i32::from_le_bytes(*word)),
        (Type::Vec(_, Scalar::F32) | Type::Quat(Scalar::F32) | Type::Mat(_, _, Scalar::F32), words) => {
            let list: Vec<String> = words.iter().map(|w| float(f32::from_le_bytes(*w))).collect();
            format!("alignas(16) float {name}_arg[] = {{{}}};", list.join(", "))
        }
        _ => {
            let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("alignas(16) unsigned char {name}_arg[] = {{{}}};", list.join(", "))
        }
    }
}

/// Four numbers; those that are missing are 0 and not read, or for extents of a launch 1.
fn four(numbers: impl Iterator<Item = i64>) -> String {
    let list: Vec<String> = numbers.chain(std::iter::repeat(0)).take(4).map(|n| n.to_string()).collect();
    list.join(", ")
}
