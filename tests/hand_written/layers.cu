extern "C" __global__ void layers(
    const float *__restrict__ a, int a_extent1, int a_extent2, const float *__restrict__ b, int b_extent1,
    int b_extent2, float *__restrict__ c, int c_extent1, int c_extent2, const float *__restrict__ bias,
    int layers, int rows, int cols)
{
    int layer = blockIdx.z * blockDim.z + threadIdx.z;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (layer >= layers || i >= rows || j >= cols) return;
    const float *row = &a[(layer * a_extent1 + i) * a_extent2];
    float slope = row[j + 1] - row[j];
    float product = slope * b[(layer * b_extent1 + i) * b_extent2 + j];
    c[(layer * c_extent1 + i) * c_extent2 + j] = fmaxf(product + bias[j], 0.0f);
}

// The adjoint.
extern "C" __global__ void layers_backward(
    const float *__restrict__ a, int a_extent1, int a_extent2, const float *__restrict__ b, int b_extent1,
    int b_extent2, int c_extent1, int c_extent2, const float *__restrict__ bias, float *__restrict__ adj_a,
    float *__restrict__ adj_b, float *__restrict__ adj_c, float *__restrict__ adj_bias, int layers, int rows,
    int cols)
{
    int layer = blockIdx.z * blockDim.z + threadIdx.z;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (layer >= layers || i >= rows || j >= cols) return;
    int at = (layer * a_extent1 + i) * a_extent2 + j;
    int b_at = (layer * b_extent1 + i) * b_extent2 + j;
    int c_at = (layer * c_extent1 + i) * c_extent2 + j;
    float slope = a[at + 1] - a[at];
    float g = adj_c[c_at];
    adj_c[c_at] = 0.0f;
    if (slope * b[b_at] + bias[j] < 0.0f) return;
    float adj_slope = g * b[b_at];
    adj_b[b_at] += g * slope;
    atomicAdd(&adj_a[at + 1], adj_slope);
    atomicAdd(&adj_a[at], -adj_slope);
    atomicAdd(&adj_bias[j], g);
}
