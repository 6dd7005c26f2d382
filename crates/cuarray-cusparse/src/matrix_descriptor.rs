//! Descriptors of the functions with a letter for their type: `cusparseMatDescr_t`.

use crate::call::{base, choice};
use crate::sparse_matrix::Triangle;
use crate::status::{INVALID_VALUE, Outcome, write};
use crate::types::*;
use cuarray_stream_work::{Objects, c_name, guarded};
use std::ffi::c_int;

/// The target of `cusparseMatDescr_t`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Description {
    kind: c_int,
    fill: c_int,
    diag: c_int,
    base: c_int,
}

impl Description {
    /// The index base.
    pub(crate) fn base(self) -> usize {
        usize::from(self.base == 1)
    }

    /// The triangle that a solver uses.
    pub(crate) fn triangle(self) -> Triangle {
        Triangle { is_upper: self.fill == 1, is_unit: self.diag == 1 }
    }

    /// Checks that the matrix is a general one, as most functions need it.
    pub(crate) fn general(self) -> Outcome<Description> {
        if self.kind == 0 { Ok(self) } else { Err(cusparseStatus_t::MATRIX_TYPE_NOT_SUPPORTED) }
    }
}

static DESCRIPTIONS: Objects<Description, cusparseStatus_t> = Objects::new(0x637c_0000_0000, INVALID_VALUE);

/// The description of a general matrix.
pub(crate) fn general(descriptor: cusparseMatDescr_t) -> Outcome<Description> {
    DESCRIPTIONS.get(descriptor)?.general()
}

/// `cusparseCreateMatDescr`.
pub(crate) fn create(to: *mut cusparseMatDescr_t) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    write(to, DESCRIPTIONS.add(Description::default()))
}

/// `cusparseDestroyMatDescr`.
pub(crate) fn destroy(descriptor: cusparseMatDescr_t) -> Outcome {
    if descriptor == 0 { Ok(()) } else { DESCRIPTIONS.remove(descriptor).map(drop) }
}

fn change(descriptor: cusparseMatDescr_t, f: impl FnOnce(&mut Description)) -> Outcome {
    DESCRIPTIONS.change(descriptor, |description| {
        f(description);
        Ok(())
    })
}

/// `cusparseSetMatType`.
pub(crate) fn set_type(descriptor: cusparseMatDescr_t, kind: cusparseMatrixType_t) -> Outcome {
    if !(0..4).contains(&kind) {
        return Err(INVALID_VALUE);
    }
    change(descriptor, |description| description.kind = kind)
}

/// `cusparseSetMatFillMode`.
pub(crate) fn set_fill(descriptor: cusparseMatDescr_t, fill: cusparseFillMode_t) -> Outcome {
    choice(fill)?;
    change(descriptor, |description| description.fill = fill)
}

/// `cusparseSetMatDiagType`.
pub(crate) fn set_diag(descriptor: cusparseMatDescr_t, diag: cusparseDiagType_t) -> Outcome {
    choice(diag)?;
    change(descriptor, |description| description.diag = diag)
}

/// `cusparseSetMatIndexBase`.
pub(crate) fn set_base(descriptor: cusparseMatDescr_t, index_base: cusparseIndexBase_t) -> Outcome {
    base(index_base)?;
    change(descriptor, |description| description.base = index_base)
}

/// Functions that return a setting. Without a descriptor that is the default, as they return no status.
macro_rules! settings {
    ($($name:ident: $field:ident;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(descriptor: cusparseMatDescr_t) -> c_int {
            let mut value = 0;
            let name = const { c_name(concat!(stringify!($name), "\0")) };
            let _: cusparseStatus_t = guarded(name, || {
                value = DESCRIPTIONS.get(descriptor)?.$field;
                Ok(())
            });
            value
        }
        crate::exports::node!($name);
    )* };
}

settings! {
    cusparseGetMatType: kind;
    cusparseGetMatFillMode: fill;
    cusparseGetMatDiagType: diag;
    cusparseGetMatIndexBase: base;
}
