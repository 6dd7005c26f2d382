//! The shared library `libnccl.so.2`: NCCL's documented interface, for the ranks of one process on the simulated driver.
//!
//! A call waits on the host until all ranks of the operation have called. The last of them enqueues the work of all ranks in their streams:
//! copies between devices, and a kernel that reduces. Events order the streams, so the driver sees each edge that the operation makes, and no
//! other. Ranks in other processes, reductions of 8-bit floats, and functions of the device-side interface are refused by name.

mod collectives;
mod communicators;
mod driver;
mod group;
mod kernel;
mod plan;
mod refused;
mod result;
mod state;
mod types;
