// A closer look at those problems of a stack that solve_batch (batch.cu) has put on its list, one warp a problem: are
// they Hermitian, and in how many pieces are they? Compiled for each order, ORDER n at most 128.
//
// Both are decided by the rule of the host (angsync/batch/input.py, angsync/batch/pieces.py): entries may be apart by
// `share` of the larger one, or by `floor` of the smaller of the two largest entries of their rows; pieces are those of
// the pattern of the upper triangle. In a problem of several pieces each is turned so that its first entry is 1 (or that of gauge_node, which is in one).

constexpr int WORDS = (ORDER + 31) / 32;  // of a set of nodes; also rows a lane: lane, lane + 32, ...
constexpr unsigned ALL = 0xffffffffu;
constexpr int WARPS = ORDER <= 64 ? 4 : 1;
constexpr int PITCH = ORDER | 1;  // an odd number of entries: rows and columns meet in few banks
constexpr signed char NOT_FINITE = 2, EMPTY = 5, DISCONNECTED = 6;

__device__ __forceinline__ unsigned united(unsigned word) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL, word);
#else
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) word |= __shfl_xor_sync(ALL, word, distance);
    return word;
#endif
}

__device__ __forceinline__ double modulus(float2 c) {
    const double x = c.x, y = c.y;
    return sqrt(x * x + y * y);
}

// told: the length of the list, the problems that have not converged (those in pieces are counted here), and the first
// problem that is not Hermitian.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    examine_batch(const float2* __restrict__ C, const int* __restrict__ suspects, double share, double floor_share,
                  int gauge_node, float2* __restrict__ z, signed char* __restrict__ status, int* __restrict__ components,
                  unsigned long long* __restrict__ told) {
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ double row_largest[WARPS][32 * WORDS];
    const int warp = WARPS == 1 ? 0 : threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned long long count = told[0];
    for (unsigned long long k = blockIdx.x * WARPS + warp; k < count; k += gridDim.x * WARPS) {
        const int problem = suspects[k];
        if (status[problem] == NOT_FINITE) continue;
        const float2* from = C + (long long)problem * ORDER * ORDER;
        float2* mine = reinterpret_cast<float2*>(shared) + warp * (ORDER * PITCH);
        __syncwarp();
        for (int u = lane; u < ORDER * ORDER; u += 32) mine[u / ORDER * PITCH + u % ORDER] = from[u];
        __syncwarp();
        unsigned neighbors[WORDS][WORDS];  // of row lane + 32 r
#pragma unroll
        for (int r = 0; r < WORDS; ++r) {
            const int row = lane + 32 * r;
            double largest = 0;
#pragma unroll
            for (int w = 0; w < WORDS; ++w) {
                unsigned word = 0;
                for (int bit = 0; bit < 32; ++bit) {
                    const int column = 32 * w + bit;
                    if (row >= ORDER || column >= ORDER) break;
                    const double here = modulus(mine[row * PITCH + column]);
                    const double there = modulus(mine[column * PITCH + row]);
                    largest = fmax(largest, fmax(here, there));
                    const double above = row < column ? here : there;
                    if (row != column && above > 0) word |= 1u << bit;
                }
                neighbors[r][w] = word;
            }
            row_largest[warp][row] = largest;
        }
        __syncwarp();
        bool asymmetric = false;
        for (int r = 0; r < WORDS; ++r) {
            const int row = lane + 32 * r;
            for (int column = row; column < ORDER; ++column) {
                const float2 a = mine[row * PITCH + column], b = mine[column * PITCH + row];
                const double x = double(a.x) - double(b.x), y = double(a.y) + double(b.y);
                const double apart = sqrt(x * x + y * y);
                const double limit = fmax(share * fmax(modulus(a), modulus(b)),
                                          floor_share * fmin(row_largest[warp][row], row_largest[warp][column]));
                asymmetric = asymmetric || apart > limit;
            }
        }
        if (__any_sync(ALL, asymmetric) && lane == 0) atomicMin(told + 2, (unsigned long long)problem);

        unsigned left[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; ++w) {
            left[w] = 32 * (w + 1) <= ORDER ? ALL : (1u << (ORDER - 32 * w)) - 1u;
        }
        int pieces = 0;
        for (;;) {
            int seed = -1;
#pragma unroll
            for (int w = WORDS - 1; w >= 0; --w) {
                if (left[w]) seed = 32 * w + __ffs(left[w]) - 1;
            }
            if (seed < 0) break;
            unsigned reached[WORDS];
#pragma unroll
            for (int w = 0; w < WORDS; ++w) reached[w] = seed / 32 == w ? 1u << (seed % 32) : 0;
            for (bool grown = true; grown;) {
                unsigned next[WORDS];
#pragma unroll
                for (int w = 0; w < WORDS; ++w) next[w] = reached[w];
#pragma unroll
                for (int r = 0; r < WORDS; ++r) {
                    if (reached[r] >> lane & 1u) {
#pragma unroll
                        for (int w = 0; w < WORDS; ++w) next[w] |= neighbors[r][w];
                    }
                }
                grown = false;
#pragma unroll
                for (int w = 0; w < WORDS; ++w) {
                    next[w] = united(next[w]);
                    grown = grown || next[w] != reached[w];
                    reached[w] = next[w];
                }
            }
            bool turned_already = false;
#pragma unroll
            for (int w = 0; w < WORDS; ++w) {
                turned_already = turned_already || (gauge_node / 32 == w && reached[w] >> (gauge_node % 32) & 1u);
            }
            if (!turned_already) {
                float2* phases = z + (long long)problem * ORDER;
                const float2 turn = phases[seed];
                __syncwarp();
#pragma unroll
                for (int r = 0; r < WORDS; ++r) {
                    if (!(reached[r] >> lane & 1u)) continue;
                    const float2 old = phases[lane + 32 * r];
                    const float2 turned = {old.x * turn.x + old.y * turn.y, old.y * turn.x - old.x * turn.y};
                    phases[lane + 32 * r] = lane + 32 * r == seed ? float2{1, 0} : turned;
                }
                __syncwarp();
            }
            ++pieces;
#pragma unroll
            for (int w = 0; w < WORDS; ++w) left[w] &= ~reached[w];
        }
        if (lane == 0) {
            components[problem] = pieces;
            if (pieces > 1 && status[problem] == 0) {
                status[problem] = pieces == ORDER ? EMPTY : DISCONNECTED;
                atomicAdd(told + 1, 1ULL);
            }
        }
        __syncwarp();
    }
}
