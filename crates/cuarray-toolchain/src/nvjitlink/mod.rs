//! A stand-in for nvJitLink: it links PTX to an image that the simulated driver reads.
//!
//! LTO-IR is compiled to PTX by NVIDIA's library, which must be installed for it. Result codes and messages are those of
//! [nvJitLink](https://docs.nvidia.com/cuda/nvjitlink/index.html).

pub mod exports;
mod input;
mod kept;
mod link;
mod options;
mod real;

pub use input::Input;
pub use link::{Link, kind};
pub use options::Options;

/// An error: the result code, and a line for the error log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code, `nvJitLinkResult`.
    pub code: i32,
    /// The message without the end of its line; may be empty.
    pub text: String,
}

/// The result of a step of a link.
pub type Result<T> = std::result::Result<T, Failure>;

macro_rules! codes {
    ($($name:ident = $code:literal),* $(,)?) => {
        #[allow(missing_docs)]
        impl Failure {
            $(pub const $name: i32 = $code;)*
        }
    };
}

codes! {
    UNRECOGNIZED_OPTION = 1,
    MISSING_ARCH = 2,
    INVALID_INPUT = 3,
    PTX_COMPILE = 4,
    NVVM_COMPILE = 5,
    INTERNAL = 6,
    UNRECOGNIZED_INPUT = 8,
    NULL_INPUT = 10,
    INCOMPATIBLE_OPTIONS = 11,
    INCORRECT_INPUT_TYPE = 12,
    UNRECOGNIZED_ARCH = 16,
    UNSUPPORTED_ARCH = 17,
    LTO_NOT_ENABLED = 18,
}

impl Failure {
    fn new(code: i32, text: String) -> Failure {
        Failure { code, text }
    }
}
