/* The pass over a dense Hermitian matrix (matrix.h) that makes the narrow copy of its upper triangle (narrow.h) and checks
 * it on the way: is it finite, how far is the lower triangle from the upper one, its largest entry, the sums of its rows.
 *
 * A tile is compared with its mirror image entry by entry: pairs that differ by more than `share` of their modulus make the
 * tile suspect, and are looked at by whoever called. Tiles and mirror images are read where they lie if they are rows of
 * pairs of numbers, and are copied into rows of doubles otherwise.
 *
 * Every thread has strips of rows of its own, and sums of its own that are added up in the order of the threads; where
 * OpenMP gives fewer than were asked for, one does the shares of several.
 */
#include "matrix.h"
#include "narrow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EDGE (2 * SIDE * LANES) /* doubles of a tile that had to be copied, and its mirror image */

int64_t narrow_blocks(int64_t n) { return blocks_before(n, (n + SIDE - 1) / SIDE * (SIDE / ROWS)); }

/* Whether the vector instructions that the fast paths are written in are there; the plain ones give the same sums in
 * another order. */
int narrow_has_avx512(void) {
#if WITH_AVX512
    return __builtin_cpu_supports("avx512f") ? 1 : 0;
#else
    return 0;
#endif
}

typedef struct {
    double largest, gap, bad; /* gap: the sum of |Re d| + |Im d| over d = C_jl - conj(C_lj), j < l */
} findings;

/* How the mirror image lies: not at all, by rows of its own (to be turned over), or as the tile itself does. */
enum { NONE = 0, OWN_ROWS = 1, SAME_ROWS = 2 };

typedef struct {
    const void *upper, *lower;    /* the tile and its mirror image */
    int64_t stride, lower_stride; /* numbers from row to row */
    int64_t height;               /* rows: SIDE, or 4 of them at a time */
    const char *next, *lower_next; /* what comes next, to be asked for early; NULL for nothing */
    int64_t next_row, lower_row;   /* bytes from row to row of these */
    double *rows, *columns;       /* sums of moduli; those of columns in two parts */
    int16_t *copy;
    float *scale;
    int64_t blocks;               /* from one block of rows of the copy to the next */
    int single;                   /* C is in single precision, however the tile was copied */
    double square;                /* share^2: of the squared modulus, that the squared difference may be */
    findings *found;
    int suspect;                  /* found: some pair differs by more */
} tile;

#if WITH_AVX512
#define NUMBERS(single, base, at) \
    ((single) ? _mm512_cvtps_pd(_mm256_loadu_ps((const float *)(base) + (at))) : _mm512_loadu_pd((const double *)(base) + (at)))

/* Square roots for entries in single precision, without the slow instruction. With 1 / sqrt(x) to d <= 2^-14, one step of
 * Newton's method gives sqrt(x) (1 - 1.5 d^2 - d^3 / 2), which is too small; made larger by 2^-26, it never is. */
__attribute__((target("avx512f"), always_inline)) static inline __m512d root(__m512d x) {
    const __m512d half = _mm512_set1_pd(0.5), one = _mm512_set1_pd(1), tiny = _mm512_set1_pd(1e-290);
    __m512d r = _mm512_rsqrt14_pd(_mm512_max_pd(x, tiny)), y = _mm512_mul_pd(x, r);
    y = _mm512_fmadd_pd(_mm512_mul_pd(y, half), _mm512_fnmadd_pd(y, r, one), y);
    return _mm512_mul_pd(y, _mm512_set1_pd(1 + 0x1p-26));
}

/* `upper_single` and `lower_single`: floats, not doubles; the three last are constants wherever this is inlined. */
__attribute__((target("avx512f"), always_inline)) static inline void tile_avx512(tile *w, int upper_single, int lower_single,
                                                                                 int mirror) {
    const __m512d turn = _mm512_set_pd(1, -1, 1, -1, 1, -1, 1, -1), zero = _mm512_setzero_pd();
    /* added to a number, 1.5 2^52 leaves it rounded to an integer in the lower half of its bits */
    const __m512d magic = _mm512_set1_pd(6755399441055744.0), square = _mm512_set1_pd(w->square);
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512d gap = zero, bad = zero, largest = zero, excess = zero;
    int64_t stride = w->stride, low_stride = w->lower_stride;
    const int upper_lines = upper_single ? 16 : 32, lower_lines = mirror == SAME_ROWS ? (lower_single ? 16 : 32)
                                                                                      : (lower_single ? 8 : 16);
    for (int64_t j = 0; j < w->height; j += 4) {
        const char *up0 = (const char *)w->upper + (upper_single ? 4 : 8) * j * stride, *up[4];
        for (int k = 0; k < 4; k++) up[k] = up0 + (upper_single ? 4 : 8) * k * stride;
        __m512d m0 = zero, m1 = zero, m2 = zero, m3 = zero, r01 = zero, r23 = zero;
        for (int64_t c = 0; c < SEGMENT; c += 4) {
            int64_t turns = 8 * j + c / 4; /* 512 in all, each of which asks for an equal part of the lines that come next */
            if (w->next)
                for (int k = 0; k < SIDE * upper_lines / 512; k++) {
                    int64_t line = turns * (SIDE * upper_lines / 512) + k;
                    _mm_prefetch(w->next + line / upper_lines * w->next_row + 64 * (line % upper_lines), _MM_HINT_T1);
                }
            if (mirror && w->lower_next) {
                const int many = (mirror == SAME_ROWS ? SIDE : SEGMENT) * lower_lines / 512;
                for (int k = 0; k < many; k++) {
                    int64_t line = turns * many + k;
                    _mm_prefetch(w->lower_next + line / lower_lines * w->lower_row + 64 * (line % lower_lines), _MM_HINT_T1);
                }
            }
            __m512d u0 = NUMBERS(upper_single, up[0], 2 * c), u1 = NUMBERS(upper_single, up[1], 2 * c),
                    u2 = NUMBERS(upper_single, up[2], 2 * c), u3 = NUMBERS(upper_single, up[3], 2 * c);
            __m512d t0 = u0, t1 = u1, t2 = u2, t3 = u3;
            if (mirror == OWN_ROWS) {
                int64_t at = c * low_stride + 2 * j;
                __m512d a = NUMBERS(lower_single, w->lower, at), b = NUMBERS(lower_single, w->lower, at + low_stride),
                        d = NUMBERS(lower_single, w->lower, at + 2 * low_stride),
                        e = NUMBERS(lower_single, w->lower, at + 3 * low_stride);
                __m512d ab0 = _mm512_shuffle_f64x2(a, b, 0x44), ab1 = _mm512_shuffle_f64x2(a, b, 0xee),
                        de0 = _mm512_shuffle_f64x2(d, e, 0x44), de1 = _mm512_shuffle_f64x2(d, e, 0xee);
                t0 = _mm512_fmadd_pd(_mm512_shuffle_f64x2(ab0, de0, 0x88), turn, u0);
                t1 = _mm512_fmadd_pd(_mm512_shuffle_f64x2(ab0, de0, 0xdd), turn, u1);
                t2 = _mm512_fmadd_pd(_mm512_shuffle_f64x2(ab1, de1, 0x88), turn, u2);
                t3 = _mm512_fmadd_pd(_mm512_shuffle_f64x2(ab1, de1, 0xdd), turn, u3);
            } else if (mirror == SAME_ROWS) {
                int64_t at = j * low_stride + 2 * c;
                t0 = _mm512_fmadd_pd(NUMBERS(lower_single, w->lower, at), turn, u0);
                t1 = _mm512_fmadd_pd(NUMBERS(lower_single, w->lower, at + low_stride), turn, u1);
                t2 = _mm512_fmadd_pd(NUMBERS(lower_single, w->lower, at + 2 * low_stride), turn, u2);
                t3 = _mm512_fmadd_pd(NUMBERS(lower_single, w->lower, at + 3 * low_stride), turn, u3);
            }
            bad = _mm512_fmadd_pd(t0, zero, bad); bad = _mm512_fmadd_pd(t1, zero, bad);
            bad = _mm512_fmadd_pd(t2, zero, bad); bad = _mm512_fmadd_pd(t3, zero, bad);
            u0 = _mm512_mul_pd(u0, u0); u1 = _mm512_mul_pd(u1, u1); u2 = _mm512_mul_pd(u2, u2); u3 = _mm512_mul_pd(u3, u3);
            m0 = _mm512_max_pd(m0, u0); m1 = _mm512_max_pd(m1, u1); m2 = _mm512_max_pd(m2, u2); m3 = _mm512_max_pd(m3, u3);
            __m512d s01 = _mm512_add_pd(_mm512_unpacklo_pd(u0, u1), _mm512_unpackhi_pd(u0, u1));
            __m512d s23 = _mm512_add_pd(_mm512_unpacklo_pd(u2, u3), _mm512_unpackhi_pd(u2, u3));
            if (mirror && _mm512_cmp_pd_mask(_mm512_add_pd(_mm512_add_pd(_mm512_abs_pd(t0), _mm512_abs_pd(t1)),
                                                           _mm512_add_pd(_mm512_abs_pd(t2), _mm512_abs_pd(t3))),
                                             zero, _CMP_NEQ_UQ)) {
                gap = _mm512_add_pd(gap, _mm512_add_pd(_mm512_add_pd(_mm512_abs_pd(t0), _mm512_abs_pd(t1)),
                                                       _mm512_add_pd(_mm512_abs_pd(t2), _mm512_abs_pd(t3))));
                t0 = _mm512_mul_pd(t0, t0); t1 = _mm512_mul_pd(t1, t1); t2 = _mm512_mul_pd(t2, t2); t3 = _mm512_mul_pd(t3, t3);
                __m512d d01 = _mm512_add_pd(_mm512_unpacklo_pd(t0, t1), _mm512_unpackhi_pd(t0, t1));
                __m512d d23 = _mm512_add_pd(_mm512_unpacklo_pd(t2, t3), _mm512_unpackhi_pd(t2, t3));
                excess = _mm512_max_pd(excess, _mm512_max_pd(_mm512_fnmadd_pd(s01, square, d01), _mm512_fnmadd_pd(s23, square, d23)));
            }
            s01 = w->single ? root(s01) : _mm512_sqrt_pd(s01);
            s23 = w->single ? root(s23) : _mm512_sqrt_pd(s23);
            largest = _mm512_max_pd(largest, _mm512_max_pd(s01, s23));
            r01 = _mm512_add_pd(r01, s01); r23 = _mm512_add_pd(r23, s23);
            double *sums = w->columns + 2 * c;
            _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), _mm512_add_pd(s01, s23)));
        }
        double parts[16];
        _mm512_storeu_pd(parts, r01); _mm512_storeu_pd(parts + 8, r23);
        for (int k = 0; k < 8; k += 2) {
            w->rows[j] += parts[k]; w->rows[j + 1] += parts[k + 1]; w->rows[j + 2] += parts[8 + k]; w->rows[j + 3] += parts[9 + k];
        }
        if (!w->copy) continue;
        int16_t *out = w->copy + j / ROWS * w->blocks * BLOCK;
        float *own = w->scale + j / ROWS * w->blocks * ROWS;
        __m512d m[4] = {m0, m1, m2, m3};
        for (int k = 0; k < 4; k++) {
            double most = sqrt(_mm512_reduce_max_pd(m[k]));
            own[k] = most > STORED_AS_ZERO ? (float)(most / 32767) : 0.0f;
            __m512d inverse = _mm512_set1_pd(most > STORED_AS_ZERO ? 32767 / most : 0.0);
            for (int64_t t = 0; t < LANES; t += 32) {
#define ROUNDED(q) _mm512_castpd_si512(_mm512_fmadd_pd(NUMBERS(upper_single, up[k], t + 8 * (q)), inverse, magic))
                __m512i first = _mm512_permutex2var_epi32(ROUNDED(0), even, ROUNDED(1));
                __m512i second = _mm512_permutex2var_epi32(ROUNDED(2), even, ROUNDED(3));
#undef ROUNDED
                __m512i line = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(first)),
                                                  _mm512_cvtepi32_epi16(second), 1);
                /* past the cache: the line need not be read before it is written */
                _mm512_stream_si512((__m512i *)(out + k * LANES + t), line);
            }
        }
    }
    w->found->gap += _mm512_reduce_add_pd(gap);
    w->found->largest = fmax(w->found->largest, _mm512_reduce_max_pd(largest));
    w->found->bad += _mm512_reduce_add_pd(bad);
    w->suspect = w->suspect || _mm512_reduce_max_pd(excess) > 0;
    _mm_sfence(); /* what went past the cache is seen by whoever comes after */
}

__attribute__((target("avx512f"))) static void tile_of(tile *w, int upper_single, int lower_single, int mirror) {
    if (mirror == NONE) upper_single ? tile_avx512(w, 1, 0, NONE) : tile_avx512(w, 0, 0, NONE);
    else if (mirror == OWN_ROWS) upper_single ? tile_avx512(w, 1, 1, OWN_ROWS) : tile_avx512(w, 0, 0, OWN_ROWS);
    else lower_single ? tile_avx512(w, 0, 1, SAME_ROWS) : tile_avx512(w, 0, 0, SAME_ROWS);
}
#endif

/* Doubles always, and never by rows of its own. */
static void tile_plain(tile *w, int mirror) {
    for (int64_t j = 0; j < w->height; j++) {
        const double *upper = (const double *)w->upper + j * w->stride;
        const double *lower = mirror ? (const double *)w->lower + j * w->lower_stride : NULL;
        double total = 0, most = 0;
        for (int64_t c = 0; c < SEGMENT; c++) {
            double re = upper[2 * c], im = upper[2 * c + 1], square = re * re + im * im, modulus = sqrt(square);
            total += modulus;
            w->columns[2 * c] += modulus;
            most = fmax(most, fmax(fabs(re), fabs(im)));
            w->found->bad += 0 * (re + im);
            w->found->largest = fmax(w->found->largest, modulus);
            if (mirror) {
                double dr = fabs(re - lower[2 * c]), di = fabs(im + lower[2 * c + 1]);
                w->found->bad += 0 * (dr + di);
                w->found->gap += dr + di;
                w->suspect |= dr * dr + di * di > w->square * square;
            }
        }
        w->rows[j] += total;
        if (!w->copy) continue;
        int16_t *out = w->copy + j / ROWS * w->blocks * BLOCK + j % ROWS * LANES;
        double inverse = most > STORED_AS_ZERO ? 32767 / most : 0.0;
        w->scale[j / ROWS * w->blocks * ROWS + j % ROWS] = most > STORED_AS_ZERO ? (float)(most / 32767) : 0.0f;
        for (int64_t t = 0; t < LANES; t++) out[t] = (int16_t)nearbyint(upper[t] * inverse);
    }
}

/* One pass, and where a thread keeps what is its own. */
typedef struct {
    int64_t n;
    const matrix_t *C;
    int compared, avx512;
    double square;
    int16_t *copy;
    float *scale;
    double *rows, *columns, *buffer;
    findings *found;
} pass;

/* A part of the tile at (j0, l0) above the diagonal, as rows of doubles that are 0 where nothing counts: of C, or of its
 * mirror image, which is the same part of the transposed matrix. */
static void copy_part(const matrix_t *m, int64_t n, int64_t j0, int64_t l0, double *out) {
    int64_t j1 = j0 + SIDE < n ? j0 + SIDE : n, l1 = l0 + SEGMENT < n ? l0 + SEGMENT : n;
    if (l0 >= j1 && j1 == j0 + SIDE && l1 == l0 + SEGMENT) { /* all of it */
        matrix_part(m, j0, SIDE, l0, SEGMENT, out, LANES);
        return;
    }
    memset(out, 0, sizeof(double) * SIDE * LANES);
    matrix_part(m, j0, j1 - j0, l0, l1 - l0, out, LANES);
    for (int64_t j = j0; j < j1; j++) {
        int64_t first = j + 1 < l1 ? j + 1 : l1; /* up to the diagonal nothing counts, whatever stands there */
        if (first > l0) memset(out + (j - j0) * LANES, 0, sizeof(double) * 2 * (size_t)(first - l0));
    }
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

static void look_at(const pass *w, tile *t, int upper_single, int lower_single, int mirror) {
#if WITH_AVX512
    if (w->avx512) {
        tile_of(t, upper_single, lower_single, mirror);
        return;
    }
#endif
    (void)w, (void)upper_single, (void)lower_single;
    tile_plain(t, mirror);
}

/* The tile whose first entry is (j0, l0). Returns whether it is suspect. */
static int one_tile(const pass *w, int64_t j0, int64_t l0) {
    const matrix_t *C = w->C, mirrored = transposed(C);
    int64_t n = w->n, first = j0 / SEGMENT, count = segments_of(n), at = blocks_before(n, j0 / ROWS) + l0 / SEGMENT - first;
    int64_t entry = entry_bytes(C), number = C->kind % 2 ? 4 : 8;
    int whole = l0 / SEGMENT > first && l0 + SEGMENT <= n && j0 + SIDE <= n, fast = w->avx512 && whole && !C->conjugated;
    int complex = C->kind <= COMPLEX_SINGLE, next = l0 + 2 * SEGMENT <= n;
    int by_rows = fast && complex && C->column == entry && C->row % entry == 0;
    int by_columns = fast && complex && C->row == entry && C->column % entry == 0;
    double *upper = w->buffer, *lower = upper + SIDE * LANES;
    tile t = {upper, lower, LANES, LANES, SIDE, NULL, NULL, 0, 0, w->rows + j0, w->columns + 2 * l0,
              w->copy ? w->copy + at * BLOCK : NULL, w->copy ? w->scale + at * ROWS : NULL, count - first, number == 4, w->square, w->found, 0};
    int mirror = !w->compared ? NONE : by_rows ? OWN_ROWS : SAME_ROWS;
    if (by_rows) {
        t.upper = entry_at(C, j0, l0);
        t.stride = C->row / number;
        t.lower = entry_at(C, l0, j0);
        t.lower_stride = C->row / number;
        t.next = next ? entry_at(C, j0, l0 + SEGMENT) : NULL;
        t.lower_next = next ? entry_at(C, l0 + SEGMENT, j0) : NULL;
        t.next_row = t.lower_row = C->row;
    }
    t.suspect = l0 < j0 + SIDE && diagonal_part(w, j0, l0);
    if (by_rows || by_columns || !whole) {
        if (!by_rows) copy_part(C, n, j0, l0, upper);
        if (w->compared && by_columns) {
            t.lower = entry_at(C, l0, j0);
            t.lower_stride = C->column / number;
            t.lower_next = next ? entry_at(C, l0 + SEGMENT, j0) : NULL;
            t.lower_row = C->column;
        } else if (w->compared && !by_rows) copy_part(&mirrored, n, j0, l0, lower);
        look_at(w, &t, by_rows && number == 4, (by_rows || by_columns) && number == 4, mirror);
        return t.suspect;
    }
    t.height = 4; /* so few rows at a time that their copies stay in the nearest cache */
    for (int64_t j = 0; j < SIDE; j += 4) {
        matrix_part(C, j0 + j, 4, l0, SEGMENT, upper, LANES);
        if (w->compared) matrix_part(&mirrored, j0 + j, 4, l0, SEGMENT, lower, LANES);
        look_at(w, &t, 0, 0, mirror);
        t.rows += 4;
        if (!t.copy) continue;
        t.copy += 4 / ROWS * t.blocks * BLOCK;
        t.scale += 4 / ROWS * t.blocks * ROWS;
    }
    return t.suspect;
}

/* One pass over C, tile by tile, where `compared` together with the mirror image; without a copy where `copy` is NULL. `sums` gets the sums of |C_jl| over rows;
 * `found`, 3 for each thread: the largest modulus, the sum of the parts of all C_jl - conj(C_lj), and 0 where all is finite
 * (not a number otherwise, and then the rest means nothing). `suspects` gets a flag for every strip of SIDE rows and every
 * segment. `work` has narrow_inspect_work() doubles for each thread. */
void narrow_inspect(int64_t n, const matrix_t *C, int16_t *copy, float *scale, double *diagonal, double *sums, double *work,
                    double *found, uint8_t *suspects, double share, int compared, int avx512, int threads) {
    int64_t strips = (n + SIDE - 1) / SIDE, padded = SEGMENT * segments_of(n), count = segments_of(n);
    int64_t each = 3 * padded + EDGE;
#if !WITH_AVX512
    avx512 = 0;
#endif
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        findings own = {0, 0, 0};
        double *rows = work + me * each, *columns = rows + padded;
        pass w = {n, C, compared, avx512, share * share, copy, scale, rows, columns, columns + 2 * padded, &own};
        memset(rows, 0, sizeof(double) * 3 * (size_t)padded);
        for (int64_t a = me; a < strips; a += threads)
            for (int64_t s = a * SIDE / SEGMENT; s < count; s++)
                suspects[a * count + s] = (uint8_t)one_tile(&w, a * SIDE, s * SEGMENT);
        found[3 * me] = own.largest;
        found[3 * me + 1] = own.gap;
        found[3 * me + 2] = own.bad;
    }
    for (int64_t j = 0; j < n; j++) {
        diagonal[j] = matrix_diagonal(C, j);
        sums[j] = 0;
        for (int k = 0; k < threads; k++) {
            const double *rows = work + k * each, *columns = rows + padded;
            sums[j] += rows[j] + columns[2 * j] + columns[2 * j + 1];
        }
    }
}

int64_t narrow_inspect_work(int64_t n) { return 3 * SEGMENT * segments_of(n) + EDGE; }
