//! The single list of entry points: every function that the headers `cusolverDn.h`, `cusolverSp.h`, `cusolverSp_LOWLEVEL_PREVIEW.h`,
//! `cusolverRf.h` and `cusolver_common.h` of CUDA 12 and 13 declare.
//!
//! Its parts say what the wrapper does before it calls the function of the module:
//!
//! - `generic`: looks up the handle, and calls the function of the type;
//! - `handle`: looks up the handle;
//! - `major`: passes the major version of the library;
//! - `refused`: prints the name once, and returns `CUSOLVER_STATUS_NOT_SUPPORTED`; `refused_11` and `refused_12` are functions of one library.
//!
//! `T` is the type of the line, and `R` its real part.

/// Calls the macro `$callback` with `$prefix`, and then with the whole list.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_points {
    ([$($callback:tt)*] $($prefix:tt)*) => {
        $($callback)*! {
            $($prefix)*;
            generic {
                cholesky::potrf_size(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSpotrf_bufferSize;
                    f64: cusolverDnDpotrf_bufferSize;
                    Complex32: cusolverDnCpotrf_bufferSize;
                    Complex64: cusolverDnZpotrf_bufferSize;
                }
                cholesky::potrf(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, workspace: *mut T, lwork: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSpotrf;
                    f64: cusolverDnDpotrf;
                    Complex32: cusolverDnCpotrf;
                    Complex64: cusolverDnZpotrf;
                }
                cholesky::potrs(uplo: cublasFillMode_t, n: c_int, nrhs: c_int, a: *const T, lda: c_int, b: *mut T, ldb: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSpotrs;
                    f64: cusolverDnDpotrs;
                    Complex32: cusolverDnCpotrs;
                    Complex64: cusolverDnZpotrs;
                }
                cholesky::potrf_batched(uplo: cublasFillMode_t, n: c_int, a: *const *mut T, lda: c_int, info_array: *mut c_int, batch_size: c_int) {
                    f32: cusolverDnSpotrfBatched;
                    f64: cusolverDnDpotrfBatched;
                    Complex32: cusolverDnCpotrfBatched;
                    Complex64: cusolverDnZpotrfBatched;
                }
                cholesky::potrs_batched(uplo: cublasFillMode_t, n: c_int, nrhs: c_int, a: *const *mut T, lda: c_int, b: *const *mut T, ldb: c_int, dev_info: *mut c_int, batch_size: c_int) {
                    f32: cusolverDnSpotrsBatched;
                    f64: cusolverDnDpotrsBatched;
                    Complex32: cusolverDnCpotrsBatched;
                    Complex64: cusolverDnZpotrsBatched;
                }
                lu::getrf_size(m: c_int, n: c_int, a: *mut T, lda: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSgetrf_bufferSize;
                    f64: cusolverDnDgetrf_bufferSize;
                    Complex32: cusolverDnCgetrf_bufferSize;
                    Complex64: cusolverDnZgetrf_bufferSize;
                }
                lu::getrf(m: c_int, n: c_int, a: *mut T, lda: c_int, workspace: *mut T, dev_ipiv: *mut c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSgetrf;
                    f64: cusolverDnDgetrf;
                    Complex32: cusolverDnCgetrf;
                    Complex64: cusolverDnZgetrf;
                }
                lu::getrs(trans: cublasOperation_t, n: c_int, nrhs: c_int, a: *const T, lda: c_int, dev_ipiv: *const c_int, b: *mut T, ldb: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSgetrs;
                    f64: cusolverDnDgetrs;
                    Complex32: cusolverDnCgetrs;
                    Complex64: cusolverDnZgetrs;
                }
                qr::geqrf_size(m: c_int, n: c_int, a: *mut T, lda: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSgeqrf_bufferSize;
                    f64: cusolverDnDgeqrf_bufferSize;
                    Complex32: cusolverDnCgeqrf_bufferSize;
                    Complex64: cusolverDnZgeqrf_bufferSize;
                }
                qr::geqrf(m: c_int, n: c_int, a: *mut T, lda: c_int, tau: *mut T, workspace: *mut T, lwork: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSgeqrf;
                    f64: cusolverDnDgeqrf;
                    Complex32: cusolverDnCgeqrf;
                    Complex64: cusolverDnZgeqrf;
                }
                qr::orgqr_size(m: c_int, n: c_int, k: c_int, a: *const T, lda: c_int, tau: *const T, lwork: *mut c_int) {
                    f32: cusolverDnSorgqr_bufferSize;
                    f64: cusolverDnDorgqr_bufferSize;
                    Complex32: cusolverDnCungqr_bufferSize;
                    Complex64: cusolverDnZungqr_bufferSize;
                }
                qr::orgqr(m: c_int, n: c_int, k: c_int, a: *mut T, lda: c_int, tau: *const T, workspace: *mut T, lwork: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSorgqr;
                    f64: cusolverDnDorgqr;
                    Complex32: cusolverDnCungqr;
                    Complex64: cusolverDnZungqr;
                }
                qr::ormqr_size(side: cublasSideMode_t, trans: cublasOperation_t, m: c_int, n: c_int, k: c_int, a: *const T, lda: c_int, tau: *const T, c: *const T, ldc: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSormqr_bufferSize;
                    f64: cusolverDnDormqr_bufferSize;
                    Complex32: cusolverDnCunmqr_bufferSize;
                    Complex64: cusolverDnZunmqr_bufferSize;
                }
                qr::ormqr(side: cublasSideMode_t, trans: cublasOperation_t, m: c_int, n: c_int, k: c_int, a: *const T, lda: c_int, tau: *const T, c: *mut T, ldc: c_int, workspace: *mut T, lwork: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSormqr;
                    f64: cusolverDnDormqr;
                    Complex32: cusolverDnCunmqr;
                    Complex64: cusolverDnZunmqr;
                }
                svd::gesvd_size(m: c_int, n: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSgesvd_bufferSize;
                    f64: cusolverDnDgesvd_bufferSize;
                    Complex32: cusolverDnCgesvd_bufferSize;
                    Complex64: cusolverDnZgesvd_bufferSize;
                }
                svd::gesvd(jobu: c_char, jobvt: c_char, m: c_int, n: c_int, a: *mut T, lda: c_int, s: *mut R, u: *mut T, ldu: c_int, vt: *mut T, ldvt: c_int, workspace: *mut T, lwork: c_int, rwork: *mut R, dev_info: *mut c_int) {
                    f32: cusolverDnSgesvd;
                    f64: cusolverDnDgesvd;
                    Complex32: cusolverDnCgesvd;
                    Complex64: cusolverDnZgesvd;
                }
                eigen::syevd_size(jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, w: *const R, lwork: *mut c_int) {
                    f32: cusolverDnSsyevd_bufferSize;
                    f64: cusolverDnDsyevd_bufferSize;
                    Complex32: cusolverDnCheevd_bufferSize;
                    Complex64: cusolverDnZheevd_bufferSize;
                }
                eigen::syevd(jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, w: *mut R, workspace: *mut T, lwork: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSsyevd;
                    f64: cusolverDnDsyevd;
                    Complex32: cusolverDnCheevd;
                    Complex64: cusolverDnZheevd;
                }
                jacobi::syevj_size(jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, w: *const R, lwork: *mut c_int, params: syevjInfo_t) {
                    f32: cusolverDnSsyevj_bufferSize;
                    f64: cusolverDnDsyevj_bufferSize;
                    Complex32: cusolverDnCheevj_bufferSize;
                    Complex64: cusolverDnZheevj_bufferSize;
                }
                jacobi::syevj(jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, w: *mut R, workspace: *mut T, lwork: c_int, info: *mut c_int, params: syevjInfo_t) {
                    f32: cusolverDnSsyevj;
                    f64: cusolverDnDsyevj;
                    Complex32: cusolverDnCheevj;
                    Complex64: cusolverDnZheevj;
                }
                jacobi::syevj_batched_size(jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, w: *const R, lwork: *mut c_int, params: syevjInfo_t, batch_size: c_int) {
                    f32: cusolverDnSsyevjBatched_bufferSize;
                    f64: cusolverDnDsyevjBatched_bufferSize;
                    Complex32: cusolverDnCheevjBatched_bufferSize;
                    Complex64: cusolverDnZheevjBatched_bufferSize;
                }
                jacobi::syevj_batched(jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, w: *mut R, workspace: *mut T, lwork: c_int, info: *mut c_int, params: syevjInfo_t, batch_size: c_int) {
                    f32: cusolverDnSsyevjBatched;
                    f64: cusolverDnDsyevjBatched;
                    Complex32: cusolverDnCheevjBatched;
                    Complex64: cusolverDnZheevjBatched;
                }
                jacobi::gesvdj_size(jobz: cusolverEigMode_t, econ: c_int, m: c_int, n: c_int, a: *const T, lda: c_int, s: *const R, u: *const T, ldu: c_int, v: *const T, ldv: c_int, lwork: *mut c_int, params: gesvdjInfo_t) {
                    f32: cusolverDnSgesvdj_bufferSize;
                    f64: cusolverDnDgesvdj_bufferSize;
                    Complex32: cusolverDnCgesvdj_bufferSize;
                    Complex64: cusolverDnZgesvdj_bufferSize;
                }
                jacobi::gesvdj(jobz: cusolverEigMode_t, econ: c_int, m: c_int, n: c_int, a: *mut T, lda: c_int, s: *mut R, u: *mut T, ldu: c_int, v: *mut T, ldv: c_int, workspace: *mut T, lwork: c_int, info: *mut c_int, params: gesvdjInfo_t) {
                    f32: cusolverDnSgesvdj;
                    f64: cusolverDnDgesvdj;
                    Complex32: cusolverDnCgesvdj;
                    Complex64: cusolverDnZgesvdj;
                }
                jacobi::gesvdj_batched_size(jobz: cusolverEigMode_t, m: c_int, n: c_int, a: *const T, lda: c_int, s: *const R, u: *const T, ldu: c_int, v: *const T, ldv: c_int, lwork: *mut c_int, params: gesvdjInfo_t, batch_size: c_int) {
                    f32: cusolverDnSgesvdjBatched_bufferSize;
                    f64: cusolverDnDgesvdjBatched_bufferSize;
                    Complex32: cusolverDnCgesvdjBatched_bufferSize;
                    Complex64: cusolverDnZgesvdjBatched_bufferSize;
                }
                jacobi::gesvdj_batched(jobz: cusolverEigMode_t, m: c_int, n: c_int, a: *mut T, lda: c_int, s: *mut R, u: *mut T, ldu: c_int, v: *mut T, ldv: c_int, workspace: *mut T, lwork: c_int, info: *mut c_int, params: gesvdjInfo_t, batch_size: c_int) {
                    f32: cusolverDnSgesvdjBatched;
                    f64: cusolverDnDgesvdjBatched;
                    Complex32: cusolverDnCgesvdjBatched;
                    Complex64: cusolverDnZgesvdjBatched;
                }
            }
            handle {
                management::set_stream(stream: cudaStream_t) { cusolverDnSetStream }
                management::get_stream(stream: *mut cudaStream_t) { cusolverDnGetStream }
                management::set_determinism(mode: cusolverDeterministicMode_t) { cusolverDnSetDeterministicMode }
                management::get_determinism(mode: *mut cusolverDeterministicMode_t) { cusolverDnGetDeterministicMode }
                typed::potrf_size(params: cusolverDnParams_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXpotrf_bufferSize }
                typed::potrf(params: cusolverDnParams_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXpotrf }
                typed::potrs(params: cusolverDnParams_t, uplo: cublasFillMode_t, n: i64, nrhs: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_b: cudaDataType, b: *mut c_void, ldb: i64, info: *mut c_int) { cusolverDnXpotrs }
                typed::getrf_size(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgetrf_bufferSize }
                typed::getrf(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, ipiv: *mut i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgetrf }
                typed::getrs(params: cusolverDnParams_t, trans: cublasOperation_t, n: i64, nrhs: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, ipiv: *const i64, data_type_b: cudaDataType, b: *mut c_void, ldb: i64, info: *mut c_int) { cusolverDnXgetrs }
                typed::geqrf_size(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_tau: cudaDataType, tau: *const c_void, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgeqrf_bufferSize }
                typed::geqrf(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_tau: cudaDataType, tau: *mut c_void, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgeqrf }
                typed::syevd_size(params: cusolverDnParams_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_w: cudaDataType, w: *const c_void, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXsyevd_bufferSize }
                typed::syevd(params: cusolverDnParams_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_w: cudaDataType, w: *mut c_void, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXsyevd }
                typed::geev_size(params: cusolverDnParams_t, jobvl: cusolverEigMode_t, jobvr: cusolverEigMode_t, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_w: cudaDataType, w: *const c_void, data_type_vl: cudaDataType, vl: *const c_void, ldvl: i64, data_type_vr: cudaDataType, vr: *const c_void, ldvr: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgeev_bufferSize }
                typed::geev(params: cusolverDnParams_t, jobvl: cusolverEigMode_t, jobvr: cusolverEigMode_t, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_w: cudaDataType, w: *mut c_void, data_type_vl: cudaDataType, vl: *mut c_void, ldvl: i64, data_type_vr: cudaDataType, vr: *mut c_void, ldvr: i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgeev }
                typed::gesvd_size(params: cusolverDnParams_t, jobu: c_char, jobvt: c_char, m: i64, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_s: cudaDataType, s: *const c_void, data_type_u: cudaDataType, u: *const c_void, ldu: i64, data_type_vt: cudaDataType, vt: *const c_void, ldvt: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgesvd_bufferSize }
                typed::gesvd(params: cusolverDnParams_t, jobu: c_char, jobvt: c_char, m: i64, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_s: cudaDataType, s: *mut c_void, data_type_u: cudaDataType, u: *mut c_void, ldu: i64, data_type_vt: cudaDataType, vt: *mut c_void, ldvt: i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgesvd }
            }
            major {
                management::create(handle: *mut cusolverDnHandle_t) { cusolverDnCreate }
                management::destroy(handle: cusolverDnHandle_t) { cusolverDnDestroy }
                management::get_version(version: *mut c_int) { cusolverGetVersion }
                management::get_property(kind: libraryPropertyType, value: *mut c_int) { cusolverGetProperty }
                management::create_params(params: *mut cusolverDnParams_t) { cusolverDnCreateParams }
                management::destroy_params(params: cusolverDnParams_t) { cusolverDnDestroyParams }
                management::set_options(params: cusolverDnParams_t, function: cusolverDnFunction_t, algorithm: cusolverAlgMode_t) { cusolverDnSetAdvOptions }
                jacobi::create_syevj(info: *mut syevjInfo_t) { cusolverDnCreateSyevjInfo }
                jacobi::destroy_syevj(info: syevjInfo_t) { cusolverDnDestroySyevjInfo }
                jacobi::syevj_tolerance(info: syevjInfo_t, tolerance: f64) { cusolverDnXsyevjSetTolerance }
                jacobi::syevj_sweeps(info: syevjInfo_t, max_sweeps: c_int) { cusolverDnXsyevjSetMaxSweeps }
                jacobi::syevj_sort(info: syevjInfo_t, sort: c_int) { cusolverDnXsyevjSetSortEig }
                jacobi::create_gesvdj(info: *mut gesvdjInfo_t) { cusolverDnCreateGesvdjInfo }
                jacobi::destroy_gesvdj(info: gesvdjInfo_t) { cusolverDnDestroyGesvdjInfo }
                jacobi::gesvdj_tolerance(info: gesvdjInfo_t, tolerance: f64) { cusolverDnXgesvdjSetTolerance }
                jacobi::gesvdj_sweeps(info: gesvdjInfo_t, max_sweeps: c_int) { cusolverDnXgesvdjSetMaxSweeps }
                jacobi::gesvdj_sort(info: gesvdjInfo_t, sort: c_int) { cusolverDnXgesvdjSetSortEig }
            }
            refused {
                cusolverDnCCgels cusolverDnCCgels_bufferSize cusolverDnCCgesv cusolverDnCCgesv_bufferSize cusolverDnCEgels
                cusolverDnCEgels_bufferSize cusolverDnCEgesv cusolverDnCEgesv_bufferSize cusolverDnCKgels cusolverDnCKgels_bufferSize
                cusolverDnCKgesv cusolverDnCKgesv_bufferSize cusolverDnCYgels cusolverDnCYgels_bufferSize cusolverDnCYgesv
                cusolverDnCYgesv_bufferSize cusolverDnCgebrd cusolverDnCgebrd_bufferSize cusolverDnCgesvdaStridedBatched
                cusolverDnCgesvdaStridedBatched_bufferSize cusolverDnCheevdx cusolverDnCheevdx_bufferSize cusolverDnChegvd
                cusolverDnChegvd_bufferSize cusolverDnChegvdx cusolverDnChegvdx_bufferSize cusolverDnChegvj cusolverDnChegvj_bufferSize
                cusolverDnChetrd cusolverDnChetrd_bufferSize cusolverDnClaswp cusolverDnClauum cusolverDnClauum_bufferSize cusolverDnCpotri
                cusolverDnCpotri_bufferSize cusolverDnCsytrf cusolverDnCsytrf_bufferSize cusolverDnCsytri cusolverDnCsytri_bufferSize
                cusolverDnCungbr cusolverDnCungbr_bufferSize cusolverDnCungtr cusolverDnCungtr_bufferSize cusolverDnCunmtr
                cusolverDnCunmtr_bufferSize cusolverDnDBgels cusolverDnDBgels_bufferSize cusolverDnDBgesv cusolverDnDBgesv_bufferSize
                cusolverDnDDgels cusolverDnDDgels_bufferSize cusolverDnDDgesv cusolverDnDDgesv_bufferSize cusolverDnDHgels
                cusolverDnDHgels_bufferSize cusolverDnDHgesv cusolverDnDHgesv_bufferSize cusolverDnDSgels cusolverDnDSgels_bufferSize
                cusolverDnDSgesv cusolverDnDSgesv_bufferSize cusolverDnDXgels cusolverDnDXgels_bufferSize cusolverDnDXgesv
                cusolverDnDXgesv_bufferSize cusolverDnDgebrd cusolverDnDgebrd_bufferSize cusolverDnDgesvdaStridedBatched
                cusolverDnDgesvdaStridedBatched_bufferSize cusolverDnDlaswp cusolverDnDlauum cusolverDnDlauum_bufferSize cusolverDnDorgbr
                cusolverDnDorgbr_bufferSize cusolverDnDorgtr cusolverDnDorgtr_bufferSize cusolverDnDormtr cusolverDnDormtr_bufferSize
                cusolverDnDpotri cusolverDnDpotri_bufferSize cusolverDnDsyevdx cusolverDnDsyevdx_bufferSize cusolverDnDsygvd
                cusolverDnDsygvd_bufferSize cusolverDnDsygvdx cusolverDnDsygvdx_bufferSize cusolverDnDsygvj cusolverDnDsygvj_bufferSize
                cusolverDnDsytrd cusolverDnDsytrd_bufferSize cusolverDnDsytrf cusolverDnDsytrf_bufferSize cusolverDnDsytri
                cusolverDnDsytri_bufferSize cusolverDnIRSInfosCreate cusolverDnIRSInfosDestroy cusolverDnIRSInfosGetMaxIters
                cusolverDnIRSInfosGetNiters cusolverDnIRSInfosGetOuterNiters cusolverDnIRSInfosGetResidualHistory
                cusolverDnIRSInfosRequestResidual cusolverDnIRSParamsCreate cusolverDnIRSParamsDestroy cusolverDnIRSParamsDisableFallback
                cusolverDnIRSParamsEnableFallback cusolverDnIRSParamsGetMaxIters cusolverDnIRSParamsSetMaxIters
                cusolverDnIRSParamsSetMaxItersInner cusolverDnIRSParamsSetRefinementSolver cusolverDnIRSParamsSetSolverLowestPrecision
                cusolverDnIRSParamsSetSolverMainPrecision cusolverDnIRSParamsSetSolverPrecisions cusolverDnIRSParamsSetTol
                cusolverDnIRSParamsSetTolInner cusolverDnIRSXgels cusolverDnIRSXgels_bufferSize cusolverDnIRSXgesv
                cusolverDnIRSXgesv_bufferSize cusolverDnLoggerForceDisable cusolverDnLoggerOpenFile cusolverDnLoggerSetCallback
                cusolverDnLoggerSetFile cusolverDnLoggerSetLevel cusolverDnLoggerSetMask cusolverDnSBgels cusolverDnSBgels_bufferSize
                cusolverDnSBgesv cusolverDnSBgesv_bufferSize cusolverDnSHgels cusolverDnSHgels_bufferSize cusolverDnSHgesv
                cusolverDnSHgesv_bufferSize cusolverDnSSgels cusolverDnSSgels_bufferSize cusolverDnSSgesv cusolverDnSSgesv_bufferSize
                cusolverDnSXgels cusolverDnSXgels_bufferSize cusolverDnSXgesv cusolverDnSXgesv_bufferSize cusolverDnSgebrd
                cusolverDnSgebrd_bufferSize cusolverDnSgesvdaStridedBatched cusolverDnSgesvdaStridedBatched_bufferSize cusolverDnSlaswp
                cusolverDnSlauum cusolverDnSlauum_bufferSize cusolverDnSorgbr cusolverDnSorgbr_bufferSize cusolverDnSorgtr
                cusolverDnSorgtr_bufferSize cusolverDnSormtr cusolverDnSormtr_bufferSize cusolverDnSpotri cusolverDnSpotri_bufferSize
                cusolverDnSsyevdx cusolverDnSsyevdx_bufferSize cusolverDnSsygvd cusolverDnSsygvd_bufferSize cusolverDnSsygvdx
                cusolverDnSsygvdx_bufferSize cusolverDnSsygvj cusolverDnSsygvj_bufferSize cusolverDnSsytrd cusolverDnSsytrd_bufferSize
                cusolverDnSsytrf cusolverDnSsytrf_bufferSize cusolverDnSsytri cusolverDnSsytri_bufferSize
                cusolverDnXgesvdjGetResidual cusolverDnXgesvdjGetSweeps cusolverDnXgesvdp
                cusolverDnXgesvdp_bufferSize cusolverDnXgesvdr cusolverDnXgesvdr_bufferSize cusolverDnXlarft cusolverDnXlarft_bufferSize
                cusolverDnXsyevBatched cusolverDnXsyevBatched_bufferSize cusolverDnXsyevdx cusolverDnXsyevdx_bufferSize
                cusolverDnXsyevjGetResidual cusolverDnXsyevjGetSweeps cusolverDnXsytrs cusolverDnXsytrs_bufferSize cusolverDnXtrtri
                cusolverDnXtrtri_bufferSize cusolverDnZCgels cusolverDnZCgels_bufferSize cusolverDnZCgesv cusolverDnZCgesv_bufferSize
                cusolverDnZEgels cusolverDnZEgels_bufferSize cusolverDnZEgesv cusolverDnZEgesv_bufferSize cusolverDnZKgels
                cusolverDnZKgels_bufferSize cusolverDnZKgesv cusolverDnZKgesv_bufferSize cusolverDnZYgels cusolverDnZYgels_bufferSize
                cusolverDnZYgesv cusolverDnZYgesv_bufferSize cusolverDnZZgels cusolverDnZZgels_bufferSize cusolverDnZZgesv
                cusolverDnZZgesv_bufferSize cusolverDnZgebrd cusolverDnZgebrd_bufferSize cusolverDnZgesvdaStridedBatched
                cusolverDnZgesvdaStridedBatched_bufferSize cusolverDnZheevdx cusolverDnZheevdx_bufferSize cusolverDnZhegvd
                cusolverDnZhegvd_bufferSize cusolverDnZhegvdx cusolverDnZhegvdx_bufferSize cusolverDnZhegvj cusolverDnZhegvj_bufferSize
                cusolverDnZhetrd cusolverDnZhetrd_bufferSize cusolverDnZlaswp cusolverDnZlauum cusolverDnZlauum_bufferSize cusolverDnZpotri
                cusolverDnZpotri_bufferSize cusolverDnZsytrf cusolverDnZsytrf_bufferSize cusolverDnZsytri cusolverDnZsytri_bufferSize
                cusolverDnZungbr cusolverDnZungbr_bufferSize cusolverDnZungtr cusolverDnZungtr_bufferSize cusolverDnZunmtr
                cusolverDnZunmtr_bufferSize cusolverRfAccessBundledFactorsDevice cusolverRfAnalyze cusolverRfBatchAnalyze
                cusolverRfBatchRefactor cusolverRfBatchResetValues cusolverRfBatchSetupHost cusolverRfBatchSolve cusolverRfBatchZeroPivot
                cusolverRfCreate cusolverRfDestroy cusolverRfExtractBundledFactorsHost cusolverRfExtractSplitFactorsHost cusolverRfGetAlgs
                cusolverRfGetMatrixFormat cusolverRfGetNumericBoostReport cusolverRfGetNumericProperties cusolverRfGetResetValuesFastMode
                cusolverRfRefactor cusolverRfResetValues cusolverRfSetAlgs cusolverRfSetMatrixFormat cusolverRfSetNumericProperties
                cusolverRfSetResetValuesFastMode cusolverRfSetupDevice cusolverRfSetupHost cusolverRfSolve cusolverSpCcsrcholBufferInfo
                cusolverSpCcsrcholBufferInfoHost cusolverSpCcsrcholDiag cusolverSpCcsrcholFactor cusolverSpCcsrcholFactorHost
                cusolverSpCcsrcholSolve cusolverSpCcsrcholSolveHost cusolverSpCcsrcholZeroPivot cusolverSpCcsrcholZeroPivotHost
                cusolverSpCcsreigsHost cusolverSpCcsreigvsi cusolverSpCcsreigvsiHost cusolverSpCcsrlsqvqrHost cusolverSpCcsrlsvchol
                cusolverSpCcsrlsvcholHost cusolverSpCcsrlsvluHost cusolverSpCcsrlsvqr cusolverSpCcsrlsvqrHost cusolverSpCcsrluBufferInfoHost
                cusolverSpCcsrluExtractHost cusolverSpCcsrluFactorHost cusolverSpCcsrluSolveHost cusolverSpCcsrluZeroPivotHost
                cusolverSpCcsrqrBufferInfo cusolverSpCcsrqrBufferInfoBatched cusolverSpCcsrqrBufferInfoHost cusolverSpCcsrqrFactor
                cusolverSpCcsrqrFactorHost cusolverSpCcsrqrSetup cusolverSpCcsrqrSetupHost cusolverSpCcsrqrSolve cusolverSpCcsrqrSolveHost
                cusolverSpCcsrqrZeroPivot cusolverSpCcsrqrZeroPivotHost cusolverSpCcsrqrsvBatched cusolverSpCcsrzfdHost cusolverSpCreate
                cusolverSpCreateCsrcholInfo cusolverSpCreateCsrcholInfoHost cusolverSpCreateCsrluInfoHost cusolverSpCreateCsrqrInfo
                cusolverSpCreateCsrqrInfoHost cusolverSpDcsrcholBufferInfo cusolverSpDcsrcholBufferInfoHost cusolverSpDcsrcholDiag
                cusolverSpDcsrcholFactor cusolverSpDcsrcholFactorHost cusolverSpDcsrcholSolve cusolverSpDcsrcholSolveHost
                cusolverSpDcsrcholZeroPivot cusolverSpDcsrcholZeroPivotHost cusolverSpDcsreigsHost cusolverSpDcsreigvsi
                cusolverSpDcsreigvsiHost cusolverSpDcsrlsqvqrHost cusolverSpDcsrlsvchol cusolverSpDcsrlsvcholHost cusolverSpDcsrlsvluHost
                cusolverSpDcsrlsvqr cusolverSpDcsrlsvqrHost cusolverSpDcsrluBufferInfoHost cusolverSpDcsrluExtractHost
                cusolverSpDcsrluFactorHost cusolverSpDcsrluSolveHost cusolverSpDcsrluZeroPivotHost cusolverSpDcsrqrBufferInfo
                cusolverSpDcsrqrBufferInfoBatched cusolverSpDcsrqrBufferInfoHost cusolverSpDcsrqrFactor cusolverSpDcsrqrFactorHost
                cusolverSpDcsrqrSetup cusolverSpDcsrqrSetupHost cusolverSpDcsrqrSolve cusolverSpDcsrqrSolveHost cusolverSpDcsrqrZeroPivot
                cusolverSpDcsrqrZeroPivotHost cusolverSpDcsrqrsvBatched cusolverSpDcsrzfdHost cusolverSpDestroy cusolverSpDestroyCsrcholInfo
                cusolverSpDestroyCsrcholInfoHost cusolverSpDestroyCsrluInfoHost cusolverSpDestroyCsrqrInfo cusolverSpDestroyCsrqrInfoHost
                cusolverSpGetStream cusolverSpScsrcholBufferInfo cusolverSpScsrcholBufferInfoHost cusolverSpScsrcholDiag
                cusolverSpScsrcholFactor cusolverSpScsrcholFactorHost cusolverSpScsrcholSolve cusolverSpScsrcholSolveHost
                cusolverSpScsrcholZeroPivot cusolverSpScsrcholZeroPivotHost cusolverSpScsreigsHost cusolverSpScsreigvsi
                cusolverSpScsreigvsiHost cusolverSpScsrlsqvqrHost cusolverSpScsrlsvchol cusolverSpScsrlsvcholHost cusolverSpScsrlsvluHost
                cusolverSpScsrlsvqr cusolverSpScsrlsvqrHost cusolverSpScsrluBufferInfoHost cusolverSpScsrluExtractHost
                cusolverSpScsrluFactorHost cusolverSpScsrluSolveHost cusolverSpScsrluZeroPivotHost cusolverSpScsrqrBufferInfo
                cusolverSpScsrqrBufferInfoBatched cusolverSpScsrqrBufferInfoHost cusolverSpScsrqrFactor cusolverSpScsrqrFactorHost
                cusolverSpScsrqrSetup cusolverSpScsrqrSetupHost cusolverSpScsrqrSolve cusolverSpScsrqrSolveHost cusolverSpScsrqrZeroPivot
                cusolverSpScsrqrZeroPivotHost cusolverSpScsrqrsvBatched cusolverSpScsrzfdHost cusolverSpSetStream cusolverSpXcsrcholAnalysis
                cusolverSpXcsrcholAnalysisHost cusolverSpXcsrissymHost cusolverSpXcsrluAnalysisHost cusolverSpXcsrluNnzHost
                cusolverSpXcsrmetisndHost cusolverSpXcsrpermHost cusolverSpXcsrperm_bufferSizeHost cusolverSpXcsrqrAnalysis
                cusolverSpXcsrqrAnalysisBatched cusolverSpXcsrqrAnalysisHost cusolverSpXcsrsymamdHost cusolverSpXcsrsymmdqHost
                cusolverSpXcsrsymrcmHost cusolverSpZcsrcholBufferInfo cusolverSpZcsrcholBufferInfoHost cusolverSpZcsrcholDiag
                cusolverSpZcsrcholFactor cusolverSpZcsrcholFactorHost cusolverSpZcsrcholSolve cusolverSpZcsrcholSolveHost
                cusolverSpZcsrcholZeroPivot cusolverSpZcsrcholZeroPivotHost cusolverSpZcsreigsHost cusolverSpZcsreigvsi
                cusolverSpZcsreigvsiHost cusolverSpZcsrlsqvqrHost cusolverSpZcsrlsvchol cusolverSpZcsrlsvcholHost cusolverSpZcsrlsvluHost
                cusolverSpZcsrlsvqr cusolverSpZcsrlsvqrHost cusolverSpZcsrluBufferInfoHost cusolverSpZcsrluExtractHost
                cusolverSpZcsrluFactorHost cusolverSpZcsrluSolveHost cusolverSpZcsrluZeroPivotHost cusolverSpZcsrqrBufferInfo
                cusolverSpZcsrqrBufferInfoBatched cusolverSpZcsrqrBufferInfoHost cusolverSpZcsrqrFactor cusolverSpZcsrqrFactorHost
                cusolverSpZcsrqrSetup cusolverSpZcsrqrSetupHost cusolverSpZcsrqrSolve cusolverSpZcsrqrSolveHost cusolverSpZcsrqrZeroPivot
                cusolverSpZcsrqrZeroPivotHost cusolverSpZcsrqrsvBatched cusolverSpZcsrzfdHost
            }
            refused_11 {
                cusolverDnGeqrf cusolverDnGeqrf_bufferSize cusolverDnGesvd cusolverDnGesvd_bufferSize cusolverDnGetrf
                cusolverDnGetrf_bufferSize cusolverDnGetrs cusolverDnPotrf cusolverDnPotrf_bufferSize cusolverDnPotrs cusolverDnSyevd
                cusolverDnSyevd_bufferSize cusolverDnSyevdx cusolverDnSyevdx_bufferSize
            }
            refused_12 {
                cusolverDnGetEmulationSpecialValuesSupport cusolverDnGetEmulationStrategy cusolverDnGetFixedPointEmulationMantissaBitOffset
                cusolverDnGetFixedPointEmulationMantissaControl cusolverDnGetFixedPointEmulationMaxMantissaBitCount cusolverDnGetMathMode
                cusolverDnSetEmulationSpecialValuesSupport cusolverDnSetEmulationStrategy cusolverDnSetFixedPointEmulationMantissaBitOffset
                cusolverDnSetFixedPointEmulationMantissaControl cusolverDnSetFixedPointEmulationMaxMantissaBitCount cusolverDnSetMathMode
                cusolverDnXhetrf cusolverDnXhetrf_bufferSize cusolverDnXhetrs cusolverDnXhetrs_bufferSize cusolverDnXpolar
                cusolverDnXpolar_bufferSize cusolverDnXstedc cusolverDnXstedc_bufferSize cusolverDnXsygvStridedBatched
                cusolverDnXsygvStridedBatched_bufferSize cusolverDnXsygvd cusolverDnXsygvd_bufferSize cusolverDnXsygvdx
                cusolverDnXsygvdx_bufferSize cusolverDnXsytrf cusolverDnXsytrf_bufferSize
            }
        }
    };
}
