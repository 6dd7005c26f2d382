// Threads of a block do not all reach the same barrier, or reach different numbers of barriers.

// The barrier stands in the branch of the warp that writes; the other warp does not wait.
// racy: word
// grid: 1 x 64
// out: np.full(64, x[0])
KERNEL(barrier_in_branch_of_writer) {
    __shared__ int word;
    if (T < 32) {
        if (T == 0) word = in[0];  // races
        RACY(__syncthreads();)
    }
    CLEAN(__syncthreads();)
    out[T] = word;  // races
}

// The barrier stands in the branch of the reader; the writer ends without it, after it has written.
// racy: tile
// grid: 1 x 96
// out: np.concatenate([x[32:64], x[64:96], x[:32]])
KERNEL(barrier_of_two_warps_of_three) {
    __shared__ int tile[96];
    tile[T] = in[T];  // races
    CLEAN(__syncthreads();) RACY(if (T < 64) asm volatile("bar.sync 1, 64;" ::: "memory");)
    out[T] = tile[(T + 32) % 96];  // races
}

// Threads without an element leave before the barrier. They have no share in the exchange, so this is right.
// clean: exited threads count as arrived, and never access the tile
// grid: 1 x 96
// out: x[:64][::-1]
KERNEL(early_exit) {
    __shared__ int tile[64];
    if (T >= 64) return;
    tile[T] = in[T];
    __syncthreads();
    out[T] = tile[63 - T];
}

// A thread writes to shared memory after its last barrier, and leaves.
// racy: tile
// grid: 1 x 64
// out: np.concatenate([x[32:64], np.zeros(32)])
KERNEL(late_write_of_leaving_warp) {
    __shared__ int tile[32];
    CLEAN(if (T >= 32) tile[T - 32] = in[T];)
    __syncthreads();
    RACY(if (T >= 32) tile[T - 32] = in[T];)  // races
    if (T >= 32) return;
    out[T] = tile[T];  // races
}

// One warp skips a round, and is then one barrier ahead of the other.
// racy: tile
// grid: 1 x 64
// out: np.add.reduce([x[64 * k:64 * k + 64][::-1] for k in range(3)])
KERNEL(warp_that_skips_a_round) {
    __shared__ int tile[3][64];
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        tile[round][T] = in[round * 64 + T];  // races
        RACY(if (T >= 32 || round != 1))
        __syncthreads();
        sum += tile[round][63 - T];  // races
    }
    out[T] = sum;
}

// The number of rounds depends on the warp, and each round has a barrier.
// racy: ring
// grid: 1 x 64
// out: ring_sum(x)
KERNEL(rounds_depend_on_warp) {
    __shared__ int ring[8];
    int rounds = RACY(T < 32 ? 4 :) 8, sum = 0;
    for (int round = 0; round < rounds; ++round) {
        if (T == 32) ring[round] = in[round];  // races
        __syncthreads();
        sum += round >= 2 ? ring[round - 2] : 0;
    }
    CLEAN(__syncthreads();)
    if (T == 0) for (int k = 0; k < 8; ++k) sum += ring[k];  // races
    out[T] = sum;
}

// Both branches have a barrier. They are the same barrier of the block, number 0.
// clean: barrier 0 in one branch meets barrier 0 in the other
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(barrier_in_both_branches) {
    __shared__ int tile[64];
    tile[T] = in[T];
    if (T < 32) {
        __syncthreads();
        out[T] = tile[63 - T];
    } else {
        __syncthreads();
        out[T] = tile[63 - T] + 0;
    }
}

// The loop ends for the whole block by a vote, which is a barrier too.
// clean: __syncthreads_or is a barrier
// grid: 1 x 64
// out: np.full(64, x[:64].max())
KERNEL(loop_until_vote) {
    __shared__ int largest[64];
    largest[T] = in[T];
    __syncthreads();
    int changed = 1;
    for (int step = 1; __syncthreads_or(changed && step < 64); step *= 2) {
        int other = largest[(T + step) % 64];
        __syncthreads();
        changed = 1;
        largest[T] = max(largest[T], other);
    }
    out[T] = largest[T];
}

// The condition of the barrier is a value of the thread, which differs between the warps.
// racy: total
// fix: barrier of the block
// grid: 1 x 64
// out: np.full(64, x[:64].sum())
KERNEL(barrier_under_data_dependent_condition) {
    __shared__ int total;
    if (T == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, in[T]);  // races
    bool waits = in[T / 32] > 0 CLEAN(|| true) RACY(&& T >= 32);
    if (waits) __syncthreads();
    out[T] = total;  // races
}
