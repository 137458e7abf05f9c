/* Products with a dense Hermitian matrix from its upper triangle, in double precision and from a narrow copy.
 *
 * Complex entries lie as (re, im). With lanes taken as they lie, four real sums are enough and nothing is shuffled: for
 * entries a of row j right of the diagonal,
 *     y_j += sum a x:          re = sum a * (xr, -xi),  im = sum a * (xi, xr)        (lane by lane)
 *     y_l += conj(a) x_j:      u += a xr_j,  v += a xi_j;  re = u_even + v_odd,  im = v_even - u_odd
 * so every loop is a plain fused multiply-add over lanes. Four rows share the loads of x, u and v.
 *
 * Every thread collects u and v of its own rows; they are added up in the order of the threads, so the result depends
 * on their number alone and not on chance.
 *
 * The narrow copy holds the upper half of each float32 (bfloat16): 8 bits of mantissa, the range of a float.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define FAST __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FAST
#endif

#define ROWS 4
#define TILE 1024 /* lanes: x, u and v of a tile stay in the first-level cache */

static inline float widen(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* to nearest; ties and infinities do not matter here */
static inline uint16_t narrow(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

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

FAST static void four_rows_narrow(const uint16_t *restrict a, int64_t stride, int64_t count, const float *restrict turned,
                                  const float *restrict swapped, float *restrict u, float *restrict v, const float *x,
                                  double *sums) {
    const uint16_t *a0 = a, *a1 = a + stride, *a2 = a + 2 * stride, *a3 = a + 3 * stride;
    float p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
    float r0 = x[0], i0 = x[1], r1 = x[2], i1 = x[3], r2 = x[4], i2 = x[5], r3 = x[6], i3 = x[7];
#pragma omp simd reduction(+ : p0, p1, p2, p3, q0, q1, q2, q3)
    for (int64_t t = 0; t < count; t++) {
        float b0 = widen(a0[t]), b1 = widen(a1[t]), b2 = widen(a2[t]), b3 = widen(a3[t]), s = turned[t], w = swapped[t];
        p0 += b0 * s; p1 += b1 * s; p2 += b2 * s; p3 += b3 * s;
        q0 += b0 * w; q1 += b1 * w; q2 += b2 * w; q3 += b3 * w;
        u[t] += b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3;
        v[t] += b0 * i0 + b1 * i1 + b2 * i2 + b3 * i3;
    }
    sums[0] += p0; sums[1] += q0; sums[2] += p1; sums[3] += q1;
    sums[4] += p2; sums[5] += q2; sums[6] += p3; sums[7] += q3;
}

/* One body for both precisions: REAL is the type of the vectors, ENTRY that of the matrix. */
#define TRIANGLE_PRODUCT(NAME, REAL, ENTRY, VALUE, FOUR_ROWS)                                                            \
    void NAME(int64_t n, const ENTRY *C, const double *x, double *y, REAL *work, int threads) {                          \
        REAL *given = work, *turned = work + 2 * n, *swapped = work + 4 * n, *own = work + 6 * n;                        \
        for (int64_t l = 0; l < n; l++) {                                                                                \
            given[2 * l] = turned[2 * l] = swapped[2 * l + 1] = (REAL)x[2 * l];                                          \
            given[2 * l + 1] = swapped[2 * l] = (REAL)x[2 * l + 1];                                                      \
            turned[2 * l + 1] = (REAL)-x[2 * l + 1];                                                                     \
        }                                                                                                                \
        int64_t blocks = n / ROWS;                                                                                       \
        _Pragma("omp parallel num_threads(threads)") {                                                                   \
            int me = omp_get_thread_num();                                                                               \
            REAL *u = own + (int64_t)me * 4 * n, *v = u + 2 * n;                                                         \
            memset(u, 0, sizeof(REAL) * 4 * (size_t)n);                                                                  \
            for (int64_t b = me; b < blocks; b += threads) {                                                             \
                int64_t j = ROWS * b;                                                                                    \
                double sums[2 * ROWS] = {0};                                                                             \
                for (int k = 0; k < ROWS; k++) {                                                                         \
                    const ENTRY *row = C + 2 * (j + k) * n;                                                              \
                    double re = (double)VALUE(row[2 * (j + k)]);                                                         \
                    sums[2 * k] += re * x[2 * (j + k)];                                                                  \
                    sums[2 * k + 1] += re * x[2 * (j + k) + 1];                                                          \
                    for (int l = k + 1; l < ROWS; l++) {                                                                 \
                        double cr = (double)VALUE(row[2 * (j + l)]), ci = (double)VALUE(row[2 * (j + l) + 1]);           \
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
            const ENTRY *row = C + 2 * j * n;                                                                            \
            y[2 * j] += (double)VALUE(row[2 * j]) * x[2 * j];                                                            \
            y[2 * j + 1] += (double)VALUE(row[2 * j]) * x[2 * j + 1];                                                    \
            for (int64_t l = j + 1; l < n; l++) {                                                                        \
                double cr = (double)VALUE(row[2 * l]), ci = (double)VALUE(row[2 * l + 1]);                               \
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

#define AS_IT_IS(a) (a)
TRIANGLE_PRODUCT(dense_apply, double, double, AS_IT_IS, four_rows_double)
TRIANGLE_PRODUCT(narrow_apply, float, uint16_t, widen, four_rows_narrow)

#define SIDE 32  /* rows of a strip */
#define LENGTH 256 /* columns of a tile: long enough for the sums, short enough for the second-level cache */

/* One row of a tile against the mirrored one: sums of moduli, largest squared modulus of both, largest squared
 * difference; `bad` stays 0 only while everything is finite. */
FAST static void tile_row(int64_t count, const double *restrict row, const double *restrict mirror, double *restrict sums,
                          double *restrict total, double *restrict largest, double *restrict gap, double *restrict bad) {
    double t = 0, m = 0, g = 0, b = 0;
#pragma omp simd reduction(+ : t, b) reduction(max : m, g)
    for (int64_t l = 0; l < count; l++) {
        double re = row[2 * l], im = row[2 * l + 1], back_re = mirror[2 * l], back_im = mirror[2 * l + 1];
        double dr = re - back_re, di = im + back_im, d = dr * dr + di * di;
        double square = re * re + im * im, other = back_re * back_re + back_im * back_im;
        double modulus = sqrt(square);
        t += modulus;
        sums[l] += modulus;
        b += (square - square) + (other - other);
        m = square > m ? square : m;
        m = other > m ? other : m;
        g = d > g ? d : g;
    }
    *total += t;
    *largest = m > *largest ? m : *largest;
    *gap = g > *gap ? g : *gap;
    *bad += b;
}

FAST static void narrow_row(int64_t lanes, const double *restrict row, double scale, uint16_t *restrict copy) {
#pragma omp simd
    for (int64_t t = 0; t < lanes; t++) copy[t] = narrow((float)(scale * row[t]));
}

/* One pass over C: largest modulus squared, largest |C_jl - conj(C_lj)|^2 with its place, sums of |C_jl| over rows, and
 * the narrow copy of the upper triangle. Not finite shows as a largest modulus that is not a number. `rows` has n doubles
 * for each thread, `found` 4 for each. */
void dense_inspect(int64_t n, const double *C, double scale, uint16_t *copy, double *rows, double *found, int threads) {
    int64_t strips = (n + SIDE - 1) / SIDE;
#pragma omp parallel num_threads(threads)
    {
        int me = omp_get_thread_num();
        double *sums = rows + (int64_t)me * n;
        double largest = 0, gap = 0, at = 0, partner = 0, bad = 0, mirror[2 * SIDE * LENGTH];
        memset(sums, 0, sizeof(double) * (size_t)n);
        for (int64_t a = me; a < strips; a += threads) {
            int64_t j0 = a * SIDE, j1 = j0 + SIDE < n ? j0 + SIDE : n;
            for (int64_t l0 = j0; l0 < n; l0 += LENGTH) {
                int64_t l1 = l0 + LENGTH < n ? l0 + LENGTH : n;
                /* the tile below the diagonal, row by row as it lies, turned over on the way */
                for (int64_t l = l0; l < l1; l++) {
                    const double *below = C + 2 * (l * n + j0);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mirror[2 * (j * LENGTH + l - l0)] = below[2 * j];
                        mirror[2 * (j * LENGTH + l - l0) + 1] = below[2 * j + 1];
                    }
                }
                for (int64_t j = j0; j < j1; j++) {
                    int64_t first = l0 > j ? l0 : j;
                    const double *row = C + 2 * (j * n + first), *turned = mirror + 2 * ((j - j0) * LENGTH + first - l0);
                    double before = gap, own = sums[j];
                    tile_row(l1 - first, row, turned, sums + first, &own, &largest, &gap, &bad);
                    sums[j] = own; /* where the row holds the diagonal it was added twice: here it is once */
                    if (copy) narrow_row(2 * (l1 - first), row, scale, copy + 2 * (j * n + first));
                    if (gap > before) {
                        for (int64_t l = first; l < l1; l++) {
                            double dr = row[2 * (l - first)] - turned[2 * (l - first)];
                            double di = row[2 * (l - first) + 1] + turned[2 * (l - first) + 1];
                            if (dr * dr + di * di == gap) { at = (double)j; partner = (double)l; }
                        }
                    }
                }
            }
        }
        found[4 * me] = bad == 0 ? largest : (double)NAN;
        found[4 * me + 1] = gap;
        found[4 * me + 2] = at;
        found[4 * me + 3] = partner;
    }
}
