/* What the coefficients of a Lanczos run say about the smallest eigenvalue.
 *
 * T has the diagonal alpha[0 .. k - 1] and beta[0 .. k - 2] beside it; beta[k - 1] is the norm of the next basis vector
 * before it was scaled, 0 where there is none. For a shift below the eigenvalues of T the pivots of T - shift I,
 *     d_0 = alpha_0 - shift,   d_j = alpha_j - shift - beta_{j-1}^2 / d_{j-1},
 * are all positive, and p_{j+1} = p_j d_j / beta_j, p_0 = 1, are the moduli of the orthonormal polynomials of the run
 * there: an eigenvector with the eigenvalue `shift` and the component c along the start has c p_j along basis vector j.
 * Nothing is subtracted from a p_j, so they are as accurate as the pivots, which are those of a T that is off by units of
 * rounding. reference.py says what follows from them.
 */
#include <math.h>
#include <stdint.h>

/* The sum of p_j^2, j = 0 .. k; -1 where the shift is not below all eigenvalues of T. */
double tridiagonal_growth(int64_t k, const double *alpha, const double *beta, double shift) {
    double pivot = 1, p = 1, sum = 1, square = 0;
    for (int64_t j = 0; j < k; j++) {
        pivot = alpha[j] - shift - square / pivot;
        if (!(pivot > 0)) return -1;
        p *= pivot / beta[j];
        sum += p * p;
        square = beta[j] * beta[j];
    }
    return sum;
}

static int is_below(int64_t k, const double *alpha, const double *beta, double shift) {
    double pivot = 1, square = 0;
    for (int64_t j = 0; j < k; j++) {
        pivot = alpha[j] - shift - square / pivot;
        if (!(pivot > 0)) return 0;
        square = beta[j] * beta[j];
    }
    return 1;
}

/* The smallest eigenvalue of T by bisection, from above; *lower is the other end, from below. */
double tridiagonal_smallest(int64_t k, const double *alpha, const double *beta, double *lower) {
    double low = INFINITY, high = INFINITY;
    for (int64_t j = 0; j < k; j++) { /* Gershgorin */
        double radius = (j > 0 ? beta[j - 1] : 0) + (j + 1 < k ? beta[j] : 0);
        low = fmin(low, alpha[j] - radius);
        high = fmin(high, alpha[j]);
    }
    double margin = 4e-16 * (fabs(low) + fabs(high)) + 1e-300;
    low -= margin;
    while (high - low > margin) {
        double middle = low + 0.5 * (high - low);
        if (!(low < middle && middle < high)) break;
        if (is_below(k, alpha, beta, middle)) low = middle;
        else high = middle;
    }
    *lower = low;
    return high;
}

/* The largest shift that is found to have a growth of at least `limit`, to a millionth of its distance from T. */
double tridiagonal_proved(int64_t k, const double *alpha, const double *beta, double limit) {
    double below, high = tridiagonal_smallest(k, alpha, beta, &below), low = below;
    double away = 1e-15 * (fabs(high) + beta[k - 1]) + 1e-300;
    for (; !(tridiagonal_growth(k, alpha, beta, low) >= limit); away *= 2) {
        if (!isfinite(low)) return -INFINITY;
        high = low;
        low = below - away;
    }
    for (int turn = 0; turn < 24; turn++) {
        double middle = low + 0.5 * (high - low);
        if (tridiagonal_growth(k, alpha, beta, middle) >= limit) low = middle;
        else high = middle;
    }
    return low;
}

/* Unit eigenvector y of the smallest eigenvalue of T by inverse iteration. Its entries alternate in sign, as the start
 * does, so the start is not orthogonal to it. `pivots` has k doubles. */
void tridiagonal_vector(int64_t k, const double *alpha, const double *beta, double *pivots, double *y) {
    double lower;
    tridiagonal_smallest(k, alpha, beta, &lower);
    for (int64_t j = 0; j < k; j++) {
        pivots[j] = alpha[j] - lower - (j ? beta[j - 1] * beta[j - 1] / pivots[j - 1] : 0);
        y[j] = j % 2 ? -1 : 1;
    }
    for (int turn = 0; turn < 2; turn++) {
        double size = 0;
        for (int64_t j = 1; j < k; j++) y[j] -= beta[j - 1] / pivots[j - 1] * y[j - 1];
        y[k - 1] /= pivots[k - 1];
        for (int64_t j = k - 2; j >= 0; j--) y[j] = (y[j] - beta[j] * y[j + 1]) / pivots[j];
        for (int64_t j = 0; j < k; j++) size = fmax(size, fabs(y[j]));
        double sum = 0;
        for (int64_t j = 0; j < k; j++) {
            y[j] /= size;
            sum += y[j] * y[j];
        }
        for (int64_t j = 0; j < k; j++) y[j] /= sqrt(sum);
    }
}
