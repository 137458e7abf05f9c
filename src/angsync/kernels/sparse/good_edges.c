/* A random walk over sets of good edges with the phases integrated out; good_edges_reference.py says what is computed.
 *
 * Good edges tie the phases: their covariance for sigma = 1 is the inverse of the weighted Laplacian plus a small
 * diagonal, dense, because it is changed by rank one at every flip. */
#include <math.h>
#include <stdint.h>

typedef struct {
    int64_t n, m;
    const int64_t *i, *j;
    const double *weight, *angle;
    double *target, *covariance, *mean, *room; /* room: n numbers */
    uint8_t *good;
    double ridge, apart, uniform; /* the small diagonal; resistance and variance from which an edge says nothing */
    int64_t flips, refreshes;     /* since the last refresh; in all */
} good_edges_t;

static const double TURN = 6.283185307179586476925286766559;

static double wrapped(double angle) { return angle - TURN * rint(angle / TURN); }

/* In place, without pivoting: the matrix is symmetric and definite (Gauss and Jordan). */
static void invert(double *a, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        double *pivot_row = a + k * n;
        double pivot = 1 / pivot_row[k];
        pivot_row[k] = 1;
        for (int64_t c = 0; c < n; c++) pivot_row[c] *= pivot;
        for (int64_t r = 0; r < n; r++) {
            if (r == k) continue;
            double *row = a + r * n, factor = row[k];
            if (factor == 0) continue;
            row[k] = 0;
            for (int64_t c = 0; c < n; c++) row[c] -= factor * pivot_row[c];
        }
    }
}

/* Fit and covariance anew, against rounding. */
void good_edges_refresh(good_edges_t *s) {
    int64_t n = s->n;
    double *a = s->covariance, *pull = s->room;
    for (int64_t k = 0; k < n * n; k++) a[k] = 0;
    for (int64_t k = 0; k < n; k++) {
        a[k * n + k] = s->ridge;
        pull[k] = 0;
    }
    for (int64_t k = 0; k < s->m; k++) {
        int64_t i = s->i[k], j = s->j[k];
        double gap = s->mean[i] - s->mean[j], w = s->weight[k];
        s->target[k] = gap + wrapped(s->angle[k] - gap);
        if (!s->good[k]) continue;
        a[i * n + j] -= w;
        a[j * n + i] -= w;
        a[i * n + i] += w;
        a[j * n + j] += w;
        pull[i] += w * s->target[k];
        pull[j] -= w * s->target[k];
    }
    invert(a, n);
    for (int64_t r = 0; r < n; r++) {
        double sum = 0;
        for (int64_t c = 0; c < n; c++) sum += a[r * n + c] * pull[c];
        s->mean[r] = sum;
    }
    s->flips = 0;
    s->refreshes++;
}

/* Odds of the angle of edge k as that of a good one, given all others, over those as one of a wrong one. */
static double likelihood_ratio(const good_edges_t *s, int64_t k, double sigma) {
    int64_t n = s->n, i = s->i[k], j = s->j[k];
    const double *a = s->covariance;
    double resistance = fmax(a[i * n + i] + a[j * n + j] - 2 * a[i * n + j], 0.0), w = s->weight[k];
    double redundancy = s->good[k] ? fmax(1 - w * resistance, 1e-12) : 1.0, around = resistance / redundancy;
    double variance = sigma * sigma * (1 / w + around);
    if (around > s->apart || variance > s->uniform) return 1.0;
    double residual = wrapped((s->target[k] - (s->mean[i] - s->mean[j])) / redundancy);
    return sqrt(TURN / variance) * exp(-0.5 * residual * residual / variance);
}

static void flip(good_edges_t *s, int64_t k) {
    int64_t n = s->n, i = s->i[k], j = s->j[k];
    double *a = s->covariance, *column = s->room, w = s->weight[k], miss, gain;
    for (int64_t c = 0; c < n; c++) column[c] = a[i * n + c] - a[j * n + c];
    double resistance = column[i] - column[j], gap = s->mean[i] - s->mean[j];
    s->good[k] = !s->good[k];
    s->flips++;
    if (s->good[k]) {
        miss = wrapped(s->angle[k] - gap);
        s->target[k] = gap + miss;
        gain = 1 / (1 / w + resistance);
    } else {
        if (1 - w * resistance < 1e-3) { /* nearly a bridge: rounding would be divided by nearly nothing */
            good_edges_refresh(s);
            return;
        }
        miss = s->target[k] - gap;
        gain = -1 / (1 / w - resistance);
    }
    for (int64_t r = 0; r < n; r++) {
        double factor = gain * column[r], *row = a + r * n;
        for (int64_t c = 0; c < n; c++) row[c] -= factor * column[c];
        s->mean[r] += factor * miss;
    }
}

/* Every edge once: it is good where the number drawn for it is below its chance; odds are those of the prior. */
void good_edges_sweep(good_edges_t *s, double sigma, const double *odds, const double *drawn) {
    for (int64_t k = 0; k < s->m; k++) {
        double all = odds[k] * likelihood_ratio(s, k, sigma);
        int good = drawn[k] < all / (1 + all);
        if (good != (s->good[k] != 0)) flip(s, k);
    }
}
