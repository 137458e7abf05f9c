/* Sparse matrices times a few columns, and the aggregates of a multigrid hierarchy, in C. No policy in here: every
 * function has a NumPy twin in blocks_reference.py that says what it computes, and the tests compare the two.
 *
 * A block lies row by row: the m numbers of a node beside each other, so that one look at an index serves all columns.
 * Each row is summed by one thread from left to right: the number of threads does not change a bit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t index_t;

/* out = p u + q (A x + r) for real A, x and m columns; p, u, q and r may be missing: then 1, 0, 1 and 0 */
typedef struct {
    int64_t n, m;
    const index_t *indptr, *indices;
    const double *data, *x, *p, *u, *q, *r;
    double *out;
    int64_t threads;
} block_t;

int64_t block_size(void) { return sizeof(block_t); }

#define REAL_ROWS(M)                                                                                         \
    static void real_rows_##M(const block_t *b) {                                                       \
        const index_t *indptr = b->indptr, *indices = b->indices;                                            \
        const double *data = b->data, *x = b->x, *p = b->p, *u = b->u, *q = b->q, *r = b->r;                 \
        double *out = b->out;                                                                                \
        int threads = (int)b->threads;                                                                       \
        _Pragma("omp parallel for schedule(static) num_threads(threads)")                                    \
        for (int64_t j = 0; j < b->n; j++) {                                                                 \
            double sum[M];                                                                                   \
            for (int c = 0; c < M; c++) sum[c] = 0;                                                          \
            for (index_t k = indptr[j]; k < indptr[j + 1]; k++) {                                            \
                const double a = data[k], *v = x + (int64_t)indices[k] * M;                                  \
                for (int c = 0; c < M; c++) sum[c] += a * v[c];                                              \
            }                                                                                                \
            if (r) for (int c = 0; c < M; c++) sum[c] += r[j * M + c];                                       \
            if (q) for (int c = 0; c < M; c++) sum[c] *= q[j];                                               \
            if (u) for (int c = 0; c < M; c++) sum[c] += p ? p[j] * u[j * M + c] : u[j * M + c];             \
            for (int c = 0; c < M; c++) out[j * M + c] = sum[c];                                             \
        }                                                                                                    \
    }

/* out = p x - A x for complex A and x, p real; m counts real columns, two for each complex one */
#define COMPLEX_ROWS(M)                                                                                      \
    static void complex_rows_##M(const block_t *b) {                                                    \
        const index_t *indptr = b->indptr, *indices = b->indices;                                            \
        const double *data = b->data, *x = b->x, *p = b->p;                                                  \
        double *out = b->out;                                                                                \
        int threads = (int)b->threads;                                                                       \
        _Pragma("omp parallel for schedule(static) num_threads(threads)")                                    \
        for (int64_t j = 0; j < b->n; j++) {                                                                 \
            double sum[M];                                                                                   \
            for (int c = 0; c < M; c++) sum[c] = p[j] * x[j * M + c];                                        \
            for (index_t k = indptr[j]; k < indptr[j + 1]; k++) {                                            \
                const double re = data[2 * (int64_t)k], im = data[2 * (int64_t)k + 1];                       \
                const double *v = x + (int64_t)indices[k] * M;                                               \
                for (int c = 0; c < M; c += 2) {                                                             \
                    sum[c] -= re * v[c] - im * v[c + 1];                                                     \
                    sum[c + 1] -= re * v[c + 1] + im * v[c];                                                 \
                }                                                                                            \
            }                                                                                                \
            for (int c = 0; c < M; c++) out[j * M + c] = sum[c];                                             \
        }                                                                                                    \
    }

REAL_ROWS(1)
REAL_ROWS(2)
REAL_ROWS(4)
REAL_ROWS(6)
REAL_ROWS(8)
COMPLEX_ROWS(2)
COMPLEX_ROWS(4)
COMPLEX_ROWS(6)
COMPLEX_ROWS(8)

/* Returns 0, or 1 where there is no loop for so many columns. */
int block_real(const block_t *b) {
    switch (b->m) {
    case 1: real_rows_1(b); return 0;
    case 2: real_rows_2(b); return 0;
    case 4: real_rows_4(b); return 0;
    case 6: real_rows_6(b); return 0;
    case 8: real_rows_8(b); return 0;
    }
    return 1;
}

int block_complex(const block_t *b) {
    switch (b->m) {
    case 2: complex_rows_2(b); return 0;
    case 4: complex_rows_4(b); return 0;
    case 6: complex_rows_6(b); return 0;
    case 8: complex_rows_8(b); return 0;
    }
    return 1;
}

/* Aggregates of a graph whose stored entries are the strengths of its edges, 0 for one that does not count. Nodes are
 * visited in the given order. A node whose neighbors are all free becomes an aggregate together with them; what is left
 * joins the strongest neighbor of an aggregate of that first round; what then is left makes aggregates with its free
 * neighbors. `label` receives the number of the aggregate, `first` is a workspace of n. Returns how many there are. */
int64_t aggregate(int64_t n, const index_t *indptr, const index_t *indices, const double *strength, const index_t *order,
                  index_t *label, index_t *first) {
    int64_t count = 0;
    for (int64_t j = 0; j < n; j++) label[j] = -1;
    for (int64_t p = 0; p < n; p++) {
        index_t j = order[p];
        int isolated = 1, free_around = label[j] < 0;
        for (index_t k = indptr[j]; k < indptr[j + 1] && free_around; k++) {
            if (strength[k] <= 0 || indices[k] == j) continue;
            isolated = 0;
            if (label[indices[k]] >= 0) free_around = 0;
        }
        if (!free_around || isolated) continue;
        label[j] = (index_t)count;
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++)
            if (strength[k] > 0) label[indices[k]] = (index_t)count;
        count++;
    }
    memcpy(first, label, sizeof(index_t) * (size_t)n);
    for (int64_t p = 0; p < n; p++) {
        index_t j = order[p];
        if (label[j] >= 0) continue;
        double best = 0;
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++)
            if (indices[k] != j && strength[k] > best && first[indices[k]] >= 0) {
                best = strength[k];
                label[j] = first[indices[k]];
            }
    }
    for (int64_t p = 0; p < n; p++) {
        index_t j = order[p];
        if (label[j] >= 0) continue;
        label[j] = (index_t)count;
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++)
            if (strength[k] > 0 && label[indices[k]] < 0) label[indices[k]] = (index_t)count;
        count++;
    }
    return count;
}
