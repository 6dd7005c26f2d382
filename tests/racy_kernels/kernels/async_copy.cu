// Asynchronous copies into shared memory, and pipelines of them.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// A thread reads its own element without waiting for its copy.
// racy: tile
// grid: 2 x 64
// out: x[:128]
KERNEL(copy_without_wait) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(tile + T, in + I, 4);  // races
    __pipeline_commit();
    CLEAN(__pipeline_wait_prior(0);)
    out[I] = tile[T];  // races
}

// The threads wait for their own copies, and read those of others without a barrier.
// racy: tile
// grid: 2 x 64
// out: x[:128].reshape(2, 64)[:, ::-1]
KERNEL(copy_without_barrier) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(tile + T, in + I, 4);  // races
    __pipeline_commit();
    __pipeline_wait_prior(0);  // races
    CLEAN(__syncthreads();)
    out[I] = tile[63 - T];  // races
}

// The barrier stands before the wait.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(barrier_before_wait) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(tile + T, in + I, 4);  // races
    __pipeline_commit();
    RACY(__syncthreads();)
    __pipeline_wait_prior(0);  // races
    CLEAN(__syncthreads();)
    out[I] = tile[63 - T];  // races
}

// The copy belongs to no group, because it is not committed before the wait.
// racy: tile
// grid: 1 x 64
// out: x[:64]
KERNEL(copy_not_committed) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(tile + T, in + I, 4);  // races
    CLEAN(__pipeline_commit();)
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    out[I] = tile[T];  // races
}

// Two groups are in flight, and the wait leaves both of them out.
// racy: tile
// grid: 1 x 64
// out: x[:64] + x[64:128]
KERNEL(wait_for_too_few_groups) {
    __shared__ int tile[2][64];
    for (int stage = 0; stage < 2; ++stage) {
        __pipeline_memcpy_async(&tile[stage][T], in + stage * 64 + T, 4);  // races
        __pipeline_commit();
    }
    __pipeline_wait_prior(CLEAN(1) RACY(2));
    int sum = tile[0][T];  // races
    __pipeline_wait_prior(0);
    out[T] = sum + tile[1][T];
}

// A tile is copied into the buffer that other threads still read.
// racy: tile
// grid: 1 x 64
// out: np.add.reduce([x[64 * k:64 * k + 64][::-1] for k in range(4)])
KERNEL(copy_into_buffer_in_use) {
    __shared__ int tile[64];
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        __pipeline_memcpy_async(tile + T, in + round * 64 + T, 4);  // races
        __pipeline_commit();
        __pipeline_wait_prior(0);  // races
        __syncthreads();
        sum += tile[63 - T];  // races
        CLEAN(__syncthreads();)
    }
    out[T] = sum;
}

// Two stages: the copy of the next tile starts while the last one is still read from the same stage.
// racy: tile
// grid: 1 x 64
// out: np.add.reduce([x[64 * k:64 * k + 64][::-1] for k in range(4)])
KERNEL(pipeline_of_two_stages) {
    __shared__ int tile[2][64];
    __pipeline_memcpy_async(&tile[0][T], in + T, 4);  // races
    __pipeline_commit();
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        if (round < 3) __pipeline_memcpy_async(&tile[(round + 1) % 2][T], in + (round + 1) * 64 + T, 4);  // races
        __pipeline_commit();
        __pipeline_wait_prior(1);  // races
        __syncthreads();
        sum += tile[round % 2][63 - T];  // races
        CLEAN(__syncthreads();)
    }
    out[T] = sum;
}

// A thread stores into the target of its copy, which is still in flight.
// racy: tile
// grid: 1 x 64
// out: x[:64] + 1
KERNEL(store_into_target_of_copy) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(tile + T, in + T, 4);  // races
    __pipeline_commit();
    CLEAN(__pipeline_wait_prior(0);)
    tile[T] = CLEAN(tile[T]) RACY(in[T]) + 1;  // races
    __pipeline_wait_prior(0);                  // races
    out[T] = tile[T];                          // races
}

// The source of the copy is changed before the copy has read it.
// racy: data
// grid: 1 x 64
// out: x[:64]
KERNEL(store_into_source_of_copy) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(tile + T, data + T, 4);  // races
    __pipeline_commit();
    CLEAN(__pipeline_wait_prior(0);)
    data[T] = 5000;            // races
    __pipeline_wait_prior(0);  // races
    out[T] = tile[T];
}

// A copy of the whole block, which cooperative groups wait for.
// racy: tile
// grid: 2 x 64
// out: x[:128].reshape(2, 64)[:, ::-1]
KERNEL(group_copy_without_wait) {
    __shared__ alignas(16) int tile[64];
    auto block = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(block, tile, in + blockIdx.x * 64, 256);  // races
    CLEAN(cooperative_groups::wait(block);) RACY(block.sync();)
    out[I] = tile[63 - T];  // races
}

// A pipeline of the block: a stage is read before the block has waited for it.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(stage_read_before_wait) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ alignas(16) int tile[64];
    auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    pipeline.producer_acquire();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(256), pipeline);  // races
    pipeline.producer_commit();  // races
    CLEAN(pipeline.consumer_wait();)
    out[T] = tile[63 - T];  // races
    RACY(pipeline.consumer_wait();)  // races
    pipeline.consumer_release();
}

// A copy that a barrier object tracks; the threads only arrive.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(tracked_copy_without_wait) {
    __shared__ Barrier barrier;
    __shared__ alignas(16) int tile[64];
    auto block = cooperative_groups::this_thread_block();
    if (T == 0) init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(256), barrier);  // races
    auto token = barrier.arrive();
    CLEAN(barrier.wait(cuda::std::move(token));)
    out[T] = tile[63 - T];  // races
    RACY(barrier.wait(cuda::std::move(token));)  // races
}

// A bulk copy by one thread; the other threads do not wait for its bytes.
// racy: tile
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(bulk_copy_without_wait) {
    __shared__ Barrier barrier;
    __shared__ alignas(16) int tile[64];
    if (T == 0) init(&barrier, 1);
    __syncthreads();
    if (T == 0) {
        cuda::device::memcpy_async_tx(tile, in, cuda::aligned_size_t<16>(256), barrier);  // races
        (void)cuda::device::barrier_arrive_tx(barrier, 1, 256);
    }
    CLEAN(barrier.wait_parity(0);) RACY(__syncthreads();)
    out[T] = tile[63 - T];  // races
    barrier.wait_parity(0);  // races
}

// A bulk copy out of shared memory: its source is written again before it was read.
// racy: tile
// grid: 1 x 32
// out: x[:32]
KERNEL(source_of_bulk_copy_reused) {
    __shared__ alignas(16) int tile[32];
    tile[T] = in[T];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned source = __cvta_generic_to_shared(tile);
    if (T == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out), "r"(source) : "memory");  // races
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        CLEAN(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
    }
    __syncthreads();
    tile[T] = 0;  // races
    if (T == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // races
}
