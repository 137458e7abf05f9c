// Gap and verdict of every problem of a stack from what the proofs found: angsync/certificate/stacked.py, one thread a problem.

constexpr signed char NOT_FINITE = 2;

// found: (problems, 8), the fields of proof_reference.py in their order. g, g_64 and g_squares: gamma of Higham's book
// for products, for sums and for the sum of all moduli; floor_rounding: what is added where numbers are not normal. skew:
// the sum of |C_jl - conj(C_lj)| over the pairs of each problem. open: the problems without a proof are added to it.
extern "C" __global__ void claim_batch(const double* __restrict__ found, const signed char* __restrict__ status,
                                       const int* __restrict__ components, const double* __restrict__ skew,
                                       long long count, double g, double g_64, double g_squares, double floor_rounding,
                                       double tolerance, signed char* __restrict__ verdict,
                                       double* __restrict__ gap_bound, double* __restrict__ relative_gap,
                                       double* __restrict__ lambda_2, unsigned long long* __restrict__ open) {
    const double nothing = __longlong_as_double(0x7ff8000000000000LL), INFINITE = __longlong_as_double(0x7ff0000000000000LL);
    for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < count; k += (long long)gridDim.x * blockDim.x) {
        const double2* field = reinterpret_cast<const double2*>(found) + 4 * k;
        const double2 first = field[0], second = field[1], third = field[2], fourth = field[3];
        const double value = first.x, f = first.y, gradient = second.x, rows_total = second.y, rows_norm = third.x;
        const double rows_most = third.y, moduli = fourth.x, nodes = fourth.y;
        const bool several = nodes > 1, in_pieces = components[k] != 1;
        const double m = several ? nodes : 1.0;
        const double rounding = (g + g_64) * rows_total + floor_rounding;
        const double misfit = fmax(moduli - f, 0.0) + rounding + g_squares * moduli;
        const double e = (gradient + g * rows_norm) / sqrt(m);
        const double offset = rounding / m;
        const double root = hypot(value + offset, 2 * e);
        // squares are left out where they would under- or overflow
        const double below = (value - offset + root) / 2;
        const bool square = below > 1e-140 && below < 1e140;
        double smallest = value <= 0 ? (value - offset - root) / 2
                          : square   ? -(e * e + value * offset) / below
                                     : -(e * (e / below) + offset * (value / below));
        if (value == -INFINITE) smallest = -INFINITE;
        const double unknown = rounding + 2 * skew[k];
        double gap = fmin(m * fmax(0.0, -smallest), misfit) + unknown;
        const double scale = fmax(fmin(fabs(f), misfit), 4 * unknown / tolerance);
        double relative = scale > 0 ? gap / scale : gap > 0 ? INFINITE : 0.0;
        double second_eigenvalue = value - g * rows_most;
        if (!several) gap = relative = 0, second_eigenvalue = INFINITE;
        if (in_pieces) second_eigenvalue = fmin(second_eigenvalue, 0.0);
        if (status[k] == NOT_FINITE) gap = relative = second_eigenvalue = nothing;
        verdict[k] = !(relative <= tolerance) || in_pieces;
        if (verdict[k]) atomicAdd(open, 1ULL);
        gap_bound[k] = gap, relative_gap[k] = relative, lambda_2[k] = second_eigenvalue;
    }
}
