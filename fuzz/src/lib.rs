//! Fuzz checks of the code that reads external input: its properties must hold for any input bytes.
//!
//! Each module has a function `check`, which makes an input out of bytes, passes it to the library, and panics if a
//! property fails. The properties are implemented here a second time in the simplest way (visiting each element,
//! 128-bit arithmetic), so a wrong result is found as well as a crash. The fuzz targets and the test over the
//! corpus call the same functions.

pub mod descr;
pub mod generated;
#[cfg(feature = "python")]
pub mod interface_dict;
pub mod layout;
pub mod nvjitlink;
pub mod ptx;
#[cfg(feature = "python")]
mod python_value;
#[cfg(feature = "python")]
pub mod structures;
pub mod typestr;

/// Checks a message of the library: printable, on one line, and not too long.
fn assert_readable(message: &str) {
    assert!(!message.is_empty());
    assert!(message.chars().count() <= LONGEST_MESSAGE, "a message of {} characters", message.chars().count());
    assert!(!message.chars().any(char::is_control), "control characters in {message:?}");
}

/// Enough for a sentence with a shape and strides of 64 axes with the longest numbers.
const LONGEST_MESSAGE: usize = 4_000;
