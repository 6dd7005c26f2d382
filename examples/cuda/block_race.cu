/* A planted race: threads of a block read what others write, without a barrier between. */
#include "check.h"

__global__ void reverse(int *values) {
    __shared__ int block[64];
    block[threadIdx.x] = values[threadIdx.x];
    values[threadIdx.x] = block[63 - threadIdx.x];
}

int main() {
    int host[64], *values;
    for (int i = 0; i < 64; i++) host[i] = i;
    CHECK(cudaMalloc(&values, sizeof host));
    CHECK(cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice));
    reverse<<<1, 64>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(values));
}
