"""Results of kernels that need more than one line of Python."""

from __future__ import annotations

import numpy as np

__all__ = [
    "automaton",
    "bfs_levels",
    "bit_set",
    "local_maxima",
    "neighbour",
    "pulled_levels",
    "pushed_minima",
    "relaxed_distances",
    "ring_sum",
    "tiled_product",
]


def tiled_product(x: np.ndarray) -> np.ndarray:
    """Return the product of the first two matrices of 16 by 16."""
    return x[:256].reshape(16, 16) @ x[256:512].reshape(16, 16)


def automaton(cells: np.ndarray, steps: int) -> np.ndarray:
    """Return the cells of a ring after steps in which each becomes the exclusive or of its neighbours."""
    for _ in range(steps):
        cells = np.roll(cells, 1) ^ np.roll(cells, -1)
    return cells


def ring_sum(x: np.ndarray) -> np.ndarray:
    """Return the sums of the threads of ``rounds_depend_on_warp``: the first thread adds all elements once more."""
    sums = np.full(64, x[:6].sum())
    sums[0] += x[:8].sum()
    return sums


def bit_set(keys: np.ndarray) -> list[int]:
    """Return two words with the bits of the keys."""
    words = [sum(1 << int(key) % 32 for key in set(keys.tolist()) if key // 32 == word) for word in (0, 1)]
    return [word - (1 << 32) if word >> 31 else word for word in words]


def neighbour(vertex: int, edge: int) -> int:
    """Return the vertex that an edge of the graph in ``graph.cu`` leads to."""
    return (vertex * 5 + 1 if edge else vertex + 1) % 64


def bfs_levels() -> list[int]:
    """Return the distances from vertex 0, up to 11; 0 for vertices that are farther, and for vertex 0 itself."""
    levels = {0: 0}
    for level in range(1, 12):
        for vertex in [vertex for vertex, its in levels.items() if its == level - 1]:
            for edge in (0, 1):
                levels.setdefault(neighbour(vertex, edge), level)
    return [levels.get(vertex, 0) for vertex in range(64)]


def pulled_levels(rounds: int) -> list[int]:
    """Return the levels after some rounds of ``levels_pulled_in_place``."""
    levels = [int(vertex == 0) for vertex in range(64)]
    for _ in range(rounds):
        largest = [max(levels[v], levels[neighbour(v, 0)], levels[neighbour(v, 1)]) for v in range(64)]
        levels = [level + 1 if level else 0 for level in largest]
    return levels


def pushed_minima(x: np.ndarray, step: int = 0) -> np.ndarray:
    """Return the smallest value of each vertex and of those with an edge to it, to which ``step`` is added."""
    minima = x[:64].copy()
    for vertex in range(64):
        for edge in (0, 1):
            target = neighbour(vertex, edge)
            minima[target] = min(minima[target], x[vertex] + step)
    return minima


def relaxed_distances(x: np.ndarray) -> np.ndarray:
    """Return the distances after each edge, of length 1, was relaxed once from the initial values."""
    return pushed_minima(x, 1)


def local_maxima(x: np.ndarray) -> list[bool]:
    """Return whether each vertex has a larger value than both vertices that its edges lead to."""
    return [all(x[neighbour(v, edge)] < x[v] for edge in (0, 1)) for v in range(64)]
