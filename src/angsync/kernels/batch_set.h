/* The batch kernels for one instruction set, named by SET: both precisions, the proof, and the loop over groups. */

#define REAL double
#define WHOLE int64_t
#define LANES 8
/* what a butterfly of the transposition takes from its two vectors: batch_lanes.h */
#define LOW_1 0, 8, 2, 10, 4, 12, 6, 14
#define HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
#define LOW_2 0, 1, 8, 9, 4, 5, 12, 13
#define HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define LOW_4 0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#define SWAPS \
    SWAP(1, 0) SWAP(1, 2) SWAP(1, 4) SWAP(1, 6) \
    SWAP(2, 0) SWAP(2, 1) SWAP(2, 4) SWAP(2, 5) \
    SWAP(4, 0) SWAP(4, 1) SWAP(4, 2) SWAP(4, 3)
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
#define ROOT_GUESS_512(x) _mm512_rsqrt14_pd((__m512d)(x))
#define ROOT_STEPS_512 2
#define BELOW 1e-9, 1e-3, 0.03, 0.3, 1.0
#define N(name) JOIN(name, double, SET)
#include "batch_lanes.h"
#include "batch_product.h"
#include "batch_newton.h"
#include "batch_solve.h"
#include "batch_proof.h"
#include "batch_examine.h"
#define GROUP_OF_DOUBLES
#include "batch_run.h"
#undef GROUP_OF_DOUBLES
#undef N
#undef REAL
#undef WHOLE
#undef LANES
#undef SIGN_BIT
#undef ROOT_GUESS
#undef ROOT_STEPS
#undef TINY
#undef EPSILON
#undef LOW_1
#undef HIGH_1
#undef LOW_2
#undef HIGH_2
#undef LOW_4
#undef HIGH_4
#undef SWAPS
#undef TINIEST_SCALE
#undef EXPONENT_BITS
#undef EXPONENT_FLIP
#undef EXPONENT_ONE
#undef LARGER_512
#undef ROOT_GUESS_512
#undef ROOT_STEPS_512
#undef BELOW

#define REAL float
#define WHOLE int32_t
#define LANES 16
/* what a butterfly of the transposition takes from its two vectors: batch_lanes.h */
#define LOW_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define LOW_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define SWAPS \
    SWAP(1, 0) SWAP(1, 2) SWAP(1, 4) SWAP(1, 6) SWAP(1, 8) SWAP(1, 10) SWAP(1, 12) SWAP(1, 14) \
    SWAP(2, 0) SWAP(2, 1) SWAP(2, 4) SWAP(2, 5) SWAP(2, 8) SWAP(2, 9) SWAP(2, 12) SWAP(2, 13) \
    SWAP(4, 0) SWAP(4, 1) SWAP(4, 2) SWAP(4, 3) SWAP(4, 8) SWAP(4, 9) SWAP(4, 10) SWAP(4, 11) \
    SWAP(8, 0) SWAP(8, 1) SWAP(8, 2) SWAP(8, 3) SWAP(8, 4) SWAP(8, 5) SWAP(8, 6) SWAP(8, 7)
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
#define ROOT_GUESS_512(x) _mm512_rsqrt14_ps((__m512)(x))
#define ROOT_STEPS_512 1
#define BELOW 1e-4, 2e-3, 0.03, 0.3, 1.0
#define N(name) JOIN(name, single, SET)
#include "batch_lanes.h"
#include "batch_product.h"
#include "batch_newton.h"
#include "batch_solve.h"
#include "batch_proof.h"
#include "batch_run.h"
#undef N
#undef REAL
#undef WHOLE
#undef LANES
#undef SIGN_BIT
#undef ROOT_GUESS
#undef ROOT_STEPS
#undef TINY
#undef EPSILON
#undef LOW_1
#undef HIGH_1
#undef LOW_2
#undef HIGH_2
#undef LOW_4
#undef HIGH_4
#undef LOW_8
#undef HIGH_8
#undef SWAPS
#undef TINIEST_SCALE
#undef EXPONENT_BITS
#undef EXPONENT_FLIP
#undef EXPONENT_ONE
#undef LARGER_512
#undef ROOT_GUESS_512
#undef ROOT_STEPS_512
#undef BELOW
