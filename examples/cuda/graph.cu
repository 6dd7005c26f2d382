/* Graphs: captured from a stream, and made node by node; an executable graph with a changed parameter. */
#include "check.h"

__global__ void scale(float *values, int count, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= factor;
}

__global__ void shift(float *values, int count, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}

int main() {
    int count = 256;
    float host[256];
    for (int i = 0; i < count; i++) host[i] = float(i);
    float *values;
    CHECK(cudaMalloc(&values, sizeof host));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    /* Capture. */
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(values, host, sizeof host, cudaMemcpyHostToDevice, stream));
    scale<<<2, 128, 0, stream>>>(values, count, 2);
    shift<<<2, 128, 0, stream>>>(values, count, 1);
    CHECK(cudaMemcpyAsync(host, values, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("captured: %zu nodes, %g %g\n", nodes, host[0], host[255]);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));

    /* Node by node. A kernel node names the function of the host, as a launch does. */
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t cleared, shifted;
    cudaMemsetParams clear = {};
    clear.dst = values;
    clear.elementSize = 4;
    clear.width = count;
    clear.height = 1;
    CHECK(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &clear));
    float by = 3;
    void *arguments[] = {&values, &count, &by};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)shift;
    launch.gridDim = dim3(2);
    launch.blockDim = dim3(128);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&shifted, graph, &cleared, 1, &launch));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    by = 4;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, shifted, &launch));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    std::printf("node by node: %g", host[17]);
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    std::printf(", then %g\n", host[17]);

    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(values));
}
