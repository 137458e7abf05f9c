/* Many small problems at once: every lane of a vector belongs to another problem. Included by batch.c, once for each
 * instruction set and precision, with REAL, WHOLE (the integer of the same size), LANES and N(name) defined.
 *
 * No operation mixes lanes, so the bits of an answer do not depend on who else is in the group. A group keeps the
 * strict upper triangle of C, row after row, as (re, im) pairs of vectors. The diagonal is only added to the objective: on
 * T^n it is a constant.
 */

typedef REAL N(real) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(64)));
typedef WHOLE N(whole) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(64)));
#define V N(real)
#define M N(whole)
#define LOAD(a) ((V){0} + (REAL)(a))

static inline V N(pick)(M mask, V yes, V no) { return (V)((mask & (M)yes) | (~mask & (M)no)); }
static inline V N(size)(V x) { return (V)((M)x & ~((M){0} + SIGN_BIT)); }
static inline V N(larger)(V x, V y) { return N(pick)((M)(x > y), x, y); }

/* 1 / sqrt(x) for normal positive x: a guess from the bits, then Newton steps. 0 where x is below TINY. */
static inline V N(inverse_root)(V x) {
    V half = LOAD(0.5) * x;
    V y = (V)(((M){0} + ROOT_GUESS) - ((M)x >> 1));
    for (int k = 0; k < ROOT_STEPS; k++) y = y * (LOAD(1.5) - half * y * y);
    return N(pick)((M)(x > LOAD(TINY)), y, LOAD(0));
}

/* ------------------------------------------------------------------ from problems to lanes */

/* lanes[r][p] = source[p][r] for r < count */
static void N(transpose)(const REAL *const *source, int64_t offset, int count, V *lanes) {
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

typedef struct {
    int n;
    V *upper;           /* n (n - 1) / 2 pairs */
    V *rows;            /* sums of |re| + |im| over each row: at least the sum of moduli */
    V *z, *w, *old_z, *old_w; /* n pairs each */
    V *factor, *inverse, *step; /* Newton: packed lower triangle, one over its diagonal, right-hand side and solution */
    V *buffer;          /* what the rows of the matrix pass through */
    const char *ahead, *ahead_end; /* the group that comes next, fetched while this one is in the power steps */
    V trace, gap, largest, scale, scale_later;
    M finite;
} N(group);

static inline int64_t N(row)(int n, int j) { return (int64_t)j * (2 * n - j - 1) / 2 - j - 1; } /* + l: entry (j, l) */

/* One number that is 0 for a Hermitian matrix, but for rounding, and not finite if an entry is not: all entries of one
 * problem, re and im, times `weights`, which are opposite for re of (j, l) and (l, j), and equal for im. */
static REAL N(asymmetry)(const REAL *matrix, const REAL *weights, int64_t count) {
    V a = LOAD(0), b = LOAD(0), p, q, c, d;
    REAL sum = 0;
    int64_t k = 0;
    for (; k + 2 * LANES <= count; k += 2 * LANES) {
        memcpy(&p, matrix + k, sizeof p);
        memcpy(&q, weights + k, sizeof q);
        memcpy(&c, matrix + k + LANES, sizeof c);
        memcpy(&d, weights + k + LANES, sizeof d);
        a += p * q;
        b += c * d;
    }
    for (; k < count; k++) sum += matrix[k] * weights[k];
    a += b;
    for (int p = 0; p < LANES; p++) sum += a[p];
    return sum;
}

/* C <- scale C, where a later step wants it so. Powers of two: nothing is rounded. */
static void N(rescale)(N(group) *g) {
    V scale = g->scale_later;
    for (int64_t k = 0; k < (int64_t)g->n * (g->n - 1); k++) g->upper[k] *= scale;
    g->scale_later = LOAD(1);
}

/* Read a group: `triangle` 0 looks at all of C, and keeps the upper one; 1 reads that alone, 2 the lower one. */
static void N(read)(N(group) *g, const REAL *const *source, int triangle, const REAL *weights) {
    int n = g->n;
    V trace = LOAD(0), gap = LOAD(0), largest = LOAD(0), total = LOAD(0), most = LOAD(0);
    if (triangle == 0)
        for (int p = 0; p < LANES; p++) gap[p] = N(asymmetry)(source[p], weights, 2 * (int64_t)n * n);
    for (int j = 0; j < n; j++) g->rows[j] = LOAD(0);
    for (int j = 0; j < n; j++) {
        /* a few entries on the other side of the diagonal fill up the last vectors */
        int least = LANES / 2, from = 0, to = n;
        if (triangle != 2 && n >= least) from = j < n - least ? j : n - least;
        if (triangle == 2) to = j + 1 > least || n < least ? (j + 1) : least;
        N(transpose)(source, 2 * ((int64_t)j * n + from), 2 * (to - from), g->buffer);
        const V *row = g->buffer - 2 * from;
        trace += row[2 * j];
        total += N(size)(row[2 * j]) + N(size)(row[2 * j + 1]);
        if (triangle) gap = N(larger)(N(size)(row[2 * j + 1]), gap);
        largest = N(larger)(N(size)(row[2 * j]), largest);
        V sum = LOAD(0);
        if (triangle != 2) {
            V *kept = g->upper + 2 * N(row)(n, j);
            for (int l = j + 1; l < n; l++) {
                V re = row[2 * l], im = row[2 * l + 1], entry = N(size)(re) + N(size)(im);
                kept[2 * l] = re;
                kept[2 * l + 1] = im;
                largest = N(larger)(entry, largest);
                g->rows[l] += entry;
                sum += entry;
            }
        } else {
            for (int l = 0; l < j; l++) {
                V *kept = g->upper + 2 * (N(row)(n, l) + j);
                V re = row[2 * l], im = -row[2 * l + 1], entry = N(size)(re) + N(size)(im);
                kept[0] = re;
                kept[1] = im;
                largest = N(larger)(entry, largest);
                g->rows[l] += entry;
                sum += entry;
            }
        }
        g->rows[j] += sum;
    }
    for (int j = 0; j < n; j++) {
        most = N(larger)(g->rows[j], most);
        total += g->rows[j];
    }
    total += gap;
    g->trace = trace;
    g->gap = N(size)(gap);
    g->largest = largest;
    g->finite = (M)(total - total == LOAD(0)); /* inf - inf and NaN - NaN are NaN */
    /* A power of two, so that the largest row sum is between 1/2 and 1: nothing overflows, nothing is rounded. Products are
     * scaled when they are done, unless the numbers are so large or small that C itself has to be. */
    int extreme = 0;
    for (int p = 0; p < LANES; p++) {
        int exponent = 0;
        if (g->finite[p] && most[p] > 0) frexp((double)most[p], &exponent);
        if (exponent < LEAST_EXPONENT) exponent = LEAST_EXPONENT;
        extreme |= exponent > 40 || exponent < -40;
        g->scale[p] = (REAL)ldexp(1.0, -exponent);
    }
    g->scale_later = g->scale;
    if (extreme) N(rescale)(g);
    for (int j = 0; j < n; j++) g->rows[j] = (V)((M)(g->rows[j] * g->scale) & g->finite);
}

/* ------------------------------------------------------------------ products */

/* The part of one row inside a block or a tail: y_j += a x_l, y_l += conj(a) x_j */
static inline void N(pair)(V re, V im, const V *xj, const V *xl, V *yj, V *yl) {
    yj[0] += re * xl[0] - im * xl[1];
    yj[1] += re * xl[1] + im * xl[0];
    yl[0] += re * xj[0] + im * xj[1];
    yl[1] += re * xj[1] - im * xj[0];
}

/* y = C x. Two lines of what lies `ahead`, up to `end`, are fetched in every round of the inner loop; returns where that
 * stopped. */
static inline __attribute__((always_inline)) const char *N(multiply)(int n, const V *restrict upper, const V *restrict x,
                                                                     V *restrict y, const char *ahead, const char *end) {
    for (int j = 0; j < 2 * n; j++) y[j] = LOAD(0);
    int j = 0;
    for (; j + 4 <= n; j += 4) { /* four rows share the loads and stores of x_l and y_l */
        const V *r0 = upper + 2 * N(row)(n, j), *r1 = upper + 2 * N(row)(n, j + 1);
        const V *r2 = upper + 2 * N(row)(n, j + 2), *r3 = upper + 2 * N(row)(n, j + 3);
        const V *x0 = x + 2 * j;
        V *y0 = y + 2 * j;
        for (int a = 0; a < 4; a++)
            for (int b = a + 1; b < 4; b++) {
                const V *c = upper + 2 * (N(row)(n, j + a) + j + b);
                N(pair)(c[0], c[1], x0 + 2 * a, x0 + 2 * b, y0 + 2 * a, y0 + 2 * b);
            }
        V p0 = y0[0], q0 = y0[1], p1 = y0[2], q1 = y0[3], p2 = y0[4], q2 = y0[5], p3 = y0[6], q3 = y0[7];
        V s0 = x0[0], t0 = x0[1], s1 = x0[2], t1 = x0[3], s2 = x0[4], t2 = x0[5], s3 = x0[6], t3 = x0[7];
        for (int l = j + 4; l < n; l++) {
            if (ahead < end) {
                __builtin_prefetch(ahead, 0, 2);
                __builtin_prefetch(ahead + 64, 0, 2);
                ahead += 128;
            }
            V s = x[2 * l], t = x[2 * l + 1], u = y[2 * l], v = y[2 * l + 1], re, im;
#define ROW(k)                                                                                                         \
    re = r##k[2 * l];                                                                                                  \
    im = r##k[2 * l + 1];                                                                                              \
    p##k += re * s;                                                                                                    \
    q##k += re * t;                                                                                                    \
    u += re * s##k;                                                                                                    \
    v += re * t##k;                                                                                                    \
    p##k -= im * t;                                                                                                    \
    q##k += im * s;                                                                                                    \
    u += im * t##k;                                                                                                    \
    v -= im * s##k;
            ROW(0)
            ROW(1)
            ROW(2)
            ROW(3)
#undef ROW
            y[2 * l] = u;
            y[2 * l + 1] = v;
        }
        y0[0] = p0, y0[1] = q0, y0[2] = p1, y0[3] = q1, y0[4] = p2, y0[5] = q2, y0[6] = p3, y0[7] = q3;
    }
    for (; j < n; j++) {
        const V *row = upper + 2 * N(row)(n, j);
        for (int l = j + 1; l < n; l++) N(pair)(row[2 * l], row[2 * l + 1], x + 2 * j, x + 2 * l, y + 2 * j, y + 2 * l);
    }
    return ahead;
}

static void N(product)(int n, const V *upper, V scale, const V *x, V *y) {
    N(multiply)(n, upper, x, y, NULL, NULL);
    for (int j = 0; j < 2 * n; j++) y[j] *= scale;
}

static void N(product_fetching)(N(group) *g, const V *x, V *y) {
    g->ahead = N(multiply)(g->n, g->upper, x, y, g->ahead, g->ahead_end);
}

/* ------------------------------------------------------------------ the solve */

static int N(any)(M mask) {
    WHOLE found = 0;
    for (int p = 0; p < LANES; p++) found |= mask[p];
    return found != 0;
}

/* Power steps x <- (C + shift) x from the start, into g->w; returns the Rayleigh quotient of C and the growth |C x| / |x| at
 * the last vector but one. A lane is done before `steps` once x and its image point the same way, to within SETTLED. */
static void N(power)(N(group) *g, const double *start, int steps, V shift, V *quotient, V *growth) {
    int n = g->n;
    V *x = g->old_z, *y = g->old_w, *kept = g->w, scale = g->scale_later;
    M going = ~(M){0};
    *quotient = *growth = LOAD(0);
    for (int j = 0; j < 2 * n; j++) x[j] = LOAD(start[j]);
    for (int k = 0; k < steps && N(any)(going); k++) {
        V overlap = LOAD(0), size = LOAD(0), image = LOAD(0), norm = LOAD(0);
        N(product_fetching)(g, x, y);
        for (int j = 0; j < 2 * n; j++) {
            V value = y[j] * scale, shifted = value + shift * x[j];
            overlap += x[j] * value;
            size += x[j] * x[j];
            image += value * value;
            norm += shifted * shifted;
            y[j] = shifted;
        }
        V inverse = N(inverse_root)(size), along = overlap + shift * size;
        M settled = (M)(along * along >= LOAD(1 - SETTLED * SETTLED) * size * norm) & (M)(along > LOAD(0));
        M last = going & (settled | (k + 1 == steps ? ~(M){0} : (M){0}));
        *quotient = N(pick)(last, overlap * inverse * inverse, *quotient);
        *growth = N(pick)(last, image * N(inverse_root)(image) * inverse, *growth);
        V unit = N(inverse_root)(norm);
        for (int j = 0; j < 2 * n; j++) {
            y[j] *= unit;
            kept[j] = N(pick)(last, y[j], kept[j]);
        }
        going &= ~last;
        V *other = x;
        x = y, y = other;
    }
    if (steps == 0) memcpy(kept, x, sizeof(V) * 2 * (size_t)n);
}

/* z <- w / |w|, the old phase where w vanishes */
static void N(phases)(int n, const V *w, const V *old, V *z) {
    for (int j = 0; j < 2 * n; j += 2) {
        V square = w[j] * w[j] + w[j + 1] * w[j + 1], inverse = N(inverse_root)(square);
        M some = (M)(inverse > LOAD(0));
        z[j] = N(pick)(some, w[j] * inverse, old[j]);
        z[j + 1] = N(pick)(some, w[j + 1] * inverse, old[j + 1]);
    }
}

/* One block of dot products of rows a.. of the factor with rows b..: c_ab -= sum_k L_ak L_bk */
static inline void N(block)(V *restrict c, const V *a0, const V *a1, const V *a2, const V *a3, const V *b0, const V *b1,
                            const V *b2, const V *b3, int count) {
    V c00 = c[0], c01 = c[1], c02 = c[2], c03 = c[3], c10 = c[4], c11 = c[5], c12 = c[6], c13 = c[7];
    V c20 = c[8], c21 = c[9], c22 = c[10], c23 = c[11], c30 = c[12], c31 = c[13], c32 = c[14], c33 = c[15];
    for (int k = 0; k < count; k++) {
        V s = b0[k], t = b1[k], u = b2[k], v = b3[k], a;
        a = a0[k]; c00 -= a * s; c01 -= a * t; c02 -= a * u; c03 -= a * v;
        a = a1[k]; c10 -= a * s; c11 -= a * t; c12 -= a * u; c13 -= a * v;
        a = a2[k]; c20 -= a * s; c21 -= a * t; c22 -= a * u; c23 -= a * v;
        a = a3[k]; c30 -= a * s; c31 -= a * t; c32 -= a * u; c33 -= a * v;
    }
    c[0] = c00, c[1] = c01, c[2] = c02, c[3] = c03, c[4] = c10, c[5] = c11, c[6] = c12, c[7] = c13;
    c[8] = c20, c[9] = c21, c[10] = c22, c[11] = c23, c[12] = c30, c[13] = c31, c[14] = c32, c[15] = c33;
}

/* The step t of (H + damping |w|) t = b by a Cholesky factorisation. H = Diag(s) - Re(Z^H C Z) has the global phase, and
 * every node without measurements, in its null space: a pivot that is nothing but rounding is left out, and so is that
 * coordinate of t. Returns the lanes where H is positive semidefinite beyond that. */
static M N(newton)(N(group) *g, V damping) {
    int n = g->n, padded = (n + 3) & ~3;
    V *L = g->factor, *t = g->step, grain = LOAD(8 * EPSILON) * (REAL)n;
    const V *z = g->z, *w = g->w;
    M good = ~(M){0};
#define AT(i) (L + (int64_t)(i) * ((i) + 1) / 2)
    for (int i = 0; i < n; i++) {
        V *row = AT(i), zr = z[2 * i], zi = z[2 * i + 1];
        for (int j = 0; j < i; j++) { /* C_ij = conj(C_ji), and Re(conj(z_j) C_ji z_i) is the same */
            const V *c = g->upper + 2 * (N(row)(n, j) + i);
            V re = c[0] * zr - c[1] * zi, im = c[0] * zi + c[1] * zr;
            row[j] = -g->scale_later * (z[2 * j] * re + z[2 * j + 1] * im);
        }
        V s = zr * w[2 * i] + zi * w[2 * i + 1], b = zr * w[2 * i + 1] - zi * w[2 * i];
        row[i] = s + damping * (N(size)(s) + N(size)(b));
        t[i] = b;
    }
    for (int i = n; i < padded; i++) {
        for (int j = 0; j <= i; j++) AT(i)[j] = LOAD(0);
        t[i] = LOAD(0);
    }
    for (int i = 0; i < padded; i += 4) {
        V *a0 = AT(i), *a1 = AT(i + 1), *a2 = AT(i + 2), *a3 = AT(i + 3), *a[4] = {a0, a1, a2, a3};
        V c[16];
        for (int j = 0; j < i; j += 4) {
            V *b[4] = {AT(j), AT(j + 1), AT(j + 2), AT(j + 3)};
            for (int p = 0; p < 4; p++)
                for (int q = 0; q < 4; q++) c[4 * p + q] = a[p][j + q];
            N(block)(c, a0, a1, a2, a3, b[0], b[1], b[2], b[3], j);
            for (int q = 0; q < 4; q++)
                for (int p = 0; p < 4; p++) {
                    V value = c[4 * p + q];
                    for (int r = 0; r < q; r++) value -= c[4 * p + r] * b[q][j + r];
                    a[p][j + q] = c[4 * p + q] = value * g->inverse[j + q];
                }
        }
        for (int p = 0; p < 4; p++)
            for (int q = 0; q < 4; q++) c[4 * p + q] = q <= p ? a[p][i + q] : LOAD(0);
        V before[4] = {c[0], c[5], c[10], c[15]};
        N(block)(c, a0, a1, a2, a3, a0, a1, a2, a3, i);
        for (int q = 0; q < 4; q++) {
            V pivot = c[5 * q], level = grain * N(size)(before[q]);
            M some = (M)(pivot > level);
            good &= (M)(pivot >= -level);
            V inverse = (V)((M)N(inverse_root)(pivot) & some);
            g->inverse[i + q] = inverse;
            for (int p = q + 1; p < 4; p++) {
                c[4 * p + q] *= inverse;
                a[p][i + q] = c[4 * p + q];
            }
            for (int p = q + 1; p < 4; p++)
                for (int r = q + 1; r <= p; r++) c[4 * p + r] -= c[4 * p + q] * c[4 * r + q];
        }
    }
    for (int i = 0; i < n; i++) {
        const V *row = AT(i);
        V value = t[i], other = LOAD(0);
        int k = 0;
        for (; k + 2 <= i; k += 2) {
            value -= row[k] * t[k];
            other -= row[k + 1] * t[k + 1];
        }
        if (k < i) value -= row[k] * t[k];
        t[i] = (value + other) * g->inverse[i];
    }
    for (int i = n - 1; i >= 0; i--) {
        const V *row = AT(i);
        V value = t[i] * g->inverse[i];
        t[i] = value;
        for (int k = 0; k < i; k++) t[k] -= row[k] * value;
    }
#undef AT
    return good;
}

/* f = z^H C z, |Im(conj(z) w)|^2 and |w|^2 */
static void N(measure)(int n, const V *z, const V *w, V *objective, V *gradient, V *image) {
    V f = LOAD(0), square = LOAD(0), size = LOAD(0);
    for (int j = 0; j < 2 * n; j += 2) {
        V s = z[j] * w[j] + z[j + 1] * w[j + 1], b = z[j] * w[j + 1] - z[j + 1] * w[j];
        f += s;
        square += b * b;
        size += w[j] * w[j] + w[j + 1] * w[j + 1];
    }
    *objective = f, *gradient = square, *image = size;
}

static void N(solve)(N(group) *g, const double *start, const options_t *o, V *objective, V *residual, V *iterations,
                     M *status) {
    int n = g->n;
    V shift = LOAD(0), quotient, growth;
    V *guess = g->z; /* phases of the start, for entries that vanish */
    N(power)(g, start, o->power_steps, shift, &quotient, &growth);
    M again = (M)(quotient < LOAD(0.5) * growth);
    if (N(any)(again)) {
        /* The other end of the spectrum is as large: with the shift |C x| / |x| it moves to 0, or near to it. */
        shift = (V)((M)growth & again);
        memcpy(g->buffer, g->w, sizeof(V) * 2 * (size_t)n);
        N(power)(g, start, o->power_steps, shift, &quotient, &growth);
        for (int j = 0; j < 2 * n; j++) g->w[j] = N(pick)(again, g->w[j], g->buffer[j]);
    }
    for (int j = 0; j < 2 * n; j++) guess[j] = LOAD(start[j]);
    memcpy(g->buffer, g->w, sizeof(V) * 2 * (size_t)n);
    N(phases)(n, g->buffer, guess, g->z);

    V sums = LOAD(0);
    for (int j = 0; j < n; j++) sums += g->rows[j] * g->rows[j];
    V floor = LOAD(16 * EPSILON * EPSILON) * sums, tolerance = LOAD(o->tolerance * o->tolerance);
    V best = LOAD(0), best_gradient = LOAD(0), best_image = LOAD(0), count = LOAD(0), damping = LOAD(0);
    V refusals = LOAD(0);
    M going = g->finite, code = (M){0} + (WHOLE)1, by_newton = (M){0};
    code = (code & g->finite) | (~g->finite & ((M){0} + (WHOLE)2));
    for (int k = 0;; k++) {
        V f, gradient, image;
        N(product)(n, g->upper, g->scale_later, g->z, g->w);
        N(measure)(n, g->z, g->w, &f, &gradient, &image);
        if (k == 0) {
            best = f, best_gradient = gradient, best_image = image;
        } else {
            /* a larger objective; where rounding cannot tell them apart, the smaller residual */
            V noise = LOAD(16 * EPSILON) * N(size)(best);
            M better = (M)(f > best + noise) | ((M)(f >= best - noise) & (M)(gradient * best_image < best_gradient * image));
            better &= going;
            M refused = going & ~better;
            best = N(pick)(better, f, best);
            best_gradient = N(pick)(better, gradient, best_gradient);
            best_image = N(pick)(better, image, best_image);
            if (N(any)(~better)) {
                for (int j = 0; j < 2 * n; j++) {
                    g->z[j] = N(pick)(better, g->z[j], g->old_z[j]);
                    g->w[j] = N(pick)(better, g->w[j], g->old_w[j]);
                }
                /* a shift of 1, the largest row sum, makes every step of the power method an ascent */
                V more = N(pick)((M)(shift > LOAD(0)), shift + shift, LOAD(0.125));
                shift = N(pick)(refused & ~by_newton, more, shift);
                more = N(larger)(LOAD(4) * damping, LOAD(0.0625));
                damping = N(pick)(refused & by_newton, more, damping);
            }
            V less = damping * LOAD(0.125);
            less = (V)((M)less & (M)(less > LOAD(0.015)));
            damping = N(pick)(better & by_newton, less, damping);
            refusals = N(pick)(refused, refusals + LOAD(1), LOAD(0));
            M stalled = going & (M)(refusals > LOAD(12));
            code = (stalled & ((M){0} + (WHOLE)3)) | (~stalled & code);
            going &= ~stalled;
        }
        M done = going & ((M)(best_gradient <= tolerance * best_image) | (M)(best_gradient <= floor));
        code &= ~done;
        going &= ~done;
        if (!N(any)(going) || k >= o->max_iterations) break;
        count += (V)((M)LOAD(1) & going);
        by_newton = (M){0};
        if (k >= o->gpm_steps) {
            by_newton = N(newton)(g, damping);
            V more = N(larger)(LOAD(4) * damping, LOAD(0.0625));
            damping = N(pick)(going & ~by_newton, more, damping);
        }
        for (int j = 0; j < 2 * n; j += 2) {
            V zr = g->z[j], zi = g->z[j + 1], wr = g->w[j], wi = g->w[j + 1];
            g->old_z[j] = zr, g->old_z[j + 1] = zi, g->old_w[j] = wr, g->old_w[j + 1] = wi;
            V vr = wr + shift * zr, vi = wi + shift * zi;
            if (k >= o->gpm_steps) { /* z (1 + i t), brought back to the circle */
                V t = g->step[j / 2];
                vr = N(pick)(by_newton, zr - t * zi, vr);
                vi = N(pick)(by_newton, zi + t * zr, vi);
            }
            V inverse = N(inverse_root)(vr * vr + vi * vi);
            M move = going & (M)(inverse > LOAD(0));
            g->z[j] = N(pick)(move, vr * inverse, zr);
            g->z[j + 1] = N(pick)(move, vi * inverse, zi);
        }
    }
    V small = best_image * N(inverse_root)(best_image);
    V size = best_gradient * N(inverse_root)(best_gradient);
    M real = (M)(best_gradient > floor) & (M)(best_image > LOAD(TINY));
    *residual = (V)((M)(size / N(pick)(real, small, LOAD(1))) & real);
    *objective = best;
    *iterations = count;
    *status = code;
}
#undef V
#undef M
#undef LOAD
