//! Requests of nonblocking and persistent calls, and the accesses that last until they are complete.

use crate::layout::Rows;
use crate::{Address, SUCCESS, calls, driver, library};
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// A call whose request is not complete.
struct Pending {
    /// The address of the request that the call set. Libraries give one handle to several calls that were complete at once.
    place: Address,
    held: Vec<u64>,
}

/// A persistent request: the function that made it, and its accesses each time it is started.
struct Persistent {
    name: &'static str,
    accesses: Vec<(bool, Rows)>,
}

#[derive(Default)]
struct Requests {
    pending: HashMap<u64, Vec<Pending>>,
    persistent: HashMap<u64, Persistent>,
}

fn requests() -> MutexGuard<'static, Requests> {
    static ALL: LazyLock<Mutex<Requests>> = LazyLock::new(Mutex::default);
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the lasting accesses of a call that has returned.
///
/// # Safety
/// If the result is a success, a request is at the address.
pub(crate) unsafe fn begun(result: c_int, place: Address, held: Vec<u64>) {
    if held.is_empty() {
        return;
    }
    if result != SUCCESS {
        held.into_iter().for_each(|number| driver::ends(c"MPI call that failed", number));
        return;
    }
    // SAFETY: by this function's contract.
    let handle = unsafe { library::handle_at(place) };
    requests().pending.entry(handle).or_default().push(Pending { place, held });
}

/// Remembers a persistent request.
///
/// # Safety
/// A request is at the address.
pub(crate) unsafe fn made(place: Address, name: &'static str, accesses: Vec<(bool, Rows)>) {
    if !accesses.is_empty() {
        // SAFETY: by this function's contract.
        let handle = unsafe { library::handle_at(place) };
        requests().persistent.insert(handle, Persistent { name, accesses });
    }
}

/// A request that a call names, as it is before the call.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    place: Address,
    handle: u64,
}

/// The requests of a list, before a call changes them.
///
/// # Safety
/// The address is that of `count` requests.
pub(crate) unsafe fn named(list: Address, count: c_int) -> Vec<Named> {
    let size = library::handle_size();
    let places = (0..usize::try_from(count).unwrap_or(0)).map(|index| list + index * size);
    // SAFETY: by this function's contract.
    places.map(|place| Named { place, handle: unsafe { library::handle_at(place) } }).collect()
}

impl Named {
    /// Begins the accesses of a persistent request.
    pub(crate) fn started(self) {
        let mut requests = requests();
        let Some(Persistent { name, accesses }) = requests.persistent.get(&self.handle) else { return };
        let held = calls::report_all(name, true, accesses);
        requests.pending.entry(self.handle).or_default().push(Pending { place: self.place, held });
    }

    /// Ends the accesses of a request that is complete.
    pub(crate) fn completed(self, name: &CStr) {
        let over = {
            let mut requests = requests();
            let Some(all) = requests.pending.remove(&self.handle) else { return };
            // A program may have copied its requests. Then all calls with this handle count as complete, so that none is a false finding.
            let is_here = |pending: &Pending| pending.place == self.place;
            let (over, left): (Vec<_>, Vec<_>) = match all.iter().any(is_here) {
                true => all.into_iter().partition(is_here),
                false => (all, Vec::new()),
            };
            if !left.is_empty() {
                requests.pending.insert(self.handle, left);
            }
            over
        };
        over.into_iter().flat_map(|pending| pending.held).for_each(|number| driver::ends(name, number));
    }

    /// Forgets a request that is freed. The program may know otherwise that it is complete, so its accesses end.
    pub(crate) fn freed(self) {
        self.completed(c"MPI_Request_free");
        requests().persistent.remove(&self.handle);
    }
}
