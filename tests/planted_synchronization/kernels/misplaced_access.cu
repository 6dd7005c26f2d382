// Accesses on the wrong side of the release or the acquire that should hand their data over.

__device__ void set_with_release(int *flag, int value) {
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

// The flag is set, with a release, before the data is written.
// error: move the access before that write
// kind: kernel-race
// grid: 2 x 64
// out: x[:64] + x[64:128]
KERNEL(data_behind_the_release_of_the_flag) {
    int value = in[I];
    if (blockIdx.x == 0) {
        WRONG(if (T == 0) set_with_release(work, 1);)
        data[T] = value;  // error
        __syncthreads();
        RIGHT(if (T == 0) set_with_release(work, 1);)
    } else {
        if (T == 0) while (atomicCAS(work, 1, 1) != 1) {}
        __threadfence();
        __syncthreads();
        out[T] = value + data[T];  // error
    }
}

// A fence and an exchange set the flag before the data is written. The race is found, but its advice asks for the fence that is there.
// error: move the access before that write
// kind: kernel-race
// grid: 2 x 64
// out: x[:64] + x[64:128]
KERNEL(data_behind_the_exchange_of_the_flag) {
    int value = in[I];
    if (blockIdx.x == 0) {
        WRONG(__threadfence();)
        WRONG(if (T == 0) atomicExch(work, 1);)
        data[T] = value;  // error
        __threadfence();
        __syncthreads();
        RIGHT(if (T == 0) atomicExch(work, 1);)
    } else {
        if (T == 0) while (atomicCAS(work, 1, 1) != 1) {}
        __threadfence();
        __syncthreads();
        out[T] = value + data[T];  // error
    }
}

// The number of blocks that have added their elements is written behind the release of the lock.
// error: move the access before that write
// kind: kernel-race
// grid: 4 x 32
// out: x[:128].reshape(4, 32).sum(0)
KERNEL(count_behind_the_release_of_the_lock) {
    int *lock = work, *count = work + 64, value = in[I];
    if (T == 0) while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    __syncthreads();
    int done = *count;  // error
    out[T] = done > 0 ? out[T] + value : value;
    __syncthreads();
    if (T == 0) {
        RIGHT(*count = done + 1;)
        set_with_release(lock, 0);
        WRONG(*count = done + 1;)  // error
    }
}

// A block reads the sum before it has taken the lock, under which the others change it.
// error: update them by an atomic operation
// kind: kernel-race
// grid: 4 x 32
// out: [x[:4].sum()]
KERNEL(sum_read_before_the_lock_is_taken) {
    int *lock = work;
    if (T != 0) return;
    WRONG(int sum = out[0];)  // error
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    RIGHT(int sum = out[0];)
    out[0] = sum + in[blockIdx.x];
    set_with_release(lock, 0);
}
