// Decoupled look-back, and messages between blocks.
#include <cuda/atomic>

using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

// A block looks back over sums and prefixes of the blocks before it; the state tells which of both is valid.
// grid: 4 x 32
// orders: forward reverse
// out: np.cumsum(x[:128].reshape(4, 32).sum(1))
KERNEL(look_back_with_states) {
    int own = __reduce_add_sync(~0u, in[I]), block = blockIdx.x, total = own;
    if (T != 0) return;
    data[block] = own;
    Word(work[block]).store(1, memory_order_release);
    for (int other = block - 1; other >= 0; --other) {
        int state;
        do __nanosleep(20), state = Word(work[other]).load(memory_order_acquire);
        while (state == 0);
        total += state == 2 ? data[512 + other] : data[other];
        if (state == 2) break;
    }
    data[512 + block] = total;
    Word(work[block]).store(2, memory_order_release);
    out[block] = total;
}

// State and value share a word.
// grid: 4 x 32
// out: np.cumsum(x[:128].reshape(4, 32).sum(1))
KERNEL(look_back_with_packed_words) {
    int own = __reduce_add_sync(~0u, in[I]), block = blockIdx.x, total = own;
    if (T != 0) return;
    Word(work[block]).store(own << 2 | 1, memory_order_relaxed);
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

// A message through a volatile flag with fences.
// grid: 2 x 32
// out: [1000]
KERNEL(message_with_fences) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) __nanosleep(20);
        __threadfence();
        out[0] = data[0];
    }
}

// All threads of a block write, one of them releases; one thread of the other block acquires, and all of them read.
// grid: 2 x 64
// out: np.arange(64)[::-1]
KERNEL(message_of_blocks) {
    if (blockIdx.x == 0) {
        data[T] = T;
        __syncthreads();
        if (T == 0) Word(work[0]).store(1, memory_order_release);
    } else {
        if (T == 0) while (Word(work[0]).load(memory_order_acquire) == 0) __nanosleep(20);
        __syncthreads();
        out[T] = data[63 - T];
    }
}

// Three blocks pass a message on.
// grid: 3 x 32
// out: [1000]
KERNEL(message_through_three_blocks) {
    if (T != 0) return;
    int block = blockIdx.x;
    if (block == 0) data[0] = 1000;
    if (block > 0) while (Word(work[block - 1]).load(memory_order_acquire) == 0) __nanosleep(20);
    if (block < 2) Word(work[block]).store(1, memory_order_release);
    if (block == 2) out[0] = data[0];
}
