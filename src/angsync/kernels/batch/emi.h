/* -|Gamma|^-1 o C for many small problems: every lane of a vector belongs to another one. Included by
 * batch.c once, with N(name) naming the lanes of doubles, after lanes.h. */

/* Minus the inverse of the symmetric matrices in a, whose row i has i + 1 entries from a + i n on, in place: the sweep
 * operator, node after node. Its pivots are those of Cholesky. Returns the lanes where all of them are positive. */
static M N(sweep)(int n, V *a, V *column) {
    M good = ~(M){0};
    for (int k = 0; k < n; k++) {
        V pivot = a[(int64_t)k * n + k];
        good &= (M)(pivot > (V){0});
        V over = 1.0 / N(pick)((M)(pivot > (V){0}), pivot, (V){0} + 1.0);
        for (int i = 0; i < n; i++) column[i] = i < k ? a[(int64_t)k * n + i] : a[(int64_t)i * n + k];
        for (int i = 0; i < n; i++) {
            V *row = a + (int64_t)i * n, factor = column[i] * over;
            if (i == k) {
                for (int j = 0; j < k; j++) row[j] = column[j] * over;
                row[k] = -over;
                continue;
            }
            int before = i < k ? i + 1 : k;
            for (int j = 0; j < before; j++) row[j] -= factor * column[j];
            if (i < k) continue;
            row[k] = factor;
            for (int j = k + 1; j <= i; j++) row[j] -= factor * column[j];
        }
    }
    return good;
}

/* The largest sum of moduli of a row, NaN where an entry is not finite. */
static V N(row_norm)(int n, const V *a, V *sums) {
    V most = (V){0}, total = most;
    for (int i = 0; i < n; i++) {
        sums[i] = (V){0};
        for (int j = 0; j <= i; j++) {
            V size = N(size)(a[(int64_t)i * n + j]);
            sums[i] += size;
            if (j < i) sums[j] += size;
        }
    }
    for (int i = 0; i < n; i++) most = N(larger)(sums[i], most), total += sums[i];
    return most + (total - total);
}

/* Problems first.. of the call; a, kept: n^2 vectors each. */
static void N(emi_group)(const emi_t *call, int64_t first, int used, V *a, V *kept, V *column) {
    int n = call->n;
    int64_t size = (int64_t)n * n;
    double *lanes = (double *)a; /* entry k of problem p is lanes[LANES k + p] */
    int uneven[LANES] = {0};
    for (int p = 0; p < LANES; p++) {
        int64_t at = first + (p < used ? p : 0); /* lanes that hold no problem repeat the first one */
        double beta = call->beta[at];
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) { /* the upper triangle, as everywhere */
                double value = emi_modulus(call, at * size + (int64_t)j * n + i);
                double mirrored = call->given ? emi_modulus(call, at * size + (int64_t)i * n + j) : value;
                if (fabs(value - mirrored) > call->askew * fmax(fabs(value), fabs(mirrored))) uneven[p] = 1;
                lanes[LANES * ((int64_t)i * n + j) + p] = (1 - beta) * value + (i == j ? beta : 0);
            }
    }
    memcpy(kept, a, sizeof(V) * (size_t)size);
    V before = N(row_norm)(n, a, column);
    M positive = N(sweep)(n, a, column);
    for (int p = 0; p < used; p++) {
        if (positive[p] || !(before[p] - before[p] == 0)) continue;
        double *work = (double *)column; /* 2 n^2 + n doubles, for one problem */
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) work[i * n + j] = i < j ? kept[j * n + i][p] : kept[i * n + j][p];
        emi_invert(n, work, work + size);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) a[i * n + j][p] = -(work[size + i * n + j] + work[size + j * n + i]) / 2;
    }
    V after = N(row_norm)(n, a, column);
    for (int p = 0; p < used; p++) {
        double condition = before[p] * after[p];
        int invertible = condition <= call->limit;
        call->state[first + p] = (int8_t)(uneven[p] ? EMI_UNEVEN : !invertible ? EMI_SINGULAR : !positive[p]);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double factor = lanes[LANES * (i < j ? j * n + i : i * n + j) + p];
                emi_write(call, (first + p) * size + (int64_t)i * n + j, invertible ? factor : NAN);
            }
    }
}

/* -|Gamma|^-1 o C of every problem. Returns -2 without memory. */
int batch_emi(const emi_t *call) {
    int64_t groups = (call->count + LANES - 1) / LANES;
    int n = call->n, failed = 0;
    size_t square = sizeof(V) * (size_t)n * (size_t)n;
#pragma omp parallel num_threads(call->threads)
    {
        void *memory = malloc(2 * square + sizeof(V) * (size_t)n + sizeof(double) * (2 * (size_t)n * (size_t)n) + 64);
        if (!memory) {
#pragma omp atomic write
            failed = 1;
        }
        V *a = (V *)(((uintptr_t)memory + 63) & ~(uintptr_t)63), *kept = a + (int64_t)n * n;
#pragma omp for schedule(static)
        for (int64_t k = 0; k < groups; k++) {
            int64_t first = LANES * k, left = call->count - first;
            if (memory) N(emi_group)(call, first, left < LANES ? (int)left : LANES, a, kept, kept + (int64_t)n * n);
        }
        free(memory);
    }
    return failed ? -2 : 0;
}
