//! Special registers: thread and block indices, clocks and others.
//!
//! Clocks count instructions of the block, so that their values do not depend on the host.

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
    ("%globaltimer", |machine, _| clock(machine)),
    ("%globaltimer_lo", |machine, _| clock(machine) & 0xffff_ffff),
    ("%globaltimer_hi", |machine, _| clock(machine) >> 32),
    ("%dynamic_smem_size", |machine, _| machine.launch.dynamic_shared.into()),
    ("%total_smem_size", |machine, _| machine.block.shared_bytes()),
    ("%aggr_smem_size", |machine, _| machine.block.shared_bytes()),
    ("%is_explicit_cluster", |_, _| 0),
    ("%clusterid.x", |machine, _| machine.block.index[0].into()),
    ("%clusterid.y", |machine, _| machine.block.index[1].into()),
    ("%clusterid.z", |machine, _| machine.block.index[2].into()),
    ("%nclusterid.x", |machine, _| machine.launch.grid[0].into()),
    ("%nclusterid.y", |machine, _| machine.launch.grid[1].into()),
    ("%nclusterid.z", |machine, _| machine.launch.grid[2].into()),
    ("%cluster_ctaid.x", |_, _| 0),
    ("%cluster_ctaid.y", |_, _| 0),
    ("%cluster_ctaid.z", |_, _| 0),
    ("%cluster_nctaid.x", |_, _| 1),
    ("%cluster_nctaid.y", |_, _| 1),
    ("%cluster_nctaid.z", |_, _| 1),
    ("%cluster_ctarank", |_, _| 0),
    ("%cluster_nctarank", |_, _| 1),
];

/// One instruction counts as four cycles.
fn clock(machine: &Machine<'_>) -> u64 {
    (machine.executed - machine.block.started) * 4
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
