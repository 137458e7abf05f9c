/* The real part of a dense Hermitian matrix in the gauge of z, R_jl = Re(conj(z_j) C_jl z_l): one triangle of real numbers,
 * made in one pass, and the product y = R t with real t. It moves half of what a product with C does.
 *
 * From a narrow copy of C (narrow.h) the triangle is narrow as well: blocks of ROWS rows by SEGMENT columns in the same
 * order, 16 bits a number, a scale for every row of a block. From C itself it is as wide as the parts of C, and a row runs
 * through: four rows from the segment of the diagonal on, one after the other. What lies on or below the diagonal, or
 * outside the matrix, is 0; the diagonal is that of C, in double precision.
 *
 * R is symmetric: for entries a of row j right of the diagonal, y_j += sum a t_l, and u_l += a t_j. Every thread collects u
 * of its own rows; they are added up in the order of the threads, so the result depends on their number alone. That is
 * the number asked for: where OpenMP gives fewer, one does the shares of several.
 */
#include "matrix.h"
#include "narrow.h"
#include <math.h>
#include <string.h>

#define PART (ROWS * SEGMENT) /* numbers in a block of the triangle */
#define PAIRED (SEGMENT / 2)  /* columns from the first to the second number of a word */
#define WHOLE 12582912.0f    /* 1.5 * 2^23: added and taken away, it rounds a float of modest size to a whole number */

/* One row of a block: 128 entries of C as (re, im) in units of `scale`, turned by conj(z_j) and z_l; its own scale. Of the
 * two numbers in a word the second belongs to a column PAIRED after that of the first, so that products shuffle nothing. */
static float rotate_row(const int16_t *a, float scale, float zr, float zi, const float *re, const float *im, int16_t *out) {
    float r[SEGMENT], most = 0;
    floats xr = EACH(floats, zr), xi = EACH(floats, zi);
    for (int l = 0; l < SEGMENT; l += FLOATS) {
        ints words = *(const ints *)(a + 2 * l);
        floats u = *(const floats *)(re + l), v = *(const floats *)(im + l);
        *(floats *)(r + l) = FIRST(words) * (xr * u + xi * v) - SECOND(words) * (xr * v - xi * u);
    }
#pragma omp simd reduction(max : most)
    for (int l = 0; l < SEGMENT; l++) most = fabsf(r[l]) > most ? fabsf(r[l]) : most;
    float inverse = most * scale > (float)STORED_AS_ZERO ? 32767 / most : 0.0f;
#pragma omp simd
    for (int l = 0; l < SEGMENT; l++) r[l] = r[l] * inverse + WHOLE - WHOLE;
    for (int l = 0; l < PAIRED; l += FLOATS)
        *(ints *)(out + 2 * l) = WORDS(CONVERT(*(floats *)(r + l), ints), CONVERT(*(floats *)(r + l + PAIRED), ints));
    return inverse > 0 ? most * scale / 32767 : 0.0f;
}

/* Four rows of blocks of the narrow triangle: their sums over the rows, and what they add to the columns. */
static void row_of_blocks(int64_t count, const int16_t *restrict a, const float *restrict scale, const float *restrict t,
                          float *restrict u, const float *own, double *sums) {
    floats P[ROWS];
    for (int k = 0; k < ROWS; k++) P[k] = EACH(floats, 0.0f);
    for (int64_t s = 0; s < count; s++, a += PART, scale += ROWS, t += SEGMENT, u += SEGMENT) {
        floats p[ROWS], by[ROWS];
        for (int k = 0; k < ROWS; k++) {
            p[k] = EACH(floats, 0.0f);
            by[k] = EACH(floats, scale[k] * own[k]);
        }
        for (int l = 0; l < PAIRED; l += FLOATS) {
            floats f = *(const floats *)(t + l), g = *(const floats *)(t + l + PAIRED);
            floats c = *(const floats *)(u + l), d = *(const floats *)(u + l + PAIRED);
            for (int line = 0; line < 2 * ROWS * FLOATS; line += 32) ASK((const char *)(a + 2 * ROWS * l + line) + AHEAD, 3);
            for (int k = 0; k < ROWS; k++) {
                ints words = *(const ints *)(a + k * SEGMENT + 2 * l);
                floats b = FIRST(words), e = SECOND(words);
                p[k] += b * f;
                p[k] += e * g;
                c += b * by[k];
                d += e * by[k];
            }
            *(floats *)(u + l) = c;
            *(floats *)(u + l + PAIRED) = d;
        }
        for (int k = 0; k < ROWS; k++) P[k] += EACH(floats, scale[k]) * p[k];
    }
    for (int k = 0; k < ROWS; k++) sums[k] = sum_of_floats(P[k]);
}

/* The narrow triangle from the narrow copy. `work` has 2 N floats, where N is n rounded up to a multiple of SEGMENT. */
void rotated_form(int64_t n, const int16_t *copy, const float *copy_scale, const double *z, int16_t *triangle, float *scale,
                  float *work, int threads) {
    int64_t count = segments_of(n), padded = SEGMENT * count, blocks = (n + ROWS - 1) / ROWS;
    float *re = work, *im = work + padded;
    for (int64_t l = 0; l < padded; l++) {
        re[l] = l < n ? (float)z[2 * l] : 0.0f;
        im[l] = l < n ? (float)z[2 * l + 1] : 0.0f;
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++)
        for (int64_t b = me; b < blocks; b += threads) {
            int64_t first = ROWS * b / SEGMENT, at = blocks_before(n, b);
            for (int64_t s = first; s < count; s++, at++)
                for (int64_t k = 0; k < ROWS; k++) {
                    const int16_t *a = copy + at * BLOCK + k * LANES;
                    const float *u = re + s * SEGMENT, *v = im + s * SEGMENT;
                    float unit = copy_scale[at * ROWS + k], zr = re[ROWS * b + k], zi = im[ROWS * b + k];
                    int16_t *out = triangle + at * PART + k * SEGMENT;
                    scale[at * ROWS + k] = rotate_row(a, unit, zr, zi, u, v, out);
                }
        }
}

/* y = R t from the narrow triangle, summed in single precision. `work` has (1 + threads) N floats. */
void rotated_product(int64_t n, const int16_t *triangle, const float *scale, const double *diagonal, const double *t,
                     double *y, float *work, int threads) {
    int64_t count = segments_of(n), padded = SEGMENT * count, blocks = (n + ROWS - 1) / ROWS;
    float *given = work;
    for (int64_t l = 0; l < padded; l++) given[l] = l < n ? (float)t[l] : 0.0f;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        float *u = work + (me + 1) * padded;
        memset(u, 0, sizeof(float) * (size_t)padded);
        for (int64_t b = me; b < blocks; b += threads) {
            int64_t j = ROWS * b, first = j / SEGMENT, at = blocks_before(n, b), shift = first * SEGMENT;
            const int16_t *a = triangle + at * PART;
            double sums[ROWS];
            row_of_blocks(count - first, a, scale + at * ROWS, given + shift, u + shift, given + j, sums);
            for (int64_t k = 0; k < ROWS && j + k < n; k++) y[j + k] = sums[k] + diagonal[j + k] * t[j + k];
        }
    }
    for (int k = 0; k < threads; k++)
        for (int64_t l = 0; l < n; l++) y[l] += (double)work[(k + 1) * padded + l];
}

/* Entries of C right of the diagonal in the gauge of z. */
#define FORM_ROW(NAME, REAL)                                                                                           \
    static void NAME(int64_t count, const double *restrict c, double zr, double zi, const double *restrict z,     \
                          REAL *restrict out) {                                                                        \
        _Pragma("omp simd")                                                                                            \
        for (int64_t l = 0; l < count; l++)                                                                            \
            out[l] = (REAL)(c[2 * l] * (zr * z[2 * l] + zi * z[2 * l + 1])                                             \
                            - c[2 * l + 1] * (zr * z[2 * l + 1] - zi * z[2 * l]));                                     \
    }

FORM_ROW(form_row_double, double)
FORM_ROW(form_row_single, float)

/* The same from C itself, in its precision or in single precision: one body for both. To make it takes 2 n doubles of
 * `work` for each thread; a product (1 + threads) N numbers. */
#define ROTATED(ROW, FORM, FOUR_ROWS, PRODUCT, REAL)                                                                   \
    void FORM(int64_t n, const matrix_t *C, const double *z, REAL *triangle, double *diagonal, double *work,           \
              int threads) {                                                                                           \
        int64_t padded = SEGMENT * segments_of(n), blocks = (n + ROWS - 1) / ROWS;                                     \
        int in_place = is_direct(C) && C->kind == COMPLEX_DOUBLE;                                                      \
        _Pragma("omp parallel for schedule(static, 1) num_threads(threads)")                                           \
        for (int me = 0; me < threads; me++)                                                                           \
            for (int64_t b = me; b < blocks; b += threads)                                                             \
                for (int64_t j = ROWS * b; j < ROWS * (b + 1); j++) {                                                  \
                    int64_t from = j / SEGMENT * SEGMENT, right = j + 1 < n ? j + 1 : n, length = padded - from;       \
                    REAL *row = triangle + blocks_before(n, b) * PART + (j - ROWS * b) * length - from;                \
                    memset(row + from, 0, sizeof(REAL) * (size_t)(right - from));                                      \
                    memset(row + n, 0, sizeof(REAL) * (size_t)(padded - n));                                           \
                    if (j >= n) continue;                                                                              \
                    double *own = work + 2 * n * me;                                                                   \
                    const double *given = in_place ? (const double *)entry_at(C, j, j) : own;                          \
                    if (!in_place) matrix_part(C, j, 1, j, n - j, own, 2 * n);                                         \
                    diagonal[j] = C->hollow ? 0 : given[0];                                                            \
                    ROW(n - right, given + 2 * (right - j), z[2 * j], z[2 * j + 1], z + 2 * right, row + right);       \
                }                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static void FOUR_ROWS(int64_t count, const REAL *restrict a, const REAL *restrict t, REAL *restrict u,        \
                               const REAL *own, double *sums) {                                                        \
        const REAL *a0 = a, *a1 = a + count, *a2 = a1 + count, *a3 = a2 + count;                                       \
        REAL p0 = 0, p1 = 0, p2 = 0, p3 = 0, r0 = own[0], r1 = own[1], r2 = own[2], r3 = own[3];                       \
        _Pragma("omp simd reduction(+ : p0, p1, p2, p3)")                                                              \
        for (int64_t l = 0; l < count; l++) {                                                                          \
            REAL b0 = a0[l], b1 = a1[l], b2 = a2[l], b3 = a3[l], f = t[l];                                             \
            p0 += b0 * f; p1 += b1 * f; p2 += b2 * f; p3 += b3 * f;                                                    \
            u[l] += b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3;                                                             \
        }                                                                                                              \
        sums[0] = (double)p0; sums[1] = (double)p1; sums[2] = (double)p2; sums[3] = (double)p3;                        \
    }                                                                                                                  \
                                                                                                                       \
    void PRODUCT(int64_t n, const REAL *triangle, const double *diagonal, const double *t, double *y, REAL *work,      \
                 int threads) {                                                                                        \
        int64_t padded = SEGMENT * segments_of(n), blocks = (n + ROWS - 1) / ROWS;                                     \
        REAL *given = work;                                                                                            \
        for (int64_t l = 0; l < padded; l++) given[l] = l < n ? (REAL)t[l] : 0;                                        \
        _Pragma("omp parallel for schedule(static, 1) num_threads(threads)")                                           \
        for (int me = 0; me < threads; me++) {                                                                         \
            REAL *u = work + (me + 1) * padded;                                                                        \
            memset(u, 0, sizeof(REAL) * (size_t)padded);                                                               \
            for (int64_t b = me; b < blocks; b += threads) {                                                           \
                int64_t j = ROWS * b, from = j / SEGMENT * SEGMENT;                                                    \
                double sums[ROWS];                                                                                     \
                FOUR_ROWS(padded - from, triangle + blocks_before(n, b) * PART, given + from, u + from, given + j,     \
                          sums);                                                                                       \
                for (int64_t k = 0; k < ROWS && j + k < n; k++) y[j + k] = sums[k] + diagonal[j + k] * t[j + k];       \
            }                                                                                                          \
        }                                                                                                              \
        for (int k = 0; k < threads; k++)                                                                              \
            for (int64_t l = 0; l < n; l++) y[l] += (double)work[(k + 1) * padded + l];                                \
    }

ROTATED(form_row_double, rotated_form_double, four_rows_double, rotated_product_double, double)
ROTATED(form_row_single, rotated_form_single, four_rows_single, rotated_product_single, float)
