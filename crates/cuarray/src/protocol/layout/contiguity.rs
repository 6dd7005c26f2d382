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
/// use cuarray::{CContiguous, IxDyn, RawView, Result, TypedView};
///
/// /// Refuses an array with gaps or in another order.
/// fn rows(view: RawView) -> Result<TypedView<f32, IxDyn, CContiguous>> {
///     view.typed()
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a requirement on a layout",
    note = "write `CContiguous`, `FContiguous`, or `AnyLayout` for arrays of any strides"
)]
pub trait LayoutPolicy: sealed::Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// The requirement in messages; empty if any layout is accepted.
    const NAME: &'static str;
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
}

impl LayoutPolicy for CContiguous {
    const NAME: &'static str = "C-contiguous";
}

impl LayoutPolicy for FContiguous {
    const NAME: &'static str = "Fortran-contiguous";
}

mod sealed {
    use super::{AnyLayout, CContiguous, FContiguous, Layout};

    pub trait Sealed {
        /// Whether the layout meets the requirement.
        fn allows(layout: &Layout) -> bool;
    }

    impl Sealed for AnyLayout {
        fn allows(_: &Layout) -> bool {
            true
        }
    }

    impl Sealed for CContiguous {
        fn allows(layout: &Layout) -> bool {
            layout.is_c_contiguous()
        }
    }

    impl Sealed for FContiguous {
        fn allows(layout: &Layout) -> bool {
            layout.is_f_contiguous()
        }
    }
}
