/* A narrow copy of a dense Hermitian matrix: one triangle, 16 bits a number. The pass over C that makes it and checks C on
 * the way, and the product with it.
 *
 * The triangle above the diagonal is stored in blocks of ROWS rows by SEGMENT columns, one after the other as a product
 * reads them: blocks of rows from top to bottom, in each the segments from the diagonal to the right. Every row of a block
 * has a scale of its own, its largest part over 32767, so an entry is off by half a unit of the largest one near it. What
 * lies on or below the diagonal, or outside the matrix, is 0; the diagonal is kept beside it in double precision.
 *
 * Complex entries lie as (re, im). With lanes taken as they lie, four real sums are enough and nothing is shuffled:
 *     y_j += sum a x:          re = sum a * (xr, -xi),  im = sum a * (xi, xr)        (lane by lane)
 *     y_l += conj(a) x_j:      u += a xr_j,  v += a xi_j;  re = u_even + v_odd,  im = v_even - u_odd
 *
 * Every thread collects u and v of its own rows; they are added up in the order of the threads, so the result depends
 * on their number alone and not on chance. That is the number asked for: where OpenMP gives fewer (OMP_THREAD_LIMIT,
 * OMP_DYNAMIC), one does the shares of several.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define FAST __attribute__((target_clones("arch=haswell", "default")))
#define WITH_AVX512 1
#include <immintrin.h>
#else
#define FAST
#define WITH_AVX512 0
#endif

#define ROWS 4
#define SEGMENT 128          /* columns of a block */
#define LANES (2 * SEGMENT)  /* numbers in a row of a block */
#define BLOCK (ROWS * LANES) /* numbers in a block */
#define SIDE 64              /* rows of a tile of the pass, which has SEGMENT columns */
#define EDGE (SIDE * LANES + SEGMENT * LANES) /* doubles of a tile that had to be copied, and its mirror image */
#define AHEAD 4096           /* bytes: how far ahead of the product the copy is asked for */
#define CARRIED 128          /* blocks of rows whose sums over columns are in single precision: 512 terms */
#define LEAST 4e-34          /* a row of a block below this is 0: its scale would not be a normal float */

static int64_t segments_of(int64_t n) { return (n + SEGMENT - 1) / SEGMENT; }

/* Number of blocks before those of the rows from ROWS b on. */
static int64_t blocks_before(int64_t n, int64_t b) {
    int64_t each = SEGMENT / ROWS, k = b / each, count = segments_of(n);
    return each * (k * count - k * (k - 1) / 2) + (b - each * k) * (count - k);
}

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

/* Four rows of blocks: their sums over the rows, and what they add to the columns into u and v. */
#define ROW_OF_BLOCKS(NAME) \
    static void NAME(int64_t count, const int16_t *restrict a, const float *restrict scale, const float *restrict turned, \
                     const float *restrict swapped, float *restrict u, float *restrict v, const float *x, double *sums)

#if WITH_AVX512
__attribute__((target("avx512f"))) ROW_OF_BLOCKS(row_of_blocks_avx512) {
    __m512 P[ROWS], Q[ROWS];
    for (int k = 0; k < ROWS; k++) P[k] = Q[k] = _mm512_setzero_ps();
    for (int64_t s = 0; s < count; s++, a += BLOCK, scale += ROWS) {
        __m512 p0 = _mm512_setzero_ps(), p1 = p0, p2 = p0, p3 = p0, q0 = p0, q1 = p0, q2 = p0, q3 = p0;
        __m512 r0 = _mm512_set1_ps(scale[0] * x[0]), i0 = _mm512_set1_ps(scale[0] * x[1]);
        __m512 r1 = _mm512_set1_ps(scale[1] * x[2]), i1 = _mm512_set1_ps(scale[1] * x[3]);
        __m512 r2 = _mm512_set1_ps(scale[2] * x[4]), i2 = _mm512_set1_ps(scale[2] * x[5]);
        __m512 r3 = _mm512_set1_ps(scale[3] * x[6]), i3 = _mm512_set1_ps(scale[3] * x[7]);
        for (int t = 0; t < LANES; t += 16) {
#define WIDENED(k) _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(a + k * LANES + t))))
            __m512 b0 = WIDENED(0), b1 = WIDENED(1), b2 = WIDENED(2), b3 = WIDENED(3);
#undef WIDENED
            _mm_prefetch((const char *)(a + 2 * t) + AHEAD, _MM_HINT_T0);
            _mm_prefetch((const char *)(a + 2 * LANES + 2 * t) + AHEAD, _MM_HINT_T0);
            int64_t at = s * LANES + t;
            __m512 f = _mm512_loadu_ps(turned + at), g = _mm512_loadu_ps(swapped + at);
            p0 = _mm512_fmadd_ps(b0, f, p0); p1 = _mm512_fmadd_ps(b1, f, p1);
            p2 = _mm512_fmadd_ps(b2, f, p2); p3 = _mm512_fmadd_ps(b3, f, p3);
            q0 = _mm512_fmadd_ps(b0, g, q0); q1 = _mm512_fmadd_ps(b1, g, q1);
            q2 = _mm512_fmadd_ps(b2, g, q2); q3 = _mm512_fmadd_ps(b3, g, q3);
            __m512 c = _mm512_fmadd_ps(b0, r0, _mm512_loadu_ps(u + at)), d = _mm512_fmadd_ps(b0, i0, _mm512_loadu_ps(v + at));
            c = _mm512_fmadd_ps(b1, r1, c); d = _mm512_fmadd_ps(b1, i1, d);
            c = _mm512_fmadd_ps(b2, r2, c); d = _mm512_fmadd_ps(b2, i2, d);
            c = _mm512_fmadd_ps(b3, r3, c); d = _mm512_fmadd_ps(b3, i3, d);
            _mm512_storeu_ps(u + at, c); _mm512_storeu_ps(v + at, d);
        }
#define ADD(k, p, q) \
        P[k] = _mm512_fmadd_ps(_mm512_set1_ps(scale[k]), p, P[k]); Q[k] = _mm512_fmadd_ps(_mm512_set1_ps(scale[k]), q, Q[k]);
        ADD(0, p0, q0) ADD(1, p1, q1) ADD(2, p2, q2) ADD(3, p3, q3)
#undef ADD
    }
    for (int k = 0; k < ROWS; k++) {
        sums[2 * k] = (double)_mm512_reduce_add_ps(P[k]); sums[2 * k + 1] = (double)_mm512_reduce_add_ps(Q[k]);
    }
}
#endif

FAST ROW_OF_BLOCKS(row_of_blocks_plain) {
    double p[2 * ROWS] = {0};
    for (int64_t s = 0; s < count; s++, a += BLOCK, scale += ROWS)
        for (int k = 0; k < ROWS; k++) {
            const int16_t *row = a + k * LANES;
            const float *f = turned + s * LANES, *g = swapped + s * LANES;
            float *c = u + s * LANES, *d = v + s * LANES, re = scale[k] * x[2 * k], im = scale[k] * x[2 * k + 1], r = 0, i = 0;
#pragma omp simd reduction(+ : r, i)
            for (int t = 0; t < LANES; t++) {
                float b = (float)row[t];
                r += b * f[t];
                i += b * g[t];
                c[t] += b * re;
                d[t] += b * im;
            }
            p[2 * k] += (double)scale[k] * (double)r;
            p[2 * k + 1] += (double)scale[k] * (double)i;
        }
    for (int k = 0; k < 2 * ROWS; k++) sums[k] = p[k];
}

/* What single precision has summed up over columns, from column `from` to `to`, carried on in double precision. */
FAST static void carry(int64_t from, int64_t to, float *restrict u, float *restrict v, double *restrict total) {
#pragma omp simd
    for (int64_t l = from; l < to; l++) {
        total[2 * l] += (double)u[2 * l] + (double)v[2 * l + 1];
        total[2 * l + 1] += (double)v[2 * l] - (double)u[2 * l + 1];
    }
    memset(u + 2 * from, 0, sizeof(float) * 2 * (size_t)(to - from));
    memset(v + 2 * from, 0, sizeof(float) * 2 * (size_t)(to - from));
}

/* y = C x from the copy. `work` has (6 + 8 threads) N floats, where N is n rounded up to a multiple of SEGMENT. A sum over
 * columns has 4 CARRIED terms in single precision, one over a row 16 and one for each segment (256 in the plain version):
 * NarrowCopy.rounding in dense_reference.py is the bound that follows. */
void narrow_product(int64_t n, const int16_t *copy, const float *scale, const double *diagonal, const double *x, double *y,
                    float *work, int avx512, int threads) {
    (void)avx512;
    int64_t padded = SEGMENT * segments_of(n), blocks = (n + ROWS - 1) / ROWS, count = segments_of(n);
    float *given = work, *turned = work + 2 * padded, *swapped = work + 4 * padded, *own = work + 6 * padded;
    for (int64_t l = 0; l < padded; l++) {
        float re = l < n ? (float)x[2 * l] : 0.0f, im = l < n ? (float)x[2 * l + 1] : 0.0f;
        given[2 * l] = turned[2 * l] = swapped[2 * l + 1] = re;
        given[2 * l + 1] = swapped[2 * l] = im;
        turned[2 * l + 1] = -im;
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int me = 0; me < threads; me++) {
        float *u = own + (int64_t)me * 8 * padded, *v = u + 2 * padded;
        double *total = (double *)(v + 2 * padded);
        int64_t summed = 0, from = me * ROWS / SEGMENT * SEGMENT; /* blocks of rows, and their first column */
        memset(u, 0, sizeof(float) * 8 * (size_t)padded);
        for (int64_t b = me; b < blocks; b += threads) {
            int64_t j = ROWS * b, first = j / SEGMENT, at = blocks_before(n, b), shift = first * LANES;
            double sums[2 * ROWS];
#if WITH_AVX512
            if (avx512)
                row_of_blocks_avx512(count - first, copy + at * BLOCK, scale + at * ROWS, turned + shift, swapped + shift,
                                     u + shift, v + shift, given + 2 * j, sums);
            else
#endif
                row_of_blocks_plain(count - first, copy + at * BLOCK, scale + at * ROWS, turned + shift, swapped + shift,
                                    u + shift, v + shift, given + 2 * j, sums);
            for (int64_t k = 0; k < ROWS && j + k < n; k++) {
                y[2 * (j + k)] = sums[2 * k] + diagonal[j + k] * x[2 * (j + k)];
                y[2 * (j + k) + 1] = sums[2 * k + 1] + diagonal[j + k] * x[2 * (j + k) + 1];
            }
            if (++summed == CARRIED) {
                carry(from, padded, u, v, total);
                summed = 0;
                from = first * SEGMENT;
            }
        }
        carry(from, padded, u, v, total);
    }
    for (int k = 0; k < threads; k++) {
        const double *total = (const double *)(own + (int64_t)k * 8 * padded + 4 * padded);
        for (int64_t l = 0; l < 2 * n; l++) y[l] += total[l];
    }
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
            own[k] = most > LEAST ? (float)(most / 32767) : 0.0f;
            __m512d inverse = _mm512_set1_pd(most > LEAST ? 32767 / most : 0.0);
            for (int64_t t = 0; t < LANES; t += 16) {
                __m256i low = _mm512_cvtpd_epi32(_mm512_mul_pd(_mm512_loadu_pd(up[k] + t), inverse));
                __m256i high = _mm512_cvtpd_epi32(_mm512_mul_pd(_mm512_loadu_pd(up[k] + t + 8), inverse));
                __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
                _mm256_storeu_si256((__m256i *)(out + k * LANES + t), _mm512_cvtepi32_epi16(both));
            }
        }
    }
    w->found->gap = fmax(w->found->gap, _mm512_reduce_max_pd(gap));
    w->found->largest = fmax(w->found->largest, _mm512_reduce_max_pd(largest));
    w->found->bad += _mm512_reduce_add_pd(bad);
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
        double inverse = most > LEAST ? 32767 / most : 0.0;
        w->scale[j / ROWS * w->blocks * ROWS + j % ROWS] = most > LEAST ? (float)(most / 32767) : 0.0f;
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
