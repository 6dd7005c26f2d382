//! The signal handler that lets the host through a closed page, and remembers that it went.
//!
//! A fault in an area that some driver watches opens the area, and the access goes on as if nothing had been. What happened
//! is put into a log of fixed size, which the driver reads at its next call. All other faults go to whoever had the signal before, so
//! Python's `faulthandler`, a debugger's and a runtime's own handlers work as without this one, whichever came first.
//!
//! The handler may interrupt anything. So it takes no lock and allocates nothing: areas and log are arrays of atomics, and
//! the Python position is copied into the log as bytes.

use crate::site::Spot;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

/// How many areas are watched at a time; more stay unwatched.
const AREAS: usize = 4096;
/// How many accesses are remembered until the next driver call; more are let through unseen.
const LOGGED: usize = 64;

/// An area of whole pages; nobody's while it starts at 0.
struct Area {
    start: AtomicU64,
    end: AtomicU64,
    /// The number of its driver.
    driver: AtomicU64,
    /// Whether any of it is closed.
    closed: AtomicBool,
}

static WATCHED: [Area; AREAS] = [const {
    Area { start: AtomicU64::new(0), end: AtomicU64::new(0), driver: AtomicU64::new(0), closed: AtomicBool::new(false) }
}; AREAS];

/// A place of the log: free, being written or read, or ready to be read by one driver.
///
/// The state names the driver, so that nobody takes a place to find out whose it is: another driver would pass over it meanwhile.
struct Logged {
    state: AtomicU64,
    fault: UnsafeCell<Fault>,
}

const FREE: u64 = 0;
const BUSY: u64 = 1;

/// The state of a place that is ready to be read by a driver.
const fn ready(driver: u64) -> u64 {
    driver + 2
}

// SAFETY: whoever has moved the state from free, or from ready, to busy has the place to itself.
unsafe impl Sync for Logged {}

static LOG: [Logged; LOGGED] =
    [const { Logged { state: AtomicU64::new(FREE), fault: UnsafeCell::new(Fault::NONE) } }; LOGGED];
/// How many places of the log are ready.
static READY_COUNT: AtomicU32 = AtomicU32::new(0);
static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// An access that met a closed page.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// Which of all: later ones are greater.
    pub sequence: u64,
    pub address: u64,
    pub writes: bool,
    /// The system's number of the thread.
    pub thread: i32,
    /// The instruction, and the Python frames around it.
    pub spot: Spot,
}

impl Fault {
    const NONE: Fault = Fault { sequence: 0, address: 0, writes: false, thread: 0, spot: Spot::NOWHERE };
}

/// An area that the handler watches.
pub(super) struct Watch(usize);

impl Watch {
    /// Watches an area of pages that are readable and writable; `None` if there are too many.
    pub(super) fn new(driver: u64, start: u64, end: u64) -> Option<Watch> {
        static CLAIMING: Mutex<()> = Mutex::new(());
        let _claiming = CLAIMING.lock().unwrap_or_else(PoisonError::into_inner);
        let index = WATCHED.iter().position(|area| area.start.load(Relaxed) == 0)?;
        let area = &WATCHED[index];
        area.closed.store(false, Relaxed);
        area.driver.store(driver, Relaxed);
        area.end.store(end, Relaxed);
        area.start.store(start, Release);
        Some(Watch(index))
    }

    /// Takes away access to some of the area: `PROT_NONE` or `PROT_READ`.
    pub(super) fn close(&self, start: u64, end: u64, protection: c_int) {
        install();
        WATCHED[self.0].closed.store(true, Release);
        protect(start, end, protection);
    }

    /// Gives back access to all of the area.
    pub(super) fn open(&self) {
        let area = &WATCHED[self.0];
        if area.closed.swap(false, AcqRel) {
            protect(area.start.load(Relaxed), area.end.load(Relaxed), libc::PROT_READ | libc::PROT_WRITE);
        }
    }

    /// Whether nobody has gone through since it was closed.
    pub(super) fn is_closed(&self) -> bool {
        WATCHED[self.0].closed.load(Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.open();
        WATCHED[self.0].start.store(0, Release);
    }
}

fn protect(start: u64, end: u64, protection: c_int) -> bool {
    // SAFETY: pages of memory that the driver watches; the program loses no access that it does not get back from the handler.
    unsafe { libc::mprotect(start as *mut c_void, (end - start) as usize, protection) == 0 }
}

/// Whether any driver has to read the log.
pub(crate) fn any_logged() -> bool {
    READY_COUNT.load(Relaxed) > 0
}

/// Takes the accesses that a driver's areas have met, in their order.
pub(crate) fn take_logged(driver: u64) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !any_logged() {
        return faults;
    }
    for place in &LOG {
        if place.state.compare_exchange(ready(driver), BUSY, AcqRel, Relaxed).is_ok() {
            // SAFETY: the place is busy, and so ours.
            faults.push(unsafe { *place.fault.get() });
            READY_COUNT.fetch_sub(1, Relaxed);
            place.state.store(FREE, Release);
        }
    }
    faults.sort_unstable_by_key(|fault| fault.sequence);
    faults
}

/// Whom the signal belonged to before, and whether the last fault was handed on to him.
static PREVIOUS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static PREVIOUS_FLAGS: AtomicI32 = AtomicI32::new(0);
static HANDED_ON: AtomicBool = AtomicBool::new(false);

/// Sees to it that the handler is the one that the signal goes to.
fn install() {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let handler = on_fault as *const () as usize;
    // SAFETY: both actions are whole, and the handler is a function of this library, which is never unloaded.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut before) != 0 || before.sa_sigaction == handler {
            return;
        }
        PREVIOUS_FLAGS.store(before.sa_flags, Relaxed);
        PREVIOUS.store(before.sa_sigaction, Release);
        HANDED_ON.store(false, Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
    }
}

/// The code of a fault on a mapped page; libc has no name for it.
const SEGV_ACCERR: c_int = 2;

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the address of this thread's error number.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: the system gives a handler of this kind its information.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as u64) };
    // SAFETY: the same.
    let (instruction, writes) = unsafe { of_machine(context) };
    let data = code == SEGV_ACCERR && address != instruction;
    // An area may have been opened, and its watch ended, since the access met it: so an unknown address is tried again, once.
    let ours = data && (let_through(address, writes, instruction as usize) || TRIED.swap(address, Relaxed) != address);
    if !ours {
        // SAFETY: what the system has given is handed on.
        unsafe { hand_on(signal, info, context) };
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// The last address that was tried again.
static TRIED: AtomicU64 = AtomicU64::new(0);

/// Opens the area of an address, and logs the access that met it closed; whether there is one.
fn let_through(address: u64, writes: Option<bool>, instruction: usize) -> bool {
    let within = |area: &&Area| {
        let start = area.start.load(Acquire);
        start != 0 && start <= address && address < area.end.load(Relaxed)
    };
    let Some(area) = WATCHED.iter().find(within) else { return false };
    // Whoever opens it logs it; another thread may have met it closed in the same moment.
    let first = area.closed.swap(false, AcqRel);
    let (start, end) = (area.start.load(Relaxed), area.end.load(Relaxed));
    if !protect(start, end, libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    HANDED_ON.store(false, Relaxed);
    let free = |place: &&Logged| place.state.compare_exchange(FREE, BUSY, AcqRel, Relaxed).is_ok();
    if first && let Some(place) = LOG.iter().find(free) {
        // SAFETY: the place is busy, and so ours.
        let fault = unsafe { &mut *place.fault.get() };
        fault.sequence = SEQUENCE.fetch_add(1, Relaxed);
        fault.address = address;
        fault.writes = writes.unwrap_or(false);
        // SAFETY: the call has no preconditions.
        fault.thread = unsafe { libc::gettid() };
        fault.spot.take(instruction);
        place.state.store(ready(area.driver.load(Relaxed)), Release);
        READY_COUNT.fetch_add(1, Relaxed);
    }
    true
}

/// Hands a signal to whoever had it before.
///
/// # Safety
/// The arguments are those of a signal handler.
unsafe fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: this function's contract; the identity of a process may be asked for at any time.
    let own = unsafe { (*info).si_code == libc::SI_TKILL && (*info).si_pid() == libc::getpid() };
    let handed_on = if own { HANDED_ON.load(Relaxed) } else { HANDED_ON.swap(true, Relaxed) };
    if own && !handed_on && WATCHED.iter().any(|area| area.closed.load(Relaxed)) {
        // A handler that was installed after this one has met a closed page, reports it, and raises the signal again for the
        // handler before it. When it returns, the access meets the page again, and this handler.
        return;
    }
    let previous = PREVIOUS.load(Acquire);
    // A handler that was handed a fault and raises the signal again has given up; its own predecessor may be this one.
    if previous == libc::SIG_DFL || previous == libc::SIG_IGN || (own && handed_on) {
        // SAFETY: the default action; the instruction faults again, or the raised signal comes again.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if own || (*info).si_code <= 0 {
                libc::raise(signal);
            }
        }
        return;
    }
    // SAFETY: the previous action says which of the two kinds its handler is.
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

/// The instruction that a signal interrupted, and whether its access was a write, where the machine tells.
///
/// # Safety
/// The context is that of a signal handler.
#[cfg(target_arch = "x86_64")]
unsafe fn of_machine(context: *mut c_void) -> (u64, Option<bool>) {
    // SAFETY: this function's contract.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let instruction = registers[libc::REG_RIP as usize].cast_unsigned();
    (instruction, Some(registers[libc::REG_ERR as usize] & 2 != 0))
}

#[cfg(target_arch = "aarch64")]
unsafe fn of_machine(context: *mut c_void) -> (u64, Option<bool>) {
    // SAFETY: this function's contract.
    (unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc }, None)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn of_machine(_context: *mut c_void) -> (u64, Option<bool>) {
    (0, None)
}
