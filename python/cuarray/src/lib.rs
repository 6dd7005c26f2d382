//! The extension module `cuarray._core`: what the crate's feature `python` defines, under the names that Python sees.
