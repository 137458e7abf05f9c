/* Products with the narrow copy of a dense Hermitian matrix (narrow.h), summed in single precision, for one vector or a
 * few at a time.
 *
 * Real and imaginary parts of vectors lie apart. With entries a of row j right of the diagonal:
 *     y_j += a x_l:         re += ar xr - ai xi,  im += ar xi + ai xr       (lane by lane)
 *     u_l += conj(a) x_j:   re += ar xr + ai xi,  im += ar xi - ai xr
 *
 * A few vectors share one read of the copy: a row of blocks is small enough to stay in the cache from the first to the
 * last of them. (To make floats of it once for all of them was measured: what that saves, storing them costs.) Every vector
 * is multiplied as if it were alone, so its product is the same, bit for bit.
 *
 * Every thread collects u of its own rows; they are added up in the order of the threads, so the result depends
 * on their number alone and not on chance. That is the number asked for: where OpenMP gives fewer (OMP_THREAD_LIMIT,
 * OMP_DYNAMIC), one does the shares of several.
 */
#include "narrow.h"
#include <string.h>

#define CARRIED 64 /* blocks of rows whose sums over columns are in single precision: 512 terms */

typedef struct {
    int64_t n, padded;
    const int16_t *copy;
    const float *scale;
    const double *diagonal;
    int vectors;
    const double *x;
    double *y;
    const float *given; /* x of every vector: N real parts, N imaginary ones */
    float *u;           /* u of every vector in the same way, */
    double *total;      /* and what it was when it was last carried on */
} task;

/* Block b of four rows: its sums over the rows, and what it adds to the columns. */
static void row_of_blocks(const task *w, int64_t b, const float *restrict x, float *restrict u, double *sums) {
    const int64_t N = w->padded, j = ROWS * b, first = blocks_before(w->n, b);
    const int16_t *restrict a = w->copy + first * BLOCK;
    const float *restrict scale = w->scale + first * ROWS;
    floats P[ROWS], Q[ROWS];
    for (int k = 0; k < ROWS; k++) P[k] = Q[k] = EACH(floats, 0.0f);
    for (int64_t l = j / SEGMENT * SEGMENT; l < N; l += SEGMENT, a += BLOCK, scale += ROWS) {
        floats p[ROWS], q[ROWS], re[ROWS], im[ROWS];
        for (int k = 0; k < ROWS; k++) {
            p[k] = q[k] = EACH(floats, 0.0f);
            re[k] = EACH(floats, scale[k] * x[j + k]);
            im[k] = EACH(floats, scale[k] * x[N + j + k]);
        }
        for (int t = 0; t < SEGMENT; t += FLOATS) {
            floats f = *(const floats *)(x + l + t), g = *(const floats *)(x + N + l + t);
            floats c = *(const floats *)(u + l + t), d = *(const floats *)(u + N + l + t);
            for (int line = 0; line < 2 * ROWS * FLOATS; line += 32) ASK((const char *)(a + 2 * ROWS * t + line) + AHEAD, 3);
            for (int k = 0; k < ROWS; k++) {
                ints words = *(const ints *)(a + k * LANES + 2 * t);
                floats ar = FIRST(words), ai = SECOND(words);
                p[k] += ar * f;
                p[k] -= ai * g;
                q[k] += ar * g;
                q[k] += ai * f;
                c += ar * re[k];
                c += ai * im[k];
                d += ar * im[k];
                d -= ai * re[k];
            }
            *(floats *)(u + l + t) = c;
            *(floats *)(u + N + l + t) = d;
        }
        for (int k = 0; k < ROWS; k++) {
            P[k] += EACH(floats, scale[k]) * p[k];
            Q[k] += EACH(floats, scale[k]) * q[k];
        }
    }
    for (int k = 0; k < ROWS; k++) {
        sums[2 * k] = sum_of_floats(P[k]);
        sums[2 * k + 1] = sum_of_floats(Q[k]);
    }
}

/* The sums of the four rows from j on, and the diagonal, into y of one vector. */
static void settle(const task *w, int64_t j, int vector, const double *sums) {
    const double *x = w->x + 2 * w->n * vector;
    double *y = w->y + 2 * w->n * vector;
    for (int64_t k = 0; k < ROWS && j + k < w->n; k++) {
        y[2 * (j + k)] = sums[2 * k] + w->diagonal[j + k] * x[2 * (j + k)];
        y[2 * (j + k) + 1] = sums[2 * k + 1] + w->diagonal[j + k] * x[2 * (j + k) + 1];
    }
}

/* One row of blocks, b, for every vector in turn: after the first it is in the cache. */
static void row_for_each(const task *w, int64_t b) {
    for (int c = 0; c < w->vectors; c++) {
        double sums[2 * ROWS];
        row_of_blocks(w, b, w->given + 2 * w->padded * c, w->u + 2 * w->padded * c, sums);
        settle(w, ROWS * b, c, sums);
    }
}

/* What single precision has summed up over columns, from column `from` on, carried on in double precision. */
static void carry_each(const task *w, int64_t from) {
    for (int part = 0; part < 2 * w->vectors; part++) {
        float *restrict u = w->u + w->padded * part;
        double *restrict total = w->total + w->padded * part;
#pragma omp simd
        for (int64_t l = from; l < w->padded; l++) total[l] += (double)u[l];
        memset(u + from, 0, sizeof(float) * (size_t)(w->padded - from));
    }
}

/* y = C x from the copy, for a few vectors, one after the other. `work` has (2 + 6 threads) N floats a vector, where N
 * is n rounded up to a multiple of SEGMENT. A sum over columns has 8 CARRIED terms in single precision, one over a row
 * LANES / FLOATS and one for each segment: NarrowCopy.rounding in narrow.py is the bound that follows. */
void narrow_block(int64_t n, const int16_t *copy, const float *scale, const double *diagonal, int vectors, const double *x,
                  double *y, float *work, int threads) {
    int64_t padded = SEGMENT * segments_of(n), blocks = (n + ROWS - 1) / ROWS;
    float *own = work + 2 * padded * vectors;
    memset(work, 0, sizeof(float) * 2 * (size_t)(padded * vectors));
    for (int c = 0; c < vectors; c++)
        for (int64_t l = 0; l < n; l++) {
            work[2 * padded * c + l] = (float)x[2 * (n * c + l)];
            work[2 * padded * c + padded + l] = (float)x[2 * (n * c + l) + 1];
        }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        float *first = own + (int64_t)me * 6 * padded * vectors;
        task mine = {n, padded, copy, scale, diagonal, vectors, x, y, work, first, (double *)(first + 2 * padded * vectors)};
        int64_t summed = 0, from = me * ROWS / SEGMENT * SEGMENT; /* blocks of rows, and their first column */
        memset(first, 0, sizeof(float) * 6 * (size_t)(padded * vectors));
        for (int64_t b = me; b < blocks; b += threads) {
            row_for_each(&mine, b);
            if (++summed == CARRIED) {
                carry_each(&mine, from);
                summed = 0;
                from = ROWS * b / SEGMENT * SEGMENT;
            }
        }
        carry_each(&mine, from);
    }
    for (int k = 0; k < threads; k++) {
        const double *total = (const double *)(own + ((int64_t)k * 6 + 2) * padded * vectors);
        for (int c = 0; c < vectors; c++)
            for (int64_t l = 0; l < n; l++) {
                y[2 * (n * c + l)] += total[2 * padded * c + l];
                y[2 * (n * c + l) + 1] += total[2 * padded * c + padded + l];
            }
    }
}

/* y = C x for one vector. */
void narrow_product(int64_t n, const int16_t *copy, const float *scale, const double *diagonal, const double *x, double *y,
                    float *work, int threads) {
    narrow_block(n, copy, scale, diagonal, 1, x, y, work, threads);
}
