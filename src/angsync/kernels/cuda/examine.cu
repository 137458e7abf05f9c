// One look at a large matrix, each entry read once: is it Hermitian, finite, without zeros, and what are the sums of
// the moduli of its rows? examine_reference.py says what is found; sums are in double precision and always added in the
// same order.
//
// A block of threads has two tiles of TILE x TILE entries that are mirror images of each other: A above the diagonal
// and B below it. B comes into shared memory, A into registers; then |a| takes the place of the b it was compared with,
// so that rows can be summed as columns are. Row sums are those of the upper triangle, which is the problem: a tile
// adds to its rows and to its columns, each sum in a slot of its own. sum_slots adds the slots of a row in their order.

constexpr int TILE = 64, SIDES = 4, THREADS = TILE * SIDES, EACH = TILE / SIDES;

struct Findings {
    unsigned long long not_finite;  // row * n + column of the first such entry, all ones where there is none
    unsigned long long suspects;    // pairs farther apart than `limit` of the larger one
    unsigned long long zeros;       // above the diagonal
    unsigned long long complex_entries;
    unsigned long long largest;     // modulus, the bits of a double: as integers these are in the same order
};

// sqrt(square), good to an ulp: two steps of Newton from a fast approximation, for a square root by the book of every
// entry would cost more than all else. No square of a float that is not 0 is below 1e-90.
__device__ __forceinline__ double root_of(double square) {
    double inverse;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(square + 1e-300));
    const double half = 0.5 * inverse;
    double root = square * inverse;
    root = fma(half, fma(-root, root, square), root);
    return fma(half, fma(-root, root, square), root);
}

__device__ __forceinline__ double modulus(float2 a) {
    const double x = a.x, y = a.y;
    return root_of(fma(x, x, y * y));
}
__device__ __forceinline__ double modulus(double2 a) { return hypot(a.x, a.y); }

// sqrt(x^2 + y^2); the last argument says of which kind the entries were whose differences these are
__device__ __forceinline__ double distance_of(double x, double y, float2) { return root_of(fma(x, x, y * y)); }
__device__ __forceinline__ double distance_of(double x, double y, double2) { return hypot(x, y); }

__device__ __forceinline__ bool is_finite(float2 a) { return isfinite(a.x) && isfinite(a.y); }
__device__ __forceinline__ bool is_finite(double2 a) { return isfinite(a.x) && isfinite(a.y); }

template <typename Value>
__device__ __forceinline__ Value sum_of_block(Value value, Value* memory) {
    memory[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) memory[threadIdx.x] += memory[threadIdx.x + half];
        __syncthreads();
    }
    const Value sum = memory[0];
    __syncthreads();
    return sum;
}

// slots: (tiles, n), asymmetry: (blocks,), the sums of |a - conj(b)| of the pairs of a block.
template <typename Entry>
__global__ void __launch_bounds__(THREADS)
    examine_tiles(const Entry* __restrict__ C, long long pitch, int n, double limit, double* __restrict__ slots,
                  double* __restrict__ asymmetry, Findings* __restrict__ findings) {
    extern __shared__ __align__(16) unsigned char shared[];
    Entry* mirrored = reinterpret_cast<Entry*>(shared);  // [column of A][row of A], rows of TILE + 1
    __shared__ double partial[SIDES][TILE];
    __shared__ double memory[THREADS];
    // block b is the pair (I, J), I <= J, counted by columns: b = J (J + 1) / 2 + I
    const long long b = blockIdx.x;
    long long J = (long long)((sqrt(8.0 * (double)b + 1.0) - 1.0) / 2.0);
    while (J * (J + 1) / 2 > b) --J;
    while ((J + 1) * (J + 2) / 2 <= b) ++J;
    const long long I = b - J * (J + 1) / 2;
    const int across = threadIdx.x % TILE, side = threadIdx.x / TILE;
    const long long top = I * TILE, left = J * TILE;

    Entry above[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const long long row = top + side + SIDES * k, column = left + across;
        above[k] = row < n && column < n ? C[row * pitch + column] : Entry{0, 0};
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const long long row = left + side + SIDES * k, column = top + across;
        const Entry below = row < n && column < n ? C[row * pitch + column] : Entry{0, 0};
        mirrored[(side + SIDES * k) * (TILE + 1) + across] = below;
        if (!is_finite(below)) atomicMin(&findings->not_finite, (unsigned long long)(row * n + column));
    }
    __syncthreads();

    double column_sum = 0, difference = 0, largest = 0;
    unsigned suspects = 0, zeros = 0, complex_entries = 0;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int r = side + SIDES * k;
        const long long row = top + r, column = left + across;
        const Entry a = above[k];
        Entry& place = mirrored[across * (TILE + 1) + r];
        const Entry mirror = place;
        double size = 0;
        if (row <= column && column < n) {
            if (!is_finite(a)) atomicMin(&findings->not_finite, (unsigned long long)(row * n + column));
            size = modulus(a);
            const double x = (double)a.x - (double)mirror.x, y = (double)a.y + (double)mirror.y;
            if (x != 0 || y != 0) {
                const double apart = distance_of(x, y, a);
                difference += apart;
                suspects += apart > limit * fmax(size, modulus(mirror));
            }
            zeros += row < column && size == 0;
            complex_entries += a.y != 0;
            largest = fmax(largest, size);
            if (row < column) column_sum += size;
        }
        reinterpret_cast<double&>(place) = size;
    }
    partial[side][across] = column_sum;
    __syncthreads();
    const bool on_diagonal = I == J;
    double column_total = 0;
    if (side == 0) {
#pragma unroll
        for (int k = 0; k < SIDES; ++k) column_total += partial[k][across];
    }
    __syncthreads();
    double row_sum = 0;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        row_sum += reinterpret_cast<const double&>(mirrored[(side * EACH + k) * (TILE + 1) + across]);
    }
    partial[side][across] = row_sum;
    __syncthreads();
    if (side == 0) {
        double row_total = 0;
#pragma unroll
        for (int k = 0; k < SIDES; ++k) row_total += partial[k][across];
        if (on_diagonal) {
            if (top + across < n) slots[I * n + top + across] = row_total + column_total;
        } else {
            slots[J * n + top + across] = row_total;
            if (left + across < n) slots[I * n + left + across] = column_total;
        }
    }
    const double total = sum_of_block(difference, memory);
    if (threadIdx.x == 0) asymmetry[b] = total;
    // one warp after the other: few of them have anything to say
    const unsigned long long bits = __double_as_longlong(largest);
    unsigned long long most = bits;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, most, distance);
        most = other > most ? other : most;
        suspects += __shfl_xor_sync(0xffffffffu, suspects, distance);
        zeros += __shfl_xor_sync(0xffffffffu, zeros, distance);
        complex_entries += __shfl_xor_sync(0xffffffffu, complex_entries, distance);
    }
    if (threadIdx.x % 32 == 0) {
        if (most > *(volatile unsigned long long*)&findings->largest) atomicMax(&findings->largest, most);
        if (suspects) atomicAdd(&findings->suspects, (unsigned long long)suspects);
        if (zeros) atomicAdd(&findings->zeros, (unsigned long long)zeros);
        if (complex_entries && !*(volatile unsigned long long*)&findings->complex_entries) {
            atomicOr(&findings->complex_entries, 1ULL);
        }
    }
}

// sums[j]: the slots of row j, added in their order by eight threads.
extern "C" __global__ void sum_slots(const double* __restrict__ slots, int tiles, int n, double* __restrict__ sums) {
    __shared__ double part[8][32];
    const int row = blockIdx.x * 32 + threadIdx.x;
    double sum = 0;
    if (row < n) {
        for (int k = threadIdx.y; k < tiles; k += 8) sum += slots[(long long)k * n + row];
    }
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && row < n) {
        sum = 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) sum += part[k][threadIdx.x];
        sums[row] = sum;
    }
}
