//! A launch as its caller describes it: the kernel, its memory and limits, the host's services, and the results.

use super::fault::Fault;
use super::misuse::Misuse;
use super::program::Program;
use super::region::{Region, TouchedRange};
use crate::races::Race;

/// A kernel with its arguments, its memory and its limits.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The program of the kernel.
    pub program: &'a Program,
    /// The kernel's number among [`Program::functions`].
    pub kernel: u32,
    /// The program's constants, from [`Program::constants`].
    pub constants: &'a [u64],
    /// Blocks of the grid along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub threads: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// The parameter buffer in words of 64 bits: at least [`Program::parameter_bytes`].
    pub parameters: &'a [u64],
    /// The memory that the kernel can access, in ascending order and without overlap.
    pub regions: &'a [Region],
    /// Whether to record [`Outcome::touched`].
    pub record: bool,
    /// Whether to record [`Outcome::races`].
    pub races: bool,
    /// Whether a plain read races if its value is only the first comparison of a compare-and-swap loop.
    pub guesses: bool,
    /// The maximum number of instructions to execute; an instruction of a warp counts once.
    pub budget: u64,
    /// Whether the launch is cooperative: all blocks are resident, and the grid can synchronize.
    pub cooperative: bool,
    /// The maximum number of host threads to use.
    pub workers: usize,
    /// The handler of calls that need the host.
    pub service: &'a dyn Service,
}

impl<'a> Launch<'a> {
    /// One thread of a kernel, without memory: a start for struct update syntax.
    ///
    /// Races and touched ranges are recorded. The budget is 2³² instructions, on one host thread.
    pub fn new(program: &'a Program, kernel: u32, constants: &'a [u64], parameters: &'a [u64]) -> Launch<'a> {
        Launch {
            program,
            kernel,
            constants,
            grid: [1; 3],
            threads: [1; 3],
            dynamic_shared: 0,
            parameters,
            regions: &[],
            record: true,
            races: true,
            guesses: false,
            budget: 1 << 32,
            cooperative: false,
            workers: 1,
            service: &NoService,
        }
    }
}

/// The results of a launch.
#[derive(Default, Debug)]
pub struct Outcome {
    /// The first failure; it ends the launch.
    pub fault: Option<Fault>,
    /// Executed instructions, summed over the threads.
    pub instructions: u64,
    /// The accessed ranges: reads, then writes, then updates, each in ascending order.
    pub touched: Vec<TouchedRange>,
    /// Races between threads of the launch.
    pub races: Vec<Race>,
    /// Accesses with undefined values, and accesses behind a region: the first of each instruction. Recorded with
    /// [`Launch::record`].
    pub misuses: Vec<Misuse>,
    /// The output of `printf`, in the order of the blocks.
    pub printed: Vec<u8>,
}

/// Handles calls of a kernel that need the host.
pub trait Service: Sync {
    /// Allocates for `malloc`: an address within the launch's regions, or 0 if memory is exhausted.
    fn allocate(&self, size: u64) -> u64;
    /// Frees an address for `free`.
    fn free(&self, address: u64);
    /// Reports a failed assertion.
    fn assertion(&self, text: &str);
}

/// A [`Service`] without a heap, which discards the texts of assertions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoService;

impl Service for NoService {
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) {}
    fn assertion(&self, _: &str) {}
}
