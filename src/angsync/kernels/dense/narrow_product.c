/* Products with the narrow copy of a dense Hermitian matrix (narrow.h), summed in single precision, for one vector or a
 * few at a time.
 *
 * Complex entries lie as (re, im). With lanes taken as they lie, four real sums are enough and nothing is shuffled:
 *     y_j += sum a x:          re = sum a * (xr, -xi),  im = sum a * (xi, xr)        (lane by lane)
 *     y_l += conj(a) x_j:      u += a xr_j,  v += a xi_j;  re = u_even + v_odd,  im = v_even - u_odd
 *
 * A few vectors share one read of the copy: a row of blocks is small enough to stay in the cache from the first to the
 * last of them. (To make floats of it once for all of them was measured: what that saves, storing them costs.) Every vector
 * is multiplied as if it were alone, so its product is the same, bit for bit.
 *
 * Every thread collects u and v of its own rows; they are added up in the order of the threads, so the result depends
 * on their number alone and not on chance. That is the number asked for: where OpenMP gives fewer (OMP_THREAD_LIMIT,
 * OMP_DYNAMIC), one does the shares of several.
 */
#include "narrow.h"
#include <string.h>

#define AHEAD 4096  /* bytes: how far ahead of the product the copy is asked for */
#define CARRIED 128 /* blocks of rows whose sums over columns are in single precision: 512 terms */

/* Four rows of blocks: their sums over the rows, and what they add to the columns into u and v. */
#define ROW_OF_BLOCKS(NAME) \
    static void NAME(int64_t count, const int16_t *restrict a, const float *restrict scale, const float *restrict turned, \
                     const float *restrict swapped, float *restrict u, float *restrict v, const float *x, double *sums)

#if WITH_AVX512
__attribute__((target("avx512f"))) ROW_OF_BLOCKS(row_of_blocks_avx512) {
    __m512 P[ROWS], Q[ROWS];
    for (int k = 0; k < ROWS; k++) P[k] = Q[k] = _mm512_setzero_ps();
    for (int64_t s = 0; s < count; s++, a += BLOCK, scale += ROWS) {
        __m512 p0 = _mm512_setzero_ps(), p1 = p0, p2 = p0, p3 = p0, q0 = p0, q1 = p0, q2 = p0, q3 = p0;
        __m512 r0 = _mm512_set1_ps(scale[0] * x[0]), i0 = _mm512_set1_ps(scale[0] * x[1]);
        __m512 r1 = _mm512_set1_ps(scale[1] * x[2]), i1 = _mm512_set1_ps(scale[1] * x[3]);
        __m512 r2 = _mm512_set1_ps(scale[2] * x[4]), i2 = _mm512_set1_ps(scale[2] * x[5]);
        __m512 r3 = _mm512_set1_ps(scale[3] * x[6]), i3 = _mm512_set1_ps(scale[3] * x[7]);
        for (int t = 0; t < LANES; t += 16) {
#define WIDENED(k) _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(a + k * LANES + t))))
            __m512 b0 = WIDENED(0), b1 = WIDENED(1), b2 = WIDENED(2), b3 = WIDENED(3);
#undef WIDENED
            _mm_prefetch((const char *)(a + 2 * t) + AHEAD, _MM_HINT_T0);
            _mm_prefetch((const char *)(a + 2 * LANES + 2 * t) + AHEAD, _MM_HINT_T0);
            int64_t at = s * LANES + t;
            __m512 f = _mm512_loadu_ps(turned + at), g = _mm512_loadu_ps(swapped + at);
            p0 = _mm512_fmadd_ps(b0, f, p0); p1 = _mm512_fmadd_ps(b1, f, p1);
            p2 = _mm512_fmadd_ps(b2, f, p2); p3 = _mm512_fmadd_ps(b3, f, p3);
            q0 = _mm512_fmadd_ps(b0, g, q0); q1 = _mm512_fmadd_ps(b1, g, q1);
            q2 = _mm512_fmadd_ps(b2, g, q2); q3 = _mm512_fmadd_ps(b3, g, q3);
            __m512 c = _mm512_fmadd_ps(b0, r0, _mm512_loadu_ps(u + at)), d = _mm512_fmadd_ps(b0, i0, _mm512_loadu_ps(v + at));
            c = _mm512_fmadd_ps(b1, r1, c); d = _mm512_fmadd_ps(b1, i1, d);
            c = _mm512_fmadd_ps(b2, r2, c); d = _mm512_fmadd_ps(b2, i2, d);
            c = _mm512_fmadd_ps(b3, r3, c); d = _mm512_fmadd_ps(b3, i3, d);
            _mm512_storeu_ps(u + at, c); _mm512_storeu_ps(v + at, d);
        }
#define ADD(k, p, q) \
        P[k] = _mm512_fmadd_ps(_mm512_set1_ps(scale[k]), p, P[k]); Q[k] = _mm512_fmadd_ps(_mm512_set1_ps(scale[k]), q, Q[k]);
        ADD(0, p0, q0) ADD(1, p1, q1) ADD(2, p2, q2) ADD(3, p3, q3)
#undef ADD
    }
    for (int k = 0; k < ROWS; k++) {
        sums[2 * k] = (double)_mm512_reduce_add_ps(P[k]); sums[2 * k + 1] = (double)_mm512_reduce_add_ps(Q[k]);
    }
}
#endif

FAST ROW_OF_BLOCKS(row_of_blocks_plain) {
    double p[2 * ROWS] = {0};
    for (int64_t s = 0; s < count; s++, a += BLOCK, scale += ROWS)
        for (int k = 0; k < ROWS; k++) {
            const int16_t *row = a + k * LANES;
            const float *f = turned + s * LANES, *g = swapped + s * LANES;
            float *c = u + s * LANES, *d = v + s * LANES, re = scale[k] * x[2 * k], im = scale[k] * x[2 * k + 1], r = 0, i = 0;
#pragma omp simd reduction(+ : r, i)
            for (int t = 0; t < LANES; t++) {
                float b = (float)row[t];
                r += b * f[t];
                i += b * g[t];
                c[t] += b * re;
                d[t] += b * im;
            }
            p[2 * k] += (double)scale[k] * (double)r;
            p[2 * k + 1] += (double)scale[k] * (double)i;
        }
    for (int k = 0; k < 2 * ROWS; k++) sums[k] = p[k];
}

typedef struct {
    int64_t n;
    const int16_t *copy;
    const float *scale;
    const double *diagonal;
    int vectors;
    const double *x;
    double *y;
    const float *given; /* x, turned and swapped of every vector, 6 N floats of each */
    float *u;           /* u and v of every vector, 4 N floats of each */
    double *total;      /* what they were when they were last carried on, 2 N of every vector */
} task;

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
static void row_for_each(const task *w, int64_t b, int avx512) {
    int64_t n = w->n, padded = SEGMENT * segments_of(n), j = ROWS * b, first = j / SEGMENT, at = blocks_before(n, b);
    (void)avx512;
    for (int c = 0; c < w->vectors; c++) {
        const float *given = w->given + 6 * padded * c, *turned = given + 2 * padded + first * LANES;
        float *u = w->u + 4 * padded * c + first * LANES;
        double sums[2 * ROWS];
#if WITH_AVX512
        if (avx512)
            row_of_blocks_avx512(segments_of(n) - first, w->copy + at * BLOCK, w->scale + at * ROWS, turned,
                                 turned + 2 * padded, u, u + 2 * padded, given + 2 * j, sums);
        else
#endif
            row_of_blocks_plain(segments_of(n) - first, w->copy + at * BLOCK, w->scale + at * ROWS, turned,
                                turned + 2 * padded, u, u + 2 * padded, given + 2 * j, sums);
        settle(w, j, c, sums);
    }
}

/* What single precision has summed up over columns, from column `from` to `to`, carried on in double precision. */
FAST static void carry(int64_t from, int64_t to, float *restrict u, float *restrict v, double *restrict total) {
#pragma omp simd
    for (int64_t l = from; l < to; l++) {
        total[2 * l] += (double)u[2 * l] + (double)v[2 * l + 1];
        total[2 * l + 1] += (double)v[2 * l] - (double)u[2 * l + 1];
    }
    memset(u + 2 * from, 0, sizeof(float) * 2 * (size_t)(to - from));
    memset(v + 2 * from, 0, sizeof(float) * 2 * (size_t)(to - from));
}

static void carry_each(const task *w, int64_t from) {
    int64_t padded = SEGMENT * segments_of(w->n);
    for (int c = 0; c < w->vectors; c++) {
        float *u = w->u + 4 * padded * c;
        carry(from, padded, u, u + 2 * padded, w->total + 2 * padded * c);
    }
}

/* y = C x from the copy, for a few vectors, one after the other. `work` has (6 + 8 threads) N floats a vector, where N
 * is n rounded up to a multiple of SEGMENT. A sum over columns has 4 CARRIED terms in single precision, one over a row 16 and
 * one for each segment (256 in the plain version): NarrowCopy.rounding in narrow.py is the bound that follows. */
void narrow_block(int64_t n, const int16_t *copy, const float *scale, const double *diagonal, int vectors, const double *x,
                  double *y, float *work, int avx512, int threads) {
    int64_t padded = SEGMENT * segments_of(n), blocks = (n + ROWS - 1) / ROWS;
    float *own = work + 6 * padded * vectors;
    for (int c = 0; c < vectors; c++) {
        float *given = work + 6 * padded * c, *turned = given + 2 * padded, *swapped = turned + 2 * padded;
        for (int64_t l = 0; l < padded; l++) {
            float re = l < n ? (float)x[2 * (n * c + l)] : 0.0f, im = l < n ? (float)x[2 * (n * c + l) + 1] : 0.0f;
            given[2 * l] = turned[2 * l] = swapped[2 * l + 1] = re;
            given[2 * l + 1] = swapped[2 * l] = im;
            turned[2 * l + 1] = -im;
        }
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        float *first = own + (int64_t)me * 8 * padded * vectors;
        task mine = {n, copy, scale, diagonal, vectors, x, y, work, first, (double *)(first + 4 * padded * vectors)};
        int64_t summed = 0, from = me * ROWS / SEGMENT * SEGMENT; /* blocks of rows, and their first column */
        memset(first, 0, sizeof(float) * 8 * (size_t)(padded * vectors));
        for (int64_t b = me; b < blocks; b += threads) {
            row_for_each(&mine, b, avx512);
            if (++summed == CARRIED) {
                carry_each(&mine, from);
                summed = 0;
                from = ROWS * b / SEGMENT * SEGMENT;
            }
        }
        carry_each(&mine, from);
    }
    for (int k = 0; k < threads; k++) {
        const double *total = (const double *)(own + ((int64_t)k * 8 + 4) * padded * vectors);
        for (int c = 0; c < vectors; c++)
            for (int64_t l = 0; l < 2 * n; l++) y[2 * n * c + l] += total[2 * padded * c + l];
    }
}

/* y = C x for one vector. */
void narrow_product(int64_t n, const int16_t *copy, const float *scale, const double *diagonal, const double *x, double *y,
                    float *work, int avx512, int threads) {
    narrow_block(n, copy, scale, diagonal, 1, x, y, work, avx512, threads);
}
