//! A launch as its caller describes it: the kernel, its memory and limits, the host's services, and the results.

use super::fault::Fault;
use super::misuse::Misuse;
use super::program::{Program, constant_bytes};
use super::region::{Region, TouchedRange};
use crate::grammar::types::Width;
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
    /// Blocks of a cluster along x, y and z, which divide the grid; `None` if the launch has no clusters.
    pub cluster: Option<[u32; 3]>,
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
    /// The most bytes of global memory that are searched for races; of more memory, only a part is searched.
    pub searched: u64,
    /// Whether the launch may begin before its prerequisite grids have completed. Accesses of threads that have not waited for
    /// these grids are then recorded apart, in [`Outcome::before_wait`]. Needs `record` and `races`.
    pub dependent: bool,
    /// Whether a plain read races if its value is only the first comparison of a compare-and-swap loop.
    pub guesses: bool,
    /// The maximum number of instructions to execute; an instruction of a warp counts once.
    pub budget: u64,
    /// Whether the launch is cooperative: all blocks are resident, and the grid can synchronize.
    pub cooperative: bool,
    /// The time of the device at the start of the launch, in nanoseconds.
    pub time: u64,
    /// The cycles of the device in a millisecond.
    pub clock_rate: u32,
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
            cluster: None,
            dynamic_shared: 0,
            parameters,
            regions: &[],
            record: true,
            races: true,
            searched: u64::MAX,
            dependent: false,
            guesses: false,
            budget: 1 << 32,
            cooperative: false,
            time: 0,
            clock_rate: 1_000_000,
            workers: 1,
            service: &NoService,
        }
    }
}

impl Launch<'_> {
    /// Whether no store of the kernel addresses the region, for each region: a store's address derives from a parameter in
    /// another region. Empty if the sources of the addresses are not known, or if races are not recorded.
    pub(super) fn only_read(&self) -> Vec<bool> {
        let Some(words) = self.program.functions[self.kernel as usize].stored.filter(|_| self.races) else {
            return Vec::new();
        };
        let mut only_read = vec![true; self.regions.len()];
        // A pointer may lie at the end of its region, or before it.
        let mut addressed = |address: u64| {
            let first = self.regions.partition_point(|region| region.end + region.slack < address);
            let last = self.regions.partition_point(|region| region.end <= address);
            only_read.iter_mut().take(last + 1).skip(first).for_each(|only_read| *only_read = false);
        };
        for (index, word) in self.parameters.iter().enumerate().take(63) {
            if words >> index & 1 == 1 {
                addressed(*word);
            }
        }
        // The addresses of variables, and addresses that the code has as numbers.
        let mut place = 0;
        for (_, width) in &self.program.constants {
            if *width == Width::W64 {
                addressed(self.constants[place]);
            }
            place += constant_bytes(*width) as usize / 8;
        }
        only_read
    }

    /// The blocks of a cluster along x, y and z.
    pub(super) fn cluster_extents(&self) -> [u32; 3] {
        self.cluster.unwrap_or([1; 3])
    }

    /// The number of blocks of a cluster.
    pub(super) fn cluster_blocks(&self) -> u32 {
        self.cluster_extents().iter().product()
    }

    /// The clusters of the grid along x, y and z.
    pub(super) fn clusters(&self) -> [u32; 3] {
        let extents = self.cluster_extents();
        [0, 1, 2].map(|axis| self.grid[axis] / extents[axis])
    }

    /// The number of bits that hold the rank of a block.
    pub(super) fn rank_bits(&self) -> u32 {
        u32::BITS - (self.cluster_blocks() - 1).leading_zeros()
    }

    /// The index of a block, by the number of its cluster and its rank.
    pub(super) fn block_index(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let (place, within) = (index_in(self.clusters(), cluster), index_in(self.cluster_extents(), rank.into()));
        let extents = self.cluster_extents();
        [0, 1, 2].map(|axis| place[axis] * extents[axis] + within[axis])
    }

    /// The linear number of a block in the grid, by its index.
    pub(super) fn block_number(&self, index: [u32; 3]) -> u64 {
        let [x, y, z] = index.map(u64::from);
        let [width, height, _] = self.grid.map(u64::from);
        x + width * (y + height * z)
    }

    /// The number of the cluster that holds a block.
    pub(super) fn cluster_of(&self, block: u64) -> u64 {
        let (index, extents) = (index_in(self.grid, block), self.cluster_extents());
        let [x, y, z] = [0, 1, 2].map(|axis| u64::from(index[axis] / extents[axis]));
        let [width, height, _] = self.clusters().map(u64::from);
        x + width * (y + height * z)
    }

    /// Converts cycles to nanoseconds.
    pub(super) fn nanoseconds(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * 1_000_000 / u128::from(self.clock_rate.max(1))) as u64
    }

    /// Converts nanoseconds to cycles.
    pub(super) fn cycles(&self, nanoseconds: u64) -> u64 {
        (u128::from(nanoseconds) * u128::from(self.clock_rate) / 1_000_000) as u64
    }
}

/// The index along x, y and z of a linear number.
pub(super) fn index_in(extents: [u32; 3], number: u64) -> [u32; 3] {
    let [x, y, _] = extents.map(|extent| u64::from(extent.max(1)));
    [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32]
}

/// The results of a launch.
#[derive(Default, Debug)]
pub struct Outcome {
    /// The first failure; it ends the launch.
    pub fault: Option<Fault>,
    /// Executed instructions, summed over the threads.
    pub instructions: u64,
    /// The time that the launch takes in nanoseconds: that of its longest block.
    pub nanoseconds: u64,
    /// The accessed ranges: reads, then writes, then updates, each in ascending order.
    pub touched: Vec<TouchedRange>,
    /// The ranges that threads of a [dependent](Launch::dependent) launch accessed before `griddepcontrol.wait`, ordered as
    /// `touched`, which then has the other accesses.
    pub before_wait: Vec<TouchedRange>,
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
