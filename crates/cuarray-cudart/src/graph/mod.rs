//! Graphs: their structure, their nodes, their executable form, and the objects that they keep.
//!
//! Most functions pass their arguments on to the driver. Parameters of kernels and of copies have another form here than in
//! the driver: `kernel`, `copy` and `any_node` convert them. Nodes run in the current context, or in the execution context that
//! newer structures can name.
//!
//! Runtime API: [graph management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__GRAPH.html).

mod any_node;
mod copy;
mod executable;
mod kernel;
mod memory;
mod node;
mod object;
mod structure;

pub(crate) use any_node::*;
pub(crate) use copy::*;
pub(crate) use executable::*;
pub(crate) use kernel::*;
pub(crate) use memory::*;
pub(crate) use node::*;
pub(crate) use object::*;
pub(crate) use structure::*;

use crate::call::present;
use crate::context;
use crate::result::{Result, cudaError_t};
use crate::types::cudaExecutionContext_t;
use cuarray_abi::{Api, CUcontext};

/// Functions that pass their arguments on to the driver; the pointers in `needs` must not be null.
macro_rules! passed_on {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $(needs $($needed:ident)+)? => $function:ident;)*) => {$(
        pub(crate) unsafe fn $name(api: &Api, $($argument: $ty),*) -> $crate::result::Result {
            $($($crate::call::present($needed)?;)+)?
            cu!(api.$function($($argument),*))
        }
    )*};
}
use passed_on;

/// The context that the nodes of a call run in.
fn current(api: &Api) -> Result<CUcontext> {
    context::current(api)?.ok_or(cudaError_t::cudaErrorDeviceUninitialized)
}

/// The context that an execution context stands for; null is the current one.
fn context_of(api: &Api, given: cudaExecutionContext_t) -> Result<CUcontext> {
    if given.is_null() { current(api) } else { Ok(given) }
}

/// Reads the parameters of a node.
///
/// # Safety
/// `parameters` is null or readable.
unsafe fn read<T: Copy>(parameters: *const T) -> Result<T> {
    present(parameters)?;
    // SAFETY: by the contract of this function.
    Ok(unsafe { parameters.read_unaligned() })
}
