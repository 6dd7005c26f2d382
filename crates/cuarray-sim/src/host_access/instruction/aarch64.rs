//! Instructions of aarch64, as the section "Loads and Stores" of the Arm Architecture Reference Manual encodes them.

/// An instruction, and the registers before it.
#[derive(Clone, Copy)]
pub(crate) struct Interrupted {
    code: u32,
    /// The general registers, then the stack pointer.
    registers: [u64; 32],
}

/// An access to memory.
struct Access {
    writes: bool,
    size: u64,
    /// The distance from the base register; `None` if the address is not computed here.
    offset: Option<i64>,
}

impl Interrupted {
    #[cfg(target_arch = "aarch64")]
    pub(in super::super) const NOTHING: Interrupted = Interrupted { code: 0, registers: [0; 32] };

    /// The instruction of a signal's context; nothing if it cannot be read, as in a mapping for execution only.
    ///
    /// # Safety
    /// The context is that of a signal handler.
    #[cfg(target_arch = "aarch64")]
    pub(in super::super) unsafe fn of(context: *mut std::ffi::c_void) -> Interrupted {
        // SAFETY: this function's contract.
        let saved = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        let mut registers = [0; 32];
        registers[..31].copy_from_slice(&saved.regs);
        registers[31] = saved.sp;
        if !crate::pages::probe::is_range_readable(saved.pc, 4) {
            return Interrupted::NOTHING;
        }
        // SAFETY: the word was found readable.
        let code = unsafe { (saved.pc as *const u32).read_unaligned() };
        Interrupted { code, registers }
    }

    /// Whether the access is a write; `None` for instructions of unknown kinds.
    pub(in super::super) fn writes(&self) -> Option<bool> {
        /// The instruction that clears a block of memory, with which `memset` does.
        const CLEAR: u32 = 0xd50b_7420;
        let scalable = self.code >> 25 & 0xf == 0b0010 && self.code >> 31 == 1;
        if scalable {
            // The size depends on the processor, and a mask may exclude elements.
            return Some(self.code >> 29 == 0b111);
        }
        if self.code & !0x1f == CLEAR { Some(true) } else { self.access().map(|access| access.writes) }
    }

    /// The bytes of the access of the instruction.
    pub(super) fn decoded(&self, at: u64) -> Option<(u64, u64)> {
        let access = self.access()?;
        let start = access.offset.map_or(at, |offset| self.base().wrapping_add_signed(offset));
        Some((start, access.size))
    }

    fn access(&self) -> Option<Access> {
        // Bits 27 and 25 are those of all loads and stores.
        if !self.bit(27) || self.bit(25) {
            return None;
        }
        match (self.bits(29, 28), self.bit(26)) {
            (0b00, false) => self.exclusive(),
            (0b00, true) => self.structures(),
            (0b01, _) => self.literal(),
            (0b10, _) => self.pair(),
            _ => self.single(),
        }
    }

    /// Exclusive and ordered accesses, and compare and swap.
    fn exclusive(&self) -> Option<Access> {
        if self.bit(24) {
            return None;
        }
        let (ordered, second) = (self.bit(23), self.bit(21));
        let (size, swaps) = match (ordered, second) {
            (false, true) => (2 * (4 << self.bits(30, 30)), !self.bit(31)),
            _ => (self.power_of_two(), second),
        };
        Some(Access { writes: swaps || !self.bit(22), size, offset: Some(0) })
    }

    /// One to four vector registers, whole or one element of each.
    fn structures(&self) -> Option<Access> {
        let size = if self.bit(24) {
            let element = match (self.bits(15, 14), self.bits(11, 10)) {
                (0b11, size) => 1 << size,
                (0b10, 0b01) => 8,
                (scale, _) => 1 << scale,
            };
            element * (2 * self.bits(13, 13) + self.bits(21, 21) + 1)
        } else {
            let registers = match self.bits(15, 12) {
                0b0000 | 0b0010 => 4,
                0b0100 | 0b0110 => 3,
                0b0111 => 1,
                0b1000 | 0b1010 => 2,
                _ => return None,
            };
            registers * (8 << self.bits(30, 30))
        };
        (!self.bit(31)).then_some(Access { writes: !self.bit(22), size, offset: Some(0) })
    }

    /// Loads at a distance from the instruction, and accesses that are ordered as in C++.
    fn literal(&self) -> Option<Access> {
        if self.bit(24) {
            let known = !self.bit(26) && !self.bit(21) && self.bits(11, 10) == 0;
            return known.then(|| Access {
                writes: self.bits(23, 22) == 0,
                size: self.power_of_two(),
                offset: Some(self.nine_bits()),
            });
        }
        let size = match (self.bit(26), self.bits(31, 30)) {
            (_, 0b00) | (false, 0b10) => 4,
            (_, 0b01) => 8,
            (true, 0b10) => 16,
            _ => return None,
        };
        Some(Access { writes: false, size, offset: None })
    }

    fn pair(&self) -> Option<Access> {
        let element = match (self.bit(26), self.bits(31, 30), self.bit(22)) {
            (true, kind @ 0b00..=0b10, _) => 4 << kind,
            (false, 0b00, _) | (false, 0b01, true) => 4,
            (false, 0b10, _) => 8,
            _ => return None,
        };
        let after = self.bits(24, 23) == 0b01;
        let offset = if after { 0 } else { sign_extended(self.bits(21, 15), 7) * element };
        Some(Access { writes: !self.bit(22), size: 2 * element.cast_unsigned(), offset: Some(offset) })
    }

    /// One register, and atomic operations.
    fn single(&self) -> Option<Access> {
        let (vector, kind) = (self.bit(26), self.bits(23, 22));
        let size = if vector && kind >= 0b10 { 16 } else { self.power_of_two() };
        let prefetches = !vector && self.bits(31, 30) == 0b11 && kind == 0b10;
        let impossible = vector && kind >= 0b10 && self.bits(31, 30) != 0;
        let writes = if vector { kind & 1 == 0 } else { kind == 0 };
        if self.bit(24) {
            let offset = (self.bits(21, 10) * size).cast_signed();
            return (!prefetches && !impossible).then_some(Access { writes, size, offset: Some(offset) });
        }
        let offset = match (self.bit(21), self.bits(11, 10)) {
            (true, 0b00) => return self.atomic(),
            // A load by a pointer with a signature.
            (true, 0b01 | 0b11) => return (!vector).then_some(Access { writes: false, size: 8, offset: None }),
            (true, _) => self.register_offset(size)?,
            (false, 0b01) => 0,
            (false, _) => self.nine_bits(),
        };
        (!prefetches && !impossible).then_some(Access { writes, size, offset: Some(offset) })
    }

    /// Operations that read and write memory at once, and an ordered load.
    fn atomic(&self) -> Option<Access> {
        let writes = match (self.bit(15), self.bits(14, 12)) {
            (false, _) | (true, 0b000) => true,
            (true, 0b100) => false,
            _ => return None,
        };
        (!self.bit(26)).then(|| Access { writes, size: self.power_of_two(), offset: Some(0) })
    }

    /// The distance in another register, widened and multiplied by the size of the access.
    fn register_offset(&self, size: u64) -> Option<i64> {
        let value = match self.bits(20, 16) {
            31 => 0,
            register => self.registers[register as usize],
        };
        let value = match self.bits(15, 13) {
            0b010 => i64::from(value as u32),
            0b110 => i64::from(value as i32),
            0b011 | 0b111 => value.cast_signed(),
            _ => return None,
        };
        Some(if self.bit(12) { value.wrapping_mul(size.cast_signed()) } else { value })
    }

    /// The base register, whose number 31 is the stack pointer.
    fn base(&self) -> u64 {
        self.registers[self.bits(9, 5) as usize]
    }

    fn nine_bits(&self) -> i64 {
        sign_extended(self.bits(20, 12), 9)
    }

    /// The size in the two highest bits.
    fn power_of_two(&self) -> u64 {
        1 << self.bits(31, 30)
    }

    fn bit(&self, at: u32) -> bool {
        self.code >> at & 1 == 1
    }

    fn bits(&self, last: u32, first: u32) -> u64 {
        u64::from(self.code >> first) & ((2 << (last - first)) - 1)
    }
}

fn sign_extended(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)).cast_signed() >> (64 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instruction whose register number `n` holds `0x1000 * (n + 1)`.
    fn interrupted(code: u32) -> Interrupted {
        Interrupted { code, registers: std::array::from_fn(|number| 0x1000 * (number as u64 + 1)) }
    }

    // GNU's assembler has encoded the instructions.
    #[test]
    fn loads_and_stores_are_decoded() {
        let cases: [(u32, bool, (u64, u64)); 35] = [
            (0x3900_0001, true, (0x1000, 1)),    // strb w1, [x0]
            (0x7900_0401, true, (0x1002, 2)),    // strh w1, [x0, #2]
            (0xb900_0401, true, (0x1004, 4)),    // str w1, [x0, #4]
            (0xf822_7801, true, (0x1_9000, 8)),  // str x1, [x0, x2, lsl #3]
            (0xf822_c801, true, (0x4000, 8)),    // str x1, [x0, w2, sxtw]
            (0xf800_8401, true, (0x1000, 8)),    // str x1, [x0], #8
            (0xf81f_8c01, true, (0xff8, 8)),     // str x1, [x0, #-8]!
            (0xf81f_d001, true, (0xffd, 8)),     // stur x1, [x0, #-3]
            (0xb800_4801, true, (0x1004, 4)),    // sttr w1, [x0, #4]
            (0xb980_0001, false, (0x1000, 4)),   // ldrsw x1, [x0]
            (0x39c0_0001, false, (0x1000, 1)),   // ldrsb w1, [x0]
            (0xfd40_0000, false, (0x1000, 8)),   // ldr d0, [x0]
            (0x3d40_0c01, false, (0x1003, 1)),   // ldr b1, [x0, #3]
            (0x3d80_0400, true, (0x1010, 16)),   // str q0, [x0, #16]
            (0xa901_0801, true, (0x1010, 16)),   // stp x1, x2, [x0, #16]
            (0xa83f_0801, true, (0xff0, 16)),    // stnp x1, x2, [x0, #-16]
            (0xadbf_07e0, true, (0x1_ffe0, 32)), // stp q0, q1, [sp, #-32]!
            (0x28c1_0801, false, (0x1000, 8)),   // ldp w1, w2, [x0], #8
            (0x6940_0801, false, (0x1000, 8)),   // ldpsw x1, x2, [x0]
            (0xc85f_7c01, false, (0x1000, 8)),   // ldxr x1, [x0]
            (0xc803_7c01, true, (0x1000, 8)),    // stxr w3, x1, [x0]
            (0xc87f_0801, false, (0x1000, 16)),  // ldxp x1, x2, [x0]
            (0x8823_0801, true, (0x1000, 8)),    // stxp w3, w1, w2, [x0]
            (0x889f_fc01, true, (0x1000, 4)),    // stlr w1, [x0]
            (0x08df_fc01, false, (0x1000, 1)),   // ldarb w1, [x0]
            (0x88a1_7c02, true, (0x1000, 4)),    // cas w1, w2, [x0]
            (0x4822_7c04, true, (0x1000, 16)),   // casp x2, x3, x4, x5, [x0]
            (0xf821_0002, true, (0x1000, 8)),    // ldadd x1, x2, [x0]
            (0xb821_8002, true, (0x1000, 4)),    // swp w1, w2, [x0]
            (0x78bf_c001, false, (0x1000, 2)),   // ldaprh w1, [x0]
            (0xd91f_8001, true, (0xff8, 8)),     // stlur x1, [x0, #-8]
            (0x4c00_6000, true, (0x1000, 48)),   // st1 {v0.16b-v2.16b}, [x0]
            (0x0d20_b000, true, (0x1000, 16)),   // st4 {v0.s-v3.s}[1], [x0]
            (0x4d00_8400, true, (0x1000, 8)),    // st1 {v0.d}[1], [x0]
            (0x4d40_c800, false, (0x1000, 4)),   // ld1r {v0.4s}, [x0]
        ];
        for (code, writes, bytes) in cases {
            let interrupted = interrupted(code);
            assert_eq!((interrupted.writes(), interrupted.decoded(0)), (Some(writes), Some(bytes)), "{code:08x}");
        }
    }

    #[test]
    fn load_beside_the_instruction_starts_at_its_fault() {
        assert_eq!(interrupted(0x5800_0001).decoded(0x7010), Some((0x7010, 8))); // ldr x1, .
        assert_eq!(interrupted(0x9c00_0000).decoded(0x7010), Some((0x7010, 16))); // ldr q0, .
    }

    #[test]
    fn accesses_of_unknown_size_are_reads_or_writes() {
        // dc zva, x0; st1w {z0.s}, p0, [x0]; ld1w {z0.s}, p0/z, [x0]
        for (code, writes) in [(0xd50b_7420, true), (0xe540_e000, true), (0xa540_a000, false)] {
            assert_eq!((interrupted(code).writes(), interrupted(code).decoded(0)), (Some(writes), None), "{code:08x}");
        }
        // prfm pldl1keep, [x0]; add x0, x1, x2
        for code in [0xf980_0000, 0x8b02_0020] {
            assert_eq!((interrupted(code).writes(), interrupted(code).decoded(0)), (None, None), "{code:08x}");
        }
    }
}
