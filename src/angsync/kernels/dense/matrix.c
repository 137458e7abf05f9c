/* Parts of a dense matrix of any type and any strides (matrix.h) as rows of doubles. */
#include "matrix.h"
#include "simd.h"
#include <stdlib.h>

#if defined(__GNUC__)
typedef VECTOR(double, 16) pair;
#endif

/* Entry by entry: the order in which they lie is the inner loop. What comes next is asked for: the columns after these. */
INLINED void entries(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *restrict out,
                     int64_t stride, int kind) {
    const int by_rows = llabs(m->column) <= llabs(m->row);
    const int64_t count = by_rows ? columns : rows, step = by_rows ? m->column : m->row, apart = by_rows ? 2 : stride;
    const double sign[2] = {1, m->conjugated ? -1 : 1};
    for (int64_t k = 0; k < (by_rows ? rows : columns); k++) {
        const char *from = by_rows ? entry_at(m, j + k, l) : entry_at(m, j, l + k), *next = from + columns * m->column;
        double *to = out + k * (by_rows ? stride : 2);
        for (int64_t line = 0; line < count * llabs(step); line += 64) ASK(next + (step < 0 ? -line : line), 3);
#if defined(__GNUC__)
        if (kind == COMPLEX_DOUBLE) {
            const pair signs = {sign[0], sign[1]};
            for (int64_t c = 0; c < count; c++, from += step, to += apart) *(pair *)to = signs * *(const pair *)from;
            continue;
        }
#endif
        for (int64_t c = 0; c < count; c++, from += step, to += apart) {
            const double *wide = (const double *)from;
            const float *narrow = (const float *)from;
            to[0] = sign[0] * (kind % 2 ? (double)narrow[0] : wide[0]);
            to[1] = sign[1] * (kind > COMPLEX_SINGLE ? 0.0 : kind % 2 ? (double)narrow[1] : wide[1]);
        }
    }
}

void matrix_part(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride) {
    switch (m->kind) {
    case COMPLEX_DOUBLE: entries(m, j, rows, l, columns, out, stride, COMPLEX_DOUBLE); break;
    case COMPLEX_SINGLE: entries(m, j, rows, l, columns, out, stride, COMPLEX_SINGLE); break;
    case REAL_DOUBLE: entries(m, j, rows, l, columns, out, stride, REAL_DOUBLE); break;
    default: entries(m, j, rows, l, columns, out, stride, REAL_SINGLE);
    }
}

double matrix_diagonal(const matrix_t *m, int64_t j) {
    double entry[2] = {0, 0};
    if (!m->hollow) matrix_part(m, j, 1, j, 1, entry, 2);
    return entry[0];
}
