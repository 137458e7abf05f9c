/* A dense Hermitian matrix as it lies in memory, of any type and any strides: its upper triangle is the problem, and what
 * lies below the diagonal is at most compared with it. In Python: Matrix in source.py. */
#ifndef ANGSYNC_MATRIX_H
#define ANGSYNC_MATRIX_H

#include <stdint.h>

enum { COMPLEX_DOUBLE = 0, COMPLEX_SINGLE = 1, REAL_DOUBLE = 2, REAL_SINGLE = 3 };

typedef struct {
    const char *at;      /* the first entry */
    int64_t row, column; /* bytes from one row to the next, and from one column to the next; either may be negative */
    int32_t kind;
    int32_t conjugated; /* the entries of the problem are the conjugates of what lies there */
    int32_t hollow;     /* the diagonal counts as 0 */
} matrix_t;

static inline int64_t entry_bytes(const matrix_t *m) {
    return m->kind == COMPLEX_DOUBLE ? 16 : m->kind == REAL_SINGLE ? 4 : 8;
}

static inline const char *entry_at(const matrix_t *m, int64_t j, int64_t l) { return m->at + j * m->row + l * m->column; }

/* Whether rows are read where they lie, as pairs of doubles or of floats. */
static inline int is_direct(const matrix_t *m) {
    return m->kind <= COMPLEX_SINGLE && !m->conjugated && m->column == entry_bytes(m);
}

/* The matrix with rows and columns exchanged. */
static inline matrix_t transposed(const matrix_t *m) {
    matrix_t other = {m->at, m->column, m->row, m->kind, m->conjugated, m->hollow};
    return other;
}

/* The diagonal entry of a row: 0 in a matrix without a diagonal. */
double matrix_diagonal(const matrix_t *m, int64_t j);

/* Rows j to j + rows and columns l to l + columns as (re, im), each row of `out` `stride` doubles after the one before;
 * the diagonal as it lies there. */
void matrix_part(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, double *out, int64_t stride);

/* The same in the precision of the matrix: floats if it is single. */
void matrix_own_part(const matrix_t *m, int64_t j, int64_t rows, int64_t l, int64_t columns, char *out, int64_t stride);

#endif
