/* cuarray.h: the C side of the CUDA Array Interface, version 1. C99 and C++.
 *
 * A GPU array as one structure: what __cuda_array_interface__ says in a dictionary of Python, an event beside the stream, and
 * who keeps the memory. In Python it travels in a capsule, the attribute __cuda_array_c_interface__ of an object; without Python,
 * as a pointer. Nothing has to be linked: the structures are all there is. docs/reference/c-interface.md says what both sides owe.
 */
#ifndef CUARRAY_H
#define CUARRAY_H

#include <stddef.h>
#include <stdint.h>

/* The version that a producer writes. A new minor version adds flags and codes; a new major one moves members, but none of
 * the first four. */
#define CUARRAY_MAJOR 1u
#define CUARRAY_MINOR 0u

/* The attribute, and the name of its capsule before and after somebody has taken the structure out. */
#define CUARRAY_ATTRIBUTE "__cuda_array_c_interface__"
#define CUARRAY_CAPSULE "cuda_array_c_interface"
#define CUARRAY_CAPSULE_TAKEN "used_cuda_array_c_interface"

#define CUARRAY_MAX_NDIM 64

/* Flags. A consumer refuses an array with one among the lower 32 that it does not know; it may overlook the upper ones. */
#define CUARRAY_READ_ONLY ((uint64_t)1 << 0)  /* nobody may write the elements */
#define CUARRAY_HAS_STREAM ((uint64_t)1 << 1) /* `stream` is one; else nothing has to be waited for, or `event` alone */
#define CUARRAY_HAS_EVENT ((uint64_t)1 << 2)  /* `event` is one, behind all work that has to be waited for */
#define CUARRAY_KNOWN_FLAGS (CUARRAY_READ_ONLY | CUARRAY_HAS_STREAM | CUARRAY_HAS_EVENT)

/* What `memory` says. */
#define CUARRAY_MEMORY_UNKNOWN 0 /* ask the driver */
#define CUARRAY_MEMORY_DEVICE 1
#define CUARRAY_MEMORY_HOST 2 /* page-locked or registered */
#define CUARRAY_MEMORY_MANAGED 3

#ifdef __cplusplus
extern "C" {
#endif

/* A field of a structured element. Fields lie one behind the other; a gap is a field of void without a name. */
typedef struct cuarray_field {
    const char *name;                   /* UTF-8; "" for a gap */
    const char *title;                  /* UTF-8; NULL for none */
    const struct cuarray_field *fields; /* of a structure in it: `nfields` of them; else NULL */
    const int64_t *shape;               /* of a sub-array in C order: `ndim` lengths; else NULL */
    int32_t nfields;
    int32_t ndim;
    char typestr[24];   /* as in `cuarray`; of a structure, "|V" and its size */
    char type_name[24]; /* as in `cuarray` */
} cuarray_field;

/* A GPU array. */
typedef struct cuarray {
    /* These four lie here in every version. */
    uint32_t major; /* by which the rest is to be read */
    uint32_t minor;
    void (*release)(struct cuarray *self); /* to be called once, in any thread; frees the structure too; NULL: nothing to do */
    void *owner;                           /* the producer's */

    uint64_t flags;
    uint64_t data;   /* a CUdeviceptr: the first element; 0 if there is none */
    uint64_t stream; /* with CUARRAY_HAS_STREAM: 1 legacy default, 2 per-thread default, or a cudaStream_t; else 0 */
    uint64_t event;  /* with CUARRAY_HAS_EVENT: a cudaEvent_t; else 0 */
    const int64_t *shape;         /* `ndim` lengths; may be NULL where `ndim` is 0 */
    const int64_t *strides;       /* `ndim` steps in bytes; NULL: C order without gaps */
    const cuarray_field *fields;  /* of structured elements: `nfields` of them; else NULL */
    const struct cuarray *mask;   /* true where an element is valid, broadcast to `shape`; NULL: all are. It goes with this one */
    int32_t ndim;
    int32_t nfields;
    int32_t device; /* the ordinal; -1: ask the driver */
    int32_t memory; /* a CUARRAY_MEMORY_... */
    char typestr[24];   /* as NumPy's array interface has it, "<f4"; ends in a zero */
    char type_name[24]; /* what void is, if it has a name: "bfloat16", "float8_e4m3fn", as ml_dtypes has it; else "" */
} cuarray;

/* What is said here and what other compilers lay out is one thing. */
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

/* Lets go of an array; NULL is let pass. */
static inline void cuarray_release(cuarray *array) {
    if (array != NULL && array->release != NULL) array->release(array);
}

/* Why an array that somebody else made cannot be read, or NULL if it can. The pointers are trusted to point to as much as the
 * counts say; whether the memory exists is for the driver to say. */
static inline const char *cuarray_problem(const cuarray *array) {
    uint64_t flags;
    int32_t axis, i;
    if (array == NULL) return "the array is NULL";
    if (array->major != CUARRAY_MAJOR) return "the array is of another major version";
    flags = array->flags;
    if ((flags & 0xffffffffu & ~CUARRAY_KNOWN_FLAGS) != 0) return "the array has a flag that must not be overlooked";
    if (array->ndim < 0 || array->ndim > CUARRAY_MAX_NDIM) return "ndim is not between 0 and 64";
    if (array->ndim > 0 && array->shape == NULL) return "shape is NULL";
    for (axis = 0; axis < array->ndim; axis++)
        if (array->shape[axis] < 0) return "a length is negative";
    if (((flags & CUARRAY_HAS_STREAM) != 0) != (array->stream != 0)) return "stream and CUARRAY_HAS_STREAM disagree";
    if (((flags & CUARRAY_HAS_EVENT) != 0) != (array->event != 0)) return "event and CUARRAY_HAS_EVENT disagree";
    if (array->nfields < 0 || (array->nfields > 0) != (array->fields != NULL)) return "fields and nfields disagree";
    if (array->device < -1) return "device is no ordinal";
    if (array->mask != NULL && array->mask->mask != NULL) return "the mask has a mask";
    if (array->mask != NULL && cuarray_problem(array->mask) != NULL) return "the mask cannot be read";
    for (i = 0; array->typestr[i] != 0; i++)
        if (i == 23) return "typestr does not end";
    for (i = 0; array->type_name[i] != 0; i++)
        if (i == 23) return "type_name does not end";
    return NULL;
}

#ifdef __cplusplus
}
#endif

/* With Python.h included before: into and out of capsules. Called with the GIL held, and an exception is set where they fail. */
#ifdef Py_PYTHON_H

#ifdef __cplusplus
extern "C" {
#endif

static inline void cuarray_capsule_destructor(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, CUARRAY_CAPSULE)) {
        cuarray_release((cuarray *)PyCapsule_GetPointer(capsule, CUARRAY_CAPSULE));
    }
}

/* A new capsule with the array, which is released where it fails. What __cuda_array_c_interface__ answers. */
static inline PyObject *cuarray_to_capsule(cuarray *array) {
    PyObject *capsule = PyCapsule_New(array, CUARRAY_CAPSULE, cuarray_capsule_destructor);
    if (capsule == NULL) cuarray_release(array);
    return capsule;
}

/* The array of an object: the caller releases it. NULL without an exception where the object does not offer one, which then may
 * have a __cuda_array_interface__; NULL with an exception where what it offers cannot be taken. */
static inline cuarray *cuarray_from_object(PyObject *object) {
    const char *problem;
    cuarray *array;
    PyObject *capsule = PyObject_GetAttrString(object, CUARRAY_ATTRIBUTE);
    if (capsule == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
        return NULL;
    }
    array = (cuarray *)PyCapsule_GetPointer(capsule, CUARRAY_CAPSULE);
    /* From here on whoever has the capsule cannot release the array; we have to. */
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
