/* Parts of a dense matrix of any type and any strides (matrix.h) as rows of pairs of numbers. */
#include "matrix.h"
#include "simd.h"
#include <stdlib.h>

#if defined(__GNUC__)
typedef VECTOR(double, 16) pair;
typedef VECTOR(float, 8) single_pair;
#endif

/* Entry by entry: the order in which they lie is the inner loop. What comes next is asked for: the columns after these. */
INLINED void entries(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, char *restrict out,
                     int64_t stride, int kind, int single) {
    const int by_rows = llabs(m->column) <= llabs(m->row), number = single ? 4 : 8, sign = m->conjugated ? -1 : 1;
    const int64_t count = by_rows ? columns : rows, step = by_rows ? m->column : m->row;
    const int64_t apart = number * (by_rows ? 2 : stride), after = number * (by_rows ? stride : 2);
    for (int64_t k = 0; k < (by_rows ? rows : columns); k++) {
        const char *from = by_rows ? entry_at(m, j + k, l) : entry_at(m, j, l + k), *next = from + columns * m->column;
        char *to = out + k * after;
        for (int64_t line = 0; line < count * llabs(step); line += 64) ASK(next + (step < 0 ? -line : line), 3);
#if defined(__GNUC__)
        const pair signs = {1, sign};
        const single_pair single_signs = {1, (float)sign};
#pragma GCC unroll 8
        for (int64_t c = 0; kind <= COMPLEX_SINGLE && c < count; c++, from += step, to += apart)
            if (single) *(single_pair *)to = single_signs * *(const single_pair *)from;
            else *(pair *)to = signs * (kind ? CONVERT(*(const single_pair *)from, pair) : *(const pair *)from);
        if (kind <= COMPLEX_SINGLE) continue;
#endif
        for (int64_t c = 0; c < count; c++, from += step, to += apart) {
            const double *wide = (const double *)from;
            const float *narrow = (const float *)from;
            double re = kind % 2 ? (double)narrow[0] : wide[0];
            double im = kind > COMPLEX_SINGLE ? 0.0 : sign * (kind % 2 ? (double)narrow[1] : wide[1]);
            if (single) ((float *)to)[0] = (float)re, ((float *)to)[1] = (float)im;
            else ((double *)to)[0] = re, ((double *)to)[1] = im;
        }
    }
}

void matrix_part(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride) {
    switch (m->kind) {
    case COMPLEX_DOUBLE: entries(m, j, rows, l, columns, (char *)out, stride, COMPLEX_DOUBLE, 0); break;
    case COMPLEX_SINGLE: entries(m, j, rows, l, columns, (char *)out, stride, COMPLEX_SINGLE, 0); break;
    case REAL_DOUBLE: entries(m, j, rows, l, columns, (char *)out, stride, REAL_DOUBLE, 0); break;
    default: entries(m, j, rows, l, columns, (char *)out, stride, REAL_SINGLE, 0);
    }
}

void matrix_own_part(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, char *out, int64_t stride) {
    if (m->kind == COMPLEX_SINGLE) entries(m, j, rows, l, columns, out, stride, COMPLEX_SINGLE, 1);
    else if (m->kind == REAL_SINGLE) entries(m, j, rows, l, columns, out, stride, REAL_SINGLE, 1);
    else matrix_part(m, j, rows, l, columns, (double *)out, stride);
}

double matrix_diagonal(const matrix_t *m, int64_t j) {
    double entry[2] = {0, 0};
    if (!m->hollow) matrix_part(m, j, 1, j, 1, entry, 2);
    return entry[0];
}
