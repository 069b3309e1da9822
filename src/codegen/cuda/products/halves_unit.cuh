struct mma_UNIT {
    typedef float real;
    enum { ROWS = 16, DEPTH = DEEP };
    template <int D> using first = first_halves<D>;
    template <int D> using second = second_halves<D>;
    static __device__ void multiply(float (&c)[4], const first_halves<16> &a, const second_halves<16> &b) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.FORMAT.FORMAT.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]), "r"(b.pair[1]));
    }
    static __device__ void multiply(float (&c)[4], const first_halves<8> &a, const second_halves<8> &b) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.FORMAT.FORMAT.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]));
    }
};
