// Critical sections: no lock, the wrong lock, no fence, or accesses outside of the section.

// The programming guide takes a lock with atomicCAS and gives it back with atomicExch; the fences are the caller's.
__device__ void take(int *lock) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
}
__device__ void give(int *lock) {
    atomicExch(lock, 0);
}

// The lock of a sum without the fence before it is given back.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(lock_without_release_fence) {
    if (T != 0) return;
    take(work);
    __threadfence();
    data[0] += 1;  // races
    CLEAN(__threadfence();)
    give(work);
}

// The lock of a sum without the fence after it is taken.
// strict: data; the samples of the programming guide leave out the fence of the reader
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(lock_without_acquire_fence) {
    if (T != 0) return;
    take(work);
    CLEAN(__threadfence();)
    data[0] += 1;  // races
    __threadfence();
    give(work);
}

// The lock of a sum without any fence.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(lock_without_fences) {
    if (T != 0) return;
    take(work);
    CLEAN(__threadfence();)
    data[0] += 1;  // races
    CLEAN(__threadfence();)
    give(work);
}

// The fences of the lock order their own block only.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(lock_with_fences_of_block) {
    if (T != 0) return;
    take(work);
    CLEAN(__threadfence();) RACY(__threadfence_block();)
    data[0] += 1;  // races
    CLEAN(__threadfence();) RACY(__threadfence_block();)
    give(work);
}

// The fence comes after the lock was given back.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(lock_given_back_before_fence) {
    if (T != 0) return;
    take(work);
    __threadfence();
    data[0] += 1;  // races
    CLEAN(__threadfence();)
    give(work);
    RACY(__threadfence();)
}

// The lock is given back by a plain store.
// racy: work, data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(lock_given_back_by_plain_store) {
    if (T != 0) return;
    take(work);  // races
    __threadfence();
    data[0] += 1;  // races
    __threadfence();
    CLEAN(give(work);) RACY(work[0] = 0;)  // races
}

// Even and odd blocks take different locks for the same sum.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(different_locks) {
    if (T != 0) return;
    int *lock = work CLEAN(+ 0) RACY(+ blockIdx.x % 2);
    take(lock);
    __threadfence();
    data[0] += 1;  // races
    __threadfence();
    give(lock);
}

// Each element has a lock; the block takes that of the neighbour.
// racy: data
// grid: 8 x 32
// data: [x[0] + 4, x[1] + 4]
KERNEL(lock_of_another_element) {
    if (T != 0) return;
    int element = blockIdx.x % 2, *lock = work + CLEAN(element) RACY(blockIdx.x / 4);
    take(lock);
    __threadfence();
    data[element] += 1;  // races
    __threadfence();
    give(lock);
}

// The sum is read once more after the lock was given back.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(read_after_unlock) {
    if (T != 0) return;
    take(work);
    __threadfence();
    int sum = data[0] + 1;
    data[0] = sum;  // races
    __threadfence();
    give(work);
    RACY(sum = data[0];)  // races
    out[blockIdx.x] = sum;
}

// One block reads the sum without the lock.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(reader_without_lock) {
    if (T != 0) return;
    RACY(if (blockIdx.x == 3) { out[0] = data[0]; return; })  // races
    take(work);
    __threadfence();
    data[0] += 1;  // races
    __threadfence();
    give(work);
}

// A thread goes on although it did not get the lock.
// racy: data
// grid: 4 x 64
// out: [4]
KERNEL(failed_try) {
    if (T % 32 != 0) return;
    int *lock = work + blockIdx.x;
    bool own = atomicCAS(lock, 0, 1) == 0;
    __threadfence();
    CLEAN(if (own)) data[blockIdx.x] += 1;  // races
    if (own) atomicAdd(&out[0], 1);
}

// The first thread of a block has the lock, and all threads of the warp update.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(lock_of_one_thread_for_a_warp) {
    if (T == 0) take(work);
    __syncwarp();
    __threadfence();
    CLEAN(if (T == 0)) data[0] += 1 RACY(+ T);  // races
    __threadfence();
    __syncwarp();
    if (T == 0) give(work);
}

// A block updates in its critical section; the barrier before the lock is given back is missing.
// racy: data
// grid: 2 x 64
// data: x[:64] + 2
KERNEL(unlock_before_barrier) {
    if (T == 0) {
        take(work);
        __threadfence();
    }
    __syncthreads();
    data[T] += 1;  // races
    CLEAN(__syncthreads();)
    if (T == 0) {
        __threadfence();
        give(work);
    }
}

// A ticket lock; the owner counts on without a fence.
// racy: data
// grid: 4 x 32
// data: [x[0] + 4]
KERNEL(ticket_lock) {
    if (T != 0) return;
    int ticket = atomicAdd(&work[0], 1);
    while (atomicAdd(&work[1], 0) != ticket) __nanosleep(20);
    __threadfence();
    data[0] += 1;  // races
    CLEAN(__threadfence();)
    atomicAdd(&work[1], 1);
}

// Readers count themselves, and the writer waits until there are none; one reader does not count itself.
// racy: data
// grid: 4 x 32
// data: [x[0] + 1]
KERNEL(readers_and_writer) {
    if (T != 0) return;
    if (blockIdx.x < 3) {
        int read = RACY(blockIdx.x == 1 ? 0 :) 1;
        if (read) out[blockIdx.x] = data[0]; else out[9] = data[0] + 1;  // races
        __threadfence();
        if (read) atomicAdd(&work[0], 1);
    } else {
        while (atomicAdd(&work[0], 0) < 3 RACY(- 1)) __nanosleep(20);
        __threadfence();
        data[0] += 1;  // races
    }
}

// Initialization that is checked twice: the first check is a plain read.
// racy: work
// grid: 4 x 32
// out: np.full(4, x[5])
KERNEL(double_checked_initialization) {
    if (T != 0) return;
    volatile int *strong = work;
    if (CLEAN(strong) RACY(work)[1] == 0) {  // races
        take(work);
        __threadfence();
        if (strong[1] == 0) {
            work[2] = in[5];  // races
            __threadfence();
            strong[1] = 1;  // races
        }
        __threadfence();
        give(work);
    } else {
        __threadfence();
    }
    out[blockIdx.x] = work[2];  // races
}

// A sequence counter protects two words: readers try again if it has changed. The words themselves must be strong.
// racy: data
// grid: 2 x 32
// out: [0]
KERNEL(sequence_lock) {
    if (T != 0) return;
    volatile int *count = work;
    CLEAN(volatile) int *words = data;
    if (blockIdx.x == 1) {
        *count = 1;
        __threadfence();
        words[0] = 7;  // races
        words[1] = 7;  // races
        __threadfence();
        *count = 2;
    } else {
        int before, first, second;
        do {
            __nanosleep(20);
            before = *count;
            __threadfence();
            first = words[0];   // races
            second = words[1];  // races
            __threadfence();
        } while (before != 2 || before != *count);
        out[0] = first - second;
    }
}
