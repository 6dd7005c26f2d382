#pragma once
/* Computes the squares of `count` values on the device, times a factor of another module. */
int scaled_squares(const float *values, float *result, int count, float factor);
