//! What must a program know to call the kernels without a C compiler? A JSON description: kernels,
//! their parameters with entries (forward, augmented, backward) with the parameters, types, offsets
//! and sizes of each, tape buffers, structs. Types are written as in launch files.

use std::collections::BTreeMap;

use serde::Serialize;

use super::blocks;
use super::privatization::{self, NamedApart, Summed};
use super::sites::SitePlace;
use crate::abi::{self, Phase};
use crate::analysis::{grain, order};
use crate::ir::{Derivative, FuncId, Function, FunctionKind, Module, ParamRole, TapeRole, Unit};
use crate::passes::block_threads::{self, Tensor};
use crate::types::{Layout, StructTable, Type};

/// The version of the description's format.
pub const FORMAT: u32 = 2;

/// What the description says about the compilation.
#[derive(Default)]
pub struct MetaOptions {
    /// The name of the source file, without folders.
    pub source_name: String,
    /// The GPU architectures that PTX was made for: `sm_90`.
    pub architectures: Vec<String>,
    /// PTX takes every array for a dense row-major one.
    pub contiguous: bool,
    /// PTX is only to be launched with grids that cover the launch.
    pub covering: bool,
    /// The processors that an object of several versions has its entries for.
    pub processors: Vec<String>,
    pub sites: Vec<SitePlace>,
    /// What multiplies matrices in PTX.
    pub tensor: Tensor,
    /// The same of CUDA text.
    pub text_tensor: Tensor,
    /// The bytes of the stack that each entry of the object needs, where it was made too.
    pub stack: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Description {
    format: u32,
    generator: String,
    source: String,
    architectures: Vec<String>,
    /// What arrays PTX takes: `strided`, any, or `contiguous`, dense row-major ones alone.
    layout: &'static str,
    /// What grids PTX takes: `any`, or `covering`, those with a thread for each task of the launch
    /// alone.
    grid: &'static str,
    /// Which products of tiles PTX computes with instructions for matrices: `off`, `on`, or `tf32`.
    tensor_cores: &'static str,
    /// The processors that the host entries of one object are made for, of which a call takes the
    /// last that the machine has; absent where it is made for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processors: Vec<String>,
    /// Bytes.
    launch_bounds_size: usize,
    array_descriptor_size: usize,
    kernels: Vec<Kernel>,
    structs: BTreeMap<String, Struct>,
    /// What `kc_status.site` means in runs of the object: with `--checked` all accesses and
    /// components, and always the asserts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sites: Vec<SitePlace>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    /// Coordinates of a thread.
    rank: u8,
    /// Why there is no backward entry, where that is no fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_gradient: Option<String>,
    /// By phase: `forward`, `augmented`, `backward`.
    entries: BTreeMap<Phase, EntryDescription>,
}

#[derive(Serialize)]
struct EntryDescription {
    /// The names of the device and the host entry.
    cuda: String,
    cpu: String,
    /// The struct of host arguments, in bytes. Device entries take the launch and then each
    /// argument by value.
    args_size: u32,
    args_align: u32,
    host: Host,
    params: Vec<Param>,
    /// The entry computes once for each block of threads, of any number: the launch has the
    /// coordinates of blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<Block>,
    /// What is in the buffer with the role `parameters`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameter_gradients: Vec<ParameterGradient>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tape: Vec<Buffer>,
    /// What the loops of the reverse keep per thread, and where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<KeptState>,
    /// Of all tape buffers together; null where compilation can't tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    tape_bytes_per_thread: Option<Option<u64>>,
}

/// How callers may divide launches of the host entry.
#[derive(Serialize)]
struct Host {
    /// Whether several threads of the caller may run ranges of one launch at once. Otherwise the
    /// kernel prints: one runs it, in order.
    parallel: bool,
    /// The fewest threads of a launch that are worth a thread of the caller.
    grain: u64,
    /// Whether the results are then the same in any order. Otherwise sums of floats round by it, or
    /// old values tell who came first.
    same_in_any_order: bool,
    /// The entry that updates memory without atomics, while nobody else works on what it updates;
    /// absent where none of the kernel's updates is atomic.
    #[serde(skip_serializing_if = "Option::is_none")]
    alone: Option<String>,
    /// The arrays that the kernel only adds to: with copies of them for each thread of the caller,
    /// `alone` may run parts of a launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<Vec<String>>,
    /// Those among them that parts of a launch may add to side by side, without copies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    apart: Vec<Apart>,
    /// The bytes of the stack that a thread needs at most which calls the entry, or `alone`;
    /// functions of the C library and callbacks come on top. Absent where no object was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack_bytes: Option<u64>,
}

/// How parts of a launch, cut between rows (threads with one first coordinate), are apart in an
/// array.
#[derive(Serialize)]
struct Apart {
    array: String,
    #[serde(flatten)]
    rows: Rows,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Rows {
    /// Rows with more than `gap` others between them, except for the first `head` ones, which run
    /// alone.
    Bands { gap: u32, head: u32 },
    /// All, if the numbers of this array rise: from the element `first` on, one for each row and
    /// one more, none below 0, all in the array and not stored to by the kernel.
    Ranges { rising: String, first: u32 },
}

#[derive(Serialize)]
struct Block {
    /// Of PTX.
    #[serde(flatten)]
    shared: Shared,
    /// Of CUDA text, where it takes other memory than PTX.
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_text: Option<Shared>,
    /// How many threads a launch has in a block, where that is certain: they have values of their
    /// own.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u32>,
    /// How PTX computes the products of tiles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    products: Vec<ProductOfTiles>,
}

/// Bytes of shared memory on GPUs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize)]
struct Shared {
    /// Static; null where there is no code for GPUs.
    shared_bytes: Option<u64>,
    /// Dynamic: a launch has to ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamic_shared_bytes: Option<u64>,
}

impl From<blocks::Memory> for Shared {
    fn from(memory: blocks::Memory) -> Shared {
        let asked = Some(memory.asked).filter(|&asked| asked > 0);
        Shared { shared_bytes: Some(memory.own), dynamic_shared_bytes: asked }
    }
}

#[derive(Serialize)]
struct ProductOfTiles {
    /// Rows and columns of the result, and the length of the sums.
    size: [u32; 3],
    factors: [&'static str; 2],
    /// `tf32` where the program allows less than `float32`.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<&'static str>,
    /// The kind of instruction; null: chains of `fma`.
    tensor_cores: Option<&'static str>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize)]
struct Param {
    /// `argument`, `adjoint`, or `tape`.
    role: &'static str,
    /// Of an adjoint: the argument's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    #[serde(flatten)]
    member: Member,
}

/// The gradient of something that a kernel is given by value.
#[derive(Serialize)]
struct ParameterGradient {
    /// `s`, or `p.k` in a struct.
    of: String,
    /// Its first number in the buffer, and how many there are.
    slot: u32,
    slots: u32,
}

/// A buffer `[slot][thread]` of scalars that the caller provides (`needed`: one int64;
/// `parameters`: `[slot]`).
#[derive(Serialize)]
struct Buffer {
    param: String,
    /// `parameters`: gradients of what is given by value, to which the backward entry adds; null
    /// where they are not wanted. `log`: written by the augmented entry, read by the backward
    /// entry. `state`: scratch of the backward entry. `needed`: receives the slots that the thread
    /// with the most wants.
    role: &'static str,
    scalar: &'static str,
    bytes_per_slot: u32,
    /// The slots that a thread needs at most; null where compilation can't tell.
    slots: Option<u32>,
    reason: String,
}

/// What one loop keeps for its reverse.
#[derive(Serialize)]
struct KeptState {
    /// `stack`: local memory, a slot per iteration. `tape`: the buffers with the role `state`.
    /// `checkpoint`: snapshots in local memory, between which iterations are computed again.
    store: &'static str,
    /// The variables.
    what: String,
    /// Per iteration or snapshot.
    bytes: u32,
    /// Iterations or snapshots; null where the host decides.
    slots: Option<u64>,
    /// Why this store.
    why: String,
}

#[derive(Serialize)]
struct Struct {
    size: u32,
    align: u32,
    fields: Vec<Member>,
}

/// A parameter or a field.
#[derive(Serialize)]
struct Member {
    name: String,
    kind: &'static str,
    dtype: DType,
    #[serde(skip_serializing_if = "Option::is_none")]
    ndim: Option<u8>,
    offset: u32,
    size: u32,
}

#[derive(Serialize)]
struct DType {
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scalar: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<u16>>,
    /// Of a struct.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// The description of some kernel entries of a module, as indented JSON.
pub fn emit(module: &Module, entries: &[FuncId], options: MetaOptions) -> String {
    let mut structs = BTreeMap::new();
    let mut kernels: Vec<Kernel> = Vec::new();
    for &id in entries {
        let function = &module.functions[id];
        let at = kernels.iter().position(|kernel| kernel.name == function.source_name).unwrap_or_else(|| {
            let rank = if let FunctionKind::Kernel { rank } = function.kind { rank } else { 1 };
            let name = function.source_name.clone();
            kernels.push(Kernel { name, rank, no_gradient: None, entries: BTreeMap::new() });
            kernels.len() - 1
        });
        if let Derivative::Zero(reason) | Derivative::None(reason) = &function.derivative {
            kernels[at].no_gradient = Some(reason.clone());
        }
        let parallel = !order::prints(module, id);
        let atomics = order::has_atomics(module, id);
        let sums = if atomics && parallel { privatization::summed(module, id) } else { None };
        let cpu = abi::host_entry(&function.source_name, function.phase);
        let alone = atomics.then(|| abi::alone_entry(&cpu));
        let host = Host {
            stack_bytes: [Some(&cpu), alone.as_ref()]
                .into_iter()
                .flatten()
                .filter_map(|n| options.stack.get(n))
                .max()
                .copied(),
            parallel,
            grain: grain::smallest(module, id),
            same_in_any_order: !order::order_shows(module, id),
            alone,
            apart: sums.iter().flatten().filter_map(apart).collect(),
            sums: sums.map(|sums| sums.into_iter().map(|sum| sum.name).collect()),
        };
        let mut made = entry(function, host, &module.structs, &mut structs);
        made.block = function.by_block.then(|| {
            let shared = |tensor| blocks::memory(module, id, tensor).map(Shared::from);
            let (ptx, text) = (shared(options.tensor), shared(options.text_tensor));
            Block {
                shared: ptx.unwrap_or_default(),
                cuda_text: text.filter(|_| text != ptx),
                threads: block_threads::own_threads(function),
                products: products(module, id, options.tensor),
            }
        });
        kernels[at].entries.insert(function.phase, made);
    }
    let description = Description {
        format: FORMAT,
        generator: format!("kc {}", env!("CARGO_PKG_VERSION")),
        source: options.source_name.clone(),
        architectures: options.architectures.clone(),
        layout: if options.contiguous { "contiguous" } else { "strided" },
        grid: if options.covering { "covering" } else { "any" },
        tensor_cores: options.tensor.cores.name(),
        processors: options.processors,
        launch_bounds_size: size_of::<abi::LaunchBounds>(),
        array_descriptor_size: size_of::<abi::ArrayDescriptor>(),
        kernels,
        structs,
        sites: options.sites,
    };
    let mut text = serde_json::to_string_pretty(&description).expect("strings, numbers and lists are always JSON");
    text.push('\n');
    text
}

fn apart(sum: &Summed) -> Option<Apart> {
    let rows = match sum.apart.as_ref()? {
        NamedApart::Bands { gap, head } => Rows::Bands { gap: *gap, head: *head },
        NamedApart::Ranges { bounds, first } => Rows::Ranges { rising: bounds.clone(), first: *first },
    };
    Some(Apart { array: sum.name.clone(), rows })
}

fn products(module: &Module, kernel: FuncId, tensor: Tensor) -> Vec<ProductOfTiles> {
    let made = block_threads::products(module, kernel, tensor).into_iter().map(|product| {
        let (tensor_cores, why) = match product.by {
            Ok(unit) => (Some(unit.name()), None),
            Err(why) => (None, Some(why)),
        };
        let precision = product.tf32.then(|| Unit::Tf32.name());
        ProductOfTiles { size: product.size, factors: product.factors.map(|s| s.name()), precision, tensor_cores, why }
    });
    made.collect()
}

fn entry(
    function: &Function,
    host: Host,
    structs: &StructTable,
    used: &mut BTreeMap<String, Struct>,
) -> EntryDescription {
    let types: Vec<Type> = function.params().iter().map(|&p| function.ty(p)).collect();
    let (offsets, layout) = abi::argument_layout(&types, structs);
    let name = |n: usize| function.param_name(n);
    let params = types.iter().zip(&offsets).enumerate().map(|(n, (&ty, &offset))| {
        let (role, of) = match function.param_role(n) {
            ParamRole::Argument => ("argument", None),
            ParamRole::Adjoint(of) => ("adjoint", Some(name(of))),
            ParamRole::Tape(_) => ("tape", None),
        };
        Param { role, of, member: member(name(n), ty, offset, structs, used) }
    });
    let params = params.collect();
    let tape: Vec<Buffer> = function
        .tape
        .iter()
        .map(|buffer| {
            let scalar = types.get(buffer.param as usize).and_then(|ty| match ty {
                Type::Array(array) => Type::from(array.element).as_scalar(),
                _ => None,
            });
            Buffer {
                param: name(buffer.param as usize),
                role: buffer.role.name(),
                scalar: scalar.map_or("", |s| s.name()),
                bytes_per_slot: scalar.map_or(0, |s| s.size()),
                slots: buffer.slots,
                reason: buffer.reason.clone(),
            }
        })
        .collect();
    let is_given = function.tape.iter().any(|buffer| buffer.role == TapeRole::Parameters);
    // The kernel's own come first.
    let arguments = &types[..(types.len() - function.tape.len()) / 2];
    let floats = if is_given { abi::float_arguments(arguments, structs) } else { Vec::new() };
    let gradient = |float: &abi::FloatArgument| ParameterGradient {
        of: format!("{}{}", name(float.param), float.suffix),
        slot: float.slot,
        slots: float.scalars(),
    };
    EntryDescription {
        parameter_gradients: floats.iter().map(gradient).collect(),
        cuda: abi::device_entry(&function.source_name, function.phase),
        cpu: abi::host_entry(&function.source_name, function.phase),
        args_size: layout.size,
        args_align: layout.align,
        host,
        params,
        block: None,
        kept: function
            .kept
            .iter()
            .map(|k| KeptState {
                store: k.store,
                what: k.what.clone(),
                bytes: k.bytes,
                slots: k.slots,
                why: k.why.clone(),
            })
            .collect(),
        tape_bytes_per_thread: tape.iter().any(|buffer| buffer.role != TapeRole::Parameters.name()).then(|| {
            let kept = [TapeRole::Log, TapeRole::State].map(TapeRole::name);
            let buffers = tape.iter().filter(|buffer| kept.contains(&buffer.role));
            buffers.map(|b| Some(u64::from(b.slots?) * u64::from(b.bytes_per_slot))).sum()
        }),
        tape,
    }
}

fn member(name: String, ty: Type, offset: u32, structs: &StructTable, used: &mut BTreeMap<String, Struct>) -> Member {
    let (kind, element, ndim) = match ty {
        Type::Array(array) => ("array", array.element.into(), Some(array.ndim)),
        Type::Struct(_) => ("struct", ty, None),
        _ => ("value", ty, None),
    };
    Member { name, kind, dtype: dtype(element, structs, used), ndim, offset, size: Layout::of(ty, structs).size }
}

/// A type as launch files and descriptions name it.
pub fn dtype_json(ty: Type, structs: &StructTable) -> serde_json::Value {
    serde_json::json!(dtype(ty, structs, &mut BTreeMap::new()))
}

fn dtype(ty: Type, structs: &StructTable, used: &mut BTreeMap<String, Struct>) -> DType {
    let (class, shape) = match ty {
        Type::Scalar(_) | Type::Array(_) | Type::Local(_) => ("scalar", vec![]),
        Type::Vec(n, _) => ("vec", vec![n]),
        Type::Mat(r, c, _) => ("mat", vec![r, c]),
        Type::Quat(_) => ("quat", vec![4]),
        Type::Transform(_) => ("transform", vec![7]),
        Type::Struct(id) => {
            let name = structs[id].name.clone();
            if !used.contains_key(&name) {
                let Layout { size, align } = Layout::of(ty, structs);
                let fields: Vec<Member> = structs[id]
                    .fields
                    .iter()
                    .enumerate()
                    .map(|(n, field)| {
                        let offset = Layout::step_offset(ty, n as u32, structs);
                        member(field.name.clone(), field.ty, offset, structs, used)
                    })
                    .collect();
                used.insert(name.clone(), Struct { size, align, fields });
            }
            return DType { class: "struct", scalar: None, shape: None, name: Some(name) };
        }
    };
    DType { class, scalar: ty.scalar_part().map(|s| s.name()), shape: Some(shape), name: None }
}
