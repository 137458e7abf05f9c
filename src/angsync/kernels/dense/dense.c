/* Products with a dense Hermitian matrix from its upper triangle, for one vector or a few at a time. The matrix may be of
 * any type and lie in memory in any way (matrix.h); sums are in double precision.
 *
 * One vector waits for memory: every entry is read once and takes four multiplications. A few vectors share one read of
 * the triangle: it goes by in tiles that stay in the first-level cache while each of the vectors is multiplied with them.
 * The sums of a vector are added in the same order whatever vectors are beside it, so its product is the same, bit for
 * bit, as alone.
 *
 * Rows of pairs of numbers are read where they lie. So are columns: they are the rows of the lower triangle of the conjugate
 * (the mirrored product, conj(C) conj(x) = conj(C x)), left of the diagonal. Every other matrix goes through a small buffer
 * of doubles, several blocks of rows at a time, and its sums are those of the same matrix by rows.
 *
 * Every thread collects u and v (rows.h) of its own rows; they are added up in the order of the threads, so the
 * result depends on their number alone and not on chance. That is the number asked for: where OpenMP gives fewer
 * (OMP_THREAD_LIMIT, OMP_DYNAMIC), one does the shares of several.
 */
#include "matrix.h"
#include "rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE 128      /* lanes: some rows, and x, u and v of four vectors, stay in the first-level cache */
#define BUFFERED 256  /* lanes of a tile that is buffered: eight rows of it take half of the first-level cache */
#define TOGETHER 8    /* blocks of rows that go through such tiles side by side: runs of 64 where C lies by columns */
#define MOST_VECTORS 4 /* at a time */

/* turned = (xr, -xi) and swapped = (xi, xr) of every vector; `work` begins with them, 4 n numbers a vector. */
static void prepare(int64_t count, const double *x, double *turned, double *swapped, double sign) {
    for (int64_t l = 0; l < count; l++) {
        turned[2 * l] = swapped[2 * l + 1] = x[2 * l];
        swapped[2 * l] = sign * x[2 * l + 1];
        turned[2 * l + 1] = -x[2 * l + 1];
    }
}

/* y_l += conj(C_jl) x_j for all rows j of all threads. */
static void collect(int64_t n, int vectors, const double *own, double *y, int threads) {
    for (int k = 0; k < threads; k++)
        for (int c = 0; c < vectors; c++) {
            const double *u = own + ((int64_t)k * vectors + c) * 4 * n, *v = u + 2 * n;
            double *out = y + 2 * n * c;
            for (int64_t l = 0; l < n; l++) {
                out[2 * l] += u[2 * l] + v[2 * l + 1];
                out[2 * l + 1] += v[2 * l] - u[2 * l + 1];
            }
        }
}

/* One product, and one thread's share of it. */
typedef struct {
    int64_t n;
    const matrix_t *C; /* what is multiplied with: C, or its conjugate, */
    matrix_t rows;     /* and its rows as they lie, which are those right of the diagonal, or */
    int left;          /* left of it */
    int vectors;
    const double *x, *turned, *swapped;
    double *y;
    double *both;   /* u and v of every vector, one vector after the other */
    int buffered;   /* C is not read where it lies */
} share_t;

/* y_j += C_jl x_l and y_l += conj(C_jl) x_j within the rows from `first` to `last`; the diagonal once. y begins at 0. */
static void corner(const share_t *w, int64_t first, int64_t last) {
    double own[8 * 16];
    const double *part = own;
    int64_t stride = 16, n = w->n;
    if (is_direct(w->C) && w->C->kind == COMPLEX_DOUBLE) {
        part = (const double *)entry_at(w->C, first, first);
        stride = w->C->row / 8;
    } else
        for (int64_t j = first; j < last; j++)
            matrix_part(w->C, j, 1, j, last - j, own + 16 * (j - first) + 2 * (j - first), stride);
    for (int c = 0; c < w->vectors; c++) {
        const double *x = w->x + 2 * n * c;
        double *y = w->y + 2 * n * c;
        memset(y + 2 * first, 0, sizeof(double) * 2 * (size_t)(last - first));
        for (int64_t j = first; j < last; j++) {
            const double *row = part + stride * (j - first) - 2 * first;
            double own_entry = w->C->hollow ? 0 : row[2 * j];
            y[2 * j] += own_entry * x[2 * j];
            y[2 * j + 1] += own_entry * x[2 * j + 1];
            for (int64_t l = j + 1; l < last; l++) {
                double re = row[2 * l], im = row[2 * l + 1];
                y[2 * j] += re * x[2 * l] - im * x[2 * l + 1];
                y[2 * j + 1] += re * x[2 * l + 1] + im * x[2 * l];
                y[2 * l] += re * x[2 * j] + im * x[2 * j + 1];
                y[2 * l + 1] += re * x[2 * j + 1] - im * x[2 * j];
            }
        }
    }
}

/* ROWS rows from j on over `lanes` lanes from t on, a multiple of DOUBLES, for every vector. */
INLINED void rows_for_each(const share_t *w, int64_t j, lane_sums *sums, const void *a, int64_t stride, int64_t t,
                           int64_t lanes, int single) {
    int64_t n = w->n;
    double *both = w->both;
    some_rows(sums, a, stride, lanes, w->turned + t, w->swapped + t, both + t, both + 2 * n + t, w->x + 2 * j, 1, single);
    for (int c = 1; c < w->vectors; c++) {
        int64_t from = 2 * n * c, at = from + t;
        double *u = both + from + at;
        some_rows(sums + c, a, stride, lanes, w->turned + at, w->swapped + at, u, u + 2 * n, w->x + from + 2 * j, 0, single);
    }
}

/* What is summed by lanes into y, and the columns right of the last whole vector. */
static void finish_rows(const share_t *w, int64_t j, const lane_sums *sums) {
    int64_t n = w->n, right = 2 * (j + ROWS), end = 2 * n / DOUBLES * DOUBLES;
    double last[ROWS * 8];
    if (right > end) end = right;
    if (w->left) end = 2 * n; /* there are none */
    if (end < 2 * n) matrix_part(w->C, j, ROWS, end / 2, n - end / 2, last, 8);
    for (int c = 0; c < w->vectors; c++)
        for (int k = 0; k < ROWS; k++) {
            int64_t from = 2 * n * c, row = from + 2 * (j + k);
            double *u = w->both + 2 * from, *v = u + 2 * n;
            w->y[row] += sum_of_doubles(sums[c].p[k]);
            w->y[row + 1] += sum_of_doubles(sums[c].q[k]);
            for (int64_t l = end; l < 2 * n; l++) {
                double entry = last[8 * k + l - end];
                w->y[row] += entry * w->turned[from + l];
                w->y[row + 1] += entry * w->swapped[from + l];
                u[l] += entry * w->x[row];
                v[l] += entry * w->x[row + 1];
            }
        }
}

/* `blocks` blocks of rows, `apart` rows from the beginning of one to the next, the first at j. One vector has one
 * tile where C is read where it lies, and keeps its sums in registers. */
static void some_blocks(const share_t *w, int64_t j, int64_t blocks, int64_t apart) {
    int64_t n = w->n, end = w->left ? 2 * j : 2 * n / DOUBLES * DOUBLES, tile = w->vectors == 1 ? 2 * n : TILE;
    int64_t stride = 2 * (w->rows.row / entry_bytes(&w->rows));
    lane_sums sums[TOGETHER][MOST_VECTORS];
    double buffer[ROWS * BUFFERED];
    for (int64_t i = 0; i < blocks; i++) {
        corner(w, j + i * apart, j + i * apart + ROWS);
        for (int c = 0; c < w->vectors; c++)
            for (int k = 0; k < ROWS; k++) sums[i][c].p[k] = sums[i][c].q[k] = EACH(doubles, 0.0);
    }
    if (w->buffered) tile = BUFFERED;
    for (int64_t t = w->left ? 0 : 2 * (j + ROWS); t < end; t += tile)
        for (int64_t i = 0; i < blocks; i++) {
            int64_t row = j + i * apart, first = w->left ? 0 : 2 * (row + ROWS), begin = t > first ? t : first;
            int64_t lanes = (t + tile < end ? t + tile : end) - begin;
            if (lanes <= 0) break;
            if (w->buffered) {
                matrix_part(w->C, row, ROWS, begin / 2, lanes / 2, buffer, BUFFERED);
                rows_for_each(w, row, sums[i], buffer, BUFFERED, begin, lanes, 0);
            } else if (w->rows.kind == COMPLEX_SINGLE)
                rows_for_each(w, row, sums[i], entry_at(&w->rows, row, begin / 2), stride, begin, lanes, 1);
            else
                rows_for_each(w, row, sums[i], entry_at(&w->rows, row, begin / 2), stride, begin, lanes, 0);
        }
    for (int64_t i = 0; i < blocks; i++) finish_rows(w, j + i * apart, sums[i]);
}

/* The rows after the last block, left of column j: as a block whose other rows are 0. */
static void last_rows(const share_t *w, int64_t j) {
    int64_t n = w->n, rows = n - j;
    double buffer[ROWS * BUFFERED] = {0};
    lane_sums sums[MOST_VECTORS];
    memset(sums, 0, sizeof(sums));
    for (int64_t t = 0; t < 2 * j; t += BUFFERED) {
        int64_t lanes = 2 * j - t < BUFFERED ? 2 * j - t : BUFFERED;
        matrix_part(&w->rows, j, rows, t / 2, lanes / 2, buffer, BUFFERED);
        for (int c = 0; c < w->vectors; c++) {
            int64_t from = 2 * n * c, at = from + t;
            double given[2 * ROWS] = {0}, *u = w->both + from + at;
            memcpy(given, w->x + from + 2 * j, sizeof(double) * 2 * (size_t)rows);
            some_rows(sums + c, buffer, BUFFERED, lanes, w->turned + at, w->swapped + at, u, u + 2 * n, given, 0, 0);
        }
    }
    for (int c = 0; c < w->vectors; c++)
        for (int64_t k = 0; k < rows; k++) {
            w->y[2 * (n * c + j + k)] += sum_of_doubles(sums[c].p[k]);
            w->y[2 * (n * c + j + k) + 1] += sum_of_doubles(sums[c].q[k]);
        }
}

/* How C is read: where it lies, or buffered. Returns whether the product is the mirrored one. */
static int ways_to_read(const matrix_t *C, share_t *w) {
    int64_t entry = entry_bytes(C);
    int pairs = C->kind <= COMPLEX_SINGLE, by_rows = pairs && C->column == entry && C->row % entry == 0;
    w->rows = *C;
    w->left = w->buffered = 0;
    if (by_rows) {
        w->rows.conjugated = 0;
        return C->conjugated;
    }
    if (pairs && C->row == entry && C->column % entry == 0) { /* what lies there is C_jl, and conj(C) has it at (l, j) */
        w->rows = transposed(C);
        w->rows.conjugated = 0;
        w->left = 1;
        return !C->conjugated;
    }
    w->buffered = 1;
    return 0;
}

/* y = C x for up to four vectors, one after the other. `work` has (4 + 4 threads) n doubles a vector. */
void dense_block(int64_t n, const matrix_t *C, int vectors, const double *x, double *y, double *work, int threads) {
    double *turned = work, *swapped = work + 2 * n * vectors, *own = work + 4 * n * vectors;
    matrix_t problem = *C;
    share_t all = {.n = n, .C = &problem, .vectors = vectors, .x = x, .turned = turned, .swapped = swapped, .y = y};
    int mirrored = ways_to_read(C, &all);
    int64_t count = n / ROWS, together = all.buffered ? TOGETHER : 1;
    if (mirrored) { /* conj(x) is what was prepared as turned, and the other way round */
        problem.conjugated = !problem.conjugated;
        all.x = turned;
        all.turned = x;
    }
    prepare(n * vectors, x, turned, swapped, mirrored ? -1 : 1);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        double *mine = own + (int64_t)me * 4 * n * vectors;
        share_t w = all;
        w.both = mine;
        memset(mine, 0, sizeof(double) * 4 * (size_t)(n * vectors));
        for (int64_t b = me; b < count; b += threads * together) {
            int64_t left = (count - b + threads - 1) / threads, blocks = left < together ? left : together;
            some_blocks(&w, ROWS * b, blocks, ROWS * threads);
        }
    }
    all.both = own;
    corner(&all, ROWS * count, n);
    if (all.left && ROWS * count < n) last_rows(&all, ROWS * count);
    collect(n, vectors, own, y, threads);
    for (int64_t l = 0; mirrored && l < n * vectors; l++) y[2 * l + 1] = -y[2 * l + 1];
}

/* y = C x for one vector. */
void dense_apply(int64_t n, const matrix_t *C, const double *x, double *y, double *work, int threads) {
    dense_block(n, C, 1, x, y, work, threads);
}

/* What one look at a small matrix finds: the largest modulus, the sum of the parts of all C_jl - conj(C_lj), 0 where all is
 * finite (not a number otherwise), and how far the worst squared difference is above what is allowed. */
typedef struct {
    double largest, gap, bad, excess;
} findings;

/* Row j of a small matrix right of the diagonal against column j below it; entries of the column lie `stride` apart. */
static void check_row(int64_t count, const double *restrict row, const double *restrict column, int64_t stride,
                           double square, double *restrict sums, double *own, findings *found) {
    double total = 0, largest = found->largest, gap = 0, bad = 0, excess = found->excess;
#pragma omp simd reduction(+ : total, bad, gap) reduction(max : largest, excess)
    for (int64_t l = 0; l < count; l++) {
        double re = row[2 * l], im = row[2 * l + 1], all = re * re + im * im;
        double dr = fabs(re - column[l * stride]), di = fabs(im + column[l * stride + 1]), modulus = sqrt(all);
        double over = dr * dr + di * di - square * all;
        total += modulus;
        sums[l] += modulus;
        bad += 0 * (dr + di);
        gap += dr + di;
        largest = modulus > largest ? modulus : largest;
        excess = over > excess ? over : excess;
    }
    *own += total;
    found->largest = largest;
    found->gap += gap;
    found->bad += bad;
    found->excess = excess;
}

/* What narrow_inspect finds, without a copy, and whether any pair is suspect: for matrices that stay in the cache. C is
 * rows of pairs of doubles, one after the other. `sums` are those of the rows, and then those without the diagonal; three
 * numbers more are the largest modulus in the first row, on the diagonal, and of the sums without it. */
void dense_check(int64_t n, const double *C, double share, double *sums, double *found) {
    findings all = {0, 0, 0, 0};
    double first = 0, on = 0, beside = 0;
    memset(sums, 0, sizeof(double) * (size_t)n);
    for (int64_t j = 0; j < n; j++) {
        const double *diagonal = C + 2 * (j * n + j);
        double re = fabs(diagonal[0]), im = fabs(diagonal[1]), own = 0;
        double over = 4 * im * im - share * share * (re * re + im * im);
        all.largest = re > all.largest ? re : all.largest;
        all.gap += im; /* a diagonal that is not real counts as asymmetry, and changes nothing about f */
        all.bad += 0 * (re + im);
        all.excess = over > all.excess ? over : all.excess;
        check_row(n - j - 1, diagonal + 2, diagonal + 2 * n, 2 * n, share * share, sums + j + 1, &own, &all);
        sums[n + j] = sums[j] + own;
        sums[j] += re + own;
        if (j == 0) first = all.largest;
        on = re > on ? re : on;
        beside = sums[n + j] > beside ? sums[n + j] : beside;
    }
    found[0] = all.largest;
    found[1] = all.gap;
    found[2] = all.bad;
    found[3] = all.excess;
    found[4] = first;
    found[5] = on;
    found[6] = beside;
}

#define PACKED 64 /* rows that are packed at a time, */
#define TURNED 16 /* and the side of the squares in which a triangle is turned over: what both touch stays in the cache */

/* A small matrix of any kind as rows of pairs of doubles. */
void dense_pack(int64_t n, const matrix_t *C, double *out) {
    for (int64_t j = 0; j < n; j += PACKED) matrix_part(C, j, n - j < PACKED ? n - j : PACKED, 0, n, out + 2 * j * n, 2 * n);
}

/* The lower triangle of such rows becomes the mirror image of the upper one, and the diagonal real. */
void dense_mirror(int64_t n, double *C) {
    for (int64_t l0 = 0; l0 < n; l0 += TURNED)
        for (int64_t j0 = 0; j0 <= l0; j0 += TURNED)
            for (int64_t l = l0; l < l0 + TURNED && l < n; l++)
                for (int64_t j = j0; j < j0 + TURNED && j < l; j++) {
                    C[2 * (l * n + j)] = C[2 * (j * n + l)];
                    C[2 * (l * n + j) + 1] = -C[2 * (j * n + l) + 1];
                }
    for (int64_t j = 0; j < n; j++) C[2 * (j * n + j) + 1] = 0;
}

static double sum_of(int64_t count, const double *restrict x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++) sum += x[k];
    return sum;
}

/* Every number read once, each thread its own part: what the other kernels are measured against. */
double dense_read(int64_t count, const double *x, int threads) {
    double total = 0;
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : total)
    for (int64_t me = 0; me < threads; me++) {
        int64_t from = count * me / threads, to = count * (me + 1) / threads;
        total += sum_of(to - from, x + from);
    }
    return total;
}
