//! Atomic operations on words of the block's shared memory, lane by lane in the order of the lanes.
//!
//! All addresses are compared with the memory first, as those of a scattered access. No other core accesses the memory, so each lane reads and
//! writes its word. An operation that changes nothing may be a poll: its function executes it again, with the same results.

use super::access::{CHANGES, is_inline_update};
use super::cache::Emitted;
use super::context::{SHARED as SHARED_BASE, SITE};
use super::emitter::Emitter;
use super::scattered::Access;
use crate::machine::Machine;
use crate::machine::access_mode::is_wide;
use crate::machine::program::{Instruction, LEFT_OUT};
use crate::machine::template::Update;
use crate::machine::warp::Warp;
use crate::races::cell;
use iced_x86::code_asm::*;
use std::mem::offset_of;

const WARP: i32 = offset_of!(Machine<'static>, warp) as i32;
const ARMED: i32 = offset_of!(Warp, poll.armed) as i32;

/// The lanes of a whole warp whose code is repeated.
const AT_ONCE: i32 = 8;

/// The words of the lanes, and what is done with them.
struct Words {
    update: Update,
    wide: bool,
    access: Access,
    /// The rows of the addresses and of the values: a register with an offset.
    addresses: AsmRegister64,
    from: i32,
    values: AsmRegister64,
    source: i32,
    /// The place of the result in the frame, if something reads it.
    result: Option<i32>,
    /// Whether the operation changes memory whatever it finds.
    changes: bool,
}

impl Emitter<'_> {
    /// Emits an atomic operation that is a separate block, whose operands are in the frame, or linear. Returns the label at which the function of
    /// the instruction has to execute it, and the site of its memory. `None` if it always has to.
    pub(super) fn shared_atomic(&mut self, pc: u32) -> Emitted<Option<(CodeLabel, u32)>> {
        let program = self.known.program;
        let Instruction { d, a, b, c: mode, imm, .. } = program.code[pc as usize];
        let Some((update, wide)) = program.patterns[pc as usize].update.filter(|_| is_inline_update(program, pc))
        else {
            return Ok(None);
        };
        if !self.known.makes_access(pc) {
            return Ok(None);
        }
        let (site, missed) = (self.new_site(), self.asm.create_label());
        let access = Access {
            address: a,
            far: is_wide(mode),
            offset: imm as i32,
            shared: !self.known.recorded,
            site: site as i32 * SITE,
            size: if wide { 8 } else { 4 },
        };
        let compared = self.compare_addresses(access)?;
        self.check_compared(access, compared, missed)?;
        self.cache.unlock();
        if self.known.recorded {
            self.copy_to_journal(access, None)?;
        }
        let (addresses, from) = self.row_in_memory(a, access.far)?;
        let (values, source) = self.row_in_memory(b, wide)?;
        self.guard = super::flow::guard(program, pc);
        self.asm.mov(rax, qword_ptr(r12 + SHARED_BASE))?;
        self.lanes_in(edx)?;
        if self.guard.is_some() {
            self.asm.test(edx, edx)?;
            self.asm.je(missed)?;
        }
        // Only numbers that are known are known to change memory.
        let changes = matches!(update, Update::Add | Update::Xor)
            && self.known.number(b).is_some_and(|number| if wide { number != 0 } else { number as u32 != 0 });
        let is_read = d != LEFT_OUT && self.known.flow.register(d).is_some_and(|d| self.live_behind.has(d));
        let result = is_read.then_some(d as i32);
        let words = Words { update, wide, access, addresses, from, values, source, result, changes };
        let again = self.asm.create_label();
        self.asm.xor(edi, edi)?;
        if self.known.whole && self.guard.is_none() {
            self.asm.xor(ecx, ecx)?;
            self.set(again)?;
            (0..AT_ONCE).try_for_each(|lane| self.word(&words, lane))?;
            self.asm.add(ecx, AT_ONCE)?;
            self.asm.cmp(ecx, 32)?;
        } else {
            self.set(again)?;
            self.asm.tzcnt(ecx, edx)?;
            self.word(&words, 0)?;
            self.asm.blsr(edx, edx)?;
        }
        self.asm.jne(again)?;
        if !changes {
            self.asm.test(rdi, rdi)?;
            self.asm.je(missed)?;
        }
        self.asm.inc(qword_ptr(rbx + CHANGES))?;
        self.asm.mov(rcx, qword_ptr(rbx + WARP))?;
        self.asm.mov(byte_ptr(rcx + ARMED), 0)?;
        if self.known.recorded {
            self.journal_addresses(pc, access, cell::Kind::Atomic, site)?;
        }
        self.count_guarded()?;
        self.guard = None;
        self.cache.clear();
        Ok(Some((missed, site)))
    }

    /// Updates the word of the lane `ecx`, or of one behind it. The bits of `rdi` tell whether a word has changed.
    fn word(&mut self, words: &Words, behind: i32) -> Emitted {
        let Words { update, wide, access, addresses, from, values, source, result, changes } = *words;
        let place = if access.far {
            self.asm.mov(rsi, qword_ptr(addresses + rcx * 8 + (from + 8 * behind)))?;
            rax + rsi + access.offset
        } else {
            self.asm.mov(esi, dword_ptr(addresses + rcx * 4 + (from + 4 * behind)))?;
            if access.offset != 0 {
                self.asm.add(esi, access.offset)?;
            }
            rax + rsi
        };
        let (value, result) = (
            values + rcx * access.size + (source + access.size * behind),
            result.map(|d| r15 + rcx * access.size + (d + access.size * behind)),
        );
        let (place, value, result) = match wide {
            true => (qword_ptr(place), qword_ptr(value), result.map(qword_ptr)),
            false => (dword_ptr(place), dword_ptr(value), result.map(dword_ptr)),
        };
        if wide {
            self.asm.mov(r8, value)?
        } else {
            self.asm.mov(r8d, value)?
        }
        if !changes && matches!(update, Update::Add | Update::Xor) {
            self.asm.or(rdi, r8)?;
        }
        if result.is_none() {
            // One instruction reads and writes the word.
            match (update, wide) {
                (Update::Add, true) => return self.asm.add(place, r8),
                (Update::Add, false) => return self.asm.add(place, r8d),
                (Update::Xor, true) => return self.asm.xor(place, r8),
                (Update::Xor, false) => return self.asm.xor(place, r8d),
                _ => {}
            }
        }
        if wide {
            self.asm.mov(r9, place)?
        } else {
            self.asm.mov(r9d, place)?
        }
        self.combine(update, wide)?;
        if wide {
            self.asm.mov(place, r8)?
        } else {
            self.asm.mov(place, r8d)?
        }
        if let Some(result) = result {
            if wide { self.asm.mov(result, r9)? } else { self.asm.mov(result, r9d)? }
        }
        if !matches!(update, Update::Add | Update::Xor) {
            self.asm.xor(r8, r9)?;
            self.asm.or(rdi, r8)?;
        }
        Ok(())
    }

    /// Combines the old word in `r9` with the value in `r8`, and leaves the new word there.
    fn combine(&mut self, update: Update, wide: bool) -> Emitted {
        let asm = &mut self.asm;
        match update {
            Update::Exchange => Ok(()),
            Update::Add => asm.add(r8, r9),
            Update::And => asm.and(r8, r9),
            Update::Or => asm.or(r8, r9),
            Update::Xor => asm.xor(r8, r9),
            Update::Minimum { signed } | Update::Maximum { signed } => {
                if wide {
                    asm.cmp(r9, r8)?
                } else {
                    asm.cmp(r9d, r8d)?
                }
                match (matches!(update, Update::Minimum { .. }), signed) {
                    (true, false) => asm.cmovb(r8, r9),
                    (true, true) => asm.cmovl(r8, r9),
                    (false, false) => asm.cmova(r8, r9),
                    (false, true) => asm.cmovg(r8, r9),
                }
            }
            Update::FloatAdd if wide => {
                asm.vmovq(xmm13, r9)?;
                asm.vmovq(xmm14, r8)?;
                asm.vaddsd(xmm13, xmm13, xmm14)?;
                self.quiet(13, true)?;
                self.asm.vmovq(r8, xmm13)
            }
            Update::FloatAdd => {
                asm.vmovd(xmm13, r9d)?;
                asm.vmovd(xmm14, r8d)?;
                asm.vaddss(xmm13, xmm13, xmm14)?;
                self.quiet(13, false)?;
                self.asm.vmovd(r8d, xmm13)
            }
        }
    }
}
