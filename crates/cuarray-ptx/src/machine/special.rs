//! Special registers: thread and block indices, clocks and others.
//!
//! Clocks count instructions of the block and the time for which its warps sleep, so that their values do not depend on
//! the host.

use super::block::CYCLES;
use super::launch::index_in;
use super::memory::Slot;
use super::{Flow, Machine};
use crate::machine::program::{Instruction, RESERVED_SHARED};
use Read::{Block, Lane, Thread, Time, Warp};

/// How a special register is read.
#[derive(Clone, Copy)]
pub(crate) enum Read {
    /// All threads of a block have one value.
    Block(fn(&Machine<'_>) -> u64),
    /// All lanes of a warp have one value.
    Warp(fn(&Machine<'_>) -> u64),
    /// As `Warp`; the value changes while the warp runs.
    Time(fn(&Machine<'_>) -> u64),
    /// The value depends on the lane.
    Lane(fn(u32) -> u64),
    /// The index of the thread along an axis.
    Thread(usize),
}

/// The special registers and their readers. The manual does not define the performance counters `%pm`. Of the registers that
/// the driver defines, `%envreg`, only those of the workspace of a cooperative launch have a documented use.
pub(crate) const REGISTERS: &[(&str, Read)] = &[
    ("%tid.x", Thread(0)),
    ("%tid.y", Thread(1)),
    ("%tid.z", Thread(2)),
    ("%ntid.x", Block(|machine| machine.launch.threads[0].into())),
    ("%ntid.y", Block(|machine| machine.launch.threads[1].into())),
    ("%ntid.z", Block(|machine| machine.launch.threads[2].into())),
    ("%ctaid.x", Block(|machine| machine.block.index[0].into())),
    ("%ctaid.y", Block(|machine| machine.block.index[1].into())),
    ("%ctaid.z", Block(|machine| machine.block.index[2].into())),
    ("%nctaid.x", Block(|machine| machine.launch.grid[0].into())),
    ("%nctaid.y", Block(|machine| machine.launch.grid[1].into())),
    ("%nctaid.z", Block(|machine| machine.launch.grid[2].into())),
    ("%laneid", Lane(|lane| lane.into())),
    ("%warpid", Warp(|machine| machine.warp.number.into())),
    ("%nwarpid", Block(|machine| machine.launch.resident_warps.into())),
    ("%smid", Block(|machine| machine.block.number % u64::from(machine.launch.multiprocessors))),
    ("%nsmid", Block(|machine| machine.launch.multiprocessors.into())),
    ("%gridid", Block(|machine| machine.launch.number)),
    ("%lanemask_eq", Lane(|lane| 1 << lane)),
    ("%lanemask_lt", Lane(|lane| (1 << lane) - 1)),
    ("%lanemask_le", Lane(|lane| (2 << lane) - 1)),
    ("%lanemask_gt", Lane(|lane| u64::from(u32::MAX) & !((2 << lane) - 1))),
    ("%lanemask_ge", Lane(|lane| u64::from(u32::MAX) & !((1 << lane) - 1))),
    ("%clock", Time(clock)),
    ("%clock_hi", Time(|machine| clock(machine) >> 32)),
    ("%clock64", Time(clock)),
    ("%globaltimer", Time(timer)),
    ("%globaltimer_lo", Time(|machine| timer(machine) & 0xffff_ffff)),
    ("%globaltimer_hi", Time(|machine| timer(machine) >> 32)),
    ("%dynamic_smem_size", Block(|machine| machine.launch.dynamic_shared.into())),
    ("%total_smem_size", Block(shared_bytes)),
    ("%aggr_smem_size", Block(|machine| shared_bytes(machine) + RESERVED_SHARED)),
    ("%reserved_smem_offset_begin", Block(|machine| machine.program.reserved_shared().start)),
    ("%reserved_smem_offset_end", Block(|machine| machine.program.reserved_shared().end)),
    ("%reserved_smem_offset_cap", Block(|_| RESERVED_SHARED)),
    ("%reserved_smem_offset_0", Block(|machine| machine.program.reserved_shared().start)),
    ("%reserved_smem_offset_1", Block(|machine| machine.program.reserved_shared().start + RESERVED_SHARED / 2)),
    // The simulated driver refuses graphs that kernels launch, and elsewhere the register is zero.
    ("%current_graph_exec", Block(|_| 0)),
    ("%clusterid.x", Block(|machine| machine.cluster().index[0].into())),
    ("%clusterid.y", Block(|machine| machine.cluster().index[1].into())),
    ("%clusterid.z", Block(|machine| machine.cluster().index[2].into())),
    ("%nclusterid.x", Block(|machine| machine.launch.clusters()[0].into())),
    ("%nclusterid.y", Block(|machine| machine.launch.clusters()[1].into())),
    ("%nclusterid.z", Block(|machine| machine.launch.clusters()[2].into())),
    ("%cluster_ctaid.x", Block(|machine| place_in_cluster(machine)[0].into())),
    ("%cluster_ctaid.y", Block(|machine| place_in_cluster(machine)[1].into())),
    ("%cluster_ctaid.z", Block(|machine| place_in_cluster(machine)[2].into())),
    ("%cluster_nctaid.x", Block(|machine| machine.launch.cluster_extents()[0].into())),
    ("%cluster_nctaid.y", Block(|machine| machine.launch.cluster_extents()[1].into())),
    ("%cluster_nctaid.z", Block(|machine| machine.launch.cluster_extents()[2].into())),
    ("%cluster_ctarank", Block(|machine| machine.block.rank.into())),
    ("%cluster_nctarank", Block(|machine| machine.launch.cluster_blocks().into())),
    ("%envreg1", Block(|machine| machine.workspace() >> 32)),
    ("%envreg2", Block(|machine| machine.workspace() & 0xffff_ffff)),
];

/// The index of the block in its cluster.
fn place_in_cluster(machine: &Machine<'_>) -> [u32; 3] {
    index_in(machine.launch.cluster_extents(), machine.block.rank.into())
}

/// The cycles since the start of the block.
fn clock(machine: &Machine<'_>) -> u64 {
    (machine.block.ran + machine.executed - machine.block_turn) * CYCLES + machine.warp.slept
}

/// Reads of the time by one instruction of a warp, while its block writes no memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct TimeReads {
    pc: u32,
    lanes: u32,
    /// Their number since the warp has read memory: a loop that also polls for a value waits for that, and gives up after a time.
    pub count: u32,
    changes: u64,
    /// The time of the first one in cycles.
    since: u64,
}

/// The number of reads after which a warp counts as waiting for a time.
const WAITING: u32 = 4096;

/// Records a read of the time. A warp that waits for a time sleeps from read to read, an eighth of the time that it has waited.
fn time_is_read(machine: &mut Machine<'_>) {
    let (pc, lanes, changes, now) = (machine.pc, machine.active, machine.block.changes, clock(machine));
    let reads = &mut machine.warp.time_reads;
    if (reads.pc, reads.lanes, reads.changes) != (pc, lanes, changes) {
        *reads = TimeReads { pc, lanes, changes, count: 0, since: now };
        return;
    }
    reads.count += 1;
    if reads.count >= WAITING {
        machine.warp.slept += now.saturating_sub(reads.since) / 8;
        machine.block.slept = machine.block.slept.max(machine.warp.slept);
    }
}

/// The time of the device in nanoseconds.
fn timer(machine: &Machine<'_>) -> u64 {
    machine.launch.time + machine.launch.nanoseconds(clock(machine))
}

/// A special register for the resolver: the widths in which code may read it, and the target and version that have it.
pub(crate) struct Form {
    pub bits: &'static [u32],
    pub target: u32,
    pub version: (u32, u32),
}

/// The form of a special register, by the [manual](https://docs.nvidia.com/cuda/parallel-thread-execution/#special-registers).
pub(crate) fn form(name: &str) -> Form {
    let bits: &[u32] = match name {
        "%gridid" => &[16, 32, 64],
        "%clock64" | "%globaltimer" | "%current_graph_exec" => &[64],
        // Version 1 of PTX had these in 16 bits.
        _ if LEGACY.iter().any(|start| name.starts_with(start)) => &[16, 32],
        _ => &[32],
    };
    let (target, version) = match name {
        "%aggr_smem_size" => (90, (8, 1)),
        "%current_graph_exec" => (50, (8, 0)),
        _ if name.starts_with("%reserved_smem_offset_") => (80, (7, 6)),
        _ if name.contains("cluster") => (90, (7, 8)),
        _ => (0, (0, 0)),
    };
    Form { bits, target, version }
}

const LEGACY: [&str; 4] = ["%tid.", "%ntid.", "%ctaid.", "%nctaid."];

/// The vectors of special registers. Their fourth component is zero.
pub(crate) const VECTORS: [&str; 8] =
    ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];

/// Whether the manual has a special register that is refused here.
pub(crate) fn is_refused(name: &str) -> bool {
    let below = |digits: &str, limit: u32| {
        (digits == "0" || !digits.starts_with('0')) && digits.parse::<u32>().is_ok_and(|number| number < limit)
    };
    let counter = name.strip_prefix("%pm").map(|rest| rest.strip_suffix("_64").unwrap_or(rest));
    counter.is_some_and(|digits| below(digits, 8))
        || name.strip_prefix("%envreg").is_some_and(|digits| below(digits, 32))
}

/// The number of a special register.
pub(crate) fn number(name: &str) -> Option<i64> {
    REGISTERS.iter().position(|(known, _)| *known == name).map(|index| index as i64)
}

/// Whether the value of a special register changes while the warp runs.
pub(crate) fn changes(number: i64) -> bool {
    matches!(REGISTERS[number as usize], (_, Time(_)))
}

/// Reads the special register `imm` into `d`.
pub(crate) unsafe fn read<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let reader = REGISTERS[instruction.imm as usize].1;
    // SAFETY: `d` is a register of this width.
    unsafe {
        match reader {
            Block(value) | Warp(value) => machine.set_uniform(instruction, S::of(value(machine))),
            Time(value) => {
                machine.search.moved += 1;
                time_is_read(machine);
                machine.set_uniform(instruction, S::of(value(machine)));
            }
            Lane(value) => machine.set_lanes::<S>(instruction, &std::array::from_fn(|lane| value(lane as u32))),
            Thread(axis) => {
                let first = machine.thread_of(0);
                if first[0] + 31 >= machine.launch.threads[0] {
                    machine.set_lanes::<S>(instruction, &machine.thread_indices(axis));
                } else if axis == 0 {
                    machine.set_consecutive::<S>(instruction, first[0]);
                } else {
                    machine.set_uniform(instruction, S::of(first[axis].into()));
                }
            }
        }
    }
    Flow::Next
}

impl Machine<'_> {
    /// The thread indices of the current warp along an axis.
    fn thread_indices(&self, axis: usize) -> [u64; 32] {
        let [width, height, _] = self.launch.threads;
        let [mut x, mut y, mut z] = self.thread_of(0);
        std::array::from_fn(|_| {
            let index = [x, y, z][axis];
            x += 1;
            if x == width {
                (x, y) = (0, y + 1);
            }
            if y == height {
                (y, z) = (0, z + 1);
            }
            index.into()
        })
    }
}

/// The bytes of shared memory of a block, without those between variables, in units of allocation of the architecture.
fn shared_bytes(machine: &Machine<'_>) -> u64 {
    let bytes = machine.program.shared_bytes(machine.launch.kernel) + u64::from(machine.launch.dynamic_shared);
    bytes.next_multiple_of(if machine.program.target() < 80 { 256 } else { 128 })
}
