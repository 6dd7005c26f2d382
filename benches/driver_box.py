"""A driver copy of a box of bytes, called through ctypes: `cuMemcpy2D` or `cuMemcpy3D`.

It is the baseline for copies of strided arrays: one driver call copies the same bytes."""

import ctypes

import cuarray

_HOST, _DEVICE = 1, 2
_LEGACY_STREAM = ctypes.c_void_p(1)


def _side(prefix, with_slices):
    first = [("x", ctypes.c_size_t), ("y", ctypes.c_size_t)]
    if with_slices:
        first += [("z", ctypes.c_size_t), ("lod", ctypes.c_size_t)]
    first += [
        ("type", ctypes.c_uint),
        ("host", ctypes.c_void_p),
        ("device", ctypes.c_uint64),
        ("array", ctypes.c_void_p),
    ]
    if with_slices:
        first += [("reserved", ctypes.c_void_p)]
    first += [("pitch", ctypes.c_size_t)]
    if with_slices:
        first += [("height", ctypes.c_size_t)]
    return [(f"{prefix}_{name}", kind) for name, kind in first]


class _Copy2D(ctypes.Structure):
    _fields_ = [
        *_side("src", False),
        *_side("dst", False),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    ]


class _Copy3D(ctypes.Structure):
    _fields_ = [
        *_side("src", True),
        *_side("dst", True),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
    ]


class Driver:
    """The driver that cuarray uses; as a context manager it makes the primary context of device 0 current."""

    def __enter__(self):
        self._driver = ctypes.CDLL(cuarray.driver_path())
        context = ctypes.c_void_p()
        self._call(self._driver.cuDevicePrimaryCtxRetain, ctypes.byref(context), 0)
        self._call(self._driver.cuCtxPushCurrent_v2, context)
        return self

    def __exit__(self, *error):
        self._call(self._driver.cuCtxPopCurrent_v2, ctypes.byref(ctypes.c_void_p()))
        self._call(self._driver.cuDevicePrimaryCtxRelease_v2, 0)

    @staticmethod
    def _call(function, *arguments):
        if code := function(*arguments):
            raise RuntimeError(f"{function.__name__} returned {code}")

    def copy(self, dst, src, width, rows, slices=1):
        """Return a function that copies `slices` slices of `rows` rows of `width` bytes, and waits. `dst` and `src`
        are each a tuple: the kind of memory ("host" or "device"), the address, and the strides of rows and slices in bytes.
        """
        box = _Copy2D(width=width, height=rows) if slices == 1 else _Copy3D(width=width, height=rows, depth=slices)
        for name, (memory, address, pitch, slice_pitch) in {"dst": dst, "src": src}.items():
            setattr(box, f"{name}_type", _HOST if memory == "host" else _DEVICE)
            setattr(box, f"{name}_{memory}", address)
            setattr(box, f"{name}_pitch", pitch)
            if slices > 1:
                setattr(box, f"{name}_height", slice_pitch // pitch)
        copy = self._driver.cuMemcpy2D_v2 if slices == 1 else self._driver.cuMemcpy3D_v2
        synchronize, at = self._driver.cuStreamSynchronize, ctypes.byref(box)
        self._call(copy, at)

        def run():
            copy(at)

        def run_and_wait():
            copy(at)
            synchronize(_LEGACY_STREAM)

        # A driver copy within a device may return before it is done. cuarray's copy waits, so this one must wait too.
        run = run_and_wait if dst[0] == src[0] == "device" else run
        run.box = box
        return run
