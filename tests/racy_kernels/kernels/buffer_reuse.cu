// A buffer is written again while other threads may still read it.

// A word is broadcast once for each round; the barrier after the reads is missing.
// racy: word
// grid: 1 x 64
// out: np.full(64, x[:8].sum())
KERNEL(broadcast_in_loop) {
    __shared__ int word;
    int sum = 0;
    for (int round = 0; round < 8; ++round) {
        if (T == round) word = in[round];  // races
        __syncthreads();
        sum += word;  // races
        CLEAN(__syncthreads();)
    }
    out[T] = sum;
}

// Product of matrices in tiles; the barrier after the use of a tile is missing.
// racy: a, b
// grid: 4 x 64
// out: tiled_product(x)
KERNEL(tiled_product) {
    __shared__ int a[8][8], b[8][8];
    int row = T / 8, column = T % 8, sum = 0;
    int top = blockIdx.x / 2 * 8, left = blockIdx.x % 2 * 8;
    for (int tile = 0; tile < 16; tile += 8) {
        a[row][column] = in[(top + row) * 16 + tile + column];         // races
        b[row][column] = in[256 + (tile + row) * 16 + left + column];  // races
        __syncthreads();
        for (int k = 0; k < 8; ++k) sum += a[row][k] * b[k][column];  // races
        CLEAN(__syncthreads();)
    }
    out[(top + row) * 16 + left + column] = sum;
}

// Two buffers take turns; with a single barrier for a round, two buffers suffice, and one does not.
// racy: tile
// grid: 1 x 64
// out: np.add.reduce([x[64 * k:64 * k + 64][::-1] for k in range(6)])
KERNEL(two_buffers) {
    __shared__ int tile[2][64];
    int sum = 0;
    for (int round = 0; round < 6; ++round) {
        int buffer = CLEAN(round % 2) RACY(0);
        tile[buffer][T] = in[round * 64 + T];  // races
        __syncthreads();
        sum += tile[buffer][63 - T];  // races
    }
    out[T] = sum;
}

// Three buffers take turns without any barrier in every third round.
// racy: tile
// grid: 1 x 64
// out: np.add.reduce([x[64 * k:64 * k + 64][::-1] for k in range(6)])
KERNEL(three_buffers) {
    __shared__ int tile[3][64];
    int sum = 0;
    for (int round = 0; round < 6; ++round) {
        tile[round % 3][T] = in[round * 64 + T];  // races
        CLEAN(__syncthreads();) RACY(if (round % 3) __syncthreads();)
        sum += tile[round % 3][63 - T];  // races
    }
    out[T] = sum;
}

// A prefetched tile is stored into the buffer that the block still reads.
// racy: tile
// grid: 1 x 64
// out: np.add.reduce([x[64 * k:64 * k + 64][::-1] for k in range(4)])
KERNEL(prefetch_into_current_buffer) {
    __shared__ int tile[2][64];
    tile[0][T] = in[T];
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        int next = in[(round + 1) * 64 + T];
        sum += tile[round % 2][63 - T];           // races
        tile[(round CLEAN(+ 1)) % 2][T] = next;   // races
        __syncthreads();
    }
    out[T] = sum;
}

// The result of the first reduction is read while the second one starts in the same array.
// racy: part
// grid: 1 x 64
// out: np.repeat(x[:64].sum() + x[64:128].max(), 64)
KERNEL(two_reductions_in_one_array) {
    __shared__ int part[64];
    part[T] = in[T];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (T < half) part[T] += part[T + half];
        __syncthreads();
    }
    int sum = part[0];  // races
    CLEAN(__syncthreads();)
    part[T] = in[64 + T];  // races
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (T < half) part[T] = max(part[T], part[T + half]);
        __syncthreads();
    }
    out[T] = sum + part[0];
}

// Generations of an automaton: the next one is written over the current one.
// racy: cells
// grid: 1 x 64
// out: automaton(x[:64] % 2, 4)
KERNEL(automaton_in_place) {
    __shared__ int cells[2][64];
    cells[0][T] = in[T] % 2;
    __syncthreads();
    for (int step = 0; step < 4; ++step) {
        int now = CLEAN(step % 2) RACY(0), next = CLEAN(1 - now) RACY(0);
        cells[next][T] = cells[now][(T + 63) % 64] ^ cells[now][(T + 1) % 64];  // races
        __syncthreads();
    }
    out[T] = cells[0][T];
}

// A count is reset for the next round before all threads have read it.
// racy: count
// grid: 1 x 64
// out: np.full(64, sum((k + 1) * (x[64 * k:64 * k + 64] < 8).sum() for k in range(3)))
KERNEL(count_reset_early) {
    __shared__ int count;
    if (T == 0) count = 0;
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        if (in[round * 64 + T] < 8) atomicAdd(&count, 1);
        __syncthreads();
        sum += (round + 1) * count;  // races
        CLEAN(__syncthreads();)
        if (T == 0) count = 0;  // races
        __syncthreads();
    }
    out[T] = sum;
}

// Radix sort by one bit at a time: the keys are scattered over the keys of the pass.
// racy: keys
// grid: 1 x 64
// out: np.sort(x[:64] % 16)
KERNEL(radix_sort_pass) {
    __shared__ int keys[64];
    keys[T] = in[T] % 16;
    __syncthreads();
    for (int bit = 0; bit < 4; ++bit) {
        int key = keys[T], zeros = 0, before = 0;                        // races
        for (int other = 0; other < 64; ++other) {
            int zero = !(keys[other] >> bit & 1);                        // races
            zeros += zero;
            before += other < T && zero;
        }
        CLEAN(__syncthreads();)
        keys[key >> bit & 1 ? zeros + T - before : before] = key;        // races
        __syncthreads();
    }
    out[T] = keys[T];
}

// Shared memory is used for a sum, and its cells again for the flags of the second half of the kernel.
// racy: cells
// grid: 1 x 96
// out: np.where(np.arange(96) < 64, x[:64].sum(), 0)
KERNEL(cells_with_two_uses) {
    __shared__ int cells[96];
    cells[T] = in[T];
    __syncthreads();
    int sum = 0;
    if (T < 64) for (int k = 0; k < 64; ++k) sum += cells[k];  // races
    CLEAN(__syncthreads();)
    cells[T] = T < 64;  // races
    __syncthreads();
    out[T] = cells[T] * sum;
}
