//! How fast is a launch? Repeated runs on the same contents, with the time of each entry alone.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::time::Instant;

use super::args::Arguments;
use super::launch::{Direction, Launch};
use super::program::Program;
use super::{Result, fail};
use crate::abi::LaunchBounds;
use crate::codegen::llvm::{Cpu, TensorCores};
use crate::diag::Code;
use crate::ir::{FuncId, Module, Op, Phase, ValueId, interp};
use crate::run::devices::{Device, Entry, How, Job, Report, Trial};
use crate::run::gradients::gradient;
use crate::run::run_errors::describe_trap;
use crate::types::Type;

/// How a launch is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub device: &'static dyn Device,
    /// Test every array index.
    pub checked: bool,
    /// Which products of tiles a GPU's instructions for matrices do.
    pub tensor_cores: TensorCores,
    /// What host code is made for; the machine must have its instructions.
    pub cpu: Cpu,
    /// Worker threads on the host; 0: one per core.
    pub threads: usize,
    /// Timed runs, after one that is not.
    pub repeats: u32,
}

/// The times of one entry.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    pub id: String,
    pub phase: Phase,
    /// Threads of the launch.
    pub launched: u64,
    /// Seconds of wall time, and of processor time of all cores together, of each run in turn.
    pub wall: Vec<f64>,
    pub cpu: Vec<f64>,
    /// The bytes of the arrays that the entry reads plus those of the arrays that it writes: what
    /// must move at least, where all of each array is used.
    pub bytes: u64,
    /// Operations on floats of the whole launch, a fused multiply and add as two, a function such
    /// as `sqrt` as one where it is one instruction of the IR: counted by the interpreter for some
    /// threads, and scaled to all.
    pub operations: f64,
}

/// The most threads whose operations are counted (except for a round of all pieces), in pieces that
/// lie evenly in the launch.
const COUNTED: u64 = 2048;
const PIECES: u64 = 32;

/// With so many operations no more threads are looked at: a block of a product of matrices has them
/// alone, and each takes the interpreter some 20 ns.
const ENOUGH_OPERATIONS: u64 = 1 << 22;

impl Row {
    /// The middle and the least of some times.
    pub fn median_and_least(times: &[f64]) -> (f64, f64) {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        (sorted.get(sorted.len() / 2).copied().unwrap_or(0.0), sorted.first().copied().unwrap_or(0.0))
    }
}

/// Measures `launch`, one row for each entry that its direction runs.
pub fn bench(program: &Program, forward: FuncId, launch: &Launch, origin: &str, options: &Options) -> Result<Vec<Row>> {
    let module = &program.module;
    let Some(bounds) = LaunchBounds::new(&launch.dim_by_block(&module.functions[forward])?) else {
        return Err(fail(Code::E1006, format!("{origin}: dim {:?} has too many threads", launch.dim)));
    };
    let mut arguments = Arguments::bind(launch, origin, &module.functions[forward], &module.structs)?;
    let start = arguments.snapshot();
    let memory = arguments.memory();
    let mut ready: BTreeMap<FuncId, Rc<Entry>> = BTreeMap::new();
    let mut times: BTreeMap<FuncId, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for repeat in 0..=options.repeats {
        arguments.restore(&start);
        let mut run = |entry: FuncId, args, more: &[(u64, u64)]| -> Result<Report> {
            let memory = [&memory, more].concat();
            let (checked, tensor_cores, cpu) = (options.checked, options.tensor_cores, options.cpu);
            let how = How {
                checked,
                fmad: true,
                tensor_cores,
                alone: false,
                in_order: false,
                cpu,
                trial: Trial::PLAIN,
                objects: None,
            };
            let code =
                ready.entry(entry).or_insert_with(|| Rc::new(Entry::new(module, entry, options.device, how))).clone();
            let executable = code.ready(module, &bounds, options.threads)?;
            let block_dim = Job::usual_blocks(launch.block_dim, module.functions[forward].by_block);
            let job = Job { block_dim, memory: &memory, ..Job::new(bounds, args, options.threads) };
            let (wall, cpu) = (Instant::now(), processor_seconds());
            // SAFETY: `args` was made for this entry, and its arrays live in `arguments`.
            let report = unsafe { executable.run(module, &job) }?;
            let (wall, cpu) = (wall.elapsed().as_secs_f64(), processor_seconds() - cpu);
            if let Some(trap) = &report.trap {
                let error = describe_trap(trap, &bounds, launch.dim.len());
                return Err(Box::new(error.note(format!("{origin} does not run, so nothing is measured"))));
            }
            if repeat > 0 {
                let (walls, cpus) = times.entry(entry).or_default();
                walls.push(report.seconds.unwrap_or(wall));
                cpus.push(cpu);
            }
            Ok(report)
        };
        run_direction(program, forward, launch.direction, &mut arguments, bounds.size, &mut run)?;
    }
    arguments.restore(&start);
    let mut operations: BTreeMap<FuncId, f64> = BTreeMap::new();
    let mut count = |entry: FuncId, args, _: &[(u64, u64)]| -> Result<Report> {
        // SAFETY: `args` was made for this entry, and its arrays live in `arguments`.
        operations.insert(entry, unsafe { count_operations(module, entry, &bounds, args) });
        Ok(Report::default())
    };
    run_direction(program, forward, launch.direction, &mut arguments, bounds.size, &mut count)?;
    let rows = times.into_iter().map(|(entry, (wall, cpu))| Row {
        id: launch.id.clone(),
        phase: module.functions[entry].phase,
        launched: bounds.size,
        wall,
        cpu,
        bytes: moved(module, entry, &arguments),
        operations: operations.get(&entry).copied().unwrap_or(0.0),
    });
    Ok(rows.collect())
}

fn run_direction(
    program: &Program,
    forward: FuncId,
    direction: Direction,
    arguments: &mut Arguments,
    threads: u64,
    run: &mut dyn gradient::Runner,
) -> Result<Report> {
    match direction {
        Direction::Forward => run.run(forward, arguments.block(), &[]),
        Direction::Backward => gradient::backward(program, forward, arguments, threads, run),
        Direction::Gradient => gradient::gradient(program, forward, arguments, threads, run),
    }
}

/// Operations on floats of one launch of an entry, by those of some of its threads.
///
/// # Safety
/// As for [`interp::run_kernel`].
unsafe fn count_operations(module: &Module, entry: FuncId, bounds: &LaunchBounds, args: *const c_void) -> f64 {
    let kernel = interp::Program::new(module, entry);
    let mut outcome = interp::Outcome::new(|_| {});
    outcome.operations = Some(0);
    // Of all pieces alike, the next few threads at a time: one thread may be a block with tiles,
    // and have millions of operations.
    let start = |piece: u64| (u128::from(bounds.size) * u128::from(piece) / u128::from(PIECES)) as u64;
    let most = COUNTED.min(bounds.size);
    let (mut counted, mut from, mut next) = (0, 0, 1);
    let is_enough = |outcome: &interp::Outcome| outcome.operations.unwrap_or(0) >= ENOUGH_OPERATIONS;
    while counted < most && !is_enough(&outcome) {
        // The first, that in the middle, those in the middle of both halves, and so on.
        for piece in (0..PIECES).map(|n| n.reverse_bits() >> (u64::BITS - PIECES.ilog2())) {
            if is_enough(&outcome) {
                break;
            }
            let end = start(piece + 1);
            let (first, last) = ((start(piece) + from).min(end), (start(piece) + from + next).min(end));
            // SAFETY: the caller's promise.
            unsafe { kernel.run(bounds, args, first, last, &mut outcome) };
            counted += last - first;
        }
        (from, next) = (from + next, next * 2);
    }
    let scale = if counted == 0 { 0.0 } else { bounds.size as f64 / counted as f64 };
    outcome.operations.unwrap_or(0) as f64 * scale
}

/// Processor time of this process so far, in seconds.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux; the structure is ours.
    if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } != 0 {
        return 0.0;
    }
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// What a function does with the array behind a value.
#[derive(Clone, Copy, Default)]
struct Uses {
    read: bool,
    written: bool,
}

fn moved(module: &Module, entry: FuncId, arguments: &Arguments) -> u64 {
    let function = &module.functions[entry];
    let mut bytes = 0;
    let mut primal = Vec::new();
    for (n, &param) in function.params().iter().enumerate() {
        let Type::Array(_) = function.ty(param) else { continue };
        let name = function.values[param].name.clone().unwrap_or_default();
        let array = arguments.arrays.iter().find(|a| a.key == name);
        // The adjoints follow the parameters in the same order.
        let size = match array {
            Some(array) => {
                let bytes = array.bytes(&module.structs);
                primal.push((n, bytes));
                bytes
            }
            None => {
                let shift = function.params().len().saturating_sub(function.tape.len()) / 2;
                primal.iter().find(|(k, _)| k + shift == n).map_or(0, |(_, bytes)| *bytes)
            }
        };
        let uses = uses(module, entry, param);
        bytes += size * (u64::from(uses.read) + u64::from(uses.written));
    }
    bytes
}

fn uses(module: &Module, id: FuncId, array: ValueId) -> Uses {
    let function = &module.functions[id];
    let mut found = Uses::default();
    let mut aliases = vec![array];
    function.walk(function.entry, &mut |_, inst| match &inst.op {
        Op::View(of, _) | Op::Gradient(of) if aliases.contains(of) => aliases.extend(inst.results.iter().copied()),
        // A gradient is the adjoint argument, or what its array brings along.
        Op::Select { then, otherwise, .. } if aliases.contains(then) || aliases.contains(otherwise) => {
            aliases.extend(inst.results.iter().copied());
        }
        Op::Call(callee, args) => {
            for (&arg, &param) in args.iter().zip(module.functions[*callee].params()) {
                if aliases.contains(&arg) {
                    let inner = uses(module, *callee, param);
                    found.read |= inner.read;
                    found.written |= inner.written;
                }
            }
        }
        // Properties say of every operation what it does to arrays.
        op => {
            let own = op.properties();
            let mut named = false;
            match op.access() {
                Some(access) => named = aliases.contains(&access.array),
                None => op.for_each_operand(|v| named |= aliases.contains(&v)),
            }
            found.read |= named && own.reads;
            found.written |= named && own.writes;
        }
    });
    found
}
