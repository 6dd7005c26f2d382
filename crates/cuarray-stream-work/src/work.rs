//! The description of a work, and the host function that computes it.

use crate::data::{Argument, Data};
use crate::driver::{Error, Result};
use crate::region::{Region, Rows};
use crate::staging::Lease;
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The alignment of arguments in staging memory.
const ALIGNMENT: usize = 64;

#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) name: &'static CStr,
    pub(crate) region: Region,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// Whether the function may not use the bytes that are read.
    pub(crate) may_ignore: bool,
    /// The place in staging memory.
    pub(crate) offset: usize,
}

/// The arguments of a call of a library, as they are read and written.
#[derive(Debug, Default)]
pub struct Work {
    arguments: Vec<Described>,
    /// The arguments that a function uses for intermediate values.
    scratch: Vec<(&'static CStr, Rows)>,
}

impl Work {
    /// A work without arguments.
    pub fn new() -> Work {
        Work::default()
    }

    /// Adds an argument that is read.
    pub fn reads(&mut self, name: &'static CStr, region: Region) -> Argument {
        self.add(name, region, true, false, false)
    }

    /// Adds an argument that is read. The closure decides whether it uses the argument.
    pub fn may_read(&mut self, name: &'static CStr, region: Region) -> Argument {
        self.add(name, region, true, false, true)
    }

    /// Adds an argument that is written. The closure must write all bytes of its blocks.
    pub fn writes(&mut self, name: &'static CStr, region: Region) -> Argument {
        self.add(name, region, false, true, false)
    }

    /// Adds an argument that is read and written.
    pub fn updates(&mut self, name: &'static CStr, region: Region) -> Argument {
        self.add(name, region, true, true, false)
    }

    /// Adds an argument that is written. The closure decides whether it reads the argument first.
    pub fn may_update(&mut self, name: &'static CStr, region: Region) -> Argument {
        self.add(name, region, true, true, true)
    }

    /// Adds an argument whose bytes the function uses for intermediate values. They are overwritten in stream order, and the closure does not
    /// see them.
    pub fn scratch(&mut self, name: &'static CStr, address: u64, bytes: usize) {
        self.scratch.push((name, Rows { address, width: bytes, height: 1, pitch: 0 }));
    }

    fn add(&mut self, name: &'static CStr, region: Region, reads: bool, writes: bool, may_ignore: bool) -> Argument {
        self.arguments.push(Described { name, region, reads, writes, may_ignore, offset: 0 });
        Argument(self.arguments.len() - 1)
    }

    /// Places the arguments in staging memory. Returns its size.
    pub(crate) fn place(&mut self) -> Result<usize> {
        let mut size = 0_usize;
        for argument in &mut self.arguments {
            argument.region.check()?;
            argument.offset = size;
            let end = size.checked_add(argument.region.size()).ok_or(Error::Size)?;
            size = end.checked_next_multiple_of(ALIGNMENT).ok_or(Error::Size)?;
        }
        Ok(size)
    }

    pub(crate) fn scratches(&self) -> impl Iterator<Item = (&'static CStr, Rows)> {
        self.scratch.iter().copied().filter(|(_, rows)| rows.width > 0)
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Described> {
        self.arguments.iter()
    }
}

type Closure = Box<dyn Fn(&mut Data<'_>) + Send + Sync>;

/// A work that is enqueued, or a node of a graph.
pub(crate) struct Enqueued {
    function: &'static CStr,
    /// The staging memory.
    base: usize,
    /// The right to use the staging memory, if the work may run again.
    _lease: Option<Lease>,
    /// The places of the arguments in staging memory: offset and size.
    places: Vec<(usize, usize)>,
    closure: Closure,
}

impl Enqueued {
    pub(crate) fn new(
        function: &'static CStr,
        base: usize,
        lease: Option<Lease>,
        work: &Work,
        closure: Closure,
    ) -> Enqueued {
        let places = work.arguments().map(|argument| (argument.offset, argument.region.size())).collect();
        Enqueued { function, base, _lease: lease, places, closure }
    }

    /// The pointer for a host function.
    pub(crate) fn into_raw(self) -> *mut c_void {
        Box::into_raw(Box::new(self)).cast()
    }

    /// Computes. No panic may unwind into the driver.
    fn run(&self) {
        let compute = || {
            let base = self.base as *mut u8;
            let slice = |&(offset, size): &(usize, usize)| {
                // SAFETY: the places lie in the staging memory and do not overlap. Nothing else accesses them until this function returns: the
                // copies around it are ordered by the stream.
                unsafe { std::slice::from_raw_parts_mut(base.add(offset), size) }
            };
            (self.closure)(&mut Data::new(self.places.iter().map(slice).collect()));
        };
        if catch_unwind(AssertUnwindSafe(compute)).is_err() {
            use std::io::Write;
            // Standard error may be closed.
            let _ = writeln!(
                std::io::stderr(),
                "cuarray-sim: {} failed inside the stand-in, so its results are wrong. This is a bug of the stand-in, not of the \
                 program: please report it with the message above.",
                self.function.to_string_lossy()
            );
        }
    }
}

/// Computes a work that runs once, and frees it.
pub(crate) unsafe extern "C" fn run_once(work: *mut c_void) {
    // SAFETY: the pointer is that of `Box::into_raw`, and the driver calls the function once.
    let work = unsafe { Box::from_raw(work.cast::<Enqueued>()) };
    work.run();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
}

/// Computes a work of a graph, which may run again.
pub(crate) unsafe extern "C" fn run_again(work: *mut c_void) {
    // SAFETY: the graph keeps the work alive by a user object.
    unsafe { &*work.cast::<Enqueued>() }.run();
}

/// Frees a work of a graph that no longer exists.
pub(crate) unsafe extern "C" fn drop_work(work: *mut c_void) {
    // SAFETY: the pointer is that of `Box::into_raw`, and the driver calls the destructor once.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(work.cast::<Enqueued>()) })));
}
