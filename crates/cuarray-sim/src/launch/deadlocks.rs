//! Launches whose threads wait forever: whether the host or other work can end that, and the finding.

use super::end_of_wait::end_of_wait;
use super::findings::{place, place_of, shared_variable};
use crate::objects::allocation::{Allocation, Kind, Memory};
use crate::objects::launch::Launch;
use crate::state::State;
use cuarray_abi::CUstream;
use cuarray_ptx::{Fault, GRID_WORKSPACE, Outlook, Reason, WaitingThreads, WriterState, in_window};
use cuarray_races::finding::{AccessKind, KernelPlace, Range, Variable};
use cuarray_races::report::variable_name;
use cuarray_races::{Ticket, WaitingSide};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The interval at which a launch looks again at memory that the host may change.
const INTERVAL: Duration = Duration::from_millis(2);
/// The most groups of threads that are named.
const GROUPS: usize = 6;

/// The memory that others than the launch can change, and the time that they are given for that.
pub(super) struct Others<'a> {
    memory: &'a Memory,
    /// Whether the host writes the memory of devices.
    host_writes_devices: bool,
    limit: Duration,
    /// Whether work of another stream is pending that does not wait for the launch.
    other_work: bool,
    waiting: OnceLock<Waiting>,
}

/// The facts that are looked up when all threads wait for the first time.
struct Waiting {
    /// The ranges of memory that the host or another process can write, in ascending order.
    ranges: Vec<(u64, u64)>,
    since: Instant,
}

impl Others<'_> {
    pub(super) fn new(state: &State, stream: CUstream, limit: Duration) -> Others<'_> {
        let mut others = state.streams.iter().filter(|(handle, _)| **handle != stream);
        let other_work = others.any(|(_, other)| {
            let next = other.queue.front().filter(|_| !other.running);
            next.is_some_and(|next| next.after.iter().all(|point| state.happened(*point)))
        });
        let (memory, host_writes_devices) = (&state.memory, state.host_writes_devices);
        Others { memory, host_writes_devices, limit, other_work, waiting: OnceLock::new() }
    }

    fn look_up(&self) -> Waiting {
        let open = |allocation: &&Allocation| {
            let foreign = matches!(allocation.kind, Kind::Imported(_));
            !allocation.kind.on_device() || foreign || self.host_writes_devices
        };
        let ranges = self.memory.iter().filter(open).map(|one| (one.address, one.address + one.size)).collect();
        Waiting { ranges, since: Instant::now() }
    }

    /// How a launch goes on whose threads read these addresses. Another thread of the host, or another process, may write one of them,
    /// and has some time for that. Waits a moment then.
    pub(super) fn outlook(&self, addresses: &[u64]) -> Outlook {
        let Waiting { ranges, since } = self.waiting.get_or_init(|| self.look_up());
        let holds = |address: u64| {
            let next = ranges.partition_point(|(start, _)| *start <= address);
            next.checked_sub(1).is_some_and(|index| address < ranges[index].1)
        };
        let may_change = addresses.iter().any(|address| holds(*address)) && others_run();
        match (
            may_change && since.elapsed() < self.limit,
            self.other_work && addresses.iter().any(|one| one >> 56 == 0),
        ) {
            (true, _) => {
                std::thread::sleep(INTERVAL);
                Outlook::Again
            }
            (false, true) => Outlook::OtherWork,
            (false, false) => Outlook::Never,
        }
    }
}

/// Whether the process has threads besides the calling one and those of the driver. Another process may have memory of this one only
/// through one of its threads, at first.
fn others_run() -> bool {
    // SAFETY: the call has no preconditions.
    let own = unsafe { libc::gettid() };
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return true };
    tasks.flatten().any(|task| {
        let name = task.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        let of_driver =
            || std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("cuarray"));
        number != Some(own) && !of_driver()
    })
}

/// The groups of threads of a launch that did not end, in words.
pub(super) fn described(launch: &Launch, fault: &Fault) -> String {
    let letters = ('A'..='Z').zip(&fault.waiting);
    let groups: Vec<String> =
        letters.take(GROUPS).map(|(letter, group)| format!("{letter}: {}", in_words(launch, group))).collect();
    let more = fault.waiting.len().saturating_sub(GROUPS);
    let more = if more > 0 { format!("; {more} more groups") } else { String::new() };
    format!("{}{more}", groups.join("; "))
}

/// The wait of a group of threads in words, with the facts that are known about it.
fn in_words(launch: &Launch, group: &WaitingThreads) -> String {
    let WaitingThreads { threads, blocks, .. } = *group;
    let is_one = threads == 1;
    let does = |many: &str| if is_one { format!("{many}s") } else { many.to_owned() };
    let threads = if is_one { "1 thread".to_owned() } else { format!("{threads} threads") };
    let blocks = if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
    let does = match group.reason {
        Reason::Reads { address, size, phase, several } => {
            let what = match in_window(address) {
                _ if address >> 48 == GRID_WORKSPACE >> 48 => "the word of the barrier of the grid".to_owned(),
                Some(("shared", offset)) => variable_at(launch, offset),
                Some((space, offset)) => format!("byte {offset} of {space} memory"),
                None => format!("the {size} bytes at {address:#x}"),
            };
            let several = if several { ", each its own" } else { "" };
            match phase {
                true => format!("{} for a phase of the mbarrier in {what}{several}", does("wait")),
                false => format!("{} {what} again and again{several}{}", does("read"), history_of(launch, group)),
            }
        }
        Reason::Runs => format!("{} a loop that reads nothing", does("repeat")),
        Reason::Barrier { number, arrived, expected } => {
            let arrived = format!("where {arrived} of {expected} threads of a block have arrived");
            format!("{} at barrier {number}, {arrived}", does("wait"))
        }
        Reason::Warp { missing } => {
            format!("{} for lanes of the same warp that do not come (mask {missing:#010x})", does("wait"))
        }
        Reason::Grid => format!("{} at the barrier of the grid", does("wait")),
        Reason::Cluster => format!("{} at the barrier of the cluster", does("wait")),
    };
    format!("{threads} of {blocks} {does}")
}

/// The value that the first thread of a group reads, and the thread that wrote it, in words.
fn history_of(launch: &Launch, group: &WaitingThreads) -> String {
    let value = group.value.map(|value| format!("; the value is {value}")).unwrap_or_default();
    match group.writer {
        // A thread that polls by an atomic operation writes the word itself.
        Some(writer) if writer.pc == group.pc && writer.state == WriterState::Reader => value,
        Some(writer) => format!("{value}; it was last written by {}", place_of(launch, writer)),
        None if launch.program.finds_writers(launch.kernel) => {
            format!("{value}; no thread of the launch is known to have written it")
        }
        None => value,
    }
}

fn variable_at(launch: &Launch, offset: u64) -> String {
    let Variable { name, offset, .. } = shared_variable(launch, offset);
    match name {
        Some(name) => format!("byte {offset} of the shared variable {}", variable_name(&name)),
        None => format!("byte {offset} of dynamic shared memory"),
    }
}

/// Reports the launch, with a side for each group of threads.
pub(super) fn report(state: &mut State, launch: &Launch, ticket: &Ticket, fault: &Fault) {
    let location = |group: &WaitingThreads| KernelPlace {
        waits: Some(in_words(launch, group)),
        ..place(launch, Some(group.pc), group.block, group.thread, false)
    };
    let bytes = |group: &WaitingThreads| match group.reason {
        Reason::Reads { address, size, .. } => Some(Range { address, length: size.into() }),
        _ => None,
    };
    let side = |group: &WaitingThreads| WaitingSide {
        access: match group.reason {
            Reason::Reads { .. } => AccessKind::Read,
            Reason::Runs => AccessKind::Use,
            _ => AccessKind::Synchronize,
        },
        bytes: bytes(group),
        place: location(group),
    };
    let sides = fault.waiting.iter().take(GROUPS).map(side).collect();
    let polled = fault.waiting.iter().find_map(bytes);
    let variable = polled.and_then(|bytes| match in_window(bytes.address) {
        Some(("shared", offset)) => Some(shared_variable(launch, offset)),
        _ => None,
    });
    // The last work before the launch is a side if no thread of the launch has written since.
    let may_have_written = !launch.program.finds_writers(launch.kernel);
    let written = may_have_written || fault.waiting.iter().any(|group| group.writer.is_some());
    let missing = end_of_wait(launch, fault);
    state.detector.launch_waits_forever(ticket, (sides, written), (polled, variable), missing);
}
