//! The `version` entry (clause I7).
//!
//! Version 3 is current. Older versions are still read; clauses V0 to V2 state what they lack. A higher number is
//! refused, because a later version may add an entry that consumers must not ignore, as version 3 did with the
//! stream.

use crate::{Error, Result};
use std::fmt;

/// The version of the interface (clause I7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// Without masks, and without rules for strides of contiguous arrays and pointers of empty ones.
    V0,
    /// With masks.
    V1,
    /// With rules for strides and empty arrays.
    V2,
    /// With streams; the current version.
    #[default]
    V3,
}

impl Version {
    /// The number in the dictionary.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl TryFrom<i64> for Version {
    type Error = Error;

    /// # Errors
    /// Key `version`: a number outside 0 to 3.
    fn try_from(number: i64) -> Result<Version> {
        match number {
            0 => Ok(Version::V0),
            1 => Ok(Version::V1),
            2 => Ok(Version::V2),
            3 => Ok(Version::V3),
            _ => Err(Error::entry("version", format!("{number}; this version of cuarray reads 0 to 3"))),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}
