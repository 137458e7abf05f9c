/* Cholesky factors of sparse symmetric matrices of D x D blocks, D at most 3, by rows (up-looking).
 *
 * Column j of L holds its diagonal block first, INVERTED (lower triangular), then the blocks below it by ascending
 * rows. Row k has the columns that are reached from the columns of row k of the matrix in the elimination tree
 * (Liu, SIAM J. Matrix Anal. Appl. 11, 1990). Blocks are stored by rows.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "block_columns.h"

/* The columns of row k of L, children before parents; they fill the end of stack[0 .. n-1]; where they begin. */
static int64_t reach(int64_t n, int64_t k, const int64_t *pointer, const int32_t *column, const int32_t *parent,
                     int32_t *mark, int32_t *stack) {
    int64_t top = n;
    mark[k] = (int32_t)k;
    for (int64_t p = pointer[k]; p < pointer[k + 1]; p++) {
        int64_t length = 0;
        for (int32_t i = column[p]; i >= 0 && mark[i] != k; i = parent[i]) {
            stack[length++] = i; /* from the beginning: the two ends never meet, each column is in one of them once */
            mark[i] = (int32_t)k;
        }
        while (length) stack[--top] = stack[--length];
    }
    return top;
}

/* Elimination tree, and where each column of L begins (ends[n] is their number). Row k of the matrix has the columns
 * column[pointer[k]] ..., all below k. */
int block_symbolic(int64_t n, const int64_t *pointer, const int32_t *column, int32_t *parent, int64_t *ends) {
    int32_t *ancestor = malloc(3 * (size_t)(n + 1) * sizeof *ancestor);
    if (!ancestor) return 0;
    int32_t *mark = ancestor + n + 1, *stack = mark + n + 1;
    for (int64_t k = 0; k < n; k++) {
        parent[k] = ancestor[k] = mark[k] = -1;
        for (int64_t p = pointer[k]; p < pointer[k + 1]; p++) {
            for (int32_t i = column[p], next; i >= 0 && i < k; i = next) {
                next = ancestor[i];
                ancestor[i] = (int32_t)k;
                if (next < 0) parent[i] = (int32_t)k;
            }
        }
    }
    for (int64_t k = 0; k <= n; k++) ends[k] = 0;
    for (int64_t k = 0; k < n; k++) {
        ends[k + 1]++;
        for (int64_t p = reach(n, k, pointer, column, parent, mark, stack); p < n; p++) ends[stack[p] + 1]++;
    }
    for (int64_t k = 0; k < n; k++) ends[k + 1] += ends[k];
    free(ancestor);
    return 1;
}

/* to += a^T b for D x D blocks. */
static inline void add_product(const int D, const double *a, const double *b, double *to) {
    for (int r = 0; r < D; r++)
        for (int c = 0; c < D; c++)
            for (int t = 0; t < D; t++) to[r * D + c] += a[t * D + r] * b[t * D + c];
}

static inline void normal(const int D, int64_t count, const int32_t *first, const int32_t *second, const int64_t *slot,
                          const double *at_first, const double *at_second, double *diagonal, double *beside) {
    const int size = D * D;
    for (int64_t e = 0; e < count; e++) {
        const double *one = at_first + e * size, *other = at_second + e * size;
        if (first[e] >= 0) add_product(D, one, one, diagonal + (int64_t)first[e] * size);
        if (second[e] >= 0) add_product(D, other, other, diagonal + (int64_t)second[e] * size);
        if (first[e] < 0 || second[e] < 0) continue;
        double *block = beside + *slot++ * size;
        if (first[e] > second[e])
            add_product(D, one, other, block);
        else
            add_product(D, other, one, block);
    }
}

/* J^T J of measurements between the places first and second (-1: nowhere) with the derivatives at_first and at_second,
 * added to blocks on the diagonal and below it; slot has an entry for every measurement with two places. */
void block_normal(int D, int64_t count, const int32_t *first, const int32_t *second, const int64_t *slot,
                  const double *at_first, const double *at_second, double *diagonal, double *beside) {
    if (D == 3)
        normal(3, count, first, second, slot, at_first, at_second, diagonal, beside);
    else
        normal(D, count, first, second, slot, at_first, at_second, diagonal, beside);
}

/* The inverse of the Cholesky factor of a block, in place; 0 where it is not positive definite. */
static int invert(double *a, const int D) {
    double l[9] = {0};
    for (int r = 0; r < D; r++) {
        for (int c = 0; c <= r; c++) {
            double sum = a[r * D + c];
            for (int t = 0; t < c; t++) sum -= l[r * D + t] * l[c * D + t];
            if (c < r) {
                l[r * D + c] = sum * l[c * D + c]; /* its diagonal is kept inverted */
            } else if (sum > 0 && isfinite(sum)) {
                l[r * D + r] = 1 / sqrt(sum);
            } else {
                return 0;
            }
        }
    }
    for (int c = 0; c < D; c++) {
        for (int r = 0; r < D; r++) {
            if (r < c) {
                a[r * D + c] = 0;
            } else if (r == c) {
                a[r * D + r] = l[r * D + r];
            } else {
                double sum = 0;
                for (int t = c; t < r; t++) sum -= l[r * D + t] * a[t * D + c];
                a[r * D + c] = sum * l[r * D + r];
            }
        }
    }
    return 1;
}

static inline int64_t
factor(const int D, int64_t n, const int64_t *pointer, const int32_t *column, const double *beside,
       const double *diagonal, const int32_t *parent, const int64_t *begin, int32_t *rows, double *L) {
    const int size = D * D;
    double *x = calloc((size_t)n * size + 1, sizeof *x);
    int32_t *mark = malloc(2 * (size_t)(n + 1) * sizeof *mark);
    int64_t *end = malloc((size_t)(n + 1) * sizeof *end), failed = -1;
    if (!x || !mark || !end) failed = -2;
    int32_t *stack = mark + n + 1;
    for (int64_t k = 0; k < n && failed == -1; k++) mark[k] = -1;
    for (int64_t k = 0; k < n && failed == -1; k++) {
        double pivot[9];
        memcpy(pivot, diagonal + k * size, size * sizeof *pivot);
        for (int64_t p = pointer[k]; p < pointer[k + 1]; p++)
            memcpy(x + (int64_t)column[p] * size, beside + p * size, size * sizeof *x);
        for (int64_t t = reach(n, k, pointer, column, parent, mark, stack); t < n; t++) {
            const int64_t j = stack[t];
            const double *inverse = L + begin[j] * size;
            double *xj = x + j * size, *row = L + end[j] * size;
            for (int r = 0; r < D; r++) /* row = x_j inv(L_jj)^T */
                for (int c = 0; c < D; c++) {
                    double sum = 0;
                    for (int s = 0; s <= c; s++) sum += xj[r * D + s] * inverse[c * D + s];
                    row[r * D + c] = sum;
                }
            memset(xj, 0, size * sizeof *xj);
            for (int64_t p = begin[j] + 1; p < end[j]; p++) {
                const double *l = L + p * size;
                double *xi = x + (int64_t)rows[p] * size;
                for (int r = 0; r < D; r++)
                    for (int c = 0; c < D; c++) {
                        double sum = 0;
                        for (int s = 0; s < D; s++) sum += row[r * D + s] * l[c * D + s];
                        xi[r * D + c] -= sum;
                    }
            }
            for (int r = 0; r < D; r++)
                for (int c = 0; c < D; c++)
                    for (int s = 0; s < D; s++) pivot[r * D + c] -= row[r * D + s] * row[c * D + s];
            rows[end[j]++] = (int32_t)k;
        }
        if (!invert(pivot, D)) failed = k;
        memcpy(L + begin[k] * size, pivot, size * sizeof *pivot);
        rows[begin[k]] = (int32_t)k;
        end[k] = begin[k] + 1;
    }
    free(x);
    free(mark);
    free(end);
    return failed;
}

/* L of the matrix with the blocks beside[p] in row k, column[p], and diagonal[k]. Returns -1, the row whose pivot is
 * not positive definite, or -2 without memory. */
int64_t block_factor(int D, int64_t n, const int64_t *pointer, const int32_t *column, const double *beside,
                     const double *diagonal, const int32_t *parent, const int64_t *begin, int32_t *rows, double *L) {
    if (D == 1) return factor(1, n, pointer, column, beside, diagonal, parent, begin, rows, L);
    if (D == 3) return factor(3, n, pointer, column, beside, diagonal, parent, begin, rows, L);
    return factor(D, n, pointer, column, beside, diagonal, parent, begin, rows, L);
}

/* Solve L L^T x = b in place: x is (n, D, width). */
void block_solve(int D, int64_t n, const int64_t *begin, const int32_t *rows, const double *L, int64_t width,
                 double *x) {
    const int64_t size = D * D, step = D * width;
    for (int64_t j = 0; j < n; j++) {
        turn(L + begin[j] * size, x + j * step, D, width, 0);
        for (int64_t p = begin[j] + 1; p < begin[j + 1]; p++)
            spread(L + p * size, x + j * step, x + rows[p] * step, D, width, 0);
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        for (int64_t p = begin[j] + 1; p < begin[j + 1]; p++)
            spread(L + p * size, x + rows[p] * step, x + j * step, D, width, 1);
        turn(L + begin[j] * size, x + j * step, D, width, 1);
    }
}
