/* Device code that another file calls. */
__constant__ float factor = 1;

__device__ float scaled(float value) { return value * factor; }
