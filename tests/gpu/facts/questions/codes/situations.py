"""Single cases for codes that the manual documents and that no call of the simulator returns.

Each case is a request that a device or a driver may refuse with that code. The list is in
``crates/cuarray-sim/tests/driver/error_codes/documented.txt``: the codes with a reason.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator

from ...driver import CUDA_SUCCESS, Driver
from ...question import Facts, series
from . import structures
from .objects import FILE_DESCRIPTOR, MEM_ATTACH_GLOBAL, NON_BLOCKING, NOTHING, PHYSICAL, SIZE, Objects
from .stage import retire

HOST = 2  # CU_MEM_LOCATION_TYPE
PROT_READ = 1  # CU_MEM_ACCESS_FLAGS
WIN32, WIN32_KMT, FABRIC = 2, 4, 8  # CU_MEM_HANDLE_TYPE
ATTACH_HOST, ATTACH_SINGLE = 2, 4  # CU_MEM
IOMEMORY, READ_ONLY = 4, 8  # CU_MEMHOSTREGISTER
WAIT_NOR, WAIT_FLUSH = 3, 1 << 30  # CU_STREAM_WAIT_VALUE
NO_MEMORY_BARRIER = 1  # CU_STREAM_WRITE_VALUE
FLUSH_REMOTE_WRITES, BARRIER = 3, 6  # CU_STREAM_MEM_OP
READ_MOSTLY, PREFERRED_LOCATION, ACCESSED_BY = 1, 3, 5  # CU_MEM_ADVISE_SET
CPU = -1  # CU_DEVICE
SM_COUNT = 0  # CU_EXEC_AFFINITY_TYPE
RESOURCE_SM = 1  # CU_DEV_RESOURCE_TYPE
GREEN_DEFAULT_STREAM = 1  # CU_GREEN_CTX
COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE
LEGACY, PER_THREAD = 1, 2  # CU_STREAM
RESOURCE_BYTES = 256
"""Room for a ``CUdevResource``."""

LOCATION_OF_HOST = struct.pack("Ii", HOST, 0)

CHANGES_PROCESS = ("cuCtxCreate", "Coredump", "capturing", "Capture")
"""Parts of the names of steps that leave the process in another state."""

Case = Callable[[Objects], str]
CASES: dict[str, Case] = {}


def cases(function: str, code: str, **of_function: Case) -> None:
    CASES.update({f"{function}.{code}.{name}": case for name, case in of_function.items()})


def call(function: str, *arguments: int | str | bytes) -> Case:
    """A case of one call. Of its arguments, a text is a kind of object, and bytes are those of a structure."""

    def answer(of: Objects) -> str:
        made = [
            of[argument]
            if isinstance(argument, str)
            else of.bytes(argument)
            if isinstance(argument, bytes)
            else argument
            for argument in arguments
        ]
        return of.driver.code(function, *made)

    return answer


OUT = bytes(512)
"""A place for a result."""


@series("codes.documented", lambda: CASES)
def documented(driver: Driver, facts: Facts, step: str) -> None:
    facts[""] = CASES[step](Objects(driver))
    if any(part in step for part in CHANGES_PROCESS):
        retire(driver)


for attribute, name in enumerate(("enable_on_exception", "trigger_host", "lightweight", "enable_user_trigger"), 1):
    cases(
        "cuCoredumpSetAttribute",
        "NOT_SUPPORTED",
        **{f"{name}_off": call("cuCoredumpSetAttribute", attribute, bytes(8), struct.pack("Q", 1))},
    )
cases(
    "cuCoredumpSetAttribute",
    "NOT_SUPPORTED",
    pipe=call("cuCoredumpSetAttribute", 6, b"pipe\0", struct.pack("Q", 5)),
    generation_flags=call("cuCoredumpSetAttribute", 7, bytes(8), struct.pack("Q", 4)),
)
cases(
    "cuGetProcAddress",
    "NOT_SUPPORTED",
    later_version=call("cuGetProcAddress", b"cuInit\0", OUT, 99000, 0),
    both_streams=call("cuGetProcAddress", b"cuInit\0", OUT, 12000, 3),
)
cases(
    "cuGraphConditionalHandleCreate",
    "NOT_SUPPORTED",
    current_context=call("cuGraphConditionalHandleCreate", OUT, "CUgraph", 0, 0, 0),
    other_context=call("cuGraphConditionalHandleCreate", OUT, "CUgraph", "CUcontext", 0, 0),
)
cases(
    "cuLaunchHostFunc",
    "NOT_SUPPORTED",
    legacy_stream=call("cuLaunchHostFunc", 0, NOTHING, 0),
    capturing_stream=call("cuLaunchHostFunc", "capturing stream", NOTHING, 0),
)
cases(
    "cuStreamAddCallback",
    "NOT_SUPPORTED",
    legacy_stream=call("cuStreamAddCallback", 0, NOTHING, 0, 0),
    capturing_stream=call("cuStreamAddCallback", "capturing stream", NOTHING, 0, 0),
)
cases(
    "cuMemAdvise",
    "NOT_SUPPORTED",
    device_memory=call("cuMemAdvise", "CUdeviceptr", SIZE, READ_MOSTLY, 0),
    pageable_memory=call("cuMemAdvise", "page", SIZE, READ_MOSTLY, 0),
    preferred_cpu=call("cuMemAdvise", "managed memory", SIZE, PREFERRED_LOCATION, CPU),
    accessed_by_device=call("cuMemAdvise", "managed memory", SIZE, ACCESSED_BY, 0),
)
cases(
    "cuMemPrefetchAsync",
    "NOT_SUPPORTED",
    device_memory=call("cuMemPrefetchAsync", "CUdeviceptr", SIZE, 0, 0),
    pageable_memory=call("cuMemPrefetchAsync", "page", SIZE, 0, 0),
    to_cpu=call("cuMemPrefetchAsync", "managed memory", SIZE, CPU, 0),
)
cases(
    "cuMemAllocManaged",
    "NOT_SUPPORTED",
    attached_to_host=call("cuMemAllocManaged", OUT, SIZE, ATTACH_HOST),
    attached_to_all=call("cuMemAllocManaged", OUT, SIZE, MEM_ATTACH_GLOBAL),
)
cases(
    "cuStreamAttachMemAsync",
    "NOT_SUPPORTED",
    to_host=call("cuStreamAttachMemAsync", "CUstream", "managed memory", 0, ATTACH_HOST),
    to_stream=call("cuStreamAttachMemAsync", "CUstream", "managed memory", 0, ATTACH_SINGLE),
    pageable_memory=call("cuStreamAttachMemAsync", "CUstream", "page", SIZE, ATTACH_SINGLE),
    device_memory=call("cuStreamAttachMemAsync", "CUstream", "CUdeviceptr", 0, ATTACH_SINGLE),
)
cases(
    "cuMemExportToShareableHandle",
    "NOT_SUPPORTED",
    win32=call("cuMemExportToShareableHandle", OUT, "CUmemGenericAllocationHandle", WIN32, 0),
    win32_kmt=call("cuMemExportToShareableHandle", OUT, "CUmemGenericAllocationHandle", WIN32_KMT, 0),
    fabric=call("cuMemExportToShareableHandle", OUT, "CUmemGenericAllocationHandle", FABRIC, 0),
    not_requested=lambda of: of.driver.code(
        "cuMemExportToShareableHandle",
        of.bytes(OUT),
        of.memory("cuMemCreate", PHYSICAL, of.bytes(structures.memory_of_device()), 0),
        FILE_DESCRIPTOR,
        0,
    ),
)
cases(
    "cuMemHostRegister",
    "NOT_SUPPORTED",
    io_memory=call("cuMemHostRegister_v2", "page", SIZE, IOMEMORY),
    read_only=call("cuMemHostRegister_v2", "page", SIZE, READ_ONLY),
)
cases(
    "cuMemMap",
    "NOT_SUPPORTED",
    offset=call("cuMemMap", "reserved addresses", PHYSICAL // 2, PHYSICAL // 2, "CUmemGenericAllocationHandle", 0),
)
cases("cuMemUnmap", "NOT_SUPPORTED", half=call("cuMemUnmap", "mapping", PHYSICAL // 2))
cases("cuMemRelease", "NOT_SUPPORTED", mapped=call("cuMemRelease", "mapped handle"))
cases(
    "cuMemSetAccess",
    "NOT_SUPPORTED",
    read_only=call("cuMemSetAccess", "mapping", PHYSICAL, struct.pack("IiI", structures.DEVICE, 0, PROT_READ), 1),
    host=call("cuMemSetAccess", "mapping", PHYSICAL, struct.pack("IiI", HOST, 0, structures.READWRITE), 1),
)
cases("cuMemGetAccess", "NOT_SUPPORTED", host=call("cuMemGetAccess", OUT, LOCATION_OF_HOST, "mapping"))
cases(
    "cuMemAddressReserve",
    "NOT_SUPPORTED",
    flags=call("cuMemAddressReserve", OUT, PHYSICAL, 0, 0, 1),
    alignment=call("cuMemAddressReserve", OUT, PHYSICAL, PHYSICAL, 0, 0),
)
cases("cuMemAddressFree", "NOT_SUPPORTED", half=call("cuMemAddressFree", "reserved addresses", PHYSICAL // 2))
cases(
    "cuMemRetainAllocationHandle",
    "NOT_SUPPORTED",
    memory_of_cuMemAlloc=call("cuMemRetainAllocationHandle", OUT, "CUdeviceptr"),
    memory_of_a_pool=call("cuMemRetainAllocationHandle", OUT, "memory of a pool"),
)
cases("cuMemFreeAsync", "NOT_SUPPORTED", memory_of_cuMemAlloc=call("cuMemFreeAsync", "CUdeviceptr", 0))
cases(
    "cuMemPoolSetAccess",
    "NOT_SUPPORTED",
    host=call("cuMemPoolSetAccess", "CUmemoryPool", struct.pack("IiI", HOST, 0, structures.READWRITE), 1),
    read_only=call("cuMemPoolSetAccess", "CUmemoryPool", struct.pack("IiI", structures.DEVICE, 0, PROT_READ), 1),
    none=call("cuMemPoolSetAccess", "CUmemoryPool", struct.pack("IiI", structures.DEVICE, 0, 0), 1),
)
for bits in ("32", "64"):
    for version in ("", "_v2"):
        label = version.lstrip("_") or "v1"
        wait, write = f"cuStreamWaitValue{bits}", f"cuStreamWriteValue{bits}"
        cases(
            wait,
            "NOT_SUPPORTED",
            **{
                f"nor_{label}": call(f"{wait}{version}", "CUstream", "CUdeviceptr", 0, WAIT_NOR),
                f"flush_{label}": call(f"{wait}{version}", "CUstream", "CUdeviceptr", 0, WAIT_FLUSH),
            },
        )
        cases(
            write,
            "NOT_SUPPORTED",
            **{f"without_barrier_{label}": call(f"{write}{version}", "CUstream", "CUdeviceptr", 0, NO_MEMORY_BARRIER)},
        )
cases(
    "cuStreamBatchMemOp",
    "NOT_SUPPORTED",
    **{
        f"{name}_{version or 'v1'}": call(
            f"cuStreamBatchMemOp{version and '_'}{version}", "CUstream", 1, struct.pack("I44x", operation), 0
        )
        for version in ("", "v2")
        for name, operation in (("flush_of_remote_writes", FLUSH_REMOTE_WRITES), ("barrier", BARRIER))
    },
)


def stream_of_green_context(of: Objects) -> str:
    """``cuStreamGetCtx`` without a place for a green context; the name and the code of an earlier call that fails."""
    driver, resource = of.driver, of.bytes(bytes(RESOURCE_BYTES))
    description, green, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()

    def steps() -> Iterator[tuple[str, tuple[object, ...]]]:
        yield "cuDeviceGetDevResource", (0, resource, RESOURCE_SM)
        yield "cuDevResourceGenerateDesc", (ctypes.byref(description), resource, 1)
        yield "cuGreenCtxCreate", (ctypes.byref(green), description, 0, GREEN_DEFAULT_STREAM)
        yield "cuGreenCtxStreamCreate", (ctypes.byref(stream), green, NON_BLOCKING, 0)

    for function, arguments in steps():
        code = driver.code(function, *arguments)
        if code != CUDA_SUCCESS:
            return f"{function}: {code}"
    return driver.code("cuStreamGetCtx", stream, of.bytes(OUT))


cases("cuStreamGetCtx", "NOT_SUPPORTED", stream_of_green_context=stream_of_green_context)
cases(
    "cuCtxCreate",
    "NOT_SUPPORTED",
    affinity=call("cuCtxCreate_v3", OUT, struct.pack("2I", SM_COUNT, 1).ljust(64, b"\0"), 1, 0, 0),
    no_parameters=call("cuCtxCreate_v4", OUT, bytes(64), 0, 0),
)
cases(
    "cuMemGetAllocationPropertiesFromHandle",
    "NOT_SUPPORTED",
    address=call("cuMemGetAllocationPropertiesFromHandle", OUT, "mapping"),
)

# Handles, addresses and nodes that are valid and do not fit.
FOREIGN_EVENT, FOREIGN_STREAM = "event of another context", "stream of another context"
for function, arguments in {
    "cuEventQuery": (FOREIGN_EVENT,),
    "cuEventRecord": (FOREIGN_EVENT, "CUstream"),
    "cuEventSynchronize": (FOREIGN_EVENT,),
    "cuEventElapsedTime": (OUT, "CUevent", FOREIGN_EVENT),
    "cuEventDestroy": (FOREIGN_EVENT,),
}.items():
    code = "INVALID_VALUE" if function in ("cuEventQuery", "cuEventRecord") else "INVALID_CONTEXT"
    cases(function, code, of_another_context=call(function, *arguments))
cases("cuStreamDestroy", "INVALID_CONTEXT", of_another_context=call("cuStreamDestroy_v2", FOREIGN_STREAM))
cases(
    "cuStreamDestroy",
    "INVALID_VALUE",
    legacy_stream=call("cuStreamDestroy_v2", LEGACY),
    per_thread_stream=call("cuStreamDestroy_v2", PER_THREAD),
)
cases(
    "cuStreamBeginCapture",
    "INVALID_VALUE",
    legacy_stream=call("cuStreamBeginCapture_v2", LEGACY, 0),
    no_such_mode=call("cuStreamBeginCapture_v2", "CUstream", 3),
)
cases(
    "cuCtxGetStreamPriorityRange",
    "INVALID_VALUE",
    no_output=call("cuCtxGetStreamPriorityRange", 0, 0),
    one_output=call("cuCtxGetStreamPriorityRange", OUT, 0),
)
cases(
    "cuMemGetAddressRange",
    "INVALID_VALUE",
    no_output=call("cuMemGetAddressRange_v2", 0, 0, "CUdeviceptr"),
    one_output=call("cuMemGetAddressRange_v2", OUT, 0, "CUdeviceptr"),
    **{
        kind.replace(" ", "_"): call("cuMemGetAddressRange_v2", OUT, OUT, kind)
        for kind in ("page", "pinned memory", "managed memory", "memory of a pool", "mapping")
    },
)
cases(
    "cuIpcGetMemHandle",
    "INVALID_HANDLE",
    **{
        kind.replace(" ", "_"): call("cuIpcGetMemHandle", OUT, kind)
        for kind in ("page", "pinned memory", "managed memory", "memory of a pool", "mapping")
    },
)
cases("cuIpcCloseMemHandle", "INVALID_HANDLE", page=call("cuIpcCloseMemHandle", "page"))
cases(
    "cuGraphKernelNodeGetAttribute",
    "INVALID_HANDLE",
    empty_node=call("cuGraphKernelNodeGetAttribute", "CUgraphNode", COOPERATIVE, OUT),
)
cases(
    "cuGraphKernelNodeSetAttribute",
    "INVALID_HANDLE",
    empty_node=call("cuGraphKernelNodeSetAttribute", "CUgraphNode", COOPERATIVE, OUT),
)
cases(
    "cuGraphBatchMemOpNodeSetParams",
    "INVALID_HANDLE",
    empty_node=call("cuGraphBatchMemOpNodeSetParams", "CUgraphNode", "batch"),
)
cases("cuFuncLoad", "INVALID_VALUE", kernel=call("cuFuncLoad", "CUkernel"))
cases("cuModuleUnload", "INVALID_VALUE", module_of_a_library=call("cuModuleUnload", "module of a library"))
cases("cuLibraryUnload", "INVALID_VALUE", module=call("cuLibraryUnload", "CUmodule"))
