/* Products with a dense Hermitian matrix from its upper triangle, for one vector or a few at a time, in double and single
 * precision.
 *
 * One vector waits for memory: every entry is read once and takes four multiplications. A few vectors share one read of
 * the triangle: it goes by in tiles that stay in the first-level cache while each of the vectors is multiplied with them.
 * The sums of a vector are added in the same order whatever vectors are beside it, so its product is the same, bit for
 * bit, as alone.
 *
 * Every thread collects u and v (rows.h) of its own rows; they are added up in the order of the threads, so the
 * result depends on their number alone and not on chance. That is the number asked for: where OpenMP gives fewer
 * (OMP_THREAD_LIMIT, OMP_DYNAMIC), one does the shares of several.
 */
#include "rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE 1024 /* lanes of a tile of the plain path: x, u and v of one vector stay in the first-level cache */

FOUR_ROWS(four_rows_double, double)
FOUR_ROWS(four_rows_single, float)

/* turned = (xr, -xi) and swapped = (xi, xr) of every vector; `work` begins with them, 4 n numbers a vector. */
#define PREPARE(NAME, REAL)                                                                                            \
    static void NAME(int64_t count, const double *x, REAL *turned, REAL *swapped) {                                    \
        for (int64_t l = 0; l < count; l++) {                                                                          \
            turned[2 * l] = swapped[2 * l + 1] = (REAL)x[2 * l];                                                       \
            swapped[2 * l] = (REAL)x[2 * l + 1];                                                                       \
            turned[2 * l + 1] = (REAL)-x[2 * l + 1];                                                                   \
        }                                                                                                              \
    }

/* y_l += conj(C_jl) x_j for all rows j of all threads. */
#define COLLECT(NAME, REAL)                                                                                            \
    static void NAME(int64_t n, int vectors, const REAL *own, double *y, int threads) {                                \
        for (int k = 0; k < threads; k++)                                                                              \
            for (int c = 0; c < vectors; c++) {                                                                        \
                const REAL *u = own + ((int64_t)k * vectors + c) * 4 * n, *v = u + 2 * n;                              \
                double *out = y + 2 * n * c;                                                                           \
                for (int64_t l = 0; l < n; l++) {                                                                      \
                    out[2 * l] += (double)u[2 * l] + (double)v[2 * l + 1];                                             \
                    out[2 * l + 1] += (double)v[2 * l] - (double)u[2 * l + 1];                                         \
                }                                                                                                      \
            }                                                                                                          \
    }

/* y_j += C_jl x_l and y_l += conj(C_jl) x_j within the rows from `first` to `last`; the diagonal once. */
#define CORNER(NAME, REAL)                                                                                             \
    static void NAME(int64_t n, const REAL *C, int64_t first, int64_t last, const double *x, double *y) {              \
        for (int64_t j = first; j < last; j++) {                                                                       \
            const REAL *row = C + 2 * j * n;                                                                           \
            y[2 * j] += (double)row[2 * j] * x[2 * j];                                                                 \
            y[2 * j + 1] += (double)row[2 * j] * x[2 * j + 1];                                                         \
            for (int64_t l = j + 1; l < last; l++) {                                                                   \
                double re = (double)row[2 * l], im = (double)row[2 * l + 1];                                           \
                y[2 * j] += re * x[2 * l] - im * x[2 * l + 1];                                                         \
                y[2 * j + 1] += re * x[2 * l + 1] + im * x[2 * l];                                                     \
                y[2 * l] += re * x[2 * j] + im * x[2 * j + 1];                                                         \
                y[2 * l + 1] += re * x[2 * j + 1] - im * x[2 * j];                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

/* One body for both precisions; x and y are double always. */
#define TRIANGLE_PRODUCT(NAME, REAL, FOUR, PREPARED, COLLECTED, CORNERED)                                              \
    static void NAME(int64_t n, const REAL *C, int vectors, const double *x, double *y, REAL *work, int threads) {     \
        REAL *turned = work, *swapped = work + 2 * n * vectors, *own = work + 4 * n * vectors;                         \
        PREPARED(n * vectors, x, turned, swapped);                                                                     \
        int64_t blocks = n / ROWS;                                                                                     \
        _Pragma("omp parallel for schedule(static, 1) num_threads(threads)")                                           \
        for (int me = 0; me < threads; me++) {                                                                         \
            REAL *mine = own + (int64_t)me * 4 * n * vectors;                                                          \
            memset(mine, 0, sizeof(REAL) * 4 * (size_t)(n * vectors));                                                 \
            for (int64_t b = me; b < blocks; b += threads) {                                                           \
                int64_t j = ROWS * b;                                                                                  \
                for (int c = 0; c < vectors; c++) {                                                                    \
                    memset(y + 2 * (n * c + j), 0, sizeof(double) * 2 * ROWS);                                         \
                    CORNERED(n, C, j, j + ROWS, x + 2 * n * c, y + 2 * n * c);                                         \
                }                                                                                                      \
                for (int64_t t = 2 * (j + ROWS); t < 2 * n; t += TILE) {                                               \
                    int64_t count = 2 * n - t < TILE ? 2 * n - t : TILE;                                               \
                    for (int c = 0; c < vectors; c++) {                                                                \
                        int64_t from = 2 * n * c, at = from + t;                                                       \
                        REAL *u = mine + 2 * from + t, *v = u + 2 * n, given[2 * ROWS];                                \
                        for (int k = 0; k < 2 * ROWS; k++) given[k] = (REAL)x[from + 2 * j + k];                       \
                        FOUR(C + 2 * j * n + t, 2 * n, count, turned + at, swapped + at, u, v, given,                  \
                             y + from + 2 * j);                                                                        \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (int c = 0; c < vectors; c++) {                                                                            \
            memset(y + 2 * (n * c + ROWS * blocks), 0, sizeof(double) * 2 * (size_t)(n - ROWS * blocks));              \
            CORNERED(n, C, ROWS * blocks, n, x + 2 * n * c, y + 2 * n * c);                                            \
        }                                                                                                              \
        COLLECTED(n, vectors, own, y, threads);                                                                        \
    }

PREPARE(prepare_double, double)
PREPARE(prepare_single, float)
COLLECT(collect_double, double)
COLLECT(collect_single, float)
CORNER(corner_double, double)
CORNER(corner_single, float)
TRIANGLE_PRODUCT(apply_plain, double, four_rows_double, prepare_double, collect_double, corner_double)
TRIANGLE_PRODUCT(apply_single, float, four_rows_single, prepare_single, collect_single, corner_single)

#if WITH_AVX512
#define MOST_VECTORS 4 /* at a time */
#define SMALL_TILE 128 /* lanes: eight rows, and x, u and v of four vectors, stay in the first-level cache */

/* Eight rows from j on: by tiles, in each every vector. One vector has one tile, and keeps its sums in registers. u and v
 * of every vector lie one after the other. */
__attribute__((target("avx512f"))) static void rows_avx512(int64_t n, const double *C, int64_t j, int vectors,
                                                           const double *x, const double *turned, const double *swapped,
                                                           double *y, double *both) {
    int64_t right = 2 * (j + MORE_ROWS), end = 2 * n / 8 * 8, tile = vectors == 1 ? 2 * n : SMALL_TILE;
    lane_sums sums[MOST_VECTORS];
    for (int c = 0; c < vectors; c++) {
        memset(y + 2 * (n * c + j), 0, sizeof(double) * 2 * MORE_ROWS);
        corner_double(n, C, j, j + MORE_ROWS, x + 2 * n * c, y + 2 * n * c);
        for (int k = 0; k < MORE_ROWS; k++) sums[c].p[k] = sums[c].q[k] = _mm512_setzero_pd();
    }
    for (int64_t t = right; t < end; t += tile) {
        const double *a = C + 2 * j * n + t;
        int64_t lanes = t + tile < end ? tile : end - t;
        eight_rows(sums, a, 2 * n, lanes, turned + t, swapped + t, both + t, both + 2 * n + t, x + 2 * j, 1);
        for (int c = 1; c < vectors; c++) {
            int64_t from = 2 * n * c, at = from + t;
            double *u = both + from + at;
            eight_rows(sums + c, a, 2 * n, lanes, turned + at, swapped + at, u, u + 2 * n, x + from + 2 * j, 0);
        }
    }
    for (int c = 0; c < vectors; c++)
        for (int k = 0; k < MORE_ROWS; k++) {
            int64_t from = 2 * n * c, row = from + 2 * (j + k);
            double *u = both + 2 * from, *v = u + 2 * n;
            y[row] += _mm512_reduce_add_pd(sums[c].p[k]);
            y[row + 1] += _mm512_reduce_add_pd(sums[c].q[k]);
            for (int64_t l = right > end ? right : end; l < 2 * n; l++) {
                double entry = C[2 * (j + k) * n + l];
                y[row] += entry * turned[from + l];
                y[row + 1] += entry * swapped[from + l];
                u[l] += entry * x[row];
                v[l] += entry * x[row + 1];
            }
        }
}

static void apply_avx512(int64_t n, const double *C, int vectors, const double *x, double *y, double *work, int threads) {
    double *turned = work, *swapped = work + 2 * n * vectors, *own = work + 4 * n * vectors;
    prepare_double(n * vectors, x, turned, swapped);
    int64_t blocks = n / MORE_ROWS;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        double *mine = own + (int64_t)me * 4 * n * vectors;
        memset(mine, 0, sizeof(double) * 4 * (size_t)(n * vectors));
        for (int64_t b = me; b < blocks; b += threads)
            rows_avx512(n, C, MORE_ROWS * b, vectors, x, turned, swapped, y, mine);
    }
    for (int c = 0; c < vectors; c++) {
        memset(y + 2 * (n * c + MORE_ROWS * blocks), 0, sizeof(double) * 2 * (size_t)(n - MORE_ROWS * blocks));
        corner_double(n, C, MORE_ROWS * blocks, n, x + 2 * n * c, y + 2 * n * c);
    }
    collect_double(n, vectors, own, y, threads);
}
#endif

/* y = C x for up to four vectors, one after the other. `work` has (4 + 4 threads) n doubles a vector. */
void dense_block(int64_t n, const double *C, int vectors, const double *x, double *y, double *work, int avx512,
                 int threads) {
#if WITH_AVX512
    if (avx512) {
        apply_avx512(n, C, vectors, x, y, work, threads);
        return;
    }
#endif
    (void)avx512;
    apply_plain(n, C, vectors, x, y, work, threads);
}

/* The same for C in single precision, and its sums with it; `work` has as many floats. */
void dense_block_single(int64_t n, const float *C, int vectors, const double *x, double *y, float *work, int threads) {
    apply_single(n, C, vectors, x, y, work, threads);
}

/* y = C x for one vector. */
void dense_apply(int64_t n, const double *C, const double *x, double *y, double *work, int avx512, int threads) {
    dense_block(n, C, 1, x, y, work, avx512, threads);
}

/* Row j of a small matrix right of the diagonal against column j below it; entries of the column lie `stride` apart. */
FAST static void check_row(int64_t count, const double *restrict row, const double *restrict column, int64_t stride,
                           double *restrict sums, double *own, double *found) {
    double total = 0, largest = found[0], gap = found[1], bad = 0;
#pragma omp simd reduction(+ : total, bad) reduction(max : largest, gap)
    for (int64_t l = 0; l < count; l++) {
        double re = row[2 * l], im = row[2 * l + 1];
        double dr = fabs(re - column[l * stride]), di = fabs(im + column[l * stride + 1]), modulus = sqrt(re * re + im * im);
        double d = dr > di ? dr : di;
        total += modulus;
        sums[l] += modulus;
        bad += 0 * (dr + di);
        largest = modulus > largest ? modulus : largest;
        gap = d > gap ? d : gap;
    }
    *own += total;
    found[0] = largest;
    found[1] = gap;
    found[2] += bad;
}

/* What narrow_inspect finds, without a copy: for matrices that stay in the cache. */
void dense_check(int64_t n, const double *C, double *sums, double *found) {
    memset(sums, 0, sizeof(double) * (size_t)n);
    found[0] = found[1] = found[2] = 0;
    for (int64_t j = 0; j < n; j++) {
        const double *diagonal = C + 2 * (j * n + j);
        double re = fabs(diagonal[0]), im = fabs(diagonal[1]), own = re;
        found[0] = re > found[0] ? re : found[0];
        found[1] = 2 * im > found[1] ? 2 * im : found[1];
        found[2] += 0 * (re + im);
        check_row(n - j - 1, diagonal + 2, diagonal + 2 * n, 2 * n, sums + j + 1, &own, found);
        sums[j] += own;
    }
}

FAST static double sum_of(int64_t count, const double *restrict x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++) sum += x[k];
    return sum;
}

/* Every number read once, each thread its own part: what the other kernels are measured against. */
double dense_read(int64_t count, const double *x, int threads) {
    double total = 0;
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : total)
    for (int64_t me = 0; me < threads; me++) {
        int64_t from = count * me / threads, to = count * (me + 1) / threads;
        total += sum_of(to - from, x + from);
    }
    return total;
}
