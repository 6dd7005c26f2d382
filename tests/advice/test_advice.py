"""Both suites of planted errors have the outcomes of their pages, and their advice has that of docs/results/advice.md."""

from __future__ import annotations

import importlib.util

import planted_synchronization.scoreboard as synchronization
import pytest
import racy_kernels.scoreboard as races
from generated import differences
from planted_synchronization.cases import files
from racy_kernels.kernels import sources
from racy_kernels.running import headers

from advice.fixes import CLASSES, fix, names
from advice.scoreboard import PAGE, REFERENCE, Planted, page, planted, reference


def test_both_suites_have_the_outcomes_of_the_pages() -> None:
    """One test, so that no process runs the kernels again for the page of advice."""
    if importlib.util.find_spec("cuda.bindings") is None or not headers():
        pytest.skip("NVRTC and the headers of CUDA are not installed; `make peers` installs them")
    racy, wrong = races.run_all(), synchronization.run()
    assert races.complaints(racy) + synchronization.complaints(wrong) == []
    assert differences(races.PAGE, races.page(racy)) == []
    assert differences(synchronization.PAGE, synchronization.page(wrong)) == []
    text = page([*planted(racy, wrong)])
    assert differences(PAGE, text) + differences(REFERENCE, reference(text)) == []


def test_each_planted_error_has_a_classified_fix() -> None:
    racy = [
        (source.text, kernel.name) for source in sources() for kernel in source.kernels if kernel.verdict != "clean"
    ]
    wrong = [(source.text, case.name) for source, cases in files() for case in cases if case.words is not None]
    unknown = [name for text, name in racy + wrong if fix(text, name) not in CLASSES]
    assert unknown == [], (
        f"no rule of advice.fixes knows the fix; state it by `// fix: CLASS` above the kernel: {unknown}"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("CLEAN(__syncthreads();)", "barrier of the block"),
        ("CLEAN(__syncthreads();) RACY(__syncwarp();)", "barrier of the block"),
        ("RACY(if (T < 32)) __syncthreads();", "barrier of the block"),
        ("RACY(__threadfence();) data[0] = 1; CLEAN(__threadfence();)", "fence"),
        ("flag.store(1, CLEAN(memory_order_release) RACY(memory_order_relaxed));", "fence"),
        ("RACY(*flag = 1;) data[0] = 1; CLEAN(*flag = 1;)", "moved statement"),
        ("CLEAN(atomicAdd(out, 1);) RACY(atomicAdd_block(out, 1);)", "scope"),
        ("CLEAN(atomicAdd(out, 1);) RACY(*out += 1;)", "atomic or strong access"),
        ("CLEAN(give(work);) RACY(work[0] = 0;)", "atomic or strong access"),
        ("CLEAN(__pipeline_wait_prior(0);)", "wait"),
        ("__syncwarp(CLEAN(FULL) RACY(1));", "mask"),
        ("int last = CLEAN(8) RACY(T); for (int k = 0; k < last; ++k) __syncthreads();", "condition"),
        ("CLEAN(if (T == 0)) out[0] = 1;", "condition"),
        ("out[T / CLEAN(16) RACY(32)] = 1;", "other element"),
        ("RACY(out[T + 1] = 1;)", "statement too many"),
        ("CLEAN(tile[T] = 0;)", "first write"),
        ("CLEAN(of_another_kind(out);)", None),
    ],
)
def test_fix_is_read_from_the_difference(body: str, expected: str | None) -> None:
    source = f"__device__ void give(int *lock) {{\n    atomicExch(lock, 0);\n}}\n\nKERNEL(planted) {{\n    {body}\n}}\n"
    assert fix(source, "planted") == expected


def test_comment_states_what_the_difference_does_not_tell() -> None:
    source = "// Text.\n// fix: lock\n// grid: 1 x 1\nKERNEL(planted) {\n    CLEAN(of_another_kind(out);)\n}\n"
    assert fix(source, "planted") == "lock"


def test_advice_of_another_class_does_not_name_the_fix() -> None:
    barrier, fence = "put a barrier (__syncthreads()) between the two", "put __threadfence() there"
    assert names(barrier, "barrier of the block")
    assert not names(fence, "barrier of the block")
    assert not names("a barrier of the grid in a cooperative launch", "barrier of the block")
    errors = [Planted("right", "fence", False, [fence]), Planted("wrong", "fence", False, [barrier])]
    text = page(errors)
    assert "**1 of 2 planted errors have an advice that names the fix: 50 %.**" in text
    assert f"| `{barrier}` | fence | `wrong` |" in text
