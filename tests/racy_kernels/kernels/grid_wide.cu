// Work of the whole grid: the last block, look-back, and barriers of the grid.
#include <cooperative_groups.h>
#include <cuda/atomic>

using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

__device__ int sum_of_warp(int value) { return __reduce_add_sync(~0u, value); }

// The last block adds the sums of all blocks; each block counts itself without a fence.
// racy: work
// grid: 4 x 32
// out: [x[:128].sum()]
KERNEL(last_block_without_fence) {
    int sum = sum_of_warp(in[I]);
    if (T != 0) return;
    work[blockIdx.x] = sum;  // races
    CLEAN(__threadfence();)
    bool last = atomicAdd(&work[100], 1) == 3;
    __threadfence();
    if (last) out[0] = work[0] + work[1] + work[2] + work[3];  // races
}

// All threads of a block store their element, and one of them counts the block; the barrier in between is missing.
// racy: work
// grid: 4 x 64
// out: x[:64] + x[64:128] + x[128:192] + x[192:256]
KERNEL(last_block_without_barrier) {
    __shared__ bool last;
    work[I] = in[I];  // races
    CLEAN(__syncthreads();)
    if (T == 0) {
        __threadfence();
        last = atomicAdd(&work[1000], 1) == 3;
        __threadfence();
    }
    __syncthreads();
    if (last) out[T] = work[T] + work[T + 64] + work[T + 128] + work[T + 192];  // races
}

// The block before the last one already adds the sums.
// racy: work
// grid: 4 x 32
// out: [x[:128].sum()]
KERNEL(last_block_but_one) {
    int sum = sum_of_warp(in[I]);
    if (T != 0) return;
    work[blockIdx.x] = sum;  // races
    __threadfence();
    bool last = atomicAdd(&work[100], 1) == 3 RACY(- 1);
    __threadfence();
    if (last) out[0] = work[0] + work[1] + work[2] + work[3];  // races
}

// The last block reads without a fence after it has counted itself.
// strict: work; the samples of the programming guide leave out the fence of the reader
// grid: 4 x 32
// out: [x[:128].sum()]
KERNEL(last_block_without_acquire_fence) {
    int sum = sum_of_warp(in[I]);
    if (T != 0) return;
    work[blockIdx.x] = sum;  // races
    __threadfence();
    bool last = atomicAdd(&work[100], 1) == 3;
    CLEAN(__threadfence();)
    if (last) out[0] = work[0] + work[1] + work[2] + work[3];  // races
}

// The first thread of the last block tells the others without a barrier.
// racy: last, work, out
// grid: 2 x 64
// out: x[:64] + x[64:128]
KERNEL(last_block_told_without_barrier) {
    __shared__ bool last;
    work[I] = in[I];  // races
    __syncthreads();
    if (T == 0) {
        __threadfence();
        last = atomicAdd(&work[1000], 1) == 1;  // races
        __threadfence();
    }
    CLEAN(__syncthreads();)
    if (last) out[T] = work[T] + work[T + 64];  // races
}

// The last block sets the counter back for the next launch. No other block uses it any more.
// clean: all other blocks have counted themselves
// grid: 4 x 32
// work: [0]
KERNEL(counter_set_back_by_last_block) {
    if (T == 0 && atomicAdd(&work[0], 1) == 3) atomicExch(&work[0], 0);
}

// A chained scan: each block waits for the sum of the block before it.
// racy: data
// grid: 4 x 32
// out: np.cumsum(x[:128].reshape(4, 32).sum(1))
KERNEL(chained_scan_without_fence) {
    int sum = sum_of_warp(in[I]);
    if (T != 0) return;
    int block = blockIdx.x;
    if (block > 0) {
        while (atomicAdd(&work[block - 1], 0) == 0) __nanosleep(20);
        __threadfence();
        sum += data[block - 1];  // races
    }
    data[block] = sum;  // races
    CLEAN(__threadfence();)
    atomicExch(&work[block], 1);
    out[block] = sum;
}

// Look-back: a block publishes its own sum, and later the sum of all blocks up to it; state and value are two words.
// racy: data
// grid: 4 x 32
// out: np.cumsum(x[:128].reshape(4, 32).sum(1))
KERNEL(look_back_with_separate_state) {
    int own = sum_of_warp(in[I]), block = blockIdx.x;
    if (T != 0) return;
    data[block] = own;  // races
    Word(work[block]).store(1, CLEAN(memory_order_release) RACY(memory_order_relaxed));
    int total = own;
    for (int other = block - 1; other >= 0; --other) {
        int state;
        do __nanosleep(20), state = Word(work[other]).load(memory_order_acquire);
        while (state == 0);
        total += state == 2 ? data[512 + other] : data[other];  // races
        if (state == 2) break;
    }
    data[512 + block] = total;  // races
    Word(work[block]).store(2, CLEAN(memory_order_release) RACY(memory_order_relaxed));
    out[block] = total;
}

// State and value are packed into one word, so that no fence is needed.
// clean: the word itself carries the value
// grid: 4 x 32
// out: np.cumsum(x[:128].reshape(4, 32).sum(1))
KERNEL(look_back_with_packed_state) {
    int own = sum_of_warp(in[I]), block = blockIdx.x;
    if (T != 0) return;
    Word(work[block]).store(own << 2 | 1, memory_order_relaxed);
    int total = own;
    for (int other = block - 1; other >= 0; --other) {
        int state;
        do __nanosleep(20), state = Word(work[other]).load(memory_order_relaxed);
        while (state == 0);
        total += state >> 2;
        if ((state & 3) == 2) break;
    }
    Word(work[block]).store(total << 2 | 2, memory_order_relaxed);
    out[block] = total;
}

// The barrier of the grid between two phases is missing.
// racy: work
// grid: 4 x 32 cooperative
// out: x[:128][::-1]
KERNEL(phases_without_grid_barrier) {
    work[I] = in[I];  // races
    CLEAN(cooperative_groups::this_grid().sync();)
    out[I] = work[127 - I];  // races
}

// The phases of the grid are separated by the barrier of a block.
// racy: work
// grid: 4 x 32 cooperative
// out: x[:128][::-1]
KERNEL(block_barrier_in_place_of_grid_barrier) {
    work[I] = in[I];  // races
    CLEAN(cooperative_groups::this_grid().sync();) RACY(__syncthreads();)
    out[I] = work[127 - I];  // races
}

// Steps of a stencil over two arrays; one barrier of the grid in each second step is missing.
// racy: data
// grid: 2 x 64 cooperative
// out: automaton(x[:128], 3)
KERNEL(stencil_steps_without_grid_barrier) {
    auto grid = cooperative_groups::this_grid();
    int left = (I + 127) % 128, right = (I + 1) % 128;
    data[128 + I] = data[left] ^ data[right];  // races
    grid.sync();
    data[I] = data[128 + left] ^ data[128 + right];  // races
    CLEAN(grid.sync();)
    out[I] = data[left] ^ data[right];  // races
}

// A hand-made barrier of the grid: each block counts itself, and waits for the others.
// racy: work
// grid: 4 x 32
// out: x[:128][::-1]
KERNEL(grid_barrier_without_fence) {
    work[I] = in[I];  // races
    __syncthreads();
    if (T == 0) {
        CLEAN(__threadfence();)
        atomicAdd(&work[1000], 1);
        while (atomicAdd(&work[1000], 0) < 4) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    out[I] = work[127 - I];  // races
}

// A hand-made barrier of the grid: a block goes on when half of the blocks have come.
// racy: work
// grid: 4 x 32
// out: x[:128][::-1]
KERNEL(grid_barrier_with_wrong_count) {
    work[I] = in[I];  // races
    __syncthreads();
    if (T == 0) {
        __threadfence();
        atomicAdd(&work[1000], 1);
        while (atomicAdd(&work[1000], 0) < 4 RACY(/ 2)) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    out[I] = work[127 - I];  // races
}

// A hand-made barrier of the grid without the barrier of the block in front of it.
// racy: work
// grid: 2 x 64
// out: x[:128][::-1]
KERNEL(grid_barrier_before_block_barrier) {
    work[I] = in[I];  // races
    CLEAN(__syncthreads();)
    if (T == 0) {
        __threadfence();
        atomicAdd(&work[1000], 1);
        while (atomicAdd(&work[1000], 0) < 2) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    out[I] = work[127 - I];  // races
}
