/* CHECK stops the program with a message when a call of the CUDA runtime fails. */
#ifndef CHECK_H
#define CHECK_H
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                      \
    do {                                                                                                 \
        cudaError_t error_ = (call);                                                                     \
        if (error_ != cudaSuccess) {                                                                     \
            std::fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call,                       \
                         cudaGetErrorName(error_), cudaGetErrorString(error_));                          \
            std::exit(1);                                                                                \
        }                                                                                                \
    } while (0)
#endif
