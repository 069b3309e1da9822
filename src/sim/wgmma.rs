//! What do warpgroups multiply? Each of four warps computes 16 of the 64 rows of a product (PTX
//! ISA, "wgmma.mma_async"). Results are in their registers at once; the factors in shared memory
//! count as read until somebody waits for the product, so that who overwrites them before races.

use std::collections::VecDeque;

use half::{bf16, f16};

use super::cluster::Shared;
use super::code::{Factor, Narrow, Sum, Warpgroup};
use super::findings::What;
use super::float8::Float8;
use super::machine::{Machine, Pause, predicate, put};
use super::tensor_map::Swizzle;
use super::value::LANES;
use super::warp::Warp;
use crate::ptx::Space;

/// The products of a warp that nobody has waited for, as parts of shared memory that they read.
#[derive(Clone, Default, Debug)]
pub struct Products {
    groups: VecDeque<Vec<Read>>,
    open: Vec<Read>,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    address: u64,
    pc: u32,
}

/// Rows of the result that a warp computes, and columns of the second factor that a part of it has.
const ROWS: usize = 16;
/// Bytes that lie side by side whatever the layout.
const CHUNK: usize = 16;
/// Rows, or columns, of a core matrix.
const CORE: usize = 8;

/// A matrix in shared memory (PTX ISA, "Matrix Descriptor Format").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: Swizzle,
    /// Bytes of a row of the swizzled pattern.
    span: u64,
}

impl Descriptor {
    fn of(bits: u64) -> Result<Descriptor, String> {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        if bits >> 49 & 7 != 0 {
            return Err("a matrix descriptor with a base offset".to_string());
        }
        let span = [CHUNK as u64, 128, 64, 32][(bits >> 62) as usize];
        let swizzle = Swizzle::of(span);
        Ok(Descriptor { start: field(0), leading: field(16), stride: field(32), swizzle, span })
    }

    /// The address of the `chunk`th 16 bytes of a line, where elements lie side by side, and of the
    /// line: rows by depth, or if the matrix is transposed the lines of the depth.
    fn address(&self, line: usize, chunk: usize, transposed: bool) -> u64 {
        let (line, chunk, core) = (line as u64, chunk as u64, CORE as u64);
        let inside = line % core * self.span;
        let plain = self.swizzle == Swizzle::NONE;
        let offset = match (transposed, plain) {
            (false, true) => line / core * self.stride + chunk * self.leading,
            (false, false) => line / core * self.stride + chunk * CHUNK as u64,
            (true, true) => line / core * self.leading + chunk * self.stride,
            (true, false) => {
                let chunks = self.span / CHUNK as u64;
                line / core * self.stride + chunk / chunks * self.leading + chunk % chunks * CHUNK as u64
            }
        };
        self.swizzle.apply(self.start + inside + offset)
    }
}

impl Narrow {
    /// The bytes of an element in memory.
    pub fn bytes(self) -> usize {
        match self {
            Narrow::F16 | Narrow::Bf16 => 2,
            Narrow::Tf32 => 4,
            Narrow::E4m3 | Narrow::E5m2 | Narrow::S8 | Narrow::U8 => 1,
        }
    }

    /// The number that so many bytes hold.
    fn number(self, bytes: &[u8]) -> f64 {
        let half = || u16::from_le_bytes([bytes[0], bytes[1]]);
        match self {
            Narrow::F16 => f16::from_bits(half()).to_f64(),
            Narrow::Bf16 => bf16::from_bits(half()).to_f64(),
            // The low bits of the fraction are none of its.
            Narrow::Tf32 => f32::from_bits(super::memory::read(bytes, 0, 4) as u32 & 0xffff_e000).into(),
            Narrow::E4m3 => Float8::E4m3.number(bytes[0]),
            Narrow::E5m2 => Float8::E5m2.number(bytes[0]),
            Narrow::S8 => f64::from(bytes[0] as i8),
            Narrow::U8 => f64::from(bytes[0]),
        }
    }
}

impl Machine<'_> {
    /// `d = a b (+ d)`, the rows of this warp.
    pub fn multiply_warpgroup(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        w: &Warpgroup,
        pc: u32,
        active: u32,
    ) -> Option<Pause> {
        if let Some(pause) = self.needs_all(warp, pc, active) {
            return Some(pause);
        }
        if !self.warps.is_multiple_of(4) {
            let warps = self.warps;
            let why = format!("products of warpgroups in blocks of {warps} warps: a warpgroup has four");
            self.findings.add(What::Unknown(why), pc, warp.thread(0));
            return None;
        }
        let (depth, columns) = (w.depth as usize, w.columns as usize);
        let a = match &w.a {
            Factor::Registers(regs) => of_registers(warp, regs, w.a_element, depth),
            Factor::Memory(reg) => {
                let first = warp.number as usize % 4 * ROWS;
                let bits = warp.regs[*reg as usize][0];
                let lines = first..first + ROWS;
                self.of_memory(shared, warp, bits, lines, depth, w.a_element, w.transposed[0], pc)?
            }
        };
        let bits = warp.regs[w.b as usize][0];
        let b = self.of_memory(shared, warp, bits, 0..columns, depth, w.b_element, w.transposed[1], pc)?;
        let sign = if w.negates[0] != w.negates[1] { -1.0 } else { 1.0 };
        let adds = predicate(warp, w.adds) & 1 == 1;
        let sums: Vec<f64> = (0..ROWS * columns)
            .map(|n| {
                let (row, column) = (n / columns, n % columns);
                (0..depth).map(|k| a[row * depth + k] * b[column * depth + k]).sum::<f64>() * sign
            })
            .collect();
        // Lane `4 g + t` has rows g and g + 8, of every eight columns 2 t and 2 t + 1.
        let place = |lane: usize, n: usize| {
            let (row, column) = (lane / 4 + n / 2 % 2 * CORE, n / 4 * CORE + lane % 4 * 2 + n % 2);
            sums[row * columns + column]
        };
        for (n, &reg) in w.d.iter().enumerate() {
            let old = warp.regs[reg as usize];
            let new = std::array::from_fn(|lane| match w.sum {
                Sum::F32 => {
                    let old = if adds { f64::from(f32::from_bits(old[lane] as u32)) } else { 0.0 };
                    canonical((old + place(lane, n)) as f32)
                }
                Sum::F16 => {
                    let half = |k: usize| {
                        let old = f16::from_bits((old[lane] >> (16 * k)) as u16).to_f64();
                        let sum = place(lane, 2 * n + k) + if adds { old } else { 0.0 };
                        let bits = if sum.is_nan() { 0x7fff } else { f16::from_f64(sum).to_bits() };
                        u64::from(bits) << (16 * k)
                    };
                    half(0) | half(1)
                }
                Sum::S32 | Sum::SaturatedS32 => {
                    let old = if adds { i64::from(old[lane] as u32 as i32) } else { 0 };
                    let sum = old + place(lane, n) as i64;
                    let saturated = sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                    let kept = if w.sum == Sum::S32 { sum as i32 } else { saturated };
                    u64::from(kept as u32)
                }
            });
            put(&mut warp.regs[reg as usize], &new, active);
        }
        None
    }

    /// Lines (rows of the first factor, columns of the second) of so many elements from shared
    /// memory.
    fn of_memory(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        bits: u64,
        lines: std::ops::Range<usize>,
        depth: usize,
        element: Narrow,
        transposed: bool,
        pc: u32,
    ) -> Option<Vec<f64>> {
        let descriptor = match Descriptor::of(bits) {
            Ok(descriptor) => descriptor,
            Err(why) => {
                self.findings.add(What::Unknown(why), pc, warp.thread(0));
                return None;
            }
        };
        let each = CHUNK / element.bytes();
        let mut found = vec![0.0; lines.len() * depth];
        let mut chunk = |machine: &mut Self, line: usize, chunk: usize| {
            let address = descriptor.address(line, chunk, transposed);
            warp.products.open.push(Read { address, pc });
            machine.bytes(shared, warp, (Space::Shared, address), CHUNK as u32, 0, pc)
        };
        if transposed {
            for k in 0..depth {
                for n in lines.start / each..lines.end.div_ceil(each) {
                    let bytes = chunk(self, k, n)?;
                    for (e, bytes) in bytes.chunks_exact(element.bytes()).enumerate() {
                        let line = n * each + e;
                        if lines.contains(&line) {
                            found[(line - lines.start) * depth + k] = element.number(bytes);
                        }
                    }
                }
            }
            return Some(found);
        }
        for (n, line) in lines.enumerate() {
            for c in 0..depth / each {
                let bytes = chunk(self, line, c)?;
                for (e, bytes) in bytes.chunks_exact(element.bytes()).enumerate() {
                    found[n * depth + c * each + e] = element.number(bytes);
                }
            }
        }
        Some(found)
    }

    /// Makes the products so far a group.
    pub fn commit_products(&mut self, warp: &mut Warp) {
        let group = std::mem::take(&mut warp.products.open);
        warp.products.groups.push_back(group);
    }

    /// Waits for all groups but the last `left`: what they read may be written from now on.
    pub fn wait_for_products(&mut self, shared: &mut Shared, warp: &mut Warp, left: u64) {
        while warp.products.groups.len() as u64 > left {
            let group = warp.products.groups.pop_front().unwrap_or_default();
            if self.intervals.is_none() {
                continue;
            }
            for read in group {
                self.note(shared, warp, (Space::Shared, read.address), CHUNK as u32, false, 0, read.pc);
            }
        }
    }
}

/// The rows of a factor in registers: lane `4 g + t` has rows `g` and `g + 8`.
fn of_registers(warp: &Warp, regs: &[u32], element: Narrow, depth: usize) -> Vec<f64> {
    let each = 4 / element.bytes();
    let mut found = vec![0.0; ROWS * depth];
    for (n, &reg) in regs.iter().enumerate() {
        for lane in 0..LANES {
            let word = (warp.regs[reg as usize][lane] as u32).to_le_bytes();
            for (e, bytes) in word.chunks_exact(element.bytes()).enumerate() {
                let (row, k) = (lane / 4 + n % 2 * CORE, n / 2 * 4 * each + lane % 4 * each + e);
                found[row * depth + k] = element.number(bytes);
            }
        }
    }
    found
}

fn canonical(sum: f32) -> u64 {
    let sum = if sum.is_nan() { f32::from_bits(0x7fff_ffff) } else { sum };
    sum.to_bits().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(start: u64, leading: u64, stride: u64, mode: u64) -> u64 {
        start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62
    }

    /// PTX ISA, "Strides": core matrices of 8 rows of 16 bytes.
    #[test]
    fn addresses_follow_the_layouts_of_the_manual() {
        let plain = Descriptor::of(bits(0x400, 0x80, 0x100, 0)).expect("a descriptor");
        assert_eq!(plain.address(0, 0, false), 0x400);
        assert_eq!(plain.address(3, 0, false), 0x430);
        assert_eq!(plain.address(3, 1, false), 0x4b0);
        assert_eq!(plain.address(9, 0, false), 0x510);
        // Transposed, neighbours of a line lie a stride apart, and every eighth line leads.
        assert_eq!(plain.address(3, 1, true), 0x530);
        assert_eq!(plain.address(9, 0, true), 0x490);
        let swizzled = Descriptor::of(bits(0x400, 0x10, 0x400, 1)).expect("a descriptor");
        assert_eq!(swizzled.address(0, 1, false), 0x410);
        assert_eq!(swizzled.address(1, 0, false), 0x490);
        assert_eq!(swizzled.address(1, 1, false), 0x480);
        assert_eq!(swizzled.address(8, 0, false), 0x800);
        let wide = Descriptor::of(bits(0x400, 0x2000, 0x400, 1)).expect("a descriptor");
        assert_eq!(wide.address(2, 9, true), 0x2500 + (3 << 4));
        assert!(Descriptor::of(1 << 49).is_err());
    }
}
