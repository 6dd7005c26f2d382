// The input of each algorithm, and the comparison of its result with that of the host's algorithm.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                                                  \
    do {                                                                                          \
        cudaError_t code = (call);                                                                \
        if (code != cudaSuccess) {                                                                \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(code));             \
            std::exit(2);                                                                         \
        }                                                                                         \
    } while (0)

// Numbers below `limit` in an order that repeats after 2^31 numbers.
inline std::vector<int> numbers(int count, int limit, unsigned seed = 1) {
    std::vector<int> all(count);
    for (int& one : all) {
        seed = seed * 1103515245u + 12345u;
        one = static_cast<int>((seed >> 8) % static_cast<unsigned>(limit));
    }
    return all;
}

inline int failures = 0;

template <class T>
void expect(const char* name, const std::vector<T>& found, const std::vector<T>& wanted) {
    bool equal = found == wanted;
    std::printf("%s: %s\n", name, equal ? "equal" : "DIFFERENT");
    failures += !equal;
}
