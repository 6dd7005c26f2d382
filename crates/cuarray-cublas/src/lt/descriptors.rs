//! The kinds of descriptors, and the functions that make, set and get them.

use super::record::{Attribute, Kind, Values};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::{cublasComputeType_t, cublasStatus_t, cudaDataType};
use std::ffi::{c_int, c_void};

const fn of(number: u32, size: usize, first: i64) -> Attribute {
    Attribute { number, size, first }
}

/// The numbers of `cublasLtMatrixLayoutAttribute_t`.
pub(super) mod layout {
    pub(in crate::lt) const TYPE: u32 = 0;
    pub(in crate::lt) const ORDER: u32 = 1;
    pub(in crate::lt) const ROWS: u32 = 2;
    pub(in crate::lt) const COLS: u32 = 3;
    pub(in crate::lt) const LD: u32 = 4;
    pub(in crate::lt) const BATCH_COUNT: u32 = 5;
    pub(in crate::lt) const BATCH_STRIDE: u32 = 6;
    pub(in crate::lt) const PLANE_OFFSET: u32 = 7;
    pub(in crate::lt) const BATCH_MODE: u32 = 8;
}

pub(super) static LAYOUT: Kind = Kind {
    mark: 0x6c61_796f,
    size: 64,
    attributes: &[
        of(layout::TYPE, 4, 0),
        of(layout::ORDER, 4, 0),
        of(layout::ROWS, 8, 0),
        of(layout::COLS, 8, 0),
        of(layout::LD, 8, 0),
        of(layout::BATCH_COUNT, 4, 1),
        of(layout::BATCH_STRIDE, 8, 0),
        of(layout::PLANE_OFFSET, 8, 0),
        of(layout::BATCH_MODE, 4, 0),
    ],
};

/// The numbers of `cublasLtMatmulDescAttributes_t`.
pub(super) mod matmul {
    pub(in crate::lt) const COMPUTE_TYPE: u32 = 0;
    pub(in crate::lt) const SCALE_TYPE: u32 = 1;
    pub(in crate::lt) const POINTER_MODE: u32 = 2;
    pub(in crate::lt) const TRANSA: u32 = 3;
    pub(in crate::lt) const TRANSB: u32 = 4;
    pub(in crate::lt) const TRANSC: u32 = 5;
    pub(in crate::lt) const FILL_MODE: u32 = 6;
    pub(in crate::lt) const EPILOGUE: u32 = 7;
    pub(in crate::lt) const BIAS_POINTER: u32 = 8;
    pub(in crate::lt) const BIAS_STRIDE: u32 = 10;
    pub(in crate::lt) const AUX_POINTER: u32 = 11;
    pub(in crate::lt) const AUX_LD: u32 = 12;
    pub(in crate::lt) const AUX_STRIDE: u32 = 13;
    pub(in crate::lt) const ALPHA_STRIDE: u32 = 14;
    pub(in crate::lt) const A_SCALE: u32 = 17;
    pub(in crate::lt) const B_SCALE: u32 = 18;
    pub(in crate::lt) const C_SCALE: u32 = 19;
    pub(in crate::lt) const D_SCALE: u32 = 20;
    pub(in crate::lt) const AMAX_D: u32 = 21;
    pub(in crate::lt) const AUX_TYPE: u32 = 22;
    pub(in crate::lt) const BIAS_TYPE: u32 = 26;
    /// Pointers, modes and strides whose use is refused: scales and the largest value of the auxiliary matrix, counters between kernels,
    /// scales of blocks, and strides of scalars.
    pub(in crate::lt) const REFUSED: [u32; 14] = [23, 24, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40];
}

/// `CUBLAS_FILL_MODE_FULL`.
pub(super) const FULL: i64 = 2;

pub(super) static MATMUL: Kind = Kind {
    mark: 0x6d61_746d,
    size: 256,
    attributes: &[
        of(matmul::COMPUTE_TYPE, 4, 0),
        of(matmul::SCALE_TYPE, 4, 0),
        of(matmul::POINTER_MODE, 4, 0),
        of(matmul::TRANSA, 4, 0),
        of(matmul::TRANSB, 4, 0),
        of(matmul::TRANSC, 4, 0),
        of(matmul::FILL_MODE, 4, FULL),
        of(matmul::EPILOGUE, 4, 1),
        of(matmul::BIAS_POINTER, 8, 0),
        of(matmul::BIAS_STRIDE, 8, 0),
        of(matmul::AUX_POINTER, 8, 0),
        of(matmul::AUX_LD, 8, 0),
        of(matmul::AUX_STRIDE, 8, 0),
        of(matmul::ALPHA_STRIDE, 8, 0),
        // The number of processors, which has no effect.
        of(15, 4, 0),
        of(matmul::A_SCALE, 8, 0),
        of(matmul::B_SCALE, 8, 0),
        of(matmul::C_SCALE, 8, 0),
        of(matmul::D_SCALE, 8, 0),
        of(matmul::AMAX_D, 8, 0),
        of(matmul::AUX_TYPE, 4, -1),
        of(23, 8, 0),
        of(24, 8, 0),
        // Fast sums of 8-bit numbers, which have no effect: sums are those of `float`.
        of(25, 1, 0),
        of(matmul::BIAS_TYPE, 4, -1),
        // Numbers of parts that a kernel counts, without effect unless their counters are set.
        of(27, 4, 0),
        of(28, 4, 0),
        of(29, 8, 0),
        of(30, 8, 0),
        of(31, 4, 0),
        of(32, 4, 0),
        of(33, 4, 0),
        of(34, 4, 0),
        of(35, 4, 0),
        of(36, 8, 0),
        of(37, 4, 0),
        of(38, 8, 0),
        of(39, 8, 0),
        of(40, 8, 0),
        // Flags for equal results in batches: results never depend on the batch.
        of(41, 4, 0x8000),
    ],
};

pub(super) static PREFERENCE: Kind = Kind {
    mark: 0x7072_6566,
    size: 64,
    attributes: &[
        of(0, 4, 0),
        of(1, 8, 0),
        of(3, 4, 7),
        of(5, 4, 256),
        of(6, 4, 256),
        of(7, 4, 256),
        of(8, 4, 256),
        of(9, 4, 0),
        of(12, 8, -1),
        of(13, 4, 0),
        of(14, 4, 0),
        of(15, 4, 0),
    ],
};

/// The numbers of `cublasLtMatrixTransformDescAttributes_t`.
pub(super) mod transform {
    pub(in crate::lt) const SCALE_TYPE: u32 = 0;
    pub(in crate::lt) const POINTER_MODE: u32 = 1;
    pub(in crate::lt) const TRANSA: u32 = 2;
    pub(in crate::lt) const TRANSB: u32 = 3;
}

pub(super) static TRANSFORM: Kind = Kind {
    mark: 0x7472_616e,
    size: 64,
    attributes: &[
        of(transform::SCALE_TYPE, 4, 0),
        of(transform::POINTER_MODE, 4, 0),
        of(transform::TRANSA, 4, 0),
        of(transform::TRANSB, 4, 0),
    ],
};

fn layout_of(kind: cudaDataType, rows: u64, columns: u64, leading: i64) -> Outcome<Values> {
    let number = |value: u64| i64::try_from(value).map_err(|_| INVALID_VALUE);
    let mut values = LAYOUT.first();
    values.put(layout::TYPE, kind.into());
    values.put(layout::ROWS, number(rows)?);
    values.put(layout::COLS, number(columns)?);
    values.put(layout::LD, leading);
    Ok(values)
}

fn matmul_of(compute: cublasComputeType_t, scale: cudaDataType) -> Values {
    let mut values = MATMUL.first();
    values.put(matmul::COMPUTE_TYPE, compute.into());
    values.put(matmul::SCALE_TYPE, scale.into());
    values
}

fn transform_of(scale: cudaDataType) -> Values {
    let mut values = TRANSFORM.first();
    values.put(transform::SCALE_TYPE, scale.into());
    values
}

/// The functions of each kind: the ends, the setters and the getters.
macro_rules! functions {
    ($($kind:ident: $destroy:ident $set:ident $get:ident;)*) => {$(
        #[doc = concat!("`", stringify!($destroy), "`.")]
        ///
        /// # Safety
        /// The descriptor is null, or one that was made and not destroyed.
        pub unsafe extern "C" fn $destroy(_: c_int, descriptor: *mut c_void) -> cublasStatus_t {
            let name = const { cuarray_stream_work::c_name(concat!(stringify!($destroy), "\0")) };
            cuarray_stream_work::guarded(name, || $kind.destroy(descriptor))
        }

        #[doc = concat!("`", stringify!($set), "`.")]
        ///
        /// # Safety
        /// The descriptor is null or valid, and `from` is null or has `size` bytes.
        pub unsafe extern "C" fn $set(
            _: c_int,
            descriptor: *mut c_void,
            attribute: c_int,
            from: *const c_void,
            size: usize,
        ) -> cublasStatus_t {
            let name = const { cuarray_stream_work::c_name(concat!(stringify!($set), "\0")) };
            cuarray_stream_work::guarded(name, || $kind.set(descriptor, number(attribute)?, from, size))
        }

        #[doc = concat!("`", stringify!($get), "`.")]
        ///
        /// # Safety
        /// The descriptor is null or valid, `to` is null or has `size` bytes, and `written` is null or may be written.
        pub unsafe extern "C" fn $get(
            _: c_int,
            descriptor: *const c_void,
            attribute: c_int,
            to: *mut c_void,
            size: usize,
            written: *mut usize,
        ) -> cublasStatus_t {
            let name = const { cuarray_stream_work::c_name(concat!(stringify!($get), "\0")) };
            cuarray_stream_work::guarded(name, || $kind.get(descriptor, number(attribute)?, to, size, written))
        }
    )*};
}

/// The number of an attribute.
pub(super) fn number(attribute: c_int) -> Outcome<u32> {
    u32::try_from(attribute).map_err(|_| INVALID_VALUE)
}

functions! {
    LAYOUT: cublasLtMatrixLayoutDestroy cublasLtMatrixLayoutSetAttribute cublasLtMatrixLayoutGetAttribute;
    MATMUL: cublasLtMatmulDescDestroy cublasLtMatmulDescSetAttribute cublasLtMatmulDescGetAttribute;
    PREFERENCE: cublasLtMatmulPreferenceDestroy cublasLtMatmulPreferenceSetAttribute cublasLtMatmulPreferenceGetAttribute;
    TRANSFORM: cublasLtMatrixTransformDescDestroy cublasLtMatrixTransformDescSetAttribute cublasLtMatrixTransformDescGetAttribute;
}

/// The functions that make descriptors, in memory of this library and in memory of the caller.
macro_rules! makers {
    ($($kind:ident: $create:ident $init:ident($($arg:ident: $ty:ty),*) $values:expr;)*) => {$(
        #[doc = concat!("`", stringify!($create), "`.")]
        ///
        /// # Safety
        /// `descriptor` is null or may be written.
        pub unsafe extern "C" fn $create(_: c_int, descriptor: *mut *mut c_void, $($arg: $ty),*) -> cublasStatus_t {
            let name = const { cuarray_stream_work::c_name(concat!(stringify!($create), "\0")) };
            cuarray_stream_work::guarded(name, || $kind.create(descriptor, &$values?))
        }

        #[doc = concat!("`", stringify!($init), "`, which the function of the header calls.")]
        ///
        /// # Safety
        /// `descriptor` is null or has `size` bytes that may be written.
        pub unsafe extern "C" fn $init(_: c_int, descriptor: *mut c_void, size: usize, $($arg: $ty),*) -> cublasStatus_t {
            let name = const { cuarray_stream_work::c_name(concat!(stringify!($init), "\0")) };
            cuarray_stream_work::guarded(name, || $values?.init(descriptor, size))
        }
    )*};
}

makers! {
    LAYOUT: cublasLtMatrixLayoutCreate cublasLtMatrixLayoutInit_internal(kind: cudaDataType, rows: u64, columns: u64, leading: i64)
        layout_of(kind, rows, columns, leading);
    MATMUL: cublasLtMatmulDescCreate cublasLtMatmulDescInit_internal(compute: cublasComputeType_t, scale: cudaDataType)
        Outcome::Ok(matmul_of(compute, scale));
    PREFERENCE: cublasLtMatmulPreferenceCreate cublasLtMatmulPreferenceInit_internal()
        Outcome::Ok(PREFERENCE.first());
    TRANSFORM: cublasLtMatrixTransformDescCreate cublasLtMatrixTransformDescInit_internal(scale: cudaDataType)
        Outcome::Ok(transform_of(scale));
}

/// A matrix as its descriptor has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) data: crate::scalar::DataType,
    pub(super) by_rows: bool,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) leading: usize,
    pub(super) count: usize,
    pub(super) stride: usize,
    /// Whether the address is that of an array of pointers.
    pub(super) by_pointers: bool,
}

impl Layout {
    /// The layout of a descriptor.
    pub(super) fn open(descriptor: *const c_void) -> Outcome<Layout> {
        let values = LAYOUT.open(descriptor)?;
        let size = |number: u32| usize::try_from(values.get(number)).map_err(|_| INVALID_VALUE);
        let by_rows = match values.get(layout::ORDER) {
            0 => false,
            1 => true,
            2..=4 => return Err(NOT_SUPPORTED),
            _ => return Err(INVALID_VALUE),
        };
        let by_pointers = match values.get(layout::BATCH_MODE) {
            0 => false,
            1 => true,
            _ => return Err(NOT_SUPPORTED),
        };
        if values.get(layout::PLANE_OFFSET) != 0 {
            return Err(NOT_SUPPORTED);
        }
        let data = c_int::try_from(values.get(layout::TYPE)).map_err(|_| INVALID_VALUE)?;
        let made = Layout {
            data: crate::scalar::DataType::of(data)?,
            by_rows,
            rows: size(layout::ROWS)?,
            columns: size(layout::COLS)?,
            leading: size(layout::LD)?,
            count: size(layout::BATCH_COUNT)?,
            stride: size(layout::BATCH_STRIDE)?,
            by_pointers,
        };
        let within = if by_rows { made.columns } else { made.rows };
        if made.leading < within.max(1) || made.count == 0 { Err(INVALID_VALUE) } else { Ok(made) }
    }

    /// The rows and columns in memory, where columns lie one after the other.
    pub(super) fn stored(&self) -> (usize, usize) {
        if self.by_rows { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }

    /// The bytes of the matrices at an address.
    pub(super) fn region(&self, address: u64) -> cuarray_stream_work::Region {
        let stored = crate::layout::Stored::typed(address, self.data, self.stored(), self.leading);
        match self.by_pointers {
            true => stored.behind_pointers(self.count, cuarray_stream_work::Part::All),
            false => stored.batch(self.count, self.stride),
        }
    }

    /// The distance of elements between matrices of a batch, as the closure sees them.
    pub(super) fn part(&self) -> usize {
        if self.stride == 0 && !self.by_pointers { 0 } else { self.rows * self.columns }
    }

    /// The distances of rows and of columns, as the closure sees them.
    pub(super) fn steps(&self) -> (usize, usize) {
        if self.by_rows { (self.columns, 1) } else { (1, self.rows) }
    }
}
