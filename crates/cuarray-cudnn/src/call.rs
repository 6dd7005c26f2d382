//! A call of a function: its work, and its tensors.

use crate::handle::Handle;
use crate::layout::{Layout, Staged};
use crate::numbers::{Element, Factors, Real};
use crate::status::{BAD_PARAM, NULL_POINTER, Outcome, cudnnStatus_t};
use cuarray_abi::CUstream;
use cuarray_stream_work::{Argument, Data, Region, Rows, Work};
use std::ffi::{CStr, c_void};

/// A tensor that is read.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    argument: Argument,
    staged: Staged,
}

impl Input {
    /// The values in the order of the dimensions.
    pub(crate) fn values<T: Element>(&self, data: &mut Data<'_>) -> Vec<T::Wide> {
        self.staged.values(data.take::<T>(self.argument))
    }
}

/// A tensor that is written, with the factors of its result.
#[derive(Clone, Debug)]
pub(crate) struct Output<W> {
    argument: Argument,
    staged: Staged,
    factors: Factors<W>,
}

impl<W: Real> Output<W> {
    /// Stores the result in the order of the dimensions.
    pub(crate) fn store<T: Element<Wide = W>>(&self, data: &mut Data<'_>, values: &[W]) {
        self.staged.store(data.take::<T>(self.argument), values, self.factors);
    }
}

/// A call of a function: its work so far.
pub(crate) struct Call<'h> {
    handle: &'h Handle,
    stream: CUstream,
    work: Work,
}

impl<'h> Call<'h> {
    pub(crate) fn of(handle: &'h Handle) -> Call<'h> {
        Call { handle, stream: handle.settings().stream, work: Work::new() }
    }

    /// A tensor that is read.
    pub(crate) fn reads(&mut self, name: &'static CStr, layout: &Layout, at: *const c_void) -> Outcome<Input> {
        let (region, staged) = layout.place(at.addr() as u64)?;
        Ok(Input { argument: self.work.reads(name, region.present::<cudnnStatus_t>()?), staged })
    }

    /// A tensor that is read, and may have no values: the closure decides whether it uses them.
    pub(crate) fn may_read(&mut self, name: &'static CStr, layout: &Layout, at: *const c_void) -> Outcome<Input> {
        let (region, staged) = layout.place(at.addr() as u64)?;
        Ok(Input { argument: self.work.may_read(name, region.present::<cudnnStatus_t>()?), staged })
    }

    /// A tensor that is written; it is read first unless `beta` is 0.
    pub(crate) fn writes<W: Real>(
        &mut self,
        name: &'static CStr,
        layout: &Layout,
        at: *mut c_void,
        factors: Factors<W>,
    ) -> Outcome<Output<W>> {
        let (region, staged) = layout.place(at.addr() as u64)?;
        let region = region.present::<cudnnStatus_t>()?;
        let argument =
            if factors.overwrites() { self.work.writes(name, region) } else { self.work.updates(name, region) };
        Ok(Output { argument, staged, factors })
    }

    /// A region that is read.
    pub(crate) fn reads_region(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        Ok(self.work.reads(name, region.present::<cudnnStatus_t>()?))
    }

    /// A region that is written.
    pub(crate) fn writes_region(&mut self, name: &'static CStr, region: Region) -> Outcome<Argument> {
        Ok(self.work.writes(name, region.present::<cudnnStatus_t>()?))
    }

    /// Bytes that are read.
    pub(crate) fn reads_bytes(&mut self, name: &'static CStr, at: *const c_void, bytes: usize) -> Outcome<Argument> {
        Ok(self.work.reads(name, region(at, bytes)?))
    }

    /// Bytes that are written.
    pub(crate) fn writes_bytes(&mut self, name: &'static CStr, at: *const c_void, bytes: usize) -> Outcome<Argument> {
        Ok(self.work.writes(name, region(at, bytes)?))
    }

    /// Bytes that are read and written.
    pub(crate) fn updates_bytes(&mut self, name: &'static CStr, at: *const c_void, bytes: usize) -> Outcome<Argument> {
        Ok(self.work.updates(name, region(at, bytes)?))
    }

    /// A workspace that has `given` of at least `needed` bytes. Its values are lost in stream order.
    pub(crate) fn workspace(&mut self, at: *mut c_void, given: usize, needed: usize) -> Outcome {
        if needed == 0 {
            return Ok(());
        }
        if at.is_null() {
            return Err(NULL_POINTER);
        }
        if given < needed {
            return Err(BAD_PARAM);
        }
        self.work.scratch(c"workSpace", at.addr() as u64, needed);
        Ok(())
    }

    /// Enqueues the work.
    pub(crate) fn computes(self, closure: impl Fn(&mut Data<'_>) + Send + Sync + 'static) -> Outcome {
        Ok(self.handle.place.enqueue(self.stream, self.work, closure)?)
    }
}

fn region(at: *const c_void, bytes: usize) -> Outcome<Region> {
    Region::from(Rows::of::<u8>(at.addr() as u64, bytes)).present()
}
