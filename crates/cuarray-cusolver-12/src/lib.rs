//! The shared library `libcusolver.so.12`: every function of [`cuarray_cusolver::api`] under its C name.

cuarray_cusolver::exports!(12 "libcusolver.so.12");
