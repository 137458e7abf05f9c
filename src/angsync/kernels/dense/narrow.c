/* The pass over a dense Hermitian matrix that makes its narrow copy (narrow.h) and checks it on the way: is it finite and
 * Hermitian, its largest entry, the sums of its rows.
 *
 * Every thread has strips of rows of its own, and sums of its own that are added up in the order of the threads; where
 * OpenMP gives fewer than were asked for, one does the shares of several.
 */
#include "narrow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EDGE (SIDE * LANES + SEGMENT * LANES) /* doubles of a tile that had to be copied, and its mirror image */

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
    double largest, gap, bad;
} findings;

typedef struct {
    const double *upper, *lower;     /* the tile and its mirror image */
    int64_t stride;                  /* doubles from row to row of both */
    const double *upper_next, *lower_next; /* what comes next, to be asked for early; NULL for nothing */
    int64_t next_stride;
    double *rows, *columns;          /* sums of moduli; those of columns in two parts */
    int16_t *copy;
    float *scale;
    int64_t blocks;                  /* from one block of rows of the copy to the next */
    findings *found;
} tile;

#if WITH_AVX512
__attribute__((target("avx512f"))) static void tile_avx512(const tile *w) {
    const __m512d turn = _mm512_set_pd(1, -1, 1, -1, 1, -1, 1, -1), zero = _mm512_setzero_pd();
    /* added to a number, 1.5 2^52 leaves it rounded to an integer in the lower half of its bits */
    const __m512d magic = _mm512_set1_pd(6755399441055744.0);
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512d gap = zero, bad = zero, largest = zero;
    int64_t stride = w->stride, ns = w->next_stride;
    for (int64_t j = 0; j < SIDE; j += 4) {
        const double *up0 = w->upper + j * stride, *up1 = up0 + stride, *up2 = up1 + stride, *up3 = up2 + stride;
        __m512d m0 = zero, m1 = zero, m2 = zero, m3 = zero, r01 = zero, r23 = zero;
        for (int64_t c = 0; c < SEGMENT; c += 4) {
            int64_t q = c / 4, part = j / 4;
            if (w->lower_next) { /* 16 times 32 turns ask for 128 rows of 16 lines and 64 rows of 32 lines */
                const char *below = (const char *)(w->lower_next + (8 * part + q / 4) * ns) + 256 * (q % 4);
                const char *above = (const char *)(w->upper_next + (4 * part + q / 8) * ns) + 256 * (q % 8);
                for (int k = 0; k < 4; k++) {
                    _mm_prefetch(below + 64 * k, _MM_HINT_T1);
                    _mm_prefetch(above + 64 * k, _MM_HINT_T1);
                }
            }
            const double *low = w->lower + c * stride + 2 * j;
            __m512d a = _mm512_loadu_pd(low), b = _mm512_loadu_pd(low + stride), d = _mm512_loadu_pd(low + 2 * stride),
                    e = _mm512_loadu_pd(low + 3 * stride);
            __m512d ab0 = _mm512_shuffle_f64x2(a, b, 0x44), ab1 = _mm512_shuffle_f64x2(a, b, 0xee),
                    de0 = _mm512_shuffle_f64x2(d, e, 0x44), de1 = _mm512_shuffle_f64x2(d, e, 0xee);
            __m512d t0 = _mm512_shuffle_f64x2(ab0, de0, 0x88), t1 = _mm512_shuffle_f64x2(ab0, de0, 0xdd),
                    t2 = _mm512_shuffle_f64x2(ab1, de1, 0x88), t3 = _mm512_shuffle_f64x2(ab1, de1, 0xdd);
            __m512d u0 = _mm512_loadu_pd(up0 + 2 * c), u1 = _mm512_loadu_pd(up1 + 2 * c), u2 = _mm512_loadu_pd(up2 + 2 * c),
                    u3 = _mm512_loadu_pd(up3 + 2 * c);
            t0 = _mm512_fmadd_pd(t0, turn, u0); t1 = _mm512_fmadd_pd(t1, turn, u1);
            t2 = _mm512_fmadd_pd(t2, turn, u2); t3 = _mm512_fmadd_pd(t3, turn, u3);
            bad = _mm512_fmadd_pd(t0, zero, bad); bad = _mm512_fmadd_pd(t1, zero, bad);
            bad = _mm512_fmadd_pd(t2, zero, bad); bad = _mm512_fmadd_pd(t3, zero, bad);
            gap = _mm512_max_pd(gap, _mm512_abs_pd(t0)); gap = _mm512_max_pd(gap, _mm512_abs_pd(t1));
            gap = _mm512_max_pd(gap, _mm512_abs_pd(t2)); gap = _mm512_max_pd(gap, _mm512_abs_pd(t3));
            u0 = _mm512_mul_pd(u0, u0); u1 = _mm512_mul_pd(u1, u1); u2 = _mm512_mul_pd(u2, u2); u3 = _mm512_mul_pd(u3, u3);
            m0 = _mm512_max_pd(m0, u0); m1 = _mm512_max_pd(m1, u1); m2 = _mm512_max_pd(m2, u2); m3 = _mm512_max_pd(m3, u3);
            __m512d s01 = _mm512_sqrt_pd(_mm512_add_pd(_mm512_unpacklo_pd(u0, u1), _mm512_unpackhi_pd(u0, u1)));
            __m512d s23 = _mm512_sqrt_pd(_mm512_add_pd(_mm512_unpacklo_pd(u2, u3), _mm512_unpackhi_pd(u2, u3)));
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
        int16_t *out = w->copy + j / ROWS * w->blocks * BLOCK;
        float *own = w->scale + j / ROWS * w->blocks * ROWS;
        const double *up[4] = {up0, up1, up2, up3};
        __m512d m[4] = {m0, m1, m2, m3};
        for (int k = 0; k < 4; k++) {
            double most = sqrt(_mm512_reduce_max_pd(m[k]));
            own[k] = most > STORED_AS_ZERO ? (float)(most / 32767) : 0.0f;
            __m512d inverse = _mm512_set1_pd(most > STORED_AS_ZERO ? 32767 / most : 0.0);
            for (int64_t t = 0; t < LANES; t += 32) {
#define ROUNDED(q) _mm512_castpd_si512(_mm512_fmadd_pd(_mm512_loadu_pd(up[k] + t + 8 * (q)), inverse, magic))
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
    w->found->gap = fmax(w->found->gap, _mm512_reduce_max_pd(gap));
    w->found->largest = fmax(w->found->largest, _mm512_reduce_max_pd(largest));
    w->found->bad += _mm512_reduce_add_pd(bad);
    _mm_sfence(); /* what went past the cache is seen by whoever comes after */
}
#endif

static void tile_plain(const tile *w) {
    for (int64_t j = 0; j < SIDE; j++) {
        const double *upper = w->upper + j * w->stride;
        double total = 0, most = 0;
        for (int64_t c = 0; c < SEGMENT; c++) {
            const double *lower = w->lower + c * w->stride + 2 * j;
            double re = upper[2 * c], im = upper[2 * c + 1], dr = fabs(re - lower[0]), di = fabs(im + lower[1]);
            double modulus = sqrt(re * re + im * im), part = fmax(fabs(re), fabs(im));
            total += modulus;
            w->columns[2 * c] += modulus;
            most = fmax(most, part);
            w->found->bad += 0 * (dr + di);
            w->found->gap = fmax(w->found->gap, fmax(dr, di));
            w->found->largest = fmax(w->found->largest, modulus);
        }
        w->rows[j] += total;
        int16_t *out = w->copy + j / ROWS * w->blocks * BLOCK + j % ROWS * LANES;
        double inverse = most > STORED_AS_ZERO ? 32767 / most : 0.0;
        w->scale[j / ROWS * w->blocks * ROWS + j % ROWS] = most > STORED_AS_ZERO ? (float)(most / 32767) : 0.0f;
        for (int64_t t = 0; t < LANES; t++) out[t] = (int16_t)nearbyint(upper[t] * inverse);
    }
}

/* A tile at the diagonal or at the edge as a whole one: what does not count is 0. Diagonal entries are dealt with here. */
static void fill_edge(int64_t n, const double *C, int64_t j0, int64_t l0, double *buffer, double *rows, findings *found) {
    double *upper = buffer, *lower = buffer + SIDE * LANES;
    memset(buffer, 0, sizeof(double) * EDGE);
    int64_t j1 = j0 + SIDE < n ? j0 + SIDE : n, l1 = l0 + SEGMENT < n ? l0 + SEGMENT : n;
    for (int64_t j = j0; j < j1; j++) {
        int64_t first = l0 > j ? l0 : j + 1;
        if (first < l1)
            memcpy(upper + (j - j0) * LANES + 2 * (first - l0), C + 2 * (j * n + first), sizeof(double) * 2 * (size_t)(l1 - first));
        if (l0 <= j && j < l1) {
            double re = fabs(C[2 * (j * n + j)]), im = fabs(C[2 * (j * n + j) + 1]);
            rows[j - j0] += re;
            found->bad += 0 * (re + im);
            found->largest = re > found->largest ? re : found->largest;
            found->gap = 2 * im > found->gap ? 2 * im : found->gap;
        }
    }
    for (int64_t l = l0; l < l1; l++) {
        int64_t last = l < j1 ? l : j1;
        if (last > j0) memcpy(lower + (l - l0) * LANES, C + 2 * (l * n + j0), sizeof(double) * 2 * (size_t)(last - j0));
    }
}

/* One pass over C, tile by tile together with the mirror image. `sums` gets the sums of |C_jl| over rows; `found`, 3 for
 * each thread: the largest modulus, the largest part of C_jl - conj(C_lj), and 0 where all is finite (not a number
 * otherwise, and then the rest means nothing). `work` has 3 N + EDGE doubles for each thread. */
void narrow_inspect(int64_t n, const double *C, int16_t *copy, float *scale, double *diagonal, double *sums, double *work,
                    double *found, int avx512, int threads) {
    (void)avx512;
    int64_t strips = (n + SIDE - 1) / SIDE, padded = SEGMENT * segments_of(n), count = segments_of(n);
    int64_t each = 3 * padded + EDGE;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        double *rows = work + me * each, *columns = rows + padded, *buffer = columns + 2 * padded;
        findings own = {0, 0, 0};
        memset(rows, 0, sizeof(double) * 3 * (size_t)padded);
        for (int64_t a = me; a < strips; a += threads) {
            int64_t j0 = a * SIDE, first = j0 / SEGMENT;
            for (int64_t s = first; s < count; s++) {
                int64_t l0 = s * SEGMENT, at = blocks_before(n, j0 / ROWS) + s - first;
                int whole = s > first && l0 + SEGMENT <= n && j0 + SIDE <= n;
                if (!whole) fill_edge(n, C, j0, l0, buffer, rows + j0, &own);
                int next = l0 + 2 * SEGMENT <= n && j0 + SIDE <= n;
                tile w = {whole ? C + 2 * (j0 * n + l0) : buffer, whole ? C + 2 * (l0 * n + j0) : buffer + SIDE * LANES,
                          whole ? 2 * n : LANES, next ? C + 2 * (j0 * n + l0 + SEGMENT) : NULL,
                          next ? C + 2 * ((l0 + SEGMENT) * n + j0) : NULL, 2 * n, rows + j0, columns + 2 * l0,
                          copy + at * BLOCK, scale + at * ROWS, count - first, &own};
#if WITH_AVX512
                if (avx512) tile_avx512(&w);
                else
#endif
                    tile_plain(&w);
            }
        }
        found[3 * me] = own.largest;
        found[3 * me + 1] = own.gap;
        found[3 * me + 2] = own.bad;
    }
    for (int64_t j = 0; j < n; j++) {
        diagonal[j] = C[2 * (j * n + j)];
        sums[j] = 0;
        for (int k = 0; k < threads; k++) {
            const double *rows = work + k * each, *columns = rows + padded;
            sums[j] += rows[j] + columns[2 * j] + columns[2 * j + 1];
        }
    }
}

int64_t narrow_inspect_work(int64_t n) { return 3 * SEGMENT * segments_of(n) + EDGE; }
