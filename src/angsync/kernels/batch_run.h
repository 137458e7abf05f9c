/* The loop over groups, for one instruction set and precision. Included by batch_set.h. */
#define V N(real)
#define M N(whole)
#define D JOIN(real, double, SET)
#define DOUBLE(name) JOIN(name, double, SET)

/* z in its gauge: 1 the first node that has measurements at angle 0, 2 the sum of z positive. Nodes without measurements
 * get the phase 1. */
static void N(settle)(N(group) *g, int gauge) {
    int n = g->n;
    V zero = (V){0}, one = zero + 1, re = zero, im = zero;
    M open = ~(M){0};
    for (int j = 0; j < n; j++) {
        M some = (M)(g->rows[j] > zero) & open;
        re += (V)((M)g->z[2 * j] & some);
        im += (V)((M)g->z[2 * j + 1] & some);
        if (gauge == 1) open &= ~some;
    }
    V inverse = N(inverse_root)(re * re + im * im);
    M turn = (M)(inverse > zero);
    re = N(pick)(turn, re * inverse, one);
    im = N(pick)(turn, im * inverse, zero);
    M first = ~(M){0};
    for (int j = 0; j < n; j++) {
        M some = (M)(g->rows[j] > zero);
        V zr = g->z[2 * j], zi = g->z[2 * j + 1];
        V turned = zr * re + zi * im, across = zi * re - zr * im;
        if (gauge == 1) { /* exactly 1, not to rounding */
            M here = some & first;
            turned = N(pick)(here, one, turned);
            across = N(pick)(here, zero, across);
            first &= ~some;
        }
        g->z[2 * j] = N(pick)(some, turned, one);
        g->z[2 * j + 1] = N(pick)(some, across, zero);
    }
}

/* The proofs of a group, eight lanes at a time, widened to double precision. */
static void N(prove_group)(N(group) *g, const REAL *z, int used, D *work, double *found) {
    int n = g->n;
    int64_t entries = (int64_t)n * (n - 1);
    D *point = work;
    work += 2 * n;
    N(rescale)(g);
    for (int half = 0; half < used; half += 8) {
        DOUBLE(proof) proof;
        for (int lane = 0; lane < 8; lane++)
            for (int j = 0; j < 2 * n; j++) {
                /* lanes that hold no problem repeat the first one */
                int from = half + lane < used ? half + lane : half;
                point[j][lane] = (double)z[2 * (int64_t)n * from + j];
            }
#ifdef GROUP_OF_DOUBLES
        DOUBLE(prove)(n, g->upper, g->rows, point, work, &proof);
        (void)entries;
#else
        typedef float narrow __attribute__((vector_size(32)));
        D *upper = work, *rows = upper + entries;
        narrow part;
        for (int64_t k = 0; k < entries; k++) {
            memcpy(&part, (const float *)&g->upper[k] + half, sizeof part);
            upper[k] = __builtin_convertvector(part, D);
        }
        for (int j = 0; j < n; j++) {
            memcpy(&part, (const float *)&g->rows[j] + half, sizeof part);
            rows[j] = __builtin_convertvector(part, D);
        }
        DOUBLE(prove)(n, upper, rows, point, rows + n, &proof);
#endif
        for (int lane = 0; lane < 8 && half + lane < used; lane++) {
            double *to = found + PLACES * (half + lane), unit = 1 / (double)g->scale[half + lane];
            to[6] = proof.bound[lane] * unit;
            to[7] = proof.objective[lane] * unit;
            to[8] = proof.gradient[lane] * unit;
            to[9] = proof.rows_total[lane] * unit;
            to[10] = proof.rows_norm[lane] * unit;
            to[11] = proof.rows_most[lane] * unit;
            to[12] = proof.moduli[lane] * unit;
            to[13] = proof.nodes[lane];
        }
    }
}

static int N(run)(int64_t count, int n, const REAL *C, const double *start, const options_t *o, REAL *z, double *found,
                  int threads) {
    int64_t groups = (count + LANES - 1) / LANES;
    int failed = 0;
    int64_t pairs = (int64_t)n * (n - 1), padded = n + 4, height = n < 64 ? 64 / n : 1;
    int64_t vectors = pairs + 10 * n + padded * (padded + 1) / 2 + 2 * padded + 2 * height * n + 16;
    int64_t wide = o->certify ? pairs + padded * (padded + 1) + 16 * padded : 0;
    REAL *weights = malloc(sizeof(REAL) * 2 * (size_t)(n * n));
    if (!weights) return -2;
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l <= j; l++) { /* between 1/2 and 1, of either sign, without a pattern */
            double place = 0.6180339887498949 * (double)((j * n + l) * (j * n + l) % 9973);
            REAL weight = (REAL)((0.5 + 0.5 * (place - floor(place))) * ((j * j + 3 * l) % 5 < 2 ? 1 : -1));
            weights[2 * (j * n + l)] = l < j ? weight : 0;
            weights[2 * (l * n + j)] = l < j ? -weight : 0;
            weights[2 * (j * n + l) + 1] = weights[2 * (l * n + j) + 1] = weight;
        }
    size_t bytes = ((size_t)vectors + (size_t)wide) * 64;
#pragma omp parallel num_threads(threads)
    {
        void *memory = malloc(bytes + 64);
        if (!memory) {
#pragma omp atomic write
            failed = 1;
        }
        V *next = (V *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
        N(group) g;
        g.n = n;
        g.upper = next, next += pairs;
        g.rows = next, next += n;
        g.z = next, next += 2 * n;
        g.w = next, next += 2 * n;
        g.old_z = next, next += 2 * n;
        g.old_w = next, next += 2 * n;
        g.factor = next, next += padded * (padded + 1) / 2;
        g.inverse = next, next += padded;
        g.step = next, next += padded;
        g.buffer = next, next += 2 * height * n + 16;
        D *work = (D *)next;
#pragma omp for schedule(dynamic, 16)
        for (int64_t k = 0; k < groups; k++) {
            if (!memory) continue;
            const REAL *source[LANES];
            int64_t first = k * LANES;
            int used = count - first < LANES ? (int)(count - first) : LANES;
            for (int p = 0; p < LANES; p++) source[p] = C + 2 * (int64_t)n * n * (first + (p < used ? p : 0));
            N(read)(&g, source, o->triangle, weights);
            /* a group larger than this would push out of the cache what is being worked on */
            size_t next_bytes = 2 * sizeof(REAL) * (size_t)(n * n) * LANES;
            g.ahead = (const char *)(C + 2 * (int64_t)n * n * (first + LANES));
            g.ahead_end = g.ahead + (count - first >= 2 * LANES && next_bytes <= (size_t)1 << 19 ? next_bytes : 0);
            V objective, residual, iterations;
            M status;
            N(solve)(&g, start, o, &objective, &residual, &iterations, &status);
            N(settle)(&g, o->gauge);
            for (int p = 0; p < used; p++) {
                double *to = found + PLACES * (first + p), unit = 1 / (double)g.scale[p];
                REAL *out = z + 2 * (int64_t)n * (first + p);
                for (int j = 0; j < 2 * n; j++) out[j] = g.z[j][p];
                to[0] = (double)objective[p] * unit + (double)g.trace[p];
                to[1] = (double)residual[p];
                to[2] = (double)iterations[p];
                to[3] = (double)status[p];
                to[4] = (double)g.gap[p];
                to[5] = (double)g.largest[p];
                to[14] = (double)g.trace[p];
            }
            if (o->certify) N(prove_group)(&g, z + 2 * n * first, used, work, found + PLACES * first);
            for (int p = 0; p < used; p++)
                if (!g.finite[p]) {
                    for (int j = 0; j < 2 * n; j++) z[2 * n * (first + p) + j] = (REAL)NAN;
                    found[PLACES * (first + p)] = found[PLACES * (first + p) + 1] = NAN;
                }
        }
        free(memory);
    }
    free(weights);
    return failed ? -2 : 0;
}
#undef V
#undef M
#undef D
#undef DOUBLE
