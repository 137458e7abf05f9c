/* A dense Hermitian matrix as products read it: the matrix itself, its narrow copy (narrow.h), or a function that
 * multiplies with a matrix which lies elsewhere. In Python: Source in source.py. */
#ifndef ANGSYNC_SOURCE_H
#define ANGSYNC_SOURCE_H

#include "matrix.h"
#include <stdint.h>
#include <string.h>

typedef struct {
    int64_t n;
    matrix_t C;          /* the matrix, read where there is no copy */
    const int16_t *copy; /* the narrow copy, NULL where there is none, its scales and its diagonal */
    const float *scale;
    const double *diagonal;
    void *work; /* what a product by `threads` threads needs beside its vectors */
    int32_t threads;
    int (*call)(void); /* makes `image` of `given` and returns 0, or anything else to end the work; NULL for a matrix */
    double *given, *image;
} source_t;

void dense_apply(int64_t n, const matrix_t *C, const double *x, double *y, double *work, int threads);
void narrow_product(int64_t n, const int16_t *copy, const float *scale, const double *diagonal, const double *x, double *y,
                    float *work, int threads);

/* y = C x; not 0 where the function that multiplies asks for an end, and y is then as it was */
static inline int source_product(const source_t *from, const double *x, double *y) {
    size_t bytes = sizeof(double) * 2 * (size_t)from->n;
    if (from->call) {
        memcpy(from->given, x, bytes);
        if (from->call()) return 1;
        memcpy(y, from->image, bytes);
    } else if (from->copy)
        narrow_product(from->n, from->copy, from->scale, from->diagonal, x, y, from->work, from->threads);
    else dense_apply(from->n, &from->C, x, y, from->work, from->threads);
    return 0;
}

#endif
