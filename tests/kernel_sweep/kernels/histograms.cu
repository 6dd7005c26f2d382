// Histograms and compaction.

// A histogram in shared memory, added to the result by atomics.
// grid: 2 x 128
// out: np.bincount(x[:256], minlength=64)
KERNEL(histogram_of_blocks) {
    __shared__ int bins[64];
    if (T < 64) bins[T] = 0;
    __syncthreads();
    atomicAdd(&bins[in[I]], 1);
    __syncthreads();
    if (T < 64) atomicAdd(&out[T], bins[T]);
}

// A histogram in global memory.
// grid: 4 x 64
// out: np.bincount(x[:256] % 16, minlength=16)
KERNEL(histogram_in_global_memory) {
    atomicAdd(&out[in[I] % 16], 1);
}

// Each warp has its own bins, without atomics between warps.
// grid: 1 x 64
// out: np.bincount(x[:64] % 8, minlength=8)
KERNEL(histogram_of_warps) {
    __shared__ int bins[2][8];
    int lane = T % 32, warp = T / 32, key = in[T] % 8;
    if (lane < 8) bins[warp][lane] = 0;
    __syncwarp();
    unsigned peers = __match_any_sync(~0u, key);
    if (lane == __ffs(peers) - 1) bins[warp][key] += __popc(peers);
    __syncthreads();
    if (T < 8) out[T] = bins[0][T] + bins[1][T];
}

// Elements below a bound are compacted, in any order; their sum is checked.
// grid: 2 x 64
// out: [(x[:128] < 32).sum(), x[:128][x[:128] < 32].sum()]
KERNEL(compaction) {
    __shared__ int list[64], size;
    if (T == 0) size = 0;
    __syncthreads();
    if (in[I] < 32) list[atomicAdd(&size, 1)] = in[I];
    __syncthreads();
    if (T == 0) atomicAdd(&out[0], size);
    if (T < size) atomicAdd(&out[1], list[T]);
}
