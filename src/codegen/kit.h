#ifndef KC_TYPES
#define KC_TYPES

/* A launch: extents (unused ones are 1) and their product, the number of threads. */
typedef struct kc_launch_bounds {
    uint32_t shape[4];
    uint64_t size;
} kc_launch_bounds;

/* A strided array of up to four dimensions; strides are in bytes. An array that a kernel writes, or the gradient of one, shares
 * no memory with another array of the same launch, and no two of its elements share bytes. */
typedef struct kc_array {
    void *data;
    void *grad; /* gradient array of the same shape and strides, or null */
    int32_t shape[4];
    int32_t strides[4];
    int32_t ndim;
    int32_t flags;
} kc_array;

enum { KC_OK = 0, KC_OUT_OF_BOUNDS = 1, KC_ASSERT = 2 };

/* A place in the source: an access to an array, a choice of a component, or an assert. */
typedef struct kc_site {
    const char *file;
    uint32_t line, column;
    const char *what; /* the array, what has components, or the message of the assert */
} kc_site;

/* What a host run reports; zero it before the run. Several threads may share one. */
typedef struct kc_status {
    uint32_t kind; /* KC_OK or the first error */
    uint32_t site; /* which place: an entry of FILE_sites */
    uint32_t dim;
    int32_t extent;
    int64_t index;
    uint64_t thread; /* linear index */
    void (*print)(void *user, const uint8_t *text, uint64_t length); /* null: standard output */
    void *user;
    uint32_t note; /* 0, or 1 + the site of the first gradient that is near-degenerate */
    uint32_t visited; /* 0, or 1 + a site whose gradient would be near-degenerate for an adjoint that is not 0 */
    uint64_t note_thread;
} kc_status;

/* The symbol that a function has in its object: a header and an object that are not of one compilation do not link. */
#define KC_SYMBOL(name) __asm__(name)

#ifdef __cplusplus
#define KC_ASSERT_LAYOUT(condition) static_assert(condition, "layout of kernel arguments")
#else
#define KC_ASSERT_LAYOUT(condition) _Static_assert(condition, "layout of kernel arguments")
#endif
KC_ASSERT_LAYOUT(sizeof(kc_launch_bounds) == 24 && sizeof(kc_array) == 56);

/* A dense row-major array over memory of the caller, with elements of so many bytes. False, and an empty array, where an extent or a
 * stride does not fit in 31 bits, or `ndim` is not 1 to 4. Set `grad` afterwards. */
static inline bool kc_array_of(kc_array *out, const void *data, size_t element, int ndim, const int64_t *shape)
{
    const kc_array empty = {NULL, NULL, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0};
    uint64_t stride = element;
    int d;
    *out = empty;
    if (ndim < 1 || ndim > 4) return false;
    for (d = ndim - 1; d >= 0; --d) {
        if (shape[d] < 0 || shape[d] > INT32_MAX || stride > INT32_MAX) {
            *out = empty;
            return false;
        }
        out->shape[d] = (int32_t)shape[d];
        out->strides[d] = (int32_t)stride;
        stride *= shape[d] > 0 ? (uint64_t)shape[d] : 1;
    }
    memcpy(&out->data, &data, sizeof data); /* kernels write only what they are told to */
    out->ndim = ndim;
    return true;
}

#ifndef __cplusplus
/* As kc_array_of; an empty array where an extent or a stride does not fit. */
static inline kc_array kc_make(const void *data, size_t element, int ndim, const int64_t *shape)
{
    kc_array made;
    kc_array_of(&made, data, element, ndim, shape);
    return made;
}

/* Pointer, dimensions, and that many extents; another number of them is a bit-field of negative width. */
#define KC_COUNT(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define KC_MAKE(p, dimensions, ...)                                                                                                  \
    kc_make((p), sizeof *(p) + 0 * sizeof(struct { int another_number_of_extents : KC_COUNT(__VA_ARGS__) == (dimensions) ? 1 : -1; }), \
            (dimensions), (const int64_t[]){__VA_ARGS__})
#endif

/* A launch of so many threads. False, and a launch of none, where an extent does not fit in 31 bits, all do not fit in 63, or `ndim` is
 * not 1 to 4. */
static inline bool kc_launch_of(kc_launch_bounds *out, int ndim, const int64_t *shape)
{
    const kc_launch_bounds empty = {{0, 0, 0, 0}, 0};
    kc_launch_bounds made = {{1, 1, 1, 1}, 1};
    int d;
    *out = empty;
    if (ndim < 1 || ndim > 4) return false;
    for (d = 0; d < ndim; ++d) {
        if (shape[d] < 0 || shape[d] > INT32_MAX) return false;
        if (made.size != 0 && (uint64_t)shape[d] > (uint64_t)INT64_MAX / made.size) return false;
        made.shape[d] = (uint32_t)shape[d];
        made.size *= made.shape[d];
    }
    *out = made;
    return true;
}

/* A launch that is divided: piece n runs the threads kc_piece_begin .. kc_piece_end, with the arguments `args`, or, from piece 1 on, those
 * of `stride` bytes each at `others`. Pieces begin every `threads` threads, the first after `head` of them, and all but the last leave out
 * their last `gap` ones; with `between` piece n is what piece n leaves out. A launch of `grain` threads is worth a worker. */
typedef struct kc_job {
    const kc_launch_bounds *launch;
    const void *args;
    kc_status *status;
    uint64_t threads;
    const unsigned char *others;
    size_t stride;
    uint64_t gap, head, grain;
    bool between;
} kc_job;

/* Runs one piece of a job; the headers have one for each entry, `NAME_cpu_piece`. */
typedef void (*kc_piece)(const kc_job *job, uint64_t n);

/* Calls `piece(job, n)` for each n below `count`, in any order, on any threads, and returns when all calls have. */
typedef void (*kc_executor)(void *user, uint64_t count, kc_piece piece, const kc_job *job);

/* The arguments of piece n. */
static inline const void *kc_piece_args(const kc_job *job, uint64_t n)
{
    return n == 0 || !job->others ? job->args : job->others + (size_t)(n - 1) * job->stride;
}

/* The first thread of piece n of a job. */
static inline uint64_t kc_piece_begin(const kc_job *job, uint64_t n)
{
    if (job->between) return (n + 1) * job->threads - job->gap;
    return n == 0 ? job->head : n * job->threads;
}

/* Where piece n of a job ends. */
static inline uint64_t kc_piece_end(const kc_job *job, uint64_t n)
{
    uint64_t begin = n * job->threads;
    if (job->launch->size - begin <= job->threads) return job->launch->size;
    return begin + job->threads - (job->between ? 0 : job->gap);
}

/* An array among the arguments of a kernel: where its descriptor stands, and that of the array whose gradient it is if it is null itself
 * (UINT32_MAX: none); bytes of an element; what it is made of ('f', 'd', or the bytes of an integer); what threads do with it; whether they
 * store to it; and how rows of the launch, threads with one first coordinate, are apart in one that is added to. KC_BANDS: those with more than `gap` others between
 * them, but for the first `head` ones. KC_RANGES: all, if the int32 numbers of the array at `bounds` rise from element `first` on. */
enum { KC_READ = 0, KC_OWN = 1, KC_SUM = 2 };
enum { KC_TOGETHER = 0, KC_BANDS = 1, KC_RANGES = 2 };
typedef struct kc_shared {
    uint32_t offset, gradient_of, element;
    uint8_t ndim;
    char scalar;
    uint8_t role;
    bool stored;
    uint8_t rows;
    uint32_t gap, head;
    uint32_t bounds, first;
} kc_shared;

/* A kernel whose workers need no atomics if each adds to arrays of its own: the piece that does so, the bytes of its arguments, the dimensions
 * of its launches, and its arrays. */
typedef struct kc_sums {
    kc_piece piece;
    size_t args;
    int rank;
    size_t count;
    const kc_shared *arrays;
} kc_sums;

/* The array that `like` describes. False: there is none. */
static inline bool kc_find(kc_array *out, const void *args, const kc_shared *like)
{
    memcpy(out, (const unsigned char *)args + like->offset, sizeof *out);
    if (out->data) return true;
    if (like->gradient_of == UINT32_MAX) return false;
    memcpy(out, (const unsigned char *)args + like->gradient_of, sizeof *out);
    out->data = out->grad;
    out->grad = NULL;
    return out->data != NULL;
}

/* The bytes from the first element of an array to the end of the last; 0 where strides run backwards. */
static inline uint64_t kc_span(const kc_array *array, const kc_shared *like)
{
    uint64_t last = 0;
    int d;
    for (d = 0; d < like->ndim; ++d) {
        if (array->strides[d] < 0) return 0;
        if (array->shape[d] > 1) last += (uint64_t)(array->shape[d] - 1) * (uint64_t)array->strides[d];
    }
    return last + like->element;
}

static inline void kc_add_scalars(void *to, const void *from, size_t count, char scalar)
{
    size_t n;
    /* Zeros change nothing, not even the sign of a zero. */
#define KC_ADD(type)                                                                        \
    for (n = 0; n < count; ++n)                                                             \
        if (((const type *)from)[n] != 0) ((type *)to)[n] = (type)(((type *)to)[n] + ((const type *)from)[n]);
    switch (scalar) {
    case 'f': KC_ADD(float) break;
    case 'd': KC_ADD(double) break;
    case 1: KC_ADD(uint8_t) break;
    case 2: KC_ADD(uint16_t) break;
    case 4: KC_ADD(uint32_t) break;
    default: KC_ADD(uint64_t)
    }
#undef KC_ADD
}

/* Adds a copy to the array that it has the shape of. */
static inline void kc_add_copy(const kc_array *array, const unsigned char *copy, const kc_shared *like)
{
    const size_t size = like->scalar == 'f' ? 4 : like->scalar == 'd' ? 8 : (size_t)like->scalar;
    int32_t at[4] = {0, 0, 0, 0};
    int d = like->ndim - 1;
    size_t run = like->element, offset;
    /* What is dense at the end is one run. */
    while (d >= 0 && (size_t)array->strides[d] == run) run *= (size_t)array->shape[d--];
    for (;;) {
        int k;
        for (offset = 0, k = 0; k <= d; ++k) offset += (size_t)at[k] * (size_t)array->strides[k];
        kc_add_scalars((unsigned char *)array->data + offset, copy + offset, run / size, like->scalar);
        for (k = d; k >= 0 && ++at[k] == array->shape[k]; --k) at[k] = 0;
        if (k < 0) return;
    }
}

/* Whether another array than `like` overlaps these bytes: with `stored`, one that is stored to; else any, if one of both is updated. */
static inline bool kc_overlaps(const kc_sums *sums, const void *args, const kc_shared *like, uintptr_t data, uint64_t bytes, bool stored)
{
    kc_array other;
    size_t a;
    for (a = 0; a < sums->count; ++a) {
        const kc_shared *one = &sums->arrays[a];
        if (one == like || (stored ? !one->stored : one->role == KC_READ && like->role == KC_READ)) continue;
        if (kc_find(&other, args, one) && data < (uintptr_t)other.data + kc_span(&other, one) && (uintptr_t)other.data < data + bytes)
            return true;
    }
    return false;
}

/* Whether rows of the launch, of which there are so many, are apart in an array. */
static inline bool kc_are_apart(const kc_sums *sums, const void *args, const kc_shared *like, uint64_t rows)
{
    kc_array of;
    uint64_t n;
    int32_t before = 0, number;
    if (like->rows != KC_RANGES) return like->rows == KC_BANDS;
    memcpy(&of, (const unsigned char *)args + like->bounds, sizeof of);
    if (!of.data || of.strides[0] < 0 || of.shape[0] < 0 || like->first + rows + 1 > (uint64_t)of.shape[0]) return false;
    /* What the kernel stores must not change the numbers. */
    if (kc_overlaps(sums, args, NULL, (uintptr_t)of.data, (uint64_t)(of.shape[0] - 1) * (uint64_t)of.strides[0] + 4, true)) return false;
    for (n = 0; n <= rows; ++n) {
        memcpy(&number, (const unsigned char *)of.data + (size_t)(like->first + n) * (size_t)of.strides[0], sizeof number);
        if (number < before) return false;
        before = number;
    }
    return true;
}

/* Cuts a launch into about so many pieces of whole rows, between which rows of so many are left out. False where there is only one. */
static inline bool kc_cut(kc_job *job, uint64_t pieces, uint64_t gap, uint64_t head)
{
    const uint64_t rows = job->launch->shape[0], row = rows == 0 ? 0 : job->launch->size / rows;
    uint64_t piece, least;
    if (row == 0) return false;
    /* What is left out is a small part of all. */
    least = (job->grain + row - 1) / row;
    if (least < gap * 8) least = gap * 8;
    if (least < head * 8) least = head * 8;
    piece = (rows + pieces - 1) / pieces;
    if (piece < least) piece = least;
    if (piece >= rows) return false;
    job->threads = piece * row;
    job->gap = gap * row;
    job->head = head * row;
    return true;
}

/* Runs a launch without atomics: in pieces that are apart in the arrays that they add to, where there are such pieces; of other arrays each
 * worker but the first adds to copies, and has one part of the launch. False where that is not worth it, or cannot be: nothing was run. */
static inline bool kc_run_sums(const kc_sums *sums, kc_job job, unsigned workers, kc_executor executor, void *user)
{
    uint64_t bytes = 0, apart_bytes = 0, gap = 0, head = 0, row = 1, pieces;
    unsigned char *memory = NULL, *copy;
    kc_array array, other;
    bool cut = false;
    kc_job rest;
    size_t a, n;
    int d;
    for (d = sums->rank; d < 4; ++d)
        if (job.launch->shape[d] != 1) return false;
    for (a = 0; a < sums->count; ++a) {
        const kc_shared *like = &sums->arrays[a];
        uint64_t span, room;
        if (!kc_find(&array, job.args, like)) continue;
        for (d = 0; d < like->ndim; ++d)
            if (array.shape[d] == 0) return false;
        span = kc_span(&array, like);
        if (span == 0) return false;
        /* What is updated shares no memory. */
        if (kc_overlaps(sums, job.args, like, (uintptr_t)array.data, span, false)) return false;
        if (like->role != KC_SUM) continue;
        room = (span + 63) / 64 * 64;
        if (!kc_are_apart(sums, job.args, like, job.launch->shape[0])) {
            bytes += room;
            continue;
        }
        cut = true;
        apart_bytes += room;
        if (like->rows == KC_BANDS && gap < like->gap) gap = like->gap;
        if (like->rows == KC_BANDS && head < like->head) head = like->head;
    }
    cut = cut && kc_cut(&job, bytes ? workers : (uint64_t)workers * 8, gap, head);
    if (!cut) {
        bytes += apart_bytes;
        job.threads = (job.launch->size + workers - 1) / workers;
        for (d = 3; d >= 0 && row == 1; --d) row = job.launch->shape[d];
        if (row <= job.threads) job.threads = (job.threads + row - 1) / row * row; /* whole rows */
    }
    pieces = (job.launch->size - 1) / job.threads + 1;
    job.stride = (sums->args + 63) / 64 * 64;
    if (pieces < 2 || bytes > job.launch->size * 16 || bytes + job.stride > SIZE_MAX / pieces) return false;
    if (bytes > 0) {
        memory = (unsigned char *)calloc((size_t)(pieces - 1), job.stride + (size_t)bytes);
        if (!memory) return false;
        copy = memory + (size_t)(pieces - 1) * job.stride;
        for (n = 0; n + 1 < pieces; ++n) memcpy(memory + n * job.stride, job.args, sums->args);
        for (a = 0; a < sums->count; ++a) {
            const kc_shared *like = &sums->arrays[a];
            if (like->role != KC_SUM || !kc_find(&array, job.args, like)) continue;
            if (cut && kc_are_apart(sums, job.args, like, job.launch->shape[0])) continue;
            other = array;
            other.grad = NULL;
            for (n = 0; n + 1 < pieces; ++n) {
                other.data = copy;
                memcpy(memory + n * job.stride + like->offset, &other, sizeof other);
                copy += (kc_span(&array, like) + 63) / 64 * 64;
            }
        }
        job.others = memory;
    }
    executor(user, pieces, sums->piece, &job);
    rest = job;
    if (job.head > 0) {
        rest.threads = job.head;
        rest.head = rest.gap = 0;
        sums->piece(&rest, 0);
    }
    if (job.gap > 0) {
        rest = job;
        rest.between = true;
        if ((pieces - 1) * job.gap < job.grain)
            for (n = 0; n + 1 < pieces; ++n) sums->piece(&rest, n);
        else
            executor(user, pieces - 1, sums->piece, &rest);
    }
    if (memory) {
        for (n = 0; n + 1 < pieces; ++n)
            for (a = 0; a < sums->count; ++a) {
                const kc_shared *like = &sums->arrays[a];
                if (like->role != KC_SUM || !kc_find(&array, job.args, like)) continue;
                memcpy(&other, memory + n * job.stride + like->offset, sizeof other);
                /* Others are still the array itself. */
                if (other.data && other.data != array.data) kc_add_copy(&array, (const unsigned char *)other.data, like);
            }
        free(memory);
    }
    return true;
}

/* Runs a launch, in pieces of at least `grain` threads if `executor` is given and the launch is worth more than one of `workers`. With `sums`
 * workers add to copies of their own, or one runs it all. */
static inline void kc_run(kc_piece piece, uint64_t grain, const kc_sums *sums, const kc_launch_bounds *launch, const void *args,
                          kc_status *status, unsigned workers, kc_executor executor, void *user)
{
    kc_job job = {launch, args, status, launch->size, NULL, 0, 0, 0, grain, false};
    uint64_t row = 1;
    int d;
    if (launch->size == 0) return;
    if (executor && workers > 1 && launch->size > grain && sums) {
        if (launch->size / grain < workers) workers = (unsigned)(launch->size / grain);
        if (workers > 1 && kc_run_sums(sums, job, workers, executor, user)) return;
    } else if (executor && workers > 1 && launch->size > grain) {
        job.threads = launch->size / ((uint64_t)workers * 8);
        if (job.threads < grain) job.threads = grain;
        for (d = 3; d >= 0 && row == 1; --d) row = launch->shape[d];
        if (row <= job.threads) job.threads -= job.threads % row; /* whole rows */
    }
    if (job.threads == launch->size)
        piece(&job, 0);
    else
        executor(user, (launch->size - 1) / job.threads + 1, piece, &job);
}

/* Says what a run reported, as text of at most `size` bytes with the zero at its end; gives the length of the whole, 0 where there is
 * nothing to say. `sites` is the table of the header that belongs to the object. */
static inline int kc_status_text(char *out, size_t size, const kc_status *status, const kc_site *sites, size_t count)
{
    const kc_site nowhere = {"unknown place", 0, 0, ""};
    const kc_site *site = status->site < count ? &sites[status->site] : &nowhere;
    if (size > 0) out[0] = 0;
    if (status->kind == KC_OUT_OF_BOUNDS)
        return snprintf(out, size, "%s:%lu:%lu: index %lld is out of bounds for dimension %lu of `%s`, which has extent %ld, in thread %llu",
                        site->file, (unsigned long)site->line, (unsigned long)site->column, (long long)status->index,
                        (unsigned long)status->dim, site->what, (long)status->extent, (unsigned long long)status->thread);
    if (status->kind == KC_ASSERT)
        return snprintf(out, size, "%s:%lu:%lu: assertion failed: %s, in thread %llu", site->file, (unsigned long)site->line,
                        (unsigned long)site->column, site->what, (unsigned long long)status->thread);
    return 0;
}

#ifdef __cplusplus
extern "C++" {
namespace kc {

/* An extent of an array or of a launch, made of any integer. What does not fit in 63 bits is too large for both. */
struct extent {
    int64_t value;
    template <class I, class = typename std::enable_if<std::is_integral<I>::value && !std::is_same<I, bool>::value>::type>
    constexpr extent(I n)
        : value(std::is_signed<I>::value || static_cast<uint64_t>(n) <= static_cast<uint64_t>(INT64_MAX) ? static_cast<int64_t>(n) : INT64_MAX)
    {
    }
};

/* Whether memory of `From` can be elements `To` of a kernel's array: it is the same type, or a class of the size of a vector, a matrix or a
 * half. What a kernel stores to is not const. */
template <class To, class From> struct fits {
    using to = typename std::remove_cv<To>::type;
    using from = typename std::remove_cv<From>::type;
    static constexpr bool same_size = sizeof(to) == sizeof(from) && std::is_trivially_copyable<from>::value;
    static constexpr bool same_parts =
        std::is_array<from>::value && std::is_same<typename std::remove_all_extents<from>::type, typename std::remove_all_extents<to>::type>::value;
    static constexpr bool composite = std::is_array<to>::value && (std::is_class<from>::value || same_parts);
    static constexpr bool half = std::is_same<to, uint16_t>::value && !std::is_integral<from>::value;
    static constexpr bool constness = std::is_const<typename std::remove_all_extents<To>::type>::value
        || !std::is_const<typename std::remove_all_extents<From>::type>::value;
    static constexpr bool value = constness && (std::is_same<to, from>::value || (same_size && (composite || half)));
};

#define KC_OTHER_ELEMENTS "kc: the kernel's array has elements of another type, or these are const and it stores to them"

#define KC_TEMPORARY "kc: the memory of a temporary ends before the launch: give it a name"

/* What a container or a view holds. */
template <class C> using element_of = typename std::remove_pointer<decltype(std::declval<C &>().data())>::type;

/* An array of elements `T` with `N` dimensions, as the arguments of a kernel name it: `kc::array<float[3], 1>` for `wp.array(dtype=wp.vec3)`,
 * `const` where the kernel stores nothing there. Another element or number of dimensions does not compile. */
template <class T, int N> struct array : kc_array {
    /* None, as for `kc_array`: a null array where it is initialised by `{}`. */
    array() = default;

    /* What C made. */
    template <class A, class = typename std::enable_if<std::is_same<A, kc_array>::value>::type> array(const A &made) : kc_array(made) {}

    /* Dense row-major memory, and its gradient; as kc_array_of. Throws std::invalid_argument. */
    template <class U, size_t M> array(U *first, const extent (&lengths)[M], typename std::remove_cv<U>::type *gradient = nullptr)
    {
        static_assert(fits<T, U>::value, KC_OTHER_ELEMENTS);
        static_assert(N == static_cast<int>(M), "kc: the kernel's array has another number of dimensions");
        make(first, sizeof(U), lengths);
        this->grad = gradient;
    }

    /* All of a vector, a span or the like. */
    template <class C, class U = element_of<C>, class = decltype(std::declval<C &>().size())> array(C &elements)
    {
        static_assert(fits<T, U>::value, KC_OTHER_ELEMENTS);
        static_assert(N == 1, "kc: an array of several dimensions takes extents: {elements, {rows, columns}}");
        make(elements.data(), sizeof(U), {elements.size()});
    }

    /* Elements of a vector, a span or the like, in rows. */
    template <class C, size_t M, class U = element_of<C>, class = decltype(std::declval<C &>().size())>
    array(C &elements, const extent (&lengths)[M])
    {
        static_assert(fits<T, U>::value, KC_OTHER_ELEMENTS);
        static_assert(N == static_cast<int>(M), "kc: the kernel's array has another number of dimensions");
        make(elements.data(), sizeof(U), lengths);
        uint64_t all = 1;
        for (size_t d = 0; d < M; ++d) all *= static_cast<uint64_t>(this->shape[d]);
        if (all > elements.size()) throw std::invalid_argument("kc: the extents are those of more elements than there are");
    }

    /* A temporary, whose memory would be gone when the kernel runs. */
    template <class C, class U = element_of<C>, class = decltype(std::declval<C &>().size()),
              class = typename std::enable_if<!std::is_lvalue_reference<C>::value>::type>
    array(C &&)
    {
        static_assert(sizeof(C) == 0, KC_TEMPORARY);
    }
    template <class C, size_t M, class U = element_of<C>, class = decltype(std::declval<C &>().size()),
              class = typename std::enable_if<!std::is_lvalue_reference<C>::value>::type>
    array(C &&, const extent (&)[M])
    {
        static_assert(sizeof(C) == 0, KC_TEMPORARY);
    }

    /* A view with strides, such as std::mdspan. */
    template <class M, class U = typename std::remove_pointer<decltype(std::declval<const M &>().data_handle())>::type,
              class = typename std::enable_if<fits<T, U>::value>::type>
    array(const M &view) : kc_array()
    {
        static_assert(N == static_cast<int>(M::rank()), "kc: the array has another number of dimensions");
        static_assert(M::rank() >= 1 && M::rank() <= 4, "kc: an array has 1 to 4 dimensions");
        for (int d = 0; d < static_cast<int>(M::rank()); ++d) {
            const extent length(view.extent(static_cast<size_t>(d))), step(view.stride(static_cast<size_t>(d)));
            if (length.value < 0 || length.value > INT32_MAX || step.value > INT32_MAX / static_cast<int64_t>(sizeof(U))
                || step.value < INT32_MIN / static_cast<int64_t>(sizeof(U)))
                throw std::invalid_argument(wrong());
            this->shape[d] = static_cast<int32_t>(length.value);
            this->strides[d] = static_cast<int32_t>(step.value * static_cast<int64_t>(sizeof(U)));
        }
        this->ndim = static_cast<int32_t>(M::rank());
        const void *first = view.data_handle();
        memcpy(&this->data, &first, sizeof first);
    }

    /* An array of another type of the same elements. */
    template <class U, int M> array(const array<U, M> &other) : kc_array(other)
    {
        static_assert(fits<T, U>::value, KC_OTHER_ELEMENTS);
        static_assert(M == N, "kc: the kernel's array has another number of dimensions");
    }

private:
    static const char *wrong() { return "kc: an array has 1 to 4 dimensions, with extents and strides of at most 31 bits"; }

    template <size_t M> void make(const void *first, size_t element, const extent (&lengths)[M])
    {
        static_assert(M >= 1 && M <= 4, "kc: an array has 1 to 4 dimensions");
        int64_t values[M];
        for (size_t d = 0; d < M; ++d) values[d] = lengths[d].value;
        if (!kc_array_of(this, first, element, static_cast<int>(M), values)) throw std::invalid_argument(wrong());
    }
};

template <class U, size_t M> array(U *, const extent (&)[M]) -> array<U, static_cast<int>(M)>;
template <class U, size_t M> array(U *, const extent (&)[M], typename std::remove_cv<U>::type *) -> array<U, static_cast<int>(M)>;
template <class C, class U = element_of<C>> array(C &) -> array<U, 1>;
template <class C, size_t M, class U = element_of<C>> array(C &, const extent (&)[M]) -> array<U, static_cast<int>(M)>;

/* As kc_launch_of; throws std::invalid_argument. */
template <size_t M> kc_launch_bounds bounds(const extent (&lengths)[M])
{
    static_assert(M >= 1 && M <= 4, "kc: a launch has 1 to 4 dimensions");
    int64_t values[M];
    kc_launch_bounds made;
    for (size_t d = 0; d < M; ++d) values[d] = lengths[d].value;
    if (!kc_launch_of(&made, static_cast<int>(M), values))
        throw std::invalid_argument("kc: extents of a launch have at most 31 bits, and all together at most 63");
    return made;
}

/* An executor over threads of its own, which end with the launch; `user` points to their number, an `unsigned`. The calling thread is one
 * of them. Where the system has no more threads, fewer do the work; it is done by the calling one where the others would begin when it is over: the least
 * piece is worth ten microseconds, a thread several times that. */
inline void threads(void *user, uint64_t count, kc_piece piece, const kc_job *job)
{
    std::atomic<uint64_t> next(0);
    auto work = [&] {
        for (uint64_t n; (n = next.fetch_add(1)) < count;) piece(job, n);
    };
    std::vector<std::thread> others;
    try {
        const uint64_t all = count * (kc_piece_end(job, 0) - kc_piece_begin(job, 0));
        unsigned wanted = all < 8 * job->grain && !job->others ? 1 : *static_cast<unsigned *>(user);
        others.reserve(wanted);
        while (others.size() + 1 < wanted && others.size() + 1 < count) others.emplace_back(work);
    } catch (const std::exception &) {
    }
    work();
    for (auto &other : others) other.join();
}

/* The cores of the machine. The system is asked once, which takes longer than a small launch. */
inline unsigned cores()
{
    static const unsigned found = std::thread::hardware_concurrency();
    return found;
}

/* Runs a launch on `workers` threads (0: as many as the machine has): `kc::launch(NAME_cpu_launch, {rows, columns}, args)`. */
template <class Args, size_t M>
void launch(void (*entry)(const kc_launch_bounds *, const Args *, kc_status *, unsigned, kc_executor, void *),
            const extent (&lengths)[M], const Args &args, kc_status *status = nullptr, unsigned workers = 0)
{
    static_assert(M == static_cast<size_t>(Args::kc_rank), "kc: the kernel takes another number of extents");
    const kc_launch_bounds made = bounds(lengths);
    if (workers == 0) workers = cores();
    entry(&made, &args, status, workers, threads, &workers);
}

/* Throws std::runtime_error with what a run reported, if it did: `kc::check(status, FILE_sites)`. */
template <size_t Count> void check(const kc_status &status, const kc_site (&sites)[Count])
{
    int length = kc_status_text(nullptr, 0, &status, sites, Count);
    if (length <= 0) return;
    std::vector<char> text((size_t)length + 1);
    kc_status_text(text.data(), text.size(), &status, sites, Count);
    throw std::runtime_error(text.data());
}

} /* namespace kc */
} /* extern "C++" */
/* The type of an array among arguments, and the number of extents of their launches. */
#define KC_ARRAY(element, dimensions) ::kc::array<element, dimensions>
#define KC_RANK(extents) static constexpr int kc_rank = extents;
#else
#define KC_ARRAY(element, dimensions) kc_array
#define KC_RANK(extents)
#endif

#endif /* KC_TYPES */
