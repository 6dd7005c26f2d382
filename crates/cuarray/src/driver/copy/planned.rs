//! Copies by a [`CopyPlan`]: a driver call for each box.

use super::{Copy3d, CopyAddress, copy_3d, copy_device_to_device, copy_device_to_host, copy_host_to_device};
use crate::{
    Result,
    copy::strided_copy::CopyPlan,
    driver::{Context, Stream},
};

/// Copies each element of the plan's source to its place in the destination.
///
/// # Safety
/// As [`copy_3d`], for each box of the plan. `dst` and `src` are the data pointers of the plan's layouts.
pub(crate) unsafe fn copy_planned(
    context: &Context,
    plan: &CopyPlan,
    dst: CopyAddress,
    src: CopyAddress,
    stream: Option<&Stream>,
) -> Result<()> {
    plan.starts().try_for_each(|(to, from)| {
        let (dst, src) = (dst.at(to), src.at(from));
        match plan.is_runs() {
            // SAFETY: this function's contract; a plan stays within both layouts.
            true => unsafe { copy_run(context, dst, src, plan.width, stream) },
            // SAFETY: this function's contract; a plan stays within both layouts.
            false => unsafe { copy_3d(context, &Copy3d::of(plan, dst, src), stream) },
        }
    })
}

/// Copies `len` bytes by the function for the two kinds of addresses.
///
/// # Safety
/// As [`copy_3d`], for `len` bytes at both addresses.
pub(crate) unsafe fn copy_run(
    context: &Context,
    dst: CopyAddress,
    src: CopyAddress,
    len: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    match (dst, src) {
        (CopyAddress::Device(dst), CopyAddress::Host(src)) => {
            // SAFETY: this function's contract.
            unsafe { copy_host_to_device(context, dst, src, len, stream) }
        }
        (CopyAddress::Device(dst), CopyAddress::Device(src)) => {
            // SAFETY: this function's contract.
            unsafe { copy_device_to_device(context, dst, src, len, stream) }
        }
        (CopyAddress::Host(dst), CopyAddress::Device(src)) => {
            // SAFETY: this function's contract.
            unsafe { copy_device_to_host(context, dst, src, len, stream) }
        }
        (CopyAddress::Host(dst), CopyAddress::Host(src)) => {
            let src = src.expose_provenance() as u64;
            // SAFETY: this function's contract. With unified addressing, a host address names the same bytes for the device.
            unsafe { copy_device_to_host(context, dst, src, len, stream) }
        }
    }
}
