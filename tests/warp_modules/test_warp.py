"""Warp, with its library built by `make peers-warp`: its allocations, copies, streams, graphs and algorithms run, and wrong orders are findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest

import cuarray
import cuarray_sim

wp: Any = pytest.importorskip("warp")

N = 1000


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def heights(points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, wp.dot(points[i], wp.vec3(0.0, 0.0, 1.0)))


@wp.kernel
def store(volume: wp.uint64):
    i, j, k = wp.tid()
    wp.volume_store_f(volume, i, j, k, float(100 * i + 10 * j + k))


@wp.kernel
def look_up(volume: wp.uint64, out: wp.array3d(dtype=float)):
    i, j, k = wp.tid()
    out[i, j, k] = wp.volume_lookup_f(volume, i, j, k)


@pytest.fixture(scope="module", autouse=True)
def warp_settings(tmp_path_factory: pytest.TempPathFactory, driver_kind: str) -> None:
    """Keep compiled kernels apart from those of the user."""
    wp.config.kernel_cache_dir = str(tmp_path_factory.mktemp("warp"))
    wp.config.quiet = True
    wp.init()


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    """Make the primary context current, as Warp leaves it current."""
    with driver_probe.primary_context():
        yield


def numbers(dtype: str = "f4") -> np.ndarray:
    return np.arange(N, dtype=dtype)


def on_device(values: np.ndarray, **options: Any) -> Any:
    return wp.array(values, device="cuda:0", **options)


# Warp keeps a stream, events and memory for later uses.
@pytest.mark.cuarray_sim_leaks
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_array_keeps_its_elements(dtype: str) -> None:
    values = numbers("i4").astype(dtype)
    assert (on_device(values).numpy() == values).all()


def test_strided_view_is_copied_by_its_strides() -> None:
    values = np.arange(60, dtype="f4").reshape(6, 10)
    view = on_device(values)[::2, 1:9]
    assert (view.contiguous().numpy() == values[::2, 1:9]).all()


def test_fill_and_copy_between_arrays() -> None:
    first, second = wp.full(N, 3.0, dtype=float, device="cuda:0"), wp.zeros(N, dtype=float, device="cuda:0")
    wp.copy(second, first, count=N // 2)
    assert (second.numpy() == np.repeat([3, 0], N // 2)).all()


def test_page_locked_array_is_copied_to_the_device() -> None:
    pinned = wp.array(numbers(), device="cpu", pinned=True)
    assert (pinned.to("cuda:0").numpy() == numbers()).all()


def test_kernels_compute() -> None:
    x, y = on_device(numbers()), wp.ones(N, dtype=float, device="cuda:0")
    wp.launch(saxpy, dim=N, inputs=[2.0, x, y], device="cuda:0")
    assert (y.numpy() == 2 * numbers() + 1).all()
    points = wp.array(np.tile(np.array([3, 4, 2], "f4"), (500, 1)), dtype=wp.vec3, device="cuda:0")
    total = wp.zeros(1, dtype=float, device="cuda:0")
    wp.launch(heights, dim=500, inputs=[points, total], device="cuda:0")
    assert total.numpy()[0] == 1000


@pytest.mark.cuarray_sim_leaks
def test_streams_ordered_by_an_event_have_no_findings() -> None:
    x, y = on_device(numbers()), wp.ones(N, dtype=float, device="cuda:0")
    first, second = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    first.wait_stream(wp.get_stream("cuda:0"))
    wp.launch(saxpy, dim=N, inputs=[2.0, x, y], stream=first)
    second.wait_event(first.record_event())
    wp.launch(saxpy, dim=N, inputs=[2.0, x, y], stream=second)
    wp.synchronize_stream(second)
    assert (y.numpy() == 4 * numbers() + 1).all()
    assert cuarray_sim.findings()["findings"] == []


@pytest.mark.cuarray_sim(expect="data-race")
def test_streams_without_an_order_are_a_data_race() -> None:
    x, y = on_device(numbers()), wp.ones(N, dtype=float, device="cuda:0")
    first, second = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    wp.synchronize_device("cuda:0")
    for stream in (first, second):
        wp.launch(saxpy, dim=N, inputs=[2.0, x, y], stream=stream)
    wp.synchronize_device("cuda:0")
    (race,) = cuarray_sim.findings()["findings"]
    assert race["kind"] == "data-race"


def test_graph_repeats_its_launches() -> None:
    x, y = on_device(numbers()), wp.zeros(N, dtype=float, device="cuda:0")
    wp.load_module(device="cuda:0")
    with wp.ScopedCapture(device="cuda:0") as capture:
        wp.launch(saxpy, dim=N, inputs=[1.0, x, y], device="cuda:0")
    for _ in range(3):
        wp.capture_launch(capture.graph)
    assert (y.numpy() == 3 * numbers()).all()


@pytest.mark.cuarray_sim_leaks
def test_scans_sorts_and_sums_compute() -> None:
    values = np.array([3, 1, 2, 0] * 100, dtype="i4")
    x, out = on_device(values), wp.zeros(len(values), dtype=int, device="cuda:0")
    wp.utils.array_scan(x, out, inclusive=True)
    assert (out.numpy() == values.cumsum()).all()
    assert wp.utils.array_sum(on_device(numbers())) == numbers().sum()
    # The sort uses the second half of both arrays.
    keys = on_device(np.concatenate([values, values]))
    places = on_device(np.concatenate([np.arange(400, dtype="i4")] * 2))
    wp.utils.radix_sort_pairs(keys, places, 400)
    assert (keys.numpy()[:400] == np.sort(values)).all()
    assert (places.numpy()[:400] == values.argsort(kind="stable")).all()


def test_arrays_are_exchanged_without_a_copy() -> None:
    theirs = on_device(numbers())
    ours = cuarray.as_cuda_array(theirs)
    assert ours.ptr == theirs.ptr
    assert (ours.copy_to_host() == numbers()).all()
    array = cuarray.to_device(numbers())
    imported = wp.array(array, dtype=float, copy=False, device="cuda:0")
    assert imported.ptr == array.ptr
    assert (imported.numpy() == numbers()).all()


# Warp copies the header of a new grid to the host, whose name has 256 bytes. A kernel of the library writes four of them.
unwritten_name = pytest.mark.cuarray_sim(allow="uninitialized-read")


def grid() -> Any:
    return wp.Volume.allocate(min=[0, 0, 0], max=[7, 7, 7], voxel_size=0.5, bg_value=-1.0, device="cuda:0")


@unwritten_name
@pytest.mark.cuarray_sim_leaks
def test_volume_keeps_the_values_that_kernels_store() -> None:
    volume, out = grid(), wp.zeros((10, 8, 8), dtype=float, device="cuda:0")
    wp.launch(store, dim=(8, 8, 8), inputs=[volume.id], device="cuda:0")
    wp.launch(look_up, dim=out.shape, inputs=[volume.id, out], device="cuda:0")
    i, j, k = np.meshgrid(*(np.arange(8, dtype="f4"),) * 3, indexing="ij")
    assert (out.numpy()[:8] == 100 * i + 10 * j + k).all()
    # Places outside of the tiles have the background's value.
    assert (out.numpy()[8:] == -1).all()
    assert volume.get_voxel_size() == (0.5, 0.5, 0.5)


@unwritten_name
@pytest.mark.cuarray_sim_leaks
def test_volume_is_built_from_points_of_the_device() -> None:
    points = wp.array(np.array([[0, 0, 0], [40, 0, 0], [41, 3, 2]], "i4"), dtype=wp.vec3i, device="cuda:0")
    volume = wp.Volume.allocate_by_tiles(points, voxel_size=1.0, bg_value=0.0, device="cuda:0")
    assert sorted(map(tuple, volume.get_tiles().numpy().tolist())) == [(0, 0, 0), (40, 0, 0)]
    voxels = wp.Volume.allocate_by_voxels(points, voxel_size=1.0, device="cuda:0")
    assert sorted(map(tuple, voxels.get_voxels().numpy().tolist())) == [(0, 0, 0), (40, 0, 0), (41, 3, 2)]


@pytest.mark.cuarray_sim(expect="data-race", allow="uninitialized-read")
def test_volume_that_two_streams_use_without_an_order_is_a_data_race() -> None:
    volume, out = grid(), wp.zeros((8, 8, 8), dtype=float, device="cuda:0")
    first, second = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    wp.synchronize_device("cuda:0")
    wp.launch(store, dim=(8, 8, 8), inputs=[volume.id], stream=first)
    wp.launch(look_up, dim=(8, 8, 8), inputs=[volume.id, out], stream=second)
    wp.synchronize_device("cuda:0")
    races = [each for each in cuarray_sim.findings()["findings"] if each["kind"] == "data-race"]
    assert len(races) == 1
