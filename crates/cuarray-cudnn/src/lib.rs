//! cuDNN's documented interface, computed on the host in the order of streams: the shared library `libcudnn.so.9`.
//!
//! [`entry_points`] lists the functions. A function checks its arguments, describes the bytes that it reads and writes, and enqueues a
//! closure that computes ([`cuarray_stream_work`]). Handles and descriptors are numbers.
//!
//! A tensor is a [`layout`] of elements. The closure sees its values without gaps and in the order of its dimensions, whatever its strides,
//! so each algorithm has one form. Values are `float`, or `double` for tensors of `double` ([`numbers`]). The [`graph`] interface describes
//! operations one by one and runs them as one call. Sequences of recurrent networks have layouts of their own ([`rnn`]).
// Names and parameters are cuDNN's.
#![allow(non_snake_case, clippy::too_many_arguments)]
#![recursion_limit = "512"]

mod activation;
mod algorithms;
mod call;
mod convolution;
mod convolution_descriptor;
mod convolution_engine;
mod ctc;
mod ctc_paths;
mod descriptor_table;
mod descriptors;
mod dropout;
mod elementwise;
mod entry_points;
mod exports;
mod graph;
mod handle;
mod layout;
mod local_normalization;
mod normalization;
mod normalization_extended;
mod numbers;
mod parallel;
mod pooling;
mod reduction;
mod rnn;
mod softmax;
mod spatial_transformer;
mod status;
mod tensor_descriptor;
mod types;
