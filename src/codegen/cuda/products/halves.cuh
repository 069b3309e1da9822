// Reads matrices of 8 x 8 halves from shared memory: thread 8 m + r of a warp names row r of matrix
// m. Thread 4 g + t gets elements 2 t and 2 t + 1 of row g, or of column g (TRANSPOSED).
template <bool TRANSPOSED> static __device__ void load_matrices(unsigned (&to)[4], const void *row) {
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
}
template <bool TRANSPOSED> static __device__ void load_matrices(unsigned (&to)[2], const void *row) {
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1]) : "r"(at) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1]) : "r"(at) : "memory");
}
template <bool TRANSPOSED> static __device__ void load_matrices(unsigned (&to)[1], const void *row) {
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(to[0]) : "r"(at) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(to[0]) : "r"(at) : "memory");
}

// A fragment of the first factor: 16 rows of DEPTH halves.
template <int DEPTH> struct first_halves {
    unsigned pair[DEPTH / 4];
    template <bool TURNED, bool PAIRS, typename A> __device__ void load(A &a, int row, int l) {
        int lane = threadIdx.x % 32, own = lane % 8;
        row += lane & 8;
        if (DEPTH == 16) l += lane / 2 & 8;
        load_matrices<TURNED>(pair, TURNED ? &a[l + own][row] : &a[row + own][l]);
    }
};
// A fragment of the second: DEPTH rows of 8 halves.
template <int DEPTH> struct second_halves {
    unsigned pair[DEPTH / 8];
    template <bool TURNED, bool PAIRS, typename B> __device__ void load(B &b, int l, int column) {
        int lane = threadIdx.x % 32, own = lane % 8;
        if (DEPTH == 16) l += lane & 8;
        load_matrices<!TURNED>(pair, TURNED ? &b[column + own][l] : &b[l + own][column]);
    }
};
