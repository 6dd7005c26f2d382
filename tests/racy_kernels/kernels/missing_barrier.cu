// A barrier of the block is missing between a write and an access of another warp.

// A block sums its elements; the barrier before the first step is missing.
// racy: part
// grid: 2 x 64
// out: x[:128].reshape(2, 64).sum(1)
KERNEL(sum_without_first_barrier) {
    __shared__ int part[64];
    part[T] = in[I];  // races
    CLEAN(__syncthreads();)
    for (int half = 32; half > 0; half /= 2) {
        if (T < half) part[T] += part[T + half];  // races
        __syncthreads();
    }
    if (T == 0) out[blockIdx.x] = part[0];
}

// A block sums its elements; the barrier between the steps is missing.
// racy: part
// grid: 2 x 128
// out: x[:256].reshape(2, 128).sum(1)
KERNEL(sum_without_barrier_in_loop) {
    __shared__ int part[128];
    part[T] = in[I];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (T < half) part[T] += part[T + half];  // races
        CLEAN(__syncthreads();)
    }
    if (T == 0) out[blockIdx.x] = part[0];
}

// Interleaved addressing: the steps double, and the barrier between them is missing.
// racy: part
// grid: 1 x 64
// out: [x[:64].sum()]
KERNEL(interleaved_sum) {
    __shared__ int part[64];
    part[T] = in[I];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        if (T % (2 * step) == 0) part[T] += part[T + step];  // races
        CLEAN(__syncthreads();)
    }
    if (T == 0) out[0] = part[0];
}

// The sums of two warps are added by the first thread, which does not wait for the second warp.
// racy: sums
// grid: 1 x 64
// out: [x[:64].sum()]
KERNEL(sum_of_warp_sums) {
    __shared__ int sums[2];
    int sum = __reduce_add_sync(~0u, in[I]);
    if (T % 32 == 0) sums[T / 32] = sum;  // races
    CLEAN(__syncthreads();)
    if (T == 0) out[0] = sums[0] + sums[1];  // races
}

// One thread writes a word that all threads read.
// racy: word
// grid: 2 x 64
// out: np.repeat(x[[0, 64]], 64)
KERNEL(broadcast) {
    __shared__ int word;
    if (T == 0) word = in[I];  // races
    CLEAN(__syncthreads();)
    out[I] = word;  // races
}

// The word is broadcast from the last warp to the first ones.
// racy: word
// grid: 1 x 96
// out: np.full(96, x[95])
KERNEL(broadcast_from_last_thread) {
    __shared__ int word;
    if (T == blockDim.x - 1) word = in[I];  // races
    CLEAN(__syncthreads();)
    out[I] = word;  // races
}

// A tile is transposed through shared memory.
// racy: tile
// grid: 4 x 256
// out: x.reshape(4, 16, 16).transpose(0, 2, 1)
KERNEL(transposed_tile) {
    __shared__ int tile[16][17];
    tile[T / 16][T % 16] = in[I];  // races
    CLEAN(__syncthreads();)
    out[I] = tile[T % 16][T / 16];  // races
}

// A stencil of three points over a tile with its halo.
// racy: tile
// grid: 2 x 64
// out: [sum(x[j] for j in (i - 1, i, i + 1) if 0 <= j) for i in range(128)]
KERNEL(stencil_with_halo) {
    __shared__ int tile[66];
    tile[T + 1] = in[I];  // races
    if (T == 0) tile[0] = I > 0 ? in[I - 1] : 0;  // races
    if (T == 63) tile[65] = in[I + 1];            // races
    CLEAN(__syncthreads();)
    out[I] = tile[T] + tile[T + 1] + tile[T + 2];  // races
}

// Hillis-Steele scan in one buffer: the barrier between the reads and the writes of a step is missing.
// racy: sum
// grid: 1 x 64
// out: np.cumsum(x[:64])
KERNEL(scan_in_one_buffer) {
    __shared__ int sum[64];
    sum[T] = in[I];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        int left = T >= step ? sum[T - step] : 0;  // races
        CLEAN(__syncthreads();)
        sum[T] += left;  // races
        __syncthreads();
    }
    out[I] = sum[T];
}

// Hillis-Steele scan in one buffer without the barrier at the end of a step.
// racy: sum
// grid: 1 x 64
// out: np.cumsum(x[:64])
KERNEL(scan_without_second_barrier) {
    __shared__ int sum[64];
    sum[T] = in[I];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        int left = T >= step ? sum[T - step] : 0;  // races
        __syncthreads();
        sum[T] += left;  // races
        CLEAN(__syncthreads();)
    }
    out[I] = sum[T];
}

// Blelloch scan: the barrier between the levels of the way down is missing.
// racy: tree
// grid: 1 x 64
// out: np.concatenate([[0], np.cumsum(x[:127])])
KERNEL(scan_of_tree) {
    __shared__ int tree[128];
    tree[2 * T] = in[2 * T];
    tree[2 * T + 1] = in[2 * T + 1];
    for (int step = 1; step < 128; step *= 2) {
        __syncthreads();
        int right = (T + 1) * 2 * step - 1;
        if (right < 128) tree[right] += tree[right - step];  // races
    }
    __syncthreads();
    if (T == 0) tree[127] = 0;  // races
    for (int step = 64; step > 0; step /= 2) {
        CLEAN(__syncthreads();)
        int right = (T + 1) * 2 * step - 1;
        if (right < 128) {
            int left = tree[right - step];  // races
            tree[right - step] = tree[right];  // races
            tree[right] += left;               // races
        }
    }
    __syncthreads();
    out[2 * T] = tree[2 * T];
    out[2 * T + 1] = tree[2 * T + 1];
}

// Bitonic sort: the barrier between the exchanges is missing.
// racy: keys
// grid: 1 x 64
// out: np.sort(x[:128])
KERNEL(bitonic_sort) {
    __shared__ int keys[128];
    keys[T] = in[T];
    keys[T + 64] = in[T + 64];
    __syncthreads();
    for (int size = 2; size <= 128; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            int a = 2 * T - (T & (step - 1)), b = a + step;
            bool up = (a & size) == 0;
            int first = keys[a], second = keys[b];  // races
            if ((first > second) == up) {
                keys[a] = second;  // races
                keys[b] = first;   // races
            }
            CLEAN(__syncthreads();)
        }
    }
    __syncthreads();
    out[T] = keys[T];
    out[T + 64] = keys[T + 64];
}

// Odd-even transposition sort: the barrier between the phases is missing.
// racy: keys
// grid: 1 x 64
// out: np.sort(x[:64])
KERNEL(odd_even_sort) {
    __shared__ int keys[64];
    keys[T] = in[T];
    __syncthreads();
    for (int phase = 0; phase < 64; ++phase) {
        if (T % 2 == phase % 2 && T + 1 < 64) {
            int first = keys[T], second = keys[T + 1];  // races
            keys[T] = min(first, second);               // races
            keys[T + 1] = max(first, second);           // races
        }
        CLEAN(__syncthreads();)
    }
    __syncthreads();
    out[T] = keys[T];
}

// The bins of a histogram are set to zero, and counted without a barrier.
// racy: bins
// grid: 1 x 128
// out: np.bincount(x[:128], minlength=64)
KERNEL(histogram_before_zeroing) {
    __shared__ int bins[64];
    if (T < 64) bins[T] = 0;  // races
    CLEAN(__syncthreads();)
    atomicAdd(&bins[in[I]], 1);  // races
    __syncthreads();
    if (T < 64) out[T] = bins[T];
}

// The bins are written to the result before all threads have counted.
// racy: bins
// grid: 2 x 128
// out: np.bincount(x[:256], minlength=64)
KERNEL(histogram_flushed_early) {
    __shared__ int bins[64];
    if (T < 64) bins[T] = 0;
    __syncthreads();
    atomicAdd(&bins[in[I]], 1);  // races
    CLEAN(__syncthreads();)
    if (T < 64) atomicAdd(&out[T], bins[T]);  // races
}

// Elements are compacted in shared memory; the count is read before all threads have added to it.
// racy: count
// grid: 1 x 128
// out: [(x[:128] < 32).sum()]
KERNEL(count_read_early) {
    __shared__ int count;
    if (T == 0) count = 0;
    __syncthreads();
    if (in[I] < 32) atomicAdd(&count, 1);  // races
    CLEAN(__syncthreads();)
    if (T == 0) out[0] = count;  // races
}

// Threads of a block exchange elements through global memory.
// racy: work
// grid: 2 x 64
// out: x[:128].reshape(2, 64)[:, ::-1]
KERNEL(exchange_in_global_memory) {
    work[I] = in[I];  // races
    CLEAN(__syncthreads();)
    out[I] = work[blockIdx.x * 64 + 63 - T];  // races
}

// Two arrays in dynamic shared memory overlap by one element, and the barrier does not separate their writes.
// racy: arena
// grid: 1 x 64
// out: x[:64] * 2
KERNEL(overlapping_arrays) {
    __shared__ int arena[128];
    int *first = arena, *second = arena + 64 RACY(-1);
    first[T] = in[T];   // races
    second[T] = in[T];  // races
    __syncthreads();
    out[T] = first[T] + second[T];
}

// A polynomial's coefficients are computed by one warp and used by all.
// racy: powers
// grid: 1 x 96
// out: [1 + i + i**2 + i**3 for i in range(96)]
KERNEL(table_in_shared_memory) {
    __shared__ int powers[4];
    if (T < 4) powers[T] = 1;  // races
    CLEAN(__syncthreads();)
    int sum = 0, power = 1;
    for (int degree = 0; degree < 4; ++degree, power *= T) sum += powers[degree] * power;  // races
    out[T] = sum;
}
