//! The single list of entry points: every function that the headers `cufft.h`, `cufftXt.h` and `cufft_device.h` of cuFFT 11 and 12 declare.
//!
//! Its parts say what the wrapper does before it calls the function of the module:
//!
//! - `functions`: nothing;
//! - `major`: passes the major version of cuFFT first;
//! - `refused`: prints the name once, and returns `CUFFT_NOT_SUPPORTED`; `refused_11` and `refused_12` are names of one version.

/// Calls the macro `$callback` with `$prefix`, and then with the whole list.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_points {
    ([$($callback:tt)*] $($prefix:tt)*) => {
        $($callback)*! {
            $($prefix)*;
            functions {
                making::make_1d(plan: cufftHandle, nx: c_int, kind: cufftType, batch: c_int, work_size: *mut usize) { cufftMakePlan1d }
                making::make_2d(plan: cufftHandle, nx: c_int, ny: c_int, kind: cufftType, work_size: *mut usize) { cufftMakePlan2d }
                making::make_3d(plan: cufftHandle, nx: c_int, ny: c_int, nz: c_int, kind: cufftType, work_size: *mut usize) { cufftMakePlan3d }
                making::make_many(plan: cufftHandle, rank: c_int, n: *const c_int, inembed: *const c_int, istride: c_int, idist: c_int, onembed: *const c_int, ostride: c_int, odist: c_int, kind: cufftType, batch: c_int, work_size: *mut usize) { cufftMakePlanMany }
                making::make_many_64(plan: cufftHandle, rank: c_int, n: *const i64, inembed: *const i64, istride: i64, idist: i64, onembed: *const i64, ostride: i64, odist: i64, kind: cufftType, batch: i64, work_size: *mut usize) { cufftMakePlanMany64 }
                making::make_typed(plan: cufftHandle, rank: c_int, n: *const i64, inembed: *const i64, istride: i64, idist: i64, inputtype: cudaDataType, onembed: *const i64, ostride: i64, odist: i64, outputtype: cudaDataType, batch: i64, work_size: *mut usize, executiontype: cudaDataType) { cufftXtMakePlanMany }
                making::size_1d(handle: cufftHandle, nx: c_int, kind: cufftType, batch: c_int, work_size: *mut usize) { cufftGetSize1d }
                making::size_2d(handle: cufftHandle, nx: c_int, ny: c_int, kind: cufftType, work_size: *mut usize) { cufftGetSize2d }
                making::size_3d(handle: cufftHandle, nx: c_int, ny: c_int, nz: c_int, kind: cufftType, work_size: *mut usize) { cufftGetSize3d }
                making::size_many(handle: cufftHandle, rank: c_int, n: *const c_int, inembed: *const c_int, istride: c_int, idist: c_int, onembed: *const c_int, ostride: c_int, odist: c_int, kind: cufftType, batch: c_int, work_size: *mut usize) { cufftGetSizeMany }
                making::size_many_64(plan: cufftHandle, rank: c_int, n: *const i64, inembed: *const i64, istride: i64, idist: i64, onembed: *const i64, ostride: i64, odist: i64, kind: cufftType, batch: i64, work_size: *mut usize) { cufftGetSizeMany64 }
                making::size_typed(plan: cufftHandle, rank: c_int, n: *const i64, inembed: *const i64, istride: i64, idist: i64, inputtype: cudaDataType, onembed: *const i64, ostride: i64, odist: i64, outputtype: cudaDataType, batch: i64, work_size: *mut usize, executiontype: cudaDataType) { cufftXtGetSizeMany }
                making::estimate_1d(nx: c_int, kind: cufftType, batch: c_int, work_size: *mut usize) { cufftEstimate1d }
                making::estimate_2d(nx: c_int, ny: c_int, kind: cufftType, work_size: *mut usize) { cufftEstimate2d }
                making::estimate_3d(nx: c_int, ny: c_int, nz: c_int, kind: cufftType, work_size: *mut usize) { cufftEstimate3d }
                making::estimate_many(rank: c_int, n: *const c_int, inembed: *const c_int, istride: c_int, idist: c_int, onembed: *const c_int, ostride: c_int, odist: c_int, kind: cufftType, batch: c_int, work_size: *mut usize) { cufftEstimateMany }
                making::size(handle: cufftHandle, work_size: *mut usize) { cufftGetSize }
                settings::set_work_area(plan: cufftHandle, work_area: *mut c_void) { cufftSetWorkArea }
                settings::set_work_areas(plan: cufftHandle, work_area: *const *mut c_void) { cufftXtSetWorkArea }
                settings::set_work_area_policy(plan: cufftHandle, policy: cufftXtWorkAreaPolicy, work_size: *mut usize) { cufftXtSetWorkAreaPolicy }
                settings::set_auto_allocation(plan: cufftHandle, auto_allocate: c_int) { cufftSetAutoAllocation }
                settings::set_stream(plan: cufftHandle, stream: cudaStream_t) { cufftSetStream }
                execute::c2c(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void, direction: c_int) { cufftExecC2C }
                execute::z2z(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void, direction: c_int) { cufftExecZ2Z }
                execute::r2c(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void) { cufftExecR2C }
                execute::d2z(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void) { cufftExecD2Z }
                execute::c2r(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void) { cufftExecC2R }
                execute::z2d(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void) { cufftExecZ2D }
                execute::any(plan: cufftHandle, input: *mut c_void, output: *mut c_void, direction: c_int) { cufftXtExec }
                descriptor::set_gpus(handle: cufftHandle, count: c_int, which: *const c_int) { cufftXtSetGPUs }
                descriptor::allocate(plan: cufftHandle, descriptor: *mut *mut cudaLibXtDesc, format: cufftXtSubFormat) { cufftXtMalloc }
                descriptor::free(descriptor: *mut cudaLibXtDesc) { cufftXtFree }
                descriptor::copy(plan: cufftHandle, dst_pointer: *mut c_void, src_pointer: *mut c_void, kind: cufftXtCopyType) { cufftXtMemcpy }
                settings::query(plan: cufftHandle, query_struct: *mut c_void, query_type: cufftXtQueryType) { cufftXtQueryPlan }
                descriptor::any(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc, direction: c_int) { cufftXtExecDescriptor }
                descriptor::c2c(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc, direction: c_int) { cufftXtExecDescriptorC2C }
                descriptor::z2z(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc, direction: c_int) { cufftXtExecDescriptorZ2Z }
                descriptor::r2c(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc) { cufftXtExecDescriptorR2C }
                descriptor::d2z(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc) { cufftXtExecDescriptorD2Z }
                descriptor::c2r(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc) { cufftXtExecDescriptorC2R }
                descriptor::z2d(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc) { cufftXtExecDescriptorZ2D }
            }
            major {
                making::create(handle: *mut cufftHandle) { cufftCreate }
                making::destroy(plan: cufftHandle) { cufftDestroy }
                making::plan_1d(plan: *mut cufftHandle, nx: c_int, kind: cufftType, batch: c_int) { cufftPlan1d }
                making::plan_2d(plan: *mut cufftHandle, nx: c_int, ny: c_int, kind: cufftType) { cufftPlan2d }
                making::plan_3d(plan: *mut cufftHandle, nx: c_int, ny: c_int, nz: c_int, kind: cufftType) { cufftPlan3d }
                making::plan_many(plan: *mut cufftHandle, rank: c_int, n: *const c_int, inembed: *const c_int, istride: c_int, idist: c_int, onembed: *const c_int, ostride: c_int, odist: c_int, kind: cufftType, batch: c_int) { cufftPlanMany }
                settings::get_version(version: *mut c_int) { cufftGetVersion }
                settings::get_property(kind: libraryPropertyType, value: *mut c_int) { cufftGetProperty }
                settings::set_plan_property(plan: cufftHandle, property: cufftProperty, value: i64) { cufftSetPlanPropertyInt64 }
                settings::get_plan_property(plan: cufftHandle, property: cufftProperty, value: *mut i64) { cufftGetPlanPropertyInt64 }
                settings::reset_plan_property(plan: cufftHandle, property: cufftProperty) { cufftResetPlanProperty }
            }
            refused {
                cufftXtClearCallback cufftXtSetCallback cufftXtSetCallbackSharedSize cufftXtSetJITCallback
            }
            refused_11 { __cufftXtSetJITCallback_12_7 }
            refused_12 {
                cufftDescriptionCreate cufftDescriptionDestroy cufftDescriptionGetTraitInt64 cufftDescriptionSetTraitInt64 cufftDeviceCreate
                cufftDeviceDestroy cufftDeviceGetDatabaseStr cufftDeviceGetDatabaseStrSize cufftDeviceGetDeviceFunctionTraitInt64
                cufftDeviceGetDeviceFunctions cufftDeviceGetLTOIRSizes cufftDeviceGetLTOIRs cufftDeviceGetNumDeviceFunctions
                cufftDeviceGetNumLTOIRs cufftDeviceGetSemanticVersion cufftDeviceGetVersion cufftDeviceIsSupported
            }
        }
    };
}
