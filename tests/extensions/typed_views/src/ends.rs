//! What extensions leave behind when a process ends: in statics, in threads' own storage, in functions that run at exit, in threads
//! that go on.

use cuarray::{
    Acquired, DeviceArray, Ix1, Stream, TypedView,
    driver::fill::fill_bytes,
    python::DeviceViewDyn,
    sync::{Access, Lease, Ordering},
};
use pyo3::prelude::*;
use std::{
    cell::RefCell,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

/// All that somebody may forget to let go of.
#[derive(Default)]
#[allow(dead_code)] // being kept is all that these are for
struct Kept {
    guard: Option<Acquired<'static, u8>>,
    lease: Option<Lease>,
    view: Option<TypedView<u8>>,
    array: Option<DeviceArray<u8, Ix1>>,
}

thread_local! {
    static OF_THE_THREAD: RefCell<Vec<Kept>> = RefCell::default();
}

static OF_THE_PROCESS: Mutex<Vec<DeviceArray<u8, Ix1>>> = Mutex::new(Vec::new());

/// An array with work in a stream that nobody waits for.
fn array(stream: &Stream) -> cuarray::Result<DeviceArray<u8, Ix1>> {
    let array = DeviceArray::<u8, _>::empty([64], stream)?;
    let context = stream.work_context()?;
    // SAFETY: the memory is new, and the stream is its home.
    unsafe { fill_bytes(&context, array.interface().data(), &[1], 64, Some(stream)) }?;
    Ok(array)
}

/// Keeps, in the thread's own storage, a guard, a lease, a view and an array; each has something to order or to free when it goes.
#[pyfunction]
pub fn keep_in_thread(x: DeviceViewDyn<'_, u8>, y: DeviceViewDyn<'_, u8>, stream: Stream) -> PyResult<()> {
    // A guard in such a place borrows from what is never freed.
    let (lent, place): (&'static TypedView<u8>, &'static Stream) =
        (Box::leak(Box::new(x.unbind())), Box::leak(Box::new(stream.clone())));
    let elsewhere = Stream::non_blocking(&stream.work_context()?)?;
    let data = Ordering::new(Some(stream.clone()), Arc::default());
    let kept = Kept {
        guard: Some(lent.acquire(place)?),
        lease: Some(Lease::begin([(data, Access::Write)], &elsewhere)?),
        view: Some(y.unbind()),
        array: Some(array(&stream)?),
    };
    OF_THE_THREAD.with_borrow_mut(|all| all.push(kept));
    Ok(())
}

/// Uses the thread's own storage, which is then let go of after that of libraries that come to this thread later.
#[pyfunction]
pub fn come_first_in_thread() {
    OF_THE_THREAD.with_borrow_mut(Vec::clear);
}

/// The same in a thread of Rust's own, which ends at once.
#[pyfunction]
pub fn keep_in_a_thread_that_ends(py: Python<'_>, stream: Stream) -> PyResult<()> {
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

/// Has what [`keep_in_process`] keeps let go of by a function of the C library's, which calls those that were registered last first.
#[pyfunction]
pub fn let_go_at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> i32;
    }
    extern "C" fn let_go() {
        let arrays = std::mem::take(&mut *OF_THE_PROCESS.lock().unwrap_or_else(PoisonError::into_inner));
        drop(arrays);
    }
    // SAFETY: the function is one of this module's, which stays loaded.
    unsafe { atexit(let_go) };
}

/// Starts a thread that has arrays made, worked on and freed for as long as the process lives, and waits until it has begun.
#[pyfunction]
pub fn work_on_and_on(py: Python<'_>, stream: Stream) {
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
    py.detach(move || begins.recv()).expect("the thread works");
}
