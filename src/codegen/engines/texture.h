
/* How numbers of texels are stored, what is between texels, and what is beside a texture. */
enum { KC_U8 = 0, KC_U16 = 1, KC_F32 = 2, KC_I8 = 3, KC_I16 = 4, KC_F16 = 5, KC_U32 = 6, KC_I32 = 7 };
enum { KC_CLOSEST = 0, KC_LINEAR = 1 };
enum { KC_WRAP = 0, KC_CLAMP = 1, KC_MIRROR = 2, KC_BORDER = 3 };

/* What a texture is; kc_texture_form_of has the usual. */
typedef struct kc_texture_form {
    int32_t dims;       /* 1, 2 or 3 */
    int32_t extents[3]; /* width, height, depth; 1 beyond `dims` */
    int32_t channels;   /* 1, 2 or 4 */
    int32_t numbers, filter, level_filter, address[3];
    bool normalized; /* coordinates go from 0 to 1 */
    int32_t levels;  /* levels of detail; 0: all that there are */
} kc_texture_form;

/* A texture: texels, row after row, the channels of a texel together. */
typedef struct kc_texture {
    unsigned char *data;
    int32_t width, height, depth, channels, numbers, filter, level_filter, num_levels, address[3];
    uint32_t normalized;
    unsigned char *levels[16];
    uint64_t offsets[16];
    int32_t widths[16], heights[16], depths[16];
    float *grad; /* may be set to as many zeros as there are texels, of one level of KC_F32: gradients are added there */
    uint32_t metadata;
} kc_texture;
KC_ASSERT_LAYOUT(offsetof(kc_texture, normalized) == 52 && offsetof(kc_texture, offsets) == 184 && offsetof(kc_texture, grad) == 504);

/* What a kernel takes: `Texture2D image = KC_TEXTURE_2D(texture);`. */
#define KC_TEXTURE_1D(texture) {kc_id_of(&(texture)), (texture).width, (texture).metadata}
#define KC_TEXTURE_2D(texture) {kc_id_of(&(texture)), (texture).width, (texture).height, (texture).metadata}
#define KC_TEXTURE_3D(texture) {kc_id_of(&(texture)), (texture).width, (texture).height, (texture).depth, (texture).metadata}

/* One level of texels that are mixed, the nearest one beside the texture, coordinates from 0 to 1. Beyond `dims` extents are 1. */
static inline kc_texture_form kc_texture_form_of(int dims, int32_t width, int32_t height, int32_t depth, int channels, int numbers)
{
    const int32_t filter = numbers == KC_U32 || numbers == KC_I32 ? KC_CLOSEST : KC_LINEAR;
    const kc_texture_form form = {dims, {width, height, depth}, channels, numbers, filter, filter, {KC_CLAMP, KC_CLAMP, KC_CLAMP}, true, 1};
    return form;
}

static inline size_t kc_number_bytes(int numbers) { return numbers == KC_U8 || numbers == KC_I8 ? 1 : numbers == KC_U16 || numbers == KC_I16 || numbers == KC_F16 ? 2 : 4; }

static inline double kc_number_at(const unsigned char *at, int numbers)
{
    uint32_t u = 0;
    uint16_t half = 0;
    float f = 0;
    memcpy(&half, at, kc_number_bytes(numbers) < 2 ? 1 : 2);
    if (kc_number_bytes(numbers) == 4) {
        memcpy(&u, at, 4);
        memcpy(&f, at, 4);
    }
    switch (numbers) {
    case KC_U8: return at[0];
    case KC_I8: return (signed char)at[0];
    case KC_U16: return half;
    case KC_I16: return (int16_t)half;
    case KC_F16: return kc_of_half(half);
    case KC_U32: return u;
    case KC_I32: return (int32_t)u;
    default: return (double)f;
    }
}

/* Halves of integers go to the even one. */
static inline void kc_put_number(unsigned char *at, int numbers, double value)
{
    const float f = (float)value;
    const int64_t whole = numbers == KC_F32 || numbers == KC_F16 ? 0 : (int64_t)nearbyint(value);
    const uint32_t u = (uint32_t)whole;
    const uint16_t half = numbers == KC_F16 ? kc_half_of(value) : (uint16_t)u;
    if (numbers == KC_F32)
        memcpy(at, &f, 4);
    else if (kc_number_bytes(numbers) == 4)
        memcpy(at, &u, 4);
    else if (kc_number_bytes(numbers) == 2)
        memcpy(at, &half, 2);
    else
        at[0] = (unsigned char)u;
}

/* Means of two neighbours along an axis; a last one alone is left out. Gives how many numbers there are then. */
static inline size_t kc_halve(double *values, size_t count, size_t step, size_t extent)
{
    const size_t run = step * extent, half = extent / 2;
    size_t r, pair, k, out = 0;
    for (r = 0; r < count / run; ++r)
        for (pair = 0; pair < half; ++pair)
            for (k = 0; k < step; ++k, ++out) {
                const double *at = values + r * run + 2 * pair * step + k;
                values[out] = (at[0] + at[step]) * 0.5;
            }
    return out;
}

/* Texels of all levels behind the first one. */
static inline bool kc_fill_levels(kc_texture *texture)
{
    const size_t bytes = kc_number_bytes(texture->numbers);
    int level, axis;
    for (level = 1; level < texture->num_levels; ++level) {
        size_t extents[3], count = (size_t)texture->channels, step = (size_t)texture->channels, k;
        const int32_t next[3] = {texture->widths[level], texture->heights[level], texture->depths[level]};
        double *values;
        extents[0] = (size_t)texture->widths[level - 1];
        extents[1] = (size_t)texture->heights[level - 1];
        extents[2] = (size_t)texture->depths[level - 1];
        for (axis = 0; axis < 3; ++axis) count *= extents[axis];
        values = (double *)malloc(count * sizeof *values);
        if (!values) return false;
        for (k = 0; k < count; ++k) values[k] = kc_number_at(texture->levels[level - 1] + k * bytes, texture->numbers);
        for (axis = 0; axis < 3; ++axis) {
            if (extents[axis] != (size_t)next[axis]) count = kc_halve(values, count, step, extents[axis]);
            step *= (size_t)next[axis];
        }
        for (k = 0; k < count; ++k) kc_put_number(texture->levels[level] + k * bytes, texture->numbers, values[k]);
        free(values);
    }
    return true;
}

static inline kc_engine_error kc_check_form(const kc_texture_form *form, int32_t *levels)
{
    const bool counts = form->numbers == KC_U32 || form->numbers == KC_I32;
    int32_t longest = 1, most = 1;
    int axis;
    if (form->dims < 1 || form->dims > 3) return KC_ENGINE_EXTENT;
    for (axis = 0; axis < 3; ++axis) {
        const int32_t extent = axis < form->dims ? form->extents[axis] : 1;
        if (extent < 1) return KC_ENGINE_EXTENT;
        if (extent > longest) longest = extent;
        if (form->address[axis] < KC_WRAP || form->address[axis] > KC_BORDER) return KC_ENGINE_SAMPLING;
    }
    if (form->channels != 1 && form->channels != 2 && form->channels != 4) return KC_ENGINE_CHANNELS;
    if (form->numbers < KC_U8 || form->numbers > KC_I32 || (form->filter & ~1) || (form->level_filter & ~1)) return KC_ENGINE_SAMPLING;
    while (longest >>= 1) ++most;
    *levels = form->levels == 0 ? most : form->levels;
    if (*levels < 1 || *levels > most || *levels > 16) return KC_ENGINE_LEVELS;
    if (counts && (form->filter == KC_LINEAR || (*levels > 1 && form->level_filter == KC_LINEAR))) return KC_ENGINE_MIXTURE;
    return KC_ENGINE_OK;
}

static inline void kc_texture_free(kc_texture *texture)
{
    free(texture->data);
    memset(texture, 0, sizeof *texture);
}

/* A texture of a copy of texels, `bytes` of them; lower levels of detail are computed. */
static inline kc_engine_error kc_texture_build(kc_texture *out, const kc_texture_form *form, const void *texels, size_t bytes)
{
    int32_t levels, *extents[3];
    kc_engine_error error;
    size_t total = 0, first = 0;
    int level, axis;
    memset(out, 0, sizeof *out);
    error = kc_check_form(form, &levels);
    if (error) return error;
    if (bytes > 0 && !texels) return KC_ENGINE_NULL;
    out->width = form->extents[0];
    out->height = form->dims > 1 ? form->extents[1] : 0;
    out->depth = form->dims > 2 ? form->extents[2] : 0;
    out->channels = form->channels;
    out->numbers = form->numbers;
    out->filter = form->filter;
    out->level_filter = form->level_filter;
    out->num_levels = levels;
    memcpy(out->address, form->address, sizeof out->address);
    out->normalized = form->normalized;
    out->metadata = (uint32_t)form->channels | (uint32_t)form->numbers << 3 | (uint32_t)form->filter << 6 | (uint32_t)form->level_filter << 7
        | (uint32_t)levels << 8 | (uint32_t)form->normalized << 13 | (uint32_t)form->address[0] << 14 | (uint32_t)form->address[1] << 16
        | (uint32_t)form->address[2] << 18 | UINT32_C(1) << 31;
    extents[0] = out->widths;
    extents[1] = out->heights;
    extents[2] = out->depths;
    for (level = 0; level < levels; ++level) {
        size_t size = kc_number_bytes(form->numbers) * (size_t)form->channels;
        for (axis = 0; axis < 3; ++axis) {
            const int32_t extent = (axis < form->dims ? form->extents[axis] : 1) >> level;
            extents[axis][level] = extent > 0 ? extent : 1;
            if (size > SIZE_MAX / 8 / (size_t)extents[axis][level]) return memset(out, 0, sizeof *out), KC_ENGINE_MEMORY;
            size *= (size_t)extents[axis][level];
        }
        if (level == 0) first = size;
        out->offsets[level] = total;
        total += size;
    }
    if (bytes != first) return memset(out, 0, sizeof *out), KC_ENGINE_BYTES;
    out->data = (unsigned char *)malloc(total);
    if (!out->data) return memset(out, 0, sizeof *out), KC_ENGINE_MEMORY;
    memcpy(out->data, texels, first);
    for (level = 0; level < levels; ++level) out->levels[level] = out->data + out->offsets[level];
    if (kc_fill_levels(out)) return KC_ENGINE_OK;
    kc_texture_free(out);
    return KC_ENGINE_MEMORY;
}
