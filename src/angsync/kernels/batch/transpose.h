/* From problems, where the numbers of one lie together, to lanes, where the same number of all of them does, and back.
 * Included by batch.c after lanes.h.
 *
 * Thirty-two bytes of each problem at a time, PIECE numbers, or sixteen where there are no more. Loads of half a vector
 * are free of the one port that shuffles. Those of a quarter would leave it even less to do, but the many of them that
 * have the low bits of an address just stored to have to wait.
 */
#define PIECE (32 / (int)sizeof(REAL))
#define HALF (PIECE / 2)

#if defined(__AVX512F__)
/* HALF vectors as rows of four squares, one in every 128 bits, transposed. */
#ifdef GROUP_OF_DOUBLES
#define SQUARE(t)                                                                                                      \
    {                                                                                                                  \
        __m512d a = (__m512d)t[0], b = (__m512d)t[1];                                                                  \
        t[0] = (__m512i)_mm512_unpacklo_pd(a, b), t[1] = (__m512i)_mm512_unpackhi_pd(a, b);                            \
    }
#else
#define SQUARE(t)                                                                                                      \
    {                                                                                                                  \
        __m512d a = (__m512d)_mm512_unpacklo_ps((__m512)t[0], (__m512)t[1]);                                           \
        __m512d b = (__m512d)_mm512_unpackhi_ps((__m512)t[0], (__m512)t[1]);                                           \
        __m512d c = (__m512d)_mm512_unpacklo_ps((__m512)t[2], (__m512)t[3]);                                           \
        __m512d d = (__m512d)_mm512_unpackhi_ps((__m512)t[2], (__m512)t[3]);                                           \
        t[0] = (__m512i)_mm512_unpacklo_pd(a, c), t[1] = (__m512i)_mm512_unpackhi_pd(a, c);                            \
        t[2] = (__m512i)_mm512_unpacklo_pd(b, d), t[3] = (__m512i)_mm512_unpackhi_pd(b, d);                            \
    }
#endif

/* lanes[r][p] = source[p][offset + r] for r < PIECE */
static inline __attribute__((always_inline)) void N(piece_in)(const REAL *const *source, int64_t offset, V *lanes) {
    __m512i low[HALF], high[HALF], first, second;
#define PAIR(h)                                                                                                        \
    _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(source[h] + offset))),              \
                       _mm256_loadu_si256((const __m256i *)(source[(h) + LANES / 2] + offset)), 1)
    for (int h = 0; h < HALF; h++) { /* the second 128 bits of every 256 change places with the first of another */
        first = PAIR(h), second = PAIR(h + HALF);
        low[h] = _mm512_permutex2var_epi64(first, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), second);
        high[h] = _mm512_permutex2var_epi64(first, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), second);
    }
#undef PAIR
    SQUARE(low)
    SQUARE(high)
    for (int h = 0; h < HALF; h++) lanes[h] = (V)low[h], lanes[HALF + h] = (V)high[h];
}

/* The same for r < HALF. */
static inline __attribute__((always_inline)) void N(half_in)(const REAL *const *source, int64_t offset, V *lanes) {
    __m512i t[HALF];
    for (int h = 0; h < HALF; h++) {
#define PART(q) _mm_loadu_si128((const __m128i *)(source[h + q * HALF] + offset))
        t[h] = _mm512_castsi128_si512(PART(0));
        t[h] = _mm512_inserti64x2(t[h], PART(1), 1);
        t[h] = _mm512_inserti64x2(t[h], PART(2), 2);
        t[h] = _mm512_inserti64x2(t[h], PART(3), 3);
#undef PART
    }
    SQUARE(t)
    for (int h = 0; h < HALF; h++) lanes[h] = (V)t[h];
}

/* target[p][offset + r] = lanes[r][p] for r < HALF */
static inline __attribute__((always_inline)) void N(half_out)(const V *lanes, REAL *const *target, int64_t offset) {
    __m512i t[HALF];
    for (int h = 0; h < HALF; h++) t[h] = (__m512i)lanes[h];
    SQUARE(t)
    for (int h = 0; h < HALF; h++) {
#define PART(q) _mm_storeu_si128((__m128i *)(target[h + q * HALF] + offset), _mm512_extracti64x2_epi64(t[h], q));
        PART(0)
        PART(1)
        PART(2)
        PART(3)
#undef PART
    }
}
#undef SQUARE
#else
typedef REAL N(part) __attribute__((vector_size(16)));

/* HALF parts as rows of a square, transposed. Constructors like these are one shuffle each. */
static inline void N(square)(N(part) *t) {
#ifdef GROUP_OF_DOUBLES
    N(part) a = t[0], b = t[1];
    t[0] = (N(part)){a[0], b[0]};
    t[1] = (N(part)){a[1], b[1]};
#else
    N(part) a = {t[0][0], t[1][0], t[0][1], t[1][1]}, b = {t[0][2], t[1][2], t[0][3], t[1][3]};
    N(part) c = {t[2][0], t[3][0], t[2][1], t[3][1]}, d = {t[2][2], t[3][2], t[2][3], t[3][3]};
    t[0] = (N(part)){a[0], a[1], c[0], c[1]};
    t[1] = (N(part)){a[2], a[3], c[2], c[3]};
    t[2] = (N(part)){b[0], b[1], d[0], d[1]};
    t[3] = (N(part)){b[2], b[3], d[2], d[3]};
#endif
}

static inline void N(half_in)(const REAL *const *source, int64_t offset, V *lanes) {
    for (int p = 0; p < LANES; p += HALF) {
        N(part) t[HALF];
        for (int h = 0; h < HALF; h++) memcpy(&t[h], source[p + h] + offset, 16);
        N(square)(t);
        for (int h = 0; h < HALF; h++) memcpy((REAL *)&lanes[h] + p, &t[h], 16);
    }
}

static inline void N(piece_in)(const REAL *const *source, int64_t offset, V *lanes) {
    N(half_in)(source, offset, lanes);
    N(half_in)(source, offset + HALF, lanes + HALF);
}

static inline void N(half_out)(const V *lanes, REAL *const *target, int64_t offset) {
    for (int p = 0; p < LANES; p += HALF) {
        N(part) t[HALF];
        for (int h = 0; h < HALF; h++) memcpy(&t[h], (const REAL *)&lanes[h] + p, 16);
        N(square)(t);
        for (int h = 0; h < HALF; h++) memcpy(target[p + h] + offset, &t[h], 16);
    }
}
#endif

/* lanes[r][p] = source[p][offset + r] for from <= r < to, an even number of them and at least HALF. The last part
 * overlaps the one before where it does not fit. Fetches what lies `ahead`; returns where that stopped. */
static inline const char *N(lanes_in)(const REAL *const *source, int64_t offset, int from, int to, V *lanes,
                                      const char *ahead, const char *end) {
    int r = from;
    for (; r + PIECE <= to; r += PIECE) {
        ahead = N(fetch)(ahead, end, 2);
        N(piece_in)(source, offset + r, lanes + r);
    }
    for (; r < to; r += HALF) {
        int at = r + HALF <= to ? r : to - HALF;
        ahead = N(fetch)(ahead, end, 1);
        N(half_in)(source, offset + at, lanes + at);
    }
    return ahead;
}

/* target[p][r] = lanes[r][p] for r < count, at least HALF */
static inline void N(lanes_out)(const V *lanes, int count, REAL *const *target) {
    for (int r = 0; r < count; r += HALF) {
        int at = r + HALF <= count ? r : count - HALF;
        N(half_out)(lanes + at, target, at);
    }
}
#undef PIECE
#undef HALF
