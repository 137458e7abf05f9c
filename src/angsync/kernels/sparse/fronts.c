/* Multifrontal Cholesky factorization of a sparse Hermitian matrix, block by block of a nested dissection, in C. The
 * NumPy twin in fronts_reference.py says what is computed.
 *
 * A block has a panel (its columns of L) and an update (what its elimination leaves for the rows after it). BLAS and
 * LAPACK are those of SciPy: their addresses are given. A panel is forgotten once its row sums have been added up,
 * unless the factor is asked for.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t index_t;
typedef struct { double re, im; } complex_t;

typedef void potrf_t(char *uplo, int *n, complex_t *a, int *lda, int *info);
typedef void trsm_t(char *side, char *uplo, char *trans, char *diag, int *m, int *n, complex_t *alpha, complex_t *a,
                    int *lda, complex_t *b, int *ldb);
typedef void herk_t(char *uplo, char *trans, int *n, int *k, double *alpha, complex_t *a, int *lda, double *beta,
                    complex_t *c, int *ldc);

/* `Fronts` in fronts.py */
typedef struct {
    int64_t n, count, left_out;
    const index_t *indptr, *indices; /* of C, by nodes */
    const complex_t *data;
    const double *inverse_root, *diagonal;              /* by nodes */
    const int64_t *order, *place, *starts, *bounds, *rows, *parent;
    double *sums;                                       /* by places */
    int64_t *terms;
    complex_t *kept;                                    /* panels one after the other, or NULL */
    const int64_t *offsets;
    const int32_t *stop;                                /* another thread sets it to 1 */
    int64_t failed;                                     /* the place of a pivot that is not positive */
    potrf_t *potrf;
    trsm_t *trsm;
    herk_t *herk;
} fronts_t;

enum { DONE = 0, FAILED = 1, STOPPED = 2, NO_MEMORY = -1 };

/* The entries of the block's own columns: conj(-C_vu) / (root_v root_u) at row place(u) of column place(v). */
static void own_entries(const fronts_t *f, int64_t b, const index_t *inside, complex_t *panel, int64_t m) {
    int64_t begin = f->starts[b], end = f->starts[b + 1];
    for (int64_t j = begin; j < end; j++) {
        int64_t v = f->order[j];
        complex_t *column = panel + (j - begin) * m;
        column[j - begin].re += f->diagonal[v];
        if (v == f->left_out) continue;
        for (index_t e = f->indptr[v]; e < f->indptr[v + 1]; e++) {
            int64_t u = f->indices[e], i = f->place[u];
            if (i <= j || u == f->left_out) continue;
            complex_t *entry = column + (i < end ? i - begin : inside[i]);
            entry->re -= f->data[e].re * f->inverse_root[v] * f->inverse_root[u];
            entry->im += f->data[e].im * f->inverse_root[v] * f->inverse_root[u];
        }
    }
}

/* Add the update of a child to the panel and to the update of its parent; lower triangles. */
static void extend_add(const fronts_t *f, int64_t b, int64_t child, const complex_t *update, const index_t *inside,
                       complex_t *panel, int64_t m, complex_t *out, int64_t r) {
    int64_t begin = f->starts[b], end = f->starts[b + 1], width = end - begin;
    const int64_t *rows = f->rows + f->bounds[child];
    int64_t size = f->bounds[child + 1] - f->bounds[child] - 1;
    for (int64_t c = 0; c < size; c++) {
        const complex_t *from = update + c * size;
        int64_t column = rows[c];
        if (column < end) {
            complex_t *to = panel + (column - begin) * m;
            for (int64_t k = c; k < size; k++) {
                complex_t *entry = to + (rows[k] < end ? rows[k] - begin : inside[rows[k]]);
                entry->re += from[k].re;
                entry->im += from[k].im;
            }
        } else {
            complex_t *to = out + (inside[column] - width) * r - width;
            for (int64_t k = c; k < size; k++) {
                complex_t *entry = to + inside[rows[k]];
                entry->re += from[k].re;
                entry->im += from[k].im;
            }
        }
    }
}

/* Add this block's part of |L||L|^T 1 to the sums, and the entries that are not 0 to the number of terms of every row. */
static void add_sums(const fronts_t *f, int64_t b, const complex_t *panel, int64_t m, double *size_of) {
    int64_t begin = f->starts[b], width = f->starts[b + 1] - begin;
    const int64_t *rows = f->rows + f->bounds[b];
    double *present = size_of + f->n + 1;
    memset(present, 0, (size_t)m * sizeof(double));
    for (int64_t c = 0; c < width; c++) {
        const complex_t *column = panel + c * m;
        double sum = 0;
        for (int64_t k = c; k < m; k++) {
            size_of[k] = sqrt(column[k].re * column[k].re + column[k].im * column[k].im);
            sum += size_of[k];
        }
        /* a loop of its own is vectorized; the square of what is not 0 may be 0 */
        for (int64_t k = c; k < m; k++) present[k] += (column[k].re != 0) | (column[k].im != 0) ? 1.0 : 0.0;
        for (int64_t k = c; k < width; k++) f->sums[begin + k] += size_of[k] * sum;
        for (int64_t k = width; k < m; k++) f->sums[rows[k - width]] += size_of[k] * sum;
    }
    for (int64_t k = 0; k < width; k++) f->terms[begin + k] += (int64_t)present[k];
    for (int64_t k = width; k < m; k++) f->terms[rows[k - width]] += (int64_t)present[k];
}

/* One block: its panel and its update (NULL where it has no rows). */
static int one_block(fronts_t *f, int64_t b, index_t *first_child, index_t *next_child, complex_t **updates,
                     index_t *inside, double *size_of) {
    int64_t begin = f->starts[b], width = f->starts[b + 1] - begin;
    const int64_t *rows = f->rows + f->bounds[b];
    int64_t r = f->bounds[b + 1] - f->bounds[b] - 1, m = width + r;
    complex_t *panel = f->kept ? f->kept + f->offsets[b] : malloc((size_t)(m * width) * sizeof(complex_t));
    complex_t *update = r ? calloc((size_t)(r * r), sizeof(complex_t)) : NULL;
    int code = DONE;
    if (!panel || (r && !update)) {
        if (!f->kept) free(panel);
        free(update);
        return NO_MEMORY;
    }
    memset(panel, 0, (size_t)(m * width) * sizeof(complex_t));
    for (int64_t k = 0; k < r; k++) inside[rows[k]] = (index_t)(width + k);
    own_entries(f, b, inside, panel, m);
    for (index_t child = first_child[b]; child >= 0; child = next_child[child]) {
        extend_add(f, b, child, updates[child], inside, panel, m, update, r);
        free(updates[child]);
        updates[child] = NULL;
    }
    int columns = (int)width, lda = (int)m, below = (int)r, info = 0;
    complex_t one = {1, 0};
    double minus = -1, plus = 1;
    f->potrf("L", &columns, panel, &lda, &info);
    if (info != 0) {
        f->failed = begin + (info > 0 ? info - 1 : 0);
        code = FAILED;
    } else {
        if (r) {
            f->trsm("R", "L", "C", "N", &below, &columns, &one, panel, &lda, panel + width, &lda);
            f->herk("L", "N", &below, &columns, &minus, panel + width, &lda, &plus, update, &below);
        }
        add_sums(f, b, panel, m, size_of);
        if (r) {
            next_child[b] = first_child[f->parent[b]];
            first_child[f->parent[b]] = (index_t)b;
        }
    }
    if (!f->kept) free(panel);
    if (code == DONE)
        updates[b] = update;
    else
        free(update);
    return code;
}

int fronts_factorize(fronts_t *f) {
    index_t *children = malloc((size_t)(2 * f->count + f->n + 1) * sizeof(index_t));
    complex_t **updates = calloc((size_t)f->count + 1, sizeof(complex_t *));
    double *size_of = malloc((size_t)(2 * f->n + 2) * sizeof(double)); /* and a count for each */
    int code = children && updates && size_of ? DONE : NO_MEMORY;
    f->failed = -1;
    for (int64_t b = 0; code == DONE && b < f->count; b++) children[b] = children[f->count + b] = -1;
    for (int64_t b = 0; code == DONE && b < f->count; b++) {
        if (*(volatile const int32_t *)f->stop)
            code = STOPPED;
        else
            code = one_block(f, b, children, children + f->count, updates, children + 2 * f->count, size_of);
    }
    for (int64_t b = 0; updates && b < f->count; b++) free(updates[b]);
    free(updates);
    free(children);
    free(size_of);
    return code;
}

/* Solve L L^H x = b in place, of the leading `upto` places. */
void fronts_solve(const fronts_t *f, complex_t *x, int64_t upto) {
    int64_t b = 0;
    for (; b < f->count && f->starts[b] < upto; b++) {
        int64_t begin = f->starts[b], width = f->starts[b + 1] - begin, r = f->bounds[b + 1] - f->bounds[b] - 1;
        int64_t used = begin + width < upto ? width : upto - begin;
        const int64_t *rows = f->rows + f->bounds[b];
        while (r > 0 && rows[r - 1] >= upto) r--;
        int64_t m = width + f->bounds[b + 1] - f->bounds[b] - 1;
        for (int64_t c = 0; c < used; c++) {
            const complex_t *column = f->kept + f->offsets[b] + c * m;
            complex_t v = {x[begin + c].re / column[c].re, x[begin + c].im / column[c].re};
            x[begin + c] = v;
            for (int64_t k = c + 1; k < used; k++) {
                x[begin + k].re -= column[k].re * v.re - column[k].im * v.im;
                x[begin + k].im -= column[k].re * v.im + column[k].im * v.re;
            }
            for (int64_t k = 0; k < r; k++) {
                complex_t l = column[width + k];
                x[rows[k]].re -= l.re * v.re - l.im * v.im;
                x[rows[k]].im -= l.re * v.im + l.im * v.re;
            }
        }
    }
    for (b--; b >= 0; b--) {
        int64_t begin = f->starts[b], width = f->starts[b + 1] - begin, r = f->bounds[b + 1] - f->bounds[b] - 1;
        int64_t used = begin + width < upto ? width : upto - begin;
        const int64_t *rows = f->rows + f->bounds[b];
        while (r > 0 && rows[r - 1] >= upto) r--;
        int64_t m = width + f->bounds[b + 1] - f->bounds[b] - 1;
        for (int64_t c = used - 1; c >= 0; c--) {
            const complex_t *column = f->kept + f->offsets[b] + c * m;
            complex_t v = x[begin + c];
            for (int64_t k = c + 1; k < used; k++) {
                v.re -= column[k].re * x[begin + k].re + column[k].im * x[begin + k].im;
                v.im -= column[k].re * x[begin + k].im - column[k].im * x[begin + k].re;
            }
            for (int64_t k = 0; k < r; k++) {
                complex_t l = column[width + k], o = x[rows[k]];
                v.re -= l.re * o.re + l.im * o.im;
                v.im -= l.re * o.im - l.im * o.re;
            }
            x[begin + c].re = v.re / column[c].re;
            x[begin + c].im = v.im / column[c].re;
        }
    }
}
