//! Measures the cost of a guard on the simulated driver, in the array's home stream. A guard makes no driver call
//! there, so the measured time is the check for aliasing. `cargo run --release -p cuarray --example guard_cost`

use cuarray::{DeviceArray, Driver, Ix2, Stream, s};
use cuarray_sim::{Config, Sim};
use std::{hint::black_box, time::Instant};

const TIMES: u32 = 2_000_000;

fn nanoseconds(mut work: impl FnMut()) -> f64 {
    (0..TIMES / 10).for_each(|_| work());
    let start = Instant::now();
    (0..TIMES).for_each(|_| work());
    start.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
}

fn main() -> cuarray::Result<()> {
    let sim = Sim::new(Config::default());
    let _entered = sim.enter();
    // SAFETY: the simulator is a driver.
    let driver = unsafe { Driver::from_api(sim.api()) }?;
    let stream = Stream::non_blocking(&driver.default_context()?)?;
    let mut array: DeviceArray<f32, Ix2> = DeviceArray::zeros([64, 64], &stream)?;
    let acquire = nanoseconds(|| drop(black_box(array.acquire(&stream)).expect("no other guard is live")));
    println!("acquire and release, alone: {acquire:.0} ns");
    let acquire = nanoseconds(|| drop(black_box(array.acquire_mut(&stream)).expect("no other guard is live")));
    println!("acquire_mut and release, alone: {acquire:.0} ns");
    let others: Vec<_> = (0..16).map(|row| array.slice(s![row, ..])).collect::<cuarray::Result<_>>()?;
    let guards: Vec<_> = others.iter().map(|row| row.acquire(&stream)).collect::<cuarray::Result<_>>()?;
    let acquire = nanoseconds(|| drop(black_box(array.acquire(&stream)).expect("all other guards read")));
    println!("acquire and release, beside 16 readers: {acquire:.0} ns");
    drop(guards);
    let (mut even, odd) = (array.slice(s![.., ..; 2])?, array.slice(s![.., 1..; 2])?);
    let guard = odd.acquire(&stream)?;
    let acquire = nanoseconds(|| drop(black_box(even.acquire_mut(&stream)).expect("the views share no elements")));
    println!("acquire_mut and release, beside an interleaved view: {acquire:.0} ns");
    drop(guard);
    Ok(())
}
