// Many small problems, first part: how a problem is spread over lanes, and how its matrix comes into shared memory.
// batch_product.cu and batch.cu follow it in the same compilation. Compiled for each order:
//   ORDER         n, at most 128
//   ROWS          rows of C a lane holds, SPLIT lanes share a row (1, 2, 4 or 8; one of the two divides the other)
//   PADDED        1: rows in shared memory are an odd number of units apart
//   THREADS       threads a block, RESIDENT blocks a multiprocessor: how many registers a lane may have
//   POLISH_STEPS  further steps after a solve, see batch.cu
//   CHECKING      1: see whether problems are Hermitian and in one piece, see batch.cu
// Up to 32 lanes a problem, a warp holds as many problems as fit and no warp waits for another; above, a block holds
// one problem. While a problem iterates in registers, the next one is already on its way into shared memory.

constexpr int SLOTS = (ORDER + ROWS - 1) / ROWS;  // lane l has rows l / SPLIT + k SLOTS
constexpr int LANES = SLOTS * SPLIT;
constexpr bool IN_WARP = LANES <= 32;
constexpr int TEAM = IN_WARP ? 32 : THREADS;  // threads that go through the loop together
constexpr int TEAMS = THREADS / TEAM;
constexpr int PROBLEMS = IN_WARP ? 32 / LANES : 1;  // of a team

// Entries are moved in units of 16 bytes where rows allow it (n even), else of 8. Lanes that read the same column of
// neighboring rows meet in no bank when rows are an odd number of units apart.
#if ORDER % 2 == 0
using Unit = float4;
#else
using Unit = float2;
#endif
constexpr int ENTRIES = ORDER % 2 == 0 ? 2 : 1;  // of C in a unit
constexpr int UNITS = ORDER / ENTRIES;
constexpr int PITCH = PADDED ? UNITS | 1 : UNITS;
constexpr int SHARE = (UNITS + SPLIT - 1) / SPLIT;  // units of a row in one lane: SPLIT c + l % SPLIT
constexpr int VECTOR = SHARE * SPLIT;
constexpr int OWN = ROWS > SPLIT ? ROWS / SPLIT : 1;     // rows of y with which a lane ends
constexpr int COPIES = SPLIT > ROWS ? SPLIT / ROWS : 1;  // lanes that end with the same row
static_assert(ROWS % SPLIT == 0 || SPLIT % ROWS == 0, "lanes that share rows end with whole rows");

struct Buffers {
    Unit staged[PROBLEMS * ORDER * PITCH];
    Unit vector[2][PROBLEMS * VECTOR];
    unsigned long long arrived;
    float sums[4][IN_WARP ? 32 : THREADS / 32];
    unsigned largest[PROBLEMS];
};

// Matrices without padding travel by one of Hopper's bulk copies; others by asynchronous copies of a unit a lane (a
// bulk copy for every row is slower than these: about 15 cycles a row).
#if __CUDA_ARCH__ >= 900 && ORDER % 2 == 0 && (!PADDED || ORDER % 4 == 2)
#define BULK_COPIES 1
#else
#define BULK_COPIES 0
#endif

__device__ __forceinline__ void synchronize() {
    if constexpr (IN_WARP) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

__device__ __forceinline__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

#if BULK_COPIES
__device__ __forceinline__ void copy_all(Unit* to, const Unit* from, int bytes, unsigned long long* arrived) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(arrived))
                 : "memory");
}
#endif

__device__ __forceinline__ void copy_ahead(Unit* to, const Unit* from) {
#if __CUDA_ARCH__ >= 800
    const unsigned address = shared_address(to);
#if ORDER % 2 == 0
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address), "l"(from) : "memory");
#endif
#else
    *to = *from;
#endif
}

// phase: 0 for the first matrices staged, 1 for the second, 0 for the third ...
__device__ __forceinline__ void wait_for_copies(Buffers& mine, unsigned phase) {
#if BULK_COPIES
    unsigned ready = 0;
    while (!ready) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(ready)
            : "r"(shared_address(&mine.arrived)), "r"(phase)
            : "memory");
    }
#elif __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// The next PROBLEMS matrices, all threads of the team together, neighbors reading neighbors.
__device__ __forceinline__ void stage(Buffers& mine, const Unit* C, long long first, long long count, int member) {
    const long long there = count - first;
    const int rows = (there < PROBLEMS ? int(there) : PROBLEMS) * ORDER;
    const Unit* from = C + first * (ORDER * UNITS);
#if BULK_COPIES
    static_assert(PITCH == UNITS, "a bulk copy leaves no gaps");
    if (member == 0) {
        const int bytes = rows * UNITS * int(sizeof(Unit));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&mine.arrived)),
                     "r"(bytes)
                     : "memory");
        copy_all(mine.staged, from, bytes, &mine.arrived);
    }
#else
#pragma unroll 8
    for (int u = member; u < rows * UNITS; u += TEAM) {
        copy_ahead(mine.staged + u / UNITS * PITCH + u % UNITS, from + u);
    }
#endif
}
