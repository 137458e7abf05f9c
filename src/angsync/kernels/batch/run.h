/* The loop over groups, for one precision. Included by batch.c.
 *
 * A group waits for its slowest lane, and a Newton step costs as much as several power steps. So a few lanes that
 * want Newton steps leave their group, as soon as they are few enough; when a whole group of such problems has come
 * together, they are read again and go on from where they were.
 */

/* Lanes half.. of a group of singles, or all of a group of doubles, made ready for the proof in double precision. */
static void N(widen)(const N(group) *g, int half, D *work, DOUBLE(proof) *proof) {
    int n = g->n;
    int64_t entries = (int64_t)n * (n - 1);
    D *point = work, *room = work + 2 * n;
#ifdef GROUP_OF_DOUBLES
    (void)half, (void)entries;
    memcpy(point, g->z, sizeof(V) * 2 * (size_t)n);
    DOUBLE(examine)(n, g->upper, g->rows, point, room, proof);
#else
    typedef float narrow __attribute__((vector_size(VECTOR_BYTES / 2)));
    D *rows = room + 3 * n, *upper = rows + n;
    narrow part;
#define WIDEN(from, to, count)                                                                                         \
    for (int64_t k = 0; k < (count); k++) {                                                                            \
        memcpy(&part, (const float *)&(from)[k] + half, sizeof part);                                                  \
        (to)[k] = __builtin_convertvector(part, D);                                                                    \
    }
    WIDEN(g->z, point, 2 * n)
    WIDEN(g->rows, rows, n)
    WIDEN(g->upper, upper, entries)
#undef WIDEN
    DOUBLE(examine)(n, upper, rows, point, room, proof);
#endif
}

/* What was found at the points of WIDE lanes, in the units of C. The residual in double precision is that of the point
 * returned; what the steps of singles knew of it is good to about their precision. */
static void N(report)(const N(group) *g, int half, const int64_t *index, const DOUBLE(proof) *proof,
                      const numbers_t *numbers, int64_t count) {
    for (int lane = 0; lane < WIDE; lane++) {
        if (index[half + lane] < 0) continue;
        double *to = numbers->found + index[half + lane], unit = 1 / (double)g->scale[half + lane];
        numbers->residual[index[half + lane]] = proof->image[lane] > 0 ? proof->gradient[lane] / proof->image[lane] : 0;
        to[BOUND * count] = proof->bound[lane] * unit;
        to[BARE_OBJECTIVE * count] = proof->matter.objective[lane] * unit;
        to[GRADIENT * count] = proof->gradient[lane] * unit;
        to[ROWS_TOTAL * count] = proof->rows_total[lane] * unit;
        to[ROWS_NORM * count] = proof->rows_norm[lane] * unit;
        to[ROWS_MOST * count] = proof->matter.most[lane] * unit;
        to[MODULI * count] = proof->moduli[lane] * unit;
        to[NODES * count] = proof->matter.nodes[lane];
    }
}

/* The proofs of the lanes with an index. Singles are factored in single precision first: its bound says enough,
 * unless S is nearly singular. */
static void N(prove_group)(N(group) *g, const int64_t *index, D *work, const numbers_t *numbers, int64_t count) {
    int n = g->n;
    M open = (M){0};
    for (int p = 0; p < LANES; p++) open[p] = index[p] < 0 ? 0 : -1;
    N(rescale)(g);
#ifdef GROUP_OF_DOUBLES
    DOUBLE(proof) proof;
    N(widen)(g, 0, work, &proof);
    N(bounds)(&proof.matter, open, work + 5 * n, &proof.bound);
    N(report)(g, 0, index, &proof, numbers, count);
#else
    typedef float narrow __attribute__((vector_size(VECTOR_BYTES / 2)));
    D *spare = work + 6 * n + (int64_t)n * (n - 1);
    V *u = (V *)spare, *s = u + 2 * n, bound;
    spare += 3 * n;
    N(matter) matter = {n, g->upper, g->rows, u, s, {0}, {0}, {0}, {0}, {0}, {0}};
    DOUBLE(proof) proof[2];
    for (int half = 0; half < LANES; half += WIDE) {
        DOUBLE(proof) *here = &proof[half / WIDE];
        narrow part;
        N(widen)(g, half, work, here);
#define NARROW(name)                                                                                                   \
    part = __builtin_convertvector(here->matter.name, narrow);                                                         \
    memcpy((float *)&matter.name + half, &part, sizeof part);
        for (int j = 0; j < 2 * n; j++) { NARROW(u[j]) }
        for (int j = 0; j < n; j++) { NARROW(s[j]) }
        NARROW(lift)
        NARROW(nodes)
        NARROW(objective)
        NARROW(most)
        NARROW(largest)
        NARROW(least)
#undef NARROW
    }
    M weak = N(bounds)(&matter, open, (V *)spare, &bound);
    for (int half = 0; half < LANES; half += WIDE) {
        DOUBLE(proof) *here = &proof[half / WIDE];
        DOUBLE(whole) again;
        int some = 0;
        for (int lane = 0; lane < WIDE; lane++) {
            again[lane] = weak[half + lane];
            some |= weak[half + lane] != 0;
        }
        if (some) {
            N(widen)(g, half, work, here);
            DOUBLE(bounds)(&here->matter, again, spare, &here->bound);
        }
        for (int lane = 0; lane < WIDE; lane++) {
            double narrow_bound = (double)bound[half + lane];
            if (!again[lane] || here->bound[lane] < narrow_bound) here->bound[lane] = narrow_bound;
        }
        N(report)(g, half, index, here, numbers, count);
    }
#endif
}

/* How many measurements the problem of each lane has. */
static M N(measured)(const N(group) *g) {
    M count = (M){0};
    for (int64_t k = 0; k < (int64_t)g->n * (g->n - 1); k += 2)
        count -= (M)(g->upper[k] != LOAD(0)) | (M)(g->upper[k + 1] != LOAD(0));
    return count;
}

/* What a thread works with. */
typedef struct {
    N(group) g;
    D *work;
    int waiting;      /* problems that left their group, at most 2 LANES - 1 */
    int64_t *indices; /* which they are, */
    REAL *carried;    /* and their z and state, 2 n + STATE_NUMBERS numbers each */
} N(bench);

/* The numbers of a state are its first vectors. */
static void N(set_aside)(N(bench) *bench, int64_t index, int p, N(state) *state) {
    int n = bench->g.n;
    REAL *to = bench->carried + (int64_t)bench->waiting * (2 * n + STATE_NUMBERS);
    for (int j = 0; j < 2 * n; j++) to[j] = bench->g.z[j][p];
    for (int k = 0; k < STATE_NUMBERS; k++) to[2 * n + k] = (&state->shift)[k][p];
    bench->indices[bench->waiting++] = index;
}

static void N(take_up)(N(bench) *bench, int used, N(state) *state) {
    N(group) *g = &bench->g;
    int n = g->n;
    *state = (N(state)){0};
    state->code = (M){0} + (WHOLE)1;
    bench->waiting -= used;
    for (int p = 0; p < LANES; p++) {
        const REAL *from = bench->carried + (int64_t)(bench->waiting + (p < used ? p : 0)) * (2 * n + STATE_NUMBERS);
        for (int j = 0; j < 2 * n; j++) g->z[j][p] = from[j];
        for (int k = 0; k < STATE_NUMBERS; k++) (&state->shift)[k][p] = from[2 * n + k];
        state->going[p] = p < used ? -1 : 0;
    }
    N(product)(n, g->upper, g->scale_later, g->z, g->w);
}

/* Problems first.. of the call, or with first = -1 those that have waited longest among the `used` last. Returns how
 * many of those that have ended may not be Hermitian. */
static int N(group_of)(N(bench) *bench, const batch_t *call, int64_t first, int used, int few) {
    N(group) *g = &bench->g;
    int n = g->n, suspects = 0;
    int64_t size = 2 * (int64_t)n * n, index[LANES];
    const options_t *o = &call->options;
    const REAL *C = call->C, *source[LANES];
    REAL *z = call->z;
    N(state) state;
    for (int p = 0; p < LANES; p++) {
        int lane = p < used ? p : 0; /* lanes that hold no problem repeat the first one */
        index[p] = first >= 0 ? first + lane : bench->indices[bench->waiting - used + lane];
        source[p] = C + size * index[p];
        if (p >= used) index[p] = -1;
    }
    for (int p = 0; p < LANES && o->swept == OWN_START; p++) {
        const double *own = call->start + (source[p] - C) / size * 2 * n;
        for (int j = 0; j < 2 * n; j++) g->given[j][p] = (REAL)own[j];
    }
    if (first >= 0) { /* those that have waited come in between, and go on fetching */
        /* a group larger than this would push out of the cache what is being worked on */
        size_t bytes = sizeof(REAL) * (size_t)size * LANES;
        int fetch = call->count - first >= 2 * LANES && bytes <= (size_t)1 << 19;
        g->ahead = (const char *)(C + size * (first + LANES));
        g->ahead_end = g->ahead + (fetch ? bytes : 0);
    }
    N(read)(g, source, o->triangle, call->askew, o->swept && o->swept != OWN_START);
    N(weigh)(g);
    if (first >= 0) {
        M present = (M){0};
        for (int p = 0; p < used; p++) present[p] = -1;
        N(begin)(g, o, present, &state);
    } else {
        N(take_up)(bench, used, &state);
    }
    M left = N(solve)(g, o, few, &state);
    if (N(any)(left))
        for (int p = 0; p < used; p++)
            if (left[p]) {
                N(set_aside)(bench, index[p], p, &state);
                index[p] = -1;
            }
    int32_t pieces[LANES];
    N(settle)(g, o->gauge, used, pieces);
    REAL *target[LANES];
    for (int p = 0; p < LANES; p++) target[p] = index[p] < 0 ? (REAL *)g->buffer : z + 2 * (int64_t)n * index[p];
    N(lanes_out)(g->z, 2 * n, target);
    const numbers_t *numbers = &call->numbers;
    V rows = (V){0};
    for (int j = 0; j < n; j++) rows += g->rows[j];
    for (int p = 0; p < used; p++) {
        int64_t at = index[p];
        if (at < 0) continue;
        double *to = numbers->found + at;
        int finite = g->finite[p] != 0, close = (double)state.residual[p] <= o->accepted;
        numbers->objective[at] = (double)state.best[p] / (double)g->scale[p] + (double)g->trace[p];
        numbers->residual[at] = (double)state.residual[p];
        numbers->iterations[at] = (int32_t)state.count[p];
        numbers->status[at] = finite && close ? 0 : (int8_t)state.code[p];
        numbers->components[at] = finite ? pieces[p] : 0;
        suspects += finite && g->gap[p] > 0;
        to[ASYMMETRY * call->count] = (double)g->gap[p];
        to[SKEW * call->count] = (double)g->skew[p];
        to[TRACE * call->count] = (double)g->trace[p];
        to[ROWS_TOTAL * call->count] = (double)rows[p] / (double)g->scale[p];
    }
    int64_t proved[LANES];
    int some = 0;
    M measured = (M){0};
    if (o->certify && o->certify != PROVE_ALL) measured = N(measured)(g);
    for (int p = 0; p < LANES && o->certify; p++) {
        int wanted = o->certify == PROVE_ALL;
        if (!wanted && index[p] >= 0 && measured[p] > 0) {
            double cycles = (double)(measured[p] - n + pieces[p]) / measured[p];
            wanted = (double)state.best[p] < MODULUS_SHARE * (1 - DOUBTFUL_MISFIT * cycles) * (double)rows[p];
        }
        proved[p] = wanted ? index[p] : -1;
        some |= proved[p] >= 0;
        if (index[p] >= 0 && !wanted) numbers->found[BOUND * call->count + index[p]] = INFINITY;
    }
    if (some) N(prove_group)(g, proved, bench->work, numbers, call->count);
    for (int p = 0; p < used; p++)
        if (index[p] >= 0 && !g->finite[p]) {
            for (int j = 0; j < 2 * n; j++) z[2 * n * index[p] + j] = (REAL)NAN;
            numbers->objective[index[p]] = numbers->residual[index[p]] = NAN;
        }
    return suspects;
}

/* Solve C[0], C[1], ... Returns how many problems have an entry that differs from its mirror image by more than `askew`
 * times itself, -2 without memory. */
int64_t N(batch)(const batch_t *call) {
    int64_t count = call->count, all_suspects = 0;
    int n = call->n, threads = call->threads, certify = call->options.certify;
    int64_t groups = (count + LANES - 1) / LANES;
    /* neighbors in memory, but no more of them than keeps the last thread from being waited for */
    int64_t together = groups / (16 * (int64_t)threads) + 1;
    if (together > 16) together = 16;
    /* the lanes of one group alone have nobody to wait for */
    int failed = 0, few = groups == 1 ? 0 : certify ? LANES / 4 : LANES / 2;
    int64_t pairs = (int64_t)n * (n - 1), padded = n + 4;
    int64_t vectors = pairs + 15 * n + padded * (padded + 1) / 2 + 2 * padded + 4 * n;
    int64_t wide = certify ? pairs + padded * (padded + 1) + 16 * padded : 0;
    int64_t carried = 2 * LANES * (2 * n + STATE_NUMBERS);
    size_t bytes = ((size_t)vectors + (size_t)wide) * VECTOR_BYTES + sizeof(REAL) * (size_t)carried;
#pragma omp parallel num_threads(threads)
    {
        void *memory = malloc(bytes + 64);
        if (!memory) {
#pragma omp atomic write
            failed = 1;
        }
        V *next = (V *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
        int64_t indices[2 * LANES], suspects = 0;
        N(bench) bench;
        N(group) *g = &bench.g;
        g->n = n;
        g->upper = next, next += pairs;
        g->rows = next, next += n;
        g->light = next, next += n;
        g->given = next, next += 2 * n;
        g->first = next, next += 2 * n;
        g->z = next, next += 2 * n;
        g->w = next, next += 2 * n;
        g->old_z = next, next += 2 * n;
        g->old_w = next, next += 2 * n;
        g->factor = next, next += padded * (padded + 1) / 2;
        g->inverse = next, next += padded;
        g->step = next, next += padded;
        g->buffer = next, next += 4 * n;
        bench.work = (D *)next, next += wide;
        bench.carried = (REAL *)next;
        bench.indices = indices;
        bench.waiting = 0;
        g->ahead = g->ahead_end = NULL;
        g->history = count == 1 ? call->history : NULL;
        for (int j = 0; j < 2 * n && memory; j++) g->given[j] = LOAD(call->start[j]);
#pragma omp for schedule(dynamic, together) nowait
        for (int64_t k = 0; k < groups; k++) {
            if (!memory) continue;
            int64_t first = k * LANES;
            suspects += N(group_of)(&bench, call, first, count - first < LANES ? (int)(count - first) : LANES, few);
            while (bench.waiting >= LANES) suspects += N(group_of)(&bench, call, -1, LANES, LANES / 4);
        }
        while (memory && bench.waiting > 0)
            suspects += N(group_of)(&bench, call, -1, bench.waiting < LANES ? bench.waiting : LANES, 0);
        free(memory);
#pragma omp atomic
        all_suspects += suspects;
    }
    return failed ? -2 : all_suspects;
}

/* for the other precision */
#undef GROUP_OF_DOUBLES
#undef N
#undef REAL
#undef WHOLE
#undef SIGN_BIT
#undef ROOT_GUESS
#undef ROOT_STEPS
#undef TINY
#undef EPSILON
#undef TINIEST_SCALE
#undef EXPONENT_BITS
#undef EXPONENT_FLIP
#undef EXPONENT_ONE
#undef LARGER_512
#undef WHICH_512
#undef ROOT_GUESS_512
#undef ROOT_STEPS_512
#undef BELOW
