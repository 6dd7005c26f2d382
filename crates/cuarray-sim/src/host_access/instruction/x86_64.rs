//! Instructions of x86-64.

use crate::pages::{page_size, probe};

/// The greatest length of an instruction of x86-64.
const LONGEST: usize = 15;

/// An instruction, and the registers before it.
#[derive(Clone, Copy)]
pub(crate) struct Interrupted {
    code: [u8; LONGEST],
    /// The number of bytes that are known, which may be less than the instruction has.
    length: usize,
    address: u64,
    /// The general registers, in the order of their numbers in instructions.
    registers: [u64; 16],
    flags: u64,
}

impl Interrupted {
    pub(in super::super) const NOTHING: Interrupted =
        Interrupted { code: [0; LONGEST], length: 0, address: 0, registers: [0; 16], flags: 0 };

    /// The instruction of a signal's context.
    ///
    /// # Safety
    /// The context is that of a handler for a fault in data.
    pub(in super::super) unsafe fn of(context: *mut std::ffi::c_void) -> Interrupted {
        use libc::{
            REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RBP, REG_RBX, REG_RCX,
            REG_RDI, REG_RDX, REG_RSI, REG_RSP,
        };
        const ORDER: [libc::c_int; 16] = [
            REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11,
            REG_R12, REG_R13, REG_R14, REG_R15,
        ];
        // SAFETY: this function's contract.
        let saved = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let value = |register: libc::c_int| saved[register as usize].cast_unsigned();
        let address = value(libc::REG_RIP);
        let mut code = [0; LONGEST];
        let in_page = (page_size() - address % page_size()).min(LONGEST as u64) as usize;
        // SAFETY: the processor has just read the instruction, which begins in this page.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, code.as_mut_ptr(), in_page) };
        let (next, rest) = (address + in_page as u64, LONGEST - in_page);
        let length = if probe::is_range_readable(next, rest as u64) { LONGEST } else { in_page };
        // SAFETY: the rest lies in the next page, which was found readable.
        unsafe { std::ptr::copy_nonoverlapping(next as *const u8, code[in_page..].as_mut_ptr(), length - in_page) };
        Interrupted { code, length, address, registers: ORDER.map(value), flags: value(libc::REG_EFL) }
    }

    /// The bytes of the memory operand of the instruction.
    pub(super) fn decoded(&self, at: u64) -> Option<(u64, u64)> {
        use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind, Register};
        const BACKWARDS: u64 = 1 << 10;
        let instruction = Decoder::with_ip(64, &self.code[..self.length], self.address, DecoderOptions::NONE).decode();
        let size = instruction.memory_size().size() as u64;
        // A mask excludes some of the bytes.
        let is_masked = instruction.has_op_mask()
            || matches!(
                instruction.mnemonic(),
                Mnemonic::Vmaskmovps | Mnemonic::Vmaskmovpd | Mnemonic::Vpmaskmovd | Mnemonic::Vpmaskmovq
            );
        if size == 0 || is_masked {
            return None;
        }
        if instruction.is_string_instruction() {
            // The count is that of the elements that remain at the fault.
            let repeats = instruction.has_rep_prefix() && self.flags & BACKWARDS == 0;
            let copies = matches!(
                instruction.mnemonic(),
                Mnemonic::Movsb
                    | Mnemonic::Movsw
                    | Mnemonic::Movsd
                    | Mnemonic::Movsq
                    | Mnemonic::Stosb
                    | Mnemonic::Stosw
                    | Mnemonic::Stosd
                    | Mnemonic::Stosq
            );
            let count = if repeats && copies { self.registers[1] } else { 1 };
            return Some((at, size.checked_mul(count)?));
        }
        let operand = (0..instruction.op_count()).find(|index| instruction.op_kind(*index) == OpKind::Memory)?;
        let start = instruction.virtual_address(operand, 0, |register, _, _| match register {
            Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
            Register::FS | Register::GS => None,
            general => {
                let full = general.full_register();
                (Register::RAX..=Register::R15).contains(&full).then(|| self.registers[full.number()])
            }
        })?;
        Some((start, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instruction, the address of its fault, whether that was a write, and the expected bytes.
    type Case<'a> = (&'a [u8], u64, bool, (u64, u64));

    /// The bytes of an instruction that faulted at `at`, with register number `n` holding `0x1000 * (n + 1)`.
    fn bytes(code: &[u8], at: u64, writes: bool) -> (u64, u64) {
        let mut interrupted = Interrupted { length: code.len(), address: 0x40_0000, ..Interrupted::NOTHING };
        interrupted.code[..code.len()].copy_from_slice(code);
        interrupted.registers = std::array::from_fn(|number| 0x1000 * (number as u64 + 1));
        interrupted.bytes(at, writes)
    }

    #[test]
    fn sizes_of_common_stores_and_loads_are_decoded() {
        let cases: [Case<'_>; 12] = [
            (&[0x88, 0x08], 0x1000, true, (0x1000, 1)),                   // mov [rax], cl
            (&[0x66, 0x89, 0x08], 0x1000, true, (0x1000, 2)),             // mov [rax], cx
            (&[0x89, 0x48, 0x04], 0x1004, true, (0x1004, 4)),             // mov [rax+4], ecx
            (&[0x48, 0x89, 0x0c, 0xd0], 0x19000, true, (0x19000, 8)),     // mov [rax+rdx*8], rcx
            (&[0x4d, 0x8b, 0x01], 0xa000, false, (0xa000, 8)),            // mov r8, [r9]
            (&[0x0f, 0xb6, 0x00], 0x1000, false, (0x1000, 1)),            // movzx eax, byte [rax]
            (&[0xf2, 0x0f, 0x11, 0x00], 0x1000, true, (0x1000, 8)),       // movsd [rax], xmm0
            (&[0x0f, 0x11, 0x00], 0x1000, true, (0x1000, 16)),            // movups [rax], xmm0
            (&[0xc5, 0xfe, 0x7f, 0x00], 0x1000, true, (0x1000, 32)),      // vmovdqu [rax], ymm0
            (&[0xf0, 0x48, 0x0f, 0xc1, 0x08], 0x1000, true, (0x1000, 8)), // lock xadd [rax], rcx
            (&[0x48, 0x89, 0x08], 0x1004, true, (0x1000, 8)),             // the fault is in the second page
            (&[0x48, 0x89, 0x0d, 0xf9, 0xff, 0xff, 0xff], 0x40_0000, true, (0x40_0000, 8)), // mov [rip-7], rcx
        ];
        for (code, at, writes, expected) in cases {
            assert_eq!(bytes(code, at, writes), expected, "{code:02x?}");
        }
    }

    #[test]
    fn repeated_store_covers_the_rest_of_its_elements() {
        // Register 1 holds the count.
        assert_eq!(bytes(&[0xf3, 0xa4], 0x8000, true), (0x8000, 0x2000)); // rep movsb
        assert_eq!(bytes(&[0xf3, 0x48, 0xab], 0x8000, true), (0x8000, 0x10000)); // rep stosq
        assert_eq!(bytes(&[0xa4], 0x8000, true), (0x8000, 1)); // movsb
    }

    #[test]
    fn access_of_unknown_size_is_one_byte() {
        let cases: [(&[u8], u64, bool); 5] = [
            (&[0xc5, 0xfe, 0x6f, 0x00], 0x1000, false), // vmovdqu ymm0, [rax]: may read too much
            (&[0x62, 0xf1, 0x7f, 0x29, 0x7f, 0x00], 0x1000, true), // vmovdqu8 [rax]{k1}, ymm0
            (&[0x64, 0x48, 0x89, 0x08], 0x1000, true),  // mov fs:[rax], rcx
            (&[0x48, 0x89], 0x1000, true),              // cut off at the end of a page
            (&[0x48, 0x89, 0x08], 0x5000, true),        // another address than that of the operand
        ];
        for (code, at, writes) in cases {
            assert_eq!(bytes(code, at, writes), (at, 1), "{code:02x?}");
        }
    }
}
