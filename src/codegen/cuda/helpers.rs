//! The helper functions of CUDA text, for operations that C++ leaves undefined or does not have.

use std::sync::LazyLock;

use crate::ids::IdSet;
use crate::types::Scalar;

/// In the order in which they are printed: a helper is after those it needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Helper {
    Wrap,
    Take,
    SafeDiv,
    SafeRem,
    FloorDiv,
    ShiftLeft,
    ShiftRight,
    AbsDiff,
    Saturate,
    UnlessZero,
    RoundToOdd,
    IntRoundToOdd,
    FmaRoundToOdd,
    WarpShuffle,
    WarpUp,
    WarpDown,
    WarpXor,
    AtomicBits,
    AtomicUpdate,
    AtomicCas,
    GridSync,
    WarpAdd,
    FastSqrt,
}

/// A shuffle of values that are no words.
macro_rules! by_words {
    ($name:literal, $shuffle:literal) => {
        concat!(
            "// Of any value, word by word.\n",
            "template <typename T> static __device__ T ",
            $name,
            "(unsigned threads, T value, int n) {\n",
            "    unsigned words[(sizeof(T) + 3) / 4] = {};\n",
            "    memcpy(words, &value, sizeof(T));\n",
            "    for (unsigned &word : words) word = ",
            $shuffle,
            "(threads, word, n);\n",
            "    memcpy(&value, words, sizeof(T));\n",
            "    return value;\n",
            "}\n"
        )
    };
}

impl Helper {
    pub fn name(self) -> &'static str {
        match self {
            Helper::Wrap => "wrap",
            Helper::FastSqrt => "fast_sqrt",
            Helper::Take => "take",
            Helper::SafeDiv => "safe_div",
            Helper::SafeRem => "safe_rem",
            Helper::FloorDiv => "floor_div",
            Helper::ShiftLeft => "shift_left",
            Helper::ShiftRight => "shift_right",
            Helper::AbsDiff => "abs_diff",
            Helper::Saturate => "saturate",
            Helper::UnlessZero => "unless_zero",
            Helper::RoundToOdd | Helper::IntRoundToOdd => "round_to_odd",
            Helper::FmaRoundToOdd => "fma_round_to_odd",
            Helper::WarpShuffle => "warp_shuffle",
            Helper::WarpUp => "warp_shuffle_up",
            Helper::WarpDown => "warp_shuffle_down",
            Helper::WarpXor => "warp_shuffle_xor",
            Helper::AtomicBits => "bits_of",
            Helper::AtomicUpdate => "atomic_update",
            Helper::AtomicCas => "compare_and_swap",
            Helper::GridSync => "grid_sync",
            Helper::WarpAdd => "warp_add",
        }
    }

    /// Every helper's name: variables and functions of the text avoid them.
    pub const NAMES: &[&str] = &[
        "first_task",
        "task_step",
        "wrap",
        "fast_sqrt",
        "take",
        "safe_div",
        "safe_rem",
        "floor_div",
        "shift_left",
        "shift_right",
        "abs_diff",
        "saturate",
        "unless_zero",
        "round_to_odd",
        "fma_round_to_odd",
        "warp_shuffle",
        "warp_shuffle_up",
        "warp_shuffle_down",
        "warp_shuffle_xor",
        "bits_of",
        "atomic_update",
        "compare_and_swap",
        "grid_sync",
        "warp_add",
        "component",
        "set_component",
        "cw_mul",
        "cw_div",
        "tile_product",
        "mma_f16",
        "mma_f16_short",
        "mma_bf16",
        "mma_tf32",
        "mma_tf32_pair",
        "mma_f64",
        "load_matrices",
        "first_halves",
        "second_halves",
        "to_tf32",
        "tf32_parts",
    ];

    /// Whether a helper has this name.
    pub fn is_name(name: &str) -> bool {
        static SET: LazyLock<IdSet<&str>> = LazyLock::new(|| Helper::NAMES.iter().copied().collect());
        SET.contains(name)
    }

    /// The helpers that this one calls.
    pub fn needs(self) -> &'static [Helper] {
        match self {
            Helper::FloorDiv => &[Helper::SafeDiv],
            Helper::FmaRoundToOdd => &[Helper::RoundToOdd],
            Helper::AtomicUpdate | Helper::AtomicCas => &[Helper::AtomicBits],
            _ => &[],
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Helper::Wrap => {
                "\
// A negative index counts from the end.
static __device__ int wrap(int i, int n) { return i < 0 ? i + n : i; }
"
            }
            Helper::FastSqrt => {
                "\
// The hardware's approximation.
static __device__ float fast_sqrt(float x) {
    float root;
    asm(\"sqrt.approx.ftz.f32 %0, %1;\" : \"=f\"(root) : \"f\"(x));
    return root;
}
"
            }
            Helper::Take => {
                "\
// What is there, leaving zero: the adjoint of an element that was overwritten. The test makes the
// store wait until the value has come: behind a load of the same address that is still under way it
// would hold up the warps, one after the other.
template <typename T> static __device__ T take(T &place) {
    T value = place;
    const char *bytes = (const char *)&value;
    char any = 0;
    for (size_t k = 0; k < sizeof(T); ++k) any |= bytes[k];
    if (any) place = T{};
    return value;
}
"
            }
            Helper::WarpShuffle => by_words!("warp_shuffle", "__shfl_sync"),
            Helper::WarpUp => by_words!("warp_shuffle_up", "__shfl_up_sync"),
            Helper::WarpDown => by_words!("warp_shuffle_down", "__shfl_down_sync"),
            Helper::WarpXor => by_words!("warp_shuffle_xor", "__shfl_xor_sync"),
            Helper::SafeDiv => {
                "\
// Quotient, truncated; x / 0 is 0, and the lowest number / -1 wraps.
template <typename T> static __device__ T safe_div(T a, T b) {
    if (b == 0) return 0;
    return T(-1) < T(0) && b == T(-1) ? T(0 - (unsigned long long)a) : T(a / b);
}
"
            }
            Helper::SafeRem => {
                "\
// Remainder with the sign of a; x % 0 is x.
template <typename T> static __device__ T safe_rem(T a, T b) {
    if (b == 0) return a;
    return T(-1) < T(0) && b == T(-1) ? T(0) : T(a % b);
}
"
            }
            Helper::FloorDiv => {
                "\
// Quotient, rounded down; x // 0 is 0.
template <typename T> static __device__ T floor_div(T a, T b) {
    T q = safe_div(a, b);
    return b != 0 && b != T(-1) && a % b != 0 && (a < 0) != (b < 0) ? T(q - 1) : q;
}
"
            }
            Helper::ShiftLeft => {
                "\
// 0 when n is negative, or the width or more.
template <typename T> static __device__ T shift_left(T a, T n) {
    unsigned long long count = (unsigned long long)n;
    return count < 8 * sizeof(T) ? T((unsigned long long)a << count) : T(0);
}
"
            }
            Helper::ShiftRight => {
                "\
// Only the sign is left when n is negative, or the width or more.
template <typename T> static __device__ T shift_right(T a, T n) {
    unsigned long long count = (unsigned long long)n;
    const bool is_signed = T(-1) < T(0);
    return count < 8 * sizeof(T) ? T(a >> count) : is_signed ? T(a >> (8 * sizeof(T) - 1)) : T(0);
}
"
            }
            Helper::AbsDiff => {
                "\
// The distance of a and b; one that T has no room for wraps.
template <typename T> static __device__ T abs_diff(T a, T b) {
    return a < b ? T((unsigned long long)b - (unsigned long long)a) : T((unsigned long long)a - (unsigned long long)b);
}
"
            }
            Helper::Saturate => {
                "\
// Truncates toward zero to an integer; out of range gives the nearest integer, NaN gives 0.
template <typename I, typename F> static __device__ I saturate(F x) {
    const bool is_signed = I(-1) < I(0);
    const I high = I(~0ull >> (64 - 8 * sizeof(I) + is_signed));
    const I low = I(~high);
    if (!(x == x)) return 0;
    if (x <= F(low)) return low;
    return x >= F(high) ? high : I(x);
}
"
            }
            Helper::UnlessZero => {
                "\
// x, but 0 where the adjoint a is 0: 0 * infinity is no gradient.
template <typename A, typename T> static __device__ T unless_zero(A a, T x) { return a != A{} ? x : T{}; }
"
            }
            Helper::RoundToOdd => {
                "\
// To float so that a second rounding gives the same as one rounding of x.
static __device__ float round_to_odd(double x) {
    float f = __double2float_rz(x);
    return (double)f != x ? __uint_as_float(__float_as_uint(f) | 1) : f;
}
"
            }
            Helper::IntRoundToOdd => {
                "\
// To float so that a second rounding gives the same as one rounding of x.
static __device__ float round_to_odd(long long x) {
    float f = __ll2float_rz(x);
    return (long long)f != x ? __uint_as_float(__float_as_uint(f) | 1) : f;
}
static __device__ float round_to_odd(unsigned long long x) {
    float f = __ull2float_rz(x);
    return (unsigned long long)f != x ? __uint_as_float(__float_as_uint(f) | 1) : f;
}
"
            }
            Helper::FmaRoundToOdd => {
                "\
// a * b + c for 16-bit formats, where a * b is exact.
static __device__ float fma_round_to_odd(double a, double b, double c) {
    double product = a * b;
    double sum = product + c;
    double part = sum - product;
    double error = (product - (sum - part)) + (c - part);
    long long bits = __double_as_longlong(sum);
    if (sum - sum == 0 && error != 0 && bits % 2 == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
    return round_to_odd(__longlong_as_double(bits));
}
"
            }
            Helper::AtomicBits => {
                "\
// The integer as large as a number, which atomicCAS compares and replaces.
template <int size> struct bits_of;
template <> struct bits_of<2> { using type = unsigned short; };
template <> struct bits_of<4> { using type = unsigned int; };
template <> struct bits_of<8> { using type = unsigned long long; };
"
            }
            Helper::AtomicUpdate => {
                "\
// Replaces *p by f(*p); gives the old value.
template <typename T, typename F> static __device__ T atomic_update(T *p, F f) {
    using bits = typename bits_of<sizeof(T)>::type;
    for (bits old = *(bits *)p;;) {
        T value = f(*(T *)&old);
        bits seen = atomicCAS((bits *)p, old, *(bits *)&value);
        if (seen == old) return *(T *)&old;
        old = seen;
    }
}
"
            }
            Helper::GridSync => {
                "\
// Waits for all blocks of a cooperative launch (cuLaunchCooperativeKernel), as cooperative_groups
// does: the driver gives such a launch a word that each block adds 1 to, the first one what is
// missing to the top bit. All wait until that has turned.
static __device__ void grid_sync() {
    __barrier_sync(0);
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        unsigned high, low, old, now;
        asm(\"mov.u32 %0, %%envreg1;\" : \"=r\"(high));
        asm(\"mov.u32 %0, %%envreg2;\" : \"=r\"(low));
        unsigned long long count = (unsigned long long)high << 32 | low;
        if (count == 0) __trap();
        count += 4;
        unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        unsigned own = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000001 - blocks : 1;
        asm volatile(\"atom.release.gpu.global.add.u32 %0, [%1], %2;\" : \"=r\"(old) : \"l\"(count), \"r\"(own) : \"memory\");
        do asm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(now) : \"l\"(count) : \"memory\");
        while (((old ^ now) & 0x80000000) == 0);
    }
    __barrier_sync(0);
}
"
            }
            Helper::WarpAdd => {
                "\
// Adds the values of all threads to *sum. A whole warp adds up first: 1 atomic instead of 32.
template <typename T> static __device__ void warp_add(T *sum, T value) {
    const unsigned whole = 0xffffffffu;
    if (__activemask() == whole) {
        for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(whole, value, lanes);
        unsigned row = threadIdx.z * blockDim.y + threadIdx.y;
        if ((row * blockDim.x + threadIdx.x) % 32 != 0) return;
    }
    atomicAdd(sum, value);
}
"
            }
            Helper::AtomicCas => {
                "\
// Replaces *p by value if its bits are those of expected; gives the old value.
template <typename T> static __device__ T compare_and_swap(T *p, T expected, T value) {
    using bits = typename bits_of<sizeof(T)>::type;
    bits seen = atomicCAS((bits *)p, *(bits *)&expected, *(bits *)&value);
    return *(T *)&seen;
}
"
            }
        }
    }
}

/// The struct of a 16-bit float format: CUDA's own needs a header, which NVRTC has only with an
/// include path.
pub fn half_struct(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F16 => {
            "\
struct float16 {
    unsigned short bits;
    float16() = default;
    __device__ explicit float16(float x) { asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(x)); }
    __device__ explicit operator float() const {
        float x;
        asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(bits));
        return x;
    }
};
"
        }
        _ => {
            "\
struct bfloat16 {
    unsigned short bits;
    bfloat16() = default;
    __device__ explicit bfloat16(float x) {
        unsigned int u = __float_as_uint(x);
        bits = x == x ? (u + 0x7fff + (u >> 16 & 1)) >> 16 : 0x7fff;
    }
    __device__ explicit operator float() const { return __uint_as_float((unsigned int)bits << 16); }
};
"
        }
    }
}
