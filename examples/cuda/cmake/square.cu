#include <cuda_runtime.h>

#include "kernels.h"

extern __constant__ float factor;
__device__ float scaled(float value);

__global__ void square(float *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = scaled(values[i] * values[i]);
}

int scaled_squares(const float *values, float *result, int count, float by) {
    float *memory;
    cudaError_t error = cudaMalloc(&memory, count * sizeof(float));
    if (error == cudaSuccess) error = cudaMemcpyToSymbol(factor, &by, sizeof by);
    if (error == cudaSuccess) error = cudaMemcpy(memory, values, count * sizeof(float), cudaMemcpyHostToDevice);
    if (error == cudaSuccess) {
        square<<<(count + 63) / 64, 64>>>(memory, count);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) error = cudaMemcpy(result, memory, count * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(memory);
    return error;
}
