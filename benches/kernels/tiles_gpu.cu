// By hand, what `tiles_gpu.py` says with tiles: matrices are dense, sizes are multiples of the tiles.

// 256 threads, each with 4 x 4 elements of the tile of 64 x 64.
extern "C" __global__ void gemm(const float *a, const float *b, float *c, int n, int depth)
{
    __shared__ float x[64][16], y[16][64];
    int row = blockIdx.y * 64, column = blockIdx.x * 64;
    int i = threadIdx.x / 16 * 4, j = threadIdx.x % 16 * 4;
    float total[4][4] = {};
    for (int k = 0; k < depth; k += 16) {
        for (int e = threadIdx.x; e < 1024; e += 256) {
            x[e / 16][e % 16] = a[(row + e / 16) * depth + k + e % 16];
            y[e / 64][e % 64] = b[(k + e / 64) * n + column + e % 64];
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float left[4], right[4];
            for (int m = 0; m < 4; ++m) {
                left[m] = x[i + m][p];
                right[m] = y[p][j + m];
            }
            for (int m = 0; m < 4; ++m) {
                for (int q = 0; q < 4; ++q) total[m][q] = fmaf(left[m], right[q], total[m][q]);
            }
        }
        __syncthreads();
    }
    for (int m = 0; m < 4; ++m) {
        for (int q = 0; q < 4; ++q) c[(row + i + m) * n + column + j + q] = total[m][q];
    }
}

// One block for a row of 1024.
extern "C" __global__ void softmax(const float *a, float *b)
{
    __shared__ float row[1024], parts[32];
    const float *from = a + blockIdx.x * 1024;
    float *to = b + blockIdx.x * 1024;
    float largest = -3.4e38f;
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) {
        row[k] = from[k];
        largest = fmaxf(largest, row[k]);
    }
    for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = largest;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; ++w) largest = fmaxf(largest, parts[w]);
    float sum = 0.0f;
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) {
        row[k] = expf(row[k] - largest);
        sum += row[k];
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) sum += parts[w];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) to[k] = row[k] / sum;
}

// One block for a query, 64 numbers wide; 32 keys at a time.
extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *o, int count)
{
    __shared__ float query[64], keys[32][64], values[32][64], parts[32];
    for (int e = threadIdx.x; e < 64; e += blockDim.x) query[e] = q[blockIdx.x * 64 + e];
    float total = 0.0f, largest = -1.0e30f, weight = 0.0f;
    for (int n = 0; n < count; n += 32) {
        __syncthreads();
        for (int e = threadIdx.x; e < 2048; e += blockDim.x) {
            keys[e / 64][e % 64] = k[n * 64 + e];
            values[e / 64][e % 64] = v[n * 64 + e];
        }
        __syncthreads();
        if (threadIdx.x < 32) {
            float score = 0.0f;
            for (int p = 0; p < 64; ++p) score = fmaf(query[p], keys[threadIdx.x][p], score);
            parts[threadIdx.x] = score * 0.125f;
        }
        __syncthreads();
        float above = largest;
        for (int e = 0; e < 32; ++e) above = fmaxf(above, parts[e]);
        float fade = expf(largest - above), sum = 0.0f, added = 0.0f;
        for (int e = 0; e < 32; ++e) {
            float part = expf(parts[e] - above);
            sum += part;
            if (threadIdx.x < 64) added = fmaf(part, values[e][threadIdx.x], added);
        }
        weight = weight * fade + sum;
        total = total * fade + added;
        largest = above;
    }
    if (threadIdx.x < 64) o[blockIdx.x * 64 + threadIdx.x] = total / weight;
}

// One block for a matrix of 32 x 32.
extern "C" __global__ void cholesky(const float *a, float *l)
{
    __shared__ float matrix[32][32];
    for (int e = threadIdx.x; e < 1024; e += blockDim.x) matrix[e / 32][e % 32] = a[blockIdx.x * 1024 + e];
    __syncthreads();
    for (int j = 0; j < 32; ++j) {
        if (threadIdx.x == 0) {
            float sum = matrix[j][j];
            for (int k = 0; k < j; ++k) sum -= matrix[j][k] * matrix[j][k];
            matrix[j][j] = sqrtf(sum);
        }
        __syncthreads();
        for (int i = j + 1 + threadIdx.x; i < 32; i += blockDim.x) {
            float sum = matrix[i][j];
            for (int k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
            matrix[i][j] = sum / matrix[j][j];
        }
        __syncthreads();
    }
    for (int e = threadIdx.x; e < 1024; e += blockDim.x) {
        l[blockIdx.x * 1024 + e] = e % 32 <= e / 32 ? matrix[e / 32][e % 32] : 0.0f;
    }
}
