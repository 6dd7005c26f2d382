//! The shared library `libcusolver.so.11`: every function of [`cuarray_cusolver::api`] under its C name.

cuarray_cusolver::exports!(11 "libcusolver.so.11");
