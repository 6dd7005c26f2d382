//! The accesses of one call, and their report to the driver.

use crate::library::{comm_rank, comm_size, comm_test_inter};
use crate::{Address, Count, Handle, driver, layout};
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The accesses of one call.
pub(crate) struct Accesses {
    all: Vec<(bool, layout::Rows)>,
}

impl Accesses {
    /// Adds a read of elements.
    pub(crate) fn reads(&mut self, buffer: Address, count: impl Into<Count>, datatype: Handle, comm: Handle) {
        self.add(false, buffer, count.into(), datatype, comm);
    }

    /// Adds a write of elements.
    pub(crate) fn writes(&mut self, buffer: Address, count: impl Into<Count>, datatype: Handle, comm: Handle) {
        self.add(true, buffer, count.into(), datatype, comm);
    }

    fn add(&mut self, writes: bool, buffer: Address, count: Count, datatype: Handle, comm: Handle) {
        if !is_in_place(buffer) {
            self.all.extend(layout::rows(buffer, count, datatype, comm).into_iter().map(|rows| (writes, rows)));
        }
    }
}

/// Whether an argument is `MPI_IN_PLACE`: 1 in Open MPI and in the standard ABI, -1 in MPICH.
pub(crate) fn is_in_place(buffer: Address) -> bool {
    buffer == 1 || buffer == usize::MAX
}

/// Reports the accesses of a call. Returns the numbers of those that last.
pub(crate) fn report(name: &'static str, lasts: bool, add: impl FnOnce(&mut Accesses)) -> Vec<u64> {
    report_all(name, lasts, &described(add))
}

/// The accesses of a call; none without the simulated driver. No panic may unwind into the program.
pub(crate) fn described(add: impl FnOnce(&mut Accesses)) -> Vec<(bool, layout::Rows)> {
    let collect = || {
        let mut accesses = Accesses { all: Vec::new() };
        if driver::is_loaded() {
            add(&mut accesses);
        }
        accesses.all
    };
    catch_unwind(AssertUnwindSafe(collect)).unwrap_or_default()
}

/// Reports accesses that have been described. Returns the numbers of those that last.
pub(crate) fn report_all(name: &'static str, lasts: bool, all: &[(bool, layout::Rows)]) -> Vec<u64> {
    let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { return Vec::new() };
    all.iter().filter_map(|(writes, rows)| driver::begins(name, *writes, *rows, lasts)).collect()
}

/// A process's place in the group of a collective call.
pub(crate) struct Group {
    pub(crate) rank: c_int,
    pub(crate) size: c_int,
}

impl Group {
    /// The group of a communicator; `None` if it connects two groups, whose collective calls are not reported.
    pub(crate) fn of(comm: Handle) -> Option<Group> {
        let (mut inter, mut rank, mut size) = (0, 0, 0);
        // SAFETY: the numbers are live, and the program passes the communicator of its call.
        unsafe {
            comm_test_inter(comm, &mut inter)?;
            comm_rank(comm, &mut rank)?;
            comm_size(comm, &mut size)?;
        }
        (inter == 0).then_some(Group { rank, size })
    }
}
