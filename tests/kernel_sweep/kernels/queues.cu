// Queues.
#include <cuda/atomic>

using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

// Threads append to a list in global memory.
// grid: 2 x 64
// work: [128]
KERNEL(append) {
    out[atomicAdd(&work[0], 1)] = in[I];
}

// A ring with one producer and one consumer.
// grid: 2 x 32
// out: [x[:8].sum()]
KERNEL(ring) {
    Word tail(work[0]), head(work[1]);
    if (T != 0) return;
    int sum = 0;
    for (int k = 0; k < 8; ++k) {
        if (blockIdx.x == 0) {
            while (head.load(memory_order_acquire) + 4 <= k) __nanosleep(20);
            data[k % 4] = in[k];
            tail.store(k + 1, memory_order_release);
        } else {
            while (tail.load(memory_order_acquire) <= k) __nanosleep(20);
            sum += data[k % 4];
            head.store(k + 1, memory_order_release);
        }
    }
    if (blockIdx.x == 1) out[0] = sum;
}

// Several producers and one consumer: each slot has a flag.
// grid: 3 x 32
// out: [x[0] + x[32]]
KERNEL(slots_with_flags) {
    if (T != 0) return;
    if (blockIdx.x < 2) {
        int slot = atomicAdd(&work[0], 1);
        data[slot] = in[I];
        Word(work[1 + slot]).store(1, memory_order_release);
    } else {
        int sum = 0;
        for (int slot = 0; slot < 2; ++slot) {
            while (Word(work[1 + slot]).load(memory_order_acquire) == 0) __nanosleep(20);
            sum += data[slot];
        }
        out[0] = sum;
    }
}

// Two lists in shared memory take turns.
// grid: 1 x 64
// out: [16]
KERNEL(rounds_of_lists) {
    __shared__ int list[2][64], size[2];
    list[0][T] = T;
    if (T == 0) size[0] = 64;
    for (int round = 0; round < 2; ++round) {
        int from = round % 2, to = 1 - from;
        if (T == 0) size[to] = 0;
        __syncthreads();
        if (T < size[from] && T % 2 == 0) list[to][atomicAdd(&size[to], 1)] = list[from][T];
        __syncthreads();
    }
    if (T == 0) out[0] = size[0];
}

// Items are dealt out by a counter.
// grid: 4 x 32
// out: x[:8] * 2
KERNEL(items_by_counter) {
    if (T != 0) return;
    for (int item = atomicAdd(&work[0], 1); item < 8; item = atomicAdd(&work[0], 1)) out[item] = in[item] * 2;
}
