//! Copies between an array and a slice on the host, in the stream of a guard: a [`CopyPlan`] carried out by the driver.
//!
//! The host waits for them, since a slice is borrowed and the driver may read it, or write it, until the stream is done. So they
//! suit tests, small tables and what runs once; what is to overlap with other work takes pinned memory and the calls of
//! [`driver::copy`](crate::driver::copy).

use crate::{
    Element, Error, Interface, Layout, Result,
    copy::strided_copy::CopyPlan,
    driver::{
        Context, Stream,
        copy::{Copy3d, CopyAddress, copy_3d, copy_device_to_host, copy_host_to_device},
    },
    sync,
};

/// The elements in C order. The host waits.
pub(crate) fn fetch<T: Element>(interface: &Interface, stream: &Stream) -> Result<Vec<T>> {
    let layout = interface.layout();
    let mut elements: Vec<T> = Vec::new();
    if elements.try_reserve_exact(layout.len()).is_err() {
        return Err(Error::argument(format!("{} bytes cannot be had on the host", layout.nbytes())));
    }
    let host = elements.as_mut_ptr().cast::<u8>();
    if let Some(plan) = CopyPlan::new(&in_c_order(layout)?, layout)? {
        // SAFETY: the vector has room for all elements in C order, and is not looked at before the stream is done; the device's side
        // is the guard's.
        unsafe { carry_out(&plan, host, interface, Way::ToHost, stream) }?;
    }
    // SAFETY: the plan writes each element, and all bytes of one; whatever they are, they are a `T`.
    unsafe { elements.set_len(layout.len()) };
    Ok(elements)
}

/// Writes elements that lie in C order. The host waits.
pub(crate) fn send<T: Element>(interface: &Interface, stream: &Stream, elements: &[T]) -> Result<()> {
    let layout = interface.layout();
    if elements.len() != layout.len() {
        return Err(Error::argument(format!(
            "{} elements were given, and the array has {}",
            elements.len(),
            layout.len()
        )));
    }
    if let Some(plan) = CopyPlan::new(layout, &in_c_order(layout)?)? {
        let host = elements.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: the slice has all elements in C order, is only read, and is borrowed until the stream is done; the device's side is
        // the guard's.
        unsafe { carry_out(&plan, host, interface, Way::ToDevice, stream) }?;
    }
    Ok(())
}

fn in_c_order(layout: &Layout) -> Result<Layout> {
    Layout::c_contiguous(layout.shape(), layout.itemsize())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToHost,
    ToDevice,
}

/// # Safety
/// The plan is one between the interface's layout and memory at `host`, which is good for that until this returns; the array is
/// live, and its use is in order with the stream.
unsafe fn carry_out(plan: &CopyPlan, host: *mut u8, interface: &Interface, way: Way, stream: &Stream) -> Result<()> {
    sync::may_wait(stream)?;
    let context = stream.work_context()?;
    let copied = plan.starts().try_for_each(|(dst, src)| {
        let (on_host, on_device) = if way == Way::ToHost { (dst, src) } else { (src, dst) };
        let (host, device) = (host.wrapping_offset(on_host), interface.data().wrapping_add_signed(on_device as i64));
        // SAFETY: this function's contract; a plan stays within both layouts.
        unsafe { copy_one(&context, plan, host, device, way, stream) }
    });
    // Also where a box was refused: those before it still read or write the host's memory.
    let done = sync::synchronize(stream);
    copied.and(done)
}

/// # Safety
/// As [`carry_out`], of one box.
unsafe fn copy_one(
    context: &Context,
    plan: &CopyPlan,
    host: *mut u8,
    device: u64,
    way: Way,
    stream: &Stream,
) -> Result<()> {
    match (plan.is_runs(), way) {
        // SAFETY: this function's contract, here and below.
        (true, Way::ToHost) => unsafe { copy_device_to_host(context, host, device, plan.width, Some(stream)) },
        // SAFETY: as above.
        (true, Way::ToDevice) => unsafe { copy_host_to_device(context, device, host, plan.width, Some(stream)) },
        (false, way) => {
            let (host, device) = (CopyAddress::Host(host), CopyAddress::Device(device));
            let (dst, src) = if way == Way::ToHost { (host, device) } else { (device, host) };
            // SAFETY: as above.
            unsafe { copy_3d(context, &Copy3d::of(plan, dst, src), Some(stream)) }
        }
    }
}
