//! The single list of entry points: every function that the headers of cuBLAS 12 and 13 declare.
//!
//! Its parts say what the wrapper does before it calls the function of the module:
//!
//! - `generic`: looks up the handle, and calls the function of the type; the second name is the form with 64-bit sizes;
//! - `xt`: looks up the handle of cublasXt, calls the function of the type, and waits;
//! - `handle`: looks up the handle; `handle_13`: a function that libcublas.so.12 does not have;
//! - `major`: passes the major version of CUDA; `host`: nothing; `raw`: no status is returned;
//! - `refused`: prints the name once, and returns `CUBLAS_STATUS_NOT_SUPPORTED`.
//!
//! `T` is the type of the line, `R` its real part, and `N` a size. A test compares the names with NVIDIA's headers.

/// Calls the macro `$callback` with `$prefix`, and then with the whole list.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_points {
    ([$($callback:tt)*] $($prefix:tt)*) => {
        $($callback)*! {
            $($prefix)*;
            generic {
                gemm::gemm(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasSgemm_v2 cublasSgemm_v2_64;
                    f64: cublasDgemm_v2 cublasDgemm_v2_64;
                    Complex32: cublasCgemm_v2 cublasCgemm_v2_64;
                    Complex64: cublasZgemm_v2 cublasZgemm_v2_64;
                }
                gemm::gemm(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    Complex32: cublasCgemm3m cublasCgemm3m_64;
                    Complex64: cublasZgemm3m cublasZgemm3m_64;
                }
                gemm::gemm_strided(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, a: *const T, lda: N, stridea: i64, b: *const T, ldb: N, strideb: i64, beta: *const T, c: *mut T, ldc: N, stridec: i64, batch_count: N) {
                    f32: cublasSgemmStridedBatched cublasSgemmStridedBatched_64;
                    f64: cublasDgemmStridedBatched cublasDgemmStridedBatched_64;
                    Complex32: cublasCgemmStridedBatched cublasCgemmStridedBatched_64;
                    Complex64: cublasZgemmStridedBatched cublasZgemmStridedBatched_64;
                }
                gemm::gemm_strided(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, a: *const T, lda: N, stridea: i64, b: *const T, ldb: N, strideb: i64, beta: *const T, c: *mut T, ldc: N, stridec: i64, batch_count: N) {
                    Complex32: cublasCgemm3mStridedBatched cublasCgemm3mStridedBatched_64;
                }
                gemm::gemm_typed(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, a: *const c_void, atype: cudaDataType, lda: N, b: *const c_void, btype: cudaDataType, ldb: N, beta: *const T, c: *mut c_void, ctype: cudaDataType, ldc: N) {
                    f32: cublasSgemmEx cublasSgemmEx_64;
                    Complex32: cublasCgemmEx cublasCgemmEx_64;
                    Complex32: cublasCgemm3mEx cublasCgemm3mEx_64;
                }
                level3::symm(side: cublasSideMode_t, uplo: cublasFillMode_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasSsymm_v2 cublasSsymm_v2_64;
                    f64: cublasDsymm_v2 cublasDsymm_v2_64;
                    Complex32: cublasCsymm_v2 cublasCsymm_v2_64;
                    Complex64: cublasZsymm_v2 cublasZsymm_v2_64;
                }
                level3::hemm(side: cublasSideMode_t, uplo: cublasFillMode_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    Complex32: cublasChemm_v2 cublasChemm_v2_64;
                    Complex64: cublasZhemm_v2 cublasZhemm_v2_64;
                }
                ranked::syrk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasSsyrk_v2 cublasSsyrk_v2_64;
                    f64: cublasDsyrk_v2 cublasDsyrk_v2_64;
                    Complex32: cublasCsyrk_v2 cublasCsyrk_v2_64;
                    Complex64: cublasZsyrk_v2 cublasZsyrk_v2_64;
                }
                ranked::herk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const R, a: *const T, lda: N, beta: *const R, c: *mut T, ldc: N) {
                    Complex32: cublasCherk_v2 cublasCherk_v2_64;
                    Complex64: cublasZherk_v2 cublasZherk_v2_64;
                }
                ranked::syr2k(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasSsyr2k_v2 cublasSsyr2k_v2_64;
                    f64: cublasDsyr2k_v2 cublasDsyr2k_v2_64;
                    Complex32: cublasCsyr2k_v2 cublasCsyr2k_v2_64;
                    Complex64: cublasZsyr2k_v2 cublasZsyr2k_v2_64;
                }
                ranked::her2k(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const R, c: *mut T, ldc: N) {
                    Complex32: cublasCher2k_v2 cublasCher2k_v2_64;
                    Complex64: cublasZher2k_v2 cublasZher2k_v2_64;
                }
                ranked::syrkx(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasSsyrkx cublasSsyrkx_64;
                    f64: cublasDsyrkx cublasDsyrkx_64;
                    Complex32: cublasCsyrkx cublasCsyrkx_64;
                    Complex64: cublasZsyrkx cublasZsyrkx_64;
                }
                ranked::herkx(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const R, c: *mut T, ldc: N) {
                    Complex32: cublasCherkx cublasCherkx_64;
                    Complex64: cublasZherkx cublasZherkx_64;
                }
                level3::trmm(side: cublasSideMode_t, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, c: *mut T, ldc: N) {
                    f32: cublasStrmm_v2 cublasStrmm_v2_64;
                    f64: cublasDtrmm_v2 cublasDtrmm_v2_64;
                    Complex32: cublasCtrmm_v2 cublasCtrmm_v2_64;
                    Complex64: cublasZtrmm_v2 cublasZtrmm_v2_64;
                }
                level3::trsm(side: cublasSideMode_t, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *mut T, ldb: N) {
                    f32: cublasStrsm_v2 cublasStrsm_v2_64;
                    f64: cublasDtrsm_v2 cublasDtrsm_v2_64;
                    Complex32: cublasCtrsm_v2 cublasCtrsm_v2_64;
                    Complex64: cublasZtrsm_v2 cublasZtrsm_v2_64;
                }
                level1::amax(n: N, x: *const T, incx: N, result: *mut N) {
                    f32: cublasIsamax_v2 cublasIsamax_v2_64;
                    f64: cublasIdamax_v2 cublasIdamax_v2_64;
                    Complex32: cublasIcamax_v2 cublasIcamax_v2_64;
                    Complex64: cublasIzamax_v2 cublasIzamax_v2_64;
                }
                level1::amin(n: N, x: *const T, incx: N, result: *mut N) {
                    f32: cublasIsamin_v2 cublasIsamin_v2_64;
                    f64: cublasIdamin_v2 cublasIdamin_v2_64;
                    Complex32: cublasIcamin_v2 cublasIcamin_v2_64;
                    Complex64: cublasIzamin_v2 cublasIzamin_v2_64;
                }
                level1::asum(n: N, x: *const T, incx: N, result: *mut R) {
                    f32: cublasSasum_v2 cublasSasum_v2_64;
                    f64: cublasDasum_v2 cublasDasum_v2_64;
                    Complex32: cublasScasum_v2 cublasScasum_v2_64;
                    Complex64: cublasDzasum_v2 cublasDzasum_v2_64;
                }
                level1::nrm2(n: N, x: *const T, incx: N, result: *mut R) {
                    f32: cublasSnrm2_v2 cublasSnrm2_v2_64;
                    f64: cublasDnrm2_v2 cublasDnrm2_v2_64;
                    Complex32: cublasScnrm2_v2 cublasScnrm2_v2_64;
                    Complex64: cublasDznrm2_v2 cublasDznrm2_v2_64;
                }
                level1::dotu(n: N, x: *const T, incx: N, y: *const T, incy: N, result: *mut T) {
                    f32: cublasSdot_v2 cublasSdot_v2_64;
                    f64: cublasDdot_v2 cublasDdot_v2_64;
                    Complex32: cublasCdotu_v2 cublasCdotu_v2_64;
                    Complex64: cublasZdotu_v2 cublasZdotu_v2_64;
                }
                level1::dotc(n: N, x: *const T, incx: N, y: *const T, incy: N, result: *mut T) {
                    Complex32: cublasCdotc_v2 cublasCdotc_v2_64;
                    Complex64: cublasZdotc_v2 cublasZdotc_v2_64;
                }
                level1::axpy(n: N, alpha: *const T, x: *const T, incx: N, y: *mut T, incy: N) {
                    f32: cublasSaxpy_v2 cublasSaxpy_v2_64;
                    f64: cublasDaxpy_v2 cublasDaxpy_v2_64;
                    Complex32: cublasCaxpy_v2 cublasCaxpy_v2_64;
                    Complex64: cublasZaxpy_v2 cublasZaxpy_v2_64;
                }
                level1::copy(n: N, x: *const T, incx: N, y: *mut T, incy: N) {
                    f32: cublasScopy_v2 cublasScopy_v2_64;
                    f64: cublasDcopy_v2 cublasDcopy_v2_64;
                    Complex32: cublasCcopy_v2 cublasCcopy_v2_64;
                    Complex64: cublasZcopy_v2 cublasZcopy_v2_64;
                }
                level1::swap(n: N, x: *mut T, incx: N, y: *mut T, incy: N) {
                    f32: cublasSswap_v2 cublasSswap_v2_64;
                    f64: cublasDswap_v2 cublasDswap_v2_64;
                    Complex32: cublasCswap_v2 cublasCswap_v2_64;
                    Complex64: cublasZswap_v2 cublasZswap_v2_64;
                }
                level1::scal(n: N, alpha: *const T, x: *mut T, incx: N) {
                    f32: cublasSscal_v2 cublasSscal_v2_64;
                    f64: cublasDscal_v2 cublasDscal_v2_64;
                    Complex32: cublasCscal_v2 cublasCscal_v2_64;
                    Complex64: cublasZscal_v2 cublasZscal_v2_64;
                }
                level1::scal_real(n: N, alpha: *const R, x: *mut T, incx: N) {
                    Complex32: cublasCsscal_v2 cublasCsscal_v2_64;
                    Complex64: cublasZdscal_v2 cublasZdscal_v2_64;
                }
                level1::rot(n: N, x: *mut T, incx: N, y: *mut T, incy: N, c: *const R, s: *const T) {
                    f32: cublasSrot_v2 cublasSrot_v2_64;
                    f64: cublasDrot_v2 cublasDrot_v2_64;
                    Complex32: cublasCrot_v2 cublasCrot_v2_64;
                    Complex64: cublasZrot_v2 cublasZrot_v2_64;
                }
                level1::rot_real(n: N, x: *mut T, incx: N, y: *mut T, incy: N, c: *const R, s: *const R) {
                    Complex32: cublasCsrot_v2 cublasCsrot_v2_64;
                    Complex64: cublasZdrot_v2 cublasZdrot_v2_64;
                }
                rotation::rotg(a: *mut T, b: *mut T, c: *mut R, s: *mut T) {
                    f32: cublasSrotg_v2;
                    f64: cublasDrotg_v2;
                    Complex32: cublasCrotg_v2;
                    Complex64: cublasZrotg_v2;
                }
                level1::rotm(n: N, x: *mut T, incx: N, y: *mut T, incy: N, param: *const T) {
                    f32: cublasSrotm_v2 cublasSrotm_v2_64;
                    f64: cublasDrotm_v2 cublasDrotm_v2_64;
                }
                level2::gemv(trans: cublasOperation_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    f32: cublasSgemv_v2 cublasSgemv_v2_64;
                    f64: cublasDgemv_v2 cublasDgemv_v2_64;
                    Complex32: cublasCgemv_v2 cublasCgemv_v2_64;
                    Complex64: cublasZgemv_v2 cublasZgemv_v2_64;
                }
                level2::gbmv(trans: cublasOperation_t, m: N, n: N, kl: N, ku: N, alpha: *const T, a: *const T, lda: N, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    f32: cublasSgbmv_v2 cublasSgbmv_v2_64;
                    f64: cublasDgbmv_v2 cublasDgbmv_v2_64;
                    Complex32: cublasCgbmv_v2 cublasCgbmv_v2_64;
                    Complex64: cublasZgbmv_v2 cublasZgbmv_v2_64;
                }
                level2::trmv(uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: N, a: *const T, lda: N, x: *mut T, incx: N) {
                    f32: cublasStrmv_v2 cublasStrmv_v2_64;
                    f64: cublasDtrmv_v2 cublasDtrmv_v2_64;
                    Complex32: cublasCtrmv_v2 cublasCtrmv_v2_64;
                    Complex64: cublasZtrmv_v2 cublasZtrmv_v2_64;
                }
                level2::trsv(uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: N, a: *const T, lda: N, x: *mut T, incx: N) {
                    f32: cublasStrsv_v2 cublasStrsv_v2_64;
                    f64: cublasDtrsv_v2 cublasDtrsv_v2_64;
                    Complex32: cublasCtrsv_v2 cublasCtrsv_v2_64;
                    Complex64: cublasZtrsv_v2 cublasZtrsv_v2_64;
                }
                level2::tpmv(uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: N, ap: *const T, x: *mut T, incx: N) {
                    f32: cublasStpmv_v2 cublasStpmv_v2_64;
                    f64: cublasDtpmv_v2 cublasDtpmv_v2_64;
                    Complex32: cublasCtpmv_v2 cublasCtpmv_v2_64;
                    Complex64: cublasZtpmv_v2 cublasZtpmv_v2_64;
                }
                level2::tpsv(uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: N, ap: *const T, x: *mut T, incx: N) {
                    f32: cublasStpsv_v2 cublasStpsv_v2_64;
                    f64: cublasDtpsv_v2 cublasDtpsv_v2_64;
                    Complex32: cublasCtpsv_v2 cublasCtpsv_v2_64;
                    Complex64: cublasZtpsv_v2 cublasZtpsv_v2_64;
                }
                level2::tbmv(uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: N, k: N, a: *const T, lda: N, x: *mut T, incx: N) {
                    f32: cublasStbmv_v2 cublasStbmv_v2_64;
                    f64: cublasDtbmv_v2 cublasDtbmv_v2_64;
                    Complex32: cublasCtbmv_v2 cublasCtbmv_v2_64;
                    Complex64: cublasZtbmv_v2 cublasZtbmv_v2_64;
                }
                level2::tbsv(uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: N, k: N, a: *const T, lda: N, x: *mut T, incx: N) {
                    f32: cublasStbsv_v2 cublasStbsv_v2_64;
                    f64: cublasDtbsv_v2 cublasDtbsv_v2_64;
                    Complex32: cublasCtbsv_v2 cublasCtbsv_v2_64;
                    Complex64: cublasZtbsv_v2 cublasZtbsv_v2_64;
                }
                level2::symv(uplo: cublasFillMode_t, n: N, alpha: *const T, a: *const T, lda: N, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    f32: cublasSsymv_v2 cublasSsymv_v2_64;
                    f64: cublasDsymv_v2 cublasDsymv_v2_64;
                    Complex32: cublasCsymv_v2 cublasCsymv_v2_64;
                    Complex64: cublasZsymv_v2 cublasZsymv_v2_64;
                }
                level2::syr(uplo: cublasFillMode_t, n: N, alpha: *const T, x: *const T, incx: N, a: *mut T, lda: N) {
                    f32: cublasSsyr_v2 cublasSsyr_v2_64;
                    f64: cublasDsyr_v2 cublasDsyr_v2_64;
                    Complex32: cublasCsyr_v2 cublasCsyr_v2_64;
                    Complex64: cublasZsyr_v2 cublasZsyr_v2_64;
                }
                level2::syr2(uplo: cublasFillMode_t, n: N, alpha: *const T, x: *const T, incx: N, y: *const T, incy: N, a: *mut T, lda: N) {
                    f32: cublasSsyr2_v2 cublasSsyr2_v2_64;
                    f64: cublasDsyr2_v2 cublasDsyr2_v2_64;
                    Complex32: cublasCsyr2_v2 cublasCsyr2_v2_64;
                    Complex64: cublasZsyr2_v2 cublasZsyr2_v2_64;
                }
                level2::spmv(uplo: cublasFillMode_t, n: N, alpha: *const T, ap: *const T, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    f32: cublasSspmv_v2 cublasSspmv_v2_64;
                    f64: cublasDspmv_v2 cublasDspmv_v2_64;
                }
                level2::sbmv(uplo: cublasFillMode_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    f32: cublasSsbmv_v2 cublasSsbmv_v2_64;
                    f64: cublasDsbmv_v2 cublasDsbmv_v2_64;
                }
                level2::spr(uplo: cublasFillMode_t, n: N, alpha: *const T, x: *const T, incx: N, ap: *mut T) {
                    f32: cublasSspr_v2 cublasSspr_v2_64;
                    f64: cublasDspr_v2 cublasDspr_v2_64;
                }
                level2::spr2(uplo: cublasFillMode_t, n: N, alpha: *const T, x: *const T, incx: N, y: *const T, incy: N, ap: *mut T) {
                    f32: cublasSspr2_v2 cublasSspr2_v2_64;
                    f64: cublasDspr2_v2 cublasDspr2_v2_64;
                }
                level2::hemv(uplo: cublasFillMode_t, n: N, alpha: *const T, a: *const T, lda: N, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    Complex32: cublasChemv_v2 cublasChemv_v2_64;
                    Complex64: cublasZhemv_v2 cublasZhemv_v2_64;
                }
                level2::hpmv(uplo: cublasFillMode_t, n: N, alpha: *const T, ap: *const T, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    Complex32: cublasChpmv_v2 cublasChpmv_v2_64;
                    Complex64: cublasZhpmv_v2 cublasZhpmv_v2_64;
                }
                level2::hbmv(uplo: cublasFillMode_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, x: *const T, incx: N, beta: *const T, y: *mut T, incy: N) {
                    Complex32: cublasChbmv_v2 cublasChbmv_v2_64;
                    Complex64: cublasZhbmv_v2 cublasZhbmv_v2_64;
                }
                level2::her(uplo: cublasFillMode_t, n: N, alpha: *const R, x: *const T, incx: N, a: *mut T, lda: N) {
                    Complex32: cublasCher_v2 cublasCher_v2_64;
                    Complex64: cublasZher_v2 cublasZher_v2_64;
                }
                level2::hpr(uplo: cublasFillMode_t, n: N, alpha: *const R, x: *const T, incx: N, ap: *mut T) {
                    Complex32: cublasChpr_v2 cublasChpr_v2_64;
                    Complex64: cublasZhpr_v2 cublasZhpr_v2_64;
                }
                level2::her2(uplo: cublasFillMode_t, n: N, alpha: *const T, x: *const T, incx: N, y: *const T, incy: N, a: *mut T, lda: N) {
                    Complex32: cublasCher2_v2 cublasCher2_v2_64;
                    Complex64: cublasZher2_v2 cublasZher2_v2_64;
                }
                level2::hpr2(uplo: cublasFillMode_t, n: N, alpha: *const T, x: *const T, incx: N, y: *const T, incy: N, ap: *mut T) {
                    Complex32: cublasChpr2_v2 cublasChpr2_v2_64;
                    Complex64: cublasZhpr2_v2 cublasZhpr2_v2_64;
                }
                level2::geru(m: N, n: N, alpha: *const T, x: *const T, incx: N, y: *const T, incy: N, a: *mut T, lda: N) {
                    Complex32: cublasCgeru_v2 cublasCgeru_v2_64;
                    Complex64: cublasZgeru_v2 cublasZgeru_v2_64;
                }
                level2::gerc(m: N, n: N, alpha: *const T, x: *const T, incx: N, y: *const T, incy: N, a: *mut T, lda: N) {
                    Complex32: cublasCgerc_v2 cublasCgerc_v2_64;
                    Complex64: cublasZgerc_v2 cublasZgerc_v2_64;
                }
                level2::geru(m: N, n: N, alpha: *const T, x: *const T, incx: N, y: *const T, incy: N, a: *mut T, lda: N) {
                    f32: cublasSger_v2 cublasSger_v2_64;
                    f64: cublasDger_v2 cublasDger_v2_64;
                }
                extensions::geam(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, beta: *const T, b: *const T, ldb: N, c: *mut T, ldc: N) {
                    f32: cublasSgeam cublasSgeam_64;
                    f64: cublasDgeam cublasDgeam_64;
                    Complex32: cublasCgeam cublasCgeam_64;
                    Complex64: cublasZgeam cublasZgeam_64;
                }
                extensions::dgmm(mode: cublasSideMode_t, m: N, n: N, a: *const T, lda: N, x: *const T, incx: N, c: *mut T, ldc: N) {
                    f32: cublasSdgmm cublasSdgmm_64;
                    f64: cublasDdgmm cublasDdgmm_64;
                    Complex32: cublasCdgmm cublasCdgmm_64;
                    Complex64: cublasZdgmm cublasZdgmm_64;
                }
                extensions::tpttr(uplo: cublasFillMode_t, n: N, ap: *const T, a: *mut T, lda: N) {
                    f32: cublasStpttr;
                    f64: cublasDtpttr;
                    Complex32: cublasCtpttr;
                    Complex64: cublasZtpttr;
                }
                extensions::trttp(uplo: cublasFillMode_t, n: N, a: *const T, lda: N, ap: *mut T) {
                    f32: cublasStrttp;
                    f64: cublasDtrttp;
                    Complex32: cublasCtrttp;
                    Complex64: cublasZtrttp;
                }
                batched::gemm(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, aarray: *const *const T, lda: N, barray: *const *const T, ldb: N, beta: *const T, carray: *const *mut T, ldc: N, batch_count: N) {
                    f32: cublasSgemmBatched cublasSgemmBatched_64;
                    f64: cublasDgemmBatched cublasDgemmBatched_64;
                    Complex32: cublasCgemmBatched cublasCgemmBatched_64;
                    Complex64: cublasZgemmBatched cublasZgemmBatched_64;
                }
                batched::gemm(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, aarray: *const *const T, lda: N, barray: *const *const T, ldb: N, beta: *const T, carray: *const *mut T, ldc: N, batch_count: N) {
                    Complex32: cublasCgemm3mBatched cublasCgemm3mBatched_64;
                }
                batched::trsm(side: cublasSideMode_t, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, m: N, n: N, alpha: *const T, a: *const *const T, lda: N, b: *const *mut T, ldb: N, batch_count: N) {
                    f32: cublasStrsmBatched cublasStrsmBatched_64;
                    f64: cublasDtrsmBatched cublasDtrsmBatched_64;
                    Complex32: cublasCtrsmBatched cublasCtrsmBatched_64;
                    Complex64: cublasZtrsmBatched cublasZtrsmBatched_64;
                }
                factors::getrf(n: N, a: *const *mut T, lda: N, p: *mut c_int, info: *mut c_int, batch_size: N) {
                    f32: cublasSgetrfBatched;
                    f64: cublasDgetrfBatched;
                    Complex32: cublasCgetrfBatched;
                    Complex64: cublasZgetrfBatched;
                }
                factors::getri(n: N, a: *const *const T, lda: N, p: *const c_int, c: *const *mut T, ldc: N, info: *mut c_int, batch_size: N) {
                    f32: cublasSgetriBatched;
                    f64: cublasDgetriBatched;
                    Complex32: cublasCgetriBatched;
                    Complex64: cublasZgetriBatched;
                }
                factors::getrs(trans: cublasOperation_t, n: N, nrhs: N, aarray: *const *const T, lda: N, dev_ipiv: *const c_int, barray: *const *mut T, ldb: N, info: *mut c_int, batch_size: N) {
                    f32: cublasSgetrsBatched;
                    f64: cublasDgetrsBatched;
                    Complex32: cublasCgetrsBatched;
                    Complex64: cublasZgetrsBatched;
                }
                factors::matinv(n: N, a: *const *const T, lda: N, ainv: *const *mut T, lda_inv: N, info: *mut c_int, batch_size: N) {
                    f32: cublasSmatinvBatched;
                    f64: cublasDmatinvBatched;
                    Complex32: cublasCmatinvBatched;
                    Complex64: cublasZmatinvBatched;
                }
                batched_vectors::gemv(trans: cublasOperation_t, m: N, n: N, alpha: *const T, aarray: *const *const T, lda: N, xarray: *const *const T, incx: N, beta: *const T, yarray: *const *mut T, incy: N, batch_count: N) {
                    f32: cublasSgemvBatched cublasSgemvBatched_64;
                    f64: cublasDgemvBatched cublasDgemvBatched_64;
                    Complex32: cublasCgemvBatched cublasCgemvBatched_64;
                    Complex64: cublasZgemvBatched cublasZgemvBatched_64;
                }
                batched_vectors::gemv_strided(trans: cublasOperation_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, stridea: i64, x: *const T, incx: N, stridex: i64, beta: *const T, y: *mut T, incy: N, stridey: i64, batch_count: N) {
                    f32: cublasSgemvStridedBatched cublasSgemvStridedBatched_64;
                    f64: cublasDgemvStridedBatched cublasDgemvStridedBatched_64;
                    Complex32: cublasCgemvStridedBatched cublasCgemvStridedBatched_64;
                    Complex64: cublasZgemvStridedBatched cublasZgemvStridedBatched_64;
                }
                batched_vectors::gemm_grouped(transa: *const cublasOperation_t, transb: *const cublasOperation_t, m: *const N, n: *const N, k: *const N, alpha: *const T, aarray: *const *const T, lda: *const N, barray: *const *const T, ldb: *const N, beta: *const T, carray: *const *mut T, ldc: *const N, group_count: N, group_size: *const N) {
                    f32: cublasSgemmGroupedBatched cublasSgemmGroupedBatched_64;
                    f64: cublasDgemmGroupedBatched cublasDgemmGroupedBatched_64;
                }
                rotation::rotmg(d1: *mut T, d2: *mut T, x1: *mut T, y1: *const T, param: *mut T) {
                    f32: cublasSrotmg_v2;
                    f64: cublasDrotmg_v2;
                }
                qr::geqrf(m: N, n: N, aarray: *const *mut T, lda: N, tau_array: *const *mut T, info: *mut c_int, batch_size: N) {
                    f32: cublasSgeqrfBatched;
                    f64: cublasDgeqrfBatched;
                    Complex32: cublasCgeqrfBatched;
                    Complex64: cublasZgeqrfBatched;
                }
                qr::gels(trans: cublasOperation_t, m: N, n: N, nrhs: N, aarray: *const *mut T, lda: N, carray: *const *mut T, ldc: N, info: *mut c_int, dev_info_array: *mut c_int, batch_size: N) {
                    f32: cublasSgelsBatched;
                    f64: cublasDgelsBatched;
                    Complex32: cublasCgelsBatched;
                    Complex64: cublasZgelsBatched;
                }
            }
            xt {
                gemm::gemm(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasXtSgemm;
                    f64: cublasXtDgemm;
                    Complex32: cublasXtCgemm;
                    Complex64: cublasXtZgemm;
                }
                level3::symm(side: cublasSideMode_t, uplo: cublasFillMode_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasXtSsymm;
                    f64: cublasXtDsymm;
                    Complex32: cublasXtCsymm;
                    Complex64: cublasXtZsymm;
                }
                level3::hemm(side: cublasSideMode_t, uplo: cublasFillMode_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    Complex32: cublasXtChemm;
                    Complex64: cublasXtZhemm;
                }
                level3::spmm(side: cublasSideMode_t, uplo: cublasFillMode_t, m: N, n: N, alpha: *const T, ap: *const T, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasXtSspmm;
                    f64: cublasXtDspmm;
                    Complex32: cublasXtCspmm;
                    Complex64: cublasXtZspmm;
                }
                ranked::syrk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasXtSsyrk;
                    f64: cublasXtDsyrk;
                    Complex32: cublasXtCsyrk;
                    Complex64: cublasXtZsyrk;
                }
                ranked::herk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const R, a: *const T, lda: N, beta: *const R, c: *mut T, ldc: N) {
                    Complex32: cublasXtCherk;
                    Complex64: cublasXtZherk;
                }
                ranked::syr2k(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasXtSsyr2k;
                    f64: cublasXtDsyr2k;
                    Complex32: cublasXtCsyr2k;
                    Complex64: cublasXtZsyr2k;
                }
                ranked::her2k(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const R, c: *mut T, ldc: N) {
                    Complex32: cublasXtCher2k;
                    Complex64: cublasXtZher2k;
                }
                ranked::syrkx(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const T, c: *mut T, ldc: N) {
                    f32: cublasXtSsyrkx;
                    f64: cublasXtDsyrkx;
                    Complex32: cublasXtCsyrkx;
                    Complex64: cublasXtZsyrkx;
                }
                ranked::herkx(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, beta: *const R, c: *mut T, ldc: N) {
                    Complex32: cublasXtCherkx;
                    Complex64: cublasXtZherkx;
                }
                level3::trmm(side: cublasSideMode_t, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *const T, ldb: N, c: *mut T, ldc: N) {
                    f32: cublasXtStrmm;
                    f64: cublasXtDtrmm;
                    Complex32: cublasXtCtrmm;
                    Complex64: cublasXtZtrmm;
                }
                level3::trsm(side: cublasSideMode_t, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, m: N, n: N, alpha: *const T, a: *const T, lda: N, b: *mut T, ldb: N) {
                    f32: cublasXtStrsm;
                    f64: cublasXtDtrsm;
                    Complex32: cublasXtCtrsm;
                    Complex64: cublasXtZtrsm;
                }
            }
            handle {
                rotation::rotmg_ex(d1: *mut c_void, d1_type: cudaDataType, d2: *mut c_void, d2_type: cudaDataType, x1: *mut c_void, x1_type: cudaDataType, y1: *const c_void, y1_type: cudaDataType, param: *mut c_void, param_type: cudaDataType, executiontype: cudaDataType) { cublasRotmgEx }
                rotation::rotm_ex(n: N, x: *mut c_void, x_type: cudaDataType, incx: N, y: *mut c_void, y_type: cudaDataType, incy: N, param: *const c_void, param_type: cudaDataType, executiontype: cudaDataType) { cublasRotmEx cublasRotmEx_64 }
                rotation::rotg_ex(a: *mut c_void, b: *mut c_void, ab_type: cudaDataType, c: *mut c_void, s: *mut c_void, cs_type: cudaDataType, executiontype: cudaDataType) { cublasRotgEx }
                batched_vectors::hsh_gemv(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, aarray: *const *const c_void, lda: N, xarray: *const *const c_void, incx: N, beta: *const f32, yarray: *const *mut c_void, incy: N, batch_count: N) { cublasHSHgemvBatched cublasHSHgemvBatched_64 }
                batched_vectors::hsh_gemv_strided(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, a: *const c_void, lda: N, stridea: i64, x: *const c_void, incx: N, stridex: i64, beta: *const f32, y: *mut c_void, incy: N, stridey: i64, batch_count: N) { cublasHSHgemvStridedBatched cublasHSHgemvStridedBatched_64 }
                batched_vectors::hss_gemv(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, aarray: *const *const c_void, lda: N, xarray: *const *const c_void, incx: N, beta: *const f32, yarray: *const *mut c_void, incy: N, batch_count: N) { cublasHSSgemvBatched cublasHSSgemvBatched_64 }
                batched_vectors::hss_gemv_strided(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, a: *const c_void, lda: N, stridea: i64, x: *const c_void, incx: N, stridex: i64, beta: *const f32, y: *mut c_void, incy: N, stridey: i64, batch_count: N) { cublasHSSgemvStridedBatched cublasHSSgemvStridedBatched_64 }
                batched_vectors::tst_gemv(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, aarray: *const *const c_void, lda: N, xarray: *const *const c_void, incx: N, beta: *const f32, yarray: *const *mut c_void, incy: N, batch_count: N) { cublasTSTgemvBatched cublasTSTgemvBatched_64 }
                batched_vectors::tst_gemv_strided(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, a: *const c_void, lda: N, stridea: i64, x: *const c_void, incx: N, stridex: i64, beta: *const f32, y: *mut c_void, incy: N, stridey: i64, batch_count: N) { cublasTSTgemvStridedBatched cublasTSTgemvStridedBatched_64 }
                batched_vectors::tss_gemv(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, aarray: *const *const c_void, lda: N, xarray: *const *const c_void, incx: N, beta: *const f32, yarray: *const *mut c_void, incy: N, batch_count: N) { cublasTSSgemvBatched cublasTSSgemvBatched_64 }
                batched_vectors::tss_gemv_strided(trans: cublasOperation_t, m: N, n: N, alpha: *const f32, a: *const c_void, lda: N, stridea: i64, x: *const c_void, incx: N, stridex: i64, beta: *const f32, y: *mut c_void, incy: N, stridey: i64, batch_count: N) { cublasTSSgemvStridedBatched cublasTSSgemvStridedBatched_64 }
                batched_vectors::gemm_grouped_ex(transa: *const cublasOperation_t, transb: *const cublasOperation_t, m: *const N, n: *const N, k: *const N, alpha: *const c_void, aarray: *const *const c_void, atype: cudaDataType, lda: *const N, barray: *const *const c_void, btype: cudaDataType, ldb: *const N, beta: *const c_void, carray: *const *mut c_void, ctype: cudaDataType, ldc: *const N, group_count: N, group_size: *const N, compute_type: cublasComputeType_t) { cublasGemmGroupedBatchedEx cublasGemmGroupedBatchedEx_64 }
                level1_typed::axpy(n: N, alpha: *const c_void, alpha_type: cudaDataType, x: *const c_void, x_type: cudaDataType, incx: N, y: *mut c_void, y_type: cudaDataType, incy: N, executiontype: cudaDataType) { cublasAxpyEx cublasAxpyEx_64 }
                level1_typed::scal(n: N, alpha: *const c_void, alpha_type: cudaDataType, x: *mut c_void, x_type: cudaDataType, incx: N, executiontype: cudaDataType) { cublasScalEx cublasScalEx_64 }
                level1_typed::dot(n: N, x: *const c_void, x_type: cudaDataType, incx: N, y: *const c_void, y_type: cudaDataType, incy: N, result: *mut c_void, result_type: cudaDataType, executiontype: cudaDataType) { cublasDotEx cublasDotEx_64 }
                level1_typed::dotc(n: N, x: *const c_void, x_type: cudaDataType, incx: N, y: *const c_void, y_type: cudaDataType, incy: N, result: *mut c_void, result_type: cudaDataType, executiontype: cudaDataType) { cublasDotcEx cublasDotcEx_64 }
                level1_typed::nrm2(n: N, x: *const c_void, x_type: cudaDataType, incx: N, result: *mut c_void, result_type: cudaDataType, executiontype: cudaDataType) { cublasNrm2Ex cublasNrm2Ex_64 }
                level1_typed::asum(n: N, x: *const c_void, x_type: cudaDataType, incx: N, result: *mut c_void, result_type: cudaDataType, executiontype: cudaDataType) { cublasAsumEx cublasAsumEx_64 }
                level1_typed::amax(n: N, x: *const c_void, x_type: cudaDataType, incx: N, result: *mut N) { cublasIamaxEx cublasIamaxEx_64 }
                level1_typed::amin(n: N, x: *const c_void, x_type: cudaDataType, incx: N, result: *mut N) { cublasIaminEx cublasIaminEx_64 }
                level1_typed::copy(n: N, x: *const c_void, x_type: cudaDataType, incx: N, y: *mut c_void, y_type: cudaDataType, incy: N) { cublasCopyEx cublasCopyEx_64 }
                level1_typed::swap(n: N, x: *mut c_void, x_type: cudaDataType, incx: N, y: *mut c_void, y_type: cudaDataType, incy: N) { cublasSwapEx cublasSwapEx_64 }
                level1_typed::rot(n: N, x: *mut c_void, x_type: cudaDataType, incx: N, y: *mut c_void, y_type: cudaDataType, incy: N, c: *const c_void, s: *const c_void, cs_type: cudaDataType, executiontype: cudaDataType) { cublasRotEx cublasRotEx_64 }
                level3_typed::csyrk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const Complex32, a: *const c_void, atype: cudaDataType, lda: N, beta: *const Complex32, c: *mut c_void, ctype: cudaDataType, ldc: N) { cublasCsyrkEx cublasCsyrkEx_64 }
                level3_typed::csyrk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const Complex32, a: *const c_void, atype: cudaDataType, lda: N, beta: *const Complex32, c: *mut c_void, ctype: cudaDataType, ldc: N) { cublasCsyrk3mEx cublasCsyrk3mEx_64 }
                level3_typed::cherk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const f32, a: *const c_void, atype: cudaDataType, lda: N, beta: *const f32, c: *mut c_void, ctype: cudaDataType, ldc: N) { cublasCherkEx cublasCherkEx_64 }
                level3_typed::cherk(uplo: cublasFillMode_t, trans: cublasOperation_t, n: N, k: N, alpha: *const f32, a: *const c_void, atype: cudaDataType, lda: N, beta: *const f32, c: *mut c_void, ctype: cudaDataType, ldc: N) { cublasCherk3mEx cublasCherk3mEx_64 }
                gemm::hgemm(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const f16, a: *const f16, lda: N, b: *const f16, ldb: N, beta: *const f16, c: *mut f16, ldc: N) { cublasHgemm cublasHgemm_64 }
                gemm::hgemm_strided(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const f16, a: *const f16, lda: N, stridea: i64, b: *const f16, ldb: N, strideb: i64, beta: *const f16, c: *mut f16, ldc: N, stridec: i64, batch_count: N) { cublasHgemmStridedBatched cublasHgemmStridedBatched_64 }
                gemm::gemm_ex(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const c_void, a: *const c_void, atype: cudaDataType, lda: N, b: *const c_void, btype: cudaDataType, ldb: N, beta: *const c_void, c: *mut c_void, ctype: cudaDataType, ldc: N, compute_type: cublasComputeType_t, algo: cublasGemmAlgo_t) { cublasGemmEx cublasGemmEx_64 }
                gemm::gemm_strided_ex(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const c_void, a: *const c_void, atype: cudaDataType, lda: N, stridea: i64, b: *const c_void, btype: cudaDataType, ldb: N, strideb: i64, beta: *const c_void, c: *mut c_void, ctype: cudaDataType, ldc: N, stridec: i64, batch_count: N, compute_type: cublasComputeType_t, algo: cublasGemmAlgo_t) { cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64 }
                management::set_stream(stream_id: cudaStream_t) { cublasSetStream_v2 }
                management::get_stream(stream_id: *mut cudaStream_t) { cublasGetStream_v2 }
                management::set_workspace(workspace: *mut c_void, workspace_size_in_bytes: usize) { cublasSetWorkspace_v2 }
                management::set_pointer_mode(mode: cublasPointerMode_t) { cublasSetPointerMode_v2 }
                management::get_pointer_mode(mode: *mut cublasPointerMode_t) { cublasGetPointerMode_v2 }
                management::set_atomics_mode(mode: cublasAtomicsMode_t) { cublasSetAtomicsMode }
                management::get_atomics_mode(mode: *mut cublasAtomicsMode_t) { cublasGetAtomicsMode }
                management::set_math_mode(mode: cublasMath_t) { cublasSetMathMode }
                management::get_math_mode(mode: *mut cublasMath_t) { cublasGetMathMode }
                management::set_sm_count_target(sm_count_target: c_int) { cublasSetSmCountTarget }
                management::get_sm_count_target(sm_count_target: *mut c_int) { cublasGetSmCountTarget }
                management::set_emulation_strategy(emulation_strategy: cublasEmulation_t) { cublasSetEmulationStrategy }
                management::get_emulation_strategy(emulation_strategy: *mut cublasEmulation_t) { cublasGetEmulationStrategy }
                batched::hgemm(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const f16, aarray: *const *const f16, lda: N, barray: *const *const f16, ldb: N, beta: *const f16, carray: *const *mut f16, ldc: N, batch_count: N) { cublasHgemmBatched cublasHgemmBatched_64 }
                batched::gemm_ex(transa: cublasOperation_t, transb: cublasOperation_t, m: N, n: N, k: N, alpha: *const c_void, aarray: *const *const c_void, atype: cudaDataType, lda: N, barray: *const *const c_void, btype: cudaDataType, ldb: N, beta: *const c_void, carray: *const *mut c_void, ctype: cudaDataType, ldc: N, batch_count: N, compute_type: cublasComputeType_t, algo: cublasGemmAlgo_t) { cublasGemmBatchedEx cublasGemmBatchedEx_64 }
            }
            handle_13 {
                management::set_emulation_special(mask: cublasEmulation_t) { cublasSetEmulationSpecialValuesSupport }
                management::get_emulation_special(mask: *mut cublasEmulation_t) { cublasGetEmulationSpecialValuesSupport }
                management::set_mantissa_control(mantissa_control: cublasEmulation_t) { cublasSetFixedPointEmulationMantissaControl }
                management::get_mantissa_control(mantissa_control: *mut cublasEmulation_t) { cublasGetFixedPointEmulationMantissaControl }
                management::set_mantissa_maximum(max_mantissa_bit_count: c_int) { cublasSetFixedPointEmulationMaxMantissaBitCount }
                management::get_mantissa_maximum(max_mantissa_bit_count: *mut c_int) { cublasGetFixedPointEmulationMaxMantissaBitCount }
                management::set_mantissa_offset(mantissa_bit_offset: c_int) { cublasSetFixedPointEmulationMantissaBitOffset }
                management::get_mantissa_offset(mantissa_bit_offset: *mut c_int) { cublasGetFixedPointEmulationMantissaBitOffset }
                management::set_mantissa_count(mantissa_bit_count: *mut c_int) { cublasSetFixedPointEmulationMantissaBitCountPointer }
                management::get_mantissa_count(mantissa_bit_count: *mut *mut c_int) { cublasGetFixedPointEmulationMantissaBitCountPointer }
            }
            major {
                management::create(handle: *mut cublasHandle_t) { cublasCreate_v2 }
                management::destroy(handle: cublasHandle_t) { cublasDestroy_v2 }
                xt::create(handle: *mut cublasHandle_t) { cublasXtCreate }
                management::get_version(handle: cublasHandle_t, version: *mut c_int) { cublasGetVersion_v2 }
                management::get_property(kind: libraryPropertyType, value: *mut c_int) { cublasGetProperty }
                management::logger_configure(log_is_on: c_int, log_to_std_out: c_int, log_to_std_err: c_int, log_file_name: *const c_char) { cublasLoggerConfigure }
                management::set_logger_callback(user_callback: cublasLogCallback) { cublasSetLoggerCallback }
                management::get_logger_callback(user_callback: *mut cublasLogCallback) { cublasGetLoggerCallback }
            }
            host {
                transfer::copy_vector(n: N, elem_size: N, x: *const c_void, incx: N, device_ptr: *mut c_void, incy: N) { cublasSetVector cublasSetVector_64 }
                transfer::copy_vector(n: N, elem_size: N, x: *const c_void, incx: N, y: *mut c_void, incy: N) { cublasGetVector cublasGetVector_64 }
                transfer::copy_vector_async(n: N, elem_size: N, host_ptr: *const c_void, incx: N, device_ptr: *mut c_void, incy: N, stream: cudaStream_t) { cublasSetVectorAsync cublasSetVectorAsync_64 }
                transfer::copy_vector_async(n: N, elem_size: N, device_ptr: *const c_void, incx: N, host_ptr: *mut c_void, incy: N, stream: cudaStream_t) { cublasGetVectorAsync cublasGetVectorAsync_64 }
                transfer::copy_matrix(rows: N, cols: N, elem_size: N, a: *const c_void, lda: N, b: *mut c_void, ldb: N) { cublasSetMatrix cublasSetMatrix_64 }
                transfer::copy_matrix(rows: N, cols: N, elem_size: N, a: *const c_void, lda: N, b: *mut c_void, ldb: N) { cublasGetMatrix cublasGetMatrix_64 }
                transfer::copy_matrix_async(rows: N, cols: N, elem_size: N, a: *const c_void, lda: N, b: *mut c_void, ldb: N, stream: cudaStream_t) { cublasSetMatrixAsync cublasSetMatrixAsync_64 }
                transfer::copy_matrix_async(rows: N, cols: N, elem_size: N, a: *const c_void, lda: N, b: *mut c_void, ldb: N, stream: cudaStream_t) { cublasGetMatrixAsync cublasGetMatrixAsync_64 }
                xt::destroy(handle: cublasHandle_t) { cublasXtDestroy }
                xt::select(handle: cublasHandle_t, nb_devices: c_int, device_id: *const c_int) { cublasXtDeviceSelect }
                xt::boards(nb_devices: c_int, device_id: *const c_int, nb_boards: *mut c_int) { cublasXtGetNumBoards }
                xt::most_boards(nb_gpu_boards: *mut c_int) { cublasXtMaxBoards }
                xt::set_tile(handle: cublasHandle_t, block_dim: c_int) { cublasXtSetBlockDim }
                xt::get_tile(handle: cublasHandle_t, block_dim: *mut c_int) { cublasXtGetBlockDim }
                xt::set_pinning(handle: cublasHandle_t, mode: c_int) { cublasXtSetPinningMemMode }
                xt::get_pinning(handle: cublasHandle_t, mode: *mut c_int) { cublasXtGetPinningMemMode }
                xt::set_host_function(handle: cublasHandle_t, blas_op: c_int, op_type: c_int, blas_functor: *mut c_void) { cublasXtSetCpuRoutine }
                xt::set_host_share(handle: cublasHandle_t, blas_op: c_int, op_type: c_int, ratio: f32) { cublasXtSetCpuRatio }
            }
            raw {
                cublasGetStatusName(status: cublasStatus_t) -> *const c_char;
                cublasGetStatusString(status: cublasStatus_t) -> *const c_char;
            }
            refused {
                cublasAlloc cublasCaxpy cublasCcopy cublasCdotc cublasCdotu cublasCgbmv cublasCgemm cublasCgemv cublasCgerc cublasCgeru cublasChbmv
                cublasChemm cublasChemv cublasCher cublasCher2 cublasCher2k cublasCherk cublasChpmv cublasChpr cublasChpr2 cublasCrot cublasCrotg
                cublasCscal cublasCsrot cublasCsscal cublasCswap cublasCsymm cublasCsyr2k cublasCsyrk cublasCtbmv cublasCtbsv cublasCtpmv cublasCtpsv
                cublasCtrmm cublasCtrmv cublasCtrsm cublasCtrsv cublasDasum cublasDaxpy cublasDcopy cublasDdot cublasDgbmv cublasDgemm cublasDgemv
                cublasDger cublasDnrm2 cublasDrot cublasDrotg cublasDrotm cublasDrotmg cublasDsbmv cublasDscal cublasDspmv cublasDspr cublasDspr2
                cublasDswap cublasDsymm cublasDsymv cublasDsyr cublasDsyr2 cublasDsyr2k cublasDsyrk cublasDtbmv cublasDtbsv cublasDtpmv cublasDtpsv
                cublasDtrmm cublasDtrmv cublasDtrsm cublasDtrsv cublasDzasum cublasDznrm2 cublasFree cublasGetCudartVersion cublasGetError
                cublasGetVersion cublasIcamax cublasIcamin cublasIdamax cublasIdamin cublasInit cublasIsamax cublasIsamin cublasIzamax cublasIzamin
                cublasSasum cublasSaxpy cublasScasum cublasScnrm2 cublasScopy cublasSdot cublasSetKernelStream cublasSgbmv cublasSgemm cublasSgemv
                cublasSger cublasShutdown cublasSnrm2 cublasSrot cublasSrotg cublasSrotm cublasSrotmg cublasSsbmv cublasSscal cublasSspmv cublasSspr
                cublasSspr2 cublasSswap cublasSsymm cublasSsymv cublasSsyr cublasSsyr2 cublasSsyr2k cublasSsyrk cublasStbmv cublasStbsv cublasStpmv
                cublasStpsv cublasStrmm cublasStrmv cublasStrsm cublasStrsv cublasUint8gemmBias cublasXerbla cublasZaxpy cublasZcopy cublasZdotc
                cublasZdotu cublasZdrot cublasZdscal cublasZgbmv cublasZgemm cublasZgemv cublasZgerc cublasZgeru cublasZhbmv cublasZhemm cublasZhemv
                cublasZher cublasZher2 cublasZher2k cublasZherk cublasZhpmv cublasZhpr cublasZhpr2 cublasZrot cublasZrotg cublasZscal cublasZswap
                cublasZsymm cublasZsyr2k cublasZsyrk cublasZtbmv cublasZtbsv cublasZtpmv cublasZtpsv cublasZtrmm cublasZtrmv cublasZtrsm cublasZtrsv
            }
        }
    };
}
