//! The layout of the interpreter's structures that contain frames.

/// Offsets in bytes in the structures of one version of Python.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The path from a thread's state to its innermost frame: the offset of the next address at each step.
    pub to_frame: [Option<usize>; 2],
    pub previous: usize,
    /// The frame's code object; the lowest bits of the word may be a tag.
    pub code: usize,
    pub tag: u64,
    /// The address of the current instruction.
    pub instruction: usize,
    /// The start of the code in a code object.
    pub instructions: usize,
    /// The frame's owner; [`C_STACK`] marks a frame that runs no code (3.12).
    pub owner: Option<usize>,
    pub file_name: usize,
    pub name: usize,
    pub line_table: usize,
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

/// The owner of a frame that only marks a call from C.
pub(super) const C_STACK: u8 = 3;
