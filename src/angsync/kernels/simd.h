/* Vectors as wide as the registers of the instruction set that a file is compiled for. setup.py compiles all of them once
 * per set, and library.py loads one: no file asks the processor. Where the compiler has no vectors, they have one lane. */
#ifndef ANGSYNC_SIMD_H
#define ANGSYNC_SIMD_H

#include <stdint.h>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
#define REGISTERS 32 /* of vectors */
#else
#define REGISTERS 16
#endif

#if defined(__GNUC__)
#define VECTOR(NUMBER, BYTES) NUMBER __attribute__((vector_size(BYTES), aligned(sizeof(NUMBER)), may_alias))
typedef VECTOR(double, VECTOR_BYTES) doubles;
typedef VECTOR(float, VECTOR_BYTES) floats;
typedef VECTOR(int32_t, VECTOR_BYTES) ints;
typedef VECTOR(float, VECTOR_BYTES / 2) fewer_floats; /* as many as `doubles` has */
#define CONVERT(x, TYPE) __builtin_convertvector(x, TYPE)
#define BITS(x) ((ints)(x)) /* not all of them 0 where x is not */
#define ASK(place, near) __builtin_prefetch(place, 0, near) /* `near`: 3 into the nearest cache, 2 into the next */
#define INLINED static inline __attribute__((always_inline)) /* what is constant in a call is constant in its copy of the code */
#else
typedef double doubles;
typedef float floats, fewer_floats;
typedef int32_t ints;
#define CONVERT(x, TYPE) ((TYPE)(x))
#define BITS(x) ((x) != 0)
#define ASK(place, near) (void)(place)
#define INLINED static inline
#endif

#define DOUBLES ((int)(sizeof(doubles) / sizeof(double)))
#define FLOATS ((int)(sizeof(floats) / sizeof(float)))
#define EACH(TYPE, x) ((x) - (TYPE){0}) /* in every lane */

/* The sum over lanes: of halves that are added up. */
INLINED double sum_of_doubles(doubles x) {
    double lanes[sizeof(doubles) / sizeof(double)];
    *(doubles *)lanes = x;
    for (int half = DOUBLES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) lanes[k] += lanes[k + half];
    return lanes[0];
}

INLINED double sum_of_floats(floats x) {
    float lanes[sizeof(floats) / sizeof(float)];
    doubles sum = EACH(doubles, 0.0);
    *(floats *)lanes = x;
    for (int k = 0; k < FLOATS; k += DOUBLES) sum += CONVERT(*(fewer_floats *)(lanes + k), doubles);
    return sum_of_doubles(sum);
}

#endif
