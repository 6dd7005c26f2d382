// Prefix sums.

// Hillis-Steele in one buffer.
// grid: 1 x 64
// out: np.cumsum(x[:64])
KERNEL(scan_in_place) {
    __shared__ int sum[64];
    sum[T] = in[T];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        int left = T >= step ? sum[T - step] : 0;
        __syncthreads();
        sum[T] += left;
        __syncthreads();
    }
    out[T] = sum[T];
}

// Hillis-Steele with two buffers that take turns: one barrier for each step.
// grid: 1 x 64
// out: np.cumsum(x[:64])
KERNEL(scan_with_two_buffers) {
    __shared__ int sum[2][64];
    sum[0][T] = in[T];
    int now = 0;
    for (int step = 1; step < 64; step *= 2, now = 1 - now) {
        __syncthreads();
        sum[1 - now][T] = sum[now][T] + (T >= step ? sum[now][T - step] : 0);
    }
    out[T] = sum[now][T];
}

// Blelloch's scan, up and down a tree.
// grid: 1 x 64
// out: np.concatenate([[0], np.cumsum(x[:127])])
KERNEL(scan_up_and_down) {
    __shared__ int tree[128];
    tree[T] = in[T];
    tree[T + 64] = in[T + 64];
    for (int step = 1; step < 128; step *= 2) {
        __syncthreads();
        int right = (T + 1) * 2 * step - 1;
        if (right < 128) tree[right] += tree[right - step];
    }
    if (T == 0) tree[127] = 0;
    for (int step = 64; step > 0; step /= 2) {
        __syncthreads();
        int right = (T + 1) * 2 * step - 1;
        if (right < 128) {
            int left = tree[right - step];
            tree[right - step] = tree[right];
            tree[right] += left;
        }
    }
    __syncthreads();
    out[T] = tree[T];
    out[T + 64] = tree[T + 64];
}

// Warps scan by shuffles, and the sums of the warps are scanned by the first one.
// grid: 1 x 128
// out: np.cumsum(x[:128])
KERNEL(scan_of_warps) {
    __shared__ int sums[4];
    int sum = in[T], lane = T % 32;
    for (int step = 1; step < 32; step *= 2) {
        int left = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += left;
    }
    if (lane == 31) sums[T / 32] = sum;
    __syncthreads();
    if (T == 0) for (int warp = 1; warp < 4; ++warp) sums[warp] += sums[warp - 1];
    __syncthreads();
    out[T] = sum + (T >= 32 ? sums[T / 32 - 1] : 0);
}

// A chain of blocks: each waits for the sum up to the block before it.
// grid: 4 x 64
// out: np.cumsum(x[:256].reshape(4, 64).sum(1))
KERNEL(chained_scan) {
    __shared__ int sum;
    if (T == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[I]);
    __syncthreads();
    if (T != 0) return;
    int total = sum, block = blockIdx.x;
    if (block > 0) {
        while (atomicAdd(&work[block - 1], 0) == 0) __nanosleep(20);
        __threadfence();
        total += data[block - 1];
    }
    data[block] = total;
    __threadfence();
    atomicExch(&work[block], 1);
    out[block] = total;
}
