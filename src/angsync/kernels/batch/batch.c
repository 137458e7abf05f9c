/* Many problems of order 2 to 256, each solved from start to proof in the cache of one core. The NumPy twin, with
 * the formulas, is reference.py.
 *
 * As many problems as a vector of the instruction set has lanes make a group, one problem a lane (lanes.h), and a
 * thread takes one group at a time. Needs the vectors of GCC or Clang; where they are missing (batch_vectors() is 0) NumPy
 * does the work.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "simd.h"

#if defined(__GNUC__)
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
int batch_vectors(void) { return 1; }

#define FIXED_START_SHARE 0.0625    /* how much of the fixed start (the chirp) is added to the start by the sweep */
#define DOUBTFUL_MISFIT 0.25        /* these two: numbers.py */
#define MODULUS_SHARE 0.7853981633974483
#define SETTLED_SINE 0.03           /* sine of the angle between x and C x at which power steps end */
#define SHIFT_SHARE 0.8             /* part of the slowest mode that the shift of a power step takes away */
#define SLOWEST_BELIEVED 0.6        /* largest slowest mode that a shift is made for: beyond it, Newton is quicker */

#define UNEVEN_RATIO 1e3            /* of the largest and the smallest row, from which light rows have their own residual */
#define MAX_ORDER 256               /* also in numbers.py; a label of a piece is a byte */
enum { GAUGE_FIRST = 1, GAUGE_MEAN = 2, GAUGE_NODE = 3 }; /* GAUGE_NODE + j: node j at angle 0 */

/* How the problems are solved: BatchOptions in numbers.py, which says what each means. */
typedef struct {
    int32_t power_steps, gpm_steps, max_iterations, triangle, certify, gauge, swept;
    double tolerance, accepted;
} options_t;
enum { PROVE_ALL = 1, OWN_START = 2 }; /* also in numbers.py */

/* What is written for every problem: phases elsewhere, these in the types that a caller keeps them in. */
typedef struct {
    double *objective, *residual;
    int32_t *iterations;
    int8_t *status;
    int32_t *components;
    double *found; /* (FOUND, count) */
} numbers_t;

/* The rows of `found`: FIELDS in numbers.py. All but the first two, the last and ROWS_TOTAL are written where there is a
 * proof. */
enum { ASYMMETRY, SKEW, BOUND, BARE_OBJECTIVE, GRADIENT, ROWS_TOTAL, ROWS_NORM, ROWS_MOST, MODULI, NODES, TRACE, FOUND };

/* One call. In Python: Call in compiled.py. */
typedef struct {
    int64_t count;
    int32_t n, threads;
    options_t options;
    double askew;        /* share of an entry above which a difference to its mirror image is suspect */
    const void *C;       /* (count, n, n), contiguous */
    const double *start; /* n complex numbers, or (count, n) */
    void *z;             /* (count, n) */
    numbers_t numbers;
    double *history;     /* of one problem alone: (max_iterations + 1, 4), see N(record); or NULL */
} batch_t;

/* What is left between Python's and C's idea of it would be read as garbage: a test compares the two. */
int64_t batch_call_size(void) { return sizeof(batch_t); }
int64_t batch_found_rows(void) { return FOUND; }

/* One call of the objective of interferogram stacks. In Python: EmiCall in compiled.py. */
typedef struct {
    int64_t count;
    int32_t n, threads;
    int32_t wide;          /* C holds doubles, not floats */
    int32_t given;         /* coherence: 0 the moduli of C, 1 floats, 2 doubles */
    const double *beta;    /* of each problem: the part of the identity */
    double limit;          /* largest condition number */
    double askew;          /* relative difference of the triangles of a coherence above which it is not symmetric */
    const void *C, *coherence;
    void *out;
    int8_t *state;         /* of each problem: see below, or 1 where |Gamma| is not positive definite */
} emi_t;
enum { EMI_SINGULAR = 2, EMI_UNEVEN = 3 };

/* One call for error bars of interferogram stacks. In Python: BarsCall in compiled.py. */
typedef struct {
    int64_t count;
    int32_t n, threads;
    int32_t wide;              /* C holds doubles, not floats */
    int32_t weights;           /* 0 the moduli of C, 1 minus the inverse of the coherences */
    int32_t reference;         /* the date that errors are against */
    const void *C;             /* (count, n, n), zeros on the diagonal where a date has no data */
    const double *beta, *looks; /* of each problem */
    const double *moduli;      /* (count, n) of an eigenvector, or NULL */
    const double *pool;        /* (n, n): how much lag l counts for lag k */
    double *out;               /* (count, n) */
} bars_t;
/* bars_reference.py says what they are */
#define BARS_SHARE 0.1
#define BARS_FLOOR 0.02
#define BARS_MOST 0.9999
#define BARS_CHANCE 1.8137993642342178
#define BARS_ROUNDS 2
#define BARS_REFINED 2

static inline double emi_modulus(const emi_t *call, int64_t at) {
    if (call->given == 1) return ((const float *)call->coherence)[at];
    if (call->given == 2) return ((const double *)call->coherence)[at];
    const double *doubles = call->C;
    const float *floats = call->C;
    double re = call->wide ? doubles[2 * at] : floats[2 * at], im = call->wide ? doubles[2 * at + 1] : floats[2 * at + 1];
    double square = re * re + im * im;
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(re, im);
}

static inline void emi_write(const emi_t *call, int64_t at, double factor) {
    if (call->wide) {
        const double *C = (const double *)call->C + 2 * at;
        double *out = (double *)call->out + 2 * at;
        out[0] = factor * C[0], out[1] = factor * C[1];
    } else {
        const float *C = (const float *)call->C + 2 * at;
        float *out = (float *)call->out + 2 * at;
        out[0] = (float)(factor * C[0]), out[1] = (float)(factor * C[1]);
    }
}

/* The inverse of any square matrix by Gauss-Jordan with row pivots, NaN where a pivot is 0; a is overwritten. Rarely called:
 * inlined, it takes registers from the loops of its caller. */
static __attribute__((noinline)) void emi_invert(int n, double *a, double *inverse) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) inverse[i * n + j] = i == j;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        for (int j = 0; best != k && j < n; j++) {
            double x = a[k * n + j], y = inverse[k * n + j];
            a[k * n + j] = a[best * n + j], a[best * n + j] = x;
            inverse[k * n + j] = inverse[best * n + j], inverse[best * n + j] = y;
        }
        double over = a[k * n + k] == 0 ? NAN : 1 / a[k * n + k];
        for (int j = 0; j < n; j++) a[k * n + j] *= over, inverse[k * n + j] *= over;
        for (int i = 0; i < n; i++) {
            double factor = a[i * n + k];
            if (i == k || factor == 0) continue;
            for (int j = 0; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
                inverse[i * n + j] -= factor * inverse[k * n + j];
            }
        }
    }
}

#define DOUBLE(name) name##_double /* what is done in double precision for singles too */
#define LANES (VECTOR_BYTES / (int)sizeof(REAL))
#define WIDE (VECTOR_BYTES / (int)sizeof(double))
#define V N(real) /* REAL in every lane */
#define M N(whole)
#define D DOUBLE(real)
#define LOAD(a) ((V){0} + (REAL)(a))

#define REAL double
#define GROUP_OF_DOUBLES
#define WHOLE int64_t
#define SIGN_BIT INT64_MIN
#define ROOT_GUESS INT64_C(0x5fe6eb50c7b537a9)
#define ROOT_STEPS 4
#define TINY 1e-290
#define EPSILON 2.220446049250313e-16
#define TINIEST_SCALE 0x1p-1022
#define EXPONENT_BITS INT64_C(0x7ff0000000000000)
#define EXPONENT_FLIP INT64_C(0x7fe0000000000000) /* two with the exponent of x and of 1 / x add up to it */
#define EXPONENT_ONE INT64_C(0x0010000000000000)
#define LARGER_512(x, y) _mm512_max_pd((__m512d)(x), (__m512d)(y))
#define WHICH_512(mask) _mm512_test_epi64_mask((__m512i)(mask), (__m512i)(mask))
#define ROOT_GUESS_512(x) _mm512_rsqrt14_pd((__m512d)(x))
#define ROOT_STEPS_512 2
#define BELOW 1e-9, 1e-3, 0.03, 0.3, 1.0
#define N(name) DOUBLE(name)
#include "lanes.h"
#include "transpose.h"
#include "read.h"
#include "product.h"
#include "newton.h"
#include "pieces.h"
#include "solve.h"
#include "proof.h"
#include "examine.h"
#include "emi.h"
#include "bars.h"
#include "run.h"

#define REAL float
#define WHOLE int32_t
#define SIGN_BIT INT32_MIN
#define ROOT_GUESS 0x5f3759df
#define ROOT_STEPS 3
#define TINY 1e-35f
#define EPSILON 1.1920929e-07f
#define TINIEST_SCALE 0x1p-126f
#define EXPONENT_BITS 0x7f800000
#define EXPONENT_FLIP 0x7f000000
#define EXPONENT_ONE 0x00800000
#define LARGER_512(x, y) _mm512_max_ps((__m512)(x), (__m512)(y))
#define WHICH_512(mask) _mm512_test_epi32_mask((__m512i)(mask), (__m512i)(mask))
#define ROOT_GUESS_512(x) _mm512_rsqrt14_ps((__m512)(x))
#define ROOT_STEPS_512 1
#define BELOW 1e-4, 2e-3, 0.03, 0.3, 1.0
#define N(name) name##_single
#include "lanes.h"
#include "transpose.h"
#include "read.h"
#include "product.h"
#include "newton.h"
#include "pieces.h"
#include "solve.h"
#include "proof.h"
#include "run.h"

#else
int batch_vectors(void) { return 0; }
int batch_single, batch_double, batch_emi, batch_bars; /* never called: Windows exports all names that Python asks for */
#endif
