/* Runs every entry of a table with the same arguments wherever it is compiled, and prints what it leaves in memory: `entries.h` has the header of the
 * kernels, and the table, which the test writes from the description. */
#include "entries.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4096, ARRAYS = 48 };

/* Memory of an array, and what it is made of. */
static struct {
    unsigned char *data;
    size_t scalars;
    char scalar;
} memory[ARRAYS];
static int arrays, whole;

static size_t size_of(char scalar)
{
    switch (scalar) {
    case 'd': case 'l': case 'L': return 8;
    case 'f': case 'i': case 'I': return 4;
    case 'e': case 'g': case 'h': case 'H': return 2;
    default: return 1;
    }
}

/* Number n of an argument. Sums of the floats are exact, and integers are indices of most arrays. */
static void put(unsigned char *to, char scalar, size_t n)
{
    const float f = (float)((int)(n * 7 % 13) - 4) * 0.25f;
    const double d = (double)f;
    const int64_t l = (int64_t)(n * 5 % 7);
    const int32_t i = (int32_t)l;
    const int16_t h = (int16_t)l;
    const uint16_t e = (uint16_t)(0x3c00 + n % 7 * 0x80), g = (uint16_t)(0x3f80 + n % 7 * 0x10);
    switch (scalar) {
    case 'f': memcpy(to, &f, 4); break;
    case 'd': memcpy(to, &d, 8); break;
    case 'e': memcpy(to, &e, 2); break;
    case 'g': memcpy(to, &g, 2); break;
    case 'l': case 'L': memcpy(to, &l, 8); break;
    case 'i': case 'I': memcpy(to, &i, 4); break;
    case 'h': case 'H': memcpy(to, &h, 2); break;
    default: *to = scalar == '?' ? (unsigned char)(n & 1) : (unsigned char)l;
    }
}

/* All NaNs are one, whatever the processor puts into them. */
static uint64_t bits(const unsigned char *from, char scalar)
{
    uint64_t l;
    uint32_t i;
    uint16_t h;
    memcpy(&l, from, size_of(scalar) == 8 ? 8 : 0);
    memcpy(&i, from, size_of(scalar) == 4 ? 4 : 0);
    memcpy(&h, from, size_of(scalar) == 2 ? 2 : 0);
    switch (scalar) {
    case 'd': return (l & INT64_MAX) > UINT64_C(0x7ff0000000000000) ? UINT64_MAX : l;
    case 'f': return (i & INT32_MAX) > 0x7f800000 ? UINT64_MAX : i;
    case 'e': return (h & 0x7fff) > 0x7c00 ? UINT64_MAX : h;
    case 'g': return (h & 0x7fff) > 0x7f80 ? UINT64_MAX : h;
    case 'l': case 'L': return l;
    case 'i': case 'I': return i;
    case 'h': case 'H': return h;
    default: return *from;
    }
}

static void print(void *user, const uint8_t *text, uint64_t length)
{
    (void)user;
    fwrite(text, 1, length, stdout);
}

static unsigned char *room(size_t scalars, char scalar, int fill)
{
    size_t n;
    if (arrays == ARRAYS || scalars > MOST) exit(3);
    memory[arrays].data = calloc(scalars, size_of(scalar));
    memory[arrays].scalars = scalars;
    memory[arrays].scalar = scalar;
    if (!memory[arrays].data) exit(3);
    for (n = 0; fill && n < scalars; ++n) put(memory[arrays].data + n * size_of(scalar), scalar, n);
    return memory[arrays++].data;
}

static void run(const struct entry *entry)
{
    static const int64_t shapes[4][4] = {{37}, {9, 8}, {5, 4, 6}, {3, 4, 2, 5}};
    const int64_t *launch_shape = shapes[entry->rank - 1];
    unsigned char *args = calloc(1, entry->size + 64);
    kc_launch_bounds launch;
    kc_status status = {0};
    int n, a;
    arrays = 0;
    if (!args || !kc_launch_of(&launch, entry->rank, launch_shape)) exit(3);
    for (n = 0; n < entry->count; ++n) {
        const struct param *param = &entry->params[n];
        int k;
        if (param->ndim == 0) {
            for (k = 0; k < param->scalars; ++k)
                if (param->role == 'a') put(args + param->offset + (size_t)k * size_of(param->scalar), param->scalar, (size_t)(n + k + 2));
            continue;
        }
        {
            const int64_t *shape = shapes[param->ndim - 1];
            kc_array array;
            size_t scalars = (size_t)param->scalars;
            for (k = 0; k < param->ndim; ++k) scalars *= (size_t)shape[k];
            /* Adjoints stand behind their arrays. */
            if (param->role != 'a') continue;
            if (!kc_array_of(&array, room(scalars, param->scalar, 1), (size_t)param->scalars * size_of(param->scalar), param->ndim, shape)) exit(3);
            if (strchr("fdeg", param->scalar)) array.grad = room(scalars, param->scalar, 1);
            memcpy(args + param->offset, &array, sizeof array);
        }
    }
    status.print = print;
    alarm(1); /* with these arguments some loops have no end */
    entry->call(&launch, args, 0, launch.size, &status);
    printf("%s: status %u %u %llu %lld;", entry->name, status.kind, status.kind ? status.site : 0, (unsigned long long)status.thread,
           (long long)status.index);
    for (a = 0; a < arrays; ++a) {
        /* Where all are asked for, the numbers; else one for them all. */
        uint64_t sum = UINT64_C(0xcbf29ce484222325);
        size_t k;
        printf(" %c", memory[a].scalar);
        for (k = 0; k < memory[a].scalars; ++k) {
            const uint64_t number = bits(memory[a].data + k * size_of(memory[a].scalar), memory[a].scalar);
            sum = (sum ^ number) * UINT64_C(0x100000001b3);
            if (whole) printf(",%llx", (unsigned long long)number);
        }
        if (!whole) printf("%016llx", (unsigned long long)sum);
        free(memory[a].data);
    }
    printf("\n");
    fflush(stdout);
    free(args);
}

int main(int count, char **names)
{
    size_t n;
    (void)names;
    whole = count > 1;
    for (n = 0; n < sizeof entries / sizeof *entries; ++n) {
        const pid_t child = fork();
        int status = 0;
        if (child == 0) {
            run(&entries[n]);
            return 0;
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return 1;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            printf("%s: no end\n", entries[n].name);
        else if (status != 0)
            printf("%s: ends with %d\n", entries[n].name, status);
        fflush(stdout);
    }
    return 0;
}
