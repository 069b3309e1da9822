extern "C" __global__ void row_max(const float *__restrict__ x, int x_cols, float *__restrict__ y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float m = x[i * x_cols];
    for (int j = 1; j < x_cols; ++j) {
        m = fmaxf(m, x[i * x_cols + j]);
    }
    y[i] = m;
}

// The adjoint.
extern "C" __global__ void row_max_backward(
    const float *__restrict__ x, int x_cols, float *__restrict__ adj_x, float *__restrict__ adj_y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = adj_y[i];
    adj_y[i] = 0.0f;
    int best = 0;
    float m = x[i * x_cols];
    for (int j = 1; j < x_cols; ++j) {
        if (x[i * x_cols + j] > m) {
            m = x[i * x_cols + j];
            best = j;
        }
    }
    adj_x[i * x_cols + best] += g;
}
