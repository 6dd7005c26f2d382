//! Loads and stores of whole warps.
//!
//! The addresses of eight lanes are mostly equal or consecutive. If this holds for each group of eight lanes, and one region
//! or the shared memory of the block has all addresses, then each group is moved at once. All other accesses, and all
//! faults, take the general way of `locate`.
//!
//! A *shape* describes the addresses in a register. Accesses of a basic block through one register share it, as the resolver
//! knows. A shape is held until the fragment is replaced by another one.
//!
//! Blocks on several cores may access the same memory. `memory` moves elements by relaxed atomic operations. Here, inline
//! assembly moves several elements with one instruction: the processor does not tear aligned elements of up to 8 bytes, and the
//! compiler assumes nothing about the memory.

use super::access_mode::{self, GENERIC, GLOBAL, STRONG, is_kept, is_wide, slot, space};
use super::memory::{Cell, Slot, digests};
use super::{Machine, processor};
use crate::machine::address_windows::SHARED_WINDOW;
use crate::machine::program::Instruction;
use crate::machine::region::{self, Region};
use crate::races::deferred::Known;
use std::arch::asm;
use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_sub_epi64, _mm256_testz_si256,
    _mm256_xor_si256,
};

/// The lanes of a group.
pub(super) const GROUP: usize = 8;
/// The groups of a warp.
pub(super) const GROUPS: usize = 32 / GROUP;
/// The region of shapes in shared memory.
pub(super) const SHARED: u32 = u32::MAX;

/// The addresses of a warp, in whose groups they are equal or consecutive, in one region or in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// The host's pointer to the element of the first lane of each group, for the offset zero.
    pub(super) pointers: [u64; GROUPS],
    /// A bit for each group: whether its addresses are consecutive.
    pub(super) rows: u32,
    writable: bool,
    /// The least and the greatest offset for which all elements are in the same memory.
    pub(super) least: i64,
    pub(super) greatest: i64,
    /// The region with all elements, or [`SHARED`], and the host's address of its start.
    pub(super) region: u32,
    pub(super) host: u64,
    /// Where the addresses are listed in the records.
    pub(super) known: Known,
}

impl Shape {
    /// The shape of elements at these pointers, in a region whose start has an address of the host.
    pub(super) fn new(pointers: [u64; GROUPS], rows: u32, (region, host): (u32, u64)) -> Shape {
        Shape { pointers, rows, region, host, writable: true, ..NO_SHAPE }
    }

    /// The address of a lane's element of a size, at a distance, in memory that starts at an address.
    #[inline(always)]
    pub(super) fn address(&self, lane: usize, size: u32, distance: i32, start: u64) -> u64 {
        let step = if self.rows >> (lane / GROUP) & 1 == 1 { u64::from(size) } else { 0 };
        let first = self.pointers[lane / GROUP].wrapping_sub(self.host).wrapping_add_signed(distance.into());
        start.wrapping_add(first).wrapping_add((lane % GROUP) as u64 * step)
    }
}

const NO_SHAPE: Shape = Shape {
    pointers: [0; GROUPS],
    rows: 0,
    writable: false,
    least: 0,
    greatest: 0,
    region: 0,
    host: 0,
    known: Known::NONE,
};

/// The shapes of a fragment.
pub(crate) struct Shapes {
    /// Whether the program and the processor allow direct accesses.
    allowed: bool,
    /// Whether accesses are recorded.
    pub(super) recorded: bool,
    /// The slots whose shapes are those of their registers, as bits.
    held: u32,
    pub(super) slots: [Shape; 16],
    /// The pointer of the first lane in the last direct access of global memory by each instruction.
    last: Vec<u64>,
}

impl Shapes {
    pub(super) fn new(recorded: bool, allowed: bool, instructions: usize) -> Shapes {
        let allowed = allowed && processor::wide();
        Shapes { allowed, recorded, held: 0, slots: [NO_SHAPE; 16], last: vec![0; instructions] }
    }

    /// Forbids direct accesses from now on.
    pub(super) fn forbid(&mut self) {
        (self.allowed, self.held) = (false, 0);
    }

    /// Forgets the shapes, because another fragment runs.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.held = 0;
    }
}

/// Loads an element for each lane. Returns `false` if the access has to take the general way.
///
/// # Safety
/// As for an instruction `ld` that `memory::load` executes with these types.
#[inline(always)]
pub(super) unsafe fn load<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    // SAFETY: this function's contract; the processor has the features if direct accesses are allowed.
    is_possible(machine) && unsafe { load_groups::<M, S>(machine, instruction) }
}

/// Stores an element of each lane. Returns `false` if the access has to take the general way.
///
/// # Safety
/// As for an instruction `st` that `memory::store` executes with these types.
#[inline(always)]
pub(super) unsafe fn store<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    // SAFETY: as for `load`.
    is_possible(machine) && unsafe { store_groups::<M, S>(machine, instruction) }
}

/// Whether a direct access is possible for the running instruction.
#[inline(always)]
pub(super) fn is_possible(machine: &mut Machine<'_>) -> bool {
    let is_possible = machine.mask == u32::MAX
        && machine.shapes.allowed
        && !machine.polls.live
        && (!machine.shapes.recorded || machine.records_directly());
    if !is_possible {
        // The register of a shape may have changed in some lanes. Accesses that share the shape of this one must not find an earlier one in
        // its slot.
        machine.shapes.forget();
    }
    is_possible
}

#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn load_groups<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    // SAFETY: this function's contract. The groups are valid for the elements of their lanes. A register has 32 slots.
    unsafe {
        let target = machine.slots::<S>(instruction.d);
        machine.warp.time_reads.count = 0;
        if !finds_shape(machine, instruction, size_of::<M>() as u64, false)
            || machine.shapes.recorded && !machine.record_read(instruction, machine.pc - 1, size_of::<M>() as u32)
        {
            return false;
        }
        let shape = &machine.shapes.slots[slot(instruction.c)];
        for (index, pointer) in shape.pointers.iter().enumerate() {
            let pointer = pointer.wrapping_add(instruction.imm as u64) as *mut u8;
            let (source, target) = (pointer, target.add(index * GROUP));
            if shape.rows >> index & 1 == 0 {
                target.cast::<[S; GROUP]>().write([S::of(M::get(source)); GROUP]);
            } else if size_of::<M>() == size_of::<S>() {
                for at in (0..GROUP * size_of::<S>()).step_by(32) {
                    _mm256_storeu_si256(target.byte_add(at).cast(), read(source.add(at)));
                }
            } else {
                for lane in 0..GROUP {
                    target.add(lane).write(S::of(M::get(source.add(lane * size_of::<M>()))));
                }
            }
        }
    }
    true
}

#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn store_groups<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    // SAFETY: as above, and the memory is writable.
    unsafe {
        let source = machine.slots::<S>(instruction.b);
        if !finds_shape(machine, instruction, size_of::<M>() as u64, true)
            || machine.shapes.recorded
                && !machine.record_write(instruction, size_of::<M>() as u32, || digests::<M, S>(source))
        {
            return false;
        }
        machine.block.changes += 1;
        let shape = &machine.shapes.slots[slot(instruction.c)];
        for (index, pointer) in shape.pointers.iter().enumerate() {
            let pointer = pointer.wrapping_add(instruction.imm as u64) as *mut u8;
            let (target, source) = (pointer, source.add(index * GROUP));
            if shape.rows >> index & 1 == 0 {
                // Of several stores to one address, that of the last lane remains.
                M::set(target, source.add(GROUP - 1).read().value());
            } else if size_of::<M>() == size_of::<S>() {
                for at in (0..GROUP * size_of::<S>()).step_by(32) {
                    write(target.add(at), _mm256_loadu_si256(source.byte_add(at).cast()));
                }
            } else {
                for lane in 0..GROUP {
                    M::set(target.add(lane * size_of::<M>()), source.add(lane).read().value());
                }
            }
        }
    }
    true
}

/// Whether the slot of the instruction has the shape of the addresses, and the memory at the offset of the instruction may be
/// accessed.
///
/// # Safety
/// `instruction.a` is a register or constant with addresses, of the width that `instruction.c` states.
#[inline(always)]
pub(super) unsafe fn finds_shape(machine: &mut Machine<'_>, instruction: &Instruction, size: u64, write: bool) -> bool {
    let (mode, offset) = (instruction.c, instruction.imm);
    let held = is_kept(mode) && machine.shapes.held >> slot(mode) & 1 == 1;
    // SAFETY: this function's contract; direct accesses are only allowed if the processor has the features.
    if !held && !unsafe { observe(machine, instruction, size) } {
        return false;
    }
    let shape = &machine.shapes.slots[slot(mode)];
    let inside = shape.least <= offset && offset <= shape.greatest && offset as u64 & (size - 1) == 0;
    inside && (shape.writable || !write)
}

/// Finds the shape of the addresses in `instruction.a`, in the memory at the offset of the instruction. Returns `false` if the
/// addresses of a group are neither consecutive nor equal, or not all in one memory.
///
/// # Safety
/// As for [`finds_shape`].
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn observe(machine: &mut Machine<'_>, instruction: &Instruction, size: u64) -> bool {
    let (mode, slot) = (instruction.c, slot(instruction.c));
    machine.shapes.held &= !(1 << slot);
    // SAFETY: this function's contract. A register has 32 slots.
    let groups = unsafe {
        if let Some(linear) = machine.linear_address(instruction) {
            linear.groups(size)
        } else if is_wide(mode) {
            groups64(machine.slots(instruction.a), size)
        } else {
            groups32(machine.slots(instruction.a), size)
        }
    };
    let Some((firsts, rows)) = groups.filter(|_| mode & STRONG == 0) else { return false };
    let (mut low, mut end, mut any) = (u64::MAX, 0, 0);
    for (index, first) in firsts.iter().enumerate() {
        let span = if rows >> index & 1 == 1 { GROUP as u64 * size } else { size };
        low = low.min(*first);
        end = end.max(first.wrapping_add(span));
        any |= first;
    }
    // In the upper half, the end of a group could wrap. An offset of 32 bits may be written without its sign.
    if any >> 63 != 0 || any & (size - 1) != 0 || !is_wide(mode) && instruction.imm != i64::from(instruction.imm as i32)
    {
        return false;
    }
    let Some(Memory { start, limit, host, writable, region }) = memory(machine, instruction, low, end) else {
        return false;
    };
    let shift = host.wrapping_sub(start);
    // A closure for an array method would be a call.
    let mut pointers = firsts;
    for pointer in &mut pointers {
        *pointer = pointer.wrapping_add(shift);
    }
    if region != SHARED {
        // The next warp mostly accesses memory that is as far away as this one from the last. The processor ignores wrong hints.
        let last = std::mem::replace(&mut machine.shapes.last[machine.pc as usize - 1], pointers[0]);
        let distance = pointers[0].wrapping_sub(last).wrapping_add(instruction.imm as u64);
        for pointer in pointers {
            // The oldest supported Rust has it as an unsafe function.
            #[allow(unused_unsafe)]
            // SAFETY: a hint reads nothing, whatever its address.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(pointer.wrapping_add(distance) as *const i8);
            }
        }
    }
    machine.shapes.slots[slot] = Shape {
        pointers,
        rows,
        writable,
        least: start.wrapping_sub(low) as i64,
        greatest: limit.wrapping_sub(end) as i64,
        region,
        host,
        known: Known::NONE,
    };
    machine.shapes.held |= 1 << slot;
    true
}

/// The shared memory of the block, or a region.
struct Memory {
    /// The addresses of its start and its end.
    start: u64,
    limit: u64,
    /// The host's address of its start.
    host: u64,
    writable: bool,
    /// The index, or [`SHARED`].
    region: u32,
}

/// Finds the memory with all bytes from `low` to `end`, at the offset of the instruction.
fn memory(machine: &mut Machine<'_>, instruction: &Instruction, low: u64, end: u64) -> Option<Memory> {
    let (mode, offset) = (instruction.c, instruction.imm);
    let (low, end) = (low.checked_add_signed(offset)?, end.checked_add_signed(offset)?);
    let start = match (space(mode), low >> 56) {
        (GENERIC | GLOBAL, 0) => {
            let pc = machine.pc as usize - 1;
            let regions = machine.launch.regions;
            let mut index = machine.found[pc] as usize;
            if !regions.get(index).is_some_and(|region| region.start <= low && end <= region.end) {
                index = region::find(regions, low, end)?;
                machine.found[pc] = index as u32;
            }
            let region = &regions[index];
            // Addresses of 32 bits wrap.
            let limit = if is_wide(mode) { region.end } else { region.end.min(1 << 32) };
            let Region { start, host, writable, .. } = *region;
            return (end <= limit).then_some(Memory { start, limit, host, writable, region: index as u32 });
        }
        (GENERIC, 1) => SHARED_WINDOW,
        (access_mode::SHARED, 0) => 0,
        _ => return None,
    };
    let limit = start + machine.block.shared_bytes();
    let host = machine.block.shared_base() as u64;
    (end <= limit).then_some(Memory { start, limit, host, writable: true, region: SHARED })
}

/// Returns the first address of each group, and as bits whether the group's addresses are consecutive. Returns nothing if the
/// addresses of a group are neither consecutive nor equal.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) unsafe fn groups64(slots: *const u64, size: u64) -> Option<([u64; GROUPS], u32)> {
    let steps = size as i64;
    let near = _mm256_setr_epi64x(0, steps, 2 * steps, 3 * steps);
    let far = _mm256_setr_epi64x(4 * steps, 5 * steps, 6 * steps, 7 * steps);
    let (mut firsts, mut rows) = ([0; GROUPS], 0);
    for (index, place) in firsts.iter_mut().enumerate() {
        // SAFETY: a register has 32 slots.
        let (first, low, high) = unsafe {
            let slots = slots.add(index * GROUP);
            (slots.read(), _mm256_loadu_si256(slots.cast()), _mm256_loadu_si256(slots.add(4).cast()))
        };
        let base = _mm256_set1_epi64x(first as i64);
        let (low, high) = (_mm256_sub_epi64(low, base), _mm256_sub_epi64(high, base));
        let stray = _mm256_or_si256(_mm256_xor_si256(low, near), _mm256_xor_si256(high, far));
        let row = _mm256_testz_si256(stray, stray);
        if row == 0 {
            let differ = _mm256_or_si256(low, high);
            if _mm256_testz_si256(differ, differ) == 0 {
                return None;
            }
        }
        *place = first;
        rows |= (row as u32) << index;
    }
    Some((firsts, rows))
}

/// As [`groups64`], for addresses of 32 bits.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn groups32(slots: *const u32, size: u64) -> Option<([u64; GROUPS], u32)> {
    let steps = size as i32;
    let consecutive = _mm256_setr_epi32(0, steps, 2 * steps, 3 * steps, 4 * steps, 5 * steps, 6 * steps, 7 * steps);
    let (mut firsts, mut rows) = ([0; GROUPS], 0);
    for (index, place) in firsts.iter_mut().enumerate() {
        // SAFETY: a register has 32 slots.
        let (first, all) = unsafe {
            let slots = slots.add(index * GROUP);
            (slots.read(), _mm256_loadu_si256(slots.cast()))
        };
        let all = _mm256_sub_epi32(all, _mm256_set1_epi32(first as i32));
        let stray = _mm256_xor_si256(all, consecutive);
        let row = _mm256_testz_si256(stray, stray);
        if row == 0 && _mm256_testz_si256(all, all) == 0 {
            return None;
        }
        *place = first.into();
        rows |= (row as u32) << index;
    }
    Some((firsts, rows))
}

/// Reads 32 bytes that other threads may access.
///
/// # Safety
/// The bytes are readable.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn read(source: *const u8) -> __m256i {
    let value;
    // SAFETY: this function's contract.
    unsafe {
        asm!("vmovdqu {value}, ymmword ptr [{source}]", value = out(ymm_reg) value, source = in(reg) source,
            options(nostack, readonly, preserves_flags));
    }
    value
}

/// Writes 32 bytes that other threads may access.
///
/// # Safety
/// The bytes are writable.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn write(target: *mut u8, value: __m256i) {
    // SAFETY: this function's contract.
    unsafe {
        asm!("vmovdqu ymmword ptr [{target}], {value}", value = in(ymm_reg) value, target = in(reg) target,
            options(nostack, preserves_flags));
    }
}
