//! Copies between arrays of any layout, on the host and on devices: a [`CopyPlan`] carried out by the driver.

use super::{reach::reach, runtime::context_of};
use crate::{
    Result,
    driver::{
        Context, Stream,
        copy::{
            Copy3d, CopyAddress, CopySide, copy_3d, copy_3d_peer, copy_device_to_device, copy_device_to_host,
            copy_host_to_device, copy_peer,
        },
    },
    strided_copy::CopyPlan,
};

/// One side of a copy: whose address the data pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Host,
    Device,
}

/// Copies every element of the array at `src` to its place in the one at `dst`, in `stream`, or at once and waiting where there is none.
/// From one device's memory to another's the driver is told both, so that neither has to reach the other's.
///
/// # Errors
/// [`Error::is_unsupported`](crate::Error::is_unsupported) for a device side that devices do not reach.
///
/// # Safety
/// The layouts of the plan, at these data pointers, are live memory of their side for as long as the copy runs, and that of `dst` may
/// be written.
pub(super) unsafe fn copy(
    context: &Context,
    plan: &CopyPlan,
    (dst, dst_side): (u64, Side),
    (src, src_side): (u64, Side),
    stream: Option<&Stream>,
) -> Result<()> {
    let device = |address, side| match side {
        Side::Host => Ok((address, None)),
        Side::Device => reach(context, address, stream).map(|reached| (reached.address, reached.device)),
    };
    let (dst, dst_device) = device(dst, dst_side)?;
    let (src, src_device) = device(src, src_side)?;
    let peers = match (dst_device, src_device) {
        (Some(to), Some(from)) if to != from => Some((context_of(dst)?, context_of(src)?)),
        _ => None,
    };
    // Pushed once, and not for each box.
    let _current = (plan.boxes() > 1).then(|| context.push()).transpose()?;
    for (dst_offset, src_offset) in plan.starts() {
        let dst_at = dst.wrapping_add_signed(dst_offset as i64);
        let src_at = src.wrapping_add_signed(src_offset as i64);
        if plan.is_runs() {
            match &peers {
                // SAFETY: the plan stays within both layouts, which the caller vouches for; each context is its side's.
                Some((to, from)) => unsafe { copy_peer((to, dst_at), (from, src_at), plan.width, stream)? },
                // SAFETY: as above.
                None => unsafe { copy_run(context, (dst_at, dst_side), (src_at, src_side), plan.width, stream)? },
            }
        } else {
            let side = |address, side, pitch: usize, height: usize| CopySide {
                address: memory(address, side),
                pitch,
                slice_pitch: pitch * height,
            };
            let copy = Copy3d {
                dst: side(dst_at, dst_side, plan.dst_pitch, plan.dst_height),
                src: side(src_at, src_side, plan.src_pitch, plan.src_height),
                width: plan.width,
                height: plan.rows,
                depth: plan.slices,
            };
            match &peers {
                // SAFETY: as above.
                Some((to, from)) => unsafe { copy_3d_peer(to, from, &copy, stream)? },
                // SAFETY: as above.
                None => unsafe { copy_3d(context, &copy, stream)? },
            }
        }
    }
    Ok(())
}

fn memory(address: u64, side: Side) -> CopyAddress {
    match side {
        Side::Host => CopyAddress::Host(std::ptr::with_exposed_provenance_mut(address as usize)),
        Side::Device => CopyAddress::Device(address),
    }
}

/// # Safety
/// As [`copy`], of `len` bytes at both addresses.
unsafe fn copy_run(
    context: &Context,
    (dst, dst_side): (u64, Side),
    (src, src_side): (u64, Side),
    len: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    let host = |address: u64| std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    match (dst_side, src_side) {
        // SAFETY: by this function's contract, in this and the two arms below.
        (Side::Device, Side::Host) => unsafe { copy_host_to_device(context, dst, host(src), len, stream) },
        // SAFETY: as above.
        (Side::Host, _) => unsafe { copy_device_to_host(context, host(dst), src, len, stream) },
        // SAFETY: as above.
        (Side::Device, Side::Device) => unsafe { copy_device_to_device(context, dst, src, len, stream) },
    }
}
