#include <cstdio>

#include <cuda_runtime_api.h>

#include "kernels.h"

int main() {
    const float values[4] = {1, 2, 3, 4};
    float result[4];
    int error = scaled_squares(values, result, 4, 0.5f);
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(static_cast<cudaError_t>(error)));
        return 1;
    }
    std::printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
}
