// A fence or an atomic operation whose scope does not reach the other thread.
#include <cuda/atomic>

using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;
template <cuda::thread_scope scope> using Word = cuda::atomic_ref<int, scope>;
constexpr auto block = cuda::thread_scope_block;
constexpr auto device = cuda::thread_scope_device;
constexpr auto system_wide = cuda::thread_scope_system;

// Two blocks count with atomic operations of the scope of a block.
// racy: out
// grid: 2 x 32
// out: [64]
KERNEL(counter_of_block_scope) {
    CLEAN(atomicAdd(&out[0], 1);) RACY(atomicAdd_block(&out[0], 1);)  // races
}

// Each block has its own counter, so that the scope of a block suffices.
// clean: no other block uses the counter
// grid: 4 x 64
// out: np.full(4, 64)
KERNEL(counter_for_each_block) {
    atomicAdd_block(&out[blockIdx.x], 1);
}

// The counters of the blocks overlap by one: each block also counts for its neighbour.
// racy: out
// grid: 4 x 32
// out: [32, 64, 64, 64, 32]
KERNEL(counter_shared_with_neighbour) {
    CLEAN(atomicAdd(&out[blockIdx.x], 1);) RACY(atomicAdd_block(&out[blockIdx.x], 1);)          // races
    CLEAN(atomicAdd(&out[blockIdx.x + 1], 1);) RACY(atomicAdd_block(&out[blockIdx.x + 1], 1);)  // races
}

// A histogram in global memory with atomic operations of the scope of a block.
// racy: out
// grid: 4 x 64
// out: np.bincount(x[:256], minlength=64)
KERNEL(histogram_of_block_scope) {
    CLEAN(atomicAdd(&out[in[I]], 1);) RACY(atomicAdd_block(&out[in[I]], 1);)  // races
}

// One block counts with the scope of the device, the other one with that of a block.
// racy: out
// grid: 2 x 32
// out: [64]
KERNEL(counters_of_two_scopes) {
    if (blockIdx.x == 0) atomicAdd(&out[0], 1);                        // races
    else CLEAN(atomicAdd(&out[0], 1);) RACY(atomicAdd_block(&out[0], 1);)  // races
}

// The maximum of all blocks, with the scope of a block.
// racy: out
// grid: 2 x 64
// out: [x[:128].max()]
KERNEL(maximum_of_block_scope) {
    CLEAN(atomicMax(&out[0], in[I]);) RACY(atomicMax_block(&out[0], in[I]);)  // races
}

// A message to another block: the writer's fence orders its own block only.
// racy: data
// grid: 2 x 32
// out: [1000]
KERNEL(message_with_fence_of_block) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        CLEAN(__threadfence();) RACY(__threadfence_block();)
        *flag = 1;
    } else {
        while (*flag == 0) __nanosleep(20);
        __threadfence();
        out[0] = data[0];  // races
    }
}

// A message within a block, where the fence of the block suffices.
// clean: both threads are in one block
// grid: 1 x 64
// out: [1000]
KERNEL(message_within_block) {
    volatile int *flag = work;
    if (T == 0) {
        data[0] = 1000;
        __threadfence_block();
        *flag = 1;
    } else if (T == 32) {
        while (*flag == 0) __nanosleep(20);
        __threadfence_block();
        out[0] = data[0];
    }
}

// The reader's fence orders its own block only.
// strict: data; the samples of the programming guide leave out the fence of the reader
// grid: 2 x 32
// out: [1000]
KERNEL(message_with_readers_fence_of_block) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) __nanosleep(20);
        CLEAN(__threadfence();) RACY(__threadfence_block();)
        out[0] = data[0];  // races
    }
}

// Release and acquire of the scope of a block, between blocks: the flag and the data race.
// racy: work, data
// grid: 2 x 32
// out: [1000]
KERNEL(release_of_block_scope) {
    Word<CLEAN(device) RACY(block)> flag(work[0]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;                        // races
        flag.store(1, memory_order_release);   // races
    } else {
        while (flag.load(memory_order_acquire) == 0) __nanosleep(20);  // races
        out[0] = data[0];                                // races
    }
}

// The writer releases for the device; the reader acquires for its block.
// racy: work, data
// grid: 2 x 32
// out: [1000]
KERNEL(acquire_of_block_scope) {
    Word<device> written(work[0]);
    Word<CLEAN(device) RACY(block)> read(work[0]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;                          // races
        written.store(1, memory_order_release);  // races
    } else {
        while (read.load(memory_order_acquire) == 0) __nanosleep(20);  // races
        out[0] = data[0];                                // races
    }
}

// Scopes that are wider than needed are right.
// clean: the scope of the system contains both blocks
// grid: 2 x 32
// out: [1000]
KERNEL(scopes_wider_than_needed) {
    Word<system_wide> written(work[0]);
    Word<device> read(work[0]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;
        written.store(1, memory_order_release);
    } else {
        while (read.load(memory_order_acquire) == 0) __nanosleep(20);
        out[0] = data[0];
    }
}

// A lock that is taken with the scope of a block protects a sum of all blocks.
// racy: work, out
// grid: 2 x 32
// out: [64]
KERNEL(lock_of_block_scope) {
    Word<CLEAN(device) RACY(block)> lock(work[0]);
    if (T != 0) return;
    int free = 0;
    while (!lock.compare_exchange_strong(free, 1, memory_order_acquire)) free = 0;  // races
    out[0] += 32;                         // races
    lock.store(0, memory_order_release);  // races
}

// Each block takes a lock in its own shared memory, and updates a sum of all blocks.
// racy: out
// grid: 2 x 32
// out: [64]
KERNEL(lock_in_shared_memory) {
    __shared__ int own;
    if (T == 0) own = 0;
    __syncthreads();
    Word<device> lock(CLEAN(work[0]) RACY(own));
    if (T != 0) return;
    int free = 0;
    while (!lock.compare_exchange_strong(free, 1, memory_order_acquire)) free = 0;
    out[0] += 32;  // races
    lock.store(0, memory_order_release);
}

// The last block adds the sums of all blocks; the fence orders its own block only.
// racy: work
// grid: 4 x 32
// out: [x[:128].sum()]
KERNEL(last_block_with_fence_of_block) {
    __shared__ bool last;
    int sum = __reduce_add_sync(~0u, in[I]);
    if (T == 0) {
        work[blockIdx.x] = sum;  // races
        CLEAN(__threadfence();) RACY(__threadfence_block();)
        last = atomicAdd(&work[100], 1) == 3;
        __threadfence();
    }
    __syncthreads();
    if (last && T == 0) out[0] = work[0] + work[1] + work[2] + work[3];  // races
}

// The last block is found by a counter of the scope of a block.
// racy: work
// grid: 4 x 32
// out: [x[:128].sum()]
KERNEL(last_block_by_counter_of_block_scope) {
    int sum = __reduce_add_sync(~0u, in[I]);
    if (T != 0) return;
    work[blockIdx.x] = sum;  // races
    __threadfence();
    bool last = CLEAN(atomicAdd(&work[100], 1)) RACY(atomicAdd_block(&work[100], 1)) == 3;  // races
    __threadfence();
    if (last) out[0] = work[0] + work[1] + work[2] + work[3];  // races
}

// Blocks of a cluster exchange a message with the scope of the cluster, or with that of a block.
// racy: work, data
// grid: 2 x 32 cluster 2
// out: [1000]
KERNEL(message_in_cluster) {
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        CLEAN(asm volatile("st.release.cluster.s32 [%0], 1;" ::"l"(work) : "memory");)
        RACY(asm volatile("st.release.cta.s32 [%0], 1;" ::"l"(work) : "memory");)  // races
    } else {
        int flag = 0;
        while (flag == 0) asm volatile("ld.acquire.cluster.s32 %0, [%1];" : "=r"(flag) : "l"(work) : "memory");  // races
        out[0] = data[0];  // races
    }
}

// The scope of a cluster does not reach the blocks of another cluster.
// racy: work, data
// grid: 4 x 32 cluster 2
// out: [1000]
KERNEL(message_between_clusters) {
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        CLEAN(asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(work) : "memory");)
        RACY(asm volatile("st.release.cluster.s32 [%0], 1;" ::"l"(work) : "memory");)  // races
    } else if (blockIdx.x == 2) {
        int flag = 0;
        while (flag == 0) asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(flag) : "l"(work) : "memory");  // races
        out[0] = data[0];  // races
    }
}

// A chain of three blocks: the block in the middle passes the message on with the scope of a block.
// racy: work, data
// grid: 3 x 32
// out: [1000]
KERNEL(chain_with_narrow_middle) {
    Word<device> first(work[0]), read(work[1]);
    Word<CLEAN(device) RACY(block)> second(work[1]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        first.store(1, memory_order_release);
    } else if (blockIdx.x == 1) {
        while (first.load(memory_order_acquire) == 0) __nanosleep(20);
        second.store(1, memory_order_release);  // races
    } else {
        while (read.load(memory_order_acquire) == 0) __nanosleep(20);  // races
        out[0] = data[0];                                // races
    }
}
