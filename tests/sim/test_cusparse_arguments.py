"""The stand-in for cuSPARSE checks its arguments, and survives random ones and wrong indices in device memory."""

from __future__ import annotations

import ctypes
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import Address
from sparse_probe import (
    COLUMN,
    EXECUTION_FAILED,
    FORMATS,
    INVALID_VALUE,
    NOT_INITIALIZED,
    NOT_SUPPORTED,
    ROW,
    SUCCESS,
    Arrays,
    Long,
    N,
    Sparse,
)

VALUES = np.array([[2.0, 0, 1, 0], [0, 3, 0, 1], [1, 0, 4, 0], [0, 1, 0, 5]])


def outputs(sparse: Sparse, name: str, descriptor: ctypes.c_void_p, kinds: str) -> list[int | None]:
    """The results of a function: 64-bit numbers (q), 32-bit numbers (i) and pointers (p)."""
    types: dict[str, Any] = {"q": ctypes.c_int64, "i": ctypes.c_int, "p": ctypes.c_void_p}
    made = [types[kind](-1) for kind in kinds]
    assert sparse.plain(name, descriptor, *map(ctypes.byref, made)) == SUCCESS, name
    return [each.value for each in made]


def test_descriptors_return_their_settings(sparse: Sparse) -> None:
    for form, short in (("csr", "Csr"), ("csc", "Csc")):
        a = sparse.matrix(Arrays(VALUES, form, base=1, integers=np.int64))
        places = [each.value for each in sparse.places]
        for name in (f"{short}Get", f"Const{short}Get"):
            assert outputs(sparse, name, a, "qqqpppiiii") == [4, 4, 8, *places, 3, 3, 1, 1]
    a = sparse.matrix(Arrays(VALUES, "coo"))
    places = [each.value for each in sparse.places]
    assert outputs(sparse, "CooGet", a, "qqqpppiii") == [4, 4, 8, *places, 2, 0, 1]
    assert outputs(sparse, "SpMatGetValues", a, "p") == [places[2]]
    assert sparse.plain("SpMatSetValues", a, sparse.places[0]) == SUCCESS
    assert outputs(sparse, "ConstSpMatGetValues", a, "p") == [places[0]]
    ell = sparse.matrix(Arrays(VALUES, "blocked_ell"))
    assert outputs(sparse, "BlockedEllGet", ell, "qqqqppiii")[:4] == [4, 4, 2, 4]
    for number, form in zip((1, 2, 3, 6, 5, 7), FORMATS, strict=True):
        assert outputs(sparse, "SpMatGetFormat", sparse.matrix(Arrays(VALUES, form)), "i") == [number]
    x, at = sparse.sparse_vector(9, np.array([1, 2], np.int32), np.ones(2), 1)
    assert outputs(sparse, "SpVecGet", x, "qqppiii")[:2] == [9, 2]
    assert outputs(sparse, "SpVecGetIndexBase", x, "i") == [1]
    assert outputs(sparse, "ConstSpVecGetValues", x, "p") == [at.value]
    y, at = sparse.vector(np.ones(3))
    assert outputs(sparse, "DnVecGet", y, "qpi") == [3, at.value, 1]
    assert sparse.plain("DnVecSetValues", y, None) == SUCCESS
    assert outputs(sparse, "DnVecGetValues", y, "p") == [None]
    for order in (COLUMN, ROW):
        b, at, memory = sparse.dense(np.ones((2, 4, 3)), order)
        leading = 6 if order == COLUMN else 5
        assert outputs(sparse, "DnMatGet", b, "qqqpii") == [4, 3, leading, at.value, 1, order]
        assert outputs(sparse, "DnMatGetStridedBatch", b, "iq") == [2, memory[0].size]
    assert sparse.plain("CscGet", a, *[None] * 10) == INVALID_VALUE
    assert sparse.plain("CooSetStridedBatch", ell, 2, Long(8)) == INVALID_VALUE


def test_wrong_settings_of_descriptors_are_refused(sparse: Sparse) -> None:
    made = ctypes.c_void_p()
    to, none = ctypes.byref(made), None
    good = Long(4), Long(4), Long(8), none, none, none, 2, 2, 0, 1
    assert sparse.plain("CreateCsr", to, *good) == SUCCESS
    assert sparse.plain("DestroySpMat", made) == SUCCESS
    assert sparse.plain("DestroySpMat", made) == INVALID_VALUE
    assert sparse.plain("DestroySpMat", none) == SUCCESS
    for index, wrong in ((0, Long(-1)), (1, Long(-1)), (2, Long(17)), (6, 4), (6, 1), (7, 0), (8, 2)):
        arguments = [*good[:index], wrong, *good[index + 1 :]]
        assert sparse.plain("CreateCsr", to, *arguments) == INVALID_VALUE, index
    assert sparse.plain("CreateCsr", to, *good[:9], 77) == NOT_SUPPORTED
    assert sparse.plain("CreateCsr", none, *good) == INVALID_VALUE
    block = Long(2), Long(2), Long(2)
    assert sparse.plain("CreateBsr", to, *block, Long(0), Long(2), none, none, none, 2, 2, 0, 1, ROW) == INVALID_VALUE
    assert (
        sparse.plain("CreateBlockedEll", to, Long(4), Long(4), Long(0), Long(2), none, none, 2, 0, 1) == INVALID_VALUE
    )
    assert sparse.plain("CreateDnMat", to, Long(4), Long(3), Long(3), none, 1, COLUMN) == INVALID_VALUE
    assert sparse.plain("CreateDnMat", to, Long(4), Long(3), Long(4), none, 1, 3) == INVALID_VALUE
    assert sparse.plain("CreateSpVec", to, Long(2), Long(3), none, none, 2, 0, 1) == INVALID_VALUE
    assert sparse.plain("CreateDnVec", to, Long(-1), none, 1) == INVALID_VALUE


def test_wrong_arguments_give_the_documented_status_and_write_nothing(sparse: Sparse) -> None:
    a = sparse.matrix(Arrays(VALUES, "csr"))
    (x, _), (y, at_y), one = sparse.vector(np.ones(4)), sparse.vector(np.ones(4)), sparse.scalar(1, np.float64)
    good = [N, one, a, x, one, y, 1, 0, sparse.memory(512)]
    for index in (0, 1, 2, 3, 4, 5, 8):
        wrong = 3 if index == 0 else None
        assert sparse.call("SpMV", *good[:index], wrong, *good[index + 1 :]) == INVALID_VALUE, index
    nowhere = sparse.made("DestroyDnVec", "CreateDnVec", Long(4), Address(0x10), 1)
    assert sparse.call("SpMV", *good[:3], nowhere, *good[4:]) == EXECUTION_FAILED
    assert sparse.call("SpMV", *good[:5], nowhere, *good[6:]) == EXECUTION_FAILED
    handle, sparse.handle = sparse.handle, ctypes.c_void_p(64)
    assert sparse.call("SpMV", *good) == NOT_INITIALIZED
    sparse.handle = handle
    np.testing.assert_array_equal(sparse.get(at_y, np.ones(4)), 1)


def test_matrices_without_entries_need_no_arrays(sparse: Sparse) -> None:
    empty = sparse.matrix(Arrays(np.zeros((4, 4)), "csr"))
    nothing = sparse.matrix(Arrays(np.zeros((0, 4)), "csr"))
    (x, _), (y, at_y), (z, _) = (sparse.vector(np.ones(count)) for count in (4, 4, 0))
    scalars = sparse.scalar(1, np.float64), sparse.scalar(3, np.float64)
    assert sparse.call("SpMV", N, scalars[0], empty, x, scalars[1], y, 1, 0, sparse.memory(512)) == SUCCESS
    np.testing.assert_array_equal(sparse.get(at_y, np.ones(4)), 3)
    assert sparse.call("SpMV", N, scalars[0], nothing, x, scalars[1], z, 1, 0, sparse.memory(512)) == SUCCESS


@pytest.mark.parametrize(("array", "element", "value"), [("indices", 3, 4), ("indices", 0, -1), ("offsets", 2, 99)])
def test_wrong_number_in_device_memory_is_reported(
    sparse: Sparse, array: str, element: int, value: int, capfd: pytest.CaptureFixture[str]
) -> None:
    arrays = Arrays(VALUES, "csr")
    getattr(arrays, array)[element] = value
    a = sparse.matrix(arrays)
    (x, _), (y, at_y), one = sparse.vector(np.ones(4)), sparse.vector(np.zeros(4)), sparse.scalar(1, np.float64)
    assert sparse.call("SpMV", N, one, a, x, one, y, 1, 0, sparse.memory(512)) == SUCCESS
    found = sparse.get(at_y, np.zeros(4))
    told = capfd.readouterr().err
    name = "matA.csrColInd" if array == "indices" else "matA.csrRowOffsets"
    # A process prints ten such lines at most.
    if told:
        assert f"cusparseSpMV: {name} has {value} at element {element}" in told
    if array == "indices":
        wrong = {3: 1, 0: 0}[element]
        kept = np.arange(4) != wrong
        np.testing.assert_array_equal(found[kept], VALUES.sum(axis=1)[kept])


def test_versions_properties_streams_and_modes(sparse: Sparse) -> None:
    library = sparse.library
    number, stream = ctypes.c_int(), ctypes.c_void_p()
    assert library.cusparseGetVersion(sparse.handle, ctypes.byref(number)) == SUCCESS
    version = number.value
    parts = []
    for part in range(3):
        assert library.cusparseGetProperty(part, ctypes.byref(number)) == SUCCESS
        parts.append(number.value)
    assert version == parts[0] * 1000 + parts[1] * 100 + parts[2]
    assert library.cusparseGetProperty(3, ctypes.byref(number)) == INVALID_VALUE
    assert library.cusparseGetStream(sparse.handle, ctypes.byref(stream)) == SUCCESS
    assert stream.value == sparse.stream.value
    for mode in (1, 0):
        sparse.set_pointer_mode(bool(mode))
        assert library.cusparseGetPointerMode(sparse.handle, ctypes.byref(number)) == SUCCESS
        assert number.value == mode
    assert library.cusparseSetPointerMode(sparse.handle, 2) == INVALID_VALUE
    assert library.cusparseGetErrorName(10) == b"CUSPARSE_STATUS_NOT_SUPPORTED"
    assert library.cusparseGetErrorString(3) == b"invalid value"
    assert library.cusparseCreate(None) == INVALID_VALUE
    assert library.cusparseDestroy(None) == NOT_INITIALIZED
    assert library.cusparseLoggerSetLevel(9) == INVALID_VALUE


def test_other_functions_are_refused_and_told_once(sparse: Sparse, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert sparse.library.cusparseScsrcolor(None) == NOT_SUPPORTED
    told = capfd.readouterr().err
    assert told.count("cuarray-sim: cusparseScsrcolor is not supported") == 1
    assert "CUARRAY_SIM_CUSPARSE=0" in told


# The arguments of functions, a letter each. Numbers:
# i is a small one, n a size, s a scalar, d device memory, and z a place for a size.
# Descriptors:
# A is a sparse matrix, B a dense matrix, x a vector, v a sparse vector, m a general matrix. S, M, G and L are objects of phases.
SIGNATURES = {
    "SpMV": "isAxsxiid",
    "SpMV_bufferSize": "isAxsxiiz",
    "SpMM": "iisABsBiid",
    "SDDMM": "iisBBsAiid",
    "SparseToDense": "ABid",
    "DenseToSparse_analysis": "BAid",
    "DenseToSparse_convert": "BAid",
    "Axpby": "svsx",
    "Gather": "xv",
    "Scatter": "vx",
    "Rot": "ssvx",
    "SpVV": "ivxsid",
    "SpSV_analysis": "isAxxiiSd",
    "SpSV_solve": "isAxxiiS",
    "SpSV_updateMatrix": "Sdi",
    "SpSM_analysis": "iisABBiiMd",
    "SpSM_solve": "iisABBiiM",
    "SpGEMM_workEstimation": "iisAAsAiiGzd",
    "SpGEMM_compute": "iisAAsAiiGzd",
    "SpGEMM_copy": "iisAAsAiiG",
    "SpGEMMreuse_nnz": "iiAAAiGzdzdzd",
    "SpGEMMreuse_compute": "iisAAsAiiG",
    "Dcsrgeam2": "nnsmnddd" + "smnddd" + "mdddd",
    "Xcsrgeam2Nnz": "nnmnddmnddmdsd",
    "Dnnz": "innmdnds",
    "Dcsr2csr_compress": "nnmdddndddd",
    "Xcoo2csr": "dnndi",
    "Xcsr2coo": "dnndi",
    "XcoosortByRow": "nnndddd",
    "Xcsrsort": "nnnmdddd",
    "Csr2cscEx2": "nnnddddddiiiid",
    "Dgtsv2": "nnddddnd",
    "Dgtsv2StridedBatch": "nddddnnd",
    "DgtsvInterleavedBatch": "inddddnd",
    "DgpsvInterleavedBatch": "inddddddnd",
    "Dcsrilu02_analysis": "nnmdddLid",
    "Dcsrilu02": "nnmdddLid",
    "Dcsric02": "nnmdddLid",
    "Dbsrmv": "iinnnsmdddndsd",
    "Dbsrsv2_analysis": "iinnmdddnLid",
    "Dbsrsv2_solve": "iinnsmdddnLddid",
}


@pytest.mark.parametrize("name", SIGNATURES)
@pytest.mark.cuarray_sim(allow=("out-of-bounds", "uninitialized-read"))
def test_random_arguments_never_crash(sparse: Sparse, name: str) -> None:
    rng, size = sparse.rng, ctypes.c_size_t()
    host = np.ones(64)
    descriptors: dict[str, list[Any]] = {letter: [None] for letter in "ABxvmSMGL"}
    for base in (0, 1):
        for form in FORMATS:
            arrays = Arrays(VALUES, form, base=base)
            for array in (arrays.offsets, arrays.indices):
                if array.size and rng.random() < 0.5:
                    array[:] = rng.choice([*range(6), -1, 2**31 - 1, -(2**31)], array.size)
            descriptors["A"].append(sparse.matrix(arrays))
        descriptors["v"].append(sparse.sparse_vector(4, np.array([1, 3], np.int32), np.ones(2), base)[0])
        descriptors["m"].append(sparse.made("DestroyMatDescr", "CreateMatDescr"))
        assert sparse.plain("SetMatIndexBase", descriptors["m"][-1], base) == SUCCESS
    for order in (ROW, COLUMN):
        descriptors["B"].append(sparse.dense(np.ones((4, 4)), order)[0])
    descriptors["x"] += [sparse.vector(np.ones(4))[0], sparse.vector(np.ones(3))[0]]
    for letter, kind in (("S", "SpSV"), ("M", "SpSM"), ("G", "SpGEMM")):
        descriptors[letter].append(sparse.made(f"{kind}_destroyDescr", f"{kind}_createDescr"))
    descriptors["L"].append(sparse.made("DestroyCsrilu02Info", "CreateCsrilu02Info"))
    numbers = sparse.put(rng.integers(0, 4, 4096).astype(np.int32))
    ones, places = sparse.put(np.ones(2048)), [sparse.put(np.zeros(2048)) for _ in range(6)]
    seen = set()
    for _ in range(150):
        # In most calls all arguments are right, so that the calls get far.
        is_wrong = rng.random(len(SIGNATURES[name])) < rng.choice([0, 0.2])
        arguments: list[Any] = []
        for letter, wrong in zip(SIGNATURES[name], is_wrong, strict=True):
            if letter in descriptors:
                known = descriptors[letter]
                arguments.append(known[0 if wrong else int(rng.integers(1, len(known)))])
            elif letter == "s":
                arguments.append(None if wrong else host.ctypes.data_as(ctypes.c_void_p))
            elif letter == "d":
                right = [numbers, ones, *places]
                arguments.append(Address(0) if wrong else right[int(rng.integers(len(right)))])
            elif letter == "z":
                arguments.append(None if wrong else ctypes.byref(size))
            elif letter == "n":
                arguments.append(int(rng.choice([-1, 2**31 - 1])) if wrong else int(rng.integers(0, 6)))
            else:
                arguments.append(int(rng.integers(-1, 9)) if wrong else int(rng.integers(0, 2)))
        seen.add(sparse.call(name, *arguments))
        driver_probe.call("cuStreamSynchronize", sparse.stream)
    assert seen <= {SUCCESS, 2, INVALID_VALUE, EXECUTION_FAILED, NOT_SUPPORTED}
    assert INVALID_VALUE in seen
