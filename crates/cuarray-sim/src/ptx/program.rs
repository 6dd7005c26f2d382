//! A program: code that is ready to run.
//!
//! All functions of a module lie in one row of [`Instruction`]s. An instruction holds the function that executes it for a
//! whole warp, and up to four operands, each the place of a register in the warp's register file or of a constant. Addresses
//! of variables are constants too; they are filled in when the program gets its memory ([`Program::constants`]).

use super::execute::{Flow, Machine};
use super::types::{Space, Type, Width};
use std::collections::HashMap;

/// Executes an instruction for the lanes of [`Machine::mask`].
///
/// # Safety
/// The machine runs the program that the instruction is of, in a frame of the function that it is in.
pub(crate) type Exec = unsafe fn(&mut Machine<'_>, &Instruction) -> Flow;

/// Set in an operand that is a constant and no register.
pub(crate) const CONSTANT: u32 = 1 << 31;
/// The guard of an instruction that has none.
pub(crate) const UNGUARDED: u32 = u32::MAX;

/// One instruction.
#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    pub exec: Exec,
    /// The place of the predicate that it is executed under, times two, plus one if that is negated.
    pub guard: u32,
    /// Where in [`Program::operands`] its further operands begin.
    pub extra: u32,
    /// Byte offsets in the register file or, with [`CONSTANT`], in the constants.
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// What the executing function makes of it: an offset, the target of a branch, a code.
    pub imm: i64,
}

/// Where an instruction comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Location {
    /// The line of the PTX text.
    pub line: u32,
    /// The file (as `.file` numbers it) and line that the last `.loc` gave; 0 without one.
    pub file: u32,
    pub source_line: u32,
}

/// A constant, the same in all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Constant {
    Bits(u64),
    /// The address of a variable, by its number, plus an offset.
    Variable(u32, i64),
}

/// A variable of the module.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub space: Space,
    pub size: u64,
    pub align: u64,
    /// Its first contents; what is beyond is zero.
    pub contents: Vec<u8>,
    /// Places in the contents that hold an address: the place, how many bytes, and what.
    pub addresses: Vec<(u64, u32, u32, Constant)>,
    /// In shared memory: where it lies in the block's.
    pub offset: u64,
}

/// A parameter of a function or kernel, or a result: its place and size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parameter {
    pub offset: u32,
    pub size: u32,
}

/// A function or kernel.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: String,
    pub entry: bool,
    /// Where its code begins, and where that ends.
    pub start: u32,
    pub end: u32,
    /// Bytes of registers that a warp needs for it.
    pub frame: u32,
    /// The parts of the frame that may be read before they are written: place and bytes.
    pub cleared: Vec<(u32, u32)>,
    /// Bytes of local memory that a thread needs for it, a multiple of 16; parameters and results of a device function are
    /// among them.
    pub local: u32,
    /// How much of that is variables.
    pub local_variables: u32,
    /// Of a kernel: in the parameter buffer. Of a function: in local memory.
    pub parameters: Vec<Parameter>,
    pub results: Vec<Parameter>,
    /// `.maxntid` or `.reqntid`, and whether it was the latter.
    pub max_threads: Option<(u32, bool)>,
    /// How many 32-bit registers of a thread are alive at once, at most.
    pub registers: u32,
    /// The shared variables that it names, by number.
    pub shared: Vec<u32>,
    /// The functions that it calls, by number, and whether it calls through addresses.
    pub calls: Vec<u32>,
    pub calls_address: bool,
    /// Whether what it does depends on the order of blocks: results of atomics, floating-point reductions, volatile memory.
    pub ordered: bool,
    /// Whether it synchronizes the grid.
    pub grid_wide: bool,
}

/// Code that is ready to run once its constants are.
pub(crate) struct Program {
    pub code: Vec<Instruction>,
    /// For each instruction.
    pub locations: Vec<Location>,
    pub operands: Vec<u32>,
    /// Each constant with its width; its place is the sum of the widths in front of it.
    pub constants: Vec<(Constant, Width)>,
    pub variables: Vec<Variable>,
    pub functions: Vec<Function>,
    pub kernels: HashMap<String, u32>,
    /// The names of source files, by number.
    pub files: HashMap<u32, String>,
    /// Static shared memory in bytes: dynamic shared memory begins here.
    pub shared: u64,
    /// `.version`, as the attribute of a function has it: ten times the major version plus the minor one.
    pub version: u32,
    /// The number behind `sm_`.
    pub target: u32,
    /// Whether some function calls `malloc`.
    pub allocates: bool,
    /// How many registers a thread may have, as the program was asked to be linked; 0: any number.
    pub max_registers: u32,
}

/// Where functions lie when their address is taken: the number of a function times 16, above this.
pub(crate) const FUNCTION_WINDOW: u64 = 0x0400_0000_0000_0000;

impl Program {
    /// The constants as the code reads them: each repeated for every lane. `address_of` gives the address of a variable
    /// in global or constant memory.
    pub(crate) fn constants(&self, address_of: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut words = Vec::new();
        for (constant, width) in &self.constants {
            let value = self.value(*constant, &address_of);
            match width {
                // Padded to whole words; see `place_of`.
                Width::Predicate => words.push(if value & 1 == 1 { u64::from(u32::MAX) } else { 0 }),
                Width::W32 => words.extend([(value & 0xffff_ffff) | value << 32; 16]),
                Width::W64 => words.extend([value; 32]),
                Width::W128 => {
                    words.extend([value; 32]);
                    words.extend([0; 32]);
                }
            }
        }
        words
    }

    /// The value of a constant.
    pub(crate) fn value(&self, constant: Constant, address_of: &impl Fn(u32) -> u64) -> u64 {
        match constant {
            Constant::Bits(bits) => bits,
            Constant::Variable(number, offset) => {
                let variable = &self.variables[number as usize];
                let address = match variable.space {
                    Space::Shared => variable.offset,
                    _ => address_of(number),
                };
                address.wrapping_add(offset as u64)
            }
        }
    }

    /// Everything that a kernel can reach by calls, itself included. Calls through addresses reach every device function.
    pub(crate) fn reachable(&self, function: u32) -> Vec<u32> {
        let mut seen = vec![false; self.functions.len()];
        let mut open = vec![function];
        let mut reached = Vec::new();
        while let Some(number) = open.pop() {
            if std::mem::replace(&mut seen[number as usize], true) {
                continue;
            }
            reached.push(number);
            let function = &self.functions[number as usize];
            open.extend(&function.calls);
            if function.calls_address {
                open.extend((0..self.functions.len() as u32).filter(|other| !self.functions[*other as usize].entry));
            }
        }
        reached.sort_unstable();
        reached
    }

    /// Bytes of static shared memory that a kernel uses.
    pub(crate) fn shared_of(&self, kernel: u32) -> u64 {
        let mut used: Vec<u32> = self
            .reachable(kernel)
            .iter()
            .flat_map(|number| &self.functions[*number as usize].shared)
            .copied()
            .collect();
        used.sort_unstable();
        used.dedup();
        let mut size = 0_u64;
        for variable in used.iter().map(|number| &self.variables[*number as usize]) {
            size = size.next_multiple_of(variable.align.max(1)) + variable.size;
        }
        size
    }

    /// Bytes of a kernel's parameters.
    pub(crate) fn parameter_bytes(&self, kernel: u32) -> u32 {
        let parameters = &self.functions[kernel as usize].parameters;
        parameters.iter().map(|parameter| parameter.offset + parameter.size).max().unwrap_or(0)
    }
}

impl Function {
    /// A number that two functions share if their parameters and results lie alike.
    pub(crate) fn shape(&self) -> u64 {
        shape(&self.results, &self.parameters)
    }
}

/// A number for places of results and parameters.
pub(crate) fn shape(results: &[Parameter], parameters: &[Parameter]) -> u64 {
    let mut number = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |value: u32| number = (number ^ u64::from(value)).wrapping_mul(0x0100_0000_01b3);
    mix(results.len() as u32);
    for parameter in results.iter().chain(parameters) {
        mix(parameter.offset);
        mix(parameter.size);
    }
    number
}

/// The bytes that a constant takes among the constants.
pub(crate) fn constant_bytes(width: Width) -> u32 {
    width.bytes().max(8)
}

/// What a value of a type looks like as a constant.
pub(crate) fn constant_bits(ty: Type, value: u64) -> u64 {
    match ty.width() {
        Width::Predicate => u64::from(value != 0),
        Width::W32 if ty.bits() == 16 => value & 0xffff,
        Width::W32 if ty.bits() == 8 => value & 0xff,
        Width::W32 => value & 0xffff_ffff,
        Width::W64 | Width::W128 => value,
    }
}
