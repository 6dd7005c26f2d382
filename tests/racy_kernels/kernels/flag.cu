// A message: one thread writes data and sets a flag, another one waits for the flag and reads the data.
#include <cuda/atomic>

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

// The writer has no fence between the data and the flag.
// racy: data
// grid: 2 x 32
// out: [1000]
KERNEL(writer_without_fence) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        CLEAN(__threadfence();)
        *flag = 1;
    } else {
        while (*flag == 0) __nanosleep(20);
        __threadfence();
        out[0] = data[0];  // races
    }
}

// The reader has no fence between the flag and the data.
// strict: data; the samples of the programming guide leave out the fence of the reader
// grid: 2 x 32
// out: [1000]
KERNEL(reader_without_fence) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) __nanosleep(20);
        CLEAN(__threadfence();)
        out[0] = data[0];  // races
    }
}

// The flag is plain memory.
// racy: work, data
// grid: 2 x 32
// out: [1000]
KERNEL(plain_flag) {
    CLEAN(volatile) int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        __threadfence();
        *flag = 1;  // races
    } else {
        while (*flag == 0) __nanosleep(20);  // races
        __threadfence();
        out[0] = data[0];  // races
    }
}

// The flag is set by an atomic operation, and read as plain memory.
// racy: work, data
// grid: 2 x 32
// out: [1000]
KERNEL(plain_read_of_flag) {
    CLEAN(volatile) int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        __threadfence();
        atomicExch(work, 1);  // races
    } else {
        while (*flag == 0) __nanosleep(20);  // races
        __threadfence();
        out[0] = data[0];  // races
    }
}

// The writer's fence stands before the data.
// racy: data
// grid: 2 x 32
// out: [1000]
KERNEL(fence_before_data) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        RACY(__threadfence();)
        data[0] = 1000;  // races
        CLEAN(__threadfence();)
        *flag = 1;
    } else {
        while (*flag == 0) __nanosleep(20);
        __threadfence();
        out[0] = data[0];  // races
    }
}

// The flag is set before the data is written.
// racy: data
// grid: 2 x 32
// out: [1000]
KERNEL(flag_before_data) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        RACY(*flag = 1; __threadfence();)
        data[0] = 1000;  // races
        CLEAN(__threadfence(); *flag = 1;)
    } else {
        while (*flag == 0) __nanosleep(20);
        __threadfence();
        out[0] = data[0];  // races
    }
}

// The reader reads the data first, and then waits for the flag.
// racy: data
// grid: 2 x 32
// out: [1000]
KERNEL(data_read_before_flag) {
    volatile int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        __threadfence();
        *flag = 1;
    } else {
        RACY(int value = data[0];)  // races
        while (*flag == 0) __nanosleep(20);
        __threadfence();
        out[0] = CLEAN(data[0]) RACY(value);
    }
}

// The reader waits for the flag of another message.
// racy: data
// grid: 2 x 32
// out: [1001]
KERNEL(flag_of_another_message) {
    volatile int *flags = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;
        __threadfence();
        flags[0] = 1;
        data[1] = 1001;  // races
        __threadfence();
        flags[1] = 1;
    } else {
        while (flags[CLEAN(1) RACY(0)] == 0) __nanosleep(20);
        __threadfence();
        out[0] = data[1];  // races
    }
}

// The flag counts the messages; the reader waits for the first one only.
// racy: data
// grid: 2 x 32
// out: [1001]
KERNEL(flag_with_too_small_value) {
    volatile int *count = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        RACY(data[1] = 1001;)  // races
        *count = 1;
        CLEAN(data[1] = 1001;)
        __threadfence();
        CLEAN(*count = 2;)
    } else {
        while (*count < 1 CLEAN(+ 1)) __nanosleep(20);
        __threadfence();
        out[0] = data[1];  // races
    }
}

// Store and load of the flag are atomic and relaxed, where release and acquire are needed.
// racy: data
// grid: 2 x 32
// out: [1000]
KERNEL(relaxed_flag) {
    Flag flag(work[0]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        flag.store(1, CLEAN(memory_order_release) RACY(memory_order_relaxed));
    } else {
        while (flag.load(CLEAN(memory_order_acquire) RACY(memory_order_relaxed)) == 0) __nanosleep(20);
        out[0] = data[0];  // races
    }
}

// The writer releases, and the reader's load is relaxed.
// strict: data; the samples of the programming guide leave out the fence of the reader
// grid: 2 x 32
// out: [1000]
KERNEL(relaxed_load_of_flag) {
    Flag flag(work[0]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        flag.store(1, memory_order_release);
    } else {
        while (flag.load(CLEAN(memory_order_acquire) RACY(memory_order_relaxed)) == 0) __nanosleep(20);
        out[0] = data[0];  // races
    }
}

// A chain of three blocks, whose middle one passes the message on.
// racy: data
// grid: 3 x 32
// out: [1000]
KERNEL(chain_with_relaxed_middle) {
    Flag first(work[0]), second(work[1]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        first.store(1, memory_order_release);
    } else if (blockIdx.x == 1) {
        while (first.load(memory_order_acquire) == 0) __nanosleep(20);
        second.store(1, CLEAN(memory_order_release) RACY(memory_order_relaxed));
    } else {
        while (second.load(memory_order_acquire) == 0) __nanosleep(20);
        out[0] = data[0];  // races
    }
}

// All threads of a block write, and one sets the flag; the barrier in between is missing.
// racy: data
// grid: 2 x 64
// out: np.arange(64)[::-1]
KERNEL(flag_without_barrier_of_writers) {
    Flag flag(work[0]);
    if (blockIdx.x == 0) {
        data[T] = T;  // races
        CLEAN(__syncthreads();)
        if (T == 0) flag.store(1, memory_order_release);
    } else {
        while (flag.load(memory_order_acquire) == 0) __nanosleep(20);
        out[T] = data[63 - T];  // races
    }
}

// One thread waits for the flag, and all threads of the block read without a barrier.
// racy: data
// grid: 2 x 64
// out: np.arange(64)[::-1]
KERNEL(flag_without_barrier_of_readers) {
    Flag flag(work[0]);
    if (blockIdx.x == 0) {
        data[T] = T;  // races
        __syncthreads();
        if (T == 0) flag.store(1, memory_order_release);
    } else {
        if (T == 0) while (flag.load(memory_order_acquire) == 0) __nanosleep(20);
        CLEAN(__syncthreads();)
        out[T] = data[63 - T];  // races
    }
}

// The writer changes the data again after it has set the flag.
// racy: data
// grid: 2 x 32
// out: [1000]
KERNEL(data_changed_after_flag) {
    Flag flag(work[0]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;
        flag.store(1, memory_order_release);
        RACY(data[0] = 2000;)  // races
    } else {
        while (flag.load(memory_order_acquire) == 0) __nanosleep(20);
        out[0] = data[0];  // races
    }
}

// Two messages in one buffer: the reader says by a relaxed store that it has read the first one.
// strict: data; the value was read before the flag was set
// grid: 2 x 32
// out: [1000, 2000]
KERNEL(buffer_between_two_flags) {
    Flag full(work[0]), empty(work[1]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        full.store(1, memory_order_release);
        while (empty.load(memory_order_acquire) == 0) __nanosleep(20);
        data[0] = 2000;  // races
        full.store(2, memory_order_release);
    } else {
        while (full.load(memory_order_acquire) < 1) __nanosleep(20);
        out[0] = data[0];  // races
        empty.store(1, CLEAN(memory_order_release) RACY(memory_order_relaxed));
        while (full.load(memory_order_acquire) < 2) __nanosleep(20);
        out[1] = data[0];  // races
    }
}

// Ping-pong of two blocks with one buffer: the answer overwrites it before the other block has said that it has read.
// racy: data
// grid: 2 x 32
// orders: forward random:3
// out: [1000, 2000]
KERNEL(buffer_overwritten_before_answer) {
    Flag full(work[0]), empty(work[1]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 1000;  // races
        full.store(1, memory_order_release);
        CLEAN(while (empty.load(memory_order_acquire) == 0) __nanosleep(20);)
        data[0] = 2000;  // races
        full.store(2, memory_order_release);
    } else {
        while (full.load(memory_order_acquire) < 1) __nanosleep(20);
        out[0] = data[0];  // races
        empty.store(1, memory_order_release);
        while (full.load(memory_order_acquire) < 2) __nanosleep(20);
        out[1] = data[0];  // races
    }
}

// Two warps of one block with a flag in shared memory. A compiler would replace a constant word where it is read.
// racy: word
// grid: 1 x 64
// out: [x[0]]
KERNEL(flag_in_shared_memory) {
    __shared__ int word, flag;
    if (T == 0) flag = 0;
    __syncthreads();
    if (T == 0) {
        word = in[0];  // races
        CLEAN(__threadfence_block();)
        *(volatile int *)&flag = 1;
    } else if (T == 32) {
        while (*(volatile int *)&flag == 0) __nanosleep(20);
        __threadfence_block();
        out[0] = word;  // races
    }
}
