//! Effects of work in streams, each by the folder of its noun.

use crate::copy::work as copies;
use crate::event::shared;
use crate::graph_structure;
use crate::happens_before::uploads;
use crate::launch::work as launches;
use crate::memory::{allocations, unwaited_exports};
use crate::memory_operations::work;
use crate::objects::copy::Extent;
use crate::objects::memory_operation::MemoryOperation;
use crate::objects::point::Point;
use crate::objects::work::{Accesses, Work};
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::Ticket;

/// The time of a copy or fill in nanoseconds, at 32 GB/s.
fn transfer_time(extent: Extent) -> u64 {
    extent.width.saturating_mul(extent.height).saturating_mul(extent.depth).div_ceil(32)
}

/// Executes work that runs no code of the program; returns the accesses that were not known before.
pub(crate) fn execute(state: &mut State, work: Work, at: Point, ticket: Option<&Ticket>) -> Accesses {
    state.host_access.open_program_memory();
    // After a failed kernel no work is executed, but memory is still released.
    let context = state.streams.get(&at.stream).map(|stream| stream.context);
    let failed = context.and_then(|context| state.contexts.get(&context)?.failed).is_some();
    state.memory_waits -= usize::from(matches!(work, Work::Memory(MemoryOperation::Wait { .. })));
    if failed && matches!(work, Work::Copy(_) | Work::Fill(_) | Work::Launch(_) | Work::Memory(_)) {
        return Accesses::default();
    }
    let lost = match &work {
        Work::Copy(copy) => copies::lost_memory_of_copy(state, copy),
        Work::Fill(fill) => copies::lost_memory_of_fill(state, fill),
        _ => None,
    };
    if let (Some(lost), Some(context)) = (lost, context) {
        if !state.quiet {
            eprintln!("cuarray-sim: {lost}, because the program unmapped or protected it before the pending work ran");
        }
        state.fail_context(context, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        return Accesses::default();
    }
    unwaited_exports::hint(state, &work);
    let accesses = run(state, work, at, ticket);
    unwaited_exports::has_run(state, at);
    accesses
}

fn run(state: &mut State, work: Work, at: Point, ticket: Option<&Ticket>) -> Accesses {
    match work {
        Work::Wait | Work::HostFunction(_) | Work::Await(_) | Work::Condition(_) => {}
        Work::Assign(values) => {
            for (handle, value) in values {
                if let Some(condition) = state.conditions.get_mut(&handle) {
                    condition.value = value;
                }
            }
        }
        Work::Copy(copy) => {
            uploads::driver_writes(state, copy.target, copy.extent);
            copies::execute_copy(state, &copy);
            state.time_passes(transfer_time(copy.extent));
        }
        Work::Fill(fill) => {
            uploads::driver_writes(state, fill.target, fill.extent);
            copies::execute_fill(state, &fill);
            state.time_passes(transfer_time(fill.extent));
        }
        Work::Record(event) => {
            let time = state.stamp();
            if let Some(event) = state.events.get_mut(&event).filter(|event| event.recorded == Some(at)) {
                event.time = Some(time);
            }
            shared::happened(state, at);
        }
        Work::Allocate { address, size } => {
            if let Some(arena) = state.arena_of(address) {
                arena.soil(address, size);
            } else if let Some(pages) = state.memory.starting_at(address).and_then(|made| made.kind.pages()) {
                pages.soil(size);
            }
            state.host_access.shut(address, false);
        }
        Work::Release { address } => allocations::release(state, address),
        Work::Launch(launch) => {
            uploads::kernel_runs(state);
            return launches::execute(state, &launch, at.stream, ticket);
        }
        Work::Memory(operation) => return work::execute(state, operation, ticket),
        Work::EndExec(exec) => graph_structure::end_exec(state, exec),
    }
    Accesses::default()
}
