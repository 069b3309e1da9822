// What people's kernels use beyond arithmetic: one kernel for each subject.

typedef unsigned int u32;
typedef unsigned long long u64;

__constant__ float table[64];
__constant__ int offsets[3] = {1, -5, 7};
__device__ u32 ticket = 3;
__device__ float state[128];

extern "C" __global__ void block_sum(const float *x, float *out, int n) {
    __shared__ float part[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = i < n ? x[i] : 0.0f;
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
        for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
        if (threadIdx.x == 0) atomicAdd(out, s);
    }
}

extern "C" __global__ void last_block(const float *x, float *parts, float *out, int n) {
    __shared__ bool last;
    extern __shared__ float dynamic[];
    dynamic[threadIdx.x] = x[(blockIdx.x * blockDim.x + threadIdx.x) % n];
    __syncthreads();
    if (threadIdx.x == 0) {
        float s = 0;
        for (u32 k = 0; k < blockDim.x; ++k) s += dynamic[k];
        parts[blockIdx.x] = s;
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float s = 0;
        for (u32 b = 0; b < gridDim.x; ++b) s += ((volatile float *)parts)[b];
        *out = s;
    }
}

extern "C" __global__ void atomics(int *a, u32 *b, u64 *c, float *f, double *d) {
    int i = threadIdx.x;
    atomicAdd(a, i); atomicSub(a + 1, i); atomicExch(a + 2, i); atomicMin(a + 3, i); atomicMax(a + 4, i);
    atomicAnd(a + 5, i); atomicOr(a + 6, i); atomicXor(a + 7, i); atomicCAS(a + 8, 0, i);
    atomicInc(b, 7); atomicDec(b + 1, 7); atomicMin(b + 2, i); atomicMax(b + 3, i);
    atomicAdd(c, (u64)i); atomicMax(c + 1, (u64)i); atomicCAS(c + 2, 0ull, (u64)i); atomicExch(c + 3, (u64)i);
    atomicMin((long long *)c + 4, -(long long)i);
    atomicAdd(f, 1.0f); atomicExch(f + 1, 2.0f); atomicAdd(d, 1.0);
    atomicAdd_block(a + 9, 1); atomicAdd_system(a + 10, 1); atomicCAS_block(a + 11, 1, 2);
}

extern "C" __global__ void votes(int *out, int n) {
    u32 i = threadIdx.x, mask = __activemask();
    int p = (int)i < n;
    out[i] = __ballot_sync(mask, p) + __any_sync(mask, p) + 2 * __all_sync(mask, p) + __match_any_sync(mask, n * i % 5);
    int all = 0;
    out[i] += __match_all_sync(mask, n, &all) + all;
#if __CUDA_ARCH__ >= 800
    out[i] += __reduce_add_sync(mask, i) + __reduce_max_sync(mask, (int)i) + __reduce_or_sync(mask, i);
#endif
    out[i] += __syncthreads_count(p) + __syncthreads_or(p) + __syncthreads_and(p);
    __syncwarp(mask);
    out[i] += __shfl_sync(mask, n, 3) + __shfl_up_sync(mask, n, 1, 8);
}

extern "C" __global__ void bits(u32 *a, u64 *b, int *s) {
    u32 i = threadIdx.x, x = a[i], y = a[i + 1];
    u64 z = b[i];
    a[i] = __popc(x) + __clz(x) + __ffs(x) + __brev(x) + __byte_perm(x, y, 0x5410) + __funnelshift_l(x, y, i) + __funnelshift_rc(x, y, 7);
    b[i] = __popcll(z) + __clzll(z) + __brevll(z) + __ffsll(z) + __umul64hi(z, b[i + 1]) + (z >> (i & 63));
    s[i] = __mulhi(s[i], 77) + __umulhi(x, y) + __mul24(s[i], 5) + __umul24(x, y) + __sad(s[i], 3, 1u) + __hadd(s[i], 9) + __rhadd(s[i], 9);
    s[i] += __dp4a((int)x, (int)y, s[i]) + __dp2a_lo((int)x, (int)y, s[i]) + (int)__vadd4(x, y) + (int)__vmaxs2(x, y) + (int)__vabsdiffu4(x, y);
    s[i] += (int)(x / y) + (int)(x % y) + (int)(z / 7) + (int)((long long)z % 11) + (short)x / 3 + (signed char)y;
}

extern "C" __global__ void maths(float *f, double *d, int n) {
    int i = threadIdx.x;
    float x = f[i], y = f[i + 1];
    f[i] = sinf(x) + __sinf(x) + cosf(y) + tanf(x) + expf(x) + __expf(y) + exp2f(x) + logf(x) + __logf(y) + log2f(x) + powf(x, y) + __powf(x, y);
    f[i] += rsqrtf(x) + sqrtf(y) + __frsqrt_rn(x) + __fdividef(x, y) + __frcp_rn(x) + fmodf(x, y) + tanhf(x) + erff(x) + lgammaf(x) + cbrtf(x) + atan2f(x, y);
    f[i] += __fadd_ru(x, y) + __fmul_rz(x, y) + __fmaf_rd(x, y, x) + __fdiv_rn(x, y) + __fsqrt_rn(x) + rintf(x) + roundf(y) + truncf(x) + ceilf(y) + __saturatef(x);
    f[i] += fminf(x, y) + fmaxf(x, y) + fabsf(x) + copysignf(x, y) + ldexpf(x, n) + __int_as_float(n) + scalbnf(x, n) + nextafterf(x, y) + (isnan(x) ? 1 : 0) + (signbit(y) ? 1 : 0);
    f[i] += __float2int_rd(x) + __float2uint_rz(y) + __int2float_rn(n) + __float2ll_ru(x) + (unsigned char)x + (float)(long long)n + (float)(u64)n;
    double a = d[i], b = d[i + 1];
    d[i] = sin(a) + exp(b) + log(a) + pow(a, b) + sqrt(a) + rsqrt(b) + a / b + fma(a, b, a) + rint(a) + floor(b) + fmod(a, b) + cbrt(a) + __dadd_ru(a, b) + __dmul_rz(a, b);
    d[i] += (double)(float)a + (double)(long long)b + __double2int_rn(a) + __double_as_longlong(b) + __hiloint2double(n, n) + erf(a) + tgamma(b) + hypot(a, b);
}

extern "C" __global__ void memory(const float4 *__restrict__ v, float4 *w, const float *__restrict__ x, double2 *d, short4 *h, uchar4 *c, int n) {
    int i = threadIdx.x;
    float own[32];
    for (int k = 0; k < 32; ++k) own[k] = x[k] * table[k] + offsets[k % 3];
    float4 q = v[i];
    q.x += own[n & 31] + __ldg(x + i) + state[i & 127] + __ldcg(x + i) + __ldcs(x + 1) + __ldca(x + 2);
    w[i] = q;
    __stcs(w + i + 64, q);
    __stwt((float *)w, q.x);
    d[i] = make_double2(d[i + 1].y, d[i].x);
    h[i].y = h[i + 1].z; c[i].w = c[i].x + 1; state[i & 127] = q.y;
}

__device__ __noinline__ float helper(float x, int k) { return k > 0 ? helper(x * 0.5f, 0) + k : x; }
__device__ __noinline__ float4 pair(float4 a, const float *p) { a.x += *p; a.w = p[1]; return a; }

extern "C" __global__ void flow(float *x, int n) {
    int i = threadIdx.x;
    switch (n + i) {
        case 0: x[i] += 1; break;
        case 1: x[i] -= 2; break;
        case 2: x[i] *= 3; break;
        case 3: x[i] /= 4; break;
        case 4: x[i] = 5; break;
        case 5: x[i] = -x[i]; break;
        case 7: return;
        default: x[i] = 0;
    }
    float4 q = pair(make_float4(x[i], 1, 2, 3), x);
    while (q.x > 1.0f && n-- > 0) { q.x *= 0.5f; if (q.x < 0.1f) break; if (i & 1) continue; q.y += 1; }
    x[i] = q.x + q.y + q.w;
    if (x[i] > 1e30f) { printf("%d %f %s\n", i, x[i], "far"); assert(n > 0); }
    if (x[i] < -1e30f) __trap();
    x[i] += (float)(clock64() & 1) * 0 + (float)(clock() & 1) * 0;
    __nanosleep(10);
    asm volatile("bar.sync 1, 32;");
    asm volatile("membar.cta;"); asm volatile("fence.acq_rel.gpu;"); asm volatile("fence.proxy.alias;" ::: "memory");
}

extern "C" __global__ void words(u64 *a, u32 *b) {
    int i = threadIdx.x;
    u64 low, high;
    asm("add.cc.u64 %0, %2, %3; addc.u64 %1, %4, 0;" : "=l"(low), "=l"(high) : "l"(a[i]), "l"(a[i + 1]), "l"(a[i + 2]));
    a[i] = low ^ high;
    u32 lane, warp, sm, smid, size; u64 timer;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)); asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(sm)); asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size)); asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    b[i] = lane + warp + sm + smid * 0 + size + (u32)timer * 0;
    u32 r; asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(lane), "r"(warp), "r"(sm)); b[i] += r;
    asm("bfe.u32 %0, %1, 3, 5;" : "=r"(r) : "r"(lane)); b[i] += r;
    asm("bfi.b32 %0, %1, %2, 4, 8;" : "=r"(r) : "r"(lane), "r"(sm)); b[i] += r;
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(lane), "r"(sm), "r"(warp)); b[i] += r;
    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; add.f16 lo, lo, hi; fma.rn.f16 hi, lo, hi, lo; mov.b32 %0, {lo, hi}; }" : "=r"(r) : "r"(lane)); b[i] += r;
    asm("fma.rn.f16x2 %0, %1, %2, %1;" : "=r"(r) : "r"(lane), "r"(sm)); b[i] += r;
#if __CUDA_ARCH__ >= 900
    asm("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(r)); b[i] += r;
    asm("fma.rn.bf16x2 %0, %1, %2, %1;" : "=r"(r) : "r"(lane), "r"(sm)); b[i] += r;
    asm("{ .reg .f32 f, g; mov.b32 f, %1; tanh.approx.f32 g, f; ex2.approx.ftz.f32 f, g; cvt.rn.bf16x2.f32 %0, f, g; }" : "=r"(r) : "r"(lane)); b[i] += r;
#endif
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void copies(const float *x, float *y) {
    __shared__ __align__(128) float tile[256];
    int i = threadIdx.x;
    u32 to = (u32)__cvta_generic_to_shared(tile + 4 * i);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + 4 * i));
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, 2;" ::"r"(to + 4 * 128), "l"(x + i));
    asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 0;"); asm volatile("cp.async.wait_all;");
    __syncthreads();
    u32 a[4], b[2]; float c[4] = {0, 0, 0, 0};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"((u32)__cvta_generic_to_shared(tile) + 16 * (i & 31)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"((u32)__cvta_generic_to_shared(tile) + 16 * (i & 15)));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    y[i] = c[0] + c[1] + c[2] + c[3] + tile[i];
}
#endif
