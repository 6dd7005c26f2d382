// Asynchronous copies, named barriers and barrier objects.
#include <cuda/barrier>
#include <cuda_pipeline.h>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ void sync(int number) { asm volatile("bar.sync %0, 64;" ::"r"(number) : "memory"); }
__device__ void arrive(int number) { asm volatile("bar.arrive %0, 64;" ::"r"(number) : "memory"); }

// A tile is copied asynchronously.
// grid: 2 x 64
// out: x[:128].reshape(2, 64)[:, ::-1]
KERNEL(tile_by_async_copy) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(tile + T, in + I, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[I] = tile[63 - T];
}

// Two stages of copies.
// grid: 1 x 64
// out: np.add.reduce([x[64 * k:64 * k + 64][::-1] for k in range(4)])
KERNEL(two_stages) {
    __shared__ int tile[2][64];
    __pipeline_memcpy_async(&tile[0][T], in + T, 4);
    __pipeline_commit();
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        if (round < 3) __pipeline_memcpy_async(&tile[(round + 1) % 2][T], in + (round + 1) * 64 + T, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += tile[round % 2][63 - T];
        __syncthreads();
    }
    out[T] = sum;
}

// One warp produces and one consumes, by named barriers.
// grid: 1 x 64
// out: np.add.reduce([x[32 * k:32 * k + 32][::-1] for k in range(4)])
KERNEL(producer_and_consumer) {
    __shared__ int buffer[32];
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        if (T < 32) {
            if (round > 0) sync(2);
            buffer[T] = in[round * 32 + T];
            arrive(1);
        } else {
            sync(1);
            sum += buffer[63 - T];
            if (round < 3) arrive(2);
        }
    }
    if (T >= 32) out[T - 32] = sum;
}

// A barrier object, split into arrival and wait.
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(split_arrival) {
    __shared__ Barrier barrier;
    __shared__ int tile[64];
    if (T == 0) init(&barrier, 64);
    __syncthreads();
    tile[T] = in[T];
    auto token = barrier.arrive();
    barrier.wait(cuda::std::move(token));
    out[T] = tile[63 - T];
}

// A bulk copy that a barrier object tracks.
// grid: 1 x 64
// out: x[:64][::-1]
KERNEL(tile_by_bulk_copy) {
    __shared__ Barrier barrier;
    __shared__ alignas(16) int tile[64];
    if (T == 0) init(&barrier, 1);
    __syncthreads();
    if (T == 0) {
        cuda::device::memcpy_async_tx(tile, in, cuda::aligned_size_t<16>(256), barrier);
        (void)cuda::device::barrier_arrive_tx(barrier, 1, 256);
    }
    barrier.wait_parity(0);
    out[T] = tile[63 - T];
}

// A bulk copy out of shared memory, whose source is used again.
// grid: 1 x 32
// out: x[:32]
KERNEL(bulk_store) {
    __shared__ alignas(16) int tile[32];
    tile[T] = in[T];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned source = __cvta_generic_to_shared(tile);
    if (T == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out), "r"(source) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
    tile[T] = 0;
    if (T == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
