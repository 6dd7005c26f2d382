/* The library's interface for C. */
#ifndef ARRAYS_H
#define ARRAYS_H
#include "cuarray.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The numbers 0, 1, 2, ... as 32-bit floats; NULL where that fails. The caller releases it. */
cuarray *arrays_ramp(int64_t count);
/* The sum of an array of 32-bit floats, which is taken over; 0, or -1 where that fails. */
int arrays_sum(cuarray *array, double *sum);
#ifdef __cplusplus
}
#endif
#endif
