/* A whole dense problem in one call: start, Anderson's method, refinement with C itself, and the gauge. What
 * angsync.solvers.accelerated does step by step, for problems so small that the steps of Python would be felt.
 *
 * It gives up where anything is out of the ordinary; whoever called then goes the general way.
 */
#include "accelerate.h"
#include "targets.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* How a problem is solved: WholeSettings in whole_settings.py, which says what each means. */
typedef struct {
    int64_t strongest, budget, most, rounds, patience;
    double rough, share, tolerance, deep, floor, least, noise, narrow_noise;
} whole_settings_t;

/* One call: the problem, what it works with, and what it finds. In Python: Whole in whole_compiled.py. */
typedef struct {
    source_t model;  /* what inner solves multiply with: C, or its narrow copy */
    matrix_t C;
    double error;    /* about the norm of (copy - C) z, 0 without a copy */
    double *full;    /* workspace of dense_apply for `full_threads` */
    int64_t full_threads;
    whole_settings_t settings;
    const double *turn;     /* phases by which the start is turned, NULL for none: a real C would keep it real for ever */
    double *z, *w;          /* found: phases, the first node at angle 0, and C z */
    double *before;         /* 2 n doubles */
    double *vectors, *gram; /* as in acceleration_t */
    int64_t *order;
    double *trace; /* found: room for `most` + `rounds` + 2 steps: objective, residual, length; the start first */
    /* what is found besides */
    int64_t products, entries; /* of the trace */
    double objective, residual;
} whole_t;

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

/* Every entry of x times the one of `by`. */
FAST static void turn_each(int64_t n, const double *restrict by, double *restrict x) {
    for (int64_t j = 0; j < n; j++) {
        double a = x[2 * j], b = x[2 * j + 1];
        x[2 * j] = a * by[2 * j] - b * by[2 * j + 1];
        x[2 * j + 1] = a * by[2 * j + 1] + b * by[2 * j];
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

/* Where C z itself is nothing but rounding, it has no direction to be off from. */
static double residual_of(const whole_settings_t *settings, double gradient, double size) {
    return size > settings->floor ? gradient / size : 0;
}

/* z = phases of the column `strongest` of C */
static void phases_of_column(whole_t *call) {
    int64_t n = call->model.n;
    const int64_t k = call->settings.strongest;
    double *z = call->z;
    matrix_part(&call->C, 0, k, k, 1, z, 2);
    matrix_part(&call->C, k, 1, k, n - k, z + 2 * k, 2 * n);
    z[2 * k + 1] = 0;
    for (int64_t l = 0; l < n; l++) {
        if (l > k) z[2 * l + 1] = -z[2 * l + 1]; /* below the diagonal, the column is the conjugate of the row */
        call->w[2 * l] = 1;
        call->w[2 * l + 1] = 0;
    }
    unit(n, call->z, call->w);
}

/* The first node at angle 0, and what is known of the point. */
static void finish(whole_t *call) {
    int64_t n = call->model.n;
    double *z = call->z, *w = call->w, gradient, size;
    double re = z[0], im = -z[1], m = sqrt(re * re + im * im);
    turn_all(n, re / m, im / m, z);
    unit(n, z, call->before);
    z[0] = 1;
    z[1] = 0;
    if (call->model.copy) turn_all(n, re / m, im / m, w);
    else dense_apply(n, &call->C, z, w, call->full, call->model.avx512, (int)call->full_threads);
    call->objective = measured(n, z, w, &gradient, &size);
    call->residual = residual_of(&call->settings, gradient, size);
}

int64_t dense_whole_size(void) { return sizeof(whole_t); }

/* z and w = C z from the phases of one column of C, to a residual of `tolerance`. Without a copy the trace has every step,
 * with one every round. `entries` is 0 where the call gives up. */
int dense_whole(whole_t *call) {
    const source_t *model = &call->model;
    const whole_settings_t *settings = &call->settings;
    const int64_t n = model->n;
    const size_t bytes = sizeof(double) * 2 * (size_t)n;
    const int narrow = model->copy != NULL, full_threads = (int)call->full_threads;
    const double tolerance = settings->tolerance, goal = larger(settings->deep * tolerance, DBL_EPSILON);
    double *z = call->z, *w = call->w, *before = call->before, *trace = call->trace, gradient, size;
    acceleration_t inner = {.z = z, .budget = settings->budget, .patience = settings->patience, .vectors = call->vectors,
                            .gram = call->gram, .order = call->order};
    call->entries = 0;
    phases_of_column(call);
    memcpy(before, z, bytes);
    int64_t products = dense_leading(model, z, settings->rough, call->vectors), taken = 0, entries = 1;
    call->order[0] = 0; /* the basis lay where the steps are kept */
    measured(n, before, z, &gradient, &size);
    if (!(size >= settings->least)) return OUT_OF_THE_ORDINARY;
    unit(n, z, before);
    if (call->turn) turn_each(n, call->turn, z);
    if (narrow) {
        inner.target = goal;
        inner.inexact = settings->share * call->error;
        inner.most = settings->most;
        inner.noise = settings->narrow_noise;
        inner.trace = trace;
        int ending = dense_accelerate(model, &inner);
        products += inner.products;
        if (ending != 0) return OUT_OF_THE_ORDINARY;
        unit(n, z, before);
    }
    dense_apply(n, &call->C, z, w, call->full, model->avx512, full_threads);
    products++;
    double f = measured(n, z, w, &gradient, &size), residual = residual_of(settings, gradient, size);
    trace[0] = f;
    trace[1] = residual;
    trace[2] = 0;
    inner.base_w = w;
    inner.inexact = 0;
    inner.noise = settings->noise;
    for (int64_t round = 0; residual > tolerance && gradient > settings->floor; round++) {
        if (round == settings->rounds || taken >= settings->most) return OUT_OF_THE_ORDINARY;
        double *steps = trace + 3 * entries;
        inner.target = larger(goal, residual * call->error / size);
        if (residual <= inner.target) inner.target = residual * 1e-3;
        inner.most = settings->most - taken;
        inner.trace = steps;
        memcpy(before, z, bytes);
        int ending = dense_accelerate(model, &inner);
        products += inner.products;
        int64_t count = inner.taken;
        if (ending != 0 || count == 0) return OUT_OF_THE_ORDINARY;
        taken += count;
        unit(n, z, before);
        dense_apply(n, &call->C, z, w, call->full, model->avx512, full_threads);
        products++;
        double rest, value = measured(n, z, w, &rest, &size);
        if (value < f - settings->noise * fabs(f) || !(rest < gradient)) return OUT_OF_THE_ORDINARY;
        if (narrow) {
            count = 1;
            steps[2] = apart(2 * n, z, before);
        }
        for (int64_t k = 0; k + 1 < count; k++) steps[3 * k] += f; /* they were relative to the point before */
        f = value;
        gradient = rest;
        residual = residual_of(settings, gradient, size);
        entries += count;
        trace[3 * entries - 3] = f;
        trace[3 * entries - 2] = residual;
    }
    finish(call);
    call->products = products;
    call->entries = entries; /* last: it says that all the rest is there */
    return SOLVED;
}
