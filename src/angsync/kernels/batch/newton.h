/* Newton steps for a group of problems. Included by batch.c after lanes.h. */

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

/* The step t of (H + damping |w|) t = b by a Cholesky factorization. H = Diag(s) - Re(Z^H C Z) has the global phase,
 * and every node without measurements, in its null space: a pivot that is nothing but rounding is left out, and so
 * is that coordinate of t. Returns the lanes where H is positive semidefinite beyond that. */
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
