//! Capture of sites: where in the program a driver call came from.
//!
//! A finding is only as useful as its sites: a reader wants their own line, not the line of the library that called
//! the driver. [`capture`] therefore collects several parts, each optional: the innermost Python frame, the innermost
//! Python frame outside installed packages, the machine code that called the driver, and the calling library.
//! [`Site`] holds them.

mod capture;
mod cuda_runtime;
mod debug_info;
mod frame;
mod generated;
mod layout;
mod library;
mod line;
mod lines;
mod looked_up;
mod native;
mod object;
mod python;
mod raw_site;
mod skip;

pub(crate) use capture::capture;
pub(crate) use cuda_runtime::seen as runtimes_seen;
pub(crate) use library::of as library_of;
pub(crate) use lines::{add_lines, with_line};
pub(crate) use native::{Entry, ReturnPlace, calling_object, stack_pointer};
pub(crate) use python::unreadable as unreadable_python;
pub(crate) use raw_site::RawSite;

use cuarray_races::site::{Frame, Native, Site};
