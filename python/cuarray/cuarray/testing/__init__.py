"""Assertions and arrays for the tests of code that exchanges GPU arrays.

A test of an exchange asks three questions. Does the import share the memory (:func:`assert_same_memory`)? Does the consumer's work
run after the producer's (:func:`assert_ordered`)? Does the code take every legal layout, and refuse what is illegal? For the last
one there are arrays of every awkward layout, each with its elements on the host (:func:`array`, :data:`ARRAYS`).

The arrays belong to no library. They come from the same list as the checks of ``cuarray check``, so code that takes them takes what the
kit would export. Two modules need a test library, and are imported by name only:

- :mod:`cuarray.testing.fixtures` has the arrays as a fixture of pytest;
- :mod:`cuarray.testing.strategies` has layouts, arrays, and valid and hostile dictionaries as strategies of Hypothesis.
"""

from cuarray.testing.arrays import ARRAYS, Array, array
from cuarray.testing.memory import assert_same_memory
from cuarray.testing.order import assert_ordered

__all__ = ["ARRAYS", "Array", "array", "assert_ordered", "assert_same_memory"]
