"""The runner of `make docs-test`: it runs every block of the documents as written. See ``__main__.py``."""
