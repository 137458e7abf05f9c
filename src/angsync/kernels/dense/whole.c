/* A whole dense problem in one call: start, Anderson's method, refinement with C itself, and the gauge. What
 * angsync.solvers.accelerated does step by step, for problems so small that the steps of Python would be felt.
 *
 * It gives up where anything is out of the ordinary; whoever called then goes the general way.
 */
#include "targets.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

void dense_apply(int64_t n, const double *C, const double *x, double *y, double *work, int avx512, int threads);
int64_t dense_leading(int64_t n, const double *C, const int16_t *copy, const float *scale, const double *diagonal,
                      double *z, double tolerance, double *vectors, void *work, int avx512, int threads);
int dense_accelerate(int64_t n, const double *C, const int16_t *copy, const float *scale, const double *diagonal,
                     const double *base_w, double *z, double target, double inexact, int64_t budget, int64_t most,
                     double noise, int64_t patience, double *vectors, double *gram, int64_t *order, void *work, int avx512,
                     int threads, double *trace, double *report);

#define ROUNDS 6      /* of refinement at most; two or three are usual */
#define PATIENCE 6    /* steps that Anderson's method may reject */
#define NARROW_NOISE 1e-7
#define NOISE 1e-14
enum { SOLVED = 0, OUT_OF_THE_ORDINARY = 1 };

/* Every entry of x over its modulus; that of `otherwise` where it is 0. */
FAST static void unit(int64_t n, double *restrict x, const double *restrict otherwise) {
    for (int64_t j = 0; j < n; j++) {
        double a = x[2 * j], b = x[2 * j + 1], m = sqrt(a * a + b * b);
        x[2 * j] = m > 0 ? a / m : otherwise[2 * j];
        x[2 * j + 1] = m > 0 ? b / m : otherwise[2 * j + 1];
    }
}

/* x times the unit number (re, im). */
FAST static void turn_all(int64_t n, double re, double im, double *restrict x) {
    for (int64_t j = 0; j < n; j++) {
        double a = x[2 * j], b = x[2 * j + 1];
        x[2 * j] = a * re - b * im;
        x[2 * j + 1] = a * im + b * re;
    }
}

/* Re z^H w; the norms of Im(conj(z) w) and of w. */
FAST static double measured(int64_t n, const double *restrict z, const double *restrict w, double *restrict gradient,
                            double *restrict size) {
    double f = 0, across = 0, all = 0;
#pragma omp simd reduction(+ : f, across, all)
    for (int64_t j = 0; j < n; j++) {
        double a = z[2 * j], b = z[2 * j + 1], c = w[2 * j], d = w[2 * j + 1], s = a * c + b * d, g = a * d - b * c;
        f += s;
        across += g * g;
        all += s * s + g * g;
    }
    *gradient = sqrt(across);
    *size = sqrt(all);
    return f;
}

FAST static double apart(int64_t n, const double *restrict x, const double *restrict y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum += (x[j] - y[j]) * (x[j] - y[j]);
    return sqrt(sum);
}

static double larger(double a, double b) { return a > b ? a : b; }

/* z (phases, the first node at angle 0) and w = C z, from the column `strongest` of C, to a residual of `tolerance`; a
 * gradient of at most `floor` is rounding. Nothing is tried where C times the rough leading eigenvector is shorter than
 * `least`. `error` is about the norm of (copy - C) z, 0 without a copy; the
 * copy alone is used down to a gradient of `share` times it. `vectors`, `gram`,
 * `order` and `work` as dense_accelerate wants them; `full` is a workspace of dense_apply for `full_threads`; `before` has
 * 2 n doubles. `trace` has room for `most` + ROUNDS + 2 steps: objective, residual, length; the start first. Without a copy
 * it has every step, with one every round. report: products, entries of the trace, objective, residual. */
int dense_whole(int64_t n, const double *C, const int16_t *copy, const float *scale, const double *diagonal, double error,
                double share, int64_t strongest, double rough, double tolerance, double deep, double floor, double least,
                int64_t budget, int64_t most,
                double *z, double *w, double *before, double *vectors, double *gram, int64_t *order, void *work,
                double *full, int avx512, int threads, int full_threads, double *trace, double *report) {
    const double *own = copy ? NULL : C;
    const double *row = C + 2 * n * strongest;
    for (int64_t l = 0; l < n; l++) { /* the column is the conjugate of the row */
        z[2 * l] = row[2 * l];
        z[2 * l + 1] = -row[2 * l + 1];
        w[2 * l] = 1;
        w[2 * l + 1] = 0;
    }
    unit(n, z, w);
    memcpy(before, z, sizeof(double) * 2 * (size_t)n);
    double told[4], gradient, size;
    int64_t products = dense_leading(n, own, copy, scale, diagonal, z, rough, vectors, work, avx512, threads), taken = 0;
    order[0] = 0; /* the basis lay where the steps are kept */
    measured(n, before, z, &gradient, &size);
    if (!(size >= least)) return OUT_OF_THE_ORDINARY;
    unit(n, z, before);
    if (copy) {
        int ending = dense_accelerate(n, own, copy, scale, diagonal, NULL, z, larger(deep * tolerance, DBL_EPSILON), share * error,
                                      budget,
                                      most, NARROW_NOISE, PATIENCE, vectors, gram, order, work, avx512, threads, trace, told);
        products += (int64_t)told[0];
        if (ending != 0) return OUT_OF_THE_ORDINARY;
        unit(n, z, before);
    }
    dense_apply(n, C, z, w, full, avx512, full_threads);
    products++;
    double f = measured(n, z, w, &gradient, &size), residual = gradient > floor && size > 0 ? gradient / size : 0;
    trace[0] = f;
    trace[1] = residual;
    trace[2] = 0;
    int64_t entries = 1;
    for (int round = 0; residual > tolerance; round++) {
        if (round == ROUNDS || taken >= most) return OUT_OF_THE_ORDINARY;
        double aim = larger(larger(deep * tolerance, residual * error / size), DBL_EPSILON), *steps = trace + 3 * entries;
        if (residual <= aim) aim = residual * 1e-3;
        memcpy(before, z, sizeof(double) * 2 * (size_t)n);
        int ending = dense_accelerate(n, own, copy, scale, diagonal, w, z, aim, 0, budget, most - taken, NOISE, PATIENCE, vectors,
                                      gram, order, work, avx512, threads, steps, told);
        products += (int64_t)told[0];
        int64_t count = (int64_t)told[3];
        if (ending != 0 || count == 0) return OUT_OF_THE_ORDINARY;
        taken += count;
        unit(n, z, before);
        dense_apply(n, C, z, w, full, avx512, full_threads);
        products++;
        double rest, value = measured(n, z, w, &rest, &size);
        if (value < f - NOISE * fabs(f) || !(rest < gradient)) return OUT_OF_THE_ORDINARY;
        if (copy) {
            count = 1;
            steps[2] = apart(2 * n, z, before);
        }
        for (int64_t k = 0; k + 1 < count; k++) steps[3 * k] += f; /* they were relative to the point before */
        f = value;
        gradient = rest;
        residual = gradient > floor && size > 0 ? gradient / size : 0;
        entries += count;
        trace[3 * entries - 3] = f;
        trace[3 * entries - 2] = residual;
    }
    double re = z[0], im = -z[1], m = sqrt(re * re + im * im);
    turn_all(n, re / m, im / m, z);
    unit(n, z, before);
    z[0] = 1;
    z[1] = 0;
    if (copy) turn_all(n, re / m, im / m, w);
    else dense_apply(n, C, z, w, full, avx512, full_threads);
    f = measured(n, z, w, &gradient, &size);
    report[0] = (double)products;
    report[1] = (double)entries;
    report[2] = f;
    report[3] = gradient > floor && size > 0 ? gradient / size : 0;
    return SOLVED;
}
