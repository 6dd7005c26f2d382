"""Carries out PyTorch's operations on the host, in stream order, where its wheel has machine code only. On request only.

The simulated driver refuses PyTorch's kernels, as they are machine code. Within :class:`OnHost`, an operation on tensors of a device
becomes work of the current stream. The work copies the elements that the operation reads to pinned memory, computes in a host function,
and copies back the elements that it writes. Nothing is synchronized, except where PyTorch waits too because the shape of the result
depends on values. So findings name the elements that the operation reads and writes, and the line that called it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from .export import call
from .pytorch_cells import CELLS, LAYERS, by_cudnn
from .stand_ins import loaded

__all__ = ["OnHost"]

# PyTorch carries these out without a kernel for most layouts and types.
_NATIVE = {
    *(
        "empty",
        "empty_like",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "zeros",
        "zeros_like",
        "new_zeros",
        "zero_",
    ),
    *("copy_", "_to_copy", "clone", "_local_scalar_dense", "detach", "alias", "lift_fresh", "is_pinned", "_pin_memory"),
    *("record_stream", "set_", "resize_"),
    # cuDNN's, which its stand-in computes.
    *("_cudnn_rnn", "_cudnn_rnn_backward", "_cudnn_rnn_flatten_weight", "_cudnn_init_dropout_state"),
    # One of its results is on the host.
    "_pack_padded_sequence",
}

# These write each element of their first argument and read none.
_REPLACING = {"fill_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "copy_", "_foreach_copy_"}

# The offset of a generator is a multiple of it.
_STEP = 4

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_counts = {"operations": 0}

# The kernels for the compiler and for `print`, which turn modes off, while a mode is active.
_kernels: list[torch.library.Library] = []


@atexit.register
def _summarize() -> None:
    if _counts["operations"]:
        print(
            f"cuarray-sim: {_counts['operations']} operations of PyTorch were carried out on the host", file=sys.stderr
        )


class OnHost(TorchDispatchMode):  # type: ignore[misc]
    """Carry out operations on device tensors on the host, while the context manager is active in this thread.

    Functions of ``torch.compile`` run their kernels on the simulated driver, and the operations that are left on the host.

    An exception in a host function is raised by the next operation, or at the end.

    >>> with cuarray_sim.pytorch.OnHost():  # doctest: +SKIP
    ...     torch.arange(4, device="cuda") + 1
    """

    def __init__(self) -> None:
        super().__init__()
        self._runtime = ctypes.CDLL("libcudart.so.13")
        # The work that is not settled, with its device.
        self._work: dict[int, tuple[Callable[[], None], torch.device]] = {}
        self._numbers = itertools.count(1)
        self._done: list[int] = []
        self._errors: list[BaseException] = []
        self._call = _HOST_FUNCTION(self._run)
        # The state of the host's generator, and the seed and offset of the device's generator that it stands for.
        self._random: tuple[tuple[int, int], torch.Tensor] | None = None
        self._registered = False
        self._flags = contextlib.ExitStack()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let ``torch.compile`` compile, instead of calling the function's operations one by one."""
        return True

    def __enter__(self) -> OnHost:
        """Begin to carry out operations on the host."""
        super().__enter__()
        # PyTorch's own kernel is tried first, where an operation may need none.
        call("cuarraySimExpectRefusals", 1)
        if not _kernels:
            _kernels.append(self._register_kernels())
            self._registered = True
            # PyTorch chooses operations that exist for CUDA only before this class sees them.
            self._flags.enter_context(sdpa_kernel(SDPBackend.MATH))
            self._flags.enter_context(torch.backends.cudnn.flags(enabled=False))
        return self

    def enter_thread(self) -> None:
        """Become active in another thread too, until that ends."""
        super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        """Wait for the work, as it uses objects of this one."""
        super().__exit__(*exception)
        call("cuarraySimExpectRefusals", -1)
        if self._registered:
            _kernels.clear()
            self._registered = False
            self._flags.close()
        self.finish()

    def finish(self) -> None:
        """Wait for the work that is not done, and free the buffers of all work."""
        for device in {device for number, (_, device) in list(self._work.items()) if number not in self._done}:
            torch.cuda.synchronize(device)
        self._settle()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one operation."""
        kwargs = kwargs or {}
        device = _device(args, kwargs)
        if device is None:
            return func(*args, **kwargs)
        if func.is_view or func._schema.name.removeprefix("aten::") in _NATIVE:
            try:
                return func(*args, **kwargs)
            except RuntimeError as error:
                if "no kernel image" not in str(error):
                    raise
        return self._carry_out(func, args, kwargs, device)

    def _register_kernels(self) -> torch.library.Library:
        """Put functions in place of PyTorch's kernels, where no mode is active. They are removed with the returned object."""
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"):
                namespace, _, operation = name.partition("::")
                operation, _, overload = operation.partition(".")
                if namespace != "aten" or operation in _NATIVE:
                    continue
                func = getattr(getattr(torch.ops.aten, operation), overload or "default")
                if not func.is_view and _is_on_host(func):
                    library.impl(func, functools.partial(self._kernel, func), "CUDA")
            library.impl("_to_copy", self._to_copy, "CUDA")
            library.impl("clone", self._clone, "CUDA")
            for func in LAYERS if loaded("libcudnn.so.9") else ():
                library.impl(func, functools.partial(by_cudnn, func), "AutogradCUDA")
        return library

    def _kernel(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        device = _device(args, kwargs)
        assert device is not None
        return self._carry_out(func, args, kwargs, device)

    def _carry_out(self, func: Any, args: Any, kwargs: Any, device: torch.device) -> Any:
        self._settle()
        _counts["operations"] += 1
        return _Operation(self, func, args, kwargs, device).enqueue()

    def _to_copy(self, tensor: torch.Tensor, **options: Any) -> torch.Tensor:
        """Copy a tensor of a device. Elements are converted on the host."""
        dtype = options.pop("dtype", None) or tensor.dtype
        device = torch.device(options.pop("device", None) or tensor.device)
        if dtype == tensor.dtype:
            like = torch.empty_like(
                tensor,
                device=device,
                layout=options.get("layout"),
                pin_memory=options.get("pin_memory") or False,
                memory_format=options.get("memory_format") or torch.preserve_format,
            )
            return like.copy_(tensor, non_blocking=options.get("non_blocking", False))
        if device.type != "cuda":
            return self._to_copy(tensor, device=device).to(dtype)
        converted = self._kernel(torch.ops.aten._to_copy.default, tensor, dtype=dtype, device=tensor.device, **options)
        return converted if device == tensor.device else self._to_copy(converted, device=device)

    def _clone(self, tensor: torch.Tensor, *, memory_format: Any = None) -> torch.Tensor:
        like = torch.empty_like(tensor, memory_format=memory_format or torch.preserve_format)
        if like.stride() == tensor.stride():
            return like.copy_(tensor)
        return self._kernel(torch.ops.aten.clone.default, tensor, memory_format=memory_format)

    def _enqueue(self, work: Callable[[], None], stream: torch.cuda.Stream) -> None:
        number = next(self._numbers)
        self._work[number] = work, stream.device
        # The default stream is that of the current device.
        with torch.cuda.device(stream.device):
            error = self._runtime.cudaLaunchHostFunc(
                ctypes.c_void_p(stream.cuda_stream), self._call, ctypes.c_void_p(number)
            )
        if error:
            del self._work[number]
            raise RuntimeError(f"cudaLaunchHostFunc returned {error}")

    def _run(self, number: int) -> None:
        try:
            self._work[number][0]()
        except BaseException as error:
            self._errors.append(error)
        self._done.append(number)

    def _settle(self) -> None:
        # A host function may not call the driver, so the buffers of work are freed here.
        # Other threads may take the last element too.
        with contextlib.suppress(IndexError):
            while True:
                del self._work[self._done.pop()]
        error = None
        with contextlib.suppress(IndexError):
            error = self._errors.pop()
        if error is not None:
            raise error

    def _compute(self, func: Any, seed: tuple[int, int] | None, args: Any, kwargs: Any) -> Any:
        """Compute, with random numbers of the device's seed and offset if there is one, and leave the host's generator as it is."""
        if seed is None:
            return func(*args, **kwargs)
        before = torch.get_rng_state()
        if self._random is not None and self._random[0] == seed:
            torch.set_rng_state(self._random[1])
        else:
            torch.random.default_generator.manual_seed(seed[0] + seed[1])
        try:
            return func(*args, **kwargs)
        finally:
            self._random = (seed[0], seed[1] + _STEP), torch.get_rng_state()
            torch.set_rng_state(before)


class _Operation:
    """One operation, with copies of its arguments on the host."""

    def __init__(self, mode: OnHost, func: Any, args: Any, kwargs: Any, device: torch.device) -> None:
        self.mode, self.func, self.args, self.kwargs, self.device = mode, func, args, kwargs, device
        self.compute = CELLS.get(func, func)
        self.stream = torch.cuda.current_stream(device)
        self.seed = self.next_seed() if torch.Tag.nondeterministic_seeded in func.tags else None
        self.staged: dict[int, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}
        self.made: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.skipped = self.unread()

    def next_seed(self) -> tuple[int, int]:
        """Take the device's generator out of the arguments, as the host draws. Return its seed and offset, and advance it."""
        generators = [leaf for leaf in tree_leaves((self.args, self.kwargs)) if _is_of_device(leaf)]
        self.args, self.kwargs = tree_map(lambda leaf: None if _is_of_device(leaf) else leaf, (self.args, self.kwargs))
        generator = generators[0] if generators else torch.cuda.default_generators[self.device.index]
        seed, offset = generator.initial_seed(), generator.get_offset()
        generator.set_offset(offset + _STEP)
        return seed, offset

    def enqueue(self) -> Any:
        if "sparse" in self.func._schema.name or any(
            not _is_strided(leaf) for leaf in _tensors((self.args, self.kwargs))
        ):
            # Tensors without memory do not tell how many elements a sparse result has.
            return self.compute_now()
        if not _is_on_host(self.func):
            raise NotImplementedError(
                f"cuarray_sim.pytorch.OnHost cannot carry out {self.func}: PyTorch has it for CUDA only"
            )
        try:
            shapes = self.compute(*tree_map(_on_meta, self.args), **tree_map(_on_meta, self.kwargs))
        except (NotImplementedError, RuntimeError):
            return self.compute_now()
        written = list(self.written())
        if self.kwargs.get("device") == torch.device("cpu") or any(not tensor.is_cuda for tensor in written):
            return self.compute_now()
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError(f"cuarray_sim.pytorch.OnHost cannot capture {self.func} in a CUDA graph")
        returns = self.func._schema.returns
        if returns and all(each.alias_info is not None for each in returns):
            for tensor, shape in zip(written, _tensors(shapes), strict=False):
                if tensor.shape != shape.shape:
                    # As PyTorch does with an `out=` of another shape.
                    tensor.resize_(shape.shape)
            result: Any = written[0] if len(returns) == 1 else tuple(written)
        else:
            result = tree_map(self.make, shapes)
        args, kwargs = tree_map(self.stage, (self.args, self.kwargs))
        others = self.streams_of_other_devices()
        for other in others:
            self.stream.wait_stream(other)

        # Without references to tensors on the device, which the caching allocator may reuse.
        buffers = [buffer for _, buffer in self.made]
        compute = functools.partial(self.mode._compute, self.compute, self.seed, args, kwargs)

        def work() -> None:
            for buffer, tensor in zip(buffers, _tensors(compute()), strict=False):
                # Batch normalization for inference saves nothing on the host.
                buffer.copy_(tensor) if tensor.numel() else buffer.zero_()

        self.mode._enqueue(work, self.stream)
        for other in others:
            other.wait_stream(self.stream)
        for tensor in written:
            _, flat, _ = self.staged[id(tensor)]
            _copy(tensor, flat, to_device=True)
        for tensor, buffer in self.made:
            _copy(tensor, _flat(buffer, _extent(tensor)), to_device=True)
        return result

    def compute_now(self) -> Any:
        """Wait for the stream and compute, as PyTorch does where the shape of a result depends on values."""
        args, kwargs = tree_map(self.stage, (self.args, self.kwargs))
        written = list(self.written())
        for stream in (self.stream, *self.streams_of_other_devices()):
            stream.synchronize()
        found = self.mode._compute(self.compute, self.seed, args, kwargs)
        for tensor in written:
            _, flat, host = self.staged[id(tensor)]
            if tensor.shape != host.shape:
                tensor.resize_(host.shape)
                flat = host.reshape(-1)
            if tensor.is_cuda and _is_strided(tensor):
                _copy(tensor, flat, to_device=True)
            else:
                tensor.copy_(host)
        returns = self.func._schema.returns
        if returns and all(each.alias_info is not None for each in returns):
            return written[0] if len(returns) == 1 else tuple(written)
        if self.kwargs.get("device") == torch.device("cpu"):
            return found
        return tree_map(lambda each: each.to(self.device) if isinstance(each, torch.Tensor) else each, found)

    def arguments(self) -> Iterator[tuple[Any, list[torch.Tensor]]]:
        """The arguments of the schema, with the tensors in their values."""
        arguments = self.func._schema.arguments
        values = {argument.name: value for argument, value in zip(arguments, self.args, strict=False)} | self.kwargs
        for argument in arguments:
            yield argument, _tensors(values.get(argument.name))

    def streams_of_other_devices(self) -> list[torch.cuda.Stream]:
        """The current streams of the devices of arguments, without the operation's own device: these copy the arguments."""
        devices = {tensor.device for _, tensors in self.arguments() for tensor in tensors if tensor.is_cuda}
        return [torch.cuda.current_stream(device) for device in devices - {self.device}]

    def written(self) -> Iterator[torch.Tensor]:
        """The arguments that the operation writes."""
        for argument, tensors in self.arguments():
            if argument.alias_info is not None and argument.alias_info.is_write:
                yield from tensors

    def unread(self) -> set[int]:
        """The arguments that the operation writes without reading them, as identities."""
        replaces = self.func._schema.name.removeprefix("aten::") in _REPLACING
        unread: set[int] = set()
        read: set[int] = set()
        for argument, tensors in self.arguments():
            writes = argument.alias_info is not None and argument.alias_info.is_write
            without_reading = writes and (replaces or argument.is_out)
            (unread if without_reading else read).update(id(tensor) for tensor in tensors)
        return unread - read

    def stage(self, value: Any) -> Any:
        """Return what the computation gets for an argument."""
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self.staged:
            if not _is_strided(value):
                flat = host = value.cpu()
            elif value.is_cuda:
                flat = torch.empty(_extent(value), dtype=value.dtype, pin_memory=True)
                if id(value) not in self.skipped:
                    _copy(value, flat, to_device=False)
                host = flat.as_strided(value.shape, value.stride())
            else:
                # The program may change it before the work runs.
                flat = host = value.clone()
            self.staged[id(value)] = value, flat, host
        return self.staged[id(value)][2]

    def make(self, shape: Any) -> Any:
        """Return a result on the device, for a tensor without memory."""
        if not isinstance(shape, torch.Tensor):
            return shape
        tensor = torch.empty_strided(shape.shape, shape.stride(), dtype=shape.dtype, device=self.device)
        flat = torch.empty(_extent(tensor), dtype=shape.dtype, pin_memory=True)
        self.made.append((tensor, flat.as_strided(tensor.shape, tensor.stride())))
        return tensor


def _is_of_device(value: Any) -> bool:
    return isinstance(value, torch.Generator) and value.device.type == "cuda"


def _is_on_host(func: Any) -> bool:
    """Return whether an operation on strided tensors has code for the host."""
    return func in CELLS or bool(torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), "CPU"))


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _is_strided(tensor: torch.Tensor) -> bool:
    return bool(tensor.layout == torch.strided)


def _device(args: Any, kwargs: Any) -> torch.device | None:
    """Return the device that an operation runs on, if it is a CUDA device."""
    leaves = tree_leaves((args, kwargs))
    # A copy to another device has its result there.
    for leaf in leaves:
        if isinstance(leaf, torch.device) and leaf.type == "cuda":
            return leaf if leaf.index is not None else torch.device("cuda", torch.cuda.current_device())
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and leaf.is_cuda:
            return leaf.device
    return None


def _on_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return torch.device("meta") if isinstance(value, torch.device) else value


def _extent(tensor: torch.Tensor) -> int:
    """Return the number of elements from a tensor's first to its last in memory."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((int(size) - 1) * int(step) for size, step in zip(tensor.shape, tensor.stride(), strict=True))


def _flat(tensor: torch.Tensor, count: int, offset: int = 0) -> torch.Tensor:
    """Return consecutive elements of a tensor's memory, from `offset` elements behind its first."""
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(
        tensor.untyped_storage(), tensor.storage_offset() + offset, (count,), (1,)
    )


def _runs(tensor: torch.Tensor) -> tuple[int, list[int]]:
    """Return the length of a tensor's runs of consecutive elements, and their offsets."""
    if tensor.numel() == 0:
        return 0, []
    length = 1
    outer: list[range] = []
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1 or step == 0:
            continue
        if step <= length and not outer:
            length += (size - 1) * step
        else:
            outer.append(range(0, size * step, step))
    return length, sorted({sum(offsets) for offsets in itertools.product(*outer)})


def _copy(tensor: torch.Tensor, host: torch.Tensor, *, to_device: bool) -> None:
    """Copy a tensor's elements, and no gaps between them, between the device and host memory of its extent."""
    length, offsets = _runs(tensor)
    for offset in offsets:
        device, part = _flat(tensor, length, offset), host[offset : offset + length]
        target, source = (device, part) if to_device else (part, device)
        target.copy_(source, non_blocking=True)
