//! Copies between arrays of any layout, on the host and on devices: the driver calls for a [`CopyPlan`].

use crate::python::memory::{contexts::context_by, reach::Reached};
use crate::{
    Result,
    copy::strided_copy::CopyPlan,
    driver::{
        Context, Stream,
        copy::{Copy3d, CopyAddress, copy_3d, copy_3d_peer, copy_peer, copy_run},
    },
};

/// One side of a copy: a data pointer of the host or of a device.
#[derive(Clone, Copy)]
pub(in crate::python) enum Side {
    Host(u64),
    Device(Reached),
}

/// Copies every element of `src` to its place in `dst`, in `stream`. Without a stream the copy runs at once, and this call waits.
/// For a copy between two devices the driver receives both contexts, so neither device needs peer access to the other.
///
/// # Safety
/// Both data pointers, with the plan's layouts, describe memory that is live while the copy runs. The memory of `dst` may be
/// written.
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
                // SAFETY: the plan stays within both layouts, by the caller's contract; each context belongs to its side.
                Some((to, from)) => unsafe {
                    copy_peer((to, dst.address()), (from, src.address()), plan.width, stream)?
                },
                // SAFETY: the plan stays within both layouts, by the caller's contract; each context belongs to its side.
                None => unsafe { copy_run(context, dst.memory(), src.memory(), plan.width, stream)? },
            }
        } else {
            let copy = Copy3d::of(plan, dst.memory(), src.memory());
            match &peers {
                // SAFETY: the plan stays within both layouts, by the caller's contract; each context belongs to its side.
                Some((to, from)) => unsafe { copy_3d_peer(to, from, &copy, stream)? },
                // SAFETY: the plan stays within both layouts, by the caller's contract; each context belongs to its side.
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

    /// The device that owns the memory.
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
