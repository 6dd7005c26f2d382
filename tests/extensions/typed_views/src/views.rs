//! Typed arguments.

use cuarray::{
    AnyLayout, Bool8, CContiguous, Complex, FContiguous, Ix2, Stream, TypedView,
    driver::fill::fill_bytes,
    python::{
        DeviceView, DeviceView0, DeviceView1, DeviceView2, DeviceView6, DeviceViewDyn, DeviceViewMut1,
        DeviceViewMutDyn, MaskedView,
    },
};
use half::{bf16, f16};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::sync::Mutex;

type Shape = Vec<usize>;

#[pyfunction]
pub fn scalar(x: DeviceView0<'_, f32>) -> usize {
    let [] = x.shape();
    x.len()
}

#[pyfunction]
pub fn vector(x: DeviceView1<'_, f32>) -> usize {
    let [length] = x.shape();
    length
}

#[pyfunction]
pub fn matrix(x: DeviceView2<'_, f32>) -> ([usize; 2], [isize; 2]) {
    (x.shape(), x.strides())
}

#[pyfunction]
pub fn six(x: DeviceView6<'_, f32>) -> [usize; 6] {
    x.shape()
}

#[pyfunction]
pub fn any_ndim(x: DeviceViewDyn<'_, f32>) -> Shape {
    x.shape().to_vec()
}

#[pyfunction]
pub fn c_contiguous(x: DeviceView<'_, f32, Ix2, CContiguous>) -> Shape {
    x.shape().to_vec()
}

#[pyfunction]
pub fn f_contiguous(x: DeviceView<'_, f32, Ix2, FContiguous>) -> Shape {
    x.shape().to_vec()
}

#[pyfunction]
pub fn writable(x: DeviceViewMut1<'_, f32>) -> usize {
    x.len()
}

#[pyfunction]
#[pyo3(signature = (x=None))]
pub fn optional(x: Option<DeviceView1<'_, f32>>) -> Option<usize> {
    x.map(|x| x.len())
}

#[derive(FromPyObject)]
pub enum Number<'py> {
    F32(DeviceView1<'py, f32>),
    F64(DeviceView1<'py, f64>),
}

#[pyfunction]
pub fn either(x: Number<'_>) -> (&'static str, usize) {
    match x {
        Number::F32(x) => ("f32", x.len()),
        Number::F64(x) => ("f64", x.len()),
    }
}

cuarray::element! {
    /// A particle in a detector.
    #[derive(Debug, PartialEq)]
    pub struct Particle {
        pub charge: i8,
        pub position: [f32; 3],
        pub energy: f64,
    }
}

/// Returns the particles, copied to the host.
#[pyfunction]
pub fn particles(x: DeviceView1<'_, Particle>) -> PyResult<Vec<(i8, [f32; 3], f64)>> {
    let stream = x.stream()?;
    let particles = x.acquire(&stream)?.copy_to_host()?;
    Ok(particles.iter().map(|particle| (particle.charge, particle.position, particle.energy)).collect())
}

/// Returns the elements of a masked array, and whether each is valid.
#[pyfunction]
pub fn masked(x: MaskedView<'_, f32, Ix2>) -> PyResult<(Vec<f32>, Option<Vec<bool>>)> {
    let stream = x.data.stream()?;
    let elements = x.data.acquire(&stream)?.copy_to_host()?;
    let valid = match &x.mask {
        None => None,
        Some(mask) => Some(mask.acquire(&stream)?.copy_to_host()?.into_iter().map(Bool8::get).collect()),
    };
    Ok((elements, valid))
}

/// Accepts any `f32` array, with or without a mask.
#[pyfunction]
pub fn masked_any(x: MaskedView<'_, f32>) -> (usize, bool) {
    (x.data.len(), x.mask.is_some())
}

/// Extracts an array of the named element type, without any work on it.
#[pyfunction]
pub fn element(name: &str, x: &Bound<'_, PyAny>) -> PyResult<usize> {
    macro_rules! of {
        ($($name:literal: $type:ty),* $(,)?) => {
            match name {
                $($name => Ok(x.extract::<DeviceViewDyn<'_, $type>>()?.len()),)*
                _ => Err(PyValueError::new_err(name.to_owned())),
            }
        };
    }
    of! {
        "i8": i8, "i16": i16, "i32": i32, "i64": i64, "u8": u8, "u16": u16, "u32": u32, "u64": u64,
        "f16": f16, "bf16": bf16, "f32": f32, "f64": f64, "c8": Complex<f32>, "c16": Complex<f64>, "bool": Bool8,
        "particle": Particle,
    }
}

/// Returns the offsets of elements in bytes from the first element.
#[pyfunction]
pub fn element_offsets(x: DeviceView<'_, f32, Ix2, AnyLayout>, indices: Vec<[usize; 2]>) -> PyResult<Vec<i64>> {
    let stream = x.stream()?;
    let x = x.acquire(&stream)?;
    let offset = |index: [usize; 2]| Ok(x.device_ptr_at(&index)?.wrapping_sub(x.as_device_ptr()) as i64);
    indices.into_iter().map(offset).collect()
}

#[pyfunction]
pub fn element_strides(x: DeviceView2<'_, f32>) -> PyResult<[isize; 2]> {
    let stream = x.stream()?;
    Ok(x.acquire(&stream)?.element_strides()?)
}

/// Multiplies in place on the host, which waits for the copies.
#[pyfunction]
#[pyo3(signature = (x, factor, stream=None))]
pub fn scale(mut x: DeviceViewMutDyn<'_, f32>, factor: f32, stream: Option<Stream>) -> PyResult<()> {
    let stream = stream.map_or_else(|| x.stream(), Ok)?;
    let mut x = x.acquire_mut(&stream)?;
    let mut elements = x.copy_to_host()?;
    elements.iter_mut().for_each(|element| *element *= factor);
    x.copy_from_host(&elements)?;
    x.release()?;
    Ok(())
}

/// Enqueues a fill of every byte in `stream`. Does not wait.
#[pyfunction]
#[pyo3(signature = (x, byte, stream, release=true))]
pub fn fill(mut x: DeviceViewMut1<'_, u8>, byte: u8, stream: Stream, release: bool) -> PyResult<()> {
    let x = x.acquire_mut(&stream)?;
    enqueue(&stream, x.as_device_ptr(), x.len(), byte)?;
    if release {
        x.release()?;
    }
    Ok(())
}

pub(crate) fn enqueue(stream: &Stream, at: u64, length: usize, byte: u8) -> PyResult<()> {
    let context = stream.work_context()?;
    // SAFETY: a guard keeps the memory and orders it with the stream, or the test does.
    unsafe { fill_bytes(&context, at, &[byte], length, Some(stream)) }?;
    Ok(())
}

/// Enqueues a fill without ordering it.
#[pyfunction]
pub fn fill_unordered(x: DeviceViewMut1<'_, u8>, byte: u8, stream: Stream) -> PyResult<()> {
    // SAFETY: the missing order is a race on purpose; the test expects the finding.
    enqueue(&stream, unsafe { x.acquire_unordered() }, x.len(), byte)
}

/// Enqueues a fill and panics while the guard is alive.
#[pyfunction]
pub fn panics(mut x: DeviceViewMut1<'_, u8>, byte: u8, stream: Stream) -> PyResult<()> {
    let x = x.acquire_mut(&stream)?;
    enqueue(&stream, x.as_device_ptr(), x.len(), byte)?;
    panic!("in the middle of it");
}

/// Acquires two arguments for writing, at once in two streams.
#[pyfunction]
pub fn both_written(
    mut x: DeviceViewMutDyn<'_, f32>,
    mut y: DeviceViewMutDyn<'_, f32>,
    first: Stream,
    second: Stream,
) -> PyResult<()> {
    let x = x.acquire_mut(&first)?;
    let y = y.acquire_mut(&second)?;
    x.release()?;
    Ok(y.release()?)
}

/// Acquires one argument for reading and one for writing, at once.
#[pyfunction]
pub fn read_and_written(x: DeviceViewDyn<'_, f32>, mut y: DeviceViewMutDyn<'_, f32>, stream: Stream) -> PyResult<()> {
    let x = x.acquire(&stream)?;
    let y = y.acquire_mut(&stream)?;
    x.release()?;
    Ok(y.release()?)
}

/// Extracts a view, without any work on it.
#[pyfunction]
pub fn extract_only(x: DeviceView1<'_, f32>) {
    drop(x);
}

/// Acquires in `stream` and releases, without any work in between.
#[pyfunction]
#[pyo3(signature = (x, stream=None))]
pub fn acquire_and_release(x: DeviceView1<'_, u8>, stream: Option<Stream>) -> PyResult<usize> {
    let Some(stream) = stream else { return Ok(x.len()) };
    let x = x.acquire(&stream)?;
    let length = x.len();
    x.release()?;
    Ok(length)
}

/// Keeps another library's array for as long as it lives, and reads it in any thread.
#[pyclass(frozen)]
pub struct Keeper {
    view: Mutex<TypedView<f32>>,
}

#[pymethods]
impl Keeper {
    #[new]
    fn new(x: DeviceViewDyn<'_, f32>) -> Keeper {
        Keeper { view: Mutex::new(x.unbind()) }
    }

    fn sum(&self, py: Python<'_>, stream: Stream) -> PyResult<f32> {
        py.detach(|| {
            let view = self.view.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            Ok(view.acquire(&stream)?.copy_to_host()?.iter().sum())
        })
    }
}
