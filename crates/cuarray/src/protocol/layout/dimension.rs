//! The number of dimensions as a type, known to the compiler or left to run time.
//!
//! A function that multiplies matrices takes arrays of two dimensions. Stated as a type, the number is checked when the array
//! arrives, and `let [rows, columns] = x.shape();` cannot fail afterwards. The names are those of `ndarray`. The types belong
//! to this crate, so that its interface does not depend on another crate's version.

use crate::{Axes, Dims, Layout, Strides};
use std::fmt;

/// A number of dimensions: [`Ix0`] to [`Ix6`], [`Ix`] of any constant, or [`IxDyn`].
///
/// ```
/// use cuarray::{Dimension, Ix2, IxDyn};
///
/// assert_eq!((Ix2::NDIM, IxDyn::NDIM), (Some(2), None));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of dimensions",
    note = "write `Ix0` to `Ix6`, `Ix<7>` and above, or `IxDyn` for a number known at run time only"
)]
pub trait Dimension: sealed::Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// The number of dimensions; `None` if it is known at run time only.
    const NDIM: Option<usize>;

    /// Lengths, one for each dimension: a Rust array if their number is known.
    type Shape: AsRef<[usize]> + Clone + fmt::Debug + PartialEq + sealed::FromNumbers<usize>;

    /// Strides, one for each dimension.
    type Strides: AsRef<[isize]> + Clone + fmt::Debug + PartialEq + sealed::FromNumbers<isize>;

    /// The position of one element, an index for each dimension.
    type Index: AsRef<[usize]> + ?Sized;
}

/// Exactly `N` dimensions.
///
/// ```
/// use cuarray::{Acquired, Ix2};
///
/// /// How many bytes a row takes, where the type says that there are rows.
/// fn row<T>(array: &Acquired<'_, T, Ix2>) -> isize {
///     let [row, _column] = array.strides();
///     row
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ix<const N: usize>;

/// Any number of dimensions, known at run time.
///
/// ```
/// use cuarray::{Acquired, IxDyn};
///
/// fn is_matrix<T>(array: &Acquired<'_, T, IxDyn>) -> bool {
///     array.layout().ndim() == 2
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IxDyn;

/// No dimensions: one element.
pub type Ix0 = Ix<0>;
/// One dimension.
pub type Ix1 = Ix<1>;
/// Two dimensions.
pub type Ix2 = Ix<2>;
/// Three dimensions.
pub type Ix3 = Ix<3>;
/// Four dimensions.
pub type Ix4 = Ix<4>;
/// Five dimensions.
pub type Ix5 = Ix<5>;
/// Six dimensions.
pub type Ix6 = Ix<6>;

impl<const N: usize> Dimension for Ix<N> {
    const NDIM: Option<usize> = Some(N);
    type Shape = [usize; N];
    type Strides = [isize; N];
    type Index = [usize; N];
}

impl Dimension for IxDyn {
    const NDIM: Option<usize> = None;
    type Shape = Dims;
    type Strides = Strides;
    type Index = [usize];
}

/// A shape whose number of dimensions is known to the compiler (an array, a number) or not (a slice, a vector).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    note = "write an array `[rows, columns]` of `usize`, a `usize` for one dimension, or a `&[usize]` or `Vec<usize>` for `IxDyn`"
)]
pub trait IntoShape: sealed::Lengths {
    /// The number of dimensions, as a type.
    type Dim: Dimension;
}

impl<const N: usize> IntoShape for [usize; N] {
    type Dim = Ix<N>;
}

impl<const N: usize> IntoShape for &[usize; N] {
    type Dim = Ix<N>;
}

impl IntoShape for usize {
    type Dim = Ix1;
}

impl IntoShape for &[usize] {
    type Dim = IxDyn;
}

impl IntoShape for Vec<usize> {
    type Dim = IxDyn;
}

mod sealed {
    use super::{Axes, Ix, IxDyn, Layout};

    pub trait Sealed {
        /// The shape of a layout of this ndim. For a layout of another ndim it is cut off or filled up.
        fn shape<S: FromNumbers<usize>>(layout: &Layout) -> S {
            S::from_numbers(layout.shape())
        }

        /// The strides of a layout of this ndim. For another ndim they are cut off or filled up.
        fn strides<S: FromNumbers<isize>>(strides: &[isize]) -> S {
            S::from_numbers(strides)
        }
    }

    impl<const N: usize> Sealed for Ix<N> {}
    impl Sealed for IxDyn {}

    /// One number for each axis.
    pub trait FromNumbers<T> {
        fn from_numbers(numbers: &[T]) -> Self;
    }

    impl<T: Copy + Default, const N: usize> FromNumbers<T> for [T; N] {
        fn from_numbers(numbers: &[T]) -> [T; N] {
            let mut array = [T::default(); N];
            array.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
            array
        }
    }

    impl<T: Copy> FromNumbers<T> for Axes<T> {
        fn from_numbers(numbers: &[T]) -> Axes<T> {
            Axes::from_slice(numbers)
        }
    }

    pub trait Lengths {
        /// The length of each dimension.
        fn lengths(&self) -> &[usize];
    }

    impl<const N: usize> Lengths for [usize; N] {
        fn lengths(&self) -> &[usize] {
            self
        }
    }

    impl<const N: usize> Lengths for &[usize; N] {
        fn lengths(&self) -> &[usize] {
            *self
        }
    }

    impl Lengths for usize {
        fn lengths(&self) -> &[usize] {
            std::slice::from_ref(self)
        }
    }

    impl Lengths for &[usize] {
        fn lengths(&self) -> &[usize] {
            self
        }
    }

    impl Lengths for Vec<usize> {
        fn lengths(&self) -> &[usize] {
            self
        }
    }
}
