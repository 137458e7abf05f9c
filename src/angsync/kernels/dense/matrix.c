/* Parts of a dense matrix of any type and any strides (matrix.h) as rows of doubles. */
#include "matrix.h"
#include "targets.h"
#include <string.h>

#if defined(__GNUC__)
#define ASK(place) __builtin_prefetch(place)
#else
#define ASK(place) (void)(place)
#endif
#define AHEAD 16   /* columns: how far ahead a matrix that lies by columns is asked for */
#define TOGETHER 4 /* columns that are written at a time: a cache line of doubles */

/* What lies side by side in a row. `sign` is that of the imaginary parts. */
#define BY_ROWS(NAME, REAL, PARTS)                                                                                     \
    FAST static void NAME(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *restrict out,\
                          int64_t stride, double sign) {                                                               \
        for (int64_t k = 0; k < rows; k++, out += stride) {                                                            \
            const REAL *restrict from = (const REAL *)entry_at(m, j + k, l);                                           \
            _Pragma("omp simd")                                                                                        \
            for (int64_t c = 0; c < columns; c++) {                                                                    \
                out[2 * c] = (double)from[PARTS * c];                                                                  \
                out[2 * c + 1] = PARTS == 2 ? sign * (double)from[PARTS * c + PARTS - 1] : 0;                          \
            }                                                                                                          \
        }                                                                                                              \
    }

/* What lies side by side in a column, four columns at a time. */
#define BY_COLUMNS(NAME, REAL, PARTS)                                                                                  \
    FAST static void NAME(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *restrict out,\
                          int64_t stride, double sign) {                                                               \
        int64_t lines = ((int64_t)sizeof(REAL) * PARTS * rows + 63) / 64;                                              \
        for (int64_t c = 0; c + TOGETHER <= columns; c += TOGETHER) {                                                  \
            for (int64_t k = 0; k < TOGETHER; k++)                                                                     \
                for (int64_t line = 0; line < lines; line++) ASK(entry_at(m, j, l + c + k + AHEAD) + 64 * line);       \
            const REAL *p = (const REAL *)entry_at(m, j, l + c), *q = (const REAL *)entry_at(m, j, l + c + 1),         \
                       *r = (const REAL *)entry_at(m, j, l + c + 2), *s = (const REAL *)entry_at(m, j, l + c + 3);     \
            for (int64_t k = 0; k < rows; k++) {                                                                       \
                double *to = out + k * stride + 2 * c;                                                                 \
                int64_t im = PARTS * k + PARTS - 1;                                                                    \
                to[0] = (double)p[PARTS * k]; to[1] = PARTS == 2 ? sign * (double)p[im] : 0;                           \
                to[2] = (double)q[PARTS * k]; to[3] = PARTS == 2 ? sign * (double)q[im] : 0;                           \
                to[4] = (double)r[PARTS * k]; to[5] = PARTS == 2 ? sign * (double)r[im] : 0;                           \
                to[6] = (double)s[PARTS * k]; to[7] = PARTS == 2 ? sign * (double)s[im] : 0;                           \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t c = columns / TOGETHER * TOGETHER; c < columns; c++) {                                            \
            const REAL *p = (const REAL *)entry_at(m, j, l + c);                                                       \
            for (int64_t k = 0; k < rows; k++) {                                                                       \
                out[k * stride + 2 * c] = (double)p[PARTS * k];                                                        \
                out[k * stride + 2 * c + 1] = PARTS == 2 ? sign * (double)p[PARTS * k + PARTS - 1] : 0;                \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Any strides. */
#define ANYHOW(NAME, REAL, PARTS)                                                                                      \
    static void NAME(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *restrict out,     \
                     int64_t stride, double sign) {                                                                    \
        for (int64_t k = 0; k < rows; k++, out += stride)                                                              \
            for (int64_t c = 0; c < columns; c++) {                                                                    \
                const REAL *from = (const REAL *)entry_at(m, j + k, l + c);                                            \
                out[2 * c] = (double)from[0];                                                                          \
                out[2 * c + 1] = PARTS == 2 ? sign * (double)from[PARTS - 1] : 0;                                      \
            }                                                                                                          \
    }

#define EVERY_WAY(KIND, REAL, PARTS)                                                                                   \
    BY_ROWS(KIND##_by_rows, REAL, PARTS)                                                                               \
    BY_COLUMNS(KIND##_by_columns, REAL, PARTS)                                                                         \
    ANYHOW(KIND##_anyhow, REAL, PARTS)

EVERY_WAY(complex_double, double, 2)
EVERY_WAY(complex_single, float, 2)
EVERY_WAY(real_double, double, 1)
EVERY_WAY(real_single, float, 1)

void matrix_part(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride) {
    double sign = m->conjugated ? -1 : 1;
#define TAKEN(KIND)                                                                                                    \
    if (m->column == entry_bytes(m)) KIND##_by_rows(m, j, rows, l, columns, out, stride, sign);                        \
    else if (m->row == entry_bytes(m)) KIND##_by_columns(m, j, rows, l, columns, out, stride, sign);                   \
    else KIND##_anyhow(m, j, rows, l, columns, out, stride, sign);                                                     \
    break;
    switch (m->kind) {
    case COMPLEX_DOUBLE: TAKEN(complex_double)
    case COMPLEX_SINGLE: TAKEN(complex_single)
    case REAL_DOUBLE: TAKEN(real_double)
    default: TAKEN(real_single)
    }
}
