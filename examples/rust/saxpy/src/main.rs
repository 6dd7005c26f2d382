//! `y = a·x + y` on a GPU, with cuarray alone: memory, a stream, a kernel from PTX, and the result on the host.

use cuarray::{
    Context, Driver, Interface, Layout, RawView, Result, Stream, TypeStr,
    driver::{Allocation, LaunchConfig, Module, copy},
    order::Memory,
};
use std::sync::Arc;

/// An array of device memory with these values, which its view keeps; ready in `stream`.
fn to_device(context: &Context, values: &[f32], stream: &Stream) -> Result<RawView> {
    let bytes = size_of_val(values);
    let memory = Arc::new(Memory::new(context, || Allocation::device(context, bytes))?);
    let pointer = memory.allocation().device_ptr();
    // SAFETY: both have that many bytes, and the host's are there until the copy is done, which the next line sees to.
    unsafe { copy::copy_host_to_device(context, pointer, values.as_ptr().cast(), bytes, Some(stream)) }?;
    stream.synchronize()?;
    let layout = Layout::c_contiguous(&[values.len()], size_of::<f32>())?;
    RawView::of_memory(&memory, Interface::new(pointer, TypeStr::of::<f32>(), layout)?, Some(stream))
}

/// The values of an array, as they are behind all work on it.
fn to_host(context: &Context, view: &RawView, stream: &Stream) -> Result<Vec<f32>> {
    let mut values = vec![0.0; view.interface().layout().len()];
    let array = view.acquire(stream)?;
    // SAFETY: both have that many bytes, and the host's are there until the copy is done, which the next line sees to.
    unsafe {
        let (to, bytes) = (values.as_mut_ptr().cast(), size_of_val(&values[..]));
        copy::copy_device_to_host(context, to, array.as_device_ptr(), bytes, Some(stream))
    }?;
    stream.synchronize()?;
    array.release()?;
    Ok(values)
}

fn saxpy(driver: &Driver, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>> {
    assert_eq!(x.len(), y.len());
    let n = x.len();
    let context = driver.default_context()?;
    // Two streams, as two libraries would have: one where the data comes from, one for the kernel.
    let (data, work) = (Stream::non_blocking(&context)?, Stream::non_blocking(&context)?);
    let kernel = Module::load_ptx(&context, include_str!("saxpy.ptx"))?.function("saxpy")?;

    let (x, mut y) = (to_device(&context, x, &data)?, to_device(&context, y, &data)?);
    {
        let (x, mut y) = (x.acquire(&work)?, y.acquire_mut(&work)?);
        let config = LaunchConfig::for_elements(n, 256)?;
        // SAFETY: the kernel reads n numbers of x, and reads and writes n of y, and both have as many.
        unsafe { kernel.launch(&work, config, (a, &x, &mut y, n as u32)) }?;
        y.release()?; // `data` waits for the kernel from here on
    }
    to_host(&context, &y, &data)
}

fn main() -> Result<()> {
    let driver = Driver::load()?;
    let x: Vec<f32> = (0..10).map(|value| value as f32).collect();
    println!("{:?}", saxpy(&driver, 2.0, &x, &[1.0; 10])?);
    Ok(())
}

#[test]
fn it_is_what_the_host_computes() {
    let driver = Driver::load().unwrap();
    for n in [0, 1, 255, 256, 257, 100_000] {
        let x: Vec<f32> = (0..n).map(|value| value as f32 / 3.0).collect();
        let y: Vec<f32> = (0..n).map(|value| (n - value) as f32).collect();
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5f32.mul_add(*x, *y)).collect();
        assert_eq!(saxpy(&driver, 2.5, &x, &y).unwrap(), expected);
    }
}
