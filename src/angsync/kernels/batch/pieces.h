/* Which nodes of the problems of a group hang together, and the gauge of each piece. Included by batch.c after
 * lanes.h.
 *
 * Nodes j and l are joined where C_jl is not 0. A node without measurements is a piece of its own, and has the phase 1.
 */

/* The lanes whose nodes with measurements are all in one piece, and how many nodes have no measurements. Every node hands
 * on, along its row, that it can be reached from the first one; a first row without zeros ends it at once. */
static M N(in_one_piece)(N(group) *g, V *alone) {
    int n = g->n;
    V *reached = g->buffer, zero = (V){0};
    M open = ~(M){0}, all = open, changed;
    *alone = zero;
    for (int j = 0; j < n; j++) {
        M some = (M)(g->rows[j] > zero);
        *alone += (V)((M)(zero + 1) & ~some);
        reached[j] = (V)(open | ~some); /* those without measurements count as reached: they hand on nothing */
        open &= ~some;
    }
    do {
        changed = (M){0};
        for (int j = 0; j + 1 < n; j++) {
            const V *row = g->upper + 2 * N(row)(n, j);
            M before = (M)reached[j], here = before;
            for (int l = j + 1; l < n; l++) {
                M joined = (M)(row[2 * l] != zero) | (M)(row[2 * l + 1] != zero), there = (M)reached[l];
                here |= joined & there;
                reached[l] = (V)(there | (joined & here));
                changed |= joined & here & ~there;
            }
            reached[j] = (V)here;
            changed |= here & ~before;
            if (j > 0 && j + 2 < n) continue;
            all = ~(M){0};
            for (int l = 0; l < n; l++) all &= (M)reached[l];
            if (!N(any)(~all)) return all;
        }
    } while (N(any)(changed));
    return all;
}

/* The pieces of one lane, isolated nodes among them: label[j] is the first node of the piece of j. Returns how many. */
static int N(pieces)(const N(group) *g, int p, uint8_t *label) {
    int n = g->n, count = n;
    for (int j = 0; j < n; j++) label[j] = (uint8_t)j;
    for (int j = 0; j + 1 < n; j++) {
        const V *row = g->upper + 2 * N(row)(n, j);
        for (int l = j + 1; l < n; l++) {
            if (label[j] == label[l] || (row[2 * l][p] == 0 && row[2 * l + 1][p] == 0)) continue;
            uint8_t low = label[j] < label[l] ? label[j] : label[l], high = label[j] < label[l] ? label[l] : label[j];
            for (int k = 0; k < n; k++) label[k] = label[k] == high ? low : label[k];
            count--;
        }
    }
    return count;
}

/* The gauge of every piece of one lane: `gauge` as in BatchOptions. */
static void N(settle_pieces)(N(group) *g, int p, const uint8_t *label, int gauge) {
    int n = g->n, node = gauge - GAUGE_NODE;
    for (int first = 0; first < n; first++) {
        if (label[first] != first) continue;
        int reference = node >= 0 && label[node] == first ? node : first;
        double re = 0, im = 0;
        for (int j = first; j < n; j++) {
            if (label[j] != first || (gauge != GAUGE_MEAN && j != reference)) continue;
            re += (double)g->z[2 * j][p], im += (double)g->z[2 * j + 1][p];
        }
        double size = sqrt(re * re + im * im);
        if (size > 0)
            re /= size, im /= size;
        else
            re = 1, im = 0;
        for (int j = first; j < n; j++) {
            if (label[j] != first) continue;
            double zr = (double)g->z[2 * j][p], zi = (double)g->z[2 * j + 1][p];
            int one = g->rows[j][p] == 0 || (gauge != GAUGE_MEAN && j == reference); /* exactly 1, not to rounding */
            g->z[2 * j][p] = one ? (REAL)1 : (REAL)(zr * re + zi * im);
            g->z[2 * j + 1][p] = one ? (REAL)0 : (REAL)(zi * re - zr * im);
        }
    }
}

/* z in its gauge: 1 the first node that has measurements at angle 0, 2 the sum of z positive, or that node at angle 0.
 * Nodes without measurements get the phase 1. Writes how many pieces the problem of each lane has. */
static void N(settle)(N(group) *g, int gauge, int used, int32_t *count) {
    int n = g->n, node = gauge - GAUGE_NODE;
    V zero = (V){0}, one = zero + 1, re = zero, im = zero, alone;
    M whole = N(in_one_piece)(g, &alone), open = ~(M){0}, named = (M){0};
    if (node >= 0) named = (M)(g->rows[node] > zero);
    uint8_t label[MAX_ORDER];
    for (int p = 0; p < used; p++) {
        count[p] = (int)alone[p] + (alone[p] < n);
        if (whole[p] || !g->finite[p]) continue;
        count[p] = N(pieces)(g, p, label);
        N(settle_pieces)(g, p, label, gauge);
    }
    M first = ~(M){0};
    for (int j = 0; j < n; j++) {
        M some = (M)(g->rows[j] > zero) & open;
        if (j != node) some &= ~named;
        re += (V)((M)g->z[2 * j] & some);
        im += (V)((M)g->z[2 * j + 1] & some);
        if (gauge != GAUGE_MEAN) open &= ~some;
    }
    V inverse = N(inverse_root)(re * re + im * im);
    M turn = (M)(inverse > zero);
    re = N(pick)(turn, re * inverse, one);
    im = N(pick)(turn, im * inverse, zero);
    for (int j = 0; j < n; j++) {
        M some = (M)(g->rows[j] > zero);
        V zr = g->z[2 * j], zi = g->z[2 * j + 1];
        V turned = zr * re + zi * im, across = zi * re - zr * im;
        if (gauge != GAUGE_MEAN) { /* exactly 1, not to rounding */
            M here = some & first;
            if (j != node) here &= ~named;
            turned = N(pick)(here, one, turned);
            across = N(pick)(here, zero, across);
            first &= ~here;
        }
        g->z[2 * j] = N(pick)(whole, N(pick)(some, turned, one), zr);
        g->z[2 * j + 1] = N(pick)(whole, N(pick)(some, across, zero), zi);
    }
}
