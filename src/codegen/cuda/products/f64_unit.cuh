struct mma_f64 {
    typedef double real;
    enum { ROWS = 8, DEPTH = 4 };
    template <int D> struct first {
        double at;
        template <bool TURNED, bool PAIRS, typename A> __device__ void load(A &a, int row, int l) {
            row += threadIdx.x % 32 / 4, l += threadIdx.x % 4;
            at = TURNED ? a[l][row] : a[row][l];
        }
    };
    template <int D> struct second {
        double at;
        template <bool TURNED, bool PAIRS, typename B> __device__ void load(B &b, int l, int column) {
            l += threadIdx.x % 4, column += threadIdx.x % 32 / 4;
            at = TURNED ? b[column][l] : b[l][column];
        }
    };
    static __device__ void multiply(double (&c)[2], const first<4> &a, const second<4> &b) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(c[0]), "+d"(c[1]) : "d"(a.at), "d"(b.at));
    }
};
