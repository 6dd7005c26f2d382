//! A call of a function: its work, its scalars, its results, and messages about data in device memory that no call may have.

use crate::handle::Handle;
use crate::numbers::{Number, Type, narrow, widen};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use cuarray_abi::CUstream;
use cuarray_stream_work::{Argument, Data, Integers, LibraryCall, Plain, Region, Rows, Work};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of the workspaces that functions ask for. Their values are lost in stream order, so a workspace of two streams is found.
pub(crate) const WORKSPACE: usize = 512;

/// `cusparseOperation_t`.
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

    /// A value, conjugated by the adjoint.
    pub(crate) fn value<W: Number>(self, value: W) -> W {
        if self == Op::Adjoint { value.conj() } else { value }
    }
}

/// A number of elements.
pub(crate) fn size(number: impl Into<i64>) -> Outcome<usize> {
    usize::try_from(number.into()).map_err(|_| INVALID_VALUE)
}

/// A leading dimension for `inner` elements.
pub(crate) fn leading(number: impl Into<i64>, inner: usize) -> Outcome<usize> {
    size(number).ok().filter(|leading| *leading >= inner.max(1)).ok_or(INVALID_VALUE)
}

/// `cusparseIndexBase_t`.
pub(crate) fn base(number: c_int) -> Outcome<usize> {
    match number {
        0 => Ok(0),
        1 => Ok(1),
        _ => Err(INVALID_VALUE),
    }
}

/// An enumeration of two values.
pub(crate) fn choice(number: c_int) -> Outcome<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(INVALID_VALUE),
    }
}

/// A scalar of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given {
    Host(f64, f64),
    Device(Argument, Type),
}

impl Given {
    /// The value.
    pub(crate) fn get<W: Number>(self, data: &mut Data<'_>) -> W {
        match self {
            Given::Host(re, im) => W::of_parts(re, im),
            Given::Device(argument, kind) => widen(data, argument, kind).first().copied().unwrap_or_default(),
        }
    }

    /// Whether the call knows that the scalar is 0.
    pub(crate) fn is_zero(self) -> bool {
        matches!(self, Given::Host(re, im) if re == 0.0 && im == 0.0)
    }
}

/// A call of a function: its work so far.
pub(crate) struct Call<'h> {
    handle: &'h Handle,
    stream: CUstream,
    /// Whether scalars and results are in device memory.
    pub(crate) on_device: bool,
    work: Work,
    /// The function, for messages.
    pub(crate) name: &'static CStr,
}

impl<'h> Call<'h> {
    pub(crate) fn of(handle: &'h Handle) -> Call<'h> {
        let settings = *handle.settings();
        let name = LibraryCall::current().unwrap_or(c"a function of cuSPARSE");
        Call { handle, stream: settings.stream, on_device: settings.on_device, work: Work::new(), name }
    }

    /// A scalar.
    pub(crate) fn scalar(&mut self, name: &'static CStr, pointer: *const c_void, kind: Type) -> Outcome<Given> {
        if pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        if self.on_device {
            return Ok(Given::Device(self.work.reads(name, values(pointer.addr() as u64, 1, kind)), kind));
        }
        let (re, im) = crate::numbers::of_type!(kind, T => {
            // SAFETY: in host pointer mode the pointer is that of a scalar, by the contract of the C function. Any alignment is read.
            crate::numbers::Stored::parts(unsafe { pointer.cast::<T>().read_unaligned() })
        });
        Ok(Given::Host(re, im))
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

    /// An argument that is written, and read first unless its factor is 0.
    pub(crate) fn scaled(&mut self, name: &'static CStr, region: Region, by: Given) -> Outcome<Argument> {
        region.present().map(|region| match by {
            factor if factor.is_zero() => self.work.writes(name, region),
            Given::Host(..) => self.work.updates(name, region),
            Given::Device(..) => self.work.may_update(name, region),
        })
    }

    /// A workspace of `bytes` bytes. Its values are lost in stream order.
    pub(crate) fn workspace(&mut self, at: *const c_void, bytes: usize) -> Outcome {
        if at.is_null() && bytes > 0 {
            return Err(INVALID_VALUE);
        }
        self.work.scratch(c"externalBuffer", at.addr() as u64, bytes);
        Ok(())
    }

    /// Enqueues the work.
    pub(crate) fn computes(self, closure: impl Fn(&mut Data<'_>) + Send + Sync + 'static) -> Outcome {
        Ok(self.handle.place.enqueue(self.stream, self.work, closure)?)
    }

    /// Checks that the call may wait for its work, which no capture can do.
    pub(crate) fn check_wait(&self) -> Outcome {
        if self.handle.place.is_capturing(self.stream)? { Err(NOT_SUPPORTED) } else { Ok(()) }
    }

    /// Enqueues the work, and waits for it.
    pub(crate) fn computes_and_waits(self, closure: impl Fn(&mut Data<'_>) + Send + Sync + 'static) -> Outcome {
        self.check_wait()?;
        let (handle, stream) = (self.handle, self.stream);
        self.computes(closure)?;
        Ok(handle.place.wait(stream)?)
    }

    /// Enqueues work that has a result of one value: in device memory, or on the host, for which the call waits.
    pub(crate) fn returns<V: Plain>(
        mut self,
        name: &'static CStr,
        result: *mut V,
        closure: impl Fn(&mut Data<'_>) -> V + Send + Sync + 'static,
    ) -> Outcome {
        if result.is_null() {
            return Err(INVALID_VALUE);
        }
        let address = result.addr();
        if self.on_device {
            let result = self.work.writes(name, Rows::of::<V>(address as u64, 1).into());
            return self.computes(move |data| {
                let value = closure(data);
                data.take::<V>(result).fill(value);
            });
        }
        let address = result.expose_provenance();
        self.computes_and_waits(move |data| {
            let value = closure(data);
            // SAFETY: the call waits for this closure, and until then the pointer may be written by the contract of the C function.
            unsafe { std::ptr::with_exposed_provenance_mut::<V>(address).write_unaligned(value) };
        })
    }

    /// Enqueues work that has a number as its result, of a type that the call names.
    pub(crate) fn returns_number<W: Number>(
        mut self,
        name: &'static CStr,
        result: *mut c_void,
        kind: Type,
        closure: impl Fn(&mut Data<'_>) -> W + Send + Sync + 'static,
    ) -> Outcome {
        if self.on_device {
            let to = self.writes(name, values(result.addr() as u64, 1, kind))?;
            return self.computes(move |data| {
                let value = closure(data);
                narrow(data, to, kind, &[value]);
            });
        }
        crate::numbers::of_type!(kind, T => self.returns::<T>(name, result.cast(), move |data| {
            let (re, im) = closure(data).parts();
            crate::numbers::Stored::of(re, im)
        }))
    }
}

/// Contiguous numbers.
pub(crate) fn values(address: u64, count: usize, kind: Type) -> Region {
    bytes(address, count.saturating_mul(kind.size()))
}

/// Contiguous integers.
pub(crate) fn numbers(address: u64, count: usize, kind: Integers) -> Region {
    bytes(address, count.saturating_mul(kind.size()))
}

fn bytes(address: u64, width: usize) -> Region {
    Rows { address, width, height: 1, pitch: 0 }.into()
}

/// The messages that a process prints at most about wrong data, as one wrong array may have thousands of wrong values.
const MESSAGES: usize = 10;

/// Says that an array in device memory has a number with which a GPU would access other memory.
pub(crate) fn tell_outside(function: &CStr, argument: &CStr, place: usize, number: usize, limit: usize) {
    use std::io::Write;
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    if TOLD.fetch_add(1, Ordering::Relaxed) < MESSAGES {
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "cuarray-sim: {}: {} has {} at element {place} after its index base, outside of 0..{limit}, so the result is wrong; a GPU \
             accesses other memory there",
            function.to_string_lossy(),
            argument.to_string_lossy(),
            number as isize,
        );
    }
}
