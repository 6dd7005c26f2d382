//! Frames of the CUDA runtime, which passes its caller's calls on to the driver; and those of other stand-ins that call the driver.
//!
//! A library with the SONAME of such a stand-in is not the caller that a reader looks for. Its frames are skipped, like the
//! driver's own. The unwinder takes microseconds for that, too much for every call of the runtime. But a frame has a
//! constant size at each of its call sites. So the word with the next return address is always at the same distance from
//! the word with this one. The unwinder runs once for each call site, and later calls read the words.

use super::generated;
use super::library;
use super::object::object_of;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The addresses of one loaded runtime, from `start` to `end`; 0 for none.
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// The libraries found so far: one for each major version of CUDA, and some to spare.
static RANGES: [Range; 16] = [const { Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; 16];

/// Whether an address is in a runtime that [`find_at`] has found.
pub(super) fn holds(address: usize) -> bool {
    RANGES.iter().any(|range| {
        let end = range.end.load(Ordering::Acquire);
        end > 0 && (range.start.load(Ordering::Relaxed)..end).contains(&address)
    })
}

/// Whether an address is in a CUDA runtime. The runtime is remembered for [`holds`].
pub(super) fn find_at(address: usize) -> bool {
    if holds(address) {
        return true;
    }
    let Some((start, end)) = runtime_around(address) else { return false };
    for range in &RANGES {
        // The end is published last, so that no thread sees half a range.
        if range.start.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            range.end.store(end, Ordering::Release);
            return true;
        }
        if range.start.load(Ordering::Relaxed) == start {
            range.end.store(end, Ordering::Release);
            return true;
        }
    }
    false
}

/// Whether a library of this SONAME passes the calls of its caller on.
fn passes_on(soname: &[u8]) -> bool {
    library::STAND_INS.iter().any(|start| soname.starts_with(start.as_bytes()))
}

/// The files of the runtimes that have called the driver.
pub(crate) fn seen() -> Vec<String> {
    let starts = RANGES.iter().filter(|range| range.end.load(Ordering::Acquire) > 0);
    // `object_of` takes a return address, which lies behind the call.
    let files = starts.filter_map(|range| Some(object_of(range.start.load(Ordering::Relaxed) + 1)?.object));
    files.filter(|file| file.contains("/libcudart.so")).collect()
}

/// The addresses of the loaded object around an address, if its SONAME is that of the CUDA runtime.
fn runtime_around(address: usize) -> Option<(usize, usize)> {
    struct Search {
        address: usize,
        found: Option<(usize, usize)>,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the linker passes the object that it visits, and the pointer from below.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        let base = info.dlpi_addr as usize;
        // SAFETY: the object's program headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let begin = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
        let start = loaded.clone().map(begin).min().unwrap_or(0);
        let end = loaded.map(|header| begin(header).wrapping_add(header.p_memsz as usize)).max().unwrap_or(0);
        if !(start..end).contains(&search.address) {
            return 0;
        }
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
        // SAFETY: the dynamic section of an object that is loaded, and stays so during the visit.
        let name = dynamic.and_then(|dynamic| unsafe { soname(begin(dynamic) as *const Dynamic, start, end) });
        search.found = name.filter(|name| passes_on(name.to_bytes())).map(|_| (start, end));
        1
    }
    let mut search = Search { address, found: None };
    // SAFETY: `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// An entry of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: u64,
    value: u64,
}

const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_SONAME: u64 = 14;

/// The SONAME in a dynamic section of the object at `start..end`.
///
/// # Safety
/// The section is readable, and so is its table of strings.
unsafe fn soname<'a>(mut entry: *const Dynamic, start: usize, end: usize) -> Option<&'a CStr> {
    let (mut strings, mut name) = (None, None);
    // SAFETY: this function's contract; the section ends with a null entry.
    unsafe {
        while (*entry).tag != DT_NULL {
            match (*entry).tag {
                DT_STRTAB => strings = Some((*entry).value as usize),
                DT_SONAME => name = Some((*entry).value as usize),
                _ => {}
            }
            entry = entry.add(1);
        }
        let strings = strings?;
        // glibc replaces the table's offset with its address; other loaders keep the offset.
        let strings = if (start..end).contains(&strings) { strings } else { start.wrapping_add(strings) };
        let text = strings.wrapping_add(name?);
        (start..end).contains(&text).then(|| CStr::from_ptr(text as *const c_char))
    }
}

/// The frames of the runtime that an unwinder passes, innermost first.
pub(super) struct Frames {
    /// The last return address seen, and the word that holds it.
    inner: Option<(usize, *const usize)>,
    first: Option<*const usize>,
}

impl Frames {
    /// Begins at the word with an exported function's return address.
    pub(super) fn from(first: Option<*const usize>) -> Frames {
        Frames { inner: None, first }
    }

    /// Notes the next return address, whose frame begins at `frame`, and its distance from the one before.
    pub(super) fn pass(&mut self, address: usize, frame: usize) {
        let word = match self.inner {
            None => self.first.take(),
            Some((_, inner)) => {
                let places = (inner as usize + size_of::<usize>()..frame).step_by(size_of::<usize>()).rev();
                let mut places = places.map(|place| place as *const usize);
                places.find(|place| {
                    // SAFETY: these words lie between two frames of the calling thread.
                    let word = unsafe { place.read_volatile() };
                    word == address
                })
            }
        };
        let Some(word) = word.filter(|_| holds(address) || self.inner.is_some()) else {
            self.inner = None;
            return;
        };
        if let Some((address, inner)) = self.inner.filter(|(address, _)| is_passed(*address)) {
            // SAFETY: both words are in the calling thread's stack.
            let distance = unsafe { word.offset_from(inner) };
            let _ = DISTANCES.try_with(|known| known.borrow_mut()[place(address)] = (address, distance));
        }
        self.inner = Some((address, word));
    }
}

/// Whether a return address is in a runtime, or in generated code that calls it.
fn is_passed(address: usize) -> bool {
    holds(address) || generated::known(address) == Some(true)
}

thread_local! {
    /// For each return address into the runtime, the distance in words to the next return address.
    static DISTANCES: RefCell<[(usize, isize); CACHED]> = const { RefCell::new([(0, 0); CACHED]) };
}

/// The number of return addresses whose distances a thread caches; a power of two.
const CACHED: usize = 256;

/// The place of a return address in the cache.
fn place(address: usize) -> usize {
    address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 & (CACHED - 1)
}

/// The return address of the innermost frame outside of the runtime and of generated code, if all frames in between are known.
///
/// # Safety
/// `word` holds the return address of a running function of the calling thread.
pub(super) unsafe fn caller_by_known_frames(first: *const usize) -> Option<usize> {
    let walk = |known: &[(usize, isize); CACHED]| {
        let mut word = first;
        for _ in 0..DEEPEST {
            // SAFETY: this function's contract; and an earlier call with the same return address, whose frame has a
            // constant size, found the next word at this distance.
            let address = unsafe { word.read_volatile() };
            if !holds(address) && !generated::known(address)? {
                return Some(address);
            }
            let (_, distance) = known.get(place(address)).filter(|(known, _)| *known == address)?;
            // SAFETY: as above.
            word = unsafe { word.offset(*distance) };
        }
        None
    };
    DISTANCES.try_with(|known| walk(&known.borrow())).ok().flatten()
}

/// The maximum number of frames of the runtime between its caller and the driver.
const DEEPEST: usize = 16;
