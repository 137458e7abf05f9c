/* A whole dense problem in one call: start, Anderson's method, refinement with C itself, and the gauge. What
 * angsync.solvers.accelerated does step by step, for problems so small that the steps of Python would be felt.
 *
 * It gives up where anything is out of the ordinary; whoever called then goes the general way.
 */
#include "accelerate.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* How a problem is solved: WholeSettings in whole_settings.py, which says what each means. */
typedef struct {
    int64_t strongest, gauge, budget, most, rounds, patience, exact;
    double rough, mixing, share, tolerance, deep, floor, least, noise, narrow_noise;
} whole_settings_t;

/* One call: the problem, what it works with, and what it finds. In Python: Whole in whole_compiled.py. */
typedef struct {
    source_t model; /* what inner solves multiply with: C, or its narrow copy */
    source_t full;  /* C itself */
    double error;   /* about the norm of (copy - C) z, 0 without a copy */
    double seconds; /* until the call has to end; infinite for any time */
    int (*tell)(double, double, double); /* as in acceleration_t: is told of every iterate, which is then in `z`; or NULL */
    whole_settings_t settings;
    const double *turn;     /* phases by which the start is turned, NULL for none: a real C would keep it real for ever */
    double *z, *w;          /* found: phases in their gauge, and C z; `z` is the start where no column is, */
    int64_t known;          /* and `w` is C z then, where this is not 0 */
    double *before;         /* 4 n doubles */
    double *vectors, *gram; /* as in acceleration_t */
    int64_t *order;
    double *trace; /* found: room for `most` + `rounds` + 2 steps: objective, residual, length; the start first */
    /* what is found besides */
    int64_t products, entries; /* of the trace */
    double objective, residual;
    double off; /* about the norm of what `w` is off C z by: 0 where it is the product with C itself */
} whole_t;

/* What the product given with the answer has to be: not looked at, near enough to tell the residual, or that of C itself. */
enum { UNUSED = 0, NEAR = 1, EXACT = 2 };

/* Units of rounding that a certificate allows a product to be off by, and that its turning does not need: half of _TURNING
 * in certificate/rounding.py. */
#define SPARE_UNITS 13.0

/* How the call ended. OUT_OF_THE_ORDINARY: it gave up. The others are as in accelerate.h. */
enum { SOLVED = 0, OUT_OF_THE_ORDINARY = 1 };

/* Every entry of x over its modulus; that of `otherwise` where it is 0. */
static void unit(int64_t n, double *restrict x, const double *restrict otherwise) {
    for (int64_t j = 0; j < n; j++) {
        double a = x[2 * j], b = x[2 * j + 1], m = sqrt(a * a + b * b);
        x[2 * j] = m > 0 ? a / m : otherwise[2 * j];
        x[2 * j + 1] = m > 0 ? b / m : otherwise[2 * j + 1];
    }
}

/* x times the unit number (re, im). */
static void turn_all(int64_t n, double re, double im, double *restrict x) {
    for (int64_t j = 0; j < n; j++) {
        double a = x[2 * j], b = x[2 * j + 1];
        x[2 * j] = a * re - b * im;
        x[2 * j + 1] = a * im + b * re;
    }
}

/* Every entry of x times the one of `by`. */
static void turn_each(int64_t n, const double *restrict by, double *restrict x) {
    for (int64_t j = 0; j < n; j++) {
        double a = x[2 * j], b = x[2 * j + 1];
        x[2 * j] = a * by[2 * j] - b * by[2 * j + 1];
        x[2 * j + 1] = a * by[2 * j + 1] + b * by[2 * j];
    }
}

/* Re z^H w; the norms of Im(conj(z) w) and of w. */
static double measured(int64_t n, const double *restrict z, const double *restrict w, double *restrict gradient,
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

static double apart(int64_t n, const double *restrict x, const double *restrict y) {
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
    matrix_part(&call->full.C, 0, k, k, 1, z, 2);
    matrix_part(&call->full.C, k, 1, k, n - k, z + 2 * k, 2 * n);
    z[2 * k] = matrix_diagonal(&call->full.C, k);
    z[2 * k + 1] = 0;
    for (int64_t l = 0; l < n; l++) {
        if (l > k) z[2 * l + 1] = -z[2 * l + 1]; /* below the diagonal, the column is the conjugate of the row */
        call->w[2 * l] = 1;
        call->w[2 * l + 1] = 0;
    }
    unit(n, call->z, call->w);
}

/* The phase that the gauge turns to 0: that of its node, or, for a negative one, of the sum of all. */
static void reference_phase(const whole_t *call, double *re, double *im) {
    int64_t n = call->model.n, node = call->settings.gauge;
    const double *z = call->z;
    double a = 0, b = 0, m;
    for (int64_t j = 0; node < 0 && j < n; j++) {
        a += z[2 * j];
        b += z[2 * j + 1];
    }
    m = sqrt(a * a + b * b);
    if (!(m > 1e-12 * (double)n)) { /* a sum of (rounding) zero has no phase: the first node has */
        a = z[2 * (node < 0 ? 0 : node)];
        b = z[2 * (node < 0 ? 0 : node) + 1];
        m = sqrt(a * a + b * b);
    }
    *re = a / m;
    *im = -b / m;
}

/* The point in its gauge, and what is known of it, f among it. The product is turned with the point, or, where C is small, computed
 * again; where a product ended the work, C is not asked for another one. */
static void finish(whole_t *call, double f, int failed) {
    int64_t n = call->model.n, node = call->settings.gauge;
    double *z = call->z, *w = call->w, gradient, size, re, im;
    reference_phase(call, &re, &im);
    turn_all(n, re, im, z);
    unit(n, z, call->before);
    if (node >= 0) {
        z[2 * node] = 1;
        z[2 * node + 1] = 0;
    }
    if (call->model.copy || call->full.call || failed) turn_all(n, re, im, w);
    else source_product(&call->full, z, w);
    call->objective = measured(n, z, w, &gradient, &size);
    if (call->off > 0) call->objective = f;
    call->residual = residual_of(&call->settings, hypot(gradient, call->off), size);
}

/* Whether the product at z by the narrow copy, or by C at the point before and the copy from there on, says enough: what the
 * copy is `off` by is known in its norm, because its errors have nothing to do with the way. It has to be less than the
 * gradient where the residual has to be known to a factor of 2, and twice as much may not cost the tolerance. */
static int is_near_enough(whole_t *call, const double *image, double off) {
    const int64_t n = call->model.n;
    double gradient, size;
    measured(n, call->z, image, &gradient, &size);
    if (off > gradient && call->settings.exact != UNUSED) return 0;
    if (!(hypot(gradient, 2 * off) <= call->settings.tolerance * size)) return 0;
    memcpy(call->w, image, sizeof(double) * 2 * (size_t)n);
    call->off = off;
    return 1;
}

/* Whether the product at z that the inner solve has is as good as another one with somebody else's C. It is the product at
 * the point before and the product of the way from there, whose rounding is less in the measure in which the way is short
 * for every node: that of 2 n + 8 units, as a product has them, is to stay within SPARE_UNITS. */
static int is_short(const whole_t *call) {
    const int64_t n = call->model.n;
    const double *x = call->z, *y = call->before;
    double most = 0;
    if (!call->full.call || call->model.copy) return 0;
    for (int64_t j = 0; j < n; j++) {
        double a = x[2 * j] - y[2 * j], b = x[2 * j + 1] - y[2 * j + 1];
        most = larger(most, a * a + b * b);
    }
    return (2 * (double)n + 8) * sqrt(most) <= SPARE_UNITS;
}

int64_t dense_whole_size(void) { return sizeof(whole_t); }

/* The start, in z: the phases of a rough leading eigenvector, by Lanczos from those of a column of C or from the vector
 * given; the vector itself where no Lanczos is asked for (`rough` is 0). */
static int begin(whole_t *call, int64_t *products) {
    const whole_settings_t *settings = &call->settings;
    const int64_t n = call->model.n;
    double *z = call->z, *before = call->before, gradient, size;
    if (settings->strongest >= 0) phases_of_column(call);
    if (!(settings->rough > 0)) return SOLVED;
    memcpy(before, z, sizeof(double) * 2 * (size_t)n);
    double second;
    const double *known = settings->strongest < 0 && call->known ? call->w : NULL;
    int64_t steps = dense_leading(&call->model, z, known, settings->rough, settings->least, settings->mixing, call->vectors,
                                  &second);
    call->order[0] = 0; /* the basis lay where the steps are kept */
    if (steps < 0) return FAILED;
    *products += steps;
    measured(n, before, z, &gradient, &size);
    /* without the time for a start that says more, this one has to do */
    if (!is_late(&call->model) && (!(size >= settings->least) || second > settings->mixing * size)) return OUT_OF_THE_ORDINARY;
    unit(n, z, before);
    if (call->turn) turn_each(n, call->turn, z);
    return SOLVED;
}

/* z and w = C z from the start, to a residual of `tolerance`. Without a copy the trace has every step, with one every
 * round. `entries` is 0 where the call gives up or is ended before it has a point with its product. */
int dense_whole(whole_t *call) {
    const source_t *model = &call->model, *full = &call->full;
    const whole_settings_t *settings = &call->settings;
    const int64_t n = model->n;
    const size_t bytes = sizeof(double) * 2 * (size_t)n;
    const int narrow = model->copy != NULL;
    const double tolerance = settings->tolerance, goal = larger(settings->deep * tolerance, DBL_EPSILON);
    double *z = call->z, *w = call->w, *before = call->before, *image_before = before + 2 * n, *trace = call->trace;
    double gradient, size;
    acceleration_t inner = {.z = z, .budget = settings->budget, .patience = settings->patience, .vectors = call->vectors,
                            .gram = call->gram, .order = call->order};
    int64_t products = 0, taken = 0, entries = 1;
    int reason = SOLVED;
    call->entries = 0;
    call->off = 0;
    if (isfinite(call->seconds)) call->model.deadline = call->full.deadline = seconds_now() + call->seconds;
    reason = begin(call, &products);
    if (reason != SOLVED) return reason;
    if (narrow) {
        inner.target = goal;
        inner.inexact = settings->share * call->error;
        inner.most = settings->most;
        inner.noise = settings->narrow_noise;
        inner.trace = trace;
        memcpy(before, z, bytes);
        int ending = dense_accelerate(model, &inner);
        products += inner.products;
        if (ending != REACHED && ending != LATE) return ending == FAILED ? FAILED : OUT_OF_THE_ORDINARY;
        unit(n, z, before);
    }
    if (!narrow || settings->exact != UNUSED || !is_near_enough(call, inner.image, call->error)) {
        if (source_product(full, z, w)) return FAILED;
        products++;
    }
    double f = measured(n, z, w, &gradient, &size), residual = residual_of(settings, hypot(gradient, call->off), size);
    trace[0] = f;
    trace[1] = residual;
    trace[2] = 0;
    inner.base_w = w;
    inner.inexact = 0;
    inner.noise = settings->noise;
    inner.tell = narrow ? NULL : call->tell;
    if (call->tell && call->tell(f, residual, 0)) reason = STOPPED;
    for (int64_t round = 0; reason == SOLVED && residual > tolerance && gradient > settings->floor; round++) {
        /* whoever was told of iterates goes on from the point where the call gives up */
        reason = round == settings->rounds || taken >= settings->most ? OUT_OF_THE_ORDINARY : is_late(model) ? LATE : SOLVED;
        if (reason != SOLVED) break;
        double *steps = trace + 3 * entries;
        inner.target = larger(goal, residual * call->error / size);
        if (residual <= inner.target) inner.target = residual * 1e-3;
        inner.most = settings->most - taken;
        inner.trace = steps;
        inner.told_from = f;
        memcpy(before, z, bytes);
        memcpy(image_before, w, bytes);
        int ending = dense_accelerate(model, &inner);
        products += inner.products;
        int64_t count = inner.taken;
        taken += count;
        if (ending != REACHED || count == 0) reason = ending >= STOPPED ? ending : OUT_OF_THE_ORDINARY;
        if (reason == OUT_OF_THE_ORDINARY && !call->tell) return reason;
        unit(n, z, before);
        double way = apart(2 * n, z, before), off = call->error * way / sqrt((double)n);
        if (reason == SOLVED && is_short(call)) memcpy(w, inner.image, bytes);
        else if (!narrow || settings->exact == EXACT || reason != SOLVED || !is_near_enough(call, inner.image, off)) {
            if (reason == FAILED || source_product(full, z, w)) {
                memcpy(z, before, bytes);
                reason = FAILED;
                break;
            }
            products++;
        }
        if (count == 0) break;
        double rest, value = measured(n, z, w, &rest, &size);
        if (call->off > 0) value = f + steps[3 * (count - 1)]; /* to second order in the way; z^H w is off to first order */
        if (value < f - settings->noise * fabs(f) || (reason == SOLVED && !(rest < gradient))) {
            memcpy(z, before, bytes);
            memcpy(w, image_before, bytes);
            call->off = 0;
            if (reason == SOLVED) reason = OUT_OF_THE_ORDINARY;
            break;
        }
        if (narrow) {
            count = 1;
            steps[2] = way;
        }
        for (int64_t k = 0; k + 1 < count; k++) steps[3 * k] += f; /* they were relative to the point before */
        f = value;
        gradient = rest;
        residual = residual_of(settings, hypot(gradient, call->off), size);
        entries += count;
        trace[3 * entries - 3] = f;
        trace[3 * entries - 2] = residual;
        if (reason == LATE && residual <= tolerance) reason = SOLVED;
        if (narrow && call->tell && call->tell(f, residual, trace[3 * entries - 1])) reason = STOPPED;
    }
    if (reason == OUT_OF_THE_ORDINARY && !call->tell) return reason;
    finish(call, f, reason == FAILED);
    call->products = products;
    call->entries = entries; /* last: it says that all the rest is there */
    return reason;
}
