//! A program: resolved PTX code, ready to run.
//!
//! The functions of all modules are in one array of [`Instruction`]s. An instruction holds the function that executes
//! it for a whole warp, and up to four operands: offsets of registers or constants. Addresses of variables are constants
//! too. [`Program::constants`] computes them once the variables have memory.

use super::address_windows::SHARED_WINDOW;
use super::native::Generated;
use super::template::Pattern;
use super::undefined::Registers;
use super::{Flow, Machine};
use crate::grammar::ast::ClusterDirectives;
use crate::grammar::types::{Space, Type, Width};
use crate::image::source::Sources;
pub(crate) use crate::races::update::{InPlace, Reached};
use crate::texture::{Opaque, Sampler};
use std::collections::HashMap;
use std::ops::Range;

/// Executes an instruction for the lanes of [`Machine::mask`].
///
/// # Safety
/// The machine runs the program of the instruction, in a frame of its function.
pub(crate) type Exec = unsafe fn(&mut Machine<'_>, &Instruction) -> Flow;

/// Marks an operand that is a constant.
pub(crate) const CONSTANT: u32 = 1 << 31;
/// The guard of an unconditional instruction, plus the length of the run of instructions that begins with it. The instructions of a run are
/// unconditional, only stop for faults, and do not depend on the number of executed instructions.
pub(crate) const UNGUARDED: u32 = 1 << 31;
/// The operand value for an operand that is left out: `_`.
pub(crate) const LEFT_OUT: u32 = u32::MAX;

/// One instruction.
#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    pub exec: Exec,
    /// The offset of the guard predicate, times two, plus one for a negated guard; or [`UNGUARDED`] plus a length.
    pub guard: u32,
    /// The index of the first further operand in [`Program::operands`].
    pub extra: u32,
    /// Byte offsets in the register file or, with [`CONSTANT`], in the constants.
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// An immediate value for `exec`: an offset, the target of a branch, or the number of a mode.
    pub imm: i64,
}

/// The source of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Location {
    /// The line of the PTX text.
    pub line: u32,
    /// The file of the last `.loc`, as `.file` numbers it; 0 without one.
    pub file: u32,
    /// The line of the last `.loc`; 0 without one.
    pub source_line: u32,
    /// The file and line of the call, in the outermost function, that was inlined there; 0 without one.
    pub inlined_at: (u32, u32),
}

/// A constant, equal in all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Constant {
    /// A number.
    Bits(u64),
    /// The address of a variable plus an offset: the index among [`Program::variables`], and bytes.
    Variable(u32, i64),
}

/// A variable of the module.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The state space.
    pub space: Space,
    /// The size in bytes.
    pub size: u64,
    /// The alignment in bytes.
    pub align: u64,
    /// The initial bytes without the trailing zeros; [`Program::initial_bytes`] adds the addresses.
    pub(crate) contents: Vec<u8>,
    /// Addresses among the initial bytes: offset, length, right shift, value.
    pub(crate) addresses: Vec<(u64, u32, u32, Constant)>,
    /// The offset in the block's shared memory, for shared variables.
    pub offset: u64,
    /// The kind of an opaque variable. It has 8 bytes of memory, so that its address is unique.
    pub opaque: Option<Opaque>,
    /// Whether the variable lies in managed memory (`.attribute(.managed)`).
    pub managed: bool,
}

/// A parameter or result of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// The offset in bytes.
    pub offset: u32,
    /// The size in bytes.
    pub size: u32,
}

/// A kernel or device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name.
    pub name: String,
    /// Whether this is a kernel.
    pub entry: bool,
    /// The first instruction.
    pub(crate) start: u32,
    /// The end of the instructions.
    pub(crate) end: u32,
    /// The size of one call's registers for a whole warp, in bytes.
    pub(crate) frame: u32,
    /// Parts of the frame that may be read before they are written, as offset and size. A call clears them.
    pub(crate) cleared: Vec<(u32, u32)>,
    /// Local memory of a thread in bytes, a multiple of 16. Parameters and results of a device function are part of it.
    pub(crate) local: u32,
    /// The bytes of local memory that variables take.
    pub local_variables: u32,
    /// The parameters: in the parameter buffer for a kernel, in local memory for a device function.
    pub parameters: Vec<Parameter>,
    /// The results, in local memory.
    pub(crate) results: Vec<Parameter>,
    /// The number of threads of `.maxntid` or `.reqntid`, and whether it is from `.reqntid`.
    pub max_threads: Option<(u32, bool)>,
    /// The directives about clusters.
    pub cluster: ClusterDirectives,
    /// The most 32-bit registers of a thread that are live at once.
    pub registers: u32,
    /// The registers of a thread that `.maxnreg` allows; 0 without it.
    pub max_registers: u32,
    /// The blocks that `.minnctapersm` asks to fit on a multiprocessor; 0 without it.
    pub min_blocks: u32,
    /// The indices of the shared variables that the code uses.
    pub(crate) shared: Vec<u32>,
    /// The indices of the functions that the code calls by name.
    pub(crate) calls: Vec<u32>,
    /// Whether the code calls through addresses.
    pub(crate) calls_address: bool,
    /// Whether results may depend on the order of blocks: the code uses results of atomics, floating-point reductions or
    /// volatile memory.
    pub(crate) ordered: bool,
    /// Whether the code synchronizes the grid.
    pub(crate) grid_wide: bool,
    /// Whether the code releases to threads of other launches, as a fence does.
    pub(crate) publishes: bool,
    /// Whether the code can acquire from threads of other launches: it reads by strong accesses or atomic operations.
    pub(crate) observes: bool,
    /// Whether the code waits for the prerequisite grids.
    pub(crate) waits: bool,
    /// Whether the code writes for the host, which may poll: by accesses or fences of the whole system.
    pub(crate) publishes_to_host: bool,
    /// The means by which threads of a launch synchronize through memory.
    pub(crate) hand_over: HandOver,
    /// The sets of parameters from which the addresses of stores to global memory derive: a bit for each word of the parameter
    /// buffer. `None` if an address may have another source.
    pub(crate) stored: Option<Vec<u64>>,
    /// Whether the code may access addresses that it loads.
    pub(crate) loads_addresses: bool,
}

/// The means by which the threads of a launch can synchronize through memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HandOver {
    /// Whether the code has strong loads, strong stores or atomic operations of a narrow scope, acquiring or releasing atomic operations,
    /// barrier objects, bulk copies, or relaxed arrivals at the barrier of the cluster.
    pub strong: bool,
    /// Whether it has other strong stores. Only strong loads and results of atomic operations observe them.
    pub stores: bool,
    /// Whether it has fences.
    pub fences: bool,
    /// Whether it uses results of atomic operations.
    pub results: bool,
    /// Whether it invalidates barrier objects.
    pub invalidates: bool,
}

/// The means by which a kernel's code synchronizes with other launches and with the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Synchronization {
    /// Whether the code releases: it has a fence, or a releasing access, of the device or the system.
    pub publishes: bool,
    /// Whether the code can acquire: it reads by strong accesses or atomic operations of the device or the system.
    pub observes: bool,
    /// Whether the code waits for the prerequisite grids.
    pub waits: bool,
    /// Whether the code writes for the host, which may poll: by accesses or fences of the whole system.
    pub publishes_to_host: bool,
}

/// Resolved code, ready to run once its variables have addresses.
pub struct Program {
    pub(crate) code: Vec<Instruction>,
    /// One location for each instruction.
    pub(crate) locations: Vec<Location>,
    /// The registers of each instruction.
    pub(crate) operands_of: Registers,
    pub(crate) operands: Vec<u32>,
    /// The facts that generated code uses of each instruction.
    pub(crate) patterns: Vec<Pattern>,
    /// The usual functions of the instructions in `machine::linear`, by their `imm`.
    pub(crate) by_lanes: Vec<Exec>,
    /// Each constant with its width. A constant's offset is the sum of the widths before it.
    pub(crate) constants: Vec<(Constant, Width)>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
    pub(crate) kernels: HashMap<String, u32>,
    /// The names of source files, by number.
    pub(crate) files: HashMap<u32, String>,
    /// The text of source files that the image has.
    pub(crate) sources: Sources,
    /// Whether NVIDIA's compiler made a module.
    pub(crate) is_of_nvvm: bool,
    /// Static shared memory in bytes, with the reserved area; dynamic shared memory follows.
    pub(crate) shared: u64,
    /// Whether code reads where the reserved shared memory is. Only then blocks have it.
    pub(crate) reserves: bool,
    /// The offset of the reserved shared memory.
    pub(crate) reserved: u64,
    /// The bytes of static shared memory that lie between two variables, in ascending order.
    pub(crate) shared_gaps: Vec<(u64, u64)>,
    pub(crate) version: u32,
    /// The number behind `sm_`.
    pub(crate) target: u32,
    pub(crate) allocates: bool,
    pub(crate) prints: bool,
    pub(crate) max_registers: u32,
    /// The loads and stores that update in place, as pairs of instructions.
    pub(crate) updates: HashMap<(u32, u32), InPlace>,
    /// The stores that the value of each load in [`Program::updates`] reaches.
    pub(crate) reached: HashMap<u32, Vec<Reached>>,
    /// The set of each store, for functions with [`Function::stored`].
    pub(crate) store_words: HashMap<u32, u64>,
    /// The bytes of an element of each load from and store to shared memory.
    pub(crate) shared_elements: HashMap<u32, u32>,
    /// The code that was generated for the processor.
    pub(crate) generated: Generated,
    /// Whether whole warps may access memory directly; see `machine::direct`. Only tests forbid it.
    pub(crate) direct: bool,
    /// Whether undefined values are followed from the start; see `machine::undefined`. Only tests ask for it.
    pub(crate) follows: bool,
}

/// The bytes of shared memory of a block that are reserved for system software, from `sm_80` on.
pub(crate) const RESERVED_SHARED: u64 = 1024;

/// The base of function addresses. The address of a function is this base plus 16 times its index.
pub(crate) const FUNCTION_WINDOW: u64 = 0x0400_0000_0000_0000;

impl Program {
    /// Lets the usual function of each instruction compute its result, and lets all values be in rows.
    #[cfg(test)]
    pub(crate) fn compute_by_lanes(&mut self) {
        use super::linear::{D, LINEAR, head_kind};
        for instruction in &mut self.code {
            if instruction.extra & LINEAR != 0 && self.by_lanes.get(instruction.imm as usize).is_some() {
                instruction.exec = self.by_lanes[instruction.imm as usize];
                instruction.extra = 0;
            } else if head_kind(instruction.extra, D) != 0 && instruction.a == LEFT_OUT {
                instruction.extra = 0;
            }
        }
    }

    /// The number of instructions.
    pub fn instructions(&self) -> usize {
        self.code.len()
    }

    /// Whether the code has line information.
    pub fn has_lines(&self) -> bool {
        !self.files.is_empty()
    }

    /// Whether NVIDIA's compiler, which nvcc, NVRTC and Numba use, made a module.
    pub fn is_of_nvvm(&self) -> bool {
        self.is_of_nvvm
    }

    /// The source of an instruction, by its number.
    pub fn location(&self, pc: u32) -> Option<Location> {
        self.locations.get(pc as usize).copied()
    }

    /// The bytes of an element that an instruction loads from, or stores to, shared memory.
    pub fn shared_element(&self, pc: u32) -> Option<u32> {
        self.shared_elements.get(&pc).copied()
    }

    /// The name of a source file, by the number of [`Location::file`].
    pub fn file(&self, number: u32) -> Option<&str> {
        self.files.get(&number).map(String::as_str)
    }

    /// A line of a source file whose text the image has, counted from 1.
    pub fn text(&self, file: &str, line: u32) -> Option<&str> {
        self.sources.line(file, line)
    }

    /// The text of a source file that the image has.
    pub fn whole_text(&self, file: &str) -> Option<String> {
        self.sources.text(file)
    }

    /// The file and the line of a function's first instruction that has one. The call of an inlined function is the line of its caller.
    pub fn first_line(&self, function: u32) -> Option<(u32, u32)> {
        let Function { start, end, .. } = self.functions[function as usize];
        let lines = self.locations[start as usize..end as usize].iter();
        let lines = lines.flat_map(|location| [location.inlined_at, (location.file, location.source_line)]);
        lines.into_iter().find(|(_, line)| *line > 0)
    }

    /// The variables of all modules.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The samplers that the modules define, by the addresses of their variables. `address_of` gives the address of a variable.
    pub fn samplers(&self, address_of: impl Fn(u32) -> u64) -> Vec<(u64, Sampler)> {
        let sampler = |(number, variable): (usize, &Variable)| match variable.opaque {
            Some(Opaque::Sampler(sampler)) => Some((address_of(number as u32), sampler)),
            _ => None,
        };
        self.variables.iter().enumerate().filter_map(sampler).collect()
    }

    /// The kernels and device functions.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The kernels by name: indices into [`Program::functions`].
    pub fn kernels(&self) -> &HashMap<String, u32> {
        &self.kernels
    }

    /// Bytes of static shared memory, with the reserved ones and those between variables; dynamic shared memory follows.
    pub fn static_shared(&self) -> u64 {
        self.shared
    }

    /// The offsets of the reserved shared memory in a block; empty if no code reads where it is.
    pub(crate) fn reserved_shared(&self) -> Range<u64> {
        self.reserved..self.reserved + if self.reserves { RESERVED_SHARED } else { 0 }
    }

    /// The `.version`: ten times the major version plus the minor version.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The number behind `sm_` in `.target`: the virtual architecture that the program was compiled for.
    pub fn target(&self) -> u32 {
        self.target
    }

    /// Whether the program declares `malloc` or `cudaMalloc`, which its kernels may call.
    pub fn allocates(&self) -> bool {
        self.allocates
    }

    /// Whether the program declares `vprintf`, which its kernels may call.
    pub fn prints(&self) -> bool {
        self.prints
    }

    /// The limit of registers per thread that the image requests; 0 means no limit.
    pub fn max_registers(&self) -> u32 {
        self.max_registers
    }

    /// The bytes of shared memory around an offset that belong to variables without a gap; empty for an offset in a gap.
    pub(crate) fn shared_without_gaps(&self, offset: u64) -> (u64, u64) {
        let next = self.shared_gaps.partition_point(|gap| gap.1 <= offset);
        let start = next.checked_sub(1).map_or(0, |before| self.shared_gaps[before].1);
        (start, self.shared_gaps.get(next).map_or(u64::MAX, |gap| gap.0))
    }

    /// The index of the static shared variable in front of an offset between two variables, and its end.
    pub fn shared_variable_before(&self, offset: u64) -> Option<(usize, u64)> {
        let shared = self.variables.iter().enumerate().filter(|(_, variable)| variable.space == Space::Shared);
        let ends = shared
            .filter(|(_, variable)| variable.size > 0)
            .map(|(at, variable)| (at, variable.offset + variable.size));
        ends.filter(|(_, end)| *end <= offset).max_by_key(|(_, end)| *end)
    }

    /// The index of the static shared variable that holds an offset; `None` in dynamic shared memory.
    pub fn shared_variable_at(&self, offset: u64) -> Option<usize> {
        let holds = |variable: &Variable| {
            variable.space == Space::Shared && (variable.offset..variable.offset + variable.size).contains(&offset)
        };
        self.variables.iter().position(holds)
    }

    /// The initial bytes of a variable without the trailing zeros. `address_of` gives the address of a variable in global or
    /// constant memory.
    pub fn initial_bytes(&self, variable: &Variable, address_of: impl Fn(u32) -> u64) -> Vec<u8> {
        let mut bytes = variable.contents.clone();
        for (offset, size, shift, constant) in &variable.addresses {
            let mut value = self.value(*constant, &address_of);
            if let Constant::Variable(number, _) = constant
                && self.variables[*number as usize].space == Space::Shared
            {
                value = value.wrapping_add(SHARED_WINDOW);
            }
            let (offset, size) = (*offset as usize, *size as usize);
            let value = (value >> shift).to_le_bytes();
            if let Some(target) = bytes.get_mut(offset..offset + size.min(8)) {
                target.copy_from_slice(&value[..size.min(8)]);
            }
        }
        bytes
    }

    /// The length of [`Program::constants`].
    pub(crate) fn constant_words(&self) -> usize {
        self.constants.iter().map(|(_, width)| constant_bytes(*width) as usize / 8).sum()
    }

    /// The constants as the code reads them, each repeated for every lane. `address_of` returns the address of a
    /// variable in global or constant memory.
    pub fn constants(&self, address_of: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut words = Vec::new();
        for (constant, width) in &self.constants {
            let value = self.value(*constant, &address_of);
            match width {
                // Padded to whole words; see `constant_bytes`.
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
    fn value(&self, constant: Constant, address_of: &impl Fn(u32) -> u64) -> u64 {
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

    /// The functions that a kernel can reach by calls, itself included. Calls through addresses reach every device
    /// function.
    pub fn reachable(&self, function: u32) -> Vec<u32> {
        // Each launch asks several times, and most kernels call nothing.
        let first = &self.functions[function as usize];
        if first.calls.is_empty() && !first.calls_address {
            return vec![function];
        }
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

    /// The offsets and values in a parameter buffer that can be the pointer from which the address of a store derives.
    pub fn pointers_of_store(&self, pc: u32, parameters: &[u64]) -> Vec<(u32, u64)> {
        let words = self.store_words.get(&pc).copied().unwrap_or(0);
        super::launch::pointers(words, parameters).collect()
    }

    /// Whether a kernel may access addresses that it loads from memory.
    pub fn may_load_addresses(&self, kernel: u32) -> bool {
        self.functions[kernel as usize].loads_addresses
    }

    /// How a kernel synchronizes with other launches and with the host.
    pub fn synchronization(&self, kernel: u32) -> Synchronization {
        let mut all = Synchronization::default();
        for number in self.reachable(kernel) {
            let function = &self.functions[number as usize];
            all.publishes |= function.publishes;
            all.observes |= function.observes;
            all.publishes_to_host |= function.publishes_to_host;
            all.waits |= function.waits;
        }
        all
    }

    /// The means by which the threads of a kernel can synchronize through memory.
    pub(crate) fn hand_over(&self, kernel: u32) -> HandOver {
        let mut all = HandOver::default();
        for number in self.reachable(kernel) {
            let HandOver { strong, stores, fences, results, invalidates } = self.functions[number as usize].hand_over;
            all.strong |= strong;
            all.stores |= stores;
            all.fences |= fences;
            all.results |= results;
            all.invalidates |= invalidates;
        }
        all
    }

    /// Whether the search for races knows which thread of a launch has written memory last.
    pub fn finds_writers(&self, kernel: u32) -> bool {
        self.hands_over(kernel)
    }

    /// Whether threads of a kernel can synchronize through memory.
    pub(crate) fn hands_over(&self, kernel: u32) -> bool {
        let HandOver { strong, stores, fences, results, .. } = self.hand_over(kernel);
        strong || (fences || stores) && results
    }

    /// Whether a kernel uses results of atomic operations and has no fence, so that nothing orders what they may hand over.
    pub fn may_lack_fences(&self, kernel: u32) -> bool {
        self.hand_over(kernel).results && !self.hands_over(kernel)
    }

    /// The static shared variables that a kernel uses, in the order of their declarations.
    fn shared_of(&self, kernel: u32) -> impl Iterator<Item = &Variable> {
        let reachable = self.reachable(kernel);
        let used = reachable.iter().flat_map(|number| &self.functions[*number as usize].shared);
        let mut used: Vec<u32> = used.copied().collect();
        used.sort_unstable();
        used.dedup();
        used.into_iter().map(|number| &self.variables[number as usize])
    }

    /// The names of the static shared variables that a kernel uses.
    pub fn shared_names(&self, kernel: u32) -> impl Iterator<Item = &str> {
        self.shared_of(kernel).map(|variable| variable.name.as_str())
    }

    /// The offsets of static shared memory from the first one that a kernel can use to the end of the last.
    pub(crate) fn shared_range(&self, kernel: u32) -> Range<u64> {
        let used = self.shared_of(kernel).filter(|variable| variable.size > 0);
        let used = used.map(|variable| variable.offset..variable.offset + variable.size);
        let reserved = Some(self.reserved_shared()).filter(|reserved| !reserved.is_empty());
        let all = used.chain(reserved).reduce(|all, one| all.start.min(one.start)..all.end.max(one.end));
        all.unwrap_or_default()
    }

    /// The bytes of static shared memory that a kernel uses.
    pub fn shared_bytes(&self, kernel: u32) -> u64 {
        let behind = |size: u64, variable: &Variable| size.next_multiple_of(variable.align.max(1)) + variable.size;
        self.shared_of(kernel).fold(0, behind)
    }

    /// The bytes of a kernel's parameters.
    pub fn parameter_bytes(&self, kernel: u32) -> u32 {
        let parameters = &self.functions[kernel as usize].parameters;
        parameters.iter().map(|parameter| parameter.offset + parameter.size).max().unwrap_or(0)
    }
}

impl Function {
    /// Whether a module defines the function. Other functions are only declared.
    pub fn is_defined(&self) -> bool {
        self.start < self.end
    }

    /// A hash of the offsets and sizes of the results and parameters.
    pub(crate) fn shape(&self) -> u64 {
        shape(&self.results, &self.parameters)
    }
}

/// A hash of the offsets and sizes of results and parameters.
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

/// The size of a constant in [`Program::constants`] in bytes, for all lanes.
pub(crate) fn constant_bytes(width: Width) -> u32 {
    width.bytes().max(8)
}

/// The bits of a constant, truncated to the width of its type.
pub(crate) fn constant_bits(ty: Type, value: u64) -> u64 {
    match ty.width() {
        Width::Predicate => u64::from(value != 0),
        Width::W32 if ty.bits() == 16 => value & 0xffff,
        Width::W32 if ty.bits() == 8 => value & 0xff,
        Width::W32 => value & 0xffff_ffff,
        Width::W64 | Width::W128 => value,
    }
}
