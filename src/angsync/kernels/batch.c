/* Many problems of order 2 to 128, each solved from start to proof in the cache of one core. The NumPy twin, with the
 * formulas, is batch_reference.py.
 *
 * Sixteen complex64 or eight complex128 problems make a group, one problem a lane (batch_lanes.h), and a thread takes one
 * group at a time. Needs the vectors of GCC or Clang; where they are missing batch_lanes() says 0 and NumPy does the work.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between static functions only */
#define MOST_ORDER 128
#define PLACES 16 /* numbers reported for each problem; their order is that of `FIELDS` in batch_reference.py */
#define SETTLED 0.03 /* sine of the angle between x and C x at which power steps end */
#define ROUNDOFF 1.1102230246251565e-16

typedef struct {
    int power_steps, gpm_steps, max_iterations, triangle, certify, gauge;
    double tolerance;
} options_t;

#define JOIN_(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

#define SET plain
#include "batch_set.h"
#undef SET

#if !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define SEVERAL_SETS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SET avx2
#include "batch_set.h"
#undef SET
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")
#define SET avx512
#include "batch_set.h"
#undef SET
#pragma GCC pop_options
#endif

int batch_lanes(void) { return 16; }

#ifdef SEVERAL_SETS
#define CALL(KIND)                                                                                                     \
    __builtin_cpu_init();                                                                                              \
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && \
        __builtin_cpu_supports("avx512bw"))                                                                            \
        return run_##KIND##_avx512(count, n, C, start, &o, z, found, threads);                                         \
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                                               \
        return run_##KIND##_avx2(count, n, C, start, &o, z, found, threads);                                           \
    return run_##KIND##_plain(count, n, C, start, &o, z, found, threads);
#else
#define CALL(KIND) return run_##KIND##_plain(count, n, C, start, &o, z, found, threads);
#endif

/* Solve C[0], C[1], ... (count, n, n), contiguous. `found` has PLACES doubles a problem. Returns 0, -2 without memory. */
int batch_solve_single(int64_t count, int n, const float *C, const double *start, int power_steps, int gpm_steps,
                       int max_iterations, double tolerance, int triangle, int certify, int gauge, float *z, double *found,
                       int threads) {
    options_t o = {power_steps, gpm_steps, max_iterations, triangle, certify, gauge, tolerance};
    CALL(single)
}

int batch_solve_double(int64_t count, int n, const double *C, const double *start, int power_steps, int gpm_steps,
                       int max_iterations, double tolerance, int triangle, int certify, int gauge, double *z, double *found,
                       int threads) {
    options_t o = {power_steps, gpm_steps, max_iterations, triangle, certify, gauge, tolerance};
    CALL(double)
}

#else
int batch_lanes(void) { return 0; }
#endif
