//! Loads and stores of whole warps, whose addresses are linear.
//!
//! The addresses of eight lanes have to be consecutive or equal, as for `direct`. The code compares the lowest address with the memory that
//! the access last found, its *site*. Otherwise the function of the instruction executes the access, and the site is set for the next time.

use super::cache::{Cache, Emitted, Held, REPEATED, X, Y};
use super::context::{
    GENERATION, LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES, POINTER, SHARED as SHARED_BASE, SHARED_BYTES, SITE, Site,
};
use super::emitter::{ACTIVE, Emitter, Stub};
use super::flow::Set;
use super::journal::{Entry, Journal, Journaled};
use super::value::{EQUAL, Kind, Steps};
use super::written::{APART, MOST_SITES, OFFSETS, PLACES, Pattern};
use crate::machine::Machine;
use crate::machine::access_mode::{GENERIC, GLOBAL, SHARED, STRONG, is_wide, space};
use crate::machine::program::{Instruction, Program};
use crate::machine::template::Template;
use iced_x86::code_asm::*;
use std::mem::offset_of;
use std::sync::Arc;

pub(super) const CHANGES: i32 = offset_of!(Machine<'static>, block.changes) as i32;
pub(super) const JOURNAL_NEXT: i32 = (offset_of!(Machine<'static>, journal) + offset_of!(Journal, next)) as i32;
pub(super) const JOURNAL_LAST: i32 = (offset_of!(Machine<'static>, journal) + offset_of!(Journal, last)) as i32;
const SITE_REGION: i32 = offset_of!(Site, region) as i32;

/// An access whose site has other memory.
pub(super) struct Missed {
    pub at: CodeLabel,
    back: CodeLabel,
    pc: u32,
    site: u32,
    span: u64,
    /// The bytes of an element.
    pub size: u8,
    /// The place of the host's address in the context, if the access is the first of several that are checked together.
    pointer: Option<i32>,
    /// The contents of the vector registers before the access, and behind it.
    before: Cache,
    after: Cache,
    kinds: Vec<Kind>,
    live: Set,
    start: u32,
    waits: Option<Arc<[u32]>>,
    failing: CodeLabel,
    /// Where an access goes on whose memory was found, and whether the table of written accesses may have it.
    found: Option<(CodeLabel, bool)>,
}

/// Whether generated code can access the memory of an instruction itself.
pub(super) fn is_inline(program: &Program, pc: u32) -> bool {
    let mode = program.code[pc as usize].c;
    let template = program.patterns[pc as usize].template;
    matches!(template, Some(Template::Load | Template::Store)) && has_site(mode)
}

/// Whether generated code can execute an atomic operation itself.
pub(super) fn is_inline_update(program: &Program, pc: u32) -> bool {
    let Instruction { d, a, b, c, imm, .. } = program.code[pc as usize];
    let Some((_, wide)) = program.patterns[pc as usize].update else { return false };
    let is_near = i32::try_from(imm).is_ok_and(|offset| offset % if wide { 8 } else { 4 } == 0);
    // An operation that is executed again needs its operands.
    space(c) == SHARED && is_near && d != a && d != b
}

/// Whether a site, or the shared memory, can have the memory of accesses with a mode.
pub(super) fn has_site(mode: u32) -> bool {
    let fits = match space(mode) {
        GENERIC | GLOBAL => is_wide(mode),
        SHARED => true,
        _ => false,
    };
    fits && mode & STRONG == 0
}

/// The shape of the addresses of a warp: for each group of eight lanes, its distance from the first lane.
pub(super) struct Groups {
    pub distances: [i64; 4],
    /// Whether the addresses of a group are consecutive; otherwise they are equal.
    pub rows: bool,
    pub low: i64,
    pub span: u64,
}

impl Groups {
    pub(super) fn of(steps: Steps, size: i64) -> Option<Groups> {
        let [a, b, c, d, e] = steps;
        let rows = match [a, b, c] {
            [0, 0, 0] => false,
            near if near == [size, 2 * size, 4 * size] => true,
            _ => return None,
        };
        let distances = [0, d, e, d.checked_add(e)?];
        let low = *distances.iter().min()?;
        let high = *distances.iter().max()?;
        let span = high.checked_sub(low)?.checked_add(if rows { 8 * size } else { size })?;
        let fits =
            [d, e].iter().all(|step| step % size == 0) && distances.iter().all(|far| i32::try_from(*far).is_ok());
        (fits && i32::try_from(span).is_ok()).then_some(Groups { distances, rows, low, span: span as u64 })
    }
}

impl Emitter<'_> {
    /// Emits a load or store. Returns `false` if the function of the instruction has to execute it.
    pub(super) fn access(&mut self, pc: u32) -> Emitted<bool> {
        if !self.known.makes_access(pc) {
            return Ok(false);
        }
        let program = self.known.program;
        let (Instruction { d, a, b, c: mode, imm, .. }, pattern) =
            (program.code[pc as usize], program.patterns[pc as usize]);
        let (wide, stores) = (pattern.wide, pattern.template == Some(Template::Store));
        let size = if wide { 8 } else { 4 };
        let Some(offset) = i32::try_from(imm).ok().filter(|offset| offset % size as i32 == 0 && is_inline(program, pc))
        else {
            return Ok(false);
        };
        let steps = match self.known.kind(&self.kinds, a) {
            Kind::Linear(steps) if self.known.whole || self.masks() => steps,
            _ => return self.scattered(pc, offset),
        };
        let groups = Groups::of(steps, size).filter(|groups| groups.rows || !stores);
        let Some(groups) = groups else { return self.scattered(pc, offset) };
        let hull = self.hulls.get(pc).copied();
        // The lowest address of the access, or of those that are checked with it, and the bytes from there on.
        let (low, reach) = hull.map_or((offset, 0), |hull| (hull.low, (hull.high - hull.low) as u64));
        let span = groups.span + reach;
        let (Some(first), Ok(_)) = (low.checked_add(groups.low as i32), i32::try_from(span)) else { return Ok(false) };
        let known = hull.and_then(|hull| hull.site);
        let shared = space(mode) == SHARED;
        let parts = if wide { 8 } else { 4 };
        // Values are in registers before the check.
        let mut values = [0; 8];
        let address = if known.is_none() { self.repeated(a, is_wide(mode))? } else { 0 };
        if stores {
            for part in 0..parts {
                values[usize::from(part)] = self.part(b, part, wide)?;
            }
        }
        let live = self.live.clone();
        let site = known.unwrap_or_else(|| self.new_site());
        let mut missed = self.missing(pc, (site, span), &live);
        let pointer = hull.map(|hull| POINTER + 8 * hull.place as i32);
        if let Some(pointer) = pointer.filter(|_| known.is_some()) {
            self.asm.mov(rax, qword_ptr(r12 + pointer))?;
            self.asm.test(rax, rax)?;
            self.asm.je(missed.at)?;
        } else {
            missed.pointer = pointer;
            let offsets = hull.map_or_else(|| vec![0], |_| self.hulls.offsets(program, pc));
            let at_once = hull.is_none() || self.hulls.stores_at_once(program, pc);
            let marks = stores && self.known.whole && at_once;
            let pattern = Pattern::new(&groups, size as u64, offsets, marks);
            self.check_address((address, is_wide(mode), first, span as i32), shared, &mut missed, pattern)?;
            if let Some((pointer, hull)) = pointer.zip(self.hulls.get(pc)) {
                hull.site = Some(site);
                self.asm.mov(qword_ptr(r12 + pointer), rax)?;
            }
        }
        let place = |part: u8| {
            let (group, within) = if wide { (part / 2, i32::from(part % 2) * 32) } else { (part, 0) };
            let distance = (groups.distances[usize::from(group)] - groups.low) as i32 + offset - low;
            distance + if groups.rows { within } else { 0 }
        };
        if stores {
            self.store_parts(&values[..usize::from(parts)], wide, place)?;
        } else if steps == EQUAL && !self.masks() {
            self.load_equal((d, wide), offset - low)?;
        } else {
            self.load_parts(d, (wide, groups.rows), place)?;
        }
        if self.known.recorded {
            let members = match hull.filter(|_| !stores) {
                Some(_) => {
                    let members = self.hulls.journaled(program, pc).into_iter();
                    members.filter(|(member, _)| self.known.makes_access(*member)).collect()
                }
                None => vec![(pc, offset - low)],
            };
            if !members.is_empty() {
                let access = Journaled::new(size as u32, stores, &groups, members);
                self.add_to_journal(access, missed.site, &values[..usize::from(parts)])?;
            }
        }
        self.found(missed)?;
        Ok(true)
    }

    /// Compares the addresses of an access with its memory: `first` is the distance of the lowest one from the first lane's. Leaves the host's address
    /// of it in `rax`.
    pub(super) fn check_address(
        &mut self,
        (address, far, first, span): (usize, bool, i32, i32),
        shared: bool,
        missed: &mut Missed,
        pattern: Pattern,
    ) -> Emitted {
        if far {
            self.asm.vmovq(rax, X[address])?;
            self.asm.add(rax, first)?;
        } else {
            self.asm.vmovd(eax, X[address])?;
            self.asm.add(eax, first)?;
        }
        self.asm.test(al, missed.size as i32 - 1)?;
        self.asm.jne(missed.at)?;
        if shared && !self.known.recorded {
            self.asm.cmp(rax, qword_ptr(r12 + SHARED_BYTES))?;
            self.asm.jae(missed.at)?;
            self.asm.lea(rcx, qword_ptr(rax + span))?;
            self.asm.cmp(rcx, qword_ptr(r12 + SHARED_BYTES))?;
            self.asm.ja(missed.at)?;
            self.asm.add(rax, qword_ptr(r12 + SHARED_BASE))
        } else {
            let site = missed.site as i32 * SITE;
            self.asm.mov(rcx, rax)?;
            self.asm.sub(rcx, qword_ptr(r13 + site))?;
            self.asm.cmp(rcx, qword_ptr(r13 + (site + 8)))?;
            self.asm.jae(missed.at)?;
            self.asm.add(rax, qword_ptr(r13 + (site + 16)))?;
            let listed = shared && missed.site < MOST_SITES;
            if listed {
                self.patterns.insert(missed.site, pattern);
            }
            let found = self.asm.create_label();
            missed.found = Some((found, listed));
            self.set(found)
        }
    }

    /// Adds the access at `rax` to the journal. `values` are the vector registers with what it stores.
    pub(super) fn add_to_journal(&mut self, access: Journaled, site: u32, values: &[usize]) -> Emitted {
        let place = |field: usize| rcx + field as i32;
        self.asm.mov(rcx, qword_ptr(rbx + JOURNAL_NEXT))?;
        self.asm.mov(qword_ptr(place(offset_of!(Entry, host))), rax)?;
        self.asm.mov(dword_ptr(place(offset_of!(Entry, access))), self.journaled.len() as i32)?;
        self.asm.mov(edx, dword_ptr(r13 + (site as i32 * SITE + SITE_REGION)))?;
        self.asm.mov(dword_ptr(place(offset_of!(Entry, region))), edx)?;
        if self.known.whole && self.guard.is_none() {
            self.asm.mov(dword_ptr(place(offset_of!(Entry, lanes))), -1)?;
        } else {
            self.lanes_in(edx)?;
            self.asm.mov(dword_ptr(place(offset_of!(Entry, lanes))), edx)?;
        }
        if access.stores() {
            for (part, value) in values.iter().enumerate() {
                self.asm.vmovdqu(ymmword_ptr(place(size_of::<Entry>() + 32 * part)), Y[*value])?;
            }
        }
        self.asm.add(rcx, (size_of::<Entry>() + access.values()) as i32)?;
        self.asm.mov(qword_ptr(rbx + JOURNAL_NEXT), rcx)?;
        self.journaled.push(access);
        self.asm.cmp(rcx, qword_ptr(rbx + JOURNAL_LAST))?;
        let [at, back] = [self.asm.create_label(), self.asm.create_label()];
        self.asm.ja(at)?;
        self.set(back)?;
        self.stubs.push(Stub::Full { at, back });
        Ok(())
    }

    /// Brings the lanes that execute the instruction to a register.
    pub(super) fn lanes_in(&mut self, to: AsmRegister32) -> Emitted {
        let Some((place, negated)) = self.guard else { return self.asm.mov(to, dword_ptr(rbx + ACTIVE)) };
        self.asm.mov(to, Self::predicate(place))?;
        if negated {
            self.asm.not(to)?;
        }
        self.asm.and(to, dword_ptr(rbx + ACTIVE))
    }

    /// Empties the journal, which is full.
    pub(super) fn full(&mut self, at: CodeLabel, back: CodeLabel) -> Emitted {
        let (save, restore) = (self.save, self.restore);
        self.set(at)?;
        self.asm.call(save)?;
        self.asm.mov(rdi, rbx)?;
        self.asm.mov(rax, super::calls::settle as *const () as u64)?;
        self.asm.vzeroupper()?;
        self.asm.call(rax)?;
        self.asm.call(restore)?;
        self.asm.jmp(back)
    }

    pub(super) fn new_site(&mut self) -> u32 {
        self.sites += 1;
        self.sites - 1
    }

    /// Ends the usual way of an access, where a missed one continues.
    pub(super) fn found(&mut self, missed: Missed) -> Emitted {
        self.set(missed.back)?;
        // A missed access leaves the values that were held before it, and its results.
        let written = self.known.program.operands_of.written(missed.pc as usize);
        for (held, before) in self.cache.held.iter_mut().zip(&missed.before.held) {
            let is_result = |held: Held| written.iter().any(|result| result.place() == held.operand);
            let is_same = |held: Held| before.is_some_and(|before| before.is_same(held));
            *held = held.filter(|held| is_result(*held) || is_same(*held));
        }
        let after = self.cache;
        self.stubs.push(Stub::Access(Box::new(Missed { after, ..missed })));
        Ok(())
    }

    fn load_equal(&mut self, (d, wide): (u32, bool), offset: i32) -> Emitted {
        let at = self.take()?;
        if wide {
            self.asm.vpbroadcastq(Y[at], qword_ptr(rax + offset))?;
        } else {
            self.asm.vpbroadcastd(Y[at], dword_ptr(rax + offset))?;
        }
        self.define(at, d, REPEATED, wide);
        self.set_kind(d, Kind::Linear(EQUAL));
        Ok(())
    }

    fn store_parts(&mut self, values: &[usize], wide: bool, place: impl Fn(u8) -> i32) -> Emitted {
        for (part, value) in (0..).zip(values) {
            let (value, to) = (Y[*value], ymmword_ptr(rax + place(part)));
            if self.masks() {
                // In the lanes that are not left out.
                let lanes = if wide { LEFT_OUT_WIDE_LANES } else { LEFT_OUT_LANES } + 32 * i32::from(part);
                self.asm.vpcmpeqd(ymm15, ymm15, ymm15)?;
                self.asm.vpxor(ymm15, ymm15, ymmword_ptr(r12 + lanes))?;
                if wide { self.asm.vpmaskmovq(to, ymm15, value)? } else { self.asm.vpmaskmovd(to, ymm15, value)? }
            } else {
                self.asm.vmovdqu(to, value)?;
            }
        }
        self.asm.inc(qword_ptr(rbx + CHANGES))
    }

    fn load_parts(&mut self, d: u32, (wide, rows): (bool, bool), place: impl Fn(u8) -> i32) -> Emitted {
        for part in 0..if wide { 8 } else { 4 } {
            let at = self.take()?;
            match (rows, wide) {
                (true, _) => self.asm.vmovdqu(Y[at], ymmword_ptr(rax + place(part)))?,
                (false, true) => self.asm.vpbroadcastq(Y[at], qword_ptr(rax + place(part)))?,
                (false, false) => self.asm.vpbroadcastd(Y[at], dword_ptr(rax + place(part)))?,
            }
            self.define(at, d, part, wide);
        }
        self.set_kind(d, Kind::Row);
        Ok(())
    }

    /// Describes an access that does not find its memory, before the code that changes the cache.
    pub(super) fn missing(&mut self, pc: u32, (site, span): (u32, u64), live: &Set) -> Missed {
        let [at, back] = [self.asm.create_label(), self.asm.create_label()];
        let rest = self.live_if_stopped(pc);
        let failing = self.failing(pc, &rest);
        let (before, kinds, start) = (self.cache, self.kinds.clone(), self.start);
        let size = if self.known.program.patterns[pc as usize].wide { 8 } else { 4 };
        Missed {
            at,
            back,
            pc,
            site,
            span,
            size,
            pointer: None,
            before,
            after: before,
            kinds,
            live: live.clone(),
            start,
            waits: self.waits.clone(),
            failing,
            found: None,
        }
    }

    /// Goes on if the bytes of shared memory are known to be written that an access at the offset `rax` reads or writes.
    fn look_up_written(&mut self, site: u32, written: CodeLabel) -> Emitted {
        let unknown = self.asm.create_label();
        self.asm.cmp(rax, OFFSETS as i32)?;
        self.asm.jae(unknown)?;
        self.asm.mov(ecx, eax)?;
        self.asm.shr(ecx, 2)?;
        self.asm.add(ecx, (site * APART) as i32)?;
        self.asm.and(ecx, PLACES as i32 - 1)?;
        self.asm.mov(rdx, qword_ptr(r12 + GENERATION))?;
        self.asm.or(rdx, (u64::from(site) * OFFSETS) as i32)?;
        self.asm.or(rdx, rax)?;
        self.asm.cmp(rdx, qword_ptr(r13 + rcx * 8 - 8 * PLACES as i32))?;
        self.asm.jne(unknown)?;
        self.asm.add(rax, qword_ptr(r12 + SHARED_BASE))?;
        self.asm.jmp(written)?;
        self.set(unknown)
    }

    /// Looks for the memory of an access whose lowest address is `rax`, and goes on if there is one for its site.
    fn find(&mut self, pc: u32, (site, span): (u32, u64), found: CodeLabel) -> Emitted {
        let (save, restore) = (self.save, self.restore);
        self.asm.call(save)?;
        self.asm.mov(r9, rax)?;
        self.asm.mov(edx, site)?;
        self.asm.mov(ecx, span as u32)?;
        self.asm.mov(r8, r13)?;
        self.emit_call(pc, super::calls::find as *const () as u64)?;
        self.asm.call(restore)?;
        self.asm.test(rax, rax)?;
        self.asm.jne(found)
    }

    /// Executes a missed access by its function.
    pub(super) fn missed(&mut self, missed: Missed) -> Emitted {
        let Missed { at, back, pc, site, span, pointer, before, after, kinds, live, start, waits, failing, .. } =
            missed;
        self.set(at)?;
        if let Some((found, listed)) = missed.found {
            let unknown = self.asm.create_label();
            self.asm.test(al, missed.size as i32 - 1)?;
            self.asm.jne(unknown)?;
            if listed {
                self.look_up_written(site, found)?;
            }
            self.find(pc, (site, span), found)?;
            self.set(unknown)?;
        }
        let (whole, other) = (self.known.whole, std::mem::replace(&mut self.waits, waits));
        self.known.whole &= !self.masks();
        (self.cache, self.kinds, self.start) = (before, kinds, start);
        (self.live, self.live_behind) = (live.clone(), live.clone());
        let save = self.save;
        self.asm.call(save)?;
        self.flush(&live)?;
        self.cache.clear();
        self.write_read_rows(pc)?;
        self.asm.mov(edx, site)?;
        self.asm.mov(ecx, span as u32)?;
        self.asm.mov(r8, r13)?;
        self.emit_call(pc, super::calls::call_access as *const () as u64)?;
        self.asm.test(eax, eax)?;
        self.asm.jne(failing)?;
        if let Some(pointer) = pointer {
            self.asm.mov(qword_ptr(r12 + pointer), 0)?;
        }
        let restore = self.restore;
        self.asm.call(restore)?;
        for (at, (before, after)) in before.held.iter().zip(&after.held).enumerate() {
            if let (Some(before), Some(after)) = (before, after)
                && before.is_same(*after)
                && before.noisy
                && !after.noisy
            {
                self.quiet(at, after.wide)?;
            }
        }
        // Evictions of the usual way have written other values, which is right here too. The loaded values are in the frame.
        for (at, held) in after.held.iter().enumerate() {
            let Some(held) = held else { continue };
            let is_result =
                self.known.program.operands_of.written(pc as usize).iter().any(|d| d.place() == held.operand);
            if !is_result {
                continue;
            }
            match (held.part, held.wide) {
                (REPEATED, true) => self.asm.vpbroadcastq(Y[at], qword_ptr(r15 + held.operand as i32))?,
                (REPEATED, false) => self.asm.vpbroadcastd(Y[at], dword_ptr(r15 + held.operand as i32))?,
                (part, _) => self.asm.vmovdqu(Y[at], Self::row_place(held.operand, part))?,
            }
        }
        (self.known.whole, self.waits) = (whole, other);
        self.asm.jmp(back)
    }
}
