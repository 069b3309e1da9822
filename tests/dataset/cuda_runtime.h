// Lets a C++ compiler for the host build and run a stand-alone CUDA file: the GPU's memory is the host's, and a launch is a call,
// in which one thread does the whole grid-stride loop. For tests alone.
#pragma once
#include <initializer_list>
#include <vector>
#include "../common/host_shim.h"

// Newton's method, which stands still after a few turns.
static double erfinv(double y)
{
    double x = 0.0;
    for (int n = 0; n < 60 && std::fabs(y) < 1.0; ++n)
        x -= (std::erf(x) - y) * 0.886226925452758 * std::exp((x * x < 30.0 ? x * x : 30.0));
    return std::fabs(y) < 1.0 ? x : y / 0.0;
}
static double erfcinv(double y) { return erfinv(1.0 - y); }
static float erfinvf(float y) { return (float)erfinv(y); }
static float erfcinvf(float y) { return (float)erfcinv(y); }

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
static const char *cudaGetErrorString(cudaError_t) { return "out of memory"; }
static cudaError_t cudaMalloc(void **data, size_t bytes)
{
    *data = std::malloc(bytes);
    return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}
static cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
static cudaError_t cudaGetLastError() { return cudaSuccess; }
static cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
