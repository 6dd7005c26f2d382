"""Run operations of PyTorch on the simulated driver, and write which of them run into a table.

    make torch-operations UPDATE=1

A stand-in for a missing library ends its process, and a new one runs the operations that follow. An operation runs if it returns, and its
result is what the same operation gives on the host."""

from __future__ import annotations

import argparse
import faulthandler
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import nn

from cuarray_sim.pytorch import OnHost

sys.path.append(str(Path(__file__).parents[1]))

from generated import differences

TABLE = Path(__file__).parents[2] / "docs" / "results" / "pytorch-operations.md"

HEAD = """\
# Operations of PyTorch

`make torch-operations UPDATE=1` writes this page. It runs operations of PyTorch {version}, the unmodified wheel, on the simulated driver, and
compares each result with that of the host.

PyTorch's wheel has its kernels as machine code only. The simulated driver executes PTX, and refuses machine code with the error
`no kernel image is available`, as a GPU that is unknown to the wheel. Copies, fills with zero, views, streams, events, graphs and exchanges need no
kernel.

The second column is with [`cuarray_sim.pytorch.OnHost`](../how-to/pytorch.md#arithmetic-on-request), which carries out operations on the host. It is
experimental, and on only with `--torch-on-host` or if a program selects it.

{summary}

"""

Operation = Callable[[], "torch.Tensor | bool"]
Mode = Callable[[], AbstractContextManager[object]]
Outcomes = dict[str, dict[str, tuple[str, str]]]
GROUPS: dict[str, dict[str, Operation]] = {}

DEVICE = torch.device("cuda")


def group(title: str, operations: dict[str, Operation]) -> None:
    """Add the operations of a group, by their text in the table."""
    GROUPS[title] = operations


def numbers(count: int = 24, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.arange(count, dtype=dtype)


def here(count: int = 24, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The numbers on the device."""
    return numbers(count, dtype).to(DEVICE)


def same(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether a tensor of the device has the elements of one of the host; the copy needs no kernel for any layout."""
    host = torch.empty(0, dtype=found.dtype).set_(
        found.untyped_storage().cpu(), found.storage_offset(), found.shape, found.stride()
    )
    return host.shape == expected.shape and torch.allclose(host, expected, atol=1e-4)


def on_both(operation: Callable[[torch.Tensor], torch.Tensor], *, dtype: torch.dtype = torch.float32) -> Operation:
    """An operation whose result must be the same on device and host."""
    return lambda: same(operation(here(dtype=dtype)), operation(numbers(dtype=dtype)))


def changes(operation: Callable[[torch.Tensor], object]) -> Operation:
    """An operation that changes its tensor."""

    def run() -> bool:
        found, expected = here(), numbers()
        operation(found)
        operation(expected)
        return same(found, expected)

    return run


def pinned_copy() -> bool:
    source, target = numbers().pin_memory(), torch.empty(24, pin_memory=True)
    target.copy_(source.to(DEVICE, non_blocking=True), non_blocking=True)
    torch.cuda.synchronize()
    return source.is_pinned() and torch.equal(source, target)


def counted() -> bool:
    before, _tensor = torch.cuda.memory_allocated(), here()
    free, total = torch.cuda.mem_get_info()
    return (
        torch.cuda.memory_allocated() > before and free < total and torch.cuda.memory_stats()["num_alloc_retries"] == 0
    )


def strided_copy() -> bool:
    target = torch.zeros(4, 6, device=DEVICE)
    target.t().copy_(numbers().view(6, 4))
    return same(target.t(), numbers().view(6, 4))


def second_stream() -> bool:
    stream, source, target = torch.cuda.Stream(), here(), torch.zeros(24).to(DEVICE)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        target.copy_(source)
    torch.cuda.current_stream().wait_stream(stream)
    source.record_stream(stream)
    return same(target, numbers())


def event() -> bool:
    first, last, source = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True), here()
    first.record()
    copy = source.clone()
    last.record()
    last.synchronize()
    return last.query() and first.elapsed_time(last) >= 0 and same(copy, numbers())


def graph() -> bool:
    source, target, made = torch.zeros(24).to(DEVICE), torch.zeros(24).to(DEVICE), torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        target.copy_(source)
    source.copy_(numbers())
    made.replay()
    return same(target, numbers())


def graph_with_memory() -> bool:
    source, made = here(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        result = source.clone().clone()
    made.replay()
    return same(result, numbers())


def interface() -> bool:
    import cuarray

    array = cuarray.as_cuda_array(here())
    return bool((array.copy_to_host() == numbers().numpy()).all()) and same(
        torch.as_tensor(array, device=DEVICE), numbers()
    )


def dlpack() -> bool:
    import cuarray

    array = cuarray.from_dlpack(here())
    return bool((array.copy_to_host() == numbers().numpy()).all()) and same(torch.from_dlpack(array), numbers())


def numba() -> bool:
    from numba import cuda

    @cuda.jit
    def double(values):
        at = cuda.grid(1)
        if at < values.size:
            values[at] *= 2

    tensor = here()
    double[1, 32](cuda.as_cuda_array(tensor))
    return same(tensor, numbers() * 2)


def saved() -> bool:
    file = io.BytesIO()
    torch.save(here(), file)
    file.seek(0)
    return same(torch.load(file), numbers())


def module() -> bool:
    layer = nn.Linear(3, 4)
    weight = layer.weight.detach().clone()
    moved = layer.to(DEVICE)
    moved.load_state_dict(moved.state_dict())
    return same(moved.weight.detach(), weight)


def loader() -> bool:
    batches = torch.utils.data.DataLoader(numbers(), batch_size=8, pin_memory=True)
    return all(same(batch.to(DEVICE, non_blocking=True), batch) for batch in batches)


def random_state() -> bool:
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    torch.cuda.set_rng_state(state)
    return torch.equal(torch.cuda.get_rng_state(), state)


def trained() -> bool:
    layer = nn.Linear(3, 4).to(DEVICE)
    layer(torch.ones(2, 3).to(DEVICE)).sum().backward()
    return layer.weight.grad is not None


def stepped() -> bool:
    parameter = nn.Parameter(here())
    parameter.grad = torch.zeros(24).to(DEVICE)
    torch.optim.SGD([parameter], lr=0.1).step()
    return same(parameter.detach(), numbers())


def copied_gradient() -> bool:
    source = numbers().requires_grad_()
    source.to(DEVICE).backward(torch.ones(24).to(DEVICE))
    return torch.equal(source.grad, torch.ones(24))


def jiterator() -> bool:
    double = torch.cuda.jiterator._create_jit_fn("template <typename T> T twice(T x) { return x + x; }")
    return same(double(here()), numbers() * 2)


group(
    "Memory",
    {
        '`torch.empty(n, device="cuda")`': lambda: torch.empty(24, device=DEVICE).numel() == 24,
        '`torch.zeros(n, device="cuda")`': lambda: same(torch.zeros(24, device=DEVICE), torch.zeros(24)),
        '`torch.ones(n, device="cuda")`': lambda: same(torch.ones(24, device=DEVICE), torch.ones(24)),
        '`torch.full((n,), 7, device="cuda")`': lambda: same(
            torch.full((24,), 7.0, device=DEVICE), torch.full((24,), 7.0)
        ),
        '`torch.arange(n, device="cuda")`': lambda: same(torch.arange(24, device=DEVICE), torch.arange(24)),
        '`torch.tensor([...], device="cuda")`': lambda: same(torch.tensor([1, 2], device=DEVICE), torch.tensor([1, 2])),
        "`torch.empty_like(x)`": lambda: torch.empty_like(here()).is_cuda,
        "`torch.zeros_like(x)`": on_both(torch.zeros_like),
        "`x.zero_()`": changes(torch.Tensor.zero_),
        "`x.fill_(0)`": changes(lambda x: x.fill_(0)),
        "`x.fill_(3)`": changes(lambda x: x.fill_(3)),
        "`x.untyped_storage().resize_(n)`": lambda: here().untyped_storage().resize_(8).nbytes() == 8,
        "`torch.cuda.memory_allocated()`, `memory_stats()`, `mem_get_info()`": counted,
        "`torch.cuda.empty_cache()`": lambda: torch.cuda.empty_cache() is None,
        "`torch.cuda.MemPool()`": lambda: torch.cuda.MemPool() is not None,
    },
)
group(
    "Copies",
    {
        "`x.cuda()`, `x.to(device)`": lambda: same(numbers().cuda(), numbers()),
        "`x.cpu()`": lambda: torch.equal(here().cpu(), numbers()),
        "`x.tolist()`": lambda: here().tolist() == numbers().tolist(),
        "`x[0].item()`": lambda: here()[5].item() == 5,
        "`print(x)`": lambda: "23" in str(here()),
        "pinned memory, `non_blocking=True`": pinned_copy,
        "`x.clone()`": on_both(torch.clone),
        "`x.copy_(y)`": changes(lambda x: x.copy_(torch.ones(24).to(x.device))),
        "`x[4:8] = y`": changes(lambda x: x[4:8].copy_(torch.ones(4).to(x.device))),
        "`x.contiguous()` of a transposed tensor": on_both(lambda x: x.view(4, 6).t().contiguous()),
        "`x.cpu()` of a transposed tensor": lambda: torch.equal(here().view(4, 6).t().cpu(), numbers().view(4, 6).t()),
        "`x.copy_(y)` of different layouts": strided_copy,
        "`x.to(torch.float64)`": on_both(lambda x: x.to(torch.float64)),
        "`torch.cat([x, y])`": on_both(lambda x: torch.cat([x, x])),
        "`torch.stack([x, y])`": on_both(lambda x: torch.stack([x, x])),
        "`x.split(n)`, `x.chunk(n)`": on_both(lambda x: x.split(8)[1]),
    },
)
group(
    "Views",
    {
        "`x.view(...)`, `x.reshape(...)`": on_both(lambda x: x.view(4, 6).reshape(2, 12)),
        "`x.t()`, `x.permute(...)`": on_both(lambda x: x.view(4, 6).t()),
        "`x[1:, ::2]`": on_both(lambda x: x.view(4, 6)[1:, ::2]),
        "`x.expand(...)`": on_both(lambda x: x.view(1, 24).expand(3, 24)),
        "`x.as_strided(...)`": on_both(lambda x: x.as_strided((3, 3), (1, 2))),
        "`x.unfold(...)`, `x.diagonal()`": on_both(lambda x: x.view(4, 6).diagonal()),
        "`x.view(torch.int32)`": on_both(lambda x: x.view(torch.int32)),
    },
)
group(
    "Streams, events and graphs",
    {
        "`torch.cuda.Stream()`, `wait_stream`, `record_stream`": second_stream,
        "`torch.cuda.Event(enable_timing=True)`": event,
        "`torch.cuda.graph(g)` of copies": graph,
        "`torch.cuda.graph(g)` with its own memory": graph_with_memory,
        "`torch.cuda.synchronize()`": lambda: torch.cuda.synchronize() is None,
        "`torch.cuda.ExternalStream(handle)`": lambda: torch.cuda.ExternalStream(
            torch.cuda.Stream().cuda_stream
        ).query(),
        "`torch.cuda.get_device_properties()`": lambda: torch.cuda.get_device_properties(0).major > 0,
    },
)
group(
    "Exchange",
    {
        "CUDA Array Interface, with cuarray in both directions": interface,
        "DLPack, with cuarray in both directions": dlpack,
        "a kernel of numba-cuda": numba,
        "`torch.from_numpy(a).cuda()`": lambda: same(
            torch.from_numpy(np.arange(3.0)).cuda(), torch.arange(3.0, dtype=torch.float64)
        ),
    },
)
group(
    "Modules",
    {
        "`torch.save`, `torch.load`": saved,
        "`module.to(device)`, `load_state_dict`": module,
        "`DataLoader(pin_memory=True)`": loader,
        "`torch.cuda.manual_seed`, `get_rng_state`": random_state,
        "`backward()` through a copy": copied_gradient,
        "`nn.Linear`, `backward()`": trained,
        "`optim.SGD.step()`": stepped,
    },
)
group(
    "Arithmetic",
    {
        "`x + y`": on_both(lambda x: x + x),
        "`x * 2`": on_both(lambda x: x * 2),
        "`x.add_(1)`": changes(lambda x: x.add_(1)),
        "`torch.exp(x)`": on_both(lambda x: torch.exp(x / 24)),
        "`x.sum()`": on_both(torch.sum),
        "`x.max()`": on_both(torch.max),
        "`x.cumsum(0)`": on_both(lambda x: x.cumsum(0)),
        "`x.sort()`": on_both(lambda x: x.sort()[0]),
        "`x > y`": on_both(lambda x: x > 3),
        "`torch.equal(x, y)`": lambda: torch.equal(here(), here()),
        "`x[index]`": on_both(lambda x: x[torch.tensor([1, 3]).to(x.device)]),
        "`torch.where(...)`": on_both(lambda x: torch.where(x > 3, x, x)),
        "`torch.softmax(x, 0)`": on_both(lambda x: torch.softmax(x, 0)),
        "`torch.relu(x)`": on_both(torch.relu),
        '`torch.rand(n, device="cuda")`': lambda: bool((torch.rand(24, device=DEVICE).cpu() < 1).all()),
        "`x.normal_()`": lambda: here().normal_().is_cuda,
        "`x @ y`": on_both(lambda x: x.view(4, 6) @ x.view(6, 4)),
        "`nn.functional.conv1d`": on_both(lambda x: nn.functional.conv1d(x.view(1, 1, 24), x[:3].view(1, 1, 3))),
        "`torch.fft.fft(x)`": on_both(torch.fft.fft),
        "`torch.linalg.solve(...)`": on_both(lambda x: torch.linalg.solve(torch.eye(4).to(x.device), x[:4])),
        "`torch.cuda.jiterator`": jiterator,
    },
)


def outcome(operation: Operation, mode: Mode) -> str:
    """Return `runs`, or why an operation does not run."""
    try:
        with mode():
            return "runs" if operation() else "wrong result"
    except Exception as error:
        text = " ".join(str(error).split())
        if absent := re.search(r"(lib[^/\s]*\.so[.\d]*) of cuarray-sim is a stand-in", text):
            return f"needs {absent[1]}"
        return "no kernel image" if "no kernel image" in text else f"{type(error).__name__}: {text[:120]}"


def in_processes(mode: Mode) -> list[str]:
    """Return the outcomes of all operations, each run in a child of this process, which has not used the driver."""
    every = [operation for operations in GROUPS.values() for operation in operations.values()]
    outcomes: list[str] = []
    while len(outcomes) < len(every):
        with tempfile.TemporaryFile() as results, tempfile.TemporaryFile() as errors:
            child = os.fork()
            if child == 0:
                faulthandler.disable()
                os.dup2(errors.fileno(), 2)
                for operation in every[len(outcomes) :]:
                    results.write(outcome(operation, mode).encode() + b"\n")
                    results.flush()
                os._exit(0)
            _, status = os.waitpid(child, 0)
            results.seek(0)
            errors.seek(0)
            outcomes += results.read().decode().splitlines()
            if status != 0:
                stopped = re.search(r"^(\S+): \S+ was called, but", errors.read().decode(), re.MULTILINE)
                outcomes.append(f"needs {stopped[1]}" if stopped else f"ended with status {status}")
    return outcomes


def run() -> Outcomes:
    """Run all operations, and return the outcomes of each without and with `OnHost`, by group and text."""
    both = zip(in_processes(nullcontext), in_processes(OnHost), strict=True)
    return {title: {text: next(both) for text in operations} for title, operations in GROUPS.items()}


def table(outcomes: Outcomes) -> str:
    """Return the page of these outcomes."""
    every = [found for group in outcomes.values() for found in group.values()]
    plain_runs, on_host_runs = ([each[column] for each in every].count("runs") for column in range(2))
    summary = f"{plain_runs} of {len(every)} operations run, and {on_host_runs} with `OnHost`."
    lines = [HEAD.format(version=torch.__version__.partition("+")[0], summary=summary).rstrip(), ""]
    for title, found in outcomes.items():
        lines += [f"## {title}", "", "| operation | outcome | with `OnHost` |", "|---|---|---|"]
        lines += [f"| {text} | {plain} | {on_host} |" for text, (plain, on_host) in found.items()]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    found = table(run())
    print(found)
    shown = differences(TABLE, found)
    print("\n".join(shown), file=sys.stderr)
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
