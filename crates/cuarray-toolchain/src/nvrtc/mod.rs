//! A stand-in for NVRTC that asks NVIDIA's for PTX where machine code is wanted.
//!
//! Each documented function of [NVRTC](https://docs.nvidia.com/cuda/nvrtc/index.html) calls NVIDIA's, which must be installed.
//! Two things differ. `nvrtcCompileProgram` replaces the architecture of a device with the virtual one. `nvrtcGetCUBIN` and
//! `nvrtcGetCUBINSize` then answer with the PTX. If the program is compiled with lines, its source follows as comments.

pub mod exports;
mod options;
mod programs;

pub use options::virtual_architecture;
