//! Objects that an extension leaves at the end of a process: in statics, thread-local storage, exit functions and running threads.

use cuarray::{
    Acquired, AcquiredMut, DeviceArray, Ix1, Stream, TypedView, driver::fill::fill_bytes, python::DeviceViewDyn,
};
use pyo3::prelude::*;
use std::{
    cell::RefCell,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

/// One object of each kind that an extension may leave.
#[derive(Default)]
#[allow(dead_code)] // the fields are only kept, never read
struct Kept {
    guard: Option<Acquired<'static, u8>>,
    elsewhere: Option<AcquiredMut<'static, u8, Ix1>>,
    view: Option<TypedView<u8>>,
    array: Option<DeviceArray<u8, Ix1>>,
}

thread_local! {
    static OF_THE_THREAD: RefCell<Vec<Kept>> = RefCell::default();
}

static OF_THE_PROCESS: Mutex<Vec<DeviceArray<u8, Ix1>>> = Mutex::new(Vec::new());

/// Returns an array with pending work in its home stream.
fn array(stream: &Stream) -> cuarray::Result<DeviceArray<u8, Ix1>> {
    let array = DeviceArray::<u8, _>::empty([64], stream)?;
    let context = stream.work_context()?;
    // SAFETY: the memory is new, and the stream is its home.
    unsafe { fill_bytes(&context, array.interface().data(), &[1], 64, Some(stream)) }?;
    Ok(array)
}

/// Keeps two guards, a view and an array in thread-local storage. Each has work to order or memory to free at its drop.
#[pyfunction]
pub fn keep_in_thread(x: DeviceViewDyn<'_, u8>, y: DeviceViewDyn<'_, u8>, stream: Stream) -> PyResult<()> {
    // A guard in a static borrows from leaked memory.
    let (lent, place): (&'static TypedView<u8>, &'static Stream) =
        (Box::leak(Box::new(x.unbind())), Box::leak(Box::new(stream.clone())));
    let elsewhere: &'static Stream = Box::leak(Box::new(Stream::non_blocking(&stream.work_context()?)?));
    let own: &'static mut DeviceArray<u8, Ix1> = Box::leak(Box::new(array(&stream)?));
    let kept = Kept {
        guard: Some(lent.acquire(place)?),
        elsewhere: Some(own.acquire_mut(elsewhere)?),
        view: Some(y.unbind()),
        array: Some(array(&stream)?),
    };
    OF_THE_THREAD.with_borrow_mut(|all| all.push(kept));
    Ok(())
}

/// Uses the thread-local storage first in this thread, so that it is dropped last.
#[pyfunction]
pub fn use_thread_storage_first() {
    OF_THE_THREAD.with_borrow_mut(Vec::clear);
}

/// Keeps an array in the thread-local storage of a new Rust thread, which ends at once.
#[pyfunction]
pub fn keep_in_ending_thread(py: Python<'_>, stream: Stream) -> PyResult<()> {
    let work = move || {
        let kept = Kept { array: Some(array(&stream)?), ..Kept::default() };
        OF_THE_THREAD.with_borrow_mut(|all| all.push(kept));
        PyResult::Ok(())
    };
    py.detach(|| thread::spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Keeps an array for as long as the process lives: statics are never dropped.
#[pyfunction]
pub fn keep_in_process(stream: Stream) -> PyResult<()> {
    let array = array(&stream)?;
    OF_THE_PROCESS.lock().unwrap_or_else(PoisonError::into_inner).push(array);
    Ok(())
}

/// Registers an exit function with the C library that drops the arrays of [`keep_in_process`]. Exit functions run in reverse order.
#[pyfunction]
pub fn drop_at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> i32;
    }
    extern "C" fn drop_arrays() {
        let arrays = std::mem::take(&mut *OF_THE_PROCESS.lock().unwrap_or_else(PoisonError::into_inner));
        drop(arrays);
    }
    // SAFETY: the function belongs to this module, which stays loaded.
    unsafe { atexit(drop_arrays) };
}

/// Starts a thread that creates, uses and frees arrays until the process ends, and waits until it has started.
#[pyfunction]
pub fn work_until_exit(py: Python<'_>, stream: Stream) {
    let (begun, begins) = mpsc::channel();
    let work = move || {
        let elsewhere = Stream::non_blocking(&stream.work_context()?)?;
        loop {
            let mut array = array(&stream)?;
            array.acquire_mut(&elsewhere)?.release()?;
            drop(array);
            let _ = begun.send(());
        }
    };
    thread::spawn(move || -> cuarray::Result<()> { work() });
    py.detach(move || begins.recv()).expect("the thread has started");
}
