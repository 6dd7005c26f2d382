// Threads of one warp rely on running in step. They need not do so since compute capability 7.0.

#define FULL 0xffffffffu

// The reduction of a warp in shared memory, without __syncwarp between the steps.
// racy: part
// grid: 2 x 32
// out: x[:64].reshape(2, 32).sum(1)
KERNEL(warp_sum_in_shared_memory) {
    __shared__ int part[32];
    part[T] = in[I];  // races
    for (int half = 16; half > 0; half /= 2) {
        CLEAN(__syncwarp();)
        if (T < half) part[T] += part[T + half];  // races
    }
    if (T == 0) out[blockIdx.x] = part[0];
}

// The last steps of a block's reduction run in one warp; they read and write in the same step.
// racy: part
// grid: 1 x 64
// out: [x[:64].sum()]
KERNEL(unrolled_last_warp) {
    __shared__ int part[64];
    part[T] = in[T];
    __syncthreads();
    if (T >= 32) return;
    for (int half = 32; half > 0; half /= 2) {
        int sum = part[T] + part[T + half];  // races
        CLEAN(__syncwarp();)
        part[T] = sum;  // races
        CLEAN(__syncwarp();)
    }
    if (T == 0) out[0] = part[0];
}

// Neighbouring lanes exchange their elements.
// racy: tile
// grid: 1 x 64
// out: x[:64].reshape(32, 2)[:, ::-1]
KERNEL(exchange_of_neighbours) {
    __shared__ int tile[64];
    tile[T] = in[T];  // races
    CLEAN(__syncwarp();)
    out[T] = tile[T ^ 1];  // races
}

// The first lane stores a value for its warp.
// racy: words
// grid: 1 x 64
// out: np.repeat(x[[0, 32]], 32)
KERNEL(broadcast_in_warp) {
    __shared__ int words[2];
    if (T % 32 == 0) words[T / 32] = in[T];  // races
    CLEAN(__syncwarp();)
    out[T] = words[T / 32];  // races
}

// A warp scans in shared memory; the reads of a step are not separated from its writes.
// racy: sum
// grid: 1 x 32
// out: np.cumsum(x[:32])
KERNEL(warp_scan) {
    __shared__ int sum[32];
    sum[T] = in[T];
    __syncwarp();
    for (int step = 1; step < 32; step *= 2) {
        int left = T >= step ? sum[T - step] : 0;  // races
        CLEAN(__syncwarp();)
        sum[T] += left;  // races
        __syncwarp();
    }
    out[T] = sum[T];
}

// The slot of a warp is written again while other lanes may still read it.
// racy: slot
// grid: 1 x 32
// out: np.full(32, x[:4].sum())
KERNEL(slot_of_warp_in_loop) {
    __shared__ int slot;
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        if (T == round) slot = in[round];  // races
        __syncwarp();
        sum += slot;  // races
        CLEAN(__syncwarp();)
    }
    out[T] = sum;
}

// Two warps exchange elements with the barrier of a warp.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(syncwarp_between_warps) {
    __shared__ int tile[64];
    tile[T] = in[T];  // races
    CLEAN(__syncthreads();) RACY(__syncwarp();)
    out[T] = tile[63 - T];  // races
}

// Each half of the warp waits for its own lanes, and reads those of the other half.
// racy: tile
// grid: 1 x 32
// out: x[:32][::-1]
KERNEL(masks_of_half_warps) {
    __shared__ int tile[32];
    tile[T] = in[T];  // races
    CLEAN(__syncwarp();) RACY(if (T < 16) __syncwarp(0xffffu); else __syncwarp(0xffff0000u);)
    out[T] = tile[31 - T];  // races
}

// The mask names the lanes that read, and leaves out the lane that has written.
// racy: word
// grid: 1 x 32
// out: np.concatenate([[0], np.full(31, x[0])])
KERNEL(mask_without_writer) {
    __shared__ int word;
    if (T == 0) word = in[0];  // races
    CLEAN(__syncwarp();) RACY(if (T != 0) __syncwarp(0xfffffffeu);)
    if (T != 0) out[T] = word;  // races
}

// Quads of four lanes exchange within themselves, with their own mask.
// clean: the mask names all lanes that exchange
// grid: 1 x 32
// out: x[:32].reshape(8, 4)[:, ::-1]
KERNEL(masks_of_quads) {
    __shared__ int tile[32];
    tile[T] = in[T];
    __syncwarp(0xfu << (T / 4 * 4));
    out[T] = tile[T ^ 3];
}

// A vote separates the writes from the reads; the manual gives it no order of memory.
// strict: tile; votes are not documented to order memory
// grid: 1 x 32
// out: x[:32][::-1]
KERNEL(vote_as_barrier) {
    __shared__ int tile[32];
    tile[T] = in[T];  // races
    CLEAN(__syncwarp();) RACY(if (!__any_sync(FULL, in[T] >= 0)) return;)
    out[T] = tile[31 - T];  // races
}

// A shuffle separates the writes from the reads; the manual gives it no order of memory.
// strict: tile; shuffles are not documented to order memory
// grid: 1 x 32
// out: x[:32][::-1] + x[0]
KERNEL(shuffle_as_barrier) {
    __shared__ int tile[32];
    int own = in[T];
    tile[T] = own;  // races
    CLEAN(__syncwarp();)
    int first = __shfl_sync(FULL, own, 0);
    out[T] = first + tile[RACY(first < 0 ? T :) 31 - T];  // races
}

// A sum by shuffles uses no memory.
// clean: registers are exchanged, not memory
// grid: 2 x 32
// out: x[:64].reshape(2, 32).sum(1)
KERNEL(sum_by_shuffles) {
    int sum = in[I];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
    if (T == 0) out[blockIdx.x] = sum;
}

// Lanes with even elements are compacted: the leader adds their number to a counter for all of them.
// racy: base
// grid: 1 x 64
// out: [(x[:64] % 2 == 0).sum()]
KERNEL(aggregated_append) {
    __shared__ int base[2];
    unsigned even = __ballot_sync(FULL, in[T] % 2 == 0);
    if (T % 32 == 0) base[T / 32] = atomicAdd(&out[0], __popc(even));  // races
    CLEAN(__syncwarp();)
    int slot = base[T / 32] + __popc(even & ((1u << T % 32) - 1));  // races
    if (even >> T % 32 & 1) work[slot] = in[T];
}

// The histogram of a warp: lanes with equal keys elect a leader, who alone adds.
// racy: bins
// grid: 1 x 32
// out: np.bincount(x[:32] % 8, minlength=8)
KERNEL(matched_keys) {
    __shared__ int bins[8];
    if (T < 8) bins[T] = 0;
    __syncwarp();
    int key = in[T] % 8;
    unsigned peers = __match_any_sync(FULL, key);
    CLEAN(if (T == __ffs(peers) - 1)) bins[key] += __popc(peers);  // races
    __syncwarp();
    if (T < 8) out[T] = bins[T];
}

// Two halves of a warp diverge, and each exchanges elements within itself.
// racy: tile
// grid: 1 x 32
// out: np.concatenate([x[:16][::-1], x[16:32][::-1]])
KERNEL(divergent_exchange) {
    __shared__ int tile[32];
    if (T < 16) {
        tile[T] = in[T];  // races
        CLEAN(__syncwarp(0xffffu);)
        out[T] = tile[15 - T];  // races
    } else {
        tile[T] = in[T];  // races
        CLEAN(__syncwarp(0xffff0000u);)
        out[T] = tile[47 - T];  // races
    }
}
