// Barriers with a wrong number of threads, and barriers that threads use in different ways.

// The number is no multiple of the warp's size.
// error: state a multiple of 32
// grid: 1 x 64
// out: x[:64]
KERNEL(count_of_a_part_of_a_warp) {
    asm volatile("bar.sync 1, %0;" ::"r"(RIGHT(64) WRONG(48)) : "memory");  // error
    out[T] = in[T];
}

// The number of elements in place of the number of threads.
// error: state a multiple of 32
// grid: 1 x 64
// out: x[:40]
KERNEL(count_of_elements) {
    int elements = 40;
    asm volatile("bar.sync 2, %0;" ::"r"(RIGHT((elements + 31) / 32 * 32) WRONG(elements)) : "memory");  // error
    if (T < elements) out[T] = in[T];
}

// No thread is counted.
// error: state a multiple of 32
// grid: 1 x 32
// out: x[:32]
KERNEL(count_of_no_thread) {
    asm volatile("bar.sync 1, %0;" ::"r"(RIGHT(32) WRONG(in[T] >> 20)) : "memory");  // error
    out[T] = in[T];
}

// The number of threads of another launch.
// error: so it never completes
// grid: 1 x 64
// out: x[:64]
KERNEL(count_above_the_block) {
    asm volatile("bar.sync 1, %0;" ::"r"(RIGHT(64) WRONG(128)) : "memory");  // error
    out[T] = in[T];
}

// Producers and consumers count each other, with two numbers.
// error: state one number
// grid: 1 x 96
// out: np.concatenate([np.zeros(32), x[:64]])
KERNEL(two_counts_of_one_barrier) {
    __shared__ int tile[64];
    if (T < 32) {
        tile[T] = in[T];
        tile[T + 32] = in[T + 32];
        asm volatile("bar.arrive 1, 96;" ::: "memory");  // error
    } else {
        asm volatile("bar.sync 1, %0;" ::"r"(RIGHT(96) WRONG(64)) : "memory");  // error
        out[T] = tile[T - 32];
    }
}

// One warp waits for the block, and the others for a part of it, at one barrier.
// error: state one number
// grid: 1 x 96
// out: x[:96]
KERNEL(count_beside_the_whole_block) {
    if (T < 32) asm volatile("bar.sync 3;" ::: "memory");  // error
    else asm volatile("bar.sync 3, %0;" ::"r"(RIGHT(96) WRONG(64)) : "memory");  // error
    out[T] = in[T];
}

// One warp counts at the barrier, and the other waits only.
// error: let all threads use the same form
// grid: 1 x 64
// out: np.full(64, 64)
KERNEL(reduction_of_one_warp) {
    int count = 64;
    WRONG(if (T < 32)) count = __syncthreads_count(1);  // error
    WRONG(else __syncthreads();)  // error
    out[T] = RIGHT(count) WRONG(64);
}

// The producer goes on to the next part before the consumer has taken the first one.
// error: wait between the two arrivals
// grid: 1 x 64
// out: np.concatenate([np.zeros(32), x[:32] + x[32:64]])
KERNEL(producer_that_does_not_wait) {
    __shared__ int tile[32];
    if (T < 32) {
        for (int part = 0; part < 2; ++part) {
            RIGHT(if (part) asm volatile("bar.sync 2, 64;" ::: "memory");)
            tile[T] = in[T + 32 * part];
            asm volatile("bar.arrive 1, 64;" ::: "memory");  // error
        }
    } else {
        int sum = 0;
        for (int part = 0; part < 2; ++part) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += tile[T - 32];
            RIGHT(if (!part) asm volatile("bar.arrive 2, 64;" ::: "memory");)
        }
        out[T] = sum;
    }
}

// A warp arrives for itself and for another one.
// error: wait between the two arrivals
// grid: 1 x 64
// out: x[:64]
KERNEL(arrival_for_another_warp) {
    if (T < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");  // error
        WRONG(asm volatile("bar.arrive 1, 64;" ::: "memory");)  // error
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    out[T] = in[T];
}

// A last warp with fewer threads counts as a whole one.
// clean: barriers count whole warps
// grid: 1 x 40
// out: x[:40]
KERNEL(count_with_a_last_part) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[T] = in[T];
}

// Two parts of the block have a barrier each.
// clean: each barrier has one number
// grid: 1 x 128
// out: x[:128]
KERNEL(barriers_of_two_parts) {
    asm volatile("bar.sync %0, 64;" ::"r"(1 + T / 64) : "memory");
    out[T] = in[T];
}
