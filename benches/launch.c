/* Part of `cargo bench --bench launch`: what a launch of the object's entry costs a C program. FMA_DIM threads at most. */
#include "fma.h"
#include <time.h>

enum { ROUNDS = 25, MOST = 1 << 20 };

static float a[MOST], b[MOST], c[MOST], d[MOST];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *x, const void *y)
{
    return (*(const double *)x > *(const double *)y) - (*(const double *)x < *(const double *)y);
}

/* `whole`: arrays and launch are described anew for each launch, which goes through the helper of the header. */
static void row(int64_t dim, int whole)
{
    const int64_t launches = dim < 1000 ? 2000 : 2000000 / dim > 20 ? 2000000 / dim : 20;
    double rounds[ROUNDS];
    int round;
    int64_t n;
    fma_args args = {{0}};
    kc_launch_bounds launch;
    for (round = -1; round < ROUNDS; ++round) {
        const double start = now();
        for (n = 0; n < launches; ++n) {
            kc_status status = {0};
            if (whole || n == 0) {
                kc_array_of(&args.a, a, sizeof *a, 1, &dim);
                kc_array_of(&args.b, b, sizeof *b, 1, &dim);
                kc_array_of(&args.c, c, sizeof *c, 1, &dim);
                kc_array_of(&args.d, d, sizeof *d, 1, &dim);
                kc_launch_of(&launch, 1, &dim);
            }
            if (whole)
                fma_cpu_launch(&launch, &args, &status, 1, NULL, NULL);
            else
                fma_cpu_kernel_forward(&launch, &args, 0, launch.size, &status);
            if (status.kind) exit(1);
        }
        if (round >= 0) rounds[round] = (now() - start) / (double)launches;
    }
    qsort(rounds, ROUNDS, sizeof *rounds, by_size);
    printf("%9lld %19s %11.3f %11.3f\n", (long long)dim, whole ? "C, described anew" : "C, the entry", rounds[0], rounds[ROUNDS / 2]);
}

int main(int count, char **dims)
{
    int n;
    for (n = 0; n < MOST; ++n) a[n] = 2.0f, b[n] = 3.0f, c[n] = 1.0f;
    for (n = 1; n < count; ++n) {
        const int64_t dim = atoll(dims[n]);
        if (dim < 1 || dim > MOST) return 2;
        row(dim, 0);
        row(dim, 1);
        if (d[dim - 1] != 7.0f) return 3;
    }
    return 0;
}
