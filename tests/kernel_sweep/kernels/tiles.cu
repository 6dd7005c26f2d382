// Transposition, stencils and products of matrices.

// grid: 4 x 256
// out: x.reshape(4, 16, 16).transpose(0, 2, 1)
// Each block transposes a tile.
KERNEL(transposition) {
    __shared__ int tile[16][17];
    tile[T / 16][T % 16] = in[I];
    __syncthreads();
    out[I] = tile[T % 16][T / 16];
}

// A warp transposes a tile of 8 by 4.
// grid: 1 x 32
// out: x[:32].reshape(8, 4).T
KERNEL(transposition_by_warp) {
    __shared__ int tile[32];
    tile[T] = in[T];
    __syncwarp();
    out[T] = tile[T % 8 * 4 + T / 8];
}

// A stencil over a tile with its halo, in steps.
// grid: 1 x 64
// out: automaton(x[:64], 4)
KERNEL(stencil_in_steps) {
    __shared__ int cells[64];
    cells[T] = in[T];
    __syncthreads();
    for (int step = 0; step < 4; ++step) {
        int next = cells[(T + 63) % 64] ^ cells[(T + 1) % 64];
        __syncthreads();
        cells[T] = next;
        __syncthreads();
    }
    out[T] = cells[T];
}

// A stencil with two buffers.
// grid: 1 x 64
// out: automaton(x[:64], 4)
KERNEL(stencil_with_two_buffers) {
    __shared__ int cells[2][64];
    cells[0][T] = in[T];
    __syncthreads();
    for (int step = 0; step < 4; ++step) {
        cells[1 - step % 2][T] = cells[step % 2][(T + 63) % 64] ^ cells[step % 2][(T + 1) % 64];
        __syncthreads();
    }
    out[T] = cells[0][T];
}

// A product of matrices in tiles.
// grid: 4 x 64
// out: tiled_product(x)
KERNEL(matrix_product) {
    __shared__ int a[8][8], b[8][8];
    int row = T / 8, column = T % 8, sum = 0;
    int top = blockIdx.x / 2 * 8, left = blockIdx.x % 2 * 8;
    for (int tile = 0; tile < 16; tile += 8) {
        a[row][column] = in[(top + row) * 16 + tile + column];
        b[row][column] = in[256 + (tile + row) * 16 + left + column];
        __syncthreads();
        for (int k = 0; k < 8; ++k) sum += a[row][k] * b[k][column];
        __syncthreads();
    }
    out[(top + row) * 16 + left + column] = sum;
}

// Jacobi steps over global memory, whose reader waits for the neighbouring block by flags.
// grid: 2 x 32
// out: automaton(x[:64], 2)
KERNEL(stencil_of_two_blocks) {
    volatile int *steps = work;
    int block = blockIdx.x, left = (I + 63) % 64, right = (I + 1) % 64;
    for (int step = 0; step < 2; ++step) {
        const int *from = data + step * 64;
        data[(step + 1) * 64 + I] = from[left] ^ from[right];
        __syncthreads();
        if (T == 0) {
            __threadfence();
            steps[block] = step + 1;
            while (steps[1 - block] <= step) __nanosleep(20);
            __threadfence();
        }
        __syncthreads();
    }
    out[I] = data[128 + I];
}
