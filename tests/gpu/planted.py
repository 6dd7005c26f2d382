"""Tests that hang, crash and break their context, for the rehearsal of `make gpu`. Each may cost one test only."""

from __future__ import annotations

import os
import time

from gpu.facts.driver import CUDA_SUCCESS, Driver, kernels


def test_before_the_hang_passes() -> None:
    Driver().start()


def test_hang_costs_one_test() -> None:
    time.sleep(3600)


def test_between_hang_and_crash_passes() -> None:
    Driver().start()


def test_crash_costs_one_test() -> None:
    os.abort()


def test_between_crash_and_dead_context_passes() -> None:
    Driver().start()


def test_dead_context_costs_one_test() -> None:
    driver = Driver()
    driver.start()
    stop = driver.function(driver.module(kernels(".visible .entry stop() { trap; }")), "stop")
    assert driver.launch(stop) == CUDA_SUCCESS
    assert not driver.is_usable()


def test_after_the_dead_context_passes() -> None:
    Driver().start()
