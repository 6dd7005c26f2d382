//! The Python interpreter of this process, found at run time and never linked.
//!
//! A driver is loaded into processes that have a Python, get one later, or never have one. So the interpreter is looked
//! up by name among the loaded libraries. The offsets in its structures come from the table that Python publishes for
//! debuggers (3.13 and later), or from a table of released versions (3.11 and 3.12), whose layouts no longer change.
//! Before an interpreter is used, the calling thread's frames are read once, and the kernel is asked before each read
//! whether the address can be read. If they do not look like frames, sites have no Python positions: a report without
//! lines is better than a crash in the program under test.

use super::frame::{self, Frame};
use super::layout::{C_STACK, Layout};
use crate::pages::probe::is_range_readable;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// An interpreter whose frames can be read.
pub(super) struct Python {
    is_initialized: unsafe extern "C" fn() -> c_int,
    this_thread: unsafe extern "C" fn() -> *mut c_void,
    pub(super) layout: Layout,
}

impl Python {
    /// The innermost frame of the calling thread.
    ///
    /// The thread need not hold the interpreter: only the thread itself changes its own frames.
    pub(super) fn innermost(&self) -> Option<Frame<'_>> {
        // SAFETY: both functions may be called at any time; the second reads a thread-specific value, which is
        // undefined before and after the interpreter's life.
        let thread = unsafe { if (self.is_initialized)() == 0 { return None } else { (self.this_thread)() } };
        let mut address = thread as u64;
        for offset in self.layout.to_frame.into_iter().flatten() {
            if address == 0 {
                return None;
            }
            // SAFETY: the thread's own state, in the layout verified when this interpreter was found.
            address = unsafe { frame::word(address, offset) };
        }
        Frame::at(address, &self.layout)
    }
}

/// The process's interpreter, or the version of an interpreter that cannot be read.
static FOUND: OnceLock<Result<Box<Python>, String>> = OnceLock::new();

/// The process's interpreter, if a search has found it.
pub(super) fn found() -> Option<&'static Python> {
    FOUND.get()?.as_deref().ok()
}

/// The version of the process's interpreter, if it cannot be read: `3.15.0`.
pub(crate) fn unreadable() -> Option<&'static str> {
    FOUND.get()?.as_ref().err().map(String::as_str)
}

/// The number of calls before an interpreter was found.
static SEARCH_CALLS: AtomicU64 = AtomicU64::new(0);

/// The process's interpreter, if there is one by now. After an unsuccessful search, it searches again with `look`, or
/// at every 1024th call.
pub(super) fn python(look: bool) -> Option<&'static Python> {
    if let Some(found) = FOUND.get() {
        return found.as_deref().ok();
    }
    if !SEARCH_CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(1024) && !look {
        return None;
    }
    match find() {
        // An interpreter that runs no code in this thread cannot be verified yet.
        Search::NotYet => None,
        Search::Never(version) => FOUND.get_or_init(|| Err(version)).as_deref().ok(),
        Search::Found(python) => FOUND.get_or_init(|| Ok(python)).as_deref().ok(),
    }
}

enum Search {
    NotYet,
    /// The interpreter of this version cannot be read.
    Never(String),
    Found(Box<Python>),
}

fn find() -> Search {
    let Some(library) = Library::holding(c"PyGILState_GetThisThreadState") else { return Search::NotYet };
    let address = |name: &CStr| Some(library.symbol(name)).filter(|symbol| !symbol.is_null());
    let names = [c"Py_IsInitialized", c"Py_GetVersion", c"PyCode_Type", c"PyUnicode_Type", c"PyBytes_Type"];
    let [Some(is_initialized), Some(version), Some(code), Some(text), Some(bytes)] = names.map(address) else {
        return Search::Never("of an unknown version".into());
    };
    // SAFETY: these are CPython functions with the signatures of its stable interface.
    let (is_initialized, this_thread, version) = unsafe {
        let this_thread = library.symbol(c"PyGILState_GetThisThreadState");
        (
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(is_initialized),
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *mut c_void>(this_thread),
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(version),
        )
    };
    // SAFETY: it returns a string that lives as long as the interpreter.
    let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
    let never = || Search::Never(version.split(' ').next().unwrap_or_default().to_owned());
    let types = Types { code: code as u64, text: text as u64, bytes: bytes as u64 };
    let layout = minor(&version).and_then(|minor| layout(minor, &types, address(c"_PyRuntime")));
    let Some(mut layout) = layout.filter(|_| size_of::<usize>() == 8) else { return never() };
    // SAFETY: as in `Python::innermost`.
    let thread = unsafe { if is_initialized() == 0 { return Search::NotYet } else { this_thread() } };
    if thread.is_null() {
        return Search::NotYet;
    }
    match verify(thread as u64, &mut layout) {
        Some(0) => Search::NotYet,
        Some(_) => Search::Found(Box::new(Python { is_initialized, this_thread, layout })),
        None => never(),
    }
}

/// The minor version number of Python 3.
fn minor(version: &str) -> Option<u32> {
    let minor = version.strip_prefix("3.")?;
    minor.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

struct Types {
    code: u64,
    text: u64,
    bytes: u64,
}

/// The layout of Python 3.`minor`.
fn layout(minor: u32, types: &Types, runtime: Option<*mut c_void>) -> Option<Layout> {
    let (code_type, text_type, bytes_type) = (types.code, types.text, types.bytes);
    let of_3_11 = Layout {
        to_frame: [Some(56), Some(8)],
        previous: 48,
        code: 32,
        tag: 0,
        instruction: 56,
        instructions: 184,
        owner: None,
        file_name: 112,
        name: 120,
        line_table: 136,
        first_line: 72,
        type_of: 8,
        bytes_length: 16,
        bytes: 32,
        text_length: 16,
        text_state: 32,
        text_width_bit: 2,
        ascii: 48,
        wide: 72,
        code_type,
        text_type,
        bytes_type,
    };
    match minor {
        11 => Some(of_3_11),
        12 => Some(Layout {
            to_frame: [Some(56), Some(0)],
            previous: 8,
            code: 0,
            instructions: 192,
            owner: Some(70),
            first_line: 68,
            ascii: 40,
            wide: 56,
            ..of_3_11
        }),
        // SAFETY: it is this interpreter's own record.
        13..=15 => unsafe { published(minor, runtime? as u64, of_3_11) },
        _ => None,
    }
}

/// The layout that an interpreter publishes for debuggers, at the start of its runtime state.
///
/// # Safety
/// `runtime` is the address of the runtime state of Python 3.`minor`.
unsafe fn published(minor: u32, runtime: u64, like: Layout) -> Option<Layout> {
    // Indices of the entries, in words from the start. Each version since 3.14 inserted some entries.
    let [thread, frame, code, object, bytes, text] = match minor {
        13 => [19, 28, 34, 44, 64, 67],
        14 => [22, 31, 39, 50, 74, 77],
        _ => [22, 39, 47, 58, 86, 89],
    };
    // SAFETY: all of these lie in the record, by this function's contract.
    let entry = |index: usize| unsafe { frame::word(runtime, 8 * index) };
    let offset = |index: usize| usize::try_from(entry(index)).ok().filter(|offset| *offset < 1 << 16);
    let free_threaded = entry(2) != 0;
    // Since 3.14, free-threaded interpreters run per-thread copies of a code object's code.
    if entry(0).to_ne_bytes() != *b"xdebugpy"
        || entry(1) >> 16 != u64::from(0x300 | minor)
        || free_threaded && minor > 13
    {
        return None;
    }
    Some(Layout {
        to_frame: [Some(offset(thread + 4)?), None],
        previous: offset(frame + 1)?,
        code: offset(frame + 2)?,
        tag: if minor == 13 { 0 } else { 3 },
        instruction: offset(frame + 3)?,
        instructions: offset(code + 9)?,
        file_name: offset(code + 1)?,
        name: offset(code + 2)?,
        line_table: offset(code + 4)?,
        first_line: offset(code + 5)?,
        type_of: offset(object + 1)?,
        bytes_length: offset(bytes + 1)?,
        bytes: offset(bytes + 2)?,
        text_state: offset(text + 1)?,
        text_length: offset(text + 2)?,
        ascii: offset(text + 3)?,
        wide: offset(text + 3)? + 16,
        ..like
    })
}

/// The bit position of the character width in the state of an ASCII string, where Python's table for debuggers names only the state.
fn width_bit(state: u32) -> Option<u32> {
    // One byte for each character, compact, ASCII. The bits below count the ways in which the string is interned.
    [2, 8, 16].into_iter().find(|bit| state >> bit & 0x1f == 0x19 && state & ((1 << bit) - 1) < 4)
}

/// Reads a thread's frames in this layout without trusting it. Returns their number, up to sixteen, or `None` if any
/// value is implausible.
fn verify(thread: u64, layout: &mut Layout) -> Option<usize> {
    let mut address = thread;
    for offset in layout.to_frame.into_iter().flatten() {
        address = peek(address, offset)?;
        if address == 0 {
            return Some(0);
        }
    }
    let (mut seen, mut steps, mut lines) = (0, 0, 0);
    while address != 0 && steps < 16 {
        steps += 1;
        let code = peek(address, layout.code)? & !layout.tag;
        let marker = match layout.owner {
            Some(owner) => peek(address, owner)? as u8 == C_STACK,
            None => false,
        };
        if code != 0 && !marker && peek(code, layout.type_of)? == layout.code_type {
            for (place, kind) in [
                (layout.file_name, layout.text_type),
                (layout.name, layout.text_type),
                (layout.line_table, layout.bytes_type),
            ] {
                if peek(peek(code, place)?, layout.type_of)? != kind {
                    return None;
                }
            }
            let name = peek(code, layout.file_name)?;
            if peek(name, layout.text_length)? > frame::LONGEST {
                return None;
            }
            if let Some(bit) = width_bit(peek(peek(code, layout.name)?, layout.text_state)? as u32) {
                layout.text_width_bit = bit;
            }
            // All objects that the frame refers to have the right types.
            lines += usize::from(Frame::at(address, layout).is_some_and(|frame| frame.line().is_some()));
            seen += 1;
        }
        address = peek(address, layout.previous)?;
    }
    // If no frame has a line, the memory holds no frames.
    (lines > 0 || steps == 0).then_some(seen)
}

/// Reads a word of this process; `None` if the kernel says that the address cannot be read.
fn peek(address: u64, offset: usize) -> Option<u64> {
    let place = address.checked_add(offset as u64)?;
    // SAFETY: the word was found readable.
    is_range_readable(place, 8).then(|| unsafe { (place as *const u64).read_unaligned() })
}

/// A loaded library, as a handle of the dynamic linker.
struct Library(*mut c_void);

impl Library {
    /// The library with a symbol: the process's shared scope, or a Python library that was loaded privately.
    fn holding(symbol: &CStr) -> Option<Library> {
        let shared = Library(libc::RTLD_DEFAULT);
        if !shared.symbol(symbol).is_null() {
            return Some(shared);
        }
        let mut handle: *mut c_void = std::ptr::null_mut();
        // SAFETY: the callback follows the contract of `dl_iterate_phdr`, and `handle` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut handle).cast()) };
        let alone = Library(handle);
        (!handle.is_null() && !alone.symbol(symbol).is_null()).then_some(alone)
    }

    fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle of the dynamic linker, and a nul-terminated string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }
}

/// Opens a handle of the first library with a name like Python's.
unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _size: usize, handle: *mut c_void) -> c_int {
    // SAFETY: the linker passes a record whose name may be null.
    let name = unsafe { (*info).dlpi_name };
    if name.is_null() {
        return 0;
    }
    // SAFETY: the name is nul-terminated.
    let is_python = unsafe { CStr::from_ptr(name) }.to_bytes().windows(10).any(|part| part == b"libpython3");
    if !is_python {
        return 0;
    }
    // SAFETY: the flag prevents loading; `handle` points to the caller's variable.
    unsafe {
        let found = libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        *handle.cast::<*mut c_void>() = found;
        c_int::from(!found.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_of_characters_is_found_in_the_state_of_an_ascii_string() {
        // Not interned, interned, and immortal; Python 3.13 sets a bit above for static strings.
        for interned in 0..4 {
            assert_eq!(width_bit(0x19 << 2 | interned), Some(2));
            assert_eq!(width_bit(1 << 7 | 0x19 << 2 | interned), Some(2));
            assert_eq!(width_bit(0x19 << 8 | interned), Some(8));
            assert_eq!(width_bit(0x19 << 16 | interned), Some(16));
        }
        // Two bytes for each character; not compact.
        assert_eq!((width_bit(0x0a << 2), width_bit(0x01 << 16)), (None, None));
    }

    #[test]
    fn minor_version_is_parsed() {
        assert_eq!(minor("3.10.13 (main, May  9 2026)"), Some(10));
        assert_eq!(minor("3.15.0a1+ free-threading"), Some(15));
        assert_eq!(minor("2.7.18"), None);
    }

    #[test]
    fn unknown_version_has_no_layout() {
        let types = Types { code: 1, text: 2, bytes: 3 };
        assert!(layout(9, &types, None).is_none());
        assert!(layout(99, &types, None).is_none());
        assert!(layout(13, &types, None).is_none());
        let other = [0_u64; 128];
        assert!(layout(13, &types, Some(other.as_ptr().cast_mut().cast())).is_none());
    }

    #[test]
    fn implausible_thread_state_is_refused() {
        let types = Types { code: 1, text: 2, bytes: 3 };
        let mut layout = layout(11, &types, None).unwrap();
        assert_eq!(verify(0x10, &mut layout), None, "unmapped memory");
        let words = [0x10_u64; 32];
        assert_eq!(verify(words.as_ptr() as u64, &mut layout), None, "memory without frames");
    }
}
