#ifndef KC_ENGINES
#define KC_ENGINES 1

/* Meshes, trees of boxes, hash grids, volumes and textures, as kernels on the host read them. An id is an address: that of the struct,
 * or of a volume's bytes. Structs stay where they are while kernels use them, and so do the arrays that they are built of, which are not
 * copied. What can't be built is a struct of zeros, and a code says why. */

typedef enum kc_engine_error {
    KC_ENGINE_OK = 0,
    KC_ENGINE_MEMORY,        /* there is no memory for it */
    KC_ENGINE_TOO_MANY,      /* more elements than the format can number */
    KC_ENGINE_NULL,          /* elements at a null pointer */
    KC_ENGINE_LEAF_SIZE,     /* the leaf size is negative */
    KC_ENGINE_INDEX_COUNT,   /* the indices of a mesh are no multiple of 3 */
    KC_ENGINE_INDEX,         /* a face names a point that is not there */
    KC_ENGINE_NOT_FINITE,    /* a coordinate of a box, or of a point of a face, is NaN or infinite */
    KC_ENGINE_DIMENSIONS,    /* cells along an axis are less than 1, or all together more than int32 holds */
    KC_ENGINE_CELL_WIDTH,    /* the width of cells or its inverse is 0, negative or not finite */
    KC_ENGINE_CUT,           /* a file of volumes ends too early */
    KC_ENGINE_NOT_NANOVDB,   /* bytes are no NanoVDB file of version 32 */
    KC_ENGINE_COMPRESSED,    /* a file of volumes is compressed */
    KC_ENGINE_GRID_TYPE,     /* a volume has values of a type that kernels don't read */
    KC_ENGINE_INCONSISTENT,  /* an offset or a count in a volume contradicts the rest */
    KC_ENGINE_NO_GRID,       /* a file has no volume of that name */
    KC_ENGINE_EXTENT,        /* an extent of a texture is less than 1 */
    KC_ENGINE_CHANNELS,      /* a texture has other than 1, 2 or 4 channels */
    KC_ENGINE_SAMPLING,      /* a type of numbers, a filter or an address mode that there is not */
    KC_ENGINE_MIXTURE,       /* texels of integers of 32 bits are not mixed */
    KC_ENGINE_LEVELS,        /* a texture has more levels of detail than it can have */
    KC_ENGINE_BYTES          /* the texels have another number of bytes than the texture */
} kc_engine_error;

/* What a code means, as text. */
static inline const char *kc_engine_error_text(kc_engine_error error)
{
    switch (error) {
    case KC_ENGINE_OK: return "it is built";
    case KC_ENGINE_MEMORY: return "there is no memory for it";
    case KC_ENGINE_TOO_MANY: return "it has more elements than the format can number";
    case KC_ENGINE_NULL: return "its elements are at a null pointer";
    case KC_ENGINE_LEAF_SIZE: return "the leaf size is negative";
    case KC_ENGINE_INDEX_COUNT: return "the indices of the mesh are no multiple of 3";
    case KC_ENGINE_INDEX: return "a face of the mesh names a point that is not there";
    case KC_ENGINE_NOT_FINITE: return "a coordinate is not finite";
    case KC_ENGINE_DIMENSIONS: return "the cells of the hash grid are less than 1 along an axis, or too many";
    case KC_ENGINE_CELL_WIDTH: return "the cell width must be finite and above 0, and so must 1 over it";
    case KC_ENGINE_CUT: return "the file of volumes is cut";
    case KC_ENGINE_NOT_NANOVDB: return "the bytes are no NanoVDB file of version 32";
    case KC_ENGINE_COMPRESSED: return "the file of volumes is compressed";
    case KC_ENGINE_GRID_TYPE: return "the volume has values of a type that is not supported";
    case KC_ENGINE_INCONSISTENT: return "an offset or a count in the volume can't be";
    case KC_ENGINE_NO_GRID: return "the file has no volume of that name";
    case KC_ENGINE_EXTENT: return "an extent of the texture is less than 1";
    case KC_ENGINE_CHANNELS: return "the texture has other than 1, 2 or 4 channels";
    case KC_ENGINE_SAMPLING: return "there is no such type of texels, filter or address mode";
    case KC_ENGINE_MIXTURE: return "texels of integers of 32 bits are not mixed: the filters must be closest";
    case KC_ENGINE_LEVELS: return "the texture can't have so many levels of detail";
    case KC_ENGINE_BYTES: return "the texels have another number of bytes than the texture";
    }
    return "there is no such code";
}

/* The id of what lies at an address. */
static inline uint64_t kc_id_of(const void *engine) { return (uint64_t)(uintptr_t)engine; }

/* A product that is rounded: compilers don't fuse it with a sum, and results are the same everywhere. */
static inline float kc_times(float a, float b)
{
    float product = a * b;
    __asm__("" : "+m"(product));
    return product;
}

static inline bool kc_is_finite(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 23 & 255) != 255;
}

static inline bool kc_all_finite(const float *numbers, size_t count)
{
    size_t k;
    for (k = 0; k < count; ++k)
        if (!kc_is_finite(numbers[k])) return false;
    return true;
}

/* Half of a node: a corner of its box; below the highest bit an index: of an inner node the left child, in the upper half the right one;
 * of a leaf the first of its items, and one behind the last. The highest bit of lower halves marks leaves. */
typedef struct kc_node_half {
    float corner[3];
    uint32_t bits;
} kc_node_half;

/* A tree over boxes. */
typedef struct kc_bvh {
    kc_node_half *node_lowers, *node_uppers;
    int32_t *parents, *counts, *primitive_indices;
    int32_t max_depth, max_nodes, num_nodes, num_leaf_nodes;
    int32_t *root; /* where the memory of all these begins */
    const float *item_lowers, *item_uppers;
    const int32_t *item_groups;
    int32_t num_items, leaf_size, constructor;
    uint32_t unused;
    void *context;
} kc_bvh;
KC_ASSERT_LAYOUT(sizeof(kc_node_half) == 16 && sizeof(kc_bvh) == 112);
KC_ASSERT_LAYOUT(offsetof(kc_bvh, root) == 56 && offsetof(kc_bvh, num_items) == 88);

/* How a tree is built; zeros are the usual way. */
typedef struct kc_bvh_options {
    const int32_t *groups; /* a group for each box, or null; boxes of a group are a subtree */
    int32_t leaf_size;     /* the most boxes in a leaf; 0: one */
    bool median;           /* halves along the longest axis in place of the surface area heuristic */
} kc_bvh_options;

typedef struct kc_box {
    float lower[3], upper[3];
} kc_box;

static inline kc_box kc_no_box(void)
{
    const kc_box nothing = {{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}};
    return nothing;
}

static inline void kc_box_with(kc_box *box, const float *lower, const float *upper)
{
    int k;
    for (k = 0; k < 3; ++k) {
        if (lower[k] < box->lower[k]) box->lower[k] = lower[k];
        if (upper[k] > box->upper[k]) box->upper[k] = upper[k];
    }
}

static inline kc_box kc_box_around(const kc_box *boxes, size_t count)
{
    kc_box all = kc_no_box();
    size_t k;
    for (k = 0; k < count; ++k) kc_box_with(&all, boxes[k].lower, boxes[k].upper);
    return all;
}

static inline float kc_box_half_surface(const kc_box *box)
{
    const float x = box->upper[0] - box->lower[0], y = box->upper[1] - box->lower[1], z = box->upper[2] - box->lower[2];
    return kc_times(x, y) + kc_times(x, z) + kc_times(y, z);
}

static inline int kc_longest_axis(const kc_box *box)
{
    const float x = box->upper[0] - box->lower[0], y = box->upper[1] - box->lower[1], z = box->upper[2] - box->lower[2];
    return x >= y && x >= z ? 0 : y >= z ? 1 : 2;
}

enum { KC_BINS = 16, KC_MAX_DEPTH = 31 };

/* Which items go to the left: those below a bin, or, by the median, below a key. */
typedef struct kc_split {
    bool median;
    int axis, bin;
    float start, scale;
    uint64_t key;
    size_t count;
    kc_box sides[2];
} kc_split;

static inline int kc_bin_of(const kc_split *split, const kc_box *item)
{
    const float place = (item->lower[split->axis] + item->upper[split->axis] - split->start) * split->scale;
    return !(place > 0) ? 0 : place >= KC_BINS - 1 ? KC_BINS - 1 : (int)place;
}

/* The order of centres along an axis, and of equal ones that of their places. */
static inline uint64_t kc_median_key(const kc_box *item, int axis, size_t place)
{
    const float centre = item->lower[axis] + item->upper[axis];
    uint32_t bits;
    memcpy(&bits, &centre, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
    return (uint64_t)bits << 32 | place;
}

static inline int kc_compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The bin where the surfaces times the items of both sides are least; of equals the most even one. False: there is none. */
static inline bool kc_split_by_area(kc_split *split, const kc_box *boxes, size_t count)
{
    kc_box centres = kc_no_box(), bins[KC_BINS], around;
    size_t counts[KC_BINS], k, sum, best_smaller = 0;
    float right[KC_BINS + 1], cost, best_cost = HUGE_VALF;
    int axis, bin;
    split->bin = -1;
    for (k = 0; k < count; ++k) {
        float centre[3];
        for (axis = 0; axis < 3; ++axis) centre[axis] = boxes[k].lower[axis] + boxes[k].upper[axis];
        kc_box_with(&centres, centre, centre);
    }
    split->axis = kc_longest_axis(&centres);
    split->start = centres.lower[split->axis];
    split->scale = (float)KC_BINS / (centres.upper[split->axis] - centres.lower[split->axis]);
    if (!(split->scale > 0) || !kc_is_finite(split->scale)) return false;
    for (bin = 0; bin < KC_BINS; ++bin) {
        bins[bin] = kc_no_box();
        counts[bin] = 0;
    }
    for (k = 0; k < count; ++k) {
        bin = kc_bin_of(split, &boxes[k]);
        kc_box_with(&bins[bin], boxes[k].lower, boxes[k].upper);
        ++counts[bin];
    }
    around = kc_no_box();
    right[KC_BINS] = 0;
    for (sum = 0, bin = KC_BINS - 1; bin > 0; --bin) {
        right[bin] = right[bin + 1];
        if (counts[bin] == 0) continue;
        kc_box_with(&around, bins[bin].lower, bins[bin].upper);
        sum += counts[bin];
        right[bin] = kc_times(kc_box_half_surface(&around), (float)sum);
    }
    around = kc_no_box();
    for (sum = 0, bin = 1; bin < KC_BINS; ++bin) {
        size_t smaller;
        if (counts[bin - 1] == 0) continue;
        kc_box_with(&around, bins[bin - 1].lower, bins[bin - 1].upper);
        sum += counts[bin - 1];
        cost = kc_times(kc_box_half_surface(&around), (float)sum) + right[bin];
        smaller = sum < count - sum ? sum : count - sum;
        if (cost < best_cost || (cost == best_cost && smaller > best_smaller)) {
            split->bin = bin;
            best_cost = cost;
            best_smaller = smaller;
            split->count = sum;
        }
    }
    if (best_smaller == 0) return false;
    split->sides[0] = kc_box_around(bins, (size_t)split->bin);
    split->sides[1] = kc_box_around(bins + split->bin, (size_t)(KC_BINS - split->bin));
    return true;
}

typedef struct kc_grower {
    kc_bvh *tree;
    uint64_t *keys;
    bool median;
} kc_grower;

/* Items that become a node, from place `first` of the order of leaves on. */
typedef struct kc_work {
    kc_box *boxes, *spare_boxes;
    int32_t *ids, *spare_ids;
    size_t first, count;
} kc_work;

static inline kc_work kc_part(kc_work work, size_t begin, size_t end)
{
    work.boxes += begin;
    work.spare_boxes += begin;
    work.ids += begin;
    work.spare_ids += begin;
    work.first += begin;
    work.count = end - begin;
    return work;
}

/* Divides items so that neither side is empty. */
static inline void kc_divide(const kc_grower *grower, kc_work *work, const kc_box *around, int depth, kc_split *split)
{
    const size_t count = work->count, leaf_size = (size_t)grower->tree->leaf_size, leaves = (count + leaf_size - 1) / leaf_size;
    size_t k, left = 0, right;
    int levels = 0;
    while ((size_t)1 << levels < leaves) ++levels;
    split->median = grower->median || depth + levels >= KC_MAX_DEPTH;
    if (split->median) {
        split->axis = kc_longest_axis(around);
        split->count = count / 2;
        for (k = 0; k < count; ++k) grower->keys[k] = kc_median_key(&work->boxes[k], split->axis, k);
        qsort(grower->keys, count, sizeof *grower->keys, kc_compare_keys);
        split->key = grower->keys[split->count];
    } else if (!kc_split_by_area(split, work->boxes, count)) {
        split->count = count / 2;
        split->sides[0] = kc_box_around(work->boxes, split->count);
        split->sides[1] = kc_box_around(work->boxes + split->count, count - split->count);
        return;
    }
    right = split->count;
    for (k = 0; k < count; ++k) {
        const kc_box *item = &work->boxes[k];
        const bool goes_left = split->median ? kc_median_key(item, split->axis, k) < split->key : kc_bin_of(split, item) < split->bin;
        const size_t at = goes_left ? left++ : right++;
        work->spare_boxes[at] = *item;
        work->spare_ids[at] = work->ids[k];
    }
    {
        kc_box *const boxes = work->boxes;
        int32_t *const ids = work->ids;
        work->boxes = work->spare_boxes;
        work->ids = work->spare_ids;
        work->spare_boxes = boxes;
        work->spare_ids = ids;
    }
    if (split->median) {
        split->sides[0] = kc_box_around(work->boxes, split->count);
        split->sides[1] = kc_box_around(work->boxes + split->count, count - split->count);
    }
}

static inline void kc_set_node(kc_bvh *tree, int32_t node, const kc_box *box, uint32_t lower, uint32_t upper)
{
    memcpy(tree->node_lowers[node].corner, box->lower, sizeof box->lower);
    memcpy(tree->node_uppers[node].corner, box->upper, sizeof box->upper);
    tree->node_lowers[node].bits = lower;
    tree->node_uppers[node].bits = upper;
}

/* The subtree over items, in preorder; the index of its root. */
static inline int32_t kc_grow(kc_grower *grower, kc_work work, const kc_box *around, int depth, int32_t parent)
{
    kc_bvh *const tree = grower->tree;
    const int32_t node = tree->num_nodes++;
    int32_t left, right;
    kc_split split;
    tree->parents[node] = parent;
    if (depth > tree->max_depth) tree->max_depth = depth;
    if (work.count <= (size_t)tree->leaf_size || depth >= KC_MAX_DEPTH) {
        memcpy(tree->primitive_indices + work.first, work.ids, work.count * sizeof *work.ids);
        kc_set_node(tree, node, around, (uint32_t)work.first | UINT32_C(1) << 31, (uint32_t)(work.first + work.count));
        ++tree->num_leaf_nodes;
        return node;
    }
    kc_divide(grower, &work, around, depth, &split);
    left = kc_grow(grower, kc_part(work, 0, split.count), &split.sides[0], depth + 1, node);
    right = kc_grow(grower, kc_part(work, split.count, work.count), &split.sides[1], depth + 1, node);
    kc_set_node(tree, node, around, (uint32_t)left, (uint32_t)right);
    return node;
}

/* One subtree for each group, of which `starts` has `count`; groups are halved above them. */
static inline int32_t kc_grow_groups(kc_grower *grower, kc_work work, const size_t *starts, size_t count, int depth, int32_t parent)
{
    kc_bvh *const tree = grower->tree;
    kc_box around;
    size_t cut;
    int32_t node, left, right;
    if (count <= 1) {
        around = kc_box_around(work.boxes, work.count);
        return kc_grow(grower, work, &around, depth, parent);
    }
    node = tree->num_nodes++;
    tree->parents[node] = parent;
    cut = starts[count / 2] - starts[0];
    left = kc_grow_groups(grower, kc_part(work, 0, cut), starts, count / 2, depth + 1, node);
    right = kc_grow_groups(grower, kc_part(work, cut, work.count), starts + count / 2, count - count / 2, depth + 1, node);
    around = kc_no_box();
    kc_box_with(&around, tree->node_lowers[left].corner, tree->node_uppers[left].corner);
    kc_box_with(&around, tree->node_lowers[right].corner, tree->node_uppers[right].corner);
    kc_set_node(tree, node, &around, (uint32_t)left, (uint32_t)right);
    return node;
}
