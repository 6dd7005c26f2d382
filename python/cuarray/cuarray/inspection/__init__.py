"""The command ``cuarray inspect``: a report on an array of any library, without access to its memory.

If an exchange fails, the dictionary between the two libraries shows which of them is wrong. The report shows its entries, draws
its layout in memory, compares it with the text clause by clause, and shows the driver's attributes of its pointer.

:mod:`~cuarray.inspection.deviations` compares, :mod:`~cuarray.inspection.axes` and :mod:`~cuarray.inspection.picture` draw, and
:mod:`~cuarray.inspection.pointer` queries the driver. :mod:`~cuarray.inspection.report` combines them, as text or as JSON.
:mod:`~cuarray.inspection.target` finds the object that a command line names.
"""

from cuarray.inspection.deviations import Deviation
from cuarray.inspection.report import Report

__all__ = ["Deviation", "Report"]
