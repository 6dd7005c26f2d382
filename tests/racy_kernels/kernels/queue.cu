// Queues, stacks and work lists, in shared and in global memory.
#include <cuda/atomic>

using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

// All threads append to a list; the tail is not advanced atomically.
// racy: work, out
// grid: 2 x 64
// work: [128]
KERNEL(append_with_plain_tail) {
    CLEAN(int slot = atomicAdd(&work[0], 1);) RACY(int slot = work[0]++;)  // races
    out[slot] = in[I];  // races
}

// A block fills a list and reads it after a barrier.
// racy: list
// grid: 1 x 64
// out: [x[:64].sum()]
KERNEL(list_read_before_barrier) {
    __shared__ int list[64], size;
    if (T == 0) size = 0;
    __syncthreads();
    list[atomicAdd(&size, 1)] = in[T];  // races
    CLEAN(__syncthreads();)
    atomicAdd(&out[0], list[T]);  // races
}

// The size of the list is read while threads still append.
// racy: size, list
// grid: 1 x 64
// out: [(x[:64] < 32).sum()]
KERNEL(size_read_while_appending) {
    __shared__ int list[64], size;
    if (T == 0) size = 0;
    __syncthreads();
    if (in[T] < 32) list[atomicAdd(&size, 1)] = T;  // races
    CLEAN(__syncthreads();)
    if (T < size) atomicAdd(&out[0], list[T] >= 0);  // races
}

// A stack: the top is checked, and then taken down, in two steps.
// racy: work
// grid: 2 x 32
// out: [x[:64].sum()]
KERNEL(pop_in_two_steps) {
    if (I == 0) Word(work[0]).store(64, memory_order_relaxed);  // races
    if (blockIdx.x == 1) while (Word(work[0]).load(memory_order_relaxed) == 0) __nanosleep(20);
    __syncthreads();
    CLEAN(int top = atomicSub(&work[0], 1) - 1;)
    RACY(int top = work[0] - 1; atomicSub(&work[0], 1);)  // races
    if (top >= 0) atomicAdd(&out[0], in[top]);
}

// A ring with one producer and one consumer: the producer publishes the tail with a release, or relaxed.
// racy: data
// grid: 2 x 32
// out: [x[:16].sum()]
KERNEL(ring_with_relaxed_tail) {
    Word tail(work[0]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 16; ++k) {
            data[k] = in[k];  // races
            tail.store(k + 1, CLEAN(memory_order_release) RACY(memory_order_relaxed));
        }
    } else {
        int sum = 0;
        for (int k = 0; k < 16; ++k) {
            while (tail.load(memory_order_acquire) <= k) __nanosleep(20);
            sum += data[k];  // races
        }
        out[0] = sum;
    }
}

// A ring of four slots: the consumer says by a relaxed store that it has read a slot.
// strict: data; the value was read before the flag was set
// grid: 2 x 32
// out: [x[:8].sum()]
KERNEL(ring_with_relaxed_head) {
    Word tail(work[0]), head(work[1]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 8; ++k) {
            while (head.load(memory_order_acquire) + 4 <= k) __nanosleep(20);
            data[k % 4] = in[k];  // races
            tail.store(k + 1, memory_order_release);
        }
    } else {
        int sum = 0;
        for (int k = 0; k < 8; ++k) {
            while (tail.load(memory_order_acquire) <= k) __nanosleep(20);
            sum += data[k % 4];  // races
            head.store(k + 1, CLEAN(memory_order_release) RACY(memory_order_relaxed));
        }
        out[0] = sum;
    }
}

// A ring of four slots: the producer does not wait for the consumer's head before it writes a slot again.
// racy: data
// grid: 2 x 32
// orders: forward random:3
// out: [x[:8].sum()]
KERNEL(ring_without_head) {
    Word tail(work[0]), head(work[1]);
    if (T != 0) return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 8; ++k) {
            CLEAN(while (head.load(memory_order_acquire) + 4 <= k) __nanosleep(20);)
            data[k % 4] = in[k];  // races
            tail.store(k + 1, memory_order_release);
        }
    } else {
        int sum = 0;
        for (int k = 0; k < 8; ++k) {
            while (tail.load(memory_order_acquire) <= k) __nanosleep(20);
            sum += data[k % 4];  // races
            head.store(k + 1, memory_order_release);
        }
        out[0] = sum;
    }
}

// Producers take slots of a common queue. Each slot has a flag; it is raised before the slot is written.
// racy: data
// grid: 3 x 32
// out: [x[0] + x[32]]
KERNEL(slot_flag_raised_early) {
    if (T != 0) return;
    if (blockIdx.x < 2) {
        int slot = atomicAdd(&work[0], 1);
        RACY(Word(work[1 + slot]).store(1, memory_order_release);)
        data[slot] = in[I];  // races
        CLEAN(Word(work[1 + slot]).store(1, memory_order_release);)
    } else {
        int sum = 0;
        for (int slot = 0; slot < 2; ++slot) {
            while (Word(work[1 + slot]).load(memory_order_acquire) == 0) __nanosleep(20);
            sum += data[slot];  // races
        }
        out[0] = sum;
    }
}

// The consumer trusts the tail, which counts slots that are taken but not yet written.
// racy: data
// grid: 3 x 32
// out: [x[0] + x[32]]
KERNEL(tail_trusted_for_written_slots) {
    if (T != 0) return;
    if (blockIdx.x < 2) {
        int slot = atomicAdd(&work[0], 1);
        data[slot] = in[I];  // races
        __threadfence();
        atomicAdd(&work[1], 1);
    } else {
        while (atomicAdd(&work[CLEAN(1) RACY(0)], 0) < 2) __nanosleep(20);
        __threadfence();
        out[0] = data[0] + data[1];  // races
    }
}

// Items are dealt out by a counter; a thread that reads the counter plainly gets an item twice.
// racy: work, out
// grid: 4 x 32
// out: x[:8] * 2
KERNEL(items_dealt_out_twice) {
    if (T != 0) return;
    for (;;) {
        CLEAN(int item = atomicAdd(&work[0], 1);) RACY(int item = work[0]; work[0] = item + 1;)  // races
        if (item >= 8) return;
        out[item] = in[item] * 2;  // races
    }
}

// Two lists take turns as source and target of a round; the barrier before they change their roles is missing.
// racy: list, size
// grid: 1 x 64
// out: [16]
KERNEL(lists_swapped_without_barrier) {
    __shared__ int list[2][64], size[2];
    list[0][T] = T;
    if (T == 0) size[0] = 64;
    __syncthreads();
    for (int round = 0; round < 2; ++round) {
        int from = round % 2, to = 1 - from;
        if (T == 0) size[to] = 0;  // races
        __syncthreads();
        if (T < size[from] && T % 2 == 0) list[to][atomicAdd(&size[to], 1)] = list[from][T];  // races
        CLEAN(__syncthreads();)
    }
    __syncthreads();
    if (T == 0) out[0] = size[0];
}

// A free list: a node is taken from its head without comparing and swapping.
// racy: work
// grid: 4 x 32
// out: [15]
KERNEL(free_list) {
    if (T != 0) return;
    int *head = &work[0], node = blockIdx.x + 1;  // a list of nodes, each with its number as payload
    CLEAN(int old = atomicAdd(head, 0); while (atomicCAS(head, old, node) != old) old = atomicAdd(head, 0);)
    RACY(int old = *head; *head = node;)  // races
    work[node] = old;
    atomicOr(&out[0], 1 << (node - 1));
}
