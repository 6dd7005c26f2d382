/* The host and a kernel share variables in managed memory, without copies. */
#include "check.h"

__managed__ int count = 5;
__managed__ int squares[4];

__global__ void square() {
    squares[threadIdx.x] = threadIdx.x * threadIdx.x;
    if (threadIdx.x == 0) count++;
}

int main() {
    count += 10;
    square<<<1, 4>>>();
    CHECK(cudaGetLastError());
    /* Without this wait, the host would race with the kernel. */
    CHECK(cudaDeviceSynchronize());
    std::printf("count: %d, squares: %d %d %d %d\n", count, squares[0], squares[1], squares[2], squares[3]);

    void *address;
    size_t size;
    CHECK(cudaGetSymbolAddress(&address, squares));
    CHECK(cudaGetSymbolSize(&size, squares));
    std::printf("%zu bytes, %s on both sides\n", size, address == squares ? "the same address" : "another address");
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, &count));
    std::printf("managed: %d\n", attributes.type == cudaMemoryTypeManaged);
    return 0;
}
