/* Lower bounds on S(z) = Diag(s) - C over the complement of z, eight problems at a time, in double precision. Included by
 * batch.c after batch_lanes.h, once for each instruction set, with N(name) naming the lanes of doubles.
 *
 * As in angsync/spectrum.py: with u = z / sqrt(m) and a lift t > 0, M = S + t u u^H equals S on the complement of z. If
 * the Cholesky factorisation of A = M - shift I runs to completion, then M >= shift - g / (1 - g) tr(A) - E, where E bounds
 * the rounding of forming A. Nodes without measurements are no part of the problem: m counts the others.
 */
#define V N(real)
#define M N(whole)
#define LOAD(a) ((V){0} + (a))
#define AT(i) (L + (int64_t)(i) * ((i) + 1))

typedef struct {
    V bound, objective, gradient, rows_total, rows_norm, rows_most, moduli, nodes;
} N(proof);

/* Rows i and i + 1 of the factor in columns j and j + 1, from what stands left of them: minus a conj(c), and so on. Returns
 * the lanes where the pivots, if there are any in here, are positive. */
static inline M N(cell)(V *L, V *inverse, int i, int j) {
    M good = ~(M){0};
    V *a = AT(i), *b = AT(i + 1);
    const V *c = AT(j), *d = AT(j + 1);
    V acr = a[2 * j], aci = a[2 * j + 1], bcr = b[2 * j], bci = b[2 * j + 1];
    V adr = LOAD(0.0), adi = LOAD(0.0), bdr = b[2 * j + 2], bdi = b[2 * j + 3];
    if (j < i) adr = a[2 * j + 2], adi = a[2 * j + 3];
    for (int k = 0; k < 2 * j; k += 2) { /* minus a conj(c), and so on */
        V ar = a[k], ai = a[k + 1], br = b[k], bi = b[k + 1];
        V cr = c[k], ci = c[k + 1], dr = d[k], di = d[k + 1];
        acr -= ar * cr; aci -= ai * cr; adr -= ar * dr; adi -= ai * dr;
        bcr -= br * cr; bci -= bi * cr; bdr -= br * dr; bdi -= bi * dr;
        acr -= ai * ci; aci += ar * ci; adr -= ai * di; adi += ar * di;
        bcr -= bi * ci; bci += br * ci; bdr -= bi * di; bdi += br * di;
    }
    if (j < i) {
        V p = inverse[j], q = inverse[j + 1], r = d[2 * j], s = d[2 * j + 1];
        acr *= p; aci *= p; bcr *= p; bci *= p;
        adr -= acr * r + aci * s; adi -= aci * r - acr * s;
        bdr -= bcr * r + bci * s; bdi -= bci * r - bcr * s;
        a[2 * j] = acr, a[2 * j + 1] = aci, a[2 * j + 2] = adr * q, a[2 * j + 3] = adi * q;
        b[2 * j] = bcr, b[2 * j + 1] = bci, b[2 * j + 2] = bdr * q, b[2 * j + 3] = bdi * q;
    } else {
        /* an inverse root of 0 or less is 0 here, and what follows from it is finite and unused */
        good &= (M)(acr > LOAD(TINY));
        V p = N(inverse_root)(acr);
        bcr *= p; bci *= p;
        V pivot = bdr - (bcr * bcr + bci * bci);
        good &= (M)(pivot > LOAD(TINY));
        b[2 * i] = bcr, b[2 * i + 1] = bci;
        inverse[i] = p, inverse[i + 1] = N(inverse_root)(pivot);
    }
    return good;
}

/* Cholesky of the packed lower triangle of pairs, in place; `padded` is even. The diagonal of the factor is left in
 * `inverse`, one over it. Returns the lanes where every pivot is positive. */
static M N(cholesky)(int padded, V *L, V *inverse) {
    M good = ~(M){0};
    for (int i = 0; i < padded; i += 4) { /* four rows share columns that come from the second-level cache */
        int last = i + 2 < padded ? i + 2 : i;
        for (int j = 0; j <= last; j += 2) {
            if (j <= i) good &= N(cell)(L, inverse, i, j);
            if (last > i) good &= N(cell)(L, inverse, last, j);
        }
    }
    return good;
}

/* x <- (L L^H)^-1 x */
static void N(back)(int padded, const V *L, const V *inverse, V *x) {
    for (int i = 0; i < padded; i++) {
        const V *row = AT(i);
        V re = x[2 * i], im = x[2 * i + 1], more_re = LOAD(0.0), more_im = LOAD(0.0);
        for (int k = 0; k < 2 * i; k += 2) { /* four sums: no addition waits for the one before it */
            re -= row[k] * x[k];
            im -= row[k] * x[k + 1];
            more_re += row[k + 1] * x[k + 1];
            more_im -= row[k + 1] * x[k];
        }
        re += more_re, im += more_im;
        x[2 * i] = re * inverse[i], x[2 * i + 1] = im * inverse[i];
    }
    for (int i = padded - 1; i >= 0; i--) {
        const V *row = AT(i);
        V re = x[2 * i] * inverse[i], im = x[2 * i + 1] * inverse[i];
        x[2 * i] = re, x[2 * i + 1] = im;
        for (int k = 0; k < 2 * i; k += 2) {
            x[k] -= row[k] * re + row[k + 1] * im;
            x[k + 1] -= row[k] * im - row[k + 1] * re;
        }
    }
}

/* `upper` holds C with its largest row sum (in the sense of `rows`) at most 1; z is brought to unit modulus in place.
 * work: padded (padded + 1) vectors for the factor, then 6 n + 8 more. */
static void N(prove)(int n, const V *upper, const V *rows, V *z, V *work, N(proof) *out) {
    int padded = (n + 1) & ~1;
    V *L = work, *w = L + (int64_t)padded * (padded + 1), *s = w + 2 * n, *inverse = s + n, *x = inverse + padded;
    V nodes = LOAD(0.0), most = LOAD(0.0), largest = LOAD(0.0), total = LOAD(0.0), norm = LOAD(0.0);
    V objective = LOAD(0.0), gradient = LOAD(0.0), moduli = LOAD(0.0);
    for (int j = 0; j < 2 * n; j += 2) {
        for (int k = 0; k < 2; k++) {
            V p = N(inverse_root)(z[j] * z[j] + z[j + 1] * z[j + 1]);
            z[j] *= p, z[j + 1] *= p;
        }
    }
    N(product)(n, upper, LOAD(1.0), z, w);
    for (int j = 0; j < n; j++) {
        V b = z[2 * j] * w[2 * j + 1] - z[2 * j + 1] * w[2 * j];
        s[j] = z[2 * j] * w[2 * j] + z[2 * j + 1] * w[2 * j + 1];
        objective += s[j];
        gradient += b * b;
        largest = N(larger)(N(size)(s[j]), largest);
        most = N(larger)(rows[j], most);
        total += rows[j];
        norm += rows[j] * rows[j];
        nodes += (V)((M)LOAD(1.0) & (M)(rows[j] > LOAD(0.0)));
    }
    for (int64_t k = 0; k < (int64_t)n * (n - 1); k += 2) {
        V square = upper[k] * upper[k] + upper[k + 1] * upper[k + 1];
        moduli += square * N(inverse_root)(square);
    }
    V *u = w; /* z where a node takes part, 0 elsewhere; w has done its work */
    for (int j = 0; j < n; j++) {
        M here = (M)(rows[j] > LOAD(0.0));
        u[2 * j] = (V)((M)z[2 * j] & here), u[2 * j + 1] = (V)((M)z[2 * j + 1] & here);
    }
    V count = N(larger)(nodes, LOAD(1.0));
    V lift = LOAD(2.0) * largest + LOAD(2.0) * gradient * N(inverse_root)(gradient) * N(inverse_root)(count);
    lift = N(pick)((M)(lift > LOAD(0.0)), lift, LOAD(1.0));
    V share = lift / count;
    /* rounding of S_jj, of the rank-one term and of its addition, a few units in each entry; a row of |u u^H| sums to 1 */
    V forming = LOAD(8 * ROUNDOFF) * (most + largest + LOAD(3.0) * lift);
    V trace = objective + lift + LOAD((double)(padded - n)) + (LOAD((double)n) - nodes) * lift;
    /* 24 where angsync/spectrum.py has 8: an inverse root by Newton steps is good to a few units, not to half of one */
    double terms = 2.0 * padded + 24, g = sqrt(2.0) * terms * ROUNDOFF / (1 - terms * ROUNDOFF);
    double backward = g / (1 - g) * (1 + 1e-10);

    /* First the shift 0, with inverse iteration for an estimate of the smallest eigenvalue; then most of that estimate, and
     * less of it where that was too much. Where 0 is too much already: ever lower shifts, the last of which is below -|S|. */
    static const double above[] = {0.6, 0.2}, below[] = {1e-9, 1e-3, 0.03, 0.3, 1.0};
    V shift = LOAD(0.0), bound = LOAD(-INFINITY), estimate = LOAD(0.0);
    M proved = (M)(nodes == LOAD(0.0)), idle = proved; /* nothing measured, or not finite: nothing to prove */
    for (int attempt = 0; attempt < 6; attempt++) {
        if (attempt > 0) {
            M low = proved & ~idle & (M)(bound <= LOAD(0.0));
            if (!N(any)(~proved) && !(attempt < 3 && N(any)(low))) break;
            shift = LOAD(-below[attempt - 1]) * (LOAD(2.0) * most + largest);
            shift = N(pick)(proved, attempt < 3 ? LOAD(above[attempt - 1]) * estimate : LOAD(0.0), shift);
        }
        for (int i = 0; i < n; i++) {
            V *row = AT(i), ur = u[2 * i] * share, ui = u[2 * i + 1] * share;
            M here = (M)(rows[i] > LOAD(0.0));
            for (int j = 0; j < i; j++) { /* C_ij = conj(C_ji) */
                const V *c = upper + 2 * (N(row)(n, j) + i);
                row[2 * j] = ur * u[2 * j] + ui * u[2 * j + 1] - c[0];
                row[2 * j + 1] = ui * u[2 * j] - ur * u[2 * j + 1] + c[1];
            }
            row[2 * i] = N(pick)(here, s[i] + share, lift) - shift;
            row[2 * i + 1] = LOAD(0.0);
        }
        for (int i = n; i < padded; i++) {
            for (int k = 0; k < 2 * i + 2; k++) AT(i)[k] = LOAD(0.0);
            AT(i)[2 * i] = LOAD(1.0);
        }
        M good = N(cholesky)(padded, L, inverse);
        V level = trace - LOAD((double)n) * shift;
        V value = shift - LOAD(backward) * N(larger)(level, LOAD(0.0)) - forming;
        M raised = good & (M)(value > bound);
        bound = N(pick)(raised, value, bound);
        proved |= good;
        if (attempt == 0) {
            V overlap = LOAD(0.0), size = LOAD(0.0);
            for (int j = 0; j < padded; j++) {
                x[2 * j] = LOAD(cos(1.0 + 2.4 * j * j)), x[2 * j + 1] = LOAD(sin(1.0 + 2.4 * j * j));
                if (j >= n) x[2 * j] = x[2 * j + 1] = LOAD(0.0);
            }
            for (int step = 0; step < 3; step++) {
                V *from = x + 2 * padded;
                memcpy(from, x, sizeof(V) * 2 * (size_t)padded);
                N(back)(padded, L, inverse, x);
                overlap = LOAD(0.0), size = LOAD(0.0);
                for (int j = 0; j < 2 * padded; j++) {
                    overlap += x[j] * x[j];
                    size += from[j] * from[j];
                }
                V scaled = N(inverse_root)(overlap);
                for (int j = 0; j < 2 * padded; j++) x[j] *= scaled;
            }
            /* |M^-1 x| / |x| is at most 1 / lambda_min: the estimate is too large, and the factor makes up for that */
            V ratio = size / N(pick)((M)(overlap > LOAD(0.0)), overlap, LOAD(1.0));
            estimate = ratio * N(inverse_root)(ratio);
        }
    }
    out->bound = bound;
    out->objective = objective;
    out->gradient = gradient * N(inverse_root)(gradient);
    out->rows_total = total;
    out->rows_norm = norm * N(inverse_root)(norm);
    out->rows_most = most;
    out->moduli = LOAD(2.0) * moduli;
    out->nodes = nodes;
}
#undef AT
#undef V
#undef M
#undef LOAD
