//! Copies of ranges by one thread: `cp.async.bulk`, `cp.reduce.async.bulk`, and the stores `st.async` and `red.async`.

mod completion;

use super::in_flight::{Bulk, Object, Operation, Place};
use crate::machine::address_windows::SHARED_WINDOW;
use crate::machine::cluster::RANK_SHIFT;
use crate::machine::fault::FaultKind;
use crate::machine::program::{Exec, Instruction};
use crate::machine::{Flow, Machine};
use crate::races::causality::times::Times;
use crate::races::cell::{Kind, Origin};

/// A zero-sized operation as a function.
fn call<F: Fn(u64, u64) -> u64 + Copy>(old: u64, value: u64) -> u64 {
    const { assert!(size_of::<F>() == 0, "an operation captures nothing") };
    // SAFETY: F has no size, and `reduce` or `store_reduce` received a value of it; see `lanes::operation`.
    let f: F = unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() };
    f(old, value)
}

/// `cp.async.bulk`: starts a copy from `a` to `b`, of `c` bytes. Further operands: offset and mode of the source, those
/// of the target, then base, offset and mode of the barrier, the ranks of a multicast as a mask, and the mask of bytes.
/// The last five may be left out.
pub(crate) unsafe fn copy(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver checked the widths.
    unsafe { start(machine, instruction, None) }
}

/// `cp.reduce.async.bulk`: as [`copy`], with an operation on elements of `imm` bytes.
pub(crate) fn reduce<F: Fn(u64, u64) -> u64 + Copy + 'static>(_: F) -> Exec {
    unsafe fn body<F: Fn(u64, u64) -> u64 + Copy>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
        // SAFETY: as for `copy`.
        unsafe { start(machine, instruction, Some((call::<F>, instruction.imm as u32))) }
    }
    body::<F>
}

unsafe fn start(machine: &mut Machine<'_>, instruction: &Instruction, operation: Option<(Operation, u32)>) -> Flow {
    let extra = |index| machine.extra(instruction, index);
    let optional = |index| machine.optional(instruction, index);
    // SAFETY: this function's contract.
    let (sources, targets, sizes, barriers, ranks, bytes) = unsafe {
        let words = |operand| machine.slots::<[u32; 32]>(operand).read();
        (
            machine.generic_addresses(instruction.a, extra(0), extra(1)),
            machine.generic_addresses(instruction.b, extra(2), extra(3)),
            words(instruction.c),
            optional(4).map(|base| machine.generic_addresses(base, extra(5), extra(6))),
            optional(7).map(words),
            optional(8).map(words),
        )
    };
    let mask = machine.mask;
    for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
        let index = lane as usize;
        let size = u64::from(sizes[index]);
        if size % 16 != 0 {
            return machine.fail(FaultKind::Misaligned, lane, targets[index], sizes[index], true);
        }
        if size == 0 {
            continue;
        }
        let source = match machine.ranked(lane, sources[index], size, 16, false) {
            Ok(source) => source,
            Err(kind) => return machine.fail(kind, lane, sources[index], sizes[index], false),
        };
        let blocks = ranks.as_ref().map(|ranks| ranks[index]);
        let ranks: Vec<Option<u32>> = match blocks {
            None => vec![None],
            Some(blocks) => (0..16).filter(|rank| blocks >> rank & 1 == 1).map(Some).collect(),
        };
        for rank in ranks {
            // A multicast writes the same offsets in each block, and signals the same barrier there.
            let of = |address: u64| match rank {
                Some(rank) => address & !(0xff << RANK_SHIFT) | u64::from(rank + 1) << RANK_SHIFT,
                None => address,
            };
            let target = match machine.ranked(lane, of(targets[index]), size, 16, true) {
                Ok(target) => target,
                Err(kind) => return machine.fail(kind, lane, targets[index], sizes[index], true),
            };
            let object = match barriers.map(|barriers| (barriers[index], machine.barrier(lane, of(barriers[index])))) {
                Some((address, Err(kind))) => return machine.fail(kind, lane, address, 8, true),
                Some((_, Ok(object))) => Some(object),
                None => None,
            };
            let bytes = bytes.map_or(u16::MAX, |bytes| bytes[index] as u16);
            machine.add_bulk(lane, (Some(source), Vec::new()), target, size, (bytes, operation), object);
        }
    }
    Flow::Next
}

/// `st.async`: starts a store of elements to `a`. Further operands: offset and mode of the target; base, offset and mode
/// of the barrier; the values. `b` is the number of values, `c` the size of an element.
pub(crate) unsafe fn store(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver checked the widths.
    unsafe { start_store(machine, instruction, None) }
}

/// `red.async`: as [`store`], with an operation.
pub(crate) fn store_reduce<F: Fn(u64, u64) -> u64 + Copy + 'static>(_: F) -> Exec {
    unsafe fn body<F: Fn(u64, u64) -> u64 + Copy>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
        // SAFETY: as for `store`.
        unsafe { start_store(machine, instruction, Some((call::<F>, instruction.c))) }
    }
    body::<F>
}

unsafe fn start_store(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    operation: Option<(Operation, u32)>,
) -> Flow {
    let extra = |index| machine.extra(instruction, index);
    let (count, element) = (instruction.b as usize, instruction.c as usize);
    // SAFETY: this function's contract.
    let (targets, barriers, values) = unsafe {
        let values = (0..count).map(|at| match element {
            8 => machine.slots::<[u64; 32]>(extra(5 + at)).read(),
            _ => machine.slots::<[u32; 32]>(extra(5 + at)).read().map(u64::from),
        });
        (
            machine.generic_addresses(instruction.a, extra(0), extra(1)),
            machine.generic_addresses(extra(2), extra(3), extra(4)),
            values.collect::<Vec<_>>(),
        )
    };
    let (mask, size) = (machine.mask, (count * element) as u64);
    for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
        let index = lane as usize;
        let target = match machine.ranked(lane, targets[index], size, size, true) {
            Ok(target) => target,
            Err(kind) => return machine.fail(kind, lane, targets[index], size as u32, true),
        };
        let object = match machine.barrier(lane, barriers[index]) {
            Ok(object) => object,
            Err(kind) => return machine.fail(kind, lane, barriers[index], 8, true),
        };
        let bytes = values.iter().flat_map(|value| value[index].to_le_bytes().into_iter().take(element)).collect();
        machine.add_bulk(lane, (None, bytes), target, size, (u16::MAX, operation), Some(object));
    }
    Flow::Next
}

/// `st.bulk`: writes `c` zeros to `a`. Further operands: offset and mode of the target.
pub(crate) unsafe fn fill(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver checked the widths.
    let (targets, sizes) = unsafe {
        let (offset, mode) = (machine.extra(instruction, 0), machine.extra(instruction, 1));
        let sizes = machine.slots::<[u64; 32]>(instruction.c).read();
        (machine.generic_addresses(instruction.a, offset, mode), sizes)
    };
    let mask = machine.mask;
    for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
        let (address, size) = (targets[lane as usize], sizes[lane as usize]);
        if size == 0 {
            continue;
        }
        let kind = if size % 8 != 0 { FaultKind::Misaligned } else { FaultKind::IllegalAddress };
        if size % 8 != 0 || size > machine.block.shared_bytes() || address >> 56 != 1 {
            return machine.fail(kind, lane, address, size as u32, true);
        }
        let target = match machine.ranked(lane, address, size, 8, true) {
            Ok(target) => target,
            Err(kind) => return machine.fail(kind, lane, address, size as u32, true),
        };
        machine.add_bulk(lane, (None, vec![0; size as usize]), target, size, (u16::MAX, None), None);
        // The fill is not asynchronous.
        machine.run_bulk_at(machine.cluster().pending.bulk.len() - 1);
    }
    Flow::Next
}

/// `cp.async.bulk.commit_group`.
pub(crate) unsafe fn commit(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    let (mask, slot, rank, warp) = (machine.mask, machine.block.cluster, machine.block.rank, machine.warp.number);
    for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
        let pending = &mut machine.clusters[slot].pending;
        // Counts as a copy, so that the records are dropped with the cluster.
        pending.starts();
        pending.ends(1);
        *pending.groups.entry((rank, warp * 32 + lane)).or_default() += 1;
    }
    Flow::Next
}

/// `cp.async.bulk.wait_group` for all but the last `imm` groups; if `a` is 1, until their sources are read.
pub(crate) unsafe fn wait(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (mask, rank, warp) = (machine.mask, machine.block.rank, machine.warp.number);
    let (kept, only_read) = (instruction.imm as u32, instruction.a == 1);
    for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
        let thread = warp * 32 + lane;
        let pending = &machine.cluster().pending;
        let Some(committed) = pending.groups.get(&(rank, thread)).copied() else { continue };
        let mut at = 0;
        while let Some(bulk) = machine.cluster().pending.bulk.get(at) {
            let of_thread = bulk.rank == rank && bulk.thread == thread;
            match bulk.group.is_some_and(|group| of_thread && group.saturating_add(kept) < committed) {
                true if only_read => machine.read_bulk_at(at),
                true => {
                    machine.run_bulk_at(at);
                    continue;
                }
                false => {}
            }
            at += 1;
        }
    }
    Flow::Next
}

impl Machine<'_> {
    /// Resolves an address, which may name the own block by its rank.
    fn ranked(
        &mut self,
        lane: u32,
        address: u64,
        size: u64,
        align: u64,
        write: bool,
    ) -> Result<(Place, *mut u8), FaultKind> {
        let place = if address >> 56 <= 1 { self.place_of(address) } else { return Err(FaultKind::IllegalAddress) };
        let address = match place {
            Place::Shared(rank, offset) if rank == self.block.rank => SHARED_WINDOW + offset,
            _ => address,
        };
        Ok((place, self.locate_lane(lane, address, size, align, write)?))
    }

    /// Resolves the address of a barrier object.
    fn barrier(&mut self, lane: u32, address: u64) -> Result<Object, FaultKind> {
        if address >> 56 != 1 {
            return Err(FaultKind::IllegalAddress);
        }
        let (place, word) = self.ranked(lane, address, 8, 8, true)?;
        self.name_object(lane, address);
        Ok(self.object(place, word))
    }

    fn add_bulk(
        &mut self,
        lane: u32,
        (source, held): (Option<(Place, *mut u8)>, Vec<u8>),
        target: (Place, *mut u8),
        size: u64,
        (bytes, operation): (u16, Option<(Operation, u32)>),
        object: Option<Object>,
    ) {
        let (slot, rank, block) = (self.block.cluster, self.block.rank, self.block.number);
        let (pc, thread) = (self.pc - 1, self.warp.number * 32 + lane);
        let pending = &mut self.clusters[slot].pending;
        let number = pending.starts();
        let group = object.is_none().then(|| pending.groups.get(&(rank, thread)).copied().unwrap_or(0));
        let known = Times::default();
        let mut bulk = Bulk {
            number,
            pc,
            block,
            thread,
            rank,
            source,
            held,
            target,
            size,
            bytes,
            operation,
            group,
            object,
            known,
        };
        if self.races.on {
            let kind = if operation.is_some() { Kind::Atomic } else { Kind::Write };
            self.meet_others(Origin::new(thread, pc, kind), target.0, size, bulk.source_address());
            if let Some((source, _)) = source {
                self.meet_others(Origin::new(thread, pc, Kind::Read), source, size, None);
                self.clusters[slot].pending.mark(source, size, false);
            }
            self.clusters[slot].pending.mark(target.0, size, true);
            self.touch_bulk(&bulk, &[], false);
            if let Some((source, _)) = source {
                self.read_by_copy(lane, source, size);
            }
            bulk.known = self.known_by(lane);
        }
        self.clusters[slot].pending.bulk.push(bulk);
    }
}
