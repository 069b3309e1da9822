struct vec3 { float x, y, z; };

static __device__ vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static __device__ vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static __device__ vec3 operator-(vec3 a) { return {-a.x, -a.y, -a.z}; }
static __device__ vec3 operator*(vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
static __device__ float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static __device__ void atomicAdd(vec3 *p, vec3 v)
{
    atomicAdd(&p->x, v.x);
    atomicAdd(&p->y, v.y);
    atomicAdd(&p->z, v.z);
}

extern "C" __global__ void springs(
    const vec3 *__restrict__ x, const int *__restrict__ ends, int ends_cols, const float *__restrict__ rest,
    vec3 *__restrict__ force, float stiffness, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    int a = ends[k * ends_cols];
    int b = ends[k * ends_cols + 1];
    vec3 d = x[b] - x[a];
    float length = sqrtf(dot(d, d) + 1.0e-4f);
    vec3 f = d * (stiffness * (length - rest[k]) / length);
    atomicAdd(&force[a], f);
    atomicAdd(&force[b], -f);
}

// The adjoint.
extern "C" __global__ void springs_backward(
    const vec3 *__restrict__ x, const int *__restrict__ ends, int ends_cols, const float *__restrict__ rest,
    float stiffness, vec3 *__restrict__ adj_x, float *__restrict__ adj_rest, const vec3 *__restrict__ adj_force,
    int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    int a = ends[k * ends_cols];
    int b = ends[k * ends_cols + 1];
    vec3 d = x[b] - x[a];
    float length = sqrtf(dot(d, d) + 1.0e-4f);
    vec3 g = adj_force[a] - adj_force[b];
    float along = dot(g, d) * stiffness / length;
    vec3 adj_d = g * (stiffness * (length - rest[k]) / length) + d * (along * rest[k] / (length * length));
    adj_rest[k] -= along;
    atomicAdd(&adj_x[b], adj_d);
    atomicAdd(&adj_x[a], -adj_d);
}
