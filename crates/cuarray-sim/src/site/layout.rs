//! The layout of the interpreter's structures that contain frames.

use super::line::Packing;

/// Offsets in bytes in the structures of one version of Python.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The path from a thread's state to its innermost frame: the offset of the next address at each step.
    pub to_frame: [Option<usize>; 2],
    pub previous: usize,
    /// The frame's code object; the lowest bits of the word may be a tag.
    pub code: usize,
    pub tag: u64,
    pub instruction: Instruction,
    /// A line that a trace function has set (3.10); 0 if unset.
    pub line: Option<usize>,
    /// The frame's owner; [`C_STACK`] marks a frame that runs no code (3.12).
    pub owner: Option<usize>,
    pub file_name: usize,
    pub name: usize,
    pub line_table: usize,
    pub packing: Packing,
    pub first_line: usize,
    pub type_of: usize,
    pub bytes_length: usize,
    pub bytes: usize,
    pub text_length: usize,
    pub text_state: usize,
    /// The bit position of the character width in a string's state.
    pub text_width_bit: u32,
    /// Offsets of the characters: in ASCII strings, and in others.
    pub ascii: usize,
    pub wide: usize,
    /// The addresses of the Python types.
    pub code_type: u64,
    pub text_type: u64,
    pub bytes_type: u64,
}

/// The form in which a frame stores its position in the code.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// A number of code units.
    Index(usize),
    /// An address, and the offset of the code in the code object.
    Address { at: usize, code: usize },
}

/// The owner of a frame that only marks a call from C.
pub(super) const C_STACK: u8 = 3;
