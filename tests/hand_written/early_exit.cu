extern "C" __global__ void early_exit(
    const float *__restrict__ x, float limit, int n, float *__restrict__ y, int threads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= threads) return;
    if (x[i] < 0.0f) {
        y[i] = -1.0f;
        return;
    }
    float total = 0.0f;
    for (int k = 0; k < n; ++k) {
        float v = x[i] * k;
        if (v < 1.0f) continue;
        total += v;
        if (total > limit) break;
    }
    y[i] = total;
}

// The adjoint.
extern "C" __global__ void early_exit_backward(
    const float *__restrict__ x, float limit, int n, float *__restrict__ adj_x, float *__restrict__ adj_y,
    int threads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= threads) return;
    float g = adj_y[i];
    adj_y[i] = 0.0f;
    if (x[i] < 0.0f) return;
    float total = 0.0f;
    float slope = 0.0f;
    for (int k = 0; k < n; ++k) {
        float v = x[i] * k;
        if (v < 1.0f) continue;
        total += v;
        slope += k;
        if (total > limit) break;
    }
    adj_x[i] += g * slope;
}
