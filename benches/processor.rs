//! What do the accesses of lanes cost on this processor? `cargo bench --bench processor`.
//!
//! Nanoseconds for each lane or element, and as many simple instructions (additions of integers,
//! four of which run at once), then the rows of `src/codegen/llvm/processor.rs` that follow, for
//! the widths of vectors that the processor has. Each is the least of many short runs, so that what
//! else the machine does counts little.

use std::hint::black_box;
use std::time::Instant;

/// Elements of arrays that fit in the first and in the second cache.
const SIZES: [(&str, usize); 2] = [("L1", 4 << 10), ("L2", 96 << 10)];

/// Masked accesses that take so many times as long as others are dear.
const DEAR: f64 = 1.25;

/// Runs `each` many times; nanoseconds of the quickest, for each of `count` elements.
fn least(count: usize, mut each: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..400 {
        let start = Instant::now();
        each();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / count as f64
}

/// Numbers in an order that no prefetcher knows: each of `0..n` once.
fn shuffled(n: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for k in (1..n).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(k, (state % (k as u64 + 1)) as usize);
    }
    order
}

/// The time of a simple instruction: a quarter of an addition that waits for the one before.
fn simple() -> f64 {
    const COUNT: usize = 1 << 14;
    let chain = least(COUNT, || {
        let mut sum = black_box(1u64);
        for _ in 0..COUNT {
            // Nothing that the compiler could compute beforehand.
            sum = black_box_register(sum.wrapping_add(3));
        }
        black_box(sum);
    });
    chain / 4.0
}

/// The same number, as if the compiler did not know it.
#[cfg(target_arch = "x86_64")]
fn black_box_register(mut x: u64) -> u64 {
    // SAFETY: no instruction.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

#[cfg(not(target_arch = "x86_64"))]
fn black_box_register(x: u64) -> u64 {
    black_box(x)
}

/// The same for a float, which stays where floats are, so that the compiler puts no four of them in
/// a vector.
#[cfg(target_arch = "x86_64")]
fn black_box_float(mut x: f32) -> f32 {
    // SAFETY: no instruction.
    unsafe { std::arch::asm!("/* {0} */", inout(xmm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

#[cfg(not(target_arch = "x86_64"))]
fn black_box_float(x: f32) -> f32 {
    black_box(x)
}

/// Numbers whose quotients have all their digits: dividers may be done early with others.
fn divisors(n: usize) -> Vec<f32> {
    (0..n).map(|k| 1.0 + (k * 7919 % 10007) as f32 / 10007.0).collect()
}

/// What was measured for vectors of one width, nanoseconds for each lane; accesses are of the first
/// cache.
struct Measured {
    gathered: f64,
    scattered: f64,
    wide: f64,
    /// Loads and stores, without and with a mask.
    loads: [f64; 2],
    stores: [f64; 2],
    division: f64,
}

impl Measured {
    /// As a row of the table; `simple`: a simple instruction; `divided`: one division by itself.
    fn row(&self, bits: u32, simple: f64, divided: f64, lanes: f64) -> String {
        let masks = self.loads[1] > self.loads[0] * DEAR || self.stores[1] > self.stores[0] * DEAR;
        format!(
            "const THIS_{bits}: Costs = Costs {{ gathered: {:.1}, scattered: {:.1}, wide: {:.1}, masks: {masks}, division: {:.1} }};",
            self.gathered / simple,
            self.scattered / simple,
            self.wide / simple,
            self.division * lanes / divided,
        )
    }
}

/// The accesses of vectors of `$lanes` floats, for processors with `$feature`.
#[cfg(target_arch = "x86_64")]
macro_rules! width {
    ($name:ident, $feature:tt, $lanes:literal, $ty:ty, [$zero:ident, $add:ident, $set:ident, $load:ident, $store:ident, $div:ident],
     $gather:expr, $scatter:expr, $masked_load:expr, $masked_store:expr) => {
        mod $name {
            use std::arch::x86_64::*;
            use std::hint::black_box;

            use super::{Measured, divisors, least, shuffled};

            /// A number that all lanes have a part in, so that none is left out.
            #[target_feature(enable = $feature)]
            fn all_of(x: $ty) -> f32 {
                // SAFETY: a vector is its lanes.
                let lanes: [f32; $lanes] = unsafe { std::mem::transmute(x) };
                lanes.iter().sum()
            }

            /// Sums the elements of these numbers.
            #[target_feature(enable = $feature)]
            fn gather(x: &[f32], at: &[u32]) -> f32 {
                let mut sum = $zero();
                for at in at.as_chunks::<$lanes>().0 {
                    // SAFETY: the numbers are below the length of `x`.
                    sum = $add(sum, unsafe { $gather(x.as_ptr(), at.as_ptr()) });
                }
                all_of(sum)
            }

            /// Writes ones to the elements of these numbers.
            #[target_feature(enable = $feature)]
            fn scatter(x: &mut [f32], at: &[u32], ones: [f32; $lanes]) {
                for at in at.as_chunks::<$lanes>().0 {
                    // SAFETY: as above.
                    unsafe { $scatter(x.as_mut_ptr(), at.as_ptr(), $load(ones.as_ptr())) };
                }
            }

            /// Sums elements side by side from an address that is no multiple of a vector, under a
            /// mask or not.
            #[target_feature(enable = $feature)]
            fn beside<const MASKED: bool>(x: &[f32], mask: u32) -> f32 {
                let mut sum = $zero();
                for part in x[1..].as_chunks::<$lanes>().0 {
                    // SAFETY: the elements are there.
                    let loaded =
                        unsafe { if MASKED { $masked_load(part.as_ptr(), mask) } else { $load(part.as_ptr()) } };
                    sum = $add(sum, loaded);
                }
                all_of(sum)
            }

            #[target_feature(enable = $feature)]
            fn store_beside<const MASKED: bool>(x: &mut [f32], mask: u32) {
                for part in x[1..].as_chunks_mut::<$lanes>().0 {
                    // SAFETY: as above.
                    unsafe {
                        if MASKED {
                            $masked_store(part.as_mut_ptr(), mask, $set(2.0));
                        } else {
                            $store(part.as_mut_ptr(), $set(2.0));
                        }
                    }
                }
            }

            #[target_feature(enable = $feature)]
            fn divide(x: &[f32], by: f32) -> f32 {
                let mut sum = $zero();
                for part in x.as_chunks::<$lanes>().0 {
                    // SAFETY: the elements are there.
                    sum = $add(sum, $div($set(by), unsafe { $load(part.as_ptr()) }));
                }
                all_of(sum)
            }

            /// Measures, and tells each figure; None: the processor has no such vectors.
            pub fn measure(cache: &str, n: usize, row: &dyn Fn(&str, f64)) -> Option<Measured> {
                if !is_x86_feature_detected!($feature) {
                    return None;
                }
                let (mut x, at) = (vec![1.5f32; n + 1], shuffled(n));
                let (all, ones) = (black_box(u32::MAX), black_box([1.0; $lanes]));
                let apart = |stride: usize| -> Vec<u32> {
                    (0..n).map(|k| (k / $lanes * $lanes * stride + k % $lanes * stride) as u32 % n as u32).collect()
                };
                let (three, nine, divisors) = (apart(3), apart(9), divisors(n));
                let told = |what: &str, ns: f64| {
                    row(&format!("{what} in {cache}, {} lanes", $lanes), ns);
                    ns
                };
                // SAFETY: the processor has the feature.
                let measured = unsafe {
                    Measured {
                        gathered: told("gathered", least(n, || _ = black_box(gather(&x, &at)))),
                        scattered: told("scattered", least(n, || scatter(black_box(&mut x), &at, ones))),
                        wide: {
                            told("gathered 3 elements apart", least(n, || _ = black_box(gather(&x, &three))));
                            told("gathered 9 elements apart", least(n, || _ = black_box(gather(&x, &nine))))
                        },
                        loads: [
                            told("side by side", least(n, || _ = black_box(beside::<false>(&x, all)))),
                            told("side by side, under a mask,", least(n, || _ = black_box(beside::<true>(&x, all)))),
                        ],
                        stores: [
                            told("stored side by side", least(n, || store_beside::<false>(black_box(&mut x), all))),
                            told(
                                "stored side by side, under a mask,",
                                least(n, || store_beside::<true>(black_box(&mut x), all)),
                            ),
                        ],
                        division: told("divisions", least(n, || _ = black_box(divide(&divisors, black_box(3.0))))),
                    }
                };
                Some(measured)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
width!(
    avx512,
    "avx512f",
    16,
    __m512,
    [_mm512_setzero_ps, _mm512_add_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_div_ps],
    |x: *const f32, at: *const u32| _mm512_i32gather_ps::<4>(_mm512_loadu_si512(at.cast()), x.cast()),
    |x: *mut f32, at: *const u32, v| _mm512_i32scatter_ps::<4>(x.cast(), _mm512_loadu_si512(at.cast()), v),
    |x: *const f32, mask: u32| _mm512_maskz_loadu_ps(mask as u16, x),
    |x: *mut f32, mask: u32, v| _mm512_mask_storeu_ps(x, mask as u16, v)
);

#[cfg(target_arch = "x86_64")]
width!(
    avx2,
    "avx2",
    8,
    __m256,
    [_mm256_setzero_ps, _mm256_add_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_div_ps],
    |x: *const f32, at: *const u32| _mm256_i32gather_ps::<4>(x, _mm256_loadu_si256(at.cast())),
    // There is no such instruction: lane by lane.
    |x: *mut f32, at: *const u32, v: __m256| {
        let mut lanes = [0.0f32; 8];
        _mm256_storeu_ps(lanes.as_mut_ptr(), v);
        for (n, lane) in std::hint::black_box(lanes).into_iter().enumerate() {
            *x.add(*at.add(n) as usize) = lane;
        }
    },
    |x: *const f32, mask: u32| _mm256_maskload_ps(x, _mm256_set1_epi32(mask as i32)),
    |x: *mut f32, mask: u32, v| _mm256_maskstore_ps(x, _mm256_set1_epi32(mask as i32), v)
);

fn main() {
    let simple = simple();
    let row = |what: &str, ns: f64| println!("| {what} | {ns:.3} | {:.2} |", ns / simple);
    println!("| for each lane or element | ns | simple instructions |\n|---|---|---|");
    row("a simple instruction", simple);
    let x = divisors(4 << 10);
    let divided = least(x.len(), || {
        let mut sums = [0.0f32; 4];
        for four in x.as_chunks::<4>().0 {
            for (sum, &k) in sums.iter_mut().zip(four) {
                *sum = black_box_float(*sum + black_box_float(black_box_float(k).recip()));
            }
        }
        black_box(sums);
    });
    row("divisions one by one", divided);
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut rows: Vec<String> = Vec::new();
    for (cache, n) in SIZES {
        let (x, at) = (vec![1.5f32; n + 1], shuffled(n));
        let apart = least(n, || {
            // Four sums, so that no addition waits.
            let mut sums = [0.0f32; 4];
            for four in at.as_chunks::<4>().0 {
                for (sum, &k) in sums.iter_mut().zip(four) {
                    *sum += x[k as usize];
                }
            }
            black_box(sums);
        });
        row(&format!("elements anywhere in {cache}, one by one"), apart);
        #[cfg(target_arch = "x86_64")]
        for (bits, measured) in [(512, avx512::measure(cache, n, &row)), (256, avx2::measure(cache, n, &row))] {
            if let Some(measured) = measured.filter(|_| cache == "L1") {
                rows.push(measured.row(bits, simple, divided, f64::from(bits / 32)));
            }
        }
    }
    println!("\nThe rows of this processor, by the first cache:\n");
    rows.iter().for_each(|row| println!("{row}"));
}
