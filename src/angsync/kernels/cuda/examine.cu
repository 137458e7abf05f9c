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

// 0 where both are finite: 0 times anything else is not a number
template <typename Entry>
__device__ __forceinline__ bool are_finite(Entry a, Entry b) {
    return fma(a.x, decltype(a.x)(0), fma(a.y, decltype(a.x)(0), fma(b.x, decltype(a.x)(0), b.y * 0))) == 0;
}

// An entry from global to shared memory, on its way without a register: finish_copies waits for those of this thread.
__device__ __forceinline__ void copy(float2* to, const float2* from) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from) : "memory");
}
__device__ __forceinline__ void copy(double2* to, const double2* from) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}
__device__ __forceinline__ void finish_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

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

// What a thread found in its pairs.
struct Found {
    double column_sum = 0, difference = 0, largest = 0;
    unsigned suspects = 0, zeros = 0, complex_entries = 0;
};

// The pairs (above[k], its mirror image in `mirrored`) of a thread. WHOLE: a tile that is all above the diagonal and
// inside of the matrix, as nearly all are; otherwise every pair has to be asked.
template <bool WHOLE, typename Entry>
__device__ __forceinline__ Found compare(const Entry (&above)[EACH], Entry* mirrored, int top, int left, int n,
                                         double limit, Findings* findings) {
    Found found;
    const int across = threadIdx.x % TILE, side = threadIdx.x / TILE;
    const int column = left + across;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int r = side + SIDES * k, row = top + r;
        Entry& place = mirrored[across * (TILE + 1) + r];
        double size = 0;
        if (WHOLE || (row <= column && column < n)) {
            const Entry a = above[k], mirror = place;
            if (!are_finite(a, mirror)) {
                const Entry none = {0, 0};
                const long long at = are_finite(a, none) ? (long long)column * n + row : (long long)row * n + column;
                atomicMin(&findings->not_finite, (unsigned long long)at);
            }
            size = modulus(a);
            if (a.x != mirror.x || a.y != -mirror.y) {
                const double apart =
                    distance_of((double)a.x - (double)mirror.x, (double)a.y + (double)mirror.y, a);
                found.difference += apart;
                // rarely more than the limit for a: the other modulus is then not needed
                if (apart > limit * size) found.suspects += apart > limit * modulus(mirror);
            }
            found.zeros += (WHOLE || row < column) && a.x == 0 && a.y == 0;
            found.complex_entries += a.y != 0;
            found.largest = size > found.largest ? size : found.largest;
            if (WHOLE || row < column) found.column_sum += size;
        }
        reinterpret_cast<double&>(place) = size;
    }
    return found;
}

// slots: (tiles, n), asymmetry: (blocks,), the sums of |a - conj(b)| of the pairs of a block.
template <typename Entry>
__global__ void __launch_bounds__(THREADS, sizeof(Entry) == 8 ? 4 : 2)
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
    const int top = (int)I * TILE, left = (int)J * TILE;
    const bool inside = left + TILE <= n, whole = inside && I < J;

    Entry above[EACH];
    const Entry* below = C + (left + side) * pitch + top + across;
#pragma unroll
    for (int k = 0; k < EACH; ++k, below += SIDES * pitch) {
        Entry* place = mirrored + (side + SIDES * k) * (TILE + 1) + across;
        if (inside || (left + side + SIDES * k < n && top + across < n)) {
            copy(place, below);
        } else {
            *place = Entry{0, 0};
        }
    }
    const Entry* here = C + (top + side) * pitch + left + across;
#pragma unroll
    for (int k = 0; k < EACH; ++k, here += SIDES * pitch) {
        above[k] = inside || (top + side + SIDES * k < n && left + across < n) ? *here : Entry{0, 0};
    }
    finish_copies();
    __syncthreads();

    const Found found = whole ? compare<true>(above, mirrored, top, left, n, limit, findings)
                              : compare<false>(above, mirrored, top, left, n, limit, findings);
    partial[side][across] = found.column_sum;
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
    const double total = sum_of_block(found.difference, memory);
    if (threadIdx.x == 0) asymmetry[b] = total;
    // one warp after the other: few of them have anything to say
    const unsigned long long bits = __double_as_longlong(found.largest);
    unsigned long long most = bits;
    unsigned suspects = found.suspects, zeros = found.zeros, complex_entries = found.complex_entries;
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
