// Groups of threads that synchronize with each other, and exchanges that leave the group.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// The barrier of the block's group is missing.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(exchange_in_block_group) {
    __shared__ int tile[64];
    auto block = cg::this_thread_block();
    tile[T] = in[T];  // races
    CLEAN(block.sync();)
    out[T] = tile[63 - T];  // races
}

// Tiles of 16 threads synchronize, and read from the other half of their warp.
// racy: tile
// grid: 1 x 64
// out: x[:64].reshape(2, 32)[:, ::-1]
KERNEL(exchange_across_tiles) {
    __shared__ int tile[64];
    auto group = cg::tiled_partition<CLEAN(32) RACY(16)>(cg::this_thread_block());
    tile[T] = in[T];  // races
    group.sync();
    out[T] = tile[T / 32 * 32 + 31 - T % 32];  // races
}

// Tiles of eight threads exchange within themselves.
// clean: each tile reads its own elements
// grid: 1 x 64
// out: x[:64].reshape(8, 8)[:, ::-1]
KERNEL(exchange_within_tiles) {
    __shared__ int tile[64];
    auto group = cg::tiled_partition<8>(cg::this_thread_block());
    tile[T] = in[T];
    group.sync();
    out[T] = tile[T / 8 * 8 + 7 - group.thread_rank()];
}

// A reduction in shared memory by a tile; the barrier after the read of a step is missing.
// racy: part
// grid: 1 x 64
// out: x[:64].reshape(4, 16).sum(1)
KERNEL(reduction_by_tiles) {
    __shared__ int part[64];
    auto group = cg::tiled_partition<16>(cg::this_thread_block());
    int rank = group.thread_rank(), *own = part + T / 16 * 16;
    own[rank] = in[T];  // races
    for (int half = 8; half > 0; half /= 2) {
        group.sync();
        int other = rank < half ? own[rank + half] : 0;  // races
        CLEAN(group.sync();)
        own[rank] += other;  // races
    }
    if (rank == 0) out[T / 16] = own[0];
}

// A reduction by the library; its result is stored for the whole block without a barrier.
// racy: sums
// grid: 1 x 64
// out: np.full(64, x[:64].sum())
KERNEL(reduce_of_library) {
    __shared__ int sums[2];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = cg::reduce(warp, in[T], cg::plus<int>());
    if (warp.thread_rank() == 0) sums[T / 32] = sum;  // races
    CLEAN(cg::this_thread_block().sync();) RACY(warp.sync();)
    out[T] = sums[0] + sums[1];  // races
}

// A scan by the library.
// clean: it exchanges registers
// grid: 1 x 32
// out: np.cumsum(x[:32])
KERNEL(scan_of_library) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    out[T] = cg::inclusive_scan(warp, in[T]);
}

// The threads of a branch form a group, and exchange elements with all of the warp.
// racy: tile
// grid: 1 x 32
// out: np.where(np.arange(32) % 2 == 0, np.roll(x[:32], -2), 0)
KERNEL(coalesced_threads) {
    __shared__ int tile[32];
    RACY(tile[T] = in[T];)  // races
    if (T % 2) return;
    CLEAN(tile[T] = in[T];)
    cg::coalesced_threads().sync();
    out[T] = tile[(T + 2) % 32 RACY(/ 2)];  // races
}

// The blocks of a cluster read each other's shared memory; the barrier of the cluster is missing.
// racy: value
// grid: 2 x 32 cluster 2
// out: [x[32], x[0]]
KERNEL(read_of_other_block_in_cluster) {
    __shared__ int value;
    auto cluster = cg::this_cluster();
    if (T == 0) value = in[I];  // races
    CLEAN(cluster.sync();) RACY(__syncthreads();)
    if (T == 0) out[blockIdx.x] = *cluster.map_shared_rank(&value, 1 - cluster.block_rank());  // races
    cluster.sync();
}

// A histogram over the shared memory of a cluster; a block clears its bins while others already count in them.
// racy: bins
// grid: 2 x 64 cluster 2
// out: np.bincount(x[:128], minlength=64)
KERNEL(histogram_of_cluster) {
    __shared__ int bins[32];
    auto cluster = cg::this_cluster();
    if (T < 32) bins[T] = 0;  // races
    CLEAN(cluster.sync();) RACY(__syncthreads();)
    int key = in[I];
    atomicAdd(cluster.map_shared_rank(bins, key / 32) + key % 32, 1);  // races
    cluster.sync();
    if (T < 32) out[blockIdx.x * 32 + T] = bins[T];
}

// The grid's barrier is split into arrival and wait; the reads stand between them.
// racy: work
// grid: 2 x 32 cooperative
// out: x[:64][::-1]
KERNEL(read_before_wait_for_grid) {
    auto grid = cg::this_grid();
    work[I] = in[I];  // races
    auto token = grid.barrier_arrive();
    RACY(int value = work[63 - I];)  // races
    grid.barrier_wait(static_cast<decltype(token) &&>(token));
    CLEAN(int value = work[63 - I];)
    out[I] = value;
}

// One thread of a warp is elected to write for its tile; the others read without a barrier of the tile.
// racy: words
// grid: 1 x 64
// out: np.repeat(x[:64].reshape(4, 16)[:, 0], 16)
KERNEL(elected_thread) {
    __shared__ int words[4];
    auto group = cg::tiled_partition<16>(cg::this_thread_block());
    if (group.thread_rank() == 0) words[group.meta_group_rank()] = in[T];  // races
    CLEAN(group.sync();)
    out[T] = words[T / 16];  // races
}
