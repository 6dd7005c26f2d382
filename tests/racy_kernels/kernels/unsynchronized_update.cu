// Updates that are not atomic, checks before an action, and values that are fetched twice.

// All threads of the grid count in one word.
// racy: out
// grid: 2 x 64
// out: [128]
KERNEL(plain_counter) {
    CLEAN(atomicAdd(&out[0], 1);) RACY(out[0] += 1;)  // races
}

// A histogram in global memory.
// racy: out
// grid: 4 x 64
// out: np.bincount(x[:256], minlength=64)
KERNEL(plain_histogram) {
    CLEAN(atomicAdd(&out[in[I]], 1);) RACY(++out[in[I]];)  // races
}

// A histogram in shared memory.
// racy: bins
// grid: 1 x 128
// out: np.bincount(x[:128], minlength=64)
KERNEL(plain_histogram_in_shared_memory) {
    __shared__ int bins[64];
    if (T < 64) bins[T] = 0;
    __syncthreads();
    CLEAN(atomicAdd(&bins[in[T]], 1);) RACY(bins[in[T]] += 1;)  // races
    __syncthreads();
    if (T < 64) out[T] = bins[T];
}

// Each block has its own bins in global memory, and its threads share them.
// racy: work
// grid: 4 x 64
// work: np.concatenate([np.bincount(row % 16, minlength=64) for row in x[:256].reshape(4, 64)])
KERNEL(bins_of_blocks) {
    int *bins = work + blockIdx.x * 64;
    CLEAN(atomicAdd(&bins[in[I] % 16], 1);) RACY(bins[in[I] % 16]++;)  // races
}

// The maximum: a thread compares, and then stores.
// racy: out
// grid: 2 x 64
// out: [x[:128].max()]
KERNEL(maximum_by_check_then_store) {
    CLEAN(atomicMax(&out[0], in[I]);) RACY(if (in[I] > out[0]) out[0] = in[I];)  // races
}

// A set of bits: two threads set bits of one word.
// racy: out
// grid: 2 x 64
// out: bit_set(x[:128])
KERNEL(plain_bit_set) {
    int key = in[I];
    CLEAN(atomicOr(&out[key / 32], 1 << key % 32);) RACY(out[key / 32] |= 1 << key % 32;)  // races
}

// Some threads add atomically, and others read the counter meanwhile.
// racy: work
// grid: 2 x 64
// work: [128]
KERNEL(plain_read_of_atomic_counter) {
    atomicAdd(&work[0], 1);                     // races
    RACY(if (T == 63) out[blockIdx.x] = work[0];)  // races
}

// A counter is set to zero by a plain store, while other blocks count.
// racy: work
// grid: 2 x 64
// work: [128]
KERNEL(plain_reset_of_atomic_counter) {
    RACY(if (I == 0) work[0] = 0;)  // races
    atomicAdd(&work[0], 1);         // races
}

// One half adds atomically, the other half adds without.
// racy: out
// grid: 1 x 64
// out: [x[:64].sum()]
KERNEL(half_of_the_updates_is_atomic) {
    if (T < 32) atomicAdd(&out[0], in[T]);  // races
    else CLEAN(atomicAdd(&out[0], in[T]);) RACY(if (T == 40) out[0] += in[T];)  // races
}

// A slot is taken if it is free: the check and the store are two accesses.
// racy: work
// grid: 2 x 64
// out: [64]
KERNEL(slot_taken_twice) {
    int *slot = &work[I % 64];
    CLEAN(bool own = atomicCAS(slot, 0, I + 1) == 0;)
    RACY(bool own = *slot == 0; if (own) *slot = I + 1;)  // races
    if (own) atomicAdd(&out[0], 1);
}

// A plain read checks whether the exchange is worth while.
// racy: work
// grid: 2 x 64
// out: [64]
KERNEL(plain_check_before_exchange) {
    volatile int *strong = work;
    if (CLEAN(strong) RACY(work)[I % 64] != 0) return;               // races
    if (atomicCAS(&work[I % 64], 0, I + 1) == 0) atomicAdd(&out[0], 1);  // races
}

// A length is fetched for the check, and once more for the use, while another block changes it.
// racy: work
// grid: 2 x 32
// work: [31]
KERNEL(double_fetch) {
    if (blockIdx.x == 0) {
        if (T < 31) atomicAdd(&work[0], 1);  // races
    } else if (T == 0) {
        CLEAN(int length = atomicAdd(&work[0], 0); if (length < 32) out[0] = in[length];)
        RACY(if (work[0] < 32) out[0] = in[work[0]];)  // races
    }
}

// Adding doubles by compare and swap, as the programming guide does: the first read is plain.
// strict: out; the exchange finds out whether the value was current
// grid: 2 x 64
// out: [128]
KERNEL(first_read_of_exchange_loop) {
    int old = CLEAN(*(volatile int *)) RACY(*)&out[0], assumed;  // races
    do {
        assumed = old;
        old = atomicCAS(&out[0], assumed, assumed + 1);  // races
    } while (old != assumed);
}

// The loop computes the new value from a plain read in each round, and not from the answer of the exchange.
// racy: out
// grid: 2 x 64
// out: [x[:128].sum()]
KERNEL(exchange_without_comparing) {
    CLEAN(atomicAdd(&out[0], in[I]);)
    RACY(int sum = out[0] + in[I]; atomicExch(&out[0], sum);)  // races
}

// All threads that find a match set the same flag.
// strict: out; all writes have the same value
// grid: 2 x 64
// out: [1]
KERNEL(flag_set_by_many) {
    if (in[I] < 16) CLEAN(atomicExch(&out[0], 1);) RACY(out[0] = 1;)  // races
}

// The threads set the same flag, and leave early when they see it.
// racy: out
// grid: 2 x 64
// out: [1]
KERNEL(flag_read_while_set) {
    CLEAN(if (in[I] < 16) atomicExch(&out[0], 1);)
    RACY(if (out[0] == 0 && in[I] < 16) out[0] = 1;)  // races
}

// All threads that find a match store its index; the smallest is wanted.
// racy: out
// grid: 2 x 64
// out: [1024 - np.flatnonzero(x[:128] < 16)[0]]
KERNEL(first_match) {
    if (in[I] < 16) CLEAN(atomicMax(&out[0], 1024 - I);) RACY(out[0] = 1024 - I;)  // races
}

// A mean is kept as a sum and a count; only one of them is updated atomically.
// racy: work
// grid: 2 x 64
// work: [x[:128].sum(), 128]
KERNEL(sum_and_count) {
    atomicAdd(&work[0], in[I]);
    CLEAN(atomicAdd(&work[1], 1);) RACY(work[1]++;)  // races
}

// Eight bytes are updated as two words, by threads of different blocks.
// racy: out
// grid: 2 x 32
// out: [x[:64].sum(), 64]
KERNEL(pair_in_two_halves) {
    auto pair = reinterpret_cast<unsigned long long *>(out);
    unsigned long long step = (1ull << 32) + unsigned(in[I]);
    CLEAN(atomicAdd(pair, step);)
    RACY(if (blockIdx.x) { atomicAdd(pair, step); } else if (T == 0) { out[1] += 1; })  // races
}
