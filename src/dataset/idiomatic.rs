//! How would a person write a program in CUDA? Kernels with pointers and sizes, and a host function
//! that copies the arrays to the GPU, launches the kernels in order and copies the results back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::artefacts::{self, Compiled};
use super::launch::TILE_THREADS;
use super::plan::{Content, Extent, Given, Plan, Step};
use super::sample::Sample;
use super::standalone;
use crate::codegen::cuda::{self, Abi, Argument, CudaOptions, PlainEntry, Promises, Said};
use crate::driver::remarks;
use crate::source::FileId;

/// Columns of a line.
const WIDTH: usize = 100;

/// What the host part has above its function.
const HELPERS: &str = r#"
#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t status = (call);                                                            \
        if (status != cudaSuccess) {                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));     \
            exit(EXIT_FAILURE);                                                                 \
        }                                                                                       \
    } while (0)

static int div_up(int a, int b) { return (a + b - 1) / b; }

"#;

/// Threads of a block along the axes of a grid of one, two and three dimensions.
const BLOCKS: [&[u32]; 3] = [&[256], &[16, 16], &[8, 8, 4]];

/// The file. `from_end`: an index was negative when the program ran. None: a kernel has no text
/// with pointers (arrays in structs), its tiles ask the launch for memory, or the program is not of
/// the library.
pub fn source(compiled: &Compiled, sample: &Sample, from_end: bool) -> Option<String> {
    let plan = &sample.plan;
    let family = sample.meaning.family?;
    let (module, forward) = compiled.readable_forward();
    let file = module.functions[*forward.first()?].span.file;
    let options = CudaOptions {
        abi: Abi::Plain,
        remarks: remarks::remarks(file, compiled.program.sources.file(FileId(0))),
        promises: promises(plan, compiled, &forward, from_end),
        ..artefacts::cuda_options()
    };
    let known = compiled.compiler.cuda_texts();
    let (kernels, entries) = cuda::emit_with_entries(module, &forward, &options, known).ok()?;
    let is_taken = compiled.kernels.iter().any(|kernel| kernel.name == family);
    let name = if is_taken { format!("run_{family}") } else { family.to_string() };
    let prefix = prefix(plan);
    let mut host = Host { plan, kernels: &kernels, prefix, sizes: BTreeSet::new(), values: Vec::new() };
    let function = host.function(compiled, &entries, &name)?;
    let kernels = kernels.replace("extern \"C\" __global__", "__global__");
    if kernels.contains("extern __shared__") {
        return None;
    }
    let (head, rest) = kernels.split_once("\n\n")?;
    Some(format!("{head}\n\n#include <cstdio>\n#include <cstdlib>\n\n{rest}{HELPERS}{function}"))
}

/// What is known of the extents of all launches of each kernel.
fn promises(plan: &Plan, compiled: &Compiled, forward: &[crate::ir::FuncId], from_end: bool) -> Promises {
    let said = compiled.kernels.iter().zip(forward).map(|(kernel, &id)| {
        let mut launches = plan.steps.iter().filter(|step| step.kernel == kernel.name).map(facts);
        let mut common = launches.next().unwrap_or_default();
        for other in launches {
            common.retain(|argument, said| other.get(argument) == Some(said));
        }
        (id, common)
    });
    Promises { small: !from_end && is_small(plan), said: said.collect() }
}

/// What arrays on the GPU begin with: `d_`, where no name of the program does.
fn prefix(plan: &Plan) -> &'static str {
    let params = plan.steps.iter().flat_map(|step| &step.params).map(|param| param.name.as_str());
    let arrays = plan.steps.iter().flat_map(|step| &step.bound).map(|(_, array)| array.as_str());
    let names: Vec<&str> = params.chain(arrays).chain(plan.symbols.iter().map(|symbol| symbol.name.as_str())).collect();
    let is_free = |prefix: &&&str| !names.iter().any(|name| name.starts_with(**prefix));
    ["d_", "dev_"].iter().find(is_free).copied().unwrap_or("on_gpu_")
}

/// Whether the integers that launches pass are small; sizes are.
fn is_small(plan: &Plan) -> bool {
    fn is_small(given: &Given) -> bool {
        match given {
            Given::Int(n) => n.unsigned_abs() < 1 << 28,
            Given::Struct(fields) => fields.iter().all(|(_, field)| is_small(field)),
            Given::Array { .. } | Given::Engine { .. } | Given::Float(_) | Given::Bool(_) | Given::Count(_) => true,
        }
    }
    let is_large = |text: &str| text.parse::<i64>().is_ok_and(|n| n.unsigned_abs() >= 1 << 28);
    plan.steps.iter().all(|step| {
        let bound = step.bound.iter().any(|(_, number)| is_large(number));
        !bound && step.params.iter().all(|param| is_small(&param.given))
    })
}

/// The extents of a launch that something else says: numbers, then the launch, then arrays before.
fn facts(step: &Step) -> BTreeMap<Argument, Said> {
    let is_bound = |name: &str| step.bound.iter().any(|(bound, _)| bound == name);
    let mut known: Vec<(Extent, Argument)> = Vec::new();
    for (n, param) in (0..).zip(&step.params) {
        if let Given::Count(extent @ Extent::Axis { .. }) = param.given
            && !is_bound(&param.name)
        {
            known.push((extent, Argument::Value(n)));
        }
    }
    let arrays = (0..).zip(&step.params).flat_map(|(n, param)| match &param.given {
        Given::Array { shape, .. } => (0..).zip(shape).map(|(dim, &e)| (Argument::Extent(n, dim), e)).collect(),
        _ => Vec::new(),
    });
    let launch = (0..).zip(&step.dims).map(|(dim, &extent)| (Argument::Launch(dim), extent));
    let mut out = BTreeMap::new();
    for (argument, extent) in launch.chain(arrays) {
        match (extent, known.iter().find(|(other, _)| *other == extent)) {
            (Extent::Fixed(n), _) => _ = out.insert(argument, Said::Number(n)),
            (_, Some(&(_, says))) => _ = out.insert(argument, Said::Parameter(says)),
            (_, None) => known.push((extent, argument)),
        }
    }
    out
}

/// An array that launches share.
struct Buffer {
    name: String,
    /// Of an element, in C++.
    ty: String,
    shape: Vec<Extent>,
    content: Content,
    is_written: bool,
}

/// The function that launches the kernels, in the making.
struct Host<'a> {
    plan: &'a Plan,
    kernels: &'a str,
    /// What names of arrays on the GPU begin with.
    prefix: &'static str,
    /// Symbols that it needs.
    sizes: BTreeSet<usize>,
    /// Numbers and structs that it hands on: declaration and name.
    values: Vec<(String, String)>,
}

impl Host<'_> {
    fn function(&mut self, compiled: &Compiled, entries: &[PlainEntry], name: &str) -> Option<String> {
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut launches = String::new();
        for step in &self.plan.steps {
            let nth = compiled.kernels.iter().position(|kernel| kernel.name == step.kernel)?;
            let entry = entries.get(nth)?;
            let declared = standalone::parameters(self.kernels, &entry.name)?;
            if declared.len() != entry.arguments.len() {
                return None;
            }
            let mut given = Vec::new();
            for (&argument, (declaration, _)) in entry.arguments.iter().zip(declared) {
                given.push(self.argument(step, argument, declaration, &mut buffers)?);
            }
            let (grid, block) = self.grid(step, entry);
            let call = format!("    {}<<<{grid}, {block}>>>(", entry.name);
            launches += &wrapped(&call, &given, ");\n", 8);
            launches += "    CHECK(cudaGetLastError());\n";
        }
        let (mut before, mut after, mut frees) = (String::new(), String::new(), String::new());
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let prefix = self.prefix;
        for buffer in &buffers {
            let Buffer { name, ty, shape, content, is_written } = buffer;
            let is_result = *is_written && self.plan.expected.contains(name);
            let extents: Vec<String> = shape.iter().map(|&extent| self.extent(extent)).collect();
            let factors = extents.iter().map(|e| if e.contains(' ') { format!("({e})") } else { e.clone() });
            let factors: Vec<String> = factors.filter(|factor| factor != "1").collect();
            let size = match factors.is_empty() {
                true => format!("sizeof({ty})"),
                false => format!("(size_t){} * sizeof({ty})", factors.join(" * ")),
            };
            let _ = writeln!(before, "    size_t {name}_bytes = {size};");
            let _ = writeln!(before, "    {ty} *{prefix}{name};");
            let _ = writeln!(before, "    CHECK(cudaMalloc(&{prefix}{name}, {name}_bytes));");
            if *content == Content::Zero {
                let _ = writeln!(before, "    CHECK(cudaMemset({prefix}{name}, 0, {name}_bytes));");
            } else {
                let _ = writeln!(
                    before,
                    "    CHECK(cudaMemcpy({prefix}{name}, {name}, {name}_bytes, cudaMemcpyHostToDevice));"
                );
            }
            before.push('\n');
            if is_result {
                after += &copied(name, &format!("{prefix}{name}"), name, "DeviceToHost");
                outputs.push(format!("{ty} *{name}"));
            } else if *content != Content::Zero {
                inputs.push(format!("const {ty} *{name}"));
            }
            let _ = writeln!(frees, "    CHECK(cudaFree({prefix}{name}));");
        }
        let sizes = self.sizes.iter().filter_map(|&at| self.plan.symbols.get(at));
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if sizes.clone().any(|symbol| !is_name(&symbol.name)) {
            return None;
        }
        let sizes = sizes.map(|symbol| format!("int {}", symbol.name));
        let values = self.values.iter().map(|(declaration, name)| format!("{declaration} {name}"));
        let params: Vec<String> = inputs.into_iter().chain(outputs).chain(values).chain(sizes).collect();
        let head = wrapped(&format!("void {name}("), &params, ")\n{\n", 4);
        let doc = "// Copies the arrays to the GPU, launches the kernels in order and copies the results back.\n";
        Some(format!("{doc}{head}{before}{launches}\n{after}{frees}}}\n"))
    }

    /// What a launch passes for a parameter.
    fn argument(
        &mut self,
        step: &Step,
        argument: Argument,
        declaration: &str,
        buffers: &mut Vec<Buffer>,
    ) -> Option<String> {
        match argument {
            Argument::Array(n) => {
                let param = step.params.get(n as usize)?;
                let Given::Array { shape, content } = &param.given else { return None };
                let name = step.array_of(&param.name);
                let is_written = !declaration.starts_with("const ");
                match buffers.iter_mut().find(|buffer| buffer.name == name) {
                    Some(buffer) => buffer.is_written |= is_written,
                    None => {
                        let ty = declaration.trim_start_matches("const ").split_once('*')?.0.trim().to_string();
                        let (name, shape) = (name.to_string(), shape.clone());
                        buffers.push(Buffer { name, ty, shape, content: *content, is_written });
                    }
                }
                Some(format!("{}{name}", self.prefix))
            }
            Argument::Extent(n, dim) => match &step.params.get(n as usize)?.given {
                Given::Array { shape, .. } => Some(self.extent(*shape.get(usize::from(dim))?)),
                _ => None,
            },
            Argument::Launch(dim) => Some(self.extent(*step.dims.get(usize::from(dim))?)),
            Argument::Value(n) => {
                let param = step.params.get(n as usize)?;
                if let Some((_, number)) = step.bound.iter().find(|(name, _)| *name == param.name) {
                    return Some(number.clone());
                }
                match &param.given {
                    Given::Array { .. } | Given::Engine { .. } => return None,
                    Given::Count(extent) => return Some(self.extent(*extent)),
                    Given::Struct(fields) if fields.iter().any(|(_, field)| matches!(field, Given::Array { .. })) => {
                        return None;
                    }
                    Given::Float(_) | Given::Int(_) | Given::Bool(_) | Given::Struct(_) => {}
                }
                if !self.values.iter().any(|(_, name)| *name == param.name) {
                    self.values.push((declaration.to_string(), param.name.clone()));
                }
                Some(param.name.clone())
            }
        }
    }

    /// The grid and the block of a launch: a thread for each, the last extent along x.
    fn grid(&mut self, step: &Step, entry: &PlainEntry) -> (String, String) {
        let extents: Vec<String> = step.dims.iter().map(|&extent| self.extent(extent)).collect();
        let block_threads = if entry.by_block { TILE_THREADS } else { 256 };
        if entry.by_block && entry.grid > 1 {
            let along: Vec<String> = extents.iter().rev().cloned().collect();
            return (format!("dim3({})", along.join(", ")), block_threads.to_string());
        }
        if entry.grid == 1 {
            let factors = extents.iter().map(|e| if e.contains(' ') { format!("({e})") } else { e.clone() });
            let threads = if extents.len() == 1 { extents.concat() } else { factors.collect::<Vec<_>>().join(" * ") };
            let grid = if entry.by_block { threads } else { format!("div_up({threads}, {block_threads})") };
            return (grid, block_threads.to_string());
        }
        let block = BLOCKS.get(extents.len() - 1).copied().unwrap_or(&[256]);
        let blocks: Vec<String> =
            extents.iter().rev().zip(block).map(|(extent, size)| format!("div_up({extent}, {size})")).collect();
        let sizes: Vec<String> = block.iter().map(u32::to_string).collect();
        (format!("dim3({})", blocks.join(", ")), format!("dim3({})", sizes.join(", ")))
    }

    fn extent(&mut self, extent: Extent) -> String {
        if let Extent::Axis { axis, .. } = extent {
            self.sizes.insert(axis);
        }
        extent.text(&self.plan.symbols)
    }
}

/// The line that copies an array.
fn copied(to: &str, from: &str, name: &str, way: &str) -> String {
    let items = [to.to_string(), from.to_string(), format!("{name}_bytes"), format!("cudaMemcpy{way}")];
    wrapped("    CHECK(cudaMemcpy(", &items, "));\n", 8)
}

/// `head`, the items with commas between them, and `tail`, in lines that are no wider than others.
fn wrapped(head: &str, items: &[String], tail: &str, indent: usize) -> String {
    let line = format!("{head}{}", items.join(", "));
    if line.len() + tail.lines().next().map_or(0, str::len) <= WIDTH {
        return line + tail;
    }
    let mut out = head.to_string();
    let mut column = usize::MAX;
    for (n, item) in items.iter().enumerate() {
        let comma = if n + 1 < items.len() { "," } else { "" };
        if column.saturating_add(item.len() + 2) > WIDTH {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        let _ = write!(out, "{item}{comma}");
        column += item.len() + comma.len();
    }
    out + tail
}
