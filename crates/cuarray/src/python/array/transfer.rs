//! Copies between arrays of any layout, on the host and on devices: a [`CopyPlan`] carried out by the driver.

use crate::python::memory::{reach::Reached, runtime::context_by};
use crate::{
    Result,
    copy::strided_copy::CopyPlan,
    driver::{
        Context, Stream,
        copy::{
            Copy3d, CopyAddress, copy_3d, copy_3d_peer, copy_device_to_device, copy_device_to_host,
            copy_host_to_device, copy_peer,
        },
    },
};

/// One side of a copy: its data pointer, and whose address that is.
#[derive(Clone, Copy)]
pub(in crate::python) enum Side {
    Host(u64),
    Device(Reached),
}

/// Copies every element of `src` to its place in `dst`, in `stream`, or at once and waiting where there is none.
/// From one device's memory to another's the driver is told both, so that neither has to reach the other's.
///
/// # Safety
/// The layouts of the plan, at these data pointers, are live memory of their side for as long as the copy runs, and that of `dst` may
/// be written.
pub(in crate::python) unsafe fn copy(
    context: &Context,
    plan: &CopyPlan,
    dst: Side,
    src: Side,
    stream: Option<&Stream>,
) -> Result<()> {
    let peers = match (dst.device(), src.device()) {
        (Some(to), Some(from)) if to != from => Some((context_by(Some(to))?, context_by(Some(from))?)),
        _ => None,
    };
    for (dst_offset, src_offset) in plan.starts() {
        let (dst, src) = (dst.at(dst_offset), src.at(src_offset));
        if plan.is_runs() {
            match &peers {
                // SAFETY: the plan stays within both layouts, which the caller vouches for; each context is its side's.
                Some((to, from)) => unsafe {
                    copy_peer((to, dst.address()), (from, src.address()), plan.width, stream)?
                },
                // SAFETY: as above.
                None => unsafe { copy_run(context, dst, src, plan.width, stream)? },
            }
        } else {
            let copy = Copy3d::of(plan, dst.memory(), src.memory());
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

impl Side {
    fn address(self) -> u64 {
        match self {
            Side::Host(address) => address,
            Side::Device(reached) => reached.address,
        }
    }

    /// The device whose own memory it is.
    fn device(self) -> Option<i32> {
        match self {
            Side::Host(_) => None,
            Side::Device(reached) => reached.device,
        }
    }

    fn at(self, offset: isize) -> Side {
        match self {
            Side::Host(address) => Side::Host(address.wrapping_add_signed(offset as i64)),
            Side::Device(reached) => Side::Device(reached.at(offset)),
        }
    }

    fn memory(self) -> CopyAddress {
        match self {
            Side::Host(address) => CopyAddress::Host(std::ptr::with_exposed_provenance_mut(address as usize)),
            Side::Device(reached) => CopyAddress::Device(reached.address),
        }
    }
}

/// # Safety
/// As [`copy`], of `len` bytes at both addresses.
unsafe fn copy_run(context: &Context, dst: Side, src: Side, len: usize, stream: Option<&Stream>) -> Result<()> {
    let host = |address: u64| std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    match (dst, src) {
        // SAFETY: by this function's contract, in this and the two arms below.
        (Side::Device(dst), Side::Host(src)) => unsafe {
            copy_host_to_device(context, dst.address, host(src), len, stream)
        },
        // SAFETY: as above.
        (Side::Host(dst), src) => unsafe { copy_device_to_host(context, host(dst), src.address(), len, stream) },
        // SAFETY: as above.
        (Side::Device(dst), Side::Device(src)) => unsafe {
            copy_device_to_device(context, dst.address, src.address, len, stream)
        },
    }
}
