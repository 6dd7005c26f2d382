//! A launch as its caller describes it: the kernel, its memory and limits, the host's services, and the results.

use super::address_windows::SHARED_WINDOW;
use super::fault::{Fault, FaultKind};
use super::grid_sync;
use super::misuse::Misuse;
use super::program::{Program, constant_bytes};
use super::region::{Alias, Region, Strength};
use super::touched_range::TouchedRange;
use super::turns::KernelOrder;
use crate::grammar::types::Width;
use crate::races::Race;
use crate::texture::Textures;
use std::collections::BTreeSet;

/// How the instructions of a launch are executed. The results are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Code {
    /// By the interpreter.
    Interpreted,
    /// By code that is generated for the processor once a kernel has executed enough instructions, where it is faster. This needs an
    /// x86-64 processor with AVX2, and executable memory; other launches are interpreted.
    #[default]
    GeneratedIfWorth,
    /// By generated code from the first instruction on, where it is possible.
    Generated,
}

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
    /// The ranges of these addresses whose bytes have other addresses too, in ascending order and without overlap. The search
    /// for races compares the bytes.
    pub aliases: &'a [Alias],
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
    /// Whether races are reported by the letter of the PTX manual, also where much working code departs from it.
    pub strict: bool,
    /// Whether a read outside of all regions gives poison, so that the launch goes on. Needs `record`.
    pub poisons: bool,
    /// The order in which blocks and warps take turns.
    pub order: KernelOrder,
    /// The maximum number of instructions to execute; an instruction of a warp counts once.
    pub budget: u64,
    /// Whether the launch is cooperative: all blocks are resident, and the grid can synchronize.
    pub cooperative: bool,
    /// The time of the device at the start of the launch, in nanoseconds.
    pub time: u64,
    /// The cycles of the device in a millisecond.
    pub clock_rate: u32,
    /// The most warps that a multiprocessor of the device holds: `%nwarpid`.
    pub resident_warps: u32,
    /// The multiprocessors of the device: `%nsmid`.
    pub multiprocessors: u32,
    /// The most blocks of the launch that the device holds at once. Others start when one of them has ended.
    pub resident_blocks: usize,
    /// The number of the launch, unlike that of any other: `%gridid`.
    pub number: u64,
    /// The maximum number of host threads to use.
    pub workers: usize,
    /// How the instructions are executed.
    pub code: Code,
    /// The textures and surfaces by handle.
    pub textures: &'a Textures,
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
            aliases: &[],
            record: true,
            races: true,
            searched: u64::MAX,
            dependent: false,
            guesses: false,
            strict: false,
            poisons: false,
            order: KernelOrder::Forward,
            budget: 1 << 32,
            cooperative: false,
            time: 0,
            clock_rate: 1_000_000,
            resident_warps: 64,
            multiprocessors: 132,
            resident_blocks: 4096,
            number: 1,
            workers: 1,
            code: Code::default(),
            textures: Textures::NONE,
            service: &NoService,
        }
    }
}

impl Launch<'_> {
    /// Whether the kernel can release to other launches, or acquire from them, and this is recorded.
    pub(super) fn hands_over(&self) -> bool {
        let synchronization = self.program.synchronization(self.kernel);
        self.record && (synchronization.publishes || synchronization.observes)
    }

    /// Whether no store of the kernel may address the region, for each region: the parameters from which the addresses of stores
    /// derive point to other regions. Empty if the sources of the addresses are not known, or if nothing is recorded.
    pub(super) fn only_read(&self) -> Vec<bool> {
        let stored = self.program.functions[self.kernel as usize].stored.as_ref().filter(|_| self.races || self.record);
        let Some(sets) = stored else { return Vec::new() };
        let mut only_read: Vec<bool> = self.regions.iter().map(|region| region.start != grid_sync::ADDRESS).collect();
        for words in sets {
            // The addresses of variables, and addresses that the code has as numbers.
            let mut place = 0;
            let constants = self.program.constants.iter().filter_map(|(_, width)| {
                let value = self.constants[place];
                place += constant_bytes(*width) as usize / 8;
                (*width == Width::W64).then_some(value)
            });
            // Without a number that can be an address, parameters are offsets from a variable.
            let numbers = || pointers(*words, self.parameters).filter(|(offset, _)| offset % 8 == 0);
            let from_parameters = numbers().any(|(_, number)| (LOWEST..SHARED_WINDOW).contains(&number));
            let mut found = false;
            for address in constants {
                found |= self.point(address, true, &mut only_read) && !from_parameters;
            }
            for (offset, address) in pointers(*words, self.parameters) {
                found |= self.point(address, offset % 8 == 0, &mut only_read);
            }
            if !found {
                // The parameters have the address in a form that is not known.
                return Vec::new();
            }
        }
        let stored =
            self.regions.iter().zip(&only_read).filter(|(region, only_read)| region.group != 0 && !**only_read);
        let stored: BTreeSet<u64> = stored.map(|(region, _)| region.group).collect();
        let grouped: Vec<bool> = self.regions.iter().map(|region| stored.contains(&region.group)).collect();
        // A store through another mapping has another address.
        let has_alias = |region: &Region| {
            self.aliases.iter().any(|alias| {
                let meets = |start: u64, end: u64| start < region.end && end > region.start;
                meets(alias.start, alias.end) || meets(alias.stands_for, alias.stands_for + (alias.end - alias.start))
            })
        };
        let each = only_read.iter().zip(grouped).zip(self.regions);
        each.map(|((only_read, grouped), region)| *only_read && !grouped && !has_alias(region)).collect()
    }

    /// Clears the flags of the regions that a pointer may mean; returns whether it points into one. A pointer may lie in the bytes
    /// behind its region, or at its end, although another region starts there. An aligned one may lie outside of its region, if the
    /// code adds an offset that leads back.
    fn point(&self, address: u64, aligned: bool, only_read: &mut [bool]) -> bool {
        let first = self.regions.partition_point(|region| region.end + region.slack.max(1) <= address);
        let end = self.regions.partition_point(|region| region.start <= address);
        only_read[first.min(end)..end].fill(false);
        if first >= end && aligned && (LOWEST..SHARED_WINDOW).contains(&address) {
            only_read[end.saturating_sub(1)..(end + 1).min(self.regions.len())].fill(false);
        }
        first < end
    }

    /// The blocks of a cluster along x, y and z.
    pub(super) fn cluster_extents(&self) -> [u32; 3] {
        self.cluster.unwrap_or([1; 3])
    }

    /// The number of threads of a block.
    pub(super) fn block_threads(&self) -> u32 {
        self.threads.iter().product()
    }

    /// The number of blocks of a cluster.
    pub(super) fn cluster_blocks(&self) -> u32 {
        self.cluster_extents().iter().product()
    }

    /// The number of clusters: of blocks, if the launch has no clusters.
    pub(super) fn cluster_count(&self) -> u64 {
        self.clusters().iter().map(|extent| u64::from(*extent)).product()
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

/// Smaller numbers among a kernel's parameters are no addresses.
const LOWEST: u64 = 1 << 32;

/// The values of 8 bytes in the words of a set, with their offsets. A structure without padding has pointers at any offset.
pub(super) fn pointers(words: u64, parameters: &[u64]) -> impl Iterator<Item = (u32, u64)> {
    let word = move |index: usize| parameters.get(index).copied().filter(|_| index < 63 && words >> index & 1 == 1);
    (0..parameters.len().min(63)).flat_map(move |index| {
        let low = word(index);
        let high = word(index + 1);
        (0..8_u32).filter_map(move |byte| {
            let value = match byte {
                0 => low?,
                _ => low? >> (8 * byte) | high? << (64 - 8 * byte),
            };
            Some((index as u32 * 8 + byte, value))
        })
    })
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
    /// The widest release of the launch to other launches and the host, and its widest acquire; weak if it has none.
    pub handed_over: [Strength; 2],
    /// Races between threads of the launch.
    pub races: Vec<Race>,
    /// Accesses with undefined values, and accesses behind a region: the first of each instruction. Recorded with
    /// [`Launch::record`].
    pub misuses: Vec<Misuse>,
    /// The ranges that the launch has written with undefined values, such as copies of unwritten bytes.
    pub undefined: Vec<(u64, u64)>,
    /// The ranges of unwritten memory that were read by instructions that do not follow undefined values.
    pub unwritten_reads: Vec<(u64, u64)>,
    /// The output of `printf`, in the order of the blocks.
    pub printed: Vec<u8>,
}

/// How a launch can go on whose threads all wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outlook {
    /// Memory may change, so the launch looks again.
    Again,
    /// Memory may change only by work that does not run before the launch has ended, so the launch fails.
    OtherWork,
    /// Memory does not change: the threads wait forever.
    Never,
}

/// Handles calls of a kernel that need the host.
pub trait Service: Sync {
    /// Allocates for `malloc`: an address within the launch's regions, or 0 if memory is exhausted.
    fn allocate(&self, size: u64) -> u64;
    /// Frees an address for `free`. Returns the bytes of the block there, or 0 if there is none.
    fn free(&self, address: u64) -> u64;
    /// Reports a failed assertion.
    fn assertion(&self, text: &str);
    /// The parts of a range of device memory that nothing has written before the launch.
    fn unwritten(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let _ = (start, end);
        Vec::new()
    }
    /// Sets the condition of a graph for `cudaGraphSetConditional`.
    fn set_condition(&self, handle: u64, value: u32);
    /// Called when all threads wait, and only a change of memory from outside of the launch can end that. `addresses` are those that
    /// they read.
    fn outlook(&self, addresses: &[u64]) -> Outlook;
    /// Called every few milliseconds, at the instruction `pc` of a thread, when `finished` blocks have ended. Returns the failure with
    /// which the launch has to end.
    fn tick(&self, pc: u32, finished: u64) -> Option<FaultKind>;
}

/// A [`Service`] without a heap, which discards the texts of assertions and the values of conditions. It changes no memory, and sets no
/// limit of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoService;

impl Service for NoService {
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) -> u64 {
        0
    }
    fn assertion(&self, _: &str) {}
    fn set_condition(&self, _: u64, _: u32) {}
    fn outlook(&self, _: &[u64]) -> Outlook {
        Outlook::Never
    }
    fn tick(&self, _: u32, _: u64) -> Option<FaultKind> {
        None
    }
}
