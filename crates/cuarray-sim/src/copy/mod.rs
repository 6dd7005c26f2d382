//! Copies and fills: their C functions, and their execution.
//!
//! [`exports`] checks and enqueues them; [`work`] moves the bytes. A copy as data is an [object](crate::objects::copy), because
//! streams and graphs hold it.

pub(crate) mod exports;
pub(crate) mod work;
