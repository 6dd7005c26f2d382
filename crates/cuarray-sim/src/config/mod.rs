//! Settings of a simulated driver: by value ([`Config`]) or from the environment ([`Config::from_env`]).
//!
//! A driver has no configuration file and no command line, so a Python program can only configure it by environment
//! variables. A variable that cannot be parsed is an error. It is never ignored, because results from a simulation
//! with other settings than requested are worthless.

mod environment;
pub(crate) mod identity;
pub(crate) mod textures;

use crate::schedule::Schedule;
use cuarray_abi::{CUresult, ENTRY_POINTS};
use cuarray_ptx::{Code, KernelOrder};
use cuarray_races::suppression::Suppression;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The rule that orders the threads of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostOrder {
    /// The order of their driver calls. Locks, queues and Python's interpreter lock order threads in ways that the
    /// driver cannot see. So an earlier call is treated as ordered before a later one, which avoids false findings.
    #[default]
    Calls,
    /// Only the driver's own objects, and explicit `cuarraySimHandOver` and `cuarraySimTakeOver`.
    Driver,
}

/// An injected failure of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The exported symbol, such as `cuMemAlloc_v2`.
    pub symbol: String,
    /// The index of the failing call among those of the symbol, counted from 1.
    pub call: u64,
    /// The result of that call.
    pub result: CUresult,
}

/// The settings of a simulated driver.
///
/// ```
/// let config = cuarray_sim::Config { devices: 2, ..Default::default() };
/// assert_eq!(config.compute_capability, (9, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The number of devices, 1 to 8 (`CUARRAY_SIM_DEVICES`).
    pub devices: usize,
    /// The devices that the program sees, in order; all if `None`. Set by `CUDA_VISIBLE_DEVICES`, as for any driver:
    /// ordinals or UUIDs, up to the first that is invalid.
    pub visible: Option<Vec<usize>>,
    /// Whether the host can read and write device memory at its device address (`CUARRAY_SIM_HOST_READABLE`). If off, a
    /// host access faults, as on a machine with a GPU.
    pub host_readable: bool,
    /// Whether devices access the program's own memory, as with heterogeneous memory management (`CUARRAY_SIM_PAGEABLE_MEMORY`).
    pub pageable_memory: bool,
    /// The memory of each device in bytes (`CUARRAY_SIM_MEMORY`).
    pub memory: u64,
    /// The moment at which enqueued work runs (`CUARRAY_SIM_SCHEDULE`).
    pub schedule: Schedule,
    /// The file to which the schedule that ran is written at process exit (`CUARRAY_SIM_SCHEDULE_FILE`).
    pub schedule_file: Option<PathBuf>,
    /// The file to which every call is written, one per line; with the end `.json`, a timeline of calls and work
    /// (`CUARRAY_SIM_TRACE`). `%p` in the path is replaced by the process id.
    pub trace: Option<PathBuf>,
    /// The compute capability that the devices claim, `7.5` to `9.0` (`CUARRAY_SIM_COMPUTE_CAPABILITY`).
    pub compute_capability: (u32, u32),
    /// The number of multiprocessors of a device (`CUARRAY_SIM_MULTIPROCESSORS`). Many programs choose the size of a launch by it.
    pub multiprocessors: u32,
    /// The version that `cuDriverGetVersion` returns: 1000 × major + 10 × minor (`CUARRAY_SIM_DRIVER_VERSION`).
    pub driver_version: i32,
    /// Injected failures of calls (`CUARRAY_SIM_FAULTS`: `cuMemAlloc_v2:3:CUDA_ERROR_OUT_OF_MEMORY,...`).
    pub faults: Vec<Fault>,
    /// Whether messages about refused calls are suppressed on standard error (`CUARRAY_SIM_QUIET`).
    pub quiet: bool,
    /// Whether the driver checks the program for errors and records call sites (`CUARRAY_SIM_FINDINGS`).
    pub findings: bool,
    /// Whether memory that is still allocated at the end is a finding (`CUARRAY_SIM_LEAKS`). By default (`None`) it is
    /// one if a report file is written, or if the program is not Python: Python programs rarely free everything.
    pub leaks: Option<bool>,
    /// The file to which findings are written at exit; its extension selects the format (`CUARRAY_SIM_REPORT`: `.txt`,
    /// `.json`, `.html`, `.sarif` or `.trace.json`). `%p` in the path is replaced by the process id.
    pub report: Option<PathBuf>,
    /// The file of [`Config::suppressions`], for messages.
    pub suppressions_file: Option<PathBuf>,
    /// Known findings that are not reported (`CUARRAY_SIM_SUPPRESSIONS`: a file, see [`suppression`](cuarray_races::suppression)).
    pub suppressions: Vec<Suppression>,
    /// The exit status of a program with findings that would otherwise exit with status 0 (`CUARRAY_SIM_EXIT_STATUS`).
    pub exit_status: Option<u8>,
    /// The rule that orders the threads of the program (`CUARRAY_SIM_HOST_ORDER`: `calls` or `driver`).
    pub host_order: HostOrder,
    /// Whether a synchronous free waits for the work on its memory (`CUARRAY_SIM_FREE_SYNCHRONIZES`). Real drivers
    /// wait, but their manual does not promise it for all kinds of memory. If off, a free that is not ordered after
    /// such work is a finding.
    pub free_synchronizes: bool,
    /// Whether host reads and writes of pinned, registered and managed memory are checked
    /// (`CUARRAY_SIM_HOST_ACCESSES`).
    pub host_accesses: bool,
    /// Whether races between the threads of a launch are checked (`CUARRAY_SIM_KERNEL_RACES`).
    pub kernel_races: bool,
    /// The most bytes of global memory that a launch is searched for races in (`CUARRAY_SIM_KERNEL_RACES_MEMORY`); 0 for an
    /// eighth of the memory of the machine. A launch that touches more is searched in part, and the report says so.
    pub kernel_races_memory: u64,
    /// Whether these races are reported by the letter of the PTX manual, also where much working code departs from it
    /// (`CUARRAY_SIM_KERNEL_RACES=strict`).
    pub strict_kernel_races: bool,
    /// Whether a plain read that only begins a loop of compare-and-swap operations on its address can race with these
    /// operations (`CUARRAY_SIM_GUESSED_READS`). The CUDA programming guide shows such a loop. Its first read is formally
    /// a race without an effect: the operation compares the value with memory.
    pub guessed_reads: bool,
    /// Whether a module that a driver can load and this one refuses is a finding (`CUARRAY_SIM_REFUSALS`).
    pub refusals: bool,
    /// Whether a read outside of all allocations gives poison, so that the launch goes on (`CUARRAY_SIM_STRAY_READS=poison`).
    pub poisons_stray_reads: bool,
    /// The order in which the blocks and warps of a launch take turns (`CUARRAY_SIM_KERNEL_ORDER`: `forward`, `reverse` or
    /// `random:SEED`).
    pub kernel_order: KernelOrder,
    /// Whether each launch runs in several orders, and findings of all are reported (`CUARRAY_SIM_KERNEL_ORDER=all`).
    pub every_kernel_order: bool,
    /// The number of warp instructions after which a launch ends with `CUDA_ERROR_LAUNCH_TIMEOUT`
    /// (`CUARRAY_SIM_LAUNCH_BUDGET`).
    pub launch_budget: u64,
    /// The time after which a launch ends with `CUDA_ERROR_LAUNCH_TIMEOUT` (`CUARRAY_SIM_LAUNCH_SECONDS`).
    pub launch_seconds: Duration,
    /// Whether a signal that the program handles (SIGINT, SIGTERM, SIGALRM) ends the running launch with
    /// `CUDA_ERROR_LAUNCH_TIMEOUT` (`CUARRAY_SIM_INTERRUPTS`). The launch then sets handlers for its time.
    pub interrupts: bool,
    /// The time after which a stream's wait for a word of memory ends with `CUDA_ERROR_LAUNCH_TIMEOUT`, if no pending work
    /// and no other thread writes the word (`CUARRAY_SIM_MEMORY_WAIT`, in seconds). A kernel that waits for another thread of the
    /// host has as much time.
    pub memory_wait: Duration,
    /// The number of threads that execute the blocks of a launch; 0 for the number of cores (`CUARRAY_SIM_CORES`).
    pub cores: usize,
    /// Whether kernels run as code that is generated for the processor (`CUARRAY_SIM_GENERATED_CODE`).
    pub code: Code,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            devices: 1,
            visible: None,
            host_readable: false,
            pageable_memory: false,
            memory: 16 << 30,
            schedule: Schedule::Lazy,
            schedule_file: None,
            trace: None,
            compute_capability: (9, 0),
            multiprocessors: 132,
            driver_version: 13050,
            faults: Vec::new(),
            quiet: false,
            findings: true,
            leaks: None,
            report: None,
            suppressions_file: None,
            suppressions: Vec::new(),
            exit_status: None,
            host_order: HostOrder::Calls,
            free_synchronizes: true,
            host_accesses: true,
            kernel_races: true,
            kernel_races_memory: 0,
            strict_kernel_races: false,
            guessed_reads: false,
            refusals: true,
            poisons_stray_reads: false,
            kernel_order: KernelOrder::Forward,
            every_kernel_order: false,
            launch_budget: 20_000_000_000,
            launch_seconds: Duration::from_secs(300),
            interrupts: false,
            memory_wait: Duration::from_secs(30),
            cores: 0,
            code: Code::default(),
        }
    }
}

/// The memory of the machine, or of the program's control group if that is less.
fn machine_memory() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let total = read("/proc/meminfo").lines().find_map(|line| {
        let kilobytes: u64 = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes << 10)
    });
    let limit = read("/sys/fs/cgroup/memory.max").trim().parse().unwrap_or(u64::MAX);
    total.unwrap_or(4 << 30).min(limit)
}

const LEAST_MEMORY: u64 = 1 << 20;
const MOST_MEMORY: u64 = 1 << 40;

impl Config {
    /// The most bytes that a launch is searched for races in.
    pub(crate) fn searched_memory(&self) -> u64 {
        static AUTOMATIC: OnceLock<u64> = OnceLock::new();
        match self.kernel_races_memory {
            0 => *AUTOMATIC.get_or_init(|| machine_memory() / 8),
            bytes => bytes,
        }
    }

    /// A sentence that says so if a device was given more memory than the machine has. Few programs fill a device of the default size, so
    /// a small machine is no reason for a line in each process.
    pub(crate) fn beyond_machine(&self) -> Option<String> {
        let (memory, machine) = (self.memory, machine_memory());
        (memory > machine && memory != Config::default().memory).then(|| {
            format!(
                "a device has {memory} bytes, and this machine or its control group only {machine}: a program that fills the device \
                 may be killed; set CUARRAY_SIM_MEMORY to fewer bytes"
            )
        })
    }

    /// Checks that a driver can be created with these settings.
    ///
    /// # Errors
    /// A sentence that names the invalid setting and its valid values.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=8).contains(&self.devices) {
            return Err(format!("{} devices: there may be 1 to 8", self.devices));
        }
        if !(LEAST_MEMORY..=MOST_MEMORY).contains(&self.memory) {
            return Err(format!("{} bytes of memory: there may be {LEAST_MEMORY} to {MOST_MEMORY}", self.memory));
        }
        if !CAPABILITIES.contains(&self.compute_capability) {
            let (major, minor) = self.compute_capability;
            return Err(format!("compute capability {major}.{minor}: it may be one of {CAPABILITIES:?}"));
        }
        if let Some(device) = self.visible.iter().flatten().find(|device| **device >= self.devices) {
            return Err(format!("device {device} is visible, but there are only {} devices", self.devices));
        }
        for fault in &self.faults {
            if !ENTRY_POINTS.iter().any(|entry| entry.symbol == fault.symbol) {
                return Err(format!("a fault for {}: no entry point has that symbol", fault.symbol));
            }
            if fault.call == 0 {
                return Err(format!("a fault for {} at call 0: calls are counted from 1", fault.symbol));
            }
        }
        Ok(())
    }
}

const CAPABILITIES: [(u32, u32); 11] =
    [(7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1)];

#[cfg(test)]
mod tests {
    use super::{Config, machine_memory};

    #[test]
    fn device_larger_than_the_machine_is_reported() {
        let of = |memory| Config { memory, ..Config::default() }.beyond_machine();
        assert_eq!(of(machine_memory()), None);
        assert!(of(machine_memory() + 1).is_some_and(|text| text.contains("CUARRAY_SIM_MEMORY")));
    }
}
