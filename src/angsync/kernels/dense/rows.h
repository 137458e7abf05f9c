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

#include "simd.h"

#define ROWS (REGISTERS / 4) /* half of the registers are sums; eight rows make half the traffic of u and v of four */
#define AHEAD 1024           /* bytes: how far ahead of the product C is asked for */

/* Sums of some rows by lanes, from one part of the columns to the next. */
typedef struct {
    doubles p[ROWS], q[ROWS];
} lane_sums;

/* All rows over `beside` vectors of lanes from lane t on, which share what is read of x. The entries are doubles, or floats
 * where `single` says so; sums are in double precision always. `ask` for what comes next only once where several vectors are
 * multiplied with the same part. Inlined, so that none of the three costs anything. */
INLINED void some_lanes(lane_sums *sums, const char *const *rows, int64_t t, const double *turned, const double *swapped,
                        double *u, double *v, const double *x, int ask, int single, int beside) {
    doubles f[2], g[2], c[2], d[2];
    for (int i = 0; i < beside; i++) {
        f[i] = *(const doubles *)(turned + t + i * DOUBLES);
        g[i] = *(const doubles *)(swapped + t + i * DOUBLES);
        c[i] = *(const doubles *)(u + t + i * DOUBLES);
        d[i] = *(const doubles *)(v + t + i * DOUBLES);
    }
    for (int k = 0; k < ROWS; k++) {
        doubles re = EACH(doubles, x[2 * k]), im = EACH(doubles, x[2 * k + 1]);
        for (int i = 0; i < beside; i++) {
            const char *place = rows[k] + (single ? 4 : 8) * (t + i * DOUBLES);
            doubles b = single ? CONVERT(*(const fewer_floats *)place, doubles) : *(const doubles *)place;
            if (ask) ASK(place + AHEAD, 3);
            sums->p[k] += b * f[i];
            sums->q[k] += b * g[i];
            c[i] += b * re;
            d[i] += b * im;
        }
    }
    for (int i = 0; i < beside; i++) {
        *(doubles *)(u + t + i * DOUBLES) = c[i];
        *(doubles *)(v + t + i * DOUBLES) = d[i];
    }
}

/* All rows over `count` lanes, a multiple of DOUBLES. */
INLINED void some_rows(lane_sums *sums, const void *a, int64_t stride, int64_t count, const double *turned,
                       const double *swapped, double *u, double *v, const double *x, int ask, int single) {
    lane_sums own = *sums;
    const char *rows[ROWS];
    int64_t t = 0;
    for (int k = 0; k < ROWS; k++) rows[k] = (const char *)a + (single ? 4 : 8) * k * stride;
    for (; t + REGISTERS / 16 * DOUBLES <= count; t += REGISTERS / 16 * DOUBLES)
        some_lanes(&own, rows, t, turned, swapped, u, v, x, ask, single, REGISTERS / 16);
    if (t < count) some_lanes(&own, rows, t, turned, swapped, u, v, x, ask, single, 1);
    *sums = own;
}

#endif
