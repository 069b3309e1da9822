//! Are the quotients of several numbers by one, which lanes find by a reciprocal, those of
//! divisions?
//!
//! The way with a reciprocal could only go wrong where a quotient is very near to the middle of two
//! floats. `x / b` lies `c / 2b` units in the last place from the middle for integers `x` and `b`
//! of 24 bits and an integer `c`, and the way is exact to 2^-22 units, so that only `|c| <= 8`
//! counts. For each `b` and `c` these `x` solve `x * 2^k = c mod b`.

use kc::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, LlvmTarget, Parts, emit_llvm_ir};
use kc::ir::{FuncId, Module};
use kc::types::Scalar;

use crate::harness::*;

const ONE: u32 = 1 << 23;

/// Numerators of 24 bits whose quotients by `b`, an integer of 24 bits, lie next to the middle of
/// two floats.
fn hard_numerators(b: u32, found: &mut Vec<u32>) {
    let zeros = b.trailing_zeros();
    let odd = u64::from(b >> zeros);
    for below in [0, 1] {
        // Quotients below 1 have one bit more after the point.
        let (low, high) = if below == 1 { (u64::from(ONE), u64::from(b)) } else { (u64::from(b), 2 * u64::from(ONE)) };
        let bits = 24 + below;
        let inverse = (zeros..bits).fold(1 % odd, |r, _| if r % 2 == 1 { (r + odd) / 2 } else { r / 2 });
        for c in (-8i64..=8).filter(|c| *c != 0 && c.trailing_zeros() >= zeros) {
            let least = ((c >> zeros) * inverse as i64).rem_euclid(odd as i64) as u64;
            let first = least + low.saturating_sub(least).div_ceil(odd) * odd;
            for x in (first..high).step_by(odd as usize) {
                let middle = (i128::from(x) << bits) - i128::from(c);
                assert_eq!(middle % i128::from(b), 0);
                if middle / i128::from(b) % 2 == 1 {
                    found.push(x as u32);
                }
            }
        }
    }
}

/// Divides what lies next to the middle of two floats, for every `stride`th denominator; gives the
/// number of quotients.
fn hard_quotients(stride: usize) -> usize {
    /// Quotients that are found at a time.
    const BATCH: usize = 1 << 20;
    let divide = Divide::new();
    let (mut count, mut numerators, mut numbers) = (0, Vec::new(), Vec::new());
    let last = 2 * ONE - 1;
    for b in (ONE..last).step_by(stride).chain([last]) {
        numerators.clear();
        hard_numerators(b, &mut numerators);
        count += numerators.len();
        for x in numerators.chunks(3) {
            numbers.push(([0, 1, 2].map(|k| *x.get(k).unwrap_or(&x[0]) as f32), b as f32));
        }
        if 3 * numbers.len() >= BATCH || b == last {
            divide.check(&numbers);
            numbers.clear();
        }
    }
    count
}

/// The code that divides is that of lanes; with AVX-512 it is the way with a reciprocal.
#[test]
fn quotients_next_to_a_middle() {
    for text in KERNELS {
        assert_lanes(text, 16);
        let (_, ir) = host_code(text, true, Atomics::Shared);
        let entry = function_of(&ir, "k_cpu_kernel_forward");
        // Of the two copies of the body, each divides three numbers once by the reciprocal, once
        // with zeros, once as it is.
        for block in ["\nusual", "\nzeros", "\nothers"] {
            assert!(entry.contains(block), "{block}:\n{entry}");
        }
        assert!(entry.matches("@llvm.fma.v16f32(").count() >= 2 * 2 * 6, "{entry}");
        // Fewer lanes divide.
        let module = parse(text);
        let options = HostOptions { cpu: Cpu::V3, ..CHECKED };
        let ir =
            emit_llvm_ir(&module, &[module.find("k").unwrap()], LlvmTarget::Host(options), &Parts::new(0)).unwrap();
        assert!(!ir.contains("@llvm.fma"), "{ir}");
    }
    assert!(hard_quotients(331) > 100_000);
}

/// All of them, `cargo test --test llvm quotients -- --ignored`.
#[test]
#[ignore = "takes a minute in a debug build"]
fn all_quotients_next_to_a_middle() {
    assert!(hard_quotients(1) > 40_000_000);
}

/// Every lane, or those with a positive denominator.
const KERNELS: [&str; 2] = [
    "kernel @k(%x: array(dtype=vec3f), %b: array(dtype=float32), %o: array(dtype=vec3f)) rank 1 {
        %i: int32 = thread_index 0
        %v: vec3f = load %x[%i]
        %d: float32 = load %b[%i]
        %q: vec3f = div %v, %d
        store %o[%i], %q
        return
      }",
    "kernel @k(%x: array(dtype=vec3f), %b: array(dtype=float32), %o: array(dtype=vec3f)) rank 1 {
        %i: int32 = thread_index 0
        %v: vec3f = load %x[%i]
        %d: float32 = load %b[%i]
        %zero: float32 = const 0.0
        %some: bool = gt %d, %zero
        %q: vec3f = if %some {
          %r: vec3f = div %v, %d
          yield %r
        } else {
          %s: vec3f = zero
          yield %s
        }
        store %o[%i], %q
        return
      }",
];

/// Divides in threads side by side.
struct Divide {
    code: Vec<(Module, FuncId, HostModule)>,
}

impl Divide {
    fn new() -> Divide {
        let compile = |text| {
            let module = parse(text);
            let kernel = module.find("k").expect("the kernel is called k");
            let host = HostModule::compile(&module, &[kernel], &CHECKED).unwrap_or_else(|e| panic!("{e}"));
            (module, kernel, host)
        };
        Divide { code: KERNELS.map(compile).into() }
    }

    /// Compares every bit; all NaNs are one.
    fn check(&self, numbers: &[([f32; 3], f32)]) {
        let bits = |values: Vec<f32>| values.iter().map(|v| u64::from(v.to_bits())).collect::<Vec<_>>();
        let array = |width, values: Vec<f32>| {
            Arg::Array(Array::new(Scalar::F32, width, &[numbers.len() as i32], &bits(values)))
        };
        let x = array(3, numbers.iter().flat_map(|n| n.0).collect());
        let b = array(1, numbers.iter().map(|n| n.1).collect());
        for (n, (module, kernel, host)) in self.code.iter().enumerate() {
            let quotient = |x: f32, b: f32| if n == 0 || b > 0.0 { x / b } else { 0.0 };
            let expected = numbers.iter().flat_map(|(x, b)| x.map(|x| quotient(x, *b))).collect();
            let out = Arg::Array(Array::zeros(Scalar::F32, 3, &[numbers.len() as i32]));
            let args = [x.clone(), b.clone(), out];
            let run = run_host(host, module, *kernel, &[numbers.len() as u32], &args, u64::MAX);
            assert_eq!(run.failure, None);
            assert_same(KERNELS[n], &[x.clone(), b.clone(), array(3, expected)], &run.args);
        }
    }
}

/// Numbers by xorshift (Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    /// Of either sign, with magnitude from 2^low to less than 2^high.
    fn between(&mut self, low: i32, high: i32) -> f32 {
        let exponent = low + (self.bits() % (high - low) as u32) as i32;
        f32::from_bits(self.bits() & 0x807f_ffff | ((127 + exponent) as u32) << 23)
    }
}

/// Lanes go the same way, so that those beside each other have numbers of one kind.
#[test]
fn lanes_divide_vectors() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut numbers = Vec::new();
    let mut numerators = Vec::new();
    for b in (ONE..2 * ONE).step_by(4_001) {
        numerators.clear();
        hard_numerators(b, &mut numerators);
        for x in numerators.chunks(3) {
            let exponents = [(); 4].map(|()| (random.bits() % 60) as i32 - 53);
            let scaled = |k: usize| *x.get(k).unwrap_or(&x[0]) as f32 * 2f32.powi(exponents[k]);
            numbers.push(([scaled(0), -scaled(1), scaled(2)], b as f32 * 2f32.powi(exponents[3])));
        }
    }
    // Inside the ranges, at their edges and outside; zeros of both signs among them.
    let zeros = [0.0, -0.0];
    let inside = [(-63, -31), (-63, 32), (64, -31), (64, 32)];
    let outside =
        [(-64, 0), (65, 0), (0, -32), (0, 33), (-120, 3), (-63, 65), (-55, 90), (64, -64), (100, -30), (120, 10)];
    for (x, b) in inside.into_iter().chain(outside) {
        for kind in 0..3 {
            for n in 0..160 {
                let mut numerator = [(); 3].map(|()| random.between(x, x + 1));
                if kind == 1 {
                    numerator[n % 3] = zeros[n / 3 % 2];
                } else if kind == 2 && n % 5 == 0 {
                    numerator = [0.0, -0.0, random.between(-10, 10)];
                }
                numbers.push((numerator, random.between(b, b + 1)));
            }
        }
    }
    for _ in 0..20_000 {
        numbers.push(([(); 3].map(|()| random.between(-63, 65)), random.between(-31, 33)));
    }
    for _ in 0..20_000 {
        numbers.push(([(); 3].map(|()| f32::from_bits(random.bits())), f32::from_bits(random.bits())));
    }
    let specials =
        [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, f32::MIN_POSITIVE, f32::MAX, 1.0, -3.0];
    for b in specials {
        for x in specials {
            for y in specials {
                numbers.push(([x, y, 7.0], b));
            }
        }
    }
    Divide::new().check(&numbers);
}
