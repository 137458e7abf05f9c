/* The pass over a dense Hermitian matrix (matrix.h) that makes the narrow copy of its upper triangle (narrow.h) and checks
 * it on the way: is it finite, how far is the lower triangle from the upper one, its largest entry, the sums of its rows.
 *
 * A tile is compared with its mirror image entry by entry: pairs that differ by more than `share` of their modulus make the
 * tile suspect, and are looked at by whoever called. Tiles and mirror images are read where they lie if they are rows of
 * pairs of numbers, and are copied into rows of such pairs otherwise.
 *
 * Every thread has strips of rows of its own, and sums of its own that are added up in the order of the threads; where
 * OpenMP gives fewer than were asked for, one does the shares of several.
 */
#include "matrix.h"
#include "narrow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Stores past the cache: the copy need not be read before it is written. SEEN: by whoever comes after. */
#if defined(__SSE2__)
#include <emmintrin.h>
#define SEEN() _mm_sfence()
#define PAST_THE_CACHE(to, from) _mm_stream_si128((__m128i *)(to), _mm_loadu_si128((const __m128i *)(from)))
#else
#define SEEN() (void)0
#define PAST_THE_CACHE(to, from) memcpy(to, from, 16)
#endif

#define STRIP 8          /* rows of a tile that are copied at a time, where they have to be, */
#define APART (LANES + 8) /* doubles from one of them to the next: not all in the same set of the cache */
#define EDGE (2 * STRIP * APART) /* doubles for them and for their mirror image */

int64_t narrow_inspect_work(int64_t n) { return 2 * SEGMENT * segments_of(n) + EDGE; }

int64_t narrow_blocks(int64_t n) { return blocks_before(n, (n + SIDE - 1) / SIDE * (SIDE / ROWS)); }

typedef struct {
    double largest, gap, bad; /* gap: the sum of |Re d| + |Im d| over d = C_jl - conj(C_lj), j < l */
} findings;

/* Number t of a row, which is in single precision or in double. */
#define NUMBER(row, t) (single ? (double)((const float *)(row))[t] : ((const double *)(row))[t])

/* Whether a row of floats differs from its mirror image, by the bits of upper - conj(lower). The sign of a 0 counts: that
 * costs time alone. (For doubles, to compare moduli always was measured to be as fast.) */
INLINED int floats_differ(const char *upper, const char *lower) {
    static const float signs[16] = {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1};
    ints found = EACH(ints, 0), none = found;
    for (int at = 0; at < 4 * LANES; at += sizeof(floats)) {
        floats sign = *(const floats *)(signs + at / 4 % 16);
        found |= BITS(*(const floats *)(upper + at) - sign * *(const floats *)(lower + at));
    }
    return memcmp(&found, &none, sizeof(ints)) != 0;
}

/* A row of a tile, beside its mirror image where they `differ`: what is found, the sum of its moduli, and the largest part of
 * an entry. `columns`: sums of moduli. Returns whether some pair differs by more than the share of its modulus whose square
 * is given. */
INLINED int look_at_row(const void *restrict upper, const void *restrict lower, int single, int differ, double square,
                        double *restrict columns, double *sum, double *most, findings *found) {
    double total = 0, part = 0, largest = 0, gap = 0, excess = 0;
#pragma omp simd reduction(+ : total, gap) reduction(max : part, largest, excess)
    for (int c = 0; c < SEGMENT; c++) {
        double re = NUMBER(upper, 2 * c), im = NUMBER(upper, 2 * c + 1), all = re * re + im * im, modulus = sqrt(all);
        total += modulus;
        columns[c] += modulus;
        part = fabs(re) > part ? fabs(re) : part;
        part = fabs(im) > part ? fabs(im) : part;
        largest = modulus > largest ? modulus : largest;
        if (differ) {
            double dr = re - NUMBER(lower, 2 * c), di = im + NUMBER(lower, 2 * c + 1), over = dr * dr + di * di - square * all;
            gap += fabs(dr) + fabs(di);
            excess = over > excess ? over : excess;
        }
    }
    *sum += total;
    *most = part;
    found->gap += gap;
    found->bad += 0 * (total + gap); /* a number that is not finite makes these so */
    found->largest = largest > found->largest ? largest : found->largest;
    return excess > 0;
}

/* A row of a block of the copy. Added to a number and taken away, 1.5 2^52 leaves it rounded to an integer. */
INLINED void narrow_row(const void *restrict upper, int single, double most, int16_t *restrict out, float *scale) {
    int16_t row[LANES];
    const double inverse = most > STORED_AS_ZERO ? 32767 / most : 0.0, magic = 6755399441055744.0;
    *scale = most > STORED_AS_ZERO ? (float)(most / 32767) : 0.0f;
#pragma omp simd
    for (int t = 0; t < LANES; t++) row[t] = (int16_t)(int32_t)(NUMBER(upper, t) * inverse + magic - magic);
    for (int t = 0; t < LANES; t += 8) PAST_THE_CACHE(out + t, row + t);
}

/* One pass, and where a thread keeps what is its own. */
typedef struct {
    int64_t n;
    const matrix_t *C;
    int compared;
    double square;
    int16_t *copy;
    float *scale;
    double *rows, *columns, *buffer;
    findings *found;
} pass;

/* STRIP rows from j on, from column l0 on, as they lie in the tile above the diagonal: of C, or of its mirror image, which is
 * the same part of the transposed matrix. Read where they lie, or from the buffer; `apart`: bytes from row to row. */
INLINED const char *rows_of(const matrix_t *m, int64_t n, int64_t j, int64_t l0, double *buffer, int single, int64_t *apart) {
    int64_t l1 = l0 + SEGMENT < n ? l0 + SEGMENT : n, rows = n - j < STRIP ? n - j : STRIP, entry = single ? 8 : 16;
    int whole = l1 == l0 + SEGMENT && j < l0;
    *apart = m->row;
    if (whole && rows == STRIP && is_direct(m)) return entry_at(m, j, l0);
    *apart = APART * entry / 2;
    if (!whole || rows < STRIP) memset(buffer, 0, sizeof(double) * STRIP * APART);
    if (rows > 0) matrix_own_part(m, j, rows, l0, l1 - l0, (char *)buffer, APART);
    for (int64_t k = 0; k < STRIP && j >= l0; k++) { /* up to the diagonal nothing counts, whatever stands there */
        int64_t first = j + k + 1 < l1 ? j + k + 1 : l1;
        memset((char *)buffer + k * *apart, 0, (size_t)(entry * (first - l0)));
    }
    return (const char *)buffer;
}

/* The diagonal entries in a tile. Returns whether one is not real. */
static int diagonal_part(const pass *w, int64_t j0, int64_t l0) {
    int64_t j1 = j0 + SIDE < w->n ? j0 + SIDE : w->n, l1 = l0 + SEGMENT < w->n ? l0 + SEGMENT : w->n;
    int suspect = 0;
    if (w->C->hollow) return 0;
    for (int64_t j = l0 > j0 ? l0 : j0; j < j1 && j < l1; j++) {
        double entry[2];
        matrix_part(w->C, j, 1, j, 1, entry, 2);
        double re = fabs(entry[0]), im = fabs(entry[1]);
        w->rows[j] += re;
        w->found->gap += im; /* a diagonal that is not real counts as asymmetry, and changes nothing about f */
        w->found->bad += 0 * (re + im);
        w->found->largest = re > w->found->largest ? re : w->found->largest;
        suspect |= 4 * im * im > w->square * (re * re + im * im);
    }
    return suspect;
}

/* The tile whose first entry is (j0, l0). Returns whether it is suspect. */
INLINED int tile_of(const pass *w, int64_t j0, int64_t l0, int single) {
    const matrix_t *C = w->C, mirrored = transposed(C);
    int64_t n = w->n, first = j0 / SEGMENT, apart = segments_of(n) - first, up, low = 0;
    int64_t begin = blocks_before(n, j0 / ROWS) + l0 / SEGMENT - first;
    int suspect = l0 < j0 + SIDE && diagonal_part(w, j0, l0);
    for (int64_t j = j0; j < j0 + SIDE; j += STRIP) {
        const char *upper = rows_of(C, n, j, l0, w->buffer, single, &up), *lower = upper;
        if (w->compared) lower = rows_of(&mirrored, n, j, l0, w->buffer + STRIP * APART, single, &low);
        for (int64_t k = j; k < j + STRIP; k++, upper += up, lower += low) {
            int64_t at = begin + (k - j0) / ROWS * apart, bytes = (single ? 8 : 16) * SEGMENT;
            double most, *columns = w->columns + l0, *sum = w->rows + k;
            const char *next = (up == C->row ? upper : lower) + bytes; /* of what is read where it lies */
            for (int64_t line = 0; line < bytes; line += 64) ASK(next + line, 3);
            if (w->compared && (!single || floats_differ(upper, lower)))
                suspect |= look_at_row(upper, lower, single, 1, w->square, columns, sum, &most, w->found);
            else look_at_row(upper, lower, single, 0, w->square, columns, sum, &most, w->found);
            if (w->copy) narrow_row(upper, single, most, w->copy + at * BLOCK + k % ROWS * LANES, w->scale + at * ROWS + k % ROWS);
        }
    }
    return suspect;
}

static int one_tile(const pass *w, int64_t j0, int64_t l0) {
    return w->C->kind % 2 ? tile_of(w, j0, l0, 1) : tile_of(w, j0, l0, 0);
}

/* One pass over C, tile by tile, where `compared` together with the mirror image; without a copy where `copy` is NULL. `sums` gets the sums of |C_jl| over rows;
 * `found`, 3 for each thread: the largest modulus, the sum of the parts of all C_jl - conj(C_lj), and 0 where all is finite
 * (not a number otherwise, and then the rest means nothing). `suspects` gets a flag for every strip of SIDE rows and every
 * segment. `work` has narrow_inspect_work() doubles for each thread. */
void narrow_inspect(int64_t n, const matrix_t *C, int16_t *copy, float *scale, double *diagonal, double *sums, double *work,
                    double *found, uint8_t *suspects, double share, int compared, int threads) {
    int64_t strips = (n + SIDE - 1) / SIDE, padded = SEGMENT * segments_of(n), count = segments_of(n);
    int64_t each = narrow_inspect_work(n);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        findings own = {0, 0, 0};
        double *rows = work + me * each, *columns = rows + padded;
        pass w = {n, C, compared, share * share, copy, scale, rows, columns, columns + padded, &own};
        memset(rows, 0, sizeof(double) * 2 * (size_t)padded);
        for (int64_t a = me; a < strips; a += threads)
            for (int64_t s = a * SIDE / SEGMENT; s < count; s++)
                suspects[a * count + s] = (uint8_t)one_tile(&w, a * SIDE, s * SEGMENT);
        SEEN();
        found[3 * me] = own.largest;
        found[3 * me + 1] = own.gap;
        found[3 * me + 2] = own.bad;
    }
    for (int64_t j = 0; j < n; j++) {
        diagonal[j] = matrix_diagonal(C, j);
        sums[j] = 0;
        for (int k = 0; k < threads; k++) {
            const double *rows = work + k * each, *columns = rows + padded;
            sums[j] += rows[j] + columns[j];
        }
    }
}
