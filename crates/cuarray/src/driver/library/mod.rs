//! The driver's shared library, as the operating system loads it.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{SONAME, already_loaded, at, file_of, searched};
#[cfg(windows)]
pub(super) use windows::{SONAME, already_loaded, at, file_of, searched};

#[cfg(unix)]
pub(super) use libloading::os::unix::Library;
#[cfg(windows)]
pub(super) use libloading::os::windows::Library;

use std::error::Error as _;

/// The loader's own message, which is the source of the error.
fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
