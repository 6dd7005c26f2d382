// Sorting.

// Bitonic sort in shared memory.
// grid: 1 x 64
// out: np.sort(x[7:135])
KERNEL(bitonic) {
    __shared__ int keys[128];
    // With these elements the last step still exchanges some.
    keys[T] = in[T + 7];
    keys[T + 64] = in[T + 71];
    for (int size = 2; size <= 128; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            int a = 2 * T - (T & (step - 1)), b = a + step;
            int first = keys[a], second = keys[b];
            if ((first > second) == ((a & size) == 0)) {
                keys[a] = second;
                keys[b] = first;
            }
        }
    }
    __syncthreads();
    out[T] = keys[T];
    out[T + 64] = keys[T + 64];
}

// Odd-even transposition in global memory, within a block.
// grid: 1 x 64
// data: np.sort(x[:64])
KERNEL(odd_even_in_global_memory) {
    for (int phase = 0; phase < 64; ++phase) {
        if (T % 2 == phase % 2 && T < 63) {
            int first = data[T], second = data[T + 1];
            data[T] = min(first, second);
            data[T + 1] = max(first, second);
        }
        __syncthreads();
    }
}

// Radix sort, one bit in each pass, with a ballot for the ranks within a warp.
// grid: 1 x 64
// out: np.sort(x[:64])
KERNEL(radix) {
    __shared__ int keys[64], ones[2];
    keys[T] = in[T];
    __syncthreads();
    for (int bit = 0; bit < 6; ++bit) {
        int key = keys[T], lane = T % 32;
        unsigned set = __ballot_sync(~0u, key >> bit & 1);
        if (lane == 0) ones[T / 32] = __popc(set);
        __syncthreads();
        int before = __popc(set & ((1u << lane) - 1)) + (T >= 32 ? ones[0] : 0);
        int zeros = 64 - ones[0] - ones[1];
        keys[key >> bit & 1 ? zeros + before : T - before] = key;
        __syncthreads();
    }
    out[T] = keys[T];
}

// Counting sort: histogram, scan by one thread, and scatter by atomics.
// grid: 1 x 64
// out: np.sort(x[:64] % 8)
KERNEL(counting) {
    __shared__ int starts[9];
    if (T < 9) starts[T] = 0;
    __syncthreads();
    int key = in[T] % 8;
    atomicAdd(&starts[key + 1], 1);
    __syncthreads();
    if (T == 0) for (int k = 0; k < 8; ++k) starts[k + 1] += starts[k];
    __syncthreads();
    out[atomicAdd(&starts[key], 1)] = key;
}
