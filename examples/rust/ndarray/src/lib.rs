//! ndarray's arrays to and from device memory.

use cuarray::{
    Element, Error, Interface, Layout, RawView, Result, Stream, TypeStr,
    driver::{Allocation, copy},
    order::Memory,
};
use ndarray::{ArrayD, ArrayRef, Dimension, IxDyn};
use std::sync::Arc;

/// A copy of the array in device memory, C-contiguous, with `stream` as its default stream. The view keeps the memory.
pub fn to_device<T: Element, D: Dimension>(array: &ArrayRef<T, D>, stream: &Stream) -> Result<RawView> {
    let context = match stream.context()? {
        Some(context) => context,
        None => stream.driver().default_context()?,
    };
    let host = array.as_standard_layout();
    let bytes = host.len() * size_of::<T>();
    let memory = Arc::new(Memory::new(&context, || Allocation::device(&context, bytes))?);
    let pointer = memory.allocation().device_ptr();
    // SAFETY: both have that many bytes, and the host's are there until the copy is done, which the next line sees to.
    unsafe { copy::copy_host_to_device(&context, pointer, host.as_ptr().cast(), bytes, Some(stream)) }?;
    stream.synchronize()?;
    let interface = Interface::new(pointer, TypeStr::of::<T>(), Layout::c_contiguous(array.shape(), size_of::<T>())?)?;
    let interface = match T::descr() {
        Some(descr) => interface.with_descr(descr)?,
        None => interface,
    };
    RawView::of_memory(&memory, interface, Some(stream))
}

/// The array's elements on the host, as they are behind all work on it. Waits for the copy.
pub fn to_host<T: Element>(view: &RawView, stream: &Stream) -> Result<ArrayD<T>> {
    let interface = view.interface();
    if interface.typestr() != TypeStr::of::<T>() {
        let (expected, came) = (TypeStr::of::<T>(), interface.typestr());
        return Err(Error::unsupported(format!("an array of {came}, where one of {expected} was expected")));
    }
    if interface.mask().is_some() {
        return Err(Error::unsupported("the array has a mask, which an ndarray has no place for"));
    }
    let array = view.acquire(stream)?;
    let span = interface.byte_range();
    let mut bytes = vec![0u8; (span.end - span.start) as usize];
    if !bytes.is_empty() {
        let context = match stream.context()? {
            Some(context) => context,
            None => stream.driver().default_context()?,
        };
        // SAFETY: both have that many bytes, and the host's are there until the copy is done, which the next line sees to.
        unsafe { copy::copy_device_to_host(&context, bytes.as_mut_ptr(), span.start, bytes.len(), Some(stream)) }?;
        stream.synchronize()?;
    }
    array.release()?;
    let origin = (interface.data() as i64 - span.start as i64) as isize;
    Ok(ArrayD::from_shape_fn(IxDyn(interface.shape()), |index| {
        let steps = index.slice().iter().zip(interface.strides());
        let offset = origin + steps.map(|(index, stride)| *index as isize * stride).sum::<isize>();
        // SAFETY: the element lies within the bytes that the array spans; every pattern of bits is an element.
        unsafe { bytes.as_ptr().offset(offset).cast::<T>().read_unaligned() }
    }))
}
