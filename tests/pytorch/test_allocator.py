"""PyTorch's caching allocators on the simulated driver: reuse of memory, `record_stream`, and leaks."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import cuarray_sim

pytest_plugins = ["pytester"]

Sides = Callable[[], list[tuple[str, str]]]

COUNT = 1000


@pytest.fixture
def target() -> torch.Tensor:
    return torch.empty(COUNT, dtype=torch.int64, pin_memory=True)


def read_and_free(target: torch.Tensor, stream: torch.cuda.Stream, *, record: bool) -> None:
    """Read a tensor of the current stream in another one, and drop it while the read is pending."""
    tensor = torch.arange(COUNT).cuda()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        target.copy_(tensor, non_blocking=True)
    if record:
        tensor.record_stream(stream)


def test_memory_of_a_dropped_tensor_is_reused_without_a_call_of_the_driver() -> None:
    tensor = torch.empty(COUNT, device="cuda")
    address = tensor.data_ptr()
    del tensor
    calls = cuarray_sim.statistics()["calls"].get("cuMemAlloc_v2", 0)
    assert torch.empty(COUNT, device="cuda").data_ptr() == address
    assert cuarray_sim.statistics()["calls"].get("cuMemAlloc_v2", 0) == calls


def test_recorded_stream_keeps_the_memory_until_its_work_is_done(target: torch.Tensor) -> None:
    stream = torch.cuda.Stream()
    read_and_free(target, stream, record=True)
    reused = torch.zeros(COUNT, dtype=torch.int64).cuda()
    stream.synchronize()
    assert target.tolist() == list(range(COUNT))
    assert reused.cpu().tolist() == [0] * COUNT


@pytest.mark.cuarray_sim(expect="data-race")
def test_missing_record_stream_is_a_race_at_the_users_lines(target: torch.Tensor, sides: Sides) -> None:
    stream = torch.cuda.Stream()
    read_and_free(target, stream, record=False)
    reused = torch.zeros(COUNT, dtype=torch.int64).cuda()
    assert sides() == [
        ("torch", "target.copy_(tensor, non_blocking=True)"),
        ("torch", "reused = torch.zeros(COUNT, dtype=torch.int64).cuda()"),
    ]
    stream.synchronize()
    assert target.tolist() == reused.cpu().tolist(), "the late read sees the zeros"


ADVICE = """\
call record_stream on the tensor made at {file}:{earlier}, with stream {number}, before its release: its bytes are now those of the tensor \
made at {file}:{later}, and PyTorch's allocator does not know that stream {number} still uses them
keep a reference to the earlier tensor until the legacy default stream has waited for stream {number} after cudaMemcpyAsync at {file}:{read}"""


@pytest.mark.cuarray_sim(expect="data-race")
def test_advice_for_reused_memory_is_record_stream_with_the_lines_of_both_tensors(target: torch.Tensor) -> None:
    stream = torch.cuda.Stream()
    read_and_free(target, stream, record=False)
    reused = torch.zeros(COUNT, dtype=torch.int64).cuda()
    (finding,) = cuarray_sim.findings()["findings"]
    read, later = (side["site"]["user"]["line"] for side in finding["sides"])
    streams = {lane["number"]: lane["name"] for lane in cuarray_sim.findings()["lanes"]}
    number = streams[finding["sides"][0]["lane"]].split()[1]
    earlier = read_and_free.__code__.co_firstlineno + 2
    assert finding["missing"] == ADVICE.format(
        file=Path(__file__).name, earlier=earlier, later=later, read=read, number=number
    )
    stream.synchronize()
    del reused


@pytest.mark.cuarray_sim(expect="data-race")
def test_advice_for_one_tensor_in_two_streams_is_a_wait_alone(target: torch.Tensor) -> None:
    stream = torch.cuda.Stream()
    tensor = torch.arange(COUNT).cuda()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        target.copy_(tensor, non_blocking=True)
    tensor.zero_()
    (finding,) = cuarray_sim.findings()["findings"]
    assert "wait_stream" in finding["missing"]
    assert "record_stream" not in finding["missing"]
    stream.synchronize()


def test_pinned_memory_is_not_reused_while_a_copy_is_pending() -> None:
    source, device = torch.full((COUNT,), 7).pin_memory(), torch.empty(COUNT, dtype=torch.int64, device="cuda")
    device.copy_(source, non_blocking=True)
    address = source.data_ptr()
    del source
    other = torch.zeros(COUNT, dtype=torch.int64).pin_memory()
    assert other.data_ptr() != address
    assert device.cpu().tolist() == [7] * COUNT


def test_statistics_of_the_allocator_count_live_tensors() -> None:
    gc.collect()
    before = torch.cuda.memory_allocated()
    tensor = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before == 1 << 20
    del tensor
    assert torch.cuda.memory_allocated() == before


def test_request_beyond_the_memory_of_the_device_is_out_of_memory() -> None:
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory"):
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    assert torch.cuda.mem_get_info()[0] > 0


def test_memory_pool_of_pytorch_releases_its_memory() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        tensor = torch.ones(COUNT).cuda()
    assert tensor.cpu().sum() == COUNT


@pytest.mark.parametrize(
    ("kept", "call", "line"), [("tensor", "cudaMalloc", 7), ("pinned", "cudaHostAlloc", 8), ("None", "", 0)]
)
def test_leak_check_reports_kept_tensors_only(pytester: pytest.Pytester, kept: str, call: str, line: int) -> None:
    pytester.makepyfile(f"""
        import torch

        kept = []

        def test_allocates():
            stream, event = torch.cuda.Stream(), torch.cuda.Event()
            tensor = torch.ones(3).cuda()
            pinned = torch.empty(3, pin_memory=True)
            with torch.cuda.stream(stream):
                event.record()
            kept.append({kept})
    """)
    result = pytester.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=1, errors=1 if call else 0)
    if call:
        place = f"test_leak_check_reports*:{line} in test_allocates (by torch)"
        keeper = "global `kept` of test_leak_check_reports*, ?0? (torch.Tensor)"
        result.stdout.fnmatch_lines([f"*made by {call} at *{place}", f"*kept by {keeper}"])


def test_exception_passes_the_tensors_that_it_releases() -> None:
    """The allocator takes their memory back while Python has the exception."""
    for _ in range(2):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            torch.mm(torch.zeros(2, 5, device="cuda"), torch.zeros(2, 5, device="cuda"))
