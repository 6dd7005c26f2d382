//! Shape and byte strides, checked together.
//!
//! Many libraries recompute the number of elements, the bytes around the data pointer, and C or Fortran contiguity from
//! shape and strides. A place that misses an overflow, or counts a zero stride as contiguous, reads past an allocation. Here
//! the arithmetic is done and checked once, on construction. A [`Layout`] has a representable byte count and extent, so its
//! methods cannot fail. Results are not stored: each is a pass over a few integers that are in the cache already.
//!
//! Zero and negative strides are legal (clause I8), and so are strides that are not multiples of the item size, as fields of
//! structures have them. Contiguity follows NumPy: axes of length 1 do not count, and an array without elements is
//! contiguous in both orders. A zero stride on a longer axis is *not* contiguous: broadcasting makes such strides, and a
//! consumer that assumed C order would read past the single element.

pub(crate) mod axes;
pub(crate) mod contiguity;
pub(crate) mod dimension;
pub(crate) mod index;
pub(crate) mod reshape;
pub(crate) mod slice;
pub(crate) mod view;

use crate::{Dims, Error, Result, Strides};
use std::{fmt, ops::Range};

/// The most dimensions of a [`Layout`], which is NumPy's limit.
pub const MAX_NDIM: usize = 64;

/// Shape, byte strides and item size of an array (clauses I2 and I8), checked together.
///
/// ```
/// use cuarray::Layout;
///
/// let rows = Layout::c_contiguous(&[3, 4], 4)?;
/// assert_eq!(rows.strides(), &[16, 4]);
/// assert_eq!((rows.len(), rows.nbytes()), (12, 48));
///
/// // Every second column, from the last to the first.
/// let view = Layout::strided(&[3, 2], &[16, -8], 4)?;
/// assert!(!view.is_c_contiguous());
///
/// let error = Layout::c_contiguous(&[usize::MAX, 2], 4).unwrap_err();
/// assert_eq!(error.key(), Some("shape"));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Dims,
    strides: Strides,
    itemsize: u32,
}

// The derived implementation clones number by number, which takes longer than the rest of a guard's registration.
impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Layout {
        Layout {
            shape: Dims::from_slice(&self.shape),
            strides: Strides::from_slice(&self.strides),
            itemsize: self.itemsize,
        }
    }
}

impl Layout {
    /// A layout in C order: the last dimension is the fastest.
    ///
    /// # Errors
    /// Key `shape`: more than [`MAX_NDIM`] dimensions, or more bytes than `isize::MAX`. As in NumPy, the product of the other
    /// lengths is checked even if one dimension has length 0. Key `typestr`: an item size beyond `i32::MAX`.
    pub fn c_contiguous(shape: &[usize], itemsize: usize) -> Result<Layout> {
        Layout::from_parts(Dims::from_slice(shape), None, itemsize)
    }

    /// A layout in Fortran order: the first dimension is the fastest.
    ///
    /// # Errors
    /// As [`Layout::c_contiguous`].
    pub fn f_contiguous(shape: &[usize], itemsize: usize) -> Result<Layout> {
        let checked_itemsize = check_shape(shape, itemsize)?;
        let mut step = itemsize as isize;
        let strides = shape.iter().map(|&length| next_stride(&mut step, length)).collect();
        Ok(Layout { shape: Dims::from_slice(shape), strides, itemsize: checked_itemsize })
    }

    /// A layout with any strides, in bytes.
    ///
    /// # Errors
    /// As [`Layout::c_contiguous`]. Key `strides`: their number differs from that of the dimensions, or the extent exceeds
    /// `isize`.
    pub fn strided(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<Layout> {
        Layout::from_parts(Dims::from_slice(shape), Some(Strides::from_slice(strides)), itemsize)
    }

    /// A layout from the optional `strides` entry of an import; without strides, C order.
    ///
    /// # Errors
    /// As [`Layout::strided`].
    #[inline(always)] // So that an import writes the parts directly to their final place.
    pub(crate) fn from_parts(shape: Dims, strides: Option<Strides>, itemsize: usize) -> Result<Layout> {
        let checked_itemsize = check_shape(&shape, itemsize)?;
        let strides = match strides {
            Some(strides) => {
                check_strides(&shape, &strides, itemsize)?;
                strides
            }
            None => c_strides(&shape, itemsize),
        };
        Ok(Layout { shape, strides, itemsize: checked_itemsize })
    }

    /// An empty layout for [`Layout::fill`].
    #[inline(always)]
    pub(crate) fn blank() -> Layout {
        Layout { shape: Dims::new(), strides: Strides::new(), itemsize: 0 }
    }

    /// [`Layout::from_parts`] in place, because moving a layout costs an import more than checking it.
    ///
    /// `shape` and `strides` append the entries. Returns the [extent](Layout::byte_extent), or `None` for elements in C order.
    /// After an error the layout must not be used.
    #[inline(always)]
    pub(crate) fn fill<E: From<Error>>(
        &mut self,
        itemsize: usize,
        shape: impl FnOnce(&mut Dims) -> Result<(), E>,
        strides: Option<impl FnOnce(&mut Strides, &Dims) -> Result<(), E>>,
    ) -> Result<Option<Range<isize>>, E> {
        shape(&mut self.shape)?;
        self.itemsize = check_shape(&self.shape, itemsize)?;
        let Some(strides) = strides else {
            self.strides = c_strides(&self.shape, itemsize);
            return Ok(None);
        };
        strides(&mut self.strides, &self.shape)?;
        // A layout in C order spans exactly the bytes of its shape.
        if self.strides.len() == self.shape.len() && is_dense(self.axes().rev(), itemsize) {
            return Ok(None);
        }
        Ok(Some(check_strides(&self.shape, &self.strides, itemsize)?))
    }

    /// The length of each dimension; empty for a 0-d array, which has one element.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The strides in bytes, one for each dimension.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The bytes of one element.
    pub fn itemsize(&self) -> usize {
        self.itemsize as usize
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        // The product cannot overflow, even before a zero: `check_shape` has bounded it.
        self.shape.iter().product()
    }

    /// Whether there are no elements, because a dimension has length 0.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Elements times item size, as in NumPy: the size of a contiguous copy. Strides with gaps or repetitions touch another
    /// number of bytes.
    pub fn nbytes(&self) -> usize {
        self.len() * self.itemsize()
    }

    /// Whether the elements lie without gaps in C order. As in NumPy, the strides of axes of length 1 are ignored, and an empty
    /// array is contiguous. An array with a zero stride on a longer axis is not contiguous.
    pub fn is_c_contiguous(&self) -> bool {
        self.is_empty() || is_dense(self.axes().rev(), self.itemsize())
    }

    /// Whether the elements lie without gaps in Fortran order, with the rules of [`Layout::is_c_contiguous`].
    pub fn is_f_contiguous(&self) -> bool {
        self.is_empty() || is_dense(self.axes(), self.itemsize())
    }

    /// The strides for an export. An axis of length one has the stride that it would have in C order, as some libraries check the
    /// strides of such axes too. So has every axis of an array without elements.
    pub(crate) fn canonical_strides(&self) -> Strides {
        let mut strides: Strides = self.strides.clone();
        let mut dense = self.itemsize() as isize;
        for (stride, &length) in strides.iter_mut().zip(&self.shape).rev() {
            if length == 1 || self.is_empty() {
                *stride = dense;
            }
            // A stride that does not fit is never used: the axes before it have one element.
            dense = stride.saturating_mul(length as isize);
        }
        strides
    }

    /// The bytes of the elements, relative to the data pointer, from the lowest first byte to the end of the highest element.
    /// The range starts below zero if strides are negative, and is `0..0` without elements.
    pub(crate) fn byte_extent(&self) -> Range<isize> {
        if self.itemsize == 0 {
            return 0..0;
        }
        // No sum wraps if there are elements: check_strides has computed the same sums.
        let (mut low, mut high) = (0isize, 0isize);
        for (length, stride) in self.axes() {
            if length == 0 {
                return 0..0;
            }
            let last = (length as isize - 1).wrapping_mul(stride);
            low = low.wrapping_add(last.min(0));
            high = high.wrapping_add(last.max(0));
        }
        low..high + self.itemsize as isize
    }

    fn axes(&self) -> impl DoubleEndedIterator<Item = (usize, isize)> {
        self.shape.iter().copied().zip(self.strides.iter().copied())
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layout(shape {}, strides {}, itemsize {})", Tuple(&self.shape), Tuple(&self.strides), self.itemsize)
    }
}

/// The stride of the next outer axis. A length of 0 counts as 1, so that the strides after it are not all zero. `check_shape`
/// has bounded the product.
fn next_stride(step: &mut isize, length: usize) -> isize {
    let stride = *step;
    *step *= length.max(1) as isize;
    stride
}

/// The strides of a C-contiguous array.
#[inline]
fn c_strides(shape: &[usize], itemsize: usize) -> Strides {
    let ndim = shape.len();
    let mut strides = Strides::repeat(0, ndim);
    let mut step = itemsize as isize;
    for (stride, &length) in strides.iter_mut().zip(shape).rev() {
        *stride = next_stride(&mut step, length);
    }
    strides
}

/// Whether `axes`, from the fastest to the slowest, lie without gaps.
fn is_dense(axes: impl Iterator<Item = (usize, isize)>, itemsize: usize) -> bool {
    let mut step = itemsize as isize;
    for (length, stride) in axes {
        if length != 1 {
            if stride != step {
                return false;
            }
            step *= length as isize;
        }
    }
    true
}

/// Checks number of dimensions and byte count; returns the item size as `u32`.
fn check_shape(shape: &[usize], itemsize: usize) -> Result<u32> {
    let narrow = match i32::try_from(itemsize) {
        Ok(itemsize) => itemsize as u32,
        Err(_) => {
            return Err(Error::entry(
                "typestr",
                format!("an item size of {itemsize} bytes; at most 2147483647 are supported"),
            ));
        }
    };
    if shape.len() > MAX_NDIM {
        return Err(Error::entry("shape", format!("{} dimensions; at most {MAX_NDIM} are supported", shape.len())));
    }
    match shape.iter().try_fold(itemsize.max(1), |bytes, &length| bytes.checked_mul(length.max(1))) {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(narrow),
        _ => Err(too_big(shape, itemsize)),
    }
}

#[cold]
fn too_big(shape: &[usize], itemsize: usize) -> Error {
    let why = format!(
        "{} of {itemsize}-byte elements is too big; at most {} bytes are addressable",
        Tuple(shape),
        isize::MAX
    );
    Error::entry("shape", why)
}

/// Checks the strides; returns their extent, which must be representable.
fn check_strides(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<Range<isize>> {
    if shape.len() != strides.len() {
        return Err(Error::entry(
            "strides",
            format!(
                "{} has {} entries; expected {}, one for each dimension of the shape {}",
                Tuple(strides),
                strides.len(),
                shape.len(),
                Tuple(shape)
            ),
        ));
    }
    let reach = || {
        let (mut low, mut high) = (0isize, 0isize);
        for (&length, &stride) in shape.iter().zip(strides) {
            if length == 0 {
                return Some(0..0);
            }
            let last = (length as isize - 1).checked_mul(stride)?;
            low = low.checked_add(last.min(0))?;
            high = high.checked_add(last.max(0))?;
        }
        let end = high.checked_add(itemsize as isize)?;
        end.checked_sub(low).map(|_| low..end)
    };
    reach().or_else(|| shape.contains(&0).then_some(0..0)).ok_or_else(|| too_far(shape, strides))
}

#[cold]
fn too_far(shape: &[usize], strides: &[isize]) -> Error {
    let why = format!(
        "{} reach further than {} bytes from one end of the shape {} to the other",
        Tuple(strides),
        isize::MAX,
        Tuple(shape)
    );
    Error::entry("strides", why)
}

/// Writes numbers as a Python tuple: `()`, `(3,)`, `(3, 4)`.
pub(crate) struct Tuple<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

const _: () = assert!(size_of::<Layout>() <= 120 || size_of::<usize>() != 8);
