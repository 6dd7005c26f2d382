// Algorithms of CUB and Thrust, and kernels whose blocks or threads wait for each other. Prints the seconds of each, run a second time.
// The argument is the number of elements.
#include <chrono>
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>

namespace cg = cooperative_groups;

__device__ unsigned arrivals;
__device__ int lock;

__global__ void reduce_grid(const int *in, int *partial, int *out, int n) {
  extern __shared__ int shared[];
  cg::grid_group grid = cg::this_grid();
  int sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
  for (int round = 0; round < 4; round++) {
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
      if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = shared[0];
    grid.sync();
    if (grid.thread_rank() == 0) {
      *out = 0;
      for (int block = 0; block < gridDim.x; block++) *out += partial[block];
    }
    grid.sync();
  }
}

__global__ void gradient(const float *x, float *y, float *dot, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
  for (int step = 0; step < 8; step++) {
    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) {
      y[i] = 2 * x[i] - (i ? x[i - 1] : 0);
      sum += y[i] * x[i];
    }
    for (int half = 16; half; half /= 2) sum += tile.shfl_down(sum, half);
    if (tile.thread_rank() == 0) atomicAdd(&dot[step], sum);
    grid.sync();
  }
}

__global__ void barriers(int *out, int times) {
  for (int i = 1; i <= times; i++) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(&arrivals, 1);
      while (*(volatile unsigned *)&arrivals < i * gridDim.x);
      __threadfence();
    }
    __syncthreads();
  }
}

__global__ void last_block(const int *in, int *partial, int *out, int n) {
  __shared__ bool last;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = __reduce_add_sync(~0u, i < n ? in[i] : 0);
  if (threadIdx.x % 32 == 0) atomicAdd(&partial[blockIdx.x], sum);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(&arrivals, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x) return;
  __threadfence();
  for (int block = 0; block < gridDim.x; block++) *out += partial[block];
}

__global__ void locks(int *out, int times) {
  for (int i = 0; i < times; i++) {
    if (threadIdx.x) continue;
    while (atomicCAS(&lock, 0, 1));
    __threadfence();
    (*out)++;
    __threadfence();
    atomicExch(&lock, 0);
  }
}

__global__ void bytes(unsigned char *out, int each) {
  unsigned char *own = out + (blockIdx.x * blockDim.x + threadIdx.x) * each;
  for (int i = 0; i < each; i++) own[i] = own[i] * 3 + i;
}

template <class F> void measure(const char *name, F run) {
  run();
  cudaDeviceSynchronize();
  auto start = std::chrono::steady_clock::now();
  run();
  cudaError_t error = cudaDeviceSynchronize();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (error) std::exit(1);
  std::printf("%s\t%.6f\n", name, seconds.count());
  std::fflush(stdout);
}

template <class F> void measure_cub(const char *name, F run) {
  void *storage = nullptr;
  size_t size = 0;
  run(storage, size);
  cudaMalloc(&storage, size);
  measure(name, [&] { run(storage, size); });
  cudaFree(storage);
}

int main(int count, char **arguments) {
  int n = std::atoi(arguments[1]);
  int *in, *out, *more, *found;
  for (int **memory : {&in, &out, &more, &found}) cudaMalloc(memory, n * sizeof(int));
  int *host = new int[n];
  unsigned state = 1;
  for (int i = 0; i < n; i++) host[i] = (state = state * 1664525 + 1013904223) >> 8;
  auto fill = [&] { cudaMemcpy(in, host, n * sizeof(int), cudaMemcpyHostToDevice); };
  fill();
  measure_cub("cub scan", [&](void *t, size_t &s) { cub::DeviceScan::ExclusiveSum(t, s, in, out, n); });
  measure_cub("cub reduce", [&](void *t, size_t &s) { cub::DeviceReduce::Sum(t, s, in, out, n); });
  measure_cub("cub radix sort", [&](void *t, size_t &s) { cub::DeviceRadixSort::SortKeys(t, s, in, out, n); });
  measure_cub("cub merge sort", [&](void *t, size_t &s) {
    cub::DeviceMergeSort::SortKeysCopy(t, s, in, out, n, [] __host__ __device__(int a, int b) { return a < b; });
  });
  measure_cub("cub select", [&](void *t, size_t &s) {
    cub::DeviceSelect::If(t, s, in, out, found, n, [] __host__ __device__(int a) { return a % 3 == 0; });
  });
  measure_cub("cub unique", [&](void *t, size_t &s) { cub::DeviceSelect::Unique(t, s, in, out, found, n); });
  measure_cub("cub histogram", [&](void *t, size_t &s) {
    cub::DeviceHistogram::HistogramEven(t, s, in, out, 257, 0, 1 << 24, n);
  });
  measure_cub("cub run lengths", [&](void *t, size_t &s) {
    cub::DeviceRunLengthEncode::Encode(t, s, in, out, more, found, n);
  });
  measure("thrust sort", [&] { fill(); thrust::sort(thrust::device_pointer_cast(in), thrust::device_pointer_cast(in) + n); });
  auto cooperative = [&](auto kernel, void **parameters, int shared) {
    cudaLaunchCooperativeKernel((void *)kernel, dim3(16), dim3(256), parameters, shared, nullptr);
  };
  void *reduced[] = {&in, &more, &out, &n};
  measure("grid reduction", [&] { cooperative(reduce_grid, reduced, 256 * sizeof(int)); });
  void *stepped[] = {&in, &out, &more, &n};
  cudaMemset(in, 0, n * sizeof(int));
  measure("conjugate gradient", [&] { cooperative(gradient, stepped, 0); });
  auto reset = [&] { unsigned zero = 0; cudaMemcpyToSymbol(arrivals, &zero, sizeof zero); };
  measure("grid barriers", [&] { reset(); barriers<<<64, 256>>>(out, 20); });
  measure("last block", [&] { reset(); last_block<<<(n + 255) / 256, 256>>>(in, more, out, n); });
  measure("contended lock", [&] { locks<<<64, 32>>>(out, 20); });
  measure("byte loops", [&] { bytes<<<(n + 16383) / 16384, 256>>>((unsigned char *)out, 64); });
  for (int *memory : {in, out, more, found}) cudaFree(memory);
}
