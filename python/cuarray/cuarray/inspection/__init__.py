"""``cuarray inspect``: everything that can be told about one array of another library, without touching its memory.

An exchange that goes wrong goes wrong in one of the two libraries, and the dictionary between them is the only evidence.
So it is shown as it was read, drawn as it lies in memory, compared with the text clause by clause, and held against what
the driver knows of its pointer.

Each part is a module: :mod:`~cuarray.inspection.deviations` compares, :mod:`~cuarray.inspection.axes` and
:mod:`~cuarray.inspection.picture` draw, :mod:`~cuarray.inspection.pointer` asks the driver, and
:mod:`~cuarray.inspection.report` puts them together, for people or as JSON. :mod:`~cuarray.inspection.target` finds the
object that a command line names.
"""

from cuarray.inspection.deviations import Deviation
from cuarray.inspection.report import Report

__all__ = ["Deviation", "Report"]
