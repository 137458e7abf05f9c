/* What a proof needs to know of the points z: in double precision. Included by batch.c
 * once, with N(name) naming the lanes of doubles, after proof.h. */

typedef struct {
    V bound, gradient, image, rows_total, rows_norm, moduli;
    N(matter) matter;
} N(proof);

/* z is brought to unit modulus in place, and is then the u of `matter`: 0 for nodes without measurements. work: 3 n
 * vectors, the last n of which are its s. */
static void N(examine)(int n, const V *upper, const V *rows, V *z, V *work, N(proof) *out) {
    V *w = work, *s = work + 2 * n;
    V nodes = LOAD(0), most = LOAD(0), largest = LOAD(0), total = LOAD(0), norm = LOAD(0);
    V objective = LOAD(0), gradient = LOAD(0), image = LOAD(0), moduli = LOAD(0), least = LOAD(INFINITY);
    for (int k = 0; k < 2; k++) /* the second time for the last bits of the first */
        for (int j = 0; j < 2 * n; j += 2) {
            V inverse = N(inverse_root)(z[j] * z[j] + z[j + 1] * z[j + 1]);
            z[j] *= inverse;
            z[j + 1] *= inverse;
        }
    N(product)(n, upper, LOAD(1), z, w);
    for (int j = 0; j < n; j++) {
        V zr = z[2 * j], zi = z[2 * j + 1], wr = w[2 * j], wi = w[2 * j + 1];
        V b = zr * wi - zi * wr;
        M here = (M)(rows[j] > LOAD(0));
        s[j] = zr * wr + zi * wi;
        objective += s[j];
        gradient += b * b;
        image += wr * wr + wi * wi;
        largest = N(larger)(N(size)(s[j]), largest);
        least = N(pick)(here & (M)(s[j] < least), s[j], least);
        most = N(larger)(rows[j], most);
        total += rows[j];
        norm += rows[j] * rows[j];
        nodes += (V)((M)LOAD(1) & here);
        z[2 * j] = (V)((M)zr & here), z[2 * j + 1] = (V)((M)zi & here);
    }
    for (int64_t k = 0; k < (int64_t)n * (n - 1); k += 2) {
        V square = upper[k] * upper[k] + upper[k + 1] * upper[k + 1];
        moduli += square * N(inverse_root)(square);
    }
    gradient *= N(inverse_root)(gradient);
    V lift = LOAD(2) * largest + LOAD(2) * gradient * N(inverse_root)(N(larger)(nodes, LOAD(1)));
    lift = N(pick)((M)(lift > LOAD(0)), lift, LOAD(1));
    least = N(pick)((M)(nodes > LOAD(0)), least, LOAD(0));
    out->gradient = gradient;
    out->image = image * N(inverse_root)(image);
    out->rows_total = total;
    out->rows_norm = norm * N(inverse_root)(norm);
    out->moduli = LOAD(2) * moduli;
    out->matter = (N(matter)){n, upper, rows, z, s, lift, nodes, objective, most, largest, least};
}
