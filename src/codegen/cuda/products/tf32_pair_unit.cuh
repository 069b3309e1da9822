// One factor is float32, in two parts of TensorFloat-32's bits; the other is a half float, which has
// no more: it meets the small part as long as it is finite, and the large one always.
struct tf32_parts {
    unsigned small, large;
    __device__ void split(float x) {
        large = __float_as_uint(x) & 0xffffe000;
        float high = __uint_as_float(large);
        small = __float_as_uint(x == high ? 0.0f : x - high);
    }
    template <typename T> __device__ void split(T x) {
        large = __float_as_uint(float(x));
        small = (large & 0x7f800000) == 0x7f800000 ? 0 : large;
    }
};

struct mma_tf32_pair {
    typedef float real;
    enum { ROWS = 16, DEPTH = 8 };
    template <int D> struct first {
        tf32_parts at[4];
        template <bool TURNED, bool PAIRS, typename A> __device__ void load(A &a, int row, int l) {
            row += threadIdx.x % 32 / 4, l += threadIdx.x % 4 * (PAIRS ? 2 : 1);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                int i = row + k % 2 * 8, j = l + k / 2 * (PAIRS ? 1 : 4);
                at[k].split(TURNED ? a[j][i] : a[i][j]);
            }
        }
    };
    template <int D> struct second {
        tf32_parts at[2];
        template <bool TURNED, bool PAIRS, typename B> __device__ void load(B &b, int l, int column) {
            l += threadIdx.x % 4 * (PAIRS ? 2 : 1), column += threadIdx.x % 32 / 4;
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                int i = l + k * (PAIRS ? 1 : 4);
                at[k].split(TURNED ? b[column][i] : b[i][column]);
            }
        }
    };
    static __device__ void multiply_part(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    static __device__ void multiply(float (&c)[4], const first<8> &a, const second<8> &b) {
        multiply_part(c, {a.at[0].small, a.at[1].small, a.at[2].small, a.at[3].small}, {b.at[0].small, b.at[1].small});
        multiply_part(c, {a.at[0].large, a.at[1].large, a.at[2].large, a.at[3].large}, {b.at[0].large, b.at[1].large});
    }
};
