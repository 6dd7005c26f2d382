//! Loads and stores of 8 and 16 bits, by whole warps whose addresses are linear. A register of 32 bits has the value.

use super::access::{CHANGES, Groups, has_site};
use super::cache::{Emitted, X, Y};
use super::emitter::Emitter;
use super::journal::Journaled;
use super::value::Kind;
use super::written::Pattern;
use crate::machine::access_mode::{SHARED, is_wide, space};
use crate::machine::program::Instruction;
use crate::machine::template::Narrow;
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
        let (Some(offset), Kind::Linear(steps)) = (offset, self.known.kind(&self.kinds, a)) else { return Ok(false) };
        if !self.known.whole && (stores || !self.masks()) {
            return Ok(false);
        }
        let groups = Groups::of(steps, size.into()).filter(|groups| groups.rows || !stores);
        let Some(groups) = groups else { return Ok(false) };
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
