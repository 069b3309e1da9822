/* Kernels of wave2d.py in a C program, on the threads of OpenMP: any other way to call a function `count` times does as well. */
#include <stdio.h>
#include <stdlib.h>

#include "wave2d.h"

static void on_openmp(void *user, uint64_t count, kc_piece piece, const kc_job *job)
{
    (void)user;
#pragma omp parallel for schedule(dynamic)
    for (int64_t n = 0; n < (int64_t)count; ++n) piece(job, (uint64_t)n);
}

int main(void)
{
    const int64_t shape[] = {200, 200};
    const size_t count = 200 * 200, middle = 100 * 200 + 100;
    float *now = calloc(count, sizeof *now), *before = calloc(count, sizeof *before);
    kc_launch_bounds launch;
    double sum = 0.0;
    if (!now || !before || !kc_launch_of(&launch, 2, shape)) return 1;
    now[middle] = before[middle] = 1.0f;
    for (int turn = 0; turn < 10; ++turn) {
        step_args args = {.courant = 0.25f};
        if (!kc_array_of(&args.now, now, sizeof *now, 2, shape)) return 1;
        if (!kc_array_of(&args.before, before, sizeof *before, 2, shape)) return 1;
        step_cpu_launch(&launch, &args, NULL, 4, on_openmp, NULL);
        float *other = now;
        now = before;
        before = other;
    }
    for (size_t n = 0; n < count; ++n) sum += now[n];
    printf("sum %.6f, in the middle %.6f\n", sum, now[middle]);

    const int64_t fewer[] = {199, 200};
    kc_status status = {0};
    step_args args = {.courant = 0.25f};
    char text[200];
    if (!kc_array_of(&args.now, now, sizeof *now, 2, shape)) return 1;
    if (!kc_array_of(&args.before, before, sizeof *before, 2, fewer)) return 1;
    step_cpu_launch(&launch, &args, &status, 1, NULL, NULL);
    if (kc_status_text(text, sizeof text, &status, wave2d_sites, sizeof wave2d_sites / sizeof *wave2d_sites) == 0)
        return 1;
    puts(text);
    free(now);
    free(before);
    return 0;
}
