//! The attributes of descriptors: their types and the largest numbers of their elements.

use super::kinds::*;
use crate::layout::MOST_DIMENSIONS;
use std::ffi::c_int;

/// `cudnnBackendAttributeType_t`.
#[allow(missing_docs)]
pub(super) mod types {
    use std::ffi::c_int;

    pub(crate) const HANDLE: c_int = 0;
    pub(crate) const DATA_TYPE: c_int = 1;
    pub(crate) const BOOLEAN: c_int = 2;
    pub(crate) const INT64: c_int = 3;
    pub(crate) const FLOAT: c_int = 4;
    pub(crate) const DOUBLE: c_int = 5;
    pub(crate) const VOID_PTR: c_int = 6;
    pub(crate) const CONVOLUTION_MODE: c_int = 7;
    pub(crate) const HEUR_MODE: c_int = 8;
    pub(crate) const KNOB_TYPE: c_int = 9;
    pub(crate) const NAN_PROPAGATION: c_int = 10;
    pub(crate) const NUMERICAL_NOTE: c_int = 11;
    pub(crate) const POINTWISE_MODE: c_int = 14;
    pub(crate) const DESCRIPTOR: c_int = 15;
    pub(crate) const REDUCTION_OPERATOR: c_int = 18;
    pub(crate) const BEHAVIOR_NOTE: c_int = 19;
    pub(crate) const REORDERING_MODE: c_int = 20;
    pub(crate) const INT32: c_int = 23;
    pub(crate) const CHAR: c_int = 24;
    pub(crate) const RANDOM_DISTRIBUTION: c_int = 29;
    pub(crate) const RESHAPE_MODE: c_int = 31;
}
use types::*;

/// The bytes of an element of a type.
pub(super) fn size(kind: c_int) -> usize {
    match kind {
        HANDLE | INT64 | DOUBLE | VOID_PTR | DESCRIPTOR => 8,
        BOOLEAN | CHAR => 1,
        _ => 4,
    }
}

/// The largest number of operations of a graph, of pointers of a call, and of choices of an engine.
const MANY: usize = 4096;
/// The largest number of bytes of a plan as text.
const LONGEST_TEXT: usize = 1 << 24;

/// The types that an attribute of a descriptor may have, and the largest number of its elements.
pub(super) fn settable(kind: c_int, attribute: c_int) -> Option<(&'static [c_int], usize)> {
    let known: (&[c_int], usize) = match (kind, attribute) {
        (TENSOR, 900 | 904 | 905 | 906) => (&[INT64], 1),
        (TENSOR, 901) => (&[DATA_TYPE], 1),
        (TENSOR, 902 | 903) => (&[INT64], MOST_DIMENSIONS),
        (TENSOR, 907 | 908) => (&[BOOLEAN], 1),
        (TENSOR, 909) => (&[REORDERING_MODE], 1),
        (CONVOLUTION, 100) => (&[DATA_TYPE], 1),
        (CONVOLUTION, 101) => (&[CONVOLUTION_MODE], 1),
        (CONVOLUTION, 102..=105) => (&[INT64], MOST_DIMENSIONS),
        (CONVOLUTION, 106) => (&[INT64], 1),
        (POINTWISE, 0) => (&[POINTWISE_MODE], 1),
        (POINTWISE, 1) => (&[DATA_TYPE], 1),
        (POINTWISE, 2) => (&[NAN_PROPAGATION], 1),
        (POINTWISE, 3..=8) => (&[FLOAT, DOUBLE], 1),
        (POINTWISE, 9) => (&[INT64], 1),
        (CONVOLUTION_FORWARD, 700 | 701) => (&[FLOAT, DOUBLE], 1),
        (CONVOLUTION_FORWARD, 702..=705) => (&[DESCRIPTOR], 1),
        (CONVOLUTION_DATA, 706 | 707) => (&[FLOAT, DOUBLE], 1),
        (CONVOLUTION_DATA, 708..=711) => (&[DESCRIPTOR], 1),
        (CONVOLUTION_FILTER, 712 | 713) => (&[FLOAT, DOUBLE], 1),
        (CONVOLUTION_FILTER, 714..=717) => (&[DESCRIPTOR], 1),
        (OPERATION_POINTWISE, 750..=753 | 756..=758) => (&[DESCRIPTOR], 1),
        (OPERATION_POINTWISE, 754 | 755) => (&[FLOAT, DOUBLE], 1),
        (PRODUCT, 1500) => (&[DATA_TYPE], 1),
        (PRODUCT, 1503) => (&[FLOAT, DOUBLE], 1),
        (OPERATION_PRODUCT, 1520..=1523 | 1525..=1527) => (&[DESCRIPTOR], 1),
        (OPERATION_PRODUCT, 1524) => (&[INT64], 1),
        (REDUCTION, 1600) => (&[REDUCTION_OPERATOR], 1),
        (REDUCTION, 1601) => (&[DATA_TYPE], 1),
        (REDUCTION, 1602) => (&[BOOLEAN], 1),
        (OPERATION_REDUCTION, 1610..=1612) => (&[DESCRIPTOR], 1),
        (RESHAPE, 2200 | 2201) => (&[DESCRIPTOR], 1),
        (RESHAPE, 2202) => (&[RESHAPE_MODE], 1),
        (RANDOM, 2300) => (&[RANDOM_DISTRIBUTION], 1),
        (RANDOM, 2301..=2305) => (&[FLOAT, DOUBLE], 1),
        (OPERATION_RANDOM, 2310 | 2312 | 2313) => (&[DESCRIPTOR], 1),
        (OPERATION_RANDOM, 2311) => (&[INT64, DESCRIPTOR], 1),
        (ATTENTION, 2800..=2805 | 2809..=2811 | 2814) => (&[DESCRIPTOR], 1),
        (ATTENTION, 2812 | 2813) => (&[INT64], 1),
        (ATTENTION, 2818) => (&[FLOAT], 1),
        (BAND_MASK, 3000..=3006) => (&[DESCRIPTOR], 1),
        (BAND_MASK, 3007) => (&[POINTWISE_MODE], 1),
        (SOFTMAX, 3100..=3105) => (&[DESCRIPTOR], 1),
        (SOFTMAX, 3106) => (&[BOOLEAN], 1),
        (TRANSPOSITION, 3200 | 3201) => (&[DESCRIPTOR], 1),
        (TRANSPOSITION, 3202) => (&[INT64], MOST_DIMENSIONS),
        (GRAPH, 800) => (&[HANDLE], 1),
        (GRAPH, 801) => (&[DESCRIPTOR], MANY),
        (GRAPH, 803 | 805) => (&[BOOLEAN], 1),
        (ENGINE, 1300 | 1307) => (&[DESCRIPTOR], 1),
        (ENGINE, 1301) => (&[INT64], 1),
        (ENGINE, 1306) => (&[INT32], 1),
        (CONFIGURATION, 300) => (&[DESCRIPTOR], 1),
        (CONFIGURATION, 302) => (&[DESCRIPTOR], MANY),
        (HEURISTICS, 200) => (&[HEUR_MODE], 1),
        (HEURISTICS, 201 | 204) => (&[DESCRIPTOR], 1),
        (HEURISTICS, 203) => (&[INT32], 1),
        (PLAN, 400) => (&[HANDLE], 1),
        (PLAN, 401 | 407) => (&[DESCRIPTOR], 1),
        (PLAN, 405) => (&[CHAR], LONGEST_TEXT),
        (KNOB_CHOICE, 600) => (&[KNOB_TYPE], 1),
        (KNOB_CHOICE, 601) => (&[INT64], 1),
        (PACK, 1000) => (&[INT64], MANY),
        (PACK, 1001) => (&[VOID_PTR], MANY),
        (PACK, 1002) => (&[DESCRIPTOR], MANY),
        (PACK, 1003) => (&[VOID_PTR], 1),
        (DEVICE, 2700) => (&[INT32], 1),
        (DEVICE, 2701) => (&[HANDLE], 1),
        _ => return None,
    };
    Some(known)
}

/// The types of the attributes that finalized descriptors tell and no program sets. Lists have no elements here, but for the results of
/// heuristics.
pub(super) fn told(kind: c_int, attribute: c_int) -> Option<c_int> {
    match (kind, attribute) {
        (GRAPH, 802) | (CONFIGURATION, 303 | 304) | (PLAN, 402..=404) => Some(INT64),
        (HEURISTICS, 202) | (CONFIGURATION, 301) | (ENGINE, 1302 | 1304) => Some(DESCRIPTOR),
        (ENGINE, 1303) => Some(NUMERICAL_NOTE),
        (ENGINE, 1305) => Some(BEHAVIOR_NOTE),
        _ => None,
    }
}
