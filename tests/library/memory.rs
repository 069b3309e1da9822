//! The arguments of a kernel whose parameters are arrays of one dimension, and how it is run with
//! them.

use std::ffi::c_void;

use kc::abi::{ArrayDescriptor, HostEntry, HostStatus, LaunchBounds};
use kc::ir::interp::{Outcome, run_kernel};
use kc::ir::{Const, FuncId, Module};
use kc::types::{Scalar, Type};

/// An array of elements without padding: its numbers lie one after the other.
#[derive(Clone)]
pub struct Memory {
    pub scalar: Scalar,
    /// Numbers in one element.
    pub width: usize,
    words: Vec<u64>,
    len: usize,
}

impl Memory {
    pub fn zeroed(element: Type, len: usize) -> Memory {
        let scalar = element.scalar_part().expect("numbers");
        let width = element.scalar_count().expect("numbers") as usize;
        Memory { scalar, width, words: vec![0; (len * width * scalar.size() as usize).div_ceil(8)], len }
    }

    /// How many numbers it holds.
    pub fn count(&self) -> usize {
        self.len * self.width
    }

    fn place(&self, n: usize) -> std::ops::Range<usize> {
        let size = self.scalar.size() as usize;
        n * size..(n + 1) * size
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: every byte of a u64 is initialised, and u8 has no alignment.
        let all = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) };
        &all[..self.count() * self.scalar.size() as usize]
    }

    /// The bits of number `n`.
    pub fn bits(&self, n: usize) -> u64 {
        let mut bits = [0; 8];
        let place = self.place(n);
        bits[..place.len()].copy_from_slice(&self.bytes()[place]);
        u64::from_le_bytes(bits)
    }

    pub fn set_bits(&mut self, n: usize, bits: u64) {
        let place = self.place(n);
        // SAFETY: as in `bytes`.
        let all = unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), self.words.len() * 8) };
        let size = place.len();
        all[place].copy_from_slice(&bits.to_le_bytes()[..size]);
    }

    /// Number `n` of an array of floats.
    pub fn float(&self, n: usize) -> f64 {
        Const::new(self.scalar, self.bits(n)).as_float().expect("an array of floats")
    }

    pub fn set_float(&mut self, n: usize, value: f64) {
        self.set_bits(n, Const::float(self.scalar, value).bits);
    }

    pub fn set_int(&mut self, n: usize, value: i128) {
        let constant = match self.scalar {
            Scalar::Bool => Const::bool(value & 1 == 1),
            scalar => Const::int(scalar, value),
        };
        self.set_bits(n, constant.bits);
    }

    fn descriptor(&mut self) -> ArrayDescriptor {
        let stride = self.width as i32 * self.scalar.size() as i32;
        ArrayDescriptor {
            data: self.words.as_mut_ptr().expose_provenance() as u64,
            grad: 0,
            shape: [self.len as i32, 0, 0, 0],
            strides: [stride, 0, 0, 0],
            ndim: 1,
            flags: 0,
        }
    }
}

/// Runs a kernel in the interpreter; the message of a failed assert is an error.
pub fn interpret(module: &Module, kernel: FuncId, threads: u32, arrays: &mut [Memory]) -> Result<(), String> {
    let block: Vec<ArrayDescriptor> = arrays.iter_mut().map(Memory::descriptor).collect();
    let launch = LaunchBounds::new(&[threads]).expect("a small launch");
    let mut outcome = Outcome::new(|_| {});
    // SAFETY: the block describes memory that `arrays` own.
    unsafe { run_kernel(module, kernel, &launch, block.as_ptr().cast(), 0, u64::MAX, &mut outcome) };
    outcome.trap.take().map_or(Ok(()), |trap| Err(trap.message))
}

/// Runs compiled code.
pub fn run(entry: HostEntry, threads: u32, arrays: &mut [Memory]) -> Result<(), String> {
    let block: Vec<ArrayDescriptor> = arrays.iter_mut().map(Memory::descriptor).collect();
    let launch = LaunchBounds::new(&[threads]).expect("a small launch");
    let mut status = HostStatus {
        kind: HostStatus::OK,
        site: 0,
        dim: 0,
        extent: 0,
        index: 0,
        thread: 0,
        print: Some(discard),
        user: std::ptr::null_mut(),
        note: 0,
        visited: 0,
        note_thread: 0,
    };
    // SAFETY: the block describes memory that `arrays` own, as the entry's kernel takes it.
    unsafe { entry(&launch, block.as_ptr().cast(), 0, launch.size, &raw mut status) };
    if status.kind == HostStatus::OK { Ok(()) } else { Err(format!("error {}", status.kind)) }
}

unsafe extern "C" fn discard(_user: *mut c_void, _text: *const u8, _len: u64) {}
