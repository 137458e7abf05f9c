/* What a proof of optimality needs for dense problems, without BLAS: its threads cost more than they gain at these sizes,
 * and several-fold beside threads of our own.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* sum of a * x and of a * y over lanes, for four rows a that lie `stride` apart. */
static void four_sums(int64_t count, const double *restrict a, int64_t stride, const double *restrict x,
                           const double *restrict y, double *restrict out) {
    const double *a1 = a + stride, *a2 = a + 2 * stride, *a3 = a + 3 * stride;
    double p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
#pragma omp simd reduction(+ : p0, p1, p2, p3, q0, q1, q2, q3)
    for (int64_t t = 0; t < count; t++) {
        double s = x[t], w = y[t];
        p0 += a[t] * s; p1 += a1[t] * s; p2 += a2[t] * s; p3 += a3[t] * s;
        q0 += a[t] * w; q1 += a1[t] * w; q2 += a2[t] * w; q3 += a3[t] * w;
    }
    out[0] = p0; out[1] = q0; out[2] = p1; out[3] = q1; out[4] = p2; out[5] = q2; out[6] = p3; out[7] = q3;
}

/* Whether the Hermitian matrix A (order n, row after row, only its lower triangle is read and overwritten) has a Cholesky
 * factorization in floating point: L_ij = (A_ij - sum_k L_ik conj(L_jk)) / L_jj, every sum an inner product of two rows.
 * A has four rows more than n, of any content that is finite; `work` has 4 n doubles. */
static int factorizes(int64_t n, double *A, double *work) {
    double *same = work, *swapped = work + 2 * n;
    int64_t stride = 2 * n;
    for (int64_t j = 0; j < n; j++) {
        double *row = A + j * stride, pivot = row[2 * j];
        for (int64_t t = 0; t < 2 * j; t++) pivot -= row[t] * row[t];
        if (!(pivot > 0)) return 0;
        pivot = sqrt(pivot);
        row[2 * j] = pivot;
        row[2 * j + 1] = 0;
        /* L_ik conj(L_jk): re = a_re b_re + a_im b_im, im = a_im b_re - a_re b_im */
        memcpy(same, row, sizeof(double) * 2 * (size_t)j);
        for (int64_t k = 0; k < j; k++) {
            swapped[2 * k] = -row[2 * k + 1];
            swapped[2 * k + 1] = row[2 * k];
        }
        for (int64_t i = j + 1; i < n; i += 4) {
            double sums[8];
            four_sums(2 * j, A + i * stride, stride, same, swapped, sums);
            for (int64_t k = 0; k < 4 && i + k < n; k++) {
                double *entry = A + (i + k) * stride + 2 * j;
                entry[0] = (entry[0] - sums[2 * k]) / pivot;
                entry[1] = (entry[1] - sums[2 * k + 1]) / pivot;
            }
        }
    }
    return 1;
}

/* Whether M - shift I factorizes, with M = Diag(s) - scale C + lift u u^H: a proof that it is nearly positive
 * semidefinite. `work` has 2 n (n + 4) + 4 n doubles. */
int shifted_is_definite(int64_t n, const double *C, double scale, const double *s, const double *u, double lift, double shift,
                        double *work) {
    for (int64_t j = 0; j < n; j++) {
        double *row = work + 2 * j * n, re = lift * u[2 * j], im = lift * u[2 * j + 1];
        const double *given = C + 2 * j * n;
        for (int64_t l = 0; l < j; l++) {
            row[2 * l] = re * u[2 * l] + im * u[2 * l + 1] - scale * given[2 * l];
            row[2 * l + 1] = im * u[2 * l] - re * u[2 * l + 1] - scale * given[2 * l + 1];
        }
        row[2 * j] = s[j] - scale * given[2 * j] + (re * u[2 * j] + im * u[2 * j + 1]) - shift;
        row[2 * j + 1] = 0;
        memset(row + 2 * (j + 1), 0, sizeof(double) * 2 * (size_t)(n - j - 1));
    }
    memset(work + 2 * n * n, 0, sizeof(double) * 8 * (size_t)n);
    return factorizes(n, work, work + 2 * n * (n + 4));
}
