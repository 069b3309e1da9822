/* Builds each engine of the files in this folder, writes what its structs point to, and what kernels find. */

#include "kernels.h"

enum { QUERIES = 64, MOST = 512 };

typedef struct file {
    void *data;
    size_t size;
} file;

static file read_file(const char *name)
{
    file read = {NULL, 0};
    FILE *from = fopen(name, "rb");
    if (!from) abort();
    fseek(from, 0, SEEK_END);
    read.size = (size_t)ftell(from);
    rewind(from);
    read.data = malloc(read.size + 1);
    if (!read.data || fread(read.data, 1, read.size, from) != read.size) abort();
    fclose(from);
    return read;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *to = fopen(name, "wb");
    if (!to || (size > 0 && fwrite(data, 1, size, to) != size)) abort();
    fclose(to);
}

static void must(kc_engine_error error)
{
    if (!error) return;
    puts(kc_engine_error_text(error));
    exit(1);
}

static void dump_tree(const char *of, const kc_bvh *tree)
{
    const size_t nodes = (size_t)tree->num_nodes;
    const int32_t counts[7] = {tree->max_depth, tree->max_nodes, tree->num_nodes, tree->num_leaf_nodes, *tree->root, tree->leaf_size, tree->constructor};
    char name[64];
    snprintf(name, sizeof name, "%s.lowers", of), write_file(name, tree->node_lowers, nodes * 16);
    snprintf(name, sizeof name, "%s.uppers", of), write_file(name, tree->node_uppers, nodes * 16);
    snprintf(name, sizeof name, "%s.parents", of), write_file(name, tree->parents, nodes * 4);
    snprintf(name, sizeof name, "%s.primitives", of), write_file(name, tree->primitive_indices, (size_t)tree->num_items * 4);
    snprintf(name, sizeof name, "%s.counts", of), write_file(name, counts, sizeof counts);
}

static void dump_mesh(const char *of, const kc_mesh *mesh)
{
    const size_t faces = (size_t)mesh->num_tris;
    char name[64];
    dump_tree(of, &mesh->bvh);
    snprintf(name, sizeof name, "%s.face_lowers", of), write_file(name, mesh->lowers, faces * 12);
    snprintf(name, sizeof name, "%s.face_uppers", of), write_file(name, mesh->uppers, faces * 12);
    snprintf(name, sizeof name, "%s.edge", of), write_file(name, &mesh->average_edge_length, 4);
    snprintf(name, sizeof name, "%s.angles", of), write_file(name, mesh->solid_angle, mesh->solid_angle ? (size_t)mesh->bvh.num_nodes * 144 : 0);
}

static const int64_t queries[] = {QUERIES};
static kc_launch_bounds bounds;
static const float (*x)[3], (*d)[3];

static void run_closest(const char *of, const kc_mesh *mesh)
{
    static int32_t faces[QUERIES];
    static float signs[QUERIES], nears[QUERIES][3];
    int rule;
    char name[64];
    for (rule = 0; rule <= 5; ++rule) {
        closest_args args = {kc_id_of(mesh), closest_x(x, QUERIES), rule, closest_face(faces, QUERIES), closest_sign(signs, QUERIES), closest_near(nears, QUERIES)};
        memset(nears, 0, sizeof nears);
        closest_cpu_launch(&bounds, &args, NULL, 1, NULL, NULL);
        snprintf(name, sizeof name, "%s.face%d", of, rule), write_file(name, faces, sizeof faces);
        snprintf(name, sizeof name, "%s.sign%d", of, rule), write_file(name, signs, sizeof signs);
        snprintf(name, sizeof name, "%s.near%d", of, rule), write_file(name, nears, sizeof nears);
    }
}

static void run_rays(const kc_mesh *mesh)
{
    static int32_t faces[QUERIES], any[QUERIES], count[QUERIES];
    static float t[QUERIES], signs[QUERIES];
    rays_args args = {kc_id_of(mesh), rays_x(x, QUERIES), rays_d(d, QUERIES), rays_face(faces, QUERIES), rays_t(t, QUERIES), rays_sign(signs, QUERIES), rays_any(any, QUERIES), rays_count(count, QUERIES)};
    rays_cpu_launch(&bounds, &args, NULL, 1, NULL, NULL);
    write_file("rays.face", faces, sizeof faces);
    write_file("rays.t", t, sizeof t);
    write_file("rays.count", count, sizeof count);
}

static void run_boxes(const char *name, const kc_bvh *tree, int group)
{
    static int32_t found[QUERIES][8];
    boxes_args args = {kc_id_of(tree), boxes_x(x, QUERIES), boxes_d(d, QUERIES), 0.5f, group, boxes_found(&found[0][0], QUERIES, 8)};
    memset(found, 0, sizeof found);
    boxes_cpu_launch(&bounds, &args, NULL, 1, NULL, NULL);
    write_file(name, found, sizeof found);
}

static void run_cells(const char *of, const kc_hash_grid *grid)
{
    static int32_t order[QUERIES][MOST];
    const size_t points = (size_t)grid->num_points, cells = (size_t)grid->dims[0] * (size_t)grid->dims[1] * (size_t)grid->dims[2];
    cells_args args = {kc_id_of(grid), cells_x(x, QUERIES), 0.75f, cells_order(&order[0][0], QUERIES, MOST)};
    char name[64];
    snprintf(name, sizeof name, "%s.cells", of), write_file(name, grid->point_cells, points * 4);
    snprintf(name, sizeof name, "%s.ids", of), write_file(name, grid->point_ids, points * 4);
    snprintf(name, sizeof name, "%s.keys", of), write_file(name, grid->point_keys, grid->has_groups ? points * 8 : 0);
    snprintf(name, sizeof name, "%s.starts", of), write_file(name, grid->cell_starts, cells * 4);
    snprintf(name, sizeof name, "%s.ends", of), write_file(name, grid->cell_ends, cells * 4);
    snprintf(name, sizeof name, "%s.width", of), write_file(name, &grid->width, sizeof grid->width);
    if (strcmp(of, "grid") != 0) return;
    memset(order, 0, sizeof order);
    cells_cpu_launch(&bounds, &args, NULL, 1, NULL, NULL);
    write_file("grid.order", order, sizeof order);
}

static void run_texture(const char *name, int numbers, int channels, int filter)
{
    static float at[QUERIES][4], out[QUERIES][4];
    const file texels = read_file(name);
    kc_texture_form form = kc_texture_form_of(2, 13, 6, 1, channels, numbers);
    kc_texture texture;
    char path[64];
    int k;
    form.filter = form.level_filter = filter;
    form.address[0] = KC_MIRROR;
    form.address[1] = KC_WRAP;
    form.levels = 0;
    must(kc_texture_build(&texture, &form, texels.data, texels.size));
    for (k = 0; k < QUERIES; ++k) {
        memcpy(at[k], x[k], sizeof x[k]);
        at[k][3] = 3.5f * (float)k / QUERIES;
    }
    {
        sampled2_args args = {KC_TEXTURE_2D(texture), sampled2_x(at, QUERIES), sampled2_out(out, QUERIES)};
        sampled2_cpu_launch(&bounds, &args, NULL, 1, NULL, NULL);
    }
    snprintf(path, sizeof path, "%s.sampled", name), write_file(path, out, sizeof out);
    snprintf(path, sizeof path, "%s.levels", name);
    write_file(path, texture.data, (size_t)texture.offsets[3] + kc_number_bytes(numbers) * (size_t)channels);
    kc_texture_free(&texture);
    free(texels.data);
}

static void run_volume(void)
{
    static float found[QUERIES];
    static int32_t nearest[QUERIES];
    const file bytes = read_file("smoke.nvdb");
    kc_volume density, number;
    must(kc_volume_from_memory(&density, bytes.data, bytes.size, NULL));
    must(kc_volume_from_memory(&number, bytes.data, bytes.size, "number"));
    {
        voxels_args args = {kc_id_of(density.bytes), kc_id_of(number.bytes), voxels_x(x, QUERIES), voxels_found(found, QUERIES), voxels_nearest(nearest, QUERIES)};
        voxels_cpu_launch(&bounds, &args, NULL, 1, NULL, NULL);
    }
    write_file("volume.found", found, sizeof found);
    write_file("volume.nearest", nearest, sizeof nearest);
    kc_volume_free(&density);
    kc_volume_free(&number);
    free(bytes.data);
}

/* Which damaged copies of a file are refused. */
static void damage_volume(void)
{
    const file bytes = read_file("small.nvdb");
    char *verdicts = (char *)malloc(8 * bytes.size);
    size_t at, n = 0;
    int bit;
    if (!verdicts) abort();
    for (at = 0; at < bytes.size; at += at < 1400 ? 1 : 173)
        for (bit = 0; bit < 8; bit += 3) {
            unsigned char *byte = (unsigned char *)bytes.data + at;
            kc_volume volume;
            *byte ^= (unsigned char)(1 << bit);
            verdicts[n++] = kc_volume_from_memory(&volume, bytes.data, bytes.size, NULL) ? '1' : '0';
            *byte ^= (unsigned char)(1 << bit);
            kc_volume_free(&volume);
        }
    for (at = 0; at < bytes.size; at += 97) {
        kc_volume volume;
        void *cut = malloc(at + 1);
        if (!cut) abort();
        memcpy(cut, bytes.data, at);
        verdicts[n++] = kc_volume_from_memory(&volume, cut, at, NULL) ? '1' : '0';
        kc_volume_free(&volume);
        free(cut);
    }
    write_file("damaged", verdicts, n);
    free(verdicts);
    free(bytes.data);
}

int main(void)
{
    const file points = read_file("points"), indices = read_file("indices"), xs = read_file("x"), ds = read_file("d"), groups = read_file("groups"), face_groups = read_file("face_groups"), wide = read_file("wide"), narrow = read_file("narrow");
    const size_t point_count = points.size / 12, index_count = indices.size / 4, boxes = groups.size / 4;
    const file lowers = read_file("box_lowers"), uppers = read_file("box_uppers");
    kc_mesh_options options = {NULL, NULL, 2, false, true};
    kc_bvh_options of_tree = {NULL, 0, false};
    kc_mesh mesh, other;
    kc_bvh tree;
    kc_hash_grid grid;
    float *moving = (float *)points.data;
    size_t k;
    x = (const float (*)[3])xs.data;
    d = (const float (*)[3])ds.data;
    if (!kc_launch_of(&bounds, 1, queries)) return 1;

    must(kc_mesh_build(&mesh, moving, point_count, (const int32_t *)indices.data, index_count, &options));
    dump_mesh("mesh", &mesh);
    run_closest("mesh", &mesh);
    run_rays(&mesh);
    options.median = true;
    options.leaf_size = 0;
    options.groups = (const int32_t *)face_groups.data;
    must(kc_mesh_build(&other, moving, point_count, (const int32_t *)indices.data, index_count, &options));
    dump_mesh("grouped", &other);
    for (k = 0; k < 3 * point_count; k += 3) {
        moving[k] += 0.5f * moving[k + 1];
        moving[k + 2] *= 1.25f;
    }
    must(kc_mesh_refit(&mesh));
    must(kc_mesh_refit(&other));
    dump_mesh("moved", &mesh);
    dump_mesh("grouped_moved", &other);
    run_closest("moved", &mesh);
    kc_mesh_free(&mesh);
    kc_mesh_free(&other);
    must(kc_mesh_build(&mesh, moving, point_count, NULL, 0, NULL));
    run_closest("empty", &mesh);
    kc_mesh_free(&mesh);

    must(kc_bvh_build(&tree, (const float *)lowers.data, (const float *)uppers.data, boxes, NULL));
    dump_tree("tree", &tree);
    run_boxes("tree.found", &tree, -1);
    kc_bvh_free(&tree);
    of_tree.groups = (const int32_t *)groups.data;
    of_tree.leaf_size = 3;
    must(kc_bvh_build(&tree, (const float *)lowers.data, (const float *)uppers.data, boxes, &of_tree));
    dump_tree("groups_tree", &tree);
    run_boxes("groups_tree.found", &tree, 4);
    kc_bvh_free(&tree);

    must(kc_hash_grid_new(&grid, 5, 4, 3));
    must(kc_hash_grid_build(&grid, (const float *)lowers.data, boxes, 0.5f, NULL));
    run_cells("grid", &grid);
    must(kc_hash_grid_build(&grid, (const float *)lowers.data, boxes, 0.3f, (const int32_t *)groups.data));
    run_cells("grid_groups", &grid);
    must(kc_hash_grid_build_f64(&grid, (const double *)wide.data, boxes, 0.3, NULL));
    run_cells("grid_wide", &grid);
    must(kc_hash_grid_build_f16(&grid, (const uint16_t *)narrow.data, boxes, 0.3, NULL));
    run_cells("grid_narrow", &grid);
    kc_hash_grid_free(&grid);

    run_texture("texels_f32", KC_F32, 4, KC_LINEAR);
    run_texture("texels_u8", KC_U8, 2, KC_LINEAR);
    run_texture("texels_f16", KC_F16, 1, KC_LINEAR);
    run_texture("texels_i16", KC_I16, 1, KC_LINEAR);
    run_texture("texels_i32", KC_I32, 1, KC_CLOSEST);
    run_volume();
    damage_volume();
    {
        const file all[] = {points, indices, xs, ds, groups, face_groups, wide, narrow, lowers, uppers};
        for (k = 0; k < sizeof all / sizeof *all; ++k) free(all[k].data);
    }
    return 0;
}
