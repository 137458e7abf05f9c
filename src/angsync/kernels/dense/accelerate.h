/* Anderson's method on a dense matrix: what one call is given and what it finds. In Python: Acceleration in compiled.py. */
#ifndef ANGSYNC_ACCELERATE_H
#define ANGSYNC_ACCELERATE_H

#include "source.h"

typedef struct {
    const double *base_w; /* the product of C with z, NULL where it is not known */
    double *z;
    double target;  /* residual, */
    double inexact; /* or gradient, at which the method has arrived */
    double noise;   /* relative to f: a step is accepted where f does not go down by more */
    int64_t budget; /* products, */
    int64_t most;   /* and steps at most */
    int64_t patience; /* the method gives up after more rejected steps than this */
    double *vectors;  /* (13 + 2 MEMORY) n doubles, whose last 2 MEMORY n are kept between calls, */
    double *gram;     /* together with MEMORY^2 doubles, */
    int64_t *order;   /* and MEMORY + 1 integers, the first of which is 0 at the beginning */
    double *trace; /* for every step: the objective (relative to that of the base point), the residual, the length */
    int (*tell)(double, double, double); /* is told the same of every step, and ends the solve by returning not 0; or NULL */
    double told_from; /* the objective of the base point, added to what is told */
    /* what is found */
    int64_t products, rejected, taken;
    double residual;
    const double *image; /* the product at z by the model; it lies among `vectors` */
} acceleration_t;

/* why a solve ended: it arrived; too many products or steps, rejected steps; `tell`, the deadline, or a product ended it */
enum { REACHED = 0, OUT_OF_BUDGET = 1, STALLED = 2, STOPPED = 3, LATE = 4, FAILED = 5 };

int dense_accelerate(const source_t *from, acceleration_t *a);
/* `known`: C z, or NULL; `least`, `mixing`: used with it; `second`: the second largest Ritz value. -1 where a product ended
 * it. */
int64_t dense_leading(const source_t *from, double *z, const double *known, double tolerance, double least, double mixing,
                      double *vectors, double *second);

#endif
