//! Copies between the host and the device: `cublasSetVector` and the like.

use crate::arguments::{leading, size};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cudaStream_t;
use cuarray_abi::CUstream;
use cuarray_stream_work::{Rows, copy_rows};
use std::ffi::c_void;

/// Copies rows, and waits for the copy unless it has a stream.
fn copy(from: Rows, to: Rows, stream: Option<cudaStream_t>) -> Outcome {
    if from.width == 0 || from.height == 0 {
        return Ok(());
    }
    if from.address == 0 || to.address == 0 {
        return Err(INVALID_VALUE);
    }
    Ok(copy_rows(from, to, stream.map(|stream| CUstream(stream.addr())))?)
}

fn vector(pointer: *const c_void, n: usize, element: usize, increment: i64) -> Outcome<Rows> {
    let increment = size(increment).ok().filter(|increment| *increment > 0).ok_or(INVALID_VALUE)?;
    let pitch = increment.checked_mul(element).ok_or(INVALID_VALUE)?;
    let address = pointer.addr() as u64;
    Ok(match increment {
        1 => Rows { address, width: n.checked_mul(element).ok_or(INVALID_VALUE)?, height: 1, pitch: 0 },
        _ => Rows { address, width: element, height: n, pitch },
    })
}

fn vectors(
    n: i64,
    element: i64,
    x: (*const c_void, i64),
    y: (*mut c_void, i64),
    stream: Option<cudaStream_t>,
) -> Outcome {
    let (n, element) = (size(n)?, size(element).ok().filter(|element| *element > 0).ok_or(INVALID_VALUE)?);
    let (mut x, mut y) = (vector(x.0, n, element, x.1)?, vector(y.0.cast_const(), n, element, y.1)?);
    if x.height != y.height {
        // Both by elements.
        for rows in [&mut x, &mut y] {
            if rows.height == 1 {
                *rows = Rows { width: element, height: n, pitch: element, ..*rows };
            }
        }
    }
    copy(x, y, stream)
}

/// `cublasSetVector`, `cublasGetVector`.
pub(crate) fn copy_vector(n: i64, element: i64, x: *const c_void, incx: i64, y: *mut c_void, incy: i64) -> Outcome {
    vectors(n, element, (x, incx), (y, incy), None)
}

/// `cublasSetVectorAsync`, `cublasGetVectorAsync`.
pub(crate) fn copy_vector_async(
    n: i64,
    element: i64,
    x: *const c_void,
    incx: i64,
    y: *mut c_void,
    incy: i64,
    stream: cudaStream_t,
) -> Outcome {
    vectors(n, element, (x, incx), (y, incy), Some(stream))
}

fn matrices(
    [rows, columns, element]: [i64; 3],
    (a, lda): (*const c_void, i64),
    (b, ldb): (*mut c_void, i64),
    stream: Option<cudaStream_t>,
) -> Outcome {
    let (rows, columns) = (size(rows)?, size(columns)?);
    let element = size(element).ok().filter(|element| *element > 0).ok_or(INVALID_VALUE)?;
    let matrix = |pointer: *const c_void, lead: i64| -> Outcome<Rows> {
        let bytes = |count: usize| -> Outcome<usize> { count.checked_mul(element).ok_or(INVALID_VALUE) };
        let pitch = bytes(leading(lead, rows)?)?;
        Ok(Rows { address: pointer.addr() as u64, width: bytes(rows)?, height: columns, pitch })
    };
    copy(matrix(a, lda)?, matrix(b.cast_const(), ldb)?, stream)
}

/// `cublasSetMatrix`, `cublasGetMatrix`.
pub(crate) fn copy_matrix(
    rows: i64,
    columns: i64,
    element: i64,
    a: *const c_void,
    lda: i64,
    b: *mut c_void,
    ldb: i64,
) -> Outcome {
    matrices([rows, columns, element], (a, lda), (b, ldb), None)
}

/// `cublasSetMatrixAsync`, `cublasGetMatrixAsync`.
pub(crate) fn copy_matrix_async(
    rows: i64,
    columns: i64,
    element: i64,
    a: *const c_void,
    lda: i64,
    b: *mut c_void,
    ldb: i64,
    stream: cudaStream_t,
) -> Outcome {
    matrices([rows, columns, element], (a, lda), (b, ldb), Some(stream))
}
