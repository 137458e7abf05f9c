/* Products with a dense Hermitian matrix from its upper triangle, in double and single precision.
 *
 * Complex entries lie as (re, im). With lanes taken as they lie, four real sums are enough and nothing is shuffled: for
 * entries a of row j right of the diagonal,
 *     y_j += sum a x:          re = sum a * (xr, -xi),  im = sum a * (xi, xr)        (lane by lane)
 *     y_l += conj(a) x_j:      u += a xr_j,  v += a xi_j;  re = u_even + v_odd,  im = v_even - u_odd
 * so every loop is a plain fused multiply-add over lanes. Four rows share the loads of x, u and v.
 *
 * Every thread collects u and v of its own rows; they are added up in the order of the threads, so the result depends
 * on their number alone and not on chance. That is the number asked for: where OpenMP gives fewer (OMP_THREAD_LIMIT,
 * OMP_DYNAMIC), one does the shares of several.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define FAST __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#define WITH_AVX512 1
#include <immintrin.h>
#else
#define FAST
#define WITH_AVX512 0
#endif

#define ROWS 4
#define TILE 1024 /* lanes: x, u and v of a tile stay in the first-level cache */

FAST static void four_rows_double(const double *restrict a, int64_t stride, int64_t count, const double *restrict turned,
                                  const double *restrict swapped, double *restrict u, double *restrict v,
                                  const double *x, double *sums) {
    const double *a0 = a, *a1 = a + stride, *a2 = a + 2 * stride, *a3 = a + 3 * stride;
    double p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
    double r0 = x[0], i0 = x[1], r1 = x[2], i1 = x[3], r2 = x[4], i2 = x[5], r3 = x[6], i3 = x[7];
#pragma omp simd reduction(+ : p0, p1, p2, p3, q0, q1, q2, q3)
    for (int64_t t = 0; t < count; t++) {
        double b0 = a0[t], b1 = a1[t], b2 = a2[t], b3 = a3[t], s = turned[t], w = swapped[t];
        p0 += b0 * s; p1 += b1 * s; p2 += b2 * s; p3 += b3 * s;
        q0 += b0 * w; q1 += b1 * w; q2 += b2 * w; q3 += b3 * w;
        u[t] += b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3;
        v[t] += b0 * i0 + b1 * i1 + b2 * i2 + b3 * i3;
    }
    sums[0] += p0; sums[1] += q0; sums[2] += p1; sums[3] += q1;
    sums[4] += p2; sums[5] += q2; sums[6] += p3; sums[7] += q3;
}

FAST static void four_rows_single(const float *restrict a, int64_t stride, int64_t count, const float *restrict turned,
                                  const float *restrict swapped, float *restrict u, float *restrict v,
                                  const float *x, double *sums) {
    const float *a0 = a, *a1 = a + stride, *a2 = a + 2 * stride, *a3 = a + 3 * stride;
    float p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
    float r0 = x[0], i0 = x[1], r1 = x[2], i1 = x[3], r2 = x[4], i2 = x[5], r3 = x[6], i3 = x[7];
#pragma omp simd reduction(+ : p0, p1, p2, p3, q0, q1, q2, q3)
    for (int64_t t = 0; t < count; t++) {
        float b0 = a0[t], b1 = a1[t], b2 = a2[t], b3 = a3[t], s = turned[t], w = swapped[t];
        p0 += b0 * s; p1 += b1 * s; p2 += b2 * s; p3 += b3 * s;
        q0 += b0 * w; q1 += b1 * w; q2 += b2 * w; q3 += b3 * w;
        u[t] += b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3;
        v[t] += b0 * i0 + b1 * i1 + b2 * i2 + b3 * i3;
    }
    sums[0] += p0; sums[1] += q0; sums[2] += p1; sums[3] += q1;
    sums[4] += p2; sums[5] += q2; sums[6] += p3; sums[7] += q3;
}

/* One body for both precisions; x and y are double always. */
#define TRIANGLE_PRODUCT(NAME, REAL, FOUR_ROWS)                                                            \
    void NAME(int64_t n, const REAL *C, const double *x, double *y, REAL *work, int threads) {                          \
        REAL *given = work, *turned = work + 2 * n, *swapped = work + 4 * n, *own = work + 6 * n;                        \
        for (int64_t l = 0; l < n; l++) {                                                                                \
            given[2 * l] = turned[2 * l] = swapped[2 * l + 1] = (REAL)x[2 * l];                                          \
            given[2 * l + 1] = swapped[2 * l] = (REAL)x[2 * l + 1];                                                      \
            turned[2 * l + 1] = (REAL)-x[2 * l + 1];                                                                     \
        }                                                                                                                \
        int64_t blocks = n / ROWS;                                                                                       \
        _Pragma("omp parallel for schedule(static, 1) num_threads(threads)")                                             \
        for (int me = 0; me < threads; me++) {                                                                           \
            REAL *u = own + (int64_t)me * 4 * n, *v = u + 2 * n;                                                         \
            memset(u, 0, sizeof(REAL) * 4 * (size_t)n);                                                                  \
            for (int64_t b = me; b < blocks; b += threads) {                                                             \
                int64_t j = ROWS * b;                                                                                    \
                double sums[2 * ROWS] = {0};                                                                             \
                for (int k = 0; k < ROWS; k++) {                                                                         \
                    const REAL *row = C + 2 * (j + k) * n;                                                              \
                    double re = (double)(row[2 * (j + k)]);                                                         \
                    sums[2 * k] += re * x[2 * (j + k)];                                                                  \
                    sums[2 * k + 1] += re * x[2 * (j + k) + 1];                                                          \
                    for (int l = k + 1; l < ROWS; l++) {                                                                 \
                        double cr = (double)(row[2 * (j + l)]), ci = (double)(row[2 * (j + l) + 1]);           \
                        double ar = x[2 * (j + l)], ai = x[2 * (j + l) + 1], br = x[2 * (j + k)], bi = x[2 * (j + k) + 1]; \
                        sums[2 * k] += cr * ar - ci * ai;                                                                \
                        sums[2 * k + 1] += cr * ai + ci * ar;                                                            \
                        sums[2 * l] += cr * br + ci * bi;                                                                \
                        sums[2 * l + 1] += cr * bi - ci * br;                                                            \
                    }                                                                                                    \
                }                                                                                                        \
                for (int64_t t = 2 * (j + ROWS); t < 2 * n; t += TILE) {                                                 \
                    int64_t count = 2 * n - t < TILE ? 2 * n - t : TILE;                                                 \
                    FOUR_ROWS(C + 2 * j * n + t, 2 * n, count, turned + t, swapped + t, u + t, v + t, given + 2 * j, sums); \
                }                                                                                                        \
                for (int k = 0; k < 2 * ROWS; k++) y[2 * j + k] = sums[k];                                               \
            }                                                                                                            \
        }                                                                                                                \
        for (int64_t j = ROWS * blocks; j < n; j++) y[2 * j] = y[2 * j + 1] = 0;                                         \
        for (int64_t j = ROWS * blocks; j < n; j++) {                                                                    \
            const REAL *row = C + 2 * j * n;                                                                            \
            y[2 * j] += (double)(row[2 * j]) * x[2 * j];                                                            \
            y[2 * j + 1] += (double)(row[2 * j]) * x[2 * j + 1];                                                    \
            for (int64_t l = j + 1; l < n; l++) {                                                                        \
                double cr = (double)(row[2 * l]), ci = (double)(row[2 * l + 1]);                               \
                y[2 * j] += cr * x[2 * l] - ci * x[2 * l + 1];                                                           \
                y[2 * j + 1] += cr * x[2 * l + 1] + ci * x[2 * l];                                                       \
                y[2 * l] += cr * x[2 * j] + ci * x[2 * j + 1];                                                           \
                y[2 * l + 1] += cr * x[2 * j + 1] - ci * x[2 * j];                                                       \
            }                                                                                                            \
        }                                                                                                                \
        for (int k = 0; k < threads; k++) {                                                                              \
            const REAL *u = own + (int64_t)k * 4 * n, *v = u + 2 * n;                                                    \
            for (int64_t l = 0; l < n; l++) {                                                                            \
                y[2 * l] += (double)u[2 * l] + (double)v[2 * l + 1];                                                     \
                y[2 * l + 1] += (double)v[2 * l] - (double)u[2 * l + 1];                                                 \
            }                                                                                                            \
        }                                                                                                                \
    }

TRIANGLE_PRODUCT(apply_plain, double, four_rows_double)
TRIANGLE_PRODUCT(dense_apply_single, float, four_rows_single)

#if WITH_AVX512
#define MORE_ROWS 8 /* half the traffic of u and v that four rows make */
#define AHEAD 1024  /* bytes: how far ahead of the product C is asked for */

__attribute__((target("avx512f"))) static void eight_rows(const double *a, int64_t stride, int64_t count, const double *turned,
                                                         const double *swapped, double *u, double *v, const double *x,
                                                         double *sums) {
    __m512d p[MORE_ROWS], q[MORE_ROWS];
    for (int k = 0; k < MORE_ROWS; k++) p[k] = q[k] = _mm512_setzero_pd();
    int64_t t = 0;
    for (; t + 8 <= count; t += 8) {
        __m512d f = _mm512_loadu_pd(turned + t), g = _mm512_loadu_pd(swapped + t), c = _mm512_loadu_pd(u + t),
                d = _mm512_loadu_pd(v + t);
#define ROW(k) \
    { \
        __m512d b = _mm512_loadu_pd(a + k * stride + t); \
        _mm_prefetch((const char *)(a + k * stride + t) + AHEAD, _MM_HINT_T0); \
        p[k] = _mm512_fmadd_pd(b, f, p[k]); \
        q[k] = _mm512_fmadd_pd(b, g, q[k]); \
        c = _mm512_fmadd_pd(b, _mm512_set1_pd(x[2 * k]), c); \
        d = _mm512_fmadd_pd(b, _mm512_set1_pd(x[2 * k + 1]), d); \
    }
        ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
#undef ROW
        _mm512_storeu_pd(u + t, c);
        _mm512_storeu_pd(v + t, d);
    }
    for (int k = 0; k < MORE_ROWS; k++) {
        sums[2 * k] += _mm512_reduce_add_pd(p[k]);
        sums[2 * k + 1] += _mm512_reduce_add_pd(q[k]);
        for (int64_t l = t; l < count; l++) {
            double b = a[k * stride + l];
            sums[2 * k] += b * turned[l];
            sums[2 * k + 1] += b * swapped[l];
            u[l] += b * x[2 * k];
            v[l] += b * x[2 * k + 1];
        }
    }
}

/* y_j += C_jl x_l and y_l += conj(C_jl) x_j within the rows from `first` to `last`; the diagonal once. */
static void corner(int64_t n, const double *C, int64_t first, int64_t last, const double *x, double *y) {
    for (int64_t j = first; j < last; j++) {
        const double *row = C + 2 * j * n;
        y[2 * j] += row[2 * j] * x[2 * j];
        y[2 * j + 1] += row[2 * j] * x[2 * j + 1];
        for (int64_t l = j + 1; l < last; l++) {
            double re = row[2 * l], im = row[2 * l + 1];
            y[2 * j] += re * x[2 * l] - im * x[2 * l + 1];
            y[2 * j + 1] += re * x[2 * l + 1] + im * x[2 * l];
            y[2 * l] += re * x[2 * j] + im * x[2 * j + 1];
            y[2 * l + 1] += re * x[2 * j + 1] - im * x[2 * j];
        }
    }
}

static void apply_avx512(int64_t n, const double *C, const double *x, double *y, double *work, int threads) {
    double *turned = work, *swapped = work + 2 * n, *own = work + 4 * n;
    for (int64_t l = 0; l < n; l++) {
        turned[2 * l] = swapped[2 * l + 1] = x[2 * l];
        swapped[2 * l] = x[2 * l + 1];
        turned[2 * l + 1] = -x[2 * l + 1];
    }
    int64_t blocks = n / MORE_ROWS;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        double *u = own + (int64_t)me * 4 * n, *v = u + 2 * n;
        memset(u, 0, sizeof(double) * 4 * (size_t)n);
        for (int64_t b = me; b < blocks; b += threads) {
            int64_t j = MORE_ROWS * b, right = 2 * (j + MORE_ROWS);
            memset(y + 2 * j, 0, sizeof(double) * 2 * MORE_ROWS);
            corner(n, C, j, j + MORE_ROWS, x, y);
            eight_rows(C + 2 * j * n + right, 2 * n, 2 * n - right, turned + right, swapped + right, u + right, v + right,
                       x + 2 * j, y + 2 * j);
        }
    }
    memset(y + 2 * MORE_ROWS * blocks, 0, sizeof(double) * 2 * (size_t)(n - MORE_ROWS * blocks));
    corner(n, C, MORE_ROWS * blocks, n, x, y);
    for (int k = 0; k < threads; k++) {
        const double *u = own + (int64_t)k * 4 * n, *v = u + 2 * n;
        for (int64_t l = 0; l < n; l++) {
            y[2 * l] += u[2 * l] + v[2 * l + 1];
            y[2 * l + 1] += v[2 * l] - u[2 * l + 1];
        }
    }
}
#endif

/* y = C x. `work` has (6 + 4 threads) n doubles. */
void dense_apply(int64_t n, const double *C, const double *x, double *y, double *work, int avx512, int threads) {
#if WITH_AVX512
    if (avx512) {
        apply_avx512(n, C, x, y, work, threads);
        return;
    }
#endif
    (void)avx512;
    apply_plain(n, C, x, y, work, threads);
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
