//! The handles of kernels that `cudaLibraryGetKernel` and `cudaGetKernel` gave to the program.

use crate::types::{cudaKernel_t, cudaLibrary_t};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// The library of each handle.
static GIVEN: RwLock<Option<HashMap<cudaKernel_t, cudaLibrary_t>>> = RwLock::new(None);

pub(crate) fn add(library: cudaLibrary_t, kernels: &[cudaKernel_t]) {
    let mut given = GIVEN.write().unwrap_or_else(PoisonError::into_inner);
    given.get_or_insert_default().extend(kernels.iter().map(|kernel| (*kernel, library)));
}

/// Forgets the kernels of a library.
pub(crate) fn forget(library: cudaLibrary_t) {
    if let Some(given) = GIVEN.write().unwrap_or_else(PoisonError::into_inner).as_mut() {
        given.retain(|_, of| *of != library);
    }
}

pub(crate) fn contains(kernel: cudaKernel_t) -> bool {
    let given = GIVEN.read().unwrap_or_else(PoisonError::into_inner);
    given.as_ref().is_some_and(|given| given.contains_key(&kernel))
}
