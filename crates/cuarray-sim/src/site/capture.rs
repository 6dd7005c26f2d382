//! Capture of a call site in a fraction of a microsecond, without the interpreter's lock, in any thread.
//!
//! A program calls the driver repeatedly from few places, so each thread caches them. The address of the code object
//! and the instruction identify a frame. A code object may be freed and its address reused, so the cached names and the
//! used part of the line table are compared byte by byte. Only new places create strings and query the dynamic linker.

use super::frame::{self, Text};
use super::native::{Entry, caller_outside, objects_outside};
use super::object::object_of;
use super::python::python;
use super::{Frame, Site, cuda_runtime, library, skip};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The site of a driver call.
pub(crate) fn capture(entry: Entry<'_>) -> Arc<Site> {
    let address = caller_outside(entry);
    let captured = SEEN.try_with(|seen| {
        // A reentrant call finds the cache borrowed, and gets no site instead of a panic.
        let mut seen = seen.try_borrow_mut().ok()?;
        Some(seen.get_or_insert_with(Seen::new).site(address, entry))
    });
    // Thread-local storage is no longer available late in a thread's end.
    captured.ok().flatten().unwrap_or_else(|| Site::unknown().clone())
}

thread_local! {
    static SEEN: RefCell<Option<Box<Seen>>> = const { RefCell::new(None) };
}

/// The number of frames and of sites that a thread caches; a power of two.
const CACHED: usize = 512;
/// The maximum number of frames that are searched for a frame of the user's program.
const MAX_FRAMES: usize = 256;

/// A thread's cache of frames and sites.
struct Seen {
    frames: Vec<Option<SeenFrame>>,
    sites: Vec<Option<(Key, Arc<Site>)>>,
}

/// The key of a site: the numbers of its frames, and the return address of the driver call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    innermost: Option<u32>,
    user: Option<u32>,
    /// The outermost frame of a package below the user's frame: the function that the user called.
    called: Option<u32>,
    address: usize,
}

/// A cached frame, with all data that its line and names depend on.
struct SeenFrame {
    code: u64,
    offset: i64,
    first_line: i32,
    file_name: Box<[u8]>,
    name: Box<[u8]>,
    /// The part of the line table up to this instruction.
    line_table: Box<[u8]>,
    number: u32,
    installed: bool,
    /// Whether the file belongs to a package, and not to the standard library.
    packaged: bool,
}

impl SeenFrame {
    /// Whether a frame runs code of the same file, at this instruction.
    fn is_of_file(&self, frame: &frame::Frame<'_>) -> bool {
        (self.code, self.offset) == (frame.code, frame.offset) && same(frame.file_name(), &self.file_name)
    }

    /// Whether a frame is at this line of this function.
    fn is(&self, frame: &frame::Frame<'_>) -> bool {
        self.is_of_file(frame)
            && self.first_line == frame.first_line()
            && same(frame.name(), &self.name)
            && frame.line_table().is_some_and(|table| table.starts_with(&self.line_table))
    }
}

fn same(text: Option<Text<'_>>, bytes: &[u8]) -> bool {
    text.is_some_and(|text| text.bytes == bytes)
}

impl Seen {
    fn new() -> Box<Seen> {
        let frames = std::iter::repeat_with(|| None).take(CACHED).collect();
        let sites = std::iter::repeat_with(|| None).take(CACHED).collect();
        Box::new(Seen { frames, sites })
    }

    fn site(&mut self, address: usize, entry: Entry<'_>) -> Arc<Site> {
        let mut key = self.key(address, false);
        let mut index = place(&key);
        let known = |seen: &Seen, key: &Key, index: usize| {
            seen.sites[index].as_ref().filter(|(other, _)| other == key).map(|(_, site)| site.clone())
        };
        if let Some(site) = known(self, &key, index) {
            return site;
        }
        if key.innermost.is_none() {
            // A new caller may have loaded an interpreter since the last look-up.
            key = self.key(address, true);
            index = place(&key);
        }
        if cuda_runtime::find_at(address) {
            // The first call of a runtime that was just found; without a caller outside of it, the runtime is the caller.
            let outside = caller_outside(entry);
            if !cuda_runtime::holds(outside) {
                return self.site(outside, entry);
            }
        }
        let site = known(self, &key, index).unwrap_or_else(|| Table::with(|table| table.site(key, entry)));
        self.sites[index] = Some((key, site.clone()));
        site
    }

    fn key(&mut self, address: usize, look: bool) -> Key {
        let innermost = python(look).and_then(|python| python.innermost());
        let (mut first, mut called, mut frame) = (None, None, innermost);
        for _ in 0..MAX_FRAMES {
            let Some(seen) = frame else { break };
            let (number, installed, packaged) = self.number(&seen, first.is_none());
            first = first.or(number);
            if number.is_some() && !installed {
                return Key { innermost: first, user: number, called, address };
            }
            if packaged {
                called = number;
            }
            frame = seen.outer();
        }
        Key { innermost: first, user: None, called: None, address }
    }

    /// The number of a frame's place, if readable, and whether its file is installed. The exact number of an installed
    /// file only matters for the `innermost` frame.
    fn number(&mut self, frame: &frame::Frame<'_>, innermost: bool) -> (Option<u32>, bool, bool) {
        let mixed = (frame.code >> 4) ^ (frame.offset.cast_unsigned() >> 1).wrapping_mul(0x9E37_79B9);
        let place = &mut self.frames[mixed as usize % CACHED];
        let is = |seen: &&SeenFrame| if seen.installed && !innermost { seen.is_of_file(frame) } else { seen.is(frame) };
        if let Some(seen) = place.as_ref().filter(is) {
            return (Some(seen.number), seen.installed, seen.packaged);
        }
        *place = SeenFrame::read(frame);
        place.as_ref().map_or((None, false, false), |seen| (Some(seen.number), seen.installed, seen.packaged))
    }
}

impl SeenFrame {
    #[cold]
    fn read(frame: &frame::Frame<'_>) -> Option<SeenFrame> {
        let (file_name, name, table) = (frame.file_name()?, frame.name()?, frame.line_table()?);
        // Generated code without line numbers is named by the line at which it begins.
        let (line, decided) = frame.line().unwrap_or((u32::try_from(frame.first_line()).unwrap_or(0), table.len()));
        let (file, function) = (file_name.to_text(), name.to_text());
        let skipped = skip::matches(Some(&function), Some(&file));
        let (installed, packaged) = (skipped || library::is_installed(&file), library::is_packaged(&file));
        Some(SeenFrame {
            code: frame.code,
            offset: frame.offset,
            first_line: frame.first_line(),
            file_name: file_name.bytes.into(),
            name: name.bytes.into(),
            line_table: table.get(..decided)?.into(),
            number: Table::with(|places| places.number(Frame { file, line, function })),
            installed,
            packaged,
        })
    }
}

fn place(key: &Key) -> usize {
    let called = u64::from(key.called.unwrap_or(0)).rotate_left(16);
    let frames = (u64::from(key.innermost.unwrap_or(0)) << 32) ^ called ^ u64::from(key.user.unwrap_or(0));
    let mixed = (frames ^ (key.address as u64)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize % CACHED
}

/// All frame places and all sites of the process.
#[derive(Default)]
struct Table {
    numbers: HashMap<Frame, u32>,
    frames: Vec<Frame>,
    sites: HashMap<Key, Arc<Site>>,
}

impl Table {
    fn with<R>(f: impl FnOnce(&mut Table) -> R) -> R {
        static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();
        f(&mut TABLE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn number(&mut self, frame: Frame) -> u32 {
        if let Some(number) = self.numbers.get(&frame) {
            return *number;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.numbers.insert(frame, number);
        number
    }

    fn site(&mut self, key: Key, entry: Entry<'_>) -> Arc<Site> {
        if let Some(site) = self.sites.get(&key) {
            return site.clone();
        }
        let frame = |number: Option<u32>| number.and_then(|number| self.frames.get(number as usize)).cloned();
        let (innermost, user) = (frame(key.innermost), frame(key.user));
        let native = object_of(key.address);
        let library = native.as_ref().map(|native| {
            let library = calling_library(&native.object, innermost.as_ref(), entry);
            // Libraries such as numba-cuda call the driver through cuda.core. The user knows the library above it.
            match frame(key.called) {
                Some(called) if library::is_layer(&library) => library::of(&called.file),
                _ => library,
            }
        });
        let site = Arc::new(Site { innermost, user, native, library });
        self.sites.insert(key, site.clone());
        site
    }
}

/// The library that made the call: the driver's caller, or that caller's caller if it only forwards calls.
fn calling_library(object: &str, innermost: Option<&Frame>, entry: Entry<'_>) -> String {
    if !library::forwards(object) {
        return library::of(object);
    }
    let mut from_code = None;
    objects_outside(entry, |object| {
        if library::forwards(object) {
            return true;
        }
        from_code = (!library::is_runtime(object)).then(|| library::of(object));
        false
    });
    let by_name = || innermost.filter(|frame| library::is_packaged(&frame.file)).map(|frame| library::of(&frame.file));
    from_code.or_else(by_name).unwrap_or_else(|| library::of_binding(object))
}
