/* What can't be built, and why. */

#include "kernels.h"

static void said(const char *what, kc_engine_error error) { printf("%s: %s\n", what, kc_engine_error_text(error)); }

int main(void)
{
    const float points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, broken[] = {0, 0, 0, 1, 0, 0, 0, NAN, 0}, endless[] = {0, 0, HUGE_VALF};
    const int32_t face[] = {0, 1, 2}, beyond[] = {0, 1, 3}, negative[] = {0, -1, 2}, unused[] = {0, 1, 1};
    const kc_mesh_options leaves = {NULL, NULL, -1, false, false};
    const unsigned char texels[16] = {0}, file[16] = {'N', 'a', 'n', 'o', 'V', 'D', 'B', '2', 0, 0, 0, 4, 1, 0, 1, 0};
    kc_texture_form form = kc_texture_form_of(2, 2, 2, 1, 4, KC_U8);
    kc_mesh mesh;
    kc_bvh tree;
    kc_hash_grid grid;
    kc_volume volume;
    kc_texture texture;
    float moving[9];
    said("two indices", kc_mesh_build(&mesh, points, 3, face, 2, NULL));
    said("a point behind", kc_mesh_build(&mesh, points, 3, beyond, 3, NULL));
    said("a point before", kc_mesh_build(&mesh, points, 3, negative, 3, NULL));
    said("NaN", kc_mesh_build(&mesh, broken, 3, face, 3, NULL));
    said("unused NaN", kc_mesh_build(&mesh, broken, 3, unused, 3, NULL));
    kc_mesh_free(&mesh);
    said("leaves", kc_mesh_build(&mesh, points, 3, face, 3, &leaves));
    said("no points", kc_mesh_build(&mesh, NULL, 3, face, 3, NULL));
    said("many", kc_mesh_build(&mesh, points, 3, face, (size_t)3 << 31, NULL));
    memcpy(moving, points, sizeof moving);
    said("a mesh", kc_mesh_build(&mesh, moving, 3, face, 3, NULL));
    moving[4] = NAN;
    said("refit", kc_mesh_refit(&mesh));
    printf("%g\n", (double)mesh.bvh.node_uppers[0].corner[0]);
    kc_mesh_free(&mesh);
    said("an endless box", kc_bvh_build(&tree, points, endless, 1, NULL));
    said("no cells", kc_hash_grid_new(&grid, 1, 0, 1));
    said("cells", kc_hash_grid_new(&grid, 2000, 2000, 2000));
    said("not made", kc_hash_grid_build(&grid, points, 3, 1, NULL));
    said("a grid", kc_hash_grid_new(&grid, 2, 2, 2));
    said("width 0", kc_hash_grid_build(&grid, points, 3, 0, NULL));
    said("tiny", kc_hash_grid_build(&grid, points, 3, 1e-42f, NULL));
    said("narrow", kc_hash_grid_build_f16(&grid, NULL, 0, 1e-9, NULL));
    kc_hash_grid_free(&grid);
    said("no bytes", kc_volume_from_memory(&volume, NULL, 0, NULL));
    said("text", kc_volume_from_memory(&volume, "a text that is no volume", 24, NULL));
    said("zip", kc_volume_from_memory(&volume, file, sizeof file, NULL));
    said("a texture", kc_texture_build(&texture, &form, texels, sizeof texels));
    kc_texture_free(&texture);
    said("bytes", kc_texture_build(&texture, &form, texels, 15));
    form.levels = 3;
    said("levels", kc_texture_build(&texture, &form, texels, sizeof texels));
    form.extents[1] = 0;
    said("size", kc_texture_build(&texture, &form, texels, 0));
    form = kc_texture_form_of(1, 4, 1, 1, 3, KC_U8);
    said("channels", kc_texture_build(&texture, &form, texels, 12));
    form = kc_texture_form_of(1, 4, 1, 1, 1, KC_U32);
    form.filter = KC_LINEAR;
    said("mixture", kc_texture_build(&texture, &form, texels, 16));
    form.filter = 2;
    said("filter", kc_texture_build(&texture, &form, texels, 16));
    return 0;
}
