// Named barriers and barrier objects (mbarrier), with producers that arrive and consumers that wait.
#include <cuda/barrier>

__device__ void sync(int number, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory"); }
__device__ void arrive(int number, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Each half of the block has its own barrier, and the halves exchange elements.
// racy: tile
// grid: 1 x 128
// out: x[:128][::-1]
KERNEL(halves_with_own_barriers) {
    __shared__ int tile[128];
    tile[T] = in[T];  // races
    CLEAN(sync(1, 128);) RACY(sync(1 + T / 64, 64);)
    out[T] = tile[127 - T];  // races
}

// The halves work apart from each other, with a barrier each.
// clean: each half exchanges elements within itself
// grid: 1 x 128
// out: x[:128].reshape(2, 64)[:, ::-1]
KERNEL(independent_halves) {
    __shared__ int tile[128];
    tile[T] = in[T];
    sync(1 + T / 64, 64);
    out[T] = tile[T / 64 * 64 + 63 - T % 64];
}

// A producer warp fills a buffer and arrives; the consumer waits, or forgets to.
// racy: buffer
// grid: 1 x 64
// out: x[:32][::-1]
KERNEL(consumer_that_does_not_wait) {
    __shared__ int buffer[32];
    if (T < 32) {
        buffer[T] = in[T];  // races
        arrive(1, 64);
    } else {
        CLEAN(sync(1, 64);) RACY(arrive(1, 64);)
        out[T - 32] = buffer[63 - T];  // races
    }
}

// The producer arrives before it has written.
// racy: buffer
// grid: 1 x 64
// out: x[:32][::-1]
KERNEL(arrival_before_write) {
    __shared__ int buffer[32];
    if (T < 32) {
        RACY(arrive(1, 64);)
        buffer[T] = in[T];  // races
        CLEAN(arrive(1, 64);)
    } else {
        sync(1, 64);
        out[T - 32] = buffer[63 - T];  // races
    }
}

// The warps meet once in a round, when the buffer is full; the barrier at which it is empty again is missing.
// racy: buffer
// grid: 1 x 64
// out: np.add.reduce([x[32 * k:32 * k + 32][::-1] for k in range(4)])
KERNEL(producer_that_does_not_wait_for_empty_buffer) {
    __shared__ int buffer[32];
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        if (T < 32) {
            buffer[T] = in[round * 32 + T];  // races
            sync(1, 64);
        } else {
            sync(1, 64);
            sum += buffer[63 - T];  // races
        }
        CLEAN(sync(2, 64);)
    }
    if (T >= 32) out[T - 32] = sum;
}

// Two buffers with two pairs of barriers; the consumer says that a buffer is empty before it has read it.
// racy: buffer
// grid: 1 x 64
// out: np.add.reduce([x[32 * k:32 * k + 32][::-1] for k in range(4)])
KERNEL(buffer_given_back_before_read) {
    __shared__ int buffer[2][32];
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        int slot = round % 2;
        if (T < 32) {
            if (round >= 2) sync(3 + slot, 64);
            buffer[slot][T] = in[round * 32 + T];  // races
            arrive(1 + slot, 64);
        } else {
            sync(1 + slot, 64);
            RACY(if (round < 2) arrive(3 + slot, 64);)
            sum += buffer[slot][63 - T];  // races
            CLEAN(if (round < 2) arrive(3 + slot, 64);)
        }
    }
    if (T >= 32) out[T - 32] = sum;
}

// A barrier object: the threads wait for the phase after they have arrived, or read before they wait.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(read_between_arrival_and_wait) {
    __shared__ Barrier barrier;
    __shared__ int tile[64];
    if (T == 0) init(&barrier, 64);
    __syncthreads();
    tile[T] = in[T];  // races
    auto token = barrier.arrive();
    RACY(int value = tile[63 - T];)  // races
    barrier.wait(cuda::std::move(token));
    CLEAN(int value = tile[63 - T];)
    out[T] = value;
}

// The write follows the arrival, and so the phase ends without it.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(write_between_arrival_and_wait) {
    __shared__ Barrier barrier;
    __shared__ int tile[64];
    if (T == 0) init(&barrier, 64);
    __syncthreads();
    CLEAN(tile[T] = in[T];)
    auto token = barrier.arrive();
    RACY(tile[T] = in[T];)  // races
    barrier.wait(cuda::std::move(token));
    out[T] = tile[63 - T];  // races
}

// The barrier expects the arrivals of one warp, and two warps arrive.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(barrier_expects_too_few_arrivals) {
    __shared__ Barrier barrier;
    __shared__ int tile[64];
    if (T == 0) init(&barrier, CLEAN(64) RACY(32));
    __syncthreads();
    tile[T] = in[T];  // races
    barrier.arrive_and_wait();
    out[T] = tile[63 - T];  // races
}

// A barrier object is initialized by one thread, and used by all without a barrier in between.
// racy: barrier
// grid: 1 x 64
// out: x[:64]
KERNEL(barrier_used_before_initialization) {
    __shared__ Barrier barrier;
    if (T == 0) init(&barrier, 64);  // races
    CLEAN(__syncthreads();)
    auto token = barrier.arrive();  // races
    CLEAN(barrier.wait(cuda::std::move(token));)
    out[T] = in[T];
}

// All threads meet at a barrier object when the buffer is full, and at another one when it is empty; the second one is missing.
// racy: buffer
// grid: 1 x 64
// out: np.add.reduce([x[32 * k:32 * k + 32][::-1] for k in range(3)])
KERNEL(full_and_empty_barriers) {
    __shared__ Barrier full, empty;
    __shared__ int buffer[32];
    if (T == 0) {
        init(&full, 64);
        init(&empty, 64);
    }
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        if (T < 32) buffer[T] = in[round * 32 + T];  // races
        full.arrive_and_wait();
        if (T >= 32) sum += buffer[63 - T];  // races
        CLEAN(empty.arrive_and_wait();)
    }
    if (T >= 32) out[T - 32] = sum;
}
