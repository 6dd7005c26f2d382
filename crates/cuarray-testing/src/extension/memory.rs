//! Device memory with an array in it, and unused bytes around and between the elements.

use crate::{Awkward, Entries, Value};
use cuarray::driver::{Allocation, copy};
use cuarray::{Context, DevicePtr, Error, Interface, Layout, Result, Stream, TypeStr};
use proptest::prelude::*;

/// Bytes of the allocation before and behind those of the array.
const MARGIN: usize = 64;
/// The value of all bytes that belong to no element.
const UNUSED: u8 = 0xA5;

/// An array in device memory.
pub(super) struct Memory {
    stream: Stream,
    memory: Allocation,
    content: Vec<u8>,
    /// The offsets of the elements' first bytes in the allocation.
    elements: Vec<usize>,
    itemsize: usize,
    /// The offset of the array's first element.
    first: usize,
    is_read_only: bool,
    /// Page-locked bytes of a pending copy.
    staged: Option<Allocation>,
}

impl Memory {
    /// Makes an array with this layout. The work that writes a pending array is enqueued, and runs later.
    pub(super) fn new(context: &Context, layout: &Layout, is_read_only: bool, is_pending: bool) -> Result<Self> {
        let offsets = offsets(layout);
        let lowest = offsets.iter().copied().min().unwrap_or(0);
        let extent = offsets.iter().map(|offset| offset.abs_diff(lowest) + layout.itemsize()).max().unwrap_or(0);
        let first = MARGIN + lowest.unsigned_abs();
        let elements: Vec<usize> = offsets.iter().map(|offset| MARGIN + offset.abs_diff(lowest)).collect();
        let mut content = vec![UNUSED; MARGIN + extent + MARGIN];
        for (number, &at) in elements.iter().enumerate() {
            // Small numbers of every type.
            content[at..at + layout.itemsize()].fill((number % 2) as u8);
        }
        let mut made = Self {
            stream: Stream::non_blocking(context)?,
            memory: Allocation::device(context, content.len())?,
            content,
            elements,
            itemsize: layout.itemsize(),
            first,
            is_read_only,
            staged: None,
        };
        made.upload(context, is_pending)?;
        Ok(made)
    }

    fn upload(&mut self, context: &Context, is_pending: bool) -> Result<()> {
        let staged = Allocation::pinned(context, self.content.len())?;
        let Some(host) = staged.host_ptr() else {
            return Ok(());
        };
        // SAFETY: the page-locked allocation has as many bytes as `content`, and no other code has its address.
        unsafe { host.copy_from_nonoverlapping(self.content.as_ptr(), self.content.len()) };
        // SAFETY: both allocations have as many bytes, and live until the stream is synchronized: `staged` is kept, or waited for.
        unsafe {
            copy::copy_host_to_device(context, self.memory.device_ptr(), host, self.content.len(), Some(&self.stream))?;
        }
        self.staged = Some(staged);
        if is_pending { Ok(()) } else { self.stream.synchronize() }
    }

    /// The address of the first element.
    pub(super) fn pointer(&self) -> DevicePtr {
        self.memory.device_ptr() + self.first as DevicePtr
    }

    /// The stream of pending work.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Describes a write that the caller of a function does not expect, after all work on the device.
    ///
    /// `may_write` says whether the function may change elements of a writable array.
    pub(super) fn wrong_write(&self, context: &Context, may_write: bool) -> Result<Option<String>> {
        context.synchronize()?;
        let mut now = vec![0; self.content.len()];
        // SAFETY: `now` has as many bytes as the allocation, and lives until the stream is synchronized.
        unsafe {
            copy::copy_device_to_host(
                context,
                now.as_mut_ptr(),
                self.memory.device_ptr(),
                now.len(),
                Some(&self.stream),
            )?;
        }
        self.stream.synchronize()?;
        let mut belongs = vec![false; now.len()];
        for &at in &self.elements {
            belongs[at..at + self.itemsize].fill(true);
        }
        let changed =
            (0..now.len()).find(|&at| now[at] != self.content[at] && !(may_write && !self.is_read_only && belongs[at]));
        Ok(changed.map(|at| {
            let what = match belongs[at] {
                false => "a byte that belongs to no element",
                true if self.is_read_only => "an element of a read-only array",
                true => "an element",
            };
            format!("wrote {what}, {} bytes from the first element", at as i128 - self.first as i128)
        }))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // The allocations are freed after the copy. An error is reported by the next driver call.
        let _ = self.stream.synchronize();
    }
}

/// The offsets of the elements from the first one, in bytes and in C order.
fn offsets(layout: &Layout) -> Vec<isize> {
    let mut found = if layout.is_empty() { Vec::new() } else { vec![0] };
    for (&length, &stride) in layout.shape().iter().zip(layout.strides()) {
        found = found
            .into_iter()
            .flat_map(|offset| (0..length as isize).map(move |position| offset + position * stride))
            .collect();
    }
    found
}

/// An array and the memory behind it.
pub(super) struct Array {
    pub(super) memory: Memory,
    mask: Option<Memory>,
    pub(super) entries: Entries,
}

impl Array {
    /// Makes an awkward array.
    pub(super) fn awkward(context: &Context, of: &Awkward) -> Result<Self> {
        let layout = of.layout()?;
        let memory = Memory::new(context, &layout, of.is_read_only, of.is_pending)?;
        let mut made = Self::over(memory, of.typestr.parse()?, layout.clone(), of.is_read_only)?;
        if of.strides.is_none() {
            made.entries.remove("strides");
        }
        if of.is_pending {
            made.entries.set("stream", Value::Int(made.memory.stream().handle() as i128));
        }
        if of.has_mask {
            let bytes = Layout::c_contiguous(layout.shape(), 1)?;
            made.mask = Some(Memory::new(context, &bytes, true, false)?);
        }
        made.entries.set("version", Value::Int(of.version.into()));
        if !of.descr.is_empty() {
            let fields = of.descr.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect();
            made.entries.set("descr", Value::Fields(fields));
        }
        Ok(made)
    }

    /// Makes a writable array of floats with this layout.
    pub(super) fn of_layout(context: &Context, layout: Layout) -> Result<Self> {
        let memory = Memory::new(context, &layout, false, false)?;
        Self::over(memory, TypeStr::of::<f32>(), layout, false)
    }

    fn over(memory: Memory, typestr: TypeStr, layout: Layout, is_read_only: bool) -> Result<Self> {
        let data = if layout.is_empty() { 0 } else { memory.pointer() };
        let interface = Interface::new(data, typestr, layout)?.with_read_only(is_read_only);
        Ok(Self { memory, mask: None, entries: Entries::of(&interface) })
    }

    /// The dictionary of the mask, whose bytes are 0 and 1.
    pub(super) fn mask(&self) -> Option<Entries> {
        let mask = self.mask.as_ref()?;
        let mut entries = self.entries.clone();
        entries.remove("strides");
        entries.set("typestr", Value::Text("|b1".to_owned()));
        let data = vec![Value::Int(mask.pointer().into()), Value::Bool(true)];
        entries.set("data", Value::Tuple(data));
        Some(entries)
    }

    /// Describes a write that the caller of a function does not expect.
    pub(super) fn wrong_write(&self, context: &Context, may_write: bool) -> Result<Option<String>> {
        if let Some(mask) = &self.mask
            && let Some(wrong) = mask.wrong_write(context, false)?
        {
            return Ok(Some(format!("{wrong}, of the mask")));
        }
        self.memory.wrong_write(context, may_write)
    }
}

/// Returns values of a strategy that are the same in each run.
pub(super) fn drawn<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    (0..count).filter_map(|_| strategy.new_tree(&mut runner).ok()).map(|tree| tree.current()).collect()
}

pub(super) fn error(what: &str, error: Error) -> pyo3::PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(format!("{what}: {error}"))
}
