// float32 rounded to the 11 bits of TensorFloat-32; half floats have no more.
static __device__ unsigned to_tf32(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}
template <typename T> static __device__ unsigned to_tf32(T x) { return __float_as_uint(float(x)); }

struct mma_tf32 {
    typedef float real;
    enum { ROWS = 16, DEPTH = 8 };
    template <int D> struct first {
        unsigned at[4];
        template <bool TURNED, bool PAIRS, typename A> __device__ void load(A &a, int row, int l) {
            row += threadIdx.x % 32 / 4, l += threadIdx.x % 4 * (PAIRS ? 2 : 1);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                int i = row + k % 2 * 8, j = l + k / 2 * (PAIRS ? 1 : 4);
                at[k] = to_tf32(TURNED ? a[j][i] : a[i][j]);
            }
        }
    };
    template <int D> struct second {
        unsigned at[2];
        template <bool TURNED, bool PAIRS, typename B> __device__ void load(B &b, int l, int column) {
            l += threadIdx.x % 4 * (PAIRS ? 2 : 1), column += threadIdx.x % 32 / 4;
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                int i = l + k * (PAIRS ? 1 : 4);
                at[k] = to_tf32(TURNED ? b[column][i] : b[i][column]);
            }
        }
    };
    static __device__ void multiply(float (&c)[4], const first<8> &a, const second<8> &b) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
    }
};
