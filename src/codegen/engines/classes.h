
#ifdef __cplusplus
extern "C++" {
namespace kc {

/* What can't be built throws. */
inline void built(kc_engine_error error)
{
    if (error == KC_ENGINE_MEMORY) throw std::bad_alloc();
    if (error) throw std::invalid_argument(std::string("kc: ") + kc_engine_error_text(error));
}

/* Numbers of type `T` in a vector, a span or the like, whose elements may be several numbers together. It does not own them. */
template <class T> struct numbers {
    const T *first;
    size_t count;
    template <class C> static numbers of(const C &elements)
    {
        using element = typename std::remove_cv<typename std::remove_pointer<decltype(elements.data())>::type>::type;
        static_assert(std::is_same<element, T>::value || (sizeof(element) % sizeof(T) == 0 && !std::is_arithmetic<element>::value),
                      "kc: the elements are other numbers than those of the engine");
        static_assert(std::is_trivially_copyable<element>::value, "kc: the elements are no plain numbers");
        return {reinterpret_cast<const T *>(elements.data()), elements.size() * (sizeof(element) / sizeof(T))};
    }
    /* The number of points or boxes. */
    size_t triples() const
    {
        if (count % 3 != 0) throw std::invalid_argument("kc: the coordinates are no multiple of 3");
        return count / 3;
    }
};

inline void release(kc_mesh *engine) { kc_mesh_free(engine); }
inline void release(kc_bvh *engine) { kc_bvh_free(engine); }
inline void release(kc_hash_grid *engine) { kc_hash_grid_free(engine); }
inline void release(kc_volume *engine) { kc_volume_free(engine); }
inline void release(kc_texture *engine) { kc_texture_free(engine); }

/* An engine of C with its end. It stays where it is, since its id is an address. */
template <class Engine> struct owned : Engine {
    owned() : Engine() {}
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    ~owned() { release(this); }
};

/* Triangles with a tree over them: `kc::mesh mesh(points, indices)`, of containers that stay while kernels use it. `args.mesh = mesh.id()`. */
struct mesh : owned<kc_mesh> {
    template <class P, class I> mesh(P &corners, I &faces, const kc_mesh_options &options = kc_mesh_options())
    {
        const auto p = numbers<float>::of(corners);
        const auto i = numbers<int32_t>::of(faces);
        built(kc_mesh_build(this, p.first, p.triples(), i.first, i.count, &options));
    }
    void refit() { built(kc_mesh_refit(this)); }
    uint64_t id() const { return kc_id_of(static_cast<const kc_mesh *>(this)); }
};

/* A tree over boxes. */
struct bvh : owned<kc_bvh> {
    template <class L, class U> bvh(L &lowers, U &uppers, const kc_bvh_options &options = kc_bvh_options())
    {
        const auto l = numbers<float>::of(lowers), u = numbers<float>::of(uppers);
        if (l.triples() != u.triples()) throw std::invalid_argument("kc: there are not as many lower bounds as upper bounds");
        built(kc_bvh_build(this, l.first, u.first, l.triples(), &options));
    }
    void refit() { built(kc_bvh_refit(this)); }
    uint64_t id() const { return kc_id_of(static_cast<const kc_bvh *>(this)); }
};

/* Points sorted by the cell they lie in. */
struct hash_grid : owned<kc_hash_grid> {
    hash_grid(int32_t x, int32_t y, int32_t z) { built(kc_hash_grid_new(this, x, y, z)); }
    template <class P> void build(const P &points, float cell_width, const int32_t *groups = nullptr)
    {
        const auto p = numbers<float>::of(points);
        built(kc_hash_grid_build(this, p.first, p.triples(), cell_width, groups));
    }
    uint64_t id() const { return kc_id_of(static_cast<const kc_hash_grid *>(this)); }
};

/* A sparse grid of voxels, of the bytes of a NanoVDB file. */
struct volume : owned<kc_volume> {
    template <class C> explicit volume(const C &file, const char *name = nullptr)
    {
        const auto all = numbers<unsigned char>::of(file);
        built(kc_volume_from_memory(this, all.first, all.count, name));
    }
    uint64_t id() const { return kc_id_of(bytes); }
};

/* Texels and how they are sampled: `args.image = KC_TEXTURE_2D(texture)`. */
struct texture : owned<kc_texture> {
    texture(const kc_texture_form &form, const void *texels, size_t bytes) { built(kc_texture_build(this, &form, texels, bytes)); }
};

} /* namespace kc */
} /* extern "C++" */
#endif

#endif /* KC_ENGINES */
