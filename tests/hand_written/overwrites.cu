extern "C" __global__ void overwrites(float *__restrict__ x, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i] + dt * cosf(x[i]);
        x[i] = v * v;
    }
}
