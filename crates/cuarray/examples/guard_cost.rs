//! Measures the cost of a guard on the simulated driver, in the array's home stream. A guard makes no driver call
//! there, so the measured time is the check for aliasing. `cargo run --release -p cuarray --example guard_cost`
//!
//! The time of a thread is its processor time, which other programs on the machine change little.

use cuarray::{
    Context, DeviceArray, Driver, Interface, Ix1, Ix2, Layout, Owner, RawView, Stream, StreamEntry, TypeStr, s,
};
use cuarray_sim::{Config, Sim};
use std::{hint::black_box, sync::Arc, thread, time::Instant};

const TIMES: u32 = 2_000_000;

fn nanoseconds(mut work: impl FnMut()) -> f64 {
    (0..TIMES / 10).for_each(|_| work());
    let start = Instant::now();
    (0..TIMES).for_each(|_| work());
    start.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
}

/// The processor time of this thread for each call of `work`, in nanoseconds.
fn of_this_thread(times: u32, mut work: impl FnMut()) -> f64 {
    let now = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes one structure, which outlives it.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    (0..times / 10).for_each(|_| work());
    let start = now();
    (0..times).for_each(|_| work());
    (now() - start) / f64::from(times)
}

/// Prints the cost of a guard beside many live exported arrays, for one thread and for two. Each thread uses its own array.
fn beside_live_arrays(context: &Context, stream: &Stream) -> cuarray::Result<()> {
    const MANY: usize = 100_000;
    let exported = |array: &DeviceArray<f32, Ix1>| {
        // Its interface is exported, so the entry of its guard stays.
        black_box(array.interface());
        array.acquire(stream)?.release()
    };
    let own = (0..2).map(|_| DeviceArray::<f32, Ix1>::empty([64], stream)).collect::<cuarray::Result<Vec<_>>>()?;
    own.iter().try_for_each(exported)?;
    let whole = DeviceArray::<f32, Ix1>::empty([64 * MANY], stream)?;
    for (place, of_one_array) in [("in memory of their own", false), ("in the memory of one array", true)] {
        let mut live = Vec::new();
        for count in [10, 1_000, 20_000, MANY] {
            while live.len() < count {
                let first = 64 * live.len();
                let array = match of_one_array {
                    true => whole.slice(s![first..first + 64])?,
                    false => DeviceArray::<f32, Ix1>::empty([64], stream)?,
                };
                exported(&array)?;
                live.push(array);
            }
            for threads in [1, 2] {
                let used: Vec<_> = if of_one_array { live.iter().collect() } else { own.iter().collect() };
                let costs: Vec<_> = thread::scope(|scope| {
                    let run = |array: &DeviceArray<f32, Ix1>| {
                        of_this_thread(TIMES / 4, || drop(black_box(array.acquire(stream)).expect("all guards read")))
                    };
                    let started: Vec<_> = used[..threads].iter().map(|array| scope.spawn(move || run(array))).collect();
                    started.into_iter().filter_map(|thread| thread.join().ok()).collect()
                });
                let costs: Vec<_> = costs.into_iter().map(|cost| format!("{cost:.0} ns")).collect();
                println!("beside {count} live arrays {place}, {threads} threads: {}", costs.join(", "));
            }
        }
    }
    let interface = Interface::new(own[0].interface().data(), TypeStr::of::<f32>(), Layout::c_contiguous(&[64], 4)?)?
        .with_stream(StreamEntry::try_from(stream.handle() as i128)?);
    for owner in [None, Some(Owner::new(Arc::new(())))] {
        let cost = of_this_thread(TIMES / 4, || {
            // SAFETY: the memory and the stream live until the end of this function.
            let view = unsafe { RawView::new(context.driver(), interface.clone(), owner.clone()) };
            drop(black_box(view.expect("the stream is live").acquire(stream)).expect("all guards read"));
        });
        println!("a new view, its guard and its drop, owner {}: {cost:.0} ns", owner.is_some());
    }
    Ok(())
}

fn main() -> cuarray::Result<()> {
    let sim = Sim::new(Config::default());
    let _entered = sim.enter();
    // SAFETY: the simulator is a driver.
    let driver = unsafe { Driver::from_api(sim.api()) }?;
    let context = driver.default_context()?;
    let stream = Stream::non_blocking(&context)?;
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
    beside_live_arrays(&context, &stream)
}
