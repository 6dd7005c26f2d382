"""Texts of the compiler's and the linker's logs, which programs show and some parse; and names of errors."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver, kernels
from ..memory.asking import ask
from ..memory.structures import ADDRESS, SIZE, UINT
from .loading import IMAGES, buffer

CU_JIT_MAX_REGISTERS, CU_JIT_THREADS_PER_BLOCK, CU_JIT_WALL_TIME = 0, 1, 2
CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 3, 4
CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 5, 6
CU_JIT_LOG_VERBOSE = 12
CU_JIT_INPUT_CUBIN, CU_JIT_INPUT_PTX, CU_JIT_INPUT_FATBINARY = 0, 1, 2
LOG = 8192


def text_of(log: Any) -> list[str]:
    """The lines of a log, without times, which differ between runs."""
    text = log.value.decode(errors="replace")
    lines = [re.sub(r"\d+(\.\d+)? ms", "N ms", line.rstrip()) for line in text.splitlines()]
    return [line for line in lines if line][:12]


class Logs:
    """Options of a compilation with both logs, and further options."""

    def __init__(self, verbose: bool = False, size: int = LOG, **more: int) -> None:
        self.info, self.error = ctypes.create_string_buffer(LOG), ctypes.create_string_buffer(LOG)
        pairs: list[tuple[int, int]] = [
            (CU_JIT_INFO_LOG_BUFFER, ctypes.addressof(self.info)),
            (CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size),
            (CU_JIT_ERROR_LOG_BUFFER, ctypes.addressof(self.error)),
            (CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size),
        ]
        if verbose:
            pairs.append((CU_JIT_LOG_VERBOSE, 1))
        pairs += [(int(number.removeprefix("option_")), value) for number, value in more.items()]
        self.count = len(pairs)
        self.options = (UINT * self.count)(*(number for number, _ in pairs))
        self.values = (ctypes.c_void_p * self.count)(*(value for _, value in pairs))

    def found(self) -> dict[str, Any]:
        return {
            "error_log": text_of(self.error),
            "info_log": text_of(self.info),
            "info_size_after": self.values[1] or 0,
            "error_size_after": self.values[3] or 0,
        }


def compiled(image: bytes | str, verbose: bool = False, size: int = LOG) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        module, logs, data = ctypes.c_void_p(), Logs(verbose, size), buffer(image)
        code = driver.code("cuModuleLoadDataEx", ctypes.byref(module), data, logs.count, logs.options, logs.values)
        if code == CUDA_SUCCESS:
            driver.do("cuModuleUnload", module)
        return {"code": code} | logs.found()

    return case


ask("texts_of_logs.load", {name: compiled(image) for name, image in IMAGES.items()})
ask(
    "texts_of_logs.load_verbose",
    {name: compiled(IMAGES[name], verbose=True) for name in ("empty_module", "several_kernels", "syntax_error")},
)
ask(
    "texts_of_logs.size_of_the_buffer",
    {f"{size}": compiled(IMAGES["syntax_error"], size=size) for size in (0, 1, 2, 10, 40, 100)},
)

CALLER = kernels(".extern .func (.param .u32 r) absent_function (.param .u32 a);\n") + (
    """
.visible .entry caller(.param .u64 out) {
    .reg .u32 %v; .reg .u64 %o;
    { .param .u32 p; .param .u32 q; st.param.u32 [p], 5; call (q), absent_function, (p); ld.param.u32 %v, [q]; }
    ld.param.u64 %o, [out]; cvta.to.global.u64 %o, %o; st.global.u32 [%o], %v; ret;
}
"""
)
CALLEE = kernels(
    """
.visible .func (.param .u32 r) absent_function (.param .u32 a) {
    .reg .u32 %v; ld.param.u32 %v, [a]; add.u32 %v, %v, 1; st.param.u32 [r], %v; ret;
}
"""
)
USER_OF_A_VARIABLE = kernels(
    """
.extern .global .align 4 .u32 absent_variable;
.visible .entry user(.param .u64 out) {
    .reg .u32 %v; .reg .u64 %o;
    ld.global.u32 %v, [absent_variable];
    ld.param.u64 %o, [out]; cvta.to.global.u64 %o, %o; st.global.u32 [%o], %v; ret;
}
"""
)
VARIABLE = kernels(".visible .global .align 4 .u32 absent_variable = 42;\n")
OTHER_VARIABLE = kernels(".visible .global .align 8 .u64 absent_variable = 42;\n")


def linked(*inputs: bytes | str, kind: int = CU_JIT_INPUT_PTX, name: str | None = "input") -> Callable[[Driver], Any]:
    """Link PTX texts, and load the result. Each input is named ``input0``, ``input1`` and so on."""

    def case(driver: Driver) -> dict[str, Any]:
        state, logs = ctypes.c_void_p(), Logs()
        found: dict[str, Any] = {
            "create": driver.code("cuLinkCreate_v2", logs.count, logs.options, logs.values, ctypes.byref(state))
        }
        for index, image in enumerate(inputs):
            data = buffer(image)
            size = len(image) + 1
            shown = None if name is None else f"{name}{index}"
            found[f"add_{index}"] = driver.code("cuLinkAddData_v2", state, kind, data, size, shown, 0, None, None)
        image_out, image_size = ctypes.c_void_p(), SIZE()
        found["complete"] = driver.code("cuLinkComplete", state, ctypes.byref(image_out), ctypes.byref(image_size))
        found |= logs.found()
        if found["complete"] == CUDA_SUCCESS:
            module = ctypes.c_void_p()
            found["load"] = driver.code("cuModuleLoadData", ctypes.byref(module), image_out)
            if module.value:
                found["functions"] = driver.got("cuModuleGetFunctionCount", module, kind=UINT)
                driver.do("cuModuleUnload", module)
        found["destroy"] = driver.code("cuLinkDestroy", state)
        return found

    return case


ask(
    "texts_of_logs.link",
    {
        "right": linked(CALLER, CALLEE),
        "right_in_the_other_order": linked(CALLEE, CALLER),
        "one_input": linked(IMAGES["several_kernels"]),
        "no_input": linked(),
        "undefined_function": linked(CALLER),
        "undefined_variable": linked(USER_OF_A_VARIABLE),
        "undefined_both": linked(CALLER, USER_OF_A_VARIABLE),
        "defined_variable": linked(USER_OF_A_VARIABLE, VARIABLE),
        "variable_of_another_size": linked(USER_OF_A_VARIABLE, OTHER_VARIABLE),
        "duplicate_function": linked(CALLER, CALLEE, CALLEE),
        "duplicate_variable": linked(VARIABLE, VARIABLE),
        "duplicate_kernel": linked(IMAGES["several_kernels"], IMAGES["several_kernels"]),
        "syntax_error": linked(IMAGES["syntax_error"]),
        "target_sm_120": linked(IMAGES["target_sm_120"]),
        "version_99": linked(IMAGES["version_99"]),
        "without_a_name": linked(CALLER, name=None),
        "ptx_as_cubin": linked(IMAGES["several_kernels"], kind=CU_JIT_INPUT_CUBIN),
        "ptx_as_fat_binary": linked(IMAGES["several_kernels"], kind=CU_JIT_INPUT_FATBINARY),
        "unknown_kind": linked(IMAGES["several_kernels"], kind=77),
        "empty_text": linked(""),
    },
)


def option(number: int, value: int) -> Callable[[Driver], dict[str, Any]]:
    """One option beside the logs; by the header, some are not for PTX."""

    def case(driver: Driver) -> dict[str, Any]:
        module, logs = ctypes.c_void_p(), Logs(**{f"option_{number}": value})
        data = buffer(IMAGES["several_kernels"])
        code = driver.code("cuModuleLoadDataEx", ctypes.byref(module), data, logs.count, logs.options, logs.values)
        if code == CUDA_SUCCESS:
            driver.do("cuModuleUnload", module)
        return {"code": code, "error_log": text_of(logs.error)}

    return case


OPTIONS = {
    "max_registers": (0, (0, 16, 32, 255, 1000)),
    "threads_per_block": (1, (0, 1, 128, 2048)),
    "optimization_level": (7, (0, 1, 4, 5)),
    "target_from_context": (8, (0, 1)),
    "target": (9, (30, 75, 80, 90, 100, 120, 999)),
    "fallback_strategy": (10, (0, 1, 2)),
    "generate_debug_info": (11, (0, 1)),
    "log_verbose": (12, (0, 1)),
    "generate_line_info": (13, (0, 1)),
    "cache_mode": (14, (0, 1, 2, 3)),
    "new_sm3x": (15, (0,)),
    "fast_compile": (16, (0,)),
    "lto": (20, (0, 1)),
    "ftz": (21, (0, 1)),
    "prec_div": (22, (0, 1)),
    "fma": (24, (0, 1)),
    "position_independent": (30, (0, 1)),
    "min_blocks": (31, (0, 1, 2)),
    "max_threads": (32, (0, 128)),
    "override_directives": (33, (0, 1)),
    "split_compile": (34, (0, 1, 2)),
    "loader_threads": (35, (0, 1)),
    "unknown_36": (36, (0,)),
    "unknown_99": (99, (0,)),
}
ask(
    "texts_of_logs.option",
    {f"{name}_{value}": option(number, value) for name, (number, values) in OPTIONS.items() for value in values},
)
ask(
    "texts_of_logs.target_of_a_link",
    {
        f"{value}": lambda driver, value=value: target_of_link(driver, value)
        for value in (30, 50, 75, 80, 86, 89, 90, 100, 120, 999)
    },
)


def target_of_link(driver: Driver, value: int) -> dict[str, Any]:
    """A link for another device. By the manual, the state's target overrules the context's."""
    state, logs = ctypes.c_void_p(), Logs(option_9=value)
    found: dict[str, Any] = {
        "create": driver.code("cuLinkCreate_v2", logs.count, logs.options, logs.values, ctypes.byref(state))
    }
    if found["create"] == CUDA_SUCCESS:
        data = IMAGES["several_kernels"]
        arguments = (CU_JIT_INPUT_PTX, buffer(data), len(data) + 1, "input", 0, None, None)
        found["add"] = driver.code("cuLinkAddData_v2", state, *arguments)
        found["complete"] = driver.code("cuLinkComplete", state, ctypes.byref(ADDRESS()), ctypes.byref(SIZE()))
        driver.do("cuLinkDestroy", state)
    return found | {"error_log": text_of(logs.error)}


def error_texts(driver: Driver) -> dict[str, Any]:
    """The name and the text of each number below 1000 that the driver knows."""
    found = {}
    for number in range(1000):
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        if driver.number("cuGetErrorName", number, ctypes.byref(name)) == 0 and name.value:
            driver.number("cuGetErrorString", number, ctypes.byref(text))
            found[str(number)] = [name.value.decode(), (text.value or b"").decode()]
    unknown = ctypes.c_char_p(b"before")
    found["unknown_code"] = driver.number("cuGetErrorName", 998, ctypes.byref(unknown))
    found["unknown_is_null"] = unknown.value is None
    return found


ask("texts_of_logs.errors", {"by_number": error_texts})


def error_log(driver: Driver) -> dict[str, Any]:
    """The log of failed calls: whether an entry names the call and its code. Entries hold times, so no text is kept."""
    iterator, text, size = UINT(), ctypes.create_string_buffer(8192), SIZE(8192)
    found: dict[str, Any] = {"current": driver.code("cuLogsCurrent", ctypes.byref(iterator), 0)}
    driver.code("cuMemAlloc_v2", ctypes.byref(ADDRESS()), 0)
    found["dump"] = driver.code("cuLogsDumpToMemory", ctypes.byref(iterator), text, ctypes.byref(size), 0)
    lines = text.value.decode(errors="replace").splitlines()
    found |= {
        "lines": len(lines),
        "names_the_call": any("cuMemAlloc" in line for line in lines),
        "names_the_code": any("CUDA_ERROR_INVALID_VALUE" in line for line in lines),
        "size_is_that_of_the_text": size.value == len(text.value),
    }
    size.value = 8192
    found["dump_again"] = driver.code("cuLogsDumpToMemory", ctypes.byref(iterator), text, ctypes.byref(size), 0)
    found["size_again"] = size.value
    size.value = 8192
    found["dump_of_all"] = driver.code("cuLogsDumpToMemory", None, text, ctypes.byref(size), 0)
    found["all_is_not_empty"] = size.value > 0
    size.value = 4
    found["dump_to_4_bytes"] = driver.code("cuLogsDumpToMemory", None, text, ctypes.byref(size), 0)
    found["dump_with_flags"] = driver.code("cuLogsDumpToMemory", None, text, ctypes.byref(SIZE(8192)), 1)
    found["dump_to_null"] = driver.code("cuLogsDumpToMemory", None, None, ctypes.byref(SIZE(8192)), 0)
    found["current_with_flags"] = driver.code("cuLogsCurrent", ctypes.byref(iterator), 1)
    return found


ask("texts_of_logs.failed_calls", {"of_an_allocation": error_log})
