//! `cudnnBackendDescriptorType_t`, as far as a stand-in has them.

use std::ffi::c_int;

pub(super) const POINTWISE: c_int = 0;
pub(super) const CONVOLUTION: c_int = 1;
pub(super) const ENGINE: c_int = 2;
pub(super) const CONFIGURATION: c_int = 3;
pub(super) const HEURISTICS: c_int = 4;
pub(super) const PLAN: c_int = 5;
pub(super) const KNOB_CHOICE: c_int = 7;
pub(super) const CONVOLUTION_FORWARD: c_int = 10;
pub(super) const CONVOLUTION_FILTER: c_int = 11;
pub(super) const CONVOLUTION_DATA: c_int = 12;
pub(super) const OPERATION_POINTWISE: c_int = 13;
pub(super) const GRAPH: c_int = 15;
pub(super) const PACK: c_int = 16;
pub(super) const TENSOR: c_int = 17;
pub(super) const PRODUCT: c_int = 18;
pub(super) const OPERATION_PRODUCT: c_int = 19;
pub(super) const REDUCTION: c_int = 21;
pub(super) const OPERATION_REDUCTION: c_int = 22;
pub(super) const RESHAPE: c_int = 31;
pub(super) const RANDOM: c_int = 32;
pub(super) const OPERATION_RANDOM: c_int = 33;
pub(super) const DEVICE: c_int = 38;
pub(super) const ATTENTION: c_int = 41;
pub(super) const BAND_MASK: c_int = 44;
pub(super) const SOFTMAX: c_int = 45;
pub(super) const TRANSPOSITION: c_int = 46;
