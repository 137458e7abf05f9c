/* Many problems of order 2 to 128, each solved from start to proof in the cache of one core. The NumPy twin, with
 * the formulas, is reference.py.
 *
 * Sixteen complex64 or eight complex128 problems make a group, one problem a lane (lanes.h), and a thread
 * takes one group at a time. Needs the vectors of GCC or Clang; where they are missing there are no instruction sets
 * to choose from (batch_instructions() is -1) and NumPy does the work.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#if !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define SEVERAL_SETS
#include <immintrin.h>
#endif
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between static functions only */

#define FIXED_START_SHARE 0.0625    /* how much of the fixed start (the chirp) is added to the start by the sweep */
#define SETTLED_SINE 0.03           /* sine of the angle between x and C x at which power steps end */
#define SHIFT_SHARE 0.8             /* part of the slowest mode that the shift of a power step takes away */
#define SLOWEST_BELIEVED 0.6        /* largest slowest mode that a shift is made for: beyond it, Newton is quicker */
#define POWER_STEPS_BEFORE_NEWTON 4 /* where so many power steps would do, they are made rather than a Newton step */

#define MAX_ORDER 128               /* also in numbers.py */
enum { GAUGE_FIRST = 1, GAUGE_MEAN = 2, GAUGE_NODE = 3 }; /* GAUGE_NODE + j: node j at angle 0 */

/* How the problems are solved: BatchOptions in numbers.py, which says what each means. */
typedef struct {
    int32_t power_steps, gpm_steps, max_iterations, triangle, certify, gauge;
    double tolerance, accepted;
} options_t;

/* What is written for every problem: phases elsewhere, these in the types that a caller keeps them in. */
typedef struct {
    double *objective, *residual;
    int32_t *iterations;
    int8_t *status;
    int32_t *components;
    double *found; /* (FOUND, count) */
} numbers_t;

/* The rows of `found`: FIELDS in numbers.py. All but the first two and the last are written where there is a proof. */
enum { ASYMMETRY, SKEW, BOUND, BARE_OBJECTIVE, GRADIENT, ROWS_TOTAL, ROWS_NORM, ROWS_MOST, MODULI, NODES, TRACE, FOUND };

/* One call. In Python: Call in compiled.py. */
typedef struct {
    int64_t count;
    int32_t n, threads, set; /* `set` of instructions, up to batch_instructions() */
    options_t options;
    double askew;        /* share of an entry above which a difference to its mirror image is suspect */
    const void *C;       /* (count, n, n), contiguous */
    const double *start; /* n complex numbers */
    void *z;             /* (count, n) */
    numbers_t numbers;
} batch_t;

/* What is left between Python's and C's idea of it would be read as garbage: a test compares the two. */
int64_t batch_call_size(void) { return sizeof(batch_t); }
int64_t batch_found_rows(void) { return FOUND; }

#define JOIN_(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

#define SET plain
#include "instruction_set.h"
#undef SET

#ifdef SEVERAL_SETS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SET avx2
#include "instruction_set.h"
#undef SET
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")
#define SET avx512
#include "instruction_set.h"
#undef SET
#pragma GCC pop_options
#endif

/* The best instruction set of this machine: 0 plain, 1 avx2, 2 avx512. */
int batch_instructions(void) {
#ifdef SEVERAL_SETS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

#ifdef SEVERAL_SETS
#define CALL(KIND)                                                                                                     \
    if (call->set == 2) return run_##KIND##_avx512(call);                                                              \
    if (call->set == 1) return run_##KIND##_avx2(call);                                                                \
    return run_##KIND##_plain(call);
#else
#define CALL(KIND) return run_##KIND##_plain(call);
#endif

/* Solve C[0], C[1], ... with one instruction set. Returns how many problems have an entry that differs from its mirror
 * image by more than `askew` times itself, -2 without memory. */
int64_t batch_single(const batch_t *call) { CALL(single) }
int64_t batch_double(const batch_t *call) { CALL(double) }

#else
int batch_instructions(void) { return -1; }
#endif
