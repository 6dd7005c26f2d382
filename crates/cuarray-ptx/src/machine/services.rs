//! Functions that the machine provides: `vprintf`, `malloc`, `free`, `__assertfail`, grid synchronization, and
//! `cudaGraphSetConditional`.
//!
//! CUDA C++ and numba-cuda declare these functions and leave them to the driver. They are called like any function,
//! with parameters in the caller's local memory.

use super::fault::FaultKind;
use super::{Flow, Machine, device_runtime, printf};
use crate::machine::program::Instruction;

/// A provided function: its name, the sizes of its results and parameters in bytes, and its implementation.
pub(crate) struct Provided {
    pub name: &'static str,
    pub results: &'static [u32],
    pub parameters: &'static [u32],
    pub exec: unsafe fn(&mut Machine<'_>, &Instruction) -> Flow,
    pub grid_wide: bool,
    /// Whether results depend on the order of blocks.
    pub ordered: bool,
}

/// All provided functions.
pub(crate) const PROVIDED: &[Provided] = &[
    Provided {
        name: device_runtime::ALLOCATE,
        results: &[4],
        parameters: &[8, 8],
        exec: device_runtime::allocate,
        grid_wide: false,
        ordered: true,
    },
    Provided {
        name: "__cudaCDP2Free",
        results: &[4],
        parameters: &[8],
        exec: device_runtime::free,
        grid_wide: false,
        ordered: true,
    },
    Provided {
        name: "__cudaCDP2GetLastError",
        results: &[4],
        parameters: &[],
        exec: device_runtime::take_error,
        grid_wide: false,
        ordered: true,
    },
    Provided {
        name: "__cudaCDP2PeekAtLastError",
        results: &[4],
        parameters: &[],
        exec: device_runtime::peek_error,
        grid_wide: false,
        ordered: true,
    },
    Provided { name: "vprintf", results: &[4], parameters: &[8, 8], exec: print, grid_wide: false, ordered: false },
    Provided { name: "malloc", results: &[8], parameters: &[8], exec: allocate, grid_wide: false, ordered: true },
    Provided { name: "free", results: &[], parameters: &[8], exec: free, grid_wide: false, ordered: true },
    Provided {
        name: "__assertfail",
        results: &[],
        parameters: &[8, 8, 4, 8, 8],
        exec: assertion,
        grid_wide: false,
        ordered: false,
    },
    Provided {
        name: "cudaCGGetIntrinsicHandle",
        results: &[8],
        parameters: &[4],
        exec: grid_handle,
        grid_wide: false,
        ordered: false,
    },
    Provided {
        name: "cudaCGSynchronize",
        results: &[4],
        parameters: &[8, 4],
        exec: synchronize,
        grid_wide: true,
        ordered: true,
    },
    Provided {
        name: "cudaGraphSetConditional",
        results: &[],
        parameters: &[8, 4],
        exec: set_condition,
        grid_wide: false,
        ordered: true,
    },
];

/// The longest text that is read or printed.
const LONGEST: usize = 1 << 16;

impl Machine<'_> {
    /// Reads a parameter of the call for a lane. The further operands are the offsets of the parameters and the result
    /// in the caller's local memory.
    pub(super) fn parameter(&self, instruction: &Instruction, index: usize, lane: u32) -> u64 {
        let place = self.local_base + self.extra(instruction, index);
        self.warp.local[place as usize / 8 * 32 + lane as usize]
    }

    pub(super) fn set_result(&mut self, instruction: &Instruction, index: usize, lane: u32, value: u64) {
        let place = self.local_base + self.extra(instruction, index);
        self.warp.local[place as usize / 8 * 32 + lane as usize] = value;
        self.warp.written.add_word(lane, place);
    }

    /// Reads an aligned value at a generic address.
    fn read(&mut self, lane: u32, address: u64, size: u64) -> Result<u64, FaultKind> {
        let pointer = self.locate_lane(lane, address, size, size, false)?;
        use super::memory::Cell;
        // SAFETY: `locate_lane` returns pointers that are aligned and valid for this size.
        Ok(unsafe {
            match size {
                1 => u8::get(pointer),
                4 => u32::get(pointer),
                _ => u64::get(pointer),
            }
        })
    }

    /// Reads a text up to its nul.
    fn text(&mut self, lane: u32, address: u64) -> Result<Vec<u8>, FaultKind> {
        let mut text = Vec::new();
        while text.len() < LONGEST {
            match self.read(lane, address.wrapping_add(text.len() as u64), 1)? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }

    /// Formats `printf` arguments, which are packed at an address.
    fn format(&mut self, lane: u32, format: &[u8], mut arguments: u64) -> Result<Vec<u8>, FaultKind> {
        let mut line = Vec::new();
        let mut rest = format;
        while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
            line.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            let length =
                rest.iter().position(|byte| byte.is_ascii_alphabetic() && !b"hlLqjzt".contains(byte) || *byte == b'%');
            let Some(length) = length else { return Ok(line) };
            let (spec, kind) = (&rest[..length], rest[length]);
            rest = &rest[length + 1..];
            if kind == b'%' {
                line.push(b'%');
                continue;
            }
            let long = spec.iter().any(|byte| b"lLqjzt".contains(byte));
            let mut take = |machine: &mut Self, size: u64| {
                arguments = arguments.next_multiple_of(size);
                let value = machine.read(lane, arguments, size);
                arguments += size;
                value
            };
            // A star reads its number from the arguments.
            let mut numbers = Vec::new();
            for byte in spec {
                if *byte == b'*' {
                    numbers.extend_from_slice((take(self, 4)? as u32 as i32).to_string().as_bytes());
                } else {
                    numbers.push(*byte);
                }
            }
            let pad = printf::Pad::read(&numbers);
            match kind {
                b'd' | b'i' => {
                    let value = if long { take(self, 8)? as i64 } else { i64::from(take(self, 4)? as u32 as i32) };
                    pad.signed(&mut line, value);
                }
                b'u' | b'x' | b'X' | b'o' => {
                    let value = take(self, if long { 8 } else { 4 })?;
                    pad.unsigned(&mut line, value, kind);
                }
                b'c' => pad.text(&mut line, &[take(self, 4)? as u8]),
                b's' => {
                    let address = take(self, 8)?;
                    let text = self.text(lane, address)?;
                    pad.text(&mut line, &text);
                }
                b'p' => {
                    let value = take(self, 8)?;
                    pad.text(&mut line, format!("0x{value:x}").as_bytes());
                }
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                    let value = f64::from_bits(take(self, 8)?);
                    pad.float(&mut line, value, kind);
                }
                _ => {}
            }
            if line.len() > LONGEST {
                break;
            }
        }
        line.extend_from_slice(rest);
        Ok(line)
    }
}

impl Machine<'_> {
    /// Calls a function for each lane of the mask, in order.
    pub(super) fn each_lane(&mut self, mut f: impl FnMut(&mut Self, u32) -> Result<(), FaultKind>) -> Flow {
        self.search.moved += 1;
        for lane in 0..32 {
            if self.mask >> lane & 1 == 1
                && let Err(kind) = f(self, lane)
            {
                return self.fail(kind, lane, 0, 0, false);
            }
        }
        Flow::Next
    }
}

unsafe fn print(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let (format, arguments) = (machine.parameter(instruction, 0, lane), machine.parameter(instruction, 1, lane));
        let format = machine.text(lane, format)?;
        let count = format.iter().filter(|byte| **byte == b'%').count() as u64;
        let line = machine.format(lane, &format, arguments)?;
        machine.block.printed.extend_from_slice(&line);
        machine.set_result(instruction, 2, lane, count);
        Ok(())
    })
}

impl Machine<'_> {
    /// Allocates a block of the heap: its address, or 0 if the heap is exhausted.
    pub(super) fn allocate_block(&mut self, size: u64) -> u64 {
        let address = self.launch.service.allocate(size);
        self.forget_accesses(address, size);
        self.block_is_allocated(address, size);
        address
    }

    /// Frees a block of the heap. Returns whether there was one.
    pub(super) fn free_block(&mut self, address: u64) -> bool {
        let size = self.launch.service.free(address);
        if size > 0 {
            self.block_is_freed(address, size);
        }
        size > 0
    }
}

unsafe fn allocate(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let size = machine.parameter(instruction, 0, lane);
        let address = machine.allocate_block(size);
        machine.set_result(instruction, 1, lane, address);
        Ok(())
    })
}

unsafe fn free(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let address = machine.parameter(instruction, 0, lane);
        machine.free_block(address);
        Ok(())
    })
}

unsafe fn assertion(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        let mut texts = Vec::new();
        for index in [0, 1, 3] {
            let address = machine.parameter(instruction, index, lane);
            texts.push(String::from_utf8_lossy(&machine.text(lane, address)?).into_owned());
        }
        let line = machine.parameter(instruction, 2, lane) as u32;
        let ([x, y, z], [i, j, k]) = (machine.block.index, machine.thread_of(lane));
        let (message, file, function) = (&texts[0], &texts[1], &texts[2]);
        let place = format!("{file}:{line}: {function}: block: [{x},{y},{z}], thread: [{i},{j},{k}]");
        machine.launch.service.assertion(&format!("{place} Assertion `{message}` failed."));
        Err(FaultKind::Assert)
    })
}

unsafe fn set_condition(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let mut handles = [0; 32];
    let flow = machine.each_lane(|machine, lane| {
        let (handle, value) = (machine.parameter(instruction, 0, lane), machine.parameter(instruction, 1, lane));
        machine.launch.service.set_condition(handle, value as u32);
        handles[lane as usize] = handle;
        Ok(())
    });
    machine.watch_conditions(&handles);
    flow
}

unsafe fn grid_handle(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.each_lane(|machine, lane| {
        // A launch that is not cooperative has no grid handle.
        let handle = u64::from(machine.launch.cooperative);
        machine.set_result(instruction, 1, lane, handle);
        Ok(())
    })
}

unsafe fn synchronize(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let flow = machine.each_lane(|machine, lane| {
        let code = if machine.launch.cooperative { 0 } else { 1 };
        machine.set_result(instruction, 2, lane, code);
        Ok(())
    });
    if !machine.launch.cooperative || flow == Flow::Stop {
        return flow;
    }
    // SAFETY: the barrier has no operands.
    unsafe { super::branching::grid_barrier(machine, instruction) }
}
