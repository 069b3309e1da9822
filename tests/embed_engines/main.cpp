// The classes of C++: the same mesh, tree, grid, volume and texture as main.c builds, and what does not fit throws.

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "kernels.h"

template <class T> static std::vector<T> load(const char *name)
{
    std::ifstream from(name, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(from)), std::istreambuf_iterator<char>());
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
}

template <class T> static void save(const char *name, const std::vector<T> &values)
{
    std::ofstream(name, std::ios::binary).write(reinterpret_cast<const char *>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

using vec3 = std::array<float, 3>;

int main()
{
    using namespace kernels;
    auto points = load<vec3>("points");
    auto faces = load<int32_t>("indices");
    const auto x = load<vec3>("x"), d = load<vec3>("d");
    const auto lowers = load<float>("box_lowers"), uppers = load<float>("box_uppers");
    const size_t n = x.size();
    kc_mesh_options options = {};
    options.winding_numbers = true;
    kc::mesh mesh(points, faces, options);
    std::vector<int32_t> face(n), any(n), count(n), found(8 * n), order(512 * n), nearest(n);
    std::vector<float> sign(n), t(n), density(n);
    std::vector<vec3> near_(n);
    std::vector<std::array<float, 4>> at(n), out(n);
    kc::launch(closest_cpu_launch, {n}, closest_args{mesh.id(), x, 4, face, sign, near_});
    save("cpp.face4", face), save("cpp.sign4", sign), save("cpp.near4", near_);
    kc::launch(rays_cpu_launch, {n}, rays_args{mesh.id(), x, d, face, t, sign, any, count});
    save("cpp.rays", t);
    for (auto &p : points) p = {p[0] + 0.5f * p[1], p[1], 1.25f * p[2]};
    mesh.refit();
    near_.assign(n, vec3{});
    kc::launch(closest_cpu_launch, {n}, closest_args{mesh.id(), x, 0, face, sign, near_});
    save("cpp.moved", near_);
    const kc::bvh tree(lowers, uppers);
    kc::launch(boxes_cpu_launch, {n}, boxes_args{tree.id(), x, d, 0.5f, -1, {found, {n, 8}}});
    save("cpp.found", found);
    kc::hash_grid grid(5, 4, 3);
    grid.build(lowers, 0.5f);
    kc::launch(cells_cpu_launch, {n}, cells_args{grid.id(), x, 0.75f, {order, {n, 512}}});
    save("cpp.order", order);
    const auto file = load<unsigned char>("smoke.nvdb");
    const kc::volume smoke(file), number(file, "number");
    kc::launch(voxels_cpu_launch, {n}, voxels_args{smoke.id(), number.id(), x, density, nearest});
    save("cpp.density", density), save("cpp.nearest", nearest);
    kc_texture_form form = kc_texture_form_of(2, 13, 6, 1, 4, KC_F32);
    form.address[0] = KC_MIRROR;
    form.address[1] = KC_WRAP;
    form.levels = 0;
    const auto texels = load<float>("texels_f32");
    const kc::texture texture(form, texels.data(), texels.size() * sizeof(float));
    for (size_t k = 0; k < n; ++k) at[k] = {x[k][0], x[k][1], x[k][2], 3.5f * static_cast<float>(k) / static_cast<float>(n)};
    kc::launch(sampled2_cpu_launch, {n}, sampled2_args{KC_TEXTURE_2D(texture), at, out});
    save("cpp.sampled", out);
    try {
        std::vector<int32_t> wrong = {0, 1, 1 << 20};
        kc::mesh none(points, wrong);
    } catch (const std::invalid_argument &error) {
        std::puts(error.what());
    }
    try {
        kc::hash_grid none(0, 1, 1);
    } catch (const std::invalid_argument &error) {
        std::puts(error.what());
    }
}
