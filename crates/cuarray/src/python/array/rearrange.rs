//! Copies between two orders of elements, in the fewest driver calls.
//!
//! A copy between any two layouts is a few boxes ([`CopyPlan`]), except for two kinds of source. A source that
//! repeats (a broadcast) is written once and then doubled on the device ([`Repetition`]). A source in another order
//! than its destination (reversed, transposed, with other gaps) would take a driver call for each element or row. If
//! two transfers between host and device are cheaper, its elements go through the host, which reorders them.

use super::transfer::{self, Side};
use crate::python::{
    memory::reach::{Reached, reach},
    values::host::{self, HostArray},
};
use crate::{
    Error, Layout, Result,
    copy::{repeat::Repetition, strided_copy::CopyPlan},
    driver::{Allocation, CaptureStatus, Context, Stream, never_release},
    sync::Memory,
};
use pyo3::{intern, prelude::*, types::PyTuple};

/// The number of bytes that the host can fetch, reorder and send back in the time of one driver call.
const BYTES_WORTH_A_CALL: usize = 8 * 1024;

/// The context and the stream of driver calls.
pub(in crate::python) struct Work<'a> {
    pub(in crate::python) context: &'a Context,
    pub(in crate::python) on: Option<&'a Stream>,
}

impl Work<'_> {
    /// Copies every element of `src` to its place in `dst`, which has the same shape. The two may overlap: the copy
    /// reads the values from before the call. Without a stream, this waits for it.
    pub(in crate::python) fn rearrange(&self, dst: (Reached, &Layout), src: (Reached, &Layout)) -> Result<()> {
        let range = |(data, layout): (Reached, &Layout)| {
            let extent = layout.byte_extent();
            data.at(extent.start).address..data.at(extent.end).address
        };
        let (target, source) = (range(dst), range(src));
        if target.start >= source.end || source.start >= target.end {
            return self.spread(dst, src).and_then(|()| self.settle());
        }
        // A repeated element is copied to the temporary memory once.
        let once = src.1.strides().iter().zip(src.1.shape()).map(|(&step, &length)| if step == 0 { 1 } else { length });
        let once = Layout::from_parts(once.collect(), Some(src.1.strides().into()), src.1.itemsize())?;
        let packed = once.packed()?;
        let memory = match self.on {
            Some(stream) => Allocation::stream_ordered(stream, packed.nbytes())?,
            None => Allocation::device(self.context, packed.nbytes())?,
        };
        let reached = reach(self.context, memory.device_ptr(), self.on)?;
        let done = self
            .spread((reached, &packed), (src.0, &once))
            .and_then(|()| self.spread(dst, (reached, &packed.broadcast_to(dst.1.shape())?)))
            .and_then(|()| self.settle());
        done.and(Memory::free_later(memory, self.on))
    }

    /// Like [`Work::rearrange`], without overlap.
    fn spread(&self, dst: (Reached, &Layout), src: (Reached, &Layout)) -> Result<()> {
        let Some(plan) = CopyPlan::new(dst.1, src.1)? else { return Ok(()) };
        if plan.boxes() > 1 {
            if !dst.1.may_overlap_itself()
                && let Some(steps) = Repetition::new(dst.1, src.1)?
                && steps.doublings.len() < plan.boxes()
            {
                self.spread((dst.0, &steps.first), (src.0, &steps.source))?;
                return self.double(dst.0, &steps);
            }
            if self.through_host(&plan, dst, src)? {
                return Ok(());
            }
        }
        // SAFETY: both layouts lie within arrays that their owners keep alive, or within memory that the caller keeps alive.
        unsafe { transfer::copy(self.context, &plan, Side::Device(dst.0), Side::Device(src.0), self.on) }
    }

    pub(in crate::python) fn double(&self, dst: Reached, steps: &Repetition) -> Result<()> {
        for step in &steps.doublings {
            let Some(plan) = CopyPlan::new(&step.to.layout, &step.from.layout)? else { continue };
            let (to, from) = (Side::Device(dst.at(step.to.offset)), Side::Device(dst.at(step.from.offset)));
            // SAFETY: both parts lie within the destination and do not overlap.
            unsafe { transfer::copy(self.context, &plan, to, from, self.on) }?;
        }
        Ok(())
    }

    /// Fetches the source in its own order, reorders it on the host, and sends it to the destination, waiting for
    /// each step. Returns `false` if `plan` is cheaper, or if the stream captures, which forbids waiting.
    fn through_host(&self, plan: &CopyPlan, dst: (Reached, &Layout), src: (Reached, &Layout)) -> Result<bool> {
        let (target, source) = (dst.1.packed_in_step()?, src.1.packed_in_step()?);
        let (Some(send), Some(fetch), Some(arrange)) = (
            CopyPlan::new(dst.1, &target.layout)?,
            CopyPlan::new(&source.layout, src.1)?,
            CopyPlan::new(&target.layout, &source.layout)?,
        ) else {
            return Ok(false);
        };
        let bytes = dst.1.nbytes();
        if send.boxes() + fetch.boxes() + bytes / BYTES_WORTH_A_CALL >= plan.boxes() || self.is_capturing()? {
            return Ok(false);
        }
        let (mut fetched, mut arranged) = (host_bytes(bytes)?, host_bytes(bytes)?);
        let first = |buffer: &mut Vec<u8>, offset: isize| {
            Side::Host(buffer.as_mut_ptr().expose_provenance().wrapping_add_signed(offset) as u64)
        };
        let to = first(&mut fetched, source.offset);
        // SAFETY: the source is as in `spread`; the buffer has room for the packed layout, and is not read or freed before the copy
        // is done.
        let fetching = unsafe { transfer::copy(self.context, &fetch, to, Side::Device(src.0), self.on) };
        if let Err(error) = fetching.and_then(|()| self.synchronize()) {
            return Err(self.free_after_copies(fetched, error));
        }
        arrange.carry_out(&mut arranged, target.offset, &fetched, source.offset);
        let from = first(&mut arranged, target.offset);
        // SAFETY: the buffer has the packed layout, and is not read or freed before the copy is done; the target is as in `spread`.
        let sending = unsafe { transfer::copy(self.context, &send, Side::Device(dst.0), from, self.on) };
        match sending.and_then(|()| self.synchronize()) {
            Ok(()) => Ok(true),
            Err(error) => Err(self.free_after_copies(arranged, error)),
        }
    }

    /// Frees the host buffer of a failed copy. Parts of the copy may still be enqueued.
    #[cold]
    fn free_after_copies(&self, buffer: Vec<u8>, error: Error) -> Error {
        if self.synchronize().is_err() {
            never_release(Box::new(buffer));
        }
        error
    }

    pub(in crate::python) fn is_capturing(&self) -> Result<bool> {
        self.on.map_or(Ok(false), |stream| Ok(stream.capture_status()? != CaptureStatus::None))
    }

    fn synchronize(&self) -> Result<()> {
        match self.on {
            Some(stream) => stream.synchronize(),
            None => self.context.synchronize_legacy(),
        }
    }

    /// Waits for work that was enqueued without a stream.
    pub(in crate::python) fn settle(&self) -> Result<()> {
        if self.on.is_none() { self.synchronize() } else { Ok(()) }
    }
}

fn host_bytes(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Error::argument(format!("no host memory for a buffer of {len} bytes")))?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// Copies the elements of a host array that `from` describes into a new host array with the layout `to`.
pub(in crate::python) fn arranged<'py>(
    source: &HostArray<'py>,
    from: &Layout,
    offset: isize,
    to: &Layout,
) -> Result<HostArray<'py>> {
    let py = source.array.py();
    let numpy = host::numpy(py)?;
    let tuple =
        |layout: &Layout| Ok::<_, PyErr>((PyTuple::new(py, layout.shape())?, PyTuple::new(py, layout.strides())?));
    let (shape, strides) = tuple(from)?;
    let dtype = source.array.getattr(intern!(py, "dtype"))?;
    let tricks = numpy.getattr(intern!(py, "lib"))?.getattr(intern!(py, "stride_tricks"))?;
    let picked = tricks.call_method1(intern!(py, "as_strided"), (&source.array, shape, strides))?;
    let (shape, strides) = tuple(to)?;
    let bytes = numpy.call_method1(intern!(py, "empty"), (to.nbytes(), intern!(py, "u1")))?;
    let array = numpy.call_method1(intern!(py, "ndarray"), (shape, dtype, bytes, offset, strides))?;
    numpy.call_method1(intern!(py, "copyto"), (&array, picked))?;
    HostArray::of(&array, None)
}
