// Instructions on matrices, which all lanes of a warp must execute together.

#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

// The product stands in a branch of half the warp.
// error: without lanes 16-31
// grid: 1 x 32
// out: np.full(256, 16)
KERNEL(product_in_a_branch) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    __shared__ float tile[256];
    wmma::fill_fragment(a, __float2half(1.0f));
    wmma::fill_fragment(b, __float2half(1.0f));
    wmma::fill_fragment(c, 0.0f);
    WRONG(if (T < 16)) wmma::mma_sync(c, a, b, c);  // error
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);
    __syncwarp();
    for (int index = T; index < 256; index += 32) out[index] = RIGHT(int(tile[index])) WRONG(16);
}

// Lanes without an element have left before the load.
// error: without lanes 24-31
// grid: 1 x 32
// out: np.full(24, x[0])
KERNEL(load_after_an_exit) {
    __shared__ __align__(16) int tile[32];
    tile[T] = in[0];
    __syncwarp();
    WRONG(if (T >= 24) return;)
    int value, address = int(__cvta_generic_to_shared(tile));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"  // error
                 : "=r"(value) : "r"(address) : "memory");  // error
    if (T < 24) out[T] = value;
}

// A block of fewer threads than a warp has.
// error: without lanes 16-31
// grid: 1 x 48
// out: x[:32].reshape(8, 4)[:, :1].ravel() * 0 + 1
KERNEL(transposition_in_the_last_part) {
    int value = 1, moved = 1;
    if (T < RIGHT(32) WRONG(48)) {
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(value));  // error
    }
    if (T < 8) out[T] = value;
}

// The loads stand in both branches.
// error: without lanes 8-31
// grid: 1 x 32
// out: np.ones(32)
KERNEL(load_in_both_branches) {
    __shared__ __align__(16) int tile[32];
    tile[T] = in[T];
    __syncwarp();
    int value, address = int(__cvta_generic_to_shared(tile));
    if (T < RIGHT(32) WRONG(8)) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"  // error
                     : "=r"(value) : "r"(address) : "memory");  // error
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(value) : "r"(address) : "memory");
    }
    out[T] = value * 0 + 1;
}
