//! Exports a `CudaSlice` as an array for any library.

use crate::Result;
use cuarray::{
    CContiguous, Driver, Element, Interface, IxDyn, Layout, Owner, RawView, StreamEntry, TypeStr, TypedView,
};
use cudarc::driver::{CudaSlice, DevicePtrMut};
use std::sync::Arc;

/// A lent slice and the array that exports it. The array keeps the slice alive.
pub struct Lent<T: Element> {
    slice: Arc<CudaSlice<T>>,
    array: TypedView<T, IxDyn, CContiguous>,
}

/// Exports a slice as an array of the given shape, with the slice's stream as its home stream.
pub fn lend<T: Element>(driver: &Driver, mut slice: CudaSlice<T>, shape: &[usize]) -> Result<Lent<T>> {
    let layout = Layout::c_contiguous(shape, size_of::<T>())?;
    if layout.len() != slice.len() {
        return Err(format!("{shape:?} are {} elements, and the slice has {}", layout.len(), slice.len()).into());
    }
    let stream = slice.stream().clone();
    // Makes the slice's stream wait, by cudarc's events, for cudarc's work on the slice in other streams.
    let (pointer, joined) = slice.device_ptr_mut(&stream);
    drop(joined);
    // The legacy default stream is handle 0 in cudarc, and 1 in the interface.
    let entry = StreamEntry::try_from((stream.cu_stream() as usize).max(1) as i128)?;
    let interface = Interface::new(pointer, TypeStr::of::<T>(), layout)?.with_stream(entry);
    let slice = Arc::new(slice);
    // SAFETY: memory and stream belong to the slice, which the view keeps alive.
    let array = unsafe { RawView::new(driver, interface, Some(Owner::new(slice.clone()))) }?;
    Ok(Lent { slice, array: array.typed()? })
}

impl<T: Element> Lent<T> {
    /// Returns the array for consumers.
    pub fn array(&mut self) -> &mut TypedView<T, IxDyn, CContiguous> {
        &mut self.array
    }

    /// Returns the slice. cudarc's later work on it, in any stream, is ordered after the consumers' work.
    ///
    /// # Panics
    /// If a clone of the array's owner still holds the slice.
    pub fn take_back(self) -> CudaSlice<T> {
        drop(self.array);
        let mut slice = Arc::into_inner(self.slice).expect("the array's view was the only other holder");
        let stream = slice.stream().clone();
        // The slice's stream already waits for the consumers. This records cudarc's event after them, for cudarc's other streams.
        drop(slice.device_ptr_mut(&stream).1);
        slice
    }
}
