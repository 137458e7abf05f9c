/* Inner loops over sparse graphs, in C. No policy in here: every function has a NumPy twin in reference.py that says
 * what it computes, and the tests compare the two.
 *
 * Called through ctypes: plain pointers, no Python objects. Rows are shared out in equal static parts and every row
 * is summed by one thread from left to right, so the result does not depend on the number of threads.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* No fused products: of edges of equal weight the same one is matched on every machine, so that all have one start. */
#pragma GCC optimize("fp-contract=off")
#pragma STDC FP_CONTRACT OFF

typedef int32_t index_t;
typedef struct { double re, im; } complex_t;

/* ------------------------------------------------------------------ products */

/* y = A x for complex128 CSR */
void csr_apply(int64_t n, const index_t *indptr, const index_t *indices, const complex_t *data, const complex_t *x,
               complex_t *y, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) {
        double re = 0, im = 0;
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++) {
            complex_t a = data[k], v = x[indices[k]];
            re += a.re * v.re - a.im * v.im;
            im += a.re * v.im + a.im * v.re;
        }
        y[j].re = re;
        y[j].im = im;
    }
}

/* y = s t - W t for a float32 CSR matrix W, t rounded to float32, sums in double */
void hessian_apply(int64_t n, const index_t *indptr, const index_t *indices, const float *w, const double *s,
                        const double *t, float *narrow, double *y, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) narrow[j] = (float)t[j];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++) sum += (double)w[k] * (double)narrow[indices[k]];
        y[j] = s[j] * t[j] - sum;
    }
}

/* w_jl = scale Re(conj(z_j) C_jl z_l) */
void rotate(int64_t n, const index_t *indptr, const index_t *indices, const complex_t *data, const complex_t *z,
                 double scale, float *w, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) {
        complex_t zj = z[j];
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++) {
            complex_t a = data[k], v = z[indices[k]];
            double re = a.re * v.re - a.im * v.im, im = a.re * v.im + a.im * v.re;
            w[k] = (float)(scale * (zj.re * re + zj.im * im));
        }
    }
}

/* One step z <- phase of (A z + shift z); where that is 0, z stays */
void smooth_step(int64_t n, const index_t *indptr, const index_t *indices, const complex_t *data,
                      const double *shift, const complex_t *z, complex_t *out, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) {
        double re = shift[j] * z[j].re, im = shift[j] * z[j].im;
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++) {
            complex_t a = data[k], v = z[indices[k]];
            re += a.re * v.re - a.im * v.im;
            im += a.re * v.im + a.im * v.re;
        }
        double size = sqrt(re * re + im * im);
        if (!(size > 1e-140 && size < 1e140)) size = hypot(re, im); /* the squares may leave the range of doubles */
        if (size > 0 && isfinite(size)) {
            out[j].re = re / size;
            out[j].im = im / size;
        } else {
            out[j] = z[j];
        }
    }
}

/* ------------------------------------------------------------------ validation */

/* Largest |C_jl - conj(C_lj)| of a CSR matrix with sorted rows, its place, and the largest |C_jl|.
 * Rows are walked downwards in step: when row j meets column l > j, the next entry of row l that has not been met yet
 * must be the one of column j. An entry without a partner counts with its own size. Returns 0, or 1 + the position of
 * the first entry that is not finite, or -1 when rows are not sorted. */
int64_t hermitian_gap(int64_t n, const index_t *indptr, const index_t *indices, const complex_t *data, double *largest,
                      double *gap, int64_t *row, int64_t *column) {
    index_t *next = malloc(sizeof(index_t) * (size_t)(n > 0 ? n : 1));
    if (!next) return -2;
    double worst = 0, biggest = 0;
    *row = *column = 0;
    for (int64_t j = 0; j < n; j++) next[j] = indptr[j];
    for (int64_t j = 0; j < n; j++) {
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++) {
            complex_t a = data[k];
            if (!isfinite(a.re) || !isfinite(a.im)) {
                free(next);
                return 1 + (int64_t)k;
            }
            if (k > indptr[j] && indices[k] <= indices[k - 1]) {
                free(next);
                return -1;
            }
            double square = a.re * a.re + a.im * a.im;
            if (square > biggest) biggest = square;
        }
        /* what row j has left of the diagonal and nobody met has no partner above */
        while (next[j] < indptr[j + 1] && indices[next[j]] < j) {
            complex_t a = data[next[j]];
            double d = hypot(a.re, a.im);
            if (d > worst) { worst = d; *row = indices[next[j]]; *column = j; }
            next[j]++;
        }
        for (index_t k = next[j]; k < indptr[j + 1]; k++) {
            index_t l = indices[k];
            complex_t a = data[k], b = {0, 0};
            if (l == j) {
                b = a;
            } else {
                /* entries of row l before column j have no partner: report them */
                while (next[l] < indptr[l + 1] && indices[next[l]] < j) {
                    complex_t c = data[next[l]];
                    double d = hypot(c.re, c.im);
                    if (d > worst) { worst = d; *row = indices[next[l]]; *column = l; }
                    next[l]++;
                }
                if (next[l] < indptr[l + 1] && indices[next[l]] == j) {
                    b = data[next[l]];
                    next[l]++;
                }
            }
            double re = a.re - b.re, im = a.im + b.im;
            if (re != 0 || im != 0) {
                double d = hypot(re, im);
                if (d > worst) { worst = d; *row = j; *column = l; }
            }
        }
    }
    free(next);
    *largest = sqrt(biggest);
    if (!(biggest > 1e-280 && biggest < 1e280)) {
        /* squares left the range of doubles: again, more slowly */
        *largest = 0;
        for (index_t k = 0; k < indptr[n]; k++) *largest = fmax(*largest, hypot(data[k].re, data[k].im));
    }
    *gap = worst;
    return 0;
}

/* ------------------------------------------------------------------ aggregation */

/* Rounds of matching: the edges that are the strongest at both ends. partner[j] is j at first; best and keep are
 * workspaces of n doubles and m indices. */
void match_edges(int64_t n, int64_t m, const index_t *i, const index_t *j, const double *value, index_t *partner,
                 double *best, index_t *keep, int rounds) {
    int64_t left = m;
    for (int64_t e = 0; e < m; e++) keep[e] = (index_t)e;
    for (int round = 0; round < rounds && left > 0; round++) {
        for (int64_t v = 0; v < n; v++) best[v] = 0;
        for (int64_t p = 0; p < left; p++) {
            int64_t e = keep[p];
            if (value[e] > best[i[e]]) best[i[e]] = value[e];
            if (value[e] > best[j[e]]) best[j[e]] = value[e];
        }
        int64_t found = 0;
        for (int64_t p = 0; p < left; p++) {
            int64_t e = keep[p];
            index_t a = i[e], b = j[e];
            /* the test of partner: two edges of exactly equal value must not marry one node twice */
            if (value[e] == best[a] && value[e] == best[b] && partner[a] == a && partner[b] == b) {
                partner[a] = b;
                partner[b] = a;
                found++;
            }
        }
        if (!found) break;
        int64_t kept = 0;
        for (int64_t p = 0; p < left; p++) {
            int64_t e = keep[p];
            if (partner[i[e]] == i[e] && partner[j[e]] == j[e]) keep[kept++] = (index_t)e;
        }
        left = kept;
    }
}

/* Edges between different aggregates, grouped by the smaller label: start[r] to start[r + 1] in order[]. */
typedef struct { int64_t *start; index_t *order; int64_t *place; } groups_t;

static void free_groups(groups_t *g) { free(g->start); free(g->order); free(g->place); }

static int group_edges(int64_t m, const index_t *i, const index_t *j, int64_t count, const index_t *label, groups_t *g) {
    g->start = calloc((size_t)count + 2, sizeof(int64_t));
    g->order = malloc(sizeof(index_t) * (size_t)(m > 0 ? m : 1));
    g->place = malloc(sizeof(int64_t) * ((size_t)count + 1));
    if (!g->start || !g->order || !g->place) {
        free_groups(g);
        return -1;
    }
    for (int64_t e = 0; e < m; e++) {
        index_t a = label[i[e]], b = label[j[e]];
        if (a != b) g->start[(a < b ? a : b) + 1]++;
    }
    for (int64_t r = 0; r < count; r++) g->start[r + 1] += g->start[r];
    for (int64_t r = 0; r < count; r++) g->place[r] = g->start[r];
    for (int64_t e = 0; e < m; e++) {
        index_t a = label[i[e]], b = label[j[e]];
        if (a != b) g->order[g->place[a < b ? a : b]++] = (index_t)e;
    }
    for (int64_t r = 0; r < count; r++) g->place[r] = -1;
    return 0;
}

/* Where the sum of the edge (r, other) is kept: an old place, or the next new one. */
static int64_t place_of(groups_t *g, int64_t r, index_t other, int64_t first, int64_t *written, index_t *low,
                        index_t *high, int *fresh) {
    *fresh = g->place[other] < first;
    if (*fresh) {
        g->place[other] = *written;
        low[*written] = (index_t)r;
        high[*written] = other;
        (*written)++;
    }
    return g->place[other];
}

/* Edges between aggregates, summed: value conj(phase_i) v phase_j, turned to run from the smaller label.
 * Writes at most m edges, ordered by their low end; returns their number, or -1 without memory. */
int64_t contract_edges(int64_t m, const index_t *i, const index_t *j, const complex_t *value, int64_t count,
                       const index_t *label, const complex_t *phase, index_t *low, index_t *high, complex_t *sum) {
    groups_t g;
    if (group_edges(m, i, j, count, label, &g)) return -1;
    int64_t written = 0;
    int fresh;
    for (int64_t r = 0; r < count; r++) {
        int64_t first = written;
        for (int64_t p = g.start[r]; p < g.start[r + 1]; p++) {
            int64_t e = g.order[p];
            index_t a = label[i[e]], b = label[j[e]];
            complex_t v = value[e], x = phase[i[e]], y = phase[j[e]];
            double re = v.re * y.re - v.im * y.im, im = v.re * y.im + v.im * y.re;
            double real = x.re * re + x.im * im, imaginary = x.re * im - x.im * re;
            if (a > b) imaginary = -imaginary;
            int64_t q = place_of(&g, r, a < b ? b : a, first, &written, low, high, &fresh);
            sum[q].re = fresh ? real : sum[q].re + real;
            sum[q].im = fresh ? imaginary : sum[q].im + imaginary;
        }
    }
    free_groups(&g);
    return written;
}

/* The same for real weights, without phases. */
int64_t contract_weights(int64_t m, const index_t *i, const index_t *j, const double *value, int64_t count,
                         const index_t *label, index_t *low, index_t *high, double *sum) {
    groups_t g;
    if (group_edges(m, i, j, count, label, &g)) return -1;
    int64_t written = 0;
    int fresh;
    for (int64_t r = 0; r < count; r++) {
        int64_t first = written;
        for (int64_t p = g.start[r]; p < g.start[r + 1]; p++) {
            int64_t e = g.order[p];
            index_t a = label[i[e]], b = label[j[e]];
            int64_t q = place_of(&g, r, a < b ? b : a, first, &written, low, high, &fresh);
            sum[q] = fresh ? value[e] : sum[q] + value[e];
        }
    }
    free_groups(&g);
    return written;
}

/* ------------------------------------------------------------------ multigrid */

/* left = r - d t + W t for float32 CSR */
static void residual32(int64_t n, const index_t *indptr, const index_t *indices, const float *w, const float *d,
                       const float *r, const float *t, float *left, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) {
        float sum = r[j] - d[j] * t[j];
        for (index_t k = indptr[j]; k < indptr[j + 1]; k++) sum += w[k] * t[indices[k]];
        left[j] = sum;
    }
}

/* One level of a cycle on D - W. In Python: Level in compiled.py. */
typedef struct {
    int64_t n, count; /* nodes, aggregates */
    const index_t *indptr, *indices;
    const float *w, *diagonal, *inverse;
    const index_t *label; /* the aggregate of every node */
    float *left;          /* n numbers */
    int64_t threads;
} level_t;

int64_t level_size(void) { return sizeof(level_t); }

/* First half of a cycle: t = inverse r, then the residual, summed over aggregates into coarse (zeroed here) */
void cycle_down(const level_t *level, const float *r, float *t, float *coarse) {
    int64_t n = level->n;
    int threads = (int)level->threads;
    const float *inverse = level->inverse;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) t[j] = inverse[j] * r[j];
    residual32(n, level->indptr, level->indices, level->w, level->diagonal, r, t, level->left, threads);
    for (int64_t a = 0; a < level->count; a++) coarse[a] = 0;
    for (int64_t j = 0; j < n; j++) coarse[level->label[j]] += level->left[j];
}

/* Second half: t += stretch coarse[label], then t += inverse (r - A t) */
void cycle_up(const level_t *level, const float *r, float *t, const float *coarse, float stretch) {
    int64_t n = level->n;
    int threads = (int)level->threads;
    const float *inverse = level->inverse, *left = level->left;
    const index_t *label = level->label;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) t[j] += stretch * coarse[label[j]];
    residual32(n, level->indptr, level->indices, level->w, level->diagonal, r, t, level->left, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < n; j++) t[j] += inverse[j] * left[j];
}
