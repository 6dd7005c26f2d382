//! [`LaunchConfig`]: the grid and the blocks of a launch, checked against the kernel's limits.

use super::Function;
use crate::{Error, Result};

/// The grid, the blocks and the dynamic shared memory of a launch.
///
/// ```
/// use cuarray::kernel::LaunchConfig;
///
/// let config = LaunchConfig::for_elements(1000, 256)?; // one thread per element, in blocks of 256
/// assert_eq!(config, LaunchConfig::new([4, 1, 1], [256, 1, 1]));
/// let tiled = LaunchConfig::new([8, 8, 1], [16, 16, 1]).with_dynamic_shared(2 * 16 * 16 * 4);
/// assert_eq!(tiled.dynamic_shared, 2048);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LaunchConfig {
    /// Number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// Number of threads in a block, in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for each block.
    pub dynamic_shared: u32,
}

impl LaunchConfig {
    /// A configuration with a grid of equal blocks, without dynamic shared memory.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
        LaunchConfig { grid, block, dynamic_shared: 0 }
    }

    /// A configuration with one thread per element: blocks of `threads` threads along x. The last block may have more
    /// threads than elements remain, so the kernel must compare its index with the number of elements. For 0 elements
    /// there is one block, because a grid cannot be empty.
    ///
    /// # Errors
    /// A wrong argument: no threads, or more blocks than a grid can have (2³¹ − 1).
    pub fn for_elements(elements: usize, threads: u32) -> Result<LaunchConfig> {
        if threads == 0 {
            return Err(Error::argument("a block cannot have 0 threads"));
        }
        let blocks = elements.div_ceil(threads as usize).max(1);
        match i32::try_from(blocks) {
            Ok(blocks) => Ok(LaunchConfig::new([blocks.unsigned_abs(), 1, 1], [threads, 1, 1])),
            Err(_) => Err(Error::argument(format!(
                "{elements} elements in blocks of {threads} threads need {blocks} blocks, and a grid has at most 2147483647; let \
                 each thread process several elements"
            ))),
        }
    }

    /// Sets the dynamic shared memory of each block, in bytes.
    #[must_use]
    pub const fn with_dynamic_shared(self, bytes: u32) -> LaunchConfig {
        LaunchConfig { dynamic_shared: bytes, ..self }
    }

    pub(super) fn check(&self, function: &Function) -> Result<()> {
        let refused = |why: String| Err(Error::argument(format!("kernel {:?}: {why}", function.name())));
        let LaunchConfig { grid, block, dynamic_shared } = *self;
        if grid.contains(&0) || block.contains(&0) {
            return refused(format!("a grid of {grid:?} blocks of {block:?} threads is empty"));
        }
        if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return refused(format!(
                "a grid of {grid:?} blocks is too large; a grid has at most [2147483647, 65535, 65535]"
            ));
        }
        let threads = block.iter().map(|extent| u128::from(*extent)).product::<u128>();
        let most = function.max_threads_per_block();
        if threads > u128::from(most) {
            return refused(format!(
                "a block of {block:?} has {threads} threads, but the kernel allows at most {most}"
            ));
        }
        let most = function.max_dynamic_shared();
        if dynamic_shared > most {
            return refused(format!(
                "{dynamic_shared} bytes of dynamic shared memory are more than the {most} that the kernel allows; see \
                 Function::set_max_dynamic_shared"
            ));
        }
        Ok(())
    }
}
