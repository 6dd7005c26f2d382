"""Convolutions, and their results and gradients as sums in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

CONVOLUTION, CROSS_CORRELATION = 0, 1


class Case(NamedTuple):
    x: tuple[int, ...]
    w: tuple[int, ...]
    pad: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    mode: int = CROSS_CORRELATION

    def output(self) -> tuple[int, ...]:
        spatial = zip(self.x[2:], self.w[2:], self.pad, self.stride, self.dilation, strict=True)
        sizes = (
            (size + 2 * pad - (window - 1) * step - 1) // stride + 1 for size, window, pad, stride, step in spatial
        )
        return self.x[0], self.w[0], *sizes

    def steps(self, padded: np.ndarray, weights: np.ndarray) -> Iterator[tuple[Any, Any]]:
        """For each element of the window and each group, its inputs and its weights as views."""
        spatial = self.output()[2:]
        channels, features = self.w[1], self.w[0] // self.groups
        for place in itertools.product(*(range(size) for size in self.w[2:])):
            window = [size - 1 - at for at, size in zip(place, self.w[2:], strict=True)]
            at = tuple(window if self.mode == CONVOLUTION else place)
            parts = zip(place, self.dilation, self.stride, spatial, strict=True)
            spans = [
                slice(at * step, at * step + stride * (count - 1) + 1, stride) for at, step, stride, count in parts
            ]
            for group in range(self.groups):
                inputs = padded[(slice(None), slice(group * channels, (group + 1) * channels), *spans)]
                yield (group, inputs), weights[(slice(group * features, (group + 1) * features), slice(None), *at)]

    def forward(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        padded = np.pad(x, [(0, 0), (0, 0), *((pad, pad) for pad in self.pad)])
        y, features = np.zeros(self.output()), self.w[0] // self.groups
        for (group, inputs), weights in self.steps(padded, w):
            y[:, group * features : (group + 1) * features] += np.einsum("nc...,kc->nk...", inputs, weights)
        return y

    def gradients(self, x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        padded = np.pad(x, [(0, 0), (0, 0), *((pad, pad) for pad in self.pad)])
        d_padded, dw, features = np.zeros_like(padded), np.zeros_like(w), self.w[0] // self.groups
        for (group, inputs), weights in self.steps(padded, dw):
            part = dy[:, group * features : (group + 1) * features]
            axes = [0, *range(2, x.ndim)]
            weights += np.tensordot(part, inputs, (axes, axes))
        for (group, inputs), weights in self.steps(d_padded, w):
            part = dy[:, group * features : (group + 1) * features]
            inputs += np.einsum("nk...,kc->nc...", part, weights)
        inner = tuple(slice(pad, pad + size) for pad, size in zip(self.pad, self.x[2:], strict=True))
        return d_padded[(slice(None), slice(None), *inner)], dw


CASES = {
    "plain": Case((2, 3, 6, 5), (4, 3, 3, 2), (0, 0), (1, 1), (1, 1)),
    "steps": Case((3, 4, 9, 8), (6, 2, 3, 3), (2, 1), (2, 3), (2, 1), groups=2),
    "mirrored": Case((1, 2, 7, 7), (2, 2, 3, 4), (1, 2), (1, 2), (1, 2), mode=CONVOLUTION),
    "depthwise": Case((6, 4, 5, 5), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1), groups=4),
    "points": Case((2, 5, 4, 4), (3, 5, 1, 1), (0, 0), (1, 1), (1, 1)),
    "wide padding": Case((1, 1, 2, 2), (1, 1, 2, 2), (3, 4), (1, 2), (1, 1)),
    "volumes": Case((2, 2, 4, 5, 6), (3, 2, 2, 3, 2), (1, 0, 1), (1, 2, 2), (1, 1, 2)),
    "bands": Case((1, 3, 300, 40), (2, 3, 3, 3), (1, 1), (1, 1), (1, 1)),
}
