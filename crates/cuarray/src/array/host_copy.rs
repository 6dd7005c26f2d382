//! Copies between an array and a slice on the host, in the stream of a guard: the driver executes a [`CopyPlan`].
//!
//! The host waits for each copy: the slice is borrowed, and the driver may access it until the stream is done. So these copies suit
//! tests, small tables and one-time work. Copies with a [`PinnedArray`](crate::PinnedArray) overlap with other work.

use crate::{
    Element, Error, Interface, Layout, Result,
    copy::strided_copy::CopyPlan,
    driver::{
        Stream,
        copy::{CopyAddress, copy_planned},
    },
    protocol::padding::Initialized,
    sync,
};

/// Copies the elements to the host in C order. The host waits.
pub(crate) fn fetch<T: Element>(interface: &Interface, stream: &Stream) -> Result<Vec<T>> {
    let layout = interface.layout();
    let mut elements = with_capacity::<T>(layout.len())?;
    let host = elements.as_mut_ptr().cast::<u8>();
    if let Some(plan) = CopyPlan::new(&in_c_order(layout)?, layout)? {
        // SAFETY: the vector has room for all elements in C order, and is not read before the stream is done; the guard orders the
        // access to the device memory.
        unsafe { execute(&plan, CopyAddress::Host(host), CopyAddress::Device(interface.data()), stream) }?;
    }
    // SAFETY: the plan writes all bytes of each element, and any bytes are a valid `T`.
    unsafe { elements.set_len(layout.len()) };
    Ok(elements)
}

/// Equal elements on the host.
pub(crate) fn repeated<T: Element>(value: T, count: usize) -> Result<Vec<T>> {
    let mut elements = with_capacity(count)?;
    if size_of::<T>() == 0 {
        // `resize` loops over the elements, and a count of elements without bytes can be huge.
        // SAFETY: `value` is a value of the type, and each element has its zero bytes.
        unsafe { elements.set_len(count) };
    } else {
        elements.resize(count, value);
    }
    Ok(elements)
}

fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    match elements.try_reserve_exact(count) {
        Ok(()) => Ok(elements),
        Err(_) => {
            Err(Error::argument(format!("cannot allocate {count} elements of {} bytes on the host", size_of::<T>())))
        }
    }
}

/// Copies elements in C order from the host. The host waits.
pub(crate) fn send<T: Element>(interface: &Interface, stream: &Stream, elements: &[T]) -> Result<()> {
    let layout = interface.layout();
    if elements.len() != layout.len() {
        return Err(Error::argument(format!("got {} elements, and the array has {}", elements.len(), layout.len())));
    }
    if let Some(plan) = CopyPlan::new(layout, &in_c_order(layout)?)? {
        let elements = Initialized::new(elements)?;
        let host = elements.as_ptr().cast_mut();
        // SAFETY: the slice or its copy has all elements in C order, is only read, and lives until the stream is done; the guard orders the
        // access to the device memory.
        unsafe { execute(&plan, CopyAddress::Device(interface.data()), CopyAddress::Host(host), stream) }?;
    }
    Ok(())
}

fn in_c_order(layout: &Layout) -> Result<Layout> {
    Layout::c_contiguous(layout.shape(), layout.itemsize())
}

/// # Safety
/// Both addresses are the data pointers of the plan's layouts. The host memory is valid for it until this function returns. The array is
/// live, and its use is ordered in the stream.
unsafe fn execute(plan: &CopyPlan, dst: CopyAddress, src: CopyAddress, stream: &Stream) -> Result<()> {
    sync::may_wait(stream)?;
    let context = stream.work_context()?;
    // SAFETY: this function's contract.
    let copied = unsafe { copy_planned(&context, plan, dst, src, Some(stream)) };
    // Waits also after an error: copies of earlier boxes may still access the host memory.
    let done = sync::synchronize(stream);
    copied.and(done)
}
