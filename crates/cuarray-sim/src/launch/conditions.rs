//! Conditions of graphs: values that kernels set by `cudaGraphSetConditional`.
//!
//! Two calls for one condition that nothing orders are undefined (the manual's page of `cudaGraphSetConditional`). So a call is an access
//! for the search for races: a write of the word at the address that the handle has as a number. No memory has such an address.

use crate::objects::graph_data::CONDITION_BYTES;
use crate::objects::launch::Launch;
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::report::kernel_name;
use cuarray_races::{Touch, Touched};
use std::collections::BTreeSet;

/// Sets the conditions that a kernel has set; returns these accesses. A handle that is not of its context fails the context.
pub(super) fn set(state: &mut State, launch: &Launch, values: &[(CUgraphConditionalHandle, u32)]) -> Vec<Touched> {
    let mut handles = BTreeSet::new();
    for &(handle, value) in values {
        match state.conditions.get_mut(&handle) {
            Some(condition) if condition.context == launch.context => condition.value = value,
            _ => {
                if !launch.settings.quiet {
                    eprintln!(
                        "cuarray-sim: kernel {}: cudaGraphSetConditional({handle:#x}, {value}): no conditional handle of \
                         the kernel's context has this value",
                        kernel_name(launch.name())
                    );
                }
                state.fail_context(launch.context, CUresult::CUDA_ERROR_LAUNCH_FAILED);
                break;
            }
        }
        handles.insert(handle);
    }
    handles.into_iter().map(|handle| Touched::new(handle, handle + CONDITION_BYTES, Touch::Write)).collect()
}
