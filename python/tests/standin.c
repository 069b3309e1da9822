/* A stand-in for the NVIDIA driver for which all memory is a GPU's: so tests take arrays of NumPy and tensors of PyTorch for
 * those of a GPU (`standin.py`). What runs a kernel's PTX without a GPU is the simulated driver (`libcuda/`).
 *
 * It does what kc may rely on by the CUDA driver API manual: contexts, modules, memory and events are counted and must be
 * released; device memory is memory of its own; the parameters of a launch are read by the `.param` lines of the PTX. A
 * launch then calls the host entry of the same kernel: for `K_cuda_kernel_forward` the function `K_cpu_kernel_forward` of
 * a shared library in FOLDER, which a test makes from C code. So names, parameters, copies and errors are tested; what
 * the instructions of the PTX do is not.
 *
 *     STANDIN_HOST=FOLDER     shared libraries with the host entries; without it launches do nothing
 *     STANDIN_FAIL=NAME:CODE  the driver's function NAME returns CODE (a CUresult)
 *     STANDIN_MEMORY=BYTES    what the device has; an allocation beyond it fails with CUDA_ERROR_OUT_OF_MEMORY
 *     STANDIN_LOG=FILE        appended to at the end of the process: what was used, and what was not released
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int Result;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500, INVALID_PTX = 218, ILLEGAL_ADDRESS = 700, ASSERT = 710 };

static struct { long contexts, modules, events, blocks, launches; uint64_t bytes, peak, stream, shared, grid, block; } live;
static Result broken; /* An error of a kernel stays: every later call returns it (manual: "sticky" errors). */

static Result enter(const char *name) {
    const char *fail = getenv("STANDIN_FAIL");
    size_t n = strlen(name);
    if (fail && !strncmp(fail, name, n) && fail[n] == ':') return atoi(fail + n + 1);
    return broken;
}
#define ENTER do { Result r = enter(__func__); if (r) return r; } while (0)

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("STANDIN_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "launches=%ld peak=%llu stream=%llu shared=%llu grid=%llu block=%llu left: contexts=%ld modules=%ld events=%ld blocks=%ld\n", live.launches,
            (unsigned long long)live.peak, (unsigned long long)live.stream, (unsigned long long)live.shared,
            (unsigned long long)live.grid, (unsigned long long)live.block, live.contexts, live.modules, live.events, live.blocks);
    fclose(file);
}

Result cuInit(unsigned flags) { ENTER; return flags ? INVALID_VALUE : SUCCESS; }
Result cuDriverGetVersion(int *version) { ENTER; *version = 13000; return SUCCESS; }
Result cuDeviceGetCount(int *count) { ENTER; *count = 1; return SUCCESS; }
Result cuDeviceGet(int *device, int ordinal) { ENTER; *device = 0; return ordinal ? 101 : SUCCESS; }
Result cuDeviceGetName(char *name, int len, int device) { ENTER; snprintf(name, len, "stand-in (no GPU)"); return SUCCESS; }
static uint64_t memory(void) { const char *m = getenv("STANDIN_MEMORY"); return m ? strtoull(m, NULL, 10) : 8ull << 30; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { ENTER; *bytes = memory(); return SUCCESS; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : 0; /* capability 9.0, 132 multiprocessors */
    return SUCCESS;
}
Result cuDevicePrimaryCtxRetain(void **context, int device) { ENTER; *context = &live; live.contexts++; return SUCCESS; }
Result cuDevicePrimaryCtxRelease_v2(int device) { live.contexts--; return broken; }
static void *current;
Result cuCtxSetCurrent(void *context) { ENTER; current = context; return SUCCESS; }
Result cuCtxGetCurrent(void **context) { ENTER; *context = current; return SUCCESS; }
Result cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    ENTER;
    if (attribute != 9) return INVALID_VALUE; /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */
    *(int *)value = 0;
    return SUCCESS;
}
Result cuCtxSynchronize(void) { ENTER; return SUCCESS; }

Result cuMemAlloc_v2(uint64_t *address, size_t size) {
    ENTER;
    if (!size) return INVALID_VALUE;
    if (size > memory() - live.bytes) return OUT_OF_MEMORY;
    uint64_t *block = malloc(size + 16);
    if (!block) return OUT_OF_MEMORY;
    block[0] = size;
    memset(block + 2, 0xcd, size); /* Nobody may rely on zeros. */
    live.bytes += size, live.blocks++;
    if (live.bytes > live.peak) live.peak = live.bytes;
    *address = (uint64_t)(block + 2);
    return SUCCESS;
}
Result cuMemFree_v2(uint64_t address) {
    uint64_t *block = (uint64_t *)address - 2;
    live.bytes -= block[0], live.blocks--;
    free(block);
    return broken;
}
Result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) { ENTER; memcpy((void *)to, from, size); return SUCCESS; }
Result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { ENTER; memcpy(to, (void *)from, size); return SUCCESS; }

Result cuEventCreate(struct timespec **event, unsigned flags) { ENTER; *event = calloc(1, sizeof **event); live.events++; return SUCCESS; }
Result cuEventRecord(struct timespec *event, void *stream) { ENTER; clock_gettime(CLOCK_MONOTONIC, event); return SUCCESS; }
Result cuEventDestroy_v2(struct timespec *event) { live.events--; free(event); return broken; }
Result cuEventElapsedTime(float *ms, struct timespec *a, struct timespec *b) {
    ENTER;
    *ms = (b->tv_sec - a->tv_sec) * 1e3f + (b->tv_nsec - a->tv_nsec) * 1e-6f;
    return SUCCESS;
}

/* Modules: the text of the PTX; functions: their name and the sizes of their parameters. */

enum { MAX_PARAMS = 256 };
typedef struct { char name[512]; int params; size_t size[MAX_PARAMS], align[MAX_PARAMS]; void *host; unsigned asked; } Function;
typedef struct { char *text; Function *functions[64]; int count; } Module;

Result cuModuleLoadDataEx(Module **module, const char *image, unsigned options, int *keys, void **values) {
    ENTER;
    if (!strstr(image, ".version") || !strstr(image, ".target sm_")) return INVALID_PTX;
    *module = calloc(1, sizeof **module);
    (*module)->text = strdup(image);
    live.modules++;
    return SUCCESS;
}
Result cuModuleUnload(Module *module) {
    for (int i = 0; i < module->count; i++) free(module->functions[i]);
    free(module->text), free(module), live.modules--;
    return broken;
}

/* `.param .align 8 .b8 name[56]`, `.param .u32 name`: up to the `)` that ends the list. */
static int read_params(const char *at, Function *f) {
    const char *end = strchr(at, ')');
    while (end && (at = strstr(at, ".param")) && at < end) {
        size_t align = 0;
        int bits = 0;
        char kind;
        const char *rest = at + 6;
        while (*rest == ' ') rest++;
        if (!strncmp(rest, ".align", 6)) align = strtoul(rest + 6, (char **)&rest, 10);
        if (sscanf(rest, " .%c%d", &kind, &bits) != 2 || f->params == MAX_PARAMS) return 0;
        size_t size = bits / 8;
        const char *bracket = strpbrk(rest, "[,)\n");
        if (bracket && *bracket == '[') size *= strtoul(bracket + 1, NULL, 10);
        f->size[f->params] = size;
        f->align[f->params++] = align ? align : (size_t)bits / 8;
        at = rest;
    }
    return end != NULL;
}

static void *host_entry(const char *name) {
    const char *folder = getenv("STANDIN_HOST"), *kind = strstr(name, "_cuda_kernel_");
    DIR *list = folder && kind ? opendir(folder) : NULL;
    if (!list) return NULL;
    char symbol[1024], path[4096];
    snprintf(symbol, sizeof symbol, "%.*s_cpu_kernel_%s", (int)(kind - name), name, kind + strlen("_cuda_kernel_"));
    void *found = NULL;
    for (struct dirent *entry; !found && (entry = readdir(list));) {
        if (!strstr(entry->d_name, ".so")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        found = library ? dlsym(library, symbol) : NULL;
    }
    closedir(list);
    return found;
}

Result cuModuleGetFunction(Function **function, Module *module, const char *name) {
    ENTER;
    char head[600];
    snprintf(head, sizeof head, ".entry %s(", name);
    const char *at = strstr(module->text, head);
    if (!at || module->count == 64) return NOT_FOUND;
    Function *f = calloc(1, sizeof *f);
    module->functions[module->count++] = f;
    snprintf(f->name, sizeof f->name, "%s", name);
    if (!read_params(at, f)) return INVALID_PTX;
    f->host = host_entry(name);
    if (getenv("STANDIN_HOST") && !f->host) {
        fprintf(stderr, "stand-in driver: no host entry for %s\n", name);
        return NOT_FOUND;
    }
    *function = f;
    return SUCCESS;
}

/* What host entries report (`HostStatus` of kc's ABI). */
typedef struct { uint32_t kind, site, dim; int32_t extent; int64_t index; uint64_t thread; void *print, *user; } Status;
typedef void Host(const void *launch, const void *args, uint64_t begin, uint64_t end, Status *status);
typedef struct { uint32_t shape[4]; uint64_t size; } Launch;

/* Beyond 48 KiB of shared memory a block gets what was asked for before; 8: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. */
Result cuFuncSetAttribute(Function *f, int attribute, int value) {
    ENTER;
    if (attribute != 8 || value < 0 || value > 227 << 10) return INVALID_VALUE;
    f->asked = value;
    return SUCCESS;
}

Result cuFuncGetAttribute(int *value, int attribute, Function *f) {
    ENTER;
    if (!f || attribute < 0) return INVALID_VALUE;
    *value = 0;
    return SUCCESS;
}

/* Nothing is captured here. */
Result cuStreamIsCapturing(void *stream, int *status) {
    ENTER;
    *status = 0;
    return SUCCESS;
}

Result cuLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                      void *stream, void **params, void **extra) {
    ENTER;
    if (!gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024) return INVALID_VALUE;
    if (f->params < 1 || f->size[0] != sizeof(Launch)) return INVALID_VALUE;
    if (shared > 48 << 10 && shared > f->asked) return INVALID_VALUE;
    live.launches++;
    live.shared = shared;
    live.grid = (uint64_t)gx * gy * gz, live.block = (uint64_t)bx * by * bz;
    live.stream = (uint64_t)stream;
    if (!f->host) return SUCCESS;
    /* The parameters after the launch as one C struct, as host entries take them. */
    size_t size = 0;
    for (int i = 1; i < f->params; i++) size = (size + f->align[i] - 1) / f->align[i] * f->align[i] + f->size[i];
    char *args = aligned_alloc(64, (size + 127) / 64 * 64);
    if (!args) return OUT_OF_MEMORY;
    size_t at = 0;
    for (int i = 1; i < f->params; i++) {
        at = (at + f->align[i] - 1) / f->align[i] * f->align[i];
        memcpy(args + at, params[i], f->size[i]);
        at += f->size[i];
    }
    Status status = {0};
    ((Host *)f->host)(params[0], args, 0, ((Launch *)params[0])->size, &status);
    free(args);
    if (status.kind) broken = status.kind == 1 ? ILLEGAL_ADDRESS : ASSERT;
    return SUCCESS; /* Errors of a kernel show at the next call that waits. */
}

Result cuGetErrorName(Result error, const char **text) {
    *text = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == ASSERT ? "CUDA_ERROR_ASSERT" : error == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" : "CUDA_ERROR";
    return SUCCESS;
}
Result cuGetErrorString(Result error, const char **text) { *text = "as the stand-in says"; return SUCCESS; }
