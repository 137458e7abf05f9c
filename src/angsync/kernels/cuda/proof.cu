// Lower bounds on S(z) = Diag(s) - C over the complement of z, s_j = Re(conj(z_j) (C z)_j), for many small problems:
// what batch_proof.h does on the host. C is Hermitian by its upper triangle; its diagonal cancels and is not read.
//
// As in angsync/spectrum.py: with u = z / sqrt(m) and a lift t > 0, M = S + t u u^H equals S on the complement of z.
// If the Cholesky factorisation of A = M - shift I runs to completion, then M >= shift - g / (1 - g) tr(A) - E, where
// E bounds the rounding of forming A. Nodes without measurements are no part of the problem: m counts the others. All
// but the factorisation is in double precision; the factorisation is in that of REAL, with its unit roundoff in g and
// E.
//
// Compiled for each order: ORDER n, REAL float or double, GRID_ROWS x GRID_COLUMNS threads a problem (the second
// divides the first), thread (p, q) with the entries (p + r GRID_ROWS, q + c GRID_COLUMNS) of A in registers, THREADS
// a block: one problem, or as many as fit into its warps.

constexpr int TEAM = GRID_ROWS * GRID_COLUMNS;
constexpr bool IN_WARP = TEAM <= 32;
constexpr int TEAMS = THREADS / TEAM;
constexpr int HEIGHT = (ORDER + GRID_ROWS - 1) / GRID_ROWS;
constexpr int WIDTH = (ORDER + GRID_COLUMNS - 1) / GRID_COLUMNS;
constexpr int TALLER = GRID_ROWS / GRID_COLUMNS;
constexpr int SUMS = 6, EXTREMES = 3;
constexpr int FIELDS = 8;
constexpr double UNIT = sizeof(REAL) == 4 ? 1.0 / (1 << 24) : 1.0 / (1LL << 53);
static_assert(GRID_ROWS % GRID_COLUMNS == 0 && THREADS % TEAM == 0 && (IN_WARP || TEAMS == 1), "see above");

struct Pair {
    REAL x, y;
};

struct alignas(16) Memory {
    double2 z[ORDER];  // of unit modulus; 0 where a node has no measurements
    double s[ORDER];
    double totals[(TEAM + 31) / 32][SUMS + EXTREMES];
    // a column of A, twice: as the threads with row p want it, and as those with column q do
    alignas(16) Pair by_rows[2][GRID_ROWS * HEIGHT];
    alignas(16) Pair by_columns[2][GRID_COLUMNS * (WIDTH + TALLER)];
    float2 upper[ORDER * (ORDER - 1) / 2 + 1];
    bool present[ORDER];
};

// Entry (i, j), i < j, of C in `upper` is at row_at(i) + j.
__device__ __forceinline__ int row_at(int i) { return i * (2 * ORDER - i - 3) / 2 - 1; }

// Cells of a thread that lie above the diagonal whatever the thread: no work, no registers.
constexpr __device__ __forceinline__ bool above(int r, int c) { return GRID_ROWS * (r + 1) <= GRID_COLUMNS * c; }

__device__ __forceinline__ unsigned lanes() {
    return TEAM >= 32 ? 0xffffffffu : ((1u << (TEAM % 32)) - 1u) << (threadIdx.x % 32 / TEAM * TEAM);
}

__device__ __forceinline__ void synchronise() {
    if constexpr (IN_WARP) {
        __syncwarp(lanes());
    } else {
        __syncthreads();
    }
}

// good to two units in the last place
__device__ __forceinline__ float reciprocal(float value) { return __fdividef(1.0f, value); }
__device__ __forceinline__ double reciprocal(double value) { return 1 / value; }

// sqrt(square), good to an ulp: two steps of Newton from the fast single precision root. A square root in double
// precision for every entry would cost as much as all else before the factorisation.
__device__ __forceinline__ double modulus(float2 c) {
    const double x = c.x, y = c.y, square = x * x + y * y;
    const float narrow = float(square);
    // what is outside the range of single precision takes the long way
    if (!(narrow > 1e-36f && narrow < 1e37f)) return sqrt(square);
    const double inverse = rsqrtf(narrow);
    double root = square * inverse;
    root = fma(0.5 * inverse, fma(-root, root, square), root);
    return fma(0.5 * inverse, fma(-root, root, square), root);
}

// Factorises A in place, all threads of the team together; true when every pivot is positive. With d the pivot and a
// the column below it, a a^H / d is taken off what is left: the Cholesky factor would be a / sqrt(d), and nobody
// needs it.
__device__ __forceinline__ bool factorised(Pair (&a)[HEIGHT][WIDTH], Memory& mine, int p, int q) {
#pragma unroll
    for (int block = 0; block < WIDTH; ++block) {
        for (int within = 0; within < GRID_COLUMNS; ++within) {
            const int j = block * GRID_COLUMNS + within;
            if (j >= ORDER) break;
            Pair* by_rows = mine.by_rows[j % 2];
            Pair* by_columns = mine.by_columns[j % 2];
            if (q == within) {
#pragma unroll
                for (int r = 0; r < HEIGHT; ++r) {
                    if (above(r, block)) continue;
                    by_rows[p * HEIGHT + r] = a[r][block];
                    by_columns[p % GRID_COLUMNS * (WIDTH + TALLER) + p / GRID_COLUMNS + TALLER * r] = a[r][block];
                }
            }
            // the next column goes into the other half, and the one after that comes after the next barrier
            synchronise();
            const REAL pivot = by_columns[within * (WIDTH + TALLER) + block].x;
            if (!(pivot > REAL(1e-37))) return false;
            const REAL inverse = reciprocal(pivot);
            Pair right[WIDTH];
#pragma unroll
            for (int c = block; c < WIDTH; ++c) {
                const Pair value = by_columns[q * (WIDTH + TALLER) + c];
                right[c] = {value.x * inverse, value.y * inverse};
            }
#pragma unroll
            for (int r = 0; r < HEIGHT; ++r) {
                if (above(r, block)) continue;
                const Pair left = by_rows[p * HEIGHT + r];
#pragma unroll
                for (int c = block; c < WIDTH; ++c) {
                    // columns that are finished are spoilt here: nobody reads them again
                    if (above(r, c)) continue;
                    a[r][c].x -= left.x * right[c].x;
                    a[r][c].y -= left.y * right[c].x;
                    a[r][c].x -= left.y * right[c].y;
                    a[r][c].y += left.x * right[c].y;
                }
            }
        }
    }
    return true;
}

// Sums, minima and maxima over the team: in a fixed order, the same in every thread.
__device__ __forceinline__ void add_up(double (&sum)[SUMS], double (&most)[EXTREMES], Memory& mine, int member) {
#pragma unroll
    for (int distance = (IN_WARP ? TEAM : 32) / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int k = 0; k < SUMS; ++k) sum[k] += __shfl_xor_sync(lanes(), sum[k], distance);
#pragma unroll
        for (int k = 0; k < EXTREMES; ++k) most[k] = fmax(most[k], __shfl_xor_sync(lanes(), most[k], distance));
    }
    if constexpr (!IN_WARP) {
        if (member % 32 == 0) {
            for (int k = 0; k < SUMS; ++k) mine.totals[member / 32][k] = sum[k];
            for (int k = 0; k < EXTREMES; ++k) mine.totals[member / 32][SUMS + k] = most[k];
        }
        __syncthreads();
        for (int k = 0; k < SUMS; ++k) {
            sum[k] = 0;
            for (int w = 0; w < TEAM / 32; ++w) sum[k] += mine.totals[w][k];
        }
        for (int k = 0; k < EXTREMES; ++k) {
            for (int w = 0; w < TEAM / 32; ++w) most[k] = fmax(most[k], mine.totals[w][SUMS + k]);
        }
    }
}

// shares: the shifts to try, in their order, until one succeeds: those above 0 in units of the smallest s_j, others
// in units of a bound on |S|. chosen: which problems (may be null: all). found: (problems, FIELDS), in the order of
// FIELDS in cuda_proof_reference.py.
extern "C" __global__ void __launch_bounds__(THREADS)
    prove_batch(const float2* __restrict__ C, const float2* __restrict__ z, const int* __restrict__ chosen, int count,
                const double* __restrict__ shares, int attempts, double* __restrict__ found) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int member = threadIdx.x % TEAM;
    Memory& mine = reinterpret_cast<Memory*>(shared)[threadIdx.x / TEAM];
    const int p = member % GRID_ROWS, q = member / GRID_ROWS;
    const double infinity = __longlong_as_double(0x7ff0000000000000LL);

    for (int k = blockIdx.x * TEAMS + threadIdx.x / TEAM; k < count; k += gridDim.x * TEAMS) {
        const long long problem = chosen ? chosen[k] : k;
        const float2* from = C + problem * (ORDER * ORDER);
        synchronise();  // with the problem before
#pragma unroll 8
        for (int u = member; u < ORDER * ORDER; u += TEAM) {
            const int i = u / ORDER, j = u % ORDER;
            if (j > i) mine.upper[row_at(i) + j] = from[u];
        }
        for (int i = member; i < ORDER; i += TEAM) {
            const float2 narrow = z[problem * ORDER + i];
            const double x = narrow.x, y = narrow.y, inverse = 1 / sqrt(x * x + y * y);
            mine.z[i] = {x * inverse, y * inverse};
        }
        synchronise();

        double sum[SUMS] = {0, 0, 0, 0, 0, 0};  // f, |b|^2, rows, rows^2, moduli, nodes
        double most[EXTREMES] = {0, 0, -infinity};  // |s|, rows, -s
        for (int i = member; i < ORDER; i += TEAM) {
            double2 w = {0, 0};
            double rows = 0;
            const int own_row = row_at(i);
            for (int j = 0; j < ORDER; ++j) {
                if (j == i) continue;
                float2 c = mine.upper[j > i ? own_row + j : row_at(j) + i];
                if (j < i) c.y = -c.y;
                const double2 v = mine.z[j];
                w.x = fma(double(c.x), v.x, w.x);
                w.y = fma(double(c.x), v.y, w.y);
                w.x = fma(-double(c.y), v.y, w.x);
                w.y = fma(double(c.y), v.x, w.y);
                rows += fabs(double(c.x)) + fabs(double(c.y));
            }
            const double2 v = mine.z[i];
            const double s = v.x * w.x + v.y * w.y, b = v.x * w.y - v.y * w.x;
            const bool present = rows > 0;
            mine.s[i] = s;
            mine.present[i] = present;
            sum[0] += s, sum[1] += b * b, sum[2] += rows, sum[3] += rows * rows, sum[5] += present;
            most[0] = fmax(most[0], fabs(s)), most[1] = fmax(most[1], rows);
            if (present) most[2] = fmax(most[2], -s);
        }
        for (int u = member; u < ORDER * (ORDER - 1) / 2; u += TEAM) sum[4] += 2 * modulus(mine.upper[u]);
        add_up(sum, most, mine, member);
        synchronise();
        for (int i = member; i < ORDER; i += TEAM) {
            if (!mine.present[i]) mine.z[i] = {0, 0};
        }

        const double nodes = fmax(sum[5], 1.0);
        double lift = 2 * most[0] + 2 * sqrt(sum[1] / nodes);
        if (!(lift > 0)) lift = 1;
        const double share = lift / nodes;
        const double forming = 8 * UNIT * (most[1] + most[0] + 3 * lift);
        // 24 where angsync/spectrum.py has 8: the reciprocal of a pivot, good to two units in the last place
        constexpr double TERMS = 2.0 * ORDER + 24;
        constexpr double G = 1.4142135623730952 * TERMS * UNIT / (1 - TERMS * UNIT);
        constexpr double BACKWARD = G / (1 - G) * (1 + 1e-6);
        // a power of two that brings A near 1, so that nothing over- or underflows
        int exponent = 0;
        frexp(most[1] + lift, &exponent);
        const double scale = ldexp(1.0, -exponent);
        double bound = -infinity;
        const bool usable = sum[5] > 0 && sum[2] < infinity && sum[1] < infinity;
        for (int attempt = 0; usable && attempt < attempts; ++attempt) {
            const double step = shares[attempt];
            const double shift = step * (step > 0 ? -most[2] : 2 * most[1] + most[0]);
            const double level = sum[0] + lift + (ORDER - sum[5]) * lift - ORDER * shift;
            const double value = shift - BACKWARD * fmax(level, 0.0) - forming;
            if (step > 0 && !(value > 0)) continue;  // would prove nothing
            synchronise();
            Pair a[HEIGHT][WIDTH];
#pragma unroll
            for (int r = 0; r < HEIGHT; ++r) {
#pragma unroll
                for (int c = 0; c < WIDTH; ++c) {
                    const int i = p + GRID_ROWS * r, j = q + GRID_COLUMNS * c;
                    a[r][c] = {0, 0};
                    if (above(r, c) || i >= ORDER || j > i) continue;
                    if (i == j) {
                        a[r][c].x = REAL(scale * ((mine.present[i] ? mine.s[i] + share : lift) - shift));
                    } else {
                        const double2 u = mine.z[i], v = mine.z[j];
                        const float2 entry = mine.upper[row_at(j) + i];
                        a[r][c].x = REAL(scale * (share * (u.x * v.x + u.y * v.y) - entry.x));
                        a[r][c].y = REAL(scale * (share * (u.y * v.x - u.x * v.y) + entry.y));
                    }
                }
            }
            if (factorised(a, mine, p, q)) {
                bound = value;
                break;
            }
        }
        if (member == 0) {
            double* to = found + problem * FIELDS;
            to[0] = bound, to[1] = sum[0], to[2] = sqrt(sum[1]), to[3] = sum[2];
            to[4] = sqrt(sum[3]), to[5] = most[1], to[6] = sum[4], to[7] = sum[5];
        }
    }
}
