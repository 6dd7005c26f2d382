//! A Rust library with a C interface that passes arrays as the structure of `cuarray.h`.
//!
//! `ramp` makes an array on its own stream and exports the stream. `sum` takes any library's array and reads it on its own stream.
//! The view's guard orders the read after the producer's work and before the producer's later work.

use cuarray::{
    CArray, Driver, Error, Interface, Layout, Owner, Result, Stream, StreamEntry, TypeStr,
    c_interface::RawCArray,
    driver::{Allocation, copy},
};
use std::{ptr::null_mut, sync::Arc};

/// Returns the numbers 0, 1, 2, ... as 32-bit floats on the first device, or null on failure.
///
/// In C: `cuarray *arrays_ramp(int64_t count)`.
#[unsafe(no_mangle)]
pub extern "C" fn arrays_ramp(count: i64) -> *mut RawCArray {
    report(ramp(count)).map_or(null_mut(), CArray::into_raw)
}

fn ramp(count: i64) -> Result<CArray> {
    /// Owner of the resources that live as long as the array. The memory is dropped before the stream that works on it.
    struct Kept {
        memory: Allocation,
        _numbers: Vec<f32>,
        stream: Stream,
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            // The copy from `_numbers` below may still be pending.
            let _ = self.stream.synchronize();
        }
    }

    let context = Driver::load()?.device(0)?.primary_context()?;
    let count = usize::try_from(count).map_err(|_| Error::argument("a count below 0"))?;
    let numbers: Vec<f32> = (0..count).map(|number| number as f32).collect();
    let layout = Layout::c_contiguous(&[count], 4)?;
    let (memory, stream) = (Allocation::device(&context, layout.nbytes())?, Stream::non_blocking(&context)?);
    let kept = Kept { memory, _numbers: numbers, stream };
    let (to, from) = (kept.memory.device_ptr(), kept._numbers.as_ptr().cast());
    // SAFETY: both are `nbytes` long, and `kept` holds them until the stream is done.
    unsafe { copy::copy_host_to_device(&context, to, from, layout.nbytes(), Some(&kept.stream)) }?;
    let stream = StreamEntry::try_from(kept.stream.handle() as i128)?;
    let interface = Interface::new(to, TypeStr::of::<f32>(), layout)?.with_stream(stream);
    CArray::new(interface, Some(Owner::new(Arc::new(kept))))
}

/// Adds up the elements of a contiguous array of 32-bit floats, and releases the array in every case.
///
/// Returns 0, or -1 with a line on standard error. In C: `int arrays_sum(cuarray *array, double *sum)`.
///
/// # Safety
/// `array` is null or owned by the caller, and `sum` is valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrays_sum(array: *mut RawCArray, sum: *mut f64) -> i32 {
    // SAFETY: this function's contract.
    let added = unsafe { CArray::from_raw(array) }.and_then(add);
    match report(added) {
        Some(added) => {
            // SAFETY: this function's contract.
            unsafe { sum.write(added) };
            0
        }
        None => -1,
    }
}

fn add(array: CArray) -> Result<f64> {
    let driver = Driver::load()?;
    let context = driver.device(0)?.primary_context()?;
    let stream = Stream::non_blocking(&context)?;
    // SAFETY: the producer of the structure guarantees that it keeps its memory, stream and event alive.
    let view = unsafe { array.into_view(&driver) }?;
    let interface = view.interface();
    if interface.typestr() != TypeStr::of::<f32>() || !interface.layout().is_c_contiguous() {
        return Err(Error::unsupported(format!("{interface:?}; contiguous 32-bit floats are expected")));
    }
    let mut numbers = vec![0f32; interface.layout().len()];
    let acquired = view.acquire(&stream)?; // this stream waits for the producer's stream or event
    // SAFETY: both are `nbytes` long and live until the stream is synchronized below.
    let copied = unsafe {
        let (to, from) = (numbers.as_mut_ptr().cast(), acquired.as_device_ptr());
        copy::copy_device_to_host(&context, to, from, interface.layout().nbytes(), Some(&stream))
    };
    acquired.release()?; // the producer's stream waits for this one
    stream.synchronize()?;
    copied?;
    Ok(numbers.iter().map(|number| f64::from(*number)).sum())
}

/// Prints an error to standard error, since the C interface returns no message.
fn report<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(|error| eprintln!("arrays: {error}")).ok()
}
