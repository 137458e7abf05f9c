/* The batch kernels for one instruction set, named by SET: both precisions, the proof, and the loop over groups. */

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
#define N(name) JOIN(name, double, SET)
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
#define N(name) JOIN(name, single, SET)
#include "lanes.h"
#include "transpose.h"
#include "read.h"
#include "product.h"
#include "newton.h"
#include "pieces.h"
#include "solve.h"
#include "proof.h"
#include "run.h"
