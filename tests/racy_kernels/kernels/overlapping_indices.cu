// A wrong index or a missing guard lets two threads use the same element.

// All threads write the element of their block, not only the first one.
// racy: out
// grid: 2 x 64
// out: x[[0, 64]]
KERNEL(missing_guard_of_first_thread) {
    CLEAN(if (T == 0)) out[blockIdx.x] = in[I];  // races
}

// Threads beyond the end are moved to the last element in place of being left out.
// racy: out
// grid: 2 x 64
// out: x[:100] + 1
KERNEL(clamped_index) {
    const int count = 100;
    int i = I;
    CLEAN(if (i >= count) return;) RACY(i = min(i, count - 1);)
    out[i] = in[I] + 1;  // races
}

// Blocks write tiles that are one element too close to each other.
// racy: out
// grid: 4 x 32
// out: x[:128]
KERNEL(stride_of_blocks_too_small) {
    out[blockIdx.x * (blockDim.x RACY(-1)) + T] = in[I];  // races
}

// Each block also writes the first element of its neighbour's tile.
// racy: out
// grid: 3 x 32
// out: x[:96] * 2
KERNEL(written_halo) {
    out[I] = in[I] * 2;  // races
    RACY(if (T == 31) out[I + 1] = in[I];)  // races
}

// Rows of 16 elements are stored with a pitch of 15.
// racy: out
// grid: 1 x 256
// out: x[:256]
KERNEL(wrong_pitch) {
    int row = T / 16, column = T % 16;
    out[row * (16 RACY(-1)) + column] = in[T];  // races
}

// The leaders of half warps store into the slots of whole warps.
// racy: slots
// grid: 1 x 128
// out: x[:128].reshape(8, 16).max(1)
KERNEL(slots_of_half_warps) {
    __shared__ int slots[8];
    int largest = in[T];
    for (int step = 8; step > 0; step /= 2) largest = max(largest, __shfl_xor_sync(~0u, largest, step));
    if (T % 16 == 0) slots[T / CLEAN(16) RACY(32)] = largest;  // races
    __syncthreads();
    if (T < 8) out[T] = slots[T];
}

// A scatter whose targets repeat.
// racy: out
// grid: 4 x 64
// out: x[np.argsort(np.arange(256) * 5 % 256)]
KERNEL(scatter_to_repeated_targets) {
    int target = CLEAN(I * 5 % 256) RACY(I * 6 % 256);
    out[target] = in[I];  // races
}

// All elements move to the left in place.
// racy: data
// grid: 2 x 64
// out: x[1:129]
KERNEL(shift_in_place) {
    CLEAN(out[I] = in[I + 1];) RACY(data[I] = data[I + 1];)  // races
}

// Each thread exchanges its element with the mirrored one, and so every pair is exchanged twice.
// racy: data
// grid: 2 x 64
// data: x[:128][::-1]
KERNEL(reversal_by_all_threads) {
    CLEAN(if (I >= 64) return;)
    int own = data[I], other = data[127 - I];  // races
    data[I] = other;                           // races
    data[127 - I] = own;                       // races
}

// A matrix is transposed in place by all threads; those below the diagonal suffice.
// racy: data
// grid: 1 x 256
// data: x[:256].reshape(16, 16).T
KERNEL(transposition_in_place) {
    int row = T / 16, column = T % 16;
    CLEAN(if (row < column)) {
        int own = data[row * 16 + column], other = data[column * 16 + row];  // races
        data[row * 16 + column] = other;                                     // races
        data[column * 16 + row] = own;                                       // races
    }
}

// Gauss-Seidel steps of all elements at once; only those of one colour are independent.
// racy: data
// grid: 2 x 64
// data: [x[i] if i % 2 == 0 or i > 127 else x[i - 1] + x[i + 1] for i in range(128)]
KERNEL(relaxation_without_colours) {
    CLEAN(if (I % 2 == 0) return;)
    if (I > 0) data[I] = data[I - 1] + data[I + 1];  // races
}

// Two threads share an element, because the number of elements of each is rounded up.
// racy: out
// grid: 1 x 64
// out: x[:160] + 7
KERNEL(chunks_that_overlap) {
    const int count = 160;
    int chunk = (count + 63) / 64, first = T * chunk, last = first + chunk;
    RACY(++last;)
    for (int i = first; i < last && i < count; ++i) out[i] = in[i] + 7 + 0 * T RACY(+ T);  // races
}

// A loop over the grid starts at the number of the thread in its block.
// racy: out
// grid: 2 x 64
// out: x[:256] * 3
KERNEL(grid_loop_with_wrong_start) {
    for (int i = CLEAN(I) RACY(T); i < 256; i += gridDim.x * blockDim.x) out[i] = in[i] * 3 RACY(+ I);  // races
}

// Each thread copies eight bytes, and the elements are four bytes apart.
// racy: out
// grid: 1 x 64
// out: x[:128]
KERNEL(vector_store_with_scalar_index) {
    int2 pair = make_int2(in[2 * T], in[2 * T + 1]);
    CLEAN(reinterpret_cast<int2 *>(out)[T] = pair;)
    RACY(if (T % 2 == 0) { reinterpret_cast<int2 *>(out)[T / 2] = pair; } else { out[T] = pair.x; })  // races
}

// Neighbouring threads write neighbouring bytes, which is right; the racy build writes their whole word.
// racy: out
// grid: 1 x 64
// out: np.ascontiguousarray(x[:64].astype(np.uint8)).view(np.int32)
KERNEL(bytes_of_one_word) {
    CLEAN(reinterpret_cast<unsigned char *>(out)[T] = in[T];)
    RACY(int shift = T % 4 * 8; out[T / 4] = (out[T / 4] & ~(255 << shift)) | in[T] << shift;)  // races
}

// Blocks of different lengths that touch and do not overlap.
// clean: the intervals are disjoint
// grid: 4 x 64
// out: x[:160]
KERNEL(adjacent_intervals) {
    int first = int(blockIdx.x) * (int(blockIdx.x) + 1) / 2 * 16, length = 16 * (blockIdx.x + 1);
    if (T < length) out[first + T] = in[first + T];
}

// All threads read the elements that their block alone writes in place.
// clean: each thread reads and writes its own element
// grid: 4 x 64
// data: x[:256] * 2 + 1
KERNEL(update_in_place) {
    data[I] = data[I] * 2 + 1;
}
