/* Error bars of the phases of interferogram stacks; the formulas are in bars_reference.py.
 * Included by batch.c once, with N(name) naming the lanes of doubles, after emi.h. */
#define AT(x, i, j) (x)[(int64_t)(i) * n + (j)]

static inline V N(all)(double x) { return (V){0} + x; }
static inline V N(at_least)(V x, double least) { return N(larger)(x, N(all)(least)); }
static inline V N(at_most)(V x, double most) { return N(pick)((M)(x < N(all)(most)), x, N(all)(most)); }
/* x / y where y is positive, elsewhere other */
static inline V N(share)(V x, V y, double other) {
    M told = (M)(y > (V){0});
    return N(pick)(told, x / N(pick)(told, y, N(all)(1)), N(all)(other));
}

typedef struct {
    int n;
    V *Q, *a, *next, *f, *top, *bottom; /* n^2 and n: squared coherences without bias, factors of dates, of lags */
    V there_count, place, c;            /* the event: first date after it (n: none), and its factor */
    const V *there;
    const double *pool;
} N(fit);

/* The factor of the event for dates i < j. */
static inline V N(event_of)(const N(fit) *fit, int i, int j) {
    M across = (M)(N(all)(i) < fit->place) & (M)(N(all)(j) >= fit->place);
    return N(pick)(across, fit->c, N(all)(1));
}

static void N(fit_decay)(N(fit) *fit) {
    int n = fit->n;
    for (int k = 0; k < n; k++) fit->top[k] = fit->bottom[k] = (V){0};
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            V factor = fit->a[i] * fit->a[j] * N(event_of)(fit, i, j);
            fit->top[j - i] += AT(fit->Q, i, j) * factor;
            fit->bottom[j - i] += factor * factor;
        }
    for (int k = 0; k < n; k++) {
        V x = (V){0}, y = x;
        for (int l = 0; l < n; l++) {
            double share = AT(fit->pool, k, l);
            if (share != 0) x += fit->top[l] * share, y += fit->bottom[l] * share;
        }
        fit->f[k] = N(share)(N(at_least)(x, 0), y, 0);
    }
}

static void N(fit_dates)(N(fit) *fit) {
    int n = fit->n;
    N(fit_decay)(fit);
    for (int i = 0; i < n; i++) fit->next[i] = fit->top[i] = (V){0};
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            V common = fit->f[j - i] * N(event_of)(fit, i, j), q = AT(fit->Q, i, j);
            V right = common * fit->a[j], left = common * fit->a[i];
            fit->next[i] += q * right, fit->top[i] += right * right;
            fit->next[j] += q * left, fit->top[j] += left * left;
        }
    V total = (V){0};
    for (int i = 0; i < n; i++) {
        fit->next[i] = N(at_least)(N(share)(fit->next[i], fit->top[i], 0), BARS_FLOOR) * fit->there[i];
        total += fit->next[i];
    }
    V scale = N(share)(fit->there_count, total, 0);
    for (int i = 0; i < n; i++) fit->a[i] = fit->next[i] * scale;
}

static inline V N(modeled)(const N(fit) *fit, int i, int j) {
    return fit->f[j - i] * fit->a[i] * fit->a[j] * N(event_of)(fit, i, j);
}

/* The event that explains most; needs fit_decay. */
static void N(find_event)(N(fit) *fit) {
    int n = fit->n;
    V whole = (V){0}, squares = whole, *own = fit->top, *own_squares = fit->bottom; /* right minus left of a date */
    for (int i = 0; i < n; i++) own[i] = own_squares[i] = (V){0};
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            V m = N(modeled)(fit, i, j), q = AT(fit->Q, i, j) * m;
            m *= m;
            whole += q, squares += m, own[i] += q, own[j] -= q, own_squares[i] += m, own_squares[j] -= m;
        }
    V best = N(all)(-INFINITY), place = N(all)(n), factor = N(all)(1), x = (V){0}, y = x;
    for (int k = 1; k < n - 1; k++) {
        x += own[k - 1], y += own_squares[k - 1];
        if (k < 2) continue;
        V u = whole - x, v = squares - y;
        M told = (M)(y > (V){0}) & (M)(v > (V){0}) & (M)(u > (V){0});
        V c = N(pick)(told, N(at_least)(x, 0) * v / N(pick)(told, y * u, N(all)(1)), N(all)(1));
        V gain = x * x / N(pick)(told, y, N(all)(1)) + u * u / N(pick)(told, v, N(all)(1));
        M better = told & (M)(c < N(all)(1)) & (M)(gain > best);
        best = N(pick)(better, gain, best), factor = N(pick)(better, c, factor), place = N(pick)(better, N(all)(k), place);
    }
    fit->place = place, fit->c = N(at_least)(factor, BARS_FLOOR);
}

/* The factor of the event once more; needs fit_decay. */
static void N(refine_event)(N(fit) *fit) {
    int n = fit->n;
    V x = (V){0}, y = x, u = x, v = x;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            M across = (M)(N(all)(i) < fit->place) & (M)(N(all)(j) >= fit->place);
            V m = N(modeled)(fit, i, j), q = AT(fit->Q, i, j) * m;
            m *= m;
            x += N(pick)(across, q, (V){0}), y += N(pick)(across, m, (V){0});
            u += N(pick)(across, (V){0}, q), v += N(pick)(across, (V){0}, m);
        }
    M told = (M)(y > (V){0}) & (M)(v > (V){0}) & (M)(u > (V){0});
    V ratio = N(pick)(told, N(at_least)(x, 0) * v / N(pick)(told, y * u, N(all)(1)), N(all)(1));
    fit->c = N(at_most)(N(at_least)(fit->c * ratio, BARS_FLOOR), 1);
}

/* The model of the coherences into G, a whole symmetric matrix. */
static void N(fit_model)(N(fit) *fit, V *G) {
    int n = fit->n;
    fit->place = N(all)(n), fit->c = N(all)(1);
    for (int i = 0; i < n; i++) fit->a[i] = fit->there[i];
    for (int k = 0; k < BARS_ROUNDS; k++) N(fit_dates)(fit);
    N(fit_decay)(fit);
    N(find_event)(fit);
    for (int k = 0; k < BARS_REFINED; k++) {
        N(fit_dates)(fit);
        N(fit_decay)(fit);
        N(refine_event)(fit);
    }
    N(fit_dates)(fit);
    N(fit_decay)(fit);
    for (int i = 0; i < n; i++) {
        AT(G, i, i) = N(all)(1);
        for (int j = i + 1; j < n; j++) {
            V square = N(at_most)(N(at_least)(N(modeled)(fit, i, j), 0), BARS_MOST);
            AT(G, i, j) = AT(G, j, i) = square * N(inverse_root)(square);
        }
    }
}

/* out = x y, all n by n, y symmetric: rows of x with rows of y, a block of the result at a time in registers. The last
 * blocks overlap those before them. */
#if defined(__AVX512F__)
#define ACROSS 4
#else
#define ACROSS 2
#endif
static void N(matrices)(int n, const V *x, const V *y, V *out) {
    if (n < 4) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                V sum = (V){0};
                for (int k = 0; k < n; k++) sum += AT(x, i, k) * AT(y, j, k);
                AT(out, i, j) = sum;
            }
        return;
    }
    for (int row = 0; row < n; row += 4)
        for (int column = 0; column < n; column += ACROSS) {
            int i = row + 4 > n ? n - 4 : row, j = column + ACROSS > n ? n - ACROSS : column;
            V sums[4][ACROSS] = {{{0}}};
            for (int k = 0; k < n; k++)
                for (int c = 0; c < ACROSS; c++) {
                    V right = AT(y, j + c, k);
                    sums[0][c] += AT(x, i, k) * right, sums[1][c] += AT(x, i + 1, k) * right;
                    sums[2][c] += AT(x, i + 2, k) * right, sums[3][c] += AT(x, i + 3, k) * right;
                }
            for (int r = 0; r < 4; r++)
                for (int c = 0; c < ACROSS; c++) AT(out, i + r, j + c) = sums[r][c];
        }
}
#undef ACROSS

/* Moduli of C into the lower triangle of W, and which dates have data. */
static void N(read_moduli)(const bars_t *call, int64_t first, int used, V *W, V *there) {
    int n = call->n;
    double *lanes = (double *)W;
    for (int p = 0; p < LANES; p++) {
        int64_t at = (first + (p < used ? p : 0)) * n * n;
        const double *doubles = (const double *)call->C + 2 * at;
        const float *floats = (const float *)call->C + 2 * at;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                int k = i * n + j;
                double re = call->wide ? doubles[2 * k] : floats[2 * k];
                double im = call->wide ? doubles[2 * k + 1] : floats[2 * k + 1];
                lanes[LANES * k + p] = re * re + im * im; /* coherences are at most 1: no square overflows */
            }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) AT(W, i, j) *= N(inverse_root)(AT(W, i, j));
    for (int i = 0; i < n; i++) there[i] = N(pick)((M)(AT(W, i, i) > (V){0}), N(all)(1), (V){0});
}

/* Conductances of the graph into H (Laplacian), the covariance of the sums into J; needs WG and, in J, WGW. */
static void N(assemble)(const bars_t *call, const V *W, const V *G, const V *WG, V *H, V *J, V looks, V beta,
                        const V *there) {
    int n = call->n;
    V over = 0.5 / looks, part = (1 - beta) * over * (call->weights ? BARS_SHARE : 0);
    for (int i = 0; i < n; i++) AT(H, i, i) = (V){0};
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            V product = AT(WG, i, j) * AT(WG, j, i);
            V spread = over * (AT(G, i, j) * AT(J, i, j) - product);
            AT(J, i, j) = AT(J, j, i) = spread;
            if (j == i) continue;
            V known = AT(G, i, j) * AT(G, i, j) * looks;
            V extra = part * known / (1 + known) * (AT(WG, i, i) * AT(WG, j, j) + product) * there[i] * there[j];
            AT(H, i, j) = -(AT(W, i, j) * AT(G, i, j) + extra);
            AT(H, j, i) = extra; /* for now */
        }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            V extra = AT(H, j, i), across = over * extra;
            AT(J, i, j) -= across, AT(J, j, i) -= across, AT(J, i, i) += across, AT(J, j, j) += across;
            AT(H, j, i) = AT(H, i, j);
            AT(H, i, i) -= AT(H, i, j), AT(H, j, j) -= AT(H, i, j);
        }
}

/* Problems first.. of the call; work: 5 n^2 + 8 n vectors. */
static void N(bars_group)(const bars_t *call, int64_t first, int used, V *work) {
    int n = call->n;
    int64_t size = (int64_t)n * n;
    V *W = work, *G = W + size, *WG = G + size, *H = WG + size, *J = H + size, *line = J + size;
    V *there = line + 6 * n, *column = there + n;
    N(fit) fit = {.n = n, .Q = H, .a = line, .next = line + n, .f = line + 2 * n, .top = line + 3 * n,
                  .bottom = line + 4 * n, .there = there, .pool = call->pool, .there_count = {0}};
    V looks, beta;
    for (int p = 0; p < LANES; p++) {
        int64_t at = first + (p < used ? p : 0);
        looks[p] = call->looks[at], beta[p] = call->beta[at];
    }
    N(read_moduli)(call, first, used, W, there);
    V floor = 1 / N(at_least)(looks, 2);
    for (int i = 0; i < n; i++) {
        fit.there_count += there[i];
        for (int j = 0; j < i; j++) {
            V modulus = AT(W, i, j), both = there[i] * there[j];
            AT(H, j, i) = (modulus * modulus - floor) / (1 - floor) * both;
            AT(W, i, j) = (call->weights ? 1 - beta : N(all)(1)) * modulus * both;
        }
        if (call->weights) AT(W, i, i) = N(pick)((M)(there[i] > (V){0}), (1 - beta) * AT(W, i, i) + beta, N(all)(1));
        else AT(W, i, i) = there[i];
    }
    N(fit_model)(&fit, G);
    M sound = ~(M){0}; /* where the coherences that are inverted are positive definite */
    if (call->weights) sound = N(sweep)(n, W, column);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            V weight = AT(W, i, j) * there[i] * there[j];
            if (call->moduli)
                for (int p = 0; p < used; p++)
                    weight[p] *= call->moduli[(first + p) * n + i] * call->moduli[(first + p) * n + j];
            AT(W, i, j) = AT(W, j, i) = weight;
        }
    N(matrices)(n, W, G, WG);
    N(matrices)(n, WG, W, J);
    N(assemble)(call, W, G, WG, H, J, looks, beta, there);
    for (int i = 0; i < n; i++) {
        M fixed = i == call->reference ? ~(M){0} : (M)(there[i] <= (V){0});
        for (int j = 0; j < n; j++) {
            V other = i == j ? N(all)(1) : (V){0};
            AT(H, i, j) = N(pick)(fixed, other, AT(H, i, j)), AT(H, j, i) = N(pick)(fixed, other, AT(H, j, i));
        }
    }
    M positive = N(sweep)(n, H, column) & sound;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) AT(W, i, j) = AT(W, j, i) = AT(H, i, j);
    N(matrices)(n, W, J, WG);
    for (int i = 0; i < n; i++) {
        V variance = (V){0};
        for (int k = 0; k < n; k++) variance += AT(WG, i, k) * AT(W, i, k);
        for (int p = 0; p < used; p++) {
            double known = variance[p] < BARS_CHANCE * BARS_CHANCE ? sqrt(variance[p] > 0 ? variance[p] : 0) : BARS_CHANCE;
            if (!positive[p] || !(variance[p] - variance[p] == 0)) known = BARS_CHANCE;
            int told = there[i][p] > 0 && there[call->reference][p] > 0;
            call->out[(first + p) * n + i] = !told ? NAN : i == call->reference ? 0 : known;
        }
    }
}

/* Standard errors of linked phases. Returns -2 without memory. */
int batch_bars(const bars_t *call) {
    int64_t groups = (call->count + LANES - 1) / LANES;
    size_t vectors = 5 * (size_t)call->n * (size_t)call->n + 8 * (size_t)call->n;
    int failed = 0;
#pragma omp parallel num_threads(call->threads)
    {
        void *memory = malloc(sizeof(V) * vectors + 64);
        if (!memory) {
#pragma omp atomic write
            failed = 1;
        }
        V *work = (V *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
#pragma omp for schedule(static)
        for (int64_t k = 0; k < groups; k++) {
            int64_t first = LANES * k, left = call->count - first;
            if (memory) N(bars_group)(call, first, left < LANES ? (int)left : LANES, work);
        }
        free(memory);
    }
    return failed ? -2 : 0;
}
#undef AT
