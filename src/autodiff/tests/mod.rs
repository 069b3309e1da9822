//! Gradients of small kernels in IR text, with each store, against forward mode:
//! `u . (J v) == (J^T u) . v`.

mod counters;
mod overwritten;
mod stores;

use super::jvp::jvp;
use super::{Adjoints, Options, Store, differentiate};
use crate::abi::{ArrayDescriptor, LaunchBounds};
use crate::diag::Diagnostics;
use crate::ir::interp::{Outcome, run_kernel};
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{FuncId, Module, Phase, TapeRole};
use crate::passes::simplify;
use crate::types::Type;

/// Every choice there is.
const STORES: [Option<Store>; 5] =
    [None, Some(Store::Unroll), Some(Store::Stack), Some(Store::Tape), Some(Store::Checkpoint)];

/// Memory that an argument points to.
struct Memory {
    bytes: Vec<u64>,
    descriptor: ArrayDescriptor,
}

impl Memory {
    fn numbers(values: &[f64]) -> Memory {
        let mut bytes: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
        let data = bytes.as_mut_ptr().expose_provenance() as u64;
        let descriptor = ArrayDescriptor {
            data: if values.is_empty() { 0 } else { data },
            grad: 0,
            shape: [values.len() as i32, 1, 1, 1],
            strides: [8, 0, 0, 0],
            ndim: 1,
            flags: 0,
        };
        Memory { bytes, descriptor }
    }

    /// A matrix `[slots][threads]` of scalars of `size` bytes.
    fn tape(slots: u32, threads: u32, size: u32) -> Memory {
        let mut memory = Memory::numbers(&vec![0.0; (slots * threads) as usize + 1]);
        memory.descriptor.shape = [slots as i32, threads as i32, 1, 1];
        memory.descriptor.strides = [(threads * size) as i32, size as i32, 0, 0];
        memory.descriptor.ndim = 2;
        memory
    }

    fn counter() -> Memory {
        let mut memory = Memory::numbers(&[0.0]);
        memory.descriptor.strides[0] = 8;
        memory
    }

    fn values(&self) -> Vec<f64> {
        self.bytes.iter().map(|&b| f64::from_bits(b)).collect()
    }
}

/// Runs an entry on its arguments, which are all arrays.
fn run_entry(module: &Module, entry: FuncId, dims: &[u32], arguments: &[&Memory]) {
    let args: Vec<ArrayDescriptor> = arguments.iter().map(|m| m.descriptor).collect();
    let bounds = LaunchBounds::new(dims).unwrap();
    let mut outcome = Outcome::new(|_| {});
    outcome.steps = Some(20_000_000);
    // SAFETY: the memory lives on.
    unsafe { run_kernel(module, entry, &bounds, args.as_ptr().cast(), 0, u64::MAX, &mut outcome) };
    assert_eq!(outcome.trap, None, "{}", print(module));
}

/// Runs an entry with tapes of its own; `logs` are those that another one filled.
/// Gives the logs it filled.
fn run_taped(module: &Module, entry: FuncId, dims: &[u32], arrays: &mut [Vec<f64>], logs: Vec<Memory>) -> Vec<Memory> {
    let function = &module.functions[entry];
    let threads: u32 = dims.iter().product();
    let mut slots = 0;
    let before = arrays.to_vec();
    loop {
        arrays.clone_from_slice(&before);
        let arguments: Vec<Memory> = arrays.iter().map(|a| Memory::numbers(a)).collect();
        let (mut given, mut own) = (logs.iter(), Vec::new());
        for tape in &function.tape {
            let scalar = match function.ty(function.params()[tape.param as usize]) {
                Type::Array(a) => Type::from(a.element).as_scalar().unwrap(),
                _ => unreachable!("a tape buffer is an array"),
            };
            match tape.role {
                TapeRole::Needed => own.push(Some(Memory::counter())),
                TapeRole::Log if function.phase == Phase::Backward => own.push(None),
                _ => own.push(Some(Memory::tape(tape.slots.unwrap_or(slots), threads, scalar.size()))),
            }
        }
        let mut all: Vec<&Memory> = arguments.iter().collect();
        for memory in &own {
            all.push(memory.as_ref().unwrap_or_else(|| given.next().unwrap()));
        }
        run_entry(module, entry, dims, &all);
        let counter = function.tape.iter().position(|t| t.role == TapeRole::Needed);
        let needed = counter.map_or(0, |n| own[n].as_ref().unwrap().bytes[0] >> 32) as u32;
        if needed > slots {
            slots = needed;
            continue;
        }
        for (array, memory) in arrays.iter_mut().zip(&arguments) {
            *array = memory.values();
        }
        let logs = function.tape.iter().zip(own).filter(|(tape, _)| tape.role == TapeRole::Log);
        return logs.filter_map(|(_, memory)| memory).collect();
    }
}

/// The arrays and their adjoints after a gradient run of kernel `@k`.
fn gradient(module: &Module, dims: &[u32], arrays: &[Vec<f64>], seeds: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let backward = module.entry("k", Phase::Backward).unwrap();
    let mut after = arrays.to_vec();
    let forward = module.entry("k", Phase::Augmented).unwrap_or_else(|| module.entry("k", Phase::Forward).unwrap());
    let logs = run_taped(module, forward, dims, &mut after, Vec::new());
    let mut both = [after.clone(), seeds.to_vec()].concat();
    run_taped(module, backward, dims, &mut both, logs);
    (after, both.split_off(arrays.len()))
}

/// Numbers near one and away from the kinks of the tests.
fn numbers(n: usize, from: usize) -> Vec<f64> {
    (0..n).map(|k| 0.75 + ((k * 7 + from * 3) % 11) as f64 / 20.0).collect()
}

fn differentiated(text: &str, store: Option<Store>) -> (Module, Vec<String>) {
    let mut module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&module), Ok(()), "{text}");
    simplify(&mut module);
    let mut diagnostics = Diagnostics::new();
    differentiate(&mut module, &Options { store, ..Options::default() }, &Adjoints::new(0), &mut diagnostics);
    assert_eq!(verify(&module), Ok(()), "{}", print(&module));
    simplify(&mut module);
    (module, diagnostics.into_sorted().iter().map(|d| format!("{} {}", d.code.name(), d.message)).collect())
}

/// Checks the gradient of kernel `@k`, whose parameters are 1-dimensional float64 arrays with these
/// contents, with each store, and that all of them give the same bits.
fn check_with(text: &str, dims: &[u32], arrays: &[Vec<f64>]) {
    let seeds: Vec<Vec<f64>> = arrays.iter().enumerate().map(|(n, a)| numbers(a.len(), n + 20)).collect();
    let directions: Vec<Vec<f64>> = arrays.iter().enumerate().map(|(n, a)| numbers(a.len(), n + 40)).collect();
    let mut module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = module.entry("k", Phase::Forward).unwrap();
    let forward = jvp(&mut module, kernel).unwrap();
    let mut tangents = [arrays.to_vec(), directions.clone()].concat();
    run_taped(&module, forward, dims, &mut tangents, Vec::new());
    let dot = |a: &[Vec<f64>], b: &[Vec<f64>]| -> f64 {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum()
    };
    let expected = dot(&seeds, &tangents[arrays.len()..]);
    let mut first: Option<Vec<Vec<f64>>> = None;
    for store in STORES {
        let (module, found) = differentiated(text, store);
        assert!(module.entry("k", Phase::Backward).is_some(), "{store:?}: {found:?}");
        let (after, adjoints) = gradient(&module, dims, arrays, &seeds);
        assert_eq!(after, tangents[..arrays.len()], "{store:?}: the values themselves\n{}", print(&module));
        let got = dot(&adjoints, &directions);
        let scale = expected.abs().max(got.abs()).max(1e-6);
        assert!((got - expected).abs() <= 1e-9 * scale, "{store:?}: {got} for {expected}\n{}", print(&module));
        match &first {
            None => first = Some(adjoints),
            Some(first) => {
                let bits = |all: &[Vec<f64>]| -> Vec<u64> { all.iter().flatten().map(|v| v.to_bits()).collect() };
                assert_eq!(bits(first), bits(&adjoints), "{store:?} differs\n{}", print(&module));
            }
        }
    }
}
