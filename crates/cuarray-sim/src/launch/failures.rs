//! Failures of kernels: their context fails, and a finding names a bad access.

use super::arguments::pointing_to;
use super::deadlocks;
use super::findings::place;
use crate::memory::{allocations, races};
use crate::objects::allocation::Kind;
use crate::objects::launch::Launch;
use crate::site::with_line;
use crate::state::State;
use crate::texture::work::{self as textures, Missing};
use crate::thread;
use cuarray_abi::*;
use cuarray_ptx::{Fault, FaultKind, RANK_SHIFT};
use cuarray_races::finding::{self, AccessKind, KernelPlace, Range};
use cuarray_races::report::{BEHIND_NULL, kernel_name};
use cuarray_races::{Advice, Ticket};
use std::fmt::Write as _;

/// Marks the context of a failed kernel as failed, and reports the failure.
pub(super) fn fail_launch(state: &mut State, launch: &Launch, ticket: Option<&Ticket>, fault: &Fault) {
    let (mut what, place) = described(launch, fault);
    let closed = closed_to(state, launch.context, fault).or_else(|| read_only(state, fault));
    if state.pageable_memory {
        what = what.replace(", where nothing is allocated", ", where nothing is mapped");
    }
    if let Some((closed, _)) = &closed {
        what = what.replace(", where nothing is allocated", closed).replace(", in constant memory", closed);
    }
    let window = cuarray_ptx::in_window(fault.address);
    let illegal = fault.kind == FaultKind::IllegalAddress && fault.address >> 56 == 0;
    let nearest = || races::reserved_at(state, fault.address).or_else(|| nearest_to(state, launch, fault.address));
    let more = illegal.then(nearest).flatten().filter(|_| closed.is_none());
    let mut text = format!("kernel {}: {what}; {place}", kernel_name(launch.name()));
    text.extend(more.as_ref().filter(|_| fault.address >= BEHIND_NULL).map(Advice::to_string));
    if let Some(graph) = ticket.and_then(|ticket| ticket.operation.caller().graph.as_ref()) {
        let _ = write!(text, "; in a graph, launched at {}", with_line(graph));
    }
    if !launch.settings.quiet {
        eprintln!("cuarray-sim: {text}");
    }
    // SAFETY: the call has no preconditions.
    let thread = thread::number_of(unsafe { libc::gettid() });
    state.log.add(CU_LOG_LEVEL_ERROR, thread, &text);
    state.fail_context(launch.context, code(fault.kind));
    if let Some(ticket) = ticket {
        state.detector.forgive_unwritten(ticket);
    }
    if let (Some(ticket), FaultKind::Deadlock) = (ticket, fault.kind) {
        deadlocks::report(state, launch, ticket, fault);
        return;
    }
    if let (Some(ticket), FaultKind::NoTexture) = (ticket, fault.kind) {
        match textures::missing(state, fault.address) {
            Missing::Handle(handle) => {
                let found = state.detector.launch_used_handle(ticket, handle, place.clone());
                if !found {
                    state.detector.kernel_failed(ticket, what, place);
                }
            }
            Missing::Memory { address, size } => {
                let access = if fault.write { AccessKind::Write } else { AccessKind::Read };
                state.detector.launch_failed(ticket, (access, Range { address, length: size }), None, place, None);
            }
        }
        return;
    }
    let access = matches!(fault.kind, FaultKind::IllegalAddress | FaultKind::Misaligned | FaultKind::ReadOnly);
    if let Some(ticket) = ticket.filter(|_| access && (window.is_some() || fault.address >> 56 == 0)) {
        let access = if fault.write { AccessKind::Write } else { AccessKind::Read };
        let bytes = Range { address: fault.address, length: fault.size.into() };
        let may_go_on = illegal && !fault.write && closed.is_none();
        let wrong = match fault.kind {
            FaultKind::IllegalAddress | FaultKind::ReadOnly if closed.is_some() => {
                closed.map(|(_, missing)| (finding::Kind::OutOfBounds, missing))
            }
            FaultKind::Misaligned => Some((finding::Kind::MisalignedAccess, Advice::AlignAddress { size: fault.size })),
            FaultKind::ReadOnly => Some((finding::Kind::OutOfBounds, Advice::LeaveConstant)),
            // Addresses in these windows are valid only in the kernel, and are not memory of the driver.
            _ => window.map(|_| (finding::Kind::OutOfBounds, Advice::KeepWithinWindow { failure: what })),
        };
        let and = more.map(|more| more.to_string()).unwrap_or_default();
        let ended = match may_go_on {
            true => Advice::LaunchEndedAtRead { and },
            false => Advice::LaunchEnded { and },
        };
        state.detector.launch_failed(ticket, (access, bytes), wrong, place, Some(ended));
    } else if let Some(ticket) = ticket.filter(|_| fault.kind != FaultKind::Interrupted) {
        state.detector.kernel_failed(ticket, what, place);
    }
}

/// For a write to pageable memory that the program has mapped for reads only: a description, and what is missing.
fn read_only(state: &State, fault: &Fault) -> Option<(String, Advice)> {
    let is_own = state.pageable_memory && fault.kind == FaultKind::ReadOnly && state.is_pageable(fault.address);
    is_own.then(|| (", in read-only memory of the program".to_owned(), Advice::MakeWritable))
}

/// For an access to memory of another device that is closed to the context: a description, and what is missing.
fn closed_to(state: &State, context: CUcontext, fault: &Fault) -> Option<(String, Advice)> {
    let allocation = state.memory.holding(fault.address)?;
    let access = allocations::kernel_access(state, context, allocation);
    let needed = if fault.write { CU_MEM_ACCESS_FLAGS_PROT_READWRITE } else { CU_MEM_ACCESS_FLAGS_PROT_READ };
    if access >= needed || !matches!(fault.kind, FaultKind::IllegalAddress | FaultKind::ReadOnly) {
        return None;
    }
    let (own, other) = (state.contexts.get(&context)?.device, allocation.device);
    let missing = allocations::missing_access(own, allocation);
    let owner = match &allocation.kind {
        Kind::PinnedPool { .. } => "host memory of a pool".to_owned(),
        Kind::Imported(imported) if imported.on_host() => "host memory of a pool".to_owned(),
        Kind::Graph { .. } if !allocation.kind.on_device() => "host memory of a graph".to_owned(),
        _ => format!("memory of device {other}"),
    };
    Some((format!(", in {owner} that is closed to kernels of device {own}"), missing))
}

/// A description of the program's allocation nearest to an address, or of the null pointer from which the address derives.
fn nearest_to(state: &State, launch: &Launch, address: u64) -> Option<Advice> {
    if address < BEHIND_NULL {
        return Some(Advice::NullPointer);
    }
    let own = state.memory.iter().filter(|allocation| !allocation.kind.is_of_code());
    let distance = |start: u64, size: u64| {
        if address < start { start - address } else { address.saturating_sub(start + size) }
    };
    let nearest = own.min_by_key(|allocation| distance(allocation.address, allocation.size))?;
    let (start, size) = (nearest.address, nearest.size);
    let (away, side) = (distance(start, size), if address < start { "before" } else { "behind" });
    Some(Advice::NearestAllocation { size, start, away, side, pointed: pointing_to(launch, start..start + size) })
}

/// The access of a failure in words.
fn accessed(fault: &Fault) -> String {
    let (access, size) = (if fault.write { "write" } else { "read" }, fault.size);
    match cuarray_ptx::in_window(fault.address) {
        Some(("shared", offset)) if offset >> RANK_SHIFT != 0 => {
            let (rank, offset) = ((offset >> RANK_SHIFT) - 1, offset & ((1 << RANK_SHIFT) - 1));
            format!("{access} of {size} bytes at byte {offset} of shared memory of the cluster's block of rank {rank}")
        }
        Some((space, offset)) => format!("{access} of {size} bytes at byte {offset} of {space} memory"),
        None if fault.address == 0 => format!("{access} of {size} bytes through a null pointer"),
        None if fault.address < BEHIND_NULL => {
            format!("{access} of {size} bytes, {} bytes behind a null pointer", fault.address)
        }
        None => format!("{access} of {size} bytes at {:#x}", fault.address),
    }
}

/// A failure in words, and its location.
fn described(launch: &Launch, fault: &Fault) -> (String, KernelPlace) {
    let access = accessed(fault);
    let what = match fault.kind {
        FaultKind::IllegalAddress => match cuarray_ptx::in_window(fault.address) {
            Some(("shared", _)) => {
                let bytes = launch.program.shared_bytes(launch.kernel) + u64::from(launch.dynamic_shared);
                format!("{access}, beyond the {bytes} bytes of the block")
            }
            Some(_) => format!("{access}, beyond its end"),
            None if fault.address < BEHIND_NULL => access,
            None => format!("{access}, where nothing is allocated"),
        },
        FaultKind::BlockEnded => {
            format!("{access}, which has ended; let the cluster synchronize before its blocks exit")
        }
        FaultKind::Misaligned => format!("{access}, which is not aligned to its size"),
        FaultKind::ReadOnly => format!("{access}, in constant memory"),
        FaultKind::Trap => "trap".to_owned(),
        FaultKind::Assert => "an assertion failed".to_owned(),
        FaultKind::Stack => "the calls of a thread overflowed its stack".to_owned(),
        FaultKind::InvalidProgramCounter => {
            format!("a jump or call to {:#x}, which is not the address of such code", fault.address)
        }
        FaultKind::Deadlock => format!("the threads wait forever: {}", deadlocks::described(launch, fault)),
        FaultKind::Budget => {
            let (budget, groups) = (launch.settings.budget, deadlocks::described(launch, fault));
            format!("the kernel did not end within {budget} instructions (CUARRAY_SIM_LAUNCH_BUDGET): {groups}")
        }
        FaultKind::TimeLimit => {
            let (seconds, groups) = (launch.settings.longest.as_secs_f64(), deadlocks::described(launch, fault));
            format!("the kernel did not end within {seconds} seconds (CUARRAY_SIM_LAUNCH_SECONDS): {groups}")
        }
        FaultKind::Interrupted => {
            format!(
                "a signal has interrupted the program while the kernel ran: {}",
                deadlocks::described(launch, fault)
            )
        }
        FaultKind::OtherWork => {
            let groups = deadlocks::described(launch, fault);
            format!(
                "the threads wait, and only work of another stream can end that, which does not run beside a kernel here: {groups}"
            )
        }
        FaultKind::NoTexture => {
            let object = if fault.write { "surface" } else { "texture or surface" };
            format!(
                "{:#x} is not the handle of a {object}; it may have been destroyed before the kernel ran",
                fault.address
            )
        }
        FaultKind::OtherGeometry => {
            format!(
                "the instruction is for other dimensions than those of the object with the handle {:#x}",
                fault.address
            )
        }
        FaultKind::OutsideSurface => {
            let object = format!("the surface with the handle {:#x}", fault.address);
            format!(
                "{} outside of {object}, which traps; check the coordinates; x counts bytes",
                if fault.write { "write" } else { "read" }
            )
        }
        FaultKind::IllegalInstruction => "an instruction that cannot be executed".to_owned(),
    };
    let place = place(launch, Some(fault.pc), fault.block, fault.thread, false);
    (what, place)
}

/// The driver error for a kernel's failure.
fn code(kind: FaultKind) -> CUresult {
    match kind {
        FaultKind::IllegalAddress | FaultKind::ReadOnly => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        FaultKind::Misaligned => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        FaultKind::NoTexture | FaultKind::OtherGeometry | FaultKind::OutsideSurface => {
            CUresult::CUDA_ERROR_LAUNCH_FAILED
        }
        FaultKind::Trap | FaultKind::BlockEnded => CUresult::CUDA_ERROR_LAUNCH_FAILED,
        FaultKind::Assert => CUresult::CUDA_ERROR_ASSERT,
        FaultKind::Stack => CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
        FaultKind::InvalidProgramCounter => CUresult::CUDA_ERROR_INVALID_PC,
        FaultKind::Deadlock
        | FaultKind::Budget
        | FaultKind::TimeLimit
        | FaultKind::Interrupted
        | FaultKind::OtherWork => CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
        FaultKind::IllegalInstruction => CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    }
}
