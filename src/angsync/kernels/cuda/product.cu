// y = C x for a Hermitian C of which only the upper triangle is read. Sums are in double precision whatever the
// precision of C, and always added in the same order: the same input gives the same bits.
//
// The upper triangle is cut into square tiles, one block of threads each. A tile (I, J) adds to the entries I of y by
// its rows and to the entries J by its columns, conjugated. It writes both sums into slots of their own,
// slots[J][rows of I] and slots[I][columns of J]: every slot is written once, so nothing has to be cleared and no
// atomic addition is needed. gather_slots or gpm_step (step.cu) add the slots of an entry in their order.

constexpr int WARPS = 8;
constexpr int WARP_COLUMNS = 128;  // four columns a lane: two neighbours, and two more 64 columns on

__device__ __forceinline__ double2 multiply_add(double2 a, double2 b, double2 sum) {
    sum.x = fma(a.x, b.x, sum.x);
    sum.x = fma(-a.y, b.y, sum.x);
    sum.y = fma(a.x, b.y, sum.y);
    sum.y = fma(a.y, b.x, sum.y);
    return sum;
}

__device__ __forceinline__ double2 conjugate_multiply_add(double2 a, double2 b, double2 sum) {
    sum.x = fma(a.x, b.x, sum.x);
    sum.x = fma(a.y, b.y, sum.x);
    sum.y = fma(a.x, b.y, sum.y);
    sum.y = fma(-a.y, b.x, sum.y);
    return sum;
}

__device__ __forceinline__ double2 exchanged(double2 value, int distance) {
    return {__shfl_xor_sync(0xffffffffu, value.x, distance), __shfl_xor_sync(0xffffffffu, value.y, distance)};
}

// A lane's four entries of a row on their way into shared memory. Each lane reads back only what it has sent for, so
// that no barrier is needed: the wait for its own copies is enough.
template <bool ALIGNED>
__device__ __forceinline__ void send_for_four(float2* to, const float2* from) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    if constexpr (ALIGNED) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 512), "l"(from + 64) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at + 8), "l"(from + 1) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at + 512), "l"(from + 64) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at + 520), "l"(from + 65) : "memory");
    }
#else
    to[0] = from[0], to[1] = from[1], to[64] = from[64], to[65] = from[65];
#endif
}

template <bool ALIGNED>
__device__ __forceinline__ void send_for_four(double2* to, const double2* from) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 16), "l"(from + 1) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 1024), "l"(from + 64) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 1040), "l"(from + 65) : "memory");
#else
    to[0] = from[0], to[1] = from[1], to[64] = from[64], to[65] = from[65];
#endif
}

__device__ __forceinline__ void end_of_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most PENDING of the groups sent for are still on their way.
template <int PENDING>
__device__ __forceinline__ void wait_for_groups() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

__device__ __forceinline__ void read_four(const float2* at, float2 (&entry)[4]) {
    const float4 near = *reinterpret_cast<const float4*>(at);
    const float4 far = *reinterpret_cast<const float4*>(at + 64);
    entry[0] = {near.x, near.y};
    entry[1] = {near.z, near.w};
    entry[2] = {far.x, far.y};
    entry[3] = {far.z, far.w};
}

__device__ __forceinline__ void read_four(const double2* at, double2 (&entry)[4]) {
    entry[0] = at[0], entry[1] = at[1], entry[2] = at[64], entry[3] = at[65];
}

// Adds sum[k] of all lanes for each of ROWS rows at once: at every level half of the rows is handed over, so ROWS rows
// cost about as many exchanges as two of them one by one. Afterwards sum[0] belongs to the row that is returned.
template <int ROWS>
__device__ __forceinline__ int add_across_lanes(double2 (&sum)[ROWS], int lane) {
    int row = 0;
    int distance = 16;
#pragma unroll
    for (int half = ROWS / 2; half > 0; half /= 2, distance /= 2) {
        const bool upper = lane & distance;
#pragma unroll
        for (int k = 0; k < half; ++k) {
            const double2 given = upper ? sum[k] : sum[k + half];
            const double2 kept = upper ? sum[k + half] : sum[k];
            const double2 got = exchanged(given, distance);
            sum[k] = {kept.x + got.x, kept.y + got.y};
        }
        row += upper ? half : 0;
    }
#pragma unroll
    for (; distance > 0; distance /= 2) {
        const double2 got = exchanged(sum[0], distance);
        sum[0] = {sum[0].x + got.x, sum[0].y + got.y};
    }
    return row;
}

// One warp, 128 columns, `height` rows from `first_row`. INSIDE: all of it lies above the diagonal and inside C; then
// STAGES groups of ROWS rows are always on their way, in `staged`, while earlier ones are multiplied.
template <typename Entry, int ROWS, bool ALIGNED, int STAGES, bool INSIDE>
__device__ __forceinline__ void walk(const Entry* C, long long pitch, int n, const double2* x, int first_row,
                                     int height, int column, int lane, const double2 (&x_column)[4],
                                     double2 (&column_sum)[4], double2* row_sums, Entry* staged) {
    static_assert(STAGES * ROWS <= 64, "no walk inside is shorter than 64 rows");
    const Entry* ahead = C + first_row * pitch + column;
    staged += 2 * lane;
    if constexpr (INSIDE) {
#pragma unroll
        for (int s = 0; s < STAGES; ++s) {
#pragma unroll
            for (int k = 0; k < ROWS; ++k, ahead += pitch) {
                send_for_four<ALIGNED>(staged + (s * ROWS + k) * WARP_COLUMNS, ahead);
            }
            end_of_group();
        }
    }
    int stage = 0;
    for (int offset = 0; offset < height; offset += ROWS) {
        const int row = first_row + offset;
        Entry entry[ROWS][4];
        double2 sum[ROWS];
        if constexpr (INSIDE) {
            wait_for_groups<STAGES - 1>();
            Entry* here = staged + stage * ROWS * WARP_COLUMNS;
#pragma unroll
            for (int k = 0; k < ROWS; ++k) read_four(here + k * WARP_COLUMNS, entry[k]);
            if (offset + STAGES * ROWS < height) {
#pragma unroll
                for (int k = 0; k < ROWS; ++k, ahead += pitch) send_for_four<ALIGNED>(here + k * WARP_COLUMNS, ahead);
            }
            end_of_group();
            stage = stage + 1 < STAGES ? stage + 1 : 0;
        } else {
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    const int j = column + (c & 1) + 64 * (c >> 1);
                    entry[k][c] = {0, 0};
                    if (row + k <= j && j < n) entry[k][c] = C[(row + k) * pitch + j];
                    if (row + k == j) entry[k][c].y = 0;
                }
            }
        }
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {
            const double2 x_row = INSIDE || row + k < n ? x[row + k] : double2{0, 0};
            sum[k] = {0, 0};
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const double2 value = {entry[k][c].x, entry[k][c].y};
                sum[k] = multiply_add(value, x_column[c], sum[k]);
                double2 mirrored = x_row;
                if constexpr (!INSIDE) {
                    // the diagonal is one entry, not two
                    if (row + k == column + (c & 1) + 64 * (c >> 1)) mirrored = {0, 0};
                }
                column_sum[c] = conjugate_multiply_add(value, mirrored, column_sum[c]);
            }
        }
        const int mine = add_across_lanes<ROWS>(sum, lane);
        if (lane % (32 / ROWS) == 0) row_sums[offset + mine] = sum[0];
    }
}

template <typename Entry, int TILE, int ROWS, bool ALIGNED, int STAGES, int RESIDENT>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    hermitian_tiles(const Entry* __restrict__ C, long long pitch, int n, const double2* __restrict__ x,
                    double2* __restrict__ slots, const int* __restrict__ done) {
    constexpr int COLUMN_GROUPS = TILE / WARP_COLUMNS;
    constexpr int ROW_GROUPS = WARPS / COLUMN_GROUPS;
    constexpr int HEIGHT = TILE / ROW_GROUPS;
    // the sums of the rows, then what is on its way; at the end the sums of the columns take its place
    extern __shared__ __align__(16) unsigned char shared[];
    auto row_sums = reinterpret_cast<double2(*)[TILE]>(shared);
    auto column_sums = row_sums + COLUMN_GROUPS;
    Entry* staged = reinterpret_cast<Entry*>(column_sums) + threadIdx.x / 32 * (STAGES * ROWS * WARP_COLUMNS);
    if (*done) return;

    // The diagonal first, whose tiles take longer to start; then row by row, so that blocks at work together share pages.
    const int tiles = (n + TILE - 1) / TILE;
    const int above = tiles * (tiles - 1) / 2;
    int I, J;
    if (int(blockIdx.x) >= tiles) {
        const int left = above - 1 - (int(blockIdx.x) - tiles);
        int a = int((1 + sqrt(1 + 8.0 * left)) / 2);
        while (a * (a - 1) / 2 > left) --a;
        while (a * (a + 1) / 2 <= left) ++a;
        I = tiles - 1 - a;
        J = tiles - 1 - (left - a * (a - 1) / 2);
    } else {
        I = J = blockIdx.x;
    }

    const int lane = threadIdx.x % 32;
    const int column_group = (threadIdx.x / 32) % COLUMN_GROUPS;
    const int row_group = (threadIdx.x / 32) / COLUMN_GROUPS;
    const int column = J * TILE + column_group * WARP_COLUMNS + 2 * lane;
    const int first_row = I * TILE + row_group * HEIGHT;
    double2 x_column[4];
    double2 column_sum[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        const int j = column + (c & 1) + 64 * (c >> 1);
        x_column[c] = j < n ? x[j] : double2{0, 0};
        column_sum[c] = {0, 0};
    }
    double2* own_rows = row_sums[column_group] + row_group * HEIGHT;
    // rows above all columns of this warp, rows that meet the diagonal (or the edge of C), rows below it
    const int first_column = column - 2 * lane;
    const int above_all = first_column + WARP_COLUMNS <= n ? min(max(first_column - first_row, 0), HEIGHT) : 0;
    const int met = min(max(first_column + WARP_COLUMNS - first_row, 0), HEIGHT);
    if (above_all > 0) {
        walk<Entry, ROWS, ALIGNED, STAGES, true>(C, pitch, n, x, first_row, above_all, column, lane, x_column,
                                                 column_sum, own_rows, staged);
    }
    if (met > above_all) {
        walk<Entry, ROWS, ALIGNED, STAGES, false>(C, pitch, n, x, first_row + above_all, met - above_all, column, lane,
                                                  x_column, column_sum, own_rows + above_all, staged);
    }
    for (int t = met + lane; t < HEIGHT; t += 32) own_rows[t] = {0, 0};
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        column_sums[row_group][column_group * WARP_COLUMNS + 2 * lane + (c & 1) + 64 * (c >> 1)] = column_sum[c];
    }
    __syncthreads();

    for (int t = threadIdx.x; t < TILE; t += 32 * WARPS) {
        double2 by_row = {0, 0};
        double2 by_column = {0, 0};
#pragma unroll
        for (int g = 0; g < COLUMN_GROUPS; ++g) by_row.x += row_sums[g][t].x, by_row.y += row_sums[g][t].y;
#pragma unroll
        for (int g = 0; g < ROW_GROUPS; ++g) by_column.x += column_sums[g][t].x, by_column.y += column_sums[g][t].y;
        const long long i = (long long)I * TILE + t;
        const long long j = (long long)J * TILE + t;
        if (I == J) {
            if (i < n) slots[(long long)J * n + i] = {by_row.x + by_column.x, by_row.y + by_column.y};
        } else {
            if (i < n) slots[(long long)J * n + i] = by_row;
            if (j < n) slots[(long long)I * n + j] = by_column;
        }
    }
}
