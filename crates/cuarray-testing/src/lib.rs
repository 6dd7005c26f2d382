//! Tests for code that takes GPU arrays of other libraries.
//!
//! Each library exports arrays that its author never saw: reversed, broadcast, without elements, over bytes that overlap. Others export
//! dictionaries that the text forbids. A function that takes any array meets both, so its tests should too:
//!
//! - [`layouts`] and [`interfaces`] are strategies of proptest for everything that the text allows;
//! - [`hostile`] draws dictionaries with one entry that it forbids, each with its clause;
//! - [`AWKWARD`] lists the arrays that libraries get wrong, by name. The Python module `cuarray.testing` has the same list;
//! - `ExtensionTest` (feature `python`) calls a function of an extension module with all of these, and reports.
//!
//! The crate is separate from `cuarray`, because it needs proptest.
//!
//! ```
//! use cuarray::Order;
//! use proptest::prelude::*;
//!
//! proptest!(|(layout in cuarray_testing::layouts(4))| {
//!     // A copy in C order has as many elements, and no gaps.
//!     let dense = cuarray::Layout::c_contiguous(layout.shape(), 4).unwrap();
//!     prop_assert_eq!(dense.len(), layout.len());
//!     prop_assert!(dense.reshape(&[-1], Order::C).unwrap().is_some());
//! });
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod awkward;
mod entries;
#[cfg(feature = "python")]
mod extension;
mod hostile;
mod layouts;

pub use awkward::{AWKWARD, Awkward};
pub use entries::{Entries, Value};
#[cfg(feature = "python")]
pub use extension::{Case, ExtensionTest, Report, Verdict};
pub use hostile::{Hostile, hostile};
pub use layouts::{interfaces, layouts};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
