// Many small problems, second part (after batch_layout.cu, before batch.cu): products with a C that is spread over the
// registers of its lanes, and what is asked about their results.

__device__ __forceinline__ void multiply_add(float4 c, float4 x, float2& sum) {
    sum.x = fmaf(c.x, x.x, sum.x);
    sum.y = fmaf(c.x, x.y, sum.y);
    sum.x = fmaf(-c.y, x.y, sum.x);
    sum.y = fmaf(c.y, x.x, sum.y);
    sum.x = fmaf(c.z, x.z, sum.x);
    sum.y = fmaf(c.z, x.w, sum.y);
    sum.x = fmaf(-c.w, x.w, sum.x);
    sum.y = fmaf(c.w, x.z, sum.y);
}

__device__ __forceinline__ void multiply_add(float2 c, float2 x, float2& sum) {
    sum.x = fmaf(c.x, x.x, sum.x);
    sum.y = fmaf(c.x, x.y, sum.y);
    sum.x = fmaf(-c.y, x.y, sum.x);
    sum.y = fmaf(c.y, x.x, sum.y);
}

__device__ __forceinline__ float absolute_sum(float4 c) { return fabsf(c.x) + fabsf(c.y) + fabsf(c.z) + fabsf(c.w); }
__device__ __forceinline__ float absolute_sum(float2 c) { return fabsf(c.x) + fabsf(c.y); }

__device__ __forceinline__ float2 exchanged(float2 value, int distance) {
    return {__shfl_xor_sync(0xffffffffu, value.x, distance), __shfl_xor_sync(0xffffffffu, value.y, distance)};
}

// The rows of C x that this lane owns.
__device__ __forceinline__ void multiply(const Unit (&entry)[ROWS][SHARE], const Unit* vector, int part,
                                         float2 (&own)[OWN]) {
    float2 sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] = {0, 0};
#pragma unroll
    for (int c = 0; c < SHARE; ++c) {
        const Unit x = vector[c * SPLIT + part];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) multiply_add(entry[r][c], x, sum[r]);
    }
    // Of the lanes that share rows, each hands half of its sums to a partner until it has its own alone.
    int half = ROWS / 2;
#pragma unroll
    for (int distance = SPLIT / 2; distance > 0; distance /= 2, half /= 2) {
        const bool upper = part & distance;
        if (half > 0) {
#pragma unroll
            for (int k = 0; k < half; ++k) {
                const float2 kept = upper ? sum[k + half] : sum[k];
                const float2 got = exchanged(upper ? sum[k] : sum[k + half], distance);
                sum[k] = {kept.x + got.x, kept.y + got.y};
            }
        } else {
            const float2 got = exchanged(sum[0], distance);
            sum[0] = {sum[0].x + got.x, sum[0].y + got.y};
        }
    }
#pragma unroll
    for (int k = 0; k < OWN; ++k) own[k] = sum[k];
}

// w = (C + shift I) x, scaled, of the rows that this lane owns.
__device__ __forceinline__ void add_shift(float2 (&w)[OWN], const float2 (&y)[OWN], const float2 (&x)[OWN], float scale,
                                          float shift) {
#pragma unroll
    for (int r = 0; r < OWN; ++r) w[r] = {fmaf(y[r].x, scale, shift * x[r].x), fmaf(y[r].y, scale, shift * x[r].y)};
}

__device__ __forceinline__ bool any_of_team(bool value) {
    if constexpr (IN_WARP) {
        return __any_sync(0xffffffffu, value);
    } else {
        return value;  // the same for all: one problem a block
    }
}

// Whether no phase of the problem turns by more than `settled` from x to w.
__device__ __forceinline__ bool all_still(const float2 (&x)[OWN], const float2 (&w)[OWN], const int (&row)[OWN],
                                          float settled, unsigned group_lanes) {
    bool still = true;
#pragma unroll
    for (int r = 0; r < OWN; ++r) {
        const float turn = x[r].x * w[r].y - x[r].y * w[r].x;
        const float along = x[r].x * w[r].x + x[r].y * w[r].y;
        still = still && (row[r] < 0 || fabsf(turn) <= settled * along);
    }
    if constexpr (IN_WARP) {
        return (__ballot_sync(0xffffffffu, still) & group_lanes) == group_lanes;
    } else {
        return __syncthreads_and(still);
    }
}

// w / |w|; a zero keeps the old phase.
__device__ __forceinline__ float2 phase(float2 w, float2 old) {
    const float square = w.x * w.x + w.y * w.y;
    const float inverse = rsqrtf(square);
    return square > 0 ? float2{w.x * inverse, w.y * inverse} : old;
}

// What the triangles differ by is wanted for certificates, which come with POLISH_STEPS.
constexpr bool WITH_SKEW = CHECKING && POLISH_STEPS > 0;

struct Sums {
    float objective, gradient, size, skew;
};

// Re(conj(x) Cx), Im(conj(x) Cx)^2 and |(C + shift) x|^2, scaled, added over the rows of a problem, and what each of its
// lanes knows as `skew`: the same in all of them. y holds C x as it came from `multiply`.
__device__ __forceinline__ Sums summed(const float2 (&x)[OWN], const float2 (&y)[OWN], const int (&row)[OWN],
                                       float scale, float shift, float skew, int part, int first_lane, int member,
                                       Buffers& mine) {
    Sums sum = {0, 0, 0, skew};
#pragma unroll
    for (int r = 0; r < OWN; ++r) {
        if (row[r] < 0 || part % COPIES) continue;
        const float2 v = {y[r].x * scale, y[r].y * scale};
        const float2 w = {v.x + shift * x[r].x, v.y + shift * x[r].y};
        sum.objective += x[r].x * v.x + x[r].y * v.y;
        const float turn = x[r].x * v.y - x[r].y * v.x;
        sum.gradient += turn * turn;
        sum.size += w.x * w.x + w.y * w.y;
    }
    constexpr bool BY_EXCHANGE = !IN_WARP || (LANES & (LANES - 1)) == 0;
    if constexpr (BY_EXCHANGE) {
#pragma unroll
        for (int distance = IN_WARP ? LANES / 2 : 16; distance > 0; distance /= 2) {
            sum.objective += __shfl_xor_sync(0xffffffffu, sum.objective, distance);
            sum.gradient += __shfl_xor_sync(0xffffffffu, sum.gradient, distance);
            sum.size += __shfl_xor_sync(0xffffffffu, sum.size, distance);
            if (WITH_SKEW) sum.skew += __shfl_xor_sync(0xffffffffu, sum.skew, distance);
        }
    }
    if constexpr (!(IN_WARP && BY_EXCHANGE)) {
        if (IN_WARP || member % 32 == 0) {
            const int place = IN_WARP ? member : member / 32;
            mine.sums[0][place] = sum.objective, mine.sums[1][place] = sum.gradient, mine.sums[2][place] = sum.size;
            if (WITH_SKEW) mine.sums[3][place] = sum.skew;
        }
        synchronize();
        sum = {0, 0, 0, 0};
        constexpr int TERMS = IN_WARP ? LANES : THREADS / 32;
#pragma unroll
        for (int k = 0; k < TERMS; ++k) {
            const int place = IN_WARP ? first_lane + k : k;
            sum.objective += mine.sums[0][place];
            sum.gradient += mine.sums[1][place];
            sum.size += mine.sums[2][place];
            if (WITH_SKEW) sum.skew += mine.sums[3][place];
        }
    }
    return sum;
}

// One entry of C beside its mirror image: how much farther apart are they than `share` of the entry allows? In sums of
// |re| and |im|, within sqrt(2) of the moduli, so that no square underflows. `skew` adds up how far apart they are.
__device__ __forceinline__ void compare(float re, float im, float2 mirror, float share, float& worst, float& skew) {
    const float apart = fabsf(re - mirror.x) + fabsf(im + mirror.y);
    worst = fmaxf(worst, fmaf(-share, fabsf(re) + fabsf(im), apart));
    if (WITH_SKEW) skew += apart;
}

// Lanes that share rows (many of them, that is) would meet in one bank on their way through mirror images. They walk
// along diagonals instead, where neighbors are an odd number of entries apart; each pair is compared once.
constexpr bool BY_DIAGONALS = SPLIT > 2;

__device__ __forceinline__ void compare_by_diagonals(const Unit* matrix, int local, float share, float& worst,
                                                     float& skew) {
    constexpr int ROW = PITCH * ENTRIES;  // entries from row to row
    const float2* entries = reinterpret_cast<const float2*>(matrix);
    for (int i = local; i < ORDER; i += LANES) {
        const float2* across = entries + i * (ROW + 1);
        const float2* down = across;
#pragma unroll 8
        for (int d = 0; d <= ORDER / 2; ++d) {
            compare(across->x, across->y, *down, share, worst, skew);
            const bool wraps = i + d + 1 == ORDER;
            across += wraps ? 1 - ORDER : 1;
            down += wraps ? ROW - ORDER * ROW : ROW;
        }
    }
}

__device__ __forceinline__ float2 mirrored(const Unit* matrix, int row, int column) {
    return reinterpret_cast<const float2*>(matrix + column * PITCH)[row];
}

// A unit of a row: compared with its mirror image where `comparing`; `full`: whether it has no zeros off the diagonal.
__device__ __forceinline__ void look_at(float4 pair, const Unit* matrix, int row, int unit, float share, bool comparing,
                                        bool looking_for_zeros, float& worst, float& skew, bool& full) {
    const int column = 2 * unit;
    if (comparing) {
        compare(pair.x, pair.y, mirrored(matrix, row, column), share, worst, skew);
        compare(pair.z, pair.w, mirrored(matrix, row, column + 1), share, worst, skew);
    }
    if (looking_for_zeros) {
        full = full && (fabsf(pair.x) + fabsf(pair.y) > 0 || row == column);
        full = full && (fabsf(pair.z) + fabsf(pair.w) > 0 || row == column + 1);
    }
}

__device__ __forceinline__ void look_at(float2 c, const Unit* matrix, int row, int column, float share, bool comparing,
                                        bool looking_for_zeros, float& worst, float& skew, bool& full) {
    if (comparing) compare(c.x, c.y, mirrored(matrix, row, column), share, worst, skew);
    if (looking_for_zeros) full = full && (fabsf(c.x) + fabsf(c.y) > 0 || row == column);
}
