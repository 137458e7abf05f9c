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
#define PATIENCE 4   /* power steps that are rather made than a Newton step */

typedef struct {
    int power_steps, gpm_steps, max_iterations, triangle, certify, gauge;
    double tolerance;
} options_t;

#define JOIN_(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

#define SET plain
#include "batch_set.h"
#undef SET

#ifdef SEVERAL_SETS
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
    if (set == 2) return run_##KIND##_avx512(count, n, C, start, &o, z, found, threads);                               \
    if (set == 1) return run_##KIND##_avx2(count, n, C, start, &o, z, found, threads);                                 \
    return run_##KIND##_plain(count, n, C, start, &o, z, found, threads);
#else
#define CALL(KIND)                                                                                                     \
    (void)set;                                                                                                         \
    return run_##KIND##_plain(count, n, C, start, &o, z, found, threads);
#endif

/* Solve C[0], C[1], ... (count, n, n), contiguous, with an instruction set up to batch_instructions(). `found` is
 * (16, count), its rows in the order of `FIELDS` in batch_reference.py. Returns 0, -2 without memory. */
int batch_single(int64_t count, int n, const float *C, const double *start, int power_steps, int gpm_steps,
                 int max_iterations, double tolerance, int triangle, int certify, int gauge, float *z, double *found,
                 int threads, int set) {
    options_t o = {power_steps, gpm_steps, max_iterations, triangle, certify, gauge, tolerance};
    CALL(single)
}

int batch_double(int64_t count, int n, const double *C, const double *start, int power_steps, int gpm_steps,
                 int max_iterations, double tolerance, int triangle, int certify, int gauge, double *z, double *found,
                 int threads, int set) {
    options_t o = {power_steps, gpm_steps, max_iterations, triangle, certify, gauge, tolerance};
    CALL(double)
}

#else
int batch_instructions(void) { return -1; }
#endif
