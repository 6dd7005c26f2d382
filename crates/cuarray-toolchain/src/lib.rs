#![doc = include_str!("../README.md")]
// The names of C functions are those of NVIDIA's headers.
#![allow(non_snake_case)]

pub mod environment;
mod library;
pub mod nvjitlink;
pub mod nvrtc;
pub mod ptxas;
