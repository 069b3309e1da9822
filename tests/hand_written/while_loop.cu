extern "C" __global__ void while_loop(const float *__restrict__ x, float *__restrict__ y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i];
    float r = 1.0f;
    while (fabsf(r * r - a) > 1.0e-5f) {
        r = 0.5f * (r + a / r);
    }
    y[i] = r;
}
