// Lower bounds on S(z) = Diag(s) - C over the complement of z by factorization (after proof_measure.cu), for the
// problems where norms are not enough: what batch/proof.h does on the host.
//
// As in proof_reference.py: with u = z / sqrt(m) and a lift t > 0, M = S + t u u^H equals S on the complement of z.
// If the Cholesky factorization of A = M - shift I runs to completion, then M >= shift - g / (1 - g) tr(A) - E, where
// E bounds the rounding of forming A. m counts the nodes that have measurements. All but the factorization is in double
// precision; the factorization is in that of REAL, float or double, with its unit roundoff in g and E.
//
// TEAM = GRID_ROWS x GRID_COLUMNS (the second divides the first): thread (p, q) has the entries
// (p + r GRID_ROWS, q + c GRID_COLUMNS) of A in registers.

constexpr int HEIGHT = (ORDER + GRID_ROWS - 1) / GRID_ROWS;
constexpr int WIDTH = (ORDER + GRID_COLUMNS - 1) / GRID_COLUMNS;
constexpr int TALLER = GRID_ROWS / GRID_COLUMNS;
constexpr double UNIT = sizeof(REAL) == 4 ? 1.0 / (1 << 24) : 1.0 / (1LL << 53);
static_assert(GRID_ROWS % GRID_COLUMNS == 0 && GRID_ROWS * GRID_COLUMNS == TEAM, "see above");

struct Pair {
    REAL x, y;
};

struct alignas(16) Memory : Problem {
    // a column of A, twice: as the threads with row p want it, and as those with column q do
    alignas(16) Pair by_rows[2][GRID_ROWS * HEIGHT];
    alignas(16) Pair by_columns[2][GRID_COLUMNS * (WIDTH + TALLER)];
};

// Cells of a thread that lie above the diagonal whatever the thread: no work, no registers.
constexpr __device__ __forceinline__ bool above(int r, int c) { return GRID_ROWS * (r + 1) <= GRID_COLUMNS * c; }

// good to two units in the last place
__device__ __forceinline__ float reciprocal(float value) { return __fdividef(1.0f, value); }
__device__ __forceinline__ double reciprocal(double value) { return 1 / value; }

// Factorizes A in place, all threads of the team together; true when every pivot is positive. With d the pivot and a
// the column below it, a a^H / d is taken off what is left: the Cholesky factor would be a / sqrt(d), and nobody
// needs it.
__device__ __forceinline__ bool factorized(Pair (&a)[HEIGHT][WIDTH], Memory& mine, int p, int q) {
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
            synchronize();
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

// chosen: which problems, *count of them. shares: the shifts to try, in their order: those above 0 in units of the
// smallest s_j, others in units of a bound on |S|; where the bound is below `far` of the smallest s_j before, that at
// `just_below` comes first. found: (problems, FIELDS); a bound there, the first of the fields, is raised where that
// succeeds. left: the problems whose bound is then from `near` times the largest
// row sum to 0, in any order, and how many (may be null).
extern "C" __global__ void __launch_bounds__(THREADS)
    prove_batch(const Unit* __restrict__ C, const float2* __restrict__ z, const int* __restrict__ chosen,
                const int* __restrict__ count, const double* __restrict__ shares, int attempts, int just_below,
                double far, double near, double* __restrict__ found, int* __restrict__ left, int* __restrict__ left_count) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int member = threadIdx.x % TEAM;
    Memory& mine = reinterpret_cast<Memory*>(shared)[threadIdx.x / TEAM];
    const int p = member % GRID_ROWS, q = member / GRID_ROWS;
    const int end = *count;

    for (int k = blockIdx.x * TEAMS + threadIdx.x / TEAM; k < end; k += gridDim.x * TEAMS) {
        const long long problem = chosen[k];
        synchronize();  // with the problem before
        fetch(mine, C, z, problem, member);
        const Totals total = measure(mine, member, {0, 0});
        synchronize();
        for (int i = member; i < ORDER; i += TEAM) {
            if (!mine.present[i]) mine.z[i] = {0, 0};
        }

        const double nodes = fmax(total.nodes, 1.0);
        double lift = 2 * total.largest + 2 * sqrt(total.gradient / nodes);
        if (!(lift > 0)) lift = 1;
        const double share = lift / nodes;
        const double forming = 8 * UNIT * (total.most + total.largest + 3 * lift);
        // 24 where proof_reference.py has 8: the reciprocal of a pivot, good to two units in the last place
        constexpr double TERMS = 2.0 * ORDER + 24;
        constexpr double G = 1.4142135623730952 * TERMS * UNIT / (1 - TERMS * UNIT);
        constexpr double BACKWARD = G / (1 - G) * (1 + 1e-6);
        // a power of two that brings A near 1, so that nothing over- or underflows
        int exponent = 0;
        frexp(total.most + lift, &exponent);
        const double scale = ldexp(1.0, -exponent);
        double bound = found[problem * FIELDS], failed = __longlong_as_double(0x7ff0000000000000LL);
        for (int attempt = bound < far * total.least ? -1 : 0; attempt < attempts; ++attempt) {
            const double step = shares[attempt < 0 ? just_below : attempt];
            const double shift = step * (step > 0 ? total.least : 2 * total.most + total.largest);
            const double level = total.objective + lift + (ORDER - total.nodes) * lift - ORDER * shift;
            const double value = shift - BACKWARD * fmax(level, 0.0) - forming;
            // would prove nothing, or fail
            if (!(value > bound) || (step > 0 && !(value > 0)) || shift >= failed) continue;
            synchronize();
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
                        const float2 entry = mine.entries()[row_at(j) + i];
                        a[r][c].x = REAL(scale * (share * (u.x * v.x + u.y * v.y) - entry.x));
                        a[r][c].y = REAL(scale * (share * (u.y * v.x - u.x * v.y) + entry.y));
                    }
                }
            }
            if (factorized(a, mine, p, q)) {
                bound = value;
            } else {
                failed = shift;
            }
        }
        if (member == 0) {
            found[problem * FIELDS] = bound;
            if (left && bound <= 0 && bound >= near * total.most) left[atomicAdd(left_count, 1)] = int(problem);
        }
    }
}
