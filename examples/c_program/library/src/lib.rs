//! A library in Rust with an interface for C: arrays go in and out as the structure of `cuarray.h`.
//!
//! `ramp` makes an array on a stream of its own, and names the stream. `sum` takes anybody's, works on it on a stream of its own, and
//! has the view's guard order that: after the producer's work, and before what the producer does next.

use cuarray::{
    CArray, Driver, Error, Interface, Layout, Owner, Result, Stream, StreamEntry, TypeStr,
    c_interface::RawCArray,
    driver::{Allocation, copy},
};
use std::{ptr::null_mut, sync::Arc};

/// `cuarray *arrays_ramp(int64_t count)`: the numbers 0, 1, 2, ... as 32-bit floats on the first device, or null where that fails.
#[unsafe(no_mangle)]
pub extern "C" fn arrays_ramp(count: i64) -> *mut RawCArray {
    said(ramp(count)).map_or(null_mut(), CArray::into_raw)
}

fn ramp(count: i64) -> Result<CArray> {
    /// What has to live as long as the array; the memory goes before the stream that has work on it.
    struct Kept {
        memory: Allocation,
        _numbers: Vec<f32>,
        stream: Stream,
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            // The copy below may not have run yet.
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
    // SAFETY: both are `nbytes` long, and `kept` keeps them until the stream is done.
    unsafe { copy::copy_host_to_device(&context, to, from, layout.nbytes(), Some(&kept.stream)) }?;
    let stream = StreamEntry::try_from(kept.stream.handle() as i128)?;
    let interface = Interface::new(to, TypeStr::of::<f32>(), layout)?.with_stream(stream);
    CArray::new(interface, Some(Owner::new(Arc::new(kept))))
}

/// `int arrays_sum(cuarray *array, double *sum)`: adds up the elements of a contiguous array of 32-bit floats; it takes the array over,
/// whatever it answers: 0, or -1 with a line on standard error.
///
/// # Safety
/// `array` is null or the caller's to release, `sum` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrays_sum(array: *mut RawCArray, sum: *mut f64) -> i32 {
    // SAFETY: this function's contract.
    let added = unsafe { CArray::from_raw(array) }.and_then(add);
    match said(added) {
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
    // SAFETY: whoever gave the array says that it keeps its memory, its stream and its event alive.
    let view = unsafe { array.into_view(&driver) }?;
    let interface = view.interface();
    if interface.typestr() != TypeStr::of::<f32>() || !interface.layout().is_c_contiguous() {
        return Err(Error::unsupported(format!("{interface:?}; contiguous 32-bit floats are expected")));
    }
    let mut numbers = vec![0f32; interface.layout().len()];
    let acquired = view.acquire(&stream)?; // our stream waits for theirs, or for their event
    // SAFETY: both are `nbytes` long and live until the stream is done, which the next lines see to.
    let copied = unsafe {
        let (to, from) = (numbers.as_mut_ptr().cast(), acquired.as_device_ptr());
        copy::copy_device_to_host(&context, to, from, interface.nbytes(), Some(&stream))
    };
    acquired.release()?; // their stream waits for ours
    stream.synchronize()?;
    copied?;
    Ok(numbers.iter().map(|number| f64::from(*number)).sum())
}

fn said<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(|error| eprintln!("arrays: {error}")).ok()
}
