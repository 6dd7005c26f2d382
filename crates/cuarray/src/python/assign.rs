//! `a[key] = value`: by copies and fills, since there are no kernels.
//!
//! A value that is one element is filled in, so that the host's memory is not read and nothing waits. The driver fills with
//! elements of 1, 2 or 4 bytes, and of any size if all bytes are the same; of other sizes, it is given the words of one element,
//! which is then doubled. Everything else is copied, and a copy of any layout is a few boxes ([`CopyPlan`]), except for two kinds of source.
//! One that repeats (a broadcast) is written once and then doubled on the device ([`Repetition`]). One that runs otherwise than
//! its destination (reversed, transposed) would take a driver call for each element or row; where that costs more than going
//! over the bus twice, its elements go through the host, which puts them in order.
//!
//! Host values are converted to the array's type by NumPy, whose assignment this is. On the device nothing converts.

use super::{
    device_array::PyDeviceArray,
    dtype,
    host::{self, HostArray},
    import, indexing,
    reach::reach,
    runtime::driver,
    transfer::{self, Side},
};
use crate::{
    Error, Index, Layout, Result,
    driver::{
        Allocation, CaptureStatus, Context, PointerAttributes, Stream,
        copy::{fill_bytes, fill_rows},
    },
    repeat::Repetition,
    strided_copy::CopyPlan,
};
use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyTuple},
};

/// What a driver call costs, in bytes that a bus moves meanwhile, there and back.
const BYTES_WORTH_A_CALL: usize = 32 * 1024;

/// Up to this size, one element is filled in word by word.
const BYTES_TO_FILL_BY_WORDS: usize = 64;

/// Up to here a broadcast host value is made whole on the host: one copy takes less than the doublings.
const BYTES_TO_BROADCAST_ON_HOST: usize = 64 * 1024;

/// `array[key] = value`, in `stream`, or in the default stream.
pub(super) fn set(
    array: &PyDeviceArray,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> Result<()> {
    let py = key.py();
    if array.mask().is_some() {
        return Err(Error::unsupported(
            "cannot assign to a masked array, whose mask would go on to say what was valid before; assign to its `data`",
        ));
    }
    let (target, _) = indexing::select(array, key)?;
    if target.interface().is_read_only() {
        return Err(Error::unsupported("cannot assign to a read-only array"));
    }
    let device = if host::is_plain(value) { None } else { import::array(value)? };
    match device {
        Some(source) => from_device(py, &target, source.get(), stream),
        None => from_host(&target, value, stream),
    }
}

/// Copies the elements of one array into another of the same shape, in the default stream of the latter.
pub(super) fn copy(py: Python<'_>, target: &PyDeviceArray, source: &PyDeviceArray) -> Result<()> {
    from_device(py, target, source, None)
}

/// A value's layout as NumPy fits it to a destination: leading axes of length 1 go, and the rest is broadcast.
fn fitted(value: &Layout, shape: &[usize]) -> Result<Layout> {
    let extra = value.rank().saturating_sub(shape.len());
    if value.shape()[..extra].iter().any(|&length| length != 1) {
        return value.broadcast_to(shape);
    }
    value.index(&vec![Index::At(0); extra])?.layout.broadcast_to(shape)
}

fn from_device(
    py: Python<'_>,
    target: &PyDeviceArray,
    source: &PyDeviceArray,
    stream: Option<&Bound<'_, PyAny>>,
) -> Result<()> {
    let (dst, src) = (target.interface(), source.interface());
    if !dst.has_type_of(src) {
        return Err(Error::argument(format!(
            "cannot assign elements of type {} to {}: converting on the device needs a kernel; assign copy_to_host() of \
             the source instead, which NumPy converts",
            src.type_label(),
            dst.type_label()
        )));
    }
    if source.mask().is_some() {
        return Err(masked_value());
    }
    let wide = fitted(src.layout(), dst.shape())?;
    if dst.byte_range().is_empty() || (dst.data() == src.data() && *dst.layout() == wide) {
        return Ok(());
    }
    let (ours, theirs) = (dst.byte_range(), src.byte_range());
    let overlap = ours.start < theirs.end && theirs.start < ours.end;
    target.ordered(py, stream, source.source_ordering()?, false, |context, on| {
        let work = Work { context, on };
        if overlap {
            let packed = src.layout().packed()?;
            let memory = match on {
                Some(stream) => Allocation::stream_ordered(stream, packed.nbytes())?,
                None => Allocation::device(context, packed.nbytes())?,
            };
            work.spread((memory.device_ptr(), &packed), (src.data(), src.layout()))?;
            let wide = fitted(&packed, dst.shape())?;
            work.spread((dst.data(), dst.layout()), (memory.device_ptr(), &wide))?;
        } else {
            work.spread((dst.data(), dst.layout()), (src.data(), &wide))?;
        }
        work.settle()
    })
}

fn from_host(target: &PyDeviceArray, value: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
    let py = value.py();
    let dst = target.interface();
    let ma = host::numpy(py)?.getattr(intern!(py, "ma"))?;
    if value.is_instance(&ma.getattr(intern!(py, "MaskedArray"))?)? {
        return Err(masked_value());
    }
    let source = HostArray::of(value, Some(&dtype::for_value(value, dst)?))?;
    let wide = fitted(source.interface.layout(), dst.shape())?;
    if dst.byte_range().is_empty() {
        return Ok(());
    }
    if source.interface.layout().len() == 1 {
        let bytes = source.array.call_method0(intern!(py, "tobytes"))?;
        let bytes = bytes.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes();
        // One blocking copy takes less than the steps of a fill, and a blocking assignment waits anyway.
        let waits = stream.is_none() && target.default_stream()?.is_none();
        let small = dst.layout().nbytes() <= BYTES_TO_BROADCAST_ON_HOST;
        if let Some(fill) = Fill::of(dst.data(), dst.layout(), bytes, &wide, waits && small)? {
            return target.ordered(py, stream, None, false, |context, on| {
                let work = Work { context, on };
                work.fill(dst.data(), &fill, bytes)?;
                work.settle()
            });
        }
    }
    let repetition = match dst.layout().nbytes() > BYTES_TO_BROADCAST_ON_HOST && !dst.layout().may_overlap_itself() {
        true => Repetition::new(dst.layout(), &wide)?,
        false => None,
    };
    let (first, from) = match &repetition {
        Some(steps) => (&steps.first, &steps.source),
        None => (dst.layout(), &wide),
    };
    let Some(mut plan) = CopyPlan::new(first, from)? else { return Ok(()) };
    let mut start = source.interface.data();
    let (ours, theirs) = (dst.byte_range(), source.interface.byte_range());
    let overlap = ours.start < theirs.end && theirs.start < ours.end;
    let mut staged = None;
    if plan.boxes() > 1 || overlap {
        let in_step = first.packed_in_step()?;
        let array = staged.insert(arranged(&source, from, in_step.offset, &in_step.layout)?);
        start = array.interface.data();
        let Some(better) = CopyPlan::new(first, &in_step.layout)? else { return Ok(()) };
        plan = better;
    }
    // The driver has read pageable memory when the copy returns, but page-locked memory only when the copy is done.
    let wait = staged.is_none() && PointerAttributes::query(driver()?, start)?.is_some();
    target.ordered(py, stream, None, wait, |context, on| {
        let work = Work { context, on };
        if work.is_capturing()? {
            return Err(Error::unsupported(
                "cannot assign a host array in a stream that is capturing: the graph would read it at each launch; assign a \
                 device array, or a scalar",
            ));
        }
        // SAFETY: the destination is the target's, whose owner keeps it; the host array is held beyond this call, and until
        // the copy is done where the driver reads it later, by the wait above, or by the caller, as documented.
        unsafe { transfer::copy(context, &plan, (dst.data(), Side::Device), (start, Side::Host), on) }?;
        if let Some(steps) = &repetition {
            work.double(dst.data(), steps)?;
        }
        work.settle()
    })
}

#[cold]
fn masked_value() -> Error {
    Error::unsupported(
        "cannot assign a masked array: which elements are valid would be lost; assign its `data`, or `filled()`",
    )
}

/// The elements of a host array that `from` names, as a new host array of another layout.
fn arranged<'py>(source: &HostArray<'py>, from: &Layout, offset: isize, to: &Layout) -> Result<HostArray<'py>> {
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

/// How the driver fills an array with one element.
enum Fill {
    /// Every box of the plan.
    Boxes(CopyPlan),
    /// The first element by its words, and the rest from there, if there is more.
    Doubled(Option<Repetition>),
}

impl Fill {
    /// `None` where the driver cannot, or where that would be by doubling and is not wanted. `wide` is the element, broadcast.
    fn of(data: u64, layout: &Layout, element: &[u8], wide: &Layout, only_boxes: bool) -> Result<Option<Fill>> {
        if layout.may_overlap_itself() {
            return Ok(None);
        }
        let unit = match element {
            [first, rest @ ..] if rest.iter().all(|byte| byte == first) => 1,
            [_, _] => 2,
            [_, _, _, _] => 4,
            _ => 0,
        };
        let mut steps = layout.shape().iter().zip(layout.strides()).filter(|(length, _)| **length > 1);
        let aligned = unit != 0
            && data.is_multiple_of(unit)
            && steps.all(|(_, step)| step.unsigned_abs().is_multiple_of(unit as usize));
        if aligned {
            return Ok(CopyPlan::new(layout, layout)?.map(Fill::Boxes));
        }
        if only_boxes || element.len() > BYTES_TO_FILL_BY_WORDS {
            return Ok(None);
        }
        Ok(Some(Fill::Doubled(Repetition::new(layout, wide)?)))
    }
}

/// Where the driver's calls go.
struct Work<'a> {
    context: &'a Context,
    on: Option<&'a Stream>,
}

impl Work<'_> {
    /// Copies within the device; the layouts have one shape.
    fn spread(&self, dst: (u64, &Layout), src: (u64, &Layout)) -> Result<()> {
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
        // SAFETY: both layouts are within arrays that their owners keep, or within memory that our caller holds.
        unsafe { transfer::copy(self.context, &plan, (dst.0, Side::Device), (src.0, Side::Device), self.on) }
    }

    fn double(&self, dst: u64, steps: &Repetition) -> Result<()> {
        for step in &steps.doublings {
            let at = |offset: isize| dst.wrapping_add_signed(offset as i64);
            let Some(plan) = CopyPlan::new(&step.to.layout, &step.from.layout)? else { continue };
            let (to, from) = ((at(step.to.offset), Side::Device), (at(step.from.offset), Side::Device));
            // SAFETY: both parts are within the destination and do not overlap.
            unsafe { transfer::copy(self.context, &plan, to, from, self.on) }?;
        }
        Ok(())
    }

    /// Fetches the source in its own order, puts it into the destination's on the host, and sends it, waiting for each; `false`
    /// where `plan` is cheaper, or where nothing can be waited for.
    fn through_host(&self, plan: &CopyPlan, dst: (u64, &Layout), src: (u64, &Layout)) -> Result<bool> {
        let (ours, theirs) = (dst.1.packed_in_step()?, src.1.packed_in_step()?);
        let (Some(send), Some(fetch), Some(arrange)) = (
            CopyPlan::new(dst.1, &ours.layout)?,
            CopyPlan::new(&theirs.layout, src.1)?,
            CopyPlan::new(&ours.layout, &theirs.layout)?,
        ) else {
            return Ok(false);
        };
        let bytes = dst.1.nbytes();
        if send.boxes() + fetch.boxes() + bytes / BYTES_WORTH_A_CALL >= plan.boxes() || self.is_capturing()? {
            return Ok(false);
        }
        let (mut fetched, mut arranged) = (host_bytes(bytes)?, host_bytes(bytes)?);
        let first = |buffer: &mut Vec<u8>, offset: isize| {
            (buffer.as_mut_ptr().expose_provenance().wrapping_add_signed(offset) as u64, Side::Host)
        };
        // SAFETY: the source is as in `spread`; the buffer holds all that the packed layout spans, and is not looked at before
        // the copy is done.
        unsafe {
            let to = first(&mut fetched, theirs.offset);
            transfer::copy(self.context, &fetch, to, (src.0, Side::Device), self.on)?;
        }
        self.synchronize()?;
        arrange.carry_out(&mut arranged, ours.offset, &fetched, theirs.offset);
        // SAFETY: as above, the other way; the buffer is held until the copy is done.
        unsafe {
            let from = first(&mut arranged, ours.offset);
            transfer::copy(self.context, &send, (dst.0, Side::Device), from, self.on)?;
        }
        self.synchronize()?;
        Ok(true)
    }

    fn fill(&self, dst: u64, fill: &Fill, element: &[u8]) -> Result<()> {
        let dst = reach(self.context, dst, self.on)?.address;
        match fill {
            Fill::Boxes(plan) => self.fill_boxes(dst, plan, element),
            Fill::Doubled(steps) => {
                let mut done = 0;
                while done < element.len() {
                    let at = dst.wrapping_add(done as u64);
                    let fits = |unit: usize| at.is_multiple_of(unit as u64) && element.len() - done >= unit;
                    let unit = [4, 2].into_iter().find(|&unit| fits(unit)).unwrap_or(1);
                    // SAFETY: one element lies at `dst`, within the target, whose owner keeps it.
                    unsafe { fill_bytes(self.context, at, &element[done..done + unit], 1, self.on) }?;
                    done += unit;
                }
                steps.as_ref().map_or(Ok(()), |steps| self.double(dst, steps))
            }
        }
    }

    /// Fills every box of the plan with one element.
    fn fill_boxes(&self, dst: u64, plan: &CopyPlan, element: &[u8]) -> Result<()> {
        let width = plan.width / element.len().max(1);
        for (start, _) in plan.starts() {
            let start = dst.wrapping_add_signed(start as i64);
            if plan.is_runs() {
                // SAFETY: the plan stays within the target, whose owner keeps it.
                unsafe { fill_bytes(self.context, start, element, width, self.on) }?;
                continue;
            }
            for slice in 0..plan.slices {
                let at = start.wrapping_add((slice * plan.dst_height * plan.dst_pitch) as u64);
                // SAFETY: as above.
                unsafe { fill_rows(self.context, at, plan.dst_pitch, element, width, plan.rows, self.on) }?;
            }
        }
        Ok(())
    }

    fn is_capturing(&self) -> Result<bool> {
        self.on.map_or(Ok(false), |stream| Ok(stream.capture_status()? != CaptureStatus::None))
    }

    fn synchronize(&self) -> Result<()> {
        match self.on {
            Some(stream) => stream.synchronize(),
            None => Stream::legacy_default(self.context).synchronize(),
        }
    }

    /// Work in no stream is done when the call returns.
    fn settle(&self) -> Result<()> {
        if self.on.is_none() { self.synchronize() } else { Ok(()) }
    }
}

fn host_bytes(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| Error::argument(format!("no host memory for {len} bytes to pass through")))?;
    bytes.resize(len, 0);
    Ok(bytes)
}
