//! Launches of kernels: their C functions, their execution, and what it reports.
//!
//! [`exports`] checks and enqueues launches; [`work`] runs them on the machine of `cuarray-ptx`; [`findings`] and [`failures`]
//! report what the machine has found. [`deadlocks`] reports launches that never end, with the advice of [`end_of_wait`], and
//! [`watchdog`] ends long ones. A launch as data is an [object](crate::objects::launch), because streams and graphs hold it.

mod accessed;
mod arguments;
mod conditions;
mod deadlocks;
mod end_of_wait;
pub(crate) mod exports;
mod failures;
mod findings;
mod heap_changes;
mod orders;
mod reachable;
mod shared_arrays;
mod synchronization;
mod terms;
mod watchdog;
pub(crate) mod work;
