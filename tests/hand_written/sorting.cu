extern "C" __global__ void sorting(
    unsigned *__restrict__ keys, int keys_cols, int *__restrict__ histogram, unsigned shift, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    unsigned *own = &keys[row * keys_cols];
    for (int a = 1; a < keys_cols; ++a) {
        unsigned key = own[a];
        int b = a - 1;
        while (b >= 0 && own[b] > key) {
            own[b + 1] = own[b];
            --b;
        }
        own[b + 1] = key;
    }
    int digit = (own[0] >> shift) & 15;
    atomicAdd(&histogram[digit], 1);
}
