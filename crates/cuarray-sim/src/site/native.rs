//! The machine code that called the driver: its return address, cheaply, and which object that lies in.
//!
//! The unwinder finds the frame behind an exported function in a microsecond, too much for every call. But a function's
//! frame has one size: the distance from a local variable of the exported function to the word that holds its return address
//! is the same in every call. So the unwinder is asked once for each exported function, and from then on that word is read.

use super::Native;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicIsize, Ordering};

/// An exported function as its caller entered it.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// The same for all calls of one exported function.
    pub place: &'a ReturnPlace,
    /// A local variable of the exported function.
    pub anchor: *const u8,
}

/// How far from its anchor an exported function keeps its return address.
pub(crate) struct ReturnPlace(AtomicIsize);

/// Nobody has looked yet.
const UNKNOWN: isize = 0;
/// The unwinder did not know.
const NONE: isize = isize::MIN;

impl ReturnPlace {
    pub(crate) const fn new() -> ReturnPlace {
        ReturnPlace(AtomicIsize::new(UNKNOWN))
    }
}

impl Entry<'_> {
    /// The address in its caller that the exported function returns to; 0 where that is not known.
    pub(super) fn return_address(&self) -> usize {
        match self.place.0.load(Ordering::Relaxed) {
            UNKNOWN => self.measure(),
            NONE => 0,
            // SAFETY: the word was found there in an earlier call of the same function, whose frame has one size.
            distance => unsafe { self.anchor.offset(distance).cast::<usize>().read_volatile() },
        }
    }

    #[cold]
    #[inline(never)]
    fn measure(&self) -> usize {
        let mut caller = Caller { anchor: self.anchor as usize, address: 0, frame: 0 };
        walk(|address, frame| {
            // The exported function's own frame begins below its local variables, and its caller's above them.
            if frame <= caller.anchor {
                return true;
            }
            (caller.address, caller.frame) = (address, frame);
            false
        });
        let word = size_of::<usize>();
        // Where there is a call stack the word lies right below the caller's frame; elsewhere the function has saved it.
        let start = caller.anchor.next_multiple_of(word);
        let mut places = (start..caller.frame).step_by(word).rev();
        // SAFETY: these words lie between a local variable of a function that is running and its caller's frame.
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

/// Calls `step` with the return address and the stack pointer of each frame, innermost first, until it answers `false`.
fn walk(mut step: impl FnMut(usize, usize) -> bool) {
    unsafe extern "C" fn one<F: FnMut(usize, usize) -> bool>(context: *mut c_void, step: *mut c_void) -> c_int {
        // SAFETY: the unwinder gives its context and the pointer that `walk` passed.
        let go_on = unsafe { (*step.cast::<F>())(_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
        if go_on { 0 } else { END_OF_STACK }
    }
    fn callback<F: FnMut(usize, usize) -> bool>(_: &F) -> unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int {
        one::<F>
    }
    // SAFETY: `step` outlives the call, and the callback unwinds nothing.
    unsafe { _Unwind_Backtrace(callback(&step), (&raw mut step).cast()) };
}

const END_OF_STACK: c_int = 5;

// The unwinder that the standard library is linked with.
unsafe extern "C" {
    fn _Unwind_Backtrace(step: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

/// The objects of the frames outside an exported function, innermost first, as long as `step` answers `true`.
pub(super) fn objects_outside(entry: Entry<'_>, mut step: impl FnMut(&str) -> bool) {
    let (anchor, mut left) = (entry.anchor as usize, DEEPEST);
    walk(|address, frame| {
        left -= 1;
        left > 0 && (frame <= anchor || object_of(address).is_none_or(|native| step(&native.object)))
    });
}

/// How many frames of machine code are looked at.
const DEEPEST: usize = 64;

/// The object that a return address lies in.
pub(super) fn object_of(address: usize) -> Option<Native> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // A return address may be the first of the next function: the call lies before it.
    // SAFETY: any address may be asked for; `info` is ours.
    let found = address > 0 && unsafe { libc::dladdr((address - 1) as *const c_void, &mut info) } != 0;
    // SAFETY: what the linker answers are null or texts of loaded objects.
    let text =
        |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    let object = text(info.dli_fname).filter(|_| found)?;
    let offset = address.wrapping_sub(info.dli_fbase as usize) as u64;
    Some(Native { object, offset, is_return_address: true, symbol: text(info.dli_sname), source: None })
}
