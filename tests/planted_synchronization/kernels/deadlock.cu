// Launches whose threads wait forever: nothing that they wait for can come.
#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ void wait_for(volatile int *word, int value) {
    while (*word != value) {}  // error of flag_beside_the_awaited_one
    __threadfence();
}

__device__ void take(int *lock) {
    while (atomicCAS(lock, 0, 1) != 0) {}  // error of lock_kept_by_an_early_return
    __threadfence();
}

__device__ void give(int *lock) {
    __threadfence();
    atomicExch(lock, 0);
}

// One block sets another flag than the one that the other block polls.
// error: no thread of the launch is known to have written it
// kind: deadlock
// grid: 2 x 32
// out: [x[0]]
KERNEL(flag_beside_the_awaited_one) {
    if (T != 0) return;
    if (blockIdx.x == 0) {
        wait_for(work + 64, 1);
        out[0] = data[0];
    } else {
        data[0] = in[0];
        __threadfence();
        atomicExch(work + RIGHT(64) WRONG(65), 1);
    }
}

// The flag is read once, as the compiler may assume that no other thread writes it.
// error: a loop that reads nothing
// kind: deadlock
// grid: 2 x 32
// out: [x[0]]
KERNEL(flag_that_is_read_once) {
    RIGHT(volatile) int *flag = work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        while (*flag == 0) {}  // error
        __threadfence();
        out[0] = data[0];
    } else {
        data[0] = in[0];
        __threadfence();
        atomicExch(work, 1);
    }
}

// The threads of a warp that wait keep the thread that would set their flag at a barrier of the warp.
// error: for lanes of the same warp
// kind: deadlock
// grid: 1 x 32
// out: np.full(32, x[1])
KERNEL(flag_behind_a_barrier_of_the_warp) {
    __shared__ volatile int flag, value;
    if (T == 0) flag = 0;
    __syncwarp();
    RIGHT(if (T == 1) { value = in[1]; __threadfence_block(); flag = 1; })
    if (T == 0) while (flag == 0) {}
    __threadfence_block();
    __syncwarp();  // error
    WRONG(if (T == 1) { value = in[1]; __threadfence_block(); flag = 1; })
    out[T] = value;
}

// Two warps: one polls a flag, and the other sets it behind the barrier of the block.
// error: wait at barrier 0, where 32 of 64 threads
// kind: deadlock
// grid: 1 x 64
// out: np.full(32, x[32])
KERNEL(flag_behind_a_barrier_of_the_block) {
    __shared__ volatile int flag;
    if (T == 0) flag = 0;
    __syncthreads();
    if (T == 32) data[0] = in[32];
    RIGHT(__threadfence_block();)
    RIGHT(if (T == 32) flag = 1;)
    if (T < 32) while (flag == 0) {}
    __threadfence_block();
    __syncthreads();  // error
    WRONG(if (T == 32) flag = 1;)
    if (T < 32) out[T] = data[0];
}

// A barrier of the grid by a counter. Not all 5,000 blocks are resident at once, so the last ones do not start.
// error: read the 4 bytes
// kind: deadlock
// grid: 5000 x 32
// out: [5000]
KERNEL(grid_barrier_of_more_blocks_than_are_resident) {
    if (T != 0) return;
    __threadfence();
    int place = atomicAdd(work, 1);
    WRONG(while (*(volatile int *)work != gridDim.x) {})  // error
    if (place == gridDim.x - 1) out[0] = *(volatile int *)work;
}

// A block without elements ends before the barrier of the grid.
// error: A: 3 threads of 3 blocks read the 4 bytes
// kind: deadlock
// grid: 4 x 32
// out: np.full(3, 4)
KERNEL(grid_barrier_behind_an_early_return) {
    int elements = 96;
    WRONG(if (I >= elements) return;)
    if (T != 0) return;
    atomicAdd(work, 1);
    while (*(volatile int *)work != gridDim.x) {}  // error
    if (I < elements) out[blockIdx.x] = *(volatile int *)work;
}

// Only the blocks with elements reach the barrier of the grid's group.
// error: wait at barrier 0, where 31 of 32 threads
// kind: deadlock
// grid: 4 x 32 cooperative
// out: x[:96][::-1]
KERNEL(group_barrier_of_the_grid_in_a_branch) {
    auto grid = cg::this_grid();
    int elements = 96;
    if (I < elements) {
        data[I] = in[I];
        WRONG(grid.sync();)  // error
    }
    RIGHT(grid.sync();)
    if (I < elements) out[elements - 1 - I] = data[I];
}

// Some lanes of a warp wait in a shuffle for all others, which wait at the barrier of the block.
// error: for lanes of the same warp
// kind: deadlock
// grid: 1 x 32
// out: [x[:20].sum()]
KERNEL(shuffle_of_all_lanes_in_a_branch) {
    int sum = RIGHT(T < 20 ? in[T] : 0) WRONG(in[T]);
    WRONG(if (T < 20))
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(FULL, sum, step);  // error
    __syncthreads();
    if (T == 0) out[0] = sum;
}

// Each warp meets the others once for each of its parts, and the warps have different numbers of parts.
// error: wait at barrier 0, where 32 of 64 threads
// kind: deadlock
// grid: 1 x 64
// out: np.concatenate([x[:32] + x[64:96], x[32:64] + x[96:128]])
KERNEL(barrier_in_a_loop_of_different_lengths) {
    __shared__ int tile[64];
    int sum = 0, parts = RIGHT(2) WRONG(2 + T / 32);
    for (int part = 0; part < parts; ++part) {
        tile[T] = in[64 * part + T];
        __syncthreads();  // error
        sum += tile[T];
    }
    asm volatile("bar.sync 1;" ::: "memory");
    out[T] = sum;
}

// Two of three warps meet, and their number is that of the block.
// error: wait at barrier 1, where 64 of 96 threads
// kind: deadlock
// grid: 1 x 96
// out: x[:64][::-1]
KERNEL(named_barrier_that_counts_the_block) {
    __shared__ int tile[64];
    if (T >= 64) return;
    tile[T] = in[T];
    asm volatile("bar.sync 1, %0;" ::"r"(RIGHT(64) WRONG(96)) : "memory");  // error
    out[T] = tile[63 - T];
}

// Threads without an element leave, and do not arrive at the barrier object.
// error: A: 48 threads of 1 block wait for a phase of the mbarrier
// kind: deadlock
// fix: count of a barrier
// grid: 1 x 64
// out: x[:48][::-1]
KERNEL(phase_without_the_threads_that_leave) {
    __shared__ Barrier barrier;
    __shared__ int tile[64];
    if (T == 0) init(&barrier, 64);
    __syncthreads();
    if (T >= 48) {
        RIGHT(barrier.arrive_and_drop();)
        return;
    }
    tile[T] = in[T];
    barrier.arrive_and_wait();  // error
    out[T] = tile[47 - T];
}

// The producer waits for the phase in which its empty buffer becomes empty, before anyone has read it.
// error: wait for a phase of the mbarrier
// kind: deadlock
// grid: 1 x 64
// out: np.concatenate([np.zeros(32), x[:32] + x[32:64]])
KERNEL(first_wait_of_the_producer) {
    __shared__ unsigned long long full, empty;
    __shared__ int tile[32];
    auto address = [](void *word) { return unsigned(__cvta_generic_to_shared(word)); };
    auto wait = [&](unsigned long long &barrier, int parity) {
        int done = 0;
        while (!done)
            asm volatile(  // error
                "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                : "=r"(done) : "r"(address(&barrier)), "r"(parity) : "memory");
    };
    auto arrive = [&](unsigned long long &barrier) {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address(&barrier)) : "memory");
    };
    if (T == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(address(&full)) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(address(&empty)) : "memory");
    }
    __syncthreads();
    int sum = 0;
    for (int part = 0; part < 2; ++part) {
        if (T < 32) {
            wait(empty, RIGHT(!(part & 1)) WRONG(part & 1));
            tile[T] = in[32 * part + T];
            arrive(full);
        } else {
            wait(full, part & 1);
            sum += tile[T - 32];
            arrive(empty);
        }
    }
    out[T] = sum;
}

// A thread that finds nothing to do leaves the critical section without giving the lock back.
// error: last written by thread (0, 0, 0) of block (0, 0, 0)
// kind: deadlock
// grid: 4 x 32
// out: [x[:4][x[:4] % 2 == 0].sum()]
KERNEL(lock_kept_by_an_early_return) {
    if (T != 0) return;
    int value = in[blockIdx.x];
    RIGHT(if (value % 2) return;)
    take(work);
    WRONG(if (value % 2) return;)
    out[0] += value;
    give(work);
}

// A function that takes the lock is called by one that holds it.
// error: A: 1 thread of 1 block reads the 4 bytes
// kind: deadlock
// grid: 4 x 32
// out: [8]
KERNEL(lock_taken_again_by_its_owner) {
    if (T != 0) return;
    auto add = [&] {
        WRONG(while (atomicCAS(work, 0, 1) != 0) {})  // error
        out[0] += 1;
        WRONG(give(work);)
    };
    take(work);
    add();
    add();
    give(work);
}

// Two threads move numbers between two accounts, and each takes the lock of its own account first.
// error: A: 2 threads of 1 block read the 4 bytes
// kind: deadlock
// grid: 1 x 32
// out: [x[1] - x[0], x[0] - x[1]]
KERNEL(locks_in_opposite_order) {
    if (T > 1) return;
    int own = T, other = 1 - T;
    int first = RIGHT(min(own, other)) WRONG(own), second = RIGHT(max(own, other)) WRONG(other);
    take(work + first);
    while (atomicCAS(work + second, 0, 1) != 0) {}  // error
    __threadfence();
    out[own] -= in[own];
    out[other] += in[own];
    give(work + second);
    give(work + first);
}

// A thread without work has drawn a ticket, so the turn of the next ticket never comes.
// error: no thread of the launch is known to have written it
// kind: deadlock
// grid: 4 x 32
// out: [x[:4][x[:4] % 2 == 0].sum()]
KERNEL(ticket_that_is_lost) {
    if (T != 0) return;
    int value = in[blockIdx.x];
    RIGHT(if (value % 2) return;)
    int ticket = atomicAdd(work, 1);
    WRONG(if (value % 2) return;)
    while (*(volatile int *)(work + 64) != ticket) {}  // error
    __threadfence();
    out[0] += value;
    __threadfence();
    atomicAdd(work + 64, 1);
}

// The consumer waits for one item more than the producer writes.
// error: last written by thread (0, 0, 0) of block (1, 0, 0)
// kind: deadlock
// grid: 2 x 32
// out: [x[:8].sum()]
KERNEL(one_item_more_than_is_produced) {
    int items = 8, sum = 0;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        for (int item = 0; item < items + RIGHT(0) WRONG(1); ++item) {
            while (*(volatile int *)work <= item) {}  // error
            __threadfence();
            sum += data[item];
        }
        out[0] = sum;
    } else {
        for (int item = 0; item < items; ++item) {
            data[item] = in[item];
            __threadfence();
            atomicAdd(work, 1);
        }
    }
}

// The consumer takes whole batches, which are larger than the ring that the producer fills.
// error: B: 1 thread of 1 block reads the 4 bytes
// kind: deadlock
// grid: 2 x 32
// out: [x[:16].sum()]
KERNEL(batch_larger_than_the_ring) {
    volatile int *head = work, *tail = work + 64;
    int ring = 4, batch = RIGHT(4) WRONG(8), sum = 0;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        for (int item = 0; item < 16; ++item) {
            while (item - *tail >= ring) {}  // error
            __threadfence();
            data[item % ring] = in[item];
            __threadfence();
            *head = item + 1;
        }
    } else {
        for (int done = 0; done < 16; done += batch) {
            while (*head < done + batch) {}  // error
            __threadfence();
            for (int item = done; item < done + batch; ++item) sum += data[item % ring];
            __threadfence();
            *tail = done + batch;
        }
        out[0] = sum;
    }
}

// Each block waits for the one before it, and the first one for the last.
// error: A: 4 threads of 4 blocks read the 4 bytes
// kind: deadlock
// grid: 4 x 32
// out: np.cumsum(x[:4])
KERNEL(circle_of_blocks) {
    int blocks = gridDim.x, before = (blockIdx.x + blocks - 1) % blocks;
    if (T != 0) return;
    if (RIGHT(blockIdx.x > 0) WRONG(before >= 0)) {
        while (*(volatile int *)(work + before) == 0) {}  // error
        __threadfence();
    }
    out[blockIdx.x] = in[blockIdx.x] + (blockIdx.x > 0 ? out[before] : 0);
    __threadfence();
    atomicExch(work + blockIdx.x, 1);
}

// A thread polls a flag that another thread of its warp sets.
// clean: the threads of a warp get on independently
// grid: 1 x 32
// out: [x[1]]
KERNEL(flag_of_another_thread_of_the_warp) {
    __shared__ volatile int flag;
    if (T == 0) flag = 0;
    __syncwarp();
    if (T == 0) {
        while (flag == 0) {}
        __threadfence_block();
        out[0] = data[0];
    } else if (T == 1) {
        data[0] = in[1];
        __threadfence_block();
        flag = 1;
    }
}
