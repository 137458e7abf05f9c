/* A group of problems, from the stack into its lanes. Included by batch.c after transpose.h. */

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

/* Compare `height` rows from j on, left of the diagonal, with what the rows before have said: C_jl = conj(C_lj). `gap` is
 * the largest difference beyond `share` times the entry, `skew` the sum of all of them. */
static inline __attribute__((always_inline)) void N(compare)(N(group) *g, int j, int height, V share, V *gap, V *skew) {
    int n = g->n;
    const V *row = g->buffer, *kept = g->upper + 2 * (j - 1);
    const char *ahead = g->ahead;
    V most = *gap, sum = LOAD(0);
#define BESIDE(k, l, kept)                                                                                             \
    {                                                                                                                  \
        V re = N(size)(row[2 * (n * (k) + (l))] - (kept)[0]), im = N(size)(row[2 * (n * (k) + (l)) + 1] + (kept)[1]);  \
        V entry = N(size)((kept)[0]) + N(size)((kept)[1]);                                                             \
        most = N(larger)(N(larger)(re, im) - share * entry, most);                                                     \
        sum += re + im;                                                                                                \
    }
    for (int l = 0; l < j; l++) {
        ahead = N(fetch)(ahead, g->ahead_end, 1);
        for (int k = 0; k < height; k++) BESIDE(k, l, kept + 2 * k)
        kept += 2 * (n - l - 2);
    }
    if (height == 2) BESIDE(1, j, kept + 2)
#undef BESIDE
    g->ahead = ahead;
    *gap = most;
    *skew += sum;
}

/* Keep the part of `height` rows, 1 or 2, on the right of the diagonal, and add it to the sums of rows. Two rows share
 * the loads and stores of those. With `both`, the part on the left is compared: while the phases are on their way. */
static inline __attribute__((always_inline)) void N(keep_right)(N(group) *g, int j, int height, int both,
                                                             V share, V *gap, V *skew) {
    int n = g->n;
    V *rows = g->rows, *first = g->first, sum[2] = {LOAD(0), LOAD(0)}, x[4] = {LOAD(0), LOAD(0), LOAD(0), LOAD(0)};
#define TAKE(k, l)                                                                                                     \
    {                                                                                                                  \
        V re = g->buffer[2 * (n * (k) + (l))], im = g->buffer[2 * (n * (k) + (l)) + 1];                                \
        V entry = N(size)(re) + N(size)(im);                                                                           \
        kept[k][2 * (l)] = re, kept[k][2 * (l) + 1] = im;                                                              \
        sum[k] += entry, across += entry;                                                                              \
        to_re += re * x[2 * (k)] + im * x[2 * (k) + 1];                                                                \
        to_im += re * x[2 * (k) + 1] - im * x[2 * (k)];                                                                \
    }
    V *kept[2] = {g->upper + 2 * N(row)(n, j), g->upper + 2 * N(row)(n, j + 1)};
    V fixed[2] = {g->given[2 * j], g->given[2 * j + 1]};
    N(phase)(first[2 * j], first[2 * j + 1], fixed, x);
    first[2 * j] = x[0], first[2 * j + 1] = x[1];
    if (height == 2) { /* the entry between them, then the second one can turn to agree with the first */
        V across = rows[j + 1], to_re = first[2 * j + 2], to_im = first[2 * j + 3];
        TAKE(0, j + 1)
        rows[j + 1] = across;
        V later[2] = {g->given[2 * j + 2], g->given[2 * j + 3]};
        N(phase)(to_re, to_im, later, x + 2);
        first[2 * j + 2] = x[2], first[2 * j + 3] = x[3];
    }
    if (both) N(compare)(g, j, height, share, gap, skew);
    const char *ahead = g->ahead;
    for (int l = j + height; l < n; l++) {
        V across = rows[l], to_re = first[2 * l], to_im = first[2 * l + 1];
        ahead = N(fetch)(ahead, g->ahead_end, 1);
        for (int k = 0; k < height; k++) TAKE(k, l)
        rows[l] = across, first[2 * l] = to_re, first[2 * l + 1] = to_im;
    }
#undef TAKE
    g->ahead = ahead;
    for (int k = 0; k < height; k++) rows[j + k] += sum[k];
}

/* Keep what is on the left of the diagonal of row j, conjugate: column j of the upper triangle. */
static void N(keep_left)(N(group) *g, int j, const V *row) {
    V fixed[2] = {g->given[2 * j], g->given[2 * j + 1]};
    V *rows = g->rows, *first = g->first, *kept = g->upper + 2 * (j - 1), sum = LOAD(0), y[2] = {LOAD(0), LOAD(0)};
    for (int l = 0; l < j; l++) {
        V re = row[2 * l], im = row[2 * l + 1], entry = N(size)(re) + N(size)(im);
        kept[0] = re;
        kept[1] = -im;
        kept += 2 * (g->n - l - 2);
        rows[l] += entry;
        sum += entry;
        y[0] += re * first[2 * l] - im * first[2 * l + 1];
        y[1] += re * first[2 * l + 1] + im * first[2 * l];
    }
    N(phase)(y[0], y[1], fixed, first + 2 * j);
    rows[j] += sum;
}

/* Read a group: `triangle` 0 compares both triangles, and keeps the upper one; 1 looks at that alone, 2 at the lower
 * one. Differences up to `askew` times an entry are rounding for certain.
 *
 * The start of the power steps is found on the way: node j is turned to agree with the nodes before it, x_j = phase
 * of sum_{i<j} C_ji x_i, while row j is at hand. A part of the `given` start is added (FIXED_START_SHARE):
 * for a real C all x_j would be real without it, and so would be all phases that follow. Where it is not to be `swept`,
 * the start is that one itself. */
static void N(read)(N(group) *g, const REAL *const *source, int triangle, double askew, int swept) {
    int n = g->n;
    V trace = LOAD(0), gap = LOAD(0), skew = LOAD(0), total = LOAD(0), most = LOAD(0), share = LOAD(askew);
    V *first = g->first;
    for (int j = 0; j < n; j++) g->rows[j] = first[2 * j] = first[2 * j + 1] = LOAD(0);
    for (int j = 0; j < n; j += 2) {
        int height = n - j < 2 ? 1 : 2, from = 0, to = n;
        if (triangle == 1) from = j < n - 2 ? j : n - 2;
        if (triangle == 2) to = j + height < 2 ? 2 : j + height;
        for (int k = 0; k < height; k++) {
            const V *row = g->buffer + 2 * n * k, *at = row + 2 * (j + k);
            g->ahead = N(lanes_in)(source, 2 * (int64_t)(j + k) * n, 2 * from, 2 * to, g->buffer + 2 * n * k, g->ahead,
                                   g->ahead_end);
            V turn = N(size)(at[1]);
            trace += at[0];
            total += N(size)(at[0]) + turn;
            gap = N(larger)(turn + turn - share * N(size)(at[0]), gap);
            if (triangle == 2) N(keep_left)(g, j + k, row);
        }
        if (triangle == 2) continue;
        if (height == 2)
            N(keep_right)(g, j, 2, triangle == 0, share, &gap, &skew);
        else
            N(keep_right)(g, j, 1, triangle == 0, share, &gap, &skew);
    }
    for (int j = 0; j < n; j++) {
        most = N(larger)(g->rows[j], most);
        total += g->rows[j];
        if (swept) {
            first[2 * j] += LOAD(FIXED_START_SHARE) * g->given[2 * j];
            first[2 * j + 1] += LOAD(FIXED_START_SHARE) * g->given[2 * j + 1];
        } else {
            first[2 * j] = g->given[2 * j], first[2 * j + 1] = g->given[2 * j + 1];
        }
    }
    total += skew;
    g->trace = trace;
    g->gap = gap;
    g->skew = skew;
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
