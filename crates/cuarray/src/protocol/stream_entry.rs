//! The `stream` entry: the stream in which work on the data may be pending (clause I11).
//!
//! Three values are not handles: `None` (or no entry) means that there is nothing to wait for, 1 is the legacy default
//! stream, 2 is the per-thread default stream. 0 is disallowed because it could mean any of the three. It has no
//! representation here, so no part of this crate can export it by mistake.

use crate::{Error, Result};
use std::{fmt, num::NonZeroUsize};

/// The `stream` entry of an interface (clause I11).
///
/// ```
/// use cuarray::StreamEntry;
///
/// assert_eq!(StreamEntry::try_from(1)?, StreamEntry::LegacyDefault);
/// assert_eq!(StreamEntry::try_from(0x7f00).unwrap().handle(), Some(0x7f00));
/// assert_eq!(StreamEntry::None.handle(), None);
///
/// let error = StreamEntry::try_from(0).unwrap_err();
/// assert_eq!(error.key(), Some("stream"));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamEntry {
    /// Absent or `None`: nothing to wait for.
    #[default]
    None,
    /// `1`: the legacy default stream.
    LegacyDefault,
    /// `2`: the per-thread default stream.
    PerThreadDefault,
    /// Any other integer: a `cudaStream_t`. [`StreamEntry::try_from`] never makes a `Handle` of 1 or 2.
    Handle(NonZeroUsize),
}

impl StreamEntry {
    /// The integer of the stream in the dictionary, which the driver accepts too: 1, 2 or the handle.
    pub const fn handle(self) -> Option<usize> {
        match self {
            StreamEntry::None => None,
            StreamEntry::LegacyDefault => Some(1),
            StreamEntry::PerThreadDefault => Some(2),
            StreamEntry::Handle(handle) => Some(handle.get()),
        }
    }

    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            StreamEntry::None => "nothing to wait for",
            StreamEntry::LegacyDefault => "the legacy default stream",
            StreamEntry::PerThreadDefault => "the per-thread default stream",
            StreamEntry::Handle(_) => "a stream handle",
        }
    }
}

impl TryFrom<i128> for StreamEntry {
    type Error = Error;

    /// # Errors
    /// Key `stream`: 0, a negative integer, or an integer too large for a pointer.
    fn try_from(raw: i128) -> Result<StreamEntry> {
        match raw {
            1 => Ok(StreamEntry::LegacyDefault),
            2 => Ok(StreamEntry::PerThreadDefault),
            raw => match usize::try_from(raw).map(NonZeroUsize::new) {
                Ok(Some(handle)) => Ok(StreamEntry::Handle(handle)),
                Ok(None) => Err(Error::entry(
                    "stream",
                    "0 is disallowed (clause I11), as it could mean no stream or either default stream; the producer means \
                     None (nothing to wait for), 1 (legacy default stream) or 2 (per-thread default stream)",
                )),
                Err(_) => Err(Error::entry(
                    "stream",
                    format!("{raw} is not a stream; expected None, 1, 2, or a stream handle from 3 to {}", usize::MAX),
                )),
            },
        }
    }
}

/// Writes the entry as Python does: `None`, `1`, or the handle in hexadecimal.
impl fmt::Display for StreamEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamEntry::None => f.write_str("None"),
            StreamEntry::LegacyDefault => f.write_str("1"),
            StreamEntry::PerThreadDefault => f.write_str("2"),
            StreamEntry::Handle(handle) => write!(f, "{handle:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_integers_read_as_entries_and_back() {
        assert_eq!(StreamEntry::try_from(1).unwrap(), StreamEntry::LegacyDefault);
        assert_eq!(StreamEntry::try_from(2).unwrap(), StreamEntry::PerThreadDefault);
        for handle in [3, 0x7f12_3456_7890, usize::MAX] {
            let entry = StreamEntry::try_from(handle as i128).unwrap();
            assert_eq!(entry, StreamEntry::Handle(NonZeroUsize::new(handle).unwrap()));
            assert_eq!(entry.handle(), Some(handle));
        }
    }

    #[test]
    fn zero_negative_and_huge_streams_are_refused_with_key_and_value() {
        for (raw, expected) in [
            (0, "0 is disallowed (clause I11)"),
            (-1, "-1 is not a stream"),
            (i128::MIN, "is not a stream"),
            (usize::MAX as i128 + 1, "is not a stream"),
            (i128::MAX, "is not a stream"),
        ] {
            let error = StreamEntry::try_from(raw).unwrap_err();
            assert_eq!(error.key(), Some("stream"));
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
