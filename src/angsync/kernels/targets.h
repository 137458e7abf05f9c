/* FAST: a function compiled for several instruction sets, of which the loader takes the best that the processor has.
 * WITH_AVX512: whether vector instructions may be written by hand, to be chosen at run time. */
#ifndef ANGSYNC_TARGETS_H
#define ANGSYNC_TARGETS_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define FAST __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#define WITH_AVX512 1
#include <immintrin.h>
#else
#define FAST
#define WITH_AVX512 0
#endif

#endif
