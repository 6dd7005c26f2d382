// Each file is compiled twice. In the clean build, CLEAN(...) is present and RACY(...) is absent; in the racy build, the reverse.
// The lines of a race end with `// races`. The tags above a kernel are described in tests/racy_kernels/kernels.py.
#ifdef RACY_BUILD
#define CLEAN(...)
#define RACY(...) __VA_ARGS__
#else
#define CLEAN(...) __VA_ARGS__
#define RACY(...)
#endif

// `in` and `data` have the values of `x`, `out` and `work` are zero; each has 1024 elements.
#define KERNEL(name) extern "C" __global__ void name(const int *in, int *out, int *work, int *data)

// The number of the thread in its block and in the grid.
#define T int(threadIdx.x)
#define I int(blockIdx.x * blockDim.x + threadIdx.x)
