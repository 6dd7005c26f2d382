/* Streams, events, host functions, asynchronous allocation, and launches with attributes. */
#include <vector>

#include "check.h"

__global__ void fill(int *values, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) values[i] = value;
}

__global__ void add(int *to, const int *from, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) to[i] += from[i];
}

struct Sum {
    const int *values;
    int count;
    long long result;
};

void CUDART_CB sum(void *argument) {
    Sum *sum = static_cast<Sum *>(argument);
    sum->result = 0;
    for (int i = 0; i < sum->count; i++) sum->result += sum->values[i];
}

int main() {
    const int count = 10000;
    const size_t bytes = count * sizeof(int);
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *values[2], *pinned;
    for (int i = 0; i < 2; i++) CHECK(cudaMallocAsync(&values[i], bytes, streams[i]));
    CHECK(cudaMallocHost(&pinned, bytes));

    for (int i = 0; i < 2; i++) fill<<<4, 128, 0, streams[i]>>>(values[i], count, i + 1);
    cudaEvent_t filled, added;
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&added, cudaEventDisableTiming));
    CHECK(cudaEventRecord(filled, streams[1]));
    CHECK(cudaStreamWaitEvent(streams[0], filled, 0));

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(4);
    config.blockDim = dim3(128);
    config.stream = streams[0];
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributePriority;
    attribute.val.priority = 0;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, add, values[0], (const int *)values[1], count));
    CHECK(cudaEventRecord(added, streams[0]));

    CHECK(cudaMemcpyAsync(pinned, values[0], bytes, cudaMemcpyDeviceToHost, streams[0]));
    Sum host = {pinned, count, -1};
    CHECK(cudaLaunchHostFunc(streams[0], sum, &host));
    CHECK(cudaStreamWaitEvent(streams[1], added, 0));
    CHECK(cudaFreeAsync(values[1], streams[1]));
    CHECK(cudaFreeAsync(values[0], streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    std::printf("sum: %lld\n", host.result);
    CHECK(cudaStreamSynchronize(streams[1]));
    std::printf("query: %s\n", cudaGetErrorName(cudaStreamQuery(streams[0])));

    CHECK(cudaEventDestroy(filled));
    CHECK(cudaEventDestroy(added));
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(pinned));
}
