// Lets a C++ compiler for the host build CUDA text: one thread after the other runs the grid-stride loop.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define __device__
#define __global__
#define __constant__
// Blocks have one thread, and come one after the other.
#define __shared__ static
static void __syncthreads() {}
#undef assert
#define assert(condition) ((condition) ? (void)0 : std::abort())

struct Dim3 { unsigned x, y, z; };
static const Dim3 threadIdx = {0, 0, 0}, blockDim = {1, 1, 1};
static Dim3 blockIdx = {0, 0, 0}, gridDim = {1, 1, 1};

template <typename To, typename From> static To bit_copy(From from) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
static int __float_as_int(float x) { return bit_copy<int>(x); }
static int __float2int_rz(float x) {
    if (!(x == x)) return 0;
    return x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? (-2147483647 - 1) : (int)x;
}
static unsigned __float2uint_rz(float x) {
    if (!(x > 0.0f)) return 0;
    return x >= 4294967296.0f ? 4294967295u : (unsigned)x;
}
static unsigned __float_as_uint(float x) { return bit_copy<unsigned>(x); }
static float __int_as_float(int x) { return bit_copy<float>(x); }
static float __uint_as_float(unsigned x) { return bit_copy<float>(x); }
static long long __double_as_longlong(double x) { return bit_copy<long long>(x); }
static double __longlong_as_double(long long x) { return bit_copy<double>(x); }

// CUDA's drop NaN and order the zeros.
template <typename T> static T shim_lower(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
}
template <typename T> static T shim_upper(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    return a == b ? (std::signbit(a) ? b : a) : (a > b ? a : b);
}
#define fminf shim_lower<float>
#define fmaxf shim_upper<float>
#define fmin shim_lower<double>
#define fmax shim_upper<double>
#define OVERLOADS(T) \
    static T min(T a, T b) { return a < b ? a : b; } \
    static T max(T a, T b) { return a > b ? a : b; }
OVERLOADS(int)
OVERLOADS(unsigned)
OVERLOADS(long long)
OVERLOADS(unsigned long long)

// A warp of one thread is never whole.
static unsigned __activemask() { return 1; }
template <typename T> static T __shfl_down_sync(unsigned, T value, int) { return value; }

static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static unsigned __umulhi(unsigned a, unsigned b) { return ((unsigned long long)a * b) >> 32; }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return ((unsigned __int128)a * b) >> 64;
}

template <typename T> static float toward_zero(T x, float f) {
    // f is x rounded to nearest; a long double holds both exactly.
    return std::fabs((long double)f) > std::fabs((long double)x) ? std::nextafterf(f, 0.0f) : f;
}
static float __double2float_rz(double x) { return toward_zero(x, (float)x); }
static float __ll2float_rz(long long x) { return toward_zero(x, (float)x); }
static float __ull2float_rz(unsigned long long x) { return toward_zero(x, (float)x); }

#define ATOMIC(name, T, update) \
    static T name(T *p, T value) { \
        T old = *p; \
        *p = update; \
        return old; \
    }
#define ATOMIC_INTEGER(T) \
    ATOMIC(atomicMin, T, old < value ? old : value) \
    ATOMIC(atomicMax, T, old > value ? old : value)
#define ATOMIC_BITS(T) \
    ATOMIC(atomicAdd, T, old + value) \
    ATOMIC(atomicAnd, T, old & value) \
    ATOMIC(atomicOr, T, old | value) \
    ATOMIC(atomicXor, T, old ^ value) \
    ATOMIC(atomicExch, T, value) \
    static T atomicCAS(T *p, T expected, T value) { \
        T old = *p; \
        if (old == expected) *p = value; \
        return old; \
    }
ATOMIC_INTEGER(int)
ATOMIC_INTEGER(unsigned)
ATOMIC_INTEGER(long long)
ATOMIC_INTEGER(unsigned long long)
ATOMIC_BITS(int)
ATOMIC_BITS(unsigned)
ATOMIC_BITS(unsigned long long)
ATOMIC(atomicSub, int, old - value)
ATOMIC(atomicSub, unsigned, old - value)
ATOMIC(atomicAdd, float, old + value)
ATOMIC(atomicAdd, double, old + value)
ATOMIC(atomicExch, float, value)
static unsigned short atomicCAS(unsigned short *p, unsigned short expected, unsigned short value) {
    unsigned short old = *p;
    if (old == expected) *p = value;
    return old;
}

static void half_from_float(unsigned short &bits, float x) { bits = bit_copy<unsigned short>((_Float16)x); }
static void float_from_half(float &x, unsigned short bits) { x = (float)bit_copy<_Float16>(bits); }

struct launch_bounds;

// Runs a kernel with plain parameters, whose values lie at the given addresses, on every block of a grid: a thread each.
template <typename... Args, std::size_t... N>
static void run_grid_with(void (*kernel)(Args...), const unsigned *grid, void **args, std::index_sequence<N...>) {
    gridDim = {grid[0], grid[1], grid[2]};
    for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) kernel(*(Args *)args[N]...);
    blockIdx = {0, 0, 0};
    gridDim = {1, 1, 1};
}
template <typename... Args> static void run_grid(void (*kernel)(Args...), const unsigned *grid, void **args) {
    run_grid_with(kernel, grid, args, std::index_sequence_for<Args...>());
}

// Calls a kernel with arguments at the given addresses.
template <typename Launch, typename... Args, std::size_t... N>
static void call_with(void (*kernel)(Launch, Args...), const void *launch, void **args, std::index_sequence<N...>) {
    kernel(*(const Launch *)launch, *(Args *)args[N]...);
}
template <typename Launch, typename... Args>
static void call(void (*kernel)(Launch, Args...), const void *launch, void **args) {
    call_with(kernel, launch, args, std::index_sequence_for<Args...>());
}
