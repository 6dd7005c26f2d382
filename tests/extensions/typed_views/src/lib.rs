//! An extension module as somebody else would write one, for the tests: it takes arrays of every type, rank and layout, and has
//! work enqueued on them.

mod arrays;
mod ends;
mod views;

use pyo3::prelude::*;

/// Arrays in and out.
#[pymodule]
mod typed_views {
    #[pymodule_export]
    use super::arrays::{Block, drops, make, make_bfloat16, of_object, pending};
    #[pymodule_export]
    use super::ends::{
        come_first_in_thread, keep_in_a_thread_that_ends, keep_in_process, keep_in_thread, let_go_at_exit,
        work_on_and_on,
    };
    #[pymodule_export]
    use super::views::{
        Keeper, any_rank, c_contiguous, either, element, f_contiguous, fill, fill_unordered, masked, masked_any,
        matrix, nothing, optional, panics, particles, places, scalar, scale, six, steps, vector, visit, writable,
    };
}
