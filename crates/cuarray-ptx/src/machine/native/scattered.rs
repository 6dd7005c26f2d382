//! Loads and stores whose addresses are in a row, or that not all lanes execute.
//!
//! All addresses are compared with the memory that the access last found, its site. Then the lanes' elements are gathered by vector
//! instructions, or stored one after the other, so that of several stores to one address that of the last lane remains. The journal gets the
//! addresses.

use super::access::JOURNAL_NEXT;
use super::cache::{Emitted, Held, X, Y, distance};
use super::context::{LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES, SHARED as SHARED_BASE, SHARED_BYTES, SITE};
use super::emitter::{ACTIVE, Emitter};
use super::journal::{Addresses, Entry, Journaled};
use super::rows::all;
use super::value::Kind;
use super::written::Pattern;
use crate::machine::access_mode::{SHARED, is_wide, space};
use crate::machine::pattern::Chains;
use crate::machine::program::{CONSTANT, Instruction};
use crate::machine::template::Template;
use crate::races::cell;
use iced_x86::code_asm::*;
use iced_x86::{Code, MemoryOperand, Register};

/// An access: its operands, and where its memory is.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub address: u32,
    /// Whether addresses have 64 bits.
    pub far: bool,
    pub offset: i32,
    /// Whether its memory is the shared memory of the block, without a site.
    pub shared: bool,
    pub site: i32,
    pub size: i32,
}

impl Emitter<'_> {
    /// Emits a load or store of any addresses, with an offset that is a multiple of the element's size.
    pub(super) fn scattered(&mut self, pc: u32, offset: i32) -> Emitted<bool> {
        let program = self.known.program;
        let (Instruction { d, a, b, c: mode, .. }, pattern) =
            (program.code[pc as usize], program.patterns[pc as usize]);
        let (wide, stores) = (pattern.wide, pattern.template == Some(Template::Store));
        let site = self.new_site();
        let is_shared = space(mode) == SHARED;
        let access = Access {
            address: a,
            far: is_wide(mode),
            offset,
            shared: is_shared && !self.known.recorded,
            site: site as i32 * SITE,
            size: if wide { 8 } else { 4 },
        };
        let live = self.live.clone();
        // In a tile with gaps, all addresses follow from the lowest one, whose access may be in the table of written ones.
        let distances = if is_shared && self.known.recorded { self.distances(access) } else { None };
        let missed = match distances {
            Some(distances) => {
                let address = self.repeated(a, access.far)?;
                let low = distances.iter().min().copied().unwrap_or(0);
                let span = distances.iter().max().map_or(0, |high| high - low) + i64::from(access.size);
                let (Ok(span), Some(first)) = (i32::try_from(span), offset.checked_add(low as i32)) else {
                    return Ok(false);
                };
                let mut missed = self.missing(pc, (site, span as u64), &live);
                let pattern = Pattern::of_lanes(&distances, low, access.size as u64, stores);
                self.check_address((address, access.far, first, span), true, &mut missed, pattern)?;
                missed
            }
            None => {
                let compared = self.compare_addresses(access)?;
                let missed = self.missing(pc, (site, access.size as u64), &live);
                self.check_compared(access, compared, missed.at)?;
                missed
            }
        };
        self.cache.unlock();
        if self.known.recorded {
            self.copy_to_journal(access, stores.then_some((b, wide)))?;
            let kind = if stores { cell::Kind::Write } else { cell::Kind::Read };
            self.journal_addresses(pc, access, kind, site)?;
        }
        if is_shared {
            self.asm.mov(rax, qword_ptr(r12 + SHARED_BASE))?;
        } else {
            self.asm.mov(rax, qword_ptr(r13 + (access.site + 16)))?;
        }
        if stores {
            self.store_lanes(access, b, wide)?;
        } else {
            for part in 0..if wide { 8 } else { 4 } {
                self.cache.unlock();
                let at = if wide { self.gather_wide(access, part)? } else { self.gather(access, part)? };
                self.define(at, d, part, wide);
            }
            self.set_kind(d, Kind::Row);
        }
        self.found(missed)?;
        Ok(true)
    }

    /// The distances of the lanes' elements from the first one, if these are linear, aligned and near, and all lanes take part.
    fn distances(&self, access: Access) -> Option<[i64; 32]> {
        let Kind::Linear(steps) = self.known.kind(&self.kinds, access.address) else { return None };
        let distances: [i64; 32] = std::array::from_fn(|lane| distance(steps, lane));
        let fits = |distance: &i64| distance % i64::from(access.size) == 0 && distance.unsigned_abs() < 1 << 24;
        (self.known.whole && distances.iter().all(fits)).then_some(distances)
    }

    /// Copies the addresses of an access, if they are not linear, and the values that it stores to the next entry of the journal.
    pub(super) fn copy_to_journal(&mut self, access: Access, stored: Option<(u32, bool)>) -> Emitted {
        let is_row = self.known.kind(&self.kinds, access.address) == Kind::Row;
        let listed = is_row.then_some((access.address, access.far));
        let mut place = size_of::<Entry>() as i32;
        for (operand, wide) in [listed, stored].into_iter().flatten() {
            for part in 0..if wide { 8 } else { 4 } {
                self.cache.unlock();
                let at = self.part(operand, part, wide)?;
                self.asm.mov(rcx, qword_ptr(rbx + JOURNAL_NEXT))?;
                self.asm.vmovdqu(ymmword_ptr(rcx + place), Y[at])?;
                place += 32;
            }
        }
        self.cache.unlock();
        Ok(())
    }

    /// Adds the access to the journal, whose addresses and values are there.
    pub(super) fn journal_addresses(&mut self, pc: u32, access: Access, kind: cell::Kind, site: u32) -> Emitted {
        let addresses = match self.known.kind(&self.kinds, access.address) {
            Kind::Linear(steps) => {
                let distances = std::array::from_fn(|lane| distance(steps, lane));
                // The chains are those of any first address from which the lanes do not wrap.
                let base = distances.iter().min().copied().unwrap_or(0).unsigned_abs();
                let chains = Chains::of_any(&distances.map(|far| base.wrapping_add_signed(far)), access.size as u32);
                let at = self.repeated(access.address, access.far)?;
                if access.far {
                    self.asm.vmovq(rax, X[at])?
                } else {
                    self.asm.vmovd(eax, X[at])?
                }
                self.cache.unlock();
                Addresses::Linear { distances: Box::new(distances), chains }
            }
            Kind::Row => Addresses::Listed { far: access.far },
        };
        let access = Journaled::scattered(access.size as u32, kind, addresses, (pc, access.offset));
        self.add_to_journal(access, site, &[])
    }

    /// Leaves the lanes that do not take part out of a part of a row, if there may be any.
    fn leave_out(&mut self, at: AsmRegisterYmm, part: u8, wide: bool) -> Emitted {
        if self.known.whole {
            return Ok(());
        }
        let lanes = if wide { LEFT_OUT_WIDE_LANES } else { LEFT_OUT_LANES } + 32 * i32::from(part);
        self.asm.vmovdqu(ymm14, ymmword_ptr(r12 + lanes))?;
        self.asm.vpandn(at, ymm14, at)
    }

    /// Goes to a label if a lane is outside of the memory, or not aligned. The registers are those of [`Emitter::compare_addresses`].
    pub(super) fn check_compared(&mut self, access: Access, [sign, low]: [usize; 2], missed: CodeLabel) -> Emitted {
        self.asm.vmovmskps(eax, Y[sign])?;
        self.asm.test(eax, eax)?;
        self.asm.jne(missed)?;
        let bits = self.pooled(all(access.size as u64 - 1, access.far));
        self.asm.vptest(Y[low], ymmword_ptr(bits))?;
        self.asm.jne(missed)
    }

    /// Compares the addresses with the memory. Returns the vector registers with a highest bit for each lane outside of it, and with all
    /// bits of the addresses. A highest bit in the lower half of a lane of 64 bits is cleared.
    pub(super) fn compare_addresses(&mut self, access: Access) -> Emitted<[usize; 2]> {
        let Access { address, far, offset, shared, site, size } = access;
        let (start, room) = (self.take()?, self.take()?);
        let (sign, low) = (self.take()?, self.take()?);
        // The distance of an address from the start must not exceed the room.
        if shared {
            self.asm.mov(rcx, qword_ptr(r12 + SHARED_BYTES))?;
            self.asm.xor(eax, eax)?;
            self.asm.sub(rcx, size)?;
        } else {
            self.asm.mov(rax, qword_ptr(r13 + site))?;
            self.asm.mov(rcx, qword_ptr(r13 + (site + 8)))?;
            self.asm.dec(rcx)?;
        }
        self.asm.sub(rax, offset)?;
        for (at, from) in [(start, rax), (room, rcx)] {
            self.asm.vmovq(X[at], from)?;
            if far { self.asm.vpbroadcastq(Y[at], X[at])? } else { self.asm.vpbroadcastd(Y[at], X[at])? }
        }
        self.asm.vpxor(Y[sign], Y[sign], Y[sign])?;
        self.asm.vpxor(Y[low], Y[low], Y[low])?;
        for part in 0..if far { 8 } else { 4 } {
            let at = self.part(address, part, far)?;
            self.asm.vmovdqa(ymm15, Y[at])?;
            self.leave_out(ymm15, part, far)?;
            self.asm.vpor(Y[low], Y[low], ymm15)?;
            // A negative distance, or a negative rest, has the highest bit.
            if far {
                self.asm.vpsubq(ymm15, Y[at], Y[start])?;
                self.asm.vpsubq(ymm14, Y[room], ymm15)?;
            } else {
                self.asm.vpsubd(ymm15, Y[at], Y[start])?;
                self.asm.vpsubd(ymm14, Y[room], ymm15)?;
            }
            self.asm.vpor(ymm15, ymm15, ymm14)?;
            self.leave_out(ymm15, part, far)?;
            self.asm.vpor(Y[sign], Y[sign], ymm15)?;
            self.cache.unlock();
            [start, room, sign, low].into_iter().for_each(|at| self.cache.lock(at));
        }
        if far {
            self.asm.vpsrad(Y[sign], Y[sign], 31)?;
            self.asm.vpshufd(Y[sign], Y[sign], 0xf5)?;
        }
        Ok([sign, low])
    }

    /// The lanes of a part that take part, in the second last vector register.
    fn taking(&mut self, part: u8, wide: bool) -> Emitted {
        self.asm.vpcmpeqd(ymm14, ymm14, ymm14)?;
        if self.known.whole {
            return Ok(());
        }
        let lanes = if wide { LEFT_OUT_WIDE_LANES } else { LEFT_OUT_LANES } + 32 * i32::from(part);
        self.asm.vpxor(ymm14, ymm14, ymmword_ptr(r12 + lanes))
    }

    /// Emits an instruction that gathers elements at `rax`, an index and an offset, in the lanes of a mask.
    fn emit_gather(&mut self, code: Code, d: Register, (index, offset): (Register, i32), mask: Register) -> Emitted {
        let place = MemoryOperand::new(Register::RAX, index, 1, offset.into(), 1, false, Register::None);
        self.asm.add_instruction(iced_x86::Instruction::with3(code, d, place, mask)?)
    }

    /// Gathers eight elements of 32 bits. Each lane is its own access.
    fn gather(&mut self, access: Access, part: u8) -> Emitted<usize> {
        let Access { address, far, offset, .. } = access;
        let d = self.take()?;
        if !far {
            let at = self.part(address, part, false)?;
            let offset = self.pooled([offset as u32; 8]);
            self.asm.vpaddd(ymm15, Y[at], ymmword_ptr(offset))?;
            self.taking(part, false)?;
            self.asm.vpxor(Y[d], Y[d], Y[d])?;
            self.emit_gather(Code::VEX_Vpgatherdd_ymm_vm32y_ymm, Y[d].into(), (ymm15.into(), 0), ymm14.into())?;
            return Ok(d);
        }
        let (low, high) = (self.part(address, 2 * part, true)?, self.part(address, 2 * part + 1, true)?);
        self.taking(part, false)?;
        self.asm.vpxor(Y[d], Y[d], Y[d])?;
        self.asm.vpxor(ymm15, ymm15, ymm15)?;
        self.emit_gather(Code::VEX_Vpgatherqd_xmm_vm64y_xmm, X[d].into(), (Y[low].into(), offset), xmm14.into())?;
        self.taking(part, false)?;
        self.asm.vextracti128(xmm14, ymm14, 1)?;
        self.emit_gather(Code::VEX_Vpgatherqd_xmm_vm64y_xmm, xmm15.into(), (Y[high].into(), offset), xmm14.into())?;
        self.asm.vinserti128(Y[d], Y[d], xmm15, 1)?;
        Ok(d)
    }

    /// Gathers four elements of 64 bits.
    fn gather_wide(&mut self, access: Access, part: u8) -> Emitted<usize> {
        let Access { address, far, offset, .. } = access;
        let d = self.take()?;
        if far {
            let at = self.part(address, part, true)?;
            self.taking(part, true)?;
            self.asm.vpxor(Y[d], Y[d], Y[d])?;
            self.emit_gather(Code::VEX_Vpgatherqq_ymm_vm64y_ymm, Y[d].into(), (Y[at].into(), offset), ymm14.into())?;
            return Ok(d);
        }
        let at = self.part(address, part / 2, false)?;
        let offset = self.pooled([offset as u32; 8]);
        self.asm.vpaddd(ymm15, Y[at], ymmword_ptr(offset))?;
        if part % 2 == 1 {
            self.asm.vextracti128(xmm15, ymm15, 1)?;
        }
        self.taking(part, true)?;
        self.asm.vpxor(Y[d], Y[d], Y[d])?;
        self.emit_gather(Code::VEX_Vpgatherdq_ymm_vm32x_ymm, Y[d].into(), (xmm15.into(), 0), ymm14.into())?;
        Ok(d)
    }

    /// Brings the row of an operand to the frame, and returns its register and offset.
    pub(super) fn row_in_memory(&mut self, operand: u32, wide: bool) -> Emitted<(AsmRegister64, i32)> {
        let at = (operand & !CONSTANT) as i32;
        if operand & CONSTANT != 0 {
            return Ok((r14, at));
        }
        if self.known.kind(&self.kinds, operand) != Kind::Row {
            self.write_row(operand, wide)?;
            return Ok((r15, at));
        }
        for register in 0..self.cache.held.len() {
            if let Some(held) = self.cache.held[register].filter(|held| held.operand == operand && held.dirty) {
                self.write_back(register, held)?;
                self.cache.held[register] = Some(Held { dirty: false, noisy: false, ..held });
            }
        }
        Ok((r15, at))
    }

    /// Emits `f` for each lane that takes part, in their order, with the number of the lane in `ecx` and the offset of its element in `rsi`.
    pub(super) fn each_lane(&mut self, access: Access, f: impl FnOnce(&mut Self) -> Emitted) -> Emitted {
        let Access { address, far, offset, .. } = access;
        let (addresses, from) = self.row_in_memory(address, far)?;
        let again = self.asm.create_label();
        self.asm.mov(edx, dword_ptr(rbx + ACTIVE))?;
        self.set(again)?;
        self.asm.tzcnt(ecx, edx)?;
        if far {
            self.asm.mov(rsi, qword_ptr(addresses + rcx * 8 + from))?;
            self.asm.add(rsi, offset)?;
        } else {
            self.asm.mov(esi, dword_ptr(addresses + rcx * 4 + from))?;
            self.asm.add(esi, offset)?;
        }
        f(self)?;
        self.asm.blsr(edx, edx)?;
        self.asm.jne(again)
    }

    /// Stores the elements of the lanes that take part, in their order. `rax` is the base.
    fn store_lanes(&mut self, access: Access, b: u32, wide: bool) -> Emitted {
        let (values, source) = self.row_in_memory(b, wide)?;
        self.each_lane(access, |emitter| {
            if wide {
                emitter.asm.mov(r8, qword_ptr(values + rcx * 8 + source))?;
                emitter.asm.mov(qword_ptr(rax + rsi), r8)
            } else {
                emitter.asm.mov(r8d, dword_ptr(values + rcx * 4 + source))?;
                emitter.asm.mov(dword_ptr(rax + rsi), r8d)
            }
        })?;
        self.asm.inc(qword_ptr(rbx + super::access::CHANGES))
    }
}
