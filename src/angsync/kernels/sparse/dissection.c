/* Nested dissection of a graph, in C: the order of elimination, and the rows that every block of it joins. The NumPy
 * twin in dissection_reference.py says what is computed; both give the same numbers, entry by entry.
 *
 * Parts that are still to be cut lie on a stack, each with a graph of its own, so that the searches stay in the cache.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t index_t;

enum { NO_MEMORY = -1, TOO_LARGE = -2 };

typedef struct {
    index_t size;
    index_t *nodes, *bounds, *columns; /* numbers in the whole graph; rows of the part's own graph */
} part_t;

typedef struct {
    part_t *parts;
    int64_t count, room;
} stack_t_;

typedef struct {
    int64_t leaf, small, largest;
    double balance, poor;
} settings_t;

/* What the search of one part needs; the arrays are as long as the whole graph. */
typedef struct {
    index_t *queue, *ends, *place, *number, *chosen, *label;
} work_t;

static void free_part(part_t *part) {
    free(part->nodes);
    free(part->bounds);
    free(part->columns);
}

static int push(stack_t_ *stack, part_t part) {
    if (stack->count == stack->room) {
        int64_t room = 2 * stack->room + 64;
        part_t *grown = realloc(stack->parts, (size_t)room * sizeof(part_t));
        if (!grown) {
            free_part(&part);
            return NO_MEMORY;
        }
        stack->parts = grown;
        stack->room = room;
    }
    stack->parts[stack->count++] = part;
    return 0;
}

/* Put the part of these nodes, given by their places in `whole`, on the stack. number is -1 everywhere and stays so. */
static int push_side(stack_t_ *stack, const part_t *whole, const index_t *side, index_t size, int64_t leaf,
                     index_t *number) {
    part_t part = {size, NULL, NULL, NULL};
    if (size == 0) return 0;
    part.nodes = malloc((size_t)size * sizeof(index_t));
    if (!part.nodes) return NO_MEMORY;
    for (index_t k = 0; k < size; k++) part.nodes[k] = whole->nodes[side[k]];
    if (size > leaf) { /* a leaf is not searched any more */
        int64_t most = 0;
        for (index_t k = 0; k < size; k++) {
            number[side[k]] = k;
            most += whole->bounds[side[k] + 1] - whole->bounds[side[k]];
        }
        part.bounds = malloc(((size_t)size + 1) * sizeof(index_t));
        part.columns = malloc((size_t)(most + 1) * sizeof(index_t));
        if (part.bounds && part.columns) {
            index_t at = 0;
            for (index_t k = 0; k < size; k++) {
                part.bounds[k] = at;
                for (index_t e = whole->bounds[side[k]]; e < whole->bounds[side[k] + 1]; e++) {
                    index_t column = number[whole->columns[e]];
                    if (column >= 0) part.columns[at++] = column;
                }
            }
            part.bounds[size] = at;
        }
        for (index_t k = 0; k < size; k++) number[side[k]] = -1;
        if (!part.bounds || !part.columns) {
            free_part(&part);
            return NO_MEMORY;
        }
    }
    return push(stack, part);
}

/* Breadth-first search from a node: how many nodes were reached; ends[k] of them before the k-th was visited. */
static index_t search(const part_t *part, index_t start, work_t *work) {
    index_t head = 0, tail = 0;
    for (index_t k = 0; k < part->size; k++) work->place[k] = -1;
    work->place[start] = tail;
    work->queue[tail++] = start;
    while (head < tail) {
        work->ends[head] = tail;
        index_t node = work->queue[head++];
        for (index_t e = part->bounds[node]; e < part->bounds[node + 1]; e++) {
            index_t other = part->columns[e];
            if (work->place[other] < 0) {
                work->place[other] = tail;
                work->queue[tail++] = other;
            }
        }
    }
    return tail;
}

typedef struct {
    index_t size, label;
} component_t;

static int larger_first(const void *a, const void *b) {
    const component_t *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->label < y->label ? -1 : 1;
}

/* Components of a part: large ones alone, small ones together in leaves. */
static int push_components(stack_t_ *stack, const part_t *part, work_t *work, int64_t leaf) {
    index_t count = 0, size = part->size, head = 0, tail = 0;
    component_t *components = malloc((size_t)size * sizeof(component_t));
    if (!components) return NO_MEMORY;
    for (index_t k = 0; k < size; k++) work->label[k] = -1;
    for (index_t start = 0; start < size; start++) {
        if (work->label[start] >= 0) continue;
        index_t first = tail;
        work->label[start] = count;
        work->queue[tail++] = start;
        while (head < tail) {
            index_t node = work->queue[head++];
            for (index_t e = part->bounds[node]; e < part->bounds[node + 1]; e++) {
                index_t other = part->columns[e];
                if (work->label[other] < 0) {
                    work->label[other] = count;
                    work->queue[tail++] = other;
                }
            }
        }
        components[count].size = tail - first;
        components[count].label = count;
        count++;
    }
    qsort(components, (size_t)count, sizeof(component_t), larger_first);
    index_t half = (index_t)(leaf / 2), large = 0, groups = 0, before = 0;
    while (large < count && components[large].size > half) large++;
    index_t *group = work->ends; /* of a component; the search is over */
    for (index_t c = 0; c < count; c++) {
        index_t g = c;
        if (c >= large) {
            g = large + before / half;
            before += components[c].size;
        }
        group[components[c].label] = g;
        groups = g + 1;
    }
    free(components);
    /* the nodes by groups, in their own order (some groups may be empty) */
    index_t *bounds = calloc((size_t)groups + 1, sizeof(index_t));
    if (!bounds) return NO_MEMORY;
    for (index_t k = 0; k < size; k++) bounds[group[work->label[k]] + 1]++;
    for (index_t g = 0; g < groups; g++) bounds[g + 1] += bounds[g];
    for (index_t k = 0; k < size; k++) work->chosen[bounds[group[work->label[k]]]++] = k;
    int code = 0;
    for (index_t g = 0; g < groups && code == 0; g++) {
        index_t begin = g ? bounds[g - 1] : 0;
        code = push_side(stack, part, work->chosen + begin, bounds[g] - begin, leaf, work->number);
    }
    free(bounds);
    return code;
}

/* Cut a part: its separator comes to the front of work->chosen, and its sides onto the stack. How many nodes the
 * separator has, or a code. */
static int64_t cut(stack_t_ *stack, const part_t *part, work_t *work, const settings_t *settings) {
    index_t size = part->size, hubs = 0, rest = 0, start = 0, code = 0;
    double hub = fmax(2.0 * (double)settings->leaf, 10 * sqrt((double)size));
    for (index_t k = 0; k < size; k++) {
        index_t degree = part->bounds[k + 1] - part->bounds[k];
        if ((double)degree > hub) hubs++;
        if (degree < part->bounds[start + 1] - part->bounds[start]) start = k;
    }
    if (hubs) {
        index_t at = 0;
        for (index_t k = 0; k < size; k++) {
            if ((double)(part->bounds[k + 1] - part->bounds[k]) > hub)
                work->chosen[at++] = k;
            else
                work->queue[rest++] = k;
        }
        code = push_side(stack, part, work->queue, rest, settings->leaf, work->number);
        return code ? code : hubs;
    }
    if (search(part, start, work) < size) return push_components(stack, part, work, settings->leaf);
    search(part, work->queue[size - 1], work); /* from a far end: long and thin */
    int64_t first = (int64_t)(settings->balance * size), last = (int64_t)((1 - settings->balance) * size);
    int64_t best = first + 1;
    double least = INFINITY;
    for (int64_t k = first + 1; k <= (last > first + 1 ? last : first + 1) && k < size; k++) {
        double length = (double)(work->ends[k] - k);
        double uneven = fabs(2.0 * (double)k + length - size) / size, value = length * (1 + uneven);
        if (value < least) {
            least = value;
            best = k;
        }
    }
    index_t end = work->ends[best], separator = 0;
    double share = size <= settings->small ? settings->poor : 0.5;
    if (end == size || (double)(end - best) > share * size) {
        for (index_t k = 0; k < size; k++) work->chosen[k] = k;
        return size;
    }
    /* a node of the queue that sees nothing beyond it belongs to the near side, which is put together in label */
    memcpy(work->label, work->queue, (size_t)best * sizeof(index_t));
    index_t near = (index_t)best;
    for (index_t k = (index_t)best; k < end; k++) {
        index_t node = work->queue[k], e = part->bounds[node];
        while (e < part->bounds[node + 1] && work->place[part->columns[e]] < end) e++;
        if (e < part->bounds[node + 1])
            work->chosen[separator++] = node;
        else
            work->label[near++] = node;
    }
    code = push_side(stack, part, work->label, near, settings->leaf, work->number);
    if (!code) code = push_side(stack, part, work->queue + end, size - end, settings->leaf, work->number);
    return code ? code : separator;
}

/* The nodes in the order of elimination, in blocks. Blocks are found in the opposite order, large parts first. Gives
 * the number of blocks or a code; their bounds are the first entries of starts, which has room for n + 1. */
int64_t dissection_blocks(int64_t n, const index_t *indptr, const index_t *indices, int64_t leaf, int64_t small,
                          double balance, double poor, int64_t largest, int64_t *order, int64_t *starts) {
    settings_t settings = {leaf, small, largest, balance, poor};
    stack_t_ stack = {NULL, 0, 0};
    int64_t blocks = 0, position = n, code = 0;
    index_t *memory = malloc((size_t)(7 * n + 7) * sizeof(index_t));
    if (!memory) return NO_MEMORY;
    index_t *nodes = memory;
    work_t work = {nodes + n, nodes + 2 * n, nodes + 3 * n, nodes + 4 * n, nodes + 5 * n, nodes + 6 * n};
    for (int64_t k = 0; k < n; k++) {
        nodes[k] = (index_t)k;
        work.number[k] = -1;
    }
    /* the whole graph is the first part, whose arrays are not ours */
    part_t whole = {(index_t)n, nodes, (index_t *)indptr, (index_t *)indices}, part = whole;
    int borrowed = 1;
    while (n > 0 && code >= 0) {
        const index_t *block = part.nodes;
        int64_t size = part.size;
        int translated = 1;
        if (size > leaf) {
            size = cut(&stack, &part, &work, &settings);
            block = work.chosen;
            translated = 0;
        }
        if (size < 0)
            code = size;
        else if (!translated && size > largest)
            code = TOO_LARGE;
        else if (size > 0) {
            position -= size;
            for (int64_t k = 0; k < size; k++) order[position + k] = translated ? block[k] : part.nodes[block[k]];
            starts[blocks++] = size;
        }
        if (!borrowed) free_part(&part);
        borrowed = 0;
        if (stack.count == 0) break;
        part = stack.parts[--stack.count];
        if (code < 0) free_part(&part);
    }
    while (stack.count > 0) free_part(&stack.parts[--stack.count]);
    free(stack.parts);
    free(memory);
    if (code < 0) return code;
    for (int64_t a = 0, b = blocks - 1; a < b; a++, b--) {
        int64_t size = starts[a];
        starts[a] = starts[b];
        starts[b] = size;
    }
    for (int64_t b = blocks, end = n; b >= 0; b--) {
        int64_t size = b > 0 ? starts[b - 1] : 0;
        starts[b] = end;
        end -= size;
    }
    return blocks;
}

static int ascending(const void *a, const void *b) {
    index_t x = *(const index_t *)a, y = *(const index_t *)b;
    return (x > y) - (x < y);
}

/* The rows of every block: neighbors of its nodes and rows of its children, as far as they come later, sorted, and
 * then n, the anchor. bounds (count + 1) and parent (count) are written; what is returned is their total or a code.
 * *found is memory of this library that dissection_free takes back. */
int64_t dissection_rows(int64_t n, const index_t *indptr, const index_t *indices, const int64_t *order,
                        const int64_t *starts, int64_t count, int64_t largest, int64_t *parent, int64_t *bounds,
                        int64_t **found) {
    int64_t room = 8 * n + 64, total = 0;
    int64_t *rows = malloc((size_t)room * sizeof(int64_t));
    index_t *memory = malloc((size_t)(3 * n + 2 * count + 3) * sizeof(index_t));
    index_t *joined = malloc((size_t)(n + 1) * sizeof(index_t));
    if (!rows || !memory || !joined) {
        free(rows);
        free(memory);
        free(joined);
        return NO_MEMORY;
    }
    index_t *place = memory, *block_of = place + n, *seen_by = block_of + n;
    index_t *child = seen_by + n, *next = child + count;
    for (int64_t b = 0; b < count; b++) {
        child[b] = next[b] = -1;
        for (int64_t k = starts[b]; k < starts[b + 1]; k++) {
            place[order[k]] = (index_t)k;
            block_of[k] = (index_t)b;
            seen_by[k] = -1;
        }
    }
    int64_t code = 0;
    for (int64_t b = 0; b < count && code == 0; b++) {
        int64_t end = starts[b + 1], size = 0;
        for (int64_t k = starts[b]; k < end; k++) {
            for (index_t e = indptr[order[k]]; e < indptr[order[k] + 1]; e++) {
                index_t row = place[indices[e]];
                if (row >= end && seen_by[row] != (index_t)b) {
                    seen_by[row] = (index_t)b;
                    joined[size++] = row;
                }
            }
        }
        for (index_t c = child[b]; c >= 0; c = next[c]) {
            for (int64_t k = bounds[c]; k < bounds[c + 1] - 1; k++) {
                index_t row = (index_t)rows[k];
                if (row >= end && seen_by[row] != (index_t)b) {
                    seen_by[row] = (index_t)b;
                    joined[size++] = row;
                }
            }
        }
        qsort(joined, (size_t)size, sizeof(index_t), ascending);
        if (end - starts[b] + size > largest) code = TOO_LARGE;
        if (total + size + 1 > room) {
            room = 2 * (total + size + 1);
            int64_t *grown = realloc(rows, (size_t)room * sizeof(int64_t));
            if (!grown) {
                code = NO_MEMORY;
                break;
            }
            rows = grown;
        }
        parent[b] = -1;
        if (size > 0) {
            parent[b] = block_of[joined[0]];
            next[b] = child[parent[b]];
            child[parent[b]] = (index_t)b;
        }
        bounds[b] = total;
        for (int64_t k = 0; k < size; k++) rows[total + k] = joined[k];
        rows[total + size] = n;
        total += size + 1;
        bounds[b + 1] = total;
    }
    free(memory);
    free(joined);
    if (code < 0) {
        free(rows);
        return code;
    }
    if (count == 0) bounds[0] = 0;
    *found = rows;
    return total;
}

void dissection_free(int64_t *rows) { free(rows); }
