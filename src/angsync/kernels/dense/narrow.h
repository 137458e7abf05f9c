/* The narrow copy of a dense Hermitian matrix, as it is laid out: one triangle, 16 bits a number.
 *
 * The triangle above the diagonal is stored in blocks of ROWS rows by SEGMENT columns, one after the other as a product
 * reads them: blocks of rows from top to bottom, in each the segments from the diagonal to the right. Every row of a block
 * has a scale of its own, its largest part over 32767, so an entry is off by half a unit of the largest one near it. What
 * lies on or below the diagonal, or outside the matrix, is 0; the diagonal is kept beside it in double precision.
 */
#ifndef ANGSYNC_NARROW_H
#define ANGSYNC_NARROW_H

#include "simd.h"

#define ROWS 4
#define SEGMENT 128          /* columns of a block */
#define LANES (2 * SEGMENT)  /* numbers in a row of a block */
#define BLOCK (ROWS * LANES) /* numbers in a block */
#define SIDE 64              /* rows are stored up to a multiple of this */
#define STORED_AS_ZERO 4e-34 /* a row of a block below this is 0: its scale would not be a normal float */
#define AHEAD 4096           /* bytes: how far ahead of a product the copy is asked for */

/* Two numbers side by side are one word: vectors of words are taken apart without a shuffle. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SECOND(words) CONVERT((words) << 16 >> 16, floats)
#define FIRST(words) CONVERT((words) >> 16, floats)
#define WORDS(first, second) ((first) << 16 | ((second) & 0xffff))
#else
#define FIRST(words) CONVERT((words) << 16 >> 16, floats)
#define SECOND(words) CONVERT((words) >> 16, floats)
#define WORDS(first, second) (((first) & 0xffff) | (second) << 16)
#endif

static inline int64_t segments_of(int64_t n) { return (n + SEGMENT - 1) / SEGMENT; }

/* Number of blocks before those of the rows from ROWS b on. */
static inline int64_t blocks_before(int64_t n, int64_t b) {
    int64_t each = SEGMENT / ROWS, k = b / each, count = segments_of(n);
    return each * (k * count - k * (k - 1) / 2) + (b - each * k) * (count - k);
}

#endif
