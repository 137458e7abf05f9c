/* A dense Hermitian matrix as products read it: the matrix itself, or its narrow copy (narrow.h). In Python: Source in
 * source.py. */
#ifndef ANGSYNC_SOURCE_H
#define ANGSYNC_SOURCE_H

#include "matrix.h"
#include <stdint.h>

typedef struct {
    int64_t n;
    matrix_t C;          /* the matrix, read where there is no copy */
    const int16_t *copy; /* the narrow copy, NULL where there is none, its scales and its diagonal */
    const float *scale;
    const double *diagonal;
    void *work; /* what a product by `threads` threads needs beside its vectors */
    int32_t avx512, threads;
} source_t;

void dense_apply(int64_t n, const matrix_t *C, const double *x, double *y, double *work, int avx512, int threads);
void narrow_product(int64_t n, const int16_t *copy, const float *scale, const double *diagonal, const double *x, double *y,
                    float *work, int avx512, int threads);

/* y = C x */
static inline void source_product(const source_t *from, const double *x, double *y) {
    if (from->copy) narrow_product(from->n, from->copy, from->scale, from->diagonal, x, y, from->work, from->avx512,
                                   from->threads);
    else dense_apply(from->n, &from->C, x, y, from->work, from->avx512, from->threads);
}

#endif
