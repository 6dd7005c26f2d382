"""The folders that hold installed packages: the virtual environments, CuPy, nvcc and others.

`python -m environments STAMP...` makes the folders of these stamps, and `python -m environments` lists them. The Makefile decides when:
a stamp is older than the files that it depends on. :mod:`environments.table` says what is installed, :mod:`environments.steps` how.
"""
