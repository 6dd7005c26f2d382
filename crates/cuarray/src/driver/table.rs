//! [`Table`]: the entry points of a driver, and what its objects share.

use super::{lock, shared_pool::SharedPools};
use crate::{Error, Result, lock::Lock};
use cuarray_abi::{Api, CUresult};
use std::{path::PathBuf, sync::OnceLock};

/// The parts of a driver that a context's state needs. A driver holds these states, so they hold this table and not
/// the driver: a reference cycle would keep both alive forever.
pub(super) struct Table {
    pub(super) api: Api,
    pub(super) path: Option<PathBuf>,
    pub(super) drop_error: Lock<Option<Error>>,
    /// Event pools of another copy of this crate, if this copy uses them.
    pub(super) pools: OnceLock<SharedPools>,
    /// See [`Driver::address_space`].
    pub(super) address_space: usize,
}

impl Table {
    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    /// Records the result of a destructor's call; see the [module](super).
    pub(super) fn dropped(&self, result: Result<()>) {
        let Err(error) = result else { return };
        let gone = matches!(
            error.driver_code(),
            Some(
                CUresult::CUDA_ERROR_DEINITIALIZED
                    | CUresult::CUDA_ERROR_NOT_INITIALIZED
                    | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
                    | CUresult::CUDA_ERROR_INVALID_CONTEXT
            )
        );
        if !gone {
            lock(&self.drop_error).get_or_insert(error);
        }
    }
}
