//! Special registers: thread and block indices, clocks and others.
//!
//! Clocks count instructions of the block and the time for which its warps sleep, so that their values do not depend on
//! the host.

use super::block::CYCLES;
use super::launch::index_in;
use super::memory::Slot;
use super::{Flow, Machine};
use crate::machine::program::Instruction;

/// Reads one lane's value of a special register.
type Read = fn(&Machine<'_>, u32) -> u64;

/// The special registers and their readers.
pub(crate) const REGISTERS: &[(&str, Read)] = &[
    ("%tid.x", |machine, lane| machine.thread_of(lane)[0].into()),
    ("%tid.y", |machine, lane| machine.thread_of(lane)[1].into()),
    ("%tid.z", |machine, lane| machine.thread_of(lane)[2].into()),
    ("%ntid.x", |machine, _| machine.launch.threads[0].into()),
    ("%ntid.y", |machine, _| machine.launch.threads[1].into()),
    ("%ntid.z", |machine, _| machine.launch.threads[2].into()),
    ("%ctaid.x", |machine, _| machine.block.index[0].into()),
    ("%ctaid.y", |machine, _| machine.block.index[1].into()),
    ("%ctaid.z", |machine, _| machine.block.index[2].into()),
    ("%nctaid.x", |machine, _| machine.launch.grid[0].into()),
    ("%nctaid.y", |machine, _| machine.launch.grid[1].into()),
    ("%nctaid.z", |machine, _| machine.launch.grid[2].into()),
    ("%laneid", |_, lane| lane.into()),
    ("%warpid", |machine, _| machine.warp.number.into()),
    ("%nwarpid", |machine, _| machine.launch.threads.iter().product::<u32>().div_ceil(32).into()),
    ("%smid", |machine, _| machine.block.number % 132),
    ("%nsmid", |_, _| 132),
    ("%gridid", |_, _| 1),
    ("%lanemask_eq", |_, lane| 1 << lane),
    ("%lanemask_lt", |_, lane| (1 << lane) - 1),
    ("%lanemask_le", |_, lane| (2 << lane) - 1),
    ("%lanemask_gt", |_, lane| u64::from(u32::MAX) & !((2 << lane) - 1)),
    ("%lanemask_ge", |_, lane| u64::from(u32::MAX) & !((1 << lane) - 1)),
    ("%clock", |machine, _| clock(machine)),
    ("%clock_hi", |machine, _| clock(machine) >> 32),
    ("%clock64", |machine, _| clock(machine)),
    ("%globaltimer", |machine, _| timer(machine)),
    ("%globaltimer_lo", |machine, _| timer(machine) & 0xffff_ffff),
    ("%globaltimer_hi", |machine, _| timer(machine) >> 32),
    ("%dynamic_smem_size", |machine, _| machine.launch.dynamic_shared.into()),
    ("%total_smem_size", |machine, _| shared_bytes(machine)),
    ("%aggr_smem_size", |machine, _| shared_bytes(machine)),
    ("%is_explicit_cluster", |machine, _| machine.launch.cluster.is_some().into()),
    ("%clusterid.x", |machine, _| machine.cluster().index[0].into()),
    ("%clusterid.y", |machine, _| machine.cluster().index[1].into()),
    ("%clusterid.z", |machine, _| machine.cluster().index[2].into()),
    ("%nclusterid.x", |machine, _| machine.launch.clusters()[0].into()),
    ("%nclusterid.y", |machine, _| machine.launch.clusters()[1].into()),
    ("%nclusterid.z", |machine, _| machine.launch.clusters()[2].into()),
    ("%cluster_ctaid.x", |machine, _| place_in_cluster(machine)[0].into()),
    ("%cluster_ctaid.y", |machine, _| place_in_cluster(machine)[1].into()),
    ("%cluster_ctaid.z", |machine, _| place_in_cluster(machine)[2].into()),
    ("%cluster_nctaid.x", |machine, _| machine.launch.cluster_extents()[0].into()),
    ("%cluster_nctaid.y", |machine, _| machine.launch.cluster_extents()[1].into()),
    ("%cluster_nctaid.z", |machine, _| machine.launch.cluster_extents()[2].into()),
    ("%cluster_ctarank", |machine, _| machine.block.rank.into()),
    ("%cluster_nctarank", |machine, _| machine.launch.cluster_blocks().into()),
    ("%envreg1", |machine, _| machine.workspace() >> 32),
    ("%envreg2", |machine, _| machine.workspace() & 0xffff_ffff),
];

/// The index of the block in its cluster.
fn place_in_cluster(machine: &Machine<'_>) -> [u32; 3] {
    index_in(machine.launch.cluster_extents(), machine.block.rank.into())
}

/// The cycles since the start of the block.
fn clock(machine: &Machine<'_>) -> u64 {
    (machine.block.ran + machine.executed - machine.block_turn) * CYCLES + machine.warp.slept
}

/// The time of the device in nanoseconds.
fn timer(machine: &Machine<'_>) -> u64 {
    machine.launch.time + machine.launch.nanoseconds(clock(machine))
}

/// The number of a special register.
pub(crate) fn number(name: &str) -> Option<i64> {
    REGISTERS.iter().position(|(known, _)| *known == name).map(|index| index as i64)
}

/// Reads the special register `imm` into `d`.
pub(crate) unsafe fn read<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (_, value) = REGISTERS[instruction.imm as usize];
    // SAFETY: `d` is a register of this width.
    unsafe {
        let target = machine.slots::<S>(instruction.d);
        for lane in (0..32_u32).filter(|lane| machine.mask >> lane & 1 == 1) {
            target.add(lane as usize).write(S::of(value(machine, lane)));
        }
    }
    Flow::Next
}

/// The bytes of shared memory of a block, without those between variables.
fn shared_bytes(machine: &Machine<'_>) -> u64 {
    machine.program.shared_bytes(machine.launch.kernel) + u64::from(machine.launch.dynamic_shared)
}
