/* Variables of a module, in constant memory and in device memory, are read and written by their symbols. */
#include "check.h"

__constant__ float weights[4];
__device__ int counter = 5;
__device__ double table[3] = {0.25, 0.5, 0.75};

namespace {
__device__ unsigned hidden[2];
}

__global__ void weigh(const float *values, float *result, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    result[i] = values[i] * weights[i % 4];
    atomicAdd(&counter, 1);
    if (i < 2) hidden[i] = 10 + i;
}

int main() {
    const int count = 64;
    const float host_weights[4] = {1, 2, 3, 4};
    float values[count], result[count];
    for (int i = 0; i < count; i++) values[i] = float(i);

    /* Copies to a symbol: whole, with an offset, and in a stream. */
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
    const float last = 8;
    CHECK(cudaMemcpyToSymbol(weights, &last, sizeof last, 3 * sizeof(float)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    const double half = -0.5;
    CHECK(cudaMemcpyToSymbolAsync(table, &half, sizeof half, sizeof half, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));

    float *device_values, *device_result;
    CHECK(cudaMalloc(&device_values, sizeof values));
    CHECK(cudaMalloc(&device_result, sizeof result));
    CHECK(cudaMemcpy(device_values, values, sizeof values, cudaMemcpyHostToDevice));
    weigh<<<2, 32>>>(device_values, device_result, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result, device_result, sizeof result, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < count; i++) sum += result[i];
    std::printf("weighted sum: %g\n", sum);

    int seen;
    double seen_table[3];
    unsigned seen_hidden[2];
    CHECK(cudaMemcpyFromSymbol(&seen, counter, sizeof seen));
    CHECK(cudaMemcpyFromSymbol(seen_table, table, sizeof seen_table));
    CHECK(cudaMemcpyFromSymbol(&seen_hidden[0], hidden, sizeof(unsigned), sizeof(unsigned)));
    CHECK(cudaMemcpyFromSymbolAsync(&seen_hidden[1], hidden, sizeof(unsigned), 0, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("counter: %d, table: %g %g %g, hidden: %u %u\n", seen, seen_table[0], seen_table[1], seen_table[2],
                seen_hidden[0], seen_hidden[1]);

    /* The address and the size of a symbol. */
    void *address = nullptr;
    size_t size = 0;
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaGetSymbolSize(&size, table));
    double middle;
    CHECK(cudaMemcpy(&middle, static_cast<double *>(address) + 1, sizeof middle, cudaMemcpyDeviceToHost));
    std::printf("table has %zu bytes, its middle is %g\n", size, middle);

    /* A copy past the end of a symbol and a pointer that is no symbol are refused. */
    std::printf("past the end: %s\n", cudaGetErrorName(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights, 4)));
    std::printf("no symbol: %s\n", cudaGetErrorName(cudaGetSymbolAddress(&address, (const void *)host_weights)));
    cudaGetLastError();

    CHECK(cudaFree(device_values));
    CHECK(cudaFree(device_result));
    CHECK(cudaStreamDestroy(stream));
}
