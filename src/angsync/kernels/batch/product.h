/* Products with the matrices of a group of problems. Included by batch.c after lanes.h. */

/* What `height` rows of the upper triangle, at most 4, do to y = C x: all of y_j for these rows, scaled, and their part
 * of y_l below. The rows share the loads and stores of x_l and y_l. `fresh`: nothing has been added to y yet. The
 * entries between the rows themselves come last: first, everything after them would wait for their chain of sums.
 *
 * A line of what lies `ahead`, up to `end`, is fetched in every round; returns where that stopped. */
static inline __attribute__((always_inline)) const char *
N(strip)(int n, int j, int height, int fresh, const V *restrict upper, V scale, const V *restrict x, V *restrict y,
         const char *ahead, const char *end) {
    const V *row[4];
    V xr[4], xi[4], yr[4], yi[4];
    for (int k = 0; k < height; k++) {
        row[k] = upper + 2 * N(row)(n, j + k);
        xr[k] = x[2 * (j + k)], xi[k] = x[2 * (j + k) + 1];
        yr[k] = fresh ? LOAD(0) : y[2 * (j + k)], yi[k] = fresh ? LOAD(0) : y[2 * (j + k) + 1];
    }
    for (int l = j + height; l < n; l++) {
        V s = x[2 * l], t = x[2 * l + 1], u = fresh ? LOAD(0) : y[2 * l], v = fresh ? LOAD(0) : y[2 * l + 1];
        ahead = N(fetch)(ahead, end, 1);
        for (int k = 0; k < height; k++) {
            V re = row[k][2 * l], im = row[k][2 * l + 1];
            yr[k] += re * s, yi[k] += re * t, u += re * xr[k], v += re * xi[k];
            yr[k] -= im * t, yi[k] += im * s, u += im * xi[k], v -= im * xr[k];
        }
        y[2 * l] = u, y[2 * l + 1] = v;
    }
    /* written out: compilers leave loops over both a and b as loops, and these sums in memory */
#define BETWEEN(a, b)                                                                                                  \
    if (b < height) {                                                                                                  \
        V re = row[a][2 * (j + b)], im = row[a][2 * (j + b) + 1];                                                      \
        yr[a] += re * xr[b], yi[a] += re * xi[b], yr[b] += re * xr[a], yi[b] += re * xi[a];                            \
        yr[a] -= im * xi[b], yi[a] += im * xr[b], yr[b] += im * xi[a], yi[b] -= im * xr[a];                            \
    }
    BETWEEN(0, 1)
    BETWEEN(2, 3)
    BETWEEN(0, 2)
    BETWEEN(1, 3)
    BETWEEN(0, 3)
    BETWEEN(1, 2)
#undef BETWEEN
    for (int k = 0; k < height; k++) y[2 * (j + k)] = yr[k] * scale, y[2 * (j + k) + 1] = yi[k] * scale;
    return ahead;
}

/* y = scale C x, n at least 2. */
static inline __attribute__((always_inline)) const char *
N(multiply)(int n, const V *upper, V scale, const V *x, V *y, const char *ahead, const char *end) {
    int j = n < 4 ? 2 : 4;
    if (n < 4)
        N(strip)(n, 0, 2, 1, upper, scale, x, y, ahead, end);
    else
        ahead = N(strip)(n, 0, 4, 1, upper, scale, x, y, ahead, end);
    for (; j + 4 <= n; j += 4) ahead = N(strip)(n, j, 4, 0, upper, scale, x, y, ahead, end);
    if (n - j == 3) N(strip)(n, j, 3, 0, upper, scale, x, y, ahead, end);
    if (n - j == 2) N(strip)(n, j, 2, 0, upper, scale, x, y, ahead, end);
    if (n - j == 1) N(strip)(n, j, 1, 0, upper, scale, x, y, ahead, end);
    return ahead;
}

static void N(product)(int n, const V *upper, V scale, const V *x, V *y) {
    N(multiply)(n, upper, scale, x, y, NULL, NULL);
}

/* The same for the matrices of a group, while the next group is on its way from the memory to the cache. */
static void N(product_fetching)(N(group) *g, const V *x, V *y) {
    g->ahead = N(multiply)(g->n, g->upper, g->scale_later, x, y, g->ahead, g->ahead_end);
}
