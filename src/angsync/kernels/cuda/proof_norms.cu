// Lower bounds on S(z) over the complement of z from sums of squares alone (after proof_measure.cu): the first pass of
// a proof, for every problem, C read once.
//
// On the complement of z, v^H S v >= min_j s_j - lambda_max(P C P), P the projector. P C P has the trace T = -f / m
// there (the diagonal of C is left out) and the squared Frobenius norm Q = |C|^2 - 2 |C z|^2 / m + (f / m)^2, and for
// k = m - 1 eigenvalues of which these two are known,
//     lambda_max <= T / k + sqrt((k - 1) / k (Q - T^2 / k))
// (Wolkowicz and Styan, Bounds for eigenvalues using traces, Linear Algebra and its Applications 29, 1980).

// sqrt(square), good to an ulp: two steps of Newton from a fast approximation. A square root by the book for every
// entry would cost as much as all else. square is at least TINY, far below the smallest square of a float.
constexpr double TINY = 1e-300;
__device__ __forceinline__ double root_of(double square) {
    double inverse;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(square));
    const double half = 0.5 * inverse;
    double root = square * inverse;
    root = fma(half, fma(-root, root, square), root);
    return fma(half, fma(-root, root, square), root);
}

__device__ __forceinline__ void add_modulus(float re, float im, double2& sum) {
    const double x = re, y = im, square = fma(x, x, fma(y, y, TINY));
    sum.x += root_of(square);
    sum.y += square;
}

// What is stored and no entry above the diagonal becomes 0: gaps, once, and with every problem those entries of the
// diagonal that came in one unit with their neighbor.
__device__ __forceinline__ void clear_gaps(Problem& mine, int member) {
    for (int u = member; u < FOLD * PITCH; u += TEAM) mine.staged[u] = Unit{};
}

__device__ __forceinline__ void clear_diagonal(Problem& mine, int member) {
    if constexpr (ENTRIES == 2) {
        for (int i = 2 * member; i < ORDER; i += 2 * TEAM) mine.entries()[row_at(i) + i] = {0, 0};
        synchronize();
    }
}

// Sums of |c| and |c|^2 over the share of one thread.
__device__ __forceinline__ double2 moduli_and_squares(const Problem& mine, int member) {
    double2 sum = {0, 0};
#pragma unroll 4
    for (int u = member; u < FOLD * PITCH; u += TEAM) {
        const Unit c = mine.staged[u];
        add_modulus(c.x, c.y, sum);
#if ORDER % 2 == 0
        add_modulus(c.z, c.w, sum);
#endif
    }
    return {2 * sum.x, 2 * sum.y};
}

// What is rounded is at most (n^2 + 22 n + 110) units of 2^-53 of the sum of the squared rows under the root (sums of
// n^2 and of 2 n terms, and z of unit modulus to three units), and less than 16 n + 64 of them beside it.
__device__ __forceinline__ double bound_by_norms(const Totals& total) {
    constexpr double UNIT = 1.0 / (1LL << 53);
    // most often all nodes take part, and nothing has to be divided
    const bool all = total.nodes == ORDER;
    const double of_m = all ? 1.0 / ORDER : 1 / total.nodes;
    const double of_k = all && ORDER > 1 ? 1.0 / (ORDER > 1 ? ORDER - 1 : 1) : 1 / (total.nodes - 1);
    const double trace = -total.objective * of_m;
    const double projected = total.squares - 2 * total.image * of_m + trace * trace;
    const double spread = fmax((1 - of_k) * (projected - trace * trace * of_k), 0.0);
    const double root = root_of(spread + TINY + 8.0 * (ORDER * ORDER + 64) * UNIT * total.rows_squared);
    return total.least - (trace * of_k + root) - (16.0 * ORDER + 64) * UNIT * (total.most + root);
}

// found: (problems, FIELDS), in the order of FIELDS in proof_reference.py. left: the problems whose bound is less
// than `enough` of the smallest s_j, in any order, and how many.
extern "C" __global__ void __launch_bounds__(THREADS)
    bound_batch(const Unit* __restrict__ C, const float2* __restrict__ z, int count, double enough,
                double2* __restrict__ found, int* __restrict__ left, int* __restrict__ left_count) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int member = threadIdx.x % TEAM;
    Problem& mine = reinterpret_cast<Problem*>(shared)[threadIdx.x / TEAM];
    clear_gaps(mine, member);
    for (int problem = blockIdx.x * TEAMS + threadIdx.x / TEAM; problem < count; problem += gridDim.x * TEAMS) {
        synchronize();  // with the problem before
        fetch(mine, C, z, problem, member);
        clear_diagonal(mine, member);
        const Totals total = measure(mine, member, moduli_and_squares(mine, member));
        if (member != 0) continue;
        double bound = -__longlong_as_double(0x7ff0000000000000LL);
        if (usable(total)) {
            bound = bound_by_norms(total);
            if (!(bound > 0 && bound >= enough * total.least)) left[atomicAdd(left_count, 1)] = problem;
        }
        double2* to = found + problem * (FIELDS / 2LL);
        to[0] = {bound, total.objective};
        to[1] = {root_of(total.gradient + TINY), total.rows};
        to[2] = {root_of(total.rows_squared + TINY), total.most};
        to[3] = {total.moduli, total.nodes};
    }
}
