//! DLPack: the other protocol by which arrays change hands.
//!
//! It is a C structure where the CUDA Array Interface is a dictionary: quicker to read, with a name for the device and for
//! bfloat16, and without masks, fields, byte order or an entry for a stream. Here are the structures and what they mean;
//! nothing in this room knows Python or a driver. What Python objects do with it is in `python::dlpack`.

pub mod abi;
pub(crate) mod dtype;
pub(crate) mod tensor;
