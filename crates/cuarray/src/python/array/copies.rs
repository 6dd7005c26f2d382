//! Copies into a `DeviceArray` and out to the host: the driver calls, and the streams that order them.
//!
//! Layouts decide how many driver calls a copy takes ([`CopyPlan`]), and streams decide when it runs ([`sync`]). This file combines
//! the two for copies from a device array, from the host, and to the host.
//!
//! If a plan has many small boxes, one call for more bytes is cheaper than many
//! calls for fewer. The elements are then reordered on the host.

use super::{
    PyDeviceArray,
    mask::{self, ArrayMask},
    rearrange::{self, Work},
    transfer::{self, Side},
};
use crate::python::{
    ffi::inspect::type_name,
    memory::{
        reach::Reached,
        runtime::{self, driver},
        stream,
    },
    values::{
        dtype,
        host::{self, HostArray},
    },
};
use crate::{
    Error, Interface, Owner, Result,
    copy::strided_copy::CopyPlan,
    driver::{CaptureStatus, Context, Stream, keep_with_graph},
    sync::{self, Access, SyncGuard, SyncState},
};
use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyMemoryView},
};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The elements to copy into an array.
#[derive(Clone, Copy)]
pub(in crate::python) enum Elements<'a, 'py> {
    Device(&'a PyDeviceArray),
    Host(&'a Bound<'py, PyAny>),
}

/// Data besides the array that work uses.
#[derive(Default)]
pub(in crate::python) struct Kept<'a, 'py> {
    /// The state of the source of a copy; `None` if it needs no order.
    pub(in crate::python) source: Option<SyncState>,
    /// The source of a copy.
    pub(in crate::python) array: Option<&'a PyDeviceArray>,
    /// A host array that the work reads or writes.
    pub(in crate::python) host: Option<&'a Bound<'py, PyAny>>,
}

impl PyDeviceArray {
    /// A host copy of the elements; a `numpy.ma.MaskedArray` where the array has a mask.
    pub(in crate::python) fn copy_to_host<'py>(
        &self,
        py: Python<'py>,
        ary: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        match self.mask() {
            Some(mask) => self.fetch_masked(py, mask, ary, stream),
            None => self.fetch_into(py, ary, stream),
        }
    }

    /// Copies `src` into this array; see [`PyDeviceArray::copy_to_device`]. `import` reads another library's array, and returns
    /// `None` for a host value.
    pub(in crate::python) fn fill_from<'py>(
        &self,
        src: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
        import: impl FnOnce(&Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDeviceArray>>>,
    ) -> Result<()> {
        self.check_fillable()?;
        let device = if host::is_plain(src) { None } else { import(src)? };
        match device {
            Some(source) => self.fill_from_device(src.py(), source.get(), stream),
            None => self.fill_from_host(src.py(), src, stream),
        }
    }

    /// Copies the elements of `source` into this array.
    pub(in crate::python) fn fill(
        &self,
        py: Python<'_>,
        source: Elements<'_, '_>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> Result<()> {
        self.check_fillable()?;
        match source {
            Elements::Device(source) => self.fill_from_device(py, source, stream),
            Elements::Host(source) => self.fill_from_host(py, source, stream),
        }
    }

    fn check_fillable(&self) -> Result<()> {
        if self.interface().is_read_only() {
            return Err(Error::unsupported("cannot copy into a read-only array"));
        }
        if self.mask().is_some() {
            return Err(Error::unsupported(
                "cannot copy into a masked array, because its mask would stay unchanged; copy into its `data`",
            ));
        }
        Ok(())
    }

    fn fill_from_host(&self, py: Python<'_>, src: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
        if host::is_masked(src)? {
            return Err(Error::unsupported(
                "cannot copy a masked array into one without a mask; copy its `data`, or `filled()`",
            ));
        }
        // An array's element type must equal this array's. Numbers and lists of numbers are converted.
        let typed = host::is_plain(src) || has_element_type(src)?;
        let dtype = if typed { None } else { Some(dtype::for_value(src, self.interface())?) };
        let mut source = HostArray::of(src, dtype.as_ref())?;
        self.require_type(&source.interface)?;
        let Some(mut plan) = CopyPlan::new(self.interface().layout(), source.interface.layout())? else {
            return Ok(());
        };
        if reorders_on_host(py, stream, plan.boxes() > 1, overlap(self.interface(), &source.interface))? {
            let in_step = self.interface().layout().packed_in_step()?;
            source = rearrange::arranged(&source, source.interface.layout(), in_step.offset, &in_step.layout)?;
            let Some(better) = CopyPlan::new(self.interface().layout(), source.interface.layout())? else {
                return Ok(());
            };
            plan = better;
        }
        let kept = Kept { source: None, array: None, host: Some(&source.array) };
        let source = Side::Host(source.interface.data());
        self.ordered(py, stream, Access::Write, kept, true, |context, on, ours| {
            // SAFETY: the owner of `self` keeps its memory alive. The caller keeps the host array alive until the copy is done, even
            // if it is asynchronous.
            unsafe { transfer::copy(context, &plan, Side::Device(ours), source, on) }
        })
    }

    fn fill_from_device(&self, py: Python<'_>, src: &PyDeviceArray, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
        if src.mask().is_some() {
            return Err(Error::unsupported("cannot copy a masked array into one without a mask; copy its `data`"));
        }
        self.require_type(src.interface())?;
        let (dst, src_layout) = (self.interface(), src.interface().layout());
        if CopyPlan::new(dst.layout(), src_layout)?.is_none() {
            return Ok(());
        }
        let src_pointer = src.pointer(py);
        let _owner = src.deferred_owner(py)?;
        let kept = Kept { source: src.source_sync_state()?, array: Some(src), host: None };
        self.ordered(py, stream, Access::Write, kept, true, |context, on, ours| {
            let work = Work { context, on };
            work.rearrange((ours, dst.layout()), (src_pointer.find()?.reach(context, on)?, src_layout))
        })
    }

    /// Carries out `plan`, from `offset` bytes after this array's data pointer to a host array. With `stream` the copy is enqueued
    /// there. Otherwise the host waits for it: in the home stream, or in a blocking call if there is no home stream.
    fn copy_out(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        plan: &CopyPlan,
        host: &HostArray<'_>,
        offset: isize,
    ) -> Result<()> {
        let target = Side::Host(host.interface.data());
        let kept = Kept { source: None, array: None, host: Some(&host.array) };
        self.ordered(py, stream, Access::Read, kept, true, |context, on, ours| {
            // SAFETY: the owner of `self` keeps its memory alive. The caller keeps the host array alive until the copy is done, even
            // if it is asynchronous.
            unsafe { transfer::copy(context, plan, target, Side::Device(ours.at(offset)), on) }
        })
    }

    /// Runs `work` without the GIL, on the memory of this array and the data of `data`. The stream is `stream`, else this array's home
    /// stream, else that of the source, else none. The work waits for all pending work on both, and later work waits for it.
    /// A graph that captures the work keeps all of the data alive.
    ///
    /// With `stream` the host does not wait. Without it the host waits, unless `wait` is false and this array has a home stream, which
    /// orders the work. The context is current during `work`, which makes driver calls and runs no code of other libraries.
    pub(in crate::python) fn ordered(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        access: Access,
        data: Kept<'_, '_>,
        wait: bool,
        work: impl FnOnce(&Context, Option<&Stream>, Reached) -> Result<()> + Send,
    ) -> Result<()> {
        let given = stream.map(stream::argument).transpose()?;
        let Kept { source, array, host } = data;
        let host = host.map(|host| host.clone().unbind());
        let mut data: SmallVec<[(SyncState, Access); 2]> = SmallVec::new();
        data.push((self.sync_state()?, access));
        data.extend(source.map(|source| (source, Access::Read)));
        let memory = self.pointer(py);
        let done = py.detach(|| {
            let _remembered = driver()?.remember_current();
            let found = memory.find()?;
            let home = || data.iter().find_map(|(data, _)| data.home_stream());
            let Some(on) = given.as_ref().or_else(home).cloned() else {
                let context = found.context()?;
                let _current = context.push()?;
                sync::may_wait_in_no_stream(&context)?;
                data.iter().try_for_each(|(data, access)| data.synchronize(*access))?;
                let _relaxed = context.driver().relaxed()?;
                return work(&context, None, found.reach(&context, None)?);
            };
            let context = on.context()?.map_or_else(|| found.context(), |context| Ok(Cow::Owned(context)))?;
            let _current = context.push()?;
            let remembered = given.is_some() || (data[0].0.home_stream().is_some() && !wait);
            if !remembered {
                sync::may_wait(&on)?;
            }
            let guard = SyncGuard::begin(data, &on)?;
            if remembered && guard.capture()?.is_some() {
                Python::attach(|py| self.keep_with_graph(py, array, host.as_ref(), &on))?;
            }
            let done = found.reach(&context, Some(&on)).and_then(|reached| work(&context, Some(&on), reached));
            // The guard ends also after a failure, because a part of the work may have been enqueued.
            // If the host cannot wait for it, the host array is kept until that work is done.
            let keep = || host.map(Owner::from_python);
            done.and(guard.waiting(!remembered).end_and_keep(keep))
        });
        runtime::report_drops(py);
        done
    }

    /// Keeps the memory of this array, of `source` and of `host` alive as long as the graph that the stream captures.
    #[cold]
    fn keep_with_graph(
        &self,
        py: Python<'_>,
        source: Option<&PyDeviceArray>,
        host: Option<&Py<PyAny>>,
        stream: &Stream,
    ) -> Result<()> {
        let source = source.map_or(Ok(None), |source| source.owner(py))?;
        let owners = [self.owner(py)?, source, host.map(|host| host.clone_ref(py))];
        keep_with_graph(stream, owners.map(|owner| owner.map(Owner::from_python)))
    }

    pub(in crate::python) fn require_type(&self, other: &Interface) -> Result<()> {
        if !self.interface().has_type_of(other) {
            return Err(Error::argument(format!(
                "the elements are {} on one side and {} on the other; they must be of one type",
                self.interface().type_label(),
                other.type_label()
            )));
        }
        Ok(())
    }

    /// The elements in a new host array, regardless of the mask.
    pub(in crate::python) fn fetch<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        self.fetch_into(py, None, stream)
    }

    pub(in crate::python) fn fetch_into<'py>(
        &self,
        py: Python<'py>,
        ary: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let target = match ary {
            Some(ary) => {
                if host::is_masked(ary)? {
                    return self.fetch_into_masked(py, ary, None, stream);
                }
                // Accepts an ndarray or a subclass (`numpy.memmap`), and nothing that NumPy would convert into a new array.
                if !host::is_plain(ary) && !ary.is_instance(&host::numpy(py)?.getattr(intern!(py, "ndarray"))?)? {
                    return Err(Error::not_an_array(format!(
                        "cannot copy into a {}; a numpy.ndarray is expected",
                        type_name(ary)
                    )));
                }
                let target = HostArray::new(ary.clone())?;
                if target.interface.is_read_only() {
                    return Err(Error::argument("cannot copy into a read-only NumPy array"));
                }
                self.require_type(&target.interface)?;
                target
            }
            None => {
                let layout = self.interface().layout();
                let order = if layout.is_f_contiguous() && !layout.is_c_contiguous() { "F" } else { "C" };
                HostArray::empty(self.shape(py)?.as_any(), &self.dtype(py)?, order)?
            }
        };
        let layout = self.interface().layout();
        let Some(plan) = CopyPlan::new(target.interface.layout(), layout)? else { return Ok(target.array) };
        // Copying the gaps too is cheaper than copying many small boxes: fetch the whole extent and pick the elements on the host.
        let extent = layout.byte_extent();
        let extent = extent.end.abs_diff(extent.start);
        const BYTES_WORTH_A_CALL: usize = 64 * 1024;
        let many = plan.boxes() > 1 && extent / BYTES_WORTH_A_CALL < plan.boxes();
        if reorders_on_host(py, stream, many, overlap(self.interface(), &target.interface))? {
            self.gather(py, &target.array, extent, stream)?;
        } else {
            self.copy_out(py, stream, &plan, &target, 0)?;
        }
        Ok(target.array)
    }

    /// The elements and the mask in a `numpy.ma.MaskedArray`: `ary`, or a new one.
    pub(in crate::python) fn fetch_masked<'py>(
        &self,
        py: Python<'py>,
        mask: &ArrayMask,
        ary: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        if captures(py, stream)? {
            return Err(Error::unsupported(
                "cannot copy a masked array to the host in a stream that is capturing, because the host converts its mask; copy \
                 its `data`, and its `mask`",
            ));
        }
        let invalid = || mask.invalid(py, self.shape(py)?.as_any(), stream);
        let Some(ary) = ary else {
            let masked = host::numpy(py)?.getattr(intern!(py, "ma"))?.getattr(intern!(py, "MaskedArray"))?;
            return Ok(masked.call1((self.fetch(py, stream)?, invalid()?))?);
        };
        if !host::is_masked(ary)? {
            return Err(Error::unsupported(format!(
                "cannot copy a masked array into a {}, which would lose the mask; pass a numpy.ma.MaskedArray, or copy `data`",
                type_name(ary)
            )));
        }
        self.fetch_into_masked(py, ary, Some(invalid()?), stream)
    }

    /// Copies the elements into `ary`, a `numpy.ma.MaskedArray`, and marks the elements that are not valid in its mask.
    fn fetch_into_masked<'py>(
        &self,
        py: Python<'py>,
        ary: &Bound<'py, PyAny>,
        invalid: Option<Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        mask::refuse_hard(ary)?;
        self.fetch_into(py, Some(&ary.getattr(intern!(py, "data"))?), stream)?;
        mask::set_invalid(ary, invalid)?;
        Ok(ary.clone())
    }

    /// Fetches the bytes from the first to the last element, and copies the elements out of them with NumPy.
    fn gather(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        extent: usize,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> Result<()> {
        let layout = self.interface().layout();
        let bytes = crate::Layout::c_contiguous(&[extent], 1)?;
        let numpy = host::numpy(py)?;
        let fetched = HostArray::empty((extent,).into_pyobject(py)?.as_any(), intern!(py, "u1").as_any(), "C")?;
        if let Some(plan) = CopyPlan::new(fetched.interface.layout(), &bytes)? {
            self.copy_out(py, stream, &plan, &fetched, layout.byte_extent().start)?;
        }
        let view = numpy.getattr(intern!(py, "ndarray"))?.call1((
            self.shape(py)?,
            self.dtype(py)?,
            &fetched.array,
            layout.byte_extent().start.unsigned_abs(),
            self.strides(py)?,
        ))?;
        numpy.call_method1(intern!(py, "copyto"), (target, view))?;
        Ok(())
    }
}

/// Whether a value is an array, or a buffer, whose elements have a type. Bytes are one value, as in NumPy.
fn has_element_type(value: &Bound<'_, PyAny>) -> Result<bool> {
    let py = value.py();
    Ok(value.hasattr(intern!(py, "__array_interface__"))?
        || value.hasattr(intern!(py, "__array__"))?
        || (!value.is_instance_of::<PyBytes>() && PyMemoryView::from(value).is_ok()))
}

/// Whether an array and a host array share memory, which is possible if the host reaches the array (managed, mapped). A copy between
/// the two would read bytes that it has written.
pub(in crate::python) fn overlap(array: &Interface, host: &Interface) -> bool {
    let (ours, theirs) = (array.byte_range(), host.byte_range());
    ours.start < theirs.end && theirs.start < ours.end
}

/// Whether `stream` captures a graph, whose work runs when the graph is launched.
pub(in crate::python) fn captures(py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> Result<bool> {
    let Some(stream) = stream.map(stream::argument).transpose()? else { return Ok(false) };
    Ok(py.detach(|| stream.capture_status())? != CaptureStatus::None)
}

/// Whether the host reorders the elements of a copy during the call: where that is `cheaper`, or the two sides overlap. A captured
/// copy accesses the host array at each launch of its graph, so its elements are never reordered.
///
/// # Errors
/// [`Error::is_unsupported`]: the stream captures, and the two sides overlap.
fn reorders_on_host(py: Python<'_>, stream: Option<&Bound<'_, PyAny>>, cheaper: bool, overlaps: bool) -> Result<bool> {
    if !(cheaper || overlaps) || !captures(py, stream)? {
        return Ok(cheaper || overlaps);
    }
    if overlaps {
        return Err(Error::unsupported(
            "cannot copy between an array and a host array over the same memory in a stream that is capturing; copy one of \
             them before the capture",
        ));
    }
    Ok(false)
}
