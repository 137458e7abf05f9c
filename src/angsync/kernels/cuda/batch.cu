// Many small problems, third part (after batch_layout.cu and batch_product.cu): C is read once, into registers, and
// stays there for the whole solve.

constexpr int FIRST_POWER_STEPS = 2;  // without a look at what they did

// The start of the power steps is a column of C, that of the middle node, and 1 / (8 n) of the phases `bias`, which
// keep it from being orthogonal to what is looked for. After two of them, phases are taken: z. Where a phase would
// turn by more than `settled` at the next product, |Im(conj(z_j) w_j)| > settled Re(conj(z_j) w_j) for some j, power
// steps go on from z until that is no longer so, power_steps in all at most. shifts: one a problem, C + shift I is
// iterated (may be null). status: 0 converged, 1 iteration limit, 2 not finite (z, objective and residual are then
// NaN). A problem has converged when no phase would turn by more than the tolerance, |Im(conj(z_j) w_j)| <= tolerance
// |w_j| for all j: that implies the residual, and is one vote of the lanes. A problem that has converged makes
// POLISH_STEPS further steps; with them, start may be phases (problems, n) to begin with in place of that column, and
// power_steps 0. z is turned so that the entry of gauge_node is 1.
//
// Where CHECKING is 1, every problem is looked at while C is in shared memory: is it Hermitian, and has it a row without
// zeros, so that it is in one piece? Those of which that cannot be said at once are put on the list `suspects` for
// examine_batch (batch_examine.cu); told[0] counts them, told[1] the problems that have not converged.
// differing: with POLISH_STEPS, the sum of |C_jl - conj(C_lj)| over the pairs of a problem, from above.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    solve_batch(const Unit* __restrict__ C, long long count, const float2* __restrict__ bias,
                const float* __restrict__ shifts, const float2* __restrict__ start, float tolerance, int max_iterations,
                int power_steps, float settled, float share, int gauge_node, float2* __restrict__ z, double* __restrict__ objective,
                double* __restrict__ residual, int* __restrict__ iterations, signed char* __restrict__ status,
                int* __restrict__ components, double* __restrict__ differing,
                int* __restrict__ suspects, unsigned long long* __restrict__ told) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int member = threadIdx.x % TEAM;
    Buffers& mine = reinterpret_cast<Buffers*>(shared)[threadIdx.x / TEAM];
    const int group = IN_WARP ? member / LANES : 0;  // the problem of this lane; lanes left over have none
    const bool idle = IN_WARP ? group >= PROBLEMS : member >= LANES;
    const int local = member - group * LANES;
    const int slot = local / SPLIT;
    const int part = local % SPLIT;
    const unsigned group_lanes = LANES >= 32 || idle ? 0xffffffffu : ((1u << (LANES % 32)) - 1u) << (group * LANES);
    const int vector_at = idle ? 0 : group * VECTOR;

    const long long step = (long long)gridDim.x * TEAMS * PROBLEMS;
    long long first = ((long long)blockIdx.x * TEAMS + threadIdx.x / TEAM) * PROBLEMS;
#if BULK_COPIES
    if (member == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&mine.arrived)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    synchronize();
#endif
    if (first < count) stage(mine, C, first, count, member);
    // what pads the vectors is multiplied by zeros, and must be a number
    for (int u = member; u < 2 * PROBLEMS * VECTOR; u += TEAM) mine.vector[0][u] = Unit{};

    int row[OWN];
    float2 own_bias[OWN];
#pragma unroll
    for (int k = 0; k < OWN; ++k) {
        row[k] = slot + (k + part / COPIES * OWN) * SLOTS;
        if (idle || row[k] >= ORDER) row[k] = -1;
        own_bias[k] = row[k] < 0 ? float2{1, 0} : bias[row[k]];
    }
    unsigned phase_of_copies = 0;

    for (; first < count; first += step) {
        const bool present = !idle && first + group < count;
        wait_for_copies(mine, phase_of_copies);
        phase_of_copies ^= 1;
        const Unit* staged = mine.staged;
        if (member < PROBLEMS) mine.largest[member] = 0;
        synchronize();
        Unit entry[ROWS][SHARE];
        unsigned largest = 0;
        float worst = 0, skew = 0;
        bool full_row = false;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int at = slot + r * SLOTS;
            float sum = 0;
            // Pairs are compared once, or twice near the diagonal: which side, is decided when this is compiled. A few
            // rows are enough to look for one without zeros.
            bool full = true;
            const bool looking_for_zeros = CHECKING && r == 0;
#pragma unroll
            for (int c = 0; c < SHARE; ++c) {
                const bool comparing = CHECKING && !BY_DIAGONALS && ENTRIES * (c + 1) * SPLIT > r * SLOTS;
                const int unit = c * SPLIT + part;
                entry[r][c] = Unit{};
                if (present && at < ORDER && unit < UNITS) {
                    entry[r][c] = staged[(group * ORDER + at) * PITCH + unit];
                    look_at(entry[r][c], staged + group * ORDER * PITCH, at, unit, share, comparing, looking_for_zeros, worst,
                            skew, full);
                }
                sum += absolute_sum(entry[r][c]);
            }
#pragma unroll
            for (int distance = SPLIT / 2; distance > 0; distance /= 2) {
                sum += __shfl_xor_sync(0xffffffffu, sum, distance);
                if (looking_for_zeros) full = full & (__shfl_xor_sync(0xffffffffu, int(full), distance) != 0);
            }
            if (looking_for_zeros) full_row = full && at < ORDER;
            // as bits, infinity and NaN are the largest of all; fmaxf would lose a NaN
            largest = max(largest, __float_as_uint(sum));
        }
        if (CHECKING && BY_DIAGONALS && present) compare_by_diagonals(staged + group * ORDER * PITCH, local, share, worst, skew);
        float2 x[OWN];
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            x[k] = {0, 0};
            if (present && row[k] >= 0) {
                x[k] = reinterpret_cast<const float2*>(staged + (group * ORDER + row[k]) * PITCH)[ORDER / 2];
            }
        }
        if (!idle) atomicMax(&mine.largest[group], largest);
#if CHECKING
        bool suspicious;
        if constexpr (IN_WARP) {
            const unsigned in_one_piece = __ballot_sync(0xffffffffu, full_row);
            suspicious = (__ballot_sync(0xffffffffu, worst > 0) & group_lanes) || !(in_one_piece & group_lanes);
        } else {
            const bool connected = __syncthreads_or(full_row && !idle);
            suspicious = __syncthreads_or(worst > 0) || !connected;
        }
        if (present && local == 0 && suspicious) suspects[atomicAdd(told, 1ULL)] = int(first + group);
#endif
        synchronize();
        if (first + step < count) stage(mine, C, first + step, count, member);

        // All products are scaled by a power of two near 1 / (largest row sum): no overflow, no underflow.
        const unsigned bits = IN_WARP && idle ? 0 : mine.largest[group];
        const bool finite = bits < 0x7f800000u;
        const int exponent = min(100, max(-100, int(bits >> 23) - 126));
        const float scale = __uint_as_float(unsigned(127 - exponent) << 23);
        const float shift = shifts && present ? shifts[first + group] * scale : 0.0f;

        float2* published = reinterpret_cast<float2*>(mine.vector[0] + vector_at);
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            x[k].x = fmaf(x[k].x, scale, own_bias[k].x * (0.125f / ORDER));
            x[k].y = fmaf(x[k].y, scale, own_bias[k].y * (0.125f / ORDER));
            if (power_steps == 0) x[k] = phase(x[k], own_bias[k]);
#if POLISH_STEPS > 0
            if (start && present && row[k] >= 0) x[k] = start[(first + group) * ORDER + row[k]];
#endif
            if (row[k] >= 0) published[row[k]] = x[k];
        }
        synchronize();

        // Round 0: the first power steps, and one product with the phases they give, which shows whether more are
        // needed. Round 1: further power steps for the problems that need them (others of the warp wait), then the
        // iteration. The loops are written once and entered twice: a third copy of the product would take too many
        // registers.
        const bool in_two_rounds = power_steps > FIRST_POWER_STEPS;
        const bool taking_part = finite && !(IN_WARP && idle);
        int power = 1, last_power = min(power_steps, FIRST_POWER_STEPS);
        int buffer = 0, iteration = 0, limit = in_two_rounds ? 0 : max_iterations;
        bool powering = taking_part, converged;
        float2 y[OWN], w[OWN];
        for (int round = 0;; ++round) {
#pragma unroll 1
            for (; power <= last_power; ++power) {
                multiply(entry, mine.vector[buffer] + vector_at, part, y);
                add_shift(w, y, x, scale, shift);
                const bool ends = power == last_power || (round > 0 && all_still(x, w, row, settled, group_lanes));
                buffer ^= 1;
                published = reinterpret_cast<float2*>(mine.vector[buffer] + vector_at);
#pragma unroll
                for (int r = 0; r < OWN; ++r) {
                    if (powering) x[r] = ends ? phase(w[r], own_bias[r]) : w[r];
                    if (row[r] >= 0) published[row[r]] = x[r];
                }
                synchronize();
                powering = powering && !ends;
                if (round > 0 && !any_of_team(powering)) break;
            }

            for (;;) {
                multiply(entry, mine.vector[buffer] + vector_at, part, y);
                add_shift(w, y, x, scale, shift);
                bool small = true;
#pragma unroll
                for (int r = 0; r < OWN; ++r) {
                    const float turn = x[r].x * w[r].y - x[r].y * w[r].x;
                    const float square = w[r].x * w[r].x + w[r].y * w[r].y;
                    small = small && (row[r] < 0 || turn * turn <= tolerance * tolerance * square);
                }
                if constexpr (IN_WARP) {
                    const unsigned votes = __ballot_sync(0xffffffffu, small);
                    converged = (votes & group_lanes) == group_lanes;
                    const bool ended = !taking_part || converged || iteration == limit;
                    if (__all_sync(0xffffffffu, ended)) break;
                    if (!ended) {
                        ++iteration;
#pragma unroll
                        for (int r = 0; r < OWN; ++r) x[r] = phase(w[r], x[r]);
                    }
                } else {
                    converged = __syncthreads_and(small);
                    if (!finite || converged || iteration == limit) break;
                    ++iteration;
#pragma unroll
                    for (int r = 0; r < OWN; ++r) x[r] = phase(w[r], x[r]);
                }
                buffer ^= 1;
                published = reinterpret_cast<float2*>(mine.vector[buffer] + vector_at);
#pragma unroll
                for (int r = 0; r < OWN; ++r) {
                    if (row[r] >= 0) published[row[r]] = x[r];
                }
                synchronize();
            }
            if (!in_two_rounds || round > 0) break;

            limit = max_iterations;
            // all lanes vote, whether they take part or not
            const bool still = all_still(x, w, row, settled, group_lanes);
            powering = taking_part && !still;
            const bool more_powers = any_of_team(powering);
            const bool going = taking_part && !converged && max_iterations > 0;
            if (!more_powers && !any_of_team(going)) break;
            power = FIRST_POWER_STEPS + 2;
            last_power = more_powers ? power_steps : 0;
            const bool ends = power > last_power;
            iteration = !more_powers && going;
            buffer ^= 1;
            published = reinterpret_cast<float2*>(mine.vector[buffer] + vector_at);
#pragma unroll
            for (int r = 0; r < OWN; ++r) {
                if (more_powers && powering) {
                    x[r] = ends ? phase(w[r], own_bias[r]) : w[r];
                } else if (!more_powers && going) {
                    x[r] = phase(w[r], x[r]);
                }
                if (row[r] >= 0) published[row[r]] = x[r];
            }
            synchronize();
        }

        // f of C itself; the residual of C + shift I, whose gradient is the same
        const int first_lane = idle ? 0 : group * LANES;
#if POLISH_STEPS > 0
        // the product of the last one is that of the sums
#pragma unroll 1
        for (int step = 0; step < POLISH_STEPS; ++step) {
            add_shift(w, y, x, scale, shift);
            buffer ^= 1;
            published = reinterpret_cast<float2*>(mine.vector[buffer] + vector_at);
#pragma unroll
            for (int r = 0; r < OWN; ++r) {
                if (converged) x[r] = phase(w[r], x[r]);
                if (row[r] >= 0) published[row[r]] = x[r];
            }
            synchronize();
            multiply(entry, mine.vector[buffer] + vector_at, part, y);
        }
#endif
        const Sums sum = summed(x, y, row, scale, shift, skew, part, first_lane, member, mine);
        float2* reference = reinterpret_cast<float2*>(mine.vector[buffer] + vector_at);
        synchronize();
#pragma unroll
        for (int r = 0; r < OWN; ++r) {
            if (row[r] == gauge_node) *reference = x[r];
        }
        synchronize();
        const float2 turn = *reference;
        const long long problem = first + group;
        const float nothing = __uint_as_float(0x7fc00000u);
        if (present && local == 0) {
            const float product = sum.gradient * sum.size;
            const double unscaled = __uint_as_float(unsigned(127 + exponent) << 23);
            objective[problem] = finite ? double(sum.objective) * unscaled : nothing;
            residual[problem] = !finite ? nothing : product > 0 ? sum.gradient * rsqrtf(product) : 0.0f;
            iterations[problem] = finite ? iteration : 0;
            status[problem] = !finite ? 2 : converged ? 0 : 1;
            components[problem] = finite;
            // the sum in single precision is off by less than a hundredth; pairs near the diagonal may count twice
            if (WITH_SKEW) differing[problem] = 1.01 * sum.skew;
            if (!finite || !converged) atomicAdd(told + 1, 1ULL);
        }
        if (present) {
#pragma unroll
            for (int r = 0; r < OWN; ++r) {
                if (row[r] < 0) continue;
                float2 turned = {x[r].x * turn.x + x[r].y * turn.y, x[r].y * turn.x - x[r].x * turn.y};
                if (row[r] == gauge_node) turned = {1, 0};  // exactly, not to rounding
                z[problem * ORDER + row[r]] = finite ? turned : float2{nothing, nothing};
            }
        }
    }
}
