/* Many small problems at once: every lane of a vector belongs to another problem. Included by batch_set.h, once for
 * each instruction set and precision, with REAL, WHOLE (the integer of the same size), LANES and N(name) defined.
 *
 * No operation mixes lanes, so the bits of an answer do not depend on who else is in the group. A group keeps the
 * strict upper triangle of C, row after row, as (re, im) pairs of vectors. The diagonal is only added to the
 * objective: on T^n it is a constant.
 */

typedef REAL N(real) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(64)));
typedef WHOLE N(whole) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(64)));
#define V N(real)
#define M N(whole)
#define LOAD(a) ((V){0} + (REAL)(a))

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
    V y = (V)(((M){0} + ROOT_GUESS) - ((M)x >> 1));
    for (int k = 0; k < ROOT_STEPS; k++) y = y * (LOAD(1.5) - half * y * y);
#endif
    return N(pick)((M)(x > LOAD(TINY)), y, LOAD(0));
}

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

typedef struct {
    int n;
    V *upper;                 /* n (n - 1) / 2 pairs */
    V *rows;                  /* sums of |re| + |im| over each row: at least the sum of moduli */
    V *first;                 /* where the power steps begin, n pairs */
    V *z, *w, *old_z, *old_w; /* n pairs each */
    V *factor, *inverse, *step; /* Newton: packed lower triangle, one over its diagonal, right-hand side and solution */
    V *buffer;                /* what the rows of the matrix pass through */
    const char *ahead, *ahead_end; /* the group that comes next, fetched while this one is in the power steps */
    V trace, gap, largest, scale, scale_later;
    M finite;
} N(group);

static inline int64_t N(row)(int n, int j) { return (int64_t)j * (2 * n - j - 1) / 2 - j - 1; } /* + l: entry (j, l) */

/* ------------------------------------------------------------------ from problems to lanes */

/* lanes[r][p] = source[p][r] for r < count */
static inline void N(transpose)(const REAL *const *source, int64_t offset, int count, V *lanes) {
#if defined(__AVX512F__)
    if (count >= LANES) {
        for (int first = 0; first < count; first += LANES) {
            int r = first + LANES <= count ? first : count - LANES; /* the last block overlaps the one before */
            V t[LANES];
            for (int p = 0; p < LANES; p++) memcpy(&t[p], source[p] + offset + r, sizeof(V));
            /* butterflies: the half of p that is not in the right place changes with the half of p + D */
#define SWAP(D, p)                                                                                                     \
    {                                                                                                                  \
        V a = t[p], b = t[p + D];                                                                                      \
        t[p] = __builtin_shuffle(a, b, (M){LOW_##D});                                                                  \
        t[p + D] = __builtin_shuffle(a, b, (M){HIGH_##D});                                                             \
    }
            SWAPS
#undef SWAP
            for (int p = 0; p < LANES; p++) lanes[r + p] = t[p];
        }
        return;
    }
#endif
    for (int p = 0; p < LANES; p++) {
        const REAL *from = source[p] + offset;
        REAL *to = (REAL *)lanes + p;
        for (int r = 0; r < count; r++) to[(int64_t)r * LANES] = from[r];
    }
}

/* C <- scale C, where a later step wants it so. Powers of two: nothing is rounded. */
static void N(rescale)(N(group) *g) {
    V scale = g->scale_later;
    for (int64_t k = 0; k < (int64_t)g->n * (g->n - 1); k++) g->upper[k] *= scale;
    g->scale_later = LOAD(1);
}

/* The phase of (re, im), of any size, into x; `other` where it vanishes. The exponent is taken off first: the same bits
 * for C and a power of two times C. */
static inline void N(phase)(V re, V im, const V *other, V *x) {
    V most = N(larger)(N(size)(re), N(size)(im));
    V unit = (V)(((M){0} + EXPONENT_FLIP) - ((M)most & ((M){0} + EXPONENT_BITS)));
    re *= unit, im *= unit;
    V inverse = N(inverse_root)(re * re + im * im);
    M some = (M)(inverse > LOAD(0));
    x[0] = N(pick)(some, re * inverse, other[0]);
    x[1] = N(pick)(some, im * inverse, other[1]);
}

/* Compare row j, left of the diagonal, with what the rows before it have said: C_jl = conj(C_lj). */
static void N(compare)(const N(group) *g, int j, const V *row, V *gap, V *total) {
    const V *kept = g->upper + 2 * (j - 1);
    V most = *gap, sum = LOAD(0);
    for (int l = 0; l < j; l++) {
        V re = N(size)(row[2 * l] - kept[0]), im = N(size)(row[2 * l + 1] + kept[1]);
        most = N(larger)(N(larger)(re, im), most);
        sum += re + im;
        kept += 2 * (g->n - l - 2);
    }
    *gap = most;
    *total += sum;
}

/* Keep the part of row j on the right of the diagonal, and add it to the sums of rows. */
static V N(keep_right)(N(group) *g, int j, const V *row, const V *fixed, V largest) {
    int n = g->n;
    V *kept = g->upper + 2 * N(row)(n, j), *rows = g->rows, *first = g->first, sum = LOAD(0), x[2];
    N(phase)(first[2 * j], first[2 * j + 1], fixed, x);
    for (int l = j + 1; l < n; l++) {
        V re = row[2 * l], im = row[2 * l + 1], entry = N(size)(re) + N(size)(im);
        kept[2 * l] = re;
        kept[2 * l + 1] = im;
        largest = N(larger)(entry, largest);
        rows[l] += entry;
        sum += entry;
        first[2 * l] += re * x[0] + im * x[1];
        first[2 * l + 1] += re * x[1] - im * x[0];
    }
    first[2 * j] = x[0], first[2 * j + 1] = x[1];
    rows[j] += sum;
    return largest;
}

/* The same with what is on the left of it, conjugate: column j of the upper triangle. */
static V N(keep_left)(N(group) *g, int j, const V *row, const V *fixed, V largest) {
    V *rows = g->rows, *first = g->first, *kept = g->upper + 2 * (j - 1), sum = LOAD(0), y[2] = {LOAD(0), LOAD(0)};
    for (int l = 0; l < j; l++) {
        V re = row[2 * l], im = row[2 * l + 1], entry = N(size)(re) + N(size)(im);
        kept[0] = re;
        kept[1] = -im;
        kept += 2 * (g->n - l - 2);
        largest = N(larger)(entry, largest);
        rows[l] += entry;
        sum += entry;
        y[0] += re * first[2 * l] - im * first[2 * l + 1];
        y[1] += re * first[2 * l + 1] + im * first[2 * l];
    }
    N(phase)(y[0], y[1], fixed, first + 2 * j);
    rows[j] += sum;
    return largest;
}

/* Read a group: `triangle` 0 compares both triangles, and keeps the upper one; 1 looks at that alone, 2 at the lower
 * one.
 *
 * The start of the power steps is found on the way: node j is turned to agree with the nodes before it, x_j = phase
 * of sum_{i<j} C_ji x_i, while row j is at hand. MIXED parts of the fixed `start` are added: for a real C all x_j
 * would be real, and so would be all that follows. */
static void N(read)(N(group) *g, const REAL *const *source, int triangle, const double *start) {
    int n = g->n, height = ROWS_AT_ONCE(n);
    V trace = LOAD(0), gap = LOAD(0), largest = LOAD(0), total = LOAD(0), most = LOAD(0), *first = g->first;
    for (int j = 0; j < n; j++) g->rows[j] = first[2 * j] = first[2 * j + 1] = LOAD(0);
    for (int j = 0; j < n; j++) {
        const V *row = g->buffer + 2 * (int64_t)n * (j % height);
        if (j % height == 0) {
            int rows = height < n - j ? height : n - j, from = 0, to = rows * n;
            if (height == 1 && triangle == 1) from = j < n - LANES ? j : n - LANES;
            if (height == 1 && triangle == 2) to = j + 1 > LANES ? j + 1 : LANES;
            N(transpose)(source, 2 * ((int64_t)j * n + from), 2 * (to - from), g->buffer + 2 * from);
        }
        V fixed[2] = {LOAD(start[2 * j]), LOAD(start[2 * j + 1])}, turn = N(size)(row[2 * j + 1]);
        trace += row[2 * j];
        total += N(size)(row[2 * j]) + turn;
        gap = N(larger)(turn + turn, gap);
        largest = N(larger)(N(size)(row[2 * j]), largest);
        largest = triangle == 2 ? N(keep_left)(g, j, row, fixed, largest) : N(keep_right)(g, j, row, fixed, largest);
        if (triangle == 0) N(compare)(g, j, row, &gap, &total);
    }
    for (int j = 0; j < n; j++) {
        most = N(larger)(g->rows[j], most);
        total += g->rows[j];
        first[2 * j] += LOAD(MIXED * start[2 * j]);
        first[2 * j + 1] += LOAD(MIXED * start[2 * j + 1]);
    }
    g->trace = trace;
    g->gap = gap;
    g->largest = largest;
    g->finite = (M)(total - total == LOAD(0)); /* inf - inf and NaN - NaN are NaN */
    /* A power of two, so that the largest row sum is between 1/2 and 1: nothing overflows, nothing is rounded.
     * Products are scaled when they are done, unless the numbers are so large or small that C itself has to be. */
    M some = g->finite & (M)(most > LOAD(0));
    most = N(pick)(some, most, LOAD(0.5));
    M exponent = ((M)most & ((M){0} + EXPONENT_BITS));
    exponent = ((M){0} + EXPONENT_FLIP - EXPONENT_ONE) - exponent; /* that of one over the power of two above `most` */
    g->scale = N(larger)((V)exponent, LOAD(TINIEST_SCALE));
    g->scale = N(pick)((M)(g->scale < LOAD(1 / TINIEST_SCALE / 64)), g->scale, LOAD(1 / TINIEST_SCALE / 64));
    g->scale_later = g->scale;
    if (N(any)((M)(g->scale > LOAD(0x1p40)) | (M)(g->scale < LOAD(0x1p-40)))) N(rescale)(g);
    for (int j = 0; j < n; j++) g->rows[j] = (V)((M)(g->rows[j] * g->scale) & g->finite);
}
#undef V
#undef M
#undef LOAD
