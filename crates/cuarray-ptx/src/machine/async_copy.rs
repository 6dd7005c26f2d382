//! Asynchronous copies into shared memory: `cp.async`.
//!
//! The copies happen at once, which the manual allows. So neither a missing wait nor a race with such a copy is
//! detected.

use super::address_windows::SHARED_WINDOW;
use super::program::LEFT_OUT;
use super::{Flow, Machine};
use crate::machine::program::Instruction;
use std::sync::atomic::{AtomicU8, Ordering};

/// `[b] = [a]`: copies `imm` bytes. Further operands: the offset of `a`; whether the address `b` has 64 bits; its
/// offset; the number of bytes to read, and the predicate of lanes that read nothing, or left out. Unread bytes are
/// zero.
pub(crate) unsafe fn copy(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let extra = |machine: &Machine<'_>, index| machine.extra(instruction, index);
    let (from, to) = (extra(machine, 0) as i32, extra(machine, 2) as i32);
    let (wide, count, ignored) = (extra(machine, 1) == 1, extra(machine, 3), extra(machine, 4));
    let size = instruction.imm as u64;
    // SAFETY: the resolver checked the widths: `a` has 64 bits, `b` as stated by its operand, the count 32.
    let (sources, targets, counts, ignores) = unsafe {
        let sources = machine.slots::<[u64; 32]>(instruction.a).read();
        let targets = match wide {
            true => machine.slots::<[u64; 32]>(instruction.b).read(),
            false => machine.slots::<[u32; 32]>(instruction.b).read().map(u64::from),
        };
        let counts = (count != LEFT_OUT).then(|| machine.slots::<[u32; 32]>(count).read());
        let ignores = if ignored == LEFT_OUT { 0 } else { machine.predicate(ignored) };
        (sources, targets, counts, ignores)
    };
    let mask = machine.mask;
    for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
        let index = lane as usize;
        let source = sources[index].wrapping_add_signed(from.into());
        let target = targets[index].wrapping_add_signed(to.into());
        let read = counts.map_or(size, |counts| u64::from(counts[index]).min(size));
        let read = if ignores >> lane & 1 == 1 { 0 } else { read };
        let mut bytes = [0_u8; 16];
        if read > 0 {
            match machine.locate_lane(lane, source, read, size, false) {
                Ok(pointer) => {
                    for (at, byte) in bytes.iter_mut().enumerate().take(read as usize) {
                        // SAFETY: the pointer is valid for the bytes that are read; other cores use atomic operations
                        // too.
                        *byte = unsafe { AtomicU8::from_ptr(pointer.add(at)) }.load(Ordering::Relaxed);
                    }
                }
                Err(kind) => return machine.fail(kind, lane, source, read as u32, false),
            }
        }
        // An address beyond shared memory must not become an address of another space.
        let generic = if target >> 56 != 0 { u64::MAX } else { SHARED_WINDOW + target };
        match machine.locate_lane(lane, generic, size, size, true) {
            Ok(pointer) => {
                for (at, byte) in bytes.iter().enumerate().take(size as usize) {
                    // SAFETY: the pointer is valid for `size` bytes of the block's shared memory.
                    unsafe { AtomicU8::from_ptr(pointer.add(at)) }.store(*byte, Ordering::Relaxed);
                }
            }
            Err(kind) => return machine.fail(kind, lane, target, size as u32, true),
        }
    }
    Flow::Next
}
