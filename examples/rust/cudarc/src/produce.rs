//! A `CudaSlice` as an array for anybody.

use crate::Result;
use cuarray::{
    CContiguous, Driver, Element, Interface, IxDyn, Layout, Owner, RawView, StreamEntry, TypeStr, TypedView,
};
use cudarc::driver::{CudaSlice, DevicePtrMut};
use std::sync::Arc;

/// A slice that is lent, and the array that others see. Whoever holds the array holds the slice.
pub struct Lent<T: Element> {
    slice: Arc<CudaSlice<T>>,
    array: TypedView<T, IxDyn, CContiguous>,
}

/// Lends a slice as an array of that shape, with the slice's stream as its default stream.
pub fn lend<T: Element>(driver: &Driver, mut slice: CudaSlice<T>, shape: &[usize]) -> Result<Lent<T>> {
    let layout = Layout::c_contiguous(shape, size_of::<T>())?;
    if layout.len() != slice.len() {
        return Err(format!("{shape:?} are {} elements, and the slice has {}", layout.len(), slice.len()).into());
    }
    let stream = slice.stream().clone();
    // cudarc's own events: the slice's stream waits here for what cudarc has pending on it in others.
    let (pointer, joined) = slice.device_ptr_mut(&stream);
    drop(joined);
    // Null is what cudarc calls the default stream; the interface calls it 1.
    let entry = StreamEntry::try_from((stream.cu_stream() as usize).max(1) as i128)?;
    let interface = Interface::new(pointer, TypeStr::of::<T>(), layout)?.with_stream(entry);
    let slice = Arc::new(slice);
    // SAFETY: memory and stream belong to the slice, which the view keeps.
    let array = unsafe { RawView::new(driver, interface, Some(Owner::new(slice.clone()))) }?;
    Ok(Lent { slice, array: array.typed()? })
}

impl<T: Element> Lent<T> {
    /// The array, for consumers.
    pub fn array(&mut self) -> &mut TypedView<T, IxDyn, CContiguous> {
        &mut self.array
    }

    /// The slice again; cudarc's work on it, in whichever stream, comes after the consumers'.
    ///
    /// # Panics
    /// If somebody else still holds the slice.
    pub fn take_back(self) -> CudaSlice<T> {
        drop(self.array);
        let mut slice = Arc::into_inner(self.slice).expect("the array's view was the only other holder");
        let stream = slice.stream().clone();
        // The consumers' edges end in the slice's stream: an event of cudarc's behind them is what its other streams wait for.
        drop(slice.device_ptr_mut(&stream).1);
        slice
    }
}
