//! Kernel launches: a kernel with its arguments and settings.

use cuarray_abi::*;
use cuarray_ptx::Program;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

/// A kernel with its arguments.
pub(crate) struct Launch {
    pub context: CUcontext,
    pub function: CUfunction,
    pub program: Arc<Program>,
    pub constants: Arc<Vec<u64>>,
    pub kernel: u32,
    pub grid: [u32; 3],
    pub threads: [u32; 3],
    /// The blocks of a cluster along x, y and z; `None` without clusters.
    pub cluster: Option<[u32; 3]>,
    /// The cluster that an attribute of the launch states.
    pub cluster_attribute: Option<[u32; 3]>,
    pub dynamic_shared: u32,
    pub parameters: Vec<u64>,
    pub cooperative: bool,
    /// Whether the launch may begin before the previous kernel of its stream has completed.
    pub dependent: bool,
    pub settings: Settings,
    /// The address of each parameter, computed at the first query.
    pub pointers: OnceLock<Box<[usize]>>,
}

impl Launch {
    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.program.functions()[self.kernel as usize].name
    }

    /// The list of pointers to the arguments, for reading; valid as long as the launch.
    pub(crate) fn argument_pointers(&self) -> *mut *mut c_void {
        let pointers = self.pointers.get_or_init(|| {
            let start = self.parameters.as_ptr() as usize;
            let parameters = &self.program.functions()[self.kernel as usize].parameters;
            parameters.iter().map(|parameter| start + parameter.offset as usize).collect()
        });
        pointers.as_ptr().cast_mut().cast()
    }
}

/// Whether clusters of these extents fill a grid.
pub(crate) fn divides(extents: [u32; 3], grid: [u32; 3]) -> bool {
    grid.iter().zip(extents).all(|(blocks, extent)| extent > 0 && blocks % extent == 0)
}

/// The settings of launches in a driver's configuration.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub budget: u64,
    pub cores: usize,
    pub quiet: bool,
    /// Whether races between threads are checked.
    pub races: bool,
    /// The most bytes that a launch is searched for races in.
    pub searched: u64,
    /// The cycles of a device in a millisecond.
    pub clock_rate: u32,
    /// Whether the first read of a compare-and-swap loop can race.
    pub guesses: bool,
    /// Whether races between threads are reported by the letter of the manual.
    pub strict: bool,
    /// The order in which blocks and warps take turns.
    pub order: cuarray_ptx::KernelOrder,
}
