// Reductions.

// Sequential addressing in shared memory.
// grid: 2 x 64
// out: x[:128].reshape(2, 64).sum(1)
KERNEL(block_sum) {
    __shared__ int part[64];
    part[T] = in[I];
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (T < half) part[T] += part[T + half];
    }
    if (T == 0) out[blockIdx.x] = part[0];
}

// Barriers of the block as long as several warps add, then barriers of the warp.
// grid: 1 x 128
// out: [x[:128].max()]
KERNEL(block_maximum_with_warp_tail) {
    __shared__ int part[128];
    part[T] = in[T];
    __syncthreads();
    if (T < 64) part[T] = max(part[T], part[T + 64]);
    __syncthreads();
    if (T >= 32) return;
    for (int half = 32; half > 0; half /= 2) {
        if (T < half) part[T] = max(part[T], part[T + half]);
        __syncwarp();
    }
    if (T == 0) out[0] = part[0];
}

// Sums of warps in shared memory, which the first warp adds.
// grid: 2 x 96
// out: x[:192].reshape(2, 96).sum(1)
KERNEL(sum_of_warps) {
    __shared__ int sums[3];
    int sum = __reduce_add_sync(~0u, in[I]);
    if (T % 32 == 0) sums[T / 32] = sum;
    __syncthreads();
    if (T == 0) out[blockIdx.x] = sums[0] + sums[1] + sums[2];
}

// The last block adds the sums of all blocks, as the programming guide's sample does, with a fence on both sides.
// grid: 4 x 64
// out: [x[:256].sum()]
KERNEL(sum_by_last_block) {
    __shared__ int part[64];
    __shared__ bool last;
    part[T] = in[I];
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (T < half) part[T] += part[T + half];
    }
    if (T == 0) {
        data[blockIdx.x] = part[0];
        __threadfence();
        last = atomicAdd(&work[0], 1) == 3;
        __threadfence();
    }
    __syncthreads();
    if (last && T == 0) out[0] = data[0] + data[1] + data[2] + data[3];
}

// All blocks add to one word.
// grid: 4 x 64
// out: [x[:256].sum(), x[:256].max(), 256]
KERNEL(sum_by_atomics) {
    atomicAdd(&out[0], in[I]);
    atomicMax(&out[1], in[I]);
    atomicAdd(&out[2], 1);
}

// A dot product: threads of a block add to a word in shared memory, and one of them to the result.
// grid: 2 x 64
// out: [(x[:128] * x[128:256]).sum()]
KERNEL(dot_product) {
    __shared__ int sum;
    if (T == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[I] * in[I + 128]);
    __syncthreads();
    if (T == 0) atomicAdd(&out[0], sum);
}
