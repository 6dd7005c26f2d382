/* A cooperative launch: all blocks of the grid wait for each other between two steps. */
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void total(const int *values, int count, int *partial, int *result) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = 0;
    for (unsigned long long i = grid.thread_rank(); i < count; i += grid.size()) sum += values[i];
    for (int offset = 16; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
    if (tile.thread_rank() == 0) atomicAdd(&partial[blockIdx.x], sum);
    grid.sync();
    if (grid.thread_rank() == 0) {
        int all = 0;
        for (int block = 0; block < gridDim.x; block++) all += partial[block];
        *result = all;
    }
}

int main() {
    int count = 5000, blocks = 0, multiprocessors = 0, can = 0;
    CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, total, 64, 0));
    int limit = blocks * multiprocessors;

    int *values, *partial, *result, host[5000];
    for (int i = 0; i < count; i++) host[i] = i;
    CHECK(cudaMalloc(&values, sizeof host));
    CHECK(cudaMalloc(&partial, 8 * sizeof(int)));
    CHECK(cudaMalloc(&result, sizeof(int)));
    CHECK(cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(partial, 0, 8 * sizeof(int)));
    void *arguments[] = {&values, &count, &partial, &result};
    CHECK(cudaLaunchCooperativeKernel(total, dim3(8), dim3(64), arguments, 0, nullptr));
    int sum = -1;
    CHECK(cudaMemcpy(&sum, result, sizeof sum, cudaMemcpyDeviceToHost));
    std::printf("cooperative: %d, sum: %d\n", can, sum);
    std::printf("more blocks than fit: %s\n",
                cudaGetErrorName(cudaLaunchCooperativeKernel(total, dim3(limit + 1), dim3(64), arguments, 0, nullptr)));
    cudaGetLastError();
    CHECK(cudaFree(values));
    CHECK(cudaFree(partial));
    CHECK(cudaFree(result));
}
