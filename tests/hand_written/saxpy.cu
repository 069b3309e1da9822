extern "C" __global__ void saxpy(const float *__restrict__ x, float *__restrict__ y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

// The adjoint.
extern "C" __global__ void saxpy_backward(float a, float *__restrict__ adj_x, const float *__restrict__ adj_y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        adj_x[i] += a * adj_y[i];
    }
}
