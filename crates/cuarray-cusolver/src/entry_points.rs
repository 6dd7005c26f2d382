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
                cholesky::potrf_size(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSpotri_bufferSize;
                    f64: cusolverDnDpotri_bufferSize;
                    Complex32: cusolverDnCpotri_bufferSize;
                    Complex64: cusolverDnZpotri_bufferSize;
                }
                cholesky::potri(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, work: *mut T, lwork: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSpotri;
                    f64: cusolverDnDpotri;
                    Complex32: cusolverDnCpotri;
                    Complex64: cusolverDnZpotri;
                }
                indefinite::sytrf_size(n: c_int, a: *mut T, lda: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSsytrf_bufferSize;
                    f64: cusolverDnDsytrf_bufferSize;
                    Complex32: cusolverDnCsytrf_bufferSize;
                    Complex64: cusolverDnZsytrf_bufferSize;
                }
                indefinite::sytrf(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, ipiv: *mut c_int, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSsytrf;
                    f64: cusolverDnDsytrf;
                    Complex32: cusolverDnCsytrf;
                    Complex64: cusolverDnZsytrf;
                }
                indefinite::sytri_size(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, ipiv: *const c_int, lwork: *mut c_int) {
                    f32: cusolverDnSsytri_bufferSize;
                    f64: cusolverDnDsytri_bufferSize;
                    Complex32: cusolverDnCsytri_bufferSize;
                    Complex64: cusolverDnZsytri_bufferSize;
                }
                indefinite::sytri(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, ipiv: *const c_int, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSsytri;
                    f64: cusolverDnDsytri;
                    Complex32: cusolverDnCsytri;
                    Complex64: cusolverDnZsytri;
                }
                bidiagonal::gebrd(m: c_int, n: c_int, a: *mut T, lda: c_int, d: *mut R, e: *mut R, tauq: *mut T, taup: *mut T, work: *mut T, lwork: c_int, dev_info: *mut c_int) {
                    f32: cusolverDnSgebrd;
                    f64: cusolverDnDgebrd;
                    Complex32: cusolverDnCgebrd;
                    Complex64: cusolverDnZgebrd;
                }
                tridiagonal::sytrd_size(uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, d: *const R, e: *const R, tau: *const T, lwork: *mut c_int) {
                    f32: cusolverDnSsytrd_bufferSize;
                    f64: cusolverDnDsytrd_bufferSize;
                    Complex32: cusolverDnChetrd_bufferSize;
                    Complex64: cusolverDnZhetrd_bufferSize;
                }
                tridiagonal::sytrd(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, d: *mut R, e: *mut R, tau: *mut T, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSsytrd;
                    f64: cusolverDnDsytrd;
                    Complex32: cusolverDnChetrd;
                    Complex64: cusolverDnZhetrd;
                }
                tridiagonal::orgtr_size(uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, tau: *const T, lwork: *mut c_int) {
                    f32: cusolverDnSorgtr_bufferSize;
                    f64: cusolverDnDorgtr_bufferSize;
                    Complex32: cusolverDnCungtr_bufferSize;
                    Complex64: cusolverDnZungtr_bufferSize;
                }
                tridiagonal::orgtr(uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, tau: *const T, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSorgtr;
                    f64: cusolverDnDorgtr;
                    Complex32: cusolverDnCungtr;
                    Complex64: cusolverDnZungtr;
                }
                tridiagonal::ormtr_size(side: cublasSideMode_t, uplo: cublasFillMode_t, trans: cublasOperation_t, m: c_int, n: c_int, a: *const T, lda: c_int, tau: *const T, c: *const T, ldc: c_int, lwork: *mut c_int) {
                    f32: cusolverDnSormtr_bufferSize;
                    f64: cusolverDnDormtr_bufferSize;
                    Complex32: cusolverDnCunmtr_bufferSize;
                    Complex64: cusolverDnZunmtr_bufferSize;
                }
                tridiagonal::ormtr(side: cublasSideMode_t, uplo: cublasFillMode_t, trans: cublasOperation_t, m: c_int, n: c_int, a: *mut T, lda: c_int, tau: *mut T, c: *mut T, ldc: c_int, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSormtr;
                    f64: cusolverDnDormtr;
                    Complex32: cusolverDnCunmtr;
                    Complex64: cusolverDnZunmtr;
                }
                generalized::syevdx_size(jobz: cusolverEigMode_t, range: cusolverEigRange_t, uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, vl: R, vu: R, il: c_int, iu: c_int, meig: *mut c_int, w: *const R, lwork: *mut c_int) {
                    f32: cusolverDnSsyevdx_bufferSize;
                    f64: cusolverDnDsyevdx_bufferSize;
                    Complex32: cusolverDnCheevdx_bufferSize;
                    Complex64: cusolverDnZheevdx_bufferSize;
                }
                generalized::syevdx(jobz: cusolverEigMode_t, range: cusolverEigRange_t, uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, vl: R, vu: R, il: c_int, iu: c_int, meig: *mut c_int, w: *mut R, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSsyevdx;
                    f64: cusolverDnDsyevdx;
                    Complex32: cusolverDnCheevdx;
                    Complex64: cusolverDnZheevdx;
                }
                generalized::sygvd_size(itype: cusolverEigType_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, b: *const T, ldb: c_int, w: *const R, lwork: *mut c_int) {
                    f32: cusolverDnSsygvd_bufferSize;
                    f64: cusolverDnDsygvd_bufferSize;
                    Complex32: cusolverDnChegvd_bufferSize;
                    Complex64: cusolverDnZhegvd_bufferSize;
                }
                generalized::sygvd(itype: cusolverEigType_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, b: *mut T, ldb: c_int, w: *mut R, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSsygvd;
                    f64: cusolverDnDsygvd;
                    Complex32: cusolverDnChegvd;
                    Complex64: cusolverDnZhegvd;
                }
                generalized::sygvdx_size(itype: cusolverEigType_t, jobz: cusolverEigMode_t, range: cusolverEigRange_t, uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, b: *const T, ldb: c_int, vl: R, vu: R, il: c_int, iu: c_int, meig: *mut c_int, w: *const R, lwork: *mut c_int) {
                    f32: cusolverDnSsygvdx_bufferSize;
                    f64: cusolverDnDsygvdx_bufferSize;
                    Complex32: cusolverDnChegvdx_bufferSize;
                    Complex64: cusolverDnZhegvdx_bufferSize;
                }
                generalized::sygvdx(itype: cusolverEigType_t, jobz: cusolverEigMode_t, range: cusolverEigRange_t, uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, b: *mut T, ldb: c_int, vl: R, vu: R, il: c_int, iu: c_int, meig: *mut c_int, w: *mut R, work: *mut T, lwork: c_int, info: *mut c_int) {
                    f32: cusolverDnSsygvdx;
                    f64: cusolverDnDsygvdx;
                    Complex32: cusolverDnChegvdx;
                    Complex64: cusolverDnZhegvdx;
                }
                generalized::sygvj_size(itype: cusolverEigType_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *const T, lda: c_int, b: *const T, ldb: c_int, w: *const R, lwork: *mut c_int, params: syevjInfo_t) {
                    f32: cusolverDnSsygvj_bufferSize;
                    f64: cusolverDnDsygvj_bufferSize;
                    Complex32: cusolverDnChegvj_bufferSize;
                    Complex64: cusolverDnZhegvj_bufferSize;
                }
                generalized::sygvj(itype: cusolverEigType_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: c_int, a: *mut T, lda: c_int, b: *mut T, ldb: c_int, w: *mut R, work: *mut T, lwork: c_int, info: *mut c_int, params: syevjInfo_t) {
                    f32: cusolverDnSsygvj;
                    f64: cusolverDnDsygvj;
                    Complex32: cusolverDnChegvj;
                    Complex64: cusolverDnZhegvj;
                }
                approximate::gesvda_size(jobz: cusolverEigMode_t, rank: c_int, m: c_int, n: c_int, a: *const T, lda: c_int, stride_a: c_longlong, s: *const R, stride_s: c_longlong, u: *const T, ldu: c_int, stride_u: c_longlong, v: *const T, ldv: c_int, stride_v: c_longlong, lwork: *mut c_int, batch_size: c_int) {
                    f32: cusolverDnSgesvdaStridedBatched_bufferSize;
                    f64: cusolverDnDgesvdaStridedBatched_bufferSize;
                    Complex32: cusolverDnCgesvdaStridedBatched_bufferSize;
                    Complex64: cusolverDnZgesvdaStridedBatched_bufferSize;
                }
                approximate::gesvda(jobz: cusolverEigMode_t, rank: c_int, m: c_int, n: c_int, a: *const T, lda: c_int, stride_a: c_longlong, s: *mut R, stride_s: c_longlong, u: *mut T, ldu: c_int, stride_u: c_longlong, v: *mut T, ldv: c_int, stride_v: c_longlong, work: *mut T, lwork: c_int, info: *mut c_int, norms: *mut f64, batch_size: c_int) {
                    f32: cusolverDnSgesvdaStridedBatched;
                    f64: cusolverDnDgesvdaStridedBatched;
                    Complex32: cusolverDnCgesvdaStridedBatched;
                    Complex64: cusolverDnZgesvdaStridedBatched;
                }
                refined::gesv_size(n: c_int, nrhs: c_int, a: *mut T, lda: c_int, dipiv: *mut c_int, b: *mut T, ldb: c_int, x: *mut T, ldx: c_int, workspace: *mut c_void, bytes: *mut usize) {
                    f32: cusolverDnSSgesv_bufferSize;
                    f32: cusolverDnSHgesv_bufferSize;
                    f32: cusolverDnSBgesv_bufferSize;
                    f32: cusolverDnSXgesv_bufferSize;
                    f64: cusolverDnDDgesv_bufferSize;
                    f64: cusolverDnDSgesv_bufferSize;
                    f64: cusolverDnDHgesv_bufferSize;
                    f64: cusolverDnDBgesv_bufferSize;
                    f64: cusolverDnDXgesv_bufferSize;
                    Complex32: cusolverDnCCgesv_bufferSize;
                    Complex32: cusolverDnCKgesv_bufferSize;
                    Complex32: cusolverDnCEgesv_bufferSize;
                    Complex32: cusolverDnCYgesv_bufferSize;
                    Complex64: cusolverDnZZgesv_bufferSize;
                    Complex64: cusolverDnZCgesv_bufferSize;
                    Complex64: cusolverDnZKgesv_bufferSize;
                    Complex64: cusolverDnZEgesv_bufferSize;
                    Complex64: cusolverDnZYgesv_bufferSize;
                }
                refined::gesv(n: c_int, nrhs: c_int, a: *mut T, lda: c_int, dipiv: *mut c_int, b: *mut T, ldb: c_int, x: *mut T, ldx: c_int, workspace: *mut c_void, bytes: usize, iter: *mut c_int, d_info: *mut c_int) {
                    f32: cusolverDnSSgesv;
                    f32: cusolverDnSHgesv;
                    f32: cusolverDnSBgesv;
                    f32: cusolverDnSXgesv;
                    f64: cusolverDnDDgesv;
                    f64: cusolverDnDSgesv;
                    f64: cusolverDnDHgesv;
                    f64: cusolverDnDBgesv;
                    f64: cusolverDnDXgesv;
                    Complex32: cusolverDnCCgesv;
                    Complex32: cusolverDnCKgesv;
                    Complex32: cusolverDnCEgesv;
                    Complex32: cusolverDnCYgesv;
                    Complex64: cusolverDnZZgesv;
                    Complex64: cusolverDnZCgesv;
                    Complex64: cusolverDnZKgesv;
                    Complex64: cusolverDnZEgesv;
                    Complex64: cusolverDnZYgesv;
                }
                refined::gels_size(m: c_int, n: c_int, nrhs: c_int, a: *mut T, lda: c_int, b: *mut T, ldb: c_int, x: *mut T, ldx: c_int, workspace: *mut c_void, bytes: *mut usize) {
                    f32: cusolverDnSSgels_bufferSize;
                    f32: cusolverDnSHgels_bufferSize;
                    f32: cusolverDnSBgels_bufferSize;
                    f32: cusolverDnSXgels_bufferSize;
                    f64: cusolverDnDDgels_bufferSize;
                    f64: cusolverDnDSgels_bufferSize;
                    f64: cusolverDnDHgels_bufferSize;
                    f64: cusolverDnDBgels_bufferSize;
                    f64: cusolverDnDXgels_bufferSize;
                    Complex32: cusolverDnCCgels_bufferSize;
                    Complex32: cusolverDnCKgels_bufferSize;
                    Complex32: cusolverDnCEgels_bufferSize;
                    Complex32: cusolverDnCYgels_bufferSize;
                    Complex64: cusolverDnZZgels_bufferSize;
                    Complex64: cusolverDnZCgels_bufferSize;
                    Complex64: cusolverDnZKgels_bufferSize;
                    Complex64: cusolverDnZEgels_bufferSize;
                    Complex64: cusolverDnZYgels_bufferSize;
                }
                refined::gels(m: c_int, n: c_int, nrhs: c_int, a: *mut T, lda: c_int, b: *mut T, ldb: c_int, x: *mut T, ldx: c_int, workspace: *mut c_void, bytes: usize, iter: *mut c_int, d_info: *mut c_int) {
                    f32: cusolverDnSSgels;
                    f32: cusolverDnSHgels;
                    f32: cusolverDnSBgels;
                    f32: cusolverDnSXgels;
                    f64: cusolverDnDDgels;
                    f64: cusolverDnDSgels;
                    f64: cusolverDnDHgels;
                    f64: cusolverDnDBgels;
                    f64: cusolverDnDXgels;
                    Complex32: cusolverDnCCgels;
                    Complex32: cusolverDnCKgels;
                    Complex32: cusolverDnCEgels;
                    Complex32: cusolverDnCYgels;
                    Complex64: cusolverDnZZgels;
                    Complex64: cusolverDnZCgels;
                    Complex64: cusolverDnZKgels;
                    Complex64: cusolverDnZEgels;
                    Complex64: cusolverDnZYgels;
                }
                sparse_eigen::csreigvsi(m: c_int, nnz: c_int, descr: cusparseMatDescr_t, values: *const T, rows: *const c_int, columns: *const c_int, mu0: T, x0: *const T, maxite: c_int, eps: R, mu: *mut T, x: *mut T) {
                    f32: cusolverSpScsreigvsi;
                    f64: cusolverSpDcsreigvsi;
                    Complex32: cusolverSpCcsreigvsi;
                    Complex64: cusolverSpZcsreigvsi;
                }
                sparse_eigen::csreigvsi_host(m: c_int, nnz: c_int, descr: cusparseMatDescr_t, values: *const T, rows: *const c_int, columns: *const c_int, mu0: T, x0: *const T, maxite: c_int, eps: R, mu: *mut T, x: *mut T) {
                    f32: cusolverSpScsreigvsiHost;
                    f64: cusolverSpDcsreigvsiHost;
                    Complex32: cusolverSpCcsreigvsiHost;
                    Complex64: cusolverSpZcsreigvsiHost;
                }
                sparse::csrlsvqr(m: c_int, nnz: c_int, descr: cusparseMatDescr_t, values: *const T, rows: *const c_int, columns: *const c_int, b: *const T, tol: R, reorder: c_int, x: *mut T, singularity: *mut c_int) {
                    f32: cusolverSpScsrlsvqr;
                    f64: cusolverSpDcsrlsvqr;
                    Complex32: cusolverSpCcsrlsvqr;
                    Complex64: cusolverSpZcsrlsvqr;
                }
                sparse::csrlsvqr_host(m: c_int, nnz: c_int, descr: cusparseMatDescr_t, values: *const T, rows: *const c_int, columns: *const c_int, b: *const T, tol: R, reorder: c_int, x: *mut T, singularity: *mut c_int) {
                    f32: cusolverSpScsrlsvqrHost;
                    f64: cusolverSpDcsrlsvqrHost;
                    Complex32: cusolverSpCcsrlsvqrHost;
                    Complex64: cusolverSpZcsrlsvqrHost;
                }
                sparse::csrlsvqr_host(m: c_int, nnz: c_int, descr: cusparseMatDescr_t, values: *const T, rows: *const c_int, columns: *const c_int, b: *const T, tol: R, reorder: c_int, x: *mut T, singularity: *mut c_int) {
                    f32: cusolverSpScsrlsvluHost;
                    f64: cusolverSpDcsrlsvluHost;
                    Complex32: cusolverSpCcsrlsvluHost;
                    Complex64: cusolverSpZcsrlsvluHost;
                }
                sparse::csrlsvchol(m: c_int, nnz: c_int, descr: cusparseMatDescr_t, values: *const T, rows: *const c_int, columns: *const c_int, b: *const T, tol: R, reorder: c_int, x: *mut T, singularity: *mut c_int) {
                    f32: cusolverSpScsrlsvchol;
                    f64: cusolverSpDcsrlsvchol;
                    Complex32: cusolverSpCcsrlsvchol;
                    Complex64: cusolverSpZcsrlsvchol;
                }
                sparse::csrlsvchol_host(m: c_int, nnz: c_int, descr: cusparseMatDescr_t, values: *const T, rows: *const c_int, columns: *const c_int, b: *const T, tol: R, reorder: c_int, x: *mut T, singularity: *mut c_int) {
                    f32: cusolverSpScsrlsvcholHost;
                    f64: cusolverSpDcsrlsvcholHost;
                    Complex32: cusolverSpCcsrlsvcholHost;
                    Complex64: cusolverSpZcsrlsvcholHost;
                }
            }
            handle {
                bidiagonal::gebrd_size(m: c_int, n: c_int, lwork: *mut c_int) { cusolverDnSgebrd_bufferSize }
                bidiagonal::gebrd_size(m: c_int, n: c_int, lwork: *mut c_int) { cusolverDnDgebrd_bufferSize }
                bidiagonal::gebrd_size(m: c_int, n: c_int, lwork: *mut c_int) { cusolverDnCgebrd_bufferSize }
                bidiagonal::gebrd_size(m: c_int, n: c_int, lwork: *mut c_int) { cusolverDnZgebrd_bufferSize }
                management::set_stream(stream: cudaStream_t) { cusolverDnSetStream }
                management::get_stream(stream: *mut cudaStream_t) { cusolverDnGetStream }
                management::set_determinism(mode: cusolverDeterministicMode_t) { cusolverDnSetDeterministicMode }
                management::get_determinism(mode: *mut cusolverDeterministicMode_t) { cusolverDnGetDeterministicMode }
                refinement::gesv_size(params: cusolverDnIRSParams_t, n: c_int, nrhs: c_int, bytes: *mut usize) { cusolverDnIRSXgesv_bufferSize }
                refinement::gesv(params: cusolverDnIRSParams_t, infos: cusolverDnIRSInfos_t, n: c_int, nrhs: c_int, a: *mut c_void, lda: c_int, b: *mut c_void, ldb: c_int, x: *mut c_void, ldx: c_int, workspace: *mut c_void, bytes: usize, niters: *mut c_int, info: *mut c_int) { cusolverDnIRSXgesv }
                refinement::gels_size(params: cusolverDnIRSParams_t, m: c_int, n: c_int, nrhs: c_int, bytes: *mut usize) { cusolverDnIRSXgels_bufferSize }
                refinement::gels(params: cusolverDnIRSParams_t, infos: cusolverDnIRSInfos_t, m: c_int, n: c_int, nrhs: c_int, a: *mut c_void, lda: c_int, b: *mut c_void, ldb: c_int, x: *mut c_void, ldx: c_int, workspace: *mut c_void, bytes: usize, niters: *mut c_int, info: *mut c_int) { cusolverDnIRSXgels }
                typed::potrf_size(params: cusolverDnParams_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXpotrf_bufferSize }
                typed::potrf(params: cusolverDnParams_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXpotrf }
                typed::potrs(params: cusolverDnParams_t, uplo: cublasFillMode_t, n: i64, nrhs: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_b: cudaDataType, b: *mut c_void, ldb: i64, info: *mut c_int) { cusolverDnXpotrs }
                typed::getrf_size(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgetrf_bufferSize }
                typed::getrf(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, ipiv: *mut i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgetrf }
                typed::getrs(params: cusolverDnParams_t, trans: cublasOperation_t, n: i64, nrhs: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, ipiv: *const i64, data_type_b: cudaDataType, b: *mut c_void, ldb: i64, info: *mut c_int) { cusolverDnXgetrs }
                typed::geqrf_size(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_tau: cudaDataType, tau: *const c_void, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgeqrf_bufferSize }
                typed::geqrf(params: cusolverDnParams_t, m: i64, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_tau: cudaDataType, tau: *mut c_void, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgeqrf }
                typed_symmetric::syevd_size(params: cusolverDnParams_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_w: cudaDataType, w: *const c_void, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXsyevd_bufferSize }
                typed_symmetric::syevd(params: cusolverDnParams_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_w: cudaDataType, w: *mut c_void, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXsyevd }
                typed::geev_size(params: cusolverDnParams_t, jobvl: cusolverEigMode_t, jobvr: cusolverEigMode_t, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_w: cudaDataType, w: *const c_void, data_type_vl: cudaDataType, vl: *const c_void, ldvl: i64, data_type_vr: cudaDataType, vr: *const c_void, ldvr: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgeev_bufferSize }
                typed::geev(params: cusolverDnParams_t, jobvl: cusolverEigMode_t, jobvr: cusolverEigMode_t, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_w: cudaDataType, w: *mut c_void, data_type_vl: cudaDataType, vl: *mut c_void, ldvl: i64, data_type_vr: cudaDataType, vr: *mut c_void, ldvr: i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgeev }
                typed::gesvd_size(params: cusolverDnParams_t, jobu: c_char, jobvt: c_char, m: i64, n: i64, data_type_a: cudaDataType, a: *const c_void, lda: i64, data_type_s: cudaDataType, s: *const c_void, data_type_u: cudaDataType, u: *const c_void, ldu: i64, data_type_vt: cudaDataType, vt: *const c_void, ldvt: i64, compute_type: cudaDataType, on_device: *mut usize, on_host: *mut usize) { cusolverDnXgesvd_bufferSize }
                typed::gesvd(params: cusolverDnParams_t, jobu: c_char, jobvt: c_char, m: i64, n: i64, data_type_a: cudaDataType, a: *mut c_void, lda: i64, data_type_s: cudaDataType, s: *mut c_void, data_type_u: cudaDataType, u: *mut c_void, ldu: i64, data_type_vt: cudaDataType, vt: *mut c_void, ldvt: i64, compute_type: cudaDataType, buffer_on_device: *mut c_void, bytes_on_device: usize, buffer_on_host: *mut c_void, bytes_on_host: usize, info: *mut c_int) { cusolverDnXgesvd }
                typed_symmetric::syevdx_size(params: cusolverDnParams_t, jobz: cusolverEigMode_t, range: cusolverEigRange_t, uplo: cublasFillMode_t, n: i64, data: cudaDataType, a: *const c_void, lda: i64, vl: *mut c_void, vu: *mut c_void, il: i64, iu: i64, meig: *mut i64, data_w: cudaDataType, w: *const c_void, compute: cudaDataType, workspace_in_bytes_on_device: *mut usize, workspace_in_bytes_on_host: *mut usize) { cusolverDnXsyevdx_bufferSize }
                typed_symmetric::syevdx(params: cusolverDnParams_t, jobz: cusolverEigMode_t, range: cusolverEigRange_t, uplo: cublasFillMode_t, n: i64, data: cudaDataType, a: *mut c_void, lda: i64, vl: *mut c_void, vu: *mut c_void, il: i64, iu: i64, meig: *mut i64, data_w: cudaDataType, w: *mut c_void, compute: cudaDataType, buffer: *mut c_void, bytes: usize, host_buffer: *mut c_void, host_bytes: usize, info: *mut c_int) { cusolverDnXsyevdx }
                typed_symmetric::sytrs_size(uplo: cublasFillMode_t, n: i64, nrhs: i64, data: cudaDataType, a: *const c_void, lda: i64, ipiv: *const i64, data_b: cudaDataType, b: *mut c_void, ldb: i64, workspace_in_bytes_on_device: *mut usize, workspace_in_bytes_on_host: *mut usize) { cusolverDnXsytrs_bufferSize }
                typed_symmetric::sytrs(uplo: cublasFillMode_t, n: i64, nrhs: i64, data: cudaDataType, a: *const c_void, lda: i64, ipiv: *const i64, data_b: cudaDataType, b: *mut c_void, ldb: i64, buffer: *mut c_void, bytes: usize, host_buffer: *mut c_void, host_bytes: usize, info: *mut c_int) { cusolverDnXsytrs }
                jacobi::syevj_residual(info: syevjInfo_t, residual: *mut f64) { cusolverDnXsyevjGetResidual }
                jacobi::syevj_executed(info: syevjInfo_t, executed_sweeps: *mut c_int) { cusolverDnXsyevjGetSweeps }
                jacobi::gesvdj_residual(info: gesvdjInfo_t, residual: *mut f64) { cusolverDnXgesvdjGetResidual }
                jacobi::gesvdj_executed(info: gesvdjInfo_t, executed_sweeps: *mut c_int) { cusolverDnXgesvdjGetSweeps }
                management::set_stream(stream: cudaStream_t) { cusolverSpSetStream }
                management::get_stream(stream: *mut cudaStream_t) { cusolverSpGetStream }
                typed_symmetric::syev_batched_size(params: cusolverDnParams_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: i64, data: cudaDataType, a: *const c_void, lda: i64, data_w: cudaDataType, w: *const c_void, compute: cudaDataType, on_device: *mut usize, on_host: *mut usize, batch_size: i64) { cusolverDnXsyevBatched_bufferSize }
                typed_symmetric::syev_batched(params: cusolverDnParams_t, jobz: cusolverEigMode_t, uplo: cublasFillMode_t, n: i64, data: cudaDataType, a: *mut c_void, lda: i64, data_w: cudaDataType, w: *mut c_void, compute: cudaDataType, buffer: *mut c_void, bytes: usize, host_buffer: *mut c_void, host_bytes: usize, info: *mut c_int, batch_size: i64) { cusolverDnXsyevBatched }
            }
            major {
                management::create(handle: *mut cusolverDnHandle_t) { cusolverDnCreate }
                management::destroy(handle: cusolverDnHandle_t) { cusolverDnDestroy }
                management::get_version(version: *mut c_int) { cusolverGetVersion }
                management::get_property(kind: libraryPropertyType, value: *mut c_int) { cusolverGetProperty }
                management::create_params(params: *mut cusolverDnParams_t) { cusolverDnCreateParams }
                management::destroy_params(params: cusolverDnParams_t) { cusolverDnDestroyParams }
                management::set_options(params: cusolverDnParams_t, function: cusolverDnFunction_t, algorithm: cusolverAlgMode_t) { cusolverDnSetAdvOptions }
                refinement::create_params(params: *mut cusolverDnIRSParams_t) { cusolverDnIRSParamsCreate }
                refinement::destroy_params(params: cusolverDnIRSParams_t) { cusolverDnIRSParamsDestroy }
                refinement::set_refinement(params: cusolverDnIRSParams_t, solver: c_int) { cusolverDnIRSParamsSetRefinementSolver }
                refinement::set_main(params: cusolverDnIRSParams_t, precision: c_int) { cusolverDnIRSParamsSetSolverMainPrecision }
                refinement::set_lowest(params: cusolverDnIRSParams_t, precision: c_int) { cusolverDnIRSParamsSetSolverLowestPrecision }
                refinement::set_precisions(params: cusolverDnIRSParams_t, main: c_int, lowest: c_int) { cusolverDnIRSParamsSetSolverPrecisions }
                refinement::set_tolerance(params: cusolverDnIRSParams_t, value: f64) { cusolverDnIRSParamsSetTol }
                refinement::set_tolerance(params: cusolverDnIRSParams_t, value: f64) { cusolverDnIRSParamsSetTolInner }
                refinement::set_iterations(params: cusolverDnIRSParams_t, most: c_int) { cusolverDnIRSParamsSetMaxIters }
                refinement::set_inner_iterations(params: cusolverDnIRSParams_t, most: c_int) { cusolverDnIRSParamsSetMaxItersInner }
                refinement::iterations(params: cusolverDnIRSParams_t, most: *mut c_int) { cusolverDnIRSParamsGetMaxIters }
                refinement::set_fallback(params: cusolverDnIRSParams_t) { cusolverDnIRSParamsEnableFallback }
                refinement::set_fallback(params: cusolverDnIRSParams_t) { cusolverDnIRSParamsDisableFallback }
                refinement::create_infos(infos: *mut cusolverDnIRSInfos_t) { cusolverDnIRSInfosCreate }
                refinement::destroy_infos(infos: cusolverDnIRSInfos_t) { cusolverDnIRSInfosDestroy }
                refinement::used_iterations(infos: cusolverDnIRSInfos_t, count: *mut c_int) { cusolverDnIRSInfosGetNiters }
                refinement::used_iterations(infos: cusolverDnIRSInfos_t, count: *mut c_int) { cusolverDnIRSInfosGetOuterNiters }
                refinement::known_iterations(infos: cusolverDnIRSInfos_t, most: *mut c_int) { cusolverDnIRSInfosGetMaxIters }
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
                management::create(handle: *mut cusolverSpHandle_t) { cusolverSpCreate }
                management::destroy(handle: cusolverSpHandle_t) { cusolverSpDestroy }
            }
            refused {
                cusolverDnClaswp cusolverDnClauum cusolverDnClauum_bufferSize cusolverDnCungbr
                cusolverDnCungbr_bufferSize cusolverDnDlaswp cusolverDnDlauum cusolverDnDlauum_bufferSize
                cusolverDnDorgbr cusolverDnDorgbr_bufferSize cusolverDnIRSInfosGetResidualHistory cusolverDnIRSInfosRequestResidual
                cusolverDnLoggerForceDisable cusolverDnLoggerOpenFile cusolverDnLoggerSetCallback cusolverDnLoggerSetFile cusolverDnLoggerSetLevel cusolverDnLoggerSetMask
                cusolverDnSlaswp cusolverDnSlauum cusolverDnSlauum_bufferSize cusolverDnSorgbr cusolverDnSorgbr_bufferSize
                cusolverDnXgesvdp cusolverDnXgesvdp_bufferSize cusolverDnXgesvdr cusolverDnXgesvdr_bufferSize cusolverDnXlarft
                cusolverDnXlarft_bufferSize cusolverDnXtrtri cusolverDnXtrtri_bufferSize cusolverDnZlaswp
                cusolverDnZlauum cusolverDnZlauum_bufferSize cusolverDnZungbr cusolverDnZungbr_bufferSize cusolverRfAccessBundledFactorsDevice
                cusolverRfAnalyze cusolverRfBatchAnalyze cusolverRfBatchRefactor cusolverRfBatchResetValues cusolverRfBatchSetupHost
                cusolverRfBatchSolve cusolverRfBatchZeroPivot cusolverRfCreate cusolverRfDestroy cusolverRfExtractBundledFactorsHost
                cusolverRfExtractSplitFactorsHost cusolverRfGetAlgs cusolverRfGetMatrixFormat cusolverRfGetNumericBoostReport
                cusolverRfGetNumericProperties cusolverRfGetResetValuesFastMode cusolverRfRefactor cusolverRfResetValues cusolverRfSetAlgs
                cusolverRfSetMatrixFormat cusolverRfSetNumericProperties cusolverRfSetResetValuesFastMode cusolverRfSetupDevice cusolverRfSetupHost
                cusolverRfSolve cusolverSpCcsrcholBufferInfo cusolverSpCcsrcholBufferInfoHost cusolverSpCcsrcholDiag cusolverSpCcsrcholFactor
                cusolverSpCcsrcholFactorHost cusolverSpCcsrcholSolve cusolverSpCcsrcholSolveHost cusolverSpCcsrcholZeroPivot
                cusolverSpCcsrcholZeroPivotHost cusolverSpCcsreigsHost cusolverSpCcsrlsqvqrHost
                cusolverSpCcsrluBufferInfoHost cusolverSpCcsrluExtractHost cusolverSpCcsrluFactorHost cusolverSpCcsrluSolveHost
                cusolverSpCcsrluZeroPivotHost cusolverSpCcsrqrBufferInfo cusolverSpCcsrqrBufferInfoBatched cusolverSpCcsrqrBufferInfoHost
                cusolverSpCcsrqrFactor cusolverSpCcsrqrFactorHost cusolverSpCcsrqrSetup cusolverSpCcsrqrSetupHost cusolverSpCcsrqrSolve
                cusolverSpCcsrqrSolveHost cusolverSpCcsrqrZeroPivot cusolverSpCcsrqrZeroPivotHost cusolverSpCcsrqrsvBatched cusolverSpCcsrzfdHost
                cusolverSpCreateCsrcholInfo cusolverSpCreateCsrcholInfoHost cusolverSpCreateCsrluInfoHost cusolverSpCreateCsrqrInfo
                cusolverSpCreateCsrqrInfoHost cusolverSpDcsrcholBufferInfo cusolverSpDcsrcholBufferInfoHost cusolverSpDcsrcholDiag
                cusolverSpDcsrcholFactor cusolverSpDcsrcholFactorHost cusolverSpDcsrcholSolve cusolverSpDcsrcholSolveHost cusolverSpDcsrcholZeroPivot
                cusolverSpDcsrcholZeroPivotHost cusolverSpDcsreigsHost cusolverSpDcsrlsqvqrHost
                cusolverSpDcsrluBufferInfoHost cusolverSpDcsrluExtractHost cusolverSpDcsrluFactorHost cusolverSpDcsrluSolveHost
                cusolverSpDcsrluZeroPivotHost cusolverSpDcsrqrBufferInfo cusolverSpDcsrqrBufferInfoBatched cusolverSpDcsrqrBufferInfoHost
                cusolverSpDcsrqrFactor cusolverSpDcsrqrFactorHost cusolverSpDcsrqrSetup cusolverSpDcsrqrSetupHost cusolverSpDcsrqrSolve
                cusolverSpDcsrqrSolveHost cusolverSpDcsrqrZeroPivot cusolverSpDcsrqrZeroPivotHost cusolverSpDcsrqrsvBatched cusolverSpDcsrzfdHost
                cusolverSpDestroyCsrcholInfo cusolverSpDestroyCsrcholInfoHost cusolverSpDestroyCsrluInfoHost cusolverSpDestroyCsrqrInfo
                cusolverSpDestroyCsrqrInfoHost cusolverSpScsrcholBufferInfo cusolverSpScsrcholBufferInfoHost cusolverSpScsrcholDiag
                cusolverSpScsrcholFactor cusolverSpScsrcholFactorHost cusolverSpScsrcholSolve cusolverSpScsrcholSolveHost cusolverSpScsrcholZeroPivot
                cusolverSpScsrcholZeroPivotHost cusolverSpScsreigsHost cusolverSpScsrlsqvqrHost
                cusolverSpScsrluBufferInfoHost cusolverSpScsrluExtractHost cusolverSpScsrluFactorHost cusolverSpScsrluSolveHost
                cusolverSpScsrluZeroPivotHost cusolverSpScsrqrBufferInfo cusolverSpScsrqrBufferInfoBatched cusolverSpScsrqrBufferInfoHost
                cusolverSpScsrqrFactor cusolverSpScsrqrFactorHost cusolverSpScsrqrSetup cusolverSpScsrqrSetupHost cusolverSpScsrqrSolve
                cusolverSpScsrqrSolveHost cusolverSpScsrqrZeroPivot cusolverSpScsrqrZeroPivotHost cusolverSpScsrqrsvBatched cusolverSpScsrzfdHost
                cusolverSpXcsrcholAnalysis cusolverSpXcsrcholAnalysisHost cusolverSpXcsrissymHost cusolverSpXcsrluAnalysisHost cusolverSpXcsrluNnzHost
                cusolverSpXcsrmetisndHost cusolverSpXcsrpermHost cusolverSpXcsrperm_bufferSizeHost cusolverSpXcsrqrAnalysis
                cusolverSpXcsrqrAnalysisBatched cusolverSpXcsrqrAnalysisHost cusolverSpXcsrsymamdHost cusolverSpXcsrsymmdqHost
                cusolverSpXcsrsymrcmHost cusolverSpZcsrcholBufferInfo cusolverSpZcsrcholBufferInfoHost cusolverSpZcsrcholDiag cusolverSpZcsrcholFactor
                cusolverSpZcsrcholFactorHost cusolverSpZcsrcholSolve cusolverSpZcsrcholSolveHost cusolverSpZcsrcholZeroPivot
                cusolverSpZcsrcholZeroPivotHost cusolverSpZcsreigsHost cusolverSpZcsrlsqvqrHost
                cusolverSpZcsrluBufferInfoHost cusolverSpZcsrluExtractHost cusolverSpZcsrluFactorHost cusolverSpZcsrluSolveHost
                cusolverSpZcsrluZeroPivotHost cusolverSpZcsrqrBufferInfo cusolverSpZcsrqrBufferInfoBatched cusolverSpZcsrqrBufferInfoHost
                cusolverSpZcsrqrFactor cusolverSpZcsrqrFactorHost cusolverSpZcsrqrSetup cusolverSpZcsrqrSetupHost cusolverSpZcsrqrSolve
                cusolverSpZcsrqrSolveHost cusolverSpZcsrqrZeroPivot cusolverSpZcsrqrZeroPivotHost cusolverSpZcsrqrsvBatched cusolverSpZcsrzfdHost
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
