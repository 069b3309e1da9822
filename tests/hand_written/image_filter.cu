static __constant__ const float weights[3] = {0.25f, 0.5f, 0.25f};

extern "C" __global__ void image_filter(
    const float *__restrict__ image, int image_rows, int image_cols, float *__restrict__ out, int out_cols,
    int rows, int cols)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols) return;
    float total = 0.0f;
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            int row = min(max(i + a - 1, 0), image_rows - 1);
            int col = min(max(j + b - 1, 0), image_cols - 1);
            total += weights[a] * weights[b] * image[row * image_cols + col];
        }
    }
    out[i * out_cols + j] = total;
}

// The adjoint.
extern "C" __global__ void image_filter_backward(
    int image_rows, int image_cols, int out_cols, float *__restrict__ adj_image, float *__restrict__ adj_out,
    int rows, int cols)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols) return;
    float g = adj_out[i * out_cols + j];
    adj_out[i * out_cols + j] = 0.0f;
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            int row = min(max(i + a - 1, 0), image_rows - 1);
            int col = min(max(j + b - 1, 0), image_cols - 1);
            atomicAdd(&adj_image[row * image_cols + col], weights[a] * weights[b] * g);
        }
    }
}
