//! What a function asks of the memory order of an array, as a type.
//!
//! Most kernels are written for elements that lie one behind the other, and most arrays are so. A view of every second column is not,
//! and a kernel that is given its pointer reads the wrong elements and says nothing. So who cannot take strides says so in the type
//! of the argument, and an array that is laid out otherwise never arrives.

use crate::Layout;
use std::fmt;

/// Which layouts are taken: [`AnyLayout`], [`CContiguous`] or [`FContiguous`].
///
/// ```
/// use cuarray::{AnyLayout, CContiguous, FContiguous, Layout, LayoutPolicy};
///
/// let (rows, columns) = (Layout::c_contiguous(&[3, 4], 4)?, Layout::f_contiguous(&[3, 4], 4)?);
/// assert!(CContiguous::allows(&rows) && !CContiguous::allows(&columns));
/// assert!(FContiguous::allows(&columns) && !FContiguous::allows(&rows));
/// assert!(AnyLayout::allows(&rows.transpose(None)?));
/// # Ok::<(), cuarray::Error>(())
/// ```
pub trait LayoutPolicy: sealed::Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// What is expected, for messages; empty where anything is taken.
    const NAME: &'static str;

    /// Whether such a layout is taken.
    #[doc(hidden)]
    fn allows(layout: &Layout) -> bool;
}

/// Any strides: zero and negative ones too.
///
/// ```
/// use cuarray::{AnyLayout, Layout, LayoutPolicy};
///
/// assert!(AnyLayout::allows(&Layout::strided(&[8, 4], &[-16, 0], 4)?));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnyLayout;

/// C order without gaps; see [`Layout::is_c_contiguous`].
///
/// ```
/// use cuarray::{CContiguous, Layout, LayoutPolicy};
///
/// let rows = Layout::c_contiguous(&[3, 4], 4)?;
/// assert!(CContiguous::allows(&rows));
/// assert!(!CContiguous::allows(&rows.transpose(None)?));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CContiguous;

/// Fortran order without gaps; see [`Layout::is_f_contiguous`].
///
/// ```
/// use cuarray::{FContiguous, Layout, LayoutPolicy};
///
/// let rows = Layout::c_contiguous(&[3, 4], 4)?;
/// assert!(!FContiguous::allows(&rows));
/// assert!(FContiguous::allows(&rows.transpose(None)?));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FContiguous;

impl LayoutPolicy for AnyLayout {
    const NAME: &'static str = "";

    #[doc(hidden)]
    fn allows(_: &Layout) -> bool {
        true
    }
}

impl LayoutPolicy for CContiguous {
    const NAME: &'static str = "C-contiguous";

    #[doc(hidden)]
    fn allows(layout: &Layout) -> bool {
        layout.is_c_contiguous()
    }
}

impl LayoutPolicy for FContiguous {
    const NAME: &'static str = "Fortran-contiguous";

    #[doc(hidden)]
    fn allows(layout: &Layout) -> bool {
        layout.is_f_contiguous()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::AnyLayout {}
    impl Sealed for super::CContiguous {}
    impl Sealed for super::FContiguous {}
}
