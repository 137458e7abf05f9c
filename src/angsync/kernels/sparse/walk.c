/* A random walk over sets of believed measurements of one angle each; walk_reference.py is its twin, and says what the
 * moves are. The inverse of H (n x n, symmetric, full) and the angles x are those of the set at any time. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>


#define TURN 6.283185307179586476925286766559
#define BRIDGE 1e-7 /* 1 - h below ten times this: the edge alone holds a piece */
#define WEAR 1e-3   /* 1 - h of an edge taken out below this: three digits of the inverse are gone */

typedef struct {
    int64_t n, free_count;
    int64_t moves; /* out: how many were made before the inverse has to be reckoned anew */
    const int64_t *i, *j, *free_edges;
    const double *angle, *root, *price, *uniform; /* uniform: three numbers in [0, 1) a move */
    double swaps, coldness, scale;
    uint8_t *believed;
    double *x, *inverse;
    double log_det; /* out: by how much log det H has grown */
} walk_t;

static double wrap(double angle) { return angle - TURN * rint(angle / TURN); }

/* Log of the odds of an edge to be believed, given all others, and its h. */
static double log_odds(const walk_t *w, int64_t e, double *h) {
    const int64_t n = w->n, i = w->i[e], j = w->j[e];
    const double root = w->root[e], *V = w->inverse;
    *h = root * root * (V[i * n + i] + V[j * n + j] - 2 * V[i * n + j]);
    double angle = wrap(w->angle[e] - w->x[i] + w->x[j]), variance = 1 + *h;
    if (w->believed[e]) {
        const double left = fmax(1 - *h, BRIDGE);
        angle = wrap(angle / left);
        variance = 1 / left;
    }
    const double rho = root * angle / w->scale;
    return w->price[e] - log(w->scale) - 0.5 * rho * rho / variance - 0.5 * log(variance);
}

static void rank_one(double *V, const double *column, double factor, int64_t n) {
    for (int64_t r = 0; r < n; r++) {
        if (column[r] == 0) continue;
        const double f = factor * column[r];
        double *row = V + r * n;
        for (int64_t c = 0; c < n; c++) row[c] -= f * column[c];
    }
}

/* An edge in or out; whether the inverse has suffered. */
static int change(walk_t *w, int64_t e, double *column) {
    const int64_t n = w->n, i = w->i[e], j = w->j[e];
    const double root = w->root[e], sign = w->believed[e] ? -1 : 1;
    for (int64_t c = 0; c < n; c++) column[c] = root * (w->inverse[i * n + c] - w->inverse[j * n + c]);
    const double h = root * (column[i] - column[j]), grown = 1 + sign * h;
    const double step = sign * root * wrap(w->angle[e] - w->x[i] + w->x[j]) / grown;
    rank_one(w->inverse, column, sign / grown, n);
    for (int64_t c = 0; c < n; c++) w->x[c] += step * column[c];
    w->believed[e] ^= 1;
    w->log_det += log(grown);
    return grown < WEAR;
}

static int flip(walk_t *w, const double *u, double *column) {
    int64_t place = (int64_t)(u[1] * (double)w->free_count);
    const int64_t e = w->free_edges[place];
    double h;
    const double odds = log_odds(w, e, &h) * w->coldness;
    if (w->believed[e] && 1 - h < 10 * BRIDGE) return 0;
    const int wanted = u[2] < 1 / (1 + exp(fmin(-odds, 700.0)));
    return wanted != w->believed[e] && change(w, e, column);
}

static int swap(walk_t *w, const double *u, double *column, double *chances) {
    int64_t outside = 0;
    for (int64_t k = 0; k < w->free_count; k++) outside += !w->believed[w->free_edges[k]];
    if (!outside) return 0;
    int64_t place = (int64_t)(u[1] * (double)outside), edge = -1;
    for (int64_t k = 0; k < w->free_count; k++)
        if (!w->believed[w->free_edges[k]] && place-- == 0) {
            edge = w->free_edges[k];
            break;
        }
    change(w, edge, column);
    double most = -INFINITY, total = 0, h;
    for (int64_t k = 0; k < w->free_count; k++) {
        chances[k] = -INFINITY;
        if (!w->believed[w->free_edges[k]]) continue;
        const double odds = log_odds(w, w->free_edges[k], &h);
        if (1 - h >= 10 * BRIDGE) chances[k] = -odds * w->coldness;
        if (chances[k] > most) most = chances[k];
    }
    if (!isfinite(most)) { /* nothing can be left out, or the numbers are beyond what can be computed */
        return change(w, edge, column);
    }
    for (int64_t k = 0; k < w->free_count; k++) total += chances[k] = exp(chances[k] - most);
    double left = u[2] * total;
    int64_t out = -1;
    for (int64_t k = 0; k < w->free_count; k++) {
        if (!(chances[k] > 0)) continue;
        out = w->free_edges[k];
        if ((left -= chances[k]) < 0) break;
    }
    return change(w, out, column);
}

/* 0 where there is no memory. */
int walk_go(walk_t *w) {
    double *room = malloc((size_t)(w->n + w->free_count) * sizeof *room);
    if (!room) return 0;
    w->log_det = 0;
    for (int64_t t = 0; t < w->moves; t++) {
        const double *u = w->uniform + 3 * t;
        if (u[0] < w->swaps ? swap(w, u, room, room + w->n) : flip(w, u, room)) w->moves = t + 1;
    }
    free(room);
    return 1;
}
