//! The machine code that called the driver: its return address, found cheaply, and the object that contains it.
//!
//! The unwinder takes a microsecond to find the caller of an exported function, too much for every call. But a
//! function's frame has a constant size: the distance from the stack pointer to the word with the return address is
//! equal in every call. So the unwinder runs once for each exported function, and later calls read that word.
//!
//! AddressSanitizer breaks this: it moves local variables to the heap, and the size of a frame varies. So the unwinder
//! runs in every call if this crate is compiled for a sanitizer (`build.rs`).

use super::object::object_of;
use super::{cuda_runtime, generated, skip};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicIsize, Ordering};

/// An exported function at its entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// The place of the return address, shared by all calls of one exported function.
    pub place: &'a ReturnPlace,
    /// The exported function's stack pointer; see [`stack_pointer`].
    pub anchor: *const u8,
}

/// The stack pointer of the function that contains this expression. On machines without an implementation, the address
/// of a local variable, which lies near it.
macro_rules! stack_pointer {
    () => {{
        let pointer: *const u8;
        // SAFETY: the instruction only copies a register.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let local = 0_u8;
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            pointer = &raw const local;
        }
        pointer
    }};
}
pub(crate) use stack_pointer;

/// The distance of an exported function's return address from its anchor.
pub(crate) struct ReturnPlace(AtomicIsize);

/// Not measured yet.
const UNKNOWN: isize = isize::MAX;
/// Unknown to the unwinder.
const NONE: isize = isize::MIN;

impl ReturnPlace {
    pub(crate) const fn new() -> ReturnPlace {
        ReturnPlace(AtomicIsize::new(UNKNOWN))
    }
}

impl Entry<'_> {
    /// The address to which the exported function returns; 0 if unknown.
    pub(super) fn return_address(&self) -> usize {
        match self.place.0.load(Ordering::Relaxed) {
            _ if cfg!(sanitized) => self.measure(),
            UNKNOWN => self.measure(),
            NONE => 0,
            // SAFETY: an earlier call of the same function, whose frame has a constant size, found the word there.
            distance => unsafe { self.anchor.offset(distance).cast::<usize>().read_volatile() },
        }
    }

    /// The word that holds the return address, if its place is known.
    fn return_word(&self) -> Option<*const usize> {
        let distance = self.place.0.load(Ordering::Relaxed);
        let known = !cfg!(sanitized) && distance != UNKNOWN && distance != NONE;
        // SAFETY: as in `return_address`.
        known.then(|| unsafe { self.anchor.offset(distance).cast() })
    }

    #[cold]
    #[inline(never)]
    fn measure(&self) -> usize {
        let mut caller = Caller { anchor: self.anchor as usize, address: 0, frame: 0 };
        walk(|address, frame| {
            // The frames of the exported function and of its callees are at or below the anchor. The first frame above it is the
            // caller's.
            if frame <= caller.anchor {
                return true;
            }
            (caller.address, caller.frame) = (address, frame);
            false
        });
        if cfg!(sanitized) {
            return caller.address;
        }
        let word = size_of::<usize>();
        // On machines with a call stack the word lies right below the caller's frame; elsewhere the function has saved
        // it.
        let start = caller.anchor.next_multiple_of(word);
        let mut places = (start..caller.frame).step_by(word).rev();
        // SAFETY: these words lie between the stack pointer of a running function and its caller's frame.
        let found = places.find(|place| unsafe { (*place as *const usize).read_volatile() } == caller.address);
        let distance = found.map_or(NONE, |place| place as isize - self.anchor as isize);
        self.place.0.store(distance, Ordering::Relaxed);
        caller.address
    }
}

struct Caller {
    anchor: usize,
    address: usize,
    frame: usize,
}

/// Calls `step` with the return address and stack pointer of each frame, innermost first, until it returns `false`.
fn walk(mut step: impl FnMut(usize, usize) -> bool) {
    unsafe extern "C" fn one<F: FnMut(usize, usize) -> bool>(context: *mut c_void, step: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes its context and the pointer from `walk`.
        let proceed = unsafe { (*step.cast::<F>())(_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
        if proceed { 0 } else { END_OF_STACK }
    }
    fn callback<F: FnMut(usize, usize) -> bool>(_: &F) -> unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int {
        one::<F>
    }
    // SAFETY: `step` outlives the call, and the callback unwinds nothing.
    unsafe { _Unwind_Backtrace(callback(&step), (&raw mut step).cast()) };
}

const END_OF_STACK: c_int = 5;

// The unwinder that the standard library links.
unsafe extern "C" {
    fn _Unwind_Backtrace(step: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

/// Calls `step` with the objects of the frames outside an exported function and the CUDA runtime, innermost first, until
/// it returns `false`.
pub(super) fn objects_outside(entry: Entry<'_>, mut step: impl FnMut(&str) -> bool) {
    let (anchor, mut left) = (entry.anchor as usize, DEEPEST);
    walk(|address, frame| {
        left -= 1;
        let ours = frame <= anchor || cuda_runtime::holds(address);
        left > 0 && (ours || object_of(address).is_none_or(|native| step(&native.object)))
    });
}

/// The return address of the innermost frame outside an exported function and the CUDA runtime that is not skipped; that
/// of its caller if all are.
pub(super) fn caller_outside(entry: Entry<'_>) -> usize {
    let caller = entry.return_address();
    if !skip::is_active() {
        if !cuda_runtime::holds(caller) {
            return caller;
        }
        // SAFETY: the word is that of the exported function, which is running.
        let by_frames = |word| unsafe { cuda_runtime::caller_by_known_frames(word) };
        if let Some(found) = entry.return_word().and_then(by_frames) {
            return found;
        }
    }
    let (anchor, mut left, mut found) = (entry.anchor as usize, DEEPEST, caller);
    let mut within = cuda_runtime::Frames::from(entry.return_word());
    let mut generated = None;
    walk(|address, frame| {
        left -= 1;
        if left == 0 || frame <= anchor {
            return left > 0;
        }
        within.pass(address, frame);
        let runtime = cuda_runtime::holds(address);
        if runtime {
            generated = Some(generated::Frames::default());
        }
        let skipped = runtime
            || generated.as_mut().is_some_and(|frames| frames.is_generated(address))
            || (skip::is_active() && skip::is_skipped(address));
        if !skipped {
            found = address;
        }
        skipped
    });
    found
}

/// The object that called an exported function, even if its frames are skipped.
pub(crate) fn calling_object(entry: Entry<'_>) -> Option<String> {
    object_of(entry.return_address()).map(|native| native.object)
}

/// Writes the return addresses of the functions around the one that a signal has interrupted at an instruction, innermost first. To be
/// called by the signal's handler.
pub(super) fn callers_of(instruction: usize, callers: &mut [usize]) {
    let (mut left, mut found, mut next) = (DEEPEST, false, callers.iter_mut());
    walk(|address, _| {
        left -= 1;
        if !found {
            found = address == instruction;
            return left > 0;
        }
        next.next().map(|caller| *caller = address).is_some()
    });
}

/// The maximum number of machine frames visited.
const DEEPEST: usize = 64;
