// What follows a product: its slots added in their order, and one step of the generalized power method, with
// objective, residual and the decision to stop, all on the device. The host only launches.

constexpr int ENTRIES = 32;  // entries of z a block
constexpr int PARTS = 8;     // threads that share the slots of one entry

constexpr int POWER = 0;      // x <- scale C x: no phases taken, no stopping
// 1: z <- C z / |C z| without stopping, the last of the power steps
constexpr int GPM = 2;        // z <- w / |w|, w = C z or z + weight C z; stops at the tolerance

// Where the slots of a product are: of an entry of strip J = i / width, counts[J] by columns, then by rows those of the
// strips J, J + 1, ... from row_slots_at + J on. Blocks of ENTRIES entries lie within one strip.
struct Slots {
    const double2* values;
    const int* counts;
    int strips, width, row_slots_at;
};

__device__ __forceinline__ double2 added_slots(Slots slots, int n, double scale) {
    __shared__ double2 part[PARTS][ENTRIES];
    const int i = blockIdx.x * ENTRIES + threadIdx.x;
    const int strip = blockIdx.x * ENTRIES / slots.width;
    const int by_columns = slots.counts[strip];
    const int total = by_columns + slots.strips - strip;
    double2 sum = {0, 0};
    if (i < n) {
#pragma unroll 4
        for (int k = threadIdx.y; k < total; k += PARTS) {
            const int slot = k < by_columns ? k : slots.row_slots_at + strip + k - by_columns;
            const double2 value = __ldcs(slots.values + (long long)slot * n + i);
            sum.x += value.x;
            sum.y += value.y;
        }
    }
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    sum = {0, 0};
#pragma unroll
    for (int p = 0; p < PARTS; ++p) sum.x += part[p][threadIdx.x].x, sum.y += part[p][threadIdx.x].y;
    return {scale * sum.x, scale * sum.y};
}

__global__ void gather_slots(const double2* values, const int* counts, int strips, int width, int row_slots_at, int n,
                             double2* product) {
    const double2 sum = added_slots({values, counts, strips, width, row_slots_at}, n, 1.0);
    const int i = blockIdx.x * ENTRIES + threadIdx.x;
    if (threadIdx.y == 0 && i < n) product[i] = sum;
}

// The three sums of all blocks, added by one block: threads in a fixed pattern, then a tree.
__device__ void finish(const double* block_sums, int blocks, double (&total)[3]) {
    __shared__ double tree[3][ENTRIES * PARTS];
    const int t = threadIdx.y * ENTRIES + threadIdx.x;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
        double sum = 0;
        for (int b = t; b < blocks; b += ENTRIES * PARTS) sum += __ldcg(block_sums + 3 * b + q);
        tree[q][t] = sum;
    }
    for (int half = ENTRIES * PARTS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
#pragma unroll
            for (int q = 0; q < 3; ++q) tree[q][t] += tree[q][t + half];
        }
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 3; ++q) total[q] = tree[q][0];
}

// From z and the slots of C z: product = scale C z, next = the next iterate, history[iteration] = (f, residual) of z.
// done becomes iteration + 1 when the residual ||Im(conj(z) Cz)|| / ||Cz|| of z meets the tolerance (z is then the
// answer and every later launch returns at once), and -(iteration + 1) when it is not a finite number. weight is
// scale-free alpha / n divided by scale; 0 stands for alpha = inf.
__global__ void gpm_step(const double2* values, const int* counts, int strips, int width, int row_slots_at, int n,
                         double scale, int rule, double weight, double tolerance, int iteration, const double2* z,
                         double2* product, double2* next, double* block_sums, unsigned* arrived, double* history,
                         int* done) {
    if (*done) return;
    const double2 y = added_slots({values, counts, strips, width, row_slots_at}, n, scale);
    const int i = blockIdx.x * ENTRIES + threadIdx.x;
    if (threadIdx.y == 0) {
        double f = 0, gradient = 0, size = 0;
        if (i < n) {
            const double2 old = z[i];
            product[i] = y;
            double2 w = y;
            if (rule == GPM && weight > 0) w = {old.x + weight * y.x, old.y + weight * y.y};
            if (rule != POWER) {
                const double modulus = hypot(w.x, w.y);
                // a zero keeps its old phase: the paper's 0 would leave the torus
                const double old_modulus = hypot(old.x, old.y);
                if (modulus > 0) {
                    w = {w.x / modulus, w.y / modulus};
                } else if (old_modulus > 0) {
                    w = {old.x / old_modulus, old.y / old_modulus};
                } else {
                    w = {1, 0};
                }
            }
            next[i] = w;
            f = old.x * y.x + old.y * y.y;
            const double turn = old.x * y.y - old.y * y.x;
            gradient = turn * turn;
            size = y.x * y.x + y.y * y.y;
        }
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            f += __shfl_xor_sync(0xffffffffu, f, distance);
            gradient += __shfl_xor_sync(0xffffffffu, gradient, distance);
            size += __shfl_xor_sync(0xffffffffu, size, distance);
        }
        if (threadIdx.x == 0) {
            block_sums[3 * blockIdx.x] = f;
            block_sums[3 * blockIdx.x + 1] = gradient;
            block_sums[3 * blockIdx.x + 2] = size;
        }
    }
    if (rule != GPM) return;

    __shared__ bool last;
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        __threadfence();
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    double total[3];
    finish(block_sums, gridDim.x, total);
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        const double residual = total[1] > 0 ? sqrt(total[1] / total[2]) : 0;
        history[2 * iteration] = total[0];
        history[2 * iteration + 1] = residual;
        *arrived = 0;
        if (!isfinite(total[0]) || !isfinite(total[1]) || !isfinite(total[2])) {
            *done = -(iteration + 1);
        } else if (residual <= tolerance) {
            *done = iteration + 1;
        }
    }
}
