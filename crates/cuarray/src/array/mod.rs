//! Arrays: owned arrays, views of other libraries' memory, and the guards that give access to addresses.

mod aliasing;
mod contents;
pub(crate) mod device_array;
pub(crate) mod guard;
pub(crate) mod held;
mod host_copy;
pub(crate) mod raw;
mod raw_views;
mod regions;
mod registry;
#[cfg(all(test, not(loom)))]
mod registry_list;
#[cfg(all(test, loom))]
mod registry_model;
pub(crate) mod view;
