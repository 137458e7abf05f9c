/* The rows of a Hermitian matrix out of a list of edges, in C; the twin in assemble_reference.py says what is computed.
 *
 * Every edge is written into both of its rows, then each row is sorted where it lies: nothing is held beside the matrix
 * but one number a row, and what the longest row needs.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t index_t;
typedef struct { double re, im; } complex_t;
typedef struct { index_t column; index_t place; } keyed_t;

/* Rows up to this length are sorted by insertion */
#define SHORT 48

/* next[j]: where the next entry of row j goes. Adding 0 makes -0 a 0, as a sum of sparse matrices does. */
void scatter_edges(int64_t count, const index_t *i, const index_t *j, const complex_t *value, index_t *next,
                   index_t *indices, complex_t *data) {
    for (int64_t k = 0; k < count; k++) {
        index_t a = next[i[k]]++, b = next[j[k]]++;
        complex_t v = value[k];
        indices[a] = j[k];
        data[a].re = v.re + 0.0;
        data[a].im = v.im + 0.0;
        indices[b] = i[k];
        data[b].re = v.re + 0.0;
        data[b].im = -v.im + 0.0;
    }
}

static void insertion(int64_t length, index_t *indices, complex_t *data) {
    for (int64_t k = 1; k < length; k++) {
        index_t column = indices[k];
        if (indices[k - 1] <= column) continue;
        complex_t value = data[k];
        int64_t to = k;
        while (to > 0 && indices[to - 1] > column) {
            indices[to] = indices[to - 1];
            data[to] = data[to - 1];
            to--;
        }
        indices[to] = column;
        data[to] = value;
    }
}

static int by_column(const void *a, const void *b) {
    const keyed_t *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int long_row(int64_t length, index_t *indices, complex_t *data) {
    int sorted = 1;
    for (int64_t k = 1; k < length && sorted; k++) sorted = indices[k - 1] <= indices[k];
    if (sorted) return 0;
    keyed_t *keys = malloc(sizeof(keyed_t) * (size_t)length);
    complex_t *copy = malloc(sizeof(complex_t) * (size_t)length);
    if (!keys || !copy) {
        free(keys);
        free(copy);
        return -1;
    }
    for (int64_t k = 0; k < length; k++) keys[k].column = indices[k], keys[k].place = (index_t)k;
    memcpy(copy, data, sizeof(complex_t) * (size_t)length);
    qsort(keys, (size_t)length, sizeof(keyed_t), by_column);
    for (int64_t k = 0; k < length; k++) indices[k] = keys[k].column, data[k] = copy[keys[k].place];
    free(keys);
    free(copy);
    return 0;
}

/* Sorts the entries of each row by their columns and sums those of one column, in the order in which they came; rows
 * are moved together, and indptr follows. Where the sum is less than `least` of the sum of the moduli, the entries
 * contradict each other: below `nothing` of it the sum is set to 0. Returns how many pairs do (above the diagonal), or
 * -1 where there is no memory; the worst of them is at worst[0], worst[1]. */
int64_t sum_rows(int64_t n, index_t *indptr, index_t *indices, complex_t *data, double least, double nothing,
                 int64_t *worst) {
    int64_t found = 0;
    double lowest = 2;
    index_t begin = 0, out = 0;
    for (int64_t j = 0; j < n; j++) {
        index_t end = indptr[j + 1], k = begin;
        if (end - begin <= SHORT) {
            insertion(end - begin, indices + begin, data + begin);
        } else if (long_row(end - begin, indices + begin, data + begin) != 0) {
            return -1;
        }
        while (k < end) {
            index_t column = indices[k], first = k;
            complex_t sum = data[k++];
            double total = 0;
            if (k < end && indices[k] == column) {
                total = hypot(sum.re, sum.im);
                for (; k < end && indices[k] == column; k++) {
                    sum.re += data[k].re;
                    sum.im += data[k].im;
                    total += hypot(data[k].re, data[k].im);
                }
            }
            double share = total > 0 ? hypot(sum.re, sum.im) / total : 1;
            if (share < least) {
                if (column > j) {
                    found++;
                    if (share < lowest) lowest = share, worst[0] = j, worst[1] = column;
                }
                if (share < nothing) sum.re = sum.im = 0;
            }
            if (out != first || k > first + 1) indices[out] = column, data[out] = sum;
            out++;
        }
        indptr[j + 1] = out;
        begin = end;
    }
    return found;
}
