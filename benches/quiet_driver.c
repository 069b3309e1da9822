// What does a launch cost without the driver? This library stands before a driver and hands every
// call on, until `quiet(1)`: then what launches and small questions ask for is not done, and takes
// no time. `calls()` says how many there were, and `waits()` how often the host waited.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef int Result;
typedef void *Handle;
typedef unsigned long long Address;

static int is_quiet;
static long counted, waited;

void quiet(int on) { is_quiet = on; }
long calls(void) { return counted; }
long waits(void) { return waited; }

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

#define WAITS(name, params, args)                                                                   \
    Result name params {                                                                            \
        static Result(*own) params;                                                                 \
        waited++;                                                                                   \
        return OWN(#name) args;                                                                     \
    }

WAITS(cuCtxSynchronize, (void), ())
WAITS(cuStreamSynchronize, (Handle stream), (stream))
WAITS(cuEventSynchronize, (Handle event), (event))
WAITS(cuMemcpyDtoH_v2, (void *to, Address from, size_t bytes), (to, from, bytes))
WAITS(cuMemcpyHtoD_v2, (Address to, const void *from, size_t bytes), (to, from, bytes))
WAITS(cuMemcpyDtoHAsync_v2, (void *to, Address from, size_t bytes, Handle stream), (to, from, bytes, stream))
WAITS(cuMemcpyHtoDAsync_v2, (Address to, const void *from, size_t bytes, Handle stream), (to, from, bytes, stream))
WAITS(cuMemAlloc_v2, (Address *at, size_t bytes), (at, bytes))
WAITS(cuMemFree_v2, (Address at), (at))
