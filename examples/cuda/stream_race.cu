/* A planted race: the second stream does not wait for the first. */
#include "check.h"

__global__ void fill(float *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = 1;
}

__global__ void add(float *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
}

int main() {
    const int count = 1024;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    float *values, result;
    CHECK(cudaMalloc(&values, count * sizeof(float)));
    fill<<<4, 256, 0, first>>>(values, count);
    add<<<4, 256, 0, second>>>(values, count);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&result, values, sizeof result, cudaMemcpyDeviceToHost));
    std::printf("%g\n", result);
    CHECK(cudaFree(values));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
}
