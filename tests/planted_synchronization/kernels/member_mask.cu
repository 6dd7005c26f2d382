// Member masks that do not name a lane that executes the instruction, or that differ between the members.

// All lanes pass a barrier of five lanes.
// error: does not name lanes 5-31
// grid: 1 x 32
// out: x[:32][::-1]
KERNEL(barrier_of_too_few_lanes) {
    __shared__ int tile[32];
    tile[T] = in[T];
    __syncwarp(RIGHT(FULL) WRONG(0x1fu));  // error
    out[T] = tile[31 - T];
}

// The mask has one lane less than the branch.
// error: does not name lane 15
// grid: 1 x 32
// out: np.concatenate([np.full(16, x[3]), np.zeros(16)])
KERNEL(shuffle_mask_off_by_one) {
    if (T < 16) out[T] = __shfl_sync(RIGHT(0xffffu) WRONG(0x7fffu), in[T], 3);  // error
}

// The mask was computed for another number of lanes.
// error: does not name lanes 20-23
// grid: 1 x 32
// out: [x[:24].sum()]
KERNEL(reduction_mask_of_other_length) {
    if (T < 24) {
        unsigned mask = (1u << RIGHT(24) WRONG(20)) - 1;
        int sum = __reduce_add_sync(mask, in[T]);  // error
        if (T == 0) out[0] = sum;
    }
}

// A ballot of the even lanes, which odd lanes execute too.
// error: does not name lanes 1, 3, 5
// grid: 1 x 32
// out: [0x1555]
KERNEL(ballot_of_even_lanes) {
    if (T < 14 RIGHT(&& T % 2 == 0)) {
        unsigned votes = __ballot_sync(0x1555u, in[T] >= 0);  // error
        if (T == 0) out[0] = int(votes);
    }
}

// The mask of a constant tile, without the shift to the tile's lanes.
// error: does not name lanes 8-31
// grid: 1 x 32
// out: np.repeat(x[:32:8], 8)
KERNEL(tile_mask_without_shift) {
    unsigned mask = 0xffu << RIGHT((T / 8 * 8)) WRONG(0);
    out[T] = __shfl_sync(mask, in[T], 0, 8);  // error
}

// No lane is in the mask.
// error: does not name lanes 0-31
// grid: 1 x 32
// out: np.ones(32)
KERNEL(mask_of_no_lane) {
    out[T] = __any_sync(RIGHT(FULL) WRONG(unsigned(in[T] >> 20)), in[T] >= 0) != 0;  // error
}

// Each half of the warp should have its own mask, and one has that of the whole warp.
// error: give all members one mask
// grid: 1 x 32
// out: np.repeat(x[:32].reshape(2, 16).sum(1), 16)
KERNEL(halves_with_different_masks) {
    unsigned mask = T < 16 ? RIGHT(0xffffu) WRONG(FULL) : 0xffff0000u;
    out[T] = __reduce_add_sync(mask, in[T]);  // error
}

// Each lane computes its own mask from its element.
// error: give all members one mask
// grid: 1 x 32
// out: np.full(32, x[0])
KERNEL(mask_of_each_lane) {
    unsigned mask = FULL WRONG(& ~(1u << (T + 1) % 32));
    out[T] = __shfl_sync(mask, in[T], 0);  // error
}

// A match in which pairs name a lane more.
// error: give all members one mask
// grid: 1 x 32
// out: np.repeat([3 << 2 * p if p < 15 else -(1 << 30) for p in range(16)], 2)
KERNEL(match_of_overlapping_pairs) {
    unsigned mask = RIGHT(3u << (T & ~1)) WRONG(T == 31 ? 0xe0000000u : T == 30 ? 0xe0000000u : 3u << (T & ~1));
    out[T] = int(__match_any_sync(mask, 5));  // error
}

// Both lanes of a pair state the mask of the pair. Masks of different groups may meet at one instruction.
// clean: the groups do not overlap, and each lane is in its mask
// grid: 1 x 32
// out: np.repeat(x[:32].reshape(16, 2).sum(1), 2)
KERNEL(pairs_with_their_own_masks) {
    unsigned mask = 3u << (T & ~1);
    out[T] = in[T] + __shfl_xor_sync(mask, in[T], 1);
}

// Lanes of equal elements form a group each, by the mask that match returns.
// clean: each group is complete
// grid: 1 x 32
// out: [x[:32][x[:32] % 4 == x[t] % 4].sum() for t in range(32)]
KERNEL(groups_by_match) {
    unsigned group = __match_any_sync(FULL, in[T] % 4);
    out[T] = __reduce_add_sync(group, in[T]);
}

// The lanes without an element have left.
// clean: threads that have exited need not take part
// grid: 1 x 32
// out: np.full(20, x[:20].sum())
KERNEL(full_mask_after_an_exit) {
    if (T >= 20) return;
    out[T] = __reduce_add_sync(FULL, in[T]);
}
