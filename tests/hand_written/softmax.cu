extern "C" __global__ void softmax(const float *__restrict__ x, int x_cols, float *__restrict__ y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float m = -1.0e30f;
    for (int j = 0; j < x_cols; ++j) {
        m = fmaxf(m, x[i * x_cols + j]);
    }
    float total = 0.0f;
    for (int j = 0; j < x_cols; ++j) {
        total += expf(x[i * x_cols + j] - m);
    }
    for (int j = 0; j < x_cols; ++j) {
        y[i * x_cols + j] = expf(x[i * x_cols + j] - m) / total;
    }
}

// The adjoint.
extern "C" __global__ void softmax_backward(
    const float *__restrict__ x, int x_cols, float *__restrict__ adj_x, float *__restrict__ adj_y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float m = -1.0e30f;
    for (int j = 0; j < x_cols; ++j) {
        m = fmaxf(m, x[i * x_cols + j]);
    }
    float total = 0.0f;
    float mean = 0.0f;
    for (int j = 0; j < x_cols; ++j) {
        float e = expf(x[i * x_cols + j] - m);
        total += e;
        mean += e * adj_y[i * x_cols + j];
    }
    mean /= total;
    for (int j = 0; j < x_cols; ++j) {
        float g = adj_y[i * x_cols + j] - mean;
        adj_y[i * x_cols + j] = 0.0f;
        adj_x[i * x_cols + j] += expf(x[i * x_cols + j] - m) / total * g;
    }
}
