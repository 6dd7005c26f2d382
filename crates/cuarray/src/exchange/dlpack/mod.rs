//! DLPack, the other protocol for exchanging arrays.
//!
//! DLPack is a C structure, where the CUDA Array Interface is a dictionary. It is quicker to read, and expresses the
//! device and bfloat16. It has no masks, fields, byte order or stream entry. This folder holds its structures and
//! their meaning, without Python and without a driver. `python::dlpack` implements its Python methods.

pub mod abi;
pub(crate) mod dtype;
pub(crate) mod tensor;
