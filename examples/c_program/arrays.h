/* The C interface of the Rust library in library/. */
#ifndef ARRAYS_H
#define ARRAYS_H
#include "cuarray.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Returns the numbers 0, 1, 2, ... as 32-bit floats, or NULL on failure. The caller releases the array. */
cuarray *arrays_ramp(int64_t count);
/* Computes the sum of an array of 32-bit floats and releases the array. Returns 0, or -1 on failure. */
int arrays_sum(cuarray *array, double *sum);
#ifdef __cplusplus
}
#endif
#endif
