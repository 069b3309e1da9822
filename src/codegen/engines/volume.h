
/* A sparse grid of voxels: the bytes of a NanoVDB grid of version 32. The id is the address of the bytes. */
typedef struct kc_volume {
    unsigned char *bytes;
    uint64_t size;
    uint32_t grid_type; /* NanoVDB's number: 1 is float, 4 int32, 6 Vec3f */
    void *memory;
} kc_volume;

static inline uint16_t kc_u16_at(const unsigned char *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

static inline uint32_t kc_u32_at(const unsigned char *bytes) { return kc_u16_at(bytes) | (uint32_t)kc_u16_at(bytes + 2) << 16; }

static inline uint64_t kc_u64_at(const unsigned char *bytes) { return kc_u32_at(bytes) | (uint64_t)kc_u32_at(bytes + 4) << 32; }

/* Nodes of one level: where they start, how many, how far apart. Of inner nodes also how many entries of how many bytes they have, where the
 * mask of children and the entries are. */
typedef struct kc_level {
    uint64_t start, count, bytes, entries, entry_bytes, child_mask, table;
} kc_level;

static inline uint64_t kc_up_to(uint64_t x, uint64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

/* What a header of a node ends with: the least and the greatest value, a mean and a deviation. */
static inline uint64_t kc_after_statistics(uint64_t header, const uint8_t *sizes)
{
    return kc_up_to(kc_up_to(header, sizes[1]) + 2u * sizes[0], sizes[2]) + 2u * sizes[2];
}

/* The levels of volumes of a type, without places: the root, its tiles, upper nodes, lower nodes, leaves. False: it is not supported. */
static inline bool kc_levels_of(uint32_t type, kc_level levels[5])
{
    /* Bytes and alignment of a value, and of a mean; type 0 has none. */
    static const uint8_t sizes[23][3] = {{0, 0, 0},  {4, 4, 4},  {8, 8, 8}, {0, 0, 0}, {4, 4, 4},  {8, 8, 8},  {12, 4, 4}, {24, 8, 8},
                                         {0, 0, 0},  {0, 0, 0},  {4, 4, 4}, {0, 0, 0}, {0, 0, 0},  {0, 0, 0},  {0, 0, 0},  {0, 0, 0},
                                         {0, 0, 0},  {16, 4, 4}, {32, 8, 8}, {8, 8, 8}, {8, 8, 8}, {8, 8, 8},  {8, 8, 8}};
    const uint8_t *of = sizes[type < 23 ? type : 0];
    int n;
    memset(levels, 0, 5 * sizeof *levels);
    if (of[0] == 0) return false;
    levels[0].bytes = kc_up_to(kc_after_statistics(kc_up_to(28, of[1]) + of[0], of), 32);
    levels[1].bytes = kc_up_to(kc_up_to(20, of[1]) + of[0], 32);
    for (n = 2; n < 4; ++n) {
        kc_level *level = &levels[n];
        level->entries = n == 2 ? 32768 : 4096;
        level->child_mask = 32 + level->entries / 8;
        level->table = kc_up_to(kc_after_statistics(level->child_mask + level->entries / 8, of), 32);
        level->entry_bytes = kc_up_to(of[0], 8);
        level->bytes = level->table + level->entries * level->entry_bytes;
    }
    levels[4].bytes = type == 19 || type == 20 ? 96 : type > 20 ? 160 : kc_up_to(kc_up_to(kc_after_statistics(80, of), 32) + UINT64_C(512) * of[0], 32);
    return true;
}

/* Whether there is a node of the level `offset` bytes from `base`. */
static inline bool kc_is_node(const kc_level *level, uint64_t base, uint64_t offset)
{
    const uint64_t at = base + offset;
    return at >= level->start && at - level->start < level->count * level->bytes && (at - level->start) % level->bytes == 0;
}

/* Whether all nodes of a grid lie inside its bytes: kernels follow offsets unasked. */
static inline kc_engine_error kc_check_nodes(const unsigned char *grid, uint64_t size, uint32_t type)
{
    static const unsigned offsets[5] = {24, 0, 16, 8, 0}, counts[5] = {0, 0, 40, 36, 32};
    const unsigned char *tree = grid + 672;
    kc_level levels[5];
    uint64_t end = 672 + 64, n, entry;
    int k;
    if (!kc_levels_of(type, levels)) return KC_ENGINE_GRID_TYPE;
    for (k = 0; k < 5; ++k) {
        kc_level *level = &levels[k];
        level->count = k == 0 ? 1 : k == 1 ? kc_u32_at(grid + levels[0].start + 24) : kc_u32_at(tree + counts[k]);
        if (level->count == 0) continue;
        level->start = k == 1 ? levels[0].start + levels[0].bytes : kc_u64_at(tree + offsets[k]);
        if (k != 1) {
            if (level->start > size) return KC_ENGINE_INCONSISTENT;
            level->start += 672;
        }
        if (level->start < 672 + 64 || level->start > size || level->start % 32 != 0) return KC_ENGINE_INCONSISTENT;
        if (level->count > (size - level->start) / level->bytes) return KC_ENGINE_INCONSISTENT;
        /* The root may lie anywhere; the others follow each other. */
        if (k > 0 && level->start < end) return KC_ENGINE_INCONSISTENT;
        if (k > 0) end = level->start + level->count * level->bytes;
    }
    for (n = 0; n < levels[1].count; ++n) {
        const uint64_t child = kc_u64_at(grid + levels[1].start + n * levels[1].bytes + 8);
        if (child != 0 && !kc_is_node(&levels[2], levels[0].start, child)) return KC_ENGINE_INCONSISTENT;
    }
    for (k = 2; k < 4; ++k)
        for (n = 0; n < levels[k].count; ++n) {
            const uint64_t node = levels[k].start + n * levels[k].bytes;
            for (entry = 0; entry < levels[k].entries; ++entry) {
                if (!(grid[node + levels[k].child_mask + entry / 8] >> entry % 8 & 1)) continue;
                if (!kc_is_node(&levels[k + 1], node, kc_u64_at(grid + node + levels[k].table + entry * levels[k].entry_bytes)))
                    return KC_ENGINE_INCONSISTENT;
            }
        }
    return KC_ENGINE_OK;
}

/* Tests a grid; `size` is then that of the grid. */
static inline kc_engine_error kc_check_grid(const unsigned char *grid, uint64_t *size)
{
    uint64_t whole, end, blind, n;
    uint32_t count;
    if (*size < 672 + 64) return KC_ENGINE_CUT;
    if (memcmp(grid, "NanoVDB0", 8) != 0 && memcmp(grid, "NanoVDB1", 8) != 0) return KC_ENGINE_NOT_NANOVDB;
    if (kc_u32_at(grid + 16) >> 21 != 32) return KC_ENGINE_NOT_NANOVDB;
    whole = kc_u64_at(grid + 32);
    if (whole < 672 + 64 || whole % 32 != 0) return KC_ENGINE_INCONSISTENT;
    if (whole > *size) return KC_ENGINE_CUT;
    *size = end = whole;
    if (!(kc_u32_at(grid + 20) & 32) || !memchr(grid + 40, 0, 256)) return KC_ENGINE_INCONSISTENT;
    /* Arrays that go with the voxels lie behind the tree. */
    blind = kc_u64_at(grid + 640);
    count = kc_u32_at(grid + 648);
    if (count != 0 || blind != 0) end = blind;
    if (end > whole || end < 672 + 64 || count > (whole - end) / 288) return KC_ENGINE_INCONSISTENT;
    for (n = 0; n < count; ++n) {
        const uint64_t entry = end + n * 288, first = entry + kc_u64_at(grid + entry), values = kc_u64_at(grid + entry + 8);
        const uint64_t bytes = kc_u32_at(grid + entry + 16);
        if (!memchr(grid + entry + 32, 0, 256) || first > whole) return KC_ENGINE_INCONSISTENT;
        if (bytes > 0 && values > (whole - first) / bytes) return KC_ENGINE_INCONSISTENT;
    }
    return kc_check_nodes(grid, end, kc_u32_at(grid + 636));
}

static inline void kc_volume_free(kc_volume *volume)
{
    free(volume->memory);
    memset(volume, 0, sizeof *volume);
}

/* A volume of the bytes of a NanoVDB file (`.nvdb`) without compression: a copy of the grid of that name, or of the first one (null). */
static inline kc_engine_error kc_volume_from_memory(kc_volume *out, const void *file, size_t size, const char *name)
{
    const unsigned char *const bytes = (const unsigned char *)file;
    uint64_t descriptions = 16, at = 16, n, count;
    memset(out, 0, sizeof *out);
    if (size > 0 && !file) return KC_ENGINE_NULL;
    if (size < 16) return KC_ENGINE_CUT;
    if (memcmp(bytes, "NanoVDB0", 8) != 0 && memcmp(bytes, "NanoVDB2", 8) != 0) return KC_ENGINE_NOT_NANOVDB;
    if (kc_u32_at(bytes + 8) >> 21 != 32) return KC_ENGINE_NOT_NANOVDB;
    if (kc_u16_at(bytes + 14) != 0) return KC_ENGINE_COMPRESSED;
    count = kc_u16_at(bytes + 12);
    for (n = 0; n < count; ++n) {
        if (size - at < 176) return KC_ENGINE_CUT;
        if (size - at - 176 < kc_u32_at(bytes + at + 136)) return KC_ENGINE_CUT;
        at += 176 + (uint64_t)kc_u32_at(bytes + at + 136);
    }
    for (n = 0; n < count; ++n) {
        const unsigned char *const grid = bytes + at;
        uint64_t length = kc_u64_at(bytes + descriptions);
        const uint64_t here = length;
        kc_engine_error error;
        if (length > size - at) return KC_ENGINE_CUT;
        descriptions += 176 + (uint64_t)kc_u32_at(bytes + descriptions + 136);
        at += here;
        if (name && (length < 672 + 64 || strncmp((const char *)grid + 40, name, 256) != 0)) continue;
        error = kc_check_grid(grid, &length);
        if (error) return error;
        out->memory = malloc((size_t)length + 31);
        if (!out->memory) return KC_ENGINE_MEMORY;
        out->bytes = (unsigned char *)out->memory + (32 - (uintptr_t)out->memory % 32) % 32;
        memcpy(out->bytes, grid, (size_t)length);
        out->size = length;
        out->grid_type = kc_u32_at(grid + 636);
        return KC_ENGINE_OK;
    }
    return KC_ENGINE_NO_GRID;
}
