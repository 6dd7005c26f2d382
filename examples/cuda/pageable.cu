/* A kernel uses memory of malloc, a static array and the stack, if devices access pageable memory: CUARRAY_SIM_PAGEABLE_MEMORY=1.
   With an argument, the host reads a result before it has waited, which is a race. */
#include <cstdlib>

#include "check.h"

static int squares[64];

__global__ void square(int *numbers, int *results, int *count, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) numbers[i] = i;
    if (i < 64) results[i] = i * i;
    if (i == 0) *count = size;
}

int main(int arguments, char **) {
    int accesses, size = 1 << 18;
    CHECK(cudaDeviceGetAttribute(&accesses, cudaDevAttrPageableMemoryAccess, 0));
    if (!accesses) {
        std::printf("no access to pageable memory\n");
        return 0;
    }
    int *numbers = static_cast<int *>(std::malloc(size * sizeof(int))), count = 0;
    square<<<size / 256, 256>>>(numbers, squares, &count, size);
    CHECK(cudaGetLastError());
    if (arguments > 1) std::printf("too early: %d\n", numbers[100000] > 0);
    CHECK(cudaDeviceSynchronize());
    std::printf("count: %d, numbers: %d, squares: %d\n", count, numbers[100000], squares[63]);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, numbers));
    std::printf("unregistered: %d\n", attributes.type == cudaMemoryTypeUnregistered);
    std::free(numbers);
    return 0;
}
