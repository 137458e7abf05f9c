/* Parts of a dense matrix of any type and any strides (matrix.h) as rows of doubles. */
#include "matrix.h"
#include "targets.h"
#include <stdlib.h>
#include <string.h>

#define AHEAD 128 /* columns: how far ahead a matrix that lies by columns is asked for, which is one tile of whoever reads it */

#if defined(__GNUC__)
#define ASK(place) __builtin_prefetch(place, 0, 2)
#else
#define ASK(place) (void)(place)
#endif

/* `count` entries, `step` bytes from one to the next, `apart` doubles from one pair to the next. */
#define ONE_BY_ONE(NAME, REAL, PARTS)                                                                                  \
    static void NAME(int64_t count, const char *from, int64_t step, double sign, double *restrict out, int64_t apart) {\
        for (int64_t c = 0; c < count; c++, from += step, out += apart) {                                              \
            const REAL *entry = (const REAL *)from;                                                                    \
            out[0] = (double)entry[0];                                                                                 \
            out[1] = PARTS == 2 ? sign * (double)entry[PARTS - 1] : 0;                                                 \
        }                                                                                                              \
    }

ONE_BY_ONE(one_by_one_complex_double, double, 2)
ONE_BY_ONE(one_by_one_complex_single, float, 2)
ONE_BY_ONE(one_by_one_real_double, double, 1)
ONE_BY_ONE(one_by_one_real_single, float, 1)

/* A row of pairs of numbers that lie side by side. */
#define PAIRS(NAME, REAL)                                                                                              \
    FAST static void NAME(int64_t count, const REAL *restrict from, const double *restrict sign, double *restrict out) {\
        for (int64_t c = 0; c < count; c++) {                                                                          \
            out[2 * c] = sign[0] * (double)from[2 * c];                                                                \
            out[2 * c + 1] = sign[1] * (double)from[2 * c + 1];                                                        \
        }                                                                                                              \
    }

PAIRS(pairs_double, double)
PAIRS(pairs_single, float)

#if WITH_AVX512
/* Four entries that lie side by side. */
__attribute__((target("avx512f"), always_inline)) static inline __m512d four(const char *at, int kind) {
    const __m512i apart = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
    if (kind == COMPLEX_DOUBLE) return _mm512_loadu_pd((const double *)at);
    if (kind == COMPLEX_SINGLE) return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)at));
    __m256d real = kind == REAL_DOUBLE ? _mm256_loadu_pd((const double *)at) : _mm256_cvtps_pd(_mm_loadu_ps((const float *)at));
    return _mm512_maskz_permutexvar_pd(0x55, apart, _mm512_castpd256_pd512(real));
}

/* Four entries that lie `step` bytes apart. */
__attribute__((target("avx512f"), always_inline)) static inline __m512d four_apart(const char *at, int64_t step, int kind) {
    const char *b = at + step, *c = b + step, *d = c + step;
    if (kind == COMPLEX_DOUBLE) {
#define PAIR(p) _mm_loadu_pd((const double *)(p))
        __m256d low = _mm256_insertf128_pd(_mm256_castpd128_pd256(PAIR(at)), PAIR(b), 1),
                high = _mm256_insertf128_pd(_mm256_castpd128_pd256(PAIR(c)), PAIR(d), 1);
#undef PAIR
        return _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
    }
    if (kind == COMPLEX_SINGLE) {
        float pairs[8];
        memcpy(pairs, at, 8); memcpy(pairs + 2, b, 8); memcpy(pairs + 4, c, 8); memcpy(pairs + 6, d, 8);
        return _mm512_cvtps_pd(_mm256_loadu_ps(pairs));
    }
#define NUMBER(p) (kind == REAL_DOUBLE ? *(const double *)(p) : (double)*(const float *)(p))
    return _mm512_set_pd(0, NUMBER(d), 0, NUMBER(c), 0, NUMBER(b), 0, NUMBER(at));
#undef NUMBER
}

/* Four columns of four rows each, turned into four rows of four columns. */
__attribute__((target("avx512f"), always_inline)) static inline void turn_over(__m512d *a) {
    __m512d low0 = _mm512_shuffle_f64x2(a[0], a[1], 0x44), high0 = _mm512_shuffle_f64x2(a[0], a[1], 0xee),
            low1 = _mm512_shuffle_f64x2(a[2], a[3], 0x44), high1 = _mm512_shuffle_f64x2(a[2], a[3], 0xee);
    a[0] = _mm512_shuffle_f64x2(low0, low1, 0x88);
    a[1] = _mm512_shuffle_f64x2(low0, low1, 0xdd);
    a[2] = _mm512_shuffle_f64x2(high0, high1, 0x88);
    a[3] = _mm512_shuffle_f64x2(high0, high1, 0xdd);
}

/* One square of four rows by four columns. */
__attribute__((target("avx512f"), always_inline)) static inline void
square(const matrix_t *m, int64_t j, int64_t l, double *out, int64_t stride, int kind, int by_rows, int apart, __m512d sign) {
    __m512d a[4];
    for (int i = 0; i < 4; i++) {
        const char *at = by_rows ? entry_at(m, j + i, l) : entry_at(m, j, l + i);
        a[i] = apart ? four_apart(at, by_rows ? m->column : m->row, kind) : four(at, kind);
        a[i] = _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(a[i]), _mm512_castpd_si512(sign)));
    }
    if (!by_rows) turn_over(a);
    for (int i = 0; i < 4; i++) _mm512_storeu_pd(out + i * stride, a[i]);
}

/* Whole squares, read along rows or along columns, entries side by side or not; the three last are constants wherever this
 * is inlined. */
__attribute__((target("avx512f"), always_inline)) static inline void
squares(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride, int kind,
        int by_rows, int apart) {
    const __m512d sign = _mm512_castsi512_pd(_mm512_maskz_set1_epi64(m->conjugated ? 0xaa : 0, INT64_MIN));
    const int64_t step = by_rows ? m->column : m->row, lines = (llabs(step) * rows + 63) / 64;
    if (by_rows) {
        for (int64_t k = 0; k < rows; k += 4)
            for (int64_t c = 0; c < columns; c += 4) {
                for (int64_t i = 0; i < 4; i++) {
                    const char *next = entry_at(m, j + k + i, l + c + columns);
                    for (int64_t line = 0; line < 4 * llabs(step); line += 64) ASK(next + (step < 0 ? -line : line));
                }
                square(m, j + k, l + c, out + k * stride + 2 * c, stride, kind, 1, apart, sign);
            }
        return;
    }
    for (int64_t c = 0; c < columns; c += 4) {
        for (int64_t k = 0; k < 4; k++) {
            const char *next = entry_at(m, step < 0 ? j + rows - 1 : j, l + c + k + AHEAD);
            for (int64_t line = 0; line < lines; line++) ASK(next + 64 * line);
        }
        for (int64_t k = 0; k < rows; k += 4) square(m, j + k, l + c, out + k * stride + 2 * c, stride, kind, 0, apart, sign);
    }
}

__attribute__((target("avx512f"))) static void
squares_of(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride) {
    int by_rows = llabs(m->column) <= llabs(m->row), apart = (by_rows ? m->column : m->row) != entry_bytes(m);
#define SQUARES(KIND, ROWS, APART) squares(m, j, rows, l, columns, out, stride, KIND, ROWS, APART)
#define EITHER(KIND)                                                                                                   \
    if (apart) by_rows ? SQUARES(KIND, 1, 1) : SQUARES(KIND, 0, 1);                                                    \
    else by_rows ? SQUARES(KIND, 1, 0) : SQUARES(KIND, 0, 0);                                                          \
    break;
    switch (m->kind) {
    case COMPLEX_DOUBLE: EITHER(COMPLEX_DOUBLE)
    case COMPLEX_SINGLE: EITHER(COMPLEX_SINGLE)
    case REAL_DOUBLE: EITHER(REAL_DOUBLE)
    default: EITHER(REAL_SINGLE)
    }
#undef EITHER
#undef SQUARES
}
#endif

/* Entry by entry: the order in which they lie is the inner loop. */
static void one_by_one(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride) {
    double sign = m->conjugated ? -1 : 1;
    void (*const take[4])(int64_t, const char *, int64_t, double, double *, int64_t) = {
        one_by_one_complex_double, one_by_one_complex_single, one_by_one_real_double, one_by_one_real_single};
    if (llabs(m->row) < llabs(m->column))
        for (int64_t c = 0; c < columns; c++) take[m->kind](rows, entry_at(m, j, l + c), m->row, sign, out + 2 * c, stride);
    else
        for (int64_t k = 0; k < rows; k++) take[m->kind](columns, entry_at(m, j + k, l), m->column, sign, out + k * stride, 2);
}

void matrix_part(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride) {
    if (m->column == entry_bytes(m) && m->kind <= COMPLEX_SINGLE) {
        double sign[2] = {1, m->conjugated ? -1 : 1};
        for (int64_t k = 0; k < rows; k++) {
            const char *next = entry_at(m, j + k, l + columns);
            for (int64_t line = 0; line < columns * entry_bytes(m); line += 64) ASK(next + line);
            if (m->kind == COMPLEX_SINGLE) pairs_single(columns, (const float *)entry_at(m, j + k, l), sign, out + k * stride);
            else pairs_double(columns, (const double *)entry_at(m, j + k, l), sign, out + k * stride);
        }
        return;
    }
#if WITH_AVX512
    if (__builtin_cpu_supports("avx512f")) {
        int64_t tall = rows / 4 * 4, wide = columns / 4 * 4;
        if (tall && wide) squares_of(m, j, tall, l, wide, out, stride);
        else tall = wide = 0;
        if (wide < columns) one_by_one(m, j, tall, l + wide, columns - wide, out + 2 * wide, stride);
        if (tall < rows) one_by_one(m, j + tall, rows - tall, l, columns, out + tall * stride, stride);
        return;
    }
#endif
    one_by_one(m, j, rows, l, columns, out, stride);
}

double matrix_diagonal(const matrix_t *m, int64_t j) {
    double entry[2] = {0, 0};
    if (!m->hollow) matrix_part(m, j, 1, j, 1, entry, 2);
    return entry[0];
}
