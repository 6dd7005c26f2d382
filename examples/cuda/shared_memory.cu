/* Dynamic shared memory, launch limits and occupancy. */
#include "check.h"

template <typename T>
__global__ void reverse_blocks(T *values) {
    extern __shared__ unsigned char bytes[];
    T *block = reinterpret_cast<T *>(bytes);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    block[threadIdx.x] = values[i];
    __syncthreads();
    values[i] = block[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(128) bounded(int *values) {
    __shared__ int block[128];
    block[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = block[127 - threadIdx.x];
}

int main() {
    const int count = 1024;
    double values[count];
    for (int i = 0; i < count; i++) values[i] = i;
    double *memory;
    CHECK(cudaMalloc(&memory, sizeof values));
    CHECK(cudaMemcpy(memory, values, sizeof values, cudaMemcpyHostToDevice));
    reverse_blocks<double><<<count / 256, 256, 256 * sizeof(double)>>>(memory);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(values, memory, sizeof values, cudaMemcpyDeviceToHost));
    std::printf("reversed: %g %g %g\n", values[0], values[255], values[256]);

    /* More than 48 KiB of dynamic shared memory must be allowed first. */
    const int large = 64 * 1024;
    reverse_blocks<double><<<1, 256, large>>>(memory);
    std::printf("64 KiB at first: %s\n", cudaGetErrorName(cudaGetLastError()));
    CHECK(cudaFuncSetAttribute(reverse_blocks<double>, cudaFuncAttributeMaxDynamicSharedMemorySize, large));
    reverse_blocks<double><<<1, 256, large>>>(memory);
    std::printf("64 KiB when allowed: %s\n", cudaGetErrorName(cudaGetLastError()));
    CHECK(cudaDeviceSynchronize());

    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, bounded));
    std::printf("bounded: %d threads at most, %zu bytes of shared memory, PTX %d\n", attributes.maxThreadsPerBlock,
                attributes.sharedSizeBytes, attributes.ptxVersion);
    CHECK(cudaFuncGetAttributes(&attributes, reverse_blocks<double>));
    std::printf("reverse_blocks: %d bytes of dynamic shared memory at most\n", attributes.maxDynamicSharedSizeBytes);

    /* Each of these launches is refused before it starts, and the next call works. */
    bounded<<<1, 256>>>(nullptr);
    std::printf("256 threads of a kernel for 128: %s\n", cudaGetErrorName(cudaGetLastError()));
    reverse_blocks<double><<<1, 2048>>>(memory);
    std::printf("2048 threads: %s\n", cudaGetErrorName(cudaGetLastError()));
    reverse_blocks<double><<<0, 32>>>(memory);
    std::printf("no blocks: %s\n", cudaGetErrorName(cudaGetLastError()));
    std::printf("then: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));

    int blocks = 0, grid = 0, block = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse_blocks<double>, 256, 256 * sizeof(double)));
    std::printf("at least one block for each multiprocessor: %s\n", blocks >= 1 ? "yes" : "no");
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
    std::printf("block size for most threads: %s\n", block >= 32 && block <= 128 && grid >= 1 ? "at most 128" : "wrong");
    size_t dynamic = 0;
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, reverse_blocks<double>, 2, 256));
    std::printf("dynamic shared memory for two blocks: %s\n", dynamic >= 16384 ? "16 KiB or more" : "too little");
    CHECK(cudaFree(memory));
}
