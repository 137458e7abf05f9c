/* Many problems of order 2 to 128, each solved from start to proof in the cache of one core. The NumPy twin, with
 * the formulas, is batch_reference.py.
 *
 * Sixteen complex64 or eight complex128 problems make a group, one problem a lane (batch_lanes.h), and a thread
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

#define MIXED 0.0625 /* how much of the fixed start is added to that of the sweep */
#define SETTLED 0.03 /* sine of the angle between x and C x at which power steps end */
#define AGAINST 0.8  /* part of the slowest mode that the shift of a power step is set against */
#define SLOWEST 0.6  /* the most that is believed of it: beyond, Newton steps are nearer */
#define PATIENCE 4   /* power steps that are rather made than a Newton step */

typedef struct {
    int power_steps, gpm_steps, max_iterations, triangle, certify, gauge;
    double tolerance, accepted, askew;
} options_t;

/* What is written for every problem: phases elsewhere, these in the types that a caller keeps them in. */
typedef struct {
    double *objective, *residual;
    int32_t *iterations;
    int8_t *status;
    double *found;
    int64_t suspects; /* how many problems may not be Hermitian */
} numbers_t;

#define JOIN_(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

#define SET plain
#include "set.h"
#undef SET

#ifdef SEVERAL_SETS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SET avx2
#include "set.h"
#undef SET
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")
#define SET avx512
#include "set.h"
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
    if (set == 2) return run_##KIND##_avx512(count, n, C, start, &o, z, &numbers, threads);                            \
    if (set == 1) return run_##KIND##_avx2(count, n, C, start, &o, z, &numbers, threads);                              \
    return run_##KIND##_plain(count, n, C, start, &o, z, &numbers, threads);
#else
#define CALL(KIND)                                                                                                     \
    (void)set;                                                                                                         \
    return run_##KIND##_plain(count, n, C, start, &o, z, &numbers, threads);
#endif

/* Solve C[0], C[1], ... (count, n, n), contiguous, with an instruction set up to batch_instructions(). Problems stop
 * at `tolerance` and count as converged at `accepted`. `found` is (16, count), its rows in the order of `FIELDS` in
 * batch_reference.py; the first four are written to `objective`, `residual`, `iterations` and `status` instead.
 * Returns how many problems have an asymmetry above `askew` times their largest entry, -2 without memory. */
#define SOLVE(KIND, REAL)                                                                                              \
    int64_t batch_##KIND(int64_t count, int n, const REAL *C, const double *start, int power_steps, int gpm_steps,     \
                         int max_iterations, double tolerance, double accepted, double askew, int triangle,            \
                         int certify, int gauge, REAL *z, double *objective, double *residual, int32_t *iterations,    \
                         int8_t *status, double *found, int threads, int set) {                                        \
        options_t o = {power_steps, gpm_steps, max_iterations, triangle, certify, gauge, tolerance, accepted, askew};  \
        numbers_t numbers = {objective, residual, iterations, status, found, 0};                                       \
        CALL(KIND)                                                                                                     \
    }
SOLVE(single, float)
SOLVE(double, double)

#else
int batch_instructions(void) { return -1; }
#endif
