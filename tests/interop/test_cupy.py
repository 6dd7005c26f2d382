"""Exchange between CuPy and cuarray in both directions, by the interface and by DLPack, on a real GPU."""

from __future__ import annotations

import importlib.util

import pytest
from dlpack_facts import DLPackFacts
from exchange_facts import ExchangeFacts
from library import Library
from route import Route

if importlib.util.find_spec("cupy") is None:
    pytest.skip("CuPy is not installed; it needs a GPU", allow_module_level=True)


class TestIntoCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library) -> Route:
        return Route(cupy, own)


class TestFromCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library) -> Route:
        return Route(own, cupy)


class TestDLPack(DLPackFacts):
    @pytest.fixture
    def library(self, cupy: Library) -> Library:
        return cupy
