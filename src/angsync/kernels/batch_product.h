/* Products with the matrices of a group of problems. Included by batch_set.h after batch_lanes.h. */
#define V N(real)
#define M N(whole)
#define LOAD(a) ((V){0} + (REAL)(a))

/* The part of one row inside a block or a tail: y_j += a x_l, y_l += conj(a) x_j */
static inline void N(pair)(V re, V im, const V *xj, const V *xl, V *yj, V *yl) {
    yj[0] += re * xl[0] - im * xl[1];
    yj[1] += re * xl[1] + im * xl[0];
    yl[0] += re * xj[0] + im * xj[1];
    yl[1] += re * xj[1] - im * xj[0];
}

/* y = C x. A line or a few of what lies `ahead`, up to `end`, are fetched in every round of the inner loop; returns
 * where that stopped. More at a time than the core can wait for would hold up the product itself. */
static inline __attribute__((always_inline)) const char *
N(multiply)(int n, const V *restrict upper, const V *restrict x, V *restrict y, const char *ahead, const char *end) {
    for (int j = 0; j < 2 * n; j++) y[j] = LOAD(0);
    int j = 0, lines = n < 16 ? 4 : 1;
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
                for (int line = 0; line < lines; line++) __builtin_prefetch(ahead + 64 * line, 0, 2);
                ahead += 64 * lines;
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

/* The same for the matrices of a group, not scaled, while the next group is on its way from the memory to the cache. */
static void N(product_fetching)(N(group) *g, const V *x, V *y) {
    g->ahead = N(multiply)(g->n, g->upper, x, y, g->ahead, g->ahead_end);
}
#undef V
#undef M
#undef LOAD
