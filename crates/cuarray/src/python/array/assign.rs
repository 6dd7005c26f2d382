//! `a[key] = value`, with copies and fills instead of kernels.
//!
//! A single element is assigned by driver fills, which take the value as an argument. So no host memory is read later, and nothing
//! waits. The driver fills with elements of 1, 2 or 4 bytes, and with elements of any size if all their bytes are equal. Any other
//! element is filled once, word by word, and then doubled.
//!
//! All other values are copied, in the fewest calls ([`rearrange`](super::rearrange)).
//!
//! NumPy converts host values to the array's type. On the device nothing is converted.

use super::{
    PyDeviceArray,
    copies::{self, Kept},
    indexing,
    rearrange::{Work, arranged},
    transfer::{self, Side},
};
use crate::python::{
    memory::{reach::Reached, runtime::driver},
    values::{
        dtype,
        host::{self, HostArray},
    },
};
use crate::{
    DevicePtr, Error, Index, Layout, Result,
    copy::{repeat::Repetition, strided_copy::CopyPlan},
    driver::{
        PointerAttributes,
        fill::{fill_bytes, fill_rows},
    },
    sync::Access,
};
use pyo3::{intern, prelude::*, types::PyBytes};

/// The largest element that is filled word by word.
const BYTES_TO_FILL_BY_WORDS: usize = 64;

/// The largest host value that is broadcast on the host: up to this size one copy is faster than doubling.
const BYTES_TO_BROADCAST_ON_HOST: usize = 64 * 1024;

/// Assigns `array[key] = value`, in `stream`, or in the home stream.
///
/// `import` reads another library's array, and returns `None` for a host value.
pub(in crate::python) fn set<'py>(
    array: &PyDeviceArray,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    import: impl FnOnce(&Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDeviceArray>>>,
) -> Result<()> {
    let py = key.py();
    if array.mask().is_some() {
        return Err(Error::unsupported(
            "cannot assign to a masked array, because its mask would stay unchanged; assign to its `data`",
        ));
    }
    let (target, _) = indexing::select(array, key)?;
    if target.interface().is_read_only() {
        return Err(Error::unsupported("cannot assign to a read-only array"));
    }
    let device = if host::is_plain(value) { None } else { import(value)? };
    match device {
        Some(source) => from_device(py, &target, source.get(), stream),
        None => from_host(&target, value, stream),
    }
}

/// Copies the elements of one array into another of the same shape, in the home stream of `target`.
pub(in crate::python) fn copy(py: Python<'_>, target: &PyDeviceArray, source: &PyDeviceArray) -> Result<()> {
    from_device(py, target, source, None)
}

/// Fits a value's layout to a destination as NumPy does: leading axes of length 1 are dropped, and the rest is broadcast.
fn fitted(value: &Layout, shape: &[usize]) -> Result<Layout> {
    let extra = value.ndim().saturating_sub(shape.len());
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
    source.check_borrow()?;
    target.check_borrow()?;
    let wide = fitted(src.layout(), dst.shape())?;
    if dst.byte_range().is_empty() || (dst.data() == src.data() && *dst.layout() == wide) {
        return Ok(());
    }
    let source_pointer = source.pointer(py);
    let _owner = source.deferred_owner(py)?;
    let kept = Kept { source: source.source_sync_state()?, array: Some(source), host: None };
    target.ordered(py, stream, Access::Write, kept, false, |context, on, ours| {
        let work = Work { context, on };
        work.rearrange((ours, dst.layout()), (source_pointer.find()?.reach(context, on)?, &wide))
    })
}

fn from_host(target: &PyDeviceArray, value: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
    let py = value.py();
    let dst = target.interface();
    if host::is_masked(value)? {
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
        // One blocking copy is faster than the steps of a fill, and a blocking assignment waits anyway.
        let waits = stream.is_none() && target.home_stream()?.is_none();
        let small = dst.layout().nbytes() <= BYTES_TO_BROADCAST_ON_HOST;
        if let Some(fill) = Fill::of(dst.data(), dst.layout(), bytes, &wide, waits && small)? {
            return target.ordered(py, stream, Access::Write, Kept::default(), false, |context, on, ours| {
                let work = Work { context, on };
                work.fill(ours, &fill, bytes)?;
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
    let mut staged = None;
    if plan.boxes() > 1 || copies::overlap(dst, &source.interface) {
        let in_step = first.packed_in_step()?;
        let array = staged.insert(arranged(&source, from, in_step.offset, &in_step.layout)?);
        start = array.interface.data();
        let Some(better) = CopyPlan::new(first, &in_step.layout)? else { return Ok(()) };
        plan = better;
    }
    // The driver has read pageable memory when the call returns, but page-locked memory only when the copy is done.
    let wait = staged.is_none() && PointerAttributes::query(driver()?, start)?.is_some();
    let kept =
        Kept { source: None, array: None, host: Some(staged.as_ref().map_or(&source.array, |staged| &staged.array)) };
    target.ordered(py, stream, Access::Write, kept, wait, |context, on, ours| {
        let work = Work { context, on };
        if work.is_capturing()? {
            return Err(Error::unsupported(
                "cannot assign a host array in a stream that is capturing: the graph would read it at each launch; assign a \
                 device array, or a scalar",
            ));
        }
        // SAFETY: the owner of the target keeps the destination alive. The host array outlives this call. If the driver
        // reads it later, the wait above keeps it until then; With a stream, the caller keeps it, as documented.
        unsafe { transfer::copy(context, &plan, Side::Device(ours), Side::Host(start), on) }?;
        if let Some(steps) = &repetition {
            work.double(ours, steps)?;
        }
        work.settle()
    })
}

#[cold]
fn masked_value() -> Error {
    Error::unsupported("cannot assign a masked array, because its mask would be lost; assign its `data`, or `filled()`")
}

/// The way in which the driver fills an array with one element.
enum Fill {
    /// Fills every box of the plan.
    Boxes(CopyPlan),
    /// Fills the first element by words, and doubles it if there are more.
    Doubled(Option<Repetition>),
}

impl Fill {
    /// The cheapest fill. `None` if fills cannot write the layout, or if doubling is needed and `only_boxes` is set. `wide` is the
    /// element's layout, broadcast to the destination.
    fn of(data: DevicePtr, layout: &Layout, element: &[u8], wide: &Layout, only_boxes: bool) -> Result<Option<Fill>> {
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

impl Work<'_> {
    fn fill(&self, dst: Reached, fill: &Fill, element: &[u8]) -> Result<()> {
        match fill {
            Fill::Boxes(plan) => self.fill_boxes(dst.address, plan, element),
            Fill::Doubled(steps) => {
                let mut done = 0;
                while done < element.len() {
                    let at = dst.address.wrapping_add(done as u64);
                    let fits = |unit: usize| at.is_multiple_of(unit as u64) && element.len() - done >= unit;
                    let unit = [4, 2].into_iter().find(|&unit| fits(unit)).unwrap_or(1);
                    // SAFETY: one element at `dst` lies within the target, whose owner keeps it alive.
                    unsafe { fill_bytes(self.context, at, &element[done..done + unit], 1, self.on) }?;
                    done += unit;
                }
                steps.as_ref().map_or(Ok(()), |steps| self.double(dst, steps))
            }
        }
    }

    /// Fills every box of the plan with one element.
    fn fill_boxes(&self, dst: DevicePtr, plan: &CopyPlan, element: &[u8]) -> Result<()> {
        let width = plan.width / element.len().max(1);
        for (start, _) in plan.starts() {
            let start = dst.wrapping_add_signed(start as i64);
            if plan.is_runs() {
                // SAFETY: the plan stays within the target, whose owner keeps it alive.
                unsafe { fill_bytes(self.context, start, element, width, self.on) }?;
                continue;
            }
            for slice in 0..plan.slices {
                let at = start.wrapping_add((slice * plan.dst_height * plan.dst_pitch) as u64);
                // SAFETY: the plan stays within the target, whose owner keeps it alive.
                unsafe { fill_rows(self.context, at, plan.dst_pitch, element, width, plan.rows, self.on) }?;
            }
        }
        Ok(())
    }
}
