//! Host accesses to memory that devices use too: pinned, registered and managed memory, and pageable memory that devices access.
//!
//! Host reads and writes are not driver calls, so pages are protected to detect them. Pages that a device may still
//! write are closed to the host, and pages that devices may still read are closed to host writes. An access to a closed
//! page is unordered with the device's work. It is logged with its call site, the pages are opened, and the access
//! continues. The driver itself reaches these pages at other addresses.
//!
//! The host's knowledge counts, not whether the work has run: a race is a race even if this run won it.
//! `CUARRAY_SIM_HOST_ACCESSES=0` disables all of it.

mod fault;
mod heap_block;
mod instruction;
mod page;
mod pageable;
#[cfg(any(target_arch = "aarch64", test))]
mod syndrome;
pub(crate) mod valgrind;

pub(crate) use fault::{Fault, any_logged, explain_faults_in, take_logged};

use crate::pages::page_size;
use crate::pages::process_map::ProcessMap;
use cuarray_races::{Clock, Operation};
use fault::Watch;
use page::{Access, Closed};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum number of uses remembered per allocation; further ones are not detected.
const USES: usize = 256;

/// The memory of one driver for which host accesses are watched.
pub(crate) struct HostAccess {
    /// The driver's number; `None` if nothing is watched.
    driver: Option<u64>,
    areas: BTreeMap<u64, Watched>,
    /// The addresses of areas that devices use or have used.
    active: BTreeSet<u64>,
    /// The addresses of areas whose protection may have to change.
    stale: BTreeSet<u64>,
    /// Whether the program's own memory was opened since the last change of protections, so that all areas in use are stale.
    opened: AtomicBool,
    /// Whether any area is stale, for readers without the driver's lock.
    changed: Arc<AtomicBool>,
}

/// The kind of watched memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MemoryKind {
    /// Of the driver, which has another address for it.
    OfDriver,
    /// The program's own, page-locked.
    Registered,
    /// The program's own, watched only while devices use it, because the driver does not see its release.
    Pageable,
}

/// An allocation, with those of its pages that may be closed.
struct Watched {
    behind: u64,
    pages: (u64, u64),
    memory: MemoryKind,
    watch: Watch,
    uses: Vec<Use>,
    /// Whether the memory does not exist for the program at present, so that all of it is closed.
    shut: bool,
    closed: Vec<Closed>,
}

/// A device's use of some bytes that the host may not have waited for.
pub(crate) struct Use {
    pub bytes: (u64, u64),
    pub writes: bool,
    /// Whether a kernel only received the address; its accesses are known after it has run.
    pub unknown: bool,
    /// The operation with this use, and its clock; of several operations of one lane, the last.
    pub operation: Arc<Operation>,
    pub clock: Clock,
}

impl HostAccess {
    /// Watches the host for the driver of this number, if any.
    pub(crate) fn new(driver: Option<u64>, changed: Arc<AtomicBool>) -> HostAccess {
        let (areas, active, stale) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        HostAccess { driver, areas, active, stale, opened: AtomicBool::new(false), changed }
    }

    /// Whether host accesses are watched.
    pub(crate) fn on(&self) -> bool {
        self.driver.is_some()
    }

    /// The driver's number, if the host is watched for it.
    pub(crate) fn driver(&self) -> Option<u64> {
        self.driver
    }

    /// Whether any memory is watched; pageable memory may be only once a kernel uses it.
    pub(crate) fn watches(&self) -> bool {
        !self.areas.is_empty()
    }

    /// Starts to watch an allocation of the driver; `pages` are those that may be closed.
    pub(crate) fn add(&mut self, address: u64, size: u64, pages: Option<(u64, u64)>) {
        self.watch(address, size, pages, MemoryKind::OfDriver);
    }

    fn watch(&mut self, address: u64, size: u64, pages: Option<(u64, u64)>, memory: MemoryKind) {
        let (Some(driver), Some(pages)) = (self.driver, pages) else { return };
        if let Some(watch) = Watch::new(driver, pages.0, pages.1) {
            let (uses, closed, behind) = (Vec::new(), Vec::new(), address + size);
            self.areas.insert(address, Watched { behind, pages, memory, watch, uses, shut: false, closed });
        }
    }

    /// Starts to watch the program's own memory: the pages that it fills, if they are readable and writable.
    pub(crate) fn add_registered(&mut self, address: u64, size: u64) {
        if self.on() {
            let writable = |pages: &(u64, u64)| ProcessMap::read().is_writable(pages.0..pages.1);
            let pages = whole_pages(&(address..address + size)).filter(writable);
            self.watch(address, size, pages, MemoryKind::Registered);
        }
    }

    /// Stops watching an allocation and opens it; its pages must still exist.
    pub(crate) fn remove(&mut self, address: u64) {
        self.areas.remove(&address);
        self.active.remove(&address);
        self.stale.remove(&address);
    }

    /// Closes a whole allocation to the host, or ends that. It has no effect on memory that is not watched.
    pub(crate) fn shut(&mut self, address: u64, shut: bool) {
        if let Some(area) = self.areas.get_mut(&address).filter(|area| area.shut != shut) {
            area.shut = shut;
            self.stale.insert(address);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// Records that a device operation reads or writes bytes. With `last` it replaces earlier uses by its lane: a
    /// thread that is ordered after the later operation is ordered after the earlier ones too.
    pub(crate) fn used(
        &mut self,
        bytes: (u64, u64),
        writes: bool,
        operation: &Arc<Operation>,
        clock: &Clock,
        last: bool,
    ) {
        let of = Use { bytes, writes, unknown: false, operation: operation.clone(), clock: clock.clone() };
        self.add_use(of, last);
    }

    /// Records that a kernel received an address, and may access the whole allocation.
    pub(crate) fn given(&mut self, address: u64, operation: &Arc<Operation>, clock: &Clock, last: bool) {
        let Some((start, area)) = self.areas.range(..=address).next_back() else { return };
        if address < area.behind {
            let (bytes, operation, clock) = ((*start, area.behind), operation.clone(), clock.clone());
            self.add_use(Use { bytes, writes: true, unknown: true, operation, clock }, last);
        }
    }

    /// Records that a kernel has run: from now on only its [uses](HostAccess::used) count.
    pub(crate) fn has_run(&mut self, operation: &Arc<Operation>) {
        for address in &self.active {
            let Some(area) = self.areas.get_mut(address) else { continue };
            let before = area.uses.len();
            area.uses.retain(|of| !of.unknown || !Arc::ptr_eq(&of.operation, operation));
            if area.uses.len() < before {
                self.stale.insert(*address);
                self.changed.store(true, Ordering::Relaxed);
            }
        }
    }

    fn add_use(&mut self, of: Use, last: bool) {
        let Some((address, area)) = self.areas.range_mut(..of.bytes.1).next_back() else { return };
        if of.bytes.0 >= area.behind {
            return;
        }
        let key = |of: &Use| (of.bytes, of.writes, of.unknown, of.clock.lane);
        let index = area.uses.iter().position(|other| last && key(other) == key(&of));
        match index {
            Some(index) => {
                area.uses[index] = of;
                if area.watch.is_closed() {
                    return; // already closed, as this use requires
                }
            }
            None if area.uses.len() < USES => area.uses.push(of),
            None => {}
        }
        self.active.insert(*address);
        self.stale.insert(*address);
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Marks all areas in use as stale, because a thread has joined a clock or another thread is calling.
    pub(crate) fn mark_stale(&mut self) {
        if !self.active.is_empty() {
            self.stale.extend(&self.active);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// Opens the program's own memory before the driver checks it, or executes work: the driver has no other address for it.
    pub(crate) fn open_program_memory(&self) {
        let areas = self.active.iter().filter_map(|address| self.areas.get(address));
        for area in areas.filter(|area| area.memory != MemoryKind::OfDriver && area.watch.is_restricted()) {
            area.watch.open();
            self.opened.store(true, Ordering::Relaxed);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// The uses of bytes, if the first of them is in an area.
    pub(crate) fn uses_of(&self, (start, end): (u64, u64)) -> impl Iterator<Item = &Use> {
        let area = self.areas.range(..=start).next_back();
        let uses = area.map_or(&[][..], |(_, area)| &area.uses).iter();
        uses.filter(move |of| of.bytes.0 < end && start < of.bytes.1)
    }

    /// The bytes of a host access, without those outside of the area that holds `address`.
    pub(crate) fn within_area(&self, address: u64, (start, end): (u64, u64)) -> (u64, u64) {
        match self.areas.range(..=address).next_back() {
            Some((first, area)) if address < area.behind => (start.max(*first), end.min(area.behind)),
            _ => (address, address + 1),
        }
    }

    /// Closes and opens pages for a thread; `ordered` tells whether that thread is ordered after a clock. With
    /// `forget`, uses that it is ordered after are dropped, because no other thread has to be kept out.
    pub(crate) fn settle(&mut self, ordered: impl Fn(&Clock) -> bool, forget: bool) {
        let page = page_size();
        if std::mem::take(self.opened.get_mut()) {
            self.stale.extend(&self.active);
        }
        for address in std::mem::take(&mut self.stale) {
            let Some(area) = self.areas.get_mut(&address) else { continue };
            if forget {
                area.uses.retain(|of| !ordered(&of.clock));
            }
            let bytes = |writes| {
                let uses = area.uses.iter().filter(|of| of.writes == writes && !ordered(&of.clock));
                let whole = (address, area.behind);
                uses.map(|of| of.bytes).chain((writes && area.shut).then_some(whole)).collect::<Vec<_>>()
            };
            let closed = page::closed(area.pages, (address, area.behind), page, &bytes(false), &bytes(true));
            if area.uses.is_empty() {
                self.active.remove(&address);
                if area.memory == MemoryKind::Pageable {
                    self.areas.remove(&address);
                    continue;
                }
            }
            if closed == area.closed && (closed.is_empty() || area.watch.is_closed()) {
                continue;
            }
            area.watch.open();
            for (start, end, access) in &closed {
                let protection = match access {
                    Access::Read => libc::PROT_READ,
                    Access::Nothing => libc::PROT_NONE,
                };
                area.watch.close(*start, *end, protection);
            }
            area.closed = closed;
        }
    }

    /// Marks an area as stale after an access to `address` opened it.
    pub(crate) fn opened(&mut self, address: u64) {
        if let Some((start, area)) = self.areas.range(..=address).next_back()
            && address < area.pages.1
        {
            self.stale.insert(*start);
            self.changed.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for HostAccess {
    fn drop(&mut self) {
        // Unread accesses of this driver would otherwise keep their slots in the log.
        if let Some(driver) = self.driver {
            self.areas.clear();
            take_logged(driver);
        }
    }
}

/// The pages that bytes fill, if there is one: first byte and end.
fn whole_pages(bytes: &Range<u64>) -> Option<(u64, u64)> {
    let page = page_size();
    let (start, end) = (bytes.start.checked_next_multiple_of(page)?, bytes.end - bytes.end % page);
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::host_pages::HostPages;
    use cuarray_races::finding::LaneKind;
    use cuarray_races::{Caller, Detector, Effect, HostThreads, Lane};

    /// The driver's number in these tests, which no driver has.
    const DRIVER: u64 = u64::MAX / 2;

    /// The first operation of a lane: the stream that the detector numbers `lane`.
    fn operation(lane: u32) -> (Arc<Operation>, Clock) {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let mut lanes: Vec<Lane> =
            (0..=lane).map(|handle| detector.new_lane(LaneKind::NonBlocking, handle.into(), Some(0))).collect();
        let ticket = detector.issue(&mut lanes[lane as usize], Caller::new(1, "cuMemsetD8Async"), Effect::none());
        (ticket.operation, ticket.clock)
    }

    fn read(address: u64) -> u8 {
        // SAFETY: the tests pass live memory.
        unsafe { (address as *const u8).read_volatile() }
    }

    fn write(address: u64) {
        // SAFETY: the tests pass live memory.
        unsafe { (address as *mut u8).write_volatile(1) };
    }

    #[test]
    fn access_to_a_closed_page_is_logged_once_and_continues() {
        let changed = Arc::new(AtomicBool::new(false));
        let mut host = HostAccess::new(Some(DRIVER), changed.clone());
        let pages = HostPages::new(10_000, true).unwrap();
        let (start, end) = (pages.address(), pages.address() + 10_000);
        host.add(start, 10_000, pages.guardable());
        let addresses = || take_logged(DRIVER).iter().map(|fault| (fault.address, fault.writes)).collect::<Vec<_>>();

        // A device reads it: the host may read, but not write.
        let one = operation(3);
        host.used((start, end), false, &one.0, &one.1, true);
        assert!(changed.load(Ordering::Relaxed));
        host.settle(|_| false, true);
        read(start + 5);
        assert_eq!(addresses(), []);
        write(start + 7);
        write(start + 5000);
        assert_eq!(addresses(), [(start + 7, true)]);
        assert_eq!(read(pages.shadow_of(start + 7)), 1);

        // It is closed again, and opened after the host has waited.
        host.opened(start + 7);
        host.settle(|_| false, true);
        write(start + 9);
        assert_eq!(addresses(), [(start + 9, true)]);
        host.opened(start + 9);
        host.settle(|clock| clock.lane == 3, true);
        write(start + 9);
        assert_eq!(addresses(), []);

        // A write after a read is logged too.
        let two = operation(4);
        host.used((start, end), true, &two.0, &two.1, true);
        host.settle(|_| false, true);
        read(start + 5000);
        read(start + 1);
        write(start + 2);
        write(start + 3);
        assert_eq!(addresses(), [(start + 5000, false), (start + 2, true)]);
        host.opened(start + 2);

        // A device writes it: the host may neither read nor write; the driver may.
        host.settle(|_| false, true);
        write(pages.shadow_of(start + 1));
        assert_eq!(read(start + 1), 1);
        assert_eq!(addresses(), [(start + 1, false)]);
        host.remove(start);
        write(start);
        assert_eq!(addresses(), []);
    }

    #[test]
    fn reading_the_log_of_another_driver_keeps_its_accesses() {
        let mut host = HostAccess::new(Some(DRIVER + 1), Arc::default());
        let pages = HostPages::new(100, true).unwrap();
        host.add(pages.address(), 100, pages.guardable());
        let one = operation(3);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    take_logged(DRIVER + 2);
                }
            });
            let seen = (0..2000).filter(|_| {
                host.used((pages.address(), pages.address() + 100), true, &one.0, &one.1, true);
                host.settle(|_| false, true);
                write(pages.address());
                take_logged(DRIVER + 1).len() == 1
            });
            let seen = seen.count();
            over.store(true, Ordering::Relaxed);
            assert_eq!(seen, 2000);
        });
    }
}
