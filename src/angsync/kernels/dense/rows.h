/* A few rows of a dense Hermitian matrix right of the diagonal, times one vector: the inner loops of dense.c.
 *
 * Complex entries lie as (re, im). With lanes taken as they lie, four real sums are enough and nothing is shuffled: for
 * entries a of row j right of the diagonal,
 *     y_j += sum a x:          re = sum a * (xr, -xi),  im = sum a * (xi, xr)        (lane by lane)
 *     y_l += conj(a) x_j:      u += a xr_j,  v += a xi_j;  re = u_even + v_odd,  im = v_even - u_odd
 * so every loop is a plain fused multiply-add over lanes. All rows share the loads of x, u and v.
 */
#ifndef ANGSYNC_DENSE_ROWS_H
#define ANGSYNC_DENSE_ROWS_H

#include <stdint.h>

#include "targets.h"

#define ROWS 4

/* `sums` of four rows, and what they add to u and v; x has the entries of the rows, as (re, im). */
FAST static void four_rows(const double *restrict a, int64_t stride, int64_t count, const double *restrict turned,
                           const double *restrict swapped, double *restrict u, double *restrict v, const double *x,
                           double *sums) {
    const double *a0 = a, *a1 = a + stride, *a2 = a + 2 * stride, *a3 = a + 3 * stride;
    double p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
    double r0 = x[0], i0 = x[1], r1 = x[2], i1 = x[3], r2 = x[4], i2 = x[5], r3 = x[6], i3 = x[7];
#pragma omp simd reduction(+ : p0, p1, p2, p3, q0, q1, q2, q3)
    for (int64_t t = 0; t < count; t++) {
        double b0 = a0[t], b1 = a1[t], b2 = a2[t], b3 = a3[t], s = turned[t], w = swapped[t];
        p0 += b0 * s; p1 += b1 * s; p2 += b2 * s; p3 += b3 * s;
        q0 += b0 * w; q1 += b1 * w; q2 += b2 * w; q3 += b3 * w;
        u[t] += b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3;
        v[t] += b0 * i0 + b1 * i1 + b2 * i2 + b3 * i3;
    }
    sums[0] += p0; sums[1] += q0; sums[2] += p1; sums[3] += q1;
    sums[4] += p2; sums[5] += q2; sums[6] += p3; sums[7] += q3;
}

#if WITH_AVX512
#define MORE_ROWS 8 /* half the traffic of u and v that four rows make */
#define AHEAD 1024  /* bytes: how far ahead of the product C is asked for */

/* Sums of eight rows by lanes, from one part of the columns to the next. */
typedef struct {
    __m512d p[MORE_ROWS], q[MORE_ROWS];
} lane_sums;

/* Eight rows over `count` lanes, a multiple of eight: two vectors of lanes at a time, which share what is read of x. The
 * entries are doubles, or floats where `single` says so; sums are in double precision always. `ask` for what comes next
 * only once where several vectors are multiplied with the same part; inlined, so that neither costs anything. */
__attribute__((target("avx512f"), always_inline)) static inline void
eight_rows(lane_sums *sums, const void *a, int64_t stride, int64_t count, const double *turned, const double *swapped,
           double *u, double *v, const double *x, int ask, int single) {
    __m512d p[MORE_ROWS], q[MORE_ROWS];
    for (int k = 0; k < MORE_ROWS; k++) {
        p[k] = sums->p[k];
        q[k] = sums->q[k];
    }
#define EACH_ROW ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
#define LOADED(name, at) \
    __m512d f##name = _mm512_loadu_pd(turned + at), g##name = _mm512_loadu_pd(swapped + at), \
            c##name = _mm512_loadu_pd(u + at), d##name = _mm512_loadu_pd(v + at);
#define ADDED(k, name, at) \
    { \
        const char *place = (const char *)a + (single ? 4 : 8) * (k * stride + at); \
        __m512d b = single ? _mm512_cvtps_pd(_mm256_loadu_ps((const float *)place)) : _mm512_loadu_pd((const double *)place); \
        if (ask) _mm_prefetch(place + AHEAD, _MM_HINT_T0); \
        p[k] = _mm512_fmadd_pd(b, f##name, p[k]); \
        q[k] = _mm512_fmadd_pd(b, g##name, q[k]); \
        c##name = _mm512_fmadd_pd(b, re, c##name); \
        d##name = _mm512_fmadd_pd(b, im, d##name); \
    }
#define STORED(name, at) \
    _mm512_storeu_pd(u + at, c##name); \
    _mm512_storeu_pd(v + at, d##name);
#define BROADCAST(k) __m512d re = _mm512_set1_pd(x[2 * k]), im = _mm512_set1_pd(x[2 * k + 1]);
    int64_t t = 0;
    for (; t + 16 <= count; t += 16) {
        LOADED(0, t) LOADED(1, t + 8)
#define ROW(k) { BROADCAST(k) ADDED(k, 0, t) ADDED(k, 1, t + 8) }
        EACH_ROW
#undef ROW
        STORED(0, t) STORED(1, t + 8)
    }
    if (t < count) {
        LOADED(0, t)
#define ROW(k) { BROADCAST(k) ADDED(k, 0, t) }
        EACH_ROW
#undef ROW
        STORED(0, t)
    }
#undef EACH_ROW
#undef LOADED
#undef ADDED
#undef STORED
#undef BROADCAST
    for (int k = 0; k < MORE_ROWS; k++) {
        sums->p[k] = p[k];
        sums->q[k] = q[k];
    }
}
#endif

#endif
