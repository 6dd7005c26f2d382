// Values that are undefined, and used: shared memory that no thread has written, and shuffles from lanes that take no part.

struct Pair {
    int key, count;
};

// A sum of 24 lanes adds the values of lanes that do not take part.
// error: and it is stored
// kind: uninitialized-read
// grid: 1 x 32
// out: [x[:24].sum()]
KERNEL(sum_of_24_lanes) {
    if (T >= 24) return;
    int sum = in[T];
    for (int step = 16; step > 0; step /= 2) {
        int other = __shfl_down_sync(0xffffffu, sum, step);
        RIGHT(if (T + step < 24)) sum += other;
    }
    if (T == 0) out[0] = sum;  // error
}

// An exchange between two halves. The second one is shorter.
// error: and it is stored
// kind: uninitialized-read
// grid: 1 x 32
// out: np.concatenate([x[16:24] + x[:8], x[8:16], x[16:24] + x[:8], np.zeros(8)])
KERNEL(exchange_with_a_shorter_half) {
    if (T >= 24) return;
    int other = __shfl_xor_sync(0xffffffu, in[T], 16);
    RIGHT(if (T >= 8 && T < 16) other = 0;)
    out[T] = in[T] + other;  // error
}

// The lane whose value all want has left.
// error: and it is stored
// kind: uninitialized-read
// grid: 1 x 32
// out: np.concatenate([[0], np.full(31, x[1])])
KERNEL(broadcast_of_a_lane_that_has_left) {
    if (T == 0) return;
    int first = __shfl_sync(FULL, in[T], RIGHT(1) WRONG(0));
    out[T] = first;  // error
}

// The right neighbour of the last lane decides whether an element is counted.
// error: and it decides a branch
// kind: uninitialized-read
// grid: 1 x 32
// out: [np.count_nonzero(x[1:20] != x[:19])]
KERNEL(comparison_with_an_absent_neighbour) {
    if (T >= 20) return;
    int next = __shfl_down_sync(0xfffffu, in[T], 1);
    if (next != in[T] RIGHT(&& T < 19)) atomicAdd(out, 1);  // error
}

// A place in the result comes from a lane that has no place.
// error: and it is an address
// kind: uninitialized-read
// grid: 1 x 32
// out: np.concatenate([np.ones(16), np.zeros(16)])
KERNEL(place_from_an_absent_lane) {
    if (T >= 16) return;
    int place = __shfl_sync(0xffffu, T, RIGHT(T) WRONG(T + 8));
    out[place & 31] = 1;  // error
}

// A number of rounds is passed on through shared memory to another warp.
// error: and it decides a branch
// kind: uninitialized-read
// grid: 1 x 64
// out: [x[:8].sum()]
KERNEL(number_of_rounds_through_shared_memory) {
    __shared__ int rounds;
    if (T < 16) {
        int count = __shfl_down_sync(0xffffu, 8, 8);
        RIGHT(count = 8;)
        if (T == 15) rounds = count;
    }
    __syncthreads();
    int sum = 0;
    if (T == 32) {
        for (int round = 0; round < min(rounds, 64); ++round) sum += in[round];  // error
        out[0] = sum;
    }
}

// A histogram in shared memory starts without zeros.
// error: each block starts with undefined bytes
// kind: uninitialized-read
// grid: 1 x 64
// out: np.full(8, 8)
KERNEL(histogram_without_zeros) {
    __shared__ int bins[8];
    RIGHT(if (T < 8) bins[T] = 0;)
    __syncthreads();
    atomicAdd(&bins[T % 8], 1);  // error
    __syncthreads();
    if (T < 8) out[T] = bins[T];
}

// The halo of a stencil is not loaded.
// error: The value is stored
// kind: uninitialized-read
// grid: 1 x 32
// out: x[:32] + x[1:33]
KERNEL(halo_that_is_not_loaded) {
    __shared__ int tile[33];
    tile[T] = in[T];
    RIGHT(if (T == 0) tile[32] = in[32];)
    __syncthreads();
    out[T] = tile[T] + tile[T + 1];  // error
}

// A reduction of 48 elements as if they were 64.
// error: The value is stored
// kind: uninitialized-read
// grid: 1 x 48
// out: [x[:48].sum()]
KERNEL(reduction_of_48_elements) {
    __shared__ int tile[64];
    tile[T] = in[T];
    RIGHT(if (T < 16) tile[48 + T] = 0;)
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (T < step) tile[T] += tile[T + step];
        __syncthreads();
    }
    if (T == 0) out[0] = tile[0];  // error
}

// The first round reads the buffer of the round before it.
// error: The value is stored
// kind: uninitialized-read
// grid: 1 x 32
// out: x[:32] + x[32:64]
KERNEL(round_before_the_first) {
    __shared__ int tile[2][32];
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        tile[round % 2][T] = in[32 * round + T];
        __syncthreads();
        RIGHT(if (round > 0)) sum += tile[(round + 1) % 2][31 - T];
        __syncthreads();
    }
    out[31 - T] = sum;  // error
}

// One field of a record in shared memory is not set.
// error: The value decides a branch
// kind: uninitialized-read
// grid: 1 x 32
// out: np.full(32, 3)
KERNEL(field_that_is_not_set) {
    __shared__ Pair pairs[32];
    pairs[31 - T].key = T;
    RIGHT(pairs[31 - T].count = 3;)
    __syncthreads();
    Pair pair = pairs[T];
    int sum = 0;
    while (pair.count-- > 0 && sum < 64) ++sum;  // error
    out[T] = sum;
}

// A flag of the block is tested by a barrier, and one warp has not set it.
// error: The value is an operand
// kind: uninitialized-read
// fix: first write
// grid: 1 x 64
// out: np.full(64, 64)
KERNEL(flag_of_a_barrier) {
    __shared__ int flags[64];
    if (T < 32 RIGHT(|| true)) flags[T] = 1;
    __syncthreads();
    out[T] = __syncthreads_count(flags[63 - T] > 0);  // error
}

// The list of a block is indexed behind its last entry.
// error: The value is an address
// kind: uninitialized-read
// grid: 1 x 32
// out: [x[10]]
KERNEL(entry_behind_the_last) {
    __shared__ int list[32];
    if (T < 10) list[T] = T + 1;
    __syncthreads();
    if (T == 0) out[0] = in[list[RIGHT(9) WRONG(10)] & 1023];  // error
}

// A reduction of half a warp, whose result one lane uses.
// clean: the sum of lane 0 has only values of lanes that take part
// grid: 1 x 32
// out: [x[:16].sum()]
KERNEL(sum_of_half_a_warp_in_lane_0) {
    if (T >= 16) return;
    int sum = in[T];
    for (int step = 8; step > 0; step /= 2) sum += __shfl_down_sync(0xffffu, sum, step);
    if (T == 0) out[0] = sum;
}

// A merge reads one element too far, compares it, and drops the result.
// clean: the index decides too, so the value decides nothing
// grid: 1 x 32
// out: [np.count_nonzero(x[1:20] > x[:19])]
KERNEL(element_too_far_that_is_dropped) {
    __shared__ int tile[32];
    if (T < 20) tile[T] = in[T];
    __syncthreads();
    if (T >= 20) return;
    bool rises = tile[T + 1] > tile[T];
    bool inside = T < 19;
    if (rises & inside) atomicAdd(out, 1);
}

// Records with padding are sorted by way of shared memory.
// clean: the padding is moved, and not used
// grid: 1 x 32
// out: x[:32][::-1]
KERNEL(records_with_padding) {
    struct Record {
        char letter;
        int value;
    };
    __shared__ Record records[32];
    Record record;
    record.letter = char(T);
    record.value = in[T];
    records[31 - T] = record;
    __syncthreads();
    record = records[T];
    out[T] = record.value + record.letter - (31 - T);
}

// Half of the bits of a word are undefined, and masked away.
// clean: the bits that are used were written
// grid: 1 x 32
// out: x[:32] % 256
KERNEL(bits_that_are_masked_away) {
    __shared__ int words[32];
    reinterpret_cast<unsigned char*>(words)[4 * T] = static_cast<unsigned char>(in[T]);
    __syncthreads();
    out[T] = words[T] & 255;
}
