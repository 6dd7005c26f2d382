//! Arguments of the C functions as values, and the call that they describe.

use crate::handle::Handle;
use crate::layout::Fill;
use crate::scalar::Scalar;
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cublasStatus_t;
use cuarray_abi::CUstream;
use cuarray_stream_work::{Argument, Data, Plain, Region, Rows, Work};
use std::ffi::{CStr, c_int};

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

    /// Whether rows and columns change places.
    pub(crate) fn swaps(self) -> bool {
        self != Op::None
    }

    /// The rows and columns of the stored matrix whose operation has these.
    pub(crate) fn stored(self, rows: usize, columns: usize) -> (usize, usize) {
        if self.swaps() { (columns, rows) } else { (rows, columns) }
    }

    /// The element as the operation has it.
    pub(crate) fn element<T: Scalar>(self, value: T) -> T {
        if self == Op::Adjoint { value.conj() } else { value }
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

/// A value of two: `cublasSideMode_t`, whether the side is right; `cublasDiagType_t`, whether the diagonal is one.
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

/// The largest order of a matrix that is stored as a triangle: 2^20, with 2 TB in single precision.
const LARGEST_ORDER: usize = 1 << 20;
/// The largest number of columns of a band.
const LARGEST_BAND: usize = 1 << 26;

/// The order of a matrix that is stored as a triangle. It is described column by column, so a larger one than memory holds is refused
/// before that.
pub(crate) fn order(n: usize) -> Outcome<usize> {
    if n > LARGEST_ORDER { Err(cublasStatus_t::ALLOC_FAILED) } else { Ok(n) }
}

/// The number of columns of a band, as [`order`].
pub(crate) fn band(n: usize) -> Outcome<usize> {
    if n > LARGEST_BAND { Err(cublasStatus_t::ALLOC_FAILED) } else { Ok(n) }
}

/// A leading dimension for columns of `rows` elements.
pub(crate) fn leading(number: i64, rows: usize) -> Outcome<usize> {
    size(number).ok().filter(|leading| *leading >= rows.max(1)).ok_or(INVALID_VALUE)
}

/// A scalar: read at the call from the host, or in stream order from device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<T> {
    Host(T),
    Device(Argument),
}

impl<T: Scalar> Given<T> {
    /// The value, when the work runs.
    pub(crate) fn value(self, data: &mut Data<'_>) -> T {
        match self {
            Given::Host(value) => value,
            Given::Device(argument) => data.take::<T>(argument).first().copied().unwrap_or_default(),
        }
    }

    /// Whether the call knows that the scalar has this value.
    pub(crate) fn is(self, value: T) -> bool {
        matches!(self, Given::Host(known) if known == value)
    }
}

/// A call of a function: its work so far.
pub(crate) struct Call<'h> {
    handle: &'h Handle,
    pub(crate) stream: CUstream,
    /// Whether scalars and results are in device memory.
    pub(crate) on_device: bool,
    pub(crate) work: Work,
}

impl<'h> Call<'h> {
    pub(crate) fn of(handle: &'h Handle) -> Call<'h> {
        let settings = handle.settings();
        Call { handle, stream: settings.stream, on_device: settings.on_device, work: Work::new() }
    }

    /// A call in a stream that is an argument, as those of cublasLt.
    pub(crate) fn in_stream(handle: &'h Handle, stream: CUstream) -> Call<'h> {
        Call { handle, stream, on_device: false, work: Work::new() }
    }

    /// A scalar of the call.
    pub(crate) fn scalar<T: Scalar>(&mut self, name: &'static CStr, pointer: *const T) -> Outcome<Given<T>> {
        if pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        if self.on_device {
            return Ok(Given::Device(self.work.reads(name, Rows::of::<T>(pointer.addr() as u64, 1).into())));
        }
        // SAFETY: in host pointer mode the pointer is that of a scalar, by the contract of the C function. Any alignment is read.
        Ok(Given::Host(unsafe { pointer.read_unaligned() }))
    }

    /// An argument that is read.
    pub(crate) fn reads(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        region.present().map(|region| self.work.reads(name, region))
    }

    /// An argument that is read, and that the closure may not use.
    pub(crate) fn may_read(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        region.present().map(|region| self.work.may_read(name, region))
    }

    /// An argument that is written.
    pub(crate) fn writes(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        region.present().map(|region| self.work.writes(name, region))
    }

    /// An argument that is read and written.
    pub(crate) fn updates(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        region.present().map(|region| self.work.updates(name, region))
    }

    /// An argument that is multiplied, and not read if its factor is 0. The host has left a call with such a factor already; a factor in device
    /// memory is known to the closure only.
    pub(crate) fn multiplied<T: Scalar>(
        &mut self,
        name: &'static CStr,
        region: Region,
        by: Given<T>,
    ) -> Outcome<Argument> {
        match by {
            Given::Host(_) => self.reads(name, region),
            Given::Device(_) => self.may_read(name, region),
        }
    }

    /// An argument that products are added to, and which stays as it is if their factor is 0.
    pub(crate) fn added_to<T: Scalar>(
        &mut self,
        name: &'static CStr,
        region: Region,
        by: Given<T>,
    ) -> Outcome<Argument> {
        region.present().map(|region| match by {
            Given::Host(_) => self.work.updates(name, region),
            Given::Device(_) => self.work.may_update(name, region),
        })
    }

    /// An argument that is written, and read first unless its factor is 0.
    pub(crate) fn scaled<T: Scalar>(&mut self, name: &'static CStr, region: Region, by: Given<T>) -> Outcome<Argument> {
        region.present().map(|region| match by {
            Given::Host(factor) if factor.is_zero() => self.work.writes(name, region),
            Given::Host(_) => self.work.updates(name, region),
            Given::Device(_) => self.work.may_update(name, region),
        })
    }

    /// Enqueues the work.
    pub(crate) fn computes(self, closure: impl Fn(&mut Data<'_>) + Send + Sync + 'static) -> Outcome {
        Ok(self.handle.place.enqueue(self.stream, self.work, closure)?)
    }

    /// Enqueues work that has a result of one value: in device memory, or on the host, for which the call waits.
    pub(crate) fn returns<V: Plain>(
        mut self,
        result: *mut V,
        closure: impl Fn(&mut Data<'_>) -> V + Send + Sync + 'static,
    ) -> Outcome {
        if result.is_null() {
            return Err(INVALID_VALUE);
        }
        let address = result.addr();
        if self.on_device {
            let result = self.work.writes(c"result", Rows::of::<V>(address as u64, 1).into());
            return self.computes(move |data| {
                let value = closure(data);
                data.take::<V>(result).fill(value);
            });
        }
        if self.handle.place.is_capturing(self.stream)? {
            // The result is ready when the call returns, which a capture cannot do.
            return Err(crate::status::NOT_SUPPORTED);
        }
        let (handle, stream) = (self.handle, self.stream);
        self.computes(move |data| {
            let value = closure(data);
            // SAFETY: the call waits for this closure, and until then the pointer may be written by the contract of the C function.
            unsafe { std::ptr::with_exposed_provenance_mut::<V>(address).write_unaligned(value) };
        })?;
        Ok(handle.place.wait(stream)?)
    }
}
