//! Arrays: owned ones, views of other libraries' memory, and the guards that give their addresses.

mod aliasing;
pub(crate) mod device_array;
pub(crate) mod guard;
mod host_copy;
pub(crate) mod raw;
pub(crate) mod view;
