//! A raw site, copied into a buffer of fixed size where code must not allocate or lock.
//!
//! A signal handler must record where it interrupted the program. It copies names as bytes; the site is created
//! later.

use super::frame::{self, Text};
use super::native::callers_of;
use super::object::object_of;
use super::python::found;
use super::{Frame, Native, Site, library};
use std::sync::Arc;

/// The maximum number of bytes copied of a file's and of a function's name; longer names are omitted.
const FILE: usize = 1024;
const NAME: usize = 256;
/// The maximum number of frames that are searched for a frame of the user's program.
const MAX_FRAMES: usize = 64;

/// The maximum number of machine frames around an instruction of the C library.
const CALLERS: usize = 4;

/// The position of a thread: an instruction, and Python frames.
#[derive(Clone, Copy)]
pub(crate) struct RawSite {
    instruction: usize,
    /// The return addresses of the functions around it, innermost first; 0 behind the last known one.
    callers: [usize; CALLERS],
    innermost: RawFrame,
    user: RawFrame,
}

#[derive(Clone, Copy)]
struct RawFrame {
    file: [u8; FILE],
    file_length: usize,
    file_width: usize,
    name: [u8; NAME],
    name_length: usize,
    name_width: usize,
    /// The line; 0 without a frame.
    line: u32,
}

impl RawFrame {
    const NONE: RawFrame = RawFrame {
        file: [0; FILE],
        file_length: 0,
        file_width: 1,
        name: [0; NAME],
        name_length: 0,
        name_width: 1,
        line: 0,
    };

    fn take(&mut self, frame: &frame::Frame<'_>) {
        self.line = 0;
        let (Some(file), Some(name), Some((line, _))) = (frame.file_name(), frame.name(), frame.line()) else { return };
        if file.bytes.len() <= FILE && name.bytes.len() <= NAME {
            self.file[..file.bytes.len()].copy_from_slice(file.bytes);
            (self.file_length, self.file_width) = (file.bytes.len(), file.width);
            self.name[..name.bytes.len()].copy_from_slice(name.bytes);
            (self.name_length, self.name_width) = (name.bytes.len(), name.width);
            self.line = line;
        }
    }

    fn frame(&self) -> Option<Frame> {
        let file = Text { bytes: &self.file[..self.file_length], width: self.file_width }.to_text();
        let function = Text { bytes: &self.name[..self.name_length], width: self.name_width }.to_text();
        (self.line > 0).then_some(Frame { file, line: self.line, function })
    }
}

impl RawSite {
    pub(crate) const NOWHERE: RawSite =
        RawSite { instruction: 0, callers: [0; CALLERS], innermost: RawFrame::NONE, user: RawFrame::NONE };

    /// Records where the calling thread was interrupted, at `instruction`. To be called by the signal's handler.
    pub(crate) fn take(&mut self, instruction: usize) {
        (self.instruction, self.callers) = (instruction, [0; CALLERS]);
        callers_of(instruction, &mut self.callers);
        (self.innermost.line, self.user.line) = (0, 0);
        let Some(mut frame) = found().and_then(|python| python.innermost()) else { return };
        self.innermost.take(&frame);
        for _ in 0..MAX_FRAMES {
            if !frame.file_name().is_some_and(is_installed) {
                return self.user.take(&frame);
            }
            let Some(outer) = frame.outer() else { return };
            frame = outer;
        }
    }

    /// The function outside of the C library that called one of its functions, such as `memset`, where the access is in one.
    fn caller(&self) -> Option<Native> {
        let mut callers = self.callers.iter().map_while(|address| object_of(*address));
        callers.find(|caller| !library::is_of_the_language(&caller.object))
    }

    /// The site of a memory access at this position.
    pub(crate) fn site(&self) -> Arc<Site> {
        // The instruction is not a return address, and the look-up uses the address before its argument.
        let own = object_of(self.instruction + 1).map(|native| Native {
            offset: native.offset - 1,
            is_return_address: false,
            ..native
        });
        let in_c = own.as_ref().is_some_and(|native| library::is_of_the_language(&native.object));
        let native = if in_c { self.caller().or(own) } else { own };
        let library = native.as_ref().filter(|_| !in_c).map(|native| &*native.object);
        let library = library.filter(|object| !library::is_runtime(object));
        let library = library.map(library::of);
        Arc::new(Site { innermost: self.innermost.frame(), user: self.user.frame(), native, library })
    }
}

/// Whether a name is that of an installed file, judged by its ASCII characters.
fn is_installed(name: Text<'_>) -> bool {
    let mut ascii = [b'?'; FILE];
    for (place, character) in ascii.iter_mut().zip(name.bytes.chunks_exact(name.width)) {
        if let [first, rest @ ..] = character
            && first.is_ascii()
            && rest.iter().all(|byte| *byte == 0)
        {
            *place = *first;
        }
    }
    let length = (name.bytes.len() / name.width).min(FILE);
    std::str::from_utf8(&ascii[..length]).is_ok_and(library::is_installed)
}
