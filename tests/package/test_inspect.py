"""``cuarray inspect``: the drawing against counted bytes, the deviations against the reader, and the command line."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from producers import Producer, describe, foreign

import cuarray
from cuarray.__main__ import main
from cuarray.check.clauses import CLAUSES, ENTRIES
from cuarray.check.registry import all_checks
from cuarray.inspection import Report, axes, deviations, picture, target
from cuarray.inspection.axes import Spacing
from cuarray.testing import strategies
from cuarray.testing.strategies import Layout

layouts = partial(strategies.layouts, min_side=1)


class Text(str):
    """A subclass of str."""

    __slots__ = ()


def elements(layout: Layout) -> dict[tuple[int, ...], int]:
    """The offset of each element from the array's lowest byte."""
    shape, strides, _ = layout
    offsets = {
        index: sum(at * stride for at, stride in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    }
    lowest = min(offsets.values())
    return {index: offset - lowest for index, offset in offsets.items()}


def occupied(layout: Layout) -> set[int]:
    """The offsets of the bytes of all elements."""
    return {offset + byte for offset in elements(layout).values() for byte in range(layout[2])}


def drawn(layout: Layout) -> list[str]:
    offsets = elements(layout)
    pointer = 4096 + offsets[(0,) * len(layout[0])]
    return picture.draw(axes.describe(*layout), layout[2], 4096, 4096 + max(occupied(layout)) + 1, pointer)


def bar(lines: list[str]) -> str:
    return next(line.strip()[1:-1] for line in lines if line.strip().startswith("|"))


@settings(deadline=None)
@given(layouts())
def test_bar_marks_exactly_the_bytes_of_the_array(layout: Layout) -> None:
    occupied_bytes = occupied(layout)
    extent = max(occupied_bytes) + 1
    line = bar(drawn(layout))
    scale = -(-extent // picture.WIDTH)
    cells = [range(start, min(start + scale, extent)) for start in range(0, extent, scale)]
    assert len(line) == len(cells) <= picture.WIDTH
    for character, cell in zip(line, cells, strict=True):
        inside = len(occupied_bytes.intersection(cell))
        assert character == ("#" if inside == len(cell) else "+" if inside else ".")


@settings(deadline=None)
@given(layouts())
def test_coverage_counts_array_bytes_below_each_offset(layout: Layout) -> None:
    occupied_bytes = occupied(layout)
    extent = max(occupied_bytes) + 1
    covered = picture.coverage(axes.describe(*layout), layout[2])
    assert covered is not None
    assert [covered(offset) for offset in range(extent + 1)] == [
        len(occupied_bytes.intersection(range(offset))) for offset in range(extent + 1)
    ]


@settings(deadline=None)
@given(layouts())
def test_labels_are_below_first_byte_of_their_elements(layout: Layout) -> None:
    lines = drawn(layout)
    below = lines[-1]
    if "|" in below or "^" in below or not layout[0]:
        return
    offsets = elements(layout)
    margin = lines[-2].index("|") + 1
    # One star stands for every index along a broadcast axis.
    starred = [axis for axis, stride in enumerate(layout[1]) if stride == 0 and layout[0][axis] > 1]
    for index, offset in offsets.items():
        label = ",".join("*" if axis in starred else str(at) for axis, at in enumerate(index))
        assert below[margin + offset :].startswith(label)
        assert below[margin + offset :].split(" ")[0] == label


@settings(deadline=None)
@given(layouts())
def test_drawing_fits_80_columns(layout: Layout) -> None:
    assert max(map(len, drawn(layout))) <= 78, "the report adds an indent of two"


@pytest.mark.parametrize(
    ("shape", "strides", "spacing", "between", "is_reversed"),
    [
        ((4,), (4,), [Spacing.DENSE], [0], [False]),
        ((4,), (-4,), [Spacing.DENSE], [0], [True]),
        ((3, 4), (32, 4), [Spacing.GAP, Spacing.DENSE], [16, 0], [False, False]),
        ((3, 4), (4, 12), [Spacing.DENSE, Spacing.DENSE], [0, 0], [False, False]),
        ((3, 4), (0, -8), [Spacing.BROADCAST, Spacing.GAP], [0, 4], [False, True]),
        ((1, 4), (-99, 4), [Spacing.SINGLE, Spacing.DENSE], [0, 0], [False, False]),
        ((0, 4), (16, -4), [Spacing.EMPTY, Spacing.EMPTY], [0, 0], [False, False]),
        ((5, 3), (4, 6), [Spacing.DENSE, Spacing.OVERLAP], [0, 14], [False, False]),
    ],
)
def test_axes_describe_gaps_broadcasts_and_reversal(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    spacing: list[Spacing],
    between: list[int],
    is_reversed: list[bool],
) -> None:
    found = axes.describe(shape, strides, 4)
    assert [axis.spacing for axis in found] == spacing
    assert [axis.between for axis in found] == between
    assert [axis.reversed for axis in found] == is_reversed
    assert [axis.index for axis in found] == list(range(len(shape)))


def test_huge_array_is_drawn_without_visiting_elements() -> None:
    layout = ((10**5, 10**5, 10**3), (10**9, -8 * 10**3, 8), 8)
    lines = picture.draw(axes.describe(*layout), 8, 0, 10**14 - 10**9 + 8 * 10**8, 8 * 10**8 - 8000)
    assert len(bar(lines)) == picture.WIDTH


def test_uncountable_overlaps_are_described_and_not_drawn() -> None:
    lines = picture.draw(axes.describe((10**6, 10), (4, 4), 4), 4, 0, 4 * 10**6 + 36, 0)
    assert not any("|" in line for line in lines)
    assert "overlapping" in lines[-1]


def clauses(entries: dict[str, Any]) -> list[tuple[str, str]]:
    report = Report.of(Producer(entries))
    return [(one.clause, one.key) for one in report.deviations if one.clause != "I6"]


class DictSubclass(dict):
    """A subclass of dict."""


SELF_MASKED: dict[str, Any] = describe(mask=Producer({}))


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (describe(), []),
        (describe(strides=(4,)), []),
        (describe(strides=(0,)), []),
        (describe(stream=1), []),
        (describe(version=2), []),
        (describe(shape=[2]), [("I2", "shape")]),
        (describe(shape=(2.0,)), [("I2", "shape")]),
        (describe(typestr="float32"), [("I3", "typestr")]),
        (describe(data=(4096, 0)), [("I4", "data")]),
        (describe(data=(0, False)), [("I4", "data")]),
        (describe(data=None), [("I4", "data")]),
        (describe(version=4), [("I7", "version")]),
        (describe(version="3"), [("I7", "version")]),
        (describe(strides=(4, 4)), [("I8", "strides")]),
        (describe(strides=[4]), [("I8", "strides")]),
        (describe(stream=0), [("I11", "stream")]),
        (describe(stream=-1), [("I11", "stream")]),
        (describe(version=2, stream=7), [("V2", "stream")]),
        (describe(version=0, mask=3), [("V0", "mask")]),
        (describe(mask=3), [("I10", "mask")]),
        (describe(shape=(0,)), [("I5", "data")]),
        (describe(shape=(0,), version=1), []),
        (describe(shape=(0,), data=(0, False)), []),
        (describe(typestr="|V4", descr=[("x", "<f4")]), []),
        (describe(typestr="|V4", descr=[("x", "<f8")]), [("I9", "descr")]),
        (describe(typestr="<f4", descr=[("", "<f4")]), []),
        (describe(typestr="<f4", descr=[("", "<f8")]), [("I9", "descr")]),
        # Two entries are wrong together.
        (describe(shape=(1 << 40,), data=((1 << 64) - 8, False)), [("I4", "data")]),
        (describe(shape=(1 << 40,), strides=(1 << 40,)), [("I8", "strides")]),
        # All faults are found, and not only the first.
        (
            {"shape": (2, "3"), "typestr": "f", "data": [1], "strides": (4, None), "stream": 0, "version": 3},
            [("I2", "shape"), ("I3", "typestr"), ("I4", "data"), ("I8", "strides"), ("I11", "stream")],
        ),
        ({}, [("I2", "shape"), ("I3", "typestr"), ("I4", "data"), ("I7", "version")]),
    ],
    ids=repr,
)
def test_each_deviation_is_reported_with_clause_and_key(
    entries: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert clauses(entries) == expected


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.integers(),
    st.sampled_from(["<f4", "|V8", "f4", "", "float32"]),
    st.tuples(st.integers(0, 3)),
    st.tuples(st.integers(0, 1 << 48), st.booleans()),
    st.lists(st.integers(0, 3), max_size=2),
)
KEYS = ["shape", "typestr", "data", "version", "strides", "stream", "descr", "mask"]


def strict_refusal(interface: dict[str, Any]) -> str | None:
    """The message with which strict reading refuses the dictionary, or None."""
    try:
        cuarray.interface(interface)
    except ValueError as error:
        return str(error)
    return None


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4), st.sets(st.sampled_from(KEYS[:4]), max_size=2))
def test_deviations_exist_exactly_where_strict_reading_refuses(entries: dict[str, Any], without: set[str]) -> None:
    interface = {key: value for key, value in describe(**entries).items() if key not in without}
    report = Report.of(interface)
    found = [one for one in report.deviations if one.clause not in ("I5", "I6", "V0", "V2")]
    # The `descr` of a type that is not structured is not read, but its faults are reported.
    unread = [one for one in found if one.clause == "I9"]
    refusal = strict_refusal(interface)
    if refusal is None:
        assert found == unread
    else:
        assert any(f"'{one.key}'" in refusal for one in found)
    if report.interface is not None:
        deviations = {note.split(":")[0].strip("'") for note in report.interface.deviations}
        assert deviations <= {one.key for one in found}
    json.dumps(report.as_json())
    assert report.text()


@pytest.mark.parametrize(
    ("entries", "clause", "key", "expected"),
    [
        (describe(strides=(4,)), "I8", "strides", "C-contiguous"),
        (describe(strides=(0,)), "I8", "strides", "broadcast"),
        (describe(strides=(-4,)), "I8", "strides", "reversed"),
        (describe(strides=(2,)), "I8", "strides", "overlaps"),
        (describe(strides=(6,)), "I8", "strides", "no multiple of the item size 4"),
        (describe(data=(4098, False)), "I4", "data", "no multiple of 4"),
        (describe(typestr=">f4"), "I3", "typestr", "big-endian"),
        (describe(typestr="|V4"), "I9", "descr", "absent"),
        (describe(version=2), "V2", "version", "no streams"),
        (describe(order="C"), "I1", "order", "no clause"),
        (describe(**{"shape": (np.int64(2),)}), "I2", "shape", "numpy.int64"),
        (describe(version=np.int32(3)), "I7", "version", "numpy.int32"),
        (DictSubclass(describe()), "I1", "", "subclass of dict"),
    ],
    ids=repr,
)
def test_legal_but_unwise_entries_get_remarks(entries: dict[str, Any], clause: str, key: str, expected: str) -> None:
    report = Report.of(Producer(entries))
    assert [one for one in report.deviations if one.clause != "I6"] == []
    assert any(one.clause == clause and one.key == key and expected in one.text for one in report.remarks), (
        report.remarks
    )


def test_plain_array_has_no_remarks() -> None:
    assert Report.of(describe()).remarks == []


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Path]:
    """A directory with a module ``arrays``, in which the command runs."""
    (tmp_path / "arrays.py").write_text(
        "sound = {'shape': (3,), 'typestr': '<f4', 'data': (4096, False), 'strides': (-8,), 'version': 3}\n"
        "wrong = {**sound, 'stream': 0}\n"
        "class Raising:\n"
        "    @property\n"
        "    def __cuda_array_interface__(self):\n"
        "        raise RuntimeError('requires grad')\n"
        "raising = Raising()\n"
    )
    (tmp_path / "broken.py").write_text("raise SystemExit('stopped on import')\n")
    return tmp_path


def run(module: Path, *arguments: str, driver: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command in a new process, without a driver unless one is given."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment["CUARRAY_DRIVER"] = driver or str(module / "no-driver.so")
    return subprocess.run(
        [sys.executable, "-m", "cuarray", *arguments],
        cwd=module,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_inspect_prints_interface_layout_and_remarks(module: Path) -> None:
    done = run(module, "inspect", "arrays:sound")
    assert (done.returncode, done.stderr) == (0, "")
    first, _, rest = done.stdout.partition("\n\n")
    assert first == "arrays:sound, a builtins.dict"
    assert (
        repr(
            cuarray.interface({"shape": (3,), "typestr": "<f4", "data": (4096, False), "strides": (-8,), "version": 3})
        )
        in rest
    )
    assert (
        "Layout\n"
        "  axis  length  stride\n"
        "     0       3      -8  reversed, gaps of 4 bytes\n"
        "  memory: 20 bytes, 12 of them the array's\n"
        "  from 0xff0, each character is a byte\n"
        "    |####....####....####|\n"
        "     2       1       0\n"
    ) in rest
    assert "Pointer\n  no driver was found\n" in rest
    assert "Deviations from the text: none\n" in rest
    assert "I8   strides  axis 0 is reversed" in rest


def test_inspect_exits_with_1_for_deviations(module: Path) -> None:
    done = run(module, "inspect", "arrays:wrong")
    assert done.returncode == 1
    assert "\n  I11  stream   0 is disallowed" in done.stdout


def test_wrong_entries_are_left_out_and_the_rest_is_shown(module: Path) -> None:
    """A wrong entry hides only itself, if an array can be read without it."""
    wrong = run(module, "inspect", "arrays:wrong").stdout
    assert "read without its 'stream'" in wrong
    assert "|####....####....####|" in wrong
    report = Report.of(describe(stream=0, mask=3, descr=4, typestr="|V4"))
    assert set(report.left_out) == {"stream", "mask", "descr"}
    assert [one.key for one in report.deviations if one.clause != "I6"] == ["descr", "mask", "stream"]
    assert report.interface is not None
    hidden = Report.of(describe(shape=3, stream=0))
    assert (hidden.interface, hidden.left_out) == (None, ())
    assert "that cannot be read" in hidden.text()


def test_json_report_holds_interface_layout_and_deviations(module: Path) -> None:
    done = run(module, "inspect", "--json", "arrays:sound")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["target"] == "arrays:sound"
    assert report["interface"]["shape"] == [3]
    assert report["interface"]["byte_range"] == [4096 - 16, 4096 + 4]
    assert report["layout"] == [{"length": 3, "stride": -8, "spacing": "gap", "between": 4, "reversed": True}]
    assert report["pointer"]["unknown"] == "no driver was found"
    assert report["deviations"] == []
    assert [one["clause"] for one in report["remarks"]] == ["I8"]

    wrong = json.loads(run(module, "inspect", "--json", "arrays:wrong").stdout)
    assert wrong["interface"]["stream"] is None
    assert wrong["left_out"] == ["stream"]
    assert "0 is disallowed" in wrong["refusal"]
    assert [(one["clause"], one["key"]) for one in wrong["deviations"]] == [("I11", "stream")]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("arrays", "is not module:expression"),
        (":sound", "is not module:expression"),
        ("arrays:", "is not module:expression"),
        ("nowhere:x", "cannot import 'nowhere': ModuleNotFoundError"),
        ("broken:x", "cannot import 'broken': SystemExit: stopped on import"),
        ("arrays:unsound", "cannot evaluate 'unsound' in 'arrays': NameError"),
        ("arrays:sound[", "cannot evaluate 'sound[' in 'arrays': SyntaxError"),
        ("arrays:sound['shape'][9]", "IndexError"),
        ("arrays:3", "not a CUDA array"),
        ("arrays:raising", "RuntimeError: requires grad"),
    ],
)
def test_target_without_array_exits_with_2_and_one_sentence(module: Path, named: str, expected: str) -> None:
    done = run(module, "inspect", named)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert "Traceback" in run(module, "inspect", "--traceback", named).stderr


def test_version_option_prints_package_version(module: Path) -> None:
    done = run(module, "--version")
    assert (done.returncode, done.stdout) == (0, f"cuarray {cuarray.__version__}\n")


def test_inspect_help_names_the_simulator(module: Path) -> None:
    done = run(module, "inspect", "--help")
    assert done.returncode == 0
    assert "python -m cuarray_sim -m cuarray inspect" in " ".join(done.stdout.split())


def test_inspect_imports_from_current_directory(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console script finds a module in the current directory; Python itself does so only for `python -m`."""
    monkeypatch.chdir(module)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(module))])
    monkeypatch.delitem(sys.modules, "arrays", raising=False)
    sound = target.evaluate("arrays:sound")
    assert isinstance(sound, dict)
    sys.modules.pop("arrays")


def test_installed_package_has_cuarray_console_script() -> None:
    try:
        distribution = importlib.metadata.distribution("cuarray")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package runs from a source folder and is not installed")
    (command,) = distribution.entry_points.select(group="console_scripts", name="cuarray")
    assert command.load() is main


def pointer_report(array: Any) -> dict[str, Any]:
    return Report.of(array).as_json()["pointer"]


@pytest.mark.parametrize(
    ("make", "kind", "host"),
    [
        (cuarray.device_array, "device", False),
        (cuarray.managed_array, "managed", True),
        (cuarray.mapped_array, "pinned host", True),
    ],
    ids=["device", "managed", "mapped"],
)
def test_pointer_report_shows_memory_kind_and_allocation(
    driver: str, make: Callable[..., Any], kind: str, host: bool
) -> None:
    array = make((8, 4), "float32")
    reported = pointer_report(array)
    assert reported["driver"] == cuarray.driver_path()
    assert (reported["memory"], reported["device"], reported["unknown"]) == (kind, 0, None)
    assert (reported["is_managed"], reported["is_host_accessible"]) == (kind == "managed", host)
    low, high = reported["allocation"]
    assert low <= array.ptr < array.ptr + 128 <= high
    assert reported["within_allocation"] is True
    row = Report.of(array[3:, ::2])
    assert row.deviations == []
    assert f"from byte {array.ptr - low + 48} of the allocation" in row.text()


def test_array_that_leaves_its_allocation_deviates_from_i6(driver: str) -> None:
    """D1: a broadcast array exported without strides. The dictionary looks correct; the driver's allocation shows the fault."""
    array = cuarray.device_array((1,), "float32")
    low, high = pointer_report(array)["allocation"]
    report = Report.of(foreign(array, shape=((high - low) // 4 + 1,)))
    assert [(one.clause, one.key) for one in report.deviations] == [("I6", "data")]
    assert "beyond the allocation" in report.deviations[0].text
    assert report.as_json()["pointer"]["within_allocation"] is False


def test_pageable_host_memory_deviates_from_i6(driver: str) -> None:
    host = np.zeros(4, "f4")
    report = Report.of(describe(shape=(4,), data=(host.ctypes.data, False)))
    assert [(one.clause, one.key) for one in report.deviations] == [("I6", "data")]
    assert "ordinary host memory" in report.deviations[0].text


def test_driver_is_not_asked_about_empty_array(driver: str) -> None:
    assert "not queried" in pointer_report(cuarray.device_array((0, 3)))["unknown"]


def test_inspecting_array_leaves_elements_unchanged(driver: str) -> None:
    values = np.arange(6.0, dtype="f4").reshape(2, 3)
    array = cuarray.to_device(values)
    Report.of(foreign(array)).text()
    np.testing.assert_array_equal(array.copy_to_host(), values)


def test_report_has_the_sentence_of_each_violated_clause() -> None:
    report = Report.of(describe(shape=[2], stream=0))
    # A driver does not know the address, which violates I6.
    assert [clause for clause in report.clauses if clause != "I6"] == ["I2", "I11"]
    assert report.as_json()["clauses"] == {clause: CLAUSES[clause] for clause in report.clauses}
    below = report.text().partition("\nThe text\n")[2]
    assert " ".join(below.split()) == " ".join(f"{clause} {CLAUSES[clause]}" for clause in report.clauses)
    assert "\nThe text\n" not in Report.of(describe(shape=(0,), data=(0, False))).text()


def test_every_clause_of_a_deviation_has_checks_in_the_kit() -> None:
    checked = {each.clause for each in all_checks()}
    assert {*ENTRIES.values(), "I1", "I5", "I6"} <= checked


@pytest.mark.parametrize(
    ("entries", "key"),
    [
        ({"typestr": Text("<f4")}, "typestr"),
        ({"data": (0x7F0000000000, np.bool_(False))}, "data"),
        ({"shape": (np.int64(2),)}, "shape"),
        ({"later": 1}, "later"),
    ],
    ids=["str", "bool", "int", "unknown"],
)
def test_kit_and_inspection_object_to_the_same_entry(entries: dict[str, Any], key: str) -> None:
    assert key in [one.key for one in Report.of(describe(**entries)).remarks]
    kit = [*deviations.unusual_types(describe(**entries)), *deviations.unknown_keys(describe(**entries))]
    assert [one.key for one in kit] == [key]
