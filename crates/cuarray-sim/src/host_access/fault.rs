//! The signal handler that logs host accesses to closed pages and lets them continue.
//!
//! A fault in a watched area opens the area, and the access is repeated. The access goes into a log of fixed size,
//! which the driver reads at its next call. All other faults go to the previous handler. So Python's `faulthandler`,
//! and the handlers of debuggers and runtimes, work in any order of installation.
//!
//! The handler may interrupt any code, so it takes no lock and allocates nothing. Areas and log are arrays of atomics,
//! and the Python position is copied into the log as bytes.

use super::instruction::Interrupted;
use crate::site::RawSite;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

/// The maximum number of areas watched at a time; further ones stay unwatched.
const AREAS: usize = 4096;
/// The maximum number of accesses logged between driver calls; further ones are not logged.
const LOGGED: usize = 64;

/// An area of whole pages; unused while it starts at 0.
struct Area {
    start: AtomicU64,
    end: AtomicU64,
    /// The number of the area's driver.
    driver: AtomicU64,
    /// Whether any part of the area is closed: [`OPEN`], [`READABLE`] or [`CLOSED`].
    closed: AtomicU32,
    /// The parts that are closed to reads too; unused parts end at 0. A further part makes a read open the area.
    parts: [(AtomicU64, AtomicU64); PARTS],
    part_count: AtomicUsize,
}

/// The maximum number of parts of an area that a read opens for reads only.
const PARTS: usize = 4;

/// No part of an area is closed.
const OPEN: u32 = 0;
/// After a detected read: all parts are readable, and closed to writes.
const READABLE: u32 = 1;
/// As the driver closed it.
const CLOSED: u32 = 2;

static WATCHED: [Area; AREAS] = [const {
    Area {
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
        driver: AtomicU64::new(0),
        closed: AtomicU32::new(OPEN),
        parts: [const { (AtomicU64::new(0), AtomicU64::new(0)) }; PARTS],
        part_count: AtomicUsize::new(0),
    }
}; AREAS];

/// A slot of the log: free, being written or read, or ready for one driver.
///
/// The state contains the driver's number. Otherwise a reader would have to take a slot to find its driver, and would
/// hide the slot from that driver meanwhile.
struct Logged {
    state: AtomicU64,
    fault: UnsafeCell<Fault>,
}

const FREE: u64 = 0;
const BUSY: u64 = 1;

/// The state of a slot that is ready for a driver.
const fn ready(driver: u64) -> u64 {
    driver + 2
}

// SAFETY: only the thread that moved the state from free or ready to busy accesses the slot.
unsafe impl Sync for Logged {}

static LOG: [Logged; LOGGED] =
    [const { Logged { state: AtomicU64::new(FREE), fault: UnsafeCell::new(Fault::NONE) } }; LOGGED];
/// The number of slots that are ready.
static READY_COUNT: AtomicU32 = AtomicU32::new(0);
static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// A host access to a closed page.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// The position among all accesses; later ones are greater.
    pub sequence: u64,
    pub address: u64,
    pub writes: bool,
    /// The instruction that made the access.
    pub interrupted: Interrupted,
    /// The thread's number in the operating system.
    pub thread: i32,
    /// The instruction, and the Python frames around it.
    pub site: RawSite,
}

impl Fault {
    const NONE: Fault = Fault {
        sequence: 0,
        address: 0,
        writes: false,
        interrupted: Interrupted::NOTHING,
        thread: 0,
        site: RawSite::NOWHERE,
    };
}

/// An area that the handler watches.
pub(super) struct Watch(usize);

impl Watch {
    /// Watches an area of readable and writable pages; `None` if too many areas are watched.
    pub(super) fn new(driver: u64, start: u64, end: u64) -> Option<Watch> {
        static CLAIMING: Mutex<()> = Mutex::new(());
        let _claiming = CLAIMING.lock().unwrap_or_else(PoisonError::into_inner);
        let index = WATCHED.iter().position(|area| area.start.load(Relaxed) == 0)?;
        let area = &WATCHED[index];
        area.closed.store(OPEN, Relaxed);
        area.part_count.store(0, Relaxed);
        area.driver.store(driver, Relaxed);
        area.end.store(end, Relaxed);
        area.start.store(start, Release);
        Some(Watch(index))
    }

    /// Restricts access to a part of the area to `PROT_NONE` or `PROT_READ`.
    pub(super) fn close(&self, start: u64, end: u64, protection: c_int) {
        install();
        let area = &WATCHED[self.0];
        if protection == libc::PROT_NONE {
            let part = area.part_count.fetch_add(1, Relaxed);
            if let Some((first, behind)) = area.parts.get(part) {
                first.store(start, Relaxed);
                behind.store(end, Relaxed);
            }
        }
        area.closed.store(CLOSED, Release);
        protect(start, end, protection);
    }

    /// Restores access to the whole area.
    pub(super) fn open(&self) {
        let area = &WATCHED[self.0];
        area.part_count.store(0, Relaxed);
        if area.closed.swap(OPEN, AcqRel) != OPEN {
            protect(area.start.load(Relaxed), area.end.load(Relaxed), libc::PROT_READ | libc::PROT_WRITE);
        }
    }

    /// Whether any part of the area may be closed.
    pub(super) fn is_restricted(&self) -> bool {
        WATCHED[self.0].closed.load(Acquire) != OPEN
    }

    /// Whether no access has opened the area since it was closed.
    pub(super) fn is_closed(&self) -> bool {
        WATCHED[self.0].closed.load(Acquire) == CLOSED
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.open();
        WATCHED[self.0].start.store(0, Release);
    }
}

fn protect(start: u64, end: u64, protection: c_int) -> bool {
    // SAFETY: these pages are watched by the driver, and the handler restores any access that the program needs.
    unsafe { libc::mprotect(start as *mut c_void, (end - start) as usize, protection) == 0 }
}

/// Whether the log holds accesses for any driver.
pub(crate) fn any_logged() -> bool {
    READY_COUNT.load(Relaxed) > 0
}

/// Takes the accesses to a driver's areas out of the log, in their order.
pub(crate) fn take_logged(driver: u64) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !any_logged() {
        return faults;
    }
    for slot in &LOG {
        if slot.state.compare_exchange(ready(driver), BUSY, AcqRel, Relaxed).is_ok() {
            // SAFETY: this thread made the slot busy.
            faults.push(unsafe { *slot.fault.get() });
            READY_COUNT.fetch_sub(1, Relaxed);
            slot.state.store(FREE, Release);
        }
    }
    faults.sort_unstable_by_key(|fault| fault.sequence);
    faults
}

/// The previous handler of the signal, and whether the last fault was passed to it.
static PREVIOUS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static PREVIOUS_FLAGS: AtomicI32 = AtomicI32::new(0);
static PASSED_ON: AtomicBool = AtomicBool::new(false);

/// Installs the handler, unless it is installed already.
fn install() {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let handler = on_fault as *const () as usize;
    // SAFETY: both actions are complete, and the handler is a function of this library, which is never unloaded.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut before) != 0 || before.sa_sigaction == handler {
            return;
        }
        PREVIOUS_FLAGS.store(before.sa_flags, Relaxed);
        PREVIOUS.store(before.sa_sigaction, Release);
        PASSED_ON.store(false, Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
    }
}

/// The code of a fault on a mapped page; libc does not define it.
const SEGV_ACCERR: c_int = 2;

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the address of this thread's `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: the system passes the information to a handler of this type.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as u64) };
    // SAFETY: as above.
    let (instruction, writes) = unsafe { from_machine(context) };
    let data = code == SEGV_ACCERR && address != instruction;
    // Another thread may have opened the area, and ended its watch, since the fault. So an unknown address is
    // retried once.
    let is_watched = data
        && (open_and_log(address, writes, instruction as usize, context) || RETRIED.swap(address, Relaxed) != address);
    if !is_watched {
        if data {
            explain(address);
        }
        // SAFETY: the arguments are those of this handler.
        unsafe { pass_on(signal, info, context) };
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// The ranges of device addresses, which the host may not access; unused ranges end at 0.
static DEVICES: [(AtomicU64, AtomicU64); 8] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 8];

/// Explains later faults in a range of device addresses, on standard error.
pub(crate) fn explain_faults_in(start: u64, length: u64) {
    install();
    let unused = |range: &&(AtomicU64, AtomicU64)| range.0.compare_exchange(0, start, AcqRel, Relaxed).is_ok();
    if let Some(range) = DEVICES.iter().find(unused) {
        range.1.store(start + length, Release);
    }
}

const HINT: &str = "cuarray-sim: the host accessed device memory at its device address, which faults as on a GPU. \
MPI libraries without CUDA support need the option --host-readable of `python -m cuarray_sim`, \
or CUARRAY_SIM_HOST_READABLE=1. Other programs copy the memory to the host first.\n";

/// Explains a fault at a device address, without locks or allocations.
fn explain(address: u64) {
    let within = |range: &(AtomicU64, AtomicU64)| {
        range.0.load(Relaxed) != 0 && range.0.load(Relaxed) <= address && address < range.1.load(Acquire)
    };
    if DEVICES.iter().any(within) {
        // SAFETY: the bytes of a constant. A failure to write to standard error cannot be reported.
        unsafe { libc::write(libc::STDERR_FILENO, HINT.as_ptr().cast(), HINT.len()) };
    }
}

/// The last address that was retried.
static RETRIED: AtomicU64 = AtomicU64::new(0);

/// Opens the area of an address and logs the access; returns whether there is such an area.
fn open_and_log(address: u64, writes: Option<bool>, instruction: usize, context: *mut c_void) -> bool {
    let within = |area: &&Area| {
        let start = area.start.load(Acquire);
        start != 0 && start <= address && address < area.end.load(Relaxed)
    };
    let Some(area) = WATCHED.iter().find(within) else { return false };
    // Only the thread that opens the area logs; another may have faulted at the same time.
    let before = area.closed.load(Acquire);
    let parts = area.part_count.load(Relaxed);
    let closed_to_reads = || {
        let holds = |(start, end): &(AtomicU64, AtomicU64)| (start.load(Relaxed)..end.load(Relaxed)).contains(&address);
        parts > PARTS || area.parts[..parts].iter().any(holds)
    };
    // Where the machine does not report it, an access to a readable page is a write.
    let writes = writes.unwrap_or_else(|| before == READABLE || !closed_to_reads());
    // A read opens the area for reads only, so that a write that follows is detected too: `h += 1` reads first.
    let only_reads = !writes && (1..=PARTS).contains(&parts);
    let after = if only_reads { READABLE } else { OPEN };
    let first = before > after && area.closed.compare_exchange(before, after, AcqRel, Relaxed).is_ok();
    let opened = if only_reads && area.closed.load(Acquire) != OPEN {
        area.parts[..parts].iter().all(|(start, end)| protect(start.load(Relaxed), end.load(Relaxed), libc::PROT_READ))
    } else {
        protect(area.start.load(Relaxed), area.end.load(Relaxed), libc::PROT_READ | libc::PROT_WRITE)
    };
    if !opened {
        return false;
    }
    PASSED_ON.store(false, Relaxed);
    let free = |slot: &&Logged| slot.state.compare_exchange(FREE, BUSY, AcqRel, Relaxed).is_ok();
    if first && let Some(slot) = LOG.iter().find(free) {
        // SAFETY: this thread made the slot busy.
        let fault = unsafe { &mut *slot.fault.get() };
        fault.sequence = SEQUENCE.fetch_add(1, Relaxed);
        fault.address = address;
        fault.writes = writes;
        // SAFETY: the context is that of the handler, and the fault is one in data.
        fault.interrupted = unsafe { Interrupted::of(context) };
        // SAFETY: the call has no preconditions.
        fault.thread = unsafe { libc::gettid() };
        fault.site.take(instruction);
        slot.state.store(ready(area.driver.load(Relaxed)), Release);
        READY_COUNT.fetch_add(1, Relaxed);
    }
    true
}

/// Passes a signal to the previous handler.
///
/// # Safety
/// The arguments are those of a signal handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: this function's contract; `getpid` has no preconditions.
    let raised_by_process = unsafe { (*info).si_code == libc::SI_TKILL && (*info).si_pid() == libc::getpid() };
    let passed_on = if raised_by_process { PASSED_ON.load(Relaxed) } else { PASSED_ON.swap(true, Relaxed) };
    if raised_by_process && !passed_on && WATCHED.iter().any(|area| area.closed.load(Relaxed) != OPEN) {
        // A handler that was installed later got the fault of a closed page, reported it, and raised the signal again
        // for the previous handler. When it returns, the access faults again and reaches this handler.
        return;
    }
    let previous = PREVIOUS.load(Acquire);
    // A handler that raises the signal again does not handle it; its predecessor may be this handler.
    if previous == libc::SIG_DFL || previous == libc::SIG_IGN || (raised_by_process && passed_on) {
        // SAFETY: the default action; the instruction faults again, or the raised signal is delivered again.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if raised_by_process || (*info).si_code <= 0 {
                libc::raise(signal);
            }
        }
        return;
    }
    // SAFETY: the flags of the previous action give the type of its handler.
    unsafe {
        if PREVIOUS_FLAGS.load(Relaxed) & libc::SA_SIGINFO != 0 {
            let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(previous);
            handler(signal, info, context);
        } else {
            let handler: unsafe extern "C" fn(c_int) = std::mem::transmute(previous);
            handler(signal);
        }
    }
}

/// The interrupted instruction, and whether its access was a write, if the machine reports it.
///
/// # Safety
/// The context is that of a signal handler.
#[cfg(target_arch = "x86_64")]
unsafe fn from_machine(context: *mut c_void) -> (u64, Option<bool>) {
    // SAFETY: this function's contract.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let instruction = registers[libc::REG_RIP as usize].cast_unsigned();
    (instruction, Some(registers[libc::REG_ERR as usize] & 2 != 0))
}

#[cfg(target_arch = "aarch64")]
unsafe fn from_machine(context: *mut c_void) -> (u64, Option<bool>) {
    /// The bytes of the records at the end of a frame, which are aligned to 16 bytes.
    const RECORDS: usize = 4096;
    // SAFETY: this function's contract.
    let registers = unsafe { &raw const (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    // SAFETY: as above. The records follow the processor's state in the frame, which the system has written for this handler.
    unsafe {
        let state = &raw const (*registers).pstate;
        let records = state.add(1).cast::<u8>();
        let records = records.add(records.align_offset(16));
        // Emulators and sandboxes write no record of the syndrome.
        let writes = super::syndrome::writes(std::slice::from_raw_parts(records, RECORDS));
        ((*registers).pc, writes.or_else(|| Interrupted::of(context).writes()))
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn from_machine(_context: *mut c_void) -> (u64, Option<bool>) {
    (0, None)
}
