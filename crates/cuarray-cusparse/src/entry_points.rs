//! The single list of entry points: every function that the header `cusparse.h` of CUDA 12 and 13 declares, but for those that return no
//! status. These are in [`exports`](crate::exports) and [`matrix_descriptor`](crate::matrix_descriptor).
//!
//! Its parts say what the wrapper does before it calls the function of the module:
//!
//! - `generic`: looks up the handle, and calls the function of the type, which is `T` in its arguments;
//! - `handle`: looks up the handle;
//! - `plain`: nothing;
//! - `refused`: prints the name once, and returns `CUSPARSE_STATUS_NOT_SUPPORTED`.

/// Calls the macro `$callback` with the whole list.
macro_rules! entry_points {
    ($callback:ident) => {
        $callback! {
            generic {
                blocks::gemvi(trans_a: cusparseOperation_t, m: c_int, n: c_int, alpha: *const T, a: *const T, lda: c_int, nnz: c_int, x_val: *const T, x_ind: *const c_int, beta: *const T, y: *mut T, idx_base: cusparseIndexBase_t, p_buffer: *mut c_void) {
                    f32: cusparseSgemvi;
                    f64: cusparseDgemvi;
                    Complex32: cusparseCgemvi;
                    Complex64: cusparseZgemvi;
                }
                blocks::gemvi_size(trans_a: cusparseOperation_t, m: c_int, n: c_int, nnz: c_int, p_buffer_size: *mut c_int) {
                    f32: cusparseSgemvi_bufferSize;
                    f64: cusparseDgemvi_bufferSize;
                    Complex32: cusparseCgemvi_bufferSize;
                    Complex64: cusparseZgemvi_bufferSize;
                }
                blocks::bsrmv(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, mb: c_int, nb: c_int, nnzb: c_int, alpha: *const T, descr_a: cusparseMatDescr_t, bsr_sorted_val_a: *const T, bsr_sorted_row_ptr_a: *const c_int, bsr_sorted_col_ind_a: *const c_int, block_dim: c_int, x: *const T, beta: *const T, y: *mut T) {
                    f32: cusparseSbsrmv;
                    f64: cusparseDbsrmv;
                    Complex32: cusparseCbsrmv;
                    Complex64: cusparseZbsrmv;
                }
                blocks::bsrsv2_size(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val_a: *mut T, bsr_sorted_row_ptr_a: *const c_int, bsr_sorted_col_ind_a: *const c_int, block_dim: c_int, info: info_t, p_buffer_size_in_bytes: *mut c_int) {
                    f32: cusparseSbsrsv2_bufferSize;
                    f64: cusparseDbsrsv2_bufferSize;
                    Complex32: cusparseCbsrsv2_bufferSize;
                    Complex64: cusparseZbsrsv2_bufferSize;
                }
                blocks::bsrsv2_analysis(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val_a: *const T, bsr_sorted_row_ptr_a: *const c_int, bsr_sorted_col_ind_a: *const c_int, block_dim: c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseSbsrsv2_analysis;
                    f64: cusparseDbsrsv2_analysis;
                    Complex32: cusparseCbsrsv2_analysis;
                    Complex64: cusparseZbsrsv2_analysis;
                }
                blocks::bsrsv2_solve(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, mb: c_int, nnzb: c_int, alpha: *const T, descr_a: cusparseMatDescr_t, bsr_sorted_val_a: *const T, bsr_sorted_row_ptr_a: *const c_int, bsr_sorted_col_ind_a: *const c_int, block_dim: c_int, info: info_t, f: *const T, x: *mut T, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseSbsrsv2_solve;
                    f64: cusparseDbsrsv2_solve;
                    Complex32: cusparseCbsrsv2_solve;
                    Complex64: cusparseZbsrsv2_solve;
                }
                blocks::bsrmm(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, trans_b: cusparseOperation_t, mb: c_int, n: c_int, kb: c_int, nnzb: c_int, alpha: *const T, descr_a: cusparseMatDescr_t, bsr_sorted_val_a: *const T, bsr_sorted_row_ptr_a: *const c_int, bsr_sorted_col_ind_a: *const c_int, block_size: c_int, b: *const T, ldb: c_int, beta: *const T, c: *mut T, ldc: c_int) {
                    f32: cusparseSbsrmm;
                    f64: cusparseDbsrmm;
                    Complex32: cusparseCbsrmm;
                    Complex64: cusparseZbsrmm;
                }
                blocks::bsrsm2_size(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, trans_xy: cusparseOperation_t, mb: c_int, n: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_size: c_int, info: info_t, p_buffer_size_in_bytes: *mut c_int) {
                    f32: cusparseSbsrsm2_bufferSize;
                    f64: cusparseDbsrsm2_bufferSize;
                    Complex32: cusparseCbsrsm2_bufferSize;
                    Complex64: cusparseZbsrsm2_bufferSize;
                }
                blocks::bsrsm2_analysis(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, trans_xy: cusparseOperation_t, mb: c_int, n: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *const T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_size: c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseSbsrsm2_analysis;
                    f64: cusparseDbsrsm2_analysis;
                    Complex32: cusparseCbsrsm2_analysis;
                    Complex64: cusparseZbsrsm2_analysis;
                }
                blocks::bsrsm2_solve(dir_a: cusparseDirection_t, trans_a: cusparseOperation_t, trans_xy: cusparseOperation_t, mb: c_int, n: c_int, nnzb: c_int, alpha: *const T, descr_a: cusparseMatDescr_t, bsr_sorted_val: *const T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_size: c_int, info: info_t, b: *const T, ldb: c_int, x: *mut T, ldx: c_int, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseSbsrsm2_solve;
                    f64: cusparseDbsrsm2_solve;
                    Complex32: cusparseCbsrsm2_solve;
                    Complex64: cusparseZbsrsm2_solve;
                }
                incomplete::boost(info: info_t, enable_boost: c_int, tol: *mut f64, boost_val: *mut T) {
                    f32: cusparseScsrilu02_numericBoost;
                    Complex32: cusparseCcsrilu02_numericBoost;
                    Complex64: cusparseZcsrilu02_numericBoost;
                }
                incomplete::boost(info: info_t, enable_boost: c_int, tol: *mut T, boost_val: *mut T) {
                    f64: cusparseDcsrilu02_numericBoost;
                }
                incomplete::needed(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val_a: *mut T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, info: info_t, p_buffer_size_in_bytes: *mut c_int) {
                    f32: cusparseScsrilu02_bufferSize;
                    f64: cusparseDcsrilu02_bufferSize;
                    Complex32: cusparseCcsrilu02_bufferSize;
                    Complex64: cusparseZcsrilu02_bufferSize;
                }
                incomplete::needed_ext(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val: *mut T, csr_sorted_row_ptr: *const c_int, csr_sorted_col_ind: *const c_int, info: info_t, p_buffer_size: *mut usize) {
                    f32: cusparseScsrilu02_bufferSizeExt;
                    f64: cusparseDcsrilu02_bufferSizeExt;
                    Complex32: cusparseCcsrilu02_bufferSizeExt;
                    Complex64: cusparseZcsrilu02_bufferSizeExt;
                }
                incomplete::analysis(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val_a: *const T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseScsrilu02_analysis;
                    f64: cusparseDcsrilu02_analysis;
                    Complex32: cusparseCcsrilu02_analysis;
                    Complex64: cusparseZcsrilu02_analysis;
                }
                incomplete::csrilu02(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val_a_val_m: *mut T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseScsrilu02;
                    f64: cusparseDcsrilu02;
                    Complex32: cusparseCcsrilu02;
                    Complex64: cusparseZcsrilu02;
                }
                incomplete::boost(info: info_t, enable_boost: c_int, tol: *mut f64, boost_val: *mut T) {
                    f32: cusparseSbsrilu02_numericBoost;
                    Complex32: cusparseCbsrilu02_numericBoost;
                    Complex64: cusparseZbsrilu02_numericBoost;
                }
                incomplete::boost(info: info_t, enable_boost: c_int, tol: *mut T, boost_val: *mut T) {
                    f64: cusparseDbsrilu02_numericBoost;
                }
                block_factors::needed(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_dim: c_int, info: info_t, p_buffer_size_in_bytes: *mut c_int) {
                    f32: cusparseSbsrilu02_bufferSize;
                    f64: cusparseDbsrilu02_bufferSize;
                    Complex32: cusparseCbsrilu02_bufferSize;
                    Complex64: cusparseZbsrilu02_bufferSize;
                }
                block_factors::needed_ext(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_size: c_int, info: info_t, p_buffer_size: *mut usize) {
                    f32: cusparseSbsrilu02_bufferSizeExt;
                    f64: cusparseDbsrilu02_bufferSizeExt;
                    Complex32: cusparseCbsrilu02_bufferSizeExt;
                    Complex64: cusparseZbsrilu02_bufferSizeExt;
                }
                block_factors::analysis(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_dim: c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseSbsrilu02_analysis;
                    f64: cusparseDbsrilu02_analysis;
                    Complex32: cusparseCbsrilu02_analysis;
                    Complex64: cusparseZbsrilu02_analysis;
                }
                block_factors::bsrilu02(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_dim: c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseSbsrilu02;
                    f64: cusparseDbsrilu02;
                    Complex32: cusparseCbsrilu02;
                    Complex64: cusparseZbsrilu02;
                }
                incomplete::needed(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val_a: *mut T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, info: info_t, p_buffer_size_in_bytes: *mut c_int) {
                    f32: cusparseScsric02_bufferSize;
                    f64: cusparseDcsric02_bufferSize;
                    Complex32: cusparseCcsric02_bufferSize;
                    Complex64: cusparseZcsric02_bufferSize;
                }
                incomplete::needed_ext(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val: *mut T, csr_sorted_row_ptr: *const c_int, csr_sorted_col_ind: *const c_int, info: info_t, p_buffer_size: *mut usize) {
                    f32: cusparseScsric02_bufferSizeExt;
                    f64: cusparseDcsric02_bufferSizeExt;
                    Complex32: cusparseCcsric02_bufferSizeExt;
                    Complex64: cusparseZcsric02_bufferSizeExt;
                }
                incomplete::analysis(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val_a: *const T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseScsric02_analysis;
                    f64: cusparseDcsric02_analysis;
                    Complex32: cusparseCcsric02_analysis;
                    Complex64: cusparseZcsric02_analysis;
                }
                incomplete::csric02(m: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val_a_val_m: *mut T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseScsric02;
                    f64: cusparseDcsric02;
                    Complex32: cusparseCcsric02;
                    Complex64: cusparseZcsric02;
                }
                block_factors::needed(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_dim: c_int, info: info_t, p_buffer_size_in_bytes: *mut c_int) {
                    f32: cusparseSbsric02_bufferSize;
                    f64: cusparseDbsric02_bufferSize;
                    Complex32: cusparseCbsric02_bufferSize;
                    Complex64: cusparseZbsric02_bufferSize;
                }
                block_factors::needed_ext(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_size: c_int, info: info_t, p_buffer_size: *mut usize) {
                    f32: cusparseSbsric02_bufferSizeExt;
                    f64: cusparseDbsric02_bufferSizeExt;
                    Complex32: cusparseCbsric02_bufferSizeExt;
                    Complex64: cusparseZbsric02_bufferSizeExt;
                }
                block_factors::analysis(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *const T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_dim: c_int, info: info_t, policy: cusparseSolvePolicy_t, p_input_buffer: *mut c_void) {
                    f32: cusparseSbsric02_analysis;
                    f64: cusparseDbsric02_analysis;
                    Complex32: cusparseCbsric02_analysis;
                    Complex64: cusparseZbsric02_analysis;
                }
                block_factors::bsric02(dir_a: cusparseDirection_t, mb: c_int, nnzb: c_int, descr_a: cusparseMatDescr_t, bsr_sorted_val: *mut T, bsr_sorted_row_ptr: *const c_int, bsr_sorted_col_ind: *const c_int, block_dim: c_int, info: info_t, policy: cusparseSolvePolicy_t, p_buffer: *mut c_void) {
                    f32: cusparseSbsric02;
                    f64: cusparseDbsric02;
                    Complex32: cusparseCbsric02;
                    Complex64: cusparseZbsric02;
                }
                banded::gtsv2_size(m: c_int, n: c_int, dl: *const T, d: *const T, du: *const T, b: *const T, ldb: c_int, buffer_size_in_bytes: *mut usize) {
                    f32: cusparseSgtsv2_bufferSizeExt;
                    f64: cusparseDgtsv2_bufferSizeExt;
                    Complex32: cusparseCgtsv2_bufferSizeExt;
                    Complex64: cusparseZgtsv2_bufferSizeExt;
                }
                banded::gtsv2(m: c_int, n: c_int, dl: *const T, d: *const T, du: *const T, b: *mut T, ldb: c_int, p_buffer: *mut c_void) {
                    f32: cusparseSgtsv2;
                    f64: cusparseDgtsv2;
                    Complex32: cusparseCgtsv2;
                    Complex64: cusparseZgtsv2;
                }
                banded::gtsv2_size(m: c_int, n: c_int, dl: *const T, d: *const T, du: *const T, b: *const T, ldb: c_int, buffer_size_in_bytes: *mut usize) {
                    f32: cusparseSgtsv2_nopivot_bufferSizeExt;
                    f64: cusparseDgtsv2_nopivot_bufferSizeExt;
                    Complex32: cusparseCgtsv2_nopivot_bufferSizeExt;
                    Complex64: cusparseZgtsv2_nopivot_bufferSizeExt;
                }
                banded::gtsv2_nopivot(m: c_int, n: c_int, dl: *const T, d: *const T, du: *const T, b: *mut T, ldb: c_int, p_buffer: *mut c_void) {
                    f32: cusparseSgtsv2_nopivot;
                    f64: cusparseDgtsv2_nopivot;
                    Complex32: cusparseCgtsv2_nopivot;
                    Complex64: cusparseZgtsv2_nopivot;
                }
                banded::strided_size(m: c_int, dl: *const T, d: *const T, du: *const T, x: *const T, batch_count: c_int, batch_stride: c_int, buffer_size_in_bytes: *mut usize) {
                    f32: cusparseSgtsv2StridedBatch_bufferSizeExt;
                    f64: cusparseDgtsv2StridedBatch_bufferSizeExt;
                    Complex32: cusparseCgtsv2StridedBatch_bufferSizeExt;
                    Complex64: cusparseZgtsv2StridedBatch_bufferSizeExt;
                }
                banded::strided(m: c_int, dl: *const T, d: *const T, du: *const T, x: *mut T, batch_count: c_int, batch_stride: c_int, p_buffer: *mut c_void) {
                    f32: cusparseSgtsv2StridedBatch;
                    f64: cusparseDgtsv2StridedBatch;
                    Complex32: cusparseCgtsv2StridedBatch;
                    Complex64: cusparseZgtsv2StridedBatch;
                }
                banded::three_size(algo: c_int, m: c_int, dl: *const T, d: *const T, du: *const T, x: *const T, batch_count: c_int, p_buffer_size_in_bytes: *mut usize) {
                    f32: cusparseSgtsvInterleavedBatch_bufferSizeExt;
                    f64: cusparseDgtsvInterleavedBatch_bufferSizeExt;
                    Complex32: cusparseCgtsvInterleavedBatch_bufferSizeExt;
                    Complex64: cusparseZgtsvInterleavedBatch_bufferSizeExt;
                }
                banded::three(algo: c_int, m: c_int, dl: *mut T, d: *mut T, du: *mut T, x: *mut T, batch_count: c_int, p_buffer: *mut c_void) {
                    f32: cusparseSgtsvInterleavedBatch;
                    f64: cusparseDgtsvInterleavedBatch;
                    Complex32: cusparseCgtsvInterleavedBatch;
                    Complex64: cusparseZgtsvInterleavedBatch;
                }
                banded::five_size(algo: c_int, m: c_int, ds: *const T, dl: *const T, d: *const T, du: *const T, dw: *const T, x: *const T, batch_count: c_int, p_buffer_size_in_bytes: *mut usize) {
                    f32: cusparseSgpsvInterleavedBatch_bufferSizeExt;
                    f64: cusparseDgpsvInterleavedBatch_bufferSizeExt;
                    Complex32: cusparseCgpsvInterleavedBatch_bufferSizeExt;
                    Complex64: cusparseZgpsvInterleavedBatch_bufferSizeExt;
                }
                banded::five(algo: c_int, m: c_int, ds: *mut T, dl: *mut T, d: *mut T, du: *mut T, dw: *mut T, x: *mut T, batch_count: c_int, p_buffer: *mut c_void) {
                    f32: cusparseSgpsvInterleavedBatch;
                    f64: cusparseDgpsvInterleavedBatch;
                    Complex32: cusparseCgpsvInterleavedBatch;
                    Complex64: cusparseZgpsvInterleavedBatch;
                }
                sums::csrgeam2_size(m: c_int, n: c_int, alpha: *const T, descr_a: cusparseMatDescr_t, nnz_a: c_int, csr_sorted_val_a: *const T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, beta: *const T, descr_b: cusparseMatDescr_t, nnz_b: c_int, csr_sorted_val_b: *const T, csr_sorted_row_ptr_b: *const c_int, csr_sorted_col_ind_b: *const c_int, descr_c: cusparseMatDescr_t, csr_sorted_val_c: *const T, csr_sorted_row_ptr_c: *const c_int, csr_sorted_col_ind_c: *const c_int, p_buffer_size_in_bytes: *mut usize) {
                    f32: cusparseScsrgeam2_bufferSizeExt;
                    f64: cusparseDcsrgeam2_bufferSizeExt;
                    Complex32: cusparseCcsrgeam2_bufferSizeExt;
                    Complex64: cusparseZcsrgeam2_bufferSizeExt;
                }
                sums::csrgeam2(m: c_int, n: c_int, alpha: *const T, descr_a: cusparseMatDescr_t, nnz_a: c_int, csr_sorted_val_a: *const T, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, beta: *const T, descr_b: cusparseMatDescr_t, nnz_b: c_int, csr_sorted_val_b: *const T, csr_sorted_row_ptr_b: *const c_int, csr_sorted_col_ind_b: *const c_int, descr_c: cusparseMatDescr_t, csr_sorted_val_c: *mut T, csr_sorted_row_ptr_c: *mut c_int, csr_sorted_col_ind_c: *mut c_int, p_buffer: *mut c_void) {
                    f32: cusparseScsrgeam2;
                    f64: cusparseDcsrgeam2;
                    Complex32: cusparseCcsrgeam2;
                    Complex64: cusparseZcsrgeam2;
                }
                compression::nnz(dir_a: cusparseDirection_t, m: c_int, n: c_int, descr_a: cusparseMatDescr_t, a: *const T, lda: c_int, nnz_per_row_col: *mut c_int, nnz_total_dev_host_ptr: *mut c_int) {
                    f32: cusparseSnnz;
                    f64: cusparseDnnz;
                    Complex32: cusparseCnnz;
                    Complex64: cusparseZnnz;
                }
                compression::nnz_compress(m: c_int, descr: cusparseMatDescr_t, csr_sorted_val_a: *const T, csr_sorted_row_ptr_a: *const c_int, nnz_per_row: *mut c_int, nnz_c: *mut c_int, tol: T) {
                    f32: cusparseSnnz_compress;
                    f64: cusparseDnnz_compress;
                    Complex32: cusparseCnnz_compress;
                    Complex64: cusparseZnnz_compress;
                }
                compression::csr2csr_compress(m: c_int, n: c_int, descr_a: cusparseMatDescr_t, csr_sorted_val_a: *const T, csr_sorted_col_ind_a: *const c_int, csr_sorted_row_ptr_a: *const c_int, nnz_a: c_int, nnz_per_row: *const c_int, csr_sorted_val_c: *mut T, csr_sorted_col_ind_c: *mut c_int, csr_sorted_row_ptr_c: *mut c_int, tol: T) {
                    f32: cusparseScsr2csr_compress;
                    f64: cusparseDcsr2csr_compress;
                    Complex32: cusparseCcsr2csr_compress;
                    Complex64: cusparseZcsr2csr_compress;
                }
            }
            handle {
                handle::get_version(version: *mut c_int) { cusparseGetVersion }
                handle::set_stream(stream_id: cudaStream_t) { cusparseSetStream }
                handle::get_stream(stream_id: *mut cudaStream_t) { cusparseGetStream }
                handle::get_pointer_mode(mode: *mut cusparsePointerMode_t) { cusparseGetPointerMode }
                handle::set_pointer_mode(mode: cusparsePointerMode_t) { cusparseSetPointerMode }
                incomplete::zero_pivot(info: info_t, position: *mut c_int) { cusparseXbsrsv2_zeroPivot }
                incomplete::zero_pivot(info: info_t, position: *mut c_int) { cusparseXbsrsm2_zeroPivot }
                incomplete::zero_pivot(info: info_t, position: *mut c_int) { cusparseXcsrilu02_zeroPivot }
                incomplete::zero_pivot(info: info_t, position: *mut c_int) { cusparseXbsrilu02_zeroPivot }
                incomplete::zero_pivot(info: info_t, position: *mut c_int) { cusparseXcsric02_zeroPivot }
                incomplete::zero_pivot(info: info_t, position: *mut c_int) { cusparseXbsric02_zeroPivot }
                sums::csrgeam2_nnz(m: c_int, n: c_int, descr_a: cusparseMatDescr_t, nnz_a: c_int, csr_sorted_row_ptr_a: *const c_int, csr_sorted_col_ind_a: *const c_int, descr_b: cusparseMatDescr_t, nnz_b: c_int, csr_sorted_row_ptr_b: *const c_int, csr_sorted_col_ind_b: *const c_int, descr_c: cusparseMatDescr_t, csr_sorted_row_ptr_c: *mut c_int, nnz_total_dev_host_ptr: *mut c_int, workspace: *mut c_void) { cusparseXcsrgeam2Nnz }
                sorting::coo2csr(coo_row_ind: *const c_int, nnz: c_int, m: c_int, csr_sorted_row_ptr: *mut c_int, idx_base: cusparseIndexBase_t) { cusparseXcoo2csr }
                sorting::csr2coo(csr_sorted_row_ptr: *const c_int, nnz: c_int, m: c_int, coo_row_ind: *mut c_int, idx_base: cusparseIndexBase_t) { cusparseXcsr2coo }
                sorting::identity(n: c_int, p: *mut c_int) { cusparseCreateIdentityPermutation }
                sorting::sort_size(m: c_int, n: c_int, nnz: c_int, coo_rows_a: *const c_int, coo_cols_a: *const c_int, p_buffer_size_in_bytes: *mut usize) { cusparseXcoosort_bufferSizeExt }
                sorting::coosort_by_row(m: c_int, n: c_int, nnz: c_int, coo_rows_a: *mut c_int, coo_cols_a: *mut c_int, p: *mut c_int, p_buffer: *mut c_void) { cusparseXcoosortByRow }
                sorting::coosort_by_column(m: c_int, n: c_int, nnz: c_int, coo_rows_a: *mut c_int, coo_cols_a: *mut c_int, p: *mut c_int, p_buffer: *mut c_void) { cusparseXcoosortByColumn }
                sorting::sort_size(m: c_int, n: c_int, nnz: c_int, csr_row_ptr_a: *const c_int, csr_col_ind_a: *const c_int, p_buffer_size_in_bytes: *mut usize) { cusparseXcsrsort_bufferSizeExt }
                sorting::csrsort(m: c_int, n: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csr_row_ptr_a: *const c_int, csr_col_ind_a: *mut c_int, p: *mut c_int, p_buffer: *mut c_void) { cusparseXcsrsort }
                sorting::sort_size(m: c_int, n: c_int, nnz: c_int, csc_col_ptr_a: *const c_int, csc_row_ind_a: *const c_int, p_buffer_size_in_bytes: *mut usize) { cusparseXcscsort_bufferSizeExt }
                sorting::cscsort(m: c_int, n: c_int, nnz: c_int, descr_a: cusparseMatDescr_t, csc_col_ptr_a: *const c_int, csc_row_ind_a: *mut c_int, p: *mut c_int, p_buffer: *mut c_void) { cusparseXcscsort }
                sorting::csr2csc(m: c_int, n: c_int, nnz: c_int, csr_val: *const c_void, csr_row_ptr: *const c_int, csr_col_ind: *const c_int, csc_val: *mut c_void, csc_col_ptr: *mut c_int, csc_row_ind: *mut c_int, val_type: cudaDataType, copy_values: cusparseAction_t, idx_base: cusparseIndexBase_t, alg: cusparseAlg_t, buffer: *mut c_void) { cusparseCsr2cscEx2 }
                sorting::csr2csc_size(m: c_int, n: c_int, nnz: c_int, csr_val: *const c_void, csr_row_ptr: *const c_int, csr_col_ind: *const c_int, csc_val: *mut c_void, csc_col_ptr: *mut c_int, csc_row_ind: *mut c_int, val_type: cudaDataType, copy_values: cusparseAction_t, idx_base: cusparseIndexBase_t, alg: cusparseAlg_t, buffer_size: *mut usize) { cusparseCsr2cscEx2_bufferSize }
                vectors::axpby(alpha: *const c_void, vec_x: cusparseSpVecDescr_t, beta: *const c_void, vec_y: cusparseDnVecDescr_t) { cusparseAxpby }
                vectors::gather(vec_y: cusparseDnVecDescr_t, vec_x: cusparseSpVecDescr_t) { cusparseGather }
                vectors::scatter(vec_x: cusparseSpVecDescr_t, vec_y: cusparseDnVecDescr_t) { cusparseScatter }
                vectors::rot(c_coeff: *const c_void, s_coeff: *const c_void, vec_x: cusparseSpVecDescr_t, vec_y: cusparseDnVecDescr_t) { cusparseRot }
                vectors::spvv_size(op_x: cusparseOperation_t, vec_x: cusparseSpVecDescr_t, vec_y: cusparseDnVecDescr_t, result: *const c_void, compute_type: cudaDataType, buffer_size: *mut usize) { cusparseSpVV_bufferSize }
                vectors::spvv(op_x: cusparseOperation_t, vec_x: cusparseSpVecDescr_t, vec_y: cusparseDnVecDescr_t, result: *mut c_void, compute_type: cudaDataType, external_buffer: *mut c_void) { cusparseSpVV }
                conversion::to_dense_size(mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, alg: cusparseAlg_t, buffer_size: *mut usize) { cusparseSparseToDense_bufferSize }
                conversion::sparse_to_dense(mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseSparseToDense }
                conversion::to_sparse_size(mat_a: cusparseDnMatDescr_t, mat_b: cusparseSpMatDescr_t, alg: cusparseAlg_t, buffer_size: *mut usize) { cusparseDenseToSparse_bufferSize }
                conversion::to_sparse_analysis(mat_a: cusparseDnMatDescr_t, mat_b: cusparseSpMatDescr_t, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseDenseToSparse_analysis }
                conversion::to_sparse_convert(mat_a: cusparseDnMatDescr_t, mat_b: cusparseSpMatDescr_t, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseDenseToSparse_convert }
                products::spmv(op_a: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, vec_x: cusparseDnVecDescr_t, beta: *const c_void, vec_y: cusparseDnVecDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseSpMV }
                products::spmv_size(op_a: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, vec_x: cusparseDnVecDescr_t, beta: *const c_void, vec_y: cusparseDnVecDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, buffer_size: *mut usize) { cusparseSpMV_bufferSize }
                products::spmv_preprocess(op_a: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, vec_x: cusparseDnVecDescr_t, beta: *const c_void, vec_y: cusparseDnVecDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseSpMV_preprocess }
                triangular::spsv_size(op_a: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, vec_x: cusparseDnVecDescr_t, vec_y: cusparseDnVecDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spsv_descr: cusparseSpSVDescr_t, buffer_size: *mut usize) { cusparseSpSV_bufferSize }
                triangular::spsv_analysis(op_a: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, vec_x: cusparseDnVecDescr_t, vec_y: cusparseDnVecDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spsv_descr: cusparseSpSVDescr_t, external_buffer: *mut c_void) { cusparseSpSV_analysis }
                triangular::spsv_solve(op_a: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, vec_x: cusparseDnVecDescr_t, vec_y: cusparseDnVecDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spsv_descr: cusparseSpSVDescr_t) { cusparseSpSV_solve }
                triangular::spsv_update(spsv_descr: cusparseSpSVDescr_t, new_values: *mut c_void, update_part: cusparseAlg_t) { cusparseSpSV_updateMatrix }
                triangular::spsm_size(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, mat_c: cusparseDnMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spsm_descr: cusparseSpSMDescr_t, buffer_size: *mut usize) { cusparseSpSM_bufferSize }
                triangular::spsm_analysis(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, mat_c: cusparseDnMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spsm_descr: cusparseSpSMDescr_t, external_buffer: *mut c_void) { cusparseSpSM_analysis }
                triangular::spsm_solve(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, mat_c: cusparseDnMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spsm_descr: cusparseSpSMDescr_t) { cusparseSpSM_solve }
                triangular::spsm_update(spsm_descr: cusparseSpSMDescr_t, new_values: *mut c_void, update_part: cusparseAlg_t) { cusparseSpSM_updateMatrix }
                products::spmm_size(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, beta: *const c_void, mat_c: cusparseDnMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, buffer_size: *mut usize) { cusparseSpMM_bufferSize }
                products::spmm_preprocess(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, beta: *const c_void, mat_c: cusparseDnMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseSpMM_preprocess }
                products::spmm(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseDnMatDescr_t, beta: *const c_void, mat_c: cusparseDnMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseSpMM }
                sparse_products::estimation(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t, buffer_size1: *mut usize, external_buffer1: *mut c_void) { cusparseSpGEMM_workEstimation }
                sparse_products::estimate_memory(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t, chunk_fraction: f32, buffer_size3: *mut usize, external_buffer3: *mut c_void, buffer_size2: *mut usize) { cusparseSpGEMM_estimateMemory }
                sparse_products::compute(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t, buffer_size2: *mut usize, external_buffer2: *mut c_void) { cusparseSpGEMM_compute }
                sparse_products::copy(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t) { cusparseSpGEMM_copy }
                sparse_products::reuse_estimation(op_a: cusparseOperation_t, op_b: cusparseOperation_t, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, mat_c: cusparseSpMatDescr_t, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t, buffer_size1: *mut usize, external_buffer1: *mut c_void) { cusparseSpGEMMreuse_workEstimation }
                sparse_products::reuse_nnz(op_a: cusparseOperation_t, op_b: cusparseOperation_t, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, mat_c: cusparseSpMatDescr_t, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t, buffer_size2: *mut usize, external_buffer2: *mut c_void, buffer_size3: *mut usize, external_buffer3: *mut c_void, buffer_size4: *mut usize, external_buffer4: *mut c_void) { cusparseSpGEMMreuse_nnz }
                sparse_products::reuse_copy(op_a: cusparseOperation_t, op_b: cusparseOperation_t, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, mat_c: cusparseSpMatDescr_t, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t, buffer_size5: *mut usize, external_buffer5: *mut c_void) { cusparseSpGEMMreuse_copy }
                sparse_products::reuse_compute(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, mat_b: cusparseSpMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgemm_descr: cusparseSpGEMMDescr_t) { cusparseSpGEMMreuse_compute }
                sums::spgeam_size(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, beta: *const c_void, mat_b: cusparseSpMatDescr_t, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgeam_descr: cusparseSpGEAMDescr_t, buffer_size: *mut usize) { cusparseSpGEAM_bufferSize }
                sums::spgeam_nnz(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, beta: *const c_void, mat_b: cusparseSpMatDescr_t, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgeam_descr: cusparseSpGEAMDescr_t, external_buffer: *mut c_void) { cusparseSpGEAM_nnz }
                sums::spgeam(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseSpMatDescr_t, beta: *const c_void, mat_b: cusparseSpMatDescr_t, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, spgeam_descr: cusparseSpGEAMDescr_t, external_buffer: *mut c_void) { cusparseSpGEAM }
                products::sddmm_size(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseDnMatDescr_t, mat_b: cusparseDnMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, buffer_size: *mut usize) { cusparseSDDMM_bufferSize }
                products::sddmm_preprocess(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseDnMatDescr_t, mat_b: cusparseDnMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseSDDMM_preprocess }
                products::sddmm(op_a: cusparseOperation_t, op_b: cusparseOperation_t, alpha: *const c_void, mat_a: cusparseDnMatDescr_t, mat_b: cusparseDnMatDescr_t, beta: *const c_void, mat_c: cusparseSpMatDescr_t, compute_type: cudaDataType, alg: cusparseAlg_t, external_buffer: *mut c_void) { cusparseSDDMM }
            }
            plain {
                handle::destroy(handle: cusparseHandle_t) { cusparseDestroy }
                handle::create(handle: *mut cusparseHandle_t) { cusparseCreate }
                handle::get_property(kind: libraryPropertyType, value: *mut c_int) { cusparseGetProperty }
                handle::log_to(callback: *mut c_void) { cusparseLoggerSetCallback }
                handle::log_to(file: *mut c_void) { cusparseLoggerSetFile }
                handle::log_to_file(log_file: *const c_char) { cusparseLoggerOpenFile }
                handle::log_level(level: c_int) { cusparseLoggerSetLevel }
                handle::log_mask(mask: c_int) { cusparseLoggerSetMask }
                handle::log_nothing() { cusparseLoggerForceDisable }
                matrix_descriptor::create(descr_a: *mut cusparseMatDescr_t) { cusparseCreateMatDescr }
                matrix_descriptor::destroy(descr_a: cusparseMatDescr_t) { cusparseDestroyMatDescr }
                matrix_descriptor::set_type(descr_a: cusparseMatDescr_t, kind: cusparseMatrixType_t) { cusparseSetMatType }
                matrix_descriptor::set_fill(descr_a: cusparseMatDescr_t, fill_mode: cusparseFillMode_t) { cusparseSetMatFillMode }
                matrix_descriptor::set_diag(descr_a: cusparseMatDescr_t, diag_type: cusparseDiagType_t) { cusparseSetMatDiagType }
                matrix_descriptor::set_base(descr_a: cusparseMatDescr_t, base: cusparseIndexBase_t) { cusparseSetMatIndexBase }
                incomplete::create(info: *mut info_t) { cusparseCreateCsric02Info }
                incomplete::destroy(info: info_t) { cusparseDestroyCsric02Info }
                incomplete::create(info: *mut info_t) { cusparseCreateBsric02Info }
                incomplete::destroy(info: info_t) { cusparseDestroyBsric02Info }
                incomplete::create(info: *mut info_t) { cusparseCreateCsrilu02Info }
                incomplete::destroy(info: info_t) { cusparseDestroyCsrilu02Info }
                incomplete::create(info: *mut info_t) { cusparseCreateBsrilu02Info }
                incomplete::destroy(info: info_t) { cusparseDestroyBsrilu02Info }
                incomplete::create(info: *mut info_t) { cusparseCreateBsrsv2Info }
                incomplete::destroy(info: info_t) { cusparseDestroyBsrsv2Info }
                incomplete::create(info: *mut info_t) { cusparseCreateBsrsm2Info }
                incomplete::destroy(info: info_t) { cusparseDestroyBsrsm2Info }
                sparse_vector::create(sp_vec_descr: *mut cusparseSpVecDescr_t, size: i64, nnz: i64, indices: *mut c_void, values: *mut c_void, idx_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateSpVec }
                sparse_vector::create(sp_vec_descr: *mut cusparseSpVecDescr_t, size: i64, nnz: i64, indices: *const c_void, values: *const c_void, idx_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateConstSpVec }
                sparse_vector::destroy(sp_vec_descr: cusparseSpVecDescr_t) { cusparseDestroySpVec }
                sparse_vector::get(sp_vec_descr: cusparseSpVecDescr_t, size: *mut i64, nnz: *mut i64, indices: *mut *mut c_void, values: *mut *mut c_void, idx_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseSpVecGet }
                sparse_vector::get(sp_vec_descr: cusparseSpVecDescr_t, size: *mut i64, nnz: *mut i64, indices: *mut *mut c_void, values: *mut *mut c_void, idx_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseConstSpVecGet }
                sparse_vector::get_base(sp_vec_descr: cusparseSpVecDescr_t, idx_base: *mut cusparseIndexBase_t) { cusparseSpVecGetIndexBase }
                sparse_vector::get_values(sp_vec_descr: cusparseSpVecDescr_t, values: *mut *mut c_void) { cusparseSpVecGetValues }
                sparse_vector::get_values(sp_vec_descr: cusparseSpVecDescr_t, values: *mut *mut c_void) { cusparseConstSpVecGetValues }
                sparse_vector::set_values(sp_vec_descr: cusparseSpVecDescr_t, values: *mut c_void) { cusparseSpVecSetValues }
                dense::create_vector(dn_vec_descr: *mut cusparseDnVecDescr_t, size: i64, values: *mut c_void, value_type: cudaDataType) { cusparseCreateDnVec }
                dense::create_vector(dn_vec_descr: *mut cusparseDnVecDescr_t, size: i64, values: *const c_void, value_type: cudaDataType) { cusparseCreateConstDnVec }
                dense::destroy_vector(dn_vec_descr: cusparseDnVecDescr_t) { cusparseDestroyDnVec }
                dense::get_vector(dn_vec_descr: cusparseDnVecDescr_t, size: *mut i64, values: *mut *mut c_void, value_type: *mut cudaDataType) { cusparseDnVecGet }
                dense::get_vector(dn_vec_descr: cusparseDnVecDescr_t, size: *mut i64, values: *mut *mut c_void, value_type: *mut cudaDataType) { cusparseConstDnVecGet }
                dense::get_vector_values(dn_vec_descr: cusparseDnVecDescr_t, values: *mut *mut c_void) { cusparseDnVecGetValues }
                dense::get_vector_values(dn_vec_descr: cusparseDnVecDescr_t, values: *mut *mut c_void) { cusparseConstDnVecGetValues }
                dense::set_vector_values(dn_vec_descr: cusparseDnVecDescr_t, values: *mut c_void) { cusparseDnVecSetValues }
                sparse_descriptor::destroy(sp_mat_descr: cusparseSpMatDescr_t) { cusparseDestroySpMat }
                sparse_descriptor::get_format(sp_mat_descr: cusparseSpMatDescr_t, format: *mut cusparseFormat_t) { cusparseSpMatGetFormat }
                sparse_descriptor::get_base(sp_mat_descr: cusparseSpMatDescr_t, idx_base: *mut cusparseIndexBase_t) { cusparseSpMatGetIndexBase }
                sparse_descriptor::get_values(sp_mat_descr: cusparseSpMatDescr_t, values: *mut *mut c_void) { cusparseSpMatGetValues }
                sparse_descriptor::get_values(sp_mat_descr: cusparseSpMatDescr_t, values: *mut *mut c_void) { cusparseConstSpMatGetValues }
                sparse_descriptor::set_values(sp_mat_descr: cusparseSpMatDescr_t, values: *mut c_void) { cusparseSpMatSetValues }
                sparse_descriptor::get_size(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64) { cusparseSpMatGetSize }
                sparse_descriptor::get_batch(sp_mat_descr: cusparseSpMatDescr_t, batch_count: *mut c_int) { cusparseSpMatGetStridedBatch }
                sparse_descriptor::set_coo_batch(sp_mat_descr: cusparseSpMatDescr_t, batch_count: c_int, batch_stride: i64) { cusparseCooSetStridedBatch }
                sparse_descriptor::set_csr_batch(sp_mat_descr: cusparseSpMatDescr_t, batch_count: c_int, offsets_batch_stride: i64, columns_values_batch_stride: i64) { cusparseCsrSetStridedBatch }
                sparse_descriptor::set_bsr_batch(sp_mat_descr: cusparseSpMatDescr_t, batch_count: c_int, offsets_batch_stride: i64, columns_batch_stride: i64, values_batch_stride: i64) { cusparseBsrSetStridedBatch }
                sparse_descriptor::get_attribute(sp_mat_descr: cusparseSpMatDescr_t, attribute: cusparseSpMatAttribute_t, data: *mut c_void, data_size: usize) { cusparseSpMatGetAttribute }
                sparse_descriptor::set_attribute(sp_mat_descr: cusparseSpMatDescr_t, attribute: cusparseSpMatAttribute_t, data: *mut c_void, data_size: usize) { cusparseSpMatSetAttribute }
                sparse_creation::create_csr(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, csr_row_offsets: *mut c_void, csr_col_ind: *mut c_void, csr_values: *mut c_void, csr_row_offsets_type: cusparseIndexType_t, csr_col_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateCsr }
                sparse_creation::create_csr(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, csr_row_offsets: *const c_void, csr_col_ind: *const c_void, csr_values: *const c_void, csr_row_offsets_type: cusparseIndexType_t, csr_col_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateConstCsr }
                sparse_creation::create_csc(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, csc_col_offsets: *mut c_void, csc_row_ind: *mut c_void, csc_values: *mut c_void, csc_col_offsets_type: cusparseIndexType_t, csc_row_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateCsc }
                sparse_creation::create_csc(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, csc_col_offsets: *const c_void, csc_row_ind: *const c_void, csc_values: *const c_void, csc_col_offsets_type: cusparseIndexType_t, csc_row_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateConstCsc }
                sparse_descriptor::get_csr(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64, csr_row_offsets: *mut *mut c_void, csr_col_ind: *mut *mut c_void, csr_values: *mut *mut c_void, csr_row_offsets_type: *mut cusparseIndexType_t, csr_col_ind_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseCsrGet }
                sparse_descriptor::get_csr(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64, csr_row_offsets: *mut *mut c_void, csr_col_ind: *mut *mut c_void, csr_values: *mut *mut c_void, csr_row_offsets_type: *mut cusparseIndexType_t, csr_col_ind_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseConstCsrGet }
                sparse_descriptor::get_csc(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64, csc_col_offsets: *mut *mut c_void, csc_row_ind: *mut *mut c_void, csc_values: *mut *mut c_void, csc_col_offsets_type: *mut cusparseIndexType_t, csc_row_ind_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseCscGet }
                sparse_descriptor::get_csc(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64, csc_col_offsets: *mut *mut c_void, csc_row_ind: *mut *mut c_void, csc_values: *mut *mut c_void, csc_col_offsets_type: *mut cusparseIndexType_t, csc_row_ind_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseConstCscGet }
                sparse_descriptor::set_csr(sp_mat_descr: cusparseSpMatDescr_t, csr_row_offsets: *mut c_void, csr_col_ind: *mut c_void, csr_values: *mut c_void) { cusparseCsrSetPointers }
                sparse_descriptor::set_csc(sp_mat_descr: cusparseSpMatDescr_t, csc_col_offsets: *mut c_void, csc_row_ind: *mut c_void, csc_values: *mut c_void) { cusparseCscSetPointers }
                sparse_creation::create_bsr(sp_mat_descr: *mut cusparseSpMatDescr_t, brows: i64, bcols: i64, bnnz: i64, row_block_size: i64, col_block_size: i64, bsr_row_offsets: *mut c_void, bsr_col_ind: *mut c_void, bsr_values: *mut c_void, bsr_row_offsets_type: cusparseIndexType_t, bsr_col_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType, order: cusparseOrder_t) { cusparseCreateBsr }
                sparse_creation::create_bsr(sp_mat_descr: *mut cusparseSpMatDescr_t, brows: i64, bcols: i64, bnnz: i64, row_block_dim: i64, col_block_dim: i64, bsr_row_offsets: *const c_void, bsr_col_ind: *const c_void, bsr_values: *const c_void, bsr_row_offsets_type: cusparseIndexType_t, bsr_col_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType, order: cusparseOrder_t) { cusparseCreateConstBsr }
                sparse_creation::create_coo(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, coo_row_ind: *mut c_void, coo_col_ind: *mut c_void, coo_values: *mut c_void, coo_idx_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateCoo }
                sparse_creation::create_coo(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, coo_row_ind: *const c_void, coo_col_ind: *const c_void, coo_values: *const c_void, coo_idx_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateConstCoo }
                sparse_descriptor::get_coo(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64, coo_row_ind: *mut *mut c_void, coo_col_ind: *mut *mut c_void, coo_values: *mut *mut c_void, idx_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseCooGet }
                sparse_descriptor::get_coo(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64, coo_row_ind: *mut *mut c_void, coo_col_ind: *mut *mut c_void, coo_values: *mut *mut c_void, idx_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseConstCooGet }
                sparse_descriptor::set_coo(sp_mat_descr: cusparseSpMatDescr_t, coo_rows: *mut c_void, coo_columns: *mut c_void, coo_values: *mut c_void) { cusparseCooSetPointers }
                sparse_creation::create_blocked_ell(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, ell_block_size: i64, ell_cols: i64, ell_col_ind: *mut c_void, ell_value: *mut c_void, ell_idx_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateBlockedEll }
                sparse_creation::create_blocked_ell(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, ell_block_size: i64, ell_cols: i64, ell_col_ind: *const c_void, ell_value: *const c_void, ell_idx_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateConstBlockedEll }
                sparse_descriptor::get_blocked_ell(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, ell_block_size: *mut i64, ell_cols: *mut i64, ell_col_ind: *mut *mut c_void, ell_value: *mut *mut c_void, ell_idx_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseBlockedEllGet }
                sparse_descriptor::get_blocked_ell(sp_mat_descr: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, ell_block_size: *mut i64, ell_cols: *mut i64, ell_col_ind: *mut *mut c_void, ell_value: *mut *mut c_void, ell_idx_type: *mut cusparseIndexType_t, idx_base: *mut cusparseIndexBase_t, value_type: *mut cudaDataType) { cusparseConstBlockedEllGet }
                sparse_creation::create_sliced_ell(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, sell_values_size: i64, slice_size: i64, sell_slice_offsets: *mut c_void, sell_col_ind: *mut c_void, sell_values: *mut c_void, sell_slice_offsets_type: cusparseIndexType_t, sell_col_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateSlicedEll }
                sparse_creation::create_sliced_ell(sp_mat_descr: *mut cusparseSpMatDescr_t, rows: i64, cols: i64, nnz: i64, sell_values_size: i64, slice_size: i64, sell_slice_offsets: *const c_void, sell_col_ind: *const c_void, sell_values: *const c_void, sell_slice_offsets_type: cusparseIndexType_t, sell_col_ind_type: cusparseIndexType_t, idx_base: cusparseIndexBase_t, value_type: cudaDataType) { cusparseCreateConstSlicedEll }
                dense::create_matrix(dn_mat_descr: *mut cusparseDnMatDescr_t, rows: i64, cols: i64, ld: i64, values: *mut c_void, value_type: cudaDataType, order: cusparseOrder_t) { cusparseCreateDnMat }
                dense::create_matrix(dn_mat_descr: *mut cusparseDnMatDescr_t, rows: i64, cols: i64, ld: i64, values: *const c_void, value_type: cudaDataType, order: cusparseOrder_t) { cusparseCreateConstDnMat }
                dense::destroy_matrix(dn_mat_descr: cusparseDnMatDescr_t) { cusparseDestroyDnMat }
                dense::get_matrix(dn_mat_descr: cusparseDnMatDescr_t, rows: *mut i64, cols: *mut i64, ld: *mut i64, values: *mut *mut c_void, kind: *mut cudaDataType, order: *mut cusparseOrder_t) { cusparseDnMatGet }
                dense::get_matrix(dn_mat_descr: cusparseDnMatDescr_t, rows: *mut i64, cols: *mut i64, ld: *mut i64, values: *mut *mut c_void, kind: *mut cudaDataType, order: *mut cusparseOrder_t) { cusparseConstDnMatGet }
                dense::get_matrix_values(dn_mat_descr: cusparseDnMatDescr_t, values: *mut *mut c_void) { cusparseDnMatGetValues }
                dense::get_matrix_values(dn_mat_descr: cusparseDnMatDescr_t, values: *mut *mut c_void) { cusparseConstDnMatGetValues }
                dense::set_matrix_values(dn_mat_descr: cusparseDnMatDescr_t, values: *mut c_void) { cusparseDnMatSetValues }
                dense::set_matrix_batch(dn_mat_descr: cusparseDnMatDescr_t, batch_count: c_int, batch_stride: i64) { cusparseDnMatSetStridedBatch }
                dense::get_matrix_batch(dn_mat_descr: cusparseDnMatDescr_t, batch_count: *mut c_int, batch_stride: *mut i64) { cusparseDnMatGetStridedBatch }
                triangular::create_for_vectors(descr: *mut cusparseSpSVDescr_t) { cusparseSpSV_createDescr }
                triangular::destroy_for_vectors(descr: cusparseSpSVDescr_t) { cusparseSpSV_destroyDescr }
                triangular::create_for_matrices(descr: *mut cusparseSpSMDescr_t) { cusparseSpSM_createDescr }
                triangular::destroy_for_matrices(descr: cusparseSpSMDescr_t) { cusparseSpSM_destroyDescr }
                sparse_products::create(descr: *mut cusparseSpGEMMDescr_t) { cusparseSpGEMM_createDescr }
                sparse_products::destroy(descr: cusparseSpGEMMDescr_t) { cusparseSpGEMM_destroyDescr }
                sparse_products::get_products(spgemm_descr: cusparseSpGEMMDescr_t, num_prods: *mut i64) { cusparseSpGEMM_getNumProducts }
                sums::create(descr: *mut cusparseSpGEAMDescr_t) { cusparseSpGEAM_createDescr }
                sums::destroy(descr: cusparseSpGEAMDescr_t) { cusparseSpGEAM_destroyDescr }
            }
            refused {
                cusparseCbsr2csr cusparseCbsrsm2_bufferSizeExt cusparseCbsrsv2_bufferSizeExt cusparseCbsrxmv cusparseCcsr2bsr
                cusparseCcsr2csru cusparseCcsr2gebsr cusparseCcsr2gebsr_bufferSize cusparseCcsr2gebsr_bufferSizeExt cusparseCcsrcolor
                cusparseCcsru2csr cusparseCcsru2csr_bufferSizeExt cusparseCgebsr2csr cusparseCgebsr2gebsc cusparseCgebsr2gebsc_bufferSize
                cusparseCgebsr2gebsc_bufferSizeExt cusparseCgebsr2gebsr cusparseCgebsr2gebsr_bufferSize cusparseCgebsr2gebsr_bufferSizeExt
                cusparseCreateColorInfo cusparseCreateCsru2csrInfo cusparseCreatePruneInfo cusparseDbsr2csr cusparseDbsrsm2_bufferSizeExt
                cusparseDbsrsv2_bufferSizeExt cusparseDbsrxmv cusparseDcsr2bsr cusparseDcsr2csru cusparseDcsr2gebsr
                cusparseDcsr2gebsr_bufferSize cusparseDcsr2gebsr_bufferSizeExt cusparseDcsrcolor cusparseDcsru2csr
                cusparseDcsru2csr_bufferSizeExt cusparseDestroyColorInfo cusparseDestroyCsru2csrInfo cusparseDestroyPruneInfo
                cusparseDgebsr2csr cusparseDgebsr2gebsc cusparseDgebsr2gebsc_bufferSize cusparseDgebsr2gebsc_bufferSizeExt
                cusparseDgebsr2gebsr cusparseDgebsr2gebsr_bufferSize cusparseDgebsr2gebsr_bufferSizeExt cusparseDpruneCsr2csr
                cusparseDpruneCsr2csrByPercentage cusparseDpruneCsr2csrByPercentage_bufferSizeExt cusparseDpruneCsr2csrNnz
                cusparseDpruneCsr2csrNnzByPercentage cusparseDpruneCsr2csr_bufferSizeExt cusparseDpruneDense2csr
                cusparseDpruneDense2csrByPercentage cusparseDpruneDense2csrByPercentage_bufferSizeExt cusparseDpruneDense2csrNnz
                cusparseDpruneDense2csrNnzByPercentage cusparseDpruneDense2csr_bufferSizeExt cusparseHpruneCsr2csr
                cusparseHpruneCsr2csrByPercentage cusparseHpruneCsr2csrByPercentage_bufferSizeExt cusparseHpruneCsr2csrNnz
                cusparseHpruneCsr2csrNnzByPercentage cusparseHpruneCsr2csr_bufferSizeExt cusparseHpruneDense2csr
                cusparseHpruneDense2csrByPercentage cusparseHpruneDense2csrByPercentage_bufferSizeExt cusparseHpruneDense2csrNnz
                cusparseHpruneDense2csrNnzByPercentage cusparseHpruneDense2csr_bufferSizeExt cusparseSbsr2csr cusparseSbsrsm2_bufferSizeExt
                cusparseSbsrsv2_bufferSizeExt cusparseSbsrxmv cusparseScsr2bsr cusparseScsr2csru cusparseScsr2gebsr
                cusparseScsr2gebsr_bufferSize cusparseScsr2gebsr_bufferSizeExt cusparseScsrcolor cusparseScsru2csr
                cusparseScsru2csr_bufferSizeExt cusparseSgebsr2csr cusparseSgebsr2gebsc cusparseSgebsr2gebsc_bufferSize
                cusparseSgebsr2gebsc_bufferSizeExt cusparseSgebsr2gebsr cusparseSgebsr2gebsr_bufferSize cusparseSgebsr2gebsr_bufferSizeExt
                cusparseSpMMOp cusparseSpMMOp_createPlan cusparseSpMMOp_destroyPlan cusparseSpMVDescrGetParam cusparseSpMVDescrSetParam
                cusparseSpMVGeneric cusparseSpMVGeneric_bufferSize cusparseSpMVGeneric_preprocess cusparseSpMVOp cusparseSpMVOp_bufferSize
                cusparseSpMVOp_createDescr cusparseSpMVOp_createPlan cusparseSpMVOp_destroyDescr cusparseSpMVOp_destroyPlan
                cusparseSpMVOp_setGlobalUserData cusparseSpMV_createDescr cusparseSpMV_destroyDescr cusparseSpMatConvert
                cusparseSpMatConvertDescrCreate cusparseSpMatConvertDescrDestroy cusparseSpMatConvert_analysis
                cusparseSpMatConvert_bufferSize cusparseSpMatGetPointers cusparseSpMatGetSizes cusparseSpMatSetPointers
                cusparseSpruneCsr2csr cusparseSpruneCsr2csrByPercentage cusparseSpruneCsr2csrByPercentage_bufferSizeExt
                cusparseSpruneCsr2csrNnz cusparseSpruneCsr2csrNnzByPercentage cusparseSpruneCsr2csr_bufferSizeExt cusparseSpruneDense2csr
                cusparseSpruneDense2csrByPercentage cusparseSpruneDense2csrByPercentage_bufferSizeExt cusparseSpruneDense2csrNnz
                cusparseSpruneDense2csrNnzByPercentage cusparseSpruneDense2csr_bufferSizeExt cusparseXcsr2bsrNnz cusparseXcsr2gebsrNnz
                cusparseXgebsr2csr cusparseXgebsr2gebsrNnz cusparseZbsr2csr cusparseZbsrsm2_bufferSizeExt cusparseZbsrsv2_bufferSizeExt
                cusparseZbsrxmv cusparseZcsr2bsr cusparseZcsr2csru cusparseZcsr2gebsr cusparseZcsr2gebsr_bufferSize
                cusparseZcsr2gebsr_bufferSizeExt cusparseZcsrcolor cusparseZcsru2csr cusparseZcsru2csr_bufferSizeExt cusparseZgebsr2csr
                cusparseZgebsr2gebsc cusparseZgebsr2gebsc_bufferSize cusparseZgebsr2gebsc_bufferSizeExt cusparseZgebsr2gebsr
                cusparseZgebsr2gebsr_bufferSize cusparseZgebsr2gebsr_bufferSizeExt
            }
        }
    };
}
pub(crate) use entry_points;
