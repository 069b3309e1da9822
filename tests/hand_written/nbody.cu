struct vec3 { float x, y, z; };

static __device__ vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static __device__ vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static __device__ vec3 operator*(vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
static __device__ float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

extern "C" __global__ void nbody(
    const vec3 *__restrict__ x, int x_size, const float *__restrict__ mass, vec3 *__restrict__ force, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    vec3 p = x[i];
    vec3 f = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < x_size; ++j) {
        vec3 d = x[j] - p;
        float r2 = dot(d, d) + 0.01f;
        f = f + d * (mass[j] / (r2 * sqrtf(r2)));
    }
    force[i] = f * mass[i];
}

// The adjoint.
static __device__ void atomicAdd(vec3 *p, vec3 v)
{
    atomicAdd(&p->x, v.x);
    atomicAdd(&p->y, v.y);
    atomicAdd(&p->z, v.z);
}

extern "C" __global__ void nbody_backward(
    const vec3 *__restrict__ x, int x_size, const float *__restrict__ mass, vec3 *__restrict__ adj_x,
    float *__restrict__ adj_mass, vec3 *__restrict__ adj_force, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    vec3 p = x[i];
    vec3 g = adj_force[i];
    adj_force[i] = {0.0f, 0.0f, 0.0f};
    vec3 adj_f = g * mass[i];
    vec3 f = {0.0f, 0.0f, 0.0f};
    vec3 adj_p = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < x_size; ++j) {
        vec3 d = x[j] - p;
        float r2 = dot(d, d) + 0.01f;
        float inv_r3 = 1.0f / (r2 * sqrtf(r2));
        f = f + d * (mass[j] * inv_r3);
        float along = dot(adj_f, d);
        atomicAdd(&adj_mass[j], along * inv_r3);
        vec3 adj_d = adj_f * (mass[j] * inv_r3) - d * (3.0f * along * mass[j] * inv_r3 / r2);
        adj_p = adj_p - adj_d;
        atomicAdd(&adj_x[j], adj_d);
    }
    atomicAdd(&adj_mass[i], dot(g, f));
    atomicAdd(&adj_x[i], adj_p);
}
