/* cuarray.h: the C structure of the CUDA Array Interface, version 1. C99 and C++.
 *
 * A GPU array as one structure: the entries of the dictionary __cuda_array_interface__, an event for pending work, and the owner
 * of the memory. Python objects export it in a capsule, the attribute __cuda_array_c_interface__; C programs pass a pointer. There
 * is no library to link. docs/reference/c-interface.md lists the duties of both sides.
 */
#ifndef CUARRAY_H
#define CUARRAY_H

#include <stddef.h>
#include <stdint.h>

/* The version that a producer writes. A new minor version adds flags and codes. A new major version moves members, but not the
 * first four. */
#define CUARRAY_MAJOR 1u
#define CUARRAY_MINOR 0u

/* The attribute, and the names of its capsule before and after a consumer has taken the structure. */
#define CUARRAY_ATTRIBUTE "__cuda_array_c_interface__"
#define CUARRAY_CAPSULE "cuda_array_c_interface"
#define CUARRAY_CAPSULE_TAKEN "used_cuda_array_c_interface"

#define CUARRAY_MAX_NDIM 64

/* Flags. A consumer refuses an array with an unknown flag among the lower 32, and ignores unknown upper ones. */
#define CUARRAY_READ_ONLY ((uint64_t)1 << 0)  /* the elements may not be written */
#define CUARRAY_HAS_STREAM ((uint64_t)1 << 1) /* `stream` is a stream; without it there is no pending work, or `event` ends it */
#define CUARRAY_HAS_EVENT ((uint64_t)1 << 2)  /* `event` is an event after all pending work */
#define CUARRAY_KNOWN_FLAGS (CUARRAY_READ_ONLY | CUARRAY_HAS_STREAM | CUARRAY_HAS_EVENT)

/* Values of `memory`. */
#define CUARRAY_MEMORY_UNKNOWN 0 /* query the driver */
#define CUARRAY_MEMORY_DEVICE 1
#define CUARRAY_MEMORY_HOST 2 /* page-locked or registered */
#define CUARRAY_MEMORY_MANAGED 3

#ifdef __cplusplus
extern "C" {
#endif

/* A field of a structured element. Fields follow each other without gaps; padding is a field of void without a name. */
typedef struct cuarray_field {
    const char *name;                   /* UTF-8; "" for padding */
    const char *title;                  /* UTF-8; NULL for none */
    const struct cuarray_field *fields; /* `nfields` fields of a nested structure; else NULL */
    const int64_t *shape;               /* `ndim` lengths of a sub-array in C order; else NULL */
    int32_t nfields;
    int32_t ndim;
    char typestr[24];   /* as in `cuarray`; for a structure, "|V" and its size */
    char type_name[24]; /* as in `cuarray` */
} cuarray_field;

/* A GPU array. */
typedef struct cuarray {
    /* These four have the same place in every version. */
    uint32_t major; /* the version of the other members */
    uint32_t minor;
    void (*release)(struct cuarray *self); /* called once, in any thread; also frees the structure; may be NULL */
    void *owner;                           /* for the producer's use */

    uint64_t flags;
    uint64_t data;   /* a CUdeviceptr: the first element; 0 if there is none */
    uint64_t stream; /* with CUARRAY_HAS_STREAM: 1 legacy default, 2 per-thread default, or a cudaStream_t; else 0 */
    uint64_t event;  /* with CUARRAY_HAS_EVENT: a cudaEvent_t; else 0 */
    const int64_t *shape;         /* `ndim` lengths; may be NULL if `ndim` is 0 */
    const int64_t *strides;       /* `ndim` strides in bytes; NULL: C-contiguous */
    const cuarray_field *fields;  /* `nfields` fields of a structured element; else NULL */
    const struct cuarray *mask;   /* true for valid elements, broadcast to `shape`; NULL: all are valid. Released with this array */
    int32_t ndim;
    int32_t nfields;
    int32_t device; /* the ordinal; -1: query the driver */
    int32_t memory; /* a CUARRAY_MEMORY_... */
    char typestr[24];   /* as in NumPy's array interface, "<f4"; nul-terminated */
    char type_name[24]; /* the name of a void type, as in ml_dtypes: "bfloat16", "float8_e4m3fn"; else "" */
} cuarray;

/* The layout is the same for all compilers. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define CUARRAY_ASSERT(what, name) static_assert(what, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define CUARRAY_ASSERT(what, name) _Static_assert(what, #name)
#else
#define CUARRAY_ASSERT(what, name) typedef char cuarray_assert_##name[(what) ? 1 : -1]
#endif
#if UINTPTR_MAX == UINT64_MAX
CUARRAY_ASSERT(sizeof(cuarray) == 152, size_of_cuarray);
CUARRAY_ASSERT(offsetof(cuarray, release) == 8 && offsetof(cuarray, owner) == 16, head_of_cuarray);
CUARRAY_ASSERT(offsetof(cuarray, flags) == 24 && offsetof(cuarray, event) == 48, numbers_of_cuarray);
CUARRAY_ASSERT(offsetof(cuarray, shape) == 56 && offsetof(cuarray, mask) == 80, pointers_of_cuarray);
CUARRAY_ASSERT(offsetof(cuarray, ndim) == 88 && offsetof(cuarray, memory) == 100, counts_of_cuarray);
CUARRAY_ASSERT(offsetof(cuarray, typestr) == 104 && offsetof(cuarray, type_name) == 128, texts_of_cuarray);
CUARRAY_ASSERT(sizeof(cuarray_field) == 88 && offsetof(cuarray_field, typestr) == 40, size_of_cuarray_field);
#endif

/* Releases an array; does nothing for NULL. */
static inline void cuarray_release(cuarray *array) {
    if (array != NULL && array->release != NULL) array->release(array);
}

/* Returns the reason why an array of another library cannot be read, or NULL. The pointers must point to as many items as the
 * counts state. The device memory is not checked. */
static inline const char *cuarray_problem(const cuarray *array) {
    uint64_t flags;
    int32_t axis, i;
    if (array == NULL) return "the array is NULL";
    if (array->major != CUARRAY_MAJOR) return "the array is of another major version";
    flags = array->flags;
    if ((flags & 0xffffffffu & ~CUARRAY_KNOWN_FLAGS) != 0) return "the array has an unknown flag among the lower 32";
    if (array->ndim < 0 || array->ndim > CUARRAY_MAX_NDIM) return "ndim is not between 0 and 64";
    if (array->ndim > 0 && array->shape == NULL) return "shape is NULL";
    for (axis = 0; axis < array->ndim; axis++)
        if (array->shape[axis] < 0) return "a length is negative";
    if (((flags & CUARRAY_HAS_STREAM) != 0) != (array->stream != 0)) return "stream and CUARRAY_HAS_STREAM disagree";
    if (((flags & CUARRAY_HAS_EVENT) != 0) != (array->event != 0)) return "event and CUARRAY_HAS_EVENT disagree";
    if (array->nfields < 0 || (array->nfields > 0) != (array->fields != NULL)) return "fields and nfields disagree";
    if (array->device < -1) return "device is neither an ordinal nor -1";
    if (array->mask != NULL && array->mask->mask != NULL) return "the mask has a mask";
    if (array->mask != NULL && cuarray_problem(array->mask) != NULL) return "the mask cannot be read";
    for (i = 0; array->typestr[i] != 0; i++)
        if (i == 23) return "typestr has no nul";
    for (i = 0; array->type_name[i] != 0; i++)
        if (i == 23) return "type_name has no nul";
    return NULL;
}

#ifdef __cplusplus
}
#endif

/* Functions for capsules, if Python.h is included before. The caller holds the GIL. They set an exception on failure. */
#ifdef Py_PYTHON_H

#ifdef __cplusplus
extern "C" {
#endif

static inline void cuarray_capsule_destructor(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, CUARRAY_CAPSULE)) {
        cuarray_release((cuarray *)PyCapsule_GetPointer(capsule, CUARRAY_CAPSULE));
    }
}

/* Returns a new capsule with the array, for __cuda_array_c_interface__; releases the array on failure. */
static inline PyObject *cuarray_to_capsule(cuarray *array) {
    PyObject *capsule = PyCapsule_New(array, CUARRAY_CAPSULE, cuarray_capsule_destructor);
    if (capsule == NULL) cuarray_release(array);
    return capsule;
}

/* Returns the array of an object, which the caller releases. Returns NULL without an exception if the object lacks the attribute;
 * it may have a __cuda_array_interface__. Returns NULL with an exception if the array cannot be read. */
static inline cuarray *cuarray_from_object(PyObject *object) {
    const char *problem;
    cuarray *array;
    PyObject *capsule = PyObject_GetAttrString(object, CUARRAY_ATTRIBUTE);
    if (capsule == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
        return NULL;
    }
    array = (cuarray *)PyCapsule_GetPointer(capsule, CUARRAY_CAPSULE);
    /* From here on the capsule no longer releases the array, so this function must. */
    if (array != NULL && PyCapsule_SetName(capsule, CUARRAY_CAPSULE_TAKEN) != 0) array = NULL;
    Py_DECREF(capsule);
    if (array == NULL) return NULL;
    problem = cuarray_problem(array);
    if (problem != NULL) {
        cuarray_release(array);
        PyErr_Format(PyExc_BufferError, "%s: %s", CUARRAY_ATTRIBUTE, problem);
        return NULL;
    }
    return array;
}

#ifdef __cplusplus
}
#endif
#endif /* Py_PYTHON_H */
#endif /* CUARRAY_H */
