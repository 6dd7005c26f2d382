//! What must hold of anything that is read from outside, whatever the bytes are.
//!
//! Each module has one function `check`, which makes an input out of bytes, hands it to the library, and panics where a
//! promise is broken. The promises are stated a second time here, in the plainest way there is (counting elements one by
//! one, sums in 128 bits), so a wrong answer is found as surely as a crash. The fuzz targets and the test over the
//! corpus call the same functions.

pub mod descr;
#[cfg(feature = "python")]
pub mod interface_dict;
pub mod layout;
pub mod ptx;
#[cfg(feature = "python")]
mod python_value;
#[cfg(feature = "python")]
pub mod structures;
pub mod typestr;

/// A message from the library: for people, on one line, and of a length that they read.
fn assert_readable(message: &str) {
    assert!(!message.is_empty());
    assert!(message.chars().count() <= LONGEST_MESSAGE, "a message of {} characters", message.chars().count());
    assert!(!message.chars().any(char::is_control), "control characters in {message:?}");
}

/// Enough for a sentence with a shape and strides of 64 dimensions of the longest numbers.
const LONGEST_MESSAGE: usize = 4_000;
