//! A simulated driver for one test, and counts of its live objects.
#![allow(dead_code)] // each test file uses only a part

use cuarray::{
    Context, Driver, Stream, StreamEntry,
    driver::{
        Allocation,
        copy::{copy_device_to_host, copy_host_to_device},
    },
};
use cuarray_abi::{Api, CUcontext};
use cuarray_sim::{Config, Entered, Sim};

/// A simulated driver that this thread's calls use. Fields are dropped in order: first the driver, and at the end
/// the thread leaves the simulator.
pub struct Fixture {
    pub driver: Driver,
    pub sim: Sim,
    entered: Entered,
}

impl Fixture {
    pub fn new() -> Fixture {
        Fixture::with(Config::default())
    }

    pub fn with(config: Config) -> Fixture {
        Fixture::altered(config, |_| {})
    }

    /// A driver with some entry points missing or replaced.
    pub fn altered(config: Config, alter: impl FnOnce(&mut Api)) -> Fixture {
        let sim = Sim::new(Config { quiet: true, ..config });
        let entered = sim.enter();
        let mut api = sim.api();
        alter(&mut api);
        // SAFETY: the simulator behaves as a driver, and replaced functions have the same signatures.
        let driver = unsafe { Driver::from_api(api) }.unwrap();
        Fixture { driver, sim, entered }
    }

    pub fn primary(&self) -> Context {
        self.driver.device(0).unwrap().primary_context().unwrap()
    }

    /// The thread's current context, queried from the driver itself.
    pub fn current(&self) -> usize {
        let mut raw = CUcontext::NULL;
        // SAFETY: the driver writes one handle.
        assert!(unsafe { self.sim.api().cuCtxGetCurrent.unwrap()(&mut raw) }.is_success());
        raw.0
    }

    pub fn alive(&self) -> Alive {
        Alive::of(&self.sim)
    }
}

/// The live objects of a simulated driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alive {
    pub allocations: usize,
    pub streams: usize,
    pub events: usize,
    /// The number of retained primary contexts.
    pub primaries: usize,
}

impl Alive {
    pub const NOTHING: Alive = Alive { allocations: 0, streams: 0, events: 0, primaries: 0 };

    /// Counts the objects of a driver that this thread has entered.
    pub fn of(sim: &Sim) -> Alive {
        let statistics = sim.statistics();
        let mut devices = 0;
        // SAFETY: the driver writes one int.
        let counted = unsafe { sim.api().cuDeviceGetCount.unwrap()(&mut devices) };
        let active = |device: &i32| {
            let (mut flags, mut active) = (0, 0);
            // SAFETY: the driver writes two ints.
            let code = unsafe { sim.api().cuDevicePrimaryCtxGetState.unwrap()(*device, &mut flags, &mut active) };
            code.is_success() && active != 0
        };
        let primaries = if counted.is_success() { (0..devices).filter(active).count() } else { 0 };
        Alive {
            allocations: statistics.matches("\"address\":").count(),
            streams: number(&statistics, "streams"),
            events: number(&statistics, "events"),
            primaries,
        }
    }
}

/// The number of calls of an entry point.
pub fn calls(sim: &Sim, symbol: &str) -> usize {
    number(&sim.statistics(), symbol)
}

/// The number under a key of the statistics; 0 if it is missing.
fn number(statistics: &str, key: &str) -> usize {
    let key = format!("\"{key}\":");
    let Some(start) = statistics.find(&key) else { return 0 };
    let digits = &statistics[start + key.len()..];
    digits[..digits.find(|character: char| !character.is_ascii_digit()).unwrap()].parse().unwrap()
}

pub fn streams<const N: usize>(context: &Context) -> [Stream; N] {
    std::array::from_fn(|_| Stream::non_blocking(context).unwrap())
}

/// The stream entry of an interface that names this stream.
pub fn entry(stream: &Stream) -> StreamEntry {
    StreamEntry::try_from(stream.handle() as i128).unwrap()
}

/// Writes bytes to the start of device memory.
pub fn upload(memory: &Allocation, bytes: &[u8]) {
    assert!(bytes.len() <= memory.len());
    // SAFETY: both sides have that many bytes, and the copy is done when the call returns.
    unsafe { copy_host_to_device(memory.context(), memory.device_ptr(), bytes.as_ptr(), bytes.len(), None) }.unwrap();
}

/// All bytes of device memory.
pub fn download(memory: &Allocation) -> Vec<u8> {
    let mut bytes = vec![0; memory.len()];
    // SAFETY: both sides have that many bytes, and the copy is done when the call returns.
    unsafe { copy_device_to_host(memory.context(), bytes.as_mut_ptr(), memory.device_ptr(), bytes.len(), None) }
        .unwrap();
    bytes
}
