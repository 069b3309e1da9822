
/* Points sorted by the cell they lie in; in a cell by group, then by number. Cells repeat in all directions. */
typedef struct kc_hash_grid {
    int32_t *point_cells, *point_ids;
    uint64_t *point_keys;
    int32_t *cell_starts, *cell_ends;
    int32_t dims[3], num_points, max_points, max_keys, has_groups;
    uint32_t unused;
    void *context;
    union {
        uint16_t float16[2];
        float float32[2];
        double float64[2];
    } width; /* of cells, and its inverse */
} kc_hash_grid;
KC_ASSERT_LAYOUT(sizeof(kc_hash_grid) == 96 && offsetof(kc_hash_grid, dims) == 40 && offsetof(kc_hash_grid, width) == 80);

/* The number of a float16; exact. */
static inline double kc_of_half(uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const double sign = half >> 15 ? -1 : 1, part = half & 1023;
    if (exponent == 31) return part > 0 ? (double)NAN : sign * HUGE_VAL;
    return sign * (exponent == 0 ? ldexp(part, -24) : ldexp(1024 + part, exponent - 25));
}

/* The nearest float16, of equally near ones the even one. */
static inline uint16_t kc_half_of(double x)
{
    uint64_t bits, part, rest, middle;
    unsigned sign, half;
    int exponent, shift = 42;
    memcpy(&bits, &x, sizeof bits);
    sign = (unsigned)(bits >> 63) << 15;
    exponent = (int)(bits >> 52 & 2047) - 1023;
    part = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 1024 && part != 0) return (uint16_t)(sign | 0x7e00u);
    if (exponent > 15) return (uint16_t)(sign | 0x7c00u);
    if (exponent < -25) return (uint16_t)sign;
    if (exponent >= -14) {
        half = (unsigned)(exponent + 15) << 10 | (unsigned)(part >> shift);
    } else {
        part |= UINT64_C(1) << 52;
        shift += -14 - exponent;
        half = (unsigned)(part >> shift);
    }
    rest = part & ((UINT64_C(1) << shift) - 1);
    middle = UINT64_C(1) << (shift - 1);
    half += rest > middle || (rest == middle && (half & 1));
    return (uint16_t)(sign | half);
}

/* `x` rounded down, in the range of int32 without its last number; 0 for NaN. */
static inline int32_t kc_floor(double x)
{
    const double whole = floor(x);
    return x != x ? 0 : whole < INT32_MIN ? INT32_MIN : whole > INT32_MAX - 1 ? INT32_MAX - 1 : (int32_t)whole;
}

/* The cell along an axis, which repeats. */
static inline int32_t kc_wrapped(int32_t cell, int32_t dim)
{
    const int32_t rest = cell % dim;
    return rest < 0 ? rest + dim : rest;
}

static inline void kc_hash_grid_free(kc_hash_grid *grid)
{
    free(grid->point_cells);
    free(grid->point_ids);
    free(grid->point_keys);
    free(grid->cell_starts);
    memset(grid, 0, sizeof *grid);
}

/* A grid of so many cells along each axis, without points. */
static inline kc_engine_error kc_hash_grid_new(kc_hash_grid *out, int32_t x, int32_t y, int32_t z)
{
    size_t cells;
    memset(out, 0, sizeof *out);
    if (x < 1 || y < 1 || z < 1 || (int64_t)x * y > INT32_MAX || (int64_t)x * y * z > INT32_MAX) return KC_ENGINE_DIMENSIONS;
    cells = (size_t)x * (size_t)y * (size_t)z;
    out->cell_starts = (int32_t *)calloc(2 * cells, sizeof(int32_t));
    if (!out->cell_starts) return KC_ENGINE_MEMORY;
    out->cell_ends = out->cell_starts + cells;
    out->dims[0] = x;
    out->dims[1] = y;
    out->dims[2] = z;
    return KC_ENGINE_OK;
}

/* Room for so many points, with keys for groups if they have some. */
static inline bool kc_hash_grid_room(kc_hash_grid *grid, int32_t count, bool groups)
{
    if (count > grid->max_points) {
        const size_t bytes = (size_t)count * sizeof(int32_t);
        int32_t *cells = (int32_t *)malloc(bytes), *ids = (int32_t *)malloc(bytes);
        if (!cells || !ids) {
            free(cells);
            free(ids);
            return false;
        }
        free(grid->point_cells);
        free(grid->point_ids);
        grid->point_cells = cells;
        grid->point_ids = ids;
        grid->max_points = count;
    }
    if (groups && count > grid->max_keys) {
        uint64_t *keys = (uint64_t *)malloc((size_t)count * sizeof(uint64_t));
        if (!keys) return false;
        free(grid->point_keys);
        grid->point_keys = keys;
        grid->max_keys = count;
    }
    return true;
}

/* Sorts points whose cells are at `cells`; `keys` has room for a key of each. */
static inline void kc_hash_grid_sort(kc_hash_grid *grid, const int32_t *cells, uint64_t *keys, int32_t count, const int32_t *groups)
{
    const size_t all = (size_t)grid->dims[0] * (size_t)grid->dims[1] * (size_t)grid->dims[2];
    int32_t k, next = 0;
    size_t cell;
    memset(grid->cell_starts, 0, 2 * all * sizeof(int32_t));
    for (k = 0; k < count; ++k) {
        keys[k] = (uint64_t)(groups ? (uint32_t)groups[k] : 0) << 32 | (uint32_t)k;
        ++grid->cell_ends[cells[k]];
    }
    if (groups) qsort(keys, (size_t)count, sizeof *keys, kc_compare_keys);
    for (cell = 0; cell < all; ++cell) {
        const int32_t points = grid->cell_ends[cell];
        if (points == 0) continue;
        grid->cell_starts[cell] = grid->cell_ends[cell] = next;
        next += points;
    }
    for (k = 0; k < count; ++k) {
        const int32_t id = (int32_t)(uint32_t)keys[k], at = grid->cell_ends[cells[id]]++;
        grid->point_cells[at] = cells[id];
        grid->point_ids[at] = id;
        if (groups) grid->point_keys[at] = (uint64_t)(uint32_t)cells[id] << 32 | keys[k] >> 32;
    }
    grid->num_points = count;
    grid->has_groups = groups != NULL;
}

/* The cell along an axis of number `k` of points of 2, 4 or 8 bytes. */
static inline int32_t kc_cell_of(const kc_hash_grid *grid, const void *points, size_t k, int bytes)
{
    if (bytes == 2) return kc_floor(kc_of_half(kc_half_of(kc_of_half(((const uint16_t *)points)[k]) * kc_of_half(grid->width.float16[1]))));
    if (bytes == 4) return kc_floor(kc_times(((const float *)points)[k], grid->width.float32[1]));
    return kc_floor(((const double *)points)[k] * grid->width.float64[1]);
}

static inline kc_engine_error kc_hash_grid_build_of(kc_hash_grid *grid, const void *points, size_t count, double width, const int32_t *groups, int bytes)
{
    double rounded, inverse;
    uint64_t *keys;
    int32_t *cells, k;
    if (!grid->cell_starts) return KC_ENGINE_DIMENSIONS;
    if (count > INT32_MAX) return KC_ENGINE_TOO_MANY;
    if (count > 0 && !points) return KC_ENGINE_NULL;
    rounded = bytes == 2 ? kc_of_half(kc_half_of(width)) : bytes == 4 ? (double)(float)width : width;
    inverse = bytes == 2 ? kc_of_half(kc_half_of((double)(1.0f / (float)rounded))) : bytes == 4 ? (double)(1.0f / (float)rounded) : 1.0 / rounded;
    if (!(rounded > 0 && rounded < HUGE_VAL && inverse > 0 && inverse < HUGE_VAL)) return KC_ENGINE_CELL_WIDTH;
    keys = (uint64_t *)malloc((sizeof *keys + sizeof *cells) * (count + 1));
    if (!keys || !kc_hash_grid_room(grid, (int32_t)count, groups != NULL)) {
        free(keys);
        return KC_ENGINE_MEMORY;
    }
    cells = (int32_t *)(void *)(keys + count);
    memset(&grid->width, 0, sizeof grid->width);
    if (bytes == 2) {
        grid->width.float16[0] = kc_half_of(rounded);
        grid->width.float16[1] = kc_half_of(inverse);
    } else if (bytes == 4) {
        grid->width.float32[0] = (float)rounded;
        grid->width.float32[1] = (float)inverse;
    } else {
        grid->width.float64[0] = rounded;
        grid->width.float64[1] = inverse;
    }
    for (k = 0; k < (int32_t)count; ++k) {
        const size_t at = 3 * (size_t)k;
        const int32_t x = kc_wrapped(kc_cell_of(grid, points, at, bytes), grid->dims[0]);
        const int32_t y = kc_wrapped(kc_cell_of(grid, points, at + 1, bytes), grid->dims[1]);
        const int32_t z = kc_wrapped(kc_cell_of(grid, points, at + 2, bytes), grid->dims[2]);
        cells[k] = (z * grid->dims[1] + y) * grid->dims[0] + x;
    }
    kc_hash_grid_sort(grid, cells, keys, (int32_t)count, groups);
    free(keys);
    return KC_ENGINE_OK;
}

/* Sorts points, with three numbers each, into cells of the given width; `groups` has one for each, or is null. The grid keeps no
 * coordinates: build it again when points moved. Those that are NaN count as 0. On an error the points are as they were sorted. */
static inline kc_engine_error kc_hash_grid_build(kc_hash_grid *grid, const float *points, size_t count, float width, const int32_t *groups)
{
    return kc_hash_grid_build_of(grid, points, count, (double)width, groups, 4);
}

/* The same of points of float64, for `wp.hash_grid_query` of them. */
static inline kc_engine_error kc_hash_grid_build_f64(kc_hash_grid *grid, const double *points, size_t count, double width, const int32_t *groups)
{
    return kc_hash_grid_build_of(grid, points, count, width, groups, 8);
}

/* The same of points of float16, as bits. */
static inline kc_engine_error kc_hash_grid_build_f16(kc_hash_grid *grid, const uint16_t *points, size_t count, double width, const int32_t *groups)
{
    return kc_hash_grid_build_of(grid, points, count, width, groups, 2);
}
