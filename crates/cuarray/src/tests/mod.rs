//! Tests of functions that users cannot call. The tests in the folder `tests` of the crate use its public interface.
//!
//! Tests with a driver need the simulated one, which is for Linux. The others run on Windows too.

#[cfg(unix)]
#[path = "../../tests/driver_fixture/mod.rs"]
mod driver_fixture;

mod descr;
#[cfg(unix)]
mod driver_copy;
#[cfg(unix)]
mod driver_faults;
#[cfg(unix)]
mod driver_ipc;
#[cfg(unix)]
mod driver_kernel_cache;
#[cfg(unix)]
mod driver_launch;
#[cfg(unix)]
mod driver_lifecycle;
#[cfg(unix)]
mod driver_peer;
#[cfg(unix)]
mod driver_threads;
#[cfg(unix)]
mod fork;
mod interface;
mod layout;
mod layout_view;
#[cfg(unix)]
mod soundness;
#[cfg(unix)]
mod synchronization;
mod typestr;
