// Kernels of wave2d.py in a C++ program: forward on all cores, a gradient, and an error that says its place.
#include <cstdio>

#include "wave2d.h"

int main()
{
    const int n = 200;
    std::vector<float> now(n * n), before(n * n);
    now[100 * n + 100] = before[100 * n + 100] = 1.0f;
    for (int turn = 0; turn < 10; ++turn) {
        wave2d::step_args args = {kc::array(now.data(), {n, n}), kc::array(before.data(), {n, n}), 0.25f, 0.0f};
        kc::launch(wave2d::step_cpu_launch, {n, n}, args);
        now.swap(before);
    }
    double sum = 0.0;
    for (float height : now) sum += height;
    std::printf("sum %.6f, in the middle %.6f\n", sum, now[100 * n + 100]);

    // The gradient of the sum of what one more step writes, in `before`.
    std::vector<float> adj_now(n * n), adj_before(n * n, 1.0f);
    wave2d::step_backward_args back = {};
    back.now = kc::array(now.data(), {n, n});
    back.before = kc::array(before.data(), {n, n});
    back.courant = 0.25f;
    back.adj_now = kc::array(adj_now.data(), {n, n});
    back.adj_before = kc::array(adj_before.data(), {n, n});
    kc::launch(wave2d::step_backward_cpu_launch, {n, n}, back);
    std::printf("gradient %.6f, %.6f\n", adj_now[100 * n + 100], adj_before[100 * n + 100]);

    // With `--checked`, what goes wrong is reported; the table of the header knows where it is.
    kc_status status = {};
    wave2d::step_args short_one = {kc::array(now.data(), {n, n}), kc::array(before.data(), {n - 1, n}), 0.25f, 0.0f};
    kc::launch(wave2d::step_cpu_launch, {n, n}, short_one, &status, 1);
    try {
        kc::check(status, wave2d::wave2d_sites);
        std::printf("compiled without --checked\n");
    } catch (const std::runtime_error &error) {
        std::printf("%s\n", error.what());
    }
    return 0;
}
