//! Loads and stores.
//!
//! An access has two halves. [`Machine::locate`] finds out where each lane's bytes are, whatever the space: it checks bounds and
//! alignment, for a whole warp at once where the addresses allow it, and notes what is touched. Then one loop moves
//! the bytes between pointers and registers. They are moved by relaxed atomic operations, since blocks of a kernel run on
//! several cores and may touch the same memory, as they may on a GPU.
//!
//! Generic addresses: the shared, local and parameter memory of a thread appear at windows that no device or host address
//! can lie in.

use super::lanes::versions;
use super::machine::FaultKind;
use super::region;
use super::{Flow, Machine};
use crate::ptx::program::{Exec, Instruction};
use crate::ptx::types::Space;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Where shared memory begins among generic addresses.
pub(crate) const SHARED_WINDOW: u64 = 0x0100_0000_0000_0000;
/// Where a thread's local memory begins.
pub(crate) const LOCAL_WINDOW: u64 = 0x0200_0000_0000_0000;
/// Where the kernel's parameters begin.
pub(crate) const PARAM_WINDOW: u64 = 0x0300_0000_0000_0000;

/// How an instruction addresses memory, as its operand `c` holds it.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    pub space: Space,
    /// Whether the register of the address has 64 bits.
    pub wide: bool,
    /// How many elements.
    pub count: u32,
    /// Whether it is there to synchronize, and whether it hands on what its thread has done.
    pub strong: bool,
    pub releases: bool,
}

/// In the code of a mode: the access is strong.
pub(crate) const STRONG: u32 = 1 << 16;
/// In the code of a mode: the access releases.
pub(crate) const RELEASES: u32 = 1 << 17;
/// How many elements the code of a mode says.
fn elements(code: u32) -> u32 {
    code >> 4 & 0xf
}

impl Mode {
    /// Of one element, in no particular order.
    pub(crate) fn new(space: Space, wide: bool) -> Mode {
        Mode { space, wide, count: 1, strong: false, releases: false }
    }

    pub(crate) fn code(self) -> u32 {
        let space = match self.space {
            Space::Generic => 0,
            Space::Global | Space::Const => 1,
            Space::Shared => 2,
            Space::Local => 3,
            Space::Param => 4,
        };
        let order = if self.strong { STRONG } else { 0 } | if self.releases { RELEASES } else { 0 };
        space | u32::from(self.wide) << 3 | self.count << 4 | order
    }
}

impl Machine<'_> {
    /// Finds where the lanes' bytes are: [`Machine::pointers`] of the lanes of the mask are good for accesses of `size` bytes.
    ///
    /// # Safety
    /// `instruction.a` is a register or constant with addresses, as `instruction.c` says.
    #[inline]
    pub(crate) unsafe fn locate(&mut self, instruction: &Instruction, size: u32, write: bool) -> Flow {
        let (mode, offset) = (instruction.c, instruction.imm as u64);
        // SAFETY: this function's contract.
        unsafe {
            if mode & 8 != 0 {
                let base = self.slots::<u64>(instruction.a).cast::<[u64; 32]>();
                for lane in 0..32 {
                    self.addresses[lane] = (*base)[lane].wrapping_add(offset);
                }
            } else {
                let base = self.slots::<u32>(instruction.a).cast::<[u32; 32]>();
                for lane in 0..32 {
                    // Addresses of 32 bits wrap at 32 bits.
                    self.addresses[lane] = u64::from((*base)[lane].wrapping_add(offset as u32));
                }
            }
        }
        self.local_lanes = 0;
        match mode & 7 {
            0 => self.locate_generic(size, write),
            1 => self.locate_global(size, write),
            2 => self.locate_shared(size, write),
            3 => self.locate_local(size, write),
            _ => self.locate_each(PARAM_WINDOW, size, write),
        }
    }

    /// The least and greatest address of the lanes, all their bits in one, and all bits that all have.
    #[inline(always)]
    fn hull(&self) -> (u64, u64, u64) {
        let (mut low, mut high, mut any) = (u64::MAX, 0, 0);
        if self.mask == u32::MAX {
            for address in self.addresses {
                low = low.min(address);
                high = high.max(address);
                any |= address;
            }
        } else {
            let mut rest = self.mask;
            while rest != 0 {
                let address = self.addresses[rest.trailing_zeros() as usize];
                low = low.min(address);
                high = high.max(address);
                any |= address;
                rest &= rest - 1;
            }
        }
        (low, high, any)
    }

    #[inline(always)]
    fn locate_generic(&mut self, size: u32, write: bool) -> Flow {
        let (_, high, _) = self.hull();
        if high < SHARED_WINDOW { self.locate_global(size, write) } else { self.locate_each(0, size, write) }
    }

    #[inline(always)]
    fn locate_global(&mut self, size: u32, write: bool) -> Flow {
        let (low, high, any) = self.hull();
        let end = high.wrapping_add(u64::from(size));
        if any & u64::from(size - 1) != 0 || end < low {
            return self.locate_each(0, size, write);
        }
        let pc = self.pc as usize - 1;
        let regions = self.launch.regions;
        let mut index = self.found[pc] as usize;
        let held = |index: usize| regions.get(index).is_some_and(|region| region.start <= low && end <= region.end);
        if !held(index) {
            match region::find(regions, low, end) {
                Some(found) => index = found,
                None => return self.locate_each(0, size, write),
            }
            self.found[pc] = index as u32;
        }
        let region = regions[index];
        if write && !region.writable {
            return self.locate_each(0, size, write);
        }
        let shift = region.host.wrapping_sub(region.start);
        for lane in 0..32 {
            self.pointers[lane] = self.addresses[lane].wrapping_add(shift) as *mut u8;
        }
        if self.recorder.enabled {
            self.note(index, low, end, size, write);
        }
        Flow::Next
    }

    /// Notes an access of the lanes to one region.
    fn note(&mut self, index: usize, low: u64, end: u64, size: u32, write: bool) {
        let start = self.launch.regions[index].start;
        let size = u64::from(size);
        let lanes = u64::from(self.mask.count_ones());
        let first = Self::first(self.mask);
        let dense = end - low == lanes * size
            && (0..32_u32).all(|lane| {
                let rank = u64::from((self.mask & ((1 << lane) - 1)).count_ones());
                self.mask >> lane & 1 == 0 || self.addresses[lane as usize] == low + rank * size
            });
        if dense || end - low == size {
            self.recorder.note(index, low - start, end - low, write);
            return;
        }
        for lane in first..32 {
            if self.mask >> lane & 1 == 1 {
                self.recorder.note(index, self.addresses[lane as usize] - start, size, write);
            }
        }
    }

    #[inline(always)]
    fn locate_shared(&mut self, size: u32, write: bool) -> Flow {
        let (_, high, any) = self.hull();
        let length = self.block.shared_bytes();
        if any & u64::from(size - 1) != 0 || high.saturating_add(u64::from(size)) > length {
            return self.locate_each(SHARED_WINDOW, size, write);
        }
        let base = self.block.shared_base() as u64;
        for lane in 0..32 {
            self.pointers[lane] = base.wrapping_add(self.addresses[lane]) as *mut u8;
        }
        Flow::Next
    }

    #[inline(always)]
    fn locate_local(&mut self, size: u32, write: bool) -> Flow {
        let (_, high, any) = self.hull();
        let length = self.warp.local.len() as u64 / 4;
        if any & u64::from(size - 1) != 0 || high.saturating_add(u64::from(size)) > length {
            return self.locate_each(LOCAL_WINDOW, size, write);
        }
        let base = self.warp.local.as_mut_ptr() as u64;
        for lane in 0..32 {
            let address = self.addresses[lane];
            let place = (address >> 3).wrapping_mul(256).wrapping_add(lane as u64 * 8 + (address & 7));
            self.pointers[lane] = base.wrapping_add(place) as *mut u8;
        }
        self.local_lanes = u32::MAX;
        Flow::Next
    }

    /// Looks at each lane for itself; its addresses are relative to a window.
    #[cold]
    fn locate_each(&mut self, window: u64, size: u32, write: bool) -> Flow {
        for lane in 0..32 {
            if self.mask >> lane & 1 == 0 {
                continue;
            }
            let address = self.addresses[lane as usize];
            // An address of a narrow space that is too great for it must not become one of another space.
            let generic = if window != 0 && address >> 56 != 0 { u64::MAX } else { window.wrapping_add(address) };
            match self.locate_lane(lane, generic, u64::from(size), u64::from(size), write) {
                Ok(pointer) => self.pointers[lane as usize] = pointer,
                Err(kind) => return self.fail(kind, lane, address, size, write),
            }
        }
        Flow::Next
    }

    /// Where a lane's bytes at a generic address are.
    pub(crate) fn locate_lane(
        &mut self,
        lane: u32,
        address: u64,
        size: u64,
        align: u64,
        write: bool,
    ) -> Result<*mut u8, FaultKind> {
        let offset = address & (SHARED_WINDOW - 1);
        let within = |length: u64| offset.checked_add(size).is_some_and(|end| end <= length);
        let inside = match address >> 56 {
            0 => {
                let end = address.checked_add(size).ok_or(FaultKind::IllegalAddress)?;
                let index = region::find(self.launch.regions, address, end).ok_or(FaultKind::IllegalAddress)?;
                let region = self.launch.regions[index];
                if write && !region.writable {
                    return Err(FaultKind::ReadOnly);
                }
                if address & (align - 1) == 0 && self.recorder.enabled {
                    self.recorder.note(index, address - region.start, size, write);
                }
                region.host.wrapping_add(address - region.start)
            }
            1 if within(self.block.shared_bytes()) => self.block.shared_base() as u64 + offset,
            2 if within(self.warp.local.len() as u64 / 4) => {
                self.local_lanes |= 1 << lane;
                self.warp.local.as_mut_ptr() as u64 + (offset >> 3) * 256 + u64::from(lane) * 8 + (offset & 7)
            }
            3 if within(self.launch.parameters.len() as u64 * 8) => {
                if write {
                    return Err(FaultKind::ReadOnly);
                }
                self.launch.parameters.as_ptr() as u64 + offset
            }
            _ => return Err(FaultKind::IllegalAddress),
        };
        if address & (align - 1) == 0 { Ok(inside as *mut u8) } else { Err(FaultKind::Misaligned) }
    }

    /// How far behind the first one an element of a vector is, for a lane.
    #[inline(always)]
    fn element(&self, lane: usize, bytes: u32) -> usize {
        let bytes = bytes as usize;
        if self.local_lanes >> lane & 1 == 1 { (bytes >> 3) * 256 + (bytes & 7) } else { bytes }
    }
}

/// What memory holds: an integer of 8 to 64 bits, signed if registers hold it so.
pub(crate) trait Cell: Copy {
    /// # Safety
    /// The pointer is good for this type and aligned for it.
    unsafe fn get(pointer: *mut u8) -> u64;
    /// # Safety
    /// The pointer is good for this type and aligned for it.
    unsafe fn set(pointer: *mut u8, value: u64);
}

macro_rules! cells {
    ($($ty:ty, $unsigned:ty, $atomic:ty;)*) => {$(
        impl Cell for $ty {
            #[inline(always)]
            unsafe fn get(pointer: *mut u8) -> u64 {
                // SAFETY: this function's contract; others access the memory by atomic operations only, too.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.load(Ordering::Relaxed) as $ty as i64 as u64
            }
            #[inline(always)]
            unsafe fn set(pointer: *mut u8, value: u64) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.store(value as $unsigned, Ordering::Relaxed);
            }
        }
    )*};
}
cells! {
    u8, u8, AtomicU8;
    i8, u8, AtomicU8;
    u16, u16, AtomicU16;
    i16, u16, AtomicU16;
    u32, u32, AtomicU32;
    i32, u32, AtomicU32;
    u64, u64, AtomicU64;
}

/// A slot of a register: 32 or 64 bits.
pub(crate) trait Slot: Copy {
    fn of(value: u64) -> Self;
    fn value(self) -> u64;
}

impl Slot for u32 {
    #[inline(always)]
    fn of(value: u64) -> u32 {
        value as u32
    }
    #[inline(always)]
    fn value(self) -> u64 {
        u64::from(self)
    }
}

impl Slot for u64 {
    #[inline(always)]
    fn of(value: u64) -> u64 {
        value
    }
    #[inline(always)]
    fn value(self) -> u64 {
        self
    }
}

/// What a register's slot leaves in memory.
fn stored_value<M, S: Slot>(slot: S) -> u64 {
    slot.value() & (u64::MAX >> (64 - 8 * size_of::<M>()))
}

#[inline(always)]
unsafe fn load_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver made the operands fit; `locate` made the pointers of the mask's lanes good.
    unsafe {
        if machine.locate(instruction, size_of::<M>() as u32, false) == Flow::Stop {
            return Flow::Stop;
        }
        if machine.races.on {
            machine.watch_read(instruction, size_of::<M>() as u32);
        }
        let target = machine.slots::<S>(instruction.d);
        if machine.mask == u32::MAX {
            for lane in 0..32 {
                target.add(lane).write(S::of(M::get(machine.pointers[lane])));
            }
        } else {
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                target.add(lane).write(S::of(M::get(machine.pointers[lane])));
                rest &= rest - 1;
            }
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn store_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: as above.
    unsafe {
        if machine.locate(instruction, size_of::<M>() as u32, true) == Flow::Stop {
            return Flow::Stop;
        }
        let source = machine.slots::<S>(instruction.b);
        if machine.races.on {
            let value = |lane: usize| stored_value::<M, S>(source.add(lane).read());
            machine.watch_write(instruction, size_of::<M>() as u32, 0, &value);
        }
        if machine.mask == u32::MAX {
            for lane in 0..32 {
                M::set(machine.pointers[lane], source.add(lane).read().value());
            }
        } else {
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                M::set(machine.pointers[lane], source.add(lane).read().value());
                rest &= rest - 1;
            }
        }
    }
    Flow::Next
}

/// An operand of a vector that is left out: `_`.
pub(crate) const LEFT_OUT: u32 = u32::MAX;

#[inline(always)]
unsafe fn load_vector_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (count, bytes) = (elements(instruction.c), size_of::<M>() as u32);
    // SAFETY: as above; the further operands are as many as elements.
    unsafe {
        if machine.locate(instruction, bytes * count, false) == Flow::Stop {
            return Flow::Stop;
        }
        if machine.races.on {
            machine.watch_read(instruction, bytes * count);
        }
        for index in 0..count {
            let operand = machine.extra(instruction, index as usize);
            if operand == LEFT_OUT {
                continue;
            }
            let target = machine.slots::<S>(operand);
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                let pointer = machine.pointers[lane].add(machine.element(lane, index * bytes));
                target.add(lane).write(S::of(M::get(pointer)));
                rest &= rest - 1;
            }
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn store_vector_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (count, bytes) = (elements(instruction.c), size_of::<M>() as u32);
    // SAFETY: as above.
    unsafe {
        if machine.locate(instruction, bytes * count, true) == Flow::Stop {
            return Flow::Stop;
        }
        for index in 0..count {
            let source = machine.slots::<S>(machine.extra(instruction, index as usize));
            if machine.races.on {
                let value = |lane: usize| stored_value::<M, S>(source.add(lane).read());
                machine.watch_write(instruction, bytes, index * bytes, &value);
            }
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                let pointer = machine.pointers[lane].add(machine.element(lane, index * bytes));
                M::set(pointer, source.add(lane).read().value());
                rest &= rest - 1;
            }
        }
    }
    Flow::Next
}

/// A kernel's parameter: the same for all lanes.
#[inline(always)]
unsafe fn parameter_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver has checked that the kernel's parameters reach so far, and the launch that they are all there; they
    // are as aligned as they need to be. The lanes of `write` may be written.
    unsafe {
        let value =
            S::of(M::get(machine.launch.parameters.as_ptr().cast::<u8>().add(instruction.imm as usize).cast_mut()));
        let target = machine.slots::<S>(instruction.d);
        if machine.write == u32::MAX {
            target.cast::<[S; 32]>().write([value; 32]);
        } else {
            for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
                target.add(lane).write(value);
            }
        }
    }
    Flow::Next
}

versions! {
    /// `ld` of one element: `d = [a + imm]`, as `c` says.
    fn load<M: Cell, S: Slot>() = load_body;
}
versions! {
    /// `st` of one element: `[a + imm] = b`, as `c` says.
    fn store<M: Cell, S: Slot>() = store_body;
}
versions! {
    /// `ld.v2` and more: the further operands are the targets.
    fn load_vector<M: Cell, S: Slot>() = load_vector_body;
}
versions! {
    /// `st.v2` and more: the further operands are the sources.
    fn store_vector<M: Cell, S: Slot>() = store_vector_body;
}
versions! {
    /// `ld.param` of a kernel's parameter at the offset `imm`.
    fn load_parameter<M: Cell, S: Slot>() = parameter_body;
}

/// The address of a variable of the function: `d = imm` behind where the frame's local memory begins.
pub(crate) unsafe fn local_address<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let address = S::of(u64::from(machine.local_base) + instruction.imm as u64);
    // SAFETY: `d` is a register of this width.
    unsafe {
        let target = machine.slots::<S>(instruction.d);
        for lane in (0..32).filter(|lane| machine.write >> lane & 1 == 1) {
            target.add(lane).write(address);
        }
    }
    Flow::Next
}
