// A loop of a game: kernels of two files, fixed steps of time, and buffers that are swapped.
#include <cmath>
#include <cstdio>
#include <utility>

#include "flock.h"
#include "ground.h"

struct vec3 {
    float x, y, z;
};

int main()
{
    const size_t birds = 500;
    std::vector<vec3> at(birds), velocity(birds), next_at(birds), next_velocity(birds);
    for (size_t n = 0; n < birds; ++n) {
        const float turn = 0.1f * static_cast<float>(n);
        at[n] = {8.0f * std::cos(turn), 2.0f + std::sin(3.0f * turn), 8.0f * std::sin(turn)};
        velocity[n] = {-std::sin(turn), -1.0f, std::cos(turn)};
    }
    std::vector<int32_t> touched(1);
    const flock::Rules rules = {2.0f, 1.0f, 0.2f, 3.0f};
    const float dt = 1.0f / 60.0f;
    for (int frame = 0; frame < 180; ++frame) {
        const flock::step_args fly = {at, velocity, rules, dt, next_at, next_velocity};
        kc::launch(flock::step_cpu_launch, {birds}, fly);
        std::swap(at, next_at);
        std::swap(velocity, next_velocity);
        const ground::land_args land = {at, velocity, touched};
        kc::launch(ground::land_cpu_launch, {birds}, land);
    }
    float low = 1e9f, fast = 0.0f;
    for (size_t n = 0; n < birds; ++n) {
        low = std::fmin(low, at[n].y);
        fast = std::fmax(fast, std::hypot(velocity[n].x, std::hypot(velocity[n].y, velocity[n].z)));
    }
    std::printf("touched %d, lowest %.3f, fastest %.3f\n", touched[0] > 0, low, fast);

    // One thread too many: checked objects say where, others are not asked.
    kc_status status = {};
    if (sizeof flock::flock_sites / sizeof(kc_site) > 1) {
        const flock::step_args fly = {at, velocity, rules, dt, next_at, next_velocity};
        kc::launch(flock::step_cpu_launch, {birds + 1}, fly, &status);
    }
    try {
        kc::check(status, flock::flock_sites);
        std::puts("no report");
    } catch (const std::runtime_error &error) {
        std::puts(error.what());
    }
}
