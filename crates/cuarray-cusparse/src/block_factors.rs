//! Incomplete factors of matrices in the format BSR: `bsrilu02` and `bsric02`. Blocks have all their elements, so the factors of the matrix of
//! single entries are those of the blocks.

use crate::blocks::{A, blocks};
use crate::call::{WORKSPACE, size};
use crate::handle::Handle;
use crate::incomplete::{Factors, analyze, factor};
use crate::numbers::Scalar;
use crate::status::{Outcome, write};
use crate::types::*;
use std::ffi::{c_int, c_void};

/// The size of the workspace as a 32-bit number.
pub(crate) fn needed<T: Scalar>(
    _: &Handle,
    direction: cusparseDirection_t,
    mb: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    _: info_t,
    bytes: *mut c_int,
) -> Outcome {
    blocks(direction, (mb, mb, nnzb), descriptor, (val.cast_const(), row, col), block)?;
    write(bytes, WORKSPACE as c_int)
}

/// The size of the workspace.
pub(crate) fn needed_ext<T: Scalar>(
    _: &Handle,
    direction: cusparseDirection_t,
    mb: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    _: info_t,
    bytes: *mut usize,
) -> Outcome {
    blocks(direction, (mb, mb, nnzb), descriptor, (val.cast_const(), row, col), block)?;
    write(bytes, WORKSPACE)
}

/// `cusparse<t>bsrilu02_analysis` and `cusparse<t>bsric02_analysis`: finds the first absent block on the diagonal.
pub(crate) fn analysis<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    mb: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = blocks(direction, (mb, mb, nnzb), descriptor, (val, row, col), block)?;
    analyze(handle, &a, (&A, size(block)?), info, buffer)
}

/// `cusparse<t>bsrilu02`.
pub(crate) fn bsrilu02<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    mb: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = blocks(direction, (mb, mb, nnzb), descriptor, (val.cast_const(), row, col), block)?;
    factor::<T>(handle, &a, (&A, size(block)?), info, buffer, Factors::Lu)
}

/// `cusparse<t>bsric02`.
pub(crate) fn bsric02<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    mb: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = blocks(direction, (mb, mb, nnzb), descriptor, (val.cast_const(), row, col), block)?;
    factor::<T>(handle, &a, (&A, size(block)?), info, buffer, Factors::Cholesky)
}
