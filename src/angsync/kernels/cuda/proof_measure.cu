// Proofs for many small problems, first part: how a problem is spread over threads, how its matrix comes into shared
// memory, and the sums that every proof is made of, in double precision. proof_norms.cu or proof.cu follows it in the
// same compilation. Compiled for each order: ORDER n, TEAM threads a problem, THREADS a block: one problem, or as many
// as fit into its warps.
//
// C is Hermitian by its upper triangle; its diagonal cancels in S(z) = Diag(s) - C and is not used. With
// s_j + i b_j = conj(z_j) (C z)_j. Nodes without measurements are no part of the problem.

constexpr bool IN_WARP = TEAM <= 32;
constexpr int TEAMS = THREADS / TEAM;
constexpr int OWN = (ORDER + TEAM - 1) / TEAM;  // rows of a thread: member, member + TEAM, ...
constexpr int FIELDS = 8;
constexpr int SUMS = 8, EXTREMES = 3;
constexpr int UNROLLED = ORDER <= 64 ? ORDER : 16;  // entries of a row without a loop
static_assert(THREADS % TEAM == 0 && (IN_WARP ? 32 % TEAM == 0 : TEAMS == 1), "see above");

// Entries are moved in units of 16 bytes where rows allow it (n even), else of 8. Rows, and matrices of one warp, are
// an odd number of units apart, so that threads that read the same column of different rows meet in few banks.
#if ORDER % 2 == 0
using Unit = float4;
#else
using Unit = float2;
#endif
constexpr int ENTRIES = ORDER % 2 == 0 ? 2 : 1;  // of C in a unit
constexpr int UNITS = ORDER / ENTRIES;
constexpr int PITCH = UNITS | 1;  // units from row to row
constexpr int FOLD = (ORDER + 1) / 2;

// Only what has an entry above the diagonal is kept: row i from unit (i + 1) / ENTRIES on, and in the gap before it row
// n - 1 - i, which fits exactly. Entry (i, j), i < j, is at row_at(i) + j.
__device__ __forceinline__ constexpr int row_at(int i) {
    return ENTRIES * (i < FOLD ? i * PITCH : (ORDER - 1 - i) * PITCH - (i + 1) / ENTRIES);
}

struct alignas(16) Problem {
    Unit staged[(FOLD * PITCH) | 1];
    double2 z[ORDER];  // of unit modulus
    double s[ORDER];
    double totals[IN_WARP ? 1 : TEAM / 32][SUMS + EXTREMES];
    bool present[ORDER];

    __device__ __forceinline__ float2* entries() { return reinterpret_cast<float2*>(staged); }
};

__device__ __forceinline__ unsigned lanes() {
    return TEAM >= 32 ? 0xffffffffu : ((1u << (TEAM % 32)) - 1u) << (threadIdx.x % 32 / TEAM * TEAM);
}

__device__ __forceinline__ void synchronize() {
    if constexpr (IN_WARP) {
        __syncwarp(lanes());
    } else {
        __syncthreads();
    }
}

__device__ __forceinline__ void copy_ahead(Unit* to, const Unit* from) {
#if __CUDA_ARCH__ >= 800
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
#if ORDER % 2 == 0
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address), "l"(from) : "memory");
#endif
#else
    *to = *from;
#endif
}

// 1 / sqrt(square): z comes with a modulus near 1, where a polynomial is good to 2^-60.
__device__ __forceinline__ double inverse_root(double square) {
    const double rest = square - 1;
    return fabs(rest) < 1e-6 ? fma(rest, fma(0.375, rest, -0.5), 1.0) : 1 / sqrt(square);
}

// C into shared memory, and z scaled to unit modulus.
__device__ __forceinline__ void fetch(Problem& mine, const Unit* C, const float2* z, long long problem, int member) {
    const Unit* from = C + problem * (ORDER * UNITS);
#pragma unroll 8
    for (int u = member; u < ORDER * UNITS; u += TEAM) {
        const int i = u / UNITS, unit = u % UNITS;
        if (unit >= (i + 1) / ENTRIES) copy_ahead(mine.staged + row_at(i) / ENTRIES + unit, from + u);
    }
    for (int i = member; i < ORDER; i += TEAM) {
        const float2 narrow = z[problem * ORDER + i];
        const double x = narrow.x, y = narrow.y, inverse = inverse_root(x * x + y * y);
        mine.z[i] = {x * inverse, y * inverse};
    }
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    synchronize();
}

// Entry (i, j) of C by its mirror image (j, i) where j < i, and 0 where j = i: two loads of which one or none is made,
// where a branch would cost more than the entry.
__device__ __forceinline__ float2 entry_of(unsigned entries, int i, int at, int j) {
    float2 c = {0, 0};
    asm volatile(
        "{ .reg .pred mirrored, there;\n\t"
        "setp.gt.s32 mirrored, %2, %3;\n\t"
        "setp.lt.s32 there, %2, %3;\n\t"
        "@mirrored ld.shared.v2.f32 {%0, %1}, [%4];\n\t"
        "@there ld.shared.v2.f32 {%0, %1}, [%5]; }"
        : "+f"(c.x), "+f"(c.y)
        : "r"(i), "r"(j), "r"(entries + 8 * (row_at(j) + i)), "r"(entries + 8 * (at + j))
        : "memory");
    // a mirror image is conjugated: j - i is negative
    c.y = __uint_as_float(__float_as_uint(c.y) ^ (unsigned(j - i) & 0x80000000u));
    return c;
}

struct Totals {
    double objective, gradient, rows, rows_squared, nodes, image;  // sums of s, b^2, |Re| + |Im|, its squares, |Cz|^2
    double moduli, squares;                                        // of |C_ij| and its squares, where they are wanted
    double largest, most, least;                                   // |s|, row of |Re| + |Im|, s where a node takes part
};

// sum[k] added, most[k] the largest, over the team: in a fixed order, the same in every thread.
__device__ __forceinline__ void add_up(double (&sum)[SUMS], double (&most)[EXTREMES], Problem& mine, int member) {
#pragma unroll
    for (int distance = (IN_WARP ? TEAM : 32) / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int k = 0; k < SUMS; ++k) sum[k] += __shfl_xor_sync(lanes(), sum[k], distance);
#pragma unroll
        for (int k = 0; k < EXTREMES; ++k) most[k] = fmax(most[k], __shfl_xor_sync(lanes(), most[k], distance));
    }
    if constexpr (!IN_WARP) {
        if (member % 32 == 0) {
#pragma unroll
            for (int k = 0; k < SUMS; ++k) mine.totals[member / 32][k] = sum[k];
#pragma unroll
            for (int k = 0; k < EXTREMES; ++k) mine.totals[member / 32][SUMS + k] = most[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SUMS; ++k) {
            sum[k] = 0;
            for (int w = 0; w < TEAM / 32; ++w) sum[k] += mine.totals[w][k];
        }
#pragma unroll
        for (int k = 0; k < EXTREMES; ++k) {
            for (int w = 0; w < TEAM / 32; ++w) most[k] = fmax(most[k], mine.totals[w][SUMS + k]);
        }
    }
}

// C z in double precision, and what is summed over its rows. own: what this thread has of the moduli and their squares.
__device__ __forceinline__ Totals measure(Problem& mine, int member, double2 own) {
    const unsigned entries = static_cast<unsigned>(__cvta_generic_to_shared(mine.staged));
    double2 w[OWN];
    double rows[OWN];
    int row[OWN], at[OWN];
#pragma unroll
    for (int r = 0; r < OWN; ++r) {
        w[r] = {0, 0}, rows[r] = 0;
        row[r] = min(member + r * TEAM, ORDER - 1);
        at[r] = row_at(row[r]);
    }
#pragma unroll UNROLLED
    for (int j = 0; j < ORDER; ++j) {
        const double2 v = mine.z[j];
#pragma unroll
        for (int r = 0; r < OWN; ++r) {
            const float2 narrow = entry_of(entries, row[r], at[r], j);
            const double2 c = {narrow.x, narrow.y};
            w[r].x = fma(c.x, v.x, w[r].x);
            w[r].y = fma(c.x, v.y, w[r].y);
            w[r].x = fma(-c.y, v.y, w[r].x);
            w[r].y = fma(c.y, v.x, w[r].y);
            rows[r] += fabs(c.x) + fabs(c.y);
        }
    }
    double sum[SUMS] = {0, 0, 0, 0, 0, 0, own.x, own.y};
    double most[EXTREMES] = {0, 0, -__longlong_as_double(0x7ff0000000000000LL)};
#pragma unroll
    for (int r = 0; r < OWN; ++r) {
        if (member + r * TEAM >= ORDER) continue;
        const double2 v = mine.z[row[r]];
        const double s = v.x * w[r].x + v.y * w[r].y, b = v.x * w[r].y - v.y * w[r].x;
        const bool present = rows[r] > 0;
        mine.s[row[r]] = s;
        mine.present[row[r]] = present;
        sum[0] += s, sum[1] += b * b, sum[2] += rows[r], sum[3] += rows[r] * rows[r], sum[4] += present;
        sum[5] += w[r].x * w[r].x + w[r].y * w[r].y;
        most[0] = fmax(most[0], fabs(s)), most[1] = fmax(most[1], rows[r]);
        if (present) most[2] = fmax(most[2], -s);
    }
    add_up(sum, most, mine, member);
    return {sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7], most[0], most[1], -most[2]};
}

__device__ __forceinline__ bool usable(const Totals& total) {
    const double infinity = __longlong_as_double(0x7ff0000000000000LL);
    return total.nodes > 0 && total.rows < infinity && total.gradient < infinity;
}
