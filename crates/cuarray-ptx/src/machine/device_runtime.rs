//! Functions of the CUDA device runtime: `cudaMalloc` and `cudaFree` in a kernel, and the last error of a thread.
//!
//! CUDA C++ programming guide: [device-side memory
//! allocation](https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-dynamic-parallelism). The memory is of the heap of
//! `malloc`. Launches of kernels by kernels are refused when the module is loaded.

use super::memory::Cell as _;
use super::{Flow, Machine};
use crate::machine::program::Instruction;

/// `cudaErrorInvalidValue`.
const INVALID_VALUE: u32 = 1;
/// `cudaErrorMemoryAllocation`.
const OUT_OF_MEMORY: u32 = 2;

/// The name of `cudaMalloc` in PTX.
pub(crate) const ALLOCATE: &str = "__cudaCDP2Malloc";

impl Machine<'_> {
    /// Sets the result of a call, and the last error of the thread if the call failed.
    fn set_code(&mut self, instruction: &Instruction, index: usize, lane: u32, code: u32) {
        if code != 0 {
            self.last_errors.insert((self.block.number, self.warp.number * 32 + lane), code);
        }
        self.set_result(instruction, index, lane, code.into());
    }
}

pub(super) unsafe fn allocate(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let (target, size) = (machine.parameter(instruction, 0, lane), machine.parameter(instruction, 1, lane));
        let pointer = machine.locate_lane(lane, target, 8, 8, true)?;
        let address = if size == 0 { 0 } else { machine.allocate_block(size) };
        // SAFETY: `locate_lane` returns pointers that are aligned and valid for this size.
        unsafe { u64::set(pointer, address) };
        let failed = size > 0 && address == 0;
        machine.set_code(instruction, 2, lane, if failed { OUT_OF_MEMORY } else { 0 });
        Ok(())
    })
}

pub(super) unsafe fn free(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let address = machine.parameter(instruction, 0, lane);
        let freed = machine.free_block(address);
        machine.set_code(instruction, 1, lane, if freed || address == 0 { 0 } else { INVALID_VALUE });
        Ok(())
    })
}

pub(super) unsafe fn take_error(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let thread = (machine.block.number, machine.warp.number * 32 + lane);
        let code = machine.last_errors.remove(&thread).unwrap_or(0);
        machine.set_result(instruction, 0, lane, code.into());
        Ok(())
    })
}

pub(super) unsafe fn peek_error(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let thread = (machine.block.number, machine.warp.number * 32 + lane);
        let code = machine.last_errors.get(&thread).copied().unwrap_or(0);
        machine.set_result(instruction, 0, lane, code.into());
        Ok(())
    })
}
