//! Arguments of the C functions as values, and the call that they describe.

use crate::handle::Handle;
use crate::matrix::Fill;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::{cublasFillMode_t, cusolverStatus_t};
use cuarray_abi::CUstream;
use cuarray_stream_work::{Argument, Data, Region, Rows, Work, write};
use std::ffi::{CStr, c_int, c_void};

/// `cublasOperation_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    None,
    Transpose,
    Adjoint,
}

impl Op {
    pub(crate) fn of(number: c_int) -> Outcome<Op> {
        match number {
            0 => Ok(Op::None),
            1 => Ok(Op::Transpose),
            2 => Ok(Op::Adjoint),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// `cublasFillMode_t` without `FULL`.
pub(crate) fn fill(number: c_int) -> Outcome<Fill> {
    match number {
        0 => Ok(Fill::Lower),
        1 => Ok(Fill::Upper),
        _ => Err(INVALID_VALUE),
    }
}

/// A value of two: `cublasSideMode_t`, whether the side is right; `cusolverEigMode_t`, whether vectors are computed.
pub(crate) fn choice(number: c_int) -> Outcome<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(INVALID_VALUE),
    }
}

/// A number of elements.
pub(crate) fn size(number: i64) -> Outcome<usize> {
    usize::try_from(number).map_err(|_| INVALID_VALUE)
}

/// The largest order of a matrix: 2^20, with 2 TB as a triangle in single precision.
const LARGEST_ORDER: usize = 1 << 20;

/// The order of a matrix. Triangles are described column by column, so one that no memory holds is refused before that.
pub(crate) fn order(number: i64) -> Outcome<usize> {
    let n = size(number)?;
    if n > LARGEST_ORDER { Err(cusolverStatus_t::ALLOC_FAILED) } else { Ok(n) }
}

/// A leading dimension for columns of `rows` elements.
pub(crate) fn leading(number: i64, rows: usize) -> Outcome<usize> {
    size(number).ok().filter(|leading| *leading >= rows.max(1)).ok_or(INVALID_VALUE)
}

/// A number of elements of a workspace for the caller. A call that needs more takes its size in bytes of 64 bits.
pub(crate) fn elements(count: usize) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX).max(1)
}

/// The elements of the workspace of a function that takes 32 columns of a matrix at a time.
pub(crate) fn block_elements(n: usize) -> c_int {
    elements(n.saturating_mul(32))
}

/// Tells the workspace of a function that takes 32 columns of the triangle of a matrix at a time.
pub(crate) fn tell_block_elements(uplo: cublasFillMode_t, n: i64, lda: i64, lwork: *mut c_int) -> Outcome {
    fill(uplo)?;
    let n = order(n)?;
    leading(lda, n)?;
    write(lwork, block_elements(n))
}

/// A call of a function: its work so far.
pub(crate) struct Call<'h> {
    handle: &'h Handle,
    stream: CUstream,
    work: Work,
    info_name: &'static CStr,
}

impl<'h> Call<'h> {
    pub(crate) fn of(handle: &'h Handle) -> Call<'h> {
        Call { handle, stream: handle.settings().stream, work: Work::new(), info_name: c"devInfo" }
    }

    /// The call of a function whose header has another name for the result that tells of failures.
    pub(crate) fn with_info(self, name: &'static CStr) -> Call<'h> {
        Call { info_name: name, ..self }
    }

    /// An argument that is read.
    pub(crate) fn reads(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        region.present().map(|region| self.work.reads(name, region))
    }

    /// An argument that is written.
    pub(crate) fn writes(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        region.present().map(|region| self.work.writes(name, region))
    }

    /// An argument that is read and written.
    pub(crate) fn updates(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        region.present().map(|region| self.work.updates(name, region))
    }

    /// A vector that is read.
    pub(crate) fn reads_vector<T>(&mut self, name: &'static CStr, at: *const T, count: usize) -> Outcome<Argument> {
        self.reads(name, Rows::of::<T>(at.addr() as u64, count).into())
    }

    /// A vector that is written.
    pub(crate) fn writes_vector<T>(&mut self, name: &'static CStr, at: *const T, count: usize) -> Outcome<Argument> {
        self.writes(name, Rows::of::<T>(at.addr() as u64, count).into())
    }

    /// The result that tells of failures, in device memory.
    pub(crate) fn info(&mut self, at: *mut c_int) -> Outcome<Argument> {
        self.infos(at, 1)
    }

    /// The results that tell of the failures of a batch, in device memory.
    pub(crate) fn infos(&mut self, at: *mut c_int, count: usize) -> Outcome<Argument> {
        self.writes_vector(self.info_name, at, count)
    }

    /// A workspace that has `given` of at least `needed` elements. Its values are lost in stream order.
    pub(crate) fn workspace<T>(&mut self, name: &'static CStr, at: *mut T, given: i64, needed: c_int) -> Outcome {
        let bytes = |elements: i64| size(elements).map(|elements| elements.saturating_mul(size_of::<T>()));
        self.buffer(name, at.cast(), bytes(given)?, bytes(needed.into())?)
    }

    /// A workspace that has `given` of at least `needed` bytes, as [`Call::workspace`].
    pub(crate) fn buffer(&mut self, name: &'static CStr, at: *mut c_void, given: usize, needed: usize) -> Outcome {
        if given < needed || at.is_null() {
            return Err(INVALID_VALUE);
        }
        self.work.scratch(name, at.addr() as u64, needed);
        Ok(())
    }

    /// Checks that the call may wait for its work, which no capture can do.
    pub(crate) fn check_wait(&self) -> Outcome {
        if self.handle.place.is_capturing(self.stream)? { Err(NOT_SUPPORTED) } else { Ok(()) }
    }

    /// Enqueues the work, and waits for it, as a function with results on the host does.
    pub(crate) fn computes_and_waits(self, closure: impl Fn(&mut Data<'_>) + Send + Sync + 'static) -> Outcome {
        self.check_wait()?;
        let (handle, stream) = (self.handle, self.stream);
        self.computes(closure)?;
        Ok(handle.place.wait(stream)?)
    }

    /// Enqueues the work.
    pub(crate) fn computes(self, closure: impl Fn(&mut Data<'_>) + Send + Sync + 'static) -> Outcome {
        Ok(self.handle.place.enqueue(self.stream, self.work, closure)?)
    }
}

/// Results on the host, which a closure writes while the call waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostResults<V> {
    address: usize,
    of: std::marker::PhantomData<fn(V)>,
}

impl<V> HostResults<V> {
    /// The results at a pointer of the caller.
    pub(crate) fn at(pointer: *mut V) -> Outcome<HostResults<V>> {
        if pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        Ok(HostResults { address: pointer.expose_provenance(), of: std::marker::PhantomData })
    }

    /// Writes a result. Called only by closures of [`Call::computes_and_waits`].
    pub(crate) fn write(&self, index: usize, value: V) {
        let to = std::ptr::with_exposed_provenance_mut::<V>(self.address);
        // SAFETY: the call waits for the closure, and until then the results may be written by the contract of the C function.
        unsafe { to.add(index).write_unaligned(value) };
    }
}

/// Writes the result that tells of failures.
pub(crate) fn tell(data: &mut Data<'_>, info: Argument, value: usize) {
    data.take::<c_int>(info).fill(c_int::try_from(value).unwrap_or(c_int::MAX));
}
