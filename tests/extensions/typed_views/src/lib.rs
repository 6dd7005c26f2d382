//! An extension module for the tests, which takes arrays of every type, number of dimensions and layout, and enqueues work on them.

mod arrays;
mod ordered;
mod process_end;
mod unbound;
mod views;
mod waits;

use pyo3::prelude::*;

/// Takes and returns arrays.
#[pymodule]
mod typed_views {
    #[pymodule_export]
    use super::arrays::{Block, drops, from_object, make, make_bfloat16, pending};
    #[pymodule_export]
    use super::ordered::{Writer, fill_and_leak, fill_in_turn};
    #[pymodule_export]
    use super::process_end::{
        drop_at_exit, keep_in_ending_thread, keep_in_process, keep_in_thread, use_thread_storage_first, work_until_exit,
    };
    #[pymodule_export]
    use super::unbound::{
        array_again, array_and_output, array_fill, array_to_host, typed_view_fill, typed_view_to_host,
    };
    #[pymodule_export]
    use super::views::{
        Keeper, acquire_and_release, any_ndim, both_written, c_contiguous, either, element, element_offsets,
        element_strides, extract_only, f_contiguous, fill, fill_unordered, masked, masked_any, matrix, optional,
        panics, particles, read_and_written, scalar, scale, six, vector, writable,
    };
    #[pymodule_export]
    use super::waits::Waits;
}
