//! Requirements on the memory order of an array, as types.
//!
//! Most kernels expect elements without gaps, and most arrays have none. A view of every second column has gaps, and
//! a kernel that gets its pointer silently reads the wrong elements. A function that cannot handle strides states its
//! requirement in the type of its argument, and an array with another layout is refused.

use crate::Layout;
use std::fmt;

/// The accepted layouts: [`AnyLayout`], [`CContiguous`] or [`FContiguous`].
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a requirement on a layout",
    note = "write `CContiguous`, `FContiguous`, or `AnyLayout` for arrays of any strides"
)]
pub trait LayoutPolicy: sealed::Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// The requirement in messages; empty if any layout is accepted.
    const NAME: &'static str;

    /// Whether the layout meets the requirement.
    #[doc(hidden)]
    fn allows(layout: &Layout) -> bool;
}

/// Accepts any strides, also zero and negative ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnyLayout;

/// C order without gaps; see [`Layout::is_c_contiguous`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CContiguous;

/// Fortran order without gaps; see [`Layout::is_f_contiguous`].
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
