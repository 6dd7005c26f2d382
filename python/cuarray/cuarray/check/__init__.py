"""The conformance kit: check that a library speaks the CUDA Array Interface and DLPack.

``cuarray check mylib.adapter`` runs every check, and ``pytest --pyargs cuarray.check --library mylib.adapter`` makes each a test.
:mod:`cuarray.check.adapter` describes the adapter, a small module that tells the kit how to use a library.

:mod:`~cuarray.check.checks` holds the checks, :mod:`~cuarray.check.parts` the kit's side of an exchange,
:mod:`~cuarray.check.runner` the processes in which they run, and :mod:`~cuarray.check.report` the reports.
"""

from cuarray.check.adapter import NotClaimed, handle_of

__all__ = ["NotClaimed", "handle_of"]
