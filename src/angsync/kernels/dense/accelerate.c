/* The whole inner solve of a dense problem in one call: a rough leading eigenvector, and Anderson's acceleration of
 * the power method z <- phase(Cz + e) with a monotone safeguard. Products come from the matrix itself or from its
 * narrow copy; then e = (C - copy) z at the last point where the product with C is known, so that the gradient of the
 * model is exact there (iterative refinement).
 *
 * Angles are measured by t = 2 tan(theta / 2), and a node is turned by t through (1 + i t/2) / (1 - i t/2): no sine is
 * ever computed, and turning z by its t is exactly the step of the power method.
 */
#include "accelerate.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY 10                  /* steps that Anderson's method combines, and steps of Lanczos */
#define COMBINE_BELOW_RESIDUAL 0.5 /* above it, every step is one of the power method */
#define SEMICIRCLE 2.0             /* end of the spectrum of noise over its root mean square */
#define HALF_TURN 3.0              /* largest t that is used: a node that has to turn further is far off anyway */

static double dot(int64_t n, const double *restrict x, const double *restrict y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum += x[j] * y[j];
    return sum;
}

static double distance(int64_t n, const double *restrict x, const double *restrict y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum += (x[j] - y[j]) * (x[j] - y[j]);
    return sqrt(sum);
}

static void add(int64_t n, double factor, const double *restrict x, double *restrict y) {
#pragma omp simd
    for (int64_t j = 0; j < n; j++) y[j] += factor * x[j];
}

static void subtract(int64_t n, const double *restrict x, const double *restrict y, double *restrict out) {
#pragma omp simd
    for (int64_t j = 0; j < n; j++) out[j] = x[j] - y[j];
}

/* How far every node has to turn, z^H w, and the residual |Im(conj(z) w)| / |w|. */
static double look(int64_t n, const double *restrict z, const double *restrict w, double *restrict t,
                        double *restrict residual, double *restrict length) {
    double sum = 0, across = 0, size = 0;
#pragma omp simd reduction(+ : sum, across, size)
    for (int64_t j = 0; j < n; j++) {
        double a = z[2 * j], b = z[2 * j + 1], c = w[2 * j], d = w[2 * j + 1];
        double s = a * c + b * d, g = a * d - b * c, m = sqrt(s * s + g * g);
        double below = m + s, angle = below > 0 ? 2 * g / below : 0;
        angle = angle > HALF_TURN ? HALF_TURN : angle;
        t[j] = angle < -HALF_TURN ? -HALF_TURN : angle;
        sum += s;
        across += g * g;
        size += m * m;
    }
    *residual = size > 0 ? sqrt(across / size) : 0;
    *length = sqrt(size);
    return sum;
}

static void turn(int64_t n, const double *restrict z, double share, const double *restrict t, double *restrict out) {
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        double h = share * t[j] / 2, below = 1 / (1 + h * h), c = (1 - h * h) * below, s = 2 * h * below;
        double a = z[2 * j], b = z[2 * j + 1];
        out[2 * j] = a * c - b * s;
        out[2 * j + 1] = a * s + b * c;
    }
}

/* Coefficients of the least squares problem |t + sum c_i D_i| from the Gram matrix, newest column first; a column that
 * the newer ones nearly span is left out. */
static void combine(int count, const double *gram, const double *right, double *c) {
    double L[MEMORY][MEMORY], y[MEMORY];
    int kept[MEMORY], used = 0;
    for (int i = 0; i < count; i++) c[i] = 0;
    for (int i = 0; i < count; i++) {
        double pivot = gram[i * MEMORY + i];
        if (!(pivot > 0)) continue;
        for (int k = 0; k < used; k++) {
            double v = gram[i * MEMORY + kept[k]];
            for (int l = 0; l < k; l++) v -= L[used][l] * L[k][l];
            L[used][k] = v / L[k][k];
            pivot -= L[used][k] * L[used][k];
        }
        if (!(pivot > 1e-13 * gram[i * MEMORY + i])) continue;
        L[used][used] = sqrt(pivot);
        double v = right[i];
        for (int l = 0; l < used; l++) v -= L[used][l] * y[l];
        y[used] = v / L[used][used];
        kept[used++] = i;
    }
    for (int k = used - 1; k >= 0; k--) {
        double v = y[k];
        for (int l = k + 1; l < used; l++) v -= L[l][k] * c[kept[l]];
        c[kept[k]] = v / L[k][k];
    }
}

/* History of Anderson's method: steps X, changes D of t, newest first by `order`; kept between calls. */
typedef struct {
    double *D, *X, *gram;
    int64_t *order; /* order[0] is the number kept, then the places, newest first */
} history;

static void remember(int64_t n, history *h, double share, const double *step, const double *before, const double *after) {
    int64_t kept = h->order[0], place = kept < MEMORY ? kept : h->order[MEMORY];
    double *D = h->D + place * n, *X = h->X + place * n;
    for (int64_t j = 0; j < n; j++) {
        D[j] = after[j] - before[j];
        X[j] = share * step[j];
    }
    if (kept < MEMORY) h->order[0] = ++kept;
    memmove(h->order + 2, h->order + 1, sizeof(int64_t) * (size_t)(kept - 1));
    h->order[1] = place;
    for (int64_t i = 0; i < kept; i++) {
        int64_t other = h->order[1 + i];
        h->gram[place * MEMORY + other] = h->gram[other * MEMORY + place] = dot(n, D, h->D + other * n);
    }
}

/* step = t + sum c_i (X_i + D_i) with the c that make |t + sum c_i D_i| least. */
static void extrapolate(int64_t n, const history *h, const double *t, double *step, double *c) {
    int kept = (int)h->order[0];
    const int64_t *place = h->order + 1;
    double right[MEMORY], gram[MEMORY * MEMORY];
    for (int i = 0; i < kept; i++) {
        right[i] = -dot(n, h->D + place[i] * n, t);
        for (int k = 0; k < kept; k++) gram[i * MEMORY + k] = h->gram[place[i] * MEMORY + place[k]];
    }
    combine(kept, gram, right, c);
    for (int i = 0; i < kept; i++) {
        if (c[i] == 0) continue;
        add(n, c[i], h->X + place[i] * n, step);
        add(n, c[i], h->D + place[i] * n, step);
    }
}

typedef struct {
    const double *z, *w; /* where the product w with C itself is known; NULL: nowhere */
    double *difference, *image;
} base_point;

/* w = (product at the base point) + (narrow product of the difference), or the product of z where there is no base;
 * the value is f(z), up to f of the base point. Not 0 where the product ended the work. */
static int evaluate(const source_t *from, const base_point *base, const double *z, double *w, double *t, double *value,
                    double *residual, double *length) {
    int64_t n = from->n;
    if (!base->z) {
        if (source_product(from, z, w)) return FAILED;
        *value = look(n, z, w, t, residual, length);
        return 0;
    }
    subtract(2 * n, z, base->z, base->difference);
    if (source_product(from, base->difference, base->image)) return FAILED;
    memcpy(w, base->w, sizeof(double) * 2 * (size_t)n);
    add(2 * n, 1.0, base->image, w);
    look(n, z, w, t, residual, length);
    *value = 2 * dot(2 * n, base->difference, base->w) + dot(2 * n, base->difference, base->image);
    return 0;
}

int64_t dense_acceleration_size(void) { return sizeof(acceleration_t); }

/* Anderson's method from z until the residual is `target` or the gradient `inexact`, at most `budget` products and `most`
 * steps. With `base_w` z is a point whose product with C is base_w, and the model is that of its neighborhood. A step is
 * accepted where f does not go down by more than `noise`; after more than `patience` others the method gives up. */
int dense_accelerate(const source_t *from, acceleration_t *a) {
    int64_t n = from->n, *order = a->order;
    const double *base_w = a->base_w;
    double *z = a->z, *vectors = a->vectors;
    double *trial = vectors, *w = vectors + 2 * n, *origin = vectors + 4 * n, *t = vectors + 10 * n, *next = vectors + 11 * n,
           *step = vectors + 12 * n, *there = vectors + 13 * n; /* the product at the trial point */
    base_point base = {base_w ? origin : NULL, base_w, vectors + 6 * n, vectors + 8 * n};
    history past = {vectors + 15 * n, vectors + (15 + MEMORY) * n, a->gram, order};
    double f = 0, residual = 0, length = 0, coefficients[MEMORY];
    int64_t products = 0, rejected = 0, taken = 0;
    int status = OUT_OF_BUDGET;
    if (base_w) {
        memcpy(origin, z, sizeof(double) * 2 * (size_t)n);
        look(n, z, base_w, t, &residual, &length);
    } else {
        if (a->known) {
            memcpy(w, a->known, sizeof(double) * 2 * (size_t)n);
            f = look(n, z, w, t, &residual, &length);
        } else if (evaluate(from, &base, z, w, t, &f, &residual, &length)) {
            a->products = a->rejected = a->taken = 0;
            return FAILED;
        } else products++;
    }
    double size = base_w ? fabs(dot(2 * n, z, base_w)) : fabs(f);
    while (1) {
        if (residual <= a->target || residual * length <= a->inexact) { status = REACHED; break; }
        if (products >= a->budget || taken >= a->most) break;
        int combined = order[0] > 0 && residual < COMBINE_BELOW_RESIDUAL, accepted = 0;
        memcpy(step, t, sizeof(double) * (size_t)n);
        if (combined) extrapolate(n, &past, t, step, coefficients);
        double value = 0, rest = 0, share = 1;
        int ended = 0;
        for (int attempt = 0; attempt < 6; attempt++) {
            turn(n, z, share, step, trial);
            ended = evaluate(from, &base, trial, there, next, &value, &rest, &length);
            if (ended) break;
            products++;
            accepted = value >= f - a->noise * size;
            if (accepted || products >= a->budget) break;
            rejected++;
            if (combined) { /* forget, and take a step of the power method */
                combined = 0;
                order[0] = 0;
                memcpy(step, t, sizeof(double) * (size_t)n);
            } else share *= 0.5; /* which goes up where it is short enough */
        }
        if (!accepted) {
            status = ended ? ended : products >= a->budget ? OUT_OF_BUDGET : STALLED;
            break;
        }
        if (residual < COMBINE_BELOW_RESIDUAL) remember(n, &past, share, step, t, next);
        a->trace[3 * taken] = value;
        a->trace[3 * taken + 1] = rest;
        a->trace[3 * taken++ + 2] = distance(2 * n, trial, z);
        memcpy(z, trial, sizeof(double) * 2 * (size_t)n);
        double *other = t;
        t = next;
        next = other;
        other = w;
        w = there;
        there = other;
        f = value;
        residual = rest;
        if (rejected > a->patience) {
            status = residual <= a->target || residual * length <= a->inexact ? REACHED : STALLED;
            break;
        }
    }
    a->products = products;
    a->rejected = rejected;
    a->taken = taken;
    a->residual = residual;
    a->image = w;
    return status;
}

/* Largest eigenvalue and its vector, and the second largest eigenvalue (minus infinity for k = 1), of a small symmetric
 * tridiagonal matrix, by Jacobi's rotations. */
static double leading(int k, const double *alpha, const double *beta, double *vector, double *second) {
    double A[MEMORY][MEMORY] = {{0}}, V[MEMORY][MEMORY] = {{0}};
    for (int i = 0; i < k; i++) {
        A[i][i] = alpha[i];
        V[i][i] = 1;
        if (i + 1 < k) A[i][i + 1] = A[i + 1][i] = beta[i];
    }
    for (int sweep = 0; sweep < 30; sweep++) {
        double off = 0, all = 0;
        for (int i = 0; i < k; i++)
            for (int l = 0; l < k; l++) { all += A[i][l] * A[i][l]; off += i == l ? 0 : A[i][l] * A[i][l]; }
        if (!(off > 1e-20 * all)) break;
        for (int p = 0; p < k; p++)
            for (int q = p + 1; q < k; q++) {
                if (A[p][q] == 0) continue;
                double tau = (A[q][q] - A[p][p]) / (2 * A[p][q]);
                double tangent = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
                double c = 1 / sqrt(1 + tangent * tangent), s = tangent * c;
                for (int i = 0; i < k; i++) {
                    double x = A[i][p], y = A[i][q];
                    A[i][p] = c * x - s * y; A[i][q] = s * x + c * y;
                }
                for (int i = 0; i < k; i++) {
                    double x = A[p][i], y = A[q][i];
                    A[p][i] = c * x - s * y; A[q][i] = s * x + c * y;
                    x = V[i][p]; y = V[i][q];
                    V[i][p] = c * x - s * y; V[i][q] = s * x + c * y;
                }
            }
    }
    int best = 0;
    for (int i = 1; i < k; i++) best = A[i][i] > A[best][best] ? i : best;
    *second = -INFINITY;
    for (int i = 0; i < k; i++)
        if (i != best && A[i][i] > *second) *second = A[i][i];
    double sign = V[0][best] < 0 ? -1 : 1; /* towards the vector that Lanczos began with */
    for (int i = 0; i < k; i++) vector[i] = sign * V[i][best];
    return A[best][best];
}

/* Lanczos from z until the residual of the largest Ritz value is `tolerance` of it, at most MEMORY steps; z becomes C
 * times its vector (not of unit modulus): a power step that takes no product. `vectors` as in acceleration_t. Returns the
 * number of products, or -1.
 * With the product `known`, z is random: it may lie so far from the leading vector that a Ritz value among the noise looks
 * as if it had arrived. It counts where it is beyond the spectrum that C would have if it were nothing but noise, which
 * ends at twice its root mean square (Wigner's semicircle), and where the second one is not more than `mixing` of it. */
int64_t dense_leading(const source_t *from, double *z, const double *known, double tolerance, double *mixing,
                      double *vectors) {
    int64_t n = from->n;
    double *w = vectors, *basis = vectors + 15 * n, alpha[MEMORY], beta[MEMORY], y[MEMORY] = {1};
    double size = sqrt(dot(2 * n, z, z)), value = 0, second = -INFINITY;
    const double least = known && size > 0 ? SEMICIRCLE * sqrt(dot(2 * n, known, known)) / size : 0;
    int k = 0, clear = 1;
    if (!(size > 0)) return 0;
    for (int64_t j = 0; j < 2 * n; j++) basis[j] = z[j] / size;
    while (k < MEMORY) {
        double *v = basis + 2 * n * k;
        if (k == 0 && known)
            for (int64_t j = 0; j < 2 * n; j++) w[j] = known[j] / size;
        else if (source_product(from, v, w)) return -1;
        alpha[k] = dot(2 * n, v, w);
        for (int round = 0; round < 2; round++)
            for (int i = k; i >= 0; i--) {
                const double *b = basis + 2 * n * i;
                double re = dot(2 * n, b, w), im = 0;
                for (int64_t j = 0; j < n; j++) im += b[2 * j] * w[2 * j + 1] - b[2 * j + 1] * w[2 * j];
                for (int64_t j = 0; j < n; j++) {
                    w[2 * j] -= re * b[2 * j] - im * b[2 * j + 1];
                    w[2 * j + 1] -= re * b[2 * j + 1] + im * b[2 * j];
                }
            }
        beta[k] = sqrt(dot(2 * n, w, w));
        k++;
        value = leading(k, alpha, beta, y, &second);
        int arrived = !(beta[k - 1] * fabs(y[k - 1]) > tolerance * fabs(value));
        if (known) clear = k > 1 && value >= least && !(second > *mixing * value);
        if (k == MEMORY || !(beta[k - 1] > 0) || (arrived && clear)) break;
        for (int64_t j = 0; j < 2 * n; j++) basis[2 * n * k + j] = w[j] / beta[k - 1];
    }
    /* C v = value v + y_k w: no product is needed */
    memset(z, 0, sizeof(double) * 2 * (size_t)n);
    for (int i = 0; i < k; i++) add(2 * n, value * y[i], basis + 2 * n * i, z);
    add(2 * n, y[k - 1], w, z);
    *mixing = clear;
    return known ? k - 1 : k; /* one product a step */
}
