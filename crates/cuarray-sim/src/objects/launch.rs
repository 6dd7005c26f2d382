//! Kernel launches: a kernel with its arguments and settings.

use crate::objects::launch_attributes::{Attributes, of_word};
use cuarray_abi::*;
use cuarray_ptx::Program;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

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
    /// The addresses of the managed variables that the kernel may access.
    pub managed: Arc<[u64]>,
    pub cooperative: bool,
    /// Whether the launch may begin before the previous kernel of its stream has completed. Nodes of graphs have edges
    /// for this.
    pub dependent: bool,
    /// The attributes without the three above.
    pub attributes: Attributes,
    pub settings: Settings,
    /// The address of each parameter, computed at the first query.
    pub pointers: OnceLock<Box<[usize]>>,
}

impl Clone for Launch {
    /// The addresses of the parameters are those of the clone.
    fn clone(&self) -> Launch {
        Launch {
            context: self.context,
            function: self.function,
            program: self.program.clone(),
            constants: self.constants.clone(),
            kernel: self.kernel,
            grid: self.grid,
            threads: self.threads,
            cluster: self.cluster,
            cluster_attribute: self.cluster_attribute,
            dynamic_shared: self.dynamic_shared,
            parameters: self.parameters.clone(),
            managed: self.managed.clone(),
            cooperative: self.cooperative,
            dependent: self.dependent,
            attributes: self.attributes.clone(),
            settings: self.settings,
            pointers: OnceLock::new(),
        }
    }
}

impl Launch {
    /// Gives a launch without a priority the one of the stream that captures it.
    pub(crate) fn inherit_priority(&mut self, priority: i32) {
        if priority != 0 {
            let value = of_word(u64::from(priority as u32), 0);
            self.attributes.entry(CU_LAUNCH_ATTRIBUTE_PRIORITY).or_insert(value);
        }
    }

    /// The words that may be addresses of host memory.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.parameters.iter().chain(&*self.managed).copied()
    }

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
    /// Whether the device lets a dependent launch begin early.
    pub overlaps: bool,
    pub budget: u64,
    /// The limit of the launch's time.
    pub longest: Duration,
    /// The time that others have to change memory that the kernel waits for.
    pub memory_wait: Duration,
    /// Whether signals that the program handles end the launch.
    pub interrupts: bool,
    pub cores: usize,
    /// Whether code is generated for the kernel.
    pub code: cuarray_ptx::Code,
    pub quiet: bool,
    /// Whether races between threads are checked.
    pub races: bool,
    /// The most bytes that a launch is searched for races in.
    pub searched: u64,
    /// The cycles of a device in a millisecond.
    pub clock_rate: u32,
    /// The most warps that a multiprocessor holds.
    pub resident_warps: u32,
    pub multiprocessors: u32,
    /// The most blocks of the launch that the device holds.
    pub resident_blocks: u32,
    /// Whether the first read of a compare-and-swap loop can race.
    pub guesses: bool,
    /// Whether races between threads are reported by the letter of the manual.
    pub strict: bool,
    /// Whether a read outside of all allocations gives poison.
    pub poisons: bool,
    /// The order in which blocks and warps take turns.
    pub order: cuarray_ptx::KernelOrder,
    /// Whether the launch is searched for races in other orders too.
    pub every_order: bool,
}
