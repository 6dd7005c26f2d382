// Data that volatile or relaxed accesses pass on behind a flag, without a fence. They do not race, but a read may return an old value.

// Each block adds the sum of the one before it, by a volatile value behind a volatile flag.
// error: a fence is missing
// kind: kernel-race
// grid: 4 x 32
// out: np.cumsum(x[:4])
KERNEL(look_back_by_volatile_values) {
    volatile int *value = work, *state = work + 64;
    int block = blockIdx.x, sum = in[block];
    if (T != 0) return;
    if (block > 0) {
        while (state[block - 1] == 0) {}
        RIGHT(__threadfence();)
        sum += value[block - 1];  // error
    }
    value[block] = sum;  // error
    RIGHT(__threadfence();)
    state[block] = 1;
    out[block] = sum;
}

// The last block adds the sums of all blocks, which are volatile; a counter tells which one is the last.
// error: a fence is missing
// kind: kernel-race
// grid: 4 x 32
// out: [x[:4].sum()]
KERNEL(last_block_reads_volatile_sums) {
    volatile int *sums = work;
    if (T != 0) return;
    sums[blockIdx.x] = in[blockIdx.x];  // error
    RIGHT(__threadfence();)
    if (atomicAdd(&work[64], 1) == 3) {
        RIGHT(__threadfence();)
        int all = 0;
        for (int block = 0; block < 4; ++block) all += sums[block];  // error
        out[0] = all;
    }
}

// A message whose words are relaxed, behind a flag that is relaxed too.
// error: a fence is missing
// kind: kernel-race
// grid: 2 x 32
// out: [x[0]]
KERNEL(relaxed_message) {
    int value, flag = 0;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(work), "r"(in[0]) : "memory");  // error
        RIGHT(__threadfence();)
        asm volatile("st.relaxed.gpu.u32 [%0], 1;" ::"l"(work + 64) : "memory");
    } else {
        while (!flag) asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(flag) : "l"(work + 64) : "memory");
        RIGHT(__threadfence();)
        asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(work) : "memory");  // error
        out[0] = value;
    }
}

// Each block moves its elements to the front, and writes where the one before it has read before it has set its flag.
// clean: the values were used before the flag was set, as in CUB's selections in place
// grid: 2 x 32
// out: np.zeros(1)
KERNEL(elements_moved_in_place) {
    int value = data[blockIdx.x * 32 + T];
    __syncthreads();
    if (T == 0) {
        int flag = blockIdx.x == 0;
        while (!flag) asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(flag) : "l"(work) : "memory");
        if (blockIdx.x == 0) asm volatile("st.relaxed.gpu.u32 [%0], 1;" ::"l"(work) : "memory");
    }
    __syncthreads();
    if (blockIdx.x == 1) data[T] = value;
}

// The flag and the value are the halves of one word.
// clean: one access reads both
// grid: 2 x 32
// out: [x[0]]
KERNEL(value_and_flag_in_one_word) {
    volatile unsigned long long *word = (unsigned long long *)work;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        *word = 1ull << 32 | unsigned(in[0]);
    } else {
        unsigned long long both = 0;
        while (!(both >> 32)) both = *word;
        out[0] = int(both);
    }
}
