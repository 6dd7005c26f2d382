//! The bytes that the elements take, and checks of their addresses.

use super::{DevicePtr, no_objects};
use crate::{Error, Kind, Layout, Result, TypeStr, protocol::layout::Tuple};
use std::ops::Range;

/// Checks the combinations of entries that [`Interface::new`] refuses.
pub(super) fn check_memory(data: DevicePtr, typestr: TypeStr, layout: &Layout) -> Result<()> {
    if typestr.kind() == Kind::Object {
        return Err(no_objects("typestr", &typestr));
    }
    if typestr.itemsize() != layout.itemsize() {
        let why = format!(
            "'{typestr}' has items of {} bytes, but the layout was made for items of {}",
            typestr.itemsize(),
            layout.itemsize()
        );
        return Err(Error::entry("typestr", why));
    }
    if is_packed(typestr) && !layout.is_c_contiguous() {
        let why =
            format!("{} cannot step through the packed bits of '{typestr}'; expected None", Tuple(layout.strides()));
        return Err(Error::entry("strides", why));
    }
    let extent = byte_extent(typestr, layout);
    if !extent.is_empty() {
        if data == 0 {
            let why = format!("a null pointer, but shape {} has elements", Tuple(layout.shape()));
            return Err(Error::entry("data", why));
        }
        if data.checked_add_signed(extent.start as i64).is_none()
            || data.checked_add_signed(extent.end as i64).is_none()
        {
            let why = format!(
                "pointer {data:#x} with shape {} and strides {} reaches beyond the address space",
                Tuple(layout.shape()),
                Tuple(layout.strides())
            );
            return Err(Error::entry("data", why));
        }
    }
    Ok(())
}

/// The bytes of the elements, relative to the data pointer.
#[inline]
pub(super) fn byte_extent(typestr: TypeStr, layout: &Layout) -> Range<isize> {
    match typestr.bits() {
        Some(bits) if is_packed(typestr) => 0..packed_bytes(bits, layout) as isize,
        _ => layout.byte_extent(),
    }
}

/// The bytes that hold all bits of packed elements. Uses u128, because a string of 2^60 bytes has more bits than usize counts.
pub(super) fn packed_bytes(bits: u32, layout: &Layout) -> usize {
    (layout.len() as u128 * u128::from(bits)).div_ceil(8) as usize
}

/// Whether the elements are bit fields that share bytes.
#[inline]
pub(super) fn is_packed(typestr: TypeStr) -> bool {
    typestr.bits().is_some_and(|bits| bits % 8 != 0)
}
