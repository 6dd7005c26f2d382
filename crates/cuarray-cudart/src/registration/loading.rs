//! The driver's kernels of registered ones, loaded at their first use.

use super::record::Kernel;
use super::table;
use crate::result::{Result, cudaError_t};
use cuarray_abi::{Api, CUkernel, CUlibrary};

impl Kernel {
    /// The driver's kernel, which the first call loads.
    #[inline]
    pub(crate) fn loaded(&self, api: &Api) -> Result<CUkernel> {
        self.loaded_now().map_or_else(|| self.load(api), Ok)
    }

    /// The driver's library of the kernel's binary.
    pub(super) fn library(&self, api: &Api) -> Result<CUlibrary> {
        table::binary(self.binary()).ok_or(cudaError_t::cudaErrorInvalidDeviceFunction)?.library(api)
    }

    #[cold]
    fn load(&self, api: &Api) -> Result<CUkernel> {
        let handle = self.binary();
        let binary = table::binary(handle).ok_or(cudaError_t::cudaErrorInvalidDeviceFunction)?;
        let kernel = binary.kernel(api, self.name())?;
        self.set_loaded(handle, kernel);
        Ok(kernel)
    }
}
