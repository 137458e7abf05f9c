/* Which measurements of a group are to be believed: marginal likelihoods of its subsets, everything else fixed.
 *
 * A group has c measurements of D numbers. With rho the residuals predicted without the group, and C their covariance
 * in units of the noise, a subset T is worth
 *     sum_T worth - rho_T' C_TT^-1 rho_T / (2 s^2) - log det(C_TT) / 2 + together(the others),
 * together(Q) = max_p sum_{k in Q, k != p} pair[p][k]: those that are not believed may be wrong in one common way.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int D, count;
    double inverse_variance; /* 1 / s^2 */
    const double *C, *rho, *worth, *pair;
    double *L, *y; /* room for the factor of C_TT and for L^-1 rho_T */
    int *rows;
} group_t;

static double together(const group_t *g, const uint8_t *in) {
    double best = 0;
    for (int p = 0; p < g->count; p++) {
        if (in[p]) continue;
        double sum = 0;
        for (int k = 0; k < g->count; k++)
            if (!in[k] && k != p) sum += g->pair[p * g->count + k];
        if (sum > best) best = sum;
    }
    return best;
}

/* The factor of a symmetric matrix of `size` rows that are rows[...] of A (order n); 0 where it is not definite. */
static int cholesky(const double *A, int n, const int *rows, int size, double *L) {
    for (int r = 0; r < size; r++)
        for (int c = 0; c <= r; c++) {
            double sum = A[rows[r] * n + rows[c]];
            for (int t = 0; t < c; t++) sum -= L[r * size + t] * L[c * size + t];
            if (c < r)
                L[r * size + c] = sum / L[c * size + c];
            else if (sum > 0 && isfinite(sum))
                L[r * size + r] = sqrt(sum);
            else
                return 0;
        }
    return 1;
}

static double value(const group_t *g, const uint8_t *in) {
    const int D = g->D, n = D * g->count;
    int size = 0;
    double worth = 0;
    for (int k = 0; k < g->count; k++)
        if (in[k]) {
            worth += g->worth[k];
            for (int d = 0; d < D; d++) g->rows[size++] = k * D + d;
        }
    if (!cholesky(g->C, n, g->rows, size, g->L)) return -INFINITY;
    double squares = 0, half_log = 0;
    for (int r = 0; r < size; r++) {
        double sum = g->rho[g->rows[r]];
        for (int t = 0; t < r; t++) sum -= g->L[r * size + t] * g->y[t];
        g->y[r] = sum / g->L[r * size + r];
        squares += g->y[r] * g->y[r];
        half_log += log(g->L[r * size + r]);
    }
    return worth - 0.5 * squares * g->inverse_variance - half_log + together(g, in);
}

/* From a subset by single changes, the best one each time. */
static double climbed(const group_t *g, uint8_t *in) {
    double now = value(g, in);
    for (;;) {
        int at = -1;
        double best = now + 1e-9;
        for (int k = 0; k < g->count; k++) {
            in[k] ^= 1;
            const double v = value(g, in);
            if (v > best) best = v, at = k;
            in[k] ^= 1;
        }
        if (at < 0) return now;
        in[at] ^= 1;
        now = best;
    }
}

/* H and r become C and rho: what is predicted without the members that are believed. 0 where they cannot be missed. */
static int left_out(int D, int count, const uint8_t *in, const double *H, const double *r, double *C, double *rho,
                    double *L, double *y, double *M, int *rows) {
    const int n = D * count;
    int size = 0;
    for (int k = 0; k < count; k++)
        if (in[k])
            for (int d = 0; d < D; d++) rows[size++] = k * D + d;
    memcpy(C, H, (size_t)(n * n) * sizeof *C);
    memcpy(rho, r, (size_t)n * sizeof *rho);
    if (size) {
        for (int a = 0; a < n * n; a++) M[a] = -H[a];
        for (int a = 0; a < n; a++) M[a * n + a] += 1;
        if (!cholesky(M, n, rows, size, L)) return 0;
        /* Y = L^-1 [H_in,: r_in]; C += Y'Y, rho += Y'y */
        for (int c = 0; c < n; c++)
            for (int a = 0; a < size; a++) {
                double sum = H[rows[a] * n + c];
                for (int t = 0; t < a; t++) sum -= L[a * size + t] * M[c * n + t];
                M[c * n + a] = sum / L[a * size + a]; /* M is Y transposed from here on */
            }
        for (int a = 0; a < size; a++) {
            double sum = r[rows[a]];
            for (int t = 0; t < a; t++) sum -= L[a * size + t] * y[t];
            y[a] = sum / L[a * size + a];
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                double sum = 0;
                for (int t = 0; t < size; t++) sum += M[a * n + t] * M[b * n + t];
                C[a * n + b] += sum;
            }
            for (int t = 0; t < size; t++) rho[a] += M[a * n + t] * y[t];
        }
    }
    for (int a = 0; a < n; a++) C[a * n + a] += 1;
    return 1;
}

/* For every group g of the measurements group[g] ... group[g + 1] - 1: the subset found best (chosen) from the present
 * one (in), from none and from all, and what it gains; what the whole group and each of its measurements are worth:
 * the value with it less the value without it, the rest of the group as it is. H of group g begins at square[g] D^2,
 * pair at square[g]. A group that cannot be missed gains nothing and is worth infinitely much. 0 without memory. */
int group_choice(int D, double s, int64_t groups, const int64_t *group, const int64_t *square, const double *H,
                 const double *r, const uint8_t *in, const double *worth, const double *pair, int search,
                 uint8_t *chosen, double *gain, double *held, double *margin) {
    int64_t widest = 1;
    for (int64_t g = 0; g < groups; g++)
        if (group[g + 1] - group[g] > widest) widest = group[g + 1] - group[g];
    const size_t n = (size_t)(D * widest);
    double *room = malloc((3 * n * n + 2 * n) * sizeof *room);
    int *rows = malloc(n * sizeof *rows);
    uint8_t *trial = malloc((size_t)widest);
    if (!room || !rows || !trial) {
        free(room);
        free(rows);
        free(trial);
        return 0;
    }
    double *C = room, *L = C + n * n, *M = L + n * n, *rho = M + n * n, *y = rho + n;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t e = group[g];
        const int count = group[g + 1] > e ? (int)(group[g + 1] - e) : 0;
        group_t this = {D, count, 1 / (s * s), C, rho, worth + e, pair + square[g], L, y, rows};
        memcpy(chosen + e, in + e, (size_t)count);
        gain[g] = 0;
        if (!left_out(D, count, in + e, H + square[g] * D * D, r + e * D, C, rho, L, y, M, rows)) {
            held[g] = INFINITY;
            for (int k = 0; k < count; k++) margin[e + k] = in[e + k] ? INFINITY : -INFINITY;
            continue;
        }
        const double now = value(&this, in + e);
        memset(trial, 0, (size_t)count);
        held[g] = now - value(&this, trial);
        memcpy(trial, in + e, (size_t)count);
        for (int k = 0; k < count; k++) {
            trial[k] ^= 1;
            const double other = value(&this, trial);
            margin[e + k] = trial[k] ? other - now : now - other;
            trial[k] ^= 1;
        }
        for (int start = 0; search && start < 3; start++) {
            if (start) memset(trial, start - 1, (size_t)count);
            const double found = climbed(&this, trial);
            if (found - now > gain[g]) {
                gain[g] = found - now;
                memcpy(chosen + e, trial, (size_t)count);
            }
        }
    }
    free(room);
    free(rows);
    free(trial);
    return 1;
}
