/* One column of a Cholesky factor of D x D blocks (pose_blocks.c) applied to right-hand sides that lie side by side. */
#ifndef ANGSYNC_BLOCK_COLUMNS_H
#define ANGSYNC_BLOCK_COLUMNS_H

#include <stdint.h>

/* x_j <- inv(L_jj) x_j, or its transpose, for `width` right-hand sides side by side. */
static void turn(const double *inverse, double *x, const int D, const int64_t width, const int transposed) {
    for (int64_t w = 0; w < width; w++) {
        double y[3];
        for (int r = 0; r < D; r++) {
            double sum = 0;
            for (int c = 0; c < D; c++) sum += inverse[transposed ? c * D + r : r * D + c] * x[c * width + w];
            y[r] = sum;
        }
        for (int r = 0; r < D; r++) x[r * width + w] = y[r];
    }
}

/* Columns below the diagonal block of column j: x_i -= L_ij x_j, or x_j -= L_ij^T x_i. */
static void spread(const double *l, const double *from, double *to, const int D, const int64_t width,
                   const int transposed) {
    for (int r = 0; r < D; r++)
        for (int c = 0; c < D; c++) {
            const double factor = l[transposed ? c * D + r : r * D + c];
            const double *source = from + c * width;
            double *target = to + r * width;
            for (int64_t w = 0; w < width; w++) target[w] -= factor * source[w];
        }
}

#endif
