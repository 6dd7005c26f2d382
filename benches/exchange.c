/* The cost of an exchange from C, without the interpreter: loops over the calls that a library in C makes.
 *
 * Each function takes an object and a count, and makes that many calls. `Source` is a producer in C with prepared structures, so that
 * only the import is measured.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>
#include <time.h>

#include "cuarray.h"

/* The structures of DLPack 1.x. */
typedef struct {
    uint32_t major, minor;
} dl_version;
typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
    dl_version version;
    void *context;
    void (*deleter)(struct dl_managed *);
    uint64_t flags;
    dl_tensor tensor;
} dl_managed;
typedef struct {
    dl_version version;
    void *previous;
    int (*allocate)(dl_tensor *, dl_managed **, void *, void (*)(void *, const char *, const char *));
    int (*from_object)(void *, dl_managed **);
    int (*to_object)(dl_managed *, void **);
    int (*borrow)(void *, dl_tensor *);
    int (*work_stream)(int32_t, int32_t, void **);
} dl_table;

static PyObject *name_dictionary, *name_structure, *name_dlpack, *name_stream, *name_version, *version_1_0;
static int64_t shape[3], strides[3];
static dl_tensor tensor;

static void nothing(void) {}
static void (*volatile empty_call)(void) = nothing;
static void keep(dl_managed *managed) { (void)managed; }
static void keep_array(cuarray *array) { (void)array; }

/* Structures that are never freed, so that the allocator is not measured. All arrays share them: an array reads its structure only at import. */
static dl_managed managed;
static cuarray structure;

typedef struct {
    PyObject_HEAD
    PyObject *dictionary;
} Source;

static PyObject *source_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    unsigned long long pointer;
    PyObject *dictionary;
    Source *self;
    int axis;
    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "KO!(LLL)", &pointer, &PyDict_Type, &dictionary, &shape[0], &shape[1], &shape[2]))
        return NULL;
    strides[2] = 1;
    for (axis = 1; axis >= 0; axis--) strides[axis] = strides[axis + 1] * shape[axis + 1];
    tensor.data = (void *)(uintptr_t)pointer;
    tensor.device_type = 2;
    tensor.ndim = 3;
    tensor.code = 2;
    tensor.bits = 32;
    tensor.lanes = 1;
    tensor.shape = shape;
    tensor.strides = strides;
    memset(&structure, 0, sizeof structure);
    structure.major = CUARRAY_MAJOR;
    structure.release = keep_array;
    structure.data = pointer;
    structure.shape = shape;
    structure.ndim = 3;
    structure.memory = CUARRAY_MEMORY_DEVICE;
    memcpy(structure.typestr, "<f4", 4);
    self = (Source *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(dictionary);
    self->dictionary = dictionary;
    return (PyObject *)self;
}

static void source_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((Source *)self)->dictionary);
    type->tp_free(self);
    Py_DECREF(type);
}

static dl_managed *fresh(void) {
    managed.version.major = 1;
    managed.version.minor = 0;
    managed.deleter = keep;
    managed.tensor = tensor;
    return &managed;
}

static void delete_untaken(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) fresh()->deleter(&managed);
}

static PyObject *source_dlpack(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    (void)self, (void)arguments, (void)count, (void)names;
    return PyCapsule_New(fresh(), "dltensor_versioned", delete_untaken);
}

static PyObject *source_device(PyObject *self, PyObject *unused) {
    static PyObject *device;
    (void)self, (void)unused;
    if (device == NULL) device = Py_BuildValue("(ii)", 2, 0);
    Py_XINCREF(device);
    return device;
}

static PyObject *source_dictionary(PyObject *self, void *unused) {
    (void)unused;
    Py_INCREF(((Source *)self)->dictionary);
    return ((Source *)self)->dictionary;
}

static PyObject *source_structure(PyObject *self, void *unused) {
    (void)self, (void)unused;
    return cuarray_to_capsule(&structure);
}

static int table_from_object(void *object, dl_managed **out) {
    (void)object;
    *out = fresh();
    return 0;
}

static int table_stream(int32_t type, int32_t id, void **out) {
    (void)type, (void)id;
    *out = NULL;
    return 0;
}

static dl_table source_table = {{1, 3}, NULL, NULL, table_from_object, NULL, NULL, table_stream};

static PyMethodDef dlpack_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))source_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__dlpack_device__", source_device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef dictionary_attribute[] = {
    {"__cuda_array_interface__", source_dictionary, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyGetSetDef structure_attribute[] = {
    {CUARRAY_ATTRIBUTE, source_structure, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Adds a type of producers that offers one protocol. */
static int add_source(PyObject *module, const char *name, PyMethodDef *methods, PyGetSetDef *attributes, dl_table *table) {
    PyType_Slot slots[5];
    PyType_Spec spec = {name, sizeof(Source), 0, Py_TPFLAGS_DEFAULT, slots};
    PyObject *type, *capsule;
    int used = 0;
    slots[used].slot = Py_tp_new, slots[used++].pfunc = (void *)source_new;
    slots[used].slot = Py_tp_dealloc, slots[used++].pfunc = (void *)source_dealloc;
    if (methods != NULL) slots[used].slot = Py_tp_methods, slots[used++].pfunc = methods;
    if (attributes != NULL) slots[used].slot = Py_tp_getset, slots[used++].pfunc = attributes;
    slots[used].slot = 0, slots[used].pfunc = NULL;
    type = PyType_FromSpec(&spec);
    if (type == NULL) return -1;
    if (table != NULL) {
        capsule = PyCapsule_New(table, "dlpack_exchange_api", NULL);
        if (capsule == NULL || PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule) < 0) return -1;
        Py_DECREF(capsule);
    }
    return PyModule_AddObject(module, strchr(name, '.') + 1, type);
}

/* The floor: calls of an empty C function. */
static PyObject *call_empty(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "n", &count)) return NULL;
    for (i = 0; i < count; i++) empty_call();
    Py_RETURN_NONE;
}

/* A second floor: the cost of releasing the GIL around a call. */
static PyObject *release_gil(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "n", &count)) return NULL;
    for (i = 0; i < count; i++) {
        Py_BEGIN_ALLOW_THREADS
        empty_call();
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* Reading an attribute and releasing its value. */
static PyObject *read_attribute(PyObject *arguments, PyObject *name) {
    Py_ssize_t i, count;
    PyObject *object, *value;
    if (!PyArg_ParseTuple(arguments, "On", &object, &count)) return NULL;
    for (i = 0; i < count; i++) {
        value = PyObject_GetAttr(object, name);
        if (value == NULL) return NULL;
        Py_DECREF(value);
    }
    Py_RETURN_NONE;
}

static PyObject *read_dictionary(PyObject *module, PyObject *arguments) {
    (void)module;
    return read_attribute(arguments, name_dictionary);
}

static PyObject *read_structure(PyObject *module, PyObject *arguments) {
    (void)module;
    return read_attribute(arguments, name_structure);
}

/* __dlpack__(stream=None, max_version=(1, 0)), and releasing the capsule. */
static PyObject *call_dlpack(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, count;
    PyObject *object, *capsule, *given[3], *names;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "On", &object, &count)) return NULL;
    names = PyTuple_Pack(2, name_stream, name_version);
    if (names == NULL) return NULL;
    given[0] = object, given[1] = Py_None, given[2] = version_1_0;
    for (i = 0; i < count; i++) {
        capsule = PyObject_VectorcallMethod(name_dlpack, given, 1, names);
        if (capsule == NULL) break;
        Py_DECREF(capsule);
    }
    Py_DECREF(names);
    if (i < count) return NULL;
    Py_RETURN_NONE;
}

static dl_table *table_of(PyObject *object) {
    dl_table *table;
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    if (capsule == NULL) return NULL;
    table = (dl_table *)PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_DECREF(capsule);
    return table;
}

/* Exporting a tensor that owns the object's memory, and calling its deleter. */
static PyObject *table_export(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, count;
    PyObject *object;
    dl_table *table;
    dl_managed *given;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "On", &object, &count) || (table = table_of(object)) == NULL) return NULL;
    for (i = 0; i < count; i++) {
        if (table->from_object(object, &given) != 0) return NULL;
        given->deleter(given);
    }
    Py_RETURN_NONE;
}

/* Exporting a tensor that borrows the object's memory. */
static PyObject *table_borrow(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, count;
    PyObject *object;
    dl_table *table;
    dl_tensor given;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "On", &object, &count) || (table = table_of(object)) == NULL) return NULL;
    for (i = 0; i < count; i++)
        if (table->borrow(object, &given) != 0) return NULL;
    Py_RETURN_NONE;
}

/* Making an array of the object's type over another library's tensor, and releasing it. */
static PyObject *table_import(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, count;
    PyObject *object;
    void *made;
    dl_table *table;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "On", &object, &count) || (table = table_of(object)) == NULL) return NULL;
    for (i = 0; i < count; i++) {
        if (table->to_object(fresh(), &made) != 0) return NULL;
        Py_DECREF((PyObject *)made);
    }
    Py_RETURN_NONE;
}

/* Calling function(object) and releasing the result. */
static PyObject *call_import(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, count;
    PyObject *function, *object, *made;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOn", &function, &object, &count)) return NULL;
    for (i = 0; i < count; i++) {
        made = PyObject_CallOneArg(function, object);
        if (made == NULL) return NULL;
        Py_DECREF(made);
    }
    Py_RETURN_NONE;
}

/* As table_import, without the releases: returns the nanoseconds of the calls. The arrays are released between the measured parts. */
static PyObject *table_make(PyObject *module, PyObject *arguments) {
    Py_ssize_t i, j, count;
    PyObject *object;
    void *made[32];
    dl_table *table;
    struct timespec begin, end;
    double nanoseconds = 0;
    const Py_ssize_t few = sizeof made / sizeof *made;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "On", &object, &count) || (table = table_of(object)) == NULL) return NULL;
    for (i = 0; i < count; i += few) {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (j = 0; j < few; j++)
            if (table->to_object(fresh(), &made[j]) != 0) return NULL;
        clock_gettime(CLOCK_MONOTONIC, &end);
        nanoseconds += (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
        for (j = 0; j < few; j++) Py_DECREF((PyObject *)made[j]);
    }
    return PyFloat_FromDouble(nanoseconds * count / i);
}

static PyMethodDef functions[] = {
    {"call_empty", call_empty, METH_VARARGS, NULL},
    {"release_gil", release_gil, METH_VARARGS, NULL},
    {"read_dictionary", read_dictionary, METH_VARARGS, NULL},
    {"read_structure", read_structure, METH_VARARGS, NULL},
    {"call_dlpack", call_dlpack, METH_VARARGS, NULL},
    {"table_export", table_export, METH_VARARGS, NULL},
    {"table_borrow", table_borrow, METH_VARARGS, NULL},
    {"table_import", table_import, METH_VARARGS, NULL},
    {"table_make", table_make, METH_VARARGS, NULL},
    {"call_import", call_import, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "exchange_calls", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_exchange_calls(void) {
    PyObject *module = PyModule_Create(&definition);
    name_dictionary = PyUnicode_InternFromString("__cuda_array_interface__");
    name_structure = PyUnicode_InternFromString(CUARRAY_ATTRIBUTE);
    name_dlpack = PyUnicode_InternFromString("__dlpack__");
    name_stream = PyUnicode_InternFromString("stream");
    name_version = PyUnicode_InternFromString("max_version");
    version_1_0 = Py_BuildValue("(ii)", 1, 0);
    if (module == NULL || name_dictionary == NULL || name_structure == NULL || name_dlpack == NULL ||
        name_stream == NULL || name_version == NULL || version_1_0 == NULL ||
        add_source(module, "exchange_calls.OfDictionary", NULL, dictionary_attribute, NULL) < 0 ||
        add_source(module, "exchange_calls.OfStructure", NULL, structure_attribute, NULL) < 0 ||
        add_source(module, "exchange_calls.OfCapsules", dlpack_methods, NULL, NULL) < 0 ||
        add_source(module, "exchange_calls.OfTable", dlpack_methods, NULL, &source_table) < 0)
        return NULL;
    return module;
}
