// Aligned barriers that only some lanes of a warp execute, while others execute another one.

// Each branch has a barrier, and one warp takes both.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(barrier_in_both_branches) {
    __shared__ int tile[64];
    tile[T] = in[T];
    if (T < RIGHT(32) WRONG(40)) __syncthreads();  // error
    else __syncthreads();  // error
    out[T] = tile[63 - T];
}

// The lanes of one branch are a barrier behind.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(barrier_in_a_branch_before_a_common_one) {
    __shared__ int tile[64];
    tile[T] = in[T];
    WRONG(if (T % 2))
    __syncthreads();  // error
    __syncthreads();  // error
    out[T] = tile[63 - T];
}

// Work before and behind the barrier is swapped in one branch.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 64
// out: np.concatenate([np.ones(32), np.full(32, 2)])
KERNEL(barrier_before_and_behind_the_work) {
    if (T < RIGHT(32) WRONG(16)) { __syncthreads(); out[T] = 1; }  // error
    else { out[T] = 2; __syncthreads(); }  // error
    WRONG(__syncthreads(); if (T >= 16 && T < 32) out[T] = 1;)
}

// A loop over the lanes' own numbers of rounds, and a barrier behind it.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 32
// out: np.full(32, 3)
KERNEL(barrier_in_a_loop_of_different_length) {
    int rounds = 0, last = RIGHT(3) WRONG(1 + T % 3);
    for (; rounds < last; ++rounds) __syncthreads();  // error
    __syncthreads();  // error
    out[T] = RIGHT(rounds) WRONG(3);
}

// A counting barrier stands in one branch, a plain one in the other.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 32
// out: np.full(32, 32)
KERNEL(counting_barrier_in_one_branch) {
    int count = 32;
    if (T < RIGHT(32) WRONG(8)) count = __syncthreads_count(1);  // error
    else __syncthreads();  // error
    out[T] = RIGHT(count) WRONG(32);
}

// Barriers of two numbers in the branches of one warp.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 96
// out: x[:96]
KERNEL(two_named_barriers_in_one_warp) {
    if (T < RIGHT(32) WRONG(48)) asm volatile("bar.arrive 1, 96;" ::: "memory");  // error
    else asm volatile("bar.sync 1, 96;" ::: "memory");  // error
    out[T] = in[T];
}

// The arrival stands in a branch of some lanes.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 64
// out: x[:64]
KERNEL(arrival_of_some_lanes) {
    if (T < 32) {
        WRONG(if (T < 8)) asm volatile("bar.arrive 2, 64;" ::: "memory");  // error
        WRONG(if (T == 40)) RIGHT(if (false)) asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
        RIGHT(asm volatile("bar.sync 2, 64;" ::: "memory");)
    }
    __syncthreads();  // error
    out[T] = in[T];
}

__device__ __noinline__ void meet(int *out, int value) {
    __syncthreads();  // error of function_with_a_barrier_in_both_branches
    *out = value;
}

// A function with a barrier is called in both branches.
// error: all threads of a warp must execute an aligned barrier
// grid: 1 x 64
// out: x[:64]
KERNEL(function_with_a_barrier_in_both_branches) {
    if (T < RIGHT(32) WRONG(10)) meet(out + T, in[T]);
    else meet(out + T, in[T]);
}

// Whole warps execute different barriers of one number.
// clean: an aligned barrier binds the lanes of a warp, and a barrier is its number
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(warps_at_different_barriers) {
    __shared__ int tile[64];
    tile[T] = in[T];
    if (T < 32) { __syncthreads(); out[T] = tile[63 - T]; }
    else { __syncthreads(); out[T] = tile[63 - T]; }
}

// Lanes leave before the barrier.
// clean: threads that have exited need not take part
// grid: 1 x 64
// out: x[:50]
KERNEL(barrier_after_an_exit) {
    if (T >= 50) return;
    __syncthreads();
    out[T] = in[T];
}

// The barrier without the qualifier aligned may stand in divergent code.
// clean: `barrier.sync` is not aligned
// grid: 1 x 32
// out: x[:32]
KERNEL(unaligned_barrier_in_both_branches) {
    if (T < 12) asm volatile("barrier.sync 0;" ::: "memory");
    else asm volatile("barrier.sync 0;" ::: "memory");
    out[T] = in[T];
}
