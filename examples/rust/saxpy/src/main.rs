//! Computes `y = a·x + y` on a GPU with no other CUDA crate: arrays, streams, a kernel from PTX, and the result on the host.

use cuarray::{DeviceArray, Driver, Result, Stream, kernel::LaunchConfig};

fn saxpy(driver: &Driver, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>> {
    assert_eq!(x.len(), y.len());
    let n = x.len();
    let context = driver.default_context()?;
    // Two streams, as two libraries would use: one for the data, one for the kernel.
    let (data, work) = (Stream::non_blocking(&context)?, Stream::non_blocking(&context)?);
    let kernel = context.kernel(include_str!("saxpy.ptx"), "saxpy")?;

    let (x, mut y) = (DeviceArray::from_host(x, [n], &data)?, DeviceArray::from_host(y, [n], &data)?);
    {
        // `work` waits for `data` here ...
        let (x, mut y) = (x.acquire(&work)?, y.acquire_mut(&work)?);
        let config = LaunchConfig::for_elements(n, 256)?;
        // SAFETY: the kernel reads `n` numbers of `x` and reads and writes `n` of `y`, and both have `n`.
        unsafe { kernel.launch(&work, config, (a, &x, &mut y, n as u32)) }?;
        y.release()?;
        x.release()?; // ... and `data` waits for the kernel from here on.
    }
    y.acquire(&data)?.copy_to_host()
}

fn main() -> Result<()> {
    let driver = Driver::load()?;
    let x: Vec<f32> = (0..10).map(|value| value as f32).collect();
    println!("{:?}", saxpy(&driver, 2.0, &x, &[1.0; 10])?);
    Ok(())
}

#[test]
fn saxpy_equals_host_result_for_any_length() {
    let driver = Driver::load().unwrap();
    for n in [0, 1, 255, 256, 257, 100_000] {
        let x: Vec<f32> = (0..n).map(|value| value as f32 / 3.0).collect();
        let y: Vec<f32> = (0..n).map(|value| (n - value) as f32).collect();
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5f32.mul_add(*x, *y)).collect();
        assert_eq!(saxpy(&driver, 2.5, &x, &y).unwrap(), expected);
    }
    driver.reclaim(true); // frees the arrays whose release was deferred
}
