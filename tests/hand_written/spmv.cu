extern "C" __global__ void spmv(
    const int *__restrict__ rows, const int *__restrict__ columns, const float *__restrict__ values,
    const float *__restrict__ x, float *__restrict__ y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0.0f;
    for (int k = rows[i]; k < rows[i + 1]; ++k) {
        total += values[k] * x[columns[k]];
    }
    y[i] = total;
}

// The adjoint.
extern "C" __global__ void spmv_backward(
    const int *__restrict__ rows, const int *__restrict__ columns, const float *__restrict__ values,
    const float *__restrict__ x, float *__restrict__ adj_values, float *__restrict__ adj_x,
    float *__restrict__ adj_y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = adj_y[i];
    adj_y[i] = 0.0f;
    for (int k = rows[i]; k < rows[i + 1]; ++k) {
        int j = columns[k];
        atomicAdd(&adj_x[j], g * values[k]);
        atomicAdd(&adj_values[k], g * x[j]);
    }
}
