//! Whether devices can access the memory at an address, by which device address, and on which device it is (clauses
//! I6 and A1).
//!
//! The pointer of an interface must be one that devices can access. For a host address (pinned memory, or memory
//! registered later) the driver gives the device address. Memory that no device can access is refused before work is
//! enqueued on it, with a description; the driver's own error would be "invalid value". There are two kinds of such
//! memory. Ordinary host memory and freed memory are unknown to the driver. Other memory is known to the driver, but
//! not mapped for devices.
//!
//! An unknown address may also become valid: memory that a graph allocates exists when the graph runs. So nothing is refused while a
//! stream captures.

use super::{contexts::context_by, runtime::driver};
use crate::{
    DevicePtr, Error, Result,
    driver::{CaptureStatus, Context, MemoryKind, PointerAttributes, Stream},
};
use cuarray_abi::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
use std::borrow::Cow;

/// The data pointer of an array.
#[derive(Clone, Copy)]
pub(in crate::python) struct Pointer<'a> {
    pub(in crate::python) address: DevicePtr,
    /// The context, for device memory that the package allocated and still holds. No query is needed then.
    pub(in crate::python) allocated_in: Option<&'a Context>,
}

/// The result of a query for the memory at an address.
#[derive(Clone, Copy)]
pub(in crate::python) struct Found<'a> {
    pointer: Pointer<'a>,
    /// The device of the memory, or of its context.
    device: Option<i32>,
    /// The driver's attributes; `None` if the driver does not know the memory.
    reached: Option<Reached>,
}

/// Memory that devices can access.
#[derive(Clone, Copy)]
pub(in crate::python) struct Reached {
    /// The address on the device.
    pub(in crate::python) address: DevicePtr,
    /// The device that owns the memory; `None` for memory that all devices share.
    pub(in crate::python) device: Option<i32>,
}

impl<'a> Pointer<'a> {
    /// # Errors
    /// [`Error::is_unsupported`]: the driver knows the memory, but no device can access it.
    pub(in crate::python) fn find(self) -> Result<Found<'a>> {
        let Pointer { address, allocated_in } = self;
        if let Some(context) = allocated_in {
            let device = Some(context.ordinal()?);
            return Ok(Found { pointer: self, device, reached: Some(Reached { address, device }) });
        }
        let Some(attributes) = attributes(address)? else {
            return Ok(Found { pointer: self, device: None, reached: None });
        };
        match of_device(&attributes, address) {
            Some(reached) => {
                let reached = Reached { address: reached, device: owning_device(&attributes) };
                Ok(Found { pointer: self, device: attributes.device_ordinal, reached: Some(reached) })
            }
            None => Err(unreached(address, Some(&attributes))),
        }
    }
}

impl Found<'_> {
    /// A context of the device, as [`context_of`].
    pub(in crate::python) fn context(&self) -> Result<Cow<'_, Context>> {
        match self.pointer.allocated_in {
            Some(context) if context.is_current()? => Ok(Cow::Borrowed(context)),
            _ => context_by(self.device).map(Cow::Owned),
        }
    }

    /// The memory for work in `context`, enqueued in `stream`. While `stream` captures, unknown memory is accepted.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: no device reaches the memory.
    pub(in crate::python) fn reach(&self, context: &Context, stream: Option<&Stream>) -> Result<Reached> {
        if let Some(reached) = self.reached {
            return Ok(reached);
        }
        let captures = || Ok::<_, Error>(stream.map(Stream::capture_status).transpose()?.is_some_and(is_capturing));
        if reaches_host_memory(context)? || captures()? {
            return Ok(Reached { address: self.pointer.address, device: None });
        }
        Err(unreached(self.pointer.address, None))
    }
}

impl Reached {
    /// The memory at an offset in bytes.
    pub(in crate::python) fn at(self, offset: isize) -> Reached {
        Reached { address: self.address.wrapping_add_signed(offset as i64), ..self }
    }
}

/// The memory at `address` for work in `context`, enqueued in `stream`. While `stream` captures, unknown memory is accepted.
///
/// # Errors
/// [`Error::is_unsupported`]: no device reaches the memory.
pub(in crate::python) fn reach(context: &Context, address: DevicePtr, stream: Option<&Stream>) -> Result<Reached> {
    Pointer { address, allocated_in: None }.find()?.reach(context, stream)
}

/// A context of the device whose memory `pointer` addresses (clauses I6 and A1: the pointer decides on the device). The current context if
/// it belongs to that device, else the primary one. The default context if the driver does not know the memory.
pub(in crate::python) fn context_of(pointer: DevicePtr) -> Result<Context> {
    context_by(attributes(pointer)?.and_then(|attributes| attributes.device_ordinal))
}

fn is_capturing(status: CaptureStatus) -> bool {
    status != CaptureStatus::None
}

/// The driver's attributes of an address; `None` if the driver does not know it.
pub(in crate::python) fn attributes(address: DevicePtr) -> Result<Option<PointerAttributes>> {
    let driver = driver()?;
    let query = || PointerAttributes::query(driver, address);
    match query()? {
        // Whether devices can access host memory depends on the current context, and there may be none.
        Some(found) if found.kind == MemoryKind::Pinned && found.device_ptr == 0 => {
            let context = driver.default_context()?;
            let _current = context.push()?;
            query()
        }
        result => Ok(result),
    }
}

/// The address by which devices reach the memory at `address`, if they do.
pub(in crate::python) fn of_device(attributes: &PointerAttributes, address: DevicePtr) -> Option<DevicePtr> {
    match (attributes.kind, attributes.device_ptr) {
        (MemoryKind::Pinned, 0) => None,
        // The driver reports no address if the current context cannot access another device's memory.
        (_, 0) => Some(address),
        (_, device_ptr) => Some(device_ptr),
    }
}

fn owning_device(attributes: &PointerAttributes) -> Option<i32> {
    attributes.device_ordinal.filter(|_| attributes.kind == MemoryKind::Device)
}

/// Whether the device can access all host memory, registered or not.
pub(in crate::python) fn reaches_host_memory(context: &Context) -> Result<bool> {
    Ok(context.device()?.attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)? == 1)
}

/// The error for memory that devices do not reach.
#[cold]
pub(in crate::python) fn unreached(address: DevicePtr, attributes: Option<&PointerAttributes>) -> Error {
    let what = match attributes {
        Some(attributes) => kind(attributes),
        None if is_host_memory(address) => "ordinary host memory",
        None => "unknown to the driver: it was freed, or was never device memory",
    };
    Error::unsupported(format!(
        "devices do not reach the memory at {address:#x}, which is {what}; expected device or managed memory, or host memory \
         that is page-locked and mapped for devices"
    ))
}

/// Describes memory in words, from the driver's attributes.
pub(in crate::python) fn kind(attributes: &PointerAttributes) -> &'static str {
    match attributes.kind {
        MemoryKind::Managed => "managed memory",
        MemoryKind::Pinned if attributes.device_ptr == 0 => "page-locked host memory that is not mapped for devices",
        MemoryKind::Pinned => "page-locked host memory",
        MemoryKind::Device if attributes.context.is_none() => "device memory of a pool",
        _ => "device memory",
    }
}

/// Whether the host can read at `address`; `false` if the operating system does not report it.
pub(in crate::python) fn is_host_memory(address: u64) -> bool {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return false };
    maps.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        let held = range.and_then(|(start, end)| Some(number(start)?..number(end)?));
        held.is_some_and(|held| held.contains(&address)) && words.next().is_some_and(|access| access.starts_with('r'))
    })
}
