/* Lanczos on the complement of a vector for S = Diag(s) - scale C, many steps in one call. Products come from the matrix
 * itself or from its narrow copy; the basis is kept and every vector is made orthogonal to all of it.
 *
 * Columns lie as (re, im) one after the other. With lanes taken as they lie, for columns v, coefficients h = v^H w and
 * w <- w - sum h v:
 *     Re h = sum v * (wr, wi),   Im h = sum v * (wi, -wr)                            (lane by lane)
 *     P = sum Re(h) v,  Q = sum Im(h) v;   wr -= P_even - Q_odd,   wi -= P_odd + Q_even
 * so nothing is shuffled but w. Rows are taken in blocks, of which w, P and Q stay in the first-level cache, so that a
 * round reads the basis once for all coefficients and once for all that is taken away, four columns at a time.
 *
 * Every thread has rows of its own; what they add to the coefficients is summed in the order of the threads. Their number
 * is the one asked for: where OpenMP gives fewer (OMP_THREAD_LIMIT, OMP_DYNAMIC), one does the shares of several.
 */
#include "dense/source.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

double tridiagonal_growth(int64_t k, const double *alpha, const double *beta, double shift);
double tridiagonal_smallest(int64_t k, const double *alpha, const double *beta, double *lower);

#define LANES 1024          /* doubles of a block of rows */
#define TOGETHER 4          /* columns that share the loads of w */
#define KEPT_SHARE 0.5      /* of the squared norm: a round of orthogonalization that leaves as much is the last one */
#define MOST_ROUNDS 4       /* a vector of nothing but rounding errors would go on */
#define SHARED_FROM 100000  /* complex numbers in the basis from which threads gain more than they cost to wake */
#define UNIT_ROUNDOFF 0x1p-53
#define SETTLED_FROM 20     /* steps from which a negative eigenvalue may end a run */

enum { GOING_ON, REACHED, SETTLED, HOPELESS, COMPLETE, ENDED };

/* ------------------------------------------------------------------ orthogonalization */

static void overlaps(int64_t count, const double *restrict a, const double *restrict b, const double *restrict c,
                          const double *restrict d, const double *restrict w, const double *restrict turned, double *h) {
    double p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
#pragma omp simd reduction(+ : p0, p1, p2, p3, q0, q1, q2, q3)
    for (int64_t t = 0; t < count; t++) {
        double x = w[t], y = turned[t];
        p0 += a[t] * x; p1 += b[t] * x; p2 += c[t] * x; p3 += d[t] * x;
        q0 += a[t] * y; q1 += b[t] * y; q2 += c[t] * y; q3 += d[t] * y;
    }
    h[0] += p0; h[1] += q0; h[2] += p1; h[3] += q1;
    h[4] += p2; h[5] += q2; h[6] += p3; h[7] += q3;
}

static void combine(int64_t count, const double *restrict a, const double *restrict b, const double *restrict c,
                         const double *restrict d, const double *h, double *restrict P, double *restrict Q) {
    double r0 = h[0], i0 = h[1], r1 = h[2], i1 = h[3], r2 = h[4], i2 = h[5], r3 = h[6], i3 = h[7];
#pragma omp simd
    for (int64_t t = 0; t < count; t++) {
        P[t] += a[t] * r0 + b[t] * r1 + c[t] * r2 + d[t] * r3;
        Q[t] += a[t] * i0 + b[t] * i1 + c[t] * i2 + d[t] * i3;
    }
}

static void turn(int64_t count, const double *restrict w, double *restrict turned) {
#pragma omp simd
    for (int64_t j = 0; j < count / 2; j++) {
        turned[2 * j] = w[2 * j + 1];
        turned[2 * j + 1] = -w[2 * j];
    }
}

static double take_away(int64_t count, const double *restrict P, const double *restrict Q, double *restrict w) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < count / 2; j++) {
        double re = w[2 * j] - (P[2 * j] - Q[2 * j + 1]), im = w[2 * j + 1] - (P[2 * j + 1] + Q[2 * j]);
        w[2 * j] = re;
        w[2 * j + 1] = im;
        sum += re * re + im * im;
    }
    return sum;
}

static double square(int64_t count, const double *restrict w) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t t = 0; t < count; t++) sum += w[t] * w[t];
    return sum;
}

/* Four columns from number `first` on at row `at`, the deflated vector before the basis; beyond the last one, nothing:
 * a coefficient of 0 makes any column right. */
static void columns(int64_t n, int64_t count, const double *deflated, const double *basis, int64_t first, int64_t at,
                    const double *four[TOGETHER]) {
    for (int64_t c = 0; c < TOGETHER; c++) {
        int64_t k = first + c < count ? first + c : 0;
        four[c] = (k == 0 ? deflated : basis + 2 * n * (k - 1)) + at;
    }
}

/* One round against `count` columns, the deflated vector among them; the squared norm that is left. Thread t has
 * `each` doubles in `work` from t * each on: its part of the coefficients, and in the last place of the norm. */
static double round_of(int64_t n, int64_t count, const double *deflated, const double *basis, double *w, double *work,
                       int64_t each, int threads) {
    int64_t padded = (count + TOGETHER - 1) / TOGETHER * TOGETHER;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        double *h = work + me * each, turned[LANES];
        const double *four[TOGETHER];
        int64_t end = 2 * (n * (me + 1) / threads);
        memset(h, 0, sizeof(double) * 2 * (size_t)padded);
        for (int64_t at = 2 * (n * me / threads); at < end; at += LANES) {
            int64_t lanes = end - at < LANES ? end - at : LANES;
            turn(lanes, w + at, turned);
            for (int64_t c = 0; c < padded; c += TOGETHER) {
                columns(n, count, deflated, basis, c, at, four);
                overlaps(lanes, four[0], four[1], four[2], four[3], w + at, turned, h + 2 * c);
            }
        }
    }
    for (int k = 1; k < threads; k++)
        for (int64_t c = 0; c < 2 * count; c++) work[c] += work[k * each + c];
    memset(work + 2 * count, 0, sizeof(double) * 2 * (size_t)(padded - count));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        double P[LANES], Q[LANES], sum = 0;
        const double *four[TOGETHER];
        int64_t end = 2 * (n * (me + 1) / threads);
        for (int64_t at = 2 * (n * me / threads); at < end; at += LANES) {
            int64_t lanes = end - at < LANES ? end - at : LANES;
            memset(P, 0, sizeof(double) * (size_t)lanes);
            memset(Q, 0, sizeof(double) * (size_t)lanes);
            for (int64_t c = 0; c < padded; c += TOGETHER) {
                columns(n, count, deflated, basis, c, at, four);
                combine(lanes, four[0], four[1], four[2], four[3], work + 2 * c, P, Q);
            }
            sum += take_away(lanes, P, Q, w + at);
        }
        work[me * each + each - 1] = sum;
    }
    double left = 0;
    for (int k = 0; k < threads; k++) left += work[k * each + each - 1];
    return left;
}

/* Doubles that a thread needs to make a vector orthogonal to `count` others and the deflated one. */
int64_t orthogonalize_work(int64_t count) { return 2 * (count + 1 + TOGETHER) + 1; }

/* w made orthogonal to the unit vectors `deflated` and basis[0 .. count - 1] (one after the other, each n complex numbers);
 * returns its norm, and in *taken the norm of what was taken away along the basis, the rounds added up. Again where a round left less than 0.7 of the norm: then what it took away had errors that count
 * beside what is left (Daniel, Gragg, Kaufman and Stewart, Math. Comp. 30, 1976). */
double orthogonalize(int64_t n, int64_t count, const double *deflated, const double *basis, double *w, double *work,
                     int threads, double *taken) {
    if (n * count < SHARED_FROM) threads = 1;
    double before = square(2 * n, w), left = before;
    *taken = 0;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        left = round_of(n, count + 1, deflated, basis, w, work, orthogonalize_work(count), threads);
        *taken += sqrt(square(2 * count, work + 2));
        if (left > KEPT_SHARE * before) break;
        before = left;
    }
    return sqrt(left);
}

/* ------------------------------------------------------------------ the run */

/* w <- s v - scale w, and what is along v: *along = Re v^H w. Returns the squared norm. */
static double shifted(int64_t n, const double *restrict s, double scale, const double *restrict v, double *restrict w,
                           double *along) {
    double sum = 0, size = 0;
#pragma omp simd reduction(+ : sum, size)
    for (int64_t j = 0; j < n; j++) {
        double re = s[j] * v[2 * j] - scale * w[2 * j], im = s[j] * v[2 * j + 1] - scale * w[2 * j + 1];
        w[2 * j] = re;
        w[2 * j + 1] = im;
        sum += v[2 * j] * re + v[2 * j + 1] * im;
        size += re * re + im * im;
    }
    *along = sum;
    return size;
}

static void subtract(int64_t count, double factor, const double *restrict v, double *restrict w) {
#pragma omp simd
    for (int64_t t = 0; t < count; t++) w[t] -= factor * v[t];
}

static void divide(int64_t count, double size, double *restrict w) {
#pragma omp simd
    for (int64_t t = 0; t < count; t++) w[t] /= size;
}

/* Whether the run may end after k steps: see Goal in reference.py. */
int lanczos_verdict(int64_t k, const double *alpha, const double *beta, double target, double limit, double rounding,
                    int give_up) {
    double lost = rounding * sqrt((double)k), lower;
    double growth = tridiagonal_growth(k, alpha, beta, target + lost);
    if (growth >= limit) return REACHED;
    if (growth < 0 && give_up) return HOPELESS;
    if (k < SETTLED_FROM || tridiagonal_growth(k, alpha, beta, 0) >= 0) return GOING_ON;
    double smallest = tridiagonal_smallest(k, alpha, beta, &lower);
    lost = fmin(lost, -0.05 * smallest); /* where rounding alone is as large, steps would not help */
    return smallest < 0 && tridiagonal_growth(k, alpha, beta, 1.1 * smallest + lost) >= limit ? SETTLED : GOING_ON;
}

/* A run on S = Diag(s) - scale C. In Python: Run in compiled.py. */
typedef struct {
    double scale;
    const double *s, *deflated;
    double *basis;        /* `last` + 1 columns, of which `steps` + 1 are there */
    double *alpha, *beta; /* as in tridiagonal.c */
    int64_t steps, last;  /* steps that were taken, and to be taken in all */
    double size;          /* the largest norm of a product so far */
    double target, limit, rounding; /* the goal; `target` is not a number where there is none */
    double *own;                    /* `threads` times orthogonalize_work(last) doubles */
    int32_t give_up, threads;
    double taken, drift; /* of all steps: squares of what the basis took away beside three terms; its shares of beta */
} run_t;

int64_t lanczos_run_size(void) { return sizeof(run_t); }

static int run_verdict(const run_t *run) {
    return lanczos_verdict(run->steps, run->alpha, run->beta, run->target, run->limit, run->rounding, run->give_up);
}

/* Steps until there are `last` of them, or the goal is reached. Returns why it ended. */
int lanczos_run(const source_t *from, run_t *run) {
    int64_t n = from->n;
    double *alpha = run->alpha, *beta = run->beta;
    int goal = !isnan(run->target);
    if (goal && run->steps > 0) {
        int verdict = run_verdict(run);
        if (verdict != GOING_ON) return verdict;
    }
    while (run->steps < run->last) {
        int64_t k = run->steps;
        double *v = run->basis + 2 * n * k, *w = v + 2 * n;
        if (source_product(from, v, w)) return ENDED;
        double norm = sqrt(shifted(n, run->s, run->scale, v, w, alpha + k));
        if (norm > run->size) run->size = norm;
        /* nearly all that the whole basis has to take away, so that one round of it is enough */
        subtract(2 * n, alpha[k], v, w);
        if (k) subtract(2 * n, beta[k - 1], v - 2 * n, w);
        double taken;
        beta[k] = orthogonalize(n, k + 1, run->deflated, run->basis, w, run->own, run->threads, &taken);
        run->steps = k + 1;
        run->taken += taken * taken;
        run->drift += taken / beta[k];
        /* a space that is invariant to rounding: another vector would be noise */
        if (k + 2 == n) beta[k] = 0;
        if (beta[k] <= 16 * sqrt((double)n) * UNIT_ROUNDOFF * run->size) return COMPLETE;
        divide(2 * n, beta[k], w);
        if (goal) {
            int verdict = run_verdict(run);
            if (verdict != GOING_ON) return verdict;
        }
    }
    return GOING_ON;
}
