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
    uint64_t note_thread;
} kc_status;

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

/* A launch that is divided: piece n runs the threads n * threads .. (n + 1) * threads. */
typedef struct kc_job {
    const kc_launch_bounds *launch;
    const void *args;
    kc_status *status;
    uint64_t threads;
} kc_job;

/* Runs one piece of a job; the headers have one for each entry, `NAME_cpu_piece`. */
typedef void (*kc_piece)(const kc_job *job, uint64_t n);

/* Calls `piece(job, n)` for each n below `count`, in any order, on any threads, and returns when all calls have. */
typedef void (*kc_executor)(void *user, uint64_t count, kc_piece piece, const kc_job *job);

/* Where piece n of a job ends. */
static inline uint64_t kc_piece_end(const kc_job *job, uint64_t n)
{
    uint64_t begin = n * job->threads;
    return job->launch->size - begin < job->threads ? job->launch->size : begin + job->threads;
}

/* Runs a launch, in pieces of at least `grain` threads if `executor` is given and the launch is worth more than one of `workers`. */
static inline void kc_run(kc_piece piece, uint64_t grain, const kc_launch_bounds *launch, const void *args, kc_status *status,
                          unsigned workers, kc_executor executor, void *user)
{
    kc_job job = {launch, args, status, launch->size};
    uint64_t row = 1;
    int d;
    if (launch->size == 0) return;
    if (executor && workers > 1 && launch->size > grain) {
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

/* As kc_array_of; throws std::invalid_argument. */
template <class T> kc_array array(T *data, std::initializer_list<int64_t> shape, T *grad = nullptr)
{
    kc_array made;
    if (!kc_array_of(&made, data, sizeof(T), (int)shape.size(), shape.begin()))
        throw std::invalid_argument("kc: an array has 1 to 4 dimensions, with extents and strides of at most 31 bits");
    made.grad = const_cast<typename std::remove_const<T>::type *>(grad);
    return made;
}

/* As kc_launch_of; throws std::invalid_argument. */
inline kc_launch_bounds bounds(std::initializer_list<int64_t> shape)
{
    kc_launch_bounds made;
    if (!kc_launch_of(&made, (int)shape.size(), shape.begin()))
        throw std::invalid_argument("kc: a launch has 1 to 4 dimensions, with extents of at most 31 bits");
    return made;
}

/* An executor over threads of its own, which end with the launch; `user` points to their number, an `unsigned`. The calling thread is one
 * of them. Where the system has no more threads, fewer do the work. */
inline void threads(void *user, uint64_t count, kc_piece piece, const kc_job *job)
{
    std::atomic<uint64_t> next(0);
    auto work = [&] {
        for (uint64_t n; (n = next.fetch_add(1)) < count;) piece(job, n);
    };
    std::vector<std::thread> others;
    try {
        unsigned wanted = *static_cast<unsigned *>(user);
        others.reserve(wanted);
        while (others.size() + 1 < wanted && others.size() + 1 < count) others.emplace_back(work);
    } catch (const std::exception &) {
    }
    work();
    for (auto &other : others) other.join();
}

/* Runs a launch on `workers` threads (0: as many as the machine has): `kc::launch(NAME_cpu_launch, {rows, columns}, args)`. */
template <class Args>
void launch(void (*entry)(const kc_launch_bounds *, const Args *, kc_status *, unsigned, kc_executor, void *),
            std::initializer_list<int64_t> shape, const Args &args, kc_status *status = nullptr, unsigned workers = 0)
{
    const kc_launch_bounds made = bounds(shape);
    if (workers == 0) workers = std::thread::hardware_concurrency();
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
#endif

#endif /* KC_TYPES */
