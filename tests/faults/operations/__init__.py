"""Operations of the sweep: at least one for each public function, method and property of the package."""

from . import arrays, copies, creation, exchange, indexing, ipc, plain, streams
from .table import OPERATIONS, Attempt, Operation, operation, public_names

__all__ = [
    "OPERATIONS",
    "Attempt",
    "Operation",
    "arrays",
    "copies",
    "creation",
    "exchange",
    "indexing",
    "ipc",
    "operation",
    "plain",
    "public_names",
    "streams",
]
