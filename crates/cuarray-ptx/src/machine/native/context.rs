//! The values that generated code reads, besides the machine and the frame.

use super::compiled::Compiled;
use super::hulls::POINTERS;

/// The memory that an access last found: device addresses from `start` on, at `shift` from the host's.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Site {
    pub start: u64,
    /// The number of places that the lowest address can have.
    pub places: u64,
    pub shift: u64,
    /// The number of the region.
    pub region: u64,
}

/// The bytes of a site.
pub(super) const SITE: i32 = size_of::<Site>() as i32;

impl Site {
    /// No memory.
    pub(super) const NONE: Site = Site { start: 0, places: 0, shift: 0, region: 0 };
}

/// The most blocks that lanes of a warp wait for, while others execute one.
pub(super) const WAITING: usize = 32;

/// The values that generated code reads. Its address is in `r12`.
#[repr(C, align(32))]
pub(super) struct Context {
    /// The lanes whose registers may not be written, as masks of 32 and of 64 bits.
    pub kept: [u32; 32],
    pub kept_wide: [u64; 32],
    /// The lanes that do not take part.
    pub left_out: [u32; 32],
    pub left_out_wide: [u64; 32],
    /// The vector registers during a call.
    pub saved: [[u64; 4]; 14],
    /// The host's addresses of groups of accesses, or zero; see `hulls`.
    pub pointers: [u64; POINTERS],
    pub frame: u64,
    pub constants: u64,
    pub sites: u64,
    pub scalars: u64,
    pub parameters: u64,
    pub shared: u64,
    pub shared_bytes: u64,
    /// The part of the entries of the table of written accesses that names the block.
    pub generation: u64,
    /// The value of `Machine::limit` behind a jump backwards.
    pub limit: u32,
    /// Whether that value is known.
    pub stable: u32,
    /// The lanes that wait for later blocks, while others execute one; see `divergence`. All are zero otherwise.
    pub waiting: [u32; WAITING],
    /// The executed instructions when the first of these lanes began to wait.
    pub since: [u64; WAITING],
    /// The block to which the lanes that have run last go on.
    pub running: u32,
    /// The frame of the fragment.
    pub number: u32,
    /// The running code.
    pub compiled: *const Compiled,
    /// The block at which a warp goes on to which the turn has passed.
    pub resume: u64,
    /// The lanes of the masks: those that take part, and those that may be written.
    pub lanes: (u32, u32),
    /// The executed instructions from which on something else may be due between the turns of two warps.
    pub due: u64,
    /// The instructions of a turn of a warp, and of a fragment.
    pub longest: u64,
    pub longest_turn: u64,
    /// The special registers that differ between the warps of a block, for each warp; see `following`.
    pub rows: u64,
}

impl Context {
    pub(super) const NEW: Context = Context {
        kept: [0; 32],
        kept_wide: [0; 32],
        left_out: [0; 32],
        left_out_wide: [0; 32],
        saved: [[0; 4]; 14],
        pointers: [0; POINTERS],
        frame: 0,
        constants: 0,
        sites: 0,
        scalars: 0,
        parameters: 0,
        shared: 0,
        shared_bytes: 0,
        generation: 0,
        limit: 0,
        stable: 0,
        waiting: [0; WAITING],
        since: [0; WAITING],
        running: 0,
        number: 0,
        compiled: std::ptr::null(),
        resume: 0,
        lanes: (u32::MAX, u32::MAX),
        due: 0,
        longest: 0,
        longest_turn: 0,
        rows: 0,
    };
}

/// Constants for the offsets of the fields of a type, which generated code accesses.
macro_rules! offsets {
    ($of:ty: $($name:ident = $($field:ident).+;)+) => {$(
        pub(super) const $name: i32 = std::mem::offset_of!($of, $($field).+) as i32;
    )+};
}
pub(super) use offsets;

offsets! {
    Context:
    KEPT_LANES = kept;
    KEPT_WIDE_LANES = kept_wide;
    LEFT_OUT_LANES = left_out;
    LEFT_OUT_WIDE_LANES = left_out_wide;
    SAVED = saved;
    POINTER = pointers;
    FRAME = frame;
    NUMBER = number;
    CONSTANTS = constants;
    SITES = sites;
    SCALARS = scalars;
    PARAMETERS = parameters;
    SHARED = shared;
    SHARED_BYTES = shared_bytes;
    GENERATION = generation;
    LIMIT = limit;
    STABLE = stable;
    RESUME = resume;
    WAITING_LANES = waiting;
    WAITING_SINCE = since;
    RUNNING = running;
    LANES = lanes;
    DUE = due;
    LONGEST = longest;
    LONGEST_TURN = longest_turn;
}
