"""Modules and libraries: loading, functions, variables, parameters."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...driver import CUDA_SUCCESS, Driver, kernels
from ..memory.asking import ask, no_context
from ..memory.structures import ADDRESS, INT, SIZE, UINT

EMPTY = kernels("")
SEVERAL = kernels(
    """
.visible .global .align 4 .b8 small[1];
.visible .global .align 8 .u64 word;
.visible .global .align 16 .b8 large[1000];
.visible .const .align 4 .u32 constant = 7;
.global .align 4 .u32 hidden;
.visible .global .align 4 .u32 initialized = 5;
.visible .func helper() { ret; }
.entry invisible() { ret; }
.visible .entry zulu() { ret; }
.visible .entry alpha(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[20], .param .u32 e) { ret; }
.visible .entry mike(.param .u32 a) { ret; }
"""
)
FUNCTIONS = ("zulu", "alpha", "mike", "invisible", "helper", "absent", "")
VARIABLES = ("small", "word", "large", "constant", "hidden", "initialized", "zulu", "absent", "")
IMAGES: dict[str, bytes | str] = {
    "empty_module": EMPTY,
    "several_kernels": SEVERAL,
    "empty_text": "",
    "text": "hello",
    "without_version": ".target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n",
    "without_target": ".version 7.0\n.address_size 64\n.visible .entry k() { ret; }\n",
    "without_address_size": ".version 7.0\n.target sm_75\n.visible .entry k() { ret; }\n",
    "address_size_32": ".version 7.0\n.target sm_75\n.address_size 32\n.visible .entry k() { ret; }\n",
    "version_99": ".version 99.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n",
    "version_9.0": ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n",
    "version_9.1": ".version 9.1\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n",
    "version_1.0": ".version 1.0\n.target sm_10\n.visible .entry k() { ret; }\n",
    "target_sm_30": ".version 7.0\n.target sm_30\n.address_size 64\n.visible .entry k() { ret; }\n",
    "target_sm_50": ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n",
    "target_sm_90": ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
    "target_sm_90a": ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n",
    "target_sm_100": ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry k() { ret; }\n",
    "target_sm_120": ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry k() { ret; }\n",
    "target_sm_999": ".version 8.7\n.target sm_999\n.address_size 64\n.visible .entry k() { ret; }\n",
    "target_newer_than_version": ".version 6.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
    "syntax_error": kernels(".visible .entry k() { this is wrong; }"),
    "unknown_instruction": kernels(".visible .entry k() { .reg .b32 %a; frobnicate.b32 %a, 1; ret; }"),
    "undeclared_register": kernels(".visible .entry k() { mov.b32 %a, 1; ret; }"),
    "undefined_function": kernels(".extern .func absent();\n.visible .entry k() { call absent; ret; }"),
    "undefined_variable": kernels(
        ".extern .global .u32 absent;\n.visible .entry k() { .reg .u32 %a; ld.global.u32 %a, [absent]; ret; }"
    ),
    "instruction_of_a_newer_target": kernels(
        ".visible .entry k() { .reg .b32 %a; redux.sync.add.s32 %a, 1, 0xffffffff; ret; }"
    ),
    "two_kernels_of_one_name": kernels(".visible .entry k() { ret; }\n.visible .entry k() { ret; }"),
    "too_much_shared_memory": kernels(".visible .entry k() { .shared .b8 s[65536]; ret; }"),
    "elf_magic": b"\x7fELF" + bytes(60),
    "fat_binary_magic": b"\x50\xed\x55\xba" + bytes(60),
    "llvm_magic": b"BC\xc0\xde" + bytes(60),
    "wrong_elf": b"\x7fELF\x02\x01\x01\x33\x07" + bytes(119),
}


def buffer(image: bytes | str) -> Any:
    data = image.encode() if isinstance(image, str) else image
    return ctypes.create_string_buffer(data + bytes(64))


def loaded(image: bytes | str) -> Callable[[Driver], dict[str, Any]]:
    """Load an image as a module and as a library."""

    def case(driver: Driver) -> dict[str, Any]:
        module, library, data = ctypes.c_void_p(), ctypes.c_void_p(), buffer(image)
        found = {"module": driver.code("cuModuleLoadData", ctypes.byref(module), data)}
        if found["module"] == CUDA_SUCCESS:
            driver.do("cuModuleUnload", module)
        options = (None, None, 0, None, None, 0)
        found["library"] = driver.code("cuLibraryLoadData", ctypes.byref(library), data, *options)
        if found["library"] == CUDA_SUCCESS:
            kernel = ctypes.c_void_p()
            found["library_kernel"] = driver.code("cuLibraryGetKernel", ctypes.byref(kernel), library, "k")
            if kernel.value:
                found["library_function"] = driver.code("cuKernelGetFunction", ctypes.byref(ctypes.c_void_p()), kernel)
            driver.do("cuLibraryUnload", library)
        return found

    return case


ask("modules.load", {name: loaded(image) for name, image in IMAGES.items()})


@contextmanager
def module(driver: Driver, ptx: str = SEVERAL) -> Iterator[int]:
    handle = driver.module(ptx)
    try:
        yield handle
    finally:
        driver.number("cuModuleUnload", handle)


@contextmanager
def library(driver: Driver, ptx: str = SEVERAL) -> Iterator[int]:
    handle = driver.made("cuLibraryLoadData", ptx, None, None, 0, None, None, 0)
    try:
        yield handle
    finally:
        driver.number("cuLibraryUnload", handle)


def name_of(driver: Driver, call: str, handle: int) -> str:
    text = ctypes.c_char_p()
    code = driver.code(call, ctypes.byref(text), handle)
    return (text.value or b"").decode() if code == CUDA_SUCCESS else code


def functions_of_module(driver: Driver) -> dict[str, Any]:
    with module(driver) as handle:
        count = driver.got("cuModuleGetFunctionCount", handle, kind=UINT)
        found: dict[str, Any] = {"count": count}
        for name in FUNCTIONS:
            found[f"get.{name or 'empty_name'}"] = driver.code(
                "cuModuleGetFunction", ctypes.byref(ctypes.c_void_p()), handle, name
            )
        first, second = (driver.function(handle, "mike") for _ in range(2))
        found["same_handle_twice"] = first == second
        functions = (ctypes.c_void_p * 8)()
        found["enumerate"] = driver.code("cuModuleEnumerateFunctions", functions, 8, handle)
        listed = [value for value in functions if value]
        found["names"] = [name_of(driver, "cuFuncGetName", value) for value in listed]
        found["enumerated_is_the_handle"] = first in listed
        some = (ctypes.c_void_p * 8)()
        found["enumerate_one"] = driver.code("cuModuleEnumerateFunctions", some, 1, handle)
        found["enumerated_one"] = [name_of(driver, "cuFuncGetName", value) for value in some if value]
        found["enumerate_none"] = driver.code("cuModuleEnumerateFunctions", some, 0, handle)
        found["enumerate_without_result"] = driver.code("cuModuleEnumerateFunctions", None, 1, handle)
        owner = ctypes.c_void_p()
        found["module_of_function"] = driver.code("cuFuncGetModule", ctypes.byref(owner), first)
        found["module_of_function_is_it"] = owner.value == handle
        found["state_at_first"] = driver.got("cuFuncIsLoaded", first, kind=UINT)
        found["load"] = driver.code("cuFuncLoad", first)
        found["state_after_load"] = driver.got("cuFuncIsLoaded", first, kind=UINT)
        return found


def kernels_of_library(driver: Driver) -> dict[str, Any]:
    with library(driver) as handle:
        found: dict[str, Any] = {"count": driver.got("cuLibraryGetKernelCount", handle, kind=UINT)}
        for name in FUNCTIONS:
            found[f"get.{name or 'empty_name'}"] = driver.code(
                "cuLibraryGetKernel", ctypes.byref(ctypes.c_void_p()), handle, name
            )
        some = (ctypes.c_void_p * 8)()
        found["enumerate"] = driver.code("cuLibraryEnumerateKernels", some, 8, handle)
        found["names"] = [name_of(driver, "cuKernelGetName", value) for value in some if value]
        kernel = driver.made("cuLibraryGetKernel", handle, "mike")
        owner, inner = ctypes.c_void_p(), ctypes.c_void_p()
        found["library_of_kernel"] = driver.code("cuKernelGetLibrary", ctypes.byref(owner), kernel)
        found["library_of_kernel_is_it"] = owner.value == handle
        found["module"] = driver.code("cuLibraryGetModule", ctypes.byref(inner), handle)
        function = driver.made("cuKernelGetFunction", kernel)
        found["function_is_that_of_the_module"] = function == driver.function(inner.value or 0, "mike")
        found["function_is_the_kernel"] = function == kernel
        found["launch_of_the_kernel"] = driver.launch(kernel, ctypes.c_uint32(1))
        found["unload_of_its_module"] = driver.code("cuModuleUnload", inner)
        found["unified_function"] = driver.code(
            "cuLibraryGetUnifiedFunction", ctypes.byref(ctypes.c_void_p()), handle, "mike"
        )
        found["wait"] = driver.code("cuCtxSynchronize")
        return found


def variables(driver: Driver, call: str, handle: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in VARIABLES:
        address, size = ADDRESS(), SIZE(77)
        code = driver.code(call, ctypes.byref(address), ctypes.byref(size), handle, name)
        shown = name or "empty_name"
        found[shown] = size.value if code == CUDA_SUCCESS else code
        if code == CUDA_SUCCESS and name == "constant":
            found["value_of_constant"] = int.from_bytes(driver.download(address.value, 4), "little")
        if code == CUDA_SUCCESS and name in {"word", "large"}:
            found[f"{name}_is_zero"] = not any(driver.download(address.value, size.value))
            found[f"{name}_aligned_by_256"] = address.value % 256 == 0
    found["without_address"] = driver.code(call, None, ctypes.byref(SIZE()), handle, "word")
    found["without_size"] = driver.code(call, ctypes.byref(ADDRESS()), None, handle, "word")
    found["without_results"] = driver.code(call, None, None, handle, "word")
    return found


def variables_of_module(driver: Driver) -> dict[str, Any]:
    with module(driver) as handle:
        return variables(driver, "cuModuleGetGlobal_v2", handle)


def variables_of_library(driver: Driver) -> dict[str, Any]:
    with library(driver) as handle:
        found = variables(driver, "cuLibraryGetGlobal", handle)
        module_handle = driver.made("cuLibraryGetModule", handle)
        first = driver.made("cuLibraryGetGlobal", None, handle, "word", kind=ADDRESS)
        second = driver.made("cuModuleGetGlobal_v2", None, module_handle, "word", kind=ADDRESS)
        return found | {"address_is_that_of_the_module": first == second}


def managed_variables(driver: Driver) -> dict[str, Any]:
    """By docs/reference/simulator.md, "Assumptions": the address of a managed variable is one for all three functions."""
    text = kernels(".visible .global .attribute(.managed) .align 4 .u32 shared_word = 9;\n.visible .global .u32 plain;")
    with library(driver, text) as handle:
        inner = driver.made("cuLibraryGetModule", handle)
        found: dict[str, Any] = {}
        places = {}
        for short, call, owner in (
            ("managed", "cuLibraryGetManaged", handle),
            ("global", "cuLibraryGetGlobal", handle),
            ("module", "cuModuleGetGlobal_v2", inner),
        ):
            address, size = ADDRESS(), SIZE()
            found[short] = driver.code(call, ctypes.byref(address), ctypes.byref(size), owner, "shared_word")
            found[f"{short}.size"] = size.value
            places[short] = address.value
            found[f"{short}.of_plain"] = driver.code(
                call, ctypes.byref(ADDRESS()), ctypes.byref(SIZE()), owner, "plain"
            )
        found["one_address"] = len(set(places.values())) == 1
        if places["managed"]:
            found["value"] = int.from_bytes(driver.download(places["managed"], 4), "little")
        return found


ask(
    "modules.functions",
    {
        "of_a_module": functions_of_module,
        "of_a_library": kernels_of_library,
        "loading_mode": lambda driver: driver.got("cuModuleGetLoadingMode", kind=UINT),
    },
)
ask(
    "modules.variables",
    {"of_a_module": variables_of_module, "of_a_library": variables_of_library, "managed": managed_variables},
)


def parameters(driver: Driver, count_call: str, call: str, handle: int) -> dict[str, Any]:
    found: dict[str, Any] = {"count": count(driver, count_call, handle)}
    for index in range(7):
        offset, size = SIZE(77), SIZE(77)
        code = driver.code(call, handle, index, ctypes.byref(offset), ctypes.byref(size))
        found[f"parameter_{index}"] = [code, offset.value, size.value]
    found["without_size"] = driver.code(call, handle, 0, ctypes.byref(SIZE()), None)
    found["without_offset"] = driver.code(call, handle, 0, None, ctypes.byref(SIZE()))
    return found


def count(driver: Driver, call: str, handle: int) -> Any:
    value = SIZE()
    code = driver.code(call, handle, ctypes.byref(value))
    return value.value if code == CUDA_SUCCESS else code


def parameters_of_kernels(driver: Driver) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with module(driver) as handle, library(driver) as shelf:
        for name in ("zulu", "alpha"):
            function = driver.function(handle, name)
            kernel = driver.made("cuLibraryGetKernel", shelf, name)
            for short, one, other, of in (
                ("function", "cuFuncGetParamCount", "cuFuncGetParamInfo", function),
                ("kernel", "cuKernelGetParamCount", "cuKernelGetParamInfo", kernel),
            ):
                found |= {f"{name}.{short}.{key}": value for key, value in parameters(driver, one, other, of).items()}
    return found


def without_context(driver: Driver) -> dict[str, Any]:
    """Peers expect that parameter information needs a current context."""
    with module(driver) as handle, library(driver) as shelf:
        function = driver.function(handle, "mike")
        kernel = driver.made("cuLibraryGetKernel", shelf, "mike")
        offset, size, value = ctypes.byref(SIZE()), ctypes.byref(SIZE()), ctypes.byref(INT())
        with no_context(driver):
            return {
                "cuFuncGetParamInfo": driver.code("cuFuncGetParamInfo", function, 0, offset, size),
                "cuKernelGetParamInfo": driver.code("cuKernelGetParamInfo", kernel, 0, offset, size),
                "cuFuncGetAttribute": driver.code("cuFuncGetAttribute", value, 0, function),
                "cuKernelGetAttribute": driver.code("cuKernelGetAttribute", value, 0, kernel, 0),
                "cuFuncGetName": name_of(driver, "cuFuncGetName", function),
                "cuKernelGetName": name_of(driver, "cuKernelGetName", kernel),
                "cuFuncGetModule": driver.code("cuFuncGetModule", ctypes.byref(ADDRESS()), function),
                "cuFuncIsLoaded": driver.code("cuFuncIsLoaded", value, function),
                "cuFuncSetCacheConfig": driver.code("cuFuncSetCacheConfig", function, 0),
                "cuModuleGetFunction": driver.code("cuModuleGetFunction", ctypes.byref(ADDRESS()), handle, "mike"),
                "cuModuleGetGlobal": driver.code("cuModuleGetGlobal_v2", ctypes.byref(ADDRESS()), size, handle, "word"),
                "cuModuleGetFunctionCount": driver.code("cuModuleGetFunctionCount", value, handle),
                "cuModuleGetLoadingMode": driver.code("cuModuleGetLoadingMode", value),
                "cuKernelGetFunction": driver.code("cuKernelGetFunction", ctypes.byref(ADDRESS()), kernel),
                "cuLibraryGetModule": driver.code("cuLibraryGetModule", ctypes.byref(ADDRESS()), shelf),
                "cuLibraryGetKernel": driver.code("cuLibraryGetKernel", ctypes.byref(ADDRESS()), shelf, "mike"),
                "cuLibraryGetGlobal": driver.code("cuLibraryGetGlobal", ctypes.byref(ADDRESS()), size, shelf, "word"),
                "cuLibraryGetKernelCount": driver.code("cuLibraryGetKernelCount", value, shelf),
                "cuLibraryLoadData": driver.code(
                    "cuLibraryLoadData", ctypes.byref(ADDRESS()), EMPTY, None, None, 0, None, None, 0
                ),
                "cuModuleUnload": driver.code("cuModuleUnload", handle),
            }


BAD_CALLS: dict[str, Callable[[Driver], str]] = {
    "function_of_null_module": lambda driver: driver.code("cuModuleGetFunction", ctypes.byref(ADDRESS()), None, "k"),
    "count_of_null_module": lambda driver: driver.code("cuModuleGetFunctionCount", ctypes.byref(UINT()), None),
    "unload_null": lambda driver: driver.code("cuModuleUnload", None),
    "unload_null_library": lambda driver: driver.code("cuLibraryUnload", None),
    "attribute_of_null": lambda driver: driver.code("cuFuncGetAttribute", ctypes.byref(INT()), 0, None),
    "parameter_of_null": lambda driver: driver.code("cuFuncGetParamInfo", None, 0, ctypes.byref(SIZE()), None),
    "launch_of_null": lambda driver: driver.launch(0),
    "load_null": lambda driver: driver.code("cuModuleLoadData", ctypes.byref(ADDRESS()), None),
    "load_without_result": lambda driver: driver.code("cuModuleLoadData", None, EMPTY),
    "load_no_file": lambda driver: driver.code("cuModuleLoad", ctypes.byref(ADDRESS()), "/nowhere/absent.ptx"),
    "load_no_library_file": lambda driver: driver.code(
        "cuLibraryLoadFromFile", ctypes.byref(ADDRESS()), "/nowhere/absent.ptx", None, None, 0, None, None, 0
    ),
}


def files(driver: Driver) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SEVERAL)
        handle = ctypes.c_void_p()
        found: dict[str, Any] = {"module": driver.code("cuModuleLoad", ctypes.byref(handle), path)}
        if handle.value:
            found["function"] = driver.code("cuModuleGetFunction", ctypes.byref(ADDRESS()), handle, "mike")
            driver.do("cuModuleUnload", handle)
        shelf = ctypes.c_void_p()
        for option in (None, 0, 1, 2):
            options = (UINT * 1)(option or 0)
            values = (ctypes.c_void_p * 1)(None)
            arguments = (None, None, 0, options, values, 0 if option is None else 1)
            code = driver.code("cuLibraryLoadFromFile", ctypes.byref(shelf), path, *arguments)
            found[f"library_with_option_{option}"] = code
            if code == CUDA_SUCCESS:
                driver.do("cuLibraryUnload", shelf)
        return found


def options_of_library(option: int, value: int, count_of: int = 1) -> Callable[[Driver], str]:
    """Options of ``cuLibraryLoadData``: 0 is a table of functions, 1 preserves the code."""

    def case(driver: Driver) -> str:
        handle, data = ctypes.c_void_p(), buffer(SEVERAL)
        options, values = (UINT * 2)(option, option), (ctypes.c_void_p * 2)(value, value)
        code = driver.code("cuLibraryLoadData", ctypes.byref(handle), data, None, None, 0, options, values, count_of)
        if code == CUDA_SUCCESS:
            driver.do("cuLibraryUnload", handle)
        return code

    return case


def twice(driver: Driver) -> dict[str, Any]:
    """One image, loaded twice, has variables of its own each time."""
    with module(driver) as first, module(driver) as second:
        one = driver.made("cuModuleGetGlobal_v2", None, first, "word", kind=ADDRESS)
        other = driver.made("cuModuleGetGlobal_v2", None, second, "word", kind=ADDRESS)
        return {"modules_differ": first != second, "variables_differ": one != other}


ask("modules.bad_calls", BAD_CALLS)
ask("modules.parameters", {"of_kernels": parameters_of_kernels})
ask("modules.without_a_context", {"calls": without_context})
ask(
    "modules.calls",
    {"with_files": files, "loaded_twice": twice},
)
ask(
    "modules.library_options",
    {
        "preserved_0": options_of_library(1, 0),
        "preserved_1": options_of_library(1, 1),
        "preserved_twice": options_of_library(1, 1, 2),
        "table_null": options_of_library(0, 0),
        "option_2": options_of_library(2, 0),
        "option_99": options_of_library(99, 0),
    },
)
