"""The stand-in for NVML answers as the documented interface says, from the state of the simulated driver."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

import hypothesis
import hypothesis.strategies as st
import pytest

import cuarray
from cuarray_sim.stand_ins import STAND_INS

SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 0, 1, 2, 3, 6, 7
VERSION_MISMATCH = 25


class Memory2(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint),
        ("total", ctypes.c_ulonglong),
        ("reserved", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class DriverBranch(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint), ("branch", ctypes.c_char * 80))


class Process(ctypes.Structure):
    _fields_ = (("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("instances", ctypes.c_uint * 2))


@pytest.fixture
def nvml(simulator: str) -> Iterator[ctypes.CDLL]:
    (stand_in,) = (each for each in STAND_INS if each.name == "NVML")
    path = stand_in.path / stand_in.files[0]
    if not path.is_file():
        pytest.skip("the package was built without NVML")
    library = ctypes.CDLL(str(path))
    library.nvmlErrorString.restype = ctypes.c_char_p
    assert library.nvmlInit_v2() == SUCCESS
    yield library
    assert library.nvmlShutdown() == SUCCESS


def first(nvml: ctypes.CDLL) -> ctypes.c_void_p:
    device = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == SUCCESS
    return device


def text(function: object, *arguments: object) -> str:
    buffer = ctypes.create_string_buffer(96)
    assert function(*arguments, buffer, 96) == SUCCESS  # type: ignore[operator]
    return buffer.value.decode()


def memory(nvml: ctypes.CDLL) -> Memory2:
    info = Memory2(version=ctypes.sizeof(Memory2) | 2 << 24)
    assert nvml.nvmlDeviceGetMemoryInfo_v2(first(nvml), ctypes.byref(info)) == SUCCESS
    return info


def test_functions_need_initialization(simulator: str, nvml: ctypes.CDLL) -> None:
    # Other libraries of the process may have initialized NVML too.
    initializations = 0
    while nvml.nvmlShutdown() == SUCCESS:
        initializations += 1
    assert initializations > 0
    try:
        count = ctypes.c_uint()
        assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == UNINITIALIZED
        assert nvml.nvmlShutdown() == UNINITIALIZED
    finally:
        for _ in range(initializations):
            nvml.nvmlInit_v2()


def test_device_is_found_by_each_of_its_names(nvml: ctypes.CDLL) -> None:
    device = first(nvml)
    uuid, serial = text(nvml.nvmlDeviceGetUUID, device), text(nvml.nvmlDeviceGetSerial, device)
    assert uuid.startswith("GPU-")
    pci = ctypes.create_string_buffer(128)
    assert nvml.nvmlDeviceGetPciInfo_v3(device, pci) == SUCCESS
    bus = pci.raw[:16].split(b"\0")[0].decode()
    long_bus = pci.raw[36:68].split(b"\0")[0].decode()
    assert long_bus == f"0000{bus}"
    for find, name in (
        (nvml.nvmlDeviceGetHandleByUUID, uuid),
        (nvml.nvmlDeviceGetHandleByUUID, uuid.removeprefix("GPU-")),
        (nvml.nvmlDeviceGetHandleBySerial, serial),
        (nvml.nvmlDeviceGetHandleByPciBusId_v2, bus),
        (nvml.nvmlDeviceGetHandleByPciBusId_v2, long_bus.lower()),
    ):
        found = ctypes.c_void_p()
        assert find(name.encode(), ctypes.byref(found)) == SUCCESS, name
        assert found.value == device.value
    found = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByUUID(b"GPU-0", ctypes.byref(found)) == NOT_FOUND
    assert nvml.nvmlDeviceGetHandleByPciBusId_v2(b"no name", ctypes.byref(found)) == INVALID_ARGUMENT


def test_used_memory_and_the_process_follow_the_allocations(nvml: ctypes.CDLL) -> None:
    before = memory(nvml)
    array = cuarray.device_array((1 << 20,), "uint8")
    after = memory(nvml)
    assert after.used - before.used >= 1 << 20
    assert after.total == after.free + after.used
    count, entry = ctypes.c_uint(0), Process()
    device = first(nvml)
    assert nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), None) == INSUFFICIENT_SIZE
    assert count.value == 1
    assert nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), ctypes.byref(entry)) == SUCCESS
    assert (entry.pid, entry.used) == (os.getpid(), after.used)
    del array


def test_structure_of_another_version_is_refused(nvml: ctypes.CDLL) -> None:
    assert nvml.nvmlDeviceGetMemoryInfo_v2(first(nvml), ctypes.byref(Memory2(version=1))) == VERSION_MISMATCH


def test_driver_branch_is_that_of_the_driver_version(nvml: ctypes.CDLL) -> None:
    info = DriverBranch(version=ctypes.sizeof(DriverBranch) | 1 << 24)
    assert nvml.nvmlSystemGetDriverBranch(ctypes.byref(info), 80) == SUCCESS
    major = text(nvml.nvmlSystemGetDriverVersion).split(".")[0]
    assert info.branch.decode() == f"r{major}_00"
    assert nvml.nvmlSystemGetDriverBranch(None, 80) == INVALID_ARGUMENT
    assert nvml.nvmlSystemGetDriverBranch(ctypes.byref(DriverBranch(version=1)), 80) == VERSION_MISMATCH


def test_short_buffer_is_refused(nvml: ctypes.CDLL) -> None:
    buffer, info = ctypes.create_string_buffer(4), DriverBranch(version=ctypes.sizeof(DriverBranch) | 1 << 24)
    assert nvml.nvmlDeviceGetName(first(nvml), buffer, 4) == INSUFFICIENT_SIZE
    assert nvml.nvmlSystemGetDriverBranch(ctypes.byref(info), 4) == INSUFFICIENT_SIZE


def test_sensors_are_not_supported(nvml: ctypes.CDLL) -> None:
    value, device = ctypes.c_uint(), first(nvml)
    for name in ("PowerUsage", "FanSpeed", "MigMode", "NvLinkState", "TotalEnergyConsumption"):
        function = getattr(nvml, f"nvmlDeviceGet{name}")
        assert function(device, ctypes.byref(value), ctypes.byref(value)) == NOT_SUPPORTED, name
    assert nvml.nvmlErrorString(NOT_SUPPORTED) == b"Not Supported"


class Fabric(ctypes.Structure):
    """``nvmlGpuFabricInfo_v3_t``, whose beginning is version 2."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("cluster", ctypes.c_ubyte * 16),
        ("status", ctypes.c_uint),
        ("clique", ctypes.c_uint),
        ("state", ctypes.c_ubyte),
        ("mask", ctypes.c_uint),
        ("summary", ctypes.c_ubyte),
    )


class Field(ctypes.Structure):
    _fields_ = (
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("kind", ctypes.c_uint),
        ("result", ctypes.c_uint),
        ("value", ctypes.c_ulonglong),
    )


@pytest.mark.parametrize(("number", "size"), [(2, 36), (3, 40)])
def test_device_has_no_fabric(nvml: ctypes.CDLL, number: int, size: int) -> None:
    """XLA prints an error at its start if the function fails."""
    info = Fabric(version=size | number << 24, clique=7, state=3, mask=7, summary=7)
    assert nvml.nvmlDeviceGetGpuFabricInfoV(first(nvml), ctypes.byref(info)) == SUCCESS
    assert (info.version, info.clique, info.state, info.mask) == (size | number << 24, 0, 0, 0)
    assert info.summary == (7 if number == 2 else 0), "a structure of version 2 ends before this member"


def test_fabric_of_an_unknown_version_is_refused(nvml: ctypes.CDLL) -> None:
    info = Fabric(version=44 | 4 << 24, state=3)
    assert nvml.nvmlDeviceGetGpuFabricInfoV(first(nvml), ctypes.byref(info)) == VERSION_MISMATCH
    assert info.state == 3
    assert nvml.nvmlDeviceGetGpuFabricInfoV(first(nvml), None) == INVALID_ARGUMENT


def test_each_field_has_its_result(nvml: ctypes.CDLL) -> None:
    link_count, temperature = 91, 82
    fields = (Field * 2)(Field(field=link_count, value=9), Field(field=temperature, value=9))
    assert nvml.nvmlDeviceGetFieldValues(first(nvml), 2, fields) == SUCCESS
    assert [(each.result, each.value) for each in fields] == [(SUCCESS, 0), (NOT_SUPPORTED, 0)]
    assert nvml.nvmlDeviceGetFieldValues(first(nvml), 0, fields) == INVALID_ARGUMENT


@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], deadline=None)
@hypothesis.given(handle=st.integers(0, 2**64 - 1), name=st.binary(max_size=80).filter(lambda name: 0 not in name))
def test_any_handle_and_any_name_is_answered(nvml: ctypes.CDLL, handle: int, name: bytes) -> None:
    room, found = ctypes.create_string_buffer(128), ctypes.c_void_p()
    hypothesis.assume(handle != first(nvml).value)
    for function in ("Name", "UUID", "Serial"):
        assert getattr(nvml, f"nvmlDeviceGet{function}")(ctypes.c_void_p(handle), room, 128) == INVALID_ARGUMENT
    assert nvml.nvmlDeviceGetPciInfo_v3(ctypes.c_void_p(handle), room) == INVALID_ARGUMENT
    for key in ("UUID", "Serial", "PciBusId_v2"):
        result = getattr(nvml, f"nvmlDeviceGetHandleBy{key}")(name, ctypes.byref(found))
        assert result in (INVALID_ARGUMENT, NOT_FOUND)
