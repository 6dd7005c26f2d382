//! Whether valgrind executes the process. It neither faults at closed pages nor repeats an access as the processor does, so no access is
//! watched there.

/// The request `RUNNING_ON_VALGRIND` of valgrind's manual (client request mechanism).
#[cfg(target_arch = "x86_64")]
const RUNNING: u64 = 0x1001;

#[cfg(target_arch = "x86_64")]
pub(crate) fn executes_process() -> bool {
    let request = [RUNNING, 0, 0, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: for a processor the sequence does nothing: the rotations by 128 bits in sum restore the register, and the exchange is one with
    // itself. Valgrind knows the sequence, reads the six numbers behind `rax`, which are those of `request`, and sets `rdx`.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdx") answer,
            in("rax") request.as_ptr(),
            options(nostack, readonly),
        );
    }
    answer != 0
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn executes_process() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[test]
    fn processor_that_executes_the_process_is_not_taken_for_valgrind() {
        assert!(!super::executes_process());
    }
}
