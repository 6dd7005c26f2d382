// Locks.
#include <cuda/atomic>

using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

// A spin lock with fences.
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(spin_lock_with_fences) {
    if (T != 0) return;
    while (atomicCAS(work, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    data[0] += 1;
    __threadfence();
    atomicExch(work, 0);
}

// A spin lock with acquire and release.
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(spin_lock_with_orders) {
    if (T != 0) return;
    Word lock(work[0]);
    for (int free = 0; !lock.compare_exchange_strong(free, 1, memory_order_acquire); free = 0) __nanosleep(20);
    data[0] += 1;
    lock.store(0, memory_order_release);
}

// A ticket lock.
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(ticket_lock_with_orders) {
    if (T != 0) return;
    Word next(work[0]), served(work[1]);
    int ticket = next.fetch_add(1, memory_order_relaxed);
    while (served.load(memory_order_acquire) != ticket) __nanosleep(20);
    data[0] += 1;
    served.store(ticket + 1, memory_order_release);
}

// A block takes the lock, and all of its threads update.
// grid: 2 x 64
// data: x[:64] + 2
KERNEL(lock_of_block) {
    if (T == 0) {
        while (atomicCAS(work, 0, 1) != 0) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    data[T] += 1;
    __syncthreads();
    if (T == 0) {
        __threadfence();
        atomicExch(work, 0);
    }
}

// A lock in shared memory between the warps of a block.
// grid: 1 x 128
// out: [4]
KERNEL(lock_between_warps) {
    __shared__ int lock, sum;
    if (T == 0) lock = sum = 0;
    __syncthreads();
    if (T % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) __nanosleep(20);
        __threadfence_block();
        sum += 1;
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (T == 0) out[0] = sum;
}
