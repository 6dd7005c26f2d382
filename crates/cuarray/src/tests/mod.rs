//! Tests of functions that users cannot call. The tests in the folder `tests` of the crate use its public interface.

#[path = "../../tests/driver_fixture/mod.rs"]
mod driver_fixture;

mod descr;
mod driver_copy;
mod driver_faults;
mod driver_ipc;
mod driver_kernel_cache;
mod driver_launch;
mod driver_lifecycle;
mod driver_peer;
mod driver_threads;
mod fork;
mod interface;
mod layout;
mod layout_view;
mod soundness;
mod synchronization;
mod typestr;
