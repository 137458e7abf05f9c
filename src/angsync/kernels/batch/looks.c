/* Coherence matrices of a stack of images, averaged over a window around each pixel. The NumPy twin is
 * looks_reference.py.
 *
 * The products of a column are summed over the rows of the window first, then these sums over its columns, both in the
 * order of the image: the bits of a pixel do not depend on where a tile, or the part of the image, begins. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>


#define TILE 32 /* pixels of a row that are worked on together */

/* One call. In Python: LooksCall in looks_compiled.py. */
typedef struct {
    int32_t n, rows, columns;          /* of the part of the stack that is given */
    int32_t up, down, left, right;     /* the window: so many rows and columns beside the pixel */
    int32_t first_row, last_row, first_column, last_column; /* pixels that are asked for, last ones excluded */
    int32_t wide, threads;             /* numbers are doubles, not floats */
    const void *stack;                 /* (n, rows, columns), complex */
    const uint8_t *out;                /* (rows, columns): pixels that are left out, or NULL */
    void *C;                           /* (pixels, n, n), of the precision of the stack */
    int32_t *looks;                    /* (pixels): samples of the date that has fewest, of those that have any */
} looks_t;

int64_t looks_call_size(void) { return sizeof(looks_t); }

/* One line of an image, columns first.. of it, as two lines of doubles; 0 where nothing was measured. */
static void read_line(const looks_t *call, int64_t date, int64_t row, int first, int width, double *re, double *im) {
    memset(re, 0, sizeof(double) * (size_t)width);
    memset(im, 0, sizeof(double) * (size_t)width);
    int from = first < 0 ? -first : 0, to = first + width > call->columns ? call->columns - first : width;
    int64_t at = (date * call->rows + row) * call->columns + first;
    const uint8_t *out = call->out ? call->out + row * call->columns + first : NULL;
    for (int c = from; c < to; c++) {
        double x, y;
        if (call->wide) x = ((const double *)call->stack)[2 * (at + c)], y = ((const double *)call->stack)[2 * (at + c) + 1];
        else x = ((const float *)call->stack)[2 * (at + c)], y = ((const float *)call->stack)[2 * (at + c) + 1];
        if (isfinite(x) && isfinite(y) && !(out && out[c])) re[c] = x, im[c] = y;
    }
}

/* Add the products of all pairs of dates; width is a multiple of 16, so that no loop has a remainder. */
static void add_products(int n, int width, const double *restrict re, const double *restrict im,
                              double *restrict sums) {
    for (int j = 0; j < n; j++)
        for (int l = 0; l <= j; l++) {
            const double *a = re + (int64_t)j * width, *b = im + (int64_t)j * width;
            const double *c = re + (int64_t)l * width, *d = im + (int64_t)l * width;
            double *x = sums + (int64_t)(j * (j + 1) / 2 + l) * 2 * width, *y = x + width;
            for (int k = 0; k < width; k++) x[k] += a[k] * c[k] + b[k] * d[k];
            for (int k = 0; k < width; k++) y[k] += b[k] * c[k] - a[k] * d[k];
        }
}

static void add_columns(int lines, int width, int window, const double *restrict sums, double *restrict totals) {
    for (int p = 0; p < lines; p++)
        for (int o = 0; o < window; o++) {
            const double *x = sums + (int64_t)p * width + o;
            double *total = totals + (int64_t)p * TILE;
            for (int k = 0; k < TILE; k++) total[k] += x[k];
        }
}

static void write_pixel(const looks_t *call, int64_t pixel, int k, const double *totals, double *over) {
    int n = call->n;
    for (int j = 0; j < n; j++) {
        double power = totals[(int64_t)(j * (j + 1) / 2 + j) * 2 * TILE + k];
        over[j] = power > 0 ? 1 / sqrt(power) : 0;
    }
    for (int j = 0; j < n; j++)
        for (int l = 0; l <= j; l++) {
            const double *pair = totals + (int64_t)(j * (j + 1) / 2 + l) * 2 * TILE + k;
            double scale = over[j] * over[l], re = pair[0] * scale, im = j == l ? 0 : pair[TILE] * scale;
            if (j == l) re = over[j] > 0;
            int64_t at = (pixel * n + j) * n + l, mirrored = (pixel * n + l) * n + j;
            if (call->wide) {
                double *C = call->C;
                C[2 * mirrored] = re, C[2 * mirrored + 1] = -im, C[2 * at] = re, C[2 * at + 1] = im;
            } else {
                float *C = call->C;
                C[2 * mirrored] = (float)re, C[2 * mirrored + 1] = (float)-im, C[2 * at] = (float)re, C[2 * at + 1] = (float)im;
            }
        }
}

/* Pixels of row `row` from column `column` on, at most TILE of them. */
static void one_tile(const looks_t *call, int row, int column, int width, double *work) {
    int n = call->n, pairs = n * (n + 1) / 2, window = call->left + call->right + 1;
    int used = call->last_column - column < TILE ? call->last_column - column : TILE;
    double *re = work, *im = re + (int64_t)n * width, *counts = im + (int64_t)n * width;
    double *sums = counts + (int64_t)n * width, *totals = sums + (int64_t)2 * pairs * width;
    double *samples = totals + (int64_t)2 * pairs * TILE, *over = samples + (int64_t)n * TILE;
    memset(counts, 0, sizeof(double) * ((size_t)n * width + (size_t)2 * pairs * width + (size_t)2 * pairs * TILE + (size_t)n * TILE));
    int top = row - call->up < 0 ? 0 : row - call->up, bottom = row + call->down >= call->rows ? call->rows - 1 : row + call->down;
    for (int r = top; r <= bottom; r++) {
        for (int j = 0; j < n; j++) {
            double *x = re + (int64_t)j * width, *y = im + (int64_t)j * width;
            read_line(call, j, r, column - call->left, width, x, y);
            for (int k = 0; k < width; k++) counts[(int64_t)j * width + k] += x[k] != 0 || y[k] != 0;
        }
        add_products(n, width, re, im, sums);
    }
    add_columns(2 * pairs, width, window, sums, totals);
    add_columns(n, width, window, counts, samples);
    int across = call->last_column - call->first_column;
    int64_t pixel = (int64_t)(row - call->first_row) * across + (column - call->first_column);
    for (int k = 0; k < used; k++) {
        double fewest = 0;
        for (int j = 0; j < n; j++) {
            double found = samples[(int64_t)j * TILE + k];
            if (found > 0 && (fewest == 0 || found < fewest)) fewest = found;
        }
        call->looks[pixel + k] = (int32_t)fewest;
        write_pixel(call, pixel + k, k, totals, over);
    }
}

/* The coherence matrices of the pixels asked for, row after row. Returns -2 without memory. */
int looks_coherence(const looks_t *call) {
    int n = call->n, pairs = n * (n + 1) / 2, failed = 0;
    int width = (TILE + call->left + call->right + 15) / 16 * 16;
    int across = (call->last_column - call->first_column + TILE - 1) / TILE;
    int64_t tiles = (int64_t)across * (call->last_row - call->first_row);
    size_t doubles = (size_t)3 * n * width + (size_t)2 * pairs * width + (size_t)2 * pairs * TILE + (size_t)n * TILE + (size_t)n;
#pragma omp parallel num_threads(call->threads)
    {
        double *work = malloc(sizeof(double) * doubles);
        if (!work) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for schedule(static)
        for (int64_t k = 0; k < tiles; k++)
            if (work) one_tile(call, call->first_row + (int)(k / across), call->first_column + TILE * (int)(k % across), width, work);
        free(work);
    }
    return failed ? -2 : 0;
}

/* One call. In Python: AgreementCall in looks_compiled.py. */
typedef struct {
    int64_t count;
    int32_t n, wide, threads;
    const void *C, *z; /* (count, n, n) and (count, n), complex, of one precision */
    double *out;       /* (count) */
} agreement_t;

int64_t agreement_call_size(void) { return sizeof(agreement_t); }

static double agreement_of(const agreement_t *call, int64_t problem, double *phases) {
    int n = call->n;
    double re = 0, im = 0, pairs = 0;
    for (int j = 0; j < 2 * n; j++) {
        int64_t at = 2 * problem * n + j;
        phases[j] = call->wide ? ((const double *)call->z)[at] : ((const float *)call->z)[at];
    }
    for (int j = 0; j < n; j++)
        for (int l = j + 1; l < n; l++) {
            int64_t at = 2 * ((problem * n + j) * n + l);
            double x = call->wide ? ((const double *)call->C)[at] : ((const float *)call->C)[at];
            double y = call->wide ? ((const double *)call->C)[at + 1] : ((const float *)call->C)[at + 1];
            double u = phases[2 * j] * phases[2 * l] + phases[2 * j + 1] * phases[2 * l + 1];
            double v = phases[2 * j + 1] * phases[2 * l] - phases[2 * j] * phases[2 * l + 1]; /* z_j conj(z_l) */
            double size = sqrt(x * x + y * y);
            if (!(size > 0) || !(u - u == 0) || !(v - v == 0)) continue;
            re += (x * u + y * v) / size, im += (y * u - x * v) / size, pairs++;
        }
    return pairs > 0 ? sqrt(re * re + im * im) / pairs : NAN;
}

/* How well phases agree with those of all pairs. Returns -2 without memory. */
int looks_agreement(const agreement_t *call) {
    int failed = 0;
#pragma omp parallel num_threads(call->threads)
    {
        double *phases = malloc(sizeof(double) * 2 * (size_t)call->n);
        if (!phases) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for schedule(static)
        for (int64_t k = 0; k < call->count; k++)
            if (phases) call->out[k] = agreement_of(call, k, phases);
        free(phases);
    }
    return failed ? -2 : 0;
}
