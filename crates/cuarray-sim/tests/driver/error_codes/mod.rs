//! The error codes of every implemented entry point.
//!
//! A table lists the codes that NVIDIA's manual documents for each function. The sweeps call every entry point before
//! `cuInit`, with one wrong argument each, with ended handles, without a current context, and after the driver's end. Together with
//! the single cases of all tests they show each documented code, or the table gives a reason why no call can return it.

mod calls;
mod contexts_and_values;
mod documented;
mod not_supported;
mod objects;
mod refusals;
mod results_of_code;
mod results_of_contexts;
mod sweeps;
mod teardown;

use crate::program::*;
