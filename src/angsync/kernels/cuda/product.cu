// y = C x for a Hermitian C of which only the upper triangle is read. Sums are in double precision whatever the
// precision of C, and always added in the same order: the same input gives the same bits.
//
// The upper triangle is cut into strips of columns, and these into pieces of rows, one block of threads each; the host
// says which (schedule.py). A piece adds to the entries of its rows, and, conjugated, to those of its columns. It
// writes both sums into slots of their own: every slot is written once, so nothing has to be cleared and no atomic
// addition is needed. gather_slots or gpm_step (step.cu) add the slots of an entry in their order. The taller and the
// wider the pieces, the fewer slots; the shorter the last ones, the less do multiprocessors wait for each other.

constexpr int WARPS = 8;
constexpr int GRAIN = 128;  // rows between two visits to the slots; pieces are so many high, or a multiple

struct Piece {
    int strip, first_row, height, slot;
};

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

// C is read once a product and the slots are read right after it: C shall leave the second-level cache first.
__device__ __forceinline__ unsigned long long leave_first() {
    unsigned long long policy = 0;
#if __CUDA_ARCH__ >= 800
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

__device__ __forceinline__ void send_for_sixteen(unsigned to, const void* from, unsigned long long policy) {
#if __CUDA_ARCH__ >= 800
#if LEAVE_FIRST
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(policy)
                 : "memory");
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#endif
#endif
}

// Two neighboring entries on their way into shared memory. Each lane reads back only what it has sent for, so that no
// barrier is needed: the wait for its own copies is enough.
template <bool ALIGNED>
__device__ __forceinline__ void send_for_pair(float2* to, const float2* from, unsigned long long policy) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    if constexpr (ALIGNED) {
        send_for_sixteen(at, from, policy);
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at + 8), "l"(from + 1) : "memory");
    }
#else
    to[0] = from[0], to[1] = from[1];
#endif
}

template <bool ALIGNED>
__device__ __forceinline__ void send_for_pair(double2* to, const double2* from, unsigned long long policy) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    send_for_sixteen(at, from, policy);
    send_for_sixteen(at + 16, from + 1, policy);
#else
    to[0] = from[0], to[1] = from[1];
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

__device__ __forceinline__ void read_pair(const float2* at, float2* entry) {
    const float4 both = *reinterpret_cast<const float4*>(at);
    entry[0] = {both.x, both.y};
    entry[1] = {both.z, both.w};
}

__device__ __forceinline__ void read_pair(const double2* at, double2* entry) { entry[0] = at[0], entry[1] = at[1]; }

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

// One warp, 32 LANE columns from `first_column`: a lane has pairs of neighbors, 64 columns apart. DEPTH groups of
// ROWS rows are always on their way, in `staged`, while earlier ones are multiplied. `add` takes the next rows, as
// many as it is told.
template <typename Entry, int LANE, int ROWS, bool ALIGNED, int DEPTH>
struct Walk {
    static constexpr int COLUMNS = 32 * LANE;
    const Entry* C;
    long long pitch;
    int n;
    Entry* staged;
    int first_row, inside, met, column, lane;  // rows above all columns of the warp; rows on or above the diagonal
    bool edge;                                 // C ends within the columns
    unsigned long long policy;
    double2 x_column[LANE];
    double2 column_sum[LANE];
    const Entry* ahead;
    int group;

    __device__ __forceinline__ int column_of(int c) const { return column + (c & 1) + 64 * (c >> 1); }

    __device__ __forceinline__ void begin(const double2* x, int first_column, int height) {
        column = first_column + 2 * lane;
        edge = first_column + COLUMNS > n;
        inside = first_column < n ? min(max(first_column - first_row, 0), height) : 0;
        met = first_column < n ? min(max(first_column + COLUMNS - first_row, 0), height) : 0;
        policy = leave_first();
        staged += 2 * lane;
        ahead = C + first_row * pitch + column;
        group = 0;
#pragma unroll
        for (int s = 0; s < ROWS * DEPTH; ++s) send(staged + s * COLUMNS, s < inside);
#pragma unroll
        for (int c = 0; c < LANE; ++c) {
            x_column[c] = column_of(c) < n ? x[column_of(c)] : double2{0, 0};
            column_sum[c] = {0, 0};
        }
    }

    // Past the end of a row stands the next one, so that nothing is read that is not there: `inside` ends before the
    // last row.
    __device__ __forceinline__ void send(Entry* to, bool wanted) {
        if (wanted) {
#pragma unroll
            for (int c = 0; c < LANE; c += 2) send_for_pair<ALIGNED>(to + 32 * c, ahead + 32 * c, policy);
            ahead += pitch;
        }
        end_of_group();
    }

    // One row: its sum over the lane's columns; adds to the sums of those.
    __device__ __forceinline__ double2 multiplied(const Entry (&entry)[LANE], double2 x_row, int diagonal) {
        double2 sum = {0, 0};
#pragma unroll
        for (int c = 0; c < LANE; ++c) {
            const double2 value = {entry[c].x, entry[c].y};
            sum = multiply_add(value, x_column[c], sum);
            // the diagonal counts once
            const double2 mirrored = diagonal == column_of(c) ? double2{0, 0} : x_row;
            column_sum[c] = conjugate_multiply_add(value, mirrored, column_sum[c]);
        }
        return sum;
    }

    // Rows first_row + from and on; x_rows: the entries of x of those rows.
    __device__ __forceinline__ void add(int from, int count, const double2* x_rows, double2* row_sums) {
        int offset = from;
        const int end = from + count;
        for (; offset < end && offset < inside; offset += ROWS) {
            double2 sum[ROWS];
            const bool more = offset + ROWS * DEPTH < inside;
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {
                Entry entry[LANE];
                wait_for_groups<ROWS * DEPTH - 1>();
                Entry* here = staged + (DEPTH == 1 ? k : group * ROWS + k) * COLUMNS;
#pragma unroll
                for (int c = 0; c < LANE; c += 2) read_pair(here + 32 * c, entry + c);
                send(here, more);
                if (edge) {
#pragma unroll
                    for (int c = 0; c < LANE; ++c) {
                        if (column_of(c) >= n) entry[c] = {0, 0};
                    }
                }
                sum[k] = multiplied(entry, x_rows[offset + k - from], -1);
            }
            group = group + 1 < DEPTH ? group + 1 : 0;
            const int mine = add_across_lanes<ROWS>(sum, lane);
            if (lane % (32 / ROWS) == 0) row_sums[offset - from + mine] = sum[0];
        }
        for (; offset < end && offset < met; offset += ROWS) {
            double2 sum[ROWS];
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {
                Entry entry[LANE];
                const int row = first_row + offset + k;
#pragma unroll
                for (int c = 0; c < LANE; ++c) {
                    const int j = column_of(c);
                    entry[c] = {0, 0};
                    if (row <= j && j < n) entry[c] = C[row * pitch + j];
                    if (row == j) entry[c].y = 0;
                }
                sum[k] = multiplied(entry, x_rows[offset + k - from], row);
            }
            const int mine = add_across_lanes<ROWS>(sum, lane);
            if (lane % (32 / ROWS) == 0) row_sums[offset - from + mine] = sum[0];
        }
        for (offset += lane; offset < end; offset += 32) row_sums[offset - from] = {0, 0};
    }
};

// slots: those of the columns of a strip from 0 on, one a piece; that of the rows of strip J at row_slots_at + J.
template <typename Entry, int LANE, int COLUMN_GROUPS, int ROWS, bool ALIGNED, int DEPTH, int RESIDENT>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    hermitian_pieces(const Entry* __restrict__ C, long long pitch, int n, const double2* __restrict__ x,
                     const Piece* __restrict__ pieces, int row_slots_at, double2* __restrict__ slots,
                     const int* __restrict__ done) {
    constexpr int WARP_COLUMNS = 32 * LANE;
    constexpr int WIDTH = COLUMN_GROUPS * WARP_COLUMNS;
    constexpr int ROW_GROUPS = WARPS / COLUMN_GROUPS;
    constexpr int CHUNK = GRAIN / ROW_GROUPS;
    static_assert(CHUNK % ROWS == 0, "rows are added in whole groups");
    // twice: the entries of x of GRAIN rows, and their sums; then what is on its way; at the end the sums of the
    // columns take its place
    extern __shared__ __align__(16) unsigned char shared[];
    auto x_rows = reinterpret_cast<double2(*)[GRAIN]>(shared);
    auto row_sums = reinterpret_cast<double2(*)[COLUMN_GROUPS][GRAIN]>(x_rows + 2);
    auto column_sums = reinterpret_cast<double2(*)[WIDTH]>(row_sums + 2);
    if (*done) return;

    const Piece piece = pieces[blockIdx.x];
    const int warp = threadIdx.x / 32;
    const int column_group = warp % COLUMN_GROUPS;
    const int row_group = warp / COLUMN_GROUPS;
    const int group_height = piece.height / ROW_GROUPS;
    Walk<Entry, LANE, ROWS, ALIGNED, DEPTH> walk;
    walk.C = C, walk.pitch = pitch, walk.n = n, walk.lane = threadIdx.x % 32;
    walk.staged = reinterpret_cast<Entry*>(column_sums) + warp * (ROWS * DEPTH * WARP_COLUMNS);
    walk.first_row = piece.first_row + row_group * group_height;
    walk.begin(x, piece.strip * WIDTH + column_group * WARP_COLUMNS, group_height);

    // thread t < GRAIN brings the entry of x of row t of the next GRAIN, long before it is needed
    const int brought = piece.first_row + threadIdx.x / CHUNK * group_height + threadIdx.x % CHUNK;
    if (threadIdx.x < GRAIN) x_rows[0][threadIdx.x] = brought < n ? x[brought] : double2{0, 0};
    __syncthreads();
    double* row_slot = reinterpret_cast<double*>(slots + (long long)(row_slots_at + piece.strip) * n);
    for (int from = 0; from < group_height; from += CHUNK) {
        const int half = from / CHUNK % 2;
        auto sums = row_sums[half];
        double2 next_x = {0, 0};
        const int next = brought + from + CHUNK;
        if (threadIdx.x < GRAIN && from + CHUNK < group_height && next < n) next_x = x[next];
        walk.add(from, CHUNK, x_rows[half] + row_group * CHUNK, sums[column_group] + row_group * CHUNK);
        if (threadIdx.x < GRAIN) x_rows[1 - half][threadIdx.x] = next_x;
        // one barrier is enough: the next rows go into the other half, and the ones after those come after the next one
        __syncthreads();
        for (int t = threadIdx.x; t < 2 * GRAIN; t += 32 * WARPS) {
            double sum = 0;
#pragma unroll
            for (int g = 0; g < COLUMN_GROUPS; ++g) sum += reinterpret_cast<const double*>(sums[g])[t];
            const int row = piece.first_row + t / 2 / CHUNK * group_height + from + t / 2 % CHUNK;
            if (row < n) row_slot[2 * row + t % 2] = sum;
        }
    }

#pragma unroll
    for (int c = 0; c < LANE; ++c) {
        column_sums[row_group][walk.column_of(c) - piece.strip * WIDTH] = walk.column_sum[c];
    }
    __syncthreads();
    for (int t = threadIdx.x; t < WIDTH; t += 32 * WARPS) {
        double2 sum = {0, 0};
#pragma unroll
        for (int g = 0; g < ROW_GROUPS; ++g) sum.x += column_sums[g][t].x, sum.y += column_sums[g][t].y;
        const long long j = (long long)piece.strip * WIDTH + t;
        if (j < n) slots[(long long)piece.slot * n + j] = sum;
    }
}
