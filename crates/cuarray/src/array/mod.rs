//! Arrays: owned arrays, views of other libraries' memory, and the guards that give access to addresses.

mod aliasing;
pub(crate) mod axis_iter;
mod contents;
pub(crate) mod device_array;
pub(crate) mod guard;
pub(crate) mod held;
mod host_copy;
#[cfg(feature = "ndarray")]
pub(crate) mod host_ndarray;
pub(crate) mod pinned;
pub(crate) mod raw;
mod raw_views;
mod regions;
mod registry;
#[cfg(all(test, not(loom)))]
mod registry_list;
#[cfg(all(test, loom))]
mod registry_model;
mod to_shape;
pub(crate) mod view;
