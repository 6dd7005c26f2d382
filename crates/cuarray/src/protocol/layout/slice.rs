//! [`s!`](crate::s): indices with the resulting number of dimensions in their type, as in ndarray.

use super::{
    dimension::{Dimension, Ix, IxDyn},
    index::{Index, Slice},
};
use std::{
    marker::PhantomData,
    ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive},
};

/// Selects elements of an array. An integer removes its dimension, a range keeps it, and `range; step` takes every `step`th
/// element. Negative positions count from the end, as in NumPy.
///
/// ```
/// use cuarray::{DeviceArray, s};
///
/// # cuarray::__simulated!(driver, context, stream);
/// let array = DeviceArray::from_host(&[0, 1, 2, 3, 4, 5], [2, 3], &stream)?;
/// assert_eq!(array.slice(s![1, ..])?.to_host()?, [3, 4, 5]);
/// assert_eq!(array.slice(s![.., ..; -1])?.to_host()?, [2, 1, 0, 5, 4, 3]);
/// assert_eq!(array.slice(s![-1, 1..])?.to_host()?, [4, 5]);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    (@parse [$($done:expr,)*] $range:expr; $step:expr, $($rest:tt)*) => {
        $crate::s!(@parse [$($done,)* $crate::__private::stepped($range, $step),] $($rest)*)
    };
    (@parse [$($done:expr,)*] $range:expr; $step:expr) => {
        $crate::s!(@parse [$($done,)* $crate::__private::stepped($range, $step),])
    };
    (@parse [$($done:expr,)*] $index:expr, $($rest:tt)*) => {
        $crate::s!(@parse [$($done,)* $index,] $($rest)*)
    };
    (@parse [$($done:expr,)*] $index:expr) => {
        $crate::s!(@parse [$($done,)* $index,])
    };
    (@parse [$($done:expr,)*]) => {{
        let slice = $crate::SliceArg::new();
        $(let slice = slice.with($done);)*
        slice
    }};
    (@parse $($unknown:tt)*) => {
        ::core::compile_error!("s! takes integers, ranges and `range; step`")
    };
    ($($indices:tt)*) => {
        $crate::s!(@parse [] $($indices)*)
    };
}

/// The indices that [`s!`](crate::s) makes; `D` is the number of dimensions that they leave.
#[derive(Clone, Debug)]
pub struct SliceArg<const N: usize, D> {
    indices: [Index; N],
    dim: PhantomData<D>,
}

impl SliceArg<0, Ix<0>> {
    // `s!` expands to this.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        SliceArg { indices: [], dim: PhantomData }
    }
}

impl<const N: usize, D> AsRef<[Index]> for SliceArg<N, D> {
    fn as_ref(&self) -> &[Index] {
        &self.indices
    }
}

/// One index of [`s!`](crate::s).
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index of `s!`",
    note = "write integers and ranges of `i32`, `isize` or `usize`, such as `s![0, 1..-1, ..;2]`; a range with a step is `range; step`"
)]
pub trait SliceItem {
    /// The number of dimensions after this index, where the earlier indices leave `D`.
    type Left<D: Larger>: Larger;

    fn into_index(self) -> Index;
}

/// A number of dimensions that can grow by one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is not a number of dimensions that `s!` can return")]
pub trait Larger: Dimension {
    type Next: Larger;
}

macro_rules! numbers {
    ($($number:literal $next:ty, $longer:literal;)*) => {
        $(impl Larger for Ix<$number> {
            type Next = $next;
        }

        impl<D: Larger> SliceArg<$number, D> {
            // `s!` expands to this.
            #[doc(hidden)]
            pub fn with<I: SliceItem>(self, item: I) -> SliceArg<$longer, I::Left<D>> {
                let mut indices = [Index::At(0); $longer];
                indices[..$number].copy_from_slice(&self.indices);
                indices[$number] = item.into_index();
                SliceArg { indices, dim: PhantomData }
            }
        })*
    };
}

numbers! {
    0 Ix<1>, 1;
    1 Ix<2>, 2;
    2 Ix<3>, 3;
    3 Ix<4>, 4;
    4 Ix<5>, 5;
    5 Ix<6>, 6;
    6 IxDyn, 7;
}

impl Larger for IxDyn {
    type Next = IxDyn;
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl SliceItem for $integer {
            type Left<D: Larger> = D;

            fn into_index(self) -> Index {
                Index::At(place(self))
            }
        }

        impl SliceItem for Range<$integer> {
            type Left<D: Larger> = D::Next;

            fn into_index(self) -> Index {
                Index::Slice(Slice { start: Some(place(self.start)), stop: Some(place(self.end)), step: None })
            }
        }

        impl SliceItem for RangeFrom<$integer> {
            type Left<D: Larger> = D::Next;

            fn into_index(self) -> Index {
                Index::Slice(Slice { start: Some(place(self.start)), stop: None, step: None })
            }
        }

        impl SliceItem for RangeTo<$integer> {
            type Left<D: Larger> = D::Next;

            fn into_index(self) -> Index {
                Index::Slice(Slice { start: None, stop: Some(place(self.end)), step: None })
            }
        }

        impl SliceItem for RangeInclusive<$integer> {
            type Left<D: Larger> = D::Next;

            fn into_index(self) -> Index {
                Index::Slice(Slice { start: Some(place(*self.start())), stop: after(place(*self.end())), step: None })
            }
        }

        impl SliceItem for RangeToInclusive<$integer> {
            type Left<D: Larger> = D::Next;

            fn into_index(self) -> Index {
                Index::Slice(Slice { start: None, stop: after(place(self.end)), step: None })
            }
        })*
    };
}

integers! { i32 isize usize }

impl SliceItem for RangeFull {
    type Left<D: Larger> = D::Next;

    fn into_index(self) -> Index {
        Index::Slice(Slice::default())
    }
}

impl SliceItem for Slice {
    type Left<D: Larger> = D::Next;

    fn into_index(self) -> Index {
        Index::Slice(self)
    }
}

/// A range with a step, for [`s!`](crate::s).
#[doc(hidden)]
pub fn stepped(range: impl SliceItem, step: isize) -> Slice {
    match range.into_index() {
        Index::Slice(slice) => Slice { step: Some(step), ..slice },
        // An integer selects one position; the step has no effect.
        Index::At(at) => Slice { start: Some(at), stop: after(at), step: Some(step) },
        Index::Ellipsis | Index::NewAxis => Slice { step: Some(step), ..Slice::default() },
    }
}

/// Converts a number to a position and saturates; no array is long enough for numbers beyond `isize`.
fn place(number: impl TryInto<isize>) -> isize {
    number.try_into().unwrap_or(isize::MAX)
}

/// The position after `place`; `None` after -1, which is the last.
fn after(place: isize) -> Option<isize> {
    if place == -1 { None } else { Some(place.saturating_add(1)) }
}
