//! The frames of the calling thread, read from the interpreter's memory.
//!
//! Reading a frame only follows addresses: it calls no Python, allocates nothing and takes no lock. So it works without
//! the interpreter's lock, and in a signal handler. A frame is valid while the thread stays in it.

use super::layout::{C_STACK, Layout};
use super::line::line_at;

/// The maximum length (in characters or bytes) of texts and line tables that are read.
pub(super) const LONGEST: u64 = 1 << 16;

/// One frame that runs a code object.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    layout: &'a Layout,
    address: u64,
    /// The address of its code object, which may be reused after the frame ends.
    pub code: u64,
    /// The byte offset of its current instruction.
    pub offset: i64,
}

/// A string of the interpreter, with characters of one width.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Text<'a> {
    /// The bytes of the characters.
    pub bytes: &'a [u8],
    /// The bytes per character: 1, 2 or 4.
    pub width: usize,
}

impl Text<'_> {
    pub(super) fn to_text(self) -> String {
        let characters = self.bytes.chunks_exact(self.width).map(|character| {
            let mut bytes = [0; 4];
            bytes[..self.width].copy_from_slice(character);
            char::from_u32(u32::from_le_bytes(bytes)).unwrap_or(char::REPLACEMENT_CHARACTER)
        });
        characters.collect()
    }
}

impl<'a> Frame<'a> {
    /// The frame at an address, or the nearest outer frame that runs code.
    pub(super) fn at(mut address: u64, layout: &'a Layout) -> Option<Frame<'a>> {
        // SAFETY: these are frames of the calling thread in the verified layout, and their chain ends.
        unsafe {
            while address != 0 {
                let code = word(address, layout.code) & !layout.tag;
                let marker = layout.owner.is_some_and(|owner| byte(address, owner) == C_STACK);
                if code != 0 && !marker && word(code, layout.type_of) == layout.code_type {
                    let offset = word(address, layout.instruction).wrapping_sub(code + layout.instructions as u64);
                    return Some(Frame { layout, address, code, offset: offset.cast_signed() });
                }
                address = word(address, layout.previous);
            }
        }
        None
    }

    /// The frame that called this one.
    pub(super) fn outer(&self) -> Option<Frame<'a>> {
        // SAFETY: as in `at`.
        Frame::at(unsafe { word(self.address, self.layout.previous) }, self.layout)
    }

    pub(super) fn file_name(&self) -> Option<Text<'a>> {
        self.text(self.layout.file_name)
    }

    pub(super) fn name(&self) -> Option<Text<'a>> {
        self.text(self.layout.name)
    }

    /// The first line of its code object.
    pub(super) fn first_line(&self) -> i32 {
        // SAFETY: a field of a live code object.
        unsafe { half_word(self.code, self.layout.first_line) }
    }

    pub(super) fn line_table(&self) -> Option<&'a [u8]> {
        // SAFETY: the code object owns the table, a bytes object that never changes.
        unsafe {
            let table = word(self.code, self.layout.line_table);
            let length = word(table, self.layout.bytes_length);
            let bytes = (table + self.layout.bytes as u64) as *const u8;
            (length <= LONGEST).then(|| std::slice::from_raw_parts(bytes, length as usize))
        }
    }

    /// The current line, and the number of line table bytes that determine it.
    pub(super) fn line(&self) -> Option<(u32, usize)> {
        line_at(self.line_table()?, self.first_line(), self.offset)
    }

    /// A string of the code object, if it is stored compactly.
    fn text(&self, place: usize) -> Option<Text<'a>> {
        let layout = self.layout;
        // SAFETY: the code object owns the text, which never changes.
        unsafe {
            let text = word(self.code, place);
            let length = word(text, layout.text_length);
            let state = half_word(text, layout.text_state).cast_unsigned() >> layout.text_width_bit;
            let (width, compact, ascii) = (state & 7, state >> 3 & 1, state >> 4 & 1);
            if length > LONGEST || compact == 0 || !matches!(width, 1 | 2 | 4) {
                return None;
            }
            let start = text + if ascii == 1 { layout.ascii } else { layout.wide } as u64;
            let bytes = std::slice::from_raw_parts(start as *const u8, length as usize * width as usize);
            Some(Text { bytes, width: width as usize })
        }
    }
}

/// Reads eight bytes of the interpreter's memory.
///
/// # Safety
/// Eight bytes are readable there.
pub(super) unsafe fn word(address: u64, offset: usize) -> u64 {
    // SAFETY: this function's contract.
    unsafe { ((address + offset as u64) as *const u64).read_unaligned() }
}

/// # Safety
/// Four bytes are readable there.
unsafe fn half_word(address: u64, offset: usize) -> i32 {
    // SAFETY: this function's contract.
    unsafe { ((address + offset as u64) as *const i32).read_unaligned() }
}

/// # Safety
/// A byte is readable there.
unsafe fn byte(address: u64, offset: usize) -> u8 {
    // SAFETY: this function's contract.
    unsafe { ((address + offset as u64) as *const u8).read() }
}
