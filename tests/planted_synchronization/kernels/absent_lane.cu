// Lanes that a member mask names, and that do not execute the instruction.

// The reduction stands in a branch that some lanes do not take.
// error: have not exited (lanes 20-31
// grid: 1 x 32
// out: np.concatenate([np.full(20, x[:20].sum()), np.zeros(12)])
KERNEL(reduction_in_a_branch) {
    if (T < 20) out[T] = __reduce_add_sync(RIGHT(0xfffffu) WRONG(FULL), in[T]);  // error
    __syncwarp();
}

// Both branches vote, but in different ways.
// error: do not execute the instruction
// grid: 1 x 32
// out: np.ones(32)
KERNEL(different_votes_in_two_branches) {
    if (T < 16) {
        out[T] = __any_sync(RIGHT(0xffffu) WRONG(FULL), in[T] >= 0) != 0;  // error
    } else {
        out[T] = __all_sync(RIGHT(0xffff0000u) WRONG(FULL), in[T] >= 0) != 0;
    }
    __syncwarp();
}

// The mask was taken before some lanes have left the branch.
// error: have not exited (lanes 8-15
// grid: 1 x 32
// out: np.concatenate([np.full(8, x[0]), np.zeros(24)])
KERNEL(activemask_before_divergence) {
    if (T < 16) {
        unsigned mask = __activemask();
        if (T < 8) {
            RIGHT(mask = 0xffu;)
            out[T] = __shfl_sync(mask, in[T], 0);  // error
        }
        __syncwarp(0xffffu);
    }
    __syncwarp();
}

// A loop that lanes leave after different numbers of rounds.
// error: do not execute the instruction
// grid: 1 x 32
// out: np.full(32, 32)
KERNEL(vote_in_a_loop_of_different_length) {
    int rounds = 0, last = T + 1;
    RIGHT(last = 32;)
    for (int round = 0; round < last; ++round) rounds += __any_sync(FULL, 1) != 0;  // error
    __syncwarp();
    out[T] = rounds;
}

// The barrier of the warp stands behind a condition, and the mask of the others has a lane that waits there.
// error: have not exited (lane 0)
// grid: 1 x 32
// out: x[:32]
KERNEL(barrier_of_a_warp_in_a_branch) {
    if (T < 16) __syncwarp(RIGHT(0xffffu) WRONG(FULL));  // error
    else __syncwarp(0xffff0000u | RIGHT(0) WRONG(1));  // error
    out[T] = in[T];
}

// A match by the lanes with an element, with the mask of all.
// error: have not exited (lanes 10-31
// grid: 1 x 32
// out: np.concatenate([np.full(10, 0x3ff), np.zeros(22)])
KERNEL(match_of_lanes_with_elements) {
    if (T < 10) out[T] = int(__match_any_sync(RIGHT(0x3ffu) WRONG(FULL), 7));  // error
    __syncwarp();
}

// An election in a branch.
// error: have not exited (lanes 4-31
// grid: 1 x 32
// out: [1]
KERNEL(election_in_a_branch) {
    if (T < 4) {
        int elected = 0;
        asm volatile("{ .reg .pred p; elect.sync _|p, %1; selp.b32 %0, 1, 0, p; }"  // error
                     : "=r"(elected) : "r"(RIGHT(0xfu) WRONG(FULL)) : "memory");  // error
        if (elected) out[T] = 1;
    }
    __syncwarp();
}

// Both branches execute the same shuffle, with the same mask.
// clean: the manual asks for the same instruction and mask, and not for one place
// grid: 1 x 32
// out: x[:32] + np.roll(x[:32], 16)
KERNEL(same_shuffle_in_two_branches) {
    int value = in[T];
    if (T < 16) {
        int other = __shfl_xor_sync(FULL, value, 16);
        out[T] = value + other;
    } else {
        out[T] = __shfl_xor_sync(FULL, value, 16) + value;
    }
}

// Both branches have a barrier of the whole warp.
// clean: barriers of one mask meet wherever they are
// grid: 1 x 32
// out: np.roll(x[:32], 16)
KERNEL(barrier_of_a_warp_in_both_branches) {
    __shared__ int tile[32];
    tile[T] = in[T];
    if (T < 16) { __syncwarp(); out[T] = tile[T + 16]; }
    else { __syncwarp(); out[T] = tile[T - 16]; }
}

// The active lanes of a branch form a group.
// clean: all lanes of the mask execute the reduction
// grid: 1 x 32
// out: np.concatenate([np.full(12, x[:12].sum()), np.zeros(20)])
KERNEL(group_of_active_lanes) {
    if (T < 12) out[T] = __reduce_add_sync(__activemask(), in[T]);
}
