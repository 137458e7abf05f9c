/* The way of a group from its start to a critical point: power steps, then steps of the generalized power method or
 * of Newton's, each lane at its own pace. Included by batch.c after newton.h.
 *
 * All that a lane knows is in its z and in the state below. A lane may therefore leave its group and go on in
 * another one, and ends with the same bits: run.h collects slow problems that way.
 */

/* numbers first: run.h carries them from one group to the next */
typedef struct {
    V shift, damping, refusals, count; /* count: iterations so far */
    V best, gradient, image;           /* z^H C z, |Im(conj(z) w)|^2 and |w|^2 at z */
    V rate;                            /* by what the last power step multiplied `gradient` */
    V newton;                          /* 1 where Newton steps have begun */
    V light;                           /* the second residual, squared: N(measure_light) */
    V residual;                        /* once a lane has ended */
    V slow;                            /* what the shift of the next power step is against; 0 from Newton steps on */
    M going, code;
} N(state);
#define STATE_NUMBERS 10

/* Which lanes have rows so unlike that the light ones need a residual of their own. */
static void N(weigh)(N(group) *g) {
    V most = LOAD(0), least = LOAD(INFINITY);
    for (int j = 0; j < g->n; j++) {
        most = N(larger)(g->rows[j], most);
        least = N(pick)((M)(g->rows[j] > LOAD(0)) & (M)(g->rows[j] < least), g->rows[j], least);
    }
    M unlike = (M)(most > LOAD(UNEVEN_RATIO) * least);
    g->some_light = N(any)(unlike);
    if (!g->some_light) return;
    for (int j = 0; j < g->n; j++) {
        M some = unlike & (M)(g->rows[j] > LOAD(TINIEST_SCALE));
        g->light[j] = (V)((M)(LOAD(1) / N(pick)(some, g->rows[j], LOAD(1))) & some);
    }
}

/* The second residual, squared, of lanes with light rows, 0 in the others: the mean square of b_j / rows_j, how far each
 * node is from where its neighbors want it. In the first residual, light rows do not show. */
static V N(measure_light)(const N(group) *g) {
    V square = LOAD(0);
    if (!g->some_light) return square;
    for (int j = 0; j < g->n; j++) {
        V b = g->z[2 * j] * g->w[2 * j + 1] - g->z[2 * j + 1] * g->w[2 * j], turn = b * g->light[j];
        square += turn * turn;
    }
    return square * LOAD(1.0 / g->n);
}

/* w = C z, then f = z^H w, |b|^2 with b = Im(conj(z) w), |w|^2, and the inner product of b with that of old_z, old_w */
static void N(measure)(N(group) *g, V *objective, V *gradient, V *image, V *along) {
    V f = LOAD(0), square = LOAD(0), size = LOAD(0), both = LOAD(0), *w = g->w;
    const V *z = g->z, *x = g->old_z, *y = g->old_w;
    N(product_fetching)(g, z, w);
    for (int j = 0; j < 2 * g->n; j += 2) {
        V s = z[j] * w[j] + z[j + 1] * w[j + 1], b = z[j] * w[j + 1] - z[j + 1] * w[j];
        f += s;
        square += b * b;
        size += w[j] * w[j] + w[j + 1] * w[j + 1];
        both += b * (x[j] * y[j + 1] - x[j + 1] * y[j]);
    }
    *objective = f, *gradient = square, *image = size, *along = both;
}

/* Power steps x <- (C + shift) x from the start, into g->w; returns the Rayleigh quotient of C and the growth |C x|
 * / |x| at the last vector but one. A lane is done before `steps` once x and its image point the same way, to within
 * SETTLED_SINE. */
static void N(power)(N(group) *g, int steps, V shift, M going, V *quotient, V *growth) {
    int n = g->n, k;
    V *x = g->old_z, *y = g->old_w, *kept = g->w;
    *quotient = *growth = LOAD(0);
    memcpy(x, g->first, sizeof(V) * 2 * (size_t)n);
    memcpy(kept, x, sizeof(V) * 2 * (size_t)n);
    for (k = 0; k < steps && N(any)(going); k++) {
        V overlap = LOAD(0), size = LOAD(0), image = LOAD(0), norm = LOAD(0);
        N(product_fetching)(g, x, y);
        for (int j = 0; j < 2 * n; j++) {
            V value = y[j], shifted = value + shift * x[j];
            overlap += x[j] * value;
            size += x[j] * x[j];
            image += value * value;
            norm += shifted * shifted;
            y[j] = shifted;
        }
        V inverse = N(inverse_root)(size), along = overlap + shift * size;
        M settled = (M)(along * along >= LOAD(1 - SETTLED_SINE * SETTLED_SINE) * size * norm) & (M)(along > LOAD(0));
        M last = going & (settled | (k + 1 == steps ? ~(M){0} : (M){0}));
        *quotient = N(pick)(last, overlap * inverse * inverse, *quotient);
        *growth = N(pick)(last, image * N(inverse_root)(image) * inverse, *growth);
        V unit = N(inverse_root)(norm);
        for (int j = 0; j < 2 * n; j++) {
            y[j] *= unit;
            kept[j] = N(pick)(last, y[j], kept[j]);
        }
        going &= ~last;
        V *other = x;
        x = y, y = other;
    }
    g->products += k;
}

/* The next row of the history of a problem that is alone: objective, residual, length of the step, products so far. A step
 * that was taken back has no length. */
static void N(record)(N(group) *g, const N(state) *s, int moved) {
    double *row = g->history + 4 * (int64_t)s->count[0], length = 0;
    for (int j = 0; moved && j < 2 * g->n; j++) {
        double way = (double)g->z[j][0] - (double)g->old_z[j][0];
        length += way * way;
    }
    row[0] = (double)s->best[0] / (double)g->scale[0] + (double)g->trace[0];
    row[1] = (double)s->image[0] > 0 ? sqrt((double)s->gradient[0] / (double)s->image[0]) : 0;
    row[2] = sqrt(length);
    row[3] = ++g->products; /* that of N(measure) */
}

/* The first z of a group, and its state. */
static void N(begin)(N(group) *g, const options_t *o, M present, N(state) *s) {
    int n = g->n;
    V quotient, growth;
    *s = (N(state)){0};
    g->products = 0;
    s->going = g->finite & present;
    s->code = (((M){0} + (WHOLE)1) & g->finite) | (~g->finite & ((M){0} + (WHOLE)2));
    N(power)(g, o->power_steps, s->shift, s->going, &quotient, &growth);
    M again = s->going & (M)(quotient < LOAD(0.5) * growth);
    if (N(any)(again)) {
        /* The other end of the spectrum is as large: with the shift |C x| / |x| it moves to 0, or near to it. */
        s->shift = (V)((M)growth & again);
        memcpy(g->buffer, g->w, sizeof(V) * 2 * (size_t)n);
        N(power)(g, o->power_steps, s->shift, again, &quotient, &growth);
        for (int j = 0; j < 2 * n; j++) g->w[j] = N(pick)(again, g->w[j], g->buffer[j]);
    }
    for (int j = 0; j < 2 * n; j += 2) { /* w / |w|, the start given where w vanishes */
        V re = g->w[j], im = g->w[j + 1], inverse = N(inverse_root)(re * re + im * im);
        M some = (M)(inverse > LOAD(0));
        g->z[j] = N(pick)(some, re * inverse, g->given[j]);
        g->z[j + 1] = N(pick)(some, im * inverse, g->given[j + 1]);
        if (g->some_light && N(any)(~some)) { /* so light that its square is lost */
            V other[2] = {g->z[j], g->z[j + 1]}, x[2];
            N(phase)(re, im, other, x);
            g->z[j] = N(pick)(some, g->z[j], x[0]), g->z[j + 1] = N(pick)(some, g->z[j + 1], x[1]);
        }
    }
    N(measure)(g, &s->best, &s->gradient, &s->image, &growth);
    s->light = N(measure_light)(g);
    if (g->history) N(record)(g, s, 0);
}

/* The next power step has the shift -slow f / n. With all s_j near to their mean f / n, such a step multiplies the
 * error along an eigenvector of Re(Z^H C Z) n / f, eigenvalue m, by (m - slow) / (1 - slow). The slowest one is seen in
 * the gradients of two points in a row: `factor` is their inner product over the square of the first. slow = m would
 * take this error away and leave as much along other eigenvectors; slow = SHIFT_SHARE m is best on the whole. */
static inline V N(set_against)(V factor, V slow) {
    V m = factor + slow - factor * slow;
    m = N(larger)(N(pick)((M)(m < LOAD(SLOWEST_BELIEVED)), m, LOAD(SLOWEST_BELIEVED)), LOAD(-SLOWEST_BELIEVED));
    return LOAD(SHIFT_SHARE) * m;
}

/* One step of every lane that is going, by Newton where it is `wanted` and H lets it, and what came of it. */
static void N(advance)(N(group) *g, N(state) *s, M wanted) {
    int n = g->n, some_wanted = N(any)(wanted);
    M by_newton = (M){0};
    s->count += (V)((M)LOAD(1) & s->going);
    if (some_wanted) {
        by_newton = N(newton)(g, s->damping) & wanted;
        V more = N(larger)(LOAD(4) * s->damping, LOAD(0.0625));
        s->damping = N(pick)(wanted & ~by_newton, more, s->damping);
    }
    V *z = g->old_z, *w = g->old_w, shift = s->shift - s->slow * s->best * LOAD(1.0 / n);
    g->old_z = g->z, g->old_w = g->w, g->z = z, g->w = w;
    for (int j = 0; j < 2 * n; j += 2) {
        V zr = g->old_z[j], zi = g->old_z[j + 1], wr = g->old_w[j], wi = g->old_w[j + 1];
        V vr = wr + shift * zr, vi = wi + shift * zi;
        if (some_wanted) { /* z (1 + i t), brought back to the circle */
            V t = g->step[j / 2];
            vr = N(pick)(by_newton, zr - t * zi, vr);
            vi = N(pick)(by_newton, zi + t * zr, vi);
        }
        V inverse = N(inverse_root)(vr * vr + vi * vi);
        M move = s->going & (M)(inverse > LOAD(0));
        z[j] = N(pick)(move, vr * inverse, zr);
        z[j + 1] = N(pick)(move, vi * inverse, zi);
        if (g->some_light && N(any)(s->going & ~move)) {
            V other[2] = {zr, zi}, x[2];
            N(phase)(vr, vi, other, x);
            M late = s->going & ~move;
            z[j] = N(pick)(late, x[0], z[j]), z[j + 1] = N(pick)(late, x[1], z[j + 1]);
        }
    }
    V f, gradient, image, along, light;
    N(measure)(g, &f, &gradient, &image, &along);
    light = N(measure_light)(g);
    /* a larger objective; where rounding cannot tell them apart, the smaller residual */
    V noise = LOAD(16 * EPSILON) * N(size)(s->best);
    M closer = (M)(gradient * s->image < s->gradient * image), unlike = (M)(s->light > LOAD(0));
    closer = (unlike & (M)(light < s->light)) | (~unlike & closer);
    M better = (M)(f > s->best + noise) | ((M)(f >= s->best - noise) & closer);
    better &= s->going;
    M refused = s->going & ~better;
    V inverse = LOAD(1) / N(pick)(s->going, s->gradient, LOAD(1)), rate = gradient * inverse;
    V slow = N(set_against)(along * inverse, s->slow);
    s->rate = N(pick)(better & ~by_newton, N(pick)((M)(rate < LOAD(1)), rate, LOAD(1)), s->rate);
    s->best = N(pick)(better, f, s->best);
    s->gradient = N(pick)(better, gradient, s->gradient);
    s->image = N(pick)(better, image, s->image);
    s->light = N(pick)(better, light, s->light);
    if (N(any)(refused)) { /* lanes that have ended did not move */
        for (int j = 0; j < 2 * n; j++) {
            z[j] = N(pick)(better, z[j], g->old_z[j]);
            w[j] = N(pick)(better, w[j], g->old_w[j]);
        }
        /* a shift of 1, the largest row sum, makes every step of the power method an ascent */
        V more = N(pick)((M)(s->shift > LOAD(0)), s->shift + s->shift, LOAD(0.125));
        s->shift = N(pick)(refused & ~by_newton & (M)(s->slow == LOAD(0)), more, s->shift);
        more = N(larger)(LOAD(4) * s->damping, LOAD(0.0625));
        s->damping = N(pick)(refused & by_newton, more, s->damping);
    }
    s->slow = (V)((M)slow & better & ~by_newton & (M)(s->shift == LOAD(0)));
    V less = s->damping * LOAD(0.125);
    less = (V)((M)less & (M)(less > LOAD(0.015)));
    s->damping = N(pick)(better & by_newton, less, s->damping);
    s->refusals = N(pick)(refused, s->refusals + LOAD(1), N(pick)(better, LOAD(0), s->refusals));
    M stalled = s->going & (M)(s->refusals > LOAD(12));
    s->code = (stalled & ((M){0} + (WHOLE)3)) | (~stalled & s->code);
    s->going &= ~stalled;
}

/* Steps until no lane goes on. Where at most `few` lanes want Newton steps, which cost several others, those leave
 * as they are; which ones is returned. */
static M N(solve)(N(group) *g, const options_t *o, int few, N(state) *s) {
    V sums = LOAD(0);
    for (int j = 0; j < g->n; j++) sums += g->rows[j] * g->rows[j];
    V floor = LOAD(16 * EPSILON * EPSILON) * sums, tolerance = LOAD(o->tolerance * o->tolerance);
    /* a count in floats stands still at 2^24 */
    V limit = LOAD(o->max_iterations < 1 << 24 ? o->max_iterations : 1 << 24);
    M left = (M){0};
    for (;;) {
        V level = tolerance * s->image;
        M done = s->going & ((M)(s->gradient <= level) | (M)(s->gradient <= floor));
        done &= (M)(s->light <= tolerance) | (M)(s->light <= LOAD(16 * EPSILON * EPSILON));
        s->code &= ~done;
        s->going &= ~done & (M)(s->count < limit);
        if (!N(any)(s->going)) break;
        /* Newton steps begin after enough power steps, or where, at the rate of the last one, those before the last of
         * them would not do, and one more would not either */
        V ahead = s->gradient * s->rate;
        for (int k = 2; k < o->gpm_steps - 1; k++) ahead = N(pick)((M)(s->count < LOAD(k)), ahead * s->rate, ahead);
        M slow = (M)(s->count >= LOAD(o->gpm_steps)) | ((M)(s->count > LOAD(0)) & (M)(ahead > level));
        s->newton = N(pick)(s->going & slow, LOAD(1), s->newton);
        M wanted = s->going & (M)(s->newton > LOAD(0));
        s->slow = (V)((M)s->slow & ~wanted);
        if (few > 0 && N(any)(wanted) && N(how_many)(wanted) <= few) {
            left |= wanted;
            s->going &= ~wanted;
            if (!N(any)(s->going)) break;
            wanted = (M){0};
        }
        N(advance)(g, s, wanted);
        if (g->history) N(record)(g, s, 1);
    }
    V norm = s->image * N(inverse_root)(s->image), size = s->gradient * N(inverse_root)(s->gradient);
    M real = (M)(s->image > LOAD(TINY));
    s->residual = (V)((M)(size / N(pick)(real, norm, LOAD(1))) & real);
    return left;
}
