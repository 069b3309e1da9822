extern "C" __global__ void stencil(
    const float *__restrict__ u, int u_rows, int u_cols, float *__restrict__ out, float c, int rows, int cols)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols) return;
    int at = i * u_cols + j;
    if (i > 0 && i < u_rows - 1 && j > 0 && j < u_cols - 1) {
        float around = u[at - u_cols] + u[at + u_cols] + u[at - 1] + u[at + 1];
        out[at] = u[at] + c * (around - 4.0f * u[at]);
    } else {
        out[at] = u[at];
    }
}

// The adjoint.
extern "C" __global__ void stencil_backward(
    int u_rows, int u_cols, float c, float *__restrict__ adj_u, float *__restrict__ adj_out, int rows, int cols)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols) return;
    int at = i * u_cols + j;
    float g = adj_out[at];
    adj_out[at] = 0.0f;
    if (i > 0 && i < u_rows - 1 && j > 0 && j < u_cols - 1) {
        atomicAdd(&adj_u[at], g * (1.0f - 4.0f * c));
        atomicAdd(&adj_u[at - u_cols], g * c);
        atomicAdd(&adj_u[at + u_cols], g * c);
        atomicAdd(&adj_u[at - 1], g * c);
        atomicAdd(&adj_u[at + 1], g * c);
    } else {
        atomicAdd(&adj_u[at], g);
    }
}
