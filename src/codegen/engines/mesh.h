
/* Moments of the triangles below a node, for winding numbers: with unit normals n, and positions p from the centroid, integrals of n_i p_j
 * and n_i p_j p_k over the area (Barill and others, Fast Winding Numbers for Soups and Clouds, 2018). */
typedef struct kc_solid_angle {
    float centroid[3], normal[3], second_diagonal[3], cubes[3], permuted;
    float mixed[6];  /* 2 n_xxy + n_yxx, and so on, by the table kc_pairs */
    float second[6]; /* n_xy, n_yx, n_yz, n_zy, n_zx, n_xz */
    float lower[3], upper[3], area_p[3], area, max_distance_squared;
} kc_solid_angle;

/* Triangles with a tree over them. */
typedef struct kc_mesh {
    kc_array points, velocities, indices; /* `points.grad` and `velocities.grad`, three numbers for each point, may be set */
    float *lowers, *uppers;
    kc_solid_angle *solid_angle;
    int32_t num_points, num_tris;
    kc_bvh bvh;
    void *context;
    float average_edge_length;
    uint32_t unused;
} kc_mesh;
KC_ASSERT_LAYOUT(sizeof(kc_solid_angle) == 144 && sizeof(kc_mesh) == 328);
KC_ASSERT_LAYOUT(offsetof(kc_solid_angle, mixed) == 52 && offsetof(kc_solid_angle, second) == 76 && offsetof(kc_solid_angle, area_p) == 124);
KC_ASSERT_LAYOUT(offsetof(kc_mesh, lowers) == 168 && offsetof(kc_mesh, bvh) == 200 && offsetof(kc_mesh, average_edge_length) == 320);

/* How a mesh is built; zeros are the usual way. */
typedef struct kc_mesh_options {
    const float *velocities; /* three numbers for each point, or null */
    const int32_t *groups;   /* a group for each face, or null; faces of a group are a subtree */
    int32_t leaf_size;       /* the most faces in a leaf; 0: four */
    bool median;             /* as of kc_bvh_options */
    bool winding_numbers;    /* whether they are asked for: 144 bytes more for each node */
} kc_mesh_options;

static inline const float *kc_corner(const kc_mesh *mesh, size_t face, int corner)
{
    return (const float *)mesh->points.data + 3 * (size_t)((const int32_t *)mesh->indices.data)[3 * face + (size_t)corner];
}

static inline float kc_edge(const float *a, const float *b)
{
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrtf(kc_times(x, x) + kc_times(y, y) + kc_times(z, z));
}

/* Boxes of the faces, and the mean of all edges. */
static inline kc_engine_error kc_measure_faces(kc_mesh *mesh)
{
    const size_t faces = (size_t)mesh->num_tris;
    double all = 0, some = 0;
    size_t face;
    int k;
    for (face = 0; face < faces; ++face) {
        const float *corners[3];
        kc_box box = kc_no_box();
        float perimeter;
        for (k = 0; k < 3; ++k) {
            const int32_t point = ((const int32_t *)mesh->indices.data)[3 * face + (size_t)k];
            if (point < 0 || point >= mesh->num_points) return KC_ENGINE_INDEX;
            corners[k] = kc_corner(mesh, face, k);
            if (!kc_all_finite(corners[k], 3)) return KC_ENGINE_NOT_FINITE;
            kc_box_with(&box, corners[k], corners[k]);
        }
        memcpy(mesh->lowers + 3 * face, box.lower, sizeof box.lower);
        memcpy(mesh->uppers + 3 * face, box.upper, sizeof box.upper);
        perimeter = kc_edge(corners[0], corners[1]) + kc_edge(corners[1], corners[2]) + kc_edge(corners[2], corners[0]);
        if (face % 4096 == 0) {
            all += some;
            some = 0;
        }
        some += perimeter;
    }
    mesh->average_edge_length = faces > 0 ? (float)((all + some) / (double)(3 * faces)) : 0;
    return KC_ENGINE_OK;
}

static const int kc_pairs[6][2] = {{0, 1}, {0, 2}, {1, 2}, {1, 0}, {2, 0}, {2, 1}};
static const int kc_second_pairs[6][2] = {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 0}, {0, 2}};

static inline float kc_square(const float *a) { return kc_times(a[0], a[0]) + kc_times(a[1], a[1]) + kc_times(a[2], a[2]); }

/* About its centroid a triangle has no second moments; the integral of p_j p_k is the area over 12, times the sum over the corners. */
static inline kc_solid_angle kc_moments_of(const kc_mesh *mesh, size_t face)
{
    kc_solid_angle m;
    kc_box box = kc_no_box();
    const float *c[3];
    float u[3], v[3], arms[3][3], integral[3][3];
    int i, j, k;
    memset(&m, 0, sizeof m);
    for (k = 0; k < 3; ++k) {
        c[k] = kc_corner(mesh, face, k);
        kc_box_with(&box, c[k], c[k]);
    }
    for (k = 0; k < 3; ++k) {
        u[k] = c[1][k] - c[0][k];
        v[k] = c[2][k] - c[0][k];
        m.centroid[k] = (c[0][k] + c[1][k] + c[2][k]) / 3.0f;
    }
    for (k = 0; k < 3; ++k) {
        i = (k + 1) % 3;
        j = (k + 2) % 3;
        m.normal[k] = 0.5f * (kc_times(u[i], v[j]) - kc_times(u[j], v[i]));
        for (j = 0; j < 3; ++j) arms[j][k] = c[j][k] - m.centroid[k];
    }
    for (j = 0; j < 3; ++j)
        for (k = 0; k < 3; ++k)
            integral[j][k] = (kc_times(arms[0][j], arms[0][k]) + kc_times(arms[1][j], arms[1][k]) + kc_times(arms[2][j], arms[2][k])) / 12.0f;
    for (k = 0; k < 6; ++k) {
        i = kc_pairs[k][0];
        j = kc_pairs[k][1];
        m.mixed[k] = kc_times(2.0f * m.normal[i], integral[i][j]) + kc_times(m.normal[j], integral[i][i]);
    }
    m.area = sqrtf(kc_square(m.normal));
    for (k = 0; k < 3; ++k) {
        m.area_p[k] = m.centroid[k] * m.area;
        m.cubes[k] = m.normal[k] * integral[k][k];
    }
    m.permuted = 2.0f * (kc_times(m.normal[0], integral[1][2]) + kc_times(m.normal[1], integral[2][0]) + kc_times(m.normal[2], integral[0][1]));
    memcpy(m.lower, box.lower, sizeof m.lower);
    memcpy(m.upper, box.upper, sizeof m.upper);
    return m;
}

static inline void kc_unpack_second(const kc_solid_angle *m, float second[3][3])
{
    int k;
    for (k = 0; k < 3; ++k) second[k][k] = m->second_diagonal[k];
    for (k = 0; k < 6; ++k) second[kc_second_pairs[k][0]][kc_second_pairs[k][1]] = m->second[k];
}

/* About another point: in the integrals p becomes p + d. */
static inline kc_solid_angle kc_moments_about(const kc_solid_angle *of, const float *point)
{
    static const int cycles[3][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}};
    kc_solid_angle m = *of;
    const float *n = of->normal;
    float d[3], s[3][3], around[3];
    int i, j, k;
    kc_unpack_second(of, s);
    for (k = 0; k < 3; ++k) d[k] = of->centroid[k] - point[k];
    for (i = 0; i < 3; ++i) {
        m.centroid[i] = point[i];
        m.second_diagonal[i] = s[i][i] + kc_times(n[i], d[i]);
        m.cubes[i] = of->cubes[i] + kc_times(2.0f * d[i], s[i][i]) + kc_times(n[i] * d[i], d[i]);
    }
    for (k = 0; k < 6; ++k) {
        i = kc_second_pairs[k][0];
        j = kc_second_pairs[k][1];
        m.second[k] = s[i][j] + kc_times(n[i], d[j]);
    }
    for (k = 0; k < 6; ++k) {
        float twice;
        i = kc_pairs[k][0];
        j = kc_pairs[k][1];
        twice = kc_times(d[j], s[i][i]) + kc_times(d[i], s[i][j] + s[j][i]) + kc_times(n[i] * d[i], d[j]);
        m.mixed[k] += kc_times(2.0f, twice) + kc_times(n[j] * d[i], d[i]);
    }
    for (k = 0; k < 3; ++k) {
        const int *c = cycles[k];
        around[k] = kc_times(d[c[2]], s[c[0]][c[1]] + s[c[1]][c[0]]) + kc_times(n[c[2]] * d[c[0]], d[c[1]]);
    }
    m.permuted += kc_times(2.0f, around[0] + around[1] + around[2]);
    return m;
}

/* The moments of both, about their common centroid. */
static inline kc_solid_angle kc_moments_union(const kc_solid_angle *left, const kc_solid_angle *right)
{
    kc_solid_angle m, a, b;
    kc_box box = kc_no_box();
    int k;
    memset(&m, 0, sizeof m);
    kc_box_with(&box, left->lower, left->upper);
    kc_box_with(&box, right->lower, right->upper);
    memcpy(m.lower, box.lower, sizeof m.lower);
    memcpy(m.upper, box.upper, sizeof m.upper);
    m.area = left->area + right->area;
    for (k = 0; k < 3; ++k) {
        m.area_p[k] = left->area_p[k] + right->area_p[k];
        m.centroid[k] = m.area > 0 ? m.area_p[k] / m.area : 0.5f * (m.lower[k] + m.upper[k]);
    }
    a = kc_moments_about(left, m.centroid);
    b = kc_moments_about(right, m.centroid);
    for (k = 0; k < 3; ++k) {
        m.normal[k] = a.normal[k] + b.normal[k];
        m.second_diagonal[k] = a.second_diagonal[k] + b.second_diagonal[k];
        m.cubes[k] = a.cubes[k] + b.cubes[k];
    }
    for (k = 0; k < 6; ++k) {
        m.mixed[k] = a.mixed[k] + b.mixed[k];
        m.second[k] = a.second[k] + b.second[k];
    }
    m.permuted = a.permuted + b.permuted;
    return m;
}

static inline void kc_set_farthest(kc_solid_angle *m)
{
    float farthest[3];
    int k;
    for (k = 0; k < 3; ++k) {
        const float below = m->centroid[k] - m->lower[k], above = m->upper[k] - m->centroid[k];
        farthest[k] = below > above ? below : above;
    }
    m->max_distance_squared = kc_square(farthest);
}

static inline void kc_fit_solid_angles(kc_mesh *mesh)
{
    const uint32_t leaf_bit = UINT32_C(1) << 31;
    const kc_bvh *tree = &mesh->bvh;
    int32_t n;
    int inner;
    for (inner = 0; mesh->solid_angle && inner < 2; ++inner)
        for (n = tree->num_nodes - 1; n >= 0; --n) {
            const uint32_t lower = tree->node_lowers[n].bits, upper = tree->node_uppers[n].bits;
            kc_solid_angle *const m = &mesh->solid_angle[n];
            if (!(lower & leaf_bit) != (inner == 1)) continue;
            if (inner) {
                *m = kc_moments_union(&mesh->solid_angle[lower], &mesh->solid_angle[upper]);
            } else {
                uint32_t k = lower & ~leaf_bit;
                *m = kc_moments_of(mesh, (size_t)tree->primitive_indices[k]);
                while (++k < upper) {
                    const kc_solid_angle one = kc_moments_of(mesh, (size_t)tree->primitive_indices[k]);
                    *m = kc_moments_union(m, &one);
                }
            }
            kc_set_farthest(m);
        }
}

static inline void kc_mesh_free(kc_mesh *mesh)
{
    free(mesh->lowers);
    free(mesh->solid_angle);
    free(mesh->bvh.root);
    memset(mesh, 0, sizeof *mesh);
}

/* Builds a mesh of points, with three numbers each, and faces, with three indices each; `points` and `indices` count them all. Points that
 * no face uses may be anything, and there may be no faces. */
static inline kc_engine_error kc_mesh_build(kc_mesh *out, const float *points, size_t point_count, const int32_t *indices, size_t index_count,
                                            const kc_mesh_options *options)
{
    const kc_mesh_options usual = {NULL, NULL, 0, false, false};
    const size_t faces = index_count / 3;
    int64_t length;
    kc_engine_error error;
    if (!options) options = &usual;
    memset(out, 0, sizeof *out);
    if (options->leaf_size < 0) return KC_ENGINE_LEAF_SIZE;
    if (index_count % 3 != 0) return KC_ENGINE_INDEX_COUNT;
    if (point_count > INT32_MAX || index_count > INT32_MAX || faces > INT32_MAX / 2) return KC_ENGINE_TOO_MANY;
    if ((point_count > 0 && !points) || (index_count > 0 && !indices)) return KC_ENGINE_NULL;
    length = (int64_t)point_count;
    kc_array_of(&out->points, points, 12, 1, &length);
    kc_array_of(&out->velocities, options->velocities, 12, 1, &length);
    if (!options->velocities) out->velocities.shape[0] = out->velocities.strides[0] = 0;
    length = (int64_t)index_count;
    kc_array_of(&out->indices, indices, 4, 1, &length);
    out->num_points = (int32_t)point_count;
    out->num_tris = (int32_t)faces;
    if (faces > 0) {
        out->lowers = (float *)malloc(6 * faces * sizeof(float));
        if (!out->lowers) {
            kc_mesh_free(out);
            return KC_ENGINE_MEMORY;
        }
        out->uppers = out->lowers + 3 * faces;
    }
    error = kc_measure_faces(out);
    out->bvh.item_lowers = out->lowers;
    out->bvh.item_uppers = out->uppers;
    out->bvh.item_groups = options->groups;
    out->bvh.num_items = (int32_t)faces;
    out->bvh.leaf_size = options->leaf_size > 0 ? options->leaf_size : 4;
    out->bvh.constructor = options->median;
    if (!error) error = kc_grow_tree(&out->bvh, options->median);
    if (!error && options->winding_numbers && faces > 0) {
        out->solid_angle = (kc_solid_angle *)malloc((size_t)out->bvh.num_nodes * sizeof(kc_solid_angle));
        if (!out->solid_angle) error = KC_ENGINE_MEMORY;
    }
    if (error)
        kc_mesh_free(out);
    else
        kc_fit_solid_angles(out);
    return error;
}

/* Fits the tree to points that moved. On an error the tree is as it was. */
static inline kc_engine_error kc_mesh_refit(kc_mesh *mesh)
{
    const kc_engine_error error = kc_measure_faces(mesh);
    if (error) return error;
    kc_fit_nodes(&mesh->bvh);
    kc_fit_solid_angles(mesh);
    return KC_ENGINE_OK;
}
