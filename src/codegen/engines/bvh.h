
/* Leaves before inner nodes, each in their order: trees with groups are searched that way. `places` has room for all nodes, `spare` for
 * their halves. */
static inline void kc_leaves_first(kc_bvh *tree, int32_t *places, kc_node_half *spare)
{
    const uint32_t leaf_bit = UINT32_C(1) << 31;
    int32_t leaf = 0, inner = tree->num_leaf_nodes, n, half;
    for (n = 0; n < tree->num_nodes; ++n) places[n] = tree->node_lowers[n].bits & leaf_bit ? leaf++ : inner++;
    for (n = 0; n < tree->num_nodes; ++n)
        if (!(tree->node_lowers[n].bits & leaf_bit)) {
            tree->node_lowers[n].bits = (uint32_t)places[tree->node_lowers[n].bits];
            tree->node_uppers[n].bits = (uint32_t)places[tree->node_uppers[n].bits];
        }
    for (half = 0; half < 2; ++half) {
        kc_node_half *const halves = half ? tree->node_uppers : tree->node_lowers;
        memcpy(spare, halves, (size_t)tree->num_nodes * sizeof *halves);
        for (n = 0; n < tree->num_nodes; ++n) halves[places[n]] = spare[n];
    }
    memcpy(spare, tree->parents, (size_t)tree->num_nodes * sizeof *tree->parents);
    for (n = 0; n < tree->num_nodes; ++n) {
        int32_t parent;
        memcpy(&parent, (const char *)spare + (size_t)n * sizeof parent, sizeof parent);
        tree->parents[places[n]] = parent < 0 ? -1 : places[parent];
    }
    *tree->root = places[0];
}

/* Makes room for a tree and grows it; what it is built of is in its fields. */
static inline kc_engine_error kc_grow_tree(kc_bvh *tree, bool median)
{
    const size_t count = (size_t)tree->num_items, nodes = count > 0 ? 2 * count - 1 : 0, halves = nodes * sizeof(kc_node_half);
    const size_t bytes = 16 + 2 * halves + (nodes + count) * sizeof(int32_t);
    const size_t scratch_bytes = 2 * count * (sizeof(kc_box) + sizeof(int32_t)) + count * (sizeof(uint64_t) + sizeof(size_t)) + 16;
    unsigned char *memory = (unsigned char *)malloc(bytes), *scratch = (unsigned char *)malloc(scratch_bytes);
    kc_grower grower = {tree, NULL, false};
    kc_work work;
    size_t k, groups = 0, *starts;
    if (!memory || !scratch) {
        free(memory);
        free(scratch);
        return KC_ENGINE_MEMORY;
    }
    tree->root = (int32_t *)(void *)memory;
    *tree->root = -1;
    if (count == 0) {
        free(scratch);
        return KC_ENGINE_OK;
    }
    tree->node_lowers = (kc_node_half *)(void *)(memory + 16);
    tree->node_uppers = tree->node_lowers + nodes;
    tree->parents = (int32_t *)(void *)(tree->node_uppers + nodes);
    tree->primitive_indices = tree->parents + nodes;
    tree->max_nodes = (int32_t)nodes;
    grower.keys = (uint64_t *)(void *)scratch;
    starts = (size_t *)(void *)(grower.keys + count);
    work.boxes = (kc_box *)(void *)(starts + count);
    work.spare_boxes = work.boxes + count;
    work.ids = (int32_t *)(void *)(work.spare_boxes + count);
    work.spare_ids = work.ids + count;
    work.first = 0;
    work.count = count;
    grower.median = median;
    for (k = 0; k < count; ++k)
        grower.keys[k] = (uint64_t)(tree->item_groups ? (uint32_t)tree->item_groups[k] ^ UINT32_C(1) << 31 : 0) << 32 | k;
    if (tree->item_groups) qsort(grower.keys, count, sizeof *grower.keys, kc_compare_keys);
    for (k = 0; k < count; ++k) {
        const uint32_t id = (uint32_t)grower.keys[k];
        if (k == 0 || grower.keys[k] >> 32 != grower.keys[k - 1] >> 32) starts[groups++] = k;
        work.ids[k] = (int32_t)id;
        memcpy(work.boxes[k].lower, tree->item_lowers + 3 * (size_t)id, sizeof work.boxes[k].lower);
        memcpy(work.boxes[k].upper, tree->item_uppers + 3 * (size_t)id, sizeof work.boxes[k].upper);
    }
    kc_grow_groups(&grower, work, starts, groups, 0, -1);
    *tree->root = 0;
    if (tree->item_groups) {
        kc_node_half *spare = (kc_node_half *)malloc(halves);
        int32_t *places = (int32_t *)malloc(nodes * sizeof *places);
        if (spare && places) kc_leaves_first(tree, places, spare);
        groups = spare && places ? groups : 0;
        free(spare);
        free(places);
    }
    free(scratch);
    return groups > 0 ? KC_ENGINE_OK : KC_ENGINE_MEMORY;
}

static inline void kc_bvh_free(kc_bvh *tree)
{
    free(tree->root);
    memset(tree, 0, sizeof *tree);
}

/* Builds a tree over `count` boxes, with three numbers for each corner. Boxes must be finite; there may be none. */
static inline kc_engine_error kc_bvh_build(kc_bvh *out, const float *lowers, const float *uppers, size_t count, const kc_bvh_options *options)
{
    const kc_bvh_options usual = {NULL, 0, false};
    kc_engine_error error;
    if (!options) options = &usual;
    memset(out, 0, sizeof *out);
    if (options->leaf_size < 0) return KC_ENGINE_LEAF_SIZE;
    if (count > INT32_MAX / 2) return KC_ENGINE_TOO_MANY;
    if (count > 0 && (!lowers || !uppers)) return KC_ENGINE_NULL;
    if (!kc_all_finite(lowers, 3 * count) || !kc_all_finite(uppers, 3 * count)) return KC_ENGINE_NOT_FINITE;
    out->item_lowers = lowers;
    out->item_uppers = uppers;
    out->item_groups = options->groups;
    out->num_items = (int32_t)count;
    out->leaf_size = options->leaf_size > 0 ? options->leaf_size : 1;
    out->constructor = options->median;
    error = kc_grow_tree(out, options->median);
    if (error) kc_bvh_free(out);
    return error;
}

/* Fits nodes to the boxes as they are. */
static inline void kc_fit_nodes(kc_bvh *tree)
{
    const uint32_t leaf_bit = UINT32_C(1) << 31;
    int32_t n;
    int inner;
    for (inner = 0; inner < 2; ++inner)
        for (n = tree->num_nodes - 1; n >= 0; --n) {
            kc_node_half *const lower = &tree->node_lowers[n], *const upper = &tree->node_uppers[n];
            kc_box box = kc_no_box();
            if (!(lower->bits & leaf_bit) != (inner == 1)) continue;
            if (inner) {
                kc_box_with(&box, tree->node_lowers[lower->bits].corner, tree->node_uppers[lower->bits].corner);
                kc_box_with(&box, tree->node_lowers[upper->bits].corner, tree->node_uppers[upper->bits].corner);
            } else {
                uint32_t k;
                for (k = lower->bits & ~leaf_bit; k < upper->bits; ++k) {
                    const size_t item = 3 * (size_t)tree->primitive_indices[k];
                    kc_box_with(&box, tree->item_lowers + item, tree->item_uppers + item);
                }
            }
            memcpy(lower->corner, box.lower, sizeof box.lower);
            memcpy(upper->corner, box.upper, sizeof box.upper);
        }
}

/* Fits the tree to boxes that moved. On an error it is as it was. */
static inline kc_engine_error kc_bvh_refit(kc_bvh *tree)
{
    const size_t numbers = 3 * (size_t)tree->num_items;
    if (!kc_all_finite(tree->item_lowers, numbers) || !kc_all_finite(tree->item_uppers, numbers)) return KC_ENGINE_NOT_FINITE;
    kc_fit_nodes(tree);
    return KC_ENGINE_OK;
}
