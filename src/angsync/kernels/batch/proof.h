/* Lower bounds on S(z) = Diag(s) - C over the complement of z, in the precision of the lanes. Included by
 * batch.c after lanes.h.
 *
 * As in proof_reference.py: with u = z / sqrt(m) and a lift t > 0, M = S + t u u^H equals S on the complement of z.
 * If the Cholesky factorization of A = M - shift I runs to completion, then M >= shift - g / (1 - g) tr(A) - E,
 * where E bounds the rounding of forming A. Nodes without measurements are no part of the problem: m counts the
 * others.
 *
 * Underflow adds at most (n + 2) 2^-149 to every entry of the backward error in single precision: nothing beside E,
 * which is at least 2^-22.
 */
#define AT(i) (L + (int64_t)(i) * ((i) + 1))

/* What the matrix A is made of. `upper` holds C with its largest row sum (in the sense of `rows`) between 1/2 and 1. */
typedef struct {
    int n;
    const V *upper, *rows;
    V *u, *s;                  /* z where a node takes part and 0 elsewhere, n pairs; s, n */
    V lift, nodes, objective;  /* t, m, sum of s */
    V most, largest, least;    /* row sum; |s|; s of a node that takes part */
} N(matter);

/* Rows i and i + 1 of the factor in columns j and j + 1, from what stands left of them: minus a conj(c), and so on.
 * Returns the lanes where the pivots, if there are any in here, are positive. */
static inline M N(cell)(V *L, V *inverse, int i, int j) {
    M good = ~(M){0};
    V *a = AT(i), *b = AT(i + 1);
    const V *c = AT(j), *d = AT(j + 1);
    V acr = a[2 * j], aci = a[2 * j + 1], bcr = b[2 * j], bci = b[2 * j + 1];
    V adr = LOAD(0), adi = LOAD(0), bdr = b[2 * j + 2], bdi = b[2 * j + 3];
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
        V re = x[2 * i], im = x[2 * i + 1], more_re = LOAD(0), more_im = LOAD(0);
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

/* A = S + t u u^H - shift, packed; 1 on the diagonal where it is padded. */
static void N(form)(const N(matter) *a, int padded, V shift, V *L) {
    int n = a->n;
    V share = a->lift / N(larger)(a->nodes, LOAD(1));
    for (int i = 0; i < n; i++) {
        V *row = AT(i), ur = a->u[2 * i] * share, ui = a->u[2 * i + 1] * share;
        M here = (M)(a->rows[i] > LOAD(0));
        const V *c = a->upper + 2 * (i - 1);
        for (int j = 0; j < i; j++) { /* C_ij = conj(C_ji) */
            row[2 * j] = ur * a->u[2 * j] + ui * a->u[2 * j + 1] - c[0];
            row[2 * j + 1] = ui * a->u[2 * j] - ur * a->u[2 * j + 1] + c[1];
            c += 2 * (n - j - 2);
        }
        row[2 * i] = N(pick)(here, a->s[i] + share, a->lift) - shift;
        row[2 * i + 1] = LOAD(0);
    }
    for (int i = n; i < padded; i++) {
        for (int k = 0; k < 2 * i + 2; k++) AT(i)[k] = LOAD(0);
        AT(i)[2 * i] = LOAD(1);
    }
}

/* An upper bound on the smallest eigenvalue of L L^H, mostly near to it: inverse iteration from a fixed vector. */
static V N(smallest)(int n, int padded, const V *L, const V *inverse, V *x) {
    V overlap = LOAD(0), size = LOAD(0);
    for (int j = 0; j < padded; j++) {
        x[2 * j] = LOAD(j < n ? cos(1.0 + 2.4 * j * j) : 0);
        x[2 * j + 1] = LOAD(j < n ? sin(1.0 + 2.4 * j * j) : 0);
    }
    for (int step = 0; step < 3; step++) {
        size = overlap = LOAD(0);
        for (int j = 0; j < 2 * padded; j++) size += x[j] * x[j];
        N(back)(padded, L, inverse, x);
        for (int j = 0; j < 2 * padded; j++) overlap += x[j] * x[j];
        V scaled = N(inverse_root)(overlap);
        for (int j = 0; j < 2 * padded; j++) x[j] *= scaled;
    }
    /* |M^-1 x| / |x| is at most 1 / lambda_min */
    V ratio = size / N(pick)((M)(overlap > LOAD(0)), overlap, LOAD(1));
    return ratio * N(inverse_root)(ratio);
}

/* The bound, for the lanes in `open`, and minus infinity for the others. Returns the lanes where rounding is a large
 * part of it, so that a higher precision would say more. work: padded (padded + 1) + 4 padded vectors. */
static M N(bounds)(const N(matter) *a, M open, V *work, V *bound) {
    int n = a->n, padded = (n + 1) & ~1;
    V *L = work, *inverse = L + (int64_t)padded * (padded + 1), *x = inverse + padded;
    /* rounding of S_jj, of the rank-one term and of its addition, a few units in each entry, and of the few
     * operations on the bound itself; a row of |u u^H| sums to 1 */
    V forming = LOAD(8 * EPSILON) * (a->most + a->largest + LOAD(3) * a->lift);
    V trace = a->objective + a->lift + LOAD(padded - n) + (LOAD(n) - a->nodes) * a->lift;
    /* 24 where proof_reference.py has 8: an inverse root by Newton steps is good to a few units, not to half of one */
    double terms = 2.0 * padded + 24, g = sqrt(2.0) * terms * EPSILON / 2 / (1 - terms * EPSILON / 2);
    V backward = LOAD(g / (1 - g) * (1 + 16 * EPSILON));

    /* First a share of the smallest s_j, above which no bound can be by much: one factorization does for most
     * problems. Then the shift 0, with an estimate of the smallest eigenvalue, most of that estimate, and less of it
     * where that was too much. Where 0 is too much already: ever lower shifts, the last of which is below -|S|. */
    static const double above[] = {0.6, 0.2}, below[] = {BELOW};
    V shift = N(larger)(LOAD(0.25) * a->least, LOAD(0)), estimate = LOAD(0);
    M semidefinite = (M){0}, weak = (M){0};
    *bound = LOAD(-INFINITY);
    open &= (M)(a->nodes > LOAD(0));
    for (int attempt = 0; attempt < 2 + (int)(sizeof below / sizeof *below) && N(any)(open); attempt++) {
        if (attempt == 1) shift = LOAD(0);
        if (attempt > 1) {
            V up = attempt < 4 ? LOAD(above[attempt - 2]) * estimate : LOAD(0);
            shift = N(pick)(semidefinite, up, LOAD(-below[attempt - 2]) * (LOAD(2) * a->most + a->largest));
        }
        N(form)(a, padded, shift, L);
        M good = N(cholesky)(padded, L, inverse) & open;
        V value = shift - backward * N(larger)(trace - LOAD(n) * shift, LOAD(0)) - forming;
        M raised = good & (M)(value > *bound);
        *bound = N(pick)(raised, value, *bound);
        M enough = good & (M)(LOAD(2) * value >= shift) & (M)(value > LOAD(0));
        if (attempt == 1) {
            semidefinite = good;
            if (N(any)(good)) estimate = N(smallest)(n, padded, L, inverse, x);
        }
        if (attempt > 1) {
            weak |= attempt == 2 ? good & ~semidefinite : (M){0}; /* too near to 0 to tell its sign */
            enough |= good & ~semidefinite;
            if (attempt == 3) { /* the estimate has been tried twice */
                weak |= open & semidefinite & ~enough;
                enough |= semidefinite;
            }
        }
        open &= ~enough;
    }
    return weak | open;
}
#undef AT
