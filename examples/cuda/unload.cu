/* A shared library with a kernel and a variable, which a program loads and unloads. */
#include <cuda_runtime.h>

__device__ int calls = 0;

__global__ void count(int *seen) { *seen = ++calls; }

/* Returns the number of calls since the library was loaded, or minus an error. */
extern "C" int count_calls() {
    int *memory, seen = 0;
    cudaError_t error = cudaMalloc(&memory, sizeof seen);
    if (error != cudaSuccess) return -error;
    count<<<1, 1>>>(memory);
    error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaMemcpy(&seen, memory, sizeof seen, cudaMemcpyDeviceToHost);
    cudaFree(memory);
    return error == cudaSuccess ? seen : -error;
}
