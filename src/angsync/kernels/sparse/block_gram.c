/* A (L L^T)^-1 A^T for many groups of rows, L a Cholesky factor of D x D blocks (pose_blocks.c): with Y = L^-1 A^T it is
 * Y^T Y.
 *
 * Column i of L^-1 lives on the path from i to the root of the elimination tree, and follows from those of its ancestors:
 *
 *     (L^-1)_:i = (E_i - sum_k (L^-1)_:k L_ki) inv(L_ii),    k the rows of column i of L, all of them ancestors of i.
 *
 * Columns are kept with the blocks of the path in order, the root's first, so that the column of an ancestor lies beside
 * the beginning of that of i: every sum runs over consecutive numbers. A row of A then takes two columns of L^-1 where
 * a triangular solve would go through all columns of L on two paths.
 *
 * Long paths in many places would need much memory. Only columns near the roots are kept, which is where paths meet and
 * L is dense; below them right-hand sides are eliminated, column by column of L.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "block_columns.h"

typedef struct {
    int64_t n;
    const int32_t *parent;
    const int64_t *begin;
    const int32_t *rows;
    const double *L;
    int32_t *depth; /* in the elimination tree, roots have 0 */
    int64_t *where; /* the column of L^-1 that is kept begins there in T, transposed: D rows; -1: it is not kept */
    double *T;
} inverse_t;

/* The union of paths to the roots as segments of consecutive slots, from the depth `from` downwards. */
typedef struct {
    int32_t *segment; /* of each place, where on[place] says that it is of this group */
    int32_t *on;
    int32_t *from, *up; /* of each segment: the depth of its first place, and the segment that goes on towards the root */
    int64_t *slot;
} layout_t;

/* to += sum_s w[s] from[s], D rows `stride` apart. */
static inline void combine(const int D, int64_t length, const double *w, const double *restrict from, int64_t stride,
                           double *restrict to) {
    for (int64_t t = 0; t < length; t++) {
        double sum = 0;
        for (int s = 0; s < D; s++) sum += w[s] * from[s * stride + t];
        to[t] += sum;
    }
}

/* Columns of L^-1, for places from the last to the first. */
static inline void invert_columns(const int D, const inverse_t *f) {
    const int size = D * D;
    for (int64_t k = f->n - 1; k >= 0; k--) {
        if (f->where[k] < 0) continue;
        const double *V = f->L + f->begin[k] * size;
        const int64_t length = D * ((int64_t)f->depth[k] + 1);
        double *T = f->T + f->where[k];
        memset(T, 0, (size_t)(D * length) * sizeof *T);
        for (int r = 0; r < D; r++)
            for (int d = 0; d < D; d++) T[r * length + length - D + d] = V[d * D + r];
        for (int64_t p = f->begin[k] + 1; p < f->begin[k + 1]; p++) {
            const int64_t i = f->rows[p], above = D * ((int64_t)f->depth[i] + 1);
            for (int r = 0; r < D; r++) {
                double w[3];
                for (int s = 0; s < D; s++) {
                    w[s] = 0;
                    for (int c = 0; c < D; c++) w[s] -= f->L[p * size + s * D + c] * V[c * D + r];
                }
                combine(D, above, w, f->T + f->where[i], above, T + r * length);
            }
        }
    }
}

/* Y = T^T x on the paths of the places that were reached, x having `width` columns; Y has a row for each of them. */
static inline void collect(const int D, const inverse_t *f, const layout_t *paths, const int32_t *reached, int64_t count,
                           const double *x, int64_t width, double *Y, int64_t length) {
    memset(Y, 0, (size_t)(width * length) * sizeof *Y);
    for (int64_t t = 0; t < count; t++) {
        const int64_t k = reached[t], own = D * ((int64_t)f->depth[k] + 1);
        for (int64_t r = 0; r < width; r++) {
            double w[3];
            int empty = 1;
            for (int c = 0; c < D; c++) {
                w[c] = x[(k * D + c) * width + r];
                empty &= w[c] == 0;
            }
            if (empty) continue;
            int64_t end = own;
            for (int32_t s = paths->segment[k]; s >= 0; s = paths->up[s]) {
                const int64_t start = D * (int64_t)paths->from[s];
                combine(D, end - start, w, f->T + f->where[k] + start, own, Y + r * length + D * paths->slot[s]);
                end = start;
            }
        }
    }
}

#define LANES 8 /* sums side by side, in an order that is the same on every machine */

static inline double dot(const double *a, const double *b, int64_t length) {
    double sum[LANES] = {0};
    int64_t t = 0;
    for (; t + LANES <= length; t += LANES)
        for (int l = 0; l < LANES; l++) sum[l] += a[t + l] * b[t + l];
    for (; t < length; t++) sum[0] += a[t] * b[t];
    for (int l = LANES / 2; l; l /= 2)
        for (int m = 0; m < l; m++) sum[m] += sum[m + l];
    return sum[0];
}

static void inverted(int D, const inverse_t *f) {
    if (D == 3)
        invert_columns(3, f);
    else
        invert_columns(D, f);
}

/* gram += Y Y^T with the rows of Y on the paths of the places reached. */
static void squared(int D, const inverse_t *f, const layout_t *paths, const int32_t *reached, int64_t count,
                         const double *x, int64_t width, double *Y, int64_t length, double *gram) {
    if (D == 3)
        collect(3, f, paths, reached, count, x, width, Y, length);
    else
        collect(D, f, paths, reached, count, x, width, Y, length);
    for (int64_t r = 0; r < width; r++)
        for (int64_t c = 0; c <= r; c++) {
            const double sum = dot(Y + r * length, Y + c * length, length);
            gram[r * width + c] += sum;
            if (c < r) gram[c * width + r] += sum;
        }
}

/* Which columns of L^-1 to keep: those of the ancestors of the places, down to a depth at which they have `room` blocks. */
static int64_t chosen(int D, inverse_t *f, int64_t count, const int32_t *first, const int32_t *second, int64_t room,
                      int64_t *blocks) {
    for (int64_t k = f->n - 1; k >= 0; k--) f->depth[k] = f->parent[k] < 0 ? 0 : f->depth[f->parent[k]] + 1;
    for (int64_t k = 0; k < f->n; k++) f->where[k] = -1;
    memset(blocks, 0, (size_t)(f->n + 1) * sizeof *blocks);
    for (int64_t e = 0; e < 2 * count; e++)
        for (int32_t i = e < count ? first[e] : second[e - count]; i >= 0 && f->where[i] < 0; i = f->parent[i]) {
            f->where[i] = 0;
            blocks[f->depth[i]] += f->depth[i] + 1;
        }
    int64_t depth = 0, total = 0;
    while (depth < f->n && total + blocks[depth] <= room) total += blocks[depth++];
    int64_t at = 0;
    for (int64_t k = 0; k < f->n; k++) {
        if (f->where[k] < 0) continue;
        f->where[k] = f->depth[k] < depth ? at : -1;
        if (f->depth[k] < depth) at += D * D * ((int64_t)f->depth[k] + 1);
    }
    return at;
}

/* The union of the paths from the places that were reached; how many slots it has. */
static int64_t laid_out(const inverse_t *f, const layout_t *paths, const int32_t *reached, int64_t count, int64_t g) {
    int64_t slots = 0;
    int32_t segments = 0;
    for (int64_t t = 0; t < count; t++) {
        int32_t length = 0, i = reached[t];
        for (; i >= 0 && paths->on[i] != g; i = f->parent[i], length++) {
            paths->on[i] = (int32_t)g;
            paths->segment[i] = segments;
        }
        if (!length) continue;
        paths->from[segments] = f->depth[reached[t]] - length + 1;
        paths->up[segments] = i < 0 ? -1 : paths->segment[i];
        paths->slot[segments++] = slots;
        slots += length;
    }
    return slots;
}

static int by_number(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Eliminate the right-hand sides x down to the columns that are kept, and add what that leaves to gram. */
static void eliminated(int D, const inverse_t *f, int32_t *path, int64_t length, double *x, int64_t width,
                       double *gram) {
    const int64_t size = D * D, step = D * width;
    qsort(path, (size_t)length, sizeof *path, by_number);
    for (int64_t t = 0; t < length; t++) {
        const int64_t j = path[t];
        double *xj = x + j * step;
        turn(f->L + f->begin[j] * size, xj, D, width, 0);
        for (int64_t p = f->begin[j] + 1; p < f->begin[j + 1]; p++)
            spread(f->L + p * size, xj, x + f->rows[p] * step, D, width, 0);
        for (int d = 0; d < D; d++)
            for (int64_t r = 0; r < width; r++)
                for (int64_t c = 0; c < width; c++) gram[r * width + c] += xj[d * width + r] * xj[d * width + c];
        memset(xj, 0, (size_t)step * sizeof *xj);
    }
}

typedef struct {
    inverse_t inverse;
    layout_t paths;
    double *x, *Y; /* right-hand sides at every place, zero between two groups; rows of Y, room for `longest` numbers */
    int64_t longest;
    int32_t *mark, *path, *reached;
} room_t;

static int taken(room_t *w, int D, int64_t n, int64_t widest) {
    int32_t *small = malloc(8 * (size_t)(n + 1) * sizeof *small);
    int64_t *large = malloc(2 * (size_t)(n + 1) * sizeof *large);
    w->x = calloc((size_t)(n * D * D * widest) + 1, sizeof *w->x);
    w->inverse.depth = small;
    w->inverse.where = large;
    if (!small || !large || !w->x) return 0;
    int32_t **parts[] = {&w->mark, &w->path, &w->reached, &w->paths.segment, &w->paths.on, &w->paths.from, &w->paths.up};
    for (int k = 0; k < 7; k++) *parts[k] = small + (k + 1) * (n + 1);
    w->paths.slot = large + n + 1;
    for (int64_t k = 0; k < n; k++) w->mark[k] = w->paths.on[k] = -1;
    return 1;
}

/* One group of `count` rows, whose blocks begin at the addresses given; 0 without memory. */
static int gram_of(room_t *w, int D, int64_t g, int64_t count, const int32_t *first, const int32_t *second,
                   const double *at_first, const double *at_second, double *gram) {
    const inverse_t *f = &w->inverse;
    const int64_t width = D * count;
    int64_t length = 0, reached = 0;
    for (int64_t e = 0; e < count; e++)
        for (int side = 0; side < 2; side++) {
            int32_t i = side ? second[e] : first[e];
            const double *block = (side ? at_second : at_first) + e * D * D;
            if (i < 0) continue;
            for (int r = 0; r < D; r++)
                for (int c = 0; c < D; c++) w->x[(i * D + c) * width + e * D + r] += block[r * D + c];
            for (; i >= 0 && w->mark[i] != g; i = f->parent[i]) {
                w->mark[i] = (int32_t)g;
                if (f->where[i] >= 0) { /* and so are all its ancestors */
                    w->reached[reached++] = i;
                    break;
                }
                w->path[length++] = i;
                for (int64_t p = f->begin[i] + 1; p < f->begin[i + 1]; p++) {
                    const int32_t k = f->rows[p];
                    if (f->where[k] < 0 || w->mark[k] == g) continue;
                    w->mark[k] = (int32_t)g;
                    w->reached[reached++] = k;
                }
            }
        }
    memset(gram, 0, (size_t)(width * width) * sizeof *gram);
    eliminated(D, f, w->path, length, w->x, width, gram);
    const int64_t row = D * laid_out(f, &w->paths, w->reached, reached, g);
    if (row * width > w->longest) {
        free(w->Y);
        w->Y = malloc((size_t)(row * width) * sizeof *w->Y);
        w->longest = w->Y ? row * width : 0;
        if (!w->Y) return 0;
    }
    squared(D, f, &w->paths, w->reached, reached, w->x, width, w->Y, row, gram);
    for (int64_t t = 0; t < reached; t++) memset(w->x + w->reached[t] * D * width, 0, (size_t)(D * width) * sizeof *w->x);
    return 1;
}

/* Rows e with group[g] <= e < group[g + 1] have the blocks at_first[e] at place first[e] and at_second[e] at second[e]
 * (-1: nowhere). out[where[g]] is the square of D (group[g + 1] - group[g]). Columns of L^-1 of at most `room` blocks
 * are kept. 0 without memory. */
int block_gram(int D, int64_t n, const int32_t *parent, const int64_t *begin, const int32_t *rows, const double *L,
               int64_t groups, const int64_t *group, const int32_t *first, const int32_t *second,
               const double *at_first, const double *at_second, const int64_t *where, int64_t room, double *out) {
    int64_t widest = 0;
    for (int64_t g = 0; g < groups; g++)
        if (group[g + 1] - group[g] > widest) widest = group[g + 1] - group[g];
    room_t w = {.inverse = {n, parent, begin, rows, L, NULL, NULL, NULL}};
    int well = taken(&w, D, n, widest);
    if (well) {
        const int64_t numbers = chosen(D, &w.inverse, group[groups], first, second, room, w.paths.slot);
        w.inverse.T = malloc((size_t)(numbers + 1) * sizeof *w.inverse.T);
        well = w.inverse.T != NULL;
    }
    if (well) inverted(D, &w.inverse);
    for (int64_t g = 0; g < groups && well; g++) {
        const int64_t e = group[g];
        well = gram_of(&w, D, g, group[g + 1] - e, first + e, second + e, at_first + e * D * D, at_second + e * D * D,
                       out + where[g]);
    }
    free(w.inverse.depth);
    free(w.inverse.where);
    free(w.inverse.T);
    free(w.x);
    free(w.Y);
    return well;
}
