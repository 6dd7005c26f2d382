/* An extension module in C that exports GPU arrays and takes those of any library.
 *
 *     Buffer(n)         n bytes of device memory with their own stream; any library can read it
 *     fill(array, byte) sets all bytes of any library's contiguous array; does not wait
 *
 * A Buffer exports the structure of cuarray.h, and the dictionary for consumers that know only the dictionary. `fill` reads the structure
 * if the array has one, else the dictionary. It works on its own stream, which waits for the array's stream. Afterwards the array's stream
 * waits for the work of `fill`.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "../driver.h"
#include "cuarray.h"

static CUcontext context;
static CUstream working; /* the stream of `fill` */

static int done(CUresult result, const char *call) {
    if (result != 0 && !PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "%s returned %d", call, result);
    return result == 0;
}
#define DONE(call) done(call, #call)

typedef struct {
    PyObject_HEAD
    CUdeviceptr memory;
    Py_ssize_t bytes;
    int64_t shape[1];
    CUstream stream;
} Buffer;

static PyObject *buffer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    Buffer *self;
    Py_ssize_t bytes;
    static char *names[] = {(char *)"bytes", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "n", names, &bytes)) return NULL;
    if (bytes <= 0) return PyErr_Format(PyExc_ValueError, "bytes is %zd; at least 1 is expected", bytes);
    self = (Buffer *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->bytes = self->shape[0] = bytes;
    if (!DONE(cuCtxPushCurrent_v2(context))) goto failed;
    if (DONE(cuStreamCreate(&self->stream, CU_STREAM_NON_BLOCKING)) && DONE(cuMemAlloc_v2(&self->memory, (size_t)bytes)))
        DONE(cuMemsetD8Async(self->memory, 0, (size_t)bytes, self->stream));
    DONE(cuCtxPopCurrent_v2(NULL));
    if (!PyErr_Occurred()) return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

static void buffer_dealloc(PyObject *object) {
    Buffer *self = (Buffer *)object;
    CUdeviceptr memory = self->memory;
    CUstream stream = self->stream;
    PyTypeObject *type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
    Py_BEGIN_ALLOW_THREADS
    if (stream != NULL && cuCtxPushCurrent_v2(context) == 0) {
        /* Every consumer has ordered its work on the memory before this point of the stream. */
        cuStreamSynchronize(stream);
        if (memory != 0) cuMemFree_v2(memory);
        cuStreamDestroy_v2(stream);
        cuCtxPopCurrent_v2(NULL);
    }
    Py_END_ALLOW_THREADS
}

/* The structure holds a reference to the Buffer. Its consumer may release it in any thread. */
static void buffer_release(cuarray *array) {
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF((PyObject *)array->owner);
        PyGILState_Release(state);
    }
    free(array);
}

static PyObject *buffer_c_interface(PyObject *object, void *unused) {
    Buffer *self = (Buffer *)object;
    cuarray *array = (cuarray *)calloc(1, sizeof *array);
    (void)unused;
    if (array == NULL) return PyErr_NoMemory();
    array->major = CUARRAY_MAJOR;
    array->minor = CUARRAY_MINOR;
    array->release = buffer_release;
    Py_INCREF(object);
    array->owner = object;
    array->flags = CUARRAY_HAS_STREAM;
    array->data = self->memory;
    array->stream = (uint64_t)(uintptr_t)self->stream;
    array->shape = self->shape;
    array->ndim = 1;
    array->device = 0;
    array->memory = CUARRAY_MEMORY_DEVICE;
    memcpy(array->typestr, "|u1", 4);
    return cuarray_to_capsule(array);
}

static PyObject *buffer_dictionary(PyObject *object, void *unused) {
    Buffer *self = (Buffer *)object;
    (void)unused;
    return Py_BuildValue("{s:(n),s:s,s:(K,O),s:i,s:O,s:K}", "shape", self->bytes, "typestr", "|u1", "data", self->memory,
                         Py_False, "version", 3, "strides", Py_None, "stream",
                         (unsigned long long)(uintptr_t)self->stream);
}

static PyGetSetDef buffer_attributes[] = {
    {CUARRAY_ATTRIBUTE, buffer_c_interface, NULL, "The array as a C structure.", NULL},
    {"__cuda_array_interface__", buffer_dictionary, NULL, "The array as a dictionary.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot buffer_slots[] = {
    {Py_tp_doc, (void *)"Buffer(bytes): device memory, set to 0."},
    {Py_tp_new, (void *)buffer_new},
    {Py_tp_dealloc, (void *)buffer_dealloc},
    {Py_tp_getset, (void *)buffer_attributes},
    {0, NULL},
};
static PyType_Spec buffer_spec = {"buffers.Buffer", sizeof(Buffer), 0, Py_TPFLAGS_DEFAULT, buffer_slots};

/* The array that `fill` works on, read from either form. */
typedef struct {
    CUdeviceptr data;
    size_t bytes;
    CUstream stream;
    CUevent event;
    int has_stream;
    cuarray *array;   /* to release, or NULL */
    PyObject *object; /* to release, or NULL */
} Target;

static int refuse(const char *why) {
    PyErr_Format(PyExc_BufferError, "cannot fill the array: %s", why);
    return 0;
}

/* Computes `target->bytes` from type and shape. Returns 0 with an exception set if the type is not numeric. */
static int sized(Target *target, const char *typestr, const int64_t *shape, int ndim) {
    size_t bytes = 1;
    int axis;
    if (strlen(typestr) < 3 || strchr("?biufc", typestr[1]) == NULL) return refuse("its elements are not numbers");
    bytes = (size_t)atoi(typestr + 2);
    for (axis = 0; axis < ndim; axis++) {
        if (shape[axis] != 0 && bytes > (size_t)PTRDIFF_MAX / (size_t)shape[axis]) return refuse("it is too big");
        bytes *= (size_t)shape[axis];
    }
    target->bytes = bytes;
    return 1;
}

static int from_structure(Target *target, cuarray *array) {
    target->array = array;
    if (array->flags & CUARRAY_READ_ONLY) return refuse("it is read-only");
    if (array->mask != NULL) return refuse("it has a mask");
    if (array->strides != NULL) return refuse("it is not contiguous");
    target->data = array->data;
    target->has_stream = (array->flags & CUARRAY_HAS_STREAM) != 0;
    target->stream = (CUstream)(uintptr_t)array->stream;
    target->event = (CUevent)(uintptr_t)array->event; /* 0 without CUARRAY_HAS_EVENT */
    return sized(target, array->typestr, array->shape, array->ndim);
}

/* Reads the dictionary of an object that has no structure. */
static int from_dictionary(Target *target, PyObject *object) {
    int64_t lengths[CUARRAY_MAX_NDIM];
    PyObject *dictionary = PyObject_GetAttrString(object, "__cuda_array_interface__");
    PyObject *shape, *typestr, *data, *strides, *mask, *stream;
    const char *text;
    Py_ssize_t axis, ndim;
    int ok = 0;
    if (dictionary == NULL) return 0;
    Py_INCREF(object);
    target->object = object;
    if (!PyDict_Check(dictionary)) {
        refuse("__cuda_array_interface__ is not a dictionary");
        goto out;
    }
    shape = PyDict_GetItemString(dictionary, "shape");
    typestr = PyDict_GetItemString(dictionary, "typestr");
    data = PyDict_GetItemString(dictionary, "data");
    strides = PyDict_GetItemString(dictionary, "strides");
    mask = PyDict_GetItemString(dictionary, "mask");
    stream = PyDict_GetItemString(dictionary, "stream");
    if (shape == NULL || !PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > CUARRAY_MAX_NDIM || typestr == NULL ||
        !PyUnicode_Check(typestr) || data == NULL || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
        refuse("its dictionary lacks a shape, a type or a pointer");
        goto out;
    }
    if (PyObject_IsTrue(PyTuple_GET_ITEM(data, 1))) refuse("it is read-only");
    if (strides != NULL && strides != Py_None) refuse("it is not contiguous");
    if (mask != NULL && mask != Py_None) refuse("it has a mask");
    if (PyErr_Occurred()) goto out;
    target->data = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data, 0));
    ndim = PyTuple_GET_SIZE(shape);
    for (axis = 0; axis < ndim; axis++) {
        lengths[axis] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, axis));
        if (lengths[axis] < 0 && !PyErr_Occurred()) refuse("a length is negative");
    }
    if (stream != NULL && stream != Py_None) {
        target->has_stream = 1;
        target->stream = (CUstream)PyLong_AsVoidPtr(stream);
        if (target->stream == NULL && !PyErr_Occurred()) refuse("its stream is 0, which is ambiguous");
    }
    text = PyUnicode_AsUTF8(typestr);
    ok = !PyErr_Occurred() && text != NULL && sized(target, text, lengths, (int)ndim);
out:
    Py_DECREF(dictionary);
    return ok;
}

/* Makes `then` wait for the work now in `first`; the host does not wait. */
static int edge(CUstream first, CUstream then) {
    CUevent event;
    int ok;
    if (!DONE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING))) return 0;
    ok = DONE(cuEventRecord(event, first)) && DONE(cuStreamWaitEvent(then, event, 0));
    return DONE(cuEventDestroy_v2(event)) && ok;
}

static PyObject *fill(PyObject *module, PyObject *arguments) {
    PyObject *object;
    unsigned char byte;
    Target target;
    cuarray *array;
    int ok;
    (void)module;
    memset(&target, 0, sizeof target);
    if (!PyArg_ParseTuple(arguments, "Ob", &object, &byte)) return NULL;
    array = cuarray_from_object(object);
    if (array != NULL)
        ok = from_structure(&target, array);
    else
        ok = !PyErr_Occurred() && from_dictionary(&target, object);
    if (ok && target.bytes > 0 && (ok = DONE(cuCtxPushCurrent_v2(context)))) {
        if (target.event != NULL)
            ok = DONE(cuStreamWaitEvent(working, target.event, 0));
        else if (target.has_stream)
            ok = edge(target.stream, working);
        ok = ok && DONE(cuMemsetD8Async(target.data, byte, target.bytes, working));
        /* The array's later work is ordered after the fill: by its stream, or, if it names none, by waiting here. */
        if (ok) ok = target.has_stream ? edge(working, target.stream) : DONE(cuStreamSynchronize(working));
        DONE(cuCtxPopCurrent_v2(NULL));
    }
    cuarray_release(target.array);
    Py_XDECREF(target.object);
    if (!ok || PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"fill", fill, METH_VARARGS, "fill(array, byte): sets all bytes of any library's array; does not wait."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "buffers", "GPU arrays of a library in C.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_buffers(void) {
    CUdevice device;
    PyObject *module, *type;
    if (!DONE(cuInit(0)) || !DONE(cuDeviceGet(&device, 0)) || !DONE(cuDevicePrimaryCtxRetain(&context, device)) ||
        !DONE(cuCtxPushCurrent_v2(context)))
        return NULL;
    DONE(cuStreamCreate(&working, CU_STREAM_NON_BLOCKING));
    DONE(cuCtxPopCurrent_v2(NULL));
    if (PyErr_Occurred()) return NULL;
    module = PyModule_Create(&definition);
    type = PyType_FromSpec(&buffer_spec);
    if (module == NULL || type == NULL || PyModule_AddObject(module, "Buffer", type) < 0) return NULL;
    return module;
}
