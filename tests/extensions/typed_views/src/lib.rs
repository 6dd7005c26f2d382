//! An extension module as somebody else would write one, for the tests: it takes arrays of every type, rank and layout, and has
//! work enqueued on them.

mod arrays;
mod views;

use pyo3::prelude::*;

/// Arrays in and out.
#[pymodule]
mod typed_views {
    #[pymodule_export]
    use super::arrays::{Block, drops, make, make_bfloat16, of_object, pending};
    #[pymodule_export]
    use super::views::{
        Keeper, any_rank, c_contiguous, either, element, f_contiguous, fill, fill_unordered, masked, masked_any,
        matrix, nothing, optional, panics, particles, places, scalar, scale, six, steps, vector, visit, writable,
    };
}
