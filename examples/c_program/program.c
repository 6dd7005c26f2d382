/* A C program that takes an array from a library and passes it another, without Python.
 * It knows only the library's two functions; arrays are passed as the structure of cuarray.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../driver.h"
#include "arrays.h"

static void check(CUresult result, const char *call) {
    if (result != 0) {
        fprintf(stderr, "%s returned %d\n", call, result);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

/* An array of this program: the structure and the resources that it owns. */
typedef struct {
    cuarray array;
    int64_t shape[1];
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;
} owned;

static int released = 0;

static void release_owned(cuarray *array) {
    owned *own = (owned *)array->owner;
    /* Every consumer has ordered its work on the memory before this point of the stream. */
    CHECK(cuStreamSynchronize(own->stream));
    CHECK(cuMemFree_v2(own->memory));
    CHECK(cuEventDestroy_v2(own->event));
    CHECK(cuStreamDestroy_v2(own->stream));
    free(own);
    released++;
}

/* Returns an array of `count` times the number 2, with the fill still pending on its stream. */
static cuarray *twos(int64_t count) {
    const unsigned int two = 0x40000000u; /* the bits of 2.0f */
    owned *own = (owned *)calloc(1, sizeof *own);
    cuarray *array;
    if (own == NULL) exit(1);
    CHECK(cuStreamCreate(&own->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&own->event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemAlloc_v2(&own->memory, (size_t)count * 4));
    CHECK(cuMemsetD32Async(own->memory, two, (size_t)count, own->stream));
    CHECK(cuEventRecord(own->event, own->stream));
    own->shape[0] = count;
    array = &own->array;
    array->major = CUARRAY_MAJOR;
    array->minor = CUARRAY_MINOR;
    array->release = release_owned;
    array->owner = own;
    array->flags = CUARRAY_HAS_STREAM | CUARRAY_HAS_EVENT;
    array->data = own->memory;
    array->stream = (uint64_t)(uintptr_t)own->stream;
    array->event = (uint64_t)(uintptr_t)own->event;
    array->shape = own->shape;
    array->ndim = 1;
    array->device = 0;
    array->memory = CUARRAY_MEMORY_DEVICE;
    snprintf(array->typestr, sizeof array->typestr, "<f4");
    return array;
}

/* Prints the elements of another library's array, after waiting for its pending work. */
static void print(const cuarray *array) {
    float numbers[16];
    size_t i, count;
    const char *problem = cuarray_problem(array);
    if (problem == NULL && strcmp(array->typestr, "<f4") != 0) problem = "its type";
    if (problem == NULL && (array->ndim != 1 || array->shape[0] > 16 || array->strides != NULL)) problem = "its layout";
    if (problem == NULL && array->mask != NULL) problem = "its mask";
    if (problem != NULL) {
        fprintf(stderr, "not an array that this program prints: %s\n", problem);
        exit(1);
    }
    count = (size_t)array->shape[0];
    if (array->flags & CUARRAY_HAS_EVENT) {
        CHECK(cuEventSynchronize((CUevent)(uintptr_t)array->event));
    } else if (array->flags & CUARRAY_HAS_STREAM) {
        CHECK(cuStreamSynchronize((CUstream)(uintptr_t)array->stream));
    }
    CHECK(cuMemcpyDtoHAsync_v2(numbers, array->data, count * 4, NULL));
    CHECK(cuStreamSynchronize(NULL));
    printf("%s:", array->typestr);
    for (i = 0; i < count; i++) printf(" %g", numbers[i]);
    printf("\n");
}

int main(void) {
    CUdevice device;
    CUcontext context;
    cuarray *ramp, *strange;
    double sum = 0;
    int answer;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxPushCurrent_v2(context));

    ramp = arrays_ramp(8);
    if (ramp == NULL) return 1;
    print(ramp);
    cuarray_release(ramp);

    if (arrays_sum(twos(1000), &sum) != 0) return 1;
    printf("sum: %g, released: %d\n", sum, released);

    /* The library also releases an array that it refuses. */
    strange = twos(10);
    strange->major = 99;
    answer = arrays_sum(strange, &sum);
    printf("of version 99: %d, released: %d\n", answer, released);

    CHECK(cuCtxPopCurrent_v2(&context));
    CHECK(cuDevicePrimaryCtxRelease_v2(device));
    return 0;
}
