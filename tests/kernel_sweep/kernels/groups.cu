// Cooperative groups.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Tiles of 16 threads reduce in shared memory.
// grid: 1 x 64
// out: x[:64].reshape(4, 16).sum(1)
KERNEL(sum_of_tiles) {
    __shared__ int part[64];
    auto group = cg::tiled_partition<16>(cg::this_thread_block());
    int rank = group.thread_rank(), *own = part + T / 16 * 16;
    own[rank] = in[T];
    for (int half = 8; half > 0; half /= 2) {
        group.sync();
        if (rank < half) own[rank] += own[rank + half];
    }
    if (rank == 0) out[T / 16] = own[0];
}

// The grid exchanges elements.
// grid: 4 x 32 cooperative
// out: x[:128][::-1]
KERNEL(exchange_in_grid) {
    work[I] = in[I];
    cg::this_grid().sync();
    out[I] = work[127 - I];
}

// Steps of a stencil over the whole grid, in place.
// grid: 2 x 64 cooperative
// data: automaton(x[:128], 2)
KERNEL(stencil_in_grid) {
    auto grid = cg::this_grid();
    for (int step = 0; step < 2; ++step) {
        int next = data[(I + 127) % 128] ^ data[(I + 1) % 128];
        grid.sync();
        data[I] = next;
        grid.sync();
    }
}

// Blocks of a cluster read each other's shared memory, and stay until both have read.
// grid: 2 x 32 cluster 2
// out: [x[32], x[0]]
KERNEL(exchange_in_cluster) {
    __shared__ int value;
    auto cluster = cg::this_cluster();
    if (T == 0) value = in[I];
    cluster.sync();
    if (T == 0) out[blockIdx.x] = *cluster.map_shared_rank(&value, 1 - cluster.block_rank());
    cluster.sync();
}
