//! Loads and stores of 8 and 16 bits. A register of 32 bits has the value.
//!
//! Addresses that are known to be linear are checked by the lowest one. All others are compared as those of scattered accesses. They are often
//! consecutive nevertheless, which the code finds out by comparing them with the first.

use super::access::{CHANGES, Groups, has_site};
use super::cache::{Emitted, X, Y, offsets};
use super::context::{SHARED as SHARED_BASE, SITE};
use super::emitter::Emitter;
use super::journal::Journaled;
use super::scattered::Access;
use super::value::Kind;
use super::written::Pattern;
use crate::machine::access_mode::{SHARED, is_wide, space};
use crate::machine::program::Instruction;
use crate::machine::template::Narrow;
use crate::races::cell;
use iced_x86::code_asm::*;

impl Emitter<'_> {
    /// Emits a load or store. Returns `false` if the function of the instruction has to execute it.
    pub(super) fn narrow_access(&mut self, pc: u32) -> Emitted<bool> {
        let program = self.known.program;
        let Instruction { d, a, b, c: mode, imm, .. } = program.code[pc as usize];
        let narrow = program.patterns[pc as usize].narrow.filter(|_| self.known.makes_access(pc) && has_site(mode));
        let Some(element) = narrow else { return Ok(false) };
        let Narrow { size, stores, .. } = element;
        let offset = i32::try_from(imm).ok().filter(|offset| offset % i32::from(size) == 0);
        let Some(offset) = offset else { return Ok(false) };
        let groups = match self.known.kind(&self.kinds, a) {
            Kind::Linear(steps) if self.known.whole || !stores && self.masks() => {
                Groups::of(steps, size.into()).filter(|groups| groups.rows || !stores)
            }
            _ => None,
        };
        let Some(groups) = groups else { return self.narrow_scattered(pc, element, offset) };
        let Some(first) = offset.checked_add(groups.low as i32) else { return Ok(false) };
        let far = is_wide(mode);
        let address = self.repeated(a, far)?;
        let mut values = [0; 4];
        if stores {
            for part in 0..4 {
                values[usize::from(part)] = self.part(b, part, false)?;
            }
        }
        let (live, site) = (self.live.clone(), self.new_site());
        let mut missed = self.missing(pc, (site, groups.span), &live);
        missed.size = size;
        let pattern = Pattern::new(&groups, size.into(), vec![0], stores);
        self.check_address((address, far, first, groups.span as i32), space(mode) == SHARED, &mut missed, pattern)?;
        for part in 0..4_u8 {
            let place = (groups.distances[usize::from(part)] - groups.low) as i32;
            if stores {
                self.store_narrow(values[usize::from(part)], place, size)?;
            } else {
                let at = self.take()?;
                self.load_narrow(at, place, element, groups.rows)?;
                self.define(at, d, part, false);
            }
        }
        if stores {
            self.asm.inc(qword_ptr(rbx + CHANGES))?;
        } else {
            self.set_kind(d, Kind::Row);
        }
        if self.known.recorded {
            self.add_to_journal(Journaled::new(size.into(), stores, &groups, vec![(pc, 0)]), site, &values)?;
        }
        self.found(missed)?;
        Ok(true)
    }

    /// Emits a load or store of any addresses.
    fn narrow_scattered(&mut self, pc: u32, element: Narrow, offset: i32) -> Emitted<bool> {
        let Instruction { d, a, b, c: mode, .. } = self.known.program.code[pc as usize];
        let Narrow { size, stores, .. } = element;
        let (site, is_shared) = (self.new_site(), space(mode) == SHARED);
        let access = Access {
            address: a,
            far: is_wide(mode),
            offset,
            shared: is_shared && !self.known.recorded,
            site: site as i32 * SITE,
            size: size.into(),
        };
        let live = self.live.clone();
        let compared = self.compare_addresses(access)?;
        let missed = self.missing(pc, (site, size.into()), &live);
        self.check_compared(access, compared, missed.at)?;
        self.cache.unlock();
        if self.known.recorded {
            self.copy_to_journal(access, stores.then_some((b, false)))?;
            self.journal_addresses(pc, access, if stores { cell::Kind::Write } else { cell::Kind::Read }, site)?;
        }
        if is_shared {
            self.asm.mov(rax, qword_ptr(r12 + SHARED_BASE))?;
        } else {
            self.asm.mov(rax, qword_ptr(r13 + (access.site + 16)))?;
        }
        if stores {
            let values = self.row_in_memory(b, false)?;
            self.narrow_lanes(access, element, values)?;
            self.asm.inc(qword_ptr(rbx + CHANGES))?;
        } else {
            self.load_any(access, element, d)?;
        }
        self.found(missed)?;
        Ok(true)
    }

    /// Loads elements of any addresses from `rax`: eight at once if all are consecutive, and else one for each lane.
    fn load_any(&mut self, access: Access, element: Narrow, d: u32) -> Emitted {
        let Access { address, far, offset, size, .. } = access;
        let parts = [self.take()?, self.take()?, self.take()?, self.take()?];
        let [lanes, done] = [self.asm.create_label(), self.asm.create_label()];
        let compares = self.known.whole && self.known.kind(&self.kinds, address) == Kind::Row;
        if compares {
            let (base, all_equal) = (self.take()?, self.take()?);
            let first = self.part(address, 0, far)?;
            if far {
                self.asm.vpbroadcastq(Y[base], X[first])?
            } else {
                self.asm.vpbroadcastd(Y[base], X[first])?
            }
            self.asm.vpcmpeqd(Y[all_equal], Y[all_equal], Y[all_equal])?;
            for part in 0..if far { 8 } else { 4 } {
                self.cache.unlock();
                parts.into_iter().chain([base, all_equal]).for_each(|at| self.cache.lock(at));
                let at = self.part(address, part, far)?;
                let distances = self.pooled(offsets([1, 2, 4, 8, 16].map(|step| step * i64::from(size)), part, far));
                if far {
                    self.asm.vpaddq(ymm15, Y[base], ymmword_ptr(distances))?;
                    self.asm.vpcmpeqq(ymm15, ymm15, Y[at])?;
                } else {
                    self.asm.vpaddd(ymm15, Y[base], ymmword_ptr(distances))?;
                    self.asm.vpcmpeqd(ymm15, ymm15, Y[at])?;
                }
                self.asm.vpand(Y[all_equal], Y[all_equal], ymm15)?;
            }
            self.asm.vpmovmskb(ecx, Y[all_equal])?;
            self.asm.cmp(ecx, -1)?;
            self.asm.jne(lanes)?;
            if far {
                self.asm.vmovq(rcx, X[base])?
            } else {
                self.asm.vmovd(ecx, X[base])?
            }
            if far {
                self.asm.add(rcx, offset)?
            } else {
                self.asm.add(ecx, offset)?
            }
            self.asm.add(rax, rcx)?;
            for (part, at) in (0..).zip(parts) {
                self.load_narrow(at, 8 * part * size, element, true)?;
            }
            self.asm.jmp(done)?;
            self.set(lanes)?;
        }
        let cache = self.cache;
        self.narrow_lanes(access, element, (r15, d as i32))?;
        for (part, at) in (0..).zip(parts) {
            self.asm.vmovdqu(Y[at], Self::row_place(d, part))?;
        }
        if compares {
            // The other way has not written the addresses to the frame.
            self.cache = cache;
            self.set(done)?;
        }
        for (part, at) in (0..).zip(parts) {
            self.define(at, d, part, false);
        }
        self.set_kind(d, Kind::Row);
        Ok(())
    }

    /// Moves elements between memory at `rax` and a row, for the lanes that take part in their order.
    fn narrow_lanes(&mut self, access: Access, element: Narrow, (row, at): (AsmRegister64, i32)) -> Emitted {
        self.each_lane(access, |emitter| {
            let (asm, value) = (&mut emitter.asm, dword_ptr(row + rcx * 4 + at));
            if element.stores {
                asm.mov(r8d, value)?;
                return match element.size {
                    1 => asm.mov(byte_ptr(rax + rsi), r8b),
                    _ => asm.mov(word_ptr(rax + rsi), r8w),
                };
            }
            match (element.size, element.signed) {
                (1, false) => asm.movzx(r8d, byte_ptr(rax + rsi))?,
                (1, true) => asm.movsx(r8d, byte_ptr(rax + rsi))?,
                (_, false) => asm.movzx(r8d, word_ptr(rax + rsi))?,
                (_, true) => asm.movsx(r8d, word_ptr(rax + rsi))?,
            }
            asm.mov(value, r8d)
        })
    }

    /// Loads eight elements from `rax`, or one for eight lanes.
    fn load_narrow(&mut self, at: usize, place: i32, element: Narrow, rows: bool) -> Emitted {
        let asm = &mut self.asm;
        match (rows, element.size, element.signed) {
            (true, 1, false) => asm.vpmovzxbd(Y[at], qword_ptr(rax + place)),
            (true, 1, true) => asm.vpmovsxbd(Y[at], qword_ptr(rax + place)),
            (true, _, false) => asm.vpmovzxwd(Y[at], xmmword_ptr(rax + place)),
            (true, _, true) => asm.vpmovsxwd(Y[at], xmmword_ptr(rax + place)),
            (false, size, signed) => {
                match (size, signed) {
                    (1, false) => asm.movzx(ecx, byte_ptr(rax + place))?,
                    (1, true) => asm.movsx(ecx, byte_ptr(rax + place))?,
                    (_, false) => asm.movzx(ecx, word_ptr(rax + place))?,
                    (_, true) => asm.movsx(ecx, word_ptr(rax + place))?,
                }
                asm.vmovd(X[at], ecx)?;
                asm.vpbroadcastd(Y[at], X[at])
            }
        }
    }

    /// Stores the lowest bits of eight lanes at `rax`.
    fn store_narrow(&mut self, at: usize, place: i32, size: u8) -> Emitted {
        // The lowest bytes of each half come first.
        let (bytes, words) = ([0x0c08_0400, 0, 0, 0, 0x0c08_0400, 0, 0, 0], [0x0504_0100, 0x0d0c_0908]);
        let words = [words[0], words[1], 0, 0, words[0], words[1], 0, 0];
        let order = self.pooled(if size == 1 { bytes } else { words });
        self.asm.vpshufb(ymm15, Y[at], ymmword_ptr(order))?;
        self.asm.vextracti128(xmm14, ymm15, 1)?;
        if size == 1 {
            self.asm.vpunpckldq(xmm15, xmm15, xmm14)?;
            self.asm.vmovq(qword_ptr(rax + place), xmm15)
        } else {
            self.asm.vpunpcklqdq(xmm15, xmm15, xmm14)?;
            self.asm.vmovdqu(xmmword_ptr(rax + place), xmm15)
        }
    }
}
