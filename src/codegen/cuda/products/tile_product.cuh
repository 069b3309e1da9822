// c = a b and c += a b for tiles, by a GPU's instructions for matrices ("tensor cores"). A fragment
// is what one instruction computes: U::ROWS x 8 sums. Warp w of W has the patches w, w + W, .. of c,
// each of DOWN x ACROSS fragments. Thread 4 g + t of a warp has rows g and g + 8, and columns 2 t and
// 2 t + 1 of the sums of a fragment (PTX ISA, `mma`). A turned factor is stored as its transpose. Of
// the inner index of TensorFloat-32 it has t and t + 4; or, where both factors are read down their
// columns, the pair 2 t and 2 t + 1, which keeps threads in different banks of memory.
template <typename U, int ROWS, int COLUMNS, int INNER, int DOWN, int ACROSS, bool A_TURNED, bool B_TURNED>
struct tile_product {
    typedef typename U::real real;
    enum { SUMS = U::ROWS / 4, PATCHES_ACROSS = COLUMNS / (8 * ACROSS) };
    enum { PAIRS = A_TURNED && !B_TURNED };
    enum { PATCHES = ROWS / (U::ROWS * DOWN) * PATCHES_ACROSS };
    struct patch { real sum[DOWN][ACROSS][SUMS]; };

    static __device__ float fused(float a, float b, float c) { return fmaf(a, b, c); }
    static __device__ double fused(double a, double b, double c) { return fma(a, b, c); }
    template <typename T> static __device__ void round_to(T &to, real x) { to = T(x); }

    static __device__ int warp() { return threadIdx.x / 32; }
    static __device__ int warps() { return blockDim.x / 32; }
    static __device__ int first_row(int p) { return p / PATCHES_ACROSS * DOWN * U::ROWS; }
    static __device__ int first_column(int p) { return p % PATCHES_ACROSS * ACROSS * 8; }

    // Each sum that the thread has of patch p, from c or to it.
    template <bool WRITE, typename C> static __device__ void move(patch &sums, C &c, int p) {
        int row = first_row(p) + threadIdx.x % 32 / 4, column = first_column(p) + threadIdx.x % 4 * 2;
#pragma unroll
        for (int i = 0; i < DOWN; ++i)
#pragma unroll
            for (int j = 0; j < ACROSS; ++j)
#pragma unroll
                for (int n = 0; n < SUMS; ++n) {
                    real &sum = sums.sum[i][j][n];
                    auto &element = c[row + i * U::ROWS + n / 2 * 8][column + j * 8 + n % 2];
                    if (WRITE) round_to(element, sum);
                    else sum = real(element);
                }
    }

    // Adds the products of DEPTH columns of a, from l on, and as many rows of b.
    template <int DEPTH, typename A, typename B>
    static __device__ void step(patch &sums, A &a, B &b, int p, int l) {
        typename U::template first<DEPTH> left[DOWN];
        typename U::template second<DEPTH> right[ACROSS];
#pragma unroll
        for (int i = 0; i < DOWN; ++i) left[i].template load<A_TURNED, PAIRS>(a, first_row(p) + i * U::ROWS, l);
#pragma unroll
        for (int j = 0; j < ACROSS; ++j) right[j].template load<B_TURNED, PAIRS>(b, l, first_column(p) + j * 8);
#pragma unroll
        for (int i = 0; i < DOWN; ++i)
#pragma unroll
            for (int j = 0; j < ACROSS; ++j) U::multiply(sums.sum[i][j], left[i], right[j]);
    }
    template <typename A, typename B> static __device__ void multiply(patch &sums, A &a, B &b, int p) {
        enum { STEPS = INNER / U::DEPTH * U::DEPTH };
        for (int l = 0; l < STEPS; l += U::DEPTH) step<U::DEPTH>(sums, a, b, p, l);
        // Of halves, the last step may be half of one.
        if (STEPS < INNER) step<(U::DEPTH < 8 ? U::DEPTH : 8)>(sums, a, b, p, STEPS);
    }

    // The patches from p on that the thread's warp has; or single elements, in a block that is
    // no whole warp.
    template <bool ADD, typename C, typename A, typename B>
    static __device__ void in_memory(C &c, A &a, B &b, int p) {
        for (; warps() > 0 && p < PATCHES; p += warps()) {
            patch sums = {};
            if (ADD) move<false>(sums, c, p);
            multiply(sums, a, b, p);
            move<true>(sums, c, p);
        }
        for (int n = threadIdx.x; warps() == 0 && n < ROWS * COLUMNS; n += blockDim.x) {
            int i = n / COLUMNS, j = n % COLUMNS;
            real sum = ADD ? real(c[i][j]) : real(0);
            for (int l = 0; l < INNER; ++l)
                sum = fused(real(A_TURNED ? a[l][i] : a[i][l]), real(B_TURNED ? b[j][l] : b[l][j]), sum);
            round_to(c[i][j], sum);
        }
    }
    static __device__ int whole(int p) { return warps() > 0 && warp() >= warps() ? PATCHES : p; }

    // c = a b
    template <typename C, typename A, typename B> static __device__ void set(C &c, A &a, B &b) {
        in_memory<false>(c, a, b, whole(warp()));
    }
    // c += a b
    template <typename C, typename A, typename B> static __device__ void add(C &c, A &a, B &b) {
        in_memory<true>(c, a, b, whole(warp()));
    }

    // A warp keeps its first patch in registers while products are added to it.
    static __device__ bool has_patch() { return warp() < warps() && warp() < PATCHES; }
    template <typename V, typename C> static __device__ V take(C &c) {
        V kept = {};
        if (has_patch()) move<false>((patch &)kept, c, warp());
        return kept;
    }
    template <typename V, typename C, typename A, typename B> static __device__ V keep(V kept, C &c, A &a, B &b) {
        if (has_patch()) multiply((patch &)kept, a, b, warp());
        in_memory<true>(c, a, b, whole(warp() + warps()));
        return kept;
    }
    template <typename V, typename C> static __device__ void put(C &c, V kept) {
        if (has_patch()) move<true>((patch &)kept, c, warp());
    }
};
