// What does a launch cost without the driver? This library stands before a driver and hands every
// call on, until `quiet(1)`: then what launches and small questions ask for is not done, and takes
// no time. `calls()` says how many there were.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef int Result;
typedef void *Handle;
typedef unsigned long long Address;

static int is_quiet;
static long counted;

void quiet(int on) { is_quiet = on; }
long calls(void) { return counted; }

// The driver's own function, which is next in the order of libraries.
#define OWN(name) (own ? own : (own = (__typeof__(own))dlsym(RTLD_NEXT, name)))

#define QUIET(name, params, args, nothing)                                                          \
    Result name params {                                                                            \
        static Result(*own) params;                                                                 \
        if (is_quiet) {                                                                             \
            counted++;                                                                              \
            nothing;                                                                                \
            return 0;                                                                               \
        }                                                                                           \
        return OWN(#name) args;                                                                     \
    }

static Handle current;

Result cuCtxGetCurrent(Handle *context) {
    static Result (*own)(Handle *);
    if (is_quiet) {
        counted++;
        *context = current;
        return 0;
    }
    Result result = OWN("cuCtxGetCurrent")(context);
    current = *context;
    return result;
}

Result cuCtxSetCurrent(Handle context) {
    static Result (*own)(Handle);
    current = context;
    if (is_quiet) {
        counted++;
        return 0;
    }
    return OWN("cuCtxSetCurrent")(context);
}

QUIET(cuLaunchKernel,
      (Handle f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared, Handle stream,
       void **params, void **extra),
      (f, a, b, c, d, e, g, shared, stream, params, extra), )
QUIET(cuStreamIsCapturing, (Handle stream, int *status), (stream, status), *status = 0)
QUIET(cuMemsetD8Async, (Address at, unsigned char value, size_t count, Handle stream), (at, value, count, stream), )
QUIET(cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, Handle stream), (to, from, bytes, stream), )
QUIET(cuEventRecord, (Handle event, Handle stream), (event, stream), )
QUIET(cuStreamWaitEvent, (Handle stream, Handle event, unsigned flags), (stream, event, flags), )
