//! What do the accesses of lanes cost on this processor? `cargo bench --bench processor`.
//!
//! The rows are those of `src/codegen/llvm/processor.rs`, measured apart from kernels: nanoseconds for each lane, and as many simple
//! instructions (additions of integers, four of which run at once). Each is the least of many short runs, so that what else
//! the machine does counts little. `scattered` and `wide` of the cost model are about what a gather costs more than a
//! load of one thread, with the arithmetic of its addresses; `masks` is whether masked accesses take clearly longer.

use std::hint::black_box;
use std::time::Instant;

/// Elements of arrays that fit in the first and in the second cache.
const SIZES: [(&str, usize); 2] = [("L1", 4 << 10), ("L2", 96 << 10)];

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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Sums the elements of these numbers, sixteen at once.
    #[target_feature(enable = "avx512f")]
    pub fn gather(x: &[f32], at: &[u32]) -> f32 {
        let mut sum = _mm512_setzero_ps();
        for at in at.as_chunks::<16>().0 {
            // SAFETY: the numbers are below the length of `x`.
            sum = _mm512_add_ps(sum, unsafe {
                _mm512_i32gather_ps::<4>(_mm512_loadu_si512(at.as_ptr().cast()), x.as_ptr().cast())
            });
        }
        _mm512_reduce_add_ps(sum)
    }

    /// Adds one to the elements of these numbers.
    #[target_feature(enable = "avx512f")]
    pub fn scatter(x: &mut [f32], at: &[u32]) {
        for at in at.as_chunks::<16>().0 {
            // SAFETY: as above.
            unsafe {
                _mm512_i32scatter_ps::<4>(
                    x.as_mut_ptr().cast(),
                    _mm512_loadu_si512(at.as_ptr().cast()),
                    _mm512_set1_ps(1.0),
                )
            };
        }
    }

    /// Sums elements side by side from an address that is no multiple of a vector, under a mask or not.
    #[target_feature(enable = "avx512f")]
    pub fn beside<const MASKED: bool>(x: &[f32], mask: u16) -> f32 {
        let mut sum = _mm512_setzero_ps();
        for part in x[1..].as_chunks::<16>().0 {
            // SAFETY: sixteen elements are there.
            let loaded = unsafe {
                if MASKED { _mm512_maskz_loadu_ps(mask, part.as_ptr()) } else { _mm512_loadu_ps(part.as_ptr()) }
            };
            sum = _mm512_add_ps(sum, loaded);
        }
        _mm512_reduce_add_ps(sum)
    }

    #[target_feature(enable = "avx512f")]
    pub fn store_beside<const MASKED: bool>(x: &mut [f32], mask: u16) {
        for part in x[1..].as_chunks_mut::<16>().0 {
            // SAFETY: as above.
            unsafe {
                if MASKED {
                    _mm512_mask_storeu_ps(part.as_mut_ptr(), mask, _mm512_set1_ps(2.0));
                } else {
                    _mm512_storeu_ps(part.as_mut_ptr(), _mm512_set1_ps(2.0));
                }
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    pub fn divide(x: &[f32], by: f32) -> f32 {
        let mut sum = _mm512_setzero_ps();
        for part in x.as_chunks::<16>().0 {
            // SAFETY: sixteen elements are there.
            sum = _mm512_add_ps(sum, _mm512_div_ps(_mm512_set1_ps(by), unsafe { _mm512_loadu_ps(part.as_ptr()) }));
        }
        _mm512_reduce_add_ps(sum)
    }
}

fn main() {
    let simple = simple();
    let row = |what: &str, ns: f64| println!("| {what} | {ns:.3} | {:.2} |", ns / simple);
    println!("| for each lane or element | ns | simple instructions |\n|---|---|---|");
    row("a simple instruction", simple);
    for (cache, n) in SIZES {
        let (mut x, at) = (vec![1.5f32; n + 1], shuffled(n));
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
        if is_x86_feature_detected!("avx512f") {
            let mask = black_box(0xffffu16);
            // SAFETY: the processor has AVX-512.
            unsafe {
                row(&format!("gathered in {cache}, 16 lanes"), least(n, || _ = black_box(x86::gather(&x, &at))));
                row(&format!("scattered in {cache}, 16 lanes"), least(n, || x86::scatter(black_box(&mut x), &at)));
                for stride in [3usize, 9] {
                    let wide: Vec<u32> =
                        (0..n).map(|k| (k / 16 * 16 * stride + k % 16 * stride) as u32 % n as u32).collect();
                    row(
                        &format!("gathered {stride} elements apart in {cache}"),
                        least(n, || _ = black_box(x86::gather(&x, &wide))),
                    );
                }
                row(&format!("side by side in {cache}"), least(n, || _ = black_box(x86::beside::<false>(&x, mask))));
                row(
                    &format!("side by side in {cache}, under a mask"),
                    least(n, || _ = black_box(x86::beside::<true>(&x, mask))),
                );
                row(
                    &format!("stored side by side in {cache}"),
                    least(n, || x86::store_beside::<false>(black_box(&mut x), mask)),
                );
                row(
                    &format!("stored side by side in {cache}, under a mask"),
                    least(n, || x86::store_beside::<true>(black_box(&mut x), mask)),
                );
                if cache == "L1" {
                    row("a division, 16 lanes", least(n, || _ = black_box(x86::divide(&x, black_box(3.0)))));
                }
            }
        }
    }
    let x = vec![1.5f32; 4 << 10];
    row(
        "a division, one by one",
        least(x.len(), || {
            let mut sums = [0.0f32; 4];
            for four in x.as_chunks::<4>().0 {
                for (sum, &k) in sums.iter_mut().zip(four) {
                    *sum += f32::from_bits(black_box_register(k.to_bits().into()) as u32).recip();
                }
            }
            black_box(sums);
        }),
    );
}
