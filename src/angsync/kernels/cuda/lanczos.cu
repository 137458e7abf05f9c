// What a step of a Lanczos run does with vectors after a product: lanczos_reference.py says what is computed. Everything
// is in double precision, and sums are always added in the same order.
//
// A round of orthogonalization is along_rows and take_away: the inner products with all rows, a part of the entries a
// block, and the rows taken away, every block with the inner products added up for itself. Squared norms leave as one
// sum a block, which the host adds.

constexpr int THREADS = 256;

// w = s v - scale w, w the product C v
extern "C" __global__ void shift(const double* __restrict__ s, double scale, const double2* __restrict__ v, int n,
                                 double2* __restrict__ w) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const double2 x = v[i], y = w[i];
    w[i] = {s[i] * x.x - scale * y.x, s[i] * x.y - scale * y.y};
}

// memory[0] = the sum over the block: a tree
template <typename Add>
__device__ __forceinline__ void sum_of_block(Add add) {
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) add(threadIdx.x, threadIdx.x + half);
    }
}

// partial: (rows, parts), part p of the inner product of a row with w; grid (parts, rows)
extern "C" __global__ void along_rows(const double2* __restrict__ rows, const double2* __restrict__ w, int n,
                                      double2* __restrict__ partial) {
    __shared__ double2 memory[THREADS];
    const double2* row = rows + (long long)blockIdx.y * n;
    double2 sum = {0, 0};
#pragma unroll 4
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const double2 q = row[i], x = w[i];
        sum.x += q.x * x.x + q.y * x.y;
        sum.y += q.x * x.y - q.y * x.x;
    }
    memory[threadIdx.x] = sum;
    sum_of_block([&](int a, int b) { memory[a].x += memory[b].x, memory[a].y += memory[b].y; });
    if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = memory[0];
}

// w less its parts along the rows; squares: the sum of |w_i|^2 of every block; along: the inner products
extern "C" __global__ void take_away(const double2* __restrict__ rows, int count, const double2* __restrict__ partial,
                                     int parts, int n, double2* __restrict__ w, double* __restrict__ squares,
                                     double2* __restrict__ along) {
    extern __shared__ double2 inner[];  // count of them
    __shared__ double memory[THREADS];
    for (int j = threadIdx.x; j < count; j += THREADS) {
        double2 sum = {0, 0};
        for (int p = 0; p < parts; ++p) sum.x += partial[j * parts + p].x, sum.y += partial[j * parts + p].y;
        inner[j] = sum;
        if (blockIdx.x == 0) along[j] = sum;
    }
    __syncthreads();
    const int i = blockIdx.x * THREADS + threadIdx.x;
    double square = 0;
    if (i < n) {
        double2 taken = {0, 0};
#pragma unroll 4
        for (int j = 0; j < count; ++j) {
            const double2 q = rows[(long long)j * n + i], h = inner[j];
            taken.x += h.x * q.x - h.y * q.y;
            taken.y += h.x * q.y + h.y * q.x;
        }
        const double2 left = {w[i].x - taken.x, w[i].y - taken.y};
        w[i] = left;
        square = left.x * left.x + left.y * left.y;
    }
    memory[threadIdx.x] = square;
    sum_of_block([&](int a, int b) { memory[a] += memory[b]; });
    if (threadIdx.x == 0) squares[blockIdx.x] = memory[0];
}
