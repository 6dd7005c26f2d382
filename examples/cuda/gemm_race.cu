/* A product of matrices by cuBLAS, with a planted race: its stream does not wait for the stream that fills B. With -DWAIT it does. */
#include <vector>

#include <cublas_v2.h>

#include "check.h"

#define CHECK_CUBLAS(call)                                                                      \
    do {                                                                                        \
        cublasStatus_t status_ = (call);                                                        \
        if (status_ != CUBLAS_STATUS_SUCCESS) {                                                 \
            std::fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, status_); \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (0)

__global__ void fill(float *values, int count, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = value;
}

int main() {
    const int n = 64, count = n * n;
    const float alpha = 1, beta = 0;
    cudaStream_t filling, multiplying;
    cudaEvent_t filled;
    CHECK(cudaStreamCreateWithFlags(&filling, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&multiplying, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    float *a, *b, *c;
    CHECK(cudaMalloc(&a, count * sizeof(float)));
    CHECK(cudaMalloc(&b, count * sizeof(float)));
    CHECK(cudaMalloc(&c, count * sizeof(float)));
    cublasHandle_t handle;
    CHECK_CUBLAS(cublasCreate(&handle));
    CHECK_CUBLAS(cublasSetStream(handle, multiplying));

    fill<<<count / 256, 256, 0, multiplying>>>(a, count, 1);
    fill<<<count / 256, 256, 0, filling>>>(b, count, 2);
    CHECK(cudaEventRecord(filled, filling));
#ifdef WAIT
    CHECK(cudaStreamWaitEvent(multiplying, filled, 0));
#endif
    CHECK_CUBLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, a, n, b, n, &beta, c, n));

    std::vector<float> result(count);
    CHECK(cudaStreamSynchronize(multiplying));
    CHECK(cudaMemcpy(result.data(), c, count * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("first element: %g\n", result[0]);
    CHECK(cudaDeviceSynchronize());
    CHECK_CUBLAS(cublasDestroy(handle));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(filling));
    CHECK(cudaStreamDestroy(multiplying));
}
