"""The codes of calls after a kernel's fault. Such an error stays until the context ends; the question is which calls return it."""

from __future__ import annotations

import ctypes

from ...driver import CUDA_SUCCESS, Driver, kernels
from ...entry_points import called, words
from ...question import Facts, series
from .stage import Stage, retire

ASSERT = """.extern .func __assertfail(
    .param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 text[4] = {97, 98, 99, 0};
.visible .entry fault(.param .u64 address) {
    .reg .u64 %text; .reg .u32 %line; .reg .u64 %size;
    mov.u64 %text, text; cvta.global.u64 %text, %text; mov.u32 %line, 1; mov.u64 %size, 1;
    {
        .param .b64 message; st.param.b64 [message], %text;
        .param .b64 file; st.param.b64 [file], %text;
        .param .b32 line; st.param.b32 [line], %line;
        .param .b64 function; st.param.b64 [function], %text;
        .param .b64 size; st.param.b64 [size], %size;
        call.uni __assertfail, (message, file, line, function, size);
    }
    ret;
}"""


def body(instructions: str) -> str:
    return (
        ".visible .entry fault(.param .u64 address) { .reg .u64 %address; .reg .u64 %far; .reg .u32 %value;"
        f" ld.param.u64 %address, [address]; mov.u32 %value, 7; {instructions} ret; }}"
    )


FAULTS = {
    "store_to_null": body("mov.u64 %far, 16; st.global.u32 [%far], %value;"),
    "load_far_away": body(
        "mov.u64 %far, 0x1000000000000; ld.global.u32 %value, [%far]; st.global.u32 [%address], %value;"
    ),
    "atomic_on_null": body("mov.u64 %far, 16; atom.global.add.u32 %value, [%far], %value;"),
    "misaligned_store": body("add.u64 %far, %address, 1; st.global.u32 [%far], %value;"),
    "shared_out_of_range": body("mov.u64 %far, 0x200000; st.shared.u32 [%far], %value;"),
    "trap": body("trap;"),
    "breakpoint": body("brkpt;"),
    "assert": ASSERT,
    "jump_to_nowhere": body("mov.u64 %far, 16; to: .callprototype ()_ (); call %far, (), to;"),
}
"""A kernel for each fault, which gets the address of 4096 bytes."""

CALLS = words(
    "cuCtxSynchronize cuCtxSynchronize cuStreamQuery cuStreamSynchronize cuEventQuery cuEventSynchronize cuEventElapsedTime "
    "cuCtxGetDevice cuCtxGetCurrent cuCtxGetFlags cuCtxGetLimit cuCtxGetApiVersion cuCtxGetStreamPriorityRange cuDeviceGetAttribute "
    "cuDeviceGetCount cuDevicePrimaryCtxGetState cuDriverGetVersion cuMemGetInfo_v2 cuMemGetAddressRange_v2 cuPointerGetAttribute "
    "cuPointerGetAttributes cuMemHostGetDevicePointer_v2 cuMemHostGetFlags cuMemRangeGetAttribute cuFuncGetAttribute "
    "cuFuncSetAttribute cuModuleGetFunction cuModuleGetGlobal_v2 cuLibraryGetKernel cuKernelGetFunction cuStreamGetFlags "
    "cuStreamGetPriority cuStreamGetId cuStreamGetCtx cuStreamIsCapturing cuMemPoolGetAttribute cuArrayGetDescriptor_v2 "
    "cuTexObjectGetResourceDesc cuGraphGetNodes cuOccupancyMaxActiveBlocksPerMultiprocessor cuIpcGetMemHandle "
    "cuMemAlloc_v2 cuMemAllocHost_v2 cuMemHostAlloc cuMemHostRegister_v2 cuMemAllocManaged cuMemAllocAsync cuMemPoolCreate "
    "cuMemCreate cuMemAddressReserve cuArrayCreate_v2 cuMemcpy cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyDtoD_v2 "
    "cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemsetD8_v2 cuMemsetD8Async cuMemPrefetchAsync "
    "cuStreamCreate cuStreamWaitEvent cuStreamAddCallback cuLaunchHostFunc cuStreamWriteValue32 cuStreamBeginCapture_v2 "
    "cuEventCreate cuEventRecord cuLaunchKernel cuLaunchCooperativeKernel cuModuleLoadData cuLibraryLoadData cuLinkCreate_v2 "
    "cuGraphCreate cuGraphAddEmptyNode cuGraphAddKernelNode_v2 cuGraphInstantiateWithFlags cuGraphLaunch cuGraphUpload "
    "cuCtxSetLimit cuCtxSetCacheConfig cuDevicePrimaryCtxRetain "
    "cuMemFreeAsync cuStreamDestroy_v2 cuEventDestroy_v2 cuMemFree_v2 cuMemFreeHost cuMemHostUnregister cuModuleUnload "
    "cuLibraryUnload cuArrayDestroy cuTexObjectDestroy cuGraphExecDestroy cuGraphDestroy cuMemPoolDestroy cuMemRelease"
)
"""The calls in their order: queries, allocations and work, then the ends of objects."""


@series("codes.after_fault", lambda: FAULTS, seconds=15)
def after_fault(driver: Driver, facts: Facts, step: str) -> None:
    here = Stage(driver)
    memory = driver.allocate(4096)
    module = ctypes.c_void_p()
    facts["load"] = driver.code("cuModuleLoadData", ctypes.byref(module), kernels(FAULTS[step]))
    if facts["load"] != CUDA_SUCCESS:
        return
    function = driver.function(module.value or 0, "fault")
    # Each call has arguments that were valid before the fault.
    calls = [(symbol, here.arguments(called()[symbol], {})) for symbol in CALLS]
    other_context = driver.made("cuCtxCreate_v2", 0, 0)
    driver.made("cuCtxPopCurrent_v2")
    driver.do("cuCtxSynchronize")
    facts["launch"] = driver.launch(function, memory)
    for number, (symbol, arguments) in enumerate(calls):
        facts[f"again_{symbol}" if number == 1 else symbol] = driver.code(symbol, *arguments)
    primary = driver.made("cuCtxGetCurrent")
    facts["other_context.set"] = driver.code("cuCtxSetCurrent", other_context)
    facts["other_context.synchronize"] = driver.code("cuCtxSynchronize")
    facts["other_context.allocate"] = driver.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 64)
    facts["new_context"] = driver.code("cuCtxCreate_v2", ctypes.byref(ctypes.c_void_p()), 0, 0)
    facts["new_context.synchronize"] = driver.code("cuCtxSynchronize")
    driver.number("cuCtxSetCurrent", primary)
    facts["reset"] = driver.code("cuDevicePrimaryCtxReset_v2", 0)
    facts["reset.synchronize"] = driver.code("cuCtxSynchronize")
    retained = ctypes.c_void_p()
    facts["retain_again"] = driver.code("cuDevicePrimaryCtxRetain", ctypes.byref(retained), 0)
    facts["set_again"] = driver.code("cuCtxSetCurrent", retained)
    facts["synchronize_again"] = driver.code("cuCtxSynchronize")
    facts["allocate_again"] = driver.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 64)
    retire(driver)
