/* Many small problems at once: every lane of a vector belongs to another problem. Included by batch.c, once for
 * each precision, with REAL, WHOLE (the integer of the same size), VECTOR_BYTES and N(name) defined.
 *
 * No operation mixes lanes, so the bits of an answer do not depend on who else is in the group. A group keeps the
 * strict upper triangle of C, row after row, as (re, im) pairs of vectors. The diagonal is only added to the
 * objective: on T^n it is a constant.
 */

typedef REAL N(real) __attribute__((vector_size(VECTOR_BYTES)));
typedef WHOLE N(whole) __attribute__((vector_size(VECTOR_BYTES)));

static inline V N(pick)(M mask, V yes, V no) { return (V)((mask & (M)yes) | (~mask & (M)no)); }
static inline V N(size)(V x) { return (V)((M)x & ~((M){0} + SIGN_BIT)); }
#if defined(__AVX512F__)
static inline V N(larger)(V x, V y) { return (V)LARGER_512(x, y); }
#else
static inline V N(larger)(V x, V y) { return N(pick)((M)(x > y), x, y); }
#endif

/* 1 / sqrt(x) for normal positive x: a guess from the instruction set or from the bits, then Newton steps, to a few
 * units in the last place. 0 where x is below TINY. */
static inline V N(inverse_root)(V x) {
    V half = LOAD(0.5) * x;
#if defined(__AVX512F__)
    V y = (V)ROOT_GUESS_512(x);
    for (int k = 0; k < ROOT_STEPS_512; k++) y = y * (LOAD(1.5) - half * y * y);
#else
    V y = (V)(((M){0} + ROOT_GUESS) - ((M)N(size)(x) >> 1)); /* of a negative x it is not used, and overflows nothing */
    for (int k = 0; k < ROOT_STEPS; k++) y = y * (LOAD(1.5) - half * y * y);
#endif
    return N(pick)((M)(x > LOAD(TINY)), y, LOAD(0));
}

#if defined(__AVX512F__)
static inline int N(any)(M mask) { return WHICH_512(mask) != 0; }
static inline int N(how_many)(M mask) { return __builtin_popcount((unsigned)WHICH_512(mask)); }
#else
static int N(any)(M mask) {
    WHOLE found = 0;
    for (int p = 0; p < LANES; p++) found |= mask[p];
    return found != 0;
}

static int N(how_many)(M mask) {
    int count = 0;
    for (int p = 0; p < LANES; p++) count += mask[p] != 0;
    return count;
}
#endif

typedef struct {
    int n;
    V *upper;                 /* n (n - 1) / 2 pairs */
    V *rows;                  /* sums of |re| + |im| over each row: at least the sum of moduli */
    V *light;                 /* one over them in lanes whose rows weigh unlike each other, 0 elsewhere; see N(weigh) */
    int some_light;           /* whether there is such a lane */
    V *given;                 /* the start that the call gives, n pairs */
    V *first;                 /* where the power steps begin, n pairs */
    V *z, *w, *old_z, *old_w; /* n pairs each */
    V *factor, *inverse, *step; /* Newton: packed lower triangle, one over its diagonal, right-hand side and solution */
    V *buffer;                /* 4 n: what two rows of the matrix pass through */
    const char *ahead, *ahead_end; /* the group that comes next, on its way to the cache while this one is worked on */
    V trace, gap, skew, scale, scale_later;
    double *history;          /* of the problem in lane 0, which is alone: see N(record); or NULL */
    int products;             /* with C so far, of that problem */
    M finite;
} N(group);

/* The next lines of what lies ahead. The memory gives a core about one line in 14 cycles. Asked for at that pace, among
 * the arithmetic, lines come for nothing; a core that asks for many at once waits for them. */
static inline __attribute__((always_inline)) const char *N(fetch)(const char *ahead, const char *end, int lines) {
    if (ahead >= end) return ahead;
    for (int k = 0; k < lines; k++) __builtin_prefetch(ahead + 64 * k, 0, 2);
    return ahead + 64 * lines;
}

static inline int64_t N(row)(int n, int j) { return (int64_t)j * (2 * n - j - 1) / 2 - j - 1; } /* + l: entry (j, l) */
