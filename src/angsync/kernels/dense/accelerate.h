/* Anderson's method on a dense matrix: what one call is given and what it finds. In Python: Acceleration in compiled.py. */
#ifndef ANGSYNC_ACCELERATE_H
#define ANGSYNC_ACCELERATE_H

#include "source.h"

typedef struct {
    const double *base_w; /* the product of C with z, around which a narrow copy is the model; or NULL */
    const double *known;  /* without it, the product of the model itself with z where that is known; or NULL */
    double *z;
    double target;  /* residual, */
    double inexact; /* or gradient, at which the method has arrived */
    double noise;   /* relative to f: a step is accepted where f does not go down by more */
    int64_t budget; /* products, */
    int64_t most;   /* and steps at most */
    int64_t patience; /* the method gives up after more rejected steps than this */
    double *vectors;  /* (15 + 2 MEMORY) n doubles, whose last 2 MEMORY n are kept between calls, */
    double *gram;     /* together with MEMORY^2 doubles, */
    int64_t *order;   /* and MEMORY + 1 integers, the first of which is 0 at the beginning */
    double *trace; /* for every step: the objective (relative to that of the base point), the residual, the length */
    /* what is found */
    int64_t products, rejected, taken;
    double residual;
    const double *image; /* the product at the z found by the model; it lies among `vectors` */
} acceleration_t;

/* why a solve ended: it arrived; too many products or steps, rejected steps; a product ended it */
enum { REACHED = 0, OUT_OF_BUDGET = 1, STALLED = 2, FAILED = 3 };

int dense_accelerate(const source_t *from, acceleration_t *a);
/* `known`: C z, or NULL; `mixing`: used with it, and not 0 when it returns where the vector counts. -1 where a product ended
 * it. */
int64_t dense_leading(const source_t *from, double *z, const double *known, double tolerance, double *mixing,
                      double *vectors);

#endif
